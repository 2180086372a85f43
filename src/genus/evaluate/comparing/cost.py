"""What a piece of work takes: seconds, and the peak of memory above what there was before."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


def measured(work: Callable[[], T]) -> tuple[T, float, int | None]:
    """What the work gives, its seconds, and its bytes; None where they cannot be told."""
    before = reset_peak()
    start = perf_counter()
    result = work()
    seconds = perf_counter() - start
    return result, seconds, None if before is None else max(memory("VmHWM") - before, 0)


def reset_peak() -> int | None:
    """Let the peak be what is in memory now, which is returned; None where this is not Linux."""
    gc.collect(1)  # what is older was there before, and looking at it takes longest
    try:
        ctypes.CDLL(None).malloc_trim(0)  # else what was freed before is used again unseen
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    except (OSError, AttributeError, TypeError):
        return None
    return memory("VmRSS")


def memory(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024
