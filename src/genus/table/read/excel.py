"""Read sheets of Excel and OpenDocument workbooks, with python-calamine."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from genus.arrays.options import warn
from genus.table.read.formats import Files
from genus.table.read.packing import listed, stamp
from genus.table.read.sources import Partition, Source, TableError, fitted, readable, repeated_in

NUMBERS = (int, float)


def workbooks(files: Files) -> Source:
    """Open one sheet of each workbook: the named one, or else the first."""
    import pyarrow as pa

    tables = [sheet_table(path, files) for path in files.paths]
    schema = pa.unify_schemas([t.schema for t in tables], promote_options="permissive")
    batches = [fitted(batch, schema) for table in tables for batch in table.to_batches()]
    whole = Partition("; ".join(map(stamp, files.paths)) + files.part, lambda: batches)
    rows = sum(batch.num_rows for batch in batches)
    return Source(files.name, schema, lambda: batches, rows, divided=lambda: [whole])


def sheet_table(path: str, files: Files) -> Any:
    """Read one sheet as an Arrow table; its first non-empty row holds the column names."""
    import pyarrow as pa

    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise TableError(
            f"{files.name} is a workbook. To read workbooks, install genus[excel]; or save it "
            "as CSV."
        ) from None
    with readable(files.name):
        book = CalamineWorkbook.from_path(path)
        names = book.sheet_names
        if files.part and files.part not in names:
            raise TableError(
                f"{files.name}: there is no such sheet. The workbook has {listed(names)}."
            )
        if not files.part and len(names) > 1:
            warn(
                f"{files.name} has {len(names)} sheets; genus reads {names[0]!r}. To read "
                f"another: {files.name}#{names[1]}."
            )
        rows = book.get_sheet_by_name(files.part or names[0]).to_python(skip_empty_area=True)
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise TableError(
            f"{files.name} is empty. A sheet needs a row of column names and rows below it."
        )
    head = [shown(cell) or f"column{j}" for j, cell in enumerate(rows[0])]
    repeated = repeated_in(head)
    if repeated:
        raise TableError(f"{files.name} has two columns {min(repeated)!r}. Rename one.")
    return pa.table({name: column([row[j] for row in rows[1:]]) for j, name in enumerate(head)})


def column(cells: Sequence[Any]) -> Any:
    """Convert cells to an Arrow array; cells of different types become text."""
    import pyarrow as pa

    values = [None if cell == "" else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= set(NUMBERS):
        whole = all(value is None or float(value).is_integer() for value in values)
        within = all(value is None or abs(value) < 2**53 for value in values)
        if whole and within:
            return pa.array([None if v is None else int(v) for v in values], pa.int64())
        return pa.array(values, pa.float64())
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        if kinds == {datetime.date}:
            return pa.array(values, pa.date32())
        moments = [
            v
            if v is None or isinstance(v, datetime.datetime)
            else datetime.datetime.combine(v, datetime.time())
            for v in values
        ]
        return pa.array(moments, pa.timestamp("us"))
    if len(kinds) == 1 and kinds <= {bool, datetime.time, datetime.timedelta}:
        return pa.array(values)
    return pa.array([None if v is None else shown(v) for v in values], pa.string())


def shown(cell: Any) -> str:
    """Convert a cell to text; a whole number has no decimal point."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)
