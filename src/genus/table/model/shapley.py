"""What each column adds to the log-odds that a model of a table ends with: Shapley values.

A column adds what the log-odds change by when it becomes known, in the mean over all orders in
which columns can become known (Shapley 1953): v(S ∪ j) - v(S), where v(S) is what the model says of
a row of which only the columns S are known (`submodels`). That has the properties that people
expect of an explanation, and no other way to share out v(all) - v(none) has all of them:

- the contributions and the baseline add up to the log-odds, exactly and in every row;
- the baseline is v(none), the log-odds of the class shares, for all rows the same;
- a column that changes nothing, whatever else is known, adds nothing;
- two columns that say the same share it.

Why v is of submodels and not of rows in which a column has other rows' values: those are unlike any
row, where columns depend on each other, and what a model says of them is not worth explaining. And
why the log-odds are those of the end, after weights, the least that an expert is believed, and
doubt: experts by themselves say hundreds of nats that cancel each other or that nobody believes.

**How it is computed.** A product of families is a sum: each column has its own term, exactly. So is
a tree, with the term of two columns shared by halves. Else there are too many orders (n!), and some
are taken by quartets (`orders`), which have the exact value of whatever one or two columns say
together, so that only what three and more columns do is a matter of chance: curvature, the mean
over parents, and saturation. Every order by itself adds up to v(all) - v(none), and so does the
mean. The error is the standard error of that mean, from the spread of the quartets, of which there
are as many as it takes for an error of TARGET in rows of a reference, within limits. Up to four
columns have all orders, and no error. The orders are those of a seed, and the same for all rows: a
row has the same explanation whichever rows are beside it.

**Class constants.** Weights are learned with all columns known, and so are the constants c of the
classes; they and weights that do not add up to one would move v(none) away from the class shares.
What they move it by is what they correct in the evidence of columns. It is shared out to columns by
their importance: the mean absolute contribution in rows of a reference, without constants.

Symbols: m rows, n columns, K classes, s steps of an order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genus.arrays import matrix
from genus.statistics import Array
from genus.table import Frame
from genus.table.model.orders import Order, orders
from genus.table.model.submodels import Evidence, Route, Submodels

TARGET = 0.05  # nats: the error of the least exact column of a row, in the median
ROUGH, FEWEST, MOST = 2, 3, 16  # quartets: for means over rows, and for a row
PILOT = 64  # rows whose spread says how many
MOST_NUMBERS = 80_000  # of a row, over all quartets
ROUTE_BYTES = 1 << 26  # of orders that are factorised at a time
CHUNK = 1 << 20  # numbers of rows that are worked on at a time, by each thread


@dataclass(frozen=True, eq=False)
class Contributions:
    """What columns add for each class, `terms` (m, n, K), and the standard error of that.

    Over the classes they add up to zero: only differences of classes mean anything.
    """

    terms: Array
    error: Array

    def strength(self, weight: Array) -> Array:
        """The mean over rows of some weight of how far columns move the odds, (n,).

        |log-odds| of a class against the mean of the others, in the mean over classes; of two
        classes that is what both log-odds have in common.
        """
        K = self.terms.shape[2]
        by_row = np.abs(self.terms).mean(axis=2) * (K / max(K - 1, 1))
        return weight @ by_row / max(float(weight.sum()), 1e-300)


@dataclass(frozen=True, eq=False)
class Shapley:
    """The Shapley values of a model that weighs experts.

    `reference` are rows with a `weight` each, over which importance is a mean.
    """

    models: Submodels
    reference: Frame
    weight: Array

    @cached_property
    def _pilot(self) -> Contributions:
        """What columns add in some rows of the reference, without constants, by a few orders."""
        nothing = np.zeros((self.columns, len(self.models.offset)))
        return self._of(self.reference[:PILOT], nothing, ROUGH)

    @cached_property
    def constants(self) -> Array:
        """What of the class constants falls to each column, (n, K)."""
        strength = self._pilot.strength(self.weight[:PILOT])
        total = strength.sum()
        share = strength / total if total > 0 else np.full(self.columns, 1 / max(self.columns, 1))
        return share[:, None] * self.models.offset

    @cached_property
    def quartets(self) -> int:
        """How many of them it takes for an error of TARGET, within limits."""
        K = len(self.models.offset)
        largest = self._pilot.error.max(axis=(1, 2), initial=0.0) * (K / max(K - 1, 1))
        error = float(np.median(largest)) if len(largest) else 0.0
        most = np.clip(MOST_NUMBERS // self.models.cost, FEWEST, MOST)
        return int(np.clip(np.ceil(ROUGH * (error / TARGET) ** 2), FEWEST, most))

    @property
    def columns(self) -> int:
        return len(self.models.parameters.marginals)

    def contributions(self, X: Frame, is_rough: bool = False) -> Contributions:
        """What columns add to rows, and with which error; `is_rough`: by a few orders."""
        with matrix.ONE_BLAS_THREAD:  # for matrices so small, several wait for each other
            return self._of(X, self.constants, ROUGH if is_rough else self.quartets)

    def _of(self, X: Frame, constants: Array, quartets: int) -> Contributions:
        groups = orders(self.columns, quartets)
        shape = len(X), self.columns, constants.shape[1]
        total, squares = np.zeros(shape), np.zeros(shape)
        size = max(CHUNK // self.models.cost, 1)
        chunks = [slice(i, min(i + size, len(X))) for i in range(0, len(X), size)]
        for some in self._routes(groups):

            def work(parts: Iterator[slice], some: list[list[Route]] = some) -> None:
                for part in parts:
                    rows = self.models.read(X[part])
                    for group in some:
                        own = self._mean(rows, group, constants)
                        total[part] += own
                        squares[part] += own**2

            matrix.in_threads(work, chunks)
        mean = total / len(groups)
        spread = np.maximum(squares / len(groups) - mean**2, 0.0)
        return Contributions(mean, np.sqrt(spread / max(len(groups) - 1, 1)))

    def _mean(self, rows: Evidence, group: list[Route], constants: Array) -> Array:
        """The mean over orders of what columns add, (m, n, K)."""
        total = np.zeros((len(rows.X), self.columns, constants.shape[1]))
        for route in group:
            found = self.models.scores(rows, route, constants)
            total[:, route.order] += np.diff(found, axis=0).transpose(1, 0, 2)
        total -= total.mean(axis=2, keepdims=True)
        return total / len(group)

    def _routes(self, groups: list[list[Order]]) -> Iterator[list[list[Route]]]:
        """Yield groups of orders factorised, as many at a time as memory allows."""
        size = max(ROUTE_BYTES // max(self.models.route_bytes * len(groups[0]), 1), 1)
        for i in range(0, len(groups), size):
            yield [[self.models.route(order) for order in g] for g in groups[i : i + size]]
