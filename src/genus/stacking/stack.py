"""Combine the scores of several experts into one probability, learned out of fold.

    p(k|x) = (1 - ε) softmax_k(Σ_g w_g F_kg(x) + b_k) + ε share_k

F_kg(x) is the out-of-fold score that expert g gives to class k: one kind of evidence, as other
files here call it. The weights are shrunk towards a `Prior`. The doubt ε is the share of rows that
may be mislabelled.

Symbols: m rows, K classes, G kinds of evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.logs import log_softmax
from genus.arrays.matrix import Codes
from genus.stacking import layer
from genus.stacking.prior import Prior
from genus.statistics import Array

MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class Stacked:
    """Weights w (G,), constants b (K,), doubt ε, and out-of-fold p(k|x) of every row (m, K)."""

    weights: Array
    constant: Array
    doubt: float
    probabilities: Array


def stack(
    F: Array, y: Codes, weight: Array, fold: Codes, prior: Prior, taught: NDArray[np.bool_]
) -> Stacked:
    """Learn weights from the rows in `taught`, and score all rows out of fold."""
    rows = layer.Rows(F[taught], y[taught], weight[taught])
    with matrix.ONE_BLAS_THREAD:
        solved, learned = layer.fit_groups(rows, prior)
        w, b = supported(rows, solved, learned)
    log_p = np.empty(F.shape[:2])

    def judge(some: Iterator[int]) -> None:
        for f in some:
            test, others = fold == f, taught & (fold != f)
            rows = layer.Rows(F[others], y[others], weight[others])
            own = supported(rows, layer.fit(rows, learned, solved), learned)
            log_p[test] = log_softmax(F[test] @ own[0] + own[1], axis=1)

    matrix.in_threads(judge, range(int(fold.max(initial=-1)) + 1))
    share = shares(y, weight, F.shape[1])
    doubt = doubted(np.exp(log_p[np.arange(len(y)), y]), share[y], weight)
    return Stacked(w, b, doubt, (1 - doubt) * np.exp(log_p) + doubt * share)


def supported(rows: layer.Rows, solved: layer.Solution, prior: Prior) -> layer.Solution:
    """Return weights and constants; all weights are 0 if the rows do not support any."""
    if is_told(rows, solved, prior):
        return solved
    return layer.Loss(rows, prior).minimum_of(np.zeros(rows.F.shape[2], dtype=bool))


def shares(y: Codes, weight: Array, classes: int) -> Array:
    """Return the share of each class after adding one row to each, (K,)."""
    share = matrix.class_weights(y, weight, classes)[:, 0] + 1.0
    return share / share.sum()


def is_told(rows: layer.Rows, solved: layer.Solution, prior: Prior) -> bool:
    """Return whether the weights lower the loss by more than chance explains: a nat per weight.

    This is Akaike's criterion with the effective number of weights, tr(I - precision · covariance).
    Even noise seems informative out of fold, because each fold differs from the rest of the rows.
    """
    _, K, G = rows.F.shape
    loss, _, curvature = rows.sums(np.concatenate(solved), 2)
    covariance = np.linalg.inv(curvature + prior.whole_precision)[:G, :G]
    share = matrix.class_weights(rows.y, rows.weight, K)[:, 0] / max(rows.weight.sum(), 1e-300)
    alone = -float(rows.weight @ np.log(np.maximum(share[rows.y], 1e-300)))
    return alone - loss > G - float((prior.precision * covariance).sum())


def doubted(own: Array, share: Array, weight: Array) -> float:
    """Estimate the share ε of mislabelled rows, whose class is arbitrary.

    `own` (m,) is p, the probability of each row's class, and `share` (m,) the share of that class
    in all rows. ε maximises Σ weight · log((1 - ε) p + ε share), after half a mislabelled row and
    half a correct one are added, which is Jeffreys' prior for a share. It is found by expectation
    maximisation. So no probability is closer to 0 or 1 than the number of rows justifies, and the
    loss of a single odd row is bounded.
    """
    total = weight.sum()
    ε = least_doubt(total)
    for _ in range(MOST_STEPS):
        odd = ε * share / np.maximum((1 - ε) * own + ε * share, 1e-300)
        before, ε = ε, float((weight @ odd + 0.5) / (total + 1))
        if abs(ε - before) < 1e-3 * ε:
            break
    return ε


def least_doubt(rows: float) -> float:
    """Return the share of mislabelled rows to assume if no row seems to be mislabelled."""
    return float(0.5 / (rows + 1))
