"""Prepare the data of a comparison: rows, a generative model, and each model's input."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from genus.arrays import labels, matrix
from genus.arrays.matrix import Codes
from genus.display.text import count
from genus.estimators import (
    GDA,
    CategoricalNB,
    GaussianNB,
    GenerativeClassifier,
    MultinomialNB,
    TableClassifier,
    TextClassifier,
)
from genus.estimators.inputs import refuse_missing_labels
from genus.estimators.table_rows import labelled
from genus.evaluate.cross_validation import checked, refuse_single
from genus.table import Frame, look, open_table

FEWEST_ROWS = 8
MANY_COLUMNS = 500
MANY_CLASSES = 50


@dataclass(frozen=True, eq=False)
class Material:
    """The m labelled rows: `X` for the generative model, and `raw`, to encode for other models.

    `estimator` is an unfitted copy that has the plan of the columns, and `name` is its name. `kind`
    is "numbers", "table" or "texts". `notes` say what was left out.
    """

    name: str
    estimator: GenerativeClassifier
    X: Any
    raw: Any
    y: Codes
    classes: NDArray[Any]
    kind: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    table: Any = None  # rows for TableClassifier, if it can read them
    is_usual: bool = True  # whether the model was chosen here
    ignore: Collection[str] = ()  # columns of the table that are left out

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Any]:
        """Return some rows, in ascending order, as `X` and as `raw`."""
        raw = self.raw[rows] if isinstance(self.raw, Frame | np.ndarray) else None
        if raw is None:
            raw = matrix.take(self.raw, rows)
        return matrix.take(self.X, rows), raw


def material(
    X: Any,
    y: Any,
    target: str | None,
    model: GenerativeClassifier | None,
    ignore: Collection[str] = (),
) -> Material:
    """Return the labelled rows of X and y, with the given model or one that suits them."""
    if target is not None and y is not None:
        raise ValueError("Give the labels as y, or the name of their column as target; not both.")
    target = y if isinstance(y, str) else target
    y = None if y is None or isinstance(y, str) else one_label_each(y)
    rows, y, plan, notes = read(X, y, target, ignore)
    rows, y, few = without_single(rows, y)
    notes += few
    rows, empty = without_empty(rows)
    notes += empty
    notes += many_classes(y)
    is_usual = model is None
    name = "" if is_usual else repr(model).removesuffix("()")
    if model is None:
        model = usual(rows, plan, ignore)
    elif getattr(model, "_chooses", False):
        raise ValueError(
            f"{model} chooses its words and weights from all texts, so its curve cannot be "
            "computed from sums. Name an event model and use calibrate=False."
        )
    if isinstance(model, CategoricalNB):
        rows = categories(rows, plan)
    given = rows if not isinstance(rows, Numbers) else rows.values
    fresh, own, codes, classes, _ = checked(model, given, y, None)
    if len(codes) < FEWEST_ROWS:
        raise ValueError(
            f"There are {len(codes)} rows with a label, too few to split into training and "
            f"test rows. Give {FEWEST_ROWS} or more."
        )
    raw, kind, names = encodable(rows, own, fresh)
    name = name or named(fresh)
    table = rows.values if isinstance(rows, Numbers) else rows if hasattr(rows, "schema") else None
    left_out = ignore if hasattr(table, "schema") else ()
    return Material(
        name, fresh, own, raw, codes, classes, kind, names, tuple(notes), table, is_usual, left_out
    )


@dataclass(frozen=True, eq=False)
class Numbers:
    """A table that holds only numbers: its matrix, and the names of its columns."""

    values: NDArray[np.float64]
    names: tuple[str, ...]


def read(
    X: Any, y: Any, target: str | None, ignore: Collection[str]
) -> tuple[Any, Any, Any, list[str]]:
    """Return the rows, their labels, the plan if they are a table, and notes."""
    if target is None and y is None:
        raise ValueError("The labels are missing. Give y, or the name of their column: target=…")
    is_matrix = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim == 2
    if target is None and ignore and (scipy.sparse.issparse(X) or is_texts(X) or is_matrix):
        raise ValueError("ignore= needs column names, but these rows have none. Leave it out.")
    if target is None and scipy.sparse.issparse(X):
        return X.tocsr(), y, None, []
    if target is None and is_texts(X):
        return np.asarray(X, dtype=object), y, None, []
    if target is None and is_matrix:
        return Numbers(X.astype(np.float64), tuple(f"x{j}" for j in range(X.shape[1]))), y, None, []
    notes = []
    if target is not None:
        found = labelled(open_table(X), target)
        table, y = found.rows, found.y
        if found.unlabelled:
            notes.append(
                f"Left out {count(found.unlabelled, 'row')} without a value in {target!r}."
            )
    else:
        table, y = open_table(X).table(), np.asarray(y)
        if table.num_rows != len(y):
            raise ValueError(
                f"There are {table.num_rows:,} rows but {len(y):,} labels. Give one label for "
                "each row."
            )
    classes, codes = labels.factorize(y)
    refuse_single(classes)
    plan = look(table, target, ignored=ignore, y=codes)
    plan.require()
    frame = Frame.of(table, plan)
    kinds = {column.kind for column in plan.used}
    names = tuple(column.name for column in plan.used)
    if kinds == {"number"}:
        return Numbers(np.column_stack(frame.columns), names), y, plan, notes
    if kinds == {"text"} and len(names) == 1:
        return np.array(list(frame.columns[0].strings()), dtype=object), y, plan, notes
    return table, y, plan, notes


def categories(rows: Any, plan: Any) -> NDArray[Any]:
    """Return rows as a matrix of objects, each a category."""
    if isinstance(rows, Numbers):
        return np.array(rows.values, dtype=object)
    return Frame.of(rows, plan).values() if hasattr(rows, "schema") else np.asarray(rows, object)


def one_label_each(y: Any) -> NDArray[Any]:
    """Return y with one label for each row, or raise an error."""
    y = np.asarray(refuse_missing_labels(y))
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one label for each row; got the shape {y.shape}.")
    return y


def without_empty(rows: Any) -> tuple[Any, list[str]]:
    """Return numbers without the columns that have no values, and notes."""
    if not isinstance(rows, Numbers):
        return rows, []
    empty = np.atleast_1d(np.isnan(rows.values).all(axis=0))
    if not empty.any() or empty.all():
        return rows, []
    names = [name for name, none in zip(rows.names, empty, strict=True) if none]
    kept = tuple(name for name, none in zip(rows.names, empty, strict=True) if not none)
    listed = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
    note = f"Left out {count(len(names), 'column')} without any number: {listed}."
    return Numbers(rows.values[:, ~empty], kept), [note]


def many_classes(y: NDArray[Any]) -> list[str]:
    """Return a note if the labels look like numbers rather than classes."""
    number = len(labels.factorize(y)[0])
    if number <= max(MANY_CLASSES, len(y) / 10):
        return []
    return [
        f"There are {number:,} classes in {len(y):,} rows. Is the target a number or an identifier?"
    ]


def is_texts(X: Any) -> bool:
    """Return whether rows are strings."""
    if getattr(X, "ndim", 0) == 1 and hasattr(X, "to_numpy"):  # a column of pandas or polars
        X = X.to_numpy()
        return X.dtype.kind in "OU" and all(isinstance(text, str) for text in X[:100])
    if isinstance(X, str) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        return False
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OU"
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str)


def without_single(rows: Any, y: Any) -> tuple[Any, Any, list[str]]:
    """Leave out classes with a single row, which cannot be both learned and tested."""
    y = np.asarray(y)
    classes, codes = labels.factorize(y)
    number = np.bincount(codes, minlength=len(classes))
    refuse_single(classes)
    alone = number < 2
    if not alone.any():
        return rows, y, []
    if (~alone).sum() < 2:
        raise ValueError(
            "Fewer than two classes have two rows or more; each needs one row to learn from and "
            "one to test. Give more rows of each class."
        )
    kept = np.flatnonzero(~alone[codes])
    names = ", ".join(labels.show(label) for label in classes[alone][:5])
    more = "" if alone.sum() <= 5 else f" and {alone.sum() - 5} more"
    note = f"Left out classes with a single row: {names}{more}."
    return some(rows, kept), y[kept], [note]


def some(rows: Any, kept: NDArray[np.intp]) -> Any:
    if isinstance(rows, Numbers):
        return Numbers(rows.values[kept], rows.names)
    return rows.take(kept) if hasattr(rows, "schema") else rows[kept]


def usual(rows: Any, plan: Any, ignore: Collection[str]) -> GenerativeClassifier:
    """Return GDA for numbers, and naive Bayes for other rows.

    Numbers also get naive Bayes if there are more than MANY_COLUMNS columns, because Σ would take
    long, or if at most half of the rows are complete, because GDA learns from complete rows only.
    """
    if isinstance(rows, Numbers):
        whole = np.mean(~np.isnan(rows.values).any(axis=1))
        is_gda = rows.values.shape[1] <= MANY_COLUMNS and whole > 0.5
        return GDA(shrinkage="oas") if is_gda else GaussianNB()
    if scipy.sparse.issparse(rows):
        return MultinomialNB()
    if plan is None or isinstance(rows, np.ndarray):
        return TextClassifier()
    return TableClassifier(ignore=ignore, dependence=False, calibrate=False)


def encodable(rows: Any, own: Any, fresh: GenerativeClassifier) -> tuple[Any, str, tuple[str, ...]]:
    """Return the rows to encode, their kind, and the names of their columns."""
    if isinstance(rows, Numbers):
        return rows.values, "numbers", rows.names
    if isinstance(rows, np.ndarray) and rows.ndim == 1:
        return rows, "texts", ()
    if isinstance(rows, np.ndarray):  # missing values are a category, too
        return np.where(rows == None, "(missing)", rows), "table", tuple(fresh._feature_names())  # noqa: E711
    if isinstance(own, Frame):  # its texts are already split into words
        frame = Frame.of(rows, own.plan)
        return frame, "table", tuple(column.name for column in own.plan.used)
    return own, "numbers", tuple(fresh._feature_names())


def named(model: GenerativeClassifier) -> str:
    """Return the usual name of a model that `usual` chose."""
    return "GDA" if isinstance(model, GDA) else "naive Bayes"
