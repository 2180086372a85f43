"""Fitting: count the rows of arrays, tables, batches or engines, and add or remove them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from types import SimpleNamespace
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from genus.arrays import labels
from genus.arrays.matrix import Codes, Matrix
from genus.arrays.options import warn
from genus.engines import TARGET, is_elsewhere, open_rows
from genus.estimators.core import Core
from genus.estimators.counting import MANY_CLASSES, Progress, Reading, Total, count_rows, plan_rows
from genus.estimators.group import less
from genus.estimators.inputs import (
    announced,
    check_weight,
    refuse_missing_labels,
)
from genus.model import Model
from genus.statistics import Array
from genus.table import TableError
from genus.table.read.sources import repeated_in


class Fitting(Core):
    """`fit`, `partial_fit` and `forget`: all read data in the same way."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        like: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the model to X (m, n) with labels y (m,); earlier rows are dropped.

        X may also be a table with a target column: a path, a folder, a query, a stream, or a frame
        of any library. Frames of Spark, Dask, Ray or Ibis are counted where they are. `target`
        names the column of classes, sample_weight a column of weights, and `columns` the columns to
        learn from (by default all others). A table is read as a stream. X may also be an iterator
        of batches: (X, y) or (X, y, sample_weight).

        With `like`, a fitted classifier, columns are read as in that model, so that the two can be
        added, and parameters are solved only when they are needed. `checkpoint` is a folder that
        keeps the counts of each file: if the work is interrupted, the same call continues it. While
        a table is read, `progress` is called with the number of rows read since its last call.
        """
        options: dict[str, Any] = {"like": like, "progress": progress, "checkpoint": checkpoint}
        with self._unchanged_on_error():
            # With `like`, the rows may be a part, with one class or no rows.
            options["complete"] = like is None
            model = self._read(X, y, sample_weight, target, columns, **options)
            if like is None:
                if len(model.classes) == 1:
                    self._report_single_class(labels.show(model.classes[0]))
                model = self._closed(model)
                self._refuse_empty(None, model)
                with blaming_classes(len(model.classes)):
                    self._solve(model)
                self._refuse_unsolved(model)
            if len(model.classes):
                _ = model.prior  # a part is solved when it is needed
            self._keep(model)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        like: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Count more rows; the first call works like `fit`.

        New classes may appear at any time; `classes` may announce them. Nothing is solved before it
        is needed, so many small batches cost little.
        """
        fresh = not self.__sklearn_is_fitted__()
        options: dict[str, Any] = {"like": like, "more": not fresh, "progress": progress}
        with self._unchanged_on_error():
            if fresh and like is None:
                self._refuse_stream()
            counted = self._read(X, y, sample_weight, target, columns, **options)
            model = counted if fresh else self._current()
            if classes is not None:
                model = self._declare(model, announced(classes), counted.classes)
            model = model if fresh else model + counted
            _ = model.prior  # raises an error if priors do not match the classes
            self._keep(model)
        return self

    def forget(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Take rows out again, as if they had never been counted."""
        check_is_fitted(self)
        options: dict[str, Any] = {"more": True, "progress": progress}
        with self._unchanged_on_error():
            forgotten = self._read(X, y, sample_weight, target, columns, **options)
            forgotten = replace(forgotten, declared=forgotten.classes)
            self._keep_rest(less(self._current(), forgotten))
        return self

    def plan(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Decide how data like X is read, without counting it.

        Models that are fitted `like` the result, on any machine, can be added exactly.
        """
        how = self._reading(y, None, target, columns)
        with self._unchanged_on_error():
            self._start_over()
            if how is None:
                self._plan_arrays(X, y)
            else:
                plan_rows(self, open_rows(X), how)
            self._keep(self._empty())
        return self

    def resolve(self, **options: Any) -> Self:
        """Return a copy with other parameters, solved from the same statistics without the data."""
        check_is_fitted(self)
        copy = clone(self).set_params(**options)
        copy._adopt(self)
        model = copy._with_current_options(self.model_)
        copy._solve(model)
        copy._refuse_unsolved(model)
        copy._keep(model)
        return copy

    # How data is read

    def _reading(
        self,
        y: Any,
        sample_weight: Any,
        target: str | None,
        columns: Sequence[str] | None,
        progress: Progress | None = None,
        checkpoint: Any = None,
    ) -> Reading | None:
        """Return how to read a table with a target column; None if y holds the labels."""
        target = y if target is None and isinstance(y, str) else target
        if target is None:
            given = {"columns": columns, "checkpoint": checkpoint}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"{name}= can be used only with a table that contains its labels. Name "
                        "their column, too: target=…"
                    )
            return None
        if y is not None and not isinstance(y, str):
            raise ValueError(f"Give labels as y or as the column target={target!r}, not both.")
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise ValueError(
                "sample_weight can be an array only if the labels are given as y. For a table "
                "with a target, give the name of the column of weights."
            )
        return Reading(target, sample_weight, named_columns(columns), progress, checkpoint)

    def _start_over(self, like: Any = None) -> None:
        """Drop everything that was fitted; if `like` is given, read data as it does."""
        if like is not None:
            if type(like) is not type(self):
                raise TypeError(
                    f"like= must be a {type(self).__name__}, so that columns are read in the same "
                    f"way; got a {type(like).__name__}."
                )
            check_is_fitted(like)
        known = SimpleNamespace(**({} if like is None else vars(like)))
        for name in ("model_", "unlabelled_", "columns_"):
            self.__dict__.pop(name, None)
        self._adopt(known)

    def _read(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        target: str | None,
        columns: Sequence[str] | None,
        *,
        like: Any = None,
        more: bool = False,
        complete: bool = False,
        progress: Progress | None = None,
        checkpoint: Any = None,
    ) -> Model:
        """Count the rows of any source, and return a model of these rows alone.

        With `more`, the rows are read like earlier rows. Otherwise the present model is dropped
        first, and the rows are read as in `like`; if `like` is None, these rows decide how data is
        read. With `complete`, no further rows will be added.
        """
        X, y, target = paired(X, y, target)
        if more and target is None and y is None:
            X, is_pairs = pairs_in(X)
            target = None if is_pairs else self._target
        how = self._reading(y, sample_weight, target, columns, progress, checkpoint)
        how = as_part(how, self if more else like)
        if not more:
            self._start_over(like)
        first = not more and like is None
        if how is not None:
            texts = () if first else self._texts
            return count_rows(self, open_rows(X, texts), how, first=first)
        if y is None and isinstance(X, Iterator):
            return self._read_batches(X, sample_weight, first=first)
        return self._read_arrays(X, y, sample_weight, first, complete)

    def _read_arrays(
        self, X: Any, y: Any, sample_weight: Any, first: bool, complete: bool
    ) -> Model:
        X, codes, classes, weight = self._check(X, y, sample_weight, reset=first)
        if first:
            X = self._ready(X, codes, classes, weight)
        model = self._count(self._blank(), X, codes, classes, weight)
        if complete:
            self._refuse_empty(X, model)
        # A class whose rows all have weight zero is still a class.
        if len(model.weights.classes) == len(classes):
            return model
        unseen = classes[labels.find(classes, model.weights.classes) < 0]
        return replace(model, declared=unseen)

    def _read_batches(self, batches: Iterator[Any], sample_weight: Any, *, first: bool) -> Model:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight cannot be given for an iterator of batches. Put the weights into "
                "the batches: (X, y, sample_weight)."
            )
        fresh = clone(self)
        fresh._adopt(self)
        total = None
        if first:
            batches, first = fresh._looked_batches(batches)
        for at, batch in enumerate(batches):
            if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
                raise ValueError(
                    f"Batch {at} is a {type(batch).__name__}; expected data with labels: (X, y) or "
                    "(X, y, sample_weight). For tables with a target column, name it: target=…"
                )
            X, y, weight = (*batch, None)[:3]
            if y is None:
                raise ValueError(f"Batch {at} has no labels. Give (X, y).")
            if len(y) == 0:
                continue
            try:
                decides = first and total is None
                counted = fresh._read_arrays(X, y, weight, decides, complete=False)
            except ValueError as error:
                raise ValueError(f"In batch {at}: {error}") from None
            total = Total(fresh._blank()) if total is None else total
            total.add(counted)
        if total is None:
            raise ValueError("There are no batches to fit: the iterator was empty. Give a batch.")
        self._adopt(fresh)
        return total.sum()

    def _looked_batches(self, batches: Iterator[Any]) -> tuple[Iterator[Any], bool]:
        """Return the same batches, and whether the first one must still decide the plan."""
        return batches, True

    def _plan_arrays(self, X: Any, y: Any) -> None:
        X, codes, classes, weight = self._check(X, y, None, reset=True)
        self._ready(X, codes, classes, weight)

    def _check(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Matrix, Codes, NDArray[Any], Array | None]:
        """Return X, the codes of y, the classes, and the weights."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = refuse_missing_labels(y)
        X, y = self._as_matrix(X, y, reset=reset)
        if y.dtype.kind not in "biuU":
            check_classification_targets(y)
        classes, codes = labels.factorize(y)
        return X, codes, labels.as_text(classes), check_weight(sample_weight, len(y))

    # Errors

    def _report_single_class(self, only: str) -> None:
        """Warn that there is only one class, or raise an error if the target is a column."""
        if self._target is not None:
            raise TableError(
                f"The target {self._target!r} is always {only}; there is only one class. Give rows "
                "of another class, too."
            )
        warn(
            f"All rows are of one class, {only}, so the model predicts only this class. Give rows "
            "of another class, too."
        )

    def _declare(self, model: Model, declared: NDArray[Any], seen: NDArray[Any]) -> Model:
        unknown = seen[labels.find(seen, declared) < 0]
        if len(unknown):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes "
                f"{declared}. Name them in `classes`, or leave `classes` out: new classes may "
                "appear at any time."
            )
        return replace(model, declared=labels.union(model.declared, declared, "classes"))

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise


@contextmanager
def blaming_classes(classes: int) -> Iterator[None]:
    """Turn a lack of memory into an error that names the number of classes, if it is large."""
    try:
        yield
    except MemoryError:
        if classes < MANY_CLASSES:
            raise
        raise MemoryError(
            f"There is not enough memory to learn {classes:,} classes. Merge rare classes into "
            "one, choose a target with fewer classes, or give less data at once."
        ) from None


def named_columns(columns: Any) -> tuple[str, ...] | None:
    """Return the names of columns to learn from; raise an error if they are not names."""
    if columns is None:
        return None
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise ValueError(f"columns must be a list of column names; got {columns!r}.")
    repeated = repeated_in(columns)
    if repeated:
        raise ValueError(f"columns= has {min(repeated)!r} twice. Name it once.")
    return tuple(columns)


def as_part(how: Reading | None, like: Any) -> Reading | None:
    """Return how to read a table that is added to `like`; labels get the type of its classes."""
    if how is None or like is None or not like.__sklearn_is_fitted__():
        return how
    known = like.classes_
    return replace(how, known=known if len(known) else None, is_part=True)


def pairs_in(X: Any) -> tuple[Any, bool]:
    """Return X, and whether it is an iterator of pairs (X, y), as opposed to tables."""
    if not isinstance(X, Iterator) or hasattr(X, "__arrow_c_stream__"):
        return X, False
    first = next(X, None)
    if first is None:
        raise ValueError("There are no batches to fit: the iterator was empty. Give a batch.")
    is_pair = isinstance(first, tuple | list) and not all(isinstance(one, Mapping) for one in first)
    return chain([first], X), is_pair


def paired(X: Any, y: Any, target: str | None) -> tuple[Any, Any, str | None]:
    """Return X, y and target; if an engine holds X and y, they become one table with a target."""
    if not (is_elsewhere(X) and is_elsewhere(y)):
        return X, y, target
    if not (hasattr(X, "chunks") and hasattr(y, "chunks")):
        raise TableError(
            f"Give the labels of a {type(X).__name__} as one of its columns, by name: target=…"
        )
    return (X, y), None, TARGET
