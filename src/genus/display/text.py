"""Format names, values and numbers for a page; text from users is shortened and cleaned."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from genus.arrays.names import cut, distinct

LONGEST = 48  # characters
# Control characters, surrogates, and marks that change the direction of text.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def name(value: Any, most: int = LONGEST) -> str:
    """Format a name, a label or the value of a cell.

    >>> name("a\\nb"), name(3.0), name(None), name("abcdefghi", 5)
    ('a b', '3', '(missing)', 'ab…hi')
    """
    return cut(cleaned(value), most)


def names(values: Sequence[Any], most: int = LONGEST) -> list[str]:
    """Format names that are shown together, such as all classes, so that they stay different.

    >>> names(["a rather long name", "a rather wrong name", "a"], 9)
    ['a rather l…name', 'a rather w…name', 'a']
    >>> names(["a\\nb", "a b"])
    ["'a\\\\nb'", "'a b'"]
    """
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    texts = [cleaned(value) for value in values]
    times = Counter(dict(zip(values, texts, strict=True)).values())
    pairs = zip(values, texts, strict=True)
    exact = [repr(value) if times[text] > 1 else text for value, text in pairs]
    return distinct(exact, most)


def cleaned(value: Any) -> str:
    """Format a name on one line, without characters that do not print."""
    if value is None:
        return "(missing)"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        value = number(value)
    return UNSEEN.sub("�", " ".join(str(value).split())) or "(empty)"


def number(value: float, digits: int = 4) -> str:
    """Format a number with few digits; whole numbers are written in full.

    >>> number(1234.0), number(0.123456), number(123456789.5), number(-0.5)
    ('1,234', '0.1235', '123,456,790', '−0.5')
    """
    if not np.isfinite(value):
        return str(value)
    is_whole = value == np.floor(value) and abs(value) < 1e15
    if is_whole or 1e4 <= abs(value) < 1e12:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "−")


def date(days: float | str) -> str:
    """Format a date, given as days since 1970 or as text.

    >>> date(19731.25)
    '2024-01-09'
    """
    if isinstance(days, str):
        return days[:10]
    return str(np.datetime64("1970-01-01", "D") + np.timedelta64(int(np.floor(days)), "D"))


def signed(value: float) -> str:
    """Format log-odds with their sign.

    >>> signed(1.234), signed(-0.5)
    ('+1.23', '−0.50')
    """
    return f"{value:+.2f}".replace("-", "−")


def bits(value: float) -> str:
    """Format a gain in bits per row.

    >>> bits(-0.0123), bits(-0.0001)
    ('−0.012', '0.000')
    """
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text.replace("-", "−")


def percent(share: float) -> str:
    """Format a share; only exact values become 0 % or 100 %.

    >>> percent(0.9801), percent(1.0), percent(0.99999), percent(0.00001)
    ('98.0 %', '100 %', 'more than 99.9 %', 'less than 0.1 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    if share > 0.9995:
        return "more than 99.9 %"
    if share < 0.0005:
        return "less than 0.1 %"
    return f"{100 * share:.1f} %"


def count(n: float, one: str, many: str = "") -> str:
    """Format a count with its noun.

    >>> count(1, "row"), count(12000, "row"), count(2, "class", "classes")
    ('1 row', '12,000 rows', '2 classes')
    """
    return f"{n:,.10g} {one if n == 1 else many or one + 's'}"
