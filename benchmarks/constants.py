"""How flat the scores of a table are around each constant of its model.

`python -m benchmarks.constants [--data FOLDER] [--sets NAME ...] [--write docs/benchmarks.md]`
reads the tables of `benchmarks.table_accuracy`. Each constant is halved and doubled, alone, and a
`TableClassifier()` is fitted in the first three of ten splits (Adult: as it is split). A cell is
the mean log loss over the sets, and how much it differs from that of the constants as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np

from benchmarks.merging import SPLITS, log_loss
from benchmarks.table_accuracy import SETS, Table, command, read
from genus import TableClassifier

MODEL = "genus.table.model"
# Where each constant is, and what it means.
CONSTANTS = (
    (f"{MODEL}.experts", "BACK_OFF", "rows by which a share is shrunk towards a simpler one"),
    (f"{MODEL}.experts", "DRAWN", "rows by which a mean is shrunk towards that of all classes"),
    (f"{MODEL}.experts", "RIDGE", "ridge added to a covariance, divided by the number of rows"),
    (f"{MODEL}.experts", "OWN", "weight of the pooled covariance in that of a class, in rows"),
    (f"{MODEL}.experts", "OWN_OF_BINS", "the same, for indicators of bins"),
    (f"{MODEL}.binning", "MOST_BINS", "largest number of bins of a numeric column"),
    (f"{MODEL}.binning", "BIN_ROWS", "approximate number of rows of a class in a bin"),
    (
        f"{MODEL}.weighing",
        "RIDGE",
        "prior precision of an expert's weight, times the variance of its evidence",
    ),
    (f"{MODEL}.weighing", "FOLDS", "folds from which weights are learned"),
    (f"{MODEL}.mixed", "LEAST", "smallest log-probability of an expert"),
    (
        "genus.table.plan",
        "MOST_CELLS",
        "approximate number of cells of a numeric column, for counting pairs",
    ),
)
FACTORS = (0.5, 2.0)


@contextmanager
def changed(module: str, name: str, factor: float) -> Iterator[None]:
    """Multiply a constant for a while; one that is whole stays whole."""
    place = import_module(module)
    before = getattr(place, name)
    setattr(place, name, type(before)(before * factor))
    try:
        yield
    finally:
        setattr(place, name, before)


def mean_loss(tables: Sequence[Table]) -> float:
    """The mean over tables of the log loss."""
    return float(np.mean([loss_of(table) for table in tables]))


def loss_of(table: Table) -> float:
    """The log loss of a table, over its first splits."""
    return float(
        np.mean(
            [
                log_loss(
                    TableClassifier().partial_fit(table.X.iloc[train], table.y[train]), table, test
                )
                for train, test in table.splits[:SPLITS]
            ]
        )
    )


def lines(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """The rows of the table, as they are measured."""
    tables = [read(folder, name) for name in names]
    now = mean_loss(tables)
    yield f"| constant | value | meaning | halved | doubled (unchanged: {now:.4f}) |"
    yield "| --- | ---: | --- | ---: | ---: |"
    for module, name, meaning in CONSTANTS:
        found = []
        for factor in FACTORS:
            with changed(module, name, factor):
                found.append(mean_loss(tables))
        shown = " | ".join(f"{loss:.4f} ({loss / now - 1:+.1%})" for loss in found)
        place = f"{module.rpartition('.')[2]}.{name}"
        value = getattr(import_module(module), name)
        yield f"| `{place}` | {value:g} | {meaning} | {shown} |"


if __name__ == "__main__":
    sys.exit(command("constants", __doc__ or "", lines, SETS, sys.argv[1:]))
