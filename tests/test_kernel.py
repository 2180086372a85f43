"""The kernel equals its NumPy twin: any type, any strides, any number of threads.

Small tables hold multiples of 1/4, weights and parameters too, so that all sums are exact in any
order and equal means equal. Large ones take several threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from genus import _kernel
from scope import at_night

Array = np.ndarray[Any, Any]

CODES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]
DTYPES = [np.dtype(code) for code in CODES]


def spread(X: Array) -> Array:
    """Return X as every second row and third column of a larger array."""
    m, n = X.shape
    room = np.ones((2 * m + 1, 3 * n + 2), X.dtype)
    room[1::2, 2::3] = X
    return room[1::2, 2::3]


def unaligned(X: Array) -> Array:
    """Return X with its first byte at an odd address."""
    room = np.zeros(X.nbytes + 1, np.uint8)
    room[1:] = np.frombuffer(X.tobytes(), np.uint8)
    return room[1:].view(X.dtype).reshape(X.shape)


def read_only(X: Array) -> Array:
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "spread": spread,
    "spread F": lambda X: spread(X.T).T,
    "upside down": lambda X: X[::-1].copy()[::-1],
    "back to front": lambda X: X[:, ::-1].copy()[:, ::-1],
    "both": lambda X: np.asfortranarray(X[::-1, ::-1])[::-1, ::-1],
    "wide rows": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "unaligned": unaligned,
    "read-only": read_only,
}


def quarters(shape: tuple[int, ...], least: int = -12, most: int = 12) -> st.SearchStrategy[Array]:
    size = int(np.prod(shape))
    numbers = st.lists(st.integers(least, most), min_size=size, max_size=size)
    return numbers.map(lambda values: np.array(values, np.float64).reshape(shape) / 4)


@st.composite
def tables(draw: st.DrawFn, *, infinite: bool = True, huge: bool = False) -> Array:
    """Draw a table of any type and layout, with holes and infinities if it can hold them."""
    m, n = draw(st.integers(0, 9)), draw(st.integers(0, 10))
    dtype = draw(st.sampled_from(DTYPES))
    if dtype.kind == "f":
        special = [np.nan, np.inf, -np.inf, -0.0] if infinite else [np.nan, -0.0]
        number = st.integers(-12, 12).map(lambda i: i / 4)
        cell = draw(st.sampled_from([number, st.integers(0, 5), number | st.sampled_from(special)]))
    else:
        cell = st.integers(-3 if dtype.kind == "i" else 0, 1 if dtype.kind == "b" else 5)
        if huge and dtype.kind != "b":  # as large as a sum of ten is exact in float64
            cell |= st.just(np.iinfo(dtype).max >> (16 if dtype.itemsize == 8 else 0))
    X = np.array(draw(st.lists(cell, min_size=m * n, max_size=m * n)), dtype).reshape(m, n)
    return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](X)


@st.composite
def labels(draw: st.DrawFn, m: int) -> tuple[Array, Array | None, int]:
    """Draw y, weight and the number of classes."""
    K = draw(st.integers(min(m, 1), 4))
    y = np.array(draw(st.lists(st.integers(0, max(K - 1, 0)), min_size=m, max_size=m)), np.int64)
    weight = draw(st.none() | quarters((m,), 0, 12) | quarters((m,), 0, 3).map(lambda w: w * 4))
    return y, weight, K


threads = st.integers(1, 3)


def assert_same(got: Any, expected: Any) -> None:
    """Check values, shapes, types, and that arrays are fresh and in C order."""
    if not isinstance(expected, tuple):
        got, expected = (got,), (expected,)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        if isinstance(other, int):
            assert type(one) is type(other)
            assert one == other
        else:
            assert one.dtype == other.dtype
            assert one.flags.c_contiguous
            assert one.flags.writeable
            np.testing.assert_array_equal(one, other, strict=True)


@given(st.data(), tables(huge=True), st.booleans(), threads)
def test_sum_columns(data: st.DataObject, X: Array, nonnegative: bool, threads: int) -> None:
    y, weight, K = data.draw(labels(len(X)))
    assert_same(
        _kernel.sum_columns(X, y, weight, K, nonnegative, threads),
        twins.sum_columns(X, y, weight, K, nonnegative),
    )


@given(
    st.data(),
    tables(huge=True),
    st.sampled_from([-np.inf, -1, -0.5, 0, 0.5, 1, 4.5, 254.5, 255, 256, 1e300, np.inf, np.nan]),
    threads,
)
def test_count_above(data: st.DataObject, X: Array, threshold: float, threads: int) -> None:
    y, weight, K = data.draw(labels(len(X)))
    assert_same(
        _kernel.count_above(X, y, weight, K, threshold, threads),
        twins.count_above(X, y, weight, K, threshold),
    )


@given(st.data(), tables(), threads)
def test_square_columns(data: st.DataObject, X: Array, threads: int) -> None:
    y, weight, K = data.draw(labels(len(X)))
    origin = data.draw(quarters((K, X.shape[1])))
    assert_same(
        _kernel.square_columns(X, y, weight, origin, K, threads),
        twins.square_columns(X, y, weight, origin, K),
    )


@given(st.data(), tables(), st.booleans(), st.integers(0, 2), threads)
def test_center(data: st.DataObject, X: Array, chosen: bool, room: int, threads: int) -> None:
    some = st.lists(st.integers(0, len(X) - 1)) if len(X) else st.just([])
    rows = np.array(data.draw(some), np.int64) if chosen else None
    m = len(X) if rows is None else len(rows)
    y, weight, K = data.draw(labels(m))
    origin = data.draw(quarters((K, X.shape[1])))
    Z = np.full((m + room, X.shape[1]), 7.0)
    *expected, z = twins.center(X, y, weight, origin, K, rows)
    assert_same(_kernel.center(X, y, weight, origin, K, rows, Z), tuple(expected))
    np.testing.assert_array_equal(Z[:m], z)
    np.testing.assert_array_equal(Z[m:], 7.0)


@given(tables(huge=True), threads)
def test_column_range(X: Array, threads: int) -> None:
    assert_same(_kernel.column_range(X, threads), twins.column_range(X))


@pytest.mark.parametrize(
    ("column", "integral"),
    [([1, 2], True), ([1, np.nan], True), ([np.nan] * 2, True), ([-0.0, -3], True)]
    + [([1, x], False) for x in (np.inf, -np.inf, 0.5, -1e-300, 2**51 + 0.5)],
)
def test_a_whole_number_is_finite_and_has_no_fraction(column: list[float], integral: bool) -> None:
    minimum, maximum, (whole,), (missing,) = _kernel.column_range(np.array([column]).T, 1)
    there = [x for x in column if x == x]
    assert (minimum, maximum) == (min(there, default=np.inf), max(there, default=-np.inf))
    assert (whole, missing) == (integral, len(there) < 2)


@given(st.data(), tables(huge=True), threads)
def test_tally_codes(data: st.DataObject, X: Array, threads: int) -> None:
    y, weight, K = data.draw(labels(len(X)))
    offsets = data.draw(layouts(X.shape[1]))
    assert_same(
        _kernel.tally_codes(X, y, weight, offsets, K, threads),
        twins.tally_codes(X, y, weight, offsets, K),
    )


@st.composite
def layouts(draw: st.DrawFn, n: int) -> Array:
    sizes = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    return np.cumsum([draw(st.integers(0, 2)), *sizes])


@given(st.lists(st.integers(0, 255), max_size=20), st.data(), threads)
def test_take_runs(source: list[int], data: st.DataObject, threads: int) -> None:
    bounds = st.tuples(*[st.integers(0, len(source))] * 2).map(sorted)
    runs = data.draw(st.lists(bounds, max_size=6))
    starts = np.array([start for start, _ in runs], np.int64)
    places = np.cumsum([data.draw(st.integers(0, 3)), *(end - start for start, end in runs)])
    out = np.full(places[-1] + 2, 7, np.uint8)
    _kernel.take_runs(np.array(source, np.uint8), starts, places, out, threads)
    expected = [x for start, end in runs for x in source[start:end]]
    np.testing.assert_array_equal(out, [*[7] * int(places[0]), *expected, 7, 7])


@pytest.mark.parametrize(
    ("starts", "places"),
    [
        ([0], [0]),
        ([-1], [0, 1]),
        ([3], [0, 2]),
        ([5], [0, 0]),
        ([2**62], [0, 2]),
        ([0], [-1, 0]),
        ([0], [3, 6]),
        ([0], [0, 2**62]),
        ([0, 0], [0, 2, 1]),
    ],
)
def test_runs_outside_are_refused(starts: list[int], places: list[int]) -> None:
    source, out = np.zeros(4, np.uint8), np.zeros(4, np.uint8)
    with pytest.raises(ValueError, match="places"):
        _kernel.take_runs(source, np.array(starts), np.array(places), out, 1)


def test_many_runs_on_many_threads() -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 30))
    order = np.random.default_rng(1).permutation(len(X))
    for threads in THREADS:
        out = np.empty(X.nbytes, np.uint8)
        places = np.arange(len(X) + 1) * 240
        _kernel.take_runs(X.reshape(-1).view(np.uint8), order * 240, places, out, threads)
        np.testing.assert_array_equal(out.view(float).reshape(X.shape), X[order])


@given(st.data(), st.integers(0, 9), threads)
def test_subtract(data: st.DataObject, m: int, threads: int) -> None:
    a, b = data.draw(quarters((m,))), data.draw(quarters((m,)))
    near = data.draw(st.sampled_from([0.0, 1e-16, 1e-15, 1e-12]))
    large = np.full(m, 2.0**52)  # whole numbers are exact, however close they are
    pairs = (a, b), (a, a * (1 + near)), (a / 3, a / 3 * (1 + near)), (1e20 * a, b)
    for pair in (*pairs, (large + 1, large)):
        got = _kernel.subtract(*pair, 1.8e-15, threads)
        assert_same(got, twins.subtract(*pair, 1.8e-15))


@given(st.lists(st.tuples(st.floats(), st.floats(min_value=0))))
def test_grid_points(pairs: list[tuple[float, float]]) -> None:
    mean, spread = np.array(pairs).reshape(-1, 2).T.copy()
    assert_same(_kernel.grid_points(mean, spread), twins.grid_points(mean, spread))


@given(st.data(), st.integers(0, 4), st.integers(1, 5), st.sampled_from(["own", "row", "pooled"]))
def test_centre_powers(data: st.DataObject, K: int, n: int, form: str) -> None:
    pooled = form == "pooled"
    weights = data.draw(quarters((K, n if form == "own" else 1), least=-2))
    origin, sums = data.draw(quarters((K, n))), data.draw(quarters((K, n)))
    squares = data.draw(quarters((1 if pooled else K, n)))
    arguments = (1e6 * origin, weights, sums, squares, pooled, 1e-14)
    assert_same(_kernel.centre_powers(*arguments), twins.centre_powers(*arguments))


@given(st.data(), st.integers(0, 9), st.integers(1, 20), threads)
def test_row_maxima(data: st.DataObject, m: int, K: int, threads: int) -> None:
    scores = data.draw(quarters((m, K)))
    scores[data.draw(quarters((m, K))) > 1] = -np.inf
    assert_same(_kernel.row_maxima(scores, threads), twins.row_maxima(scores))


@given(st.data(), tables(huge=True), st.integers(0, 36), threads)
def test_gather_scores(data: st.DataObject, X: Array, K: int, threads: int) -> None:
    offsets = data.draw(layouts(X.shape[1]))
    table = data.draw(quarters((int(offsets[-1]) + data.draw(st.integers(0, 1)), K)))
    assert_same(
        _kernel.gather_scores(X, table, offsets, threads), twins.gather_scores(X, table, offsets)
    )


@given(
    st.lists(st.sampled_from([np.nan, np.inf, -np.inf, -0.0, 0.0]) | st.integers(-9, 9)),
    st.integers(-2, 2).filter(bool),
    threads,
)
def test_unique_codes(numbers: list[float], step: int, threads: int) -> None:
    values = np.array(numbers, np.float64)[::step]
    unique, codes = _kernel.unique_codes(values, threads)
    assert_same((unique, codes), twins.unique_codes(values))
    assert not np.signbit(unique[unique == 0]).any()
    whole = np.array([i for i in numbers if isinstance(i, int)], np.int64)[::step]
    assert_same(_kernel.unique_codes(whole, threads), twins.unique_codes(whole))


# 1 to 16 classes take every combination of vector widths.
classes = st.integers(0, 16)


@given(st.data(), tables(), st.sampled_from([-1, 0, 0.5, 2, 300]), classes, threads)
def test_score_above(data: st.DataObject, X: Array, threshold: float, K: int, threads: int) -> None:
    on, missing = (data.draw(parameters((X.shape[1], K))) for _ in range(2))
    assert_same(
        _kernel.score_above(X, threshold, on, missing, threads),
        twins.score_above(X, threshold, on, missing),
    )


@st.composite
def parameters(draw: st.DrawFn, shape: tuple[int, ...]) -> Array:
    """Draw quarters, a few of which may be -∞: the logarithm of 0."""
    array = draw(quarters(shape))
    if array.size and draw(st.booleans()):
        array.flat[draw(st.integers(0, array.size - 1))] = -np.inf
    return array


@given(st.data(), tables(infinite=False), classes, threads)
def test_score_linear(data: st.DataObject, X: Array, K: int, threads: int) -> None:
    table, missing = (data.draw(parameters((X.shape[1], K))) for _ in range(2))
    assert_same(
        _kernel.score_linear(X, table, missing, threads), twins.score_linear(X, table, missing)
    )


@given(st.data(), tables(infinite=False), classes, threads)
def test_score_gaussian(data: st.DataObject, X: Array, K: int, threads: int) -> None:
    mean, missing = (data.draw(quarters((K, X.shape[1]))) for _ in range(2))
    precision = data.draw(quarters((K, X.shape[1]), 0, 12))
    assert_same(
        _kernel.score_gaussian(X, mean, precision, missing, threads),
        twins.score_gaussian(X, mean, precision, missing),
    )


@st.composite
def sparse(draw: st.DrawFn) -> tuple[Array, Array, Array, Array, int]:
    """Draw data, indices, starts, ends and the number of columns; rows and entries in any order."""
    m, n = draw(st.integers(0, 8)), draw(st.integers(1, 10))
    rows = draw(st.lists(st.lists(st.integers(0, n - 1), unique=True), min_size=m, max_size=m))
    size = sum(map(len, rows))
    dtype = draw(st.sampled_from(DTYPES))
    most = 1 if dtype.kind == "b" else 5
    cell = st.integers(-3 if dtype.kind in "if" else 0, most)
    if dtype.kind == "f":
        cell |= st.sampled_from([np.nan, np.inf, -np.inf, 0.25, 2.0**-996])
    values = np.array(draw(st.lists(cell, min_size=size, max_size=size)), dtype)
    index = draw(st.sampled_from([np.int32, np.int64]))
    skip = draw(st.integers(0, 2))  # entries before the first row, which no row owns
    edges = np.cumsum([skip, *map(len, rows)]).astype(index)
    chosen = slice(None)
    if m and draw(st.booleans()):
        chosen = np.array(draw(st.lists(st.integers(0, m - 1))), dtype=np.intp)
    return (
        draw(st.sampled_from([np.ascontiguousarray, lambda v: np.repeat(v, 2)[::2]]))(
            np.concatenate([np.ones(skip, dtype), values])
        ),
        np.array([0] * skip + [j for row in rows for j in row], index),
        edges[:-1][chosen],
        edges[1:][chosen],
        n,
    )


@given(st.data(), sparse(), st.booleans(), threads)
def test_sum_columns_csr(
    data: st.DataObject, X: tuple[Array, Array, Array, Array, int], nonnegative: bool, threads: int
) -> None:
    y, weight, K = data.draw(labels(len(X[2])))
    assert_same(
        _kernel.sum_columns_csr(*X, y, weight, K, nonnegative, threads),
        twins.sum_columns_csr(*X, y, weight, K, nonnegative),
    )


@given(st.data(), sparse(), st.sampled_from([0, 0.25, 2, np.inf]), threads)
def test_count_above_csr(
    data: st.DataObject, X: tuple[Array, Array, Array, Array, int], threshold: float, threads: int
) -> None:
    y, weight, K = data.draw(labels(len(X[2])))
    assert_same(
        _kernel.count_above_csr(*X, y, weight, K, threshold, threads),
        twins.count_above_csr(*X, y, weight, K, threshold),
    )


@given(st.data(), sparse(), st.sampled_from([0, 0.25, 2]), st.booleans(), classes, threads)
def test_scores_csr(
    data: st.DataObject,
    X: tuple[Array, Array, Array, Array, int],
    threshold: float,
    nonnegative: bool,
    K: int,
    threads: int,
) -> None:
    *csr, n = X
    table, missing = data.draw(parameters((n, K))), data.draw(quarters((n, K)))
    assert_same(
        _kernel.score_linear_csr(*csr, table, missing, nonnegative, threads),
        twins.score_linear_csr(*csr, table, missing, nonnegative),
    )
    assert_same(
        _kernel.score_above_csr(*csr, threshold, table, missing, threads),
        twins.score_above_csr(*csr, threshold, table, missing),
    )


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=CODES)
def test_every_type_in_every_layout(dtype: np.dtype[Any], layout: str, n: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.integers(0, 2 if dtype.kind == "b" else 5, (7, n)).astype(dtype)
    if dtype.kind == "f":
        X[rng.random(X.shape) < 0.1] = np.nan
    X = LAYOUTS[layout](X)
    y, origin, offsets = rng.integers(0, 2, 7), np.full((2, n), 1.5), np.arange(n + 1) * 3
    table, missing = rng.integers(-8, 8, (2, n, 3)) / 4
    Z = np.empty((7, n))
    *centered, z = twins.center(X, y, None, origin, 2, None)
    assert_same(_kernel.center(X, y, None, origin, 2, None, Z), tuple(centered))
    np.testing.assert_array_equal(Z, z)
    for function, arguments in {
        "sum_columns": (X, y, None, 2, True),
        "count_above": (X, y, None, 2, 1),
        "square_columns": (X, y, None, origin, 2),
        "column_range": (X,),
        "tally_codes": (X, y, None, offsets, 2),
        "gather_scores": (X, table.repeat(3, axis=0), offsets),
        "score_above": (X, 1, table, missing),
        "score_linear": (X, table, missing),
        "score_gaussian": (X, table.T, table.T, missing.T),
    }.items():
        got = getattr(_kernel, function)(*arguments, threads=1)
        assert_same(got, getattr(twins, function)(*arguments))


# Large tables: several threads, several tiles, sums that round.

M, N, K = 30_000, 7, 3  # 2¹⁶ cells are worth a thread
THREADS = (1, 2, 3)


@pytest.fixture(
    scope="module",
    params=at_night(
        ["float64", "float64 F", "float32", "uint8", "int64"], "float64", "float64 F", "uint8"
    ),
)
def large(request: pytest.FixtureRequest) -> Array:
    """A table for three threads; floats have 2 % holes."""
    rng = np.random.default_rng(0)
    dtype = np.dtype(request.param.split()[0])
    if dtype.kind == "f":
        X = rng.normal(3, 2, (M, N)).astype(dtype)
        X[rng.random(X.shape) < 0.02] = np.nan
    else:
        X = rng.integers(0, 9, (M, N)).astype(dtype)
    return np.asfortranarray(X) if "F" in request.param else X


@pytest.fixture(scope="module")
def y() -> Array:
    return np.random.default_rng(1).integers(0, K, M)


@pytest.fixture(
    scope="module", params=at_night(["no weight", "integers", "floats"], "no weight", "floats")
)
def weight(request: pytest.FixtureRequest) -> Array | None:
    rng = np.random.default_rng(2)
    if request.param == "no weight":
        return None
    return rng.integers(0, 4, M).astype(float) if request.param == "integers" else rng.random(M)


def assert_close(got: Any, expected: Any) -> None:
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-9)


def test_large_sums(large: Array, y: Array, weight: Array | None) -> None:
    origin = np.linspace(1, 4, K * N).reshape(K, N)
    rows = np.argsort(y, kind="stable")
    total = twins.sum_columns(large, y, weight, K, True)
    above = twins.count_above(large, y, weight, K, 2.5)
    squares = twins.square_columns(large, y, weight, origin, K)
    *centered, z = twins.center(large, y, weight, origin, K, rows)
    for threads in THREADS:
        assert_close(_kernel.sum_columns(large, y, weight, K, True, threads), total)
        assert_close(_kernel.count_above(large, y, weight, K, 2.5, threads), above)
        assert_close(_kernel.square_columns(large, y, weight, origin, K, threads), squares)
        Z = np.empty((M, N))
        assert_close(_kernel.center(large, y, weight, origin, K, rows, Z), centered)
        np.testing.assert_array_equal(Z, z)


@pytest.mark.parametrize("classes", [2, 11])
def test_large_scores(large: Array, classes: int) -> None:
    rng = np.random.default_rng(3)
    table, missing = rng.normal(size=(2, N, classes))
    mean, precision, absent = table.T.copy(), rng.random((classes, N)), missing.T.copy()
    expected = (
        twins.score_linear(large, table, missing),
        twins.score_above(large, 3, table, missing),
        twins.score_gaussian(large, mean, precision, absent),
    )
    for threads in THREADS:
        got = (
            _kernel.score_linear(large, table, missing, threads),
            _kernel.score_above(large, 3, table, missing, threads),
            _kernel.score_gaussian(large, mean, precision, absent, threads),
        )
        assert_close(got, expected)


def test_large_codes(large: Array, y: Array, weight: Array | None) -> None:
    X = np.floor(large).astype(large.dtype)
    offsets = np.arange(N + 1) * 6
    table = np.random.default_rng(4).normal(size=(offsets[-1], 3))
    scores, _ = twins.gather_scores(X, table, offsets)
    expected = (
        twins.tally_codes(X, y, weight, offsets, K),
        scores,
    )
    for threads in THREADS:
        got = (
            _kernel.tally_codes(X, y, weight, offsets, K, threads),
            _kernel.gather_scores(X, table, offsets, threads)[0],
        )
        assert_close(got, expected)
        assert_same(_kernel.row_maxima(scores, threads), twins.row_maxima(scores))


@pytest.mark.parametrize("dtype", at_night(["float64", "int32"], "int32"))
@pytest.mark.parametrize("index", at_night(["int32", "int64"], "int32"))
def test_large_sparse(dtype: str, index: str, y: Array) -> None:
    rng = np.random.default_rng(5)
    n = 1000
    lengths = rng.integers(0, 12, M)
    lengths[7] = 900  # more entries than fit a buffer
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    within = np.arange(lengths.sum()) - np.repeat(indptr[:-1], lengths)
    indices = ((np.repeat(rng.integers(0, n, M), lengths) + 7 * within) % n).astype(index)
    data = rng.integers(0, 5, len(indices)).astype(dtype)
    table = rng.integers(-9, 9, (n, 3)).astype(float)
    order = rng.permutation(M)
    csr = (data, indices, indptr[:-1][order], indptr[1:][order])
    missing = np.zeros_like(table)
    total = twins.sum_columns_csr(*csr, n, y, None, K, True)
    scores = twins.score_linear_csr(*csr, table, missing, True)
    above = twins.count_above_csr(*csr, n, y, None, K, 1)
    scores_above = twins.score_above_csr(*csr, 1, table, missing)
    for threads in THREADS:
        assert_same(_kernel.sum_columns_csr(*csr, n, y, None, K, True, threads), total)
        assert_same(_kernel.score_linear_csr(*csr, table, missing, True, threads), scores)
        assert_same(_kernel.count_above_csr(*csr, n, y, None, K, 1, threads), above)
        assert_same(_kernel.score_above_csr(*csr, 1, table, missing, threads), scores_above)


@pytest.mark.parametrize("value", at_night(["-1", "inf", "nan"], "inf"))
@pytest.mark.parametrize(
    "place", at_night(["late in a long row", "in the last row"], "in the last row")
)
def test_odd_entries_are_found_wherever_they_are(value: str, place: str, y: Array) -> None:
    n = 1000
    lengths = np.full(M, 8)
    lengths[7] = 900
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([np.arange(length) for length in lengths])
    data = np.ones(len(indices))
    at = indptr[8] - 3 if place == "late in a long row" else indptr[-1] - 1
    data[at] = float(value)
    table = np.random.default_rng(0).integers(-9, 9, (n, 3)).astype(float)
    missing = table[::-1].copy()
    csr = (data, indices, indptr[:-1], indptr[1:])
    expected = twins.score_linear_csr(*csr, table, missing, True)
    counted = twins.sum_columns_csr(*csr, n, y, None, K, True)
    outside = (data, indices.copy(), *csr[2:])
    outside[1][at] = n
    for threads in THREADS:
        assert_same(_kernel.score_linear_csr(*csr, table, missing, True, threads), expected)
        assert_same(_kernel.sum_columns_csr(*csr, n, y, None, K, True, threads), counted)
        with pytest.raises(ValueError, match="corrupt"):
            _kernel.score_linear_csr(*outside, table, missing, True, threads)
        with pytest.raises(ValueError, match="corrupt"):
            _kernel.sum_columns_csr(*outside, n, y, None, K, True, threads)


@pytest.mark.parametrize("distinct", [10, 200_000])
def test_large_unique(distinct: int) -> None:
    rng = np.random.default_rng(6)
    values = rng.integers(0, distinct, 200_000) * 0.1
    values[::1000] = np.nan
    whole = rng.integers(-(2**62), 2**62, 200_000) // (2**62 // distinct)
    for threads in THREADS:
        assert_same(_kernel.unique_codes(values, threads), twins.unique_codes(values))
        assert_same(_kernel.unique_codes(whole, threads), twins.unique_codes(whole))


def test_large_range(large: Array) -> None:
    for threads in THREADS:
        assert_same(_kernel.column_range(large, threads), twins.column_range(large))


@pytest.mark.parametrize("row", [0, 150_000, 299_999])
def test_a_single_fraction_is_found_by_any_thread(row: int) -> None:
    X = np.zeros((300_000, 2))
    X[row] = 0.5, np.nan
    for threads in THREADS:
        _, _, whole, missing = _kernel.column_range(X, threads)
        assert whole.tolist() == [False, True]
        assert missing.tolist() == [False, True]


def test_counts_are_the_same_bits_on_any_number_of_threads(
    large: Array, y: Array, weight: Array | None
) -> None:
    if weight is not None and (weight != np.floor(weight)).any():
        weight = np.floor(weight * 8)
    whole = np.nan_to_num(large, nan=0).astype(np.int64)
    offsets = np.arange(N + 1) * 5

    def counts(threads: int) -> list[bytes]:
        return [
            array.tobytes()
            for array in (
                *_kernel.sum_columns(whole, y, weight, K, False, threads)[:2],
                *_kernel.sum_columns(whole.astype(float), y, weight, K, False, threads)[:2],
                *_kernel.count_above(large, y, weight, K, 3, threads)[:2],
                _kernel.sum_columns(large, y, weight, K, False, threads)[1],
                _kernel.square_columns(large, y, weight, np.zeros((K, N)), K, threads)[0],
                _kernel.tally_codes(whole, y, weight, offsets, K, threads),
            )
        ]

    alone = counts(1)
    assert len(set(alone)) > 4
    for threads in (2, 3, 7, 64):
        assert counts(threads) == alone


@pytest.mark.parametrize("n", [63, 64, 65, 2047, 2048, 2049])
@pytest.mark.parametrize("order", ["C", "F"])
def test_wide_tables_take_several_tiles(n: int, order: Any) -> None:
    rng = np.random.default_rng(8)
    X = np.array(rng.integers(-8, 8, (300, n)) / 4, order=order)
    X[rng.random(X.shape) < 0.001] = np.nan
    y, K = rng.integers(0, 2, 300), 2
    origin = np.full((K, n), 0.25)
    assert_same(
        _kernel.sum_columns(X, y, None, K, False, 2), twins.sum_columns(X, y, None, K, False)
    )
    assert_same(
        _kernel.square_columns(X, y, None, origin, K, 2),
        twins.square_columns(X, y, None, origin, K),
    )
    assert_same(_kernel.column_range(X, 2), twins.column_range(X))
    table, missing = rng.integers(-8, 8, (2, n, 9)) / 4
    assert_same(_kernel.score_linear(X, table, missing, 2), twins.score_linear(X, table, missing))
    assert_same(
        _kernel.score_above(X, 0.5, table, missing, 2), twins.score_above(X, 0.5, table, missing)
    )
    few, offsets = X[:40], np.arange(n + 1) * 2
    assert_same(
        _kernel.tally_codes(few, y[:40], None, offsets, K, 2),
        twins.tally_codes(few, y[:40], None, offsets, K),
    )
    places = rng.integers(-8, 8, (2 * n, 3)) / 4
    assert_same(
        _kernel.gather_scores(few, places, offsets, 2), twins.gather_scores(few, places, offsets)
    )
    X[123, n - 1] = X[200, 3] = np.inf
    assert _kernel.sum_columns(X, y, None, K, False, 2)[-1] == 123 * n + n - 1


@pytest.mark.parametrize(
    "threshold", [-np.inf, -1, -0.5, 0, 0.5, 1, 126.5, 127, 254, 254.5, 255, 256, np.inf, np.nan]
)
def test_bytes_above_any_threshold(threshold: float) -> None:
    X, y = np.arange(256, dtype=np.uint8)[:, np.newaxis].repeat(2, axis=1), np.zeros(256, np.int64)
    ones, _, _ = _kernel.count_above(X, y, None, 1, threshold, 1)
    assert (ones == sum(byte > threshold for byte in range(256))).all()


def test_bytes_count_past_255_rows_of_a_class() -> None:
    X = np.ones((100_000, 3), np.uint8)
    y = np.zeros(100_000, np.int64)
    y[:300] = 1
    for threads in THREADS:
        ones, missing, invalid = _kernel.count_above(X, y, None, 2, 0, threads)
        np.testing.assert_array_equal(ones, [[99_700] * 3, [300] * 3])
        assert not missing.any()
        assert invalid == -1


def test_the_first_invalid_value_is_found_by_any_thread() -> None:
    X = np.zeros((100_000, 3))
    y = np.zeros(100_000, np.int64)
    for row, column in [(99_999, 2), (50_001, 1), (50_001, 0), (2, 2)]:
        X[row, column] = -1
        for threads in THREADS:
            assert _kernel.sum_columns(X, y, None, 1, False, threads)[-1] == -1
            assert _kernel.sum_columns(X, y, None, 1, True, threads)[-1] == row * 3 + column


@pytest.mark.parametrize("threads", THREADS)
def test_a_repeated_row_needs_no_copy(threads: int) -> None:
    X = np.broadcast_to(np.array([1.0, np.nan, 3.0]), (90_000, 3))
    y = np.zeros(90_000, np.int64)
    total, missing, _ = _kernel.sum_columns(X, y, None, 1, True, threads)
    np.testing.assert_array_equal(total, [[90_000, 0, 270_000]])
    np.testing.assert_array_equal(missing, [[0, 90_000, 0]])


# What the binding refuses.


def csr(**changes: Any) -> dict[str, Any]:
    good = {
        "data": np.ones(3),
        "indices": np.array([0, 2, 1], np.int32),
        "starts": np.array([0, 2], np.int32),
        "ends": np.array([2, 3], np.int32),
    }
    return good | changes


CORRUPT = {
    "column too large": csr(indices=np.array([0, 3, 1], np.int32)),
    "column negative": csr(indices=np.array([0, -1, 1], np.int32)),
    "column huge": {name: v.astype(np.int64) for name, v in csr().items()}
    | {"indices": np.array([0, 2**40, 1])},
    "start negative": csr(starts=np.array([-1, 2], np.int32)),
    "ends before it starts": csr(ends=np.array([2, 1], np.int32)),
    "past the end": csr(ends=np.array([2, 4], np.int32)),
    "too few data": csr(data=np.ones(2)),
    "too few indices": csr(indices=np.array([0, 2], np.int32)),
    "fewer starts than ends": csr(starts=np.array([0], np.int32)),
}


@pytest.mark.parametrize("matrix", CORRUPT.values(), ids=CORRUPT.keys())
def test_a_corrupt_sparse_matrix_is_refused(matrix: dict[str, Any]) -> None:
    y = np.zeros(2, np.int64)
    counting = {"n_columns": 3, "y": y, "weight": None, "n_classes": 1, "threads": 2}
    table = np.ones((3, 2))
    scoring = {"missing": table, "threads": 2}
    with pytest.raises(ValueError, match=r"corrupt|starts and ends"):
        _kernel.sum_columns_csr(**matrix, **counting, nonnegative=True)
    with pytest.raises(ValueError, match=r"corrupt|starts and ends"):
        _kernel.count_above_csr(**matrix, **counting, threshold=0)
    with pytest.raises(ValueError, match=r"corrupt|starts and ends"):
        _kernel.score_linear_csr(**matrix, **scoring, table=table, nonnegative=True)
    with pytest.raises(ValueError, match=r"corrupt|starts and ends"):
        _kernel.score_above_csr(**matrix, **scoring, threshold=0, on=table)


def test_the_sparse_matrix_that_is_corrupted_is_sound() -> None:
    table = np.array([[1.0], [2.0], [4.0]])
    scores, invalid = _kernel.score_linear_csr(
        **csr(), table=table, missing=table, nonnegative=True, threads=1
    )
    assert invalid == -1
    np.testing.assert_array_equal(scores, [[5], [2]])


@pytest.mark.parametrize("y", [[0, 2], [0, -1], [0], [0, 0, 0], [0, 2**40]])
def test_labels_out_of_bounds_are_refused(y: list[int]) -> None:
    X, labels = np.ones((2, 3)), np.array(y)
    with pytest.raises(ValueError, match="y must"):
        _kernel.sum_columns(X, labels, None, 2, True, 1)
    with pytest.raises(ValueError, match="y must"):
        _kernel.count_above(X.astype(np.uint8), labels, None, 2, 0, 1)
    with pytest.raises(ValueError, match="y must"):
        _kernel.tally_codes(X, labels, None, np.arange(4), 2, 1)


def test_wrong_shapes_are_refused() -> None:
    X, y, table, offsets = np.ones((2, 3)), np.zeros(2, np.int64), np.ones((3, 2)), np.arange(4)
    with pytest.raises(ValueError, match="weight must"):
        _kernel.sum_columns(X, y, np.ones(3), 1, True, 1)
    with pytest.raises(ValueError, match="origin must"):
        _kernel.square_columns(X, y, None, np.ones((1, 2)), 1, 1)
    with pytest.raises(ValueError, match="Z must"):
        _kernel.center(X, y, None, np.ones((1, 3)), 1, None, np.empty((1, 3)))
    for outside in (2, -1):
        with pytest.raises(ValueError, match="rows must"):
            _kernel.center(X, y, None, np.ones((1, 3)), 1, np.array([0, outside]), np.empty((2, 3)))
    with pytest.raises(ValueError, match="scores must"):
        _kernel.row_maxima(np.empty((2, 0)), 1)
    with pytest.raises(ValueError, match="offsets must"):
        _kernel.tally_codes(X, y, None, offsets[:-1], 1, 1)
    with pytest.raises(ValueError, match="offsets must"):
        _kernel.tally_codes(X, y, None, offsets[::-1], 1, 1)
    with pytest.raises(ValueError, match="table must"):
        _kernel.gather_scores(X, table[:2], offsets, 1)
    with pytest.raises(ValueError, match="table must"):
        _kernel.score_linear(X, table[:2], table[:2], 1)
    with pytest.raises(ValueError, match="missing must"):
        _kernel.score_above(X, 0, table, table[:2], 1)
    with pytest.raises(ValueError, match="precision must"):
        _kernel.score_gaussian(X, table.T, table, table.T, 1)


@pytest.mark.parametrize("dtype", ["float16", "complex128", ">f8", "S3", "datetime64[s]", "O"])
def test_other_types_are_refused(dtype: str) -> None:
    X, y = np.zeros((2, 3), dtype), np.zeros(2, np.int64)
    with pytest.raises(TypeError):
        _kernel.sum_columns(X, y, None, 1, True, 1)


def test_the_target_of_center_is_never_a_copy() -> None:
    X, y, origin = np.ones((2, 3)), np.zeros(2, np.int64), np.zeros((1, 3))
    for Z in (np.empty((2, 3), np.float32), np.empty((2, 3), order="F"), np.empty((2, 6))[:, ::2]):
        with pytest.raises(TypeError):
            _kernel.center(X, y, None, origin, 1, None, Z)
