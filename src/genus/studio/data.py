"""Keep the labelled rows of a table as Arrow, and convert cells to text and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from genus import TableError
from genus.display import text as shown

MOST_JUDGED = 20_000  # rows for scores and lists
LONGEST = 2_000  # characters of a cell on the page of one row
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Data:
    """The labelled rows of a table.

    `table` has all columns, `numbers` (m,) are the row numbers in the file, from 1 on, and
    `unlabelled` is the number of rows without a label.
    """

    name: str
    table: Any
    target: str
    numbers: Rows
    unlabelled: int

    @classmethod
    def of(cls, table: Any, target: str, name: str) -> Data:
        """Return the labelled rows of a table."""
        if target not in table.column_names:
            listed = ", ".join(map(repr, table.column_names[:20]))
            raise TableError(f"There is no column {target!r}. The columns are {listed}.")
        column = table.column(target)
        there = pc.invert(pc.is_null(column, nan_is_null=True))
        at = np.flatnonzero(there.to_numpy())
        if len(at) == 0:
            raise TableError(
                f"The target {target!r} is empty in every row of {name}. Choose another column."
            )
        kept = table if len(at) == table.num_rows else table.filter(there)
        return cls(name, kept, target, at + 1, table.num_rows - len(at))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def _encoded(self) -> tuple[Any, NDArray[np.int64]]:
        column = self.table.column(self.target)
        if pt.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        coded = column.combine_chunks().dictionary_encode()
        return coded.dictionary, coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def codes(self, classes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the position of each row's label in `classes`, (m,); -1 for new labels."""
        values, codes = self._encoded
        known = {label: k for k, label in enumerate(classes.tolist())}
        by_text = {as_label(label): k for label, k in known.items()}
        place = [known.get(v, by_text.get(as_label(v), -1)) for v in values.to_pylist()]
        return np.array(place, dtype=np.int64)[codes]

    def label_values(self, classes: NDArray[Any]) -> Any:
        """Return the label of each class of a model in the table's type, an Arrow array (K,)."""
        values, codes = self._encoded
        own = self.codes(classes)
        first = [int(np.argmax(own == k)) for k in range(len(classes))]
        return values.take(pa.array(codes[first]))

    def rows(self, at: Any, codes: NDArray[np.int64], labels: Any) -> Any:
        """Return the rows `at` as an Arrow table; row i has the label `labels[codes[i]]`."""
        at = np.asarray(at)
        part = self.table.take(pa.array(at))
        place = part.column_names.index(self.target)
        return part.set_column(place, self.target, labels.take(pa.array(codes[at])))

    @cached_property
    def judged(self) -> Rows:
        """The positions of the rows to score: all, or a random sample of MOST_JUDGED."""
        if len(self) <= MOST_JUDGED:
            return np.arange(len(self))
        return np.sort(np.random.default_rng(0).permutation(len(self))[:MOST_JUDGED])


def as_label(value: Any) -> str:
    """Return a label as text; booleans become true and false, as in files."""
    text = str(value)
    return text.lower() if text.lower() in ("true", "false") else text


def cell(value: Any, most: int = shown.LONGEST) -> str | None:
    """Return a cell as text to display; None if it is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float):
        return shown.number(value, 7)
    return shown.name(value, most)


def editable(value: Any) -> str:
    """Return a cell as text that can be edited and read back; empty if it is missing."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)[:LONGEST]


def changed(row: Any, given: Mapping[str, str]) -> Any:
    """Return an Arrow table of one row, with cells replaced by the texts in `given`."""
    for name, text in given.items():
        field = row.schema.field(name)
        place = row.column_names.index(name)
        row = row.set_column(place, field, pa.chunked_array([as_cell(text, field)]))
    return row


def as_cell(text: str, field: Any) -> Any:
    """Convert text to a cell of a column; raise an error if the column cannot hold it."""
    kind = field.type
    if pt.is_dictionary(kind):
        kind = kind.value_type
    text = text.encode("utf-8", "replace").decode()
    is_text = pt.is_string(kind) or pt.is_large_string(kind)
    if text == "" or (text.isspace() and not is_text):
        return pa.nulls(1, field.type)
    try:
        if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
            number = float(text.replace("−", "-").replace(",", ""))
            if pt.is_integer(kind):
                number = round(number)
            return pa.array([number]).cast(kind).cast(field.type)
        return pa.array([text], pa.string()).cast(kind).cast(field.type)
    except (pa.ArrowException, ValueError, OverflowError):
        name = shown.name(field.name)
        raise TableError(
            f"{shown.name(text)!r} does not fit column {name!r} ({kind}). Enter another value."
        ) from None
