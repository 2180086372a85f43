"""Naive Bayes over categories, and over numbers cut into bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays.options import numbers
from genus.estimators.categories import CategoryClassifier
from genus.estimators.discrete import DiscreteClassifier
from genus.estimators.discretizer import Discretizer
from genus.families import Categorical
from genus.families.categorical import CategoricalParameters
from genus.model import Model
from genus.statistics import Array

MOST_CATEGORIES = 1 << 24


def by_value(option: Any) -> bool:
    """Return whether an option has a number for each value of each column."""
    return isinstance(option, list | tuple) and any(np.ndim(part) for part in option)


def check_distribution(p: Array) -> Array:
    """Return prior probabilities; raise an error if one is negative. Their sum is checked later."""
    if (p < 0).any():
        raise ValueError(f"p must hold prior probabilities of 0 or more; got {p.tolist()}.")
    return p


class CategoricalNB(CategoryClassifier, DiscreteClassifier):
    """Categorical naive Bayes: one distribution over the values of each column and class.

    min_categories : the least number of values in columns of codes 0, 1, …; one number or a list.
    unseen : "ignore" leaves out a value that was never seen, "smooth" gives it the probability of
        a count of zero.
    bins : a `Discretizer` to cut columns of numbers into bins, which are chosen when the model is
        solved. For all other parameters see `DiscreteClassifier`.

    Values are text or numbers. A column of whole numbers from 0 to 65,535 holds codes, as in
    scikit-learn: all numbers up to the largest count as possible values. Larger numbers, and
    columns with fractions, are only names of categories. None and NaN are missing.

    >>> cars = [["Red", "SUV"], ["Red", "Sports"], ["Yellow", "SUV"], ["Yellow", "Sports"]]
    >>> model = CategoricalNB(m=3, p=0.5).fit(cars, ["no", "yes", "no", "yes"])
    >>> model.predict([["Red", "Sports"], ["Blue", "SUV"]])
    array(['yes', 'no'], dtype='<U3')
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        min_categories: Any = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        priors: Any = None,
        prior_alpha: float = 0.0,
        m: float | None = None,
        p: Any = None,
        unexplained: str = "prior",
        unseen: str = "ignore",
        bins: Discretizer | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.min_categories = min_categories
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.priors = priors
        self.prior_alpha = prior_alpha
        self.m = m
        self.p = p
        self.unexplained = unexplained
        self.unseen = unseen
        self.bins = bins

    def _warn_of_measurements(self, model: Model) -> None:
        if self.bins is None:
            super()._warn_of_measurements(model)

    def _family(self) -> Categorical:
        if self.unseen not in ("ignore", "smooth"):
            raise ValueError(f'unseen must be "ignore" or "smooth"; got {self.unseen!r}.')
        if self.bins is not None and not isinstance(self.bins, Discretizer):
            raise ValueError(
                'bins must be a Discretizer, such as Discretizer("quantile", n_bins=5), or None; '
                f"got {self.bins!r}."
            )
        bins = None if self.bins is None else self.bins._bins()
        if bins is not None:
            bins.check_columns(self.n_features_in_)
        least = self.min_categories
        if least is not None:
            least = np.asarray(least)
            if least.ndim > 1 or (least.ndim == 1 and len(least) != self.n_features_in_):
                raise ValueError(
                    f"'min_categories' should have shape ({self.n_features_in_},) when an "
                    f"array-like is provided. Got {least.shape} instead."
                )
            if least.dtype.kind not in "iu":
                raise ValueError(
                    f"'min_categories' should have integral type. Got {least.dtype} instead."
                )
            if (least < 0).any() or (least > MOST_CATEGORIES).any():
                raise ValueError(
                    f"'min_categories' must be from 0 to {MOST_CATEGORIES}; got {least}."
                )
            least = least.tolist()
        return Categorical(self._smoothing(), bins, least, self.unseen)

    def _check_alpha(self) -> Any:
        if by_value(self.alpha):
            return self._each("alpha", self.alpha, self._check_values)
        return super()._check_alpha()

    def _check_guess(self) -> Any:
        if by_value(self.p):
            return self._each("p", self.p, check_distribution)
        return super()._check_guess()

    def _each(self, name: str, given: Any, check: Callable[[Array], Array]) -> list[Array]:
        """Check an option that has one number for each value of each column, column by column."""
        if len(given) != self.n_features_in_:
            raise ValueError(
                f"{name} must have one list for each of the {self.n_features_in_} columns, but has "
                f"{len(given)}; got {given!r}."
            )
        parts = [numbers(name, part) for part in given]
        wrong = next((part for part in parts if part.ndim > 1), None)
        if wrong is not None:
            raise ValueError(f"{name} needs a list of numbers per column; got shape {wrong.shape}.")
        return [check(part) for part in parts]

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """The number of values of each column, (n,)."""
        return np.array([len(column.values) for column in self._columns_solved], dtype=np.int64)

    @property
    def categories_(self) -> list[NDArray[Any]]:
        """The values of each column; for a column with bins, the bin numbers 1, 2, …."""
        return [c.values if c.edges is None else c.values + 1 for c in self._columns_solved]

    @property
    def bin_edges_(self) -> list[Array | None]:
        """The inner edges of each column's bins; None for a column without bins."""
        bins = self._fitted().family.bins  # type: ignore[attr-defined]
        return [None if c.edges is None else c.edges + bins.shift for c in self._columns_solved]

    @property
    def category_count_(self) -> list[Array]:
        """The number of occurrences of each value in each class, (K, values) for each column."""
        return [column.counts for column in self._columns_solved]

    @property
    def feature_log_prob_(self) -> list[Array]:
        """log p(value|y), (K, values) for each column."""
        parameters: CategoricalParameters = self._parameters
        return [parameters.table[parameters.rows(j)][:-1].T for j in range(len(parameters.columns))]

    @property
    def _columns_solved(self) -> Any:
        return self._parameters.columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.bins is None
        return tags
