"""Every classifier with rows it is made for, and how a refusal reads.

90 rows of three classes, apart but not separable.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from genus import (
    AODE,
    GDA,
    TAN,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GammaNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NearestShrunkenCentroids,
    PoissonNB,
    QuadraticDiscriminantAnalysis,
)
from scope import at_night

ROWS = 90
LABELS = np.arange(ROWS) % 3
rng = np.random.default_rng(7)
NUMBERS = rng.normal(size=(ROWS, 3)) @ [[1, 0.4, 0], [0, 1, 0.3], [0, 0, 1]] + LABELS[:, None]
COUNTS = rng.poisson(np.array([[3, 1, 1, 1], [1, 3, 1, 1.5], [1, 1, 3, 2]])[LABELS])
CODES = (rng.integers(0, 3, size=(ROWS, 3)) + LABELS[:, None] * [1, 0, 1]) % 4
SIZES = rng.gamma(np.array([[1, 2, 9], [2, 2, 3], [5, 1, 3]])[LABELS], [1, 100, 0.1])
NAMES = ["height", "weight", "age", "shoe"]


@dataclass(frozen=True)
class Case:
    """A classifier, its rows and what it takes."""

    name: str
    estimator: Any
    X: NDArray[Any]
    sparse: bool = False
    counts: bool = False  # refuses what is negative

    @property
    def y(self) -> NDArray[Any]:
        return LABELS

    @property
    def width(self) -> int:
        return self.X.shape[1]

    @property
    def names(self) -> list[str]:
        return NAMES[: self.width]

    def new(self, **options: Any) -> Any:
        """An unfitted classifier."""
        return clone(self.estimator).set_params(**options)

    def fit(self, **options: Any) -> Any:
        """A fitted classifier."""
        return self.new(**options).fit(self.X, self.y)


GAUSSIAN = [
    Case("GDA", GDA(), NUMBERS),
    Case("GDA diagonal", GDA(diagonal=True), NUMBERS),
    Case("GDA separate", GDA(shared=False), NUMBERS),
    Case("GDA separate diagonal", GDA(shared=False, diagonal=True), NUMBERS),
    Case("GaussianNB", GaussianNB(), NUMBERS),
]
DISCRIMINANT = [
    Case("LinearDiscriminantAnalysis", LinearDiscriminantAnalysis(), NUMBERS),
    Case("QuadraticDiscriminantAnalysis", QuadraticDiscriminantAnalysis(), NUMBERS),
    Case("GDA auto", GDA("auto"), NUMBERS),
    Case("GDA between", GDA(shared=0.3), NUMBERS),
    Case("GDA VEE", GDA("VEE"), NUMBERS),
    Case("GDA rank", GDA(rank=1), NUMBERS),
]
CENTROIDS = [Case("NearestShrunkenCentroids", NearestShrunkenCentroids(0.1), NUMBERS)]
CATEGORICAL = [
    Case("CategoricalNB", CategoricalNB(), CODES, counts=True),
    Case("CategoricalNB bins", CategoricalNB(bins=Discretizer()), NUMBERS),
]
LINEAR = [
    Case("BernoulliNB", BernoulliNB(), (COUNTS > 1).astype(int), sparse=True),
    Case("MultinomialNB", MultinomialNB(), COUNTS, sparse=True, counts=True),
    Case("ComplementNB", ComplementNB(), COUNTS, sparse=True, counts=True),
    Case("PoissonNB", PoissonNB(), COUNTS, sparse=True, counts=True),
]
DISCRETE = CATEGORICAL + LINEAR
POSITIVE = [Case("GammaNB", GammaNB(), SIZES, counts=True)]
PAIRED = [Case("TAN", TAN(), CODES, counts=True), Case("AODE", AODE(), CODES, counts=True)]
CASES = GAUSSIAN + DISCRETE + POSITIVE + PAIRED + CENTROIDS
FULL = [GAUSSIAN[0], GAUSSIAN[2]]  # the forms with covariances


def each(cases: list[Case], *always: Case) -> pytest.MarkDecorator:
    """Run a test for each of these cases, under its name; given some, the others at night only."""
    marked = at_night(cases, *(always or cases))
    return pytest.mark.parametrize("case", marked, ids=lambda case: case.name.replace(" ", "-"))


def table(names: str, rows: dict[str, tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Run a test for each row, under its name."""
    return pytest.mark.parametrize(
        names.split(), [pytest.param(*values, id=name) for name, values in rows.items()]
    )


@contextmanager
def refused(*words: str, by: Any = (ValueError, TypeError)) -> Iterator[None]:
    """What happens here is refused with a message that says all of these words, in any case."""
    with pytest.raises(by) as caught:
        yield
    message = str(caught.value)
    missing = [word for word in words if word.lower() not in message.lower()]
    assert not missing, f"{missing} not in the message: {message}"


@contextmanager
def unchanged(model: Any, X: Any) -> Iterator[None]:
    """What happens here leaves the model as it was: attributes, statistics and predictions."""
    before = copy.deepcopy(model)
    yield
    assert vars(model).keys() == vars(before).keys()
    assert model.get_params(deep=False).keys() == before.get_params(deep=False).keys()
    assert model.model_ == before.model_
    np.testing.assert_array_equal(model.classes_, before.classes_)
    np.testing.assert_array_equal(model.class_count_, before.class_count_)
    np.testing.assert_array_equal(model.predict_log_proba(X), before.predict_log_proba(X))
