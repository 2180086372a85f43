"""Run long jobs in a thread, one at a time; they show progress and can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LONGEST = 400  # characters of an error


class Stopped(Exception):
    """The job was stopped; this is raised inside the job."""


class BusyError(RuntimeError):
    """Another job is running."""


class Job:
    """A job: its title, its progress, and whether it should stop."""

    def __init__(self, title: str, work: Callable[[Job], None]) -> None:
        self.title, self.work = title, work
        self.done = self.total = 0
        self.is_stopped = False
        self.makes_way = False  # for other jobs, because scores can be computed later
        self.finished = threading.Event()
        self._lock = threading.Lock()

    def start(self, total: int, title: str = "") -> None:
        """Begin a part of the work with `total` steps; 0 if their number is unknown."""
        self.check()
        self.title = title or self.title
        self.done, self.total = 0, total

    def step(self, steps: int, total: int | None = None) -> None:
        """Report that more steps are done; raise `Stopped` if the job should stop."""
        self.done += steps
        self.total = self.total if total is None else total
        self.check()

    def check(self) -> None:
        """Raise `Stopped` if the job should stop."""
        if self.is_stopped:
            raise Stopped

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Let the job store what it has computed, unless it should stop."""
        with self._lock:
            self.check()
            yield

    def stop(self) -> None:
        """End the job at its next step, and let it store nothing more."""
        with self._lock:
            self.is_stopped = True

    def shown(self) -> dict[str, Any]:
        """Return the job as the page shows it."""
        return {"title": self.title, "done": min(self.done, self.total), "total": self.total}


class Worker:
    """A runner of one job at a time; `changed` is called whenever one ends.

    A stopped job counts as ended at once. Its thread ends at its next step, and what it computes
    until then is dropped, because jobs store their results in `Job.keeping` only.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.job: Job | None = None
        self.error = ""

    def run(self, title: str, work: Callable[[Job], None]) -> Job:
        """Start a job; raise an error if another one is running."""
        with self._lock:
            if self.job is not None:
                raise BusyError(
                    f"Another job is running: {self.job.title}. Wait until it is done, or stop it."
                )
            self.job, self.error = Job(title, work), ""
            job = self.job
            thread = threading.Thread(target=self._finish, args=(job,), daemon=True)
            self._threads = [*(one for one in self._threads if one.is_alive()), thread]
            thread.start()
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
                is_current = self.job is job
                if is_current:
                    self.job, self.error = None, error
            job.finished.set()
            if is_current:
                self._changed()

    def stop(self) -> None:
        """Ask the running job to stop."""
        with self._lock:
            job = self.job
            if job is None:
                return
            job.stop()
            self.job, self.error = None, f"Stopped: {job.title}."
        self._changed()

    def ended(self, seconds: float) -> bool:
        """Wait until all threads have ended, even of stopped jobs, or until the time is over."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._threads)


def sentence(error: BaseException) -> str:
    """Describe an error in one line; name the class of an unexpected one."""
    told = " ".join(str(error).split())[:LONGEST]
    if isinstance(error, MemoryError):
        return "There is not enough memory. Use fewer rows or columns."
    if isinstance(error, ValueError | OSError) and told:
        return told
    problem = f"{type(error).__name__}: {told}".rstrip(": .")
    return f"This is a bug in genus: {problem}. Please report it."
