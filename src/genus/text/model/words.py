"""Count how often each word occurs in the documents of a class, and in how many of them.

From these two counts every event model is solved:

    multinomial  log p(x|k) = Σ_v x_v log φ_vk           φ from occurrences
    boolean      log p(x|k) = Σ_v 1{x_v > 0} log φ_vk    φ from documents, as if each were a set
    bernoulli    absent words contribute, too            φ_vk, the share of documents with v
    complement   scored by the other classes             θ from the occurrences in other classes

x_v is the number of occurrences of word v in a text. An unknown word contributes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes
from genus.arrays.vocabulary import Vocabulary
from genus.families.bernoulli import Bernoulli
from genus.families.complement import Complement
from genus.families.multinomial import Multinomial
from genus.solve.smoothing import Smoothing
from genus.statistics import Tally, settle
from genus.text import Documents, Texts, Tokenizer
from genus.text.documents import Entries
from genus.text.model.combination import Combination, keys_of
from genus.text.model.leaving import Leaving
from genus.text.model.selection import Selection

Array = NDArray[np.float64]
EVENT_MODELS = ("multinomial", "boolean", "bernoulli", "complement")


@dataclass(frozen=True, eq=False)
class WordParameters:
    """The words in use, their counts, and log p(x|y) as a sum over words.

    log p(x|y) is Σ_v x_v table_v / L^power + constant, with `table` (V, K) and `constant` (K,).
    `inner` are the parameters of the event model's family; None for a combination. `table` is None
    if `inner` gives a word probability zero. The table of a combination has a last column of ones,
    whose sum shows whether any word is known.
    """

    words: Vocabulary
    counts: Tally
    table: Array | None
    constant: Array
    inner: Any = None
    weighting: str = "occurrences"
    power: float = 0.0
    combination: Combination | None = None

    @property
    def alpha(self) -> float | None:
        """The pseudo-count that was chosen by "auto"."""
        return getattr(self.inner, "alpha", None)

    @property
    def linear(self) -> tuple[Array, Array]:
        """θ (K, V) and the constant (K,)."""
        if self.table is None:
            return self.inner.linear
        return self.table.T[: len(self.constant)], self.constant


@dataclass(frozen=True, eq=False)
class Words:
    """A column of texts with an event model, or a combination of several.

    If `known` is given (it begins with the empty word), no other words are counted.
    """

    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    event_model: str = "multinomial"
    smoothing: Smoothing = field(default_factory=Smoothing)
    selection: Selection = field(default_factory=Selection)
    combination: Combination | None = None
    known: Vocabulary | None = None

    measures: ClassVar = ("occurrences", "documents")

    @property
    def counting(self) -> Mapping[str, Any]:
        closed = {} if self.known is None else {"words": self.known.digest}
        return {"family": "words", **self.tokenizer.counting, **closed}

    @property
    def distinct(self) -> bool:
        """Whether a word counts once, however often it occurs in a document."""
        return self.event_model in ("boolean", "bernoulli")

    @property
    def weighting(self) -> str:
        """How the value x_v of a word depends on how often it occurs."""
        if self.combination is not None:
            return self.combination.weighting
        return "once" if self.distinct else "occurrences"

    @property
    def inner(self) -> Any:
        """The family of counts that implements the event model."""
        match self.event_model:
            case "bernoulli":
                return Bernoulli(smoothing=self.smoothing)
            case "complement":
                return Complement(self.smoothing)
        return Multinomial(self.smoothing)

    def zero(self) -> Tally:
        return Tally(counts={name: np.zeros((0, 0)) for name in self.measures})

    def count(self, X: Texts | Documents, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        if isinstance(X, Documents):
            words, occurrences, documents = with_empty_word(X, y, weight, len(classes))
        else:
            words, occurrences, documents = self.tokenizer.count(X, y, weight, len(classes))
        counts = {"occurrences": occurrences, "documents": documents}
        return self.within(Tally.of(classes, (words,), counts))

    def within(self, tally: Tally) -> Tally:
        """Drop the counts of words that are not in `known`, if it is given."""
        if self.known is None or not tally.keys:
            return tally
        (words,) = tally.keys
        return tally.only(words.find(self.known) >= 0)

    def solve(self, statistics: Tally, classes: Axis, width: int) -> WordParameters:
        if self.combination is not None:
            counts = self.selected(statistics, classes, self.combination.selection)
            table, constant = self.combination.solve(counts)
            return WordParameters(
                keys_of(counts),
                counts,
                np.column_stack([table, np.ones(len(table))]),
                constant,
                weighting=self.combination.weighting,
                power=self.combination.power,
                combination=self.combination,
            )
        counts = self.selected(statistics, classes, self.selection)
        words, inner = keys_of(counts), self.inner
        within = Tally(classes, None, self._inner_counts(counts))
        parameters = inner.solve(within, classes, len(words))
        slope, constant = parameters.linear
        finite = np.ascontiguousarray(slope.T) if np.isfinite(slope).all() else None
        return WordParameters(words, counts, finite, constant, parameters, self.weighting)

    def selected(self, statistics: Tally, classes: Axis, selection: Selection) -> Tally:
        """Return the counts of the words in use, and the number of documents, by class."""
        counts = statistics.align(classes, 0)
        occurrences, documents = (counts[name] for name in self.measures)
        if statistics.keys is None:  # nothing counted yet
            empty = np.zeros((len(classes), 0))
            seen = {"occurrences": empty, "documents": empty, "rows": np.zeros((len(classes), 1))}
            return Tally(classes, (Vocabulary(),), seen)
        (words,) = statistics.keys
        rows, words = documents[:, :1], words.rest  # the first is the empty word
        occurrences, documents = occurrences[:, 1:], documents[:, 1:]
        counted = documents if self.distinct else occurrences
        used = selection.mask(words, occurrences, documents, rows[:, 0], counted)
        if not used.all():
            words = words[used]
            occurrences, documents = occurrences[:, used], documents[:, used]
        return Tally(
            classes, (words,), {"occurrences": occurrences, "documents": documents, "rows": rows}
        )

    def _inner_counts(self, counts: Tally) -> dict[str, Array]:
        """Return the statistics as the event model's family would have counted them."""
        counted = counts["documents" if self.distinct else "occurrences"]
        seen = np.broadcast_to(counts["rows"], counted.shape)
        return {"ones" if self.event_model == "bernoulli" else "count": counted, "seen": seen}

    def log_likelihood(
        self, parameters: WordParameters, X: Texts | Documents, relative: bool = False
    ) -> Array:
        words, table = parameters.words, parameters.table
        if table is None:
            known = X if isinstance(X, Documents) else self.tokenizer.encode_known(X, words)
            return self.inner.log_likelihood(parameters.inner, self._matrix(known, words))
        weighting, power = parameters.weighting, parameters.power
        if isinstance(X, Documents):
            scores = X.weighed(weighting).score(words, table, power)
        else:
            scores = self.tokenizer.score(X, words, table, weighting, power)
        if self.combination is None:
            scores += parameters.constant
            return scores
        # A text without known words gets the priors.
        spoken = scores[:, -1:] > 0
        return scores[:, :-1] + np.where(spoken, parameters.constant, 0.0)

    def contributions(
        self, parameters: WordParameters, X: Texts | Documents
    ) -> tuple[Array, Array]:
        """Return contributions by word of X's vocabulary, (m, V, K), and the rest, (m, K).

        For Bernoulli, a word is compared with its absence, unless some probability is zero.
        """
        documents = X if isinstance(X, Documents) else self.tokenizer.encode(X)
        if parameters.table is None:
            return self._inner_contributions(parameters, documents)
        entries, said = self.by_word(parameters, documents)
        constant = parameters.constant
        place = parameters.words.find(documents.words)
        terms = np.zeros((len(documents), documents.width, len(constant)))
        terms[entries.row, place[entries.word]] = said
        spoken = (entries.lengths > 0) | (self.combination is None)
        return terms, np.where(spoken[:, None], constant, 0.0)

    def by_word(self, parameters: WordParameters, X: Texts | Documents) -> tuple[Entries, Array]:
        """Return the known words of texts, entry by entry, and their contributions (entries, K)."""
        words = parameters.words
        documents = X if isinstance(X, Documents) else self.tokenizer.encode_known(X, words)
        slope, _ = parameters.linear
        entries = documents.weighed(parameters.weighting).entries(words)
        x = entries.times / np.maximum(entries.lengths, 1)[entries.row] ** parameters.power
        return entries, x[:, None] * slope.T[entries.word]

    def _inner_contributions(
        self, parameters: WordParameters, documents: Documents
    ) -> tuple[Array, Array]:
        """Return the contributions by the event model's family, if some probability is zero."""
        rows = self._matrix(documents, parameters.words)
        by_word, rest = self.inner.contributions(parameters.inner, rows)
        if self.event_model == "bernoulli":  # absent words are not words of the text
            there = (rows.toarray() > 0)[:, :, None]
            rest = rest + np.where(there, 0.0, by_word).sum(axis=1)
            by_word = np.where(there, by_word, 0.0)
        place = parameters.words.find(documents.words)
        terms = np.zeros((len(documents), documents.width, by_word.shape[2]))
        terms[:, place[place >= 0]] = by_word[:, place >= 0]
        return terms, rest

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: WordParameters,
        X: Documents,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        alpha = self.smoothing.alpha if parameters.alpha is None else parameters.alpha
        if alpha == 0 or not self.selection.is_fixed or self.combination is not None:
            return None
        entries = X.weighed(self.weighting).entries(parameters.words)
        w = np.ones(len(y)) if weight is None else weight
        # If no other document contains a word, it leaves the vocabulary with the text.
        documents = parameters.counts["documents"].sum(axis=0)
        left = settle(documents[entries.word] - w[entries.row], documents[entries.word])
        leaving = Leaving(entries, w, y, left <= 0, len(parameters.words), alpha)
        if self.event_model == "bernoulli":
            return leaving.bernoulli(parameters.counts["documents"], parameters.counts["rows"])
        counted = parameters.counts["documents" if self.distinct else "occurrences"]
        return (
            leaving.complement(counted)
            if self.event_model == "complement"
            else (leaving.multinomial(counted))
        )

    def sample(
        self, parameters: WordParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Draw n texts of class k, (n, 1); their words are in random order."""
        inner, out = self.inner, np.empty((n, 1), dtype=object)
        for i in range(n):  # one by one, because a row has a number for every word
            (times,) = inner.sample(parameters.inner, k, 1, rng).astype(int)
            words = np.repeat(np.flatnonzero(times), times[times > 0])
            out[i, 0] = " ".join(map(parameters.words.word, rng.permutation(words)))
        return out

    def _matrix(self, documents: Documents, words: Vocabulary) -> Any:
        """Return counts of `words` as a sparse matrix, for the family of the event model."""
        entries = documents.weighed(self.weighting).entries(words)
        shape = len(documents), len(words)
        return scipy.sparse.csr_array((entries.times, (entries.row, entries.word)), shape=shape)


def with_empty_word(
    X: Documents, y: Codes, weight: Array | None, n_classes: int
) -> tuple[Vocabulary, Array, Array]:
    """Return the same as `Tokenizer.count`, for texts that are already encoded."""
    words = X.words.with_empty()
    occurrences, documents = (np.zeros((n_classes, 1 + X.width)) for _ in range(2))
    occurrences[:, 1:], documents[:, 1:] = X.count(y, weight, n_classes)
    documents[:, 0] = np.bincount(y, weight, n_classes)
    return words, occurrences, documents
