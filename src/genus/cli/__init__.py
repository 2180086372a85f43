"""The command line of genus; `genus --help` documents it."""

from __future__ import annotations

import os
import signal
from typing import Any, NoReturn

__all__ = ["cli", "main"]
INTERRUPTED = 130


def main() -> None:
    """Run the command in the arguments; while modules load, Ctrl-C exits silently."""
    signal.signal(signal.SIGINT, leave)
    from genus.cli.errors import main

    main()


def leave(number: int, frame: Any) -> NoReturn:
    """Exit at once; nothing has been read or written yet."""
    os._exit(INTERRUPTED)


def __getattr__(name: str) -> Any:
    if name != "cli":
        raise AttributeError(f"module 'genus.cli' has no attribute {name!r}")
    from genus.cli.commands import cli

    return cli
