"""Show the progress of long work, on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def rows_passing(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; yields a function to call with the number of rows of each batch."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=what, unit=" rows", unit_scale=True, leave=False) as bar:
        yield bar.update


@contextmanager
def points_passing(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar; yields a function to call with the points done and their total."""
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
    """Yield the items, with a progress bar."""
    if not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, desc=what, unit=unit, unit_scale=True, leave=False)
