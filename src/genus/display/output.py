"""Rows on their way out: CSV, Parquet or JSON lines by suffix, whole or not at all."""

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
from genus.persistence.atomic import PREFIX, replacing
from genus.table import TableError
from genus.table.read.lines import Lines

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
PACKED = (".gz", ".bz2", ".xz", ".zst")  # of formats that are text
DELIMITERS = {"csv": ",", "tsv": "\t"}
Write = Callable[[Any], object]


@contextmanager
def rows_to(path: str, schema: Any) -> Iterator[Write]:
    """A function that writes record batches of a schema to a file or to stdout."""

    kind = format_of(path)
    with binary(path) as file:
        if kind == "parquet":
            import pyarrow.parquet as pq
            import pyarrow.types as pt

            # A dictionary of numbers that all differ takes as long as writing them.
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
def rows_with_lines_to(path: str, schema: Any, lines: Lines) -> Iterator[Write]:
    """A function that writes what was added to record batches behind the lines that they are of."""
    delimiter, given = lines.delimiter, lines.rows()
    first = lines.columns  # of the columns that were added

    def joined(line: bytes | None, cells: bytes) -> bytes:
        if line is None:
            raise TableError(
                "The lines of the CSV file are not the rows that were read of it. Did it change "
                "meanwhile? Copy it first, or write another format, such as Parquet."
            )
        return line + delimiter.encode() + cells + lines.end

    def write(batch: Any) -> None:
        added = csv_rows(batch.select(range(first, batch.num_columns)), delimiter)
        file.write(b"".join(joined(next(given, None), cells.encode()) for cells in added))

    with binary(path) as file:
        names = quoted(arrow.strings(schema.names[first:]), delimiter).to_pylist()
        file.write(joined(lines.head, delimiter.join(names).encode()))
        yield write
        if next(given, None) is not None:
            joined(None, b"")


def format_of(path: str) -> str:
    """Return the format that a name asks for."""
    if path == STDOUT:
        return "csv"
    stem, suffix = os.path.splitext(path.lower())
    packed = suffix in PACKED
    suffix = os.path.splitext(stem)[1] if packed else suffix
    if packed and FORMATS.get(suffix) in ("parquet", "arrow"):
        raise ValueError(f"{path!r}: {FORMATS[suffix]} is compressed by itself. Leave it at that.")
    if suffix not in FORMATS:
        if os.path.exists(path) and not os.path.isfile(path):
            return "csv"  # /dev/stdout and the like
        raise ValueError(
            f"Cannot tell the format of {path!r} by its suffix. Give a name that ends in .csv, "
            ".tsv, .parquet, .feather or .jsonl; .csv.gz, .bz2, .xz and .zst are compressed."
        )
    return FORMATS[suffix]


@contextmanager
def binary(path: str) -> Iterator[BinaryIO]:
    """Open a file, a device or stdout to write to; a file is written whole or not at all."""
    if path == STDOUT:
        with named("stdout"), whole_writes(sys.stdout.buffer) as stdout:
            yield stdout
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


@contextmanager
def whole_writes(stream: BinaryIO) -> Iterator[BinaryIO]:
    """A stream that writes all bytes or raises; one without a buffer may write some of them."""
    if not isinstance(stream, io.RawIOBase):
        yield stream
        stream.flush()
        return
    buffered: Any = io.BufferedWriter(stream)
    try:
        yield buffered
        buffered.flush()
    finally:
        with suppress(OSError):  # detaching flushes again, which has failed before
            buffered.detach()


class LeftOpen(io.RawIOBase):
    """A file that stays open when Arrow is done with it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        return self.file.write(content)


@contextmanager
def packing(path: str, file: BinaryIO) -> Iterator[BinaryIO]:
    """A file that compresses what is written to it, if its name says so."""
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
    # No name and no time in a .gz: the same rows give the same bytes.
    options = {"filename": "", "fileobj": file, "mtime": 0} if how == ".gz" else {"filename": file}
    with pack(**options, mode="wb") as made:
        yield made


@contextmanager
def named(path: str) -> Iterator[None]:
    """Errors of writing name the file as the user does."""
    try:
        yield
    except OSError as error:
        # One without a number has a sentence of its own.
        if error.strerror and (error.filename is None or PREFIX in str(error.filename)):
            error.filename = path
        raise


def csv_rows(rows: Any, delimiter: str) -> list[str]:
    """Rows as CSV; cells are quoted where they must be, and an empty text to tell it from none."""
    import pyarrow.compute as pc

    if rows.num_rows == 0:
        return []
    cells = [quoted(as_text(rows.column(i)), delimiter) for i in range(rows.num_columns)]
    lines: list[str] = pc.binary_join_element_wise(*cells, large(delimiter)).to_pylist()
    return lines


def quoted(texts: Any, delimiter: str) -> Any:
    """Texts as cells of a CSV file; nothing where there is none."""
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
    """Arrow values as strings; lists and structures as JSON."""
    import pyarrow as pa

    try:
        return values.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        items = values.to_pylist()
    return pa.array([None if item is None else plain(item) for item in items], pa.large_string())


def write_lines(batch: Any, file: BinaryIO) -> None:
    """Return a batch as JSON lines."""
    file.write("".join(f"{plain(row)}\n" for row in batch.to_pylist()).encode())


def plain(value: Any) -> str:
    """Return a value as JSON; what is no number is null, and what JSON does not know is text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=written)
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False, default=written)


def written(value: Any) -> Any:
    """What JSON does not know: a whole number of any length as it is, others as text."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return str(value)


def finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value
