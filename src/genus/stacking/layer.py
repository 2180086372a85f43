"""Learn weights, shared by all classes, that turn scores into probabilities.

    p(k|i) = softmax_k(Σ_g w_g F_ikg + b_k)

F_ikg is the score that evidence g of G gives to class k of K in row i of m, from counts that do not
include the row. w_g is the weight of evidence g, and b_k the constant of class k. They minimise
Σ weight · -log p - log prior(w, b), and are found by Newton's method. Tables, texts and mail all
learn their weights here, each with its own `Prior`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from genus._kernel import layer_sums
from genus.arrays.matrix import Codes, threads
from genus.stacking.prior import Prior

Array = NDArray[np.float64]
Solution = tuple[Array, Array]  # w (G,) and b (K,)
MOST_STEPS = 60
MOST_ROUNDS = 10
CLOSE = 0.05  # smaller relative changes of a ridge end the rounds
ENOUGH = 1e-14  # smaller relative gains end the steps
SMALLEST_STEP = 1e-6
SMALLEST_GAIN = 1e-12  # smallest relative gain for which evidence is used again
# A curvature costs as much as G gradients. It is kept while each step leaves at most this share of
# the possible gain (the chord method).
LEFT = 0.1


@dataclass(eq=False)
class Rows:
    """The rows that weights are learned from: scores F (m, K, G), classes y (m,) and `weight` (m,).

    The last curvature is remembered, because it does not depend on the prior, and the next fit
    often starts where the last one ended.
    """

    F: Array
    y: Codes
    weight: Array
    _last: tuple[Array, tuple[float, Array, Array]] | None = None

    def __post_init__(self) -> None:
        self.F = np.ascontiguousarray(self.F)

    def sums(self, θ: Array, order: int) -> tuple[float, Array, Array]:
        """Return Σ weight · -log p and its gradient; if `order` is 2, also its curvature."""
        if order == 2 and self._last is not None and np.array_equal(self._last[0], θ):
            return self._last[1]
        found = layer_sums(self.F, self.y, self.weight, θ, order, threads())
        if order == 2:
            self._last = θ.copy(), found
        return found

    def of(self, used: NDArray[np.bool_]) -> Rows:
        """Return the same rows with only some kinds of evidence."""
        return Rows(self.F[:, :, used], self.y, self.weight)


@dataclass(frozen=True, eq=False)
class Loss:
    """The loss of weights θ = (w, b) in nats, on some rows and with the prior."""

    rows: Rows
    prior: Prior

    @cached_property
    def _normal(self) -> tuple[Array, Array]:
        return self.prior.mean, self.prior.whole_precision

    def slope(self, θ: Array) -> tuple[float, Array]:
        """Return the loss and its gradient, (G + K,)."""
        rows, slope, _ = self.rows.sums(θ, 1)
        mean, precision = self._normal
        pull = precision @ (θ - mean)
        return rows + 0.5 * float((θ - mean) @ pull), slope + pull

    def derivatives(self, θ: Array) -> tuple[float, Array, Array]:
        """Return the loss, its gradient (G + K,) and its curvature (G + K, G + K)."""
        rows, slope, curvature = self.rows.sums(θ, 2)
        mean, precision = self._normal
        pull = precision @ (θ - mean)
        return rows + 0.5 * float((θ - mean) @ pull), slope + pull, curvature + precision

    def minimum(self, guess: Solution | None = None) -> Solution:
        """Return the weights with the least loss, whatever their sign; start at `guess`."""
        θ, G = self._normal[0] if guess is None else np.concatenate(guess), self.rows.F.shape[2]
        before, slope, curvature = self.derivatives(θ)
        step, is_fresh = np.linalg.solve(curvature, slope), True
        for _ in range(MOST_STEPS):
            gain, size = 0.5 * float(slope @ step), 1.0
            if gain <= ENOUGH * (abs(before) + 1):
                break
            after, following = self.slope(θ - step)
            while after > before and size > SMALLEST_STEP and is_fresh:
                size /= 2
                after, following = self.slope(θ - size * step)
            if after <= before:
                θ, before, slope = θ - size * step, after, following
                step = np.linalg.solve(curvature, slope)
                if 0.5 * float(slope @ step) <= LEFT * gain:
                    is_fresh = False
                    continue
            elif is_fresh:
                break
            before, slope, curvature = self.derivatives(θ)
            step, is_fresh = np.linalg.solve(curvature, slope), True
        return θ[:G], θ[G:]

    def minimum_of(self, used: NDArray[np.bool_]) -> Solution:
        """Return the weights with the least loss, with weight 0 for evidence that is not `used`."""
        w = np.zeros(len(used))
        w[used], b = Loss(self.rows.of(used), self.prior.given_zero(~used)).minimum()
        return w, b


def fit(rows: Rows, prior: Prior, guess: Solution | None = None) -> Solution:
    """Return the best w (G,) and b (K,) for some rows; w has the allowed signs.

    If a weight is negative but must not be, its evidence is left out together with its refinements,
    and the rest is fitted again, until no such weight is left. The search starts at `guess`, or at
    the prior.
    """
    loss = Loss(rows, prior)
    w, b = loss.minimum(guess)
    used = np.ones(len(w), dtype=bool)
    while (against := prior.nonnegative & (w < 0)).any():
        used &= ~prior.with_refinements(against)
        w, b = loss.minimum_of(used)
    return (w, b) if used.all() else returned(loss, (w, b), used)


def returned(loss: Loss, solution: Solution, used: NDArray[np.bool_]) -> Solution:
    """Return the best weights after trying to restore evidence that was left out.

    Evidence may have been left out only because of other evidence that was left out with it. It is
    used again if a positive weight lowers the loss. The result minimises the loss over all allowed
    weights: the active set method of Lawson and Hanson (1974, chapter 23). The loss always falls,
    so no set of evidence is tried twice. The method needs a convex set of weights. Refined evidence
    and its refinements do not have one, so they stay left out.
    """
    (w, b), G, prior, before = solution, len(used), loss.prior, np.inf
    stays_out = ~prior.nonnegative | prior.is_refined | (prior.refines >= 0)
    while True:
        total, slope, curvature = loss.derivatives(np.concatenate([w, b]))
        gain = np.minimum(slope[:G], 0) ** 2 / np.diag(curvature)[:G] / 2
        gain[used | stays_out] = 0.0
        if gain.max() <= SMALLEST_GAIN * (abs(total) + 1) or total >= before:
            return w, b
        before = total
        used = used | (np.arange(G) == gain.argmax())
        best, constant = loss.minimum_of(used)
        while (below := np.flatnonzero(prior.nonnegative & (best < 0))).size:
            # The loss falls on the way to its minimum: go there until a weight reaches zero.
            share = w[below] / (w[below] - best[below])
            w, b = w + share.min() * (best - w), b + share.min() * (constant - b)
            out = prior.with_refinements(np.arange(G) == below[share.argmin()])
            w, used = np.where(out, 0.0, w), used & ~out
            best, constant = loss.minimum_of(used)
        w, b = best, constant


def fit_groups(rows: Rows, prior: Prior) -> tuple[Solution, Prior]:
    """Return w (G,) and b (K,), and the prior with the learned precisions of its groups.

    The precision of a group is the given one times (γ + 1) / (S + 1) (MacKay 1992). Here γ is the
    effective number of the group's weights that the rows determine, and S is the sum of the given
    precision times (w - start)². Adding 1 to both shrinks the factor towards 1.
    """
    given, guess = np.diag(prior.precision), None
    groups = [np.flatnonzero(prior.group == g) for g in np.unique(prior.group[prior.group >= 0])]
    for _ in range(MOST_ROUNDS if groups else 1):
        w, b = guess = fit(rows, prior, guess)
        _, _, curvature = Loss(rows, prior).derivatives(np.concatenate(guess))
        unsure = np.diag(np.linalg.inv(curvature))
        before, precision = np.diag(prior.precision), prior.precision.copy()
        for own in groups:
            told = len(own) - float(before[own] @ unsure[own])
            moved = float((w - prior.start)[own] ** 2 @ given[own])
            precision[own, own] = given[own] * (told + 1) / (moved + 1)
        prior = replace(prior, precision=precision)
        if np.all(np.abs(np.log(np.diag(precision) / before)) < CLOSE):
            break
    return (w, b), prior
