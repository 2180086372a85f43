"""The experts of a table that are solved from counts of pairs.

Each expert sees a row as its cells, one for each column. So each is a table of scores, by one cell
or by two.

    naive    Σ_j log p(x_j|k)
    parents  log of the mean over i of p(x_i|k) Π_j p(x_j|x_i,k)   (AODE; Webb et al. 2005)
    linear   Gaussian with one Σ, over scores and indicators of cells
    curved   Gaussian with Σ_k shrunk towards one Σ, as a Student t

Symbols: m rows, n columns, K classes, V slots, B bins, d features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.sparse import block_diag, coo_array, csr_array

from genus._kernel import average_parents, sum_pairs
from genus.arrays.labels import Axis
from genus.arrays.matrix import ONE_BLAS_THREAD, threads
from genus.solve.normal import solve_lower
from genus.statistics import Array, Pairs
from genus.table.model.binning import Binned

NAMES = ("bins", "one-dependence", "linear", "linear, by bins", "curved", "curved, by bins")
Cells = NDArray[np.uint16]  # (n, m): the slot of each column
BACK_OFF = 1.0  # rows of the prior, which is the pooled share, or the share without the parent
RIDGE = 40.0  # of a covariance, divided by the number of rows
OWN, OWN_OF_BINS = 20.0, 30.0  # rows as which the pooled covariance counts in that of a class
LEAST = -30.0  # experts' log-probabilities are cut off here
TINY = 1e-9
DRAWN = 1.0  # rows by which a class mean is shrunk towards the pooled mean


@dataclass(frozen=True)
class Shrinkage:
    """How strongly the covariances of experts are shrunk; model files store it with the weights.

    `ridge`, divided by the number of rows, is added to the pooled covariance. In the covariance of
    a class, the pooled one counts as `own` rows, or as `own_of_bins` if there are indicators of all
    bins.
    """

    ridge: float
    own: float
    own_of_bins: float


def usual_shrinkage() -> Shrinkage:
    """Return the shrinkage for newly fitted models."""
    return Shrinkage(RIDGE, OWN, OWN_OF_BINS)


class Expert(Protocol):
    """A model that scores rows by log p(x|k), up to a term that is the same for all classes."""

    @property
    def name(self) -> str: ...

    def score(self, cells: Cells) -> Array:
        """Return the scores, (m, K)."""


@dataclass(frozen=True, eq=False)
class Additive:
    """The expert Σ_j table[cell_j] + constant; the table is (V + 1, K)."""

    name: str
    table: Array
    constant: Array

    def score(self, cells: Cells) -> Array:
        total = np.tile(self.constant, (cells.shape[1], 1))
        for own in cells:
            total += self.table[own]
        return total


@dataclass(frozen=True, eq=False)
class Parents:
    """The expert that averages p(x_i|k) Π_j p(x_j|x_i,k) over i; the table is (B + 1, B + 1, K)."""

    name: str
    bin_of: NDArray[np.uint16]
    table: Array
    is_parent: NDArray[np.bool_]

    def score(self, cells: Cells) -> Array:
        return average_parents(self.bin_of[cells], self.table, self.is_parent, threads())


@dataclass(frozen=True, eq=False)
class Curved:
    """The curved experts as one table: δ_k = offset_k + Σ_{i<=j} table[cell_i, cell_j].

    Each is a Student t distribution by class, and their classes follow one after another:
    log p(x|k) = constant_k - ½ (ν_k + d_k) log(1 + δ_k / ν_k), with ν_k degrees of `freedom` and
    d_k `features`. δ_k is a squared distance from the class mean.
    """

    name: str
    table: Array
    offset: Array
    freedom: Array
    constant: Array
    features: Array

    def score(self, cells: Cells) -> Array:
        return self.constant + self._bend(self.offset + sum_pairs(cells, self.table, threads()))

    def _bend(self, δ: Array) -> Array:
        return -0.5 * (self.freedom + self.features) * np.log1p(np.maximum(δ, 0) / self.freedom)


@dataclass(frozen=True, eq=False)
class Student:
    """One curved expert without the table of `Curved`, for scoring the rows of one fold.

    Making the table would take longer than the scoring. With Σ = LLᵀ, the squared distance is
    δ_k = |L⁻¹(φ - μ)|² / width. In Σ, the pooled covariance counts as `prior` rows.
    """

    name: str
    of: Features
    prior: float

    def score(self, cells: Cells) -> Array:
        of, φ = self.of, self.of.of_rows(cells)
        ν, d = of.weights + self.prior, φ.shape[1]
        scores = np.zeros((len(φ), len(ν)))
        for k, μ in enumerate(of.means if d else ()):
            L = factorised(of.covariance(k, self.prior))[0]
            δ = np.square(solve_lower(L, (φ - μ).T)).sum(axis=0) / of.width[k]
            scores[:, k] = t_constant(ν[k], L) - 0.5 * (ν[k] + d) * np.log1p(δ / ν[k])
        return scores


@dataclass(frozen=True, eq=False)
class Informed:
    """An expert whose score is multiplied by the share of columns that carry evidence.

    In a normal distribution, a value without evidence counts as the mean, which is close to the
    class in the middle. Without this factor, a row with few known values would be assigned to that
    class.
    """

    expert: Expert
    known: NDArray[np.bool_]  # of slots, (V + 1,)

    @property
    def name(self) -> str:
        return self.expert.name

    def score(self, cells: Cells) -> Array:
        return self.expert.score(cells) * self._share(cells)[:, None]

    def _share(self, cells: Cells) -> Array:
        return np.asarray(self.known[cells].mean(axis=0))


@dataclass(frozen=True, eq=False)
class Experts:
    """All experts that are solved from counts of pairs.

    Each of the two sets of `features` has a linear and a curved expert; `priors` are the weights of
    the pooled covariance in the curved ones. `known` (V + 1,) marks the slots that carry evidence.
    """

    bins: Additive
    parents: Parents
    linear: tuple[Additive, Additive]
    features: tuple[Features, Features]
    priors: tuple[float, float]
    known: NDArray[np.bool_]

    @cached_property
    def curved(self) -> Curved:
        """The two curved experts as one with 2K classes: those of the first, then of the second."""
        with ONE_BLAS_THREAD:
            return curved(self.features, self.priors)

    @cached_property
    def listed(self) -> tuple[Expert, ...]:
        """The experts one by one, in the order of NAMES."""
        own = zip(NAMES[4:], self.features, self.priors, strict=True)
        gaussian: list[Expert] = [*self.linear, *(Student(*each) for each in own)]
        return (self.bins, self.parents, *(Informed(expert, self.known) for expert in gaussian))


# Solving


def solve(
    binned: Binned,
    counted: Pairs,
    classes: Axis,
    cell_means: Sequence[Array | None],
    shrinkage: Shrinkage,
) -> Experts:
    """Solve all experts from the counts of pairs, by cell (`counted`) and by bin (`binned`)."""
    blocks = [column_features(binned, counted, cell_means, every) for every in (False, True)]
    counts = counted.align(classes)
    few, every = (Features.of(own, counts, shrinkage.ridge) for own in blocks)
    shares = log_shares(binned)
    return Experts(
        Additive(NAMES[0], shares[binned.bin_of], np.zeros(len(classes))),
        parents(binned, shares),
        (linear(NAMES[2], few), linear(NAMES[3], every)),
        (few, every),
        (shrinkage.own, shrinkage.own_of_bins),
        binned.bin_of < binned.size,
    )


def log_shares(binned: Binned) -> Array:
    """Return log p(bin|k), (B + 1, K), shrunk towards the pooled share; the last row is zero."""
    counts = binned.single
    n, column = binned.columns, binned.column
    of_column = np.zeros((n, len(counts)))
    np.add.at(of_column, column, counts.T)
    size = np.bincount(column, minlength=n)
    total = counts.sum(axis=0)
    base = (total + 0.5) / (of_column.sum(axis=1) + 0.5 * size)[column]
    p = (counts.T + BACK_OFF * base[:, None]) / (of_column[column] + BACK_OFF)
    return np.vstack([np.log(p), np.zeros(len(counts))])


def parents(binned: Binned, shares: Array) -> Parents:
    """Solve the expert of parents: the table of log p(v|u,k) for bins v and u of two columns.

    p(v|u,k) is shrunk towards p(v|k), whose logarithms are `shares`. The diagonal of the table is
    log p(u|k).
    """
    B, K = binned.size, len(binned.weights)
    given = binned.pairs.transpose(1, 2, 0) + BACK_OFF * np.exp(shares[:B])
    given /= binned.single.T[:, None] + BACK_OFF
    table = np.zeros((B + 1, B + 1, K))
    table[:B, :B] = np.log(given)
    same = binned.column[:, None] == binned.column
    table[:B, :B][same] = 0.0
    at = np.arange(B)
    table[at, at] = shares[:B]
    is_parent = np.bincount(binned.column, minlength=binned.columns) > 1
    return Parents(NAMES[1], binned.bin_of.astype(np.uint16), table, is_parent)


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the cells, `table` (V + 1, d), and the moments of the rows' features.

    The table is sparse, because a cell has only the features of its own column. The features of a
    row are the sum of those of its cells. Their moments are the `weights` of the classes (K,), the
    class `means` (K, d) shrunk towards the pooled mean, the `scatter` (K, d, d) about the class
    means, and the `pooled` covariance (d, d). `column` (d,) is the column of each feature.
    """

    table: csr_array
    weights: Array
    means: Array
    scatter: Array
    pooled: Array
    column: NDArray[np.intp]
    ridge: float

    @classmethod
    def of(cls, blocks: Sequence[Array], counts: Array, ridge: float) -> Features:
        """Compute the moments from each column's features, and counts (K, V, V) of pairs of cells.

        They follow from Σφ and Σφφᵀ, where φ = Σ_j table[cell_j] are the features of a row.
        """
        nothing = np.zeros((1, 0))  # for the slot of unknown values
        table = csr_array(block_diag([coo_array(one) for one in (*blocks, nothing)], format="csr"))
        column = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
        φT = table[:-1].T.tocsr()
        weights = np.einsum("kvv->k", counts) / max(len(blocks), 1)
        single = np.einsum("kvv->kv", counts)
        sums = (φT @ single.T).T
        there = (weights > TINY * weights.max(initial=0.0))[:, None]  # the rest is rounding error
        own = np.divide(sums, weights[:, None], out=np.zeros_like(sums), where=there)
        scatter = np.stack([φT @ (φT @ c).T for c in counts])
        scatter -= weights[:, None, None] * own[:, :, None] * own[:, None]
        freedom = max(weights.sum() - np.count_nonzero(weights), 1.0)
        centre = sums.sum(axis=0) / max(weights.sum(), 1e-300)
        means = (sums + DRAWN * centre) / (weights + DRAWN)[:, None]
        pooled = scatter.sum(axis=0) / freedom
        return cls(table, weights, means, scatter, pooled, column, ridge)

    @property
    def ridged(self) -> Array:
        """The pooled covariance with a ridge."""
        d = len(self.pooled)
        return self.pooled + self.ridge / max(self.weights.sum(), 1.0) * np.eye(d)

    def of_rows(self, cells: Cells) -> Array:
        """Return φ = Σ_j table[cell_j] for each row, (m, d)."""
        n, m = cells.shape
        at = np.ascontiguousarray(cells.T).reshape(-1).astype(np.int32)
        own = csr_array((np.ones(n * m), at, np.arange(m + 1) * n), (m, self.table.shape[0]))
        return np.asarray((own @ self.table).toarray())

    def covariance(self, k: int, prior: float) -> Array:
        """Return the covariance of class k, shrunk towards the pooled one by `prior` rows."""
        Σ = (self.scatter[k] + prior * self.ridged) / (self.weights[k] + prior)
        Σ[np.diag_indices(len(Σ))] += TINY
        return Σ

    @property
    def width(self) -> Array:
        """The divisor of squared distances, (K,), which allows for errors in the means."""
        return 1 + 1 / (self.weights + DRAWN)


def linear(name: str, features: Features) -> Additive:
    """Solve the linear expert: xᵀΣ⁻¹μ_k - ½ μ_kᵀΣ⁻¹μ_k."""
    slope = cho_solve(factorised(features.ridged), features.means.T)
    constant = -0.5 * np.einsum("kd,dk->k", features.means, slope)
    return Additive(name, features.table @ slope, constant)


def factorised(Σ: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor of a covariance; add a ridge if rounding made it indefinite."""
    try:
        return cho_factor(Σ, lower=True)
    except LinAlgError:
        values = np.linalg.eigvalsh(Σ)
        more = TINY * max(values[-1], TINY) - values[0]
        return cho_factor(Σ + more * np.eye(len(Σ)), lower=True)


def inverse(factor: tuple[Array, bool]) -> Array:
    """Return Σ⁻¹ from the Cholesky factor of Σ."""
    if not len(factor[0]):  # LAPACK refuses a matrix without rows
        return factor[0]
    below, _ = dpotri(factor[0], lower=1)
    strict = np.tril(below, -1)
    return strict + strict.T + np.diag(np.diag(below))


def curved(all_features: Sequence[Features], priors: Sequence[float]) -> Curved:
    """Solve one curved expert for each set of features; return them as one expert.

    They share a table, so that one lookup of two cells serves all of them. The classes of the
    experts follow one after another.
    """
    V, K = all_features[0].table.shape[0], len(all_features[0].weights)
    table = np.empty((V, V, K * len(all_features)))
    parts = np.split(table, len(all_features), axis=2)
    found = [bent(*each) for each in zip(all_features, priors, parts, strict=True)]
    return Curved("curved", table, *map(np.concatenate, zip(*found, strict=True)))


def bent(features: Features, prior: float, table: Array) -> tuple[Array, Array, Array, Array]:
    """Return offset, ν, constant and d of `Curved`, and write its `table` (V + 1, V + 1, K).

    The features of a row are φ = Σ_i a_i, the sum of the features of its cells. With the mean μ and
    the inverse covariance P of a class, in which the pooled covariance counts as `prior` rows,
    δ = (φ - μ)ᵀP(φ - μ) / width, and (φ - μ)ᵀP(φ - μ) = Σ_ij a_iᵀPa_j - 2 Σ_i a_iᵀPμ + μᵀPμ.
    """
    a, (V, d) = features.table, features.table.shape
    K = len(features.weights)
    offset, constant = np.empty(K), np.empty(K)
    ν = features.weights + prior
    width = features.width
    diagonal = np.diag_indices(V)
    products = np.empty((K, V, V))
    for k, own in enumerate(products):
        factor = factorised(features.covariance(k, prior))
        P = inverse(factor)
        own[:] = a @ (a @ P).T
        drawn = P @ features.means[k]
        alone = np.diag(own) - 2 * a @ drawn
        own *= 2 / width[k]
        own[diagonal] = alone / width[k]
        offset[k] = features.means[k] @ drawn / width[k]
        constant[k] = t_constant(ν[k], factor[0])
    table[:] = products.transpose(1, 2, 0)  # six times as fast as class by class
    return offset, ν, constant, np.full(K, float(d))


def t_constant(ν: float, L: Array) -> float:
    """Return the constant of a Student t distribution with ν degrees of freedom and Σ = LLᵀ."""
    d = len(L)
    constant = lgamma((ν + d) / 2) - lgamma(ν / 2) - 0.5 * d * np.log(ν)
    return float(constant - np.log(np.diag(L)).sum())


def column_features(
    binned: Binned, counted: Pairs, cell_means: Sequence[Array | None], every_bin: bool
) -> list[Array]:
    """Return features of each column's slots: the mean, the normal score and indicators.

    Each column has an array (its slots, its features). `cell_means` are the means of the cells of
    columns of numbers, None for categories. Unless `every_bin`, the only indicator of a number is
    whether it is missing. The features of a column have mean zero, and are zero where the value is
    unknown.
    """
    starts = counted.starts
    single = np.einsum("kvv->v", counted.counts)
    blocks = []
    for j, means in enumerate(cell_means):
        start, end = int(starts[j]), int(starts[j + 1])
        weight, slots = single[start:end], np.arange(start, end)
        own: list[Array] = []
        if means is not None and end - start > 1:
            own += [standard(means, weight[1:]), standard(normal_scores(weight[1:]), weight[1:])]
            own = [np.concatenate([[0.0], values]) for values in own]
        bins = binned.bin_of[slots]
        here = np.unique(bins[bins < binned.size])
        if means is not None and not every_bin:
            here = here[binned.is_missing[here]]
        indicators = (bins[:, None] == here).astype(np.float64)
        total = max(weight.sum(), 1e-300)
        indicators -= weight @ indicators / total
        indicators[bins == binned.size] = 0.0
        blocks.append(np.column_stack([*own, indicators]) if own else indicators)
    return blocks


def standard(values: Array, weight: Array) -> Array:
    """Standardise values of cells to mean 0 and variance 1 over the rows."""
    total = max(weight.sum(), 1e-300)
    centred = values - weight @ values / total
    spread = np.sqrt(weight @ centred**2 / total)
    return centred / spread if spread > TINY else np.zeros_like(centred)


def normal_scores(weight: Array) -> Array:
    """Return the normal quantile of the middle rank of each cell."""
    middle = (np.cumsum(weight) - weight / 2 + 0.25) / (weight.sum() + 0.5)
    inverse = NormalDist().inv_cdf
    return np.array([inverse(p) for p in np.clip(middle, 1e-4, 1 - 1e-4).tolist()])
