"""Sum a matrix by class and score its rows, with the kernel's function for its layout.

A matrix is a dense array of any real dtype and order, a SciPy CSR matrix, or `SparseRows`.
Counting and scoring read it without a copy and in its own dtype.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
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

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Task = TypeVar("Task")
Result = TypeVar("Result")
RowNumbers = Sequence[int] | NDArray[np.intp]
Matrix = Any  # NDArray of a real dtype, scipy.sparse CSR, or SparseRows

SCORE_BYTES = 32 << 20  # memory for scores at a time, if only the best class is needed
CHUNK_BYTES = 1 << 20  # float64 work space at a time, which fits the second-level cache
MOST_THREADS = 1024
FEW_COLUMNS = 8  # sparse rows with so many columns per entry need only the columns of entries
PRODUCT_ROWS = 1024  # rows, at least, in a chunk that is multiplied with itself


class Share(threading.local):
    """The number of threads that the caller may use, if several callers share them."""

    size: int | None = None


SHARE = Share()


def threads() -> int:
    """Return the number of threads: `GENUS_THREADS`, or the cores of this process.

    Within `in_threads` and `in_order` it is a share of them, so that the total is not exceeded.
    """
    if SHARE.size is not None:
        return SHARE.size
    set_by_user = os.environ.get("GENUS_THREADS", "")
    if set_by_user.isdigit() and int(set_by_user) > 0:
        return min(int(set_by_user), MOST_THREADS)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Some rows of a CSR matrix, in any order and without a copy: entries starts[i] to ends[i]."""

    data: NDArray[Any]
    indices: NDArray[Any]
    starts: NDArray[Any]
    ends: NDArray[Any]
    columns: int

    @classmethod
    def of(cls, X: Matrix) -> SparseRows:
        """Return all rows of a CSR matrix; the three index arrays get the same type."""
        if isinstance(X, SparseRows):
            return X
        indices, indptr = X.indices, X.indptr
        if indices.dtype != indptr.dtype:
            indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
        return cls(X.data, indices, indptr[:-1], indptr[1:], X.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts), self.columns

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def parts(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The arrays that the kernel reads."""
        return self.data, self.indices, self.starts, self.ends

    def __getitem__(self, rows: Any) -> SparseRows:
        starts, ends = self.starts[rows], self.ends[rows]
        return SparseRows(self.data, self.indices, starts, ends, self.columns)

    def __neg__(self) -> SparseRows:
        own = SparseRows.of(self.to_scipy())  # the data may include many more rows
        return replace(own, data=-own.data.astype(np.float64))

    def to_scipy(self) -> csr_array:
        """Return a copy as a SciPy matrix."""
        lengths = self.ends - self.starts
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(self.starts - indptr[:-1], lengths) + np.arange(indptr[-1])
        parts = self.data[entries], self.indices[entries], indptr
        from scipy.sparse import csr_array  # takes longer than all else that mail imports

        return csr_array(parts, shape=self.shape)


def is_sparse(X: Matrix) -> bool:
    """Return whether X is a SciPy sparse matrix or rows of one."""
    sparse = sys.modules.get("scipy.sparse")  # if it is not imported, X is not sparse
    return isinstance(X, SparseRows) or (sparse is not None and bool(sparse.issparse(X)))


def chunks(rows: int, width: int, size: int = CHUNK_BYTES) -> Iterator[slice]:
    """Yield slices of rows that take `size` bytes as float64, with at least 256 rows each."""
    step = max(256, size // (8 * max(width, 1)))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def product_rows(width: int) -> int:
    """Return how many rows to multiply at a time to make adding the (n, n) results cheap."""
    return max(min(CHUNK_BYTES // (8 * max(width, 1)), 8 * PRODUCT_ROWS), PRODUCT_ROWS)


def in_threads(work: Callable[[Iterator[Task]], Result], tasks: Sequence[Task]) -> list[Result]:
    """Divide tasks into contiguous runs, one per thread; return the runs' results in order.

    This is for work in NumPy, which releases the interpreter's lock. Meanwhile BLAS uses one thread
    per call. Several would wait for each other at every chunk, which takes long on a busy machine.
    """
    if len(tasks) <= 1:
        return [work(iter(tasks))]
    count = max(1, min(threads(), len(tasks)))
    runs = [tasks[i * len(tasks) // count : (i + 1) * len(tasks) // count] for i in range(count)]
    with ONE_BLAS_THREAD:
        if count == 1:
            return [work(iter(run)) for run in runs]
        with sharing(count) as pool:
            return list(pool.map(lambda run: work(iter(run)), runs))


def in_order(work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """Yield the results of work on tasks, in order; a few tasks run at a time."""
    count, tasks = threads(), iter(tasks)
    first = list(islice(tasks, 2))
    if count == 1 or len(first) < 2:  # a single task gets all threads
        yield from map(work, chain(first, tasks))
        return
    with sharing(count) as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for task in chain(first, tasks):
                pending.append(pool.submit(work, task))
                if len(pending) > count:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def sharing(count: int) -> ThreadPoolExecutor:
    """Return a pool of `count` threads; each may use an equal part of the caller's threads."""
    share = max(1, threads() // count)
    return ThreadPoolExecutor(count, initializer=setattr, initargs=(SHARE, "size", share))


@contextmanager
def alone() -> Iterator[None]:
    """Use one thread, because other processes use the other cores."""
    before, SHARE.size = SHARE.size, 1
    try:
        with ONE_BLAS_THREAD:
            yield
    finally:
        SHARE.size = before


class OneBlasThread:
    """A context with one BLAS thread; the first to enter sets it, the last to leave resets it.

    If each thread set and reset the limit itself, overlapping contexts could leave it set.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.limit = blas().limit(limits=1)
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.limit.restore_original_limits()


ONE_BLAS_THREAD = OneBlasThread()
FEW_NUMBERS = 1_000_000  # matrices with fewer are multiplied and solved faster by one thread


def blas_threads_for(shape: Sequence[int]) -> AbstractContextManager[None]:
    """Return a context with one BLAS thread for small matrices, and with all for large ones."""
    return ONE_BLAS_THREAD if math.prod(shape) < FEW_NUMBERS else nullcontext()


@cache
def blas() -> ThreadpoolController:
    """Return the thread pools of the loaded libraries; finding them takes a millisecond."""
    return ThreadpoolController()


def class_weights(y: Codes, weight: Array | None, n_classes: int) -> Array:
    """Return Σw by class, (K, 1)."""
    return np.bincount(y, weight, n_classes).astype(np.float64)[:, None]


def sum_columns(
    X: Matrix, y: Codes, weight: Array | None, n_classes: int, *, nonnegative: bool
) -> tuple[Array, Array]:
    """Return Σw x, and Σw of missing values, by class and column, (K, n) each.

    If no value is missing, the second array is (0, n).
    """
    if is_sparse(X):
        total, missing, invalid = sum_columns_csr(
            *SparseRows.of(X).parts, X.shape[1], y, weight, n_classes, nonnegative, threads()
        )
    else:
        total, missing, invalid = sum_columns_dense(X, y, weight, n_classes, nonnegative, threads())
    refuse(X, invalid, nonnegative)
    return total, missing


def count_above(
    X: Matrix, y: Codes, weight: Array | None, n_classes: int, threshold: float
) -> tuple[Array, Array]:
    """Return Σw 1{x > threshold}, and Σw of missing values, by class and column, (K, n) each.

    If no value is missing, the second array is (0, n).
    """
    if is_sparse(X) and threshold >= 0:
        ones, missing, invalid = count_above_csr(
            *SparseRows.of(X).parts, X.shape[1], y, weight, n_classes, threshold, threads()
        )
    elif is_sparse(X):
        # Absent entries are zeros, which exceed a negative threshold: count the others and
        # subtract.
        refuse_infinite(X)
        turned, above = -SparseRows.of(X), np.nextafter(-threshold, -np.inf)
        below, missing = count_above(turned, y, weight, n_classes, above)
        there = class_weights(y, weight, n_classes)
        return (there - missing if len(missing) else there) - below, missing
    else:
        ones, missing, invalid = count_above_dense(X, y, weight, n_classes, threshold, threads())
    refuse(X, invalid, nonnegative=False)
    return ones, missing


def score_linear(X: Matrix, table: Array, missing: Array | None, *, nonnegative: bool) -> Array:
    """Return Σ_j x_j table_j (m, K); a missing x_j adds `missing_j`, or nothing."""
    if is_sparse(X):
        parts = SparseRows.of(X).parts
        scores, invalid = score_linear_csr(*parts, table, missing, nonnegative, threads())
        refuse(X, invalid, nonnegative)
        return scores
    if nonnegative:
        refuse_negative(X)
    scores = score_linear_dense(X, table, missing, threads())
    if not np.isfinite(scores).all():
        refuse_infinite(X)
    return scores


def score_above(X: Matrix, threshold: float, on: Array, missing: Array | None) -> Array:
    """Return Σ_j 1{x_j > threshold} on_j (m, K); a missing x_j adds `missing_j`, or nothing."""
    if is_sparse(X) and threshold >= 0:
        scores, invalid = score_above_csr(
            *SparseRows.of(X).parts, threshold, on, missing, threads()
        )
        refuse(X, invalid, nonnegative=False)
        return scores
    refuse_infinite(X)
    if is_sparse(X):
        turned, above = -SparseRows.of(X), np.nextafter(-threshold, -np.inf)
        absent = -on if missing is None else missing - on
        return score_above(turned, above, -on, absent) + on.sum(axis=0)
    return score_above_dense(X, threshold, on, missing, threads())


def touched_columns(X: Matrix) -> tuple[NDArray[np.intp], SparseRows] | None:
    """Return the columns that have entries in sparse rows, and the rows with these columns.

    Return None if there are so many columns that this would save no time.
    """
    if not is_sparse(X):
        return None
    rows = SparseRows.of(X)
    entries = int((rows.ends - rows.starts).sum())
    if entries * FEW_COLUMNS > rows.columns:
        return None
    if entries != len(rows.indices):
        rows = SparseRows.of(rows.to_scipy())
    if len(rows.starts) == 1 and (rows.indices[1:] > rows.indices[:-1]).all():
        columns, places = rows.indices, np.arange(entries)
    else:
        columns, places = np.unique(rows.indices, return_inverse=True)
    places = places.astype(rows.indices.dtype, copy=False)
    return columns, SparseRows(rows.data, places, rows.starts, rows.ends, len(columns))


@contextmanager
def column_numbers(columns: NDArray[np.intp]) -> Iterator[None]:
    """Correct the column numbers in errors about a matrix with only these columns."""
    try:
        yield
    except InvalidValue as error:
        column = int(columns[error.column])
        raise InvalidValue(error.row, column, error.value, error.too_small) from None


def rows(X: Matrix, part: slice) -> Matrix:
    """Return consecutive rows of X, without a copy."""
    if part == slice(0, X.shape[0]):
        return X
    return SparseRows.of(X)[part] if is_sparse(X) else X[part]


def take(X: Matrix, order: NDArray[np.intp]) -> Matrix:
    """Return the rows of X in another order."""
    if is_sparse(X):
        return SparseRows.of(X)[order]
    if X.dtype.kind == "O" or not X.flags.c_contiguous:
        return X[order]
    out = np.empty((len(order), X.shape[1]), dtype=X.dtype)
    size = X.shape[1] * X.itemsize
    as_bytes = X.reshape(-1).view(np.uint8)
    places = np.arange(len(order) + 1) * size
    take_runs(as_bytes, order * size, places, out.reshape(-1).view(np.uint8), threads())
    return out


def stable_order(codes: Codes) -> NDArray[np.intp]:
    """Return a stable sorting order of codes; small numbers are sorted by radix."""
    small = len(codes) and codes.max() < 1 << 16
    return np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")


def dense_rows(X: Matrix, rows: Any = slice(None)) -> Array:
    """Return some rows as float64."""
    part = SparseRows.of(X)[rows].to_scipy().toarray() if is_sparse(X) else X[rows]
    return np.asarray(part, dtype=np.float64)


def refuse(X: Matrix, invalid: int, nonnegative: bool) -> None:
    """Raise an error for the invalid value that the kernel found at this position; -1 is none."""
    if invalid < 0:
        return
    row, column = divmod(invalid, X.shape[1])
    value = float(dense_rows(X, slice(row, row + 1))[0, column])
    raise InvalidValue(row, column, value, too_small=nonnegative and not np.isinf(value))


def refuse_infinite(X: Matrix) -> None:
    """Raise an error if a matrix has an infinite value."""
    if X.dtype.kind == "f":
        refuse_outside(X, -np.finfo(np.float64).max)


def refuse_negative(X: Matrix) -> None:
    """Raise an error if a matrix has a negative or infinite value."""
    if X.dtype.kind not in "bu":
        refuse_outside(X, 0.0)


def refuse_nonpositive(X: Matrix) -> None:
    """Raise an error if a matrix has a value that is not positive, or an infinite one."""
    refuse_outside(X, np.finfo(np.float64).smallest_subnormal)


def refuse_outside(X: Matrix, least: float) -> None:
    """Raise an error if a matrix has a value below `least`, or an infinite one."""
    if is_sparse(X):
        minimum, maximum = value_range(X.data)
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
            too_small = least >= 0 and np.isfinite(value)
            raise InvalidValue(part.start + row, column, value, too_small=bool(too_small))


def value_range(values: NDArray[Any]) -> tuple[float, float]:
    """Return the smallest and largest value that is not missing (∞ and -∞ if there is none)."""
    if len(values) == 0:
        return np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        return float(np.fmin.reduce(values)), float(np.fmax.reduce(values))


class InvalidValue(ValueError):
    """A value of X that a family cannot count: infinite, or too small."""

    def __init__(self, row: int, column: int, value: float, too_small: bool) -> None:
        self.row, self.column, self.value, self.too_small = row, column, value, too_small
        super().__init__(f"Invalid value {value} in row {row}, column {column}.")


@contextmanager
def numbered(row_numbers: RowNumbers) -> Iterator[None]:
    """Correct the row numbers in errors about a part of a matrix."""
    try:
        yield
    except InvalidValue as error:
        row = int(row_numbers[error.row])
        raise InvalidValue(row, error.column, error.value, error.too_small) from None


class InvalidColumn(ValueError):
    """An error about a column that cannot be counted; `problem` completes "Column 3 …"."""

    def __init__(self, column: int, problem: str) -> None:
        self.column, self.problem = column, problem
        super().__init__(f"Column {column} {problem}")
