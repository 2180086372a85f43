"""Tables that a database adds up, beside the same tables read as streams.

`python -m benchmarks.databases [URL] [--rows 300000]` makes a table in a database that Ibis opens,
such as postgresql://user@host/name or duckdb://, fits classifiers in both ways, each the best of
three runs, and drops the table again. Prints seconds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import ibis

from genus import GDA, BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from genus.table import open_table

TABLE = "genus_benchmark"
NUMBERS = [f"x{j}" for j in range(20)]
COUNTS = [f"c{j}" for j in range(10)]
VALUES = [f"v{j}" for j in range(10)]
JOBS: list[tuple[Any, list[str]]] = [
    (GaussianNB(), NUMBERS[:10]),
    (GDA(), NUMBERS[:10]),
    (GDA(), NUMBERS),
    (MultinomialNB(), COUNTS),
    (BernoulliNB(binarize=2), COUNTS),
    (CategoricalNB(), VALUES),
]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.databases")
    parser.add_argument("url", nargs="?", default="duckdb://")
    parser.add_argument("--rows", type=int, default=300_000)
    options = parser.parse_args(arguments)
    connection = ibis.connect(options.url)
    with connection.con.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
        cursor.execute(f"CREATE TABLE {TABLE} AS {made_up(options.rows)}")
        cursor.execute(f"ANALYZE {TABLE}")
        try:
            print(f"| {connection.name}, {options.rows:,} rows | columns | added up | read |")
            print("|---|---:|---:|---:|")
            for classifier, columns in JOBS:
                table = connection.table(TABLE).select(*columns, "y")
                added = best(lambda t=table, c=classifier: c.fit(t, target="y"))
                # A source that was opened before is read row by row.
                read = best(lambda t=table, c=classifier: c.fit(open_table(t), target="y"))
                print(f"| `{classifier}` | {len(columns)} | {added:.2f} | {read:.2f} |", flush=True)
        finally:
            cursor.execute(f"DROP TABLE {TABLE}")


def made_up(rows: int) -> str:
    """A query of rows of three classes."""
    columns = [f"(random() + random() + random()) * 2 + k AS {name}" for name in NUMBERS]
    columns += [f"CAST(floor(random() * 6) AS integer) + k AS {name}" for name in COUNTS]
    columns += [f"'v' || (CAST(floor(random() * 8) AS integer) + k) AS {name}" for name in VALUES]
    return (
        f"SELECT {', '.join(columns)}, 'class ' || k AS y "
        f"FROM (SELECT CAST(i % 3 AS integer) AS k FROM generate_series(1, {rows}) g(i)) numbered"
    )


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest of three runs."""
    times = []
    for _ in range(3):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main(sys.argv[1:])
