"""Parse any bytes as a message: headers and texts.

Python's `email` finds parameters and decodes words (RFC 2047, 2231). The parts are found here,
without recursion: the parser of `email` tests each line for every enclosing part, which takes
seconds for a crafted message, and it fails on deep nesting. Everything is bounded by `Limits`; what
is beyond a limit is left out, and the rest is read.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.message import Message as Fields
from functools import lru_cache

from genus._kernel import read_fields
from genus.mail.charsets import decoded, known, text_of
from genus.text.html import Page

About = dict[str, str]  # the content headers of a part, by name


@dataclass(frozen=True)
class Limits:
    """How much of a message is read, in bytes, characters, nesting levels and parts."""

    size: int = 1 << 23  # bytes of the message, in which its parts are found
    head: int = 1 << 16  # bytes of the headers of the message, and again of all its parts
    header: int = 4096  # characters of one header
    headers: int = 1000
    depth: int = 30
    parts: int = 200
    text: int = 1 << 18  # characters of all texts together, shown ones first; and of hidden text


@dataclass(frozen=True)
class Part:
    """A MIME part without inner parts: its type, character set, encoding, name, and text if any.

    The text of HTML, or of what a mail reader shows as HTML, is the visible text of the page.
    """

    type: str
    charset: str = ""
    encoding: str = ""
    name: str = ""
    disposition: str = ""
    text: str | None = None
    page: Page | None = None


@dataclass(frozen=True)
class Message:
    """The headers in order, with names in lower case; the parts; and which limits were reached.

    `mostly_unread` is whether more of the shown text was left out than was read.
    """

    headers: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    cut: tuple[str, ...] = ()
    mostly_unread: bool = False


LIMITS = Limits()
LF_ENVELOPE = re.compile(rb"\A(?:>?From [^\r\n]*\r?\n){1,9}")
CR_FIRST = re.compile(rb"^\r", re.MULTILINE)
CRS = re.compile(rb"(?<!\r)\r++\n")
ENVELOPE = re.compile(rb"(?:>?From [^\n]*(?:\n|\Z)){1,9}")  # some mailboxes quote another's
MOST_LINES = 10_000  # of headers, folded ones as one, that are looked at
ENCODING = re.compile(r"[A-Za-z0-9-]{1,40}")
CONTENT = {"content-type", "content-transfer-encoding", "content-disposition"}


def read(raw: bytes, limits: Limits = LIMITS) -> Message:
    """Parse the bytes of a message, which need not be valid.

    >>> message = read(b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\\n\\nHallo!")
    >>> message.headers, message.parts[0].text
    ((('subject', 'Grüße'),), 'Hallo!')
    """
    cut = []
    if len(raw) > limits.size:
        raw = raw[: limits.size]
        cut.append("size")
    head, body = divide(lines_of(raw))
    reader = Reader(limits, cut)
    headers = reader.headers(head, limits.head)
    parts = tuple(reader.leaves(headers, body))
    unread = reader.lost > reader.shown or ("size" in cut and not reader.shown)
    return Message(tuple(headers), parts, tuple(dict.fromkeys(cut)), unread)


def lines_of(raw: bytes) -> bytes:
    """Return the bytes with \\n line endings, without the "From " line of an mbox at the start."""
    if b"\r" in raw:
        found = LF_ENVELOPE.match(raw)
        raw = with_line_ends(raw if found is None else raw[found.end() :])
    found = ENVELOPE.match(raw)
    return raw if found is None else raw[found.end() :]


def with_line_ends(raw: bytes) -> bytes:
    """Return the bytes with \\n line endings in place of \\r\\n, or of \\r alone.

    If the message contains \\n, a \\r before another character does not end a line. Most programs
    read mail so; otherwise the headers could end earlier for genus than for them. A line of the
    headers that begins with \\r is ignored. With a space in place of \\r, the line would continue
    the previous header, which may be removed.
    """
    if b"\n" not in raw:
        return raw.replace(b"\r", b"\n")
    raw = raw.replace(b"\r\n", b"\n")
    if b"\r" not in raw:
        return raw
    if b"\n\n" not in raw and not raw.startswith(b"\n"):  # each \n may have become \r\n twice
        raw = CRS.sub(b"\n", raw)
    if not raw.startswith(b"\n"):
        head, empty, body = raw.partition(b"\n\n")
        raw = CR_FIRST.sub(b"\x1a", head) + empty + body
    return raw.replace(b"\r", b" ")


def divide(raw: bytes) -> tuple[bytes, bytes]:
    """Return the headers and the body, divided at the first empty line."""
    if raw.startswith(b"\n"):
        return b"", raw[1:]
    head, _, body = raw.partition(b"\n\n")
    return head, body


class Reader:
    """Reads one message within limits, and notes in `cut` which limits were reached."""

    def __init__(self, limits: Limits, cut: list[str]) -> None:
        self.limits, self.cut = limits, cut
        self.left, self.room = limits.text, limits.head
        self.left_hidden = limits.text
        self.shown = self.lost = 0  # characters of texts that are shown: read, and left out

    def headers(self, head: bytes, room: int) -> list[tuple[str, str]]:
        """Return decoded headers from the first `room` bytes."""
        if len(head) > room:
            head = head[:room]
            self.cut.append("head")
        most, longest = self.limits.headers, self.limits.header
        found, is_cut, are_more = read_fields(head, MOST_LINES, most, longest, decoded)
        self.cut += ["header"] * is_cut + ["headers"] * are_more
        return found

    def leaves(self, headers: list[tuple[str, str]], body: bytes) -> Iterator[Part]:
        """Return the parts in order; texts of attachments are read last, if the limit allows."""
        found = list(self.bodies(headers, body))
        read, texts = {}, sum(is_text(kind) for about, kind, _ in found if not is_attached(about))
        for number in sorted(range(len(found)), key=lambda each: is_attached(found[each][0])):
            texts -= is_text(found[number][1])
            read[number] = self.leaf(*found[number], self.left // 2 if texts > 0 else self.left)
        return (read[number] for number in range(len(found)))

    def bodies(
        self, headers: list[tuple[str, str]], body: bytes
    ) -> Iterator[tuple[About, str, bytes]]:
        """Yield the content headers, type and body of each part without inner parts, in order."""
        pending = [(content(headers), body, 0, "text/plain")]
        count = 0
        while pending:
            about, body, depth, default = pending.pop()
            kind = type_of(about, default)
            inner: list[tuple[About, bytes, int, str]] = []
            if kind.startswith(("multipart/", "message/")) and depth == self.limits.depth:
                self.cut.append("depth")
            elif kind.startswith("multipart/"):
                below = "message/rfc822" if kind == "multipart/digest" else "text/plain"
                room = self.limits.parts - count
                for piece in self.split(body, parameter(about, "boundary"), room):
                    inner.append((*self.part(piece), depth + 1, below))
            elif kind in ("message/rfc822", "message/global"):
                piece = with_line_ends(transfer_decoded(about, body))
                inner.append((*self.part(piece), depth + 1, "text/plain"))
            if inner:
                pending += reversed(inner)
                count += len(inner)
                continue
            yield about, kind, body

    def part(self, piece: bytes) -> tuple[About, bytes]:
        """Return the content headers and the body of a part."""
        head, body = divide(piece)
        headers = self.headers(head, self.room)
        self.room = max(self.room - len(head), 0)
        return content(headers), body

    def split(self, body: bytes, boundary: str, room: int) -> Iterator[bytes]:
        """Yield at most `room` parts between the boundary lines (RFC 2046, section 5.1.1)."""
        mark = b"--" + boundary.encode("utf-8", "replace").rstrip()
        if not boundary or body.find(mark) < 0:
            return
        body = b"\n" + body
        mark = b"\n" + mark
        at = body.find(mark)
        while at >= 0:
            start = at + len(mark)
            line = body.find(b"\n", start)
            if body.startswith(b"--", start) or line < 0:
                return
            if room == 0:
                self.cut.append("parts")
                return
            room -= 1
            at = body.find(mark, line)
            yield body[line + 1 : at if at >= 0 else len(body)]

    def leaf(self, about: About, kind: str, body: bytes, most: int) -> Part:
        """Return a part with at most `most` characters of its text."""
        charset = parameter(about, "charset").lower()[:40]
        encoding = encoding_of(about)
        shown = about.get("content-disposition", "").partition(";")[0].strip().lower()[:40]
        name = parameter(about, "filename", "content-disposition") or parameter(about, "name")
        text = page = None
        if is_text(kind):
            text, page, lost = text_of(transfer_decoded(about, body), kind, charset, most)
            if len(text) > most:
                lost += len(text) - most
                text = text[:most]
            if lost:
                self.cut.append("text")
            if page is not None and page.hidden:
                page = replace(page, hidden=page.hidden[: self.left_hidden])
                self.left_hidden -= len(page.hidden)
            self.left -= len(text)
            if not is_attached(about):
                self.shown, self.lost = self.shown + len(text), self.lost + lost
        return Part(kind, charset, encoding, name[:200], shown, text, page)


def content(headers: list[tuple[str, str]]) -> About:
    """Return the content headers of a part; if a name occurs twice, the first counts."""
    return {name: value for name, value in reversed(headers) if name in CONTENT}


def is_attached(about: About) -> bool:
    """Return whether a part is declared an attachment."""
    return about.get("content-disposition", "").lstrip().lower().startswith("attachment")


def is_text(kind: str) -> bool:
    """Return whether parts of this type are read as text; multiparts without inner parts are."""
    return kind.startswith(("text/", "multipart/", "message/", "application/xhtml"))


def type_of(about: About, default: str) -> str:
    """Return the type of a part in lower case, or the default if the part names none."""
    named = about.get("content-type", "").partition(";")[0].strip().lower()
    main, slash, sub = named.partition("/")
    if not slash or not main or not sub or len(named) > 100:
        return default
    return named


def parameter(about: About, name: str, header: str = "content-type") -> str:
    """Return a decoded parameter of a header, or an empty string."""
    value = about.get(header, "")
    return parameter_in(value, name) if "=" in value else ""


@lru_cache(maxsize=256)
def parameter_in(value: str, name: str) -> str:
    about = Fields()
    about["content-type"] = value
    try:
        found = about.get_param(name, "")
        if isinstance(found, tuple):
            charset, _, value = found
            found = value.encode("latin-1", "replace").decode(known(charset) or "ascii", "replace")
        return decoded(str(found).encode("utf-8", "surrogateescape")).strip()
    except Exception:  # hostile parameters raise more kinds of error than `email` documents
        return ""


def encoding_of(about: About) -> str:
    """Return the transfer encoding in lower case, without quotes or a comment after it."""
    found = ENCODING.search(about.get("content-transfer-encoding", ""))
    return found.group().lower() if found else ""


def transfer_decoded(about: About, body: bytes) -> bytes:
    """Decode the transfer encoding of a body, and skip what is invalid."""
    encoding = encoding_of(about)
    if encoding == "base64":
        return from_base64(body)
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    return body


def from_base64(body: bytes) -> bytes:
    """Decode base64 up to the first =; skip invalid characters, and one left over at the end."""
    letters = body.translate(None, NOT_BASE64).partition(b"=")[0]
    whole = letters[: len(letters) // 4 * 4]
    rest = letters[len(whole) :]
    if len(rest) > 1:
        whole += rest + b"=" * (4 - len(rest))
    return binascii.a2b_base64(whole)


BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
NOT_BASE64 = bytes(set(range(256)) - set(BASE64))
