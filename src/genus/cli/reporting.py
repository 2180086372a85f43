"""genus report."""

from __future__ import annotations

import click

from genus.cli import arguments
from genus.cli.arguments import File, model_and_data


@click.command()
@click.argument("given", type=File("DATA"), nargs=-1, required=True, metavar="[MODEL] [DATA...]")
@arguments.target
@click.option(
    "-o",
    "--output",
    type=File("OUT"),
    default="report.html",
    show_default=True,
    help="The HTML page to write.",
)
@arguments.families
@arguments.ignore
@arguments.encoding
def report(
    given: tuple[str, ...],
    target: str | None,
    output: str,
    families: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    encoding: str,
) -> None:
    """Write an HTML page about a model or a table.

    \b
    Examples:
      genus report churn.genus -o churn.html
      genus report customers.csv --target churned -o customers.html
    """
    from contextlib import nullcontext

    from genus.cli.data import opened
    from genus.cli.errors import say
    from genus.cli.fitting import classifier
    from genus.cli.models import read_table_model, refuse_out
    from genus.report import write

    path, data = model_and_data(given, target)
    if path is not None and (families or ignore):
        raise click.UsageError(
            "--family and --ignore cannot be used with MODEL, which is already fitted. Leave them "
            "out, or leave MODEL out."
        )
    refuse_out(output, *given)
    if path is None:
        assert target is not None
        model = classifier(target, families, ignore)
    else:
        model = read_table_model(path)
    wanted = target or (None if path is None else model.plan_.target)
    with opened(data, encoding) if data else nullcontext(None) as source:
        write(model, source, wanted, output)
    say(f"Wrote {output}.")
