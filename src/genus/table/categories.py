"""Write the names of categories in the same way for every format of a table.

Categories may be numbers, dates or truth values. Then the same category can be 1 in one table, 1.0
in a table with missing values, and the text "01" in a file.
"""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import Any

from genus.table.numerals import PLAIN

WHOLE = r"^(0|-?[1-9]\d*)$"  # a whole number in its usual form
NUMBER = re.compile(r"u?int\d+|float|double|halffloat")
MOMENT = re.compile(r"(date|timestamp|time)(?:32|64)?\[(s|ms|us|ns|day)\]")
DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}  # after the point, in Arrow's text of a moment
TRUTHS = {"0": "false", "1": "true"}


def plain(name: str) -> str:
    """Return a category as text; True and TRUE become true, like Boolean values."""
    return name.lower() if name.lower() in ("true", "false") else name


def spelled(names: Any, type: str) -> list[str]:
    """Return the names of categories, an Arrow array of strings, as they were written in `fit`.

    `type` is the name of the Arrow type that the column had in `fit`.

    >>> import pyarrow as pa
    >>> spelled(pa.array(["1.0", " 2", "x"]), "int64")
    ['1', '2', 'x']
    >>> spelled(pa.array(["1.0", "TRUE", "x"]), "bool")
    ['true', 'true', 'x']
    >>> spelled(pa.array(["7:05", "x"]), "time64[us]")
    ['07:05:00.000000', 'x']
    """
    held = re.sub(r"dictionary<values=(.*), indices=.*", r"\1", type)
    if held == "bool" or NUMBER.fullmatch(held):
        names = numbers_spelled(names)
    found = [plain(name) for name in names.to_pylist()]
    if held == "bool":
        return [TRUTHS.get(name, name) for name in found]
    moment = MOMENT.fullmatch(held)
    return [moment_spelled(name, *moment.groups()) for name in found] if moment else found


def numbers_spelled(names: Any) -> Any:
    """Write numbers among names in their usual form, such as 1 for 1.0 and 01."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(names)
    is_number = pc.match_substring_regex(trimmed, f"^(?:{PLAIN.pattern})")
    odd = pc.and_not(is_number, pc.match_substring_regex(trimmed, WHOLE))
    numbers = pc.if_else(odd, trimmed, None).cast(pa.float64())
    return pc.coalesce(numbers.cast(names.type), pc.if_else(is_number, trimmed, names))


def moment_spelled(name: str, kind: str, unit: str) -> str:
    """Write a date or time as Arrow does for a type, such as timestamp[us]; keep other names."""
    text = name.strip()
    if kind == "time":
        text = "1970-01-01 " + re.sub(r"^(\d:)", r"0\1", text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return name
    if kind == "date":
        return name if moment.time() != time() else f"{moment:%Y-%m-%d}"
    digits = f"{moment.microsecond:06d}000"[: DIGITS[unit]]
    whole = f"{moment:%H:%M:%S}" if kind == "time" else f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{whole}.{digits}" if digits else whole
