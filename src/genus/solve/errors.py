"""Statistics that no parameters follow from."""

from __future__ import annotations

from collections.abc import Sequence


class NoSolutionError(ValueError):
    """A family cannot be solved from its statistics.

    `columns` are those that the message speaks of by number.
    """

    def __init__(self, message: str, columns: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)
