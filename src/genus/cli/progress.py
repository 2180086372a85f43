"""How far a long work has come, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def rows_passing(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of rows after each batch."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=what, unit=" rows", unit_scale=True, leave=False) as bar:
        yield bar.update


@contextmanager
def points_passing(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with the number of points that are done, and that of all."""
    if not sys.stderr.isatty():
        yield lambda points, total: None
        return
    from tqdm import tqdm

    with tqdm(desc=what, unit=" points", leave=False) as bar:

        def pass_on(points: int, total: int) -> None:
            bar.total = total
            bar.update(points)

        yield pass_on


def passing(what: str, items: Iterable[T], unit: str) -> Iterator[T]:
    """The items, counted on a terminal as they pass."""
    if not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, desc=what, unit=unit, unit_scale=True, leave=False)
