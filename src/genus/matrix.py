"""A matrix in, sums by class or scores by row out: the kernel's calls, by layout of the matrix.

A matrix is a dense array of any real dtype and order, or a SciPy CSR matrix. Counting and scoring
read it as it is, without a copy and in its own dtype.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from genus._kernel import (
    column_range,
    count_above_csr,
    score_above_csr,
    score_linear_csr,
    sum_columns_csr,
    take_runs,
)
from genus._kernel import count_above as count_above_dense
from genus._kernel import score_above as score_above_dense
from genus._kernel import score_linear as score_linear_dense
from genus._kernel import sum_columns as sum_columns_dense

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Task = TypeVar("Task")
Result = TypeVar("Result")
RowNumbers = Sequence[int] | NDArray[np.intp]
Matrix = Any  # NDArray of a real dtype, or scipy.sparse CSR

SCORE_BYTES = 32 << 20  # of scores at a time when only the best class is asked for
CHUNK_BYTES = 1 << 20  # of float64 work space at a time: it stays in the second-level cache
PRODUCT_ROWS = 1024  # at least, in a chunk that is multiplied with itself


def threads() -> int:
    """How many threads the kernel uses: `GENUS_THREADS`, else the cores this process may use."""
    set_by_user = os.environ.get("GENUS_THREADS", "")
    if set_by_user.isdigit() and int(set_by_user) > 0:
        return int(set_by_user)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_sparse(X: Matrix) -> bool:
    """Whether X is a SciPy sparse matrix."""
    return bool(scipy.sparse.issparse(X))


def chunks(rows: int, width: int, size: int = CHUNK_BYTES) -> Iterator[slice]:
    """Slices of rows that as float64 take `size` bytes, at least 256 rows each."""
    step = max(256, size // (8 * max(width, 1)))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def product_rows(width: int) -> int:
    """How many rows to multiply with themselves at a time: enough to pay for adding (n, n)."""
    return max(min(CHUNK_BYTES // (8 * max(width, 1)), 8 * PRODUCT_ROWS), PRODUCT_ROWS)


def in_threads(work: Callable[[Iterator[Task]], Result], tasks: Sequence[Task]) -> list[Result]:
    """Share tasks out to threads in contiguous runs; what each run gives, in their order.

    For work in NumPy that multiplies matrices. BLAS gets one thread for each of ours: its own
    would wait for each other at every chunk, for ever if the machine has other work.
    """
    count = max(1, min(threads(), len(tasks)))
    runs = [tasks[i * len(tasks) // count : (i + 1) * len(tasks) // count] for i in range(count)]
    with blas().limit(limits=1):
        if count == 1:
            return [work(iter(run)) for run in runs]
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(lambda run: work(iter(run)), runs))


@cache
def blas() -> ThreadpoolController:
    """The thread pools of the libraries loaded; looking for them takes a millisecond."""
    return ThreadpoolController()


def class_weights(y: Codes, weight: Array | None, n_classes: int) -> Array:
    """Σw by class, (K, 1)."""
    return np.bincount(y, weight, n_classes).astype(np.float64)[:, None]


def sum_columns(
    X: Matrix, y: Codes, weight: Array | None, n_classes: int, *, nonnegative: bool
) -> tuple[Array, Array]:
    """Σw x and the Σw of what is missing, by class and column, (K, n) each."""
    if is_sparse(X):
        total, missing, invalid = sum_columns_csr(
            X.data, *indices(X), X.shape[1], y, weight, n_classes, nonnegative, threads()
        )
    else:
        total, missing, invalid = sum_columns_dense(X, y, weight, n_classes, nonnegative, threads())
    refuse(X, invalid, nonnegative)
    return total, missing


def count_above(
    X: Matrix, y: Codes, weight: Array | None, n_classes: int, threshold: float
) -> tuple[Array, Array]:
    """Σw 1{x > threshold} and the Σw of what is missing, by class and column, (K, n) each."""
    if is_sparse(X) and threshold >= 0:
        ones, missing, invalid = count_above_csr(
            X.data, *indices(X), X.shape[1], y, weight, n_classes, threshold, threads()
        )
    elif is_sparse(X):
        # Absent entries are zeros and above a negative threshold: count what is not, and turn over.
        turned = -X.astype(np.float64)
        below, missing = count_above(
            turned, y, weight, n_classes, np.nextafter(-threshold, -np.inf)
        )
        return class_weights(y, weight, n_classes) - missing - below, missing
    else:
        ones, missing, invalid = count_above_dense(X, y, weight, n_classes, threshold, threads())
    refuse(X, invalid, nonnegative=False)
    return ones, missing


def score_linear(X: Matrix, table: Array, missing: Array) -> Array:
    """Σ_j x_j table_j (m, K), with `missing_j` in place of a term whose x_j is missing."""
    if is_sparse(X):
        scores = score_linear_csr(X.data, *indices(X), table, threads())
        holes = missing_entries(X)
        scores = scores if holes is None else scores + holes @ missing
    else:
        scores = score_linear_dense(X, table, missing, threads())
    if not np.isfinite(scores).all():
        refuse_infinite(X)
    return scores


def score_above(X: Matrix, threshold: float, on: Array, missing: Array) -> Array:
    """Σ_j 1{x_j > threshold} on_j (m, K), with `missing_j` where x_j is missing."""
    refuse_infinite(X)
    if is_sparse(X) and threshold >= 0:
        scores = score_above_csr(X.data, *indices(X), threshold, on, threads())
        holes = missing_entries(X)
        return scores if holes is None else scores + holes @ missing
    if is_sparse(X):
        turned = -X.astype(np.float64)
        flipped = score_above(turned, np.nextafter(-threshold, -np.inf), -on, missing - on)
        return flipped + on.sum(axis=0)
    return score_above_dense(X, threshold, on, missing, threads())


def indices(X: Matrix) -> tuple[NDArray[Any], NDArray[Any]]:
    """Column indices and row pointers of a CSR matrix, both of one integer type."""
    if X.indices.dtype == X.indptr.dtype:
        return X.indices, X.indptr
    return X.indices.astype(np.int64), X.indptr.astype(np.int64)


def missing_entries(X: Matrix) -> Matrix | None:
    """1 where a CSR matrix holds NaN, or None if it holds none."""
    if X.data.dtype.kind != "f" or not value_range(X.data)[2]:
        return None
    holes = X.copy()
    holes.data = np.isnan(X.data).astype(np.float64)
    return holes


def rows(X: Matrix, part: slice) -> Matrix:
    """Consecutive rows of X, without copying them."""
    if part == slice(0, X.shape[0]):
        return X
    if not is_sparse(X):
        return X[part]
    start, end = X.indptr[part.start], X.indptr[part.stop]
    indptr = X.indptr[part.start : part.stop + 1] - start
    return sparse_of(X, X.data[start:end], X.indices[start:end], indptr)


def take(X: Matrix, order: NDArray[np.intp]) -> Matrix:
    """The rows of X in another order."""
    if is_sparse(X):
        lengths = np.diff(X.indptr)[order]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(X.indptr.dtype)
        starts, places = X.indptr[:-1][order].astype(np.int64), indptr.astype(np.int64)
        data, indices = (taken(part, starts, places) for part in (X.data, X.indices))
        return sparse_of(X, data, indices, indptr)
    if X.dtype.kind == "O" or not X.flags.c_contiguous:
        return X[order]
    places = np.arange(len(order) + 1) * X.shape[1]
    return taken(X.reshape(-1), order * X.shape[1], places).reshape(len(order), -1)


def taken(values: NDArray[Any], starts: Codes, places: Codes) -> NDArray[Any]:
    """Runs of values from `starts`, one after the other; `places` is where each begins."""
    out = np.empty(places[-1], dtype=values.dtype)
    size = values.itemsize
    as_bytes = np.ascontiguousarray(values).view(np.uint8)
    take_runs(as_bytes, starts * size, places * size, out.view(np.uint8), threads())
    return out


def sparse_of(X: Matrix, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]) -> Matrix:
    """A CSR matrix of these parts, as sound as X. (The constructor would check and copy them.)"""
    made = type(X)((len(indptr) - 1, X.shape[1]), dtype=X.dtype)
    made.data, made.indices, made.indptr = data, indices, indptr
    made.has_canonical_format = X.has_canonical_format
    return made


def stable_order(codes: Codes) -> NDArray[np.intp]:
    """What sorts codes and leaves equal ones in their order; small numbers sort by radix."""
    small = len(codes) and codes.max() < 1 << 16
    return np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")


def dense_rows(X: Matrix, rows: Any = slice(None)) -> Array:
    """Some rows as float64."""
    part = X[rows]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def refuse(X: Matrix, invalid: int, nonnegative: bool) -> None:
    """Raise for the first value that the kernel would not take."""
    if invalid < 0:
        return
    row, column = divmod(invalid, X.shape[1])
    value = X[row, column]
    raise InvalidValue(row, column, value, negative=nonnegative and not np.isinf(value))


def refuse_infinite(X: Matrix) -> None:
    """Raise if a matrix holds an infinite value."""
    if (X.data if is_sparse(X) else X).dtype.kind == "f":
        refuse_outside(X, -np.finfo(np.float64).max)


def refuse_negative(X: Matrix) -> None:
    """Raise if a matrix holds a negative or infinite value."""
    if (X.data if is_sparse(X) else X).dtype.kind not in "bu":
        refuse_outside(X, 0.0)


def refuse_outside(X: Matrix, least: float) -> None:
    """Raise if a matrix holds a value below `least`, or an infinite one."""
    if is_sparse(X):
        minimum, maximum, _ = value_range(X.data)
    else:
        minima, maxima, _, _ = column_range(X, threads())
        minimum, maximum = minima.min(initial=np.inf), maxima.max(initial=-np.inf)
    if minimum >= least and maximum < np.inf:
        return
    for part in chunks(*X.shape):
        x = dense_rows(X, part)
        bad = np.argwhere((x < least) | np.isinf(x))
        if len(bad):
            row, column = int(bad[0, 0]), int(bad[0, 1])
            value = float(x[row, column])
            negative = least == 0 and np.isfinite(value)
            raise InvalidValue(part.start + row, column, value, negative=bool(negative))


def value_range(values: NDArray[Any]) -> tuple[float, float, bool]:
    """The least and the largest of values (∞ and -∞ of none), and whether one is missing."""
    if len(values) == 0:
        return np.inf, -np.inf, False
    minimum, maximum = values.min(), values.max()  # NaN if one is missing
    missing = bool(minimum != minimum)
    if missing:
        with np.errstate(invalid="ignore"):
            minimum, maximum = np.fmin.reduce(values), np.fmax.reduce(values)
    return float(minimum), float(maximum), missing


class InvalidValue(ValueError):
    """A value of X that no family can count."""

    def __init__(self, row: int, column: int, value: float, negative: bool) -> None:
        self.row, self.column, self.value, self.negative = row, column, value, negative
        super().__init__(f"Invalid value {value} in row {row}, column {column}.")


@contextmanager
def numbered(row_numbers: RowNumbers) -> Iterator[None]:
    """Let errors about rows of a part of a matrix speak of them by these numbers."""
    try:
        yield
    except InvalidValue as error:
        row = int(row_numbers[error.row])
        raise InvalidValue(row, error.column, error.value, error.negative) from None


class InvalidColumn(ValueError):
    """A column of X that no family can count; `problem` goes on where "Column 3" leaves off."""

    def __init__(self, column: int, problem: str) -> None:
        self.column, self.problem = column, problem
        super().__init__(f"Column {column} {problem}")
