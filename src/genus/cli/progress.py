"""How far a long work has come, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def rows_passing(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of rows after each batch."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=what, unit=" rows", unit_scale=True, leave=False) as bar:
        yield bar.update
