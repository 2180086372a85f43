"""Learn from and predict one row at a time, with the method names of river."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.estimators.columns import MIXED, TEXT, VALUES
from genus.estimators.fitting import Fitting
from genus.estimators.inputs import NamedRow, numbers_of
from genus.estimators.predicting import Predicting


class SingleRows(Fitting, Predicting):
    """The methods `learn_one` and `predict_one`, for which a row is a batch of one."""

    def learn_one(self, x: Mapping[str, Any] | str, y: Any, w: float = 1.0) -> Self:
        """Count one row x of class y with weight w; x is a dictionary by column, or a text.

        The first row names the columns. If a later row lacks one of them, its value is missing;
        for classifiers that accept sparse counts, it is zero.
        """
        weight = None if w == 1 else np.array([w])
        if self._reads == MIXED and not self.__sklearn_is_fitted__():
            raise ValueError(
                "One row is not enough to plan the columns. Call plan or fit with some rows first."
            )
        return self.partial_fit(self._row(x), np.array([y]), sample_weight=weight)

    def predict_one(self, x: Mapping[str, Any] | str) -> Any:
        """Return the most probable class of one row; None if nothing was learned yet."""
        if not self.__sklearn_is_fitted__():
            return None
        return self.predict(self._row(x)).tolist()[0]

    def predict_proba_one(self, x: Mapping[str, Any] | str) -> dict[Any, float]:
        """Return p(y|x) of one row by class; an empty dictionary if nothing was learned yet."""
        if not self.__sklearn_is_fitted__():
            return {}
        found = self.predict_proba(self._row(x))[0]
        return dict(zip(self.classes_.tolist(), found.tolist(), strict=True))

    def _row(self, x: Any) -> Any:
        """Return one row in a form that `partial_fit` and `predict` accept."""
        row: Any = x
        if not isinstance(x, str if self._reads == TEXT else Mapping):
            wanted = "a text" if self._reads == TEXT else "a dictionary of values by column"
            raise TypeError(
                f"One row of {type(self).__name__} must be {wanted}; got a {type(x).__name__}."
            )
        if self._reads == TEXT:
            return [x]
        names = self._names_of(row)
        if self._reads == MIXED:
            return {name: [row.get(name)] for name in names}
        absent = self._absent
        given = [row.get(name, absent) for name in names]
        if self._reads != VALUES and {*map(type, given)} <= {float, int}:
            with suppress(OverflowError):  # raised again later with the column
                return NamedRow(names, np.array([given], dtype=np.float64))
        values: NDArray[Any] = np.empty((1, len(names)), dtype=object)
        values[0] = given
        return NamedRow(names, values if self._reads == VALUES else numbers_of(values, [*names]))

    def _names_of(self, x: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns of the model or, if it has none, of the first row."""
        if not self.__sklearn_is_fitted__():
            if not x or not all(isinstance(name, str) for name in x):
                raise ValueError(
                    "The first row must be a dictionary by column name, and names must be text; "
                    f"got {x!r}."
                )
            return tuple(x)
        named = getattr(self, "feature_names_in_", None)
        if named is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted to an array, whose columns have no names. "
                "Give rows as arrays, or fit it with names."
            )
        known = tuple(named.tolist())
        new = [name for name in x if name not in {*known}] if x.keys() - known else []
        if new and self._reads != MIXED:  # a plan may leave columns out
            raise ValueError(
                f"The row has a column {labels.show(new[0])}, which the model was not fitted with. "
                "A fitted model keeps its columns: leave this one out, or fit a new model."
            )
        return known

    @property
    def _absent(self) -> float:
        """The value for a column that is missing from a row."""
        return 0.0 if self._accepts_sparse else np.nan
