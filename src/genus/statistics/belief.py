"""Keep what rows imply about weights as a normal distribution, without the rows.

Near its best weights θ, a log-likelihood is that of a normal distribution whose precision Λ is its
curvature. For independent parts of the rows, Λ and Λθ add up, and the weights of all rows are
(ΣΛ)⁻¹ ΣΛθ. They are not exactly those of one fit to all rows, because each part used its own
counts; but the sums can be added in any order and subtracted again.

Symbols: P weights, known by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.statistics.group import GATHERED, Array, difference, freeze
from genus.statistics.tally import MOST_COUNT


@dataclass(frozen=True, eq=False)
class Belief:
    """Λ (P, P), the `precision`, and Λθ (P,), the `shift`, of weights that are sorted by name.

    >>> a = Belief.of(["x", "y"], np.array([1.0, 2.0]), np.eye(2))
    >>> b = Belief.of(["y"], np.array([4.0]), np.array([[3.0]]))
    >>> (a + b).solve(["x", "y"], np.zeros(2), np.zeros(2))
    array([1. , 3.5])
    """

    names: tuple[str, ...] = ()
    precision: Array = field(default_factory=lambda: np.zeros((0, 0)))
    shift: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        freeze(self)

    @classmethod
    def of(cls, names: Sequence[str], weights: Array, precision: Array) -> Belief:
        """Return the belief for the best `weights` and for the curvature there, the `precision`."""
        order = np.argsort(names)
        sorted_names = tuple(names[i] for i in order)
        inner = precision[np.ix_(order, order)]
        return cls(sorted_names, inner, inner @ weights[order])

    @property
    def classes(self) -> Axis:
        """An empty array, because weights do not belong to classes."""
        return labels.empty_axis()

    def __add__(self, other: Belief) -> Belief:
        return self._combine(other, 1.0)

    def __sub__(self, other: Belief) -> Belief:
        return self._combine(other, -1.0)

    def __mul__(self, factor: float) -> Belief:
        if factor == 0:
            return Belief()
        return Belief(self.names, factor * self.precision, factor * self.shift)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Belief):
            return NotImplemented
        return (
            self.names == other.names
            and np.array_equal(self.precision, other.precision)
            and np.array_equal(self.shift, other.shift)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_finite(self) -> bool:
        """Whether the precision is at most `MOST_COUNT`, so that sums are finite."""
        return bool(np.abs(self.precision).max(initial=0) <= MOST_COUNT)

    @property
    def is_possible(self) -> bool:
        """Whether rows can produce these sums: no weight has a negative precision."""
        return bool((np.diag(self.precision) >= 0).all())

    def under(self, own: Axis, classes: Axis) -> Belief:
        """Return this belief unchanged, because weights belong to no class.

        If none of the classes is kept (`own` is empty), return an empty belief.
        """
        return self if len(own) else Belief()

    def settled(self, before: Belief) -> Belief:
        """Return what is left of `before` after forgetting.

        The information of rows depends on the rows that they were learned with, so more may be
        subtracted than was added. Directions in which no positive curvature is left are dropped.
        """
        if len(self.names) == 0:
            return self
        curvature, directions = np.linalg.eigh(self.precision)
        told = curvature > GATHERED * np.abs(before.precision).max(initial=0.0)
        kept = directions[:, told]
        precision = (kept * curvature[told]) @ kept.T
        return Belief(self.names, (precision + precision.T) / 2, kept @ (kept.T @ self.shift))

    def solve(self, names: Sequence[str], start: Array, ridge: Array) -> Array:
        """Return the weights with these names, (P,).

        They are shrunk towards `start` (P,), with the precisions `ridge` (P,).
        """
        at = {name: i for i, name in enumerate(names)}
        known = [i for i, name in enumerate(self.names) if name in at]
        place = [at[self.names[i]] for i in known]
        precision, shift = np.diag(ridge), ridge * start
        precision[np.ix_(place, place)] += self.precision[np.ix_(known, known)]
        shift[place] += self.shift[known]
        return np.asarray(np.linalg.lstsq(precision, shift)[0], dtype=np.float64)

    def _combine(self, other: Belief, sign: float) -> Belief:
        names = tuple(sorted({*self.names, *other.names}))
        place = {name: i for i, name in enumerate(names)}

        def spread(one: Belief) -> tuple[Array, Array]:
            at = [place[name] for name in one.names]
            precision, shift = np.zeros((len(names), len(names))), np.zeros(len(names))
            precision[np.ix_(at, at)] = one.precision
            shift[at] = one.shift
            return precision, shift

        (mine, own), (theirs, others) = spread(self), spread(other)
        precision = mine + theirs if sign > 0 else difference(mine, theirs)
        shift = own + others if sign > 0 else difference(own, others)
        used = np.flatnonzero(precision.any(axis=1) | (shift != 0))
        kept = tuple(names[i] for i in used)
        return Belief(kept, precision[np.ix_(used, used)], shift[used])
