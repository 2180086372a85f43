"""genus mail watch."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from genus.cli.arguments import File
from genus.cli.mail import options

VARIABLE = "GENUS_IMAP_PASSWORD"
SECONDS = 60  # that a command may take to print a password


class Server(click.ParamType[tuple[str, int | None]]):
    """An address in the form HOST or HOST:PORT, with IPv6 addresses in brackets."""

    name = "HOST[:PORT]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int | None]:
        if isinstance(value, tuple):
            return value
        found = options.host_and_port(str(value))
        if found is None or found[1] == 0:
            self.fail(f"{value!r} is not HOST[:PORT], such as imap.example.com:993.", param, ctx)
        return found


@click.command()
@click.option("--imap", "server", type=Server(), required=True, help="The IMAP server.")
@click.option("--user", required=True, metavar="NAME", help="The user to log in as.")
@click.option("--password-file", type=File("FILE"), help="A file whose first line is the password.")
@click.option("--password-command", metavar="CMD", help="A command that prints the password.")
@click.option(
    "--oauth-token-command", metavar="CMD", help="A command that prints an OAuth 2 token."
)
@click.option(
    "--tls",
    "security",
    flag_value="tls",
    help="Encrypt from the start; port 993. This is the default, except in the case described "
    "under --plain.",
)
@click.option(
    "--starttls", "security", flag_value="starttls", help="Encrypt after connecting; port 143."
)
@click.option(
    "--plain",
    "security",
    flag_value="plain",
    help="Do not encrypt; port 143. The default if HOST is this machine and a PORT other than 993 "
    "is given.",
)
@click.option(
    "--inbox", default="INBOX", show_default=True, metavar="FOLDER", help="Sort this folder."
)
@click.option(
    "--junk",
    metavar="FOLDER",
    help="Move spam to this folder, which is created if it is missing.  [default: the server's "
    "Junk folder, or a folder with a usual name, such as Spam]",
)
@click.option(
    "--trash",
    metavar="FOLDER",
    help="Do not learn mail that is moved here.  [default: the server's Trash folder, and folders "
    "with a usual name, such as Deleted Items]",
)
@click.option(
    "--every",
    type=click.FloatRange(1, 1680),  # servers may end what is idle for 30 minutes: RFC 2177
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Wait this long between checks of folders for which the server sends no notifications.",
)
@click.option(
    "--all", "all_mail", is_flag=True, help="Sort mail that is already in the inbox, too."
)
@click.option("--once", is_flag=True, help="Process the mail that has arrived so far, then stop.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")
@click.option("--no-learn", is_flag=True, help="Do not learn at all.")
@click.option(
    "--inbox-days",
    type=click.FloatRange(0),
    default=3,
    show_default=True,
    metavar="DAYS",
    help="Learn mail as ham if it was read and has stayed in the inbox for this long.",
)
@click.option("--no-learn-inbox", is_flag=True, help="Learn only from mail that the user moves.")
@options.store
@options.site
@options.ham_loss
def watch(
    server: tuple[str, int | None],
    user: str,
    password_file: str | None,
    password_command: str | None,
    oauth_token_command: str | None,
    security: str | None,
    inbox: str,
    junk: str | None,
    trash: str | None,
    every: float,
    all_mail: bool,
    once: bool,
    dry_run: bool,
    no_learn: bool,
    inbox_days: float,
    no_learn_inbox: bool,
    store: str | None,
    site: str | None,
    ham_loss: float | None,
) -> None:
    """Move new spam of an IMAP account to Junk, and learn from moves.

    A message that the user moves into Junk is learned as spam, and one that the user moves out of
    Junk as ham. A message that is unread when the user moves it is learned once it has been read.
    Messages that the user moves into Trash are not learned, nor are those that this command moves,
    nor those that seem to come from another filter: they arrive in Junk unread, and were neither
    in the inbox nor older than other mail.
    Mail that arrives while the command is not running is sorted when it starts again. Mail from
    before its first start is left alone, unless --all is given.

    Mail that was read and has stayed in the inbox for three days (--inbox-days) is learned as ham.
    This stops while the store holds at least 2 × S + 100 messages of ham, where S is its number of
    spam messages; mail about which the filter was unsure is learned even then. With
    --no-learn-inbox, only mail that the user moves is learned.

    The password comes from --password-file, --password-command or $GENUS_IMAP_PASSWORD. The
    command reports what it does on stderr. Ctrl-C and SIGTERM end it, with exit code 0.

    \b
    Examples:
      genus mail watch --imap imap.example.com --user ann --password-command "pass mail"
      genus mail watch --imap imap.example.com --user ann --password-file ~/.secret \\
            --once --dry-run
    """
    from genus.cli.errors import say
    from genus.mail.imap import PORTS, Account, Ending
    from genus.mail.spamfilter import SpamFilter
    from genus.mail.watch import Plan
    from genus.mail.watch import watch as watch_account

    host, port = server
    kind = security or default_security(host, port)
    secret = secret_of(password_file, password_command, oauth_token_command)
    is_token = oauth_token_command is not None
    account = Account(host, port or PORTS[kind], user, secret, kind, is_token)
    if kind == "plain":
        warn_of_plain(host)
    stay = None if no_learn_inbox else inbox_days
    plan = Plan(inbox, junk, trash, every, all_mail, once, dry_run, not no_learn, stay)
    spam_filter = SpamFilter.open(store, site, ham_loss=ham_loss)
    ending = Ending()
    try:
        with signals(ending.ask):
            watch_account(account, spam_filter, plan, say, ending)
    finally:
        ending.close()
        spam_filter.close()
    if ending.came:
        say("Ended.")


def default_security(host: str, port: int | None) -> str:
    """Return "plain" if a port of this machine other than 993 is named, and otherwise "tls"."""
    from genus.mail.imap import PORTS, TLS, is_loopback

    return "plain" if is_loopback(host) and port not in (None, PORTS[TLS]) else TLS


def warn_of_plain(host: str) -> None:
    from genus.cli.errors import say
    from genus.mail.imap import is_loopback

    if not is_loopback(host):
        say(f"Note: the password and all mail go to {host} unencrypted. Better use --tls.")


def secret_of(
    file: str | None, command: str | None, token_command: str | None
) -> Callable[[], str]:
    """Return a function that provides the password or the token at each login."""
    given = [each for each in (file, command, token_command) if each is not None]
    if len(given) > 1:
        raise click.UsageError(
            "Give only one of --password-file, --password-command and --oauth-token-command."
        )
    if file is not None:
        from genus.mail.privacy import require_private

        require_private(Path(file).expanduser())
        return lambda: first_line_of(Path(file).expanduser())
    if given:
        name = "--password-command" if token_command is None else "--oauth-token-command"
        return lambda: printed_by(given[0], name)
    password = os.environ.get(VARIABLE)
    if not password:
        raise click.UsageError(
            f"There is no password. Give --password-file or --password-command, or set ${VARIABLE}."
        )
    return lambda: password


def first_line_of(path: Path) -> str:
    from genus.mail.imap import ImapError

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ImapError(f"Cannot read the password from {path}: {told}.") from error
    if not lines or not lines[0]:
        raise ImapError(f"The first line of {path} is empty. Write the password there.")
    return lines[0]


def printed_by(command: str, option: str) -> str:
    """Return the first line that a command prints; errors name the option that gave the command."""
    from genus.mail.imap import ImapError

    try:
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, timeout=SECONDS, check=True
        )
        lines = done.stdout.decode("utf-8").splitlines()
    except subprocess.CalledProcessError as error:
        raise ImapError(
            f"The command of {option} ended with exit code {error.returncode}. Try it in a shell."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ImapError(
            f"The command of {option} took longer than {SECONDS} s. Try it in a shell."
        ) from error
    except UnicodeDecodeError as error:
        raise ImapError(
            f"The output of the command of {option} is not UTF-8. Try it in a shell."
        ) from error
    if not lines or not lines[0]:
        raise ImapError(f"The command of {option} printed nothing. Try it in a shell.")
    return lines[0]


@contextmanager
def signals(ask: Callable[[], None]) -> Iterator[None]:
    """Call `ask` on SIGINT or SIGTERM; a second Ctrl-C ends the program at once."""

    def handle(number: int, frame: Any) -> None:
        ask()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
