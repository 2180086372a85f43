"""The base of classifiers of categories: it reads columns of values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays.matrix import Matrix
from genus.arrays.options import warn
from genus.estimators.base import GenerativeClassifier
from genus.estimators.columns import VALUES, matrix_of
from genus.estimators.inputs import table_of_categories, tidy, validated
from genus.model import Model

FEW_VALUES = 10  # distinct numbers of a column that are likely to be categories


class CategoryClassifier(GenerativeClassifier):
    """A classifier of columns that hold categories: text, or numbers of 0 or more."""

    _reads = VALUES
    _cut_into_bins = "bins=Discretizer()"

    def _matrix(self, rows: Any) -> Matrix:
        return self._columns(matrix_of(rows, self._columns_known(rows)))

    def _as_matrix(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        checks: dict[str, Any] = {"dtype": None, "ensure_all_finite": False, "reset": reset}
        X = table_of_categories(X)
        if y is None:
            return self._columns(validated(self, X, **checks)), None
        X, y = validated(self, X, y, **checks)
        return self._columns(X), y

    def _columns(self, X: NDArray[Any]) -> Matrix:
        return X.astype(object) if X.dtype.kind in "USOT" else tidy(X)

    def _refuse_unsolved(self, model: Model) -> None:
        self._warn_of_measurements(model)

    def _warn_of_measurements(self, model: Model) -> None:
        """Warn if a column of fractions has more different values than a tenth of the rows."""
        keys, rows = model.statistics.keys or (), int(model.class_weights.sum())
        many = [
            j
            for j, values in enumerate(keys)
            if len(values) > max(FEW_VALUES, rows // 10)
            and values.dtype.kind == "f"
            and (values != np.floor(values)).any()
        ]
        if many:
            more = f" (and {len(many) - 1} more)" if len(many) > 1 else ""
            warn(
                f"{self._subject(many[0])}{more} holds {len(keys[many[0]])} different numbers in "
                f"{rows} rows, and each is a category of its own. Cut measurements into bins with "
                f"{self._cut_into_bins}, or use GaussianNB or GDA."
            )

    @property
    def _too_small_hint(self) -> str:  # type: ignore[override]
        return (
            "Give categories as numbers from 0 or as text, use NaN for missing values, or cut "
            f"numbers into bins with {self._cut_into_bins}."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        return tags
