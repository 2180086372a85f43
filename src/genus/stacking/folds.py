"""Cross-validate by subtraction: count each row once, and subtract each fold from the sum.

Whatever is chosen from data (alpha, bins, shrinkage, words) is chosen again when the difference is
solved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, Matrix
from genus.model import Model
from genus.statistics import Array


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows that are dealt into folds, and `parts`, a model of each fold.

    Row i is X[i], with the class classes[y[i]] and fold[i]; `weight` is None if all rows weigh 1.
    """

    X: Matrix
    y: Codes
    classes: Axis
    weight: Array | None
    fold: Codes
    parts: tuple[Model, ...]

    @classmethod
    def count(
        cls, empty: Model, X: Matrix, y: Codes, classes: Axis, weight: Array | None, fold: Codes
    ) -> Folds:
        """Count the rows of each fold, 0, 1, …, into a model like `empty`."""
        parts = empty.count_groups(X, y, classes, weight, fold, int(fold.max()) + 1)
        return cls(X, y, classes, weight, fold, tuple(parts))

    @cached_property
    def everything(self) -> Model:
        """The model of all rows."""
        return reduce(add, self.parts)

    def left_out(self) -> Iterator[tuple[NDArray[np.intp], Model]]:
        """Yield the rows of each fold, and the model of all other rows."""
        ends = np.cumsum(np.bincount(self.fold))[:-1]
        tests = np.split(matrix.stable_order(self.fold), ends)
        for test, part in zip(tests, self.parts, strict=True):
            rest = self.everything.without(part)
            if len(rest.classes) == 0:
                raise ValueError(
                    f"All rows with a positive weight are in the fold of row {test[0]}, which has "
                    f"{len(test)} rows, so no row is left to learn from. Use more folds, or "
                    "give more rows a positive weight."
                )
            yield test, rest

    def later(self) -> Iterator[tuple[NDArray[np.intp], Model]]:
        """Yield the rows of each fold except the first, and the model of all earlier folds."""
        before = self.parts[0]
        for number in range(1, len(self.parts)):
            yield np.flatnonzero(self.fold == number), before
            before = before + self.parts[number]


def grouped(folds: int, groups: Codes) -> Codes:
    """Assign whole groups, the largest first, to folds of about equal size."""
    sizes = np.bincount(groups)
    there = int((sizes > 0).sum())
    if there < 2:
        raise ValueError(
            "All rows are in one group, so they cannot be divided into folds of whole groups. "
            "Choose another column of groups (groups=, --group), or leave it out."
        )
    if there < folds:
        raise ValueError(
            f"There are {there} groups, which is too few for {folds} folds of whole groups. "
            "Use fewer folds."
        )
    held = np.zeros(folds)
    place = np.zeros(len(sizes), dtype=np.int64)
    for group in np.argsort(-sizes, kind="stable"):
        place[group] = int(np.argmin(held))
        held[place[group]] += sizes[group]
    return place[groups]


def in_time(folds: int, time: Array) -> Codes:
    """Divide rows into folds + 1 blocks of about equal size, in order of time."""
    moments, code, counts = np.unique(time, return_inverse=True, return_counts=True)
    if len(moments) < 3:
        raise ValueError(
            "Folds by time need three or more different times, because each fold is predicted "
            f"from earlier rows; got {len(moments)}. Choose another column of times (time=, "
            "--time), or leave it out."
        )
    if len(moments) <= folds:
        raise ValueError(
            f"{folds} folds by time need {folds + 1} different times, because each fold is "
            f"predicted from earlier rows, but there are only {len(moments)}. Use fewer folds."
        )
    middle = np.cumsum(counts) - counts / 2
    block = np.minimum((middle * (folds + 1) / len(time)).astype(np.int64), folds)
    return np.unique(block, return_inverse=True)[1][code]


def stratified(folds: int, codes: Codes, random_state: int | None) -> Codes:
    """Deal rows into folds with similar class shares; rows of a rare class get different folds."""
    order = np.random.default_rng(random_state).permutation(len(codes))
    order = order[matrix.stable_order(codes[order])]
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.resize(np.arange(folds), len(codes))
    return fold
