"""Complement naive Bayes, for classes of very different sizes."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from genus.arrays.options import flag
from genus.estimators.discrete import LinearClassifier, one_distribution
from genus.estimators.multinomial import MultinomialNB
from genus.families import Complement
from genus.solve.priors import Priors
from genus.statistics import Array


class ComplementNB(LinearClassifier):
    """Complement naive Bayes (Rennie et al. 2003): a class is scored by the counts of all others.

    norm : divide each class's weights by their sum.
    fit_prior : whether `class_log_prior_` has the shares of the classes. As in scikit-learn, scores
        never include these shares, but they include given priors. For all other parameters see
        `DiscreteClassifier`.

    The scores are a decision rule, not a density: `log_likelihood`, `log_density` and `sample` are
    those of the multinomial model of the same counts.

    >>> ComplementNB().fit([[3, 0], [2, 1], [0, 2]], ["a", "a", "b"]).predict([[1, 0]])
    array(['a'], dtype='<U1')
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        norm: bool = False,
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
        self.norm = norm
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.priors = priors
        self.prior_alpha = prior_alpha
        self.m = m
        self.p = p
        self.unexplained = unexplained

    def _check_guess(self) -> Any:
        return one_distribution(super()._check_guess(), self.n_features_in_)

    def _family(self) -> Complement:
        return Complement(self._smoothing(), flag("norm", self.norm))

    def _priors(self) -> Priors:
        priors = super()._priors()
        return priors if priors.given is not None else replace(priors, fit=False)

    @property
    def class_log_prior_(self) -> Array:
        """log p(y), (K,): given priors or shares of rows; only given priors enter the scores."""
        if self._option("priors") is not None or self._option("class_prior") is not None:
            return super().class_log_prior_
        model = self._fitted()
        priors = Priors(None, self._option("fit_prior"), float(self._option("prior_alpha")))
        with np.errstate(divide="ignore"):
            return np.log(priors.solve(model.class_weights, model.classes))

    def generative(self) -> MultinomialNB:
        """Return the multinomial model of the same counts; complement scores are no density."""
        check_is_fitted(self)
        known = MultinomialNB().get_params()
        options = {name: value for name, value in self._solved_with.items() if name in known}
        multinomial = MultinomialNB(**deepcopy(options))
        multinomial._adopt(self)
        multinomial._keep(multinomial._with_current_options(self.model_))
        return multinomial

    @property
    def feature_count_(self) -> Array:
        """The number of occurrences of each feature in each class, (K, n)."""
        model = self._fitted()
        return model.statistics.align(model.classes, self.n_features_in_)["count"]

    @property
    def feature_all_(self) -> Array:
        """The number of occurrences of each feature in all classes, (n,)."""
        return self.feature_count_.sum(axis=0)

    @property
    def feature_log_prob_(self) -> Array:
        """The weight of each feature for each class, (K, n)."""
        return self._parameters.weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
