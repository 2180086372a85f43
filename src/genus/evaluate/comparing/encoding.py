"""Encode rows for logistic regression and the perceptron, as a matrix of scaled numbers."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from genus.arrays.matrix import SparseRows, is_sparse
from genus.table import Frame

MOST_CELLS = 20_000_000  # of a dense matrix


class Encoding(Protocol):
    """A conversion of rows to numbers, which is fitted to some rows."""

    def fit(self, X: Any) -> Encoding: ...

    def transform(self, X: Any) -> Any: ...


def encoding_for(X: Any) -> Encoding:
    """Return an encoding for rows of this kind: a table, strings, or a matrix."""
    if isinstance(X, Frame):
        return OfTables()
    if isinstance(X, np.ndarray) and X.ndim == 1:
        return OfTexts()
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        return OfCategories()
    return OfNumbers()


def filled_and_scaled() -> Any:
    """Return a step that imputes the median, adds an indicator of missing values, and scales."""
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(fill, StandardScaler())


class OfNumbers:
    """The encoding of a matrix of numbers: scaled and imputed; sparse zeros stay zeros."""

    def fit(self, X: Any) -> OfNumbers:
        self.step = MaxAbsScaler() if is_sparse(X) else filled_and_scaled()
        self.step.fit(plain(X))
        return self

    def transform(self, X: Any) -> Any:
        return self.step.transform(plain(X))


def plain(X: Any) -> Any:
    """Return a sparse matrix with 32-bit indices, which scikit-learn's perceptron requires."""
    if not is_sparse(X):
        return X
    made = SparseRows.of(X).to_scipy()
    made.indices, made.indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
    return made


class OfCategories:
    """The encoding of a matrix of categories: an indicator column for each category."""

    def fit(self, X: Any) -> OfCategories:
        self.step = one_by_one().fit(X)
        return self

    def transform(self, X: Any) -> Any:
        return self.step.transform(X)


def one_by_one() -> Any:
    return OneHotEncoder(handle_unknown="ignore", max_categories=200)


class OfTexts:
    """The encoding of strings: the tf-idf of their words."""

    def fit(self, X: Any) -> OfTexts:
        self.step = TfidfVectorizer(sublinear_tf=True).fit(X)
        return self

    def transform(self, X: Any) -> Any:
        return self.step.transform(X)


class OfTables:
    """The encoding of a table: scaled numbers, indicators of categories, tf-idf of texts."""

    def fit(self, X: Frame) -> OfTables:
        self.steps: list[Any] = []
        for values, column in zip(X.columns, X.plan.used, strict=True):
            if column.kind == "number":
                step: Any = filled_and_scaled()
            elif column.kind == "category":
                step = one_by_one()
            else:
                step = TfidfVectorizer(sublinear_tf=True)
            self.steps.append(step.fit(raw(values, column.kind)))
        return self

    def transform(self, X: Frame) -> Any:
        """Return all columns as one matrix; a large one with categories or texts is sparse."""
        columns = zip(self.steps, X.columns, X.plan.used, strict=True)
        parts = [step.transform(raw(values, column.kind)) for step, values, column in columns]
        if any(map(scipy.sparse.issparse, parts)):
            made = scipy.sparse.hstack(parts, format="csr")
            return made.toarray() if made.shape[0] * made.shape[1] <= MOST_CELLS else made
        return np.hstack(parts)


def raw(values: Any, kind: str) -> Any:
    """Return a column in the form that scikit-learn expects."""
    if kind == "number":
        return values[:, None]
    if kind == "category":
        return np.append(values.names.astype(object), "(missing)")[values.codes][:, None]
    return values.strings()
