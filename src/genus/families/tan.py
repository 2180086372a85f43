"""Tree-augmented naive Bayes: each column depends on the class and one other column.

    p(x|k) = Π_j p(x_j | x_parent(j), k)

The parents form the tree with the largest mutual information given the class (Friedman, Geiger and
Goldszmidt 1997; Chow and Liu 1968). Missing values are summed out.

Symbols: m rows, n columns, K classes, B values of all columns, V values of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays.labels import Axis
from genus.arrays.logs import logsumexp
from genus.arrays.matrix import Codes, Matrix, chunks
from genus.families.pair_tables import Cells, PairTables, count_values, draw
from genus.statistics import Array, Pairs


@dataclass(frozen=True, eq=False)
class Tree:
    """The `parent` of each column, (n,), -1 for a root, and an `order` of columns, parents first.

    `information` (n, n) is the mutual information of columns given the class, in nats.
    """

    parent: NDArray[np.intp]
    order: NDArray[np.intp]
    information: Array


@dataclass(frozen=True, eq=False)
class TANParameters:
    """The counts and probabilities of pairs of values, and the tree."""

    tables: PairTables
    tree: Tree

    @property
    def given(self) -> NDArray[np.intp]:
        """The parent of each column, (n,); a root is its own parent."""
        parent = self.tree.parent
        return np.where(parent < 0, np.arange(len(parent)), parent)


@dataclass(frozen=True, eq=False)
class TreeAugmented:
    """The TAN family; `alpha` is the pseudo-count of each value.

    With a `penalty`, "aic" or "bic", an edge is kept only if the gain in log-likelihood exceeds
    the penalty of the criterion for its parameters, so there may be several trees.
    """

    alpha: float = 1.0
    penalty: str | None = None

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "pairs"}

    def zero(self) -> Pairs:
        return Pairs()

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Pairs:
        return count_values(X, y, classes, weight)

    def choose(self, statistics: Pairs, classes: Axis, width: int) -> Tree:
        """Return the tree with the largest mutual information given the class, less any penalty."""
        return self._tree(PairTables.of(statistics, classes, width, self.alpha))

    def _tree(self, tables: PairTables) -> Tree:
        found, rows = information(tables)
        weights = found
        if self.penalty is not None:
            K, sizes = len(tables.counts), np.diff(tables.starts)
            parameters = K * np.outer(sizes - 1, sizes - 1)
            each = 1.0 if self.penalty == "aic" else 0.5 * np.log(np.maximum(rows, 1.0))
            weights = rows * found - each * parameters
        return spanning_tree(weights, found, 0.0 if self.penalty else -np.inf)

    def solve(
        self, statistics: Pairs, classes: Axis, width: int, tree: Tree | None = None
    ) -> TANParameters:
        tables = PairTables.of(statistics, classes, width, self.alpha)
        return TANParameters(tables, self._tree(tables) if tree is None else tree)

    def log_likelihood(self, parameters: TANParameters, X: Matrix, relative: bool = False) -> Array:
        return self._score(parameters, parameters.tables.cells(X))

    def _score(self, parameters: TANParameters, cells: Cells) -> Array:
        table = parameters.tables.table
        scores = np.zeros((cells.shape[1], table.shape[2]))
        for i, own in zip(parameters.given, cells, strict=True):
            scores += table[cells[i], own]
        holes = np.flatnonzero((cells == len(table) - 1).any(axis=0))
        sizes = np.diff(parameters.tables.starts)
        most = int(sizes.max(initial=1)) ** 2 * table.shape[2]
        for part in chunks(len(holes), max(most, int(sizes.sum()) * table.shape[2])):
            scores[holes[part]] = score_incomplete(parameters, cells[:, holes[part]])
        return scores

    def contributions(self, parameters: TANParameters, X: Matrix) -> tuple[Array, Array]:
        """Return the terms of log p(x|k) by column, and the others.

        log p(x_j | parent, k) - log p(x_j|k) is divided equally between column j and its parent.
        """
        tables, cells = parameters.tables, parameters.tables.cells(X)
        terms = tables.alone[cells].transpose(1, 0, 2).copy()
        for j, i in enumerate(parameters.given):
            if i != j:
                both = tables.table[cells[i], cells[j]] - tables.alone[cells[j]]
                unknown = (cells[[i, j]] == len(tables.alone) - 1).any(axis=0)
                both[unknown] = 0.0
                terms[:, [i, j]] += both[:, None] / 2
        return terms, self._score(parameters, cells) - terms.sum(axis=1)

    def leave_one_out(
        self,
        statistics: Pairs,
        parameters: TANParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        cells = parameters.tables.cells(X)
        w = np.ones(len(y)) if weight is None else weight
        scores = self._score(parameters, cells)
        own = parameters.tables.without(cells, y, w, parameters.given).sum(axis=1)
        scores[np.arange(len(y)), y] = own
        return scores

    def sample(
        self, parameters: TANParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        tables = parameters.tables
        cells = np.full((tables.width, n), len(tables.column), dtype=np.uint16)
        for j in parameters.tree.order:
            i, start, end = parameters.given[j], *tables.starts[j : j + 2]
            if start == end:
                continue
            if i == j or tables.starts[i] == tables.starts[i + 1]:
                p = np.broadcast_to(np.exp(tables.alone[start:end, k]), (n, end - start))
            else:
                p = np.exp(tables.table[cells[i], start:end, k])
            cells[j] = start + draw(p, rng)
        return tables.values(cells)


def information(tables: PairTables) -> tuple[Array, Array]:
    """Return I(x_i; x_j | y), (n, n), in nats, and the number of rows with both values, (n, n).

    In each class, n_uv rows have the values u and v, and N rows have a value in both columns. The
    sums are over values and classes:

        I = Σ n_uv (log n_uv - log n_u - log n_v + log N) / Σ N
    """
    own = (tables.column[:, None] == np.arange(tables.width)).astype(np.float64)
    joint = own.T @ times_log(tables.counts).sum(axis=0) @ own
    one = own.T @ times_log(tables.known).sum(axis=0)
    rows = np.einsum("bi,kbj->kij", own, tables.known)
    total = rows.sum(axis=0)
    found = joint - one - one.T + times_log(rows).sum(axis=0)
    found = np.divide(found, total, out=np.zeros_like(total), where=total > 0)
    found = np.maximum(np.round(found, 12), 0.0)  # smaller values are rounding errors
    np.fill_diagonal(found, 0.0)
    return (found + found.T) / 2, total


def times_log(x: Array) -> Array:
    """Return x log x, and 0 for x = 0."""
    return x * np.log(np.where(x > 0, x, 1.0))


def spanning_tree(weights: Array, information: Array, least: float) -> Tree:
    """Return the tree with the largest total weight (Prim's algorithm), rooted at column 0.

    Edges whose weight is not above `least` are left out. If several trees are left, the first
    column of each is its root.
    """
    n = len(weights)
    linked: list[list[int]] = [[] for _ in range(n)]
    best, via = weights[:1].ravel().copy(), np.zeros(n, dtype=np.intp)
    reached = [0]
    for _ in range(n - 1):
        best[reached] = -np.inf
        j = int(np.argmax(best))
        if best[j] > least:
            linked[j].append(int(via[j]))
            linked[via[j]].append(j)
        reached.append(j)
        closer = weights[j] > best
        best, via = np.where(closer, weights[j], best), np.where(closer, j, via)
    parent, order = np.full(n, -1, dtype=np.intp), list[int]()
    for root in range(n):
        ahead = [] if root in order else [root]
        while ahead:
            order.append(ahead.pop(0))
            below = sorted(j for j in linked[order[-1]] if j != parent[order[-1]])
            parent[below] = order[-1]
            ahead += below
    return Tree(parent, np.array(order, dtype=np.intp), information)


def score_incomplete(parameters: TANParameters, cells: Cells) -> Array:
    """Return log p(x|k), (m, K), of rows in which some columns are unknown.

    From the leaves to the root, each column passes to its parent the likelihood of the known values
    in its branch, for each value of the parent. If the column is unknown, this is a sum over its
    values.
    """
    tables, tree = parameters.tables, parameters.tree
    m, K, unknown = cells.shape[1], tables.alone.shape[1], len(tables.column)
    below: list[Array] = [np.zeros((m, size, K)) for size in np.diff(tables.starts)]
    total = np.zeros((m, K))
    for j in tree.order[::-1]:
        start, end = tables.starts[j : j + 2]
        i = tree.parent[j]
        if start == end:
            continue  # no value of the column was ever seen
        is_root = i < 0 or tables.starts[i] == tables.starts[i + 1]
        # log p(v|u, k), (U, V, K); the root has a single u
        table = tables.alone[None, start:end]
        if not is_root:
            table = tables.table[tables.starts[i] : tables.starts[i + 1], start:end]
        told = logsumexp(table[None] + below[j][:, None], axis=2)  # (m, U, K)
        there = np.flatnonzero(cells[j] < unknown)
        at = cells[j][there].astype(np.intp) - start
        told[there] = table[:, at].transpose(1, 0, 2) + below[j][there, at][:, None]
        if is_root:
            total += told[:, 0]
        else:
            below[i] = below[i] + told
    return total
