"""genus mail serve."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import click

from genus.cli.arguments import File
from genus.cli.mail import options

HOST, PORT = "127.0.0.1", 783


class Address(click.ParamType[tuple[str, int]]):
    """HOST:PORT, with an address of IPv6 in brackets."""

    name = "HOST:PORT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        host, port = options.host_and_port(str(value)) or ("", None)
        if port is None:
            self.fail(f"{value!r} is not HOST:PORT, such as {HOST}:{PORT}.", param, ctx)
        return host, port


class Mode(click.ParamType[int]):
    """Permissions in octal digits."""

    name = "MODE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            mode = value if isinstance(value, int) else int(str(value), 8)
        except ValueError:
            mode = -1
        if not 0 <= mode <= 0o777:
            self.fail(f"{value!r} is no mode, such as 660.", param, ctx)
        return mode


@click.command()
@click.option("--socket", "path", type=File("PATH"), help="Listen on a Unix socket.")
@click.option(
    "--mode", type=Mode(), default="600", show_default=True, help="Who may use the Unix socket."
)
@click.option(
    "--listen",
    type=Address(),
    help=f"Listen on TCP.  [default: {HOST}:{PORT}, unless there is a socket]",
)
@click.option(
    "--allow-remote", is_flag=True, help="Listen also where other machines can connect from."
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="How many processes.  [default: one for each core]",
)
@click.option(
    "--users",
    type=File("FOLDER"),
    help="Keep a store for each user that spamc names, on top of --site.",
)
@click.option(
    "--max-size",
    type=click.IntRange(1),
    default=10_000_000,
    show_default=True,
    metavar="BYTES",
    help="Refuse messages that are larger.",
)
@click.option(
    "--clients",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="How many clients each process serves at once; others wait.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long a request may take to come in, and an answer to go out.",
)
@options.store
@options.site
@options.ham_loss
def serve(
    path: str | None,
    mode: int,
    listen: tuple[str, int] | None,
    allow_remote: bool,
    workers: int | None,
    users: str | None,
    max_size: int,
    clients: int,
    timeout: float,
    store: str | None,
    site: str | None,
    ham_loss: float | None,
) -> None:
    """Answer spamc, as SpamAssassin does.

    spamc -c, -R, -y, -L spam, -L ham and -L forget work, and so does Exim's spam condition. 5
    points are spam, as SpamAssassin's users know it. PROCESS adds X-Genus and X-Spam- headers.
    The protocol knows no passwords, therefore only this machine is served unless --allow-remote
    is given.

    SIGTERM and Ctrl-C end it when what has begun is done; SIGHUP opens the stores again. Sockets
    that systemd hands over are used.

    \b
    Examples:
      genus mail serve --socket /run/genus/socket --mode 660
      genus mail serve --users /var/lib/genus/users --site /var/lib/genus/site.sqlite
      spamc -U /run/genus/socket -L spam < message.eml
    """
    if not hasattr(os, "fork"):
        raise ValueError("genus mail serve needs a system that can fork: Linux, macOS or a BSD.")
    from genus.cli.errors import say
    from genus.mail.judgement import too_little
    from genus.mail.spamd.filters import Stores
    from genus.mail.spamd.listening import Claim, handed_over, name_of, on_tcp, on_unix
    from genus.mail.spamd.server import prepare
    from genus.mail.spamd.server import serve as serve_spamd
    from genus.mail.spamd.worker import Limits

    if ham_loss is not None:
        os.environ["GENUS_HAM_LOSS"] = str(ham_loss)  # all processes have it from here
    if users is not None and (site is None or store is not None):
        raise click.UsageError(
            "--users goes with --site, what a new user starts from, and without --store."
        )
    stores = Stores(store, site, None if users is None else Path(users).expanduser())
    number = workers or os.cpu_count() or 1
    listening: list[socket.socket] = handed_over()
    claims: list[Claim] = []

    def close() -> None:
        for claim in claims:
            claim.release()
        for each in listening:
            each.close()

    try:
        known = prepare(stores)
        say(f"{known.ham:,} ham and {known.spam:,} spam are known. {too_little(known)}".rstrip())
        if path is not None:
            listening.append(on_unix(Path(path), mode))
            claims.append(Claim(Path(path)))
        if listen is not None or not listening:
            listening.append(on_tcp(*(listen or (HOST, PORT)), allow_remote))
        where = " and ".join(map(name_of, listening))
        say(f"Listening on {where} with {number} process{'es' * (number > 1)}. Ctrl-C ends it.")
        serve_spamd(listening, stores, Limits(max_size, clients, timeout), number, close)
    finally:
        close()
    say("Ended.")
