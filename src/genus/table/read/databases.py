"""Read tables and queries of databases: SQLite and DuckDB files, and PostgreSQL.

Rows are streamed, and nothing is written. Tables of Ibis can also be counted inside their database
(`genus.engines.database`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from genus.table.read.formats import Files
from genus.table.read.packing import listed, stamp
from genus.table.read.sources import BATCH, Partition, Source, TableError, readable

SQL = re.compile(r"\s*(\(\s*)*(select|with|values|table)\b.*\s", re.I | re.S)
POSTGRES = re.compile(r"^postgres(ql)?://", re.I)


def is_server(data: str) -> bool:
    """Return whether a text is the address of a database server that can be read.

    >>> is_server("postgresql://localhost/shop#orders"), is_server("orders.csv")
    (True, False)
    """
    return bool(POSTGRES.match(data))


def query_of(
    part: str,
    name: str,
    tables: Callable[[], Sequence[str]],
    quoted: Callable[[str], str],
) -> str:
    """Return the SELECT for a part of a database: a query, a named table, or the only table."""
    if SQL.match(part):
        return part.strip().rstrip(";")
    found = list(tables())
    if not found:
        raise TableError(f"{name} holds no table. Give a database with a table.")
    if not part and len(found) > 1:
        raise TableError(
            f"{name} holds the tables {listed(found)}. Name one, such as {name}#{found[0]}."
        )
    if part and part not in found:
        raise TableError(f"{name} has no table {part!r}. It has {listed(found)}.")
    return f"SELECT * FROM {quoted(part or found[0])}"


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def dotted(name: str) -> str:
    """Quote the name of a table, with or without its schema, for SQL."""
    return ".".join(map(identifier, name.split(".", 1)))


def one_file(files: Files) -> str:
    if len(files.paths) > 1:
        raise TableError(
            f"{files.name} names several databases. Give a list of paths that each name a table, "
            "as FILE#TABLE."
        )
    return files.paths[0]


# SQLite


def sqlite_files(files: Files) -> Source:
    """Open a table or query of a SQLite file; a first scan finds the column types."""
    import sqlite3

    import pyarrow as pa

    path = one_file(files)
    address = f"{Path(path).absolute().as_uri()}?mode=ro"

    def connected() -> Any:
        return closing(sqlite3.connect(address, uri=True, check_same_thread=False))

    def tables() -> list[str]:
        listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND "
        with connected() as database:
            return [n for (n,) in database.execute(f"{listing} name NOT LIKE 'sqlite_%'")]

    with readable(files.name):
        query = query_of(files.part, path, tables, identifier)
        with connected() as database:
            names = [d[0] for d in database.execute(f"SELECT * FROM ({query}) LIMIT 0").description]
            held = (f"group_concat(DISTINCT typeof({identifier(name)}))" for name in names)
            counted = ", ".join(["count(*)", *held])
            (rows, *kinds) = database.execute(f"SELECT {counted} FROM ({query})").fetchone()
    types = [sqlite_type(set((kind or "null").split(","))) for kind in kinds]
    schema = pa.schema(list(zip(names, types, strict=True)))

    def opened() -> Iterator[Any]:
        with connected() as database:
            yield from arrow_batches(database.execute(query), schema)

    whole = Partition(f"{stamp(path)}, {query}", opened)
    return Source(files.name, schema, opened, rows, divided=lambda: [whole])


def sqlite_type(kinds: set[str]) -> Any:
    """Return the Arrow type that can hold values of these kinds."""
    import pyarrow as pa

    kinds = kinds - {"null"}
    if not kinds:
        return pa.null()
    if kinds <= {"integer", "real"}:
        return pa.int64() if kinds == {"integer"} else pa.float64()
    return pa.binary() if kinds == {"blob"} else pa.string()


def arrow_batches(cursor: Any, schema: Any) -> Iterator[Any]:
    """Yield the rows of a cursor as Arrow batches."""
    import pyarrow as pa

    while rows := cursor.fetchmany(min(BATCH, 1 << 14)):
        columns = zip(*rows, strict=True)
        yield pa.record_batch(
            [array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema=schema
        )


def array(values: Sequence[Any], kind: Any) -> Any:
    """Convert values to an Arrow array; in columns of text, other values become text."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_string(kind):
        return pa.array([v if v is None or isinstance(v, str) else str(v) for v in values], kind)
    if pt.is_floating(kind):
        return pa.array([None if v is None else float(v) for v in values], kind)
    return pa.array(values, kind)


# DuckDB


def duckdb_files(files: Files) -> Source:
    """Open a table or query of a DuckDB file."""
    import duckdb

    path = one_file(files)
    with readable(files.name):
        database = duckdb.connect(path, read_only=True)
        listing = "SELECT table_name FROM information_schema.tables"
        names = [n for (n,) in database.execute(listing).fetchall()]
        query = query_of(files.part, path, lambda: names, identifier)
        found = database.sql(f"SELECT * FROM ({query}) LIMIT 0").to_arrow_table()

    def opened() -> Any:
        return database.cursor().sql(query).to_arrow_reader(BATCH)

    whole = Partition(f"{stamp(path)}, {query}", opened)
    return Source(files.name, found.schema, opened, divided=lambda: [whole])


# PostgreSQL

BY_OID = {
    16: "bool_",
    20: "int64",
    21: "int64",
    23: "int64",
    700: "float64",
    701: "float64",
    1700: "float64",
    1082: "date32",
}
LISTED = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
"""


def from_server(address: str) -> Source:
    """Open a table or query of PostgreSQL: postgresql://HOST/DATABASE#TABLE, or #SELECT …"""
    url, _, part = address.partition("#")
    try:
        import psycopg
    except ImportError:
        raise TableError(
            "To read PostgreSQL, install genus[postgres]: pip install 'genus[postgres]'."
        ) from None
    name = re.sub(r"//[^@/]*@", "//", url)  # the password is left out

    def connected() -> Any:
        made = psycopg.connect(url)
        made.read_only = True
        return made

    def tables() -> list[str]:
        with connected() as database:
            found = database.execute(LISTED).fetchall()
        return [t if s == "public" else f"{s}.{t}" for s, t in found]

    told = f"{name}#{part}" if part and not SQL.match(part) else name
    with readable(told):
        query = query_of(part, name, tables, dotted)
        with connected() as database:
            description = database.execute(f"SELECT * FROM ({query}) AS t LIMIT 0").description
    schema = postgres_schema(description)

    def opened() -> Iterator[Any]:
        with connected() as database, database.cursor(name="genus") as cursor:
            cursor.itersize = 1 << 14
            cursor.execute(query)
            yield from arrow_batches(cursor, schema)

    return Source(told, schema, opened)


def postgres_schema(description: Sequence[Any]) -> Any:
    """Return the Arrow schema of a PostgreSQL result; types without a counterpart become text."""
    import pyarrow as pa

    def kind(oid: int) -> Any:
        if oid in (1114, 1184):
            return pa.timestamp("us", tz="UTC" if oid == 1184 else None)
        if oid == 1083:
            return pa.time64("us")
        return getattr(pa, BY_OID.get(oid, "string"))()

    return pa.schema([(column.name, kind(column.type_code)) for column in description])
