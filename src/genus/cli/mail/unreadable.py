"""Report messages that cannot be read, and go on with the others."""

from __future__ import annotations

import click

from genus.cli.errors import say, sentence


class Missed:
    """Reports each path that cannot be read, and exits with a code at the end."""

    def __init__(self) -> None:
        self.any = False

    def __call__(self, path: str, error: OSError) -> None:
        self.any = True
        say(f"Error: {sentence(error)}")

    def exit(self, ctx: click.Context, code: int = 1) -> None:
        """Exit with a code if anything could not be read."""
        if self.any:
            ctx.exit(code)
