"""`GDA("auto")`: the form that it chooses is the one that leaving rows out finds best."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss

import genus
from cases import refused
from genus import GDA, cross_validate
from genus.families.gaussian import choosing
from scope import EVERYTHING, nightly

rng = np.random.default_rng(3)
LABELS = np.arange(36) % 3
NUMBERS = rng.normal(size=(36, 3)) @ [[1, 0.8, 0], [0, 1, 40], [0, 0, 30]] + LABELS[:, None]


def loss_without(model, form, X, y):
    """The log loss of each row by a model of this form that was fitted without the row."""
    probabilities = np.zeros((len(y), len(model.classes_)))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        own = GDA("auto", unbiased=model.unbiased).partial_fit(X[rest], y[rest])
        own.model_ = replace(own.model_, chosen=form)
        probabilities[i] = own.predict_proba(X[[i]])[0]
    return log_loss(y, probabilities)


@pytest.mark.parametrize("unbiased", [False, True])
def test_the_choice_has_the_least_loss_of_rows_left_out(unbiased, monkeypatch):
    monkeypatch.setattr(choosing, "SHARES", (1.0, 0.4, 0.0))
    monkeypatch.setattr(choosing, "SHRINKAGES", (0.0, 0.3))
    model = GDA("auto", unbiased=unbiased).fit(NUMBERS, LABELS)
    chosen = model.model_.choice
    tried = []
    for share in choosing.SHARES:
        ways = [(False, None), (False, 0.3), (True, None)]
        for diagonal, shrinkage in ways:
            for scale in (chosen.scale, np.ones(3)):
                options = {"diagonal": diagonal, "shrinkage": shrinkage, "scale": scale}
                form = replace(chosen, shared=share, **options)
                tried.append(loss_without(model, form, NUMBERS, LABELS))
    assert chosen.loss == pytest.approx(min(tried), rel=1e-9)
    assert chosen.loss == pytest.approx(loss_without(model, chosen, NUMBERS, LABELS), rel=1e-9)
    assert chosen.rows == 36


def test_a_choice_in_the_units_of_the_data_is_the_model_with_these_options():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400, np.ptp(X[:400], axis=0) > 0], y[:400]
    auto = GDA("auto").fit(X, y)
    assert (auto.model_.choice.scale == 1).all()
    assert 0 < auto.shared_ < 1
    given = GDA(auto.shared_, shrinkage=auto.shrinkage_[0]).fit(X, y)
    assert_allclose(auto.covariance_, given.covariance_, rtol=1e-9, atol=1e-9)


def test_leaving_one_out_of_the_chosen_model_gives_the_loss_of_the_choice():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(0, 1e-3, X.shape)  # no two rows are equal
    model = GDA("auto").fit(X, y)
    left = cross_validate(GDA("auto"), X, y, folds="loo")
    assert left.log_loss == pytest.approx(model.model_.choice.loss, rel=1e-9)


@nightly
def test_it_is_never_far_from_the_best_of_three():
    from benchmarks.forms import losses, sets

    beyond = []
    for name, (X, y) in sets():
        if EVERYTHING or (len(y) < 300 and "400" not in name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = losses(X, y)
            auto = found.pop("auto")
            assert auto - min(found.values()) < 0.06, name
            beyond.append(auto - min(found.values()))
    assert np.mean(beyond) < 0.02


def test_more_rows_than_the_sample_keeps():
    X = rng.normal(size=(9000, 2)) * [1, 5]
    y = rng.integers(2, size=9000)
    X[y == 1] *= 3
    model = GDA("auto").fit(X, y)
    sample = model.model_.statistics["sample"]
    assert len(sample) <= 4096
    assert model.model_.choice.rows == 2048
    assert model.shared_ < 0.1
    parts = sum(GDA("auto").fit(X[i::7], y[i::7], like=model) for i in range(7))
    assert parts.model_.choice.loss == pytest.approx(model.model_.choice.loss, rel=1e-9)
    assert parts.model_.statistics["sample"] == sample


def test_more_columns_than_rows():
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 600)) + y[:, None] * 0.2
    model = GDA("auto").fit(X, y)
    assert model.shared_ == 1
    assert np.isfinite(model.predict_log_proba(X)).all()
    small = GDA("auto").fit(X[:, :80], y)  # rows are kept here, and sums of the same rows below
    sums = GDA("auto").fit(np.vstack([X[:, :80]] * 3), np.tile(y, 3))
    assert_allclose(small.predict_proba(X[:, :80]), sums.predict_proba(X[:, :80]), atol=1e-6)


def test_columns_that_do_not_vary_within_classes():
    X = np.column_stack([NUMBERS, np.ones(36), LABELS == 2])
    model = GDA("auto").fit(X, LABELS)
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    assert (model.predict(X)[LABELS == 2] == 2).all()
    plain, constant = (GDA("auto").fit(x, LABELS) for x in (NUMBERS, X[:, :4]))
    assert_allclose(plain.predict_proba(NUMBERS), constant.predict_proba(X[:, :4]))


def test_missing_values_and_one_class_and_one_row_for_each():
    X = NUMBERS.copy()
    X[3, 1] = np.nan
    model = GDA("auto").fit(X, LABELS)
    assert model.model_.choice.rows == 35
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.warns(UserWarning, match="one class"):
        assert (GDA("auto").fit(NUMBERS, np.zeros(36)).predict(NUMBERS) == 0).all()
    with refused("more than the number of classes"):
        GDA("auto").fit(NUMBERS[:3], LABELS[:3])


def test_three_rows_of_two_classes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GDA("auto", unbiased=True).fit([[0.0, 0.0], [1.0, 1.0], [3.0, 4.0]], [0, 1, 1])
    assert np.isfinite(model.predict_proba([[0.5, 2.0]])).all()


def test_what_is_given_stays():
    assert GDA("auto", diagonal=True).fit(NUMBERS, LABELS).diagonal_
    model = GDA("auto", shrinkage=0.25).fit(NUMBERS, LABELS)
    assert not model.diagonal_
    assert np.ravel(model.shrinkage_)[0] == 0.25
    none = GDA("auto", shrinkage=0).fit(NUMBERS, LABELS)
    assert not np.any(none.shrinkage_)
    assert GDA(0.3).fit(NUMBERS, LABELS).shared_ == 0.3
    assert GDA(diagonal=True).fit(NUMBERS, LABELS).diagonal_


def test_bad_options():
    with refused("shared", "auto", "best"):
        GDA("best").fit(NUMBERS, LABELS)
    with refused("shrinkage", "oas", "number"):
        GDA("auto", shrinkage="oas").fit(NUMBERS, LABELS)
    with refused("auto", "from the start"):
        GDA(False).fit(NUMBERS, LABELS).resolve(shared="auto")
    with refused("count differently"):
        GDA("auto").fit(NUMBERS, LABELS) + GDA(False).fit(NUMBERS, LABELS)


def test_twin_and_file_and_axes(tmp_path):
    X, y = load_iris(return_X_y=True)
    for options in ({}, {"diagonal": True}, {"shrinkage": 0.7}):
        model = GDA("auto", **options).fit(X, y)
        assert_allclose(model.to_sklearn().predict_proba(X), model.predict_proba(X), atol=1e-9)
        model.save(tmp_path / "model")
        loaded = genus.load(tmp_path / "model")
        assert vars(loaded.model_)["chosen"].shared == model.shared_
        assert_allclose(loaded.predict_proba(X), model.predict_proba(X))
        assert model.transform(X).shape == (150, 2)


def test_a_file_whose_choice_makes_no_sense_is_refused(tmp_path):
    from genus.persistence import files
    from genus.persistence.trees import to_tree

    model = GDA("auto").fit(NUMBERS, LABELS)
    _ = model.model_.choice
    wrong = {"shared": 2.0, "scale": np.zeros(3), "shrinkage": "all", "least": np.ones(2)}
    for name, value in wrong.items():
        tree = to_tree(model)
        tree["form"][name] = value
        files.write(tmp_path / "model", tree)
        with refused("is invalid"):
            genus.load(tmp_path / "model")
