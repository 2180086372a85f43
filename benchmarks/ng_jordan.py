"""Naive Bayes against logistic regression, with few rows and with many, after Ng & Jordan (2001).

`python -m benchmarks.ng_jordan [--data FOLDER] [--write docs/compare-ng-jordan.md]
[--figures docs/images/compare]` reads `uci/*.csv.gz` and `adult-train.csv.gz` from FOLDER, else
GENUS_DATA, else ../shared/data; digits and the Wisconsin breast cancers are scikit-learn's. Then it
draws rows from models that are known, and measures how far from their optimum classifiers are.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import ng_jordan_figures, report
from benchmarks.ng_jordan_sets import SOURCES, Pair, pair
from benchmarks.ng_jordan_verdicts import ANSWERS, verdict
from benchmarks.pictures import written
from benchmarks.simulations import (
    LOGISTIC,
    Array,
    Counts,
    Efficiency,
    Normals,
    efficiency,
    efron,
    learned,
)
from genus.evaluate.comparing.verdict import AHEAD, rounded

DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"
DISTANCES = (1.0, 2.0, 3.0, 4.0)
EFFICIENCY_SIZES = (25, 50, 100, 200, 400, 800, 1600)
SHOWN = (100, 400, 1600)  # of these
EFFICIENCY_REPEATS = 400
RATES = ((1, 1, 1), (4, 4, 1))  # chosen because a normal is far off
OTHER_RATES = ((1, 2, 4), (3, 2, 1))  # of which it is not
DISTANCE = 3.0
SIZES = (40, 80, 160, 320, 640, 1280, 2560, 5120)
TABLED = (0, 2, 4, 7)  # of these
REPEATS = 100


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[int] = ()) -> str:
    """A table of Markdown; numbers to the right, columns in `text` to the left."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    left = {0, *text}
    rule = ["-" * w if i in left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            f"{cell:<{width}}" if i in left else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(heads), line(rule), *map(line, rows)])


def set_row(pair: Pair) -> list[str]:
    """A set's row of the table."""
    curves = pair.curves
    found = verdict(curves)
    ends = [f"{100 * np.nanmean(line.error[s]):.1f}" for s in (0, -1) for line in curves.lines[:2]]
    return [
        pair.name + ("*" if pair.paper else ""),
        f"{pair.rows:,}",
        f"{curves.sizes[0]:,}",
        *ends[:2],
        f"{curves.sizes[-1]:,}",
        *ends[2:],
        "" if found.rows is None else rounded(found.rows),
        found.agrees,
    ]


def summary(pairs: Sequence[Pair]) -> Iterator[str]:
    """How many sets agree."""
    ours, others = [p for p in pairs if p.paper], [p for p in pairs if not p.paper]
    groups: tuple[tuple[str, Sequence[Pair], int, float], ...] = (
        ("{} sets that are also in Figure 1 of the paper", ours, 1, AHEAD),
        ("{} other sets", others, 1, AHEAD),
        ("All {} sets, if a lead needs 80 % confidence", pairs, 1, 0.8),
        ("All {} sets, if a lead needs 95 % confidence", pairs, 1, 0.95),
        ("All {} sets, against logistic regression with a penalty, C=1", pairs, 2, AHEAD),
    )
    for which, chosen, other, sure in groups:
        answers = Counter(verdict(one.curves, other, sure).agrees for one in chosen)
        told = "; ".join(f"{answer}: {answers[answer]}" for answer in ANSWERS if answers[answer])
        yield f"{which.format(len(chosen))}. {told[0].upper()}{told[1:]}."


def sets(pairs: Sequence[Pair]) -> str:
    heads = ["set", "rows", "few", "NB", "LR", "many", "NB", "LR", "cross at", "as in the paper?"]
    told = table(heads, [set_row(one) for one in pairs], text=[9])
    return told + "\n\n" + "\n".join(f"- {line}" for line in summary(pairs))


@dataclass(frozen=True, eq=False)
class Simulated:
    """All that was drawn from known models."""

    efficiencies: list[Efficiency]
    counts: Counts
    on_counts: dict[str, Array]
    others: Counts
    on_others: dict[str, Array]
    normals: Normals
    on_normals: dict[str, Array]


def simulate() -> Simulated:
    counts, others, normals = Counts.of(*RATES), Counts.of(*OTHER_RATES), Normals.at(DISTANCE)
    for_counts = ["GDA", LOGISTIC, "PoissonNB"]
    return Simulated(
        [efficiency(d, EFFICIENCY_SIZES, EFFICIENCY_REPEATS) for d in DISTANCES],
        counts,
        learned(counts, for_counts, SIZES, REPEATS),
        others,
        learned(others, for_counts, SIZES, REPEATS),
        normals,
        learned(normals, ["GDA", LOGISTIC, "GaussianNB", "GDA(shared=False)"], SIZES, REPEATS),
    )


def efficiencies(found: Sequence[Efficiency]) -> str:
    """The rows that GDA needs for each of logistic regression, by distance."""
    columns = ["ratio, Efron's limit", *(f"ratio at {m:,} rows" for m in SHOWN)]
    heads = ["Δ", "smallest possible error", *columns]
    rows = [
        [
            f"{one.distance:g}",
            f"{100 * Normals.at(one.distance).bayes_error:.1f} %",
            f"{efron(one.distance):.2f}",
            *(f"{one.ratio(m):.2f} ± {one.spread(m):.2f}" for m in SHOWN),
        ]
        for one in found
    ]
    return table(heads, rows)


def beyond(found: Simulated) -> str:
    """What is wrong, and the log loss, beyond the optimum, at some sizes."""
    heads = [
        "above the optimum: error in %, log loss",
        *(f"{SIZES[s]:,} rows" for s in TABLED),
    ]
    rows = []
    for name, world, by_model in (
        (f"Poisson, rates {RATES[0]} and {RATES[1]}", found.counts, found.on_counts),
        (f"Poisson, {OTHER_RATES[0]} and {OTHER_RATES[1]}", found.others, found.on_others),
        (f"normal, Δ = {DISTANCE:g}", found.normals, found.on_normals),
    ):
        optimum = f"smallest possible error {100 * world.bayes_error:.2f} %"
        rows.append([f"**{name}**: {optimum}", *[""] * len(TABLED)])
        for model, values in by_model.items():
            means = values.mean(axis=2)
            cells = [f"{100 * means[0, s]:.2f}, {means[1, s]:.4f}" for s in TABLED]
            rows.append([model, *cells])
    return table(heads, rows)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ng_jordan",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where the sets are")
    parser.add_argument("--write", metavar="FILE", type=Path, help="update this document")
    parser.add_argument("--figures", metavar="FOLDER", type=Path, help="draw into this folder")
    options = parser.parse_args(arguments)
    folder = options.data or Path(os.environ.get("GENUS_DATA", DEFAULT_DATA))
    if not folder.is_dir():
        print(f"There is no folder {folder}; --data names another.", file=sys.stderr)
        return 1
    pairs = []
    for source in SOURCES:
        print(source.name, file=sys.stderr, flush=True)
        pairs.append(pair(source, folder))
    print("simulations", file=sys.stderr, flush=True)
    found = simulate()
    parts = {
        "sets": sets(pairs),
        "simulations": "\n\n".join([efficiencies(found.efficiencies), beyond(found)]),
    }
    print("\n\n".join(parts.values()))
    if options.figures:
        written(
            options.figures, "ng-jordan", lambda narrow: ng_jordan_figures.panels(pairs, narrow)
        )
        written(
            options.figures,
            "simulated",
            lambda narrow: ng_jordan_figures.simulated(
                found.efficiencies, SHOWN, found.on_counts, found.on_normals, SIZES, narrow
            ),
        )
    if options.write:
        command = shlex.join(["python", "-m", "benchmarks.ng_jordan", *arguments])
        for name, text in parts.items():
            report.replace_section(options.write, name, f"{report.made_with(command)}\n\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
