"""Read HTML as people see it: visible text, hidden text, and the elements of the page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass

from genus._kernel import read_html

TOO_LARGE = re.compile("&#[0-9]{99,};?")  # numbers that are too long for Python to read
MOST_OTHERS = 1 << 20  # bytes of tags, and of hidden text


def from_utf8(text: bytes) -> str:
    return text.decode("utf-8", "replace")


@dataclass(frozen=True)
class Page:
    """Visible and hidden text; tags, attributes and addresses; the number of comments.

    `marks` are <tag, tag.attribute, attribute=value, and =URL, each on a line. `lost` is the number
    of visible characters that were left out, because the text was too long.
    """

    seen: str
    hidden: str
    marks: str
    comments: int
    lost: int = 0

    @classmethod
    def read(
        cls,
        text: str | bytes,
        most: int = 1 << 30,
        decode: Callable[[bytes], str] = from_utf8,
    ) -> Page:
        """Parse a page, valid or not; keep the first `most` bytes of its visible text.

        If its visible text is longer, runs of nine or more blanks first become one blank. Bytes are
        decoded after the tags are removed; the character set must contain ASCII.

        >>> page = Page.read("<p>V<!-- x -->iagra<font color=white>noon</font> &lt;now&gt;")
        >>> page.seen.strip(), page.hidden
        ('Viagra <now>', 'noon')
        """
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        seen, hidden, marks, comments, lost = read_html(raw, most, MOST_OTHERS)
        shown, unseen = resolved(decode(seen)), resolved(decode(hidden))
        return cls(shown, unseen, decode(marks), comments, lost)


def resolved(text: str) -> str:
    """Return text with its character references resolved."""
    return html.unescape(TOO_LARGE.sub("\ufffd", text)) if "&" in text else text
