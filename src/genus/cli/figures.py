"""genus figures."""

from __future__ import annotations

import click

from genus.cli.arguments import File


@click.command()
@click.option(
    "-o",
    "--output",
    type=File("DIR"),
    default="figures",
    show_default=True,
    help="The folder to write to; it is created if necessary.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png", "pdf"]),
    default="svg",
    show_default=True,
    help="The file format.",
)
@click.option("--dark", is_flag=True, help='Draw for dark pages; "-dark" is added to the names.')
def figures(output: str, kind: str, dark: bool) -> None:
    """Draw the figures of the lecture notes (CS229).

    Draws normal densities, decision boundaries and sigmoids of GDA and other models. The figures
    are the same each time. Needs matplotlib: pip install 'genus[plots]'.

    \b
    Example:
      genus figures -o figures --format png
    """
    from pathlib import Path
    from tempfile import TemporaryFile

    from genus.cli.errors import say
    from genus.cli.progress import passing
    from genus.display.output import named
    from genus.persistence.atomic import write_whole
    from genus.plots.notes import FIGURES, drawn
    from genus.plots.style import library

    try:
        library("matplotlib.figure")
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise ValueError(
            f"Cannot write figures to {output}: it is not a folder. Give another name."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with named(output), TemporaryFile(dir=folder, prefix=".genus-"):
        pass  # fail before drawing
    files = {
        f"{name}{'-dark' if dark else ''}.{kind}": drawn(name, kind, dark)
        for name in passing("Drawing", FIGURES, " figures")
    }
    for name, content in files.items():
        with named(str(folder / name)):
            write_whole(folder / name, content)
    names = list(files)
    say(f"Wrote {len(files)} figures to {output}, {names[0]} to {names[-1]}.")
