"""Tokens and counts in few bytes: packs of lessons, and buckets of counts.

A pack holds the tokens of some lessons. Messages share most of their words, so it lists each token
once, those that many lessons have first; a lesson is then a list of places in that, most of which
are near to the one before. Only distances are written, and all of it is compressed (zlib, whose
checksum finds flipped bits). 256 lessons together take less than half of what they take one by one.

A bucket holds the counts of all tokens with the same first 16 bits. Most were seen in a few
messages of one class: ham and spam are then half a byte each.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from genus.mail.store.lessons import UNIT, Counts, NoLesson, Tokens

T = TypeVar("T", bound=np.generic)

TOGETHER = 256  # lessons of a full pack
FAR = 255  # a distance that takes four bytes, elsewhere
MOST_BYTES = 1 << 27  # of a pack: 256 lessons of 4,000 tokens take less, and so do imports
SHIFT = 16  # bits of a token within its bucket
SMALL, LARGE = 15, 255  # messages that do not fit into half a byte, and what is there instead
HEAD = 5  # bytes of a bucket before its tokens: a checksum, and how many tokens
WIDE = 6  # bytes of a count that is elsewhere


def packed(lessons: Sequence[Tokens]) -> bytes:
    """A pack of the tokens of lessons, each ascending.

    >>> some = [np.array([3, 500, 70_000], np.uint32), np.array([500], np.uint32)]
    >>> [each.tolist() for each in unpacked(packed(some))]
    [[3, 500, 70000], [500]]
    """
    sizes = np.array([len(each) for each in lessons], "<u4")
    every = np.concatenate([np.zeros(0, np.uint32), *lessons])
    ids, at, times = np.unique(every, return_inverse=True, return_counts=True)
    order = np.argsort(-np.frexp(times)[1], kind="stable")  # by how many bits the number has
    rank = np.empty(len(ids), np.int64)
    rank[order] = np.arange(len(ids))
    of_lesson = np.repeat(np.arange(len(sizes)), sizes)
    places = np.sort(of_lesson << 32 | rank[at]) & 0xFFFFFFFF
    steps = np.diff(places, prepend=-1) - 1
    first = (np.cumsum(sizes) - sizes)[sizes > 0].astype(np.intp)
    steps[first] = places[first]
    far = steps >= FAR
    near = np.where(far, FAR, steps).astype(np.uint8)
    gaps = np.diff(ids[order], prepend=np.uint32(0)).astype("<u4")  # modulo 2³², as their sums are
    planes = gaps.view(np.uint8).reshape(-1, 4).T  # high bytes are alike, low ones are not
    head = np.array([len(sizes), len(ids), np.count_nonzero(far)], "<u4")
    parts = (head, sizes, np.ascontiguousarray(planes), near, steps[far].astype("<u4"))
    # Bytes here repeat only in runs: to look for more would take six times as long.
    stream = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return stream.compress(b"".join(each.tobytes() for each in parts)) + stream.flush()


def unpacked(pack: bytes) -> list[Tokens]:
    """The tokens of each lesson of a pack; one that is damaged is refused."""
    try:
        stream = zlib.decompressobj()
        raw = stream.decompress(pack, MOST_BYTES)
        if not stream.eof:
            raise NoLesson("a pack of lessons is not whole")
        number, distinct, far = np.frombuffer(raw, "<u4", 3).tolist()
        sizes = np.frombuffer(raw, "<u4", number, 12).astype(np.int64)
        total, at = int(sizes.sum()), 12 + 4 * number
        planes = np.frombuffer(raw, np.uint8, 4 * distinct, at).reshape(4, -1)
        gaps = np.ascontiguousarray(planes.T).view("<u4").ravel()
        ids = np.cumsum(gaps, dtype=np.uint32)
        at += 4 * distinct
        if at + total + 4 * far != len(raw):
            raise NoLesson("a pack of lessons has another length than it says")
        steps = np.frombuffer(raw, np.uint8, total, at).astype(np.int64)
        steps[steps == FAR] = np.frombuffer(raw, "<u4", far, at + total)
        ends = np.cumsum(sizes)
        places = np.cumsum(steps + 1)
        places -= np.repeat(np.append(0, places)[ends - sizes], sizes) + 1
        found = np.split(ids[places], ends[:-1]) if number else []
    except (zlib.error, ValueError, IndexError, TypeError) as error:
        if isinstance(error, NoLesson):
            raise
        raise NoLesson(f"a pack of lessons is damaged: {error}") from error
    for each in found:
        each.sort()
    return found


def buckets_of(tokens: Tokens) -> NDArray[np.int64]:
    """The number of each token's bucket."""
    return (tokens >> SHIFT).astype(np.int64)


def different(ascending: NDArray[T]) -> NDArray[T]:
    """Each value once, of some that are in order; np.unique would sort them again."""
    if not len(ascending):
        return ascending
    return ascending[np.append(True, ascending[1:] != ascending[:-1])]


def filled(tokens: Tokens, counts: Counts) -> list[tuple[int, bytes]]:
    """The buckets of tokens, ascending, and of their counts: numbers and contents."""
    if not len(tokens):
        return []
    units = counts // UNIT
    is_large = ((counts % UNIT != 0) | (units >= SMALL)).any(axis=1)
    bucket = buckets_of(tokens)
    first = np.flatnonzero(np.diff(bucket, prepend=-1))
    sizes = np.diff(first, append=len(tokens))
    large = np.add.reduceat(is_large.astype(np.int64), first)
    ends = np.cumsum(HEAD + 3 * sizes + 2 * WIDE * large)
    starts = ends - (HEAD + 3 * sizes + 2 * WIDE * large)
    raw = np.zeros(int(ends[-1]), np.uint8)
    for byte in range(3):
        raw[starts + 2 + byte] = sizes >> 8 * byte & 255
    at = runs(starts + HEAD, sizes, 2)
    raw[at], raw[at + 1] = tokens & 255, tokens >> 8 & 255
    codes = np.where(is_large, LARGE, units[:, 0] << 4 | units[:, 1])
    raw[runs(starts + HEAD + 2 * sizes, sizes)] = codes
    at = runs(starts + HEAD + 3 * sizes, large, 2 * WIDE)
    wide = counts[is_large].astype("<i8").view(np.uint8).reshape(-1, 2, 8)[:, :, :WIDE]
    raw[at[:, None] + np.arange(2 * WIDE)] = wide.reshape(-1, 2 * WIDE)
    whole = raw.tobytes()
    found = []
    spans = zip(bucket[first].tolist(), starts.tolist(), ends.tolist(), strict=True)
    for number, start, end in spans:
        content = whole[start + 2 : end]
        found.append((number, checksum(number, content) + content))
    return found


def emptied(buckets: Sequence[tuple[int, bytes]]) -> tuple[Tokens, Counts]:
    """The tokens of buckets, ascending if those are, and their counts; damage is refused."""
    if not buckets:
        return np.zeros(0, np.uint32), np.zeros((0, 2), np.int64)
    for number, content in buckets:
        if not isinstance(content, bytes) or checksum(number, content[2:]) != content[:2]:
            raise NoLesson("counts of tokens are damaged")
    raw = np.frombuffer(b"".join([content for _, content in buckets]), np.uint8)
    lengths = np.array([len(content) for _, content in buckets])
    starts = np.cumsum(lengths) - lengths
    low, middle, high = (raw[starts + each].astype(np.int64) for each in (2, 3, 4))
    sizes = low | middle << 8 | high << 16
    large = (lengths - HEAD - 3 * sizes) // (2 * WIDE)
    at = runs(starts + HEAD, sizes, 2)
    numbers = np.array([number for number, _ in buckets], np.uint32)
    tokens = np.repeat(numbers << SHIFT, sizes)
    tokens |= raw[at] | raw[at + 1].astype(np.uint32) << 8
    codes = raw[runs(starts + HEAD + 2 * sizes, sizes)]
    counts = np.stack([codes >> 4, codes & 15], axis=1).astype(np.int64) * UNIT
    at = runs(starts + HEAD + 3 * sizes, large, 2 * WIDE)
    wide = np.zeros((len(at), 2, 8), np.uint8)
    wide[:, :, :WIDE] = raw[at[:, None] + np.arange(2 * WIDE)].reshape(-1, 2, WIDE)
    counts[codes == LARGE] = wide.view("<i8").reshape(-1, 2)
    return tokens, counts


def runs(starts: NDArray[np.int64], sizes: NDArray[np.int64], step: int = 1) -> NDArray[np.int64]:
    """So many numbers from each start on.

    >>> runs(np.array([10, 50]), np.array([3, 2]), 2).tolist()
    [10, 12, 14, 50, 52]
    """
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(starts, sizes) + step * within


def checksum(number: int, content: bytes) -> bytes:
    """Two bytes that tell a bucket from one with flipped bits, or from another."""
    return (zlib.crc32(content, number) & 0xFFFF).to_bytes(2, "little")
