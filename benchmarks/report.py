"""Results as a table of Markdown, and the section of a document that shows them."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

from benchmarks.jobs import Job
from benchmarks.measure import Measurement
from benchmarks.suites import JOBS

HEADS = ("", "seconds", "× genus", "at least", "right", "peak MB", "at most")
WIDTHS = (
    max(len(text) for job in JOBS.values() for text in (f"**{job}**", *map(str, job.sides))),
    *(max(len(head), 8) for head in HEADS[1:]),
)
LIBRARIES = (
    "genus",
    "numpy",
    "scipy",
    "scikit-learn",
    "river",
    "mixed-naive-bayes",
    "polars",
    "duckdb",
    "fasttext-wheel",
)


@dataclass(frozen=True)
class Result:
    """What the sides of a job needed, repeat by repeat, or why there is nothing to tell."""

    job: Job
    divisor: int
    sides: tuple[tuple[Measurement, ...] | str, ...]

    def measured(self, side: int) -> tuple[Measurement, ...]:
        """The repeats of a side."""
        found = self.sides[side]
        return () if isinstance(found, str) else found

    def seconds(self, side: int) -> float | None:
        """The median."""
        return median(m.seconds for m in self.measured(side)) if self.measured(side) else None

    def ratio(self, side: int) -> float | None:
        """How many times genus's time a side takes."""
        mine, theirs = self.seconds(0), self.seconds(side)
        return theirs / mine if mine and theirs and side else None

    def peak(self, side: int) -> float | None:
        """The median of the memory beyond the input, in bytes."""
        peaks = [m.peak for m in self.measured(side) if m.peak is not None]
        return median(peaks) if peaks else None

    @property
    def misses(self) -> list[str]:
        """The targets that were not reached; they are for the whole sizes."""
        found: list[str] = []
        if self.divisor > 1:
            return found
        for i, side in enumerate(self.job.sides):
            ratio = self.ratio(i)
            if ratio is not None and side.at_least is not None and ratio < side.at_least:
                found.append(
                    f"{self.job.name}: {side} takes {ratio:.2g} × genus's time, "
                    f"not {side.at_least:g} ×"
                )
        peak, most = self.peak(0), self.most
        if peak is not None and most is not None and peak > most:
            found.append(
                f"{self.job.name}: genus takes {peak / 1e6:.1f} MB beyond its input, "
                f"not {most / 1e6:.1f} MB"
            )
        return found

    @property
    def most(self) -> int | None:
        """The memory that genus may take beyond its input, in bytes."""
        return self.job.scaled(self.divisor).most_memory

    def lines(self) -> Iterator[str]:
        """The rows of the table: the job, then its sides."""
        yield line([f"**{self.job.scaled(self.divisor)}**"])
        for i, side in enumerate(self.job.sides):
            found, ratio, peak = self.sides[i], self.ratio(i), self.peak(i)
            if isinstance(found, str):
                yield line([str(side), found])
                continue
            yield line(
                [
                    str(side),
                    f"{self.seconds(i):.4f}",
                    "" if ratio is None else f"{ratio:.{1 if ratio >= 10 else 2}f}",
                    self.target(ratio, side.at_least, 1),
                    "" if found[0].accuracy is None else f"{found[0].accuracy:.4f}",
                    "" if peak is None else f"{peak / 1e6:.1f}",
                    "" if i else self.target(peak, self.most, -1e6),
                ]
            )

    def target(self, value: float | None, wanted: float | None, unit: float) -> str:
        """What is wanted of the whole size, and whether it was reached.

        A negative unit turns at least into at most.
        """
        if value is None or wanted is None or self.divisor > 1:
            return ""
        return f"{wanted / abs(unit):.3g} {'✓' if value * unit >= wanted * unit else '✗'}"


def line(cells: Sequence[str]) -> str:
    """One row of the table; text to the left, numbers to the right."""
    cells = [cell.replace("|", r"\|") for cell in cells] + [""] * (len(HEADS) - len(cells))
    padded = (
        f"{cell:>{width}}" if i else f"{cell:<{width}}"
        for i, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    return f"| {' | '.join(padded)} |"


def header() -> list[str]:
    """The first two lines of the table."""
    rule = ["-" * (w - 1) + (":" if i else "-") for i, w in enumerate(WIDTHS)]
    return [line(HEADS), line(rule)]


def table(results: Sequence[Result]) -> str:
    """All results in one table."""
    return "\n".join([*header(), *(row for result in results for row in result.lines())])


def installed(library: str) -> str | None:
    """The version of a library, None if it is not installed."""
    if library == "g++":
        return shutil.which("g++")
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def made_with(command: str) -> str:
    """The command, the versions and the machine that made the numbers."""
    versions = ", ".join(f"{name} {installed(name)}" for name in LIBRARIES if installed(name))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"Printed by `{command}` on {cores} cores of {processor()}, {platform.system()}, "
        f"with Python {platform.python_version()}, {versions}."
    )


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (text.split(":", 1)[1].strip() for text in lines if text.startswith("model name"))
    return next(names, platform.machine())


def around(document: Path, suite: str) -> tuple[str, str]:
    """What a document says up to the first marker of a suite and from the second on."""
    begin, end = f"<!-- benchmarks {suite} -->\n", f"<!-- end of benchmarks {suite} -->"
    before, found, rest = document.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(
            f"{document} has no place for the results of {suite}. Add these two lines to it:\n"
            f"{begin}{end}"
        )
    return before + begin, end + after


def replace_section(document: Path, suite: str, text: str) -> None:
    """Put `text` between the two markers of a suite."""
    before, after = around(document, suite)
    document.write_text(f"{before}\n{text}\n\n{after}", encoding="utf-8")
