"""What a user may call and hand over, for every classifier."""

from __future__ import annotations

import copy
import importlib.resources
import inspect
import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer
from threadpoolctl import threadpool_limits

import genus
from cases import (
    CASES,
    CATEGORICAL,
    CODES,
    COUNTS,
    DISCRETE,
    FULL,
    GAUSSIAN,
    LABELS,
    LINEAR,
    NAMES,
    NUMBERS,
    PAIRED,
    POSITIVE,
    Case,
    each,
    refused,
)
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    Discretizer,
    GaussianNB,
    MultinomialNB,
    MultivariateNormal,
    SingularCovarianceError,
    SingularCovarianceWarning,
    cross_validate,
)

NAIVE = [case for case in CASES if case not in FULL + PAIRED]
TEXT = np.array(["ham", "spam", "eggs"])


def close(a, b, X, tolerance=1e-9):
    """Two models say the same of X."""
    assert_array_equal(a.classes_, b.classes_)
    assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=tolerance, atol=tolerance)


# Methods


@each(CASES)
def test_predictions_follow_from_the_joint(case):
    model = case.fit()
    joint = model.predict_joint_log_proba(case.X)
    posterior = joint - logsumexp(joint, axis=1, keepdims=True)
    assert joint.shape == (len(case.X), 3)
    assert_allclose(model.predict_log_proba(case.X), posterior, atol=1e-9)
    assert_allclose(model.predict_proba(case.X), np.exp(posterior), atol=1e-9)
    assert_allclose(model.predict_proba(case.X).sum(axis=1), 1)
    assert_array_equal(model.predict(case.X), model.classes_[posterior.argmax(axis=1)])
    assert model.score(case.X, case.y) == np.mean(model.predict(case.X) == case.y) > 0.5


@each([case for case in CASES if case.name != "ComplementNB"])
def test_densities_follow_from_the_joint(case):
    model = case.fit()
    joint = model.predict_joint_log_proba(case.X)
    assert_allclose(model.log_density(case.X), logsumexp(joint, axis=1))
    own = joint[np.arange(len(case.X)), case.y].sum()
    assert model.log_likelihood(case.X, case.y) == pytest.approx(own)


def test_complement_scores_are_no_density_and_the_multinomial_model_is():
    complement = genus.ComplementNB(fit_prior=True).fit(COUNTS, LABELS)
    multinomial = MultinomialNB().fit(COUNTS, LABELS)
    assert_allclose(complement.log_density(COUNTS), multinomial.log_density(COUNTS))
    assert complement.log_likelihood(COUNTS, LABELS) == pytest.approx(
        multinomial.log_likelihood(COUNTS, LABELS)
    )


@each(CASES)
def test_sample(case):
    model = case.fit()
    X, labels = model.sample(400, random_state=0)
    assert X.shape == (400, case.width)
    assert set(labels) == {0, 1, 2}
    again = model.sample(400, random_state=0)
    assert_array_equal(X, again[0])
    assert_array_equal(labels, again[1])
    assert model.score(X, labels) > 0.5
    assert case.new().fit(X, labels).score(case.X, case.y) > 0.5


@each(CASES)
@pytest.mark.parametrize("seed", [1, None, np.random.default_rng(1), np.random.RandomState(1)])
def test_sample_of_given_classes(case, seed):
    model = case.fit()
    assert_array_equal(model.sample(4, y=2, random_state=seed)[1], [2, 2, 2, 2])
    assert_array_equal(model.sample(3, y=[2, 0, 2], random_state=seed)[1], [2, 0, 2])
    X, labels = model.sample(0, random_state=seed)
    assert X.shape == (0, case.width)
    assert labels.shape == (0,)
    assert model.sample()[0].shape == (1, case.width)


def test_sample_of_a_class_without_a_value_in_a_column():
    holes = [[np.nan, 1], [np.nan, 0], [1, 1], [0, 0]]
    for alpha in (0, 1):
        model = CategoricalNB(alpha=alpha).fit(holes, [0, 0, 1, 1])
        X, _ = model.sample(20, y=0, random_state=0)
        assert set(X[:, 1]) == {0, 1}


@each([GAUSSIAN[0], GAUSSIAN[1], *LINEAR])
@pytest.mark.parametrize("labels", [LABELS, LABELS > 0], ids=["three", "two"])
def test_logistic_form(case, labels):
    model = case.new().fit(case.X, labels)
    logistic = model.to_logistic()
    assert_allclose(logistic.predict_proba(case.X), model.predict_proba(case.X), atol=1e-9)
    # Of more than two classes θ is known up to what all classes share.
    for mine, theirs in ((model.coef_, logistic.coef_), (model.intercept_, logistic.intercept_)):
        shared = np.mean(mine - theirs, axis=0) if len(model.classes_) > 2 else 0
        assert_allclose(mine - shared, theirs, atol=1e-9)
    if hasattr(model, "decision_function"):
        log_odds = model.predict_log_proba(case.X)
        scores = model.decision_function(case.X)
        if len(model.classes_) == 2:
            assert_allclose(scores, log_odds[:, 1] - log_odds[:, 0], atol=1e-9)
        else:
            assert_allclose(scores - logsumexp(scores, axis=1, keepdims=True), log_odds, atol=1e-9)


@each([GAUSSIAN[0], LINEAR[0]])
def test_logistic_form_keeps_names(case):
    frame = pd.DataFrame(case.X, columns=case.names)
    logistic = case.new().fit(frame, case.y).to_logistic()
    assert list(logistic.feature_names_in_) == case.names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logistic.predict(frame)


@each(CASES)
def test_what_a_fitted_model_shows_cannot_change_it(case):
    model, names = case.fit(), [n for n in dir(case.estimator) if n.endswith("_") and n[0] != "_"]
    before = model.predict_log_proba(case.X)
    for name in names:
        shown = getattr(model, name, None)
        for array in shown if isinstance(shown, list | tuple) else [shown]:
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[...] = array.ravel()[0]
    assert model.model_ == case.fit().model_
    assert_array_equal(model.predict_log_proba(case.X), before)


def test_the_sum_of_one_model_is_another():
    one = GaussianNB().fit(NUMBERS, LABELS)
    total = sum([one])
    total.forget(NUMBERS[:9], LABELS[:9])
    assert one.class_count_.sum() == len(LABELS)


UNSOLVED = {
    "zero probabilities": lambda: MultinomialNB(alpha=0).fit([[1, 0], [0, 1]], [0, 1]),
    "singular": lambda: GDA().partial_fit(NUMBERS[:2], LABELS[:2]),
    "one class": lambda: genus.PoissonNB().partial_fit(COUNTS, np.zeros(len(COUNTS), int)),
    "emptied": lambda: GDA().fit(NUMBERS, LABELS).forget(NUMBERS, LABELS),
}


@pytest.mark.parametrize("make", UNSOLVED.values(), ids=UNSOLVED)
def test_what_is_not_solved_is_no_attribute(make):
    model = make()
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match=r"\w"):
        _ = model.coef_
    assert type(model).__name__ in model._repr_html_()


@pytest.mark.parametrize("dtype", [np.uint8, bool])
@pytest.mark.filterwarnings("ignore:No class can explain")
def test_unsigned_sparse_numbers_above_a_negative_threshold(dtype):
    X = COUNTS.astype(dtype)
    dense = BernoulliNB(binarize=-1).fit(X, LABELS)
    sparse = BernoulliNB(binarize=-1).fit(sp.csr_array(X), LABELS)
    assert sparse.model_ == dense.model_
    assert_allclose(sparse.predict_log_proba(sp.csr_array(X)), dense.predict_log_proba(X))


def test_leaving_one_out_of_classes_of_very_different_weight():
    X, y = [[0.0], [1], [5], [6], [7]], [0, 0, 1, 1, 1]
    weight = [1e13, 1e13, 1e-3, 2e-3, 1e-3]
    result = cross_validate(GaussianNB(), X, y, "loo", sample_weight=weight)
    for i in range(5):
        rest = np.arange(5) != i
        model = GaussianNB().fit(
            np.array(X)[rest], np.array(y)[rest], sample_weight=np.array(weight)[rest]
        )
        assert_allclose(result.probabilities[i], model.predict_proba([X[i]])[0], rtol=1e-6)


def test_a_shared_variance_is_shared_with_classes_that_have_no_value():
    X = np.array([[1.0, 2], [2, 4], [4, 3], [5, 5], [3, np.nan]])
    model = GDA(diagonal=True).fit(X, [0, 0, 1, 1, 2])
    assert model.coef_.shape == (3, 2)
    assert_allclose(model.to_logistic().predict_proba(X[:4]), model.predict_proba(X[:4]))
    announced = GDA(diagonal=True).partial_fit(X[:4], [0, 0, 1, 1], classes=[0, 1, 7])
    assert_allclose(np.diag(announced.covariance_), [0.25, 1])


def test_set_params_on_a_fitted_model_shows_at_the_next_fit():
    model = GDA(diagonal=True).fit(NUMBERS, LABELS)
    shape = model.covariance_.shape
    assert model.set_params(shared=False, n_components=1).covariance_.shape == shape
    assert model.transform(NUMBERS).shape == (90, 2)
    assert MultinomialNB(alpha=2).fit(COUNTS, LABELS).set_params(alpha=3).alpha_ == 2
    complement = genus.ComplementNB().fit(COUNTS, LABELS)
    before = complement.log_density(COUNTS)
    assert_array_equal(complement.set_params(alpha=50).log_density(COUNTS), before)


def test_merging_takes_no_options_that_were_set_since():
    model = BernoulliNB().fit(COUNTS > 1, LABELS)
    answers = model.predict_log_proba(COUNTS > 1)
    model.set_params(alpha=100)
    for other in (model + model * 0, 1 * model, model - 0 * model, sum([model])):
        assert other.alpha == other.alpha_ == 1.0
        assert_allclose(other.predict_log_proba(COUNTS > 1), answers)


@each([GAUSSIAN[0], LINEAR[0]])
def test_priors_of_a_series_go_by_its_index(case, tmp_path):
    shares = pd.Series({"spam": 0.5, "eggs": 0.2, "ham": 0.3})
    model = case.new(priors=shares).fit(case.X, TEXT[case.y])
    assert_allclose(model.model_.prior, shares.sort_index())
    model.save(tmp_path / "model")
    assert_allclose(genus.load(tmp_path / "model").model_.prior, shares.sort_index())


@each([GAUSSIAN[0], LINEAR[0]])
def test_priors_by_class_are_shares_of_the_classes_that_were_seen(case):
    seen = case.y < 2
    model = case.new(priors={0: 0.5, 1: 0.3, 2: 0.2}).fit(case.X[seen], case.y[seen])
    assert_allclose(model.model_.prior, [0.625, 0.375])
    assert set(model.sample(20, random_state=0)[1]) == {0, 1}


def test_names_for_an_explanation():
    model = MultinomialNB().fit(COUNTS, LABELS)
    assert "shoe" in str(model.explain(COUNTS[:1], features=["height", "weight", "age", "shoe"]))
    with refused("2 names", "4 columns"):
        model.explain(COUNTS, features=["height", "weight"])


def test_frames_with_awkward_names():
    frame = pd.DataFrame({"schema": ["a", "b"] * 45, "iloc": LABELS})
    assert list(CategoricalNB().fit(frame, LABELS).categories_[0]) == ["a", "b"]
    times = pl.DataFrame({"when": ["daytime", "night"] * 45}).with_columns(
        pl.col("when").cast(pl.Enum(["daytime", "night"]))
    )
    assert list(CategoricalNB().fit(times, LABELS).categories_[0]) == ["daytime", "night"]


def test_warnings_point_to_the_line_that_asked():
    model = MultinomialNB(alpha=0).fit([[1, 0], [0, 1]], [0, 1])
    with pytest.warns(UserWarning, match="No class can explain row 0") as caught:
        model.predict([[1, 1]])
    with pytest.warns(UserWarning, match="do not sum to 1") as more:
        GDA(priors=[1, 1, 2]).fit(NUMBERS, LABELS)
    with pytest.warns(UserWarning, match="alpha too small") as most:
        MultinomialNB(alpha=0, force_alpha=False).fit([[1, 0], [0, 1]], [0, 1])
    assert {w.filename for w in (*caught, *more, *most)} == {__file__}


def test_a_singular_covariance_names_columns():
    frame = pd.DataFrame(NUMBERS, columns=["height", "weight", "age"])
    with refused("column 3 ('twice')", "shrinkage", "diagonal=True"):
        GDA(singular="error").fit(frame.assign(twice=2 * frame["weight"]), LABELS)
    with refused("column 3 ('constant')"):
        GDA(singular="error").fit(frame.assign(constant=1.0), LABELS)
    with pytest.warns(SingularCovarianceWarning, match=r"column 3 \('twice'\)"):
        GDA().fit(frame.assign(twice=2 * frame["weight"]), LABELS)
    with refused("column 3 ('constant')"):
        GDA(diagonal=True).fit(frame.assign(constant=1.0), LABELS)


@each(CASES)
def test_partial_fit_in_pieces_is_fit(case):
    model = case.new()
    for start in range(0, len(case.X), 17):
        model.partial_fit(case.X[start : start + 17], case.y[start : start + 17])
    close(model, case.fit(), case.X)


@each(CASES)
def test_forget_is_never_having_learned(case):
    model = case.fit().partial_fit(case.X[:12], case.y[:12] + 5)
    model.forget(case.X[:12], case.y[:12] + 5)
    close(model, case.fit(), case.X)
    model.forget(case.X[60:], case.y[60:])
    close(model, case.new().fit(case.X[:60], case.y[:60]), case.X)


@each(CASES)
def test_a_model_that_forgot_everything_can_learn_again(case):
    model = case.fit().forget(case.X, case.y)
    assert len(model.classes_) == len(model.class_count_) == 0
    with refused("no rows", "fit"):
        model.predict(case.X)
    with refused("no rows", "fit"):
        model.sample(3)
    close(model.partial_fit(case.X, case.y), case.fit(), case.X)


@each(CASES)
def test_group(case):
    parts = (slice(0, 36), slice(36, 60), slice(60, None))
    a, b, c = (case.new().fit(case.X[part], case.y[part]) for part in parts)
    everything = a + b + c
    assert type(everything) is type(case.estimator)
    close(everything, sum([a, b, c]), case.X)
    close(everything - c, a + b, case.X)
    close((a + b) - b, a, case.X)
    close(b + a, a + b, case.X)
    close(a + a, 2 * a, case.X)
    close(a * 2, 2 * a, case.X)
    close((a * 4) * 0.25, a, case.X)
    assert_allclose((2 * a).class_count_, 2 * a.class_count_)


@each(CASES)
def test_group_leaves_its_operands_alone(case):
    a, b = case.fit(), case.fit()
    a + b, a - b, 3 * a, sum([a, b])
    assert a.model_ == b.model_ == case.fit().model_
    total = a
    total += b
    assert a.model_ == b.model_
    assert_allclose(total.class_count_, 2 * a.class_count_)


@each(CASES)
@pytest.mark.parametrize("factor", [np.float64(2), np.float32(2), np.int64(2), 2.0])
def test_any_real_number_scales(case, factor):
    model = case.fit()
    close(factor * model, 2 * model, case.X)
    close(model * factor, 2 * model, case.X)


@each(CASES)
@pytest.mark.parametrize("factor", [0.001, 1 / len(LABELS)])
def test_a_decayed_model_still_predicts(case, factor):
    # Only how much pseudo-counts weigh depends on the number of rows.
    model = factor * case.fit()
    assert np.isfinite(model.predict_log_proba(case.X)).all()
    if case in GAUSSIAN:
        close(model, case.fit(), case.X)


@each(CASES)
def test_resolve_is_fit_with_other_options(case):
    options = {"priors": [0.2, 0.3, 0.5]}
    if "alpha" in case.new().get_params():
        options["alpha"] = 3.5
    fitted = case.fit()
    resolved = fitted.resolve(**options)
    close(resolved, case.fit(**options), case.X, tolerance=1e-12)
    close(fitted, case.fit(), case.X)
    assert resolved.get_params()["priors"] == [0.2, 0.3, 0.5]


@each([GAUSSIAN[0], CATEGORICAL[0], LINEAR[0]])
def test_set_params_on_a_fitted_model_is_one_or_the_other(case, tmp_path):
    # The new options act from the next fit, resolve or, with more rows, partial_fit on. What is
    # saved is the model as it predicts.
    model = case.fit().set_params(priors=[0.1, 0.1, 0.8])
    model.save(tmp_path / "model")
    close(genus.load(tmp_path / "model"), model, case.X)
    twice = np.r_[case.X, case.X], np.r_[case.y, case.y]
    close(model.partial_fit(case.X, case.y), case.new(priors=[0.1, 0.1, 0.8]).fit(*twice), case.X)


def test_options_that_counting_depends_on_cannot_change_under_a_fitted_model(tmp_path):
    model = BernoulliNB().fit(COUNTS, LABELS)
    before = model.predict_log_proba(COUNTS)
    model.set_params(binarize=2.0)
    with refused("binarize", "fit"):
        model.partial_fit(COUNTS, LABELS)
    assert_array_equal(model.predict_log_proba(COUNTS), before)
    with refused("binarize", "fit"):
        model.resolve()
    model.save(tmp_path / "model")
    assert_array_equal(genus.load(tmp_path / "model").predict_log_proba(COUNTS), before)


@each(CASES)
def test_explain_adds_up(case):
    explanation = case.fit().explain(case.X)
    assert explanation.contributions.shape == (len(case.X), case.width, 3)
    assert_allclose(explanation.joint, case.fit().predict_joint_log_proba(case.X), atol=1e-9)
    odds = explanation.log_odds(2, 0)
    assert odds.shape == (len(case.X), case.width + 1)
    posterior = case.fit().predict_log_proba(case.X)
    assert_allclose(odds.sum(axis=1), posterior[:, 2] - posterior[:, 0], atol=1e-9)


@each(CASES)
def test_explain_is_readable_and_keeps_names(case):
    frame = pd.DataFrame(case.X, columns=case.names)
    model = case.new().fit(frame, TEXT[case.y])
    explanation = model.explain(frame)
    assert list(explanation.features) == case.names
    text = explanation.describe(4)
    first = text.splitlines()[0]
    best = model.predict(frame)[4]
    assert first.startswith(f"{best} rather than")
    assert "log-odds +" in first
    assert any(name in text for name in case.names)
    assert "np.str_" not in text
    assert "nan" not in text
    short = explanation.describe(4, most=1).splitlines()
    assert len(short) == 3
    total = float(short[0].split()[-1])
    assert sum(float(line.split()[-1]) for line in short[1:]) == pytest.approx(total, abs=2e-3)
    assert str(explanation).count("rather than") == 5
    assert f"({len(case.X) - 5} more rows)" in str(explanation)
    assert list(case.fit().explain(case.X).features) == [f"x{j}" for j in range(case.width)]


def test_an_explanation_shows_values_and_compares_any_two_classes():
    cities = [["Trier", 1.5], ["Bonn", 2.0], ["Trier", 1.5], ["Bonn", 2.0], ["Kiel", 2.0]]
    frame = pd.DataFrame(cities, columns=["city", "size"])
    model = CategoricalNB().fit(frame, ["a", "b", "a", "b", "c"])
    explanation = model.explain(frame[:1])
    assert "city = Trier" in explanation.describe()
    assert "size = 1.5" in explanation.describe()
    assert explanation.describe().startswith("a rather than")
    assert explanation.describe(against="c").startswith("a rather than c")
    assert explanation.describe(against="a")[0] in "bc"
    assert explanation.describe(label="b").startswith("b rather than a: log-odds -")
    assert explanation.describe(label="b", against="c").startswith("b rather than c")
    with pytest.raises(ValueError, match="itself"):
        explanation.describe(label="b", against="b")
    with pytest.raises(ValueError, match="'d' is not one of the classes"):
        explanation.describe(against="d")


def test_an_explanation_of_many_rows_prints_short():
    assert len(repr(GDA().fit(NUMBERS, LABELS).explain(NUMBERS))) < 2000


@each([case for case in DISCRETE + POSITIVE if "alpha" in case.estimator.get_params()])
def test_explain_without_smoothing_is_readable(case):
    model = case.new(alpha=0).fit(case.X[:9], case.y[:9])
    assert "nan" not in model.explain(case.X[:9]).describe()


@each(CASES)
@pytest.mark.parametrize(
    "label",
    [LABELS, TEXT[LABELS], LABELS > 0, LABELS.astype(float)],
    ids=lambda label: str(label.dtype),
)
def test_save_then_load_is_the_identity(case, label, tmp_path):
    model = case.new().fit(pd.DataFrame(case.X, columns=case.names), label)
    model.save(tmp_path / "model.genus")
    loaded = genus.load(str(tmp_path / "model.genus"))
    frame = pd.DataFrame(case.X, columns=case.names)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert loaded.model_ == model.model_
    assert loaded.classes_.dtype == model.classes_.dtype
    assert list(loaded.feature_names_in_) == case.names
    assert_array_equal(loaded.predict_log_proba(frame), model.predict_log_proba(frame))
    close(loaded.partial_fit(frame, label), model.partial_fit(frame, label), frame)
    assert [path.name for path in tmp_path.iterdir()] == ["model.genus"]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        ["", "é\U0001f600"],
        np.array(["with\0null", "with"], dtype=object),
        np.array([1, 2], dtype=">i4"),
        np.array([1, 2], dtype=np.uint8),
        np.array([2**63, 2**63 + 1], dtype=np.uint64),
        np.array([1, 2], dtype=np.float16),
        np.array([1, 2], dtype=np.longdouble),
        np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
        np.array([1, 2], dtype="m8[D]"),
    ],
    ids=repr,
)
def test_save_keeps_any_label_or_refuses(labels, tmp_path):
    model = GaussianNB().fit(NUMBERS, np.asarray(labels)[LABELS % 2])
    try:
        model.save(tmp_path / "model")
    except TypeError as error:
        assert "classes" in str(error)  # noqa: PT017
        assert not list(tmp_path.iterdir())
    else:
        loaded = genus.load(tmp_path / "model")
        assert_array_equal(loaded.classes_, model.classes_)
        assert loaded.classes_.dtype.kind == model.classes_.dtype.kind


@pytest.mark.parametrize(
    "estimator",
    [
        GDA(shrinkage="ledoit-wolf"),
        GDA(shrinkage="oas", unbiased=True, n_components=1),
        GDA(priors={0: 0.2, 1: 0.3, 2: 0.5}),
        GDA(priors=np.array([0.2, 0.3, 0.5])),
        GDA(priors=pd.Series([0.2, 0.3, 0.5])),
        GaussianNB(priors=(0.2, 0.3, 0.5), var_smoothing=np.float64(1e-3)),
        CategoricalNB(bins=Discretizer("uniform", n_bins=3, origin=1.5)),
        CategoricalNB(bins=Discretizer(edges=[0, 1])),
        CategoricalNB(bins=Discretizer(edges=[[0], [], [0, 2]]), alpha="auto"),
        CategoricalNB(bins=Discretizer(edges=np.array([0.0, 1.0])), m=2),
        CategoricalNB(bins=Discretizer(edges=[])),
    ],
    ids=str,
)
def test_save_keeps_options(estimator, tmp_path):
    model = clone(estimator).fit(NUMBERS, LABELS)
    model.save(tmp_path / "model")
    loaded = genus.load(tmp_path / "model")
    assert_array_equal(loaded.predict_log_proba(NUMBERS), model.predict_log_proba(NUMBERS))
    refitted = clone(loaded).fit(NUMBERS, LABELS)
    assert_array_equal(refitted.predict_log_proba(NUMBERS), model.predict_log_proba(NUMBERS))


def test_save_keeps_what_resolve_solved_from_other_statistics(tmp_path):
    model = GDA(shared=False).fit(NUMBERS, LABELS).resolve(shared=True)
    model.save(tmp_path / "model")
    loaded = genus.load(tmp_path / "model")
    assert_array_equal(loaded.predict_log_proba(NUMBERS), model.predict_log_proba(NUMBERS))
    close(loaded.resolve(shared=False), GDA(shared=False).fit(NUMBERS, LABELS), NUMBERS)


@each(CASES)
def test_saving_twice_writes_the_same_bytes(case, tmp_path):
    model = case.fit()
    contents = set()
    for i in range(5):
        model.save(tmp_path / str(i))
        contents.add((tmp_path / str(i)).read_bytes())
    assert len(contents) == 1


# Weights


@each(CASES)
def test_weights_are_repetitions(case):
    times = np.arange(len(case.X)) % 4
    repeated = np.repeat(case.X, times, axis=0), np.repeat(case.y, times)
    expected = case.new().fit(*repeated)
    close(case.new().fit(case.X, case.y, sample_weight=times), expected, case.X)
    pieces = case.new()
    for part in (slice(0, 40), slice(40, None)):
        pieces.partial_fit(case.X[part], case.y[part], sample_weight=times[part])
    close(pieces, expected, case.X)
    more = case.new().fit(case.X, case.y, sample_weight=times + 1.0)
    close(more.forget(case.X, case.y, sample_weight=np.ones(len(case.X))), expected, case.X)
    scored = expected.score(case.X, case.y, sample_weight=times)
    assert scored == pytest.approx(expected.score(*repeated))


@each(CASES)
def test_weights_of_one_number_list_and_series(case):
    twice = case.new().fit(case.X, case.y, sample_weight=np.full(len(case.X), 2.0))
    for weight in (2, [2] * len(case.X), pd.Series(np.full(len(case.X), 2), index=case.y)):
        close(case.new().fit(case.X, case.y, sample_weight=weight), twice, case.X)


@each(GAUSSIAN)
def test_weights_that_sum_to_one(case):
    weight = np.full(len(case.X), 1 / len(case.X))
    close(case.new().fit(case.X, case.y, sample_weight=weight), case.fit(), case.X)


# Classes


@each(CASES)
def test_new_classes_in_any_partial_fit_and_merge(case):
    both = np.r_[case.X, case.X], np.r_[case.y, case.y + 10]
    expected = case.new().fit(*both)
    model = case.fit().partial_fit(case.X, case.y + 10)
    assert_array_equal(model.classes_, [0, 1, 2, 10, 11, 12])
    close(model, expected, case.X)
    close(case.fit() + case.new().fit(case.X, case.y + 10), expected, case.X)


@each(CASES)
def test_partial_fit_one_class_at_a_time(case):
    model = case.new()
    for k in range(3):
        model.partial_fit(case.X[case.y == k], case.y[case.y == k])
        assert_array_equal(model.classes_, np.arange(k + 1))
        assert_allclose(model.predict_proba(case.X).sum(axis=1), 1)
    close(model, case.fit(), case.X)


@each(CASES)
def test_classes_may_be_announced(case):
    model = case.new().partial_fit(case.X[:30], case.y[:30], classes=[2, 0, 1, 7])
    assert_array_equal(model.classes_, [0, 1, 2, 7])
    assert_array_equal(model.class_count_, [10, 10, 10, 0])
    probability = model.predict_proba(case.X)
    assert_allclose(probability.sum(axis=1), 1)
    if case.name != "ComplementNB":  # its priors are equal unless fit_prior=True
        assert_array_equal(probability[:, 3], 0)
    assert set(model.predict(case.X)) <= {0, 1, 2}
    model.partial_fit(case.X[30:], case.y[30:], classes=[0, 1, 2, 7])
    model.partial_fit(case.X, case.y + 7)
    assert_array_equal(model.classes_, [0, 1, 2, 7, 8, 9])


@each(CASES)
@pytest.mark.parametrize(
    "labels",
    [
        TEXT,
        np.array(TEXT, dtype=object),
        [3, -1, 10**12],
        [False, True, True],
        [0.0, 1.0, 2.0],
        np.array([0, 1, 2], dtype=np.int8),
        np.array([0, 1, 2], dtype=">i4"),
        np.array([0, 1, 2], dtype=np.uint64),
    ],
    ids=lambda labels: str(np.asarray(labels).dtype),
)
def test_labels_of_any_kind(case, labels):
    labels = np.asarray(labels)
    model = case.new().fit(case.X, labels[case.y])
    assert_array_equal(model.classes_, np.unique(labels))
    predicted = model.predict(case.X)
    assert predicted.dtype == (TEXT.dtype if labels.dtype == object else labels.dtype)
    assert np.mean(predicted == labels[case.y]) > 0.5
    listed = case.new().fit(case.X, labels[case.y].tolist())
    assert_array_equal(listed.classes_, np.unique(labels))
    close(listed, model, case.X)


@each(CASES)
@pytest.mark.parametrize(
    "wrap",
    [
        pd.Series,
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="string"),
        pl.Series,
        lambda y: pl.Series(y, dtype=pl.Categorical),
        lambda y: pl.Series(y, dtype=pl.Enum(["spam", "ham", "eggs"])),
        lambda y: y[:, None],
        lambda y: pd.DataFrame({"label": y}),
    ],
    ids=["series", "category", "string", "polars", "categorical", "enum", "column", "frame"],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_in_any_container(case, wrap):
    model = case.new().fit(case.X, wrap(TEXT[case.y]))
    assert list(model.classes_) == sorted(TEXT)
    assert_array_equal(
        model.predict_proba(case.X), case.new().fit(case.X, TEXT[case.y]).predict_proba(case.X)
    )


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-128, 0, 127], dtype=np.int8),
        np.array([-(2**63), 0, 2**63 - 1]),
        np.array([2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64),
        np.array([2**64 - 3, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
    ],
    ids=repr,
)
def test_labels_at_the_ends_of_their_type(labels):
    model = GaussianNB().fit(NUMBERS, labels[LABELS])
    assert model.classes_.tolist() == labels.tolist()
    assert_array_equal(model.predict(NUMBERS), labels[GAUSSIAN[-1].fit().predict(NUMBERS)])


def test_labels_that_are_all_true():
    model = GaussianNB().partial_fit(NUMBERS[LABELS > 0], np.full(60, True))
    assert model.classes_.tolist() == [True]
    model.partial_fit(NUMBERS[LABELS == 0], np.full(30, False))
    close(model, GaussianNB().fit(NUMBERS, LABELS > 0), NUMBERS)


def test_longer_labels_are_not_cut():
    model = GaussianNB().fit(NUMBERS, np.array(["a", "b", "c"])[LABELS])
    model.partial_fit(NUMBERS, np.array(["a", "b", "a much longer one"])[LABELS])
    assert list(model.classes_) == ["a", "a much longer one", "b", "c"]


def test_large_whole_labels_stay_apart():
    labels = np.array([2**53, 2**53 + 1, 2**53 + 2])
    model = GaussianNB().fit(NUMBERS, labels[LABELS])
    model.partial_fit(NUMBERS, labels[LABELS].astype(np.uint64))
    assert model.classes_.tolist() == labels.tolist()


@each(CASES, CASES[0], *CATEGORICAL[:1], LINEAR[0])
def test_ten_thousand_classes(case):
    classes, each_class = 10_000, 5
    labels = np.repeat(np.arange(classes), each_class)
    X = np.resize(case.X, (len(labels), case.width)) + (case in GAUSSIAN) * np.c_[labels]
    model = case.new()
    if "bins" in case.name:  # the cells of a grid by class are many
        model.set_params(bins=Discretizer(edges=[-1, 0, 1]))
    tracemalloc.start()
    # One thread: this is about memory, and threads get in each other's way on small matrices.
    with threadpool_limits(1):
        model.fit(X, labels)
        assert model.predict_proba(X[:10]).shape == (10, classes)
        model.partial_fit(X[:10], labels[:10]).forget(X[:10], labels[:10])
        merged = model + model
        assert merged.sample(20)[0].shape == (20, case.width)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < classes * classes * 8 / 4  # nothing of classes × classes, even of bytes


def test_minimum_description_length_of_many_classes():
    # log2(3^k - 2) of 700 classes is no infinity.
    labels = np.repeat(np.arange(700), 10)
    assert len(Discretizer().fit(labels[:, None], labels).bin_edges_[0]) > 1


def test_large_category_codes_take_no_memory_by_class():
    codes = np.r_[np.arange(199), 400_000][:, None]
    tracemalloc.start()
    model = CategoricalNB().fit(codes, np.arange(200) % 20)
    model.predict(codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # 8 bytes by class and code would be 64e6


# Arrays


@each(CASES)
@pytest.mark.parametrize("dtype", [*"?bBhHiIlLefdgO", ">i2", ">u4", ">i8", ">f4", ">f8"])
def test_any_dtype(case, dtype):
    least = int(case in POSITIVE)
    whole = np.clip(np.round(case.X * 3), least, 1 if dtype == "?" else 100)
    whole[:2] = [[least], [1]]  # no column is constant in bool, if it may hold zeros
    expected = case.new().set_params(**({"shrinkage": 0.1} if case in FULL else {}))
    expected.fit(whole, case.y)
    X = whole.astype(dtype)
    model = clone(expected).fit(X, case.y)
    close(model, expected, whole)
    assert_array_equal(model.predict_log_proba(X), model.predict_log_proba(whole))


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every second": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda X: X.T.copy().T,
    "part of a wider one": lambda X: np.hstack([X, X, X])[:, X.shape[1] : 2 * X.shape[1]],
    "list of lists": lambda X: X.tolist(),
    "list of arrays": list,
    "tuple of tuples": lambda X: tuple(map(tuple, X.tolist())),
}


@each(CASES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_layout(case, layout):
    X = layout(case.X)
    model = case.new().fit(X, case.y)
    close(model, case.fit(), case.X)
    assert_array_equal(model.predict_log_proba(X), model.predict_log_proba(case.X))


@each(CASES)
def test_read_only_arrays_are_read_only(case):
    X, labels, weight = case.X.copy(), case.y.copy(), np.ones(len(case.X))
    for array in (X, labels, weight):
        array.setflags(write=False)
    model = case.new().fit(X, labels, weight).partial_fit(X, labels, None, weight)
    model.forget(X, labels, weight)
    close(model, case.fit(), X)


@each(CASES)
def test_nothing_given_is_written_to(case):
    X, labels, weight = case.X.copy(), case.y.copy(), np.ones(len(case.X))
    model = case.new().fit(X, labels, weight)
    model.predict_proba(X), model.explain(X), model.log_density(X), model.forget(X[:9], labels[:9])
    assert_array_equal(X, case.X)
    assert_array_equal(labels, case.y)
    assert_array_equal(weight, 1)


@each([GAUSSIAN[0], CATEGORICAL[0], LINEAR[0]])
def test_a_model_does_not_change_with_what_it_was_given_or_gave(case):
    X, labels, priors = case.X.copy(), TEXT[case.y], np.array([0.2, 0.3, 0.5])
    model = case.new(priors=priors).fit(X, labels)
    before = model.predict_log_proba(case.X)
    X[:], labels[:], priors[:] = 0, "x", 1 / 3
    for name in ("classes_", "class_count_"):
        given = getattr(model, name)
        if given.flags.writeable:
            given[:] = given[0]
    assert list(model.classes_) == sorted(TEXT)
    assert_array_equal(model.class_count_, [30, 30, 30])
    assert_array_equal(model.predict_log_proba(case.X), before)


@each(CASES)
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_memory_mapped_file(case, mode, tmp_path):
    np.save(tmp_path / "X.npy", case.X)
    X = np.load(tmp_path / "X.npy", mmap_mode=mode)
    close(case.new().fit(X, case.y), case.fit(), X)


@each([GAUSSIAN[-1], CATEGORICAL[0]])
def test_masked_values_are_missing_or_refused(case):
    masked = np.ma.masked_array(case.X, mask=np.zeros(case.X.shape, dtype=bool))
    masked[3, 1] = np.ma.masked
    holes = case.X.astype(float)
    holes[3, 1] = np.nan
    try:
        model = case.new().fit(masked, case.y)
    except (TypeError, ValueError) as error:
        assert "mask" in str(error)  # noqa: PT017
    else:
        close(model, case.new().fit(holes, case.y), case.X)


# Sparse matrices


@each(LINEAR)
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse(case, layout, kind):
    X = getattr(sp, f"{layout}_{kind}")(case.X)
    model = case.new().fit(X, case.y)
    close(model, case.fit(), case.X)
    assert_allclose(model.predict_log_proba(X), model.predict_log_proba(case.X))
    assert_allclose(model.predict_joint_log_proba(X), model.predict_joint_log_proba(case.X))
    assert_allclose(model.log_density(X), model.log_density(case.X))
    assert_allclose(model.explain(X).joint, model.explain(case.X).joint)
    assert_allclose(model.log_likelihood(X, case.y), model.log_likelihood(case.X, case.y))
    model.partial_fit(X, case.y).forget(X, case.y)
    close(model, case.fit(), case.X)


def int64_indices(X):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def explicit_zeros(X):
    row, column = np.indices(X.shape)
    return sp.csr_array((X.ravel(), (row.ravel(), column.ravel())), shape=X.shape)


def duplicates(X):
    X = sp.csr_array(X.astype(float))
    return sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
    )


def unsorted(X):
    X = sp.csr_array(X)
    data, indices = X.data.copy(), X.indices.copy()
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        data[start:end], indices[start:end] = data[start:end][::-1], indices[start:end][::-1]
    return sp.csr_array((data, indices, X.indptr), shape=X.shape)


def read_only(X):
    X = sp.csr_array(X)
    for array in (X.data, X.indices, X.indptr):
        array.setflags(write=False)
    return X


@each(LINEAR)
@pytest.mark.parametrize("form", [int64_indices, explicit_zeros, duplicates, unsorted, read_only])
def test_sparse_in_any_form(case, form):
    X = form(case.X)
    before = X.copy()
    model = case.new().fit(X, case.y)
    close(model, case.fit(), case.X)
    assert_allclose(model.predict_log_proba(X), model.predict_log_proba(case.X))
    for part in ("data", "indices", "indptr"):
        assert_array_equal(getattr(X, part), getattr(before, part))


@each(LINEAR)
@pytest.mark.parametrize("dtype", [*"?bBhHiIlLfdg"])
def test_sparse_of_any_dtype(case, dtype):
    X = sp.csr_array(case.X).astype(dtype)
    model = case.new().fit(X, case.y)
    close(model, case.new().fit(X.toarray(), case.y), X.toarray())
    assert_allclose(model.predict_log_proba(X), model.predict_log_proba(X.toarray()))


@each(LINEAR)
def test_sparse_holes(case):
    holes = case.X.astype(float)
    holes[[0, 1, 5], [0, 2, 1]] = np.nan
    X = sp.csr_array(holes)
    model = case.new().fit(X, case.y)
    close(model, case.new().fit(holes, case.y), holes)
    assert_allclose(model.predict_joint_log_proba(X), model.predict_joint_log_proba(holes))


@pytest.mark.parametrize("binarize", [-1.0, 0.0, 1.0, None])
def test_sparse_threshold(binarize):
    model = BernoulliNB(binarize=binarize).fit(sp.csr_array(COUNTS), LABELS)
    close(model, BernoulliNB(binarize=binarize).fit(COUNTS, LABELS), COUNTS)


# Frames


def polars_frame(case: Case) -> pl.DataFrame:
    return pl.DataFrame(case.X, schema=case.names)


def pandas_frame(case: Case) -> pd.DataFrame:
    return pd.DataFrame(case.X, columns=case.names)


FRAMES = pytest.mark.parametrize("frame", [pandas_frame, polars_frame])


@each(CASES)
@FRAMES
def test_frames_keep_names(case, frame):
    X = frame(case)
    model = case.new().fit(X, case.y)
    assert list(model.feature_names_in_) == case.names
    assert_array_equal(model.predict_log_proba(X), case.fit().predict_log_proba(case.X))
    for kept in (model + model, 2 * model, model.resolve(), copy.deepcopy(model)):
        assert list(kept.feature_names_in_) == case.names
    assert not hasattr(case.fit(), "feature_names_in_")


@each(CASES)
@FRAMES
def test_other_names_or_order_are_refused(case, frame):
    X = frame(case)
    model = case.new().fit(X, case.y)
    for wrong, word in (
        (X[case.names[::-1]], "order"),
        (X.rename({"height": "H"}, **({"axis": 1} if frame is pandas_frame else {})), "unseen"),
        (X[case.names[1:]], "missing"),
    ):
        calls = [
            lambda model, wrong=wrong: model.predict(wrong),
            lambda model, wrong=wrong: model.explain(wrong),
            lambda model, wrong=wrong: model.partial_fit(wrong, case.y),
            lambda model, wrong=wrong: model.forget(wrong, case.y),
        ]
        for call in calls:
            with refused("feature names", word):
                call(model)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(case.X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        case.fit().predict(X)


@each(CASES)
def test_frames_of_either_kind_are_the_same(case):
    model = case.new().fit(pandas_frame(case), case.y)
    assert_array_equal(
        model.predict_log_proba(polars_frame(case)), model.predict_log_proba(pandas_frame(case))
    )


HOLES = (np.array([3, 8, 8]), np.array([1, 0, 2]))


def with_holes(case: Case) -> np.ndarray:
    X = case.X.astype(float)
    X[HOLES] = np.nan
    return X


def nullable(case):
    return pd.DataFrame(with_holes(case), columns=case.names).convert_dtypes()


def objects(missing):
    def make(case):
        X = case.X.astype(object)
        X[HOLES] = missing
        return pd.DataFrame(X, columns=case.names)

    return make


def polars_nulls(case):
    return pl.DataFrame(objects(None)(case).to_dict("list"))


def rows_of(missing):
    return lambda case: objects(missing)(case).to_numpy().tolist()


MISSING = {
    "NaN": with_holes,
    "float32": lambda case: with_holes(case).astype(np.float32),
    "Fortran": lambda case: np.asfortranarray(with_holes(case)),
    "pandas": lambda case: pd.DataFrame(with_holes(case), columns=case.names),
    "pandas nullable": nullable,
    "object None": objects(None),
    "object NaN": objects(np.nan),
    "object NA": objects(pd.NA),
    "object array": lambda case: objects(None)(case).to_numpy(),
    "polars null": polars_nulls,
    "polars NaN": lambda case: pl.DataFrame(with_holes(case), schema=case.names),
    "list None": rows_of(None),
    "list NaN": rows_of(np.nan),
    "list NA": rows_of(pd.NA),
}


@each(CASES)
@pytest.mark.parametrize("hand_over", MISSING.values(), ids=MISSING)
def test_missing_in_any_form_is_missing(case, hand_over):
    X = hand_over(case)
    expected = case.new().fit(with_holes(case), case.y)
    model = case.new().fit(X, case.y)
    assert_allclose(
        model.predict_log_proba(X), expected.predict_log_proba(with_holes(case)), atol=1e-6
    )


TOGETHER = ("MultinomialNB", "ComplementNB", "NearestShrunkenCentroids")


@each([case for case in NAIVE if case.name not in TOGETHER])
def test_missing_is_left_out_of_counting_by_column(case):
    X = with_holes(case)
    together = case.new().fit(X, case.y).explain(case.X).contributions
    for j in range(case.width):
        there = ~np.isnan(X[:, j])
        alone = case.new().fit(case.X[there][:, [j]], case.y[there]).explain(case.X[:, [j]])
        assert_allclose(together[:, j], alone.contributions[:, 0], atol=1e-9)


@each([case for case in CASES if case.name in ("MultinomialNB", "ComplementNB")])
def test_missing_counts_are_no_occurrences(case):
    zeros = np.nan_to_num(with_holes(case))
    model = case.new().fit(with_holes(case), case.y)
    close(model, case.new().fit(zeros, case.y), zeros)
    assert_allclose(model.predict_log_proba(with_holes(case)), model.predict_log_proba(zeros))


@each(FULL)
def test_missing_leaves_the_row_out_of_a_covariance(case):
    X = with_holes(case)
    whole = ~np.isnan(X).any(axis=1)
    model, expected = case.new().fit(X, case.y), case.new().fit(X[whole], case.y[whole])
    assert_allclose(model.means_, expected.means_)
    assert_allclose(model.covariance_, expected.covariance_)
    assert_array_equal(model.class_count_, [30, 30, 30])


@each(NAIVE)
def test_missing_is_left_out_of_the_product(case):
    model = case.fit()
    explanation = model.explain(case.X)
    there = ~np.isnan(with_holes(case))
    expected = (explanation.contributions * there[:, :, None]).sum(axis=1) + explanation.baseline
    assert_allclose(model.predict_joint_log_proba(with_holes(case)), expected, atol=1e-9)
    assert_allclose(model.explain(with_holes(case)).joint, expected, atol=1e-9)


@each(FULL)
def test_missing_gives_the_marginal(case):
    model = case.fit()
    X = with_holes(case)
    expected = np.empty((len(X), 3))
    for k in range(3):
        covariance = model.covariance_ if model.shared else model.covariance_[k]
        normal = MultivariateNormal(model.means_[k], covariance)
        for i, x in enumerate(X):
            there = np.flatnonzero(~np.isnan(x))
            expected[i, k] = normal.marginal(there).log_density(x[there])
    assert_allclose(model.predict_joint_log_proba(X), expected + np.log(1 / 3))
    assert_allclose(model.explain(X).joint, expected + np.log(1 / 3))


@each(CASES)
def test_of_nothing_known_the_priors_are_left(case):
    model = case.fit(priors=[0.2, 0.3, 0.5])
    assert_allclose(model.predict_proba([[np.nan] * case.width]), [[0.2, 0.3, 0.5]])
    assert model.predict([[np.nan] * case.width]) == [2]


# Categories


COLOURS = np.array(["red", "green", "blue", "brown"])
MIXED = pd.DataFrame({"colour": COLOURS[CODES[:, 0]], "size": CODES[:, 1], "used": CODES[:, 2] > 1})


def mixed_polars() -> pl.DataFrame:
    return pl.DataFrame(MIXED.to_dict("list"))


WAYS = {
    "object": lambda: MIXED.astype(object),
    "category": lambda: MIXED.astype({"colour": "category"}),
    "all category": lambda: MIXED.astype("category"),
    "string": lambda: MIXED.astype({"colour": "string"}),
    "nullable": lambda: MIXED.convert_dtypes(),
    "size as float": lambda: MIXED.astype({"size": float}),
    "used as int": lambda: MIXED.astype({"used": int}),
    "polars": mixed_polars,
    "polars categorical": lambda: mixed_polars().with_columns(
        pl.col("colour").cast(pl.Categorical)
    ),
    "polars enum": lambda: mixed_polars().with_columns(
        pl.col("colour").cast(pl.Enum(COLOURS.tolist()))
    ),
    "object array": lambda: MIXED.to_numpy(dtype=object),
    "list of lists": lambda: MIXED.to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_text_and_numbers_in_any_table(way):
    model = CategoricalNB().fit(MIXED, LABELS)
    assert_array_equal(model.predict_log_proba(way()), model.predict_log_proba(MIXED))
    other = CategoricalNB().fit(way(), LABELS)
    assert_array_equal(other.predict_log_proba(MIXED), model.predict_log_proba(MIXED))
    assert list(other.categories_[0]) == sorted(COLOURS)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("dtype", ["object", "str", "string", "category"])
def test_missing_text(missing, dtype):
    colour = MIXED["colour"].astype(object).copy()
    colour[::5] = missing
    table = MIXED.assign(colour=colour.astype(dtype))
    model = CategoricalNB().fit(table, LABELS)
    assert list(model.categories_[0]) == sorted(COLOURS)
    counted = model.category_count_[0].sum()
    assert counted == len(LABELS) - len(LABELS[::5])
    hole = MIXED.astype({"colour": object}).iloc[:3].assign(colour=missing)
    without = CategoricalNB().fit(MIXED[["size", "used"]], LABELS)
    assert_allclose(
        model.predict_log_proba(hole), without.predict_log_proba(MIXED.iloc[:3, 1:]), atol=1e-12
    )


@pytest.mark.parametrize("null", ["null", "cast"])
def test_missing_text_of_polars(null):
    table = mixed_polars().with_columns(
        pl.when(pl.col("size") > 1).then(None).otherwise(pl.col("colour")).alias("colour")
    )
    if null == "cast":
        table = table.with_columns(pl.col("colour").cast(pl.Categorical))
    model = CategoricalNB().fit(table, LABELS)
    assert list(model.categories_[0]) == sorted(COLOURS)
    assert model.category_count_[0].sum() == (MIXED["size"] <= 1).sum()


def test_an_unseen_category_leaves_the_odds_as_they_are():
    model = CategoricalNB().fit(MIXED, LABELS)
    for unseen in (MIXED.assign(colour="pink"), MIXED.assign(colour=None)):
        without = CategoricalNB().fit(MIXED[["size", "used"]], LABELS)
        assert_allclose(
            model.predict_log_proba(unseen),
            without.predict_log_proba(MIXED[["size", "used"]]),
            atol=1e-12,
        )
    codes = CategoricalNB().fit(CODES, LABELS)
    new, hole = CODES.astype(float), CODES.astype(float)
    new[:, 1], hole[:, 1] = 99, np.nan
    assert_allclose(codes.predict_log_proba(new), codes.predict_log_proba(hole))
    assert_allclose(codes.predict_log_proba(new.astype(int)), codes.predict_log_proba(hole))
    assert_allclose(codes.predict_proba([[99, 99, 99]]), [[1 / 3] * 3])


def test_an_unseen_category_may_be_smoothed():
    model = CategoricalNB(unseen="smooth").fit([["a"], ["a"], ["b"]], [0, 0, 1])
    # A count of 0: (0 + 1) / (2 + 2) and (0 + 1) / (1 + 2), times the priors 2/3 and 1/3.
    assert_allclose(model.predict_proba([["c"]]), [[3 / 5, 2 / 5]])


@pytest.mark.parametrize(
    "values",
    [
        CODES / 2,
        CODES.astype(np.int64) + 2**60,
        CODES.astype(np.uint64) + np.uint64(2**63),
        np.where(CODES == 0, -0.0, CODES),
        (CODES - 2).astype(str),
        np.array(["", " ", "a\0", "a"], dtype=object)[CODES],
    ],
    ids=["fractions", "large", "unsigned", "minus zero", "text of numbers", "odd text"],
)
def test_categories_of_any_value(values, tmp_path):
    model = CategoricalNB().fit(values, LABELS)
    assert_allclose(
        model.predict_log_proba(values),
        CategoricalNB().fit(CODES, LABELS).predict_log_proba(CODES),
    )
    model.save(tmp_path / "model")
    loaded = genus.load(tmp_path / "model")
    assert_array_equal(loaded.predict_log_proba(values), model.predict_log_proba(values))


# scikit-learn


INSIDE = {
    "Pipeline": lambda estimator: make_pipeline(FunctionTransformer(), estimator),
    "GridSearchCV": lambda estimator: GridSearchCV(
        estimator,
        {"alpha": [0.1, 1] + ["auto"] * hasattr(estimator, "m")}
        if hasattr(estimator, "alpha")
        else {"priors": [None, [0.2, 0.3, 0.5]]},
        cv=3,
    ),
    "CalibratedClassifierCV": lambda estimator: CalibratedClassifierCV(estimator, cv=3),
    "VotingClassifier": lambda estimator: VotingClassifier(
        [("a", estimator), ("b", clone(estimator))], voting="soft"
    ),
    "BaggingClassifier": lambda estimator: BaggingClassifier(estimator, 3, random_state=0),
}


@each(CASES)
@pytest.mark.parametrize("inside", INSIDE.values(), ids=INSIDE)
def test_inside_scikit_learn(case, inside):
    model = inside(case.new()).fit(case.X, TEXT[case.y])
    assert model.predict_proba(case.X).shape == (len(case.X), 3)
    assert model.score(case.X, TEXT[case.y]) > 0.5


@each(GAUSSIAN)
def test_boosting_whose_weights_sum_to_one(case):
    boosted = AdaBoostClassifier(case.new(), n_estimators=3, random_state=0)
    assert boosted.fit(case.X, case.y).score(case.X, case.y) > 0.4


@each(CASES)
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_cross_val_score(case, scoring):
    scores = cross_val_score(case.new(), case.X, case.y, cv=KFold(3), scoring=scoring)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_nested_options():
    search = GridSearchCV(
        CategoricalNB(bins=Discretizer("quantile")), {"bins__n_bins": [2, 5]}, cv=3
    )
    assert search.fit(NUMBERS, LABELS).best_params_["bins__n_bins"] in (2, 5)


def through_joblib(model, tmp_path):
    joblib.dump(model, tmp_path / "model")
    return joblib.load(tmp_path / "model")


def through_joblib_mapped(model, tmp_path):
    joblib.dump(model, tmp_path / "model")
    return joblib.load(tmp_path / "model", mmap_mode="r")


COPIES = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "copy": lambda model, _: copy.copy(model),
    "joblib": through_joblib,
    "joblib mmap": through_joblib_mapped,
}


@each(CASES)
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_are_equal_and_independent(case, copied, tmp_path):
    model = case.fit()
    model.predict(case.X)  # what was solved travels along, or is solved again
    other = copied(model, tmp_path)
    assert_array_equal(other.predict_log_proba(case.X), model.predict_log_proba(case.X))
    other.partial_fit(case.X, case.y)
    assert_array_equal(other.class_count_, [60, 60, 60])
    assert_array_equal(model.class_count_, [30, 30, 30])


@each(CASES)
def test_clone_is_unfitted_and_keeps_options(case):
    fitted = case.fit(priors=[0.2, 0.3, 0.5])
    cloned = clone(fitted)
    assert repr(cloned) == repr(fitted)
    assert not hasattr(cloned, "classes_")
    assert not [name for name in fitted_names(cloned) if hasattr(cloned, name)]


def fitted_names(estimator):
    return [n for n in dir(type(estimator)) if n.endswith("_") and not n.startswith("_")]


@each(CASES)
def test_every_fitted_attribute_can_be_read(case):
    model = case.fit()
    assert {"classes_", "class_count_"} <= set(fitted_names(model))
    for name in fitted_names(model):
        if name in ("coef_", "intercept_") and not getattr(model, "shared", True):
            assert not hasattr(model, name)
        else:
            getattr(model, name)


@each(CASES)
def test_repr_and_parameters(case):
    assert repr(case.estimator).startswith(type(case.estimator).__name__)
    assert "priors=[0.2, 0.3, 0.5]" in repr(case.fit(priors=[0.2, 0.3, 0.5]))
    for estimator in (case.new(), case.fit()):
        assert type(case.estimator).__name__ in estimator._repr_html_()
    parameters = case.estimator.get_params()
    assert {"priors"} <= parameters.keys()
    rebuilt = type(case.estimator)(**case.estimator.get_params(deep=False))
    assert repr(rebuilt) == repr(case.estimator)
    with refused("foo", "priors"):
        case.new().set_params(foo=1)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_output_as_a_frame(frame):
    names = ["gda0", "gda1"]
    projected = GDA().set_output(transform=frame).fit(NUMBERS, LABELS).transform(NUMBERS)
    assert (
        list(projected.columns) == names == list(GDA().fit(NUMBERS, LABELS).get_feature_names_out())
    )
    X = pd.DataFrame(NUMBERS, columns=NAMES[:3])
    binned = Discretizer().set_output(transform=frame).fit(X, LABELS).transform(X)
    assert list(binned.columns) == NAMES[:3]
    assert_array_equal(np.asarray(binned), Discretizer().fit(NUMBERS, LABELS).transform(NUMBERS))


@pytest.mark.parametrize("case", GAUSSIAN[:4], ids=lambda case: case.name)
def test_projection(case):
    model = case.fit()
    projected = model.transform(case.X)
    assert projected.shape == (len(case.X), 2)
    assert case.fit(n_components=1).transform(case.X).shape == (len(case.X), 1)
    assert_allclose(case.new().fit_transform(case.X, case.y), projected)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)
    assert np.isnan(model.transform(with_holes(case))[3]).all()


# Cross-validation


@each(CASES)
def test_folds_are_refits(case):
    result = cross_validate(case.estimator, case.X, TEXT[case.y], KFold(4))
    for train, test in KFold(4).split(case.X):
        refitted = case.new().fit(case.X[train], TEXT[case.y][train])
        assert_allclose(result.probabilities[test], refitted.predict_proba(case.X[test]), atol=1e-9)
    assert list(result.classes) == sorted(TEXT)
    assert_array_equal(result.predictions, result.classes[result.probabilities.argmax(axis=1)])
    assert result.accuracy == pytest.approx(accuracy_score(TEXT[case.y], result.predictions))
    assert result.log_loss == pytest.approx(log_loss(TEXT[case.y], result.probabilities))
    truth = TEXT[case.y][:, None] == result.classes
    squared = ((result.probabilities - truth) ** 2).sum(axis=1)
    assert result.brier == pytest.approx(squared.mean())
    for word in ("rows=90", "accuracy", "log_loss", "brier"):
        assert word in repr(result)


@each(CASES)
def test_leave_one_out_is_refitting(case):
    X, labels = case.X[:24], case.y[:24]
    expected = cross_validate(case.estimator, X, labels, LeaveOneOut()).probabilities
    assert_allclose(
        cross_validate(case.estimator, X, labels, "loo").probabilities, expected, atol=1e-7
    )


@each(CASES)
def test_ways_to_say_folds(case):
    X, labels = case.X, case.y
    splits = list(KFold(3).split(X))
    expected = cross_validate(case.estimator, X, labels, KFold(3)).probabilities
    masks = [
        (np.isin(np.arange(len(X)), train), np.isin(np.arange(len(X)), test))
        for train, test in splits
    ]
    for folds in (splits, iter(splits), masks):
        same = cross_validate(case.estimator, X, labels, folds).probabilities
        assert_array_equal(same, expected)
    five = cross_validate(case.estimator, X, labels, 5)
    assert_array_equal(
        cross_validate(case.fit(), X, labels, np.int64(5), random_state=0).probabilities,
        five.probabilities,
    )
    other = cross_validate(case.estimator, X, labels, 5, random_state=1)
    assert not np.array_equal(other.probabilities, five.probabilities)
    assert cross_validate(case.estimator, X, labels).probabilities.shape == (90, 3)


@pytest.mark.parametrize("folds", [2, 5, 9])
def test_folds_have_the_same_share_of_every_class(folds):
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [60, 21, 9]))
    fold = cross_validate(GaussianNB(), NUMBERS, labels, folds, random_state=0).fold
    for k in range(3):
        sizes = np.bincount(fold[labels == k], minlength=folds)
        assert sizes.max() - sizes.min() <= 1


@each(CASES)
def test_cross_validation_with_weights_and_frames(case):
    frame, labels = pandas_frame(case), pd.Series(TEXT[case.y])
    weight = np.arange(len(case.X)) % 3 + 1.0
    result = cross_validate(case.estimator, frame, labels, KFold(3), sample_weight=weight)
    train, test = next(KFold(3).split(case.X))
    refitted = case.new().fit(case.X[train], TEXT[case.y][train], weight[train])
    assert_allclose(result.probabilities[test], refitted.predict_proba(case.X[test]), atol=1e-9)
    assert result.accuracy == pytest.approx(
        accuracy_score(TEXT[case.y], result.predictions, sample_weight=weight)
    )


@each(LINEAR)
@pytest.mark.parametrize("folds", [3, "loo"])
def test_cross_validation_of_sparse_rows(case, folds):
    dense = cross_validate(case.estimator, case.X, case.y, folds).probabilities
    for X in (sp.csr_array(case.X), sp.coo_matrix(case.X)):
        sparse = cross_validate(case.estimator, X, case.y, folds).probabilities
        assert_allclose(sparse, dense, atol=1e-12)


@pytest.mark.parametrize("folds", [3, "loo"])
def test_cross_validation_of_text(folds):
    coded = cross_validate(CategoricalNB(), CODES, LABELS, folds).probabilities
    text = np.array(["a", "b", "c", "d"])[CODES]
    for X in (text, pd.DataFrame(text), pl.DataFrame(text)):
        assert_allclose(cross_validate(CategoricalNB(), X, LABELS, folds).probabilities, coded)


def test_brier_of_two_classes_is_halved():
    result = cross_validate(GDA(), NUMBERS, LABELS > 0, 5)
    assert result.brier == pytest.approx(brier_score_loss(LABELS > 0, result.probabilities[:, 1]))


def test_a_fold_may_hold_all_rows_of_a_class():
    labels = np.r_[np.zeros(45, int), np.ones(45, int)]
    result = cross_validate(GaussianNB(), NUMBERS, labels, KFold(2))
    assert_array_equal(result.probabilities, np.eye(2)[1 - labels])
    assert result.accuracy == 0


# The normal distribution


MEAN = np.array([1.0, 2.0, 3.0])
COVARIANCE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])


def test_normal_density():
    normal, oracle = (
        MultivariateNormal(MEAN, COVARIANCE),
        stats.multivariate_normal(MEAN, COVARIANCE),
    )
    assert normal.dimension == 3
    assert_allclose(normal.log_density(NUMBERS), oracle.logpdf(NUMBERS))
    assert_allclose(normal.density(NUMBERS), oracle.pdf(NUMBERS))
    assert normal.density([1, 2, 3]) == pytest.approx(oracle.pdf([1, 2, 3]))
    assert normal.log_density(NUMBERS.reshape(9, 10, 3)).shape == (9, 10)
    assert_allclose(MultivariateNormal(1, 4).density([0, 1, 3]), stats.norm(1, 2).pdf([0, 1, 3]))
    assert MultivariateNormal(1, 4).density(1.0) == pytest.approx(stats.norm(1, 2).pdf(1))


def test_normal_sample():
    draws = MultivariateNormal(MEAN, COVARIANCE).sample(50_000, random_state=0)
    assert_allclose(draws.mean(axis=0), MEAN, atol=0.05)
    assert_allclose(np.cov(draws.T), COVARIANCE, atol=0.1)
    assert_array_equal(draws, MultivariateNormal(MEAN, COVARIANCE).sample(50_000, 0))
    assert MultivariateNormal(0, 1).sample(0).shape == (0, 1)


def test_normal_marginal_and_conditional():
    normal = MultivariateNormal(MEAN, COVARIANCE)
    marginal = normal.marginal([2, 0])
    assert_array_equal(marginal.mean, MEAN[[2, 0]])
    assert_array_equal(marginal.covariance, COVARIANCE[np.ix_([2, 0], [2, 0])])
    assert_array_equal(normal.marginal([-1]).mean, [3])
    # p(x) = p(x_0, x_2) p(x_1 | x_0, x_2)
    x = np.array([0.3, 0.1, -2.0])
    conditional = normal.conditional({0: x[0], -1: x[2]})
    assert conditional.log_density(x[1:2]) == pytest.approx(
        normal.log_density(x) - normal.marginal([0, 2]).log_density(x[[0, 2]])
    )
    assert_array_equal(normal.conditional({}).mean, MEAN)


def test_normal_is_a_value():
    mean, covariance = np.zeros(2), np.eye(2)
    normal = MultivariateNormal(mean, covariance)
    mean[0] = covariance[0, 0] = 9
    assert_array_equal(normal.mean, [0, 0])
    assert_array_equal(normal.covariance, np.eye(2))
    assert "mean=[0., 0.]" in repr(normal)


def test_normal_takes_a_covariance_symmetric_to_rounding():
    x = [[0.3, -1.2]]
    for nearly, exactly in (
        ([[1, 1e-17], [0, 1]], [[1, 0], [0, 1]]),
        ([[1, 0.1], [0.1 + 1e-15, 1]], [[1, 0.1], [0.1, 1]]),
    ):
        near, exact = (MultivariateNormal([0, 0], sigma) for sigma in (nearly, exactly))
        assert_allclose(near.log_density(x), exact.log_density(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("mean", "covariance", "words"),
    [
        ([0, 0], [[1]], ["(2, 2)", "(1, 1)"]),
        ([0, 0], [[1, 0.5], [0.4, 1]], ["symmetric"]),
        ([np.nan], [[1]], ["finite"]),
        ([0, 0], [[1, np.inf], [np.inf, 1]], ["finite"]),
        ([0, 0], [[1, 1], [1, 1]], ["column 0", "column 1", "diagonal"]),
        ([0, 0], [[1, 0], [0, 0]], ["column 1", "no variance"]),
        ([0, 0], [[1, 0], [0, -1]], ["column 1", "negative"]),
        ([0, 0], [[1, 2], [2, 1]], ["positive"]),
    ],
)
def test_normal_refuses(mean, covariance, words):
    with refused(*words):
        MultivariateNormal(mean, covariance)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda normal: normal.log_density([1, 2]), ["3", "(2,)"]),
        (lambda normal: normal.marginal([3]), ["3", "counted from 0"]),
        (lambda normal: normal.marginal([0, 0]), ["0", "twice"]),
        (lambda normal: normal.conditional({5: 1.0}), ["5", "counted from 0"]),
        (lambda normal: normal.conditional({-1: 1.0, 2: 1.0}), ["2", "twice"]),
        (lambda normal: normal.conditional({0: 1.0, 1: 1.0, 2: 1.0}), ["all 3 columns"]),
        (lambda normal: normal.conditional({0: np.nan}), ["finite"]),
        (lambda normal: normal.sample(-1), ["0 or more", "-1"]),
    ],
)
def test_normal_methods_refuse(call, words):
    with refused(*words):
        call(MultivariateNormal(MEAN, COVARIANCE))


def test_a_singular_covariance_is_a_value_error():
    assert issubclass(SingularCovarianceError, ValueError)


# Bins


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-2, -1, 0, 1, 2], [1, 2, 3, 4, 4]),  # on an edge: the bin above
        ([-1.5, -1e-300, 1e-300, 0.5, 1e300], [1, 2, 3, 3, 4]),
        ([np.nan, -0.0, np.nan, 0.0, -1e300], [np.nan, 3, np.nan, 3, 1]),
    ],
)
def test_given_edges(values, expected):
    bins = Discretizer(edges=[-1, 0, 1])
    got = bins.fit(np.zeros((1, 1))).transform(np.c_[values])
    assert_array_equal(got[:, 0], expected)
    assert got.dtype == (float if np.isnan(expected).any() else np.int64)
    assert_array_equal(bins.bin_edges_[0], [-1, 0, 1])


def test_edges_for_each_column():
    X = np.array([[0.5, 0.5, 0.5], [1.5, 1.5, 1.5]])
    bins = Discretizer(edges=[[1], [], [0, 1]]).fit(X)
    assert_array_equal(bins.transform(X), [[1, 1, 2], [2, 1, 3]])
    with refused("2", "3 columns"):
        Discretizer(edges=[[0], [1]]).fit(X)


@pytest.mark.parametrize("shift", [0, -4, -100])
@pytest.mark.parametrize("n_bins", [2, 3, 4, 8])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_agree_with_scikit_learn(strategy, n_bins, shift):
    X = np.arange(shift, shift + (9.0 if strategy == "uniform" else 24.0))[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        oracle = KBinsDiscretizer(n_bins, encode="ordinal", strategy=strategy)
        expected = oracle.fit_transform(X) + 1
    got = Discretizer(strategy, n_bins=n_bins).fit_transform(X)
    assert_array_equal(got, expected)


@pytest.mark.parametrize("weight", [0.1, 0.7, 1 / 3])
def test_quantiles_of_rows_that_weigh_the_same_do_not_depend_on_what_they_weigh(weight):
    X, y = np.arange(30.0)[:, None], np.arange(30) % 2
    for n_bins in range(2, 11):
        model = CategoricalNB(bins=Discretizer("quantile", n_bins=n_bins))
        expected = clone(model).fit(X, y).bin_edges_[0]
        got = clone(model).fit(X, y, sample_weight=np.full(30, weight)).bin_edges_[0]
        assert_array_equal(got, expected)


@pytest.mark.parametrize("strategy", ["mdlp", "quantile", "uniform"])
def test_bins_leave_holes_alone(strategy):
    holes = NUMBERS.copy()
    holes[::7, 1] = np.nan
    bins = Discretizer(strategy, n_bins=4).fit(holes, LABELS)
    binned = bins.transform(holes)
    assert_array_equal(np.isnan(binned), np.isnan(holes))
    there = ~np.isnan(holes[:, 1])
    alone = Discretizer(strategy, n_bins=4).fit(NUMBERS[there][:, [1]], LABELS[there])
    assert_array_equal(bins.bin_edges_[1], alone.bin_edges_[0])
    for j, edges in enumerate(bins.bin_edges_):
        expected = np.searchsorted(edges, NUMBERS[:, j], side="right") + 1
        assert_array_equal(bins.transform(NUMBERS)[:, j], expected)


@pytest.mark.parametrize("hand_over", [pd.DataFrame, lambda d: pl.DataFrame(d)])
def test_bins_of_frames(hand_over):
    frame = hand_over({"a": [1, 2, None, 4], "b": [-1.0, 0.5, 1.0, None]})
    bins = Discretizer("uniform", n_bins=2).fit(frame)
    assert list(bins.get_feature_names_out()) == ["a", "b"]
    assert_array_equal(bins.transform(frame), [[1, 1], [1, 2], [np.nan, 2], [2, np.nan]])


def test_bins_far_from_zero_need_an_origin():
    X = np.arange(10.0)[:, None] + 1.7e9
    near = Discretizer("uniform", n_bins=5, origin=1.7e9).fit(X)
    assert_array_equal(near.transform(X).ravel(), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    assert ((near.bin_edges_[0] > X.min()) & (near.bin_edges_[0] < X.max())).all()
    assert len(Discretizer("uniform", n_bins=5).fit(X).bin_edges_[0]) == 0
    model = CategoricalNB(bins=Discretizer("uniform", n_bins=5, origin=1.7e9))
    assert_allclose(model.fit(X, X[:, 0] > 1.7e9 + 4).bin_edges_[0], near.bin_edges_[0])


@pytest.mark.parametrize("strategy", ["mdlp", "quantile", "uniform"])
@pytest.mark.parametrize("column", [[1.0] * 6, [np.nan] * 6, [0, 1e308, -1e308, 0, 0, 0]])
def test_bins_of_little(strategy, column):
    labels = [0, 1, 0, 1, 0, 1]
    binned = Discretizer(strategy, n_bins=3).fit(np.c_[column], labels).transform(np.c_[column])
    assert_array_equal(np.isnan(binned[:, 0]), np.isnan(column))


def test_bins_of_a_model_are_those_of_the_transformer():
    for strategy in ("mdlp", "quantile", "uniform"):
        bins = Discretizer(strategy, n_bins=3)
        model = CategoricalNB(bins=bins).fit(NUMBERS, LABELS)
        apart = clone(bins).fit(NUMBERS, LABELS)
        for mine, theirs in zip(model.bin_edges_, apart.bin_edges_, strict=True):
            assert_array_equal(mine, theirs)
        two_steps = make_pipeline(clone(bins), CategoricalNB(min_categories=1)).fit(NUMBERS, LABELS)
        assert model.score(NUMBERS, LABELS) == pytest.approx(
            two_steps.score(NUMBERS, LABELS), abs=0.1
        )


def test_fitted_bins_do_not_follow_later_options():
    bins = Discretizer("uniform", n_bins=3).fit(NUMBERS)
    before = bins.transform(NUMBERS)
    assert_array_equal(bins.set_params(origin=5.0).transform(NUMBERS), before)
    model = CategoricalNB(bins=Discretizer("uniform", n_bins=3)).fit(NUMBERS, LABELS)
    edges = model.bin_edges_[0]
    model.bins.set_params(origin=5.0)
    assert_array_equal(model.bin_edges_[0], edges)


# Types


PUBLIC = [getattr(genus, name) for name in genus.__all__]


def test_py_typed():
    assert (importlib.resources.files(genus) / "py.typed").is_file()


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_everything_public_is_documented_and_typed(thing):
    assert thing.__doc__
    functions = [thing]
    if inspect.isclass(thing):
        members = inspect.getmembers(thing, inspect.isfunction)
        functions = [f for n, f in members if not n.startswith("_")]
        functions += [thing.__init__] if "__init__" in vars(thing) else []
    for function in functions:
        if not function.__module__.startswith("genus"):
            continue
        assert function.__doc__ or function.__name__ == "__init__", function
        signature = inspect.signature(function)
        assert signature.return_annotation is not signature.empty, function
        untyped = [
            name
            for name, parameter in signature.parameters.items()
            if parameter.annotation is signature.empty and name != "self"
        ]
        assert not untyped, function
