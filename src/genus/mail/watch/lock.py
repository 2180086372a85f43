"""One watcher of an account at a time."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genus.mail.imap import ImapError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def alone(account: str) -> Iterator[None]:
    """Hold an account's lock, for one user on one machine; the system ends it with the process."""
    name = hashlib.blake2b(account.encode(), digest_size=8).hexdigest()
    user = os.getuid() if hasattr(os, "getuid") else "own"  # Windows has a folder for each user
    path = Path(tempfile.gettempdir(), f"genus-watch-{user}-{name}.lock")
    descriptor = os.open(path, FLAGS, 0o600)
    try:
        if not lock(descriptor):
            raise ImapError(f"{account} is being watched by another process. End that one first.")
        yield
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock an open file; False if another process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
