"""Fill the template of the HTML page."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from genus.display import palette
from genus.display import text as shown
from genus.estimators import TableClassifier
from genus.report import densities, evidence, figures, scores
from genus.report.comparison import compared
from genus.report.judging import Judged, judged
from genus.report.learning import learning
from genus.table import Frame, Source
from genus.table.model.marginals import ALONE_NOTHING

TEMPLATES = Path(__file__).parent / "templates"
DETAILED = 40  # columns with a figure
MATRIX = 20  # classes in a confusion matrix
NOTHING = 0.0005  # bits
CURVES = 8  # columns with a curve
CONFUSED = 20  # pairs of classes that are listed if there are more


def page(model: TableClassifier | None, data: Any, target: str | None) -> str:
    """Return the whole page."""
    found = judged(model, data, target)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "name": naming(found),
        "breakable": breakable,
        "number": shown.number,
        "signed": shown.signed,
        "bits": shown.bits,
        "percent": shown.percent,
        "note": note,
    }
    environment.globals["count"] = shown.count
    environment.filters["score"] = score
    named = {"data_name": data_name(data), "today": datetime.date.today().isoformat()}
    return environment.get_template("page.html").render(**context(found, target), **named)


def naming(found: Judged) -> Callable[..., str]:
    """Return a function that formats names; classes stay different, and so do columns."""
    classes = found.model.classes_.tolist()
    if found.outcome is not None:  # new rows may have other classes
        classes = [*dict.fromkeys([*classes, *found.outcome.classes.tolist()])]
    groups = classes, [column.name for column in found.model.plan_.columns]
    kept: dict[int, list[dict[Any, str]]] = {}

    def name(value: Any, most: int = shown.LONGEST) -> str:
        if most not in kept:
            kept[most] = [dict(zip(g, shown.names(g, most), strict=True)) for g in groups]
        return next((own[value] for own in kept[most] if value in own), shown.name(value, most))

    return name


def breakable(name: str) -> Markup:
    """Return a name as HTML that may break between its words, as in long_name or LongName."""
    return Markup("<wbr>").join(re.split(r"(?<=[_./:-])(?=\w)|(?<=[a-z])(?=[A-Z])", name))


def score(value: float) -> str:
    """Format a score with four digits, or a dash if it is undefined."""
    return "–" if np.isnan(value) else f"{value:.4f}"


def data_name(data: Any) -> str:
    """Return the name of the data, if it is a file or a query."""
    if isinstance(data, Source):
        data = data.name
    return os.path.basename(os.fspath(data)) if isinstance(data, str | os.PathLike) else ""


def context(found: Judged, target: str | None) -> dict[str, Any]:
    """Return the values of the template."""
    model, rows, outcome = found.model, found.rows, found.outcome
    colours = figures.Colours(model.class_count_)
    summary = model.summary()
    details = summary.columns[:DETAILED]
    seen = None if rows is None or found.is_fresh else Frame.of(rows.table, model.plan_)
    return {
        "light": palette.variables(palette.LIGHT),
        "dark": palette.variables(palette.DARK),
        "palette_size": palette.COLOURS,
        "target": target or model.plan_.target or "the class",
        "found": found,
        "model": model,
        "summary": summary,
        "legend": legend(model, colours),
        "unnamed": max(len(model.classes_) - palette.COLOURS, 0),
        "columns": [detail(model, own, seen, colours) for own in details],
        "is_new": seen is not None,
        "more_columns": len(summary.columns) - len(details),
        "worth": None if outcome is None else worth(found, colours),
        "strongest": strongest(model, rows),
        "dependence": dependence(model, summary, colours),
        "mistakes": None
        if rows is None or outcome is None
        else evidence.mistakes(model, rows, outcome),
        "comparison": compared(found),
        "learning": learning(found),
        "version": version(),
    }


def legend(model: TableClassifier, colours: figures.Colours) -> list[dict[str, Any]]:
    """Return the classes that have a colour, the most frequent first."""
    order = sorted(range(len(model.classes_)), key=lambda k: colours.place[k])
    total = max(float(model.class_count_.sum()), 1e-300)
    return [
        {
            "name": model.classes_[k],
            "swatch": colours.swatch(k),
            "share": float(model.class_count_[k]) / total,
        }
        for k in order[: palette.COLOURS]
    ]


def detail(
    model: TableClassifier, own: Any, seen: Frame | None, colours: figures.Colours
) -> dict[str, Any]:
    """Describe a column: the reason for its family, and its figure or its words."""
    j, column = densities.position(model, own.name)
    if column.kind == "text":
        return {"own": own, "why": "", "figure": "", "words": evidence.top_words(model, j)}
    drawn = densities.density(model, own.name, seen)
    notes = []
    if isinstance(drawn, densities.Curves) and drawn.beyond > 1e-9:
        notes.append(f"{shown.percent(drawn.beyond)} of the values are outside the figure.")
    if isinstance(drawn, densities.Shares) and drawn.more:
        notes.append(f"{shown.count(drawn.more, 'rarer value')} not shown.")
    return {
        "own": own,
        "why": why(own),
        "figure": figures.density(drawn, colours),
        "words": None,
        "notes": " ".join(notes),
    }


def note(text: str) -> str:
    """Return the notes on a column as sentences."""
    parts = [shown.name(part, 120) for part in text.split("; ")]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if text)


def why(own: Any) -> str:
    """Say in a sentence why a column has its family."""
    others = sorted(own.others.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{family} {shown.bits(gain)}" for family, gain in others)
    if own.family == ALONE_NOTHING:
        least = f": {listed} bits per row" if others else ""
        return f"No family has a gain{least}."
    told = f"{own.family.capitalize()} gains {shown.bits(own.gain)} bits per row"
    if own.gain < NOTHING:
        told += ", almost nothing"
    return f"{told}; other families gain less: {listed}." if others else f"{told}."


def worth(found: Judged, colours: figures.Colours) -> dict[str, Any]:
    """Return the scores of the probabilities, with their figures."""
    outcome = found.outcome
    assert outcome is not None
    classes = outcome.classes
    # New rows may have classes that the model does not have, and which have no colour.
    counts = np.bincount(outcome.y, minlength=len(classes))
    own = colours if len(classes) == len(found.model.classes_) else figures.Colours(counts)
    curves = scores.rocs(outcome)
    cells = scores.confusion(outcome)
    metrics = outcome.metrics()
    most = int(np.argmax(counts))
    low, high = scores.wilson(outcome.accuracy, len(outcome.y))
    steps = scores.reliability(outcome)
    whose = shown.names(classes.tolist(), 24)[1] if len(classes) == 2 else "the most probable class"
    return {
        "outcome": outcome,
        "rows": len(outcome.y),
        "low": low,
        "high": high,
        "commonest": classes[most],
        "guess": float(counts[most]) / len(outcome.y),
        "matrix": matrix(cells, classes) if len(classes) <= MATRIX else None,
        "confused": [(classes[i], classes[j], n) for i, j, n in scores.confused(cells, CONFUSED)],
        "by_class": scores.by_class(outcome, curves, metrics),
        "decisions": [
            (name, metrics.scores[name])
            for name in ("balanced accuracy", "F1", "PR AUC")
            if np.isfinite(metrics.scores[name].value)
        ],
        "steps": steps,
        "whose": whose,
        "reliability": figures.reliability(steps, whose),
        "roc": figures.roc(curves, classes, own) if curves else "",
        "areas": curves,
        "mean_area": scores.mean_area(curves),
        "swatches": {c.k: own.swatch(c.k) for c in curves},
    }


def matrix(cells: Any, classes: Any) -> list[dict[str, Any]]:
    """Return the rows of the confusion matrix; a cell has a shade, and is right or wrong."""
    share = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1)
    shade = np.where(cells > 0, np.clip(np.ceil(share * 3), 1, 3), 0).astype(int)
    return [
        {
            "name": classes[i],
            "cells": [
                {
                    "n": int(cells[i, j]),
                    "style": f"{'right' if i == j else 'wrong'}-{shade[i, j]}"
                    if shade[i, j]
                    else "none",
                }
                for j in range(len(classes))
            ],
            "total": int(cells[i].sum()),
        }
        for i in range(len(classes))
    ]


def strongest(model: TableClassifier, rows: Any) -> dict[str, Any]:
    """Return the strongest evidence, and its figure."""
    found = evidence.strongest(model, rows)
    return {
        "found": found,
        "figure": figures.strengths(found.columns) if found.columns else "",
    }


def dependence(
    model: TableClassifier, summary: Any, colours: figures.Colours
) -> list[dict[str, Any]]:
    """Return the columns that move the odds most, with figures of their contributions."""
    found = [c for c in summary.columns if c.family != "text"]
    return [
        {"own": c, "figure": figures.dependence(model.dependence_on(c.name), colours)}
        for c in found[:CURVES]
    ]


def version() -> str:
    from importlib.metadata import version

    return version("genus")
