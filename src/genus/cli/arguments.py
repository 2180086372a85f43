"""Arguments and options that several commands share."""

from __future__ import annotations

import codecs
from typing import Any

import click
from click.shell_completion import CompletionItem

from genus.registry import FAMILIES


class File(click.ParamType[str]):
    """A file name that shells complete; commands check later whether the file exists."""

    def __init__(self, name: str) -> None:
        self.name = name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class Column(click.ParamType[str]):
    """The name of a column, which shells complete from the data."""

    name = "COL"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from genus.cli.data import columns_of

        # While a command is still being typed, click has not sorted the arguments yet.
        names = columns_of(ctx.params.get("data") or ctx.params.get("given") or ctx.args)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Family(click.ParamType[tuple[str, str]]):
    """A column and its family, in the form COL=NAME."""

    name = "COL=NAME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        column, equals, family = str(value).rpartition("=")
        if not equals or not column:
            self.fail(f"{value!r} is not COL=NAME, such as age=gaussian.", param, ctx)
        if family not in FAMILIES:
            self.fail(
                f"{family!r} is not a family. Choose one of {', '.join(FAMILIES)}.", param, ctx
            )
        return column, family


class Encoding(click.ParamType[str]):
    """The name of a text encoding that Python supports."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            known = codecs.lookup(str(value)).name
        except LookupError:
            self.fail(f"{value!r} is not a known encoding. Try latin-1 or utf-16.", param, ctx)
        return {"iso8859-1": "latin-1"}.get(known, known)


class FoldsOrLoo(click.ParamType[Any]):
    """A number of folds, or "loo" for leave-one-out."""

    name = "K|loo"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) == "loo":
            return "loo"
        if not str(value).isdecimal() or int(value) < 2:
            self.fail(f"{value!r} is neither a whole number of 2 or more nor loo.", param, ctx)
        return int(value)


def model_and_data(
    given: tuple[str, ...], target: str | None
) -> tuple[str | None, tuple[str, ...]]:
    """Split arguments into MODEL and DATA; one may be missing, but DATA alone needs a target."""
    from genus.cli.models import is_model

    if is_model(given[0]):
        return given[0], given[1:]
    if target is None:
        if any(map(is_model, given[1:])):
            raise click.UsageError(f"{given[0]} is not a model. MODEL comes before DATA.")
        more = " If it is a model, rename it so that it ends in .genus." if len(given) > 1 else ""
        raise click.UsageError(
            f"{given[0]} is not a model. For DATA alone, name the column to predict: --target "
            f"COL.{more}"
        )
    return None, given


data = click.argument("data", type=File("DATA"), nargs=-1, required=True, metavar="DATA...")
needed_target = click.option(
    "--target", type=Column(), required=True, help="The column to predict."
)
target = click.option(
    "--target", type=Column(), help="The column to predict.  [default: the model's]"
)
model = click.argument("model", type=File("MODEL"))
encoding = click.option(
    "--encoding",
    type=Encoding(),
    default="utf-8",
    help="The text encoding of DATA, such as latin-1.  [default: utf-8]",
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

weight = click.option(
    "--weight",
    type=Column(),
    help="A column of weights of rows: a row of weight 2 counts like two rows. Models do not use "
    "the column.",
)


class Costs(click.ParamType[dict[tuple[str, str], float]]):
    """Costs in the form TRUE:DECIDED=COST; commas separate several of them."""

    name = "TRUE:DECIDED=COST,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[tuple[str, str], float]:
        costs: dict[tuple[str, str], float] = {}
        for one in str(value).split(","):
            classes, _, cost = one.rpartition("=")
            true, colon, decided = classes.partition(":")
            pair = true.strip(), decided.strip()
            if pair in costs:
                self.fail(f"{classes.strip()!r} has two costs. Give one.", param, ctx)
            try:
                costs[pair] = float(cost)
            except ValueError:
                colon = ""
            if not colon:
                self.fail(f"{one!r} is not TRUE:DECIDED=COST, such as bad:good=5.", param, ctx)
        return costs


class Threshold(click.ParamType[Any]):
    """A threshold in the form P or CLASS=P."""

    name = "[CLASS=]P"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        label, equals, share = str(value).rpartition("=")
        try:
            number = float(share)
        except ValueError:
            self.fail(
                f"{value!r} is neither a number from 0 to 1 nor CLASS=P, such as bad=0.3.",
                param,
                ctx,
            )
        return {label: number} if equals else number


def decision_of(threshold: Any, costs: Any) -> Any:
    """Return the decision rule given by the options."""
    if threshold is not None and costs is not None:
        raise click.UsageError("--threshold and --costs are two ways to decide. Give only one.")
    return costs if threshold is None else threshold


threshold = click.option(
    "--threshold",
    type=Threshold(),
    help="Choose CLASS if its probability is at least P. By default, CLASS is the second of two "
    "classes.",
)
costs = click.option(
    "--costs",
    type=Costs(),
    help="Costs of wrong decisions as TRUE:DECIDED=COST, such as good:bad=1,bad:good=5. Wrong "
    "decisions that are not listed cost 1. The class with the lowest expected cost is chosen.",
)
force = click.option(
    "--force",
    is_flag=True,
    help="Predict even if a column consists mostly of categories that the model has never seen.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
table_out = click.option(
    "-o",
    "--output",
    type=File("OUT"),
    default="-",
    help="The file to write: .csv, .tsv, .parquet, .feather or .jsonl, also compressed (.csv.gz). "
    "- is CSV on stdout.  [default: -]",
)
