"""A process that talks with many clients at once, and answers them one at a time.

Lessons are passed on to another process of the same kind, the teacher. Learning may take seconds,
and may wait for other writers of the store; clients that check mail must not wait for that. A
thread would not help: with SQLite it would compete for Python's lock at every row.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter

from genus.mail.spamd.access import Access, Peer, peer_of
from genus.mail.spamd.answers import Answer, answered
from genus.mail.spamd.filters import LONGEST_USER, Filters, Stores
from genus.mail.spamd.log import Entry, identity_of, tell, write
from genus.mail.spamd.protocol import Code, Reading, Refusal, Request
from genus.mail.spamd.shared import LESSONS, Rates, Tallies
from genus.mail.store import StoreError

GRACE = 10.0  # seconds that requests in progress have when the server ends
PATIENCE = 1.0  # seconds that idle clients have then, or if another client needs the place
LINGER = 5.0  # seconds that a client has to close the connection after its answer
HELD = 10  # largest messages: the bytes that all unfinished requests of a process may hold
NO_MEMORY = (
    "there is not enough memory for this message now; try again, and lower --clients or --max-size "
    "of the server if that happens often"
)
UNREAD = Request("", (1, 0))  # stands for a request that did not arrive in full


@dataclass(frozen=True)
class Limits:
    """The largest message in bytes, the most clients of a process, and the time limit."""

    size: int = 10_000_000
    clients: int = 100
    seconds: float = 60.0


@dataclass(frozen=True)
class Service:
    """The options and counters that all processes of a server share."""

    stores: Stores
    limits: Limits = field(default_factory=Limits)
    access: Access = field(default_factory=Access)
    rates: Rates = field(default_factory=lambda: Rates(None))
    tallies: Tallies = field(default_factory=lambda: Tallies(1))
    log: str = "text"  # or json, or none


def reply(request: Request, filters: Filters, service: Service | None = None) -> bytes:
    """Return the answer to a request, even if it fails; count and log it."""
    begun = perf_counter()
    try:
        done = answered(request, filters)
    except Refusal as refusal:
        done = Answer(refusal.line, "refused", reason=refusal.reason)
    except Exception as error:
        filters.close()  # a connection may be broken; the next request opens another
        done = Answer(failure(error, request.command).line, "failed")
    if service is not None and done.outcome:
        note(service, request, done, perf_counter() - begun)
    return done.text


def failure(error: Exception, doing: str) -> Refusal:
    """Report an error on stderr, and return the refusal for the client."""
    if isinstance(error, MemoryError):
        tell(f"{doing}: {NO_MEMORY}")
        return Refusal(Code.EX_TEMPFAIL, NO_MEMORY)
    what = " ".join(str(error).split())
    if isinstance(error, StoreError | OSError):
        tell(f"{doing}: {what}")
        is_of_store = isinstance(error, StoreError)
        return Refusal(Code.EX_TEMPFAIL if is_of_store else Code.EX_IOERR, what)
    at = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(at.filename)}:{at.lineno}"
    tell(f"{doing}: this is a bug in genus: {type(error).__name__}: {what} ({where})")
    return Refusal(Code.EX_SOFTWARE, "this is a bug in genus; see the log of the server")


def note(service: Service, request: Request, done: Answer, seconds: float) -> None:
    """Count an answer, and log it."""
    tallies = service.tallies
    if done.outcome in LESSONS:
        tallies.add("lessons", done.outcome)
    elif done.score is None:
        tallies.add("events", done.outcome)
    else:
        tallies.add("messages", done.outcome)
        tallies.took(seconds)
    if service.log != "none":
        user = (request.user or "")[:LONGEST_USER]
        told = identity_of(request.message), user, done.outcome, done.score, seconds
        write(Entry(request.command, *told, done.reason).line(service.log == "json"))


async def taught(teacher: Path, request: Request) -> bytes:
    """Pass a request to the teacher, and return its answer."""
    answer = b""
    try:
        sent = request.encoded()
        reader, writer = await asyncio.open_unix_connection(teacher)
        try:
            writer.write(sent)
            writer.write_eof()
            answer = await reader.read()
        finally:
            writer.close()
    except OSError:
        pass  # it has ended, and another one is started
    except MemoryError as error:
        return failure(error, request.command).line
    return answer or Refusal(Code.EX_TEMPFAIL, "learning was interrupted; try again").line


class Worker:
    """Serves the clients of some sockets; each socket has a class for its conversations.

    A worker with a `teacher` passes lessons on to it; the teacher has none.
    """

    def __init__(
        self,
        listening: Sequence[tuple[socket.socket, type[Talk]]],
        service: Service,
        alive: int,
        teacher: Path | None = None,
    ) -> None:
        self.listening, self.teacher = list(listening), teacher
        self.service, self.limits = service, service.limits
        self.filters = Filters(service.stores)
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda _, told: tell(f"{told.get('exception', told)!r}"))
        self.conversations: set[Talk] = set()
        self.tasks: set[asyncio.Task[None]] = set()  # a loop keeps no reference to its tasks
        self.clients = self.learning = 0
        self.accepting = self.ending = False
        self.alive = alive

    def run(self) -> None:
        """Serve until SIGTERM, or until the other end of the pipe `alive` is closed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
        self.loop.add_signal_handler(signal.SIGTERM, self.end)
        self.loop.add_signal_handler(signal.SIGHUP, self.filters.close)  # reopened when needed
        self.loop.add_reader(self.alive, self.end)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        self.filters.open()
        self.accept_more()
        self.loop.run_forever()
        self.filters.close()

    def end(self) -> None:
        """Accept the clients that have already connected, finish their requests, and stop."""
        if self.ending:
            return
        self.ending = True
        self.loop.remove_reader(self.alive)
        for each, kind in self.listening:
            self.loop.remove_reader(each)
            while self.accept(each, kind):
                pass
            each.close()
        self.loop.call_later(PATIENCE, self.drop, lambda each: not each.begun)
        self.loop.call_later(GRACE, self.drop, lambda each: True)
        self.loop.call_later(GRACE + 1, self.loop.stop)
        self.stop_if_done()

    def drop(self, which: Callable[[Talk], bool]) -> None:
        for each in [each for each in self.conversations if which(each)]:
            each.transport.abort()

    def accept_more(self) -> None:
        """Listen for clients if there is room, or if a slow client can be dropped."""
        is_full = self.clients >= self.limits.clients
        room = not self.ending and (not is_full or self.slowest() is not None)
        if is_full and not room and not self.ending:
            self.loop.call_later(PATIENCE / 4, self.accept_more)
        if room != self.accepting:
            self.accepting = room
            for each, kind in self.listening:
                if room:
                    self.loop.add_reader(each, self.accept, each, kind)
                elif not self.ending:
                    self.loop.remove_reader(each)

    def slowest(self) -> Talk | None:
        """Return the client to drop if another needs its place, or None.

        It is the oldest slow client of the peer that has the most slow clients. So a peer that
        opens many idle connections only harms itself.
        """
        now = monotonic()
        slow = [each for each in self.conversations if each.keeps_waiting(now)]
        held = Counter(each.peer.key for each in slow)
        return max(slow, key=lambda each: (held[each.peer.key], -each.since), default=None)

    def accept(self, listening: socket.socket, kind: type[Talk]) -> bool:
        """Accept one client, and return whether there was one; leave the rest to idle processes."""
        if self.clients >= self.limits.clients and not self.ending and self.slowest() is None:
            self.accept_more()
            return False
        try:
            client, _ = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:  # too many open files, for example
            tell(f"cannot accept a client: {error}")
            self.rest()
            return False
        client.setblocking(False)
        if self.clients >= self.limits.clients and (slow := self.slowest()) is not None:
            self.service.tallies.add("events", "dropped")
            slow.make_room()
        self.clients += 1
        self.service.tallies.add("events", "clients")
        self.accept_more()
        task = self.loop.create_task(self.converse(client, kind))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return True

    def rest(self) -> None:
        """Accept no clients for a second."""
        if not self.ending and self.accepting:
            self.accepting = False
            for each, _ in self.listening:
                self.loop.remove_reader(each)
            self.loop.call_later(1.0, self.accept_more)

    async def converse(self, client: socket.socket, kind: type[Talk]) -> None:
        try:
            peer = peer_of(client)
            await self.loop.connect_accepted_socket(lambda: kind(self, peer), client)
        except OSError:
            client.close()
            self.left()

    def left(self) -> None:
        """Note that a client has gone."""
        self.clients -= 1
        self.stop_if_done()
        self.accept_more()

    def stop_if_done(self) -> None:
        if self.ending and self.clients == 0:
            self.loop.stop()


class Talk(asyncio.Protocol):
    """A connection to a client; it is closed if the client is too slow, or to make room."""

    transport: asyncio.Transport

    def __init__(self, worker: Worker, peer: Peer) -> None:
        self.worker, self.peer = worker, peer
        self.timer: asyncio.TimerHandle | None = None
        self.since = monotonic()  # when it connected, or got its answer

    @property
    def begun(self) -> bool:
        """Whether the client has begun a request."""
        raise NotImplementedError

    def keeps_waiting(self, now: float) -> bool:
        """Return whether the client is idle or slow, so that its place may be given to another."""
        raise NotImplementedError

    def too_slow(self) -> None:
        """Close the connection because the client is too slow."""
        self.transport.abort()

    def make_room(self) -> None:
        """Close the connection because another client needs its place."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.worker.conversations.add(self)
        self.expect(self.too_slow, self.worker.limits.seconds)

    def connection_lost(self, error: Exception | None) -> None:
        self.expect(None)
        self.worker.conversations.discard(self)
        self.worker.left()

    def expect(self, late: Callable[[], None] | None, seconds: float = 0.0) -> None:
        """Call `late` after some seconds, unless `expect` is called again before then."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None if late is None else self.worker.loop.call_later(seconds, late)


class Conversation(Talk):
    """One request in spamd's protocol, and its answer."""

    def __init__(self, worker: Worker, peer: Peer) -> None:
        super().__init__(worker, peer)
        self.reading: Reading | None = Reading(worker.limits.size)
        self.heard_all = self.said_all = False
        self.task: asyncio.Task[None] | None = None  # a loop keeps no reference to its tasks

    @property
    def begun(self) -> bool:
        return self.reading is None or self.reading.begun

    def keeps_waiting(self, now: float) -> bool:
        if self.reading is None and not self.said_all:
            return False
        is_unread = self.said_all and self.transport.get_write_buffer_size() > 0
        return now - self.since > (GRACE if is_unread else PATIENCE)

    def connection_lost(self, error: Exception | None) -> None:
        self.reading = None
        super().connection_lost(error)

    def data_received(self, data: bytes) -> None:
        if self.reading is None:
            return  # ignore what follows a request
        try:
            request = self.reading.feed(data)
        except Refusal as refusal:
            self.refuse(refusal)
        except MemoryError as error:
            self.fail(error)
        else:
            if request is not None:
                self.answer(request)
            else:
                self.bound_all()

    @property
    def held(self) -> int:
        """The number of bytes of the request that have arrived, while it is unfinished."""
        return 0 if self.reading is None else self.reading.held

    def bound_all(self) -> None:
        """If all unfinished requests together hold too many bytes, refuse one.

        It is the largest one of the peer whose requests hold the most bytes.
        """
        every = [each for each in self.worker.conversations if isinstance(each, Conversation)]
        if sum(each.held for each in every) <= HELD * self.worker.limits.size:
            return
        of_peer: Counter[str] = Counter()
        for each in every:
            of_peer[each.peer.key] += each.held
        largest = max(every, key=lambda each: (of_peer[each.peer.key], each.held))
        why = "unfinished requests hold too many bytes; try again"
        largest.refuse(Refusal(Code.EX_TEMPFAIL, why))

    def eof_received(self) -> bool:
        self.heard_all = True
        if self.reading is not None:
            if not self.reading.begun:
                self.say(b"")
                return True
            try:
                self.answer(self.reading.end())
            except Refusal as refusal:
                self.refuse(refusal)
            except MemoryError as error:
                self.fail(error)
        elif self.said_all:
            self.transport.close()
        return True

    def too_slow(self) -> None:
        seconds = f"{self.worker.limits.seconds:g}"
        self.refuse(Refusal(Code.EX_TIMEOUT, f"the request is incomplete after {seconds} s"))

    def make_room(self) -> None:
        if not self.said_all:
            self.transport.write(Refusal(Code.EX_TEMPFAIL, "too many clients; try again").line)
            self.said_all, self.reading = True, None
        self.transport.close()  # after sending what is written

    def answer(self, request: Request) -> None:
        self.reading = None
        self.expect(None)
        service = self.worker.service
        try:
            trusted = service.access.trusts(self.peer, request)
            if not trusted and not service.rates.allows(self.peer.key):
                most = f"more than {service.rates.most} requests a minute; try again later"
                raise Refusal(Code.EX_TEMPFAIL, most)
            user = service.access.user(self.peer, request)
            if trusted and self.worker.teacher is not None:  # what the teacher gets is looked up
                user = self.worker.filters.known_as(user) or user
            if request.command != "TELL" or self.worker.teacher is None:
                self.say(reply(request.of_user(user), self.worker.filters, service))
                return
            if self.worker.learning >= max(self.worker.limits.clients // 2, 1):
                raise Refusal(Code.EX_TEMPFAIL, "too many lessons are waiting; try again")
        except Refusal as refusal:
            self.refuse(refusal, request)
            return
        self.worker.learning += 1
        coroutine = self.pass_on(request.of_user(user), self.worker.teacher)
        self.task = self.worker.loop.create_task(coroutine)

    async def pass_on(self, request: Request, teacher: Path) -> None:
        try:
            self.say(await taught(teacher, request))
        finally:
            self.worker.learning -= 1

    def refuse(self, refusal: Refusal, request: Request = UNREAD) -> None:
        """Refuse a request; the log names the peer, not the user for whom it wanted to act."""
        done = Answer(refusal.line, "refused", reason=refusal.reason)
        note(self.worker.service, request.of_user(self.peer.name), done, 0.0)
        self.say(done.text)

    def fail(self, error: MemoryError) -> None:
        """Answer a request for which there is not enough memory, and free what it holds."""
        self.reading = None
        done = Answer(failure(error, "reading a request").line, "failed")
        note(self.worker.service, UNREAD.of_user(self.peer.name), done, 0.0)
        self.say(done.text)

    def say(self, text: bytes) -> None:
        """Send an answer; close only after reading the whole request, or the answer may be lost."""
        self.reading = None
        self.said_all, self.since = True, monotonic()
        if self.transport.is_closing():
            return
        self.transport.write(text)
        if self.heard_all:
            self.transport.close()
        else:
            self.transport.write_eof()
        seconds = LINGER if len(text) < 65_536 else self.worker.limits.seconds
        self.expect(self.transport.abort, seconds)
