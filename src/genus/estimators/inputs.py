"""Check input from users (tables, labels, weights, priors), and convert it for counting.

The checks return what the families can read, or raise an error that says what is wrong, where, and
what to do. X is copied only if the families cannot read it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse
import sklearn
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from genus.arrays import labels, matrix
from genus.arrays.labels import is_missing
from genus.arrays.matrix import Matrix
from genus.arrays.options import by_class, numbers, warn
from genus.statistics import Array

MOST_WEIGHT = 1e100  # beyond, sums of squares may overflow
AS_NUMBERS = "convert dates to numbers, such as days since a fixed day"


# Tables


def validated(estimator: Any, X: Any, *y: Any, **checks: Any) -> Any:
    """Return X, or X and y, as arrays checked by scikit-learn; store or compare column names."""
    if isinstance(X, NamedRow):
        if checks.get("reset", True):
            estimator.n_features_in_ = len(X.names)
            estimator.feature_names_in_ = np.array(X.names, dtype=object)
        return (X.values, *y) if y else X.values
    plain = checks.get("dtype") in ("numeric", None) and checks["ensure_all_finite"] is False
    if plain and is_plain(X, y, checks.get("accept_sparse", False)):
        if checks.get("reset", True):
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
            return (X, *y) if y else X
        if not hasattr(estimator, "feature_names_in_") and X.shape[1] == estimator.n_features_in_:
            return (X, *y) if y else X
    if is_frame(X) and not hasattr(X, "iloc") and not FINDS_ALL_NAMES:
        X = Named(X)
    return validate_data(estimator, X, *y, **checks)


def is_plain(X: Any, y: tuple[Any, ...], accept_sparse: Any) -> bool:
    """Return whether all arrays would certainly pass scikit-learn's checks unchanged.

    These checks take longer than counting a few rows.
    """
    is_rows = bool(accept_sparse) and scipy.sparse.issparse(X) and X.format == "csr"
    if not (type(X) is np.ndarray or is_rows) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return False
    known = all(
        type(one) is np.ndarray and one.shape == X.shape[:1] and one.dtype.kind in "biuU"
        for one in y
    )
    return known and min(X.shape) > 0


FINDS_ALL_NAMES = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


@dataclass(frozen=True, eq=False)
class NamedRow:
    """One row, `values` (1, n), with the column names of the model."""

    names: tuple[str, ...]
    values: NDArray[Any]


class Named:
    """A Polars frame with the `__dataframe__` that older scikit-learn versions need for names."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.shape = frame.shape

    def __len__(self) -> int:
        return len(self.frame)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.frame.to_numpy(), dtype=dtype)

    def __dataframe__(self) -> Named:
        return self

    def column_names(self) -> list[str]:
        return list(self.frame.columns)


def table_of_numbers(X: Any) -> Any:
    """Convert objects in X to numbers; raise an error for text and dates."""
    refuse_texts(X)
    X = table_without_dates(X)
    if is_frame(X):
        if not any(holds_objects(dtype) for _, dtype in columns_of(X)):
            return X
        names = [name for name, _ in columns_of(X)]
        return frame_like(X, numbers_of(objects_of(X), names), names)
    if isinstance(X, list | tuple):
        X = array_of_objects(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUS" and X.ndim == 2:
        return numbers_of(X)
    return X


def refuse_texts(X: Any) -> None:
    """Raise an error if X is a list of texts and not a table."""
    flat = isinstance(X, list | tuple) or getattr(X, "ndim", 2) == 1
    if flat and not matrix.is_sparse(X) and len(X) and isinstance(next(iter(X)), str):
        raise ValueError("Expected 2D array, got a list of texts. Use TextClassifier for texts.")


def table_of_categories(X: Any) -> Any:
    """Return X without converting values to one type; raise an error for a column of dates."""
    X = table_without_dates(X)
    if is_frame(X):
        dtypes = [str(dtype) for _, dtype in columns_of(X)]
        if len(set(dtypes)) > 1 or any(map(holds_objects, dtypes)) or loses_digits(X):
            return frame_like(X, objects_of(X), [name for name, _ in columns_of(X)])
        return X
    if isinstance(X, list | tuple):
        X = array_of_objects(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise ValueError("Complex data not supported: categories are text or real numbers.")
    return X


def table_without_dates(X: Any) -> Any:
    """Return X with masked values as NaN or None; raise an error for a column of dates."""
    if isinstance(X, np.ma.MaskedArray):
        hole: Any = None if X.dtype.kind in "OU" else np.nan
        X = np.where(np.ma.getmaskarray(X), hole, X.data)
    if is_frame(X) or is_arrow(X):
        for j, (name, dtype) in enumerate(columns_of(X)):
            kind = str(dtype).lower().split("(")[0]  # without the categories of an Enum
            if any(word in kind for word in ("date", "time", "duration", "period")):
                raise ValueError(
                    f"Column {j} ({name!r}) of X holds dates or times ({dtype}); {AS_NUMBERS}."
                )
    elif isinstance(X, np.ndarray) and X.dtype.kind in "Mm" and X.ndim == 2:
        raise ValueError(f"Column 0 of X holds dates or times ({X.dtype}); {AS_NUMBERS}.")
    return X


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas or Polars frame, or looks like one."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and not matrix.is_sparse(X)


def is_arrow(X: Any) -> bool:
    """Return whether X is an Arrow table or batch, or looks like one."""
    return hasattr(X, "schema") and hasattr(X, "column_names")


def columns_of(X: Any) -> list[tuple[Any, Any]]:
    """Return name and dtype of each column of a frame or an Arrow table."""
    if is_arrow(X):
        return [(column.name, column.type) for column in X.schema]
    return list(zip(X.columns, list(X.dtypes), strict=True))


def holds_objects(dtype: Any) -> bool:
    """Return whether values of this dtype must be read one by one."""
    kinds = ("object", "str", "categor", "enum", "decimal")
    return str(dtype).lower().startswith(kinds)


def loses_digits(X: Any) -> bool:
    """Return whether different integers would become equal floats.

    Nullable integers of pandas, and integers of Polars with missing values, become floats.
    """
    for j, (_, dtype) in enumerate(columns_of(X)):
        if isinstance(dtype, np.dtype) or not str(dtype).lower().startswith(("int64", "uint64")):
            continue
        column = column_at(X, j)
        ends = [end for end in (column.min(), column.max()) if not labels.is_missing(end)]
        if any(abs(int(end)) > labels.LARGEST_EXACT for end in ends):
            return True
    return False


def objects_of(X: Any) -> NDArray[Any]:
    """Return the values of a frame without conversion, (m, n)."""
    out = np.empty(X.shape, dtype=object)
    for j in range(X.shape[1]):
        out[:, j] = column_at(X, j).to_list()
    return out


def column_at(X: Any, j: int) -> Any:
    """Return a column of a frame by position; in pandas names may repeat."""
    return X.iloc[:, j] if hasattr(X, "iloc") else X[X.columns[j]]


def frame_like(X: Any, values: NDArray[Any], names: list[Any]) -> Any:
    """Return a frame of the same kind with the same columns and other values."""
    if hasattr(X, "iloc"):
        return type(X)(values, columns=X.columns)
    return type(X)({name: values[:, j] for j, name in enumerate(names)}, strict=False)


def array_of_objects(X: Any) -> Any:
    """Return rows as an array of objects if NumPy would alter their values, or else X."""
    try:
        as_array = np.asarray(X)
    except ValueError:  # scikit-learn raises an error for rows of different lengths
        return X
    if as_array.dtype.kind not in "OUS" or as_array.ndim != 2:
        return X
    return np.asarray(X, dtype=object)


def numbers_of(X: NDArray[Any], names: list[Any] | None = None) -> Array:
    """Return a table of objects as float64, with NaN for missing values."""
    out = np.empty(X.shape)
    for j in range(X.shape[1]):
        for i, item in enumerate(X[:, j]):
            number_like = isinstance(item, int | float | np.number | np.bool_ | Decimal | Fraction)
            try:
                if not (number_like or is_missing(item)):
                    raise TypeError
                out[i, j] = np.nan if is_missing(item) else item
            except (TypeError, ValueError, OverflowError):
                named = "" if names is None else f" ({names[j]!r})"
                raise no_number(item, f"row {i}, column {j}{named}", number_like) from None
    return out


def no_number(item: Any, where: str, number_like: bool) -> Exception:
    """Return the error for a value that is not a number or is too large for a float."""
    if isinstance(item, dict | list | tuple | set):
        return TypeError(
            f"X, {where}: argument must be a string or a real number, not {type(item).__name__!r}."
        )
    if number_like:
        return ValueError(
            f"Input X holds a number too large for a float in {where}. Scale the column to other "
            "units."
        )
    what = "text" if isinstance(item, str) else type(item).__name__
    return ValueError(
        f"Input X holds {what} in {where}: {str(item)[:40]!r} is not a number. Use CategoricalNB "
        f"for text, NaN for missing values; {AS_NUMBERS}."
    )


def tidy(X: Matrix) -> Matrix:
    """Return X in a layout and dtype that the kernel reads."""
    if matrix.is_sparse(X):
        return tidy_sparse(X)
    if any(stride % X.itemsize for stride in X.strides):
        X = X.copy()  # a field of packed records
    if X.dtype.kind in "biu" or X.dtype in (np.float32, np.float64):
        return X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))
    return X.astype(np.float64) if X.dtype.kind == "f" else numbers_of(X)


def tidy_sparse(X: Matrix) -> Matrix:
    """Return a valid CSR matrix without duplicate entries."""
    if not is_sound(X):
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"The sparse matrix X is corrupt: {error}. Rebuild it.") from None
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X if X.data.dtype.kind in "biuf" and X.data.dtype.itemsize <= 8 else X.astype(float)


def is_sound(X: Matrix) -> bool:
    """Return whether a CSR matrix is certainly valid.

    SciPy's own check takes longer than predicting one row.
    """
    start, columns, entries = X.indptr, X.indices, X.data
    if not (start.ndim == columns.ndim == entries.ndim == 1 and start.dtype == columns.dtype):
        return False
    rows, width = X.shape
    if start.dtype.kind != "i" or len(start) != rows + 1 or start[0] != 0:
        return False
    if not start[-1] == len(columns) == len(entries) or (start[1:] < start[:-1]).any():
        return False
    return len(columns) == 0 or (columns.min() >= 0 and columns.max() < width)


def refuse_empty_columns(X: Matrix, named: Callable[[int], str]) -> None:
    """Raise an error if a column has no values; `named` returns the name of a column."""
    if matrix.is_sparse(X) or X.dtype.kind not in "fO":
        return
    for j in np.flatnonzero(np.isnan(X[0]) if X.dtype.kind == "f" else [*map(is_missing, X[0])]):
        if all(map(is_missing, X[:, j])):
            raise ValueError(
                f"Input X contains only NaN or other missing values in {named(int(j))}, so there "
                "is nothing to learn from it. Leave the column out."
            )


# Labels


def refuse_missing_labels(y: Any) -> Any:
    """Return y; raise an error if a label is None or NaN."""
    if isinstance(y, np.ma.MaskedArray):
        y = y if not np.ma.is_masked(y) else np.array(y.tolist(), dtype=object)
    as_array = np.asarray(y)
    if as_array.dtype.kind == "T":  # NumPy's own strings
        as_array = y = np.asarray(as_array.tolist(), dtype=object)
    is_text = isinstance(y, list | tuple) and as_array.dtype.kind == "U"
    if is_text and not all(isinstance(label, str) for label in y):
        as_array = y = np.asarray(y, dtype=object)  # numbers among text stay numbers
    if as_array.dtype.kind == "S":
        raise ValueError(
            "The labels y are bytes. Convert them to strings: np.char.decode(y, 'utf-8')."
        )
    if as_array.dtype.kind in "Mm":
        as_array = as_array.astype(object)
    if as_array.dtype.kind == "O":
        missing = [i for i, label in enumerate(as_array.ravel()) if is_missing(label)]
        if not missing and as_array.ndim == 1:
            labels.factorize(as_array)  # raises for labels of different kinds
        if missing:
            raise ValueError(
                f"Input y contains NaN: row {missing[0]} has no label. "
                "Leave rows without a label out."
            )
    if as_array.dtype.kind == "f" and np.isnan(as_array).any():
        at = int(np.argmax(np.isnan(as_array.ravel())))
        raise ValueError(
            f"Input y contains NaN: row {at} has no label. Leave rows without a label out."
        )
    return y


def announced(classes: Any) -> NDArray[Any]:
    """Return the classes that a user declares, ascending."""
    named = np.asarray(classes)
    if named.ndim != 1 or any(map(is_missing, named.tolist())):
        raise ValueError(
            f"classes must be a 1d list of labels, none of them missing; got {classes!r}."
        )
    return labels.factorize(named)[0]


# Weights


def check_weight(sample_weight: Any, rows: int) -> Array | None:
    """Return valid weights, (m,), or None if none are given."""
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind not in "biufO":
            raise TypeError(given.dtype)
        weight = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            "sample_weight must hold one number for each row, not text, objects or complex "
            f"numbers; got {str(sample_weight)[:60]}."
        ) from None
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weight.ndim}D.")
    if len(weight) != rows:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(rows,)}: one weight for each row."
        )
    if not np.isfinite(weight).all():
        at = int(np.argmin(np.isfinite(weight)))
        raise ValueError(
            f"Input sample_weight contains NaN or infinity: row {at} has {weight[at]}. Give finite "
            "weights."
        )
    if rows and not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all are zero, so there is "
            "nothing to count. Give positive weights."
        )
    if (weight < 0).any():
        at = int(np.argmax(weight < 0))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: row {at} weighs {weight[at]}. "
            "Use forget() to take rows out."
        )
    if weight.max(initial=0.0) > MOST_WEIGHT:
        raise ValueError(
            f"sample_weight is too large: row {int(weight.argmax())} weighs {weight.max():g}, but "
            f"the most is {MOST_WEIGHT:g}. Divide all weights by the same number."
        )
    return np.ascontiguousarray(weight)


# Priors and seeds


def check_priors(priors: Any, normalise: bool = False, any_sum: bool = False) -> Any:
    """Return valid priors; whether there is one for each class is checked later.

    If they do not sum to 1, `normalise` scales them with a warning, and `any_sum` without.
    """
    if priors is None:
        return None
    priors = by_class(priors)
    values = numbers("priors", list(priors.values()) if isinstance(priors, Mapping) else priors)
    if values.ndim != 1:
        raise ValueError(
            f"priors must be a list of probabilities, one for each class; got {priors!r}."
        )
    if (values < 0).any():
        raise ValueError(f"Priors must be non-negative; got {values.min():g}.")
    if not np.isclose(values.sum(), 1.0):
        if not (normalise or any_sum) or values.sum() == 0:
            raise ValueError(f"The sum of the priors should be 1; it is {values.sum():g}.")
        if not any_sum:
            warn("The priors do not sum to 1. Renormalizing")
    scaled = values / values.sum()
    return dict(zip(priors, scaled, strict=True)) if isinstance(priors, Mapping) else scaled


def random_state_seed(random_state: Any) -> Any:
    """Convert scikit-learn's random_state to a seed for NumPy's default_rng."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    return random_state
