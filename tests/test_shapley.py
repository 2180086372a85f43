"""What columns add to the log-odds of a table: that it adds up, is fair, and small where it is."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.table_accuracy import SETS, read
from numpy.testing import assert_allclose, assert_array_equal

from genus import TableClassifier
from genus.table import Frame, open_table
from genus.table.model import orders as columns_in_order
from genus.table.model import shapley
from genus.table.model.orders import orders
from genus.table.model.submodels import Submodels
from scope import at_night


def loans(rows: int = 600, seed: int = 0) -> pd.DataFrame:
    """Numbers, categories and holes; `kind` and `noise` say nothing, `twice` repeats `income`."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(4.0, 900.0, rows)
    debt = rng.gamma(2.0, 400.0, rows)
    grade = rng.choice(list("ABC"), rows)
    odds = 3.0 * (debt / income - 0.25) + (grade == "C") - 1.2 * (grade == "A") * (debt > 700)
    return pd.DataFrame(
        {
            "income": income,
            "twice": income,
            "debt": np.where(rng.random(rows) < 0.1, np.nan, debt),
            "grade": grade,
            "noise": rng.normal(size=rows),
            "kind": rng.choice(["individual", "joint"], rows, p=[0.95, 0.05]),
            "paid": np.where(rng.random(rows) < 1 / (1 + np.exp(2 * odds)), "yes", "no"),
        }
    )


LOANS = loans()
MODEL = TableClassifier().fit(LOANS, target="paid")
ROWS = LOANS.drop(columns="paid")[:50]


def frame_of(model: TableClassifier, rows: Any) -> Frame:
    return Frame.of(open_table(rows).table(), model.plan_)


def submodels(model: TableClassifier) -> Submodels:
    return model.model_.parameters.shapley.models


VARIANTS = {
    "all experts": TableClassifier(),
    "without pairs": TableClassifier(dependence=False),
    "a product": TableClassifier(calibrate=False),
    "a tree": TableClassifier(calibrate=False, dependence="tree"),
    "two together": TableClassifier({("income", "debt"): "gaussian"}),
    "no sample": TableClassifier(sample_size=0),
    "other priors": TableClassifier(priors={"no": 0.8, "yes": 0.2}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_contributions_add_up_to_the_log_odds_over_the_shares_of_classes(name: str) -> None:
    model = VARIANTS[name].fit(LOANS, target="paid")
    told = model.explain(ROWS)
    assert_allclose(told.joint, model.predict_log_proba(ROWS), atol=1e-9)
    total = told.log_odds("yes", "no").sum(axis=1)
    assert_allclose(total, np.diff(model.predict_log_proba(ROWS))[:, 0], atol=1e-9)
    assert_allclose(told.baseline, np.tile(model.model_.log_prior, (50, 1)), atol=1e-12)
    assert_allclose(told.contributions.sum(axis=2), 0, atol=1e-9)
    assert told.error.shape == told.contributions.shape
    assert (model.feature_importances_ >= 0).all()


def test_a_row_is_explained_the_same_whichever_rows_are_beside_it() -> None:
    together = MODEL.explain(ROWS).contributions
    for i in (0, 7, 49):
        assert_allclose(MODEL.explain(ROWS[i : i + 1]).contributions[0], together[i], atol=1e-9)


def test_rows_are_explained_in_chunks_and_orders_in_parts(monkeypatch: Any) -> None:
    whole = MODEL.explain(ROWS)
    monkeypatch.setattr(shapley, "CHUNK", 7 * submodels(MODEL).cost)
    monkeypatch.setattr(shapley, "ROUTE_BYTES", 1)
    parts = MODEL.explain(ROWS)
    assert_allclose(parts.contributions, whole.contributions, atol=1e-9)
    assert_allclose(parts.error, whole.error, atol=1e-7)


def test_the_last_submodel_is_the_model_and_the_first_says_nothing() -> None:
    X, parameters, models = frame_of(MODEL, ROWS), MODEL.model_.parameters, submodels(MODEL)
    constants = parameters.shapley.constants
    assert_allclose(constants.sum(axis=0), models.offset)
    rng = np.random.default_rng(0)
    for _ in range(3):
        route = models.route(rng.permutation(len(parameters.marginals)))
        found = models.scores(models.read(X), route, constants)
        assert_allclose(found[0], 0, atol=1e-12)
        assert_allclose(found[-1], MODEL.model_.log_likelihood(X), atol=1e-7)


def test_a_submodel_is_the_model_of_a_table_with_fewer_columns() -> None:
    """Experts of some columns are those that are solved from the counts of these columns."""
    few = ["income", "grade", "noise"]
    less = TableClassifier().plan(LOANS[[*few, "paid"]], target="paid")
    less.fit(LOANS[[*few, "paid"]], target="paid")
    whole, own = MODEL.model_.parameters, less.model_.parameters
    assert [c.edges for c in own.plan.used] == [
        c.edges for c in whole.plan.used if c.name in few
    ], "the test needs the same cells"
    order = np.array([c.name in few for c in whole.plan.used]).nonzero()[0]
    route = submodels(MODEL).route(order)
    rows = submodels(MODEL).read(frame_of(MODEL, ROWS))
    cells = own.slots.place(frame_of(less, ROWS))
    for i, at in enumerate((2, 3)):  # linear and linear by bins; then curved
        found = route.experts[i].scores(rows.features[i])
        for kind, place in ((0, at), (1, at + 2)):
            expected = own.experts.listed[place].expert.score(cells)
            got = found[-1, :, kind]
            assert_allclose(np.diff(got), np.diff(expected), atol=1e-6)


def test_few_columns_have_exact_shapley_values() -> None:
    some = ["income", "debt", "grade", "kind"]
    model = TableClassifier().fit(LOANS[[*some, "paid"]], target="paid")
    told = model.explain(ROWS)
    models, constants = submodels(model), model.model_.parameters.shapley.constants
    rows = models.read(frame_of(model, ROWS))
    value: dict[frozenset[int], Any] = {}
    for order in permutations(range(4)):
        for i, score in enumerate(models.scores(rows, models.route(np.array(order)), constants)):
            value.setdefault(frozenset(order[:i]), score)
            assert_allclose(value[frozenset(order[:i])], score, atol=1e-7)  # in whichever order
    for j in range(4):
        expected = np.zeros((50, 2))
        for order in permutations(range(4)):
            before = frozenset(order[: order.index(j)])
            expected += (value[before | {j}] - value[before]) / 24
        expected -= expected.mean(axis=1, keepdims=True)
        assert_allclose(told.contributions[:, j], expected, atol=1e-7)
    assert_array_equal(told.error, 0)


def test_the_error_is_that_of_the_orders_that_were_tried(monkeypatch: Any) -> None:
    told = MODEL.explain(ROWS)
    monkeypatch.setattr(columns_in_order, "SEED", 1)
    monkeypatch.setattr(shapley, "FEWEST", 60)
    monkeypatch.setattr(shapley, "MOST", 60)
    again = TableClassifier().fit(LOANS, target="paid").explain(ROWS)
    gap = told.contributions - again.contributions
    expected = np.sqrt((told.error**2 + again.error**2).mean())
    assert np.sqrt((gap**2).mean()) < 2 * expected
    assert np.median(told.error.max(axis=(1, 2))) < 2 * shapley.TARGET


def test_orders_come_with_their_reverse_and_few_columns_have_all() -> None:
    assert len(orders(4, 9)[0]) == 24
    assert orders(1, 3)[0][0].tolist() == [0]
    for quartet in orders(9, 3):
        first, back, second, again = (order.tolist() for order in quartet)
        assert sorted(first) == sorted(second) == list(range(9))
        assert back == first[::-1]
        assert again == second[::-1]


def test_a_column_that_says_nothing_of_the_class_adds_about_nothing() -> None:
    told = TableClassifier().fit(loans(4000), target="paid").explain(loans(400, 1))
    by_column = dict(zip(told.features, np.abs(told.log_odds("yes", "no"))[:, :-1].T, strict=True))
    assert by_column["kind"].mean() < 0.05
    assert by_column["noise"].mean() < 0.06
    assert by_column["debt"].mean() > 0.25


def test_columns_that_say_the_same_share_it() -> None:
    once = TableClassifier().fit(loans(3000).drop(columns="twice"), target="paid")
    twice = TableClassifier().fit(loans(3000), target="paid")
    alone = once.explain(ROWS).log_odds("yes", "no")[:, 0]
    told = twice.explain(ROWS).log_odds("yes", "no")
    assert_allclose(told[:, 0], told[:, 1], atol=0.12)
    both = told[:, 0] + told[:, 1]
    assert np.corrcoef(both, alone)[0, 1] > 0.97
    assert np.abs(both - alone).mean() < 0.25 * np.abs(alone).mean() + 0.05


def test_columns_that_speak_only_together_share_that() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (2000, 3))
    y = np.where(rng.random(2000) < 0.95, X[:, 0] ^ X[:, 1], rng.integers(0, 2, 2000))
    frame = pd.DataFrame(X.astype(str), columns=["a", "b", "c"])
    model = TableClassifier().fit(frame, y)
    told = np.abs(model.explain(frame[:40]).log_odds(0, 1)[:, :3])
    assert told[:, :2].min() > 0.5
    assert_allclose(told[:, 0], told[:, 1], atol=0.3)
    assert told[:, 2].max() < 0.2


def test_what_is_missing_and_says_nothing_adds_about_nothing() -> None:
    frame = loans(3000)
    model = TableClassifier().fit(frame, target="paid")
    told = model.explain(frame[:500])
    j = told.features.index("debt")
    missing = np.array([value is None for value in told.values[:, j]])
    odds = np.abs(told.log_odds("yes", "no")[:, j])
    assert missing.sum() > 20
    assert odds[missing].mean() < 0.25 * odds[~missing].mean()
    first = int(np.flatnonzero(missing)[0])
    assert "debt = missing" in told.describe(first)


@pytest.mark.parametrize("name", at_night(SETS, "car", "vote", "penguins"))
def test_contributions_are_no_larger_than_the_log_odds_are(name: str, data_folder: Path) -> None:
    table = read(data_folder, name)
    model = TableClassifier().fit(table.X, table.y)
    rows = table.X.sample(min(200, len(table.X)), random_state=0)
    told, p = model.explain(rows), model.predict_log_proba(rows)
    assert_allclose(told.joint, p, atol=1e-7)
    order, at = np.argsort(-p, axis=1), np.arange(len(rows))
    first, second = order[:, 0], order[:, 1]
    odds = p[at, first] - p[at, second]
    terms = told.contributions[at, :, first] - told.contributions[at, :, second]
    largest = np.abs(terms).max(axis=1)
    assert np.median(largest) <= odds.max()
    assert (largest > 10).mean() < 0.05


# Importance


def test_importance_is_of_the_model_and_obeys_the_laws() -> None:
    frame = loans(900)
    empty = TableClassifier().plan(frame, target="paid")
    whole, a, b = (
        TableClassifier().fit(part, target="paid", like=empty)
        for part in (frame, frame[:300], frame[300:])
    )
    for merged in (a + b, b + a):
        assert_array_equal(merged.feature_importances_, whole.feature_importances_)
    order = np.argsort(-whole.feature_importances_)
    assert set(whole.feature_names_in_[order[-2:]]) == {"noise", "kind"}
    told = whole.explain(frame)
    mean = np.abs(told.log_odds("yes", "no")[:, :-1]).mean(axis=0)
    assert_allclose(whole.feature_importances_, mean, rtol=0.25, atol=0.02)
    rest = whole.forget(frame[300:])
    assert_allclose(rest.feature_importances_, a.feature_importances_, rtol=1e-9)


# Curves and maps


def test_a_curve_has_the_mean_of_contributions_by_value() -> None:
    found = MODEL.dependence_on("grade")
    assert set(found.values) == {"A", "B", "C"}
    assert found.share.sum() == pytest.approx(1.0)
    told = MODEL.explain(LOANS).log_odds("yes", "no")[:, 3]
    for value, mean in zip(found.values, found.log_odds("yes").mean, strict=True):
        own = told[LOANS["grade"] == value]
        assert mean == pytest.approx(own.mean(), abs=0.05)
    turned = found.log_odds("no", "yes").mean
    assert_allclose(turned, -found.log_odds().mean)
    assert "grade: log-odds of yes against no" in str(found)
    assert repr(found) == "Dependence('grade', steps=3, rows=600)"


def test_a_curve_of_numbers_has_runs_of_values_and_what_is_missing() -> None:
    found = MODEL.dependence_on("debt")
    assert found.values[-1] == "missing"
    assert len(found.values) == 17
    x, curve = found.steps.x[:-1], found.log_odds("yes")
    assert (np.diff(x) > 0).all()
    assert curve.mean[0] > 0.1 > -0.3 > curve.mean[-2]  # more debt, less paid
    assert (curve.low <= curve.mean + 1e-9).all()
    assert (curve.mean <= curve.high + 1e-9).all()
    assert abs(curve.mean[-1]) < 0.3


def test_a_map_shows_what_two_columns_do_together() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (3000, 2)).astype(str), columns=["a", "b"])
    frame["c"] = rng.normal(size=3000)
    y = np.where(rng.random(3000) < 0.9, frame["a"] == frame["b"], rng.random(3000) < 0.5)
    model = TableClassifier().fit(frame, np.where(y, "same", "other"))
    found = model.dependence_on("a", "b")
    odds = found.log_odds("same")
    assert odds.shape == (2, 2)
    same = np.array([[a == b for b in found.second.values] for a in found.first.values])
    assert (odds[same] > 1.5).all()
    assert (odds[~same] < -1.5).all()
    assert_allclose(found.interaction("same"), odds, atol=0.4)
    assert np.abs(model.dependence_on("a").log_odds().mean).max() < 0.3
    assert np.abs(model.dependence_on("a", "c").interaction()).max() < 1.0
    assert found.share.sum() == pytest.approx(1.0)
    assert "a by b: log-odds of same against other" in str(found)
    assert repr(found) == "PairDependence('a', 'b', cells=2x2)"


def test_curves_of_many_classes_dates_rare_values_and_cells_without_rows() -> None:
    rng = np.random.default_rng(1)
    day = rng.integers(0, 900, 400)
    frame = pd.DataFrame(
        {
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(day, "D"),
            "gain": np.where(rng.random(400) < 0.95, 0.0, rng.gamma(2.0, 100.0, 400)),
            "city": rng.choice([f"c{i}" for i in range(30)], 400),
            "half": np.where(day < 450, "first", "second"),
        }
    )
    y = np.digitize(day, [300, 600])
    model = TableClassifier().fit(frame, y)
    since = model.dependence_on("since")
    assert since.values[0].startswith("2024-01-0")
    assert "of each class against the mean of the others" in str(since)
    first, last = since.log_odds(0).mean, since.log_odds(2).mean
    assert first[0] > 1 > -0.4 > first[-1]
    assert last[-1] > 1 > -0.5 > last[0]
    assert model.dependence_on("gain").values[0] == "0"
    assert len(model.dependence_on("city").values) == 16
    assert "(others)" in model.dependence_on("city").values
    both = model.dependence_on("since", "half")
    assert np.isnan(both.log_odds(0)).any()
    assert (both.share[np.isnan(both.log_odds(0))] == 0).all()
    assert "nan" not in str(both)


def test_curves_of_what_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"uses no column 'wage'\. It uses 'income'"):
        MODEL.dependence_on("wage")
    with pytest.raises(ValueError, match="compared with itself"):
        MODEL.dependence_on("income", "income")
    with pytest.raises(ValueError, match="'maybe' is not one of the classes"):
        MODEL.dependence_on("income").log_odds("maybe")
    with pytest.raises(ValueError, match="compared with itself"):
        MODEL.dependence_on("income").log_odds("yes", "yes")
    texts = pd.DataFrame({"note": [f"a b c {i} {i % 7}" for i in range(60)], "x": range(60)})
    model = TableClassifier({"note": "text"}).fit(texts, [0, 1] * 30)
    with pytest.raises(ValueError, match="'note' holds texts"):
        model.dependence_on("note")
