"""Merge the cells of paired columns into bins, which the experts of a table share.

Cells are fixed before counting; bins are chosen from the counts whenever a model is solved.

Symbols: V slots (for each column one for missing values and then its cells), B bins, K classes, n
columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from genus.arrays.labels import Axis
from genus.solve.grid import ROUNDING, mdlp, quantile_cuts
from genus.statistics import Array, Pairs
from genus.table.model.marginals import absence

MOST_BINS, FEWEST_BINS = 12, 3  # bins of about equal weight of a column of numbers
BIN_ROWS = 5.0  # rows of a class that a bin should have, approximately


@dataclass(frozen=True, eq=False)
class Binned:
    """Counts by class and bin, and the bin of each slot.

    `pairs` (K, B, B) are counts by class and by the bins of two columns, `single` (K, B) counts by
    class and bin, and `weights` (K,) the weights of the classes. `bin_of` (V + 1,) is the bin of
    each slot. It is B for slots that carry no evidence: the last slot, which is for unknown values,
    and those for missing values that do not depend on the class. `column` (B,) is the column of
    each bin, and `is_missing` (B,) marks the bins for missing values. `columns` is the number of
    columns; some may have no bin.
    """

    pairs: Array
    single: Array
    weights: Array
    bin_of: NDArray[np.intp]
    column: NDArray[np.intp]
    is_missing: NDArray[np.bool_]
    columns: int

    @property
    def size(self) -> int:
        return len(self.column)


def merged(
    counted: Pairs, classes: Axis, is_number: NDArray[np.bool_], keep_missing: bool = False
) -> Binned:
    """Merge the cells of each column into bins; `number_cuts` chooses the bins of numbers.

    Unless `keep_missing`, missing values have a bin only if they depend on the class.
    """
    counts = counted.align(classes)
    single = np.einsum("kvv->kv", counts)
    starts = counted.starts
    weights = single[:, : starts[1]].sum(axis=1) if len(starts) > 1 else np.zeros(len(classes))
    first: list[int] = []  # first slot of each bin
    column: list[int] = []
    missing: list[bool] = []
    for j, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        body = single[:, start + 1 : end]
        cuts = number_cuts(body, weights) if is_number[j] else np.arange(1, body.shape[1])
        begins = [start, start + 1, *(start + 1 + cuts).tolist()][: end - start]
        first += begins
        column += [j] * len(begins)
        missing += [True] + [False] * (len(begins) - 1)
    at = np.array(first, dtype=np.intp)
    by_bin = np.add.reduceat(np.add.reduceat(counts, at, axis=1), at, axis=2)
    alone = np.add.reduceat(single, at, axis=1)
    used = np.atleast_1d(alone.any(axis=0)) | (np.array(missing) & keep_missing)
    if not keep_missing:
        used[np.array(missing)] &= tells_absence(counted, classes)
    place = np.where(used, np.cumsum(used) - 1, int(used.sum()))
    sizes = np.diff(np.append(at, single.shape[1]))
    return Binned(
        by_bin[:, used][:, :, used],
        alone[:, used],
        weights,
        np.append(np.repeat(place, sizes), used.sum()),
        np.array(column, dtype=np.intp)[used],
        np.array(missing)[used],
        len(starts) - 1,
    )


def tells_absence(counted: Pairs, classes: Axis) -> NDArray[np.bool_]:
    """Return for each column whether the share of missing values depends on the class."""
    single = np.einsum("kvv->kv", counted.align(classes))
    starts = counted.starts
    weights = single[:, : starts[1]].sum(axis=1) if len(starts) > 1 else np.zeros(len(classes))
    found = np.zeros(len(starts) - 1, dtype=bool)
    for j, absent in enumerate(single[:, starts[:-1]].T):
        if absent.any():
            found[j] = absence(classes, np.maximum(weights - absent, 0.0), absent)[1] > 0
    return found


def number_cuts(counts: Array, weights: Array) -> NDArray[np.intp]:
    """Return the cells at which a bin begins, from the counts (K, C) of a column of numbers.

    Cells are cut where the class distribution changes (MDLP). Bins that weigh much more than an
    equal share are then cut evenly, so that dependence on other columns is not lost.
    """
    if counts.shape[1] < 2:
        return np.zeros(0, dtype=np.intp)
    rows = weights.sum() * (1 + ROUNDING)
    parts = np.clip(np.sqrt(rows / (BIN_ROWS * len(weights))), FEWEST_BINS, MOST_BINS)
    weight = counts.sum(axis=0)
    total = max(weight.sum(), 1e-300)
    cuts = mdlp(counts.T)
    bounds = [0, *cuts.tolist(), counts.shape[1]]
    found = list(cuts.tolist())
    for start, end in pairwise(bounds):
        share = int(np.ceil(weight[start:end].sum() / total * int(parts) - 1e-9))
        if share > 1:
            found += (start + even_cuts(weight[start:end], share)).tolist()
    return np.unique(np.array(found, dtype=np.intp))


def even_cuts(weight: Array, count: int) -> NDArray[np.intp]:
    """Return the cells at which to cut numbers into bins of about equal weight."""
    there = np.flatnonzero(weight > 0)
    if len(there) <= count:
        return there[1:]
    return quantile_cuts(weight, count)
