"""Texts as counts of words: a sparse matrix whose columns are a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.hashes import Hashes, mix
from genus.arrays.matrix import Codes, SparseRows
from genus.arrays.vocabulary import Vocabulary
from genus.statistics import Bags

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts as `rows` of counts, with a column for each of `words`; read once, used many times."""

    words: Vocabulary
    rows: SparseRows

    dtype = np.dtype(object)  # as for a matrix with one column

    @classmethod
    def of(
        cls,
        words: Vocabulary,
        starts: NDArray[np.int64],
        indices: NDArray[np.int32],
        counts: NDArray[np.int32],
    ) -> Documents:
        """Return documents; text i has the words indices[starts[i]:starts[i + 1]], ascending."""
        wide = len(indices) > np.iinfo(np.int32).max
        index = np.int64 if wide else np.int32
        at = starts.astype(index)
        rows = SparseRows(counts, indices.astype(index, copy=False), at[:-1], at[1:], len(words))
        return cls(words, rows)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), 1

    @property
    def width(self) -> int:
        """The number of different words."""
        return len(self.words)

    def __len__(self) -> int:
        return len(self.rows.starts)

    def __getitem__(self, rows: Any) -> Documents:
        return replace(self, rows=self.rows[rows])

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Which words occur in these texts, (V,)."""
        found = np.zeros(self.width, dtype=bool)
        for start, end in zip(self.rows.starts.tolist(), self.rows.ends.tolist(), strict=True):
            found[self.rows.indices[start:end]] = True
        return found

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each text, (m,), equal to `Tokenizer.hashes`."""
        return hashes_of(self.bags())

    def bags(self) -> Bags:
        """Return each text as a bag of hashes of its words."""
        sizes = (self.rows.ends - self.rows.starts).astype(np.int64)
        ends = np.cumsum(sizes)
        at = np.repeat(self.rows.starts - (ends - sizes), sizes) + np.arange(sizes.sum())
        tokens = self.words.tokens[self.rows.indices[at]]
        return Bags(ends, tokens, self.rows.data[at].astype(np.int32))

    @classmethod
    def from_bags(cls, bags: Bags, words: Vocabulary) -> Documents:
        """Return texts from the hashes of their words; words not in `words` are dropped."""
        order = np.argsort(words.tokens, kind="stable")
        known = words.tokens[order]
        at = np.minimum(np.searchsorted(known, bags.tokens), max(len(known) - 1, 0))
        there = known[at] == bags.tokens if len(known) else np.zeros(len(at), dtype=bool)
        row = np.repeat(np.arange(len(bags)), bags.sizes)[there]
        word, times = order[at[there]], bags.times[there]
        sparse = scipy.sparse.csr_array((times, (row, word)), shape=(len(bags), len(words)))
        return cls.of(words, sparse.indptr.astype(np.int64), sparse.indices, sparse.data)

    def count(self, y: Codes, weight: Array | None, n_classes: int) -> tuple[Array, Array]:
        """Return occurrences of each word, and documents that contain it, by class, (K, V) each."""
        occurrences, _ = matrix.sum_columns(self.rows, y, weight, n_classes, nonnegative=True)
        documents, _ = matrix.count_above(self.rows, y, weight, n_classes, 0.0)
        return occurrences, documents

    def weighed(self, weighting: str) -> Documents:
        """Return the documents with occurrences n replaced by n, 1 or log2(1 + n)."""
        if weighting == "occurrences":
            return self
        return self._once if weighting == "once" else self._logarithm

    @cached_property
    def _once(self) -> Documents:
        return replace(self, rows=replace(self.rows, data=np.ones(len(self.rows.data))))

    @cached_property
    def _logarithm(self) -> Documents:
        return replace(self, rows=replace(self.rows, data=np.log2(1.0 + self.rows.data)))

    def score(self, words: Vocabulary, table: Array, power: float = 0.0) -> Array:
        """Return Σ x_v table_v / (Σ x_v)^power, (m, K), over a text's words v in `words`."""
        terms = np.column_stack([table, np.ones(len(table))]) if power else table
        nothing = np.zeros((1, terms.shape[1]))  # for unknown words, at -1
        own = np.concatenate([terms, nothing])[self.words.find(words)]
        scores = matrix.score_linear(self.rows, own, None, nonnegative=True)
        return divided(scores[:, :-1], scores[:, -1], power) if power else scores

    def entries(self, words: Vocabulary) -> Entries:
        """Return the entries whose words are in `words`."""
        place = self.words.find(words)
        lengths = self.rows.ends - self.rows.starts
        first = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.rows.starts - first[:-1], lengths) + np.arange(first[-1])
        word = place[self.rows.indices[at]]
        row = np.repeat(np.arange(len(self)), lengths)
        known = word >= 0
        return Entries(row[known], word[known], self.rows.data[at][known].astype(float), len(self))


def hashes_of(bags: Bags) -> Hashes:
    """Return a hash of each text, (m,), which is a sum over its words."""
    each = bags.times.astype(np.uint64) * mix(bags.tokens.astype(np.uint64))
    total = np.append(np.uint64(0), np.cumsum(each, dtype=np.uint64))
    return total[bags.ends] - total[bags.ends - bags.sizes]


def divided(scores: Array, lengths: Array, power: float) -> Array:
    """Divide scores (m, K) by a power of lengths (m,); lengths below 1 count as 1."""
    return scores / np.maximum(lengths, 1.0)[:, None] ** power


@dataclass(frozen=True, eq=False)
class Entries:
    """The words of texts, one entry for each text and word: how many `times` it occurs there."""

    row: NDArray[np.intp]
    word: NDArray[np.intp]
    times: Array
    rows: int

    @cached_property
    def lengths(self) -> Array:
        """The number of words of each text, (m,)."""
        return self.sum(self.times)

    def sum(self, values: Array) -> Array:
        """Sum a value per entry over the entries of each text, (m,)."""
        return np.bincount(self.row, values, self.rows).astype(np.float64)
