"""Datasets of Ray: blocks are counted and scored by its tasks, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from genus.engines import Add, Score, Work
from genus.table import TableError

FAN_IN = 16  # parts that are added at a time


def opened(dataset: Any) -> RayDataset:
    """The engine of a dataset of Ray Data."""
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

    def run(self, work: Work) -> Iterator[bytes]:
        """Yield what `work` returns for every block."""
        for batch in self._parts(work).iter_batches(batch_format="pyarrow", batch_size=None):
            yield from batch.column("part").to_pylist()

    def total(self, work: Work, add: Add) -> bytes:
        """Return the sum of what `work` returns for every block, added some at a time."""
        parts = self._parts(work).map_batches(
            summing(add), batch_format="pyarrow", batch_size=FAN_IN
        )
        found = parts.iter_batches(batch_format="pyarrow", batch_size=None)
        return add(part for batch in found for part in batch.column("part").to_pylist())

    def map(self, score: Score, schema: Any) -> Any:
        """Return a dataset of the rows that `score` returns for every block."""
        return self.dataset.map_batches(score, batch_format="pyarrow", batch_size=None)

    def _parts(self, work: Work) -> Any:
        return self.dataset.map_batches(counting(work), batch_format="pyarrow", batch_size=None)


def counting(work: Work) -> Any:
    """What Ray runs for a block: one row of what `work` returns."""
    return lambda table: as_table([work(table.to_batches())])


def summing(add: Add) -> Any:
    """What Ray runs to add up some parts."""
    return lambda table: as_table([add(table.column("part").to_pylist())])


def as_table(parts: Iterable[bytes]) -> Any:
    import pyarrow as pa

    return pa.table({"part": pa.array(list(parts), pa.large_binary())})
