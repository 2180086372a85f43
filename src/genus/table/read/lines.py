"""Keep the lines of CSV and JSON files unchanged, to write a table again as it was.

A parsed cell can differ from what was written, such as an identifier with twenty digits that was
read as a number. So new columns are appended to the original lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

CHUNK = 1 << 24  # bytes
NONE = "(empty)"  # how DuckDB reports a character that a file does not use


@dataclass(frozen=True)
class Lines:
    """The lines of CSV files with the same first line, in UTF-8 and with their line ends.

    `head` is the line of column names, None if there is none. `skipped` lines come before it. If
    the last line has no end, it gets `end`.
    """

    paths: tuple[str, ...]
    head: bytes | None
    delimiter: str
    quote: str
    skipped: int
    columns: int
    end: bytes = b"\n"
    encoding: str = "utf-8"

    @classmethod
    def of(
        cls, paths: Sequence[str], dialect: dict[str, Any], encoding: str = "utf-8"
    ) -> Lines | None:
        """Return the lines of files in a `dialect` that DuckDB found; None if this is unsafe.

        It is unsafe if the files have comments, escape characters other than the quote, or line
        ends other than LF and CRLF; if their lines of column names differ; or if there are several
        files without column names.
        """
        quote, escape = (dialect[mark].replace(NONE, "") for mark in ("Quote", "Escape"))
        plain = dialect["Comment"] == NONE and escape in ("", quote) and len(quote) <= 1
        end = {"\\n": b"\n", "\\r\\n": b"\r\n"}.get(dialect["NewLineDelimiter"])
        if not plain or end is None:
            return None
        skipped, columns = int(dialect["SkipRows"]), len(dialect["Columns"])
        found = cls(
            tuple(paths), None, dialect["Delimiter"], quote, skipped, columns, end, encoding
        )
        if not dialect["HasHeader"]:
            return found if len(paths) == 1 else None
        heads = [next(islice(found.of_file(path), skipped, None), b"") for path in paths]
        same = len({head.rstrip(b"\r\n") for head in heads}) == 1
        return replace(found, head=heads[0]) if same else None

    def rows(self) -> Iterator[bytes]:
        """Yield the lines of the rows of all files; empty lines are skipped, as in DuckDB."""
        before = self.skipped + (self.head is not None)
        for path in self.paths:
            lines = islice(self.of_file(path), before, None)
            yield from (line for line in lines if line.strip(b"\r\n") or self.columns == 1)

    def joined(self, line: bytes, cells: bytes) -> bytes:
        """Return a line with more cells, and with its own line end.

        A line may end with a delimiter after as many cells as there are columns. DuckDB ignores it,
        and here it is the one before the new cells.
        """
        bare, end = split_end(line)
        between = b"" if self.ends_with_delimiter(bare) else self.delimiter.encode()
        return bare + between + cells + (end or self.end)

    def ends_with_delimiter(self, line: bytes) -> bool:
        """Return whether a line ends with a delimiter after as many cells as there are columns."""
        mark = self.delimiter.encode()
        if not line.endswith(mark) or line.count(mark) < self.columns:
            return False
        quote = re.escape(self.quote.encode())
        plain = re.sub(quote + b"[^" + quote + b"]*" + quote, b"", line) if quote else line
        return plain.count(mark) == self.columns

    def of_file(self, path: str) -> Iterator[bytes]:
        """Yield all lines of a file; a quoted line end does not end a line."""
        return lines_in(path, self.quote, self.encoding)


@dataclass(frozen=True)
class Objects:
    """The lines of JSON files with an object in each line, and with their line ends."""

    paths: tuple[str, ...]
    columns: int

    @classmethod
    def of(cls, paths: Sequence[str], columns: int) -> Objects | None:
        """Return the lines of files; None unless each begins with an object in one line."""
        return cls(tuple(paths), columns) if all(map(begins_with_object, paths)) else None

    def rows(self) -> Iterator[bytes]:
        """Yield the lines of the rows of all files; empty lines are skipped, as in DuckDB."""
        for path in self.paths:
            yield from (line for line in lines_in(path) if line.strip())

    def joined(self, line: bytes, members: bytes) -> bytes:
        """Return a line with more members of its object; `null` is an object without members."""
        bare, end = split_end(line)
        own, brace, rest = (b"{}" if bare.strip() == b"null" else bare).rpartition(b"}")
        between = b"" if own.rstrip().endswith(b"{") else b", "
        return own + between + members + brace + rest + (end or b"\n")


def begins_with_object(path: str) -> bool:
    """Return whether the first line of a file that is not empty holds a whole JSON object."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as file:
        first = file.read(CHUNK).lstrip().partition(b"\n")[0]
    try:
        return isinstance(json.loads(first), dict)
    except ValueError:
        return False


def split_end(line: bytes) -> tuple[bytes, bytes]:
    """Split a line into its content and its line end.

    >>> split_end(b"a,b\\r\\n"), split_end(b"a")
    ((b'a,b', b'\\r\\n'), (b'a', b''))
    """
    bare = line.removesuffix(b"\n").removesuffix(b"\r")
    return bare, line[len(bare) :]


def lines_in(path: str, quote: str = "", encoding: str = "utf-8") -> Iterator[bytes]:
    """Yield all lines of a file in UTF-8; a line end between quotes does not end a line."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stored:
        file = stored
        if encoding != "utf-8":
            file = pa.transcoding_input_stream(stored, encoding, "utf-8")
        begun: list[bytes] = []  # the pieces of the present line in earlier chunks
        quotes = 0
        while chunk := file.read(CHUNK):
            ends, more = ends_in(chunk, quote, quotes)
            quotes += more
            start = 0
            for end in ends.tolist():
                yield b"".join([*begun, chunk[start : end + 1]])
                begun, start = [], end + 1
            begun.append(chunk[start:])
        if any(begun):
            yield b"".join(begun)


def ends_in(content: bytes, quote: str, before: int) -> tuple[Any, int]:
    """Return the positions of line ends outside quotes, and the number of quotes.

    `before` is the number of quotes before these bytes.
    """
    letters = np.frombuffer(content, dtype=np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    if not quote:
        return ends, 0
    quotes = np.flatnonzero(letters == ord(quote))
    return ends[(before + np.searchsorted(quotes, ends)) % 2 == 0], len(quotes)
