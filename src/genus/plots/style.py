"""Define the style of plots: colours, markers and dashes of classes, in light and dark.

The colours are those of the report. Fonts have 8 and 9 points at NARROW, the width of a column.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

from genus.display.palette import COLOURS, DARK, DASHES, LIGHT
from genus.display.text import name

NARROW, WIDE = 3.4, 6.8  # inches
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
WINDOWS = ("backend", "date.epoch", "figure.max", "interactive", "tk.", "toolbar", "webagg.")
UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(UNDATED)
CURRENT: ContextVar[dict[str, str]] = ContextVar("colours", default=LIGHT)


@contextmanager
def style(dark: bool = False) -> Iterator[None]:
    """Draw all plots in the `with` block in light or dark; restore the settings afterwards.

    >>> with style(dark=True):
    ...     print(colours()["page"])
    #14171b
    >>> print(colours()["page"])
    #ffffff
    """
    matplotlib = library("matplotlib")
    defaults = {k: v for k, v in matplotlib.rcParamsDefault.items() if not k.startswith(WINDOWS)}
    before = CURRENT.set(DARK if dark else LIGHT)
    try:
        with matplotlib.rc_context({**defaults, **settings()}):
            yield
    finally:
        CURRENT.reset(before)


def settings() -> dict[str, Any]:
    """Return matplotlib's settings for the current colours."""
    c = colours()
    cycle = import_module("cycler").cycler(color=[c[f"class-{k}"] for k in range(COLOURS)])
    coloured = {
        "page": ("figure.facecolor", "axes.facecolor"),
        "text": ("text.color", "axes.labelcolor", "axes.titlecolor"),
        "axis": ("axes.edgecolor", "xtick.color", "ytick.color"),
        "muted": ("xtick.labelcolor", "ytick.labelcolor"),
        "rule": ("grid.color",),
    }
    sizes = ("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
    return {
        **{key: c[colour] for colour, keys in coloured.items() for key in keys},
        **dict.fromkeys(sizes, 8),
        "font.size": 8,
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
        "axes.titlesize": 9,
        "axes.prop_cycle": cycle,
        "axes.linewidth": 0.6,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "lines.linewidth": 1.4,
        "hatch.linewidth": 0.5,
        "legend.frameon": False,
        "figure.figsize": (NARROW, 2.6),
        "figure.constrained_layout.use": True,
        "figure.dpi": 150,
        "savefig.dpi": 130,
        "svg.fonttype": "none",
        "svg.hashsalt": "genus",  # repeatable identifiers within a file
    }


def library(module: str) -> Any:
    """Import a module of matplotlib, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            "Plots need matplotlib, which is not installed: pip install 'genus[plots]'"
        ) from None


def sheet(width: float, height: float) -> Any:
    """Return a new figure of a size in inches, without a window."""
    return library("matplotlib.figure").Figure(figsize=(width, height))


def as_file(figure: Any, format: str) -> bytes:
    """Return a figure as a file in one of FORMATS; equal figures give equal files."""
    content = BytesIO()
    with np.errstate(all="ignore"):  # matplotlib also projects the NaN that surfaces leave out
        figure.savefig(content, format=format, metadata=UNDATED[format])
    return content.getvalue()


def axes(ax: Any) -> tuple[Any, Any]:
    """Return the given axes, or new ones, and their figure."""
    if ax is None:
        _, ax = library("matplotlib.pyplot").subplots()
    return ax, ax.figure


def panels(ax: Any, rows: int, columns: int, **options: Any) -> tuple[Any, Any]:
    """Return axes (rows, columns), given or new, and their figure."""
    if ax is None:
        options = {"layout": "constrained", "squeeze": False, **options}
        figure, ax = library("matplotlib.pyplot").subplots(rows, columns, **options)
        return ax, figure
    given = np.asarray(ax, dtype=object)
    if given.size != rows * columns:
        raise ValueError(
            f"This needs {rows * columns} axes, got {given.size}. Leave ax out to draw on new axes."
        )
    return given.reshape(rows, columns), given.flat[0].figure


def colours() -> dict[str, str]:
    """Return the current colours, by their purpose."""
    return CURRENT.get()


def colour(k: int) -> str:
    """Return the colour of a class; classes after the first few share one."""
    return colours()[f"class-{k}" if k < COLOURS else "others"]


def look(k: int) -> dict[str, Any]:
    """Return the colour and the dashes of a class's line."""
    if k >= COLOURS:
        return {"color": colour(k), "linewidth": 0.8}
    dashes = tuple(float(part) / 2 for part in DASHES[k].split())
    return {"color": colour(k), "linestyle": (0, dashes) if dashes else "-"}


def marker(k: int) -> str:
    """Return the marker of a class's rows."""
    return MARKERS[k] if k < COLOURS else "."


def hatch(k: int) -> str:
    """Return the hatch of a class's bars, for print without colours."""
    return HATCHES[k] if k < COLOURS else ""


def legend(ax: Any, **options: Any) -> None:
    """Add a legend of the classes that stays readable on top of the plot."""
    ax.legend(frameon=True, framealpha=0.85, edgecolor="none", borderaxespad=0.2, **options)


def ramp(end: str = "class-0") -> Any:
    """Return a colour map from the background colour to another."""
    make = library("matplotlib.colors").LinearSegmentedColormap.from_list
    return make("genus", [colours()["page"], colours()[end]])


def plain(text: Any) -> str:
    """Escape text, so that matplotlib does not read it as a formula."""
    shown = name(text).replace("$", r"\$")
    return f"\u2009{shown}" if shown.startswith("_") else shown  # else legends omit it
