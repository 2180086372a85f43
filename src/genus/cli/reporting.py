"""genus report."""

from __future__ import annotations

import click

from genus.cli import arguments
from genus.cli.arguments import File


@click.command()
@click.argument("model_or_data", type=File("MODEL|DATA"), metavar="MODEL|DATA")
@click.argument("data", type=File("DATA"), required=False, metavar="[DATA]")
@click.option("--target", metavar="COL", help="The column to predict.  [default: the model's]")
@click.option(
    "-o",
    "--output",
    type=File("OUT"),
    default="report.html",
    show_default=True,
    help="The page to write.",
)
@arguments.encoding
def report(
    model_or_data: str, data: str | None, target: str | None, output: str, encoding: str
) -> None:
    """Write a page about a model or a table.

    \b
    Examples:
      genus report churn.genus -o churn.html
      genus report customers.csv --target churned -o customers.html
    """
    from contextlib import nullcontext

    from genus.cli.data import opened
    from genus.cli.models import is_model, read_table_model
    from genus.cli.troubles import say
    from genus.report import write

    model = read_table_model(model_or_data) if is_model(model_or_data) else None
    if model is None and data is not None:
        raise click.UsageError(f"{model_or_data} is no model. Give MODEL, DATA, or MODEL and DATA.")
    table = data if model is not None else model_or_data
    if model is None and target is None:
        raise click.UsageError("Without a model, --target COL must say what to predict.")
    wanted = target or (None if model is None else model.plan_.target)
    with nullcontext(None) if table is None else opened(table, encoding) as source:
        write(model, source, wanted, output)
    say(f"Wrote {output}.")
