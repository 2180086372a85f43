"""Compute log N(x; μ_k, Σ_k) of rows, for every form of Σ and with missing values.

Symbols: m rows, n columns, K classes; Σ = D L Lᵀ D as in `genus.solve.normal.Factor`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from genus._kernel import score_gaussian
from genus.arrays import matrix
from genus.arrays.matrix import Matrix, threads
from genus.solve.covariance import Covariance, RowFactor
from genus.solve.normal import Factor, LOG_2π, SingularCovarianceError
from genus.statistics import Array, divide, freeze


@dataclass(frozen=True, eq=False)
class Form:
    """The chosen form of Σ.

    `shared` is the share of the pooled scatter in the scatter of each class: 1 is one Σ for all
    classes, 0 a separate Σ for each. `shrinkage` is a number or "oas"; with a number, Σ is shrunk
    after its columns are divided by `scale` (n,). `least` (n,) is the variance assumed for columns
    that have none within classes, and zero for all others. `loss` is the mean log loss of rows that
    were left out, and `rows` how many there were.
    """

    shared: float
    diagonal: bool
    shrinkage: float | str | None
    scale: Array
    least: Array
    loss: float
    rows: int


@dataclass(frozen=True, eq=False)
class DiagonalParameters:
    """Means and variances, (K, n) each.

    `floor` (n,) is the smallest allowed variance, and `raw_variance` (K, n) the variances before it
    was applied. `form` is the form of Σ that was chosen, or None.
    """

    mean: Array
    variance: Array
    raw_variance: Array
    floor: Array
    form: Form | None = None

    @cached_property
    def log_normaliser(self) -> Array:
        """-½ log 2πσ², (K, n)."""
        return freeze(-0.5 * (LOG_2π + np.log(self.variance)))

    @cached_property
    def scorer(self) -> tuple[Array, Array, Array]:
        """The precisions 1/σ² and ½ log 2πσ², (K, n) each, and the constant of each class, (K,)."""
        normaliser = self.log_normaliser
        return freeze((1 / self.variance, -normaliser, normaliser.sum(axis=1)))


@dataclass(frozen=True, eq=False)
class FullParameters:
    """Means (K, n), one Σ or one for each class, their factors, and the shrinkage used for each.

    `centre` (n,) is the mean of all complete rows. `singular` is the error that shrinking avoided,
    if Σ was singular, and `form` the form of Σ that was chosen, or None.
    """

    mean: Array
    is_shared: bool
    covariances: tuple[Covariance, ...]
    factors: tuple[Factor | RowFactor, ...]
    shrinkage: Array
    centre: Array
    singular: SingularCovarianceError | None = None
    form: Form | None = None

    @property
    def covariance(self) -> Array:
        """Σ (n, n), or one for each class (K, n, n)."""
        if self.is_shared:
            return self.covariances[0].matrix
        return np.stack([covariance.matrix for covariance in self.covariances])

    def factor(self, k: int) -> Factor | RowFactor:
        return self.factors[0 if self.is_shared else k]

    @cached_property
    def scorer(self) -> SharedScorer | SeparateScorer | RowScorer:
        """The scorer of complete rows; it is made once, because it inverts the factors."""
        if self.is_shared:
            return SharedScorer(self)
        if all(isinstance(factor, Factor) for factor in self.factors):
            return SeparateScorer(self)
        return RowScorer(self)


Parameters = DiagonalParameters | FullParameters


def score_diagonal(parameters: DiagonalParameters, X: Matrix) -> Array:
    """Return log p(x|y), (m, K); a missing value and its normaliser are left out."""
    precision, normaliser, constant = parameters.scorer
    scores = score_gaussian(X, parameters.mean, precision, normaliser, threads())
    scores += constant
    return scores


def score_full(parameters: FullParameters, X: Matrix, relative: bool) -> Array:
    """Return log p(x|y), (m, K), by chunks; rows with missing values get their marginal."""
    scores = np.empty((len(X), len(parameters.mean)))
    scorer = parameters.scorer

    def work(parts: Iterator[slice]) -> None:
        for part in parts:
            x = matrix.dense_rows(X, part)
            scores[part] = scorer.score(x, relative)
            holes = np.isnan(scores[part]).any(axis=1)
            if holes.any():
                scores[part][holes] = score_marginal(parameters, x[holes])

    matrix.in_threads(work, list(matrix.chunks(len(X), scorer.width)))
    return scores


def overall(mean: Array, weights: Array, scatter: Array) -> tuple[Array, Array]:
    """Return the mean and variance of each column over all classes, (n,) each."""
    total = weights.sum(axis=0)
    centre = divide((weights * mean).sum(axis=0), total)
    between = (weights * (mean - centre) ** 2).sum(axis=0)
    # If means are equal, the scatter between classes is only rounding.
    between = np.where(between <= 1e-28 * total * centre**2, 0.0, between)
    return centre, divide(scatter.sum(axis=0) + between, total)


def patterns(x: Array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Yield groups of rows that lack the same columns, with the columns that are present."""
    there = ~np.isnan(x)
    distinct, which = np.unique(there, axis=0, return_inverse=True)
    for i, mask in enumerate(distinct):
        yield np.flatnonzero(which.ravel() == i), mask


def marginal(parameters: FullParameters, k: int, there: NDArray[np.bool_]) -> Factor | RowFactor:
    """Return the factor of class k's covariance for the columns that are present."""
    if there.all():
        return parameters.factor(k)
    return parameters.covariances[0 if parameters.is_shared else k].of_columns(there).factor()


def score_marginal(parameters: FullParameters, x: Array) -> Array:
    """Return the marginal log p of the values that are present in each row, (m, K)."""
    scores = np.empty((len(x), len(parameters.mean)))
    for rows, there in patterns(x):
        for k, mean in enumerate(parameters.mean):
            if k == 0 or not parameters.is_shared:
                factor = marginal(parameters, k, there)
            white = factor.whiten(x[np.ix_(rows, there)] - mean[there])
            squared = np.einsum("nm,nm->m", white, white)
            scores[rows, k] = -0.5 * (squared + factor.log_determinant + there.sum() * LOG_2π)
    return scores


class SharedScorer:
    """Scores log N(x; μ_k, Σ) for one Σ of all classes.

    With a centre c, w = L⁻¹D⁻¹(x - c) and w_k = L⁻¹D⁻¹(μ_k - c), the squared distance is
    |w - w_k|², and -½|w - w_k|² = w·w_k - ½|w_k|² - ½|w|².
    """

    def __init__(self, parameters: FullParameters) -> None:
        self.factor = factor = parameters.factors[0]
        self.centre = parameters.centre
        self.width = len(self.centre)
        white = factor.whiten(parameters.mean - self.centre)
        self.means = white.T  # w_k, (K, n)
        self.coefficients = factor.unwhiten(white).T
        self.constant = -0.5 * np.einsum("kj,kj->k", self.means, self.means)
        self.normaliser = -0.5 * (factor.log_determinant + len(self.centre) * LOG_2π)
        # If means are very far apart in units of Σ, rounding hides differences: subtract first.
        self.is_wide = bool((self.constant < -1e6).any())

    def score(self, x: Array, relative: bool) -> Array:
        z = x - self.centre
        if relative and not self.is_wide:
            return z @ self.coefficients + self.constant
        w = z @ self.factor.inverse if isinstance(self.factor, Factor) else self.factor.whiten(z).T
        if not self.is_wide:
            own = np.einsum("mj,mj->m", w, w)[:, None]
            return w @ self.means.T + self.constant - 0.5 * own + self.normaliser
        scores = np.empty((len(x), len(self.means)))
        for k, mean in enumerate(self.means):
            d = w - mean
            scores[:, k] = self.normaliser - 0.5 * np.einsum("mj,mj->m", d, d)
        return scores


class RowScorer:
    """Scores log N(x; μ_k, Σ_k) class by class, for classes with fewer rows than columns."""

    def __init__(self, parameters: FullParameters) -> None:
        self.parameters = parameters
        self.width = parameters.mean.shape[1]
        self.is_wide = True  # means are always subtracted from rows first

    def score(self, x: Array, relative: bool) -> Array:
        scores = np.empty((len(x), len(self.parameters.mean)))
        for k, mean in enumerate(self.parameters.mean):
            factor = self.parameters.factor(k)
            w = factor.whiten(x - mean)
            normaliser = factor.log_determinant + self.width * LOG_2π
            scores[:, k] = -0.5 * (np.einsum("jm,jm->m", w, w) + normaliser)
        return scores


class SeparateScorer:
    """Scores log N(x; μ_k, Σ_k) by triangular products, for all classes at once.

    With a centre c, z = x - c and T_k = D⁻¹ L⁻ᵀ (upper triangular), the squared distance from the
    mean of class k is |z T_k - (μ_k - c) T_k|². Column j of T_k needs only the first j entries of
    z, so columns are computed in blocks, for all classes together.
    """

    BLOCKS = 4

    def __init__(self, parameters: FullParameters) -> None:
        K, n = parameters.mean.shape
        self.width = max(n, K * n // 4)  # numbers of work space for each row
        self.centre = parameters.centre
        self.mean = parameters.mean
        self.whiten = np.stack([factor.inverse for factor in parameters.factors])  # (K, n, n)
        offset = np.einsum("kj,kjl->kl", self.mean - self.centre, self.whiten)
        self.normaliser = np.array(
            [-0.5 * (factor.log_determinant + n * LOG_2π) for factor in parameters.factors]
        )
        # If means are very far apart in units of Σ, rounding hides differences: subtract first.
        self.is_wide = bool((np.einsum("kj,kj->k", offset, offset) > 1e6).any())
        # The offset is the weight of a first column of ones.
        edges = np.linspace(0, n, min(self.BLOCKS, n) + 1).astype(int)
        self.blocks = [
            np.vstack(
                [
                    -offset[:, start:end].reshape(1, -1),
                    np.concatenate([T[:end, start:end] for T in self.whiten], axis=1),
                ]
            )
            for start, end in pairwise(edges)
        ]

    def score(self, x: Array, relative: bool) -> Array:
        K = len(self.mean)
        scores = np.zeros((len(x), K))
        if self.is_wide:
            for k, (mean, whiten) in enumerate(zip(self.mean, self.whiten, strict=True)):
                w = (x - mean) @ whiten
                scores[:, k] = np.einsum("mj,mj->m", w, w)
        else:
            z = np.empty((len(x), 1 + x.shape[1]))
            z[:, 0] = 1.0
            np.subtract(x, self.centre, out=z[:, 1:])
            for block in self.blocks:
                w = (z[:, : len(block)] @ block).reshape(len(x), K, -1)
                scores += np.einsum("mkj,mkj->mk", w, w)
        return self.normaliser - 0.5 * scores
