"""genus mail: the spam filter."""

from __future__ import annotations

import os
import sys

import click

from genus.cli.errors import Commands
from genus.cli.mail.checking import check
from genus.cli.mail.client import client
from genus.cli.mail.filtering import filter_message
from genus.cli.mail.learning import forget, learn
from genus.cli.mail.miltering import milter
from genus.cli.mail.ruling import allow, block, rules
from genus.cli.mail.serving import serve
from genus.cli.mail.sorting import sort
from genus.cli.mail.upkeep import expire, import_bogofilter, repair, stats, verify
from genus.cli.mail.watching import watch
from genus.cli.mail.why import why


@click.group(cls=Commands)
def mail() -> None:
    """Learn what is spam, and sort mail by it.

    PATH is a message, an mbox, a Maildir, an MH folder, a folder of messages, or - for stdin.
    Of an mbox, PATH#2 is the second message. What is learned is kept in a store: counts and
    hashes, no text.

    \b
    Example:
      genus mail learn --spam ~/Maildir/.Junk --ham ~/Maildir/.Archive
      genus mail check message.eml
      genus mail sort ~/Maildir --junk .Junk
    """
    # Mail servers limit the address space, of which every thread of OpenBLAS takes some even if it
    # has nothing to do; where it cannot, it tries for ever.
    if "numpy" not in sys.modules:
        for variable in ("OPENBLAS_NUM_THREADS", "GENUS_THREADS"):
            os.environ.setdefault(variable, "1")


for command in (
    learn,
    forget,
    check,
    filter_message,
    sort,
    watch,
    serve,
    client,
    milter,
    why,
    allow,
    block,
    rules,
    stats,
    verify,
    repair,
    expire,
    import_bogofilter,
):
    mail.add_command(command)
