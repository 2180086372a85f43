"""Draw SVG figures: a plane with ticks, and lines, bars and dots on it.

Figures are 360 units wide, so that text is readable on a phone. Colours are CSS classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from genus.display.text import number

Array = NDArray[np.float64]
WIDTH = 360
LETTER = 7.4  # approximate width of a digit


def element(tag: str, *inside: Any, **attributes: Any) -> Markup:
    """Return an element; text other than Markup is escaped, and `_` in names becomes `-`.

    >>> element("text", "a < b", x=1.25, text_anchor="end")
    Markup('<text x="1.25" text-anchor="end">a &lt; b</text>')
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(short(value))}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    return Markup(f"<{tag}{told}>{''.join(map(escape, inside))}</{tag}>")


def short(value: Any) -> Any:
    """Round numbers to a hundredth of a unit."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".") if is_number(value) else value


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def figure(title: str, description: str, height: float, *parts: Any) -> Markup:
    """Return a whole drawing, with a description for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *parts,
        viewBox=f"0 0 {WIDTH} {short(height)}",
        role="img",
        aria_label=f"{title}. {description}",
    )


def ticks(low: float, high: float, most: int = 5) -> Array:
    """Return round numbers from low to high, about `most` of them.

    >>> ticks(0, 1), ticks(3, 48)
    (array([0. , 0.2, 0.4, 0.6, 0.8, 1. ]), array([10., 20., 30., 40.]))
    """
    if not high > low:
        return np.array([low])
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(s for s in (1, 2, 5, 10) if s * power >= rough * 0.999)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return np.arange(first, last + 1) * step + 0.0  # -0.0 becomes 0.0


def below(x: Array, y: Array, top: float) -> Iterator[tuple[Array, Array]]:
    """Yield the parts of a line at or below `top`; the line is cut where it crosses `top`.

    >>> [(a.tolist(), b.tolist()) for a, b in below(np.arange(3.0), np.array([4.0, 0.0, 1.0]), 2)]
    [([0.5, 1.0, 2.0], [2.0, 0.0, 1.0])]
    """
    over = y > top
    turns = np.flatnonzero(over[:-1] != over[1:])
    with np.errstate(invalid="ignore"):
        at = x[turns] + (x[turns + 1] - x[turns]) * (top - y[turns]) / (y[turns + 1] - y[turns])
    at = np.where(np.isfinite(at), at, np.where(over[turns], x[turns + 1], x[turns]))
    x, y = np.insert(x, turns + 1, at), np.insert(y, turns + 1, top)
    over = np.insert(over, turns + 1, False)
    for inside, run in groupby(range(len(x)), key=lambda i: not over[i]):
        if inside:
            rows = list(run)
            yield x[rows], y[rows]


@dataclass(frozen=True)
class Plane:
    """A coordinate system for a drawing: x from `left`, y from `bottom`, within margins."""

    left: float
    right: float
    bottom: float
    top: float
    height: float = 220
    margin: tuple[float, float, float, float] = (10, 12, 40, 46)  # top, right, bottom, left

    @classmethod
    def about(cls, left: float, right: float, top: float, height: float = 220) -> Plane:
        """Return a plane from zero to a top, with room for numbers on the left."""
        longest = max(len(number(float(value))) for value in ticks(0.0, top))
        return cls(left, right, 0.0, top, height, (10, 12, 40, 24 + LETTER * longest))

    def x(self, value: Any) -> Any:
        """Return the horizontal position in units of the drawing."""
        start, end = self.margin[3], WIDTH - self.margin[1]
        return start + (np.asarray(value) - self.left) / (self.right - self.left) * (end - start)

    def y(self, value: Any) -> Any:
        """Return the vertical position in units of the drawing."""
        start, end = self.height - self.margin[2], self.margin[0]
        return start + (np.asarray(value) - self.bottom) / (self.top - self.bottom) * (end - start)

    def axes(
        self,
        x_label: str,
        y_label: str,
        told: Callable[[float], str] = number,
        most: int = 5,
    ) -> Markup:
        """Draw ticks, faint horizontal lines, and the labels of both axes."""
        base, start, end = self.y(self.bottom), self.margin[3], WIDTH - self.margin[1]
        parts = []
        for value in ticks(self.bottom, self.top):
            y = self.y(value)
            parts.append(element("path", d=f"M{short(start)} {short(y)}H{short(end)}", class_="g"))
            parts.append(
                element("text", number(float(value)), x=start - 5, y=y + 4, text_anchor="end")
            )
        for value in ticks(self.left, self.right, most):
            x = float(self.x(value))
            parts.append(element("path", d=f"M{short(x)} {short(base)}v4", class_="x"))
            text = told(float(value))
            half = LETTER / 2 * len(text)
            x = min(max(x, half), WIDTH - half)
            parts.append(element("text", text, x=x, y=base + 16, text_anchor="middle"))
        parts.append(element("path", d=f"M{short(start)} {short(base)}H{short(end)}", class_="x"))
        middle = (start + end) / 2
        parts.append(element("text", x_label, x=middle, y=self.height - 4, text_anchor="middle"))
        at_y = (base + self.margin[0]) / 2
        turned = f"rotate(-90 11 {short(at_y)})"
        parts.append(element("text", y_label, x=11, y=at_y, text_anchor="middle", transform=turned))
        return Markup("").join(parts)

    def line(self, x: Array, y: Array, style: str, dash: str = "") -> Markup:
        """Draw a line through points, cut off where it crosses the top."""
        drawn = []
        for run_x, run_y in below(np.asarray(x, float), np.asarray(y, float), self.top):
            at_x, at_y = self.x(run_x), self.y(np.maximum(run_y, self.bottom))
            points = " ".join(f"{short(a)},{short(b)}" for a, b in zip(at_x, at_y, strict=True))
            drawn.append(element("polyline", points=points, class_=style, stroke_dasharray=dash))
        return Markup("").join(drawn)

    def bars(self, edges: Array, heights: Array, style: str) -> Markup:
        """Draw bars between edges."""
        base = self.y(self.bottom)
        return Markup("").join(
            element(
                "rect",
                x=self.x(a),
                y=self.y(min(h, self.top)),
                width=max(self.x(b) - self.x(a), 0.5),
                height=base - self.y(min(h, self.top)),
                class_=style,
            )
            for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
            if h > 0
        )

    def dots(self, x: Array, y: Array, radius: Any, style: str) -> Markup:
        """Draw dots at points."""
        sizes = np.broadcast_to(radius, np.shape(x))
        return Markup("").join(
            element("circle", cx=self.x(a), cy=self.y(b), r=r, class_=style)
            for a, b, r in zip(x, y, sizes, strict=True)
        )
