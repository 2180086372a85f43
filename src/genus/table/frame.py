"""Convert rows of a table to the form that is counted: numbers, codes or texts by column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import arrow
from genus.table import calendar
from genus.table.categories import spelled
from genus.table.numerals import COMMA, decimal_of
from genus.table.plan import NOTHING, Column, Plan, as_numbers, shown
from genus.table.read.sources import TableError
from genus.text import Texts

MANY = 16  # cells of a column of categories, approximately
SHOWN = 60  # characters of a text in a message


@dataclass(frozen=True, eq=False)
class Values:
    """A column of categories: `codes` (m,) are positions in `names`, or -1 if missing."""

    codes: NDArray[np.int64]
    names: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Any) -> Values:
        return Values(self.codes[rows], self.names)


@dataclass(frozen=True, eq=False)
class Frame:
    """m rows of the columns in use, each as float64 (NaN if missing), Values or Texts."""

    plan: Plan
    columns: tuple[Any, ...]
    rows: int

    dtype = np.dtype(object)  # what NumPy code that expects a matrix sees

    @classmethod
    def of(cls, table: Any, plan: Plan) -> Frame:
        """Convert an Arrow table or batch."""
        plan.require_columns(table.schema.names)
        columns = tuple(converted(table.column(c.source), c) for c in plan.used)
        return cls(plan, columns, table.num_rows)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, len(self.columns)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, rows: Any) -> Frame:
        """Return some rows, given as a slice or as row numbers in ascending order."""
        columns = tuple(taken(column, rows) for column in self.columns)
        size = len(range(*rows.indices(self.rows))) if isinstance(rows, slice) else len(rows)
        return Frame(self.plan, columns, size)

    @property
    def width(self) -> int:
        """The approximate number of counts and sums for each class."""
        return 4096 + sum(len(column.edges) + MANY for column in self.plan.used) ** 2

    def values(self) -> NDArray[Any]:
        """Return the values of all columns as shown in messages, (m, n)."""
        out = np.full(self.shape, None, dtype=object)
        for j, column in enumerate(self.columns):
            if isinstance(column, Values):
                names = np.array([*column.names, None], dtype=object)
                out[:, j] = names[column.codes]
            elif isinstance(column, Texts):
                out[:, j] = [text[:SHOWN] for text in column.strings()]
            elif isinstance(column, np.ndarray):
                show = as_date if self.plan.used[j].is_date else float
                out[:, j] = [None if np.isnan(x) else show(x) for x in column.tolist()]
        return out

    @staticmethod
    def to_arrow(X: NDArray[Any], plan: Plan) -> Any:
        """Convert values (m, n) of the columns in use to an Arrow table of their original types.

        Columns that are parts of dates are left out.
        """
        import pyarrow as pa

        columns = [(j, column) for j, column in enumerate(plan.used) if not column.part]
        return pa.table({column.name: back(X[:, j].tolist(), column) for j, column in columns})


def taken(column: Any, rows: Any) -> Any:
    """Return some rows of a column."""
    if isinstance(column, Values) or (isinstance(column, Texts) and not isinstance(rows, slice)):
        return column.take(rows)
    return column[rows]


def converted(values: Any, column: Column) -> Any:
    """Convert an Arrow column to the form that is counted."""
    if column.kind == "number" or column.part:
        how = column.written, column.unit, column.lenient
        numbers = as_numbers(values, column.source, column.type, *how)
        return numbers if not column.part else part_of(numbers, column.part)
    import pyarrow as pa
    import pyarrow.types as pt

    kind = values.type
    if column.kind == "text":
        if not (pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)):
            values = as_text(values, column)
        filled = values.fill_null("")
        return Texts.of(
            filled if isinstance(filled, pa.ChunkedArray) else pa.chunked_array([filled])
        )
    strings = as_text(values, column)
    if isinstance(strings, pa.ChunkedArray):
        strings = strings.combine_chunks()
    coded = strings.dictionary_encode()
    names = spelled(coded.dictionary, column.type)
    known = sorted({name for name in names if name.strip() not in NOTHING})
    index = {name: i for i, name in enumerate(known)}
    place = np.array([*(index.get(name, -1) for name in names), -1], dtype=np.int64)
    codes = arrow.plain(coded.indices, -1)
    return Values(place[codes], np.array([*known, None], dtype=object)[:-1])


def part_of(days: NDArray[np.float64], part: str) -> Values:
    """Return the weekday, month or hour of dates, with the names that occur."""
    codes = calendar.codes_of(days, part)
    used, place = np.unique(codes[codes >= 0], return_inverse=True)
    names = np.array([*calendar.PARTS[part].names, None], dtype=object)[used]
    order = np.argsort(names)  # ascending, as the names of all categories
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes[codes >= 0] = rank[place]
    return Values(codes, names[order])


def as_text(values: Any, column: Column) -> Any:
    """Convert Arrow values to strings, such as "3" for 3.0, and "true" for True."""
    import pyarrow as pa
    import pyarrow.types as pt

    kind = values.type
    if pt.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    if pt.is_null(kind):
        return pa.nulls(len(values), pa.string())
    if pt.is_nested(kind):
        example = f" ({shown(values[0].as_py())})" if len(values) else ""
        raise TableError(
            f"Column {column.name!r} held {column.type} when the model was fitted, but now "
            f"holds {kind}{example}. Convert it to {column.type}, or fit again."
        )
    return values.cast(pa.large_string())


def back(values: list[Any], column: Column) -> Any:
    """Convert values, None if missing, to an Arrow array of the column's original type."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    if column.kind != "number":
        strings = pa.array(values, pa.string())
        return strings if column.type == "string" else cast(strings, column.type)
    if column.unit and "string" in column.type:
        show = as_date if column.is_date else as_time
        return pa.array([None if v is None else show(round(v)) for v in values], pa.string())
    if decimal_of(column.written) == COMMA:  # 52.600 would be read as 52600
        return pa.array([None if v is None else with_comma(v) for v in values], pa.string())
    numbers = pa.array(values, pa.float64())
    kind = arrow_type(column.type)
    if kind is None:
        return numbers
    if pt.is_date32(kind):
        return rounded(numbers).cast(pa.int32()).cast(kind)
    if pt.is_timestamp(kind) or pt.is_date64(kind):
        micro = pa.array([None if v is None else round(v * 86_400e6) for v in values], pa.int64())
        moments = micro.cast(pa.timestamp("us"))
        if getattr(kind, "tz", None):
            moments = pc.assume_timezone(moments, kind.tz, ambiguous="earliest",
                                         nonexistent="latest")  # fmt: skip
        return moments.cast(kind, safe=False)
    if pt.is_time(kind) or pt.is_duration(kind):
        micro = pa.array([None if v is None else round(v * 1e6) for v in values], pa.int64())
        known = micro.cast(pa.duration("us") if pt.is_duration(kind) else pa.time64("us"))
        return known.cast(kind, safe=False)  # to seconds or milliseconds
    if pt.is_integer(kind):
        return pa.array([None if v is None else clamped(round(v), kind) for v in values], kind)
    return numbers.cast(kind, safe=False) if pt.is_floating(kind) else numbers


def as_date(days: float) -> str:
    """Convert days since 1970 to a date, with the time of day if there is one."""
    moment = np.datetime64("1970-01-01", "us") + np.timedelta64(round(days * 86_400e6), "us")
    text = str(moment)
    return text[:10] if text.endswith("T00:00:00.000000") else text[:19].replace("T", " ")


def with_comma(number: float) -> str:
    """Write a number with a decimal comma, as a column that has such numbers reads it.

    >>> with_comma(52.6)
    '52,6'
    """
    return np.format_float_positional(number, trim="-").replace(".", ",")


def as_time(seconds: int) -> str:
    """Convert seconds since midnight to a time of day.

    >>> as_time(25530)
    '07:05:30'
    """
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def info(kind: Any) -> Any:
    """Return the limits of an Arrow integer type."""
    return np.iinfo(kind.to_pandas_dtype())


def clamped(value: int, kind: Any) -> int:
    """Clamp an integer to the limits of its type; a rounded float may exceed them."""
    return min(max(value, int(info(kind).min)), int(info(kind).max))


def rounded(numbers: Any) -> Any:
    import pyarrow.compute as pc

    return pc.round(numbers)


def cast(strings: Any, name: str) -> Any:
    """Cast strings to another type if possible; otherwise return them unchanged."""
    import pyarrow as pa

    kind = arrow_type(name)
    try:
        return strings if kind is None else strings.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return strings


def arrow_type(name: str) -> Any:
    """Return the Arrow type with a name such as int64 or timestamp[us].

    Return None for string, and for types with other parameters, such as lists and decimals.
    """
    import pyarrow as pa

    unit = re.fullmatch(r"(timestamp|time32|time64|duration)\[(\w+)(?:, tz=(.*))?\]", name)
    if unit:
        made = getattr(pa, unit[1])
        return made(unit[2], tz=unit[3]) if unit[3] else made(unit[2])
    known = {"double": "float64", "float": "float32", "halffloat": "float16", "bool": "bool_"}
    known |= {"date32[day]": "date32", "date64[ms]": "date64"}
    made = (
        getattr(pa, known.get(name, name), None) if name.isidentifier() or name in known else None
    )
    return made() if callable(made) and name != "string" else None
