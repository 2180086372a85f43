"""The base of every classifier: the scikit-learn interface of a `Model`.

A subclass declares its parameters (`__init__`) and makes a family from them (`_family`). Input from
users is checked where it enters (`inputs`, `options`); what only the counting loop can see, such as
an infinite value, is refused there with its row and column.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from genus.arrays import labels, matrix
from genus.arrays.matrix import Codes, InvalidColumn, InvalidValue, Matrix
from genus.arrays.options import warn, whole
from genus.engines import TARGET, is_elsewhere, open_rows
from genus.estimators.columns import NUMBERS, VALUES, Columns, matrix_of
from genus.estimators.counting import Progress, Reading, Total, count_rows, plan_rows
from genus.estimators.inputs import (
    announced,
    check_priors,
    check_weight,
    random_state_seed,
    refuse_empty_columns,
    refuse_missing_labels,
    table_of_numbers,
    tidy,
    validated,
)
from genus.estimators.scoring import score_elsewhere
from genus.explanation import Explanation
from genus.families import Family
from genus.model import Model
from genus.persistence import files
from genus.persistence.trees import to_tree
from genus.solve.errors import NoSolutionError
from genus.solve.priors import Priors
from genus.sql import select
from genus.statistics import Array, ImpossibleError
from genus.table import Source, TableError, open_table
from genus.table.read.opening import is_table, names_table
from genus.table.read.sources import repeated_in

PLAIN = (str, int, float, type(None))  # parameters that nothing can change


class GenerativeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The base class: models p(x|y) and p(y) by counting, and predicts by Bayes' rule."""

    model_: Model
    n_features_in_: int
    columns_: Columns

    # What a subclass may want otherwise

    _reads = NUMBERS  # what columns of a table become

    def _family(self) -> Family:
        """Return the family that the parameters describe; raise an error if they are invalid."""
        raise NotImplementedError(f"{type(self).__name__} does not say which family it is.")

    def _priors(self) -> Priors:
        """Return the class priors that the parameters describe."""
        return Priors(check_priors(getattr(self, "priors", None)))

    @property
    def _accepts_sparse(self) -> bool:
        return False

    def _as_matrix(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """Return X (and y) as arrays; store or compare the names and number of columns."""
        checks: dict[str, Any] = {
            "accept_sparse": "csr" if self._accepts_sparse else False,
            "dtype": "numeric",
            "ensure_all_finite": False,
            "reset": reset,
        }
        X = table_of_numbers(X)
        if y is None:
            return tidy(validated(self, X, **checks)), None
        X, y = validated(self, X, y, **checks)
        return tidy(X), y

    def _refuse_empty(self, X: Any, model: Model) -> None:
        """Raise an error if there are no rows; X is None if they were read in parts."""
        if X is not None:
            refuse_empty_columns(X, self._named)

    def _refuse_unsolved(self, model: Model) -> None:
        """Raise an error if the options leave nothing to predict from."""

    def _ready(
        self, X: Matrix, codes: Codes, classes: NDArray[Any], weight: Array | None
    ) -> Matrix:
        """Return X in the form that is counted fastest, after any choices before counting."""
        return X

    def _for_rereading(self, X: Matrix, classes: int) -> Matrix:
        """Return X, which is already checked, in the form that is fastest to read repeatedly."""
        return X

    def _look(self, rows: Any, target: str | None, classes: int, total: int | None) -> None:
        """Decide from an Arrow table of some rows which columns of a table are read.

        `classes` is about the number of classes, and `total` the number of rows, if known.
        """
        self._follow(Columns.of(rows, self._reads, target))
        X = self._matrix(rows.slice(0, 1))
        self._ready(X[:0], np.zeros(0, np.int64), labels.empty_axis(), None)

    def _follow(self, columns: Columns) -> None:
        """Read these columns from now on."""
        self.columns_ = columns
        self.n_features_in_ = columns.features
        self.__dict__.pop("feature_names_in_", None)
        if columns.kind in (NUMBERS, VALUES):
            self.feature_names_in_ = np.array(columns.names, dtype=object)

    def _matrix(self, rows: Any) -> Matrix:
        """Return the rows of an Arrow table or batch in the form in which they are counted."""
        X = matrix_of(rows, self._columns_known(rows))
        return tidy(X if self._accepts_sparse or not matrix.is_sparse(X) else X.toarray())

    def _outgrown(self, rows: Any, model: Model) -> bool:
        """Return whether these rows, or the counts so far, show that the plan saw too little."""
        return False

    def _plan_options(self) -> dict[str, Any]:
        """Return the parameters that decide how columns are read, in a form for JSON."""
        return {}

    def _refuse_stream(self) -> None:
        """Raise an error if options need all rows at once."""

    def _closed(self, model: Model) -> Model:
        """Return the model of all rows, without what the options say is not kept."""
        return model

    def _shards(self, partitions: int) -> int:
        """Return into how many parts the sums of this many partitions are divided.

        If there is more than one, `_divided`, `_reduced` and `_joined` define the parts.
        """
        return 1

    def _divided(self, model: Model, shards: int) -> list[Model]:
        """Divide sums into parts, each with its own keys."""
        raise NotImplementedError

    def _reduced(self, model: Model) -> Model:
        """Return one of the parts, without keys that the whole model cannot use."""
        raise NotImplementedError

    def _joined(self, models: list[Model]) -> Model:
        """Return the sums of which these are the parts."""
        (model,) = models
        return model

    @property
    def _target(self) -> str | None:
        """The name of the target column, if the model was fitted from a table."""
        columns = vars(self).get("columns_")
        return None if columns is None else columns.target

    # Fitting

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
        """Count X (m, n) with labels y (m,), from nothing.

        X may also be a table with a target column: a path, a folder, a query, a stream, or a frame
        of any library. Frames of Spark, Dask, Ray or Ibis are counted where they are. `target`
        names the column of classes, sample_weight a column of weights, and `columns` the columns to
        learn from (by default all others). A table is read as a stream. X may also be an iterator
        of batches: (X, y) or (X, y, sample_weight).

        With `like`, a fitted classifier, columns are read as in that model, so that the two can be
        added; parameters are solved when they are first needed. `checkpoint` is a folder that keeps
        the counts of each file: if the work is interrupted, the same call continues it. `progress`
        is called with the number of rows after each batch of a table.
        """
        X, y, target = paired(X, y, target)
        how = self._reading(y, sample_weight, target, columns, progress, checkpoint)
        how = as_part(how, like)
        with self._unchanged_on_error():
            self._start_over(like)
            # With `like` it may be a part, of one class or no row.
            model = self._read(X, y, sample_weight, how, first=like is None, complete=like is None)
            if like is None:
                self._refuse_single_class(model)
                if len(model.classes) == 1:
                    warn(
                        f"All rows are of one class, {labels.show(model.classes[0])}, so the model "
                        "predicts only this class. Give rows of another class, too."
                    )
                model = self._closed(model)
                self._refuse_empty(None, model)
                self._solve(model)
                self._refuse_unsolved(model)
            if len(model.classes):
                _ = model.prior  # what is to be added is solved when it is needed
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
        X, y, target = paired(X, y, target)
        X, is_pairs = pairs_in(X)
        target = self._learned_target(y, target, is_pairs)
        how = self._reading(y, sample_weight, target, columns, progress)
        with self._unchanged_on_error():
            fresh = not self.__sklearn_is_fitted__()
            first = fresh and like is None
            if first:
                self._refuse_stream()
            how = as_part(how, like if fresh else self)
            if fresh and like is not None:
                self._start_over(like)
            counted = self._read(X, y, sample_weight, how, first=first)
            model = counted if fresh else self._current()
            if classes is not None:
                model = self._declare(model, announced(classes), counted.classes)
            model = model if fresh else model + counted
            _ = model.prior  # priors that do not fit the classes are refused now
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
        X, y, target = paired(X, y, target)
        X, is_pairs = pairs_in(X)
        target = self._learned_target(y, target, is_pairs)
        how = as_part(self._reading(y, sample_weight, target, columns, progress), self)
        with self._unchanged_on_error():
            forgotten = self._read(X, y, sample_weight, how, first=False)
            model = self._current()
            self._keep_rest(self._less(model, replace(forgotten, declared=forgotten.classes)))
        return self

    def plan(
        self,
        X: Any,
        y: Any = None,
        *,
        target: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Decide how data like X is read, and count nothing.

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

    def _reading(
        self,
        y: Any,
        sample_weight: Any,
        target: str | None,
        columns: Sequence[str] | None,
        progress: Progress | None = None,
        checkpoint: Any = None,
    ) -> Reading | None:
        """Return how to read a table with a target column; None if y has the labels."""
        target = y if target is None and isinstance(y, str) else target
        if target is None:
            given = {"columns": columns, "checkpoint": checkpoint}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"{name}= is for a table that holds its labels. Name their column, too: "
                        "target=…"
                    )
            return None
        if y is not None and not isinstance(y, str):
            raise ValueError(f"Labels are in y, or in the column target={target!r}: give one.")
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise ValueError(
                "sample_weight goes with X and y; for a table with a target it is the name of a "
                "column."
            )
        return Reading(target, sample_weight, named_columns(columns), progress, checkpoint)

    def _learned_target(self, y: Any, target: str | None, is_pairs: bool) -> str | None:
        """Return the target column for more rows: by default that of the first rows."""
        unnamed = target is None and y is None and not is_pairs
        return self._target if unnamed and self.__sklearn_is_fitted__() else target

    def _start_over(self, like: Any = None) -> None:
        """Drop everything that was fitted, and read data as `like` does, if given."""
        if like is not None:
            if type(like) is not type(self):
                raise TypeError(
                    f"like= is a {type(self).__name__}, whose columns are read the same way; got a "
                    f"{type(like).__name__}."
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
        how: Reading | None,
        *,
        first: bool,
        complete: bool = False,
    ) -> Model:
        """Count rows; the `first` ones decide how all are read, and `complete` ones are all."""
        if how is not None:
            return count_rows(self, open_rows(X), how, first=first)
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
            self._refuse_single_class(replace(model, declared=classes))
            self._refuse_empty(X, model)
        # A class whose rows all weigh nothing is a class all the same.
        if len(model.weights.classes) == len(classes):
            return model
        unseen = classes[labels.find(classes, model.weights.classes) < 0]
        return replace(model, declared=unseen)

    def _read_batches(self, batches: Iterator[Any], sample_weight: Any, *, first: bool) -> Model:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight goes with X and y; put weights of batches into the batches: "
                "(X, y, sample_weight)."
            )
        fresh = clone(self)
        fresh._adopt(self)
        total = None
        if first:
            batches, first = fresh._looked_batches(batches)
        for at, batch in enumerate(batches):
            if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
                raise ValueError(
                    f"Batch {at} is a {type(batch).__name__}, where data and its labels should "
                    "be: (X, y) or (X, y, sample_weight). For tables with a target name it: "
                    "target=…"
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
            raise ValueError("There are no batches to fit: the iterator was empty.")
        self._adopt(fresh)
        return total.sum()

    def _looked_batches(self, batches: Iterator[Any]) -> tuple[Iterator[Any], bool]:
        """Return the same batches, and whether the first of them still decides how data is read."""
        return batches, True

    def _plan_arrays(self, X: Any, y: Any) -> None:
        X, codes, classes, weight = self._check(X, y, None, reset=True)
        self._ready(X, codes, classes, weight)

    def _refuse_single_class(self, model: Model) -> None:
        """Raise an error if there is only one class and the classifier needs more."""
        if len(model.classes) == 1 and self._target is not None:
            only = labels.show(model.classes[0])
            raise TableError(
                f"The target {self._target!r} is always {only}; there is only one class. Give rows "
                "of another class, too."
            )

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

    # The group

    def __add__(self, other: GenerativeClassifier) -> Self:
        mine, theirs = self._alike(other)
        mine._check_mergeable(theirs)
        merged = mine.model_ + theirs.model_
        _ = merged.prior  # priors that do not fit the classes of both are refused now
        return mine._copy_with(merged)

    def __radd__(self, other: object) -> Self:
        """Return 0 + a, for sum()."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        check_is_fitted(self)
        return self._copy_with(self.model_)

    def __sub__(self, other: GenerativeClassifier) -> Self:
        mine, theirs = self._alike(other)
        mine._check_mergeable(theirs)
        copy = mine._copy()
        copy._keep_rest(mine._less(mine.model_, theirs.model_))
        return copy

    def _alike(self, other: Any) -> tuple[Self, Any]:
        """Return both models in a form that can be added."""
        return self, other

    def __mul__(self, factor: float) -> Self:
        check_is_fitted(self)
        if np.ndim(factor) or not isinstance(factor, int | float | np.number):
            raise TypeError(f"A model is scaled by a number, got {factor!r}.")
        if not (np.isfinite(factor) and factor >= 0):
            raise ValueError(f"A model is scaled by a number of 0 or more, got {factor!r}.")
        return self._copy_with(self.model_ * float(factor))

    __rmul__ = __mul__

    def generative(self) -> GenerativeClassifier:
        """Return the classifier that models p(x|y): this one, if its scores are a density.

        If they are not, because they are weighted or a decision rule, this is a model of the same
        counts whose predictions, `log_density` and `sample` belong to one density.
        """
        check_is_fitted(self)
        return self

    # Predicting

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, (m,).

        X may be a path or any table with the column names that were fitted. For a frame of Spark,
        Dask or Ray, the result is a frame with a column `prediction` added.
        """
        if is_elsewhere(X):
            return self._score_elsewhere(X, label=True, probabilities=False)
        best = self._score(X, lambda model, X: model.decide(X))
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Any:
        """Return p(y|x), (m, K); for a frame of Spark, Dask or Ray, add columns `p(CLASS)`."""
        if is_elsewhere(X):
            return self._score_elsewhere(X, label=False, probabilities=True)
        return self._score(X, lambda model, X: model.posterior(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return log p(y|x), (m, K)."""
        return self._score(X, lambda model, X: model.log_posterior(X))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y), (m, K)."""
        return self._score(X, lambda model, X: model.log_joint(X))

    def log_density(self, X: Any) -> Array:
        """Return log p(x), (m,), of `generative()`: low for rows unlike anything seen."""
        source = self.generative().model_
        return self._score(X, lambda _, X: source.log_density(X))

    def log_likelihood(self, X: Any, y: ArrayLike) -> float:
        """Return ℓ = Σ_i log p(x_i, y_i) of rows under `generative()`."""
        check_is_fitted(self)
        truth = np.asarray(column_or_1d(y))
        source = self.generative().model_
        joint = self._score(X, lambda _, X: source.log_joint(X))
        if len(truth) != len(joint):
            raise ValueError(
                f"X has {len(joint)} rows and y {len(truth)}; they must have the same number."
            )
        at = labels.find(truth, self.classes_)
        if (at < 0).any():
            unknown = truth[at < 0][0]
            raise ValueError(
                f"Class {labels.show(unknown)} is not known to the model, so it has no likelihood."
            )
        return float(joint[np.arange(len(at)), at].sum())

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw n new rows (n, columns) and their labels (n,), of class y or by p(y).

        They are drawn from `generative()`.
        """
        check_is_fitted(self)
        n = whole("n", n, least=0)
        source = self.generative().model_
        _ = source.parameters
        chosen = None
        if y is not None:
            wanted = np.broadcast_to(np.asarray(y), (n,)) if np.ndim(y) == 0 else np.asarray(y)
            if wanted.shape != (n,):
                raise ValueError(f"y is one class, or one for each of the {n} rows; got {y!r}.")
            chosen = labels.find(wanted, self.classes_)
            if (chosen < 0).any():
                raise ValueError(f"{y!r} is not one of the classes {self.classes_.tolist()[:10]}.")
        rng = np.random.default_rng(random_state_seed(random_state))
        return source.sample(n, chosen, rng)

    def explain(self, X: Any, features: Sequence[str] | None = None) -> Explanation:
        """Return each column's contribution to log p(x, y) of each class; `features` are names."""
        check_is_fitted(self)
        with self._named_errors():
            X, _ = self._as_matrix(X, reset=False)
            if X.dtype.kind != "O":
                matrix.refuse_infinite(X)
            contributions, baseline = self.model_.contributions(X)
        names = self._feature_names() if features is None else list(map(str, features))
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"features has {len(names)} names for {self.n_features_in_} columns; give one each."
            )
        values = matrix.dense_rows(X) if matrix.is_sparse(X) else X.copy()
        return Explanation(contributions, baseline, self.classes_, names, values)

    # Files

    def save(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the model to a path or an open binary file; `genus.load` reads it."""
        check_is_fitted(self)
        if len(self.model_.classes):
            _ = self.model_.choice  # so that nobody who loads it has to wait for that
        if hasattr(file, "write"):
            file.write(self.to_bytes())
            return
        if not os.fspath(file):
            raise ValueError("save() needs the name of a file; got an empty one.")
        files.write(file, to_tree(self))

    def to_bytes(self) -> bytes:
        """Return the model as compressed bytes; `genus.from_bytes` reads them.

        Nothing is solved for this: workers send their sums in this form.
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
        names = getattr(self, "feature_names_in_", None) if columns is None else columns
        with self._named_errors():
            return select(self.model_, dialect, table, names)

    def to_sklearn(self) -> BaseEstimator:
        """Return a fitted scikit-learn estimator of the same name that gives the same predictions.

        Use it where scikit-learn's own classes are required, such as for ONNX. Classifiers without
        a counterpart there raise a TypeError.
        """
        check_is_fitted(self)
        from genus.estimators.twins import twin  # it knows all classifiers

        return twin(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.endswith("_") and isinstance(getattr(type(self), name, None), property):
            raise AttributeError(
                f"{name} follows from what was counted and cannot be set. genus.from_parameters "
                "makes a model of given means, variances or probabilities."
            )
        super().__setattr__(name, value)

    # Fitted attributes, by scikit-learn's names

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, ascending."""
        return self._fitted().classes.copy()

    @property
    def class_count_(self) -> Array:
        """The number of rows of each class, (K,)."""
        return self._fitted().class_weights.copy()

    @property
    def _parameters(self) -> Any:
        with self._named_errors(), attributes():
            return self._fitted().parameters

    def _option(self, name: str) -> Any:
        """Return a parameter with the value that the model was solved with."""
        return vars(self).get("_solved_with", {}).get(name, getattr(self, name))

    def _fitted(self) -> Model:
        """Return the model, or raise the AttributeError that hasattr() expects if not fitted."""
        if "model_" not in vars(self):
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet; it has no fitted attributes."
            )
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._accepts_sparse
        return tags

    # Inside

    def _unexplained(self) -> str:
        choice = getattr(self, "unexplained", "prior")
        if choice not in ("prior", "error"):
            raise ValueError(f'unexplained is "prior" or "error", got {choice!r}.')
        return str(choice)

    def _empty(self) -> Model:
        options = {"priors": self._priors(), "unexplained": self._unexplained()}
        return Model.zero(self._family(), self.n_features_in_, **options)

    def _blank(self) -> Model:
        """Return a model of no rows that counts in the same way as this one."""
        if not self.__sklearn_is_fitted__():
            return self._empty()
        known = self._current()
        options = {"priors": known.priors, "unexplained": known.unexplained}
        return Model.zero(known.family, known.width, **options)

    def _count(
        self,
        like: Model,
        X: Matrix,
        codes: Codes,
        classes: NDArray[Any],
        weight: Array | None,
        row_numbers: matrix.RowNumbers | None = None,
    ) -> Model:
        numbers = range(len(codes)) if row_numbers is None else row_numbers
        with self._named_errors(), matrix.numbered(numbers):
            return like.count(X, codes, classes, weight)

    def _current(self) -> Model:
        """Return the fitted model under the current parameters."""
        kept = self._solved_with
        if all(is_still(getattr(self, name), value) for name, value in kept.items()):
            return self.model_
        return self._with_current_options(self.model_)

    def _with_current_options(self, model: Model) -> Model:
        """Return the same statistics under the current parameters."""
        model = model.with_family(self._family())
        return replace(model, priors=self._priors(), unexplained=self._unexplained())

    def _keep(self, model: Model) -> None:
        """Store the model, solved with the current parameters.

        As in scikit-learn, set_params on a fitted estimator acts when it is fitted further.
        """
        refuse_too_large(model)
        self.__dict__.pop("_looked", None)
        self.model_ = model
        names = parameter_names(type(self))  # type: ignore[arg-type]
        self._solved_with = {name: as_given(getattr(self, name)) for name in names}

    def _keep_rest(self, model: Model) -> None:
        """Store the model that is left after rows were forgotten."""
        self._keep(model)

    def _solve(self, model: Model) -> None:
        """Solve now, so that an error is raised here and not at prediction."""
        refuse_too_large(model)
        with self._named_errors():
            _ = model.prior, model.parameters

    def _score(self, X: Any, score: Any) -> Any:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        X, are_batches = batches_in(X)
        if are_batches:
            return np.concatenate([self._score(batch, score) for batch in X])
        with self._named_errors():
            if self._is_rows(X):
                return self._score_rows(open_table(X), score)
            X, _ = self._as_matrix(X, reset=False)
            return score(self.model_, X)

    def _score_elsewhere(self, X: Any, *, label: bool, probabilities: bool) -> Any:
        check_is_fitted(self)
        engine: Any = open_rows(X)
        with self._named_errors():
            return score_elsewhere(self, engine, label=label, probabilities=probabilities)

    def _score_rows(self, source: Source, score: Any) -> Any:
        """Score a table batch by batch."""

        def scores(source: Source) -> Any:
            parts = [score(self.model_, self._matrix(batch)) for batch in source.batches()]
            if not parts:
                return score(self.model_, self._matrix(source.schema.empty_table()))
            return np.concatenate(parts)

        return source.read(scores)

    def _is_rows(self, X: Any) -> bool:
        """Return whether X is a table that is read by the names of its columns."""
        if "columns_" not in vars(self):
            return is_table(X) and names_table(X)
        return is_table(X) or set(self.columns_.names) <= set(getattr(X, "columns", ()))

    def _columns_known(self, rows: Any) -> Columns:
        """Return the columns that are read from a table like `rows`: those fitted, by name."""
        if "columns_" in vars(self):
            return self.columns_
        named = getattr(self, "feature_names_in_", None)
        if named is not None:
            return Columns(tuple(map(str, named)), self._reads)
        columns = Columns.of(rows, self._reads, None)
        if columns.features != self.n_features_in_:
            raise TableError(
                f"The table has {columns.features} columns, and this {type(self).__name__} was "
                f"fitted to an array of {self.n_features_in_} without names. Give as many."
            )
        return columns

    def _check(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Matrix, Codes, NDArray[Any], Array | None]:
        """Return X, codes of y, the classes they stand for, and weights."""
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

    def _declare(self, model: Model, declared: NDArray[Any], seen: NDArray[Any]) -> Model:
        unknown = seen[labels.find(seen, declared) < 0]
        if len(unknown):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes "
                f"{declared}. Name them in `classes`, or leave `classes` out: new classes may "
                "appear at any time."
            )
        return replace(model, declared=labels.union(model.declared, declared, "classes"))

    def _less(self, model: Model, other: Model) -> Model:
        try:
            return model.forget(other)
        except ImpossibleError as error:
            if error.of_other_rows:
                raise ValueError(
                    "These rows are not those that were learned: the sums that remain without them "
                    "are impossible. Forget only rows that were learned, with the same labels, "
                    "weights and columns; the model is unchanged. If models with plans of their "
                    "own were added, subtract a whole model instead: a - b."
                ) from None
            rest = model.weights - other.weights
            short = rest.classes[(rest["rows"] < 0).any(axis=1)]
            whose = f" of class {labels.show(short[0])}" if len(short) else ""
            raise ValueError(
                f"More would be forgotten{whose} than was learned. Forget only rows that were "
                "learned, with the same labels and weights; the model is unchanged."
            ) from None

    def _check_mergeable(self, other: object) -> None:
        if type(other) is not type(self):
            kind = f"{type(other).__module__}.{type(other).__qualname__}"
            raise TypeError(f"A {type(self).__name__} merges with another, not with a {kind}.")
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = (getattr(e, "feature_names_in_", None) for e in (self, other))
        if mine is not None and theirs is not None and list(mine) != list(theirs):
            how = first_difference(list(mine), list(theirs))
            raise ValueError(
                f"The two models have different columns: {how}. "
                "Merge models of the same columns, in the same order."
            )

    def _copy(self, **options: Any) -> Self:
        """Return a copy without a model, with the parameters of the last solve, or others."""
        copy = clone(self).set_params(**deepcopy(self._solved_with) | options)
        copy._adopt(self)
        return copy

    def _part(self, model: Model | None = None) -> Self:
        """Return a copy that reads data in the same way, with a model of some rows, or of none."""
        copy = clone(self)
        copy._adopt(self)
        copy._keep(self._blank() if model is None else model)
        return copy

    def _copy_with(self, model: Model) -> Self:
        copy = self._copy()
        copy._keep(model)
        return copy

    def _resolved(self, **options: Any) -> Self:
        """Return a copy with the same counts and other parameters."""
        copy = self._copy(**options)
        copy._keep(copy._with_current_options(self.model_))
        return copy

    def _adopt(self, other: Any) -> None:
        """Take over the columns of another classifier."""
        for name in ("n_features_in_", "feature_names_in_", "columns_", "unlabelled_"):
            if name in vars(other):
                setattr(self, name, vars(other)[name])

    def _feature_names(self) -> list[str]:
        named = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if named is None else list(named)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _subject(self, column: int) -> str:
        """Return a column's name as the beginning of a sentence."""
        return f"C{self._named(column)[1:]}"

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Make errors about a bad value name its column."""
        try:
            yield
        except InvalidColumn as error:
            raise ValueError(f"{self._subject(error.column)} {error.problem}") from None
        except NoSolutionError as error:
            raise type(error)(self._with_names(error), error.columns) from None
        except InvalidValue as error:
            where = f"row {error.row}, {self._named(error.column)} holds {error.value}"
            if error.too_small:
                what = "Negative values" if error.value < 0 else "Zeros"
                raise ValueError(
                    f"{what} in data passed to {type(self).__name__} (input X): {where}. "
                    f"{self._too_small_hint}"
                ) from None
            raise ValueError(
                f"Input X contains infinity or a value too large for dtype('float64'): {where}. "
                "Use NaN for what is missing."
            ) from None

    def _with_names(self, error: NoSolutionError) -> str:
        """Return the message of an error, with names for the columns that it gives by number."""
        if not (hasattr(self, "feature_names_in_") and error.columns):
            return str(error)
        return f"{error} Here {', '.join(map(self._named, error.columns))}."

    def _named(self, column: int) -> str:
        """Return a column's number and, if it has one, its name."""
        names = getattr(self, "feature_names_in_", None)
        return f"column {column}" + ("" if names is None else f" ({names[column]!r})")

    _too_small_hint = "Counts are 0 or more; for other numbers use GaussianNB or GDA."


@cache
def parameter_names(kind: type[BaseEstimator]) -> tuple[str, ...]:
    """Return the names of the parameters of a classifier, found once."""
    return tuple(kind._get_param_names())


def as_given(value: Any) -> Any:
    """Return a parameter as it is now, whatever becomes of it."""
    return value if isinstance(value, PLAIN) else deepcopy(value)


def is_still(value: Any, before: Any) -> bool:
    """Return whether a parameter is certainly the same as before: one that cannot change."""
    return isinstance(value, PLAIN) and type(value) is type(before) and value == before


def named_columns(columns: Any) -> tuple[str, ...] | None:
    """Return the names of columns to learn from; raise an error if they are not names."""
    if columns is None:
        return None
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise ValueError(f"columns is a list of names of columns; got {columns!r}.")
    repeated = repeated_in(columns)
    if repeated:
        raise ValueError(f"columns names {min(repeated)!r} twice. Name it once.")
    return tuple(columns)


def as_part(how: Reading | None, like: Any) -> Reading | None:
    """Return how to read a table that is added to a classifier, with labels of its types."""
    if how is None or like is None or not like.__sklearn_is_fitted__():
        return how
    known = like.classes_
    return replace(how, known=known if len(known) else None, is_part=True)


def pairs_in(X: Any) -> tuple[Any, bool]:
    """Return X, and whether it is an iterator of pairs (X, y) and not of tables."""
    if not isinstance(X, Iterator) or hasattr(X, "__arrow_c_stream__"):
        return X, False
    first = next(X, None)
    if first is None:
        raise ValueError("There are no batches to fit: the iterator was empty.")
    is_pair = isinstance(first, tuple | list) and not all(isinstance(one, Mapping) for one in first)
    return chain([first], X), is_pair


def batches_in(X: Any) -> tuple[Any, bool]:
    """Return X, and whether it is an iterator of tables or arrays, not of texts or a stream."""
    if not isinstance(X, Iterator) or hasattr(X, "__arrow_c_stream__"):
        return X, False
    first = next(X, None)
    if first is None:
        raise ValueError("There are no batches to predict: the iterator was empty.")
    return chain([first], X), not isinstance(first, str | bytes)


def paired(X: Any, y: Any, target: str | None) -> tuple[Any, Any, str | None]:
    """Return X and y; if an engine keeps both, one table of them and the name of its target."""
    if not (is_elsewhere(X) and is_elsewhere(y)):
        return X, y, target
    if not (hasattr(X, "chunks") and hasattr(y, "chunks")):
        raise TableError(
            f"Give labels beside {type(X).__name__} as one of its columns, by name: target=…"
        )
    return (X, y), None, TARGET


def refuse_single_class(classes: NDArray[Any]) -> None:
    """Raise an error unless there are two classes or more."""
    if len(classes) < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got 1 class "
            f"({labels.show(classes[0])}). Give rows of another class too, or use partial_fit to "
            "add them later."
        )


def refuse_too_large(model: Model) -> None:
    """Raise an error if sums are so large that sums and products of them are not finite."""
    if not model.is_finite:
        raise ValueError(
            "The sums over the rows are too large to calculate with. Scale X, sample_weight or the "
            "model down."
        )


def first_difference(mine: list[str], theirs: list[str]) -> str:
    """Return the first columns in which two lists of names differ."""
    if len(mine) != len(theirs):
        one, two = ("first", mine, set(theirs)), ("second", theirs, set(mine))
        extra = [
            f"; the {side} alone has {name!r}"
            for side, names, others in (one, two)
            for name in [name for name in names if name not in others][:1]
        ]
        return f"{len(mine)} in the first and {len(theirs)} in the second{''.join(extra)}"
    at = next(j for j, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
    return f"column {at} is {mine[at]!r} in the first and {theirs[at]!r} in the second"


class UnsolvedError(AttributeError, ValueError):
    """A fitted attribute that cannot be solved: an AttributeError, as hasattr expects."""


@contextmanager
def attributes() -> Iterator[None]:
    """Turn errors of solving into missing attributes."""
    try:
        yield
    except (ValueError, np.linalg.LinAlgError) as error:
        raise UnsolvedError(str(error)) from None
