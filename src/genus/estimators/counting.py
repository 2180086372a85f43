"""Count the rows of a table: as a stream in this process, or inside an engine or a database.

Some rows of a table decide its plan before it is counted, unless the classifier already has one.
Then every batch of rows is counted by itself, and the sums are added. A part is the counts of one
partition: a classifier as bytes, which another process adds to others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from genus.arrays import labels, matrix
from genus.arrays.memory import available, size_of
from genus.arrays.options import warn
from genus.engines import Engine, Rows
from genus.estimators.checkpoint import Checkpoint
from genus.estimators.grouped import count_grouped
from genus.estimators.table_rows import (
    Labelled,
    Passed,
    labelled_rows,
    labels_as_written,
    scattered_rows,
    that_count,
    unlabelled,
)
from genus.model import Model
from genus.persistence.loading import from_bytes
from genus.table import Source, TableError
from genus.table.read.sources import first_rows

LOOK = 1 << 16  # rows from which a table is planned
LEAST_LOOKED = 64  # fewest of these rows from each partition
LITTLE_MEMORY = 64 << 20  # bytes of sums below which free memory is not checked
COPIES = 3  # of the sums that exist while they are added and solved
MANY_CLASSES = 50  # with this many or more, the target may not be a class
PART, OUTGROWN, REFUSED = b"p", b"o", b"e"  # the first byte of a partition's answer
NUMBERS = Struct("<QQ")
Progress = Callable[[int], None]


class Outgrown(Exception):
    """Rows have values that the plan did not expect, such as any value in an empty column."""


@dataclass(frozen=True, eq=False)
class Reading:
    """Which columns to read from a table, and how.

    `weights` names a column of weights, `columns` the columns to learn from (None: all others).
    `progress` is called with the number of rows read since its last call. `checkpoint` is a folder
    that keeps the finished parts. If `known` classes are given, labels are converted to their
    types. If `is_part` is true, the table is one part of several, and may have no rows.
    """

    target: str
    weights: str | None = None
    columns: tuple[str, ...] | None = None
    progress: Progress | None = None
    checkpoint: str | os.PathLike[str] | None = None
    known: Any = None
    is_part: bool = False

    def labelled(self, rows: Any) -> Labelled:
        """Return the labelled rows of an Arrow table or batch, with the columns to learn from."""
        found = labelled_rows(rows, self.target, self.known, self.weights)
        return replace(found, rows=self.chosen(found.rows))

    def chosen(self, rows: Any) -> Any:
        """Return the columns to learn from, given an Arrow table or batch without the target."""
        return rows if self.columns is None else rows.select(list(self.columns))

    def require(self, source: Source) -> None:
        """Raise an error unless a source has all columns that the options name."""
        for name in (self.target, self.weights, *(self.columns or ())):
            if name is not None:
                source.require(name)
        if self.target in (self.weights, *(self.columns or ())):
            raise TableError(
                f"{self.target!r} is the target, so it can be neither a column to learn from nor "
                "the weights. Name another column."
            )
        if self.weights in (self.columns or ()):
            raise TableError(
                f"{self.weights!r} holds the weights, so it cannot be a column to learn from. "
                "Leave it out of columns=[…]."
            )


def count_rows(estimator: Any, rows: Source | Engine, reading: Reading, *, first: bool) -> Model:
    """Count the labelled rows of a table; if `first`, some of them decide how columns are read."""
    if isinstance(rows, Source):
        rows = labels_as_written(rows, reading.target, reading.known)
        return rows.read(lambda source: count_here(estimator, source, reading, first))
    return count_elsewhere(estimator, rows, reading, first)


def plan_rows(estimator: Any, rows: Source | Engine, reading: Reading) -> None:
    """Decide how the columns of a table are read, without counting."""
    if isinstance(rows, Source):
        rows = labels_as_written(rows, reading.target)
        rows.read(lambda source: look_at_some(estimator, source, reading))
    else:
        look_elsewhere(estimator, rows, reading, everything=False)


# In this process


def count_here(estimator: Any, source: Source, reading: Reading, first: bool) -> Model:
    """Count a source in this process, or inside its database; return the model."""
    reading.require(source)
    if reading.checkpoint is not None:
        return count_kept(estimator, source, reading, first)
    grouped = count_grouped(estimator, source, reading, first)
    if grouped is not None:
        if reading.progress is not None:
            reading.progress(grouped[1].rows)
        return checked(estimator, *grouped, source.name, reading)
    if first and source.once:
        batches = looked(estimator, source, reading)
        return add_up(estimator, batches, source, reading)
    if first:
        look_at_some(estimator, source, reading)
    try:
        return add_up(estimator, batches_of(estimator, source, reading), source, reading, first)
    except Outgrown:
        look_at_all(estimator, source, reading)
        again = replace(reading, progress=None)
        return add_up(estimator, batches_of(estimator, source, reading), source, again)


def batches_of(estimator: Any, source: Source, reading: Reading) -> Iterator[Labelled]:
    """Yield the labelled rows of a source in batches."""
    return map(reading.labelled, source.batches())


def looked(estimator: Any, source: Source, reading: Reading) -> Iterator[Labelled]:
    """Plan from the first batches of a source that can be read only once; return all batches."""
    import pyarrow as pa

    batches = batches_of(estimator, source, reading)
    first: list[Labelled] = []
    telling: list[Labelled] = []
    while sum(len(one.codes) for one in telling) < LOOK:
        batch = next(batches, None)
        if batch is None:
            break
        first.append(batch)
        telling.append(batch.of_weight())
    if sum(len(one.codes) for one in telling) == 0:
        raise nothing_counts(source.name, reading, sum(len(one.there) for one in first))
    tables = [pa.Table.from_batches([one.rows]) for one in telling]
    table = pa.concat_tables(tables, promote_options="permissive")
    _, codes = labels.factorize(np.concatenate([one.y for one in telling]))
    total = table.num_rows if batch is None else None  # the whole table was read
    estimator._look(table, reading.target, codes, total)
    return chain(first, batches)


def look_at_some(estimator: Any, source: Source, reading: Reading) -> None:
    """Decide how columns are read, from a sample of rows spread over the partitions."""
    reading.require(source)
    rows = source.look(LOOK)
    seen = reading.labelled(rows).of_weight()
    if len(seen.codes) == 0:
        look_at_all(estimator, source, reading)
    else:
        total = rows.num_rows if rows.num_rows < LOOK else source.about_rows(rows)
        if total is not None:
            total = total * len(seen.codes) // rows.num_rows
        estimator._look(seen.rows, reading.target, seen.codes, total)


def look_at_all(estimator: Any, source: Source, reading: Reading) -> None:
    """Decide how columns are read, in an extra pass over all rows of a source."""
    passed, total = 0, 0

    def counted() -> Iterator[Any]:
        nonlocal passed, total
        for batch in source.batches():
            kept = that_count(batch, reading.target, reading.weights)
            passed, total = passed + batch.num_rows, total + kept.num_rows
            yield kept

    rows = scattered_rows(counted(), LOOK)
    if total == 0:
        raise nothing_counts(source.name, reading, passed)
    seen = reading.labelled(rows)
    estimator._look(seen.rows, reading.target, seen.codes, total)


def nothing_counts(name: str, reading: Reading, rows: int) -> TableError:
    """Return the error for a table of which no row has a label and a weight above zero."""
    if reading.weights is None or rows == 0:
        return unlabelled(name, reading.target, rows)
    return TableError(
        f"No row of {name} has a value in {reading.target!r} and a weight above zero in "
        f"{reading.weights!r}, so there is nothing to count. Give labels and positive weights."
    )


def add_up(
    estimator: Any,
    batches: Iterator[Labelled],
    source: Source,
    reading: Reading,
    restarts: bool = False,
) -> Model:
    """Count batches; if `restarts`, raise Outgrown when a batch does not fit the plan."""
    model, passed = count_batches(estimator, batches, reading.progress, restarts)
    return checked(estimator, model, passed, source.name, reading)


def count_batches(
    estimator: Any,
    batches: Iterable[Labelled],
    progress: Progress | None,
    restarts: bool,
    before: int = 0,
) -> tuple[Model, Passed]:
    """Count batches, several at a time; return the sum and the number of rows.

    `before` is the number of rows before the first batch, so that errors name the right row.
    """
    empty, passed = estimator._blank(), Passed()
    total = Total(empty)

    def count(at: int, read: Labelled) -> tuple[Model | None, Any, Passed]:
        own = read.of_weight()
        X = estimator._matrix(own.rows)
        counted = None
        if len(own.codes):
            numbers = at + np.flatnonzero(own.there)
            counted = estimator._count(empty, X, own.codes, own.classes, own.weight, numbers)
        return counted, own.rows, Passed(len(read.there), read.unlabelled)

    for counted, rows, own in matrix.in_order(lambda one: count(*one), numbered(batches, before)):
        passed = passed.and_more(own)
        if counted is not None:
            if restarts and estimator._outgrown(rows, counted):
                raise Outgrown
            total.add(counted)
            refuse_full_memory(total, passed.rows)
        if progress is not None:
            progress(own.rows)
    model = total.sum()
    if restarts and estimator._outgrown(None, model):
        raise Outgrown
    return model, passed


class Total:
    """A sum of many models or classifiers; it adds pairs of sums of about equal size.

    Each addition copies what it adds, such as all words. If models were added to the sum one by
    one, the time would grow with the square of their number.
    """

    def __init__(self, zero: Any) -> None:
        self.zero = zero
        self.parts: list[tuple[int, Any]] = []  # the number of models in each sum, descending

    def add(self, model: Any) -> None:
        """Add a model or classifier."""
        size = 1
        while self.parts and self.parts[-1][0] == size:
            model, size = self.parts.pop()[1] + model, 2 * size
        self.parts.append((size, model))

    def sum(self) -> Any:
        """Return the sum."""
        total = self.zero
        for _, model in self.parts:
            total = total + model
        return total


def refuse_full_memory(total: Total, rows: int) -> None:
    """Raise an error if there is too little memory for the copies made by adding and solving."""
    size = size_of([model.statistics for _, model in total.parts])
    if size < LITTLE_MEMORY:
        return
    free = available()
    if free is not None and COPIES * size > free:
        classes = max(len(model.weights.classes) for _, model in total.parts)
        todo = (
            "Count fewer categories or words: ignore= leaves columns out, and "
            "TextClassifier(buckets=…) limits the number of words."
        )
        if classes >= MANY_CLASSES:
            todo = "Merge rare classes into one, or choose a target with fewer classes."
        raise TableError(
            f"The sums of {rows:,} rows in {classes:,} classes take {size / 1e9:.1f} GB. Adding "
            f"and solving copies them, so {free / 1e9:.1f} GB of free memory are too little. {todo}"
        )


def numbered(batches: Iterable[Labelled], rows: int) -> Iterator[tuple[int, Labelled]]:
    """Yield the batches with the number of their first row, starting at `rows`."""
    for own in batches:
        yield rows, own
        rows += len(own.there)


def checked(estimator: Any, model: Model, passed: Passed, name: str, reading: Reading) -> Model:
    """Return the model; raise an error if no row counts, and warn about too many classes."""
    target = reading.target
    if len(model.classes) == 0 and (passed.rows or not reading.is_part):
        raise nothing_counts(name, reading, passed.rows)
    total = model.weights["rows"].sum()
    if not estimator.__sklearn_is_fitted__():
        estimator.unlabelled_ = passed.unlabelled
    if len(model.classes) > max(MANY_CLASSES, total / 4):
        warn(
            f"The target {target!r} has {len(model.classes):,} classes in {total:,.0f} rows. "
            "Is it a measurement or an identifier rather than a class?"
        )
    return model


# Partition by partition


def count_kept(estimator: Any, source: Source, reading: Reading, first: bool) -> Model:
    """Count a source part by part, except for the parts that a checkpoint already has."""
    assert reading.checkpoint is not None
    with Checkpoint.opened(reading.checkpoint, source) as kept:
        plan = kept.plan(estimator) if first else None
        if plan is not None:
            estimator._adopt(plan)
        elif first:
            look_at_some(estimator, source, reading)
        try:
            total, passed = count_parts(estimator, source, reading, kept, first)
        except Outgrown:  # the plan does not fit, so its parts are useless
            look_at_all(estimator, source, reading)
            kept.clear()
            total, passed = count_parts(estimator, source, reading, kept, False)
    return checked(estimator, total.model_, passed, source.name, reading)


def count_parts(
    estimator: Any, source: Source, reading: Reading, kept: Checkpoint, restarts: bool
) -> tuple[Any, Passed]:
    """Return the sum of a checkpoint's parts and their number of rows; count missing parts."""
    empty, passed = estimator._part(), Passed()
    total = Total(empty)
    kept.begin(empty, reading)
    for partition in kept.partitions:
        found = kept.find(partition)
        if found is None:
            alone = replace(source, opened=partition.opened)
            batches = batches_of(estimator, alone, reading)
            model, own = count_batches(estimator, batches, reading.progress, restarts)
            found = estimator._part(model), own
            kept.keep(partition, *found)
        elif reading.progress is not None:
            reading.progress(found[1].rows)
        total.add(found[0])
        passed = passed.and_more(found[1])
    summed = total.sum()
    if restarts and estimator._outgrown(None, summed.model_):
        raise Outgrown
    return summed, passed


# In the processes of an engine


def count_elsewhere(estimator: Any, engine: Engine, reading: Reading, first: bool) -> Model:
    """Count the partitions of an engine inside the engine, and add up the parts."""
    if reading.checkpoint is not None:
        raise ValueError(
            f"checkpoint= works only for files that genus reads itself, not for {engine.name}, "
            "whose engine repeats lost work by itself. Leave checkpoint= out."
        )
    if first:
        look_elsewhere(estimator, engine, reading, everything=False)
    plain = replace(reading, progress=None)

    shards = estimator._shards(engine.partitions) if first else 1

    def totals(restarts: bool) -> list[bytes]:
        template = estimator._part().to_bytes()
        work = partial(part_of, template, plain, restarts, shards)
        if shards == 1:
            return [engine.total(work, add_parts)]
        return engine.totals(work, add_parts, finished, shards)

    found = totals(first)
    if OUTGROWN in found:
        look_elsewhere(estimator, engine, reading, everything=True)
        found = totals(False)
    counted = [received(part) for part in found]
    model = estimator._joined([part.model_ for _, part in counted])
    if first and estimator._outgrown(None, model):
        look_elsewhere(estimator, engine, reading, everything=True)
        counted = [received(part) for part in totals(False)]
        model = estimator._joined([part.model_ for _, part in counted])
    if reading.progress is not None:
        reading.progress(counted[0][0].rows)
    return checked(estimator, model, counted[0][0], engine.name, reading)


def look_elsewhere(estimator: Any, engine: Engine, reading: Reading, everything: bool) -> None:
    """Decide how columns are read, from some rows of each partition.

    They are the first rows of the partition or, with `everything`, rows spread over all of it.
    """
    import pyarrow as pa

    reading.require(Source(engine.name, engine.schema, lambda: ()))
    each = max(LOOK // max(engine.partitions, 1), LEAST_LOOKED)
    if everything:
        parts = engine.run(partial(scattered_of, reading.target, reading.weights, each))
    else:
        parts = engine.beginnings(each).run(partial(first_of, each))
    found = [pa.ipc.open_stream(content(part)).read_all() for part in parts]
    rows = sum(part.num_rows for part in found)
    if rows == 0:  # if everything was read, there are rows, but none of them counts
        raise nothing_counts(engine.name, reading, int(everything))
    table = pa.concat_tables(found, promote_options="permissive")
    seen = reading.labelled(table).of_weight()
    if len(seen.codes) == 0:
        look_elsewhere(estimator, engine, reading, everything=True)
        return
    all_of_them = not everything and all(part.num_rows < each for part in found)
    estimator._look(seen.rows, reading.target, seen.codes, rows if all_of_them else None)


# What runs in the processes of an engine


def part_of(
    template: bytes, reading: Reading, restarts: bool, shards: int, partition: Rows
) -> list[bytes]:
    """Count the rows of a partition with an empty classifier; return a part for each shard."""
    estimator = from_bytes(template)
    rows = iter(partition)
    try:
        start = next(rows, None)
        if start is None:
            return [sent(Passed(), estimator)] * shards
        source = Source("the frame", start.schema, lambda: chain([start], rows), once=True)
        with matrix.alone():
            own = batches_of(estimator, source, reading)
            model, passed = count_batches(estimator, own, None, restarts, partition.before())
    except Outgrown:
        return [OUTGROWN] * shards
    except ValueError as error:
        return [refused(error, partition)] * shards
    divided = [model] if shards == 1 else estimator._divided(model, shards)
    return [sent(passed, estimator._part(one)) for one in divided]


def finished(part: bytes) -> bytes:
    """Return a sum of parts, in bytes, with only the words that the model of all rows may use."""
    if part[:1] != PART:
        return part
    passed, estimator = received(part)
    return sent(passed, estimator._part(estimator._reduced(estimator.model_)))


def add_parts(parts: Iterable[bytes]) -> bytes:
    """Return the sum of parts; if some are errors or OUTGROWN, return one of these."""
    kept = list(parts)
    odd = [part for part in kept if part[:1] != PART]
    if odd:
        return max(odd)
    (passed, first), *others = (received(part) for part in kept)
    total = Total(first)
    for own, part in others:
        passed = passed.and_more(own)
        total.add(part)
    return sent(passed, total.sum())


def first_of(rows: int, partition: Rows) -> list[bytes]:
    """Return the first rows of a partition, as an Arrow stream."""
    import pyarrow as pa

    try:
        found = list(first_rows(partition, rows))
    except ValueError as error:
        return [refused(error, partition)]
    return [as_stream(pa.Table.from_batches(found))] if found else []


def scattered_of(target: str, weights: str | None, rows: int, partition: Rows) -> list[bytes]:
    """Return rows spread over a partition, as an Arrow stream."""
    try:
        counted = (that_count(batch, target, weights) for batch in partition)
        found = scattered_rows(counted, rows)
    except ValueError as error:
        return [refused(error, partition)]
    return [as_stream(found)] if found.num_rows else []


def as_stream(table: Any) -> bytes:
    """Return an Arrow table as bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return PART + bytes(sink.getvalue())


def refused(error: ValueError, partition: Rows) -> bytes:
    """Encode an error as a part; its message names the partition."""
    told = str(error)
    return REFUSED + (told if partition.name in told else f"In {partition.name}: {told}").encode()


def sent(passed: Passed, part: Any) -> bytes:
    """Return a part as bytes, with the number of rows read for it."""
    return PART + NUMBERS.pack(*passed) + part.to_bytes()


def received(part: bytes) -> tuple[Passed, Any]:
    """Return the number of rows and the classifier of a part; if the part is an error, raise it."""
    told = content(part)
    return Passed(*NUMBERS.unpack(told[: NUMBERS.size])), from_bytes(told[NUMBERS.size :])


def content(part: bytes) -> bytes:
    """Return the bytes that a partition has sent; if they are an error, raise it."""
    if part[:1] == REFUSED:
        raise TableError(part[1:].decode())
    return part[1:]
