"""One probability from what several experts say, learned from rows that they have not seen.

    p(k|x) = (1 - ε) softmax_k(Σ_g w_g F_kg(x) + b_k) + ε share_k

F are scores of every class by every kind of evidence, out of fold. The weights are drawn to a
`Prior`; the doubt ε says how many rows are not what they seem.

Symbols: m rows, K classes, G kinds of evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genus._kernel import layer_sums
from genus.arrays import matrix
from genus.arrays.logs import log_softmax
from genus.arrays.matrix import Codes
from genus.stacking import layer
from genus.stacking.prior import Prior
from genus.statistics import Array

MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class Stacked:
    """Weights w (G,), constants b (K,), doubt ε, and p(k|x) of every row out of fold (m, K)."""

    weights: Array
    constant: Array
    doubt: float
    probabilities: Array


def stack(
    F: Array, y: Codes, weight: Array, fold: Codes, prior: Prior, taught: NDArray[np.bool_]
) -> Stacked:
    """Learn weights from the rows that are `taught`, and judge all of them out of fold."""
    solved, learned = layer.fit_groups(F[taught], y[taught], weight[taught], prior)
    w, b = supported(F[taught], y[taught], weight[taught], solved, learned)
    log_p = np.empty(F.shape[:2])

    def judge(some: Iterator[int]) -> None:
        for f in some:
            test, others = fold == f, taught & (fold != f)
            rows = F[others], y[others], weight[others]
            own = supported(*rows, layer.fit(*rows, learned, solved), learned)
            log_p[test] = log_softmax(F[test] @ own[0] + own[1], axis=1)

    matrix.in_threads(judge, range(int(fold.max(initial=-1)) + 1))
    share = shares(y, weight, F.shape[1])
    doubt = doubted(np.exp(log_p[np.arange(len(y)), y]), share[y], weight)
    return Stacked(w, b, doubt, (1 - doubt) * np.exp(log_p) + doubt * share)


def supported(
    F: Array, y: Codes, weight: Array, solved: layer.Solution, prior: Prior
) -> layer.Solution:
    """Return weights and constants if the rows support them, else the best constants alone."""
    if is_told(F, y, weight, solved, prior):
        return solved
    nothing = np.zeros(F.shape[2], dtype=bool)
    return layer.Loss(np.ascontiguousarray(F), y, weight, prior).minimum_of(nothing)


def shares(y: Codes, weight: Array, classes: int) -> Array:
    """How common each class is, with one more row of each, (K,)."""
    share = matrix.class_weights(y, weight, classes)[:, 0] + 1.0
    return share / share.sum()


def is_told(F: Array, y: Codes, weight: Array, solved: layer.Solution, prior: Prior) -> bool:
    """Whether the rows gain more by weights than by chance: one nat for each weight they tell.

    Akaike's criterion, by the effective number of weights, tr(I - precision · covariance). Rows
    that are noise say something out of fold, too, for each fold is unlike what is left without it.
    """
    G, K = F.shape[2], F.shape[1]
    loss, _, curvature = layer_sums(
        np.ascontiguousarray(F), y, weight, np.concatenate(solved), True, matrix.threads()
    )
    covariance = np.linalg.inv(curvature + prior.whole_precision)[:G, :G]
    share = matrix.class_weights(y, weight, K)[:, 0] / max(weight.sum(), 1e-300)
    alone = -float(weight @ np.log(np.maximum(share[y], 1e-300)))
    return alone - loss > G - float((prior.precision * covariance).sum())


def doubted(own: Array, share: Array, weight: Array) -> float:
    """The share of rows that are not what they seem, and of any class: at least one in all.

    Expectation maximisation of Σ log((1 - ε) p + ε share), with one such row beforehand. So no
    probability is surer than the rows can tell, and one strange row no reason for endless regret.
    """
    total = weight.sum()
    ε = 1 / (total + 2)
    for _ in range(MOST_STEPS):
        odd = ε * share / np.maximum((1 - ε) * own + ε * share, 1e-300)
        before, ε = ε, float((weight @ odd + 1) / (total + 2))
        if abs(ε - before) < 1e-3 * ε:
            break
    return ε
