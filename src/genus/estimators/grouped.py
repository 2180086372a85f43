"""Count a table inside a database, which returns sums by class, so that no row is read.

Symbols: K classes, n columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, InvalidColumn, InvalidValue
from genus.engines.database import Database, Groups, Unsupported
from genus.estimators.columns import NUMBERS, VALUES, is_vector
from genus.estimators.table_rows import Passed, as_known, labels_of, weights_of
from genus.families.sums import Needs, Sums
from genus.model import Model
from genus.statistics import Array, Tally
from genus.table import Source


def count_grouped(
    estimator: Any, source: Source, reading: Any, first: bool
) -> tuple[Model, Passed] | None:
    """Return the model of a database's rows, and their number.

    Return None if the classifier needs the rows themselves.
    """
    database: Database | None = source.grouped
    if database is None or estimator._reads not in (NUMBERS, VALUES):
        return None
    empty = source.schema.empty_table()
    labels_of(empty.column(reading.target), reading.target)  # raises if it has no classes
    beside = [name for name in (reading.target, reading.weights) if name is not None]
    rows = reading.chosen(empty.drop_columns(beside))
    if any(map(is_vector, rows.schema.types)):
        return None
    if first:
        estimator._look(rows, reading.target, np.zeros(0, dtype=np.int64), None)
    estimator._matrix(rows)  # raises if a column is missing
    names = estimator._columns_known(rows).names
    needs = getattr(estimator._blank().family, "needs", None)
    if needs is None:
        return None
    weights = () if reading.weights is None else (reading.weights,)
    plain = [is_plain(empty.schema.field(name).type, needs.values) for name in names]
    plain += [is_plain(empty.schema.field(name).type, texts=False) for name in weights]
    if not all(plain):
        return None
    try:
        count = count_values if needs.values else add_up
        return count(estimator, database, reading, names, needs)
    except Unsupported:
        return None


def is_plain(kind: Any, texts: bool) -> bool:
    """Return whether a database and Arrow read the same numbers or texts from a column."""
    import pyarrow.types as pt

    number = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind)
    return bool(number or pt.is_decimal(kind) or (texts and pt.is_string(kind)))


def add_up(
    estimator: Any, database: Database, reading: Any, names: tuple[str, ...], needs: Needs
) -> tuple[Model, Passed]:
    """Return a model made from sums of numbers, and the number of rows."""
    groups, sums, bounds = database.add_up(reading.target, reading.weights, names, needs)
    classes, codes, there = classes_of(estimator, groups, reading)
    if len(classes) < len(codes):
        raise Unsupported  # a label in two spellings has sums about two origins
    order = np.flatnonzero(there)[np.argsort(codes)]
    sums = sums.take(order)
    with estimator._named_errors():
        for bound in () if bounds is None else bounds:
            refuse_bounds(estimator, bound[order], needs.nonnegative)
        refuse_infinite(sums)
    with np.errstate(over="ignore", invalid="ignore"):  # sums are checked later
        statistics = estimator._blank().family.of_sums(classes, sums)
    return of_rows(estimator, classes, groups.weights[order], statistics), passed(groups, reading)


def count_values(
    estimator: Any, database: Database, reading: Any, names: tuple[str, ...], needs: Needs
) -> tuple[Model, Passed]:
    """Return a model made from counts of values, and the number of rows.

    Each value is counted as one row, weighted by its count.
    """
    groups, counted, values = database.count_values(reading.target, reading.weights, names)
    classes, codes, there = classes_of(estimator, groups, reading)
    weights = np.bincount(codes, groups.weights[there], len(classes)).astype(np.float64)
    own, own_codes, there = classes_of(estimator, counted, reading)
    y = labels.positions(own, classes)[own_codes]
    X = estimator._matrix(values)[there]
    family = estimator._blank().family
    with estimator._named_errors():
        try:
            statistics = family.count(X, y, classes, counted.weights[there])
        except InvalidValue as error:  # its row number has no meaning
            raise invalid(estimator, error.column, error.value) from None
    return of_rows(estimator, classes, weights, statistics), passed(groups, reading)


def passed(groups: Groups, reading: Any) -> Passed:
    """Return the number of rows in all groups, and of rows without a label."""
    _, _, there = labels_of(groups.labels, reading.target)
    return Passed(int(groups.rows.sum()), int(groups.rows[~there].sum()))


def of_rows(estimator: Any, classes: Axis, weights: Array, statistics: Any) -> Model:
    """Return a model of these statistics, with the weights of each class (K,)."""
    counted = Tally.of(classes, None, {"rows": weights[:, None]})
    return replace(estimator._blank(), statistics=statistics, weights=counted)


def classes_of(
    estimator: Any, groups: Groups, reading: Any
) -> tuple[Axis, Codes, NDArray[np.bool_]]:
    """Return the classes, the codes of groups that count, and which groups these are.

    They have a label and a weight above zero.
    """
    import pyarrow as pa

    if reading.weights is not None:
        weights_of(pa.array(groups.bounds), reading.weights)  # raises for invalid weights
    classes, codes, there = labels_of(groups.labels, reading.target)
    if reading.known is not None:
        classes = as_known(classes, reading.known)
    some = groups.weights[there] > 0
    classes, codes = labels.factorize(classes[codes[some]])
    there = there.copy()
    there[there] = some
    return classes, codes, there


def refuse_bounds(estimator: Any, bound: Array, nonnegative: bool) -> None:
    """Raise an error if the smallest or largest value of a column, (K, n), is not allowed."""
    odd = np.isinf(bound) | ((bound < 0) & nonnegative)
    if odd.any():
        k, j = np.argwhere(odd)[0].tolist()
        raise invalid(estimator, j, bound[k, j])


def invalid(estimator: Any, column: int, value: float) -> InvalidColumn:
    """Return the error for a value that the classifier does not accept in a column."""
    hint = "Use NaN for missing values." if np.isinf(value) else estimator._too_small_hint
    return InvalidColumn(column, f"holds {value:g}. {hint}")


def refuse_infinite(sums: Sums) -> None:
    """Raise an error if sums are not finite."""
    for part in (sums.sums, sums.squares):
        if part is not None and not np.isfinite(part).all():
            raise InvalidColumn(
                int(np.argwhere(~np.isfinite(part))[0][-1]),
                "holds infinity, or numbers so large that their powers do not fit into a float. "
                "Use NaN for missing values, or scale the column to other units.",
            )
