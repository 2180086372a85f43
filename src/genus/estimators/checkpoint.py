"""Keep the counted parts of a table in a folder, to continue an interrupted count.

    plan.genus          the classifier before it has counted anything: how columns are read
    job                 which columns of a table hold the classes, the weights and the values
    HASH.genus          the counts of a partition, named by a hash of the partition
    HASH.rows           the number of rows that were read from the partition

A part is written completely or not at all, and a partition is identified by its file, size,
modification time and row groups. So the folder is consistent at any moment, and a finished part is
never counted again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from genus.estimators.table_rows import Passed
from genus.persistence.atomic import write_whole
from genus.persistence.loading import load
from genus.persistence.locks import holding
from genus.table import Source
from genus.table.read.sources import Partition

# No name has the suffix of a table, because the folder may be next to the data.
PLAN, JOB, LOCK, PART, ROWS = "plan.genus", "job", "lock", ".genus", ".rows"
NAME = re.compile(r"[0-9a-f]{24}")
STAMP = re.compile(r", \d+ bytes of \d+")  # of a file in the name of a partition
MOST_PARTS = 1024


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A folder that keeps the counts of a source, one part for each of its partitions."""

    folder: Path
    partitions: Sequence[Partition]

    @classmethod
    @contextmanager
    def opened(cls, folder: str | os.PathLike[str], source: Source) -> Iterator[Checkpoint]:
        """Open or create a folder; raise an error if another process uses it."""
        if source.divided is None:
            raise ValueError(
                "A checkpoint needs files, so that a later run can recognise its parts. Got "
                f"{source.name}. Give files, or leave checkpoint= out."
            )
        path = Path(folder)
        if not os.fspath(folder):
            raise ValueError('checkpoint="" is not a folder. Give one, or leave checkpoint= out.')
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
        """Return the classifier with the plan of the parts; None if the folder is new."""
        path = self.folder / PLAN
        if not path.exists():
            if any(self.folder.glob(f"*{PART}")):
                raise ValueError(
                    f"{self.folder} holds model files but no {PLAN}, so it is not a checkpoint. "
                    "Give an empty folder."
                )
            return None
        kept = load(path)
        self._compare(kept, estimator)
        return kept

    def begin(self, empty: Any, reading: Any) -> None:
        """Store the plan; raise an error if the folder has another plan or parts of other data."""
        path, job = self.folder / PLAN, self.folder / JOB
        own = {
            "target": reading.target,
            "sample_weight": reading.weights,
            "columns": None if reading.columns is None else list(reading.columns),
            **empty._plan_options(),
        }
        if path.exists():
            kept = load(path)
            self._compare(kept, empty)
            before = self._job()
            for name, value in own.items():
                if before.get(name) != value:
                    raise ValueError(
                        f"The checkpoint {self.folder} was made with {name}={before.get(name)!r}, "
                        f"but now {name} is {value!r}. Give another folder."
                    )
            if kept.model_.family.counting != empty.model_.family.counting:
                raise ValueError(
                    f"The checkpoint {self.folder} was made with another plan. Give another "
                    "folder, or remove this one to count all rows again."
                )
        else:
            write_whole(job, json.dumps(own).encode())
            empty.save(path)
        known = {self._name(partition) for partition in self.partitions}
        other = [p for p in self._files(ROWS) if p.stem not in known]
        if other:
            told = STAMP.sub("", other[0].read_text().partition("\n")[2].strip())
            raise ValueError(
                f"The checkpoint {self.folder} holds a part that does not belong to this data: "
                f"{told}. Either the data has changed, or the checkpoint was made for other data. "
                "Give another folder, or remove this one to count all rows again."
            )

    def _job(self) -> dict[str, Any]:
        """Return the settings that the parts were made with."""
        try:
            return dict(json.loads((self.folder / JOB).read_text(encoding="utf-8")))
        except (FileNotFoundError, TypeError, ValueError):
            raise ValueError(
                f"The checkpoint {self.folder} is damaged: {JOB} is missing or cannot be read. "
                "Remove the folder to count all rows again."
            ) from None

    def find(self, partition: Partition) -> tuple[Any, Passed] | None:
        """Return the part of a partition and its number of rows; None if it has to be counted."""
        rows, part = (self.folder / (self._name(partition) + end) for end in (ROWS, PART))
        if not (rows.exists() and part.exists()):
            return None
        try:
            return load(part), Passed(*map(int, rows.read_text().partition("\n")[0].split()))
        except (TypeError, ValueError):  # a damaged part is counted again
            return None

    def keep(self, partition: Partition, part: Any, passed: Passed) -> None:
        """Write the counts of a partition; its number of rows comes last, to mark it complete."""
        name = self._name(partition)
        write_whole(self.folder / (name + PART), part.to_bytes())
        told = f"{passed.rows} {passed.unlabelled}\n{partition.name}\n"
        write_whole(self.folder / (name + ROWS), told.encode())

    def clear(self) -> None:
        """Remove the plan and all parts, to start over with another plan."""
        plan = [self.folder / PLAN, self.folder / JOB]  # a plan always has a job
        for path in (*self._files(ROWS), *self._files(PART), *plan):
            path.unlink(missing_ok=True)

    def _files(self, suffix: str) -> list[Path]:
        """Return the files of parts: those whose names are hashes."""
        found = self.folder.glob(f"*{suffix}")
        return sorted(path for path in found if NAME.fullmatch(path.stem))

    def _name(self, partition: Partition) -> str:
        return hashlib.blake2b(partition.name.encode(), digest_size=12).hexdigest()

    def _compare(self, kept: Any, other: Any) -> None:
        if type(kept) is not type(other):
            raise ValueError(
                f"The checkpoint {self.folder} was made with a {type(kept).__name__}, but now the "
                f"classifier is a {type(other).__name__}. Give another folder."
            )


def grouped(partitions: Sequence[Partition]) -> Sequence[Partition]:
    """Return the partitions; if there are very many, combine several into one."""
    size = -(-len(partitions) // MOST_PARTS)
    if size <= 1:
        return partitions
    runs = [partitions[i : i + size] for i in range(0, len(partitions), size)]
    return [together(run) for run in runs]


def together(partitions: Sequence[Partition]) -> Partition:
    """Combine several partitions into one."""
    name = "; ".join(partition.name for partition in partitions)
    opened = [partition.opened for partition in partitions]
    return Partition(name, lambda: chain.from_iterable(one() for one in opened))
