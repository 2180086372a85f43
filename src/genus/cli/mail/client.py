"""genus mail client, which is the compiled genus-client."""

from __future__ import annotations

import os
import shutil
import sysconfig

import click

PROGRAM = "genus-client"


@click.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def client(arguments: tuple[str, ...]) -> None:
    """Ask `genus mail serve`, at little cost.

    This is the program genus-client, which is installed beside genus: call it by that name where
    every millisecond counts, since it starts without Python. `genus-client --help` says more.
    It marks a message on its way from stdin to stdout, as `genus mail filter` does; with --check
    it says the verdict, with --learn spam, ham or forget it teaches. On whatever error the
    message passes as it came.

    \b
    Examples:
      genus mail client --socket /run/genus/socket < message.eml
      genus-client --learn spam < message.eml
    """
    found = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if found is None:
        raise ValueError(
            f"{PROGRAM} is not installed; it comes with genus on Linux, macOS and BSD. Use genus "
            "mail filter."
        )
    os.execv(found, [PROGRAM, *arguments])
