"""Find the strongest evidence of columns, values and words, and the worst mistakes.

Symbols: m rows, n columns, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.display.text import date, name
from genus.explanation import Explanation
from genus.report.densities import holds_dates
from genus.report.judging import Rows
from genus.report.scores import likeliest
from genus.stacking.outcome import CrossValidation
from genus.table import Plan

MOST_EXPLAINED = 500  # rows
MOST_TERMS = 4_000_000  # rows times columns squared times classes
MOST_COLUMNS = 15
MOST_CLASSES = 12
PIECES = 3  # contributions for a class
MISTAKES = 10
SPOKEN = 4  # contributions for a mistake
WORDS = 10  # of a class


@dataclass(frozen=True)
class Piece:
    """A column, its value, and its contribution to the log-odds against another class."""

    column: str
    value: str
    weight: float
    against: Any = None


@dataclass(frozen=True)
class Strongest:
    """Columns by their mean contribution, and the largest contributions for each class.

    If `is_drawn`, the explained rows were drawn from the model.
    """

    columns: list[tuple[str, float]]
    pieces: list[tuple[Any, list[Piece]]]
    rows: int
    is_drawn: bool


def strongest(model: Any, rows: Rows | None) -> Strongest:
    """Return the largest contributions in rows, for the most probable class against the second."""
    n, K = len(model.plan_), len(model.classes_)
    most = int(np.clip(MOST_TERMS // (n * n * K), 20, MOST_EXPLAINED))
    if rows is None:
        table, _ = model.sample(most, random_state=0)
    else:
        table = rows.table.take(some(rows.table.num_rows, most))
    told = model.explain(table)
    order = np.argsort(-told.joint, axis=1, kind="stable")
    first, second = order[:, 0], order[:, 1]
    at = np.arange(len(order))
    terms = told.contributions[at, :, first] - told.contributions[at, :, second]
    mean = np.abs(terms).mean(axis=0)
    best = np.argsort(-mean, kind="stable")[:MOST_COLUMNS]
    columns = [(told.features[j], float(mean[j])) for j in best if mean[j] > 0]
    common = np.argsort(-model.class_count_, kind="stable")[:MOST_CLASSES]
    pieces = [
        (told.classes[k], pieces_for(model.plan_, told, terms, second, np.flatnonzero(first == k)))
        for k in common.tolist()
    ]
    return Strongest(columns, pieces, len(order), rows is None)


def value(plan: Plan, told: Explanation, row: int, j: int) -> str:
    """Format a value of an explained row."""
    own = told.values[row, j]
    return date(own) if own is not None and holds_dates(plan.used[j]) else name(own)


def pieces_for(
    plan: Plan, told: Explanation, terms: Any, second: Any, rows: NDArray[np.intp]
) -> list[Piece]:
    """Return the largest contributions in some rows, at most one of each column."""
    if len(rows) == 0:
        return []
    at = rows[terms[rows].argmax(axis=0)]  # the row of each column
    loud = terms[at, np.arange(len(at))]
    found = np.argsort(-loud, kind="stable")[:PIECES]
    return [
        Piece(
            told.features[j],
            value(plan, told, at[j], j),
            float(loud[j]),
            told.classes[second[at[j]]],
        )
        for j in found.tolist()
        if loud[j] > 0
    ]


@dataclass(frozen=True)
class Mistake:
    """A misclassified row: its number, its class, the predicted class and p, and the reason."""

    row: int
    truth: Any
    taken: Any
    probability: float
    pieces: list[Piece]


def mistakes(model: Any, rows: Rows, outcome: CrossValidation) -> list[Mistake]:
    """Return the rows that were misclassified with the highest probability.

    The reasons are contributions of the model of all rows for the predicted class against the row's
    own class.
    """
    guess = likeliest(outcome)
    sure = outcome.probabilities[np.arange(len(guess)), guess]
    wrong = np.flatnonzero(guess != outcome.y)
    worst = wrong[np.argsort(-sure[wrong], kind="stable")][:MISTAKES]
    if len(worst) == 0:
        return []
    told = model.explain(rows.table.take(worst))
    known = told.classes.tolist()
    found = []
    for i, row in enumerate(worst.tolist()):
        truth, taken = outcome.classes[outcome.y[row]], outcome.classes[guess[row]]
        pieces = []
        if truth in known and taken in known:
            terms = told.log_odds(taken, truth)[i][:-1]
            for j in np.argsort(-terms, kind="stable")[:SPOKEN].tolist():
                if terms[j] > 0:
                    pieces.append(
                        Piece(told.features[j], value(model.plan_, told, i, j), float(terms[j]))
                    )
        found.append(Mistake(int(rows.numbers[row]), truth, taken, float(sure[row]), pieces))
    return found


def top_words(model: Any, j: int) -> list[tuple[Any, list[tuple[str, float]]]]:
    """Return the most typical words of each class in a column of texts, with their log-odds.

    Words are ranked by their log-odds times the share of the class's texts that contain them.
    """
    parameters = model.model_.parameters.texts[j]
    slope, _ = parameters.linear
    counts = parameters.counts
    found = []
    for k in np.argsort(-model.class_count_, kind="stable")[:MOST_CLASSES].tolist():
        others = np.arange(len(slope)) != k
        weight = np.maximum(model.class_count_[others], 1e-300)
        odds = np.nan_to_num(slope[k] - weight / weight.sum() @ slope[others])
        within = counts["documents"][k] / max(float(counts["rows"][k, 0]), 1.0)
        telling = odds * within
        best = [i for i in np.argsort(-telling, kind="stable")[:WORDS].tolist() if telling[i] > 0]
        words = [(name(parameters.words.word(i)), float(odds[i])) for i in best]
        found.append((model.classes_[k], words))
    return found


def some(total: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` evenly spaced row indices below `total`."""
    return np.unique(np.linspace(0, total - 1, min(most, total)).astype(np.intp))
