"""What every classifier has: the scikit-learn surface over a `Model`.

A subclass says which parameters it takes (`__init__`) and which family they make (`_family`).
Data is checked here, at the door; inside, everything is assumed to be right.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from genus import files, labels, matrix
from genus.explanation import Explanation
from genus.families import Family
from genus.families.categorical import is_missing
from genus.matrix import Codes, InvalidValue, Matrix
from genus.model import Model, Priors
from genus.options import number, numbers
from genus.statistics import Array


class GenerativeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Model p(x|y) and p(y) by counting; decide by Bayes' rule."""

    model_: Model
    n_features_in_: int

    # What a subclass may want otherwise

    def _family(self) -> Family:
        """The family that the parameters describe; raises if they make no sense."""
        raise NotImplementedError(f"{type(self).__name__} does not say which family it is.")

    def _priors(self) -> Priors:
        """The class priors that the parameters describe."""
        return Priors(check_priors(getattr(self, "priors", None)))

    @property
    def _accepts_sparse(self) -> bool:
        return False

    def _as_matrix(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """X (and y) as arrays, with column names and number remembered or compared."""
        checks: dict[str, Any] = {
            "accept_sparse": "csr" if self._accepts_sparse else False,
            "dtype": "numeric",
            "ensure_all_finite": False,
            "reset": reset,
        }
        X = self._table(X)
        if y is None:
            return tidy(validate_data(self, X, **checks)), None
        X, y = validate_data(self, X, y, **checks)
        return tidy(X), y

    def _table(self, X: Any) -> Any:
        """X as it came, with tables of objects as numbers and text or dates refused."""
        refuse_other_than_numbers(X)
        if hasattr(X, "to_numpy") and "object" in map(str, getattr(X, "dtypes", ())):
            values = numbers_of(X.to_numpy(dtype=object))
            return type(X)(values, columns=X.columns)
        table = np.asarray(X, dtype=object) if is_list_of_objects(X) else X
        if isinstance(table, np.ndarray) and table.dtype.kind == "O" and table.ndim == 2:
            return numbers_of(table)
        return table

    # Fitting

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count X (m, n) with labels y (m,), from nothing."""
        with self._unchanged_on_error():
            X, codes, classes, weight = self._check(X, y, sample_weight, reset=True)
            if len(classes) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; got 1 class "
                    f"({labels.show(classes[0])}). Give rows of another class too, or use "
                    "partial_fit to add them later."
                )
            empty = self._empty()
            model = self._count(empty, X, codes, classes, weight)
            # A class whose rows all weigh nothing is a class all the same.
            unseen = classes[~np.isin(classes, model.weights.classes)]
            model = replace(model, declared=unseen)
            refuse_empty_columns(self, X)
            self._solve(model)
            self._keep(model)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Count more rows. New classes may appear at any time; `classes` may announce them."""
        with self._unchanged_on_error():
            first = not self.__sklearn_is_fitted__()
            X, codes, seen, weight = self._check(X, y, sample_weight, reset=first)
            model = self._empty() if first else self._with_current_options(self.model_)
            if classes is not None:
                model = self._declare(model, announced(classes), seen)
            model = model + self._count(model, X, codes, seen, weight)
            _ = model.prior  # priors that do not fit the classes are refused now
            self._keep(model)
        return self

    def forget(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows out again, as if they had never been counted."""
        check_is_fitted(self)
        with self._unchanged_on_error():
            X, codes, classes, weight = self._check(X, y, sample_weight, reset=False)
            model = self._with_current_options(self.model_)
            forgotten = self._count(model, X, codes, classes, weight)
            self._keep(self._less(replace(forgotten, declared=classes)))
        return self

    def resolve(self, **options: Any) -> Self:
        """A copy with other parameters, solved from the same statistics: no data needed."""
        check_is_fitted(self)
        copy = clone(self).set_params(**options)
        copy._adopt(self)
        model = copy._with_current_options(self.model_)
        self._solve(model)
        copy._keep(model)
        return copy

    # The group

    def __add__(self, other: GenerativeClassifier) -> Self:
        self._check_mergeable(other)
        merged = self.model_ + other.model_
        _ = merged.prior  # priors that do not fit the classes of both are refused now
        return self._copy_with(merged)

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # for sum()

    def __sub__(self, other: GenerativeClassifier) -> Self:
        self._check_mergeable(other)
        return self._copy_with(self._less(other.model_))

    def __mul__(self, factor: float) -> Self:
        check_is_fitted(self)
        if np.ndim(factor) or not isinstance(factor, int | float | np.number):
            raise TypeError(f"A model is scaled by a number, got {factor!r}.")
        return self._copy_with(self.model_ * number("A model is scaled by a number; it", factor, 0))

    __rmul__ = __mul__

    # Predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, (m,)."""
        best = self._score(X, lambda model, X: model.decide(X))
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """p(y|x), (m, K)."""
        log_posterior = self.predict_log_proba(X)
        return np.exp(log_posterior, out=log_posterior)

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y|x), (m, K)."""
        return self._score(X, lambda model, X: model.log_posterior(X))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, y), (m, K)."""
        return self._score(X, lambda model, X: model.log_joint(X))

    def log_density(self, X: Any) -> Array:
        """log p(x), (m,): low for rows unlike anything seen."""
        return self._score(X, lambda model, X: model.log_density(X))

    def log_likelihood(self, X: Any, y: ArrayLike) -> float:
        """ℓ = Σ_i log p(x_i, y_i) of rows under the model."""
        check_is_fitted(self)
        truth = np.asarray(column_or_1d(y))
        joint = self._generative_joint(X)
        if len(truth) != len(joint):
            raise ValueError(f"X has {len(joint)} rows and y {len(truth)}; they must be as many.")
        at = labels.find(truth, self.classes_)
        if (at < 0).any():
            unknown = truth[at < 0][0]
            raise ValueError(
                f"Class {labels.show(unknown)} is not known to the model; it has no likelihood."
            )
        return float(joint[np.arange(len(at)), at].sum())

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """n new rows (n, columns) and their labels (n,), of class y or drawn by p(y)."""
        check_is_fitted(self)
        if not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"n is how many rows to draw, 0 or more; got {n!r}.")
        _ = self.model_.parameters
        chosen = None
        if y is not None:
            wanted = np.broadcast_to(np.asarray(y), (n,)) if np.ndim(y) == 0 else np.asarray(y)
            if wanted.shape != (n,):
                raise ValueError(f"y is one class, or one for each of the {n} rows; got {y!r}.")
            chosen = labels.find(wanted, self.classes_)
            if (chosen < 0).any():
                raise ValueError(f"{y!r} is not one of the classes {self.classes_.tolist()[:10]}.")
        rng = np.random.default_rng(random_state_seed(random_state))
        return self.model_.sample(n, chosen, rng)

    def explain(self, X: Any) -> Explanation:
        """What each column adds to log p(x, y) of each class."""
        check_is_fitted(self)
        with self._named_errors():
            X, _ = self._as_matrix(X, reset=False)
            if X.dtype.kind != "O":
                matrix.refuse_infinite(X)
            contributions, baseline = self.model_.contributions(X)
        return Explanation(contributions, baseline, self.classes_, self._feature_names())

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `genus.load` reads."""
        from genus.estimators.persistence import to_tree

        check_is_fitted(self)
        files.write(path, to_tree(self))

    # Fitted attributes, by scikit-learn's names

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, ascending."""
        return self._fitted().classes.copy()

    @property
    def class_count_(self) -> Array:
        """How many rows of each class, (K,)."""
        return self._fitted().class_weights.copy()

    @property
    def _parameters(self) -> Any:
        return self._fitted().parameters[0]

    def _fitted(self) -> Model:
        """The model, or the AttributeError that hasattr() expects of an unfitted estimator."""
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

    def _count(
        self, like: Model, X: Matrix, codes: Codes, classes: NDArray[Any], weight: Array | None
    ) -> Model:
        with self._named_errors():
            return replace(like.count(X, codes, classes, weight), declared=labels.empty_axis())

    def _with_current_options(self, model: Model) -> Model:
        """The same statistics under the parameters as they are now."""
        model = model.with_family(self._family())
        return replace(model, priors=self._priors(), unexplained=self._unexplained())

    def _keep(self, model: Model) -> None:
        """This is the model now, solved with the parameters as they are now.

        As in scikit-learn, set_params on a fitted estimator acts when it is fitted further.
        """
        self.model_ = model
        self._solved_with = self.get_params(deep=False)

    def _solve(self, model: Model) -> None:
        """Solve now, so that what cannot be solved is an error here and not at prediction."""
        with self._named_errors():
            _ = model.prior, model.parameters

    def _score(self, X: Any, score: Any) -> Any:
        check_is_fitted(self)
        with self._named_errors():
            X, _ = self._as_matrix(X, reset=False)
            return score(self.model_, X)

    def _generative_joint(self, X: Any) -> Array:
        """log p(x, y) of the density that the classifier stands on."""
        return self.predict_joint_log_proba(X)

    def _check(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[Matrix, Codes, NDArray[Any], Array | None]:
        """X, codes of y, the classes they stand for, and weights."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = refuse_missing_labels(y)
        X, y = self._as_matrix(X, y, reset=reset)
        if y.dtype.kind not in "biuU":
            check_classification_targets(y)
        classes, codes = labels.factorize(y)
        return X, codes, classes, check_weight(sample_weight, len(y))

    def _declare(self, model: Model, declared: NDArray[Any], seen: NDArray[Any]) -> Model:
        unknown = seen[~np.isin(seen, declared)]
        if len(unknown):
            raise ValueError(
                f"The target label(s) {unknown} in y do not exist in the initial classes "
                f"{declared}. Name them in `classes`, or leave `classes` out: new classes may "
                "appear at any time."
            )
        return replace(model, declared=labels.union(model.declared, declared, "classes"))

    def _less(self, other: Model) -> Model:
        rest = self.model_.forget(other)
        if not rest.is_possible:
            classes = rest.weights.classes
            short = classes[(rest.weights["rows"] < 0).any(axis=1)]
            whose = f" of class {labels.show(short[0])}" if len(short) else ""
            raise ValueError(
                f"More would be forgotten{whose} than was learned. Forget only rows that were "
                "learned, with the same labels and weights; the model is as it was."
            )
        return rest

    def _check_mergeable(self, other: object) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"A {type(self).__name__} merges with another, not with a {type(other).__name__}."
            )
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = (getattr(e, "feature_names_in_", None) for e in (self, other))
        if mine is not None and theirs is not None and list(mine) != list(theirs):
            raise ValueError(
                f"The two models have different columns: {list(mine)[:5]} … and "
                f"{list(theirs)[:5]} …. Merge models of the same columns, in the same order."
            )

    def _copy_with(self, model: Model) -> Self:
        copy = clone(self)
        copy._adopt(self)
        copy._keep(model)
        return copy

    def _adopt(self, other: Self) -> None:
        """Take over what is known of the columns."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

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

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Say which column, by name, a bad value stands in."""
        try:
            yield
        except InvalidValue as error:
            names = getattr(self, "feature_names_in_", None)
            named = "" if names is None else f" ({names[error.column]!r})"
            where = f"row {error.row}, column {error.column}{named} holds {error.value}"
            if error.negative:
                raise ValueError(
                    f"Negative values in data passed to {type(self).__name__} (input X): {where}. "
                    f"{self._negative_hint}"
                ) from None
            raise ValueError(
                f"Input X contains infinity or a value too large for dtype('float64'): {where}. "
                "Use NaN for what is missing."
            ) from None

    _negative_hint = "Counts are 0 or more; for other numbers use GaussianNB or GDA."


def is_list_of_objects(X: Any) -> bool:
    """Whether X is a list of rows that hold something that is no number, such as None."""
    if not isinstance(X, list | tuple):
        return False
    try:
        return np.asarray(X).dtype.kind == "O" and np.asarray(X, dtype=object).ndim == 2
    except ValueError:  # rows of different lengths: scikit-learn says so
        return False


def is_list_of_text(X: Any) -> bool:
    """Whether a list of rows would become an array of text."""
    try:
        as_array = np.asarray(X)
    except ValueError:
        return False
    return as_array.dtype.kind in "US" and as_array.ndim == 2


def tidy(X: Matrix) -> Matrix:
    """X in a layout and dtype that the kernel reads."""
    if matrix.is_sparse(X):
        return tidy_sparse(X)
    if X.dtype.kind in "biu" or X.dtype in (np.float32, np.float64):
        return X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))
    return X.astype(np.float64) if X.dtype.kind == "f" else numbers_of(X)


def tidy_sparse(X: Matrix) -> Matrix:
    """A sound CSR matrix without duplicate entries."""
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"The sparse matrix X is corrupt: {error}. Build it anew.") from None
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X if X.data.dtype.kind in "biuf" and X.data.dtype.itemsize <= 8 else X.astype(float)


def refuse_other_than_numbers(X: Any) -> None:
    """Raise if a table holds text or dates, and say where; frames are asked column by column."""
    if matrix.is_sparse(X):
        return
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        dtypes = X.dtypes if isinstance(X.dtypes, list) else list(X.dtypes)
        for j, (name, dtype) in enumerate(zip(X.columns, dtypes, strict=False)):
            kind = str(dtype).lower()
            if any(word in kind for word in ("date", "time", "duration", "str", "period")):
                raise ValueError(
                    f"Input X holds text or dates where numbers are needed: column {j} ({name!r}) "
                    f"is {dtype}. Use CategoricalNB for text; turn dates into numbers, for "
                    "instance days since some day."
                )
        return
    if isinstance(X, list | tuple) and is_list_of_text(X):
        numbers_of(np.asarray(X, dtype=object))
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "USMm" and np.ndim(X) == 2:
        numbers_of(np.asarray(X))


def numbers_of(X: NDArray[Any]) -> Array:
    """A table of objects as float64, NaN where missing."""
    out = np.empty(X.shape)
    for j in range(X.shape[1]):
        for i, item in enumerate(X[:, j]):
            number_like = isinstance(item, int | float | np.number | np.bool_ | Decimal | Fraction)
            try:
                if not (number_like or is_missing(item)):
                    raise TypeError
                out[i, j] = np.nan if is_missing(item) else item
            except (TypeError, ValueError, OverflowError):
                if isinstance(item, dict | list | tuple | set):
                    raise TypeError(
                        f"Row {i}, column {j} of X: argument must be a string or a real number, "
                        f"not {type(item).__name__!r}."
                    ) from None
                what = "text" if isinstance(item, str) else type(item).__name__
                large = " (too large)" if number_like else ""
                raise ValueError(
                    f"Input X holds {what} in row {i}, column {j}: {str(item)[:40]!r} is no number "
                    f"that a float can hold{large}. Use CategoricalNB for text, NaN for what is "
                    "missing, and turn dates into numbers, for instance days since some day."
                ) from None
    return out


def announced(classes: Any) -> NDArray[Any]:
    """The classes that a user announces, ascending."""
    named = np.asarray(classes)
    if named.ndim != 1 or any(map(is_missing, named.tolist())):
        raise ValueError(f"classes is a 1d list of labels, none of them missing; got {classes!r}.")
    return labels.factorize(named)[0]


def check_weight(sample_weight: Any, rows: int) -> Array | None:
    """Weights (m,), or None if all are 1."""
    if sample_weight is None:
        return None
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind not in "biufO":
            raise TypeError(given.dtype)
        weight = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"sample_weight holds one number for each row, not text, objects or complex numbers; "
            f"got {str(sample_weight)[:60]}."
        ) from None
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weight.ndim}D.")
    if len(weight) != rows:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(rows,)}: one weight for each row."
        )
    if not np.isfinite(weight).all():
        at = int(np.argmin(np.isfinite(weight)))
        raise ValueError(
            f"Input sample_weight contains NaN or infinity: row {at} has {weight[at]}."
        )
    if rows and not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all are zero, which leaves "
            "nothing to count."
        )
    if (weight < 0).any():
        at = int(np.argmax(weight < 0))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: row {at} weighs {weight[at]}. "
            "Use forget() to take rows out."
        )
    return np.ascontiguousarray(weight)


def refuse_missing_labels(y: Any) -> Any:
    """y, unless a label is None or NaN."""
    as_array = np.asarray(y)
    is_text = isinstance(y, list | tuple) and as_array.dtype.kind == "U"
    if is_text and not all(isinstance(label, str) for label in y):
        as_array = y = np.asarray(y, dtype=object)  # numbers beside text stay numbers
    if as_array.dtype.kind in "Mm":
        as_array = as_array.astype(object)
    if as_array.dtype.kind == "O":
        missing = [i for i, label in enumerate(as_array.ravel()) if is_missing(label)]
        if not missing and as_array.ndim == 1:
            labels.factorize(as_array)  # labels of different kinds are refused
        if missing:
            raise ValueError(
                f"Input y contains NaN: row {missing[0]} has no label. "
                "Leave rows without a label out."
            )
    if as_array.dtype.kind == "f" and np.isnan(as_array).any():
        at = int(np.argmax(np.isnan(as_array.ravel())))
        raise ValueError(
            f"Input y contains NaN: row {at} has no label. Leave rows without a label out."
        )
    return y


def refuse_empty_columns(estimator: GenerativeClassifier, X: Matrix) -> None:
    """Raise if a column holds no value at all."""
    if matrix.is_sparse(X) or X.dtype.kind not in "fO":
        return
    for j, first in enumerate(X[0]):
        if is_missing(first) and all(map(is_missing, X[:, j])):
            name = estimator._feature_names()[j]
            raise ValueError(
                f"Input X contains NaN only in column {j} ({name!r}): there is nothing to learn "
                "from. Leave the column out."
            )


def check_priors(priors: Any, normalise: bool = False) -> Any:
    """Priors that are probabilities; their number is checked against the classes later."""
    if priors is None:
        return None
    values = numbers("priors", list(priors.values()) if isinstance(priors, Mapping) else priors)
    if values.ndim != 1:
        raise ValueError(f"priors is a list of probabilities, one for each class; got {priors!r}.")
    if (values < 0).any():
        raise ValueError(f"Priors must be non-negative; got {values.min():g}.")
    if not np.isclose(values.sum(), 1.0):
        if not normalise or values.sum() == 0:
            raise ValueError(f"The sum of the priors should be 1; it is {values.sum():g}.")
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=3)
    scaled = values / values.sum()
    return dict(zip(priors, scaled, strict=True)) if isinstance(priors, Mapping) else scaled


def random_state_seed(random_state: Any) -> Any:
    """What NumPy's default_rng takes, from what scikit-learn calls a random_state."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**31)
    return random_state


def log_density_of(joint: Array) -> Array:
    """log Σ_k p(x, k), (m,)."""
    return np.asarray(logsumexp(joint, axis=1))
