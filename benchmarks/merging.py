"""What models are worth that were fitted apart, by plans of their own, and added.

`python -m benchmarks.merging [--data FOLDER] [--sets NAME ...] [--write docs/benchmarks.md]` reads
the tables of `benchmarks.table_accuracy`. The rows to learn from are shuffled and cut into 2, 5 and
20 parts, a `TableClassifier()` is fitted to each, and the sum of all is judged on the test rows, in
the first three of ten splits (Adult: as it is split). A cell is the mean of -log p(y|x).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.table_accuracy import LEAST, SETS, Table, command, read
from genus import TableClassifier

PARTS = (1, 2, 5, 20)
SPLITS = 3


def log_loss(model: TableClassifier, table: Table, test: NDArray[np.intp]) -> float:
    """The mean of -log p(y|x) of rows; a class that the model does not know has p = LEAST."""
    p = model.predict_proba(table.X.iloc[test])
    known = {label: k for k, label in enumerate(model.classes_.tolist())}
    at = np.array([known.get(label, -1) for label in table.y[test].tolist()])
    own = np.where(at >= 0, p[np.arange(len(test)), at], 0.0)
    return float(-np.log(np.maximum(own, LEAST)).mean())


def losses(table: Table) -> NDArray[np.float64]:
    """The log loss of sums of so many parts, (PARTS,)."""
    found = np.zeros(len(PARTS))
    splits = table.splits[:SPLITS]
    for train, test in splits:
        shuffled = np.random.default_rng(0).permutation(train)
        for i, parts in enumerate(PARTS):
            models = [
                TableClassifier().partial_fit(table.X.iloc[rows], table.y[rows])
                for rows in np.array_split(shuffled, parts)
            ]
            found[i] += log_loss(reduce(add, models), table, test) / len(splits)
    return found


def line(name: str, values: Sequence[str]) -> str:
    return f"| {name:24} | {' | '.join(f'{value:>10}' for value in values)} |"


def lines(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """The rows of the table, as they are measured."""
    yield line("log loss", [f"{n} part{'s' if n > 1 else ''}" for n in PARTS])
    yield line("-" * 24, ["-" * 9 + ":"] * len(PARTS))
    scores = {}
    for name in names:
        table = read(folder, name)
        scores[name] = losses(table)
        yield line(f"{name}, {len(table.y):,}", [f"{loss:.4f}" for loss in scores[name]])
    mean = np.mean(list(scores.values()), axis=0)
    yield line("mean", [f"{loss:.4f}" for loss in mean])
    yield line("mean, against one part", [f"{loss / mean[0] - 1:+.1%}" for loss in mean])
    over = {name: found / found[0] - 1 for name, found in scores.items()}
    worst = [max(over, key=lambda name: over[name][i]) for i in range(len(PARTS))]
    yield line("largest difference on", ["", *worst[1:]])
    yield line(
        "largest difference", ["", *(f"{over[name][i]:+.1%}" for i, name in enumerate(worst) if i)]
    )


if __name__ == "__main__":
    sys.exit(command("merging", __doc__ or "", lines, SETS, sys.argv[1:]))
