"""A table that is to be read: a stream of Arrow batches, with clear errors.

A source is opened before it is read, so that errors are reported before anything is counted. It may
be divided into partitions, such as files and their row groups. Each partition can be read on its
own, and sampled before the whole table is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.table.read.lines import Lines, Objects

BATCH = 1 << 17  # rows
MOST_LOOKED = 256  # partitions that are sampled
LEAST_LOOKED = 64  # rows sampled from a partition
PLACES = 8  # in a batch from which rows are sampled
TITLES = 20  # rows in which the names of columns are searched for
MOST_GATHERED = 1 << 28  # bytes of small batches that are combined
Result = TypeVar("Result")
# packages whose errors are explained
READERS = ("duckdb", "_duckdb", "pyarrow", "ibis", "psycopg", "sqlite3", "python_calamine")
CHANGED = re.compile(
    r"on Line: (\d+).*converting column \"(.*?)\"\. Could not convert string \"(.*?)\" to '(\w+)",
    re.S,
)


class TableError(ValueError):
    """A table cannot be read at all, or not in the requested way."""


class ChangedType(TableError):
    """Later rows of a column do not have the type that was guessed from the first rows."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, eq=False)
class Partition:
    """Some rows of a source.

    `name` identifies the rows: if they change, it changes. `some` returns about a given number of
    rows from several places of the partition; without it, the first rows are sampled.
    """

    name: str
    opened: Callable[[], Iterable[Any]]
    some: Callable[[int], Iterable[Any]] | None = None

    def look(self, rows: int) -> Iterator[Any]:
        """Yield batches with about this many rows in total."""
        yield from first_rows(self.opened(), rows) if self.some is None else self.some(rows)


@dataclass(frozen=True, eq=False)
class Source:
    """A table that is to be read: its name in messages, its columns and its batches.

    `rows` is the number of rows, if known, and `size` the approximate number of bytes. `estimated`
    estimates the number of rows if it is unknown. `once` means that it can be read only once.
    `with_text` returns the same source with some columns read as text, for formats whose types are
    guessed; `guessed` are the columns whose type was guessed from text. `divided` returns the
    partitions; without it, the whole table is one. `grouped` sums rows by class inside a database:
    a `genus.engines.database.Database`, if there is one. `lines` returns the lines of CSV files and
    of JSON lines.
    `altered` returns the columns whose values differ from what is written, such as 0123, twenty
    digits or 0:58. `looked` is the partition to sample if the source is not divided.
    """

    name: str
    schema: Any
    opened: Callable[[], Iterable[Any]]
    rows: int | None = None
    once: bool = False
    with_text: Callable[[Sequence[str]], Source] | None = None
    guessed: frozenset[str] = frozenset()
    divided: Callable[[], Sequence[Partition]] | None = None
    size: int | None = None
    grouped: Any = None
    lines: Callable[[], Lines | Objects | None] | None = None
    altered: Callable[[], Sequence[str]] | None = None
    looked: Partition | None = None
    estimated: Callable[[], int | None] | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", with_plain_strings(self.schema))
        repeated = repeated_in(self.columns)
        if repeated:
            raise TableError(f"{self.name} has two columns {min(repeated)!r}. Rename one.")

    def batches(self) -> Iterator[Any]:
        """Yield the rows, as Arrow record batches of about BATCH rows."""
        with readable(self.name):
            yield from gathered(map(without_views, self.opened()))

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions; a single one if the source cannot be divided."""
        whole = self.looked or Partition(self.name, self.opened)
        return (whole,) if self.divided is None else tuple(self.divided())

    @property
    def is_spread(self) -> bool:
        """Whether `look` samples rows from everywhere, not only the first of each partition."""
        return all(part.some is not None for part in self.partitions)

    def look(self, rows: int) -> Any:
        """Sample about this many rows, spread over all partitions, as an Arrow table.

        If there are very many partitions, evenly spaced ones are sampled.
        """
        import pyarrow as pa

        parts = self.partitions
        count = min(len(parts), MOST_LOOKED)
        at = sorted({round(i * (len(parts) - 1) / max(count - 1, 1)) for i in range(count)})
        each = max(rows // len(at), LEAST_LOOKED)
        with readable(self.name):
            found = [without_views(batch) for i in at for batch in parts[i].look(each)]
        return pa.Table.from_batches(found, self.schema)

    def about_rows(self, seen: Any) -> int | None:
        """Estimate the number of rows from the size of some of them; None if it is unknown."""
        if self.rows is not None or self.size is None or seen.num_rows == 0:
            return self.rows
        return int(self.size * seen.num_rows / max(seen.nbytes, 1))

    def expected_rows(self) -> int | None:
        """Return the number of rows, or an estimate; None if it is unknown."""
        return self.estimated() if self.rows is None and self.estimated else self.rows

    def table(self) -> Any:
        """Return all rows, as one Arrow table."""
        import pyarrow as pa

        return self.read(lambda source: pa.Table.from_batches(source.batches(), source.schema))

    def read(self, work: Callable[[Source], Result]) -> Result:
        """Return the result of `work` for this source.

        If later rows of a column do not have the guessed type, read it as text and start again.
        """
        source = self
        while True:
            try:
                return work(source)
            except ChangedType as changed:
                if source.with_text is None:
                    raise
                source = replace(source.with_text([changed.column]), name=self.name)

    def unaltered(self, as_text: bool = False) -> Source:
        """Return the same source, with columns read as text where parsing would alter values.

        If the table will be written `as_text`, dates and times are read as text, too.
        """
        import pyarrow.types as pt

        altered = [] if self.altered is None else list(self.altered())
        moments = [f.name for f in self.schema if as_text and pt.is_temporal(f.type)]
        both = dict.fromkeys([*altered, *(name for name in moments if name in self.guessed)])
        return self._with_text(list(both))

    def as_written(self, columns: Iterable[str]) -> Source:
        """Return the same source, with columns as text if their types were guessed from text."""
        return self._with_text([column for column in columns if column in self.guessed])

    def _with_text(self, columns: Sequence[str]) -> Source:
        if not columns:
            return self
        assert self.with_text is not None
        return replace(self.with_text(columns), name=self.name)

    def require(self, column: str) -> None:
        """Raise an error unless there is such a column."""
        if column not in self.columns:
            raise TableError(f"{self.name} has no column {column!r}. {self.near(column)}")

    def near(self, column: str) -> str:
        """List the columns for a message, and guess which one was meant."""
        shown = ", ".join(repr(shortened(name)) for name in self.columns[:20])
        more = f" and {len(self.columns) - 20} more" if len(self.columns) > 20 else ""
        head = self.title_above(column)
        if all(re.fullmatch(r"column\d+", name) for name in self.columns):
            head = " The file seems to have no header line with column names."
            if column in next(iter(self.first_rows(1)), ()):
                head = (
                    f" Its first line contains {column!r}, but was read as a row, because its "
                    "other fields are empty or could be values. If it is the header line, give "
                    "every column a name there that is not a number."
                )
        return f"{labels.meant(column, self.columns)}It has {shown}{more}.{head}"

    def title_above(self, column: str) -> str:
        """Return a hint for a message if one of the first rows contains the name of a column.

        Queries return none, because their first row may take long.
        """
        rows = [] if self.rows is None and self.lines is None else self.first_rows(TITLES)
        row = next((i for i, row in enumerate(rows, 1) if column in row), 0)
        if not row:
            return ""
        lines = None if self.lines is None else self.lines()
        how = "delete the rows above it"
        if isinstance(lines, Lines):  # without names, the first row is the first line
            skip = lines.skipped + row - (lines.head is None)
            option = f"skip = {skip}" if skip else "header = true"
            how = f"use the query \"SELECT * FROM read_csv('FILE', {option})\""
        return f" Row {row} contains {column!r}. If it is the line of names, {how}."

    def first_rows(self, most: int) -> list[tuple[Any, ...]]:
        """Return the values of the first rows; none if the rows can be read only once."""
        first = None if self.once else next(self.batches(), None)
        if first is None:
            return []
        columns = [values.slice(0, most).to_pylist() for values in first.columns]
        return list(zip(*columns, strict=True))


def first_rows(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield batches with the first rows of `batches`, this many in total."""
    for batch in batches:
        yield copied(batch, np.arange(min(rows, batch.num_rows)))
        rows -= batch.num_rows
        if rows <= 0:
            return


def copied(batch: Any, rows: NDArray[np.intp]) -> Any:
    """Copy some rows of a batch; a slice would keep the whole batch in memory."""
    import pyarrow as pa

    return without_views(batch).take(pa.array(rows))


def thinned(batches: Iterable[Any], rows: int, total: int) -> Iterator[Any]:
    """Yield about `rows` of the `total` rows in batches, spread over all of them."""
    share = min(rows / max(total, 1), 1.0)
    for batch in batches:
        size = max(-(-batch.num_rows // PLACES), 1)
        length = max(round(share * size), 1)
        yield copied(batch, np.flatnonzero(np.arange(batch.num_rows) % size < length))


def repeated_in(names: Iterable[str]) -> set[str]:
    """Return the names that occur more than once."""
    return {name for name, times in Counter(names).items() if times > 1}


def gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Combine batches into batches of BATCH rows, because each batch has a fixed cost."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        too_long = size + batch.nbytes > MOST_GATHERED  # Arrow's offsets have 32 bits
        if waiting and (too_long or batch.schema != waiting[0].schema):
            yield from pa.Table.from_batches(waiting).to_batches()
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows < BATCH:
            continue
        whole = pa.Table.from_batches(waiting)
        even = rows - rows % BATCH
        for start in range(0, even, BATCH):
            yield one_batch(whole.slice(start, BATCH))
        rest = whole.slice(even)
        waiting, rows, size = rest.to_batches(), rows - even, rest.nbytes
    if rows:
        yield one_batch(pa.Table.from_batches(waiting))


def one_batch(table: Any) -> Any:
    """Return the rows of a table as one batch."""
    import pyarrow as pa

    pieces = table.to_batches()
    if len(pieces) == 1:
        return pieces[0]
    return pa.concat_batches(pieces)


def fitted(batch: Any, schema: Any) -> Any:
    """Return a batch with the columns and types of a schema; columns that it lacks are empty."""
    import pyarrow as pa

    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.record_batch(columns, schema=schema)


def arranged(batch: Any, names: Sequence[str]) -> Any:
    """Return a batch with its columns in the given order."""
    return batch if batch.schema.names == list(names) else batch.select(list(names))


def without_view(kind: Any) -> Any:
    """Return a type with plain strings instead of string views."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_dictionary(kind) and pt.is_string_view(kind.value_type):
        return pa.dictionary(kind.index_type, pa.large_string(), kind.ordered)
    return pa.large_string() if pt.is_string_view(kind) else kind


def with_plain_strings(schema: Any) -> Any:
    """Return a schema with plain strings instead of string views."""
    import pyarrow as pa

    return pa.schema([field.with_type(without_view(field.type)) for field in schema])


def without_views(batch: Any) -> Any:
    """Convert string views to plain strings, because few functions of Arrow support views."""
    import pyarrow as pa

    for j, kind in enumerate(batch.schema.types):
        plain, column = without_view(kind), batch.column(j)
        if plain == kind:
            continue
        if isinstance(column, pa.DictionaryArray):
            names = column.dictionary.cast(plain.value_type)
            column = pa.DictionaryArray.from_arrays(column.indices, names, ordered=plain.ordered)
        batch = batch.set_column(j, batch.schema.names[j], column.cast(plain))
    return batch


def shortened(text: str, most: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


class readable:
    """A context manager that turns errors of READERS, such as DuckDB, into a clear TableError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None or not isinstance(error, Exception) or isinstance(error, TableError):
            return
        # If DuckDB fails while Arrow reads its stream, Arrow raises an OSError without a number.
        streamed = type(error) is OSError and error.errno is None
        known = type(error).__module__.partition(".")[0] in READERS
        if not (known or streamed) or isinstance(error, MemoryError):
            return
        if "out of memory" in str(error).lower():
            raise MemoryError(str(error)) from None
        refuse_changed(self.name, str(error))
        raise TableError(f"Cannot read {self.name}: {explained(str(error))}") from None


def refuse_changed(name: str, message: str) -> None:
    """Raise ChangedType if DuckDB could not convert a later value of a column."""
    found = CHANGED.search(message)
    if not found:
        return
    line, column, value, type = found.groups()
    held = "numbers" if type in ("BIGINT", "DOUBLE") else "dates or times"
    raise ChangedType(
        f"Column {column!r} of {name} begins with {held}, but holds {shortened(value, 40)!r} in "
        f"line {int(line):,}. Correct the line, or read the column as text, for example with the "
        f"query \"SELECT * FROM read_csv('FILE', types = {{'{column}': 'VARCHAR'}})\".",
        column,
    ) from None


def explained(message: str) -> str:
    """Return the relevant sentence of a DuckDB error, and advice."""
    flat = " ".join(message.split())
    flat = re.sub(r"^[A-Za-z ]*Error: ", "", flat)
    columns = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", flat)
    line = re.search(r"CSV Error on Line: (\d+)", flat)
    where = f" in line {line[1]}" if line else ""
    if columns and line:
        return (
            f"line {line[1]} has {columns[2]} fields where {columns[1]} are expected. Correct "
            "the line, or quote fields that contain the delimiter."
        )
    if re.search(r"maximum line size of \S+ bytes exceeded", flat, re.I):
        return (
            "a line is longer than 2 MB. A closing quote may be missing; add it. Parquet files "
            "have no such limit."
        )
    if "error when sniffing file" in flat.lower():
        return (
            "its lines do not form a table. They may have different numbers of fields or different "
            "line ends, or the file may be binary, cut short, or still being written. Correct it, "
            "or copy it again."
        )
    if "state machine reached an invalid state" in flat:
        return (
            "some of its lines end with CRLF and some with LF, or a quoted text has no end. Give "
            "all lines the same end, for example with dos2unix, or add the missing quote."
        )
    if "httpfs" in flat or "http://" in flat or "https://" in flat:
        return "it contains a remote address, but genus reads only local files. Download the file."
    if re.search(r"unicode|not utf-8|utf-?8 encoded", flat, re.I):
        return (
            f"it is not UTF-8{where}. Give its encoding, such as --encoding utf-16 or "
            '--encoding latin-1 (encoding="latin-1"), or convert it with iconv.'
        )
    kept = re.split(
        r" Possible (?:fixes|solutions)| Original Line|LINE \d+:|\* |File \"| Candidate", flat
    )[0]
    kept = kept.strip().rstrip(".")
    return f"{kept[:1].lower()}{kept[1:]}."[:400]
