"""Write columns with a full covariance as SQL: one term for all of them.

Symbols: K classes, n columns; Σ = D L Lᵀ D as in `genus.solve.normal.Factor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from genus.families.gaussian.scores import FullParameters
from genus.solve.covariance import RowFactor
from genus.solve.normal import Factor
from genus.sql.dialect import number
from genus.sql.expressions import LARGEST, NEVER, Array, Term, away_from_zero, case, total

FAR = 1e140  # standard deviations from a mean beyond which a density is zero
FARTHEST = 1e290  # the same if Σ is shared; numbers further out are moved to here


def together(parameters: FullParameters, columns: Sequence[str]) -> Term:
    """Return the SQL of log N(x; μ_k, Σ_k), up to terms that all classes share."""
    if parameters.is_shared and not parameters.scorer.is_wide:
        return shared_lines(parameters, columns)
    return [
        quadratic(parameters.mean[k], parameters.factor(k), columns)
        for k in range(len(parameters.mean))
    ]


def shared_lines(parameters: FullParameters, columns: Sequence[str]) -> Term:
    """Return SQL for one shared Σ, linear in x: (x - c)ᵀ Σ⁻¹ (μ - c) minus a constant."""
    scorer: Any = parameters.scorer
    scale = parameters.factors[0].scale
    z = []
    for x, c, s in zip(columns, scorer.centre, scale, strict=True):
        reach = min(FARTHEST * float(s), LARGEST / 4)
        low, high = number(c - reach), number(c + reach)
        near = case((f"{x} < {low}", low), (f"{x} > {high}", high), otherwise=x)
        z.append(f"({near} - {number(away_from_zero(c, s))})")
    return [
        total([*products(own, scale, z), number(c)])
        for own, c in zip(scorer.coefficients.T, scorer.constant, strict=True)
    ]


def quadratic(mean: Array, factor: Factor | RowFactor, columns: Sequence[str]) -> str:
    """Return the SQL of -½ |L⁻¹ D⁻¹ (x - μ)|² plus the normaliser of a class."""
    scale = factor.scale
    z = [
        f"({x} - {number(away_from_zero(μ, s))})"
        for x, μ, s in zip(columns, mean, scale, strict=True)
    ]
    whiten = factor.whiten(np.eye(len(mean)))  # (n, n), column by column of D⁻¹ (x - μ)
    squares = [f"power({total(products(row, scale, z))}, 2)" for row in whiten]
    near = [f"abs{own} <= {number(FAR * s)}" for own, s in zip(z, scale, strict=True)]
    score = f"{number(-0.5 * factor.log_determinant)} - ({total(squares)}) / 2"
    return case((" AND ".join(near), score), otherwise=NEVER)


def products(coefficients: Array, scale: Array, z: Sequence[str]) -> list[str]:
    """Return the SQL of coefficients times columns, without products that underflow."""
    return [
        f"{number(c)} * {own}"
        for c, s, own in zip(coefficients, scale, z, strict=True)
        if abs(c) * s > 1e-100
    ]
