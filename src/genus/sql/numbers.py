"""Write columns of numbers as SQL: what each family adds to the score of a class.

A line b x + c (multinomial, complement, Poisson), a parabola c - ½ ((x - μ)/σ)² (normal),
A log t + B (t - 1) + C with t = x/c (gamma), or a CASE of two (Bernoulli).

Symbols: K classes; j is a column, and x the name of its clean value in the statement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from genus.families import Bernoulli, Complement, Gamma, Gaussian, Multinomial, Poisson
from genus.families.averages import Averages
from genus.sql.dialect import number
from genus.sql.expressions import (
    FINITE,
    LARGEST,
    NEVER,
    ZERO,
    Array,
    Term,
    away_from_zero,
    case,
    cases,
    total,
    within,
)

SMALLEST = float(np.finfo(np.float64).smallest_subnormal)
MOST = 1e300  # largest count for which sums of products with logarithms are finite
LEAST = 1e-280  # smallest nonzero count, for the same reason
FAR = 1e152  # standard deviations from a mean beyond which a density is zero
MOST_RATIO, LEAST_RATIO = 1e290, 1e-300  # ratios of a value to the mean of a gamma density


def line(x: str, slope: Array, constant: Array) -> Term:
    """Return SQL of b x + c, (K,) each; a class is impossible if b is -inf and x is above zero."""
    if not slope.any() and not constant.any():
        return [ZERO] * len(slope)
    never = np.isneginf(slope)
    never &= ~never.all()
    return [
        case((f"{x} > 0", NEVER), (f"{x} = 0", number(c)), otherwise=ZERO)
        if excluded
        else case((f"{x} IS NOT NULL", number(c)), otherwise=ZERO)
        if b in (0, -np.inf)
        else f"COALESCE({total([f'{number(b)} * {x}', number(c)])}, 0)"
        for b, c, excluded in zip(slope, constant, never, strict=True)
    ]


def parabola(x: str, mean: Array, variance: Array, constant: Array) -> Term:
    """Return SQL of c - ½ ((x - μ)/σ)², (K,) each; a class is impossible far from its mean."""
    found = []
    for μ, σ, c in zip(mean, np.sqrt(variance), constant, strict=True):
        z = f"({x} - {number(away_from_zero(μ, σ))})"
        squared = f"{number(c)} - power({z} / {number(σ)}, 2) / 2"
        near = f"abs{z} <= {number(FAR * σ)}"
        found.append(case((near, squared), (f"{x} IS NOT NULL", NEVER), otherwise=ZERO))
    return found


def curve(family: Any, parameters: Any, j: int, x: str) -> Term:
    """Return SQL of log p(x|k) of column j, up to a shared term; zero if x is missing."""
    match family:
        case Gaussian():
            normaliser = parameters.log_normaliser[:, j]
            return parabola(x, parameters.mean[:, j], parameters.variance[:, j], normaliser)
        case Multinomial() | Poisson():
            slope, _ = parameters.linear
            rate = parameters.rate[:, j] if isinstance(family, Poisson) else np.zeros(len(slope))
            return line(x, slope[:, j], -rate)
        case Complement():
            # Values that no other class has get +inf: see `decided`.
            weights = parameters.weights[:, j]
            return line(x, np.where(np.isinf(weights), 0.0, weights), np.zeros(len(weights)))
        case Gamma():
            _, on_log, on_ratio, constant = parameters.form
            parts = (
                [f"{number(a)} * ln({x})", f"{number(b)} * ({x} - 1)", number(c)]
                for a, b, c in zip(on_log[j], on_ratio[j], constant[j], strict=True)
            )
            return [f"COALESCE({total(own)}, 0)" for own in parts]
        case Bernoulli():
            log_p = np.stack([parameters.log_on[:, j], parameters.log_off[:, j]])
            above = f"{x} > {number(family.threshold)}"
            return cases([above, f"NOT {above}"], log_p)
        case Averages():
            raise ValueError(
                f"The family {family.curve.name} cannot be written as SQL. Choose another one "
                'for the column, such as "discretised".'
            )
    raise TypeError(f"{type(family).__name__} cannot be written as SQL. Use predict_proba.")


def domain(family: Any, parameters: Any, j: int) -> tuple[str, str]:
    """Return SQL of the condition on which a family accepts {x}, and of the value for `curve`."""
    match family:
        case Multinomial() | Poisson() | Complement():
            least = case((f"{{x}} < {number(LEAST)}", number(LEAST)), otherwise="{x}")
            return within(0.0, MOST), case(("{x} > 0", least), otherwise="{x}")
        case Gamma():
            c = float(parameters.form[0][j])
            low, high = c * LEAST_RATIO, min(c * MOST_RATIO, LARGEST)
            ratio = case(
                (f"{{x}} < {number(low)}", number(LEAST_RATIO)),
                (f"{{x}} > {number(high)}", number(MOST_RATIO)),
                otherwise=f"{{x}} / {number(c)}",
            )
            return within(SMALLEST, LARGEST), ratio
    return FINITE, "{x}"
