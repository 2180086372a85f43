"""Exporting: files, bytes, SQL, and scikit-learn's own estimators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from genus.estimators.core import Core
from genus.persistence import files
from genus.persistence.trees import to_tree
from genus.sql import select


class Exporting(Core):
    """Exports of a fitted classifier to other forms."""

    def save(
        self, file: str | os.PathLike[str] | BinaryIO, *, for_prediction: bool = False
    ) -> None:
        """Write the model to a path or an open binary file; `genus.load` reads it.

        With `for_prediction`, the sample of rows, if there is one, is left out. Then the file is
        smaller and holds no encoded row, but the model in it cannot learn, forget, merge or be
        solved again.
        """
        check_is_fitted(self)
        if len(self.model_.classes):
            _ = self.model_.choice  # made now, so that loading is fast
        if hasattr(file, "write"):
            file.write(files.to_bytes(to_tree(self, for_prediction)))
            return
        if not os.fspath(file):
            raise ValueError("save() needs a file name; got an empty one.")
        files.write(file, to_tree(self, for_prediction))

    def to_bytes(self) -> bytes:
        """Return the model as compressed bytes; `genus.from_bytes` reads them.

        Nothing is solved, because workers send their sums in this form.
        """
        check_is_fitted(self)
        return files.to_bytes(to_tree(self))

    def to_sql(
        self, dialect: str, table: str | Sequence[str], columns: Sequence[str] | None = None
    ) -> str:
        """Return a SELECT statement that adds the prediction and p(y|x) to a table in a database.

        `dialect` is "postgres" or "duckdb". `table` is a name, or its parts such as ("schema",
        "table"). `columns` names the columns in the table, if they have other names than in fit.
        """
        check_is_fitted(self)
        names = self._column_names() if columns is None else columns
        with self._named_errors():
            return select(self.model_, dialect, table, names)

    def _column_names(self) -> Sequence[str] | None:
        """Return the names of the table's columns, if there are any."""
        return getattr(self, "feature_names_in_", None)

    def to_sklearn(self) -> BaseEstimator:
        """Return a fitted scikit-learn estimator that gives the same predictions.

        Use it where scikit-learn's own classes are required, such as for ONNX. Classifiers without
        a counterpart there raise a TypeError.
        """
        check_is_fitted(self)
        from genus.estimators.twins import twin  # it imports all classifiers

        return twin(self)
