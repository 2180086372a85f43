"""Prepare rows of a table for counting: labels, and a sample of the rows read so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genus.arrays import arrow, hashes, labels
from genus.arrays.labels import LARGEST_EXACT, Axis
from genus.arrays.matrix import Codes
from genus.estimators.inputs import MOST_WEIGHT
from genus.statistics import Array
from genus.table import Source, TableError
from genus.table.numerals import reading_of
from genus.table.read.sources import BATCH

MOST_NUMBERS = 200  # classes that are whole numbers
MOST_NAMES = 1000  # classes that are texts, unless most have several rows
ALL_TOLD = object()


@dataclass(frozen=True, eq=False)
class Labelled:
    """The rows that have a label, without the target column.

    `rows` is an Arrow table or batch, `classes[codes]` are its labels, and `there` marks these
    rows among all rows.
    """

    rows: Any
    classes: Axis
    codes: Codes
    there: NDArray[np.bool_]
    weight: Array | None = None

    @property
    def y(self) -> NDArray[Any]:
        """The label of each row."""
        return self.classes[self.codes]

    @property
    def unlabelled(self) -> int:
        """The number of rows without a label."""
        return len(self.there) - len(self.codes)

    def of_weight(self) -> Labelled:
        """Return the rows that count, which are not those of weight zero, and their classes."""
        import pyarrow as pa

        if self.weight is None or self.weight.all():
            return self
        some = self.weight > 0
        rows = self.rows.filter(pa.array(some))
        present, codes = np.unique(self.codes[some], return_inverse=True)
        there = self.there.copy()
        there[self.there] = some
        return Labelled(rows, self.classes[present], codes, there, self.weight[some])


class Passed(NamedTuple):
    """The number of rows that were read, and of rows without a label."""

    rows: int = 0
    unlabelled: int = 0

    def and_more(self, other: Passed) -> Passed:
        """Return the sum of both."""
        return Passed(self.rows + other.rows, self.unlabelled + other.unlabelled)


def labelled(source: Source, target: str, known: Axis | None = None) -> Labelled:
    """Return the labelled rows, labels as in `known`; raise an error if no row has a label."""
    source.require(target)
    found = labelled_rows(labels_as_written(source, target, known).table(), target, known)
    if len(found.codes) == 0:
        raise unlabelled(source.name, target, len(found.there))
    return found


def labels_as_written(source: Source, target: str, known: Axis | None = None) -> Source:
    """Return the source with labels as text if the `known` ones are, or if they are times."""
    import pyarrow.types as pt

    if target not in source.columns:
        return source
    is_text = known is not None and known.dtype.kind == "U"
    is_text = is_text or pt.is_temporal(source.schema.field(target).type)
    return source.as_written([target]) if is_text else source


def batches_of(table: Any, classes: Axis, codes: Codes, weight: Array | None) -> Iterator[Labelled]:
    """Yield the rows of an Arrow table in batches, with labels and weights given separately."""
    for start in range(0, table.num_rows, BATCH):
        part = slice(start, start + BATCH)
        own = None if weight is None else weight[part]
        there = np.ones(len(codes[part]), dtype=bool)
        yield Labelled(table.slice(start, BATCH), classes, codes[part], there, own)


def labelled_rows(
    rows: Any, target: str, known: Axis | None = None, weights: str | None = None
) -> Labelled:
    """Return the labelled rows of an Arrow table or batch; `weights` names a column of weights."""
    import pyarrow as pa

    classes, codes, there = labels_of(rows.column(target), target)
    refuse_many(classes, len(codes), target)
    if known is not None:
        classes, codes = labels.factorize(as_known(classes, known)[codes])
    kept = rows.drop_columns([target] if weights is None else [target, weights])
    weight = None if weights is None else weights_of(rows.column(weights), weights)[there]
    kept = kept if there.all() else kept.filter(pa.array(there))
    return Labelled(kept, classes, codes, there, weight)


def weights_of(column: Any, name: str) -> Array:
    """Return the weights in a column; raise an error unless all are numbers of 0 or more."""
    import pyarrow as pa

    try:
        weight = arrow.plain(column.cast(pa.float64()), np.nan)
    except pa.ArrowException:
        raise TableError(
            f"The weights {name!r} hold {column.type}, not numbers. Convert the column."
        ) from None
    odd = weight[~((weight >= 0) & (weight <= MOST_WEIGHT))]
    if len(odd):
        raise TableError(
            f"The weights {name!r} hold {odd[0]:g}. A weight is a number from 0 to {MOST_WEIGHT:g}."
        )
    return weight


def as_known(classes: Axis, known: Axis) -> NDArray[Any]:
    """Convert classes to the types of a model's classes, if the model has all of them.

    A text file may contain true or 1 as text, where another source has booleans or numbers.

    >>> as_known(np.array([False, True]), np.array(["false", "true"]))
    array(['false', 'true'], dtype='<U5')
    """
    if known.dtype.kind == classes.dtype.kind:
        return classes
    named = {as_text(label): label for label in known.tolist()}
    found = [named.get(as_text(label)) for label in classes.tolist()]
    return classes if None in found else np.array(found, dtype=known.dtype)


def as_text(label: Any) -> str:
    """Return a label as it would be written in a text file."""
    text = str(label)
    return text.lower() if text.lower() in ("true", "false") else text


def unlabelled(name: str, target: str, rows: int) -> TableError:
    """Return the error for a table in which no row has a label."""
    if rows == 0:
        return TableError(f"{name} has column names, but no rows. Give a table with rows.")
    return TableError(
        f"The target {target!r} is empty in every row of {name}. Choose another column, or give "
        "labels."
    )


def labels_of(column: Any, name: str) -> tuple[Axis, Codes, NDArray[np.bool_]]:
    """Return the classes, ascending, the codes of labelled rows, and which rows are labelled."""
    import pyarrow as pa
    import pyarrow.types as pt

    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pt.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    there = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    kind = values.type
    if pt.is_floating(kind):
        there &= ~np.isnan(values.to_numpy(zero_copy_only=False))
    kept = values if there.all() else values.filter(pa.array(there))
    if pt.is_floating(kind) or pt.is_decimal(kind):
        numbers = kept.cast(pa.float64()).to_numpy(zero_copy_only=False)
        odd_ones = numbers[(numbers != np.floor(numbers)) | (np.abs(numbers) > LARGEST_EXACT)]
        if len(odd_ones):
            odd = odd_ones[0]
            raise TableError(
                f"The target {name!r} holds numbers such as {odd:g}; genus predicts classes. "
                "Choose a column of classes, or convert the numbers to classes."
            )
        return *labels.factorize(numbers.astype(np.int64)), there
    if pt.is_boolean(kind) or pt.is_integer(kind):
        return *labels.factorize(np.asarray(kept.to_numpy(zero_copy_only=False))), there
    if pt.is_nested(kind) or pt.is_binary(kind) or pt.is_interval(kind):
        raise TableError(
            f"The target {name!r} holds {kind}, not classes. Choose a column of classes."
        )
    coded = kept.cast(pa.large_string()).dictionary_encode()
    listed = coded.dictionary.to_pylist()
    if any(label.endswith("\0") for label in listed):
        raise TableError(f"A class of the target {name!r} ends with a NUL byte. Remove the byte.")
    names = np.array(listed, dtype=str)
    order = np.argsort(names)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    return names[order], place[coded.indices.to_numpy(zero_copy_only=False)], there


def refuse_many(classes: Axis, rows: int, name: str) -> None:
    """Raise an error if there are so many classes that they must be numbers or identifiers."""
    many = len(classes)
    if classes.dtype.kind in "iu" and many > MOST_NUMBERS:
        raise TableError(
            f"The target {name!r} holds {many:,} whole numbers, such as {classes[0]:,}; genus "
            "predicts classes. Make a few classes of them, for example with the query SELECT *, "
            f'"{name}" > {classes[many // 2]} AS "is high" FROM \'FILE\', or use a regressor of '
            "another library. If they are classes, give them as text: SELECT * REPLACE (CAST("
            f'"{name}" AS VARCHAR) AS "{name}") FROM \'FILE\''
        )
    if many > MOST_NUMBERS and classes.dtype.kind not in "iub":
        texts = arrow.strings([str(label).strip() for label in classes])
        if reading_of(texts):  # plain numbers as text are meant as classes
            raise TableError(
                f"The target {name!r} holds {many:,} numbers or dates, such as {classes[0]!s}; "
                "genus predicts classes. Make a few classes of them with a query, or use a "
                "regressor of another library."
            )
    if many > max(MOST_NAMES, rows / 2):
        raise TableError(
            f"The target {name!r} has {many:,} values in {rows:,} rows, fewer than two rows for "
            "each, so it seems to identify rows. Choose another column, or make a few classes of "
            "it."
        )


def scattered(numbers: NDArray[np.intp], step: int) -> NDArray[np.intp]:
    """Return the positions of about one in `step` of the rows, chosen by a hash of their numbers.

    `step` is a power of two. The hash (Steele et al. 2014) is as good as random, so periodic data
    is sampled evenly, and each chosen row is also chosen for half the step.
    """
    if step == 1:
        return np.arange(len(numbers))
    z = hashes.mix(numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return np.flatnonzero(z & np.uint64(step - 1) == 0)


def that_count(rows: Any, target: str, weights: str | None) -> Any:
    """Return the labelled rows of an Arrow batch, except those of weight zero; all columns."""
    import pyarrow as pa

    _, _, there = labels_of(rows.column(target), target)
    if weights is not None:
        there = there & (weights_of(rows.column(weights), weights) != 0)
    return rows if there.all() else rows.filter(pa.array(there))


def rows_from_everywhere(source: Source, size: int) -> tuple[Any, int | None]:
    """Return about `size` rows from everywhere in a source, and the number of all rows, if known.

    If the source cannot be sampled without reading it, all of it is read.
    """
    if not source.once and source.is_spread:
        # A sample may have fewer rows than `size`, for example if a partition is small.
        return source.look(size), source.rows

    def read(source: Source) -> tuple[Any, int]:
        passed = 0

        def counted() -> Iterator[Any]:
            nonlocal passed
            for batch in source.batches():
                passed += batch.num_rows
                yield batch

        rows = scattered_rows(counted(), size, telling=False)
        return (rows if passed else source.schema.empty_table()), passed

    return source.read(read)


def scattered_rows(batches: Iterable[Any], size: int, telling: bool = True) -> Any:
    """Return rows spread over a stream of Arrow batches, at most about twice `size`.

    Whenever too many rows are kept, half of them are dropped. If `telling`, the first row with a
    value of each column, and the first row with another value, are returned in addition.
    """
    import pyarrow as pa

    kept: list[tuple[NDArray[np.intp], Any]] = []
    told: list[Any] = []
    first: dict[str, Any] = {}
    rows, step = 0, 1
    for own in batches:
        numbers = rows + np.arange(own.num_rows)
        rows += own.num_rows
        chosen = scattered(numbers, step)
        kept.append((numbers[chosen], own.take(pa.array(chosen))))
        if telling:
            told.append(own.take(pa.array(rows_that_tell(own, first), pa.int64())))
        while sum(len(own_numbers) for own_numbers, _ in kept) > 2 * size:
            step *= 2
            left = [scattered(own_numbers, step) for own_numbers, _ in kept]
            kept = [
                (own_numbers[at], part.take(pa.array(at)))
                for (own_numbers, part), at in zip(kept, left, strict=True)
            ]
    parts = [*(part for _, part in kept), *told]
    return pa.Table.from_batches(parts) if parts else pa.table({})


def rows_that_tell(rows: Any, first: dict[str, Any]) -> list[int]:
    """Return the positions of the first rows that show two different values of each column.

    `first` has the first value of each column, or ALL_TOLD after another value was found.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found: set[int] = set()
    for name in rows.schema.names:
        values = rows.column(name)
        if first.get(name) is ALL_TOLD or values.null_count == len(values):
            continue
        try:
            if name not in first:
                at = pc.index(values.is_valid(), True).as_py()
                found.add(at)
                first[name] = values[at]
            at = pc.index(pc.not_equal(values, first[name]), True).as_py()
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # such as lists
            first[name] = ALL_TOLD
            continue
        if at >= 0:
            found.add(at)
            first[name] = ALL_TOLD
    return sorted(found)


def some_of(rows: int, size: int) -> NDArray[np.intp]:
    """Return the positions of at most twice `size` random rows; all if there are few."""
    numbers, step = np.arange(rows), 1
    while len(chosen := scattered(numbers, step)) > 2 * size:
        step *= 2
    return chosen
