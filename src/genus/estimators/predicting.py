"""Predicting: classes, probabilities, densities, samples and explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from genus.arrays import labels, matrix
from genus.arrays.options import whole
from genus.engines import is_elsewhere, open_rows
from genus.estimators.core import Core
from genus.estimators.inputs import (
    random_state_seed,
)
from genus.estimators.scoring import score_elsewhere
from genus.explanation import Explanation
from genus.statistics import Array
from genus.table import Source, open_table
from genus.table.read.opening import is_table, names_table


class Predicting(Core):
    """Predictions by Bayes' rule, for rows of arrays, tables or engines."""

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

    def generative(self) -> Any:
        """Return the classifier that models p(x|y): this one if its scores are a density.

        If the scores are weighted, or a decision rule, return instead a model of the same counts
        whose predictions, `log_density` and `sample` belong to one density.
        """
        check_is_fitted(self)
        return self

    def log_density(self, X: Any) -> Array:
        """Return log p(x), (m,), by `generative()`: low for rows unlike those that were counted."""
        source = self.generative().model_
        return self._score(X, lambda _, X: source.log_density(X))

    def log_likelihood(self, X: Any, y: ArrayLike) -> float:
        """Return ℓ = Σ_i log p(x_i, y_i) of rows, by `generative()`."""
        check_is_fitted(self)
        truth = np.asarray(column_or_1d(y))
        source = self.generative().model_
        joint = self._score(X, lambda _, X: source.log_joint(X))
        if len(truth) != len(joint):
            raise ValueError(
                f"X has {len(joint)} rows, but y has {len(truth)} labels. Give one label for each "
                "row."
            )
        at = labels.find(truth, self.classes_)
        if (at < 0).any():
            unknown = truth[at < 0][0]
            raise ValueError(
                f"Class {labels.show(unknown)} is not one of the model's classes, so its rows "
                "have no likelihood. Leave them out."
            )
        return float(joint[np.arange(len(at)), at].sum())

    def sample(
        self, n: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw n new rows (n, columns) and labels (n,), of class y or according to p(y).

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
                raise ValueError(f"y must be one class, or one for each of {n} rows; got {y!r}.")
            chosen = labels.find(wanted, self.classes_)
            if (chosen < 0).any():
                raise ValueError(
                    f"{y!r} is not one of the classes {self.classes_.tolist()[:10]}. "
                    "Name a class of the model."
                )
        rng = np.random.default_rng(random_state_seed(random_state))
        return source.sample(n, chosen, rng)

    def explain(self, X: Any, features: Sequence[str] | None = None) -> Explanation:
        """Return the contribution of each column to log p(x, y), for each row and class.

        `features` are names for the columns; by default, those of the model.
        """
        check_is_fitted(self)
        with self._named_errors():
            X, _ = self._as_matrix(X, reset=False)
            if X.dtype.kind != "O":
                matrix.refuse_infinite(X)
            contributions, baseline = self.model_.contributions(X)
        names = self._feature_names() if features is None else list(map(str, features))
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"features has {len(names)} names for {self.n_features_in_} columns. Give one "
                "name for each column."
            )
        values = matrix.dense_rows(X) if matrix.is_sparse(X) else X.copy()
        return Explanation(contributions, baseline, self.classes_, names, values)

    # How rows are scored

    def _score(self, X: Any, score: Any) -> Any:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        X, are_batches = batches_in(X)
        if are_batches:
            return np.concatenate([self._score(batch, score) for batch in X])
        with self._named_errors():
            if self._is_rows(X):
                return self._score_rows(open_table(X, texts=self._texts), score)
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
        """Return whether X is a table whose columns are found by name."""
        if "columns_" not in vars(self):
            return is_table(X) and names_table(X)
        return is_table(X) or set(self.columns_.names) <= set(getattr(X, "columns", ()))


def batches_in(X: Any) -> tuple[Any, bool]:
    """Return X, and whether it is an iterator of tables or arrays."""
    if not isinstance(X, Iterator) or hasattr(X, "__arrow_c_stream__"):
        return X, False
    first = next(X, None)
    if first is None:
        raise ValueError("There are no batches to predict: the iterator was empty. Give a batch.")
    return chain([first], X), not isinstance(first, str | bytes)
