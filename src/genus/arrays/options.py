"""Check options from users; errors name the option."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

OURS = ("genus", "sklearn", "contextlib")


def warn(message: str | Warning) -> None:
    """Warn at the line in the user's code: the first line outside the libraries in OURS."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in OURS:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=depth)


def number(name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> float:
    """Return a finite number from `least` to `most`, or raise an error.

    >>> number("alpha", 0.5, least=0)
    0.5
    >>> number("alpha", None, least=0)
    Traceback (most recent call last):
    ValueError: alpha must be a number, 0 or more; got None.
    """
    try:
        result = float(value) if np.ndim(value) == 0 and not isinstance(value, str) else np.nan
    except (TypeError, ValueError, OverflowError):
        result = np.nan
    if not (np.isfinite(result) and least <= result <= most):
        bounds = f", {least:g} or more" if np.isfinite(least) and np.isposinf(most) else ""
        bounds = f" from {least:g} to {most:g}" if np.isfinite(most) else bounds
        raise ValueError(f"{name} must be a number{bounds}; got {value!r}.")
    return result


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`, or raise an error.

    >>> whole("n_bins", 5, least=2)
    5
    >>> whole("n_bins", 2.5, least=2, most=100)
    Traceback (most recent call last):
    ValueError: n_bins must be a whole number from 2 to 100; got 2.5.
    """
    fits = is_whole(value) and least <= value and (most is None or value <= most)
    if not fits:
        bounds = f", {least} or more" if most is None else f" from {least} to {most}"
        raise ValueError(f"{name} must be a whole number{bounds}; got {value!r}.")
    return int(value)


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer and not True or False."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def by_class(priors: Any) -> Any:
    """Return priors; a pandas Series becomes a dictionary by its index."""
    is_series = hasattr(priors, "index") and hasattr(priors, "to_dict")
    return priors.to_dict() if is_series else priors


def numbers(name: str, value: Any) -> NDArray[np.float64]:
    """Return finite numbers in any shape, or raise an error."""
    try:
        if isinstance(value, str) or np.iscomplexobj(value):
            raise TypeError
        result = np.array(value, dtype=np.float64)  # a copy, so that users cannot change it later
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers; got {value!r}.") from None
    if not np.isfinite(result).all():
        raise ValueError(f"{name} must hold finite numbers; got {value!r}.")
    return result


def flag(name: str, value: Any) -> bool:
    """Return True or False, or raise an error for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")
    return bool(value)
