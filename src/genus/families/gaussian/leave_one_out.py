"""Compute leave-one-out log-likelihoods of Gaussian models in closed form.

Removing row i of class k, of weight w, from n_k rows moves the mean to μ - w (x - μ) / (n_k - w)
and subtracts w n_k / (n_k - w) (x - μ)(x - μ)ᵀ from the scatter. Rows that these formulas do not
cover (the last row of a class, or a covariance that is singular without the row) get NaN: the
caller then subtracts the row and solves again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genus.arrays import matrix
from genus.arrays.matrix import Codes, Matrix
from genus.families.gaussian.scores import (
    DiagonalParameters,
    FullParameters,
    overall,
    score_diagonal,
)
from genus.solve.normal import LOG_2π
from genus.statistics import Array, Moments, Points, divide


def score_full_without(
    statistics: Moments | Points,
    parameters: FullParameters,
    X: Matrix,
    y: Codes,
    w: Array,
    shrinkage: float,
    share: float,
    *,
    unbiased: bool,
    scale: Array | None = None,
) -> Array:
    """Return log p(x|y), (m, K), of rows by models of all other rows, with a full Σ.

    Σ is shared or separate. A separate Σ may include a `share` of the scatter within all classes.
    With a `scale` (n,), columns are divided by it before Σ is shrunk.
    """
    shared = 1.0 if parameters.is_shared else share
    x, γ = matrix.dense_rows(X), (shrinkage,)
    return score_shares_without(statistics, x, y, w, shared, γ, scale, unbiased=unbiased)[0]


def score_shares_without(
    statistics: Moments | Points,
    x: Array,
    y: Codes,
    w: Array,
    share: float,
    shrinkages: tuple[float, ...],
    scale: Array | None = None,
    *,
    unbiased: bool,
) -> Array:
    """Return log p(x|y), (shrinkages, m, K), of rows by models of all other rows, with a full Σ.

    The Σ of each class includes a `share` of the scatter within all classes; with a share of 1, all
    classes have one Σ.
    """
    mean, weights = statistics.mean(), statistics.weights[:, 0]
    mean[weights <= 0] = weights @ mean / weights.sum()
    scatter = None if isinstance(statistics, Points) else statistics.scatter()
    if not any(shrinkages):
        scale = None  # without a multiple of I, the scale of columns does not matter
    elif scale is None:
        scale = np.ones(mean.shape[1])
    if share == 1:
        principal = Principal.of(statistics, scatter, None, 1.0, scale)
        return Downdate(principal, mean, weights, shrinkages, unbiased).score(x, y, w)
    scores = np.full((len(shrinkages), *x.shape[:1], len(weights)), np.nan)
    for k in np.flatnonzero(weights > 0).tolist():
        principal = Principal.of(statistics, scatter, k, share, scale)
        only = Downdate(principal, mean, weights, shrinkages, unbiased, (k, share))
        scores[:, :, k] = only.score(x, y, w)[:, :, 0]
    return scores


def score_variances_without(
    statistics: Moments | Points, x: Array, y: Codes, w: Array, share: float, *, unbiased: bool
) -> Array:
    """Return log p(x|y), (m, K), of rows by models of all other rows, with a diagonal Σ.

    The variances of each class include a `share` of the scatter within all classes. If some
    variance is zero without a row, that row gets NaN.
    """
    mean, weights = statistics.mean(), statistics.weights[:, 0]
    spread = np.broadcast_to(statistics.variance(), mean.shape) * weights[:, None]
    within, groups = spread.sum(axis=0), np.count_nonzero(weights)
    own = weights[y]
    last = own <= w
    left = np.where(last, 1.0, own - w)
    d = x - mean[y]
    gone = np.where(last, 0.0, w * own / left)[:, None] * d * d
    together = weights.sum() - w - unbiased * (groups - last)
    scores = np.empty((len(x), len(weights)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k, centre in enumerate(mean):
            mine = y == k
            alone = weights[k] - w * mine - float(unbiased)
            divisor = (1 - share) * alone + share * together
            taken = np.where(mine, 1.0, share)[:, None] * gone
            variance = ((1 - share) * spread[k] + share * within - taken) / divisor[:, None]
            variance[variance <= 1e-10 * within / weights.sum()] = np.nan
            moved = (mine & ~last)[:, None]
            shifted = np.where(moved, d * (own / left)[:, None], x - centre)
            terms = shifted**2 / variance + np.log(variance) + LOG_2π
            scores[:, k] = -0.5 * terms.sum(axis=1)
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
    """Return log p(x|y), (m, K), of rows by models of all other rows.

    Σ is diagonal, shared or separate.
    """
    weights, mean = moments.weights, moments.mean()
    scatter = moments.variance() * weights
    total = weights.sum(axis=0)
    within = scatter.sum(axis=0)
    centre, total_variance = overall(mean, weights, scatter)
    scores = np.empty((len(y), len(weights))) if shared else score_diagonal(parameters, X)
    # Columns in which some class is at the floor or may reach it (the floor changes with every
    # row), and columns in which some class has no or few values and so uses those of all classes.
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
        # The mean and variance of all classes without the row, for classes with no or few values.
        off = np.where(there[:, at], x[:, at] - centre[at], 0.0)
        common_mean = centre[at] - wi / rest * off
        common_variance = (total_variance[at] - wi / rest * off * off) * total[at] / rest
        if prior_rows > 0 and not shared:
            added = own_scatter[:, at] + prior_rows * common_variance
            variance[:, at] = divide(added, (left - unbiased + prior_rows) + np.zeros_like(added))
        variance[:, at] = np.maximum(variance[:, at], least)
        # The caller handles rows that leave only rounding errors, and columns whose floor is a
        # share of the variance between classes.
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


@dataclass(frozen=True, eq=False)
class Principal:
    """The scatter W = Σ_j λ_j v_j v_jᵀ in units of `scale` (n,).

    `values` are λ, (q,), and `basis` is v_j / scale, (n, q). If rows are kept, q may be less than
    n; then λ is zero in all other directions.
    """

    values: Array
    basis: Array
    scale: Array

    @classmethod
    def of(
        cls,
        statistics: Moments | Points,
        scatter: Array | None,
        k: int | None,
        share: float,
        scale: Array | None,
    ) -> Principal:
        """Return the principal axes of the pooled scatter, or of class k's scatter.

        A `share` of the pooled scatter is mixed into the scatter of class k. `scatter` is that of
        the sums, or None if `statistics` are rows. Without a `scale`, the roots of the diagonal of
        the scatter are used.
        """
        if isinstance(statistics, Points):
            rows = statistics.spread(k)
            if k is not None and share > 0:
                both = np.sqrt(1 - share) * rows, np.sqrt(share) * statistics.spread(None)
                rows = np.concatenate(both)
            scale = positive(np.sqrt(np.einsum("ij,ij->j", rows, rows))) if scale is None else scale
            _, roots, vectors = np.linalg.svd(rows / scale, full_matrices=False)
            return cls(roots**2, vectors.T / scale[:, None], scale)
        assert scatter is not None
        pooled = scatter if scatter.ndim == 2 else scatter.sum(axis=0)
        own = pooled if k is None else (1 - share) * scatter[k] + share * pooled
        scale = positive(np.sqrt(np.diagonal(own))) if scale is None else scale
        values, vectors = np.linalg.eigh(own / scale[:, None] / scale)
        return cls(values, vectors / scale[:, None], scale)


def positive(scale: Array) -> Array:
    """Return the scale, with 1 for constant columns."""
    return np.where(scale > 0, scale, 1.0)


class Downdate:
    """Scores log N(x_i; μ', Σ') of each row i, with μ' and Σ' estimated from all other rows.

    Without row i of class k and weight w, the scatter W becomes W' = W - c vvᵀ, v = x_i - μ_k,
    c = w n_k / (n_k - w), where n_k is the weight of the class. In units of a scale,
    Σ' = a W' + b tr(W') I, a = (1 - γ) / divisor', b = γ / (n divisor'). In the basis of W's
    eigenvectors this is a diagonal matrix plus a matrix of rank one.

    With `only` = (j, s), only class j is scored, and W is (1 - s) times the scatter of class j plus
    s times that of all classes. Then leaving out a row of another class subtracts s c vvᵀ.
    """

    def __init__(
        self,
        principal: Principal,
        mean: Array,
        weights: Array,
        shrinkages: tuple[float, ...],
        unbiased: bool,
        only: tuple[int, float] | None = None,
    ) -> None:
        self.shrinkages, self.unbiased, self.weights = shrinkages, unbiased, weights
        self.only, self.principal = only, principal
        self.scored = list(range(len(mean))) if only is None else [only[0]]
        self.centre = mean.mean(axis=0)
        self.mean = (mean - self.centre) / principal.scale
        self.projected = (mean - self.centre) @ principal.basis

    def score(self, x: Array, k: Codes, w: Array) -> Array:
        """Return the scores, (shrinkages, m, scored classes)."""
        scores = np.empty((len(self.shrinkages), len(x), len(self.scored)))
        for part in matrix.chunks(len(x), x.shape[1]):
            scores[:, part] = self._score(x[part], k[part], w[part])
        return scores

    def _score(self, x: Array, k: Codes, w: Array) -> Array:
        n, q = self.principal.basis.shape
        own = self.weights[k]
        last = own <= w  # the only row of its class: it adds nothing to W
        left = np.where(last, 1.0, own - w)
        groups = np.count_nonzero(self.weights) - last
        divisor = self.weights.sum() - w - self.unbiased * groups
        c = np.where(last, 0.0, w * own / left)
        if self.only is not None:
            j, s = self.only
            alone = self.weights[j] - w * (k == j) - self.unbiased
            divisor = (1 - s) * alone + s * divisor
            c = np.where(k == j, c, s * c)
        z = (x - self.centre) / self.principal.scale
        p = (x - self.centre) @ self.principal.basis
        u = p - self.projected[k]
        v = z - self.mean[k]
        length = dots(u, u)
        beyond = dots(v, v) - length if q < n else np.zeros(len(x))  # outside the basis
        distances = []
        for j in self.scored:
            # x - μ' of its own class is v n / (n - w).
            mine = (k == j) & ~last
            grown = (own / left)[:, None]
            d = np.where(mine[:, None], u * grown, p - self.projected[j])
            rest = np.zeros((2, len(x)))
            if q < n:
                e = np.where(mine[:, None], v * grown, z - self.mean[j])
                rest = np.maximum(np.stack([dots(e, e) - dots(d, d), dots(e, v) - dots(d, u)]), 0.0)
            distances.append((d, *rest))
        scores = np.empty((len(self.shrinkages), len(x), len(self.scored)))
        values = np.maximum(self.principal.values, 0.0)
        for g, γ in enumerate(self.shrinkages):
            with np.errstate(divide="ignore", invalid="ignore"):
                a = (1 - γ) / divisor
                trace = values.sum() - c * (length + beyond)
                b = γ / (n * divisor) * trace
                D = a[:, None] * values + b[:, None]
                s = a * c
                scaled = u / D
                rest = 1 - s * (dots(u, scaled) + outside(beyond, b, q < n))
                log_determinant = np.log(D).sum(axis=1) + np.log(rest)
                log_determinant += 2 * np.log(self.principal.scale).sum()
                log_determinant += (n - q) * np.log(b) if q < n else 0.0
                for at, (d, far, across) in enumerate(distances):
                    cross = dots(d, scaled) + outside(across, b, q < n)
                    squared = dots(d, d / D) + outside(far, b, q < n) + s * cross * cross / rest
                    scores[g, :, at] = -0.5 * (squared + log_determinant + n * LOG_2π)
                least = a * (4 * np.finfo(float).eps * n * values.max(initial=0.0))
            singular = ~(rest > 1e-6) | ~(least[:, None] < D).all(axis=1)
            scores[g, singular | ((q < n) & ~(b > 0))] = np.nan
        return scores


def dots(a: Array, b: Array) -> Array:
    """Return the dot products of the rows of a and b, (m,)."""
    return np.einsum("ij,ij->i", a, b)


def outside(products: Array, b: Array, is_outside: bool) -> Array:
    """Divide the dot products of the parts outside the basis by b, because Σ⁻¹ is I / b there.

    Return zeros if nothing is outside.
    """
    return products / b if is_outside else np.zeros(len(b))
