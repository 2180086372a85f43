"""Draw the figures of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from genus import Dependence
from genus.display.palette import COLOURS, DASHES
from genus.display.text import count, name, names, number, percent
from genus.report.densities import Curves, Shares
from genus.report.scores import Roc, Step
from genus.report.svg import WIDTH, Plane, element, figure, short, ticks

TALLEST = 2.0  # a curve is cut off at this many times the highest bar, for each class
LINE = 30.0  # height of a row in a list
MOST_DOTS = 30  # values that are marked on a line


class Colours:
    """The colours of classes: the most frequent have their own."""

    def __init__(self, counts: Any) -> None:
        order = np.argsort(-np.asarray(counts), kind="stable").tolist()
        self.place = {k: i for i, k in enumerate(order)}

    def line(self, k: int) -> str:
        """Return the style of a class's line."""
        i = self.place[k]
        return f"l c{i}" if i < COLOURS else "l co"

    def dot(self, k: int) -> str:
        """Return the style of a class's dots."""
        i = self.place[k]
        return f"d c{i}" if i < COLOURS else "d co"

    def dash(self, k: int) -> str:
        i = self.place[k]
        return DASHES[i] if i < COLOURS else ""

    def order(self, ks: Any) -> list[int]:
        """Return classes in the order of drawing: the most frequent last, on top."""
        return sorted(ks, key=lambda k: -self.place[k])

    def swatch(self, k: int) -> Markup:
        """Return a sample of a class's line, for a legend."""
        drawn = element("path", d="M1 6H27", class_=self.line(k), stroke_dasharray=self.dash(k))
        return element("svg", drawn, viewBox="0 0 28 12", class_="swatch", aria_hidden="true")


def density(drawn: Curves | Shares, colours: Colours) -> Markup:
    """Draw the distribution of a column in each class, over a histogram of all rows."""
    return curves(drawn, colours) if isinstance(drawn, Curves) else shares(drawn, colours)


def curves(drawn: Curves, colours: Colours) -> Markup:
    highest = float(drawn.bars.max(initial=0.0))
    top = float(drawn.p.max(initial=0.0))
    most = TALLEST * len(drawn.classes) * highest
    top = max(min(top, most) if highest > 0 else top, highest, 1e-300) * 1.05
    plane = Plane.about(float(drawn.edges[0]), float(drawn.edges[-1]), top)
    label = "share" if drawn.is_shares else "density"
    parts = [
        plane.axes(name(drawn.name, 40), label, drawn.told, 3 if drawn.is_date else 5),
        plane.bars(drawn.edges, drawn.bars, "b"),
    ]
    for k in colours.order(range(len(drawn.classes))):
        parts.append(plane.line(drawn.x, drawn.p[k], colours.line(k), colours.dash(k)))
        if drawn.is_shares and len(drawn.x) <= MOST_DOTS:
            parts.append(plane.dots(drawn.x, np.minimum(drawn.p[k], top), 2.5, colours.dot(k)))
    labels = names(drawn.classes.tolist(), 24)
    peaks = [
        f"{labels[k]} is most likely {drawn.peak(k)}" for k in commonest(drawn.classes, colours)
    ]
    title = f"{name(drawn.name)} by class"
    return figure(title, f"{'; '.join(peaks)}.", plane.height, *parts)


def shares(drawn: Shares, colours: Colours) -> Markup:
    """Draw the values one below another, with a bar for all rows and a dot for each class."""
    right = max(float(drawn.p.max(initial=0.0)), float(drawn.bars.max(initial=0.0)), 1e-9) * 1.03
    height = LINE * max(len(drawn.values), 1) + 46
    plane = Plane(0.0, right, 0.0, 1.0, height, (4, 14, 40, 8))
    base = height - 40
    parts = []
    for i, value in enumerate(names(drawn.values, 44)):
        y = 4 + LINE * i
        width = float(plane.x(drawn.bars[i]) - plane.x(0.0))
        parts.append(element("rect", x=8, y=y + 17, width=width, height=9, class_="b"))
        parts.append(element("text", value, x=8, y=y + 11))
        for k in colours.order(range(len(drawn.classes))):
            at = float(plane.x(drawn.p[i, k]))
            parts.append(element("circle", cx=at, cy=y + 21.5, r=4, class_=colours.dot(k)))
    parts.append(across(plane, base, "share of the class"))
    labels = names(drawn.classes.tolist(), 24)
    said = [
        f"{labels[k]}: {', '.join(most_of(drawn, k))}" for k in commonest(drawn.classes, colours)
    ]
    return figure(f"{name(drawn.name)} by class", f"{'; '.join(said)}.", height, *parts)


def across(plane: Plane, base: float, label: str) -> Markup:
    """Draw the horizontal axis below rows of bars or dots."""
    parts = [element("path", d=f"M8 {short(base)}H{WIDTH - 14}", class_="x")]
    for value in ticks(plane.left, plane.right):
        x = float(plane.x(value))
        parts.append(element("path", d=f"M{short(x)} {short(base)}v4", class_="x"))
        anchor = "start" if x < 16 else "end" if x > WIDTH - 24 else "middle"
        parts.append(element("text", number(float(value)), x=x, y=base + 16, text_anchor=anchor))
    parts.append(element("text", label, x=WIDTH / 2, y=base + 34, text_anchor="middle"))
    return Markup("").join(parts)


def most_of(drawn: Shares, k: int) -> list[str]:
    best = np.argsort(-drawn.p[:, k], kind="stable")[:2].tolist()
    values = names(drawn.values, 24)
    return [f"{values[i]} {percent(float(drawn.p[i, k]))}" for i in best]


def commonest(classes: Any, colours: Colours) -> list[int]:
    """Return the positions of the most frequent classes.

    A figure's description for screen readers names only these.
    """
    return sorted(range(len(classes)), key=lambda k: colours.place[k])[:COLOURS]


def reliability(steps: Sequence[Step], whose: str) -> Markup:
    """Draw how often predictions came true, by their probability."""
    plane = Plane.about(0.0, 1.0, 1.0, 330)
    most = max((step.rows for step in steps), default=1)
    x, y = (np.array([getattr(s, part) for s in steps]) for part in ("probability", "share"))
    ends = np.array([0.0, 1.0])
    parts = [
        plane.axes(f"probability of {whose}", "share that came true"),
        plane.line(ends, ends, "l even"),
    ]
    for step in steps:
        both = np.array([step.probability, step.probability])
        parts.append(plane.line(both, np.array([step.low, step.high]), "l c0 thin"))
    radius = [3 + 5 * np.sqrt(step.rows / most) for step in steps]
    parts += [plane.line(x, y, "l c0"), plane.dots(x, y, radius, "d c0")]
    told = "; ".join(
        f"predicted {percent(s.probability)}, came true in {percent(s.share)} of "
        f"{count(s.rows, 'row')}"
        for s in steps
    )
    return figure("Reliability of the probabilities", f"{told}.", plane.height, *parts)


def roc(curves: Sequence[Roc], classes: Any, colours: Colours) -> Markup:
    """Draw true against false positives, for each class against the rest."""
    plane = Plane.about(0.0, 1.0, 1.0, 330)
    ends = np.array([0.0, 1.0])
    parts = [
        plane.axes("false positives, share", "true positives, share"),
        plane.line(ends, ends, "l even"),
    ]
    by_class = {curve.k: curve for curve in curves}
    for k in colours.order(by_class):
        own = by_class[k]
        parts.append(plane.line(own.false, own.true, colours.line(k), colours.dash(k)))
    labels = names(classes, 24)
    told = "; ".join(
        f"{labels[c.k]}: area {c.area:.4f}"
        for c in sorted(curves, key=lambda c: colours.place[c.k])[:COLOURS]
    )
    return figure("Receiver operating characteristic", f"{told}.", plane.height, *parts)


def dependence(drawn: Dependence, colours: Colours) -> Markup:
    """Draw a column's mean contribution to the log-odds, for its values one below another.

    With two classes, draw a dot for the second class, and a bar for the range of the middle 80 % of
    rows. With more, draw a dot for each class.
    """
    K = len(drawn.classes)
    found = {k: drawn.log_odds(drawn.classes[k]) for k in ([1] if K == 2 else range(K))}
    ends = [value for curve in found.values() for value in (*curve.mean, *curve.low, *curve.high)]
    low, high = min([*ends, -0.05]), max([*ends, 0.05])
    room = 0.04 * (high - low)
    height = LINE * max(len(drawn.values), 1) + 46
    plane = Plane(low - room, high + room, 0.0, 1.0, height, (4, 14, 40, 8))
    zero = short(float(plane.x(0.0)))
    parts = [element("path", d=f"M{zero} 4V{short(height - 40)}", class_="g")]
    for i, value in enumerate(names(drawn.values, 36)):
        y = 4 + LINE * i
        told = f"{value} ({percent(float(drawn.share[i]))})"
        parts.append(element("text", told, x=8, y=y + 11))
        for k in colours.order(found):
            curve = found[k]
            if K == 2:
                start, end = (float(plane.x(side[i])) for side in (curve.low, curve.high))
                wide = max(end - start, 1.0)
                parts.append(element("rect", x=start, y=y + 17, width=wide, height=9, class_="b"))
            at = float(plane.x(curve.mean[i]))
            parts.append(element("circle", cx=at, cy=y + 21.5, r=4, class_=colours.dot(k)))
    parts.append(across(plane, height - 40, "log-odds"))
    labels = names(drawn.classes.tolist(), 24)
    strongest = max(found, key=lambda k: float(np.abs(found[k].mean).max(initial=0.0)))
    best = int(np.argmax(np.abs(found[strongest].mean))) if drawn.values else 0
    said = (
        [
            f"{names(drawn.values, 24)[best]} moves {labels[strongest]} most, by "
            f"{found[strongest].mean[best]:+.2f}"
        ]
        if drawn.values
        else []
    )
    title = f"Log-odds by {name(drawn.column)}"
    return figure(title, f"{'; '.join(said)}.", height, *parts)


def strengths(columns: Sequence[tuple[str, float]]) -> Markup:
    """Draw the mean contribution of each column."""
    height = LINE * max(len(columns), 1) + 46
    right = max((weight for _, weight in columns), default=1.0) * 1.03
    plane = Plane(0.0, right, 0.0, 1.0, height, (4, 14, 40, 8))
    parts = []
    shown = names([column for column, _ in columns], 38)
    for i, (column, (_, weight)) in enumerate(zip(shown, columns, strict=True)):
        y = 4 + LINE * i
        width = float(plane.x(weight) - plane.x(0.0))
        parts.append(element("rect", x=8, y=y + 17, width=width, height=9, class_="f"))
        parts.append(element("text", f"{column}  {weight:.2f}", x=8, y=y + 11))
    parts.append(across(plane, height - 40, "mean contribution, log-odds"))
    told = "; ".join(
        f"{column} {weight:.2f}" for column, (_, weight) in zip(shown, columns, strict=True)
    )
    return figure("Columns by their mean contribution", f"{told}.", height, *parts)
