"""Deal rows into folds, and subtract each fold from the statistics of all rows.

The statistics without a fold are the statistics of all rows minus those of the fold. So nothing is
counted twice, and whatever is solved from this difference does not depend on the fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes
from genus.statistics import Array, Compound, Pairs, Tally
from genus.statistics.group import GATHERED


@dataclass(frozen=True, eq=False)
class Dealt:
    """Rows that are dealt into folds, with the statistics of all rows and of each fold.

    Row i is X[i], with the class classes[y[i]], weight[i] and fold[i]. `parts` are the statistics
    of the folds, and `whole` those of all rows, which may be more than the rows in X.
    """

    X: Any
    y: Codes
    classes: Axis
    weight: Array
    fold: Codes
    whole: Any
    parts: Sequence[Any]

    def left_out(self) -> Iterator[tuple[NDArray[np.intp], Any]]:
        """Yield the rows of each fold, and the statistics of all other rows."""
        ends = np.cumsum(np.bincount(self.fold, minlength=len(self.parts)))[:-1]
        tests = np.split(matrix.stable_order(self.fold), ends)
        for test, part in zip(tests, self.parts, strict=True):
            yield test, floored(self.whole - part)


def thinned(rows: int, most: int, folds: int) -> NDArray[np.bool_]:
    """Return a mask (rows,) of about `most` rows at equal steps.

    The folds take rows in turns, so a step that is a multiple of `folds` could take all rows from
    one fold. Such a step is raised by one.

    >>> thinned(6, 3, folds=2).nonzero()[0]
    array([0, 3])
    """
    step = -(-rows // max(most, 1))
    return np.arange(rows) % (step + (step % folds == 0)) == 0


def floored(statistics: Any) -> Any:
    """Set counts to zero if they are negative or no larger than the rounding error.

    A count can be negative if two words or categories share a hash.
    """
    if isinstance(statistics, Compound):
        return Compound({name: floored(part) for name, part in statistics.parts.items()})
    if isinstance(statistics, Pairs):
        counts = above_rounding(statistics.counts)
        if counts is statistics.counts:
            return statistics
        return Pairs.of(statistics.classes, statistics.keys, counts)
    if not isinstance(statistics, Tally):
        return statistics
    tables = {name: above_rounding(table) for name, table in statistics.counts.items()}
    return Tally.of(statistics.classes, statistics.keys, tables)


def above_rounding(counts: Array) -> Array:
    """Set counts to zero if they do not exceed the rounding error of the largest count."""
    tiny = (counts <= GATHERED * counts.max(initial=0.0)) & (counts != 0)
    return np.where(tiny, 0.0, counts) if tiny.any() else counts


def deal(
    y: Codes, number: Array, unit: NDArray[np.intp], weight: Array, folds: int, most: int
) -> tuple[NDArray[np.intp], Codes, Array]:
    """Deal rows into folds, each with a share of every class; return indices, folds and weights.

    The rows must be in random order, because folds are dealt by position. Rows of one `unit`, the
    position of their first row, go into one fold. Any other row that stands for a `number` n of
    equal rows goes into up to n folds, each with an equal part of its weight, as long as the result
    has no more than `most` rows.

    >>> first = np.array([0, 1, 1, 3])
    >>> deal(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 5]), first, np.array([1, 2, 3, 4.0]), 2, 99)
    (array([0, 1, 2, 3, 3]), array([0, 1, 1, 0, 1]), array([1., 2., 3., 2., 2.]))
    """
    own = np.arange(len(y))
    times = np.clip(
        np.floor(number * (1 + GATHERED)), 1, max(min(folds, most // max(len(y), 1)), 1)
    ).astype(int)
    times[np.bincount(unit, minlength=len(y))[unit] > 1] = 1
    row = np.repeat(own, times)
    leads = np.flatnonzero((unit == own)[row])
    order = leads[matrix.stable_order(y[row[leads]])]
    sizes = np.bincount(y[row[leads]]) if len(row) else np.zeros(0, int)
    place = np.empty(len(row), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    start = np.cumsum(times) - times
    follows = np.flatnonzero((unit != own)[row])
    place[follows] = place[start[unit[row[follows]]]]
    return row, place % folds, (weight / times)[row]
