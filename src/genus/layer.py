"""A few weights that make scores into probabilities: softmax regression with shared weights.

    p(k|i) = softmax_k(Σ_g w_g F_ikg + b_k)

F are scores (m, K, G) of m rows by G kinds of evidence. The weights are those of the least
Σ weight · -log p + ½ Σ_g ridge_g (w_g - start_g)² + ½ Σ_k (b_k - centre_k)², by Newton's method.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from genus.matrix import Codes

Array = NDArray[np.float64]
MOST_STEPS = 60
ENOUGH = 1e-7  # the relative gain of a step that is not worth another


def fit(
    F: Array, y: Codes, weight: Array, centre: Array, start: Array, ridge: Array
) -> tuple[Array, Array]:
    """w (G,) and b (K,); `weight` (m,) are the rows', `centre` (K,) is where b is drawn to."""
    m, K, G = F.shape
    rows = np.arange(m)
    middle = np.concatenate([start, centre])
    pull = np.concatenate([ridge, np.ones(K)])

    def loss(θ: Array) -> float:
        log_p = log_softmax(F @ θ[:G] + θ[G:], axis=1)
        return float(-weight @ log_p[rows, y] + 0.5 * pull @ (θ - middle) ** 2)

    θ, best = middle, loss(middle)
    for _ in range(MOST_STEPS):
        p = np.exp(log_softmax(F @ θ[:G] + θ[G:], axis=1))
        error = p * weight[:, None]
        error[rows, y] -= weight
        gradient = np.concatenate([np.einsum("ik,ikg->g", error, F), error.sum(axis=0)])
        gradient += pull * (θ - middle)
        step = np.linalg.solve(curvature(F, p, weight) + np.diag(pull), gradient)
        size, before = 1.0, best
        while (best := loss(θ - size * step)) > before and size > 1e-6:
            size /= 2
        θ = θ - size * step
        if before - best <= ENOUGH * (abs(best) + 1):
            break
    return θ[:G], θ[G:]


def curvature(F: Array, p: Array, weight: Array) -> Array:
    """The second derivatives of Σ weight · -log p by w and b, (G + K, G + K).

    E[f fᵀ] - E[f] E[f]ᵀ under p, where f of class k are F_ik and the k-th unit vector.
    """
    q = p * weight[:, None]
    mean = np.einsum("ik,ikg->ig", p, F)
    spread = (F * np.sqrt(q)[:, :, None]).reshape(F.shape[0] * F.shape[1], F.shape[2])
    weights = spread.T @ spread - (mean * weight[:, None]).T @ mean
    both = np.einsum("ik,ikg->gk", q, F) - mean.T @ q
    constants = np.diag(q.sum(axis=0)) - p.T @ q
    return np.block([[weights, both], [both.T, constants]])
