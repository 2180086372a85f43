"""Write a file completely or not at all: under a temporary name, synced, then renamed."""

from __future__ import annotations

import os
import secrets
import select
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

PREFIX = ".genus-"  # of temporary names


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` when it is completely written.

    A link is followed, and the mode of an existing file is kept. If anything fails, the existing
    file stays unchanged.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "greeting")
    ...     with replacing(path) as file:
    ...         n = file.write(b"hello")
    ...     path.read_bytes()
    b'hello'
    """
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot write {path}: the folder {path.parent} does not exist. Create it."
        )
    if path.exists() and not path.is_file():
        raise OSError(f"Cannot write {path}: it is not a regular file. Give another name.")
    beside = path.with_name(PREFIX + secrets.token_hex(8))
    try:
        with open(beside, "xb") as file:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write bytes to a file, completely or not at all."""
    with replacing(path) as file:
        file.write(content)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, if the system allows it; Windows does so itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # no permission to read the folder, or no support by the file system
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_all(stream: Any, content: bytes) -> None:
    """Write all bytes to a stream that may accept only some, unbuffered or non-blocking."""
    rest = memoryview(content)
    while rest:
        written = stream.write(rest)
        if written is None:  # a non-blocking pipe is full
            select.select([], [stream], [])
        else:
            rest = rest[written:]
