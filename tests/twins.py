"""What each function of the kernel means, in plain NumPy: slow, and plain to see.

A twin takes the arguments of its function but for ``threads``; m rows, n columns, K classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

infinities = np.errstate(invalid="ignore")  # 0 · ∞ and ∞ - ∞ are NaN here, too


def weights_of(weight: Array | None, m: int) -> Array:
    return np.ones(m) if weight is None else weight


def by_class(values: Array, y: Array, K: int) -> Array:
    """Sum the rows of each class: (m, n) -> (K, n)."""
    sums = np.zeros((K, *values.shape[1:]))
    for k in range(K):
        sums[k] = values[y == k].sum(axis=0)
    return sums


def first(forbidden: Array) -> int:
    flat = np.flatnonzero(forbidden)
    return int(flat[0]) if len(flat) else -1


@infinities
def sum_columns(
    X: Array, y: Array, weight: Array | None, n_classes: int, nonnegative: bool
) -> tuple[Array, Array, int]:
    x = X.astype(np.float64)
    w = weights_of(weight, len(y))[:, np.newaxis]
    hole = np.isnan(x)
    return (
        by_class(np.where(hole, 0, w * x), y, n_classes),
        by_class(w * hole, y, n_classes),
        first(np.isinf(x) | (nonnegative & (x < 0))),
    )


def count_above(
    X: Array, y: Array, weight: Array | None, n_classes: int, threshold: float
) -> tuple[Array, Array, int]:
    x = X.astype(np.float64)
    w = weights_of(weight, len(y))[:, np.newaxis]
    return (
        by_class(w * (x > threshold), y, n_classes),
        by_class(w * np.isnan(x), y, n_classes),
        first(np.isinf(x)),
    )


@infinities
def square_columns(
    X: Array, y: Array, weight: Array | None, origin: Array, n_classes: int
) -> tuple[Array, Array, Array, int]:
    x = X.astype(np.float64)
    w = weights_of(weight, len(y))[:, np.newaxis]
    z = x - origin[y]
    there = ~np.isnan(x)
    return (
        by_class(w * there, y, n_classes),
        by_class(np.where(there, w * z, 0), y, n_classes),
        by_class(np.where(there, w * z * z, 0), y, n_classes),
        first(np.isinf(x)),
    )


@infinities
def center(
    X: Array, y: Array, weight: Array | None, origin: Array, n_classes: int, rows: Array | None
) -> tuple[Array, Array, int, Array]:
    """Return what the kernel returns, and Z."""
    x = (X if rows is None else X[rows]).astype(np.float64)
    w = weights_of(weight, len(y))
    complete = ~np.isnan(x).any(axis=1)
    z = np.where(complete[:, np.newaxis], x - origin[y], 0)
    return (
        by_class(w * complete, y, n_classes),
        by_class(w[:, np.newaxis] * z, y, n_classes),
        first(np.isinf(x)),
        z,
    )


def entries(
    data: Array, indices: Array, starts: Array, ends: Array
) -> list[tuple[int, int, float]]:
    """Return the triples (row, column, x) of sparse rows."""
    return [
        (i, int(indices[e]), float(data[e]))
        for i, (start, end) in enumerate(zip(starts, ends, strict=True))
        for e in range(start, end)
    ]


@infinities
def sum_columns_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    n_columns: int,
    y: Array,
    weight: Array | None,
    n_classes: int,
    nonnegative: bool,
) -> tuple[Array, Array, int]:
    w = weights_of(weight, len(y))
    total, missing = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns))
    invalid = []
    for i, j, x in entries(data, indices, starts, ends):
        if np.isnan(x):
            missing[y[i], j] += w[i]
            continue
        total[y[i], j] += w[i] * x
        if np.isinf(x) or (nonnegative and x < 0):
            invalid.append(i * n_columns + j)
    return total, missing, min(invalid, default=-1)


def count_above_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    n_columns: int,
    y: Array,
    weight: Array | None,
    n_classes: int,
    threshold: float,
) -> tuple[Array, Array, int]:
    w = weights_of(weight, len(y))
    ones, missing = np.zeros((n_classes, n_columns)), np.zeros((n_classes, n_columns))
    invalid = []
    for i, j, x in entries(data, indices, starts, ends):
        ones[y[i], j] += w[i] * (x > threshold)
        missing[y[i], j] += w[i] * np.isnan(x)
        if np.isinf(x):
            invalid.append(i * n_columns + j)
    return ones, missing, min(invalid, default=-1)


def column_range(X: Array) -> tuple[Array, Array, Array, Array]:
    x = X.astype(np.float64)
    hole = np.isnan(x)
    whole = np.isfinite(x) & (np.floor(np.where(np.isfinite(x), x, 0.5)) == x)
    return (
        np.where(hole, np.inf, x).min(axis=0, initial=np.inf),
        np.where(hole, -np.inf, x).max(axis=0, initial=-np.inf),
        (hole | whole).all(axis=0),
        hole.any(axis=0),
    )


def codes_of(X: Array, offsets: Array) -> list[tuple[int, int, int]]:
    """Return (row, column, place in the table) of the cells that hold a code of their column."""
    return [
        (i, j, int(offsets[j]) + int(X[i, j]))
        for i in range(X.shape[0])
        for j in range(X.shape[1])
        if 0 <= X[i, j] < offsets[j + 1] - offsets[j] and X[i, j] == int(X[i, j])
    ]


def tally_codes(X: Array, y: Array, weight: Array | None, offsets: Array, n_classes: int) -> Array:
    w = weights_of(weight, len(y))
    counts = np.zeros((n_classes, int(offsets[-1])))
    for i, _, place in codes_of(X, offsets):
        counts[y[i], place] += w[i]
    return counts


def gather_scores(X: Array, table: Array, offsets: Array) -> tuple[Array, bool]:
    scores = np.zeros((X.shape[0], table.shape[1]))
    codes = codes_of(X, offsets)
    for i, _, place in codes:
        scores[i] += table[place]
    return scores, table.shape[1] == 0 or len(codes) == X.size


def unique_codes(values: Array) -> tuple[Array, Array]:
    there = ~np.isnan(values)
    unique = np.unique(values[there])
    codes = np.full(len(values), -1)
    codes[there] = np.searchsorted(unique, values[there])
    return unique, codes


@infinities
def score_above(X: Array, threshold: float, on: Array, missing: Array) -> Array:
    x = X.astype(np.float64)[:, :, np.newaxis]
    return np.where(np.isnan(x), missing, np.where(x > threshold, on, 0)).sum(axis=1)


@infinities
def score_linear(X: Array, table: Array, missing: Array) -> Array:
    x = X.astype(np.float64)[:, :, np.newaxis]
    return np.where(np.isnan(x), missing, np.where(x == 0, 0, x * table)).sum(axis=1)


@infinities
def score_gaussian(X: Array, mean: Array, precision: Array, missing: Array) -> Array:
    x = X.astype(np.float64)[:, np.newaxis, :]
    return np.where(np.isnan(x), missing, -0.5 * (x - mean) ** 2 * precision).sum(axis=2)


def row_maxima(scores: Array) -> tuple[Array, Array]:
    return scores.max(axis=1), scores.argmax(axis=1)


def score_entries(
    csr: tuple[Array, ...], values: Array, table: Array, missing: Array, nonnegative: bool
) -> tuple[Array, int]:
    """Return the sum of values times table rows, and the place of the first invalid entry."""
    scores = np.zeros((len(csr[2]), table.shape[1]))
    invalid = []
    replaced = entries(values, *csr[1:])
    for (i, j, x), (_, _, value) in zip(entries(*csr), replaced, strict=True):
        if np.isnan(x):
            scores[i] += missing[j]
        elif value != 0:
            scores[i] += value * table[j]
        if np.isinf(x) or (nonnegative and x < 0):
            invalid.append(i * len(table) + j)
    return scores, min(invalid, default=-1)


@infinities
def score_linear_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    table: Array,
    missing: Array,
    nonnegative: bool,
) -> tuple[Array, int]:
    return score_entries((data, indices, starts, ends), data, table, missing, nonnegative)


@infinities
def score_above_csr(
    data: Array,
    indices: Array,
    starts: Array,
    ends: Array,
    threshold: float,
    on: Array,
    missing: Array,
) -> tuple[Array, int]:
    return score_entries((data, indices, starts, ends), data > threshold, on, missing, False)
