"""Draw the learning curves of a comparison, and the normality of its classes."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from genus.display.palette import COLOURS
from genus.evaluate.comparing import Comparison
from genus.plots.style import (
    WIDE,
    as_file,
    axes,
    colours,
    legend,
    library,
    look,
    marker,
    panels,
    plain,
    sheet,
    style,
)

MEASURES = {"error": "error", "log_loss": "log loss"}


def picture(comparison: Comparison, format: str = "svg", dark: bool = False) -> bytes:
    """Return a picture of the curves and, for rows of numbers, of how normal the classes are."""
    with style(dark), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters that the font lacks
        normal = bool(comparison.reasons.distances)
        figure = sheet(WIDE * (1.5 if normal else 1), 2.8)
        both = figure.subplots(1, 3 if normal else 2)
        LearningCurveDisplay.from_comparison(comparison, ax=both[:2])
        if normal:
            NormalityDisplay.from_comparison(comparison, ax=both[2])
        return as_file(figure, format)


class LearningCurveDisplay:
    """Error and log loss by number of rows; each model has a band over repeats.

    Bands contain 80 % of the repeats. A vertical line marks where two curves cross, and a shaded
    range its uncertainty.

    Attributes
    ----------
    comparison : the comparison that is drawn.
    axes_, figure_ : the two axes and the figure, once it is drawn.

    >>> from sklearn.datasets import load_iris
    >>> from genus import compare
    >>> found = compare(*load_iris(return_X_y=True), repeats=10)
    >>> LearningCurveDisplay.from_comparison(found)  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Any

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None, **options: Any) -> Self:
        """Draw the result of `genus.compare`."""
        return cls(comparison).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on two given axes, or on new ones; options go to the lines."""
        both, self.figure_ = panels(ax, 1, 2, figsize=(WIDE, 2.7))
        self.axes_ = both[0]
        for own, measure in zip(self.axes_, MEASURES, strict=True):
            self._draw(own, measure, options)
        # An empty band, for the legend only.
        self.axes_[0].fill_between(
            [], [], color=colours()["muted"], alpha=0.3, linewidth=0, label="80 % of repeats"
        )
        for own in self.axes_:
            if own.get_legend_handles_labels()[1]:
                legend(own)
        return self

    def _draw(self, ax: Any, measure: str, options: dict[str, Any]) -> None:
        curves = self.comparison.curves
        lowest, highest = np.inf, 0.0
        for k, (line, values) in enumerate(
            zip(curves.lines, curves.compared(measure), strict=True)
        ):
            there = ~np.isnan(values).all(axis=1)
            if not there.any():
                continue
            sizes, values = curves.sizes[there], values[there]
            middle = np.nanmean(values, axis=1)
            low, high = np.nanquantile(values, [0.1, 0.9], axis=1)
            style = {"marker": marker(k), "markersize": 3, **look(k), **options}
            named = {"label": plain(line.name)} if measure == "error" else {}  # in one legend
            ax.plot(sizes, middle, **named, **style)
            ax.fill_between(sizes, low, high, color=style["color"], alpha=0.12, linewidth=0)
            lowest, highest = min(lowest, middle.min()), max(highest, middle.max())
        ax.set(xscale="log", xlabel="rows learned from", ylabel=MEASURES[measure])
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.xaxis.set_minor_formatter("")
        if measure == "error":
            ax.yaxis.set_major_formatter(library("matplotlib.ticker").PercentFormatter(1))
        if measure == "log_loss" and highest > 5 * max(lowest, 1e-3):
            ax.set_yscale("log")
            ax.set_ylim(lowest / 5, 2 * highest)
        else:
            ax.set_ylim(0, max(1.1 * highest, 0.01))
        crossing = self.comparison.advice.crossings.get(measure)
        if crossing is not None:
            band = {"color": colours()["bar"], "zorder": 0, "linewidth": 0}
            ax.axvspan(crossing.low, crossing.high, label="crossing, 80 % interval", **band)
            ax.axvline(crossing.rows, color=colours()["axis"], linewidth=0.8, linestyle=":")


class NormalityDisplay:
    """Distances of rows from their class mean, compared with a normal distribution.

    If the classes are normal with one Σ, d² = (x - μ)ᵀ Σ⁻¹ (x - μ) with the pooled Σ follows a χ²
    distribution with one degree of freedom for each column, and all points lie on the line. Points
    above the end of the line indicate heavy tails. A class whose points are all above or all below
    the line has its own Σ.

    Attributes
    ----------
    comparison : the comparison that is drawn.
    ax_, figure_ : the axes and the figure, once it is drawn.
    """

    ax_: Any
    figure_: Any

    def __init__(self, comparison: Comparison) -> None:
        if not comparison.reasons.distances:
            raise ValueError(
                "Normality can be drawn only for rows of numbers without missing values."
            )
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None, **options: Any) -> Self:
        """Draw the result of `genus.compare` for rows of numbers."""
        return cls(comparison).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the lines."""
        self.ax_, self.figure_ = axes(ax)
        found = self.comparison.reasons
        most = 0.0
        for k, (label, distances) in enumerate(found.distances.items()):
            share = (np.arange(len(distances)) + 0.5) / len(distances)
            expected = np.sqrt(chdtri(found.columns, 1 - share))
            drawn = {**look(k), **options}
            named = {"label": plain(label)} if k < COLOURS else {}
            self.ax_.plot(expected, np.sqrt(distances), **named, **drawn)
            most = max(most, float(expected[-1]))
        ends = [0, most]
        self.ax_.plot(ends, ends, color=colours()["axis"], linewidth=0.8, linestyle=":")
        self.ax_.set(xlabel="expected distance, if normal", ylabel="distance of rows from the mean")
        legend(self.ax_)
        return self
