"""Where rows are counted: in this process, or where Spark, Dask, Ray or a database keeps them.

An engine runs a function on every partition of a frame and brings back what it returns. It knows
no classifier: what is counted, and how parts add up, is in the functions that it is given. A
database runs no functions: it adds up numbers and counts values by class, and lets rows be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol

from genus.table import Source, TableError, open_table
from genus.table.read.sources import repeated_in

ENGINES = {"pyspark": "spark", "dask": "dask", "ray": "ray"}
FAN_IN = 16  # parts that are added at a time
TARGET = "y"  # the column of labels that are given beside an array

Work = Callable[[Iterable[Any]], list[bytes]]  # of the Arrow batches of a partition
Add = Callable[[Iterable[bytes]], bytes]
Finish = Callable[[bytes], bytes]
Score = Callable[[Any], Any]  # of an Arrow batch, to one with more columns


class Engine(Protocol):
    """A frame that another program keeps in partitions: what messages call it, and its columns."""

    name: str

    @property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        ...

    @property
    def partitions(self) -> int:
        """About how many partitions there are."""
        ...

    def beginnings(self, rows: int) -> Engine:
        """Return the first so many rows of every partition, or more of them."""
        ...

    def run(self, work: Work) -> Iterator[bytes]:
        """Yield what `work` returns for every partition, in any order."""
        ...

    def total(self, work: Work, add: Add) -> bytes:
        """Return the sum of what `work` returns for every partition, added where the rows are.

        `work` returns one part.
        """
        ...

    def totals(self, work: Work, add: Add, finish: Finish, shards: int) -> list[bytes]:
        """Return the sum of the first parts that `work` returns, of the second, and so on.

        Every partition returns `shards` parts. `finish` is run on each sum where it was added, so
        that only what it returns is sent here.
        """
        ...

    def map(self, score: Score, schema: Any) -> Any:
        """Return a frame of the same kind, of the rows that `score` returns for every batch."""
        ...


def open_rows(data: Any) -> Source | Engine:
    """Open whatever holds a table: a source to be read here, or the engine that keeps its rows.

    A pair is an array and its labels, both of which an engine keeps.
    """
    if package(data) == "ibis":
        from genus.engines.database import Database

        return replace(open_table(data), grouped=Database(data))
    module = ENGINES.get(package(data[0] if isinstance(data, tuple) else data))
    if module is None:
        return open_table(data)
    engine: Engine = import_module(f"genus.engines.{module}").opened(data)
    names = list(engine.schema.names)
    repeated = repeated_in(names)
    if repeated:
        raise TableError(f"{engine.name} has two columns {min(repeated)!r}. Rename one.")
    return engine


def is_elsewhere(data: Any) -> bool:
    """Return whether another program keeps the rows of a frame."""
    return package(data) in ENGINES


def package(data: Any) -> str:
    """Return the package that the type of an object is from."""
    return type(data).__module__.partition(".")[0]
