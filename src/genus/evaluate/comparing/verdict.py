"""Give advice: where two curves cross, which model leads, and with what confidence.

Repeats share rows, so their differences vary less than those of new data would. The variance of the
differences is therefore multiplied by (1/R + test rows / all other rows) (Nadeau & Bengio 2003),
and their mean is tested with Student's t. If only few of the other rows are used for training,
repeats share fewer rows, and the test is conservative.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from genus.evaluate.comparing.curves import Curves
from genus.evaluate.comparing.points import Line
from genus.statistics import Array

SURE = 0.9
AHEAD = 0.9  # confidence that a lead needs on either side of a crossing
DRAWS = 500
MEASURES = {"error": "error", "log_loss": "log loss"}


@dataclass(frozen=True)
class Lead:
    """The lead of a model at one size, and its confidence, from 0.5 to 1.

    `first` and `second` are the mean error or log loss of two models. `gap` is second - first: if
    it is above zero, the first model leads.
    """

    measure: str
    first: float
    second: float
    gap: float
    sure: float

    @property
    def is_clear(self) -> bool:
        return self.sure >= SURE


@dataclass(frozen=True)
class Crossing:
    """The number of rows at which the lead changes, and an 80 % interval for it."""

    rows: float
    low: float
    high: float
    before: str
    after: str


def lead(curves: Curves, measure: str, a: Line, b: Line, size: int = -1) -> Lead | None:
    """Return which of two models leads at a size; None if there is nothing to compare."""
    mine, yours = getattr(a, measure)[size], getattr(b, measure)[size]
    both = ~np.isnan(mine) & ~np.isnan(yours)
    if both.sum() < 2:
        return None
    gaps = yours[both] - mine[both]
    gap, spread = float(gaps.mean()), float(gaps.std(ddof=1))
    share = 1 / len(gaps) + curves.tested / float(curves.sizes[-1])
    if spread > 0:
        sure = float(stdtr(len(gaps) - 1, abs(gap) / (spread * np.sqrt(share))))
    else:
        sure = 1.0 if gap else 0.5
    return Lead(measure, float(mine[both].mean()), float(yours[both].mean()), gap, sure)


def signs(curves: Curves, measure: str, a: Line, b: Line, sure: float = AHEAD) -> NDArray[np.int64]:
    """Return for each size 1 if the first model leads, -1 if the second leads, 0 if unclear.

    If two curves differ by chance alone, a lead with 90 % confidence is found at some size in one
    of ten comparisons, and a lead with 80 % confidence in two of three.
    """
    found = []
    for size in range(len(curves.sizes)):
        one = lead(curves, measure, a, b, size)
        clear = one is not None and one.sure >= sure
        found.append(int(np.sign(one.gap)) if one is not None and clear else 0)
    return np.array(found)


def crossing(curves: Curves, measure: str, a: Line, b: Line, seed: int = 0) -> Crossing | None:
    """Return the last crossing of the curves, if each model leads clearly on its side."""
    ahead = signs(curves, measure, a, b)
    clear = np.flatnonzero(ahead)
    turns = [(i, j) for i, j in pairwise(clear) if ahead[i] != ahead[j]]
    if not turns:
        return None
    before, after = turns[-1]
    gaps = getattr(b, measure) - getattr(a, measure)
    rng = np.random.default_rng(seed)
    x = np.log(curves.sizes[before : after + 1])
    inside = gaps[before : after + 1]
    drawn = []
    for draw in range(DRAWS):
        chosen = rng.integers(0, inside.shape[1], inside.shape[1]) if draw else slice(None)
        drawn.append(zero(x, mean(inside[:, chosen])))
    spread = np.exp(np.nanquantile(drawn, [0.1, 0.9])) if not np.isnan(drawn).all() else [0, 0]
    names = (a.name, b.name) if ahead[before] > 0 else (b.name, a.name)
    return Crossing(float(np.exp(drawn[0])), float(spread[0]), float(spread[1]), *names)


def mean(gaps: Array) -> Array:
    """Return the mean of each size over the repeats that were fitted."""
    there = ~np.isnan(gaps)
    number = there.sum(axis=1)
    total = np.where(there, gaps, 0.0).sum(axis=1)
    return np.divide(total, number, out=np.full(len(gaps), np.nan), where=number > 0)


def zero(x: Array, y: Array) -> float:
    """Return where an interpolated line last changes its sign; NaN if it never does."""
    turns = np.flatnonzero(np.sign(y[:-1]) * np.sign(y[1:]) < 0)
    if len(turns) == 0:
        flat = np.flatnonzero(y == 0)
        return float(x[flat[-1]]) if len(flat) else np.nan
    i = int(turns[-1])
    return float(x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1]))


@dataclass(frozen=True)
class Advice:
    """The advice in a sentence, and the results that it is based on."""

    use: str
    sentence: str
    sure: float
    leads: tuple[Lead, ...]
    crossings: dict[str, Crossing | None]


def advice(curves: Curves, rows: int) -> Advice:
    """Advise on the generative model or logistic regression for this number of rows."""
    ours, theirs = curves.lines[:2]
    size = last_common(ours, theirs)
    if size is None:
        return without_common(ours, theirs)
    found = [lead(curves, measure, ours, theirs, size) for measure in MEASURES]
    error, loss = found
    crossings = {measure: crossing(curves, measure, ours, theirs) for measure in MEASURES}
    leads = tuple(each for each in found if each is not None)
    use, sure, why = chosen(ours.name, theirs.name, error, loss)
    present = int(curves.sizes[size])
    sentence = f"With your {rows:,} rows, use {use}: {why}."
    if size < len(curves.sizes) - 1:
        sentence = f"Judging by {present:,} of your {rows:,} rows, use {use}: {why}."
    if curves.guess is not None and not beats_a_guess(curves, size):
        sentence = (
            f"Neither {ours.name} nor {theirs.name} is clearly better than always predicting the "
            f"most frequent class, which is wrong in {percent(curves.guess.error)} of rows; they "
            f"are wrong in {percent(error.first)} and {percent(error.second)}."
            if error is not None
            else sentence
        )
    return Advice(use, sentence, sure, leads, crossings)


def without_common(ours: Line, theirs: Line) -> Advice:
    """Return the advice if no size has enough fits of both models."""
    fitted = [line for line in (ours, theirs) if not np.isnan(line.error).all()]
    if not fitted:
        told = " ".join((*ours.notes, *theirs.notes))
        raise ValueError(f"No model could be fitted to these rows. {told}")
    only = fitted[0].name
    why = "could be fitted to these rows" if len(fitted) == 1 else "was fitted in time"
    return Advice(only, f"Use {only}: no other model {why}.", 0.5, (), {})


def beats_a_guess(curves: Curves, size: int) -> bool:
    """Return whether a model is clearly better than guessing (`Guess`), in error or log loss."""
    assert curves.guess is not None
    for line in curves.lines[:2]:
        for measure in MEASURES:
            values = getattr(line, measure)
            same = np.where(np.isnan(values), np.nan, getattr(curves.guess, measure))
            guess = Line("a guess", same, same, line.seconds)
            found = lead(curves, measure, line, guess, size)
            if found is not None and found.gap > 0 and found.is_clear:
                return True
    return False


def last_common(a: Line, b: Line) -> int | None:
    """Return the index of the largest size at which both models have fits in two or more repeats.

    Return None if there is no such size.
    """
    both = (~np.isnan(a.error) & ~np.isnan(b.error)).sum(axis=1) >= 2
    there = np.flatnonzero(both)
    return int(there[-1]) if len(there) else None


def chosen(ours: str, theirs: str, error: Lead | None, loss: Lead | None) -> tuple[str, float, str]:
    """Return the model to use, its confidence, and the reason.

    The model is the one whose error is clearly lower. If neither is, it is the one whose log loss
    is clearly lower, and otherwise `ours`.
    """
    if error is not None and error.is_clear:
        use, other = (ours, theirs) if error.gap > 0 else (theirs, ours)
        low, high = sorted((error.first, error.second))
        wrong = f"it is wrong in {percent(low)} of rows, {other} in {percent(high)}"
        why = f"{wrong} ({surely(error.sure)})"
        if loss is not None and loss.is_clear and loss.gap * error.gap < 0:
            why += f"; but {other} has the better probabilities ({losses(loss)})"
        return use, error.sure, why
    same = ""
    if error is not None:
        same = (
            f". {ours[0].upper()}{ours[1:]} is wrong in {percent(error.first)} of rows and "
            f"{theirs} in {percent(error.second)}, a difference that may be chance"
        )
    if loss is not None and loss.is_clear:
        use = ours if loss.gap > 0 else theirs
        return use, loss.sure, f"its probabilities are better ({losses(loss)}){same}"
    sure = max((each.sure for each in (error, loss) if each is not None), default=0.5)
    return ours, sure, f"it can also merge, forget and explain{same}"


def losses(loss: Lead) -> str:
    low, high = sorted((loss.first, loss.second))
    return f"log loss {low:.3f} against {high:.3f}, {surely(loss.sure)}"


def surely(sure: float) -> str:
    """Return the confidence in words, in per cent, always below 100 %."""
    if sure < 0.995:
        return f"{min(100 * sure, 99):.0f} % confidence"
    return "more than 99 % confidence"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def told_crossing(curves: Curves, measure: str, found: Crossing | None) -> str:
    """Say where the curves cross, or that they do not, as the second part of a sentence."""
    ours, theirs = curves.lines[:2]
    if found is not None:
        return (
            f"the curves cross at about {rounded(found.rows)} rows "
            f"({rounded(found.low)} to {rounded(found.high)}): {found.before} leads with fewer "
            f"rows, {found.after} with more."
        )
    ahead = signs(curves, measure, ours, theirs)
    if not ahead.any():
        return "no crossing was found: neither leads clearly at any size."
    who = ours.name if ahead[np.flatnonzero(ahead)[0]] > 0 else theirs.name
    if (ahead != 0).all():
        return f"the curves do not cross: {who} leads at every size."
    return f"no crossing was found: {who} leads at every size where the lead is clear."


def rounded(rows: float) -> str:
    """Format a number of rows, rounded to two digits."""
    size = 10 ** max(int(np.floor(np.log10(max(rows, 1)))) - 1, 0)
    return f"{round(rows / size) * size:,.0f}"
