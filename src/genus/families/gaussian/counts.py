"""Sum powers of numbers by class, relative to an origin near their means.

Symbols: m rows, n columns, K classes, w weights, z = x - origin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from genus._kernel import center, square_columns
from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, InvalidColumn, Matrix, threads
from genus.statistics import Array, Moments, Points, divide, grid_point

SAMPLE_ROWS = 512  # most rows from which the first origin is computed
FEWEST_ROWS = 32  # fewest such rows
CLASS_ROWS = 512  # fewest rows of a class that are worth a separate product
SPAN_BYTES = 8 << 20  # of rows that are sorted by class at a time
SMALLEST = float(np.finfo(float).tiny)
FAR = 256.0  # standard deviations between origin and mean that cost too many digits


def count_moments(
    structure: str, quartic: bool, X: Matrix, y: Codes, classes: Axis, weight: Array | None
) -> Moments:
    """Return the sums that `structure` names; also third and fourth moments, if `quartic`."""
    count = (
        count_squares if structure == "diagonal" else partial(count_products, structure, quartic)
    )
    origin = first_origin(X, y, len(classes), 4 if quartic else 2)
    counted = count(origin, X, y, classes, weight)
    whole = structure == "diagonal" or counted.weights.sum() == len(y)
    if weight is None and whole and len(y) <= sample_rows(X.shape[1]):
        return counted.canonical()  # the origin was computed from all rows
    better = counted.centred_origin()
    if (np.abs(better - origin) > FAR * np.sqrt(np.maximum(counted.variance(), 0))).any():
        # The rows that gave the origin are far from most others (or have no weight).
        counted = count(better, X, y, classes, weight)
    return counted.canonical()


def list_points(
    structure: str,
    quartic: bool,
    limit: int,
    X: Matrix,
    y: Codes,
    classes: Axis,
    weight: Array | None,
) -> Points | Moments:
    """Return the rows themselves, without incomplete rows and rows of zero weight."""
    x = matrix.dense_rows(X)
    if np.isinf(x).any():
        matrix.refuse(X, int(np.argmax(np.isinf(x).ravel())), nonnegative=False)
    w = np.ones(len(y)) if weight is None else weight
    refuse_underflow(x, 4 if quartic else 2)
    kept = ~np.isnan(x).any(axis=1) & (w > 0)
    x, w, codes = (x.copy(), w, y) if kept.all() else (x[kept], w[kept], y[kept])
    points = Points(structure, quartic, limit, classes, codes, w.copy(), x)
    with np.errstate(over="ignore"):
        refuse_overflow(w @ x ** (4 if quartic else 2))
    return points.present()


def count_squares(
    origin: Array, X: Matrix, y: Codes, classes: Axis, weight: Array | None
) -> Moments:
    """Return Σw, Σwz and Σwz² by class and column."""
    weights, sums, squares, invalid = square_columns(X, y, weight, origin, len(classes), threads())
    matrix.refuse(X, invalid, nonnegative=False)
    refuse_overflow(squares)
    return Moments.counted("diagonal", classes, origin, weights, sums, squares)


def count_products(
    structure: str,
    quartic: bool,
    origin: Array,
    X: Matrix,
    y: Codes,
    classes: Axis,
    weight: Array | None,
) -> Moments:
    """Return Σw, Σwz and Σwzzᵀ, and if `quartic` also third and fourth moments.

    Σwzzᵀ is by class if `structure` is "separate", otherwise over all classes.
    """
    n, K = X.shape[1], len(classes)
    step = matrix.product_rows(n)
    if structure == "separate":
        step = max(step, min(K * CLASS_ROWS, SPAN_BYTES // (8 * n)))

    def work(chunks: Iterator[NDArray[np.intp] | slice]) -> Products:
        total = Products.zero(structure, K, n, quartic)
        buffer = np.empty((min(len(y), step), n))
        for rows in chunks:
            here, chosen = (X[rows], None) if isinstance(rows, slice) else (X, rows)
            labels, w = y[rows], None if weight is None else weight[rows]
            if structure == "separate" and chosen is None:
                chosen = matrix.stable_order(labels)
                labels, w = labels[chosen], None if w is None else w[chosen]
            weights, sums, invalid = center(here, labels, w, origin, K, chosen, buffer)
            if invalid >= 0:
                at = np.arange(len(y))[rows]
                at = at if here is X or chosen is None else at[chosen]
                row, column = divmod(invalid, n)
                matrix.refuse(X, int(at[row]) * n + column, nonnegative=False)
            z = buffer[: len(labels)]
            total.add(weights, sums, z, z if w is None else z * w[:, None], labels)
        return total

    parts = matrix.in_threads(work, list(product_chunks(structure, y, K, step)))
    total = parts[0]
    for part in parts[1:]:
        total.merge(part)
    refuse_overflow(total.squares if total.fourth is None else total.fourth)
    return Moments.counted(
        structure,
        classes,
        origin,
        total.weights,
        total.sums,
        total.squares,
        total.third,
        total.fourth,
    )


def product_chunks(
    structure: str, y: Codes, n_classes: int, step: int
) -> Iterator[NDArray[np.intp] | slice]:
    """Yield rows to multiply together, about `step` at a time.

    The rows are consecutive, so that X is read in one stream. If covariances are separate, and each
    class would have few rows in such a chunk, the rows are sorted by class first.
    """
    if structure == "pooled" or step >= n_classes * CLASS_ROWS:
        yield from (slice(i, min(i + step, len(y))) for i in range(0, len(y), step))
    else:
        order = matrix.stable_order(y)
        yield from (order[i : i + step] for i in range(0, len(y), step))


@dataclass(eq=False)
class Products:
    """The sums of one thread, the only mutable object in this module."""

    weights: Array
    sums: Array
    squares: Array
    third: Array | None
    fourth: Array | None

    @classmethod
    def zero(cls, structure: str, K: int, n: int, quartic: bool) -> Products:
        squares = np.zeros((n, n) if structure == "pooled" else (K, n, n))
        third, fourth = (np.zeros((K, n, n)) for _ in range(2)) if quartic else (None, None)
        return cls(np.zeros((K, 1)), np.zeros((K, n)), squares, third, fourth)

    def add(self, weights: Array, sums: Array, z: Array, weighed: Array, labels: Codes) -> None:
        """Add a chunk of centred rows z; for separate covariances, they come sorted by class."""
        self.weights[:, 0] += weights
        self.sums += sums
        with np.errstate(over="ignore", invalid="ignore"):  # checked when all rows are added
            if self.squares.ndim == 2:
                self.squares += z.T @ weighed
                return
            starts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
            for start, end in pairwise([0, *starts.tolist(), len(labels)]):
                k, part, heavy = labels[start], z[start:end], weighed[start:end]
                self.squares[k] += part.T @ heavy
                if self.third is not None and self.fourth is not None:
                    self.third[k] += (part * part).T @ heavy
                    self.fourth[k] += (part * part).T @ (part * heavy)

    def merge(self, other: Products) -> None:
        """Add the sums of another thread."""
        self.weights += other.weights
        self.sums += other.sums
        self.squares += other.squares
        for mine, theirs in ((self.third, other.third), (self.fourth, other.fourth)):
            if mine is not None and theirs is not None:
                mine += theirs


def first_origin(X: Matrix, y: Codes, n_classes: int, power: int) -> Array:
    """Return an approximate centre of each class, (K, n), from some rows."""
    chosen = some_rows(y, n_classes, sample_rows(X.shape[1]))
    x, k = matrix.dense_rows(X, chosen), y[chosen]
    if not np.isfinite(x).all():
        x = np.where(np.isfinite(x), x, np.nan)
    refuse_underflow(x, power)
    zero = np.zeros((n_classes, X.shape[1]))
    weights, sums, _, _ = square_columns(x, k, None, zero, n_classes, 1)
    mean = divide(sums, weights)
    _, _, squares, _ = square_columns(x, k, None, mean, n_classes, 1)
    return grid_point(mean, np.sqrt(divide(squares, weights)))


def some_rows(y: Codes, n_classes: int, size: int) -> NDArray[np.intp] | slice:
    """Return positions of about `size` rows, at least one of each class; of all if they are few."""
    step = len(y) // size
    if step < 2:
        return slice(None)
    chosen = np.arange(0, len(y), step)
    present = np.zeros(n_classes, dtype=bool)
    present[y[chosen]] = True
    if present.all():
        return chosen
    first = np.zeros(n_classes, dtype=np.intp)
    first[y[::-1]] = np.arange(len(y))[::-1]
    return np.union1d(chosen, first[~present])


def sample_rows(width: int) -> int:
    """Return how many rows of `width` columns to compute the first origin from."""
    return max(FEWEST_ROWS, min(SAMPLE_ROWS, matrix.CHUNK_BYTES // (8 * max(width, 1))))


def refuse_underflow(x: Array, power: int) -> None:
    """Raise an error if a column's range is so small that its `power`-th power underflows."""
    if len(x) < 2:
        return
    largest = np.fmax.reduce(x, axis=0, initial=-np.inf) - np.fmin.reduce(x, axis=0, initial=np.inf)
    tiny = (largest > 0) & (largest < SMALLEST ** (1 / power) * 1e8)
    if tiny.any():
        j = int(np.argmax(tiny))
        raise InvalidColumn(
            j,
            f"holds numbers that differ by at most {largest[j]:g}; powers of such differences "
            "are too small for a float. Multiply the column by a large number: use a smaller unit.",
        )


def refuse_overflow(sums: Array) -> None:
    """Raise an error if powers of the numbers are too large to be added up."""
    if not np.isfinite(sums).all():
        j = int(np.argwhere(~np.isfinite(sums))[0][-1])
        raise InvalidColumn(
            j,
            "holds numbers so large that their powers do not fit into a float. "
            "Scale the column to other units.",
        )
