"""Trees over the cells of a table: the expert for interactions of three or more columns.

Counts of pairs hold no information about three columns, but the sample of rows does. A tree divides
the sample by one cell after another. p(k|x) is the share of class k in the leaf, shrunk towards the
share in the node above by one row. The expert is the mean of many trees, which differ in the
columns that their nodes may choose from (random forests; Breiman 2001). Its evidence is log p(k|x)
/ p(k), where p(k) is the trees' estimate for a row with no known value.

**Out-of-fold scores come for free.** Each tree leaves one fold of the sample out, and scores the
rows of that fold when the weights of experts are learned. All trees together are the expert.

**Unknown values are summed out.** If a value is unknown, a row follows both branches, in proportion
to the rows that were counted. The same sum gives the score for a subset of the columns
(`in_order`), which explanations need. While a tree grows, missing values sort below all others.

The trees depend only on the sample, which merges and forgets, and on a fixed seed, so the laws
hold. Unlike weights, trees contain information about single rows. So statistics without some rows
(a fold, or one row left out) are solved with trees of their own, even where the weights of all rows
are kept.

Symbols: m rows, n columns, K classes, V slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import average_trees, average_trees_in_order, grow_trees
from genus.arrays import hashes
from genus.arrays.matrix import Codes, threads
from genus.stacking.stack import shares
from genus.statistics import Array
from genus.statistics.sample import Sample
from genus.table.model.experts import Cells

NAME = "trees"
FEWEST_TREES, MOST_TREES = 20, 40  # for each fold
TREE_ROWS = 100_000  # rows from which all trees of a fold are grown, within these limits
FEWEST_LEAVES, MOST_LEAVES = 256, 1024  # of a tree, at most
FAINT = 0.1  # explanations do not follow branches with less weight
LEAVES = 40  # for each class, within these limits


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of several folds, in one array.

    `nodes` (N, 3) are column, cut and child: a row goes to the child if its cell is below the cut,
    else to the node after the child. A leaf has -1 minus its number as child. `share` (N,) is the
    part of a node's weight that went to the child, `values` (leaves, K) are the shares of classes,
    and trees begin at `starts`. `seen` (V + 1,) marks the cells that count as known: those of the
    sample, without missing values that do not depend on the class. `origin` identifies the rows and
    cells from which the trees grew.
    """

    nodes: NDArray[np.int32]
    share: Array
    values: Array
    starts: NDArray[np.int64]
    seen: NDArray[np.bool_]
    folds: int
    origin: str

    @property
    def name(self) -> str:
        return NAME

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
    ) -> Forest:
        """Grow trees from the rows of a sample; the cells of column j begin at starts[j].

        The columns that a node may choose from depend on their names, not on their order.
        """
        n, unknown = len(cells), int(starts[-1])
        cells = np.where(cells < unknown, cells, starts[:-1, None]).astype(np.uint16)
        share = shares(y, weight, classes)
        trees = int(np.clip(TREE_ROWS // max(len(y), 1), FEWEST_TREES, MOST_TREES))
        leaves = int(np.clip(LEAVES * classes, FEWEST_LEAVES, MOST_LEAVES))
        rows = cells, starts, y, weight, fold, share, hashes.of_names(names)
        nodes, part, values, ends = grow_trees(*rows, folds, trees, leaves, tried(n), threads())
        seen = np.bincount(cells.reshape(-1), minlength=unknown + 1) > 0
        # A file holds half of the digits, which are more than the rows determine.
        part, values = (a.astype(np.float32).astype(np.float64) for a in (part, values))
        return cls(nodes, part, values, ends, seen, folds, origin)

    @cached_property
    def log_prior(self) -> Array:
        """The trees' estimate of log p(k) for a row without any value, (K,)."""
        columns = int(self.nodes[:, 0].max(initial=0)) + 1
        nothing = np.full((columns, 1), len(self.seen) - 1, dtype=np.uint16)
        return np.log(self._mean(nothing)[0])

    def check(self, columns: int, unknown: int) -> None:
        """Raise an error unless the trees have this many columns, whose cells end at `unknown`."""
        if len(self.seen) != unknown + 1 or int(self.nodes[:, 0].max(initial=0)) >= columns:
            raise ValueError(
                f"The trees of this model do not match its {columns} paired columns: its "
                "file is damaged. Restore it from a copy, or fit again."
            )

    def without(self, cells: NDArray[Any]) -> Forest:
        """Return the same trees, with some cells treated as unknown."""
        seen = self.seen.copy()
        seen[cells] = False
        return replace(self, seen=seen)

    def of_fold(self, f: int) -> Forest:
        """Return the trees that were grown without a fold."""
        trees = (len(self.starts) - 1) // self.folds
        return replace(self, starts=self.starts[f * trees : (f + 1) * trees + 1], folds=1)

    def score(self, cells: Cells) -> Array:
        """Return log p(k|x) / p(k), (m, K)."""
        return np.log(self._mean(self._known(cells))) - self.log_prior

    def in_order(self, cells: Cells, order: NDArray[np.intp]) -> Array:
        """Return the scores given the first s columns of an order, for each s, (s + 1, m, K)."""
        rank = np.full(len(cells), len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        rows = self._known(cells), *self._trees, rank, len(order), FAINT, threads()
        found = np.log(average_trees_in_order(*rows)) - self.log_prior
        return np.concatenate([np.zeros((1, *found.shape[1:])), found])

    @property
    def _trees(self) -> tuple[NDArray[np.int32], Array, Array, NDArray[np.int64], int]:
        return self.nodes, self.share, self.values, self.starts, len(self.seen) - 1

    def _mean(self, cells: Cells) -> Array:
        return average_trees(cells, *self._trees, threads())

    def _known(self, cells: Cells) -> Cells:
        """Replace cells that the trees have never seen by the cell for unknown values."""
        return np.where(self.seen[cells], cells, len(self.seen) - 1).astype(np.uint16)


def origin(sample: Sample, starts: NDArray[np.int64]) -> str:
    """Return a digest of a sample's rows and of the positions where cells begin."""
    arrays = sample.hashes, sample.codes, sample.weights, starts
    return blake2b(b"".join(a.tobytes() for a in arrays), digest_size=16).hexdigest()


def tried(columns: int) -> int:
    """Return how many columns a node chooses from: half of them, or fewer if there are many."""
    return min(ceil(columns / 2), ceil(2 * sqrt(columns)))
