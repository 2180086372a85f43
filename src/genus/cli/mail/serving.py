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
    help=f"Listen on TCP.  [default: {servers.HOST}:{PORT}, unless there is a socket]",
)
@click.option(
    "--users",
    type=File("FOLDER"),
    help="Keep a store for each user, on top of --site.",
)
@click.option(
    "--trust",
    multiple=True,
    metavar="NAME",
    help="With --users: let this user act for others, as a mail server must. Repeatable.",
)
@click.option(
    "--secret-file",
    type=File("FILE"),
    help="A file whose first line is a secret: who says it may act for others, also by TCP.",
)
@click.option(
    "--most-users",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="With --users: make no more stores than these.",
)
@click.option(
    "--rate",
    type=click.IntRange(1),
    metavar="N",
    help="Answer so many requests a minute of one peer that is not trusted."
    "  [default: 600 with --users, else no bound]",
)
@servers.limits(
    size="Refuse messages that are larger.",
    clients="How many clients each process serves at once; the slowest make room for others.",
    timeout=60,
    waiting="How long a request may take to come in, and an answer to go out.",
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
    """Answer genus-client and spamc, as SpamAssassin does.

    spamc -c, -R, -y, -L spam, -L ham and -L forget work, and so does Exim's spam condition. 5
    points are spam, as SpamAssassin's users know it. PROCESS adds X-Genus and X-Spam- headers.
    Only this machine is served unless --allow-remote is given.

    With --users, a peer on the Unix socket acts for its own user alone, unless it is root or
    trusted; by TCP a peer that does not know the secret gets the site's answers, and teaches
    nothing. Started as root, the server becomes another user (--user) or refuses to start.

    One line is logged on stderr for each message. SIGTERM and Ctrl-C end it when what has begun
    is done; SIGHUP opens the stores again. Sockets that systemd hands over are used.

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
            Stores(store, site, folder, most_users),
            Limits(max_size, clients, timeout),
            access,
            Rates(rate or (None if users is None else 600)),
            Tallies(processes),
            servers.log_of(log_json, no_log),
        )

    place = servers.Place(path, mode, listen, allow_remote, user, metrics)
    servers.start(place, Conversation, service, workers)
