"""Datasets of Ray: blocks are counted and scored by its tasks, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from genus.engines import FAN_IN, Add, Finish, Score, Work
from genus.table import TableError


def opened(dataset: Any) -> RayDataset:
    """Return the engine of a dataset of Ray Data."""
    if not hasattr(dataset, "map_batches"):
        raise TableError(
            f"Expected a Ray Dataset, got {type(dataset).__name__}. Make one of it, such as with "
            "ray.data.from_arrow."
        )
    return RayDataset(dataset)


class RayDataset:
    """A dataset of Ray; a block that is lost is made again, and its part is added once."""

    name = "the Ray dataset"

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        import pyarrow as pa

        found = self.dataset.schema()
        if found is None:
            raise TableError("The Ray dataset has no rows.")
        base = found.base_schema
        if isinstance(base, pa.Schema):
            return base
        return pa.schema(list(zip(found.names, found.types, strict=True)))

    @cached_property
    def partitions(self) -> int:
        """About how many blocks there are."""
        try:
            return max(int(self.dataset.num_blocks()), 1)
        except Exception:  # known only when it is computed
            return 64

    def beginnings(self, rows: int) -> RayDataset:
        """Return all rows: blocks are in memory when they are looked at."""
        return self

    def run(self, work: Work) -> Iterator[bytes]:
        """Yield what `work` returns for every block."""
        yield from parts_of(self._parts(work))

    def total(self, work: Work, add: Add) -> bytes:
        """Return the sum of what `work` returns for every block, added some at a time."""
        parts = self._parts(work).map_batches(
            summing(add), batch_format="pyarrow", batch_size=FAN_IN
        )
        return add(parts_of(parts))

    def totals(self, work: Work, add: Add, finish: Finish, shards: int) -> list[bytes]:
        """Return the finished sums of what `work` returns for every block, shard by shard."""
        sums = self._parts(work).groupby("id")
        finished = sums.map_groups(finishing(add, finish), batch_format="pyarrow")
        return list(parts_of(finished.sort("id")))

    def map(self, score: Score, schema: Any) -> Any:
        """Return a dataset of the rows that `score` returns for every block."""
        return self.dataset.map_batches(score, batch_format="pyarrow", batch_size=None)

    def _parts(self, work: Work) -> Any:
        return self.dataset.map_batches(counting(work), batch_format="pyarrow", batch_size=None)


def counting(work: Work) -> Any:
    """What Ray runs for a block: a numbered row for each part that `work` returns."""
    return lambda table: as_table(work(table.to_batches()))


def summing(add: Add) -> Any:
    """What Ray runs to add up some parts."""
    return lambda table: as_table([add(table.column("part").to_pylist())])


def finishing(add: Add, finish: Finish) -> Any:
    """What Ray runs to add up the parts of one number, and to finish their sum."""

    def run(table: Any) -> Any:
        total = finish(add(table.column("part").to_pylist()))
        return as_table([total], table.column("id")[0].as_py())

    return run


def as_table(parts: list[bytes], first: int = 0) -> Any:
    """Parts as rows, which are numbered from the first on."""
    import pyarrow as pa

    numbers = pa.array(range(first, first + len(parts)), pa.int64())
    return pa.table({"id": numbers, "part": pa.array(parts, pa.large_binary())})


def parts_of(dataset: Any) -> Iterator[bytes]:
    """Yield the parts in the rows of a dataset."""
    for batch in dataset.iter_batches(batch_format="pyarrow", batch_size=None):
        yield from batch.column("part").to_pylist()
