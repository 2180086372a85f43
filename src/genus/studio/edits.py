"""Describe changes to a model: families, columns left out, rows forgotten or relabelled.

An edit is a value that can be written to a file, repeated in another session, and printed as
Python. Rows are given by their positions among the labelled rows, from 0 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.display import text as shown

FAMILY, LEAVE_OUT, TAKE_IN = "family", "leave out", "take in"
FORGET, RELABEL = "forget", "relabel"
KINDS = (FAMILY, LEAVE_OUT, TAKE_IN, FORGET, RELABEL)
AUTO = "auto"


@dataclass(frozen=True)
class Edit:
    """One change: its kind, and the column and family, or the rows and their new class."""

    kind: str
    column: str = ""
    family: str = ""
    rows: tuple[int, ...] = ()
    label: int = -1

    @property
    def is_of_rows(self) -> bool:
        return self.kind in (FORGET, RELABEL)

    def told(self, classes: Sequence[str]) -> str:
        """Describe the change in a few words."""
        column = shown.name(self.column)
        rows = shown.count(len(self.rows), "row")
        return {
            FAMILY: f"{column} is {self.family}",
            LEAVE_OUT: f"{column} is left out",
            TAKE_IN: f"{column} is used again",
            FORGET: f"{rows} forgotten",
            RELABEL: f"{rows} relabelled {classes[self.label] if self.label >= 0 else ''}".strip(),
        }[self.kind]

    def as_json(self) -> dict[str, Any]:
        """Return the edit for a file; consecutive rows are given by the first and the last."""
        return {
            "kind": self.kind,
            "column": self.column,
            "family": self.family,
            "rows": runs(self.rows),
            "label": self.label,
        }

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Edit:
        """Return the edit that a file holds; raise an error if it is invalid."""
        kind, label = found["kind"], found["label"]
        if kind not in KINDS or not isinstance(label, int):
            raise ValueError(f"The journal holds an unknown change, {kind!r}.")
        rows = tuple(i for first, last in found["rows"] for i in range(first, last + 1))
        return cls(kind, str(found["column"]), str(found["family"]), rows, label)


def runs(rows: Iterable[int]) -> list[list[int]]:
    """Return ascending numbers as ranges, each by its first and last number.

    >>> runs([1, 2, 3, 7])
    [[1, 3], [7, 7]]
    """
    at = np.asarray(sorted(rows), dtype=np.int64)
    if len(at) == 0:
        return []
    parts = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
    return [[int(part[0]), int(part[-1])] for part in parts]


def options_after(edits: Iterable[Edit], start: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model's options after some edits: its families, and columns left out.

    >>> options_after([Edit("family", "age", "gaussian"), Edit("leave out", "id")], {})
    {'families': {'age': 'gaussian'}, 'ignore': ['id']}
    """
    given = start.get("families", AUTO)
    families = dict(given) if isinstance(given, Mapping) else {}
    ignore = list(start.get("ignore", ()))
    for edit in edits:
        if edit.kind == FAMILY:
            families.pop(edit.column, None)
            if edit.family != AUTO:
                families[edit.column] = edit.family
        elif edit.kind == LEAVE_OUT:
            families.pop(edit.column, None)
            ignore = [*ignore, edit.column]
        elif edit.kind == TAKE_IN:
            ignore = [name for name in ignore if name != edit.column]
    return {"families": families or AUTO, "ignore": ignore}


def rows_after(
    edits: Iterable[Edit], codes: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which rows are still in the model, (m,), and the class of each row, (m,)."""
    active, codes = np.ones(len(codes), dtype=bool), codes.copy()
    for edit in edits:
        if edit.kind == FORGET:
            active[list(edit.rows)] = False
        elif edit.kind == RELABEL:
            codes[list(edit.rows)] = edit.label
    return active, codes
