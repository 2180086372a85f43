"""Let a database sum the rows of a table by class, with queries through Ibis.

A result has a row for each class, and one for rows without a label. Numbers are read as float64;
NULL and NaN are missing. Squares need three queries: one counts the rows of each class, one finds a
point near its mean, and one sums about that point, which preserves digits for numbers far from
zero.

Symbols: K classes, n columns, w weights, z = x - origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from genus.families.sums import Array, Needs, Sums
from genus.statistics import grid_point
from genus.table import TableError

MOST_SUMS = 1500  # sums that one query returns; PostgreSQL allows 1,664 columns
NEAR = 16.0  # standard deviations between mean and origin that cost few digits


class Unsupported(Exception):
    """The database cannot run a query, so the rows must be read."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The rows of a table grouped by label, or by label and value.

    `labels` is an Arrow column with the label of each group, some of which may be NULL. `rows` and
    `weights` are the number of rows and the total weight of each group. `bounds` holds the smallest
    and largest weights, and NaN if a weight is missing.
    """

    labels: Any
    rows: Array
    weights: Array
    bounds: Array

    @classmethod
    def of(cls, found: Any) -> Groups:
        """Return the groups in the result of a query."""
        rows = vector(found, "rows")
        if "w" not in found.column_names:
            return cls(found["y"], rows, rows, np.zeros(0))
        ends = [vector(found, name, np.nan) for name in ("lightest", "heaviest")]
        missing = np.full(int((vector(found, "weighed") != rows).any()), np.nan)
        return cls(found["y"], rows, vector(found, "w"), np.concatenate([*ends, missing]))

    @cached_property
    def listed(self) -> list[Any]:
        """The labels as Python objects."""
        return self.labels.to_pylist()

    def align(self, found: Any, values: Array, missing: float = 0.0) -> Array:
        """Return the values of another result in the order of these groups."""
        place = {one: k for k, one in enumerate(self.listed)}
        at = [place.get(one, -1) for one in found["y"].to_pylist()]
        if -1 in at:
            raise TableError("The table got rows of a new class while it was read. Fit again.")
        out = np.full((len(self.listed), *values.shape[1:]), missing)
        out[at] = values
        return out


@dataclass(frozen=True, eq=False)
class Database:
    """An Ibis table, whose database sums the rows."""

    table: Any

    def add_up(
        self, target: str, weights: str | None, columns: Sequence[str], needs: Needs
    ) -> tuple[Groups, Sums, tuple[Array, Array] | None]:
        """Return the groups by label, their sums, and the bounds of each column by group.

        The bounds are None if squares are needed.
        """
        size = len(columns)
        cells = {f"x{j}": number(self.table[name]) for j, name in enumerate(columns)}
        rows = self._select(target, weights, cells)
        if needs.squares is None:
            found = run(rows.group_by("y").agg(**totals(rows), **tallies(rows, size, needs)))
            sums = Sums(matrix(found, "n", size), matrix(found, "s", size))
            return Groups.of(found), sums, (matrix(found, "l", size), matrix(found, "h", size))
        pairs = needs.squares == "pairs"
        squares = size * (size + 1) // 2 if pairs else size
        if squares + 2 * size + 2 > MOST_SUMS:  # plus sums, counts, labels and weights
            raise Unsupported
        groups = Groups.of(run(rows.group_by("y").agg(**totals(rows))))
        kept = complete(rows, size) if pairs else rows.filter(rows["y"].notnull())
        origin = origins(groups, run(kept.group_by("y").agg(**spreads(kept, size))), size)
        found = run(kept.group_by("y").agg(**moments(kept, groups, origin, pairs)))
        return groups, moments_of(found, groups, origin, pairs), None

    def count_values(
        self, target: str, weights: str | None, columns: Sequence[str]
    ) -> tuple[Groups, Groups, Any]:
        """Return groups by label, groups by label and value, and an Arrow table of the values.

        Each row of the table holds a value of one column; all others are NULL.
        """
        import ibis
        import pyarrow as pa

        cells = {f"x{j}": value(self.table[name]) for j, name in enumerate(columns)}
        rows = self._select(target, weights, cells)
        empty = {name: ibis.null(rows[name].type()) for name in cells}
        parts = [rows.group_by("y").agg(**totals(rows)).mutate(is_value=False, **empty)]
        for name in cells:
            kept = rows.filter(rows[name].notnull())
            part = kept.group_by(["y", name]).agg(**totals(kept))
            others = {other: null for other, null in empty.items() if other != name}
            parts.append(part.mutate(is_value=True, **others))
        order = list(parts[0].columns)
        found = run(ibis.union(*(part.select(order) for part in parts), distinct=False))
        values = found.filter(found["is_value"])
        listed = [values[name].combine_chunks() for name in cells]
        labels = Groups.of(found.filter(pa.compute.invert(found["is_value"])))
        return labels, Groups.of(values), pa.table(listed, list(columns))

    def _select(self, target: str, weights: str | None, cells: dict[str, Any]) -> Any:
        """Select the labels, the weights if there are any, and the cells."""
        chosen = {"y": value(self.table[target]), **cells}
        if weights is not None:
            chosen["w"] = number(self.table[weights])
        return self.table.select(**chosen)


# Columns


def value(column: Any) -> Any:
    """Return a column unchanged, except that NaN becomes NULL."""
    import ibis

    kind = column.type()
    return ibis.ifelse(column.isnan(), ibis.null(kind), column) if kind.is_floating() else column


def number(column: Any) -> Any:
    """Convert a column to float64."""
    if column.type().is_boolean():
        column = column.cast("int32")  # PostgreSQL casts Booleans to no other number
    return column.cast("float64")


def there(x: Any) -> Any:
    """Return an expression that is true if a number is neither NULL nor NaN."""
    return x.notnull() & ~x.isnan()


def weighed(rows: Any, x: Any) -> Any:
    """Multiply an expression by the weight of its row."""
    return rows["w"] * x if "w" in rows.columns else x


def weight(rows: Any, where: Any = None) -> Any:
    """Return an expression for the total weight of rows."""
    return rows["w"].sum(where=where) if "w" in rows.columns else rows.count(where=where)


# Queries


def totals(rows: Any) -> dict[str, Any]:
    """Return the number of rows, their total weight, and the bounds of the weights."""
    found = {"rows": rows.count()}
    if "w" in rows.columns:
        w = rows["w"]
        found |= {"w": w.sum(), "weighed": w.count(), "lightest": w.min(), "heaviest": w.max()}
    return found


def tallies(rows: Any, size: int, needs: Needs) -> dict[str, Any]:
    """Return the weight of the present values, the sum, and the bounds of each column."""
    found = {}
    for j in range(size):
        x = rows[f"x{j}"]
        counted = x if needs.above is None else (x > needs.above).ifelse(1, 0)
        found[f"n{j}"] = weight(rows, there(x))
        found[f"s{j}"] = weighed(rows, counted).sum(where=there(x))
        found[f"l{j}"], found[f"h{j}"] = x.min(where=there(x)), x.max(where=there(x))
    return found


def spreads(rows: Any, size: int) -> dict[str, Any]:
    """Return the mean and the variance of each column, without weights."""
    found = {}
    for j in range(size):
        x = rows[f"x{j}"]
        found[f"a{j}"] = x.mean(where=there(x))
        found[f"v{j}"] = x.var(how="pop", where=there(x))
    return found


def complete(rows: Any, size: int) -> Any:
    """Return the rows that have a label and no missing number."""
    kept = rows["y"].notnull()
    for j in range(size):
        kept &= there(rows[f"x{j}"])
    return rows.filter(kept)


def moments(rows: Any, groups: Groups, origin: Array, pairs: bool) -> dict[str, Any]:
    """Return sums of z and of its products, about the origin of each class (K, n)."""
    size = origin.shape[1]
    z = [rows[f"x{j}"] - by_label(rows["y"], groups, origin[:, j]) for j in range(size)]
    wz = [weighed(rows, own) for own in z]
    if pairs:
        found = {"n0": weight(rows)} | {f"s{j}": wz[j].sum() for j in range(size)}
        for i in range(size):
            found |= {f"q{i}_{j}": (wz[i] * z[j]).sum() for j in range(i, size)}
        return found
    found = {}
    for j in range(size):
        where = there(rows[f"x{j}"])
        found[f"n{j}"] = weight(rows, where)
        found[f"s{j}"], found[f"q{j}"] = wz[j].sum(where=where), (wz[j] * z[j]).sum(where=where)
    return found


def by_label(y: Any, groups: Groups, numbers: Array) -> Any:
    """Return an expression for the element of `numbers` at a row's label.

    Return a float if all elements are equal.
    """
    if (numbers == numbers[:1]).all():
        return float(numbers[0]) if len(numbers) else 0.0
    known = zip(groups.listed, numbers.tolist(), strict=True)
    return y.cases(*((one, x) for one, x in known if one is not None), else_=0.0)


def origins(groups: Groups, found: Any, size: int) -> Array:
    """Return a point near each class mean, (K, n): the same for all classes if that is near enough.

    Like every origin, it is rounded by `grid_point`, so that sums of whole numbers stay whole.
    """
    mean, variance = (groups.align(found, matrix(found, c, size, np.nan), np.nan) for c in "av")
    is_known = np.isfinite(mean)
    mean, deviation = (np.where(is_known, x, 0.0) for x in (mean, np.sqrt(np.abs(variance))))
    weights = groups.rows[:, None] * is_known
    centre = (weights * mean).sum(axis=0) / np.maximum(weights.sum(axis=0), 1.0)
    least = np.where(is_known, deviation, np.inf).min(axis=0, initial=np.inf)
    common = grid_point(centre, np.where(np.isfinite(least), least, 0.0))
    is_far = (np.abs(mean - common) > NEAR * deviation) & is_known
    return np.where(is_far.any(axis=0), grid_point(mean, deviation), common)


# Results


def run(query: Any) -> Any:
    """Run a query and return an Arrow table."""
    from ibis.common import exceptions

    if len(query.columns) > MOST_SUMS:
        raise Unsupported
    try:
        backend = query.get_backend()
        return in_parallel(backend, query) if backend.name == "postgres" else query.to_pyarrow()
    except (exceptions.OperationNotDefinedError, exceptions.UnsupportedOperationError):
        raise Unsupported from None
    except Exception as error:
        raise TableError(explained(error)) from error


def in_parallel(backend: Any, query: Any) -> Any:
    """Run a query in PostgreSQL with parallel workers.

    Ibis reads results through a server-side cursor, for which PostgreSQL starts no workers.
    """
    import pyarrow as pa

    query.limit(0).to_pyarrow()  # registers tables in memory with the server, if there are any
    with backend.con.cursor() as cursor, backend.con.transaction():
        rows = cursor.execute(backend.compile(query)).fetchall()
    return pa.Table.from_struct_array(pa.array(rows, query.schema().as_struct().to_pyarrow()))


def explained(error: Exception) -> str:
    """Say in a sentence why a database failed."""
    (first, *_) = str(error).strip().splitlines() or [type(error).__name__]
    hint = ""
    if "out of range" in first.lower():
        hint = " A number may be infinite, or too large or too small to be squared."
    return f"The database cannot sum the rows of the table: {first.rstrip('.!')}.{hint}"


def moments_of(found: Any, groups: Groups, origin: Array, pairs: bool) -> Sums:
    """Return sums of powers from the columns of a result, in the order of the groups."""
    size = origin.shape[1]
    seen, sums = matrix(found, "n", 1 if pairs else size), matrix(found, "s", size)
    if pairs:
        squares = np.empty((found.num_rows, size, size))
        for i in range(size):
            for j in range(i, size):
                squares[:, i, j] = squares[:, j, i] = vector(found, f"q{i}_{j}")
    else:
        squares = matrix(found, "q", size)
    seen, sums, squares = (groups.align(found, part) for part in (seen, sums, squares))
    return Sums(seen, sums, squares, origin)


def matrix(found: Any, letter: str, size: int, missing: float = 0.0) -> Array:
    """Return the columns of a result that are named by a letter and a number, (K, n)."""
    return np.stack([vector(found, f"{letter}{j}", missing) for j in range(size)], axis=1)


def vector(found: Any, name: str, missing: float = 0.0) -> Array:
    """Return a column of a result as float64, (K,); NULL, the sum of no rows, is `missing`."""
    import pyarrow as pa

    column = found[name].cast(pa.float64(), safe=False).fill_null(missing)
    return np.array(column.to_numpy(), dtype=np.float64)
