"""The core of every classifier: a family, a model of it, and errors that name columns.

A subclass declares its parameters (`__init__`) and makes a family from them (`_family`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from genus.arrays import labels, matrix
from genus.arrays.matrix import Codes, InvalidColumn, InvalidValue, Matrix
from genus.estimators.columns import NUMBERS, VALUES, Columns, matrix_of
from genus.estimators.inputs import (
    check_priors,
    refuse_empty_columns,
    table_of_numbers,
    tidy,
    validated,
)
from genus.families import Family
from genus.model import Model
from genus.solve.errors import NoSolutionError
from genus.solve.priors import Priors
from genus.statistics import Array
from genus.table import TableError

PLAIN = (str, int, float, type(None))  # immutable parameters


class Core(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The family, the model and the columns of a classifier."""

    model_: Model
    n_features_in_: int
    columns_: Columns

    # What a subclass may override

    _reads = NUMBERS  # what columns of a table become

    def _family(self) -> Family:
        """Return the family with these parameters; raise an error if they are invalid."""
        raise NotImplementedError(f"{type(self).__name__} does not define its family.")

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
        """Raise an error if there is nothing to learn from; X is None if it is not at hand."""
        if X is not None:
            refuse_empty_columns(X, self._named)

    def _refuse_unsolved(self, model: Model) -> None:
        """Raise an error, or warn, if the options do not suit this model."""

    def _ready(
        self, X: Matrix, codes: Codes, classes: NDArray[Any], weight: Array | None
    ) -> Matrix:
        """Make the choices that precede counting; return X in the form that is fastest to count."""
        return X

    def _for_rereading(self, X: Matrix, classes: int) -> Matrix:
        """Return the checked X in the form that is fastest to read repeatedly."""
        return X

    def _look(self, rows: Any, target: str | None, y: Codes, total: int | None) -> None:
        """Decide which columns of a table to read, from an Arrow table of some rows.

        `y` are the codes of their labels, and `total` is the number of all rows, if known.
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
        """Return the rows of an Arrow table or batch in the form that is counted."""
        X = matrix_of(rows, self._columns_known(rows))
        return tidy(X if self._accepts_sparse or not matrix.is_sparse(X) else X.toarray())

    def _outgrown(self, rows: Any, model: Model) -> bool:
        """Return whether these rows, or the counts so far, contradict the plan."""
        return False

    def _plan_options(self) -> dict[str, Any]:
        """Return the parameters that decide how columns are read, as JSON values."""
        return {}

    def _refuse_stream(self) -> None:
        """Raise an error if options need all rows at once."""

    def _closed(self, model: Model) -> Model:
        """Return the model of all rows without keys, such as words, that the options leave out."""
        return model

    def _shards(self, partitions: int) -> int:
        """Return the number of parts to divide the sums of this many partitions into.

        If there is more than one, `_divided`, `_reduced` and `_joined` define the parts.
        """
        return 1

    def _divided(self, model: Model, shards: int) -> list[Model]:
        """Divide sums into parts, each with its own keys."""
        raise NotImplementedError

    def _reduced(self, model: Model) -> Model:
        """Return one of the parts, with only the keys that the whole model may use."""
        raise NotImplementedError

    def _joined(self, models: list[Model]) -> Model:
        """Join sums that were divided into parts."""
        (model,) = models
        return model

    @property
    def _target(self) -> str | None:
        """The name of the target column, if the model was fitted from a table."""
        columns = vars(self).get("columns_")
        return None if columns is None else columns.target

    @property
    def _texts(self) -> Collection[str]:
        """The columns of a table that are read as they are written in a file."""
        columns = vars(self).get("columns_")
        return () if columns is None else columns.texts

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
        """Return the value of an option with which the model was solved."""
        return vars(self).get("_solved_with", {}).get(name, getattr(self, name))

    def _fitted(self) -> Model:
        """Return the model; if there is none, raise the AttributeError that hasattr() expects."""
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

    def __setattr__(self, name: str, value: Any) -> None:
        if name.endswith("_") and isinstance(getattr(type(self), name, None), property):
            raise AttributeError(
                f"{name} is computed from the counts and cannot be set. genus.from_parameters "
                "makes a model of given means, variances or probabilities."
            )
        super().__setattr__(name, value)

    # The model and its options

    def _unexplained(self) -> str:
        choice = getattr(self, "unexplained", "prior")
        if choice not in ("prior", "error"):
            raise ValueError(f'unexplained must be "prior" or "error"; got {choice!r}.')
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
        """Return the fitted model with the current parameters."""
        kept = self._solved_with
        if all(is_still(getattr(self, name), value) for name, value in kept.items()):
            return self.model_
        return self._with_current_options(self.model_)

    def _with_current_options(self, model: Model) -> Model:
        """Return the same statistics with the current parameters."""
        model = model.with_family(self._family())
        return replace(model, priors=self._priors(), unexplained=self._unexplained())

    def _keep(self, model: Model) -> None:
        """Store the model, and a copy of the current parameters, with which it is solved.

        As in scikit-learn, set_params takes effect at the next `fit` or `partial_fit`.
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

    def _columns_known(self, rows: Any) -> Columns:
        """Return the fitted columns; if they have no names, return all columns of `rows`."""
        if "columns_" in vars(self):
            return self.columns_
        named = getattr(self, "feature_names_in_", None)
        if named is not None:
            return Columns(tuple(map(str, named)), self._reads)
        columns = Columns.of(rows, self._reads, None)
        if columns.features != self.n_features_in_:
            raise TableError(
                f"The table has {columns.features} columns, but this {type(self).__name__} was "
                f"fitted to an array of {self.n_features_in_}. Give the same number of columns."
            )
        return columns

    def _copy(self, **options: Any) -> Self:
        """Return a copy without a model; `options` are parameters to change."""
        copy = clone(self).set_params(**deepcopy(self._solved_with) | options)
        copy._adopt(self)
        return copy

    def _part(self, model: Model | None = None) -> Self:
        """Return a copy that reads data in the same way and has a model of some or no rows."""
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

    # Names in errors

    def _feature_names(self) -> list[str]:
        named = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if named is None else list(named)

    def _subject(self, column: int) -> str:
        """Return a column's name to begin a sentence with."""
        return f"C{self._named(column)[1:]}"

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Add the name of the column to errors about a bad value."""
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
                "Use NaN for missing values."
            ) from None

    def _with_names(self, error: NoSolutionError) -> str:
        """Return an error's message with the names of columns that it gives by number."""
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
    """Return a copy of a parameter unless it is immutable."""
    return value if isinstance(value, PLAIN) else deepcopy(value)


def is_still(value: Any, before: Any) -> bool:
    """Return whether a parameter is certainly unchanged, because it is equal and immutable."""
    return isinstance(value, PLAIN) and type(value) is type(before) and value == before


def refuse_too_large(model: Model) -> None:
    """Raise an error if sums are too large for further sums and products to be finite."""
    if not model.is_finite:
        raise ValueError(
            "The sums over the rows are too large for floats. Scale down X, sample_weight or the "
            "model."
        )


class UnsolvedError(AttributeError, ValueError):
    """A fitted attribute cannot be solved. It is an AttributeError, as hasattr expects."""


@contextmanager
def attributes() -> Iterator[None]:
    """Turn errors in solving into errors about missing attributes."""
    try:
        yield
    except (ValueError, np.linalg.LinAlgError) as error:
        raise UnsolvedError(str(error)) from None
