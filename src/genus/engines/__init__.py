"""Engines count rows where they are: in this process, in Spark, Dask or Ray, or in a database.

An engine runs a function on every partition of a frame and collects the results. It is independent
of classifiers: the functions that it runs decide what is counted and how parts are merged. A
database runs no functions: it sums numbers and counts values by class, or its rows are read here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol

from genus.table import Source, TableError, open_table
from genus.table.read.sources import repeated_in

ENGINES = {"pyspark": "spark", "dask": "dask", "ray": "ray"}
FAN_IN = 16  # parts that are merged at a time
TARGET = "y"  # the column of the labels that come with an array


@dataclass(frozen=True, eq=False)
class Rows:
    """The Arrow batches of a partition, and its name in messages.

    `before` returns the number to add to row numbers in messages. If the partition is a piece of a
    file, it is the number of rows in the file before the piece.
    """

    name: str
    batches: Iterable[Any]
    before: Callable[[], int] = int  # int() is 0

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)


Work = Callable[[Rows], list[bytes]]
Add = Callable[[Iterable[bytes]], bytes]
Finish = Callable[[bytes], bytes]
Score = Callable[[Any], Any]  # takes an Arrow batch, and returns one with more columns


class Engine(Protocol):
    """A partitioned frame in another program: its columns, and its name in messages."""

    name: str

    @property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        ...

    @property
    def partitions(self) -> int:
        """The approximate number of partitions."""
        ...

    def beginnings(self, rows: int) -> Engine:
        """Return an engine for the first rows of every partition, at least this many of each."""
        ...

    def run(self, work: Work) -> Iterator[bytes]:
        """Yield the results of `work` for all partitions, in any order."""
        ...

    def total(self, work: Work, add: Add) -> bytes:
        """Merge the results of `work` for all partitions, inside the engine.

        `work` returns one part for each partition.
        """
        ...

    def totals(self, work: Work, add: Add, finish: Finish, shards: int) -> list[bytes]:
        """Return `shards` sums: of the first parts that `work` returns, of the second, and so on.

        `work` returns this many parts for each partition. `finish` runs on each sum where it was
        merged, so that only its result is sent here.
        """
        ...

    def map(self, score: Score, schema: Any) -> Any:
        """Return a frame of the same kind with the rows that `score` returns for each batch."""
        ...


def open_rows(data: Any, texts: Collection[str] = ()) -> Source | Engine:
    """Open a table: return a source to read here, or an engine that holds the rows.

    The columns `texts` are read as they are written. `data` may also be a pair of an array and its
    labels, both held by an engine.
    """
    if package(data) == "ibis":
        from genus.engines.database import Database

        return replace(open_table(data), grouped=Database(data))
    module = ENGINES.get(package(data[0] if isinstance(data, tuple) else data))
    if module is None:
        return open_table(data, texts=texts)
    engine: Engine = import_module(f"genus.engines.{module}").opened(data)
    names = list(engine.schema.names)
    repeated = repeated_in(names)
    if repeated:
        raise TableError(f"{engine.name} has two columns {min(repeated)!r}. Rename one.")
    return engine


def is_elsewhere(data: Any) -> bool:
    """Return whether another program holds the rows of a frame."""
    return package(data) in ENGINES


def package(data: Any) -> str:
    """Return the package that defines the type of an object."""
    return type(data).__module__.partition(".")[0]
