"""Write the scores of a family of array columns as SQL: what to read, and a sum of terms.

    score of class k = log p(k) + Σ term of class k

Each term belongs to one column, except for a full covariance and for `decided`.

Symbols: K classes, n columns; `v.x0` is the clean value of column 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from genus.families import Categorical, Complement
from genus.families.gaussian.scores import FullParameters
from genus.sql.categories import column_of_categories
from genus.sql.covariance import together
from genus.sql.dialect import Dialect
from genus.sql.expressions import NEVER, ZERO, Array, Term, Value, case, number_if
from genus.sql.numbers import curve, domain


def decided(weights: Array, columns: Sequence[str]) -> list[Term]:
    """Return a term for values that only one class can have: it excludes the other classes.

    The `weights` (K, n) of such values are +inf, in complement naive Bayes without smoothing. If
    there are none, return no term.
    """
    certain = np.isposinf(weights)
    if not certain.any():
        return []
    hits = [
        " OR ".join(f"{columns[j]} > 0" for j in np.flatnonzero(own).tolist()) or "FALSE"
        for own in certain
    ]
    some = np.flatnonzero(certain.any(axis=0)).tolist()
    anywhere = " OR ".join(f"{columns[j]} > 0" for j in some)
    return [[case((own, ZERO), (anywhere, NEVER), otherwise=ZERO) for own in hits]]


def of_family(
    family: Any, parameters: Any, names: Sequence[str], dialect: Dialect
) -> tuple[list[Value], list[Term]]:
    """Return the SQL of an array's columns, given their quoted names, and of a family's terms."""
    columns = [f"v.x{j}" for j in range(len(names))]
    if isinstance(family, Categorical):
        found = [
            column_of_categories(
                family, column, parameters.table[parameters.rows(j)], j, names[j], dialect
            )
            for j, column in enumerate(parameters.columns)
        ]
        return [value for value, _ in found], [term for _, term in found]
    full = isinstance(parameters, FullParameters)
    values = [
        number_if(name, *domain(family, parameters, j), is_needed=full)
        for j, name in enumerate(names)
    ]
    if full:
        return values, [together(parameters, columns)]
    terms = [curve(family, parameters, j, x) for j, x in enumerate(columns)]
    if isinstance(family, Complement):
        terms += decided(parameters.weights, columns)
    return values, terms
