"""Complement naive Bayes: a class is scored by the counts of all others (Rennie et al. 2003).

    score_k = - Σ_v x_v log θ_vk,   θ_vk = (N_v - N_vk + a_v) / Σ_v (N_v - N_vk + a_v)

This is a decision rule from the counts of the multinomial model, not a density. `log_likelihood`
returns these scores; samples, and the densities for users, are those of the multinomial model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, Matrix
from genus.families.linear import EVERY, Columns, LinearTable
from genus.families.multinomial import (
    Multinomial,
    MultinomialParameters,
    count_things,
    entries,
)
from genus.families.protocol import exclude_impossible
from genus.families.sums import Sums
from genus.solve.smoothing import Smoothing, finite_part, log_ratio
from genus.statistics import Tally

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComplementParameters:
    """The multinomial model, and the sums from which the weights are computed.

    `every` is N_v, (n,), the counts of all classes together, and `total` is the denominator of θ,
    (K, 1). For `norm`, see `Complement`.
    """

    multinomial: MultinomialParameters
    every: Array
    total: Array
    norm: bool

    @property
    def alpha(self) -> float | None:
        return self.multinomial.alpha

    @cached_property
    def table(self) -> LinearTable:
        """The weights by column and class, with opposite sign, (n, K)."""
        own = replace(self)
        table = LinearTable(own._normed if self.norm else own._logarithms)
        if self.norm:  # a part takes as long as the whole
            _ = table.whole
        return table

    def _logarithms(self, columns: Columns) -> Array:
        """Return log θ of some columns, (V, K)."""
        model = self.multinomial
        others = self.every[columns] - model.count[:, columns] + model.pseudo[columns]
        return log_ratio(others, self.total).T

    def _normed(self, columns: Columns) -> Array:
        # Negative logarithms over their negative sum are positive. For θ = 0, this is the limit.
        logarithm = self._logarithms(EVERY).T
        infinite = np.isneginf(logarithm)
        logarithm = np.where(infinite.any(axis=1, keepdims=True), -1.0 * infinite, logarithm)
        return -(logarithm / logarithm.sum(axis=1, keepdims=True)).T[columns]

    @property
    def weights(self) -> Array:
        """Weights by class and column, (K, n)."""
        return -self.table.whole.T

    @property
    def linear(self) -> tuple[Array, Array]:
        """The weights, (K, n), and a constant of zero."""
        return self.weights, np.zeros(len(self.weights))


@dataclass(frozen=True, eq=False)
class Complement:
    """The complement family; `norm` divides each class's weights by their sum, as in the paper."""

    smoothing: Smoothing = field(default_factory=Smoothing)
    norm: bool = False

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "multinomial"}

    def zero(self) -> Tally:
        return Multinomial().zero()

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        return count_things(X, y, classes, weight)

    needs: ClassVar = Multinomial.needs

    def of_sums(self, classes: Axis, given: Sums) -> Tally:
        return Multinomial().of_sums(classes, given)

    def solve(self, statistics: Tally, classes: Axis, width: int) -> ComplementParameters:
        model = Multinomial(self.smoothing).solve(statistics, classes, width)
        every = model.count.sum(axis=0)
        # Counts are added first, because a small pseudo-count would be lost in their sum.
        total = every.sum() - model.count.sum(axis=1, keepdims=True) + model.pseudo.sum()
        return ComplementParameters(model, every, total, self.norm)

    def log_likelihood(
        self, parameters: ComplementParameters, X: Matrix, relative: bool = False
    ) -> Array:
        # If a feature occurs in no other class, θ = 0 and its weight is infinite: a row with such
        # features excludes all classes but those that have them.
        def score(X: Matrix, table: Array, certain: Array | None, _: Columns) -> Array:
            scores = -matrix.score_linear(X, table, None, nonnegative=True)
            if certain is None:
                return scores
            hits = matrix.score_above(X, 0.0, certain, None) > 0.5
            decided = hits.any(axis=1, keepdims=True)
            return exclude_impossible(scores, (decided & ~hits).astype(float))

        return parameters.table.look_up(X, score)

    def contributions(self, parameters: ComplementParameters, X: Matrix) -> tuple[Array, Array]:
        matrix.refuse_negative(X)
        table, _ = finite_part(-parameters.weights.T)
        x = np.nan_to_num(matrix.dense_rows(X))[:, :, None]
        terms = -x * table
        rest = self.log_likelihood(parameters, X) - terms.sum(axis=1)
        return terms, np.where(np.isneginf(rest), rest, 0.0)

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: ComplementParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        pseudo = parameters.multinomial.pseudo
        if not pseudo.all() or self.norm:
            return None
        scores = self.log_likelihood(parameters, X)
        count = statistics["count"]
        others = count.sum(axis=0) - count
        row, column, x = entries(X)
        w = np.ones(len(y)) if weight is None else weight
        length = np.bincount(row, x, len(y))
        # Leaving out a row changes the complement of every class except its own.
        for k, (by_column, total) in enumerate(zip(others, others.sum(axis=1), strict=True)):
            foreign = y != k
            logarithm = np.log(np.maximum(by_column[column] - w[row] * x, 0) + pseudo[column])
            score = length * np.log(np.maximum(total - w * length, 0) + pseudo.sum())
            score -= np.bincount(row, x * logarithm, len(y))
            scores[foreign, k] = score[foreign]
        return scores

    def sample(
        self, parameters: ComplementParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        return Multinomial().sample(parameters.multinomial, k, n, rng)
