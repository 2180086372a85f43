"""Options and arguments that several mail commands share."""

from __future__ import annotations

import click

from genus.cli.arguments import File

store = click.option(
    "--store",
    type=File("STORE"),
    help="The store to use: a file, or postgresql://…?owner=NAME."
    "  [default: mail.sqlite in $GENUS_HOME, or in the user's data folder]",
)
site = click.option(
    "--site",
    type=File("STORE"),
    help="A shared store. Its counts are added to your own; it is never changed.",
)
ham_loss = click.option(
    "--ham-loss",
    type=click.FloatRange(1e-6, 0.5),
    metavar="SHARE",
    help="The share of ham that may be classified as spam.  [default: $GENUS_HAM_LOSS, or 0.001]",
)
paths = click.argument("paths", nargs=-1, type=File("PATH"))


def host_and_port(given: str) -> tuple[str, int | None] | None:
    """Parse HOST or HOST:PORT, with IPv6 addresses in brackets; return None for anything else.

    >>> host_and_port("[::1]:783"), host_and_port("::1"), host_and_port("a:b")
    (('::1', 783), ('::1', None), None)
    """
    given = given.strip()
    bare = given.count(":") > 1 and not given.startswith("[")  # IPv6 without a port
    host, colon, port = (given, "", "") if bare else given.rpartition(":")
    if not colon or given.endswith("]"):
        host, port = given, ""
    host = host.removeprefix("[").removesuffix("]").lower()
    bad = not host or any(each.isspace() or each in "/@" for each in host)
    if bad or (port and not (port.isdecimal() and int(port) < 65_536)):
        return None
    return host, int(port) if port else None
