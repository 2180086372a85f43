"""Pairs of columns: their counts, what is made of them, and the layer that weighs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import twins
from genus import _kernel
from genus.solve.grid import Grid
from genus.stacking import layer
from genus.stacking.layer import Rows
from genus.stacking.prior import Prior
from genus.statistics import Pairs
from genus.table.model import experts
from genus.table.model.binning import even_cuts, merged, number_cuts
from genus.table.model.counts import Coded as Column
from genus.table.model.counts import count_pairs

Array = np.ndarray[Any, Any]


def drawn(m: int, sizes: list[int], K: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Codes (n, m), classes, weights and offsets."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, size, m) for size in sizes], dtype=np.uint16)
    codes = codes.reshape(len(sizes), m)
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    return codes, rng.integers(0, K, m), rng.integers(0, 9, m) / 4, offsets


@given(
    m=st.integers(0, 30),
    sizes=st.lists(st.integers(1, 5), max_size=4),
    K=st.integers(1, 3),
    seed=st.integers(0, 99),
    threads=st.integers(1, 3),
)
def test_pairs_are_counted_as_their_twin_counts_them(
    m: int, sizes: list[int], K: int, seed: int, threads: int
) -> None:
    codes, y, weight, offsets = drawn(m, sizes, K, seed)
    for w in (None, weight):
        counted = _kernel.tally_pairs(codes, y, w, offsets, K, threads)
        assert_array_equal(counted, twins.tally_pairs(codes, y, w, offsets, K))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_rows_are_counted_alike_on_any_threads(threads: int) -> None:
    codes, y, weight, offsets = drawn(20_000, [3, 40, 2, 17, 9], 4, 0)
    for w in (None, weight):
        counted = _kernel.tally_pairs(codes, y, w, offsets, 4, threads)
        slots = codes + offsets[:-1, None]
        for k in range(4):
            own = np.where(y == k, 1.0 if w is None else w, 0.0)
            ones = np.zeros((int(offsets[-1]), len(y)))
            for row in slots:
                ones[row, np.arange(len(y))] = 1
            assert_array_equal(counted[k], (ones * own) @ ones.T)


@given(
    m=st.integers(0, 20),
    n=st.integers(1, 4),
    V=st.integers(1, 6),
    K=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_tables_of_pairs_are_summed_as_their_twins_sum_them(
    m: int, n: int, V: int, K: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, V, (n, m)).astype(np.uint16)
    table = rng.integers(-8, 9, (V, V, K)) / 4
    is_parent = rng.random(n) < 0.7
    assert_array_equal(_kernel.sum_pairs(codes, table, 2), twins.sum_pairs(codes, table))
    averaged = _kernel.average_parents(codes, table, is_parent, 2)
    assert_allclose(averaged, twins.average_parents(codes, table, is_parent), atol=1e-12)
    beside = np.concatenate([table + 1, table, table], axis=2)[:, :, K : 2 * K]
    assert_array_equal(_kernel.sum_pairs(codes, beside, 2), twins.sum_pairs(codes, table))


@pytest.mark.parametrize(("m", "n", "K"), [(5000, 3, 2), (9001, 6, 7), (4097, 9, 19)])
def test_many_rows_are_scored_alike_on_any_threads(m: int, n: int, K: int) -> None:
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 40, (n, m)).astype(np.uint16)
    table = rng.integers(-99, 9, (40, 40, K)) / 4
    is_parent = np.arange(n) != 1
    scores = twins.average_parents(codes, table, is_parent)
    for threads in (1, 2, 3):
        summed = _kernel.sum_pairs(codes, table, threads)
        assert_array_equal(summed, twins.sum_pairs(codes, table))
        averaged = _kernel.average_parents(codes, table, is_parent, threads)
        assert_allclose(averaged, scores, rtol=0, atol=1e-12)


@given(st.data())
def test_experts_are_weighed_as_their_twin_weighs_them(data: st.DataObject) -> None:
    m, G, K = (data.draw(st.integers(low, 5)) for low in (0, 0, 1))
    scale = data.draw(st.sampled_from([1.0, 30.0, 1e3, 1e12]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    evidence = rng.normal(size=(m, (G + 1) * K + rng.integers(0, 3)))
    evidence[:, : G * K] *= scale
    weights, share = rng.normal(size=G), rng.dirichlet(np.ones(K))
    for doubt in (0.0, 1e-9, 0.3):
        arguments = evidence, weights, np.log(share), -30.0, doubt
        weighed = _kernel.weigh_experts(*arguments, 2)
        assert_allclose(weighed, twins.weigh_experts(*arguments), rtol=0, atol=1e-9)


@given(
    st.lists(st.floats(), max_size=20),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20, unique=True),
)
def test_numbers_are_between_the_edges_that_their_twin_finds(
    numbers: list[float], edges: list[float]
) -> None:
    x, bounds = np.array([*numbers, *edges, 0.0]), np.sort(edges)
    found = _kernel.between_edges(np.repeat(x, 3)[::3], bounds, 2)
    assert_array_equal(found, twins.between_edges(x, bounds))


@pytest.mark.parametrize(
    "call",
    [
        lambda c: _kernel.tally_pairs(c, np.zeros(2, int), None, np.array([0, 2, 3]), 1, 1),
        lambda c: _kernel.tally_pairs(c, np.zeros(3, int), None, np.array([0, 9, 18]), 1, 1),
        lambda c: _kernel.tally_pairs(c, np.array([0, 5]), None, np.array([0, 9, 18]), 1, 1),
        lambda c: _kernel.tally_pairs(c, np.zeros(2, int), None, np.array([0, 9]), 1, 1),
        lambda c: _kernel.tally_pairs(c, np.zeros(2, int), None, np.array([1, 9, 18]), 1, 1),
        lambda c: _kernel.sum_pairs(c, np.zeros((3, 3, 1)), 1),
        lambda c: _kernel.sum_pairs(c, np.zeros((9, 8, 1)), 1),
        lambda c: _kernel.sum_pairs(c, np.zeros((9, 9, 2)).transpose(1, 0, 2), 1),
        lambda c: _kernel.sum_pairs(c, np.zeros((9, 9, 4))[:, :, ::2], 1),
        lambda c: _kernel.average_parents(c, np.zeros((9, 9, 1)), np.ones(3, bool), 1),
        lambda c: _kernel.weigh_experts(c / 2, np.ones(1), np.zeros(2), -30.0, 0.0, 1),
        lambda c: _kernel.weigh_experts(c / 2, np.ones(1), np.zeros(0), -30.0, 0.0, 1),
        lambda c: _kernel.between_edges(c[0] / 2, np.array([1.0, 0.0]), 1),
        lambda c: _kernel.between_edges(c[0], np.array([1.0]), 1),
    ],
)
def test_what_does_not_fit_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="must"):
        call(np.array([[1, 2], [3, 4]], dtype=np.uint16))


@pytest.mark.parametrize(("m", "K", "G"), [(0, 2, 1), (7, 3, 2), (700, 2, 5), (3000, 4, 3)])
def test_a_layer_is_summed_as_its_twin_sums_it(m: int, K: int, G: int) -> None:
    rng = np.random.default_rng(m)
    F, y, weight = rng.normal(size=(m, K, G)), rng.integers(0, K, m), rng.random(m)
    θ = rng.normal(size=G + K)
    one = _kernel.layer_sums(F, y, weight, θ, 2, 1)
    for threads in (2, 3):
        for a, b in zip(one, _kernel.layer_sums(F, y, weight, θ, 2, threads), strict=True):
            assert_array_equal(a, b)
    for a, b in zip(one, twins.layer_sums(F, y, weight, θ, 2), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert _kernel.layer_sums(F, y, weight, θ, 0, 1)[0] == one[0]
    first = _kernel.layer_sums(F, y, weight, θ, 1, 1)
    assert first[0] == one[0]
    assert_array_equal(first[1], one[1])
    assert not first[2].any()


def test_weights_are_where_the_gradient_is_nothing() -> None:
    rng = np.random.default_rng(0)
    F, y, weight = rng.normal(size=(200, 3, 4)), rng.integers(0, 3, 200), rng.random(200)
    F[np.arange(200), y, 0] += 2
    start, ridge = np.full(4, 0.25), np.array([0.1, 1.0, 10.0, 100.0])
    w, b = layer.fit(Rows(F, y, weight), Prior.of(start, ridge, np.zeros(3)))
    _, gradient, _ = twins.layer_sums(F, y, weight, np.concatenate([w, b]), 2)
    assert_allclose(gradient + np.concatenate([ridge * (w - start), b]), 0, atol=1e-3)
    assert w[0] > 0.5


def test_weights_of_a_group_that_says_nothing_stay_where_they_are_drawn_to() -> None:
    rng = np.random.default_rng(1)
    F, y = rng.normal(size=(500, 2, 9)), rng.integers(0, 2, 500)
    F[np.arange(500), y, 0] += 1
    group = np.repeat([-1, 0], [1, 8])
    prior = Prior.of(np.zeros(9), np.full(9, 1.0), np.zeros(2), group=group)
    (w, _), learned = layer.fit_groups(Rows(F, y, np.ones(500)), prior)
    ridge = np.diag(learned.precision)
    assert ridge[0] == 1.0
    assert (ridge[1:] > 3).all()
    assert np.abs(w[1:]).max() < 0.15
    assert w[0] > 0.5


# Bins of cells, and experts


def counted(columns: list[Array], y: Array, K: int) -> Pairs:
    coded = [Column(*np.unique(column, return_inverse=True)) for column in columns]
    return count_pairs(coded, y, np.arange(K), None)


def test_bins_are_cut_where_the_class_changes() -> None:
    counts = np.array([[9.0, 9, 9, 9, 0, 0, 0, 0], [0, 0, 0, 0, 9, 9, 9, 9]])
    assert 4 in number_cuts(counts, counts.sum(axis=1))
    assert even_cuts(np.array([5.0, 0, 5, 0, 5]), 3).tolist() == [2, 4]
    assert even_cuts(np.ones(12), 3).tolist() == [4, 8]


def table_of(seed: int = 0) -> tuple[Pairs, list[Array], Array]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    a = rng.integers(0, 3, 300)
    b = (a + y * rng.integers(0, 2, 300)) % 3  # depends on a and the class
    c = rng.integers(0, 4, 300) + 2 * y
    return counted([a, b, c], y, 2), [a, b, c], y


def slots_of(pairs: Pairs, columns: list[Array]) -> Array:
    """The slot of each column's value in each row, (n, m)."""
    parts = zip(pairs.keys, columns, pairs.starts[:-1], strict=True)
    return np.array([np.searchsorted(k, c) + s + 1 for k, c, s in parts], dtype=np.uint16)


def test_one_dependence_estimators_are_those_of_the_formula() -> None:
    pairs, columns, y = table_of()
    binned = merged(pairs, np.arange(2), np.zeros(3, dtype=bool))
    shares = experts.log_shares(binned)
    parents = experts.parents(binned, shares)
    slots = slots_of(pairs, columns)
    i = 7
    expected = np.zeros(2)
    for k in range(2):
        own = y == k
        n = own.sum()

        def alone(j: int, rows: Any = own, n: Any = n) -> float:
            column = columns[j]
            size = len(np.unique(column))
            base = ((column == column[i]).sum() + 0.5) / (len(y) + 0.5 * size)
            return ((rows & (column == column[i])).sum() + base) / (n + 1)

        total = 0.0
        for parent in range(3):
            given = own & (columns[parent] == columns[parent][i])
            p = alone(parent)
            for j in {0, 1, 2} - {parent}:
                both = (given & (columns[j] == columns[j][i])).sum()
                p *= (both + alone(j)) / (given.sum() + 1)
            total += p / 3
        expected[k] = np.log(total)
    assert_allclose(parents.score(slots[:, i : i + 1])[0], expected)


def test_gaussian_experts_are_those_of_features_row_by_row() -> None:
    pairs, columns, y = table_of(1)
    binned = merged(pairs, np.arange(2), np.array([False, False, True]))
    means = [None, None, pairs.keys[2].astype(float)]
    blocks = experts.column_features(binned, pairs, means, every_bin=True)
    features = experts.Features.of(blocks, pairs.align(np.arange(2)), experts.RIDGE)
    slots = slots_of(pairs, columns)
    φ = features.table.toarray()[slots].sum(axis=0)
    assert_allclose(features.of_rows(slots), φ)
    for k in range(2):
        own = φ[y == k]
        assert_allclose(features.scatter[k], (own - own.mean(axis=0)).T @ own, atol=1e-8)
    linear = experts.linear("linear", features).score(slots)
    slope = np.linalg.solve(features.ridged, features.means.T)
    assert_allclose(linear, φ @ slope - 0.5 * np.einsum("kd,dk->k", features.means, slope))
    curved = experts.curved([features], [10.0]).score(slots)
    student = experts.Student("curved", features, 10.0).score(slots)
    assert_allclose(np.diff(student), np.diff(curved), atol=1e-9)
    d = φ.shape[1]
    for k in range(2):
        ν = features.weights[k] + 10
        Σ = (features.scatter[k] + 10 * features.ridged) / ν + 1e-9 * np.eye(d)
        z = φ - features.means[k]
        δ = np.einsum("id,de,ie->i", z, np.linalg.inv(Σ), z) / (1 + 1 / (features.weights[k] + 1))
        shape = -0.5 * (ν + d) * np.log1p(δ / ν)
        assert_allclose(np.diff(curved[:, k]), np.diff(shape), atol=1e-6)


def test_coarser_cells_are_sums_of_finer_ones() -> None:
    pairs, columns, y = table_of(3)
    coarser = counted([columns[0], columns[1], columns[2] // 2], y, 2)
    place = list(range(int(pairs.starts[2]) + 1))
    place += (int(pairs.starts[2]) + 1 + pairs.keys[2] // 2).tolist()
    assert pairs.regrouped(coarser.keys, np.array(place)) == coarser


@given(st.integers(0, 40), st.integers(1, 4), st.integers(0, 999))
def test_bins_of_least_description_are_those_of_their_twin(V: int, K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    change = rng.integers(0, 2, (max(V, 1), 1)) if seed % 2 else np.arange(max(V, 1))[:, None] > 9
    counts = rng.poisson(3 + 9 * change * rng.random(K), (max(V, 1), K))[:V].astype(float)
    counts += rng.random(counts.shape) / 64  # no two cuts are equally good
    assert_array_equal(_kernel.mdlp(counts), twins.mdlp(counts))


def test_a_cut_has_to_pay_for_its_description() -> None:
    """Of N rows, one of N - 1 places between them: it pays by a little, and then does not."""
    assert_array_equal(_kernel.mdlp(np.array([[4.0, 0], [0, 1]])), [1])
    assert_array_equal(_kernel.mdlp(np.array([[6.0, 0], [0, 1]])), [])


@given(
    st.lists(st.floats(allow_infinity=False), max_size=30),
    st.sampled_from([Grid(), Grid(2.0**-11), Grid(0.25, 0), Grid(16.0, 23), Grid(2.0**300, 39)]),
    st.integers(1, 3),
)
def test_cells_of_a_grid_are_those_of_its_formula(
    numbers: list[float], grid: Grid, threads: int
) -> None:
    x = np.array(numbers)
    there = ~np.isnan(x)
    keys, codes = _kernel.grid_codes(np.repeat(x, 2)[::2], grid.exponent, grid.bits, threads)
    expected, places = np.unique(grid.keys(x[there]), return_inverse=True)
    assert_array_equal(keys, expected)
    assert_array_equal(codes[there], places)
    assert (codes[~there] == -1).all()


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30),
    *[st.builds(Grid, st.integers(-400, 300).map(lambda e: 2.0**e), st.integers(0, 39))] * 2,
)
def test_cells_of_one_grid_make_up_those_of_a_coarser_one(
    numbers: list[float], one: Grid, other: Grid
) -> None:
    x = np.sort(np.array(numbers))
    keys = one.keys(x)
    low = one.values(keys)
    assert (np.diff(keys) >= 0).all()
    assert (low <= x).all()
    assert (one.values(keys + 1) > x).all()
    assert_array_equal(one.keys(low), keys)
    common = one.common(other)
    assert_array_equal(common.keys(low), common.keys(x))
    assert common == other.common(one)
