"""Make sure that only one process watches an account."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from genus.mail.imap import ImapError
from genus.mail.store import default_place
from genus.persistence.locks import holding


@contextmanager
def alone(account: str) -> Iterator[None]:
    """Hold the lock of an account: a file in a folder of the user, where nobody else can write."""
    name = hashlib.blake2b(account.encode(), digest_size=8).hexdigest()
    folder = default_place().parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"watch-{name}.lock"
    with holding(path) as held:
        if not held:
            raise ImapError(f"Another process already watches {account}. End that one first.")
        yield
