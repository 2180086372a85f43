"""Compute sums of exponentials in log space, as every prediction needs them.

SciPy has them, too, but importing `scipy.special` takes a quarter of a second, as long as the rest
of `genus predict` on one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def logsumexp(x: Array, axis: int, keepdims: bool = False) -> Array:
    """Return log Σ exp x along an axis.

    >>> logsumexp(np.log([[1.0, 2.0], [3.0, 4.0]]), axis=1).round(6)
    array([1.098612, 1.94591 ])
    """
    largest = x.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        total = np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest
    return total if keepdims else total.squeeze(axis)


def log_softmax(x: Array, axis: int) -> Array:
    """Return x - log Σ exp x along an axis, which are logarithms of probabilities."""
    return x - logsumexp(x, axis, keepdims=True)


def log_gamma(x: Any) -> Any:
    """Return log Γ(x); imports SciPy when it is first called."""
    from scipy.special import gammaln

    return gammaln(x)
