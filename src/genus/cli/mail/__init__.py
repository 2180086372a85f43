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


class MailCommands(Commands):
    less = "Allow genus more of it (ulimit -v, or the settings of the program that starts it)."


@click.group(cls=MailCommands)
def mail() -> None:
    """Filter spam: learn from mail, and classify new mail.

    PATH is a message, an mbox, a Maildir, an MH folder, a folder of messages, or - for one
    message on stdin. PATH#2 is the second message of an mbox. A store keeps what the filter has
    learned: counts and hashes, but no text of messages.

    \b
    Example:
      genus mail learn --spam ~/Maildir/.Junk --ham ~/Maildir/.Archive
      genus mail check message.eml
      genus mail sort ~/Maildir --junk .Junk
    """
    # Mail servers limit the address space. Each thread of OpenBLAS allocates some of it, even if it
    # is idle, and retries for ever if it cannot.
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
