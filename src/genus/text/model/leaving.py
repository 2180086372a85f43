"""Leave one text out: score each text by the counts of all others.

Symbols: m texts, K classes, V words; N occurrences and D documents of a word in a class that has n
documents; α the pseudo-count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genus.arrays.matrix import Codes
from genus.families.protocol import by_weight
from genus.text import Entries

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Leaving:
    """log p(x|y), (m, K), of each text by the counts of all others.

    `weight` (m,) is the weight of a text. `gone` says for each entry whether its word occurs in no
    other text: then the word is unknown, and the vocabulary has one word fewer.
    """

    entries: Entries
    weight: Array
    y: Codes
    gone: NDArray[np.bool_]
    size: int
    alpha: float

    def multinomial(self, counted: Array) -> Array:
        """Return Σ x log(N + α) - Σx log(ΣN + αV), (m, K), with N and V of all other texts."""
        scores = np.empty((self.entries.rows, len(counted)))
        for k, N in enumerate(counted):
            scores[:, k] = self._log_likelihood(N, self.y == k)
        return scores

    def complement(self, counted: Array) -> Array:
        """Return the same from the counts of all other classes, with the opposite sign."""
        scores = np.empty((self.entries.rows, len(counted)))
        for k, N in enumerate(counted.sum(axis=0) - counted):
            scores[:, k] = -self._log_likelihood(N, self.y != k)
        return scores

    def _log_likelihood(self, N: Array, leaves: NDArray[np.bool_]) -> Array:
        """Score by counts N (V,), which include the texts that `leaves` selects."""
        e = self.entries
        own = self.weight * leaves
        left = np.maximum(N[e.word] - own[e.row] * e.times, 0) + self.alpha
        total = np.maximum(N.sum() - own * e.lengths, 0) + self.alpha * self._words_left
        staying = np.where(self.gone, 0.0, e.times)
        logarithm = np.log(total, out=np.zeros_like(total), where=total > 0)
        return e.sum(staying * np.log(left)) - e.sum(staying) * logarithm

    def bernoulli(self, documents: Array, rows: Array) -> Array:
        """Return Σ log φ over the words that occur plus Σ log(1 - φ) over those that do not."""
        e, α = self.entries, self.alpha
        scores = np.empty((e.rows, len(documents)))
        for k, (D, n) in enumerate(zip(documents, rows[:, 0], strict=True)):
            for w, some in by_weight(self.weight):
                chosen = np.zeros(e.rows, dtype=bool)
                chosen[some] = True
                for own in (0.0, w):
                    these = chosen & ((self.y == k) == (own > 0)) if w > 0 else chosen
                    if these.any():
                        scores[these, k] = self._bernoulli(D, n - own, own, α)[these]
        return scores

    def _bernoulli(self, D: Array, n: float, own: float, α: float) -> Array:
        """Score by document counts D (V,) minus a text of weight `own`; n documents remain."""
        e = self.entries
        absent = np.log(np.maximum(n - D, 0) + α)
        there = np.log(np.maximum(D[e.word] - own, 0) + α)
        total = np.log(max(n, 0.0) + 2 * α)
        present = e.sum(np.where(self.gone, 0.0, there) - absent[e.word])
        return absent.sum() + present - self._words_left * total

    @property
    def _words_left(self) -> Array:
        """The number of words in the vocabulary without each text, (m,)."""
        return self.size - self.entries.sum(self.gone.astype(float))
