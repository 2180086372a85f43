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
    """Ask `genus mail serve` for a verdict.

    This runs genus-client, a compiled program that is installed beside genus. Call genus-client
    itself where every millisecond counts: it does not start Python. It adds the verdict to a
    message on its way from stdin to stdout, as `genus mail filter` does. --check prints only the
    verdict, and --learn spam, ham or forget teaches the filter. If anything fails, the message
    passes unchanged. For all options, see `genus-client --help`.

    \b
    Examples:
      genus mail client --socket /run/genus/socket < message.eml
      genus-client --learn spam < message.eml
    """
    found = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if found is None:
        raise ValueError(
            f"{PROGRAM} is not installed; it comes with genus on Linux, macOS and BSD. Use genus "
            "mail filter; instead of --check and --learn, use genus mail check, learn or forget."
        )
    os.execv(found, [PROGRAM, *arguments])
