"""genus mail milter: the protocol, bad clients, and a real Postfix."""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from genus.cli import cli
from genus.mail.boxes import messages_at
from genus.mail.milter import protocol
from genus.mail.milter.conversation import client_of
from genus.mail.milter.protocol import NoMilterProtocol, Packets, negotiated, packet
from genus.mail.spamfilter import SpamFilter
from servers import Postfix, Server, free_port, until

EXAMPLES = Path(__file__).parents[1] / "examples" / "mail"
MARKED = re.compile(rb"^X-Genus: (\w+); probability=", re.M)
OFFER = struct.pack(">III", 6, 0x1FF, 0x1FFFFF)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("learned") / "mail.sqlite"
    spam_filter = SpamFilter.open(path)
    for name in ("spam", "ham"):
        found = messages_at(str(EXAMPLES / f"{name}.mbox"))
        spam_filter.learn((raw for _, raw in found), name == "spam")
    spam_filter.close()
    return path


@pytest.fixture(scope="module")
def mail() -> list[bytes]:
    return [raw for _, raw in messages_at(str(EXAMPLES / "new.mbox"))]


class Milter(Server):
    """genus mail milter, on a Unix socket."""

    def __init__(self, learned: Path, *options: object) -> None:
        if os.environ.get("GENUS_SANITIZED") == "1":
            pytest.skip("servers run without the sanitizer, which looks at the kernel")
        super().__init__()
        self.socket = self.folder / "milter"
        self.store = Path(shutil.copyfile(learned, self.folder / "mail.sqlite"))
        whom = ["--user", "root"] if os.geteuid() == 0 else []
        whose = [] if "--users" in options else ["--store", self.store]
        self.options = ["--socket", self.socket, "--mode", "666", *whom, *whose, *options]

    def command(self) -> list[str]:
        return [sys.executable, "-m", "genus.cli", "mail", "milter", *map(str, self.options)]

    def ready(self) -> bool:
        return "Listening on" in self.said()

    def connect(self) -> Asking:
        return Asking(self.socket)


class Asking:
    """A mail server's side of a connection."""

    def __init__(self, path: Path) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(60)
        self.connection.connect(str(path))
        self.packets = Packets()
        self.heard: list[tuple[bytes, bytes]] = []

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    def say(self, kind: bytes, data: bytes = b"") -> None:
        self.connection.sendall(packet(kind, data))

    def hear(self) -> tuple[bytes, bytes]:
        while not self.heard:
            data = self.connection.recv(65_536)
            if not data:
                raise EOFError
            self.heard += self.packets.feed(data)
        return self.heard.pop(0)

    def agree(self, offer: bytes = OFFER) -> int:
        self.say(protocol.NEGOTIATE, offer)
        kind, data = self.hear()
        assert kind == protocol.NEGOTIATE
        return struct.unpack(">III", data)[2]

    def send(self, raw: bytes, steps: int, recipient: bytes = b"<user@example.com>") -> list[bytes]:
        """Hand a message over as a server does; what the milter wants changed."""

        def step(kind: bytes, data: bytes) -> bytes:
            self.say(kind, data)
            if steps & protocol.SILENT.get(kind, 0):
                return b""
            return self.hear()[0]

        step(protocol.MAIL, b"<sender@example.org>\0")
        step(protocol.RECIPIENT, recipient + b"\0")
        head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
        for line in re.sub(rb"\n(?=[^ \t])", b"\0", head).split(b"\0"):
            name, _, value = line.partition(b":")
            value = value if steps & protocol.LEADING_SPACE else value.lstrip()
            step(protocol.HEADER, name + b"\0" + value + b"\0")
        step(protocol.END_OF_HEADERS, b"")
        body = body.replace(b"\n", b"\r\n")
        for start in range(0, len(body), 65_535):
            if step(protocol.BODY, body[start : start + 65_535]) == protocol.SKIP:
                break
        self.say(protocol.END_OF_MESSAGE)
        changes = []
        while (heard := self.hear())[0] != protocol.CONTINUE:
            changes.append(heard[0] + heard[1])
        return changes


@pytest.fixture
def milter(learned: Path) -> Iterator[Callable[..., Milter]]:
    started = []

    def start(*options: object) -> Milter:
        server = Milter(learned, *options)
        started.append(server)
        server.start()
        return server

    try:
        yield start
    finally:
        for each in started:
            each.__exit__()


# The protocol


@given(st.lists(st.tuples(st.sampled_from([b"H", b"L", b"B"]), st.binary(max_size=50))), st.data())
def test_packets_may_come_in_any_pieces(sent, data):
    raw = b"".join(packet(*each) for each in sent)
    packets, heard = Packets(), []
    while raw:
        size = data.draw(st.integers(1, len(raw)))
        heard += packets.feed(raw[:size])
        raw = raw[size:]
    assert heard == sent


def test_what_both_agree_on():
    answer, steps = negotiated(OFFER)
    assert steps == protocol.WANTED_STEPS
    assert struct.unpack(">III", answer[5:]) == (6, protocol.WANTED_ACTIONS, steps)
    assert negotiated(struct.pack(">III", 2, 0x3F, 0x7F))[1] == 0  # an old Sendmail
    for offer, told in (
        (b"", "options in 0 bytes"),
        (struct.pack(">III", 1, 0x3F, 0), "version 1"),
        (struct.pack(">III", 6, 0x01, 0), "change headers"),
    ):
        with pytest.raises(NoMilterProtocol, match=told):
            negotiated(offer)


def test_clients_as_received_lines_have_them():
    assert client_of(b"mx.example\x004\x00\x19192.0.2.1\0") == b"(mx.example [192.0.2.1])"
    assert client_of(b"mx\x006\x00\x19IPv6:2001:db8::1\0") == b"(mx [2001:db8::1])"
    assert client_of(b"local\0L\0\0/run/x\0") == b"(local)"
    assert client_of(b"") == b"()"


# The milter


@pytest.mark.parametrize("version", [2, 6])
def test_verdicts_are_inserted_and_forged_ones_removed(milter, learned, mail, version):
    server = milter("--workers", "1", "--log-json")
    spam_filter = SpamFilter.open(learned)
    forged = b"X-Genus: ham; a\nSubject: x\nx-genus: ham; b\n" + mail[1]
    with server.connect() as asking:
        steps = asking.agree(OFFER if version == 6 else struct.pack(">III", 2, 0x3F, 0x7F))
        for raw in (*mail, mail[0]):  # several on one connection
            (change,) = asking.send(raw, steps)
            verdict = spam_filter.check(raw).verdict
            blank = b" " if steps & protocol.LEADING_SPACE else b""
            told = blank + verdict.encode() + b"; probability="
            assert change.startswith(b"i\0\0\0\0X-Genus\0" + told)
        changes = asking.send(forged, steps)
        assert changes[:2] == [b"m\0\0\0\2x-genus\0\0", b"m\0\0\0\1X-Genus\0\0"]
        assert changes[2].startswith(b"i\0\0\0\0X-Genus\0")
        asking.say(protocol.QUIT)
        with pytest.raises(EOFError):
            asking.hear()
    spam_filter.close()
    assert server.said().count('"command": "MILTER"') == len(mail) + 2


def test_what_fails_passes_unmarked(milter, mail):
    server = milter("--workers", "1")
    server.store.write_bytes(b"this is no database" * 1000)
    with server.connect() as asking:
        assert asking.send(mail[1], asking.agree()) == []
    assert "verdict=failed" in server.said()
    assert "bug" not in server.said()


def test_there_must_be_a_store(tmp_path, learned):
    whom = ["--user", "root"] if os.geteuid() == 0 else []
    where = ["--socket", str(tmp_path / "milter"), *whom]
    missing, site = str(tmp_path / "none" / "mail.sqlite"), str(learned)
    for options, told in (
        (["--store", missing], f"There is no store at {missing}. Learn some mail first"),
        (["--store", missing, "--site", site], f"There is no store at {missing}."),
        (["--users", str(tmp_path), "--site", missing], f"There is no store at {missing}."),
        (["--users", str(tmp_path / "none"), "--site", site], "There is no folder"),
    ):
        done = CliRunner().invoke(cli, ["mail", "milter", *where, *options])
        assert done.exit_code == 1
        assert told in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_vanishes_is_missed_not_made_again(milter, learned, mail):
    server = milter("--workers", "1")
    with server.connect() as asking:
        steps = asking.agree()
        assert len(asking.send(mail[1], steps)) == 1
        for path in server.folder.glob("mail.sqlite*"):
            path.unlink()
        for _ in range(2):
            assert asking.send(mail[1], steps) == []  # it passes unmarked
        assert server.said().count(f"MILTER: There is no store at {server.store}.") == 2
        assert server.said().count("verdict=failed") == 2
        assert not server.store.exists()
        shutil.copyfile(learned, server.store)
        (change,) = asking.send(mail[1], steps)
        assert b"spam; probability=" in change


def test_the_only_recipient_has_a_say(milter, learned, mail, tmp_path):
    spam_filter = SpamFilter.open(tmp_path / "ann.sqlite")
    for name in ("spam", "ham"):
        found = messages_at(str(EXAMPLES / f"{name}.mbox"))
        spam_filter.learn((raw for _, raw in found), name == "ham")  # to her, it is the other way
    spam_filter.close()
    (tmp_path / "ann.sqlite").rename(tmp_path / "Ann.sqlite")  # as servers wrote it before
    server = milter(
        *("--users", tmp_path, "--site", learned, "--workers", "1"),
        *("--domain", "example.com", "--domain", "test.example"),
    )
    with server.connect() as asking:
        steps = asking.agree()
        for hers in (b"<aNN@example.com>", b"<ann+lists@test.example>", b"<Ann+x>"):
            (change,) = asking.send(mail[1], steps, hers)
            assert b"spam; probability=" not in change
        for other in (
            *(b"<bob@example.com>", b"<>", b"<../ann@x>", b"\xff" * 1000),
            *(b"<ann@anything.example>", b"<ann-x@example.com>"),
        ):
            (change,) = asking.send(mail[1], steps, other)
            assert b"spam; probability=" in change
    assert server.said().count("user=Ann ") == 3


BAD = {
    "nothing": b"",
    "half a packet": b"\0\0\0\x09H",
    "an empty packet": b"\0\0\0\0",
    "a huge packet": b"\xff\xff\xff\xff" + b"x" * 1000,
    "an unknown kind": packet(b"?", b"x"),
    "a short offer": packet(b"O", b"\0"),
    "an old version": packet(b"O", struct.pack(">III", 1, 0x1FF, 0)),
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "headers before mail": packet(b"L", b"no end") + packet(b"L", b"") + packet(b"Q"),
    "macros without values": packet(b"D", b"") + packet(b"D", b"Cj") + packet(b"Q"),
}


def test_bad_servers_hold_up_nobody(milter, mail):
    server = milter("--workers", "1", "--clients", "50")
    for request in BAD.values():
        with server.connect() as asking:
            asking.connection.sendall(request)
            asking.connection.shutdown(socket.SHUT_WR)
            while True:
                try:
                    if not asking.connection.recv(1000):
                        break
                except ConnectionResetError:
                    break
    half = [server.connect() for _ in range(20)]
    with server.connect() as asking:
        assert len(asking.send(mail[0], asking.agree())) == 1
    for each in half:
        each.connection.close()
    assert "bug" not in server.said()
    assert "ended with" not in server.said()


def test_one_byte_after_the_other_is_too_slow(milter):
    server = milter("--workers", "1", "--timeout", "0.5")
    with server.connect() as asking:
        rest = iter(packet(b"H", b"x" * 1_000_000))

        def is_gone() -> bool:
            try:
                asking.connection.sendall(bytes([next(rest)]))
            except (BrokenPipeError, ConnectionResetError):
                return True
            return False

        until(is_gone, "it hangs up")


@pytest.mark.parametrize("kind", [protocol.HEADER, protocol.RECIPIENT])
def test_headers_and_recipients_are_bounded(milter, mail, kind):
    server = milter("--workers", "1", "--max-size", "100000")
    with server.connect() as asking:
        steps = asking.agree()
        assert len(asking.send(mail[0], steps)) == 1

        def is_gone() -> bool:
            try:
                asking.say(kind, b"X\0" + b"x" * 10_000 + b"\0")
            except (BrokenPipeError, ConnectionResetError):
                return True
            return False

        until(is_gone, "it hangs up")
    assert "headers of a message exceed 100000 bytes" in server.said()


def test_who_does_not_speak_makes_room(milter, mail):
    server = milter("--workers", "1", "--clients", "3")
    silent = [server.connect() for _ in range(3)]
    with server.connect() as asking, server.connect() as another:
        assert len(asking.send(mail[0], asking.agree())) == 1
        assert len(another.send(mail[0], another.agree())) == 1
        assert len(asking.send(mail[1], asking.agree())) == 1  # who has spoken is not dropped
    for each in silent:
        each.connection.close()


def test_two_milters_on_one_socket(milter, learned, mail):
    server = milter("--workers", "1")
    told = CliRunner().invoke(cli, ["mail", "milter", *map(str, server.options)])
    assert told.exit_code == 1
    assert "Another server listens on" in told.stderr
    with server.connect() as asking:  # the first goes on
        assert len(asking.send(mail[0], asking.agree())) == 1
    told = CliRunner().invoke(cli, ["mail", "milter", "--store", str(learned), "--user", "root"])
    assert told.exit_code == 2
    assert "Name where to listen" in told.stderr


# Postfix


class PostfixWithMilter(Postfix):
    """Postfix with this milter, and no other filter."""

    def __init__(self, milter: Milter) -> None:
        self.milter = milter
        super().__init__()

    def main(self) -> str:
        settings = f"smtpd_milters = unix:{self.milter.socket}\nmilter_default_action = accept\n"
        return super().main() + settings

    def services(self) -> str:
        return super().services().replace("  -o content_filter=filter:dummy\n", "", 1)


def test_postfix(milter, mail):
    server = milter("--metrics", f"127.0.0.1:{free_port()}")
    with PostfixWithMilter(server) as postfix:
        postfix.start()
        forged = b"X-Genus: ham; probability=0.1; score=-9\n" + mail[1]
        for raw, verdict in ((mail[0], b"ham"), (mail[1], b"spam"), (forged, b"spam")):
            postfix.deliver(raw)
            delivered = postfix.arrival()
            assert MARKED.findall(delivered) == [verdict]
            body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[2].rstrip()
            assert body in delivered.replace(b"\r\n", b"\n")
        server.stop()
        postfix.deliver(mail[1])
        assert MARKED.findall(postfix.arrival()) == []
