"""Compute scores linear in x, Σ_j x_j t_jk, from a table that is made at once or in parts.

Symbols: n columns, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.matrix import Matrix
from genus.families.protocol import exclude_impossible
from genus.solve.smoothing import finite_part
from genus.statistics import freeze

Array = NDArray[np.float64]
Columns = NDArray[np.intp] | slice
EVERY = slice(None)


@dataclass(frozen=True, eq=False)
class LinearTable:
    """A table with parts (V, K) that the function `of` computes; -inf means that x_j must be 0.

    Rows with few nonzero columns, such as sparse ones, need only the part for those columns. The
    object that keeps the table must not own `of`: they would hold each other, and a stream of
    models would fill the memory until the garbage collector runs.
    """

    of: Callable[[Columns], Array]

    @cached_property
    def whole(self) -> Array:
        """The table, (n, K)."""
        table: Array = freeze(np.ascontiguousarray(self.of(EVERY)))
        return table

    @cached_property
    def _parts(self) -> tuple[Array, Array | None]:
        return finite_part(self.whole)

    def look_up(self, X: Matrix, score: Callable[[Matrix, Array, Array | None, Any], Array]) -> Any:
        """Call `score` with the rows, the table of their columns, and its impossible part."""
        touched = None if "whole" in vars(self) else matrix.touched_columns(X)
        if touched is None:
            return score(X, *self._parts, EVERY)
        columns, rows = touched
        with matrix.column_numbers(columns):
            return score(rows, *finite_part(np.ascontiguousarray(self.of(columns))), columns)

    def score(self, X: Matrix) -> Array:
        """Return Σ_j x_j t_j, (m, K), for x >= 0; -inf if some x_j must be 0 and is not."""

        def score(X: Matrix, table: Array, never: Array | None, _: Columns) -> Array:
            scores = matrix.score_linear(X, table, None, nonnegative=True)
            if never is None:
                return scores
            return exclude_impossible(scores, matrix.score_above(X, 0.0, never, None))

        return self.look_up(X, score)
