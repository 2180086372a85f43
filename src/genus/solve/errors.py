"""Errors about statistics from which no parameters can be solved."""

from __future__ import annotations

from collections.abc import Sequence


class NoSolutionError(ValueError):
    """The statistics of a family do not determine its parameters.

    `columns` are the numbers of the columns that the message names.
    """

    def __init__(self, message: str, columns: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)
