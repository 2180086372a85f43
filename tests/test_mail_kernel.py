"""The kernel reads headers and links, and packs lessons and counts, as its twins in Python do."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import mail_twins as twins
from genus import _kernel
from genus.mail.boxes import messages_at
from genus.mail.message import MOST_LINES, divide, lines_of, read
from genus.mail.tokens import MOST_LINKS, OF_HEADERS, OF_LINKS, Pieces, in_small_letters, normal
from scope import EVERYTHING

EXAMPLES = Path(__file__).parents[1] / "examples" / "mail"
MESSAGES = [
    raw for name in ("ham", "spam") for _, raw in messages_at(str(EXAMPLES / f"{name}.mbox"))
]
# What headers, links and lines are made of, and what is near to it.
SIGNS = [
    *(
        "\n",
        "\r",
        "\n\n",
        " ",
        "\t",
        "\n ",
        ":",
        "@",
        "://",
        "www.",
        "wWw.",
        "WW.",
        ".",
        "..",
        "-",
        "%",
    ),
    *(
        "?",
        "/",
        "#",
        "<",
        ">",
        '"',
        "'",
        "(",
        "_",
        "[",
        "]",
        "=?utf-8?q?=C3=9C?=",
        "Ü",
        "é",
        "中文",
        "ก่า",
    ),
    *("\u2003", "\xa0", "\x85", "\x1c", "\0", "\1", "²", "ª", "・", "\u200b", "e\u0301", "😀"),
    *(
        "from ",
        "with ",
        "from a.b with c\n",
        "1.2.3.4",
        "12",
        "+0100",
        "mailto:a@b.c",
        "cid:",
        "//",
    ),
    *(
        "From: ",
        "To: ",
        "Received: ",
        "Message-ID: ",
        "X-Mailer: ",
        "Date: ",
        "Cc: ",
        "a@b.example,",
    ),
]
texts = st.lists(st.sampled_from(SIGNS) | st.text(max_size=6), max_size=40).map("".join)
names = st.sampled_from(
    ["from", "to", "cc", "reply-to", "received", "message-id", "date", "x-mailer", "subject", "x"]
)
tokens = st.builds(
    lambda some, bound: np.unique(np.array(some, np.uint64) % bound).astype(np.uint32),
    st.lists(st.integers(0, 2**32 - 1), max_size=60),
    st.sampled_from([7, 3000, 2**32]),
)


def lines(found: bytes) -> list[str]:
    return found.decode().split("\n")[:-1]


def as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def same_headers(headers: list[tuple[str, str]]) -> None:
    found = _kernel.header_tokens(headers, OF_HEADERS)
    assert lines(found) == twins.header_tokens(headers)


def same_links(text: str) -> None:
    rest, found = _kernel.link_tokens(text.encode(), OF_LINKS, MOST_LINKS)
    assert (rest.decode(), lines(found)) == twins.link_tokens(text, MOST_LINKS)


@given(st.binary(max_size=200) | texts.map(str.encode), st.integers(0, 9), st.integers(1, 40))
@example(b"a: b\n c\n\td\nno header\n e\nb : c", 9, 40)
def test_headers_are_read_as_by_the_twin(head: bytes, most: int, longest: int) -> None:
    head = divide(lines_of(head))[0]
    args = (head, MOST_LINES, most, longest, bytes.hex)
    assert _kernel.read_fields(*args) == twins.read_fields(*args)
    every, _, _ = twins.read_fields(head, MOST_LINES, MOST_LINES, longest, bytes)
    sent = [
        f"{name}:".encode() + b" ".join(as_bytes(value).split()) + b"\n"
        for name, value in every
        if name != "a"
    ]
    found = _kernel.sent_head(head, MOST_LINES, most, longest, lambda name: name == "a")
    assert found == b"".join(sent[:most])


@given(st.lists(st.tuples(names, texts.map(in_small_letters)), max_size=6))
def test_tokens_of_headers_are_those_of_the_twin(headers: list[tuple[str, str]]) -> None:
    same_headers(headers)


@given(texts)
@example("wwww.a.b http://a@b:80/c?d=e https://1.2.3.4/x www.www.a @a.b.c. @a. x@y.z://w")
@example("wwW.a.b")
@example("wWw.a.b ww.")
def test_tokens_of_links_are_those_of_the_twin(text: str) -> None:
    same_links(text)


@given(
    st.lists(
        texts.map(lambda text: text.replace("\n", ""))
        | texts.map(lambda text: "=" + text.replace("\n", ""))
    ),
    st.integers(0, 9),
)
def test_tokens_of_marks_are_those_of_the_twin(marks: list[str], most: int) -> None:
    marks = [mark for mark in marks if mark]
    found = _kernel.mark_tokens("\n".join(marks).encode(), OF_LINKS, most)
    assert lines(found) == twins.mark_tokens(marks, most)


@pytest.mark.parametrize("seed", range(20 if EVERYTHING else 4))
def test_mutated_messages_have_the_tokens_of_the_twin(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        raw = bytearray(chance.choice(MESSAGES))
        for _ in range(chance.choice([1, 5, 30])):
            at = chance.randrange(min(len(raw) + 1, chance.choice([300, 5000])))
            raw[at : at + chance.randrange(3)] = chance.choice(
                [bytes([chance.randrange(256)]), chance.choice(SIGNS).encode()]
            )
        message = read(bytes(raw))
        same_headers([(name, in_small_letters(value)) for name, value in message.headers])
        for part in message.parts:
            same_links(normal(part.text or "", Pieces(), 0).decode())


@given(st.lists(tokens, max_size=12))
def test_packs_are_those_of_the_twin(lessons: list[np.ndarray]) -> None:
    every = np.concatenate([np.zeros(0, np.uint32), *lessons])
    sizes = np.array([len(each) for each in lessons], np.uint32)
    pack = _kernel.pack_lessons(every, sizes)
    assert pack == twins.pack_lessons(lessons)
    found, lengths = _kernel.unpack_lessons(pack)
    assert (found.tolist(), lengths.tolist()) == (every.tolist(), sizes.tolist())


@given(st.lists(tokens, max_size=5), st.data())
def test_a_pack_that_is_not_one_is_refused(lessons: list[np.ndarray], data: st.DataObject) -> None:
    whole = bytearray(twins.pack_lessons(lessons))
    changed = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 255))
    whole[changed[0]] = changed[1]
    for pack in (bytes(whole), bytes(whole[: changed[0]])):
        try:
            found, sizes = _kernel.unpack_lessons(pack)
        except ValueError:
            continue
        assert len(found) == sizes.sum()


@given(tokens, tokens, st.data())
def test_buckets_are_those_of_the_twin(
    held: np.ndarray, more: np.ndarray, data: st.DataObject
) -> None:
    some = st.sampled_from([0, 1, 255, 256, 14 * 256, 15 * 256, 10**6, 10**12])
    pair = st.tuples(some, some)
    counts = {token: data.draw(pair) for token in held.tolist()}
    changes = {token: data.draw(pair) for token in more.tolist()}
    sign = data.draw(st.sampled_from([1, -1]))
    sums = counts | {
        token: tuple(a + sign * b for a, b in zip(counts.get(token, (0, 0)), by, strict=True))
        for token, by in changes.items()
    }
    touched = sorted({token >> 16 for token in changes})
    before = twins.write_buckets(counts)
    by = sign * np.array([*changes.values()], np.int64).reshape(-1, 2)
    given_ = [(number, before[number]) for number in touched if number in before]
    if min((min(each) for each in sums.values()), default=0) < 0:
        with pytest.raises(ValueError, match="negative"):
            _kernel.shift_buckets(given_, more, by)
        return
    after = twins.write_buckets(sums)
    expected = [(number, after.get(number, b"")) for number in touched]
    assert _kernel.shift_buckets(given_, more, by) == expected
    found, numbers = _kernel.read_buckets([*before.items()])
    stay = {token: pair for token, pair in sorted(counts.items()) if any(pair)}
    assert found.tolist() == [*stay]
    assert numbers.tolist() == [list(pair) for pair in stay.values()]


@pytest.mark.parametrize(
    "bucket", [(0, None), (0, "text"), ("0", b""), (-1, b"12345"), (1 << 40, b"12345"), (0, b""), 7]
)
def test_what_is_no_bucket_is_refused(bucket: object) -> None:
    with pytest.raises(ValueError, match="damaged"):
        _kernel.read_buckets([bucket])  # type: ignore[list-item]


def same_ranks(ids: NDArray[np.uint32]) -> None:
    expected = np.unique(ids, return_inverse=True)
    for found, right in zip(_kernel.rank_ids(ids), expected, strict=True):
        assert np.array_equal(found, right)


@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 9)))
def test_ranks_are_those_of_numpy(numbers: list[int]) -> None:
    same_ranks(np.array(numbers, np.uint32))


@pytest.mark.parametrize("most", [9, 2**29, 2**32])
def test_ranks_of_many_numbers_are_those_of_numpy(most: int) -> None:
    same_ranks(np.random.default_rng(most).integers(0, most, 600_000, np.uint32))
