"""How many rows of a table a CPU second scores.

`python -m benchmarks.scoring [--rows N]` fits a `TableClassifier()` to 200,000 rows of the table
`mixed` (20 columns: numbers, counts, categories and truths) and scores a million: in memory, and by
`genus predict` from Parquet to Parquet, also of one row, which is what a process takes to start.
CPU seconds are those of all threads, so that other work on the machine matters little; the least of
three runs is shown.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.jobs import Call
from benchmarks.table_jobs import mixed, shell
from genus import TableClassifier

ROWS, LEARNED, RUNS = 1_000_000, 200_000, 3


def cpu_seconds() -> float:
    """What this process, with all its threads, and its children have taken so far."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def taken(call: Call) -> float:
    """The least CPU seconds of some runs."""
    found = []
    for _ in range(RUNS):
        before = cpu_seconds()
        call()
        found.append(cpu_seconds() - before)
    return min(found)


def lines(rows: int) -> Iterator[str]:
    """The rows of the table, as they are measured."""
    import pyarrow.parquet as pq

    X, _ = mixed(rows)
    one, few = X[:1], X[: min(LEARNED, rows)]
    yield f"| {'scored':40} | {'rows':>9} | {'CPU s':>7} | {'rows / CPU s':>12} |"
    yield f"| {'-' * 40} | {'-' * 8}: | {'-' * 6}: | {'-' * 11}: |"
    model = TableClassifier().fit(few, target=X.target)
    table = pq.read_table(X).drop_columns([X.target])
    model.predict_proba(table.slice(0, 1))  # solves it
    yield line("predict_proba, an Arrow table in memory", rows, lambda: model.predict_proba(table))
    with TemporaryDirectory() as folder:
        saved, out = (os.fspath(Path(folder, name)) for name in ("model.genus", "out.parquet"))
        model.save(saved)
        for data, size in ((X, rows), (one, 1)):
            call = shell("predict", saved, os.fspath(data), "-o", out)
            yield line("genus predict, Parquet to Parquet", size, call)


def line(name: str, rows: int, call: Call) -> str:
    seconds = taken(call)
    rate = f"{rows / seconds:,.0f}" if rows > 1 else ""
    return f"| {name:40} | {rows:9,} | {seconds:7.2f} | {rate:>12} |"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoring", description=__doc__)
    parser.add_argument("--rows", metavar="N", type=int, default=ROWS, help="to score")
    for text in lines(parser.parse_args(arguments).rows):
        print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
