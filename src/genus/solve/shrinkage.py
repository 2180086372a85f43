"""Shrinking a covariance matrix towards something simpler.

A number γ shrinks towards a multiple of the identity, (1-γ)Σ + γ tr(Σ)/n I. The rules that choose
γ themselves, "oas" (Chen et al. 2010) and "ledoit-wolf" (2004), work on correlations, so that the
units of the columns do not matter: (1-γ)Σ + γ diag(Σ).
"""

from __future__ import annotations

import numpy as np

from genus.statistics import Array, Moments


def shrink(
    covariance: Array, moments: Moments, k: int | None, shrinkage: float | str | None
) -> tuple[Array, float]:
    """The shrunk Σ of class k, or of all if None, and the γ that was used."""
    n = len(covariance)
    if shrinkage is None:
        return covariance, 0.0
    if not isinstance(shrinkage, str):
        target = np.trace(covariance) / n * np.eye(n)
        return (1 - shrinkage) * covariance + shrinkage * target, float(shrinkage)
    chosen = slice(None) if k is None else [k]
    rows = float(moments.weights[chosen].sum())
    variance = np.diagonal(covariance)
    varies = variance > 0
    kept = np.ix_(varies, varies)
    scale = np.sqrt(variance[varies])
    if shrinkage == "oas":
        γ = oas(covariance[kept] / scale[:, None] / scale, rows)
    else:
        centred = moments.about(moments.mean())
        assert centred.fourth is not None
        scatter = centred.squares[chosen].sum(axis=0)[kept]
        second = np.diagonal(scatter) / rows
        fourth = centred.fourth[chosen].sum(axis=0)[kept] / second[:, None] / second
        γ = ledoit_wolf(scatter, float(fourth.sum()), rows)
    shrunk = (1 - γ) * covariance + γ * np.diag(variance)
    return shrunk + np.diag(np.where(varies, 0.0, least_variance(moments, rows))), γ


def least_variance(moments: Moments, rows: float) -> Array:
    """A variance for columns without one, (n,): as if one row had been off by the column's size.

    That is what it has in other classes; else, the same for all, what it has between them, or the
    square of its mean.
    """
    weights, mean = moments.weights, moments.mean()
    pooled = moments.variance()
    if pooled.ndim == 2:
        pooled = (weights * pooled).sum(axis=0) / weights.sum()
    centre = (weights * mean).sum(axis=0) / weights.sum()
    between = (weights * (mean - centre) ** 2).sum(axis=0) / weights.sum()
    size = np.where(between > 0, between, np.where(centre**2 > 0, centre**2, 1.0))
    return np.where(pooled > 0, pooled / rows, size / weights.sum())


def oas(correlation: Array, rows: float) -> float:
    """Oracle approximating shrinkage: from tr(R²) and tr(R) alone."""
    n = len(correlation)
    if n == 0:
        return 1.0
    mean_square = float(np.mean(correlation**2))
    denominator = (rows + 1) * (mean_square - 1 / n)
    return 1.0 if denominator <= 0 else min((mean_square + 1) / denominator, 1.0)


def ledoit_wolf(scatter: Array, fourth: float, rows: float) -> float:
    """The share of ‖R - I‖² that is estimation error, from Σ_i |z_i|⁴ of standardised rows."""
    n = len(scatter)
    if n == 0:
        return 1.0
    scale = np.sqrt(np.diagonal(scatter))
    correlation = scatter / scale[:, None] / scale
    square = float(np.sum(correlation**2))
    error = (fourth / rows - square) / (n * rows)
    distance = (square - n) / n
    return 0.0 if distance <= 0 else min(max(error, 0.0), distance) / distance
