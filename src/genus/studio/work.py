"""Long work in a thread of its own: one job at a time, with progress, which can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

LONGEST = 400  # characters of an error


class Stopped(Exception):
    """Raised inside a job when somebody has stopped it."""


class BusyError(RuntimeError):
    """Another job is running."""


class Job:
    """A job: what it does, how far it has come, and whether it is to stop."""

    def __init__(self, title: str, work: Callable[[Job], None]) -> None:
        self.title, self.work = title, work
        self.done = self.total = 0
        self.is_stopped = False
        self.makes_way = False  # for other work, as scores do that may be computed later
        self.finished = threading.Event()

    def start(self, total: int, title: str = "") -> None:
        """Begin a part of the work that has so many steps; 0 if nobody knows how many."""
        self.check()
        self.title = title or self.title
        self.done, self.total = 0, total

    def step(self, steps: int, total: int | None = None) -> None:
        """Say that some more steps are done; raise if the job is to stop."""
        self.done += steps
        self.total = self.total if total is None else total
        self.check()

    def check(self) -> None:
        """Raise if the job is to stop."""
        if self.is_stopped:
            raise Stopped

    def shown(self) -> dict[str, Any]:
        """Return what the page shows of it."""
        return {
            "title": self.title,
            "done": min(self.done, self.total),
            "total": self.total,
            "stopping": self.is_stopped,
        }


class Worker:
    """Runs jobs one after the other; `changed` is called whenever one ends."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self.job: Job | None = None
        self.error = ""

    def run(self, title: str, work: Callable[[Job], None]) -> Job:
        """Start a job; raise if another one is running."""
        with self._lock:
            if self.job is not None:
                raise BusyError(f"Wait until this is done, or stop it: {self.job.title}.")
            self.job, self.error = Job(title, work), ""
            job = self.job
        threading.Thread(target=self._finish, args=(job,), daemon=True).start()
        return job

    def _finish(self, job: Job) -> None:
        error = ""
        try:
            job.work(job)
        except Stopped:
            error = f"Stopped: {job.title}."
        except Exception as raised:
            error = sentence(raised)
        finally:
            with self._lock:
                self.job, self.error = None, error
            job.finished.set()
            self._changed()

    def stop(self) -> None:
        """Ask the running job to stop."""
        with self._lock:
            if self.job is not None:
                self.job.is_stopped = True


def sentence(error: BaseException) -> str:
    """Return what an error says, in one line; the class too, if it is one that nobody foresaw."""
    told = " ".join(str(error).split())[:LONGEST]
    if isinstance(error, MemoryError):
        return "There is not enough memory for this."
    if isinstance(error, ValueError | OSError) and told:
        return told
    return f"This is a bug in genus: {type(error).__name__}: {told}"
