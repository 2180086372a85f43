"""Compute the distribution of a column: p(x|k) of each class, and a histogram of rows.

A column of numbers has a density curve for each class, over bars of equal width. Some families give
probabilities to whole numbers or to single values. Then the column has the share of each value
instead, like a column of categories.

Symbols: K classes, m points, S values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.display import text as shown
from genus.registry import FAMILIES
from genus.table import Column, Frame, Values
from genus.table.model import marginals
from genus.table.model.marginals import Bins, Counted, Distribution, Marginal, of_columns
from genus.table.read.packing import listed

Array = NDArray[np.float64]
POINTS = 160
MOST_BARS = 40
MOST_VALUES = 12  # categories that are drawn
MOST_ROWS = 20_000
TRIMMED = 0.005  # share of values at either end that may be left out if they stretch the figure


@dataclass(frozen=True, eq=False)
class Observed:
    """The values of a column that are not missing, and their weights."""

    values: NDArray[Any]
    weight: Array

    @property
    def total(self) -> float:
        return max(float(self.weight.sum()), 1e-300)

    def quantile(self, q: float) -> float:
        """Return the number below which the share q of the weight lies."""
        order = np.argsort(self.values)
        reached = np.cumsum(self.weight[order]) / self.total
        at = min(int(np.searchsorted(reached, q)), len(order) - 1)
        return float(self.values[order][at])


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves p(x|k), (K, m), at points x (m,), and a histogram of all rows with bars between edges.

    If `is_shares`, x are the only possible values, and p and bars are shares instead of densities.
    `beyond` is the share of values left and right of the picture.
    """

    name: str
    family: str
    classes: NDArray[Any]
    x: Array
    p: Array
    edges: Array
    bars: Array
    is_shares: bool = False
    is_date: bool = False
    beyond: float = 0.0

    def told(self, value: float) -> str:
        """Format a number of this column."""
        return shown.date(value) if self.is_date else shown.number(value)

    def peak(self, k: int) -> str:
        """Say where the curve of a class is highest: at a point, or in a bin."""
        low, high = self.x[np.flatnonzero(self.p[k] == self.p[k].max())[[0, -1]]]
        told = self.told(low), self.told(high)
        return f"at {told[0]}" if told[0] == told[1] else f"from {told[0]} to {told[1]}"


@dataclass(frozen=True, eq=False)
class Shares:
    """p(value|k), (S, K), and the share of each value in the data (S,), the largest first.

    `more` is the number of further values.
    """

    name: str
    family: str
    classes: NDArray[Any]
    values: list[str]
    p: Array
    bars: Array
    more: int = 0


def density(model: Any, column: str, rows: Frame | None = None) -> Curves | Shares:
    """Return a column's distribution in each class of a fitted model, over a histogram of `rows`.

    Without `rows`, the histogram is of all rows that the model has counted.
    """
    j, own = position(model, column)
    marginal = model.model_.parameters.marginals[j]
    if marginal is None:
        raise ValueError(f"Column {column!r} holds texts, which have no density to draw.")
    seen = counted(model, j) if rows is None else given(rows.columns[j])
    if own.kind == "category":
        return shares(own, marginal, model.classes_, seen)
    if not own.is_date and is_binary(model, j) and is_zero_or_one(seen):
        return of_zeros_and_ones(model, j, own, marginal, seen)
    return curves(own, marginal, model.classes_, seen)


def position(model: Any, name: str) -> tuple[int, Column]:
    """Return the position of a column among those in use, and the column itself."""
    used = model.plan_.used
    for j, column in enumerate(used):
        if column.name == name:
            return j, column
    raise ValueError(
        f"The model uses no column {name!r}. It uses {listed([column.name for column in used])}."
    )


def holds_dates(column: Column) -> bool:
    """Return whether a column of numbers counts days since 1970."""
    return column.kind == "number" and column.is_date


def counted(model: Any, j: int) -> Observed:
    """Return the values of a column that a model has counted, weighted by their counts."""
    own = counts_of(model, j)
    return Observed(np.asarray(own.values), own.counts.sum(axis=0))


def counts_of(model: Any, j: int) -> Counted:
    """Return the counts of a column that holds no texts."""
    statistics = model.model_.statistics
    (own,) = of_columns(model.plan_, statistics, model.classes_, model.class_count_, [j])
    assert own is not None
    return own


def given(values: Any) -> Observed:
    """Return the values of some rows; if there are many, an evenly spaced part."""
    step = -(-max(len(values), 1) // MOST_ROWS)
    if isinstance(values, Values):
        codes = values.codes[::step]
        weight = np.bincount(codes[codes >= 0], minlength=len(values.names))
        return Observed(values.names, weight.astype(np.float64))
    numbers = values[::step]
    numbers = numbers[~np.isnan(numbers)]
    return Observed(numbers, np.ones(len(numbers)))


def curves(column: Column, marginal: Marginal, classes: Any, seen: Observed) -> Curves:
    """Return the curves of a column of numbers."""
    family = marginal.spread
    assert family is not None
    low, high = span(family, len(classes), seen)
    is_date = holds_dates(column)
    if has_shares(family):
        x = whole_values(family, low, high)
        edges = between(x)
        bars = share_of(seen, edges)
        return Curves(
            column.name, marginal.family, classes, x, likelihood(family, x), edges, bars, True,
            is_date, 1 - float(bars.sum()) if len(seen.values) else 0.0,
        )  # fmt: skip
    edges = bar_edges(seen, low, high)
    bars = share_of(seen, edges)
    beyond = 1 - float(bars.sum()) if len(seen.values) else 0.0
    if isinstance(family, Bins):
        inner = family.edges[(family.edges > low) & (family.edges < high)]
        bounds = np.concatenate([[low], inner, [high]])
        p = np.repeat(likelihood(family, (bounds[1:] + bounds[:-1]) / 2), 2, axis=1)
        x = np.repeat(bounds, 2)[1:-1]
    else:
        x = np.linspace(low, high, POINTS)
        p = likelihood(family, x)
    return Curves(
        column.name, marginal.family, classes, x, p, edges, bars / np.diff(edges), False, is_date,
        max(beyond, 0.0),
    )  # fmt: skip


def is_binary(model: Any, j: int) -> bool:
    """Return whether the model has counted only 0 and 1 in a column."""
    return is_zero_or_one(counted(model, j))


def is_zero_or_one(seen: Observed) -> bool:
    """Return whether all values are 0 or 1."""
    return len(seen.values) > 0 and bool(np.isin(seen.values, (0.0, 1.0)).all())


def of_zeros_and_ones(
    model: Any, j: int, column: Column, marginal: Marginal, seen: Observed
) -> Shares:
    """Return the shares of 0 and 1 that were counted in each class."""
    own = counts_of(model, j)
    counts = np.zeros((2, len(model.classes_)))
    counts[np.asarray(own.values, dtype=int)] = own.counts.T
    total = counts.sum(axis=0)
    p = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    bars = np.array([seen.weight[seen.values == value].sum() for value in (0, 1)]) / seen.total
    return Shares(column.name, marginal.family, model.classes_, ["0", "1"], p, bars, 0)


def shares(column: Column, marginal: Marginal, classes: Any, seen: Observed) -> Shares:
    """Return the shares of a column of categories."""
    table = marginal.spread
    assert isinstance(table, marginals.Values)
    at = {str(value): i for i, value in enumerate(table.axis.tolist())}
    found = dict(zip(map(str, seen.values.tolist()), seen.weight.tolist(), strict=True))
    values = sorted({*at, *(v for v, w in found.items() if w > 0)}, key=lambda v: -found.get(v, 0))
    kept = values[:MOST_VALUES]
    known = np.exp(table.log_p[:-1])
    p = np.array([known[at[v]] if v in at else np.zeros(len(classes)) for v in kept])
    bars = np.array([found.get(v, 0.0) for v in kept]) / seen.total
    return Shares(
        column.name, marginal.family, classes, kept, p.reshape(len(kept), len(classes)), bars,
        len(values) - len(kept),
    )  # fmt: skip


def has_shares(family: Distribution) -> bool:
    """Return whether single values have probabilities instead of a density."""
    return isinstance(family, marginals.Values) or FAMILIES[family.name].whole


def likelihood(family: Distribution, x: Array) -> Array:
    """Return p(x|k), (K, m)."""
    return np.exp(family.score(x) + family.common(x)[:, None]).T


def span(family: Distribution, classes: int, seen: Observed) -> tuple[float, float]:
    """Return the range to draw, which covers the values except a few outliers.

    If no values are known, it is the range that the model expects.
    """
    if len(seen.values) == 0:
        rng = np.random.default_rng(0)
        drawn = [family.sample(k, POINTS, rng) for k in range(classes)]
        seen = given(np.concatenate(drawn).astype(np.float64))
    low, high = float(seen.values.min()), float(seen.values.max())
    inner = seen.quantile(TRIMMED), seen.quantile(1 - TRIMMED)
    width = inner[1] - inner[0]
    if width > 0 and high - low > 2 * width:
        low, high = max(low, inner[0] - width / 10), min(high, inner[1] + width / 10)
    if low == high:
        half = max(abs(low), 1.0) / 2
        return low - half, high + half
    return low, high


def whole_values(family: Distribution, low: float, high: float) -> Array:
    """Return the values that have shares, within the range that is drawn."""
    if isinstance(family, marginals.Values):
        axis = np.asarray(family.axis, dtype=np.float64)
        inside = axis[(axis >= low) & (axis <= high)]
        return inside if len(inside) else axis[:1]
    low, high = max(np.floor(low), 0.0), np.ceil(high)
    return np.arange(low, high + 1, max(1.0, np.ceil((high - low) / POINTS)))


def between(x: Array) -> Array:
    """Return the edges of bars around points; the outer bars extend by half the smallest step."""
    if len(x) < 2:
        return np.array([x[0] - 0.5, x[0] + 0.5]) if len(x) else np.array([0.0, 1.0])
    half = np.diff(x).min() / 2
    return np.concatenate([[x[0] - half], (x[1:] + x[:-1]) / 2, [x[-1] + half]])


def bar_edges(seen: Observed, low: float, high: float) -> Array:
    """Return equally spaced edges: around whole numbers, or by the Freedman-Diaconis rule."""
    values = seen.values
    if len(values) and high - low <= MOST_BARS and np.all(values == np.floor(values)):
        return np.arange(np.floor(low) - 0.5, np.ceil(high) + 1)
    middle = seen.quantile(0.75) - seen.quantile(0.25) if len(values) else 0.0
    wide = 2 * middle / seen.total ** (1 / 3)
    bars = int(np.clip((high - low) / wide if wide > 0 else 10, 8, MOST_BARS))
    return np.linspace(low, high, bars + 1)


def share_of(seen: Observed, edges: Array) -> Array:
    """Return the share of values between each pair of neighbouring edges."""
    if len(seen.values) == 0:
        return np.zeros(len(edges) - 1)
    return np.histogram(seen.values, edges, weights=seen.weight)[0] / seen.total
