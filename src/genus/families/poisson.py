"""Poisson: each column counts events, at a rate that depends on the class.

    log p(x|k) = Σ_j x_j log λ_jk - λ_jk - log x_j!,   λ_jk = (S_jk + a p_j) / (N_k + a)

The prior is Gamma(a p_j, a): it has the weight of `a` rows with the rate p_j, by default the pooled
rate.
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
from genus.arrays.logs import log_gamma
from genus.arrays.matrix import Codes, Matrix
from genus.families.linear import Columns, LinearTable
from genus.families.protocol import exclude_impossible, seen_weights
from genus.families.sums import Needs, Sums
from genus.solve.smoothing import Smoothing, maximise, per_column
from genus.statistics import Tally, divide

Array = NDArray[np.float64]
LARGEST_RATE = 1e15  # for drawing events


@dataclass(frozen=True, eq=False)
class PoissonParameters:
    """Rates (K, n), and the prior: `rows` (n,) rows with the rate `guess` (n,).

    The guess is None if it is the pooled rate.
    """

    rate: Array
    rows: Array
    guess: Array | None
    alpha: float | None = None

    @cached_property
    def table(self) -> LinearTable:
        """log λ, (n, K)."""
        return LinearTable(replace(self)._log_rate)

    def _log_rate(self, columns: Columns) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.rate[:, columns].T)

    @cached_property
    def constant(self) -> Array:
        """-Σ_j λ_jk, (K,)."""
        return -self.rate.sum(axis=1)

    @property
    def linear(self) -> tuple[Array, Array]:
        """θ_jk = log λ_jk, (K, n), and b_k = -Σ_j λ_jk, (K,)."""
        return self.table.whole.T, self.constant


@dataclass(frozen=True, eq=False)
class Poisson:
    """The Poisson family: numbers of events, usually whole, but any nonnegative number is valid."""

    smoothing: Smoothing = field(default_factory=Smoothing)

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "poisson"}

    def zero(self) -> Tally:
        return Tally(counts={"total": np.zeros((0, 0)), "seen": np.zeros((0, 0))})

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        total, missing = matrix.sum_columns(X, y, weight, len(classes), nonnegative=True)
        seen = seen_weights(y, weight, len(classes), missing)
        return Tally.of(classes, None, {"total": total, "seen": seen})

    needs: ClassVar = Needs(nonnegative=True)

    def of_sums(self, classes: Axis, given: Sums) -> Tally:
        return Tally.of(classes, None, {"total": given.sums, "seen": given.seen})

    def solve(self, statistics: Tally, classes: Axis, width: int) -> PoissonParameters:
        counts = statistics.align(classes, width)
        total, seen = counts["total"], counts["seen"]
        smoothing, alpha = self.smoothing, None
        if smoothing.is_automatic:
            alpha = best_alpha(total, seen)
            smoothing = Smoothing(alpha)
        rows = per_column("alpha", smoothing.alpha if smoothing.m is None else smoothing.m, width)
        guess = None
        if smoothing.m is not None and smoothing.p is not None:
            guess = per_column("p", smoothing.p, width)
        return PoissonParameters(rates(total, seen, rows, guess), rows, guess, alpha)

    def log_likelihood(
        self, parameters: PoissonParameters, X: Matrix, relative: bool = False
    ) -> Array:
        def score(X: Matrix, table: Array, never: Array | None, columns: Columns) -> Array:
            # For a missing count, -λ is removed from the constant.
            rate = parameters.rate[:, columns].T
            scores = matrix.score_linear(X, table, rate, nonnegative=True)
            if never is None:
                return scores
            return exclude_impossible(scores, matrix.score_above(X, 0.0, never, None))

        scores: Array = parameters.table.look_up(X, score) + parameters.constant
        if not relative:
            factorials = log_factorials(X)
            with np.errstate(invalid="ignore"):
                scores -= factorials[:, None]
            scores[np.isposinf(factorials)] = -np.inf  # x! grows faster than any power
        return scores

    def contributions(self, parameters: PoissonParameters, X: Matrix) -> tuple[Array, Array]:
        matrix.refuse_negative(X)
        x = matrix.dense_rows(X)[:, :, None]
        rate = parameters.rate.T
        with np.errstate(divide="ignore", invalid="ignore"):
            log_rate = np.where((rate == 0).all(axis=1, keepdims=True), 0.0, np.log(rate))
            terms = np.where(x > 0, x * log_rate, 0.0) - rate - log_gamma(x + 1)
        return np.where(np.isnan(x), 0.0, terms), np.zeros((len(x), rate.shape[1]))

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: PoissonParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        a, guess = parameters.rows, parameters.guess
        if not a.all() or (guess is not None and not guess.all()):
            return None
        total, seen = statistics["total"], statistics["seen"]
        n_classes = len(total)
        scores = np.empty((len(y), n_classes))
        w = np.ones(len(y)) if weight is None else weight
        for part in matrix.chunks(len(y), X.shape[1]):
            x = matrix.dense_rows(X, part)
            there = ~np.isnan(x)
            x = np.where(there, x, 0.0)
            wx, ws = w[part, None] * x, w[part, None] * there
            p = guess
            if p is None:
                p = (total.sum(axis=0) - wx + a) / (seen.sum(axis=0) - ws + a)
            common = log_gamma(x + 1).sum(axis=1)
            for k in range(n_classes):
                own = (y[part] == k)[:, None]
                rate = (np.maximum(total[k] - own * wx, 0) + a * p) / (
                    np.maximum(seen[k] - own * ws, 0) + a
                )
                scores[part, k] = (there * (x * np.log(rate) - rate)).sum(axis=1) - common
        return scores

    def sample(
        self, parameters: PoissonParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        rate = np.minimum(parameters.rate[k], LARGEST_RATE)
        return rng.poisson(rate, (n, len(rate))).astype(np.float64)


def pooled_rate(total: Array, seen: Array, a: Array) -> Array:
    """Return the rates of all classes together, (n,), including `a` rows with the rate 1."""
    return divide(total.sum(axis=0) + a, seen.sum(axis=0) + a)


def rates(total: Array, seen: Array, a: Array, guess: Array | None) -> Array:
    """Return the rates (S + a p) / (N + a), (K, n); 0 if the denominator is 0."""
    p = pooled_rate(total, seen, a) if guess is None else guess
    return divide(total + a * p, seen + a)


def best_alpha(total: Array, seen: Array) -> float:
    """Return the pseudo-count with the largest marginal likelihood in the Gamma-Poisson model.

    Leave-one-out would need the histogram of every column. The marginal likelihood p(S | N, a),
    which predicts each row from those before it, needs the sums only.
    """

    def score(log_a: float) -> float:
        a = np.exp(log_a)
        b = a * pooled_rate(total, seen, np.full(total.shape[1], a))
        terms = b * log_a - log_gamma(b) + log_gamma(b + total) - (b + total) * np.log(a + seen)
        return float(terms.sum())

    return maximise(score)


def log_factorials(X: Matrix) -> Array:
    """Return Σ_j log x_j! of each row, (m,), over the values that are not missing."""
    if matrix.is_sparse(X):
        values = matrix.SparseRows.of(X).to_scipy().astype(np.float64)
        values.data = np.nan_to_num(log_gamma(values.data + 1))
        return np.asarray(values.sum(axis=1)).ravel()
    out = np.empty(len(X))
    for part in matrix.chunks(len(X), X.shape[1]):
        out[part] = np.nansum(log_gamma(matrix.dense_rows(X, part) + 1), axis=1)
    return out
