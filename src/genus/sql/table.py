"""Write the model of a table as SQL: each column by its family, and missing values.

A column adds `there` + log p(x|k) if it has a value, and `missing` if it has none. Both constants
are zero unless missing values are evidence (`Marginal.absent`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from genus.registry import FAMILIES
from genus.sql.covariance import together
from genus.sql.dialect import Dialect, number
from genus.sql.expressions import (
    FINITE,
    UNUSED,
    ZERO,
    Array,
    Term,
    Value,
    case,
    cases,
    raw_number,
    raw_text,
    total,
)
from genus.sql.numbers import curve, domain
from genus.table import Column
from genus.table.calendar import PARTS, ROUNDING
from genus.table.model.marginals import LEAST, Bins, Marginal, Numbers, Values
from genus.table.model.mixed import Mixed, MixedParameters
from genus.table.plan import NOTHING, zone_of

TEXTS = ("string", "large_string", "string_view")  # Arrow's names
SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))  # as in str.strip()
TRUTHS = "'true', 'false'"
# Marks of missing values become NULL, and Booleans lower case, as in `Frame`.
CATEGORY = (
    f"CASE WHEN TRIM(BOTH '{SPACES}' FROM {{x}}) IN ({', '.join(map(repr, NOTHING))}) THEN NULL "
    f"WHEN lower({{x}}) IN ({TRUTHS}) THEN lower({{x}}) ELSE {{x}} END"
)
OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")  # a time zone such as +02:00
MICROSECONDS = {"days": 86_400e6, "seconds": 1e6}


def of_table(
    family: Mixed, parameters: MixedParameters, names: Sequence[str], dialect: Dialect
) -> tuple[list[Value], list[Term]]:
    """Return the SQL for the columns of a table, and for all terms of the model.

    `names` are the quoted names of the table's columns; parts of dates, such as the weekday, are
    computed and have no name.
    """
    if parameters.tree is not None:
        raise ValueError(
            'A model with dependence="tree" needs a table of probabilities for each pair of '
            "columns that depend on each other, which is too much for one SQL statement. Use "
            "resolve(dependence=False)."
        )
    plan = family.how.plan.used
    blocks = {j: name for name, own in family.how.blocks.items() for j in own}
    at = dict(zip((column.name for column in plan if not column.part), names, strict=True))
    values, terms = [], []
    for j, (column, marginal) in enumerate(zip(plan, parameters.marginals, strict=True)):
        if marginal is None:
            raise ValueError(
                f"Column {column.name!r} holds texts, which SQL cannot split into words as "
                f"genus does. Fit without it: ignore=[{column.name!r}]."
            )
        name = at[column.source]
        if j in blocks:
            values.append(Value(raw_of(column, name, dialect), check="{x} IS NOT NULL"))
            continue
        value, term = one_column(column, marginal, j, name, dialect)
        values.append(UNUSED if set(term) == {ZERO} else value)
        terms.append(term)
    for block in parameters.blocks:
        terms.append(together(block.parameters, [f"v.x{j}" for j in block.columns]))
    return values, terms


def one_column(
    column: Column, marginal: Marginal, j: int, name: str, dialect: Dialect
) -> tuple[Value, Term]:
    """Return the SQL of a column and of its term."""
    x, (there, missing) = f"v.x{j}", marginal.absent
    if column.part:
        value = Value(raw_part(column, name, dialect))
    elif column.kind == "category":
        value = Value(raw_category(column, name), CATEGORY)
    else:
        value = Value(raw_of(column, name, dialect))
    match marginal.distribution:
        case None:
            return value, lines(x, missing, [], np.empty((0, len(there))), there)
        case Values() as found:
            if column.part:
                place = PARTS[column.part].names.index
                known = [f"{x} = {place(name)}" for name in found.axis.tolist()]
            elif found.grid is None:
                known = [f"{x} = {dialect.text(category)}" for category in found.axis.tolist()]
            else:  # numbers by their cells
                keys = found.grid.keys(found.axis)
                ends = zip(found.grid.values(keys), found.grid.values(keys + 1), strict=True)
                known = [f"{x} >= {number(low)} AND {x} < {number(high)}" for low, high in ends]
            log_p = found.log_p + there
            return value, lines(x, missing, known, log_p[:-1], log_p[-1])
        case Bins() as found:
            log_p = found.parameters.table[:-1] + there
            below = [f"{x} < {number(edge)}" for edge in found.edges]
            return value, lines(x, missing, below, log_p[:-1], log_p[-1])
        case Numbers() as found:
            condition, clean = domain(found.family, found.parameters, 0)
            if FAMILIES[found.name].is_open:  # zero counts as half a cell
                half = case(("{x} = 0", number(found.grid.step / 2)), otherwise="{x}")
                condition, clean = (part.replace("{x}", f"({half})") for part in (condition, clean))
            scores = curve(found.family, found.parameters, 0, x)
            modelled = [f"GREATEST({score}, {number(LEAST)})" for score in scores]
            if condition != FINITE:
                # Infinity stands for values that are present but that the family cannot model: no
                # evidence.
                odd = number(np.inf)
                clean = case((condition, clean), ("{x} IS NOT NULL", odd), otherwise="NULL")
                modelled = [case((f"{x} = {odd}", ZERO), otherwise=own) for own in modelled]
            term = [
                case((f"{x} IS NULL", number(absent)), otherwise=total([number(present), own]))
                for own, present, absent in zip(modelled, there, missing, strict=True)
            ]
            return replace(value, clean=clean), term
        case _:
            raise AssertionError(
                "Without calibration every column keeps its family, so none has Shares."
            )


def lines(
    x: str, missing: Array, conditions: Sequence[str], table: Array, otherwise: Array
) -> Term:
    """Return a table (V, K) by conditions as SQL, with a row for missing x and one for the rest."""
    return cases([f"{x} IS NULL", *conditions], np.vstack([missing, table]), otherwise)


def raw_of(column: Column, name: str, dialect: Dialect) -> str:
    """Return SQL that reads numbers as Frame does: dates as days, times as seconds, no ∞."""
    if "string" in column.type:
        raise ValueError(
            f"Column {column.name!r} held numbers or dates written as text, which a database reads "
            "in another way than genus. Convert it to numbers or dates, and fit again."
        )
    read = raw_number(name)
    if column.unit:
        unit, zone = MICROSECONDS[column.unit], zone_of(column.type)
        offset = OFFSET.fullmatch(zone)
        if zone and not offset and zone != "UTC":
            name = f"({name} AT TIME ZONE {dialect.text(zone)})"
        read = f"{dialect.microseconds.format(x=name)} / {number(unit)}"
        if offset:  # databases disagree about the sign of a zone such as +02:00
            minutes = int(f"{offset[1]}1") * (60 * int(offset[2]) + int(offset[3]))
            read = f"({read} + {number(minutes / 1440)})"
    return f"NULLIF(NULLIF({read}, {number(np.inf)}), {number(-np.inf)})"


def raw_part(column: Column, name: str, dialect: Dialect) -> str:
    """Return SQL that computes a part of a date as `calendar.codes_of` does."""
    days = raw_of(column, name, dialect)
    if column.part == "hour":
        hours = f"FLOOR({days} * 24 + {number(ROUNDING)})"
        return f"{hours} - 24 * FLOOR({hours} / 24)"
    field = {"weekday": "ISODOW", "month": "MONTH"}[column.part]
    return f"EXTRACT({field} FROM DATE '1970-01-01' + CAST(FLOOR({days}) AS integer)) - 1"


def raw_category(column: Column, name: str) -> str:
    """Return SQL that reads categories.

    Refuse types that databases and genus convert to text differently.
    """
    written = column.type.removeprefix("dictionary<values=").split(",")[0]
    if written not in (*TEXTS, "bool"):
        raise ValueError(
            f"Column {column.name!r} holds categories of type {column.type}, which a database "
            "and genus convert to text differently. Convert the column to text and fit again."
        )
    return raw_text(name)
