"""Naive Bayes over positive numbers."""

from __future__ import annotations

from typing import Any

from genus.arrays.options import number
from genus.estimators.base import GenerativeClassifier
from genus.estimators.discrete import MOST_PSEUDO_COUNT
from genus.families import Gamma
from genus.statistics import Array


class GammaNB(GenerativeClassifier):
    """Gamma naive Bayes: a shape and a mean for each class and column of positive numbers.

    Parameters
    ----------
    alpha : the number of rows with the pooled means of x and log x that are added to each class.
        0 is maximum likelihood, and an error if all values of a class are the same.
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.

    >>> minutes = GammaNB().fit([[0.5], [2], [30], [90]], ["call", "call", "film", "film"])
    >>> minutes.predict([[1], [200]])
    array(['call', 'film'], dtype='<U4')
    """

    def __init__(self, *, alpha: float = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def _family(self) -> Gamma:
        return Gamma(number("alpha", self.alpha, least=0, most=MOST_PSEUDO_COUNT))

    @property
    def shape_(self) -> Array:
        """The shape a, (K, n): 1 is exponential; larger shapes are narrower around the mean."""
        return self._parameters.shape

    @property
    def rate_(self) -> Array:
        """The rate b, (K, n); shape_ / rate_ is the mean."""
        return self._parameters.rate

    @property
    def class_prior_(self) -> Array:
        """p(y), (K,)."""
        return self._fitted().prior

    _too_small_hint = (
        "A Gamma density needs numbers above 0. Use GaussianNB or GDA, or add a constant to the "
        "column."
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
