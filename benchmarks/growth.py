"""How the time of a fit grows with the rows: a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.data import short
from benchmarks.report import Result

# Okabe and Ito's colours differ for every kind of colour vision; the shapes do in print, too.
STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))


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
    """Seconds against rows, both on logarithmic axes: slope 1 is linear growth."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "genus"
    import matplotlib.pyplot as plt

    found = curves(results)
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for (label, curve), (colour, marker) in zip(found.items(), STYLES, strict=False):
        name = f"{label}: rows$^{{{exponent(*curve):.2f}}}$"
        axes.loglog(*curve, color=colour, marker=marker, markersize=6, label=name)
    ends = np.array(axes.get_xlim())
    slowest = max(times[0] / rows[0] for rows, times in found.values())
    axes.loglog(ends, 2 * slowest * ends, color="0.4", linestyle="--", label="linear growth")
    axes.set_xlim(*ends)
    sizes = sorted({size for rows, _ in found.values() for size in rows})
    axes.set_xticks(sizes, labels=[short(size) for size in sizes])
    axes.xaxis.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds of a fit, 20 columns")
    axes.grid(which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
