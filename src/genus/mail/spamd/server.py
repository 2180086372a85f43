"""Run the processes of a server: workers on shared sockets, and a teacher, which learns."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from genus.mail.spamd.filters import Filters, Stores
from genus.mail.spamd.listening import on_unix
from genus.mail.spamd.log import tell
from genus.mail.spamd.worker import GRACE, Conversation, Service, Talk, Worker
from genus.mail.store import Totals
from genus.mail.store.protocol import NoStore

QUICK = 1.0  # seconds; a process that ends sooner is not replaced at once
LESSON = 600.0  # seconds that a lesson may wait for other lessons
ALL = 1 << 16  # clients of the process that learns, which are other processes
HANDLED = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM}


def prepare(stores: Stores) -> tuple[Totals, str]:
    """Open the store once, so that errors are reported at the start.

    Return its totals, and its name if it was missing and was created, or else an empty string.
    """
    filters, created = Filters(stores), ""
    if stores.users is not None and stores.creates:
        stores.users.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif stores.users is not None and not stores.users.is_dir():
        raise ValueError(f"There is no folder {stores.users}. Name the one of genus mail serve.")
    try:
        spam_filter = filters.to_check(None)
    except NoStore:
        if not stores.creates:
            raise
        created = filters.create()
        spam_filter = filters.to_check(None)
    known = spam_filter.store.totals()
    filters.close()  # a connection must not be inherited by another process
    return known, created


Listening = Sequence[tuple[socket.socket, type[Talk]]]


def serve(
    listening: Listening,
    service: Service,
    workers: int,
    close: Callable[[], None],
) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP opens the stores again.

    Each socket comes with the class that talks with its clients. `close` is called first when
    the server ends, so that no clients connect; workers then finish the requests in progress.
    """
    # Signals are blocked and waited for, not handled, so that none is lost.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    ignored = signal.signal(signal.SIGCHLD, lambda number, frame: None)  # else BSD drops it
    folder = Path(tempfile.mkdtemp(prefix="genus-"))
    pipe = os.pipe()
    teacher = on_unix(folder / "teacher")
    for each in (teacher, *(each for each, _ in listening)):
        each.setblocking(False)
    family = Family(listening, teacher, folder, service, pipe)
    try:
        family.keep(workers, close)
    finally:
        family.kill(signal.SIGKILL)
        teacher.close()
        shutil.rmtree(folder, ignore_errors=True)
        for end in pipe:
            os.close(end)
        signal.signal(signal.SIGCHLD, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Child:
    """A process: whether it learns, its row of counters, and when it was started."""

    learns: bool
    row: int
    born: float


class Family:
    """The running processes of a server."""

    def __init__(
        self,
        listening: Listening,
        teacher: socket.socket,
        folder: Path,
        service: Service,
        pipe: tuple[int, int],
    ) -> None:
        self.listening, self.teacher, self.folder = listening, teacher, folder
        self.service, self.pipe = service, pipe
        self.parent = os.getpid()
        self.children: dict[int, Child] = {}

    def keep(self, workers: int, close: Callable[[], None]) -> None:
        """Keep this many workers and a teacher running until a signal ends the server."""
        ending = False
        while self.children or not ending:
            if not ending:
                self.fill(workers)
            number = signal.sigwait(HANDLED)
            if number == signal.SIGCHLD:
                self.bury(ending)
            elif number == signal.SIGHUP:
                self.kill(signal.SIGHUP)
            elif ending:  # a second signal, or the time is up
                self.kill(signal.SIGKILL)
            elif number != signal.SIGALRM:
                ending = True
                close()  # otherwise clients would connect and never get an answer
                for pid in self.of(learning=False):
                    os.kill(pid, signal.SIGTERM)
                signal.alarm(int(GRACE) + 5)
            if ending and not self.of(learning=False):
                self.kill(signal.SIGTERM)  # nobody is left to ask the teacher
        signal.alarm(0)

    def of(self, learning: bool) -> list[int]:
        return [pid for pid, child in self.children.items() if child.learns == learning]

    def fill(self, workers: int) -> None:
        """Start the missing processes."""
        for learning, wanted in ((True, 1), (False, workers)):
            while len(self.of(learning)) < wanted:
                self.add(learning)

    def add(self, learning: bool) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        row = min(set(range(len(self.children) + 1)) - {c.row for c in self.children.values()})
        pid = os.fork()
        if pid:
            self.children[pid] = Child(learning, row, time.monotonic())
            return
        self.service.tallies.row = row
        code = 1
        try:
            watched, held = self.pipe
            os.close(held)  # when the parent no longer holds it, the worker ends
            self.work(learning, watched)
            code = 0
        except BaseException as error:
            tell(f"a process failed: {error!r}")
        finally:
            os._exit(code)

    def work(self, learning: bool, watched: int) -> None:
        """Run as a worker or as the teacher, in a forked process."""
        if not learning:
            self.teacher.close()
            path = self.folder / "teacher"
            Worker(self.listening, self.service, watched, path).run()
            return
        for each, _ in self.listening:
            each.close()
        # Only workers reach its socket, and they have already checked who may learn.
        limits = replace(self.service.limits, seconds=LESSON, clients=ALL)
        patient = replace(self.service, limits=limits)
        Worker([(self.teacher, Conversation)], patient, watched).run()
        if os.getppid() != self.parent:  # otherwise the parent removes it
            shutil.rmtree(self.folder, ignore_errors=True)

    def bury(self, ending: bool) -> None:
        """Remove processes that have ended, and report them."""
        for pid in list(self.children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done:
                continue
            lived = time.monotonic() - self.children.pop(pid).born
            if ending:
                continue
            code = os.waitstatus_to_exitcode(status)
            tell(f"process {pid} ended with {code}; starting another")
            if lived < QUICK:
                time.sleep(QUICK)

    def kill(self, how: signal.Signals) -> None:
        """Send a signal to all processes; after SIGKILL, wait until they have ended."""
        for pid in list(self.children):
            os.kill(pid, how)
            if how == signal.SIGKILL:
                os.waitpid(pid, 0)
                del self.children[pid]
