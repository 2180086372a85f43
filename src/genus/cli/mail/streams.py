"""Read a message from stdin and write it to stdout, even through non-blocking pipes."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

from genus.persistence.atomic import write_all

BLOCK = 1 << 20


def received(most: int) -> tuple[list[bytes], bool]:
    """Return stdin in pieces, and whether that is all of it.

    It is not if stdin is larger than `most` bytes or than the memory; `arriving` yields the rest.
    """
    pieces: list[bytes] = []
    try:
        for piece in arriving():
            pieces.append(piece)
            if len(pieces) * BLOCK > most and sum(map(len, pieces)) > most:
                return pieces, False
    except MemoryError:  # raised before anything is taken out of the pipe
        return pieces, False
    return pieces, True


def arriving() -> Iterator[bytes]:
    """Yield the rest of stdin in pieces; it may be a non-blocking pipe."""
    while (piece := sys.stdin.buffer.read(BLOCK)) != b"":
        if piece is None:
            select.select([sys.stdin], [], [])
        else:
            yield piece


def pass_on(pieces: list[bytes]) -> None:
    """Write some pieces and the rest of stdin to stdout, even if the pipe accepts only parts."""
    sys.stdout.flush()
    buffer: Any = sys.stdout.buffer
    for piece in chain(taken(pieces), arriving()):
        write_all(getattr(buffer, "raw", buffer), piece)


def taken(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield pieces and remove them from the list, so that their memory is free for others."""
    pieces.reverse()
    while pieces:
        yield pieces.pop()
