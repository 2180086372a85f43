"""HTML as a reader sees it: text, text that cannot be seen, and what the page is built of."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass

from genus._kernel import read_html

TOO_LARGE = re.compile("&#[0-9]{99,};?")  # for a number, which Python refuses to read
MOST_OTHERS = 1 << 20  # bytes of marks, and of what is hidden


def from_utf8(text: bytes) -> str:
    return text.decode("utf-8", "replace")


@dataclass(frozen=True)
class Page:
    """What is seen and what is hidden; tags, attributes and addresses; how many comments.

    `marks` are <tag, tag.attribute, attribute=value, and =URL. `lost` characters that are seen
    were too many to be kept.
    """

    seen: str
    hidden: str
    marks: tuple[str, ...]
    comments: int
    lost: int = 0

    @classmethod
    def read(
        cls,
        text: str | bytes,
        most: int = 1 << 30,
        decode: Callable[[bytes], str] = from_utf8,
    ) -> Page:
        """Read a page, however broken; of what is seen the first so many bytes.

        Of more than that, runs of nine blanks and more become one first. Bytes are taken as they
        are, and decoded when tags are gone: of a character set in which ASCII is ASCII.

        >>> page = Page.read("<p>V<!-- x -->iagra<font color=white>noon</font> &lt;now&gt;")
        >>> page.seen.strip(), page.hidden
        ('Viagra <now>', 'noon')
        """
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        seen, hidden, marks, comments, lost = read_html(raw, most, MOST_OTHERS)
        listed = tuple(decode(marks).split("\n")[:-1])
        return cls(resolved(decode(seen)), resolved(decode(hidden)), listed, comments, lost)


def resolved(text: str) -> str:
    """Text with its character references resolved."""
    return html.unescape(TOO_LARGE.sub("\ufffd", text))
