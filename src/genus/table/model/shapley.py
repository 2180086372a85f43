"""The contributions of columns to a table model's final log-odds: Shapley values.

The contribution of a column is the change of the log-odds when it becomes known, averaged over all
orders in which columns can become known (Shapley 1953): v(S ∪ j) - v(S), where v(S) is the model's
score of a row for which only the columns S are known (`submodels`). No other way to divide v(all) -
v(none) among the columns has all of these properties:

- the contributions and the baseline add up to the log-odds, exactly and in every row;
- the baseline is v(none), the log-odds of the class shares, and is the same for all rows;
- a column that changes nothing, whatever else is known, contributes nothing;
- two columns with the same information share it equally;
- if v is the sum of two functions, the contributions are the sums of theirs.

v uses submodels, rather than rows in which a column has the values of other rows: where columns
depend on each other, such rows are unlike any real row, and the model's scores for them mean
little. The log-odds are the final ones, after weights, the cut-off of experts' scores, and doubt:
single experts give hundreds of nats that cancel each other or are cut off.

**How it is computed.** In a product of families each column has its own term, exactly. The same
holds for a tree, whose pair terms are halved. Otherwise there are too many orders (n!), so some are
drawn in quartets (`orders`). Quartets are exact for terms of one or two columns; only interactions
of three or more columns (curvature, the mean over parents, and saturation) have a random error.
Every single order adds up to v(all) - v(none), and so does the mean. The error is the standard
error of that mean, from the variation between quartets. The number of quartets is chosen, within
limits, so that rows of a reference have an error of TARGET. With up to four columns, all orders are
used, and there is no error. The orders have a fixed seed and are the same for all rows, so the
explanation of a row does not depend on the rows beside it.

**Class constants.** The weights and the class constants c are learned with all columns known. The
constants, and weights that do not add up to one, would move v(none) away from the class shares.
That shift corrects the evidence of columns, so it is divided among columns by their importance: the
mean absolute contribution in rows of a reference, without constants.

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

TARGET = 0.05  # nats: the median over rows of the error of the least exact column
ROUGH, FEWEST, MOST = 2, 3, 16  # quartets: for means over rows, and limits for one row
PILOT = 64  # rows whose variation decides the number of quartets
MOST_NUMBERS = 40_000  # numbers computed for a row, over all quartets
ROUTE_BYTES = 1 << 26  # bytes of the orders that are factorised at a time
CHUNK = 1 << 20  # numbers that each thread computes at a time


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions of columns by class, `terms` (m, n, K), and their standard `error`.

    The terms add up to zero over the classes: only differences between classes have a meaning.
    """

    terms: Array
    error: Array

    def strength(self, weight: Array) -> Array:
        """Return how far each column moves the log-odds, (n,), as a weighted mean over rows.

        This is |log-odds| of a class against the mean of the others, averaged over classes. With
        two classes, both have the same |log-odds|.
        """
        K = self.terms.shape[2]
        by_row = np.abs(self.terms).mean(axis=2) * (K / max(K - 1, 1))
        return weight @ by_row / max(float(weight.sum()), 1e-300)


@dataclass(frozen=True, eq=False)
class Shapley:
    """The Shapley values of a model with weighted experts.

    `reference` are rows with a `weight` each, over which importance is averaged.
    """

    models: Submodels
    reference: Frame
    weight: Array

    @cached_property
    def _pilot(self) -> Contributions:
        """Rough contributions in the first rows of the reference, without class constants."""
        nothing = np.zeros((self.columns, len(self.models.offset)))
        return self._of(self.reference[:PILOT], nothing, ROUGH)

    @cached_property
    def constants(self) -> Array:
        """The share of each column in the class constants, (n, K)."""
        strength = self._pilot.strength(self.weight[:PILOT])
        total = strength.sum()
        share = strength / total if total > 0 else np.full(self.columns, 1 / max(self.columns, 1))
        return share[:, None] * self.models.offset

    @cached_property
    def quartets(self) -> int:
        """The number of quartets that reaches an error of TARGET, within limits."""
        K = len(self.models.offset)
        largest = self._pilot.error.max(axis=(1, 2), initial=0.0) * (K / max(K - 1, 1))
        error = float(np.median(largest)) if len(largest) else 0.0
        most = np.clip(MOST_NUMBERS // self.models.cost, FEWEST, MOST)
        return int(np.clip(np.ceil(ROUGH * (error / TARGET) ** 2), FEWEST, most))

    @property
    def columns(self) -> int:
        return len(self.models.parameters.marginals)

    def contributions(self, X: Frame, is_rough: bool = False) -> Contributions:
        """Return the contributions of columns and their error; a rough estimate uses few orders."""
        with matrix.ONE_BLAS_THREAD:  # on such small matrices, several threads wait for each other
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
        """Return the mean over orders of the contributions, (m, n, K)."""
        total = np.zeros((len(rows.X), self.columns, constants.shape[1]))
        for route in group:
            found = self.models.scores(rows, route, constants)
            total[:, route.order] += np.diff(found, axis=0).transpose(1, 0, 2)
        total -= total.mean(axis=2, keepdims=True)
        return total / len(group)

    def _routes(self, groups: list[list[Order]]) -> Iterator[list[list[Route]]]:
        """Factorise the orders; yield as many of the groups at a time as memory allows."""
        size = max(ROUTE_BYTES // max(self.models.route_bytes * len(groups[0]), 1), 1)
        for i in range(0, len(groups), size):
            yield [[self.models.route(order) for order in g] for g in groups[i : i + size]]
