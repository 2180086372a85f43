"""Open anything that holds a table."""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from genus.arrays import arrow
from genus.arrays.options import warn
from genus.table.read.databases import from_server, is_server
from genus.table.read.files import SQL, encoding_named, files_of, from_files, from_query, split_part
from genus.table.read.formats import READERS, kind_of, suffix_of
from genus.table.read.objects import from_frame, is_stream
from genus.table.read.sources import Source, TableError, fitted


def open_table(data: Any, encoding: str = "utf-8", texts: Collection[str] = ()) -> Source:
    """Open a table: a path, a glob, a folder, several of them, a query or a data frame.

    The columns `texts` are read as they are written. Otherwise a CSV file decides by all its values
    whether a column holds numbers, dates or text, so 3.10 may become 3.1.
    """
    return opened(data, encoding, texts).as_written(texts)


def opened(data: Any, encoding: str, texts: Collection[str]) -> Source:
    """Open a table; only tables that are joined need to know which columns are `texts`."""
    if isinstance(data, Source):
        return data
    if isinstance(data, str) and is_query(data):
        if encoding_named(encoding) != "utf-8":
            raise TableError(
                f"A query reads its files itself, so the encoding {encoding} is not for it. Give "
                "the path of the file, or name the encoding in the query: read_csv('FILE', "
                "encoding = 'latin-1')."
            )
        return from_query(data)
    if isinstance(data, str) and is_server(data):
        return from_server(data)
    if isinstance(data, str | os.PathLike):
        return from_files([os.fspath(data)], encoding)
    if isinstance(data, Sequence) and data and all(isinstance(d, str | os.PathLike) for d in data):
        return open_several([os.fspath(d) for d in data], encoding, texts)
    return from_frame(data)


def readable_files(
    data: str | os.PathLike[str] | Sequence[Any], encoding: str = "utf-8"
) -> list[str]:
    """Return the files that can be read to their end, and warn about the others.

    `data` is a path, a folder, a glob, or several of them. Every file is read once to find out.

    >>> readable_files("docs/no such*.parquet")
    Traceback (most recent call last):
    genus.table.read.sources.TableError: No file matches 'docs/no such*.parquet'. Check the pattern.
    """
    given = [data] if isinstance(data, str | os.PathLike) else list(data)
    for one in given:
        if isinstance(one, str) and is_query(one):
            raise TableError(
                "Unreadable files cannot be skipped in a query, which reads its files itself. Give "
                "paths, folders or globs."
            )
    sound = []
    for path in (path for one in given for path in files_of(os.fspath(one))):
        try:
            deque(from_files([path], encoding).batches(), maxlen=0)
            sound.append(path)
        except TableError as error:
            warn(f"{path} is left out. {error}")
    if not sound:
        raise TableError(
            "None of the given files can be read; the warnings say why. Give one that can be read."
        )
    return sound


def is_table(data: Any) -> bool:
    """Return whether data names a table, or is an Arrow or database table, stream or lazy frame.

    Return False for data frames and arrays in memory.

    >>> is_table("new.csv"), is_table([[1.0, 2.0]])
    (True, False)
    """
    if isinstance(data, str):
        return names_table(data)
    if isinstance(data, Source | os.PathLike):
        return True
    if type(data).__name__ == "LazyFrame":  # checked by name, because resolving its schema is slow
        return True
    of_arrow = hasattr(data, "schema") and hasattr(data, "to_batches")
    relation = hasattr(data, "to_arrow_reader") or hasattr(data, "to_pyarrow_batches")
    return of_arrow or relation or is_stream(data)


def names_table(data: Any) -> bool:
    """Return whether data is a path, a query, a server's address or an opened source."""
    if not isinstance(data, str):
        return isinstance(data, Source | os.PathLike)
    path, _ = split_part(data)
    known = suffix_of(path) in READERS or os.path.exists(path) or is_server(data)
    return known or glob.has_magic(data) or is_query(data)


def is_query(data: str) -> bool:
    """Return whether a text is SQL, and not the name of a file."""
    return bool(SQL.match(data)) and not os.path.exists(data)


def open_several(data: Sequence[str], encoding: str, texts: Collection[str]) -> Source:
    """Open paths, globs, folders and queries as one table."""
    if not any(is_query(one) or is_server(one) or split_part(one)[1] for one in data):
        kinds = {kind_of(path) for one in data for path in files_of(one)}
        if len(kinds) == 1 or len(data) == 1:
            return from_files(data, encoding)
    return joined([open_table(one, encoding, texts) for one in data])


def joined(sources: Sequence[Source]) -> Source:
    """Open several sources as one table; columns that a source lacks are empty in its rows."""
    name = f"{sources[0].name} and {len(sources) - 1} more"
    schema = schema_of(sources)

    def batches() -> Iterator[Any]:
        for source in sources:
            for batch in source.batches():
                yield fitted(batch, schema)

    rows = [source.rows for source in sources]
    total = None if None in rows else sum(r for r in rows if r is not None)
    return Source(
        name,
        schema,
        batches,
        total,
        any(source.once for source in sources),
        with_text=lambda columns: joined([source.as_written(columns) for source in sources]),
        guessed=frozenset(chain.from_iterable(source.guessed for source in sources)),
    )


def schema_of(sources: Sequence[Source]) -> Any:
    """Return the columns of all sources, with types that hold the values of each.

    Dates in one source and text in another become text, which the plan may read as dates again.
    """
    import pyarrow as pa
    import pyarrow.types as pt

    found: dict[str, tuple[Any, str]] = {}
    for source in sources:
        for field in source.schema:
            known, where = found.get(field.name, (field, source.name))
            try:
                both = pa.unify_schemas(
                    [pa.schema([known]), pa.schema([field])], promote_options="permissive"
                ).field(0)
            except pa.ArrowException:
                kinds = known.type, field.type
                if not all(pt.is_temporal(kind) or arrow.is_text(kind) for kind in kinds):
                    raise TableError(
                        f"Column {field.name!r} is {known.type} in {where} but {field.type} in "
                        f"{source.name}. Use the same type in both, for example with a query that "
                        "casts the column."
                    ) from None
                both = pa.field(field.name, pa.large_string())
            found[field.name] = both, where
    return pa.schema([field for field, _ in found.values()])
