"""A folder of parts, so that counting that was interrupted goes on where it was.

    plan.genus          the classifier before it has counted anything: how columns are read
    HASH.genus          what was counted of a partition, named by a hash of the partition
    HASH.rows           how many rows were read for it

A part is written whole or not at all, and a partition is known by its file, size, time of change
and row groups. So what is in the folder is right at any moment, and a part that is there is never
counted again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from genus.persistence.atomic import write_whole
from genus.persistence.loading import load
from genus.persistence.locks import holding
from genus.table import Source
from genus.table.read.sources import Partition

PLAN, LOCK, PART, ROWS = "plan.genus", "lock", ".genus", ".rows"
MOST_PARTS = 1024


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A folder that keeps the parts of a source, one for each of its partitions."""

    folder: Path
    partitions: Sequence[Partition]

    @classmethod
    @contextmanager
    def opened(cls, folder: str | os.PathLike[str], source: Source) -> Iterator[Checkpoint]:
        """Open a folder, or make it; raise if another process works with it."""
        if source.divided is None:
            raise ValueError(
                f"{source.name} cannot be read part by part and known again, so that there is "
                "nothing to keep in a checkpoint. Give files, or leave checkpoint= out."
            )
        path = Path(folder)
        if path.exists() and not path.is_dir():
            raise ValueError(f"checkpoint={os.fspath(folder)!r} is a file. Give a folder.")
        path.mkdir(parents=True, exist_ok=True)
        with holding(path / LOCK) as held:
            if not held:
                raise ValueError(
                    f"Another process is working with the checkpoint {os.fspath(folder)!r}. Wait "
                    "for it, or give another folder."
                )
            yield cls(path, grouped(source.partitions))

    def plan(self, estimator: Any) -> Any:
        """The classifier whose plan the parts were counted by; None in a new folder."""
        path = self.folder / PLAN
        if not path.exists():
            if any(self.folder.glob(f"*{PART}")):
                raise ValueError(
                    f"{self.folder} holds models, and no checkpoint. Give another folder."
                )
            return None
        kept = load(path)
        self._compare(kept, estimator)
        return kept

    def begin(self, empty: Any, target: str) -> None:
        """Keep the plan, or raise if there is another; and if there are parts of other data."""
        path = self.folder / PLAN
        if path.exists():
            kept = load(path)
            self._compare(kept, empty)
            if kept._target != target:
                raise ValueError(
                    f"The checkpoint {self.folder} is for the target {kept._target!r}, not "
                    f"{target!r}. Give another folder."
                )
            if kept.model_.family.counting != empty.model_.family.counting:
                raise ValueError(
                    f"The checkpoint {self.folder} was counted by another plan. Give another "
                    "folder, or remove it to count all rows again."
                )
        else:
            empty.save(path)
        known = {self._name(partition) for partition in self.partitions}
        other = sorted(p for p in self.folder.glob(f"*{ROWS}") if p.stem not in known)
        if other:
            told = other[0].read_text().partition("\n")[2].strip()
            raise ValueError(
                f"The checkpoint {self.folder} holds a part of other data: {told}. The data has "
                "changed, or is not the same. Give another folder, or remove it to count all rows "
                "again."
            )

    def find(self, partition: Partition) -> tuple[Any, int] | None:
        """The part of a partition and its number of rows; None if it has to be counted."""
        rows, part = (self.folder / (self._name(partition) + end) for end in (ROWS, PART))
        if not (rows.exists() and part.exists()):
            return None
        try:
            return load(part), int(rows.read_text().partition("\n")[0])
        except ValueError:  # damaged since it was written: it is counted again
            return None

    def keep(self, partition: Partition, part: Any, rows: int) -> None:
        """Write what was counted of a partition; its number of rows comes last and completes it."""
        name = self._name(partition)
        write_whole(self.folder / (name + PART), part.to_bytes())
        write_whole(self.folder / (name + ROWS), f"{rows}\n{partition.name}\n".encode())

    def clear(self) -> None:
        """Remove the plan and all parts, to begin again by another plan."""
        kept = [*self.folder.glob(f"*{ROWS}"), *self.folder.glob(f"*{PART}")]
        for path in sorted(kept, key=lambda path: path.name == PLAN):  # the plan is the last to go
            path.unlink()

    def _name(self, partition: Partition) -> str:
        return hashlib.blake2b(partition.name.encode(), digest_size=12).hexdigest()

    def _compare(self, kept: Any, other: Any) -> None:
        if type(kept) is not type(other) or kept.get_params() != other.get_params():
            raise ValueError(
                f"The checkpoint {self.folder} is of {kept}, and not of {other}. Give another "
                "folder."
            )


def grouped(partitions: Sequence[Partition]) -> Sequence[Partition]:
    """The partitions, some of them together if they are very many."""
    size = -(-len(partitions) // MOST_PARTS)
    if size <= 1:
        return partitions
    runs = [partitions[i : i + size] for i in range(0, len(partitions), size)]
    return [together(run) for run in runs]


def together(partitions: Sequence[Partition]) -> Partition:
    """Several partitions as one."""
    name = "; ".join(partition.name for partition in partitions)
    opened = [partition.opened for partition in partitions]
    return Partition(name, lambda: chain.from_iterable(one() for one in opened))
