"""Scores of out-of-fold probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import row_maxima
from genus.arrays import matrix
from genus.arrays.matrix import Codes
from genus.statistics import Array


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Out-of-fold probabilities, row by row, and their scores.

    `y` has positions in `classes`, and `fold` the number of each row's fold.
    """

    probabilities: Array
    classes: NDArray[Any]
    y: Codes
    weight: Array
    fold: Codes

    @property
    def predictions(self) -> NDArray[Any]:
        """The most probable class of each row, (m,)."""
        return self.classes[self._likeliest]

    @property
    def accuracy(self) -> float:
        """The share of rows whose most probable class is their own."""
        return self._mean(self._likeliest == self.y)

    @property
    def log_loss(self) -> float:
        """The mean of -log p(y|x), where p is at least 2e-16, a float's precision, as in
        scikit-learn.
        """
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
        """The difference between the probability of the predicted class and how often it is right.

        This is the expected calibration error: the mean difference over 15 equal steps of
        probability.
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

    def __repr__(self) -> str:
        return (
            f"CrossValidation(rows={len(self.y)}, accuracy={self.accuracy:.4f}, "
            f"log_loss={self.log_loss:.4f}, brier={self.brier:.4f})"
        )
