"""Keep rows of numbers by class while they take less memory than their sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.statistics.group import (
    GATHERED,
    ROUNDING,
    Array,
    ImpossibleError,
    difference,
    divide,
    freeze,
)
from genus.statistics.moments import Moments, grid_point

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Points:
    """The r rows x (r, n) themselves, with their classes and weights, instead of the sums Σwxxᵀ.

    Weighted rows form a group as sums do, without rounding: `+` concatenates two lists, `-` cancels
    equal rows, and `*` scales the weights. From `limit` rows on they become `moments`, the sums in
    the form of `structure` and `quartic` (see `Moments`). Adding rows to sums, or subtracting them,
    gives sums. Two lists are equal if their sums are.
    """

    structure: str
    quartic: bool
    limit: int
    classes: Axis
    codes: Codes
    weight: Array
    x: Array

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def width(self) -> int:
        """n, the number of columns."""
        return self.x.shape[1]

    @property
    def is_possible(self) -> bool:
        """Whether these can be rows: no weight is negative."""
        return bool((self.weight >= 0).all())

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def is_finite(self) -> bool:
        """Whether no sum over the rows is too large for a float."""
        return bool(np.isfinite(np.abs(self.weight) @ (self.x * self.x)).all())

    def __add__(self, other: Any) -> Any:
        return self._combine(other, 1.0)

    def __radd__(self, other: Moments) -> Any:
        return self._combine(other, 1.0)

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, -1.0)

    def __rsub__(self, other: Moments) -> Any:
        return -1.0 * self if len(other.classes) == 0 else other - self.moments

    def __mul__(self, factor: float) -> Any:
        if factor == 0:
            return self.zero()
        return replace(self, weight=factor * self.weight)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Points | Moments):
            return NotImplemented
        if isinstance(other, Points) and self.width == other.width:
            left = self._listed(other, -1.0)
            if len(left.classes) == 0:
                return bool(self.structure == other.structure and self.quartic == other.quartic)
        return self.moments == other.moments

    __hash__ = None  # type: ignore[assignment]

    def zero(self) -> Moments:
        """Return the sums over no rows."""
        return Moments.zero(self.structure, self.quartic)

    def _combine(self, other: Any, sign: float) -> Any:
        if isinstance(other, Moments):
            if len(other.classes):
                return self.moments + other if sign > 0 else self.moments - other
            return self
        same = (self.structure, self.quartic) == (other.structure, other.quartic)
        if not same or self.width != other.width or len(self) + len(other) >= self.limit:
            return self.moments + other.moments if sign > 0 else self._less(other)
        return self._listed(other, sign)

    def _less(self, other: Points) -> Any:
        left = self._listed(other, -1.0) if self.width == other.width else None
        fits = left is not None and (len(left.classes) == 0 or len(left) < self.limit)
        return left if fits else self.moments - other.moments

    def _listed(self, other: Points, sign: float) -> Any:
        """Return both lists as one; if some weights are negative, combine equal rows."""
        classes = labels.union(self.classes, other.classes, "classes")
        codes = [
            labels.positions(one.classes, classes)[one.codes].astype(np.int64)
            for one in (self, other)
        ]
        both = replace(
            self,
            classes=classes,
            codes=np.concatenate(codes),
            weight=np.concatenate([self.weight, sign * other.weight]),
            x=np.vstack([self.x, other.x]),
        )
        return both if both.is_possible else both.cancelled()

    def cancelled(self) -> Any:
        """Combine equal rows, and drop those without weight."""
        keys = np.column_stack([self.codes.astype(np.float64), self.x + 0.0])  # -0.0 is 0.0
        as_bytes = keys.view(np.dtype((np.void, keys.itemsize * keys.shape[1])))[:, 0]
        _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
        given, taken = (summed(which, np.maximum(w, 0.0)) for w in (self.weight, -self.weight))
        weight = difference(given, taken)
        kept = np.flatnonzero(weight)
        kept = kept[np.argsort(first[kept])]  # in their original order
        rows = first[kept]
        return replace(self, codes=self.codes[rows], weight=weight[kept], x=self.x[rows]).present()

    def present(self) -> Any:
        """Return the rows without the classes that have none; zero sums if no row is left."""
        there = np.bincount(self.codes, minlength=len(self.classes)) > 0
        if not there.any():
            return self.zero()
        codes = (np.cumsum(there) - 1)[self.codes]
        return self if there.all() else replace(self, classes=self.classes[there], codes=codes)

    def __len__(self) -> int:
        return len(self.x)

    def settled(self, before: Any) -> Any:
        """Return what is left of `before` after forgetting, or raise ImpossibleError."""
        most = np.abs(before.weight).max() if isinstance(before, Points) else 0.0
        heavy = np.abs(self.weight) > GATHERED * most
        rest = replace(self, codes=self.codes[heavy], weight=self.weight[heavy], x=self.x[heavy])
        if not rest.is_possible:
            short = np.bincount(rest.codes, rest.weight) < 0
            raise ImpossibleError(of_other_rows=not short.any())
        return rest.present()

    def under(self, own: Axis, classes: Axis) -> Any:
        """Keep only the rows of the classes `own`, and rename these to `classes`."""
        at = labels.find(self.classes, own)
        kept = at[self.codes] >= 0
        codes = at[self.codes[kept]].astype(np.int64)
        weight, x = self.weight[kept], self.x[kept]
        return replace(self, classes=classes, codes=codes, weight=weight, x=x).present()

    def align(self, classes: Axis, width: int) -> Points:
        """Return the same rows, with codes that are positions in `classes`."""
        if labels.is_same(self.classes, classes):
            return self
        codes = labels.positions(self.classes, classes)[self.codes].astype(np.int64)
        return replace(self, classes=classes, codes=codes)

    # Results in the shapes of `Moments`

    @cached_property
    def weights(self) -> Array:
        """The weight of each class, (K, 1)."""
        return summed(self.codes, self.weight, len(self.classes))[:, None]

    def mean(self) -> Array:
        """Return class means (K, n); zero where nothing was counted."""
        return self._centred[0].copy()

    def variance(self) -> Array:
        """Return the variances within classes, (K, n), with the divisor Σw."""
        return self._variance

    @cached_property
    def _variance(self) -> Array:
        _, z = self._centred
        return divide(self._members @ (z * z), self.weights)

    def spread(self, k: int | None) -> Array:
        """Return S = √w (x - mean) of the rows of class k, or of all; SᵀS is the scatter."""
        rows = slice(None) if k is None else self.codes == k
        return np.sqrt(self.weight[rows])[:, None] * self._centred[1][rows]

    @cached_property
    def _centred(self) -> tuple[Array, Array]:
        """Return class means (K, n), and x - mean (r, n), with zeros for rounding errors."""
        mean = divide(self._members @ self.x, self.weights)
        z = self.x - mean[self.codes]
        shift = divide(self._members @ z, self.weights)
        mean += shift
        z -= shift[self.codes]
        z[np.abs(z) <= (ROUNDING * np.abs(mean))[self.codes]] = 0.0
        return mean, z

    @cached_property
    def _members(self) -> Array:
        """A matrix (K, r) with the weight of each row in its own class, and zero elsewhere."""
        members = np.zeros((len(self.classes), len(self)))
        members[self.codes, np.arange(len(self))] = self.weight
        return members

    def _by_class(self, values: Array) -> Array:
        """Return sums of rows by class, (K, n)."""
        out = np.zeros((len(self.classes), values.shape[1]))
        for k in range(len(self.classes)):
            out[k] = values[self.codes == k].sum(axis=0)
        return out

    @cached_property
    def moments(self) -> Moments:
        """The sums over the rows."""
        K, n = len(self.classes), self.width
        size = np.abs(self.weight)[:, None]
        total = self._by_class(size)
        middle = divide(self._by_class(size * self.x), total)
        off = self.x - middle[self.codes]
        origin = grid_point(middle, np.sqrt(divide(self._by_class(size * off * off), total)))
        z = self.x - origin[self.codes]
        heavy = self.weight[:, None] * z
        third = fourth = None
        if self.structure == "pooled":
            squares = z.T @ heavy
        else:
            squares = np.zeros((K, n, n))
            third, fourth = (
                (np.zeros((K, n, n)) for _ in range(2)) if self.quartic else (None, None)
            )
            for k in range(K):
                own, weighed = z[self.codes == k], heavy[self.codes == k]
                squares[k] = own.T @ weighed
                if third is not None and fourth is not None:
                    third[k] = (own * own).T @ weighed
                    fourth[k] = (own * own).T @ (own * weighed)
        sums = self._by_class(heavy)
        found = Moments.counted(
            self.structure, self.classes, origin, self.weights, sums, squares, third, fourth
        )
        return found.canonical()

    def describe(self) -> str:
        """Describe what was counted, for errors."""
        return self.moments.describe()


def summed(codes: NDArray[np.intp], weight: Array, size: int = 0) -> Array:
    """Return the total weight of each code, for codes below `size` or up to the largest."""
    return np.bincount(codes, weight, size).astype(np.float64)
