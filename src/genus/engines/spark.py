"""Count and score Spark frames in Spark's Python workers, as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from genus.engines import FAN_IN, Add, Finish, Rows, Score, Work
from genus.table import TableError
from genus.table.read.sources import BATCH, fitted, readable

PIECE = 128 << 20  # bytes of a file for one task
# With these settings Spark reads files differently from genus, so Spark must read them.
LENIENT = (
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.caseSensitive",
)
Piece = tuple[str, int, int]


def opened(frame: Any) -> SparkFrame:
    """Open a Spark data frame."""
    if not hasattr(frame, "mapInArrow"):
        raise TableError(
            f"Expected a Spark DataFrame, got {type(frame).__name__}. Convert it, such as "
            "with spark.createDataFrame."
        )
    return SparkFrame(frame)


class SparkFrame:
    """A Spark data frame.

    The task of a partition returns one row for each of its parts. However often Spark retries a
    task, it keeps the rows of one attempt only, so nothing is counted twice. Merging needs no
    barrier stage.
    """

    name = "the Spark frame"

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        from pyspark.sql.pandas.types import to_arrow_schema

        try:
            return to_arrow_schema(self.frame.schema)
        except Exception as error:
            raise TableError(f"The Spark frame cannot be converted to Arrow: {error}.") from None

    @cached_property
    def partitions(self) -> int:
        """The number of partitions, or Spark's default if it is unknown."""
        if self.files:
            return len(self.files)
        try:
            return max(int(self.frame.rdd.getNumPartitions()), 1)
        except Exception:  # Spark Connect has no RDDs
            return int(self.frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))

    def beginnings(self, rows: int) -> SparkFrame:
        """Return a frame of the first rows of every partition; if it reads files, of all rows.

        Spark sends all rows of a partition to a worker, even if the worker stops reading, and then
        replaces the worker by another. So Spark itself has to select the rows. Files are read by
        the workers, which can stop early.
        """
        return self if self.files else SparkFrame(first_rows(self.frame, rows))

    def run(self, work: Work) -> Iterator[bytes]:
        """Yield the results of `work` for all partitions."""
        with explained():
            rows = self._parts(work).collect()
        yield from (bytes(row["part"]) for row in rows)

    def total(self, work: Work, add: Add) -> bytes:
        """Merge the results of `work` for all partitions, in a tree."""
        parts, count = self._parts(work), self.partitions
        while count > FAN_IN:
            count = -(-count // FAN_IN)
            parts = parts.repartition(count, "id").mapInArrow(summing(add), SCHEMA)
        with explained():
            found = [bytes(row["part"]) for row in parts.collect()]
        return add(found)

    def totals(self, work: Work, add: Add, finish: Finish, shards: int) -> list[bytes]:
        """Merge the results of `work` shard by shard, and return the finished sums."""
        parts = self._parts(work).groupBy("id").applyInArrow(finishing(add, finish), SCHEMA)
        with explained():
            found = sorted((row["id"], bytes(row["part"])) for row in parts.collect())
        return [part for _, part in found]

    def map(self, score: Score, schema: Any) -> Any:
        """Return a Spark frame of the rows that `score` returns for every batch."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

        known = {field.name: field for field in self.frame.schema.fields}
        fields = [known.get(field.name, field) for field in from_arrow_schema(schema).fields]
        return self.frame.mapInArrow(scoring(score), StructType(fields))

    def _parts(self, work: Work) -> Any:
        if not self.files:
            return self.frame.mapInArrow(counting(work), SCHEMA)
        # One row for each piece, each in its own partition.
        pieces = self.frame.sparkSession.range(0, len(self.files), 1, len(self.files))
        return pieces.mapInArrow(counting(work, reading(self.files, self.schema)), SCHEMA)

    @cached_property
    def files(self) -> list[Piece]:
        """The pieces of Parquet files, if the frame consists of them; otherwise none.

        Workers then read the files themselves, because sending rows to them takes Spark longer than
        counting.
        """
        try:
            settings = self.frame.sparkSession.conf
            if any(settings.get(name) == "true" for name in LENIENT):
                return []
            if not is_bare_parquet(self.frame) or not all(map(is_plain, self.schema.types)):
                return []
            return pieces_of(self.frame.inputFiles())
        except Exception:  # Spark Connect, or a file system that Arrow does not support
            return []


SCHEMA = "id int, part binary"


def first_rows(frame: Any, rows: int) -> Any:
    """Return a frame of the first rows of every partition.

    For limit(rows), Spark limits every partition, and then the rows of all partitions together.
    Only the first of these steps is used here, so that Spark stops reading each partition early.
    If Spark's plans cannot be changed, the rows are filtered by their numbers, and all are read.
    """
    session = frame.sparkSession
    try:
        limits = frame.limit(rows)._jdf.queryExecution().logical()
        if limits.child().getClass().getSimpleName() == "LocalLimit":
            dataset = session._jvm.org.apache.spark.sql.classic.Dataset
            return type(frame)(dataset.ofRows(session._jsparkSession, limits.child()), session)
    except Exception:  # Spark Connect
        pass
    number = "monotonically_increasing_id() & 8589934591"  # in the partition: 33 bits
    return frame.where(f"({number}) < {rows}")


def is_bare_parquet(frame: Any) -> bool:
    """Return whether a frame consists of Parquet files, or some of their columns."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.getClass().getSimpleName() == "Project":
        kept = plan.projectList()
        names = {kept.apply(i).getClass().getSimpleName() for i in range(kept.size())}
        plan = plan.child()
        if names != {"AttributeReference"}:
            return False
    if plan.getClass().getSimpleName() != "LogicalRelation":
        return False
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    return (
        relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
        and relation.location().getClass().getSimpleName() == "InMemoryFileIndex"
        and relation.partitionSchema().length() == 0
    )


def is_plain(kind: Any) -> bool:
    """Return whether Arrow and Spark always read a type in the same way."""
    import pyarrow.types as pt

    number = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind)
    return bool(number or pt.is_string(kind) or pt.is_large_string(kind) or pt.is_date32(kind))


def pieces_of(uris: list[str]) -> list[Piece]:
    """Divide files into pieces of about PIECE bytes.

    A piece is the URI of its file, its number in the file, from 0, and the number of pieces.
    """
    from pyarrow import fs

    found: list[Piece] = []
    for uri in uris:
        system, path = fs.FileSystem.from_uri(uri)
        count = max(1, -(-system.get_file_info(path).size // PIECE))
        found += [(uri, i, count) for i in range(count)]
    return found


def reading(pieces: list[Piece], schema: Any) -> Callable[[Iterable[Any]], Rows]:
    """Return a function that returns the rows of a piece, given batches that hold its number."""

    def rows_of(numbers: Iterable[Any]) -> Rows:
        # Spark reuses a worker only if it has read all of its input, so read all numbers.
        (own,) = (number for batch in numbers for number in batch.column("id").to_pylist())
        piece = pieces[own]
        return Rows(piece[0], batches_of_piece(piece, schema), lambda: rows_before(piece))

    return rows_of


@contextmanager
def groups_of(piece: Piece) -> Iterator[tuple[Any, range]]:
    """Open the Parquet file of a piece; yield it with the row groups of the piece."""
    import pyarrow.parquet as pq
    from pyarrow import fs

    uri, number, pieces = piece
    system, path = fs.FileSystem.from_uri(uri)
    with readable(uri), pq.ParquetFile(system.open_input_file(path)) as file:
        count = file.num_row_groups
        yield file, range(number * count // pieces, (number + 1) * count // pieces)


def rows_before(piece: Piece) -> int:
    """Return the number of the file's rows before a piece."""
    if piece[1] == 0:
        return 0
    with groups_of(piece) as (file, groups):
        return sum(file.metadata.row_group(group).num_rows for group in range(groups.start))


def batches_of_piece(piece: Piece, schema: Any) -> Iterator[Any]:
    """Yield the batches of a piece of a Parquet file."""
    with groups_of(piece) as (file, groups):
        # By default, Spark ignores the case of names.
        named = {name.lower(): name for name in schema.names}
        own = [name for name in file.schema_arrow.names if name.lower() in named]
        if len(set(map(str.lower, own))) < len(own):
            raise TableError(f"{piece[0]} has columns whose names differ only in case. Rename one.")
        for batch in file.iter_batches(BATCH, list(groups), own) if groups else ():
            names = [named[name.lower()] for name in batch.schema.names]
            yield fitted(batch.rename_columns(names), schema)


def of_partition(batches: Iterable[Any]) -> Rows:
    """Return the rows that Spark gives to a worker."""
    return Rows(f"partition {partition_number()} of {SparkFrame.name}", batches)


def counting(work: Work, opened: Callable[[Iterable[Any]], Rows] = of_partition) -> Any:
    """Return the function that Spark runs on a partition; it yields one row for each part.

    Parts are numbered; a single part gets the number of the partition.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        parts = work(opened(batches))
        first = partition_number() if len(parts) == 1 else 0
        yield from (row(first + i, part) for i, part in enumerate(parts))

    return run


def summing(add: Add) -> Any:
    """Return the function that Spark runs to merge the parts of several partitions."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        parts = [part for batch in batches for part in batch.column("part").to_pylist()]
        if parts:
            yield row(partition_number(), add(parts))

    return run


def finishing(add: Add, finish: Finish) -> Any:
    """Return the function that Spark runs to merge parts of the same number and finish the sum."""

    def run(parts: Any) -> Any:
        import pyarrow as pa

        total = finish(add(parts.column("part").to_pylist()))
        return pa.Table.from_batches([row(parts.column("id")[0].as_py(), total)])

    return run


def partition_number() -> int:
    """Return the number of the partition that this Spark worker processes."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def scoring(score: Score) -> Any:
    """Return the function that Spark runs to score the batches of a partition."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield from score(batch).to_batches()

    return run


def row(number: int, part: bytes) -> Any:
    import pyarrow as pa

    return pa.record_batch([pa.array([number], pa.int32()), pa.array([part])], ["id", "part"])


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of Spark's workers into errors that say what to do."""
    try:
        yield
    except Exception as error:
        told = str(error)
        if "No module named 'genus'" in told or "ModuleNotFoundError: genus" in told:
            raise TableError(
                "genus is not installed for Spark's workers. Install it in their Python, or "
                "send it along (spark.archives)."
            ) from None
        raise
