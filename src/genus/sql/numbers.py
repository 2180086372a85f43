"""Columns of numbers as SQL: what each family adds to the score of a class.

A line b x + c (multinomial, complement, Poisson), a parabola c - ½ ((x - μ)/σ)² (normal),
A log t + B (t - 1) + C with t = x/c (gamma), or a CASE of two (Bernoulli).

Symbols: K classes; j is a column, and x how the statement names its clean value.
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
MOST = 1e300  # the largest count; sums of its products with logarithms are floats
LEAST = 1e-280  # the least count other than zero, for the same reason
FAR = 1e152  # standard deviations from a mean, beyond which a density is zero
MOST_RATIO, LEAST_RATIO = 1e290, 1e-300  # of a value to the mean of a gamma density


def line(x: str, slope: Array, constant: Array) -> Term:
    """Write b x + c, (K,) each; where b is -inf and x above zero, the class is impossible."""
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
    """Write c - ½ ((x - μ)/σ)², (K,) each; far from the mean the class is impossible."""
    found = []
    for μ, σ, c in zip(mean, np.sqrt(variance), constant, strict=True):
        z = f"({x} - {number(away_from_zero(μ, σ))})"
        squared = f"{number(c)} - power({z} / {number(σ)}, 2) / 2"
        near = f"abs{z} <= {number(FAR * σ)}"
        found.append(case((near, squared), (f"{x} IS NOT NULL", NEVER), otherwise=ZERO))
    return found


def curve(family: Any, parameters: Any, j: int, x: str) -> Term:
    """Write log p(x|k) of column j, up to what all classes share; zero where x is missing."""
    match family:
        case Gaussian():
            normaliser = parameters.log_normaliser[:, j]
            return parabola(x, parameters.mean[:, j], parameters.variance[:, j], normaliser)
        case Multinomial() | Poisson():
            slope, _ = parameters.linear
            rate = parameters.rate[:, j] if isinstance(family, Poisson) else np.zeros(len(slope))
            return line(x, slope[:, j], -rate)
        case Complement():
            # What no other class has is +inf: see `decided`.
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
                f"There is no SQL for the family {family.curve.name}. Choose another one for the "
                'column, such as "discretised".'
            )
    raise TypeError(f"No SQL is known for {type(family).__name__}.")


def domain(family: Any, parameters: Any, j: int) -> tuple[str, str]:
    """Write the condition on numbers {x} that a family takes, and what `curve` reads of them."""
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
