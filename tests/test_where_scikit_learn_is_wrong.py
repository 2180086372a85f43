"""What scikit-learn gets wrong, or cannot do, and what is right.

Each test shows both. One that starts to fail on scikit-learn's side is good news.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.naive_bayes as peer
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

import genus

pytest.importorskip("sklearn", minversion="1.9")  # divisors and solvers were others before


def in_chunks(model, X, y, chunks=20):
    for rows in np.array_split(np.arange(len(y)), chunks):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return model


@pytest.mark.parametrize(("var_smoothing", "error"), [(1e-9, 1e-6), (1e-2, 0.5)])
def test_variance_depends_on_the_chunks(var_smoothing, error):
    """The smoothing of each chunk goes into `var_`, and that of the last stays."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3)) * [1, 10, 100]
    X = X[np.argsort(X[:, 2])]
    y = rng.integers(0, 2, 1000)
    theirs, ours = (
        [
            model.var_
            for model in (
                module.GaussianNB(var_smoothing=var_smoothing).fit(X, y),
                in_chunks(module.GaussianNB(var_smoothing=var_smoothing), X, y),
            )
        ]
        for module in (peer, genus)
    )
    assert np.abs(theirs[1] / theirs[0] - 1).max() > error
    np.testing.assert_allclose(ours[1], ours[0], rtol=1e-13)


def test_large_column_drowns_an_informative_one():
    """`var_smoothing` is a share of the largest variance of all columns there."""
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    informative, noise = rng.normal(6 * y, 1), 1e8 * rng.normal(size=len(y))
    X = np.column_stack([informative, noise])
    train, test = slice(0, 2000), slice(2000, None)
    theirs = peer.GaussianNB().fit(X[train], y[train]).score(X[test], y[test])
    ours = genus.GaussianNB().fit(X[train], y[train]).score(X[test], y[test])
    assert theirs < 0.55
    assert ours > 0.99


def test_unseen_category():
    X, y = [[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0]
    with pytest.raises(IndexError):
        peer.CategoricalNB().fit(X, y).predict([[2, 1]])
    ours = genus.CategoricalNB().fit(X, y)
    alone = genus.CategoricalNB().fit([row[1:] for row in X], y)
    np.testing.assert_allclose(ours.predict_proba([[2, 1]]), alone.predict_proba([[1]]), rtol=1e-14)


def test_text_as_category():
    X, y = [["red"], ["blue"], ["red"]], [0, 1, 0]
    with pytest.raises(ValueError, match=r"invalid literal|could not convert"):
        peer.CategoricalNB().fit(X, y)
    assert genus.CategoricalNB().fit(X, y).predict([["red"], ["blue"]]).tolist() == [0, 1]


FAMILIES = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]


@pytest.mark.parametrize("family", FAMILIES)
def test_new_class_in_partial_fit(family):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (30, 3)), np.arange(30) % 3
    two, third = y < 2, y == 2
    theirs = getattr(peer, family)()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        theirs.partial_fit(X[two], y[two])
    theirs.partial_fit(X[two], y[two], classes=[0, 1])
    with pytest.raises((ValueError, IndexError)):
        theirs.partial_fit(X[third], y[third], classes=[0, 1, 2])
    ours = getattr(genus, family)().partial_fit(X[two], y[two]).partial_fit(X[third], y[third])
    whole = getattr(genus, family)().fit(X, y)
    np.testing.assert_array_equal(ours.classes_, [0, 1, 2])
    np.testing.assert_allclose(ours.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("family", ["BernoulliNB", "ComplementNB", "MultinomialNB"])
def test_unseen_word_without_smoothing(family):
    X, y, nips = [[1, 0, 0], [2, 1, 0], [0, 1, 0], [1, 1, 0]], [1, 1, 0, 0], [[1, 1, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(getattr(peer, family)(alpha=0).fit(X, y).predict_proba(nips)).all()
    ours = getattr(genus, family)(alpha=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(nips), ours.predict_proba([[1, 1, 0]]))


def test_bernoulli_with_alpha_by_column():
    """Pseudo-counts by column are added to the totals by class there."""
    X, y = np.array([[1, 0], [1, 1], [0, 1], [0, 0]]), [0, 0, 1, 1]
    theirs = np.exp(peer.BernoulliNB(alpha=[1, 5]).fit(X, y).feature_log_prob_)
    assert theirs.max() == pytest.approx(1.5)  # of a probability
    with pytest.raises(ValueError, match="could not be broadcast"):
        peer.BernoulliNB(alpha=[1, 5]).fit(X, [0, 0, 1, 2])
    ours = np.exp(genus.BernoulliNB(alpha=[1, 5]).fit(X, y).feature_log_prob_)
    np.testing.assert_allclose(ours, [[3 / 4, 6 / 12], [1 / 4, 6 / 12]], rtol=1e-14)


def test_complement_with_priors():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(3, (100, 4)), rng.integers(0, 2, 100)
    certain = {"class_prior": [1 - 1e-9, 1e-9]}
    theirs = peer.ComplementNB(**certain).fit(X, y).predict(X)
    np.testing.assert_array_equal(theirs, peer.ComplementNB().fit(X, y).predict(X))
    assert theirs.any()
    assert not genus.ComplementNB(**certain).fit(X, y).predict(X).any()


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_quadratic_boundary_depends_on_units(solver):
    """Iris in kilometres instead of centimetres: "not full rank"."""
    X, y = load_iris(return_X_y=True)
    unit = 1e-5
    QuadraticDiscriminantAnalysis(solver=solver).fit(X, y)
    with pytest.raises(np.linalg.LinAlgError, match="not full rank"):
        QuadraticDiscriminantAnalysis(solver=solver).fit(X * unit, y)
    ours = genus.GDA(shared=False)
    expected = ours.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours.fit(X * unit, y).predict_proba(X * unit), expected, rtol=1e-9)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_linear_boundary_depends_on_the_offset(solver):
    """Far from zero xᵀΣ⁻¹μ and μᵀΣ⁻¹μ are large, and their difference is noise."""
    X, y = load_iris(return_X_y=True)
    X = np.round(X * 16) / 16
    far = X + 2.0**27  # exact
    expected = LinearDiscriminantAnalysis(solver="svd").fit(X, y).predict_proba(X)
    theirs = LinearDiscriminantAnalysis(solver=solver).fit(far, y).predict_proba(far)
    ours = genus.GDA().fit(far, y).predict_proba(far)
    assert np.abs(theirs - expected).max() > 0.9
    np.testing.assert_allclose(ours, expected, atol=1e-6)
