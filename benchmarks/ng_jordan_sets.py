"""Naive Bayes and logistic regression on the same rows, few and many: the sets and the curves.

Both have the same form, and so are a pair in the sense of Ng & Jordan (2001). For numbers naive
Bayes has a mean of each class and one variance for all, which is GDA(diagonal=True); for categories
it has shares, smoothed by one pseudo-count, and logistic regression a weight for each value. A hole
is a value of its own. Logistic regression maximises the likelihood alone, and once more with
scikit-learn's penalty, C=1. Sizes, repeats and rows to be judged by are those of genus.compare.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from genus import GDA, CategoricalNB
from genus.evaluate.comparing.curves import Curves
from genus.evaluate.comparing.points import BLOCKS, Deal, Line, deals, judged, sizes_for

BAYES, LIKELIHOOD, PENALISED = "naive Bayes", "logistic regression", "the same with a penalty, C=1"
MOST_ROWS = 5000  # of a set, chosen by seed
FEW_ROWS = 2000  # up to which rows are dealt three times, not twice
MOST_STEPS = 300
MOST_GRADES = 10

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """A set: numbers (m, n), or codes of categories with how many each column has; and classes."""

    X: Array | Codes
    y: Codes
    values: tuple[int, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where a set comes from, and whether Figure 1 of the paper has it."""

    name: str
    read: Callable[[Path], Rows]
    paper: bool


@dataclass(frozen=True)
class Pair:
    """The curves of a set."""

    name: str
    rows: int
    paper: bool
    curves: Curves


def numbers(table: pd.DataFrame, y: Any) -> Rows:
    """Columns of numbers."""
    return Rows(table.select_dtypes("number").to_numpy(float), pd.factorize(y, sort=True)[0])


def categories(table: pd.DataFrame, y: Any) -> Rows:
    """Columns of anything but numbers, as codes; a few grades count as categories."""
    kept = [name for name in table if not is_numeric_dtype(table[name]) or is_grade(table[name])]
    found = [pd.factorize(table[name].astype(object).fillna("?"), sort=True) for name in kept]
    codes = np.column_stack([codes for codes, _ in found])
    return Rows(codes, pd.factorize(y, sort=True)[0], tuple(len(values) for _, values in found))


def is_grade(column: pd.Series) -> bool:
    return bool(column.nunique() <= MOST_GRADES)


def uci(folder: Path, name: str, kind: Callable[..., Rows], ignore: Sequence[str] = ()) -> Rows:
    """A file of uci/, of which the last column is the class."""
    table = pd.read_csv(folder / "uci" / f"{name}.csv.gz").drop(columns=list(ignore))
    return kind(table.iloc[:, :-1], table.iloc[:, -1])


def adult(folder: Path, kind: Callable[..., Rows]) -> Rows:
    """The numbers of Adult, or all else."""
    table = pd.read_csv(folder / "adult-train.csv.gz")
    return kind(table.drop(columns="income"), table["income"])


def digits(_: Path, only: Sequence[int] = range(10)) -> Rows:
    """Scikit-learn's digits, which are the test part of UCI's optdigits."""
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, only)
    return Rows(X[kept], np.searchsorted(only, y[kept]))


def wisconsin(_: Path) -> Rows:
    return Rows(*load_breast_cancer(return_X_y=True))


SOURCES = (
    Source("pima, numbers", partial(uci, name="diabetes", kind=numbers), True),
    Source("adult, numbers", partial(adult, kind=numbers), True),
    Source("ionosphere, numbers", partial(uci, name="ionosphere", kind=numbers), True),
    Source("optdigits, 0 and 1", partial(digits, only=(0, 1)), True),
    Source("optdigits, 2 and 3", partial(digits, only=(2, 3)), True),
    Source("adult, categories", partial(adult, kind=categories), True),
    Source("breast cancer, categories", partial(uci, name="breast.cancer", kind=categories), True),
    Source("vote, categories", partial(uci, name="vote", kind=categories), True),
    Source("optdigits, all ten", digits, False),
    Source("Wisconsin, numbers", wisconsin, False),
    Source("spambase, numbers", partial(uci, name="spambase", kind=numbers), False),
    Source("credit.g, categories", partial(uci, name="credit.g", kind=categories), False),
    Source("mushroom, categories", partial(uci, name="mushroom", kind=categories), False),
    Source("tic-tac-toe, categories", partial(uci, name="tic-tac-toe", kind=categories), False),
    Source("kr.vs.kp, categories", partial(uci, name="kr.vs.kp", kind=categories), False),
    Source(
        "splice, categories",
        partial(uci, name="splice", kind=categories, ignore=["Instance_name"]),
        False,
    ),
)


class Separable(ValueError):
    """No column varies within a class."""


class OneVariance:
    """GDA(diagonal=True) of the columns that vary within a class."""

    def fit(self, X: Array, y: Codes) -> Self:
        means = np.array([X[y == k].mean(axis=0) for k in np.unique(y)])
        within = X - means[np.searchsorted(np.unique(y), y)]
        self.varied = (within**2).mean(axis=0) > 1e-12 * (X**2).mean(axis=0)
        if not self.varied.any():
            raise Separable("No column varies within a class.")
        self.model = GDA(diagonal=True).fit(X[:, self.varied], y)
        return self

    def predict_proba(self, X: Array) -> Array:
        return self.model.predict_proba(X[:, self.varied])


class Regression:
    """Logistic regression of numbers, scaled, or of ones and zeros as they are."""

    def __init__(self, C: float, scaled: bool) -> None:
        self.scaler = StandardScaler(with_mean=scaled, with_std=scaled)
        self.model = LogisticRegression(C=C, max_iter=MOST_STEPS)

    def fit(self, X: Array, y: Codes) -> Self:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # separable rows have no maximum
            self.model.fit(self.scaler.fit_transform(X), y)
        return self

    def predict_proba(self, X: Array) -> Array:
        return self.model.predict_proba(self.scaler.transform(X))


def ones(rows: Rows) -> Array:
    """A column of zeros and ones for each value of each column."""
    parts = [np.eye(n)[codes] for n, codes in zip(rows.values, rows.X.T, strict=True)]
    return np.hstack(parts)


def learners(rows: Rows) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """The names of the lines, what each reads, and a model of it."""
    encoded = ones(rows) if rows.values else rows.X
    if rows.values:
        yield BAYES, rows.X, partial(CategoricalNB, alpha=1, min_categories=rows.values)
    else:
        yield BAYES, rows.X, OneVariance
    for name, C in ((LIKELIHOOD, np.inf), (PENALISED, 1.0)):
        yield name, encoded, partial(Regression, C, not rows.values)


def some(rows: Rows, most: int) -> Rows:
    """At most so many rows, by seed."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows.y))[:most])
    return Rows(rows.X[chosen], rows.y[chosen], rows.values)


def line(
    name: str, X: Any, y: Codes, make: Callable[[], Any], at: Any, dealt: Sequence[Deal]
) -> Line:
    """One learner at each size in each repeat; every point is fitted anew."""
    error, loss = np.full((2, len(at), len(dealt)), np.nan)
    for r, deal in enumerate(dealt):
        for s, (size, blocks) in enumerate(at):
            chosen = deal.rows(size, blocks)
            try:
                model = make().fit(X[chosen], y[chosen])
            except Separable:
                continue
            error[s, r], loss[s, r] = judged(model.predict_proba(X[deal.test]), y[deal.test])
    return Line(name, error, loss, np.full(len(at), np.nan))


def pair(source: Source, folder: Path, most: int = MOST_ROWS, times: int | None = None) -> Pair:
    """The curves of a set, of at most so many rows, dealt so many times into ten blocks."""
    rows = some(source.read(folder), most)
    at = sizes_for(len(rows.y), int(rows.y.max()) + 1, BLOCKS)
    times = times or (3 if len(rows.y) <= FEW_ROWS else 2)
    dealt = list(deals(rows.y, BLOCKS, times, 0))
    lines = tuple(line(name, X, rows.y, make, at, dealt) for name, X, make in learners(rows))
    tested = min(len(deal.test) for deal in dealt)
    sizes = np.array([size for size, _ in at])
    return Pair(
        source.name,
        len(rows.y),
        source.paper,
        Curves(sizes, lines, tested, np.nan, np.nan, np.empty(0, np.intp)),
    )
