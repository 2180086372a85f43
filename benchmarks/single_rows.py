"""Microseconds of CPU to learn and to predict one row as a dictionary, beside river.

`python -m benchmarks.single_rows` needs river, which `pip install river` installs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from river import naive_bayes

from genus import GaussianNB

ROWS, REPEATS = 300, 5


def microseconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of a few repeats of work on all rows, for each row."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found) / ROWS * 1e6


def times(model: Any, rows: list[dict[str, float]], y: list[int]) -> list[float]:
    """Return the times to learn, to predict when all is solved, and to do both row by row."""

    def learn() -> None:
        for x, label in zip(rows, y, strict=True):
            model.learn_one(x, label)

    def predict() -> None:
        for x in rows:
            model.predict_one(x)

    def both() -> None:
        for x, label in zip(rows, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return [microseconds(learn), microseconds(predict), microseconds(both)]


def main() -> None:
    print("| columns | classes | | learn | predict | predict, then learn |")
    print("|---:|---:|---|---:|---:|---:|")
    for columns, classes in ((4, 2), (20, 10), (100, 20)):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(ROWS, columns)), rng.integers(classes, size=ROWS)
        rows = [{f"x{j}": value for j, value in enumerate(x)} for x in X.tolist()]
        for name, model in (("genus", GaussianNB()), ("river", naive_bayes.GaussianNB())):
            cells = " | ".join(f"{one:,.0f}" for one in times(model, rows, y.tolist()))
            print(f"| {columns} | {classes} | {name} `GaussianNB` | {cells} |", flush=True)


if __name__ == "__main__":
    main()
