"""The base of classifiers of counts and categories: smoothing, and scikit-learn's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from genus.arrays.options import by_class, flag, number, numbers, warn
from genus.estimators.base import GenerativeClassifier
from genus.estimators.inputs import check_priors
from genus.estimators.logistic import LogisticForm
from genus.solve.priors import Priors
from genus.solve.smoothing import Smoothing, per_column
from genus.statistics import Array

LEAST_ALPHA = 1e-10
MOST_PSEUDO_COUNT = 1e100  # so that sums and products are finite


class DiscreteClassifier(GenerativeClassifier):
    """Naive Bayes over counts or categories, with pseudo-counts.

    Parameters
    ----------
    alpha : pseudo-count added to the count of every value: a number, one for each column, or
        "auto", which maximises the leave-one-out likelihood. 0 is maximum likelihood: then a
        value that no class has seen is left out, and a row that no class can explain gets the
        priors with a warning, or an error if `unexplained` is "error".
    m, p : the m-estimate (n_c + m p) / (n + m) instead of alpha: `m` rows with the prior share `p`.
    priors, class_prior : p(y) in the order of the classes, or by class; None: shares of rows.
    fit_prior : if False, all classes are equally probable.
    prior_alpha : pseudo-count added to the number of rows of each class; 0 does not smooth priors.
    force_alpha : if False, an alpha below 1e-10 is raised to it, with a warning, as in
        scikit-learn.
    """

    alpha: Any
    m: Any
    p: Any
    priors: Any
    class_prior: Any
    fit_prior: bool
    prior_alpha: float
    force_alpha: bool

    def _smoothing(self) -> Smoothing:
        if self.m is None:
            if self.p is not None:
                raise ValueError(
                    "p is the prior of an m-estimate and needs m, its weight. Give m, too."
                )
            return Smoothing(self._check_alpha())
        m = number("m", self.m, least=0, most=MOST_PSEUDO_COUNT)
        return Smoothing(m=m, p=None if self.p is None else self._check_guess())

    def _check_guess(self) -> Any:
        """Return the prior p, one number or one per column; raise an error if p is invalid."""
        p = numbers("p", self.p)
        if (p < 0).any() or (p > MOST_PSEUDO_COUNT).any():
            raise ValueError(
                f"p must be from 0 to {MOST_PSEUDO_COUNT:g} in each column; got {self.p!r}."
            )
        return float(p) if p.ndim == 0 else per_column("p", p, self.n_features_in_)

    def _check_alpha(self) -> Any:
        """Return alpha, checked; unless `force_alpha`, tiny values become LEAST_ALPHA."""
        if isinstance(self.alpha, str):
            if self.alpha != "auto":
                raise ValueError(
                    f'alpha must be a number of 0 or more, or "auto"; got {self.alpha!r}.'
                )
            return self.alpha
        if self.alpha is None or np.ndim(self.alpha) == 0:
            return float(self._check_values(np.asarray(number("alpha", self.alpha, least=0))))
        alpha = self._check_values(numbers("alpha", self.alpha))
        if hasattr(self, "n_features_in_") and alpha.shape != (self.n_features_in_,):
            raise ValueError(  # scikit-learn's words, which its tests look for
                "When alpha is an array, it should contains `n_features`: give one number for each "
                f"of the {self.n_features_in_} columns; got shape {alpha.shape}."
            )
        return alpha

    def _check_values(self, alpha: Array) -> Array:
        if (alpha < 0).any():
            raise ValueError(
                f"All values in alpha must be greater than 0, or 0 for no smoothing: they are "
                f"pseudo-counts; got {alpha.min():g}."
            )
        if (alpha > MOST_PSEUDO_COUNT).any():
            raise ValueError(f"alpha must be {MOST_PSEUDO_COUNT:g} at most; got {alpha.max():g}.")
        if not flag("force_alpha", self.force_alpha) and (alpha < LEAST_ALPHA).any():
            warn(
                "alpha too small will result in numeric errors, setting alpha = "
                f"{LEAST_ALPHA:.1e}. Use `force_alpha=True` to keep alpha unchanged."
            )
            return np.maximum(alpha, LEAST_ALPHA)
        return alpha

    def _priors(self) -> Priors:
        if self.priors is not None and self.class_prior is not None:
            raise ValueError(
                "priors and class_prior mean the same, but both are given. Give only one of them."
            )
        prior_alpha = number("prior_alpha", self.prior_alpha, least=0, most=MOST_PSEUDO_COUNT)
        given = check_priors(self.priors)
        if self.class_prior is not None:
            given = check_priors(self.class_prior, any_sum=True)
        return Priors(given, flag("fit_prior", self.fit_prior), prior_alpha)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on Gaussian data, which these do not model
        return tags

    @property
    def class_log_prior_(self) -> Array:
        """log p(y), (K,); if `class_prior` is a list, the logarithms of its numbers."""
        model, given = self._fitted(), by_class(self._option("class_prior"))
        if given is None or isinstance(given, Mapping):
            return model.log_prior
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(given, dtype=np.float64))

    @property
    def alpha_(self) -> Any:
        """The pseudo-count in use; if alpha is "auto", the chosen one; None if m is given."""
        chosen = self._parameters.alpha
        if chosen is None and self._option("m") is None:
            return self._option("alpha")
        return chosen


def one_distribution(p: Any, columns: int) -> Any:
    """Return prior probabilities p; raise an error if they do not sum to 1 over the columns."""
    Smoothing(m=1.0, p=p).pseudo_counts(columns)
    return p


class LinearClassifier(LogisticForm, DiscreteClassifier):
    """A classifier whose log-odds are linear in x: a logistic or softmax regression."""

    @property
    def _accepts_sparse(self) -> bool:
        return True
