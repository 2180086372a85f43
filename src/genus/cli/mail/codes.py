"""Exit codes of the commands that mail servers call: the same as bogofilter's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

SPAM, HAM, UNSURE, FAILED = 0, 1, 2, 3


class UsageIsAnError(click.Command):
    """A command that exits with FAILED on wrong usage, because exit code 2 means unsure here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.show()
            ctx.exit(FAILED)


@contextmanager
def failing(ctx: click.Context, code: int) -> Iterator[None]:
    """Report errors in one sentence, as all commands do, and exit with this code."""
    from genus.cli.errors import flush_or_close_stdout, say, sentence

    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise
    except Exception as error:
        flush_or_close_stdout()
        say(f"Error: {sentence(error)}")
        ctx.exit(code)
