"""`TAN` and `AODE` against a few lines of plain Python, and how they show and refuse things."""

from __future__ import annotations

import sys
from itertools import product
from math import log

import networkx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

import genus
from cases import refused
from genus import AODE, TAN, CategoricalNB, Discretizer, GaussianNB, cross_validate
from genus.families.tan import spanning_tree
from genus.plots import TreeDisplay

rng = np.random.default_rng(11)
Y = rng.integers(3, size=200)
A = (Y + rng.integers(2, size=200)) % 4
B = np.where(rng.random(200) < 0.7, A, rng.integers(4, size=200))
C = np.where(rng.random(200) < 0.8, (B + Y) % 3, rng.integers(3, size=200))
D = rng.integers(2, size=200)
X = np.column_stack([C, D, A, B])
HOLES = np.where(rng.random(X.shape) < 0.15, np.nan, X)
TEXT = np.array(["q", "r", "s", "t"], dtype=object)[X]


def conditional(rows, labels, j, v, k, alpha, given=()):
    """The smoothed share of value v of column j among rows of class k with the values `given`."""
    seen = [
        x[j]
        for x, y in zip(rows, labels, strict=True)
        if y == k and not np.isnan(x[j]) and all(x[i] == u for i, u in given)
    ]
    values = {x[j] for x in rows if not np.isnan(x[j])}
    return (seen.count(v) + alpha) / (len(seen) + alpha * len(values))


def reference_information(rows, labels, i, j):
    """I(x_i; x_j | y) by its definition, from rows that have both."""
    both = [
        (x[i], x[j], y)
        for x, y in zip(rows, labels, strict=True)
        if not np.isnan(x[i]) and not np.isnan(x[j])
    ]
    total = 0.0
    for u, v, k in set(both):
        n = both.count((u, v, k))
        n_k = sum(y == k for _, _, y in both)
        n_u = sum((a, y) == (u, k) for a, _, y in both)
        n_v = sum((b, y) == (v, k) for _, b, y in both)
        total += n / len(both) * log(n * n_k / (n_u * n_v))
    return total


@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "holes"])
def test_the_tree_has_most_information(rows):
    model = TAN().fit(rows, Y)
    graph = networkx.Graph()
    for i, j in product(range(4), repeat=2):
        if i < j:
            expected = reference_information(rows, Y, i, j)
            assert model.information_[i, j] == pytest.approx(expected, abs=1e-11)
            graph.add_edge(i, j, weight=expected)
    best = networkx.maximum_spanning_tree(graph)
    edges = {frozenset((j, int(i))) for j, i in enumerate(model.parents_) if i >= 0}
    assert edges == {frozenset(edge) for edge in best.edges}
    assert model.parents_[0] == -1


def test_spanning_trees_of_random_weights_are_those_of_networkx():
    for n in (1, 2, 5, 9):
        weights = rng.normal(size=(n, n))
        weights = weights + weights.T
        for least in (-np.inf, 0.0):
            tree = spanning_tree(weights, weights, least)
            graph = networkx.from_numpy_array(weights - np.diag(np.diag(weights)))
            best = networkx.maximum_spanning_tree(graph)
            kept = {frozenset((a, b)) for a, b in best.edges if weights[a, b] > least}
            edges = {frozenset((j, int(i))) for j, i in enumerate(tree.parent) if i >= 0}
            assert edges == kept
            position = {j: at for at, j in enumerate(tree.order.tolist())}
            assert sorted(position) == list(range(n))
            above = [(i, j) for j, i in enumerate(tree.parent.tolist()) if i >= 0]
            assert all(position[i] < position[j] for i, j in above)


@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize("alpha", [1.0, 0.2])
def test_tan_is_its_definition(rows, alpha):
    model = TAN(alpha=alpha).fit(rows, Y)
    joint = model.predict_joint_log_proba(X[:12])
    for x, found in zip(X[:12], joint, strict=True):
        for k in range(3):
            expected = log(np.mean(k == Y))
            for j, i in enumerate(model.parents_):
                given = () if i < 0 else ((i, x[i]),)
                expected += log(conditional(rows, Y, j, x[j], k, alpha, given))
            assert found[k] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "holes"])
def test_aode_is_its_definition(rows):
    model = AODE(alpha=0.5).fit(rows, Y)
    joint = model.predict_joint_log_proba(HOLES[:12])
    for x, found in zip(HOLES[:12], joint, strict=True):
        there = [j for j in range(4) if not np.isnan(x[j])]
        for k in range(3):
            parts = []
            for i in there:
                p = conditional(rows, Y, i, x[i], k, 0.5)
                for j in there:
                    p *= 1 if j == i else conditional(rows, Y, j, x[j], k, 0.5, ((i, x[i]),))
                parts.append(p)
            expected = np.mean(k == Y) * (np.mean(parts) if parts else 1)
            assert np.exp(found[k]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("penalty", [None, "bic"])
def test_tan_sums_missing_values_out(penalty):
    model = TAN(penalty=penalty).fit(X, Y)
    values = [np.unique(column) for column in X.T]
    for x in HOLES[:25]:
        filled = [[v] if not np.isnan(v) else values[j] for j, v in enumerate(x)]
        every = np.exp(model.predict_joint_log_proba(np.array(list(product(*filled)))))
        assert_allclose(np.exp(model.predict_joint_log_proba(x[None])[0]), every.sum(axis=0))
    nothing = np.full((1, 4), np.nan)
    for classifier in (model, AODE().fit(X, Y)):
        assert_allclose(classifier.predict_proba(nothing)[0], classifier.model_.prior)
        unseen = np.array([[9, 9, 9, 9]])
        assert_allclose(classifier.predict_proba(unseen)[0], classifier.model_.prior)


@pytest.mark.parametrize("make", [TAN, AODE])
def test_contributions_add_up(make):
    model = make().fit(HOLES, Y)
    explained = model.explain(HOLES)
    assert_allclose(explained.joint, model.predict_joint_log_proba(HOLES), atol=1e-9)
    missing = np.isnan(HOLES)
    assert (explained.contributions[missing] == 0).all()


@pytest.mark.parametrize("make", [TAN, AODE])
def test_they_see_what_naive_bayes_does_not(make):
    one, two = rng.integers(2, size=(2, 400))
    rows, labels = np.column_stack([one, two]), one ^ two
    assert make().fit(rows, labels).score(rows, labels) == 1
    assert CategoricalNB().fit(rows, labels).score(rows, labels) < 0.65


@pytest.mark.parametrize("make", [TAN, AODE])
def test_text_and_codes_and_frames_are_the_same(make):
    codes, text = make().fit(X, Y), make().fit(TEXT, Y)
    assert_allclose(text.predict_proba(TEXT), codes.predict_proba(X))
    names = ["color", "doors", "age", "brand"]
    frame = pd.DataFrame(TEXT, columns=names)
    named = make().fit(frame.assign(y=Y), target="y")
    assert_allclose(named.predict_proba(frame), codes.predict_proba(X))
    assert named.categories_[1].tolist() == ["q", "r"]
    assert_allclose(named.pair_counts("age", "brand"), codes.pair_counts(2, 3))
    for k in range(3):
        expected = pd.crosstab(A[k == Y], B[k == Y]).reindex(range(4), fill_value=0)
        expected = expected.reindex(columns=range(4), fill_value=0)
        assert_allclose(codes.pair_counts(2, 3)[k], expected)


@pytest.mark.parametrize("make", [TAN, AODE])
def test_one_column_is_naive_bayes(make):
    close = make().fit(X[:, 2:3], Y).predict_proba(X[:, 2:3])
    assert_allclose(close, CategoricalNB().fit(X[:, 2:3], Y).predict_proba(X[:, 2:3]))


def test_a_column_of_which_no_value_is_known():
    rows = HOLES.copy()
    rows[:, 2] = np.nan
    for make in (TAN, AODE):
        model = make().partial_fit(rows, Y)
        expected = make().fit(rows[:, [0, 1, 3]], Y)
        assert_allclose(model.predict_proba(rows), expected.predict_proba(rows[:, [0, 1, 3]]))
        drawn, _ = model.sample(20, random_state=0)
        assert np.isnan(drawn[:, 2]).all()
        assert not np.isnan(drawn[:, [0, 1, 3]]).any()


def test_penalties_drop_edges():
    independent = rng.integers(3, size=(300, 4))
    labels = rng.integers(2, size=300)
    assert len(TAN().fit(independent, labels).edges()) == 3
    assert TAN(penalty="bic").fit(independent, labels).edges() == []
    assert_allclose(
        TAN(penalty="bic").fit(independent, labels).predict_proba(independent),
        CategoricalNB().fit(independent, labels).predict_proba(independent),
    )
    some, all_edges = TAN(penalty="aic").fit(X, Y), TAN().fit(X, Y)
    assert set(some.edges()) < {*all_edges.edges(), *((b, a, i) for a, b, i in all_edges.edges())}


def test_the_tree_as_a_graph(tmp_path):
    model = TAN().fit(pd.DataFrame(TEXT, columns=["c", "d", "a", "b"]), Y)
    graph = model.to_networkx()
    assert networkx.is_arborescence(graph)
    assert list(graph.nodes) == ["c", "d", "a", "b"]
    assert set(graph.edges) == {(a, b) for a, b, _ in model.edges()}
    for a, b, nats in model.edges():
        assert graph.edges[a, b]["information"] == nats
    model.save(tmp_path / "model")
    assert genus.load(tmp_path / "model").edges() == model.edges()


def test_the_graph_needs_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with refused("pip install networkx", "edges()", by=ImportError):
        TAN().fit(X, Y).to_networkx()


def test_the_tree_as_a_plot():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = TAN().fit(pd.DataFrame(TEXT, columns=["c", "$d$", "a", "b"]), Y)
    display = TreeDisplay.from_estimator(model)
    told = [text.get_text() for text in display.ax_.texts if text.get_text()]
    assert told == ["c", r"\$d\$", "a", "b"]
    assert len({tuple(place) for place in display.positions.tolist()}) == 4
    for j, i in enumerate(display.parents):
        assert i < 0 or display.positions[i, 1] == display.positions[j, 1] + 1
    _, ax = pyplot.subplots()
    assert TreeDisplay.from_estimator(TAN(penalty="bic").fit(X, Y), ax=ax).ax_ is ax
    pyplot.close("all")


def test_measurements_go_through_bins():
    numbers = rng.normal(size=(300, 2)) @ [[1, 0.9], [0, 0.4]]
    labels = (rng.random(300) < 0.5).astype(int)
    numbers[labels == 1, 1] *= -1
    model = make_pipeline(Discretizer("quantile", n_bins=5), AODE())
    assert model.fit(numbers, labels).score(numbers, labels) > 0.75
    assert GaussianNB().fit(numbers, labels).score(numbers, labels) < 0.65
    with pytest.warns(UserWarning, match="a Discretizer before"):
        AODE().fit(np.abs(numbers), labels)


@pytest.mark.parametrize("make", [TAN, AODE])
def test_bad_input(make):
    for alpha, words in ((0, "above 0"), (-1, "alpha"), ("auto", "alpha"), (np.nan, "alpha")):
        with refused("alpha", words):
            make(alpha=alpha).fit(X, Y)
    with refused("column 1", "negative"):
        make().fit(X - [0, 1, 0, 0], Y)
    with refused("infinity"):
        make().fit(np.where(X == 3, np.inf, X), Y)
    model = make().fit(X, Y)
    with refused("convert"):
        model.predict(TEXT)
    with refused("no column 'age'", "x0"):
        model.pair_counts("age", 0)
    with refused("no column 4"):
        model.pair_counts(0, 4)
    with refused("pairs", "SQL"):
        model.to_sql("duckdb", "t", columns=list("abcd"))
    with refused("no counterpart"):
        model.to_sklearn()
    many = np.column_stack([np.arange(20_000), np.arange(20_000) % 3]).astype(str).astype(object)
    with refused("column 0", "20000 different values", "together 20003", "bins"):
        make().fit(many, np.arange(20_000) % 2)


def test_bad_penalty():
    with refused("penalty", "aic", "mdl"):
        TAN(penalty="mdl").fit(X, Y)


def test_leaving_one_out_is_quick_and_exact():
    for make in (TAN, AODE):
        found = cross_validate(make(), X, Y, folds="loo").probabilities
        for i in (0, 17, 99):
            rest = np.arange(200) != i
            model = make().partial_fit(X[rest], Y[rest])
            assert_allclose(found[i], model.predict_proba(X[[i]])[0], atol=1e-9)
