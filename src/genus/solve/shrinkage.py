"""Shrink a covariance matrix towards a simpler one.

If the shrinkage is a number γ, the result is (1-γ)Σ + γ tr(Σ)/n I or, on request, (1-γ)Σ + γ I, for
n columns. The rules "oas" (Chen et al. 2010) and "ledoit-wolf" (2004) choose γ themselves. They
work on correlations, so that the units of the columns do not matter: (1-γ)Σ + γ diag(Σ).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from genus.solve.covariance import Covariance
from genus.statistics import Array, Moments, Points, divide


def shrink(
    covariance: Covariance,
    statistics: Moments | Points,
    k: int | None,
    shrinkage: float | str | None,
    identity: bool = False,
    unit: Array | None = None,
) -> tuple[Covariance, float]:
    """Return the shrunk Σ of class k, or of all classes if k is None, and the γ in use.

    With `identity`, a number shrinks towards the identity and not towards the mean variance. With
    a `unit` (n,), columns are divided by it first; where it is 0, the target has no variance.
    """
    variance = covariance.variance
    if shrinkage is None:
        return covariance, 0.0
    if not isinstance(shrinkage, str):
        square = np.ones(len(variance)) if unit is None else unit**2
        relative = divide(variance, square).sum() / np.count_nonzero(square)
        target = square * (1.0 if identity else relative)
        return covariance.plus(1 - shrinkage, shrinkage * target), float(shrinkage)
    rows = float(statistics.weights[slice(None) if k is None else [k]].sum())
    varies = variance > 0
    scale = np.where(varies, np.sqrt(variance), np.inf)
    n = int(varies.sum())
    if shrinkage == "oas":
        γ = oas(covariance.square(scale), n, rows)
    else:
        # Σ and the rows' own scatter may differ in the divisor; correlations do not.
        error = fourth_power(statistics, k, varies) / rows
        γ = ledoit_wolf(covariance.square(scale), error, n, rows)
    shrunk = covariance.plus(1 - γ, γ * variance)
    constant = np.where(varies, 0.0, least_variance(statistics, rows))
    return shrunk.plus(1.0, constant), γ


def least_variance(statistics: Moments | Points, rows: float) -> Array:
    """Return a variance (n,) for constant columns, as if one row deviated by the column's scale.

    The scale is the column's spread within classes; if that is zero, the spread between classes; if
    that is zero, too, the mean, or 1 if all values are zero.
    """
    weights, mean = statistics.weights, statistics.mean()
    pooled = statistics.variance()
    if pooled.ndim == 2:
        pooled = (weights * pooled).sum(axis=0) / weights.sum()
    centre = (weights * mean).sum(axis=0) / weights.sum()
    between = (weights * (mean - centre) ** 2).sum(axis=0) / weights.sum()
    size = np.where(between > 0, between, np.where(centre**2 > 0, centre**2, 1.0))
    return np.where(pooled > 0, pooled / rows, size / weights.sum())


def fourth_power(statistics: Moments | Points, k: int | None, varies: NDArray[np.bool_]) -> float:
    """Return Σ_i w_i |z_i|⁴ over the rows of class k, or of all, with z standardised by column."""
    chosen = slice(None) if k is None else [k]
    rows = float(statistics.weights[chosen].sum())
    if isinstance(statistics, Points):
        z = statistics.spread(k)[:, varies]
        second = np.einsum("ij,ij->j", z, z) / rows
        weight = statistics.weight if k is None else statistics.weight[statistics.codes == k]
        return float(np.sum(((z * z) @ (1 / second)) ** 2 / weight))
    centred = statistics.about(statistics.mean())
    assert centred.fourth is not None
    kept = np.ix_(varies, varies)
    second = np.diagonal(centred.squares[chosen].sum(axis=0)[kept]) / rows
    return float((centred.fourth[chosen].sum(axis=0)[kept] / second[:, None] / second).sum())


def oas(square: float, n: int, rows: float) -> float:
    """Return the γ of oracle approximating shrinkage from tr(R²) = `square` and tr(R) = n."""
    if n == 0:
        return 1.0
    mean_square = square / n**2
    denominator = (rows + 1) * (mean_square - 1 / n)
    return 1.0 if denominator <= 0 else min((mean_square + 1) / denominator, 1.0)


def ledoit_wolf(square: float, fourth: float, n: int, rows: float) -> float:
    """Return Ledoit and Wolf's γ, the share of ‖R - I‖² that is estimation error."""
    if n == 0:
        return 1.0
    error = (fourth - square) / (n * rows)
    distance = (square - n) / n
    return 0.0 if distance <= 0 else min(max(error, 0.0), distance) / distance
