"""Show one row: the contributions to its prediction, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from genus.display import text as shown
from genus.report.densities import counted, position
from genus.studio.data import LONGEST, cell, changed, editable
from genus.studio.neighbours import nearest
from genus.studio.session import Session, Version
from genus.studio.views.rows import by_importance
from genus.studio.views.table import cells_of, names_of

GRID = 41  # values of a number that are tried
MOST_CHOICES = 60  # categories that are offered
MOST_CURVES = 7  # classes whose probabilities are drawn
UNUSUAL = 0.01  # share of rows that count as unusual
NEIGHBOURS = 5


def detail(session: Session, row: int) -> dict[str, Any]:
    """Return one row: its cells, its prediction, the contributions, and similar rows."""
    version, data = session.now, session.data
    if data is None or not 0 <= row < len(data):
        raise ValueError("This table has no such row. Reload the page.")
    one = data.table.slice(row, 1)
    result: dict[str, Any] = {
        "row": row,
        "number": int(data.numbers[row]),
        "truth": int(version.codes[row]),
        "active": bool(version.active[row]),
        "inputs": inputs(session, one),
        **judged(session, one),
        "outOfFold": None,
        "unusual": None,
        "neighbours": [],
    }
    found = version.scores
    if found is not None and found.rows is not None:
        place = int(np.searchsorted(found.rows, row))
        if place < len(found.rows) and found.rows[place] == row:
            result["outOfFold"] = spread(
                session, found.outcome.classes, found.outcome.probabilities[place]
            )
        density = float(version.density.log_density(one)[0])
        assert found.density is not None
        less = float((found.density < density).mean())
        result["unusual"] = {"share": less, "is": less < UNUSUAL}
        result["neighbours"] = [
            {
                "row": near.row,
                "number": int(data.numbers[near.row]),
                "truth": int(version.codes[near.row]),
                "differs": [
                    {"name": shown.name(name), "here": cell(here), "there": cell(there)}
                    for name, here, there in near.differs
                ],
            }
            for near in nearest(session, row, NEIGHBOURS)
        ]
    return result


def blank(session: Session) -> dict[str, Any]:
    """Draw a row from the model, to start from if there are no rows."""
    rows, _ = session.now.model.sample(1, random_state=0)
    return {
        "row": -1,
        "inputs": inputs(session, rows),
        **judged(session, rows),
        "neighbours": [],
        "active": False,
        "truth": -1,
    }


def start(session: Session, row: int) -> Any:
    """Return the row that changes start from, as an Arrow table."""
    data = session.data
    if row < 0 or data is None:
        return session.now.model.sample(1, random_state=0)[0]
    if row >= len(data):
        raise ValueError("This table has no such row. Reload the page.")
    return data.table.slice(row, 1)


def what_if(
    session: Session, row: int, given: Mapping[str, str], focus: int | None
) -> dict[str, Any]:
    """Return the prediction for a row with changed cells, and the effect of one column."""
    names = cells_of(session)
    texts = {names[int(i)]: str(text)[:LONGEST] for i, text in given.items() if valid(i, names)}
    one = changed(start(session, row), texts)
    result = judged(session, one)
    if focus is not None and 0 <= focus < len(names):
        result["curve"] = curve(session, one, names[focus])
    return result


def valid(i: Any, names: list[str]) -> bool:
    """Return whether this is a valid column number."""
    return str(i).isdecimal() and int(i) < len(names)


def judged(session: Session, one: Any) -> dict[str, Any]:
    """Return the probabilities of a row, and the contribution of each column to the log-odds."""
    model = session.now.model
    told = model.explain(one)
    joint = told.joint[0]
    order = np.argsort(-joint, kind="stable")
    labels = told.classes.tolist()
    first, second = int(order[0]), int(order[1])
    terms = told.log_odds(labels[first], labels[second])[0]
    at = {name: i for i, name in enumerate(names_of(session))}
    evidence: list[dict[str, Any]] = [
        {
            "column": at.get(name, -1),
            "name": shown.name(name),
            "value": cell(told.values[0, j]),
            "term": float(terms[j]),
            "words": [
                [shown.name(word), odds]
                for word, odds in told.strongest_words(name, 0, labels[first], labels[second])
            ]
            if name in told.words
            else [],
        }
        for j, name in enumerate(told.features)
    ]
    evidence.sort(key=lambda e: -abs(e["term"]))
    return {
        "p": spread(session, told.classes, np.exp(joint)),
        "first": session.place(labels[first]),
        "second": session.place(labels[second]),
        "logOdds": float(terms.sum()),
        "baseline": float(terms[-1]),
        "evidence": evidence,
        "error": float(told.error[0].max(initial=0.0)),
    }


def spread(session: Session, classes: Any, p: NDArray[np.float64]) -> list[float]:
    """Return probabilities by the session's classes; 0 for classes that the model lacks."""
    found = [0.0] * len(session.classes)
    for label, value in zip(classes.tolist(), p.tolist(), strict=True):
        found[session.place(label)] = value
    return found


def inputs(session: Session, one: Any) -> list[dict[str, Any]]:
    """Return the cells of a row that can be changed, each with its possible values."""
    version = session.now
    at = {name: i for i, name in enumerate(names_of(session))}
    used = {c.name: c for c in version.model.plan_.used if not c.part}
    found = []
    for name in by_importance(version, list(used)):
        column = used[name]
        own: dict[str, Any] = {
            "column": at[name],
            "name": shown.name(name),
            "kind": column.kind,
            "value": editable(one.column(name)[0].as_py()),
        }
        own |= choices(session, version, name, column)
        found.append(own)
    return found


def choices(session: Session, version: Version, name: str, column: Any) -> dict[str, Any]:
    """Return the range of a column of numbers, or the most frequent categories."""
    kept = version.kept.setdefault("choices", {})
    if name not in kept:
        kept[name] = found_choices(session, name, column)
    found: dict[str, Any] = kept[name]
    return found


def found_choices(session: Session, name: str, column: Any) -> dict[str, Any]:
    if column.kind == "text":
        return {}
    seen = counted(session.now.model, position(session.now.model, name)[0])
    if column.kind == "category":
        order = np.argsort(-seen.weight, kind="stable")[:MOST_CHOICES]
        return {"choices": [str(seen.values[i])[:LONGEST] for i in order]}
    if column.is_date or not is_typed_as_number(session, column) or len(seen.values) == 0:
        return {}
    low, high = float(seen.values.min()), float(seen.values.max())
    is_whole = bool(np.all(seen.values == np.floor(seen.values))) and high - low < 1e6
    step = 1.0 if is_whole else 10.0 ** np.floor(np.log10(max(high - low, 1e-12) / 200))
    return {"low": low, "high": high, "step": float(step)}


def is_typed_as_number(session: Session, column: Any) -> bool:
    """Return whether a column's cells are numbers, or text in plain notation."""
    if session.data is None:
        return True
    kind = session.data.table.schema.field(column.name).type
    is_text = pt.is_string(kind) or pt.is_large_string(kind)
    return pt.is_integer(kind) or pt.is_floating(kind) or (is_text and not column.written)


def curve(session: Session, one: Any, name: str) -> dict[str, Any] | None:
    """Return the probabilities of a row as one column of numbers varies."""
    column = next((c for c in session.now.model.plan_.used if c.name == name), None)
    if column is None:
        return None
    span = choices(session, session.now, name, column)
    if "low" not in span or span["low"] == span["high"]:
        return None
    x = np.linspace(span["low"], span["high"], GRID)
    if span["step"] == 1.0:
        x = np.unique(np.round(x))
    kind = one.schema.field(name).type
    many = one.take(pa.array(np.zeros(len(x), dtype=np.int64)))
    cells = pa.array([f"{v:.10g}" for v in x]) if "string" in str(kind) else pa.array(x)
    place = many.column_names.index(name)
    many = many.set_column(place, name, cells.cast(kind, safe=False))
    p = session.now.model.predict_proba(many)
    places = [session.place(label) for label in session.now.model.classes_.tolist()]
    order = np.argsort(-p.max(axis=0), kind="stable")[:MOST_CURVES] if len(places) > 2 else [1]
    return {
        "x": x,
        "curves": [{"class": places[k], "p": p[:, k]} for k in order],
    }
