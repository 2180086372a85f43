"""Count the words of texts, and keep a sample of texts to choose an event model by.

What "auto" and calibration choose (the event model, the words, weights) is solved from the counts
and the sample, so it is chosen again when models are merged or texts forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes
from genus.arrays.vocabulary import Vocabulary
from genus.stacking.copies import multiplicity
from genus.stacking.dealing import Dealt, deal
from genus.statistics import Array, Bags, Compound, Sample, Tally
from genus.text import Documents, Texts
from genus.text.documents import Entries, hashes_of
from genus.text.model.choosing import Choice, candidates, choose, over_root_length, undecided
from genus.text.model.combination import Combination, keys_of, plain
from genus.text.model.words import WordParameters, Words

CELLS = 1_000_000  # texts times classes, from which to choose
AT_LEAST = 5000  # texts, if there are so many
FEW = 200  # texts; fewer are dealt into more folds


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts with an event model, which may be chosen or calibrated by a sample of the texts.

    `words` has the options. If the corpus `chooses`, the event model "auto" is replaced by the best
    candidate, and a named one is calibrated. `size` is the number of texts in the sample; 0 keeps
    none.
    """

    words: Words
    chooses: bool = False
    size: int = 0

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the texts."""
        return self.words.tokenizer

    @property
    def keeps_choice(self) -> bool:
        """Whether the choice never changes, because there is no sample of texts."""
        return self.chooses and self.size == 0

    @property
    def learns_weights(self) -> bool:
        """Whether the choice consists of weights that are learned from single rows."""
        return True

    @property
    def counting(self) -> Mapping[str, Any]:
        return {**self.words.counting, "sample": self.size}

    def counted_as(self, counting: Mapping[str, Any]) -> Corpus:
        """Return these options with the sample size of given counts; raise if they do not fit."""
        if self.chooses and self.size and not counting["sample"]:
            raise ValueError(
                'event_model="auto" and calibrate=True choose from a sample of the texts, '
                "which this model has not kept. Fit again with these options."
            )
        if self.chooses and self.size not in (0, counting["sample"]):
            raise ValueError(
                f"sample_size decides how many texts are kept: {counting['sample']} in this "
                "model. To change it, fit again."
            )
        recast = replace(self, size=int(counting["sample"]))
        if recast.counting != counting:
            changed = [k for k in counting if counting[k] != recast.counting.get(k)]
            raise ValueError(
                "Options that decide what is counted cannot be changed on a fitted model: "
                f"{', '.join(changed)}. Fit again to change them."
            )
        return recast

    def zero(self) -> Compound:
        return Compound({"words": self.words.zero(), "sample": Sample(self.size)})

    def count(
        self, X: Texts | Documents, y: Codes, classes: Axis, weight: Array | None
    ) -> Compound:
        def encode(rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], tuple[Bags, ...]]:
            some = X[rows] if isinstance(X, Documents) else self.tokenizer.encode(X.take(rows))
            return np.zeros((len(rows), 0), dtype=np.int64), (some.bags(),)

        counted = {"words": self.words.count(X, y, classes, weight), "sample": Sample(self.size)}
        if self.size and len(y):
            hashes = self.tokenizer.hashes(X)
            counted["sample"] = Sample.of(self.size, classes, y, weight, hashes, encode)
        return Compound(counted)

    @staticmethod
    def without_runs(statistics: Compound) -> Compound:
        """Return the counts of single words, as if runs of words had not been counted."""
        tally, sample = statistics["words"], statistics["sample"]
        if tally.keys:
            (words,) = tally.keys
            tally = tally.only(~words.runs)
        if len(sample):
            bag = sample.bags[0].where(sample.bags[0].tokens % 2 == 0)
            sample = sample.rehashed(hashes_of(bag), (bag,))
        return Compound({"words": tally, "sample": sample})

    # Vocabularies in parts, and without unused words

    def used(self, statistics: Compound) -> Vocabulary:
        """Return the words in use after selection; the empty word comes first."""
        tally = statistics["words"]
        return keys_of(self.words.selected(tally, tally.classes, self.words.selection)).with_empty()

    def within(self, statistics: Compound) -> Compound:
        """Drop the counts of unknown words if the vocabulary is closed."""
        return Compound({**statistics.parts, "words": self.words.within(statistics["words"])})

    def divided(self, statistics: Compound, parts: int) -> list[Compound]:
        """Split statistics into parts with different words; each part has the empty word.

        A word is in the same part wherever it is counted. The sample is in the first part.
        """
        tally, sample = statistics["words"], statistics["sample"]
        place = None
        if tally.keys:
            (words,) = tally.keys
            place = (words.hashes % np.uint64(parts)).astype(np.int64)
            place[0] = -1  # the empty word, which counts the texts
        own = [
            tally if place is None else tally.only((place == i) | (place < 0)) for i in range(parts)
        ]
        samples = [sample, *(Sample(self.size) for _ in range(parts - 1))]
        return [Compound({"words": t, "sample": s}) for t, s in zip(own, samples, strict=True)]

    def joined(self, parts: Sequence[Compound]) -> Compound:
        """Join statistics that were divided; words dropped since then stay dropped."""
        total, *others = (part["words"] for part in parts)
        for tally in others:
            if tally.keys:
                total = total + tally.only(np.arange(tally.width) > 0)
        return Compound({"words": total, "sample": parts[0]["sample"]})

    def possible(self, statistics: Compound) -> Compound:
        """Return a part without the words that a selection from all words surely leaves out."""
        tally = statistics["words"]
        if not tally.keys:
            return statistics
        (words,) = tally.keys
        occurrences, documents = tally["occurrences"][:, 1:], tally["documents"]
        selection, rest = self.words.selection, documents[:, 1:]
        kept = selection.possible(words.rest, occurrences, rest, documents[:, 0])
        tally = tally.only(np.append(True, kept))
        return Compound({**statistics.parts, "words": tally})

    # Choosing

    def choose(self, statistics: Compound, classes: Axis, width: int) -> Choice | None:
        """Return the event model or mixture that predicts the sample best, with its weights."""
        if not self.chooses:
            return None
        statistics["sample"].require()
        tally, tried = statistics["words"], self._candidates(statistics["words"], classes)
        most = max(CELLS // max(len(classes), 1), AT_LEAST)
        sample = statistics["sample"].smallest(most)
        codes = labels.positions(sample.classes, classes)[sample.codes]
        folds = 10 if len(sample) < FEW else 5
        row, fold, weight = deal(codes, *multiplicity(sample), sample.weights, folds, most)
        y = codes[row].astype(np.int64)
        if len(np.unique(y)) < 2:
            return undecided(tried)
        X = Documents.from_bags(sample.bags[0], keys_of(tally))[row]
        parts = [
            self.words.count(X[rows], y[rows], classes, weight[rows])
            for rows in (np.flatnonzero(fold == f) for f in range(folds))
        ]
        return choose(Dealt(X, y, classes, weight, fold, tally, parts), self.words, tried)

    def _candidates(self, tally: Tally, classes: Axis) -> Sequence[Combination]:
        words = self.words
        if words.event_model == "auto":
            ngrams = words.tokenizer.ngrams
            runs = words.tokenizer.analyzer == "word" and ngrams[0] == 1 < ngrams[1]
            return candidates(words.selection, tally.width, len(classes), runs)
        alpha = words.smoothing.alpha
        if isinstance(alpha, str):
            alpha = words.solve(tally, classes, 1).alpha
        powers = sorted({0.0, over_root_length(words.event_model)})
        return [plain(words.event_model, alpha, power, words.selection) for power in powers]

    # Solving and scoring, with the chosen words

    def solve(
        self, statistics: Compound, classes: Axis, width: int, choice: Choice | None = None
    ) -> WordParameters:
        best = choice.best if self.chooses and choice is not None else None
        return replace(self.words, combination=best).solve(statistics["words"], classes, width)

    def _solved(self, parameters: WordParameters) -> Words:
        return replace(self.words, combination=parameters.combination)

    def log_likelihood(
        self, parameters: WordParameters, X: Texts | Documents, relative: bool = False
    ) -> Array:
        return self._solved(parameters).log_likelihood(parameters, X, relative)

    def contributions(
        self, parameters: WordParameters, X: Texts | Documents
    ) -> tuple[Array, Array]:
        return self._solved(parameters).contributions(parameters, X)

    def by_word(self, parameters: WordParameters, X: Texts | Documents) -> tuple[Entries, Array]:
        """Return the known words of texts, entry by entry, and their contributions (entries, K)."""
        return self._solved(parameters).by_word(parameters, X)

    def leave_one_out(
        self,
        statistics: Compound,
        parameters: WordParameters,
        X: Documents,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        return None  # the choice is made again without the row

    def sample(
        self, parameters: WordParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        return self._solved(parameters).sample(parameters, k, n, rng)
