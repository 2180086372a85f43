"""Write columns of categories and bins as SQL: a table of log p(value|k), as CASE.

Symbols: K classes, V values.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from genus.arrays import labels
from genus.families import Categorical
from genus.families.categorical import Column
from genus.sql.dialect import Dialect, number
from genus.sql.expressions import (
    FINITE,
    LARGEST,
    Array,
    Term,
    Value,
    cases,
    number_if,
    raw_text,
    within,
)


def steps(x: str, edges: Array, table: Array, shift: float = 0.0) -> Term:
    """Return SQL that finds the row of x's bin in `table` (bins, K).

    `edges` are the inner edges of the bins, relative to `shift`.
    """
    moved = x if shift == 0 else f"{x} - {number(shift)}"
    below = [f"{moved} < {number(edge)}" for edge in edges]
    return cases([*below, f"{x} IS NOT NULL"], table)


def lookup(x: str, values: NDArray[Any], table: Array, dialect: Dialect) -> Term:
    """Return SQL that finds the row of x in `table` (V + 1, K); the last is for unseen values."""
    if labels.kind(values) == "number":
        literals = [number(value) for value in values.tolist()]
    else:
        literals = [dialect.text(value) for value in values.tolist()]
    known = [f"{x} = {literal}" for literal in literals]
    if not table[-1].any():
        return cases(known, table[:-1])
    return cases([*known, f"{x} IS NOT NULL"], table)


def column_of_categories(
    family: Categorical, column: Column, table: Array, j: int, name: str, dialect: Dialect
) -> tuple[Value, Term]:
    """Return the SQL of a column of categories or bins, and of its scores (V + 1, K)."""
    x = f"v.x{j}"
    if family.bins is not None and column.edges is not None:
        value = number_if(name, FINITE)
        return value, steps(x, column.edges, table[:-1], family.bins.shift)
    if labels.kind(column.values) != "number":
        return Value(raw_text(name)), lookup(x, column.values, table, dialect)
    if len(column.values) and max(column.values.tolist()) > labels.LARGEST_EXACT:
        raise ValueError(
            f"Column {j} holds categories that are integers beyond 2**53, which SQL compares "
            "as floats. Convert them to text and fit again."
        )
    value = number_if(name, within(0.0, LARGEST))
    return value, lookup(x, column.values, table, dialect)
