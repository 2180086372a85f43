"""Which one should I use: curves that are sums, who is ahead, where curves cross, and why."""

from __future__ import annotations

import json
import sys
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from click.testing import CliRunner, Result
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    TableClassifier,
    TextClassifier,
    compare,
)
from genus.cli import cli
from genus.cli.comparing import as_object
from genus.cli.results import plain as plain_object
from genus.evaluate.comparing import fitting
from genus.evaluate.comparing.counting import blocks_of, fit_alone, nested, posterior, solve
from genus.evaluate.comparing.curves import Curves, curves
from genus.evaluate.comparing.data import material
from genus.evaluate.comparing.dependence import conditional_information, pairs
from genus.evaluate.comparing.fitting import affordable, cost_ahead
from genus.evaluate.comparing.normality import equal_covariances, normalities, of_covariances
from genus.evaluate.comparing.points import Line, deals, judged, sizes_for
from genus.evaluate.comparing.posterior import bent, straightness
from genus.evaluate.comparing.reasons import reasons, separate_losses
from genus.evaluate.comparing.verdict import advice, crossing, lead, zero
from scope import at_night, nightly

WORDS = ["cash", "prize", "win", "lunch", "noon", "meeting", "now", "the", "you", "see"]


def texts(rows: int, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    p = np.array([[4, 4, 4, 1, 1, 1, 2, 3, 3, 2], [1, 1, 1, 4, 4, 4, 2, 3, 3, 2]], float)
    p /= p.sum(axis=1, keepdims=True)
    lines = [" ".join(rng.choice(WORDS, 8, p=p[k])) for k in y]
    return lines, ["spam" if k == 0 else "ham" for k in y]


def table(rows: int, seed: int = 0) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    age = rng.normal(40 + 8 * y, 10)
    job = np.array(["a", "b", "c"])[np.minimum(rng.integers(0, 3, rows) + y, 2)]
    return {
        "age": [None if i % 17 == 0 else float(a) for i, a in enumerate(age)],
        "job": job.tolist(),
        "pays": np.array(["no", "yes"])[y].tolist(),
    }


def normal(rows: int, n: int = 4, shift: float = 1.0, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return rng.normal(size=(rows, n)) + shift * y[:, None] / np.sqrt(n), y


def counts(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    return rng.poisson(1 + y[:, None] * [1.0, 0.5, 0.0, 2.0]), y


# The curves


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (GDA(shrinkage="oas"), *load_wine(return_X_y=True)),
        pytest.param(
            GDA(shared=False, shrinkage="oas"), *load_iris(return_X_y=True), marks=nightly
        ),
        pytest.param(GaussianNB(), *load_iris(return_X_y=True), marks=nightly),
        pytest.param(PoissonNB(), *counts(150), marks=nightly),
        pytest.param(BernoulliNB(binarize=0.5), *counts(150), marks=nightly),
        (CategoricalNB(), *counts(150)),
        pytest.param(MultinomialNB(), *counts(150), marks=nightly),
        (MultinomialNB(), scipy.sparse.csr_array(counts(150)[0]), counts(150)[1]),
        (TextClassifier(), *texts(120)),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list | np.ndarray) else "",
)
def test_a_point_of_the_curve_is_what_a_fit_to_its_rows_says(model, X, y):
    given = material(X, y, None, model)
    found = curves(given, repeats=10)
    at = sizes_for(len(given.y), len(given.classes), 10)
    y, source = np.asarray(y), np.asarray(X, dtype=object) if isinstance(X, list) else X
    for r, deal in enumerate(deals(given.y, 10, 1, 0)):
        if r % 4:
            continue
        for s, (size, blocks) in enumerate(at):
            rows = deal.rows(size, blocks)
            alone = clone(model).fit(source[rows], y[rows])
            p = np.zeros((len(deal.test), len(given.classes)))
            p[:, np.searchsorted(given.classes, alone.classes_)] = alone.predict_proba(
                source[deal.test]
            )
            error, loss = judged(p, given.y[deal.test])
            assert found.lines[0].error[s, r] == pytest.approx(error)
            assert found.lines[0].log_loss[s, r] == pytest.approx(loss, rel=1e-6)


def test_sets_of_rows_are_nested_and_never_hold_what_is_tested():
    y = np.random.default_rng(0).integers(0, 3, 437)
    tested = []
    for deal in deals(y, 10, 1, 3):
        before: set[int] = set()
        for size, blocks in sizes_for(len(y), 3, 10):
            rows = deal.rows(size, blocks)
            assert (np.diff(rows) > 0).all()
            assert abs(len(rows) - size) <= 3 + blocks
            assert before <= set(rows.tolist())
            assert not set(rows.tolist()) & set(deal.test.tolist())
            assert len(np.unique(y[rows])) == 3
            before = set(rows.tolist())
        tested += deal.test.tolist()
    assert sorted(tested) == list(range(len(y)))


@pytest.mark.parametrize("rows", [8, 9, 20, 21, 50, 100, 1000, 1_000_000])
@pytest.mark.parametrize("classes", [2, 3, 26])
def test_sizes_ascend_from_a_handful_to_all_but_a_block(rows, classes):
    blocks = min(10, max(2, rows // (2 * classes)))
    sizes = [size for size, _ in sizes_for(rows, classes, blocks)]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == round(rows * (blocks - 1) / blocks)
    assert sizes[0] <= max(rows / blocks + 1, 2 * max(classes, 4))


def test_all_learners_see_the_same_rows():
    """With one informative column and a mile between classes no learner is ever wrong."""
    X, y = normal(200, n=1, shift=1000.0)
    found = compare(X, y, repeats=10)
    for line in found.curves.lines:
        assert (line.error == 0).all()
    assert "logistic regression separate their training rows" in " ".join(found.notes)


@nightly
def test_memory_and_seconds_are_told():
    found = compare(*load_iris(return_X_y=True), repeats=10)
    for line in found.curves.lines:
        assert (line.seconds > 0).all()
        if sys.platform == "linux":
            assert line.memory is not None
    assert found.curves.counting > 0
    assert "because counts add up" in str(found)


def test_patience_ends():
    given = material(*load_breast_cancer(return_X_y=True), None, None)
    found = curves(given, repeats=10, patience=1e-6)
    ours, theirs, _ = found.lines
    assert (np.isnan(ours.error) == (np.arange(10) >= 3)).all()
    assert np.isnan(theirs.error[1:]).all()
    assert "at each size, to stay within patience=1e-06." in " ".join(ours.notes)
    assert "stops at 7 rows" in " ".join(theirs.notes)
    assert "more than is left of patience=1e-06." in " ".join(theirs.notes)
    assert "Judging by 7 of your 569 rows, use" in advice(found, 569).sentence


def test_time_is_shared_among_sizes():
    assert cost_ahead([10, 100, 1000, 10_000], np.array([0.1, 0.2, 1.2])) == pytest.approx(
        11.2, 0.1
    )
    assert cost_ahead([10, 100], np.empty(0)).tolist() == [0, 0]
    assert affordable(np.array([0.0, 0.0]), 10, 60, 60) == 10
    assert affordable(np.array([1.0, 10.0]), 10, 55, 60) == 5
    assert affordable(np.array([10.0, 100.0]), 10, 40, 60) == 3
    assert affordable(np.array([30.0]), 10, 40, 60) == 0


def test_progress_is_told_of_every_point():
    seen: list[tuple[int, int]] = []
    compare(*load_iris(return_X_y=True), repeats=10, progress=lambda *told: seen.append(told))
    totals = {total for _, total in seen}
    assert len(totals) == 1
    assert sum(done for done, _ in seen) == totals.pop()


# Who is ahead


def line_of(name: str, means: list[float], seed: int, repeats: int = 10, noise: float = 0.01):
    rng = np.random.default_rng(seed)
    values = np.array(means)[:, None] + noise * rng.normal(size=(len(means), repeats))
    return Line(name, values, values, np.ones(len(means)))


def curves_of(a: list[float], b: list[float], **options: float) -> Curves:
    lines = (line_of("GDA", a, 1, **options), line_of("logistic regression", b, 2, **options))
    sizes = 10 * 2 ** np.arange(len(a))
    return Curves(sizes, lines, 10, 1.0, 1.0, np.empty(0, np.intp))


def test_a_lead_is_as_sure_as_the_corrected_t_test_is():
    found = curves_of([0.3, 0.25], [0.31, 0.24])
    a, b = found.lines
    gaps = b.error[1] - a.error[1]
    t = gaps.mean() / (gaps.std(ddof=1) * np.sqrt(1 / 10 + 10 / 20))
    one = lead(found, "error", a, b)
    assert one is not None
    assert one.sure == pytest.approx(stats.t.cdf(abs(t), 9))
    assert one.gap == pytest.approx(gaps.mean())
    other = lead(found, "error", b, a)
    assert other is not None
    assert (other.gap, other.sure) == pytest.approx((-one.gap, one.sure))


def test_equal_learners_are_seldom_told_apart():
    """Of pairs that do not differ, a lead of 90 % is found about as often as it should be."""
    clear = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        errors = rng.integers(0, 2, (2, 200))  # of two guesses
        values = [np.array([[np.mean(each[fold::10]) for fold in range(10)]]) for each in errors]
        lines = tuple(Line(str(k), v, v, np.ones(1)) for k, v in enumerate(values))
        found = Curves(np.array([180]), lines, 20, 1.0, 1.0, np.empty(0, np.intp))
        one = lead(found, "error", *lines)
        clear += one is not None and one.is_clear
    assert clear <= 0.25 * 200


def test_curves_that_cross_are_seen_to():
    found = curves_of([0.2, 0.19, 0.18, 0.175, 0.17], [0.4, 0.3, 0.2, 0.12, 0.08])
    at = crossing(found, "error", *found.lines)
    assert at is not None
    assert (at.before, at.after) == ("GDA", "logistic regression")
    assert 40 < at.rows < 80  # between 0.18 < 0.2 and 0.175 > 0.12
    assert at.low <= at.rows <= at.high
    assert "use logistic regression" in advice(found, 200).sentence


@pytest.mark.parametrize(
    ("a", "b"), [([0.3, 0.2, 0.1], [0.4, 0.3, 0.2]), ([0.3, 0.2, 0.1], [0.3, 0.2, 0.1])]
)
def test_curves_that_do_not_cross_are_not(a, b):
    found = curves_of(a, b)
    assert crossing(found, "error", *found.lines) is None


def test_where_a_line_is_zero():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    assert zero(x, np.array([1.0, 1.0, -1.0, -1.0])) == 1.5
    assert zero(x, np.array([1.0, -1.0, 1.0, -3.0])) == 2.25
    assert np.isnan(zero(x, np.ones(4)))


def test_neither_ahead_is_said_so():
    found = curves_of([0.3, 0.2], [0.3, 0.2])
    assert "a difference that may be chance" in advice(found, 40).sentence
    assert advice(found, 40).use == "GDA"


def test_better_probabilities_decide_between_equals():
    same, other = line_of("GDA", [0.3, 0.2], 1), line_of("logistic regression", [0.3, 0.2], 1)
    theirs = Line("logistic regression", other.error, other.log_loss / 2, other.seconds)
    found = Curves(np.array([10, 20]), (same, theirs), 2, 1.0, 1.0, np.empty(0, np.intp))
    told = advice(found, 22)
    assert told.use == "logistic regression"
    assert "its probabilities are better" in told.sentence


# Why


def test_normal_classes_are_near_to_normal():
    X, y = normal(2000)
    for found in normalities(X, y, np.array([0, 1]), list("abcd")):
        assert found.is_near
        assert found.kurtosis == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(("rows", "n", "classes"), [(20, 2, 2), (50, 13, 3), (200, 10, 2)])
def test_normal_classes_of_few_rows_are_seldom_called_far_from_it(rows, n, classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), rows)
    far = 0
    for _ in range(100):
        found = normalities(rng.normal(size=(len(y), n)), y, np.arange(classes), ["x"] * n)
        far += any(not each.is_near for each in found)
    assert far <= 15


def test_the_test_of_normality_holds_its_level():
    rng = np.random.default_rng(0)
    y = np.zeros(200, int)
    p = [
        normalities(rng.normal(size=(200, 3)), y, np.array([0]), list("abc"))[0].p_value
        for _ in range(200)
    ]
    assert np.mean(np.array(p) < 0.05) < 0.1
    skewed = normalities(rng.exponential(size=(200, 3)), y, np.array([0]), list("abc"))[0]
    assert skewed.p_value < 1e-6
    assert not skewed.is_near


def test_boxs_m_holds_its_level_and_finds_what_differs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    p = []
    for _ in range(200):
        found = equal_covariances(rng.normal(size=(300, 3)), y, np.array([0, 1]))
        assert found is not None
        p.append(found.p_value)
    assert 0.01 < np.mean(np.array(p) < 0.05) < 0.11
    wide = rng.normal(size=(300, 3)) * np.where(y, 2.0, 1.0)[:, None]
    found = equal_covariances(wide, y, np.array(["a", "b"]))
    assert found is not None
    assert found.p_value < 1e-6
    assert found.times < 0.8 or found.times > 1.25
    assert not found.is_near


@pytest.mark.parametrize("n", [2, 10])
def test_covariances_of_one_size_and_other_directions_differ(n):
    """Correlations of +.6 and -.6 have the same determinant."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, n))
    X[:, 1] = 0.6 * X[:, 0] * np.where(y, 1, -1) + 0.8 * X[:, 1]
    found = equal_covariances(X, y, np.array([0, 1]))
    assert found is not None
    assert not found.is_near
    assert "too few rows" in of_covariances(found)
    better = of_covariances(replace(found, separate=(0.4, 0.3)))
    assert "GDA(shared=False), is better: its out-of-fold log loss is 0.300" in better
    assert "is no better" in of_covariances(replace(found, separate=(0.3, 0.4)))


@pytest.mark.parametrize(("rows", "classes"), [(150, 10), (500, 10), (500, 50), (1000, 100)])
def test_independent_columns_of_few_rows_are_seldom_called_dependent(rows, classes):
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(30):
        y = np.resize(np.arange(classes), rows)
        given = material(rng.normal(size=(rows, 5)), y, None, GaussianNB())
        named += len(pairs(given.raw, given.y, given)[0]) > 0
    assert named <= 2


def test_rows_that_come_in_turns_are_all_looked_at():
    rng = np.random.default_rng(0)
    y = np.arange(40_000) % 2
    X = rng.normal(size=(40_000, 2))
    X[y == 1] = rng.exponential(5, size=(20_000, 2))
    found = reasons(material(X, y, None, None), np.empty(0, np.intp), {})
    assert [each.is_near for each in found.normality] == [True, False]
    assert found.covariances is not None
    assert not found.covariances.is_near


def test_a_posterior_that_is_not_logistic_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    straight = bent(X, (X[:, 0] + rng.logistic(size=600) > 0).astype(int))
    curved = bent(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    assert straight is not None
    assert curved is not None
    assert not straight.is_clear
    assert curved.is_clear
    assert curved.gain > 0.3


def test_boxs_m_is_that_of_the_textbook():
    """Two classes in one dimension: Bartlett's test is Box's M with n = 1."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(60, 1)), 1.3 * rng.normal(size=(80, 1))
    found = equal_covariances(np.vstack([a, b]), np.repeat([0, 1], [60, 80]), np.array([0, 1]))
    assert found is not None
    assert found.p_value == pytest.approx(stats.bartlett(a[:, 0], b[:, 0]).pvalue, rel=1e-3)


def test_mutual_information_is_scikit_learns_less_chance():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 5000)
    b = np.where(rng.random(5000) < 0.5, a, rng.integers(0, 4, 5000))
    bits, p = conditional_information(a, b, np.zeros(5000, int), 1)
    freedom = 2 * 3
    expected = mutual_info_score(a, b) / np.log(2) - freedom / (2 * 5000 * np.log(2))
    assert bits == pytest.approx(expected)
    assert p < 1e-10


def test_what_depends_only_through_the_class_is_independent_given_it():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = rng.normal(size=(4000, 3)) + 3 * y[:, None]  # correlated, but not given y
    assert np.corrcoef(X.T)[0, 1] > 0.5
    given = material(X, y, None, None)
    assert pairs(given.raw, given.y, given) == ((), 3)
    X[:, 2] = X[:, 0] + 0.1 * rng.normal(size=4000)
    given = material(X, y, None, None)
    found, compared = pairs(given.raw, given.y, given)
    assert [{pair.first, pair.second} for pair in found] == [{"x0", "x2"}]
    assert compared == 3


@pytest.mark.parametrize("times", [0.5, 1.0, 3.0])
def test_log_odds_that_are_too_large_are_told_by_their_slope(times):
    rng = np.random.default_rng(0)
    s = rng.normal(0, 2, 20_000)
    y = (rng.random(20_000) < 1 / (1 + np.exp(-s))).astype(int)
    own = 1 / (1 + np.exp(-times * s))
    found = straightness("GDA", np.column_stack([1 - own, own]), y)
    assert found is not None
    assert found.slope == pytest.approx(1 / times, rel=0.05)
    assert found.is_straight
    assert (found.p_slope < 0.01) == (times != 1)
    bent = 1 / (1 + np.exp(-(s - 0.4 * s**2)))
    found = straightness("GDA", np.column_stack([1 - bent, bent]), y)
    assert found is not None
    assert not found.is_straight


# What the notes claim


@nightly
def test_gda_needs_fewer_rows_if_it_is_right():
    X, y = normal(600, n=10, shift=2.0)
    found = compare(X, y)
    ours, theirs = (line.log_loss.mean(axis=1) for line in found.curves.lines[:2])
    middle = np.flatnonzero((found.curves.sizes >= 100) & (found.curves.sizes < 400))
    assert (ours[middle] < theirs[middle]).all()
    assert all(each.is_near for each in found.reasons.normality)


@nightly
def test_logistic_regression_wins_where_gda_is_wrong():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    X = rng.poisson(np.where(y[:, None], [0.6, 8.0], [0.3, 4.0]))
    X = np.column_stack([X, np.exp(X[:, 1] / 3)])
    found = compare(X.astype(float), y, repeats=10)
    assert found.advice.use == "logistic regression"
    assert "far from normal" in " ".join(found.why)


# What people give


@nightly
def test_tables_with_holes_and_categories():
    found = compare(table(300), target="pays", repeats=10)
    assert list(found.lines) == ["naive Bayes", "logistic regression", "perceptron"]
    assert (found.lines["naive Bayes"].error[-1] < 0.5).all()
    assert found.rows == 300
    again = compare({k: v for k, v in table(300).items() if k != "pays"}, table(300)["pays"])
    assert again.rows == 300


@nightly
def test_texts():
    found = compare(*texts(200), repeats=10)
    assert "naive Bayes" in found.lines
    assert found.lines["naive Bayes"].error[-1].mean() < 0.2


def test_a_column_of_texts():
    lines, y = texts(120)
    long = [f"{line} and so on and on {i}" for i, line in enumerate(lines)]
    found = compare({"text": long, "label": y}, target="label", repeats=10)
    assert found.lines["naive Bayes"].error[-1].mean() < 0.3


def test_texts_beside_other_columns():
    lines, y = texts(120)
    notes = [f"{line} and so on and on {i}" for i, line in enumerate(lines)]
    age = np.random.default_rng(0).normal(size=120)
    found = compare({"notes": notes, "age": age, "label": y}, target="label", repeats=10)
    for line in found.curves.lines:
        assert line.error[-1].mean() < 0.4


@pytest.mark.parametrize("kind", at_night([int, str, object], int))
def test_codes_of_categories_are_categories_to_both(kind):
    """Code 1 is one class, 0 and 2 the other: no straight line over codes tells them apart."""
    codes = np.random.default_rng(0).integers(0, 3, (300, 3))
    found = compare(codes.astype(kind), codes[:, 0] == 1, model=CategoricalNB(), repeats=10)
    assert found.lines["logistic regression"].error[-1].max() == 0
    assert found.lines["CategoricalNB"].error[-1].max() == 0


def test_a_model_that_cannot_be_fitted_is_said_so():
    X, y = normal(100)
    X = np.column_stack([X, np.ones(100)])
    found = compare(X, y, model=GDA(diagonal=True), repeats=10)
    assert found.advice.use == "logistic regression"
    assert "no variance within any class" in " ".join(found.notes)
    assert "because counts add up" not in str(found)


@nightly
def test_any_classifier_may_be_compared():
    X, y = counts(200)
    assert "PoissonNB" in compare(X, y, model=PoissonNB(), repeats=10).lines
    assert "GDA(shared=False)" in compare(X, y, model=GDA(shared=False), repeats=10).lines
    with pytest.raises(ValueError, match="calibrate=False"):
        compare(["good day", "bad night"] * 10, [0, 1] * 10, model=TextClassifier("auto"))


@nightly
def test_weights_of_a_table_are_learned_at_each_point_of_its_curve():
    given = material(table(60), None, "pays", TableClassifier())
    at, deal = sizes_for(60, 2, 10), next(deals(given.y, 10, 1, 0))
    X, _ = given.take(deal.test)
    sums = nested(given, at, deal, blocks_of(given, deal))
    for (size, blocks), model in zip(at, sums, strict=True):
        again = posterior(given, fit_alone(given, deal.rows(size, blocks)), X)
        assert np.allclose(posterior(given, solve(given, model), X), again)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (np.ones((4, 2)), [0, 0, 1, 1], "4 rows"),
        (np.eye(20), ["no"] * 20, "only one class, 'no'"),
        (np.eye(20), [0.0, np.nan] * 10, "row 1 has no label"),
        (np.eye(20), np.ones((20, 2)), "one label for each row"),
        (np.eye(20), list(range(20)), "two rows or more"),
        (np.eye(20), [0] * 19 + [1], "Fewer than two classes have two rows"),
        (np.eye(20), None, "labels are missing"),
        (np.full((20, 2), np.inf), [0, 1] * 10, "inf"),
    ],
)
def test_bad_input_gets_a_sentence(X, y, said):
    with pytest.raises(ValueError, match=said):
        compare(X, y)


def test_what_contradicts_itself_gets_a_sentence():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="not both"):
        compare({"a": [1, 2], "b": [0, 1]}, [0, 1], target="b")
    with pytest.raises(ValueError, match="needs column names"):
        compare(X, y, ignore=["x0"])
    for patience in (0, -1, np.nan):
        with pytest.raises(ValueError, match="patience must be a number"):
            compare(X, y, patience=patience)


@nightly
def test_noise_is_no_better_than_a_guess():
    rng = np.random.default_rng(0)
    found = compare(rng.normal(size=(300, 3)), rng.integers(0, 2, 300), repeats=10)
    assert "clearly better than always predicting" in found.advice.sentence
    rare = (np.arange(1000) % 50 == 0).astype(int)
    found = compare(rng.normal(size=(1000, 3)), rare, repeats=10)
    assert "wrong in 2.0 % of rows" in found.advice.sentence


def test_what_genus_fit_makes_of_the_rows_is_told():
    X = np.random.default_rng(0).normal(size=(400, 2))
    found = compare(X, (X[:, 0] * X[:, 1] > 0).astype(int), repeats=10)
    assert found.weighed is not None
    assert found.weighed.error < 0.1
    assert "TableClassifier" in str(found)
    assert "in cross-validation with 5 folds" in found.sentence


def test_no_model_sees_the_columns_to_ignore():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = {"x": rng.normal(size=200) + y, "kind": ["u", "v"] * 100, "leak": y.astype(str)}
    assert compare(table, y, repeats=10).weighed.error == 0
    honest = {"x": table["x"], "kind": table["kind"]}
    found = compare(table, y, repeats=10, ignore=["leak"])
    assert found.weighed == compare(honest, y, repeats=10).weighed
    assert found.weighed.error > 0.1


def test_the_baseline_and_the_plain_model_are_told():
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 5 == 0).astype(int)
    found = compare(rng.normal(size=(200, 2)) + y[:, None], y, repeats=10)
    assert "most frequent class would be wrong in 20.0 % of rows" in str(found)
    assert "In Python, GDA is GDA(shrinkage='oas'), from genus." in str(found)
    assert found.in_python in found._repr_html_().replace("&#x27;", "'")
    own = compare(rng.normal(size=(200, 2)), y, model=GaussianNB(), repeats=10)
    assert not own.in_python


def test_few_rows_of_many_classes_are_judged_as_they_would_be():
    """Thirty classes of three rows: with ten blocks the class that is tested lacks a third."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(30, 6))
    y = np.repeat(np.arange(30), 3)
    X = centres[y] + 0.7 * rng.normal(size=(90, 6))
    new = np.repeat(np.arange(30), 100)
    others = centres[new] + 0.7 * rng.normal(size=(3000, 6))
    found = compare(X, y, repeats=30)
    fresh = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    truth = 1 - fresh.score(others, new)
    said = np.nanmean(found.lines["logistic regression"].error[-1])
    assert truth - 0.05 < said < truth + 0.15


@nightly
def test_pictures_and_sentences_are_of_the_same_repeats():
    found = compare(*load_wine(return_X_y=True), repeats=10).curves
    thin = found.lines[1].error.copy()
    thin[-1, 3:] = np.nan
    lines = (found.lines[0], replace(found.lines[1], error=thin), found.lines[2])
    ours, theirs, _ = replace(found, lines=lines).compared("error")
    assert np.isnan(ours[-1, 3:]).all()
    assert not np.isnan(ours[-1, :3]).any()
    assert not np.isnan(theirs[0]).any()


@nightly
def test_sparse_rows_of_any_layout():
    X, y = counts(200)
    y = y.copy()
    y[0] = 9
    for layout in (scipy.sparse.coo_matrix, scipy.sparse.csc_array, scipy.sparse.csr_array):
        found = compare(layout(X), y, repeats=10)
        assert not np.isnan(found.lines["perceptron"].error[-1]).any()
        assert found.rows == 199


@nightly
def test_many_columns_and_many_holes_are_for_naive_bayes():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 600)) + y[:, None]
    assert "naive Bayes" in compare(X, y, repeats=10).lines
    X = X[:, :5]
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 2] = np.nan
    found = compare(X, y, repeats=10)
    assert "naive Bayes" in found.lines
    assert "Left out 1 column without any number: 'x2'." in found.notes


def test_a_number_as_a_target_is_noticed():
    rng = np.random.default_rng(0)
    y = np.resize(np.arange(80), 300)
    found = compare(rng.normal(size=(300, 2)), y, repeats=10, patience=2)
    assert "There are 80 classes in 300 rows" in found.notes[0]


@pytest.mark.parametrize(("rows", "repeats"), [(20, 20), (4, 12)])
def test_repeats_are_a_multiple_of_the_blocks(rows, repeats):
    X, _ = normal(2 * rows)
    given = material(X, np.arange(2 * rows) % 2, None, None)
    assert curves(given, repeats=11).lines[0].error.shape[1] == repeats


@pytest.mark.parametrize("repeats", [0, -1, 2.5, True, "10"])
def test_repeats_is_a_whole_number(repeats):
    with pytest.raises(ValueError, match="repeats must be a whole number"):
        compare(*load_iris(return_X_y=True), repeats=repeats)


def test_a_class_with_a_single_row_is_left_out_and_said():
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[0] = 7
    found = compare(X, y, repeats=10)
    assert found.rows == 149
    assert "Left out classes with a single row: 7." in found.notes


@nightly
def test_columns_that_say_nothing_are_no_obstacle():
    X, y = normal(100)
    X = np.column_stack([X, np.ones(100), np.where(np.arange(100) % 3, X[:, 0], np.nan)])
    found = compare(X, y, repeats=10)
    assert not np.isnan(found.lines["GDA"].error[2:]).any()


@nightly
def test_what_does_not_converge_is_said(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_STEPS", 2)
    found = compare(*load_breast_cancer(return_X_y=True), repeats=10)
    assert "did not converge within 2 steps" in " ".join(found.notes)
    assert not np.isnan(found.lines["logistic regression"].error).any()


def test_eight_rows_are_enough():
    X, y = normal(8, shift=5.0)
    y = np.arange(8) % 2
    found = compare(X, y)
    assert found.curves.sizes.tolist() == [2, 4]
    assert "nan" not in str(found)


# The command


def genus(*arguments: object, cwd: Path) -> Result:
    """Run `genus compare` in this process."""
    with chdir(cwd):
        done = CliRunner().invoke(cli, ["compare", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    columns = table(120)
    lines = [",".join(columns)]
    lines += [
        ",".join("" if value is None else str(value) for value in row)
        for row in zip(*columns.values(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_command_says_which_and_why_and_draws(data):
    done = genus(data, "--target", "pays", "--repeats", "10", "-o", "c.svg", cwd=data.parent)
    assert done.exit_code == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith("With your 120 rows, use ")
    assert "perceptron" in done.stdout
    assert done.stderr == "Wrote c.svg.\n"
    drawn = (data.parent / "c.svg").read_text()
    assert drawn.count("logistic regression") == 1
    assert "rows learned from" in drawn


def test_the_command_names_its_own_option(data):
    done = genus(data, "--target", "pays", "--repeats", 10, "--patience", 1e-6, cwd=data.parent)
    assert "more than is left of --patience 1e-06." in done.stdout
    assert "patience=" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["rows.csv"], 2, "--target"),
        (["rows.csv", "--target", "nothing"], 1, "no column 'nothing'"),
        (["none.csv", "--target", "pays"], 1, "none.csv"),
        (["rows.csv", "--target", "pays", "-o", "c.txt"], 2, ".svg, .png, .pdf"),
        (["rows.csv", "--target", "pays", "-o", "rows.csv"], 2, ".svg, .png, .pdf"),
        (["rows.csv", "--target", "pays", "--repeats", "0"], 2, "--repeats"),
        (["rows.csv", "--target", "pays", "--patience", "0"], 2, "--patience"),
        (
            ["rows.csv", "--target", "pays", "--ignore", "age", "--ignore", "job"],
            1,
            "'age' left out on request",
        ),
        (["rows.csv", "--target", "pays", "-o", "nowhere/c.svg"], 1, "nowhere"),
    ],
)
def test_the_command_takes_bad_input_with_a_sentence(data, arguments, code, said):
    done = genus(*arguments, cwd=data.parent)
    assert done.exit_code == code
    assert said in done.stderr
    assert sorted(each.name for each in data.parent.iterdir()) == ["rows.csv"]


def test_separate_covariances_are_measured_before_they_are_named():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) * np.where(y, 3.0, 1.0)[:, None]
    found = separate_losses(X, y)
    assert found is not None
    assert found[1] < found[0] - 0.1
    assert separate_losses(X[:5], np.array([0, 0, 0, 0, 1])) is None


def test_genus_fit_is_advised_where_it_is_better_than_both():
    """Whether two numbers have one sign is for no plain model."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    table = {"a": x[:, 0], "b": x[:, 1], "y": np.where(x[:, 0] * x[:, 1] > 0, "same", "other")}
    found = compare(table, target="y", repeats=10)
    assert found.use == "genus fit"
    assert str(found).startswith("Use genus fit (TableClassifier): it is wrong in")
    line = rng.normal(size=400)
    plain = {"a": line + 1.0 * (x[:, 0] > 0), "y": np.where(x[:, 0] > 0, "u", "v")}
    other = compare(plain, target="y", repeats=10)
    assert other.use == ("genus fit" if other.is_weighed_better else other.advice.use)
    told = json.loads(json.dumps(plain_object(as_object(found)), allow_nan=False))
    assert told["use"] == "genus fit"
    assert "logistic regression" in told["learners"]
