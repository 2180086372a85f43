"""One watcher of an account at a time."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genus.mail.imap import ImapError


@contextmanager
def alone(account: str) -> Iterator[None]:
    """One watcher of an account at a time, of a user on a machine; the system ends the claim."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    name = hashlib.blake2b(account.encode(), digest_size=8).hexdigest()
    path = Path(tempfile.gettempdir()) / f"genus-watch-{os.getuid()}-{name}.lock"
    claim = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ImapError(
                f"{account} is being watched by another process. End that one first."
            ) from None
        yield
    finally:
        os.close(claim)
