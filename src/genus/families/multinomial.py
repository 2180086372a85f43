"""Multinomial event model: a row holds how often each of n features occurred, in any order.

    log p(x|k) = Σ_v x_v log φ_vk,   φ_vk = (N_vk + a_v) / (N_k + Σ_v a_v)

This is the probability of the occurrences in one given order. The number of possible orders is the
same for every class and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, Matrix
from genus.families.linear import Columns, LinearTable
from genus.families.protocol import seen_weights
from genus.families.sums import Needs, Sums
from genus.solve.smoothing import Smoothing, leave_one_out_alpha, log_ratio
from genus.statistics import Tally, divide

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MultinomialParameters:
    """The sums of `count_things` (K, n), pseudo-counts (n,), and totals with pseudo-counts (K, 1).

    Everything else is computed from them when it is needed.
    """

    count: Array
    seen: Array
    pseudo: Array
    total: Array
    alpha: float | None = None

    @cached_property
    def table(self) -> LinearTable:
        """log φ, (n, K)."""
        return LinearTable(replace(self)._log_probability)

    def _log_probability(self, columns: Columns) -> Array:
        return log_ratio((self.count[:, columns] + self.pseudo[columns]).T, self.total.T)

    @property
    def log_probability(self) -> Array:
        """log φ, (K, n)."""
        return self.table.whole.T

    @property
    def mean_length(self) -> Array:
        """The mean number of occurrences in a row, (K,)."""
        return divide(self.count, self.seen).sum(axis=1)

    @property
    def linear(self) -> tuple[Array, Array]:
        """θ_vk = log φ_vk, (K, n), and a constant of zero."""
        return self.log_probability, np.zeros(len(self.log_probability))


def count_things(X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
    """Return Σwx (`count`) and Σw (`seen`) of the present values, by class and column."""
    count, missing = matrix.sum_columns(X, y, weight, len(classes), nonnegative=True)
    seen = seen_weights(y, weight, len(classes), missing)
    return Tally.of(classes, None, {"count": count, "seen": seen})


@dataclass(frozen=True, eq=False)
class Multinomial:
    """The multinomial family, for counts or any nonnegative weights."""

    smoothing: Smoothing = field(default_factory=Smoothing)

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "multinomial"}

    def zero(self) -> Tally:
        return Tally(counts={"count": np.zeros((0, 0)), "seen": np.zeros((0, 0))})

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        return count_things(X, y, classes, weight)

    needs: ClassVar = Needs(nonnegative=True)

    def of_sums(self, classes: Axis, given: Sums) -> Tally:
        return Tally.of(classes, None, {"count": given.sums, "seen": given.seen})

    def solve(self, statistics: Tally, classes: Axis, width: int) -> MultinomialParameters:
        counts = statistics.align(classes, width)
        count, seen = counts["count"], counts["seen"]
        smoothing, alpha = self.smoothing, None
        if smoothing.is_automatic:
            alpha = leave_one_out_alpha([count])
            smoothing = Smoothing(alpha)
        pseudo = smoothing.pseudo_counts(width)
        total = count.sum(axis=1, keepdims=True) + pseudo.sum()
        return MultinomialParameters(count, seen, pseudo, total, alpha)

    def log_likelihood(
        self, parameters: MultinomialParameters, X: Matrix, relative: bool = False
    ) -> Array:
        return parameters.table.score(X)

    def contributions(self, parameters: MultinomialParameters, X: Matrix) -> tuple[Array, Array]:
        matrix.refuse_negative(X)
        table = parameters.log_probability.T
        table = np.where(np.isneginf(table).all(axis=1, keepdims=True), 0.0, table)
        x = np.nan_to_num(matrix.dense_rows(X))[:, :, None]
        with np.errstate(invalid="ignore"):
            terms = np.where(x > 0, x * table, 0.0)
        return terms, np.zeros((len(x), table.shape[1]))

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: MultinomialParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        if not parameters.pseudo.all():
            return None
        scores = self.log_likelihood(parameters, X)
        count, pseudo = statistics["count"], parameters.pseudo
        w = np.ones(len(y)) if weight is None else weight
        # The row's own class: log of (N_v - w x_v + a_v) / (N - w Σx + Σa) for its features v.
        own, length = np.empty(len(y)), np.empty(len(y))
        if matrix.is_sparse(X):
            row, column, x = entries(X)
            left = np.maximum(count[y[row], column] - w[row] * x, 0) + pseudo[column]
            own[:] = np.bincount(row, x * np.log(left), len(y))
            length[:] = np.bincount(row, x, len(y))
        else:
            for part in matrix.chunks(*X.shape):
                x = np.nan_to_num(matrix.dense_rows(X, part))
                left = count[y[part]] - w[part, None] * x
                np.maximum(left, 0, out=left)
                left += pseudo  # added last, because it may be tiny
                own[part] = np.einsum("ij,ij->i", x, np.log(left, out=left))
                length[part] = x.sum(axis=1)
        total = np.maximum(count.sum(axis=1)[y] - w * length, 0) + pseudo.sum()
        scores[np.arange(len(y)), y] = own - length * np.log(total)
        return scores

    def sample(
        self, parameters: MultinomialParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        # The length of a row is not part of p(x|y): it is Poisson with the class's mean length.
        lengths = rng.poisson(parameters.mean_length[k], n)
        φ = np.exp(parameters.log_probability[k])
        if not φ.any():  # a class without rows, only declared: its rows are empty
            return np.zeros((n, len(φ)))
        return rng.multinomial(lengths, φ / φ.sum()).astype(np.float64)


def entries(X: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return row, column and value of every entry that is neither zero nor missing."""
    if matrix.is_sparse(X):
        coo = scipy.sparse.coo_matrix(X)
        row, column, x = coo.row, coo.col, coo.data.astype(np.float64)
    else:
        row, column = np.nonzero(X)
        x = X[row, column].astype(np.float64)
    kept = ~np.isnan(x) & (x != 0)
    return row[kept], column[kept], x[kept]
