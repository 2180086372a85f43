"""Categories: one distribution over the values of each column, for each class.

    log p(x|k) = Σ_j log φ_{j,x_j|k},   φ_{jv|k} = (n_jvk + a_v) / (n_jk + Σ_v a_v)

The values themselves are stored, not codes, so they may be text. A value that was never seen is, by
default, left out of the product. Numbers to be cut into bins are counted on a fine grid; the bins
are chosen in `solve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import column_range, gather_scores, tally_codes, unique_codes
from genus.arrays import labels
from genus.arrays.labels import Axis, is_missing
from genus.arrays.matrix import Codes, InvalidColumn, InvalidValue, Matrix, refuse_negative, threads
from genus.families.protocol import exclude_impossible
from genus.families.sums import Needs
from genus.solve.grid import Bins, Grid
from genus.solve.smoothing import Smoothing, finite_part, leave_one_out_alpha, log_ratio, of_column
from genus.statistics import Tally

Array = NDArray[np.float64]

KINDS = {"number": "numbers", "text": "text", "object": "other objects"}  # in messages
MOST_CODES = 1 << 16  # whole numbers below are codes; larger ones are only names of categories
TABLE = 1 << 20  # cells of the largest table that is counted by direct look-up for few rows


@dataclass(frozen=True, eq=False)
class Column:
    """The possible `values` of a column, and their `counts` (K, values).

    With `edges`, the values are the numbers of the bins between and beyond the edges. Then `cells`
    and `weights` are the cells of the column's grid and their weights, from which numbers within a
    bin are drawn; `cells` is None if users gave the edges. With `is_code`, the values are 0, 1, …
    and equal their positions.
    """

    values: Axis
    counts: Array
    is_code: bool = False
    edges: Array | None = None
    cells: NDArray[np.int64] | None = None
    weights: Array | None = None


@dataclass(frozen=True, eq=False)
class CategoricalParameters:
    """The columns, and their tables stacked in one array.

    `table` (T, K) holds log φ. The rows of column j start at `offsets[j]`: one for each value, and
    a last one for all unseen values. `pseudo` (T,) are their pseudo-counts.
    """

    columns: tuple[Column, ...]
    offsets: NDArray[np.int64]
    pseudo: Array
    table: Array
    alpha: float | None = None

    def rows(self, j: int) -> slice:
        """Return the rows of column j in the table; the last one is for unseen values."""
        return slice(int(self.offsets[j]), int(self.offsets[j + 1]))


@dataclass(frozen=True, eq=False)
class Categorical:
    """The categorical family, for columns of categories or, with `bins`, of numbers.

    A column of whole numbers from 0 on, all below `MOST_CODES`, is read as codes 0 … largest, as in
    scikit-learn, and has at least `min_categories` codes; with `are_names`, its numbers are names
    of categories, like text.
    `unseen`: "ignore" leaves an unseen value out of the product, "smooth" gives it the probability
    of a count of zero.
    """

    smoothing: Smoothing = field(default_factory=Smoothing)
    bins: Bins | None = None
    min_categories: Any = None
    unseen: str = "ignore"
    are_names: bool = False

    def on(self, grid: Grid) -> Categorical:
        """Return the same options for numbers that are counted by the cells of a grid."""
        return self if self.bins is None else replace(self, bins=replace(self.bins, grid=grid))

    def of_bins(self, parameters: CategoricalParameters) -> Categorical:
        """Return the same options for columns that hold the indices of the solved bins."""
        sizes = [len(column.values) for column in parameters.columns]
        return replace(self, bins=None, min_categories=sizes)

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "categorical", "bins": self.bins and self.bins.counting}

    def zero(self) -> Tally:
        return Tally(counts={"count": np.zeros((0, 0))})

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        codes, keys = self._encode(X, len(classes))
        sizes = [len(axis) for axis in keys]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        counts = tally_codes(codes, y, weight, offsets, len(classes), threads())
        return Tally.of(classes, keys, {"count": counts})

    @property
    def needs(self) -> Needs | None:
        """The counts that a database can compute; None for numbers in bins."""
        return Needs(values=True) if self.bins is None else None

    def solve(self, statistics: Tally, classes: Axis, width: int) -> CategoricalParameters:
        keys = statistics.keys or (labels.empty_axis(),) * width
        counts = statistics.align(classes)["count"]
        ends = np.cumsum([len(axis) for axis in keys])
        columns = tuple(
            self._column(j, axis, counts[:, end - len(axis) : end])
            for j, (axis, end) in enumerate(zip(keys, ends, strict=True))
        )
        smoothing, alpha = self.smoothing, None
        if smoothing.is_automatic:
            alpha = leave_one_out_alpha(column.counts for column in columns)
            smoothing = Smoothing(alpha)
        pseudo = [
            with_unseen(smoothing.pseudo_counts(len(column.values), j))
            for j, column in enumerate(columns)
        ]
        tables = [
            self._log_probability(column.counts, added)
            for column, added in zip(columns, pseudo, strict=True)
        ]
        return CategoricalParameters(
            columns=columns,
            offsets=np.cumsum([0, *map(len, pseudo)], dtype=np.int64),
            pseudo=np.concatenate([np.empty(0), *pseudo]),
            table=np.vstack([np.empty((0, len(classes))), *tables]),
            alpha=alpha,
        )

    def log_likelihood(
        self, parameters: CategoricalParameters, X: Matrix, relative: bool = False
    ) -> Array:
        codes = self._codes(parameters, X)
        return score(parameters, parameters.table, codes, raw=codes is X)

    def contributions(self, parameters: CategoricalParameters, X: Matrix) -> tuple[Array, Array]:
        codes = self._codes(parameters, X)
        if codes is X:
            refuse_negative(X)
        table = parameters.table
        table = np.where(np.isneginf(table).all(axis=1, keepdims=True), 0.0, table)
        table = np.vstack([table, np.zeros(table.shape[1])])  # the last row: no contribution
        there = (codes >= 0) & (codes < np.diff(parameters.offsets))
        at = np.where(there, np.nan_to_num(codes) + parameters.offsets[:-1], len(table) - 1)
        return table[at.astype(np.intp)], np.zeros((len(codes), table.shape[1]))

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: CategoricalParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        if not parameters.pseudo.all() or (self.bins is not None and self.bins.edges is None):
            return None
        codes = self._codes(parameters, X)
        scores = score(parameters, parameters.table, codes)
        rows, w = np.arange(len(y)), np.ones(len(y)) if weight is None else weight
        for j, column in enumerate(parameters.columns):
            known = (codes[:, j] >= 0) & (codes[:, j] < len(column.values))
            at, k, wi = codes[known, j].astype(np.intp), y[known], w[known]
            pseudo = parameters.pseudo[parameters.rows(j)]
            # The row's own class: (n_v - w + a_v) / (n - w + Σa).
            total = np.maximum(column.counts.sum(axis=1)[k] - wi, 0) + pseudo[:-1].sum()
            own = np.log(np.maximum(column.counts[k, at] - wi, 0) + pseudo[at]) - np.log(total)
            table = parameters.table[parameters.rows(j)]
            scores[rows[known], k] += own - table[at, k]
            # Without the row, a value that only this row has is unseen.
            single = self._is_single(column, j, at, wi)
            if single.any():
                if self.unseen != "ignore":
                    return None
                alone = rows[known][single]
                scores[alone] -= table[at[single]]
                scores[alone, k[single]] -= (own - table[at, k])[single]
        return scores

    def sample(
        self, parameters: CategoricalParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        drawn = []
        for j, column in enumerate(parameters.columns):
            φ = np.exp(parameters.table[parameters.rows(j), k][:-1])
            if len(φ) == 0:  # no value was ever seen
                drawn.append(np.full(n, np.nan))
                continue
            if not φ.any():  # the class has no value here, and alpha is 0: draw any
                φ = np.ones_like(φ)
            value = rng.choice(len(φ), size=n, p=φ / φ.sum())
            if self.bins is not None and column.edges is not None:
                drawn.append(self.bins.shift + numbers(self.bins, column, value, rng))
            else:
                drawn.append(column.values[value])
        if all(values.dtype.kind in "biuf" for values in drawn):
            return np.stack(drawn, axis=1)
        table = np.empty((n, len(drawn)), dtype=object)
        for j, values in enumerate(drawn):
            table[:, j] = values
        return table

    def _column(self, j: int, axis: Axis, counts: Array) -> Column:
        """Return the values of a column: its bins, its codes, or the values that were seen."""
        if self.bins is not None:
            edges = self.bins.solve(axis, counts, j)
            at = self.bins.merge(axis, edges, j)
            binned = np.array([np.bincount(at, own, len(edges) + 1) for own in counts])
            binned = binned.reshape(len(counts), len(edges) + 1)
            cells = axis if self.bins.given(j) is None else None
            weights = counts.sum(axis=0)
            values = np.arange(len(edges) + 1)
            return Column(values, binned, False, edges, cells, weights)
        if self.are_names or not is_code(axis):
            return Column(axis, counts)
        least = of_column(self.min_categories, j) or 0
        size = max(int(axis[-1]) + 1 if len(axis) else 0, int(least))
        index = axis.astype(np.intp)
        return Column(np.arange(size), labels.spread(counts, index, size, axis=1), True)

    def _log_probability(self, counts: Array, pseudo: Array) -> Array:
        """Return log φ, (values + 1, K)."""
        counts = np.hstack([counts, np.zeros((len(counts), 1))])
        total = counts.sum(axis=1, keepdims=True) + pseudo[:-1].sum()
        table = log_ratio(counts + pseudo, total).T
        if self.unseen == "ignore" or len(table) == 1:
            table[-1] = 0.0  # no value was ever seen
        return table

    def _is_single(
        self, column: Column, j: int, at: NDArray[np.intp], w: Array
    ) -> NDArray[np.bool_]:
        """Return a mask, (m,), of the rows whose value would be unseen without the row."""
        if column.edges is not None:
            return np.zeros(len(at), dtype=bool)
        single = column.counts.sum(axis=0)[at] <= w
        if column.is_code:  # codes below the largest stay known
            last = len(column.values) - 1
            single &= (at == last) & (last >= (of_column(self.min_categories, j) or 0))
        return single

    def _encode(self, X: Matrix, n_classes: int) -> tuple[NDArray[Any], tuple[Axis, ...]]:
        """Return codes (m, n), -1 or NaN if missing, and the keys that they stand for."""
        m, n = X.shape
        if self.bins is not None:
            columns = [bin_keys(self.bins, X, j) for j in range(n)]
        else:
            if X.dtype.kind in "biuf":
                _, largest = whole_range(X)
                sizes = largest + 1
                if n_classes * sizes.sum() <= max(TABLE, m * n):
                    return X, tuple(np.arange(int(size)) for size in sizes)
            columns = [factorize(X[:, j], j) for j in range(n)]
        codes = np.empty((m, n), dtype=np.int64, order="F")
        for j, (_, column) in enumerate(columns):
            codes[:, j] = column
        return codes, tuple(axis for axis, _ in columns)

    def _codes(self, parameters: CategoricalParameters, X: Matrix) -> NDArray[Any]:
        """Return positions in `Column.values` (m, n): -1 or NaN if missing, too large if unseen."""
        numeric = X.dtype.kind in "biuf"
        if self.bins is None and numeric:
            if all(column.is_code for column in parameters.columns) and self.unseen == "ignore":
                return X
            refuse_negative(X)
        codes = np.empty(X.shape, dtype=np.int64, order="F")
        for j, column in enumerate(parameters.columns):
            if self.bins is not None and column.edges is not None:
                x = as_numbers(X, j)
                at = self.bins.assign(x, column.edges)
                codes[:, j] = np.where(np.isnan(x), -1, at)
            else:
                axis, inverse = factorize(X[:, j], j)
                refuse_other_kind(axis, column.values, j)
                at = labels.find(axis, column.values)
                at = np.append(np.where(at < 0, len(column.values), at), -1)
                codes[:, j] = at[inverse]
        return codes


def score(
    parameters: CategoricalParameters, table: Array, codes: NDArray[Any], raw: bool = False
) -> Array:
    """Return Σ_j table[value of column j], (m, K); `raw` codes are from users and checked."""
    finite, never = finite_part(table)
    scores, known = gather_scores(codes, finite, parameters.offsets, threads())
    if raw and not known:
        refuse_negative(codes)
    if never is None:
        return scores
    hits, _ = gather_scores(codes, never, parameters.offsets, threads())
    return exclude_impossible(scores, hits)


def with_unseen(pseudo: Array) -> Array:
    """Append the pseudo-count of unseen values, which is the mean of the others."""
    return np.append(pseudo, pseudo.mean() if len(pseudo) else 1.0)


def refuse_other_kind(asked: Axis, learned: Axis, j: int) -> None:
    """Raise an error if text is looked up in a column of numbers, or the reverse."""
    if len(asked) and len(learned) and labels.kind(asked) != labels.kind(learned):
        raise InvalidColumn(
            j,
            f"holds {KINDS[labels.kind(asked)]} ({labels.show(asked[0])}), but the model was "
            f"fitted to {KINDS[labels.kind(learned)]} ({labels.show(learned[0])}). Convert the "
            "column.",
        )


def is_code(axis: Axis) -> bool:
    """Return whether the keys, which are not negative, are whole numbers below `MOST_CODES`."""
    if axis.dtype.kind not in "biuf":
        return False
    return bool((axis == np.floor(axis)).all() and (axis < MOST_CODES).all())


def whole_range(X: Matrix) -> tuple[Array, Array]:
    """Return the smallest and largest value by column; the largest is ∞ if any is a fraction.

    Raise an error for negative and infinite values.
    """
    least, largest, whole, _ = column_range(X, threads())
    if (least < 0).any() or np.isposinf(largest).any():
        refuse_negative(X)
    return least, np.where(whole, np.maximum(largest, -1), np.inf)


def factorize(column: NDArray[Any], j: int) -> tuple[Axis, NDArray[np.int64]]:
    """Return a column's distinct values, ascending, and each row's position; -1 if missing."""
    if column.dtype == np.uint64 and len(column) and column.max() > np.iinfo(np.int64).max:
        return labels.factorize(column)
    if column.dtype.kind in "biu":
        return unique_codes(column.astype(np.int64), threads())
    if column.dtype.kind == "f":
        values, codes = unique_codes(column.astype(np.float64), threads())
        whole = bool((values == np.floor(values)).all()) and bool((np.abs(values) < 2**53).all())
        return (values.astype(np.int64) if whole else values), codes
    items = column.tolist()
    refuse_containers(items, j)
    distinct = {item for item in items if not is_missing(item)}
    if any(isinstance(item, str) for item in distinct):
        odd = next((item for item in distinct if not isinstance(item, str)), None)
        if odd is not None:
            raise InvalidColumn(
                j,
                f"holds text and {type(odd).__name__} ({odd!r}). Convert it to one kind, for "
                "instance with str().",
            )
        ordered = sorted(distinct)
        index = {item: i for i, item in enumerate(ordered)}
        return np.array(ordered, dtype=object), np.fromiter(
            (index.get(item, -1) for item in items), dtype=np.int64, count=len(items)
        )
    if distinct and all(isinstance(item, int | np.integer) for item in distinct):
        return factorize_whole(items, distinct, j)
    wide = [item for item in distinct if isinstance(item, int | np.integer)]
    if any(abs(int(item)) > labels.LARGEST_EXACT for item in wide):
        raise InvalidColumn(
            j,
            f"holds fractions and whole numbers beyond 2**53 ({max(wide)}). Convert the whole "
            "column to text.",
        )
    try:
        as_floats = np.array([np.nan if is_missing(item) else item for item in items], dtype=float)
    except OverflowError:
        raise InvalidColumn(
            j, "holds a number too large for floats. Convert the whole column to text."
        ) from None
    except (TypeError, ValueError):
        odd = next(item for item in distinct if not isinstance(item, int | float))
        raise InvalidColumn(
            j,
            f"holds {type(odd).__name__} ({odd!r}); categories are text or numbers. Convert dates "
            "and other values to text first.",
        ) from None
    try:
        whole_range(as_floats[:, None])
    except InvalidValue as error:
        raise InvalidValue(error.row, j, error.value, error.too_small) from None
    return factorize(as_floats, j)


def factorize_whole(items: list[Any], distinct: set[Any], j: int) -> tuple[Axis, Codes]:
    """Factorise whole numbers of up to 64 bits, even if they would be equal as floats."""
    ordered = sorted(map(int, distinct))
    if ordered[0] < 0:
        row = next(i for i, item in enumerate(items) if not is_missing(item) and item < 0)
        raise InvalidValue(row, j, float(items[row]), too_small=True)
    if ordered[-1] > np.iinfo(np.uint64).max:
        raise InvalidColumn(
            j, "holds a number too large for 64 bits. Convert the whole column to text."
        )
    dtype: Any = np.int64 if ordered[-1] <= np.iinfo(np.int64).max else np.uint64
    index = {item: i for i, item in enumerate(ordered)}
    codes = (-1 if is_missing(item) else index[item] for item in items)
    return np.array(ordered, dtype=dtype), np.fromiter(codes, dtype=np.int64, count=len(items))


def refuse_containers(items: list[Any], j: int) -> None:
    """Raise an error if a value is a list or another container."""
    containers = {list, tuple, dict, set, np.ndarray} & set(map(type, items))
    if containers:
        item = next(item for item in items if type(item) in containers)
        raise InvalidColumn(
            j,
            f"holds a {type(item).__name__} ({str(item)[:40]}); a value must be text or a number.",
        )


def as_numbers(X: Matrix, j: int) -> Array:
    """Return column j as float64, with NaN for missing values."""
    column = X[:, j]
    try:
        if column.dtype.kind == "O":
            refuse_containers(column.tolist(), j)
            column = np.array([np.nan if is_missing(item) else item for item in column.tolist()])
        x = column.astype(np.float64)
    except OverflowError:
        raise InvalidColumn(
            j, "holds a number too large for a float. Scale the column to other units."
        ) from None
    except (TypeError, ValueError):
        raise InvalidColumn(
            j,
            "holds text, dates or other values that are not numbers and cannot be cut into bins. "
            "Leave the column out, or use bins=None, which reads every column as categories.",
        ) from None
    if np.isinf(x).any():
        row = int(np.argmax(np.isinf(x)))
        raise InvalidValue(row, j, float(x[row]), too_small=False)
    return np.ascontiguousarray(x)


def bin_keys(bins: Bins, X: Matrix, j: int) -> tuple[Axis, NDArray[np.int64]]:
    """Return a column's distinct grid keys, and each row's position among them."""
    x = as_numbers(X, j)
    there = ~np.isnan(x)
    codes = np.full(len(x), -1, dtype=np.int64)
    keys, codes[there] = unique_codes(bins.keys(x[there], j), threads())
    return keys, codes


def numbers(
    bins: Bins, column: Column, bin_of_row: NDArray[np.intp], rng: np.random.Generator
) -> Array:
    """Draw a number from each row's bin: from its cells by their weights, else uniformly.

    On a grid, the number is the smallest of its cell, so that whole numbers stay whole.
    """
    edges = column.edges
    assert edges is not None
    assert column.weights is not None
    width = np.ptp(edges) / (len(edges) - 1) if len(edges) > 1 else 1.0
    inner = edges if len(edges) else np.zeros(1)
    bounds = np.concatenate([inner[:1] - width, edges, inner[-1:] + width])
    x = rng.uniform(bounds[bin_of_row], bounds[bin_of_row + 1])
    if column.cells is not None:
        at = np.searchsorted(edges, bins.bounds(column.cells), side="right")
        for one in np.unique(bin_of_row):
            inside = np.flatnonzero(at == one)
            weights = column.weights[inside]
            rows = np.flatnonzero(bin_of_row == one)
            if weights.sum() > 0:
                drawn = column.cells[rng.choice(inside, size=len(rows), p=weights / weights.sum())]
                low, high = bins.bounds(drawn), bins.bounds(drawn + 1)
                x[rows] = low if bins.grid is not None else rng.uniform(low, high)
    return x


def in_bins() -> Categorical:
    """Return the family that cuts numbers into bins where the shares of classes change."""
    return Categorical(bins=Bins("mdlp"))
