"""genus mail serve: with the real spamc, with bad clients, and with processes that die."""

from __future__ import annotations

import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from genus.cli import cli
from genus.mail.marking import mark
from genus.mail.spamd.access import Access, Peer, secret_in
from genus.mail.spamd.answers import marked, points, shown, spam_header, symbols
from genus.mail.spamd.filters import Filters, Stores
from genus.mail.spamd.listening import on_tcp, on_unix
from genus.mail.spamd.log import Entry, identity_of
from genus.mail.spamd.names import Folder, Names, own_domains
from genus.mail.spamd.protocol import HEAD, Code, Reading, Refusal, Request, answer
from genus.mail.spamd.shared import Rates, Tallies
from genus.mail.spamd.worker import reply
from genus.mail.spamfilter import SpamFilter
from genus.mail.verdict import Verdict
from scope import nightly
from servers import ROOT, Server, alive, as_user, environment, family, free_port, program, until

SELL = [
    "cheap", "watches", "pills", "viagra", "casino", "bonus",
    "winner", "prize", "loan", "credit", "offer", "click",
]  # fmt: skip
MEET = [
    "meeting", "agenda", "office", "tomorrow", "report", "draft",
    "lunch", "project", "review", "minutes", "notes", "call",
]  # fmt: skip
SPAM = b"Subject: cheap pills\r\nFrom: a@shop.example\r\n\r\nviagra casino bonus click offer\r\n"
HAM = b"Subject: project meeting\nFrom: b@work.example\n\nagenda and minutes of the review\n"
EXIM = re.compile(rb"SPAMD/\S{1,7} 0 EX_OK\r\nSpam: \S+ ; (\S+) / (\S+)\r\n\r\n")


def example(number, spam):
    """A message like others of its class, and yet none of them."""
    words = SELL if spam else MEET
    some = [words[(number * k + k) % len(words)] for k in range(1, 9)]
    sender = "shop" if spam else "work"
    head = f"Subject: {some[0]} {some[1]}\nFrom: {number}@{sender}.example\n\n"
    return f"{head}{' '.join(some)} no{number}\n".encode()


class Serve(Server):
    """genus mail serve, on a Unix socket or on loopback."""

    def __init__(self, *options, tcp=False, workers=2):
        if os.environ.get("GENUS_SANITIZED") == "1":
            pytest.skip("servers run without the sanitizer, which looks at the kernel")
        super().__init__()
        self.socket = self.folder / "socket"
        self.store = self.folder / "mail.sqlite"
        self.port = free_port() if tcp else None
        where = ["--listen", f"127.0.0.1:{self.port}"] if tcp else ["--socket", self.socket]
        whose = [] if "--users" in options else ["--store", self.store]
        whom = ["--user", "root"] if os.geteuid() == 0 and "--user" not in options else []
        self.options = [*where, "--workers", workers, *whose, *whom, *options]
        self.workers = workers

    def command(self):
        return [sys.executable, "-m", "genus.cli", "mail", "serve", *map(str, self.options)]

    def start(self):
        self.log.unlink(missing_ok=True)  # what an earlier one has said
        super().start()

    def ready(self):
        return "Listening on" in self.said()

    def connect(self):
        if self.port is None:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(60)
            connection.connect(str(self.socket))
            return connection
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def ask(self, request, end=True):
        """All that the server answers."""
        with self.connect() as connection:
            connection.sendall(request)
            if end:
                connection.shutdown(socket.SHUT_WR)
            return everything(connection)

    def request(self, command, message, *headers, version="1.5"):
        lines = [f"{command} SPAMC/{version}", f"Content-length: {len(message)}", *headers, "\r\n"]
        return self.ask("\r\n".join(lines).encode() + message)

    def spamc(self, *options, message=HAM):
        """A run of spamc."""
        to = ["-U", self.socket] if self.port is None else ["-d", "127.0.0.1", "-p", self.port]
        return subprocess.run(
            [program("spamc"), *map(str, to), *options],
            input=message,
            capture_output=True,
            env=environment(self.folder),
            timeout=60,
        )

    def members(self):
        """Process numbers of the workers, and of the one that learns."""
        assert self.process is not None
        return {pid for pid, _ in family(self.process.pid)} - {self.process.pid}

    def is_well(self):
        return self.ask(b"PING SPAMC/1.5\r\n\r\n") == b"SPAMD/1.5 0 PONG\r\n"


def everything(connection):
    answer = b""
    try:
        while piece := connection.recv(65_536):
            answer += piece
    except ConnectionResetError:
        answer += b"(reset)"
    return answer


def lengthy(command, length, *headers):
    lines = [f"{command} SPAMC/1.5", f"Content-length: {length}", *headers, "\r\n"]
    return "\r\n".join(lines).encode()


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A store that knows the two kinds of message."""
    path = tmp_path_factory.mktemp("serve") / "mail.sqlite"
    spam_filter = SpamFilter.open(path)
    for spam in (False, True):
        spam_filter.learn((example(number, spam) for number in range(200)), spam)
    assert spam_filter.check(SPAM).verdict == "spam"
    assert spam_filter.check(HAM).verdict == "ham"
    spam_filter.close()
    return path


@pytest.fixture
def serve(taught):
    """A function that starts a server with options."""
    started = []

    def start(*options, **settings):
        server = Serve(*options, **settings)
        started.append(server)
        shutil.copy(taught, server.store)
        server.start()
        return server

    try:
        yield start
    finally:
        for each in started:
            each.__exit__()


@pytest.fixture(scope="module")
def shared(taught):
    """A server that many tests ask, and none changes."""
    with Serve("--max-size", "2000000", "--timeout", "20") as server:
        shutil.copy(taught, server.store)
        server.start()
        until(lambda: len(server.members()) == 3, "three processes")
        yield server


def refused(*given, code=1):
    """The sentence of a command that does not work."""
    whom = ["--user", "root"] if os.geteuid() == 0 else []
    result = CliRunner().invoke(cli, ["mail", "serve", *whom, *map(str, given)])
    assert result.exit_code == code, result.output
    assert "bug" not in result.stderr
    return " ".join(result.stderr.split())


# The protocol

pieces = st.lists(st.integers(1, 40), min_size=1)


@given(pieces, st.sampled_from([b"\r\n", b"\n"]))
def test_a_request_may_come_in_any_pieces(sizes, end):
    raw = end.join([b"CHECK SPAMC/1.5", b"User: me", b"Content-Length: %d" % len(SPAM), b"", SPAM])
    reading, request, at = Reading(1000), None, 0
    while request is None:
        size = sizes[at % len(sizes)]
        piece, raw, at = raw[:size], raw[size:], at + 1
        assert piece, "it waits for more than there is"
        request = reading.feed(piece)
    assert not raw
    assert (request.command, request.version, request.user) == ("CHECK", (1, 5), "me")
    assert request.message == SPAM


@given(st.binary(max_size=300), st.booleans())
def test_garbage_is_refused_or_waited_for(data, like_a_request):
    reading = Reading(1000)
    line = None
    try:
        if reading.feed((b"CHECK SPAMC/1.5\r\n" if like_a_request else b"") + data) is None:
            reading.end()
    except Refusal as refusal:
        line = refusal.line
    assert line is None or re.fullmatch(rb"SPAMD/1\.0 \d+ EX_[A-Z]+: [ -~]+\r\n", line)


def test_old_clients_send_no_length_and_the_oldest_no_headers():
    reading = Reading(1000)
    assert reading.feed(b"CHECK SPAMC/1.1\r\n\r\n" + HAM) is None
    assert reading.end().message == HAM
    reading = Reading(1000)
    assert reading.feed(b"CHECK SPAMC/1.0\r\n" + HAM) is None
    assert reading.end().message == HAM


verdicts = st.sampled_from(["ham", "unsure", "spam"])
scores = st.floats(-5000, 5000)


@given(verdicts, scores)
def test_spam_has_five_points_and_nothing_else_has(verdict, score):
    judged = Verdict(verdict, 0.5, score)
    header = re.fullmatch(r"Spam: (True|False) ; (-?\d+\.\d{1,6}) / 5\.0", spam_header(judged))
    assert header is not None
    assert (header[1] == "True") == (verdict == "spam") == (float(header[2]) >= 5)
    assert len(header[2]) < 20  # which is what spamc reads


@given(verdicts, st.floats(-300, 300), st.floats(0.001, 100))
def test_points_grow_with_the_odds(verdict, score, more):
    low, high = (Verdict(verdict, 0.5, x) for x in (score, score + more))
    assert points(low) <= points(high)
    if abs(score) < 100:  # six places tell a thousandth apart there
        assert shown(low) != shown(high)


def test_answers_have_the_form_of_their_version():
    spam, body = "Spam: True ; 15.0 / 5.0", b"body"

    def of(command, *version):
        return answer(Request(command, version), spam, body)

    assert of("CHECK", 1, 5) == b"SPAMD/1.1 0 EX_OK\r\nSpam: True ; 15.0 / 5.0\r\n\r\n"
    assert of("PROCESS", 1, 5) == (
        b"SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\nSpam: True ; 15.0 / 5.0\r\n\r\nbody"
    )
    assert of("PROCESS", 1, 2) == b"SPAMD/1.1 0 EX_OK\r\nContent-length: 4\r\n\r\nbody"
    assert of("PROCESS", 1, 1) == b"SPAMD/1.0 0 EX_OK\r\nbody"
    assert EXIM.match(of("REPORT", 1, 2)).groups() == (b"15.0", b"5.0")


def test_forged_headers_go_and_the_text_stays():
    raw = b"From me Mon\r\nX-Spam-Flag: NO\r\n folded\r\nSubject: x\r\nX-Genus: ham\r\n"
    raw += b"x-spam-status: No\r\n\r\nX-Spam-Flag: NO\r\n"
    out = marked(raw, Verdict("spam", 0.999, 24.0))
    head, _, text = out.partition(b"\r\n\r\n")
    assert text == b"X-Spam-Flag: NO\r\n"
    assert head.split(b"\r\n")[1:] == [
        b"X-Genus: spam; probability=0.999; score=24",
        b"X-Spam-Flag: YES",
        b"X-Spam-Level: ******************************",
        b"X-Spam-Status: Yes, score=30.0 required=5.0 tests=GENUS_SPAM",
        b"Subject: x",
    ]
    assert marked(b"\nno headers", Verdict("ham", 0.1, -2.0)).endswith(b"GENUS_HAM\n\nno headers")


# spamc


unix_and_tcp = pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])


@unix_and_tcp
def test_spamc(serve, tcp):
    server = serve(tcp=tcp)
    assert server.spamc("-K").stdout == b"SPAMD/1.5 0\n"
    checked = server.spamc("-c", message=SPAM)
    score, threshold = map(float, checked.stdout.split(b"/"))
    assert (checked.returncode, threshold) == (1, 5.0)
    assert score > threshold
    checked = server.spamc("-c", message=HAM)
    assert checked.returncode == 0
    assert float(checked.stdout.split(b"/")[0]) < 5

    names = server.spamc("-y", message=SPAM).stdout.decode().split(",")
    assert names[0] == "GENUS_SPAM"
    assert len(names) > 3
    assert all(re.fullmatch(r"[A-Z0-9_]+", name) for name in names)

    for option in ("-R", "-r"):
        lines = server.spamc(option, message=SPAM).stdout.decode().splitlines()
        assert lines[0] == f"{score:.1f}/5.0"
        assert lines[1].startswith("genus: spam, ")
        assert "viagra" in "".join(lines)
    assert server.spamc("-R", message=HAM).stdout.split(b"\n")[1].startswith(b"genus: ham, ")
    assert server.spamc("-r", message=HAM).stdout == b""

    whole = server.spamc("-E", message=SPAM)
    assert whole.returncode == 1
    assert b"X-Spam-Flag: YES\r\n" in whole.stdout
    assert whole.stdout.endswith(SPAM)
    assert server.spamc("--headers", message=SPAM).stdout == whole.stdout
    assert server.spamc(message=HAM).stdout.endswith(HAM)


def test_spamc_learns_corrects_and_forgets(serve):
    server = serve()
    new = example(1000, spam=True)
    done, known = b"Message successfully un/learned\n", b"Message was already un/learned\n"
    for what, said in [
        ("forget", known),
        ("spam", done),
        ("spam", known),
        ("ham", done),
        ("ham", known),
        ("spam", done),
        ("forget", done),
        ("forget", known),
    ]:
        result = server.spamc("-L", what, message=new)
        assert (result.stdout, result.returncode) == (said, 0), what
        label = {"spam": "spam", "ham": "ham", "forget": None}[what]
        spam_filter = SpamFilter.open(server.store)
        assert spam_filter.label(new) == label
        spam_filter.close()


def test_a_message_that_filters_have_marked_is_the_same_message(serve):
    server = serve()
    new = example(1000, spam=True)
    server.spamc("-L", "ham", message=new)
    out = server.spamc(message=new).stdout
    assert out != new
    assert b"successfully" in server.spamc("-L", "forget", message=out).stdout


def test_spamc_compresses_where_it_can(shared):
    result = shared.spamc("-z", "-c", message=SPAM)
    if result.returncode == 64:
        pytest.skip("this spamc was built without zlib")
    assert result.returncode == 1


def test_compressed(shared):
    plain = shared.request("CHECK", SPAM)
    assert b"Spam: True" in plain
    assert shared.request("CHECK", zlib.compress(SPAM), "Compress: zlib") == plain


def test_exim_finds_the_score(shared):
    answer = shared.request("REPORT", SPAM, "User: exim", version="1.2")
    found = EXIM.match(answer)
    assert found is not None
    assert float(found[1]) >= float(found[2]) == 5
    assert b"genus: spam" in answer[found.end() :]


def test_spamc_passes_on_what_is_refused(serve):
    server = serve("--max-size", "100", workers=1)
    long = HAM + b"x" * 200_000
    assert server.spamc(message=long).stdout == long
    refused = server.spamc("-x", "-c", message=long)
    assert refused.returncode not in (0, 1)
    assert server.spamc("-L", "spam", message=long).returncode not in (0, 1)
    assert server.is_well()


# Bad clients

BAD = {
    "nothing": (b"", b""),
    "an empty line": (b"\r\n", b"76"),
    "garbage": (bytes(range(256)) * 10, b"76"),
    "NULs": (b"\0" * 1000 + b"\n", b"76"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"76"),
    "half a line": (b"CHECK SPA", b"76"),
    "half a head": (b"CHECK SPAMC/1.5\r\nContent-length: 5\r\n", b"76"),
    "half a message": (lengthy("CHECK", 1000) + HAM, b"76"),
    "more than announced": (lengthy("CHECK", 10) + HAM, b"76"),
    "an unknown command": (lengthy("DANCE", 0), b"64"),
    "no header": (b"CHECK SPAMC/1.5\r\nhello\r\n\r\n", b"76"),
    "a NUL in a header": (b"CHECK SPAMC/1.5\r\nUser: a\0b\r\n\r\n", b"76"),
    "a negative length": (lengthy("CHECK", -5), b"76"),
    "a length in letters": (lengthy("CHECK", "five"), b"76"),
    "a length of digits of elsewhere": (lengthy("CHECK", "٥"), b"76"),
    "a huge length": (lengthy("CHECK", 10**15) + HAM, b"65"),
    "a length of 2⁶³": (lengthy("CHECK", 2**63) + HAM, b"76"),
    "a length beyond numbers": (lengthy("CHECK", "9" * 5000) + HAM, b"76"),
    "too large": (lengthy("CHECK", 3_000_000) + b"x" * 3_000_000, b"65"),
    "too large, unannounced": (b"CHECK SPAMC/1.5\r\n\r\n" + b"x" * 3_000_000, b"65"),
    "a head without end": (b"CHECK SPAMC/1.5\r\n" + b"A: b\r\n" * 100_000, b"76"),
    "a line without end": (b"C" * (4 * HEAD), b"76"),
    "a header without end": (b"CHECK SPAMC/1.5\r\nUser: " + b"x" * (4 * HEAD), b"76"),
    "what is not compressed": (lengthy("CHECK", len(HAM), "Compress: zlib") + HAM, b"65"),
    "half of what is compressed": (
        lengthy("CHECK", 50, "Compress: zlib") + zlib.compress(SPAM, 0)[:50],
        b"65",
    ),
    "a bomb": (
        lengthy("CHECK", len(BOMB := zlib.compress(bytes(10**8))), "Compress: zlib") + BOMB,
        b"65",
    ),
    "another compression": (lengthy("CHECK", len(HAM), "Compress: lzma") + HAM, b"64"),
    "TELL without a word": (lengthy("TELL", len(HAM)) + HAM, b"64"),
    "TELL both": (lengthy("TELL", len(HAM), "Set: local", "Remove: local") + HAM, b"64"),
    "TELL what": (lengthy("TELL", len(HAM), "Set: local", "Message-class: eggs") + HAM, b"64"),
}
each_bad = pytest.mark.parametrize("name", BAD)


@each_bad
@pytest.mark.parametrize("end", [True, False], ids=["hangs up", "waits"])
def test_bad_requests_are_refused(shared, name, end):
    request, code = BAD[name]
    if not end and (not request or name.startswith("half a ")):
        pytest.skip("nothing can be said before there is more")
    before = shared.members()
    try:
        answer = shared.ask(request, end)
    except BrokenPipeError:
        answer = b"(reset)"
    if code:
        assert re.fullmatch(rb"SPAMD/1\.0 " + code + rb" EX_[A-Z]+: .+\r\n", answer)
    else:
        assert answer == b""
    assert shared.is_well()
    assert shared.members() == before
    assert "bug" not in shared.said()


def test_skip_and_ping(shared):
    assert shared.ask(b"SKIP SPAMC/1.5\r\n\r\n") == b""
    assert shared.ask(b"PING SPAMC/1.2\r\n", end=False) == b"SPAMD/1.5 0 PONG\r\n"


def test_odd_mail_is_answered(shared):
    for message in (b"", b"\0" * 1000, b"\r\n\r\n", b"\n", os.urandom(5000), b"a" * 10**6):
        for command in ("CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "HEADERS"):
            assert shared.request(command, message).startswith(b"SPAMD/1.1 0 EX_OK\r\n")
        assert shared.request("PROCESS", message).endswith(message)


def test_clients_who_go_away_leave_nothing_behind(shared):
    half = lengthy("PROCESS", 1_900_000) + b"x" * 1_000_000
    whole = lengthy("PROCESS", 1_900_000) + b"x" * 1_900_000

    def memory():
        status = [Path(f"/proc/{pid}/status").read_text() for pid in shared.members()]
        return sum(int(re.search(r"VmRSS:\s+(\d+)", each)[1]) for each in status) / 1000

    def come_and_go():
        for request in (half, whole):
            with shared.connect() as connection:
                connection.sendall(request)

    for _ in range(10):
        come_and_go()
    before = memory()
    for _ in range(40):
        come_and_go()
    assert shared.is_well()
    assert memory() < before + 30  # MB, of 116 that came


@nightly
def test_slow_clients_are_told_so(serve):
    server = serve("--timeout", "0.5", workers=1)
    assert b" 79 EX_TIMEOUT" in server.ask(b"CHECK SPAMC/1.5\r\n", end=False)
    assert b" 79 EX_TIMEOUT" in server.ask(b"", end=False)
    with server.connect() as connection:
        try:
            for byte in lengthy("CHECK", 10**5):
                connection.sendall(bytes([byte]))
                if select_readable(connection, 0.1):
                    break
        except BrokenPipeError:
            pass
        assert b" 79 EX_TIMEOUT" in everything(connection)
    assert server.is_well()


def select_readable(connection, seconds):
    return bool(select.select([connection], [], [], seconds)[0])


def test_clients_beyond_the_limit_take_the_place_of_the_slowest(serve):
    server = serve("--clients", "2", "--timeout", "600", workers=1)
    first, second = server.connect(), server.connect()
    for each in (first, second):
        each.sendall(b"CHECK SPAMC/1.5\r\nContent-le")
    assert server.is_well()
    assert everything(first) == b"SPAMD/1.0 75 EX_TEMPFAIL: too many clients; try again\r\n"
    second.sendall(b"ngth: %d\r\n\r\n" % len(SPAM) + SPAM)  # nobody needs its place any more
    assert b"Spam: True" in everything(second)
    for each in (first, second):
        each.close()


def test_unfinished_requests_hold_only_so_many_bytes(serve):
    server = serve("--max-size", "10000", "--timeout", "600", workers=1)
    large = [server.connect() for _ in range(12)]
    small = server.connect()
    small.sendall(lengthy("CHECK", len(SPAM)) + SPAM[:-1])
    for each in large:
        each.sendall(lengthy("CHECK", 10_000) + b"x" * 9000)
    refused = b"SPAMD/1.0 75 EX_TEMPFAIL: unfinished requests hold too many bytes; try again\r\n"
    until(lambda: sum(select_readable(each, 0) for each in large) == 1, "one is refused")
    (one,) = (each for each in large if select_readable(each, 0))
    assert everything(one) == refused
    assert server.is_well()
    small.sendall(SPAM[-1:])  # the smaller request was not refused
    assert b"Spam: True" in everything(small)
    for each in (*large, small):
        each.close()


@nightly
def test_an_honest_client_does_not_wait_for_hundreds_of_half_requests(serve):
    server = serve("--clients", "20", "--timeout", "600", workers=1)
    half = []
    try:
        for _ in range(120):
            each = server.connect()
            half.append(each)
            each.sendall(lengthy("CHECK", 1000) + b"Subject")
        # The socket here gives up after a minute, of the 600 s that each of the others has.
        assert b"Spam: True" in server.request("CHECK", SPAM)
    finally:
        for each in half:
            each.close()


@nightly
def test_who_does_not_read_holds_up_nobody(serve):
    server = serve("--timeout", "2", workers=1)
    message = HAM + b"x" * 5_000_000
    with server.connect() as lazy:
        lazy.sendall(lengthy("PROCESS", len(message)) + message)
        assert server.is_well()
        # It is dropped at last, whatever it has not read.
        until(lambda: server.ask(b"PING SPAMC/1.5\r\n") and gone(lazy), "it is dropped")
    assert server.is_well()


def gone(connection):
    try:
        connection.send(b"x")
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


# Many at once


def test_nothing_is_lost_when_many_learn_and_check(serve):
    server = serve("--workers", "3", workers=3)
    spam_filter = SpamFilter.open(server.store)
    before = spam_filter.store.totals()
    learners, lessons = 8, 12

    def learn(who):
        done = 0
        for number in range(lessons):
            spam = number % 2 == 0
            label = "Message-class: " + ("spam" if spam else "ham")
            message = example(10_000 + 100 * who + number, spam)
            done += b"DidSet: local" in server.request("TELL", message, label, "Set: local")
            assert b"Spam: True" in server.request("CHECK", SPAM)
        same = server.request("TELL", b"Subject: same\n\n", "Message-class: spam", "Set: local")
        return done, b"DidSet: local" in same

    with ThreadPoolExecutor(learners) as pool:
        done = list(pool.map(learn, range(learners)))
    assert [each for each, _ in done] == [lessons] * learners
    assert sum(same for _, same in done) == 1
    after = spam_filter.store.totals()
    assert after.ham - before.ham == learners * lessons // 2
    assert after.spam - before.spam == learners * lessons // 2 + 1

    def forget(who):
        for number in range(lessons):
            message = example(10_000 + 100 * who + number, number % 2 == 0)
            assert b"DidRemove: local" in server.request("TELL", message, "Remove: local")

    with ThreadPoolExecutor(learners) as pool:
        list(pool.map(forget, range(learners)))
    assert b"DidRemove" in server.request("TELL", b"Subject: same\n\n", "Remove: local")
    assert spam_filter.store.totals() == before
    spam_filter.close()


def test_who_checks_does_not_wait_for_who_learns(serve):
    server = serve(workers=1)
    spam_filter = SpamFilter.open(server.store)
    with ThreadPoolExecutor() as pool:
        with spam_filter.store.change():  # nobody else can write
            told = pool.submit(server.request, "TELL", SPAM, "Message-class: spam", "Set: local")
            for _ in range(20):
                assert b"Spam: True" in server.request("CHECK", SPAM)
            assert not told.done()
        assert b"DidSet: local" in told.result(60)
    spam_filter.close()


def test_spamc_many_at_once(serve):
    server = serve()
    with ThreadPoolExecutor(8) as pool:
        mail = [SPAM, HAM] * 40
        codes = list(pool.map(lambda raw: server.spamc("-c", message=raw).returncode, mail))
    assert codes == [1, 0] * 40


# Processes


@unix_and_tcp
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_what_has_begun_is_finished(serve, how, tcp):
    server = serve(tcp=tcp)
    until(lambda: len(server.members()) == 3, "three processes")
    members = family(server.process.pid)
    request = lengthy("CHECK", len(SPAM)) + SPAM
    talking = [server.connect() for _ in range(4)]
    for each in talking:
        each.sendall(request[:20])
    assert server.is_well()
    server.process.send_signal(how)
    until(lambda: refuses(server), "nobody new is served")
    for each in talking:
        each.sendall(request[20:])
        assert b"Spam: True" in everything(each)
        each.close()
    assert server.process.wait(30) == 0
    assert not alive(members)
    assert not server.socket.exists()
    assert "Ended." in server.said()
    server.process = None


def refuses(server):
    try:
        server.connect().close()
    except OSError:
        return True
    return False


def test_a_process_that_dies_is_replaced(serve):
    server = serve()
    killed = set()
    for number in (3, 6):
        until(lambda: len(server.members() - killed) == 3, "three processes that are not dead")
        for pid in server.members() - killed:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        assert b"Spam: True" in server.request("CHECK", SPAM)
        new = example(20_000 + number, spam=True)
        told = (new, "Message-class: spam", "Set: local")
        until(lambda t=told: b"DidSet" in server.request("TELL", *t), "it learns")
        until(lambda n=number: server.said().count("starting another") == n, "it is told")


def test_a_lesson_that_is_cut_short_is_told_so(serve):
    server = serve(workers=1)
    until(lambda: len(server.members()) == 2, "both processes")
    teacher = min(server.members())  # which is started first

    def files():
        found = []
        for file in Path(f"/proc/{teacher}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                found.append(os.readlink(file))
        return found

    told = [SPAM, "Message-class: spam", "Set: local"]
    until(lambda: str(server.store) in files(), "it has the store")
    before = sum(each.startswith("socket:") for each in files())
    spam_filter = SpamFilter.open(server.store)
    with ThreadPoolExecutor() as pool, spam_filter.store.change():  # so that it waits
        answer = pool.submit(server.request, "TELL", *told)
        until(lambda: sum(e.startswith("socket:") for e in files()) > before, "it wants to learn")
        os.kill(teacher, signal.SIGKILL)
        assert b" 75 EX_TEMPFAIL" in answer.result(60)
    assert spam_filter.label(SPAM) is None
    assert b"DidSet: local" in server.request("TELL", *told)
    spam_filter.close()


def test_workers_do_not_outlive_their_parent(serve):
    server = serve()
    until(lambda: len(server.members()) == 3, "three processes")
    members = family(server.process.pid)
    server.process.kill()
    server.process.wait()
    until(lambda: not alive(members), "all have ended")
    server.process = None
    server.start()  # in spite of the socket that was left behind
    assert server.is_well()


def learned_the_other_way(path):
    """Make a store that calls ham spam, and spam ham."""
    spam_filter = SpamFilter.open(path)
    for spam in (False, True):
        spam_filter.learn((example(number, not spam) for number in range(200)), spam)
    spam_filter.close()
    return path


def test_hangup_opens_the_store_again(serve):
    server = serve()
    assert b"Spam: True" in server.request("CHECK", SPAM)
    other = learned_the_other_way(server.folder / "other.sqlite")
    server.store.with_name("mail.sqlite-wal").unlink(missing_ok=True)
    server.store.with_name("mail.sqlite-shm").unlink(missing_ok=True)
    other.rename(server.store)
    server.process.send_signal(signal.SIGHUP)
    until(lambda: b"Spam: False" in server.request("CHECK", SPAM), "the other store")
    assert b"Spam: True" in server.request("CHECK", example(1002, False))


def test_a_store_that_is_replaced_is_used_at_once(serve):
    server = serve()
    learn = ("Message-class: spam", "Set: local")
    server.request("TELL", example(1001, True), *learn)  # is in the log beside the store
    assert b"Spam: True" in server.request("CHECK", SPAM)
    learned_the_other_way(server.folder / "other.sqlite").rename(server.store)
    for _ in range(8):  # of several processes
        assert b"Spam: False" in server.request("CHECK", SPAM)
        assert b"Spam: True" in server.request("CHECK", example(1002, False))
    assert b"DidSet" in server.request("TELL", example(1003, True), *learn)
    assert server.request("CHECK", SPAM).startswith(b"SPAMD/1.1 0 EX_OK")
    spam_filter = SpamFilter.open(server.store)
    assert spam_filter.label(example(1001, True)) is None
    assert spam_filter.label(example(1003, True)) == "spam"
    spam_filter.close()


AS_SYSTEMD = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_store_that_is_made_is_mentioned(serve, tmp_path, taught):
    first = tmp_path / "first" / "mail.sqlite"
    created = f"Note: There was no store at {first}, so an empty one was created."
    server = serve("--store", first, workers=1)
    assert created in server.said()
    assert b"DidSet: local" in server.request("TELL", SPAM, "Message-class: spam", "Set: local")
    server.restart()
    assert "There was no store" not in server.said()
    server = serve("--users", tmp_path / "users", "--site", tmp_path / "site.sqlite", workers=1)
    assert "There was no store at" in server.said()


def test_a_store_that_vanishes_is_missed_not_made_again(serve, taught):
    server = serve(workers=1)
    assert b"Spam: True" in server.request("CHECK", SPAM)
    for path in server.folder.glob("mail.sqlite*"):
        path.unlink()
    lesson = (SPAM, "Message-class: spam", "Set: local")
    for _ in range(2):
        for asked in (("CHECK", SPAM), ("TELL", *lesson)):
            told = server.request(*asked)
            assert told.startswith(b"SPAMD/1.0 75 EX_TEMPFAIL: There is no store at")
    assert "CHECK: There is no store at" in server.said()
    assert not server.store.exists()
    shutil.copy(taught, server.store)
    assert b"Spam: True" in server.request("CHECK", SPAM)
    assert b"DidSet: local" in server.request("TELL", *lesson)


def test_sockets_of_systemd(taught, tmp_path):
    if os.environ.get("GENUS_SANITIZED") == "1":
        pytest.skip("servers run without the sanitizer, which looks at the kernel")
    path = tmp_path / "socket"
    store = shutil.copy(taught, tmp_path / "mail.sqlite")
    given = on_unix(path)
    command = [sys.executable, "-m", "genus.cli", "mail", "serve", "--store", store]
    command += ["--user", "root"] * (os.geteuid() == 0)
    process = subprocess.Popen(
        [sys.executable, "-c", AS_SYSTEMD, str(given.fileno()), *command, "--workers", "1"],
        pass_fds=[given.fileno()],
        stderr=subprocess.PIPE,
    )
    given.close()
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(path))
            connection.sendall(b"PING SPAMC/1.5\r\n\r\n")
            assert everything(connection).endswith(b"PONG\r\n")
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert f"Listening on {path} with 1 process.".encode() in said
    assert path.exists()  # it is systemd's


# Where it listens


def test_a_socket_is_for_whom_the_mode_says(tmp_path):
    for mode in (0o600, 0o660, 0o666):
        path = tmp_path / f"{mode:o}"
        on_unix(path, mode).close()
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_socket_is_replaced_only_if_nobody_listens(tmp_path):
    path = tmp_path / "socket"
    first = on_unix(path)
    with pytest.raises(ValueError, match="Another server listens"):
        on_unix(path)
    first.close()
    on_unix(path).close()
    path.unlink()
    path.write_text("mine")
    with pytest.raises(ValueError, match="is not a socket"):
        on_unix(path)
    assert path.read_text() == "mine"
    with pytest.raises(ValueError, match="Cannot listen"):
        on_unix(tmp_path / "missing" / "socket")


def test_only_loopback_is_served():
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(ValueError, match="--allow-remote"):
            on_tcp(host, 0)
    on_tcp("127.0.0.1", 0).close()
    on_tcp("localhost", 0).close()
    on_tcp("0.0.0.0", 0, remote=True).close()
    with on_tcp("127.0.0.1", 0) as taken, pytest.raises(ValueError, match="Cannot listen"):
        on_tcp("127.0.0.1", taken.getsockname()[1])


def test_the_command_says_what_is_wrong(tmp_path):
    store = ("--store", tmp_path / "mail.sqlite")
    assert "--allow-remote" in refused("--listen", "0.0.0.0:0", *store)
    assert "is not a socket" in refused("--socket", __file__, *store)
    assert "not HOST:PORT" in refused("--listen", "here", *store, code=2)
    assert "use --socket /run/here" in refused("--listen", "/run/here", *store, code=2)
    assert "is not a mode" in refused("--mode", "999", *store, code=2)
    assert "needs --site" in refused("--users", tmp_path, code=2)
    assert "is not a domain" in refused("--domain", "@example.com", *store, code=2)
    assert "of the characters +-=_." in refused("--delimiter", "a", *store, code=2)
    (tmp_path / "text").write_text("no store at all" * 100)
    assert "is not a store" in refused(
        "--store", tmp_path / "text", "--socket", tmp_path / "socket"
    )
    assert not (tmp_path / "socket").exists()


# Users


def test_each_user_learns_alone(serve, tmp_path, taught):
    site = shutil.copy(taught, tmp_path / "site.sqlite")
    users = tmp_path / "users"
    server = serve("--users", users, "--site", site)
    news = b"Subject: newsletter\n\nweekly gardening tulips roses\n"
    first = server.request("CHECK", news, "User: anna")
    assert b"EX_OK" in first
    assert list(users.iterdir()) == []  # nobody has learned
    for number in range(30):
        raw = news + b"number %d\n" % number
        told = server.request("TELL", raw, "User: anna", "Message-class: spam", "Set: local")
        assert b"DidSet: local" in told
    assert score(server.request("CHECK", news, "User: anna")) > score(first)
    assert server.request("CHECK", news, "User: bert") == first
    assert server.request("CHECK", news) == first
    assert b"Spam: True" in server.request("CHECK", SPAM, "User: anna")
    assert {path.name for path in users.glob("*.sqlite")} == {"anna.sqlite"}
    assert stat.S_IMODE(users.stat().st_mode) == 0o700
    told = server.spamc("-u", "carl@example.org", "-L", "ham", message=news)
    assert b"successfully" in told.stdout
    assert (users / "carl@example.org.sqlite").exists()
    assert b" 64 " in server.request("TELL", news, "Message-class: spam", "Set: local")


def score(answer):
    return float(re.search(rb"Spam: \w+ ; (\S+) /", answer)[1])


@pytest.mark.parametrize(
    "name",
    [
        *("../site", "../x", "a/b", "/etc/x", ".", "..", ".x", "-x", "a b", "a\\b", "é", "x" * 129),
        *("a:b", "'; DROP TABLE lessons; --", "x" * 10_000),
    ],
    ids=lambda name: name[:30],
)
def test_names_of_users_are_names_of_files(serve_users, name):
    server, folder = serve_users
    before = {path for path in folder.rglob("*") if "site" not in path.name}
    for headers in (("Message-class: spam", "Set: local"), ("Remove: local",)):
        assert b" 64 EX_USAGE" in server.request("TELL", SPAM, f"User: {name}", *headers)
    assert b" 64 EX_USAGE" in server.request("CHECK", SPAM, f"User: {name}")
    assert {path for path in folder.rglob("*") if "site" not in path.name} == before


def test_a_name_is_looked_up_without_extension_and_without_a_domain_of_this_host():
    names = Names(frozenset({"example.org"}))
    assert names.of("ann") == ["ann"]
    assert names.of("Ann+x@Example.org") == ["Ann+x@Example.org", "Ann@Example.org", "Ann+x", "Ann"]
    assert names.of("ann+x@example.com") == ["ann+x@example.com", "ann@example.com"]
    assert names.of("+x@example.com") == ["+x@example.com"]
    assert names.of("ann+x+y") == ["ann+x+y", "ann"]
    assert Names(delimiter="").of("ann+x") == ["ann+x"]
    assert Names(delimiter="+-").of("ann-x") == ["ann-x", "ann"]


def test_domains_of_this_host(tmp_path):
    mail_name = tmp_path / "mailname"
    assert own_domains("mail.Example.org", mail_name) == {
        *("localhost", "mail.example.org", "example.org")
    }
    mail_name.write_text("example.net\n")
    assert own_domains("mail", mail_name) == {"localhost", "mail", "example.net"}


def test_names_of_stores_are_compared_in_lower_case(tmp_path, taught):
    for name in ("Ann", "Bob", "BOB"):
        shutil.copy(taught, tmp_path / f"{name}.sqlite")
    folder = Folder(tmp_path)
    assert [folder.found(name) for name in ("ann", "Ann", "ANN")] == ["Ann"] * 3
    assert [folder.found(name) for name in ("BOB", "Bob", "bob")] == ["BOB", "Bob", "Bob"]
    assert folder.found("carl") is None
    assert folder.alike() == [["BOB", "Bob"]]
    until(lambda: (tmp_path / "Carl.sqlite").touch() or folder.found("carl") == "Carl", "Carl")
    filters = Filters(Stores(site=str(taught), users=tmp_path))
    filters.to_learn("ANN").learn([SPAM], spam=False)
    filters.to_learn("Dora").learn([SPAM], spam=False)
    assert filters.to_check("ann").label(SPAM) == filters.to_check("DORA").label(SPAM) == "ham"
    filters.close()
    assert {path.stem for path in tmp_path.glob("*.sqlite")} == {
        *("Ann", "BOB", "Bob", "Carl", "dora")
    }


def test_a_name_is_the_same_user_for_serve_and_milter(tmp_path, taught):
    names = Names(frozenset({"example.org"}))
    filters = Filters(Stores(site=str(taught), users=tmp_path, names=names))
    for name in ("Ann", "bob", "bob@example.com"):
        shutil.copy(taught, tmp_path / f"{name}.sqlite")
    for name, known in (
        *(("ann", "Ann"), ("ANN@example.org", "Ann"), ("ann@example.net", None)),
        *(("bob+x@example.org", "bob"), ("Bob+x@Example.com", "bob@example.com")),
        *(("../bob", None), ("", None), ("carl@example.org", None)),
    ):
        assert filters.known_as(name) == filters.of_recipient(name)[0] == known
    filters.close()


@pytest.mark.skipif(not ROOT, reason="only root acts for others here")
def test_addresses_are_names_of_users(serve, tmp_path, taught):
    users = tmp_path / "users"
    server = serve("--users", users, "--site", taught, "--domain", "Example.org")
    assert "ann@DOMAIN has the store of ann for example.org." in server.said()
    lesson = (SPAM, "Message-class: ham", "Set: local")
    for name in ("Ann", "ann@example.org", "ANN+x@example.org"):
        assert b"EX_OK" in server.request("TELL", *lesson, f"User: {name}")
    assert [path.name for path in users.glob("*.sqlite")] == ["ann.sqlite"]
    site, hers = (server.request("CHECK", SPAM, *who) for who in ((), ("User: aNN+y",)))
    assert score(hers) < score(site) == score(server.request("CHECK", SPAM, "User: ann@a.example"))
    assert server.said().count("user=ann ") == 3  # Ann was new


def test_a_user_of_this_machine_has_no_address(named):
    """Its name is exact: a user named ann+x, or ann@example.org, is not ann."""
    access = Access(True)
    assert access.user(ANN, asking("CHECK", user="ANN")) == "ann"
    for name in ("ann+x", "ann@localhost"):
        with pytest.raises(Refusal, match="may not act for another"):
            access.user(ANN, asking("TELL", user=name))


def test_a_user_without_a_name_is_the_site(serve_users):
    server, _ = serve_users
    told = server.request("TELL", SPAM, "User: ", "Message-class: spam", "Set: local")
    assert told.startswith(b"SPAMD/1.0 64 EX_USAGE: each user has a store here")
    assert b"Spam: True" in server.request("CHECK", SPAM, "User: ")


@pytest.fixture(scope="module")
def serve_users(tmp_path_factory, taught):
    folder = tmp_path_factory.mktemp("users")
    site = shutil.copy(taught, folder / "site.sqlite")
    with Serve("--users", folder / "users", "--site", site) as server:
        server.start()
        yield server, folder


def test_a_broken_store_is_its_users_trouble(serve_users):
    server, folder = serve_users
    (folder / "users" / "eve.sqlite").write_bytes(b"this is no database" * 1000)
    assert b" 75 EX_TEMPFAIL" in server.request("CHECK", SPAM, "User: eve")
    assert "eve.sqlite is not a store" in server.said()
    assert b"Spam: True" in server.request("CHECK", SPAM, "User: adam")
    (folder / "users" / "eve.sqlite").unlink()
    assert b"Spam: True" in server.request("CHECK", SPAM, "User: eve")


def test_filters_that_are_not_used_are_closed(tmp_path, taught):
    filters = Filters(Stores(site=str(taught), users=tmp_path))
    for number in range(20):
        filters.to_learn(f"user{number}").learn([SPAM], spam=True)
    held = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert sum(path.endswith(".sqlite") and str(tmp_path) in path for path in held) <= 16
    assert filters.to_check("user0").label(SPAM) == "spam"
    filters.close()


def test_a_bug_is_told_and_survived(tmp_path, taught, capfd):
    filters = Filters(Stores(str(shutil.copy(taught, tmp_path / "mail.sqlite"))))
    request = Request("CHECK", (1, 5), {}, SPAM)
    filters.to_check(None).check = lambda message: 1 / 0
    assert reply(request, filters).startswith(b"SPAMD/1.0 70 EX_SOFTWARE: ")
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert b"Spam: True" in reply(request, filters)  # by a filter that was opened again
    filters.close()


def test_too_little_memory_is_no_bug(tmp_path, taught, capfd):
    filters = Filters(Stores(str(shutil.copy(taught, tmp_path / "mail.sqlite"))))

    def check(message):
        raise MemoryError

    filters.to_check(None).check = check
    told = reply(Request("CHECK", (1, 5), {}, SPAM), filters)
    assert told.startswith(b"SPAMD/1.0 75 EX_TEMPFAIL: there is not enough memory for this message")
    said = capfd.readouterr().err
    assert "CHECK: there is not enough memory" in said
    assert "bug" not in said
    filters.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space")
def test_too_little_memory_is_a_temporary_failure(taught):
    size, number = 8_000_000, 60

    class Limited(Serve):
        def command(self):
            return ["sh", "-c", 'ulimit -v 262144; exec "$@"', "sh", *super().command()]

    with Limited("--clients", "200", workers=1) as server:
        shutil.copy(taught, server.store)
        server.start()
        raw = SPAM + b"word " * ((size - len(SPAM)) // 5)

        def ask(number):
            with server.connect() as connection:
                with suppress(BrokenPipeError):  # it may be refused before it has sent all
                    connection.sendall(lengthy("CHECK", len(raw)) + raw)
                return everything(connection)

        with ThreadPoolExecutor(number) as pool:
            answers = [each[:80] for each in pool.map(ask, range(number))]
        said = server.log.read_text()
        assert "bug" not in said
        assert not any(b"EX_SOFTWARE" in each for each in answers)
        lacking = said.count(": there is not enough memory")
        assert said.count("verdict=failed") == lacking
        lacked = b"SPAMD/1.0 75 EX_TEMPFAIL: there is not enough memory"
        assert sum(each.startswith(lacked) for each in answers) == lacking
        until(server.is_well, "it answers again")
        assert b"Spam: True" in server.request("CHECK", SPAM)


def test_symbols_are_names(taught):
    spam_filter = SpamFilter.open(taught)
    names = symbols(spam_filter.why(SPAM + b"\r\n,,,\0 \xff\xfe viagra,casino\r\n"))
    spam_filter.close()
    assert names[0].startswith("GENUS_")
    assert all(re.fullmatch("[A-Z0-9_]+", name) for name in names)


def test_codes_are_those_of_sysexits():
    assert {code.name: int(code) for code in Code if hasattr(os, code.name)} == {
        code.name: getattr(os, code.name) for code in Code if hasattr(os, code.name)
    }


# genus-client


def client(server, *options, message=HAM, user=None, path=None):
    """A run of genus-client, as another user if root runs the tests."""
    found = shutil.which("genus-client", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("genus-client is not installed beside this Python")
    mine = shutil.copy(found, server.folder / "genus-client")  # where others can get at it
    to = ["--connect", f"127.0.0.1:{server.port}"] if server.port else ["--socket", server.socket]
    to = to if path is None else ["--socket", path]
    return subprocess.run(
        [mine, *map(str, to), *map(str, options)],
        input=message,
        capture_output=True,
        env=environment(server.folder),
        timeout=60,
        **as_user(user),
    )


@unix_and_tcp
def test_the_client_marks_as_filter_does(serve, tcp):
    server = serve(tcp=tcp)
    spam_filter = SpamFilter.open(server.store)
    forged = b"X-Genus: ham; probability=0.1; score=-9\r\n" + SPAM
    for message in (HAM, SPAM, forged, b"\0" * 1000, HAM + b"x" * 3_000_000):
        done = client(server, message=message)
        assert (done.stdout, done.stderr) == (mark(message, spam_filter.check(message)), b"")
        assert done.returncode == 0
    spam_filter.close()


def test_the_client_answers_by_its_exit_code(serve):
    server = serve(workers=1)
    for message, code, verdict in (
        (SPAM, 0, b"spam; "),
        (HAM, 1, b"ham; "),
        (b"?\n", 2, b"unsure; "),
    ):
        done = client(server, "--check", message=message)
        assert (done.returncode, done.stderr) == (code, b"")
        assert done.stdout.startswith(verdict + b"probability=")
    assert client(server, "--check", path="/nowhere").returncode == 3


def test_the_client_teaches(serve):
    server = serve(workers=1)
    new = example(1000, spam=True)
    for what, expected in (("spam", "spam"), ("ham", "ham"), ("ham", "ham"), ("forget", None)):
        done = client(server, "--learn", what, message=new)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        spam_filter = SpamFilter.open(server.store)
        assert spam_filter.label(new) == expected
        spam_filter.close()
    done = client(server, "--learn", "spam", path="/nowhere", message=new)
    assert (done.returncode, done.stdout) == (75, b"")
    assert b"Nothing was learned" in done.stderr


SAID = {
    "hangs up": b"",
    "garbage": b"garbage",
    "a refusal": b"SPAMD/1.0 75 EX_TEMPFAIL: later\r\n",
    "a refusal in sentences": b"SPAMD/1.0 75 EX_TEMPFAIL: The store is full. Try again.\r\n",
    "half an answer": b"SPAMD/1.1 0 EX_OK\r\nContent-length: 500\r\n\r\nX",
    "no length": b"SPAMD/1.1 0 EX_OK\r\n\r\nX",
    "a length of 2^63": b"SPAMD/1.1 0 EX_OK\r\nContent-length: 9223372036854775808\r\n\r\nX",
}


@pytest.mark.parametrize("name", SAID)
def test_the_client_passes_on_whatever_the_server_does(tmp_path, name):
    path = Path(tempfile.mkdtemp(prefix="genus-", dir="/tmp")) / "socket"

    class Nobody:
        folder, port, socket = tmp_path, None, path

    with on_unix(path) as listening, ThreadPoolExecutor() as pool:

        def answer():
            connection, _ = listening.accept()
            with connection:
                if name != "hangs up":
                    everything(connection)
                connection.sendall(SAID[name])

        answered = pool.submit(answer)
        done = client(Nobody(), message=SPAM * 2000)
        answered.result(60)
    assert (done.returncode, done.stdout) == (0, SPAM * 2000)
    assert done.stderr.endswith(b" The message passes unchanged.\n")
    assert b".." not in done.stderr
    shutil.rmtree(path.parent)


def test_the_client_does_not_wait_for_ever(tmp_path):
    path = Path(tempfile.mkdtemp(prefix="genus-", dir="/tmp")) / "socket"

    class Silent:
        folder, port, socket = tmp_path, None, path

    with on_unix(path):
        done = client(Silent(), "--timeout", "0.2", message=SPAM)
    assert (done.returncode, done.stdout) == (0, SPAM)
    assert b"took too long" in done.stderr
    shutil.rmtree(path.parent)


@pytest.mark.parametrize(
    "given",
    [["--what"], ["--socket"], ["--timeout", "soon"], ["--learn", "eggs"], ["--connect", "host"]],
    ids=" ".join,
)
def test_wrong_usage_of_the_client(shared, given):
    done = client(shared, *given)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"Error: ")


def test_the_client_is_a_command_of_genus(shared):
    done = subprocess.run(
        [sys.executable, "-m", "genus.cli", "mail", "client", "--socket", shared.socket, "--check"],
        input=SPAM,
        capture_output=True,
        timeout=60,
    )
    if b"not installed" not in done.stderr:
        assert (done.returncode, done.stdout[:6]) == (0, b"spam; ")


# Who may do what

ANN, BOB, MTA = Peer(1001), Peer(1002), Peer(1003)
FAR = Peer(address="192.0.2.1")
NAMED = {1001: "ann", 1002: "bob", 1003: "vmail"}


@pytest.fixture
def named(monkeypatch):
    monkeypatch.setattr(Peer, "name", property(lambda peer: NAMED.get(peer.uid, peer.address)))


def asking(command, **headers):
    return Request(command, (1, 5), headers, HAM)


ABOUT = pytest.mark.parametrize("command", ["CHECK", "REPORT", "SYMBOLS", "PROCESS", "TELL"])


@ABOUT
def test_a_peer_acts_for_itself_alone(named, command):
    access = Access(True, frozenset({MTA.uid}), "a secret of the site")
    assert access.user(ANN, asking(command)) == "ann"
    assert access.user(ANN, asking(command, user="ann")) == "ann"
    for name in ("bob", "root", "../ann", "ann\0", "'; DROP TABLE lessons", "x" * 10_000):
        with pytest.raises(Refusal, match="may not act for another"):
            access.user(ANN, asking(command, user=name))
    assert access.user(MTA, asking(command, user="bob")) == "bob"
    assert access.user(Peer(0), asking(command, user="bob")) == "bob"
    assert access.user(ANN, asking(command, user="bob", secret="a secret of the site")) == "bob"
    with pytest.raises(Refusal):
        access.user(ANN, asking(command, user="bob", secret="another secret"))


@ABOUT
def test_nobody_is_known_by_tcp(command):
    access = Access(True, frozenset(), "a secret of the site")
    known = asking(command, user="bob", secret="a secret of the site")
    assert access.user(FAR, known) == "bob"
    if command == "TELL":
        with pytest.raises(Refusal, match="TCP does not identify the user"):
            access.user(FAR, asking(command, user="bob"))
    else:
        assert access.user(FAR, asking(command, user="bob")) is None  # the site's


def test_one_store_is_for_all_who_reach_it_unless_there_is_a_secret():
    assert Access().user(FAR, asking("TELL", user="bob")) is None
    with pytest.raises(Refusal):
        Access(secret="a secret of the site").user(FAR, asking("TELL"))


@ABOUT
@pytest.mark.parametrize("apart", [True, False])
def test_a_wrong_secret_is_not_the_same_as_none(command, apart):
    access = Access(apart, secret="a secret of the site")
    for peer in (FAR, ANN, Peer(0)):
        for secret in ("another secret", "", "a secret of the sit", "ä secret"):
            with pytest.raises(Refusal, match="wrong secret"):
                access.user(peer, asking(command, user="bob", secret=secret))
        assert (
            access.user(peer, asking(command, user="bob", secret="a secret of the site")) == "bob"
        )
    with pytest.raises(Refusal, match="wrong secret: the server has none"):
        Access(True).user(FAR, asking(command, user="bob", secret="a secret"))
    assert Access().user(FAR, asking(command, secret="a secret")) is None  # one store for all


def test_a_wrong_secret_is_refused_logged_and_counted(serve, tmp_path, taught):
    (right, wrong), port = (tmp_path / "right", tmp_path / "wrong"), free_port()
    for path in (right, wrong):
        path.write_text(f"the {path.name} secret of the site\n")
        path.chmod(0o600)
    server = serve(
        *("--users", tmp_path / "users", "--site", taught, "--secret-file", right),
        *("--metrics", f"127.0.0.1:{port}"),
        tcp=True,
    )
    ask = ("--user", "nmann", "--check")
    done = client(server, *ask, "--secret-file", wrong, message=SPAM)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"wrong secret" in done.stderr
    assert client(server, *ask, "--secret-file", right, message=SPAM).returncode == 0
    assert re.search(
        r'user=127\.0\.0\.1 command=CHECK verdict=refused .* reason="wrong', server.said()
    )
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        assert 'genus_mail_events_total{event="refused"} 1\n' in answer.read().decode()


def test_the_secret_is_not_passed_on():
    request = asking("TELL", user="bob", secret="a secret").of_user("ann")
    assert request.headers == {"user": "ann"}
    assert asking("TELL", user="bob").of_user(None).user is None


@pytest.mark.skipif(not ROOT, reason="only root can be two users")
def test_one_user_neither_reads_nor_writes_the_store_of_another(taught, tmp_path):
    with Serve("--users", "users", "--site", "site.sqlite", "--mode", "666", workers=1) as server:
        server.options[server.options.index("--user") + 1] = "games"
        server.options += ["--trust", "mail"]
        folder = server.folder
        shutil.chown(folder, "games")
        shutil.copy(taught, folder / "site.sqlite")
        (folder / "site.sqlite").chmod(0o644)
        server.start()
        deadline = time.monotonic() + 20
        while not server.members() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert {os.stat(f"/proc/{pid}").st_uid for pid in server.members()} == {pwd_id("games")}
        spam = example(1000, spam=True)
        assert client(server, "--learn", "ham", message=spam, user="daemon").returncode == 0
        assert [path.name for path in (folder / "users").glob("*.sqlite")] == ["daemon.sqlite"]
        for options in (["--learn", "ham"], ["--check"], []):
            done = client(server, *options, "--user", "daemon", message=spam, user="bin")
            assert b"bin may not act for another user" in done.stderr
        done = client(server, "--learn", "spam", "--user", "daemon", message=spam, user="mail")
        assert (done.returncode, done.stderr) == (0, b"")
        spam_filter = SpamFilter.open(folder / "users" / "daemon.sqlite")
        assert spam_filter.label(spam) == "spam"
        spam_filter.close()


def pwd_id(name):
    return pwd.getpwnam(name).pw_uid


@pytest.mark.skipif(not ROOT, reason="only root is refused")
@pytest.mark.parametrize("command", ["serve", "milter"])
def test_root_is_refused(tmp_path, command):
    given = ["mail", command, "--socket", str(tmp_path / "socket"), "--store", str(tmp_path / "x")]
    result = CliRunner().invoke(cli, given)
    assert result.exit_code == 1
    assert "does not run as root" in result.stderr
    assert list(tmp_path.iterdir()) == []
    result = CliRunner().invoke(cli, [*given, "--user", "no-such-user"])
    assert "no user 'no-such-user'" in " ".join(result.stderr.split())


def test_secrets_that_others_can_read_are_refused(tmp_path):
    path = tmp_path / "secret"
    path.write_text("0123456789abcdef\n")
    path.chmod(0o640)
    with pytest.raises(ValueError, match=r"mode 640.*chmod 600"):
        secret_in(path)
    path.chmod(0o600)
    assert secret_in(path) == "0123456789abcdef"
    path.write_text("short\n")
    with pytest.raises(ValueError, match="16 characters"):
        secret_in(path)
    assert "Cannot read the secret" in refused("--secret-file", tmp_path / "none")
    assert "no user 'nobody-at-all'" in refused("--trust", "nobody-at-all")


def test_a_peer_may_ask_so_often_in_a_minute():
    rates = Rates(3)
    assert [rates.allows("uid 1") for _ in range(5)] == [True] * 3 + [False] * 2
    assert rates.allows("uid 2")
    assert all(Rates(None).allows("uid 1") for _ in range(1000))


def test_one_who_asks_too_often_is_told_so(serve, tmp_path, taught):
    server = serve("--rate", "2", "--users", tmp_path / "u", "--site", taught, tcp=True)
    answers = [server.request("CHECK", SPAM) for _ in range(3)]
    assert [b"Spam: True" in each for each in answers] == [True, True, False]
    assert answers[2].startswith(b"SPAMD/1.0 75 EX_TEMPFAIL: more than 2 requests a minute")


def test_who_is_refused_has_asked_too(serve, tmp_path, taught):
    server = serve("--rate", "2", "--users", tmp_path / "u", "--site", taught, tcp=True)
    answers = [server.request("TELL", SPAM, "User: ann", "Remove: local") for _ in range(3)]
    assert [b"EX_NOPERM" in each for each in answers] == [True, True, False]
    assert answers[2].startswith(b"SPAMD/1.0 75 EX_TEMPFAIL: more than 2 requests a minute")


def test_so_many_stores_are_made(serve, tmp_path, taught):
    users = tmp_path / "users"
    server = serve("--most-users", "2", "--users", users, "--site", taught, workers=1)
    if os.geteuid() != 0:
        pytest.skip("only root acts for others here")
    lesson = (SPAM, "Message-class: spam", "Set: local")
    for name in ("ann", "bob"):
        assert b"DidSet: local" in server.request("TELL", *lesson, f"User: {name}")
    told = server.request("TELL", *lesson, "User: carl")
    assert told.startswith(b"SPAMD/1.0 69 EX_UNAVAILABLE: there are 2 stores")
    assert b"DidSet" not in server.request("TELL", *lesson, "User: ann")
    assert len(list(users.glob("*.sqlite"))) == 2


# What is logged and counted


def test_a_line_for_each_message(serve):
    server = serve("--log-json", workers=1)
    message = b'Message-ID:\r\n <1 "2"@shop.example>\r\n' + SPAM
    server.request("CHECK", message, "User: ann\x01")
    server.request("TELL", message, "Message-class: spam", "Set: local")
    server.request("TELL", message, "Remove: remote")

    def entries():
        every = [json.loads(line) for line in server.said().splitlines()]
        return [each for each in every if "verdict" in each]

    until(lambda: len(entries()) == 3, "three lines")
    checked, learned, other = entries()
    assert checked["id"] == learned["id"] == '<1 "2"@shop.example>'
    assert (checked["verdict"], learned["verdict"], other["verdict"]) == (
        "spam",
        "learned",
        "refused",
    )
    assert checked["score"] > 0
    assert learned["score"] is None
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", checked["time"])
    assert set(checked) == {"time", "id", "user", "command", "verdict", "score", "ms"}


def test_a_line_for_each_refusal(serve, tmp_path, taught):
    server = serve(
        "--log-json", "--rate", "1", "--users", tmp_path / "u", "--site", taught, tcp=True
    )
    message = b"Message-ID: <1@shop.example>\r\n" + SPAM
    server.request("TELL", message, "User: ann", "Remove: local")
    server.request("CHECK", message, "User: ann")
    server.ask(b"CHECK SPAMC/1.5\r\nContent-length: 9223372036854775808\r\n\r\n")

    def entries():
        every = [json.loads(line) for line in server.said().splitlines()]
        return [each for each in every if "verdict" in each]

    until(lambda: len(entries()) == 3, "three lines")
    forbidden, often, malformed = entries()
    assert {each["verdict"] for each in entries()} == {"refused"}
    assert {each["user"] for each in entries()} == {"127.0.0.1"}  # not ann, who did not ask
    assert forbidden["id"] == often["id"] == "<1@shop.example>"
    assert forbidden["reason"].startswith("TCP does not identify the user")
    assert often["reason"].startswith("more than 1 requests a minute")
    assert malformed["reason"] == "Content-length is not a number of bytes"


@pytest.mark.parametrize("command", ["serve", "milter"])
def test_every_line_is_json(tmp_path, taught, command):
    class Logged(Serve):
        def command(self):
            return [command if each == "serve" else each for each in super().command()]

    with Logged("--log-json", workers=1) as server:
        shutil.copy(taught, server.store)
        server.store.chmod(0o644)
        server.start()
        os.kill(min(until(server.members, "processes")), signal.SIGKILL)
        until(lambda: "starting another" in server.said(), "another process")
        server.ask(b"\xff\xff\xff\xff no request, and no packet")
        server.stop()
        lines = [json.loads(line) for line in server.said().splitlines()]
    told = {each["level"]: each["message"] for each in lines if "level" in each}
    assert set(told) == {"info", "warning", "error"}
    assert "chmod 600" in told["warning"]
    messages = [each["message"] for each in lines if "message" in each]
    assert messages[0].startswith("The store holds 200 ham")
    assert any(each.startswith("Listening on ") for each in messages)
    assert any(re.fullmatch(r"process \d+ ended with -9; starting another", m) for m in messages)
    assert messages[-1] == "Ended."


def test_an_error_at_the_start_is_json(tmp_path):
    for command, *options in (
        ("milter", "--socket", tmp_path / "socket", "--store", tmp_path / "none"),
        ("milter", "--store", tmp_path / "none"),
        ("serve", "--socket", tmp_path / "none" / "socket"),
    ):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "genus.cli", "mail", command, "--log-json"),
                *(["--user", "root"] if ROOT else []),
                *map(str, options),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode in (1, 2), done.stdout) == (True, "")
        (line,) = done.stderr.splitlines()
        assert json.loads(line)["level"] == "error"
        assert re.match(
            "There is no store|Name where to listen|Cannot listen", json.loads(line)["message"]
        )


@given(st.text(), st.text(), st.sampled_from(["ham", "spam"]))
def test_what_strangers_write_is_one_field_of_one_line(identity, user, verdict):
    line = Entry("CHECK", identity, user, verdict, -1.0, 0.0015).line(as_json=False)
    assert line.isascii()
    assert line.isprintable()
    assert line.endswith(f" command=CHECK verdict={verdict} score=-1.0 ms=1.5")


@given(st.binary(max_size=200))
def test_a_message_id_is_printable(raw):
    assert len(identity_of(b"Message-Id: " + raw)) <= 200
    assert "\n" not in identity_of(b"Message-Id: " + raw)
    assert identity_of(b"Subject: x\n\nMessage-Id: 5") == ""


def test_metrics(serve):
    port = free_port()
    server = serve("--metrics", f"127.0.0.1:{port}", "--no-log")
    for message in (SPAM, SPAM, HAM):
        server.request("CHECK", message)
    server.request("TELL", SPAM, "Message-class: spam", "Set: local")
    server.request("DANCE", SPAM)
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert numbers['genus_mail_messages_total{verdict="spam"}'] == "2"
    assert numbers['genus_mail_messages_total{verdict="ham"}'] == "1"
    assert numbers['genus_mail_lessons_total{outcome="learned"}'] == "1"
    assert numbers['genus_mail_events_total{event="refused"}'] == "1"
    assert (
        numbers["genus_mail_seconds_count"]
        == numbers['genus_mail_seconds_bucket{le="+Inf"}']
        == "3"
    )
    assert "verdict=" not in server.said()
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"http://127.0.0.1:{port}/other", timeout=60)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"\0" * 20_000)
        assert everything(connection).startswith(b"HTTP/1.1 404")


def test_tallies_are_sums_of_processes():
    tallies = Tallies(2)
    for tallies.row in (0, 1):
        tallies.add("messages", "ham")
        tallies.took(0.003)
    assert 'verdict="ham"} 2\n' in tallies.text()
    assert 'seconds_bucket{le="0.0025"} 0\n' in tallies.text()
    assert 'seconds_bucket{le="0.005"} 2\n' in tallies.text()
