"""Read messages from an mbox, a Maildir, an MH folder, a folder of files, one file or stdin."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
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
ENVELOPE = b"From "
BEGINNING = b"\n" + ENVELOPE  # is found faster than the whole separator; most messages have none
# "From ann@example.org Mon Jan  1 12:00:00 2024": a sender without spaces, which may be missing,
# and a date as asctime writes it. Mailing list archives write "ann at example.org". Dovecot quotes
# no other line that begins with "From ", so such a line is text.
MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
ZONE = rb"(?:[A-Z]{1,5}(?: DST|[+-]\d{1,4})?|[+-]\d{4})"
DATE = (
    rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {1,2}%b {1,2}\d{1,2} {1,2}"
    rb"\d{1,2}:\d\d(?::\d\d)?(?: %b)? {1,2}\d{4}(?: %b)?" % (MONTH, ZONE, ZONE)
)
SENDER = rb"(?:\"[^\"\r\n]{0,320}\")?[^\s\"]{0,320}(?: at [^\s\"]{1,320})?"
LINE = rb"From (?:%b[ \t]{1,9})?%b(?: remote from \S{1,320})?[ \t]{0,9}\r?\n" % (SENDER, DATE)
SEPARATOR = re.compile(rb"\n\r?\n(?=%b)" % LINE, re.I)
AFTER_LENGTH = re.compile(rb"(?:\r?\n){0,2}(?=%b)" % LINE, re.I)
ONLY_LINES = re.compile(rb"[\r\n]*\Z")
LONGEST = 2048  # at least the bytes of any separator
HEAD = 1 << 16  # bytes of a message in which its length is looked for
HEAD_END = re.compile(rb"\n\r?\n")
LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.I | re.M)
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
        warn_of_mbox(raw)
        yield "stdin", unquoted(bytearray(raw)) if raw.startswith(ENVELOPE) else raw
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


def warn_of_mbox(raw: bytes) -> None:
    """Warn if a message from stdin is an mbox of several messages."""
    if raw.startswith(ENVELOPE) and SEPARATOR.search(raw):
        number = sum(1 for _ in divided("stdin", io.BytesIO(raw)))
        if number > 1:
            warnings.warn(
                f"stdin holds an mbox of {number:,} messages, but it is read as one message. Name "
                "the path of the mbox instead, or /dev/stdin.",
                stacklevel=2,
            )


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
    if not block.startswith(ENVELOPE):
        if len(block) == BLOCK:  # `read` allocates as many bytes as it may return
            block += file.read(MOST - BLOCK)
        if block:
            yield name, block[:MOST]
        return
    mbox, number = Mbox(file, block), 1
    while (raw := mbox.next()) is not None:
        yield f"{name}#{number}", raw
        number += 1
    yield (f"{name}#{number}" if number > 1 else name), unquoted(mbox.text)


class Mbox:
    """The rest of an mbox; `text` begins with the next message and may hold only a part of it."""

    def __init__(self, file: BinaryIO, block: bytes) -> None:
        self.file, self.text = file, bytearray(block)
        self.is_complete = len(block) < BLOCK

    def next(self) -> bytes | None:
        """Return the next message if there is another one after it."""
        end = self.end_by_length() or self.end_by_separator()
        if end is None or end == len(self.text):
            return None
        raw = unquoted(self.text[:end])
        del self.text[:end]
        return raw

    def read_until(self, size: int) -> None:
        while len(self.text) < size and not self.is_complete:
            self.read()

    def read(self) -> None:
        block = self.file.read(BLOCK)
        self.is_complete = len(block) < BLOCK
        self.text += block

    def end_by_length(self) -> int | None:
        """Return where a message ends by its Content-Length, if another one or nothing follows."""
        while (head := HEAD_END.search(self.text, 0, HEAD)) is None:
            if self.is_complete or len(self.text) >= HEAD:
                return None
            self.read()
        told = {int(each) for each in LENGTH.findall(self.text, 0, head.end() - 1)}
        if len(told) != 1:
            return None
        end = head.end() + told.pop()
        if end + LONGEST > MOST:
            return None
        self.read_until(end + LONGEST)
        if 0 <= len(self.text) - end <= LONGEST and ONLY_LINES.match(self.text, end):
            return len(self.text)
        found = AFTER_LENGTH.match(self.text, end)
        return None if found is None else found.end()

    def end_by_separator(self) -> int | None:
        """Return where a message ends by the next separator; cut a message beyond MOST bytes."""
        searched = 0
        while True:
            first = self.text.find(BEGINNING, searched)
            if first >= 0 and (found := SEPARATOR.search(self.text, max(first - 2, 0))):
                return found.end()
            if self.is_complete:
                return None
            del self.text[MOST:-LONGEST]
            searched = max(len(self.text) - LONGEST, 0)
            self.read()


def unquoted(text: bytearray) -> bytes:
    """Restore a message of an mbox: remove its "From " line, and replace ">From" by "From"."""
    stop = min(len(text), MOST)
    start = text.find(b"\n", 0, stop) + 1 or stop
    if text.endswith(b"\n", start, stop):
        stop -= 2 if text.endswith(b"\r\n", start, stop) else 1
    raw = bytes(text[start:stop])
    return QUOTED.sub(rb"\1", raw) if b">From " in raw else raw
