"""Talk with a mail server over one connection, and mark each message with a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import formatdate
from time import perf_counter

from genus.mail.marking import HEADER as MARK
from genus.mail.marking import told_in_header
from genus.mail.milter import protocol
from genus.mail.milter.protocol import CONTINUE, NoMilterProtocol, Packets, packet
from genus.mail.spamd.access import Peer
from genus.mail.spamd.answers import Answer
from genus.mail.spamd.log import tell
from genus.mail.spamd.protocol import Refusal, Request
from genus.mail.spamd.worker import PATIENCE, Talk, Worker, failure, note

ADDRESS = re.compile(rb"<?([^<>\s]*)>?")
NAMED = (b"j", b"i")  # macros for the Received line: the server's name and the message's queue ID
ANSWERED = (  # steps that need an answer, unless both sides have agreed on none
    protocol.CONNECT,
    protocol.HELO,
    protocol.MAIL,
    protocol.RECIPIENT,
    protocol.DATA,
    protocol.HEADER,
    protocol.END_OF_HEADERS,
    protocol.BODY,
    protocol.UNKNOWN,
)


@dataclass
class Envelope:
    """The parts of a message that have arrived so far."""

    recipients: list[bytes] = field(default_factory=list)
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    size: int = 0  # bytes of the recipients and headers

    def user(self) -> str | None:
        """Return the recipient if there is exactly one, or None."""
        if len(set(self.recipients)) != 1:
            return None
        found = ADDRESS.match(self.recipients[0])
        return None if found is None else found[1].decode("utf-8", "replace") or None


class Milter(Talk):
    """A connection from a mail server."""

    def __init__(self, worker: Worker, peer: Peer) -> None:
        super().__init__(worker, peer)
        self.packets = Packets()
        self.steps = 0
        self.has_agreed = False
        self.macros: dict[bytes, bytes] = {}
        self.client = self.helo = b""
        self.message = Envelope()

    @property
    def begun(self) -> bool:
        return bool(self.message.headers)

    def keeps_waiting(self, now: float) -> bool:
        # If its connection were closed later, a mail server would not get its mail marked.
        return not self.has_agreed and now - self.since > PATIENCE

    def data_received(self, data: bytes) -> None:
        try:
            for kind, rest in self.packets.feed(data):
                # Only whole packets restart the timer: one byte a second does not.
                self.expect(self.too_slow, self.worker.limits.seconds)
                self.hear(kind, rest)
                if self.transport.is_closing():
                    return
        except NoMilterProtocol as error:
            tell(f"milter: {error}")
            self.worker.service.tallies.add("events", "refused")
            self.transport.abort()
        except MemoryError as error:
            self.message = Envelope()
            failure(error, "MILTER")
            self.worker.service.tallies.add("events", "failed")
            self.transport.abort()

    def hear(self, kind: bytes, data: bytes) -> None:
        """Handle a packet, and answer it if the server expects an answer."""
        if kind == protocol.NEGOTIATE:
            answer, self.steps = protocol.negotiated(data)
            self.has_agreed = True
            self.transport.write(answer)
        elif kind == protocol.MACROS:
            found = protocol.macros_of(data)
            self.macros |= {name: found[name] for name in NAMED if name in found}
        elif kind in (protocol.ABORT, protocol.NEXT_CLIENT):
            self.message = Envelope()
            if kind == protocol.NEXT_CLIENT:
                self.client, self.helo, self.macros = b"", b"", {}
        elif kind == protocol.QUIT:
            self.transport.close()
        elif kind == protocol.END_OF_MESSAGE:
            self.add_to_body(data)
            self.transport.write(self.judged() + packet(CONTINUE))
            self.message = Envelope()
        elif kind in ANSWERED:
            answer = packet(self.take(kind, data))
            if not self.steps & protocol.SILENT.get(kind, 0):
                self.transport.write(answer)
        else:
            raise NoMilterProtocol(f"a packet of an unknown kind, {kind!r}")

    def take(self, kind: bytes, data: bytes) -> bytes:
        """Store the part of a message that belongs to this step, and return the answer."""
        if kind == protocol.CONNECT:
            self.client = client_of(data)
        elif kind == protocol.HELO:
            self.helo = protocol.texts(data)[0]
        elif kind == protocol.MAIL:
            self.message = Envelope()
        elif kind == protocol.RECIPIENT:
            self.bound(data)
            self.message.recipients.append(protocol.texts(data)[0])
        elif kind == protocol.HEADER:
            self.bound(data)
            self.add_header(data)
        elif kind == protocol.BODY and not self.add_to_body(data):
            return protocol.SKIP if self.steps & protocol.MAY_SKIP else CONTINUE
        return CONTINUE

    def bound(self, data: bytes) -> None:
        """Raise an error if the recipients and headers take more than a message may."""
        self.message.size += len(data)
        if self.message.size > self.worker.limits.size:
            raise NoMilterProtocol(
                f"the recipients and headers of a message exceed {self.worker.limits.size} bytes"
            )

    def add_header(self, data: bytes) -> None:
        name, _, value = data.removesuffix(b"\0").partition(b"\0")
        if not self.steps & protocol.LEADING_SPACE:
            value = b" " + value
        self.message.headers.append((name, value))

    def add_to_body(self, data: bytes) -> bool:
        """Add a piece to the body up to the size limit; return whether more fits."""
        room = self.worker.limits.size - len(self.message.body)
        self.message.body += data[: max(room, 0)]
        return len(data) < room

    def judged(self) -> bytes:
        """Return the changes to a message: add a header with the verdict, and remove forged ones.

        If anything fails, the message passes without a verdict.
        """
        begun, message = perf_counter(), self.message
        request = Request("MILTER", (1, 0))
        removed, done, changes = self.forged(), Answer(b"", "failed"), b""
        try:
            request = Request("MILTER", (1, 0), {}, self.raw())
            user, spam_filter = self.worker.filters.of_recipient(message.user())
            request = request.of_user(user)
            verdict = spam_filter.check(request.message)
            done = Answer(b"", verdict.verdict, verdict.score)
            # If both sides send the blank after the colon, the server does not insert one.
            blank = b" " if self.steps & protocol.LEADING_SPACE else b""
            value = blank + told_in_header(verdict).encode()
            changes = protocol.insert_header(MARK.encode(), value)
        except Refusal as refusal:
            tell(f"MILTER: {refusal.reason}")
        except Exception as error:
            self.worker.filters.close()
            failure(error, "MILTER")
        note(self.worker.service, request, done, perf_counter() - begun)
        return removed + changes

    def forged(self) -> bytes:
        """Return packets that remove X-Genus headers, the last first, so numbers stay valid."""
        numbers: dict[bytes, int] = {}
        found = []
        for name, _ in self.message.headers:
            numbers[name.lower()] = number = numbers.get(name.lower(), 0) + 1
            if name.lower() == MARK.lower().encode():
                found.append(protocol.remove_header(name, number))
        return b"".join(reversed(found))

    def raw(self) -> bytes:
        """Return the message as it will be stored, with the Received line that the server adds."""
        lines = [self.received()] if self.client else []
        lines += [name + b":" + value for name, value in self.message.headers]
        head = b"".join(re.sub(rb"\r?\n", rb"\r\n", line) + b"\r\n" for line in lines)
        return head + b"\r\n" + bytes(self.message.body)

    def received(self) -> bytes:
        server, queue = (self.macros.get(each, b"unknown") for each in NAMED)
        mine = b"\r\n\tby " + server + b" with ESMTP id " + queue
        date = formatdate(localtime=True).encode()
        return (
            b"Received: from "
            + (self.helo or b"unknown")
            + b" "
            + self.client
            + mine
            + b"; "
            + date
        )


def client_of(data: bytes) -> bytes:
    """Return the client in the form of a Received line: (name [address])."""
    name, _, rest = data.partition(b"\0")
    address = rest[3:].partition(b"\0")[0] if rest[:1] in (b"4", b"6") else b""
    address = address.removeprefix(b"IPv6:")
    return b"(" + name + (b" [" + address + b"]" if address else b"") + b")"
