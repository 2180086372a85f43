"""Show the progress of long work, on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def rows_passing(what: str, of: Any) -> Iterator[Callable[[int], None]]:
    """Show a progress bar; yield a function that takes the number of rows of each batch.

    `of` is the source of the rows, or their number. The bar shows the rows, the time left and, for
    files, the bytes. The totals are estimates if the number of rows is an estimate.
    """
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from tqdm import tqdm

    total, size = (of, None) if isinstance(of, int) else (of.expected_rows(), of.size)

    with tqdm(total=total, desc=what, unit=" rows", unit_scale=True, leave=False) as bar:

        def pass_on(rows: int) -> None:
            if total and size:
                done, whole = (
                    tqdm.format_sizeof(share * size, "B")
                    for share in (min((bar.n + rows) / total, 1.0), 1.0)
                )
                bar.set_postfix_str(f"{done} of {whole}", refresh=False)
            bar.update(rows)

        yield pass_on


@contextmanager
def points_passing(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar; yield a function that takes the newly done points and the total."""
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
    """Yield the items, and show a progress bar."""
    if not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm

    yield from tqdm(items, desc=what, unit=unit, unit_scale=True, leave=False)
