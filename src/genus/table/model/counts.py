"""What is counted of a table: once, in a way that many models can be solved from.

By class (`Compound`):

    rows     how many
    cells    rows by cell of each column: of the fine grid for numbers, values for categories
    numbers  Σx and Σx² of each column of numbers
    pairs    rows by the coarser cells of every two columns
    text/…   words of each column of texts
    joint/…  Σxxᵀ of numbers that are asked to be modelled together

Symbols: m rows, n columns, K classes, V slots.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import grid_codes, tally_codes, tally_pairs
from genus.arrays import labels, matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, threads
from genus.families.gaussian import Gaussian
from genus.families.gaussian.counts import count_moments
from genus.statistics import Array, Compound, Moments, Pairs, Tally
from genus.table import Column, Frame, Plan
from genus.table.model import marginals
from genus.table.model.experts import Cells
from genus.table.plan import hashed
from genus.text.model.words import Words

TEXT, JOINT = "text/", "joint/"
TOGETHER = Gaussian(shrinkage="oas")  # of numbers that are asked to be modelled together
OTHERS = ""  # categories that are not counted in pairs by themselves


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as codes (m,), -1 where missing, of the keys of an axis."""

    axis: Axis
    codes: NDArray[np.int64]


def coded(column: Column, values: Any) -> Coded:
    """A column of numbers by cells of its fine grid, one of categories by its values."""
    if column.kind == "category":
        return Coded(values.names, values.codes)
    return Coded(*grid_codes(values, column.origin, column.scale, threads()))


def coarse(column: Column, own: Coded) -> Coded:
    """The same by the cells that pairs are counted in: of categories the known ones, and others."""
    if column.kind == "category":
        known = set(column.known)
        return regrouped(own, [n if hashed(n) in known else OTHERS for n in own.axis.tolist()])
    edges = np.asarray(column.edges)
    at = np.searchsorted(edges, column.grid.values(own.axis), side="right")
    axis, place = np.unique(at, return_inverse=True)
    return Coded(axis, np.append(place, -1)[own.codes])


def regrouped(own: Coded, names: list[str]) -> Coded:
    """A column whose categories are called otherwise, some of them the same."""
    if names == own.axis.tolist():
        return own
    axis, place = np.unique(np.array([*names, ""], dtype=object)[:-1], return_inverse=True)
    return Coded(axis, np.append(place, -1)[own.codes])


@dataclass(frozen=True, eq=False)
class Counting:
    """How rows of a plan are counted; the only code that sees them."""

    plan: Plan
    words: Words = field(default_factory=Words)
    joint: tuple[tuple[str, ...], ...] = ()

    @property
    def blocks(self) -> dict[str, list[int]]:
        """Columns of numbers that are modelled together: where each block is counted, and whose."""
        at = {column.name: j for j, column in enumerate(self.plan.used)}
        return {f"{JOINT}{i}": [at[name] for name in names] for i, names in enumerate(self.joint)}

    @property
    def options(self) -> dict[str, Any]:
        """What decides what is counted."""
        return {
            "family": "mixed",
            "plan": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "grid": [column.origin, column.scale],
                    "paired": column.paired,
                    "edges": list(column.edges),
                    "known": list(column.known),
                }
                for column in self.plan.used
            ],
            "words": dict(self.words.counting),
            "joint": [list(names) for names in self.joint],
        }

    def zero(self) -> Compound:
        parts: dict[str, Any] = {
            "rows": Tally(counts={"rows": np.zeros((0, 0))}),
            "cells": Tally(counts={"rows": np.zeros((0, 0))}),
            "numbers": Moments.zero("diagonal"),
            "pairs": Pairs(),
        }
        parts |= {name: TOGETHER.zero() for name in self.blocks}
        texts = (c.name for c in self.plan.used if c.kind == "text")
        return Compound(parts | {TEXT + name: self.words.zero() for name in texts})

    def count(self, X: Frame, y: Codes, classes: Axis, weight: Array | None) -> Compound:
        columns = list(zip(self.plan.used, X.columns, strict=True))
        plain = [(c, coded(c, values)) for c, values in columns if c.kind != "text"]
        numbers = [values for c, values in columns if c.kind == "number"]
        parts: dict[str, Any] = dict(self.zero().parts)
        rows = matrix.class_weights(y, weight, len(classes))
        parts["rows"] = Tally.of(classes, None, {"rows": rows})
        if len(y) and plain:
            parts["cells"] = count_cells([own for _, own in plain], y, classes, weight)
            paired = [coarse(c, own) for c, own in plain if c.paired]
            parts["pairs"] = count_pairs(paired, y, classes, weight)
        if len(y) and numbers:
            x = np.stack(numbers, axis=1)
            at = [j for j, (column, _) in enumerate(columns) if column.kind == "number"]
            try:
                parts["numbers"] = count_moments("diagonal", False, x, y, classes, weight)
            except matrix.InvalidColumn as error:
                raise matrix.InvalidColumn(at[error.column], error.problem) from None
        for name, own in self.blocks.items():
            if len(y):
                x = np.stack([X.columns[j] for j in own], axis=1)
                parts[name] = TOGETHER.count(x, y, classes, weight)
        for column, values in columns:
            if column.kind == "text" and len(y):
                name = TEXT + column.name
                parts[name] = self.words.count(values, y, classes, weight)
        return Compound(parts)

    def common(self, other: Counting) -> Counting:
        """What both count, by the edges that both have; raises if it is not the same columns."""
        mine, theirs = self.plan.used, other.plan.used
        if [c.name for c in mine] != [c.name for c in theirs]:
            odd = {c.name for c in mine} ^ {c.name for c in theirs}
            if not odd:
                raise ValueError(
                    "The two models have the same columns in another order. Fit one like the other "
                    "(like=)."
                )
            raise ValueError(
                f"The two models count different columns: {', '.join(map(repr, sorted(odd)))} only "
                "on one side. Fit one like the other (like=)."
            )
        columns = []
        for a, b in zip(mine, theirs, strict=True):
            if (a.kind, a.grid) != (b.kind, b.grid):
                raise ValueError(
                    f"Column {a.name!r} is a {a.kind} about {a.origin:g} by {a.scale:g} on one "
                    f"side and a {b.kind} about {b.origin:g} by {b.scale:g} on the other. Fit one "
                    "like the other (like=)."
                )
            edges = tuple(sorted(set(a.edges) & set(b.edges)))
            known = tuple(sorted(set(a.known) & set(b.known)))
            columns.append(replace(a, edges=edges, known=known, paired=a.paired and b.paired))
        at = iter(columns)
        kept = tuple(next(at) if column.kind else column for column in self.plan.columns)
        return replace(self, plan=replace(self.plan, columns=kept))

    def regrouped(self, statistics: Compound, to: Counting) -> Compound:
        """What was counted, as if it had been counted with the coarser cells of `to`."""
        pairs = statistics["pairs"]
        if not pairs.keys:
            return statistics
        keys, place, start = [], [], 0
        columns = zip(self.plan.used, to.plan.used, strict=True)
        paired = [(a, b) for a, b in columns if a.paired]
        for (a, b), axis in zip(paired, pairs.keys, strict=True):
            if not b.paired:
                place += [-1] * (1 + len(axis))
                continue
            new, at = axis, np.arange(len(axis))
            if a.edges != b.edges:
                # Cell i lies between edges i - 1 and i; the coarser cell by its lower edge.
                kept = np.searchsorted(np.asarray(b.edges), np.asarray(a.edges), side="right")
                new, at = np.unique(np.append(0, kept)[axis], return_inverse=True)
            if a.known != b.known:
                known = set(b.known)
                names = [n if hashed(n) in known else OTHERS for n in axis.tolist()]
                own = regrouped(Coded(axis, at), names)
                new, at = own.axis, own.codes
            keys.append(new)
            place += [start, *(start + 1 + at)]
            start += 1 + len(new)
        moved = pairs.regrouped(tuple(keys), np.array(place, dtype=np.intp))
        return Compound({**statistics.parts, "pairs": moved})


def count_cells(columns: list[Coded], y: Codes, classes: Axis, weight: Array | None) -> Tally:
    """Rows by class and cell of each column."""
    codes = np.empty((len(y), len(columns)), dtype=np.int64, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column.codes
    offsets = np.cumsum([0, *(len(column.axis) for column in columns)], dtype=np.int64)
    counts = tally_codes(codes, y, weight, offsets, len(classes), threads())
    return Tally.of(classes, tuple(column.axis for column in columns), {"rows": counts})


def count_pairs(columns: list[Coded], y: Codes, classes: Axis, weight: Array | None) -> Pairs:
    """Rows by class and cells of every two columns; the first cell of each is for missing."""
    if not columns:
        return Pairs()
    assert max(len(column.axis) for column in columns) < np.iinfo(np.uint16).max
    codes = np.empty((len(columns), len(y)), dtype=np.uint16)
    for j, column in enumerate(columns):
        codes[j] = column.codes + 1
    offsets = np.cumsum([0, *(1 + len(column.axis) for column in columns)], dtype=np.int64)
    counts = tally_pairs(codes, y, weight, offsets, len(classes), threads())
    return Pairs.of(classes, tuple(column.axis for column in columns), counts)


@dataclass(frozen=True, eq=False)
class Slots:
    """Where the cells of paired columns stand: their `columns` among those in use, and the keys."""

    plan: Plan
    columns: tuple[int, ...]
    keys: tuple[Axis, ...]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, plan: Plan, pairs: Pairs) -> Slots:
        columns = tuple(j for j, column in enumerate(plan.used) if column.paired)
        keys = pairs.keys if pairs.keys else (labels.empty_axis(),) * len(columns)
        return cls(plan, columns, keys, np.cumsum([0, *(1 + len(k) for k in keys)], dtype=np.int64))

    def place(self, X: Frame) -> Cells:
        """The slot of every paired column of every row, (n, m); the last is for what is unknown."""
        out = np.empty((len(self.columns), len(X)), dtype=np.uint16)
        unknown = int(self.starts[-1])
        for row, j, axis, start in zip(out, self.columns, self.keys, self.starts, strict=False):
            own = coarse(self.plan.used[j], coded(self.plan.used[j], X.columns[j]))
            if self.plan.used[j].kind == "number":  # a cell that was empty is as the next one
                at = np.clip(np.searchsorted(axis, own.axis), 0, max(len(axis) - 1, 0))
                at = 1 + at if len(axis) else np.zeros_like(at)
            else:
                at = labels.find(own.axis, axis) + 1
                at = np.where(at == 0, unknown - start, at)
            row[:] = (start + np.append(at, 0))[own.codes]
        return out


def of_columns(
    plan: Plan, statistics: Compound, classes: Axis, rows: Array
) -> list[marginals.Counted | None]:
    """What was counted of each column in use; None of texts."""
    tally, numbers = statistics["cells"], statistics["numbers"]
    plain = [column for column in plan.used if column.kind != "text"]
    axes = tally.keys or (labels.empty_axis(),) * len(plain)
    counts = tally.align(classes, 0)["rows"]
    ends = np.cumsum([0, *map(len, axes)])
    width = sum(column.kind == "number" for column in plain)
    moments = numbers.align(classes, width)
    mean, variance = moments.mean(), moments.variance()
    found: list[marginals.Counted | None] = []
    j = at = 0
    for column in plan.used:
        if column.kind == "text":
            found.append(None)
            continue
        own = counts[:, ends[j] : ends[j + 1]]
        if column.kind == "number":
            numeric = {"mean": mean[:, at], "variance": variance[:, at], "grid": column.grid}
            at += 1
            found.append(marginals.Counted(axes[j], own, rows, **numeric))
        else:
            found.append(marginals.Counted(axes[j], own, rows))
        j += 1
    return found


def cell_means(plan: Plan, statistics: Compound) -> list[Array | None]:
    """The mean of the numbers in each cell of a paired column; None of categories."""
    tally, pairs = statistics["cells"], statistics["pairs"]
    counts = tally["rows"].sum(axis=0)
    found: list[Array | None] = []
    keys = iter(pairs.keys)
    plain = [column for column in plan.used if column.kind != "text"]
    axes = tally.keys or (labels.empty_axis(),) * len(plain)
    ends = np.cumsum([0, *map(len, axes)])
    for j, column in enumerate(plain):
        if not column.paired:
            continue
        axis = next(keys)
        if column.kind != "number":
            found.append(None)
            continue
        x, n = column.grid.values(axes[j]), counts[ends[j] : ends[j + 1]]
        at = np.searchsorted(axis, np.searchsorted(np.asarray(column.edges), x, side="right"))
        weight = np.bincount(at, n, len(axis))
        found.append(np.bincount(at, n * x, len(axis)) / np.where(weight > 0, weight, 1.0))
    return found
