"""The model of some columns of a table, from the same counts and with the same weights.

What would the probability of a class be if only some columns were known? A generative model answers
this by summing over all values of the other columns. The family of an unknown column is left out of
the product. In the mean of one-dependence estimators, an unknown child is left out, too. The term
of an unknown parent is replaced by the product of single columns, so that a parent without
information changes nothing when it becomes known. (Summing out its values would take twenty times
as long.) In a tree that asks for an unknown column, both answers are possible; the contributions of
columns to the trees' score are its exact Shapley values, which are the same in all orders. A
Gaussian of some columns has their means and their part of Σ:

    log N(x_S; μ_S, Σ_SS) = -½ Σ_i (z_i² + log L_ii²) over S,   z = L⁻¹(x - μ),   Σ = LLᵀ

and if columns are factorised in some order, z and L of the first columns are those of the model
without the others. So one factor gives the models for all beginnings of an order: no column, the
first, the first two, and so on, up to all of them, which is the model itself.

Weights, doubt and class constants stay as they are, because they belong to the model that is to be
explained.

Symbols: m rows, n columns, p paired ones, K classes, G experts, d features, s steps of an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from genus._kernel import weigh_experts
from genus.arrays.matrix import threads
from genus.solve.normal import solve_lower
from genus.statistics import Array
from genus.table import Frame
from genus.table.model.counts import TEXT, TOGETHER
from genus.table.model.experts import (
    LEAST,
    NAMES,
    Cells,
    Features,
    factorised,
)
from genus.table.model.orders import Order

if TYPE_CHECKING:
    from genus.table.model.mixed import Mixed, MixedParameters

BINS, PARENTS, LINEAR, CURVED, TREES = (
    1,
    2,
    3,
    5,
    7,
)  # positions of experts, in the order of their names


@dataclass(frozen=True, eq=False)
class Gaussians:
    """The linear and the curved expert over some features, factorised in the order of columns.

    Only d of the features are used: those of the s columns in the order. `at` (d,) are their
    positions among all features, and the features of each column begin at `starts` (s,); a column
    may have none. `means` (K, d) are the class means μ.

    The linear expert has the factor L of the pooled covariance, `shared` (d, d), and `drawn`
    (K, d), L⁻¹μ. The curved expert is a Student t distribution for each class k: `own` has the
    factors of the class covariances, `freedom` (K,) the degrees of freedom ν_k, and `width` (K,)
    the divisor of squared distances. `size` (s + 1, K) is ν_k plus the number of features of the
    first 0, 1, …, s columns. `constant` (s + 1, 2, K) is the part of both experts' scores that
    does not depend on the row.
    """

    at: NDArray[np.intp]
    starts: NDArray[np.intp]
    shared: Array
    own: Sequence[Array]
    drawn: Array
    means: Array
    width: Array
    freedom: Array
    size: Array
    constant: Array

    @classmethod
    def of(cls, features: Features, prior: float, order: Order) -> Gaussians:
        """Factorise the features of the columns in `order`, in this order; leave out all others."""
        last = max(features.column.max(initial=-1), order.max(initial=-1))
        rank = np.full(last + 1, len(order))  # the last columns may have no features
        rank[order] = np.arange(len(order))
        sizes = np.bincount(rank[features.column], minlength=len(order) + 1)[: len(order)]
        ends, K = np.cumsum(sizes), len(features.weights)
        at = np.argsort(rank[features.column], kind="stable")[: sizes.sum()]
        square, means = np.ix_(at, at), features.means[:, at]
        shared = np.tril(factorised(features.ridged[square])[0])
        own = [np.tril(factorised(features.covariance(k, prior)[square])[0]) for k in range(K)]
        drawn = solve_lower(shared, means.T).T
        ν, d = features.weights + prior, np.append(0, ends)[:, None]
        logs = np.stack([np.log(np.diag(L)) for L in own])
        curved = gammaln((ν + d) / 2) - gammaln(ν / 2) - 0.5 * d * np.log(ν)
        curved -= summed(logs.T)[d[:, 0]]
        constant = np.stack([-0.5 * summed(drawn.T**2)[d[:, 0]], curved], axis=1)
        return cls(at, ends - sizes, shared, own, drawn, means, features.width, ν, ν + d, constant)

    def scores(self, φ: Array) -> Array:
        """Return both experts' scores given the first 0, 1, …, s columns, (s + 1, m, 2, K)."""
        x, K = φ[:, self.at].T, len(self.own)
        out = np.empty((len(self.starts) + 1, len(φ), 2, K))
        z = solve_lower(self.shared, x)
        for k, (L, μ) in enumerate(zip(self.own, self.means, strict=True)):
            out[:, :, 0, k] = self._first(z * self.drawn[k][:, None])
            own = solve_lower(L, x - μ[:, None])
            δ = self._first(np.square(own, out=own))
            δ /= self.width[k] * self.freedom[k]
            out[:, :, 1, k] = -0.5 * self.size[:, k : k + 1] * np.log1p(δ)
        out += self.constant[:, None]
        return out

    def _first(self, terms: Array) -> Array:
        """Sum terms (d, m) over the features of the first 0, 1, …, s columns, (s + 1, m)."""
        if len(terms) == 0:
            return np.zeros((len(self.starts) + 1, terms.shape[1]))
        own = np.add.reduceat(terms, np.minimum(self.starts, len(terms) - 1), axis=0)
        own[np.diff(self.starts, append=len(terms)) == 0] = 0.0
        return summed(own)


@dataclass(frozen=True, eq=False)
class Route:
    """An order of columns, with the Gaussian experts factorised in this order.

    `paired` are the positions of the columns among the paired ones, -1 for others.
    """

    order: Order
    paired: NDArray[np.intp]
    experts: tuple[Gaussians, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The scores of m rows that do not depend on the order of columns.

    For each column, `alone` (n, m, K) is the score of its family, and `texts` (n, m, K) its
    weighted score as a text. `linear` (n, m, K) is its part in the linear expert of a wide table,
    or None for other tables.

    For each paired column, `bins` (p, m, K) is log p(x_j|k) by bins, `parent` (p, m) says whether
    it is a parent in a row, and `trees` (p, m, K) is its contribution to the trees' score. `given`
    (p, p, m, K) is log p(x_j|x_i,k) by parent i and column j. `share` (m,) is the share of paired
    columns that are known, and `features` holds the features of rows for the Gaussian experts,
    (m, d) for each set of features.
    """

    X: Frame
    alone: Array
    texts: Array
    bins: Array
    given: Array
    parent: NDArray[np.bool_]
    features: Sequence[Array]
    share: Array
    trees: Array
    linear: Array | None


@dataclass(frozen=True, eq=False)
class Submodels:
    """The scores of rows as if only some columns were known, with the same weights of experts."""

    family: Mixed
    parameters: MixedParameters

    @cached_property
    def _features(self) -> tuple[Features, ...]:
        experts = self.parameters.experts
        return () if experts is None else experts.features

    @cached_property
    def _paired(self) -> NDArray[np.intp]:
        """The position of each column among the paired ones, (n,); -1 for others."""
        p = self.parameters
        place = np.full(len(p.marginals), -1)
        if p.experts is not None:
            place[list(p.slots.columns)] = np.arange(len(p.slots.columns))
        return place

    @property
    def cost(self) -> int:
        """The approximate number of values that are computed to score a row."""
        n, paired = len(self._paired), int((self._paired >= 0).sum())
        own = 2 * paired**2 + n * (len(NAMES) + 5)
        return len(self.parameters.log_share) * own + 3 * sum(map(self._size, self._features))

    @property
    def route_bytes(self) -> int:
        """The approximate number of bytes that a `Route` takes."""
        factors = len(self.parameters.log_share) + 1
        return 8 * factors * sum(self._size(features) ** 2 for features in self._features)

    @staticmethod
    def _size(features: Features) -> int:
        return len(features.column)

    @property
    def offset(self) -> Array:
        """The score of each class, (K,), before any column is known, without the class share."""
        p = self.parameters
        return p.constant + (p.scorer.weights.sum() - 1) * p.log_share

    def read(self, X: Frame) -> Evidence:
        """Return the scores of rows that are the same for all orders of columns."""
        p, w = self.parameters, self.parameters.weights
        assert w is not None
        K, m = len(p.log_share), len(X)
        alone = self.family._by_column(p, X).transpose(1, 0, 2)
        alone = alone - alone.mean(axis=2, keepdims=True)
        texts = np.zeros_like(alone)
        for j in p.texts:
            name = TEXT + self.family.how.plan.used[j].name
            texts[j] = w.by_name.get(name, 0.0) * self.family._text(p, X, j)
        linear = None
        if p.linear is not None:
            linear = np.stack([p.linear.column(j, values) for j, values in enumerate(X.columns)])
        if p.experts is None:
            none = np.zeros((0, m, K))
            nobody = np.zeros((0, m), dtype=bool)
            pairs = none, none[:, None], nobody, (), none
            return Evidence(X, alone, texts, *pairs, none, linear)
        e, cells = p.experts, p.slots.place(X)
        bins = e.parents.bin_of[cells].astype(np.intp)
        known = bins < len(e.parents.table) - 1
        return Evidence(
            X,
            alone,
            texts,
            e.bins.table[cells],
            e.parents.table[bins[:, None], bins[None]],
            known & e.parents.is_parent[:, None],
            [f.of_rows(cells) for f in self._features],
            e.known[cells].mean(axis=0),
            self._trees(cells),
            linear,
        )

    def _trees(self, cells: Cells) -> Array:
        """Return the columns' Shapley values in the trees' score, (p, m, K)."""
        trees = self.parameters.trees
        if trees is None:
            return np.zeros((*cells.shape, len(self.parameters.log_share)))
        return trees.contributions(cells)

    def route(self, order: Order) -> Route:
        """Factorise the experts for an order of columns; the result can score any rows."""
        paired = self._paired[order]
        known = self.parameters.experts
        priors = () if known is None else known.priors
        experts = [
            Gaussians.of(features, prior, paired[paired >= 0])
            for features, prior in zip(self._features, priors, strict=True)
        ]
        return Route(order, paired, tuple(experts))

    def scores(self, rows: Evidence, route: Route, constants: Array) -> Array:
        """Return log((1 - doubt) p(k|x_S) / p(k) + doubt), (s + 1, m, K).

        S is the first 0, 1, …, s columns of the route, in turn. `constants` (n, K) holds each
        column's part of the `offset`, which is added once the column is in S.
        """
        p, order = self.parameters, route.order
        assert p.weights is not None
        weights = p.scorer.weights
        G, (m, K) = len(weights), rows.alone.shape[1:]
        said = np.zeros((len(order) + 1, m, G + 1, K))
        alone = self._alone(rows, order)
        more = rows.texts[order] + constants[order][:, None]
        said[:, :, G] = p.constant - self.offset + summed(more)
        if G:
            said[:, :, 0] = summed(alone)
        if p.experts is not None:
            unpaired = np.where((route.paired < 0)[:, None, None], alone, 0.0)
            said[:, :, 1:G] = summed(unpaired)[:, :, None]
            self._add_pairs(rows, route, said)
        if rows.linear is not None:
            said[:, :, G - 1] = summed(rows.linear[order])
        evidence = said.reshape(-1, (G + 1) * K)
        found = weigh_experts(evidence, weights, p.log_share, LEAST, p.weights.doubt, threads())
        return found.reshape(len(order) + 1, m, K)

    def _add_pairs(self, rows: Evidence, route: Route, said: Array) -> None:
        """Add the scores of the experts on pairs of columns."""
        first = np.concatenate([[0], np.cumsum(route.paired >= 0)])  # paired columns so far
        place = route.paired[route.paired >= 0]
        said[:, :, BINS] += summed(rows.bins[place])[first]
        said[:, :, PARENTS] += over_parents(rows, place)[first]
        for i, (own, φ) in enumerate(zip(route.experts, rows.features, strict=True)):
            found = own.scores(φ)[first]
            found *= rows.share[:, None, None]
            said[:, :, [LINEAR + i, CURVED + i]] += found
        if self.parameters.trees is not None:
            said[:, :, TREES] += summed(rows.trees[place])[first]

    def _alone(self, rows: Evidence, order: Order) -> Array:
        """Return families' scores by column, (s, m, K); in a block, given the columns before it."""
        alone, K = rows.alone[order], rows.alone.shape[2]
        for block in self.parameters.blocks:
            before = np.zeros((len(rows.X), K))
            x = np.full((len(rows.X), len(block.columns)), np.nan)
            for i, j in enumerate(order.tolist()):
                if j in block.columns:
                    x[:, block.columns.index(j)] = rows.X.columns[j]
                    own = TOGETHER.log_likelihood(block.parameters, x)
                    own -= own.mean(axis=1, keepdims=True)
                    alone[i], before = own - before, own
        return alone


def over_parents(rows: Evidence, order: Order) -> Array:
    """Return the log of the mean over parents, given the first 0, …, s columns, (s + 1, m, K)."""
    parents = np.zeros((len(order) + 1, *rows.alone.shape[1:]))
    alone = summed(rows.bins[order])
    unknown = rows.parent.sum(axis=0).astype(np.float64)  # parents that are still unknown
    count = np.maximum(unknown, 1.0)[:, None]
    joint = np.where(rows.parent[:, :, None], np.zeros_like(rows.bins), -np.inf)
    for i, j in enumerate(order.tolist(), 1):
        joint += rows.given[:, j]
        unknown -= rows.parent[j]
        known = joint[order[:i]]
        largest = np.maximum(known.max(axis=0), alone[i])
        known -= largest
        total = np.exp(known, out=known).sum(axis=0)
        total += unknown[:, None] * np.exp(alone[i] - largest)
        parents[i] = largest + np.log(np.where(total > 0, total, 1.0) / count)
    parents[:, rows.parent.sum(axis=0) == 0] = 0.0
    return parents


def summed(terms: Array) -> Array:
    """Return the partial sums of terms (s, …), from none to all of them, (s + 1, …)."""
    sums = np.zeros((len(terms) + 1, *terms.shape[1:]))
    np.cumsum(terms, axis=0, out=sums[1:])
    return sums
