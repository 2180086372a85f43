"""genus explain."""

from __future__ import annotations

from typing import Any

import click

from genus.cli import arguments

MOST = 20  # columns that are listed
WIDEST = 44  # characters of a column and its value
BAR = 20  # characters of the strongest evidence


@click.command()
@arguments.model
@arguments.data
@click.option(
    "--row",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Which row, counted from 1.",
)
@arguments.encoding
def explain(model: str, data: tuple[str, ...], row: int, encoding: str) -> None:
    """Say what speaks for and against the class of a row.

    Evidence is in bits: +1 makes the likeliest class twice as likely against the next.

    \b
    Example:
      genus explain churn.genus customers.csv --row 12
    """
    from genus.cli.data import opened, tell_extra
    from genus.cli.models import read_table_model

    learned = read_table_model(model)
    with opened(data, encoding) as source:
        tell_extra(source, learned)
        one = the_row(source, row)
        click.echo(told(learned, one, row))


def the_row(source: Any, number: int) -> Any:
    """An Arrow table of one row."""
    import pyarrow as pa

    from genus.table import TableError

    passed = 0
    for batch in source.batches():
        if number <= passed + batch.num_rows:
            return pa.Table.from_batches([batch.slice(number - 1 - passed, 1)])
        passed += batch.num_rows
    raise TableError(f"{source.name} has {passed:,} rows; there is no row {number:,}.")


def told(model: Any, one: Any, number: int) -> str:
    """The verdict on a row, and the evidence for it and against it."""
    import numpy as np

    from genus.cli.scores import bold, short

    explanation = model.explain(one)
    p = model.predict_proba(one)[0]
    order = np.argsort(-p, kind="stable")
    first, second = explanation.classes[order[0]], explanation.classes[order[1]]
    bits = explanation.log_odds(first, second)[0] / np.log(2)
    shares = ", ".join(f"{short(model.classes_[k])} {100 * p[k]:.1f} %" for k in order[:6])
    lines = [f"{bold(f'Row {number:,}')}: {shares}"]
    lines += the_truth(model, one)
    names = [named(name, one.column(name)[0].as_py()) for name in explanation.features]
    telling = [j for j in np.argsort(-np.abs(bits[:-1]), kind="stable") if bits[j] != 0]
    shown, rest = telling[:MOST], telling[MOST:]
    for side, sign in (
        (f"For {short(first)} rather than {short(second)}, in bits", 1),
        ("Against", -1),
    ):
        own = [(names[j], bits[j]) for j in shown if sign * bits[j] > 0]
        if own:
            lines += ["", bold(side), *table(own, np.abs(bits[:-1]).max())]
    others = [("(before any column)", bits[-1])]
    if rest:
        others.insert(0, (f"({len(rest)} more columns)", bits[rest].sum()))
    lines += ["", *table([*others, ("sum", bits.sum())], 0.0)]
    return "\n".join(lines)


def the_truth(model: Any, one: Any) -> list[str]:
    """The class that the row says it has, if it does."""
    target = model.plan_.target
    if target is None or target not in one.column_names:
        return []
    own = one.column(target)[0].as_py()
    return [] if own is None else [f"In the data, {named(target, own)}."]


def named(name: str, value: Any) -> str:
    """A column and its value, on one line."""
    from genus.report.shown import name as shown

    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shown(f"{name} = {'missing' if value is None else text}", WIDEST)


def table(lines: list[tuple[str, float]], strongest: float) -> list[str]:
    """Evidence below each other, with a bar beside it."""
    return [
        f"  {name:{WIDEST}} {bits:+8.3f}  {'█' * bar(bits, strongest)}".rstrip()
        for name, bits in lines
    ]


def bar(bits: float, strongest: float) -> int:
    return round(BAR * min(abs(bits) / strongest, 1.0)) if strongest > 0 else 0
