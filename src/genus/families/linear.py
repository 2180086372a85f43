"""Compute scores linear in x, Σ_j x_j t_jk, from a table that is computed whole or in parts.

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
LOOK_WORK = 4096  # cells of a table that can be computed in the time of looking up one part
MOST_KEPT = 1 << 20  # cells of the largest table that is kept whole because of many look-ups


@dataclass(frozen=True, eq=False)
class LinearTable:
    """A table t (n, K); `of` computes the part for V of the columns, (V, K).

    An entry of -inf means that x_j must be 0. Rows with few nonzero columns, such as sparse ones,
    need only the part for those columns. `of` must not be a method of the object that keeps the
    table: the two would refer to each other, and a stream of models would fill the memory until
    the garbage collector runs.
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
        """Call `score` with the rows X and the table, and return the result.

        The arguments of `score` are the rows, the two results of `finite_part` for the table, and
        the columns. Columns that are zero in all rows are left out if that saves time.
        """
        touched = matrix.touched_columns(X)
        if touched is None:
            return score(X, *self._parts, EVERY)
        columns, rows = touched
        part = self._part(columns, X.shape[1])
        with matrix.column_numbers(columns):
            return score(rows, *finite_part(part), columns)

    def _part(self, columns: Columns, width: int) -> Array:
        """Return the part for some columns; after many calls, compute and keep the whole table."""
        if "whole" in vars(self):
            return self.whole[columns]
        part = np.ascontiguousarray(self.of(columns))
        looks = vars(self)["_looks"] = vars(self).get("_looks", 0) + 1
        if width * part.shape[1] <= min(looks * LOOK_WORK, MOST_KEPT):
            _ = self.whole  # looking up parts has taken as long as computing all
        return part

    def score(self, X: Matrix) -> Array:
        """Return Σ_j x_j t_j, (m, K), for x >= 0; -inf if some x_j must be 0 and is not."""

        def score(X: Matrix, table: Array, never: Array | None, _: Columns) -> Array:
            scores = matrix.score_linear(X, table, None, nonnegative=True)
            if never is None:
                return scores
            return exclude_impossible(scores, matrix.score_above(X, 0.0, never, None))

        return self.look_up(X, score)
