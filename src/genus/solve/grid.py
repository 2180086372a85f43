"""Numbers into bins: count once on a fine grid, choose the bins when solving.

A number's cell is given by the leading bits of its float: an integer that ascends with the number
and does not depend on any data, so that counts by cell merge and can be forgotten. Cells are
narrower than 0.05 % of the number's distance from `origin`. Bins are runs of cells: equal widths,
quantiles, or Fayyad and Irani's minimum description length (MDLP). Edges given beforehand are
counted exactly, not to the nearest cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import mdlp as kernel_mdlp

Array = NDArray[np.float64]
Cells = NDArray[np.int64]

BITS = 11  # of the mantissa: 2048 cells from one power of two to the next
SHIFT = 52 - BITS
FINEST = 2.0**-12  # cells of a number's own size, for they are to say little of it


def cells(x: Array) -> Cells:
    """The cell of each number; ascending, the same for equal numbers.

    >>> cells(np.array([-1.0, 0.0, 1.0, 1.0001, 1.1])) - cells(np.array([1.0]))
    array([-4190209, -2095104,        0,        0,      204])
    """
    x = np.ascontiguousarray(x, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    bits = x.view(np.int64) >> SHIFT
    # Negative floats descend as their bits ascend: turn them over, below all positive ones.
    return np.where(bits >= 0, bits, -1 - (bits & ((1 << (63 - SHIFT)) - 1)))


def lower_bounds(cell: Cells) -> Array:
    """The smallest number of each cell.

    >>> bound = lower_bounds(cells(np.array([-3.0, 890.0])))
    >>> bound <= [-3.0, 890.0], cells(bound) == cells(np.array([-3.0, 890.0]))
    (array([ True,  True]), array([ True,  True]))
    """
    negative = cell < 0
    magnitude = np.where(negative, -cell, cell)
    value = (magnitude << SHIFT).astype(np.int64).view(np.float64)
    return np.where(negative, np.nextafter(-value, np.inf), value)


def representatives(cell: Cells) -> Array:
    """The number of each cell that is nearest to zero: of whole numbers, these themselves.

    >>> representatives(cells(np.array([-3.0, 0.0, 890.0])))
    array([ -3.,   0., 890.])
    """
    return np.where(cell < 0, np.nextafter(lower_bounds(cell + 1), -np.inf), lower_bounds(cell))


@dataclass(frozen=True)
class Grid:
    """Cells of numbers about an `origin`, of 1/2048 of the distance to it, or of `scale` if more.

    >>> grid = Grid(100.0, 1.0)
    >>> grid.values(grid.keys(np.array([98.0, 100.0, 100.0001, 103.0])))
    array([ 98., 100., 100., 103.])
    """

    origin: float = 0.0
    scale: float = 0.0

    @classmethod
    def around(cls, x: Array) -> Grid:
        """A grid for numbers like these: about 0 unless they are far from it, and about as wide.

        Both are rounded so much that other numbers alike give the same grid.

        >>> Grid.around(np.arange(9.0)), Grid.around(np.array([1999.0, 2003.0, 2007.0]))
        (Grid(origin=0.0, scale=1.0), Grid(origin=1984.0, scale=1.0))
        """
        if len(x) == 0:
            return cls()
        low, middle, high = np.quantile(x, [0.05, 0.5, 0.95])
        spread = max(high - low, abs(middle) * 1e-12)
        if spread == 0 or not np.isfinite(spread):
            return cls()
        scale = float(np.exp2(4 * np.floor(np.log2(spread) / 4)))
        whole = bool(np.all(x == np.floor(x)))
        scale = max(scale, 1.0) if whole else scale
        if abs(middle) <= 16 * spread:
            return cls(0.0, scale)
        # Of few binary digits, so that it says little of single numbers.
        step = np.exp2(max(np.ceil(np.log2(8 * spread)), np.floor(np.log2(abs(middle))) - 12))
        return cls(float(np.round(middle / step) * step), scale)

    def keys(self, x: Array) -> Cells:
        """The cell of each number."""
        z = (x - self.origin) + 0.0
        return cells(z + np.copysign(self.scale, z))

    def values(self, keys: Cells) -> Array:
        """The number of each cell that is nearest to the origin."""
        return self.back(representatives(keys))

    def back(self, z: Array) -> Array:
        """Numbers on the scale of the cells as they are."""
        near = np.abs(z) < self.scale
        return self.origin + np.where(near, 0.0, z - np.copysign(self.scale, z))


@dataclass(frozen=True)
class Bins:
    """How to cut numbers into bins: `edges` (one list, or one per column), or a `strategy`."""

    strategy: str = "mdlp"
    count: int = 10
    edges: tuple[Any, ...] | None = None
    origin: float = 0.0

    @property
    def counting(self) -> dict[str, Any]:
        """What decides under which keys numbers are counted."""
        if self.edges is None:
            return {"origin": self.origin}
        return {"edges": [np.asarray(part).tolist() for part in self.edges]}

    @property
    def shift(self) -> float:
        """What to add to solved edges: those that are not given are relative to the origin."""
        return self.origin if self.edges is None else 0.0

    def check_columns(self, columns: int) -> None:
        """Raise unless edges given by column are given for each."""
        if self.edges and np.ndim(self.edges[0]) == 1 and len(self.edges) != columns:
            raise ValueError(
                f"edges has lists for {len(self.edges)} columns, but there are {columns} columns. "
                "Give one list for each column, or one for all."
            )

    def given(self, column: int) -> Array | None:
        """The edges given for a column, or None."""
        if self.edges is None:
            return None
        per_column = len(self.edges) > 0 and np.ndim(self.edges[0]) == 1
        return np.asarray(self.edges[column] if per_column else self.edges, dtype=np.float64)

    def keys(self, x: Array, column: int) -> Cells:
        """The key that a number is counted under: its cell, or its bin if edges are given."""
        edges = self.given(column)
        if edges is not None:
            return np.searchsorted(edges, x, side="right")
        return cells(x - self.origin)

    def solve(self, keys: Cells, counts: Array, column: int) -> Array:
        """Inner edges, ascending, from counts by class and key (K, V), keys ascending.

        Edges that are not given are relative to the origin.
        """
        edges = self.given(column)
        if edges is not None:
            return edges
        if len(keys) < 2:
            return np.empty(0)
        if self.strategy == "mdlp":
            cuts = mdlp(counts.T)
        elif self.strategy == "quantile":
            cuts = quantile_cuts(counts.sum(axis=0), self.count)
        else:
            cuts = uniform_cuts(keys, self.count)
        # A cut before key i may stand anywhere in the gap between the cells i - 1 and i.
        low, high = lower_bounds(keys[cuts - 1] + 1), lower_bounds(keys[cuts])
        return (low + high) / 2

    def assign(self, x: Array, edges: Array) -> NDArray[np.intp]:
        """The bin of each number, counted from 0."""
        return np.searchsorted(edges, x - self.shift, side="right")

    def merge(self, keys: Cells, edges: Array, column: int) -> NDArray[np.intp]:
        """The bin of each key."""
        if self.given(column) is not None:
            return keys
        return np.searchsorted(edges, lower_bounds(keys), side="right")


def quantile_cuts(weight: Array, count: int) -> NDArray[np.intp]:
    """Before which keys to cut so that the bins weigh about the same."""
    below = np.cumsum(weight)
    wanted = below[-1] * np.arange(1, count) / count
    cuts = np.unique(np.searchsorted(below, wanted, side="left") + 1)
    return cuts[cuts < len(weight)]


def dyadic_edges(x: Array, share: float) -> Array:
    """Edges of cells that hold at most a `share` of the numbers each, and some beyond them.

    Cells are halved until they hold no more than that, or one value only. So edges are numbers of
    few binary digits, say little of single numbers, and are mostly the same for other rows alike.

    >>> dyadic_edges(np.array([1.0, 2.0, 2.0, 3.0]), 0.3)
    array([-2.,  0.,  2.,  3.,  4.,  6.])
    """
    distinct, counts = np.unique(x, return_counts=True)
    if len(distinct) < 2:
        return np.empty(0)
    below = np.concatenate([[0], np.cumsum(counts)])
    enough = max(share * len(x), 1.0)
    step = np.exp2(np.ceil(np.log2(distinct[-1] - distinct[0])))
    low = np.floor(distinct[0] / step) * step
    edges = low + step * np.array([-1.0, 0.0, 1.0, 2.0, 3.0])
    pending = [(low, step), (low + step, step)]
    while pending:
        low, step = pending.pop()
        start, end = np.searchsorted(distinct, [low, low + step])
        if end - start < 2 or below[end] - below[start] <= enough:
            continue
        if step <= FINEST * max(abs(low), abs(low + step)) or len(edges) > 4 / share + 8:
            continue
        middle = low + step / 2
        if not low < middle < low + step:
            continue
        edges = np.append(edges, middle)
        pending += [(low, step / 2), (middle, step / 2)]
    return np.unique(edges[np.isfinite(edges)])


def uniform_cuts(keys: Cells, count: int) -> NDArray[np.intp]:
    """Before which keys to cut so that the bins are about equally wide."""
    at = lower_bounds(keys)
    share = np.arange(1, count) / count
    wanted = at[0] * (1 - share) + at[-1] * share
    cuts = np.unique(np.searchsorted(at, wanted, side="left"))
    return cuts[(cuts > 0) & (cuts < len(keys))]


def mdlp(counts: Array) -> NDArray[np.intp]:
    """Before which of the ordered keys to cut, from counts by key and class (V, K).

    Cut where the class entropy falls most, as long as the fall pays for describing the cut
    (Fayyad and Irani 1993).
    """
    return kernel_mdlp(np.ascontiguousarray(counts))


def check_edges(edges: Any) -> tuple[Any, ...]:
    """Edges as a tuple of numbers, or of one tuple per column, ascending."""
    try:
        if isinstance(edges, str):
            raise TypeError
        per_column = len(edges) > 0 and np.ndim(edges[0]) == 1
        lists = [np.asarray(e, dtype=np.float64) for e in (edges if per_column else [edges])]
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"edges is a list of numbers, or one such list for each column; got {edges!r}."
        ) from None
    for one in lists:
        if one.ndim != 1 or not np.isfinite(one).all() or (np.diff(one) <= 0).any():
            raise ValueError(
                f"edges must be finite numbers in ascending order, got {one.tolist()}."
            )
    return tuple(tuple(one.tolist()) for one in lists) if per_column else tuple(lists[0].tolist())
