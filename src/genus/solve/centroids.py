"""Shrink class means towards the overall mean (Tibshirani and others 2002).

    d_kj = (mean_kj - mean_j) / (m_k (s_j + s_0)),   m_k = √(1/n_k - 1/n)

Each d is moved towards zero by a threshold. s_j is the standard deviation of column j within
classes, with the divisor n - K, and s_0 the median of all that are above zero.

Symbols: K classes, n rows, n_k rows of class k, j columns.
"""

from __future__ import annotations

import numpy as np

from genus.solve.normal import SingularCovarianceError
from genus.statistics import Array, divide


def shrunken(
    mean: Array, centre: Array, weights: Array, scatter: Array, threshold: float
) -> tuple[Array, Array]:
    """Return the shrunken means (K, columns), and s_j + s_0 (columns,).

    `weights` (K, columns) is the weight of the rows that have a value, and `scatter` (columns,) the
    scatter within classes.
    """
    rows, groups = weights.sum(axis=0), np.count_nonzero(weights, axis=0)
    # In a model that was scaled down, the rows may weigh no more than the number of classes.
    deviation = np.sqrt(divide(scatter, np.where(rows > groups, rows - groups, rows)))
    varies = deviation > 0
    if not varies.any():
        raise SingularCovarianceError(
            "The number of samples must be more than the number of classes, and rows of a class "
            f"must differ. Here no column varies within any class (total weight "
            f"{rows.max(initial=0.0):g} sample(s)). Add rows that differ from those of their class."
        )
    scale = deviation + np.median(deviation[varies])
    share = np.where(weights > 0, 1 / np.where(weights > 0, weights, 1.0) - 1 / rows, 0.0)
    unit = np.sqrt(np.maximum(share, 0.0)) * scale
    difference = mean - centre
    moved = np.sign(difference) * np.maximum(np.abs(difference) - threshold * unit, 0.0)
    return centre + moved, scale
