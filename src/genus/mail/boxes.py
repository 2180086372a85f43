"""Messages wherever people keep them: mbox, Maildir, MH, folders of files, one file, stdin."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import BinaryIO

STDIN = "-"
MOST = 1 << 26  # bytes that are read of one message
QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def messages_in(paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The messages at some places, each with a name to call it by."""
    for path in paths:
        yield from messages_at(path)


def messages_at(path: str) -> Iterator[tuple[str, bytes]]:
    """The messages at one place, in the order of their names."""
    if path == STDIN:
        # One message, whatever it holds: a text with "From " in it must not pass for several.
        raw = sys.stdin.buffer.read(MOST)
        if raw:
            yield "stdin", raw
        return
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"There is no {path}. Name a message, an mbox, a Maildir or a folder of messages."
        )
    if os.path.isdir(path):
        for each in files_in(Path(path)):
            yield from messages_of_file(str(each), gone_is_fine=True)
    else:
        yield from messages_of_file(path)


def message_named(path: str) -> tuple[str, bytes, bool]:
    """The message of a name that `messages_at` gives; whether the path names no other one, too."""
    place, mark, number = path.rpartition("#")
    if mark and number.isdecimal() and not os.path.exists(path):
        for name, raw in messages_at(place):
            if name == path:
                return name, raw, True
        raise ValueError(f"There is no message {number} in {place}.")
    found = list(islice(messages_at(path), 2))
    if not found:
        raise ValueError(f"There is no message in {path}.")
    return *found[0], len(found) == 1


def files_in(folder: Path) -> Iterator[Path]:
    """The files of a Maildir, or else of a folder and those in it; hidden ones are left out."""
    pending = [folder]
    while pending:
        each = pending.pop()
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


def messages_of_file(path: str, gone_is_fine: bool = False) -> Iterator[tuple[str, bytes]]:
    """The message in a file, or those of an mbox."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except FileNotFoundError:
            if gone_is_fine:  # mail programs move and rename files at any time
                return
            raise
        yield from divided(path, file)


def divided(name: str, file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """One message, or the messages of an mbox, which begin with "From " after an empty line."""
    first = file.readline(MOST)
    if not first.startswith(b"From "):
        raw = first + file.read(MOST)
        if raw:
            yield name, raw
        return
    text, empty, number = bytearray(), False, 1
    for line in iter(lambda: file.readline(MOST), b""):
        if empty and line.startswith(b"From "):
            yield f"{name}#{number}", unquoted(text)
            text, number = bytearray(), number + 1
        elif len(text) < MOST:
            text += line
        empty = line in (b"\n", b"\r\n")
    yield (f"{name}#{number}" if number > 1 else name), unquoted(text)


def unquoted(raw: bytearray) -> bytes:
    """A message as it was before the mbox: ">From" in its text stood for "From"."""
    end = b"\r\n" if raw.endswith(b"\r\n") else b"\n"
    return bytes(QUOTED.sub(rb"\1", raw.removesuffix(end)))
