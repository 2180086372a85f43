"""Write small SQL expressions, of which the scores of all families consist.

PostgreSQL raises an error if a sum or a product overflows, and if a product of nonzero numbers
underflows to zero. So values are limited to ranges where neither can happen: see `Value` and
`away_from_zero`.

Symbols: K classes, V values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genus.sql.dialect import number

Array = NDArray[np.float64]
Term = list[str]  # an expression for each class

LARGEST = float(np.finfo(np.float64).max)
GROUP = 100  # terms in one pair of parentheses; DuckDB nests at most 1,000 expressions
ALWAYS = "TRUE"
ZERO = number(0.0)
NEVER = number(-np.inf)


@dataclass(frozen=True)
class Value:
    """How terms read a column: `raw` from the table, then `clean` from the raw value {x}.

    `check` is a condition on {x}. Rows that violate it get no probabilities.
    """

    raw: str
    clean: str = "{x}"
    check: str = ALWAYS


UNUSED = Value("")


def raw_number(column: str) -> str:
    """Return SQL that reads a column as numbers; NaN counts as missing."""
    return f"NULLIF(CAST({column} AS float8), float8 'NaN')"


def raw_text(column: str) -> str:
    """Return SQL that reads a column as text, compared byte by byte."""
    return f'CAST({column} AS text) COLLATE "C"'


def within(low: float, high: float) -> str:
    """Return the condition that a number {x} is from `low` to `high`."""
    return f"{{x}} BETWEEN {number(low)} AND {number(high)}"


FINITE = within(-LARGEST, LARGEST)


def number_if(column: str, condition: str, clean: str = "{x}", is_needed: bool = False) -> Value:
    """Return a value that must satisfy `condition` or be NULL; `is_needed` refuses NULL, too."""
    check = condition if is_needed else f"COALESCE({condition}, TRUE)"
    return Value(raw_number(column), f"CASE WHEN {condition} THEN {clean} END", check)


def cases(conditions: Sequence[str], table: Array, otherwise: Array | None = None) -> Term:
    """Return a table (V, K) as CASE: row v if condition v is the first that is true.

    If none is true, return `otherwise` (K,), or zeros. A value that no class can explain (a row of
    -inf) is left out of the product.
    """
    rest = np.zeros(table.shape[1]) if otherwise is None else otherwise
    table = np.where(np.isneginf(table).all(axis=1, keepdims=True), 0.0, table)
    if not table.any() and not rest.any():
        return [ZERO] * table.shape[1]
    return [
        case(*zip(conditions, map(number, own), strict=True), otherwise=number(left))
        for own, left in zip(table.T, rest, strict=True)
    ]


def case(*branches: tuple[str, str], otherwise: str) -> str:
    """Return CASE with a branch for each condition and its result."""
    written = " ".join(f"WHEN {condition} THEN {result}" for condition, result in branches)
    return f"CASE {written} ELSE {otherwise} END" if branches else otherwise


def total(summands: Iterable[str], plus: str = " + ") -> str:
    """Return the sum of expressions, in groups and without zeros."""
    left = [summand for summand in summands if summand != ZERO]
    while len(left) > GROUP:
        groups = [left[i : i + GROUP] for i in range(0, len(left), GROUP)]
        left = [f"({plus.join(group)})" for group in groups]
    return plus.join(left) if left else ZERO


def away_from_zero(mean: float, deviation: float) -> float:
    """Move a mean near zero by less than the rounding error, so that x - μ is zero or not tiny.

    Then neither (x - μ) / σ nor its square underflows.
    """
    least = 1e-20 * deviation
    return float(mean) if abs(mean) > least else least
