"""Count and score Ray datasets, block by block, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from genus.engines import FAN_IN, Add, Finish, Rows, Score, Work
from genus.table import TableError


def opened(dataset: Any) -> RayDataset:
    """Open a Ray dataset."""
    if not hasattr(dataset, "map_batches"):
        raise TableError(
            f"Expected a Ray Dataset, got {type(dataset).__name__}. Convert it, for "
            "example with ray.data.from_arrow."
        )
    return RayDataset(dataset)


class RayDataset:
    """A Ray dataset; a lost block is computed again, but its part is merged only once."""

    name = "the Ray dataset"

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        import pyarrow as pa

        found = self.dataset.schema()
        if found is None:
            raise TableError("The Ray dataset has no rows. Give one with rows.")
        base = found.base_schema
        if isinstance(base, pa.Schema):
            return base
        return pa.schema(list(zip(found.names, found.types, strict=True)))

    @cached_property
    def partitions(self) -> int:
        """The approximate number of blocks."""
        try:
            return max(int(self.dataset.num_blocks()), 1)
        except Exception:  # unknown until the dataset is computed
            return 64

    def beginnings(self, rows: int) -> RayDataset:
        """Return all rows, because blocks are in memory anyway."""
        return self

    def run(self, work: Work) -> Iterator[bytes]:
        """Yield the results of `work` for all blocks."""
        yield from parts_of(self._parts(work))

    def total(self, work: Work, add: Add) -> bytes:
        """Merge the results of `work` for all blocks, a few at a time."""
        parts = self._parts(work).map_batches(
            summing(add), batch_format="pyarrow", batch_size=FAN_IN
        )
        return add(parts_of(parts))

    def totals(self, work: Work, add: Add, finish: Finish, shards: int) -> list[bytes]:
        """Merge the results of `work` shard by shard, and return the finished sums."""
        sums = self._parts(work).groupby("id")
        finished = sums.map_groups(finishing(add, finish), batch_format="pyarrow")
        return list(parts_of(finished.sort("id")))

    def map(self, score: Score, schema: Any) -> Any:
        """Return a dataset of the rows that `score` returns for every block."""
        return self.dataset.map_batches(score, batch_format="pyarrow", batch_size=None)

    def _parts(self, work: Work) -> Any:
        return self.dataset.map_batches(counting(work), batch_format="pyarrow", batch_size=None)


def counting(work: Work) -> Any:
    """Return the function that Ray runs on a block; it returns a numbered row for each part."""
    name = f"a block of {RayDataset.name}"
    return lambda table: as_table(work(Rows(name, table.to_batches())))


def summing(add: Add) -> Any:
    """Return the function that Ray runs to merge some parts."""
    return lambda table: as_table([add(table.column("part").to_pylist())])


def finishing(add: Add, finish: Finish) -> Any:
    """Return the function that Ray runs on the parts of one shard: merge them, finish the sum."""

    def run(table: Any) -> Any:
        total = finish(add(table.column("part").to_pylist()))
        return as_table([total], table.column("id")[0].as_py())

    return run


def as_table(parts: list[bytes], first: int = 0) -> Any:
    """Return parts as rows, numbered from `first` on."""
    import pyarrow as pa

    numbers = pa.array(range(first, first + len(parts)), pa.int64())
    return pa.table({"id": numbers, "part": pa.array(parts, pa.large_binary())})


def parts_of(dataset: Any) -> Iterator[bytes]:
    """Yield the parts in the rows of a dataset."""
    for batch in dataset.iter_batches(batch_format="pyarrow", batch_size=None):
        yield from batch.column("part").to_pylist()
