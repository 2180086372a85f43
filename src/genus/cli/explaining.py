"""genus explain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from genus.cli import arguments

MOST = 20  # columns that are listed
WIDEST = 44  # characters of a column and its value
WIDEST_COLUMN, LEAST_VALUE, WIDEST_CLASS = 30, 14, 24  # characters
BAR = 20  # characters of the longest bar
STDOUT = "-"
MOST_ROWS = 4096  # rows that are explained at a time
MOST_NUMBERS = 1 << 21  # rows times columns times classes


@click.command()
@arguments.model
@arguments.data
@click.option(
    "--row",
    type=click.IntRange(min=1),
    metavar="N",
    help="The row, counted from 1.  [default: 1]",
)
@click.option(
    "--all", "every", is_flag=True, help="Write the contributions of all rows as a table."
)
@click.option("--class", "label", metavar="NAME", help="Explain the log-odds of this class.")
@click.option("--against", metavar="NAME", help="Compare with this class.")
@arguments.as_json
@arguments.table_out
@arguments.encoding
def explain(
    model: str,
    data: tuple[str, ...],
    row: int | None,
    every: bool,
    label: str | None,
    against: str | None,
    as_json: bool,
    output: str,
    encoding: str,
) -> None:
    """Explain the prediction for a row.

    Each line is the contribution of a column to the log-odds of the most probable class against the
    next: +0.69 doubles the odds, +2.3 makes them ten times as large. Together with the shares of
    the classes, the contributions add up to the log-odds of the prediction. The words of a text are
    listed below it.

    With --all, writes a table with a line for each row of DATA. Its columns are `row`, the number
    of the row; `prediction`; `class` and `against`, the two classes that are compared; `log_odds`;
    `baseline`, the log-odds of the shares of both classes; and `contribution(COLUMN)` for every
    column. By default, `class` is the second of two classes; with more classes, `class` is the
    prediction, and `against` the next most probable class. --class and --against change that.

    \b
    Examples:
      genus explain churn.genus customers.csv --row 12
      genus explain churn.genus customers.csv --all -o why.parquet
    """
    from genus.cli.data import opened, tell_extra
    from genus.cli.models import read_table_model, refuse_overwriting
    from genus.cli.predicting import refuse_new
    from genus.cli.results import printed

    if every and row is not None:
        raise click.UsageError("--all explains every row, --row only one. Give only one of them.")
    if every and as_json:
        raise click.UsageError("--all writes a table. Give -o FILE.jsonl for lines of JSON.")
    if not every and output != STDOUT:
        raise click.UsageError(
            "--output writes the table that --all makes, but --all is missing. Add --all."
        )
    if every:
        from genus.display.output import format_of

        format_of(output)
        refuse_overwriting(output, model, *data)
    learned = read_table_model(model)
    chosen = [None if name is None else known_class(learned, name) for name in (label, against)]
    if chosen[0] is not None and chosen[0] == chosen[1]:
        raise click.UsageError("--class and --against are the same. Name two classes.")
    with opened(data, encoding, texts=learned.plan_.texts) as source:
        tell_extra(source, learned)
        refuse_new(source, learned, force=True)
        if every:
            write_all(learned, source, output, *chosen)
        else:
            number = row or 1
            why = Why.of(learned, the_row(source, number), *chosen)
            if as_json:
                printed(as_object(why, number))
            else:
                click.echo(told(why, number))


def known_class(model: Any, name: str) -> Any:
    """Return the class with this name; raise an error if there is none."""
    for label in model.classes_.tolist():
        if str(label) == name:
            return label
    from genus.cli.scores import short

    listed = ", ".join([*short(model.classes_.tolist()).values()][:10])
    raise click.UsageError(f"There is no class {name!r}. The classes are {listed}.")


def write_all(model: Any, source: Any, output: str, label: Any, against: Any) -> None:
    """Write the contributions of all rows of a source, in chunks."""
    import pyarrow as pa

    from genus.cli.errors import say, say_written
    from genus.cli.progress import rows_passing
    from genus.display.output import rows_to

    before = os.path.exists(output)
    model.plan_.require_columns(source.schema.names)
    if len(model.classes_) < 2:
        raise ValueError(
            f"The model has only one class, {model.classes_[0]}, so there is no other to compare "
            "with."
        )
    size = max(min(MOST_NUMBERS // (len(model.plan_) * len(model.classes_)), MOST_ROWS), 1)
    empty = pa.Table.from_batches([], source.schema)
    schema = contributions(model, empty, 0, label, against).schema
    rows = 0
    with rows_passing("explain", source) as progress, rows_to(output, schema) as write:
        for batch in source.batches():
            for start in range(0, batch.num_rows, size):
                part = pa.Table.from_batches([batch.slice(start, size)])
                for own in contributions(model, part, rows, label, against).to_batches():
                    write(own)
                rows += part.num_rows
                progress(part.num_rows)
    if rows == 0:
        say(f"{source.name} has no rows; only the column names are written.")
    say_written(output, rows, before)


def contributions(model: Any, rows: Any, before: int, label: Any, against: Any) -> Any:
    """Return an Arrow table of contributions; the first row has the number `before` + 1."""
    import numpy as np
    import pyarrow as pa

    from genus.arrays import arrow

    K, m = len(model.classes_), rows.num_rows
    if m:
        found = model.explain(rows)
        joint, terms = found.joint, found.contributions
    else:
        joint, terms = np.zeros((0, K)), np.zeros((0, len(model.plan_), K))
    at, best = np.arange(m), joint.argmax(axis=1)
    first, second = compared(model, joint, label, against)
    odds = terms[at, :, first] - terms[at, :, second]
    prior = model.model_.log_prior
    labels = arrow.labels(model.classes_)
    columns = {
        "row": arrow.numbers(before + 1 + at),
        "prediction": labels.take(arrow.numbers(best)),
        "class": labels.take(arrow.numbers(first)),
        "against": labels.take(arrow.numbers(second)),
        "log_odds": arrow.numbers(joint[at, first] - joint[at, second]),
        "baseline": arrow.numbers(prior[first] - prior[second]),
    }
    names = [column.name for column in model.plan_.used]
    columns |= {f"contribution({name})": arrow.numbers(odds[:, j]) for j, name in enumerate(names)}
    return pa.table(columns)


def compared(model: Any, joint: Any, label: Any, against: Any) -> tuple[Any, Any]:
    """Return the positions of the two classes to compare in each row, (m,) each.

    By default they are the second and the first of two classes; with more, the two most probable.
    """
    import numpy as np

    places = {name: k for k, name in enumerate(model.classes_.tolist())}
    if len(places) == 2 and label is None and against is None:
        label, against = model.classes_.tolist()[::-1]
    order = np.argsort(-joint, axis=1, kind="stable")

    def likeliest(but: Any) -> Any:
        others = np.where(order[:, 0] == but, order[:, 1], order[:, 0])
        return others.astype(np.int64)

    if label is not None:
        first = np.full(len(joint), places[label])
        second = likeliest(first) if against is None else np.full(len(joint), places[against])
        return first, second
    second = order[:, 1] if against is None else np.full(len(joint), places[against])
    return likeliest(second), second


def the_row(source: Any, number: int) -> Any:
    """Return one row as an Arrow table."""
    import pyarrow as pa

    from genus.table import TableError

    passed = 0
    for batch in source.batches():
        if number <= passed + batch.num_rows:
            return pa.Table.from_batches([batch.slice(number - 1 - passed, 1)])
        passed += batch.num_rows
    raise TableError(f"{source.name} has {passed:,} rows, so there is no row {number:,}.")


@dataclass(frozen=True, eq=False)
class Why:
    """The explanation of one row: p of each class, and the log-odds of `first` against `second`.

    `odds` (n + 1,) are the contributions of the columns and the baseline, and `values` (n,) the
    values of the columns. `truth` is the name of the target and its value in the row, if known.
    """

    explanation: Any
    p: Any
    first: Any
    second: Any
    odds: Any
    values: list[Any]
    truth: tuple[str, Any] | None

    @classmethod
    def of(cls, model: Any, one: Any, label: Any = None, against: Any = None) -> Why:
        """Explain a table's only row for one class against another."""
        import numpy as np

        explanation = model.explain(one)
        p = model.predict_proba(one)[0]
        likeliest = [explanation.classes[k] for k in np.argsort(-p, kind="stable")]
        first = next(k for k in likeliest if k != against) if label is None else label
        second = next(k for k in likeliest if k != first) if against is None else against
        odds = explanation.log_odds(first, second)[0]
        known = set(one.column_names)  # parts of dates are not among them
        values = [
            cell(one.column(name)) if name in known else explanation.values[0, j]
            for j, name in enumerate(explanation.features)
        ]
        target = model.plan_.target
        own = one.column(target)[0].as_py() if target in known else None
        truth = None if own is None else (target, own)
        return cls(explanation, p, first, second, odds, values, truth)


def cell(column: Any) -> Any:
    """Return the only value of a column, with the fewest digits that identify it in its type."""
    import pyarrow.types as pt

    value = column[0].as_py()
    if value is None or not (pt.is_float16(column.type) or pt.is_float32(column.type)):
        return value
    return float(str(column.type.to_pandas_dtype()(value)))


def as_object(why: Why, number: int) -> dict[str, Any]:
    """Return an explanation for JSON, with all contributions and words, the largest first."""
    import numpy as np

    labels = [str(label) for label in why.explanation.classes.tolist()]
    contributions = []
    for j in np.argsort(-np.abs(why.odds[:-1]), kind="stable").tolist():
        name, value = why.explanation.features[j], why.values[j]
        odds = float(why.odds[j])
        own = {"column": name, "value": value, "contribution": odds}
        if name in why.explanation.words:
            words = dict(why.explanation.word_log_odds(name, 0, why.first, why.second))
            own |= {"words": words, "not due to any word": odds - sum(words.values())}
        contributions.append(own)
    return {
        "row": number,
        "prediction": labels[int(why.p.argmax())],
        "probabilities": dict(zip(labels, why.p.tolist(), strict=True)),
        "class": str(why.first),
        "against": str(why.second),
        "log_odds": float(why.odds.sum()),
        "baseline": float(why.odds[-1]),
        "contributions": contributions,
        "truth": None if why.truth is None else why.truth[1],
    }


def told(why: Why, number: int) -> str:
    """Return lines with the prediction for a row and the contributions for and against it."""
    import numpy as np

    from genus.cli.scores import bold, short

    odds, first, second = why.odds, why.first, why.second
    order = np.argsort(-why.p, kind="stable")[:6]
    label = short(why.explanation.classes.tolist(), WIDEST_CLASS)
    classes = [*label.values()]
    shares = (f"{classes[k]} {100 * why.p[k]:.1f} %" for k in order)
    lines = [f"{bold(f'Row {number:,}')}: {', '.join(shares)}"]
    lines += [] if why.truth is None else [f"In the data, {named([why.truth])[0]}."]
    names = named([*zip(why.explanation.features, why.values, strict=True)])
    telling = [j for j in np.argsort(-np.abs(odds[:-1]), kind="stable") if odds[j] != 0]
    shown, rest = telling[:MOST], telling[MOST:]
    width = max([WIDEST, *(len(names[j]) for j in shown)])
    for side, sign in (
        (f"For {label[first]} rather than {label[second]}, in log-odds", 1),
        ("Against", -1),
    ):
        own: list[tuple[str, float]] = []
        for j in shown:
            if sign * odds[j] > 0:
                own.append((names[j], odds[j]))
                found = words(why.explanation, j, first, second)
                own += [(f"    {word}", odd) for word, odd in found]
        if own or sign > 0:
            listed = table(own, np.abs(odds[:-1]).max(initial=0.0), width) or ["  (no column)"]
            lines += ["", bold(side), *listed]
    others = [(why.explanation.rest, odds[-1])]
    if rest:
        others.insert(0, (f"({len(rest)} more columns)", odds[rest].sum()))
    lines += ["", *table([*others, ("sum", odds.sum())], 0.0, width)]
    return "\n".join(lines)


def words(explanation: Any, j: int, first: Any, second: Any) -> list[tuple[str, float]]:
    """Return the words of a text that contribute most; none if the column holds no texts."""
    from genus.display.text import names

    column = explanation.features[j]
    if column not in explanation.words:
        return []
    found = explanation.strongest_words(column, 0, first, second)
    shown = names([word for word, _ in found], WIDEST - 4)
    return [(word, odds) for word, (_, odds) in zip(shown, found, strict=True)]


def named(cells: Sequence[tuple[str, Any]]) -> list[str]:
    """Return columns with their values, on one line each."""
    from genus.display.text import name as shown
    from genus.display.text import names

    def as_text(value: Any) -> str:
        text = str(value).removesuffix(".0") if isinstance(value, float) else str(value)
        return "missing" if value is None else text

    columns = names([name for name, _ in cells], WIDEST_COLUMN)
    return [
        f"{column} = {shown(as_text(value), max(WIDEST - 3 - len(column), LEAST_VALUE))}"
        for column, (_, value) in zip(columns, cells, strict=True)
    ]


def table(lines: list[tuple[str, float]], strongest: float, width: int) -> list[str]:
    """Return lines of contributions with bars."""
    return [
        f"  {name:{width}} {odds:+8.3f}  {'█' * bar(odds, strongest)}".rstrip()
        for name, odds in lines
    ]


def bar(odds: float, strongest: float) -> int:
    return round(BAR * min(abs(odds) / strongest, 1.0)) if strongest > 0 else 0
