"""A few weights that make scores into probabilities: softmax regression with shared weights.

    p(k|i) = softmax_k(Σ_g w_g F_ikg + b_k)

F are scores (m, K, G) of m rows by G kinds of evidence. The weights are those of the least
Σ weight · -log p + ½ Σ_g ridge_g (w_g - start_g)² + ½ Σ_k (b_k - centre_k)², by Newton's method.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from genus._kernel import layer_sums
from genus.arrays.matrix import Codes, threads

Array = NDArray[np.float64]
MOST_STEPS = 60
MOST_ROUNDS = 10
CLOSE = 0.05  # relative change of a ridge that is not worth another round
ENOUGH = 1e-7  # the relative gain of a step that is not worth another
SMALLEST_STEP = 1e-6


def fit(
    F: Array,
    y: Codes,
    weight: Array,
    centre: Array,
    start: Array,
    ridge: Array,
    guess: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """w (G,) and b (K,); `weight` (m,) are the rows', `centre` (K,) is where b is drawn to.

    `guess` is where to begin, if that is not where the weights are drawn to.
    """
    F, G = np.ascontiguousarray(F), F.shape[2]
    middle = np.concatenate([start, centre])
    pull = np.concatenate([ridge, np.ones(len(centre))])

    def loss(θ: Array) -> float:
        total, _, _ = layer_sums(F, y, weight, θ, False, threads())
        return total + 0.5 * float(pull @ (θ - middle) ** 2)

    θ = middle if guess is None else np.concatenate(guess)
    for _ in range(MOST_STEPS):
        total, gradient, curvature = layer_sums(F, y, weight, θ, True, threads())
        before = total + 0.5 * float(pull @ (θ - middle) ** 2)
        step = np.linalg.solve(curvature + np.diag(pull), gradient + pull * (θ - middle))
        size = 1.0
        while (after := loss(θ - size * step)) > before and size > SMALLEST_STEP:
            size /= 2
        if after > before:
            break
        θ = θ - size * step
        if before - after <= ENOUGH * (abs(after) + 1):
            break
    return θ[:G], θ[G:]


def fit_groups(
    F: Array,
    y: Codes,
    weight: Array,
    start: Array,
    ridge: Array,
    group: NDArray[np.intp],
) -> tuple[Array, Array, Array]:
    """w (G,), b (K,) and ridges (G,), where weights of a group are drawn to `start` alike.

    Those of group -1 keep their `ridge`. How strongly the others are drawn is learned from the
    weights themselves (MacKay 1992): γ of a group are told by the rows, and its ridge is that of γ
    weights of their size, and of one more at what was given.
    """
    K = F.shape[1]
    F, given, guess = np.ascontiguousarray(F), ridge, None
    groups = [np.flatnonzero(group == one) for one in range(int(group.max(initial=-1)) + 1)]
    for _ in range(MOST_ROUNDS if groups else 1):
        w, b = guess = fit(F, y, weight, np.zeros(K), start, ridge, guess)
        _, _, curvature = layer_sums(F, y, weight, np.concatenate([w, b]), True, threads())
        pull = np.concatenate([ridge, np.ones(K)])
        unsure = np.diag(np.linalg.inv(curvature + np.diag(pull)))
        before, ridge = ridge, ridge.copy()
        for own in groups:
            told = len(own) - float(before[own] @ unsure[own])
            moved = float(((w - start)[own] ** 2).sum())
            ridge[own] = (told + 1) / (moved + 1 / given[own[0]])
        if np.all(np.abs(np.log(ridge / before)) < CLOSE):
            break
    return w, b, ridge
