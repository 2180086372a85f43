"""Decode bytes by the character set that a message names, or else by a guess from the bytes."""

from __future__ import annotations

import codecs
import encodings
import pkgutil
import re
from contextlib import suppress
from email.header import decode_header
from encodings import normalize_encoding
from encodings.aliases import aliases
from functools import lru_cache

from genus.text.html import Page

TYPES_OF_HTML = ("text/html", "application/xhtml+xml")
# Characters that show nothing: white space, and those without width (Unicode's default ignorable
# code points, and others). Long runs of them are left out first if a text is too long.
ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
BLANK = re.compile(rf"[\s{ZERO_WIDTH}]{{9,}}+")
HTML = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
# Character sets of mail that Python can decode. Its other codecs are slow or not for text, and it
# caches every unknown name for ever.
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


def characters(data: bytes, charset: str) -> str:
    """Decode bytes by the named character set, or else by a guess from the bytes."""
    codec = known(charset)
    if codec is not None and codec not in ("ascii", "utf-8"):
        text = data.decode(codec, "replace")
        return whole(text) if codec == "utf-7" else text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8" if codec == "utf-8" else FALLBACK, "replace")


def text_of(data: bytes, kind: str, charset: str, most: int) -> tuple[str, Page | None, int]:
    """Return the visible text, the page if it is HTML, and how many characters were left out.

    In a text longer than `most`, long runs of blanks are shortened. The result may still be longer
    than `most`.
    """
    short = len(data) <= PIECE
    start = characters(data if short else data[:PIECE], charset)
    if kind not in TYPES_OF_HTML and not ("<" in start and HTML.search(start, 0, 1000)):
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
    """Return the start of a long text, with runs of blanks shortened, and how many bytes follow."""
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
    """Replace surrogates, which UTF-7 can contain and UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@lru_cache(maxsize=256)
def known(charset: str | None) -> str | None:
    """Return Python's name of a character set used in mail, or None."""
    named = normalize_encoding((charset or "").strip().strip("'\"")[:40]).lower()
    named = aliases.get(named) or aliases.get(named.replace(".", "_"), named)
    if not CHARSETS.fullmatch(named):
        return None
    try:
        return codecs.lookup(named).name
    except LookupError:  # a number that no code page has
        return None


def load_all() -> None:
    """Load all codecs, so that none is missing when Python's library can no longer be read."""
    for each in pkgutil.iter_modules(encodings.__path__):
        known(each.name)


def decoded(value: bytes) -> str:
    """Decode a header, including its encoded words (RFC 2047)."""
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
