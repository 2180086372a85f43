"""One process that talks with many clients at once, and answers one at a time.

What is to be learned is passed on to another process of the same kind: learning may take seconds,
and wait for others who write to the store, and nobody who checks is to wait for that. A thread
would not do: it and SQLite, row by row, would take turns with Python's lock.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from genus.mail.spamd.answers import answered
from genus.mail.spamd.filters import Filters, Stores
from genus.mail.spamd.protocol import Code, Reading, Refusal, Request
from genus.mail.store import StoreError

GRACE = 10.0  # seconds in which requests that have begun are finished at the end
PATIENCE = 1.0  # seconds for those who have said nothing by then
LINGER = 5.0  # seconds in which a client that has its answer may hang up


@dataclass(frozen=True)
class Limits:
    """Bytes of a message, clients of one process, seconds for a request and for its answer."""

    size: int = 10_000_000
    clients: int = 100
    seconds: float = 60.0


def tell(text: str) -> None:
    """A line on stderr, whole, whoever else writes there."""
    os.write(sys.stderr.fileno(), f"genus mail serve[{os.getpid()}]: {text}\n".encode())


def reply(request: Request, filters: Filters) -> bytes:
    """The answer to a request, whatever happens; troubles that are ours are told on stderr."""
    try:
        return answered(request, filters)
    except Refusal as refusal:
        return refusal.line
    except Exception as error:
        filters.close()  # a connection may be broken; the next request opens another
        what = " ".join(str(error).split())
        if isinstance(error, StoreError):
            tell(f"{request.command}: {what}")
            return Refusal(Code.EX_TEMPFAIL, what).line
        if isinstance(error, OSError):
            tell(f"{request.command}: {what}")
            return Refusal(Code.EX_IOERR, what).line
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(at.filename)}:{at.lineno}"
        tell(f"{request.command}: this is a bug in genus: {type(error).__name__}: {what} ({where})")
        return Refusal(Code.EX_SOFTWARE, "this is a bug in genus; its log says more").line


async def taught(teacher: Path, request: Request) -> bytes:
    """What the process that learns answers to a request."""
    answer = b""
    try:
        reader, writer = await asyncio.open_unix_connection(teacher)
        try:
            writer.write(request.encoded())
            writer.write_eof()
            answer = await reader.read()
        finally:
            writer.close()
    except OSError:
        pass  # it has ended, and another one takes its place
    return answer or Refusal(Code.EX_TEMPFAIL, "learning was interrupted; say it again").line


class Worker:
    """A loop over clients; what is to be learned goes to the teacher, if this is not the one."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        stores: Stores,
        limits: Limits,
        alive: int,
        teacher: Path | None = None,
    ) -> None:
        self.listening, self.limits, self.teacher = list(listening), limits, teacher
        self.filters = Filters(stores)
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda _, told: tell(f"{told.get('exception', told)!r}"))
        self.conversations: set[Conversation] = set()
        self.tasks: set[asyncio.Task[None]] = set()  # loops forget those that nobody holds
        self.clients = 0
        self.accepting = self.ending = False
        self.alive = alive

    def run(self) -> None:
        """Serve until SIGTERM, or until nobody holds the other end of the pipe `alive`."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
        self.loop.add_signal_handler(signal.SIGTERM, self.end)
        self.loop.add_signal_handler(signal.SIGHUP, self.filters.close)  # they open again
        self.loop.add_reader(self.alive, self.end)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        self.filters.open()
        self.accept_more()
        self.loop.run_forever()
        self.filters.close()

    def end(self) -> None:
        """Take no more clients than have come, finish with those, and stop."""
        if self.ending:
            return
        self.ending = True
        self.loop.remove_reader(self.alive)
        for each in self.listening:
            self.loop.remove_reader(each)
            while self.accept(each):
                pass
            each.close()
        self.loop.call_later(PATIENCE, self.drop, lambda each: not each.begun)
        self.loop.call_later(GRACE, self.drop, lambda each: True)
        self.loop.call_later(GRACE + 1, self.loop.stop)
        self.stop_if_done()

    def drop(self, which: Callable[[Conversation], bool]) -> None:
        for each in [each for each in self.conversations if which(each)]:
            each.transport.abort()

    def accept_more(self) -> None:
        """Wait for clients, if there is room."""
        room = self.clients < self.limits.clients and not self.ending
        if room != self.accepting:
            self.accepting = room
            for each in self.listening:
                if room:
                    self.loop.add_reader(each, self.accept, each)
                elif not self.ending:
                    self.loop.remove_reader(each)

    def accept(self, listening: socket.socket) -> bool:
        """Take one client, if there is one: others are for other processes that are idle."""
        try:
            client, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:  # no more files, for one
            tell(f"cannot take a client: {error}")
            self.rest()
            return False
        client.setblocking(False)
        self.clients += 1
        self.accept_more()
        task = self.loop.create_task(self.converse(client))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return True

    def rest(self) -> None:
        """Take no clients for a second."""
        if not self.ending and self.accepting:
            self.accepting = False
            for each in self.listening:
                self.loop.remove_reader(each)
            self.loop.call_later(1.0, self.accept_more)

    async def converse(self, client: socket.socket) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: Conversation(self), client)
        except OSError:
            client.close()
            self.left()

    def left(self) -> None:
        """A client has gone."""
        self.clients -= 1
        self.stop_if_done()
        self.accept_more()

    def stop_if_done(self) -> None:
        if self.ending and self.clients == 0:
            self.loop.stop()


class Conversation(asyncio.Protocol):
    """One request and its answer."""

    transport: asyncio.Transport

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.reading: Reading | None = Reading(worker.limits.size)
        self.heard_all = self.said_all = False
        self.timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None  # loops forget tasks that nobody holds

    @property
    def begun(self) -> bool:
        return self.reading is None or self.reading.begun

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.worker.conversations.add(self)
        self.expect(self.too_slow, self.worker.limits.seconds)

    def connection_lost(self, error: Exception | None) -> None:
        self.reading = None
        self.expect(None)
        self.worker.conversations.discard(self)
        self.worker.left()

    def expect(self, late: Callable[[], None] | None, seconds: float = 0.0) -> None:
        """Do something unless something else happens within some seconds."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None if late is None else self.worker.loop.call_later(seconds, late)

    def data_received(self, data: bytes) -> None:
        if self.reading is None:
            return  # whatever comes after a request
        try:
            request = self.reading.feed(data)
        except Refusal as refusal:
            self.say(refusal.line)
        else:
            if request is not None:
                self.answer(request)

    def eof_received(self) -> bool:
        self.heard_all = True
        if self.reading is not None:
            if not self.reading.begun:
                self.say(b"")
                return True
            try:
                self.answer(self.reading.end())
            except Refusal as refusal:
                self.say(refusal.line)
        elif self.said_all:
            self.transport.close()
        return True

    def too_slow(self) -> None:
        seconds = f"{self.worker.limits.seconds:g}"
        self.say(Refusal(Code.EX_TIMEOUT, f"the request is not whole after {seconds} s").line)

    def answer(self, request: Request) -> None:
        self.reading = None
        self.expect(None)
        if request.command == "TELL" and self.worker.teacher is not None:
            self.task = self.worker.loop.create_task(self.pass_on(request, self.worker.teacher))
        else:
            self.say(reply(request, self.worker.filters))

    async def pass_on(self, request: Request, teacher: Path) -> None:
        self.say(await taught(teacher, request))

    def say(self, text: bytes) -> None:
        """Answer and hang up; a client that is still talking is heard out, or it may miss it."""
        self.reading = None
        self.said_all = True
        if self.transport.is_closing():
            return
        self.transport.write(text)
        if self.heard_all:
            self.transport.close()
        else:
            self.transport.write_eof()
        seconds = LINGER if len(text) < 65_536 else self.worker.limits.seconds
        self.expect(self.transport.abort, seconds)
