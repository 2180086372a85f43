"""genus predict."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
    """Add predicted classes and probabilities to a table.

    All columns of DATA are kept; `prediction` and `p(CLASS)` are added after them. If DATA and OUT
    are both CSV or both JSON lines, the text of the lines is copied unchanged, in UTF-8; in CSV,
    the probabilities have a decimal comma if numbers in DATA do. Otherwise, columns of very long
    numbers, of numbers with leading zeros, or of times such as 7:05 become text; in CSV and JSON
    lines, dates stay as they are written. Rows are written as they are read, so a table may be
    larger than memory.

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
    """Write a table with a model's predictions to a file."""
    from genus.cli.data import opened, tell_extra
    from genus.cli.errors import say, say_written
    from genus.cli.models import read_predictor, refuse_overwriting
    from genus.cli.progress import rows_passing
    from genus.display.output import TEXTS, format_of, rows_to, rows_with_lines_to
    from genus.stacking.decision import Decision

    format_of(output)
    refuse_overwriting(output, model)
    before = os.path.exists(output)
    learned = read_predictor(model)
    _ = learned.model_.parameters  # if a model cannot be solved, fail before data is read
    rule = Decision.of(decision, learned.classes_)
    with opened(data, encoding, texts=learned.plan_.texts) as source:
        tell_extra(source, learned)
        refuse_new(source, learned, force)
        lines = lines_for(output, source)
        kept = source if lines else source.unaltered(as_text=format_of(output) in TEXTS)
        empty = scored(source.schema.empty_table(), kept.schema.empty_table(), learned, rule)
        rows = 0
        if lines is None:
            out = rows_to(output, empty.schema)
        else:
            with_semicolons = getattr(lines, "delimiter", "").strip() == ";"
            comma = with_semicolons and has_commas(source.look(LOOKED), learned.plan_)
            out = rows_with_lines_to(output, empty.schema, lines, comma)
        with rows_passing("predict", source) as progress, out as write:
            for batch, own in side_by_side(source, kept):
                for part in scored(batch, own, learned, rule).to_batches():
                    write(part)
                rows += batch.num_rows
                progress(batch.num_rows)
        if rows == 0:
            say(f"{source.name} has no rows; only the column names are written.")
    say_written(output, rows, before)


def refuse_new(source: Any, model: Any, force: bool) -> None:
    """Raise an error if most categories of a column are unexpectedly new; if `force`, only warn.

    Also warn if at least half of a column's numbers are outside the range that the model has seen,
    or if a column has no values.
    """
    from genus.cli.errors import say
    from genus.table import Frame, TableError
    from genus.table.drift import ENOUGH, HALF, empty_columns, of_frame

    try:
        model.plan_.require_columns(source.columns)
    except TableError as error:
        lacking = next(c for c in model.plan_.used if c.source not in source.columns)
        raise TableError(f"{error}{source.title_above(lacking.source)}") from None
    some = Frame.of(source.look(LOOKED), model.plan_)
    statistics, total = model.model_.statistics, float(model.model_.weights["rows"].sum())
    found = of_frame(some, statistics["cells"], total)
    new = [str(one) for one in found if one.is_new]
    if new and not force:
        raise TableError(
            f"{' '.join(new)} Predictions would be unreliable. Encode the column as before, "
            "fit again with such rows, or predict anyway with --force."
        )
    beyond = [str(one) for one in found if one.kind == "number" and one.unseen >= HALF]
    empty = empty_columns(some, found, statistics, total)
    for told in [*new, *(beyond if len(some) >= ENOUGH else ()), *empty]:
        say(told)


def has_commas(rows: Any, plan: Any) -> bool:
    """Return whether some numbers in rows have decimal commas, such as 1.357,72."""
    import pyarrow.compute as pc

    from genus.arrays import arrow
    from genus.table.numerals import COMMA, IN, NUMBERS, decimal_of, reading_of, without
    from genus.table.plan import unmarked

    for name, values in zip(rows.column_names, rows.columns, strict=True):
        if not arrow.is_text(values.type):
            continue
        texts = unmarked(values)
        written = plan.readings.get(name, ("", ""))[1]
        if decimal_of(written) == COMMA:
            bare, _, unit = written.partition(IN)
            texts = without(texts, unit) if unit else texts
            fits = pc.match_substring_regex(texts, f"^(?:{NUMBERS[bare].pattern})")
            texts = texts.filter(pc.and_(fits, pc.match_substring_regex(texts, "[.,]")))
        elif decimal_of(reading_of(texts)) != COMMA:
            continue
        if len(texts):
            return True
    return False


def lines_for(output: str, source: Any) -> Any:
    """Return the lines of DATA if they can be copied unchanged, else None."""
    from genus.display.output import DELIMITERS, format_of
    from genus.table.read.lines import Objects

    lines = None if source.lines is None else source.lines()
    written = format_of(output)
    if isinstance(lines, Objects):
        return lines if written == "json" else None
    if lines is None or lines.head is None or written not in DELIMITERS:
        return None
    return lines if (lines.delimiter == "\t") == (DELIMITERS[written] == "\t") else None


def side_by_side(source: Any, kept: Any) -> Iterator[tuple[Any, Any]]:
    """Yield batches of the same rows of two sources; they are read once if they are the same."""
    if kept is source:
        yield from ((batch, batch) for batch in source.batches())
        return
    from genus.table import TableError

    others = kept.batches()
    other = None
    for batch in source.batches():
        while batch.num_rows:
            while other is None or not other.num_rows:
                other = next(others, None)
                if other is None:
                    raise TableError(f"{source.name} changed while it was read. Copy it first.")
            rows = min(batch.num_rows, other.num_rows)
            yield batch.slice(0, rows), other.slice(0, rows)
            batch, other = batch.slice(rows), other.slice(rows)


def scored(rows: Any, kept: Any, model: Any, rule: Any = None) -> Any:
    """Return the rows `kept` with the predictions for `rows`; `rule` chooses the class."""
    import numpy as np

    from genus.table.predictions import with_predictions

    model.plan_.require_columns(rows.schema.names)
    p = model.predict_proba(rows) if rows.num_rows else np.zeros((0, len(model.classes_)))
    decided = p.argmax(axis=1) if rule is None else rule.decide(p)
    return with_predictions(kept, model.classes_, decided, p)
