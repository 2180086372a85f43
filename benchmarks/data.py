"""Data by seed: every process draws its own, and all draw the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from benchmarks import corpus

Labels = NDArray[np.int64]
WORDS_PER_ROW = 120  # about 100 of them distinct


@dataclass(frozen=True)
class Data:
    """A matrix (rows, columns) of some kind and labels 0 … classes - 1.

    A `source` draws something else of so many rows, and labels of its own.
    """

    kind: str
    rows: int
    columns: int
    classes: int
    source: Callable[[int], tuple[Any, NDArray[Any]]] | None = None

    def draw(self) -> tuple[Any, NDArray[Any]]:
        """X (rows, columns) and y (rows,)."""
        if self.source is not None:
            return self.source(self.rows)
        if self.kind == "texts":
            drawn = corpus.draw(self.rows, self.columns, self.classes)
            return drawn, drawn.y
        rng = np.random.default_rng(20)
        y = rng.integers(0, self.classes, self.rows)
        y[: self.classes] = np.arange(self.classes)
        return KINDS[self.kind](self, y, rng), y

    def scaled(self, divisor: int) -> Data:
        """The same with fewer rows."""
        return replace(self, rows=self.rows // divisor)

    @property
    def sample(self) -> Data:
        """A few rows and columns of the same kind, to warm up on."""
        return replace(
            self, rows=max(600, 2 * self.classes), columns=600 if self.kind == "texts" else 6
        )

    def __str__(self) -> str:
        if self.kind == "texts":
            return f"{short(self.rows)} texts, {short(self.columns)} words, {self.classes} classes"
        return f"{short(self.rows)}×{short(self.columns)} {self.kind}, {self.classes} classes"


def short(number: int) -> str:
    """1M, 500k, 784."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if number >= size and number % (size // 100) == 0:
            return f"{number / size:g}{unit}"
    return f"{number:,}"


def float64(data: Data, y: Labels, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal about a mean for each class."""
    mean = rng.normal(scale=1 / np.sqrt(data.columns), size=(data.classes, data.columns))
    return rng.standard_normal((data.rows, data.columns)) + mean[y]


def uint8(data: Data, y: Labels, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Pixels, a fifth of them inked, as in MNIST; classes differ a little everywhere."""
    inked = rng.beta(0.25, 1.05, size=data.columns)
    inked = np.clip(inked + rng.normal(scale=0.03, size=(data.classes, data.columns)), 0.01, 0.99)
    inked = inked.astype(np.float32)
    X = rng.integers(1, 256, (data.rows, data.columns), dtype=np.uint8)
    X[rng.random(X.shape, dtype=np.float32) >= inked[y]] = 0
    return X


def categories(data: Data, y: Labels, rng: np.random.Generator) -> NDArray[np.int64]:
    """0 … 9, low or high ones more often by class and column."""
    power = rng.uniform(0.8, 1.25, size=(data.classes, data.columns))
    return np.floor(10 * rng.random((data.rows, data.columns)) ** power[y]).astype(np.int64)


def counts(data: Data, y: Labels, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often something occurred, at a rate by class and column."""
    rate = rng.gamma(20.0, 0.1, size=(data.classes, data.columns))
    return rng.poisson(rate[y])


def words(data: Data, y: Labels, rng: np.random.Generator) -> scipy.sparse.csr_matrix:
    """Texts as counts of words: few are frequent, and every class has words of its own."""
    shape = (data.rows, WORDS_PER_ROW)
    word = (data.columns * rng.random(shape) ** 3).astype(np.int32)
    own = (word + 97 * y[:, None].astype(np.int32)) % data.columns
    word = np.where(rng.random(shape) < 0.1, own, word)
    starts = np.arange(data.rows + 1, dtype=np.int32) * WORDS_PER_ROW
    X = scipy.sparse.csr_matrix(
        (np.ones(word.size), word.ravel(), starts), shape=(data.rows, data.columns)
    )
    X.sum_duplicates()
    return X


KINDS: dict[str, Callable[[Data, Labels, np.random.Generator], Any]] = {
    draw.__name__: draw for draw in (float64, uint8, categories, counts, words)
}
