"""Read files, folders, globs and queries with DuckDB and Arrow."""

from __future__ import annotations

import codecs
import csv
import glob
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from genus.arrays import arrow, labels
from genus.arrays.options import warn
from genus.table.read.databases import identifier
from genus.table.read.formats import (
    COMPRESSED,
    READERS,
    Files,
    format_named,
    kind_of,
    suffix_of,
    suffixless,
)
from genus.table.read.lines import NONE, Lines, Objects, lines_in, split_end
from genus.table.read.packing import (
    CHUNK,
    ORIGINS,
    UNEVEN,
    chunks_of,
    copy_of,
    in_utf8,
    plain_file,
    stamp,
    with_even_lines,
)
from genus.table.read.sources import (
    BATCH,
    Partition,
    Source,
    TableError,
    first_rows,
    fitted,
    readable,
    shortened,
    thinned,
)

SNIFFED = 64 << 20  # CSV files up to this many bytes are read in full to find column types
SAMPLED = 1 << 18  # rows from which the types of longer files are found
SMALL = 4 << 20  # CSV files up to this many bytes are read at once
LONG_LINE = 1 << 14  # bytes; so are files with lines as long as this, up to SNIFFED bytes
PACKED = 5  # factor by which compressed text grows when unpacked, approximately
PARTITION = 1 << 20  # rows of a partition of a Parquet file, approximately
FEW_PARTITIONS = 16  # up to this many partitions, each is sampled from its first row to its last
PLACES, BLOCK = 32, 1 << 18  # samples of a long CSV file; bytes to estimate line length
MOST_HEADS = 16  # files whose first rows are searched for numbers and dates of unusual forms
SHORT_BLOCK = 1 << 14  # bytes of a sample to estimate the number of lines
DATE_FORMAT = "dateformat = '%Y-%m-%d'"
# Without BOOLEAN, because yes and no, or t and f, should stay as they are written.
TYPES = "['BIGINT', 'DOUBLE', 'TIME', 'DATE', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR']"
ENCODINGS = {"csv": ("utf-8", "latin-1"), "json": ("utf-8",)}  # that DuckDB reads
DELIMITERS = ",;\t|"
ALIKE = 0.8  # similarity of the names of files that may be meant
LONGEST_ADVICE = 500  # characters of names in a query that an error advises
MOST_LINES = 1_000_000  # searched for one that has another number of fields, or ends otherwise
SQL = re.compile(r"\s*(\(\s*)*(select|with|from|values|table|pivot|unpivot)\b.*\s", re.I | re.S)
SQL_CSV = re.compile(r"\.(csv|tsv)(\.gz|\.zst)?$", re.I)  # read as CSV in a query
# Integers that a float cannot hold, and leading signs and zeros, which a number does not keep.
LONG, SIGNED = r"^\s*[+-]?\d{16,}\s*$", r"^\s*(\+|-?0\d)"
SHORT = r"^\s*\d:|^\s*\d+:\d+\s*$|\."  # times that are not written as 07:05:00
SECOND = re.compile(r"(.*)_\d+", re.S)  # the names of columns whose name occurs before
UNNAMED = re.compile(r"column\d+")  # names that DuckDB gives to unnamed columns
NO_YEAR = r"^\s*\d{0,3}([^\d\s]|$)"  # dates that do not begin with a year
FIRST_ROWS = 10_000  # in which the form of dates and numbers is checked
# Numbers that DuckDB reads in another way than genus: dots may separate thousands, as in 2.954
# beside 768, unless other values of the column have no three digits after the dot.
DOTS, NO_DOTS = r"\.\d{3}\s*$", r"\d{4}|[^\d\s.+-]|\.(\d{0,2}|\d{4,})\s*$|^\s*[+-]?(0\d*)?\."
BASES, WITH_BASE = re.compile(rb"0[xXbB][0-9a-fA-F]"), r"^\s*[+-]?0[xXbB]"  # such as 0x146d
COMMAS = re.compile(rb'"[+-]?[\d.]*\d,\d+"')  # decimals in files whose fields end with commas
FEW_SAMPLED = f"sample_size = {2 * FIRST_ROWS}"
REMOTE = re.compile(r"^\s*[a-z][a-z0-9+.-]+://", re.I)


@cache
def connection() -> Any:
    """Return the in-memory DuckDB connection; it installs nothing and does not use the network."""
    import duckdb

    made = duckdb.connect()
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
        made.execute(f"SET {setting} = false")
    made.execute("SET enable_progress_bar = false")
    made.execute("SET preserve_insertion_order = true")
    made.execute("SET GLOBAL TimeZone = 'UTC'")  # not that of the machine
    return made


def from_query(sql: str) -> Source:
    """Open a SELECT; it may read files."""
    import duckdb

    name = f"the query {shortened(sql)!r}"
    with readable(name):
        statements = connection().extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise TableError(
                f"{name[0].upper()}{name[1:]} is not a single SELECT statement. Give one SELECT."
            )
    plain = sql.strip().rstrip(";")
    try:
        with readable(name):
            typed, read = with_our_types(plain)
        source = from_sql(name, typed)
    except TableError:
        return from_sql(name, plain)
    for path in read:
        files = sorted(glob.glob(path, recursive=True))
        refuse_repeated(csv_options(files, size_of(files)), files, source.columns)
    return source


def with_our_types(sql: str) -> tuple[str, list[str]]:
    """Rewrite a query so that it reads CSV files with genus's options; return it and the paths."""
    cursor = connection().cursor()
    (tree,) = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()[0]
    text, paths = sql.encode(), []
    for at, path, alias in sorted(tables_in(json.loads(tree)), reverse=True):  # last first
        written = re.match(rb"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", text[at:])
        if not (written and SQL_CSV.search(path)):
            continue
        files = glob.glob(path, recursive=True)
        read = f"read_csv({literal(path)}{csv_options(files, size_of(files))})"
        paths.append(path)
        stem = suffixless(os.path.basename(path)).replace('"', '""')
        read += "" if alias else f' AS "{stem}"'
        text = text[:at] + read.encode() + text[at + written.end() :]
    return text.decode(), paths


def tables_in(tree: Any) -> Iterator[tuple[int, str, str]]:
    """Yield the byte position, name and alias of each table in a parsed query."""
    if isinstance(tree, dict):
        if tree.get("type") == "BASE_TABLE":
            yield tree["query_location"], tree["table_name"], tree["alias"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for branch in tree:
            yield from tables_in(branch)


def size_of(paths: Iterable[str]) -> int:
    """Return the total size of files in bytes."""
    return sum(map(os.path.getsize, paths))


def from_sql(name: str, sql: str) -> Source:
    """Open a SELECT; each reading has its own cursor, so that it can stop early."""

    def relation(sql: str) -> Any:
        return connection().cursor().sql(sql)

    with readable(name):
        schema = relation(f"SELECT * FROM ({sql}) LIMIT 0").to_arrow_table().schema
    return Source(name, schema, lambda: relation(sql).to_arrow_reader(BATCH))


def quoted(path: str) -> str:
    """Quote a path for SQL, and escape *, ?, [ and ], which DuckDB reads as patterns."""
    return literal(re.sub(r"[*?\[\]]", lambda mark: f"[{mark[0]}]", path))


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def csv_options(paths: Sequence[str], size: int) -> str:
    """Return the options for reading CSV files with `size` bytes in total."""
    tabs = bool(paths) and all(suffix_of(path) in (".tsv", ".tab") for path in paths)
    delimiter = "\t" if tabs else spaced_delimiter(paths)
    options = f", delim = {literal(delimiter)}" if delimiter else ""
    sample = -1 if size <= SNIFFED else SAMPLED
    # `genus.table.numerals` reads dates in other orders, because all values of a column decide the
    # order and the plan keeps it.
    # A row may begin with # as any row: DuckDB would take it for a comment and leave it out.
    options += f", comment = '', {DATE_FORMAT}, sample_size = {sample}"
    return f"{options}, auto_type_candidates = {TYPES}"


def spaced_delimiter(paths: Sequence[str]) -> str:
    """Return the delimiter and a space if every delimiter in CSV files has a space behind it.

    Otherwise, return "". The first SNIFFED bytes of each file decide.
    """
    mark = delimiter_of(paths[:1])
    spaced = [path for path in paths if mark and is_spaced(path, mark.encode())]
    if len(spaced) == len(paths) and mark:
        return f"{mark} "
    odd = [path for path in spaced if mark.encode() in first_block(path)]
    if odd:
        warn(
            f"{ORIGINS.get(odd[0], odd[0])} has a space after every {mark!r}, but other files do "
            "not, so its texts are read with a space before them. Remove the spaces."
        )
    return ""


def is_spaced(path: str, mark: bytes) -> bool:
    """Return whether a space follows each `mark` in a file."""
    last = b""
    for chunk in islice(chunks_of(path), SNIFFED // CHUNK):
        if re.search(re.escape(mark) + b"[^ ]", last + chunk):
            return False
        last = chunk[-1:]
    return True


def in_memory(name: str, sql: str) -> Source:
    with readable(name):
        table = connection().cursor().sql(sql).to_arrow_table()
    return Source(name, table.schema, table.to_batches, table.num_rows)


def from_files(given: Sequence[str], encoding: str = "utf-8") -> Source:
    """Open files of one format as one table; FILE#PART is a part of a file."""
    name = given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"
    parts = [split_part(one) for one in given]
    part = parts[0][1]
    found = list(chain.from_iterable(files_of(path) for path, _ in parts))
    plain = [plain_file(path, part) for path in found]
    paths, left = [path for path, _ in plain], plain[0][1]
    if all(os.path.getsize(path) == 0 for path in paths):
        raise TableError(
            f"{name} is empty. A table needs a line of column names and rows below it."
        )
    kinds = {kind_of(path, ORIGINS.get(path, path)) for path in paths}
    if len(kinds) > 1:
        raise TableError(
            f"{name} are files of different formats, {' and '.join(sorted(kinds))}. Give files of "
            "one format."
        )
    (kind,) = kinds
    if left and not format_named(kind).parts:
        raise TableError(
            f"{name}: a {kind} file holds one table, so # cannot choose another. Leave out the # "
            "and what follows it."
        )
    if kind in ENCODINGS:
        encoding = encoding_named(encoding)
        paths = [in_utf8(path, encoding, ENCODINGS[kind]) for path in paths]
        encoding = encoding if encoding in ENCODINGS[kind] else "utf-8"
    base = os.path.commonpath([base_of(path) for path, _ in parts])
    return format_named(kind).open(Files(name, paths, base, left, encoding))


def encoding_named(name: str) -> str:
    """Return the usual name of a text encoding.

    >>> encoding_named("UTF8"), encoding_named("iso-8859-1"), encoding_named("cp1252")
    ('utf-8', 'latin-1', 'cp1252')
    """
    try:
        "".encode(name)
    except LookupError:
        raise TableError(f'{name!r} is not a known encoding. Try "latin-1" or "utf-16".') from None
    usual = codecs.lookup(name).name
    return {"iso8859-1": "latin-1"}.get(usual, usual)


def split_part(path: str) -> tuple[str, str]:
    """Split a path into the file and the part after a #.

    >>> split_part("docs/tables.md#Limits"), split_part("no such file#1")
    (('docs/tables.md', 'Limits'), ('no such file#1', ''))
    """
    if not os.path.exists(os.path.expanduser(path)):
        for mark in re.finditer("#", path):
            if os.path.isfile(os.path.expanduser(path[: mark.start()])):
                return path[: mark.start()], path[mark.end() :]
    return path, ""


def csv_files(files: Files) -> Source:
    """Open CSV files."""
    size = size_of(files.paths)
    options = csv_options(files.paths, size)
    if len(files.paths) > 1:  # for one file it would only double the time to open it
        options += ", union_by_name = true"
    if files.encoding != "utf-8":
        options += f", encoding = {literal(files.encoding)}"
    return from_csv(files.name, options, files.paths, size)


def json_files(files: Files) -> Source:
    """Open files of JSON records."""
    return from_json(files.name, files.paths)


def from_json(name: str, paths: Sequence[str], texts: tuple[str, ...] = ()) -> Source:
    """Open files of JSON records; read the columns `texts` as text."""
    import pyarrow.types as pt

    listed = "[" + ", ".join(map(quoted, paths)) + "]"
    plain = f"read_json({listed}, union_by_name = true, {DATE_FORMAT})"
    with readable(name):
        found = connection().cursor().sql(f"SELECT * FROM {plain} LIMIT 0")
        types = dict(zip(found.columns, map(str, found.types), strict=True))
    as_text = typed_json(listed, types | dict.fromkeys(texts, "VARCHAR"))
    source = from_sql(name, f"SELECT * FROM {as_text if texts else plain}")

    def first(dates: Sequence[str]) -> str:
        as_text = typed_json(listed, dict.fromkeys(dates, "VARCHAR"))
        return f"(SELECT * FROM {as_text} LIMIT {FIRST_ROWS})"

    odd = odd_dates(source, first)
    if odd:
        return from_json(name, paths, (*texts, *odd))
    whole = Partition("; ".join(map(stamp, paths)), source.opened)
    texts_of_all = dict.fromkeys(types, "VARCHAR")
    return replace(
        source,
        divided=lambda: [whole],
        size=sum(map(unpacked_size, paths)),
        estimated=lambda: expected_lines(paths),
        with_text=lambda columns: from_json(name, paths, (*texts, *columns)),
        guessed=frozenset(f.name for f in source.schema if pt.is_temporal(f.type)),
        lines=lambda: Objects.of(paths, len(source.columns)),
        altered=lambda: altered_columns(name, typed_json(listed, texts_of_all), source.schema),
    )


def typed_json(listed: str, types: Mapping[str, str]) -> str:
    """Return the SQL that reads files of JSON records with the given types."""
    columns = ", ".join(f"{literal(column)}: {literal(kind)}" for column, kind in types.items())
    return f"read_json({listed}, columns = {{{columns}}})"


def parquet_files(files: Files) -> Source:
    """Open Parquet files."""
    return from_parquet(files.name, files.paths, files.base)


def arrow_files(files: Files) -> Source:
    """Open files in Arrow's format (Feather, IPC) or in ORC."""
    import pyarrow.dataset as ds

    kind = kind_of(files.paths[0])
    with readable(files.name):
        dataset = ds.dataset(list(files.paths), format="orc" if kind == "orc" else "ipc")
        rows = dataset.count_rows()

    def opened() -> Iterable[Any]:
        return dataset.to_batches(batch_size=BATCH)

    whole = Partition("; ".join(map(stamp, files.paths)), opened)
    size = sum(map(os.path.getsize, files.paths))
    return Source(files.name, dataset.schema, opened, rows, divided=lambda: [whole], size=size)


def arrow_streams(files: Files) -> Source:
    """Open files that hold a stream of Arrow batches."""
    import pyarrow as pa

    with readable(files.name), pa.OSFile(files.paths[0]) as file:
        schema = pa.ipc.open_stream(file).schema

    def opened() -> Iterator[Any]:
        for path in files.paths:
            with pa.OSFile(path) as file:
                yield from (fitted(batch, schema) for batch in pa.ipc.open_stream(file))

    whole = Partition("; ".join(map(stamp, files.paths)), opened)
    return Source(files.name, schema, opened, divided=lambda: [whole])


def from_parquet(name: str, paths: Sequence[str], base: str) -> Source:
    """Open Parquet files, divided into partitions of consecutive row groups.

    Folders below `base` with names such as year=2024 become columns.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    with readable(name):
        dataset = ds.dataset(
            list(paths), format="parquet", partitioning="hive", partition_base_dir=base
        )
        fragments = list(dataset.get_fragments())
    schema = dataset.schema
    for fragment in fragments:
        with readable(fragment.path):
            own = fragment.physical_schema
        try:
            schema = pa.unify_schemas([schema, own], promote_options="permissive")
        except pa.ArrowException as error:
            raise TableError(
                f"{fragment.path} has other column types than the files before it: {error}. "
                "Make the types equal, for example with CAST in a query."
            ) from None

    def opened(fragment: Any) -> Callable[[], Iterable[Any]]:
        # Few batches are read ahead, to bound memory.
        ahead = {"batch_size": BATCH, "batch_readahead": 2, "fragment_readahead": 1}

        def batches() -> Iterator[Any]:
            with readable(fragment.path):
                yield from fragment.to_batches(schema=schema, **ahead)

        return batches

    def some(fragment: Any, groups: Sequence[int]) -> Callable[[int], Iterable[Any]]:
        total = sum(fragment.metadata.row_group(group).num_rows for group in groups)
        return lambda rows: thinned(opened(fragment.subset(row_group_ids=groups))(), rows, total)

    parts = [
        (fragment, groups)
        for fragment in fragments
        for groups in runs_of_row_groups(fragment.metadata)
    ]
    partitions = []
    for fragment, groups in parts:
        known = stamp(fragment.path)
        label = f"{known}, row groups {groups[0]} to {groups[-1]}" if groups else known
        # With many partitions, their first rows already come from all over the table.
        few = some(fragment, groups) if groups and len(parts) <= FEW_PARTITIONS else None
        subset = fragment.subset(row_group_ids=groups)
        partitions.append(Partition(label, opened(subset), few))
    return Source(
        name,
        schema,
        lambda: chain.from_iterable(partition.opened() for partition in partitions),
        sum(fragment.metadata.num_rows for fragment in fragments),
        divided=lambda: partitions,
        size=sum(map(os.path.getsize, paths)),
    )


def runs_of_row_groups(metadata: Any) -> list[list[int]]:
    """Return runs of consecutive row groups of a Parquet file, with about PARTITION rows each."""
    runs: list[list[int]] = [[]]
    rows = 0
    for group in range(metadata.num_row_groups):
        if rows >= PARTITION:
            runs.append([])
            rows = 0
        runs[-1].append(group)
        rows += metadata.row_group(group).num_rows
    return runs


def from_csv(
    name: str, options: str, paths: Sequence[str], size: int, texts: tuple[str, ...] = ()
) -> Source:
    """Open CSV files; errors name the line with a wrong number of fields.

    Small files are read at once, because a first look would take as long; files of long lines,
    too, because thousands of columns take DuckDB seconds each time. In large files, the first rows
    decide the types of columns. The columns `texts` are read as text.
    """
    at_once = size <= SMALL or (size <= SNIFFED and has_long_lines(paths, size))
    if not at_once and size <= SNIFFED:  # DuckDB notices uneven line ends while it reads rows
        paths = [with_even_lines(path) for path in paths]
    listed = "[" + ", ".join(map(quoted, paths)) + "]"
    types = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in texts)
    sql = f"SELECT * FROM read_csv({listed}{options}{f', types = {{{types}}}' if texts else ''})"
    try:
        source = in_memory(name, sql) if at_once else from_sql(name, sql)
    except TableError as error:
        if "do not form a table" not in str(error) and "fields where" not in str(error):
            raise
        for repaired in (with_even_lines, without_last_delimiters):
            copies = [repaired(path) for path in paths]
            if copies != list(paths):
                return from_csv(name, options, copies, size, texts)
        for path in paths:
            refuse_ragged(name if len(paths) == 1 else ORIGINS.get(path, path), path)
        raise
    if hidden_names(source.columns) and "delim = " not in options:
        delimiter = delimiter_of(paths)
        if delimiter:
            options += f", delim = {literal(delimiter)}"
            return from_csv(name, options, paths, size, texts)
    refuse_unnamed(name, options, paths, source.columns)
    if not texts:
        refuse_repeated(options, paths, source.columns)
    as_text = f"read_csv({listed}{all_text(options)})"
    first = first_of_each(re.sub(r"sample_size = -?\d+", FEW_SAMPLED, all_text(options)), paths)
    odd = [*odd_dates(source, lambda _: first), *odd_numbers(source, paths, first)]
    if odd:
        return from_csv(name, options, paths, size, (*texts, *odd))
    return replace(
        source,
        with_text=lambda columns: from_csv(name, options, paths, size, (*texts, *columns)),
        guessed=frozenset(f.name for f in source.schema if not arrow.is_text(f.type)),
        divided=lambda: (
            [Partition("; ".join(map(stamp, paths)) + encoding_in(options), source.opened)]
            if at_once
            else csv_partitions(sql, options, paths, source)
        ),
        size=sum(map(unpacked_size, paths)),
        estimated=lambda: expected_lines(paths),
        lines=lambda: lines_of(options, paths),
        altered=lambda: altered_columns(name, as_text, source.schema),
    )


def all_text(options: str) -> str:
    """Return the options for reading all columns of CSV files as text."""
    return re.sub(r", auto_type_candidates = \[.*?\]", ", all_varchar = true", options)


def first_of_each(options: str, paths: Sequence[str]) -> str:
    """Return the SQL that reads the first rows of CSV files, at most MOST_HEADS of them.

    Of all files together, the first rows may be those of one file. They are read, too, because
    they have the columns of all files.
    """
    together = "[" + ", ".join(map(quoted, paths)) + "]"
    alone = [f"[{quoted(path)}]" for path in paths[1:MOST_HEADS]]
    parts = [
        f"(SELECT * FROM read_csv({listed}{options}) LIMIT {FIRST_ROWS})"
        for listed in (together, *alone)
    ]
    return f"({' UNION ALL BY NAME '.join(parts)})"


def odd_dates(source: Source, first: Callable[[Sequence[str]], str]) -> list[str]:
    """Return the columns of dates that do not begin with a year, such as 05-12-2020 and inf.

    DuckDB guesses whether the day or the month comes first, and reads two-digit years as years of
    the first century. `first` returns the first rows in SQL, with the given columns as text.
    """
    import pyarrow.types as pt

    dates = [f.name for f in source.schema if pt.is_timestamp(f.type) or pt.is_date(f.type)]
    return altered_in(source.name, first(dates), dict.fromkeys(dates, NO_YEAR))


def odd_numbers(source: Source, paths: Sequence[str], first: str) -> list[str]:
    """Return the columns of numbers that are text, or in which dots may separate thousands.

    Text such as 0x146d may be a code, and is no number in other formats. Dots are looked for in
    files of which other columns may have decimal commas. `first` are the first rows of each file in
    SQL, with all columns as text.
    """
    import pyarrow.types as pt

    heads = [first_block(path) for path in paths[:MOST_HEADS]]
    loses = {}
    if any(map(BASES.search, heads)):
        loses = {f.name: WITH_BASE for f in source.schema if pt.is_integer(f.type)}
    if delimiter_of(paths[:1]) != "," or any(map(COMMAS.search, heads)):
        decimals = [f.name for f in source.schema if pt.is_floating(f.type)]
        if source.rows is not None:  # in memory; thousands of columns take long to read again
            table = source.table()
            decimals = [name for name in decimals if may_be_thousands(table.column(name))]
        loses |= dict.fromkeys(decimals, DOTS)
    odd = altered_in(source.name, first, loses)
    dotted = [name for name in odd if loses[name] == DOTS]
    others = altered_in(source.name, first, dict.fromkeys(dotted, NO_DOTS))
    return [name for name in odd if name not in others]


def may_be_thousands(numbers: Any) -> bool:
    """Return whether numbers have at most three digits before the point and three after it."""
    size = np.abs(arrow.plain(numbers, 0))
    fits = (size == 0) | ((size >= 1) & (size < 1000))
    return bool(fits.all() and np.allclose(size * 1000, np.round(size * 1000), rtol=0, atol=1e-6))


def altered_columns(name: str, as_text: str, schema: Any) -> list[str]:
    """Return the CSV columns that would lose digits, signs, leading zeros or the form of times."""
    import pyarrow.types as pt

    patterns = {pt.is_floating: LONG, pt.is_integer: SIGNED, pt.is_time: SHORT}
    loses = {f.name: p for f in schema for is_of, p in patterns.items() if is_of(f.type)}
    return altered_in(name, as_text, loses)


def altered_in(name: str, table: str, loses: Mapping[str, str]) -> list[str]:
    """Return the columns in which a text matches the column's pattern, given in `loses`."""
    if not loses:
        return []
    found = ", ".join(
        f"bool_or(regexp_matches({identifier(column)}, {literal(pattern)}))"
        for column, pattern in loses.items()
    )
    with readable(name):
        (told,) = connection().cursor().sql(f"SELECT {found} FROM {table}").fetchall()
    return [column for column, is_altered in zip(loses, told, strict=True) if is_altered]


def encoding_in(options: str) -> str:
    """Return DuckDB's option for the encoding of CSV files; "" for UTF-8."""
    return "".join(re.findall(r", encoding = '.*'", options))


def lines_of(options: str, paths: Sequence[str]) -> Lines | None:
    """Return the unchanged lines of CSV files, in UTF-8; None if that is unsafe."""
    encoding = re.search(r", encoding = '(.*)'", options)
    given = [UNEVEN.get(path, path) for path in paths]
    return Lines.of(given, dialect_of(options, paths[0]), encoding[1] if encoding else "utf-8")


def dialect_of(options: str, path: str) -> dict[str, Any]:
    """Return what DuckDB finds out about a CSV file: its delimiter, quotes, columns and so on."""
    sniffed = options.replace(", union_by_name = true", "")
    with readable(path):
        found = connection().cursor().sql(f"SELECT * FROM sniff_csv({quoted(path)}{sniffed})")
        (dialect,) = found.fetchall()
    return dict(zip(found.columns, dialect, strict=True))


def refuse_repeated(options: str, paths: Sequence[str], columns: Sequence[str]) -> None:
    """Raise an error if a CSV file has two columns of one name, and both are among `columns`.

    DuckDB renames the second of two columns, such as `y` to `y_1`. If names differ only in case,
    such as `y` and `Y`, it renames them, too, but this is only a warning here.
    """
    there = {name.lower() for name in columns}
    numbered = (SECOND.fullmatch(name.lower()) for name in columns)
    if not any(found and found[1] in there for found in numbered):
        return
    for path in paths:
        head, own = head_of(options, path)
        if len(head) != len(own):
            continue
        told = ORIGINS.get(path, path)
        used = [j for j, name in enumerate(head) if name and own[j] in columns]
        same: dict[str, int] = {}
        again = [(i, j) for j in used if (i := same.setdefault(head[j], j)) != j]
        if again:
            i, j = again[0]
            others = ", ".join(identifier(own[j]) for _, j in again)
            advice = (
                ", or leave out those that repeat a name with a query: SELECT * EXCLUDE "
                f"({others}) FROM {literal(told)}"
            )
            raise TableError(
                f"{told} has two columns {shortened(head[j])!r}, the columns {i + 1} and {j + 1}. "
                f"Rename one{advice if len(others) < LONGEST_ADVICE else ''}."
            )
        alike: dict[str, int] = {}
        for j in used:
            i = alike.setdefault(head[j].lower(), j)
            if i != j:
                warn(
                    f"{told} has columns {shortened(head[i])!r} and {shortened(head[j])!r}, whose "
                    "names differ only in upper and lower case. The second is read as "
                    f"{shortened(own[j])!r}."
                )


def head_of(options: str, path: str) -> tuple[list[str], list[str]]:
    """Return the column names in the first line of a CSV file, and DuckDB's names for them."""
    found = dialect_of(options, path)
    columns = [column["name"] for column in found["Columns"]]
    if not found["HasHeader"]:
        return columns, columns
    marks = {name: found[name.title()].replace(NONE, "") for name in ("quote", "escape", "comment")}
    said = "".join(f", {name} = {literal(mark)}" for name, mark in marks.items())
    said += f", delim = {literal(found['Delimiter'])}, skip = {found['SkipRows']}"
    plain = f"read_csv({quoted(path)}, header = false, all_varchar = true{said}"
    with readable(path):
        read = f"SELECT * FROM {plain}{encoding_in(options)}) LIMIT 1"
        (line,) = connection().cursor().sql(read).fetchall() or [()]
    return [(name or "").strip() for name in line], columns


def refuse_unnamed(name: str, options: str, paths: Sequence[str], columns: Sequence[str]) -> None:
    """Raise an error if DuckDB finds no column names, because lines have unequal numbers of fields.

    DuckDB then reads each line as one field, or makes up column names. If several files are read as
    one table, the columns of such a file would silently be empty.
    """
    hidden = hidden_names(columns)
    if len(paths) == 1 and len(hidden) == len(columns):
        refuse_ragged(name, paths[0])
    if len(paths) == 1 or not hidden:
        return
    for path in paths:
        with readable(path):
            read = f"SELECT * FROM read_csv([{quoted(path)}]{options}) LIMIT 0"
            own = connection().cursor().sql(read).columns
        if own and set(own) <= set(hidden) < set(columns):
            refuse_ragged(ORIGINS.get(path, path), path)
            raise TableError(
                f"{ORIGINS.get(path, path)} has other columns than the other files: "
                f"{shortened(', '.join(map(repr, own)))}. Give files with the same columns."
            )


def hidden_names(columns: Sequence[str]) -> list[str]:
    """Return the columns whose names DuckDB made up, or that seem to be a whole line of names."""
    return [c for c in columns if any(mark in c for mark in DELIMITERS) or UNNAMED.fullmatch(c)]


def delimiter_of(paths: Sequence[str]) -> str:
    """Return the only delimiter in the first lines of CSV files; "" if there is none or several.

    DuckDB prefers the commas in 2,5;3,5 to the semicolon in the line of names above.
    """
    found: set[str] = set()
    for path in paths:
        head = first_block(path).partition(b"\n")[0].decode(errors="replace")
        found.update(mark for mark in DELIMITERS if mark in head)
    return found.pop() if len(found) == 1 else ""


def first_block(path: str) -> bytes:
    """Return the first bytes of a file, which may be compressed."""
    import pyarrow as pa

    with readable(path), pa.input_stream(path, compression="detect") as file:
        return bytes(file.read(BLOCK))


def csv_partitions(sql: str, options: str, paths: Sequence[str], source: Source) -> list[Partition]:
    """Return a partition for each file, with the columns and types of all files."""
    relation = connection().cursor().sql(sql)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    named = {name.lower(): name for name in types}  # DuckDB ignores the case of names

    def opened(path: str) -> Iterator[Any]:
        read = connection().cursor().sql
        plain = f"read_csv([{quoted(path)}]{options}"
        names = read(f"SELECT * FROM {plain}) LIMIT 0").columns
        if not set(map(str.lower, names)) <= set(named):
            raise TableError(
                f"The columns of {path} have changed since it was opened. Read it again."
            )
        own = ", ".join(f"{literal(name)}: '{types[named[name.lower()]]}'" for name in names)
        for batch in read(f"SELECT * FROM {plain}, types = {{{own}}})").to_arrow_reader(BATCH):
            yield fitted(batch.rename_columns([named[n.lower()] for n in names]), source.schema)

    def of_file(path: str) -> Partition:
        long = os.path.getsize(path) > PLACES * BLOCK and not COMPRESSED.search(path)
        return Partition(
            stamp(path) + encoding_in(options),
            source.opened if len(paths) == 1 else lambda: opened(path),
            (lambda rows: from_blocks(path, rows, opened)) if long else None,
        )

    return [of_file(path) for path in paths]


def from_blocks(path: str, rows: int, opened: Callable[[str], Iterator[Any]]) -> Iterator[Any]:
    """Yield about `rows` rows of a CSV file, from blocks at several places of it.

    A block may begin inside a quoted text. If the blocks together cannot be read as a table, the
    first rows of the file are used instead.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file, tempfile.TemporaryDirectory(prefix="genus-") as folder:
        copy = os.path.join(folder, "some" + suffix_of(path))
        with open(copy, "wb") as some:
            some.write(file.readline())
            sample = file.read(BLOCK)
            block_size = max(len(sample) * rows // (PLACES * max(sample.count(b"\n"), 1)), 1 << 12)
            file.seek(0)
            file.readline()
            for place in range(PLACES):
                file.seek(max(file.tell() if place == 0 else 0, size * place // PLACES))
                if place:
                    file.readline()
                block = file.read(block_size)
                some.write(block[: block.rfind(b"\n") + 1])
        try:
            yield from list(opened(copy))
            return
        except TableError:
            pass
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb", "pyarrow"):
                raise
    yield from first_rows(opened(path), rows)


def unpacked_size(path: str) -> int:
    """Return the approximate size of a file in bytes, after decompression."""
    return os.path.getsize(path) * (PACKED if COMPRESSED.search(path) else 1)


def has_long_lines(paths: Sequence[str], size: int) -> bool:
    """Return whether the lines of files are long on average; False if a file is compressed."""
    if any(COMPRESSED.search(path) for path in paths):
        return False
    return size >= LONG_LINE * (expected_lines(paths) or 0)


def expected_lines(paths: Sequence[str]) -> int | None:
    """Estimate the number of lines of files from blocks at several places of each.

    Return None if a file is compressed, or if the blocks contain no line end.
    """
    if any(COMPRESSED.search(path) for path in paths):
        return None
    total = 0.0
    for path in paths:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            blocks = []
            for place in range(PLACES):
                file.seek(size * place // PLACES)
                blocks.append(file.read(SHORT_BLOCK))
        some = b"".join(blocks)
        total += size * some.count(b"\n") / max(len(some), 1)
    return round(total) or None


def refuse_ragged(name: str, path: str) -> None:
    """Raise an error if a line of a CSV file has more or fewer fields than its first line."""
    if COMPRESSED.search(path):
        return
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        head = file.readline()
        delimiter = max(DELIMITERS, key=head.count)
        expected = len(next(csv.reader([head], delimiter=delimiter)))
        reader = csv.reader(file, delimiter=delimiter)
        for fields in islice(reader, MOST_LINES):
            if fields and len(fields) != expected:
                raise TableError(
                    f"Cannot read {name}: line {reader.line_num + 1} has {len(fields)} fields "
                    f"where {expected} are expected. Correct the line, or quote fields that "
                    "contain the delimiter."
                )


def without_last_delimiters(path: str) -> str:
    """Return the path of a copy whose lines do not end with a delimiter that their head lacks.

    DuckDB ignores such delimiters itself, but only in short files.
    """
    delimiter = delimiter_of([path])
    head = next(lines_in(path, '"'), b"").rstrip()
    columns = head.count(delimiter.encode()) + 1
    lines = Lines((path,), head, delimiter, '"', 0, columns)

    def repaired() -> Iterator[bytes]:
        for line in lines.of_file(path):
            bare, end = split_end(line)
            yield bare[:-1] + end if lines.ends_with_delimiter(bare) else line

    first = zip(lines.of_file(path), repaired(), strict=True)
    if not delimiter or all(one == other for one, other in islice(first, MOST_LINES)):
        return path
    copy = copy_of(path, "without last delimiters", repaired())
    UNEVEN[copy] = UNEVEN.get(path, path)
    return copy


def base_of(path: str) -> str:
    """Return the folder that holds the files of a path, a folder or a glob.

    >>> base_of("/data/sales/year=*/*.parquet")
    '/data/sales'
    """
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.isdir(path):
        return path
    if os.path.exists(path) or not glob.has_magic(path):
        return os.path.dirname(path)
    while glob.has_magic(path):
        path = os.path.dirname(path)
    return path


def files_of(path: str) -> list[str]:
    """Return the files that a path, a folder or a glob matches."""
    if REMOTE.match(path):
        raise TableError(
            f"{path} is a remote address; genus reads only local files and PostgreSQL "
            "(postgresql://…). Download it first."
        )
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        inside = [p for p in sorted(Path(path).rglob("*")) if p.is_file() and p.name[0] not in "._"]
        known = [str(p) for p in inside if suffix_of(str(p)) in READERS]
        if not known:
            raise TableError(
                f"The folder {path} holds no {', '.join(sorted(READERS))} file. Give another "
                "folder, or name its files."
            )
        return known
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        matching = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not matching:
            raise TableError(f"No file matches {path!r}. Check the pattern.")
        return matching
    folder = Path(path).parent
    beside = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    hint = labels.meant(Path(path).name, beside, ALIKE)
    raise TableError(f"There is no file {path!r}. {hint}".rstrip())
