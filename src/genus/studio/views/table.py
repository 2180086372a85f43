"""The Table screen: columns, their families and densities, and possible problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from genus.display import text as shown
from genus.display.palette import COLOURS
from genus.registry import FAMILIES, is_for
from genus.report import densities
from genus.report.page import note, why
from genus.studio.session import Session, Version
from genus.studio.views.state import unsuited

MOST_DRAWN = 60  # columns with a density in the list
LEAST_GAIN = 0.01  # bits
HARDLY = "Its words hardly help to predict rows that the model has not seen."
TALLEST = 2.0  # a curve is cut off at this many times the highest bar, for each class


def names_of(session: Session) -> list[str]:
    """Return the columns of the table without the target, followed by the parts of dates."""
    columns = session.now.model.plan_.columns
    parts = [column.name for column in columns if column.part]
    if session.data is not None and session.is_own:
        names = session.data.table.column_names
        return [name for name in names if name != session.data.target] + parts
    return [column.name for column in columns if not column.part] + parts


def cells_of(session: Session) -> list[str]:
    """Return the columns of the table itself, in the order of `names_of`."""
    parts = {column.name for column in session.now.model.plan_.columns if column.part}
    return [name for name in names_of(session) if name not in parts]


def table(session: Session) -> dict[str, Any]:
    """Return all columns, the most important first."""
    version = session.now
    if "table" not in version.kept:
        version.kept["table"] = made(session, version)
    found: dict[str, Any] = version.kept["table"]
    return found


def made(session: Session, version: Version) -> dict[str, Any]:
    model = version.model
    summary = model.summary()
    at = {name: i for i, name in enumerate(names_of(session))}
    asked = model.families if isinstance(model.families, dict) else {}
    used = {column.name: column for column in model.plan_.used}
    missing = missing_shares(session, version)
    columns: list[dict[str, Any]] = []
    for own in ranked(summary):
        column = used[own.name]
        bits = gain(summary, own)
        told = [note(own.note), HARDLY if is_idle(summary, own) else ""]
        columns.append(
            {
                "column": at[own.name],
                "name": shown.name(own.name),
                "kind": "date" if column.kind == "number" and column.is_date else column.kind,
                "family": own.family,
                "asked": asked.get(own.name, "auto"),
                "families": families_for(session, column.kind),
                "moves": own.importance,
                "bits": bits,
                "note": " ".join(filter(None, told)),
                "why": "" if own.family == "text" else why(own),
                "missing": missing.get(own.name, 0.0),
                "density": density(session, own.name) if len(columns) < MOST_DRAWN else None,
            }
        )
    left_out = [
        {
            "column": at.get(name, -1),
            "name": shown.name(name),
            "note": note(told),
            "chosen": name in list(model.ignore),
        }
        for name, told in summary.left_out.items()
    ]
    ignored = [c["name"] for c in left_out]
    left_out += [
        {"column": at[name], "name": shown.name(name), "note": "Left out here.", "chosen": True}
        for name in model.ignore
        if name in at and shown.name(name) not in ignored
    ]
    return {
        "columns": columns,
        "leftOut": left_out,
        "drift": drift(session, version),
        "cautions": [*of_target(session), *(shown.name(c, 400) for c in model.cautions())],
        "experts": [
            {"name": name, "weight": weight, "loss": loss}
            for name, (weight, loss) in summary.experts.items()
        ],
    }


def gain(summary: Any, own: Any) -> float:
    """Return the gain of a column alone, in bits per row, for rows that the model has not seen.

    A column of texts is an expert, whose log loss is compared with that of the class shares.
    """
    if own.family != "text" or own.name not in summary.experts:
        return float(own.gain)
    counts = np.array([*summary.classes.values()])
    share = counts[counts > 0] / counts.sum()
    return float((-(share @ np.log(share)) - summary.experts[own.name][1]) / np.log(2))


def is_idle(summary: Any, own: Any) -> bool:
    """Return whether a column of texts hardly helps to predict rows that are new to the model."""
    return own.family == "text" and gain(summary, own) < LEAST_GAIN


def ranked(summary: Any) -> list[Any]:
    """Sort columns by how far they move the odds; texts that hardly help come last.

    A word that occurs once moves the odds of its own row, but does not help to predict others.
    """
    return sorted(summary.columns, key=lambda own: is_idle(summary, own))


def of_target(session: Session) -> list[str]:
    """Say what is wrong with the target, if it does not look like a class."""
    data = session.data
    if data is None or not session.is_own:
        return []
    why = unsuited(len(session.classes), len(data))
    return [f"Check the target {shown.name(data.target)}. {why}"] if why else []


def families_for(session: Session, kind: str) -> list[str]:
    """Return the families that a column can have.

    A column of categories can be modelled as texts, and texts as categories, if the studio has the
    rows from which the model was fitted.
    """
    other = {"category": ["text"], "text": ["categorical"]}.get(kind, [])
    return [f for f in FAMILIES if is_for(f, kind)] + (other if session.is_own else [])


def drift(session: Session, version: Version) -> dict[str, Any] | None:
    """Return how rows that are new to the model differ from those that it has counted."""
    if session.data is None or session.is_own:
        return None
    found = version.model.drift(session.data.table)
    moved = {one.name for one in found.moved}
    return {
        "rows": found.rows,
        "unlike": found.unlike,
        "expected": found.expected,
        "columns": [
            {
                "name": shown.name(one.name),
                "moved": one.moved,
                "unseen": one.unseen,
                "missing": one.missing,
                "before": one.missing_before,
                "is": one.name in moved,
                "told": shown.name(str(one), 300) if one.is_new else "",
            }
            for one in found.columns
        ],
        "notes": [shown.name(told, 400) for told in found.notes()],
    }


def missing_shares(session: Session, version: Version) -> dict[str, float]:
    """Return the share of missing cells of each column."""
    if session.data is None or not session.is_own:  # the page shows the rows of the model
        return {}
    table = session.data.table
    return {
        name: table.column(name).null_count / max(table.num_rows, 1) for name in table.column_names
    }


def density(session: Session, name: str) -> dict[str, Any] | None:
    """Return the distribution of a column in each class, over a histogram of all rows."""
    model = session.now.model
    try:
        drawn = densities.density(model, name)
    except ValueError:
        return None
    places = [session.place(label) for label in drawn.classes.tolist()]
    colours = session.colours()
    kept = [j for j, k in enumerate(places) if colours[k] < COLOURS]
    classes = [places[j] for j in kept]
    if isinstance(drawn, densities.Shares):
        return {
            "kind": "shares",
            "values": shown.names(drawn.values, 28),
            "p": drawn.p[:, kept],
            "bars": drawn.bars,
            "more": drawn.more,
            "classes": classes,
        }
    highest = float(drawn.bars.max(initial=0.0))
    top = float(drawn.p.max(initial=0.0))
    most = TALLEST * len(drawn.classes) * highest
    top = max(min(top, most) if highest > 0 else top, highest, 1e-300) * 1.05
    return {
        "kind": "curves",
        "x": drawn.x,
        "p": np.minimum(drawn.p[kept], top),
        "edges": drawn.edges,
        "bars": drawn.bars,
        "top": top,
        "shares": drawn.is_shares,
        "ends": [drawn.told(float(drawn.x[0])), drawn.told(float(drawn.x[-1]))],
        "beyond": drawn.beyond,
        "date": drawn.is_date,
        "classes": classes,
    }


def column(session: Session, i: int) -> dict[str, Any]:
    """Return one column: its density, its effect on the odds, and its candidate families."""
    names = names_of(session)
    if not 0 <= i < len(names):
        raise ValueError("This table has no such column. Reload the page.")
    name, model = names[i], session.now.model
    found = {c.name: c for c in model.summary().columns}
    if name not in found:
        raise ValueError(f"Column {shown.name(name)} is left out, so there is nothing to show.")
    own = found[name]
    gains = {own.family: own.gain, **own.others}
    result: dict[str, Any] = {
        "column": i,
        "name": shown.name(name),
        "density": density(session, name),
        "gains": sorted(gains.items(), key=lambda item: -np.nan_to_num(item[1], nan=-9.0)),
        "dependence": None,
    }
    kinds = {c.name: c.kind for c in model.plan_.used}
    if kinds[name] != "text":
        result["dependence"] = dependence(session, name)
    return result


def pair(session: Session, i: int, other: int) -> dict[str, Any]:
    """Return the joint contribution of two columns to the log-odds of a class, by their values."""
    names, model = names_of(session), session.now.model
    if not (0 <= i < len(names) and 0 <= other < len(names)):
        raise ValueError("This table has no such column. Reload the page.")
    found = model.dependence_on(names[i], names[other])
    label = model.classes_[-1:].tolist()[0]
    return {
        "class": session.place(label),
        "columns": shown.names(found.columns),
        "values": [shown.names(own.values, 20) for own in (found.first, found.second)],
        "odds": found.log_odds(label),
        "share": found.share,
    }


def dependence(session: Session, name: str) -> dict[str, Any]:
    """Return the contribution of a column to the log-odds of each class, by its value."""
    model = session.now.model
    found = model.dependence_on(name)
    labels = found.classes.tolist()
    shown_ones = labels[1:] if len(labels) == 2 else labels[:COLOURS]
    return {
        "values": shown.names(found.values, 28),
        "x": found.steps.x,
        "share": found.share,
        "date": found.steps.is_date,
        "curves": [
            {
                "class": session.place(label),
                **dict(zip(("mean", "low", "high"), found.log_odds(label), strict=True)),
            }
            for label in shown_ones
        ],
    }
