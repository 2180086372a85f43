"""The prior of the weights of evidence: one normal distribution for every stacker.

    w ~ N(start, precision⁻¹),        b_k ~ N(centre_k, 1 / constant_ridge)

Its negative logarithm is added to the loss of the rows, which is a sum of nats. So a precision is
in nats, too: a weight at distance one from its start costs precision / 2. The information of a row
about a weight is the variance of its evidence over the classes, with the probabilities p(k|x). If
the evidence for two classes differs by one, that is 1/4 for a row with even odds, and less for all
others: a precision of r is worth at least 4r rows.

The reasons for a normal distribution: the loss stays convex and its minimum unique, so the result
does not depend on where the search begins; weights about which the rows have no information stay
where they start; and Newton's method needs few steps.

Symbols: K classes, G kinds of evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prior:
    """A normal prior of weights w (G,) and constants b (K,), and which weights may be negative.

    `start` (G,) is the mean of w, `precision` (G, G) its inverse covariance, and `centre` (K,) the
    mean of b. Weights of the same `group` (0, 1, …) are independent, and their precisions are
    multiplied by a factor that is learned from them; weights of group -1 keep their precisions.

    Evidence that is `nonnegative` gets weight zero instead of a negative weight, which would
    reverse the evidence, and might fit some rows by chance. If refines[g] is not -1, evidence g
    only corrects the evidence refines[g]: its weight may have any sign, and is zero if the weight
    of refines[g] is zero.

    If `constant_ridge` is 0, only the rows determine the constants.
    """

    start: Array
    precision: Array
    centre: Array
    group: NDArray[np.intp]
    nonnegative: NDArray[np.bool_]
    refines: NDArray[np.intp]
    constant_ridge: float = 1.0  # half a nat for a class that is e times as common as expected

    @classmethod
    def of(
        cls,
        start: Array,
        precision: Array,
        centre: Array,
        *,
        group: NDArray[np.intp] | None = None,
        nonnegative: NDArray[np.bool_] | bool = False,
        refines: NDArray[np.intp] | None = None,
        constant_ridge: float = 1.0,
    ) -> Prior:
        """Return a prior; a `precision` of shape (G,) means that the weights are independent.

        >>> Prior.of(np.ones(2), np.array([1.0, 4.0]), np.zeros(3)).precision
        array([[1., 0.],
               [0., 4.]])
        """
        none = np.full(len(start), -1)
        return cls(
            start,
            np.diag(precision) if precision.ndim == 1 else precision,
            centre,
            none if group is None else group,
            np.broadcast_to(nonnegative, len(start)),
            none if refines is None else refines,
            constant_ridge,
        )

    @property
    def mean(self) -> Array:
        """The mean of w and b, (G + K,)."""
        return np.concatenate([self.start, self.centre])

    @property
    def whole_precision(self) -> Array:
        """The inverse covariance of w and b, (G + K, G + K).

        Adding the same number to all b changes no probability. So the sum of b - centre is also
        shrunk towards zero: this makes the solution unique even if `constant_ridge` is 0, and
        changes nothing if it is positive.
        """
        G, K = len(self.start), len(self.centre)
        whole = np.zeros((G + K, G + K))
        whole[:G, :G] = self.precision
        whole[G:, G:] = self.constant_ridge * np.eye(K) + 1 / K
        return whole

    def given_zero(self, out: NDArray[np.bool_]) -> Prior:
        """Return the distribution of the other weights if the weights `out` are zero.

        It is normal again: its precision is the block of the remaining weights, and its mean shifts
        according to their covariance with the weights left out.
        """
        left = ~out
        precision = self.precision[np.ix_(left, left)]
        common = self.precision[np.ix_(left, out)] @ self.start[out]
        start = self.start[left] + np.linalg.solve(precision, common)
        return Prior.of(start, precision, self.centre, constant_ridge=self.constant_ridge)

    def with_refinements(self, out: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the evidence in `out` and of all evidence that refines it."""
        return out | np.append(out, False)[self.refines]

    @property
    def is_refined(self) -> NDArray[np.bool_]:
        """Whether each kind of evidence is refined by another, (G,)."""
        return np.isin(np.arange(len(self.start)), self.refines)


def around_multiple(
    direction: Array, factor: float, ridge: float, factor_ridge: float
) -> tuple[Array, Array]:
    """Return the prior mean (G,) and precision (G, G) of weights with roughly known proportions.

    w = t · direction + δ with t ~ N(factor, 1 / factor_ridge) and δ_g ~ N(0, 1 / ridge): the
    proportions of w are roughly those of `direction`, and their common factor is less certain. So
    the covariance of w is I / ridge + direction directionᵀ / factor_ridge, and its inverse follows
    from the Sherman-Morrison formula.

    >>> start, precision = around_multiple(np.array([3.0, 1.0]), 2.0, 5.0, 4.0)
    >>> start
    array([6., 2.])
    >>> np.linalg.inv(precision).round(9)  # 1 / 5 + 9 / 4, and 3 / 4 in common
    array([[2.45, 0.75],
           [0.75, 0.45]])
    """
    shared = ridge / (factor_ridge + ridge * float(direction @ direction))
    precision = ridge * (np.eye(len(direction)) - shared * np.outer(direction, direction))
    return factor * direction, precision
