"""Read messages from an mbox, a Maildir, an MH folder, a folder of files, one file or stdin."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

Named = tuple[str, bytes]  # the name of a message, and its bytes
Missed = Callable[[str, OSError], None]  # is called with each path that cannot be read
STDIN = "-"
MOST = 1 << 26  # bytes that are read of one message
BLOCK = 1 << 16
BEGINNING = b"\nFrom "  # is found faster than the whole separator, and most messages have none
SEPARATOR = re.compile(rb"\n\r?\n(?=From )")
LONGEST = len(b"\n\r\nFrom ")
QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def messages_in(paths: Iterable[str], missed: Missed | None = None) -> Iterator[Named]:
    """Yield the messages at some paths, each with a name.

    A path that cannot be read raises an error. If `missed` is given, it is called with the path and
    the error instead, and the rest is read.
    """
    for path in paths:
        with passing_over(path, missed):
            yield from messages_at(path, missed)


@contextmanager
def passing_over(path: str | Path, missed: Missed | None) -> Iterator[None]:
    """Pass the path and an error to `missed`, or, if it is None, raise an error with the path."""
    try:
        yield
    except OSError as error:
        if error.strerror and not error.filename:  # such as of a file that opens but is unreadable
            error.filename = str(path)
        if missed is None:
            raise
        missed(str(path), error)


def messages_at(path: str, missed: Missed | None = None) -> Iterator[Named]:
    """Yield the messages at a path, sorted by name; PATH#2 is the second message of an mbox."""
    if path == STDIN:
        # stdin is one message: lines with "From " in its text must not split it.
        raw = sys.stdin.buffer.read(MOST)
        if not raw:
            raise FileNotFoundError("There is no message on stdin.")
        yield "stdin", unquoted(bytearray(raw)) if raw.startswith(b"From ") else raw
        return
    try:
        os.stat(path)
    except FileNotFoundError:
        place, _, number = path.rpartition("#")
        if number.isdecimal() and os.path.isfile(place):
            yield path, message_of_mbox(place, int(number))
            return
        raise FileNotFoundError(
            f"There is no file or folder {path}. Name a message, an mbox, a Maildir or a folder "
            "of messages."
        ) from None
    if os.path.isdir(path):
        for each in files_in(path, missed):
            with passing_over(each, missed):
                yield from messages_of_file(each, gone_is_fine=True)
    else:
        yield from messages_of_file(path)


def message_named(path: str) -> tuple[str, bytes, bool]:
    """Return the name and bytes of the first message at a path, and whether it is the only one."""
    with passing_over(path, None):
        found = list(islice(messages_at(path), 2))
    if not found:
        raise ValueError(f"There is no message in {path}.")
    return *found[0], len(found) == 1


def message_of_mbox(path: str, number: int) -> bytes:
    """Return a message of an mbox by its number; the first has number 1."""
    if number > 0:
        for _, raw in islice(messages_of_file(path), number - 1, None):
            return raw
    raise FileNotFoundError(f"There is no message {number} in {path}.")


def files_in(folder: str | Path, missed: Missed | None = None) -> Iterator[str]:
    """Yield the files of a Maildir, or of a folder and its subfolders; skip hidden ones."""
    pending = [(str(folder), os.path.isdir(folder))]
    while pending:
        each, is_dir = pending.pop()
        with passing_over(each, missed):
            if not is_dir:
                yield each
            elif is_maildir(each):
                for part in ("cur", "new"):
                    yield from sorted(
                        entry.path
                        for entry in listed(os.path.join(each, part))
                        if is_message(entry)
                    )
            else:
                inside = (
                    (entry.path, is_folder(entry)) for entry in listed(each) if is_read(entry)
                )
                pending += sorted(inside, reverse=True)


def is_maildir(folder: str | Path) -> bool:
    return all(os.path.isdir(os.path.join(folder, part)) for part in ("cur", "new"))


def is_message(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a file, neither hidden nor deleted (MH renames 7 to ,7)."""
    if entry.name.startswith((".", ",")):
        return False
    return os.path.isfile(entry.path) if entry.is_symlink() else entry.is_file()


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder; links are left out, since they may form a circle."""
    return not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)


def is_read(entry: os.DirEntry[str]) -> bool:
    return is_message(entry) or is_folder(entry)


def listed(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder; nothing if it no longer exists."""
    try:
        with os.scandir(folder) as found:
            yield from found
    except FileNotFoundError:
        return


def messages_of_file(path: str, gone_is_fine: bool = False) -> Iterator[Named]:
    """Yield the message in a file, or the messages of an mbox."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        if gone_is_fine:  # mail programs move and rename files at any time
            return
        raise
    with file:
        yield from divided(path, file)


def divided(name: str, file: BinaryIO) -> Iterator[Named]:
    """Yield one message, or the messages of an mbox, which begin with "From "."""
    block = file.read(BLOCK)
    if not block.startswith(b"From "):
        if len(block) == BLOCK:  # `read` allocates as many bytes as it may return
            block += file.read(MOST - BLOCK)
        if block:
            yield name, block[:MOST]
        return
    text, number, searched = bytearray(), 1, 0
    while block:
        text += block
        while BEGINNING in text and (found := SEPARATOR.search(text, searched)):
            yield f"{name}#{number}", unquoted(text[: found.end()])
            del text[: found.end()]
            number, searched = number + 1, 0
        del text[MOST:-LONGEST]
        searched = max(len(text) - LONGEST, 0)
        block = file.read(BLOCK) if len(block) == BLOCK else b""
    yield (f"{name}#{number}" if number > 1 else name), unquoted(text)


def unquoted(text: bytearray) -> bytes:
    """Restore a message of an mbox: remove its "From " line, and replace ">From" by "From"."""
    stop = min(len(text), MOST)
    start = text.find(b"\n", 0, stop) + 1 or stop
    if text.endswith(b"\n", start, stop):
        stop -= 2 if text.endswith(b"\r\n", start, stop) else 1
    raw = bytes(text[start:stop])
    return QUOTED.sub(rb"\1", raw) if b">From " in raw else raw
