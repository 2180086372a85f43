"""Naive Bayes over counts, such as counts of words."""

from __future__ import annotations

from typing import Any

from genus.estimators.discrete import LinearClassifier, one_distribution
from genus.families import Multinomial
from genus.statistics import Array


class MultinomialNB(LinearClassifier):
    """Multinomial naive Bayes: a row holds how often each of n features occurred.

    For the parameters see `DiscreteClassifier`.

    >>> MultinomialNB().fit([[3, 0], [2, 1], [0, 2]], ["a", "a", "b"]).predict([[1, 0]])
    array(['a'], dtype='<U1')
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

    def _check_guess(self) -> Any:
        return one_distribution(super()._check_guess(), self.n_features_in_)

    def _family(self) -> Multinomial:
        return Multinomial(self._smoothing())

    @property
    def feature_count_(self) -> Array:
        """The number of occurrences of each feature in each class, (K, n)."""
        model = self._fitted()
        return model.statistics.align(model.classes, self.n_features_in_)["count"]

    @property
    def feature_log_prob_(self) -> Array:
        """log φ = log p(feature|y), (K, n)."""
        return self._parameters.log_probability

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
