"""One measurement: one call in a process of its own, its time and its peak of memory.

`python -m benchmarks.measure JOB SIDE DIVISOR` prints it as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.jobs import Job
from benchmarks.suites import JOBS
from genus.evaluate.comparing.cost import measured

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Measurement:
    """Seconds, bytes at the peak beyond those before the call, and the share of rows got right."""

    seconds: float
    peak: float | None
    accuracy: float | None


class Failure(RuntimeError):
    """A side could not do its job."""


def in_a_process(job: Job, side: int, divisor: int) -> Measurement:
    """Measure in a fresh process."""
    arguments = [job.name, str(side), str(divisor)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise Failure(f"{job.name}: {job.sides[side]} failed: {reason}")
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def here(job: Job, side: int, divisor: int) -> Measurement:
    """Measure in this process, once everything is imported, warm and drawn."""
    chosen = job.sides[side]
    chosen.prepare(*job.data.sample.draw())()
    X, y = job.scaled(divisor).data.draw()
    rows = min(chosen.rows or len(y), len(y))
    share = rows / len(y)
    X, y = X[:rows], y[:rows]
    call = chosen.prepare(X, y)
    result, seconds, peak = measured(call)
    return Measurement(seconds / share, peak if share == 1 else None, accuracy(result, X, y))


def accuracy(result: Any, X: Any, y: Any, head: int = 2000) -> float | None:
    """How often a score, labels, probabilities or a fitted classifier are right."""
    if isinstance(result, float):
        return result
    if hasattr(result, "predict"):
        result, y = result.predict(X[:head]), y[:head]
    answers = np.asarray(result)
    if answers.ndim == 0 or len(answers) != len(y):
        return None
    return float(np.mean((answers.argmax(axis=1) if answers.ndim == 2 else answers) == y))


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    print(json.dumps(asdict(here(JOBS[name], *map(int, numbers)))))
