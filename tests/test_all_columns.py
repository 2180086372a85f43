"""The linear expert over all columns of a wide table: its formula, its laws, and what it gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.metrics import log_loss

from genus import TableClassifier, load
from genus.persistence.restoring import linear_from_tree
from genus.statistics import Array
from genus.table import Frame, Plan, open_table
from genus.table import plan as plans
from genus.table.model.wide import (
    DRAWN,
    NAME,
    RIDGE,
    Features,
    WideLinear,
    is_wide,
    temperature,
)

RNG = np.random.default_rng(7)
ROWS, HALF = 160, 80
Y = RNG.integers(0, 3, ROWS)
SHARED = RNG.normal(size=(ROWS, 2))
X = pd.DataFrame(
    {f"n{j}": SHARED[:, j % 2] + 0.4 * RNG.normal(size=ROWS) + 0.3 * (j % 3 == Y) for j in range(9)}
)
X["gap"] = np.where(RNG.random(ROWS) < 0.2, np.nan, X["n0"] - X["n2"])
X["kind"] = np.where(RNG.random(ROWS) < 0.2 + 0.3 * Y, "wild", "tame")
X["few"] = np.array(["a", "b", None, "c"], dtype=object)[RNG.integers(0, 4, ROWS)]


@pytest.fixture(autouse=True)
def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave room for some columns only, so that a table of twelve columns is wide."""
    monkeypatch.setattr(plans, "MOST_SLOTS", 30)


def frame(rows: Any, plan: Plan) -> Frame:
    return Frame.of(open_table(rows).table(), plan)


def fitted(rows: slice, plan: Any = None) -> Any:
    return TableClassifier().fit(X[rows], Y[rows], like=plan)


def linear(model: Any) -> WideLinear:
    found: WideLinear = model.model_.parameters.linear
    return found


def test_only_wide_tables_have_the_expert(monkeypatch: pytest.MonkeyPatch) -> None:
    assert NAME in fitted(slice(None)).summary().experts
    monkeypatch.setattr(plans, "MOST_SLOTS", 1000)
    narrow = X.assign(same=1.0, many=[f"value {i % 100}" for i in range(ROWS)])
    model = TableClassifier().fit(narrow, Y)
    assert not is_wide(model.plan_)
    assert NAME not in model.summary().experts
    assert linear(model) is None


@pytest.mark.parametrize("rows", [7, 60], ids=["fewer rows than features", "more rows"])
def test_it_is_discriminant_analysis_with_a_ridge(rows: int) -> None:
    plan = TableClassifier().plan(X, Y).plan_
    some, y = frame(X[:rows], plan), np.arange(rows) % 3
    w = RNG.uniform(0.5, 2, rows)
    features = Features.of(some, w)
    φ = features.of_rows(some)
    found = WideLinear.solved(features, φ, y, w, 3)
    μ = np.stack([(w * (y == k)) @ φ / ((w * (y == k)).sum() + DRAWN) for k in range(3)])
    own = np.stack([np.average(φ[y == k], axis=0, weights=w[y == k]) for k in range(3)])
    A = (φ - own[y]) * np.sqrt(w / (w.sum() - 3))[:, None]
    slope = np.linalg.solve(A.T @ A + RIDGE * np.eye(φ.shape[1]), μ.T)
    assert_allclose(found.slope, slope, atol=1e-10)
    assert_allclose(found.share * 12, -0.5 * (μ * slope.T).sum(axis=1), atol=1e-10)


def test_numbers_are_standardised_and_categories_indicated() -> None:
    plan = TableClassifier().plan(X, Y).plan_
    rows = frame(X, plan)
    features = Features.of(rows, np.ones(ROWS))
    φ = features.of_rows(rows)
    assert φ.shape == (ROWS, 10 + 2 + 3)
    assert_allclose(φ[:, :9].mean(axis=0), 0, atol=1e-3)  # in the cells of a fine grid
    assert_allclose(φ[:, :9].std(axis=0), 1, atol=1e-2)
    unknown = X["gap"].isna().to_numpy()
    assert (φ[unknown, 9] == 0).all()
    assert_allclose(φ[:, 10:12].sum(axis=0), 0, atol=1e-9)
    assert (φ[X["few"].isna().to_numpy(), 12:] == 0).all()
    far = features.of_rows(frame(X[:1].assign(n0=1e308), plan))
    assert far[0, 0] == 4
    new = features.of_rows(frame(X[:1].assign(kind="never seen"), plan))
    assert (new[0, 10:12] == 0).all()


def test_the_temperature_has_the_lowest_loss() -> None:
    y = RNG.integers(0, 4, 200)
    F = 30 * (RNG.normal(size=(200, 4)) + 0.5 * np.eye(4)[y])
    w, log_share = RNG.uniform(0.5, 2, 200), np.log([0.1, 0.2, 0.3, 0.4])

    def loss(t: float) -> float:
        return -float(w @ log_softmax(np.exp(t) * F + log_share, axis=1)[np.arange(200), y])

    best = minimize_scalar(loss, bounds=(-12, 3), method="bounded", options={"xatol": 1e-9})
    assert_allclose(np.log(temperature(F, y, w, log_share)), best.x, atol=1e-4)


def test_rows_merge_and_are_forgotten() -> None:
    plan = TableClassifier().plan(X, Y)
    whole = fitted(slice(None), plan)
    a, b = fitted(slice(0, HALF), plan), fitted(slice(HALF, None), plan)
    p = (a + b).predict_proba(X)
    assert (p == (b + a).predict_proba(X)).all()
    assert_allclose(p, whole.predict_proba(X), atol=1e-12)
    double = 2 * whole
    twice = TableClassifier().fit(X, Y, like=plan, sample_weight=np.full(ROWS, 2.0))
    assert_allclose(double.predict_proba(X), twice.predict_proba(X), atol=1e-12)
    whole.forget(X[HALF:], Y[HALF:])
    assert_allclose(whole.predict_proba(X), a.predict_proba(X), atol=1e-12)
    assert_allclose(linear(whole).slope, linear(a).slope, atol=1e-12)


def test_a_model_without_some_rows_is_solved_without_them() -> None:
    """Its weights may be kept, but not the expert, which knows single rows."""
    plan = TableClassifier().plan(X, Y)
    whole, a = fitted(slice(None), plan), fitted(slice(0, HALF), plan)
    kept = whole.model_.family.solve(
        a.model_.statistics, a.model_.classes, 12, whole.model_.parameters.weighing
    )
    assert not np.allclose(kept.linear.slope, linear(whole).slope)
    untouched = linear(whole).origin
    assert kept.linear.origin != untouched


def test_labels_that_are_noise_are_not_learned() -> None:
    """Out-of-fold scores of an expert that had seen the rows would be far too good."""
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.normal(size=(80, 60))).rename(columns="x{}".format)
    y = rng.integers(0, 2, 80)
    model = TableClassifier().fit(noise, y)
    assert NAME in model.summary().experts
    assert model.weighing_.worth["log loss"] > 0.67
    fresh = pd.DataFrame(rng.normal(size=(400, 60))).rename(columns="x{}".format)
    assert log_loss(rng.integers(0, 2, 400), model.predict_proba(fresh)) < 0.75


def test_what_columns_say_together_is_counted_once() -> None:
    """Thirty columns share two factors that hide the class from each of them."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 900)
    hidden = 3 * rng.normal(size=(900, 2)) @ rng.normal(size=(2, 30))
    numbers = hidden + rng.normal(size=(900, 30)) + 0.5 * rng.normal(size=30) * y[:, None]
    rows = pd.DataFrame(numbers).rename(columns="x{}".format)
    model = TableClassifier().fit(rows[:150], y[:150])
    alone = TableClassifier(dependence=False).fit(rows[:150], y[:150])
    found, naive = (log_loss(y[150:], m.predict_proba(rows[150:])) for m in (model, alone))
    assert found < 0.6 * naive


def test_contributions_add_up_and_noise_says_little() -> None:
    rng = np.random.default_rng(2)
    model = TableClassifier().fit(X.assign(noise=rng.normal(size=ROWS)), Y)
    rows = X[:40].assign(noise=rng.normal(size=40))
    found = model.explain(rows)
    log_p = np.log(model.predict_proba(rows))
    total = found.contributions.sum(axis=1) + found.baseline
    assert_allclose(total - total[:, :1], log_p - log_p[:, :1], atol=1e-9)
    strength = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert strength["noise"] < 0.3 * strength["kind"]


@pytest.mark.parametrize("for_prediction", [False, True])
def test_files_keep_it(tmp_path: Path, for_prediction: bool) -> None:
    model = fitted(slice(None))
    model.save(tmp_path / "wide.genus", for_prediction=for_prediction)
    again = load(tmp_path / "wide.genus")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert linear(again).origin == linear(model).origin


@pytest.mark.parametrize("damage", ["slope", "share", "starts", "scale", "keys"])
def test_a_damaged_expert_is_refused(damage: str) -> None:
    model = fitted(slice(None))
    own = linear(model)
    tree = {**vars(own), "features": dict(vars(own.features))}
    part = tree if damage in tree else tree["features"]
    wrong: Array = np.array(part[damage], copy=True)
    if damage == "scale":
        wrong[0] = 0.0
    part[damage] = wrong if damage == "scale" else wrong[:-1]
    with pytest.raises(ValueError, match="its linear expert is invalid"):
        linear_from_tree(tree, 3)
    tree = {**vars(own), "features": dict(vars(own.features))}
    with pytest.raises(ValueError, match="does not match its 11 columns"):
        linear_from_tree(tree, 3).check(TableClassifier().plan(X.drop(columns="gap"), Y).plan_)
