"""Leave-one-out log-likelihoods of Gaussian models, in closed form.

Removing row i of class k, of weight w, from n_k rows moves the mean to μ - w (x - μ) / (n_k - w)
and subtracts w n_k / (n_k - w) (x - μ)(x - μ)ᵀ from the scatter. Rows that these formulas do not
cover (the last row of a class, or a covariance that is singular without the row) get NaN: the
caller then subtracts and solves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genus.arrays import matrix
from genus.arrays.matrix import Codes, Matrix
from genus.families.gaussian.scores import (
    DiagonalParameters,
    FullParameters,
    overall,
    score_diagonal,
    score_full,
)
from genus.solve.normal import LOG_2π
from genus.statistics import Array, Moments, divide


def score_full_without(
    moments: Moments,
    parameters: FullParameters,
    X: Matrix,
    y: Codes,
    w: Array,
    shrinkage: float,
    share: float,
    *,
    unbiased: bool,
) -> Array:
    """Return log p(x|y), (m, K), of each row given the others; full Σ, shared or separate.

    Separate covariances may have a `share` of the scatter within all classes.
    """
    x = matrix.dense_rows(X)
    weights, scatter = moments.weights[:, 0], moments.scatter()
    if parameters.is_shared:
        pooled = scatter if scatter.ndim == 2 else scatter.sum(axis=0)
        return Downdate(pooled, parameters.mean, weights, shrinkage, unbiased).score(x, y, w)
    if share > 0:
        pooled = scatter.sum(axis=0)
        found = [
            Downdate(
                (1 - share) * own + share * pooled,
                parameters.mean,
                weights,
                shrinkage,
                unbiased,
                (k, share),
            ).score(x, y, w)[:, k]
            for k, own in enumerate(scatter)
        ]
        return np.stack(found, axis=1)
    scores = score_full(parameters, x, relative=False)
    for k in range(len(weights)):
        rows = np.flatnonzero(y == k)
        own = Downdate(scatter[k], parameters.mean[[k]], weights[[k]], shrinkage, unbiased)
        scores[rows, k] = own.score(x[rows], np.zeros(len(rows), dtype=np.int64), w[rows])[:, 0]
    return scores


def score_diagonal_without(
    moments: Moments,
    parameters: DiagonalParameters,
    X: Matrix,
    y: Codes,
    w: Array,
    *,
    shared: bool,
    unbiased: bool,
    floor: float,
    prior_rows: float,
) -> Array:
    """Return log p(x|y), (m, K), of each row given the others; variances, shared or separate."""
    weights, mean = moments.weights, moments.mean()
    scatter = moments.variance() * weights
    total = weights.sum(axis=0)
    within = scatter.sum(axis=0)
    centre, total_variance = overall(mean, weights, scatter)
    scores = np.empty((len(y), len(weights))) if shared else score_diagonal(parameters, X)
    # Columns where some class is, or may come to be, at the floor, which moves with every row, and
    # where some class has no value, or too few, and so goes by all classes' values.
    heaviest = w.max(initial=0.0)
    highest_floor = parameters.floor * (
        1 + 1e-9 + divide(heaviest, np.maximum(total - heaviest, 1e-300))
    )
    unknown = weights <= 0
    counts = weights[:, :1] if (weights == weights[:, :1]).all() else weights
    moving = (parameters.raw_variance < highest_floor).any(axis=0) | unknown.any(axis=0)
    moving |= prior_rows > 0

    def score(part: slice) -> None:
        x, k, wi = matrix.dense_rows(X, part), y[part], w[part, None]
        there = ~np.isnan(x)
        full = bool(there.all())
        centres, scatters = mean[k], scatter[k]
        x = x if full else np.where(there, x, centres)
        left = counts[k] - wi
        last = (left <= 0) & there
        left = np.where(left > 0, left, 1.0)
        d = x - centres
        own_mean = centres - wi / left * d
        own_scatter = scatters - wi / left * counts[k] * d * d
        if shared:
            divisor = total - wi - unbiased * np.count_nonzero(weights, axis=0)
            variance = divide(within - scatters + own_scatter, divisor)
        else:
            variance = divide(own_scatter, left - unbiased)
        at = np.flatnonzero(moving | (variance < highest_floor).any(axis=0))
        rest = np.maximum(total[at] - wi, 1e-300)
        least = floor * (within[at] - scatters[:, at] + own_scatter[:, at]) / rest
        known = there[:, at] & (within[at] > 0)
        least = np.where(known, least, parameters.floor[at])
        # All classes' mean and variance without the row, for classes that have no value or few.
        off = np.where(there[:, at], x[:, at] - centre[at], 0.0)
        common_mean = centre[at] - wi / rest * off
        common_variance = (total_variance[at] - wi / rest * off * off) * total[at] / rest
        if prior_rows > 0 and not shared:
            added = own_scatter[:, at] + prior_rows * common_variance
            variance[:, at] = divide(added, (left - unbiased + prior_rows) + np.zeros_like(added))
        variance[:, at] = np.maximum(variance[:, at], least)
        # Where nothing but rounding is left, and where the floor is taken from the variance
        # between classes, it is up to the caller.
        unclear = (own_scatter <= 1e-10 * scatters) & (scatters > 0)
        unclear |= (within <= 0) & (total_variance > 0)
        odd = (last | (unclear & there) | ~(variance > 0)).any(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            for c in range(len(weights)) if shared or len(at) else ():
                new = unknown[c, at]
                mean_c = np.where(new, common_mean, parameters.mean[c, at])
                raw = parameters.raw_variance[c, at]
                if prior_rows > 0 and not shared:
                    divisor = weights[c, at] - unbiased + prior_rows
                    raw = divide(scatter[c, at] + prior_rows * common_variance, divisor)
                variance_c = np.maximum(np.where(new, common_variance, raw), least)
                if shared:
                    means = np.where((k == c)[:, None], own_mean, parameters.mean[c])
                    means[:, at] = np.where(new, mean_c, means[:, at])
                    scores[part, c] = (there * log_normal(x, means, variance)).sum(axis=1)
                else:
                    change = log_normal(x[:, at], mean_c, variance_c)
                    change -= log_normal(
                        x[:, at], parameters.mean[c, at], parameters.variance[c, at]
                    )
                    scores[part, c] += (there[:, at] * change).sum(axis=1)
            if not shared:
                own = log_normal(x, own_mean, variance)
                own = own if full else there * own
                scores[np.arange(part.start, part.stop), k] = own.sum(axis=1)
        scores[part][odd] = np.nan

    def work(parts: Iterator[slice]) -> None:
        for part in parts:
            score(part)

    matrix.in_threads(work, list(matrix.chunks(len(y), X.shape[1])))
    return scores


def log_normal(x: Array, mean: Array, variance: Array) -> Array:
    """Return log N(x; μ, σ²), element by element."""
    return -0.5 * ((x - mean) ** 2 / variance + np.log(variance) + LOG_2π)


class Downdate:
    """log N(x_i; μ, Σ) with μ and Σ of all rows except i, by eigenvectors of the scatter W.

    Without row i of class k: W' = W - c vvᵀ, v = x_i - μ_k, c = w n_k / (n_k - w), and Σ' = a W' +
    b tr(W') I with a = (1 - γ) / divisor', b = γ / (n divisor'). In the basis of W's eigenvectors
    this is a diagonal matrix plus a matrix of rank one. If W is (1 - s) times
    that of class `only[0]` and s = `only[1]` times that of all classes, rows of other classes take
    s c vvᵀ off.
    """

    def __init__(
        self,
        scatter: Array,
        mean: Array,
        weights: Array,
        shrinkage: float,
        unbiased: bool,
        only: tuple[int, float] | None = None,
    ) -> None:
        self.γ, self.unbiased, self.mean, self.weights = shrinkage, unbiased, mean, weights
        self.only = only
        # Without a multiple of I, columns may be put on one scale first.
        scale = np.sqrt(np.diagonal(scatter))
        self.scale = np.where(scale > 0, scale, 1.0) if self.γ == 0 else np.ones(len(scale))
        self.values, vectors = np.linalg.eigh(scatter / self.scale[:, None] / self.scale)
        self.basis = vectors / self.scale[:, None]
        self.centre = mean.mean(axis=0)
        self.projected = (mean - self.centre) @ self.basis

    def score(self, x: Array, k: Codes, w: Array) -> Array:
        scores = np.empty((len(x), len(self.mean)))
        for part in matrix.chunks(len(x), x.shape[1]):
            scores[part] = self._score(x[part], k[part], w[part])
        return scores

    def _score(self, x: Array, k: Codes, w: Array) -> Array:
        n = x.shape[1]
        own = self.weights[k]
        last = own <= w  # the only row of its class: nothing of W is its
        left = np.where(last, 1.0, own - w)
        groups = np.count_nonzero(self.weights) - last
        divisor = self.weights.sum() - w - self.unbiased * groups
        c = np.where(last, 0.0, w * own / left)
        if self.only is not None:
            j, s = self.only
            alone = self.weights[j] - w * (k == j) - self.unbiased
            divisor = (1 - s) * alone + s * divisor
            c = np.where(k == j, c, s * c)
        p = (x - self.centre) @ self.basis
        u = p - self.projected[k]
        with np.errstate(divide="ignore", invalid="ignore"):
            a = (1 - self.γ) / divisor
            trace = self.values.sum() - c * np.einsum("ij,ij->i", u, u)
            D = a[:, None] * self.values + (self.γ / (n * divisor) * trace)[:, None]
            s = a * c
            rest = 1 - s * np.einsum("ij,ij->i", u, u / D)
            log_determinant = np.log(D).sum(axis=1) + np.log(rest) + 2 * np.log(self.scale).sum()
            scores = np.empty((len(x), len(self.mean)))
            for j, mean in enumerate(self.projected):
                # x - μ' of its own class is v n / (n - w).
                mine = (k == j) & ~last
                d = np.where(mine[:, None], u * (own / left)[:, None], p - mean)
                cross = np.einsum("ij,ij->i", d, u / D)
                squared = np.einsum("ij,ij->i", d, d / D) + s * cross * cross / rest
                scores[:, j] = -0.5 * (squared + log_determinant + n * LOG_2π)
        scores[~(rest > 1e-6) | ~(D > 0).all(axis=1)] = np.nan
        return scores
