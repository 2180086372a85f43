"""All experts at once say of rows what each of them says by itself, weighed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from genus import TableClassifier
from genus.table import Frame, plan
from genus.table.model import scorer
from genus.table.plan import hashed

Array = np.ndarray[Any, Any]
WORDS = np.array(["one", "two", "three", "four", "five", "six", "seven"], dtype=object)


def drawn(m: int, K: int, seed: int, kinds: str = "nct") -> tuple[pa.Table, Array]:
    """A table of numbers, categories and texts that tell the class, with holes in some of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, m)
    columns: dict[str, Any] = {}
    if "n" in kinds:
        columns["normal"] = rng.normal(y, 1)
        columns["skewed"] = np.exp(rng.normal(0.3 * y, 1))
        columns["count"] = rng.poisson(1 + y)
        columns["noise"] = rng.normal(1e6, 1, m)
        columns["rounded"] = rng.integers(0, 6, m) + y
        columns["holes"] = np.where(rng.random(m) < 0.2 + 0.1 * y, np.nan, columns["normal"] ** 2)
    if "c" in kinds:
        few, many = rng.integers(0, 3, m) + y, rng.integers(0, 90, m) + 20 * y
        columns["few"] = [None if v == 1 else f"value {v}" for v in few.tolist()]
        columns["many"] = [f"name {v}" for v in many.tolist()]
        columns["truth"] = rng.random(m) < 0.3 + 0.2 * (y > 0)
    if "t" in kinds:
        columns["text"] = [" ".join(rng.permutation(WORDS)[: 3 + k]) for k in y.tolist()]
    return pa.table({name: pa.array(v, from_pandas=True) for name, v in columns.items()}), y


def odd(table: pa.Table) -> pa.Table:
    """The table and rows with values of their own, one of which has the hash of another value."""
    known = {hashed(f"value {v}") for v in range(5)}
    taken = next(name for i in range(10**7) if hashed(name := f"other {i}") in known)
    values = {
        "normal": [1e100, -1e100, 0.0, None],
        "few": [taken, "unheard of", "value 0", None],
        "many": ["unheard of", "name 3", None, "name 3"],
        "count": [10**15, 0, -1, None],
    }
    rows = table.slice(0, 4)
    for name in set(values) & set(table.column_names):
        own = pa.array(values[name], table.schema.field(name).type)
        rows = rows.set_column(rows.column_names.index(name), name, own)
    return pa.concat_tables([table, rows])


def one_by_one(model: Any, X: Frame) -> Array:
    """log((1 - doubt) p(k|x) / p(k) + doubt) by the formula, from what `evidence` says."""
    family, p = model.family, model.parameters
    F = family.evidence(p, X)
    weights = np.array([p.weights.by_name.get(name, 0.0) for name in family.present(p)])
    said = log_softmax(F @ weights + p.constant, axis=1)
    said -= p.log_share
    return np.logaddexp(np.log1p(-p.weights.doubt) + said, np.log(max(p.weights.doubt, 1e-300)))


ASKED = {"normal": "gaussian", "skewed": "gamma", "count": "poisson", "rounded": "categorical"}


@pytest.mark.parametrize(
    ("kinds", "K", "options"),
    [
        ("nct", 2, {}),
        ("nc", 5, {}),
        ("n", 3, {"families": ASKED}),
        ("n", 2, {"families": {("normal", "holes"): "gaussian"}}),
        ("c", 3, {}),
        ("t", 3, {}),
        ("nct", 3, {"dependence": False}),
        ("nct", 3, {"sample_size": 0}),
    ],
)
@pytest.mark.parametrize("codes", [scorer.MOST_CODES, 6])
@pytest.mark.parametrize("slots", [plan.MOST_SLOTS, 20, 6], ids=["", "wide", "no pairs"])
def test_all_experts_at_once_say_what_they_say_one_by_one(
    kinds: str,
    K: int,
    options: dict[str, Any],
    codes: int,
    slots: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scorer, "MOST_CODES", codes)
    monkeypatch.setattr(plan, "MOST_SLOTS", slots)
    table, y = drawn(900, K, K, kinds)
    model = TableClassifier(**options).fit(table, y)
    X = Frame.of(odd(table), model.plan_)
    expected = one_by_one(model.model_, X)
    assert_allclose(model.model_.log_likelihood(X), expected, rtol=1e-9, atol=1e-9)
    p = model.predict_proba(table)
    likely = np.exp(expected[:900] + model.model_.log_prior)
    assert_allclose(p, likely / likely.sum(axis=1, keepdims=True), rtol=0, atol=1e-12)


def test_rows_are_scored_alike_one_by_one_and_many_at_a_time() -> None:
    table, y = drawn(9000, 2, 0, "nc")
    model = TableClassifier().fit(table.slice(0, 500), y[:500])
    p = model.predict_proba(table)
    for i in (0, 1, 4095, 4096, 8999):
        assert_allclose(model.predict_proba(table.slice(i, 1))[0], p[i], rtol=0, atol=1e-14)
