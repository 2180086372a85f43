"""Families that estimate a density for each column from means of functions of x.

A `Curve` has the functions t(x), the parameters as a function of their means, and the density. The
family counts n and Σ t(x) by class and column. The prior is `alpha` rows with the means of t(x)
over all classes, so that a class with one row also has a density.

    (n_k mean_k t + α mean t) / (n_k + α)

Leave-one-out subtracts the t(x) of a row from the sums, so it is exact.

Symbols: m rows, n columns, K classes, T functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, Matrix
from genus.statistics import Array, Tally, settle

Values = tuple[Array, ...]


@dataclass(frozen=True)
class Curve:
    """A density of one number, with parameters estimated from means of functions of x.

    `functions` takes an array and returns T arrays; `estimate` takes T arrays of means and returns
    arrays of parameters; `log_density` takes x and the parameters; `draw` takes the parameters of
    one class, (n,) each, the number of rows and a generator, and returns the rows. `unknown` holds
    the T means that are used for a column without data.
    """

    name: str
    functions: Callable[[Array], Values]
    estimate: Callable[[Values], Values]
    log_density: Callable[[Array, Values], Array]
    draw: Callable[[Values, int, np.random.Generator], Array]
    unknown: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class AverageParameters:
    """The parameters of a curve, (K, n) each."""

    values: Values


@dataclass(frozen=True, eq=False)
class Averages:
    """The family of a curve; `alpha` is the weight of its prior, in rows."""

    curve: Curve
    alpha: float = 1.0

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": self.curve.name}

    @property
    def _measures(self) -> list[str]:
        return ["seen", *(f"function {i}" for i in range(len(self.curve.unknown)))]

    def zero(self) -> Tally:
        return Tally(counts={measure: np.zeros((0, 0)) for measure in self._measures})

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        x, w = matrix.dense_rows(X), np.ones(len(y)) if weight is None else weight
        there = ~np.isnan(x)
        filled = np.where(there, x, 1.0)
        parts = there.astype(np.float64), *self.curve.functions(filled)
        sums = [np.zeros((len(classes), X.shape[1])) for _ in parts]
        for total, values in zip(sums, parts, strict=True):
            np.add.at(total, y, np.where(there, values, 0.0) * w[:, None])
        return Tally.of(classes, None, dict(zip(self._measures, sums, strict=True)))

    def solve(self, statistics: Tally, classes: Axis, width: int) -> AverageParameters:
        counts = statistics.align(classes, width)
        seen, *sums = (counts[measure] for measure in self._measures)
        return AverageParameters(self._estimate(seen, sums, *self._pooled(seen, sums)))

    def _pooled(self, seen: Array, sums: list[Array]) -> tuple[Array, list[Array]]:
        return seen.sum(axis=0), [total.sum(axis=0) for total in sums]

    def _estimate(self, seen: Array, sums: list[Array], rows: Array, totals: list[Array]) -> Values:
        means = []
        for own, total, unknown in zip(sums, totals, self.curve.unknown, strict=True):
            common = np.where(rows > 0, total / np.where(rows > 0, rows, 1.0), unknown)
            means.append((own + self.alpha * common) / (seen + self.alpha))
        return self.curve.estimate(tuple(means))

    def log_likelihood(
        self, parameters: AverageParameters, X: Matrix, relative: bool = False
    ) -> Array:
        return self._terms(parameters, X).sum(axis=1)

    def _terms(self, parameters: AverageParameters, X: Matrix) -> Array:
        """Return log p(x_j|k), (m, n, K); zero where x is missing."""
        x = matrix.dense_rows(X)[:, :, None]
        there = ~np.isnan(x)
        found = self.curve.log_density(
            np.where(there, x, 1.0), tuple(values.T for values in parameters.values)
        )
        return np.where(there, found, 0.0)

    def contributions(self, parameters: AverageParameters, X: Matrix) -> tuple[Array, Array]:
        terms = self._terms(parameters, X)
        return terms, np.zeros((len(terms), terms.shape[2]))

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: AverageParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        x, w = matrix.dense_rows(X), np.ones(len(y)) if weight is None else weight
        there = ~np.isnan(x)
        filled = np.where(there, x, 1.0)
        seen, *sums = (statistics[measure] for measure in self._measures)
        rows, totals = self._pooled(seen, sums)
        own = w[:, None] * there
        gone = [own * values for values in self.curve.functions(filled)]
        scores = np.empty((len(y), len(seen)))
        all_rows = settle(rows - own, np.broadcast_to(rows, own.shape))
        all_totals = [total - part for total, part in zip(totals, gone, strict=True)]
        for k in range(len(seen)):
            mine = (y == k)[:, None]
            left = settle(seen[k] - mine * own, np.broadcast_to(seen[k], own.shape))
            rest = [total[k] - mine * part for total, part in zip(sums, gone, strict=True)]
            rest = [np.where(left > 0, values, 0.0) for values in rest]
            solved = self._estimate(left, rest, all_rows, all_totals)
            terms = self.curve.log_density(filled, solved)
            scores[:, k] = np.where(there, terms, 0.0).sum(axis=1)
        return scores

    def sample(
        self, parameters: AverageParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        return self.curve.draw(tuple(values[k] for values in parameters.values), n, rng)
