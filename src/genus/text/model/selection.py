"""Select the words that a model uses, by their counts, when it is solved.

Symbols: K classes, V words, N occurrences or documents of a word by class (K, V).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from genus.arrays.vocabulary import Vocabulary
from genus.statistics import divide
from genus.statistics.group import GATHERED

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Selection:
    """The words to use: in `least` or more documents, no stop words, and not more than `most`.

    A `least` below 1 is a share of the documents. `by` is how words are ranked: None for the number
    of occurrences, "mutual-information" or "chi2". An n-gram that contains a stop word is left out.
    Runs of several words are used only if `runs` is true. A token with a space in it is such a run
    if `joined` is true, and otherwise a single word.
    """

    stop_words: frozenset[str] = field(default_factory=frozenset)
    least: float = 1
    most: int | None = None
    by: str | None = None
    runs: bool = True
    joined: bool = True

    @property
    def is_fixed(self) -> bool:
        """Whether the same words are selected whatever their counts."""
        return self.least in (0, 1) and self.most is None

    @property
    def is_open(self) -> bool:
        """Whether every word is used."""
        return self.is_fixed and not self.stop_words and (self.runs or not self.joined)

    def check(self) -> None:
        """Raise an error unless this selection is valid; a file may contain anything."""
        sound = all(isinstance(word, str) for word in self.stop_words)
        sound &= isinstance(self.least, int | float) and self.least >= 0
        sound &= self.most is None or (isinstance(self.most, int) and self.most > 0)
        sound &= self.by in (None, "mutual-information", "chi2") and isinstance(self.runs, bool)
        sound &= isinstance(self.joined, bool)
        if not sound:
            raise ValueError("its selection of words is invalid")

    def mask(
        self, words: Vocabulary, occurrences: Array, documents: Array, totals: Array, counted: Array
    ) -> NDArray[np.bool_]:
        """Return which words are used, (V,); `totals` (K,) are the documents of each class.

        `counted` (K, V) are the counts that the event model uses.
        """
        used = ~self._stopped(words)
        if self.joined and not self.runs:
            used &= ~words.runs
        least = self.least * totals.sum() if self.least < 1 else self.least
        if self.least != 1:  # every counted word is in a document
            used &= documents.sum(axis=0) >= least * (1 - GATHERED)
        if self.most is None or used.sum() <= self.most:
            return used
        candidates = np.flatnonzero(used)
        if self.by == "mutual-information":
            telling = mutual_information(documents[:, candidates], totals)
        elif self.by == "chi2":
            telling = chi2(counted[:, candidates], totals)
        else:
            telling = occurrences[:, candidates].sum(axis=0)
        exact = self.by is None and is_whole(telling)
        order = np.argsort(-(telling if exact else rounded(telling)), kind="stable")
        best = candidates[order[: self.most]]
        chosen = np.zeros(len(words), dtype=bool)
        chosen[best] = True
        return chosen

    def possible(
        self, words: Vocabulary, occurrences: Array, documents: Array, totals: Array
    ) -> NDArray[np.bool_]:
        """Return which words of a part may be selected from the whole vocabulary, (V,)."""
        used = replace(self, most=None).mask(words, occurrences, documents, totals, occurrences)
        telling = occurrences.sum(axis=0)
        exact = self.by is None and is_whole(telling)
        if self.most is None or not exact or used.sum() <= self.most:
            return used
        return used & (telling >= np.partition(telling[used], -self.most)[-self.most])

    def _stopped(self, words: Vocabulary) -> NDArray[np.bool_]:
        stopped = np.zeros(len(words), dtype=bool)
        if not self.stop_words:
            return stopped
        at = Vocabulary.of(self.stop_words).find(words)
        stopped[at[at >= 0]] = True
        if self.joined and words.runs.any():
            listed = np.array([word.encode("utf-8", "surrogatepass") for word in self.stop_words])
            pieces, run = words.pieces(listed.dtype.itemsize)
            stopped[run[np.isin(pieces, listed)]] = True
        return stopped


def is_whole(telling: Array) -> bool:
    """Return whether these are whole numbers, whose sum does not depend on their order."""
    return bool((telling == np.floor(telling)).all())


def rounded(telling: Array) -> Array:
    """Round scores, so that rounding errors do not break ties.

    >>> rounded(np.array([0.3, 0.1 + 0.2, 1e-17]))
    array([0.3, 0.3, 0. ])
    """
    largest = np.abs(telling).max(initial=0.0)
    return np.round(telling / largest / GATHERED) * GATHERED * largest if largest > 0 else telling


def mutual_information(documents: Array, totals: Array) -> Array:
    """Return I(word in the document; class) in nats, (V,).

    >>> mutual_information(np.array([[4.0, 2.0], [0.0, 2.0]]), np.array([4.0, 4.0])).round(3)
    array([0.693, 0.   ])
    """
    from scipy.special import xlogy

    m = totals.sum()
    within = documents.sum(axis=0)
    information = np.zeros(documents.shape[1])
    for joint, marginal in ((documents, within), (totals[:, None] - documents, m - within)):
        expected = divide(totals[:, None] * marginal, np.full_like(joint, m))
        information += xlogy(joint, divide(joint, expected) + (joint == 0)).sum(axis=0)
    return divide(information, np.full_like(information, m))


def chi2(counted: Array, totals: Array) -> Array:
    """Return χ² of a word's counts against the classes' shares of documents, as in scikit-learn."""
    share = divide(totals, totals.sum())
    expected = share[:, None] * counted.sum(axis=0)
    return divide((counted - expected) ** 2, expected).sum(axis=0)
