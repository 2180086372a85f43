"""Boosted trees over the cells of a table: the expert for interactions of three or more columns.

Counts of pairs hold no information about three columns, but the sample of rows does. A tree asks a
row six questions, the same for all rows: is the cell of this column below that cut? Each of the 64
combinations of answers has a value for each class, which is added to the log-odds. Trees are grown
one after another, and each corrects the errors of those before it (gradient boosting; Friedman
2001). The formulas are in the kernel's `boosting.hpp`.

**Out-of-fold scores come for free.** The trees are grown once for each fold, without its rows, and
score these rows when the weights of experts are learned. The expert is the mean over the folds. The
losses of the other folds, which are out of fold, too, decide how many trees a fold keeps.

**Unknown values are summed out.** If a value is unknown, both answers are possible, in proportion
to the rows that were counted. The same sum gives the score for a subset of the columns, and with it
the exact Shapley values of columns, which explanations need. While a tree grows, missing values
sort below all others.

The trees depend only on the sample, which can merge and forget, and on a fixed seed, so the laws
hold. Unlike weights, trees contain information about single rows. So statistics without some rows
(a fold, or one row left out) are solved with trees of their own, even where the weights of all rows
are kept.

Symbols: m rows, n columns, K classes, V slots, T trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import explain_trees, grow_trees, sum_trees
from genus.arrays import hashes
from genus.arrays.matrix import Codes, threads
from genus.stacking.stack import shares
from genus.statistics import Array
from genus.statistics.sample import Sample
from genus.table.model.experts import Cells

NAME = "boosted trees"
QUESTIONS = 6  # of a tree
FEWEST_ROUNDS, MOST_ROUNDS = 20, 200  # trees of a fold
MOST_VALUES = 1 << 22  # of all trees, unless there are too many classes even for few rounds
PATIENCE = 20  # rounds without a gain after which boosting ends
RATE = 0.2  # the part of a Newton step that is taken
RIDGE = 1.0  # added to the curvature of each leaf, in rows


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """The trees of all folds, fold by fold; the trees of fold f begin at starts[f] (folds + 1,).

    `columns` and `cuts` (T, 6) are the questions, `values` (T, 64, K) the values of the leaves, and
    `weights` (T, 64) the weights of the rows in them, up to a factor. `seen` (V + 1,) marks the
    cells that count as known: those of the sample, without missing values that do not depend on the
    class. If several columns have the same cells in all rows, trees ask for one of them; `same`
    (n,) is its position. `origin` identifies the rows and cells from which the trees grew.
    """

    columns: NDArray[np.uint16]
    cuts: NDArray[np.uint16]
    values: Array
    weights: Array
    starts: NDArray[np.int64]
    seen: NDArray[np.bool_]
    same: NDArray[np.int64]
    origin: str

    @property
    def name(self) -> str:
        return NAME

    @property
    def folds(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def grown(
        cls,
        cells: Cells,
        starts: NDArray[np.int64],
        names: Sequence[str],
        y: Codes,
        weight: Array,
        fold: Codes,
        classes: int,
        folds: int,
        origin: str,
    ) -> BoostedTrees:
        """Grow trees from the rows of a sample; the cells of column j begin at starts[j].

        The columns that a question chooses from depend on their names, not on their order.
        """
        unknown = int(starts[-1])
        cells = np.where(cells < unknown, cells, starts[:-1, None]).astype(np.uint16)
        share = shares(y, weight, classes)
        keys = hashes.of_names(names)
        same = alike(cells - starts[:-1, None], keys)
        asked = np.unique(same)
        rows = cells, starts, y, weight, fold, share, keys, asked
        rounds = MOST_VALUES // (folds * classes << QUESTIONS)
        rounds = int(np.clip(rounds, FEWEST_ROUNDS, MOST_ROUNDS))
        limits = rounds, PATIENCE, QUESTIONS, tried(len(asked)), RATE, RIDGE
        found = grow_trees(*rows, folds, *limits, threads())
        losses = found[4]
        kept = (losses.sum(axis=0) - losses).argmin(axis=1) + 1
        each = np.arange(losses.shape[1]) < kept[:, None]
        columns, cuts, values, weights = (part[each] for part in found[:4])
        seen = np.bincount(cells.reshape(-1), minlength=unknown + 1) > 0
        ends = np.append(0, np.cumsum(kept)).astype(np.int64)
        return cls(columns, cuts, values, weights, ends, seen, same, origin)

    def check(self, columns: int, unknown: int) -> None:
        """Raise an error unless the trees have this many columns, and `unknown` cells in all."""
        if len(self.seen) != unknown + 1 or len(self.same) != columns:
            raise ValueError(
                f"The trees of this model do not match its {columns} paired columns: its "
                "file is damaged. Restore it from a copy, or fit again."
            )

    def without(self, cells: NDArray[Any]) -> BoostedTrees:
        """Return the same trees, which treat these cells as unknown."""
        seen = self.seen.copy()
        seen[cells] = False
        return replace(self, seen=seen)

    def of_fold(self, f: int) -> BoostedTrees:
        """Return the trees that were grown without a fold."""
        own = slice(*self.starts[f : f + 2].tolist())
        parts = {name: getattr(self, name)[own] for name in TREES}
        return replace(self, **parts, starts=np.array([0, own.stop - own.start]))

    @cached_property
    def constant(self) -> Array:
        """The trees' score of a row without any value, (K,)."""
        columns = int(self.columns.max(initial=0)) + 1
        return sum_trees(np.full((columns, 1), self._unknown), *self._trees)[0] / self.folds

    def score(self, cells: Cells) -> Array:
        """Return the trees' estimate of log(p(k|x) / p(k)), up to a constant, (m, K)."""
        return sum_trees(self._known(cells), *self._trees) / self.folds - self.constant

    def contributions(self, cells: Cells) -> Array:
        """Return the Shapley values of columns in the score, (n, m, K), which sum to it.

        Columns with the same cells share their value equally.
        """
        terms = explain_trees(self._known(cells), *self._trees) / self.folds
        return terms[self.same] / np.bincount(self.same)[self.same, None, None]

    @property
    def _unknown(self) -> np.uint16:
        return np.uint16(len(self.seen) - 1)

    @property
    def _trees(self) -> tuple[Any, ...]:
        return *(getattr(self, name) for name in TREES), int(self._unknown), threads()

    def _known(self, cells: Cells) -> Cells:
        """Replace cells that the trees have never seen by the cell for unknown values."""
        return np.where(self.seen[cells], cells, self._unknown)


TREES = tuple(field.name for field in fields(BoostedTrees))[:4]


def origin(sample: Sample, starts: NDArray[np.int64]) -> str:
    """Return a digest of a sample's rows and of the positions where cells begin."""
    arrays = sample.hashes, sample.codes, sample.weights, starts
    return blake2b(b"".join(a.tobytes() for a in arrays), digest_size=16).hexdigest()


def alike(cells: NDArray[Any], keys: hashes.Hashes) -> NDArray[np.int64]:
    """Return for each of the n columns the one with the same `cells` (n, m) and the smallest key.

    >>> alike(np.array([[0, 1], [1, 1], [0, 1]]), np.array([9, 1, 5], dtype=np.uint64)).tolist()
    [2, 1, 2]
    """
    order = np.argsort(keys)
    known: dict[bytes, int] = {}
    found = [known.setdefault(cells[j].tobytes(), int(j)) for j in order]
    same = np.empty(len(cells), dtype=np.int64)
    same[order] = found
    return same


def tried(columns: int) -> int:
    """Return how many columns a question chooses from: half of them, or fewer if there are many."""
    return min(ceil(columns / 2), ceil(2 * sqrt(columns)))
