"""Messages wherever people keep them: mbox, Maildir, MH, folders of files, one file, stdin."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
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
        yield from divided("stdin", sys.stdin.buffer)
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


def files_in(folder: Path) -> Iterator[Path]:
    """The files of a Maildir, or else of a folder and those in it; hidden ones are left out."""
    if is_maildir(folder):
        for part in ("cur", "new"):
            yield from sorted(each for each in (folder / part).iterdir() if is_message(each))
        return
    for each in sorted(folder.iterdir()):
        if each.is_symlink() and each.is_dir():
            continue  # it may lead in a circle
        if each.is_dir() and not each.name.startswith("."):
            yield from files_in(each)
        elif is_message(each):
            yield each


def is_maildir(folder: Path) -> bool:
    return (folder / "cur").is_dir() and (folder / "new").is_dir()


def is_message(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


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
    lines, size, empty, number = [first], len(first), False, 1
    for line in iter(lambda: file.readline(MOST), b""):
        if empty and line.startswith(b"From "):
            yield f"{name}#{number}", unquoted(lines)
            lines, size, number = [], 0, number + 1
        if size < MOST:
            lines.append(line)
            size += len(line)
        empty = line in (b"\n", b"\r\n")
    yield (f"{name}#{number}" if number > 1 else name), unquoted(lines)


def unquoted(lines: list[bytes]) -> bytes:
    """A message as it was before the mbox: ">From" in its text stood for "From"."""
    return QUOTED.sub(rb"\1", b"".join(lines[1:]).removesuffix(b"\n"))
