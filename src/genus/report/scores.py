"""Compute scores of probabilities for tables and figures.

Symbols: m rows, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, roc_curve

from genus.stacking.metrics import Metrics
from genus.stacking.outcome import CrossValidation

Array = NDArray[np.float64]
STEPS = 10  # of probability
SURE = 1.96  # standard errors to either side for 95 %
MOST_POINTS = 200


def likeliest(outcome: CrossValidation) -> NDArray[np.intp]:
    """Return the position of the most probable class of each row, (m,)."""
    return outcome.probabilities.argmax(axis=1)


def confusion(outcome: CrossValidation) -> NDArray[np.int64]:
    """Count rows by their class and their predicted class, (K, K)."""
    K = len(outcome.classes)
    cells = np.bincount(outcome.y * K + outcome.decided, minlength=K * K)
    return cells.reshape(K, K).astype(np.int64)


def confused(cells: NDArray[np.int64], most: int) -> list[tuple[int, int, int]]:
    """Return the most frequent confusions: the true class, the predicted class, and how many rows.

    >>> confused(np.array([[5, 1], [3, 7]]), 2)
    [(1, 0, 3), (0, 1, 1)]
    """
    off = cells.copy()
    np.fill_diagonal(off, 0)
    order = np.argsort(-off, axis=None, kind="stable")[:most]
    pairs = [divmod(int(at), len(cells)) for at in order]
    return [(i, j, int(off[i, j])) for i, j in pairs if off[i, j]]


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share (Wilson 1927).

    >>> [round(end, 3) for end in wilson(0.9, 100)]
    [0.826, 0.945]
    """
    if n == 0:
        return 0.0, 1.0
    z = SURE * SURE
    middle = (share + z / (2 * n)) / (1 + z / n)
    half = SURE * np.sqrt(share * (1 - share) / n + z / (4 * n * n)) / (1 + z / n)
    return min(float(middle - half), share), max(float(middle + half), share)


@dataclass(frozen=True)
class Step:
    """Rows of similar probability: its mean, the share that came true and its 95 % interval."""

    probability: float
    share: float
    rows: int
    low: float
    high: float


def reliability(outcome: CrossValidation) -> list[Step]:
    """Return how often probabilities came true, in equal steps of probability.

    The probabilities are those of the second class if there are two, else those of the predicted
    class. The result equals scikit-learn's calibration_curve.
    """
    p = outcome.probabilities
    if len(outcome.classes) == 2:
        said, true = p[:, 1], outcome.y == 1
    else:
        said, true = p.max(axis=1), likeliest(outcome) == outcome.y
    edges = np.linspace(0, 1, STEPS + 1)
    step = np.searchsorted(edges[1:-1], said)
    found = []
    for i in range(STEPS):
        own = step == i
        n = int(own.sum())
        if n:
            share = float(true[own].mean())
            found.append(Step(float(said[own].mean()), share, n, *wilson(share, n)))
    return found


@dataclass(frozen=True, eq=False)
class Roc:
    """The ROC curve of one class against all others: false and true positives, and the area."""

    k: int
    false: Array
    true: Array
    area: float


def rocs(outcome: CrossValidation) -> list[Roc]:
    """Return the ROC curve of the second of two classes, or one for each of several classes."""
    classes = [1] if len(outcome.classes) == 2 else range(len(outcome.classes))
    found = []
    for k in classes:
        own = outcome.y == k
        if own.all() or not own.any():
            continue
        false, true, _ = roc_curve(own, outcome.probabilities[:, k])
        area = float(auc(false, true))
        some = np.unique(np.linspace(0, len(false) - 1, MOST_POINTS).astype(int))
        found.append(Roc(k, false[some], true[some], area))
    return found


def mean_area(curves: list[Roc]) -> float | None:
    """Return the area under the ROC curve, averaged over the classes if there are several."""
    return float(np.mean([curve.area for curve in curves])) if curves else None


@dataclass(frozen=True)
class ClassScore:
    """The scores of class k, and the number of its `rows`.

    `area` is the area under the ROC curve, and `pr_area` that under the precision-recall curve.
    """

    k: int
    rows: int
    recall: float | None
    precision: float | None
    area: float | None
    f1: float
    pr_area: float


def by_class(outcome: CrossValidation, curves: list[Roc], found: Metrics) -> list[ClassScore]:
    """Return the scores of each class; `found` has F1 and the precision-recall area."""
    cells = confusion(outcome)
    rows, taken, right = cells.sum(axis=1), cells.sum(axis=0), np.diag(cells)
    area = {roc.k: roc.area for roc in curves}
    if len(outcome.classes) == 2 and 1 in area:
        area[0] = area[1]  # both classes have the same area
    return [
        ClassScore(
            k,
            int(rows[k]),
            float(right[k] / rows[k]) if rows[k] else None,
            float(right[k] / taken[k]) if taken[k] else None,
            area.get(k),
            found.by_class[k].f1.value,
            found.by_class[k].pr_auc.value,
        )
        for k in range(len(outcome.classes))
    ]
