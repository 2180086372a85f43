"""Tables of many columns: only the best are solved in full, and the laws and answers stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss

from genus import TableClassifier
from genus.statistics import Moments
from genus.table.model import screening

RNG = np.random.default_rng(5)
ROWS, NOISE, FULL = 240, 12, 6
Y = RNG.integers(0, 3, ROWS)
X = pd.DataFrame({f"n{j}": RNG.normal(size=ROWS) for j in range(NOISE)})
X["shift"] = RNG.normal(1.5 * Y)
X["width"] = RNG.normal(size=ROWS) * (1 + 3 * (Y == 2))
X["kind"] = np.where(RNG.random(ROWS) < 0.2 + 0.3 * Y, "wild", "tame")
X["gap"] = np.where(RNG.random(ROWS) < 0.35 * Y, np.nan, RNG.normal(size=ROWS))
X["same"] = 1.0
TELLING = {"shift", "width", "kind", "gap"}
HALF = ROWS // 2


@pytest.fixture(autouse=True)
def few_columns_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a table of sixteen columns be a wide one, so that the tests are fast."""
    monkeypatch.setattr(screening, "FEWEST", FULL)
    monkeypatch.setattr(screening, "ROWS", 10**9)


@pytest.fixture(scope="module")
def plan() -> Any:
    return TableClassifier().plan(X, Y)


def fitted(rows: slice, plan: Any) -> Any:
    return TableClassifier().fit(X[rows], Y[rows], like=plan)


def test_few_columns_are_solved_in_full_and_the_telling_ones_among_them(plan: Any) -> None:
    model = fitted(slice(0, ROWS), plan)
    marginals = dict(
        zip([c.name for c in model.plan_.used], model.model_.parameters.marginals, strict=True)
    )
    full = {name for name, marginal in marginals.items() if marginal.counted is None}
    assert len(full) == FULL
    assert full >= TELLING
    simple = {name for name, m in marginals.items() if m.family == "shares"}
    assert all(marginals[name].spread is not None for name in marginals)
    best = {c.name for c in model.summary().columns[: len(TELLING)]}
    assert best == TELLING
    assert not simple & TELLING


def test_rows_merge_and_are_forgotten(plan: Any) -> None:
    whole = fitted(slice(0, ROWS), plan)
    a, b = fitted(slice(0, HALF), plan), fitted(slice(HALF, ROWS), plan)
    for merged in (a + b, b + a):
        assert_allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    whole.forget(X[HALF:], Y[HALF:])
    assert_allclose(whole.predict_proba(X), a.predict_proba(X), atol=1e-10)


def test_answers_are_as_good_as_if_all_columns_were_solved(
    plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, test = slice(0, 180), slice(180, ROWS)
    simple = fitted(train, plan)
    found = log_loss(Y[test], simple.predict_proba(X[test]))
    monkeypatch.setattr(screening, "FEWEST", 10**9)
    full = fitted(train, plan)
    assert found < 1.05 * log_loss(Y[test], full.predict_proba(X[test]))
    assert found < 0.8 * np.log(3)


def test_numbers_and_categories_keep_simple_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "FEWEST", 1)
    names = ["shift", "width", "kind", "gap", "same"]
    model = TableClassifier().fit(X[names], Y)
    families = {c.name: c.family for c in model.summary().columns}
    assert families["shift"] != "shares"  # the best
    assert {families["width"], families["kind"]} == {"shares"}
    odd = X[names].copy()
    odd.loc[::2, "kind"] = "unheard of"
    odd.loc[::3, "shift"] = 1e9
    proba = model.predict_proba(odd)
    assert_allclose(proba.sum(axis=1), 1)
    terms = model.explain(odd[:5])
    assert np.isfinite(terms.contributions).all()
    drawn, _ = model.sample(20, random_state=0)
    assert len(drawn) == 20


def test_columns_whose_family_is_asked_for_are_always_solved() -> None:
    model = TableClassifier(families={"n3": "gaussian"}).fit(X, Y)
    (own,) = (c for c in model.summary().columns if c.name == "n3")
    assert own.family == "gaussian"


def test_sums_of_no_rows_take_no_square_of_the_columns() -> None:
    """300,000 columns squared would take 1.4 TB."""
    none = Moments.zero("diagonal").align(np.array(["a", "b"]), 300_000)
    assert none.sums.shape == none.squares.shape == (2, 300_000)


def test_one_column_of_many_is_taken_without_the_others() -> None:
    some = Moments.zero("diagonal").align(np.array(["a"]), 3)
    some = replace(some, weights=np.array([[2.0, 3.0, 5.0]]))
    assert some.of_columns(np.array([2, -1, 0])).weights.tolist() == [[5.0, 0.0, 2.0]]
