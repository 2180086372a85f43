"""Choose evidence and its weights by the out-of-fold scores of texts.

Every candidate gets its weights from scores of texts that are not in the counts, and is judged by
texts that were not used for its weights either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels, matrix
from genus.arrays.logs import log_softmax
from genus.arrays.vocabulary import Vocabulary
from genus.stacking import layer
from genus.stacking.dealing import Dealt
from genus.stacking.prior import Prior
from genus.statistics import Tally
from genus.text import Documents
from genus.text.model.combination import Combination, keys_of, mixture, plain
from genus.text.model.selection import Selection
from genus.text.model.words import EVENT_MODELS, Words

Array = NDArray[np.float64]
MANY_CLASSES = 50
TELLING = 1000  # words with most mutual information with the class
MOST_WEIGHT = 1e6  # of a text
LEAST_SCALE = 1e-6  # of scores that carry evidence
ROUNDING = 1e-9  # relative difference of two losses that counts as none
SMALLEST = np.finfo(float).eps  # smallest probability in a log loss

# The prior of the weights, for scores that are divided by their root mean square. The values are
# choices, not derived; the comments say what they mean in nats.
# All plain evidence of words together weighs this much before any text is seen: scores of two
# classes are then 3 nats apart, a probability of 0.95.
EXPECTED = 1.5
# A weight that is off by one costs half a nat if there are many texts, less than one text that is
# misjudged (log 2). The price doubles for TEXTS texts, and is 5.5 nats for ten.
RIDGE, TEXTS = 1.0, 100.0
# Refinements and runs of words start at zero. Half a nat buys a third of a weight if there are many
# texts; the price doubles for OTHER_TEXTS texts, and is 255 nats a weight for ten.
OTHERS, OTHER_TEXTS = 10.0, 500.0


@dataclass(frozen=True, eq=False)
class Choice:
    """The best of some candidates, and the out-of-fold scores of each.

    `scores` (candidates, 2) are accuracy and log loss, NaN if nothing could be judged. `texts`
    is the weight of the texts that were judged: those whose class is also in other folds.
    """

    best: Combination
    names: tuple[str, ...]
    scores: Array
    texts: int

    def __repr__(self) -> str:
        accuracy, loss = self.scores[least(self.scores[:, 1])]
        return f"Choice({self.best.name!r}, accuracy={accuracy:.4f}, log_loss={loss:.4f})"

    def __str__(self) -> str:
        """Return the candidates as text, the best by log loss first."""
        order = np.argsort(self.scores[:, 1], kind="stable")
        width = max(map(len, self.names))
        head = f"{f'out of fold, {self.texts:,} texts':{width}}  accuracy  log loss"
        shown = [
            f"    {accuracy:.4f}  {loss:8.4f}" if np.isfinite(loss) else "         -         -"
            for accuracy, loss in self.scores
        ]
        rows = (f"{self.names[i]:{width}}{shown[i]}" for i in order)
        return "\n".join([head, *rows])


def candidates(selection: Selection, words: int, classes: int, runs: bool) -> list[Combination]:
    """Return the candidates of "auto": event models, and mixtures of evidence.

    `selection` applies to all of them. `words` and `classes` are the numbers of words and classes,
    and `runs` says whether runs of words are counted, too.
    """
    own = replace(selection, runs=False) if runs else selection
    # With two classes, each is the other's complement; with many, trying all would take minutes.
    models = [e for e in EVENT_MODELS if e != "complement" or classes > 2]
    models = models if classes <= MANY_CLASSES else ["multinomial"]
    found = [
        plain(event_model, alpha, over_root_length(event_model), own)
        for event_model in models
        for alpha in (1.0, 0.1)
    ]
    if own.most is None and words > 2 * TELLING:
        few = replace(own, most=TELLING, by="mutual-information")
        found += [plain(e, 0.1, over_root_length(e), few) for e in models]
    if not runs:
        return [*found, mixture(["all"], own)]
    return [*found, mixture(["words"], own), mixture(["words", "runs"], selection)]


def over_root_length(event_model: str) -> float:
    """Return γ of an event model; 0 for Bernoulli, whose scores do not grow with the text."""
    return 0.0 if event_model == "bernoulli" else 0.5


def choose(dealt: Dealt, words: Words, candidates: Sequence[Combination]) -> Choice:
    """Return the candidate with the lowest log loss, with its weights."""
    found = [np.zeros((len(dealt.y), len(dealt.classes), len(c.evidence))) for c in candidates]
    spoken = np.zeros((len(candidates), len(dealt.y)), dtype=bool)
    known = np.zeros(len(dealt.y), dtype=bool)
    weighed = {c.weighting: dealt.X.weighed(c.weighting) for c in candidates}
    for test, rest in dealt.left_out():
        if len(test) == 0 or len(rest.classes) == 0:
            continue
        columns = labels.find(dealt.classes, rest.classes)
        known[test] = columns[dealt.y[test]] >= 0
        rows = {name: matrix.take(X, test) for name, X in weighed.items()}
        selected: dict[Selection, Selected] = {}
        for i, candidate in enumerate(candidates):
            if candidate.selection not in selected:
                here = next(iter(rows.values()))
                selected[candidate.selection] = Selected.of(words, rest, candidate.selection, here)
            one, X = selected[candidate.selection], rows[candidate.weighting]
            found[i][test] = scored(candidate, one, X, columns)
            spoken[i, test] = X.score(one.here, np.ones((len(one.here), 1)))[:, 0] > 0
    weight = teaching_weights(dealt.weight, known)
    results = [
        judged(candidate, F, heard, dealt, weight)
        for candidate, F, heard in zip(candidates, found, spoken, strict=True)
    ]
    scores = np.array([score for _, score in results])
    best = least(scores[:, 1])
    names = tuple(candidate.name for candidate in candidates)
    return Choice(results[best][0], names, scores, round(dealt.weight[weight > 0].sum()))


def undecided(candidates: Sequence[Combination]) -> Choice:
    """Return the first candidate, for texts of a single class, which decide nothing."""
    best = replace(candidates[0], weights=np.ones(len(candidates[0].evidence)))
    names = tuple(candidate.name for candidate in candidates)
    return Choice(best, names, np.full((len(names), 2), np.nan), 0)


def least(losses: Array) -> int:
    """Return the position of the least loss; equal losses, up to rounding, give the first.

    It is 0 if no loss is a number.
    """
    losses = np.where(np.isnan(losses), np.inf, losses)
    return int(np.argmax(losses <= losses.min() * (1 + ROUNDING)))


def teaching_weights(weight: Array, known: NDArray[np.bool_]) -> Array:
    """Return the weights of rows, scaled so that the largest is at most MOST_WEIGHT.

    `known` marks the rows whose class other folds have, too; all other rows get weight zero.
    """
    weight = np.where(known, weight, 0.0)
    return weight * min(1.0, MOST_WEIGHT / max(weight.max(initial=0), 1.0))


@dataclass(frozen=True, eq=False)
class Selected:
    """The counts of selected words.

    `chosen` (V,) marks the words that occur in the texts, and `here` holds these words.
    """

    counts: Tally
    chosen: NDArray[np.bool_]
    here: Vocabulary

    @classmethod
    def of(cls, words: Words, rest: Tally, selection: Selection, X: Documents) -> Selected:
        counts = words.selected(rest, rest.classes, selection)
        used = keys_of(counts)
        at = used.find(X.words)
        chosen = (at >= 0) & X.present[at]
        return cls(counts, chosen, used[chosen])


def scored(
    candidate: Combination, selected: Selected, X: Documents, columns: NDArray[np.intp]
) -> Array:
    """Return scores (m, K, G) of texts by each kind of evidence, from the counts of other texts."""
    F = np.empty((len(X), len(columns), len(candidate.evidence)))
    for g, evidence in enumerate(candidate.evidence):
        table, constant = evidence.solve(selected.counts, selected.chosen)
        scores = X.score(selected.here, table, candidate.power) + constant
        # A class of which all texts are left out gets the score of the least likely class.
        F[:, :, g] = np.where(columns >= 0, scores[:, columns], scores.min(axis=1, keepdims=True))
    return F


def judged(
    candidate: Combination, F: Array, spoken: NDArray[np.bool_], dealt: Dealt, weight: Array
) -> tuple[Combination, tuple[float, float]]:
    """Return the candidate with its weights, and its accuracy and log loss.

    Texts without a known word (`spoken` is false) get the priors and are not used for the weights.
    """
    y, fold = dealt.y, dealt.fold
    rows = np.maximum(np.bincount(y, weight, len(dealt.classes)), 0.5)
    centre = np.log(rows / rows.sum())
    heard = weight * spoken
    scale = np.sqrt(np.einsum("i,ikg->g", heard, F**2) / max(heard.sum() * F.shape[1], 1.0))
    scale = np.where(scale > LEAST_SCALE, scale, 1.0)
    F = F / scale
    log_p = np.tile(centre, (len(y), 1))

    def weights(some: NDArray[np.bool_]) -> layer.Solution:
        prior = prior_of(candidate, max(float(heard[some].sum()), 1.0), centre)
        return layer.fit(layer.Rows(F[some], y[some], heard[some]), prior)

    for f in range(int(fold.max()) + 1):
        test = (fold == f) & spoken
        w, b = weights(fold != f)
        log_p[test] = log_softmax(F[test] @ w + b, axis=1)
    own = np.maximum(np.exp(log_p[np.arange(len(y)), y]), SMALLEST)
    if weight.any():
        share = weight / weight.sum()
        accuracy, loss = share @ (log_p.argmax(axis=1) == y), share @ -np.log(own)
    else:  # one text of each class
        accuracy = loss = np.nan
    w, b = weights(fold >= 0)
    solved = replace(candidate, weights=w / scale, classes=dealt.classes, constant=b - centre)
    return solved, (float(accuracy), float(loss))


def prior_of(candidate: Combination, texts: float, centre: Array) -> Prior:
    """Return the prior of a candidate's weights; it is stronger with fewer texts.

    The prior expects a positive weight for plain evidence of words, and zero for its refinements
    and for runs of words unless the texts support them.
    """
    kinds = [replace(evidence, tilted=False) for evidence in candidate.evidence]
    tilted = np.array([evidence.tilted for evidence in candidate.evidence])
    at = {kind: g for g, kind in enumerate(kinds) if not tilted[g]}
    expected = ~tilted & np.array([kind.tokens != "runs" for kind in kinds])
    return Prior.of(
        np.where(expected, EXPECTED / max(int(np.count_nonzero(expected)), 1), 0.0),
        np.where(expected, RIDGE * (1 + TEXTS / texts), OTHERS * (1 + OTHER_TEXTS / texts)),
        centre,
        nonnegative=~tilted,
        refines=np.array([at.get(k, -1) if t else -1 for k, t in zip(kinds, tilted, strict=True)]),
    )
