"""Format results as HTML tables for notebooks; all text from users is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

STYLE = "text-align:left;font-variant-numeric:tabular-nums"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return an HTML table; floats have four decimals, and missing values are empty cells.

    >>> table(["a"], [["<b>"], [0.5], [None]])  # doctest: +ELLIPSIS
    '<table ...><thead><tr><th ...>a</th></tr></thead><tbody><tr><td ...>&lt;b&gt;</td></tr>...'
    """
    top = "".join(f'<th style="{STYLE}">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{STYLE}">{escape(shown(cell))}</td>' for cell in row)
        + "</tr>"
        for row in rows
    )
    title = f'<caption style="{STYLE}">{escape(caption)}</caption>' if caption else ""
    return (
        f'<table style="max-width:100%">{title}<thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def paragraphs(texts: Iterable[str]) -> str:
    """Return a paragraph of HTML for each text that is not empty.

    >>> paragraphs(["a < b", ""])
    '<p>a &lt; b</p>'
    """
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def shown(cell: Any) -> str:
    """Format a cell as text."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, float):
        return f"{cell:.4f}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
