"""Compute the learning curves of logistic regression and the perceptron, fitted at every point."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron

from genus.arrays import labels
from genus.arrays.matrix import blas_threads_for
from genus.evaluate.comparing.cost import measured
from genus.evaluate.comparing.data import Material
from genus.evaluate.comparing.encoding import encoding_for
from genus.evaluate.comparing.points import (
    FEWEST_TIMES,
    MOST_TESTED,
    Deal,
    Line,
    Sizes,
    judged,
    notes_of,
    stacked,
)
from genus.statistics import Array

LOGISTIC, PERCEPTRON = "logistic regression", "perceptron"
MOST_STEPS = 300
# scikit-learn's default; with rows of tf-idf, which have length 1, it would shrink too much.
PENALTY = {"numbers": 1.0, "table": 1.0, "texts": 100.0}
AT_ONCE = 0.05  # share of the patience that a size may take without regard to later sizes
MOST_KEPT = 100_000_000  # bytes of encoded rows, approximately


@dataclass(frozen=True, eq=False)
class Encoded:
    """Training and test rows as matrices, and the seconds of encoding the training rows."""

    X: Any
    y: NDArray[Any]
    test: Any
    truth: NDArray[Any]
    seconds: float

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return int(sum(8 * 2 * each.nnz if hasattr(each, "nnz") else each.nbytes
                       for each in (self.X, self.test)))  # fmt: skip


class Encodings:
    """The encoded rows for each point of the curves.

    Up to MOST_KEPT bytes of them are kept for the next model; the others are encoded again.
    """

    def __init__(self, given: Material) -> None:
        self.given = given
        self.kept: dict[tuple[int, int], Encoded] = {}
        self.bytes = 0

    def at(self, size: int, number: int, deal: Deal, rows: NDArray[np.intp]) -> Encoded:
        """Return the encoded rows of a repeat at a size; the encoding is fitted to `rows`."""
        key = size, number
        if key not in self.kept:
            made = self.made(deal, rows)
            if self.bytes + made.size > MOST_KEPT:
                return made
            self.kept[key] = made
            self.bytes += made.size
        return self.kept[key]

    def made(self, deal: Deal, rows: NDArray[np.intp]) -> Encoded:
        given = self.given
        (_, raw), (_, tested) = given.take(rows), given.take(deal.test)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            start = perf_counter()
            encoding = encoding_for(given.raw).fit(raw)
            X = encoding.transform(raw)
            seconds = perf_counter() - start
            test = encoding.transform(tested)
        return Encoded(X, given.y[rows], test, given.y[deal.test], seconds)


def discriminative(
    encodings: Encodings,
    name: str,
    at: Sizes,
    dealt: Sequence[Deal],
    patience: float,
    told: Callable[[int], None],
) -> Line:
    """Return the curve of a model that is fitted at every point, as long as `patience` allows."""
    given = encodings.given
    error, loss = np.full((2, len(at), len(dealt)), np.nan)
    seconds, memory = np.full(len(at), np.nan), None
    out: list[Array] = []
    problems: list[str] = []
    notes: list[str] = []
    unconverged, separated, started = 0, 0, perf_counter()
    for s, (size, blocks) in enumerate(at):
        left = patience - (perf_counter() - started)
        expected = cost_ahead([n for n, _ in at], seconds[:s])
        times = affordable(expected, len(dealt), left, patience)
        if times == 0 and s == 0:
            times = min(FEWEST_TIMES, len(dealt))
        if times == 0:
            notes.append(
                f"{name.capitalize()} stops at {at[s - 1][0]:,} rows: a fit to {size:,} would "
                f"take {expected[0]:,.2g} seconds, more than is left of patience={patience:g}."
            )
            told((len(at) - s) * len(dealt))
            break
        took = []
        for r, deal in enumerate(dealt[:times]):
            rows = deal.rows(size, blocks)
            try:
                encoded = encodings.at(s, r, deal, rows)
                work = partial(fitted, encoded, name, PENALTY[given.kind])
                start = perf_counter()
                model, converged = work()
                took.append(perf_counter() - start + encoded.seconds)
            except ValueError as problem:
                problems.append(str(problem))
                continue
            finally:
                told(1)
            unconverged += not converged
            p = answers(model, encoded.test, len(given.classes))
            error[s, r], loss[s, r] = judged(p, encoded.truth)
            if name == PERCEPTRON:
                loss[s, r] = np.nan  # a perceptron has no probabilities
            elif s == len(at) - 1:
                separated += is_separated(model, encoded)
                if deal.number == 0:
                    out.append(p)
        told(len(dealt) - times)
        if times < len(dealt) and not any("in time" in note for note in notes):
            notes.append(
                f"From {size:,} rows on, {name} was fitted in {times} or fewer of {len(dealt)} "
                f"repeats, to finish in time: patience={patience:g} allows no more."
            )
        if took:
            seconds[s] = float(np.median(took))
            if s == len(at) - 1:
                peak = measured(work)[2]
                memory = None if peak is None else peak + encoded.size
    if unconverged and name == LOGISTIC:
        notes.append(
            f"Logistic regression did not converge within {MOST_STEPS} steps in {unconverged:,} of "
            "its fits; its figures are those of the last step."
        )
    if separated:
        notes.append(
            "Some fits of logistic regression separate their training rows without an error. Only "
            "the penalty keeps their probabilities from 0 and 1."
        )
    p, told_of = stacked(out, len(given.classes)), notes_of(name, problems, notes)
    return Line(name, error, loss, seconds, memory, p, told_of)


def cost_ahead(sizes: Sequence[int], seconds: Array) -> Array:
    """Extrapolate the seconds of a fit to larger sizes, by a line through the measured times."""
    known = np.flatnonzero(~np.isnan(seconds))
    later = np.array(sizes[len(seconds) :], float)
    if len(known) == 0:
        return np.zeros(len(later))
    last, first = known[-1], known[0]
    slope = 0.0
    if last > first:
        slope = (seconds[last] - seconds[first]) / (sizes[last] - sizes[first])
    return seconds[last] + max(slope, 0.0) * (later - sizes[last])


def affordable(expected: Array, repeats: int, left: float, patience: float) -> int:
    """Return how often the next size can be fitted in the remaining time; 0 if not at all."""
    if expected[0] * repeats <= min(AT_ONCE * patience, left):
        return repeats
    if left <= 0:
        return 0
    share = left / max(expected.sum() * repeats, 1e-9)
    times = max(int(min(share, 1.0) * repeats), min(FEWEST_TIMES, repeats))
    return times if expected[0] * times <= left else 0


def fitted(encoded: Encoded, name: str, penalty: float) -> tuple[Any, bool]:
    """Fit a model to encoded rows; return it, and whether it converged."""
    model = (
        LogisticRegression(C=penalty, max_iter=MOST_STEPS)
        if name == LOGISTIC
        else Perceptron(random_state=0)
    )
    return model, converges(model, encoded.X, encoded.y)


def converges(model: Any, X: Any, y: NDArray[Any]) -> bool:
    """Fit a scikit-learn model and return whether it converged."""
    with warnings.catch_warnings(record=True) as said, blas_threads_for(X.shape):
        warnings.simplefilter("always")
        model.fit(X, y)
    return not any(issubclass(each.category, ConvergenceWarning) for each in said)


def answers(model: Any, X: Any, classes: int) -> Array:
    """Return probabilities; for a perceptron, 1 for the predicted class."""
    if hasattr(model, "predict_proba"):
        return labels.spread(model.predict_proba(X), model.classes_, classes, axis=1)
    return np.eye(classes)[model.predict(X)]


def is_separated(model: Any, encoded: Encoded) -> bool:
    """Return whether a model makes no error on its training rows; they are predicted in parts."""
    step = -(-len(encoded.y) // MOST_TESTED)
    return all((model.predict(encoded.X[i::step]) == encoded.y[i::step]).all() for i in range(step))
