"""How much to believe each expert of a table: weights from rows that had no part in the counts.

Every row is judged by the counts of the other folds, exactly, for they are a difference; a softmax
layer of one weight for each expert and column makes one probability of what all of them say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from genus._kernel import layer_sums
from genus.arrays import labels, matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes
from genus.model import Model
from genus.stacking import layer
from genus.stacking.folds import Folds
from genus.stacking.outcome import CrossValidation
from genus.statistics import Array
from genus.table.model.counts import TEXT
from genus.table.model.mixed import Mixed, Weights
from genus.text.model import Combination, Selection
from genus.text.model.choosing import candidates, choose, teaching_weights

MOST_STEPS = 200
RIDGE = 0.1  # of an expert's weight, times the mean square of what it says
LEAST_RIDGE = 1e-3
TAUGHT_CELLS = 1 << 19  # rows times classes times evidence that weights are learned from
FEWEST_TAUGHT = 4000  # rows
COLUMNS = 100.0  # the ridge of columns' weights to begin with


@dataclass(frozen=True, eq=False)
class Weighing:
    """Weights, what is chosen for texts, and what it all is worth out of fold.

    `losses` (G,) are the log losses of the experts by themselves, and `worth` the scores of all of
    them together. `outcome` has the probabilities of the rows, until the model is saved.
    """

    weights: Weights
    combinations: dict[str, Combination]
    losses: Array
    worth: Mapping[str, float]
    outcome: CrossValidation | None = None

    def of_classes(self, classes: Axis) -> Weighing:
        """The same without classes that are gone."""
        weights = self.weights
        left = labels.find(weights.classes, classes) >= 0
        kept = replace(weights, classes=weights.classes[left], constant=weights.constant[left])
        combinations = {name: c.of_classes(classes) for name, c in self.combinations.items()}
        return replace(self, weights=kept, combinations=combinations)

    def unjudged(self) -> Weighing:
        """The same weights without what they were worth, when rows have come or gone."""
        return replace(self, losses=np.full_like(self.losses, np.nan), worth={}, outcome=None)


def weigh(folds: Folds, family: Mixed) -> Weighing:
    """The weights of a family's experts and columns, from the folds of a model."""
    family = replace(family, weights=None)
    family = replace(family, combinations=chosen_for_texts(folds, family))
    classes, y = folds.classes, folds.y
    names, n = family.names, len(family.how.plan)
    G = len(names)
    F = np.empty((len(y), len(classes), G + 2 * n))
    known = np.zeros(len(y), dtype=bool)

    def judge(left_out: Iterator[tuple[NDArray[np.intp], Model]]) -> None:
        for test, rest in left_out:
            known[test] = np.isin(y[test], labels.find(rest.classes, classes))
            parameters = family.solve(rest.statistics, classes, rest.width)
            F[test] = np.concatenate(family.evidence(parameters, folds.X[test]), axis=2)

    matrix.in_threads(judge, list(folds.left_out()))
    weight = teaching_weights(folds, known)
    weight *= np.count_nonzero(weight) / max(weight.sum(), 1e-300)  # one row counts as one
    is_text = np.array([name.startswith(TEXT) for name in names])
    mean = 1 / max(int(np.count_nonzero(~is_text)), 1)
    start = np.concatenate([np.where(is_text, 1.0, mean), np.zeros(2 * n)])
    # An expert's weight is drawn to the mean by what it says; those of columns as they turn out.
    spread = ((F[:, :, :G] - F[:, :, :G].mean(axis=1, keepdims=True)) ** 2).mean(axis=(0, 1))
    first = np.concatenate([np.maximum(RIDGE * spread, LEAST_RIDGE), np.full(2 * n, COLUMNS)])
    group = np.repeat([-1, 0, 1], [G, n, n])
    # Some rows are enough to learn few weights from; all are judged.
    most = max(TAUGHT_CELLS // (F.shape[1] * F.shape[2]), FEWEST_TAUGHT)
    taught = np.arange(len(y)) % -(-len(y) // most) == 0
    w, b, ridge = layer.fit_groups(F[taught], y[taught], weight[taught], start, first, group)
    if not is_told(F[taught], y[taught], weight[taught], (w, b), ridge):
        w = np.zeros_like(w)
    log_p = np.empty(F.shape[:2])

    def judge_weights(some: Iterator[int]) -> None:
        for f in some:
            test, others = folds.fold == f, taught & (folds.fold != f)
            own = layer.fit(
                F[others], y[others], weight[others], np.zeros(len(b)), start, ridge, (w, b)
            )
            told = is_told(F[others], y[others], weight[others], own, ridge)
            log_p[test] = log_softmax(told * (F[test] @ own[0]) + own[1], axis=1)

    matrix.in_threads(judge_weights, range(int(folds.fold.max()) + 1))
    share = matrix.class_weights(y, weight, len(classes))[:, 0] + 1.0
    share /= share.sum()
    doubt = doubted(np.exp(log_p[np.arange(len(y)), y]), share[y], weight)
    probabilities = (1 - doubt) * np.exp(log_p) + doubt * share
    rows = np.arange(len(y))
    total = max(weight.sum(), 1e-300)
    said = log_softmax(F[:, :, :G] + np.where(is_text, 1.0, 0.0) * np.log(share)[:, None], axis=1)
    losses = -(weight @ said[rows, y]) / total
    given = np.ones(len(y)) if folds.weight is None or not folds.weight.any() else folds.weight
    outcome = CrossValidation(probabilities, classes, y, given, folds.fold)
    weights = Weights(names, w[:G], w[G:], classes, b, doubt)
    worth = {
        "rows": float(len(y)),
        "accuracy": outcome.accuracy,
        "log loss": outcome.log_loss,
        "Brier": outcome.brier,
        "calibration error": outcome.calibration_error,
    }
    return Weighing(weights, dict(family.combinations), losses, worth, outcome)


def is_told(F: Array, y: Codes, weight: Array, solved: tuple[Array, Array], ridge: Array) -> bool:
    """Whether the rows gain more by weights than by chance: one nat for each weight they tell.

    Akaike's criterion, by the effective number of weights, Σ 1 - ridge · variance. Rows that are
    noise say something out of fold, too, for each fold is unlike what is left without it.
    """
    w, b = solved
    loss, _, curvature = layer_sums(
        np.ascontiguousarray(F), y, weight, np.concatenate(solved), True, matrix.threads()
    )
    pull = np.concatenate([ridge, np.ones(len(b))])
    variance = np.diag(np.linalg.inv(curvature + np.diag(pull)))[: len(w)]
    share = matrix.class_weights(y, weight, len(b))[:, 0] / max(weight.sum(), 1e-300)
    alone = -float(weight @ np.log(np.maximum(share[y], 1e-300)))
    return alone - loss > float((1 - ridge * variance).sum())


def doubted(own: Array, share: Array, weight: Array) -> float:
    """The share of rows that are not what they seem, and of any class: at least one in all.

    Expectation maximisation of Σ log((1 - ε) p + ε share), with one such row beforehand. So no
    probability is surer than the rows can tell, and one strange row no reason for endless regret.
    """
    total = weight.sum()
    ε = 1 / (total + 2)
    for _ in range(MOST_STEPS):
        odd = ε * share / np.maximum((1 - ε) * own + ε * share, 1e-300)
        before, ε = ε, float((weight @ odd + 1) / (total + 2))
        if abs(ε - before) < 1e-3 * ε:
            break
    return ε


def chosen_for_texts(folds: Folds, family: Mixed) -> dict[str, Combination]:
    """The best combination of evidence for each column of texts."""
    found = {}
    for j, column in enumerate(family.how.plan.used):
        if column.kind != "text":
            continue
        parts = tuple(
            Model(family.how.words, part.statistics[TEXT + column.name], 1, part.weights)
            for part in folds.parts
        )
        own = Folds(folds.X.columns[j], folds.y, folds.classes, folds.weight, folds.fold, parts)
        tried = candidates(
            Selection(), own.X.width, len(folds.classes), family.how.words.tokenizer.joins
        )
        found[column.name] = choose(own, tried).best
    return found
