"""genus check."""

from __future__ import annotations

import click

from genus.cli import arguments


@click.command()
@arguments.model
@arguments.data
@arguments.as_json
@arguments.encoding
def check(model: str, data: tuple[str, ...], as_json: bool, encoding: str) -> None:
    """Compare DATA with the rows that a model has seen.

    Lists how far each column has moved: the share of rows that would have to change for the column
    to have its former distribution. A star marks columns whose distribution or share of missing
    values clearly changed. It also marks columns in which at least half of the values are new
    categories, if few new ones were expected. Texts, and columns with fewer than 20 values, are
    compared only by the share of missing values. Also reports how many rows are very unlikely under
    the model.

    \b
    Example:
      genus check churn.genus next-year.csv
    """
    from genus.cli.data import opened, tell_extra
    from genus.cli.models import read_table_model
    from genus.cli.results import printed

    learned = read_table_model(model)
    with opened(data, encoding, texts=learned.plan_.texts) as source:
        tell_extra(source, learned)
        found = learned.drift(source)
    if as_json:
        printed(found)
    else:
        click.echo(str(found))
