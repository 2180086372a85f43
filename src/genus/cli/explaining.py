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

    Evidence is in log-odds, as elsewhere: +0.69 doubles the odds of the likeliest class against the
    next, +2.3 makes them ten times as large. Below a text are its words.

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
    odds = explanation.log_odds(first, second)[0]
    shares = ", ".join(f"{short(model.classes_[k])} {100 * p[k]:.1f} %" for k in order[:6])
    lines = [f"{bold(f'Row {number:,}')}: {shares}"]
    lines += the_truth(model, one)
    names = [named(name, one.column(name)[0].as_py()) for name in explanation.features]
    telling = [j for j in np.argsort(-np.abs(odds[:-1]), kind="stable") if odds[j] != 0]
    shown, rest = telling[:MOST], telling[MOST:]
    for side, sign in (
        (f"For {short(first)} rather than {short(second)}, in log-odds", 1),
        ("Against", -1),
    ):
        own = []
        for j in shown:
            if sign * odds[j] > 0:
                own.append((names[j], odds[j]))
                own += [(f"    {word}", odd) for word, odd in words(explanation, j, first, second)]
        if own:
            lines += ["", bold(side), *table(own, np.abs(odds[:-1]).max())]
    others = [("(before any column)", odds[-1])]
    if rest:
        others.insert(0, (f"({len(rest)} more columns)", odds[rest].sum()))
    lines += ["", *table([*others, ("sum", odds.sum())], 0.0)]
    return "\n".join(lines)


def words(explanation: Any, j: int, first: Any, second: Any) -> list[tuple[str, float]]:
    """The strongest words of a column, if it is one of texts."""
    from genus.display.text import name

    column = explanation.features[j]
    if column not in explanation.words:
        return []
    found = explanation.strongest_words(column, 0, first, second)
    return [(name(word, WIDEST - 4), odds) for word, odds in found]


def the_truth(model: Any, one: Any) -> list[str]:
    """The class that the row says it has, if it does."""
    target = model.plan_.target
    if target is None or target not in one.column_names:
        return []
    own = one.column(target)[0].as_py()
    return [] if own is None else [f"In the data, {named(target, own)}."]


def named(name: str, value: Any) -> str:
    """A column and its value, on one line."""
    from genus.display.text import name as shown

    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shown(f"{name} = {'missing' if value is None else text}", WIDEST)


def table(lines: list[tuple[str, float]], strongest: float) -> list[str]:
    """Evidence below each other, with a bar beside it."""
    return [
        f"  {name:{WIDEST}} {odds:+8.3f}  {'█' * bar(odds, strongest)}".rstrip()
        for name, odds in lines
    ]


def bar(odds: float, strongest: float) -> int:
    return round(BAR * min(abs(odds) / strongest, 1.0)) if strongest > 0 else 0
