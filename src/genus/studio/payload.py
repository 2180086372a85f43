"""Values as JSON: plain lists and numbers of few digits, with null for what is not a number."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

DIGITS = 6  # enough for a picture, and for a figure that is rounded again


def plain(value: Any) -> Any:
    """Return a value that JSON can hold.

    >>> plain({"p": np.array([0.5, np.nan]), "n": np.int64(3)})
    {'p': [0.5, None], 'n': 3}
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def encoded(value: Any) -> bytes:
    """Return a value as JSON in UTF-8; halves of characters become question marks."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
