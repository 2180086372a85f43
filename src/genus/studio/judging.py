"""Score a version of the model on rows that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from genus import CrossValidation, cross_validate
from genus.report.judging import FEW_ROWS, FOLDS, MANY_COLUMNS, known_before
from genus.studio.work import Job

FEWEST_SPLIT = 50  # with fewer rows, a fold might be empty if every row kept its fold

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """Predictions for rows by models that have not seen them, and how they were made.

    `rows` (m,) are the positions of the rows in the data, and `density` (m,) is their log p(x);
    both are None for a sample that the model keeps.
    """

    outcome: CrossValidation
    how: str
    rows: NDArray[np.intp] | None = None
    density: Array | None = None

    @cached_property
    def metrics(self) -> Any:
        """All scores with intervals, if the most probable class is chosen."""
        return self.outcome.metrics()

    @cached_property
    def own(self) -> Array:
        """The probability of each row's true class, (m,)."""
        return self.outcome.probabilities[np.arange(len(self.outcome.y)), self.outcome.y]

    @cached_property
    def doubt(self) -> Array:
        """How close the two most probable classes are, (m,): 1 if they are equally probable."""
        best = np.sort(self.outcome.probabilities, axis=1)
        return 1 - (best[:, -1] - best[:, -2])

    @cached_property
    def unusual(self) -> Array:
        """For each row, the share of scored rows that have a lower density, (m,)."""
        assert self.density is not None
        order = np.argsort(np.argsort(self.density, kind="stable"), kind="stable")
        return order / max(len(order), 1)


def of_itself(model: Any) -> Scores | None:
    """Return the scores that a model stores for its own sample, if there are any."""
    weighing = getattr(model, "weighing_", None)
    if weighing is None or weighing.outcome is None:
        return None
    return Scores(
        weighing.outcome,
        "These are out-of-fold scores of the sample of rows that the model keeps.",
    )


def out_of_fold(
    model: Any,
    density: Any,
    table: Any,
    y: NDArray[Any],
    rows: NDArray[np.intp],
    total: int,
    job: Job,
) -> Scores:
    """Score rows of a model's own table, each by a model without the row's fold.

    If there are few rows and columns, everything is learned again without the fold. Otherwise, only
    the counts are those without the fold, and the weights are those of the model. The report does
    the same. `rows` are positions in the data, and `total` is the number of all rows.
    """
    anew = len(y) <= FEW_ROWS and len(model.plan_) <= MANY_COLUMNS
    folds: Any = min(FOLDS, len(y))
    splits = folds if len(y) < FEWEST_SPLIT else same_splits(rows, folds)
    job.start(len(y), "Scoring out-of-fold rows")
    chosen = None if anew else getattr(model, "weighing_", None)
    outcome = cross_validate(clone(model), table, y, splits, chosen=chosen, progress=job.step)
    how = f"Every row is predicted by a model of {folds - 1} of {folds} folds. Neither its "
    how += "counts nor its weights include the row."
    if not anew:
        how = "Each row is predicted from counts that do not include it. But the weights of the "
        how += "experts were learned from a sample of all rows, which may include it."
    if len(y) < total:
        how += f" These are {len(y):,} of {total:,} rows, drawn at random."
    job.check()
    found = Scores(outcome, how, rows, np.asarray(density.log_density(table), dtype=np.float64))
    _ = found.metrics
    return found


def same_splits(rows: NDArray[np.intp], folds: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return training and test indices by fold; rows keep their folds if others are forgotten."""
    hashed = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
    fold = hashed % np.uint64(folds)
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)]


def of_new_rows(
    model: Any, density: Any, data: Any, rows: NDArray[np.intp], table: Any, total: int
) -> Scores:
    """Score rows that are new to a model; leave out rows of classes that it does not know."""
    codes = data.codes(model.classes_)[rows]
    there = codes >= 0
    rows, table = rows[there], table.filter(there)
    p = np.asarray(model.predict_proba(table))
    y = codes[there]
    ones, fold = np.ones(len(y)), np.zeros(len(y), dtype=np.int64)
    how = known_before(model, table)
    if len(y) < total:
        how += f" These are {len(y):,} of {total:,} rows, drawn at random."
    if not there.all():
        how += f" {int((~there).sum()):,} rows of classes that are new to the model are left out."
    logs = np.asarray(density.log_density(table), dtype=np.float64)
    return Scores(CrossValidation(p, model.classes_, y, ones, fold), how, rows, logs)
