"""What a careless or hostile user does, and what must not come of it: a silent wrong answer."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

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
    cross_validate,
)

RNG = np.random.default_rng(0)
X = np.vstack([RNG.normal(0, 1, (30, 2)), RNG.normal(5, 9, (30, 2))])
Y = np.repeat(["a", "b"], 30)
COUNTS = np.array([[1, 2], [3, 1], [2, 2], [0, 5]])
LABELS = np.array([0, 0, 1, 1])
WIDE = [2**60 + 1, 2**60 + 2]  # equal as floats
GAUSSIAN = [GDA(), GDA(shared=False), GDA(diagonal=True), GaussianNB()]
COUNTING = [MultinomialNB(), ComplementNB(), BernoulliNB(), CategoricalNB(), PoissonNB()]


# Whole numbers that a float does not tell apart


@pytest.mark.parametrize(
    "table",
    [
        np.array(WIDE * 2)[:, None],
        np.array(WIDE * 2, dtype=object)[:, None],
        np.array([np.int64(i) for i in WIDE * 2], dtype=object)[:, None],
        [[i] for i in WIDE * 2],
        pd.DataFrame({"id": WIDE * 2}),
        pd.DataFrame({"id": WIDE * 2, "size": 0.5}),
        pd.DataFrame({"id": WIDE * 2, "name": list("xxxx")}),
        pd.DataFrame({"id": pd.array([*WIDE * 2], dtype="Int64")}),
        pl.DataFrame({"id": WIDE * 2}),
    ],
    ids=[
        "array",
        "objects",
        "NumPy's in objects",
        "list",
        "pandas",
        "and floats",
        "and text",
        "nullable",
        "polars",
    ],
)
def test_wide_integers_are_different_categories(table):
    model = CategoricalNB().fit(table, ["a", "b"] * 2)
    assert model.categories_[0].tolist() == WIDE
    assert_array_equal(model.predict(table), ["a", "b"] * 2)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_wide_integers_with_holes_are_different_categories(kind):
    column = [WIDE[0], None, WIDE[1], WIDE[0]]
    frame = (
        pd.DataFrame({"id": pd.array(column, dtype="Int64")})
        if kind == "pandas"
        else pl.DataFrame({"id": column})
    )
    assert CategoricalNB().fit(frame, list("aabb")).categories_[0].tolist() == WIDE


def test_integers_beyond_64_bits_are_refused_with_a_way_out():
    for wide in (2**70, np.int64(2**60), 2**60):
        with pytest.raises(ValueError, match=r"Column 0 .*Convert the whole column to text"):
            CategoricalNB().fit(np.array([[wide], [0.5], [1]], dtype=object), [0, 1, 1])


@pytest.mark.parametrize("dtype", ["u8", "f8", "i4"])
def test_wide_labels_stay_apart_when_models_merge(dtype):
    rows = np.arange(8.0)[:, None]
    wide = GaussianNB().fit(rows, np.repeat(WIDE, 4))
    small = GaussianNB().fit(rows, np.repeat([1, 2], 4).astype(dtype))
    for merged in (wide + small, small + wide):
        assert merged.classes_.tolist() == [1, 2, *WIDE]
        assert_array_equal(merged.class_count_, [4, 4, 4, 4])
        assert (merged - small).classes_.tolist() == WIDE
        assert (merged - small).model_ == wide.model_
        assert_array_equal(merged.predict_proba(rows).shape, (8, 4))


def test_labels_that_no_type_holds_are_refused():
    rows = np.arange(4.0)[:, None]
    wide = GaussianNB().fit(rows, np.repeat(np.array([2**63 + 1, 2**63 + 2], dtype="u8"), 2))
    with pytest.raises(ValueError, match="Convert them to text"):
        wide + GaussianNB().fit(rows, [-1, -1, -2, -2])


# Rows that were never learned


@pytest.mark.parametrize("model", GAUSSIAN, ids=str)
def test_the_last_rows_of_a_class_are_forgotten_only_if_they_are_its_own(model):
    model.fit(X, Y)
    before = model.predict_proba(X)
    for rows in (X[:30], X[30:] + 0.01, X[30:] * 1.001):
        with pytest.raises(ValueError, match="were never learned"):
            model.forget(rows, ["b"] * 30)
        assert_array_equal(model.predict_proba(X), before)
    assert model.forget(X[30:][::-1], ["b"] * 30).classes_.tolist() == ["a"]


@pytest.mark.parametrize("model", GAUSSIAN, ids=str)
@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (1e-8, 0), (1e8, 0), (1, 1e8), (1e-3, -1e6)])
def test_the_last_rows_of_a_class_are_forgotten_at_any_scale(model, scale, offset):
    rows = X * scale + offset
    weight = np.random.default_rng(1).random(60)
    model.fit(rows, Y, sample_weight=weight)
    order = np.random.default_rng(2).permutation(np.arange(30, 60))
    for part in np.array_split(order, 7):
        model.forget(rows[part], Y[part], sample_weight=weight[part])
    assert model.classes_.tolist() == ["a"]


# Sums too large for a float


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [*COUNTING, *GAUSSIAN], ids=str)
def test_a_model_is_not_scaled_beyond_what_a_float_holds(model):
    model.fit(COUNTS if model in COUNTING else X, LABELS if model in COUNTING else Y)
    with pytest.raises(ValueError, match="too large for floats"):
        model * 1e308
    large = model * 1e100
    assert np.isfinite(large.predict_proba(COUNTS)).all()


@pytest.mark.filterwarnings("error")
def test_sums_that_overflow_are_refused_and_change_nothing():
    model = GaussianNB().fit(X * 1e150, Y)
    before = model.predict_proba(X * 1e150)
    with pytest.raises(ValueError, match="too large for floats"):
        model.partial_fit(X * 1e150 - 9e153, Y)
    assert_array_equal(model.predict_proba(X * 1e150), before)
    for naive in (MultinomialNB(), ComplementNB(), PoissonNB()):
        with pytest.raises(ValueError, match="too large for floats"):
            naive.fit(COUNTS * 1e220, LABELS, sample_weight=np.full(4, 1e100))


@pytest.mark.parametrize("model", [PoissonNB(), MultinomialNB(), ComplementNB()], ids=str)
def test_huge_counts_get_numbers(model):
    model.fit(COUNTS, LABELS)
    with np.errstate(over="raise", invalid="raise", divide="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(model.predict_proba(np.full((1, 2), 1e300)).max(axis=1), [1])
    with pytest.warns(UserWarning, match="probability zero|scores are infinite"):
        assert np.isfinite(model.predict_proba([[1.7e308] * 2])).all()
    assert not np.isnan(model.log_density([[1.7e308] * 2])).any()


def test_an_explanation_keeps_and_shows_what_it_was_given():
    table = np.array([[20240102, WIDE[0]], [20240103, WIDE[1]]])
    explanation = CategoricalNB().fit(table, [0, 1]).explain(table)
    table[:] = 0
    assert f"x1 = {WIDE[0]}" in explanation.describe(0)
    assert "x0 = 20240103" in explanation.describe(1)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (BernoulliNB(prior_alpha=1e308), "prior_alpha must be a number from 0 to"),
        (PoissonNB(m=1e300, p=1e300), "m must be a number from 0 to"),
        (MultinomialNB(alpha=1e300), "alpha must be 1e.100 at most"),
        (PoissonNB(m=1, p=1e300), "p must be from 0 to 1e.100"),
        (ComplementNB(norm="no"), "norm must be True or False"),
        (MultinomialNB(force_alpha="no"), "force_alpha must be True or False"),
        (GDA(shrinkage=True), "shrinkage must be a number"),
        (GDA(shrinkage=np.True_), "shrinkage must be a number"),
        (CategoricalNB(min_categories=10**9), "'min_categories' must be from 0 to 16777216"),
        (
            CategoricalNB(bins=Discretizer("quantile", n_bins=10**9)),
            "n_bins must be a whole number from 2 to 65536",
        ),
    ],
    ids=str,
)
def test_options_out_of_bounds_are_refused(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(COUNTS, LABELS)


@pytest.mark.parametrize("options", [{"shared": False}, {"shrinkage": "ledoit-wolf"}])
def test_options_that_need_other_sums_are_refused_when_learning_goes_on(options):
    model = GDA().fit(X, Y)
    before = model.predict_proba(X)
    model.set_params(**options)
    with pytest.raises(ValueError, match="from the start"):
        model.partial_fit(X, Y)
    assert_array_equal(model.predict_proba(X), before)


# Odd layouts and values


def test_a_field_of_packed_records_is_read():
    records = np.zeros(60, dtype=[("label", "u1"), ("x", "f4", (2,))])
    records["x"], records["label"] = X, Y == "b"
    plain = records["x"].copy()
    for model in (*GAUSSIAN, CategoricalNB(bins=Discretizer()), BernoulliNB()):
        packed = model.fit(records["x"], records["label"]).predict_proba(records["x"])
        assert_array_equal(packed, model.fit(plain, records["label"]).predict_proba(plain))


@pytest.mark.parametrize("value", [[1], (1, 2), {"a": 1}, np.arange(2)], ids=repr)
@pytest.mark.parametrize("bins", [None, Discretizer()], ids=str)
def test_a_value_that_is_a_container_is_refused(value, bins):
    table = np.empty((2, 2), dtype=object)
    table[:] = 1
    table[1, 1] = value
    with pytest.raises(ValueError, match="Column 1 holds"):
        CategoricalNB(bins=bins).fit(table, [0, 1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda normal: normal.marginal([True, False]), "got True"),
        (lambda normal: normal.marginal([1.9]), "got 1.9"),
        (lambda normal: normal.density([np.nan, 1]), "NaN"),
        (lambda normal: normal.conditional([1]), "dictionary"),
        (lambda normal: normal.conditional({0: [1, 2]}), "Each value of given must be one number"),
        (lambda normal: normal.sample(-1), "0 or more"),
        (lambda normal: normal.sample(1.5), "0 or more"),
    ],
)
def test_the_multivariate_normal_refuses_what_makes_no_sense(call, words):
    with pytest.raises(ValueError, match=words):
        call(MultivariateNormal([0, 9], [[1, 0], [0, 4]]))


def test_a_point_at_infinity_has_no_density():
    normal = MultivariateNormal([0, 9], [[1, 0], [0, 4]])
    assert_array_equal(normal.density([[np.inf, 1], [-np.inf, np.inf]]), [0, 0])


# Drawing, asking, leaving out


def test_what_was_never_there_is_drawn_as_missing():
    model = CategoricalNB().partial_fit([[0, np.nan], [1, np.nan]], [0, 1])
    rows, _ = model.sample(5, random_state=0)
    assert np.isnan(rows[:, 1]).all()
    announced = MultinomialNB(alpha=0, priors=[0.2, 0.3, 0.5])
    announced.partial_fit(COUNTS, LABELS, classes=[0, 1, 2])
    assert_array_equal(announced.sample(2, y=2)[0], np.zeros((2, 2)))


def test_labels_that_are_no_labels_are_refused():
    model = GDA().fit(X, Y)
    with pytest.raises(ValueError, match="None is not one of the model's classes"):
        model.log_likelihood(X[:2], ["a", None])
    with pytest.raises(ValueError, match="not one of the classes"):
        model.sample(2, y=[None, "a"])
    with pytest.raises(ValueError, match="n must be a whole number, 0 or more"):
        model.sample(True)


def test_text_in_a_discretizer_is_refused_by_place():
    for call in (Discretizer("quantile").fit, Discretizer(edges=[0]).fit([[1.0]]).transform):
        with pytest.raises(ValueError, match="row 1, column 0"):
            call([[1], ["a"]])


@pytest.mark.parametrize("model", [GaussianNB(), MultinomialNB(), BernoulliNB()], ids=str)
def test_leaving_out_the_last_row_of_a_class_needs_priors_by_class(model):
    labels = np.append(LABELS, 2)
    rows = np.vstack([COUNTS, [[4, 4]]])
    with pytest.raises(ValueError, match=r"without row 4 there is no class 2"):
        cross_validate(model.set_params(priors=[0.2, 0.3, 0.5]), rows, labels, folds="loo")
    by_class = {0: 0.2, 1: 0.3, 2: 0.5}
    result = cross_validate(model.set_params(priors=by_class), rows, labels, folds="loo")
    assert np.isfinite(result.probabilities).all()
    model.set_params(priors=None)


def test_a_fold_that_leaves_nothing_is_named():
    with pytest.raises(ValueError, match="in the fold of row 0, which has 60 rows"):
        cross_validate(GDA(), X, Y, folds=[([], range(60))])


def test_threads_beyond_reason_are_no_problem(monkeypatch):
    monkeypatch.setenv("GENUS_THREADS", "9" * 20)
    assert GDA().fit(X, Y).score(X, Y) > 0.5
