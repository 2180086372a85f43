"""Write Bayes' rule as SQL, given the scores of any family.

The statement has these steps, each a subquery: `r` reads the columns, `v` cleans their values, `s`
has the score of each class, `m` the largest score, `e` has exp(score - largest), and `n` their sum.
The largest score is subtracted so that nothing overflows. A class whose probability would underflow
gets zero, as in Python. The row of the table is passed on as a whole, so that no name of a step can
conflict with its columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genus.families import Family, OneDependence, TreeAugmented
from genus.model import Model
from genus.sql.dialect import Dialect, dialect_of, number
from genus.sql.expressions import ALWAYS, NEVER, UNUSED, ZERO, Term, Value, total
from genus.sql.families import of_family
from genus.sql.table import of_table
from genus.table.model.mixed import Mixed
from genus.table.predictions import LABEL, probability_names
from genus.text.model.corpus import Corpus

ROW_NAME = "row of the table"  # no column of the table may have this name
ROW = f'"{ROW_NAME}"'
SMALLEST = number(-700.0)  # smallest exponent; its exp is a float even after division


def select(
    model: Model, dialect: str, table: str | Sequence[str], columns: Sequence[str] | None
) -> str:
    """Return a SELECT of all columns of a table with predictions and probabilities.

    `columns` are the names of the columns in the table, in the order of the model.
    """
    sql = dialect_of(dialect)
    refuse_inexact(model)
    names = checked_names(model, sql, columns)
    quoted = [f"{ROW}.{sql.identifier(name)}" for name in names]
    if isinstance(model.family, Mixed):
        values, terms = of_table(model.family, model.parameters, quoted, sql)
    else:
        values, terms = of_family(model.family, model.parameters, quoted, sql)
    classes = [sql.identifier(name) for name in output_names(model)[1:]]
    used = {j: value for j, value in enumerate(values) if value is not UNUSED}
    read = [f"{value.raw} AS x{j}" for j, value in used.items()]
    cleaned = [f"{value.clean.format(x=f'r.x{j}')} AS x{j}" for j, value in used.items()]
    scored = [f"{score} AS s{k}" for k, score in enumerate(scores(model, terms))]
    steps = [
        ("r", [ROW, *read], f"{sql.table(table)} AS {ROW}"),
        ("v", [f"r.{ROW}", *cleaned, f"{checked(values)} AS is_valid"], "r"),
        ("s", [f"v.{ROW}", *scored, "v.is_valid"], "v"),
        ("m", ["s.*", f"{largest(len(classes))} AS most"], "s"),
        ("e", ["m.*", *(f"{weight(k, p)} AS e{k}" for k, p in enumerate(model.prior))], "m"),
        ("n", ["e.*", f"{total(f'e.e{k}' for k in range(len(classes)))} AS total"], "e"),
    ]
    written = [
        f"{name} AS (\n  SELECT\n    {listed(step)}\n  FROM {source}{sql.fence}\n)"
        for name, step, source in steps
    ]
    chosen = [sql.columns.format(row=f"n.{ROW}")]
    chosen += [f"{prediction(model, sql)} AS {sql.identifier(LABEL)}"]
    chosen += [f"n.e{k} / n.total AS {name}" for k, name in enumerate(classes)]
    return f"WITH {', '.join(written)}\nSELECT\n    {listed(chosen)}\nFROM n"


def listed(expressions: Sequence[str]) -> str:
    """Join expressions, each on its own line."""
    return ",\n    ".join(expressions)


def scores(model: Model, terms: Sequence[Term]) -> list[str]:
    """Return the SQL of log p(x, k) of each class, up to terms that all classes share."""
    return [
        total([number(prior), *(term[k] for term in terms)], "\n      + ")
        for k, prior in enumerate(model.log_prior)
    ]


def checked(values: Sequence[Value]) -> str:
    """Write the condition that the model accepts the values of a row."""
    checks = [
        value.check.format(x=f"r.x{j}") for j, value in enumerate(values) if value.check != ALWAYS
    ]
    return " AND ".join(checks) or ALWAYS


def largest(classes: int) -> str:
    """Write the largest score; NULL for a row that the model refuses."""
    return f"CASE WHEN s.is_valid THEN GREATEST({', '.join(f's.s{k}' for k in range(classes))}) END"


def weight(k: int, prior: float) -> str:
    """Write exp(score - largest) of a class, or its prior if no class explains the row."""
    behind = f"m.s{k} - m.most"
    return (
        f"CASE WHEN m.most = {NEVER} THEN {number(prior)} "
        f"WHEN {behind} > {SMALLEST} THEN exp({behind}) WHEN {behind} <= {SMALLEST} THEN {ZERO} END"
    )


def prediction(model: Model, sql: Dialect) -> str:
    """Write the first class with the largest score."""
    labels = [sql.label(label) for label in model.classes.tolist()]
    likeliest = labels[int(np.argmax(model.prior))]
    rest = " ".join(f"WHEN n.s{k} = n.most THEN {label}" for k, label in enumerate(labels))
    return f"CASE WHEN n.most = {NEVER} THEN {likeliest} {rest} END"


def output_names(model: Model) -> list[str]:
    """Return the names of the columns that the statement adds, as in genus predict."""
    return [LABEL, *probability_names(model.classes)]


def checked_names(model: Model, sql: Dialect, columns: Sequence[str] | None) -> list[str]:
    """Return the column names; raise an error if they do not fit the model or the database."""
    width = model.width
    if isinstance(model.family, Mixed):
        width = sum(not column.part for column in model.family.how.plan.used)
    if columns is None:
        raise ValueError(
            "The model was fitted without column names. Name the columns of the table, in "
            f"order: columns=[…] with {width} names."
        )
    names = [columns] if isinstance(columns, str) else list(columns)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns must be column names, as text; got {names!r}.")
    if len(names) != width:
        raise ValueError(
            f"columns has {len(names)} names, but the model has {width} columns. Give "
            "one name for each."
        )
    added = output_names(model)
    taken = {sql.folded(name) for name in (ROW_NAME, *added)}
    if len(taken) <= len(added):
        raise ValueError(
            f"Two of the columns {', '.join(map(repr, added))} have the same name in this "
            "database, which ignores case. Rename a class."
        )
    seen: dict[str, str] = {}
    for name in names:
        key = sql.folded(name)
        if key in taken:
            raise ValueError(
                f"Both the statement and the table have a column {name!r}. Rename the one of "
                "the table and pass the new names: columns=[…]."
            )
        if key in seen:
            raise ValueError(
                f"The columns {seen[key]!r} and {name!r} are the same column in {sql.name}. "
                "Rename one and pass the new names: columns=[…]."
            )
        seen[key] = name
    return names


def refuse_inexact(model: Model) -> None:
    """Raise an error if SQL cannot compute the probabilities of the model."""
    family: Family = model.family
    if isinstance(family, Corpus):
        raise ValueError(
            "SQL cannot split a text into words as TextClassifier does. Use predict_proba, "
            "or count words into columns and fit MultinomialNB."
        )
    if isinstance(family, TreeAugmented | OneDependence):
        raise ValueError(
            "TAN and AODE look up pairs of values, which SQL does not support here. Use "
            "predict_proba, or fit CategoricalNB."
        )
    if isinstance(family, Mixed) and family.calibrate:
        raise ValueError(
            "Calibrated probabilities combine many models, which is too much for one SQL "
            "statement. Use resolve(calibrate=False)."
        )
    if model.unexplained == "error":
        raise ValueError(
            "unexplained='error' raises an error for a row that no class can explain, which SQL "
            "cannot do. Use resolve(unexplained='prior')."
        )
