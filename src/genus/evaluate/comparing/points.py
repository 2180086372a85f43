"""Choose the training and test rows of each point of a learning curve.

Symbols: S sizes, R repeats, K classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.stacking.folds import stratified
from genus.statistics import Array

BLOCKS = 10
WHOLE_BLOCKS = (1, 2, 3, 4, 6, 9)  # numbers of blocks to train on, of ten
MOST_TESTED = 10_000  # rows of a block that models are tested on
LEAST_P = 1e-15
FEWEST_TIMES = 3  # fewest fits of a point
Sizes = Sequence[tuple[int, int]]  # each with its number of whole blocks; 0 for a part of one


@dataclass(frozen=True, eq=False)
class Deal:
    """One repeat: the test rows, and the order in which the other rows are learned.

    `first` has the rows of the first block: one of each class, then the others at random. `order`
    has the blocks in the order of learning. `fold` is the block of each row.
    """

    test: NDArray[np.intp]
    first: NDArray[np.intp]
    order: tuple[int, ...]
    fold: NDArray[np.int64]
    number: int  # of the deal

    def rows(self, size: int, blocks: int) -> NDArray[np.intp]:
        """Return the training rows, ascending: whole blocks, or `size` rows of the first block."""
        if blocks:
            return np.flatnonzero(np.isin(self.fold, self.order[:blocks]))
        return np.sort(self.first[:size])


@dataclass(frozen=True, eq=False)
class Line:
    """A model's error and log loss by size and repeat, (S, R); NaN if it was not fitted.

    `seconds` (S,) is the time of a single fit, and `memory` the bytes of a fit at the largest size.
    `probabilities` are the out-of-fold predictions from the first time that rows were dealt.
    """

    name: str
    error: Array
    log_loss: Array
    seconds: Array
    memory: int | None = None
    probabilities: Array = field(default_factory=lambda: np.empty(0))
    notes: tuple[str, ...] = ()


def blocks_for(y: NDArray[Any]) -> int:
    """Return the number of blocks: ten, or fewer if many rows are in small classes, at least two.

    A class with fewer rows than there are blocks is missing from some blocks. If at least two
    blocks remain, their number is chosen so that such classes have at most a tenth of the rows.
    """
    number = np.bincount(y)[y]
    return int(min(BLOCKS, max(2, np.quantile(number, 0.1))))


def sizes_for(rows: int, classes: int, blocks: int) -> Sizes:
    """Return ascending sizes, each with its number of whole blocks: 0 for sizes below a block."""
    block = rows / blocks
    least = max(classes, 4)
    parts = []
    size = block / 2
    while size >= least:
        parts.append((round(size), 0))
        size /= 2
    whole = sorted(
        {max(1, round(k * blocks / BLOCKS)) for k in WHOLE_BLOCKS} & set(range(1, blocks))
    )
    return parts[::-1] + [(round(k * block), k) for k in whole]


def deals(y: NDArray[Any], blocks: int, times: int, seed: int | None) -> Iterator[Deal]:
    """Yield every repeat; there are `times` × `blocks`."""
    rng = np.random.default_rng(seed)
    for number in range(times):
        fold = stratified(blocks, y, int(rng.integers(1 << 31)))
        for tested in range(blocks):
            others = rng.permutation([b for b in range(blocks) if b != tested])
            test = np.flatnonzero(fold == tested)
            if len(test) > MOST_TESTED:
                test = np.sort(rng.choice(test, MOST_TESTED, replace=False))
            first = rng.permutation(np.flatnonzero(fold == others[0]))
            _, one_of_each = np.unique(y[first], return_index=True)
            rest = np.delete(first, one_of_each)
            yield Deal(
                test, np.append(first[one_of_each], rest), tuple(others.tolist()), fold, number
            )


def shared(lines: Sequence[Line], s: int) -> NDArray[np.bool_]:
    """Mark the repeats in which all models were fitted at a size, (R,).

    Models that were not fitted at this size at all are ignored.
    """
    there = [~np.isnan(line.error[s]) for line in lines]
    return np.logical_and.reduce([each for each in there if each.any()] or there)


def judged(p: Array, y: NDArray[Any]) -> tuple[float, float]:
    """Return the share of wrong predictions, and the mean of -log p(true class)."""
    own = p[np.arange(len(y)), y]
    loss = -np.log(np.maximum(own, LEAST_P))
    return float(np.mean(p.argmax(axis=1) != y)), float(loss.mean())


def stacked(out: Sequence[Array], classes: int) -> Array:
    """Concatenate the probabilities of the given repeats, (m, K)."""
    return np.concatenate(out) if out else np.empty((0, classes))


def notes_of(name: str, problems: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the notes on a model, with the first of its problems."""
    if not problems:
        return tuple(others)
    why = " ".join(problems[0].split())[:300]
    first = f"Failed fits of {name}: {len(problems):,}. The first error: {why}"
    return (first, *others)
