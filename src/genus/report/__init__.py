"""Report on a model: one HTML file that needs no network and runs no scripts."""

from __future__ import annotations

import os
from typing import Any

from genus.display.output import named
from genus.estimators import TableClassifier
from genus.persistence.atomic import write_whole

__all__ = ["write"]


def write(
    model: TableClassifier | None,
    data: Any,
    target: str | None,
    path: str | os.PathLike[str],
) -> None:
    """Write a report on a classifier of tables, completely or not at all.

    If there is no model, or if it is not fitted, a model is fitted to the data and scored out of
    fold. With a fitted model, `data` are rows that it has not seen, with their labels; without
    data the report shows only the model itself. `data` is anything that TableClassifier reads, and
    `target` is the name of the target column.

    >>> import tempfile
    >>> rows = {"age": [22, 25, 47, 52, 46, 56], "job": ["a", "b", "a", "c", "c", "c"],
    ...         "pays": ["no", "no", "no", "yes", "yes", "yes"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(None, rows, "pays", folder + "/report.html")
    """
    from genus.report.page import page

    if model is not None and not isinstance(model, TableClassifier):
        raise TypeError(f"A report needs a TableClassifier; got {type(model).__name__}.")
    if os.fspath(path).lower().endswith(".pdf"):
        raise ValueError(
            f"A report is a page of HTML, not {os.fspath(path)}. Name it .html; a browser can "
            "print it to PDF."
        )
    content = page(model, data, target).encode()
    with named(os.fspath(path)):
        write_whole(path, content)
