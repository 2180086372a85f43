"""A corpus by seed: texts of words that are as unequal as Zipf found them, in sentences.

The words and texts are drawn once and kept in `build/benchmarks`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parents[1] / "build" / "benchmarks"
LETTERS = np.frombuffer(b"etaoinshrdlucmfwypvbgkqjxz", dtype=np.uint8)
WORDS_PER_TEXT = 104
LONGEST = 18  # letters of a word
TEXTS_AT_A_TIME = 5000


@dataclass(frozen=True)
class Corpus:
    """Texts as UTF-8, one after the other, text i from offsets[i] to offsets[i + 1]; and labels."""

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    y: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: slice) -> Corpus:
        """Consecutive texts, without a copy."""
        start, stop, _ = rows.indices(len(self))
        return Corpus(self.text, self.offsets[start : stop + 1], self.y[start:stop])

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings())

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_array__(requested_schema)

    def strings(self) -> list[str]:
        """The texts as Python strings."""
        whole = self.text.tobytes()
        ends = self.offsets.tolist()
        return [whole[a:b].decode() for a, b in pairwise(ends)]

    def arrow(self) -> Any:
        """The texts as an Arrow array, without a copy."""
        import pyarrow

        buffers = [None, pyarrow.py_buffer(self.offsets), pyarrow.py_buffer(self.text)]
        return pyarrow.Array.from_buffers(pyarrow.large_string(), len(self), buffers)


def draw(texts: int, words: int, classes: int) -> Corpus:
    """The corpus of so many texts, of about 800 bytes each, over so many words."""
    folder = FOLDER / f"corpus-{texts}-{words}-{classes}"
    if not folder.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=FOLDER) as beside:
            corpus = make(texts, words, classes)
            for name in ("text", "offsets", "y"):
                np.save(Path(beside, f"{name}.npy"), getattr(corpus, name))
            os.makedirs(folder.parent, exist_ok=True)
            os.rename(beside, folder)
            os.makedirs(beside)  # what is to be removed
    parts = {name: np.load(folder / f"{name}.npy") for name in ("text", "offsets", "y")}
    return Corpus(**parts)


def make(texts: int, words: int, classes: int) -> Corpus:
    rng = np.random.default_rng(20)
    spelling, length = vocabulary(words, rng)
    y = rng.integers(0, classes, texts)
    y[:classes] = np.arange(classes)
    rank = np.arange(1, words + 1)
    share = np.cumsum(1 / (rank + 2.7))
    share /= share[-1]
    parts, sizes = [], []
    for start in range(0, texts, TEXTS_AT_A_TIME):
        labels = y[start : start + TEXTS_AT_A_TIME]
        count = np.maximum(rng.lognormal(np.log(WORDS_PER_TEXT), 0.6, len(labels)), 1).astype(int)
        text = np.repeat(np.arange(len(labels)), count)
        word = np.searchsorted(share, rng.random(len(text)))
        own = (word + 97 * labels[text]) % words  # every class has words of its own
        word = np.where(rng.random(len(text)) < 0.1, own, word)
        content, size = sentences(spelling, length, word, text, rng)
        parts.append(content)
        sizes.append(size)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Corpus(np.concatenate(parts), offsets.astype(np.int64), y)


def vocabulary(words: int, rng: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Different words, the frequent ones shorter: letters (words, longest), and their lengths."""
    share = np.exp(-np.arange(26) / 8)
    spelling = np.zeros((0, LONGEST + 2), dtype=np.uint8)
    while len(spelling) < words:
        rank = np.arange(len(spelling), len(spelling) + words)
        length = np.clip(2 + rng.poisson(0.5 * np.log1p(rank)), 2, LONGEST)
        drawn = rng.choice(LETTERS, (words, LONGEST + 2), p=share / share.sum())
        drawn[np.arange(LONGEST + 2) >= length[:, None]] = 0
        spelling = np.concatenate([spelling, drawn])
        _, first = np.unique(spelling, axis=0, return_index=True)
        spelling = spelling[np.sort(first)]
    spelling = spelling[:words]
    return spelling, np.count_nonzero(spelling, axis=1)


def sentences(
    spelling: NDArray[np.uint8],
    length: NDArray[np.int64],
    word: NDArray[np.int64],
    text: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Words with a space, a comma or a full stop behind, and a capital after that."""
    cells, size = spelling[word], length[word]
    stop, comma = rng.random(len(word)) < 0.08, rng.random(len(word)) < 0.08
    last = np.append(text[1:] != text[:-1], True)
    stop |= last
    first = np.append(True, stop[:-1])
    cells[first, 0] -= 32
    rows = np.arange(len(word))
    cells[rows, size] = np.where(stop, ord("."), np.where(comma, ord(","), ord(" ")))
    marked = stop | comma
    cells[rows[marked], size[marked] + 1] = ord(" ")
    size = size + 1 + marked
    keep = np.arange(cells.shape[1]) < size[:, None]
    return cells[keep], np.bincount(text, size, text[-1] + 1).astype(np.int64)
