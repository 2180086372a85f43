"""A message from stdin and to stdout, whole, whatever kind of pipe they are."""

from __future__ import annotations

import select
import sys
from typing import Any

BLOCK = 1 << 20


def received() -> bytes:
    """All of stdin, which may be a pipe that does not wait."""
    pieces = []
    while (piece := sys.stdin.buffer.read(BLOCK)) != b"":
        if piece is None:
            select.select([sys.stdin], [], [])
        else:
            pieces.append(piece)
    return b"".join(pieces)


def pass_on(message: bytes) -> None:
    """Write all of a message to stdout: what is not buffered takes only what it has room for."""
    sys.stdout.flush()
    buffer: Any = sys.stdout.buffer
    file, rest = getattr(buffer, "raw", buffer), memoryview(message)
    while rest:
        written = file.write(rest)
        if written is None:  # a pipe that does not wait, and is full
            select.select([], [file], [])
        else:
            rest = rest[written:]
