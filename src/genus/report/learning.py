"""Draw learning curves of a plain generative model and of logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from genus.display.text import percent
from genus.evaluate.comparing import Comparison, compare
from genus.evaluate.comparing.verdict import mean
from genus.report.figures import Colours
from genus.report.judging import Judged
from genus.report.svg import WIDTH, Plane, element, figure

FEWEST, MOST = 50, 2000  # rows
PATIENCE = 10.0
HIGHEST = 2.0  # log loss above which a curve is cut off
COLOURS = Colours(range(3, 0, -1))  # of the lines
NAMES = {"error": "error", "log_loss": "log loss"}


@dataclass(frozen=True, eq=False)
class Learning:
    """The advice in sentences, and a figure each for error and log loss."""

    told: str
    figures: tuple[Markup, ...] = ()
    legend: tuple[dict[str, Any], ...] = ()
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def learning(found: Judged) -> Learning:
    """Compute the curves from the rows that judge a model, or from a sample of them."""
    if found.rows is None:
        return Learning("Learning curves need rows: give DATA with the model.")
    if len(found.rows.y) < FEWEST:
        return Learning(f"Learning curves need {FEWEST} rows or more; got {len(found.rows.y)}.")
    rows = found.rows if len(found.rows.y) <= MOST else found.rows.some(MOST)
    ignored = [column.name for column in found.model.plan_.left_out]
    try:
        compared = compare(rows.table, rows.y, ignore=ignored, repeats=10, patience=PATIENCE)
    except ValueError as error:
        return Learning(f"There are no learning curves: {error}")
    return Learning(
        f"{compared.advice.sentence} {compared.crossings}",
        tuple(drawn(compared, measure) for measure in NAMES),
        tuple(
            {"name": line.name, "swatch": COLOURS.swatch(k)}
            for k, line in enumerate(compared.curves.lines)
        ),
        tuple(compared.why),
        compared.notes,
    )


def drawn(compared: Comparison, measure: str) -> Markup:
    """Draw the mean error or log loss by number of rows, which are on a logarithmic axis."""
    sizes = np.log10(compared.curves.sizes)
    means = [mean(values) for values in compared.curves.compared(measure)]
    shown = [each for each in means if not np.isnan(each).all()]
    most = max(float(np.nanmax(each)) for each in shown)
    top = max(1.05 * min(most, HIGHEST), 0.01)
    plane = Plane.about(float(sizes[0]), float(sizes[-1]) + 1e-9, top, 240)
    parts = [plane.axes("rows learned from", NAMES[measure], lambda x: f"{10**x:,.0f}", 3)]
    said = []
    for k, (line, own) in enumerate(zip(compared.curves.lines, means, strict=True)):
        there = ~np.isnan(own)
        if there.any():
            parts.append(plane.line(sizes[there], own[there], COLOURS.line(k), COLOURS.dash(k)))
            told = percent(float(own[there][-1])) if measure == "error" else f"{own[there][-1]:.3f}"
            said.append(f"{line.name} {told} with {compared.curves.sizes[there][-1]:,} rows")
    if most > top:
        cut = f"cut off above {top:.1f}; highest {most:.1f}"
        parts.append(element("text", cut, x=WIDTH - 14, y=22, text_anchor="end"))
        said.append(cut)
    return figure(f"{NAMES[measure]} by rows", f"{'; '.join(said)}.", plane.height, *parts)
