"""The operations that all statistics share, and the rounding errors of their sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from genus._kernel import subtract
from genus.arrays.labels import Axis
from genus.arrays.matrix import threads

Array = NDArray[np.float64]

# Two sums that should cancel may differ in their last bits if the weights were not whole numbers.
ROUNDING = 8 * np.finfo(float).eps
# The error that millions of additions of such weights may accumulate; it is below any sensible
# weight of a row.
GATHERED = 1e-9
MANY = 20  # weights, or different values: so many are hardly alike by chance


class ImpossibleError(ValueError):
    """More was forgotten than was learned: no rows can produce the result.

    If `of_other_rows`, the numbers of rows fit, but the forgotten rows were never learned.
    """

    def __init__(self, of_other_rows: bool = False) -> None:
        super().__init__("No rows can produce the difference. Subtract only what was added before.")
        self.of_other_rows = of_other_rows


class Statistics(Protocol):
    """What all statistics provide; `Family.count` returns them."""

    @property
    def classes(self) -> Axis: ...
    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __mul__(self, factor: float, /) -> Self: ...
    def under(self, own: Axis, classes: Axis) -> Self:
        """Keep only the statistics of the classes `own`, and rename them to `classes`."""

    def settled(self, before: Self) -> Self:
        """Remove rounding errors from what is left of `before`, after rows were forgotten.

        Raise ImpossibleError if no rows can produce the rest.
        """

    @property
    def is_finite(self) -> bool:
        """Whether all sums are finite."""

    @property
    def is_possible(self) -> bool:
        """Whether rows can produce these sums."""


def difference(a: Array, b: Array) -> Array:
    """Return a - b, with zero where the difference is only a rounding error."""
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    return subtract(a.reshape(-1), b.reshape(-1), ROUNDING, threads()).reshape(a.shape)


def settle(rest: Array, before: Array) -> Array:
    """Return `rest`, what is left of `before`, with zeros where it is only a rounding error.

    Sums of whole numbers are exact and stay as they are. In other sums the rounding errors of many
    operations may accumulate.
    """
    whole = (rest == np.floor(rest)) & (before == np.floor(before))
    return np.where((np.abs(rest) <= GATHERED * np.abs(before)) & ~whole, 0.0, rest)


def common_unit(weights: Array) -> float:
    """Return the weight of one row, if many weights tell it: a number that divides all of them.

    It is the smallest weight or, for whole weights, their greatest common divisor. Return 1 if
    there is no such number, or if few weights have it by chance: one in 2^MANY times.

    >>> common_unit(np.full(50, 2.5)), common_unit(np.arange(50) * 4.0), common_unit(np.full(5, 2))
    (2.5, 4.0, 1.0)
    """
    there = weights[weights > 0]
    if is_whole(there):
        unit = float(np.gcd.reduce(np.round(there).astype(np.int64))) if len(there) else 1.0
        return unit if unit ** -len(there) < 2.0**-MANY or unit == 1 else 1.0
    least = float(there.min())
    return least if len(there) >= MANY and is_whole(there / least) else 1.0


def is_whole(x: Array) -> bool:
    """Return whether all numbers are whole, except for rounding errors, and not huge."""
    near = np.abs(x - np.round(x)) <= GATHERED * np.minimum(x, 1e3)
    return bool(near.all()) and float(x.max(initial=0)) < 2.0**53


def divide(a: Array, b: Array) -> Array:
    """Return a / b, with zero where b is zero."""
    if b.all():
        return np.asarray(a / b)
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b != 0)


PLAIN = {str, int, float, bool, type(None), np.float64}  # types without arrays


def freeze(value: Any) -> Any:
    """Make all arrays in a value read-only, also inside dataclasses, tuples and dictionaries.

    Return the same value.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
        return value
    if has_fields(kind):  # type: ignore[arg-type]
        parts: Any = vars(value).values()
    elif isinstance(value, tuple | list):
        parts = value
    elif isinstance(value, Mapping):
        parts = value.values()
    else:
        return value
    for part in parts:
        if type(part) is np.ndarray:
            part.setflags(write=False)
        elif type(part) not in PLAIN:
            freeze(part)
    return value


@cache
def has_fields(kind: type) -> bool:
    """Return whether a type is a dataclass."""
    return is_dataclass(kind)
