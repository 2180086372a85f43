"""p(x_j|k) of one column of a table, by the family that predicts the class best, leaving one out.

All candidates are solved from the same counts: n_vk rows of class k in cell v of a column (cells of
the fine grid for numbers, the values themselves for categories), and sums of numbers by class. A
candidate's gain is the mean of log p(k|v) - log p(k) over rows, each by the counts of all others:

    p(k|v) ∝ (n_k - 1) p(v|k without the row),   and for other classes c  n_c p(v|c without it).

Rows in one cell of one class are alike, so that a sum over cells is a sum over rows. A column that
gains nothing by itself has no family, and no part in the product. The families and when they are
candidates are in `genus.registry`; their mathematics is in `genus.families`.

Symbols: K classes, V cells, P pairs of a class and a cell that have rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.arrays.matrix import class_weights
from genus.families.categorical import Categorical
from genus.families.kernel import KernelDensity
from genus.model import aligned
from genus.registry import FAMILIES, ColumnFamily, is_for
from genus.solve.grid import Bins as Cut
from genus.solve.grid import Grid
from genus.statistics import Compound, Moments, Tally, divide, settle
from genus.table import Plan

Array = NDArray[np.float64]
LEAST = -1e12  # the least log-likelihood of a number, however far it is off
NOTHING = 1e-9  # nats a row
LEAST_GAIN = -690.0  # of a row
CELL = 2.0**-11  # the least width of a bin, as a share of what a column spans
FARTHEST = 700.0  # widths of a bin that a number is taken to be off at most
ALONE_NOTHING = "no family"
IN_BINS = Cut()


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers by the family of a `name`. Those that it cannot model are no evidence."""

    name: str
    family: Any
    parameters: Any
    grid: Grid

    @property
    def steps(self) -> Axis | None:
        """The numbers at which scores change, if they are steps; None if they are a curve."""
        return None

    def score(self, values: Array) -> Array:
        """log p(x|k), (m, K), up to a term that is the same for all classes."""
        return np.maximum(self._scores(values, relative=True), LEAST)

    def common(self, values: Array) -> Array:
        """That term, (m,)."""
        full, relative = (self._scores(values, one)[:, 0] for one in (False, True))
        known = np.isfinite(relative)
        term = np.subtract(full, relative, out=np.zeros(len(full)), where=known)
        entry = FAMILIES[self.name]
        return np.where((values < entry.least) | (values > entry.most), LEAST, term)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """n values of class k."""
        return self.family.sample(self.parameters, k, n, rng)[:, 0]

    def _scores(self, values: Array, relative: bool) -> Array:
        x = modelled(FAMILIES[self.name], values, self.grid)
        return self.family.log_likelihood(self.parameters, x[:, None], relative)


@dataclass(frozen=True, eq=False)
class Bins(Numbers):
    """Numbers in bins; within a bin all classes are alike.

    Beyond what was seen the density decays with the width of the outer bin.
    """

    @property
    def edges(self) -> Array:
        """The inner edges of the bins."""
        return self.parameters.columns[0].edges

    @property
    def steps(self) -> Axis | None:
        return self.edges

    def common(self, values: Array) -> Array:
        seen = self.grid.values(self.parameters.columns[0].cells)
        low, high = (float(seen[0]), float(seen[-1])) if len(seen) else (0.0, 0.0)
        span = high - low
        least = CELL * (span if span > 0 else max(abs(high), 1.0))
        widths = np.maximum(np.diff(np.concatenate([[low], self.edges, [high]])), least)
        own = widths[np.searchsorted(self.edges, values, side="right")]
        beyond = np.maximum(np.maximum(low - values, values - high), 0.0)
        return -np.log(own) - np.minimum(beyond / own, FARTHEST)


@dataclass(frozen=True, eq=False)
class Values:
    """Values by a family that has them by their places on an axis; of numbers, by their cells."""

    axis: Axis
    family: Any
    parameters: Any
    grid: Grid | None = None

    @property
    def steps(self) -> Axis | None:
        """The values that have scores of their own; of numbers the ends of their cells."""
        if self.grid is None:
            return self.axis
        keys = self.grid.keys(self.axis)
        return np.union1d(self.grid.values(keys), self.grid.values(keys + 1))

    @cached_property
    def log_p(self) -> Array:
        """log p(value|k), (V + 1, K), the last for values that were never seen."""
        places = np.arange(len(self.axis) + 1)[:, None]
        return self.family.log_likelihood(self.parameters, places)

    def codes(self, values: Any) -> NDArray[np.intp]:
        """Where each value stands on the axis, -1 if it does not."""
        if isinstance(values, np.ndarray):
            assert self.grid is not None
            return labels.find(self.grid.keys(values), self.grid.keys(self.axis))
        return np.append(labels.find(values.names, self.axis), -1)[values.codes]

    def score(self, values: Any) -> Array:
        return self.log_p[self.codes(values)]

    def common(self, values: Any) -> Array:
        # What was never seen is as rare as what was seen least.
        return np.where(self.codes(values) < 0, self.log_p.min(initial=0.0), 0.0)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        if len(self.axis) == 0:
            return np.full(n, None, dtype=object)
        return self.axis[self.family.sample(self.parameters, k, n, rng)[:, 0]]


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of values by class, log_p (V, K): of numbers, of the runs between `steps` (V - 1,).

    Without a family: nothing but what a wide table keeps of a column that says little.
    """

    steps: Axis
    log_p: Array
    is_number: bool

    def score(self, values: Any) -> Array:
        """log p(x|k), (m, K); zeros for categories that were never seen."""
        if self.is_number:
            return self.log_p[np.searchsorted(self.steps, values, side="right")]
        table = np.vstack([self.log_p, np.zeros(self.log_p.shape[1])])
        return table[np.append(labels.find(values.names, self.steps), -1)[values.codes]]

    def common(self, values: Any) -> Array:
        """Nothing: it is no density."""
        return np.zeros(len(values))


Distribution = Numbers | Values


@dataclass(frozen=True, eq=False)
class Marginal:
    """One column: its `family`, its distribution, and what every candidate would gain, in nats.

    `absent` (2, K) are log p(there|k) and log p(missing|k), zeros if that is no evidence, which
    `missing_gain` says. `missing` (K,) are shares of rows. `best` is the distribution of the
    candidate that gains most; a column that was not solved has what was `counted` in its place.
    """

    family: str
    gains: Mapping[str, float]
    distribution: Distribution | Shares | None
    absent: Array
    missing_gain: float = 0.0
    missing: Array = field(default_factory=lambda: np.zeros(0))
    best: Distribution | None = None
    counted: Counted | None = None

    @cached_property
    def spread(self) -> Distribution | None:
        """The distribution that values are drawn from, also of a column that has no family."""
        return self.best if self.counted is None else solve(self.counted).best

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

    Of numbers also the `grid` of their cells and, if known, sums of the numbers themselves.
    """

    kind: str
    axis: Axis
    counts: Array
    classes: Axis
    weights: Array
    grid: Grid = field(default_factory=Grid)
    moments: Moments | None = None

    @cached_property
    def values(self) -> Axis:
        """The values of the cells, of numbers the least of each."""
        return self.grid.values(self.axis) if self.kind == "number" else self.axis

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """The classes and cells of all pairs that have rows, and how many, (P,) each."""
        k, v = np.nonzero(self.counts > 0)
        return k, v, self.counts[k, v]

    @cached_property
    def within(self) -> Array:
        """The numbers of all pairs, (P,): so far within their cells that a class has its sum Σx.

        Of whole numbers, which are the least of their cells, they are exact.
        """
        k, v, n = self.pairs
        x = self.values[v]
        if self.moments is None:
            return x
        width = (self.grid.values(self.axis + 1) - self.values)[v]
        moments = self.moments.align(self.classes, 1)
        K = len(self.classes)
        total = moments.weights * moments.mean()
        rest = settle(total - class_weights(k, n * x, K), total)
        share = np.clip(divide(rest, class_weights(k, n * width, K)), 0.0, 1.0)
        return x + share[k, 0] * width

    @property
    def there(self) -> Array:
        """The weight of rows of each class that have a value, (K,)."""
        return self.counts.sum(axis=1)

    @property
    def distinct(self) -> int:
        return len(self.axis)

    @property
    def least(self) -> float:
        return float(self.values[0]) if len(self.axis) else np.inf

    @property
    def largest(self) -> float:
        return float(self.values[-1]) if len(self.axis) else -np.inf

    @property
    def whole(self) -> bool:
        return bool(np.all(self.values == np.floor(self.values)))


def of_columns(
    plan: Plan, statistics: Compound, classes: Axis, rows: Array
) -> list[Counted | None]:
    """What was counted of each column in use; None of texts."""
    tally, numbers = statistics["cells"], statistics.parts.get("numbers")
    plain = [column for column in plan.used if column.kind != "text"]
    axes = iter(tally.keys or (labels.empty_axis(),) * len(plain))
    counts = tally.align(classes, 0)["rows"]
    found: list[Counted | None] = []
    start = at = 0
    for column in plan.used:
        if column.kind == "text":
            found.append(None)
            continue
        axis, moments = next(axes), None
        if column.kind == "number":
            moments = None if numbers is None else numbers.of_columns(np.array([at]))
            at += 1
        own = counts[:, start : start + len(axis)]
        start += len(axis)
        found.append(Counted(column.kind, axis, own, classes, rows, column.grid, moments))
    return found


def solve(counted: Counted, family: str | None = None) -> Marginal:
    """The marginal of a column under a family, or the candidate that gains most."""
    made = {
        name: solve_as(name, counted, family is not None) for name in candidates(counted, family)
    }
    gains = {name: gain for name, (_, gain) in made.items()}
    if family is None:
        gains[ALONE_NOTHING] = 0.0
    chosen = max(gains, key=lambda name: gains[name])
    if family is None and gains[chosen] <= NOTHING:
        chosen = ALONE_NOTHING
    distribution = made[chosen][0] if chosen in made else None
    best = (
        distribution
        if distribution is not None
        else made[max(made, key=lambda name: gains[name])][0]
    )
    absent, missing_gain, missing = missing_evidence(counted)
    return Marginal(chosen, gains, distribution, absent, missing_gain, missing, best)


def unsolved(counted: Counted) -> Marginal:
    """The marginal of a column that says too little to be solved."""
    nothing = np.zeros((2, len(counted.classes)))
    gains, missing = {ALONE_NOTHING: 0.0}, missing_share(counted)
    return Marginal(ALONE_NOTHING, gains, None, nothing, missing=missing, counted=counted)


def missing_share(counted: Counted) -> Array:
    """The share of rows of each class that have no value, (K,)."""
    absent = np.maximum(counted.weights - counted.there, 0.0)
    return absent / np.maximum(counted.weights, 1e-300)


def candidates(counted: Counted, family: str | None) -> list[str]:
    """The families that a column may have."""
    if family is not None:
        return [family]
    return [
        name
        for name, entry in FAMILIES.items()
        if is_for(name, counted.kind) and entry.suits(counted)
    ]


@cache
def build(name: str, is_asked: bool = True) -> Any:
    """The family of a name."""
    entry = FAMILIES[name]
    module, _, made = entry.path.rpartition(".")
    options = entry.options if is_asked else {**entry.options, **entry.chosen}
    return getattr(import_module(module), made)(**options)


def solve_as(name: str, counted: Counted, is_asked: bool) -> tuple[Distribution, float]:
    """The distribution of a column under a family, and what it gains."""
    entry, family, classes = FAMILIES[name], build(name, is_asked), counted.classes
    if entry.kind == "category":
        parameters, gain = solve_table(family, classes, counted.counts)
        grid = counted.grid if counted.kind == "number" else None
        return Values(counted.values, family, parameters, grid), gain
    if isinstance(family, Categorical):
        family = family.on(counted.grid)
        tally = Tally(classes, (counted.axis,), {"count": counted.counts})
        parameters = family.solve(tally, classes, 1)
        _, gain = solve_table(family.of_bins(parameters), classes, parameters.columns[0].counts)
        return Bins(name, family, parameters, counted.grid), gain
    if isinstance(family, KernelDensity):
        return solve_kernel(name, family, counted)
    k, _, n = counted.pairs
    x = modelled(entry, counted.within, counted.grid)[:, None]
    statistics = family.count(x, k, classes, n) if len(n) else family.zero()
    parameters = family.solve(statistics, classes, 1)
    gain = gain_of(family, aligned(statistics, classes, 1), parameters, x, k, n)
    if isinstance(statistics, Moments) and counted.moments is not None:
        parameters = family.solve(counted.moments, classes, 1)
    return Numbers(name, family, parameters, counted.grid), gain


def solve_kernel(name: str, family: KernelDensity, counted: Counted) -> tuple[Distribution, float]:
    """The kernel density of a column with the bandwidth that gains most, and what it gains."""
    bins = replace(IN_BINS, grid=counted.grid)
    edges = family.edges(counted.values, counted.grid) if counted.distinct else np.empty(0)
    at = bins.merge(counted.axis, edges, 0)
    binned = np.array([np.bincount(at, own, len(edges) + 1) for own in counted.counts])
    k, g = np.nonzero(binned > 0)
    tally = family.tally(counted.classes, binned)
    smoothed = family.smooth(binned)
    gain = gain_of(smoothed, tally, None, g[:, None], k, binned[k, g])
    parameters = family.parameters(smoothed, edges, counted.axis, counted.counts.sum(axis=0))
    return Bins(name, Categorical(bins=bins), parameters, counted.grid), gain


def modelled(entry: ColumnFamily, x: Array, grid: Grid) -> Array:
    """Numbers as a family models them, NaN where it cannot.

    A family of numbers above zero takes zero, which may be less than a cell, for half a cell.
    """
    if entry.least == -np.inf and entry.most == np.inf:
        return x
    if entry.is_open:
        x = np.where(x == entry.least, entry.least + grid.step / 2, x)
    return np.where((x >= entry.least) & (x <= entry.most), x, np.nan)


def solve_table(family: Categorical, classes: Axis, counts: Array) -> tuple[Any, float]:
    """Parameters of values by their places on an axis, and their gain, from counts (K, V)."""
    tally = Tally(classes, (np.arange(counts.shape[1]),), {"count": counts})
    parameters = family.solve(tally, classes, 1)
    k, v = np.nonzero(counts > 0)
    return parameters, gain_of(family, tally, parameters, v[:, None], k, counts[k, v])


def gain_of(
    family: Any, statistics: Any, parameters: Any, x: NDArray[Any], k: NDArray[np.intp], n: Array
) -> float:
    """The mean of log p(k|x) - log p(k) over rows, each by the counts of all others.

    n (P,) rows of class k (P,) are at x (P, 1).
    """
    weights = class_weights(k, n, len(statistics.classes))[:, 0]
    total = weights.sum()
    if total <= 1:
        return 0.0
    w = np.minimum(n, 1.0)
    scores = leave_one_out(family, statistics, parameters, x, k, w)
    left = np.log(np.maximum(weights[k] - w, 1e-12))
    own = k, np.arange(len(k))
    with np.errstate(divide="ignore"):
        joint = np.add(scores.T, np.log(weights)[:, None], order="C")
    joint[own] = scores.T[own] + left
    largest = joint.max(axis=0)
    posterior = joint[own] - largest
    joint = np.maximum(joint - largest, LEAST_GAIN)  # exp is slow where its value is no float
    posterior -= np.log(np.exp(joint, out=joint).sum(axis=0))
    before = left - np.log(total - w)
    return float(n @ np.maximum(posterior - before, LEAST_GAIN) / total)


def leave_one_out(
    family: Any, statistics: Any, parameters: Any, x: NDArray[Any], k: NDArray[np.intp], w: Array
) -> Array:
    """log p(x|k), (P, K), without a row of weight w of the class itself."""
    classes = statistics.classes
    scores = family.leave_one_out(statistics, parameters, x, k, w)
    scores = np.full((len(k), len(classes)), np.nan) if scores is None else scores
    for i in np.flatnonzero(np.isnan(scores).any(axis=1)):  # no closed form: subtract and solve
        one = slice(i, i + 1)
        rest = statistics - family.count(x[one], k[one], classes, w[one])
        scores[i] = family.log_likelihood(family.solve(rest, classes, 1), x[one])[0]
    return np.maximum(scores, LEAST)


def missing_evidence(counted: Counted) -> tuple[Array, float, Array]:
    """log p(there|k) and log p(missing|k), (2, K), or zeros; their gain; shares missing (K,)."""
    absent, share = np.maximum(counted.weights - counted.there, 0.0), missing_share(counted)
    if absent.sum() < 0.5:
        return np.zeros((2, len(absent))), 0.0, share
    log_p, found = absence(counted.classes, counted.there, absent)
    return (log_p if found > 0 else np.zeros((2, len(absent)))), found, share


def absence(classes: Axis, there: Array, absent: Array) -> tuple[Array, float]:
    """log p(there|k) and log p(missing|k), (2, K), and what these gain; weights by class (K,)."""
    parameters, gain = solve_table(build("bernoulli"), classes, np.stack([there, absent], 1))
    return parameters.table[:-1], gain
