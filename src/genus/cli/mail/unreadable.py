"""Messages that could not be read: each is said, the others are gone on with."""

from __future__ import annotations

import click

from genus.cli.errors import say, sentence


class Missed:
    """Says what could not be read; in the end there is an exit code for it."""

    def __init__(self) -> None:
        self.any = False

    def __call__(self, path: str, error: OSError) -> None:
        self.any = True
        say(f"Error: {sentence(error)}")

    def exit(self, ctx: click.Context, code: int = 1) -> None:
        """End with a code if anything was missed."""
        if self.any:
            ctx.exit(code)
