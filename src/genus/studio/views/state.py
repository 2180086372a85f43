"""What every screen shows: the file, its classes, the changes, and running jobs."""

from __future__ import annotations

from typing import Any

import numpy as np

from genus.display import text as shown
from genus.studio.session import Session

MAIN = ("accuracy", "log loss")  # scores that are always shown
MOST_TARGETS = 500  # columns to choose from
LOOK = 20_000  # rows whose values are counted
FEW, MANY = 30, 1_000  # most distinct values of a likely target, and of any suitable one


def state(session: Session) -> dict[str, Any]:
    """Return the state of the studio."""
    job = session.worker.job
    version = session.version
    found: dict[str, Any] = {
        "serial": session.serial,
        "name": shown.name(session.name) if session.name else "",
        "job": None if job is None else job.shown(),
        "aside": None if session.aside.job is None else session.aside.job.shown(),
        "error": session.worker.error or session.aside.error,
        "screens": screens(session),
        "opens": session.text is None,
        "shown": session.shown,
        "unsaved": session.unsaved(),
        **files(session),
        "mail": session.mail is not None,
        "writes": session.mail is not None and session.mail.writes,
    }
    if session.table is not None and version is None:
        found["targets"] = targets(session)
    if version is None and session.text is None:
        return found
    names, colours = session.class_names(), session.colours()
    model = session.text if version is None else version.model
    counts = dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))
    found |= {
        "classes": [
            {"name": name, "colour": colour, "rows": counts.get(label, 0)}
            for name, colour, label in zip(names, colours, session.classes.tolist(), strict=True)
        ],
        "rows": float(np.sum(list(counts.values()))),
        "edits": [edit.told(names) for edit in session.edits],
        "own": session.is_own,
        "model": type(model).__name__,
    }
    if version is None:
        return found
    data = session.data
    found |= {
        "target": shown.name(
            (data.target if data is not None else model.plan_.target) or "the class"
        ),
        "total": None if data is None else len(data),
        "unlabelled": 0 if data is None else data.unlabelled,
        "scores": headline(version.scores) or worth(session, model),
        "before": headline(session.first.scores) if session.edits and session.first else None,
    }
    return found


def files(session: Session) -> dict[str, Any]:
    """Return the other tables that can be opened: the command's table, and dropped files."""
    named, journal = session.named, session.journal
    is_other = session.is_dropped or session.table is None
    dropped = {} if journal is None else journal.dropped(session.identifier)
    return {
        "named": shown.name(named.name) if named is not None and is_other else None,
        "dropped": [[shown.name(name), changes] for name, changes in dropped.items()],
        "comesBack": journal is not None,
    }


def screens(session: Session) -> list[str]:
    """Return the screens that have something to show."""
    found = []
    if session.version is not None:
        found += ["table", "scores", "rows", "edit", "compare"]
        if any(column.kind == "text" for column in session.now.model.plan_.used):
            found.append("text")
    elif session.text is not None:
        found.append("text")
    else:
        found.append("open")
    if session.mail is not None:
        found.append("mail")
        if session.version is None and session.text is None and session.table is None:
            found.remove("open")
    if session.version is not None or session.text is not None:
        found.append("export")
    return found


def headline(scores: Any) -> dict[str, Any] | None:
    """Return the main scores with their intervals; None if they are not computed yet."""
    if scores is None:
        return None
    return {name: list(scores.metrics.scores[name]) for name in MAIN} | {
        "rows": scores.metrics.rows
    }


def worth(session: Session, model: Any) -> dict[str, Any] | None:
    """Return the scores stored in a model file, which have no intervals."""
    kept = model.summary().worth if session.data is None else {}
    if not kept:
        return None
    return {name: [kept[name], None, None] for name in MAIN} | {"rows": kept["rows"]}


def targets(session: Session) -> list[dict[str, Any]]:
    """List the columns that could be the target, the most suitable ones first."""
    table = session.table
    if table is None or session.given is not None:
        return []
    if session.targets is None or session.targets[0] is not table:
        session.targets = table, possible_targets(table)
    found: list[dict[str, Any]] = session.targets[1]
    return found


def possible_targets(table: Any) -> list[dict[str, Any]]:
    """List the columns of a table with some of their values, and a warning if one is unsuitable.

    Suitable columns come first.
    """
    import pyarrow.compute as pc

    found = []
    head = table.slice(0, LOOK)
    for i, name in enumerate(table.column_names[:MOST_TARGETS]):
        column = head.column(name)
        try:
            values = pc.unique(column.drop_null())
        except (ValueError, NotImplementedError):
            continue
        some = [shown.name(value.as_py(), 24) for value in values[:4]]
        warning = unsuited(len(values), len(column) - column.null_count, len(table) > len(head))
        found.append(
            {
                "column": i,
                "name": shown.name(name),
                "distinct": len(values),
                "some": some,
                "suits": not warning,
                "warning": warning,
            }
        )
    # The most likely targets come first.
    return sorted(found, key=lambda one: (not one["suits"], one["distinct"] > FEW))


def unsuited(distinct: int, rows: int, is_part: bool = False) -> str:
    """Say why a column is a poor target; return an empty string if it is a good one.

    If `is_part`, the numbers are those of the first rows, not of all rows.
    """
    if distinct < 2:
        where = f" in the first {LOOK:,} rows" if is_part else ""
        return f"It has fewer than two values{where}, so there is nothing to predict."
    if distinct == rows and rows > FEW:
        return "Every row has a different value, like an identifier. No model can predict it."
    if distinct > max(rows / 2, 2):
        return (
            f"It has {distinct:,} different values in {rows:,} rows. The studio predicts classes, "
            "not numbers or names."
        )
    if distinct > MANY:
        least = "at least " if is_part else ""
        return f"It has {least}{distinct:,} values, and the studio suits targets with up to {MANY}."
    return ""
