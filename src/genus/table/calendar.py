"""Compute the parts of dates that recur: the weekday, the month and the hour.

Parts that help to predict the class become columns of categories beside the dates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
          "October", "November", "December")  # fmt: skip
ROUNDING = 1e-7  # hours; more than the rounding error of days since 1970 as floats
HOURS = tuple(f"{hour:02d}" for hour in range(24))


@dataclass(frozen=True)
class Part:
    """A part of dates: the `names` of its values, and the period in days after which they recur."""

    names: tuple[str, ...]
    period: float


PARTS = {"weekday": Part(DAYS, 7), "month": Part(MONTHS, 366), "hour": Part(HOURS, 1)}


def column_of(name: str, part: str) -> str:
    """Return the name of the column that holds a part of the dates in column `name`.

    >>> column_of("paid on", "weekday")
    'paid on (weekday)'
    """
    return f"{name} ({part})"


def dates_of(name: str) -> str:
    """Remove the ending of a part, such as " (weekday)", from a column's name, if it has one.

    >>> dates_of("paid on (weekday)"), dates_of("price (net)")
    ('paid on', 'price (net)')
    """
    endings = (column_of("", part) for part in PARTS)
    return next((name.removesuffix(end) for end in endings if name.endswith(end)), name)


def codes_of(days: Array, part: str) -> NDArray[np.int64]:
    """Return the index of each date in a part's names, -1 if missing; day 0 is 1 January 1970.

    >>> friday = 20_000.75  # days since 1970: 2024-10-04 18:00
    >>> [PARTS[part].names[codes_of(np.array([friday]), part)[0]] for part in PARTS]
    ['Friday', 'October', '18']
    """
    there = np.isfinite(days)
    known = np.where(there, days, 0.0)
    whole = np.floor(known).astype(np.int64)
    if part == "weekday":
        codes = (whole + 3) % 7  # 1970 began on a Thursday
    elif part == "month":
        codes = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    else:
        codes = np.floor(known * 24 + ROUNDING).astype(np.int64) % 24
    return np.where(there, codes, -1)


def telling(days: Array, y: NDArray[np.int64]) -> Iterator[str]:
    """Yield the parts that recur within these dates and help to predict the class.

    If all dates are within one period, a part adds nothing to the date. `y` are the codes of the
    classes.
    """
    there = np.isfinite(days)
    known, y = days[there], y[there]
    span = np.ptp(known) if len(known) else 0.0
    for name, part in PARTS.items():
        if span > part.period and gains(codes_of(known, name), y):
            yield name


def gains(codes: NDArray[np.int64], y: NDArray[np.int64]) -> bool:
    """Return whether a part predicts the class of left-out rows better than class shares do.

    The mean gain in log p(y) has to be more than two standard errors above zero.
    """
    counts = np.zeros((codes.max() + 1, y.max() + 1))
    np.add.at(counts, (codes, y), 1.0)
    K, n = counts.shape[1], len(y)
    by_value, by_class = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    share = (by_class - 0.5) / (n - 1 + K / 2)  # of a row's own class, without the row
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log((counts - 1 + share) / by_value) - np.log(share)
    gain = np.where(counts > 0, gain, 0.0)
    mean = (counts * gain).sum() / n
    variance = (counts * (gain - mean) ** 2).sum() / n
    return bool(mean > 2 * np.sqrt(variance / n))
