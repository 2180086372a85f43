"""genus mail serve."""

from __future__ import annotations

from pathlib import Path

import click

from genus.cli.arguments import File
from genus.cli.mail import options, servers

PORT = 783


@click.command()
@servers.listening
@click.option(
    "--listen",
    type=servers.Address(),
    help=f"Listen on TCP.  [default: {servers.HOST}:{PORT}, if there is no --socket and "
    "no socket from systemd]",
)
@click.option(
    "--users",
    type=File("FOLDER"),
    help="Keep a store for each user in this folder. The counts of --site, which is required, are "
    "added to those of each user.",
)
@servers.naming
@click.option(
    "--trust",
    multiple=True,
    metavar="NAME",
    help="With --users: let this user act for other users, as a mail server must. May be repeated.",
)
@click.option(
    "--secret-file",
    type=File("FILE"),
    help="A file whose first line is a secret. Clients that send it may act for any user.",
)
@click.option(
    "--most-users",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="With --users: create at most this many stores.",
)
@click.option(
    "--rate",
    type=click.IntRange(1),
    metavar="N",
    help="Answer at most this many requests a minute from a client that is not trusted."
    "  [default: 600 with --users, else no limit]",
)
@servers.limits(
    size="Refuse larger messages.",
    clients="Serve at most this many clients at once in each process. If more connect, drop one "
    "that is idle or slow; if there is none, they wait.",
    timeout=60,
    waiting="Time limit for a request to arrive, and for the client to read its answer.",
)
@servers.logging
@options.store
@options.site
@options.ham_loss
def serve(
    path: str | None,
    mode: int,
    listen: tuple[str, int] | None,
    allow_remote: bool,
    workers: int | None,
    user: str | None,
    users: str | None,
    domains: tuple[str, ...],
    delimiter: str,
    trust: tuple[str, ...],
    secret_file: str | None,
    most_users: int,
    rate: int | None,
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
    """Answer genus-client and spamc with the protocol of spamd.

    This is SpamAssassin's protocol: spamc -c, -R, -y, -L spam, -L ham and -L forget work, and so
    does Exim's spam condition. A message with 5 points or more is spam, as in SpamAssassin. The
    commands PROCESS and HEADERS of the protocol add X-Genus and X-Spam- headers to a message. The
    server accepts connections from this machine only, unless --allow-remote is given.

    With --users, a client on the Unix socket can act only for its own user, unless it is root or
    trusted. With --users or --secret-file, a TCP client that does not send the secret cannot make
    the filter learn; with --users it gets verdicts from the site's store. With neither option,
    every client can make the filter learn. If root starts the server, --user is required: the
    server switches to that user.

    If there is no store, the server creates an empty one when it starts, and says so. If the store
    vanishes later, requests fail until it is back or the server is started again.

    The server logs one line on stderr for each message. SIGTERM and Ctrl-C end it after the
    requests in progress; SIGHUP opens the stores again. It uses sockets that systemd passes to it.

    \b
    Examples:
      genus mail serve --socket /run/genus/socket --mode 660
      genus mail serve --users /var/lib/genus/users --site /var/lib/genus/site.sqlite \\
            --socket /run/genus/socket --mode 666 --trust vmail
      genus-client --socket /run/genus/socket < message.eml
    """
    servers.check("serve", users, store, site, ham_loss)
    from genus.mail.spamd.access import Access, numbers_of, secret_in
    from genus.mail.spamd.filters import Stores
    from genus.mail.spamd.shared import Rates, Tallies
    from genus.mail.spamd.worker import Conversation, Limits, Service

    secret = None if secret_file is None else secret_in(Path(secret_file).expanduser())
    access = Access(users is not None, numbers_of(trust), secret)
    if listen is None and path is None and not servers.is_handed_over():
        listen = servers.HOST, PORT

    def service(processes: int) -> Service:
        folder = None if users is None else Path(users).expanduser()
        return Service(
            Stores(store, site, folder, most_users, servers.names_of(domains, delimiter)),
            Limits(max_size, clients, timeout),
            access,
            Rates(rate or (None if users is None else 600)),
            Tallies(processes),
            servers.log_of(log_json, no_log),
        )

    place = servers.Place(path, mode, listen, allow_remote, user, metrics)
    servers.start(place, Conversation, service, workers)
