"""Score out-of-fold probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import row_maxima
from genus.arrays import markup, matrix
from genus.arrays.matrix import Codes
from genus.stacking.decision import Decision
from genus.stacking.metrics import Judgement, Metrics
from genus.statistics import Array


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The out-of-fold probabilities of rows, (m, K), and their scores.

    `y` (m,) are the positions of the true classes in `classes`, and `fold` (m,) the number of each
    row's fold. Rows of the same `group` (m,) depend on each other, so intervals are wider.
    """

    probabilities: Array
    classes: NDArray[Any]
    y: Codes
    weight: Array
    fold: Codes
    decision: Decision | None = None
    group: Codes | None = None

    def deciding(self, decision: Any) -> CrossValidation:
        """Return the same probabilities with another decision rule (see `Decision.of`)."""
        return replace(self, decision=Decision.of(decision, self.classes))

    @property
    def decided(self) -> Codes:
        """The position of each row's chosen class, (m,)."""
        if self.decision is None:
            return self._likeliest
        return self.decision.decide(self.probabilities)

    @property
    def predictions(self) -> NDArray[Any]:
        """The chosen class of each row, (m,): the most probable, unless a decision rule is set."""
        return self.classes[self.decided]

    @property
    def accuracy(self) -> float:
        """The share of rows whose true class is chosen."""
        return self._mean(self.decided == self.y)

    def metrics(self) -> Metrics:
        """Return all scores with 95 % intervals, by class, and the scores of the baseline.

        >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]])
        >>> y = np.array([0, 0, 1, 1])
        >>> found = CrossValidation(p, np.array(["no", "yes"]), y, np.ones(4), y).metrics()
        >>> found.scores["ROC AUC"].value, found.baseline["accuracy"]
        (0.75, 0.5)
        """
        costs = None if self.decision is None else self.decision.costs
        own = (
            self.probabilities,
            self.classes,
            self.y,
            self.decided,
            self.weight,
            costs,
            self.group,
        )
        return Judgement(*own).metrics()

    @property
    def log_loss(self) -> float:
        """The mean of -log p(y|x), where p is at least 2e-16, as in scikit-learn."""
        own = self.probabilities[np.arange(len(self.y)), self.y]
        return self._mean(-np.log(np.maximum(own, np.finfo(float).eps)))

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities; halved for two classes, as is usual."""
        truth = np.zeros_like(self.probabilities)
        truth[np.arange(len(self.y)), self.y] = 1.0
        squared = ((self.probabilities - truth) ** 2).sum(axis=1)
        return self._mean(squared / 2 if len(self.classes) == 2 else squared)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error, over 15 bins of equal width.

        It is the mean gap between the probability of the most probable class and the share of rows
        that are of this class.
        """
        sure = self.probabilities[np.arange(len(self.y)), self._likeliest]
        step = np.minimum((sure * 15).astype(int), 14)
        right = (self._likeliest == self.y).astype(float)
        gap = np.bincount(step, self.weight * (sure - right), 15)
        return float(np.abs(gap).sum() / self.weight.sum())

    @cached_property
    def _likeliest(self) -> Codes:
        return row_maxima(self.probabilities, matrix.threads())[1]

    def _mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weight))

    def _repr_html_(self) -> str:
        """Return the scores as HTML for notebooks."""
        found = self.metrics()
        rows = [
            (found.title(name), score.value, score.interval, found.baseline[name])
            for name, score in found.scores.items()
        ]
        head = ["", "score", "95 % interval", "baseline"]
        classes = [
            (one.label, one.rows, *(score.value for score in one[2:])) for one in found.by_class
        ]
        names = ["class", "rows", "recall", "precision", "F1", "ROC AUC", "PR AUC"]
        caption = " ".join([f"{found.rows:,} rows.", *found.notes()])
        return markup.table(head, rows, caption) + markup.table(names, classes)

    def __repr__(self) -> str:
        return (
            f"CrossValidation(rows={len(self.y)}, accuracy={self.accuracy:.4f}, "
            f"log_loss={self.log_loss:.4f}, brier={self.brier:.4f})"
        )
