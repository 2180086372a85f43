"""Compare a generative model with logistic regression and the perceptron on the same rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import markup
from genus.estimators import GenerativeClassifier
from genus.evaluate.comparing.curves import Curves, Progress, curves
from genus.evaluate.comparing.data import Material, material
from genus.evaluate.comparing.fitting import LOGISTIC
from genus.evaluate.comparing.points import Line, shared
from genus.evaluate.comparing.reasons import Reasons, reasons
from genus.evaluate.comparing.verdict import (
    MEASURES,
    Advice,
    advice,
    last_common,
    percent,
    told_crossing,
)
from genus.evaluate.comparing.weighed import Weighed, weighed

__all__ = ["Comparison", "compare"]

CELLS = "error and log loss; ± is the standard deviation over repeats"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The learning curves, the advice on which model to use, and the reasons.

    Attributes
    ----------
    curves : sizes, and the error, log loss, seconds and memory of each model in every repeat.
    advice : which model to use, with what confidence, and where the curves cross.
    reasons : which assumptions of the generative model hold for these rows.
    rows, classes : the number of rows, and their classes.
    notes : what was left out, and what failed.
    weighed : the out-of-fold scores of `TableClassifier`; computed when first needed.
    """

    curves: Curves
    advice: Advice
    reasons: Reasons
    rows: int
    classes: Any
    notes: tuple[str, ...]
    given: Material

    @property
    def lines(self) -> dict[str, Line]:
        """The curves of the models, by name."""
        return {line.name: line for line in self.curves.lines}

    @property
    def why(self) -> list[str]:
        """Sentences on which assumptions hold for these rows, and which do not."""
        return self.reasons.sentences(self.curves.lines[0].name)

    @cached_property
    def weighed(self) -> Weighed | None:
        return weighed(self.given) if self.given.is_usual else None

    @property
    def use(self) -> str:
        """The model to use: "genus fit" if it beats both plain models, else as in `advice`."""
        return "genus fit" if self.is_weighed_better else self.advice.use

    @property
    def is_weighed_better(self) -> bool:
        """Whether `genus fit` has a lower log loss than both plain models, and no higher error.

        The plain models are the generative model and logistic regression. An error counts as higher
        if the difference exceeds two standard errors.
        """
        size = last_common(*self.curves.lines[:2])
        if self.weighed is None or size is None:
            return False
        losses = [np.nanmean(line.log_loss[size]) for line in self.curves.lines[:2]]
        error = min(float(np.nanmean(line.error[size])) for line in self.curves.lines[:2])
        doubt = 2 * np.sqrt(error * (1 - error) / self.rows)
        return self.weighed.log_loss < min(losses) and self.weighed.error <= error + doubt

    @property
    def sentence(self) -> str:
        """What to use, and why."""
        if not self.is_weighed_better:
            return self.advice.sentence
        assert self.weighed is not None
        plain = self.advice.sentence[:1].lower() + self.advice.sentence[1:]
        return (
            f"Use genus fit (TableClassifier): it is wrong in {percent(self.weighed.error)} of "
            f"rows, with a log loss of {self.weighed.log_loss:.3f}{self.weighed.measured}, better "
            f"than both plain models. Among those, {plain}"
        )

    @property
    def beyond(self) -> str:
        """A sentence that compares `TableClassifier` with the plain models."""
        if self.weighed is None or self.is_weighed_better:
            return ""
        return (
            "These are plain models. TableClassifier, which genus fit uses and which combines "
            f"several models, is wrong in {percent(self.weighed.error)} of rows, with a log loss "
            f"of {self.weighed.log_loss:.3f}{self.weighed.measured}."
        )

    @property
    def baseline(self) -> str:
        """A sentence on the error of always predicting the most frequent class."""
        guess = self.curves.guess
        if guess is None or "most frequent class" in self.sentence:
            return ""
        return (
            "Always predicting the most frequent class would be wrong in "
            f"{percent(guess.error)} of rows."
        )

    @property
    def in_python(self) -> str:
        """A sentence that says how to write the generative model in Python."""
        if not self.given.is_usual:
            return ""
        name = self.given.name
        return f"In Python, {name} is {self.given.estimator!r}, from genus."

    @property
    def crossings(self) -> str:
        """Sentences that say where the curves cross, or that they do not."""
        told = {
            measure: told_crossing(self.curves, measure, found)
            for measure, found in self.advice.crossings.items()
        }
        if len(set(told.values())) == 1:
            return f"In error and in log loss, {told.popitem()[1]}"
        return " ".join(f"In {MEASURES[measure]}, {each}" for measure, each in told.items())

    def __str__(self) -> str:
        """Return the advice, the crossings, the curves as a table, and the reasons, as text."""
        parts = [self.sentence, self.beyond, self.baseline, self.crossings, self.table()]
        parts += [self.in_python, self.costs()]
        parts += ["\n".join(f"- {sentence}" for sentence in self.why)]
        parts += ["\n".join(self.notes)]
        return "\n\n".join(part for part in parts if part)

    def table(self) -> str:
        """Return a table of the mean error and log loss by number of rows."""
        lines = [f"{'rows':>9}" + "".join(f"  {name:>25}" for name in self.lines)]
        for size, *cells in self._cells():
            lines.append(f"{size:>9,}" + "".join(f"  {one:>25}" for one in cells))
        return "\n".join([*lines, f"{'':9}  {CELLS}"])

    def _cells(self) -> list[tuple[Any, ...]]:
        """Return, for each number of rows, this number and a cell for each model."""
        lines = self.curves.lines
        return [
            (int(size), *(cell(line, s, shared(lines, s)) for line in lines))
            for s, size in enumerate(self.curves.sizes)
        ]

    def __repr__(self) -> str:
        return f"Comparison(rows={self.rows}, models={list(self.lines)}); print it for the advice"

    def _repr_html_(self) -> str:
        """Return the advice, the curves as a table, and the reasons as HTML for notebooks."""
        caption = CELLS[0].upper() + CELLS[1:] + "."
        return (
            markup.paragraphs([self.sentence, self.beyond, self.baseline, self.crossings])
            + markup.table(["rows", *self.lines], self._cells(), caption)
            + markup.paragraphs(
                [self.in_python, *self.costs().splitlines(), *self.why, *self.notes]
            )
        )

    def costs(self) -> str:
        """Say how much time and memory a fit takes, and how much time counting once saves."""
        told = []
        for line in self.curves.lines:
            known = np.flatnonzero(~np.isnan(line.seconds))
            if len(known):
                s = known[-1]
                memory = "" if line.memory is None else f", {line.memory / 1e6:,.1f} MB"
                told.append(
                    f"{line.name}: a fit to {self.curves.sizes[s]:,} rows takes "
                    f"{line.seconds[s]:.3g} s{memory}"
                )
        c = self.curves
        points = len(c.sizes) * c.lines[0].error.shape[1]
        if c.counting > 0 and not np.isnan(c.lines[0].error).all():
            times = c.refitting / c.counting
            longer = f"{times:.1f} times as long" if times > 1.2 else "no longer, with so few rows"
            told.append(
                f"All {points:,} points of the curve of {c.lines[0].name} took {c.counting:.2g} s, "
                f"because counts are merged; fitting each point from scratch takes {longer}"
            )
        return "\n".join(f"{one}." for one in told)


def cell(line: Line, s: int, both: NDArray[np.bool_]) -> str:
    error, loss = line.error[s, both], line.log_loss[s, both]
    error, loss = error[~np.isnan(error)], loss[~np.isnan(loss)]
    if len(error) == 0:
        return "-"
    told = f"{100 * error.mean():.1f} ± {100 * error.std():.1f} %"
    return f"{told}  {loss.mean():.3f}" if len(loss) else told


def compare(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    model: GenerativeClassifier | None = None,
    ignore: Collection[str] = (),
    repeats: int | None = None,
    patience: float = 30.0,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare a generative model with logistic regression and the perceptron on your rows.

    X is a matrix, a list of texts, or anything that TableClassifier reads; y holds its labels, or
    is the name of the target column. By default the model is GDA if all columns are numbers, there
    are at most 500 columns, and more than half of the rows are complete; otherwise it is naive
    Bayes. Columns named in `ignore` are left out. `repeats` is the number of splits into training
    and test rows, rounded up to a multiple of ten, or of a smaller number if a class has few rows.
    `patience` is the number of seconds that each model may take; a few fits are made in any case.
    `progress` is called with the number of points finished since the last call, and the number of
    all points.

    >>> from sklearn.datasets import load_iris
    >>> found = compare(*load_iris(return_X_y=True), repeats=10)
    >>> found.advice.use
    'GDA'
    """
    given = material(X, y, target, model, ignore)
    found = curves(given, repeats, patience, random_state, progress)
    ours = found.lines[0]
    held = {
        line.name: line.probabilities for line in found.lines if line.name in (ours.name, LOGISTIC)
    }
    whole = {name: p for name, p in held.items() if len(p) == len(found.judged)}
    why = reasons(given, found.judged, whole)
    notes = (*given.notes, *(note for line in found.lines for note in line.notes))
    told = advice(found, len(given.y))
    return Comparison(found, told, why, len(given.y), given.classes, notes, given)
