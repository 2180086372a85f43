"""Compare with logistic regression on the same rows and folds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from genus.arrays import labels
from genus.display.text import count
from genus.evaluate.comparing.curves import Progress
from genus.evaluate.comparing.encoding import OfTables
from genus.evaluate.comparing.fitting import MOST_STEPS, converges
from genus.report.judging import Judged, out_of_fold_of
from genus.report.scores import SURE
from genus.stacking.outcome import CrossValidation
from genus.table import Frame

PATIENCE = 60.0  # seconds after which no further fold is started
DOUBTS = (ValueError, np.linalg.LinAlgError, MemoryError, FloatingPointError)


@dataclass(frozen=True)
class Line:
    """One of the two models: its name and its scores."""

    name: str
    accuracy: float
    log_loss: float
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """The result in one or two sentences, and a line for each model that was compared."""

    told: str
    lines: tuple[Line, ...] = ()


def compared(judged: Judged, progress: Progress | None = None) -> Comparison:
    """Compare genus with logistic regression on the same rows and folds.

    `progress` is called after each fold, with 1 and the number of all folds.
    """
    if judged.rows is None or judged.outcome is None:
        return Comparison(
            "The comparison with logistic regression needs rows: give DATA with the model."
        )
    try:
        ours, seconds = (
            (judged.outcome, judged.seconds) if judged.is_fresh else learned_anew(judged)
        )
        theirs, rows, took, note = regression(judged, ours, progress)
    except DOUBTS as error:
        why = " ".join(str(error).split())[:200]
        return Comparison(f"Logistic regression could not be fitted: {why}")
    if not judged.is_fresh:
        note = "Both models were fitted again, to the rows given here. " + note
    ours = part(ours, rows)
    lines = (
        Line("genus", ours.accuracy, ours.log_loss, seconds),
        Line("logistic regression", theirs.accuracy, theirs.log_loss, took),
    )
    return Comparison(f"{told(ours, theirs)} {note}".strip(), lines)


def learned_anew(judged: Judged) -> tuple[CrossValidation, float]:
    """Fit the model again; return out-of-fold probabilities and the seconds of one fit."""
    assert judged.rows is not None
    rows, fresh = judged.rows, clone(judged.model)
    started = time.perf_counter()
    fitted = clone(fresh).fit(rows.table, rows.y)
    seconds = time.perf_counter() - started
    return out_of_fold_of(fitted, rows)[0], seconds


def part(outcome: CrossValidation, rows: NDArray[np.intp]) -> CrossValidation:
    """Return the results for some of the rows."""
    return CrossValidation(
        outcome.probabilities[rows],
        outcome.classes,
        outcome.y[rows],
        outcome.weight[rows],
        outcome.fold[rows],
    )


def told(ours: CrossValidation, theirs: CrossValidation) -> str:
    """Say which model has the lower log loss, by how much, and whether chance explains it."""
    each = own_loss(theirs) - own_loss(ours)  # positive where genus is better
    gap = float(each.mean())
    error = SURE * float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else np.inf
    ahead, behind = ("genus", "logistic regression")[:: 1 if gap >= 0 else -1]
    first, second = sorted((ours.log_loss, theirs.log_loss))
    chance = "more than chance explains" if abs(gap) > error else "which may be chance"
    points = 100 * (ours.accuracy - theirs.accuracy)
    told = (
        f"{ahead[0].upper() if ahead != 'genus' else 'g'}{ahead[1:]} has a lower log loss than "
        f"{behind}, {first:.4f} against {second:.4f}: a difference of {abs(gap):.4f} ± "
        f"{error:.4f}, {chance}."
    )
    if round(abs(points), 1) == 0:
        return f"{told} Both have about the same accuracy."
    more = "genus" if points > 0 else "logistic regression"
    return f"{told} The accuracy of {more} is {abs(points):.1f} percentage points higher."


def own_loss(outcome: CrossValidation) -> NDArray[np.float64]:
    """Return -log p of each row's own class."""
    own = outcome.probabilities[np.arange(len(outcome.y)), outcome.y]
    return -np.log(np.maximum(own, np.finfo(float).eps))


def regression(
    judged: Judged, ours: CrossValidation, progress: Progress | None
) -> tuple[CrossValidation, NDArray[np.intp], float, str]:
    """Fit logistic regression; return out-of-fold predictions, rows, seconds per fit, and notes."""
    assert judged.rows is not None
    X = Frame.of(judged.rows.table, judged.model.plan_)
    p = np.zeros_like(ours.probabilities)
    folds = int(ours.fold.max()) + 1
    started, stopped, done, took = time.perf_counter(), 0, 0, 0.0
    for f in range(folds):
        if done and time.perf_counter() - started > PATIENCE:
            break
        train, test = np.flatnonzero(ours.fold != f), np.flatnonzero(ours.fold == f)
        before = time.perf_counter()
        encoder, model, converged = fitted(X[train], ours.y[train])
        took += time.perf_counter() - before
        stopped += not converged
        p[test] = labels.spread(
            model.predict_proba(encoder.transform(X[test])), model.classes_, p.shape[1], axis=1
        )
        done += 1
        if progress is not None:
            progress(1, folds)
    notes = []
    if stopped:
        notes.append(
            f"Logistic regression did not converge within {MOST_STEPS} steps in {stopped} of "
            f"{count(done, 'fold')}; its figures are those of the last step."
        )
    if done < folds:
        notes.append(f"To save time, only {done} of {folds} folds are compared.")
    rows = np.flatnonzero(ours.fold < done)
    outcome = CrossValidation(p, ours.classes, ours.y, ours.weight, ours.fold)
    return part(outcome, rows), rows, took / done, " ".join(notes)


def fitted(X: Frame, y: NDArray[Any]) -> tuple[OfTables, LogisticRegression, bool]:
    """Fit an encoding and a regression; return both, and whether the fit converged."""
    encoder, model = OfTables().fit(X), LogisticRegression(max_iter=MOST_STEPS)
    return encoder, model, converges(model, encoder.transform(X), y)
