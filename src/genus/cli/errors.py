"""Turn every error into a message on stderr and an exit code."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NoReturn, TextIO

import click

DONE, INTERRUPTED = 0, 130  # the other codes are click's: 1 for errors, 2 for usage
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TOO_LITTLE = "There is not enough memory"  # how errors of genus itself begin
NO_MEMORY = re.compile(  # errors of libraries that do not raise MemoryError
    r"out of memory|cannot allocate memory|failed to map segment|bad_alloc|can't start new thread"
    r"|malloc of size|unable to allocate",
    re.I,
)

LESS = (
    "Give less data at once, choose a target with fewer classes, or leave out columns of a table "
    "with --ignore."
)

# What only users of Python need: (ignore=, --ignore), (encoding="latin-1"), decision={…}, or …
PYTHON = [
    (re.compile(r"\b(?:ignore|families|groups)=, (?=--)|\bdecision=\{[^}]*\}, or (?=--)"), ""),
    (re.compile(r", groups=(?=\))| \((?:ignore=|encoding=\"[^\"]*\")\)"), ""),
    (re.compile(r"\bfamilies=\{[^}]*\} \((--[^()]*)\)"), r"\1"),
    (re.compile(r"\bpatience=(?=\d)"), "--patience "),
]


class Commands(click.Group):
    """Commands in the order in which they were added; their errors become messages on stderr."""

    less = LESS  # what to do if there is not enough memory

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # click would cut long first lines off
            formatter.write_dl(
                [(name, command.get_short_help_str(200)) for name, command in self.commands.items()]
            )

    def invoke(self, ctx: click.Context) -> Any:
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        with sentences(ctx), warnings.catch_warnings():
            warnings.showwarning = partial(tell_warning, set())
            result = super().invoke(ctx)
            sys.stdout.flush()  # report a closed pipe here, rather than when Python exits
            return result


@contextmanager
def sentences(ctx: click.Context) -> Iterator[None]:
    """Turn errors into click's errors; ignore a closed pipe."""
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
        if Interruption.came:  # DuckDB turns Ctrl-C into an error of its own
            interrupted(ctx)
        flush_or_close_stdout()
        if os.environ.get("GENUS_TRACEBACK"):
            raise
        raise click.ClickException(for_shell(sentence(error))) from error


def for_shell(message: str) -> str:
    """Remove the options of Python from a message that also names those of the command line.

    >>> for_shell("Leave it out (ignore=, --ignore), or wait for patience=3.")
    'Leave it out (--ignore), or wait for --patience 3.'
    """
    for pattern, told in PYTHON:
        message = pattern.sub(told, message)
    return message


def sentence(error: Exception) -> str:
    """Return the message for an error, in one line; an unexpected error is reported as a bug."""
    if isinstance(error, MemoryError) and str(error).startswith(TOO_LITTLE):
        return str(error)
    if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
        return f"{TOO_LITTLE}. {remedy()}"
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename}" if error.filename else ""
        todo = " Free some space, or write to another disk." if error.errno in FULL else ""
        return f"Cannot read or write{where}: {error.strerror}.{todo}"
    told = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError) and told:
        return told
    problem = f"{type(error).__name__}: {told}".rstrip(": .")
    return (
        f"This is a bug in genus: {problem}. Please report it. Set "
        "GENUS_TRACEBACK=1, run the command again, and include its output."
    )


def remedy() -> str:
    """Return what to do if there is not enough memory for the command that runs."""
    ctx = click.get_current_context(silent=True)
    while ctx is not None:
        if isinstance(ctx.command, Commands):
            return ctx.command.less
        ctx = ctx.parent
    return LESS


def interrupted(ctx: click.Context) -> NoReturn:
    say("Interrupted. No file was left incomplete, but output to stdout may be.")
    ctx.exit(INTERRUPTED)


def flush_or_close_stdout() -> None:
    """Flush stdout; if that fails, discard what it holds."""
    try:
        sys.stdout.flush()
    except OSError:
        close_stdout()


def close_stdout() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit does not fail."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say(text: str) -> None:
    """Print a message on stderr."""
    click.echo(text, err=True)


def say_written(output: str, rows: int, before: bool) -> None:
    """Say that rows were written to a file, which was there before or not; not of stdout."""
    from genus.display.text import count

    if output != "-":
        say(f"{'Replaced' if before else 'Wrote'} {output}, with {count(rows, 'row')}.")


def note(text: str) -> None:
    """Print a note on stderr."""
    say(f"{click.style('Note:', fg='yellow')} {for_shell(text)}")


def tell_warning(
    told: set[str],
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as a note, unless it was `told` before."""
    if issubclass(category, UserWarning) and str(message) not in told:  # others: for developers
        told.add(str(message))
        note(str(message))


class Interruption:
    """Whether Ctrl-C was pressed."""

    came = False

    @classmethod
    def handle(cls, number: int, frame: Any) -> NoReturn:
        cls.came = True
        raise KeyboardInterrupt


def keep_streams() -> None:
    """Open standard streams that the caller has closed, so that no other file takes their place.

    Then stdin is empty, writing to stdout is an error, and messages to stderr are discarded.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 as long as we run


def main() -> None:
    """Run the command in the arguments."""
    import signal

    from genus.cli.commands import cli

    keep_streams()
    signal.signal(signal.SIGINT, Interruption.handle)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not support every character
    try:
        result = cli.main(prog_name="genus", standalone_mode=False)
        code = result if isinstance(result, int) else DONE
    except click.ClickException as error:
        with suppress(OSError):  # the exit code tells even if no one reads the message
            error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except OSError as error:  # from help, which is written before any command runs
        close_stdout()
        code = DONE
        if not isinstance(error, BrokenPipeError):
            code = 1
            with suppress(OSError):
                say(f"Error: {sentence(error)}")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the exit is left
    sys.exit(code)
