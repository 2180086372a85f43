"""Choose and convert the columns that a classifier of numbers, categories or texts reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from genus.arrays import arrow
from genus.persistence.files import MOST_HEADER
from genus.table import TableError
from genus.text import Texts

NUMBERS, VALUES, TEXT, VECTOR = "numbers", "values", "text", "vector"
MIXED = "mixed"  # a plan says what each column becomes
MOST_COLUMNS = 100_000
# Bytes of metadata in a file of a model of tables, rounded up: for a column that is counted (1,480
# at most were measured), for one that is left out, and how often its name occurs.
PLANNED, IGNORED, NAMED = 1500, 600, 3
SPARSE = 0  # the type of a sparse vector in Spark's structs


@dataclass(frozen=True)
class Columns:
    """The `names` of the columns that are read, and the `kind` of data that they become.

    Each column of the kinds "numbers" and "values" becomes a column of a matrix. "vector" is a
    single column with a vector of `width` numbers in every row, and "text" a single column of
    texts.
    """

    names: tuple[str, ...]
    kind: str
    target: str | None = None
    width: int = 0

    @classmethod
    def of(cls, rows: Any, kind: str, target: str | None) -> Columns:
        """Choose the columns of a table, given some rows without the target."""
        schema = rows.schema
        names = list(schema.names)
        refuse_many_columns(names)
        if kind == TEXT:
            return cls((text_column(schema, names),), TEXT, target)
        vectors = [name for name in names if is_vector(schema.field(name).type)]
        if vectors:
            if len(names) > 1:
                raise TableError(
                    f"Column {vectors[0]!r} holds vectors, and there are {len(names) - 1} more "
                    f"columns. Read it alone: columns=[{vectors[0]!r}]."
                )
            width = matrix_of(rows, cls((vectors[0],), VECTOR, target)).shape[1]
            return cls((vectors[0],), VECTOR, target, width)
        if not names:
            raise TableError(
                "The table has no column except the target. Add columns to learn from."
            )
        for name in names:
            refuse_type(name, schema.field(name).type, kind)
        return cls(tuple(names), kind, target)

    @classmethod
    def checked(cls, tree: dict[str, Any]) -> Columns:
        """Return the columns that a file stores; raise an error if they are invalid."""
        names, kind, target, width = (tree[key] for key in ("names", "kind", "target", "width"))
        texts = all(isinstance(name, str) for name in names) and isinstance(target, str | None)
        if not texts or kind not in (NUMBERS, VALUES, TEXT, VECTOR) or not 0 <= width < 1 << 31:
            raise ValueError("its columns are invalid")
        return cls(tuple(names), kind, target, int(width))

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are read as they are written in a file."""
        return self.names if self.kind == TEXT else ()

    @property
    def features(self) -> int:
        """The number of columns of the matrix."""
        return self.width if self.kind == VECTOR else len(self.names)


def refuse_many_columns(names: Sequence[str]) -> None:
    """Raise an error if a table has more columns than can be read in reasonable time."""
    if len(names) > MOST_COLUMNS:
        raise TableError(
            f"The table has {len(names):,} columns, and at most {MOST_COLUMNS:,} are read. Choose "
            "some with columns=[…], or put numbers into one column of vectors, for a classifier "
            "such as GaussianNB."
        )


def refuse_unsaved(names: Sequence[str], ignored: Collection[str]) -> None:
    """Raise an error, before any work, if a model of tables with these columns cannot be saved.

    A file has a plan of each column in its metadata, whose size is limited.
    """
    size = sum(
        NAMED * len(json.dumps(json.dumps(name))) + (IGNORED if name in ignored else PLANNED)
        for name in names
    )
    if size > MOST_HEADER:
        most = int(len(names) * MOST_HEADER / size) // 1000
        raise TableError(
            f"The table has {len(names):,} columns, and the model could not be saved: a model file "
            f"has room for about {most},000 such columns, fewer if their names are longer. Choose "
            'some with a query, SELECT "a", "b" FROM …, or with columns=[…].'
        )


def text_column(schema: Any, names: list[str]) -> str:
    """Return the column of texts: the only one that contains strings."""
    import pyarrow.types as pt

    def is_text(kind: Any) -> bool:
        return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))

    found = [name for name in names if is_text(schema.field(name).type)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise TableError(
            f"No column holds texts; the columns are {', '.join(map(repr, names[:20]))}. Give a "
            "table with a column of texts."
        )
    listed = ", ".join(map(repr, found[:20]))
    raise TableError(f"Several columns hold texts, {listed}. Choose one: columns=[{found[0]!r}].")


def refuse_type(name: str, kind: Any, wanted: str) -> None:
    """Raise an error if a column cannot be read as numbers, or as categories."""
    import pyarrow.types as pt

    number = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)
    number = number or pt.is_boolean(kind) or pt.is_null(kind)
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    text = text or (pt.is_dictionary(kind) and not pt.is_nested(kind.value_type))
    if number or (wanted == VALUES and text):
        return
    use = "numbers" if wanted == NUMBERS else "numbers and texts"
    raise TableError(
        f"Column {name!r} holds {kind}, but this classifier reads {use}. Leave it out with "
        "columns=[…], or use TableClassifier, which reads columns of all kinds."
    )


def is_vector(kind: Any) -> bool:
    """Return whether columns of this type hold vectors: lists of numbers, or Spark's structs."""
    import pyarrow.types as pt

    if pt.is_struct(kind):
        return {"indices", "values", "size"} <= {kind.field(i).name for i in range(kind.num_fields)}
    lists = pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind)
    return bool(lists and (pt.is_floating(kind.value_type) or pt.is_integer(kind.value_type)))


def matrix_of(rows: Any, columns: Columns) -> Any:
    """Return the rows of an Arrow table or batch as a matrix, or as texts."""
    there = set(rows.schema.names)  # computed once: `names` makes a list at every call
    missing = [name for name in columns.names if name not in there]
    if missing:
        listed = ", ".join(map(repr, missing[:10]))
        raise TableError(
            f"The columns {listed} are missing; the model was fitted with them. Add them."
        )
    if columns.kind == TEXT:
        return texts_of(rows.column(columns.names[0]))
    if columns.kind == VECTOR:
        return vectors_of(rows.column(columns.names[0]), columns)
    parts = [rows.column(name) for name in columns.names]
    if columns.kind == VALUES and any(not is_number(part.type) for part in parts):
        out = np.empty((rows.num_rows, len(parts)), dtype=object)
        for j, part in enumerate(parts):
            out[:, j] = part.to_pylist()
        return out
    matrix = np.empty((rows.num_rows, len(parts)), order="F")
    for j, part in enumerate(parts):
        matrix[:, j] = as_floats(part, columns.names[j])
    return matrix


def is_number(kind: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind))


def as_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Return a column of numbers as float64, with NaN for missing values."""
    import pyarrow as pa

    try:
        return arrow.plain(values.cast(pa.float64(), safe=False), np.nan)
    except pa.ArrowException:
        raise TableError(
            f"Column {name!r} holds {values.type}, but was fitted with numbers. Convert it first."
        ) from None


def texts_of(values: Any) -> Texts:
    """Return a column of texts, with an empty text for each missing one."""
    import pyarrow as pa
    import pyarrow.types as pt

    if not (pt.is_string(values.type) or pt.is_large_string(values.type)):
        values = values.cast(pa.large_string())
    filled = values.fill_null("") if values.null_count else values
    return Texts.of(filled if isinstance(filled, pa.ChunkedArray) else pa.chunked_array([filled]))


def vectors_of(values: Any, columns: Columns) -> Any:
    """Return vectors as a matrix: dense, or CSR if they are from Spark and some are sparse."""
    import pyarrow as pa
    import pyarrow.types as pt

    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    (name,) = columns.names
    if values.null_count:
        row = int(np.argmax(~values.is_valid().to_numpy(zero_copy_only=False)))
        raise TableError(f"Column {name!r} has no vector in row {row}. Leave such rows out.")
    if pt.is_struct(values.type):
        return spark_vectors(values, columns)
    flat = values.flatten()
    width = columns.width or (len(flat) // len(values) if len(values) else 0)
    if len(flat) != width * len(values) or ragged(values):
        raise TableError(
            f"The vectors in column {name!r} differ in length; each must have {width} numbers."
        )
    return as_floats(flat, name).reshape(len(values), width)


def ragged(values: Any) -> bool:
    import pyarrow.compute as pc

    ends = pc.min_max(pc.list_value_length(values)) if len(values) else {"min": 0, "max": 0}
    return bool(ends["min"] != ends["max"])


def spark_vectors(values: Any, columns: Columns) -> Any:
    """Return vectors of Spark ML as a matrix; only sparse vectors have indices and a size."""
    kinds = np.asarray(values.field("type"))
    dense = kinds != SPARSE
    numbers = values.field("values")
    ends = np.asarray(numbers.offsets)
    data = np.asarray(numbers.values, dtype=np.float64)[ends[0] : ends[-1]]
    lengths = np.diff(ends)
    if not len(values):
        return np.zeros((0, columns.width))
    sizes = np.where(dense, lengths, np.asarray(values.field("size").fill_null(0)))
    width = columns.width or int(sizes[0])
    if (sizes != width).any():
        raise TableError(
            f"Column {columns.names[0]!r} holds vectors of different lengths; expected {width}."
        )
    if dense.all():
        return data.reshape(len(values), width)
    given = values.field("indices")
    starts = np.asarray(given.offsets)
    own = np.asarray(given.values)[starts[0] : starts[-1]]
    indices = np.empty(len(data), dtype=np.int64)
    is_dense = np.repeat(dense, lengths)
    indices[~is_dense] = own
    indices[is_dense] = np.tile(np.arange(width), int(dense.sum()))
    parts = data, indices, np.concatenate([[0], np.cumsum(lengths)])
    return scipy.sparse.csr_matrix(parts, shape=(len(values), width))
