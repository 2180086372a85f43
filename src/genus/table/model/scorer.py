"""Score rows of a table by all experts at once, with their weights.

Each value is encoded once. Everything that experts sum over columns is one table by code, with the
scores of all experts side by side. Everything that they sum over pairs of columns is a table by two
cells. The tables are made from the scores of single values. So the scores of rows equal those of
the families and experts, up to a term that is the same for all classes.

The sums for a row, its evidence, are

    (G, K)  the scores of classes by each expert; the product of families is the first
    (K,)    what is added to the weighted sum of the experts
    (K,)    the scores of columns without pairs, which are the same for all experts
    (1,)    the number of paired columns that are known

Symbols: m rows, n columns, K classes, G experts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import gather_scores, weigh_experts
from genus.arrays.matrix import threads
from genus.statistics import Array
from genus.table import Frame
from genus.table.model.boosting import BoostedTrees
from genus.table.model.codes import CodedColumn, Codes, NameCodes
from genus.table.model.experts import LEAST, Experts
from genus.table.model.wide import NAME as ALL_COLUMNS
from genus.table.model.wide import WideLinear

if TYPE_CHECKING:
    from genus.table.model.mixed import Block, MixedParameters

BINS, PARENTS, LINEAR, CURVED, TREES = (
    1,
    2,
    3,
    5,
    7,
)  # positions of experts, in the order of their names
MOST_CODES = 4096  # columns with more codes are kept out of the shared table


@dataclass(frozen=True, eq=False)
class Listed:
    """The rows of column j in the shared table, with `scores` (rows, K) and `slots` (rows,).

    There is a row for each code or, if there are too many codes, for each slot; `row_of` (codes,)
    maps codes to rows.
    """

    j: int
    scores: Array
    slots: NDArray[np.uint16] | None
    row_of: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, c: CodedColumn) -> Listed:
        """Return the rows of a column; with too many codes, its scores are not in the table."""
        if not is_long(c):
            return cls(c.j, c.scores, c.slots)
        slots = np.zeros(len(c.scores), dtype=np.uint16) if c.slots is None else c.slots
        kept, row_of = np.unique(slots, return_inverse=True)
        scores = np.zeros((len(kept), c.scores.shape[1]))
        return cls(c.j, scores, None if c.slots is None else kept, row_of)

    def rows(self, codes: Codes) -> NDArray[Any]:
        """Return the rows of the table for these codes."""
        return codes if self.row_of is None else self.row_of[codes].astype(np.int32)


def is_long(c: CodedColumn) -> bool:
    """Return whether the scores of a column are too many for the shared table."""
    return len(c.scores) > MOST_CODES


@dataclass(frozen=True, eq=False)
class Scorer:
    """The scorer of weighted experts. `columns` are all columns except texts.

    `weights` (G,) are the weights of experts. The `trees` come after the `experts` of pairs, and
    the `linear` expert of wide tables is the last one.
    """

    columns: tuple[CodedColumn, ...]
    blocks: tuple[Block, ...]
    experts: Experts | None
    trees: BoostedTrees | None
    linear: WideLinear | None
    weights: Array
    constant: Array
    log_share: Array

    @classmethod
    def of(cls, p: MixedParameters) -> Scorer:
        """Return the scorer for parameters with weights."""
        w = p.weights
        assert w is not None
        in_block = {j for block in p.blocks for j in block.columns}
        columns = tuple(
            CodedColumn.of(j, column, marginal, p.slots, j in in_block)
            for j, (column, marginal) in enumerate(zip(p.plan.used, p.marginals, strict=True))
            if marginal is not None
        )
        names = ["families", *(expert.name for expert in p.listed)] if columns else []
        names += [] if p.linear is None else [ALL_COLUMNS]
        weights = np.array([w.by_name.get(name, 0.0) for name in names])
        sampled = p.trees, p.linear
        return cls(columns, p.blocks, p.experts, *sampled, weights, p.constant, p.log_share)

    def read(self, X: Frame) -> Frame:
        """Return the rows with encoded categories, so that each name is looked up once."""
        columns = list(X.columns)
        for c in self.columns:
            if isinstance(c.codes, NameCodes):
                columns[c.j] = c.codes.of(columns[c.j])
        return replace(X, columns=tuple(columns))

    def score(self, X: Frame, more: Array, doubt: float) -> Array:
        """Return log((1 - doubt) p(k|x) / p(k) + doubt), (m, K), for rows from `read`.

        `more` (m, K) is evidence that already has its weight; it is added to the experts' evidence.
        """
        G, K = len(self.weights), len(self.log_share)
        codes = {
            c.j: X.columns[c.j] if isinstance(c.codes, NameCodes) else c.codes.of(X.columns[c.j])
            for c in self.columns
        }
        evidence = self._by_code(codes, len(X))
        families = np.zeros_like(more)
        unpaired = np.zeros_like(more)
        for j, scores in self._by_value(X, codes):
            centred = scores - scores @ np.full((K, K), 1 / K)  # the matrix product is a fast mean
            families += centred
            unpaired += centred * (j in self._unpaired)
        evidence[:, :K] += families
        evidence[:, G * K : (G + 1) * K] += more
        evidence[:, (G + 1) * K : (G + 2) * K] += unpaired
        if self.experts is not None:
            self._add_pairs(self.experts, codes, evidence)
        if self.linear is not None:
            own = evidence[:, (G - 1) * K : G * K]
            own += self.linear.score(X)  # of numbers; categories are codes by now
            for j, parts in self._linear_parts.items():
                own += parts[codes[j]]
        return weigh_experts(evidence, self.weights, self.log_share, LEAST, doubt, threads())

    def _by_code(self, codes: Mapping[int, Codes], m: int) -> Array:
        """Return the sum of the table over the codes of each row, (m, evidence)."""
        own = [c.rows(codes[c.j]) for c in self._listed]
        if not own:
            return np.tile(self._start, (m, 1))
        found, _ = gather_scores(np.stack(own).T, self._table, self._offsets, threads())
        found += self._start
        return found

    def _by_value(self, X: Frame, codes: Mapping[int, Codes]) -> Iterator[tuple[int, Array]]:
        """Yield the columns whose scores are not in the table, with these scores, (m, K)."""
        for c in self.columns:
            if c.curve is not None:
                yield c.j, c.curve.score(X.columns[c.j])
            if is_long(c):
                yield c.j, c.scores[codes[c.j]]
        for block in self.blocks:
            yield from block.scores(X)

    def _add_pairs(self, experts: Experts, codes: Mapping[int, Codes], evidence: Array) -> None:
        """Add the evidence of pairs of columns."""
        G, K = len(self.weights), len(self.log_share)
        cells = np.stack([c.slots[codes[c.j]] for c in self.columns if c.slots is not None])
        evidence[:, PARENTS * K : LINEAR * K] = experts.parents.score(cells)
        end = G if self.linear is None else G - 1
        evidence[:, CURVED * K : TREES * K] = experts.curved.score(cells)
        evidence[:, LINEAR * K : TREES * K] *= evidence[:, -1:] / len(cells)
        if self.trees is not None:
            evidence[:, TREES * K : end * K] = self.trees.score(cells)
        if self._unpaired:
            evidence[:, K : end * K] += np.tile(evidence[:, (G + 1) * K : (G + 2) * K], end - 1)

    # Tables, computed when first needed

    @cached_property
    def _unpaired(self) -> frozenset[int]:
        return frozenset(c.j for c in self.columns if c.slots is None)

    @cached_property
    def _linear_parts(self) -> dict[int, Array]:
        """The part of each code in the score of the linear expert, by column of categories."""
        if self.linear is None:
            return {}
        found = {
            c.j: self.linear.column(c.j, c.codes.examples)
            for c in self.columns
            if isinstance(c.codes, NameCodes)
        }
        # the last code is for a category that was never seen
        return {j: np.vstack([parts, np.zeros_like(parts[:1])]) for j, parts in found.items()}

    @cached_property
    def _listed(self) -> list[Listed]:
        return [Listed.of(c) for c in self.columns]

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        """The first row of each column in the table."""
        return np.cumsum([0, *(len(c.scores) for c in self._listed)], dtype=np.int64)

    @cached_property
    def _start(self) -> Array:
        """The evidence of a row without any column."""
        G, K = len(self.weights), len(self.log_share)
        start = np.zeros((G + 2) * K + 1)
        start[G * K : (G + 1) * K] = self.constant
        if self.experts is not None:
            constants = [expert.constant for expert in self.experts.linear]
            start[LINEAR * K : CURVED * K] = np.concatenate(constants)
        return start

    @cached_property
    def _table(self) -> Array:
        """The evidence of each code of each column, (rows, evidence)."""
        G, K = len(self.weights), len(self.log_share)
        table = np.zeros((int(self._offsets[-1]), len(self._start)))
        for c, start, end in zip(self._listed, self._offsets, self._offsets[1:], strict=False):
            own = table[start:end]
            centred = c.scores - c.scores.mean(axis=1, keepdims=True)
            own[:, :K] = centred
            if c.slots is None:
                own[:, (G + 1) * K : (G + 2) * K] = centred
            elif self.experts is not None:
                linear = [expert.table[c.slots] for expert in self.experts.linear]
                own[:, BINS * K : PARENTS * K] = self.experts.bins.table[c.slots]
                own[:, LINEAR * K : CURVED * K] = np.hstack(linear)
                own[:, -1] = self.experts.known[c.slots]
        return table
