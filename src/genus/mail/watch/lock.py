"""One watcher of an account at a time."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genus.mail.imap import ImapError
from genus.persistence.locks import holding


@contextmanager
def alone(account: str) -> Iterator[None]:
    """Hold an account's lock, for one user on one machine."""
    name = hashlib.blake2b(account.encode(), digest_size=8).hexdigest()
    user = os.getuid() if hasattr(os, "getuid") else "own"  # Windows has a folder for each user
    path = Path(tempfile.gettempdir(), f"genus-watch-{user}-{name}.lock")
    with holding(path) as held:
        if not held:
            raise ImapError(f"{account} is being watched by another process. End that one first.")
        yield
