"""Run genus and its peers side by side and print what each needed.

Every measurement is one call in a fresh process, which draws its data by seed, warms up on a few
rows and times only the call. The sides of a job take turns; the median of the repeats is shown.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import growth, report
from benchmarks.jobs import Job
from benchmarks.measure import Failure, Measurement, in_a_process
from benchmarks.report import Result
from benchmarks.suites import JOBS, SUITES

QUICK = 20  # times fewer rows


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    command = shlex.join(["python", "-m", "benchmarks", *arguments])
    say_what_is_missing(options.jobs)
    results = []
    for suite in dict.fromkeys(job.suite for job in options.jobs):
        part: list[Result] = []
        table = suite != "growth"
        if table:
            print(*report.header(), sep="\n", flush=True)
        for job in (job for job in options.jobs if job.suite == suite):
            part.append(run(job, options.repeats, QUICK if options.quick else 1))
            if table:
                print(*part[-1].lines(), sep="\n", flush=True)
        if not table:
            print(growth.table(part))
        if options.write:
            write(options.write, suite, part, command)
        results += part
    for miss in (miss for result in results for miss in result.misses):
        talk(f"missed: {miss}")
    return int(any("failed" in result.sides for result in results))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, with the jobs that they choose."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("suites", nargs="*", help=f"some of {', '.join(SUITES)}; else all")
    parser.add_argument("--only", metavar="NAME", help="jobs with NAME in their names")
    parser.add_argument("--quick", action="store_true", help=f"1/{QUICK} of the rows")
    parser.add_argument("--repeats", metavar="N", type=int, help="else 3, or 1 if --quick")
    parser.add_argument("--write", metavar="FILE", type=Path, help="update this document")
    options = parser.parse_args(arguments)
    unknown = [suite for suite in options.suites if suite not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]!r}; there are {', '.join(SUITES)}.")
    options.jobs = [
        job
        for job in JOBS.values()
        if job.suite in (options.suites or SUITES) and (options.only or "") in job.name
    ]
    if not options.jobs:
        parser.error(f"no job has {options.only!r} in its name; there are {', '.join(JOBS)}.")
    if options.write and options.only:
        parser.error("--write replaces the results of whole suites; leave --only out.")
    if options.repeats is not None and options.repeats < 1:
        parser.error(f"--repeats is 1 or more, got {options.repeats}.")
    options.repeats = options.repeats or (1 if options.quick else 3)
    for suite in options.suites or SUITES if options.write else ():
        if suite == "growth" and not report.installed("matplotlib"):
            parser.error("the picture of growth needs matplotlib: pip install '.[bench]'.")
        try:
            report.around(options.write, suite)
        except (OSError, ValueError) as error:
            parser.error(str(error))
    return options


def run(job: Job, repeats: int, divisor: int) -> Result:
    """Let the sides of a job take turns."""
    measured: list[list[Measurement]] = [[] for _ in job.sides]
    reasons = ["" if report.installed(side.library) else "missing" for side in job.sides]
    for repeat in range(repeats):
        for i, side in enumerate(job.sides):
            if reasons[i]:
                continue
            progress(f"{job.name}: {side}, {repeat + 1} of {repeats}")
            try:
                measured[i].append(in_a_process(job, i, divisor))
            except Failure as failure:
                reasons[i] = "failed"
                talk(str(failure))
    progress("")
    sides = (reason or tuple(m) for reason, m in zip(reasons, measured, strict=True))
    return Result(job, divisor, tuple(sides))


def write(document: Path, suite: str, results: Sequence[Result], command: str) -> None:
    """Put the results of a suite into a document, and its picture beside it."""
    parts = [report.made_with(command), report.table(results)]
    if suite == "growth":
        picture = Path("images", "linear.svg")
        growth.picture(results, document.parent / picture)
        told = (
            "Seconds of a fit by rows, on logarithmic axes: four lines, each slightly flatter than "
            "the dashed line of linear growth"
        )
        parts[1:] = [growth.table(results), f"![{told}]({picture.as_posix()})"]
    report.replace_section(document, suite, "\n\n".join(parts))


def say_what_is_missing(jobs: Sequence[Job]) -> None:
    """Name the peers that are not installed."""
    for library in sorted({side.library for job in jobs for side in job.sides}):
        if not report.installed(library):
            talk(f"{library} is not installed; its rows stay empty. pip install '.[bench]'")


def progress(text: str) -> None:
    """Say on a terminal what is being done."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def talk(*lines: str) -> None:
    """Say something on the standard error."""
    progress("")
    print(*lines, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
