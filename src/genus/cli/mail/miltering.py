"""genus mail milter."""

from __future__ import annotations

from pathlib import Path

import click

from genus.cli.arguments import File
from genus.cli.mail import options, servers


@click.command()
@servers.listening
@click.option("--listen", type=servers.Address(), help="Listen on TCP.")
@click.option(
    "--users",
    type=File("FOLDER"),
    help="Ask the store of the recipient there, if he is the only one and has one.",
)
@servers.limits(
    size="Read no more of a message.",
    clients="How many connections each process serves at once; others wait.",
    timeout=600,
    waiting="Hang up on a mail server that says nothing for so long.",
)
@servers.logging
@options.store
@options.site
@options.ham_loss
def milter(
    path: str | None,
    mode: int,
    listen: tuple[str, int] | None,
    allow_remote: bool,
    workers: int | None,
    user: str | None,
    users: str | None,
    max_size: int,
    clients: int,
    timeout: float,
    log_json: bool,
    no_log: bool,
    metrics: tuple[str, int] | None,
    store: str | None,
    site: str | None,
    ham_loss: float | None,
) -> None:
    """Mark mail for Postfix or Sendmail before they accept it.

    A header is added: X-Genus: spam; probability=0.998; score=6.21. Any that was there before is
    removed. On whatever error the message passes as it came. No mail is rejected: file it by the
    header.

    One line is logged on stderr for each message. SIGTERM and Ctrl-C end it when what has begun
    is done; SIGHUP opens the stores again.

    \b
    Examples:
      genus mail milter --socket /var/spool/postfix/genus/milter --mode 660 --user genus \\
            --store /var/lib/genus/mail.sqlite
      genus mail milter --listen 127.0.0.1:8895
    """
    servers.check("milter", users, store, site, ham_loss)
    from genus.mail.milter.conversation import Milter
    from genus.mail.spamd.filters import Stores
    from genus.mail.spamd.shared import Tallies
    from genus.mail.spamd.worker import Limits, Service

    if listen is None and path is None and not servers.is_handed_over():
        raise click.UsageError("Say where to listen: --socket PATH or --listen HOST:PORT.")

    def service(processes: int) -> Service:
        return Service(
            Stores(store, site, None if users is None else Path(users).expanduser()),
            Limits(max_size, clients, timeout),
            tallies=Tallies(processes),
            log=servers.log_of(log_json, no_log),
        )

    place = servers.Place(path, mode, listen, allow_remote, user, metrics)
    servers.start(place, Milter, service, workers)
