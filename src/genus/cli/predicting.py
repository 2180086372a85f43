"""genus predict."""

from __future__ import annotations

from typing import Any

import click

from genus.cli import arguments

LOOKED = 20_000  # rows that are compared with those of the model


@click.command()
@arguments.model
@arguments.data
@arguments.table_out
@arguments.threshold
@arguments.costs
@arguments.force
@arguments.encoding
def predict(
    model: str,
    data: tuple[str, ...],
    output: str,
    threshold: Any,
    costs: Any,
    force: bool,
    encoding: str,
) -> None:
    """Add the likeliest class and probabilities to a table.

    All columns of DATA are kept; `prediction` and `p(CLASS)` come after them. From CSV to CSV the
    lines stay as they are, byte for byte; in other formats a column of long numbers, or of numbers
    that begin with 0, is text. Rows are read and written as a stream.

    \b
    Examples:
      genus predict churn.genus customers.csv -o scored.parquet
      genus predict churn.genus customers.csv | head
      genus predict credit.genus new.csv --costs "good:bad=1,bad:good=5"
    """
    decision = arguments.decision_of(threshold, costs)
    predicted(model, data, output, encoding, force, decision)


def predicted(
    model: str,
    data: tuple[str, ...],
    output: str,
    encoding: str,
    force: bool = False,
    decision: Any = None,
) -> None:
    """Write a table and what a model says of its rows."""
    import pyarrow as pa

    from genus.cli.data import opened, tell_extra
    from genus.cli.errors import say
    from genus.cli.models import read_predictor
    from genus.cli.progress import rows_passing
    from genus.display.output import format_of, rows_to, rows_with_lines_to
    from genus.stacking.decision import Decision

    format_of(output)
    learned = read_predictor(model)
    _ = learned.model_.parameters  # a model that cannot be solved is refused before data is read
    rule = Decision.of(decision, learned.classes_)
    with opened(data, encoding) as source:
        tell_extra(source, learned)
        refuse_new(source, learned, force)
        lines = lines_for(output, source)
        source = source.unaltered() if lines is None else source
        empty = scored(pa.Table.from_batches([], source.schema), learned, rule)
        rows = 0
        if lines is None:
            out = rows_to(output, empty.schema)
        else:
            out = rows_with_lines_to(output, empty.schema, lines)
        with rows_passing("predict", source.rows) as progress, out as write:
            for batch in source.batches():
                for part in scored(batch, learned, rule).to_batches():
                    write(part)
                rows += batch.num_rows
                progress(batch.num_rows)
        if rows == 0:
            say(f"{source.name} has no rows; only the names of columns are written.")


def refuse_new(source: Any, model: Any, force: bool) -> None:
    """Raise if half of a column was never seen when the model was fitted; say so if forced."""
    from genus.cli.errors import say
    from genus.table import Frame, TableError
    from genus.table.drift import ENOUGH, HALF, of_frame

    model.plan_.require_columns(source.schema.names)
    some = Frame.of(source.look(LOOKED), model.plan_)
    cells, total = model.model_.statistics["cells"], float(model.model_.weights["rows"].sum())
    found = of_frame(some, cells, total)
    new = [str(one) for one in found if one.is_new]
    if new and not force:
        raise TableError(
            f"{' '.join(new)} Predictions would tell little. Give it as it was, fit again with "
            "such rows, or predict all the same with --force."
        )
    beyond = [str(one) for one in found if one.kind == "number" and one.unseen >= HALF]
    for told in [*new, *(beyond if len(some) >= ENOUGH else ())]:
        say(told)


def lines_for(output: str, source: Any) -> Any:
    """The lines of DATA, if they can be written as they are; else None."""
    from genus.display.output import DELIMITERS, format_of

    lines = None if source.lines is None else source.lines()
    if lines is None or lines.head is None:
        return None
    written = DELIMITERS.get(format_of(output))
    same = written is not None and (lines.delimiter == "\t") == (written == "\t")
    return lines if same else None


def scored(rows: Any, model: Any, rule: Any = None) -> Any:
    """An Arrow table of rows, and what the model says of each; `rule` decides for a class."""
    import numpy as np

    from genus.table.predictions import with_predictions

    model.plan_.require_columns(rows.schema.names)
    p = model.predict_proba(rows) if rows.num_rows else np.zeros((0, len(model.classes_)))
    decided = p.argmax(axis=1) if rule is None else rule.decide(p)
    return with_predictions(rows, model.classes_, decided, p)
