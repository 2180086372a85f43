"""Add, subtract and scale classifiers, by adding, subtracting and scaling their statistics."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from genus.arrays import labels
from genus.estimators.core import Core
from genus.model import Model
from genus.statistics import ImpossibleError


class Group(Core):
    """The operations `a + b`, `a - b`, `2 * a` and `sum(…)`."""

    def __add__(self, other: Any) -> Self:
        mine, theirs = self._alike(other)
        mine._check_mergeable(theirs)
        merged = mine.model_ + theirs.model_
        _ = merged.prior  # raises an error if priors do not match the classes of both
        return mine._copy_with(merged)

    def __radd__(self, other: object) -> Self:
        """Return 0 + a, which sum() needs."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        check_is_fitted(self)
        return self._copy_with(self.model_)

    def __sub__(self, other: Any) -> Self:
        mine, theirs = self._alike(other)
        mine._check_mergeable(theirs)
        copy = mine._copy()
        copy._keep_rest(less(mine.model_, theirs.model_))
        return copy

    def __mul__(self, factor: float) -> Self:
        check_is_fitted(self)
        if np.ndim(factor) or not isinstance(factor, int | float | np.number):
            raise TypeError(f"A model can only be multiplied by a number; got {factor!r}.")
        if not (np.isfinite(factor) and factor >= 0):
            raise ValueError(
                "A model can only be multiplied by a number that is finite and 0 or more; got "
                f"{factor!r}."
            )
        return self._copy_with(self.model_ * float(factor))

    __rmul__ = __mul__

    def _alike(self, other: Any) -> tuple[Self, Any]:
        """Return both models in a form that can be added."""
        return self, other

    def _check_mergeable(self, other: object) -> None:
        if type(other) is not type(self):
            kind = f"{type(other).__module__}.{type(other).__qualname__}"
            raise TypeError(
                f"A {type(self).__name__} can only be merged with another {type(self).__name__}; "
                f"got a {kind}."
            )
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = (getattr(e, "feature_names_in_", None) for e in (self, other))
        if mine is not None and theirs is not None and list(mine) != list(theirs):
            how = first_difference(list(mine), list(theirs))
            raise ValueError(
                f"The two models have different columns: {how}. "
                "Merge models of the same columns, in the same order."
            )


def less(model: Model, other: Model) -> Model:
    """Return the model without the other's rows; raise an error if it does not contain them."""
    try:
        return model.forget(other)
    except ImpossibleError as error:
        if error.of_other_rows:
            raise ValueError(
                "Some of these rows were never learned: without them, the sums would be "
                "impossible. Forget only rows that were learned, with the same labels, weights "
                "and columns. If models with different plans were added, subtract a whole model "
                "instead: a - b. The model is unchanged."
            ) from None
        rest = model.weights - other.weights
        short = rest.classes[(rest["rows"] < 0).any(axis=1)]
        whose = f" of class {labels.show(short[0])}" if len(short) else ""
        raise ValueError(
            f"More would be forgotten{whose} than was learned. Forget only rows that were "
            "learned, with the same labels and weights. The model is unchanged."
        ) from None


def first_difference(mine: list[str], theirs: list[str]) -> str:
    """Describe the first difference between two lists of column names."""
    if len(mine) != len(theirs):
        one, two = ("first", mine, set(theirs)), ("second", theirs, set(mine))
        extra = [
            f"; the {side} alone has {name!r}"
            for side, names, others in (one, two)
            for name in [name for name in names if name not in others][:1]
        ]
        return f"{len(mine)} in the first and {len(theirs)} in the second{''.join(extra)}"
    at = next(j for j, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
    return f"column {at} is {mine[at]!r} in the first and {theirs[at]!r} in the second"
