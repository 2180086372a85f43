"""Bins of numbers: numbers are counted once on a fine grid, and bins are chosen in `solve`.

The leading bits of a float give the cell of a number: an integer that increases with the number and
does not depend on any data, so counts by cell can be merged and forgotten. Cells are narrower than
0.05 % of the number, or of its distance from an origin. Bins are runs of cells: equal widths,
quantiles, or Fayyad and Irani's minimum description length (MDLP). If users give the edges, numbers
are counted by bin and not by cell, which is exact.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import mdlp as kernel_mdlp

Array = NDArray[np.float64]
Cells = NDArray[np.int64]

BITS = 11  # of the mantissa: 2048 cells from one power of two to the next
SHIFT = 52 - BITS
MOST_BITS = 39
FEW_WHOLE = 1000  # different whole numbers that have cells of their own
ROUNDING = 1e-9  # a smaller relative difference of two sums of weights is rounding
SAVED = 6  # decimal places that a short number of a cell may lack
FINEST = 2.0**-12  # narrowest cell, as a share of its numbers: edges should reveal little


def cells(x: Array) -> Cells:
    """Return the cell of each number; cells increase with the numbers.

    >>> cells(np.array([-1.0, 0.0, 1.0, 1.0001, 1.1])) - cells(np.array([1.0]))
    array([-4190209, -2095104,        0,        0,      204])
    """
    x = np.ascontiguousarray(x, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    bits = x.view(np.int64) >> SHIFT
    # Bits of negative floats increase as the numbers decrease: reverse them, below positive ones.
    return np.where(bits >= 0, bits, -1 - (bits & ((1 << (63 - SHIFT)) - 1)))


def lower_bounds(cell: Cells) -> Array:
    """Return the smallest number of each cell.

    >>> bound = lower_bounds(cells(np.array([-3.0, 890.0])))
    >>> bound <= [-3.0, 890.0], cells(bound) == cells(np.array([-3.0, 890.0]))
    (array([ True,  True]), array([ True,  True]))
    """
    negative = cell < 0
    magnitude = np.where(negative, -cell, cell)
    value = (magnitude << SHIFT).astype(np.int64).view(np.float64)
    return np.where(negative, np.nextafter(-value, np.inf), value)


def representatives(cell: Cells) -> Array:
    """Return each cell's number that is nearest to zero.

    For the cell of a whole number of at most 12 bits, this is that whole number.

    >>> representatives(cells(np.array([-3.0, 0.0, 890.0])))
    array([ -3.,   0., 890.])
    """
    return np.where(cell < 0, np.nextafter(lower_bounds(cell + 1), -np.inf), lower_bounds(cell))


@dataclass(frozen=True)
class Grid:
    """Cells that are `step` wide near zero and, far from it, at most 2^-bits times the number.

    Every edge is a number with few binary digits, so each cell of a coarser grid consists of whole
    cells of a finer one: counts by cell move to a coarser grid exactly (`common`).

    >>> grid = Grid(0.25)
    >>> grid.values(grid.keys(np.array([-1.1, -1.0, 0.0, 0.3, 100.1, 10001.0])))
    array([-1.25e+00, -1.00e+00,  0.00e+00,  2.50e-01,  1.00e+02,  1.00e+04])
    """

    step: float = 2.0**-400
    bits: int = BITS

    @classmethod
    def around(cls, x: Array) -> Grid:
        """Return a grid for numbers like these; it is rounded, so that similar numbers share it.

        A few different whole numbers have cells of their own.

        >>> Grid.around(np.arange(9.0)), Grid.around(np.array([19990.0, 20030.0, 20070.5]))
        (Grid(step=0.00048828125, bits=11), Grid(step=0.0078125, bits=23))
        """
        if len(x) == 0:
            return cls()
        low, middle, high = np.quantile(x, [0.05, 0.5, 0.95])
        spread = max(high - low, abs(middle) * 1e-12)
        if spread == 0 or not np.isfinite(spread):
            return cls()
        scale = 4 * np.floor(np.log2(spread) / 4)
        whole = bool(np.all(x == np.floor(x)))
        scale = max(scale, 0.0) if whole else scale
        far = np.log2(max(abs(middle) / spread, 1.0))
        bits = BITS + 4 * int(np.ceil(far / 4)) if far > 4 else BITS
        step, bits = float(np.exp2(np.clip(scale - BITS, -400, 400))), min(bits, MOST_BITS)
        if whole and len(np.unique(x)) <= FEW_WHOLE:
            exact = int(np.frexp(np.abs(x).max())[1])
            step, bits = min(step, 1.0), max(bits, exact if exact <= MOST_BITS else 0)
        return cls(step, bits)

    def common(self, other: Grid) -> Grid:
        """Return the finest grid that the counts of both can be converted to.

        >>> Grid(0.25, 11).common(Grid(1.0, 15))
        Grid(step=1.0, bits=11)
        """
        return Grid(max(self.step, other.step), min(self.bits, other.bits))

    def keys(self, x: Array) -> Cells:
        """Return the cell of each number; cells increase with the numbers."""
        x = np.asarray(x, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
        negative = x < 0
        size = np.where(negative, np.nextafter(-x, 0.0), x)  # cells include their lower end
        mantissa, exponent = np.frexp(size)
        e = exponent.astype(np.int64) - 1 - self.exponent
        far = (e > self.bits) & (size > 0)
        near = np.where(far, 0.0, size) / self.step
        leading = np.ldexp(mantissa, self.bits + 1).astype(np.int64)  # 2^bits to 2^(bits + 1) - 1
        key = np.where(far, (e - self.bits << self.bits) + leading, near.astype(np.int64))
        return np.where(negative, -1 - key, key)

    def values(self, keys: Cells) -> Array:
        """Return the smallest number of each cell."""
        size = np.abs(keys)
        if size.max(initial=0) < 2 << self.bits:  # near zero all cells have the same width
            return keys.astype(np.float64) * self.step
        e = np.maximum((size >> self.bits) - 1, 0)  # beyond 2^(bits + 1) steps, octave by octave
        leading = np.where(e > 0, (size & ((1 << self.bits) - 1)) + (1 << self.bits), size)
        with np.errstate(over="ignore"):
            x = np.ldexp(leading.astype(np.float64), e + self.exponent)
        return np.where(keys < 0, -x, x)

    def shortest(self, keys: Cells) -> Array:
        """Return the number of each cell with the fewest decimal places.

        >>> grid = Grid(2.0**-8)
        >>> grid.shortest(grid.keys(np.array([2.74, -0.05, 1234.5, 8e4])))
        array([ 2.7400e+00, -5.0000e-02,  1.2345e+03,  8.0000e+04])
        """
        low, high = self.values(keys), self.values(keys + 1)
        found = low.copy()
        with np.errstate(all="ignore"):
            finest = np.ceil(-np.log10(high - low))  # decimal places, fewer than 0 for tens
            for places in (finest - more for more in range(SAVED)):
                up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
                near = np.ceil(low / down * up) / up * down
                found = np.where((low <= near) & (near < high), near, found)
        return found

    @property
    def is_sound(self) -> bool:
        """Whether a grid with these values is valid."""
        known = isinstance(self.bits, int) and 0 <= self.bits <= MOST_BITS
        return known and self.step > 0 and bool(np.frexp(self.step)[0] == 0.5)

    def holds(self, x: Array) -> NDArray[np.bool_]:
        """Return which numbers are edges of cells."""
        return np.asarray(self.values(self.keys(x)) == x)

    @property
    def exponent(self) -> int:
        """log2 of the step."""
        return int(np.log2(self.step))


@dataclass(frozen=True)
class Bins:
    """How to cut numbers into bins: `edges` (one list, or one per column), or a `strategy`.

    The strategy is "mdlp", or "quantile" or "uniform", which make at most `count` bins.
    Numbers are counted by their leading bits relative to the `origin`, or by the cells of a `grid`.
    """

    strategy: str = "mdlp"
    count: int = 10
    edges: tuple[Any, ...] | None = None
    origin: float = 0.0
    grid: Grid | None = None

    @property
    def counting(self) -> dict[str, Any]:
        """The options that decide the keys by which numbers are counted."""
        if self.edges is None:
            return {"origin": self.origin}
        return {"edges": [np.asarray(part).tolist() for part in self.edges]}

    @property
    def shift(self) -> float:
        """The number to add to solved edges: the origin, or 0 if the edges were given."""
        return self.origin if self.edges is None else 0.0

    def check_columns(self, columns: int) -> None:
        """Raise an error if edges are given by column, but not for this number of columns."""
        if self.edges and np.ndim(self.edges[0]) == 1 and len(self.edges) != columns:
            raise ValueError(
                f"edges has lists for {len(self.edges)} columns, but there are {columns} columns. "
                "Give one list for each column, or one for all."
            )

    def given(self, column: int) -> Array | None:
        """Return the edges given for a column, or None."""
        if self.edges is None:
            return None
        per_column = len(self.edges) > 0 and np.ndim(self.edges[0]) == 1
        return np.asarray(self.edges[column] if per_column else self.edges, dtype=np.float64)

    def keys(self, x: Array, column: int) -> Cells:
        """Return the key of each number: its cell, or its bin if edges are given."""
        edges = self.given(column)
        if edges is not None:
            return np.searchsorted(edges, x, side="right")
        return cells(x - self.origin) if self.grid is None else self.grid.keys(x)

    def bounds(self, keys: Cells) -> Array:
        """Return the smallest number of each cell, relative to the origin."""
        return lower_bounds(keys) if self.grid is None else self.grid.values(keys)

    def solve(self, keys: Cells, counts: Array, column: int) -> Array:
        """Return inner edges, ascending, from counts by class and key (K, V).

        The keys must be ascending. Edges that are not given are relative to the origin.
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
            cuts = uniform_cuts(self.bounds(keys), self.count)
        # A cut before key i may lie anywhere between the cells i - 1 and i.
        low, high = self.bounds(keys[cuts - 1] + 1), self.bounds(keys[cuts])
        return (low + high) / 2

    def assign(self, x: Array, edges: Array) -> NDArray[np.intp]:
        """Return the bin of each number, counted from 0."""
        return np.searchsorted(edges, x - self.shift, side="right")

    def merge(self, keys: Cells, edges: Array, column: int) -> NDArray[np.intp]:
        """Return the bin of each key."""
        if self.given(column) is not None:
            return keys
        return np.searchsorted(edges, self.bounds(keys), side="right")


def quantile_cuts(weight: Array, count: int) -> NDArray[np.intp]:
    """Return positions of keys before which to cut, so that bins have about equal weights."""
    below = np.cumsum(weight)
    wanted = below[-1] * np.arange(1, count) / count
    cuts = np.unique(np.searchsorted(below, wanted * (1 - ROUNDING), side="left") + 1)
    return cuts[cuts < len(weight)]


def dyadic_edges(x: Array, share: float, weight: Array | None = None) -> Array:
    """Return edges of cells that hold at most a `share` of the numbers, and a few edges beyond.

    Cells are halved until they hold no more than that, or a single value, or would become too
    narrow or too many. So edges have few binary digits, reveal little about single numbers, and are
    mostly the same for similar rows.

    >>> dyadic_edges(np.array([1.0, 2.0, 2.0, 3.0]), 0.3)
    array([-2.,  0.,  2.,  3.,  4.,  6.])
    """
    distinct, place = np.unique(x, return_inverse=True)
    if len(distinct) < 2:
        return np.empty(0)
    below = np.concatenate([[0], np.cumsum(np.bincount(place, weight))]).tolist()
    enough = max(share * below[-1], 1.0) * (1 + ROUNDING)
    span = float(distinct[-1] - distinct[0])
    step = float(np.exp2(np.ceil(np.log2(span))))
    low = float(np.floor(distinct[0] / step) * step)
    values = distinct.tolist()
    edges = [low + i * step for i in range(-1, 4)]
    pending = [(low, step), (low + step, step)]
    while pending:
        low, step = pending.pop()
        start, end = bisect_left(values, low), bisect_left(values, low + step)
        if end - start < 2 or below[end] - below[start] <= enough:
            continue
        own = min(max(abs(low), abs(low + step)), span)
        if step <= FINEST * own or len(edges) > 4 / share + 8:
            continue
        middle = low + step / 2
        if not low < middle < low + step:
            continue
        edges.append(middle)
        pending += [(low, step / 2), (middle, step / 2)]
    found = np.array(edges)
    return np.unique(found[np.isfinite(found)])


def uniform_cuts(at: Array, count: int) -> NDArray[np.intp]:
    """Return positions in ascending numbers before which to cut, for bins of about equal width."""
    share = np.arange(1, count) / count
    wanted = at[0] * (1 - share) + at[-1] * share
    cuts = np.unique(np.searchsorted(at, wanted, side="left"))
    return cuts[(cuts > 0) & (cuts < len(at))]


def mdlp(counts: Array) -> NDArray[np.intp]:
    """Return positions of keys before which to cut, by MDL, from counts by key and class (V, K).

    Each cut is where the class entropy falls most, as long as the fall exceeds the cost of
    describing the cut (Fayyad and Irani 1993).
    """
    return kernel_mdlp(np.ascontiguousarray(counts))


def check_edges(edges: Any) -> tuple[Any, ...]:
    """Return edges as a tuple of numbers, or as one tuple per column, ascending."""
    try:
        if isinstance(edges, str):
            raise TypeError
        per_column = len(edges) > 0 and np.ndim(edges[0]) == 1
        lists = [np.asarray(e, dtype=np.float64) for e in (edges if per_column else [edges])]
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"edges must be a list of numbers, or one such list for each column; got {edges!r}."
        ) from None
    for one in lists:
        if one.ndim != 1 or not np.isfinite(one).all() or (np.diff(one) <= 0).any():
            raise ValueError(
                f"edges must be finite numbers, each above the one before; got {one.tolist()}."
            )
    return tuple(tuple(one.tolist()) for one in lists) if per_column else tuple(lists[0].tolist())
