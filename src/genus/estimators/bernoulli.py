"""Naive Bayes over features that are present or absent."""

from __future__ import annotations

from typing import Any

import numpy as np

from genus.arrays.options import number
from genus.estimators.discrete import LinearClassifier
from genus.families import Bernoulli
from genus.statistics import Array


class BernoulliNB(LinearClassifier):
    """Bernoulli naive Bayes over the presence of features; absent features count, too.

    binarize : a feature occurs if its value is above this number; None if X holds 0 and 1
        already. For all other parameters see `DiscreteClassifier`.

    >>> spam = BernoulliNB().fit([[1, 1], [1, 0], [0, 0]], ["spam", "spam", "ham"])
    >>> spam.predict([[1, 0]])
    array(['spam'], dtype='<U4')
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
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
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.priors = priors
        self.prior_alpha = prior_alpha
        self.m = m
        self.p = p
        self.unexplained = unexplained

    def _check_guess(self) -> Any:
        p = super()._check_guess()
        if np.max(p) > 1:
            raise ValueError(f"p must be a prior probability, at most 1; got {np.max(p):g}.")
        return p

    def _family(self) -> Bernoulli:
        threshold = 0.0 if self.binarize is None else number("binarize", self.binarize)
        return Bernoulli(threshold, self._smoothing())

    @property
    def feature_count_(self) -> Array:
        """The number of rows of each class in which each feature occurred, (K, n)."""
        model = self._fitted()
        return model.statistics.align(model.classes, self.n_features_in_)["ones"]

    @property
    def feature_log_prob_(self) -> Array:
        """log φ = log p(x_j = 1|y), (K, n)."""
        return self._parameters.log_on
