"""Arguments and options that several commands have."""

from __future__ import annotations

import codecs
from typing import Any

import click
from click.shell_completion import CompletionItem

from genus.registry import FAMILIES


class File(click.ParamType[str]):
    """A name that shells complete to those of files; whether there is one is seen later."""

    def __init__(self, name: str) -> None:
        self.name = name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class Column(click.ParamType[str]):
    """The name of a column, which shells complete to those of the data."""

    name = "COL"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from genus.cli.data import columns_of

        # Of a command that is not typed to its end, click has not sorted the arguments yet.
        names = columns_of(ctx.params.get("data") or ctx.params.get("given") or ctx.args)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Family(click.ParamType[tuple[str, str]]):
    """COL=NAME: a column and the family that models it."""

    name = "COL=NAME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        column, equals, family = str(value).rpartition("=")
        if not equals or not column:
            self.fail(f"{value!r} is not COL=NAME, such as age=gaussian.", param, ctx)
        if family not in FAMILIES:
            self.fail(f"{family!r} is no family; there are {', '.join(FAMILIES)}.", param, ctx)
        return column, family


class Encoding(click.ParamType[str]):
    """The name of an encoding that Python knows."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            known = codecs.lookup(str(value)).name
        except LookupError:
            self.fail(f"{value!r} is no encoding; try latin-1 or utf-16.", param, ctx)
        return {"iso8859-1": "latin-1"}.get(known, known)


class FoldsOrLoo(click.ParamType[Any]):
    """A number of folds, or loo."""

    name = "K|loo"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == "loo":
            return "loo"
        if not str(value).isdecimal() or int(value) < 2:
            self.fail(f"{value!r} is neither a number from 2 on nor loo.", param, ctx)
        return int(value)


def model_and_data(
    given: tuple[str, ...], target: str | None
) -> tuple[str | None, tuple[str, ...]]:
    """MODEL and DATA of a command that takes either or both; without a model it needs a target."""
    from genus.cli.models import is_model

    if is_model(given[0]):
        return given[0], given[1:]
    if target is None:
        more = " If it is one, its name should end in .genus." if len(given) > 1 else ""
        raise click.UsageError(
            f"{given[0]} is no model, and without one --target COL must say what to predict.{more}"
        )
    return None, given


data = click.argument("data", type=File("DATA"), nargs=-1, required=True, metavar="DATA...")
target = click.option(
    "--target", type=Column(), help="The column to predict.  [default: the model's]"
)
model = click.argument("model", type=File("MODEL"))
encoding = click.option(
    "--encoding",
    type=Encoding(),
    default="utf-8",
    help="How the text of DATA is encoded, such as latin-1.  [default: utf-8]",
)
families = click.option(
    "--family",
    "families",
    type=Family(),
    multiple=True,
    help=f"Set the family of a column: {', '.join(FAMILIES)}. May be repeated.",
)
ignore = click.option(
    "--ignore", type=Column(), multiple=True, help="Leave a column out. May be repeated."
)


class Costs(click.ParamType[dict[tuple[str, str], float]]):
    """TRUE:DECIDED=COST, several with commas between them."""

    name = "TRUE:DECIDED=COST,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[tuple[str, str], float]:
        costs: dict[tuple[str, str], float] = {}
        for one in str(value).split(","):
            classes, _, cost = one.rpartition("=")
            true, colon, decided = classes.partition(":")
            try:
                costs[true.strip(), decided.strip()] = float(cost)
            except ValueError:
                colon = ""
            if not colon:
                self.fail(f"{one!r} is not TRUE:DECIDED=COST, such as bad:good=5.", param, ctx)
        return costs


class Threshold(click.ParamType[Any]):
    """A share, or CLASS=SHARE."""

    name = "[CLASS=]P"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        label, equals, share = str(value).rpartition("=")
        try:
            number = float(share)
        except ValueError:
            self.fail(f"{value!r} is no number from 0 to 1, nor CLASS=0.3.", param, ctx)
        return {label: number} if equals else number


def decision_of(threshold: Any, costs: Any) -> Any:
    """The rule that options ask for."""
    if threshold is not None and costs is not None:
        raise click.UsageError("--threshold and --costs are two ways to decide. Give one.")
    return costs if threshold is None else threshold


threshold = click.option(
    "--threshold",
    type=Threshold(),
    help="Decide for a class from this probability on; of two classes, for the second.",
)
costs = click.option(
    "--costs",
    type=Costs(),
    help="What wrong decisions cost, such as good:bad=1,bad:good=5: the cheapest one is made.",
)
force = click.option(
    "--force", is_flag=True, help="Predict even if half of a column was never seen."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
table_out = click.option(
    "-o",
    "--output",
    type=File("OUT"),
    default="-",
    help="A .csv, .tsv, .parquet, .feather or .jsonl file, also .csv.gz; - or none: CSV on stdout.",
)
