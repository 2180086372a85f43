"""genus add and genus forget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from genus.cli import arguments
from genus.cli.arguments import File

MOST_NAMED = 10  # columns that only some models have


@click.command()
@click.argument("models", type=File("MODEL"), nargs=-1, required=True, metavar="MODEL MODEL...")
@click.option("-o", "--output", type=File("MODEL"), required=True, help="The merged model.")
def add(models: tuple[str, ...], output: str) -> None:
    """Merge models into the model of all their rows.

    \b
    Example:
      genus fit south.csv --target churned
      genus fit north.csv --target churned --plan south.genus
      genus add south.genus north.genus -o all.genus
    """
    from functools import reduce
    from operator import add

    from genus.cli.errors import note, say
    from genus.cli.models import read, refuse_name, refuse_out, write

    if len(models) < 2:
        raise click.UsageError("Give two or more models.")
    refuse_out(output)
    refuse_name(output)
    read_ones = [read(path) for path in models]
    for path, one in zip(models, read_ones, strict=True):
        if type(one) is not type(read_ones[0]):
            first = type(read_ones[0]).__name__
            raise ValueError(
                f"{models[0]} is a {first} and {path} a {type(one).__name__}. Only models of "
                "the same type can be merged."
            )
    merged = reduce(add, read_ones)
    write(merged, output)
    for one, other in same_files(models):
        note(f"{one} and {other} hold the same rows, which the merged model counts twice.")
    for line in lost(read_ones, merged):
        say(line)
    say(f"Wrote {output}, with {merged.class_count_.sum():,.10g} rows.")


def same_files(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that have the content of an earlier one, after that one; not stdin."""
    import hashlib

    from genus.cli.models import STDIO

    found: dict[bytes, int] = {}
    for i, path in enumerate(paths):
        if path == STDIO:
            continue
        with open(path, "rb") as file:
            first = found.setdefault(hashlib.file_digest(file, "sha256").digest(), i)
        if first != i:
            yield paths[first], path


def lost(parts: list[Any], merged: Any) -> list[str]:
    """Return lines that say what was lost because the models have different plans."""
    plan = getattr(merged, "plan_", None)
    if plan is None or all(part.plan_ == parts[0].plan_ for part in parts):
        return []
    lines = []
    kept = {column.name for column in plan.used}
    used = [{column.name for column in part.plan_.used} for part in parts]
    for names, told in (
        (
            set.union(*used) - kept,
            "one of the models leaves it out, so the merged model leaves it out, too",
        ),
        (
            kept - set.intersection(*used),
            "one of the models does not have it, so it counts as missing in the rows of that model",
        ),
    ):
        lines += [f"Note: column {name!r}: {told}." for name in sorted(names)[:MOST_NAMED]]
    if not merged.model_.statistics["sample"].is_complete:
        lines.append(
            "Note: the models were fitted with different plans, so they divide numbers into "
            "different cells. The merged model has only the cells that all of them share, and "
            "loses some precision. To avoid this, fit all of them with one plan (genus plan, "
            "genus fit --plan)."
        )
    return lines


@click.command()
@arguments.model
@arguments.data
@click.option(
    "-o", "--output", type=File("MODEL"), required=True, help="The model without these rows."
)
@arguments.weight
@arguments.encoding
def forget(
    model: str, data: tuple[str, ...], output: str, weight: str | None, encoding: str
) -> None:
    """Remove rows from a model, as if it had never seen them.

    \b
    Example:
      genus forget churn.genus withdrawn.csv -o churn.genus
    """
    from genus.cli.data import opened, tell_extra
    from genus.cli.errors import say
    from genus.cli.models import read_table_model, refuse_name, refuse_out, target_of, write

    refuse_out(output, *data)
    refuse_name(output)
    learned = read_table_model(model)
    before = learned.class_count_.sum()
    with opened(data, encoding, texts=learned.plan_.texts) as source:
        tell_extra(source, learned)
        learned.forget(source, sample_weight=weight, target=target_of(learned, model))
    write(learned, output)
    after = learned.class_count_.sum()
    say(f"Wrote {output}, with {after:,.10g} rows; {before - after:,.10g} were forgotten.")
