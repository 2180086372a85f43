"""Number the cells of all paired columns consecutively, as slots.

Symbols: m rows, n paired columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.statistics import Array, Compound, Pairs
from genus.table import Frame, Plan
from genus.table.model.counts import coarse, coded
from genus.table.model.experts import Cells


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of paired columns, one column after another.

    `columns` are the positions of these columns among the columns in use, `keys` the keys of their
    cells, and `starts` their first slots, which are for missing values. The last entry of `starts`
    is the slot for unknown values.
    """

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
        """Return the slots of paired columns in each row, (n, m); the last slot means unknown."""
        out = np.empty((len(self.columns), len(X)), dtype=np.uint16)
        for row, j in zip(out, self.columns, strict=True):
            row[:] = self.of_column(j, X.columns[j])
        return out

    def of_column(self, j: int, values: Any) -> NDArray[np.uint16]:
        """Return the slots of values of one paired column, (m,)."""
        column, i = self.plan.used[j], self.columns.index(j)
        axis, start = self.keys[i], self.starts[i]
        own = coarse(column, coded(column, values))
        if column.kind == "number":  # an empty cell takes the scores of the next one
            at = np.clip(np.searchsorted(axis, own.axis), 0, max(len(axis) - 1, 0))
            at = 1 + at if len(axis) else np.zeros_like(at)
        else:
            at = labels.find(own.axis, axis) + 1
            at = np.where(at == 0, self.unknown - start, at)
        return (start + np.append(at, 0)).astype(np.uint16)[own.codes]

    @property
    def unknown(self) -> int:
        """The slot of categories that were never counted."""
        return int(self.starts[-1])

    def keys_of(self, j: int) -> Axis:
        """Return the keys of a column; empty if it is not paired."""
        return self.keys[self.columns.index(j)] if j in self.columns else labels.empty_axis()


def cell_means(plan: Plan, statistics: Compound) -> list[Array | None]:
    """Return the mean of the numbers in each cell of each paired column; None for categories."""
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
