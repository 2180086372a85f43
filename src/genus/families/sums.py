"""Sums by class that another program has added up, such as a database, and which of them suffice.

A family with `needs` can be made of such sums without a row: `of_sums` makes its statistics. A
family of categories needs how often each value occurs, and counts the values themselves.

Symbols: K classes, n columns, w weights, z = x - origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Needs:
    """Which sums a family is made of.

    `above`: a value counts as 1 above this and else as 0; None counts it as it is. `squares`:
    "columns" for Σwz² of each column, "pairs" for Σwzzᵀ of the rows without a missing value.
    `nonnegative`: no value may be below zero. `values`: not sums, but how often each value occurs.
    """

    above: float | None = None
    squares: str | None = None
    nonnegative: bool = False
    values: bool = False


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the rows of each class.

    `seen` is Σw of the values that are there, (K, n), or with pairs of the rows without a missing
    value, (K, 1). `sums` is Σwz, (K, n). `squares` is Σwz², (K, n), or Σwzzᵀ, (K, n, n) or over all
    classes (n, n). The `origin` is (K, n), and 0 where there are no squares.
    """

    seen: Array
    sums: Array
    squares: Array | None = None
    origin: Array | None = None

    def take(self, classes: NDArray[np.intp]) -> Sums:
        """The sums of some classes, in another order."""
        squares = None if self.squares is None else self.squares[classes]
        origin = None if self.origin is None else self.origin[classes]
        return Sums(self.seen[classes], self.sums[classes], squares, origin)
