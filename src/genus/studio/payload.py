"""Convert values to JSON: plain lists, rounded numbers, and null for NaN and infinity."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

DIGITS = 6  # enough for figures, and for numbers that are rounded again


def plain(value: Any) -> Any:
    """Convert a value to JSON types.

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
    """Encode a value as JSON in UTF-8; surrogates become question marks."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
