"""Options that genus mail serve and genus mail milter share, and how both start."""

from __future__ import annotations

import os
import re
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from genus.cli.arguments import File
from genus.cli.mail import options

if TYPE_CHECKING:
    from genus.mail.spamd.names import Names
    from genus.mail.spamd.worker import Service, Talk

HOST = "127.0.0.1"
F = TypeVar("F", bound=Callable[..., Any])


class Address(click.ParamType[tuple[str, int]]):
    """An address in the form HOST:PORT, with IPv6 addresses in brackets."""

    name = "HOST:PORT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        host, port = options.host_and_port(str(value)) or ("", None)
        if port is None:
            is_path = "/" in str(value) and param is not None and param.name == "listen"
            told = f"{value!r} is not HOST:PORT, such as {HOST}:783."
            unix = f" For a Unix socket, use --socket {value}." if is_path else ""
            self.fail(told + unix, param, ctx)
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
            self.fail(f"{value!r} is not a mode in octal digits, such as 660.", param, ctx)
        return mode


def listening(command: F) -> F:
    """Add the options that say where a server listens and as which user it runs."""
    for option in (
        click.option(
            "--user",
            metavar="NAME",
            help="If started as root, switch to this user when the sockets are open.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(1, 256),
            metavar="N",
            help="The number of processes.  [default: one for each core]",
        ),
        click.option(
            "--allow-remote",
            is_flag=True,
            help="Accept connections from other machines, too.",
        ),
        click.option(
            "--mode",
            type=Mode(),
            default="600",
            show_default=True,
            help="The permissions of the Unix socket.",
        ),
        click.option("--socket", "path", type=File("PATH"), help="Listen on a Unix socket."),
    ):
        command = option(command)
    return command


class Domain(click.ParamType[str]):
    """The part of an address after the @."""

    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        domain = str(value).lower()
        if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", domain):
            self.fail(f"{value!r} is not a domain, such as example.com.", param, ctx)
        return domain


class Delimiter(click.ParamType[str]):
    """The characters that may separate a name from its extension."""

    name = "CHARS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not set(str(value)) <= set("+-=_."):
            self.fail(f"{value!r} must consist of the characters +-=_. or be empty.", param, ctx)
        return str(value)


def naming(command: F) -> F:
    """Add the options that say how the name of a user's store follows from an address."""
    for option in (
        click.option(
            "--delimiter",
            type=Delimiter(),
            default="+",
            show_default=True,
            help="With --users: mail for ann+lists@example.com is also mail for ann@example.com. "
            "Set it to Postfix's recipient_delimiter; the empty string switches this off.",
        ),
        click.option(
            "--domain",
            "domains",
            type=Domain(),
            multiple=True,
            help="With --users: ann@NAME may have the store of ann. In other domains only the "
            "whole address counts. May be repeated.  [default: localhost, the host's name and "
            "/etc/mailname, each also without its first label]",
        ),
    ):
        command = option(command)
    return command


def limits(size: str, clients: str, timeout: float, waiting: str) -> Callable[[F], F]:
    """Return a decorator that adds options to limit size, connections and time."""

    def add(command: F) -> F:
        for option in (
            click.option(
                "--timeout",
                type=click.FloatRange(0, min_open=True),
                default=timeout,
                show_default=True,
                metavar="SECONDS",
                help=waiting,
            ),
            click.option(
                "--clients",
                type=click.IntRange(1),
                default=100,
                show_default=True,
                metavar="N",
                help=clients,
            ),
            click.option(
                "--max-size",
                type=click.IntRange(1),
                default=10_000_000,
                show_default=True,
                metavar="BYTES",
                help=size,
            ),
        ):
            command = option(command)
        return command

    return add


def logging(command: F) -> F:
    """Add the options for logging and metrics; with --log-json, report errors as JSON, too."""

    @wraps(command)
    def run(**given: Any) -> None:
        with errors_in_json() if given["log_json"] else nullcontext():
            command(**given)

    logged = cast(F, run)
    for option in (
        click.option(
            "--metrics",
            type=Address(),
            help="Serve metrics for Prometheus at http://HOST:PORT/metrics.",
        ),
        click.option("--no-log", is_flag=True, help="Log errors only."),
        click.option(
            "--log-json", is_flag=True, help="Write every line of the log as a JSON object."
        ),
    ):
        logged = option(logged)
    return logged


@contextmanager
def errors_in_json() -> Iterator[None]:
    """Write every line as JSON, also warnings and the error that ends the command."""
    from genus.cli.errors import INTERRUPTED, for_shell, sentence
    from genus.mail.spamd.log import Form, announce

    def show(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
        if issubclass(category, UserWarning):  # other warnings are for developers
            warn(str(message))

    Form.is_json, warnings.showwarning = True, show  # Commands.invoke puts the latter back
    try:
        yield
    except (click.exceptions.Exit, click.Abort):
        raise
    except click.ClickException as error:
        announce(error.format_message(), "error")
        raise click.exceptions.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        announce("Interrupted.")
        raise click.exceptions.Exit(INTERRUPTED) from None
    except Exception as error:
        announce(for_shell(sentence(error)), "error")
        raise click.exceptions.Exit(1) from None
    finally:
        Form.is_json = False


@dataclass(frozen=True)
class Place:
    """Where a server listens, and as which user it runs."""

    path: str | None
    mode: int
    listen: tuple[str, int] | None
    allow_remote: bool
    user: str | None
    metrics: tuple[str, int] | None


def check(
    name: str, users: str | None, store: str | None, site: str | None, ham_loss: float | None
) -> None:
    """Raise an error if options contradict each other; pass the ham loss to all processes."""
    if not hasattr(os, "fork"):
        raise ValueError(f"genus mail {name} needs a system that can fork: Linux, macOS or a BSD.")
    if users is not None and (site is None or store is not None):
        raise click.UsageError(
            "--users needs --site, the store whose counts are added to those of every user, and "
            "cannot be used with --store."
        )
    if ham_loss is not None:
        os.environ["GENUS_HAM_LOSS"] = str(ham_loss)


def is_handed_over() -> bool:
    """Return whether systemd has opened the sockets."""
    return os.environ.get("LISTEN_PID") == str(os.getpid())


def names_of(domains: tuple[str, ...], delimiter: str) -> Names:
    from genus.mail.spamd.names import Names, own_domains

    return Names(frozenset(domains) or own_domains(), delimiter)


def notes_on(users: Path) -> list[str]:
    """Return a warning for stores in a folder whose names differ only in capitals."""
    from genus.mail.spamd.names import Folder

    return [
        f"The stores {' and '.join(group)} differ only in capitals. Each is used for the name as "
        f"it is written, and {group[-1]} for all other spellings. Remove those that no user needs."
        for group in Folder(users).alike()
    ]


def warn(text: str) -> None:
    from genus.mail.spamd.log import announce

    announce(text, "warning", "Note: ")


def log_of(log_json: bool, no_log: bool) -> str:
    return "none" if no_log else "json" if log_json else "text"


def start(
    place: Place, kind: type[Talk], service: Callable[[int], Service], workers: int | None
) -> None:
    """Open the sockets, switch from root to the user, and serve until a signal ends it.

    `service` returns what the processes share, given their number. It is called after the switch.
    """
    from genus.mail.judgement import too_little
    from genus.mail.privacy import open_to_others
    from genus.mail.spamd.access import become, user_named
    from genus.mail.spamd.listening import Claim, handed_over, name_of, on_tcp, on_unix
    from genus.mail.spamd.log import announce
    from genus.mail.spamd.metrics import Scrape
    from genus.mail.spamd.server import prepare, serve
    from genus.mail.store import default_place

    if os.geteuid() == 0 and place.user is None:
        raise ValueError(
            "The server does not run as root, because strangers write the mail that it reads. Name "
            "the user to switch to when the sockets are open: --user NAME."
        )
    if place.user is not None:
        user_named(place.user)
    number = workers or os.cpu_count() or 1
    sockets: list[tuple[socket.socket, type[Talk]]] = [(each, kind) for each in handed_over()]
    claims: list[Claim] = []

    def close() -> None:
        for claim in claims:
            claim.release()
        for each, _ in sockets:
            each.close()

    try:
        if place.path is not None:
            sockets.append((on_unix(Path(place.path), place.mode, place.user), kind))
            claims.append(Claim(Path(place.path)))
        if place.listen is not None:
            sockets.append((on_tcp(*place.listen, place.allow_remote), kind))
        where = " and ".join(name_of(each) for each, _ in sockets)
        if place.metrics is not None:
            sockets.append((on_tcp(*place.metrics, place.allow_remote), Scrape))
        if place.user is not None:
            become(place.user)
        shared = service(number + 1)
        known, created = prepare(shared.stores)
        if created:
            warn(
                f"There was no store at {created}, so an empty one was created. If you have "
                "learned mail, check the name of the store."
            )
        holds = f"The store holds {known.ham:,} ham and {known.spam:,} spam."
        announce(f"{holds} {too_little(known)}".rstrip())
        stores = shared.stores
        if stores.users is not None:
            domains = ", ".join(sorted(stores.names.domains))
            announce(f"Without a store of its own, ann@DOMAIN has the store of ann for {domains}.")
            for told in notes_on(stores.users):
                warn(told)
        own = next(stores.users.glob("*.sqlite"), None) if stores.users else stores.store
        for told in open_to_others(own or default_place()):
            warn(told)
        announce(
            f"Listening on {where} with {number} process{'es' * (number > 1)}. Ctrl-C ends it."
        )
        serve(sockets, shared, number, close)
    finally:
        close()
    announce("Ended.")
