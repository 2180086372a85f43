"""What every classifier has: the scikit-learn surface over a `Model`.

A subclass says which parameters it takes (`__init__`) and which family they make (`_family`).
What comes from users is checked at the door (`inputs`, `options`); what only the counting loop can
see, such as an infinite value, is refused there with its row and column.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from genus.arrays import labels, matrix
from genus.arrays.matrix import Codes, InvalidColumn, InvalidValue, Matrix
from genus.arrays.options import whole
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
from genus.explanation import Explanation
from genus.families import Family
from genus.model import Model
from genus.persistence import files
from genus.persistence.trees import to_tree
from genus.solve.errors import NoSolutionError
from genus.solve.priors import Priors
from genus.statistics import Array, ImpossibleError


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
        X = table_of_numbers(X)
        if y is None:
            return tidy(validated(self, X, **checks)), None
        X, y = validated(self, X, y, **checks)
        return tidy(X), y

    def _refuse_empty(self, X: Any, model: Model) -> None:
        """Raise if there is nothing to learn from."""
        refuse_empty_columns(X, self._feature_names())

    def _refuse_unsolved(self, model: Model) -> None:
        """Raise if options leave nothing to predict by."""

    def _ready(
        self, X: Matrix, codes: Codes, classes: NDArray[Any], weight: Array | None
    ) -> Matrix:
        """X as it is best counted, after choosing what is chosen before."""
        return X

    def _for_rereading(self, X: Matrix, classes: int) -> Matrix:
        """X, checked before, in the form that is read fastest more than once."""
        return X

    # Fitting

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count X (m, n) with labels y (m,), from nothing."""
        with self._unchanged_on_error():
            X, codes, classes, weight = self._check(X, y, sample_weight, reset=True)
            refuse_single_class(classes)
            X = self._ready(X, codes, classes, weight)
            empty = self._empty()
            model = self._count(empty, X, codes, classes, weight)
            # A class whose rows all weigh nothing is a class all the same.
            unseen = classes[labels.find(classes, model.weights.classes) < 0]
            model = replace(model, declared=unseen)
            self._refuse_empty(X, model)
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
            if first:
                X = self._ready(X, codes, seen, weight)
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
            self._keep(self._less(model, replace(forgotten, declared=classes)))
        return self

    def resolve(self, **options: Any) -> Self:
        """A copy with other parameters, solved from the same statistics: no data needed."""
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
        """0 + a, for sum()."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        check_is_fitted(self)
        return self._copy_with(self.model_)

    def __sub__(self, other: GenerativeClassifier) -> Self:
        mine, theirs = self._alike(other)
        mine._check_mergeable(theirs)
        return mine._copy_with(mine._less(mine.model_, theirs.model_))

    def _alike(self, other: Any) -> tuple[Self, Any]:
        """Both models, counted in a way that both can be."""
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
        """The classifier by p(x|y) that this one stands on: itself, if its scores are a density.

        Where they are not, because they are weighed or a rule for deciding, this is a model of the
        same counts whose predictions, `log_density` and `sample` are of one density.
        """
        check_is_fitted(self)
        return self

    # Predicting

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, (m,)."""
        best = self._score(X, lambda model, X: model.decide(X))
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """p(y|x), (m, K)."""
        return self._score(X, lambda model, X: model.posterior(X))

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y|x), (m, K)."""
        return self._score(X, lambda model, X: model.log_posterior(X))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(x, y), (m, K)."""
        return self._score(X, lambda model, X: model.log_joint(X))

    def log_density(self, X: Any) -> Array:
        """log p(x), (m,), of `generative()`: low for rows unlike anything seen."""
        source = self.generative().model_
        return self._score(X, lambda _, X: source.log_density(X))

    def log_likelihood(self, X: Any, y: ArrayLike) -> float:
        """ℓ = Σ_i log p(x_i, y_i) of rows under `generative()`."""
        check_is_fitted(self)
        truth = np.asarray(column_or_1d(y))
        source = self.generative().model_
        joint = self._score(X, lambda _, X: source.log_joint(X))
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
        """n new rows (n, columns) and their labels (n,), of class y or drawn by p(y).

        Drawn from `generative()`.
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
        """What each column adds to log p(x, y) of each class; `features` names the columns."""
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
        """Write the model to a path, or to a binary file that is open; `genus.load` reads it."""
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
        """Return the model as bytes, compressed; `genus.from_bytes` reads them.

        Nothing is solved for it: what counts rows elsewhere sends its sums this way.
        """
        check_is_fitted(self)
        return files.to_bytes(to_tree(self))

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
        with self._named_errors(), attributes():
            return self._fitted().parameters

    def _option(self, name: str) -> Any:
        """A parameter as it was when the model was solved, whatever it is set to now."""
        return vars(self).get("_solved_with", {}).get(name, getattr(self, name))

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
        refuse_too_large(model)
        self.model_ = model
        self._solved_with = deepcopy(self.get_params(deep=False))

    def _solve(self, model: Model) -> None:
        """Solve now, so that what cannot be solved is an error here and not at prediction."""
        refuse_too_large(model)
        with self._named_errors():
            _ = model.prior, model.parameters

    def _score(self, X: Any, score: Any) -> Any:
        check_is_fitted(self)
        with self._named_errors():
            X, _ = self._as_matrix(X, reset=False)
            return score(self.model_, X)

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
                "learned, with the same labels and weights; the model is as it was."
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
        """A copy with the parameters that it was solved with, or others; it has no model yet."""
        copy = clone(self).set_params(**deepcopy(self._solved_with) | options)
        copy._adopt(self)
        return copy

    def _copy_with(self, model: Model) -> Self:
        copy = self._copy()
        copy._keep(model)
        return copy

    def _resolved(self, **options: Any) -> Self:
        """A copy with other parameters than those it was solved with, of the same counts."""
        copy = self._copy(**options)
        copy._keep(copy._with_current_options(self.model_))
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

    def _subject(self, column: int) -> str:
        """A column, as a sentence begins with it."""
        return f"C{self._named(column)[1:]}"

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Say which column, by name, a bad value stands in."""
        try:
            yield
        except InvalidColumn as error:
            raise ValueError(f"{self._subject(error.column)} {error.problem}") from None
        except NoSolutionError as error:
            if hasattr(self, "feature_names_in_") and error.columns:
                legend = ", ".join(map(self._named, error.columns))
                raise type(error)(f"{error} Here {legend}.", error.columns) from None
            raise
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

    def _named(self, column: int) -> str:
        """A column by its number and, if it has one, its name."""
        names = getattr(self, "feature_names_in_", None)
        return f"column {column}" + ("" if names is None else f" ({names[column]!r})")

    _too_small_hint = "Counts are 0 or more; for other numbers use GaussianNB or GDA."


def refuse_single_class(classes: NDArray[Any]) -> None:
    """Raise unless there are two classes or more."""
    if len(classes) < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got 1 class "
            f"({labels.show(classes[0])}). Give rows of another class too, or use partial_fit to "
            "add them later."
        )


def refuse_too_large(model: Model) -> None:
    """Raise if sums have grown to where sums and products of them are no longer finite."""
    if not model.is_finite:
        raise ValueError(
            "The sums over the rows are too large to calculate with. Scale X, sample_weight or the "
            "model down."
        )


def first_difference(mine: list[str], theirs: list[str]) -> str:
    """The first columns in which two lists of names differ."""
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
    """A fitted attribute that the statistics do not give: an AttributeError, as hasattr expects."""


@contextmanager
def attributes() -> Iterator[None]:
    """Let what cannot be solved be an attribute that is not there."""
    try:
        yield
    except (ValueError, np.linalg.LinAlgError) as error:
        raise UnsolvedError(str(error)) from None
