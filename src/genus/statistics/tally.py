"""Counts by class and key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis, Keys
from genus.statistics.group import Array, ImpossibleError, difference, freeze, settle

MOST_COUNT = 1e200  # sums of smaller counts are far from the largest float


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts by class and key, one table (K, V) per measure.

    `keys` is None if the V keys are the columns of a matrix. Otherwise it has one axis of keys per
    column, and the tables hold the columns' keys side by side.
    """

    classes: Axis = field(default_factory=labels.empty_axis)
    keys: tuple[Keys, ...] | None = None
    counts: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze(self)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the values that families have cached."""
        return {"classes": self.classes, "keys": self.keys, "counts": self.counts}

    def __getitem__(self, measure: str) -> Array:
        return self.counts[measure]

    def __add__(self, other: Tally) -> Tally:
        return self._combine(other, np.add)

    def __sub__(self, other: Tally) -> Tally:
        return self._combine(other, difference)

    def __mul__(self, factor: float) -> Tally:
        scaled = {
            name: np.broadcast_to(factor * slim(table), table.shape)
            for name, table in self.counts.items()
        }
        return Tally.of(self.classes, self.keys, scaled)

    __rmul__ = __mul__

    @property
    def is_finite(self) -> bool:
        """Whether all counts are at most `MOST_COUNT`, so that their sums are finite."""
        if all(bool((sizes <= MOST_COUNT).all()) for sizes in self._sizes.values()):
            return True
        tables = [slim(table) for table in self.counts.values()]
        return all(
            t.min(initial=0) >= -MOST_COUNT and t.max(initial=0) <= MOST_COUNT for t in tables
        )

    @cached_property
    def _sizes(self) -> dict[str, Array]:
        """The sum of squared counts of each class, (K,), by measure."""
        return {name: squared(table) for name, table in self.counts.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (
            labels.is_same(self.classes, other.classes)
            and same_keys(self.keys, other.keys)
            and self.counts.keys() == other.counts.keys()
            and all(np.array_equal(self.counts[name], other.counts[name]) for name in self.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def align(self, classes: Axis, width: int | None = None) -> dict[str, Array]:
        """Return the tables (K, V) for `classes`, in their order; zeros for classes not counted."""
        width = self.width if self.width or width is None else width
        index = labels.positions(self.classes, classes)
        size = len(classes)
        return {
            name: wide(labels.spread(slim(table), index, size), table.shape[1])
            if table.size
            else np.zeros((size, width))
            for name, table in self.counts.items()
        }

    def under(self, own: Axis, classes: Axis) -> Tally:
        """Keep only the counts of the classes `own`, and rename these to `classes`."""
        at = labels.find(own, self.classes)
        there = at >= 0
        return Tally.of(
            classes[there], self.keys, {m: t[at[there]] for m, t in self.counts.items()}
        )

    def only(self, kept: NDArray[np.bool_]) -> Tally:
        """Return only the counts of the keys in the mask `kept` (V,), for a tally of one column."""
        (axis,) = self.keys or (None,)
        if axis is None:
            return self
        counts = {measure: table[:, kept] for measure, table in self.counts.items()}
        return Tally.of(self.classes, (axis[kept],), counts)

    def settled(self, before: Tally) -> Tally:
        """Return what is left of `before` after forgetting, without rounding errors."""
        if len(self.classes) == 0:
            return self
        if not before.counts:
            raise ImpossibleError
        keys, left, right = merge_keys(before, self)
        width = max(before.width, self.width) if keys is None else sum(map(len, keys))
        classes = labels.union(before.classes, self.classes, "classes")
        rows = labels.positions(self.classes, classes)
        counts = {}
        for name, table in self.counts.items():
            here = labels.spread(before.counts[name], left, width, axis=1)
            here = labels.spread(here, labels.positions(before.classes, classes), len(classes))
            counts[name] = settle(table, here[rows][:, right])
        rest = Tally.of(self.classes, self.keys, counts)
        if not rest.is_possible:
            raise ImpossibleError
        return rest

    @property
    def is_possible(self) -> bool:
        """Whether rows can produce these counts: none is negative."""
        return all(bool((slim(table) >= 0).all()) for table in self.counts.values())

    @property
    def width(self) -> int:
        """V, the number of keys of all columns."""
        for table in self.counts.values():
            return table.shape[1]
        return 0

    def _combine(self, other: Tally, operation: Callable[[Array, Array], Array]) -> Tally:
        if not self.counts:
            self = replace(self, counts={m: t[:0, :0] for m, t in other.counts.items()})
        if not other.counts:
            other = replace(other, counts={m: t[:0, :0] for m, t in self.counts.items()})
        if self.counts.keys() != other.counts.keys():
            raise ValueError(
                f"One model has counted {sorted(self.counts)}, the other {sorted(other.counts)}, "
                "because they have different families. Merge models of the same family."
            )
        classes = labels.union(self.classes, other.classes, "classes")
        keys, left, right = merge_keys(self, other)
        width = max(self.width, other.width) if keys is None else sum(map(len, keys))

        here = labels.positions(other.classes, classes)

        def place(tally: Tally, table: Array, columns: NDArray[np.intp]) -> Array:
            rows = here if tally is other else labels.positions(tally.classes, classes)
            if table.shape[1] == tally.width:
                table = labels.spread(table, columns, width, axis=1)
            return labels.spread(table, rows, len(classes))

        counts, sizes = {}, {}
        for name in self.counts:
            one, two = self.counts[name], other.counts[name]
            if keys is None and all(is_slim(table) or not table.size for table in (one, two)):
                one, two = slim(one), slim(two)
            if keys is None and one.shape == (len(classes), two.shape[1]):
                both = one.copy()  # only the rows of the other's classes change
                both[here] = changed = operation(one[here], two)
                sizes[name] = self._sizes[name].copy()
                sizes[name][here] = squared(changed)
            else:
                both = operation(place(self, one, left), place(other, two, right))
                sizes[name] = squared(both)
            counts[name] = wide(both, width)
        return Tally.of(classes, keys, counts, sizes)

    @classmethod
    def of(
        cls,
        classes: Axis,
        keys: tuple[Keys, ...] | None,
        counts: Mapping[str, Array],
        sizes: dict[str, Array] | None = None,
    ) -> Tally:
        """Return a tally without the classes and named keys whose counts are all zero.

        `sizes` are the sums of squared counts of the classes, by measure, if they are known.
        """
        if sizes is None:
            sizes = {name: squared(table) for name, table in counts.items()}
        present = np.zeros(len(classes), dtype=bool)
        for size in sizes.values():
            present |= size > 0
        if not present.all():  # the squares of tiny counts underflow
            for table in counts.values():
                present |= slim(table).any(axis=1)
        if not present.all():
            classes, counts = classes[present], {m: t[present] for m, t in counts.items()}
            sizes = {name: size[present] for name, size in sizes.items()}
        if len(classes) == 0:
            return Tally(labels.empty_axis(), None, {m: np.zeros((0, 0)) for m in counts})
        if keys is not None:
            used = np.zeros(sum(map(len, keys)), dtype=bool)
            for table in counts.values():
                used |= table.any(axis=0)
            if not used.all():
                ends = np.cumsum([len(axis) for axis in keys])[:-1]
                keys = tuple(
                    axis[kept] for axis, kept in zip(keys, np.split(used, ends), strict=True)
                )
                counts = {m: np.ascontiguousarray(t[:, used]) for m, t in counts.items()}
        made = Tally(classes, keys, counts)
        vars(made)["_sizes"] = sizes
        return made


def squared(table: Array) -> Array:
    """Return the sum of squares of each row of a table, (K,); repeated columns count once.

    This takes one pass, without a temporary table or BLAS, whose threads wait for each other.
    """
    table = slim(table)
    return np.einsum("kv,kv->k", table, table)


def is_slim(table: Array) -> bool:
    """Return whether all columns of a table (K, V) are the same column in memory."""
    return table.shape[1] > 1 and table.strides[1] == 0


def slim(table: Array) -> Array:
    """Return one column if all columns of a table are the same in memory, else the table."""
    return table[:, :1] if is_slim(table) else table


def wide(table: Array, width: int) -> Array:
    """Return a table of `width` columns; a single column is repeated."""
    return table if table.shape[1] == width else np.broadcast_to(table, (len(table), width))


def same_keys(a: tuple[Keys, ...] | None, b: tuple[Keys, ...] | None) -> bool:
    """Return whether two tallies count by the same keys."""
    if a is None or b is None:
        return a is b
    return len(a) == len(b) and all(labels.is_same(s, t) for s, t in zip(a, b, strict=True))


def merge_keys(
    a: Tally, b: Tally
) -> tuple[tuple[Keys, ...] | None, NDArray[np.intp], NDArray[np.intp]]:
    """Return the keys of both tallies, and the positions of those of `a` and of `b` among them."""
    if len(a.classes) == 0 or len(b.classes) == 0 or same_keys(a.keys, b.keys):
        known = b if len(a.classes) == 0 else a
        if len(a.classes) and len(b.classes) and a.width != b.width:
            raise ValueError(
                f"One model has {a.width} columns, the other {b.width}. Merge models of the same "
                "columns."
            )
        return known.keys, np.arange(a.width), np.arange(b.width)
    if a.keys is None or b.keys is None or len(a.keys) != len(b.keys):
        raise ValueError("The two models have different columns. Merge models of the same columns.")
    merged: list[Keys] = []
    left, right, start = [], [], 0
    for j, (one, two) in enumerate(zip(a.keys, b.keys, strict=True)):
        both, mine, theirs = labels.merge(one, two, f"categories of column {j}")
        left.append(start + mine)
        right.append(start + theirs)
        merged.append(both)
        start += len(both)
    return tuple(merged), np.concatenate(left), np.concatenate(right)
