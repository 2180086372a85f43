"""Densities of one number, for columns of a table: see `genus.families.averages`.

    lognormal          log x is normal: mean and variance of log x
    beta               shares between 0 and 1: shapes a and b, from the means of log x, log (1 - x)
    negative binomial  counts whose variance exceeds their mean: mean μ, variance μ + μ²/r
    zero-inflated      counts with an extra share of zeros; if x > 0, x - 1 is negative binomial
    von Mises          angles and times of day: direction and concentration

The negative binomial takes r from the variance, r = μ² / (σ² - μ), and not by maximum likelihood,
so that sums of x and x² are enough.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from genus.arrays.logs import log_gamma
from genus.families.averages import Averages, Curve, Values
from genus.statistics import Array

LEAST_VARIANCE = 1e-8  # of log x: values that agree to four digits
LARGEST_SIZE = 1e8  # r; beyond, the distribution is Poisson
MOST_SHAPE = 1e6
LEAST_SHARE = 1e-9
MOST_CONCENTRATION = 1e5


def lognormal(alpha: float = 1.0) -> Averages:
    """Return the family of positive numbers whose logarithms are normal."""

    def functions(x: Array) -> Values:
        log = np.log(x)
        return log, log * log

    def estimate(means: Values) -> Values:
        mean, square = means
        return mean, np.maximum(square - mean * mean, LEAST_VARIANCE)

    def log_density(x: Array, parameters: Values) -> Array:
        mean, variance = parameters
        log = np.log(x)
        return -0.5 * ((log - mean) ** 2 / variance + np.log(2 * np.pi * variance)) - log

    def draw(parameters: Values, n: int, rng: np.random.Generator) -> Array:
        mean, variance = parameters
        return np.exp(rng.normal(mean, np.sqrt(variance), (n, len(mean))))

    return Averages(Curve("lognormal", functions, estimate, log_density, draw, (0.0, 1.0)), alpha)


def beta(alpha: float = 1.0) -> Averages:
    """Return the family of shares between 0 and 1."""

    def functions(x: Array) -> Values:
        x = inside(x)
        return x, x * x, np.log(x), np.log1p(-x)

    def estimate(means: Values) -> Values:
        """Solve E log x = ψ(a) - ψ(a + b), E log(1 - x) = ψ(b) - ψ(a + b) by Newton's method."""
        from scipy.special import digamma, polygamma

        mean, square, log, other = means
        variance = np.maximum(square - mean * mean, 1e-12)
        size = np.clip(mean * (1 - mean) / variance - 1, 1e-2, MOST_SHAPE)
        a, b = mean * size, (1 - mean) * size
        for _ in range(12):
            common, slope = digamma(a + b), polygamma(1, a + b)
            f, g = digamma(a) - common - log, digamma(b) - common - other
            ff, gg = polygamma(1, a) - slope, polygamma(1, b) - slope
            determinant = ff * gg - slope * slope
            determinant = np.where(determinant > 0, determinant, np.inf)
            a, b = (
                np.clip(shape - step, shape / 4, np.minimum(4 * shape, MOST_SHAPE))
                for shape, step in (
                    (a, (gg * f + slope * g) / determinant),
                    (b, (ff * g + slope * f) / determinant),
                )
            )
        return a, b

    def log_density(x: Array, parameters: Values) -> Array:
        a, b = parameters
        x = inside(x)
        constant = log_gamma(a + b) - log_gamma(a) - log_gamma(b)
        density: Array = constant + (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)
        return density

    def draw(parameters: Values, n: int, rng: np.random.Generator) -> Array:
        a, b = parameters
        return rng.beta(a, b, (n, len(a)))

    unknown = (0.5, 1 / 3, -1.0, -1.0)  # the means of a uniform number
    return Averages(Curve("beta", functions, estimate, log_density, draw, unknown), alpha)


def inside(x: Array) -> Array:
    """Return the numbers, moved strictly inside 0 to 1."""
    return np.clip(x, LEAST_SHARE, 1 - LEAST_SHARE)


def negative_binomial(alpha: float = 1.0) -> Averages:
    """Return the family of counts whose variance exceeds their mean."""

    def functions(x: Array) -> Values:
        return x, x * x

    def draw(parameters: Values, n: int, rng: np.random.Generator) -> Array:
        return draw_counts(parameters[0], parameters[1], n, rng)

    curve = Curve("negative binomial", functions, count_size, log_count, draw, (1.0, 3.0))
    return Averages(curve, alpha)


def count_size(means: Values) -> Values:
    """Return the mean μ and the size r, given the means of x and x²."""
    mean, square = np.maximum(means[0], 1e-9), means[1]
    excess = square - mean * mean - mean
    size = mean * mean / np.where(excess > 0, excess, 1e-300)
    return mean, np.clip(size, 1e-3, LARGEST_SIZE)


def log_count(x: Array, parameters: Values) -> Array:
    """Return log p(x) of a negative binomial with mean μ and size r."""
    mean, size = parameters
    ratio = np.log1p(mean / size)
    constant = log_gamma(x + size) - log_gamma(size) - log_gamma(x + 1)
    density: Array = constant - size * ratio + x * (np.log(mean / size) - ratio)
    return density


def draw_counts(mean: Array, size: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw counts from Poisson distributions whose rates are Gamma distributed."""
    rate = rng.gamma(size, mean / size, (n, len(mean)))
    return rng.poisson(rate).astype(np.float64)


def zero_inflated(alpha: float = 1.0) -> Averages:
    """Return the family of counts with an extra share of zeros."""

    def functions(x: Array) -> Values:
        above = (x > 0).astype(np.float64)
        rest = np.maximum(x - 1, 0.0)
        return above, rest, rest * rest

    def estimate(means: Values) -> Values:
        above = np.clip(means[0], LEAST_SHARE, 1 - LEAST_SHARE)
        mean, size = count_size((means[1] / above, means[2] / above))
        return above, mean, size

    def log_density(x: Array, parameters: Values) -> Array:
        above, *rest = parameters
        more = np.log(above) + log_count(np.maximum(x - 1, 0.0), tuple(rest))
        return np.where(x > 0, more, np.log1p(-above))

    def draw(parameters: Values, n: int, rng: np.random.Generator) -> Array:
        above, mean, size = parameters
        is_above = rng.random((n, len(above))) < above
        return np.where(is_above, 1 + draw_counts(mean, size, n, rng), 0.0)

    unknown = (0.5, 0.5, 1.0)
    curve = Curve("zero-inflated", functions, estimate, log_density, draw, unknown)
    return Averages(curve, alpha)


def von_mises(period: float, alpha: float = 1.0) -> Averages:
    """Return the family of angles, or of times modulo a `period`."""
    turn = 2 * np.pi / period

    def functions(x: Array) -> Values:
        return np.cos(turn * x), np.sin(turn * x)

    def estimate(means: Values) -> Values:
        east, north = means
        return east, north, concentration(np.hypot(east, north))

    def log_density(x: Array, parameters: Values) -> Array:
        from scipy.special import i0e

        east, north, k = parameters
        length = np.maximum(np.hypot(east, north), 1e-300)
        along = (np.cos(turn * x) * east + np.sin(turn * x) * north) / length
        density: Array = k * (along - 1) - np.log(i0e(k)) - np.log(period)
        return density

    def draw(parameters: Values, n: int, rng: np.random.Generator) -> Array:
        east, north, k = parameters
        angle = rng.vonmises(np.arctan2(north, east), k, (n, len(k)))
        return np.mod(angle, 2 * np.pi) / turn

    curve = Curve("von Mises", functions, estimate, log_density, draw, (0.0, 0.0))
    return Averages(curve, alpha)


def concentration(length: Array) -> Array:
    """Solve I₁(k) / I₀(k) = length for k: Best and Fisher's guess (1981), then Newton's method."""
    from scipy.special import i0e, i1e

    r = np.clip(length, 0.0, 1 - 1 / (2 * MOST_CONCENTRATION))
    with np.errstate(divide="ignore"):
        k = np.where(
            r < 0.53,
            2 * r + r**3 + 5 * r**5 / 6,
            np.where(r < 0.85, -0.4 + 1.39 * r + 0.43 / (1 - r), 1 / (r**3 - 4 * r**2 + 3 * r)),
        )
    for _ in range(4):
        ratio = i1e(k) / i0e(k)
        slope = 1 - ratio * ratio - np.where(k > 0, ratio / np.where(k > 0, k, 1.0), 0.5)
        k = np.clip(k - (ratio - r) / np.maximum(slope, 1e-12), 0.0, MOST_CONCENTRATION)
    return k


seconds: Any = partial(von_mises, 86_400.0)
hours: Any = partial(von_mises, 24.0)
degrees: Any = partial(von_mises, 360.0)
radians: Any = partial(von_mises, 2 * np.pi)
