"""A report on a model as one HTML file that needs no network and runs nothing."""

from __future__ import annotations

import os
from typing import Any

from genus.estimators import TableClassifier
from genus.persistence.atomic import write_whole

__all__ = ["write"]


def write(
    model: TableClassifier | None,
    data: Any,
    target: str | None,
    path: str | os.PathLike[str],
) -> None:
    """Write a report on a classifier of tables, whole or not at all.

    Without a model, or with one that is not fitted, one is fitted to the data, and judged by rows
    out of fold. With one that is, `data` are rows that are new to it, and their labels; without
    data the report has what the model itself knows. `data` is anything that TableClassifier reads,
    and `target` the column of the classes.

    >>> import tempfile
    >>> rows = {"age": [22, 25, 47, 52, 46, 56], "job": ["a", "b", "a", "c", "c", "c"],
    ...         "pays": ["no", "no", "no", "yes", "yes", "yes"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(None, rows, "pays", folder + "/report.html")
    """
    from genus.report.page import page

    if model is not None and not isinstance(model, TableClassifier):
        raise TypeError(f"A report is on a TableClassifier, got {type(model).__name__}.")
    write_whole(path, page(model, data, target).encode())
