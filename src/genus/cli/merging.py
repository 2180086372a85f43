"""genus add and genus forget."""

from __future__ import annotations

import click

from genus.cli import arguments
from genus.cli.arguments import File


@click.command()
@click.argument("models", type=File("MODEL"), nargs=-1, required=True, metavar="MODEL MODEL...")
@click.option("-o", "--output", type=File("MODEL"), required=True, help="The model of all rows.")
def add(models: tuple[str, ...], output: str) -> None:
    """Merge models into that of all their rows.

    \b
    Example:
      genus fit south.csv --target churned
      genus fit north.csv --target churned --like south.genus
      genus add south.genus north.genus -o all.genus
    """
    from functools import reduce
    from operator import add

    from genus.cli.errors import say
    from genus.cli.models import read, write

    if len(models) < 2:
        raise click.UsageError("Give two models or more.")
    read_ones = [read(path) for path in models]
    for path, one in zip(models, read_ones, strict=True):
        if type(one) is not type(read_ones[0]):
            first = type(read_ones[0]).__name__
            raise ValueError(
                f"{models[0]} is a {first} and {path} a {type(one).__name__}; models of one kind "
                "can be added."
            )
    merged = reduce(add, read_ones)
    write(merged, output)
    say(f"Wrote {output}, of {merged.class_count_.sum():,.10g} rows.")


@click.command()
@arguments.model
@arguments.data
@click.option("-o", "--output", type=File("MODEL"), required=True, help="The model without them.")
@arguments.encoding
def forget(model: str, data: tuple[str, ...], output: str, encoding: str) -> None:
    """Take rows out of a model, as if it had never seen them.

    \b
    Example:
      genus forget churn.genus withdrawn.csv -o churn.genus
    """
    from genus.cli.data import opened, tell_extra
    from genus.cli.errors import say
    from genus.cli.models import read_table_model, refuse_out, target_of, write

    refuse_out(output, *data)
    learned = read_table_model(model)
    before = learned.class_count_.sum()
    with opened(data, encoding) as source:
        tell_extra(source, learned)
        learned.forget(source, target=target_of(learned, model))
    write(learned, output)
    after = learned.class_count_.sum()
    say(f"Wrote {output}, of {after:,.10g} rows; {before - after:,.10g} are forgotten.")
