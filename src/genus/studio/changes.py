"""Handle requests that change the target or the model."""

from __future__ import annotations

from typing import Any

from genus.registry import FAMILIES
from genus.studio import edits as edits_of
from genus.studio.edits import Edit
from genus.studio.session import Session
from genus.studio.views import row, rows, table


def act(session: Session, body: dict[str, Any]) -> None:
    """Make the edit that a request asks for."""
    kind = str(body.get("kind"))
    if kind not in edits_of.KINDS:
        raise ValueError(f"The page asked for an unknown change, {kind[:40]!r}. Reload the page.")
    column = family = ""
    if kind in (edits_of.FAMILY, edits_of.LEAVE_OUT, edits_of.TAKE_IN):
        names = table.names_of(session)
        column = names[number(body.get("column"), len(names), "column")]
        family = str(body.get("family", ""))
        if kind == edits_of.FAMILY and family not in (edits_of.AUTO, *FAMILIES):
            raise ValueError(
                f"There is no family {family[:40]!r}. Choose one of {', '.join(FAMILIES)}."
            )
    at: tuple[int, ...] = ()
    label = -1
    if kind in (edits_of.FORGET, edits_of.RELABEL):
        at = chosen(session, body)
        if kind == edits_of.RELABEL:
            label = number(body.get("label"), len(session.classes), "class")
    session.do(Edit(kind, column, family, at, label))


def chosen(session: Session, body: dict[str, Any]) -> tuple[int, ...]:
    """Return the positions of the rows that a request lists, or that match its filter."""
    if isinstance(body.get("filter"), dict):
        if not session.is_own:
            raise ValueError(
                "Rows can be changed only if the studio fitted the model to them. Start with "
                "genus studio DATA --target COL."
            )
        query = {str(k): str(v) for k, v in body["filter"].items()}
        if query.get("only") in ("wrong", "right"):
            found = session.now.scores
            if found is None or found.rows is None:
                raise ValueError("The scores are not computed yet. Wait for them.")
            return tuple(found.rows[rows.filtered(session, query)[0]].tolist())
        return tuple(rows.matches(session, query).nonzero()[0].tolist())
    listed = body.get("rows")
    if not isinstance(listed, list) or not all(type(i) is int for i in listed):
        raise ValueError("Rows must be a list of numbers.")
    return tuple(sorted(set(listed)))


def number(value: Any, end: int, what: str) -> int:
    """Return a number if it is a valid position in a list, or else raise an error."""
    if type(value) is not int or not 0 <= value < end:
        raise ValueError(f"This table has no such {what}. Reload the page.")
    return value


def choose(session: Session, body: dict[str, Any]) -> None:
    """Choose the column to predict."""
    if session.table is None:
        raise ValueError("There is no table yet. Open one.")
    names = session.table.column_names
    session.choose(names[number(body.get("column"), len(names), "column")])


def what_if(session: Session, body: dict[str, Any]) -> Any:
    given = body.get("given")
    focus = body.get("focus")
    return row.what_if(
        session,
        rows.whole(body.get("row"), -1),
        given if isinstance(given, dict) else {},
        focus if type(focus) is int else None,
    )
