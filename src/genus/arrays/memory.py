"""Measure free memory and the size of values, to stop before the system runs out of memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
OWN_PAGES = Path("/proc/self/statm")


def available() -> int | None:
    """Return the bytes that this process may still use; None if the system does not report them."""
    found = [free_of_machine(), free_of_group(), free_of_limit()]
    known = [size for size in found if size is not None]
    return min(known) if known else None


def free_of_machine() -> int | None:
    """Return the machine's free memory, as Linux estimates it."""
    try:
        told = re.search(r"^MemAvailable:\s+(\d+) kB", MEMINFO.read_text(), re.M)
    except OSError:
        return None
    return 1024 * int(told[1]) if told else None


def free_of_group() -> int | None:
    """Return the free memory within the limit of a container."""
    try:
        most = (CGROUP / "memory.max").read_text().strip()
        used = (CGROUP / "memory.current").read_text().strip()
    except OSError:
        return None
    if not (most.isdigit() and used.isdigit()):
        return None
    return max(int(most) - int(used) + file_cache(), 0)


def free_of_limit() -> int | None:
    """Return the address space that is left if it is limited, such as by `ulimit -v`."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(OWN_PAGES.read_text().split()[0])
    except (ImportError, OSError):
        return None
    if most == resource.RLIM_INFINITY:
        return None
    return max(most - pages * resource.getpagesize(), 0)


def file_cache() -> int:
    """Return the bytes of cached files in a container, which can be freed."""
    try:
        told = re.search(r"^inactive_file (\d+)", (CGROUP / "memory.stat").read_text(), re.M)
    except OSError:
        return 0
    return int(told[1]) if told else 0


def size_of(value: Any) -> int:
    """Add up the bytes of all arrays in a value.

    >>> size_of({"a": np.zeros(10), "b": [np.zeros(5)]})
    120
    """
    if isinstance(value, np.ndarray):
        return value.nbytes
    if is_dataclass(value):
        return sum(size_of(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return sum(map(size_of, value))
    return 0
