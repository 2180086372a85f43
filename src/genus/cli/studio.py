"""genus studio."""

from __future__ import annotations

from typing import Any

import click

from genus.cli import arguments
from genus.cli.arguments import File

LOOPBACK = "127.0.0.1"
PATIENCE = 1.0  # seconds to wait at exit for work to stop


@click.command()
@click.argument("given", type=File("DATA"), nargs=-1, metavar="[MODEL] [DATA...]")
@arguments.target
@arguments.families
@arguments.ignore
@click.option(
    "--mail",
    type=File("STORE"),
    help="Also show this store of the spam filter; - is your own store.",
)
@click.option("--write", is_flag=True, help="Allow learning and forgetting messages in that store.")
@click.option("--host", default=LOOPBACK, show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="The port.  [default: a free one, and the same one after a restart]",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--fresh", is_flag=True, help="Start over instead of resuming the last session.")
@arguments.encoding
def studio(
    given: tuple[str, ...],
    target: str | None,
    families: tuple[tuple[str, str], ...],
    ignore: tuple[str, ...],
    mail: str | None,
    write: bool,
    host: str,
    port: int | None,
    no_browser: bool,
    fresh: bool,
    encoding: str,
) -> None:
    """Explore a table or a model in the browser.

    Opens a page that shows columns, scores and rows, and what each column contributes to the
    prediction of a row. There you can change the families of columns, and forget or relabel rows;
    the model and its scores are updated. Without DATA, drop a file on the page. Only this machine
    can reach the page, unless --host is given. The studio keeps a journal of your changes: if you
    start the command again, it resumes where you were, unless --fresh is given. It changes the mail
    store only with --write.

    \b
    Examples:
      genus studio customers.csv --target churned
      genus studio churn.genus
      genus studio --mail ~/.local/share/genus/mail.sqlite
    """
    require_packages()
    import os
    import sys
    import webbrowser
    from contextlib import ExitStack

    from genus.cli.data import opened
    from genus.cli.errors import say
    from genus.cli.models import is_model, read
    from genus.studio.security import is_loopback
    from genus.studio.server import address, listen, serve
    from genus.studio.session import Session
    from genus.studio.views.mail import MailStore

    path = given[0] if given and is_model(given[0]) else None
    data = given[1:] if path is not None else given
    if path is not None and (families or ignore):
        raise click.UsageError(
            "--family and --ignore cannot be used with MODEL, which is already fitted. Leave them "
            "out, or leave MODEL out."
        )
    if write and mail is None:
        raise click.UsageError("--write needs a store: --mail STORE.")
    known = [*given, target or "", *ignore, *map(str, families), mail or ""]
    options: dict[str, Any] = {"families": dict(families)} if families else {}
    options |= {"ignore": list(ignore)} if ignore else {}
    with ExitStack() as stack:
        journal, number = free_journal(stack, known, fresh)
        model = None if path is None else checked(read(path), path, data)
        session = Session(
            name=", ".join(map(name_of, data if path is None else [path])),
            model=model,
            options=options,
            path=path or (data[0] if len(data) == 1 else list(data)),
            files=data,
            encoding=encoding,
            mail=None if mail is None else MailStore(None if mail == "-" else mail, write),
            journal=journal,
        )
        if session.mail is not None:
            with session.mail.open():  # to report errors now
                pass
        if not is_loopback(host):
            say(
                f"Note: {host} can be reached from other machines. Whoever has the address can "
                "read the data, and the connection is not encrypted."
            )
        bound = listen(host, port or journal.port)
        here = bound.getsockname()[1]
        if port and here != port:
            say(f"Note: port {port} is in use, so the studio uses port {here}.")
        journal.listen(here)
        changes = journal.changes(session.identifier)
        if data:
            source = stack.enter_context(opened(data, encoding))
            if target is not None and model is None:
                source.require(target)
            session.open(source, ", ".join(map(name_of, data)), target)
        elif session.version is not None and changes:
            session.resume()
        said = address(host, here, journal.token)
        say(f"The studio is at {said}")
        if number > 1:
            say("Another studio was started with the same command. The two do not share changes.")
        if changes:
            say(f"This studio resumes the last session (changes: {changes}). --fresh starts over.")
        say("Press Ctrl-C to stop.")
        if not no_browser:
            webbrowser.open(said)
        serve(session, journal.token, bound, host)
    if not session.close(PATIENCE):
        # Python would abort at its end, because a thread is in compiled code.
        sys.stderr.flush()
        os._exit(0)


def free_journal(stack: Any, known: list[str], fresh: bool) -> tuple[Any, int]:
    """Return a command's first journal that no other server uses, and its number.

    The journal's lock is held until `stack` is closed.
    """
    from itertools import count

    from genus.persistence.locks import holding
    from genus.studio.journal import Journal

    for number in count(1):
        journal = Journal.of(known, fresh, number)
        try:
            journal.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            is_free = stack.enter_context(holding(journal.lock))
        except OSError:  # the folder cannot be written to, so no journal is kept
            return journal, 1
        if is_free:
            # Read again, because the last user may have written until now.
            return Journal.of(known, fresh, number), number
    raise AssertionError


def require_packages() -> None:
    """Raise an error that names the extra to install, if a package is missing."""
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"The studio needs {' and '.join(missing)}: pip install 'genus[studio]'"
        )


def checked(model: Any, path: str, data: tuple[str, ...]) -> Any:
    """Return the model if the studio can show it, or else raise an error."""
    from genus.estimators.table import TableClassifier
    from genus.estimators.text import TextClassifier

    if isinstance(model, TextClassifier) and data:
        raise click.UsageError("A model of texts cannot be shown with data. Give MODEL only.")
    if not isinstance(model, TableClassifier | TextClassifier):
        raise ValueError(
            f"{path} is a {type(model).__name__}. The studio shows models of tables and of "
            "texts only."
        )
    if not model.class_count_.sum():
        raise ValueError(
            f"{path} has no rows: it is a plan, or all rows were forgotten. Give a fitted model."
        )
    return model


def name_of(path: str) -> str:
    """Return the name of a file, without its folder."""
    import os

    return os.path.basename(path.rstrip("/")) or path
