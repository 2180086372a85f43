"""Read tables in memory: frames, Arrow tables and streams, relations, columns and records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from genus.table.read.sources import (
    BATCH,
    Partition,
    Source,
    TableError,
    arranged,
    fitted,
    readable,
    repeated_in,
    thinned,
)

UNUSUAL = ("period", "interval")  # types of pandas that Arrow does not have


def from_frame(data: Any) -> Source:
    """Open a data frame, an Arrow table or stream, a relation, columns or records."""
    import pyarrow as pa

    if hasattr(data, "to_arrow_reader"):  # of DuckDB
        return Source("the relation", arrow_schema(data), lambda: data.to_arrow_reader(BATCH))
    if hasattr(data, "to_pyarrow_batches"):  # of Ibis
        return from_ibis(data)
    if type(data).__name__ == "LazyFrame":
        return from_lazy_frame(data)
    if hasattr(data, "schema") and hasattr(data, "to_batches"):  # an Arrow table or dataset
        if hasattr(data, "num_rows"):
            return in_memory(data)
        return Source("the table", data.schema, data.to_batches)
    if is_stream(data):
        with readable("the stream"):
            reader = pa.RecordBatchReader.from_stream(data)
        return Source("the stream", reader.schema, lambda: reader, once=True)
    if isinstance(data, Iterator):
        return from_tables(data)
    return in_memory(as_arrow(data))


def in_memory(table: Any) -> Source:
    """Open an Arrow table; samples are taken from all over it."""
    whole = Partition(
        "the table",
        table.to_batches,
        lambda rows: thinned(table.to_batches(BATCH), rows, table.num_rows),
    )
    return Source("the table", table.schema, table.to_batches, table.num_rows, looked=whole)


def is_stream(data: Any) -> bool:
    """Return whether data is a stream of Arrow batches, which may exceed memory."""
    if not hasattr(data, "__arrow_c_stream__"):
        return False
    in_memory = hasattr(data, "columns") or hasattr(data, "to_batches") or hasattr(data, "__len__")
    return not in_memory


def from_lazy_frame(frame: Any) -> Source:
    """Open a lazy frame of Polars; rows are computed as they are read."""
    with readable("the lazy frame"):
        schema = frame.head(0).collect().to_arrow().schema

    def opened() -> Iterator[Any]:
        for part in frame.collect_batches(chunk_size=BATCH, maintain_order=True):
            yield from part.to_arrow().to_batches()

    return Source("the lazy frame", schema, opened)


def from_tables(tables: Iterator[Any]) -> Source:
    """Open the tables of an iterator as one table; all must have the same columns.

    Each table keeps its types, because a column may be empty or hold integers in some of them.
    """
    first = next(tables, None)
    if first is None:
        raise TableError("There are no tables to read: the iterator was empty. Give a table.")
    start = from_frame(first)

    def opened() -> Iterator[Any]:
        yield from start.opened()
        for at, table in enumerate(tables, 2):
            source = from_frame(table)
            if set(source.columns) != set(start.columns):
                other = sorted(set(source.columns) ^ set(start.columns))[0]
                raise TableError(
                    f"Table {at} of the iterator differs from the first: only one of them has "
                    f"the column {other!r}. Give tables with the same columns."
                )
            yield from (arranged(batch, start.columns) for batch in source.opened())

    return Source("the iterator", start.schema, opened, once=True)


def from_ibis(table: Any) -> Source:
    """Open a table of Ibis; rows are streamed from the database."""
    schema = ibis_schema(table)

    def opened() -> Iterator[Any]:
        backend = table.get_backend()
        if backend.name == "duckdb":
            # Ibis 12 reads batches with a method that DuckDB 2 lacks. DuckDB learns of tables in
            # memory through Ibis's other methods, so call one of them first.
            table.limit(0).to_pyarrow()
            batches = backend.con.sql(backend.compile(table)).to_arrow_reader(BATCH)
        else:
            batches = table.to_pyarrow_batches(chunk_size=BATCH)
        return (fitted(batch, schema) for batch in batches)

    return Source("the table", schema, opened)


def ibis_schema(table: Any) -> Any:
    import pyarrow as pa

    fields = []
    for name, kind in table.schema().items():
        try:
            fields.append(pa.field(name, kind.to_pyarrow()))
        except Exception:
            raise TableError(
                f"Column {name!r} of the table holds {kind}, which Arrow cannot represent. "
                f"Leave it out: table.drop({name!r})."
            ) from None
    return pa.schema(fields)


def arrow_schema(relation: Any) -> Any:
    with readable("the relation"):
        return relation.limit(0).to_arrow_table().schema


def as_arrow(data: Any) -> Any:
    """Convert a pandas or Polars frame, columns by name, records or an array to an Arrow table."""
    import numpy as np
    import pyarrow as pa

    if hasattr(data, "toarray"):
        raise TableError(
            "A sparse matrix cannot hold columns of different kinds. Use MultinomialNB or "
            "BernoulliNB, or give a data frame."
        )
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
            data = {name: [value] for name, value in data.items()}  # a single row
        if len({str(name) for name in data}) < len(data):
            raise TableError("Two column names are equal as text, such as 1 and '1'. Rename one.")
        names, arrays = list(data), [arrow_column(v, str(k)) for k, v in data.items()]
        if len({len(array) for array in arrays}) > 1:
            sizes = ", ".join(f"{n!r} has {len(a)}" for n, a in zip(names, arrays, strict=True))
            raise TableError(
                f"The columns have different lengths: {sizes}. Give columns of one length."
            )
        return pa.table(dict(zip(map(str, names), arrays, strict=True)))
    if isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        names = list(dict.fromkeys(chain.from_iterable(data)))
        return as_arrow({name: [row.get(name) for row in data] for name in names})
    if isinstance(data, str | bytes) or not (
        isinstance(data, Iterable) or hasattr(data, "__array__")
    ):
        raise TableError(
            f"Expected a table (a path, a query, a data frame), got {type(data).__name__}."
        )
    array = np.asarray(data)
    if array.ndim != 2:
        raise TableError(
            f"Got an array of shape {array.shape}. Expected 2D array: one row for each example and "
            "one column for each feature. Reshape your data."
        )
    if array.shape[1] == 0:
        raise TableError(
            f"The array has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required. "
            "Give at least one column."
        )
    if np.iscomplexobj(array):
        raise TableError("Complex data not supported. Give the real and imaginary parts.")
    names = array_names(array.shape[1])
    return pa.table({name: arrow_column(array[:, j], name) for j, name in enumerate(names)})


def array_names(width: int) -> list[str]:
    """Return the names of the columns of an array.

    >>> array_names(2)
    ['x0', 'x1']
    """
    return [f"x{j}" for j in range(width)]


def from_pandas(frame: Any) -> Any:
    import pyarrow as pa

    names = [str(name) for name in frame.columns]
    if not names:
        raise TableError(f"The table of {len(frame):,} rows has no columns. Give some.")
    repeated = repeated_in(names)
    if repeated:
        raise TableError(f"Two columns are named {min(repeated)!r}. Rename one.")
    columns = [arrow_column(plain_series(frame.iloc[:, j]), n) for j, n in enumerate(names)]
    return pa.table(dict(zip(names, columns, strict=True)))


def plain_series(series: Any) -> Any:
    """Convert periods of pandas to dates, and intervals and categories of either to text."""
    kind = series.dtype
    categories = getattr(kind, "categories", None)
    if categories is not None and categories.dtype.name.startswith(UNUSUAL):
        return series.cat.rename_categories(categories.astype(str))
    if kind.name.startswith(UNUSUAL[0]):
        return series.dt.to_timestamp()
    if kind.name.startswith(UNUSUAL[1]):
        return series.astype(str).where(series.notna(), None)
    return series


def arrow_column(values: Any, name: str) -> Any:
    """Convert a column to Arrow; values of several types become text."""
    import numpy as np
    import pyarrow as pa

    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        try:
            made = pa.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else None
            return pa.array(values) if made is None else made
        except (pa.ArrowException, TypeError, OverflowError, ImportError):
            pass
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    from genus.arrays.labels import is_missing

    items = np.asarray(values, dtype=object).tolist()
    try:
        return pa.array([None if is_missing(item) else item for item in items])
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        kinds = {type(item).__name__ for item in items if not is_missing(item)}
        if kinds <= {"str", "int", "float", "bool"}:
            return pa.array([None if is_missing(item) else str(item) for item in items])
        raise TableError(
            f"Column {name!r} holds values of the types {', '.join(sorted(kinds))}. Make them "
            "all numbers or all text, or leave the column out."
        ) from None
