"""Define what every family provides: functions of data, statistics, parameters and scores.

A family is frozen and holds options only. Fitting reads data only in `count`; options act in
`solve`, except those that `counting` names.

Symbols: m rows, n columns, K classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, Matrix
from genus.statistics import settle

Array = NDArray[np.float64]


def seen_weights(y: Codes, weight: Array | None, n_classes: int, missing: Array) -> Array:
    """Return Σw of the values that are present, by class and column, (K, n).

    `missing` is Σw of the missing values, (K, n), or (0, n) if there are none; then all columns of
    the result are views of one. The weight of all rows and that of the missing values are rounded
    differently, so a difference that is no larger than the rounding error is set to zero.
    """
    rows = matrix.class_weights(y, weight, n_classes)
    if len(missing) == 0:
        return np.broadcast_to(rows, (n_classes, missing.shape[1]))
    return settle(rows - missing, rows)


class Family(Protocol):
    """The distribution p(x|y) of some columns."""

    @property
    def counting(self) -> Mapping[str, Any]:
        """The options that decide what is counted; only statistics with equal options can merge."""
        ...

    def zero(self) -> Any:
        """Return the statistics of no rows."""
        ...

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Any:
        """Return the statistics of rows X (m, n) with the classes classes[y] and weights (m,)."""
        ...

    def solve(self, statistics: Any, classes: Axis, width: int) -> Any:
        """Compute the parameters of these classes and `width` columns from the statistics."""
        ...

    def log_likelihood(self, parameters: Any, X: Matrix, relative: bool = False) -> Array:
        """Return log p(x|y), (m, K); if `relative`, up to a term that all classes share."""
        ...

    def contributions(self, parameters: Any, X: Matrix) -> tuple[Array, Array]:
        """Return the terms of log p(x|y): by column, (m, n, K), and the others, (m, K)."""
        ...

    def leave_one_out(
        self, statistics: Any, parameters: Any, X: Matrix, y: Codes, weight: Array | None
    ) -> Array | None:
        """Return log p(x|y), (m, K), of each row by a model without that row.

        A row without a closed form gets NaN; if these options have none at all, return None. The
        caller then subtracts each such row and solves again.
        """
        ...

    def sample(self, parameters: Any, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw n rows of class k, (n, columns)."""
        ...


def by_weight(weight: Array | None) -> Iterator[tuple[float, NDArray[np.intp] | slice]]:
    """Yield each distinct weight with the rows that have it."""
    if weight is None:
        yield 1.0, slice(None)
        return
    distinct, which = np.unique(weight, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(distinct)))
    for w, start, end in zip(distinct, [0, *ends[:-1]], ends, strict=True):
        yield float(w), order[start:end]


def replace_own(
    scores: Array, without: Array, y: Codes, rows: NDArray[np.intp] | slice = slice(None)
) -> None:
    """Replace the scores of each row's own class by those of `without`, in place, for `rows`."""
    own = y[rows]
    scores[np.arange(len(y))[rows], own] = without[np.arange(len(own)), own]


def exclude_impossible(scores: Array, hits: Array) -> Array:
    """Set `scores` to -inf, in place, where a class excludes a value (`hits` > 0); return them."""
    scores[hits > 0.5] = -np.inf
    return scores
