"""Scores of decisions and probabilities, with 95 % intervals and a baseline.

The baseline always chooses the most frequent class, and predicts the shares of the classes for
every row; for the cost it always chooses the class that costs least.

With two classes, the area under the precision-recall curve is that of the rarer class, and its
baseline is the share of this class. F1, and both areas with more classes, are means over the
classes, each against all others.

Intervals are computed by the bootstrap: each repetition multiplies the weight of every row by a
Poisson number with mean 1; rows of the same group get the same number. The interval is the
score ± 1.96 standard deviations over the repetitions. A perfect score is the same in all of them,
so it gets the width of Wilson's interval for a share of 0 or 1 in as many rows, or groups:
z² / (n + z²).

Symbols: m rows, K classes, R repetitions of the bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genus.arrays.matrix import Codes
from genus.statistics import Array

REPEATS, FEWEST = 200, 20  # of the bootstrap
MOST_WORK = 20_000_000  # rows times classes times repetitions
SURE = 1.959964  # standard deviations to either side for 95 %


class Score(NamedTuple):
    """A score and its 95 % interval; NaN if it is undefined."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> str:
        """The interval as text; a dash if it is undefined."""
        return "-" if np.isnan(self.low) else f"{self.low:.4f} to {self.high:.4f}"


class ClassMetrics(NamedTuple):
    """How well one class is distinguished from all others."""

    label: Any
    rows: int
    recall: Score
    precision: Score
    f1: Score
    roc_auc: Score
    pr_auc: Score


@dataclass(frozen=True, eq=False)
class Metrics:
    """The scores over all rows by name, the scores of each class, and the baseline's scores.

    `commonest` is the most frequent class, which the baseline chooses for every row. `rarer` is the
    rarer of two classes, whose area is the score "PR AUC"; None if there are not two classes.
    """

    rows: int
    scores: dict[str, Score]
    by_class: list[ClassMetrics]
    commonest: Any
    baseline: dict[str, float]
    rarer: Any = None

    def title(self, score: str, name: Callable[[Any], str] = str) -> str:
        """Return the name of a score for a table, with the class that it is about, if any."""
        return (
            score if self.rarer is None or score != "PR AUC" else f"{score} of {name(self.rarer)}"
        )

    def notes(self, name: Callable[[Any], str] = str) -> list[str]:
        """Return sentences on what the scores and the baseline are; `name` formats a class."""
        means = "F1 is a mean" if self.rarer is not None else "F1 and both areas are means"
        notes = [f"{means} over the classes, each against all others."]
        notes = notes if len(self.by_class) > 1 else []
        commonest = name(self.commonest)
        notes.append(
            f"Baseline: {commonest} for every row, with the class shares as probabilities."
        )
        if "cost" in self.baseline:
            notes.append(
                "Baseline of the cost: always the same class, the one with the lowest total cost."
            )
        return notes


class Curve:
    """The rows sorted by descending probability of one class."""

    def __init__(self, own: NDArray[np.bool_], score: Array) -> None:
        self.order = np.argsort(-score, kind="stable")
        self.own = own[self.order]
        ordered = score[self.order]
        self.ends = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)

    def areas(self, weight: Array) -> tuple[float, float]:
        """Return the areas under the ROC curve and the precision-recall curve."""
        w = weight[self.order]
        true = np.cumsum(np.where(self.own, w, 0.0))[self.ends]
        false = np.cumsum(np.where(self.own, 0.0, w))[self.ends]
        if true[-1] <= 0:
            return np.nan, np.nan
        recall, precision = true / true[-1], true / np.maximum(true + false, 1e-300)
        average = float((np.diff(recall, prepend=0.0) * precision).sum())
        if false[-1] <= 0:
            return np.nan, average
        share = false / false[-1]
        steps = np.diff(share, prepend=0.0)
        before = np.concatenate([[0.0], recall[:-1]])
        return float((steps * (recall + before)).sum() / 2), average


@dataclass(frozen=True, eq=False)
class Judgement:
    """Classified rows: p(y|x) (m, K), true and decided classes, weights and costs.

    `costs` (K, K) has a row for each true class and a column for each decided class, or is None.
    Rows of the same `group` (m,) are drawn together by the bootstrap.
    """

    probabilities: Array
    classes: NDArray[Any]
    y: Codes
    decided: Codes
    weight: Array
    costs: Array | None = None
    group: Codes | None = None

    @cached_property
    def _row_scores(self) -> dict[str, Array]:
        """The scores of single rows, (m,) each, whose averages are scores of all rows."""
        m, K = self.probabilities.shape
        own = self.probabilities[np.arange(m), self.y]
        truth = np.zeros((m, K))
        truth[np.arange(m), self.y] = 1.0
        squared = ((self.probabilities - truth) ** 2).sum(axis=1)
        found = {
            "accuracy": (self.decided == self.y).astype(float),
            "log loss": -np.log(np.maximum(own, np.finfo(float).eps)),
            "Brier score": squared / 2 if K == 2 else squared,
        }
        if self.costs is not None:
            found["cost"] = self.costs[self.y, self.decided]
        return found

    @cached_property
    def _share(self) -> Array:
        """The share of each class, (K,)."""
        return np.bincount(self.y, self.weight, len(self.classes)) / self.weight.sum()

    @property
    def _rarer(self) -> int | None:
        """The position of the rarer of two classes; of equal ones, the second."""
        return int(self._share[0] >= self._share[1]) if len(self.classes) == 2 else None

    @cached_property
    def _curves(self) -> list[Curve]:
        p = self.probabilities
        return [Curve(self.y == k, p[:, k]) for k in range(p.shape[1])]

    def _table(self, weight: Array) -> tuple[Array, Array]:
        """Return the mean of each score over rows, and a table of scores by class, (K, 5).

        The columns of the table are recall, precision, F1, and the areas under the ROC curve and
        the precision-recall curve.
        """
        K = len(self.classes)
        means = np.array([np.average(v, weights=weight) for v in self._row_scores.values()])
        cells = np.bincount(self.y * K + self.decided, weight, K * K).reshape(K, K)
        true, taken, right = cells.sum(axis=1), cells.sum(axis=0), np.diag(cells)
        with np.errstate(invalid="ignore", divide="ignore"):
            recall, precision = right / true, right / taken
            f1 = np.where(true > 0, 2 * right / (true + taken), np.nan)
        areas = np.array([curve.areas(weight) for curve in self._curves])
        return means, np.column_stack([recall, precision, f1, areas])

    def metrics(self) -> Metrics:
        """Return all scores, with their intervals."""
        m, K = self.probabilities.shape
        means, table = self._table(self.weight)
        repeats = int(np.clip(MOST_WORK // max(m * K, 1), FEWEST, REPEATS))
        rng = np.random.default_rng(0)
        drawn = []
        for _ in range(repeats):
            times = rng.poisson(1.0, m if self.group is None else int(self.group.max()) + 1)
            weight = self.weight * (times if self.group is None else times[self.group])
            if weight.sum() > 0:
                drawn.append(self._table(weight))
        mean_errors = deviation([one for one, _ in drawn], means)
        errors = deviation([one for _, one in drawn], table)
        names = list(self._row_scores)
        counts = np.bincount(self.y, minlength=K)
        independent, number = counts, m
        if self.group is not None:
            pairs = np.unique(np.stack([self.y, self.group]), axis=1)  # of class and group
            independent, number = np.bincount(pairs[0], minlength=K), len(np.unique(self.group))
        width = wilson_width(number)
        most = {"accuracy": 1.0, "Brier score": 1.0 if K <= 2 else 2.0}
        scores = {
            name: interval(value, error, most.get(name, np.inf),
                           width if name == "accuracy" else 0.0)
            for name, value, error in zip(names, means, mean_errors, strict=True)
        }  # fmt: skip
        summed = np.array([averaged(one) for _, one in drawn])
        whole = averaged(table)
        spread = deviation(list(summed), whole)
        macro = ("balanced accuracy", "F1", "ROC AUC", "PR AUC")
        by_rows = wilson_width(independent)
        # The widths of independent classes add as their squares do.
        width = float(np.sqrt((by_rows[counts > 0] ** 2).sum()) / max((counts > 0).sum(), 1))
        scores |= {
            name: interval(value, error, 1.0, width)
            for name, value, error in zip(macro, whole, spread, strict=True)
        }
        by_class = [
            ClassMetrics(
                label,
                int(counts[k]),
                *(
                    interval(v, e, 1.0, float(by_rows[k]))
                    for v, e in zip(table[k], errors[k], strict=True)
                ),
            )
            for k, label in enumerate(self.classes.tolist())
        ]
        if self._rarer is not None:
            scores["PR AUC"] = by_class[self._rarer].pr_auc
        order = ["accuracy", "balanced accuracy", "F1", "log loss", "Brier score", *macro[2:]]
        order += ["cost"] if self.costs is not None else []
        commonest, baseline = self.baseline()
        rarer = None if self._rarer is None else by_class[self._rarer].label
        return Metrics(m, {n: scores[n] for n in order}, by_class, commonest, baseline, rarer)

    def baseline(self) -> tuple[Any, dict[str, float]]:
        """Return the most frequent class, and the baseline's scores.

        Accuracy, balanced accuracy and F1 result if this class is chosen for every row. The cost
        results if the class that costs least is chosen for every row. The other scores result if
        every row gets the shares of the classes as probabilities.
        """
        K, share = len(self.classes), self._share
        most = int(np.argmax(share))
        there = share > 0
        squared = float((share * ((1 - share) ** 2 + (share**2).sum() - share**2)).sum())
        scores = {
            "accuracy": float(share[most]),
            "balanced accuracy": 1 / max(int(there.sum()), 1),
            "F1": float(2 * share[most] / (1 + share[most]) / max(int(there.sum()), 1)),
            "log loss": float(0.0 - (share[there] * np.log(share[there])).sum()),
            "Brier score": squared / 2 if K == 2 else squared,
            "ROC AUC": 0.5,
            "PR AUC": float(share[there].mean() if self._rarer is None else share[self._rarer]),
        }
        if self.costs is not None:
            scores["cost"] = float((share @ self.costs).min())
        return self.classes[most : most + 1].tolist()[0], scores


def averaged(table: Array) -> Array:
    """Return the means of recall, F1 and both areas over the classes, (4,), from a table (K, 5).

    Each mean is over the classes for which the score is defined.
    """
    some = table[:, [0, 2, 3, 4]]
    there = ~np.isnan(some)
    return np.divide(
        np.where(there, some, 0.0).sum(axis=0),
        there.sum(axis=0),
        out=np.full(4, np.nan),
        where=there.any(axis=0),
    )


def deviation(drawn: list[Array], about: Array) -> Array:
    """Return the standard deviation of the `drawn` scores from `about`; NaN if few are defined."""
    if not drawn:
        return np.full_like(about, np.nan)
    stacked = np.stack(drawn)
    there = ~np.isnan(stacked)
    squares = np.where(there, stacked - np.nan_to_num(about), 0.0) ** 2
    enough = there.sum(axis=0) > len(drawn) / 2
    mean = np.divide(
        squares.sum(axis=0), there.sum(axis=0), out=np.full_like(about, np.nan), where=enough
    )
    return np.sqrt(mean)


def wilson_width(rows: Any) -> Any:
    """Return the width of Wilson's interval for a share of 0 or 1 among `rows`."""
    return SURE**2 / (rows + SURE**2)


def interval(value: float, error: float, most: float, width: float = 0.0) -> Score:
    """Return a score and its interval, cut to the score's range.

    The interval is the score ± 1.96 times its standard `error`, or ± `width` if the score does not
    vary in the bootstrap. `most` is the largest possible score.
    """
    if not (np.isfinite(value) and np.isfinite(error)):
        return Score(float(value), np.nan, np.nan)
    half = SURE * error if error > 1e-12 else width
    low, high = max(value - half, 0.0), min(value + half, most)
    return Score(float(value), float(low), float(high))
