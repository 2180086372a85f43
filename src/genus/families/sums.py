"""Define the sums by class that another program, such as a database, computes for a family.

A family with `needs` names the sums that it requires, and its `of_sums` converts them to
statistics, so no rows are read. A family of categories needs the counts of each value instead, and
has no `of_sums`.

Symbols: K classes, n columns, w weights, z = x - origin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Needs:
    """The sums that a family needs.

    `above`: a value above this counts as 1, otherwise as 0; None counts the value itself.
    `squares`: "columns" for Σwz² of each column, "pairs" for Σwzzᵀ of the complete rows.
    `nonnegative`: no value may be below zero. `values`: counts of each value instead of sums.
    """

    above: float | None = None
    squares: str | None = None
    nonnegative: bool = False
    values: bool = False


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the rows of each class.

    `seen` is Σw of the values that are present, (K, n), or, if the squares are those of pairs, Σw
    of the complete rows, (K, 1). `sums` is Σwz, (K, n). `squares` is Σwz², (K, n), or Σwzzᵀ, by
    class (K, n, n) or over all classes (n, n). `origin` is (K, n); without squares it is None, and
    z = x.
    """

    seen: Array
    sums: Array
    squares: Array | None = None
    origin: Array | None = None

    def take(self, classes: NDArray[np.intp]) -> Sums:
        """Return the sums of the classes at these positions, in this order."""
        squares = None if self.squares is None else self.squares[classes]
        origin = None if self.origin is None else self.origin[classes]
        return Sums(self.seen[classes], self.sums[classes], squares, origin)
