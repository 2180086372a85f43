"""Add a model's predictions to rows, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from genus.arrays import arrow
from genus.arrays.labels import Axis
from genus.statistics import Array
from genus.table.read.sources import TableError

LABEL = "prediction"


def with_predictions(rows: Any, classes: Axis, best: NDArray[Any] | None, p: Array | None) -> Any:
    """Return an Arrow table of the rows with their predicted class and p(y|x) by class.

    `best` (m,) holds the indices of the predicted classes in `classes`, and `p` (m, K) the
    probabilities. If one of the two is None, its columns are left out.
    """
    import pyarrow as pa

    table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    for name, values in predictions(table.column_names, classes, best, p).items():
        table = table.append_column(name, values)
    return table


def probability_names(classes: Axis) -> list[str]:
    """Return the names of the columns of p(k|x)."""
    return [f"p({label})" for label in classes.tolist()]


def predictions(
    taken: Sequence[str], classes: Axis, best: NDArray[Any] | None, p: Array | None
) -> dict[str, Any]:
    """Return the columns to add, by name; raise an error if a name is already `taken`."""
    added: dict[str, Any] = {}
    if best is not None:
        added[LABEL] = arrow.labels(classes).take(arrow.numbers(best))
    if p is not None:
        names = probability_names(classes)
        added |= {name: arrow.numbers(p[:, k]) for k, name in enumerate(names)}
    both = sorted(set(added) & set(taken))
    if both:
        listed = ", ".join(f'"{name}"' for name in both)
        raise TableError(
            f"The data has the columns {listed} already. Leave them out, for example with "
            f"the query SELECT * EXCLUDE ({listed}) FROM …"
        )
    return added
