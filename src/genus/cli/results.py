"""Print results as JSON, for other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import click


def printed(result: Any) -> None:
    """Print a result as one JSON object."""
    import json

    click.echo(json.dumps(plain(result), ensure_ascii=False, allow_nan=False))


def plain(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become null.

    >>> plain({"a": (1.5, float("nan")), 2: "b"})
    {'a': [1.5, None], '2': 'b'}
    """
    import numpy as np

    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
