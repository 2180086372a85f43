"""Screen wide tables: choose families for informative columns only, use shares for the rest.

Choosing a family takes milliseconds for each column and fold. With thousands of columns and few
rows, that would be minutes. So columns are first compared by one simple model, which is solved for
all of them at once: shares of values by class, where numbers are in runs of cells with about a
fifth of the rows each. Columns are ranked by their mutual information with the class, minus what so
many shares would gain by chance (Akaike 1974):

    Σ_kb p(k, b) log p(k, b) / (p(k) p(b)) - (B - 1)(K - 1) / 2N

The information in which values are missing is added. The best columns are solved in full. The
others keep their shares if these gain anything. In cross-validation, columns are compared again for
every fold, by the counts of the other folds.

Symbols: n columns, K classes, B bins, V cells of all columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from genus.statistics import Array, divide
from genus.table.model.marginals import Counted, Marginal, Shares, missing_share, unsolved

BINS = 5
FEWEST = 64  # columns that are solved in full
ROWS = 64  # rows for each column that is solved in full, if that allows more than FEWEST
PSEUDO = 1.0  # rows that are added to each share (Laplace smoothing)


def screened(counted: Sequence[Counted], rows: Array) -> list[Marginal | None]:
    """Return simple marginals for columns that are screened out; None for the others.

    `rows` (K,) are the weights of the classes.
    """
    most = max(FEWEST, int(rows.sum()) // ROWS)
    if len(counted) <= most:
        return [None] * len(counted)
    cells = Cells.of(counted)
    gains = cells.gains + missing_gains(counted, rows)
    best = set(np.argsort(-gains, kind="stable")[:most].tolist())
    return [
        None if j in best else cells.marginal(j) if cells.gains[j] > 0 else unsolved(column)
        for j, column in enumerate(counted)
    ]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of all columns, one column after another, and the bin of each cell (V,).

    Column j has the cells from starts[j] on and the bins from `first[j]` on; the counts of all bins
    are `counts` (K, all bins).
    """

    columns: Sequence[Counted]
    starts: NDArray[np.intp]
    bins: NDArray[np.intp]
    first: NDArray[np.intp]
    counts: Array

    @classmethod
    def of(cls, columns: Sequence[Counted]) -> Cells:
        """Divide numbers into bins with about equal counts; every category is its own bin."""
        sizes = np.array([column.distinct for column in columns])
        starts, at = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(columns)), sizes)
        counts = np.concatenate([column.counts for column in columns], axis=1)
        by_cell = counts.sum(axis=0)
        total = np.bincount(at, by_cell, len(columns)).astype(np.float64)
        below = np.cumsum(by_cell) - by_cell / 2
        below -= (np.cumsum(total) - total)[at]
        number = np.array([column.kind == "number" for column in columns])
        bins = np.arange(len(at)) - starts[at]
        fifth = np.minimum(np.floor(BINS * divide(below, total[at])), BINS - 1).astype(np.intp)
        bins = np.where(number[at], fifth, bins)
        wide = np.where(number, BINS, sizes)
        first = np.cumsum(wide) - wide
        V = int(wide.sum())
        summed = [np.bincount(first[at] + bins, row, V).astype(np.float64) for row in counts]
        return cls(columns, starts, bins, first, np.stack(summed))

    @cached_property
    def gains(self) -> Array:
        """The gain of each column from the shares of its bins, in nats per row, (n,)."""
        found = np.zeros(len(self.columns))
        own = np.flatnonzero([column.distinct > 0 for column in self.columns])
        if len(own):
            found[own] = information(self.counts, self.first[own])
        return found

    def marginal(self, j: int) -> Marginal:
        """Return the marginal of a column, with the shares of its bins."""
        column, start = self.columns[j], int(self.starts[j])
        bins = self.bins[start : start + column.distinct]
        begins = np.append(0, np.flatnonzero(bins[1:] != bins[:-1]) + 1)
        counts = self.counts[:, self.first[j] + bins[begins]].T + PSEUDO
        is_number = column.kind == "number"
        edges = column.grid.values(column.axis[begins[1:]]) if is_number else column.axis
        shares = Shares(edges, np.log(counts) - np.log(counts.sum(axis=0)), is_number)
        gains, nothing = {"shares": float(self.gains[j])}, np.zeros((2, counts.shape[1]))
        missing = missing_share(column)
        return Marginal("shares", gains, shares, nothing, missing=missing, counted=column)


def missing_gains(columns: Sequence[Counted], rows: Array) -> Array:
    """Return the information of missing values about the class, (n,), 0 or more nats per row."""
    there = np.stack([column.there for column in columns], axis=1)
    counts = np.stack([there, np.maximum(rows[:, None] - there, 0.0)], axis=2)
    starts = np.arange(0, 2 * len(columns), 2)
    return np.maximum(information(counts.reshape(len(rows), -1), starts), 0.0)


def information(counts: Array, starts: NDArray[np.intp]) -> Array:
    """Return the mutual information of each column and the class, (n,), corrected for chance.

    `counts` (K, bins) has the bins of all columns; the bins of column j begin at starts[j].

    >>> counts = np.array([[4.0, 0.0, 2.0, 2.0], [0.0, 4.0, 2.0, 2.0]])
    >>> information(counts, np.array([0, 2])).round(2)
    array([ 0.63, -0.06])
    """
    N = np.add.reduceat(counts, starts, axis=1)
    total, by_bin = N.sum(axis=0), counts.sum(axis=0)
    joint = np.add.reduceat(n_log_n(counts).sum(axis=0), starts)
    bins = np.add.reduceat(n_log_n(by_bin), starts)
    found = joint - bins - n_log_n(N).sum(axis=0) + n_log_n(total)
    used = np.add.reduceat((by_bin > 0).astype(float), starts)
    return divide(found - np.maximum(used - 1, 0) * (len(counts) - 1) / 2, total)


def n_log_n(n: Array) -> Array:
    """Return n log n, and 0 for n = 0."""
    return n * np.log(np.maximum(n, 1e-300))
