"""Show how the log-odds depend on one column, or on two.

The contribution of a column is not a function of its value alone, because columns interact. So each
step of values has the mean contribution over its rows, and the range of the middle 80 % of them.
Where the range is narrow, the column acts independently of the others. For two columns there is a
map of their joint contribution, and of the part that is not the sum of both curves.

The rows are kept in or drawn from the model (`MixedParameters.reference`), so no data is needed.

Symbols: m rows, K classes, S steps, T steps of a second column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import show
from genus.arrays.names import distinct
from genus.statistics import Array, divide
from genus.table import Column, Values
from genus.table.frame import as_date
from genus.table.read.packing import listed

MOST, MOST_OF_TWO = 16, 6  # steps of a column
MOST_CLASSES = 6  # that print() shows
WIDEST, WIDEST_VALUE, WIDEST_CLASS = 28, 20, 14  # characters of a value, and in heads of columns
BAR = 12  # characters
LOW, HIGH = 0.1, 0.9  # quantiles over the rows of a step
MISSING, OTHERS = "missing", "(others)"


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a column: ranges of numbers, or single categories; missing values come last.

    `names` (S,) are the steps, `x` (S,) the means of their numbers (NaN otherwise), and `place`
    (m,) is the step of each row.
    """

    names: tuple[str, ...]
    x: Array
    place: NDArray[np.intp]
    is_date: bool = False

    @classmethod
    def of(cls, column: Column, values: Any, weight: Array, most: int) -> Steps:
        """Divide a column into at most `most` steps, besides the step of missing values.

        Numbers get ranges of about equal weight; a few different numbers get a step each. The most
        frequent categories get a step each, and all other categories share one.
        """
        if isinstance(values, Values):
            return cls._of_categories(values, weight, most)
        there = ~np.isnan(values)
        known = values[there]
        found = np.unique(known)
        if len(found) <= most:
            edges = found[1:]
        else:
            at = np.argsort(known, kind="stable")
            reached = np.cumsum(weight[there][at])
            cuts = np.searchsorted(reached, reached[-1] * np.arange(1, most) / most)
            edges = np.unique(np.maximum(known[at][cuts], found[1]))
        place = np.full(len(values), len(edges) + 1)
        place[there] = np.searchsorted(edges, known, side="right")
        runs = [known[place[there] == s] for s in range(len(edges) + 1)] if len(found) else []
        ends = np.array([(run.min(), run.max()) for run in runs]).reshape(-1, 2)
        if not column.is_date:
            ends = column.grid.shortest(column.grid.keys(ends))
        tell = as_date if column.is_date else "{:.6g}".format
        names = [between(tell(low), tell(high)) for low, high in ends.tolist()]
        x = [float(run.mean()) for run in runs]
        if len(runs) == 0:
            place[:] = 0
        if not there.all():
            names, x = [*names, MISSING], [*x, np.nan]
        return cls(tuple(names), np.array(x), place, column.is_date)

    @classmethod
    def _of_categories(cls, values: Values, weight: Array, most: int) -> Steps:
        """Give each of the most frequent categories its own step, and all others one step."""
        total = np.bincount(values.codes + 1, weight, len(values.names) + 1)[1:]
        order = [c for c in np.argsort(-total, kind="stable").tolist() if total[c] > 0]
        shown = order if len(order) <= most else order[: most - 1]
        step = np.full(len(values.names) + 1, len(shown))
        step[shown] = np.arange(len(shown))
        names = [in_one_line(str(values.names[c])) for c in shown]
        names += [OTHERS] if len(shown) < len(order) else []
        step[-1] = len(names)
        names += [MISSING] if (values.codes < 0).any() else []
        return cls(tuple(names), np.full(len(names), np.nan), step[values.codes])


class Curve(NamedTuple):
    """The contribution of a column at each step, (S,): its mean, and 10 % and 90 % quantiles."""

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class Dependence:
    """The contribution of a column to the log-odds of classes, by its value.

    `steps` are its values, and `terms` (m, K) its contributions in rows with a `weight` (m,).
    """

    column: str
    steps: Steps
    terms: Array
    weight: Array
    classes: NDArray[Any]

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the steps, (S,)."""
        return self.steps.names

    @property
    def share(self) -> Array:
        """The share of rows at each step, (S,)."""
        total = np.bincount(self.steps.place, self.weight, len(self.values)).astype(np.float64)
        return divide(total, total.sum())

    def log_odds(self, label: Any = None, against: Any = None) -> Curve:
        """Return the contribution to the log-odds of one class against another, at each step.

        `label` defaults to the last class, and `against` to the mean of all other classes.
        """
        odds = between_classes(self.terms, self.classes, label, against)
        runs = [np.flatnonzero(self.steps.place == s) for s in range(len(self.values))]
        mean = [float(np.average(odds[run], weights=self.weight[run])) for run in runs]
        low, high = (
            np.array([np.quantile(odds[run], q) for run in runs], dtype=np.float64)
            for q in (LOW, HIGH)
        )
        return Curve(np.array(mean, dtype=np.float64), low, high)

    def __str__(self) -> str:
        values = distinct(self.values, WIDEST)
        width = max(min(len(self.column), WIDEST), *map(len, values), 0)
        if len(self.classes) != 2:
            return self._by_class(values, width)
        curve = self.log_odds()
        other, label = self.classes.tolist()
        lines = [
            f"{in_one_line(self.column)}: log-odds of {label} against {other}",
            f"{'':{width}}  {'rows':>6}  {'mean':>6}  {'80 % of them':>16}",
        ]
        strongest = max(float(np.abs(curve.mean).max(initial=0.0)), 1e-300)
        for i, value in enumerate(values):
            told = f"{curve.low[i]:+.2f} to {curve.high[i]:+.2f}"
            bar = ("+" if curve.mean[i] > 0 else "-") * round(BAR * abs(curve.mean[i]) / strongest)
            share = f"{100 * self.share[i]:.1f} %"
            lines.append(
                f"{value:{width}}  {share:>6}  {curve.mean[i]:+6.2f}  {told:>16}  {bar}".rstrip()
            )
        return "\n".join(lines)

    def _by_class(self, values: list[str], width: int) -> str:
        shown = self.classes.tolist()[:MOST_CLASSES]
        curves = [self.log_odds(label).mean for label in shown]
        names = distinct([in_one_line(str(label)) for label in shown], WIDEST_CLASS)
        widths = [max(10, len(name)) for name in names]
        lines = [
            f"{in_one_line(self.column)}: log-odds of each class against the mean of the others",
            f"{'':{width}}  {'rows':>6}  " + "  ".join(map("{:>{}}".format, names, widths)),
        ]
        for i, value in enumerate(values):
            told = "  ".join(
                f"{curve[i]:+{size}.2f}" for curve, size in zip(curves, widths, strict=True)
            )
            share = f"{100 * self.share[i]:.1f} %"
            lines.append(f"{value:{width}}  {share:>6}  {told}")
        if len(self.classes) > len(shown):
            lines.append(f"({len(self.classes) - len(shown)} more classes)")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Dependence({self.column!r}, steps={len(self.values)}, rows={len(self.weight)})"


@dataclass(frozen=True, eq=False, repr=False)
class PairDependence:
    """The joint contribution of two columns to the log-odds of classes, by the values of both."""

    first: Dependence
    second: Dependence

    @property
    def columns(self) -> tuple[str, str]:
        """The names of both columns."""
        return self.first.column, self.second.column

    @property
    def share(self) -> Array:
        """The share of rows in each cell, (S, T)."""
        total = self._sums(self.first.weight)
        return divide(total, total.sum())

    def log_odds(self, label: Any = None, against: Any = None) -> Array:
        """Return the mean contribution of both columns, (S, T); NaN where there are no rows.

        `label` and `against` are as in `Dependence.log_odds`.
        """
        terms = self.first.terms + self.second.terms
        odds = between_classes(terms, self.first.classes, label, against)
        rows = self._sums(self.first.weight)
        total = self._sums(self.first.weight * odds)
        return np.divide(total, rows, out=np.full(rows.shape, np.nan), where=rows > 0)

    def interaction(self, label: Any = None, against: Any = None) -> Array:
        """Return the part of the log-odds that is not the sum of both curves, (S, T)."""
        one, two = (own.log_odds(label, against).mean for own in (self.first, self.second))
        return self.log_odds(label, against) - one[:, None] - two

    def _sums(self, values: Array) -> Array:
        S, T = len(self.first.values), len(self.second.values)
        at = self.first.steps.place * T + self.second.steps.place
        return np.bincount(at, values, S * T).astype(np.float64).reshape(S, T)

    def __str__(self) -> str:
        label, classes = self.first.classes[-1], self.first.classes
        other = classes[0] if len(classes) == 2 else "the mean of the others"
        found = self.log_odds()
        first = distinct(self.first.values, WIDEST)
        second = distinct(self.second.values, WIDEST_VALUE)
        width = max(min(len(self.columns[0]), WIDEST), *map(len, first), 0)
        each = max(7, *map(len, second))
        lines = [
            f"{self.columns[0]} by {self.columns[1]}: log-odds of {label} against {other}",
            f"{'':{width}}  " + "  ".join(f"{value:>{each}}" for value in second),
        ]
        for value, row in zip(first, found.tolist(), strict=True):
            cells = ["" if np.isnan(odds) else f"{odds:+.2f}" for odds in row]
            told = "  ".join(f"{cell:>{each}}" for cell in cells)
            lines.append(f"{value:{width}}  {told}".rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        S, T = self.share.shape
        return f"PairDependence({self.columns[0]!r}, {self.columns[1]!r}, cells={S}x{T})"


def between_classes(terms: Array, classes: NDArray[Any], label: Any, against: Any) -> Array:
    """Return log-odds (m,) from terms (m, K) that add up to zero over the classes."""
    K = len(classes)
    k = K - 1 if label is None else position(classes, label)
    if against is None:
        return terms[:, k] * (K / max(K - 1, 1))
    other = position(classes, against)
    if other == k:
        raise ValueError(f"{show(label)} is compared with itself. Name another class.")
    return terms[:, k] - terms[:, other]


def position(classes: NDArray[Any], label: Any) -> int:
    """Return the position of a class; raise an error if there is no such class."""
    found = np.flatnonzero(classes == label)
    if len(found) == 0:
        raise ValueError(
            f"{label!r} is not one of the classes {classes.tolist()[:10]}. "
            "Name a class of the model."
        )
    return int(found[0])


def in_one_line(text: str) -> str:
    """Replace characters that do not print, such as line ends, by spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def between(low: str, high: str) -> str:
    """Return a range of numbers, or a single number, as text."""
    return low if low == high else f"{low} to {high}"


def dependence(parameters: Any, names: Sequence[str], classes: NDArray[Any]) -> Any:
    """Return how the log-odds depend on one column, or on two."""
    X, weight, found = parameters.explained_rows
    used = parameters.solved_by.how.plan.used
    places = {column.name: j for j, column in enumerate(used)}
    if len(set(names)) < len(names):
        raise ValueError(f"{names[0]!r} is compared with itself. Name another column.")
    for name in names:
        if name not in places:
            hint = labels.meant(name, places)
            raise ValueError(f"The model uses no column {name!r}. {hint}It uses {listed(places)}.")
        if used[places[name]].kind == "text":
            raise ValueError(
                f"Column {name!r} holds texts, for which there is no such curve. Use `explain`, "
                "which shows the contribution of each word."
            )
    most = MOST if len(names) == 1 else MOST_OF_TWO
    own = []
    for name in names:
        j = places[name]
        steps = Steps.of(used[j], X.columns[j], weight, most)
        own.append(Dependence(name, steps, found.terms[:, j], weight, classes))
    return own[0] if len(own) == 1 else PairDependence(*own)
