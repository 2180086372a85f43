"""Cross-validation by subtraction: count every row once, leave folds out of the sum.

The statistics of all folds but one are the statistics of all less those of the one. Whatever is
chosen from data (alpha, bins, shrinkage) is chosen again from each fold's statistics. Leave-one-out
uses closed forms where there are any and keeps what "auto" options chose from all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from genus import labels, matrix
from genus._kernel import row_maxima
from genus.estimators import GenerativeClassifier
from genus.matrix import Codes
from genus.model import without
from genus.statistics import Array


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Out-of-fold probabilities, row by row, and what they are worth.

    `y` are positions in `classes`, and `fold` is the number of the fold that each row was in.
    """

    probabilities: Array
    classes: NDArray[Any]
    y: Codes
    weight: Array
    fold: Codes

    @property
    def predictions(self) -> NDArray[Any]:
        """The likeliest class of each row, (m,)."""
        return self.classes[self._likeliest]

    @property
    def accuracy(self) -> float:
        """The share of rows whose likeliest class is their own."""
        return self._mean(self._likeliest == self.y)

    @property
    def log_loss(self) -> float:
        """The mean of -log p(y|x); as in scikit-learn, p is at least 2e-16, a float's precision."""
        own = self.probabilities[np.arange(len(self.y)), self.y]
        return self._mean(-np.log(np.maximum(own, np.finfo(float).eps)))

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities; halved for two classes, as is custom."""
        truth = np.zeros_like(self.probabilities)
        truth[np.arange(len(self.y)), self.y] = 1.0
        squared = ((self.probabilities - truth) ** 2).sum(axis=1)
        return self._mean(squared / 2 if len(self.classes) == 2 else squared)

    @cached_property
    def _likeliest(self) -> Codes:
        return row_maxima(self.probabilities, matrix.threads())[1]

    def _mean(self, values: NDArray[Any]) -> float:
        return float(np.average(values, weights=self.weight))

    def __repr__(self) -> str:
        return (
            f"CrossValidation(rows={len(self.y)}, accuracy={self.accuracy:.4f}, "
            f"log_loss={self.log_loss:.4f}, brier={self.brier:.4f})"
        )


def cross_validate(
    estimator: GenerativeClassifier,
    X: Any,
    y: ArrayLike,
    folds: Any = 10,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: int | None = 0,
) -> CrossValidation:
    """Predict each row from the statistics of rows in other folds; nothing is fitted twice.

    `folds` is a number (stratified and shuffled by `random_state`), "loo" for leave-one-out, a
    scikit-learn splitter, or an iterable of (train, test) row numbers whose tests do not overlap.

    >>> from sklearn.datasets import load_iris
    >>> from genus import GDA
    >>> cross_validate(GDA(), *load_iris(return_X_y=True), folds="loo").accuracy
    0.98
    """
    if not isinstance(estimator, GenerativeClassifier):
        raise TypeError(
            f"Cross-validation by subtraction needs a genus classifier, got "
            f"{type(estimator).__name__}. Use sklearn.model_selection.cross_validate for others."
        )
    fresh = clone(estimator)
    X, codes, classes, weight = fresh._check(X, y, sample_weight, reset=True)
    if len(classes) < 2:
        raise ValueError(
            f"There is only one class, {labels.show(classes[0])}; nothing can be told apart."
        )
    X = fresh._for_rereading(X)
    codes = codes.copy()  # they may be the caller's y, and are kept
    empty = fresh._empty()
    weights = np.ones(len(codes)) if weight is None else weight
    if isinstance(folds, str):
        if folds != "loo":
            raise ValueError(f'folds is a number, "loo" or a splitter, got {folds!r}.')
        model = fresh._count(empty, X, codes, classes, weight)
        fresh._solve(model)
        here = labels.positions(model.classes, classes)
        # A class whose rows all weigh nothing is not there; they leave nothing when they go.
        there = np.zeros(len(classes), dtype=np.int64)
        there[here] = np.arange(len(here))
        probabilities = np.zeros((len(codes), len(classes)))
        with fresh._named_errors():
            probabilities[:, here] = model.leave_one_out(X, there[codes], weight)
        return CrossValidation(probabilities, classes, codes, weights, np.arange(len(codes)))
    fold = fold_numbers(folds, X, codes, random_state)
    tests = np.split(matrix.stable_order(fold), np.cumsum(np.bincount(fold))[:-1])
    with fresh._named_errors():
        parts = empty.count_groups(X, codes, classes, weight, fold, len(tests))
    everything = reduce(add, parts)
    probabilities = np.zeros((len(codes), len(classes)))
    for test, part in zip(tests, parts, strict=True):
        rest = everything - part
        if len(rest.classes) == 0:
            raise ValueError(
                f"Without the {len(test)} rows of the fold that row {test[0]} is in nothing is "
                "left to learn from. Use more folds, or rows that weigh something."
            )
        with without(f"the {len(test)} rows of the fold that row {test[0]} is in"):
            fresh._solve(rest)
        with fresh._named_errors(), matrix.numbered(test):
            posterior = rest.posterior(matrix.take(X, test), test)
        columns = labels.positions(rest.classes, classes)  # a class may be in one fold only
        probabilities[test] = labels.spread(posterior, columns, len(classes), axis=1)
    return CrossValidation(probabilities, classes, codes, weights, fold)


def fold_numbers(folds: Any, X: Any, codes: Codes, random_state: int | None) -> Codes:
    """The fold that each row is tested in, 0, 1, …, (m,)."""
    if isinstance(folds, int | np.integer):
        if not 2 <= folds <= len(codes):
            raise ValueError(
                f"folds must be from 2 to the number of rows, {len(codes)}; got {folds}."
            )
        return stratified(int(folds), codes, random_state)
    if not (hasattr(folds, "split") or isinstance(folds, Iterable)):
        raise ValueError(f'folds is a whole number, "loo" or a splitter, got {folds!r}.')
    pairs: Iterable[Any] = folds.split(X, codes) if hasattr(folds, "split") else folds
    times, fold, count = np.zeros(len(codes), dtype=int), np.zeros(len(codes), dtype=np.int64), 0
    for pair in pairs:
        try:
            train, test = (row_numbers(rows, len(codes)) for rows in pair)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"folds that are listed hold pairs of row numbers, (train, test); got "
                f"{str(pair)[:60]}: {error}."
            ) from None
        times[test] += 1
        if len(train) + len(test) != len(codes) or len(np.union1d(train, test)) != len(codes):
            raise ValueError(
                "Each fold must train on all rows that it does not test: cross-validation is by "
                "subtraction. Use sklearn.model_selection.cross_validate for other splits."
            )
        fold[test] = count
        count += len(test) > 0
    if (times != 1).any():
        raise ValueError(
            f"Every row must be tested exactly once; row {int(np.argmax(times != 1))} is tested "
            f"{times[np.argmax(times != 1)]} times. Use a k-fold splitter, or "
            "sklearn.model_selection.cross_validate for repeated and random splits."
        )
    return fold


def row_numbers(rows: Any, size: int) -> NDArray[np.intp]:
    """The rows that a mask or a list of numbers names."""
    given = np.asarray(rows)
    if given.dtype == bool:
        given = np.flatnonzero(given)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise ValueError("these are no row numbers")
    given = given.astype(np.intp)
    if len(given) and not 0 <= given.min() <= given.max() < size:
        raise ValueError(f"there are {size} rows, counted from 0")
    return given


def stratified(folds: int, codes: Codes, random_state: int | None) -> Codes:
    """Folds with about the same share of every class; rare classes are spread as far as they go."""
    order = np.random.default_rng(random_state).permutation(len(codes))
    order = order[matrix.stable_order(codes[order])]
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.resize(np.arange(folds), len(codes))
    return fold
