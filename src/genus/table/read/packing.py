"""Unpack compressed files, archives and pipes to plain files, to read them repeatedly.

DuckDB reads some compressions and encodings itself, and such files are only checked. Other files
are unpacked, or written in UTF-8, into a temporary folder, which is removed when Python exits. A
file that is opened twice is unpacked once.
"""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
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
CONVERTED: dict[str, str] = {}  # how the content of copies was converted
UNEVEN: dict[str, str] = {}  # files whose lines end unevenly, by the path of their copy
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@cache
def folder() -> Any:
    """Return the folder for unpacked files; it is removed when Python exits."""
    return tempfile.TemporaryDirectory(prefix="genus-")


def stamp(path: str) -> str:
    """Return a text that changes whenever the file does, or the encoding in which it is read."""
    how, path = CONVERTED.get(path, ""), ORIGINS.get(path, path)
    status = os.stat(path)
    return f"{os.path.abspath(path)}, {status.st_size} bytes of {status.st_mtime_ns}{how}"


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


def in_utf8(path: str, encoding: str, readable: Collection[str]) -> str:
    """Return the path of a copy of a text file in UTF-8.

    If the encoding is among the `readable` ones, the path itself is returned. A byte order mark of
    UTF-16 shows the encoding of a file that is expected to be in UTF-8.
    """
    if encoding == "utf-8":
        with opened(path, packing_of(path)) as file:
            encoding = "utf-16" if file.read(2) in UTF_16 else encoding
    if encoding in readable:
        return path
    text = codecs.iterdecode(chunks_of(path), encoding)
    try:
        return copy_of(path, encoding, (chunk.encode() for chunk in text))
    except UnicodeError as error:
        raise TableError(
            f"{ORIGINS.get(path, path)} is not {encoding}: {error}. Try another --encoding "
            '(encoding="latin-1").'
        ) from None


def with_even_lines(path: str) -> str:
    """Return the path of a copy whose lines end with LF, if some end with CRLF and some with LF."""
    long = sum(chunk.count(b"\r\n") for chunk in chunks_of(path))
    if long in (0, sum(chunk.count(b"\n") for chunk in chunks_of(path))):
        return path
    even = (chunk.replace(b"\r\n", b"\n") for chunk in chunks_of(path))
    copy = copy_of(path, "even lines", even)
    UNEVEN[copy] = UNEVEN.get(path, path)
    return copy


def chunks_of(path: str) -> Iterator[bytes]:
    """Yield the unpacked content of a file; no chunk ends between CR and LF."""
    with opened(path, packing_of(path)) as file:
        while chunk := file.read(CHUNK):
            yield chunk + file.read(1) if chunk.endswith(b"\r") else chunk


def copy_of(path: str, how: str, content: Iterable[bytes]) -> str:
    """Write a file's converted content to a temporary file, unless it is there, and return it."""
    known = (f"{path}, {stamp(path)}", how)
    if known not in UNPACKED:
        target = os.path.join(folder().name, f"{len(UNPACKED)}{suffix_of(path)}")
        with open(target, "wb") as file:
            file.writelines(content)
        UNPACKED[known] = target
        ORIGINS[target] = ORIGINS.get(path, path)
        CONVERTED[target] = f"{CONVERTED.get(path, '')}, {how}"
    return UNPACKED[known]


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


def opened(path: str, how: str | None, member: str = "") -> Any:
    """Return the unpacked content of a file as a stream."""
    if how is None:
        return open(path, "rb")
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
