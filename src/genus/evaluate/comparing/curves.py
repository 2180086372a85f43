"""Learning curves: error and log loss by number of rows, over many repeats.

The rows are dealt into ten blocks. Each block serves once as test rows. The models are fitted to
the other blocks in random order, so that the training sets are nested: parts of the first block,
then one block, two, … nine. A generative model of several blocks is the sum of the models of single
blocks, which are counted once for all points of all curves. A discriminative model is fitted at
each point.

Symbols: S sizes, R repeats, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.evaluate.comparing.counting import generative
from genus.evaluate.comparing.data import Material
from genus.evaluate.comparing.fitting import LOGISTIC, PERCEPTRON, Encodings, discriminative
from genus.evaluate.comparing.points import Line, blocks_for, deals, shared, sizes_for
from genus.statistics import Array

MANY_ROWS = 1000  # blocks are dealt three times for up to this many rows
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Guess:
    """The error of always predicting the most frequent class, and the log loss of class shares."""

    error: float
    log_loss: float

    @classmethod
    def of(cls, y: NDArray[Any]) -> Guess:
        share = np.bincount(y) / len(y)
        share = share[share > 0]
        return cls(float(1 - share.max()), float(-share @ np.log(share)))


@dataclass(frozen=True, eq=False)
class Curves:
    """The sizes (S,), the curves, and `tested`, the smallest number of test rows in a repeat.

    `counting` is the time in seconds of all points of the generative curve; `refitting` is the time
    if each point were fitted from scratch, extrapolated from one repeat.
    """

    sizes: NDArray[np.int64]
    lines: tuple[Line, ...]
    tested: int
    counting: float
    refitting: float
    judged: NDArray[np.intp]  # the row numbers that `Line.probabilities` belong to
    guess: Guess | None = None

    def compared(self, measure: str) -> list[Array]:
        """Return each model's error or log loss, (S, R), where all models were fitted; else NaN."""
        both = np.array([shared(self.lines, s) for s in range(len(self.sizes))])
        return [np.where(both, getattr(line, measure), np.nan) for line in self.lines]


def curves(
    given: Material,
    repeats: int | None = None,
    patience: float = 60.0,
    seed: int | None = 0,
    progress: Progress | None = None,
) -> Curves:
    """Return the curves of the generative model, of logistic regression, and of the perceptron."""
    rows = len(given.y)
    if isinstance(patience, bool) or not patience > 0:
        raise ValueError(f"patience must be a number of seconds above 0; got {patience!r}.")
    blocks = blocks_for(given.y)
    times = repeats_to_times(repeats, rows, blocks)
    at = sizes_for(rows, len(given.classes), blocks)
    dealt = list(deals(given.y, blocks, times, seed))
    total = 3 * len(at) * len(dealt)

    def told(points: int) -> None:
        if progress is not None:
            progress(points, total)

    ours, counting, refitting = generative(given, at, dealt, patience, told)
    encodings = Encodings(given)
    theirs = [
        discriminative(encodings, name, at, dealt, patience, told)
        for name in (LOGISTIC, PERCEPTRON)
    ]
    first = [deal for deal in dealt if deal.number == 0]
    return Curves(
        np.array([size for size, _ in at]),
        (ours, *theirs),
        min(len(deal.test) for deal in dealt),
        counting,
        refitting,
        np.concatenate([deal.test for deal in first]),
        Guess.of(given.y),
    )


def repeats_to_times(repeats: int | None, rows: int, blocks: int) -> int:
    """Return how many times to deal the rows into blocks; each time gives `blocks` repeats."""
    if repeats is None:
        return 3 if rows <= MANY_ROWS else 1
    if isinstance(repeats, bool) or not isinstance(repeats, int | np.integer) or repeats < 1:
        raise ValueError(f"repeats must be a whole number, 1 or more; got {repeats!r}.")
    return -(-int(repeats) // blocks)
