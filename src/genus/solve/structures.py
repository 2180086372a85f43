"""Estimate covariances with a common volume, shape or orientation (Celeux and Govaert 1995).

    Σ_k = λ_k D_k A_k D_kᵀ        volume λ = |Σ|^(1/d), orientation D, shape A diagonal with |A| = 1

A code says for volume, shape and orientation whether they are equal (E) or vary (V) between
classes; I is the identity: a sphere (as shape), or axes along the columns (as orientation). These
are the 14 structures of R's mclust, with its names. Each is solved by maximum likelihood from the
scatter within classes; five of them by iteration.

Symbols: K classes, d columns, W_k scatter within class k, n_k rows.
"""

from __future__ import annotations

import numpy as np

from genus.solve.normal import SingularCovarianceError
from genus.statistics import Array

CODES = (
    *("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE"),
    *("VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"),
)
MOST_STEPS = 2_000
COLLAPSED = 1e-9  # share of the largest volume, below which a volume goes to zero
PRECISE = 1e-12  # relative change of the objective at which iterations end


def structured(code: str, scatter: Array, rows: Array) -> Array:
    """Return Σ_k, (K, d, d), from scatters (K, d, d) and numbers of rows (K,) above zero."""
    volume, shape, orientation = code[0], code[1], code[2]
    if orientation == "I":
        spread = np.einsum("kjj->kj", scatter)
        if shape == "I":
            spread = np.repeat(spread.mean(axis=1, keepdims=True), spread.shape[1], axis=1)
        return np.stack([np.diag(own) for own in axes_scaled(volume, shape, spread, rows)])
    if shape == orientation == "E":
        return equal_form(volume, scatter, rows)
    if orientation == "E":
        return common_axes(volume, scatter, rows)
    values, vectors = np.linalg.eigh(scatter)
    scaled = axes_scaled(volume, shape, np.maximum(values, 0.0), rows)
    return np.einsum("kij,kj,klj->kil", vectors, scaled, vectors)


def axes_scaled(volume: str, shape: str, spread: Array, rows: Array) -> Array:
    """Return the variances along axes, (K, d), given the scatters along them (K, d)."""
    d = spread.shape[1]
    if volume == shape == "V" or (volume, shape) == ("V", "I"):
        return spread / rows[:, None]
    if shape in "EI" and volume == "E":
        return np.broadcast_to(spread.sum(axis=0) / rows.sum(), spread.shape)
    if shape == "V":  # and one volume: shapes are W_k / |W_k|^(1/d)
        size = np.exp(np.log(refuse_flat(spread)).mean(axis=1))
        return spread / size[:, None] * (size.sum() / rows.sum())
    refuse_flat(spread.sum(axis=0)[None])
    λ = refuse_points(spread.sum(axis=1)) / (d * rows)
    before = np.inf
    for _ in range(MOST_STEPS):
        total = (spread / λ[:, None]).sum(axis=0)
        A = total / np.exp(np.log(total).mean())
        λ = refuse_collapse((spread / A).sum(axis=1) / (d * rows))
        found = float(rows @ np.log(λ))
        if abs(before - found) <= PRECISE * (1 + abs(found)):
            break
        before = found
    return λ[:, None] * A


def equal_form(volume: str, scatter: Array, rows: Array) -> Array:
    """Return Σ_k = λ_k C, with one form C of determinant 1 for all classes."""
    d = scatter.shape[1]
    if volume == "E":
        return np.broadcast_to(scatter.sum(axis=0) / rows.sum(), scatter.shape)
    refuse_flat(np.linalg.eigvalsh(scatter.sum(axis=0))[None])
    λ = refuse_points(np.einsum("kjj->k", scatter)) / (d * rows)
    before = np.inf
    for _ in range(MOST_STEPS):
        total = np.einsum("kij,k->ij", scatter, 1 / λ)
        C = total / np.exp(np.linalg.slogdet(total)[1] / d)
        λ = refuse_collapse(np.einsum("kij,ji->k", scatter, np.linalg.inv(C)) / (d * rows))
        found = float(rows @ np.log(λ))
        if abs(before - found) <= PRECISE * (1 + abs(found)):
            break
        before = found
    return λ[:, None, None] * C


def common_axes(volume: str, scatter: Array, rows: Array) -> Array:
    """Return Σ_k = λ_k D A_k Dᵀ, with one orientation D that is improved iteratively.

    -Σ_k tr(D A_k⁻¹ Dᵀ W_k) is bounded from below by a linear function of D, whose maximum follows
    from a singular value decomposition (Browne and McNicholas 2014).
    """
    D = np.linalg.eigh(scatter.sum(axis=0))[1]
    most = np.linalg.eigvalsh(scatter)[:, -1]
    before = np.inf
    for _ in range(MOST_STEPS):
        spread = np.einsum("ij,kij->kj", D, scatter @ D)
        variance = axes_scaled(volume, "V", refuse_flat(spread), rows)
        found = float(rows @ np.log(variance).sum(axis=1) + (spread / variance).sum())
        if abs(before - found) <= PRECISE * (1 + abs(found)):
            break
        before = found
        pull = D * (most[:, None] / variance).sum(axis=0)
        pull -= ((scatter @ D) / variance[:, None]).sum(axis=0)
        left, _, right = np.linalg.svd(pull)
        D = left @ right
    return np.einsum("ij,kj,lj->kil", D, variance, D)


def refuse_flat(spread: Array) -> Array:
    """Return scatters along axes (K, d); raise an error if one is zero, up to rounding."""
    limit = 4 * np.finfo(float).eps * spread.shape[1] * spread.max(axis=1, keepdims=True)
    if not (spread > limit).all():
        raise SingularCovarianceError(
            "The rows of a class, or all rows, are constant in some direction, so the covariance "
            'matrix is not full rank. Use a structure that shares more, such as "EEE" or '
            "shared=0.5, or leave out columns that repeat others."
        )
    return spread


def refuse_points(traces: Array) -> Array:
    """Return the total scatter of each class (K,); raise an error if a class has none."""
    if not (traces > 0).all():
        raise SingularCovarianceError(
            "All rows of a class are the same, so the volume of its covariance cannot be "
            'estimated. Use a structure with one volume for all classes, such as "EEE", or add '
            "rows."
        )
    return traces


def refuse_collapse(volumes: Array) -> Array:
    """Return the volumes; raise an error if one goes to zero relative to the others.

    That happens if a class is constant in some direction: then the likelihood has no maximum.
    """
    if not volumes.min() > COLLAPSED * volumes.max():
        raise SingularCovarianceError(
            "The rows of a class are constant in some direction, so the volume of its covariance "
            'cannot be estimated. Use a structure with one volume for all classes, such as "EEE", '
            "or leave out columns that repeat others."
        )
    return volumes
