"""Options and arguments that several mail commands have."""

from __future__ import annotations

import click

from genus.cli.arguments import File

store = click.option(
    "--store",
    type=File("STORE"),
    help="What was learned: a file, or postgresql://…?owner=NAME."
    "  [default: $GENUS_HOME/mail.sqlite, or the same in the user's data folder]",
)
site = click.option(
    "--site",
    type=File("STORE"),
    help="A store that many share; its counts are added, never changed.",
)
ham_loss = click.option(
    "--ham-loss",
    type=click.FloatRange(1e-6, 0.5),
    metavar="SHARE",
    help="How much ham may be called spam.  [default: $GENUS_HAM_LOSS, or 0.001]",
)
paths = click.argument("paths", nargs=-1, type=File("PATH"))
