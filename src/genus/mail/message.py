"""A message as its headers and the texts in it, whatever bytes it is made of.

Python's `email` finds parameters and decodes words (RFC 2047, 2231); the parts are found here,
without recursion, because its parser takes a line through a test for every enclosing part (seconds
for a crafted message) and gives up on deep nesting. Everything is bounded by `Limits`; what is
beyond a limit is left out, and the rest is read.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from email.header import decode_header
from email.message import Message as Fields
from encodings import normalize_encoding
from encodings.aliases import aliases
from functools import lru_cache
from itertools import islice

from genus.text.html import Page


@dataclass(frozen=True)
class Limits:
    """How much of a message is read: bytes, characters, levels and pieces."""

    size: int = 1 << 23  # bytes of the message, in which its parts are found
    head: int = 1 << 16  # bytes of the headers of the message, and again of all its parts
    header: int = 4096  # characters of one header
    headers: int = 1000
    depth: int = 30
    parts: int = 200
    text: int = 1 << 18  # characters of all texts together, those that are shown first; and of
    # what pages hide


@dataclass(frozen=True)
class Part:
    """A leaf: its type, character set, encoding, name, and its text if it is text.

    Of HTML, or what a mail reader shows as HTML, the text is what is seen of the page.
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
    """Headers in their order, names in lower case, and leaves; `cut` says which limits it met.

    `mostly_unread` is whether more of the text that is shown was left out than was read.
    """

    headers: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    cut: tuple[str, ...] = ()
    mostly_unread: bool = False


LIMITS = Limits()
TYPES_OF_HTML = ("text/html", "application/xhtml+xml")
LF_ENVELOPE = re.compile(rb"(?:>?From [^\r\n]*\r?\n){1,9}")
CRS = re.compile(rb"(?<!\r)\r++\n")
ENVELOPE = re.compile(rb"(?:>?From [^\n]*(?:\n|\Z)){1,9}")  # some mailboxes quote another's
MOST_LINES = 10_000  # of headers, folded ones as one, that are looked at
FIELD = re.compile(rb"([^\n]*(?:\n[ \t][^\n]*)*+)\n?")
FOLD = re.compile(rb"\n[ \t]+")
NAME = re.compile(rb"[!-9;-~]{1,76}[ \t]*\Z")
ENCODING = re.compile(r"[A-Za-z0-9-]{1,40}")
# What shows nothing: white space, and what has no width (Unicode's default ignorable code points,
# and others). A long run of it in a text of too many characters is left out before others are.
ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
BLANK = re.compile(rf"[\s{ZERO_WIDTH}]{{9,}}+")
HTML = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
# What Python can decode and what mail is written in; others of its codecs are slow or not for text,
# and every name that it does not know is remembered by it for ever.
CHARSETS = re.compile(
    r"ascii|utf_(7|8|8_sig|(16|32)(_[bl]e)?)|iso8859_[0-9]{1,2}|latin_1|cp[0-9]{3,4}|koi8_[rtu]"
    r"|gb2312|gbk|gb18030|hz|big5(hkscs)?|euc_(jp|kr|jis_2004|jisx0213)|johab"
    r"|shift_jis(_2004|x0213)?|iso2022_(kr|jp(_1|_2|_2004|_3|_ext)?)|tis_620|hp_roman8|palmos"
    r"|mac_(arabic|croatian|cyrillic|farsi|greek|iceland|latin2|roman|romanian|turkish)"
    r"|ptcp154|kz1048"
)
MOST_WORDS = 200  # of a header that are decoded
PIECE = 1 << 20  # bytes that are decoded at once
NOT_LIKE_ASCII = re.compile(r"utf-?(7|16|32)|hz|iso2022|johab")  # < may be a part of a character
PER_CHARACTER = 4  # bytes of a page that are looked at for each character that may be read
FALLBACK = "cp1252"  # what mail without a (true) character set was most often written in


def read(raw: bytes, limits: Limits = LIMITS) -> Message:
    """The message that some bytes are; there is none that is not one.

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
    """The bytes with \\n at the end of each line, less a line with which mailboxes begin one."""
    if b"\r" in raw:
        found = LF_ENVELOPE.match(raw)
        raw = with_line_ends(raw if found is None else raw[found.end() :])
    found = ENVELOPE.match(raw)
    return raw if found is None else raw[found.end() :]


def with_line_ends(raw: bytes) -> bytes:
    """The bytes with \\n at the end of each line, which may have been \\r\\n, or \\r alone.

    Where there is any \\n, a \\r before something else ends no line: to most programs it does not,
    and a header must not be able to end the headers for this one.
    """
    if b"\n" not in raw:
        return raw.replace(b"\r", b"\n")
    raw = raw.replace(b"\r\n", b"\n")
    if b"\r" not in raw:
        return raw
    if b"\n\n" not in raw and not raw.startswith(b"\n"):  # each \n may have become \r\n twice
        raw = CRS.sub(b"\n", raw)
    return raw.replace(b"\r", b" ")


def divide(raw: bytes) -> tuple[bytes, bytes]:
    """Headers and body, at the first empty line."""
    if raw.startswith(b"\n"):
        return b"", raw[1:]
    head, _, body = raw.partition(b"\n\n")
    return head, body


def fields(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and values of headers as they stand, folded or not; lines that are none are skipped."""
    for line in islice(FIELD.finditer(head), MOST_LINES):
        name, colon, value = line.group(1).partition(b":")
        if colon and NAME.match(name):
            yield name.rstrip().lower(), value


class Reader:
    """Reads one message within limits; which ones it met is noted in `cut`."""

    def __init__(self, limits: Limits, cut: list[str]) -> None:
        self.limits, self.cut = limits, cut
        self.left, self.room = limits.text, limits.head
        self.left_hidden = limits.text
        self.shown = self.lost = 0  # characters of texts that are shown: read, and left out

    def headers(self, head: bytes, room: int) -> list[tuple[str, str]]:
        """Decoded headers, of so many bytes."""
        if len(head) > room:
            head = head[:room]
            self.cut.append("head")
        found: list[tuple[str, str]] = []
        for name, value in fields(head):
            if len(found) == self.limits.headers:
                self.cut.append("headers")
                break
            if len(value) > self.limits.header:
                value = value[: self.limits.header]
                self.cut.append("header")
            found.append((name.decode("ascii"), decoded(FOLD.sub(b" ", value).strip())))
        return found

    def leaves(self, headers: list[tuple[str, str]], body: bytes) -> Iterator[Part]:
        """The parts that have no parts, in their order; of text, what is shown is read first."""
        found = list(self.bodies(headers, body))
        read, texts = {}, sum(is_text(kind) for about, kind, _ in found if not is_attached(about))
        for number in sorted(range(len(found)), key=lambda each: is_attached(found[each][0])):
            texts -= is_text(found[number][1])
            read[number] = self.leaf(*found[number], self.left // 2 if texts > 0 else self.left)
        return (read[number] for number in range(len(found)))

    def bodies(
        self, headers: list[tuple[str, str]], body: bytes
    ) -> Iterator[tuple[Fields, str, bytes]]:
        """What leaves say of themselves, their types, and their bodies, in their order."""
        pending = [(content(headers), body, 0, "text/plain")]
        count = 0
        while pending:
            about, body, depth, default = pending.pop()
            kind = type_of(about, default)
            inner: list[tuple[Fields, bytes, int, str]] = []
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

    def part(self, piece: bytes) -> tuple[Fields, bytes]:
        """What a part says of its content, and its body."""
        head, body = divide(piece)
        headers = self.headers(head, self.room)
        self.room = max(self.room - len(head), 0)
        return content(headers), body

    def split(self, body: bytes, boundary: str, room: int) -> Iterator[bytes]:
        """The bodies between delimiters, RFC 2046 section 5.1.1."""
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

    def leaf(self, about: Fields, kind: str, body: bytes, most: int) -> Part:
        """A part as what it says of itself, and so many characters of its text."""
        charset = parameter(about, "charset").lower()[:40]
        encoding = encoding_of(about)
        shown = str(about.get("content-disposition", "")).partition(";")[0].strip().lower()[:40]
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


def content(headers: list[tuple[str, str]]) -> Fields:
    """What a part says of its content, as `email` keeps it."""
    about = Fields()
    for name, value in headers:
        if name.startswith("content-") and name not in about:
            about[name] = value
    return about


def is_attached(about: Fields) -> bool:
    """Whether a part is not shown but kept as a file, as it says."""
    return str(about.get("content-disposition", "")).lstrip().lower().startswith("attachment")


def is_text(kind: str) -> bool:
    """Whether a part of that type is read; of parts that have parts, what could not be divided."""
    return kind.startswith(("text/", "multipart/", "message/", "application/xhtml"))


def type_of(about: Fields, default: str) -> str:
    """The type of a part, in lower case: the default of where it stands if it names none."""
    named = str(about.get("content-type", "")).partition(";")[0].strip().lower()
    main, slash, sub = named.partition("/")
    if not slash or not main or not sub or len(named) > 100:
        return default
    return named


def parameter(about: Fields, name: str, header: str = "content-type") -> str:
    """A parameter of a header, decoded; empty if there is none that can be read."""
    if header not in about:
        return ""
    try:
        found = about.get_param(name, "", header)
        if isinstance(found, tuple):
            charset, _, value = found
            found = value.encode("latin-1", "replace").decode(known(charset) or "ascii", "replace")
        return decoded(str(found).encode("utf-8", "surrogateescape")).strip()
    except Exception:  # hostile parameters raise more kinds of error than `email` documents
        return ""


def encoding_of(about: Fields) -> str:
    """The transfer encoding: one word, which may be quoted or have a comment."""
    found = ENCODING.search(str(about.get("content-transfer-encoding", "")))
    return found.group().lower() if found else ""


def transfer_decoded(about: Fields, body: bytes) -> bytes:
    """The body less its transfer encoding; broken ones as far as they go."""
    encoding = encoding_of(about)
    if encoding == "base64":
        return from_base64(body)
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    return body


def from_base64(body: bytes) -> bytes:
    """All that whole groups of four letters hold; others are skipped."""
    letters = body.translate(None, NOT_BASE64).partition(b"=")[0]
    whole = letters[: len(letters) // 4 * 4]
    rest = letters[len(whole) :]
    if len(rest) > 1:
        whole += rest + b"=" * (4 - len(rest))
    return binascii.a2b_base64(whole)


BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
NOT_BASE64 = bytes(set(range(256)) - set(BASE64))


def characters(data: bytes, charset: str) -> str:
    """Bytes as text by the character set that is named, or what they look like."""
    codec = known(charset)
    if codec is not None and codec not in ("ascii", "utf-8"):
        text = data.decode(codec, "replace")
        return whole(text) if codec == "utf-7" else text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8" if codec == "utf-8" else FALLBACK, "replace")


def text_of(data: bytes, kind: str, charset: str, most: int) -> tuple[str, Page | None, int]:
    """What is shown of a text; the page, if it is one; how many characters it has beyond.

    It has more than so many characters only if there are more, less what shows nothing.
    """
    short = len(data) <= PIECE
    start = characters(data if short else data[:PIECE], charset)
    if kind not in TYPES_OF_HTML and HTML.search(start, 0, 1000) is None:
        if not short:
            text, lost = beginning(data, charset, most)
            return text, None, lost
        return start if len(start) <= most else BLANK.sub(" ", start), None, 0
    if short or NOT_LIKE_ASCII.match(known(charset) or ""):
        page, lost = Page.read(start, PER_CHARACTER * most), max(len(data) - PIECE, 0)
    else:
        page = Page.read(data, PER_CHARACTER * most, lambda each: characters(each, charset))
        lost = 0
    seen = page.seen if len(page.seen) <= most else BLANK.sub(" ", page.seen)
    return seen, page, page.lost + lost


def beginning(data: bytes, charset: str, most: int) -> tuple[str, int]:
    """Enough of a long text, less what shows nothing; about how many characters it has beyond."""
    codec = known(charset)
    if codec in (None, "ascii"):
        codec = FALLBACK
        with suppress(UnicodeDecodeError):
            data.decode("utf-8")
            codec = "utf-8"
    decoder = codecs.getincrementaldecoder(str(codec))("replace")
    text = ""
    for start in range(0, len(data), PIECE):
        piece = decoder.decode(data[start : start + PIECE], start + PIECE >= len(data))
        text = BLANK.sub(" ", text + piece)
        if len(text) > most:
            break
    beyond = max(len(data) - start - PIECE, 0)
    return whole(text) if codec == "utf-7" else text, beyond


def whole(text: str) -> str:
    """A text without halves of characters, for which UTF-7 has room; those have no bytes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@lru_cache(maxsize=256)
def known(charset: str | None) -> str | None:
    """Python's name of a character set that mail is written in."""
    named = normalize_encoding((charset or "").strip().strip("'\"")[:40]).lower()
    named = aliases.get(named) or aliases.get(named.replace(".", "_"), named)
    if not CHARSETS.fullmatch(named):
        return None
    try:
        return codecs.lookup(named).name
    except LookupError:  # a number that no code page has
        return None


def decoded(value: bytes) -> str:
    """A header as people read it: encoded words decoded, RFC 2047."""
    text = characters(value, "")
    if "=?" not in text:
        return text
    words = text.split("=?", MOST_WORDS)
    rest = "=?" + words.pop() if len(words) > MOST_WORDS else ""
    try:
        pieces = decode_header("=?".join(words))
    except Exception:  # broken base64, for one
        return text
    return (
        "".join(
            piece if isinstance(piece, str) else characters(piece, charset or "")
            for piece, charset in pieces
        )
        + rest
    )
