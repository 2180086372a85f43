"""`NearestShrunkenCentroids` against scikit-learn's centroids and the formula of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.neighbors import NearestCentroid

from cases import refused
from genus import GDA, NearestShrunkenCentroids, cross_validate, tune

SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("threshold", [0.5, 3.0, 20.0])
def test_centroids_are_those_of_scikit_learn(name, threshold):
    X, y = SETS[name](return_X_y=True)
    ours = NearestShrunkenCentroids(threshold).fit(X, y)
    theirs = NearestCentroid(shrink_threshold=threshold).fit(X, y)
    assert_allclose(ours.centroids_, theirs.centroids_, rtol=1e-9)
    deviation = theirs.within_class_std_dev_
    assert_allclose(ours.scale_, deviation + np.median(deviation), rtol=1e-9)
    assert (ours.selected_ == np.any(theirs.deviations_ != 0, axis=0)).all()
    # The paper's scores, with s + s_0 and the priors
    squared = ((X[:, None] - ours.centroids_) / ours.scale_) ** 2
    expected = -0.5 * squared.sum(axis=2) + np.log(ours.class_prior_)
    expected -= np.logaddexp.reduce(expected, axis=1)[:, None]
    assert_allclose(ours.predict_log_proba(X), expected, rtol=1e-7, atol=1e-9)
    assert_allclose(ours.to_logistic().predict_proba(X), ours.predict_proba(X), atol=1e-6)


def test_it_selects_the_columns_that_matter():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2000))
    X[:, :10] += 1.5 * np.eye(3)[y].repeat(4, axis=1)[:, :10]
    choices = {"threshold": [0, 1, 1.5, 2, 2.5, 3, 4]}
    tuned = tune(NearestShrunkenCentroids(), X, y, choices, folds=10)
    model = NearestShrunkenCentroids(**tuned.best).fit(X, y)
    assert model.selected_[:10].sum() >= 8
    assert model.selected_.sum() < 400
    plain = cross_validate(NearestShrunkenCentroids(), X, y, folds=10)
    shrunk = cross_validate(model, X, y, folds=10)
    assert shrunk.log_loss < plain.log_loss
    assert shrunk.accuracy > plain.accuracy


def test_without_a_threshold_it_is_near_a_diagonal_gda():
    X, y = load_iris(return_X_y=True)
    model = NearestShrunkenCentroids().fit(X, y)
    assert_allclose(model.centroids_, GDA(diagonal=True).fit(X, y).means_)
    assert model.selected_.all()


def test_missing_and_constant_columns():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(1)
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = NearestShrunkenCentroids(1.0).fit(holes, y)
    assert np.isfinite(model.predict_proba(holes)).all()
    wide = np.column_stack([X, np.full(150, 7.0)])
    constant = NearestShrunkenCentroids(1.0).fit(wide, y)
    plain = NearestShrunkenCentroids(1.0).fit(X, y)
    assert not constant.selected_[4]
    assert_allclose(constant.predict_proba(wide), plain.predict_proba(X))
    everything = NearestShrunkenCentroids(1e9).fit(X, y)
    assert not everything.selected_.any()
    assert_allclose(everything.predict_proba(X[:1])[0], [1 / 3] * 3)


def test_bad_input():
    X, y = load_iris(return_X_y=True)
    for threshold in (-1, "auto", np.nan, None):
        with refused("threshold"):
            NearestShrunkenCentroids(threshold).fit(X, y)
    with refused("no column varies"):
        NearestShrunkenCentroids().fit(X[[0, 60, 120]], y[[0, 60, 120]])
