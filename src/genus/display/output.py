"""Write rows as CSV, Parquet, Arrow or JSON lines, by suffix, completely or not at all."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any, BinaryIO

from genus.arrays import arrow
from genus.persistence.atomic import PREFIX, replacing, write_all
from genus.table import TableError
from genus.table.read.lines import Lines, Objects

STDOUT = "-"
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".feather": "arrow",
    ".arrow": "arrow",
}
PACKED = (".gz", ".bz2", ".xz", ".zst")  # for TEXTS
DELIMITERS = {"csv": ",", "tsv": "\t"}
TEXTS = (*DELIMITERS, "json")  # formats that are text
Write = Callable[[Any], object]


@contextmanager
def rows_to(path: str, schema: Any) -> Iterator[Write]:
    """Open a file or stdout for record batches of a schema; yield a function that writes them."""

    kind = format_of(path)
    with binary(path) as file:
        if kind == "parquet":
            import pyarrow.parquet as pq
            import pyarrow.types as pt

            # A dictionary of distinct numbers takes as long as writing them.
            listed = [field.name for field in schema if not pt.is_floating(field.type)]
            with pq.ParquetWriter(file, schema, use_dictionary=listed) as writer:
                yield writer.write_batch
        elif kind == "arrow":
            import pyarrow as pa

            with pa.ipc.new_file(file, schema) as feather:
                yield feather.write_batch
        elif kind == "json":
            yield lambda batch: write_lines(batch, file)
        else:
            delimiter = DELIMITERS[kind]
            names = quoted(arrow.strings(schema.names), delimiter)
            file.write(f"{delimiter.join(names.to_pylist())}\n".encode())
            yield lambda batch: file.write(
                "".join(f"{row}\n" for row in csv_rows(batch, delimiter)).encode()
            )


@contextmanager
def rows_with_lines_to(
    path: str, schema: Any, lines: Lines | Objects, comma: bool = False
) -> Iterator[Write]:
    """Open a file for the given `lines`, unchanged but with new columns appended.

    Yield a function that takes batches of the same rows, each with the columns of the lines and
    the new columns after them. If `comma`, numbers of these have a decimal comma.
    """
    given = lines.rows()
    first = lines.columns  # position of the first added column

    def joined(line: bytes | None, cells: str) -> bytes:
        if line is None:
            raise TableError(
                "The lines of the file do not match the rows that were read from it; it may have "
                "changed meanwhile. Copy it first, or write another format, such as Parquet."
            )
        return lines.joined(line, cells.encode())

    def cells(batch: Any) -> list[str]:
        if isinstance(lines, Objects):
            return [plain(row)[1:-1] for row in batch.to_pylist()]
        return csv_rows(with_commas(batch) if comma else batch, lines.delimiter)

    def write(batch: Any) -> None:
        added = cells(batch.select(range(first, batch.num_columns)))
        file.write(b"".join(joined(next(given, None), own) for own in added))

    with binary(path) as file:
        if isinstance(lines, Lines):
            names = quoted(arrow.strings(schema.names[first:]), lines.delimiter).to_pylist()
            file.write(joined(lines.head, lines.delimiter.join(names)))
        yield write
        if next(given, None) is not None:
            joined(None, "")


def with_commas(batch: Any) -> Any:
    """Convert fractions to text with a decimal comma."""
    import pyarrow.compute as pc
    import pyarrow.types as pt

    for j, field in enumerate(batch.schema):
        if pt.is_floating(field.type):
            text = pc.replace_substring(as_text(batch.column(j)), ".", ",")
            batch = batch.set_column(j, field.name, text)
    return batch


def format_of(path: str) -> str:
    """Return the format that a file name stands for."""
    if path == STDOUT:
        return "csv"
    stem, suffix = os.path.splitext(path.lower())
    packed = suffix in PACKED
    suffix = os.path.splitext(stem)[1] if packed else suffix
    if packed and FORMATS.get(suffix) in ("parquet", "arrow"):
        raise ValueError(
            f"{path!r}: only CSV, TSV and JSON lines can be compressed, not {FORMATS[suffix]}. "
            "Leave out the last suffix."
        )
    if suffix not in FORMATS:
        if os.path.exists(path) and not os.path.isfile(path):
            return "csv"  # /dev/stdout and similar
        raise ValueError(
            f"The suffix of {path!r} names no known format. Give a name that ends in .csv, "
            ".tsv, .parquet, .feather or .jsonl; to compress it, add .gz, .bz2, .xz or .zst, as "
            "in .csv.gz."
        )
    return FORMATS[suffix]


@contextmanager
def binary(path: str) -> Iterator[BinaryIO]:
    """Open a file, a device or stdout for writing; a file is written completely or not at all."""
    if path == STDOUT:
        stdout: Any = LeftOpen(sys.stdout.buffer)
        with named("stdout"):
            yield stdout
            sys.stdout.buffer.flush()
        return
    real = os.path.realpath(path)
    if os.path.isdir(real):
        raise ValueError(f"Cannot write {path}: it is a folder. Give the name of a file.")
    if os.path.exists(real) and not os.path.isfile(real):
        with named(path), open(real, "wb") as file:
            yield file
        return
    with named(path), replacing(real) as whole, packing(path, whole) as packed:
        yield packed


class LeftOpen(io.RawIOBase):
    """A file that takes all bytes of a write, and stays open when Arrow closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        write_all(self.file, content)
        return len(content)


@contextmanager
def packing(path: str, file: BinaryIO) -> Iterator[BinaryIO]:
    """Compress what is written to a file, if its suffix says so."""
    how = os.path.splitext(path.lower())[1]
    if how not in PACKED:
        yield file
        return
    import bz2
    import gzip
    import lzma

    if how == ".zst":
        import pyarrow as pa

        with pa.CompressedOutputStream(pa.PythonFile(LeftOpen(file), "w"), "zstd") as zstd:
            yield zstd
        return
    pack: Any = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}[how]
    # Without name and time in a .gz, the same rows give the same bytes.
    options = {"filename": "", "fileobj": file, "mtime": 0} if how == ".gz" else {"filename": file}
    with pack(**options, mode="wb") as made:
        yield made


@contextmanager
def named(path: str) -> Iterator[None]:
    """Put the file name that the user gave into errors that occur while writing."""
    try:
        yield
    except OSError as error:
        # Errors without a number have their own message.
        if error.strerror and (error.filename is None or PREFIX in str(error.filename)):
            error.filename = path
        raise


def csv_rows(rows: Any, delimiter: str) -> list[str]:
    """Return rows as CSV lines; empty texts are quoted, to distinguish them from nulls."""
    import pyarrow.compute as pc

    if rows.num_rows == 0:
        return []
    cells = [quoted(as_text(rows.column(i)), delimiter) for i in range(rows.num_columns)]
    lines: list[str] = pc.binary_join_element_wise(*cells, large(delimiter)).to_pylist()
    return lines


def quoted(texts: Any, delimiter: str) -> Any:
    """Return texts as CSV cells; nulls become empty cells."""
    import pyarrow.compute as pc

    special = pc.match_substring_regex(texts, f'^$|[{delimiter}"\r\n]')
    if pc.any(special).as_py():
        doubled = pc.replace_substring(texts, '"', '""')
        texts = pc.if_else(
            special, pc.binary_join_element_wise(large('"'), doubled, large('"'), large("")), texts
        )
    return pc.fill_null(texts, large(""))


def large(text: str) -> Any:
    return arrow.strings([text])[0]


def as_text(values: Any) -> Any:
    """Convert Arrow values to strings; lists and structures become JSON."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_duration(values.type):
        return durations(values)
    if pt.is_time64(values.type):  # whole seconds without the zeros of a fraction
        with suppress(pa.ArrowInvalid):
            values = values.cast(pa.time32("s"))
    try:
        return values.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        items = values.to_pylist()
    return pa.array([None if item is None else plain(item) for item in items], pa.large_string())


def durations(values: Any) -> Any:
    """Convert durations to text in hours, minutes and seconds, such as 26:05:00 or -0:30:00.

    They are exact to the microsecond.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    micro = values.cast(pa.duration("us"), safe=False).cast(pa.int64())
    whole = pc.abs(micro)
    seconds = pc.divide(whole, 1_000_000)
    minutes = pc.divide(seconds, 60)
    hours = pc.divide(minutes, 60)

    def digits(numbers: Any, unit: Any, per: int, width: int) -> Any:
        rest = pc.subtract(numbers, pc.multiply(unit, per))
        return pc.utf8_lpad(rest.cast(pa.large_string()), width, "0")

    fraction = digits(whole, seconds, 1_000_000, 6)
    fraction = pc.if_else(pc.equal(fraction, "000000"), "", pc.binary_join_element_wise(
        large(""), fraction, large(".")))  # fmt: skip
    sign = pc.if_else(pc.less(micro, 0), "-", "").cast(pa.large_string())
    first = pc.binary_join_element_wise(sign, hours.cast(pa.large_string()), large(""))
    clock = (first, digits(minutes, hours, 60, 2), digits(seconds, minutes, 60, 2))
    text = pc.binary_join_element_wise(*clock, large(":"))
    return pc.binary_join_element_wise(text, fraction.cast(pa.large_string()), large(""))


def write_lines(batch: Any, file: BinaryIO) -> None:
    """Write a batch as JSON lines."""
    import pyarrow.types as pt

    for j, field in enumerate(batch.schema):
        if pt.is_duration(field.type):
            batch = batch.set_column(j, field.name, durations(batch.column(j)))
    file.write("".join(f"{plain(row)}\n" for row in batch.to_pylist()).encode())


def plain(value: Any) -> str:
    """Convert a value to JSON; non-finite numbers become null, and unsupported types text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=written)
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False, default=written)


def written(value: Any) -> Any:
    """Convert a value that JSON does not support: to an integer if it is one, else to text."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return str(value)


def finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value
