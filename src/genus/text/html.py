"""HTML as a reader sees it: text, text that cannot be seen, and what the page is built of."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from genus._kernel import read_html

TOO_LARGE = re.compile("&#[0-9]{99,};?")  # for a number, which Python refuses to read


@dataclass(frozen=True)
class Page:
    """What is seen and what is hidden; tags, attributes and addresses; how many comments.

    `marks` are <tag, tag.attribute, attribute=value, and =URL.
    """

    seen: str
    hidden: str
    marks: tuple[str, ...]
    comments: int

    @classmethod
    def read(cls, text: str) -> Page:
        """Read a page, however broken.

        >>> page = Page.read("<p>V<!-- x -->iagra<font color=white>noon</font> &lt;now&gt;")
        >>> page.seen.strip(), page.hidden
        ('Viagra <now>', 'noon')
        """
        seen, hidden, marks, comments = read_html(text.encode("utf-8", "replace"))
        listed = tuple(marks.decode("utf-8", "replace").split("\n")[:-1])
        return cls(characters(seen), characters(hidden), listed, comments)


def characters(text: bytes) -> str:
    """Text with its character references resolved."""
    return html.unescape(TOO_LARGE.sub("\ufffd", text.decode("utf-8", "replace")))
