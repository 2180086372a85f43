"""Measure the seconds and the peak memory of some work."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


def measured(work: Callable[[], T]) -> tuple[T, float, int | None]:
    """Run the work; return its result, its seconds, and its peak memory in bytes, if known."""
    before = reset_peak()
    start = perf_counter()
    result = work()
    seconds = perf_counter() - start
    return result, seconds, None if before is None else max(memory("VmHWM") - before, 0)


def reset_peak() -> int | None:
    """Reset the peak memory and return the memory in use; None unless Linux allows it."""
    gc.collect(1)  # older objects existed before, and collecting them is slow
    try:
        ctypes.CDLL(None).malloc_trim(0)  # otherwise freed memory would be reused and not show
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    except (OSError, AttributeError, TypeError):
        return None
    return memory("VmRSS")


def memory(name: str) -> int:
    """Return the value of a line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024
