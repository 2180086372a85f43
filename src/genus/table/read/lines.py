"""Keep the lines of CSV files unchanged, to write a table again as it was.

A parsed cell can differ from what was written, such as an identifier with twenty digits that was
read as a number. So new columns are appended to the original lines.
"""

from __future__ import annotations

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
        bare = line.removesuffix(b"\n").removesuffix(b"\r")
        mark = self.delimiter.encode()
        between = b"" if self.ends_with_delimiter(bare, mark) else mark
        return bare + between + cells + (line[len(bare) :] or self.end)

    def ends_with_delimiter(self, line: bytes, mark: bytes) -> bool:
        """Return whether a line ends with a delimiter after the last of its cells."""
        if not line.endswith(mark) or line.count(mark) < self.columns:
            return False
        quote = re.escape(self.quote.encode())
        plain = re.sub(quote + b"[^" + quote + b"]*" + quote, b"", line) if quote else line
        return plain.count(mark) == self.columns

    def of_file(self, path: str) -> Iterator[bytes]:
        """Yield all lines of a file; a quoted line end does not end a line."""
        import pyarrow as pa

        with pa.input_stream(path, compression="detect") as stored:
            file = stored
            if self.encoding != "utf-8":
                file = pa.transcoding_input_stream(stored, self.encoding, "utf-8")
            rest = b""
            while chunk := file.read(CHUNK):
                content = rest + chunk
                ends = self.ends_in(content)
                start = 0
                for end in ends.tolist():
                    yield content[start : end + 1]
                    start = end + 1
                rest = content[start:]
            if rest:
                yield rest

    def ends_in(self, content: bytes) -> Any:
        """Return the positions of line ends in bytes that start at the beginning of a line."""
        letters = np.frombuffer(content, dtype=np.uint8)
        ends = np.flatnonzero(letters == ord("\n"))
        if not self.quote or self.quote.encode() not in content:
            return ends
        quotes = np.flatnonzero(letters == ord(self.quote))
        return ends[np.searchsorted(quotes, ends) % 2 == 0]
