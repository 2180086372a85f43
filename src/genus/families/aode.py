"""Averaged one-dependence estimators: n models, in each of which one column is the parent.

    p(x|k) = 1/n Σ_i p(x_i|k) Π_{j≠i} p(x_j | x_i, k)        (Webb, Boughton and Wang 2005)

A missing column is not used as a parent, and is left out of the products.

Symbols: m rows, n columns, K classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import average_parents
from genus.arrays.labels import Axis
from genus.arrays.logs import logsumexp
from genus.arrays.matrix import Codes, Matrix, chunks, threads
from genus.families.pair_tables import Cells, PairTables, count_values, draw
from genus.statistics import Array, Pairs


@dataclass(frozen=True, eq=False)
class OneDependence:
    """The AODE family; `alpha` is the pseudo-count of each value."""

    alpha: float = 1.0

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "pairs"}

    def zero(self) -> Pairs:
        return Pairs()

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Pairs:
        return count_values(X, y, classes, weight)

    def solve(self, statistics: Pairs, classes: Axis, width: int) -> PairTables:
        return PairTables.of(statistics, classes, width, self.alpha)

    def log_likelihood(self, parameters: PairTables, X: Matrix, relative: bool = False) -> Array:
        cells = parameters.cells(X)
        if parameters.width == 0:
            return np.zeros((len(X), len(parameters.counts)))
        return average_parents(cells, parameters.table, np.ones(len(cells), bool), threads())

    def contributions(self, parameters: PairTables, X: Matrix) -> tuple[Array, Array]:
        """Return the mean of log p(x_j | parent, k), weighted by the parents' shares of p(x|k).

        Let s_i be the product for parent i, and r_i = s_i / Σ_i s_i. Then log(Σ_i s_i / n) is the
        sum of Σ_i r_i log s_i, which is divided among the columns, and -Σ_i r_i log r_i - log n,
        which belongs to no column.
        """
        cells, K = parameters.cells(X), len(parameters.counts)
        m, n = X.shape
        terms, constant = np.zeros((m, n, K)), np.zeros((m, K))
        for part in chunks(m, n * n * K):
            by_parent = pair_terms(parameters, cells[:, part])
            is_parent = (cells[:, part] < len(parameters.column)).T[:, :, None]
            log_sums = np.where(is_parent, by_parent.sum(axis=2), -np.inf)
            parents = is_parent.sum(axis=1)
            total = logsumexp(log_sums, axis=1)
            some = np.where(np.isfinite(total), total, 0.0)
            share = np.exp(log_sums - some[:, None])
            terms[part] = np.einsum("mik,mijk->mjk", share, by_parent)
            score = np.where(parents > 0, some - np.log(np.maximum(parents, 1)), 0.0)
            constant[part] = score - terms[part].sum(axis=1)
        return terms, constant

    def leave_one_out(
        self,
        statistics: Pairs,
        parameters: PairTables,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        cells, n = parameters.cells(X), parameters.width
        w = np.ones(len(y)) if weight is None else weight
        scores = self.log_likelihood(parameters, X)
        if n:
            every = range(n)
            sums = [parameters.without(cells, y, w, np.full(n, i)).sum(axis=1) for i in every]
            scores[np.arange(len(y)), y] = logsumexp(np.stack(sums, axis=1), axis=1) - np.log(n)
        return scores

    def sample(
        self, parameters: PairTables, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        cells = np.full((parameters.width, n), len(parameters.column), dtype=np.uint16)
        sizes = np.diff(parameters.starts)
        known = np.flatnonzero(sizes)
        if len(known):
            parent = rng.choice(known, size=n)
            for i in known:
                rows = np.flatnonzero(parent == i)
                start, end = parameters.starts[i : i + 2]
                p = np.broadcast_to(
                    np.exp(parameters.alone[start:end, k]), (len(rows), end - start)
                )
                cells[i, rows] = start + draw(p, rng)
                for j in known[known != i]:
                    start, end = parameters.starts[j : j + 2]
                    given = np.exp(parameters.table[cells[i, rows], start:end, k])
                    cells[j, rows] = start + draw(given, rng)
        return parameters.values(cells)


def pair_terms(parameters: PairTables, cells: Cells) -> Array:
    """Return log p(x_j|x_i, k) by parent i and column j, (m, n, n, K); log p(x_i|k) for i = j."""
    table: Array = parameters.table[cells[:, None], cells[None]]
    return table.transpose(2, 0, 1, 3)
