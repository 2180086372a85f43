"""The Rows screen: rows sorted and filtered, one page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from genus.display import text as shown
from genus.studio.data import as_cell, cell
from genus.studio.session import Session, Version
from genus.studio.views.table import cells_of, ranked

PAGE = 25
SORTS = ("error", "doubt", "unusual", "number")
MOST_COLUMNS = 40  # columns of the list
NUMBER = r"^-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"


def listed(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of rows, sorted and filtered as requested, and how many there are."""
    version = session.now
    found, data = version.scores, session.data
    if data is None:
        return {"rows": [], "total": 0, "pages": 0, "note": "no rows"}
    if found is None or found.rows is None:
        return {"rows": [], "total": 0, "pages": 0, "note": "scores"}
    sort = query.get("sort", "error")
    at, matching = filtered(session, query)
    key = {
        "error": -np.log(np.maximum(found.own, 1e-300)),
        "doubt": found.doubt,
        "unusual": -found.unusual,
        "number": -found.rows.astype(np.float64),
    }[sort if sort in SORTS else "error"]
    order = at[np.argsort(-key[at], kind="stable")]
    pages = -(-len(order) // PAGE)
    page = min(max(whole(query.get("page"), 0), 0), max(pages - 1, 0))
    part = order[page * PAGE : (page + 1) * PAGE]
    names = [c.name for c in version.model.plan_.used if not c.part][:MOST_COLUMNS]
    names = by_importance(version, names)
    cells = data.table.select(names).take(pa.array(found.rows[part])).to_pydict()
    outcome = found.outcome
    places = [session.place(label) for label in outcome.classes.tolist()]
    decided = outcome.probabilities.argmax(axis=1)
    return {
        "columns": shown.names(names),
        "columnNames": [[i, name] for i, name in enumerate(shown.names(cells_of(session)))],
        "rows": [
            {
                "row": int(found.rows[i]),
                "number": int(data.numbers[found.rows[i]]),
                "truth": places[outcome.y[i]],
                "taken": places[decided[i]],
                "p": outcome.probabilities[i, decided[i]],
                "own": found.own[i],
                "unusual": found.unusual[i],
                "cells": [cell(cells[name][j]) for name in names],
            }
            for j, i in enumerate(part.tolist())
        ],
        "page": page,
        "pages": pages,
        "total": len(order),
        "matching": matching,
        "note": "",
    }


def by_importance(version: Version, names: list[str]) -> list[str]:
    """Sort columns by how far they move the odds."""
    order = {own.name: i for i, own in enumerate(ranked(version.model.summary()))}
    return sorted(names, key=lambda name: order.get(name, len(order)))


def filtered(session: Session, query: Mapping[str, str]) -> tuple[NDArray[np.intp], int]:
    """Return the positions of matching rows among the scored rows, and how many of all rows match.

    The number ignores whether predictions are wrong, which is known only for scored rows.
    """
    found = session.now.scores
    assert found is not None
    assert found.rows is not None
    there = matches(session, query)
    kept = there[found.rows]
    if query.get("only") in ("wrong", "right"):
        decided = found.outcome.probabilities.argmax(axis=1)
        wrong = decided != found.outcome.y
        kept &= wrong if query["only"] == "wrong" else ~wrong
    return np.flatnonzero(kept), int(there.sum())


def matches(session: Session, query: Mapping[str, str]) -> NDArray[np.bool_]:
    """Return which rows of the model have the requested class and cell."""
    version, data = session.now, session.data
    assert data is not None
    there = version.active.copy()
    label = whole(query.get("class"), -1)
    if label >= 0:
        there &= version.codes == label
    i = whole(query.get("column"), -1)
    names = cells_of(session)
    if 0 <= i < len(names):
        column = data.table.column(names[i])
        if query.get("how") == "missing":
            there &= ~column.is_valid().to_numpy()
        elif query.get("how") == "range":
            there &= within(column, names[i], query.get("value", ""), query.get("high", ""))
        else:
            text = query.get("value", "")
            if text:
                there &= holding(column, text, query.get("how") == "contains")
    return there


def holding(column: Any, text: str, within: bool) -> NDArray[np.bool_]:
    """Return which cells equal a text, or contain it."""
    try:
        strings = column.cast(pa.large_string())
    except pa.ArrowException:
        return np.zeros(len(column), dtype=bool)
    clean = text.encode("utf-8", "replace").decode()
    if within:
        found = pc.match_substring(strings, clean, ignore_case=True)
    else:
        found = pc.equal(strings, pa.scalar(clean, pa.large_string()))
    return np.asarray(pc.fill_null(found, False).to_numpy(), dtype=bool)


def within(column: Any, name: str, low: str, high: str) -> NDArray[np.bool_]:
    """Return which numbers or dates lie in a range, ends included; an empty end is open.

    Cells of text are compared as numbers. Text that is not a number is outside the range.
    """
    there = column.is_valid()
    kind = column.type.value_type if pt.is_dictionary(column.type) else column.type
    is_ordered = pt.is_temporal(kind) or pt.is_integer(kind) or pt.is_floating(kind)
    if not is_ordered and not pt.is_decimal(kind):
        try:
            plain = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        except (pa.ArrowException, NotImplementedError):
            return np.zeros(len(column), dtype=bool)
        plain = pc.if_else(pc.match_substring_regex(plain, NUMBER), plain, None)
        column, kind = plain.cast(pa.float64()), pa.float64()
        there = column.is_valid()
    for text, compare in ((low, pc.greater_equal), (high, pc.less_equal)):
        if text.strip():
            end = as_cell(text, pa.field(name, pa.float64() if pt.is_integer(kind) else kind))
            there = pc.and_(there, pc.fill_null(compare(column.cast(end.type), end[0]), False))
    return np.asarray(there.to_numpy(), dtype=bool)


def by_number(session: Session, number: int) -> dict[str, int]:
    """Return the position of the row with this number in the file."""
    numbers = np.zeros(0, np.intp) if session.data is None else session.data.numbers
    place = int(np.searchsorted(numbers, number))
    if place == len(numbers) or numbers[place] != number:
        raise ValueError(f"No labelled row has the number {number:,}. Enter another number.")
    return {"row": place}


def whole(text: Any, otherwise: int) -> int:
    """Convert a value from the page to a whole number; return `otherwise` if that fails."""
    try:
        return int(text)
    except (TypeError, ValueError):
        return otherwise
