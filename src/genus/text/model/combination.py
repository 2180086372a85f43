"""Combine several kinds of evidence with weights, from scores of words to probabilities.

    log p(y|x) = Σ_g w_g Σ_v x_v T_gvk / L^γ + c_k + log p(k) + a constant,     L = Σ_v x_v

Words repeat each other's evidence, so their sum makes naive Bayes overconfident. Here the sum is
divided by a power of the text's length, L^γ; a few weights w and constants c, learned out of fold,
correct the rest. The tables T are solved from counts alone. In a tilted table, each word's row is
multiplied by a measure of how common the word is, so that the weights can favour rare or frequent
words, like a learned idf.

docs/text.md describes the kinds of evidence and why they are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.arrays.vocabulary import Vocabulary
from genus.statistics import Tally
from genus.text.model.selection import Selection

Array = NDArray[np.float64]
TOKENS = ("all", "words", "runs")
WEIGHTINGS = ("occurrences", "once", "logarithm")
FAMILIES = ("multinomial", "complement", "bernoulli")


@dataclass(frozen=True)
class Evidence:
    """A kind of evidence: a table by word and class, solved from counts.

    `family` is one of FAMILIES, `counted` is "occurrences" or "documents", and `tokens` are "all",
    "words", or "runs" of several words.
    """

    family: str
    counted: str
    alpha: float
    tokens: str = "all"
    tilted: bool = False

    def solve(self, counts: Tally, chosen: NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
        """Return T (V, K), centred over the classes, and the evidence of an empty text (K,).

        If `chosen` (V,) is given, T has only the rows of the words that it marks.
        """
        used = self._used(keys_of(counts))
        rows = used if chosen is None else used & chosen
        slope, constant = self._linear(counts, used, rows)
        slope -= slope.mean(axis=0)
        if self.tilted:
            documents = counts["documents"][:, rows].sum(axis=0)
            # -1 for a word in one document, 0 for one in 16, 1 for one in 256
            slope *= np.log2(np.maximum(documents, 1.0)) / 4 - 1
        table = np.zeros((len(used), len(counts.classes)))
        table[rows] = slope.T
        return (table if chosen is None else table[chosen]), constant - constant.mean()

    def _linear(
        self, counts: Tally, used: NDArray[np.bool_], rows: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """Return the family's slope for the words `rows`, and its constant for all words `used`."""
        α, V = self.alpha, int(np.count_nonzero(used))
        N, total = counts[self.counted][:, rows], counts[self.counted] @ used.astype(float)
        if self.family == "bernoulli":
            n = counts["rows"]
            absent = np.log(n - counts[self.counted] + α) @ used.astype(float)
            return np.log(N + α) - np.log(n - N + α), absent - V * np.log(n[:, 0] + 2 * α)
        sign = 1.0
        if self.family == "complement":
            N, total, sign = N.sum(axis=0) - N, total.sum() - total, -1.0
        log_total = np.log(total + α * max(V, 1))[:, None]  # without words, any number will do
        return sign * (np.log(N + α) - log_total), np.zeros(len(total))

    def _used(self, words: Vocabulary) -> NDArray[np.bool_]:
        if self.tokens == "all":
            return np.ones(len(words), dtype=bool)
        return words.runs if self.tokens == "runs" else ~words.runs


@dataclass(frozen=True, eq=False)
class Combination:
    """Kinds of evidence, their `weights` (G,), and the `constant` c (K,) of each class.

    `weighting` says how x_v depends on the occurrences of word v, and `power` is γ. `name` is a
    short description.
    """

    name: str
    evidence: tuple[Evidence, ...]
    weighting: str
    power: float
    weights: Array = field(default_factory=lambda: np.ones(1))
    classes: Axis = field(default_factory=labels.empty_axis)
    constant: Array = field(default_factory=lambda: np.zeros(0))
    selection: Selection = field(default_factory=Selection)

    def solve(self, counts: Tally) -> tuple[Array, Array]:
        """Return one table (V, K) and one constant (K,): the weighted sum of all evidence."""
        classes = counts.classes
        at = labels.find(classes, self.classes)  # a class may have come later
        constant = np.append(self.constant, 0.0)[at]
        table = np.zeros((len(keys_of(counts)), len(classes)))
        for weight, evidence in zip(self.weights, self.evidence, strict=True):
            slope, rest = evidence.solve(counts)
            table += weight * slope
            constant = constant + weight * rest
        return table, constant


def keys_of(counts: Tally) -> Vocabulary:
    """Return the words of a tally."""
    return counts.keys[0] if counts.keys else Vocabulary()


def plain(event_model: str, alpha: float, power: float, selection: Selection) -> Combination:
    """Return a combination of one event model with one weight, which only calibrates it."""
    counted = "documents" if event_model in ("boolean", "bernoulli") else "occurrences"
    family = "multinomial" if event_model == "boolean" else event_model
    weighting = "once" if event_model in ("boolean", "bernoulli") else "occurrences"
    name = f"{event_model}, alpha={alpha:g}"
    if selection.most is not None:
        name += f", {selection.most} words by {selection.by or 'frequency'}"
    name += ", over √length" if power else ""
    evidence = (Evidence(family, counted, alpha),)
    return Combination(name, evidence, weighting, power, selection=selection)


def mixture(tokens: Sequence[str], selection: Selection) -> Combination:
    """Return multinomial and complement evidence of words and, if requested, of runs of words."""
    evidence = tuple(
        Evidence(family, counted, alpha, kind, tilted)
        for kind in tokens
        for family, counted, alpha in (
            ("multinomial", "occurrences", 0.1),
            ("complement", "documents", 1.0),
        )
        for tilted in (False, True)
    )
    name = {"all": "mixture", "words": "mixture of words"}[tokens[0]]
    name += " and n-grams" if "runs" in tokens else ""
    return Combination(name, evidence, "logarithm", 0.5, selection=selection)
