"""genus show."""

from __future__ import annotations

import os
from typing import Any

import click

from genus.cli import arguments

MOST_CLASSES = 20


@click.command()
@arguments.model
@arguments.as_json
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="COL",
    help="Show how the odds depend on this column; give it twice for two columns.",
)
def show(model: str, as_json: bool, columns: tuple[str, ...]) -> None:
    """Show what a model has learned.

    Lists the columns: `moves` is the mean absolute contribution of a column to the log-odds.
    `bits` is the gain of a column: how much information about the class it gives, as its family
    models it, in bits per row. With --column, shows the contribution of a column to the log-odds
    for each category or range of numbers: the mean over the rows with such a value, and the range
    of the middle 80 % of these rows.

    \b
    Examples:
      genus show churn.genus
      genus show churn.genus --column age
      genus show churn.genus --column age --column plan
    """
    from genus.cli.models import read, read_table_model
    from genus.cli.results import printed
    from genus.display.text import count

    if len(columns) > 2:
        raise click.UsageError(
            f"--column is given {len(columns)} times. Give it once, or twice for two columns."
        )
    if columns:
        learned = read_table_model(model)
        found = learned.dependence_on(*columns)
        if as_json:
            printed(odds_by_value(found, columns, learned.classes_.tolist()))
        else:
            click.echo(str(found))
        return
    learned = read(model)
    if as_json:
        printed(as_object(learned))
        return
    size = f", {os.path.getsize(model):,} bytes" if os.path.isfile(model) else ""
    click.echo(f"{type(learned).__name__}{size}")
    options = changed(learned)
    if options:
        click.echo(f"options: {options}")
    if not learned.class_count_.sum():
        click.echo("0 rows: this is a plan, or all rows were forgotten")
    elif hasattr(learned, "summary"):
        target = learned.plan_.target
        if target is not None:
            click.echo(f"predicts {target!r} from {count(learned.n_features_in_, 'column')}")
        click.echo(str(learned.summary()))
    else:
        click.echo(plain(learned))


def as_object(model: Any) -> dict[str, Any]:
    """Return what a model has learned as an object for JSON."""
    found: dict[str, Any] = {
        "model": type(model).__name__,
        "options": model.get_params(deep=False),
        "rows": model.class_count_.sum(),
        "classes": [
            {"label": label, "rows": rows}
            for label, rows in zip(
                model.classes_.tolist(), model.class_count_.tolist(), strict=True
            )
        ],
    }
    if hasattr(model, "plan_"):
        found["target"] = model.plan_.target
    if hasattr(model, "summary") and found["rows"]:
        summary = model.summary()
        found |= {
            "columns": summary.columns,
            "left out": summary.left_out,
            "experts": {
                name: {"weight": weight, "log loss": loss}
                for name, (weight, loss) in summary.experts.items()
            },
            "out of fold": summary.worth,
        }
    return found


def odds_by_value(found: Any, columns: tuple[str, ...], classes: list[Any]) -> dict[str, Any]:
    """Return how the odds depend on one or two columns as an object for JSON.

    The log-odds of each class are against the mean of the others.
    """
    both = [found] if len(columns) == 1 else [found.first, found.second]
    odds = [(label, found.log_odds(label)) for label in classes]
    return {
        "columns": [{"name": one.column, "values": one.values} for one in both],
        "share": found.share,
        "classes": [
            {"label": label, **(own._asdict() if len(columns) == 1 else {"mean": own})}
            for label, own in odds
        ],
    }


def changed(model: Any) -> str:
    """Return the options that differ from their defaults."""
    usual = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    return ", ".join(
        f"{name}={value!r}"
        for name, value in given.items()
        if repr(listed(value)) != repr(listed(usual[name]))
    )


def listed(value: Any) -> Any:
    """Convert a tuple to a list, because a model file holds lists only."""
    return list(value) if isinstance(value, tuple) else value


def plain(model: Any) -> str:
    """Return lines that list a model's classes with their rows, and its columns."""
    from genus.cli.scores import bold, short

    counts = dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))
    rows = sum(counts.values())
    what = "texts" if type(model).__name__ == "TextClassifier" else "rows"
    lines = [f"{rows:,.10g} {what} of {len(counts)} classes"]
    names = list(getattr(model, "feature_names_in_", []))
    if what == "rows":
        listed = f": {', '.join(map(str, names[:20]))}" if names else ""
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        lines.append(f"{model.n_features_in_} columns{listed}{more}")
    order = sorted(counts.items(), key=lambda item: -item[1])
    labels = short([*counts])
    width = max(16, *(len(labels[label]) for label, _ in order[:MOST_CLASSES]), 0)
    if model.class_count_.size:
        lines += ["", bold(f"{'class':{width}}  {what:>12}   share")]
    lines += [
        f"{labels[label]:{width}}  {n:12,.10g}  {100 * n / max(rows, 1e-300):4.1f} %"
        for label, n in order[:MOST_CLASSES]
    ]
    lines += [f"({len(order) - MOST_CLASSES} more)"] if len(order) > MOST_CLASSES else []
    return "\n".join(lines)
