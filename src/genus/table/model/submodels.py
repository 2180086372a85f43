"""A table's model of some of its columns only, from the same counts and with the same weights.

What would be the probability of a class if only some columns were known? A generative model has an
answer: the others are summed out. A family whose column is not known is left out of the product. In
the mean of one-dependence estimators a child that is not known is left out, too, and a parent that
is not known stands for the product of what columns say by themselves, so that one that says nothing
changes nothing when it becomes known. (To sum out its values would take twenty times as long.) A
row goes both ways in a tree that asks for an unknown column; what columns add is the same in
all orders there, a mean over a few, for the trees of one order take as long as all else. A Gaussian
of some columns has their means and their part of Σ:

    log N(x_S; μ_S, Σ_SS) = -½ Σ_i (z_i² + log L_ii²) over S,   z = L⁻¹(x - μ),   Σ = LLᵀ

and if columns are factorised in some order, z and L of the first of them are those of the model
that knows no others. So one factor gives the models of all beginnings of an order: no column, the
first, the first two, and so on, up to all of them, which is the model itself.

Weights, the doubt and the class constants stay as they are: what is explained is this model.

Symbols: m rows, n columns, p paired ones, K classes, G experts, d features, s steps of an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from genus._kernel import weigh_experts
from genus.arrays.matrix import threads
from genus.statistics import Array
from genus.table import Frame
from genus.table.model.counts import TEXT, TOGETHER
from genus.table.model.experts import (
    LEAST,
    NAMES,
    OWN,
    OWN_OF_BINS,
    Cells,
    Features,
    factorised,
)
from genus.table.model.orders import Order, orders

if TYPE_CHECKING:
    from genus.table.model.mixed import Mixed, MixedParameters

BINS, PARENTS, LINEAR, CURVED, TREES = (
    1,
    2,
    3,
    5,
    7,
)  # where experts stand, in the order of their names


@dataclass(frozen=True, eq=False)
class Gaussians:
    """The linear and the curved expert over some features, factorised in the order of columns.

    The features are those `at` some places, and `starts` (s,) are where those of a column begin; a
    column may have none. The pooled factor is `shared`, and that of each class in `own`; `drawn`
    (K, d) is L⁻¹μ by the pooled one. `constant` (s + 1, 2, K) is what experts say that no row has a
    part in, and `size` (s + 1, K) is ν + d of the first columns.
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
        """Factorise features by paired columns in an order, which may leave some out."""
        rank = np.full(features.column.max(initial=-1) + 1, len(order))
        rank[order] = np.arange(len(order))
        sizes = np.bincount(rank[features.column], minlength=len(order) + 1)[: len(order)]
        ends, K = np.cumsum(sizes), len(features.weights)
        at = np.argsort(rank[features.column], kind="stable")[: sizes.sum()]
        square, means = np.ix_(at, at), features.means[:, at]
        shared = np.tril(factorised(features.ridged[square])[0])
        own = [np.tril(factorised(features.covariance(k, prior)[square])[0]) for k in range(K)]
        drawn = solve_triangular(shared, means.T, lower=True).T
        ν, d = features.weights + prior, np.append(0, ends)[:, None]
        logs = np.stack([np.log(np.diag(L)) for L in own])
        curved = gammaln((ν + d) / 2) - gammaln(ν / 2) - 0.5 * d * np.log(ν)
        curved -= summed(logs.T)[d[:, 0]]
        constant = np.stack([-0.5 * summed(drawn.T**2)[d[:, 0]], curved], axis=1)
        return cls(at, ends - sizes, shared, own, drawn, means, features.width, ν, ν + d, constant)

    def scores(self, φ: Array) -> Array:
        """Return what both experts say by the first columns, (s + 1, m, 2, K)."""
        x, K = φ[:, self.at].T, len(self.own)
        out = np.empty((len(self.starts) + 1, len(φ), 2, K))
        z = solve_triangular(self.shared, x, lower=True, check_finite=False)
        for k, (L, μ) in enumerate(zip(self.own, self.means, strict=True)):
            out[:, :, 0, k] = self._first(z * self.drawn[k][:, None])
            own = solve_triangular(L, x - μ[:, None], lower=True, check_finite=False)
            δ = self._first(np.square(own, out=own))
            δ /= self.width[k] * self.freedom[k]
            out[:, :, 1, k] = -0.5 * self.size[:, k : k + 1] * np.log1p(δ)
        out += self.constant[:, None]
        return out

    def _first(self, terms: Array) -> Array:
        """Sums of terms (d, m) over the features of the first columns, (s + 1, m)."""
        if len(terms) == 0:
            return np.zeros((len(self.starts) + 1, terms.shape[1]))
        own = np.add.reduceat(terms, np.minimum(self.starts, len(terms) - 1), axis=0)
        own[np.diff(self.starts, append=len(terms)) == 0] = 0.0
        return summed(own)


@dataclass(frozen=True, eq=False)
class Route:
    """An order of columns, their places among paired ones (-1 of others), and experts in it."""

    order: Order
    paired: NDArray[np.intp]
    experts: tuple[Gaussians, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is looked up once of m rows, whatever the order of columns.

    `alone` (n, m, K) is what families say of columns, and `texts` (n, m, K) what words do, weighed.
    Of paired columns: `bins` (p, m, K), and of every two `given` (p, p, m, K), log p(x_j|x_i,k) of
    a parent i, and `pairs`, what they say together, weighed. `parent` (p, m) says which columns of
    a row are parents; `features` (m, d) are those of experts, `share` (m,) is how many of the
    columns are known, and `trees` (p, m, K) are what columns add to the score of the trees.
    """

    X: Frame
    alone: Array
    texts: Array
    bins: Array
    given: Array
    pairs: Array
    parent: NDArray[np.bool_]
    features: Sequence[Array]
    share: Array
    trees: Array


@dataclass(frozen=True, eq=False)
class Submodels:
    """The models of all subsets of columns, of parameters that have weights."""

    family: Mixed
    parameters: MixedParameters

    @cached_property
    def _features(self) -> tuple[Features, ...]:
        experts = self.parameters.experts
        return () if experts is None else tuple(map(experts.basis.features, (False, True)))

    @cached_property
    def _paired(self) -> NDArray[np.intp]:
        """The place of each column among those that are paired, (n,); -1 of others."""
        p = self.parameters
        place = np.full(len(p.marginals), -1)
        if p.experts is not None:
            place[list(p.slots.columns)] = np.arange(len(p.slots.columns))
        return place

    @property
    def cost(self) -> int:
        """How many numbers a row takes while it is scored, about."""
        n, paired = len(self._paired), int((self._paired >= 0).sum())
        own = 2 * paired**2 + n * (len(NAMES) + 5)
        return len(self.parameters.log_share) * own + 3 * sum(map(self._size, self._features))

    @property
    def route_bytes(self) -> int:
        """How many bytes an order takes that is factorised, about."""
        factors = len(self.parameters.log_share) + 1
        return 8 * factors * sum(self._size(features) ** 2 for features in self._features)

    @staticmethod
    def _size(features: Features) -> int:
        return len(features.column)

    @property
    def offset(self) -> Array:
        """What the model says of classes, beyond their shares, before any column is known, (K,)."""
        p = self.parameters
        return p.constant + (p.scorer.weights.sum() - 1) * p.log_share

    def read(self, X: Frame) -> Evidence:
        """Look up what experts say of single values and of pairs."""
        p, w = self.parameters, self.parameters.weights
        assert w is not None
        K, m = len(p.log_share), len(X)
        alone = self.family._by_column(p, X).transpose(1, 0, 2)
        alone = alone - alone.mean(axis=2, keepdims=True)
        texts = np.zeros_like(alone)
        for j in p.texts:
            name = TEXT + self.family.how.plan.used[j].name
            texts[j] = w.by_name.get(name, 0.0) * self.family._text(p, X, j)
        if p.experts is None:
            none = np.zeros((0, m, K))
            nobody = np.zeros((0, m), dtype=bool)
            pairs = none, none[:, None], none[:, None], nobody, (), none
            return Evidence(X, alone, texts, *pairs, none)
        e, cells = p.experts, p.slots.place(X)
        bins = e.parents.bin_of[cells].astype(np.intp)
        known = bins < len(e.parents.table) - 1
        return Evidence(
            X,
            alone,
            texts,
            e.bins.table[cells],
            e.parents.table[bins[:, None], bins[None]],
            self._together[bins[:, None], bins[None]],
            known & e.parents.is_parent[:, None],
            [f.of_rows(cells) for f in self._features],
            e.known[cells].mean(axis=0),
            self._trees(cells),
        )

    def _trees(self, cells: Cells) -> Array:
        """What columns add to the score of the trees, (p, m, K): Shapley values by a few orders."""
        terms = np.zeros((*cells.shape, len(self.parameters.log_share)))
        forest, few = self.parameters.forest, orders(len(cells), 1)[0]
        if forest is None:
            return terms
        for order in few:
            terms[order] += np.diff(forest.in_order(cells, order), axis=0)
        return terms / len(few)

    @cached_property
    def _together(self) -> Array:
        return self.parameters.scorer.together

    def route(self, order: Order) -> Route:
        """Prepare an order of columns, some or all of them, for any rows."""
        paired = self._paired[order]
        priors = (OWN, OWN_OF_BINS)[: len(self._features)]
        experts = [
            Gaussians.of(features, prior, paired[paired >= 0])
            for features, prior in zip(self._features, priors, strict=True)
        ]
        return Route(order, paired, tuple(experts))

    def scores(self, rows: Evidence, route: Route, constants: Array) -> Array:
        """Return log((1 - doubt) p(k|x_S) / p(k) + doubt) of the first columns, (s + 1, m, K).

        `constants` (n, K) are what each column adds of the `offset`; of no column that is nothing.
        """
        p, order = self.parameters, route.order
        assert p.weights is not None
        weights = p.scorer.weights
        n, G, (m, K) = len(p.marginals), len(weights), rows.alone.shape[1:]
        said = np.zeros((len(order) + 1, m, G + 1, K))
        alone = self._alone(rows, order)
        more = p.weights.columns[:n][order][:, None, None] * alone + rows.texts[order]
        more += constants[order][:, None]
        said[:, :, G] = p.constant - self.offset + summed(more)
        if G:
            said[:, :, 0] = summed(alone)
        if p.experts is not None:
            unpaired = np.where((route.paired < 0)[:, None, None], alone, 0.0)
            said[:, :, 1:G] = summed(unpaired)[:, :, None]
            self._add_pairs(rows, route, said)
        evidence = said.reshape(-1, (G + 1) * K)
        found = weigh_experts(evidence, weights, p.log_share, LEAST, p.weights.doubt, threads())
        return found.reshape(len(order) + 1, m, K)

    def _add_pairs(self, rows: Evidence, route: Route, said: Array) -> None:
        """Add what experts say that know of pairs."""
        first = np.concatenate([[0], np.cumsum(route.paired >= 0)])  # paired columns so far
        place = route.paired[route.paired >= 0]
        parents, pairs = in_pairs(rows, place)
        said[:, :, BINS] += summed(rows.bins[place])[first]
        said[:, :, PARENTS] += parents[first]
        said[:, :, -1] += pairs[first]
        for i, (own, φ) in enumerate(zip(route.experts, rows.features, strict=True)):
            found = own.scores(φ)[first]
            found *= rows.share[:, None, None]
            said[:, :, [LINEAR + i, CURVED + i]] += found
        if self.parameters.forest is not None:
            said[:, :, TREES] += summed(rows.trees[place])[first]

    def _alone(self, rows: Evidence, order: Order) -> Array:
        """What families add, column by column, (s, m, K); of a block, given those before."""
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


def in_pairs(rows: Evidence, order: Order) -> tuple[Array, Array]:
    """Return the mean over parents, and what pairs say, of the first columns, (s + 1, m, K)."""
    parents = np.zeros((len(order) + 1, *rows.alone.shape[1:]))
    pairs, alone = np.zeros_like(parents), summed(rows.bins[order])
    unknown = rows.parent.sum(axis=0).astype(np.float64)  # parents that are not known yet
    count = np.maximum(unknown, 1.0)[:, None]
    joint = np.where(rows.parent[:, :, None], np.zeros_like(rows.bins), -np.inf)
    for i, j in enumerate(order.tolist(), 1):
        joint += rows.given[:, j]
        unknown -= rows.parent[j]
        pairs[i] = pairs[i - 1] + rows.pairs[order[: i - 1], j].sum(axis=0)
        known = joint[order[:i]]
        largest = np.maximum(known.max(axis=0), alone[i])
        known -= largest
        total = np.exp(known, out=known).sum(axis=0)
        total += unknown[:, None] * np.exp(alone[i] - largest)
        parents[i] = largest + np.log(np.where(total > 0, total, 1.0) / count)
    parents[:, rows.parent.sum(axis=0) == 0] = 0.0
    return parents, pairs


def summed(terms: Array) -> Array:
    """Sums of the first terms (s, …), from none to all of them, (s + 1, …)."""
    sums = np.zeros((len(terms) + 1, *terms.shape[1:]))
    np.cumsum(terms, axis=0, out=sums[1:])
    return sums
