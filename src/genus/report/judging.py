"""Choose the rows that judge a model, and predict them out of fold."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from genus.arrays import labels
from genus.estimators import TableClassifier
from genus.estimators.table_rows import labelled_rows, scattered, unlabelled
from genus.evaluate import cross_validate
from genus.stacking.outcome import CrossValidation
from genus.table import Source, open_table

MOST_ROWS = 20_000  # rows that are predicted
FEW_ROWS = 5_000  # up to this many rows, weights are learned again without each fold
MANY_COLUMNS = 40  # with more columns that would take too long
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Rows:
    """The labelled rows of an Arrow table, without the target, and their numbers from 1.

    `total` is the number of all labelled rows, of which these may be a sample, and `unlabelled` the
    number of rows without a label.
    """

    table: Any
    y: NDArray[Any]
    numbers: NDArray[np.intp]
    total: int
    unlabelled: int

    def some(self, most: int) -> Rows:
        """Return `most` of the rows, chosen at random."""
        at = np.sort(np.random.default_rng(0).choice(len(self.y), most, replace=False))
        return replace(self, table=self.table.take(at), y=self.y[at], numbers=self.numbers[at])


@dataclass(frozen=True, eq=False)
class Judged:
    """A fitted model, the rows that judge it, its predictions, and how they were made.

    `seconds` is the time of fitting, if the model was fitted here; `is_fresh` says whether it was.
    """

    model: TableClassifier
    rows: Rows | None
    outcome: CrossValidation | None
    how: str
    is_fresh: bool = False
    seconds: float = 0.0


def judged(model: TableClassifier | None, data: Any, target: str | None) -> Judged:
    """Fit a model if there is none, and predict rows that it has not seen."""
    fresh = TableClassifier() if model is None else model
    is_fitted = fresh.__sklearn_is_fitted__()
    if data is None:
        if not is_fitted:
            raise ValueError("The report needs a fitted model, data, or both; got neither.")
        return by_itself(fresh)
    target = fresh.plan_.target if target is None and is_fitted else target
    if target is None:
        raise ValueError("The report needs the name of the target column: target=.")
    source = reopenable(fresh._opened(data, target))
    source.require(target)
    if is_fitted:
        return by_new_rows(fresh, source.read(lambda s: read(s, target, fresh.classes_)))
    return out_of_fold(fresh, source, target)


def by_itself(model: TableClassifier) -> Judged:
    """Return the scores that a model stores, without any rows."""
    weighing = model.model_.choice
    outcome = None if weighing is None else weighing.outcome
    how = (
        "No rows were given to test the model on."
        if outcome is None
        else "No rows were given to test the model on. These scores are its out-of-fold scores on "
        "the sample of rows that it keeps."
    )
    return Judged(model, None, outcome, how)


def by_new_rows(model: TableClassifier, rows: Rows) -> Judged:
    """Predict rows that are new to a fitted model."""
    own, codes = labels.factorize(rows.y)
    classes = labels.union(model.classes_, own, "classes")
    y = labels.positions(own, classes)[codes].astype(np.int64)
    p = labels.spread(
        model.predict_proba(rows.table),
        labels.positions(model.classes_, classes),
        len(classes),
        axis=1,
    )
    new = CrossValidation(p, classes, y, np.ones(len(y)), np.zeros(len(y), dtype=np.int64))
    how = known_before(model, rows.table)
    strange = classes[labels.find(classes, model.classes_) < 0]
    if len(strange):
        told = ", ".join(map(str, strange[:5].tolist()))
        were = "of their classes was" if len(strange) == 1 else "of their classes were"
        how += f" {len(strange)} {were} not in its training rows ({told})."
    return Judged(model, rows, new, how)


def known_before(model: TableClassifier, table: Any) -> str:
    """Say whether a fitted model has seen these rows."""
    seen = model.seen(table)
    if seen:
        return (
            f"The model was fitted to about {100 * seen:.0f} % of these rows, so these scores are "
            "optimistic."
        )
    return "The model was fitted before, presumably to other rows than these."


def out_of_fold(fresh: TableClassifier, source: Source, target: str) -> Judged:
    """Fit a model to all rows, and predict some of them out of fold."""
    started = time.perf_counter()
    model = clone(fresh).fit(source, target=target)
    seconds = time.perf_counter() - started
    rows = source.read(lambda s: read(s, target))
    judge = model
    how = "Each row is predicted from counts that do not include it. But the weights of the "
    how += "experts were learned from a sample of all rows, which may include it, so with few rows "
    how += "these scores may be optimistic."
    if len(rows.y) < rows.total:
        started = time.perf_counter()
        judge = clone(fresh).fit(rows.table, rows.y)
        seconds = time.perf_counter() - started
        how = f"The scores are for {len(rows.y):,} of {rows.total:,} rows, drawn at random, and "
        how += "for models of these rows alone; the model of all rows may be better."
    outcome, anew = out_of_fold_of(judge, rows)
    if anew:
        folds = min(FOLDS, len(rows.y))
        how = f"Every row is predicted by a model of {folds - 1} of {folds} folds. Neither its "
        how += "counts nor its weights include the row."
    return Judged(model, rows, outcome, how, True, seconds)


def out_of_fold_of(model: TableClassifier, rows: Rows) -> tuple[CrossValidation, bool]:
    """Return out-of-fold predictions with the model's options, and whether weights were relearned.

    With many rows or columns the folds use the weights of the model, which were learned from a
    sample.
    """
    anew = len(rows.y) <= FEW_ROWS and len(model.plan_) <= MANY_COLUMNS
    chosen = None if anew else model.model_.choice
    folds = min(FOLDS, len(rows.y))
    return cross_validate(clone(model), rows.table, rows.y, folds, chosen=chosen), anew


def read(source: Source, target: str, known: NDArray[Any] | None = None) -> Rows:
    """Return the labelled rows, or a sample of them if there are many."""
    import pyarrow as pa

    step, labelled, seen = 1, 0, 0
    kept: list[Kept] = []
    for batch in source.batches():
        own = labelled_rows(batch, target, known)
        at = np.flatnonzero(own.there)
        part = labelled + np.arange(len(at)), seen + at + 1, own.y, own.rows
        kept.append(thinned(part, step))
        labelled, seen = labelled + len(at), seen + batch.num_rows
        while sum(len(order) for order, *_ in kept) > 2 * MOST_ROWS:
            step *= 2
            kept = [thinned(part, step) for part in kept]
    if labelled == 0:
        raise unlabelled(source.name, target, seen)
    _, numbers, y, batches = zip(*kept, strict=True)
    rows = Rows(
        pa.Table.from_batches(batches),
        np.concatenate(y),
        np.concatenate(numbers),
        labelled,
        seen - labelled,
    )
    return rows if len(rows.y) <= MOST_ROWS else rows.some(MOST_ROWS)


# Kept rows: their positions among labelled rows, their numbers, their labels, and the rows.
Kept = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any], Any]


def thinned(part: Kept, step: int) -> Kept:
    """Return about one in `step` of the labelled rows, chosen at random."""
    order, numbers, y, batch = part
    at = scattered(order, step)
    return part if len(at) == len(order) else (order[at], numbers[at], y[at], batch.take(at))


def reopenable(source: Source) -> Source:
    """Return a source that can be read twice."""
    return open_table(source.table()) if source.once else source
