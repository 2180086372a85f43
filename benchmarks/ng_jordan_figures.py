"""Figures after Ng & Jordan (2001): a small panel for each set, and the simulations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.ng_jordan_sets import Pair
from benchmarks.ng_jordan_verdicts import verdict
from benchmarks.simulations import Array, Efficiency, efron
from genus.plots.style import NARROW, WIDE, colours, library, look, marker, sheet

COLUMNS, COLUMNS_ON_A_PHONE = 4, 2
LARGEST_DISTANCE = 4.3


def short(number: float, _: Any = None) -> str:
    """A number of rows in little room."""
    return f"{number / 1000:g}k" if number >= 1000 else f"{number:g}"


def panels(pairs: Sequence[Pair], narrow: bool = False) -> Any:
    """Error against rows, a panel for each set: Figure 1 of the paper."""
    columns = COLUMNS_ON_A_PHONE if narrow else COLUMNS
    height = -(-len(pairs) // columns)
    figure = sheet(NARROW if narrow else WIDE * 1.15, 0.45 + 1.55 * height)
    places = figure.subplots(height, columns, squeeze=False)
    for place in places.flat[len(pairs) :]:
        place.set_axis_off()
    for place, pair in zip(places.flat, pairs, strict=False):
        panel(place, pair)
    for place in places[:, 0]:
        place.set_ylabel("error")
    for place in places[-1]:
        place.set_xlabel("rows learned from")
    handles, names = places[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=1 if narrow else len(names))
    return figure


def panel(ax: Any, pair: Pair) -> None:
    curves = pair.curves
    looks = (look(0), look(1), {"color": colours()["muted"], "linestyle": ":", "linewidth": 0.9})
    most = 0.0
    for line, drawn in zip(curves.lines, looks, strict=True):
        middle = np.nanmean(line.error, axis=1)
        ax.plot(curves.sizes, middle, label=line.name, **drawn)
        most = max(most, middle.max())
    rows = verdict(curves).rows
    if rows is not None:
        ax.axvline(rows, color=colours()["axis"], linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
    title = f"{pair.name}*" if pair.paper else pair.name
    ax.set_title(title, fontsize=8)
    ax.set(xscale="log", ylim=(0, 1.08 * most), xlim=(3.3, 6000))
    ticks = library("matplotlib.ticker")
    ax.xaxis.set_major_formatter(short)
    ax.xaxis.set_minor_locator(ticks.NullLocator())
    ax.yaxis.set_major_locator(ticks.MaxNLocator(3))
    ax.yaxis.set_major_formatter(ticks.PercentFormatter(1, decimals=0))


def simulated(
    efficiencies: Sequence[Efficiency],
    shown: Sequence[int],
    counts: dict[str, Array],
    normals: dict[str, Array],
    sizes: Sequence[int],
    narrow: bool = False,
) -> Any:
    """How many rows GDA saves, Poisson columns, and normal ones."""
    figure = sheet(NARROW, 8.4) if narrow else sheet(WIDE * 1.15, 3.1)
    first, second, third = figure.subplots(*((3, 1) if narrow else (1, 3)))
    saved(first, efficiencies, shown)
    names = ["GDA", "logistic regression", "PoissonNB", "GaussianNB", "GDA(shared=False)"]
    for ax, found, measure in ((second, counts, 1), (third, normals, 0)):
        for name, values in found.items():
            k = names.index(name)
            look_of = {"marker": marker(k), "markersize": 3, **look(k)}
            ax.plot(sizes, values[measure].mean(axis=1), label=name, **look_of)
        ax.set(xscale="log", yscale="log", xlabel="rows learned from")
        ax.xaxis.set_major_formatter(short)
    second.yaxis.set_major_formatter("{x:g}")
    second.set(title="Poisson columns", ylabel="log loss above the optimum")
    third.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    third.set(title="normal columns, one Σ", ylabel="error above the optimum")
    drawn = {line.get_label(): line for ax in (second, third) for line in ax.get_lines()}
    known = [name for name in names if name in drawn]
    handles = [drawn[name] for name in known]
    below = {"loc": "outside lower center", "ncols": 2 if narrow else len(known)}
    figure.legend(handles, known, handlelength=2.6, **below)
    return figure


def saved(ax: Any, efficiencies: Sequence[Efficiency], shown: Sequence[int]) -> None:
    """Draw the rows that GDA needs, relative to logistic regression, by distance."""
    distances = np.linspace(0.5, LARGEST_DISTANCE, 60)
    limit = [efron(distance) for distance in distances]
    ax.plot(distances, limit, color=colours()["axis"], label="limit (Efron 1975)")
    for k, m in enumerate(shown):
        at = [one.distance + 0.06 * (k - 1) for one in efficiencies]
        ratios = [one.ratio(m) for one in efficiencies]
        spreads = [2 * one.spread(m) for one in efficiencies]
        drawn = {"color": look(k)["color"], "marker": marker(k), "markersize": 3.5}
        ax.errorbar(
            at, ratios, spreads, linestyle="none", elinewidth=0.8, label=f"{m:,} rows", **drawn
        )
    ax.set(xlabel="distance Δ between the means", ylim=(0, 1.15), title="rows that GDA needs")
    ax.set_ylabel("relative to logistic regression")
    ax.legend(loc="lower left")
