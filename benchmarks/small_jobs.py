"""Small and wide: few rows, one row at a time, thousands of columns or classes.

A call that takes microseconds is timed many times over. The target is scikit-learn's speed, and
three times it where a row needs a few look-ups only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.jobs import Call, Estimator, Job, fit, genus, sklearn

TIMES = 100


def fit_again(make: Estimator, X: Any, y: Any) -> Call:
    """Fit the same few rows many times."""
    return lambda: [make().fit(X, y) for _ in range(TIMES)][-1]


def predict_rows(make: Estimator, X: Any, y: Any) -> Call:
    """Predict rows one by one."""
    fitted = make().fit(X, y)
    rows = [X[i : i + 1] for i in range(min(TIMES, len(y)))]
    fitted.predict(rows[0])
    return lambda: [fitted.predict(row) for row in rows]


def stream(make: Estimator, X: Any, y: Any) -> Call:
    """Learn and predict rows one by one."""
    model = make().partial_fit(X, y, classes=np.unique(y))
    rows = [(X[i : i + 1], y[i : i + 1]) for i in range(min(TIMES, len(y)))]

    def call() -> None:
        for row, label in rows:
            model.partial_fit(row, label)
            model.predict(row)

    return call


def small() -> list[Job]:
    """Every job of the suite."""
    jobs: list[Job] = []
    lda = "discriminant_analysis.LinearDiscriminantAnalysis"
    qda = "discriminant_analysis.QuadraticDiscriminantAnalysis"
    few = Data("float64", 100, 4, 2)

    def add(name: str, title: str, action: Any, at_least: float, data: Data, *sides: Any) -> None:
        (ours, options), (theirs, others) = sides
        pair = genus(action, ours, **options), sklearn(action, theirs, at_least, **others)
        jobs.append(Job(f"small-{name}", "small", title, data, pair))

    for name, own, peer in (("gda", {}, lda), ("qda", {"shared": False}, qda)):
        for action, title in ((fit_again, "fit 100 times"), (predict_rows, "100 single rows")):
            verb = title.split()[0].replace("100", "rows")
            add(f"{name}-{verb}", title, action, 1, few, ("GDA", own), (peer, {}))
    for name, data in {
        "GaussianNB": few,
        "BernoulliNB": few,
        "MultinomialNB": Data("counts", 100, 4, 2),
        "CategoricalNB": Data("categories", 100, 4, 2),
    }.items():
        for action, title in ((fit_again, "fit 100 times"), (predict_rows, "100 single rows")):
            verb = title.split()[0].replace("100", "rows")
            pair = (name, {}), (f"naive_bayes.{name}", {})
            add(f"{name}-{verb}", title, action, 1, data, *pair)
    for name, data in {
        "MultinomialNB-100k": Data("words", 2000, 100_000, 20),
        "MultinomialNB-1M": Data("words", 2000, 1 << 20, 20),
        "MultinomialNB-classes": Data("words", 5000, 20_000, 1000),
        "ComplementNB-20k": Data("words", 2000, 20_000, 2),
        "BernoulliNB-100k": Data("words", 2000, 100_000, 20),
    }.items():
        family = name.split("-")[0]
        pair = (family, {}), (f"naive_bayes.{family}", {})
        add(f"{name}-rows", "100 single rows", predict_rows, 3, data, *pair)
        add(f"{name}-fit", "fit", fit, 1, data, *pair)
    add(
        "stream-MultinomialNB",
        "100 times partial_fit and predict",
        stream,
        1,
        Data("words", 2000, 50_000, 20),
        ("MultinomialNB", {}),
        ("naive_bayes.MultinomialNB", {}),
    )
    gaussian = ("GaussianNB", {}), ("naive_bayes.GaussianNB", {})
    add("stream-GaussianNB", "100 times partial_fit and predict", stream, 1, few, *gaussian)
    wide = Data("float64", 300, 5000, 3)
    add("wide-GaussianNB-fit", "fit", fit, 1, wide, *gaussian)
    add("wide-GaussianNB-rows", "100 single rows", predict_rows, 1, wide, *gaussian)
    classes = Data("float64", 5000, 20, 1000)
    add("classes-GaussianNB-fit", "fit", fit, 1, classes, *gaussian)
    add("classes-GaussianNB-rows", "100 single rows", predict_rows, 1, classes, *gaussian)
    add("classes-GDA-fit", "fit", fit, 1, classes, ("GDA", {}), (lda, {}))
    oas = ("GDA", {"shrinkage": "oas"})
    for columns in (4000, 20_000):
        data = Data("float64", 100, columns, 3)
        add(f"wide-GDA-{columns}", "fit", fit, 1, data, oas, (lda, {}))
        add(f"wide-GDA-{columns}-rows", "100 single rows", predict_rows, 1, data, oas, (lda, {}))
    return jobs
