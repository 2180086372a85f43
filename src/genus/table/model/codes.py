"""Encode the values of a column: values that every expert treats alike get the same code.

All numbers between two edges have one code, and each category has its own. To score a code, the
experts score one of its values as an example. Only families whose density is a curve need the
numbers themselves.

Symbols: m rows, K classes, C codes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import between_edges
from genus.arrays.labels import Axis
from genus.arrays.matrix import threads
from genus.statistics import Array
from genus.table import Column, Values
from genus.table.model.counts import OTHERS
from genus.table.model.marginals import Distribution, Marginal, Shares
from genus.table.model.slots import Slots
from genus.table.plan import hashed

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class NumberCodes:
    """Codes of numbers: 0 if missing, 1 below all `edges`, and one more above each edge."""

    edges: Array

    @property
    def examples(self) -> Array:
        """One number for each code."""
        below = np.nextafter(self.edges[:1], -np.inf) if len(self.edges) else np.zeros(1)
        return np.concatenate([[np.nan], below, self.edges])

    def of(self, values: Array) -> Codes:
        """Return the code of each number, (m,)."""
        return between_edges(values, self.edges, threads())


@dataclass(frozen=True, eq=False)
class NameCodes:
    """Codes of categories: 0 is missing, 1 to n are the n `names`, and n + 1 and n + 2 all others.

    An unseen category gets n + 1, which stands for the others in counts of pairs. But if it has, by
    chance, the hash of a `known` category, it gets n + 2: the plan takes it for known, so it is not
    one of the others, and no pair with it was counted.
    """

    names: Axis
    known: frozenset[int]

    @property
    def examples(self) -> Values:
        """One category for each code except the last."""
        names = np.array([*self.names.tolist(), OTHERS], dtype=object)
        return Values(np.arange(-1, len(names)), names)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.names.tolist(), 1)}

    def of(self, values: Values) -> Codes:
        """Return the code of each category, (m,)."""
        codes, other = self._codes, len(self.names) + 1
        found = [
            codes[name] if name in codes else other + (hashed(name) in self.known)
            for name in values.names.tolist()
        ]
        return np.array([*found, 0], dtype=np.int32)[values.codes]


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """The `scores` (C, K) of the codes of column j, and their `slots` (C,) if it is paired.

    The scores are log p(x_j|k). If the family's density is a `curve`, they are only the parts for
    known and missing values, and the scores of the curve are added to them.
    """

    j: int
    codes: NumberCodes | NameCodes
    scores: Array
    slots: NDArray[np.uint16] | None
    curve: Distribution | Shares | None

    @classmethod
    def of(
        cls, j: int, column: Column, marginal: Marginal, slots: Slots, in_block: bool
    ) -> CodedColumn:
        """Encode a column; a column of a joint family (`in_block`) has no scores of its own."""
        if in_block:
            marginal = replace(marginal, distribution=None, absent=0.0 * marginal.absent)
        steps = None if marginal.distribution is None else marginal.distribution.steps
        curve = marginal.distribution if steps is None else None
        codes = codes_of(column, () if steps is None else steps, slots.keys_of(j))
        examples: Any = codes.examples
        if curve is None:
            scores = marginal.score(examples)
        else:
            scores = marginal.absent[np.isnan(examples).astype(np.intp)]
        at = slots.of_column(j, examples) if column.paired else None
        if isinstance(codes, NameCodes):  # the last code scores like OTHERS, but is in no pair
            scores = np.vstack([scores, scores[-1]])
            at = None if at is None else np.append(at, at.dtype.type(slots.unknown))
        return cls(j, codes, scores, at, curve)


def codes_of(column: Column, steps: Any, keys: Axis) -> NumberCodes | NameCodes:
    """Return codes that distinguish the steps of a column's family and the cells of its pairs.

    `keys` are the categories that are counted in pairs by name.
    """
    if column.kind == "number":
        cells = column.edges if column.paired else ()
        edges = np.union1d(np.asarray(cells, dtype=np.float64), steps)
        return NumberCodes(edges[np.isfinite(edges)])
    names = sorted({*steps, *keys.tolist()} - {OTHERS})
    return NameCodes(np.array([*names, None], dtype=object)[:-1], frozenset(column.known))
