"""Score `TableClassifier` on a table, for comparison with the plain models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genus.estimators import TableClassifier
from genus.evaluate import cross_validate
from genus.evaluate.comparing.data import Material
from genus.evaluate.comparing.points import judged
from genus.stacking.outcome import CrossValidation

FEW_ROWS, MANY_ROWS = 5_000, 50_000
MANY_COLUMNS = 40
FOLDS = 5


@dataclass(frozen=True)
class Weighed:
    """The out-of-fold error and log loss; `measured` says how they were found."""

    error: float
    log_loss: float
    measured: str = ""


def weighed(given: Material) -> Weighed | None:
    """Return the out-of-fold scores of a TableClassifier, or None if there are none.

    There are none for texts and sparse matrices, for more than MANY_COLUMNS columns, or if the
    classifier cannot be fitted or scored.
    """
    if given.table is None or len(given.names) > MANY_COLUMNS:
        return None
    rows = np.arange(len(given.y))
    if len(rows) > FEW_ROWS:
        some = min(len(rows), MANY_ROWS)
        rows = np.sort(np.random.default_rng(0).choice(rows, some, replace=False))
    table = given.table.take(rows) if hasattr(given.table, "schema") else given.table[rows]
    y = given.classes[given.y[rows]]
    outcome: CrossValidation | None
    fresh = TableClassifier(ignore=given.ignore)
    try:
        if len(rows) <= FEW_ROWS:
            outcome = cross_validate(fresh, table, y, FOLDS)
        else:  # the weights are learned from all rows, which matters little for so many
            outcome = fresh.fit(table, y).weighing_.outcome
    except ValueError:
        return None
    if outcome is None:
        return None
    error, log_loss = judged(outcome.probabilities, outcome.y)
    part = f" in cross-validation with {FOLDS} folds"
    if len(rows) > FEW_ROWS:
        part = f" out of fold on {len(outcome.y):,} rows"
    return Weighed(error, log_loss, part)
