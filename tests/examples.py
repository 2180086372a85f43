"""Every classifier in its variants, each with data that it is for: one entry, and all laws apply.

A variant brings a classifier, what the columns of its data can hold, a few rows that it can be
solved from, options to solve it again with, and how its samples are compared with its density.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln
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
    TableClassifier,
    TextClassifier,
)
from genus.arrays.vocabulary import Vocabulary
from genus.solve.grid import Grid
from genus.table import Column, Frame, Plan, open_table
from genus.table.plan import hashed
from genus.text import Texts

Array = np.ndarray[Any, Any]
Strategy = st.SearchStrategy[Any]

NAN = float("nan")
LABELS = ("eggs", "ham", "spam")
PRIORS = {"eggs": 0.2, "ham": 0.5, "spam": 0.3}


@dataclass(frozen=True, eq=False)
class Rows:
    """X (m, n), labels y (m,) and weights (m,), or None; A + B is A ++ B."""

    X: Array
    y: Array
    weight: Array | None = None

    @property
    def weights(self) -> Array:
        return np.ones(len(self)) if self.weight is None else self.weight

    def weighing(self, weight: float | None) -> Rows:
        return replace(self, weight=None if weight is None else np.full(len(self), weight))

    def map(self, change: Callable[[Array], Array]) -> Rows:
        return replace(self, X=change(self.X))

    @property
    def traces(self) -> set[str | float]:
        """What would give these rows away: words, and numbers that are not round."""
        values = {*self.y.tolist(), *self.X.ravel().tolist()}
        texts = (v for v in values if isinstance(v, str))
        words = {word for text in texts for word in text.lower().split() if len(word) > 2}
        return words | {v for v in values if isinstance(v, float) and v % 1}

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, chosen: Any) -> Rows:
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(self.X[chosen], self.y[chosen], weight)

    def __iter__(self) -> Iterator[Rows]:
        return (self[i : i + 1] for i in range(len(self)))

    def __add__(self, other: Rows) -> Rows:
        neither = self.weight is None and other.weight is None
        return Rows(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            None if neither else np.concatenate([self.weights, other.weights]),
        )


# What columns can hold: whole numbers, so that sums are exact, and holes

numbers = st.sampled_from([NAN, *range(-8, 9)])
counts = st.sampled_from([NAN, 0, 0, 0, 1, 2, 7, 1000])
shares = st.sampled_from([NAN, *(np.arange(1, 16) / 16)])
codes = st.sampled_from([NAN, 0, 1, 2, 5])
words = st.sampled_from([None, "", "okapi", "quagga", "zebra"])
animals = st.sampled_from(["okapi", "Quagga", "zebra", "zebra", "żubr", "of", "x"])
texts = st.lists(animals, max_size=6).map(" ".join)
sizes = st.sampled_from([NAN, 0.0, -0.0, -2.5, 0.3, 1.0, 1.0001, 7.0, 400.0, 1e8])
# Whole numbers as logarithms
powers = st.sampled_from([NAN, 0.25, 0.5, 1.0, 1.0, 2.0, 8.0, 1024.0])

halves = st.sampled_from([0.25, 0.5, 1.0, 1.0, 2.0, 3.0])

# Rows that everything can be solved from: in general position, and all values seen

HAM = [[0, 0], [1, 0], [0, 1], [2, 3], [-1, 2], [3, -1]]
SPAM = [[2, 1], [4, 2], [3, -2], [1, 1], [5, 0], [2, 4]]
NUMBERS = Rows(np.array([*HAM, *SPAM], dtype=float), np.repeat(["ham", "spam"], 6))
COUNTS = Rows(
    np.array(
        [[1, 0, 2], [0, 0, 3], [2, 1, 1], [1, 0, 0], [0, 2, 0], [3, 1, 0], [1, 1, 1], [0, 4, 1]],
        dtype=float,
    ),
    np.repeat(["ham", "spam"], 4),
)
CODES = Rows(
    np.array([[0, 1], [1, 0], [2, 1], [0, 1], [1, 1], [2, 0], [1, 0], [2, 2]], dtype=float),
    np.repeat(["ham", "spam"], 4),
)
WORDS = CODES.map(lambda X: np.array(["okapi", "quagga", "zebra"], dtype=object)[X.astype(int)])
MIXED = replace(CODES, X=np.stack([WORDS.X[:, 0], CODES.X[:, 1].astype(object)], axis=1))
THREE = replace(CODES, X=np.hstack([MIXED.X, WORDS.X[::-1, :1]]))
TEXTS = COUNTS.map(
    lambda X: np.array(
        [[" ".join(np.repeat(["okapi", "quagga", "zebra"], row))] for row in X.astype(int)],
        dtype=object,
    )
)
SIZES = Rows(
    np.array([[0.3, 1], [2, 7], [1, 1], [0.5, 2], [3, 400], [7, 350], [5, 90], [400, 7]]),
    np.repeat(["ham", "spam"], 4),
)
POWERS = Rows(
    np.array([[0.25, 1], [2, 8], [1, 4], [0.5, 2], [4, 64], [8, 1024], [2, 16], [64, 8]]),
    np.repeat(["ham", "spam"], 4),
)


def csr(X: Array) -> Any:
    """X as a CSR matrix, with the zeros of every other row written out."""
    row, column = np.nonzero((X != 0) | (np.arange(len(X)) % 2 == 0)[:, None])
    return scipy.sparse.csr_matrix((X[row, column], (row, column)), shape=X.shape)


# How likely samples of class k are under its density: small if the sampler is wrong


def normal_fit(model: Any, label: str, X: Array) -> float:
    """(x - μ)ᵀ Σ⁻¹ (x - μ) = -2 log p(x)/p(μ) is χ² of n, and so is each column's of 1."""
    k = model.classes_.tolist().index(label)
    mean = model.model_.parameters.mean[[k]]
    n, peak = X.shape[1], model.predict_joint_log_proba(mean)[0, k]
    distances = [(-2 * (model.predict_joint_log_proba(X)[:, k] - peak), n)]
    for j in range(n):
        alone, there = (np.where(np.arange(n) == j, rows, NAN) for rows in (X, mean))
        joint = model.predict_joint_log_proba(alone)[:, k]
        distances.append((-2 * (joint - model.predict_joint_log_proba(there)[0, k]), 1))
    centred = [stats.ttest_1samp(X[:, j], mean[0, j]).pvalue for j in range(n)]
    return min(*centred, *(stats.kstest(d, stats.chi2(df).cdf).pvalue for d, df in distances))


def value_fit(model: Any, label: str, X: Array) -> float:
    """χ² of the frequencies of all rows there can be; numbers in bins are told apart by bin."""
    edges = getattr(model, "bin_edges_", [None] * X.shape[1])
    cells = [
        x if cuts is None else np.searchsorted(cuts, x.astype(float), side="right")
        for x, cuts in zip(X.T, edges, strict=True)
    ]
    kinds, first, index = zip(
        *(np.unique(cell, return_index=True, return_inverse=True) for cell in cells), strict=True
    )
    support = np.array(
        list(product(*(x[i] for x, i in zip(X.T, first, strict=True)))), dtype=X.dtype
    )
    observed = np.zeros([len(kind) for kind in kinds])
    np.add.at(observed, tuple(index), 1)
    return frequency_fit(observed.ravel(), log_probability(model, label, support))


def list_fit(model: Any, label: str, X: Array) -> float:
    """χ² of the rows of the commonest length, n!/Πx! lists to each; χ² of the mean length."""
    lengths = X.sum(axis=1)
    k = model.classes_.tolist().index(label)
    expected = model.feature_count_[k].sum() / model.class_count_[k]
    length = int(stats.mode(lengths[lengths > 0]).mode)
    support = np.array(
        [x for x in product(range(length + 1), repeat=X.shape[1]) if sum(x) == length], dtype=float
    )
    observed = (X[:, None] == support).all(axis=2).sum(axis=0)
    orders = gammaln(length + 1) - gammaln(support + 1).sum(axis=1)
    conditional = frequency_fit(observed, log_probability(model, label, support) + orders)
    return min(conditional, float(stats.ttest_1samp(lengths, expected).pvalue))


def gamma_fit(model: Any, label: str, X: Array) -> float:
    """Kolmogorov-Smirnov of each column, correlation of each two; 0 if log p(x|y) is another."""
    k = model.classes_.tolist().index(label)
    density = stats.gamma(model.shape_[k], scale=1 / model.rate_[k])
    joint = model.predict_joint_log_proba(X)[:, k] - model.model_.log_prior[k]
    if not np.allclose(joint, density.logpdf(X).sum(axis=1), rtol=1e-9, atol=1e-9):
        return 0.0
    columns = [stats.kstest(u, "uniform").pvalue for u in density.cdf(X).T]
    pairs = (stats.spearmanr(X[:, i], X[:, j]).pvalue for j in range(X.shape[1]) for i in range(j))
    return min(*columns, *pairs)


@dataclass(frozen=True)
class Counted:
    """A classifier of texts as one of counts: row x is the text that holds word v x_v times."""

    model: Any

    def __getattr__(self, name: str) -> Any:
        counts = "document_count_" if self.model.event_model == "boolean" else "word_count_"
        return getattr(self.model, counts if name == "feature_count_" else name)

    def log_likelihood(self, X: Array, y: list[str]) -> float:
        model = self.model
        if model.event_model == "boolean":  # the lists that are drawn, and not the sets they make
            slope, k = model.model_.parameters.linear[0], model.classes_.tolist().index(y[0])
            return float(X[0] @ slope[k] + model.model_.log_prior[k])
        words = model.get_feature_names_out()
        return model.log_likelihood([" ".join(np.repeat(words, X[0].astype(int)))], y)


def text_fit(model: Any, label: str, X: Array) -> float:
    """As of lists of words, or of their presence."""
    counts = model.vectorize(X).toarray().astype(float)
    fit = value_fit if model.event_model == "bernoulli" else list_fit
    return fit(Counted(model), label, counts)


def log_probability(model: Any, label: str, support: Array) -> Array:
    """log p(x|y) of the density that the classifier stands on."""
    log_prior = np.log(model.model_.prior[model.classes_.tolist().index(label)])
    return np.array([model.log_likelihood(x[None], [label]) for x in support]) - log_prior


def frequency_fit(observed: Array, log_probabilities: Array) -> float:
    """χ² test; rare cells are taken together. 0 if the probabilities do not add up to 1."""
    probabilities = np.exp(log_probabilities)
    if abs(probabilities.sum() - 1) > 1e-3:
        return 0.0
    expected = observed.sum() * probabilities / probabilities.sum()
    rare = expected < 5
    pooled = [np.append(cells[~rare], cells[rare].sum()) for cells in (observed, expected)]
    kept = pooled[1] > 0
    return float(stats.chisquare(pooled[0][kept], pooled[1][kept]).pvalue)


# Tables are read by a plan, which is made before anything is counted: here it is always the same.

KNOWN = tuple(sorted(map(hashed, ["okapi", "zebra"])))
PLAN = Plan(
    (
        Column(
            "x0", "number", "double", grid=Grid(0.125), paired=True, edges=(-4.0, 0.0, 2.0, 4.0)
        ),
        Column("x1", "category", "string", paired=True, known=KNOWN),
        Column("x2", "category", "string"),
        Column("x3", "text", "string"),
        Column("x4", "number", "double", grid=Grid(1.0, 13), paired=True, edges=(0.0, 1.0, 64.0)),
    )
)
TABLE = Rows(
    np.concatenate(
        [
            NUMBERS.X[:8, :1].astype(object),
            WORDS.X,
            TEXTS.X,
            COUNTS.X[:, :1].astype(object),
        ],
        axis=1,
    ),
    CODES.y,
)
SHARES = replace(TABLE, X=TABLE.X.copy())
SHARES.X[:, 0] = [(1 + x % 8) / 16 for x in TABLE.X[:, 0]]


class PlannedTable(TableClassifier):
    """A classifier of tables with a plan that is made already."""

    def _look(self, rows: Any, target: Any, classes: int, total: int | None) -> None:
        self._follow(PLAN)


class ClosedTexts(TextClassifier):
    """A classifier of texts whose words were chosen already, as by `fit(…, like=…)`."""

    def __new__(cls, *_: Any, **__: Any) -> ClosedTexts:
        made = super().__new__(cls)
        made._counted_words = CLOSED
        return made

    def _start_over(self, like: Any = None) -> None:
        super()._start_over(like)
        self._counted_words = CLOSED


CLOSED = Vocabulary.of(["", "okapi", "zebra", "of okapi"])


def frame(X: Array) -> Frame:
    """X as a table is counted."""
    source = open_table({f"x{j}": X[:, j].tolist() for j in range(len(PLAN))})
    return Frame.of(source.table(), PLAN)


class WideGDA(GDA):
    """GDA that keeps rows for as long as they are fewer than their columns, however few."""

    def _family(self) -> Any:
        return replace(super()._family(), wide=1)


# The registry

# Their options are those of other variants, put together otherwise.
NIGHTLY = {
    "TableClassifier given",
    "TableClassifier product given",
    "TableClassifier together",
    "TableClassifier without dependence",
    "TextClassifier calibrated auto",
    "TextClassifier chosen from pairs",
    "BernoulliNB alpha=0 CSR",
    "BernoulliNB m",
    "CategoricalNB auto",
    "CategoricalNB mdlp auto",
    "CategoricalNB uniform",
    "CategoricalNB words auto",
    "CategoricalNB words smooth",
    "ComplementNB alpha=0 CSR",
    "ComplementNB alpha=1e-10 CSR",
    "ComplementNB auto",
    "ComplementNB norm CSR",
    "GDA 0.1",
    "GDA EVI",
    "GDA VEE",
    "GDA oas",
    "GDA separate 0.1",
    "GDA separate ledoit-wolf",
    "GDA separate unbiased",
    "GDA unbiased",
    "GDA wide oas",
    "GammaNB alpha=0.01",
    "LDA",
    "LDA auto",
    "MultinomialNB alpha=0 CSR",
    "MultinomialNB alpha=1e-10 CSR",
    "PoissonNB alpha=0 CSR",
    "PoissonNB auto",
    "TextClassifier auto",
    "TextClassifier closed auto",
    "TextClassifier common",
    "TextClassifier complement",
    "TextClassifier stop words",
}


@dataclass(frozen=True, repr=False)
class Variant:
    """`options` are what `resolve` may change; `fit` compares samples with the density.

    There is none for tokens that overlap, which no text can hold as they are drawn.
    """

    name: str
    estimator: Any
    columns: tuple[Strategy, ...]
    solid: Rows
    fit: Callable[[Any, str, Array], float] | None
    options: tuple[dict[str, Any], ...] = ()
    layout: Callable[[Array], Any] = field(default=np.asarray)

    def __repr__(self) -> str:
        return self.name

    @property
    def is_nightly(self) -> bool:
        """Whether other variants reach all of its code, so that `make test` leaves it out."""
        return self.name in NIGHTLY

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(self.name)

    @property
    def is_real(self) -> bool:
        """Whether the columns are real numbers, of any size and precision."""
        return self.fit is normal_fit

    @property
    def is_positive(self) -> bool:
        """Whether the columns are positive numbers, of any size and precision."""
        return self.fit is gamma_fit

    @property
    def is_saved(self) -> bool:
        """Whether a file can hold it: a function is no data."""
        own = isinstance(self.estimator, PlannedTable | ClosedTexts | WideGDA)
        return getattr(self.estimator, "tokenizer", None) is None and not own

    @cached_property
    def family(self) -> Any:
        estimator = clone(self.estimator)
        estimator.n_features_in_ = len(self.columns)
        if isinstance(estimator, PlannedTable):
            estimator._follow(PLAN)
        return estimator._family()

    def count(self, rows: Rows) -> Any:
        """The statistics of rows."""
        classes, y = np.unique(rows.y, return_inverse=True)
        X = self.layout(rows.X)
        X = Texts.of(X) if isinstance(self.estimator, TextClassifier) else X
        X = frame(rows.X) if isinstance(self.estimator, TableClassifier) else X
        return self.family.count(X, y.astype(np.int64), classes, rows.weight)

    def rows(
        self, least: int = 0, most: int = 6, weight: Strategy = halves, columns: Any = None
    ) -> Strategy:
        """Rows of any classes; about half of the time without weights."""
        row = st.tuples(st.sampled_from(LABELS), st.tuples(*(columns or self.columns)), weight)
        return st.builds(self._stack, st.lists(row, min_size=least, max_size=most), st.booleans())

    def training(self, most: int = 4) -> Strategy:
        """Some of the solid rows, of both classes, and rows of any class."""
        half = len(self.solid) // 2
        of_each = st.sets(st.integers(0, half - 1), min_size=min(4, half - 1))
        return st.builds(
            lambda one, two, more: self.solid[[*one, *(half + i for i in two)]] + more,
            of_each,
            of_each,
            self.rows(most=most),
        )

    def _stack(self, drawn: list[Any], weighted: bool) -> Rows:
        y, X, weight = zip(*drawn, strict=True) if drawn else ((), (), ())
        table = np.empty((len(y), len(self.columns)), dtype=self.solid.X.dtype)
        for i, row in enumerate(X):
            table[i] = row
        return Rows(
            table, np.array(y, dtype="U4"), np.array(weight, dtype=float) if weighted else None
        )


def variants() -> Iterator[Variant]:
    def gaussian(name: str, estimator: Any, *options: dict[str, Any]) -> Variant:
        options += ({"priors": PRIORS},)
        return Variant(name, estimator, (numbers, numbers), NUMBERS, normal_fit, options)

    unbiased = {"unbiased": True}
    shared = {"shared": True}
    diagonal = {"diagonal": True, "shrinkage": None}
    shrunk = {"shrinkage": 0.3}
    oas = {"shrinkage": "oas"}
    both = shared | diagonal
    every = (unbiased, shrunk, oas, shared, diagonal, both, shared | oas, shared | shrunk)
    yield gaussian("GDA", GDA(), unbiased, shrunk, oas, diagonal, diagonal | unbiased)
    yield gaussian("GDA unbiased", GDA(unbiased=True), {"unbiased": False}, diagonal)
    yield gaussian("GDA 0.1", GDA(shrinkage=0.1), oas, {"shrinkage": None})
    yield gaussian("GDA oas", GDA(shrinkage="oas"), shrunk, unbiased)
    yield gaussian("GDA ledoit-wolf", GDA(shrinkage="ledoit-wolf"), *every, {"shared": False})
    yield gaussian("GDA separate", GDA(shared=False), *every)
    yield gaussian("GDA separate unbiased", GDA(shared=False, unbiased=True), *every)
    yield gaussian("GDA rank", GDA(rank=1), unbiased, shrunk, oas, diagonal, {"rank": None})
    yield gaussian("GDA between", GDA(shared=0.3), *every)
    yield gaussian("GDA between 0.1", GDA(shared=0.6, shrinkage=0.1, unbiased=True), *every)
    yield gaussian("GDA auto", GDA("auto"), *every, {"shared": 0.3})
    yield gaussian("GDA auto diagonal", GDA("auto", diagonal=True, unbiased=True), *every)
    for code in ("EVI", "VEE", "VVE", "VEV"):
        yield gaussian(f"GDA {code}", GDA(code), {"shared": "VVV"}, {"shared": "EEV"}, shared)
    yield gaussian("GDA separate 0.1", GDA(shared=False, shrinkage=0.1), *every)
    yield gaussian("GDA separate oas", GDA(shared=False, shrinkage="oas", unbiased=True), *every)
    yield gaussian("GDA separate ledoit-wolf", GDA(shared=False, shrinkage="ledoit-wolf"), *every)
    lda, qda = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    yield gaussian("LDA", lda(), {"solver": "lsqr"})
    yield gaussian("LDA lsqr", lda("lsqr", 0.1, PRIORS), {"solver": "svd", "shrinkage": None})
    yield gaussian("LDA auto", lda("eigen", "auto"), {"shrinkage": 0.2})
    yield gaussian("QDA", qda(reg_param=0.2), {"reg_param": 0.5}, {"solver": "eigen"})
    wide = Rows(
        np.hstack([NUMBERS.X, NUMBERS.X[:, ::-1] ** 2 % 7, NUMBERS.X[:, :1] ** 3 % 5]), NUMBERS.y
    )
    for name, estimator, options in (
        ("GDA wide", WideGDA(singular="error"), (unbiased, shrunk, oas, diagonal)),
        ("GDA wide oas", WideGDA(shrinkage="oas"), (shrunk, unbiased)),
        ("GDA wide separate", WideGDA(False, shrinkage="oas"), every),
        ("GDA wide auto", WideGDA("auto"), (shared, diagonal)),
        ("GDA wide ledoit-wolf", WideGDA(shrinkage="ledoit-wolf"), (*every, {"shared": False})),
    ):
        rows = replace(gaussian(name, estimator, *options), solid=wide)
        yield replace(rows, columns=(numbers,) * wide.X.shape[1])
    yield gaussian("GDA diagonal", GDA(diagonal=True), unbiased, {"shared": False})
    yield gaussian("GDA separate diagonal", GDA(shared=False, diagonal=True), shared, unbiased)
    centroids = NearestShrunkenCentroids
    yield gaussian("NearestShrunkenCentroids", centroids(0.5), {"threshold": 0}, {"threshold": 9})
    yield gaussian("GaussianNB", GaussianNB(), unbiased, {"var_smoothing": 0.5})
    yield gaussian(
        "GaussianNB floor",
        GaussianNB(var_smoothing=0.3, unbiased=True, priors=PRIORS),
        {"var_smoothing": 1e-9},
        {"priors": None},
    )

    smoothings: tuple[dict[str, Any], ...] = (
        {"alpha": 0.3},
        {"alpha": "auto"},
        {"alpha": 0},
        {"m": 2},
        {"fit_prior": False},
        {"priors": PRIORS},
        {"class_prior": PRIORS, "alpha": 2},
        {"prior_alpha": 1.5},
    )

    def discrete(
        name: str, estimator: Any, solid: Rows, cell: Any, fit: Any, *options: dict[str, Any]
    ) -> Variant:
        n = solid.X.shape[1]
        columns = cell if isinstance(cell, tuple) else (cell,) * n
        return Variant(name, estimator, columns, solid, fit, smoothings + options)

    def dense_and_sparse(variant: Variant) -> Iterator[Variant]:
        yield variant
        yield replace(variant, name=f"{variant.name} CSR", layout=csr)

    def bernoulli(name: str, *options: dict[str, Any], **parameters: Any) -> Iterator[Variant]:
        return dense_and_sparse(
            discrete(name, BernoulliNB(**parameters), COUNTS, counts, value_fit, *options)
        )

    yield from bernoulli("BernoulliNB", {"m": 2, "p": 0.3}, {"m": 2, "p": [0.1, 0.5, 0.9]})
    yield from bernoulli("BernoulliNB 0.5", binarize=0.5, alpha=[0.5, 1, 2], prior_alpha=1)
    yield from dense_and_sparse(
        discrete(
            "BernoulliNB negative",
            BernoulliNB(binarize=-1, priors=PRIORS),
            NUMBERS,
            numbers,
            value_fit,
        )
    )
    yield from bernoulli("BernoulliNB alpha=0", alpha=0, fit_prior=False)
    yield next(bernoulli("BernoulliNB auto", alpha="auto", binarize=1))
    yield next(bernoulli("BernoulliNB m", m=3, p=[0.2, 0.5, 0.9]))

    def categorical(
        name: str, solid: Rows, cell: Any, *options: dict[str, Any], **parameters: Any
    ) -> Variant:
        return discrete(name, CategoricalNB(**parameters), solid, cell, value_fit, *options)

    smooth = {"unseen": "smooth"}
    yield categorical("CategoricalNB", CODES, codes, smooth, {"min_categories": 9})
    yield categorical("CategoricalNB min", CODES, codes, smooth, min_categories=[7, 2])
    yield categorical("CategoricalNB smooth", CODES, codes, {"unseen": "ignore"}, unseen="smooth")
    yield categorical("CategoricalNB auto", CODES, codes, alpha="auto")
    yield categorical("CategoricalNB words", WORDS, words, smooth)
    yield categorical("CategoricalNB words smooth", WORDS, words, unseen="smooth", prior_alpha=1)
    yield categorical("CategoricalNB words auto", WORDS, words, alpha="auto", unseen="smooth")
    yield categorical("CategoricalNB words alpha=0", WORDS, words, smooth, alpha=0)
    yield categorical("CategoricalNB mixed", MIXED, (words, codes), m=2, priors=PRIORS)

    def binned(name: str, *options: dict[str, Any], **parameters: Any) -> Variant:
        return categorical(f"CategoricalNB {name}", SIZES, sizes, *options, **parameters)

    grid = [{"bins": Discretizer(strategy)} for strategy in ("mdlp", "quantile", "uniform")]
    grid.append({"bins": Discretizer("quantile", n_bins=3)})
    per_column = Discretizer(edges=[[0.5, 2.5], [1, 50, 300]])
    yield binned("edges", bins=Discretizer(edges=[-1, 1, 10]))
    yield binned("edges by column", bins=per_column, alpha="auto")
    yield binned("mdlp", *grid, bins=Discretizer())
    yield binned("quantile", *grid, bins=Discretizer("quantile", n_bins=3))
    yield binned("uniform", *grid, bins=Discretizer("uniform", n_bins=4))
    yield binned("mdlp auto", *grid, bins=Discretizer(), alpha="auto")
    yield binned("uniform origin", bins=Discretizer("uniform", n_bins=3, origin=200.0), m=1)

    for dependent in (TAN, AODE):
        name = dependent.__name__
        again = {"alpha": 0.3}, {"priors": PRIORS}, {"alpha": 4, "priors": PRIORS}
        for told, rows, cell, options in (
            ("", CODES, (codes, codes), {}),
            (" words", WORDS, (words, words), {"alpha": 0.5, "priors": PRIORS}),
            (" mixed", THREE, (words, codes, words), {"alpha": 0.1}),
        ):
            estimator = dependent(**options)
            yield Variant(f"{name}{told}", estimator, cell, rows, value_fit, again)

    def things(name: str, estimator: Any, *options: dict[str, Any]) -> Iterator[Variant]:
        return dense_and_sparse(discrete(name, estimator, COUNTS, counts, list_fit, *options))

    guess = {"m": 3, "p": [0.2, 0.5, 0.3]}
    yield from things("MultinomialNB", MultinomialNB(), guess)
    yield from things("MultinomialNB alpha=0", MultinomialNB(alpha=0))
    yield from things("MultinomialNB alpha=1e-10", MultinomialNB(alpha=1e-10))
    yield next(things("MultinomialNB auto", MultinomialNB(alpha="auto", priors=PRIORS)))
    yield from things("ComplementNB", ComplementNB(), guess, {"norm": True}, {"fit_prior": True})
    yield from things("ComplementNB norm", ComplementNB(norm=True, priors=PRIORS), {"norm": False})
    yield from things("ComplementNB alpha=0", ComplementNB(alpha=0, fit_prior=True))
    yield from things("ComplementNB alpha=1e-10", ComplementNB(alpha=1e-10))
    yield next(things("ComplementNB auto", ComplementNB(alpha="auto", norm=True)))

    def poisson(name: str, **parameters: Any) -> Iterator[Variant]:
        options = {"m": 2, "p": 0.7}, {"m": 2, "p": [0.1, 1, 3]}
        return dense_and_sparse(
            discrete(name, PoissonNB(**parameters), COUNTS, counts, value_fit, *options)
        )

    yield from poisson("PoissonNB", priors=PRIORS)
    yield from poisson("PoissonNB alpha=0", alpha=0)
    yield next(poisson("PoissonNB auto", alpha="auto", prior_alpha=0.5))
    yield next(poisson("PoissonNB m", m=2, p=[1, 0.5, 2]))

    def gamma(name: str, **parameters: Any) -> Variant:
        options = {"alpha": 0.3}, {"alpha": 0}, {"alpha": 7}, {"priors": PRIORS}
        estimator = GammaNB(**parameters)
        return Variant(name, estimator, (powers, powers), POWERS, gamma_fit, options)

    yield gamma("GammaNB")
    yield gamma("GammaNB alpha=0", alpha=0, priors=PRIORS)
    yield gamma("GammaNB alpha=0.01", alpha=0.01)

    solving: tuple[dict[str, Any], ...] = (
        *({"event_model": e} for e in ("multinomial", "boolean", "bernoulli", "complement")),
        {"alpha": 0.3},
        {"alpha": "auto"},
        {"alpha": 0},
        {"priors": PRIORS},
        {"stop_words": ["okapi"]},
        {"min_documents": 2},
        {"min_documents": 0.3},
        {"max_features": 2},
        *({"max_features": 2, "select": by} for by in ("chi2", "mutual-information")),
    )

    def text(name: str, *options: Any, **parameters: Any) -> Variant:
        estimator = TextClassifier(*options, **parameters)
        return Variant(f"TextClassifier {name}", estimator, (texts,), TEXTS, text_fit, solving)

    for event_model in "multinomial", "boolean", "bernoulli", "complement":
        yield text(event_model, event_model)
    yield text("alpha=0", alpha=0, priors=PRIORS)
    yield text("auto", "bernoulli", alpha="auto")
    yield text("stop words", "boolean", stop_words=["of"])
    yield text("telling", "bernoulli", max_features=2, select="mutual-information")
    yield text("common", min_documents=0.3)
    yield text("pattern", token_pattern=r"\w+")
    for name, parameters in {
        "pairs": {"ngrams": (1, 2)},
        "characters": {"analyzer": "char_wb", "ngrams": (2, 4), "lowercase": False},
        "function": {"tokenizer": str.split},
    }.items():
        yield replace(text(name, **parameters), fit=None)

    closed = replace(text("closed"), fit=None)
    yield replace(closed, estimator=ClosedTexts(ngrams=(1, 2)))
    yield replace(closed, name="TextClassifier closed auto", estimator=ClosedTexts("auto"))

    few = ({"alpha": "auto"}, {"min_documents": 2}, {"max_features": 2})
    hashed = text("buckets", "bernoulli", buckets=1 << 10, ngrams=(1, 2))
    yield replace(hashed, fit=None, options=few)

    choosing = (
        *({"event_model": e} for e in ("multinomial", "boolean", "bernoulli", "complement")),
        {"stop_words": ["okapi"]},
        {"min_documents": 2},
        {"priors": PRIORS},
    )
    for name, parameters in {
        "chosen": {"event_model": "auto"},
        "chosen from pairs": {"event_model": "auto", "ngrams": (1, 2), "priors": PRIORS},
        "calibrated": {"event_model": "boolean", "calibrate": True},
        "calibrated auto": {"calibrate": True, "alpha": "auto"},
    }.items():
        yield replace(text(name, **parameters), fit=None, options=choosing)

    def planned(name: str, *options: Any, positive: bool = False, **parameters: Any) -> Variant:
        estimator = PlannedTable(**parameters)
        first, solid = (shares, SHARES) if positive else (numbers, TABLE)
        columns = (first, words, words, texts, counts)
        return Variant(f"TableClassifier{name}", estimator, columns, solid, None, options)

    def of(first: str, last: str) -> dict[str, Any]:
        return {"families": {"x0": first, "x4": last}}

    given = {"families": {"x0": "gaussian", "x1": "categorical", "x4": "discretised"}}
    together = {"families": {("x0", "x4"): "gaussian"}}
    priors, alone, product = {"priors": PRIORS}, {"dependence": False}, {"calibrate": False}
    yield planned("", given, alone, priors, product)
    yield planned(" given", {"families": "auto"}, product, **given, **priors)
    yield planned(" without dependence", given, {"dependence": True}, **alone)
    yield planned(" together", alone, priors, **together)
    yield planned(" product", given, priors, **product)
    yield planned(" tree", {"dependence": False}, priors, dependence="tree", **product)
    yield planned(" curves", product, **of("kernel", "negative-binomial"), **product)
    angles = of("degrees", "poisson"), of("radians", "kernel"), of("seconds", "seconds")
    yield planned(" angles", *angles, **of("hours", "zero-inflated"), **product)
    positive = of("lognormal", "kernel"), of("gamma", "zero-inflated")
    yield planned(" shares", *positive, positive=True, **of("beta", "degrees"), **product)
    yield planned(" product given", {"families": "auto"}, **product, **given)


VARIANTS = list(variants())
assert {variant.name for variant in VARIANTS} >= NIGHTLY
# Counting does not depend on the options that act in `solve`: one variant of each way to count.
COUNTED = list(
    {
        (str(sorted(v.family.counting.items())), v.layout, id(v.solid)): v
        for v in reversed(VARIANTS)
    }.values()
)[::-1]
