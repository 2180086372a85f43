"""How the time of a fit grows with the rows: a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import short
from benchmarks.pictures import written
from benchmarks.report import Result
from genus.plots.style import NARROW, WIDE, colours, look, marker, sheet


def curves(results: Sequence[Result]) -> dict[str, tuple[list[int], list[float]]]:
    """Rows and seconds by estimator."""
    found: dict[str, tuple[list[int], list[float]]] = {}
    for result in results:
        seconds = result.seconds(0)
        if seconds is not None:
            rows, times = found.setdefault(result.job.sides[0].label, ([], []))
            rows.append(result.job.scaled(result.divisor).data.rows)
            times.append(seconds)
    return found


def exponent(rows: Sequence[int], seconds: Sequence[float]) -> float:
    """a of seconds ∝ rows^a, by least squares on logarithms."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0]) if len(rows) > 1 else np.nan


def table(results: Sequence[Result]) -> str:
    """Seconds by rows and estimator, and the exponents below."""
    found = curves(results)
    sizes = sorted({size for rows, _ in found.values() for size in rows})
    seconds = [dict(zip(rows, times, strict=True)) for rows, times in found.values()]
    body = [
        [f"{size:,}", *(f"{by_rows[size]:.4f}" if size in by_rows else "" for by_rows in seconds)]
        for size in sizes
    ]
    last = ["exponent", *(f"{exponent(*curve):.2f}" for curve in found.values())]
    lines = [["rows", *found], ["---:"] * (len(found) + 1), *body, last]
    widths = [max(len(row[i]) for row in lines) for i in range(len(found) + 1)]
    return "\n".join(
        f"| {' | '.join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))} |"
        for row in lines
    )


def picture(results: Sequence[Result], path: Path) -> None:
    """Draw seconds against rows, in all forms of the picture."""
    found = curves(results)
    written(path.parent, path.stem, lambda narrow: drawn(found, narrow))


def drawn(found: dict[str, tuple[list[int], list[float]]], narrow: bool = False) -> Any:
    """Draw seconds against rows, both on logarithmic axes: slope 1 is linear growth."""
    figure = sheet(NARROW, 4.2) if narrow else sheet(WIDE, 3.2)
    axes = figure.subplots()
    for k, (label, curve) in enumerate(found.items()):
        name = f"{label}: rows$^{{{exponent(*curve):.2f}}}$"
        axes.loglog(*curve, marker=marker(k), markersize=4, label=name, **look(k))
    ends = np.array(axes.get_xlim())
    slowest = max(times[0] / rows[0] for rows, times in found.values())
    rule = {"color": colours()["axis"], "linestyle": "--", "linewidth": 0.9}
    axes.loglog(ends, 2 * slowest * ends, label="linear growth", **rule)
    axes.set_xlim(*ends)
    sizes = sorted({size for rows, _ in found.values() for size in rows})
    shown = sizes[::2] if narrow else sizes
    axes.set_xticks(shown, labels=[short(size) for size in shown])
    axes.xaxis.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="rows", ylabel="seconds of a fit, 20 columns")
    if narrow:
        figure.legend(handlelength=3, loc="outside upper left")
    else:
        axes.legend(handlelength=3)
    return figure
