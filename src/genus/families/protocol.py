"""What a family is: functions between data, statistics, parameters and scores.

A family is frozen and holds options only. It learns from data in `count` alone; options act in
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
    """Σw of the rows of each class in which a column is not missing, (K, n).

    If nothing is missing (`missing` has no rows), all columns are one, which a view repeats. Both
    sums may round, one by rows and the other by threads: where nothing is left, it is zero.
    """
    rows = matrix.class_weights(y, weight, n_classes)
    if len(missing) == 0:
        return np.broadcast_to(rows, (n_classes, missing.shape[1]))
    return settle(rows - missing, rows)


class Family(Protocol):
    """p(x|y) for a block of columns."""

    @property
    def counting(self) -> Mapping[str, Any]:
        """The options that counting depends on; statistics merge only where these are equal."""
        ...

    def zero(self) -> Any:
        """The statistics of no rows."""
        ...

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Any:
        """The statistics of rows X (m, n) with classes[y] and weights (m,)."""
        ...

    def solve(self, statistics: Any, classes: Axis, width: int) -> Any:
        """Parameters for these classes and `width` columns: smooth, shrink, factorise."""
        ...

    def log_likelihood(self, parameters: Any, X: Matrix, relative: bool = False) -> Array:
        """log p(x|y), (m, K); `relative`: up to a term that is the same for all classes."""
        ...

    def contributions(self, parameters: Any, X: Matrix) -> tuple[Array, Array]:
        """The summands of log p(x|y): by column, (m, n, K), and those of no column, (m, K)."""
        ...

    def leave_one_out(
        self, statistics: Any, parameters: Any, X: Matrix, y: Codes, weight: Array | None
    ) -> Array | None:
        """log p(x|y), (m, K), of each row as if it had not been counted.

        None if there is no closed form for these options; then the caller subtracts and solves.
        """
        ...

    def sample(self, parameters: Any, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """n rows of class k, (n, columns)."""
        ...


def by_weight(weight: Array | None) -> Iterator[tuple[float, NDArray[np.intp] | slice]]:
    """Each distinct weight with the rows that have it: what one row takes away when it leaves."""
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
    """In `rows` of `scores` (m, K) take each row's own class from `without`, in place."""
    own = y[rows]
    scores[np.arange(len(y))[rows], own] = without[np.arange(len(own)), own]


def exclude_impossible(scores: Array, hits: Array) -> Array:
    """-inf where a row holds a value that the class gives no probability (`hits` > 0)."""
    scores[hits > 0.5] = -np.inf
    return scores
