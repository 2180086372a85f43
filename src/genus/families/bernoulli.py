"""Multivariate Bernoulli: features are present or absent, and absent ones count, too.

log p(x|k) = Σ_j x_j log φ_jk + (1 - x_j) log(1 - φ_jk)
      φ_jk = (n_jk1 + a_1) / (n_jk + a_0 + a_1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, Matrix
from genus.families.protocol import (
    by_weight,
    exclude_impossible,
    replace_own,
    seen_weights,
)
from genus.families.sums import Needs, Sums
from genus.solve.smoothing import Smoothing, finite_part, leave_one_out_alpha, log_ratio, per_column
from genus.statistics import Tally, freeze
from genus.statistics.tally import slim

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BernoulliParameters:
    """Counts of ones and of rows (K, n), pseudo-counts of 1 and 0 (n,), and the chosen `alpha`.

    Everything else is computed from them when it is needed.
    """

    ones: Array
    seen: Array
    pseudo_on: Array
    pseudo_off: Array
    alpha: float | None = None

    @cached_property
    def logarithms(self) -> tuple[Array, Array]:
        """log φ and log(1 - φ), (K, n) each."""
        found: tuple[Array, Array] = freeze(
            tables(self.ones, self.seen, self.pseudo_on, self.pseudo_off)
        )
        return found

    @property
    def log_on(self) -> Array:
        return self.logarithms[0]

    @property
    def log_off(self) -> Array:
        return self.logarithms[1]

    @cached_property
    def scorer(self) -> Scorer:
        return Scorer(*self.logarithms)

    @property
    def linear(self) -> tuple[Array, Array]:
        """θ_jk = logit φ_jk, (K, n), and b_k = Σ_j log(1 - φ_jk), (K,)."""
        return self.log_on - self.log_off, self.log_off.sum(axis=1)


class Scorer:
    """Scores rows: Σ_j x_j (on_j - off_j) + off_j, with on = log φ and off = log(1 - φ).

    Missing x_j are left out.
    """

    def __init__(self, log_on: Array, log_off: Array) -> None:
        on, never_on = finite_part(np.ascontiguousarray(log_on.T))
        off, never_off = finite_part(np.ascontiguousarray(log_off.T))
        self.pairs = [(on - off, -off, off.sum(axis=0))]
        if never_on is not None or never_off is not None:
            zero = np.zeros_like(on)
            on = zero if never_on is None else never_on
            off = zero if never_off is None else never_off
            self.pairs.append((on - off, -off, off.sum(axis=0)))

    def score(self, X: Matrix, threshold: float) -> Array:
        touched = matrix.touched_columns(X) if threshold >= 0 else None
        if touched is None:
            sums = [matrix.score_above(X, threshold, *pair[:2]) + pair[2] for pair in self.pairs]
        else:
            columns, rows = touched
            with matrix.column_numbers(columns):
                sums = [
                    matrix.score_above(rows, threshold, on[columns], off[columns]) + constant
                    for on, off, constant in self.pairs
                ]
        return sums[0] if len(sums) == 1 else exclude_impossible(*sums)


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """The Bernoulli family: x_j is 1 if it is above `threshold`."""

    threshold: float = 0.0
    smoothing: Smoothing = field(default_factory=Smoothing)

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "bernoulli", "binarize": float(self.threshold)}

    def zero(self) -> Tally:
        return Tally(counts={"ones": np.zeros((0, 0)), "seen": np.zeros((0, 0))})

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        ones, missing = matrix.count_above(X, y, weight, len(classes), self.threshold)
        seen = seen_weights(y, weight, len(classes), missing)
        return Tally.of(classes, None, {"ones": ones, "seen": seen})

    @property
    def needs(self) -> Needs:
        return Needs(above=float(self.threshold))

    def of_sums(self, classes: Axis, given: Sums) -> Tally:
        return Tally.of(classes, None, {"ones": given.sums, "seen": given.seen})

    def solve(self, statistics: Tally, classes: Axis, width: int) -> BernoulliParameters:
        counts = statistics.align(classes, width)
        ones, seen = counts["ones"], counts["seen"]
        smoothing, alpha = self.smoothing, None
        if smoothing.is_automatic:
            pairs = np.stack([ones, seen - ones], axis=-1).reshape(-1, 2)
            alpha = leave_one_out_alpha([pairs])
            smoothing = Smoothing(alpha)
        on, off = self._pseudo_counts(smoothing, width)
        return BernoulliParameters(ones, seen, on, off, alpha)

    def log_likelihood(
        self, parameters: BernoulliParameters, X: Matrix, relative: bool = False
    ) -> Array:
        return parameters.scorer.score(X, self.threshold)

    def contributions(self, parameters: BernoulliParameters, X: Matrix) -> tuple[Array, Array]:
        x = matrix.dense_rows(X)[:, :, None]
        on, off = parameters.log_on.T, parameters.log_off.T
        on = np.where(np.isneginf(on).all(axis=1, keepdims=True), 0.0, on)
        off = np.where(np.isneginf(off).all(axis=1, keepdims=True), 0.0, off)
        terms = np.where(np.isnan(x), 0.0, np.where(x > self.threshold, on, off))
        return terms, np.zeros((len(x), on.shape[1]))

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: BernoulliParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        pseudo = parameters.pseudo_on, parameters.pseudo_off
        if not (pseudo[0].all() and pseudo[1].all()):
            return None
        scores = parameters.scorer.score(X, self.threshold)
        ones, seen = statistics["ones"], statistics["seen"]
        for w, rows in by_weight(weight):
            # Without the row, its value has w less: φ from (n_1 - w, n - w) if x = 1, and 1 - φ
            # from (n_0 - w, n - w) if x = 0. Both tables are the same for all rows of a class.
            left = np.maximum(seen - w, 0)
            on, _ = tables(np.clip(ones - w, 0, left), left, *pseudo)
            _, off = tables(np.minimum(ones, left), left, *pseudo)
            replace_own(scores, Scorer(on, off).score(X[rows], self.threshold), y, rows)
        return scores

    def sample(
        self, parameters: BernoulliParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        φ = np.exp(parameters.log_on[k])
        # Values above the threshold represent 1, others 0.
        high = 1.0 if self.threshold < 1 else np.nextafter(self.threshold, np.inf)
        low = 0.0 if self.threshold >= 0 else self.threshold
        return np.where(rng.random((n, len(φ))) < φ, high, low)

    def _pseudo_counts(self, smoothing: Smoothing, width: int) -> tuple[Array, Array]:
        if smoothing.m is None:
            alpha = smoothing.pseudo_counts(width)
            return alpha, alpha
        p = per_column("p", 0.5 if smoothing.p is None else smoothing.p, width)
        return smoothing.m * p, smoothing.m * (1 - p)


def tables(ones: Array, seen: Array, on: Array, off: Array) -> tuple[Array, Array]:
    """Return log φ and log(1 - φ), (K, n) each, from counts and pseudo-counts."""
    pseudo = on + off
    uniform = len(pseudo) > 0 and bool((pseudo == pseudo[0]).all())
    total = slim(seen) + pseudo[0] if uniform else seen + pseudo
    return log_ratio(ones + on, total), log_ratio(seen - ones + off, total)
