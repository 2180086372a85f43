"""Read a message from stdin and write it to stdout, even through non-blocking pipes."""

from __future__ import annotations

import select
import sys
from typing import Any

from genus.persistence.atomic import write_all

BLOCK = 1 << 20


def received() -> bytes:
    """Return all of stdin, which may be a non-blocking pipe."""
    pieces = []
    while (piece := sys.stdin.buffer.read(BLOCK)) != b"":
        if piece is None:
            select.select([sys.stdin], [], [])
        else:
            pieces.append(piece)
    return b"".join(pieces)


def pass_on(message: bytes) -> None:
    """Write a whole message to stdout, in parts if the pipe accepts only some of it."""
    sys.stdout.flush()
    buffer: Any = sys.stdout.buffer
    write_all(getattr(buffer, "raw", buffer), message)
