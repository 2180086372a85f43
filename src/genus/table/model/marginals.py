"""Solve the distribution p(x_j|k) of one column of a table, and choose its family.

The family that predicts the class best, by leave-one-out, is chosen. All candidates are solved from
the same counts: n_vk rows of class k in cell v of a column (cells of the fine grid for numbers, the
values themselves for categories), and sums of numbers by class. The gain of a candidate is the mean
of log p(k|v) - log p(k) over rows, where each row is scored by the counts of all others:

    p(k|v) ∝ (n_k - 1) p(v|k without the row),   and for other classes c  n_c p(v|c without it).

All rows of a class in a cell are alike, so a sum over cells is a sum over rows. A column without a
gain gets no family, and is left out of the product. `genus.registry` lists the families and when
they are candidates; `genus.families` has their mathematics.

Symbols: K classes, V cells, P pairs of a class and a cell that have rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from genus.statistics.group import common_unit
from genus.table import Plan

Array = NDArray[np.float64]
LEAST = -1e12  # smallest log-likelihood of a number, however far out it is
NOTHING = 1e-9  # nats per row that do not count as a gain
LEAST_GAIN = -690.0  # smallest gain of a row, in nats
MOST_SCORES = 1 << 21  # scores of values and classes that are computed at a time
CELL = 2.0**-11  # smallest width of a bin, as a share of the column's range
ROUNDING = 1e-9  # relative
FARTHEST = 700.0  # numbers further out than this many bin widths are treated as this far
ALONE_NOTHING = "no family"
IN_BINS = Cut()


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers modelled by a family.

    A number outside `seen` gets the score of its nearer end. Otherwise small differences of the
    classes' widths would become enormous far from all rows that were seen, such as on later dates.
    If `seen` is unbounded, numbers outside the family's range contribute nothing.
    """

    name: str
    family: Any
    parameters: Any
    grid: Grid
    seen: tuple[float, float] = (-np.inf, np.inf)

    @property
    def steps(self) -> Axis | None:
        """The numbers at which the scores jump; None if the scores are a continuous curve."""
        return None

    def score(self, values: Array) -> Array:
        """Return log p(x|k), (m, K), up to a term that is the same for all classes."""
        return np.maximum(self._scores(np.clip(values, *self.seen), relative=True), LEAST)

    def common(self, values: Array) -> Array:
        """Return the term of log p(x|k) that `score` leaves out, (m,)."""
        full, relative = (self._scores(values, one)[:, 0] for one in (False, True))
        known = np.isfinite(relative)
        term = np.subtract(full, relative, out=np.zeros(len(full)), where=known)
        entry = FAMILIES[self.name]
        return np.where((values < entry.least) | (values > entry.most), LEAST, term)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw n values of class k."""
        return self.family.sample(self.parameters, k, n, rng)[:, 0]

    def _scores(self, values: Array, relative: bool) -> Array:
        x = modelled(FAMILIES[self.name], values, self.grid)
        return self.family.log_likelihood(self.parameters, x[:, None], relative)


@dataclass(frozen=True, eq=False)
class Bins(Numbers):
    """Numbers in bins; within a bin, the density is the same for all classes.

    Outside the range that was seen, the density decays; the wider the outer bin, the slower.
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
    """Values modelled by a categorical family; numbers are looked up by their cells."""

    axis: Axis
    family: Any
    parameters: Any
    grid: Grid | None = None

    @property
    def steps(self) -> Axis | None:
        """The values that have their own scores; for numbers, the ends of the cells."""
        if self.grid is None:
            return self.axis
        keys = self.grid.keys(self.axis)
        return np.union1d(self.grid.values(keys), self.grid.values(keys + 1))

    @cached_property
    def log_p(self) -> Array:
        """log p(value|k), (V + 1, K); the last row is for unseen values."""
        places = np.arange(len(self.axis) + 1)[:, None]
        return self.family.log_likelihood(self.parameters, places)

    def codes(self, values: Any) -> NDArray[np.intp]:
        """Return the position of each value on the axis, or -1 for unseen values."""
        if isinstance(values, np.ndarray):
            assert self.grid is not None
            return labels.find(self.grid.keys(values), self.grid.keys(self.axis))
        return np.append(labels.find(values.names, self.axis), -1)[values.codes]

    def score(self, values: Any) -> Array:
        return self.log_p[self.codes(values)]

    def common(self, values: Any) -> Array:
        # Unseen values are as rare as the rarest seen ones.
        return np.where(self.codes(values) < 0, self.log_p.min(initial=0.0), 0.0)

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        if len(self.axis) == 0:
            return np.full(n, None, dtype=object)
        return self.axis[self.family.sample(self.parameters, k, n, rng)[:, 0]]


@dataclass(frozen=True, eq=False)
class Shares:
    """The logarithms of shares of values by class, `log_p` (V, K).

    Numbers are divided into V ranges at `steps` (V - 1,); for categories, `steps` (V,) are their
    names. A wide table keeps these for columns with little information, instead of a family.
    """

    steps: Axis
    log_p: Array
    is_number: bool

    def score(self, values: Any) -> Array:
        """Return log p(x|k), (m, K); zeros for unseen categories."""
        if self.is_number:
            return self.log_p[np.searchsorted(self.steps, values, side="right")]
        table = np.vstack([self.log_p, np.zeros(self.log_p.shape[1])])
        return table[np.append(labels.find(values.names, self.steps), -1)[values.codes]]

    def common(self, values: Any) -> Array:
        """Return zeros, (m,): `score` leaves no term out that all classes share."""
        return np.zeros(len(values))


Distribution = Numbers | Values


@dataclass(frozen=True, eq=False)
class Marginal:
    """The `family` and distribution of one column, and the `gains` of all candidates, in nats.

    `absent` (2, K) holds log p(known|k) and log p(missing|k), or zeros if missing values carry no
    evidence; `missing_gain` is the gain of this evidence. `missing` (K,) is the share of each
    class's rows in which the value is missing. `best` is the distribution with the largest gain. If
    the column was screened out, no family was solved, and `counted` has its counts instead.
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
        """The distribution that values are drawn from; columns without a family have one, too."""
        return self.best if self.counted is None else solve(self.counted).best

    def score(self, values: Any) -> Array:
        """Return log p(x_j|k), (m, K), up to a term that is the same for all classes."""
        return self._filled(values, lambda there: self._scores(there), self.absent)

    def _scores(self, there: Any) -> Array:
        if self.distribution is None:
            return np.zeros((len(there), self.absent.shape[1]))
        return self.distribution.score(there)

    def common(self, values: Any) -> Array:
        """Return the term of log p(x_j|k) that `score` leaves out, (m,)."""
        if self.distribution is None:
            return np.zeros(len(values))
        distribution = self.distribution
        return self._filled(
            values, lambda there: distribution.common(there)[:, None], np.zeros((2, 1))
        )[:, 0]

    def sample(self, k: int, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw n values of class k; some are None, for missing values."""
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
    """Return which values of a column are missing, (m,)."""
    return np.isnan(values) if isinstance(values, np.ndarray) else values.codes < 0


# Solving


@dataclass(frozen=True, eq=False)
class Counted:
    """The counts of a column: `counts` (K, V) by cell or value, and the weights of the classes.

    Numbers also have the `grid` of their cells and, if known, the sums of the numbers themselves.
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
        """The values of the cells; for numbers, the smallest of each cell."""
        return self.grid.values(self.axis) if self.kind == "number" else self.axis

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """The class, the cell and the count of every pair of class and cell that has rows, (P,)."""
        k, v = np.nonzero(self.counts > 0)
        return k, v, self.counts[k, v]

    @cached_property
    def sums(self) -> Moments | None:
        """The sums of the numbers, if known and exact enough, for all classes.

        After an outlier was forgotten, too few digits may be left. Then they contradict the cells.
        If numbers x are moved by at most w to the ends of their cells, their mean moves by at most
        the mean of w, and their root mean square by at most that of w (Minkowski's inequality).
        """
        if self.moments is None:
            return None
        moments = self.moments.align(self.classes, 1)
        share = divide(self.counts, self.there[:, None])
        center = share @ self.values
        width = self.grid.values(self.axis + 1) - self.values
        rms = np.sqrt((share * (self.values - center[:, None]) ** 2).sum(axis=1))
        off = np.abs(moments.mean()[:, 0] - center)
        moved = np.abs(np.sqrt(np.maximum(moments.variance()[:, 0], 0) + off**2) - rms)
        slack = ROUNDING * (rms + np.abs(center))
        sound = (off <= share @ width + slack) & (moved <= np.sqrt(share @ width**2) + slack)
        return moments if sound[self.there > 0].all() else None

    @cached_property
    def within(self) -> Array:
        """A number for each pair, (P,), chosen so that the sum Σx of each class is exact.

        Within its cell, every number of a class is moved by the same share of the width. Whole
        numbers are the smallest of their cells, so they are exact.
        """
        k, v, n = self.pairs
        x = self.values[v]
        if self.sums is None:
            return x
        width = (self.grid.values(self.axis + 1) - self.values)[v]
        K, moments = len(self.classes), self.sums
        total = moments.weights * moments.mean()
        rest = settle(total - class_weights(k, n * x, K), total)
        share = np.clip(divide(rest, class_weights(k, n * width, K)), 0.0, 1.0)
        return x + share[k, 0] * width

    @cached_property
    def row(self) -> Array:
        """The weight of one row of each class, (K,).

        It is 1, or the common unit of the weights of numbers. Categories are often as frequent as
        each other, but numbers are not.
        """
        if self.kind != "number":
            return np.ones(len(self.classes))
        return np.array([common_unit(own) for own in self.counts])

    @property
    def there(self) -> Array:
        """The weight of each class's rows in which the column has a value, (K,)."""
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
    plan: Plan,
    statistics: Compound,
    classes: Axis,
    rows: Array,
    some: Collection[int] | None = None,
) -> list[Counted | None]:
    """Return the counts of all columns in use, or of those at some positions; None for texts.

    `rows` (K,) are the weights of the classes.
    """
    tally, numbers = statistics["cells"], statistics.parts.get("numbers")
    plain = [column for column in plan.used if column.kind != "text"]
    axes = iter(tally.keys or (labels.empty_axis(),) * len(plain))
    counts = tally.align(classes, 0)["rows"]
    found: list[Counted | None] = []
    start = at = 0
    for j, column in enumerate(plan.used):
        is_asked = some is None or j in some
        if column.kind == "text":
            found += [None] * is_asked
            continue
        axis = next(axes)
        place = slice(start, start + len(axis))
        if is_asked:
            moments = None
            if column.kind == "number" and numbers is not None:
                moments = numbers.of_columns(np.array([at]))
            own = counts[:, place]
            found.append(Counted(column.kind, axis, own, classes, rows, column.grid, moments))
        start, at = place.stop, at + (column.kind == "number")
    return found


def solve(counted: Counted, family: str | None = None) -> Marginal:
    """Solve the marginal of a column for the given family, or for the one with the largest gain."""
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


def within_seen(marginal: Marginal, counted: Counted) -> Marginal:
    """Return a marginal that does not extrapolate beyond the numbers that were seen."""
    own = marginal.distribution
    if not isinstance(own, Numbers):
        return marginal
    return replace(marginal, distribution=replace(own, seen=(counted.least, counted.largest)))


def unsolved(counted: Counted) -> Marginal:
    """Return a marginal without a family, for a column that has too little information."""
    nothing = np.zeros((2, len(counted.classes)))
    gains, missing = {ALONE_NOTHING: 0.0}, missing_share(counted)
    return Marginal(ALONE_NOTHING, gains, None, nothing, missing=missing, counted=counted)


def missing_share(counted: Counted) -> Array:
    """Return the share of rows of each class with a missing value, (K,)."""
    absent = np.maximum(counted.weights - counted.there, 0.0)
    return absent / np.maximum(counted.weights, 1e-300)


def candidates(counted: Counted, family: str | None) -> list[str]:
    """Return the candidate families of a column."""
    if family is not None:
        return [family]
    return [
        name
        for name, entry in FAMILIES.items()
        if is_for(name, counted.kind) and entry.suits(counted)
    ]


@cache
def build(name: str, is_asked: bool = True) -> Any:
    """Return the family with this name; `is_asked` says whether the user chose it."""
    entry = FAMILIES[name]
    module, _, made = entry.path.rpartition(".")
    options = entry.options if is_asked else {**entry.options, **entry.chosen}
    return getattr(import_module(module), made)(**options)


def solve_as(name: str, counted: Counted, is_asked: bool) -> tuple[Distribution, float]:
    """Return the distribution of a column for a family, and its gain."""
    entry, family, classes = FAMILIES[name], build(name, is_asked), counted.classes
    if entry.kind == "category":
        parameters, gain = solve_table(family, classes, counted.counts, counted.row)
        grid = counted.grid if counted.kind == "number" else None
        return Values(counted.values, family, parameters, grid), gain
    if isinstance(family, Categorical):
        family = family.on(counted.grid)
        tally = Tally(classes, (counted.axis,), {"count": counted.counts})
        parameters = family.solve(tally, classes, 1)
        binned = parameters.columns[0].counts
        _, gain = solve_table(family.of_bins(parameters), classes, binned, counted.row)
        return Bins(name, family, parameters, counted.grid), gain
    if isinstance(family, KernelDensity):
        return solve_kernel(name, family, counted)
    k, _, n = counted.pairs
    x = modelled(entry, counted.within, counted.grid)[:, None]
    statistics = family.count(x, k, classes, n) if len(n) else family.zero()
    parameters = family.solve(statistics, classes, 1)
    gain = gain_of(family, aligned(statistics, classes, 1), parameters, x, k, n, counted.row)
    if isinstance(statistics, Moments) and counted.sums is not None:
        parameters = family.solve(counted.sums, classes, 1)
    return Numbers(name, family, parameters, counted.grid), gain


def solve_kernel(name: str, family: KernelDensity, counted: Counted) -> tuple[Distribution, float]:
    """Return the kernel density of a column with the best bandwidth, and its gain."""
    bins = replace(IN_BINS, grid=counted.grid)
    edges = family.edges(counted.values, counted.grid) if counted.distinct else np.empty(0)
    at = bins.merge(counted.axis, edges, 0)
    binned = np.array([np.bincount(at, own, len(edges) + 1) for own in counted.counts])
    k, g = np.nonzero(binned > 0)
    tally = family.tally(counted.classes, binned)
    smoothed = family.smooth(binned, counted.row)
    gain = gain_of(smoothed, tally, None, g[:, None], k, binned[k, g], counted.row)
    parameters = family.parameters(smoothed, edges, counted.axis, counted.counts.sum(axis=0))
    return Bins(name, Categorical(bins=bins), parameters, counted.grid), gain


def modelled(entry: ColumnFamily, x: Array, grid: Grid) -> Array:
    """Return numbers in the form that a family models; NaN outside its range.

    A family of positive numbers treats zero as half a cell, because a zero may be a rounded small
    number.
    """
    if entry.least == -np.inf and entry.most == np.inf:
        return x
    if entry.is_open:
        x = np.where(x == entry.least, entry.least + grid.step / 2, x)
    return np.where((x >= entry.least) & (x <= entry.most), x, np.nan)


def solve_table(family: Categorical, classes: Axis, counts: Array, row: Array) -> tuple[Any, float]:
    """Return the shares of values, solved from counts (K, V), and their gain.

    `row` (K,) is the weight of one row of each class.
    """
    tally = Tally(classes, (np.arange(counts.shape[1]),), {"count": counts})
    parameters = family.solve(tally, classes, 1)
    k, v = np.nonzero(counts > 0)
    return parameters, gain_of(family, tally, parameters, v[:, None], k, counts[k, v], row)


def gain_of(
    family: Any,
    statistics: Any,
    parameters: Any,
    x: NDArray[Any],
    k: NDArray[np.intp],
    n: Array,
    row: Array,
) -> float:
    """Return the mean leave-one-out estimate of log p(k|x) - log p(k) over rows.

    The rows are given as P distinct pairs of a class and a value: rows of the weight n[i] have the
    class k[i] and the value x[i]. n and k are (P,), and x is (P, 1). `row` (K,) is the weight of
    one row of each class.
    """
    weights = class_weights(k, n, len(statistics.classes))[:, 0]
    total, w = weights.sum(), np.minimum(n, row[k])
    if total <= w.max(initial=0.0):  # a single row
        return 0.0
    left = np.log(np.maximum(weights[k] - w, 1e-12))
    posterior = np.empty(len(k))
    size = max(MOST_SCORES // len(weights), 1)
    for some in (slice(i, i + size) for i in range(0, len(k), size)):
        scores = leave_one_out(family, statistics, parameters, x[some], k[some], w[some])
        own = k[some], np.arange(len(scores))
        with np.errstate(divide="ignore"):
            joint = np.add(scores.T, np.log(weights)[:, None], order="C")
        joint[own] = scores.T[own] + left[some]
        largest = joint.max(axis=0)
        posterior[some] = joint[own] - largest
        joint = np.maximum(joint - largest, LEAST_GAIN)  # exp is slow for results that underflow
        posterior[some] -= np.log(np.exp(joint, out=joint).sum(axis=0))
    before = left - np.log(total - w)
    return float(n @ np.maximum(posterior - before, LEAST_GAIN) / total)


def leave_one_out(
    family: Any, statistics: Any, parameters: Any, x: NDArray[Any], k: NDArray[np.intp], w: Array
) -> Array:
    """Return log p(x|c) of P rows for each class c, (P, K), by models without the row itself.

    The rows have the values x, the classes k and the weights w. Leaving a row out changes only the
    model of its own class.
    """
    classes = statistics.classes
    scores = family.leave_one_out(statistics, parameters, x, k, w)
    scores = np.full((len(k), len(classes)), np.nan) if scores is None else scores
    for i in np.flatnonzero(np.isnan(scores).any(axis=1)):  # no closed form: subtract and solve
        one = slice(i, i + 1)
        rest = statistics - family.count(x[one], k[one], classes, w[one])
        scores[i] = family.log_likelihood(family.solve(rest, classes, 1), x[one])[0]
    return np.maximum(scores, LEAST)


def missing_evidence(counted: Counted) -> tuple[Array, float, Array]:
    """Return log p(known|k) and log p(missing|k), (2, K), their gain, and p(missing|k), (K,).

    If there is no gain, the logarithms are replaced by zeros.
    """
    absent, share = np.maximum(counted.weights - counted.there, 0.0), missing_share(counted)
    if absent.sum() < 0.5:
        return np.zeros((2, len(absent))), 0.0, share
    log_p, found = absence(counted.classes, counted.there, absent)
    return (log_p if found > 0 else np.zeros((2, len(absent)))), found, share


def absence(classes: Axis, there: Array, absent: Array) -> tuple[Array, float]:
    """Return log p(known|k) and log p(missing|k), (2, K), and their gain, from weights (K,)."""
    counts, row = np.stack([there, absent], 1), np.ones(len(there))
    parameters, gain = solve_table(build("bernoulli"), classes, counts, row)
    return parameters.table[:-1], gain
