"""Gamma naive Bayes: the same numbers as SciPy, at any scale, and sums that survive any order."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import digamma

from cases import refused
from genus import GammaNB, cross_validate
from genus.families.gamma import log_density, log_less_digamma, normaliser, shape_of
from genus.solve.errors import NoSolutionError

rng = np.random.default_rng(11)
Y = np.repeat(["film", "song"], [40, 60])
SHAPES = np.where(Y[:, None] == "film", [0.3, 2.0, 80.0], [1.0, 5.0, 2.0])
X = rng.gamma(SHAPES, [1.0, 0.01, 300.0])
SCALES = [1e-300, 1e-200, 1e-8, 1.0, 1e8, 1e190]

positive = st.floats(1e-3, 1e3)
wide = st.floats(-200, 190).map(lambda e: 10**e)
tables = st.lists(st.tuples(positive, positive), min_size=3, max_size=8).map(np.array)


# Against SciPy


@pytest.mark.parametrize("scale", SCALES)
def test_maximum_likelihood_is_scipys(scale):
    model = GammaNB(alpha=0).fit(X * scale, Y)
    for k, label in enumerate(model.classes_):
        for j in range(3):
            a, _, θ = stats.gamma.fit(X[label == Y, j], floc=0)
            assert_allclose(model.shape_[k, j], a, rtol=1e-10)
            assert_allclose(model.rate_[k, j] * scale, 1 / θ, rtol=1e-10)


@pytest.mark.parametrize("alpha", [0, 1])
@pytest.mark.parametrize("scale", SCALES)
def test_densities_are_scipys(scale, alpha):
    model = GammaNB(alpha=alpha).fit(X * scale, Y)
    a, b = model.shape_, model.rate_ * scale
    by_column = np.stack([stats.gamma.logpdf(X, a[k], scale=1 / b[k]) for k in (0, 1)], axis=2)
    expected = (by_column - np.log(scale)).sum(axis=1) + model.model_.log_prior
    assert_allclose(model.predict_joint_log_proba(X * scale), expected, rtol=1e-11, atol=1e-9)
    explanation = model.explain(X * scale)
    assert_allclose(explanation.joint, expected, rtol=1e-11, atol=1e-9)


@given(rows=tables, more=tables, exponent=st.integers(-600, 600))
def test_shape_and_rate_maximise_the_likelihood(rows, more, exponent):
    scale = 2.0**exponent  # exact, so that only the sums round
    table, labels = np.vstack([rows, more]) * scale, [0] * len(rows) + [1] * len(more)
    try:
        model = GammaNB(alpha=0).fit(table, labels)
    except NoSolutionError:
        spread = [np.ptp(part, axis=0) / part.mean(axis=0) for part in (rows, more)]
        assert np.min(spread) < 1e-3
        return
    for k, part in enumerate((rows, more)):
        a = model.shape_[k]
        s = np.log(part.mean(axis=0)) - np.log(part).mean(axis=0)
        assert_allclose(log_less_digamma(a)[0], s, rtol=1e-9, atol=1e-13)
        assert_allclose(model.rate_[k] * scale, a / part.mean(axis=0), rtol=1e-12)


def test_special_functions_are_right_to_rounding():
    a = np.logspace(-3, 1.5, 1000)
    assert_allclose(log_less_digamma(a)[0], np.log(a) - digamma(a), rtol=1e-12)
    a = np.logspace(-3, 9.6, 1000)
    s, slope = log_less_digamma(a)
    assert_allclose(shape_of(s, s), a, rtol=1e-12)
    step = 1e-5 * a
    numerical = (log_less_digamma(a + step)[0] - log_less_digamma(a - step)[0]) / (2 * step)
    assert_allclose(slope, numerical, rtol=1e-7)
    assert_allclose(np.diff(normaliser(np.array([100.0, 100 + 1e-9]))), 0, atol=1e-11)


def test_values_close_to_each_other_keep_their_digits():
    # p(x) of so large a shape is normal: a (log u - u + 1) = -½ a (u - 1)² + ⅓ a (u - 1)³ …
    u = 1 + np.linspace(-4, 4, 50)[:, None] * 1e-4
    table = np.vstack([u, u * (1 + 1e-4)]) * 1e6
    model = GammaNB(alpha=0).fit(table, [0] * 50 + [1] * 50)
    a, mean = model.shape_, model.shape_ / model.rate_
    assert (a > 1e7).all()
    z = (table - mean.T) / mean.T  # (100, 2)
    terms = sum((-1) ** (i + 1) * z**i / i for i in range(2, 8))
    expected = a.T * terms + 0.5 * np.log(a.T / 2 / np.pi) - 1 / (12 * a.T) - np.log(table)
    got = model.predict_joint_log_proba(table) - np.log(0.5)
    assert_allclose(got, expected, rtol=1e-8, atol=1e-7)
    assert_allclose(got, log_density(table, a.T, mean.T), rtol=1e-11, atol=1e-11)


# Smoothing


@pytest.mark.parametrize("alpha", [0.5, 1, 20])
def test_alpha_rows_have_the_averages_of_all_classes(alpha):
    model = GammaNB(alpha=alpha).fit(X, Y)
    for k, label in enumerate(model.classes_):
        own = X[label == Y]
        mean = (own.sum(axis=0) + alpha * X.mean(axis=0)) / (len(own) + alpha)
        log = (np.log(own).sum(axis=0) + alpha * np.log(X).mean(axis=0)) / (len(own) + alpha)
        assert_allclose(np.log(model.shape_[k]) - digamma(model.shape_[k]), np.log(mean) - log)
        assert_allclose(model.shape_[k] / model.rate_[k], mean)


def test_a_class_of_one_row_is_solved_with_alpha_and_refused_without():
    frame = pd.DataFrame({"minutes": [3.0, 4, 90], "price": [1.0, 2, 12]})
    labels = ["song", "song", "film"]
    model = GammaNB().fit(frame, labels)
    assert (model.shape_ > 0).all()
    assert np.isfinite(model.predict_log_proba(frame)).all()
    words = ["column 0", "'minutes'", "'film'", "90", "alpha above 0", "leave"]
    with refused(*words, by=NoSolutionError):
        model.resolve(alpha=0)
    with refused("without row 0", "'song'", by=NoSolutionError):
        rows = frame[["minutes"]].iloc[[0, 1, 2, 2]].assign(minutes=[3.0, 4, 90, 91])
        cross_validate(GammaNB(alpha=0), rows, ["song", "song", "film", "film"], "loo")


def test_a_column_that_is_constant_says_nothing():
    model = GammaNB().fit(X, Y)
    for value in (1e-5, 0.1, 7e8):
        padded = np.c_[X, np.full(100, value)]
        more = GammaNB().fit(padded, Y)
        assert_allclose(more.predict_proba(padded), model.predict_proba(X), rtol=1e-9)
        padded[:, 3] *= 3
        assert_allclose(more.predict_proba(padded), model.predict_proba(X), rtol=1e-6)
        sample = more.sample(100, random_state=0)[0][:, 3]
        assert_allclose(sample, value, rtol=0.05)


# Very large and very small


@pytest.mark.filterwarnings("error")
def test_sums_beyond_a_float_are_refused():
    with refused("too large", "Scale down X"):
        GammaNB().fit(X * 1e200, Y)
    assert GammaNB().fit(X * 1e-310, Y).score(X * 1e-310, Y) > 0.8  # hardly any digits are left


@pytest.mark.parametrize("alpha", [0, 1])
def test_any_positive_number_is_scored(alpha):
    table = np.array([[5e-324, 1e-300], [1e-300, 1e-5], [1.0, 1e5], [1e100, 1e190], [2, 3], [5, 4]])
    model = GammaNB(alpha=alpha).fit(table, [0, 0, 1, 1, 2, 2])
    rows = np.array([[a, b] for a in (5e-324, 1e-100, 1, 1.7e308) for b in (5e-324, 1, 1.7e308)])
    with np.errstate(invalid="raise", divide="raise"):
        assert not np.isnan(model.predict_joint_log_proba(rows)).any()
        assert not np.isnan(model.explain(rows).joint).any()


def test_samples_of_a_small_shape_are_positive():
    table = np.exp(np.linspace(-600, 0, 40))[:, None]
    model = GammaNB().fit(table, np.arange(40) % 2)
    drawn = model.sample(2000, random_state=0)[0]
    assert (model.shape_ < 0.01).all()
    assert (drawn > 0).all()
    assert np.isfinite(model.predict_log_proba(drawn)).all()


# Sums of real numbers


@given(rows=tables, more=tables, cut=st.integers(1, 5))
def test_pieces_give_the_parameters_of_the_whole(rows, more, cut):
    table = np.vstack([rows, more])
    labels = np.arange(len(table)) % 2
    whole = GammaNB().fit(table, labels)
    parts = GammaNB().partial_fit(table[:cut], labels[:cut])
    parts = parts + GammaNB().partial_fit(table[cut:], labels[cut:])
    again = whole.partial_fit(more, np.zeros(len(more), int)).forget(more, np.zeros(len(more), int))
    for other in (parts, again):
        assert_allclose(other.rate_, GammaNB().fit(table, labels).rate_, rtol=1e-6)
        assert_allclose(other.shape_, GammaNB().fit(table, labels).shape_, rtol=1e-6)


@given(
    table=st.lists(st.tuples(wide, wide | st.just(np.nan)), min_size=1, max_size=8),
    data=st.data(),
)
def test_rows_of_any_size_are_forgotten_in_any_order(table, data):
    table = np.array(table)
    labels = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=len(table), max_size=len(table)))
    )
    weight = np.array(
        data.draw(st.lists(st.floats(0.1, 3), min_size=len(table), max_size=len(table)))
    )
    order = data.draw(st.permutations(range(len(table))))
    model = GammaNB().partial_fit(table, labels, sample_weight=weight)
    for i in order:
        row = slice(i, i + 1)
        model.forget(table[row], labels[row], sample_weight=weight[row])
        if len(model.classes_):
            assert np.isfinite(model.shape_).all()
            assert not np.isnan(model.predict_log_proba(table)).any()
    assert len(model.classes_) == 0
    assert not any(array.size for array in model.model_.statistics.counts.values())


def test_the_last_rows_of_a_class_are_forgotten_only_if_they_are_its_own():
    model = GammaNB().fit(X, Y)
    state = pickle.dumps(model.model_.statistics)
    for rows in (X[:60], X[40:] * 1.001, X[40:] + 0.01):
        with refused("were never learned"):
            model.forget(rows, ["song"] * 60)
    with refused("more would be forgotten"):
        model.forget(X, ["song"] * 100)
    with refused("more would be forgotten"):
        model.forget(X[40:60] * 1e50, ["song"] * 20)
    assert pickle.dumps(model.model_.statistics) == state
    assert model.forget(X[40:][::-1], ["song"] * 60).classes_.tolist() == ["film"]


@given(rows=tables, more=tables, alpha=st.sampled_from([0, 0.3, 1]))
def test_leaving_one_out_of_real_numbers_is_fitting_without_it(rows, more, alpha):
    table = np.vstack([rows, more])
    labels = np.array([0] * len(rows) + [1] * len(more))
    try:
        left = cross_validate(GammaNB(alpha=alpha), table, labels, "loo").probabilities
    except NoSolutionError:
        assert alpha == 0
        return
    for i in range(len(table)):
        rest = np.arange(len(table)) != i
        model = GammaNB(alpha=alpha).fit(table[rest], labels[rest])
        assert_allclose(left[i], model.predict_proba(table[[i]])[0], rtol=1e-5, atol=1e-6)


def test_missing_values_are_left_out():
    holes = X.copy()
    holes[rng.random(X.shape) < 0.3] = np.nan
    model = GammaNB(alpha=0).fit(holes, Y)
    for k, label in enumerate(model.classes_):
        for j in range(3):
            there = holes[label == Y, j]
            a, _, θ = stats.gamma.fit(there[~np.isnan(there)], floc=0)
            assert_allclose([model.shape_[k, j], 1 / model.rate_[k, j]], [a, θ], rtol=1e-10)
    nothing = model.predict_proba(np.full((1, 3), np.nan))
    assert_array_equal(nothing.round(12), [[0.4, 0.6]])


def test_a_column_of_a_class_without_values_is_empty_in_whatever_order_weights_add_up(monkeypatch):
    monkeypatch.setenv("GENUS_THREADS", "2")  # one sum is by threads, the other row by row
    rows = 70_000
    y = np.arange(rows) % 2
    x = np.full((rows, 2), 2.0)
    x[y == 1, 0] = np.nan
    model = GammaNB().fit(x, y, sample_weight=np.random.default_rng(0).random(rows))
    assert model.model_.statistics["seen"][1, 0] == 0
