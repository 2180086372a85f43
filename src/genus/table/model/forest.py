"""Trees over the cells of a table: the expert for what three and more columns do together.

Counts of pairs know nothing of three columns. The sample of rows does: a tree divides its rows by
one cell after another, and p(k|x) is the share of class k in the leaf, drawn to that of the node
above by one row. The expert is the mean over many trees, which differ in the columns that their
nodes may choose from (random forests; Breiman 2001). As evidence it is the log of p(k|x) / p(k),
where p(k) is what the trees say of a row of which nothing is known.

**Out of fold for free.** Each tree leaves one fold of the sample out, and tells of the rows there,
for the weights that experts have. All trees together are the expert.

**Unknown values are summed out.** Where a value is not known, a row goes both ways, in the shares
of the rows that were counted. The same sum tells what trees would say of some columns only
(`in_order`), which explanations need. While a tree grows, what is missing is below all values.

The trees follow from the sample, which adds and forgets, and from no random numbers but those of
a seed: the laws hold. They know their rows, unlike weights: statistics without some rows (a fold,
one row left out) are solved with trees of their own, even where the weights of all rows are kept.

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
TREE_ROWS = 100_000  # rows that all trees of a fold are grown from, within these limits
FEWEST_LEAVES, MOST_LEAVES = 256, 1024  # of a tree, at most
FAINT = 0.1  # the least weight of a node below which an explanation looks
LEAVES = 40  # for each class, within these limits


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees side by side, as many for each of some `folds`.

    `nodes` (N, 3) are column, cut and child: a row goes to the child if its cell is below the cut,
    else to the node behind the child; a leaf has -1 minus its number as child. `share` (N,) of a
    node's weight went to the child, `values` (leaves, K) are shares of classes, and trees begin at
    `starts`. `seen` (V + 1,) says which cells are known: those of the rows, without what is missing
    where that says nothing of the class. `origin` names the rows and the cells that they grew from.
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
        """Grow trees from rows of a sample; the cells of columns begin at `starts`, (n + 1,).

        Which columns a node chooses from depends on their names, and not on where they stand.
        """
        n, unknown = len(cells), int(starts[-1])
        cells = np.where(cells < unknown, cells, starts[:-1, None]).astype(np.uint16)
        share = shares(y, weight, classes)
        trees = int(np.clip(TREE_ROWS // max(len(y), 1), FEWEST_TREES, MOST_TREES))
        leaves = int(np.clip(LEAVES * classes, FEWEST_LEAVES, MOST_LEAVES))
        rows = cells, starts, y, weight, fold, share, hashes.of_names(names)
        grown = grow_trees(*rows, folds, trees, leaves, tried(n), threads())
        seen = np.bincount(cells.reshape(-1), minlength=unknown + 1) > 0
        return cls(*grown, seen, folds, origin)

    @cached_property
    def log_prior(self) -> Array:
        """What the trees say of a row of which nothing is known, (K,)."""
        columns = int(self.nodes[:, 0].max(initial=0)) + 1
        nothing = np.full((columns, 1), len(self.seen) - 1, dtype=np.uint16)
        return np.log(self._mean(nothing)[0])

    def check(self, columns: int, unknown: int) -> None:
        """Raise unless the trees ask for cells of so many columns, which end at `unknown`."""
        if len(self.seen) != unknown + 1 or int(self.nodes[:, 0].max(initial=0)) >= columns:
            raise ValueError(
                f"The trees of this model are not those of its {columns} columns in pairs: its "
                "file is damaged. Restore it from a copy, or fit again."
            )

    def without(self, cells: NDArray[Any]) -> Forest:
        """The same trees, for which some cells are not known."""
        seen = self.seen.copy()
        seen[cells] = False
        return replace(self, seen=seen)

    def of_fold(self, f: int) -> Forest:
        """The trees that have not seen a fold."""
        trees = (len(self.starts) - 1) // self.folds
        return replace(self, starts=self.starts[f * trees : (f + 1) * trees + 1], folds=1)

    def score(self, cells: Cells) -> Array:
        """Return log p(k|x) / p(k), (m, K)."""
        return np.log(self._mean(self._known(cells))) - self.log_prior

    def in_order(self, cells: Cells, order: NDArray[np.intp]) -> Array:
        """Return the scores if only the first columns of an order are known, (s + 1, m, K)."""
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
        """The cells, with the one for what is unknown in place of those that never were."""
        return np.where(self.seen[cells], cells, len(self.seen) - 1).astype(np.uint16)


def origin(sample: Sample, starts: NDArray[np.int64]) -> str:
    """Name the rows of a sample, with cells that begin at `starts`, by a digest of them."""
    arrays = sample.hashes, sample.codes, sample.weights, starts
    return blake2b(b"".join(a.tobytes() for a in arrays), digest_size=16).hexdigest()


def tried(columns: int) -> int:
    """How many columns a node chooses between: half of them, or of many fewer."""
    return min(ceil(columns / 2), ceil(2 * sqrt(columns)))
