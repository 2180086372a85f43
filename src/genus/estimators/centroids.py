"""Nearest shrunken centroids, for many columns and few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays.options import number
from genus.estimators.base import GenerativeClassifier
from genus.estimators.logistic import LogisticForm
from genus.families import Gaussian
from genus.statistics import Array


class NearestShrunkenCentroids(LogisticForm, GenerativeClassifier):
    """Nearest shrunken centroids (PAM; Tibshirani and others 2002), which also select columns.

    The difference of each class mean from the overall mean, in standard errors, is moved towards
    zero by the threshold. A column in which all differences become zero has no effect.

    Parameters
    ----------
    threshold : how far differences are moved, in standard errors. `tune` finds a good value; the
        folds are solved from sums, so many thresholds take little time.
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NearestShrunkenCentroids(threshold=12).fit(X, y)
    >>> int(model.selected_.sum()), round(model.score(X, y), 3)
    (13, 0.912)
    """

    def __init__(self, threshold: float = 0.0, *, priors: Any = None) -> None:
        self.threshold = threshold
        self.priors = priors

    def _family(self) -> Gaussian:
        threshold = number("threshold", self.threshold, least=0)
        return Gaussian(True, True, threshold=threshold)

    @property
    def centroids_(self) -> Array:
        """The shrunken class means, (K, n)."""
        return np.array(self._parameters.mean)

    @property
    def selected_(self) -> NDArray[np.bool_]:
        """Whether the centroids of the classes differ in a column, (n,)."""
        return np.asarray(np.ptp(self._parameters.mean, axis=0) > 0)

    @property
    def scale_(self) -> Array:
        """The standard deviation within classes plus its median over the columns, (n,)."""
        return np.sqrt(self._parameters.variance[0])

    @property
    def class_prior_(self) -> Array:
        """p(y), (K,)."""
        return self._fitted().prior
