"""Parse requests and encode answers in the protocol of SpamAssassin's spamd, up to version 1.5.

The sources are spamd/PROTOCOL of SpamAssassin, and what spamc, spamd and Exim do.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

COMMANDS = (
    *("CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS", "TELL"),
    *("PING", "SKIP"),
)
ALONE = ("PING", "SKIP")  # requests of one line
FRAMING = ("content-length", "compress")
PERSONAL = ("user", "secret")
HEAD = 16_384  # bytes of all lines before the message
FIRST = re.compile(rb"([A-Z_]{1,20}) SPAMC/([0-9]{1,4})\.([0-9]{1,4})\s*")
HEADER = re.compile(rb"([!-9;-~]+)[ \t]*:[ \t]*([^\x00\r]*)")
LENGTH = re.compile(r"[0-9]{1,18}")


class Code(IntEnum):
    """The code that an answer begins with, as in sysexits.h; EX_TIMEOUT is spamd's own."""

    EX_OK = 0
    EX_USAGE = 64
    EX_DATAERR = 65
    EX_UNAVAILABLE = 69
    EX_SOFTWARE = 70
    EX_IOERR = 74
    EX_TEMPFAIL = 75
    EX_PROTOCOL = 76
    EX_NOPERM = 77
    EX_TIMEOUT = 79


class Refusal(Exception):
    """The reason why a request cannot be answered."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason

    @property
    def line(self) -> bytes:
        """The answer as one line; if an empty line followed, spamc would read a success."""
        reason = " ".join(self.reason.split())[:500]
        return f"SPAMD/1.0 {self.code:d} {self.code.name}: {reason}\r\n".encode("ascii", "replace")


@dataclass(frozen=True)
class Request:
    """A command, the version of its protocol, headers by name in lower case, and a message."""

    command: str
    version: tuple[int, int]
    headers: Mapping[str, str] = field(default_factory=dict)
    message: bytes = b""

    @property
    def user(self) -> str | None:
        return self.headers.get("user") or None

    def of_user(self, user: str | None) -> Request:
        """Return the request with the verified user instead of the named one, and no secret."""
        kept = {name: value for name, value in self.headers.items() if name not in PERSONAL}
        return replace(self, headers=kept | ({"user": user} if user else {}))

    @property
    def is_of_genus(self) -> bool:
        """Whether the client is genus-client, which expects the header Verdict."""
        return self.headers.get("client") == "genus"

    def encoded(self) -> bytes:
        """Return the bytes of the request, not compressed."""
        lines = [f"{self.command} SPAMC/{self.version[0]}.{self.version[1]}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items() if name not in FRAMING]
        lines += [f"content-length: {len(self.message)}", "\r\n"]
        return "\r\n".join(lines).encode() + self.message


class Reading:
    """Parses a request that arrives in pieces; refuses messages of more than `most` bytes.

    >>> reading = Reading(most=1000)
    >>> reading.feed(b"CHECK SPAMC/1.5\\r\\nContent-le")
    >>> reading.feed(b"ngth: 14\\r\\n\\r\\nSubject: hi\\n\\n!").message
    b'Subject: hi\\n\\n!'
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.begun = False
        self._held = bytearray()
        self._taken = 0
        self._first: tuple[str, tuple[int, int]] | None = None
        self._headers: dict[str, str] = {}
        self._in_head = True

    def feed(self, data: bytes) -> Request | None:
        """Add a piece, and return the request if it is complete, else None."""
        self.begun = True
        self._held += data
        while self._in_head:
            end = self._held.find(b"\n")
            if max(end, 0) + self._taken > HEAD or (end < 0 and len(self._held) > HEAD):
                raise Refusal(Code.EX_PROTOCOL, f"more than {HEAD} bytes before the message")
            if end < 0:
                return None
            self._take(bytes(self._held[:end]).removesuffix(b"\r"))
            self._taken += end + 1
            del self._held[: end + 1]
        length = self._length()
        if length is None and self._command not in ALONE:
            self._bound(len(self._held))
            return None
        if length is not None and len(self._held) < length:
            return None
        return self._whole(length)

    def end(self) -> Request:
        """Return the request, once the client has sent everything."""
        if self._in_head:
            raise Refusal(Code.EX_PROTOCOL, "the request ends before its message")
        return self._whole(self._length())

    @property
    def held(self) -> int:
        """The number of bytes that are in memory."""
        return len(self._held)

    @property
    def _command(self) -> str:
        return "" if self._first is None else self._first[0]

    def _take(self, line: bytes) -> None:
        if self._first is None:
            found = FIRST.fullmatch(line)
            if found is None:
                raise Refusal(
                    Code.EX_PROTOCOL,
                    "a request must begin with a command and a version, such as CHECK SPAMC/1.5",
                )
            command = found[1].decode("ascii")
            if command not in COMMANDS:
                raise Refusal(Code.EX_USAGE, f"there is no command {command}")
            self._first = command, (int(found[2]), int(found[3]))
            # Headers came with version 1.1.
            self._in_head = command not in ALONE and self._first[1] > (1, 0)
            return
        if not line:
            self._in_head = False
            self._bound(self._length() or 0)
            return
        found = HEADER.fullmatch(line)
        if found is None:
            raise Refusal(Code.EX_PROTOCOL, "a header is not of the form Name: value")
        self._headers[found[1].decode("ascii").lower()] = (
            found[2].decode("utf-8", "replace").strip()
        )

    def _length(self) -> int | None:
        told = self._headers.get("content-length")
        if told is None:
            return None
        if LENGTH.fullmatch(told) is None:
            raise Refusal(Code.EX_PROTOCOL, "Content-length is not a number of bytes")
        return int(told)

    def _bound(self, length: int) -> None:
        if length > self.most:
            raise Refusal(Code.EX_DATAERR, f"the message has more than {self.most} bytes")

    def _whole(self, length: int | None) -> Request:
        assert self._first is not None
        message = bytes(self._held)
        self._held.clear()
        if self._command in ALONE:
            return Request(*self._first)
        if length is not None and len(message) != length:
            raise Refusal(
                Code.EX_PROTOCOL,
                f"Content-length mismatch: {length} bytes announced, {len(message)} sent",
            )
        if "compress" in self._headers:
            message = self._inflated(message)
        return Request(*self._first, self._headers, message)

    def _inflated(self, message: bytes) -> bytes:
        if self._headers["compress"].lower() != "zlib":
            raise Refusal(Code.EX_USAGE, "Compress must be zlib")
        stream = zlib.decompressobj()
        try:
            inflated = stream.decompress(message, self.most + 1)
        except zlib.error as error:
            raise Refusal(Code.EX_DATAERR, f"zlib: {error}") from error
        self._bound(len(inflated))
        if not stream.eof:
            raise Refusal(Code.EX_DATAERR, "zlib: the compressed message is incomplete")
        return inflated


PONG = b"SPAMD/1.5 0 PONG\r\n"


def answer(request: Request, spam: str, body: bytes = b"", verdict: str = "") -> bytes:
    """Return an answer with a `Spam:` header, in the protocol version of the request.

    `verdict` is an additional header for genus-client; spamc would take it for an error. Clients of
    versions before 1.3 get at most one of the other headers: otherwise Exim, which sends 1.2, would
    not find the score.
    """
    length = f"Content-length: {len(body)}"
    headers = [length, spam]
    if request.command == "CHECK":
        headers, body = [spam], b""
    elif request.version < (1, 3) and request.command in ("PROCESS", "HEADERS"):
        if request.version < (1, 2):
            return b"SPAMD/1.0 0 EX_OK\r\n" + body
        headers = [length]
    elif request.version < (1, 3):
        headers = [spam]
    return with_headers(headers + [f"Verdict: {verdict}"] * request.is_of_genus, body)


def with_headers(headers: list[str], body: bytes = b"") -> bytes:
    """Return a successful answer with these headers and this body."""
    return "\r\n".join(["SPAMD/1.1 0 EX_OK", *headers, "\r\n"]).encode("ascii") + body
