"""Find the rows of other classes that are most similar to a row.

The distance of two rows is Gower's, weighted by how far each column moves the odds: numbers differ
by the distance of their ranks, categories by 0 or 1, and a cell that is missing in one of the rows
by 1. Texts are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genus.studio.session import Session, Version
from genus.table import Frame, Values

MOST_DIFFERENCES = 4
LEAST = 0.02  # smallest difference of ranks that is shown


class Near(NamedTuple):
    """A similar row, and the columns that differ most: name, given row's cell, this row's cell."""

    row: int
    differs: list[tuple[str, Any, Any]]


def nearest(session: Session, row: int, most: int) -> list[Near]:
    """Return the nearest scored rows of other classes."""
    version, data = session.now, session.data
    assert data is not None
    scores = version.scores
    if scores is None or scores.rows is None:
        return []
    at = scores.rows
    names, weight, columns = encoded(version, data, at)
    if not names:
        return []
    one = Frame.of(data.table.slice(row, 1), version.model.plan_)
    used = [column.name for column in version.model.plan_.used]
    by_column = np.zeros((len(names), len(at)))
    for i, name in enumerate(names):
        by_column[i] = weight[i] * difference(columns[i], one.columns[used.index(name)])
    distance = by_column.sum(axis=0)
    others = np.flatnonzero(version.codes[at] != version.codes[row])
    best = others[np.argsort(distance[others], kind="stable")[:most]]
    found = []
    here = data.table.slice(row, 1)
    for i in best.tolist():
        there = data.table.slice(int(at[i]), 1)
        order = np.argsort(-by_column[:, i], kind="stable")[:MOST_DIFFERENCES]
        differs = [
            (names[j], here.column(names[j])[0].as_py(), there.column(names[j])[0].as_py())
            for j in order.tolist()
            if by_column[j, i] > LEAST * weight[j] and weight[j] > 0
        ]
        found.append(Near(int(at[i]), differs))
    return found


def encoded(
    version: Version, data: Any, at: NDArray[np.intp]
) -> tuple[list[str], NDArray[np.float64], list[Any]]:
    """Return the names, weights and values of the compared columns."""
    if "encoded" not in version.kept:
        model = version.model
        frame = Frame.of(data.table.take(at), model.plan_)
        names, weight, columns = [], [], []
        for column, values, moves in zip(
            model.plan_.used, frame.columns, model.feature_importances_.tolist(), strict=True
        ):
            if column.kind == "text" or column.part:
                continue
            names.append(column.name)
            weight.append(moves)
            columns.append(values if isinstance(values, Values) else Ranks(values))
        total = max(sum(weight), 1e-300)
        version.kept["encoded"] = names, np.array(weight) / total, columns
    found: tuple[list[str], NDArray[np.float64], list[Any]] = version.kept["encoded"]
    return found


class Ranks:
    """The numbers of a column as ranks: the share of numbers below each; NaN if missing."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.sorted = np.sort(values[~np.isnan(values)])
        self.share = self.of(values)

    def of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of numbers below each given value; equal numbers count half."""
        below = np.searchsorted(self.sorted, values, side="left")
        until = np.searchsorted(self.sorted, values, side="right")
        share = (below + until) / 2 / max(len(self.sorted), 1)
        return np.where(np.isnan(values), np.nan, share)


def difference(column: Any, one: Any) -> NDArray[np.float64]:
    """Return how much each cell of a column differs from a given one, from 0 to 1."""
    if isinstance(column, Ranks):
        gap = np.abs(column.share - column.of(one)[0])
        both = np.isnan(column.share) & np.isnan(one[0])
        return np.where(both, 0.0, np.where(np.isnan(gap), 1.0, gap))
    own = one.names[one.codes[0]] if one.codes[0] >= 0 else None
    place = np.flatnonzero(column.names == own) if own is not None else np.zeros(0, np.int64)
    code = int(place[0]) if len(place) else (-1 if own is None else -2)
    return (column.codes != code).astype(np.float64)
