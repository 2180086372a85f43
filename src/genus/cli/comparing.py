"""genus compare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from genus.cli import arguments
from genus.cli.arguments import File


@click.command()
@click.argument("data", type=File("DATA"), nargs=-1, required=True, metavar="DATA...")
@arguments.needed_target
@click.option(
    "-o",
    "--output",
    type=File("OUT"),
    help="Also draw the curves to this file: .svg, .png or .pdf.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="How often to split the rows into training and test rows. The number is rounded up to a "
    "multiple of ten, or of a smaller number if many rows are in small classes.  [default: 30; 10 "
    "for more than 1,000 rows; fewer if many rows are in small classes]",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for each model.",
)
@arguments.ignore
@arguments.as_json
@arguments.encoding
def compare(
    data: tuple[str, ...],
    target: str,
    output: str | None,
    repeats: int | None,
    patience: float,
    ignore: tuple[str, ...],
    as_json: bool,
    encoding: str,
) -> None:
    """Recommend genus or logistic regression, with reasons.

    Splits the rows into training and test rows many times. Each time, fits genus, logistic
    regression and a perceptron to growing parts of the training rows, and evaluates them on the
    test rows: about a tenth of the data, or more if many rows are in small classes, but at most
    10,000 rows. The model of genus is GDA if all columns are numbers, there are at most 500
    columns, and more than half of the rows are complete; otherwise it is naive Bayes.

    \b
    Examples:
      genus compare customers.csv --target churned
      genus compare customers.csv --target churned -o curves.svg
    """
    from genus.cli.data import opened
    from genus.cli.errors import for_shell, say
    from genus.cli.models import refuse_out
    from genus.cli.progress import points_passing
    from genus.cli.results import printed
    from genus.evaluate.comparing import compare

    if output is not None:
        kind = format_of(output)
        refuse_out(output, *data)
    with opened(data, encoding) as source, points_passing("compare") as progress:
        found = compare(
            source,
            target=target,
            ignore=ignore,
            repeats=repeats,
            patience=patience,
            progress=progress,
        )
    found = replace(found, notes=tuple(map(for_shell, found.notes)))
    if as_json:
        printed(as_object(found))
    else:
        click.echo(str(found))
    if output is not None:
        from genus.persistence.atomic import write_whole
        from genus.plots.learning import picture

        write_whole(output, picture(found, kind))
        say(f"Wrote {output}.")


def as_object(found: Any) -> dict[str, Any]:
    """Return the recommendation, the curves and the reasons as an object for JSON."""
    return {
        "use": found.use,
        "sentence": found.sentence,
        "sure": found.advice.sure,
        "rows": found.rows,
        "sizes": found.curves.sizes,
        "genus fit": None
        if found.weighed is None
        else {"error": found.weighed.error, "log loss": found.weighed.log_loss},
        "learners": {
            name: {"error": line.error, "log loss": line.log_loss, "seconds": line.seconds}
            for name, line in found.lines.items()
        },
        "crossings": found.advice.crossings,
        "why": found.why,
        "notes": found.notes,
    }


def format_of(output: str) -> str:
    """Return the format of a picture by its suffix; raise an error if it cannot be drawn."""
    from pathlib import Path

    from genus.plots.style import FORMATS, library

    kind = Path(output).suffix.removeprefix(".").lower()
    if Path(output).is_dir() or not Path(output).absolute().parent.is_dir():
        raise ValueError(
            f"Cannot write {output}: its folder does not exist, or it is a folder itself. Give "
            "another name."
        )
    if kind not in FORMATS:
        raise click.UsageError(f"A picture must be a .{', .'.join(FORMATS)} file; got {output!r}.")
    try:
        library("matplotlib.figure")
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    return kind
