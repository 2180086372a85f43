"""Predict the memory and time that a model of many classes takes, from the rows of its plan.

Counts are dense: each class has one for every cell of every column. They are copied for the folds
from which weights are learned. To compare families, all K classes score the distinct values of each
class. With thousands of classes this takes minutes and gigabytes, so it is predicted before any row
is counted.

Symbols: m rows, K classes, G experts, V cells of all columns together.
"""

from __future__ import annotations

from genus.arrays.memory import available
from genus.arrays.options import warn
from genus.table import Frame, TableError
from genus.table.model.counts import coded
from genus.table.model.mixed import Mixed
from genus.table.model.weighing import FEWEST, FOLDS, MOST_CELLS

MANY_CLASSES = 100  # fewer take little memory
# Copies of the counts that exist at once: while weights are learned, 17 to 20 of them were measured
# for 150 and 300 classes; without weights, at least 3.
WEIGHED, PLAIN = 12, 3
DENSE = 3  # copies of the evidence (m, K, G), and of the curvature of the weights (G + K, G + K)
# CPU seconds to score a value for a class by all families: fits of 200 and 400 classes took 110 and
# 140 ns of CPU time in all.
SECONDS = 1.2e-7
LONG = 60.0  # seconds


def refuse_many_classes(family: Mixed, X: Frame, classes: int, target: str | None) -> None:
    """Raise an error if the model of a table like X with so many classes does not fit in memory."""
    if classes < MANY_CLASSES:
        return
    free, size = available(), expected_bytes(family, X, classes)
    if free is not None and size > free:
        which = "The labels have" if target is None else f"The target {target!r} has"
        raise TableError(
            f"{which} {classes:,} classes or more. Learning them takes about {size / 1e9:.1f} GB "
            f"of memory, but only {free / 1e9:.1f} GB are free. Merge rare classes into one, "
            "choose a target with fewer classes, or leave out columns with many different values "
            "(ignore=, --ignore)."
        )


def warn_of_many_classes(family: Mixed, X: Frame, classes: int, rows: int) -> None:
    """Warn if a model of so many classes and rows, of a table like X, takes long to learn."""
    seconds = expected_seconds(family, X, classes, rows)
    if classes >= MANY_CLASSES and seconds > LONG:
        less = ", or use calibrate=False (Python only)" if family.calibrate else ""
        warn(
            f"To learn {classes:,} classes or more from {rows:,} rows takes about "
            f"{seconds / 60:,.0f} minutes of CPU time. To shorten it, merge rare classes into one, "
            f"learn from fewer rows or leave out columns (ignore=, --ignore){less}."
        )


def expected_seconds(family: Mixed, X: Frame, classes: int, rows: int) -> float:
    """Estimate the CPU time of fitting; X are some of the rows."""
    columns = zip(family.how.plan.used, X.columns, strict=True)
    V = [len(coded(column, own).axis) for column, own in columns if column.kind != "text"]
    values = sum(min(rows, classes * cells) for cells in V)  # distinct ones of each class, at most
    return SECONDS * values * classes * (1 + FOLDS * family.calibrate)


def expected_bytes(family: Mixed, X: Frame, classes: int) -> int:
    """Estimate the bytes that fitting takes; X are some of the rows, so there may be more cells."""
    how, K = family.how, classes
    columns = zip(how.plan.used, X.columns, strict=True)
    V = sum(len(coded(column, own).axis) for column, own in columns if column.kind != "text")
    slots = sum(2 + len(c.edges) + len(c.known) for c in how.plan.used if c.paired)
    counts = 8 * K * (V + slots**2)
    if not family.calibrate:
        return PLAIN * counts
    G = len(family.names)
    m = max(MOST_CELLS // (K * (G + len(how.plan))), FEWEST)
    m = m if how.belief else min(m, 2 * how.sample)
    return WEIGHED * counts + DENSE * 8 * (m * K * G + (G + K) ** 2)
