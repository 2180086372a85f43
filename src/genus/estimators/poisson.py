"""Naive Bayes over numbers of events."""

from __future__ import annotations

from typing import Any

import numpy as np

from genus.estimators.discrete import LinearClassifier
from genus.families import Poisson
from genus.statistics import Array


class PoissonNB(LinearClassifier):
    """Poisson naive Bayes: each column counts events, at a rate that depends on the class.

    alpha : the number of rows with the pooled rate that are added to each class; with `m` and `p`,
        m rows with the rate p. For all other parameters see `DiscreteClassifier`.

    >>> calls = PoissonNB().fit([[0], [1], [7], [9]], ["night", "night", "day", "day"])
    >>> calls.predict([[2], [6]])
    array(['night', 'day'], dtype='<U5')
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        priors: Any = None,
        prior_alpha: float = 0.0,
        m: float | None = None,
        p: Any = None,
        unexplained: str = "prior",
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.priors = priors
        self.prior_alpha = prior_alpha
        self.m = m
        self.p = p
        self.unexplained = unexplained

    def _family(self) -> Poisson:
        return Poisson(self._smoothing())

    @property
    def rate_(self) -> Array:
        """λ, the expected number of events, (K, n)."""
        return self._parameters.rate

    @property
    def feature_count_(self) -> Array:
        """The number of events of each column in each class, (K, n)."""
        model = self._fitted()
        return model.statistics.align(model.classes, self.n_features_in_)["total"]

    @property
    def feature_log_prob_(self) -> Array:
        """log λ, (K, n)."""
        with np.errstate(divide="ignore"):
            return np.log(self.rate_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
