"""Shorten names of classes, columns and values so that different names stay different."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

GROWTH = 1.05  # how much longer names may become that are still the same


def cut(text: str, most: int) -> str:
    """Shorten a name to at most `most` characters, and keep its beginning and its last words.

    >>> cut("customer churned early", 14), cut("churned_customer", 14), cut("customer", 14)
    ('customer…early', 'churned…stomer', 'customer')
    """
    if len(text) <= most:
        return text
    end = text[len(text) - (most - 1) // 2 :]
    if text[len(text) - len(end) - 1] != " ":  # without the part of a word
        end = end.partition(" ")[2] or end
    return f"{text[: most - 1 - len(end)].rstrip()}…{end.lstrip()}"


def distinct(texts: Sequence[str], most: int) -> list[str]:
    """Shorten names to about `most` characters; names that would be the same are kept longer.

    >>> distinct(["customer churned early", "customer churned late", "new"], 14)
    ['customer…early', 'customer…late', 'new']
    >>> distinct(["how often do you call us", "how often did you call us"], 14)
    ['how often do…call us', 'how often di…call us']
    """
    width = dict.fromkeys(texts, most)
    shown = {text: cut(text, most) for text in width}
    while True:
        times = Counter(shown.values())
        same = [text for text, short in shown.items() if times[short] > 1 and short != text]
        if not same:
            return [shown[text] for text in texts]
        for text in same:
            width[text] = int(GROWTH * width[text]) + 1
            shown[text] = cut(text, width[text])
