"""Count the joint values of every pair of columns, by class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.statistics.group import Array, ImpossibleError, difference, freeze, settle
from genus.statistics.tally import MOST_COUNT, Tally, same_keys


@dataclass(frozen=True, eq=False)
class Pairs:
    """The weights of rows by class and by the keys of two columns: `counts` (K, V, V), symmetric.

    `keys` has one axis per column. The V slots are the keys of all columns, column after column;
    the first slot of every column is for rows in which it is missing. Paired with itself, a column
    counts each key with itself only, so the diagonal equals a tally. The counts are the second
    moments of indicators of the slots.
    """

    classes: Axis = field(default_factory=labels.empty_axis)
    keys: tuple[Axis, ...] = ()
    counts: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))

    def __post_init__(self) -> None:
        freeze(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"classes": self.classes, "keys": self.keys, "counts": self.counts}

    @classmethod
    def of(cls, classes: Axis, keys: tuple[Axis, ...], counts: Array) -> Pairs:
        """Return pairs without the classes and keys whose counts are all zero."""
        there = np.einsum("kvv->kv", counts) != 0  # most slots have counts with themselves
        present, used = there.any(axis=1), np.asarray(there.any(axis=0))
        present[~present] = counts[~present].any(axis=(1, 2))
        if not present.any():
            return cls()
        used[~used] = counts[:, ~used].any(axis=(0, 2))
        if not present.all():
            classes, counts = classes[present], counts[present]
        starts = slots(keys)
        used[starts[:-1]] = True  # the slot for missing values is always kept
        if not used.all():
            keys = tuple(
                axis[used[start + 1 : end]]
                for axis, start, end in zip(keys, starts[:-1], starts[1:], strict=True)
            )
            at = np.flatnonzero(used)
            kept = np.empty((len(counts), len(at), len(at)))
            for own, of_class in zip(kept, counts, strict=True):
                of_class.take(at, 0).take(at, 1, out=own, mode="clip")  # "raise" makes a copy
            counts = kept
        return cls(classes, keys, counts)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first slot of each column, followed by the number of all slots, (columns + 1,)."""
        return slots(self.keys)

    def __add__(self, other: Pairs) -> Pairs:
        return self._combine(other, np.add)

    def __sub__(self, other: Pairs) -> Pairs:
        return self._combine(other, difference)

    def __mul__(self, factor: float) -> Pairs:
        return Pairs.of(self.classes, self.keys, factor * self.counts)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return (
            labels.is_same(self.classes, other.classes)
            and same_keys(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_finite(self) -> bool:
        """Whether all counts are at most `MOST_COUNT`, so that their sums are finite."""
        return bool(np.abs(self.counts).max(initial=0) <= MOST_COUNT)

    @property
    def is_possible(self) -> bool:
        """Whether rows can produce these counts: none is negative."""
        return bool((self.counts >= 0).all())

    def align(self, classes: Axis) -> Array:
        """Return the counts for `classes`, in their order; zeros for classes not counted."""
        return labels.spread(self.counts, labels.positions(self.classes, classes), len(classes))

    def under(self, own: Axis, classes: Axis) -> Pairs:
        """Keep only the counts of the classes `own`, and rename these to `classes`."""
        at = labels.find(own, self.classes)
        there = at >= 0
        return Pairs.of(classes[there], self.keys, self.counts[at[there]])

    def settled(self, before: Pairs) -> Pairs:
        """Return what is left of `before` after forgetting, without rounding errors."""
        if len(self.classes) == 0:
            return self
        keys, mine, _ = merge_slots(self, before)
        if same_keys(keys, before.keys) and len(before.classes):
            at = labels.find(self.classes, before.classes)
            if (at >= 0).all():
                here = before.counts[np.ix_(at, mine, mine)]
                rest = Pairs.of(self.classes, self.keys, settle(self.counts, here))
                if rest.is_possible:
                    return rest
        raise ImpossibleError

    def regrouped(self, keys: tuple[Axis, ...], place: NDArray[np.intp]) -> Pairs:
        """Return the counts by other keys: slot v becomes place[v], or is dropped if that is -1."""
        size = int(slots(keys)[-1])
        there = np.flatnonzero(place >= 0)
        group = np.zeros((len(there), size))
        group[np.arange(len(there)), place[there]] = 1.0
        own = self.counts[:, there][:, :, there]
        return Pairs.of(self.classes, keys, np.stack([group.T @ c @ group for c in own]))

    def with_missing(self, slots: list[int], rows: Tally) -> Pairs:
        """Return pairs that count all rows as missing in the columns whose slots are given.

        These columns have no values, and `slots` are their slots for missing values. `rows` are the
        weights of the classes.
        """
        counts = self.counts.copy()
        single = np.einsum("kvv->kv", counts)
        weights = rows.align(self.classes, 1)["rows"]
        for slot in slots:
            counts[:, slot] = counts[:, :, slot] = single
        for slot in slots:
            counts[:, slot, slots] = weights
        return Pairs(self.classes, self.keys, counts)

    def _combine(self, other: Pairs, operation: Callable[[Array, Array], Array]) -> Pairs:
        if len(other.classes) == 0:
            return self
        if len(self.classes) and len(self.keys) != len(other.keys):
            raise ValueError(
                f"One model has {len(self.keys)} columns, the other {len(other.keys)}. Merge "
                "models of the same columns."
            )
        classes = labels.union(self.classes, other.classes, "classes")
        keys, mine, theirs = merge_slots(self, other)
        size = int(slots(keys)[-1])
        out = np.zeros((len(classes), size, size))
        own, more = labels.find(classes, self.classes), labels.find(classes, other.classes)
        for of_class, k, j in zip(out, own, more, strict=True):
            if k >= 0:
                of_class[block(mine, size)] = self.counts[k]
            if j >= 0:  # elsewhere the other counts are zero, and nothing changes
                at = block(theirs, size)
                of_class[at] = operation(of_class[at], other.counts[j])
        return Pairs.of(classes, keys, out)


def block(at: NDArray[np.intp], size: int) -> Any:
    """Return the index of the rows and columns `at` of a matrix (size, size)."""
    return ... if np.array_equal(at, np.arange(size)) else np.ix_(at, at)


def slots(keys: tuple[Axis, ...]) -> NDArray[np.int64]:
    """Return the first slot of each column, followed by the number of all slots."""
    return np.cumsum([0, *(1 + len(axis) for axis in keys)], dtype=np.int64)


def merge_slots(a: Pairs, b: Pairs) -> tuple[tuple[Axis, ...], NDArray[np.intp], NDArray[np.intp]]:
    """Return the keys of both, and the positions of the slots of `a` and of `b` among all slots."""
    if len(a.classes) == 0 or len(b.classes) == 0 or same_keys(a.keys, b.keys):
        keys = b.keys if len(a.classes) == 0 else a.keys
        return keys, np.arange(slots(a.keys)[-1]), np.arange(slots(b.keys)[-1])
    merged: list[Axis] = []
    left, right, start = [], [], 0
    for j, (one, two) in enumerate(zip(a.keys, b.keys, strict=True)):
        both, mine, theirs = labels.merge(one, two, f"categories of column {j}")
        left.append(start + np.concatenate([[0], 1 + mine]))
        right.append(start + np.concatenate([[0], 1 + theirs]))
        merged.append(both)
        start += 1 + len(both)
    return (
        tuple(merged),
        np.concatenate(left).astype(np.intp),
        np.concatenate(right).astype(np.intp),
    )
