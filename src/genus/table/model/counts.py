"""Count the rows of a table once; many models are solved from the counts.

By class (`Compound`):

    rows     number of rows
    cells    rows by cell of each column: cells of the fine grid for numbers, values for categories
    numbers  Σx and Σx² of each column of numbers
    pairs    rows by the coarser cells of each pair of columns
    text/…   words of each column of texts
    joint/…  Σxxᵀ of numbers that are modelled jointly on request
    sample   some encoded rows, from which the weights of experts are learned
    belief   what the rows imply about these weights, if no sample is kept

Symbols: m rows, n columns, K classes, V slots.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import grid_codes, tally_codes, tally_pairs
from genus.arrays import hashes, labels, matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, threads
from genus.families.gaussian import Gaussian
from genus.families.gaussian.counts import count_moments
from genus.statistics import Array, Bags, Belief, Compound, Moments, Pairs, Sample, Tally
from genus.statistics.sample import MISSING
from genus.table import Column, Frame, Plan, Values
from genus.table.plan import CONSTANT, MOST_PAIRED, Seen, cut_into_cells, hashed
from genus.text import Documents, Texts, Tokenizer
from genus.text.model import Words

TEXT, JOINT = "text/", "joint/"
TOGETHER = Gaussian(shrinkage="oas")  # for numbers that are modelled jointly on request
OTHERS = ""  # stands for categories that pairs do not count by name


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as codes (m,): positions on an `axis` of keys, or -1 if missing."""

    axis: Axis
    codes: NDArray[np.int64]


def coded(column: Column, values: Any, most: int | None = None) -> Coded:
    """Encode numbers by the cells of the fine grid, and categories by their names.

    `most` is the number of threads, which callers of thousands of columns look up once.
    """
    if column.kind == "category":
        return Coded(values.names, values.codes)
    grid = column.grid
    return Coded(*grid_codes(values, grid.exponent, grid.bits, most or threads()))


def coarse(column: Column, own: Coded) -> Coded:
    """Encode a column by the coarser cells for pairs; categories that are not `known` share one."""
    if column.kind == "category":
        known = set(column.known)
        return renamed(own, [n if hashed(n) in known else OTHERS for n in own.axis.tolist()])
    edges = np.asarray(column.edges)
    at = np.searchsorted(edges, column.grid.values(own.axis), side="right")
    axis, place = np.unique(at, return_inverse=True)
    return Coded(axis, np.append(place, -1)[own.codes])


def renamed(own: Coded, names: list[str]) -> Coded:
    """Rename the categories of a column, and merge those that get the same name."""
    if names == own.axis.tolist():
        return own
    axis, place = np.unique(np.array([*names, ""], dtype=object)[:-1], return_inverse=True)
    return Coded(axis, np.append(place, -1)[own.codes])


def encoded(texts: Texts | Documents, rows: NDArray[np.intp], how: Tokenizer) -> Documents:
    """Return the counts of the tokens of some texts."""
    return texts[rows] if isinstance(texts, Documents) else how.encode(texts.take(rows))


@dataclass(frozen=True, eq=False)
class Counting:
    """How the rows of a table with this plan are counted.

    `sample` is the number of rows to keep for learning weights and choosing settings. If it is 0
    and weights are wanted, a `belief` about the weights is kept instead.
    """

    plan: Plan
    words: Words = field(default_factory=Words)
    joint: tuple[tuple[str, ...], ...] = ()
    sample: int = 0
    belief: bool = False

    @property
    def blocks(self) -> dict[str, list[int]]:
        """The positions of the columns of each joint family, by the name of its counts."""
        at = {column.name: j for j, column in enumerate(self.plan.used)}
        return {f"{JOINT}{i}": [at[name] for name in names] for i, names in enumerate(self.joint)}

    @property
    def plain(self) -> tuple[Column, ...]:
        """The columns other than texts."""
        return tuple(column for column in self.plan.used if column.kind != "text")

    @property
    def numbers(self) -> list[int]:
        """The positions of numbers among the columns other than texts."""
        return [j for j, column in enumerate(self.plain) if column.kind == "number"]

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of columns of texts."""
        return tuple(column.name for column in self.plan.used if column.kind == "text")

    def words_of(self, column: Column) -> Words:
        """Return how a column's texts are counted: with pairs of words, without, or in buckets."""
        how = self.words.tokenizer
        ngrams = how.ngrams if column.runs else (1, 1)
        return replace(self.words, tokenizer=replace(how, ngrams=ngrams, bits=column.bits))

    @property
    def options(self) -> dict[str, Any]:
        """The options on which the counts depend."""
        return {
            "family": "mixed",
            "plan": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "grid": [column.grid.step, column.grid.bits],
                    "paired": column.paired,
                    "edges": list(column.edges),
                    "known": list(column.known),
                    **({} if column.runs else {"runs": False}),
                    **({"bits": column.bits} if column.bits else {}),
                }
                for column in self.plan.used
            ],
            "joined": self.plan.joined,
            "words": dict(self.words.counting),
            "joint": [list(names) for names in self.joint],
            "shared": bool(self.joint) or self.belief,  # sums that cannot be split by class
            "sample": self.sample,
            "belief": self.belief,
        }

    def zero(self) -> Compound:
        parts: dict[str, Any] = {
            "rows": Tally(counts={"rows": np.zeros((0, 0))}),
            "cells": Tally(counts={"rows": np.zeros((0, 0))}),
            "numbers": Moments.zero("diagonal"),
            "pairs": Pairs(),
        }
        parts |= {name: TOGETHER.zero() for name in self.blocks}
        parts |= {TEXT + name: self.words.zero() for name in self.texts}
        parts |= {"belief": Belief()} if self.belief else {}
        return Compound(parts | {"sample": Sample(self.sample)})

    def count(self, X: Frame, y: Codes, classes: Axis, weight: Array | None) -> Compound:
        columns = list(zip(self.plan.used, X.columns, strict=True))
        most = threads()
        plain = [(c, coded(c, values, most)) for c, values in columns if c.kind != "text"]
        numbers = [values for c, values in columns if c.kind == "number"]
        parts: dict[str, Any] = dict(self.zero().parts)
        rows = matrix.class_weights(y, weight, len(classes))
        parts["rows"] = Tally.of(classes, None, {"rows": rows})
        if len(y) == 0:
            return Compound(parts)
        if plain:
            parts["cells"] = count_cells([own for _, own in plain], y, classes, weight)
            paired = [coarse(c, own) for c, own in plain if c.paired]
            parts["pairs"] = count_pairs(paired, y, classes, weight)
        if numbers:
            x = np.stack(numbers, axis=1)
            at = [j for j, (column, _) in enumerate(columns) if column.kind == "number"]
            try:
                parts["numbers"] = count_moments("diagonal", False, x, y, classes, weight)
            except matrix.InvalidColumn as error:
                raise matrix.InvalidColumn(at[error.column], error.problem) from None
        for name, own in self.blocks.items():
            x = np.stack([X.columns[j] for j in own], axis=1)
            parts[name] = TOGETHER.count(x, y, classes, weight)
        for column, values in columns:
            if column.kind == "text":
                name = TEXT + column.name
                parts[name] = self.words_of(column).count(values, y, classes, weight)
        if self.sample:
            parts["sample"] = self._sampled(X, [own for _, own in plain], y, classes, weight)
        return Compound(parts)

    # The sample

    def _sampled(
        self, X: Frame, plain: list[Coded], y: Codes, classes: Axis, weight: Array | None
    ) -> Sample:
        texts = [
            (X.columns[j], self.words_of(c).tokenizer)
            for j, c in enumerate(self.plan.used)
            if c.kind == "text"
        ]

        def encode(rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], tuple[Bags, ...]]:
            cells = np.empty((len(rows), len(plain)), dtype=np.int64)
            for j, (column, own) in enumerate(zip(self.plain, plain, strict=True)):
                keys = own.axis if column.kind == "number" else name_keys(own.axis)
                cells[:, j] = np.append(keys, MISSING)[own.codes[rows]]
            return cells, tuple(encoded(text, rows, how).bags() for text, how in texts)

        return Sample.of(self.sample, classes, y, weight, self.row_hashes(X), encode)

    def row_hashes(self, X: Frame) -> hashes.Hashes:
        """Hash the values of each row, (m,); the order of the columns does not matter."""
        total = np.zeros(len(X), dtype=np.uint64)
        keys = hashes.of_names(column.name for column in self.plan.used)
        for column, values, key in zip(self.plan.used, X.columns, keys, strict=True):
            if column.kind == "number":
                own = hashes.of_numbers(values)
            elif column.kind == "category":
                own = np.append(hashes.of_names(values.names), np.uint64(0))[values.codes]
            else:
                own = self.words_of(column).tokenizer.hashes(values)
            total += np.where(own == 0, own, hashes.mix(own + key))  # missing values add nothing
        return hashes.mix(total)

    def decoded(self, sample: Sample, statistics: Compound) -> Frame:
        """Decode a sample: a number becomes the smallest of its cell, a text its bag of words."""
        tally = statistics["cells"]
        axes = tally.keys or (labels.empty_axis(),) * len(self.plain)
        plain, texts = iter(range(len(self.plain))), iter(sample.bags)
        columns: list[Any] = []
        for column in self.plan.used:
            if column.kind == "text":
                (words,) = statistics[TEXT + column.name].keys
                columns.append(Documents.from_bags(next(texts), words))
                continue
            j = next(plain)
            cells = sample.cells[:, j]
            missing = cells == MISSING
            if column.kind == "number":
                columns.append(
                    np.where(missing, np.nan, column.grid.values(np.where(missing, 0, cells)))
                )
                continue
            keys = name_keys(axes[j])
            order = np.argsort(keys, kind="stable")
            at = np.minimum(np.searchsorted(keys[order], cells), max(len(keys) - 1, 0))
            found = (
                ~missing & (keys[order][at] == cells) if len(keys) else np.zeros(len(cells), bool)
            )
            codes = np.where(found, order[at] if len(keys) else -1, -1)
            columns.append(Values(codes.astype(np.int64), axes[j]))
        return Frame(self.plan, tuple(columns), len(sample))

    # Plans that were made separately

    def common(self, other: Counting) -> Counting:
        """Return a counting with the cells that both plans have, so that counts can be merged."""
        if self.words.counting != other.words.counting and (self.texts or other.texts):
            raise ValueError(
                "The two models read texts differently: only calibrate=True counts pairs of "
                "words. Fit both with the same calibrate=."
            )
        if self.joint != other.joint:
            raise ValueError(
                "The two models have different joint columns. Fit both with the same families=."
            )
        plan = self.plan.common(other.plan)
        belief = self.belief or other.belief
        sample = 0 if belief else min(self.sample, other.sample)
        return replace(self, plan=plan, sample=sample, belief=belief)

    def moved(self, statistics: Compound, to: Counting) -> Compound:
        """Convert counts to the coarser cells of `to`, as if `to` had counted the rows."""
        if len(statistics["rows"].classes) == 0:
            return to.zero()
        parts: dict[str, Any] = {name: statistics[name] for name in ("rows", *self.blocks)}
        parts["cells"] = self._moved_cells(statistics["cells"], to)
        parts["numbers"] = self._moved_numbers(statistics["numbers"], to)
        parts["pairs"] = self._moved_pairs(statistics, to)
        parts |= {
            TEXT + name: statistics[TEXT + name] if name in self.texts else to.words.zero()
            for name in to.texts
        }
        if to.belief:
            parts["belief"] = statistics.parts.get("belief", Belief())
        return Compound(parts | {"sample": self._moved_sample(statistics["sample"], to)})

    def recut(self, statistics: Compound, classes: Axis) -> tuple[Counting, Pairs]:
        """Choose new cells for pairs, and count the sample by them; the sample must be complete."""
        sample = statistics["sample"]
        X = self.decoded(sample, statistics)
        plan = replace(self.plan, columns=recut(self.plan, X, sample.weights, len(classes)))
        again = replace(self, plan=plan)
        paired = [
            coarse(column, coded(column, values))
            for column, values in zip(plan.used, X.columns, strict=True)
            if column.paired
        ]
        y = labels.positions(sample.classes, classes)[sample.codes].astype(np.int64)
        return again, count_pairs(paired, y, classes, sample.weights)

    def _moved_cells(self, cells: Tally, to: Counting) -> Tally:
        at = {column.name: j for j, column in enumerate(self.plain)}
        axes = cells.keys or (labels.empty_axis(),) * len(self.plain)
        ends = np.cumsum([0, *map(len, axes)])
        keys, place, start = [], np.full(int(ends[-1]), -1), 0
        for column in to.plain:
            j = at.get(column.name)
            if j is None:
                keys.append(labels.empty_axis())
                continue
            axis, own = axes[j], np.arange(len(axes[j]))
            if self.plain[j].grid != column.grid:
                moved = column.grid.keys(self.plain[j].grid.values(axis))
                axis, own = np.unique(moved, return_inverse=True)
            keys.append(axis)
            place[ends[j] : ends[j + 1]] = start + own
            start += len(axis)
        counts = np.zeros((len(cells.classes), start))
        kept = place >= 0
        np.add.at(counts.T, place[kept], cells["rows"].T[kept] if cells.keys else 0.0)
        return Tally.of(cells.classes, tuple(keys), {"rows": counts})

    def _moved_numbers(self, numbers: Moments, to: Counting) -> Moments:
        at = {c.name: j for j, c in enumerate(c for c in self.plan.used if c.kind == "number")}
        own = [at.get(c.name, -1) for c in to.plan.used if c.kind == "number"]
        return numbers.of_columns(np.array(own, dtype=np.intp))

    def _moved_pairs(self, statistics: Compound, to: Counting) -> Pairs:
        pairs = statistics["pairs"]
        mine = {c.name: c for c in self.plan.used if c.paired}
        begin = dict(zip(mine, pairs.starts, strict=False))
        axes = dict(zip(mine, pairs.keys, strict=True)) if pairs.keys else {}
        keys, place, start = [], np.full(int(pairs.starts[-1]), -1), 0
        new: list[int] = []  # columns that are missing in every row
        for column in (c for c in to.plan.used if c.paired):
            if column.name not in axes:
                new.append(start)
                keys.append(labels.empty_axis())
                start += 1
                continue
            own, axis = mine[column.name], axes[column.name]
            moved, at = axis, np.arange(len(axis))
            if own.edges != column.edges:
                # Cell i lies between edges i - 1 and i, so its lower edge decides the coarser cell.
                kept = np.searchsorted(column.edges, np.asarray(own.edges), side="right")
                moved, at = np.unique(np.append(0, kept)[axis], return_inverse=True)
            if own.known != column.known:
                known = set(column.known)
                names = [n if hashed(n) in known else OTHERS for n in axis.tolist()]
                group = renamed(Coded(axis, at), names)
                moved, at = group.axis, group.codes
            first = int(begin[column.name])
            keys.append(moved)
            place[first : first + 1 + len(axis)] = start + np.append(0, 1 + at)
            start += 1 + len(moved)
        rows = statistics["rows"]
        if not pairs.keys:  # then every column is new
            every = np.broadcast_to(rows["rows"][:, :, None], (len(rows.classes), start, start))
            return Pairs.of(rows.classes, tuple(keys), every.copy()) if keys else Pairs()
        return pairs.regrouped(tuple(keys), place).with_missing(new, rows)

    def _moved_sample(self, sample: Sample, to: Counting) -> Sample:
        if len(sample) == 0:
            return Sample(to.sample, limit=sample.limit)
        at = {column.name: j for j, column in enumerate(self.plain)}
        cells = np.full((len(sample), len(to.plain)), MISSING)
        for i, column in enumerate(to.plain):
            j = at.get(column.name)
            if j is None:
                continue
            own = sample.cells[:, j]
            if self.plain[j].grid != column.grid:
                there = own != MISSING
                moved = column.grid.keys(self.plain[j].grid.values(np.where(there, own, 0)))
                own = np.where(there, moved, MISSING)
            cells[:, i] = own
        none = Bags(np.zeros(len(sample), np.int64), np.zeros(0, np.uint32), np.zeros(0, np.int32))
        bags = dict(zip(self.texts, sample.bags, strict=False))
        found = tuple(bags.get(name, none) for name in to.texts)
        other = replace(sample, size=to.sample, cells=cells, bags=found)
        return other + Sample(to.sample)


def recut(plan: Plan, X: Frame, weight: Array, classes: int) -> tuple[Column, ...]:
    """Return the columns of a plan with new cells, chosen for these rows."""
    seen = []
    values = iter(X.columns)
    for column in plan.columns:
        own: Any = next(values) if column.kind else None
        if column.kind == "number":
            there = ~np.isnan(own)
            note = "" if len(np.unique(own[there])) > 1 else CONSTANT
            seen.append(Seen(replace(column, note=note), (), own[there], weight[there]))
        elif column.kind == "category":
            known = {hashed(name) for name in own.names[np.unique(own.codes[own.codes >= 0])]}
            known = known if len(known) <= MOST_PAIRED else set()
            note = "" if len(known) != 1 else CONSTANT
            seen.append(Seen(replace(column, note=note), tuple(sorted(known))))
        else:
            seen.append(Seen(column))
    cut = cut_into_cells(seen, classes)
    return tuple(replace(new, note=old.note) for new, old in zip(cut, plan.columns, strict=True))


def name_keys(names: Axis) -> NDArray[np.int64]:
    """Return the keys of categories in a sample, which are 32 bits of their hashes."""
    return (hashes.of_names(names.tolist()) >> np.uint64(32)).astype(np.int64)


def count_cells(columns: list[Coded], y: Codes, classes: Axis, weight: Array | None) -> Tally:
    """Count rows by class and by the cells of each column."""
    codes = np.empty((len(y), len(columns)), dtype=np.int64, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column.codes
    offsets = np.cumsum([0, *(len(column.axis) for column in columns)], dtype=np.int64)
    counts = tally_codes(codes, y, weight, offsets, len(classes), threads())
    return Tally.of(classes, tuple(column.axis for column in columns), {"rows": counts})


def count_pairs(columns: list[Coded], y: Codes, classes: Axis, weight: Array | None) -> Pairs:
    """Count rows by class and by the cells of each pair of columns; cell 0 means missing."""
    if not columns:
        return Pairs()
    assert max(len(column.axis) for column in columns) < np.iinfo(np.uint16).max
    codes = np.empty((len(columns), len(y)), dtype=np.uint16)
    for j, column in enumerate(columns):
        codes[j] = column.codes + 1
    offsets = np.cumsum([0, *(1 + len(column.axis) for column in columns)], dtype=np.int64)
    counts = tally_pairs(codes, y, weight, offsets, len(classes), threads())
    return Pairs.of(classes, tuple(column.axis for column in columns), counts)
