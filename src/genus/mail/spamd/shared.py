"""Count requests, verdicts and times in memory that all processes of a server share.

The memory is allocated before the processes are forked. Each process adds to a row of its own, so
none has to wait for another.
"""

from __future__ import annotations

import mmap
import time
import zlib
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

SLOTS = 4096  # peers that are counted separately in one minute
PROBES = 8
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
VERDICTS = ("ham", "unsure", "spam")
LESSONS = ("learned", "known", "corrected", "renewed", "forgotten", "unknown")
EVENTS = ("refused", "failed", "dropped", "clients")
COLUMNS = (
    *(("messages", each) for each in VERDICTS),
    *(("lessons", each) for each in LESSONS),
    *(("events", each) for each in EVENTS),
    *(("seconds", f"{each:g}") for each in BOUNDS),
    ("seconds", "+Inf"),
    ("seconds", "sum"),
)
AT = {column: number for number, column in enumerate(COLUMNS)}
HELP = {
    "messages": ("counter", "verdict", "Messages that were judged."),
    "lessons": ("counter", "outcome", "Requests to learn or forget a message."),
    "events": ("counter", "event", "Refused and failed requests, dropped and served clients."),
}


def anonymous(*shape: int) -> NDArray[np.float64]:
    """Return an array of zeros that this process shares with the processes it forks."""
    held = mmap.mmap(-1, 8 * int(np.prod(shape)))
    return np.frombuffer(held, np.float64).reshape(shape)


class Rates:
    """The number of requests of each peer in the current minute."""

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._slots = anonymous(SLOTS, 3)  # peer, minute, requests

    def allows(self, peer: str) -> bool:
        """Count a request of a peer, and return whether it is within the limit."""
        if self.most is None:
            return True
        key, minute = float(zlib.crc32(peer.encode()) + 1), float(time.monotonic() // 60)
        for probe in range(PROBES):
            slot = self._slots[(int(key) + probe) % SLOTS]
            if slot[1] != minute:
                slot[:] = key, minute, 0
            if slot[0] == key:
                break
        slot[2] += 1  # if all slots are taken, peers share the last one
        return bool(slot[2] <= self.most)


class Tallies:
    """Counters of events, with one row for each process; `row` is the row of this process."""

    def __init__(self, processes: int) -> None:
        self._sums = anonymous(processes, len(COLUMNS))
        self.row = 0

    def add(self, kind: str, name: str, by: float = 1.0) -> None:
        self._sums[self.row, AT[kind, name]] += by

    def took(self, seconds: float) -> None:
        """Count how long a verdict took."""
        at = bisect_left(BOUNDS, seconds)
        self.add("seconds", f"{BOUNDS[at]:g}" if at < len(BOUNDS) else "+Inf")
        self.add("seconds", "sum", seconds)

    def text(self) -> str:
        """Return the sums over all processes in the format of Prometheus."""
        sums = dict(zip(COLUMNS, self._sums.sum(axis=0).tolist(), strict=True))
        lines = []
        for kind, (sort, label, told) in HELP.items():
            name = f"genus_mail_{kind}_total"
            lines += [f"# HELP {name} {told}", f"# TYPE {name} {sort}"]
            lines += [
                f'{name}{{{label}="{k[1]}"}} {v:.0f}' for k, v in sums.items() if k[0] == kind
            ]
        name, total = "genus_mail_seconds", 0.0
        lines += [f"# HELP {name} Seconds of work for one verdict.", f"# TYPE {name} histogram"]
        for bound in (*(f"{each:g}" for each in BOUNDS), "+Inf"):
            total += sums["seconds", bound]
            lines.append(f'{name}_bucket{{le="{bound}"}} {total:.0f}')
        lines += [f"{name}_sum {sums['seconds', 'sum']:.6f}", f"{name}_count {total:.0f}"]
        return "\n".join(lines) + "\n"
