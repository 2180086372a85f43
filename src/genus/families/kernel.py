"""Kernel density: a histogram of narrow bins, smoothed by a normal kernel.

    f_k(g) = Σ_b n_bk φ((g - b) / h_k) / n_k,        p_k = (n_k f_k + α f) / (n_k + α)

n_bk is the number of rows of class k in bin b. f is the density of all classes, which is the prior
of each class with a weight of α rows. The bandwidth h_k is Silverman's (1986), multiplied by that
number in `FACTORS` for which the class has the largest leave-one-out likelihood. Everything is
solved from counts by cell, so models can be merged.

Symbols: K classes, G bins of equal width, V cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays.labels import Axis
from genus.families.categorical import CategoricalParameters, Column
from genus.solve.grid import Grid
from genus.statistics import Array, Tally

FACTORS = (1.0, 0.6, 0.35)  # times Silverman's bandwidth
BINS = 64
BEYOND = 1 / 16  # of the range of a column, added on either side
ALPHA = 1.0  # weight of the density of all classes, in rows
LEAST = 1e-12  # smallest probability of a bin
REACH = 6.0  # bandwidths from the centre to the end of the kernel


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The `counts` of rows by class and bin, (K, G), and the smoothed `sums`, (K, G).

    `centre` (K,) is the kernel of each class at zero: the part of a row that stays in its bin.
    """

    counts: Array
    sums: Array
    centre: Array

    def log_p(self) -> Array:
        """Return log p(bin|k), (G, K)."""
        rows = self.counts.sum(axis=1)
        common = self.sums.sum(axis=0) / max(rows.sum(), 1e-300)
        p = (self.sums + ALPHA * common) / (rows + ALPHA)[:, None]
        return np.log(np.maximum(p, LEAST)).T

    def leave_one_out(
        self,
        statistics: Any,
        parameters: Any,
        x: NDArray[Any],
        k: NDArray[np.intp],
        w: Array,
    ) -> Array:
        """Return log p(bin|c) for each class c, (P, K), of P rows, each left out of the counts.

        x (P, 1) are the bins of the rows, k their classes and w their weights.
        """
        g, rows = x[:, 0], self.counts.sum(axis=1)
        gone = w * self.centre[k]
        common = (self.sums[:, g].sum(axis=0) - gone) / np.maximum(rows.sum() - w, 1e-300)
        own = np.arange(len(rows)) == k[:, None]
        sums = self.sums[:, g].T - own * gone[:, None]
        left = rows - own * w[:, None]
        p = (np.maximum(sums, 0.0) + ALPHA * common[:, None]) / (np.maximum(left, 0.0) + ALPHA)
        return np.log(np.maximum(p, LEAST))


@dataclass(frozen=True)
class KernelDensity:
    """The kernel density family of one column, whose numbers are counted by cells."""

    def edges(self, values: Array, grid: Grid) -> Array:
        """Return the inner edges of bins of about equal width; each is an edge of a grid cell.

        The values must be ascending.
        """
        low, high = float(values[0]), float(values[-1])
        room = BEYOND * (high - low)
        even = np.linspace(low - room, high + room, BINS + 1)[1:-1]
        return np.unique(grid.values(grid.keys(even)))

    def smooth(self, binned: Array, row: Array) -> Smoothed:
        """Smooth counts (K, G), each class with its best leave-one-out bandwidth.

        `row` (K,) is the weight of one row of each class.
        """
        place = np.arange(binned.shape[1], dtype=np.float64)
        sums, centre = np.zeros_like(binned), np.ones(len(binned))
        for k, counts in enumerate(binned):
            rows = float(counts.sum())
            if rows <= 0:
                continue
            there = np.flatnonzero(counts)
            w = np.minimum(counts[there], row[k])
            h, best = silverman(counts, place, rows), -np.inf
            for factor in FACTORS:
                kernel = normal_kernel(factor * h, len(place))
                reach = len(kernel) // 2
                found = np.convolve(counts, kernel)[reach:][: len(place)]
                left = found[there] - w * kernel[reach]
                fit = float(counts[there] @ np.log(np.maximum(left, LEAST * rows)))
                if fit > best:
                    sums[k], centre[k], best = found, kernel[reach], fit
        return Smoothed(binned, sums, centre)

    def parameters(
        self, smoothed: Smoothed, edges: Array, axis: Axis, weights: Array
    ) -> CategoricalParameters:
        """Return the smoothed bins as parameters of the categorical family."""
        values = np.arange(len(edges) + 1)
        column = Column(values, smoothed.counts, False, edges, axis, weights)
        table = np.vstack([smoothed.log_p(), np.zeros(len(smoothed.counts))])
        ends = np.array([0, len(table)], dtype=np.int64)
        return CategoricalParameters((column,), ends, np.ones(len(table)), table)

    def tally(self, classes: Axis, binned: Array) -> Tally:
        """Return the counts by class and bin."""
        return Tally(classes, (np.arange(binned.shape[1]),), {"count": binned})


def silverman(counts: Array, place: Array, rows: float) -> float:
    """Return Silverman's bandwidth, in bins: 0.9 min(σ, IQR / 1.34) rows^(-1/5)."""
    mean = float(counts @ place) / rows
    deviation = float(np.sqrt(counts @ (place - mean) ** 2 / rows))
    low, high = np.interp([0.25 * rows, 0.75 * rows], np.cumsum(counts), place)
    spread = min(deviation, (high - low) / 1.34) if high > low else deviation
    return 0.9 * spread * max(rows, 1.0) ** -0.2


def normal_kernel(bandwidth: float, most: int) -> Array:
    """Return the weights of a row in its bin and the bins around it; they add up to 1."""
    h = max(bandwidth, 0.3)  # of a bin
    reach = int(min(np.ceil(REACH * h), most - 1))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / h) ** 2)
    kernel /= kernel.sum()
    return kernel
