"""Keep a sample of encoded rows, for what must be learned from single rows.

A row is kept if the hash of its content is small (a bottom-k sketch: Cohen and Kaplan 2007). So the
sample of all rows can be made from the samples of any parts of them, in any order, and a row can be
taken out again. Equal rows are stored once, with their total weight. A row of a table is encoded as
cells of a grid and hashes of categories and words, without the values themselves. For
GDA(shared="auto"), a row is encoded as its exact numbers.

At most 2k different rows are kept, and choices are made from the k rows with the smallest hashes.
Forgetting is exact, as if the rows had never been counted, if all rows were kept, or as long as at
least k of the kept rows are left.

Symbols: s rows of the sample, n columns, k rows to choose from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.statistics.group import Array, ImpossibleError, difference, freeze, settle
from genus.statistics.tally import MOST_COUNT

Hashes = NDArray[np.uint64]
Codes = NDArray[np.int64]
EVERY = 2**64 - 1  # the limit of a sample that holds every row
MOST_TOKENS = 1 << 23  # of all rows together
MISSING = np.iinfo(np.int64).min  # the cell of a value that is missing


@dataclass(frozen=True, eq=False)
class Bags:
    """Bags of tokens: row i has tokens[ends[i - 1] : ends[i]]; tokens[t] occurs times[t] times."""

    ends: NDArray[np.int64]
    tokens: NDArray[np.uint32]
    times: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ends)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of distinct tokens of each row, (s,)."""
        return np.diff(self.ends, prepend=0)

    def take(self, rows: NDArray[np.intp]) -> Bags:
        """Return some of the rows."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        at = np.repeat(self.ends[rows] - ends, sizes) + np.arange(sizes.sum())
        return Bags(ends, self.tokens[at], self.times[at])

    def where(self, chosen: NDArray[np.bool_]) -> Bags:
        """Return all rows with only the tokens in the mask `chosen`."""
        ends = np.append(0, np.cumsum(chosen))[self.ends]
        return Bags(ends, self.tokens[chosen], self.times[chosen])

    @staticmethod
    def joined(parts: Sequence[Bags]) -> Bags:
        """Return the rows of all parts, one part after another."""
        starts = np.cumsum([0, *(len(part.tokens) for part in parts)])
        return Bags(
            np.concatenate([part.ends + start for part, start in zip(parts, starts, strict=False)]),
            np.concatenate([part.tokens for part in parts]),
            np.concatenate([part.times for part in parts]),
        )


Encode = Callable[[NDArray[np.intp]], tuple[NDArray[np.int64], tuple[Bags, ...]]]


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows whose hashes are below `limit`, sorted by hash and class.

    Row i has hashes[i], the class classes[codes[i]], a weight, a cell for each of n columns in
    `cells` (s, n), and a bag of tokens in each of `bags`. `size` is k.
    """

    size: int
    classes: Axis = field(default_factory=labels.empty_axis)
    hashes: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))
    codes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    weights: Array = field(default_factory=lambda: np.zeros(0))
    cells: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    bags: tuple[Bags, ...] = ()
    limit: int = EVERY

    def __post_init__(self) -> None:
        freeze(self)

    def dropped(self) -> Sample:
        """Return a sample with limit 0, which keeps no rows."""
        return Sample(self.size, limit=0)

    @property
    def is_dropped(self) -> bool:
        """Whether rows were counted but not kept."""
        return self.size > 0 and self.limit == 0

    def require(self) -> None:
        """Raise an error if the sample was dropped."""
        if self.is_dropped:
            raise ValueError(
                "This model was saved for prediction only, so it cannot learn, forget, be merged "
                "or be solved again. Use the model that was saved without for_prediction."
            )

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def of(
        cls,
        size: int,
        classes: Axis,
        y: Codes,
        weight: Array | None,
        hashes: Hashes,
        encode: Encode,
    ) -> Sample:
        """Sample rows by their hashes (m,); `encode` returns the cells and bags of rows."""
        hashes = np.minimum(hashes, np.uint64(EVERY - 1))
        counted = np.arange(len(hashes)) if weight is None else np.flatnonzero(weight)
        limit = EVERY
        if len(counted) > 2 * size:
            limit = limit_of(np.sort(hashes[counted]), np.zeros(len(counted), np.int64), size)
        rows = counted[hashes[counted] < np.uint64(limit)]
        if len(rows) == 0:
            return cls(size, limit=limit)
        cells, bags = encode(rows)
        w = np.ones(len(rows)) if weight is None else weight[rows]
        return cls(size, classes, hashes[rows], y[rows], w, cells, bags, limit)._canonical()

    def __len__(self) -> int:
        return len(self.hashes)

    # The group

    def __add__(self, other: Sample) -> Sample:
        return self._combine(other, 1.0)

    def __sub__(self, other: Sample) -> Sample:
        return self._combine(other, -1.0)

    def __mul__(self, factor: float) -> Sample:
        if factor == 0:
            return Sample(self.size)
        return replace(self, weights=factor * self.weights)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sample):
            return NotImplemented
        mine, theirs = self._arrays(), other._arrays()
        return (
            (self.size, self.limit) == (other.size, other.limit)
            and labels.is_same(self.classes, other.classes)
            and len(mine) == len(theirs)
            and all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> list[NDArray[np.generic]]:
        bags = [array for bag in self.bags for array in (bag.ends, bag.tokens, bag.times)]
        return [self.hashes, self.codes, self.weights, self.cells, *bags]

    @property
    def is_finite(self) -> bool:
        """Whether all weights are at most `MOST_COUNT`, so that their sums are finite."""
        return bool(np.abs(self.weights).max(initial=0) <= MOST_COUNT)

    @property
    def is_possible(self) -> bool:
        """Whether rows can produce these weights: none is negative."""
        return bool((self.weights >= 0).all())

    def under(self, own: Axis, classes: Axis) -> Sample:
        """Keep only the rows of the classes `own`, and rename these to `classes`."""
        at = labels.find(self.classes, own)
        kept = np.flatnonzero(at[self.codes] >= 0)
        part = self._rows(kept)
        return replace(part, classes=classes, codes=at[part.codes])._canonical()

    def settled(self, before: Sample) -> Sample:
        """Return what is left of `before` after forgetting, or raise ImpossibleError."""
        here = np.zeros(len(self))
        known, mine, theirs = np.intersect1d(
            self._keys(before.classes), before._keys(before.classes), return_indices=True
        )
        if len(known) < len(self):  # rows with negative weight that were not there before
            raise ImpossibleError(of_other_rows=True)
        here[mine] = before.weights[theirs]
        rest = replace(self, weights=settle(self.weights, here))._canonical()
        if not rest.is_possible:
            raise ImpossibleError(of_other_rows=True)
        return rest

    def _keys(self, classes: Axis) -> NDArray[np.void]:
        """Return the hash and the class of each row, combined into one value that can be sorted."""
        keys = np.empty(len(self), dtype=[("hash", np.uint64), ("code", np.int64)])
        keys["hash"] = self.hashes
        keys["code"] = labels.find(self.classes, classes)[self.codes]
        return keys

    def _combine(self, other: Sample, sign: float) -> Sample:
        size = min(self.size, other.size)
        if len(other) == 0 and other.limit == EVERY and size == self.size:
            return self
        if len(self) == 0 and self.limit == EVERY:
            return replace(other, size=size, weights=sign * other.weights)._cut()
        if len(self) and len(other) and self.cells.shape[1] != other.cells.shape[1]:
            raise ValueError(
                f"One model has {self.cells.shape[1]} columns, the other {other.cells.shape[1]}. "
                "Merge models of the same columns."
            )
        classes = labels.union(self.classes, other.classes, "classes")
        parts = [part for part in (self, other) if len(part)]
        codes = [labels.positions(part.classes, classes)[part.codes] for part in parts]
        signs = np.repeat([1.0, sign], [len(self), len(other)])
        joined = Sample(
            size,
            classes,
            np.concatenate([part.hashes for part in parts] or [self.hashes]),
            np.concatenate([*codes, np.zeros(0, np.int64)]).astype(np.int64),
            signs * np.concatenate([self.weights, other.weights]),
            np.concatenate([part.cells for part in parts] or [self.cells]),
            tuple(map(Bags.joined, zip(*(part.bags for part in parts), strict=True))),
            min(self.limit, other.limit),
        )
        return joined._canonical(positive=np.arange(len(joined)) < len(self) if sign < 0 else None)

    def rehashed(self, hashes: Hashes, bags: tuple[Bags, ...]) -> Sample:
        """Return the rows with new hashes and bags, without rows whose hash is above the limit."""
        own = np.minimum(hashes, np.uint64(EVERY - 1))
        return replace(self, hashes=own, bags=bags)._canonical()

    def _rows(self, rows: NDArray[np.intp]) -> Sample:
        return replace(
            self,
            hashes=self.hashes[rows],
            codes=self.codes[rows],
            weights=self.weights[rows],
            cells=self.cells[rows],
            bags=tuple(bag.take(rows) for bag in self.bags),
        )

    def _canonical(self, positive: NDArray[np.bool_] | None = None) -> Sample:
        """Sort rows, combine equal ones, and drop rows without weight and classes without rows.

        `positive` says which rows are added; the others are subtracted.
        """
        order = np.lexsort((self.codes, self.hashes))
        hashes, codes = self.hashes[order], self.codes[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
        group, first = np.cumsum(new) - 1, order[new]
        weights = self.weights[order]
        if positive is None:
            total = np.bincount(group, weights, len(first)).astype(np.float64)
        else:
            added = positive[order]
            mine, theirs = (
                np.bincount(group[own], weights[own], len(first)).astype(np.float64)
                for own in (added, ~added)
            )
            total = difference(mine, -theirs)
        there = np.flatnonzero(total != 0)
        kept = replace(self._rows(first[there]), weights=total[there])
        if len(kept) == 0:
            return Sample(self.size, limit=self.limit)
        used, at = np.unique(kept.codes, return_inverse=True)
        return replace(kept, classes=kept.classes[used], codes=at.astype(np.int64))._cut()

    def _cut(self) -> Sample:
        """Lower the limit so that at most 2k different hashes and MOST_TOKENS tokens are left."""
        limit = min(self.limit, limit_of(self.hashes, self._tokens(), self.size))
        end = int(np.searchsorted(self.hashes, np.uint64(limit), side="left"))
        if end == len(self):
            return replace(self, limit=limit)
        return replace(self._rows(np.arange(end)), limit=limit)._canonical()

    def _tokens(self) -> NDArray[np.int64]:
        return np.sum([bag.sizes for bag in self.bags], axis=0, initial=0) + np.zeros(
            len(self), np.int64
        )

    @property
    def is_sound(self) -> bool:
        """Whether rows are sorted and below the limit, and all arrays and weights are valid."""
        rows = len(self)
        lengths = {len(self.codes), len(self.weights), len(self.cells), *map(len, self.bags)}
        if lengths != {rows} or not 0 <= self.limit <= EVERY or self.size < 0:
            return False
        before, after = (self._keys(self.classes)[s] for s in (slice(None, -1), slice(1, None)))
        ascend = (before["hash"] < after["hash"]) | (
            (before["hash"] == after["hash"]) & (before["code"] < after["code"])
        )
        within = not rows or bool(
            self.hashes[-1] < np.uint64(self.limit)
            and 0 <= self.codes.min() <= self.codes.max() < len(self.classes)
        )
        fits = all(
            (bag.sizes >= 0).all()
            and (bag.times > 0).all()
            and len(bag.tokens) == len(bag.times) == bag.sizes.sum()
            for bag in self.bags
        )
        weigh = self.weights.ndim == 1 and bool((self.weights > 0).all())
        return bool(ascend.all() and within and fits and weigh and self.is_finite)

    # Choosing rows

    @property
    def is_complete(self) -> bool:
        """Whether every row that was counted is in the sample."""
        return self.size > 0 and self.limit == EVERY

    @property
    def total(self) -> float:
        """The total weight of the rows in the sample."""
        return float(self.weights.sum())

    def smallest(self, most: int) -> Sample:
        """Return the rows with the smallest hashes: at most `most` different ones, and at most k.

        If they have very many tokens, there are fewer rows.
        """
        different = np.cumsum(np.append(True, self.hashes[1:] != self.hashes[:-1])[: len(self)])
        within = different <= min(most, self.size)
        within &= np.cumsum(self._tokens()) <= max(MOST_TOKENS // 2, self._tokens()[:1].sum())
        return self if within.all() else self._rows(np.flatnonzero(within))._canonical()


def limit_of(hashes: Hashes, tokens: NDArray[np.int64], size: int) -> int:
    """Return a limit below which there are at most 2k different hashes and MOST_TOKENS tokens.

    `hashes` are ascending, and `tokens` are numbers of tokens by row. The limit has few binary
    digits, so that it is not the hash of a row.
    """
    different = np.cumsum(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    beyond = (different > 2 * size) | (np.cumsum(tokens) > MOST_TOKENS)
    if not beyond.any():
        return EVERY
    first = int(hashes[np.argmax(beyond)])
    digits = max(first.bit_length() - 8, 0)
    return first >> digits << digits
