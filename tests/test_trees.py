"""Trees over the cells of a table: the kernel beside its twin, and what the expert is good for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import twins
from genus import TableClassifier, _kernel, cross_validate, from_bytes, load
from genus.persistence import files
from genus.persistence.trees import to_tree
from genus.table import Frame
from genus.table.model.forest import Forest

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
    }


@given(
    seed=st.integers(0, 999),
    m=st.integers(0, 40),
    n=st.integers(1, 5),
    K=st.integers(1, 4),
    leaves=st.integers(1, 9),
    tried=st.integers(1, 4),
)
def test_trees_grow_and_speak_as_their_twins_do(
    seed: int, m: int, n: int, K: int, leaves: int, tried: int
) -> None:
    rows = table(seed, m, n, K)
    trees = _kernel.grow_trees(**rows, folds=FOLDS, trees=2, leaves=leaves, tried=tried, threads=2)
    nodes, share, values, starts = trees
    assert len(starts) == 2 * FOLDS + 1
    grown = []
    for t in range(2 * FOLDS):
        weight = np.where(rows["fold"] == t // 2, 0.0, rows["weight"])
        own = {name: rows[name] for name in ("cells", "y", "share", "keys")}
        tree = twins.grow_tree(weight=weight, limits=(leaves, tried), number=t, **own)
        grown.append(tree)
        found = nodes[starts[t] : starts[t + 1]]
        assert len(found) == len(tree)
        for (column, cut, child), one, node in zip(found, share[starts[t] :], tree, strict=False):
            if child < 0:
                assert node["child"] < 0
                assert_allclose(values[-1 - child], node["p"], rtol=1e-12)
            else:
                got = column, cut, child - starts[t]
                assert got == (node["column"], node["cut"], node["child"])
                assert_allclose(one, node["share"])
    unknown = int(rows["offsets"][-1])
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((n, m)) < 0.2, unknown, rows["cells"]).astype(np.uint16)
    said = _kernel.average_trees(cells, *trees, unknown, 2)
    for row, p in zip(cells.T, said, strict=True):
        assert_allclose(p, np.mean([twins.of_tree(t, row, row < unknown) for t in grown], axis=0))
    rank = rng.permutation(n)
    steps = _kernel.average_trees_in_order(cells, *trees, unknown, rank, n, 0.0, 2)
    assert_allclose(steps[-1], said, rtol=1e-12)
    for s, at in enumerate(steps):
        for row, p in zip(cells.T, at, strict=True):
            known = (row < unknown) & (rank <= s)
            assert_allclose(p, np.mean([twins.of_tree(t, row, known) for t in grown], axis=0))
    faint = _kernel.average_trees_in_order(cells, *trees, unknown, rank, n, 0.3, 2)
    assert_allclose(faint[-1], said, rtol=1e-12)  # all that is known is exact
    assert_allclose(faint.sum(axis=2), 1)


def test_any_number_of_threads_grows_the_same_trees() -> None:
    rows = table(0, 3000, 8, 3)
    limits: dict[str, Any] = {"folds": FOLDS, "trees": 5, "leaves": 64, "tried": 3}
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
        ({"leaves": 0}, "leaves, trees and columns"),
        ({"trees": 1 << 40}, "fewer leaves"),
    ],
)
def test_rows_that_make_no_sense_are_refused(change: dict[str, Any], message: str) -> None:
    limits: dict[str, Any] = {"folds": FOLDS, "trees": 2, "leaves": 4, "tried": 2, "threads": 1}
    with pytest.raises(ValueError, match=message):
        _kernel.grow_trees(**{**table(1, 9, 3, 2), **limits, **change})


@pytest.mark.parametrize(
    ("node", "change"), [(0, (9, 1, 1)), (0, (0, 1, 0)), (0, (0, 1, 99)), (1, (0, 0, -99))]
)
def test_nodes_that_make_no_tree_are_refused(node: int, change: tuple[int, int, int]) -> None:
    cells = np.zeros((2, 4), dtype=np.uint16)
    nodes = np.array([[0, 1, 1], [0, 0, -1], [0, 0, -2]], dtype=np.int32)
    rest = np.full(3, 0.5), np.full((2, 2), 0.5), np.array([0, 3]), 2, 1
    assert_allclose(_kernel.average_trees(cells, nodes, *rest), 0.5)
    nodes[node] = change
    with pytest.raises(ValueError, match="children follow"):
        _kernel.average_trees(cells, nodes, *rest)


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


@pytest.mark.parametrize("folds", [5, "loo"])
def test_trees_of_the_rest_judge_a_row_that_is_left_out(folds: Any) -> None:
    """Weights of all rows may be kept, but trees that have seen a row know its class."""
    X, y = noise(120)
    model = TableClassifier().fit(X, y)
    weighing = model.weighing_
    assert weighing.forest is not None
    bold = replace(weighing.weights, experts=np.array(weighing.weights.experts))
    bold.experts[bold.names.index("trees")] = 1.0
    chosen = replace(weighing, weights=bold)
    seen = replace(model.model_, chosen=chosen).posterior(
        Frame.of(pa.Table.from_pandas(X), model.plan_)
    )
    assert np.mean(seen.argmax(axis=1) == y) > 0.9
    if folds == "loo":
        kept = replace(model.model_, chosen=chosen)
        p = kept.leave_one_out(Frame.of(pa.Table.from_pandas(X), model.plan_), y, None)
    else:
        p = cross_validate(clone(model), X, y, folds, chosen=chosen).probabilities
    assert np.mean(p.argmax(axis=1) == y) < 0.65


def test_a_file_has_the_trees(tmp_path: Any) -> None:
    X, y = parity(300, 4)
    model = TableClassifier().fit(X, y)
    model.save(tmp_path / "model.genus")
    again: Any = load(tmp_path / "model.genus")
    forest = model.weighing_.forest
    assert forest is not None
    assert_array_equal(again.weighing_.forest.nodes, forest.nodes)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("seen", lambda a: a[:3]),
        ("seen", lambda a: np.append(a, a)),
        ("seen", lambda a: a.astype(np.int64)),
        ("nodes", lambda a: np.where(np.arange(3) == 0, 99, a).astype(np.int32)),
        ("nodes", lambda a: a.astype(float)),
        ("starts", lambda a: a - 5),
        ("starts", lambda a: a[:0]),
        ("values", lambda a: a * np.nan),
        ("share", lambda a: a[:, None]),
        ("folds", lambda _: 0),
    ],
)
def test_trees_that_make_no_sense_are_said_to_be_damaged(name: str, change: Any) -> None:
    X, y = parity(60, 4)
    tree = to_tree(TableClassifier().fit(X, y))
    forest = tree["weighing"]["forest"]
    forest[name] = change(forest[name])
    with pytest.raises(ValueError, match="damaged"):
        from_bytes(files.to_bytes(tree)).predict_proba(X)


def test_a_cell_that_was_never_seen_is_summed_out() -> None:
    rows = table(3, 60, 3, 2)
    some = {"cells": rows["cells"], "starts": rows["offsets"], "names": ["a", "b", "c"]}
    some |= {name: rows[name] for name in ("y", "weight", "fold")}
    forest = Forest.grown(**some, classes=2, folds=FOLDS, origin="")
    unknown = np.full((3, 1), int(rows["offsets"][-1]), dtype=np.uint16)
    assert_allclose(forest.score(unknown), 0, atol=1e-12)
    blind = forest.without(np.arange(len(forest.seen)))
    assert_allclose(blind.score(rows["cells"]), 0, atol=1e-12)
