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
    help="A folder with stores of users. A message to a single recipient is classified by the "
    "recipient's store, if there is one.",
)
@servers.naming
@servers.limits(
    size="Read at most this many bytes of a message.",
    clients="Serve at most this many connections at once in each process; others wait.",
    timeout=600,
    waiting="Close the connection to a mail server that is silent for this long.",
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
    domains: tuple[str, ...],
    delimiter: str,
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
    """Add verdicts to mail for Postfix or Sendmail.

    The mail server asks the milter before it accepts a message. The verdict is a header, such as
    X-Genus: spam; probability=0.998; score=6.21. It replaces any X-Genus header that the message
    already has. If anything fails, the message passes unchanged. No mail is rejected. Use Sieve or
    the mail program to sort mail by the header.

    The milter only reads: it does not start without a store. If the store vanishes later, it logs
    an error for each message, and uses the store again as soon as there is one.

    The milter logs one line on stderr for each message. SIGTERM and Ctrl-C end it after the
    messages in progress; SIGHUP opens the stores again.

    \b
    Examples:
      genus mail milter --listen 127.0.0.1:8895
      genus mail milter --socket /var/spool/postfix/genus/milter --mode 660 --user genus \\
            --store /var/lib/genus/mail.sqlite

    The second one listens where Postfix finds it also in a chroot. Before it is started as root,
    make the folder of the socket, and add Postfix's user to the group of the socket:

    \b
      install -d -m 755 /var/spool/postfix/genus
      usermod -aG genus postfix

    Then add these lines to main.cf, and restart Postfix:

    \b
      smtpd_milters = unix:genus/milter
      milter_default_action = accept
    """
    servers.check("milter", users, store, site, ham_loss)
    from genus.mail.milter.conversation import Milter
    from genus.mail.spamd.filters import Stores
    from genus.mail.spamd.shared import Tallies
    from genus.mail.spamd.worker import Limits, Service

    if listen is None and path is None and not servers.is_handed_over():
        raise click.UsageError("Name where to listen: --socket PATH or --listen HOST:PORT.")

    def service(processes: int) -> Service:
        folder = None if users is None else Path(users).expanduser()
        return Service(
            Stores(store, site, folder, names=servers.names_of(domains, delimiter), creates=False),
            Limits(max_size, clients, timeout),
            tallies=Tallies(processes),
            log=servers.log_of(log_json, no_log),
        )

    place = servers.Place(path, mode, listen, allow_remote, user, metrics)
    servers.start(place, Milter, service, workers)
