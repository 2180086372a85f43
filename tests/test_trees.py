"""Trees over the cells of a table: the kernel beside its twin, and what the expert is good for."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

import twins
from genus import TableClassifier, _kernel, cross_validate, from_bytes, load
from genus.persistence import files
from genus.persistence.trees import to_tree
from genus.table import Frame
from genus.table.model.boosting import BoostedTrees
from scope import at_night

FOLDS = 2


def table(seed: int, m: int, n: int, K: int) -> dict[str, Any]:
    """Rows of some columns, whose cells lie side by side."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    cells = (offsets[:-1, None] + rng.integers(0, sizes[:, None], (n, m))).astype(np.uint16)
    return {
        "cells": cells,
        "offsets": offsets,
        "y": rng.integers(0, K, m),
        "weight": rng.integers(0, 3, m).astype(float),
        "fold": np.arange(m) % FOLDS,
        "share": np.full(K, 1 / K),
        "keys": rng.integers(0, 2**63, n).astype(np.uint64),
        "asked": np.flatnonzero(np.arange(n) != rng.integers(1, 9)),
    }


@given(
    seed=st.integers(0, 999),
    m=st.integers(0, 40),
    n=st.integers(1, 5),
    K=st.integers(1, 7),
    questions=st.integers(1, 4),
    tried=st.integers(1, 4),
)
def test_trees_grow_and_score_as_their_twins_do(
    seed: int, m: int, n: int, K: int, questions: int, tried: int
) -> None:
    rows = table(seed, m, n, K)
    limits = named(3, 2, questions, tried, 0.2, 3.0)
    *trees, losses = _kernel.grow_trees(**rows, **limits, folds=FOLDS, threads=2)
    grown = []
    for f in range(FOLDS):
        own, lost = twins.boost_trees(rows, f, losses.shape[1], questions, tried)
        assert_allclose(losses[f], lost, rtol=1e-12)
        for t, tree in enumerate(own):
            names = "columns", "cuts", "values", "weights"
            got = {name: part[f, t] for name, part in zip(names, trees, strict=True)}
            assert_array_equal(got["columns"], tree["columns"])
            assert_array_equal(got["cuts"], tree["cuts"])
            assert_allclose(got["values"], tree["values"], atol=1e-12)
            assert_allclose(got["weights"], tree["weights"])
            grown.append(got)
    unknown = int(rows["offsets"][-1])
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((n, m)) < 0.2, unknown, rows["cells"]).astype(np.uint16)
    flat = [np.ascontiguousarray(a.reshape(-1, *a.shape[2:])) for a in trees]
    scores = _kernel.sum_trees(cells, *flat, unknown, 2)
    terms = _kernel.explain_trees(cells, *flat, unknown, 2)
    assert terms.shape == (n, m, K)

    def worth(row: Any, known: Any) -> Any:
        return np.sum([twins.of_tree(t, row, known) for t in grown], axis=0)

    for i, row in enumerate(cells.T[:4]):
        known = row < unknown
        assert_allclose(scores[i], worth(row, known), atol=1e-12)
        value = {
            some: worth(row, known & np.isin(np.arange(n), some))
            for size in range(n + 1)
            for some in itertools.combinations(range(n), size)
        }
        for j in range(n):
            expected = sum(
                (value[tuple(sorted((*some, j)))] - before) / (n * math.comb(n - 1, len(some)))
                for some, before in value.items()
                if j not in some
            )
            assert_allclose(terms[j, i], expected, atol=1e-12)


def named(
    rounds: int, patience: int, questions: int, tried: int, rate: float, ridge: float
) -> dict[str, Any]:
    """The limits of boosting, by name."""
    return dict(locals())


def test_boosting_ends_when_it_gains_nothing() -> None:
    rows = table(0, 400, 4, 2)  # the class is noise
    limits = named(200, 10, 4, 4, 0.2, 3.0)
    *trees, losses = _kernel.grow_trees(**rows, **limits, folds=FOLDS, threads=1)
    total = losses.sum(axis=0)
    assert len(total) < 60
    assert total.argmin() <= len(total) - 10
    assert {a.shape[1] for a in trees} == {len(total)}


def test_any_number_of_threads_grows_the_same_trees() -> None:
    rows = table(0, 3000, 8, 3)
    limits = named(5, 5, 6, 3, 0.2, 3.0) | {"folds": FOLDS}
    one, *others = [_kernel.grow_trees(**rows, **limits, threads=t) for t in (1, 2, 3)]
    for other in others:
        for a, b in zip(one, other, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.full(9, 5)}, "y must lie"),
        ({"cells": np.full((3, 9), 999, dtype=np.uint16)}, "cells must be below"),
        ({"offsets": np.array([0, 3, 2, 1])}, "must ascend"),
        ({"offsets": np.array([0, 3])}, "one more entry"),
        ({"fold": np.zeros(2, dtype=np.int64)}, "fold must have"),
        ({"keys": np.zeros(2, dtype=np.uint64)}, "keys must have"),
        ({"asked": np.array([3])}, "must be columns"),
        ({"rounds": 0}, "rounds and columns"),
        ({"questions": 9}, "1 to 8 questions"),
        ({"rounds": 1 << 40}, "fewer rows and rounds"),
        ({"ridge": 0.0}, "must be positive"),
    ],
)
def test_rows_that_make_no_sense_are_refused(change: dict[str, Any], message: str) -> None:
    limits = named(2, 2, 4, 2, 0.2, 3.0) | {"folds": FOLDS, "threads": 1}
    with pytest.raises(ValueError, match=message):
        _kernel.grow_trees(**{**table(1, 9, 3, 2), **limits, **change})


@pytest.mark.parametrize(
    ("place", "change"),
    [
        (0, np.full((1, 2), 9)),
        (0, np.zeros((1, 9))),
        (1, np.zeros((2, 2))),
        (2, np.zeros((1, 3, 2))),
        (3, np.zeros((2, 4))),
    ],
)
def test_questions_that_make_no_tree_are_refused(place: int, change: Any) -> None:
    cells = np.zeros((2, 4), dtype=np.uint16)
    trees: list[Any] = [np.zeros((1, 2), dtype=np.uint16), np.zeros((1, 2), dtype=np.uint16)]
    trees += [np.full((1, 4, 2), 0.5), np.ones((1, 4))]
    assert_allclose(_kernel.sum_trees(cells, *trees, 2, 1), 0.5)
    trees[place] = change.astype(trees[place].dtype)
    for function in (_kernel.sum_trees, _kernel.explain_trees):
        with pytest.raises(ValueError, match="tree"):
            function(cells, *trees, 2, 1)


def parity(m: int, columns: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """The class is whether an odd number of the first three columns hold "b", mostly."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (m, columns))
    y = np.where(rng.random(m) < 0.95, X[:, :3].sum(axis=1) % 2, rng.integers(0, 2, m))
    names = [f"c{j}" for j in range(columns)]
    return pd.DataFrame(np.array(["a", "b"])[X], columns=names), y


def test_what_only_three_columns_tell_together_is_found() -> None:
    X, y = parity(2000, 5)
    model, other = TableClassifier().fit(X, y), parity(500, 5, 1)
    assert model.score(*other) > 0.95
    told = np.abs(model.explain(other[0][:50]).log_odds(0, 1)[:, :5])
    assert told[:, :3].min() > 0.4  # of about 3.7 in all
    assert told[:, 3:].mean() < 0.2


def noise(m: int) -> tuple[pd.DataFrame, Any]:
    """Numbers and a category that say nothing of the class."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(m, 3)), columns=["a", "b", "c"])
    return X.assign(d=rng.choice(["x", "y", "z"], m)), rng.integers(0, 2, m)


@pytest.mark.parametrize("folds", at_night([5, "loo"], 5))
def test_trees_of_the_rest_judge_a_row_that_is_left_out(folds: Any) -> None:
    """Weights of all rows may be kept, but trees that have seen a row know its class."""
    X, y = noise(120)
    model = TableClassifier().fit(X, y)
    weighing = model.weighing_
    assert weighing.trees is not None
    bold = replace(weighing.weights, experts=np.array(weighing.weights.experts))
    bold.experts[bold.names.index("boosted trees")] = 1.0
    chosen = replace(weighing, weights=bold)
    seen = replace(model.model_, chosen=chosen).posterior(
        Frame.of(pa.Table.from_pandas(X), model.plan_)
    )
    assert np.mean(seen.argmax(axis=1) == y) > 0.75
    if folds == "loo":
        kept = replace(model.model_, chosen=chosen)
        p = kept.leave_one_out(Frame.of(pa.Table.from_pandas(X), model.plan_), y, None)
    else:
        p = cross_validate(clone(model), X, y, folds, chosen=chosen).probabilities
    assert np.mean(p.argmax(axis=1) == y) < 0.65


def test_the_rows_of_other_folds_decide_how_many_trees_a_fold_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fold's own rows are scored by these trees, so they must not choose their number."""

    def grow(*given: Any) -> tuple[Any, ...]:
        *trees, losses = _kernel.grow_trees(*given)
        rounds = np.arange(float(losses.shape[1]))
        return *trees, np.stack([rounds, -rounds])  # only the rows of fold 1 gain

    monkeypatch.setattr("genus.table.model.boosting.grow_trees", grow)
    rows = table(3, 60, 3, 2)
    some = {"cells": rows["cells"], "starts": rows["offsets"], "names": ["a", "b", "c"]}
    some |= {name: rows[name] for name in ("y", "weight", "fold")}
    trees = BoostedTrees.grown(**some, classes=2, folds=FOLDS, origin="")
    of_first, of_second = np.diff(trees.starts)
    assert of_first > 1
    assert of_second == 1


def test_a_file_has_the_trees(tmp_path: Any) -> None:
    X, y = parity(300, 4)
    model = TableClassifier().fit(X, y)
    model.save(tmp_path / "model.genus")
    again: Any = load(tmp_path / "model.genus")
    trees = model.weighing_.trees
    assert trees is not None
    assert_array_equal(again.weighing_.trees.values, trees.values)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("seen", lambda a: a[:3]),
        ("seen", lambda a: np.append(a, a)),
        ("seen", lambda a: a.astype(np.int64)),
        ("columns", lambda a: a + 99),
        ("columns", lambda a: a.astype(float)),
        ("cuts", lambda a: a[:, :3]),
        ("same", lambda a: a[:2]),
        ("same", lambda a: a + 9),
        ("starts", lambda a: a - 5),
        ("starts", lambda a: a[:0]),
        ("starts", lambda a: a[:-1]),
        ("values", lambda a: a * np.nan),
        ("weights", lambda a: a - 1e6),
        ("weights", lambda a: a[:, None]),
        ("origin", lambda _: 0),
    ],
)
def test_trees_that_make_no_sense_are_said_to_be_damaged(name: str, change: Any) -> None:
    X, y = parity(60, 4)
    tree = to_tree(TableClassifier().fit(X, y))
    trees = tree["weighing"]["trees"]
    trees[name] = change(trees[name])
    with pytest.raises(ValueError, match="damaged"):
        from_bytes(files.to_bytes(tree)).predict_proba(X)


def test_a_cell_that_was_never_seen_is_summed_out() -> None:
    rows = table(3, 60, 3, 2)
    some = {"cells": rows["cells"], "starts": rows["offsets"], "names": ["a", "b", "c"]}
    some |= {name: rows[name] for name in ("y", "weight", "fold")}
    trees = BoostedTrees.grown(**some, classes=2, folds=FOLDS, origin="")
    unknown = np.full((3, 1), int(rows["offsets"][-1]), dtype=np.uint16)
    assert_allclose(trees.score(unknown), 0, atol=1e-12)
    assert_allclose(trees.contributions(rows["cells"]).sum(axis=0), trees.score(rows["cells"]))
    blind = trees.without(np.arange(len(trees.seen)))
    assert_allclose(blind.score(rows["cells"]), 0, atol=1e-12)


def test_a_file_with_other_trees_learns_its_weights_again() -> None:
    """Files of version 4 have a forest; they were written after fitting the same rows."""
    X, y = parity(80, 4)
    folder = Path(__file__).parent / "version4"
    old: Any = load(folder / "table.genus")
    assert_allclose(old.predict_proba(X), TableClassifier().fit(X, y).predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="saved for prediction only"):
        load(folder / "for-prediction.genus").predict_proba(X)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_rows_of_any_weight_have_the_same_contributions(scale: float) -> None:
    X, y = load_iris(return_X_y=True)
    heavy, most = (
        TableClassifier().fit(X, y, sample_weight=np.full(len(y), s)) for s in (scale, 2 * scale)
    )
    assert np.isfinite(heavy.predict_proba(X)).all()
    of_heavy, of_most = (model.explain(X[:9]).contributions for model in (heavy, most))
    assert np.isfinite(of_heavy).all()
    assert_allclose(of_heavy, of_most, atol=1e-9)
