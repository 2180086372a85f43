"""What one fit of a table takes at unusual shapes: many columns, many classes, few rows.

`python -m benchmarks.shapes [--write docs/benchmarks.md]` draws tables by seed and fits each side
in processes of its own, from a pandas frame, and keeps the fastest of three fits. Columns share a
few hidden factors, as columns of real tables do, and one in five differs by class. Seconds are of
all cores together and exclude the imports; the log loss is that of 2,000 other rows.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import report
from genus import TableClassifier

FACTORS = 5
JUDGED = 2000


@dataclass(frozen=True)
class Shape:
    """A table of numbers; `whole` numbers are 0 … 9."""

    rows: int
    columns: int
    classes: int
    whole: bool = False

    def draw(self) -> tuple[pd.DataFrame, NDArray[np.str_]]:
        """Rows to learn from and, behind them, rows to judge by."""
        rng = np.random.default_rng(20)
        n = self.rows + JUDGED
        y = rng.integers(0, self.classes, n)
        y[: self.classes] = np.arange(self.classes)
        means = rng.normal(size=(self.classes, self.columns)) * (rng.random(self.columns) < 0.2)
        loadings = rng.normal(size=(FACTORS, self.columns)) / np.sqrt(FACTORS)
        X = rng.normal(size=(n, FACTORS)) @ loadings + rng.normal(size=(n, self.columns))
        X += 0.5 * means[y]
        X = np.clip(np.floor(1.5 * X + 3), 0, 9) if self.whole else np.round(X, 3)
        frame = pd.DataFrame(X.astype(int) if self.whole else X)
        return frame.rename(columns="x{}".format), y.astype(str)

    def __str__(self) -> str:
        kind = "0 … 9" if self.whole else "numbers"
        return f"{self.rows:,}×{self.columns:,} {kind}, {self.classes} classes"


SHAPES = (
    Shape(83, 20, 2),
    Shape(178, 13, 3),
    Shape(189, 500, 2),
    Shape(252, 751, 2),
    Shape(452, 279, 13),
    Shape(1_907, 58, 32),
    Shape(5_822, 85, 2, whole=True),
    Shape(64, 6_830, 8),
)
SIDES = {
    "genus TableClassifier()": TableClassifier,
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "logistic regression": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000)
    ),
}


def measure(shape: Shape, side: str) -> tuple[float, float, float]:
    """CPU seconds, seconds and log loss of one fit, after a fit of other rows to warm up."""
    make: Any = SIDES[side]
    make().fit(*Shape(60, 4, 2).draw())
    X, y = shape.draw()
    started = perf_counter(), process_time()
    model = make().fit(X[: shape.rows], y[: shape.rows])
    model.predict_proba(X[:1])  # solves what fit leaves for later
    wall, cpu = perf_counter() - started[0], process_time() - started[1]
    judged = slice(shape.rows, None)
    loss = log_loss(y[judged], model.predict_proba(X[judged]), labels=model.classes_)
    return cpu, wall, float(loss)


def lines() -> Iterator[str]:
    """The rows of the table, as they are measured."""
    head = ("CPU seconds / seconds / log loss", *SIDES)
    yield f"| {head[0]:36} | " + " | ".join(f"{side:>23}" for side in SIDES) + " |"
    yield f"| {'-' * 36} | " + " | ".join("-" * 22 + ":" for _ in SIDES) + " |"
    for i, shape in enumerate(SHAPES):
        cells = []
        for side in SIDES:
            command = [sys.executable, "-m", "benchmarks.shapes", "--one", str(i), side]
            runs = [
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
                for _ in range(3)
            ]
            fastest = min([*map(float, run.split())] for run in runs)
            cells.append("{:.2f} / {:.2f} / {:.3f}".format(*fastest))
        yield f"| {shape!s:36} | " + " | ".join(f"{cell:>23}" for cell in cells) + " |"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shapes", description=__doc__)
    parser.add_argument("--write", metavar="FILE", type=Path, help="update this document")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        shape, side = options.one
        print(*measure(SHAPES[int(shape)], side))
        return
    found = []
    for line in lines():
        print(line, flush=True)
        found.append(line)
    if options.write:
        made = report.made_with(shlex.join(["python", "-m", "benchmarks.shapes", *arguments]))
        report.replace_section(options.write, "shapes", "\n\n".join((made, "\n".join(found))))


if __name__ == "__main__":
    main(sys.argv[1:])
