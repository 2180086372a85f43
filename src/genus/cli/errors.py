"""What can go wrong, as one sentence on stderr and an exit code."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import click

DONE, INTERRUPTED = 0, 130  # click has the others: 1 for what is wrong, 2 for usage
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_MEMORY = re.compile(  # what libraries say that do not raise MemoryError
    r"out of memory|cannot allocate memory|failed to map segment|bad_alloc|can't start new thread"
    r"|malloc of size|unable to allocate",
    re.I,
)


class Commands(click.Group):
    """Commands in the order in which they were added; their errors are sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        with sentences(ctx), warnings.catch_warnings():
            warnings.showwarning = tell_warning
            result = super().invoke(ctx)
            sys.stdout.flush()  # a pipe that is closed says so here, and not when Python ends
            return result


@contextmanager
def sentences(ctx: click.Context) -> Iterator[None]:
    """Errors of data, models and files as click's own; a reader who has enough is no error."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError:
        close_stdout()
        ctx.exit(DONE)
    except KeyboardInterrupt:
        interrupted(ctx)
    except Exception as error:
        if Interruption.came:  # DuckDB makes errors of its own of Ctrl-C
            interrupted(ctx)
        flush_or_close_stdout()
        if os.environ.get("GENUS_TRACEBACK"):
            raise
        raise click.ClickException(sentence(error)) from error


def sentence(error: Exception) -> str:
    """What an error says, and of those that nobody foresaw that they are a bug."""
    if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
        return (
            "There is not enough memory for this. Give less data at once; from a table, leave out "
            "columns with --ignore."
        )
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename}" if error.filename else ""
        todo = " Make room, or write elsewhere." if error.errno in FULL else ""
        return f"Cannot read or write{where}: {error.strerror}.{todo}"
    told = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError) and told:
        return told
    return (
        f"This is a bug in genus: {type(error).__name__}: {told} Please report it, with what is "
        "printed when GENUS_TRACEBACK=1 is set."
    )


def interrupted(ctx: click.Context) -> NoReturn:
    say("Interrupted; nothing is left half written.")
    ctx.exit(INTERRUPTED)


def flush_or_close_stdout() -> None:
    """Whatever stdout still holds goes out now, or never."""
    try:
        sys.stdout.flush()
    except OSError:
        close_stdout()


def close_stdout() -> None:
    """Let Python flush to nowhere when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say(text: str) -> None:
    """Talk, on stderr."""
    click.echo(text, err=True)


def tell_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, UserWarning):  # others are for developers
        say(f"{click.style('Note:', fg='yellow')} {message}")


class Interruption:
    """Whether Ctrl-C was pressed."""

    came = False

    @classmethod
    def handle(cls, number: int, frame: Any) -> NoReturn:
        cls.came = True
        raise KeyboardInterrupt


def keep_streams() -> None:
    """Open what the caller has closed, lest a database gets its number.

    Nothing can be read from it; what is written to it is an error, but for what is only said.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 as long as we run


def main() -> None:
    """Run the command that the arguments name."""
    import signal

    from genus.cli.commands import cli

    keep_streams()
    signal.signal(signal.SIGINT, Interruption.handle)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not know every character
    try:
        result = cli.main(prog_name="genus", standalone_mode=False)
        code = result if isinstance(result, int) else DONE
    except click.ClickException as error:
        with suppress(OSError):  # nobody reads what is said; the code still tells
            error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except OSError as error:  # of help, which is written before any command runs
        close_stdout()
        code = DONE
        if not isinstance(error, BrokenPipeError):
            code = 1
            with suppress(OSError):
                say(f"Error: {sentence(error)}")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is to leave
    sys.exit(code)
