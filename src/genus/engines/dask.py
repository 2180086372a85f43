"""Count and score Dask data frames, arrays and bags with tasks of Dask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from genus.engines import FAN_IN, TARGET, Add, Finish, Rows, Score, Work
from genus.table import TableError, open_table
from genus.table.read.sources import fitted, readable

VECTOR = "x"  # the column that holds the rows of an array


def opened(data: Any) -> DaskPartitions:
    """Open a data frame, a bag of records or texts, or an array, with or without labels.

    An array with labels is a pair X and y; y is rechunked if its chunks do not match those of X.
    """
    if isinstance(data, tuple):
        return DaskPartitions(zipped(*data))
    if hasattr(data, "chunks"):
        return DaskPartitions([row[0] for row in rows_of(data).to_delayed()], array=data)
    if not hasattr(data, "to_delayed"):
        raise TableError(
            f"Expected a Dask data frame, array or bag, got {type(data).__name__}. Give one "
            "of these."
        )
    if hasattr(data, "columns"):
        return DaskPartitions(list(data.to_delayed()), frame=data)
    return DaskPartitions(list(data.to_delayed()), is_bag=True)


@dataclass(frozen=True, eq=False)
class DaskPartitions:
    """Partitions as delayed values, with their frame or array, if there is one.

    In a bag, some records may lack a key that others have; its value is then missing.
    """

    parts: list[Any]
    frame: Any = None
    array: Any = None
    is_bag: bool = False
    name: str = field(default="the Dask collection", init=False)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema: of an empty frame, of the first rows of an array, or of a whole bag."""
        import dask
        import pyarrow as pa

        if self.frame is not None:
            return open_table(self.frame._meta).schema
        if self.is_bag:
            schemas = dask.compute(*map(dask.delayed(schema_of), self.parts))
            found = list(filter(None, schemas))
        else:
            each = (dask.compute(dask.delayed(schema_of)(part))[0] for part in self.parts)
            found = list(islice(filter(None, each), 1))
        if not found:
            raise TableError("The Dask collection has no rows. Give one with rows.")
        try:
            return pa.unify_schemas(found, promote_options="permissive")
        except pa.ArrowException as error:
            raise TableError(
                f"The partitions of the Dask collection have different types: {error}. Give "
                "the values of each key one type."
            ) from None

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.parts)

    def beginnings(self, rows: int) -> DaskPartitions:
        """Return all rows, because a partition is in memory anyway."""
        return self

    def run(self, work: Work) -> Iterator[bytes]:
        """Yield the results of `work` for all partitions."""
        for parts in self._computed(*self._counted(work)):
            yield from parts

    def total(self, work: Work, add: Add) -> bytes:
        """Merge the results of `work` for all partitions, in a tree."""
        parts = [delayed[0] for delayed in self._counted(work)]
        (found,) = self._computed(added_up(parts, add)) if parts else (add([]),)
        return bytes(found)

    def totals(self, work: Work, add: Add, finish: Finish, shards: int) -> list[bytes]:
        """Merge the results of `work` shard by shard, and return the finished sums."""
        import dask

        parts = self._counted(work)
        sums = [added_up([delayed[i] for delayed in parts], add) for i in range(shards)]
        return list(self._computed(*(dask.delayed(finish)(one) for one in sums)))

    def map(self, score: Score, schema: Any) -> Any:
        """Return a frame of the rows that `score` returns; for an array, only the new columns."""
        import dask
        import dask.dataframe

        if self.array is not None:
            return added(rows_of(self.array), score, schema)
        empty = as_pandas(schema.empty_table())
        if self.frame is not None:
            return self.frame.map_partitions(scored_frame, score, meta=empty)
        parts = [dask.delayed(scored_frame)(part, score, self.schema) for part in self.parts]
        return dask.dataframe.from_delayed(parts, meta=empty)

    def _computed(self, *values: Any) -> tuple[Any, ...]:
        import dask

        hint = "If it reads files, genus.readable_files finds those that are damaged."
        try:
            with readable(self.name):
                return tuple(dask.compute(*values))
        except TableError as error:
            unread = str(error).startswith(f"Cannot read {self.name}")
            raise TableError(f"{error} {hint}" if unread else str(error)) from None

    def _counted(self, work: Work) -> list[Any]:
        import dask

        schema = self.schema if self.is_bag else None
        names = (f"partition {i} of {self.name}" for i in range(len(self.parts)))
        named = zip(names, self.parts, strict=True)
        return [dask.delayed(counted)(part, name, work, schema) for name, part in named]


def added_up(parts: list[Any], add: Add) -> Any:
    """Merge delayed parts, a few at a time."""
    import dask

    while len(parts) > 1:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [dask.delayed(add)(group) for group in groups]
    return parts[0]


def counted(part: Any, name: str, work: Work, schema: Any) -> list[bytes]:
    """Run `work` on the batches of a partition; if a schema is given, it decides the columns."""
    return work(Rows(name, table_of(part, schema).to_batches()))


def scored_frame(part: Any, score: Score, schema: Any = None) -> Any:
    """Return a partition as a pandas frame, with its index and the columns that `score` adds."""
    scored = as_pandas(score(table_of(part, schema)))
    if hasattr(part, "index") and hasattr(part, "iloc"):
        scored.index = part.index
    return scored


def added(X: Any, score: Score, schema: Any) -> Any:
    """Return the columns that `score` adds to an array, (m, columns), or (m,) if it adds one."""
    names = [name for name in schema.names if name != VECTOR]
    dtype = scored_block([], score, names, schema).dtype
    if len(names) == 1:
        return X.map_blocks(scored_block, score, names, schema, drop_axis=1, dtype=dtype)
    chunks = (X.chunks[0], (len(names),))
    return X.map_blocks(scored_block, score, names, schema, chunks=chunks, dtype=dtype)


def scored_block(block: Any, score: Score, names: list[str], schema: Any) -> Any:
    """Return the columns that `score` adds to a block, (m, columns), or (m,) if it adds one."""
    import numpy as np

    table = schema.empty_table() if len(block) == 0 else score(table_of(block))
    columns = [table.column(name).to_numpy() for name in names]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def as_pandas(table: Any) -> Any:
    """Convert an Arrow table to a pandas frame with Arrow types."""
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


def table_of(part: Any, schema: Any = None) -> Any:
    """Convert a partition to an Arrow table.

    A partition is a frame, an array with or without labels, a list of records, or a list of texts.
    If a schema is given, it decides the columns of records.
    """
    import numpy as np
    import pyarrow as pa

    if isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], np.ndarray):
        return pa.table({VECTOR: vectors(part[0]), TARGET: pa.array(np.asarray(part[1]))})
    if isinstance(part, np.ndarray):
        return pa.table({VECTOR: vectors(part)})
    if hasattr(part, "iloc"):
        return open_table(part).table()
    records = list(part)
    if not records:
        return pa.table({}) if schema is None else schema.empty_table()
    if isinstance(records[0], str):
        return pa.table({"text": pa.array(records, pa.large_string())})
    table = open_table(records).table()
    if schema is None:
        return table
    return pa.Table.from_batches([fitted(batch, schema) for batch in table.to_batches()], schema)


def vectors(X: Any) -> Any:
    """Convert the rows of an array to one column of vectors."""
    import numpy as np
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(X, dtype=np.float64).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, X.shape[1])


def schema_of(part: Any) -> Any:
    """Return the schema of a partition; None if it has no rows."""
    table = table_of(part)
    return table.schema if table.num_rows else None


def zipped(X: Any, y: Any) -> list[Any]:
    """Return the chunks of an array, each with the chunk of its labels."""
    import dask

    if X.chunks[0] != y.chunks[0]:
        y = y.rechunk((X.chunks[0],)) if X.shape[0] == y.shape[0] else y
    if X.chunks[0] != y.chunks[0]:
        raise TableError(
            f"X has {X.shape[0]} rows but y has {y.shape[0]} labels. Give one label for each row. "
            "If a number is nan, call compute_chunk_sizes() on that array first."
        )
    rows = (row[0] for row in rows_of(X).to_delayed())
    pairs = zip(rows, y.to_delayed().ravel(), strict=True)
    return [dask.delayed(lambda a, b: (a, b))(a, b) for a, b in pairs]


def rows_of(X: Any) -> Any:
    """Rechunk an array so that each chunk has whole rows."""
    if X.ndim != 2:
        raise TableError(
            f"Expected a Dask array with 2 dimensions, rows and columns, got {X.ndim}. Reshape it."
        )
    return X.rechunk({1: -1})
