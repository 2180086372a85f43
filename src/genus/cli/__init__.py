"""genus on the command line: `genus --help` is the manual."""

from __future__ import annotations

import os
import signal
from typing import Any, NoReturn

__all__ = ["cli", "main"]
INTERRUPTED = 130


def main() -> None:
    """Run the command that the arguments name; Ctrl-C is no error while modules are loaded."""
    signal.signal(signal.SIGINT, leave)
    from genus.cli.errors import main

    main()


def leave(number: int, frame: Any) -> NoReturn:
    """End at once: nothing has been read or written yet."""
    os._exit(INTERRUPTED)


def __getattr__(name: str) -> Any:
    if name != "cli":
        raise AttributeError(f"module 'genus.cli' has no attribute {name!r}")
    from genus.cli.commands import cli

    return cli
