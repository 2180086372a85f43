"""What is wrong is refused in words that help, and leaves everything as it was.

An error says what is wrong, where, what was got and what to do. Nothing has changed by then: not
the model, and not the file that a model was to replace.
"""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB as PlainGaussianNB

from cases import (
    CASES,
    CATEGORICAL,
    CODES,
    COUNTS,
    DISCRETE,
    DISCRIMINANT,
    FULL,
    GAUSSIAN,
    LABELS,
    LINEAR,
    NUMBERS,
    POSITIVE,
    each,
    refused,
    table,
    unchanged,
)
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GaussianNB,
    MultinomialNB,
    MultivariateNormal,
    PoissonNB,
    _kernel,
    cross_validate,
)
from genus.model import Model
from genus.solve.normal import SingularCovarianceError
from scope import at_night

TEXT = np.array(["ham", "spam", "eggs"])
DENSE = [case for case in CASES if not case.sparse]
COUNTING = [case for case in CASES if case.counts]
SINGULAR = FULL + DISCRIMINANT  # if columns repeat
every = each(CASES + DISCRIMINANT, *CASES, *DISCRIMINANT[:2])


def refuses_rows(case, X, y, *words, learn=("fit", "partial_fit", "forget"), by=None):
    """All that learns or forgets rows refuses these, and stays as it was."""
    model = case.fit()
    for method in learn:
        with unchanged(model, case.X), refused(*words, by=by or (ValueError, TypeError)):
            getattr(model, method)(X, y)
    for method in {"fit", "partial_fit"} & set(learn):
        new = case.new()
        with refused(*words, by=by or (ValueError, TypeError)):
            getattr(new, method)(X, y)
        assert vars(new) == vars(case.new()) or not hasattr(new, "classes_")
        assert not hasattr(new, "n_features_in_")


def refuses_to_score(case, X, *words, by=None):
    """All that scores rows refuses these."""
    model = case.fit()
    methods = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]
    methods += ["log_density", "explain"] + (["transform"] if hasattr(model, "transform") else [])
    for method in methods:
        with unchanged(model, case.X), refused(*words, by=by or (ValueError, TypeError)):
            getattr(model, method)(X)
    with refused(*words, by=by or (ValueError, TypeError)):
        model.log_likelihood(X, case.y)


# The shape of X and y


SHAPES = {
    "empty": (lambda X: X[:0], ["sample"]),
    "columnless": (lambda X: X[:, :0], ["0 feature"]),
    "1D": (lambda X: X[:, 0], ["2D array", "1D array", "reshape"]),
    "3D": (lambda X: X[:, :, None], ["dim 3"]),
    "number": (lambda X: 3, ["2D array"]),
    "None": (lambda X: None, ["2D array"]),
    "text": (lambda X: "text", ["2D array"]),
    "dict": (lambda X: {"a": 1}, ["2D array"]),
    "generator": (lambda X: (row for row in X), ["2D array"]),
    "ragged": (lambda X: [[1, 2], [1]], ["inhomogeneous"]),
}


@every
@table("shape words", SHAPES)
def test_shape(case, shape, words):
    X = shape(case.X)
    y = case.y[: len(X)] if isinstance(X, list) else case.y
    refuses_rows(case, X, y, *words, learn=("fit", "partial_fit"))
    with refused(*words):
        case.fit().predict(X)


@every
def test_length(case):
    words = ["inconsistent numbers of samples", "90", "89"]
    refuses_rows(case, case.X[:-1], case.y, *words)
    refuses_rows(case, case.X, case.y[:-1], *words)


@every
@pytest.mark.parametrize("change", [-1, 1])
def test_number_of_columns(case, change):
    X = case.X[:, :-1] if change < 0 else np.c_[case.X, case.X[:, :1]]
    words = [f"{case.width + change} features", f"expecting {case.width}"]
    refuses_rows(case, X, case.y, *words, learn=("forget",))
    with unchanged(model := case.fit(), case.X), refused(*words):
        model.partial_fit(X, case.y)
    refuses_to_score(case, X, *words)


@every
def test_fit_on_other_columns_starts_anew_or_not_at_all(case):
    model = case.fit()
    with unchanged(model, case.X), refused():
        model.fit(case.X[:, :-1], np.full(len(case.X), np.nan))
    assert model.fit(case.X[:, :-1], case.y).n_features_in_ == case.width - 1


@every
def test_before_fit(case, tmp_path):
    new, rows = case.new(), (case.X, case.y)
    calls = {
        **dict.fromkeys(["predict", "predict_proba", "predict_log_proba"], (case.X,)),
        **dict.fromkeys(["predict_joint_log_proba", "log_density", "explain"], (case.X,)),
        **dict.fromkeys(["transform", "decision_function"], (case.X,)),
        **dict.fromkeys(["score", "log_likelihood", "forget"], rows),
        **dict.fromkeys(["sample", "resolve", "to_logistic"], ()),
        "save": (tmp_path / "model",),
    }
    for method, arguments in calls.items():
        if hasattr(new, method):
            with refused(type(new).__name__, "not fitted", "fit", by=NotFittedError):
                getattr(new, method)(*arguments)
    for operation in (lambda: new + case.fit(), lambda: case.fit() - new, lambda: 2 * new):
        with refused("not fitted", by=NotFittedError):
            operation()
    assert not list(tmp_path.iterdir())


# Labels


NO_LABEL = {
    "None": lambda y: np.where(y == 1, None, TEXT[y]),
    "NaN": lambda y: np.where(y == 1, np.nan, y),
    "list": lambda y: [None if k == 1 else int(k) for k in y],
    "Series": lambda y: pd.Series(np.where(y == 1, None, TEXT[y])),
    "Int64": lambda y: pd.Series(y, dtype="Int64").mask(y == 1),
    "string": lambda y: pd.Series(TEXT[y], dtype="string").mask(y == 1),
    "category": lambda y: pd.Series(TEXT[y], dtype="category").mask(y == 1),
    "polars": lambda y: pl.Series([None if k == 1 else str(k) for k in y]),
    "NaT": lambda y: np.where(y == 1, np.datetime64("NaT"), np.datetime64("2020-01-01") + y),
}


@every
@pytest.mark.parametrize("make", NO_LABEL.values(), ids=NO_LABEL)
def test_missing_labels(case, make):
    refuses_rows(case, case.X, make(case.y), "y", "row 1", "no label", "leave")


WRONG_LABELS = {
    "absent": (lambda y: None, ["requires y"]),
    "infinite": (lambda y: np.where(y == 1, np.inf, y), ["y", "infinity"]),
    "continuous": (lambda y: y + 0.5, ["continuous", "class"]),
    "complex": (lambda y: y + 1j, ["complex"]),
    "two columns": (lambda y: np.c_[y, y], ["1d", "(90, 2)"]),
    "mixed list": (lambda y: [1 if k else "spam" for k in y], ["label", "text", "number"]),
    "mixed objects": (lambda y: np.array([1 if k else "spam" for k in y], dtype=object), ["label"]),
    "bytes": (lambda y: TEXT[y].astype(bytes), ["bytes", "string"]),
    "dict": (lambda y: [{"a": 1}] * len(y), ["label"]),
}


@every
@table("make words", WRONG_LABELS)
def test_wrong_labels(case, make, words):
    refuses_rows(case, case.X, make(case.y), *words)


@every
def test_one_class(case):
    model = case.fit()
    for y in (np.zeros(len(case.X)), ["spam"] * len(case.X)):
        with pytest.warns(UserWarning, match="All rows are of one class"):
            model.fit(case.X, y)
        assert_array_equal(model.predict(case.X), y)


@every
@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ([0, 1], ["[2]", "[0 1]", "classes"]),
        ([], ["classes"]),
        (["a", "b", "c"], ["classes", "0"]),
        ([0, 1, 2, np.nan], ["classes", "NaN"]),
        ([0, 1, 2, None], ["classes", "None"]),
        ([0, 1, 2, "a"], ["classes"]),
        ([[0, 1], [2, 3]], ["classes", "1d"]),
        (3, ["classes"]),
    ],
)
def test_announced_classes(case, classes, words):
    model = case.fit()
    with unchanged(model, case.X), refused(*words):
        model.partial_fit(case.X, case.y, classes=classes)


@every
def test_labels_of_another_kind_than_before(case):
    model = case.fit()
    for method in ("partial_fit", "forget"):
        with unchanged(model, case.X), refused("classes", "number", "text", "convert"):
            getattr(model, method)(case.X, TEXT[case.y])
    with refused("classes", "number", "text"):
        model + case.new().fit(case.X, TEXT[case.y])


@every
def test_unknown_classes(case):
    model = case.fit()
    with refused("7", "classes", "[0, 1, 2]"):
        model.sample(2, y=7)
    with refused("spam", "classes"):
        model.sample(2, y="spam")
    with refused("None", "classes"):
        model.sample(2, y=[0, None])
    with refused("2 rows", "[0, 1, 2]"):
        model.sample(2, y=[0, 1, 2])
    with refused("class 3", "not one of the model's classes"):
        model.log_likelihood(case.X, case.y + 1)
    with refused("'spam'", "not one of the model's classes"):
        model.log_likelihood(case.X, ["spam"] * len(case.X))
    with refused("90 rows", "3"):
        model.log_likelihood(case.X, case.y[:3])
    with refused("9", "classes", "[0, 1, 2]"):
        model.explain(case.X).log_odds(9, 0)


@every
@pytest.mark.parametrize("n", [-1, 2.5, "many", None])
def test_number_of_rows_to_sample(case, n):
    with refused("n ", repr(n)):
        case.fit().sample(n)


# Values


def put(X, value, row=5, column=1):
    out = X.astype(object if isinstance(value, str) else np.result_type(X, type(value)))
    out[row, column] = value
    return out


@every
@pytest.mark.parametrize(
    ("value", "dtype"),
    [(-np.inf, "d"), (np.inf, "d"), (np.inf, "f"), (np.inf, "e"), (np.inf, "g"), (np.inf, "O")],
)
def test_infinity(case, value, dtype):
    X = put(case.X, value).astype(dtype)
    refuses_rows(case, X, case.y, "X", "infinity", "row 5", "column 1", str(value), "NaN")
    refuses_to_score(case, X, "X", "infinity", "row 5", "column 1", str(value), "NaN")


@each(LINEAR)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_in_a_sparse_matrix(case, value):
    X = sp.csr_array(put(case.X, value))
    refuses_rows(case, X, case.y, "infinity", "row 5", "column 1", str(value))
    refuses_to_score(case, X, "infinity", "row 5", "column 1", str(value))


@each(COUNTING)
@pytest.mark.parametrize("value", [-1, -0.5])
def test_negative_counts(case, value):
    X = put(case.X, value)
    words = ["negative", type(case.estimator).__name__, "row 5", "column 1", str(value)]
    refuses_rows(case, X, case.y, *words)
    refuses_to_score(case, X, *words)
    if case.sparse:
        refuses_rows(case, sp.csr_array(X), case.y, *words)
        refuses_to_score(case, sp.csr_array(X), *words)


@each(POSITIVE)
@pytest.mark.parametrize("value", [0, 0.0, -0.0])
def test_zeros_where_numbers_are_positive(case, value):
    words = ["zeros", type(case.estimator).__name__, "row 5", "column 1", "GaussianNB", "constant"]
    for X in (put(case.X, value), put(np.ones_like(case.X, dtype=int), value)):
        refuses_rows(case, X, case.y, *words)
        refuses_to_score(case, X, *words)


@every
def test_bad_values_are_named_by_column(case):
    frame = pd.DataFrame(put(case.X, np.inf), columns=case.names)
    with refused("'weight'", "row 5"):
        case.new().fit(frame, case.y)
    model = case.new().fit(pd.DataFrame(case.X, columns=case.names), case.y)
    with refused("'weight'", "row 5"):
        model.predict(frame)


@every
@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_column_of_nothing(case, missing):
    X = case.X.astype(float if missing is np.nan else object)
    X[:, 1] = missing
    refuses_rows(case, X, case.y, "NaN", "column 1", "leave", learn=("fit",))
    frame = pd.DataFrame(X, columns=case.names)
    with refused("'weight'", "leave"):
        case.new().fit(frame, case.y)


@each(FULL)
def test_a_hole_in_every_row_of_a_full_covariance(case):
    X = case.X.copy()
    X[np.arange(len(X)), np.arange(len(X)) % 3] = np.nan
    refuses_rows(case, X, case.y, "missing", "diagonal=True", learn=("fit",))


@each(GAUSSIAN + LINEAR + POSITIVE)
def test_text_in_a_numeric_estimator(case):
    words = ["column 1", "text", "tall"]
    for X in (put(case.X, "tall"), put(case.X, "tall").tolist()):
        refuses_rows(case, X, case.y, *words)
        refuses_to_score(case, X, *words)
    frame = pd.DataFrame(put(case.X, "tall"), columns=case.names)
    for X in (frame, pl.DataFrame(case.X, schema=case.names).with_columns(weight=pl.lit("tall"))):
        with refused("weight", "text", "tall"):
            case.new().fit(X, case.y)


@every
@pytest.mark.parametrize("sparse", [False, True])
def test_complex_numbers(case, sparse):
    X = sp.csr_array(case.X + 1j) if sparse else case.X + 1j
    refuses_rows(case, X, case.y, "complex" if case.sparse or not sparse else "")
    refuses_to_score(case, X, "complex" if case.sparse or not sparse else "")


DATES = {
    "datetime64": lambda X: np.full(X.shape, "2020-01-01", dtype="M8[D]") + X.astype(int),
    "timedelta64": lambda X: X.astype("m8[D]"),
    "pandas": lambda X: (
        pd.DataFrame(X)
        .assign(when=pd.Timestamp("2020-01-01"))
        .set_axis(list("abcdefgh"[: X.shape[1] + 1]), axis=1)
    ),
    "polars": lambda X: pl.DataFrame(X).with_columns(when=pl.date(2020, 1, 1)),
    "objects": lambda X: np.full(X.shape, datetime(2020, 1, 1), dtype=object),
}


@every
@pytest.mark.parametrize("make", DATES.values(), ids=DATES)
def test_dates(case, make):
    refuses_rows(case, make(case.X), case.y, "date", "column", learn=("fit",))


@each(CATEGORICAL)
def test_text_and_numbers_in_one_column(case):
    X = put(case.X, "tall")
    refuses_rows(case, X, case.y, "column 1", "text")
    refuses_to_score(case, X, "column 1", "text")


@pytest.mark.parametrize("value", [b"bytes", (1, 2), 1j], ids=repr)
def test_categories_that_are_neither_text_nor_number(value):
    X = CODES.astype(object)
    X[5, 1] = value
    refuses_rows(CATEGORICAL[0], X, LABELS, "column 1", type(value).__name__)


def test_categories_of_another_kind_than_before():
    model = CategoricalNB().fit(CODES, LABELS)
    with unchanged(model, CODES), refused("column 0", "number", "text", "convert"):
        model.partial_fit(CODES.astype(str), LABELS)
    # Nothing is known of any of them: not in silence.
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with refused("column 0", "number", "text", by=(ValueError, UserWarning)):
            model.predict(CODES.astype(str))


@each(DENSE)
def test_sparse_where_dense_is_needed(case):
    for X in (sp.csr_array(case.X), sp.coo_matrix(case.X)):
        refuses_rows(case, X, case.y, "sparse", "toarray", by=TypeError)
        with refused("sparse", "toarray", by=TypeError):
            case.fit().predict(X)


CORRUPT = {
    "index too large": "X.indices[3] = 1000",
    "index negative": "X.indices[3] = -5",
    "pointer too large": "X.indptr[5] = 10**6",
    "pointer descends": "X.indptr[5] = 0",
    "pointer past the end": "X.indptr[-1] = 10**6",
    "data too short": "X.data = X.data[:10]",
}


def test_a_corrupt_sparse_matrix_is_an_error_and_no_crash():
    # In a process of its own: reading out of bounds may end it.
    script = f"""
    import numpy as np, scipy.sparse as sp
    from genus import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB
    rows, y = np.arange(80).reshape(20, 4), np.arange(20) % 2
    for name, damage in {CORRUPT}.items():
        for estimator in (BernoulliNB, ComplementNB, MultinomialNB, PoissonNB):
            model = estimator().fit(rows, y)
            for use in (lambda X: estimator().fit(X, y), model.predict, model.log_density):
                X = sp.csr_array(rows + 1)
                exec(damage)
                print(name, flush=True)
                try:
                    use(X)
                    print(estimator.__name__, "took it")
                except ValueError:
                    pass
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    named = [name for name in CORRUPT for _ in range(12)]
    assert (ran.returncode, ran.stdout.splitlines()) == (0, named), ran.stderr[-500:]


@every
def test_numbers_too_large_for_a_float(case):
    X = case.X.astype(object)
    X[5, 1] = 10**400
    refuses_rows(case, X, case.y, "too large", learn=("fit", "partial_fit"))


@each(GAUSSIAN)
@pytest.mark.parametrize("value", [1e308, -1e200])
def test_numbers_whose_squares_are_too_large(case, value):
    # Refused for what it is, or learned: not a column "without variance".
    try:
        model = case.new().fit(put(case.X, value), case.y)
    except ValueError as error:
        assert "large" in str(error)  # noqa: PT017
        return
    assert np.isfinite(model.predict_proba(case.X)).all()


@every
@pytest.mark.parametrize("value", [1e308, 1e200, 1e20])
def test_far_away_rows_get_probabilities(case, value):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        probability = case.fit().predict_proba(put(case.X.astype(float), value))
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1)


# Weights


WEIGHTS = {
    "negative": (np.r_[np.ones(89), -1], ["sample_weight", "negative", "row 89", "-1"]),
    "NaN": (np.r_[np.ones(89), np.nan], ["sample_weight", "NaN", "row 89"]),
    "infinite": (np.r_[np.ones(89), np.inf], ["sample_weight", "infinity", "row 89"]),
    "short": (np.ones(3), ["sample_weight", "(3,)", "(90,)"]),
    "2D": (np.ones((90, 1)), ["sample", "weight", "2D"]),
    "zeros": (np.zeros(90), ["sample", "weight", "zero"]),
    "0": (0, ["sample", "weight", "zero"]),
    "-1": (-1, ["sample_weight", "negative", "-1"]),
    "text": (["heavy"] * 90, ["sample_weight", "heavy", "number"]),
    "complex": (np.ones(90) * 1j, ["sample_weight", "complex"]),
    "None": ([None] * 90, ["sample_weight", "row 0"]),
    "dict": ({"a": 1}, ["sample_weight"]),
    "overflow": (np.full(90, 1e308), ["large"]),
}


@every
@table("weight words", WEIGHTS)
def test_weights(case, weight, words):
    model = case.fit()
    for method in ("fit", "partial_fit", "forget"):
        with unchanged(model, case.X), refused(*words):
            getattr(model, method)(case.X, case.y, sample_weight=weight)
    with refused(*words):
        cross_validate(case.estimator, case.X, case.y, 3, sample_weight=weight)


# Forgetting


@every
def test_forgetting_more_than_was_learned(case):
    model = case.fit()
    twice = np.r_[case.X, case.X], np.r_[case.y, case.y]
    words = ["forgotten", "class 0", "learned", "labels"]
    with unchanged(model, case.X), refused(*words, by=ValueError):
        model.forget(*twice)
    with unchanged(model, case.X), refused(*words, by=ValueError):
        model.forget(case.X, case.y, sample_weight=np.full(len(case.X), 1.5))
    with unchanged(model, case.X), refused(*words, by=ValueError):
        case.new().fit(case.X, case.y) - (model + model)


@every
def test_forgetting_a_class_never_seen(case):
    model = case.fit()
    with unchanged(model, case.X), refused("class 7", "learned"):
        model.forget(case.X[:3], [7, 7, 7])


@each([case for case in CASES if case.name != "BernoulliNB"])
def test_forgetting_rows_never_learned(case):
    # Sums do not know their rows; what no rows could have left behind is refused.
    model = case.fit()
    with unchanged(model, case.X), refused("forgotten", "learned"):
        model.forget(case.X[:20] + 50, case.y[:20])


def test_forgetting_half_a_row_never_learned():
    case = CATEGORICAL[0]
    model = case.fit()
    with unchanged(model, case.X), refused("forgotten", "learned"):
        model.forget(case.X[:1] + 50, case.y[:1], sample_weight=[0.5])


@each(FULL)
def test_forgetting_rows_never_learned_that_leaves_no_covariance(case):
    # Every variance stays positive, and yet no rows have this covariance.
    X = case.X - case.X[case.y == 0].mean(axis=0)
    model = case.new().fit(X, case.y)
    direction = np.linalg.eigh(np.cov(X[case.y == 0].T))[1][:, 0]
    far = np.outer([6.0, -6.0], direction)
    with unchanged(model, X), refused("forgotten", "learned"):
        model.forget(far, [0, 0])


# Merging


@every
@pytest.mark.parametrize("other", [1, None, "model", np.ones(3), [1, 2], object], ids=str)
def test_adding_what_is_no_model(case, other):
    model = case.fit()
    kind = type(other).__name__
    for operation in (lambda: model + other, lambda: model - other):
        with unchanged(model, case.X), refused(type(model).__name__, kind, by=TypeError):
            operation()
    for operation in (lambda: other + model, lambda: other - model):
        with unchanged(model, case.X), refused(by=TypeError):
            operation()


@every
def test_models_are_not_negated(case):
    with refused(by=TypeError):
        -case.fit()
    with refused(by=TypeError):
        0 - case.fit()


@every
@pytest.mark.parametrize("factor", [-1, np.nan, np.inf, "2", None, 1j, [1, 2]], ids=repr)
def test_factor(case, factor):
    model = case.fit()
    with unchanged(model, case.X), refused("multiplied by a number", repr(factor)):
        model * factor
    with unchanged(model, case.X), refused("multiplied by a number", repr(factor)):
        factor * model


@every
def test_merging_other_columns(case):
    model = case.fit()
    wider = (
        case.new().fit(np.c_[case.X, case.X[:, ::-1]] + 0, case.y) if case not in SINGULAR else None
    )
    if wider is not None:
        with unchanged(model, case.X), refused(str(case.width), str(2 * case.width), "columns"):
            model + wider
    named = case.new().fit(pd.DataFrame(case.X, columns=case.names), case.y)
    other = case.new().fit(pd.DataFrame(case.X, columns=case.names[::-1]), case.y)
    for operation in (lambda: named + other, lambda: named - other):
        with refused("columns", repr(case.names[0]), repr(case.names[-1]), "order"):
            operation()


@pytest.mark.parametrize(
    ("one", "two", "X", "words"),
    [
        (GaussianNB(), GDA(), NUMBERS, ["GaussianNB", "GDA"]),
        (MultinomialNB(), ComplementNB(), COUNTS, ["MultinomialNB", "ComplementNB"]),
        (GaussianNB(), PlainGaussianNB(), NUMBERS, ["GaussianNB", "sklearn"]),
        (GDA(), GDA(shared=False), NUMBERS, ["shared"]),
        (GDA(), GDA(diagonal=True), NUMBERS, ["diagonal"]),
        (GDA(), GDA(shrinkage="ledoit-wolf"), NUMBERS, ["shrinkage", "ledoit-wolf"]),
        (BernoulliNB(), BernoulliNB(binarize=1.0), COUNTS, ["binarize", "0.0", "1.0"]),
        (CategoricalNB(), CategoricalNB(bins=Discretizer()), CODES, ["bins"]),
        (
            CategoricalNB(bins=Discretizer(edges=[1.0])),
            CategoricalNB(bins=Discretizer(edges=[2.0])),
            CODES,
            ["edges", "1.0", "2.0"],
        ),
        (
            CategoricalNB(bins=Discretizer(origin=1.0)),
            CategoricalNB(bins=Discretizer()),
            CODES,
            ["origin", "1.0", "0.0"],
        ),
    ],
    ids=lambda value: str(value) if hasattr(value, "fit") else "",
)
def test_merging_models_that_count_differently(one, two, X, words):
    one, two = clone(one).fit(X, LABELS), clone(two).fit(X, LABELS)
    with unchanged(one, X), refused(*words):
        one + two
    with unchanged(one, X), refused(*words):
        one - two


@every
def test_priors_that_do_not_fit_the_merged_classes(case):
    model = case.fit(priors=[0.2, 0.3, 0.5])
    words = ["priors", "3", "4", "classes"]
    with unchanged(model, case.X), refused(*words):
        model.partial_fit(case.X, case.y + 1)
    with unchanged(model, case.X), refused(*words):
        model + case.new().fit(case.X, case.y + 1)


# Options


BAD_PRIORS = [
    ({"priors": [0.5, 0.5]}, ["priors", "2", "3 classes"]),
    ({"priors": [0.5, 0.6, -0.1]}, ["priors", "-0.1"]),
    ({"priors": [np.nan, 0.5, 0.5]}, ["priors", "nan"]),
    ({"priors": [0, 0, 0]}, ["priors", "0"]),
    ({"priors": 3}, ["priors", "3"]),
    ({"priors": "equal"}, ["priors", "equal"]),
    ({"priors": ["a", "b", "c"]}, ["priors", "a"]),
    ({"priors": {0: 0.5, 1: 0.5}}, ["prior", "class 2"]),
    ({"priors": []}, ["priors"]),
]
SUM = [({"priors": [0.5, 0.5, 0.5]}, ["priors", "1.5"])]
BAD_GDA = [
    ({"shrinkage": 2}, ["shrinkage", "0 to 1", "2"]),
    ({"shrinkage": -0.1}, ["shrinkage", "-0.1"]),
    ({"shrinkage": np.nan}, ["shrinkage", "nan"]),
    ({"shrinkage": "foo"}, ["shrinkage", "oas", "ledoit-wolf", "foo"]),
    ({"shrinkage": [0.1]}, ["shrinkage", "[0.1]"]),
    ({"shrinkage": 0.5, "diagonal": True}, ["shrink", "diagonal"]),
    ({"n_components": 5}, ["n_components", "2", "5"]),
    ({"n_components": 0}, ["n_components", "0"]),
    ({"n_components": -1}, ["n_components", "-1"]),
    ({"n_components": 1.5}, ["n_components", "1.5"]),
    ({"n_components": "foo"}, ["n_components", "foo"]),
    *(({"rank": value}, ["rank", str(value)]) for value in (5, 0, -1, 1.5, "foo")),
    *(({"rank": 1, "shared": value}, ["rank", str(value)]) for value in (0.5, "auto", "EEI")),
    ({"shared": "foo"}, ["shared", "foo"]),
    ({"shared": -0.1}, ["shared", "0 to 1", "-0.1"]),
    ({"shared": 1.1}, ["shared", "0 to 1", "1.1"]),
    ({"diagonal": "foo"}, ["diagonal", "foo"]),
    ({"unbiased": "foo"}, ["unbiased", "foo"]),
    ({"singular": "foo"}, ["singular", "shrink", "error", "foo"]),
    ({"singular": None}, ["singular", "None"]),
]
BAD_NB = [
    ({"var_smoothing": value}, ["var_smoothing", repr(value)])
    for value in (-1, np.nan, np.inf, "foo", None, [1e-9])
]
BAD_DISCRETE = [
    ({"alpha": -1}, ["alpha", "-1"]),
    ({"alpha": np.nan}, ["alpha", "nan"]),
    ({"alpha": np.inf}, ["alpha", "inf"]),
    ({"alpha": "foo"}, ["alpha", "auto", "foo"]),
    ({"alpha": None}, ["alpha", "None"]),
    ({"alpha": {}}, ["alpha", "{}"]),
    ({"alpha": [1.0]}, ["alpha", "1", "columns"]),
    ({"alpha": [1.0, -1.0, 1.0, 1.0]}, ["alpha", "-1"]),
    ({"alpha": np.ones((2, 2))}, ["alpha", "(2, 2)"]),
    ({"m": -1}, ["m ", "-1"]),
    ({"m": np.nan}, ["m ", "nan"]),
    ({"m": "foo"}, ["m ", "foo"]),
    ({"m": [1, 2]}, ["m ", "[1, 2]"]),
    ({"m": 2, "p": -1}, ["p ", "-1"]),
    ({"m": 2, "p": np.nan}, ["p ", "nan"]),
    ({"m": 2, "p": "foo"}, ["p ", "foo"]),
    ({"p": 0.5}, ["p ", "m"]),
    ({"prior_alpha": -1}, ["prior_alpha", "-1"]),
    ({"prior_alpha": np.nan}, ["prior_alpha", "nan"]),
    ({"prior_alpha": np.inf}, ["prior_alpha", "inf"]),
    ({"prior_alpha": "foo"}, ["prior_alpha", "foo"]),
    ({"prior_alpha": None}, ["prior_alpha", "None"]),
    ({"unexplained": "foo"}, ["unexplained", "prior", "error", "foo"]),
    ({"fit_prior": "foo"}, ["fit_prior", "foo"]),
    ({"priors": [0.2, 0.3, 0.5], "class_prior": [0.2, 0.3, 0.5]}, ["priors", "class_prior"]),
    ({"class_prior": [0.5, 0.5]}, ["prior", "2", "3 classes"]),
]
BAD_CATEGORICAL = [
    ({"min_categories": -1}, ["min_categories", "-1"]),
    ({"min_categories": 2.5}, ["min_categories", "integ", "float64"]),
    ({"min_categories": "foo"}, ["min_categories", "integ"]),
    ({"min_categories": [1, 2]}, ["min_categories", "(3,)", "(2,)"]),
    ({"min_categories": [4, 4, -1]}, ["min_categories", "-1"]),
    ({"unseen": "foo"}, ["unseen", "ignore", "smooth", "foo"]),
    ({"unseen": None}, ["unseen", "None"]),
    ({"bins": "foo"}, ["bins", "Discretizer", "foo"]),
    ({"bins": Discretizer}, ["bins", "Discretizer"]),
    ({"bins": Discretizer("foo")}, ["strategy", "mdlp", "foo"]),
    ({"m": 2, "p": [0.5, 0.1]}, ["p ", "3 columns", "(2,)"]),
    ({"m": 2, "p": [[0.5, 0.5]]}, ["p ", "column"]),
    ({"alpha": [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]}, ["alpha", "column 0", "2", "4"]),
]
BAD_BERNOULLI = [
    ({"binarize": "foo"}, ["binarize", "foo"]),
    ({"binarize": np.nan}, ["binarize", "nan"]),
    ({"binarize": np.inf}, ["binarize", "inf"]),
    ({"binarize": [1]}, ["binarize", "[1]"]),
    ({"m": 2, "p": 2}, ["p ", "1", "2"]),
    ({"m": 2, "p": [0.5, 0.1]}, ["p ", "2", "4"]),
]
BAD_MULTINOMIAL = [
    ({"m": 2, "p": [0.5] * 4}, ["p ", "adds up to 2"]),
    ({"m": 2, "p": [0.5, 0.5]}, ["p ", "2", "4"]),
    ({"alpha": [[1.0] * 4] * 2}, ["alpha", "(2, 4)"]),
]
BAD_POISSON = [
    ({"m": 2, "p": [0.5, 0.5]}, ["p ", "2", "4"]),
    ({"alpha": [[1.0] * 4] * 2}, ["alpha", "(2, 4)"]),
]
BAD_GAMMA = [
    ({"alpha": value}, ["alpha", repr(value)])
    for value in (-1, np.nan, np.inf, "auto", None, [1.0, 1.0, 1.0], {}, 1e101)
]
OPTIONS = [
    (case, options, words)
    for cases, bad in (
        (CASES, BAD_PRIORS),
        ([case for case in CASES if not isinstance(case.estimator, GDA)], SUM),
        (GAUSSIAN[:1], BAD_GDA),
        (GAUSSIAN[-1:], BAD_NB),
        (DISCRETE, BAD_DISCRETE),
        (CATEGORICAL[:1], BAD_CATEGORICAL),
        (LINEAR[:1], BAD_BERNOULLI),
        (LINEAR[1:3], BAD_MULTINOMIAL),
        (LINEAR[3:], BAD_POISSON),
        (POSITIVE, BAD_GAMMA),
    )
    for case in cases
    for options, words in bad
]


def by_value(options):
    """Whether alpha is given for each value of each column."""
    return isinstance(alpha := options.get("alpha"), list) and isinstance(alpha[0], list)


EACH_OPTION = pytest.mark.parametrize(
    ("case", "options", "words"),
    OPTIONS,
    ids=[f"{case.name}-{options}".replace(" ", "") for case, options, _ in OPTIONS],
)


@EACH_OPTION
@pytest.mark.filterwarnings("ignore:The priors do not sum")
def test_options(case, options, words):
    new = case.new(**options)
    for method in ("fit", "partial_fit"):
        if method == "partial_fit" and ({"n_components", "rank"} & {*options} or by_value(options)):
            continue  # more classes or values may come
        with refused(*words):
            getattr(new, method)(case.X, case.y)
        assert not hasattr(new, "classes_")
        assert not hasattr(new, "n_features_in_")


@EACH_OPTION
@pytest.mark.filterwarnings("ignore:The priors do not sum")
def test_options_of_a_fitted_model(case, options, words):
    model = case.fit()
    with unchanged(model, case.X), refused(words[0]):
        model.resolve(**options)
    model.set_params(**options)
    with unchanged(model, case.X), refused(*words):
        model.fit(case.X, case.y)


def test_priors_of_gda_that_do_not_sum_to_one_are_scaled_with_a_warning():
    with pytest.warns(UserWarning, match="do not sum to 1"):
        model = GDA(priors=[1, 1, 2]).fit(NUMBERS, LABELS)
    assert_array_equal(model.priors_, [0.25, 0.25, 0.5])


@every
def test_an_unknown_option(case):
    with unchanged(model := case.fit(), case.X), refused("gamma", "priors"):
        model.resolve(gamma=1)
    with refused("gamma", by=TypeError):
        type(case.estimator)(gamma=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "foo"}, ["strategy", "mdlp", "quantile", "uniform", "foo"]),
        ({"strategy": None}, ["strategy", "None"]),
        ({"n_bins": 1}, ["n_bins", "from 2 to", "got 1"]),
        ({"n_bins": 2.5}, ["n_bins", "2.5"]),
        ({"n_bins": "many"}, ["n_bins", "many"]),
        ({"edges": [3, 2]}, ["edges", "above the one before", "[3.0, 2.0]"]),
        ({"edges": [1, 1]}, ["edges", "above the one before"]),
        ({"edges": [0, np.nan]}, ["edges", "finite", "nan"]),
        ({"edges": [np.inf]}, ["edges", "finite", "inf"]),
        ({"edges": "foo"}, ["edges", "foo"]),
        ({"edges": ["a"]}, ["edges", "a"]),
        ({"edges": 3}, ["edges", "3"]),
        ({"edges": {0: [1]}}, ["edges"]),
        ({"edges": [[1], [2]]}, ["edges", "2", "3"]),
        ({"edges": [[1], [3, 2], [1]]}, ["edges", "[3.0, 2.0]"]),
        ({"origin": np.nan}, ["origin", "nan"]),
        ({"origin": np.inf}, ["origin", "inf"]),
        ({"origin": "foo"}, ["origin", "foo"]),
        ({"origin": None}, ["origin", "None"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bins(options, words):
    with refused(*words):
        Discretizer(**options).fit(NUMBERS, LABELS)
    with refused(*words):
        CategoricalNB(bins=Discretizer(**options)).fit(NUMBERS, LABELS)


def test_bins_of_bad_rows():
    with refused("mdlp", "y", "quantile"):
        Discretizer().fit(NUMBERS)
    with refused("not fitted", by=NotFittedError):
        Discretizer().transform(NUMBERS)
    bins = Discretizer("uniform").fit(NUMBERS)
    before = bins.transform(NUMBERS)
    for X, words in (
        (put(NUMBERS, np.inf), ["infinity"]),
        (NUMBERS[:, :2], ["2 features", "3"]),
        (put(NUMBERS, "tall"), ["tall"]),
        (sp.csr_array(NUMBERS), ["sparse"]),
    ):
        with refused(*words):
            bins.transform(X)
    with refused("infinity"):
        bins.fit(put(NUMBERS[:, :2], np.inf))
    assert_array_equal(bins.transform(NUMBERS), before)


# Cross-validation


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        ("foo", ["folds", "loo", "foo"]),
        (1, ["folds", "2", "90", "1"]),
        (91, ["folds", "90", "91"]),
        (2.5, ["folds", "2.5"]),
        (None, ["folds", "None"]),
        ([], ["row 0", "once"]),
        ([([], [])], ["row"]),
        ([1, 2], ["folds"]),
        (ShuffleSplit(2, random_state=0), ["row", "once"]),
        (TimeSeriesSplit(3), ["train", "subtraction"]),
        ([(np.arange(45), np.arange(45, 90))], ["row 0", "once"]),
        ([(np.arange(45), np.arange(45, 95))], ["row", "90"]),
    ],
    ids=lambda value: "" if isinstance(value, list) else str(value)[:20],
)
def test_folds(folds, words):
    with refused(*words):
        cross_validate(GDA(), NUMBERS, LABELS, folds)


@pytest.mark.parametrize("estimator", [GDA(), GaussianNB()])
def test_folds_name_the_row_of_the_whole(estimator):
    with refused("row 77", "column 1", "infinity"):
        cross_validate(estimator, put(NUMBERS, np.inf, row=77), LABELS)


def test_folds_that_leave_too_little():
    X, y = np.r_[NUMBERS[:20], NUMBERS[:2] + 9], np.r_[np.zeros(20), np.ones(2)]
    with refused("without", "fold", "row"):
        cross_validate(GDA(shared=False), np.r_[X, X[-2:] + 1], np.r_[y, 1, 1], 4)
    with refused("without row 20"):
        cross_validate(GDA(shared=False, shrinkage=0.1), X, y, "loo")


def test_folds_that_overlap_or_are_empty():
    half = np.arange(45), np.arange(45, 90)
    with refused("train", "subtraction"):
        cross_validate(GDA(), NUMBERS, LABELS, [(np.arange(90), half[0]), (half[0], half[1])])
    empty = np.arange(0)
    folds = [half, half[::-1], (np.arange(90), empty)]
    assert cross_validate(GDA(), NUMBERS, LABELS, folds).accuracy > 0.5


def test_predicting_names_the_row_of_the_whole():
    X = np.resize(NUMBERS, (400_000, 3))
    X[300_007, 1] = np.inf
    with refused("row 300007", "column 1"):
        GaussianNB().fit(NUMBERS, LABELS).predict(X)


def test_bins_of_numbers_for_labels():
    with refused("continuous"):
        Discretizer().fit(NUMBERS, NUMBERS[:, 0])


def test_cross_validation_of_what_is_no_model():
    with refused("GaussianNB", "genus", by=TypeError):
        cross_validate(PlainGaussianNB(), NUMBERS, LABELS)
    with refused("class"):
        cross_validate(GDA(), NUMBERS, np.zeros(90))


# Ctrl-C


@every
@pytest.mark.parametrize("where", ["count", "__add__", "__sub__"])
def test_an_interrupted_model_is_as_it_was(case, where, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    model = case.fit()
    with unchanged(model, case.X):
        monkeypatch.setattr(Model, where, interrupt)
        learn = model.forget if where == "__sub__" else model.partial_fit
        with pytest.raises(KeyboardInterrupt):
            learn(case.X[:9], case.y[:9])
        monkeypatch.undo()


# Threads and processes


@every
def test_threads_predict_at_once(case):
    X = np.resize(case.X, (20_000, case.width))
    expected = case.fit().predict_log_proba(X)
    model = case.new().partial_fit(case.X, case.y)  # not solved yet
    start = threading.Barrier(4)

    def predict(_):
        start.wait()
        return model.predict_log_proba(X)

    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(predict, range(4)):
            assert_array_equal(got, expected)


@every
def test_threads_predict_while_another_learns(case):
    X = np.resize(case.X, (5_000, case.width))
    model = case.fit()

    def predict(_):
        return [model.predict_proba(X) for _ in range(5)]

    with ThreadPoolExecutor(3) as pool:
        predicting = pool.map(predict, range(2))
        for _ in range(10):
            model.partial_fit(case.X, case.y)
        for results in predicting:
            for probability in results:
                np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert model.class_count_.sum() == 11 * len(case.X)


@pytest.mark.parametrize("method", at_night(["fork", "spawn"], "fork"))
def test_processes(method):
    if method == "spawn" and _kernel.sanitized:
        pytest.skip("a new process loads the kernel that is installed")
    X = np.resize(NUMBERS, (50_000, 3))  # enough for the kernel to start threads
    counts = np.resize(COUNTS, (50_000, 4))
    gaussian, poisson = GDA().fit(X, np.resize(LABELS, 50_000)), PoissonNB().fit(COUNTS, LABELS)
    expected = gaussian.predict(X), poisson.predict(counts)
    context = multiprocessing.get_context(method)
    try:
        context.Lock()
    except OSError as error:
        pytest.skip(f"processes share nothing here, such as /dev/shm: {error}")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        asked = pool.submit(gaussian.predict, X), pool.submit(poisson.predict, counts)
        learned = pool.submit(GaussianNB().fit, NUMBERS, LABELS)
        for future, labels in zip(asked, expected, strict=True):
            assert_array_equal(future.result(timeout=100), labels)
        assert learned.result(timeout=100).model_ == GaussianNB().fit(NUMBERS, LABELS).model_


# What is told of common mistakes


def test_too_few_rows_are_blamed_and_not_the_columns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.repeat([0, 1], 20)
    holes = X.copy()
    holes[:37, 2] = np.nan
    with pytest.raises(SingularCovarianceError, match=r"weight of 3, and 6 columns need 7"):
        GDA(singular="error").fit(holes, y)
    with pytest.raises(SingularCovarianceError, match=r"In class 0 .* weight of 5, .* need 7 rows"):
        GDA(shared=False).fit(X[15:], y[15:])
    X[:, 1] = X[:, 0]
    for weight in (None, np.full(40, 1 / 40)):
        with pytest.raises(SingularCovarianceError, match=r"column \d is a linear combination"):
            GDA(singular="error").fit(X, y, sample_weight=weight)


def test_measurements_as_categories_are_warned_of_once():
    X = np.random.default_rng(0).normal(size=(50, 3))
    frame = pd.DataFrame(np.abs(X), columns=["age", "height", "weight"])
    with pytest.warns(UserWarning, match=r"'age'.* \(and 2 more\) holds 50 .*Discretizer") as told:
        CategoricalNB().fit(frame, np.arange(50) % 2)
    assert len(told) == 1
    stars = np.round(np.abs(X)) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CategoricalNB().fit(stars, np.arange(50) % 2)
        CategoricalNB(bins=Discretizer()).fit(X, np.arange(50) % 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MultinomialNB().fit(["win cash", "lunch"], [0, 1]), "list of texts"),
        (lambda: GaussianNB().fit(pd.Series(["win cash", "lunch"]), [0, 1]), "list of texts"),
        (lambda: GDA(shrinkage="auto").fit(NUMBERS, LABELS), '"auto" is "ledoit-wolf" here'),
        (lambda: CategoricalNB(bins=5).fit(NUMBERS, LABELS), "n_bins=5"),
        (lambda: MultivariateNormal([0, 0], np.eye(2)).conditional({"a": 1}), "0 to 1; got 'a'"),
        (
            lambda: cross_validate(GDA(), NUMBERS, LABELS, folds=RepeatedKFold(n_splits=3)),
            "repeated",
        ),
    ],
)
def test_the_way_out_is_named(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_models_with_more_columns_say_which():
    y = np.arange(20) % 2
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["a", "b", "c"])
    with pytest.raises(
        ValueError, match=r"3 in the first and 2 in the second; the first alone has 'b'"
    ):
        GaussianNB().fit(frame, y) + GaussianNB().fit(frame[["a", "c"]], y)
