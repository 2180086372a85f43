"""genus on the command line: `genus --help` is the manual."""

from __future__ import annotations

from genus.cli.commands import cli
from genus.cli.errors import main

__all__ = ["cli", "main"]
