"""What each expert of a table is worth: error and log loss without it, and its share of the time.

`python -m benchmarks.ablation [--data FOLDER] [--sets NAME ...] [--write docs/benchmarks.md]` reads
the tables of `benchmarks.table_accuracy`. In the first three of ten splits (Adult: as it is split)
the evidence of all experts is computed once; then weights are learned from what is left without
each of them, and judged on the test rows. Means over the sets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from benchmarks.table_accuracy import LEAST, SETS, Table, command, read
from genus import TableClassifier
from genus.stacking.stack import shares, stack
from genus.table import Frame, open_table
from genus.table.model.weighing import OutOfFold, out_of_fold

SPLITS = 3
Numbers = NDArray[np.float64]


def judged(rows: OutOfFold, kept: NDArray[np.intp], test: Numbers) -> Numbers:
    """p(k|x) of test rows, by weights that are learned from some of the evidence."""
    old = rows.prior
    start = old.start[kept]
    if (start > 0).any():
        start = start / start.sum()
    prior = replace(
        old,
        start=start,
        precision=old.precision[np.ix_(kept, kept)],
        group=old.group[kept],
        nonnegative=old.nonnegative[kept],
        refines=old.refines[kept],
    )
    F = np.ascontiguousarray(rows.F[:, :, kept])
    found = stack(F, rows.y, rows.weight, rows.fold, prior, rows.taught)
    p = np.exp(log_softmax(test[:, :, kept] @ found.weights + found.constant, axis=1))
    return (1 - found.doubt) * p + found.doubt * shares(rows.y, rows.weight, F.shape[1])


def seconds(family: Any, parameters: Any, X: Frame) -> dict[str, float]:
    """How long experts take to score rows."""
    cells, found = parameters.slots.place(X), {}
    for expert in parameters.listed:
        start = perf_counter()
        expert.score(cells)
        found[expert.name] = perf_counter() - start
    start = perf_counter()
    family._by_column(parameters, X)
    found["families"] = perf_counter() - start
    return found


def measure(table: Table, took: dict[str, float]) -> dict[str, Numbers]:
    """Error and log loss of a set without each expert, and with all."""
    scores: dict[str, list[Numbers]] = {}
    for train, test in table.splits[:SPLITS]:
        model = TableClassifier().partial_fit(table.X.iloc[train], table.y[train])
        family: Any = model.model_.family
        rows = out_of_fold(family, model.model_.statistics, model.classes_)
        assert rows is not None
        solved = model.model_.parameters  # with the trees, which grow with the weights
        X = Frame.of(open_table(table.X.iloc[test]).table(), model.plan_)
        F = family.evidence(solved, X)
        truth = np.searchsorted(model.classes_, table.y[test])
        for name, spent in seconds(family, solved, X).items():
            took[name] = took.get(name, 0.0) + spent
        for left_out in ("", *family.names):
            kept = np.flatnonzero(np.array(family.names) != left_out)
            p = judged(rows, kept, F)
            true = np.maximum(p[np.arange(len(truth)), truth], LEAST)
            score = np.array([np.mean(p.argmax(axis=1) != truth), -np.log(true).mean()])
            scores.setdefault(left_out, []).append(score)
    return {name: np.mean(found, axis=0) for name, found in scores.items()}


def lines(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """The rows of the table, when all sets are measured."""
    took: dict[str, float] = {}
    by_set = []
    for name in names:
        by_set.append(measure(read(folder, name), took))
        print(f"({name} is measured)", file=sys.stderr, flush=True)
    experts = list(dict.fromkeys(name for found in by_set for name in found))
    yield "| without | error | log loss | sets where log loss rises | share of scoring time |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    total = sum(took.values())
    for name in experts:
        own = np.array([found.get(name, found[""]) for found in by_set])
        base = np.array([found[""] for found in by_set])
        error, loss = own.mean(axis=0)
        worse = int((own[:, 1] > base[:, 1] + 1e-4).sum())
        told = "" if not name else f"{worse} of {len(by_set)}"
        share = f"{took[name] / total:.0%}" if name in took else ""
        yield f"| {name or '(nothing)'} | {error:.4f} | {loss:.4f} | {told} | {share} |"


if __name__ == "__main__":
    sys.exit(command("ablation", __doc__ or "", lines, SETS, sys.argv[1:]))
