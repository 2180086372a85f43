"""How much the probabilities of a table model change if its columns only get other names.

`python -m benchmarks.namings` fits `TableClassifier` to every second row of scikit-learn's breast
cancer data, with the first 8 and with all columns, under 12 namings of the columns, and predicts
the other rows. For comparison, the columns get other units, or 10 random rows are left out. Each
line is about all pairs of 12 models: the medians over the pairs of the share of rows whose
probability differs by more than 0.1, of the largest difference, and of the share of rows with
another class; and the range of log loss and accuracy.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from genus import TableClassifier

MODELS, LEFT_OUT, LARGE = 12, 10, 0.1
UNITS = (1.0, 10.0, 100.0, 2.54, 0.3937, 2.2046)

Array = NDArray[np.float64]


def renamed(X: Any, rows: Any, seed: int) -> tuple[Any, Any]:
    return X.set_axis([f"{'abcdefghijkl'[seed]}{j}" for j in range(X.shape[1])], axis=1), rows


def rescaled(X: Any, rows: Any, seed: int) -> tuple[Any, Any]:
    return X * np.random.default_rng(seed).choice(UNITS, X.shape[1]), rows


def fewer(X: Any, rows: Any, seed: int) -> tuple[Any, Any]:
    return X, np.sort(np.random.default_rng(seed).permutation(rows)[LEFT_OUT:])


CHANGES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "other names": renamed,
    "other units": rescaled,
    f"{LEFT_OUT} rows left out": fewer,
}


def predicted(X: Any, y: Any, change: Callable[..., tuple[Any, Any]], seed: int) -> Array:
    """Return p(y = 1) of the odd rows, by a model of the even rows."""
    table, rows = change(X, np.arange(0, len(y), 2), seed)
    model = TableClassifier().fit(table.iloc[rows], y[rows])
    return np.asarray(model.predict_proba(table.iloc[1::2])[:, 1], dtype=np.float64)


def main() -> None:
    data, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.to_numpy()
    truth = y[1::2]
    print("| columns | | rows that change by > 0.1 | largest change | other class | log loss | "
          "accuracy |")  # fmt: skip
    print("|---:|---|---:|---:|---:|---:|---:|")
    for columns in (8, data.shape[1]):
        X = data.iloc[:, :columns]
        for name, change in CHANGES.items():
            found = [predicted(X, y, change, seed) for seed in range(MODELS)]
            pairs = list(combinations(found, 2))
            gaps = np.array([np.abs(a - b) for a, b in pairs])
            large = np.median((gaps > LARGE).mean(axis=1))
            other = np.median([((a > 0.5) != (b > 0.5)).mean() for a, b in pairs])
            losses = [-np.log(np.where(truth == 1, p, 1 - p)).mean() for p in found]
            right = [((p > 0.5) == truth).mean() for p in found]
            print(
                f"| {columns} | {name} | {100 * large:.1f} % | {np.median(gaps.max(axis=1)):.2f} | "
                f"{100 * other:.1f} % | {min(losses):.3f} to {max(losses):.3f} | "
                f"{min(right):.3f} to {max(right):.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
