"""What is measured: each job is some data, one thing to do with it, and who does it.

The targets are how many times genus's time a peer must take, and how much memory genus may take
beyond its input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.data import Data

Call = Callable[[], Any]
SHORT = {"LinearDiscriminantAnalysis": "LDA", "QuadraticDiscriminantAnalysis": "QDA"}


@dataclass(frozen=True, eq=False)
class Estimator:
    """A class by its path and its options. A process imports only what it measures."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        module, name = self.path.rsplit(".", 1)
        return getattr(import_module(module), name)(**self.options)

    def __str__(self) -> str:
        name = self.path.rsplit(".", 1)[1]
        options = ", ".join(f"{k}={v!r}" for k, v in self.options.items())
        return f"{SHORT.get(name, name)}({options})"


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: `prepare` makes of X and y the call to be timed."""

    label: str
    library: str
    prepare: Callable[[Any, Any], Call]
    at_least: float | None = None
    rows: int | None = None  # timed on so many rows, and scaled

    def __str__(self) -> str:
        part = f", by the rate of {self.rows:,} rows" if self.rows else ""
        return f"{self.library} {self.label}{part}"


@dataclass(frozen=True, eq=False)
class Job:
    """`sides` do the same with `data`, genus first; `statistics` is how many numbers it counts."""

    name: str
    suite: str
    title: str
    data: Data
    sides: tuple[Side, ...]
    statistics: int | None = None
    most: int | None = None  # bytes beyond the input, if that is not by the statistics

    def scaled(self, divisor: int) -> Job:
        """The same with fewer rows."""
        return replace(self, data=self.data.scaled(divisor))

    @property
    def most_memory(self) -> int | None:
        """Bytes: a chunk for each of two threads, the statistics, a code and a place for each row.

        The statistics count eightfold: each thread's own, their sum and the same about the means,
        then the scatter, the covariance, the correlations and their factor.
        """
        if self.statistics is None:
            return self.most
        from genus.arrays import matrix  # not where another library is measured

        chunk = matrix.CHUNK_BYTES
        if self.title.startswith("GDA"):  # rows that are multiplied with themselves
            chunk = 8 * self.data.columns * matrix.product_rows(self.data.columns)
        return 2 * chunk + 8 * 8 * self.statistics + 2 * 8 * self.data.rows

    def __str__(self) -> str:
        return f"{self.title}, {self.data}"


# What is timed


def fit(make: Estimator, X: Any, y: Any) -> Call:
    return lambda: make().fit(X, y)


def predict(make: Estimator, X: Any, y: Any) -> Call:
    fitted = make().fit(X, y)
    return lambda: fitted.predict(X)


def predict_proba(make: Estimator, X: Any, y: Any) -> Call:
    fitted = make().fit(X, y)
    return lambda: fitted.predict_proba(X)


def fit_and_predict_proba(make: Estimator, X: Any, y: Any) -> Call:
    return lambda: make().fit(X, y).predict_proba(X)


def ten_folds(make: Estimator, X: Any, y: Any) -> Call:
    from genus import cross_validate

    return lambda: cross_validate(make(), X, y, folds=10).accuracy


def ten_refits(make: Estimator, X: Any, y: Any) -> Call:
    from sklearn.model_selection import cross_val_score

    return lambda: cross_val_score(make(), X, y, cv=10).mean()


def leave_one_out(make: Estimator, X: Any, y: Any) -> Call:
    from genus import cross_validate

    return lambda: cross_validate(make(), X, y, folds="loo").probabilities


def learn_one(make: Estimator, X: Any, y: Any) -> Call:
    model, rows, labels = make(), dictionaries(X), y.tolist()

    def call() -> None:
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)

    return call


def predict_one(make: Estimator, X: Any, y: Any) -> Call:
    model, rows = make(), dictionaries(X)
    for row, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(row, label)
    return lambda: [model.predict_one(row) for row in rows]


def dictionaries(X: Any) -> list[dict[int, Any]]:
    return [dict(enumerate(row)) for row in X.tolist()]


def one_product(X: Any, y: Any) -> Call:
    return lambda: X.T @ X


# Who does it


def genus(action: Callable[..., Call], name: str, **options: Any) -> Side:
    make = Estimator(f"genus.{name}", options)
    return Side(str(make), "genus", partial(action, make))


def sklearn(action: Callable[..., Call], path: str, at_least: float, **options: Any) -> Side:
    make = Estimator(f"sklearn.{path}", options)
    return Side(str(make), "scikit-learn", partial(action, make), at_least)


def river(action: Callable[..., Call], name: str, **options: Any) -> Side:
    make = Estimator(f"river.naive_bayes.{name}", options)
    one_by_one = {fit: learn_one, predict: predict_one}[action]
    return Side(str(make), "river", partial(one_by_one, make), rows=5000)


def mixed(action: Callable[..., Call], **options: Any) -> Side:
    make = Estimator("mixed_naive_bayes.MixedNB", options)
    return Side(str(make), "mixed-naive-bayes", partial(action, make))


# The jobs


def discriminant_analysis() -> list[Job]:
    jobs: list[Job] = []
    lda = "discriminant_analysis.LinearDiscriminantAnalysis"
    for name, data in {
        "gda-fit-20": Data("float64", 1_000_000, 20, 2),
        "gda-fit-100": Data("float64", 500_000, 100, 10),
        "gda-fit-784": Data("float64", 60_000, 784, 10),
    }.items():
        sides: tuple[Side, ...] = (
            genus(fit, "GDA"),
            sklearn(fit, lda, 30, solver="svd"),
            sklearn(fit, lda, 3, solver="lsqr"),
            Side("X.T @ X alone", "numpy", one_product, 0.5),
        )
        jobs.append(Job(name, "core", "GDA fit", data, sides, data.columns**2))
    data = Data("float64", 500_000, 100, 10)
    for action, at_least, statistics in ((fit, 20, 10 * 100**2), (predict, 10, None)):
        sides = (
            genus(action, "GDA", shared=False),
            sklearn(action, "discriminant_analysis.QuadraticDiscriminantAnalysis", at_least),
        )
        title = f"GDA, separate Σ, {action.__name__}"
        jobs.append(Job(f"qda-{action.__name__}", "core", title, data, sides, statistics))
    return jobs


def naive_bayes() -> list[Job]:
    jobs = []

    def add(
        family: str, data: Data, targets: Mapping[Any, float], size: int, **options: Any
    ) -> None:
        for action, at_least in targets.items():
            sides = (
                genus(action, f"{family}NB", **options),
                sklearn(action, f"naive_bayes.{family}NB", at_least, **options),
            )
            verb = action.__name__
            name = f"{family.lower()}-{verb.replace('_', '-')}"
            statistics = size * data.classes * data.columns if action is fit else None
            jobs.append(Job(name, "core", f"{family} NB {verb}", data, sides, statistics))

    add(
        "Gaussian",
        Data("float64", 500_000, 100, 10),
        {fit: 5, predict: 10, predict_proba: 10},
        size=3,
    )
    add("Bernoulli", Data("uint8", 60_000, 784, 10), {fit: 30, predict: 10}, size=2, binarize=127)
    add("Categorical", Data("categories", 500_000, 20, 5), {fit: 10, predict: 5}, size=10)
    add("Multinomial", Data("words", 100_000, 50_000, 20), {fit: 1, predict: 1}, size=2)
    return jobs


SMALL = {
    "GaussianNB": Data("float64", 100_000, 20, 3),
    "BernoulliNB": Data("uint8", 100_000, 20, 3),
    "CategoricalNB": Data("categories", 100_000, 20, 3),
    "MultinomialNB": Data("counts", 100_000, 20, 3),
    "GDA": Data("float64", 100_000, 20, 3),
}
OPTIONS: dict[str, dict[str, Any]] = {"BernoulliNB": {"binarize": 127}}


def folds() -> list[Job]:
    jobs = []
    for name, data in SMALL.items():
        if name == "GDA":
            continue
        if name == "MultinomialNB":
            data = Data("words", 100_000, 2000, 3)
        options = OPTIONS.get(name, {})
        sides = (
            genus(ten_folds, name, **options),
            sklearn(ten_refits, f"naive_bayes.{name}", 10, **options),
        )
        jobs.append(Job(f"folds-{name}", "folds", "10-fold cross-validation", data, sides))
        if name == "GaussianNB":  # where fixed costs of a fold no longer show
            large = replace(data, rows=1_000_000)
            jobs.append(
                Job(f"folds-million-{name}", "folds", "10-fold cross-validation", large, sides)
            )
    for name, data in SMALL.items():
        once = genus(fit_and_predict_proba, name, **OPTIONS.get(name, {}))
        sides = (
            genus(leave_one_out, name, **OPTIONS.get(name, {})),
            Side("one fit and one predict_proba", "genus", once.prepare, 0.2),
        )
        jobs.append(Job(f"loo-{name}", "folds", "leave-one-out", data, sides))
    return jobs


def peers() -> list[Job]:
    """Rows one by one, and mixed naive Bayes on columns of one kind."""
    jobs = []
    for action in (fit, predict):
        for name, theirs in {
            "GaussianNB": (river(action, "GaussianNB"), mixed(action)),
            "BernoulliNB": (river(action, "BernoulliNB", true_threshold=127),),
            "CategoricalNB": (mixed(action, categorical_features="all"),),
            "MultinomialNB": (river(action, "MultinomialNB"),),
        }.items():
            sides = (genus(action, name, **OPTIONS.get(name, {})), *theirs)
            verb = action.__name__
            jobs.append(Job(f"peers-{name}-{verb}", "peers", verb, SMALL[name], sides))
    return jobs


def growth() -> list[Job]:
    jobs = []
    for name in ("GaussianNB", "GDA", "BernoulliNB", "CategoricalNB"):
        for rows in (62_500 << i for i in range(7)):
            data = Data(SMALL[name].kind, rows, 20, 3)
            side = genus(fit, name, **OPTIONS.get(name, {}))
            jobs.append(Job(f"growth-{name}-{rows}", "growth", "fit", data, (side,)))
    return jobs
