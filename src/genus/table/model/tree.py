"""A density of tables: each column given the class and one other column (TAN; Friedman 1997).

    p(x|k) = Π_j p(bin of x_j | bin of its parent, k) p(x_j | its bin)

The parents form the tree with the most mutual information given the class (Chow and Liu 1968).
Columns without pairs, and texts, are independent. Within a bin all classes have the same density.
It is a mixture: mostly the density of the counts by cell, and to a small part the uniform density
between the edges of the bin. In rows that are drawn from the tree, columns depend on each other
much as in the counted rows.

Symbols: m rows, n paired columns, K classes, B bins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.solve.grid import Grid
from genus.statistics import Array, Compound
from genus.table import Column, Frame, Plan
from genus.table.model.binning import Binned, merged
from genus.table.model.slots import Slots

BACK_OFF = 1.0  # rows by which a share is shrunk towards the one without the parent
ANYWHERE = 1.0  # rows of a bin that are spread evenly over it
FARTHEST = 700.0  # numbers further out than this many bin widths are treated as this far


@dataclass(frozen=True, eq=False)
class Within:
    """The distribution of a column's numbers within each bin, the same for all classes.

    `low` and `high` (bins,) are the bounds of the bins. `keys`, `counts` and `bin_of` (cells,) are
    the cells of the grid, the number of rows in each, and its bin.
    """

    low: Array
    high: Array
    keys: NDArray[np.int64]
    bin_of: NDArray[np.intp]
    counts: Array
    grid: Grid
    is_date: bool

    def log_density(self, x: Array, bins: NDArray[np.intp]) -> Array:
        """Return log p(x | its bin), (m,); outside the range it decays with the bin's width."""
        total = np.bincount(self.bin_of, self.counts, len(self.low)) + ANYWHERE
        key = self.grid.keys(x)
        at = labels.find(key, self.keys)
        width = self.grid.values(key + 1) - self.grid.values(key)
        own = np.append(self.counts, 0.0)[at] / width
        span = np.maximum(self.high - self.low, np.finfo(float).tiny)[bins]
        beyond = np.maximum(np.maximum(self.low[bins] - x, x - self.high[bins]), 0.0)
        anywhere = ANYWHERE / span * np.exp(-np.minimum(beyond / span, FARTHEST))
        return np.log(own + anywhere) - np.log(total[bins])

    def sample(self, bins: NDArray[np.intp], rng: np.random.Generator) -> Array:
        """Draw a number from each bin: usually a short one of a cell (of dates, the first).

        The cell from zero on may hold zeros or small numbers. As many as the next cell has are
        taken for small numbers.
        """
        out = np.empty(len(bins))
        edges = self.grid.values(self.keys)
        whole = bool((edges == np.floor(edges)).all())
        at_zero, next_to_it = (float(self.counts[self.keys == key].sum()) for key in (0, 1))
        for b in np.unique(bins):
            rows = np.flatnonzero(bins == b)
            mine = np.flatnonzero(self.bin_of == b)
            counts = self.counts[mine]
            anywhere = rng.random(len(rows)) * (counts.sum() + ANYWHERE) < ANYWHERE
            if len(mine) == 0:
                anywhere[:] = True
            out[rows[anywhere]] = rng.uniform(self.low[b], self.high[b], int(anywhere.sum()))
            if len(mine):
                drawn = rng.choice(len(mine), int((~anywhere).sum()), p=counts / counts.sum())
                told = self.grid.values if self.is_date else self.grid.shortest
                out[rows[~anywhere]] = told(self.keys[mine[drawn]])
        if whole:
            return np.floor(out)
        small = (out == 0) & (rng.random(len(out)) * at_zero < next_to_it) & (not self.is_date)
        out[small] = rng.uniform(0.0, self.grid.step, int(small.sum()))
        return out


@dataclass(frozen=True, eq=False)
class Tree:
    """The tree of paired columns: `parent` (n,), -1 for the root, and an `order` from the root.

    `alone` (B + 1, K) is log p(bin|k), and `given` (B + 1, B + 1, K) is log p(bin | parent's bin,
    k). The bins of column j begin at first[j]; the first of them is for missing values. The last
    bin of all is for unknown values, which carry no evidence. `within` has an entry for columns of
    numbers.
    """

    slots: Slots
    bin_of: NDArray[np.intp]
    first: NDArray[np.intp]
    parent: NDArray[np.intp]
    order: NDArray[np.intp]
    alone: Array
    given: Array
    within: tuple[Within | None, ...]

    def terms(self, X: Frame) -> Array:
        """Return each column's contribution, (m, n, K): log p(x_j|k), and half of its pair terms.

        Terms that are the same for all classes are left out.
        """
        bins = self.bin_of[self.slots.place(X)].astype(np.intp)
        terms = self.alone[bins.T]
        unknown = len(self.alone) - 1
        for j, i in enumerate(self.parent):
            if i >= 0:
                known = (bins[i] < unknown)[:, None]
                both = self.given[bins[i], bins[j]] - self.alone[bins[j]]
                terms[:, [i, j]] += np.where(known, both / 2, 0.0)[:, None]
        return terms

    def log_likelihood(self, X: Frame) -> Array:
        """Return log p(x|k) of the paired columns, (m, K)."""
        bins = self.bin_of[self.slots.place(X)].astype(np.intp)
        total = np.zeros((len(X), self.alone.shape[1]))
        unknown = len(self.alone) - 1
        for j, own in enumerate(bins):
            i = self.parent[j]
            if i < 0:
                total += self.alone[own]
            else:
                known = (bins[i] < unknown)[:, None]
                total += np.where(known, self.given[bins[i], own], self.alone[own])
            within = self.within[j]
            if within is not None:
                x = X.columns[self.slots.columns[j]]
                there = np.flatnonzero(~np.isnan(x) & (own < unknown) & (own > self.first[j]))
                place = own[there] - self.first[j] - 1
                total[there] += within.log_density(x[there], place)[:, None]
        return total

    def sample(self, k: int, n: int, rng: np.random.Generator) -> Iterator[tuple[int, Any]]:
        """Yield the position of each paired column, and n values of class k; None if missing."""
        bins = np.empty((len(self.parent), n), dtype=np.intp)
        for j in self.order:
            own = np.arange(self.first[j], self.first[j + 1])
            i = self.parent[j]
            if i < 0:
                p = np.exp(self.alone[own, k])[None]
            else:
                p = np.exp(self.given[bins[i]][:, own, k])
            below = np.cumsum(p, axis=1)
            draw = rng.random((n, 1)) * below[:, -1:]
            bins[j] = own[(draw > below).sum(axis=1)]
            yield self.slots.columns[j], self._values(j, bins[j] - self.first[j], rng)

    def _values(
        self, j: int, place: NDArray[np.intp], rng: np.random.Generator
    ) -> NDArray[np.object_]:
        """Draw values of column j from the given bins; bin 0 is for missing values."""
        out = np.full(len(place), None, dtype=object)
        there = np.flatnonzero(place > 0)
        within = self.within[j]
        if within is not None:
            out[there] = within.sample(place[there] - 1, rng)
        else:
            out[there] = self.slots.keys[j][place[there] - 1]
        return out


def solve(plan: Plan, statistics: Compound, classes: Axis) -> Tree | None:
    """Return the tree of paired columns; None if there are none."""
    pairs = statistics["pairs"]
    paired = [column for column in plan.used if column.paired]
    if not paired or not pairs.keys:
        return None
    is_number = np.array([column.kind == "number" for column in paired])
    binned = merged(pairs, classes, is_number, keep_missing=True)
    counts = binned.single.T
    total = np.zeros((binned.columns, counts.shape[1]))
    np.add.at(total, binned.column, counts)
    size = np.bincount(binned.column, minlength=binned.columns)
    base = (counts.sum(axis=1) + 0.5) / (total.sum(axis=1) + 0.5 * size)[binned.column]
    p = (counts + BACK_OFF * base[:, None]) / (total[binned.column] + BACK_OFF)
    given = (binned.pairs.transpose(1, 2, 0) + BACK_OFF * p) / (counts[:, None] + BACK_OFF)
    first = np.append(0, np.cumsum(size))
    parent, order = spanning_tree(binned, p, first)
    B, K = p.shape
    alone, table = np.zeros((B + 1, K)), np.zeros((B + 1, B + 1, K))
    alone[:B], table[:B, :B] = np.log(p), np.log(given)
    within = tuple(
        within_bins(plan, statistics, column, axis, binned, j, pairs)
        for j, (column, axis) in enumerate(zip(paired, pairs.keys, strict=True))
    )
    slots = Slots.of(plan, pairs)
    return Tree(slots, binned.bin_of, first, parent, order, alone, table, within)


def spanning_tree(
    binned: Binned, p: Array, first: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the tree with the most information: parents, and an order from the root."""
    n = binned.columns
    joint = binned.pairs + 1e-9
    weights = np.maximum(binned.weights, 1e-300)
    alone = np.maximum(p.T * weights[:, None], 1e-12)
    told = joint * np.log(joint * weights[:, None, None] / (alone[:, :, None] * alone[:, None]))
    by_column = np.add.reduceat(np.add.reduceat(told.sum(axis=0), first[:-1], 0), first[:-1], 1)
    information = np.maximum(by_column, 0.0) / max(binned.weights.sum(), 1e-300)
    cost = 1 + information.max() - information  # above zero, because a zero would mean no edge
    np.fill_diagonal(cost, 0.0)
    order, parent = breadth_first_order(minimum_spanning_tree(cost), 0, directed=False)
    return np.where(parent < 0, -1, parent).astype(np.intp)[:n], order.astype(np.intp)


def within_bins(
    plan: Plan,
    statistics: Compound,
    column: Column,
    axis: Axis,
    binned: Binned,
    j: int,
    pairs: Any,
) -> Within | None:
    """Return the distribution of a column's numbers within its bins; None if it has no numbers."""
    if column.kind != "number" or len(axis) == 0:
        return None
    tally = statistics["cells"]
    plain = [c.name for c in plan.used if c.kind != "text"]
    at = plain.index(column.name)
    ends = np.cumsum([0, *map(len, tally.keys)])
    keys, counts = tally.keys[at], tally["rows"].sum(axis=0)[ends[at] : ends[at + 1]]
    x = column.grid.values(keys)
    cell = np.searchsorted(axis, np.searchsorted(np.asarray(column.edges), x, side="right"))
    start = int(pairs.starts[j])
    own = binned.bin_of[start + 1 : start + 1 + len(axis)]
    bin_of = own[cell] - own[0]
    upper = column.grid.values(keys + 1)
    size = int(bin_of.max()) + 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, bin_of, x)
    np.maximum.at(high, bin_of, upper)
    return Within(low, high, keys, bin_of, counts, column.grid, column.is_date)
