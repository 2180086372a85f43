"""Unpack compressed files, archives and pipes to plain files, to read them repeatedly.

DuckDB reads some compressions itself, and such files are only checked. Other files are unpacked
into a temporary folder, which is removed when Python exits. A file that is opened twice is unpacked
once.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Collection
from functools import cache
from typing import Any

from genus.table.read.formats import (
    COMPRESSED,
    READERS,
    document_suffix,
    format_named,
    start_of,
    suffix_of,
)
from genus.table.read.sources import TableError, shortened

STARTS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
CHUNK = 1 << 20  # bytes
ORIGINS: dict[str, str] = {}  # original paths of unpacked files
UNPACKED: dict[tuple[str, str], str] = {}


@cache
def folder() -> Any:
    """Return the folder for unpacked files; it is removed when Python exits."""
    return tempfile.TemporaryDirectory(prefix="genus-")


def stamp(path: str) -> str:
    """Return a text that changes whenever the file does."""
    path = ORIGINS.get(path, path)
    status = os.stat(path)
    return f"{os.path.abspath(path)}, {status.st_size} bytes of {status.st_mtime_ns}"


def plain_file(path: str, part: str = "") -> tuple[str, str]:
    """Return a path that a table reader can open, and the part to look for inside it.

    For an archive, `part` is the name of a member.
    """
    if is_pipe(path):
        path = spooled(path)
    how = packing_of(path)
    if how is None or (how == "zip" and document_suffix(path, start_of(path))):
        return path, part
    inner = suffix_of(path)
    if how in ("gzip", "zstd") and COMPRESSED.search(path) and inner in READERS:
        ending = os.path.splitext(path.lower())[1]
        if ending in format_named(READERS[inner]).unpacks:
            refuse_incomplete(path, how, stamp(path))
            return path, part
    member = chosen_member(path, part) if how == "zip" else ""
    known = (stamp(path), member)
    if known not in UNPACKED:
        suffix = os.path.splitext(member)[1] if member else inner
        target = os.path.join(folder().name, f"{len(UNPACKED)}{suffix}")
        unpack(path, how, member, target)
        UNPACKED[known] = target
        ORIGINS[target] = path
    return UNPACKED[known], "" if member else part


@cache
def refuse_incomplete(path: str, how: str, stamp: str) -> None:
    """Raise an error if a compressed file was cut short or changed.

    DuckDB does not report that a zstd file was cut short, or that the checksum of a gzip file is
    wrong. A file with the same `stamp` is checked once.
    """
    import pyarrow as pa

    try:
        with pa.input_stream(path, compression=how) as packed:
            while packed.read(CHUNK):
                pass
    except OSError as error:
        if error.errno is not None:
            raise
        raise damaged(path, how, error) from None


def packing_of(path: str) -> str | None:
    """Return a file's compression, by its first bytes; None if it is not compressed."""
    start = start_of(path)
    return next((how for mark, how in STARTS.items() if start.startswith(mark)), None)


def is_pipe(path: str) -> bool:
    """Return whether a path is a pipe or a device, which can be read only once."""
    mode = os.stat(path).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def spooled(path: str) -> str:
    """Copy the content of a pipe to a temporary file, and return its path."""
    target = tempfile.NamedTemporaryFile(  # noqa: SIM115 the folder is removed at the end
        dir=folder().name, suffix=suffix_of(path), delete=False
    )
    with target as copy, open(path, "rb") as pipe:
        shutil.copyfileobj(pipe, copy)
    return target.name


def chosen_member(path: str, part: str) -> str:
    """Return the member of a ZIP archive that holds the table."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [
                info.filename
                for info in archive.infolist()
                if not info.is_dir() and not info.filename.startswith("__MACOSX/")
            ]
    except zipfile.BadZipFile as error:
        raise damaged(path, "zip", error) from None
    if part:
        if part not in names:
            raise TableError(f"{path} has no file {part!r}. It has {listed(names)}.")
        return part
    tables = [name for name in names if suffix_of(name) in READERS] or names
    if len(tables) != 1:
        example = f" Name one, such as {path}#{tables[0]}." if tables else ""
        raise TableError(f"{path} holds {listed(tables)}.{example}")
    return tables[0]


def listed(names: Collection[str]) -> str:
    """Return the first names, for a message."""
    shown = ", ".join(repr(shortened(name)) for name in list(names)[:5]) or "no file"
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def unpack(path: str, how: str, member: str, target: str) -> None:
    """Write the unpacked content of a file to the path `target`."""
    try:
        with opened(path, how, member) as packed, open(target, "wb") as file:
            shutil.copyfileobj(packed, file, CHUNK)
    except (EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise damaged(path, how, error) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise damaged(path, how, error) from None
    except Exception as error:
        if type(error).__name__ != "LZMAError":
            raise
        raise damaged(path, how, error) from None


def opened(path: str, how: str, member: str) -> Any:
    """Return the unpacked content of a file as a stream."""
    import bz2
    import gzip
    import lzma

    if how == "zip":
        return zipfile.ZipFile(path).open(member)
    if how == "zstd":
        import pyarrow as pa

        return pa.input_stream(path, compression="zstd")
    unpackers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    return unpackers[how](path, "rb")


def damaged(path: str, how: str, error: Exception) -> TableError:
    """Return the error for a file that cannot be unpacked."""
    told = " ".join(str(error).split()).rstrip(".")
    return TableError(
        f"Cannot unpack {path} ({how}): {told}. The file may be incomplete. Copy it again."
    )
