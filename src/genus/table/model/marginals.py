"""p(x_j|k) of one column of a table, by the family that predicts the class best, leaving one out.

All candidates are solved from the same counts: n_vk rows of class k in cell v of a column (cells of
the fine grid for numbers, the values themselves for categories), and sums of numbers by class. A
candidate's gain is the mean of log p(k|v) - log p(k) over rows, each by the counts of all others:

    p(k|v) ∝ (n_k - 1) p(v|k without the row),   and for other classes c  n_c p(v|c).

Rows in one cell of one class are alike, so that a sum over cells is a sum over rows. A column that
gains nothing by itself has no family, and no part in the product.

Symbols: K classes, V cells, α pseudo-count, S bins or values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.solve.grid import Bins, Grid
from genus.statistics import Compound
from genus.table import Plan

Array = NDArray[np.float64]
LOG_2π = float(np.log(2 * np.pi))
ALPHA = 1.0
FLOOR = 1e-9  # of a variance, as a share of the column's own
ROUNDING = 1e-9
FARTHEST_Z = 1e6  # standard deviations that a number is taken to be off at most
LARGEST_RATE = 1e15
NOTHING = 1e-9  # nats a row
CELL = 2.0**-11  # the least width of a bin, as a share of what a column spans
FARTHEST = 700.0  # widths of a bin that a number is taken to be off at most
EXACT = 2048.0  # whole numbers below have cells of their own
FEW = 64  # distinct whole numbers that may be categories
ALONE_NOTHING = "no family"


class Distribution(Protocol):
    """p(x|k) of the values of a column that are there."""

    def score(self, values: Any) -> Array:
        """log p(x|k), (m, K), up to a term that is the same for all classes."""

    def common(self, values: Any) -> Array:
        """That term, (m,)."""

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """n values of class k."""


@dataclass(frozen=True, eq=False)
class Normal:
    """x|k ~ N(μ_k, σ_k²)."""

    mean: Array
    variance: Array

    def score(self, values: Array) -> Array:
        z = (values[:, None] - self.mean) / np.sqrt(self.variance)
        z = np.clip(z, -FARTHEST_Z, FARTHEST_Z)
        return -0.5 * (z * z + np.log(self.variance))

    def common(self, values: Array) -> Array:
        return np.full(len(values), -0.5 * LOG_2π)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return rng.normal(self.mean[k], np.sqrt(self.variance[k]), n)


@dataclass(frozen=True, eq=False)
class Poisson:
    """x|k ~ Poisson(λ_k)."""

    rate: Array

    def score(self, values: Array) -> Array:
        return values[:, None] * np.log(self.rate) - self.rate

    def common(self, values: Array) -> Array:
        return -gammaln(np.maximum(values, 0) + 1)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        return rng.poisson(min(self.rate[k], LARGEST_RATE), n).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Table:
    """p(value|k), (S, K), of the values of an axis; one that is not on it says nothing."""

    axis: Axis
    log_p: Array
    grid: Grid | None = None

    def codes(self, values: Any) -> NDArray[np.intp]:
        """Where each value stands on the axis, -1 if it does not; numbers by their cells."""
        if isinstance(values, np.ndarray):
            assert self.grid is not None
            return labels.find(self.grid.keys(values), self.grid.keys(self.axis))
        at = labels.find(values.names, self.axis)
        return np.append(at, -1)[values.codes]

    def score(self, values: Any) -> Array:
        return np.vstack([self.log_p, np.zeros(self.log_p.shape[1])])[self.codes(values)]

    def common(self, values: Any) -> Array:
        # What was never seen is as rare as what was seen least.
        least = self.log_p.min(initial=0.0)
        return np.where(self.codes(values) < 0, least, 0.0)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        if len(self.axis) == 0:
            return np.full(n, None, dtype=object)
        p = np.exp(self.log_p[:, k])
        return self.axis[rng.choice(len(p), size=n, p=p / p.sum())]


@dataclass(frozen=True, eq=False)
class Histogram:
    """p(bin|k), (S, K), of bins between edges; within a bin all classes are alike.

    `values` and `weights` say where the numbers of the column were, in whatever class. Beyond them
    the density decays with the width of the outer bin.
    """

    edges: Array
    log_p: Array
    values: Array
    weights: Array

    @property
    def low(self) -> float:
        """The least number that was seen."""
        return float(self.values.min(initial=np.inf)) if len(self.values) else 0.0

    @property
    def high(self) -> float:
        """The largest."""
        return float(self.values.max(initial=-np.inf)) if len(self.values) else 0.0

    def codes(self, values: Array) -> NDArray[np.intp]:
        """The bin of each number."""
        return np.searchsorted(self.edges, values, side="right")

    def score(self, values: Array) -> Array:
        return self.log_p[self.codes(values)]

    def common(self, values: Array) -> Array:
        bounds = np.concatenate([[self.low], self.edges, [self.high]])
        span = self.high - self.low
        least = CELL * (span if span > 0 else max(abs(self.high), 1.0))
        own = np.maximum(np.diff(bounds), least)[self.codes(values)]
        beyond = np.maximum(np.maximum(self.low - values, values - self.high), 0.0)
        return -np.log(own) - np.minimum(beyond / own, FARTHEST)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        if len(self.values) == 0:
            return np.zeros(n)
        within = self.codes(self.values)
        total = np.bincount(within, self.weights, len(self.log_p))
        p = np.exp(self.log_p[within, k]) * self.weights / np.maximum(total[within], 1e-300)
        return rng.choice(self.values, size=n, p=p / p.sum())


@dataclass(frozen=True, eq=False)
class Marginal:
    """One column: its `family`, its distribution, and what every candidate would gain, in nats.

    `absent` (2, K) are log p(there|k) and log p(missing|k), zeros if that is no evidence, which
    `missing_gain` says. `missing` (K,) are shares of rows. `spread` is the distribution that values
    are drawn from, also of a column that is left out of the product.
    """

    family: str
    gains: Mapping[str, float]
    distribution: Distribution | None
    absent: Array
    missing_gain: float = 0.0
    missing: Array = field(default_factory=lambda: np.zeros(0))
    spread: Distribution | None = None

    def score(self, values: Any) -> Array:
        """log p(x_j|k), (m, K), up to a term that is the same for all classes."""
        return self._filled(values, lambda there: self._scores(there), self.absent)

    def _scores(self, there: Any) -> Array:
        if self.distribution is None:
            return np.zeros((len(there), self.absent.shape[1]))
        return self.distribution.score(there)

    def common(self, values: Any) -> Array:
        """The term that is the same for all classes, (m,)."""
        if self.distribution is None:
            return np.zeros(len(values))
        distribution = self.distribution
        return self._filled(
            values, lambda there: distribution.common(there)[:, None], np.zeros((2, 1))
        )[:, 0]

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """n values of class k, None where missing."""
        out = np.full(n, None, dtype=object)
        there = rng.random(n) >= self.missing[k]
        count = int(there.sum())
        if self.spread is not None and count:
            out[there] = self.spread.sample(k, count, rng)
        return out

    def _filled(self, values: Any, of_there: Any, absent: Array) -> Array:
        missing = is_missing(values)
        if not missing.any():
            return of_there(values) + absent[0]
        there = np.flatnonzero(~missing)
        out = np.tile(absent[1], (len(values), 1))
        kept = values[there] if isinstance(values, np.ndarray) else values.take(there)
        out[there] = of_there(kept) + absent[0]
        return out


def is_missing(values: Any) -> NDArray[np.bool_]:
    """Which values of a column are missing, (m,)."""
    return np.isnan(values) if isinstance(values, np.ndarray) else values.codes < 0


# Solving


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted of a column: `counts` (K, V) by cell or value, and the classes' weights.

    Of numbers also `mean` and `variance` (K,) and the `grid` of their cells.
    """

    axis: Axis
    counts: Array
    weights: Array
    mean: Array | None = None
    variance: Array | None = None
    grid: Grid = field(default_factory=Grid)

    @property
    def is_number(self) -> bool:
        return self.mean is not None

    @property
    def values(self) -> Axis:
        """The values of the cells."""
        return self.grid.values(self.axis) if self.is_number else self.axis

    @property
    def there(self) -> Array:
        """The weight of rows of each class that have a value, (K,)."""
        return self.counts.sum(axis=1)


def of_columns(
    plan: Plan, statistics: Compound, classes: Axis, rows: Array
) -> list[Counted | None]:
    """What was counted of each column in use; None of texts.

    Without sums of the numbers themselves their means and variances are those of the cells.
    """
    tally, numbers = statistics["cells"], statistics.parts.get("numbers")
    plain = [column for column in plan.used if column.kind != "text"]
    axes = tally.keys or (labels.empty_axis(),) * len(plain)
    counts = tally.align(classes, 0)["rows"]
    ends = np.cumsum([0, *map(len, axes)])
    width = sum(column.kind == "number" for column in plain)
    if numbers is not None:
        moments = numbers.align(classes, width)
        means, variances = moments.mean(), moments.variance()
    found: list[Counted | None] = []
    j = at = 0
    for column in plan.used:
        if column.kind == "text":
            found.append(None)
            continue
        own = counts[:, ends[j] : ends[j + 1]]
        if column.kind == "number":
            if numbers is None:
                mean, variance = moments_of(column.grid.values(axes[j]), own)
            else:
                mean, variance = means[:, at], variances[:, at]
            at += 1
            found.append(Counted(axes[j], own, rows, mean, variance, column.grid))
        else:
            found.append(Counted(axes[j], own, rows))
        j += 1
    return found


def moments_of(values: Array, counts: Array) -> tuple[Array, Array]:
    """Mean and variance by class (K,) of so many values each, counts (K, V)."""
    total = np.maximum(counts.sum(axis=1), 1e-300)
    mean = counts @ values / total
    squares = np.einsum("kv,kv->k", counts, (values - mean[:, None]) ** 2)
    return mean, squares / total


def solve(counted: Counted, family: str | None = None) -> Marginal:
    """The marginal of a column under a family, or the candidate that gains most."""
    made = {name: SOLVED[name](counted) for name in candidates(counted, family)}
    gains = {name: gain for name, (_, gain) in made.items()}
    if family is None:
        gains[ALONE_NOTHING] = 0.0
    chosen = max(gains, key=lambda name: gains[name])
    if family is None and gains[chosen] <= NOTHING:
        chosen = ALONE_NOTHING
    distribution = made[chosen][0] if chosen in made else None
    spread = distribution or made[max(made, key=lambda name: gains[name])][0]
    absent, missing_gain, missing = missing_evidence(counted)
    return Marginal(chosen, gains, distribution, absent, missing_gain, missing, spread)


def candidates(counted: Counted, family: str | None) -> list[str]:
    """The families that a column may have."""
    if family is not None:
        return [family]
    if not counted.is_number:
        return ["bernoulli" if len(counted.axis) <= 2 else "categorical"]
    x = counted.values
    whole = bool(np.all(x == np.floor(x)))
    found = ["gaussian", "discretised"]
    if whole and len(x) and x.min() >= 0 and x.max() < EXACT:
        found.append("poisson")
    if whole and len(x) <= FEW and np.abs(x).max(initial=0) < EXACT:
        found.append("categorical")
    return found


def categorical(counted: Counted) -> tuple[Distribution, float]:
    """p(value|k), with α rows of every value."""
    n = counted.counts
    log_p, own = shares(n)
    grid = counted.grid if counted.is_number else None
    # A value that one row alone has is not known without it, and says nothing.
    single = n.sum(axis=0) <= 1
    told = gain(n, np.where(single, 0.0, log_p), np.where(single, 0.0, own))
    return Table(counted.values, log_p.T, grid), told


def discretised(counted: Counted) -> tuple[Distribution, float]:
    """p(bin|k) of bins by MDLP, with α rows in every bin."""
    n, bins = counted.counts, Bins("mdlp")
    edges = bins.solve(counted.axis, n, 0, counted.grid.values)
    at = np.searchsorted(edges, counted.values, side="right")
    binned = np.zeros((len(n), len(edges) + 1))
    np.add.at(binned.T, at, n.T)
    log_p, own = shares(binned)
    made = Histogram(edges, log_p.T, counted.values, n.sum(axis=0))
    return made, gain(binned, log_p, own)


def shares(n: Array) -> tuple[Array, Array]:
    """log (n_vk + α) / (n_k + αS), (K, S), and the same without one row of the cell itself."""
    S = n.shape[1]
    if S == 0:
        return n, n
    total = n.sum(axis=1, keepdims=True)
    one = np.minimum(n, 1.0)
    log_p = np.log(n + ALPHA) - np.log(total + ALPHA * S)
    own = np.log(n - one + ALPHA) - np.log(total - one + ALPHA * S)
    return log_p, own


def gaussian(counted: Counted) -> tuple[Distribution, float]:
    """N(μ_k, σ_k²); a class of one value or none has the variance of all."""
    assert counted.mean is not None
    assert counted.variance is not None
    n = counted.there
    total = max(n.sum(), 1e-300)
    centre = float(n @ counted.mean / total)
    spread = float(n @ (counted.variance + (counted.mean - centre) ** 2) / total)
    spread = spread if spread > 0 else max(centre * centre, 1.0)
    mean = np.where(n > 0, counted.mean, centre)
    variance = np.where(n > 1, counted.variance, spread)
    # One more row as spread as all are: a class of few rows is not taken for narrower than it is.
    variance = np.maximum((n * variance + spread) / (n + 1), FLOOR * spread)
    x = counted.values[None]
    one = np.minimum(counted.counts, 1.0)
    d = x - mean[:, None]
    # Without a row at x: μ' = μ - d/(n-1), (n-1) s' = n s - n d²/(n-1); without any, as all are.
    left = n[:, None] - one
    alone = left <= ROUNDING * n[:, None]
    share = np.divide(one, left, out=np.zeros_like(left), where=~alone)
    shifted = np.where(alone, centre, mean[:, None] - share * d)
    scatter = (n * np.where(n > 1, counted.variance, spread))[:, None] - n[:, None] * share * d * d
    scatter = np.where(alone, 0.0, np.maximum(scatter, 0.0))
    without = np.maximum((scatter + spread) / (np.maximum(left, 0) + 1), FLOOR * spread)
    log_p = -0.5 * (d * d / variance[:, None] + np.log(variance)[:, None])
    own = -0.5 * ((x - shifted) ** 2 / without + np.log(without))
    return Normal(mean, variance), gain(counted.counts, log_p, own)


def poisson(counted: Counted) -> tuple[Distribution, float]:
    """Poisson(λ_k), with α rows at the rate of all."""
    assert counted.mean is not None
    n = counted.there
    total = n * counted.mean
    pooled = max((total.sum() + ALPHA) / (n.sum() + ALPHA), 1e-12)
    rate = np.maximum((total + ALPHA * pooled) / (n + ALPHA), 1e-12)
    x = counted.values[None]
    one = np.minimum(counted.counts, 1.0)
    left = np.maximum(total[:, None] - one * x, 0) + ALPHA * pooled
    without = left / (np.maximum(n[:, None] - one, 0) + ALPHA)
    log_p = x * np.log(rate)[:, None] - rate[:, None]
    return Poisson(rate), gain(counted.counts, log_p, x * np.log(without) - without)


# A family's distribution, and what it gains.
SOLVED: dict[str, Callable[[Counted], tuple[Distribution, float]]] = {
    "gaussian": gaussian,
    "discretised": discretised,
    "poisson": poisson,
    "categorical": categorical,
    "bernoulli": categorical,
}


def gain(n: Array, log_p: Array, own: Array) -> float:
    """The mean of log p(k|v) - log p(k) over rows, each by the counts of all others.

    `log_p` (K, V) by all rows, and `own` (K, V) without one row of that class in that cell.
    """
    weights = n.sum(axis=1)
    total = weights.sum()
    if total <= 1:
        return 0.0
    with np.errstate(divide="ignore"):
        prior, left = np.log(weights), np.log(np.maximum(weights - 1, 1e-12))
    joint = prior[:, None] + log_p
    largest = joint.max(axis=0)
    others = np.exp(joint - largest)
    rest = np.maximum(others.sum(axis=0) - others, 1e-300)
    mine = np.exp(np.minimum(left[:, None] + own - largest, 700.0))
    posterior = np.log(np.maximum(mine, 1e-300)) - np.log(mine + rest)
    before = left - np.log(total - 1)
    return float((n * (posterior - before[:, None])).sum() / total)


def missing_evidence(counted: Counted) -> tuple[Array, float, Array]:
    """log p(there|k) and log p(missing|k), (2, K), or zeros; their gain; shares missing (K,)."""
    absent = np.maximum(counted.weights - counted.there, 0.0)
    share = absent / np.maximum(counted.weights, 1e-300)
    if absent.sum() < 0.5:
        return np.zeros((2, len(absent))), 0.0, share
    log_p, found = absence(counted.there, absent)
    return (log_p.T if found > 0 else np.zeros((2, len(absent)))), found, share


def absence(there: Array, absent: Array) -> tuple[Array, float]:
    """log p(there|k) and log p(missing|k), (K, 2), and what these gain; weights by class (K,)."""
    n = np.stack([there, absent], axis=1)
    log_p, own = shares(n)
    return log_p, gain(n, log_p, own)
