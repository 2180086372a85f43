"""What the columns of a table hold: numbers, categories or texts, or nothing to learn from.

Decided by a first look at some rows, before anything is counted, and kept in the model: rows are
read the same way ever after.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.solve.grid import Grid, dyadic_edges
from genus.table.read.sources import TableError

Array = NDArray[np.float64]
DAYS = "dates, counted as days"
NOTHING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null")  # where a value is missing
MARKS = (*NOTHING, "None", "none", "-", ".")  # where a number is; as categories these say something
WORDS = 3.0  # on average, from which on a column of strings that differ is one of texts
DISTINCT = 0.5  # the share of values that differ in a column of texts
MOST_PAIRED = 64  # categories of a column that is counted together with others
MOST_CELLS, FEWEST_CELLS = 38, 4  # of a column of numbers that is, about
CELLS_BEYOND = 5  # for numbers that are missing, or beyond those that were looked at
MOST_SLOTS = 1000  # cells of all columns together
MOST_SUMS = 1 << 24  # of pairs of cells, by class
ENOUGH = 20  # rows from which on values that all differ identify their rows


@dataclass(frozen=True)
class Column:
    """A column: its `name`, what it holds (`kind`), and its Arrow `type` when it was first seen.

    `note` says how it is read, or why it is left out (kind ""). `edges` cut a column of numbers
    into cells, and `origin` and `scale` make its fine grid. `paired`: whether it is counted
    together with other columns; of categories, those whose hashes are `known`, others as one.
    """

    name: str
    kind: str
    type: str
    note: str = ""
    edges: tuple[float, ...] = ()
    paired: bool = False
    origin: float = 0.0
    scale: float = 0.0
    known: tuple[int, ...] = ()

    @property
    def is_date(self) -> bool:
        """Whether a column of numbers counts days since 1970."""
        return self.kind == "number" and "days" in self.note

    @property
    def grid(self) -> Grid:
        """The fine grid of a column of numbers."""
        return Grid(self.origin, self.scale)


@dataclass(frozen=True)
class Plan:
    """How the rows of a table are read: its columns, in order, and the name of the target."""

    columns: tuple[Column, ...]
    target: str | None = None

    def __len__(self) -> int:
        return len(self.used)

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that are counted."""
        return tuple(column for column in self.columns if column.kind)

    @property
    def left_out(self) -> tuple[Column, ...]:
        """The columns that are not."""
        return tuple(column for column in self.columns if not column.kind)

    def require(self) -> None:
        """Raise if no column is in use, and say why none is."""
        if not self.used:
            told = "; ".join(f"{c.name!r} {c.note}" for c in self.left_out[:5])
            raise TableError(f"No column is left to learn from: {told or 'there is none'}.")


def look(
    table: Any,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    ignored: Collection[str] = (),
    classes: int = 2,
) -> Plan:
    """The plan for tables like this one, an Arrow table of some of the rows.

    `kinds` says what columns hold, where that is not to be decided, and `ignored` are left out.
    `classes` is how many there are, about.
    """
    kinds = kinds or {}
    for name in [*kinds, *ignored]:
        if name not in table.column_names:
            shown = ", ".join(map(repr, table.column_names[:20]))
            raise TableError(f"There is no column {name!r}. There are {shown}.")
    seen = [
        unread(name, str(table.schema.field(name).type), "left out on request")
        if name in ignored
        else looked_at(name, table.column(name), kinds.get(name))
        for name in table.column_names
        if name != target
    ]
    return Plan(tuple(cut_into_cells(seen, classes)), target)


@dataclass(frozen=True, eq=False)
class Seen:
    """A column without its cells yet: hashes of its categories if they are few, or its numbers."""

    column: Column
    known: tuple[int, ...] = ()
    numbers: Array | None = None


def unread(name: str, type: str, note: str) -> Seen:
    """A column that is left out."""
    return Seen(Column(name, "", type, note))


def looked_at(name: str, values: Any, asked: str | None) -> Seen:
    """What a column holds, from some of its values."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    kind, note = asked or "", ""
    told = str(values.type)
    if pt.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
        kind = kind or "category"
    if pt.is_string_view(values.type):
        values = values.cast(pa.large_string())
    there = values.drop_null()
    type = values.type
    if len(there) == 0 or pt.is_null(type):
        return unread(name, told, "holds nothing")
    odd = pt.is_nested(type) or pt.is_binary(type) or pt.is_large_binary(type)
    if odd or pt.is_interval(type) or pt.is_fixed_size_binary(type):
        return unread(name, told, f"holds {told}, which says nothing here")
    if kind == "":
        kind, note = kind_and_note(there, len(values))
    if kind == "":
        return unread(name, told, note)
    distinct = pc.count_distinct(there).as_py()
    if distinct < 2 and len(there) == len(values) and not asked:
        return unread(name, told, "holds one value only")
    if kind != "number":
        if kind == "category" and distinct > MOST_PAIRED:
            note = "; ".join(filter(None, [note, f"{distinct:,} categories"]))
        known: set[int] = set()
        if kind == "category" and distinct <= MOST_PAIRED:
            known = {hashed(plain(v)) for v in there.cast(pa.large_string()).unique().to_pylist()}
        return Seen(Column(name, kind, told, note), tuple(sorted(known)))
    numbers = as_numbers(values, name, "" if asked else told)
    numbers = numbers[np.isfinite(numbers)]
    grid = Grid.around(numbers)
    column = Column(name, kind, told, note, (), False, grid.origin, grid.scale)
    return Seen(column, (), numbers)


def cut_into_cells(seen: Sequence[Seen], classes: int) -> Iterator[Column]:
    """Which columns are counted in pairs, and by which cells: as many as there is room for."""
    room = min(MOST_SLOTS, int(np.sqrt(MOST_SUMS / max(classes, 1))))
    few = [j for j, one in enumerate(seen) if one.known]
    few.sort(key=lambda j: len(seen[j].known))
    taken = np.cumsum([2 + len(seen[j].known) for j in few])  # and missing, and others
    paired = set(few[: int((taken <= room).sum())])
    left = room - (int(taken[len(paired) - 1]) if paired else 0)
    cells = left // max(sum(one.numbers is not None for one in seen), 1) - CELLS_BEYOND
    for j, one in enumerate(seen):
        column = one.column
        if one.numbers is not None and cells >= FEWEST_CELLS:
            z = one.numbers - column.origin
            edges = column.origin + dyadic_edges(z, 1.6 / min(cells, MOST_CELLS))
            yield replace(column, edges=tuple(edges.tolist()), paired=True)
        else:
            yield replace(column, known=one.known if j in paired else (), paired=j in paired)


def hashed(name: str) -> int:
    """Sixteen bits of a category: enough to know it again among a few, and to tell no one else."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) & 0xFFFF


def kind_and_note(there: Any, rows: int) -> tuple[str, str]:
    """What values, none of them null, are; and why, where that needs saying."""
    import pyarrow.compute as pc
    import pyarrow.types as pt

    type = there.type
    if pt.is_boolean(type):
        return "category", ""
    if pt.is_temporal(type):
        return "number", "counted as days" if not is_time(type) else "counted as seconds"
    if pt.is_integer(type):
        if is_row_number(there):
            return "", "numbers the rows"
        return "number", ""
    if pt.is_floating(type) or pt.is_decimal(type):
        return "number", ""
    if not (pt.is_string(type) or pt.is_large_string(type) or pt.is_string_view(type)):
        return "", f"holds {type}, which says nothing here"
    distinct = pc.count_distinct(there).as_py()
    marked = pc.is_in(pc.utf8_trim_whitespace(there), value_set=marks())
    rest = there.filter(pc.invert(marked))
    if len(rest) and all_match(rest, NUMBER):
        found = sorted(set(there.filter(marked).unique().to_pylist()))
        return "number", f"{', '.join(map(repr, found))} read as missing" if found else ""
    for pattern, told in ((COMMA, "with decimal commas"), (DATE, DAYS), (DOTTED, DAYS)):
        if len(rest) and all_match(rest, pattern) and is_readable(rest):
            return "number", told
    words = pc.mean(pc.count_substring_regex(there, r"\S+")).as_py()
    if words >= WORDS and distinct > DISTINCT * len(there):
        return "text", ""
    if distinct == len(there) and len(there) >= ENOUGH:
        return ("text", "") if words >= WORDS else ("", "identifies its row: every value differs")
    return "category", ""


def is_time(type: Any) -> bool:
    import pyarrow.types as pt

    return pt.is_time(type) or pt.is_duration(type)


def is_row_number(values: Any) -> bool:
    """Whether whole numbers, sorted, go up by the same step."""
    if len(values) < ENOUGH:
        return False
    steps = np.diff(np.sort(values.to_numpy()).astype(np.float64))
    return bool(steps[0] > 0 and (steps == steps[0]).all())  # of every other row, by two


NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$", re.ASCII)


COMMA = re.compile(r"\s*[+-]?\d+(\.\d{3})*,\d+\s*$")
DOTTED = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}$")
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z?)?$")


def all_match(strings: Any, pattern: re.Pattern[str]) -> bool:
    """Whether all strings are what a pattern says."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(strings, f"^{pattern.pattern}")).as_py())


def marks() -> Any:
    """What people write where a number is missing."""
    import pyarrow as pa

    return pa.array(MARKS)


def plain(name: str) -> str:
    """A category; True and TRUE are true, as they would be if they were no text."""
    return name.lower() if name.lower() in ("true", "false") else name


def as_numbers(values: Any, name: str, learned: str) -> Any:
    """Arrow values as float64, NaN where missing or infinite; dates as days since 1970."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    type = values.type
    if pt.is_dictionary(type):
        values = values.cast(type.value_type)
        type = values.type
    if pt.is_null(type):
        return np.full(len(values), np.nan)
    if pt.is_string(type) or pt.is_large_string(type) or pt.is_string_view(type):
        trimmed = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
        known = pc.if_else(pc.is_in(trimmed, value_set=marks()), None, trimmed)
        try:
            values = read_numbers(known)
        except (pa.ArrowInvalid, ValueError):
            odd = (s for s in known.to_pylist() if s and not (NUMBER.match(s) or DATE.match(s)))
            wrong = next(odd, known.drop_null()[0].as_py())
            held = "numbers or dates" if learned.startswith(("date", "time")) else "numbers"
            held += "" if "string" in learned else f" ({learned})"
            raise TableError(
                f"Column {name!r} held {held} when it was first looked at, and holds "
                f"text ({shown(wrong)}) now. Give it as it was; or fit again and say what it is, "
                f'such as families={{"{name}": "categorical"}} (--family {name}=categorical).'
                if learned
                else f"Column {name!r} holds text ({shown(wrong)}), which is no number. Choose "
                "another family for it, such as categorical or text."
            ) from None
    elif pt.is_timestamp(type) or pt.is_date64(type):
        moments = values.cast(pa.timestamp("us", tz=getattr(type, "tz", None)), safe=False)
        values = pc.divide(moments.cast(pa.int64()).cast(pa.float64(), safe=False), 86_400e6)
    elif pt.is_date32(type):
        values = values.cast(pa.int32()).cast(pa.float64())
    elif is_time(type):
        micro = pa.duration("us") if pt.is_duration(type) else pa.time64("us")
        micros = values.cast(micro, safe=False).cast(pa.int64())
        values = pc.divide(micros.cast(pa.float64(), safe=False), 1e6)
    else:
        values = values.cast(pa.float64(), safe=False)
    out = (
        values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    )
    out = np.asarray(out, dtype=np.float64)
    infinite = np.isinf(out)
    return np.where(infinite, np.nan, out) if infinite.any() else out


def is_readable(strings: Any) -> bool:
    """Whether strings that look like numbers or dates are: the 30th of February is none."""
    import pyarrow as pa

    try:
        read_numbers(strings)
    except (pa.ArrowInvalid, ValueError):
        return False
    return True


def read_numbers(strings: Any) -> Any:
    """Strings as float64: numbers, also with decimal commas, or dates as days since 1970."""
    import pyarrow as pa
    import pyarrow.compute as pc

    there = strings.drop_null()
    first = there[0].as_py() if len(there) else ""
    if DATE.match(first) or DOTTED.match(first):
        if DOTTED.match(first):
            strings = pc.strftime(pc.strptime(strings, "%d.%m.%Y", "s"), "%Y-%m-%d")
        days = pc.utf8_rtrim(strings, "Z").cast(pa.timestamp("us")).cast(pa.int64())
        return pc.divide(days.cast(pa.float64(), safe=False), 86_400e6)
    if len(there) and all_match(there, COMMA):
        strings = pc.replace_substring(pc.replace_substring(strings, ".", ""), ",", ".")
    return strings.cast(pa.float64())


def shown(value: Any) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
