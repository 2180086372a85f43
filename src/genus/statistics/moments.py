"""Sums of powers of numbers, by class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from genus._kernel import centre_powers, grid_points
from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.statistics.group import (
    GATHERED,
    ROUNDING,
    Array,
    ImpossibleError,
    difference,
    freeze,
    settle,
)

RESOLUTION = 8 * ROUNDING  # a scatter below this share of the sum of squares is rounding error


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of powers of z = x - origin by class: Σw, Σwz and Σwz² or Σwzzᵀ.

    The origin of a class is its mean on a coarse grid. Raw sums (origin 0) lose their digits if the
    mean is large compared with the spread. The values (n, mean, Σ(x - mean)²) do not form a group,
    because the mean of no rows is undefined. Sums about an origin do, and moving the origin is
    exact algebra. The origin is computed again from the sums after every operation, so that it
    contains nothing of what was forgotten.

    `structure` says which second powers are kept:
    - "diagonal": Σwz² by class and column, (K, n), weights (K, n): missing values are left out
    - "pooled":   Σwzzᵀ over all classes, each about its own origin, (n, n), weights (K, 1)
    - "separate": Σwzzᵀ by class, (K, n, n), weights (K, 1)
    `noise`, in the shape of `variance()`, bounds the rounding error in the diagonal of the squares:
    a large sum that was added and subtracted leaves rounding errors, which must not count as
    variance. It is not part of the counts, and not compared.
    `third` (Σwz_j²z_l) and `fourth` (Σwz_j²z_l²), both (K, n, n), are for Ledoit-Wolf shrinkage.
    """

    structure: str
    classes: Axis
    origin: Array
    weights: Array
    sums: Array
    squares: Array
    noise: Array
    third: Array | None = None
    fourth: Array | None = None

    def __post_init__(self) -> None:
        freeze(self)

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    @cache
    def zero(cls, structure: str, quartic: bool = False) -> Moments:
        """Return the sums over no rows."""
        none = np.zeros((0, 0))
        cube = np.zeros((0, 0, 0))
        squares = cube if structure == "separate" else none
        noise = np.zeros(0) if structure == "pooled" else none
        extra = cube if quartic else None
        return cls(structure, labels.empty_axis(), none, none, none, squares, noise, extra, extra)

    @classmethod
    def counted(
        cls,
        structure: str,
        classes: Axis,
        origin: Array,
        weights: Array,
        sums: Array,
        squares: Array,
        third: Array | None = None,
        fourth: Array | None = None,
    ) -> Moments:
        """Return sums that were just computed from rows, with the noise of one summation."""
        second = squares if structure == "diagonal" else diagonal(squares)
        noise = ROUNDING * second
        return cls(structure, classes, origin, weights, sums, squares, noise, third, fourth)

    @property
    @np.errstate(over="ignore", invalid="ignore")
    def is_possible(self) -> bool:
        """Whether rows can produce these sums: no weight or variance is negative."""
        return bool((self.weights >= 0).all() and (self.variance() >= 0).all())

    @property
    def is_finite(self) -> bool:
        """Whether no sum is too large for a float."""
        return all(sums is None or bool(np.isfinite(sums).all()) for sums in self._sums())

    @property
    def width(self) -> int:
        """n, the number of columns."""
        return self.origin.shape[1]

    @property
    def moments(self) -> Moments:
        """These sums themselves; for `Points`, this property converts the rows to sums."""
        return self

    def __add__(self, other: Moments) -> Moments:
        return self._combine(other, np.add) if isinstance(other, Moments) else NotImplemented

    def __sub__(self, other: Moments) -> Moments:
        return self._combine(other, difference) if isinstance(other, Moments) else NotImplemented

    def __mul__(self, factor: float) -> Moments:
        if factor == 0 or len(self.classes) == 0:
            return Moments.zero(self.structure, self.third is not None)
        w, s, S, third, fourth = self._sums()
        return replace(
            self,
            weights=factor * w,
            sums=factor * s,
            squares=factor * S,
            noise=abs(factor) * self.noise,
            third=None if third is None else factor * third,
            fourth=None if fourth is None else factor * fourth,
        )

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return (
            self.structure == other.structure
            and labels.is_same(self.classes, other.classes)
            and np.array_equal(self.origin, other.origin)
            and all(same_array(a, b) for a, b in zip(self._sums(), other._sums(), strict=True))
        )

    __hash__ = None  # type: ignore[assignment]

    def align(self, classes: Axis, width: int) -> Moments:
        """Return the same sums for `classes`, in their order; zeros for classes not counted."""
        if labels.is_same(self.classes, classes) and self.width == width:
            return self
        index, size = labels.positions(self.classes, classes), len(classes)
        if len(self.classes) == 0:
            columns = width if self.structure == "diagonal" else 1
            square = (width,) if self.structure == "diagonal" else (width, width)
            return replace(
                self,
                classes=classes,
                origin=np.zeros((size, width)),
                weights=np.zeros((size, columns)),
                sums=np.zeros((size, width)),
                squares=np.zeros(square if self.structure == "pooled" else (size, *square)),
                noise=np.zeros(width if self.structure == "pooled" else (size, width)),
                third=None if self.third is None else np.zeros((size, width, width)),
                fourth=None if self.fourth is None else np.zeros((size, width, width)),
            )
        return self._by_class(classes, lambda sums: labels.spread(sums, index, size))

    def of_columns(self, columns: NDArray[np.intp]) -> Moments:
        """Return the diagonal sums of the given columns, in their order; zeros for column -1."""
        if len(self.classes) == 0:
            return self

        def taken(sums: Array) -> Array:
            found = sums[:, columns]
            found[:, columns < 0] = 0.0
            return found

        weights = taken(self.weights)
        there = weights.any(axis=1)
        kept = replace(
            self,
            origin=taken(self.origin),
            weights=weights,
            sums=taken(self.sums),
            squares=taken(self.squares),
            noise=taken(self.noise),
        )
        classes = self.classes[there]
        return kept if there.all() else kept._by_class(classes, lambda sums: sums[there])

    def about(self, origin: Array) -> Moments:
        """Return the same sums about another origin: z' = z + δ, δ = old origin - new origin."""
        δ = self.origin - origin
        if not δ.any():
            return self
        w, s, S, third, fourth = self._sums()
        if self.structure == "diagonal":
            squares = S + 2 * δ * s + w * δ * δ
        elif self.structure == "pooled":
            squares = S + δ.T @ s + s.T @ δ + δ.T @ (w * δ)
        else:
            squares = S + outer(δ, s) + outer(s, δ) + w[:, :, None] * outer(δ, δ)
        if third is not None and fourth is not None:
            # Expand (z_j+δ_j)²(z_l+δ_l) and (z_j+δ_j)²(z_l+δ_l)² and sum term by term.
            d, e = δ[:, :, None], δ[:, None, :]  # δ_j, δ_l
            sj, sl, w3 = s[:, :, None], s[:, None, :], w[:, :, None]
            diagonal = np.einsum("kjj->kj", S)
            Sj, Sl = diagonal[:, :, None], diagonal[:, None, :]
            transposed = third.transpose(0, 2, 1)
            fourth = (
                fourth
                + 2 * e * third
                + 2 * d * transposed
                + e**2 * Sj
                + d**2 * Sl
                + 4 * d * e * S
                + 2 * d * e**2 * sj
                + 2 * d**2 * e * sl
                + w3 * d**2 * e**2
            )
            third = third + 2 * d * S + e * Sj + d**2 * sl + 2 * d * e * sj + w3 * d**2 * e
        moved = np.abs(δ * s) + np.abs(w) * δ * δ
        moved = moved.sum(axis=0) if self.structure == "pooled" else moved
        return replace(
            self,
            origin=origin,
            sums=s + w * δ,
            squares=squares,
            noise=self.noise + ROUNDING * (np.abs(self._second()) + moved),
            third=third,
            fourth=fourth,
        )

    def mean(self) -> Array:
        """Return class means (K, n), with the origin where nothing was counted."""
        return self.origin + self._offset

    def scatter(self) -> Array:
        """Return Σw(x - mean)(x - mean)ᵀ in the shape of `squares`."""
        d = self._offset
        if self.structure == "diagonal":
            return self._resolved(self.squares - d * self.sums, self.squares)
        if self.structure == "pooled":
            scatter = symmetric(self.squares - d.T @ self.sums)
        else:
            scatter = symmetric(self.squares - outer(d, self.sums))
        second = np.diagonal(self.squares, axis1=-2, axis2=-1)
        constant = self._resolved(np.diagonal(scatter, axis1=-2, axis2=-1), second) == 0
        return np.where(constant[..., :, None] | constant[..., None, :], 0.0, scatter)

    def variance(self) -> Array:
        """Return the variances within classes, (K, n), or (n,) if pooled, with the divisor Σw.

        A variance that is only a rounding error becomes 0.
        """
        return self._centred[1]

    @cached_property
    def _centred(self) -> tuple[Array, Array, Array, bool]:
        """Return mean - origin, variance, new origin, and whether no rows can have these sums."""
        pooled, second = self.structure == "pooled", self._second()
        second = second[None] if pooled else second
        sums = self.origin, self.weights, self.sums, second
        offset, variance, origin, formal = centre_powers(*sums, pooled, RESOLUTION)
        return freeze((offset, variance[0] if pooled else variance, origin, formal))

    def canonical(self) -> Moments:
        """Drop empty classes, and move each origin to the class mean, rounded to the grid."""
        present = self.weights.any(axis=1)
        if not present.all():
            present = present | self.sums.any(axis=1)
            if self.structure != "pooled":
                present = present | self.squares.any(axis=tuple(range(1, self.squares.ndim)))
            elif not present.any() and self.squares.any():
                present = np.ones_like(present)  # a formal difference may have only squares
        if not present.any():
            return Moments.zero(self.structure, self.third is not None)
        kept = self
        if not present.all():
            kept = self._by_class(self.classes[present], lambda sums: sums[present])
        return kept.about(kept.centred_origin())

    def centred_origin(self) -> Array:
        """Return class means, rounded by `grid_point`; 0 for empty classes."""
        _, _, origin, formal = self._centred
        # Formal differences, which no rows can produce, keep their origin.
        return np.where(self._blank(), 0.0, origin) if formal else origin

    def _combine(self, other: Moments, operation: Callable[[Array, Array], Array]) -> Moments:
        if self.structure != other.structure or (self.third is None) != (other.third is None):
            raise ValueError(
                f"One model holds {self.describe()}; the other holds {other.describe()}. To merge "
                "them, fit both with the same options shared, diagonal and shrinkage."
            )
        if len(other.classes) == 0:
            return self
        if len(self.classes) and self.width != other.width:
            raise ValueError(
                f"One model has {self.width} columns, the other {other.width}. Merge models of "
                "the same columns."
            )
        classes = labels.union(self.classes, other.classes, "classes")
        a, b = self.align(classes, other.width), other.align(classes, other.width)
        origin = common_origin(a, b)
        a, b = a.about(origin), b.about(origin)
        w, s, S, third, fourth = (
            None if one is None or two is None else operation(one, two)
            for one, two in zip(a._sums(), b._sums(), strict=True)
        )
        assert w is not None
        assert s is not None
        assert S is not None
        noise = a.noise + b.noise + ROUNDING * (np.abs(a._second()) + np.abs(b._second()))
        return Moments(self.structure, classes, origin, w, s, S, noise, third, fourth).canonical()

    def settled(self, before: Moments) -> Moments:
        """Return what is left of `before` after forgetting, without rounding errors.

        Nothing is left of a class without weight. A variance becomes zero if the digits of `before`
        do not distinguish it from zero.
        """
        before = before.moments
        if len(self.classes) == 0:
            return self
        if (labels.find(self.classes, before.classes) < 0).any():
            raise ImpossibleError
        known = before.weights[labels.positions(self.classes, before.classes)]
        weights = settle(self.weights, known)
        there = weights != 0
        squares = self.squares
        if self.structure == "diagonal":
            squares = np.where(there, squares, 0.0)
        elif self.structure == "separate":
            squares = np.where(there[:, :, None], squares, 0.0)
        elif not there.any():
            squares = np.zeros_like(squares)
        if self._has_remains(there, known):
            raise ImpossibleError(of_other_rows=True)
        sums = np.where(there, self.sums, 0.0)
        rest = replace(self, weights=weights, sums=sums, squares=squares).canonical()
        return rest.without_noise() if len(rest.classes) else rest

    def _has_remains(self, there: NDArray[np.bool_], before: Array) -> bool:
        """Return whether a class without weight has sums left: then wrong rows were forgotten.

        `noise` is at least ROUNDING times S, the sum of all squares that were added and subtracted.
        So if sums cancel, at most GATHERED S is left of Σwz², and of (Σwz)² / Σw by Cauchy's
        inequality.
        """
        limit = GATHERED / ROUNDING * self.noise
        if self.structure == "pooled":
            limit = np.broadcast_to(limit, self.sums.shape)
            squares = np.zeros_like(limit)
        else:
            squares = np.abs(self._second())
        remains = (squares > limit) | (self.sums**2 > limit * np.abs(before))
        return bool((remains & ~there).any())

    def without_noise(self) -> Moments:
        """Return the same sums, with zero for variances that are no larger than the noise.

        Raise ImpossibleError if a weight, or the variance in any direction, is negative.
        """
        scatter, noise = self.scatter(), 4 * self.width * self.noise
        variances = scatter if self.structure == "diagonal" else diagonal(scatter)
        positive = (
            bool((variances >= -noise).all())
            if self.structure == "diagonal"
            else is_positive(scatter, noise)
        )
        if (self.weights < 0).any() or not positive:
            raise ImpossibleError
        constant = self._offset * self.sums
        constant = constant.sum(axis=0) if self.structure == "pooled" else constant
        squares = self.squares.copy()
        second = squares if self.structure == "diagonal" else diagonal(squares)
        np.copyto(second, constant, where=variances <= noise)
        return replace(self, squares=squares)

    def describe(self) -> str:
        """Describe what is counted, for errors."""
        kept = {
            "diagonal": "one variance per class and column",
            "pooled": "one covariance of all classes",
            "separate": "one covariance per class",
        }[self.structure]
        return kept + (" with fourth moments" if self.third is not None else "")

    def _sums(self) -> tuple[Array, Array, Array, Array | None, Array | None]:
        return self.weights, self.sums, self.squares, self.third, self.fourth

    def _by_class(self, classes: Axis, change: Callable[[Array], Array]) -> Moments:
        """Apply `change` to every array with a class axis (pooled squares have none)."""
        return replace(
            self,
            classes=classes,
            origin=change(self.origin),
            weights=change(self.weights),
            sums=change(self.sums),
            squares=self.squares if self.structure == "pooled" else change(self.squares),
            noise=self.noise if self.structure == "pooled" else change(self.noise),
            third=None if self.third is None else change(self.third),
            fourth=None if self.fourth is None else change(self.fourth),
        )

    def under(self, own: Axis, classes: Axis) -> Moments:
        """Keep only the sums of the classes `own`, and rename these to `classes`.

        Pooled squares are not supported, because they belong to all classes together.
        """
        at = labels.find(own, self.classes)
        there = at >= 0
        return self._by_class(classes[there], lambda sums: sums[at[there]]).canonical()

    def _blank(self) -> NDArray[np.bool_]:
        """Return a mask, (K, n) or (K, 1), of where nothing was counted and any origin will do."""
        if self.structure == "diagonal":
            return (self.weights == 0) & (self.sums == 0) & (self.squares == 0)
        some = self.sums.any(axis=1, keepdims=True)
        if self.structure == "separate":
            some |= np.abs(self.squares).max(axis=(1, 2), initial=0.0)[:, None] > 0
        return (self.weights == 0) & ~some

    def _second(self) -> Array:
        """Return the diagonal of the squares, in the shape of `variance()`."""
        return self.squares if self.structure == "diagonal" else diagonal(self.squares)

    @property
    def _offset(self) -> Array:
        """The class mean minus the origin, (K, n)."""
        return self._centred[0]

    @staticmethod
    def _resolved(scatter: Array, second: Array) -> Array:
        """Return the scatter, with zero where it is only a rounding error of `second`."""
        return np.where(np.abs(scatter) <= RESOLUTION * np.abs(second), 0.0, scatter)


def common_origin(a: Moments, b: Moments) -> Array:
    """Return the origin of the operand with more weight, so that a + b equals b + a."""
    evidence_a, evidence_b = np.abs(a.weights), np.abs(b.weights)
    heavier = evidence_a > evidence_b
    if heavier.all():
        return a.origin
    level = evidence_a == evidence_b
    size_a, size_b = np.abs(a.origin), np.abs(b.origin)
    nearer = (size_a < size_b) | ((size_a == size_b) & (a.origin > b.origin))
    nearer = (nearer & ~a._blank()) | b._blank()
    return np.where(heavier | (level & nearer), a.origin, b.origin)


def same_array(a: Array | None, b: Array | None) -> bool:
    """Return whether two arrays are equal, or both absent."""
    return a is b if a is None or b is None else np.array_equal(a, b)


def diagonal(matrices: Array) -> Array:
    """Return the diagonals of (stacked) matrices (…, n, n), as a writable view."""
    return np.einsum("...jj->...j", matrices)


def is_positive(matrices: Array, slack: Array) -> bool:
    """Return whether (stacked) matrices (…, n, n) are positive definite.

    `slack` (…, n) is added to their diagonals first; columns with zero on the diagonal are ignored.
    """
    raised = matrices.copy()
    diagonal(raised)[...] += slack
    variance = diagonal(raised)
    if (variance < 0).any():
        return False
    scale = np.where(variance > 0, np.sqrt(variance), np.inf)
    raised /= scale[..., :, None] * scale[..., None, :]
    diagonal(raised)[variance == 0] = 1.0
    try:
        np.linalg.cholesky(raised)
    except np.linalg.LinAlgError:
        return False
    return True


def outer(a: Array, b: Array) -> Array:
    """Return outer products class by class, (K, n, n)."""
    return a[:, :, None] * b[:, None, :]


def symmetric(matrix: Array) -> Array:
    """Return the symmetric part, which equals the matrix up to rounding."""
    return (matrix + matrix.swapaxes(-1, -2)) / 2


def grid_point(mean: Array, spread: Array) -> Array:
    """Return the mean, rounded to a multiple of a power of two about as large as the spread.

    If x and the result are whole numbers, z = x - result is whole, too, so its sums are exact. The
    power of two is at least |mean| / 2³⁰; if there is no spread, it is about |mean| / 2²⁰. A mean
    that is not finite gives 0.

    >>> grid_point(np.array([100_000_003.2]), np.array([0.9]))
    array([1.00000003e+08])
    """
    return grid_points(mean.reshape(-1), spread.reshape(-1)).reshape(mean.shape)
