"""Mail that is broken or made to break filters: no exception, no second lost, no header forged."""

from __future__ import annotations

import base64
import email.parser
import math
import os
import random
import re
import tarfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genus.mail import identity, marking, message, tokens
from genus.mail.charsets import known
from genus.mail.identity import digest
from genus.mail.marking import mark, unmark
from genus.mail.message import LIMITS, read
from genus.mail.spamfilter import SpamFilter
from genus.mail.tokens import GROUPS, MOST_TOKENS, pieces_of, tokens_of
from genus.mail.verdict import Verdict
from genus.text.hashes import KINDS
from scope import EVERYTHING, SANITIZED, at_night

SECONDS = 20.0 if SANITIZED else 1.0  # of the processor's time, for anything with one message
LONGEST_TOKEN = 200
unlike_the_kernel = pytest.mark.skipif(SANITIZED, reason="little of this gets to the kernel")
MEGABYTE = 1 << 20
MUCH = MEGABYTE >> (0 if EVERYTHING else 4) >> (2 if SANITIZED else 0)
OURS = re.compile(
    rb"X-Genus: (ham|unsure|spam); probability=0?\.?[0-9]+(\.[0-9]+)?(e-[0-9]+)?"
    rb"; score=-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?(; reason=mostly-(unread|new))?"
)
T = TypeVar("T")


def listed(words: str) -> list[str]:
    return words.split("|")


LETTER = b"""Received: from mail.example.org (mail.example.org [192.0.2.7])
 by mx.example.net with ESMTP
Return-Path: <ann@example.org>
From: =?utf-8?q?Ann_M=C3=BCller?= <ann@example.org>
To: Bob <bob@example.net>, carol@example.net
Subject: =?iso-8859-1?Q?Gr=FC=DFe?= from the sea
Date: Mon, 1 Jan 2024 12:00:00 +0100
Message-ID: <20240101.1200@mail.example.org>
MIME-Version: 1.0
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

Hello Bob,

the water is cold, and the caf=C3=A9 opens at noon: https://sea.example.org/m=
enu?day=3D1. Write to carol@example.net!

Ann
"""
OFFER = b"""From bulk@shop.example Mon Jan  1 12:00:00 2024
From: "BEST PRICES" <x123456@shop.example>
To: undisclosed-recipients:;
Subject: =?utf-8?B?RlJFRSBtb25leSE=?= $$$ 50% OFF!!!
X-Mailer: Bulk Mailer 5.0
Content-Type: multipart/mixed; boundary="outer"

preamble
--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=us-ascii

Buy now for $99.95, see www.shop.example
--inner
Content-Type: text/html; charset="windows-1252"
Content-Transfer-Encoding: base64

PGh0bWw+PGJvZHkgYmdjb2xvcj0jZmZmPjxwPkJ1eSA8Yj5ub3c8L2I+ITxmb250IGNvbG9yPXdoaXRl
PnBvZW08L2ZvbnQ+PGEgaHJlZj0iaHR0cDovL3Nob3AuZXhhbXBsZS94Ij5oZXJlPC9hPjwhLS0geCAt
LT48c2NyaXB0PmFsZXJ0KDEpPC9zY3JpcHQ+PC9ib2R5PjwvaHRtbD4=
--inner--
--outer
Content-Type: application/zip; name*0*=utf-8''in%76; name*1=oice.zip
Content-Disposition: attachment; filename="invoice.zip"
Content-Transfer-Encoding: base64

UEsDBBQAAAAIAA==
--outer
Content-Type: message/rfc822

Subject: forwarded

inner text
--outer--
"""
NOTICE = (
    "Subject: Re: [list] 会议 встреча\r\nFrom: list-bounces@lists.example\r\nX-Genus: ham\r\n"
    "X-Spam-Status: No\r\nContent-Type: text/html\r\n\r\n<html><title>时间</title>"
    "<div style='display:none'>скрыто</div>ﬁne&nbsp;prіnt&#8203;ed<img src=cid:1 alt='x'>\r\n"
).encode()
LETTERS = [LETTER, OFFER, NOTICE]


@pytest.fixture(scope="module")
def spam_filter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpamFilter]:
    """A filter that has learned a little of both."""
    opened = SpamFilter.open(tmp_path_factory.mktemp("store") / "mail.sqlite")
    for spam, base in ((False, LETTER), (True, OFFER)):
        opened.learn([base.replace(b"noon", b"%d noon" % i) + b"%d" % i for i in range(8)], spam)
    yield opened
    opened.close()


def within_time(what: str, run: Callable[[], T]) -> T:
    """What it returns; it fails if that took too long twice, as others use the machine, too."""
    for _ in range(2):
        start = time.process_time()
        result = run()
        seconds = time.process_time() - start
        if seconds <= SECONDS:
            return result
    raise AssertionError(f"{what} took {seconds:.1f} s.")


def body_of(raw: bytes) -> bytes:
    ends = [raw.find(empty) + len(empty) for empty in (b"\n\n", b"\n\r\n") if empty in raw]
    found = re.match(rb"\r?\n", raw)
    return raw[found.end() if found else min(ends, default=len(raw)) :]


def head_of(raw: bytes) -> bytes:
    return raw[: len(raw) - len(body_of(raw))]


def assert_survives(raw: bytes, spam_filter: SpamFilter) -> None:
    """All that is done with a message is done in time, within limits, and harms nobody."""
    assert_read(raw)
    verdict = within_time("check", lambda: spam_filter.check(raw))
    assert verdict.verdict in ("ham", "unsure", "spam")
    assert 0 < verdict.probability < 1
    assert math.isfinite(verdict.score)
    why = within_time("why", lambda: spam_filter.why(raw))
    assert why.verdict == verdict
    for clue in why.evidence:
        assert math.isfinite(clue.weight)
        clue.token.encode()
        assert "\n" not in clue.token
    within_time("why as text", why.text).encode()
    assert_marked(raw, verdict)


def assert_read(raw: bytes) -> None:
    found = within_time("read", lambda: read(raw))
    assert len(found.headers) <= LIMITS.headers
    assert len(found.parts) <= LIMITS.parts + 1
    assert sum(len(part.text or "") for part in found.parts) <= LIMITS.text
    for name, value in found.headers:
        assert len(name) <= 76
        assert len(value) <= 2 * LIMITS.header  # some letters are two characters
        value.encode()
    pieces = within_time("pieces", lambda: pieces_of(found))
    for token in pieces.tokens:
        assert len(token) <= LONGEST_TOKEN
        assert "\n" not in token
        token.encode()
    ids = within_time("tokens", lambda: tokens_of(raw))
    assert 0 < len(ids) <= MOST_TOKENS
    assert ids.dtype == np.uint32
    assert (np.diff(ids.astype(np.int64)) > 0).all()
    assert (ids % KINDS < len(GROUPS)).all()
    assert len(within_time("digest", lambda: digest(raw))) == 16


def assert_marked(raw: bytes, verdict: Verdict) -> None:
    marked = within_time("mark", lambda: mark(raw, verdict))
    bare = within_time("unmark", lambda: unmark(marked))
    assert body_of(marked) == body_of(bare) == body_of(raw)
    assert within_time("mark again", lambda: mark(marked, verdict)) == marked
    head = head_of(marked)
    envelope = rb"(?:From [^\n]*\n|From [^\r]*\r)?"
    rest = re.sub(envelope, b"", marked, count=1)
    if b"\n" not in rest:  # a bare \r ends the lines of such a message
        head = head.partition(b"\r\r")[0] + b"\r"
    elif head == marked:  # without an empty line; each \n may have become \r\n twice
        head = re.split(rb"(?m)^\r+\n", head)[0]
    top = re.match(envelope + rb"([^\r\n]*)(?:\r?\n|\r)(?![ \t])", head)
    assert top is not None
    assert OURS.fullmatch(top.group(1))
    ours = re.findall(rb"(?:\A|[\r\n])(x-genus[^:\r\n]*:[^\r\n]*)", head.lower())
    assert ours[0] == top.group(1).lower()
    assert ours[1:] in ([], [b"x-genus-first-line:"])
    if len(head) < 100_000:
        parsed = email.parser.BytesHeaderParser().parsebytes(head)
        assert parsed.get_all("X-Genus") == [top.group(1).partition(b": ")[2].decode()]
    # A forged header after a bare \r gets another name.
    if not re.search(rb"\r(x-genus|forged-)", raw.lower()):
        assert digest(marked) == digest(raw)


# Real mail


@cache
def corpus(folder: Path) -> dict[str, list[bytes]]:
    """The messages of each collection."""
    found: dict[str, list[bytes]] = {}
    with tarfile.open(folder / "spamassassin.tar.gz") as archive:
        for member in archive:
            _, _, collection = os.path.dirname(member.name).partition("/")
            file = archive.extractfile(member) if member.isfile() and collection else None
            if file is not None:
                found.setdefault(collection, []).append(file.read())
    return found


@pytest.fixture(scope="module")
def real(data_folder: Path) -> dict[str, list[bytes]]:
    if not (data_folder / "spamassassin.tar.gz").exists():
        pytest.skip(f"no spamassassin.tar.gz in {data_folder}: set GENUS_DATA")
    return corpus(data_folder)


@pytest.mark.parametrize("collection", ["easy_ham", "easy_ham_2", "hard_ham", "spam", "spam_2"])
def test_real_mail(collection: str, real: dict[str, list[bytes]], spam_filter: SpamFilter) -> None:
    assert sum(map(len, real.values())) == 6046
    for raw in real[collection][:: 50 if SANITIZED else 1 if EVERYTHING else 15]:
        assert_survives(raw, spam_filter)


# Line ends


def test_a_mark_changes_nothing_else_whatever_ends_the_lines() -> None:
    rng = random.Random(0)
    pieces = [b"\r", b"\n", b"\r\n", b"\r\r\n", b"\n\n", b"\r\n\r\n", b"\r\r", b"Subject: a"]
    pieces += [b" fold", b"To: b", b"text"]
    verdict = Verdict("spam", 0.9, 3.0)
    for _ in range(5000):
        raw = rng.choice([b"", b"From x y"]) + b"".join(rng.choices(pieces, k=rng.randint(1, 9)))
        marked = mark(raw, verdict)
        assert digest(marked) == digest(raw), raw
        assert mark(marked, verdict) == marked, raw


# Mutations


def flipped(raw: bytes, rng: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.randint(1, 30)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncated(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randint(0, len(raw))]


def beheaded(raw: bytes, rng: random.Random) -> bytes:
    return raw[rng.randint(0, len(raw)) :]


def spliced(raw: bytes, rng: random.Random) -> bytes:
    other = rng.choice(LETTERS)
    at = rng.randint(0, len(other))
    return truncated(raw, rng) + other[at:]


def repeated(raw: bytes, rng: random.Random) -> bytes:
    start = rng.randint(0, len(raw))
    end = rng.randint(start, min(len(raw), start + 500))
    return raw[:end] + raw[start:end] * rng.randint(1, 50) + raw[end:]


def reordered(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def doubled_headers(raw: bytes, rng: random.Random) -> bytes:
    head, _, body = raw.partition(b"\n\n")
    lines = head.split(b"\n")
    return b"\n".join(lines + rng.sample(lines, min(len(lines), 5))) + b"\n\n" + body


def swapped_boundaries(raw: bytes, rng: random.Random) -> bytes:
    marks = sorted(set(re.findall(rb"^--\S+", raw, re.MULTILINE))) or [b"--x"]
    return re.sub(rb"(?m)^--\S+", lambda _: rng.choice(marks), raw)


def with_noise(raw: bytes, rng: random.Random) -> bytes:
    noise = [
        b"\r",
        b"\0",
        b"\n",
        b"\r\n\r\n",
        b"=?",
        b"\nX-Genus: ham\n",
        b"\rX-Genus: ham",
        b"\n ",
    ]
    for _ in range(rng.randint(1, 10)):
        at = rng.randint(0, len(raw))
        raw = raw[:at] + rng.choice(noise) + raw[at:]
    return raw


def with_other_ends(raw: bytes, rng: random.Random) -> bytes:
    return re.sub(rb"\r?\n", lambda _: rng.choice([b"\n", b"\r\n", b"\r", b"\n\r"]), raw)


def recoded(raw: bytes, rng: random.Random) -> bytes:
    charsets = [b"utf-16", b"utf-7", b"zip", b"idna", b"gb18030", b"\xff", b"'", b"utf-32", b"hz"]
    raw = re.sub(rb"(?i)charset=\"?[\w-]+", lambda _: b"charset=" + rng.choice(charsets), raw)
    ways = [b"base64", b"quoted-printable", b"8bit", b"uuencode", b"\0"]
    return re.sub(
        rb"(?i)(transfer-encoding: )\S+", lambda found: found.group(1) + rng.choice(ways), raw
    )


MUTATIONS = [
    flipped,
    truncated,
    beheaded,
    spliced,
    repeated,
    reordered,
    doubled_headers,
    swapped_boundaries,
    with_noise,
    with_other_ends,
    recoded,
]


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutations(mutation: Callable[..., bytes], spam_filter: SpamFilter) -> None:
    rng = random.Random(mutation.__name__)
    for raw in LETTERS * (2 if SANITIZED else 20 if EVERYTHING else 4):
        assert_survives(mutation(raw, rng), spam_filter)
        assert_survives(mutation(rng.choice(MUTATIONS)(raw, rng), rng), spam_filter)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutations_of_real_mail(
    mutation: Callable[..., bytes], real: dict[str, list[bytes]], spam_filter: SpamFilter
) -> None:
    rng = random.Random(mutation.__name__)
    whole = [raw for messages in real.values() for raw in messages]
    for raw in rng.sample(whole, 5 if SANITIZED else 60 if EVERYTHING else 20):
        assert_survives(mutation(raw, rng), spam_filter)


# Messages made of pieces, by hypothesis

NAMES = listed(
    "Subject|From|To|Cc|Received|Message-ID|Date|X-Mailer|Content-Type|Content-Disposition"
    "|X-Foo|Content-Transfer-Encoding|X-Genus|x-genus-reason|X-Spam-Status|List-Id|Return-Path"
    "| |From x|:"
)
VALUES = listed(
    "=?utf-8?q?a=0Ab?=|=?utf-8?b?!!!?=|=?utf-7?q?+2AA-?=|=?zip?b?eJw=?=|=?|?=|=?a?q?"
    "|a@b.example|<>|multipart/mixed; boundary=b|multipart/digest; boundary=b|message/rfc822"
    '|text/html|text/plain; charset=utf-16|; charset="|; boundary*0=b; boundary*1*=%41'
    "|; name*9999999999=x|base64|attachment|quoted-printable|;filename==?utf-8?b?/w==?="
    "|\n X-Genus: ham|\r\n\tx|\rX-Genus: ham|\0|[SPAM]|from a.example by 192.0.2.1 with|spam"
    "|; filename*=utf-7''+2AA-|\n|\r|,|Mon, 1 Jan|é|\ud7ff"
)
BODIES = listed(
    "--b|--b--|\n|\n\n|\r\n|\r|\0|<html>|<a href='//x.example/'>|<!--|-->|<script>|</|&#|;"
    "|&#xD800;|x |=|=\n|=3D|QUI=|\ufdfa|\u0301|\u200b|价格|://a@b:1/|www.|@a.b|\1u|From |>From "
    "|X-Genus: ham\n|Content-Type: text/html\n\n|Content-Type: multipart/mixed; boundary=b\n\n"
    "|\nSubject: x\n\n"
)

values = st.lists(st.sampled_from(VALUES) | st.text(max_size=5), max_size=6).map("".join)
headers = st.lists(st.tuples(st.sampled_from(NAMES), values), max_size=8).map(
    lambda found: "".join(f"{name}: {value}\n" for name, value in found)
)
bodies = st.lists(st.sampled_from(BODIES) | st.text(max_size=5), max_size=30).map("".join)
starts = st.sampled_from(["", "From a\n", "From a", "From a\r", " x\n", "\t", "\n", "\r", "\r\n"])


@example(start="From a\r", head="", between="\r\n", body="", end=b"")
@given(starts, headers, st.sampled_from(["\n", "\r\n", "\r", ""]), bodies, st.binary(max_size=5))
def test_messages_of_pieces(
    spam_filter: SpamFilter, start: str, head: str, between: str, body: str, end: bytes
) -> None:
    raw = (start + head + between + body).encode("utf-8", "replace") + end
    assert_survives(raw, spam_filter)


@given(st.binary(max_size=300))
def test_any_bytes(spam_filter: SpamFilter, raw: bytes) -> None:
    assert_survives(raw, spam_filter)


@given(st.text(st.sampled_from("xX-genusGENUS:\r\n \tF:rom"), max_size=80))
def test_forged_headers(text: str) -> None:
    assert_marked(text.encode(), Verdict("spam", 0.998, 6.2))


forged = st.sampled_from(
    [
        "X-Genus: ham",
        "x-genus-first-line:",
        "X-GENUS",
        ":",
        "\r",
        "\n",
        "\r\n",
        " ",
        "a: b",
        "\t",
        "x",
    ]
)


@given(st.lists(forged, max_size=20).map("".join))
@example("\rX-Genus: ham")
@example("a: b\r\rX-Genus: ham")
def test_forged_headers_of_pieces(text: str) -> None:
    assert_marked(text.encode(), Verdict("spam", 0.998, 6.2))


# Crafted mail


def plain(body: bytes, charset: bytes = b"utf-8") -> bytes:
    return b"Subject: a\nContent-Type: text/plain; charset=" + charset + b"\n\n" + body


def html(body: bytes) -> bytes:
    return b"Subject: a\nContent-Type: text/html; charset=utf-8\n\n<html>" + body


def filled(unit: bytes, size: int = MUCH) -> bytes:
    return unit * (size // len(unit))


def parts_with(head: bytes, count: int) -> bytes:
    return b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n%b\n\nx\n" % head * count


def nested(depth: int, body: bytes = b"\nhello") -> bytes:
    head = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n"
    return b"".join(head % (i, i) for i in range(depth)) + body


def numbered(unit: bytes, count: int) -> bytes:
    return b"".join(unit % i for i in range(count))


STRUCTURE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "5,000 levels": lambda: nested(5000),
    "30 levels of a megabyte": lambda: nested(29, b"\n" + filled(b"x ")),
    "5,000 forwards": lambda: b"Content-Type: message/rfc822\n\n" * 5000 + b"hi",
    "forwards in base64": lambda: wrapped(20),
    "one boundary": lambda: b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * 5000,
    "100,000 parts": lambda: parts_with(b"", 100_000),
    "200,000 boundaries": lambda: b"Content-Type: multipart/x; boundary=b\n\n" + b"--b\n" * 200_000,
    "many at many levels": lambda: b"".join(
        b"Content-Type: multipart/x; boundary=b%d\n\n" % i
        + b"--b%d\n\nx\n" % i * 500
        + b"--b%d\n" % i
        for i in range(28)
    ),
    "boundary of a line": lambda: b'Content-Type: multipart/x; boundary="\n"\n\n' + filled(b"--\n"),
    "long boundary": lambda: (
        b"Content-Type: multipart/x; boundary=" + b"b" * 4000 + filled(b"\n\n--b")
    ),
    "broken base64": lambda: b"Content-Transfer-Encoding: base64\n\n" + filled(b"="),
    "pieces of base64": lambda: b"Content-Transfer-Encoding: base64\n\n" + filled(b"QUI=\n"),
    "odd base64": lambda: b"Content-Transfer-Encoding: base64\n\n" + filled(b"A") + b"A",
    "no base64": lambda: b"Content-Transfer-Encoding: base64\n\n" + filled(b"\xff!"),
    "broken quoting": lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b"="),
    "soft ends": lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b"=\n"),
    "no hexadecimals": lambda: b"Content-Transfer-Encoding: quoted-printable\n\n" + filled(b"=G1"),
    "NUL everywhere": lambda: LETTER.replace(b" ", b"\0").replace(b":", b":\0"),
    "bare CR": lambda: LETTER.replace(b"\n", b"\r"),
    "megabyte of From": lambda: filled(b"From \n"),
    "megabyte of >From": lambda: filled(b">From x\n"),
}
LARGE: dict[str, Callable[[], bytes]] = {
    "8 MB of blank references": lambda: html(filled(b"&nbsp;" * 8 + b"x", LIMITS.size - 200)),
    "8 MB of tags": lambda: html(filled(b"<p><b a=c>", LIMITS.size - 200)),
    "8 MB of comments": lambda: html(filled(b"<!-- noon -->", LIMITS.size - 200)),
    "8 MB hidden, in no charset": lambda: html(
        b"<p style='display:none'>"
        + filled(b"\x81", 4_000_000)
        + b"</p>"
        + filled(b"\x81", 4_000_000)
    ),
    "50 MB of x": lambda: b"Subject: a\n\n" + filled(b"x", 50 * MEGABYTE),
    "50 MB of words": lambda: b"Subject: a\n\n" + filled(b"hello world ", 50 * MEGABYTE),
    "50 MB of lines": lambda: LETTER + filled(b"hello world\r\n", 50 * MEGABYTE),
    "50 MB without a body": lambda: filled(b"x", 50 * MEGABYTE),
    "50 MB of lines without a body": lambda: filled(b"a\n", 50 * MEGABYTE),
    "50 MB of From": lambda: filled(b"From \n", 50 * MEGABYTE),
    "50 MB of CR": lambda: filled(b"\r", 50 * MEGABYTE),
    "50 MB of NUL": lambda: filled(b"\0", 50 * MEGABYTE),
    "50 MB of base64": lambda: (
        LETTER.replace(b"quoted-printable", b"base64") + filled(b"QUJD" * 19 + b"\n", 50 * MEGABYTE)
    ),
    "10 MB of headers": lambda: filled(b"a:\n", 10 * MEGABYTE) + b"\nx",
    "10 MB of verdicts": lambda: filled(b"X-Spam: a\n", 10 * MEGABYTE) + b"\nx",
    "10 MB of one header": lambda: b"Subject: " + filled(b"a ", 10 * MEGABYTE) + b"\n\nx",
    "10 MB of folds": lambda: b"Subject: a\n" + filled(b" a\n", 10 * MEGABYTE) + b"\nx",
    "50 MB of forgeries": lambda: filled(b"X-Genus: a\n", 50 * MEGABYTE) + b"\nx",
    "50 MB of forgeries after CR": lambda: b"a: b\r" + filled(b"X-Genus: a\r", 50 * MEGABYTE),
    "10 MB of forgeries and others": lambda: filled(b"X-Genus:\na:\n", 10 * MEGABYTE) + b"\nx",
    "10 MB of a folded forgery": lambda: b"X-Genus:\n" + filled(b" a\n", 10 * MEGABYTE) + b"\nx",
    "10 MB of no forgery": lambda: filled(b"x-genus", 10 * MEGABYTE) + b"\nx",
}


def wrapped(depth: int) -> bytes:
    raw = b"Subject: inner\n\nhello"
    for _ in range(depth):
        head = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
        raw = head + base64.encodebytes(raw)
    return raw


@pytest.mark.parametrize("name", STRUCTURE)
def test_broken_structure(name: str, spam_filter: SpamFilter) -> None:
    assert_survives(STRUCTURE[name](), spam_filter)


@unlike_the_kernel
@pytest.mark.parametrize(
    "name",
    at_night(
        LARGE,
        "8 MB of tags",
        "50 MB of base64",
        "10 MB of headers",
    ),
)
def test_large_messages(name: str, spam_filter: SpamFilter) -> None:
    assert_survives(LARGE[name](), spam_filter)


HEADERS = {
    "words that do not end": b"=?a?q?" * 680,
    "words": b"=?utf-8?q?a?=" * 300,
    "words apart": b" =?a?q?x?= " * 370,
    "no words": b"=?" * 2040,
    "words of unknown sets": b"".join(b"=?x%d?q?a?=" % i for i in range(300)),
    "broken words": b"=?a?b?!" * 580,
    "one long word": b"=?utf-8?b?" + b"A" * 4000 + b"?=",
    "words of codecs": b"".join(
        b"=?%b?b?eJwrAwAAegB6?=" % codec
        for codec in (b"zip", b"bz2", b"rot13", b"hex", b"uu", b"idna")
    ),
    "halves of characters": b"=?utf-7?q?+2AA-?= =?utf-16?b?ANg=?= =?utf-8?b?7aCA?=",
    "lines in words": b"=?utf-8?q?a=0D=0AX-Genus:_ham=0D=0A=0D=0Ab?=",
    "parameters": b"a/b;" * 1000,
    "quotes": b'a/b;"' + b';\\"' * 1300,
    "open quotes": b'a/b; "' + b';"' * 2000,
    "continuations": b"a/b;" + b"".join(b"name*%d=a;" % i for i in range(350)),
    "encoded continuations": b"a/b;" + b"".join(b"name*%d*=%%41;" % i for i in range(300)),
    "huge index": b"a/b; boundary*" + b"9" * 4000 + b"=a; charset*" + b"9" * 50 + b"=a",
    "indices that repeat": b"a/b;" + b"name*0=a;" * 400,
    "codec of a parameter": b"a/b; name*=zip''x; charset*=rot13''%ff; boundary*=idna''%5cx",
    "broken parameter": b"a/b; name*0*=\xff'; name*='; name*=''; name*1*=%; boundary=",
    "spaces": b" " * 4000 + b"=?",
    "semicolons": b";" * 4090,
    "no value": b"",
    "NUL": b"a\0/b; charset=\0; boundary=\0",
    "dots": b"a." * 2045,
    "letters": b"a" * 4090,
    "dashes": b"-" * 4090,
    "dash and letter": b"a-" * 2040,
    "digits": b"1" * 4090,
    "brackets": b"[" * 4090,
    "brackets and spaces": b"[" * 2000 + b" " * 2000 + b"x",
    "at signs": b"@" * 4090,
    "addresses": b"a@" * 2045,
    "addresses with hosts": b"".join(b"a%d@h%d.example," % (i, i) for i in range(200)),
    "angles": b"<" * 4090,
    "spam": b"spam " * 800,
    "spam and spaces": b"spam" + b" " * 4000 + b".",
    "from": b"from " * 800,
    "with": b"with " * 800,
    "apostrophes": b"a'" * 2040,
    "links": b"://" * 1360,
    "not ASCII": "é".encode() * 2040,
    "not UTF-8": b"\xff" * 4090,
    "marks upon marks": "\u0301\u0316".encode() * 1000,
    "letters that become many": "\ufdfa".encode() * 1300,
}
OF_HEADERS = (
    b"Subject From To Received Message-ID Date X-Mailer List-Id X-Foo Sender Content-Type"
    b" Content-Disposition Content-Transfer-Encoding"
).split()


@unlike_the_kernel
@pytest.mark.parametrize("name", at_night(HEADERS, *list(HEADERS)[::5]))
def test_crafted_headers(name: str, spam_filter: SpamFilter) -> None:
    value = HEADERS[name]
    for header in OF_HEADERS if EVERYTHING else (b"Subject", b"Received", b"Content-Type"):
        line = header + b": " + value + b"\n"
        assert_survives(line + b"\nhello", spam_filter)
        assert_survives(line * (MUCH // len(line)) + b"\nhello", spam_filter)
    assert_survives(
        numbered(b"X-%d: " + value.replace(b"%", b"%%") + b"\n", 250) + b"\nhello", spam_filter
    )


@unlike_the_kernel
@pytest.mark.parametrize("name", at_night(HEADERS, *list(HEADERS)[1::5]))
def test_crafted_headers_of_parts(name: str, spam_filter: SpamFilter) -> None:
    value = HEADERS[name]
    headers = (b"Content-Type", b"Content-Disposition", b"Subject")
    for header in headers if EVERYTHING else headers[:1]:
        assert_survives(parts_with(header + b": " + value, 250), spam_filter)
    many = b"\n".join(b"X-%d: " % i + value for i in range(15))
    assert_survives(parts_with(many, 17), spam_filter)


CHARSETS = listed(
    "utf-7|utf-8|utf-8-sig|utf-16|utf-16-le|utf-32|ascii|latin1|cp437|cp1252|koi8-r|mac-roman"
    "|hz|gb2312|gb18030|big5|big5hkscs|euc-jp|euc-kr|johab|shift_jis|shift_jis_2004|iso-2022-jp"
    "|iso2022_jp_ext|iso-2022-kr|tis-620|zip|bz2|zlib|hex|uu|base64|quopri|rot13|idna|punycode"
    "|unicode_escape|raw_unicode_escape|undefined|mbcs|oem|unknown-8bit|x-nonsense"
    "|../../etc/passwd|aliases"
)
CONTENTS = {
    "0xFF": filled(b"\xff"),
    "shifts": filled(b"+\x80"),
    "halves in UTF-7": filled(b"+2AA-"),
    "halves in UTF-16": filled(b"\x00\xd8"),
    "escapes": filled(b"\x1b$B"),
    "escapes of HZ": filled(b"~{"),
    "noise": random.Random(0).randbytes(MUCH - 200),
    "short": b"\xff",
}


@pytest.mark.parametrize("charset", at_night(CHARSETS, *list(CHARSETS)[::4]))
def test_bad_charsets(charset: str, spam_filter: SpamFilter) -> None:
    for content in CONTENTS.values() if EVERYTHING else list(CONTENTS.values())[::2]:
        assert_survives(plain(content, charset.encode()), spam_filter)
        word = base64.b64encode(content[:2000])
        assert_survives(b"Subject: =?%b?b?%b?=\n\nx" % (charset.encode(), word), spam_filter)


@pytest.mark.parametrize(
    "name", [b"a\0b", b"\xff", b'"', b"'", b"a" * 3000, b"\n utf-8", b"=?a?q?b?="]
)
def test_names_of_no_charset(name: bytes, spam_filter: SpamFilter) -> None:
    assert_survives(plain(b"hello", name), spam_filter)
    assert_survives(b"Subject: =?%b?q?hello?=\n\nhello" % name, spam_filter)


@pytest.mark.parametrize(
    "codec", ["zip", "bz2", "hex", "rot13", "idna", "punycode", "unicode_escape"]
)
def test_codecs_that_are_no_charsets_are_not_used(codec: str) -> None:
    assert known(codec) is None


def test_charsets_that_are_unknown_are_not_remembered() -> None:
    """Python keeps every name that is looked up in vain, for ever."""
    import encodings

    before = len(encodings._cache)  # type: ignore[attr-defined]
    for i in range(1000):
        read(plain(b"x", b"nonsense-%d" % i) + b"\n")
        read(b"Subject: =?nonsense-%d?q?x?=\n\n" % i)
    assert len(encodings._cache) == before  # type: ignore[attr-defined]


PAGES: dict[str, Callable[[], bytes]] = {
    ascii(unit): (lambda unit=unit: filled(unit.encode()))
    for unit in listed(
        '<|</|<a |<a|<!|<!--|<!-- -->|<?|&|&#|&#x|&amp;|&a|<a b=\'|<a b="|<a href="|<script>'
        "|<script></|<script></script |<style>a</style>|<p>|</p>|<b>x</b>|<div style='|=|'|\"|/"
        "|<a/|<x =|<x ='' |-->|<template>|<a href=//a.example>|<p hidden>"
        "|<font color=white>x</font>|&aaaaaaaaaaaaaaaaaaaaaaaaa"
    )
} | {
    "digits": lambda: b"&#" + filled(b"9"),
    "references of digits": lambda: filled(b"&#" + b"9" * 5000 + b";"),
    "hexadecimals": lambda: b"&#x" + filled(b"f"),
    "different attributes": lambda: b"<a " + numbered(b"%x ", 150_000) + b">",
    "different links": lambda: numbered(b"<a href=//%x.example>", 30_000),
    "different tags": lambda: numbered(b"<a%x>", 80_000),
    "long names": lambda: (
        b"".join(b"<" + b"a" * 1000 + b"%03d>" % i for i in range(200))
        + filled(b"</" + b"a" * 1000 + b"xxx>", 250_000)
    ),
    "rules": lambda: b"<a style='" + filled(b"color:white;") + b"'>",
    "rules without a colon": lambda: b"<a style='" + filled(b";") + b"'>",
    "script that does not end": lambda: b"<script>" + filled(b"</scrip"),
    "comment that does not end": lambda: b"<!--" + filled(b"--x> word "),
    "value that does not end": lambda: b"<a title='" + filled(b"word > "),
    "deep": lambda: filled(b"<div>") + filled(b"</div>"),
    "text in attributes": lambda: filled(b"<a title=x>"),
}


@pytest.mark.parametrize("name", PAGES)
def test_broken_pages(name: str, spam_filter: SpamFilter) -> None:
    page = html(PAGES[name]())
    assert_survives(page, spam_filter)
    assert_survives(page[:3000], spam_filter)


TEXTS: dict[str, Callable[[], bytes]] = {
    ascii(unit): (lambda unit=unit: filled(unit.encode()))
    for unit in listed(
        "\u0301|\u0301\u0316|\u0316\u0301|a\u0301\u0316\u0334|\u0345\u0334|\ufdfa|a\ufdfa "
        "|\u1100\u1161\u11a8|\u0344|\u0f73|\u200b|a\u200b|\u3300|İ|ß|价|价格 |ไ|\U0001d400|\ufeff"
        "|\1|\1u|-|_|a-|a'|$|$ |$1|1|1.|%|!|.|@|@a|@a.|a@b.c |://|://a |://a@|www.|w|www.a |W"
        "|\x0b|\x1c|\u0085|\u2028|A|Aa"
    )
} | {
    "marks of all classes": lambda: "".join(
        random.Random(1).choices("\u0301\u0316\u0334\u0345\u05b0\u0f71\u3099\u302a", k=400_000)
    ).encode(),
    "marks in reverse": lambda: ("\u0345" * 200_000 + "\u0334" * 200_000).encode(),
    "different words": lambda: numbered(b"w%x ", 150_000),
    "different links": lambda: numbered(b"://%x ", 100_000),
    "different hosts": lambda: numbered(b"www.%x ", 80_000),
    "different addresses": lambda: numbered(b"@%x.a ", 80_000),
    "long address": lambda: b"@" + filled(b"a."),
    "long link": lambda: b"://" + filled(b"a@"),
    "random letters": lambda: bytes(random.Random(2).choices(b"abcdefghijklmnop ", k=MUCH)),
}


@pytest.mark.parametrize("name", at_night(TEXTS, *list(TEXTS)[::2]))
def test_crafted_texts(name: str, spam_filter: SpamFilter) -> None:
    text = TEXTS[name]()
    assert_survives(plain(text), spam_filter)
    assert_survives(html(text), spam_filter)
    assert_survives(b"Subject: " + text[:4000].replace(b"\n", b" ") + b"\n\nx", spam_filter)


# Patterns

PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": pattern
    for module in (tokens, message, identity, marking)
    for name, pattern in vars(module).items()
    if isinstance(pattern, re.Pattern)
}
OF_TEXTS = ("LINK", "BARE_LINK", "ADDRESS", "NO_WIDTH", "ASCII", "BLANK")
UNITS = listed(
    "a|A|0|.|a.|-|a-|@|a@|@a|@a.|://|/|w|www|www.|[|*|(|]| |  |\t|\n|\n |\r|\r\n|\r\r|s|spam"
    "|spam |from |x|x-genus|x-genus:|x-genus:\n |x-genus-first-line:|\nx-genus|From |>From "
    "|From \n|From x\n|:|a:|a:\n|=?|?=|<|<h|<!doctype|<!doctype |<!doctype\t|-spam|x-spam|x-"
    "|spam-|+0000|0.0|Aa0|'|a'|é|\u0301|%|with |_"
)


@unlike_the_kernel
@pytest.mark.parametrize("name", at_night(PATTERNS, *list(PATTERNS)[::2]))
def test_patterns_take_time_that_is_linear_or_little(name: str) -> None:
    """Names of headers have 76 letters, headers 4,096, and texts up to what is read of them."""
    pattern = PATTERNS[name]
    module, _, own = name.partition(".")
    whole = module == "marking" or own in ("ENVELOPE", "FIELD", "FOLD")
    size = (
        76 if module == "identity" else LIMITS.text if whole or own in OF_TEXTS else LIMITS.header
    )
    for unit in UNITS if EVERYTHING else UNITS[::2]:
        for end in ("", "\0", "!", "\n"):
            text = unit * (size // len(unit)) + end
            given_as = text if isinstance(pattern.pattern, str) else text.encode()

            def run(given_as: str | bytes = given_as) -> None:
                pattern.fullmatch(given_as)
                pattern.match(given_as)
                if own != "ENVELOPE":  # which is never looked for further on
                    pattern.sub(given_as[:0], given_as)

            within_time(f"{name} on {unit!r}", run)


# Headers


INJECTED = [
    b"Subject: =?utf-8?q?a=0D=0AX-Genus:_ham?=\n\nx",
    b"X-Genus: ham\n\nx",
    b"x-GENUS : ham\n folded\n\tmore\nSubject: a\n\nx",
    b"Subject: a\rX-Genus: ham\n\nx",
    b"Subject: a\r\rX-Genus: ham\n\nx",
    b"Subject: a\rX-Genus: c\n\nX-Genus: ham\n\nx",
    b"Subject: a\nX-Genus: c\rX-Genus: d\n\nx",
    b"X-Genus: c\r\r\nSubject: a\n\nx",
    b"X-Genus: a\r\nX-Genus: b\r\n\r\nX-Genus: text",
    b" X-Genus: ham\nSubject: a\n\nx",
    b"\tfolded\n folded\nSubject: a\n\nx",
    b"X-Genus-First-Line:\n folded\nSubject: a\n\nx",
    b"X-Genus: a\nX-Genus-First-Line:\n folded\n\nx",
    b"From a b\nX-Genus: ham\nSubject: a\n\nx",
    b"From a b\rX-Genus: ham\nSubject: a\n\nx",
    b"From a b\n folded\nSubject: a\n\nx",
    b"From a b",
    b"From a b\r\n",
    b"\nX-Genus: text",
    b"\r\nX-Genus: text",
    b"\rX-Genus: ham\n\nx",
    b"X-Genus",
    b"X-Genus:",
    b"",
    b"no header at all",
    b"no header\n\nX-Genus: text\n",
]


@pytest.mark.parametrize("raw", INJECTED)
def test_no_header_is_forged(raw: bytes, spam_filter: SpamFilter) -> None:
    assert_survives(raw, spam_filter)


def test_a_line_that_would_continue_our_header_does_not() -> None:
    raw = b" evil\nSubject: a\n\nx"
    marked = mark(raw, Verdict("spam", 0.998, 6.2))
    assert marked == (
        b"X-Genus: spam; probability=0.998; score=6.2\nX-Genus-First-Line:\n evil\nSubject: a\n\nx"
    )
    assert unmark(marked) == raw


@pytest.mark.parametrize("raw", LETTERS)
def test_only_our_header_is_added(raw: bytes) -> None:
    marked = mark(raw, Verdict("unsure", 0.5, 0.0))
    assert len(marked) - len(unmark(raw)) == len(b"X-Genus: unsure; probability=0.5; score=0\n") + (
        b"\r\n" in raw
    )
    assert unmark(marked) == unmark(raw)
    np.testing.assert_array_equal(tokens_of(marked), tokens_of(raw))


@pytest.mark.parametrize("probability", [1e-300, 1e-9, 0.1, 0.5, 1 - 1e-9, 1 - 1e-16])
@pytest.mark.parametrize("score", [-700.0, -1e-9, 0.0, 36.7, 1e6])
def test_the_header_is_well_formed(probability: float, score: float) -> None:
    header = mark(b"", Verdict("spam", probability, score)).removesuffix(b"\n")
    assert OURS.fullmatch(header)
    told = float(re.search(rb"probability=([^;]+)", header).group(1))  # type: ignore[union-attr]
    assert 0 < told < 1
