"""More columns than rows: what is kept, solved and scored in the space of the rows.

The oracle is the same model made of sums, which a family with `wide` out of reach counts.
"""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import genus
from genus import GDA, SingularCovarianceError, SingularCovarianceWarning, cross_validate
from genus.persistence import files
from genus.persistence.trees import to_tree
from genus.statistics import Moments, Points

N = 80
FORMS = [
    GDA(shrinkage="oas"),
    GDA(shrinkage="ledoit-wolf"),
    GDA(shrinkage=0.2, unbiased=True),
    GDA(False, shrinkage="oas"),
    GDA(False, shrinkage="ledoit-wolf", unbiased=True),
    GDA(False, shrinkage=0.5),
    GDA(diagonal=True),
]


class DenseGDA(GDA):
    """GDA of sums, however many columns there are."""

    def _family(self):
        return replace(super()._family(), wide=1 << 30)


def data(rows=40, n=N, seed=0):
    """Rows of three classes that are mixtures of a few things, with a constant column."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 3
    X = rng.normal(size=(rows, 10)) @ rng.normal(size=(10, n)) + rng.normal(size=(rows, n))
    X += 100 + np.eye(3, n)[y] * 5
    X[:, 7] = 3.0
    return X, y


def dense(model):
    return DenseGDA(**model.get_params())


@pytest.mark.parametrize("model", FORMS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_give_what_sums_give(model, weighted):
    X, y = data()
    X = np.delete(X, 7, axis=1) if model.diagonal else X
    w = np.arange(1, len(y) + 1) / 7 if weighted else None
    ours, oracle = clone(model).fit(X, y, w), dense(model).fit(X, y, w)
    if not model.diagonal:
        assert isinstance(ours.model_.statistics, Points)
        np.testing.assert_allclose(ours.shrinkage_, oracle.shrinkage_, rtol=1e-9)
    assert isinstance(oracle.model_.statistics, Moments)
    new = data(rows=15, seed=1)[0][:, : X.shape[1]]
    new[3, :60] = np.nan
    for method in "predict_joint_log_proba", "predict_proba", "decision_function", "log_density":
        one, two = (getattr(m, method)(new) for m in (ours, oracle))
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ours.covariance_, oracle.covariance_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.explain(new[:3]).joint, oracle.explain(new[:3]).joint)
    np.testing.assert_allclose(
        np.abs(ours.transform(new[:3])), np.abs(oracle.transform(new[:3])), rtol=1e-6, atol=1e-6
    )
    if model.shared:
        np.testing.assert_allclose(ours.coef_, oracle.coef_, rtol=1e-6, atol=1e-8)


def test_rows_become_sums_when_there_are_enough():
    X, y = data(rows=200)
    model = GDA(shrinkage="oas")
    kinds = []
    for start in range(0, 200, 30):
        model.partial_fit(X[start : start + 30], y[start : start + 30])
        kinds.append(type(model.model_.statistics))
    assert kinds == [Points] * 2 + [Moments] * 5
    whole = GDA(shrinkage="oas").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    few = model.forget(X[20:], y[20:])
    np.testing.assert_allclose(
        few.predict_proba(X), GDA(shrinkage="oas").fit(X[:20], y[:20]).predict_proba(X), atol=1e-6
    )


def test_forgetting_is_exact_and_other_rows_are_refused():
    X, y = data()
    model = GDA(shrinkage="oas").fit(X, y)
    part = GDA(shrinkage="oas").fit(X[:25], y[:25])
    left = clone(model).fit(X, y).forget(X[25:], y[25:])
    assert left.model_ == part.model_
    np.testing.assert_array_equal(left.model_.statistics.x, X[:25])
    assert (model - part + part).model_ == model.model_
    with pytest.raises(ValueError, match="were never learned"):
        model.forget(X[:2] + 1, y[:2])
    with pytest.raises(ValueError, match="More would be forgotten"):
        model.forget(np.vstack([X, X]), np.append(y, y))


def test_files_hold_rows_and_are_checked(tmp_path):
    X, y = data()
    model = GDA(shrinkage="oas").fit(X, y)
    model.save(tmp_path / "wide.genus")
    loaded = genus.load(tmp_path / "wide.genus")
    assert loaded.model_ == model.model_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for name, bad in [
        ("x", X[:, :-1]),
        ("weight", np.full(len(y), -1.0)),
        ("codes", np.full(len(y), 5)),
        ("x", np.full_like(X, np.nan)),
    ]:
        tree = to_tree(model)
        tree["statistics"][name] = bad
        with pytest.raises(ValueError, match=r"wide|damaged|shape|numbers"):
            genus.from_bytes(files.to_bytes(tree))


def test_too_few_rows_shrink_with_a_warning_or_are_an_error():
    X, y = data()
    X = np.delete(X, 7, axis=1)
    with pytest.warns(SingularCovarianceWarning, match=rf"^There may be too few rows: .* {N - 1} "):
        model = GDA().fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(X), GDA(shrinkage="oas").fit(X, y).predict_proba(X)
    )
    with pytest.raises(SingularCovarianceError, match=r"^There may be too few rows"):
        GDA(singular="error").fit(X, y)
    with pytest.raises(SingularCovarianceError, match=r"^In class 0 there may be too few rows"):
        GDA(False).fit(X, y)


@pytest.mark.parametrize("model", FORMS[:5], ids=str)
def test_folds_and_leaving_one_out(model):
    X, y = data()
    for folds in 4, "loo":
        one, two = (cross_validate(m, X, y, folds=folds) for m in (model, dense(model)))
        np.testing.assert_allclose(one.probabilities, two.probabilities, atol=1e-6)


def test_samples_have_the_covariance():
    X, y = data(n=70)
    model = GDA(shrinkage="oas").fit(X, y)
    drawn, _ = model.sample(20_000, y=1, random_state=0)
    scale = np.sqrt(np.diagonal(model.covariance_))
    np.testing.assert_allclose(drawn.mean(axis=0), model.means_[1], atol=0.05 * scale.max())
    error = (np.cov(drawn.T) - model.covariance_) / scale[:, None] / scale
    assert np.abs(error).max() < 0.06


def test_infinite_values_are_refused_with_their_place():
    X, y = data()
    X[3, 5] = np.inf
    with pytest.raises(ValueError, match="row 3, column 5"):
        GDA(shrinkage="oas").fit(X, y)
    X[3, 5] = 1e200
    with pytest.raises(ValueError, match="Column 5 holds numbers so large"):
        GDA(shrinkage="oas").fit(X, y)
