"""Gamma: columns of positive numbers, with a shape and a mean for each class.

    log p(x|k) = Σ_j a log(a/μ) - log Γ(a) + (a - 1) log x - a x/μ

with the shape a_jk, the mean μ_jk and the rate a/μ.
Maximum likelihood: μ is the mean of the column, and a solves log a - ψ(a) = s with the spread
s = log(mean of x) - mean of log x. s is not negative, and zero if all values are the same; then
a is infinite. The prior is `alpha` rows that have the mean of x and of log x over all classes.

Symbols: t = x/c with c the least mean of any class, r = c/μ, g(a) = a log a - a - log Γ(a).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels, matrix
from genus.arrays.labels import Axis
from genus.arrays.logs import log_gamma
from genus.arrays.matrix import Codes, Matrix
from genus.families.protocol import seen_weights
from genus.solve.errors import NoSolutionError
from genus.statistics import ImpossibleError, Tally, settle

Array = NDArray[np.float64]
Averages = tuple[Array, Array]  # the mean of x, and that of log₂ x

MEASURES = ("seen", "total", "logs_above", "logs_below")
LOG_2 = float(np.log(2))
LEAST_SPREAD = 1e-10  # of values that agree to five digits; below, s is mostly rounding
CONSTANT_SPREAD = 5e-5  # assumed for a column without any: a standard deviation of 1 %
MOST_RATIO = 1e300  # of x to a mean; beyond, products would overflow
ROUNDED = 1e-6  # error of a sum of logarithms, per row, after millions of other rows
# log b - ψ(b) = 1/2b + Σ_i D_i / b²ⁱ⁺² and ψ'(b) - 1/b = 1/2b² + Σ_i T_i / b²ⁱ⁺³; last term first
DIGAMMA_SERIES = (-691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
TRIGAMMA_SERIES = (5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)
UNKNOWN = (np.ones(()), np.array(-np.euler_gamma / LOG_2))  # without data: a = 1 and μ = 1


@dataclass(frozen=True, eq=False)
class GammaParameters:
    """Shapes and means, (K, n) each."""

    shape: Array
    mean: Array

    @property
    def rate(self) -> Array:
        """a/μ, (K, n)."""
        with np.errstate(over="ignore"):
            return self.shape / self.mean

    @cached_property
    def form(self) -> tuple[Array, Array, Array, Array]:
        """c (n,) and A, B, C (n, K) of log p(x|k) = Σ_j log t_j A_jk + (t_j - 1) B_jk + C_jk.

        A = a - 1, B = -a r, C = a (1 - r + log r) + g(a) - log c. Terms in log t and t - 1 stay
        small if a is large; because r is at most 1, they do not cancel if a is small.
        """
        a, c = self.shape, self.mean.min(axis=0)
        r = np.maximum(c / self.mean, 1 / MOST_RATIO)
        constant = a * (1 - r + np.log(r)) + normaliser(a) - np.log(c)
        return c, (a - 1).T.copy(), (-a * r).T.copy(), constant.T.copy()


@dataclass(frozen=True, eq=False)
class Gamma:
    """The Gamma family: sizes, durations, prices. `alpha` is the weight of the prior, in rows."""

    alpha: float = 1.0

    @property
    def counting(self) -> Mapping[str, Any]:
        return {"family": "gamma"}

    def zero(self) -> Tally:
        return Tally(counts={measure: np.zeros((0, 0)) for measure in MEASURES})

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Tally:
        matrix.refuse_nonpositive(X)
        K = len(classes)
        total, missing = matrix.sum_columns(X, y, weight, K, nonnegative=True)
        above, below = sum_logarithms(X, y, weight, K)
        seen = seen_weights(y, weight, K, missing)
        return Tally.of(
            classes, None, dict(zip(MEASURES, (seen, total, above, below), strict=True))
        )

    def settled(self, rest: Tally, before: Tally) -> Tally:
        """Return `rest`, what is left of `before` after forgetting, without rounding errors.

        Adding and subtracting a large x leaves a rounding error in Σx, which may exceed the sum of
        the small values. Logarithms are of moderate size, so their sums keep their digits; and the
        mean of x is never less than exp(mean of log x), so a smaller Σx is raised to that.
        """
        classes = labels.union(before.classes, rest.classes, "classes")
        was, now = (tally.align(classes, before.width) for tally in (before, rest))
        seen = settle(now["seen"], was["seen"])
        gone = seen == 0
        counts = {"seen": seen}
        if (seen < 0).any():
            raise ImpossibleError
        for measure in "logs_above", "logs_below":
            noise = ROUNDED * (was[measure] + was["seen"])
            if (gone & (np.abs(now[measure]) > noise)).any():
                raise ImpossibleError(of_other_rows=True)
            if (now[measure] < -noise).any():
                raise ImpossibleError
            counts[measure] = np.where(gone, 0.0, np.maximum(now[measure], 0.0))
        _, log = averages(seen, now["total"], counts["logs_above"] - counts["logs_below"])
        least = np.where(gone, 0.0, seen * np.exp2(log))
        lost = gone | (now["total"] < (1 - ROUNDED) * least)
        counts["total"] = np.where(lost, least, now["total"])
        return Tally.of(classes, None, {measure: counts[measure] for measure in MEASURES})

    def solve(self, statistics: Tally, classes: Axis, width: int) -> GammaParameters:
        counts = statistics.align(classes, width)
        seen, total = counts["seen"], counts["total"]
        logs = counts["logs_above"] - counts["logs_below"]
        pooled = averages(seen.sum(axis=0), total.sum(axis=0), logs.sum(axis=0))
        mean, log = averages(seen, total, logs, pooled, self.alpha)
        s = spread(mean, log)
        unsolved = (seen > 0) & (s < LEAST_SPREAD)
        if self.alpha == 0 and unsolved.any():
            k, j = np.argwhere(unsolved)[0]
            raise NoSolutionError(
                f"Column {j} has no spread in class {labels.show(classes[k])}: all its values are "
                f"{mean[k, j]:g}, to within 0.001 %, so the shape of a Gamma density cannot be "
                "estimated. Leave the column out, add rows with other values, or use alpha above 0 "
                "(it adds rows with the spread of all classes).",
                [int(j)],
            )
        return GammaParameters(shape_of(s, spread(*pooled)), mean)

    def log_likelihood(
        self, parameters: GammaParameters, X: Matrix, relative: bool = False
    ) -> Array:
        matrix.refuse_nonpositive(X)
        c, on_log, on_ratio, constant = parameters.form
        scores = np.empty((len(X), len(parameters.mean)))
        total = constant.sum(axis=0)

        def work(parts: Iterator[slice]) -> None:
            for part in parts:
                t = ratio(matrix.dense_rows(X, part), c)
                log_t = np.log(t)
                t -= 1
                missing = np.isnan(t)
                scores[part] = total
                if missing.any():
                    t[missing] = log_t[missing] = 0.0
                    scores[part] -= missing @ constant
                with np.errstate(over="ignore"):  # x may be far from all rows of a class
                    scores[part] += log_t @ on_log + t @ on_ratio

        matrix.in_threads(work, list(matrix.chunks(len(X), 2 * X.shape[1])))
        return scores

    def contributions(self, parameters: GammaParameters, X: Matrix) -> tuple[Array, Array]:
        matrix.refuse_nonpositive(X)
        x = matrix.dense_rows(X)[:, :, None]
        terms = log_density(x, parameters.shape.T, parameters.mean.T)
        return np.where(np.isnan(x), 0.0, terms), np.zeros((len(x), len(parameters.mean)))

    def leave_one_out(
        self,
        statistics: Tally,
        parameters: GammaParameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        seen, total = statistics["seen"], statistics["total"]
        sums = seen, total, statistics["logs_above"] - statistics["logs_below"]
        everything = [table.sum(axis=0) for table in sums]
        scores = np.empty((len(y), len(seen)))
        w = np.ones(len(y)) if weight is None else weight

        def work(parts: Iterator[slice]) -> None:
            for part in parts:
                x = matrix.dense_rows(X, part)
                there = ~np.isnan(x)
                own = w[part, None] * there
                x = np.where(there, x, 1.0)
                row = own, own * x, own * np.log2(x)
                pooled = averages(*less(everything, row))
                for k in range(len(seen)):
                    mine = (y[part] == k)[:, None]
                    left = less([table[k] for table in sums], [mine * added for added in row])
                    mean, log = averages(*left, pooled, self.alpha)
                    s = spread(mean, log)
                    shape = shape_of(s, spread(*pooled))
                    terms = log_density(x, shape, mean)
                    scores[part, k] = np.where(there, terms, 0.0).sum(axis=1)
                    if self.alpha == 0:  # the caller subtracts, solves and raises the error
                        unsolved = (left[0] > 0) & (s < LEAST_SPREAD)
                        scores[part, k][unsolved.any(axis=1)] = np.nan

        matrix.in_threads(work, list(matrix.chunks(len(y), 8 * X.shape[1])))
        return scores

    def sample(
        self, parameters: GammaParameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        shape, mean = parameters.shape[k], parameters.mean[k]
        drawn = rng.standard_gamma(shape, (n, len(shape))) / shape * mean
        return np.maximum(drawn, np.finfo(np.float64).tiny)  # with a small shape some round to 0


def sum_logarithms(
    X: Matrix, y: Codes, weight: Array | None, n_classes: int
) -> tuple[Array, Array]:
    """Return Σw log₂ x over values above 1, and -Σw log₂ x over those below 1, (K, n) each.

    In a single sum the two could cancel and leave nothing but rounding. To base 2 the logarithms of
    powers of two are whole numbers, and their sums exact.
    """

    def work(parts: Iterator[slice]) -> Array:
        sums = np.zeros((2, n_classes, X.shape[1]))
        for part in parts:
            log = np.log2(matrix.dense_rows(X, part))
            w = None if weight is None else weight[part]
            for side, signed in enumerate((log, -log)):
                positive = np.maximum(signed, 0.0)
                added, _ = matrix.sum_columns(positive, y[part], w, n_classes, nonnegative=True)
                sums[side] += added
        return sums

    parts = matrix.in_threads(work, list(matrix.chunks(len(y), 3 * X.shape[1])))
    above, below = np.sum(parts, axis=0)
    return above, below


def less(sums: Sequence[Array], row: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return the number of rows, Σx and Σlog₂ x without each single row, (m, n) each."""
    seen, total, logs = (before - added for before, added in zip(sums, row, strict=True))
    return settle(seen, sums[0]), total, logs


def averages(
    seen: Array, total: Array, logs: Array, prior: Averages = UNKNOWN, alpha: float = 0.0
) -> Averages:
    """Return the means of x and log₂ x, including `alpha` rows of the prior.

    Without data, these are the means of the prior. A mean of x below the geometric mean can only be
    a rounding error, and is raised to the geometric mean.
    """
    rows = seen + alpha
    known = rows > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = (np.where(seen > 0, np.maximum(total, 0.0), 0.0) + alpha * prior[0]) / rows
        log = (np.where(seen > 0, logs, 0.0) + alpha * prior[1]) / rows
    log = np.clip(np.where(known, log, prior[1]), -1074, 1023)
    return np.maximum(np.where(known, mean, prior[0]), np.exp2(log)), log


def spread(mean: Array, log: Array) -> Array:
    """Return s = log(mean of x) - mean of log x, given the means of x and log₂ x."""
    return np.maximum(LOG_2 * (np.log2(mean) - log), 0.0)


def shape_of(s: Array, pooled: Array) -> Array:
    """Solve log a - ψ(a) = s for a; `pooled` is the spread over all classes.

    Newton's method on 1/a, which is nearly linear in s: Minka, "Estimating a Gamma distribution"
    (2002). His first guess is right to 1.5 %; after three steps the error is rounding. A column
    that is constant over all classes gets the same shape in each, so it does not change p(y|x).

    >>> print(shape_of(np.array([np.euler_gamma, 0.0]), np.ones(2)))  # exponential: a = 1
    [1.e+00 5.e+09]
    """
    s = np.where(pooled < LEAST_SPREAD, CONSTANT_SPREAD, np.maximum(s, LEAST_SPREAD))
    a = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for steps in (2, 2, 10):  # only the last step must be exact
        value, slope = log_less_digamma(a, steps)
        a = 1 / (1 / a + (value - s) / (a * a * slope))
    return a


def log_less_digamma(a: Array, steps: int = 10) -> tuple[Array, Array]:
    """Return log a - ψ(a) and its derivative 1/a - ψ'(a), without cancellation for large a.

    ψ(a) = ψ(b) - Σ_{i < steps} 1/(a + i) with b = a + steps, and for b ≥ 10 the first terms of the
    series are right to 1e-15.
    """
    b = a + steps
    q = 1 / (b * b)
    value = 0.5 / b + q * np.polyval(DIGAMMA_SERIES, q) - np.log1p(steps / a)
    slope = steps / (a * b) - 0.5 * q - q / b * np.polyval(TRIGAMMA_SERIES, q)
    for i in range(steps):
        term = 1 / (a + i)
        value += term
        slope -= term * term
    return value, slope


def normaliser(a: Array) -> Array:
    """Return g(a) = a log a - a - log Γ(a), by Stirling's series where the terms cancel."""
    q = 1 / (a * a)
    series = 0.5 * np.log(a / (2 * np.pi)) - (1 / 12 - q * (1 / 360 - q * (1 / 1260))) / a
    return np.where(a > 100, series, a * np.log(a) - a - log_gamma(a))


def ratio(x: Array, mean: Array) -> Array:
    """Return x / μ, limited to a range in which log-densities are finite or -∞."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(x / mean, 1 / MOST_RATIO, MOST_RATIO)


def log_density(x: Array, shape: Array, mean: Array) -> Array:
    """Return log p(x) = a (log u - u + 1) + g(a) - log x with u = x/μ, by element."""
    u = ratio(x, mean)
    with np.errstate(over="ignore"):
        return shape * (np.log(u) - (u - 1)) + normaliser(shape) - np.log(x)
