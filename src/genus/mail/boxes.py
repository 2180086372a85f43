"""Messages wherever people keep them: mbox, Maildir, MH, folders of files, one file, stdin."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

Named = tuple[str, bytes]  # a message, after a name to call it by
Missed = Callable[[str, OSError], None]  # is told what could not be read
STDIN = "-"
MOST = 1 << 26  # bytes that are read of one message
BLOCK = 1 << 16
SEPARATOR = re.compile(rb"\n\r?\n(?=From )")
LONGEST = len(b"\n\r\nFrom ")
QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def messages_in(paths: Iterable[str], missed: Missed | None = None) -> Iterator[Named]:
    """The messages at some places, each with a name to call it by.

    What cannot be read is an error; given `missed` it is told of that, and the rest is read.
    """
    for path in paths:
        with passing_over(path, missed):
            yield from messages_at(path, missed)


@contextmanager
def passing_over(path: str | Path, missed: Missed | None) -> Iterator[None]:
    """What an error is about is said in it; given `missed`, that is told, and all goes on."""
    try:
        yield
    except OSError as error:
        if error.strerror and not error.filename:  # as of a file that opens, and cannot be read
            error.filename = str(path)
        if missed is None:
            raise
        missed(str(path), error)


def messages_at(path: str, missed: Missed | None = None) -> Iterator[Named]:
    """The messages at one place, in the order of their names; or one that has such a name."""
    if path == STDIN:
        # One message, whatever it holds: a text with "From " in it must not pass for several.
        raw = sys.stdin.buffer.read(MOST)
        if not raw:
            raise FileNotFoundError("There is no message in stdin.")
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
            f"There is no {path}. Name a message, an mbox, a Maildir or a folder of messages."
        ) from None
    if os.path.isdir(path):
        for each in files_in(Path(path), missed):
            with passing_over(each, missed):
                yield from messages_of_file(str(each), gone_is_fine=True)
    else:
        yield from messages_of_file(path)


def message_named(path: str) -> tuple[str, bytes, bool]:
    """The message of a name that `messages_at` gives; whether the path names no other one, too."""
    with passing_over(path, None):
        found = list(islice(messages_at(path), 2))
    if not found:
        raise ValueError(f"There is no message in {path}.")
    return *found[0], len(found) == 1


def message_of_mbox(path: str, number: int) -> bytes:
    """The first message of a file has number 1."""
    if number > 0:
        for _, raw in islice(messages_of_file(path), number - 1, None):
            return raw
    raise FileNotFoundError(f"There is no message {number} in {path}.")


def files_in(folder: Path, missed: Missed | None = None) -> Iterator[Path]:
    """The files of a Maildir, or else of a folder and those in it; hidden ones are left out."""
    pending = [folder]
    while pending:
        each = pending.pop()
        with passing_over(each, missed):
            if not each.is_dir():
                yield each
            elif is_maildir(each):
                for part in ("cur", "new"):
                    yield from sorted(filter(is_message, listed(each / part)))
            else:
                inside = [one for one in listed(each) if is_message(one) or is_folder(one)]
                pending += sorted(inside, reverse=True)


def is_maildir(folder: Path) -> bool:
    return (folder / "cur").is_dir() and (folder / "new").is_dir()


def is_message(path: Path) -> bool:
    """Whether it is a file, and not a hidden one; MH removes 7 by calling it ,7."""
    return not path.name.startswith((".", ",")) and path.is_file()


def is_folder(path: Path) -> bool:
    """Whether it is a folder; not if it is a link, which may lead in a circle."""
    return not path.name.startswith(".") and path.is_dir() and not path.is_symlink()


def listed(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it is gone by now."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def messages_of_file(path: str, gone_is_fine: bool = False) -> Iterator[Named]:
    """The message in a file, or those of an mbox."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except FileNotFoundError:
            if gone_is_fine:  # mail programs move and rename files at any time
                return
            raise
        yield from divided(path, file)


def divided(name: str, file: BinaryIO) -> Iterator[Named]:
    """One message, or the messages of an mbox, which begin with "From " after an empty line."""
    first = file.readline(MOST)
    if not first.startswith(b"From "):
        raw = first + file.read(MOST)
        if raw:
            yield name, raw
        return
    text, number, searched = bytearray(first), 1, 0
    while block := file.read(BLOCK):
        text += block
        while found := SEPARATOR.search(text, searched):
            yield f"{name}#{number}", unquoted(text[: found.end()])
            del text[: found.end()]
            number, searched = number + 1, 0
        del text[MOST:-LONGEST]
        searched = max(len(text) - LONGEST, 0)
    yield (f"{name}#{number}" if number > 1 else name), unquoted(text)


def unquoted(text: bytearray) -> bytes:
    """A message as it was before the mbox: ">From" in its text stood for "From"."""
    raw = text[:MOST].partition(b"\n")[2]
    end = b"\r\n" if raw.endswith(b"\r\n") else b"\n"
    return bytes(QUOTED.sub(rb"\1", raw.removesuffix(end)))
