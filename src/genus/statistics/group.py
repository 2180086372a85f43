"""What both statistics share: the group that they form, and how exact its sums are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
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
# What millions of additions of such weights may be off by, and less than anyone weighs a row with.
GATHERED = 1e-9


class ImpossibleError(ValueError):
    """More was to be forgotten than was learned: no rows can have left that behind.

    `of_other_rows`: as many as were learned, but not the same.
    """

    def __init__(self, of_other_rows: bool = False) -> None:
        super().__init__("No rows can have left that behind.")
        self.of_other_rows = of_other_rows


class Statistics(Protocol):
    """What every family counts into."""

    @property
    def classes(self) -> Axis: ...
    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __mul__(self, factor: float, /) -> Self: ...
    def under(self, own: Axis, classes: Axis) -> Self:
        """What was counted of the classes `own`, under other names."""

    def settled(self, before: Self) -> Self:
        """What is left of `before` after forgetting; ImpossibleError if it was not in it."""

    @property
    def is_finite(self) -> bool:
        """Whether no sum has grown beyond what can be calculated with."""

    @property
    def is_possible(self) -> bool:
        """Whether rows can have given these sums."""


def difference(a: Array, b: Array) -> Array:
    """a - b, exactly zero where the two agree to rounding; whole numbers need no rounding."""
    if a.shape != b.shape:
        a, b = np.broadcast_arrays(a, b)
    return subtract(a.reshape(-1), b.reshape(-1), ROUNDING, threads()).reshape(a.shape)


def settle(rest: Array, before: Array) -> Array:
    """What is left of `before` after forgetting: no more than rounding of it is nothing.

    Sums of whole numbers are exact; of others the error of many operations may have gathered.
    """
    whole = (rest == np.floor(rest)) & (before == np.floor(before))
    return np.where((np.abs(rest) <= GATHERED * np.abs(before)) & ~whole, 0.0, rest)


def divide(a: Array, b: Array) -> Array:
    """a / b, zero where b is zero."""
    if np.all(b):
        return np.asarray(a / b)
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b != 0)


def freeze(value: Any) -> Any:
    """A value, made of dataclasses, tuples and dictionaries, with arrays that cannot be written."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        return value
    for name in field_names(type(value)):  # type: ignore[arg-type]
        freeze(getattr(value, name))
    if isinstance(value, tuple | list | Mapping):
        for item in value.values() if isinstance(value, Mapping) else value:
            freeze(item)
    return value


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass; none of another type."""
    return tuple(part.name for part in fields(kind)) if is_dataclass(kind) else ()
