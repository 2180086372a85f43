"""Tables as users have them: files, folders, queries, frames; read as a stream of Arrow batches.

DuckDB reads files and SQL, Arrow carries the batches. A source is opened before it is read, so
that what is wrong with it is said before anything is counted.
"""

from __future__ import annotations

import csv
import difflib
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

BATCH = 1 << 17  # rows
SNIFFED = 64 << 20  # bytes of CSV that are read in full to find the types of its columns
SMALL = 4 << 20  # bytes of CSV that are read at once
READERS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
# Not BOOLEAN: yes and no, or t and f, stay as they are written.
TYPES = "['BIGINT', 'DOUBLE', 'TIME', 'DATE', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR']"
DELIMITERS = ",;\t|"
MOST_LINES = 1_000_000  # that are looked through for one of another length
SQL = re.compile(r"\s*(\(\s*)*(select|with|from|values|table|pivot|unpivot)\b.*\s", re.I | re.S)
REMOTE = re.compile(r"^\s*[a-z][a-z0-9+.-]+://", re.I)


class TableError(ValueError):
    """A table that cannot be read, or not as it should be."""


@dataclass(frozen=True, eq=False)
class Source:
    """A table to be read: what messages call it, its columns, and its batches.

    `rows` is how many there are, if that is known. `once` says that it can be read only once.
    """

    name: str
    schema: Any
    opened: Callable[[], Iterable[Any]]
    rows: int | None = None
    once: bool = False

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", with_plain_strings(self.schema))
        repeated = {name for name in self.columns if self.columns.count(name) > 1}
        if repeated:
            raise TableError(f"{self.name} has two columns {min(repeated)!r}. Rename one.")

    def batches(self) -> Iterator[Any]:
        """The rows, as Arrow record batches of at most BATCH of them."""
        with readable(self.name):
            for batch in self.opened():
                for start in range(0, batch.num_rows, BATCH):
                    yield without_views(batch.slice(start, BATCH))

    def table(self) -> Any:
        """All rows, as one Arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(), self.schema)

    def require(self, column: str) -> None:
        """Raise unless there is such a column."""
        if column not in self.columns:
            raise TableError(f"{self.name} has no column {column!r}. {self.near(column)}")

    def near(self, column: str) -> str:
        """Which columns there are; the one that may have been meant first."""
        close = difflib.get_close_matches(column, self.columns, 1, 0.6)
        close += [name for name in self.columns if name.lower() == column.lower()]
        hint = f"Did you mean {close[-1]!r}? " if close else ""
        shown = ", ".join(map(repr, self.columns[:20]))
        more = f" and {len(self.columns) - 20} more" if len(self.columns) > 20 else ""
        unnamed = all(re.fullmatch(r"column\d+", name) for name in self.columns)
        head = " The file seems to have no line of names at its top." if unnamed else ""
        return f"{hint}It has {shown}{more}.{head}"


def with_plain_strings(schema: Any) -> Any:
    """The schema of batches without views."""
    import pyarrow as pa
    import pyarrow.types as pt

    return pa.schema(
        [
            field.with_type(pa.large_string()) if pt.is_string_view(field.type) else field
            for field in schema
        ]
    )


def without_views(batch: Any) -> Any:
    """The same rows; strings as views, which few of Arrow's functions know, as plain ones."""
    import pyarrow as pa
    import pyarrow.types as pt

    views = [j for j, kind in enumerate(batch.schema.types) if pt.is_string_view(kind)]
    for j in views:
        batch = batch.set_column(j, batch.schema.names[j], batch.column(j).cast(pa.large_string()))
    return batch


def open_table(data: Any, encoding: str = "utf-8") -> Source:
    """A source of whatever holds a table: a path, a glob, a folder, paths, a query, a frame."""
    if isinstance(data, Source):
        return data
    if isinstance(data, str) and SQL.match(data) and not os.path.exists(data):
        return from_query(data)
    if isinstance(data, str | os.PathLike):
        return from_files([os.fspath(data)], encoding)
    if isinstance(data, Sequence) and data and all(isinstance(d, str | os.PathLike) for d in data):
        return from_files([os.fspath(d) for d in data], encoding)
    return from_frame(data)


# Files and queries


@cache
def connection() -> Any:
    """DuckDB, in memory; it installs nothing and looks at no network."""
    import duckdb

    made = duckdb.connect()
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
        made.execute(f"SET {setting} = false")
    made.execute("SET enable_progress_bar = false")
    made.execute("SET preserve_insertion_order = true")
    return made


def from_query(sql: str) -> Source:
    """The rows of a SELECT; files in it are read where they are."""
    import duckdb

    name = f"the query {shortened(sql)!r}"
    with readable(name):
        statements = connection().extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise TableError(f"{name[0].upper()}{name[1:]} is not one SELECT. Give one SELECT.")
    return from_sql(name, sql.strip().rstrip(";"))


def from_sql(name: str, sql: str) -> Source:
    relation = connection().cursor().sql

    with readable(name):
        schema = relation(f"SELECT * FROM ({sql}) LIMIT 0").to_arrow_table().schema
    return Source(name, schema, lambda: relation(sql).to_arrow_reader(BATCH))


def quoted(path: str) -> str:
    """A path in SQL; DuckDB would take brackets and asterisks of a name for a pattern."""
    plain = re.sub(r"[*?\[\]]", lambda mark: f"[{mark[0]}]", path)
    return "'" + plain.replace("'", "''") + "'"


def in_memory(name: str, sql: str) -> Source:
    with readable(name):
        table = connection().cursor().sql(sql).to_arrow_table()
    return Source(name, table.schema, table.to_batches, table.num_rows)


def from_files(paths: Sequence[str], encoding: str = "utf-8") -> Source:
    """The rows of files of one kind, one after the other."""
    found = list(chain.from_iterable(map(files_of, paths)))
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    kinds = {kind_of(path) for path in found}
    if len(kinds) > 1:
        raise TableError(f"{name} are files of different kinds, {' and '.join(sorted(kinds))}.")
    (kind,) = kinds
    listed = "[" + ", ".join(map(quoted, found)) + "]"
    size = sum(os.path.getsize(path) for path in found)
    if size == 0:
        raise TableError(f"{name} is empty. A table has a line of names and rows below it.")
    options = ", union_by_name = true"
    if kind == "csv":
        tabs = all(suffix_of(path) in (".tsv", ".tab") for path in found)
        options += ", delim = '\t'" if tabs else ""
        options += f", sample_size = {-1 if size <= SNIFFED else 1 << 18}"
        options += f", auto_type_candidates = {TYPES}"
        if encoding.lower() not in ("utf-8", "utf8"):
            options += ", encoding = '" + encoding.replace("'", "''") + "'"
    sql = f"SELECT * FROM read_{kind}({listed}{options})"
    source = from_csv(name, sql, found, size) if kind == "csv" else from_sql(name, sql)
    if kind != "parquet":
        return source
    counted = connection().cursor().execute(f"SELECT count(*) FROM read_parquet({listed})")
    return Source(name, source.schema, source.opened, counted.fetchall()[0][0])


def from_csv(name: str, sql: str, paths: Sequence[str], size: int) -> Source:
    """The rows of CSV files; lines of different lengths are told by their number.

    Of small files all rows are read at once, for looking at them takes as long.
    """
    try:
        source = in_memory(name, sql) if size <= SMALL else from_sql(name, sql)
    except TableError as error:
        if "sniff" not in str(error):
            raise
        refuse_ragged(name, paths[0])
        raise
    # Such lines may also be taken for lines of one field.
    one = len(source.columns) == 1 and any(mark in source.columns[0] for mark in DELIMITERS)
    if one or all(re.fullmatch(r"column\d+", column) for column in source.columns):
        refuse_ragged(name, paths[0])
    return source


def refuse_ragged(name: str, path: str) -> None:
    """Raise if a line of a CSV file has more or fewer fields than its first."""
    if path.endswith((".gz", ".zst", ".gzip")):
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
                    f"where {expected} are expected. Mend the line, or quote fields that hold the "
                    "delimiter."
                )


def files_of(path: str) -> list[str]:
    """The files that a path, a folder or a glob names."""
    if REMOTE.match(path):
        raise TableError(f"{path} is an address; genus reads files. Download it first.")
    path = os.path.expanduser(path)
    if os.path.isdir(path):
        inside = [p for p in sorted(Path(path).rglob("*")) if p.is_file() and p.name[0] not in "._"]
        known = [str(p) for p in inside if suffix_of(str(p)) in READERS]
        if not known:
            raise TableError(f"The folder {path} holds no {', '.join(sorted(READERS))} file.")
        return known
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        matching = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not matching:
            raise TableError(f"No file matches {path!r}.")
        return matching
    folder = Path(path).parent
    beside = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    close = difflib.get_close_matches(Path(path).name, beside, 1, 0.6)
    hint = f" Did you mean {folder / close[0]}?" if close else ""
    raise TableError(f"There is no file {path!r}.{hint}")


def suffix_of(path: str) -> str:
    """What a file's name ends with, less what it is compressed with."""
    stem = re.sub(r"\.(gz|zst|gzip)$", "", path.lower())
    return os.path.splitext(stem)[1]


def kind_of(path: str) -> str:
    """Which of DuckDB's readers a file is for: by its suffix, else by what it begins with."""
    kind = READERS.get(suffix_of(path))
    if kind is not None:
        return kind
    try:
        with open(path, "rb") as file:
            start = file.read(16)
    except OSError as error:
        raise TableError(f"Cannot read {path}: {error.strerror}.") from None
    if start.startswith(b"PAR1"):
        return "parquet"
    return "json" if start.lstrip()[:1] in (b"{", b"[") else "csv"


# Frames


def from_frame(data: Any) -> Source:
    """The rows of a data frame, an Arrow table or stream, a relation, columns or records."""
    import pyarrow as pa

    if hasattr(data, "to_arrow_reader"):  # a relation of DuckDB
        return Source("the relation", arrow_schema(data), lambda: data.to_arrow_reader(BATCH))
    if isinstance(data, pa.RecordBatchReader):
        return Source("the stream", data.schema, lambda: data, once=True)
    if hasattr(data, "schema") and hasattr(data, "to_batches"):  # an Arrow table or dataset
        rows = getattr(data, "num_rows", None)
        return Source("the table", data.schema, data.to_batches, rows)
    table = as_arrow(data)
    return Source("the table", table.schema, table.to_batches, table.num_rows)


def arrow_schema(relation: Any) -> Any:
    with readable("the relation"):
        return relation.limit(0).to_arrow_table().schema


def as_arrow(data: Any) -> Any:
    """An Arrow table of a frame of pandas or Polars, columns by name, records, or an array."""
    import numpy as np
    import pyarrow as pa

    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return from_pandas(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    if hasattr(data, "to_arrow"):
        return data.to_arrow()
    if isinstance(data, Mapping):
        if data and not any(
            hasattr(v, "__len__") and not isinstance(v, str) for v in data.values()
        ):
            data = {name: [value] for name, value in data.items()}  # one row
        if len({str(name) for name in data}) < len(data):
            raise TableError(
                "Two columns have the same name as text, such as 1 and '1'. Rename one."
            )
        names, arrays = list(data), [arrow_column(v, str(k)) for k, v in data.items()]
        if len({len(array) for array in arrays}) > 1:
            sizes = ", ".join(f"{n!r} has {len(a)}" for n, a in zip(names, arrays, strict=True))
            raise TableError(f"The columns are not of one length: {sizes}.")
        return pa.table(dict(zip(map(str, names), arrays, strict=True)))
    if isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        names = list(dict.fromkeys(chain.from_iterable(data)))
        return as_arrow({name: [row.get(name) for row in data] for name in names})
    if hasattr(data, "toarray"):
        raise TableError(
            "A sparse matrix has no columns of different kinds. Use MultinomialNB or BernoulliNB, "
            "or give a data frame."
        )
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise TableError(
            f"Expected a table (a path, a query, a data frame), got {type(data).__name__}."
        )
    array = np.asarray(data)
    if array.ndim != 2:
        raise TableError(
            f"Expected a table, got an array of shape {array.shape}. Expected 2D array: one row "
            "for each row and one column for each column. Reshape your data."
        )
    return pa.table({f"x{j}": arrow_column(array[:, j], f"x{j}") for j in range(array.shape[1])})


def from_pandas(frame: Any) -> Any:
    import pyarrow as pa

    names = [str(name) for name in frame.columns]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise TableError(f"Two columns are called {min(repeated)!r}. Rename one.")
    columns = [arrow_column(frame.iloc[:, j], name) for j, name in enumerate(names)]
    return pa.table(dict(zip(names, columns, strict=True)))


def arrow_column(values: Any, name: str) -> Any:
    """A column as Arrow; values of several kinds are told apart as text."""
    import numpy as np
    import pyarrow as pa

    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        try:
            made = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else None
            return pa.array(values) if made is None else made
        except (pa.ArrowException, TypeError, ImportError):
            pass
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    from genus.labels import is_missing

    items = np.asarray(values, dtype=object).tolist()
    try:
        return pa.array([None if is_missing(item) else item for item in items])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        kinds = {type(item).__name__ for item in items if not is_missing(item)}
        if kinds <= {"str", "int", "float", "bool"}:
            return pa.array([None if is_missing(item) else str(item) for item in items])
        raise TableError(
            f"Column {name!r} holds values of the kinds {', '.join(sorted(kinds))}. Make them all "
            "numbers or all text, or leave the column out."
        ) from None


# Errors


def shortened(text: str, most: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


class readable:
    """Says in a sentence what DuckDB or Arrow could not read, instead of their own errors."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None or not isinstance(error, Exception) or isinstance(error, TableError):
            return
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb", "pyarrow"):
            return
        raise TableError(f"Cannot read {self.name}: {explained(str(error))}") from None


def explained(message: str) -> str:
    """The sentence in a message of DuckDB, and what to do about it."""
    flat = " ".join(message.split())
    flat = re.sub(r"^[A-Za-z ]*Error: ", "", flat)
    columns = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", flat)
    line = re.search(r"CSV Error on Line: (\d+)", flat)
    where = f" in line {line[1]}" if line else ""
    if columns and line:
        return (
            f"line {line[1]} has {columns[2]} fields where {columns[1]} are expected. Mend the "
            "line, or quote fields that hold the delimiter."
        )
    if re.search(r"maximum line size", flat, re.I):
        return (
            f"a line{where} is longer than 2 MB. Is a quote not closed? Parquet has no such limit."
        )
    if "httpfs" in flat or "http://" in flat or "https://" in flat:
        return "it names an address, and genus reads files. Download them first."
    if re.search(r"unicode|not utf-8|utf-?8 encoded", flat, re.I):
        return (
            f"it is not UTF-8{where}. Say how it is encoded, such as --encoding latin-1 "
            '(encoding="latin-1"), or convert it with iconv.'
        )
    kept = re.split(
        r" Possible (?:fixes|solutions)| Original Line|LINE \d+:|\* |File \"| Candidate", flat
    )[0]
    kept = kept.strip().rstrip(".")
    return f"{kept[:1].lower()}{kept[1:]}."[:400]
