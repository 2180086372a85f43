"""Lock files that one process holds at a time; the system releases them when the process ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def holding(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Hold a lock file inside the `with` block; yield False if another process has it."""
    descriptor = os.open(path, FLAGS, 0o600)
    try:
        yield lock(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
