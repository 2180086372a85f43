"""genus plan."""

from __future__ import annotations

import click

from genus.cli import arguments
from genus.cli.arguments import File


@click.command()
@arguments.data
@arguments.needed_target
@click.option("-o", "--output", type=File("PLAN"), required=True, help="The plan file.")
@arguments.families
@arguments.ignore
@arguments.encoding
def plan(
    data: tuple[str, ...],
    target: str,
    output: str,
    families: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    encoding: str,
) -> None:
    """Decide how columns are read, for models that are to be merged.

    Reads some of the rows, and counts none. Models that are fitted with one plan, on any machine,
    merge exactly into the model of all rows. A plan is a model without rows: it holds the names and
    types of columns, the ranges into which numbers are divided, and hashes of frequent categories.

    \b
    Example:
      genus plan south.csv north.csv --target churned -o plan.genus
      genus fit south.csv --target churned --plan plan.genus
      genus fit north.csv --target churned --plan plan.genus
      genus add south.genus north.genus -o all.genus
    """
    from genus.cli import models
    from genus.cli.data import opened
    from genus.cli.errors import say
    from genus.cli.fitting import classifier

    models.refuse_out(output, *data)
    models.refuse_name(output)
    with opened(data, encoding) as source:
        source.require(target)
        planned = classifier(target, families, ignore).plan(source, target=target)
    models.write(planned, output)
    used, left_out = planned.plan_.used, planned.plan_.left_out
    width = max(len(column.name) for column in planned.plan_.columns)
    for column in (*used, *left_out):
        told = ", ".join(filter(None, [column.kind or "left out", column.note]))
        click.echo(f"{column.name:{width}}  {told}", err=output == models.STDIO)
    say(f"Wrote {output}, a plan for {len(used)} column{'s' if len(used) != 1 else ''}.")
