"""Find the axes along which class means differ most, relative to the covariance within classes.

    W_k = √π_k Σ^(-½) (μ_k - c),   c = Σ_k π_k μ_k

The axes are the left singular vectors of the matrix W with the columns W_k; a singular value
measures how far the means differ along its axis.
Symbols: K classes, n columns, μ means (K, n), π shares of the classes (K,).
"""

from __future__ import annotations

import numpy as np

from genus.solve.covariance import RowFactor
from genus.solve.normal import Factor
from genus.statistics import Array


def white_axes(means: Array, shares: Array, factor: Factor | RowFactor) -> tuple[Array, Array]:
    """Return the axes as columns, (n, min(K, n)), and the singular values, largest first."""
    offsets = np.sqrt(shares)[:, None] * (means - shares @ means)
    vectors, roots, _ = np.linalg.svd(factor.whiten(offsets), full_matrices=False)
    return vectors, roots


def of_rank(means: Array, shares: Array, factor: Factor | RowFactor, rank: int) -> Array:
    """Return means (K, n) that differ along the first `rank` axes only.

    They have the largest likelihood of all such means (Hastie and Tibshirani 1996).
    """
    axes = white_axes(means, shares, factor)[0][:, :rank]
    centre = shares @ means
    along = factor.whiten(means - centre).T @ axes
    return centre + factor.colour(along @ axes.T)
