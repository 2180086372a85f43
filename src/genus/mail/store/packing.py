"""Store tokens and counts in few bytes: packs of lessons, and buckets of counts.

A pack holds the tokens of some lessons. Messages share most of their words, so a pack lists each
token once, the most frequent first. A lesson is then a list of places in this list, most of them
close together. Only the steps from place to place are written, and the pack is compressed (zlib,
whose checksum detects flipped bits). 256 lessons in a pack take less than half the space of 256
single ones.

Before compression, a pack contains: the numbers of lessons, of tokens, and of far steps (255 or
more); the number of tokens of each lesson; the distances between the listed tokens, all first
bytes, then all second bytes, and so on; a byte for each step, which is 255 for a far step; and the
far steps. Numbers have four bytes, the lowest first.

A bucket holds the counts of all tokens with the same first 16 bits. Most tokens are in a few
messages of one class: the counts of ham and spam then take half a byte each.

A bucket contains: a checksum in two bytes (of CRC-32, begun with the bucket's number); the number
of tokens in three bytes; the two low bytes of each token; a byte for each token, with the number of
messages of ham in the upper half and that of spam in the lower half; and counts in six bytes each,
ham and spam, of the tokens whose byte is 255. The byte of a token is 255 if one of the two numbers
is 15 or more, or is not whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from genus._kernel import pack_lessons, read_buckets, shift_buckets, unpack_lessons
from genus.mail.store.lessons import Counts, NoLesson, Tokens

Bucket = tuple[int, bytes]
TOGETHER = 256  # lessons of a full pack
MOST_BYTES = 1 << 27  # of a pack: 256 lessons of 4,000 tokens take less, and so do imports
SHIFT = 16  # bits of a token within its bucket


def packed(lessons: Sequence[Tokens]) -> bytes:
    """Pack the tokens of lessons; those of each lesson must be in ascending order.

    >>> some = [np.array([3, 500, 70_000], np.uint32), np.array([500], np.uint32)]
    >>> [each.tolist() for each in unpacked(packed(some))]
    [[3, 500, 70000], [500]]
    """
    sizes = np.array([len(each) for each in lessons], np.uint32)
    every = np.concatenate([np.zeros(0, np.uint32), *lessons])
    # The bytes repeat only in runs; searching for other matches would take six times as long.
    stream = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return stream.compress(pack_lessons(every, sizes)) + stream.flush()


def unpacked(pack: bytes) -> list[Tokens]:
    """Return the tokens of each lesson in a pack; refuse a damaged pack."""
    try:
        stream = zlib.decompressobj()
        raw = stream.decompress(pack, MOST_BYTES)
        if not stream.eof:
            raise NoLesson("a pack of lessons is incomplete")
        every, sizes = unpack_lessons(raw)
    except (zlib.error, ValueError, TypeError) as error:
        if isinstance(error, NoLesson):
            raise
        raise NoLesson(f"a pack of lessons is damaged: {error}") from error
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    return [every[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]


def buckets_of(tokens: Tokens) -> NDArray[np.int64]:
    """Return the numbers of the buckets that hold these tokens, ascending."""
    there = np.zeros(1 << 32 - SHIFT, bool)
    there[tokens >> SHIFT] = True
    return np.flatnonzero(there)


def shifted(held: list[Bucket], tokens: Tokens, by: Counts) -> list[Bucket]:
    """Return the buckets of ascending tokens, with changes `by` (n, 2) added to their counts.

    `held` are those of these buckets that exist. A bucket without any counts has empty bytes.

    >>> once = shifted([], np.array([3, 70_000], np.uint32), np.array([[256, 0], [0, 256]]))
    >>> twice = shifted(once[:1], np.array([3], np.uint32), np.array([[256, 512]]))
    >>> [each.tolist() for each in emptied(twice)]
    [[3], [[512, 512]]]
    """
    try:
        return shift_buckets(held, tokens, by)
    except ValueError as error:
        raise NoLesson(str(error)) from error


def emptied(buckets: list[Bucket]) -> tuple[Tokens, Counts]:
    """Return the tokens in buckets, bucket by bucket, and their counts; refuse damaged buckets."""
    try:
        return read_buckets(buckets)
    except ValueError as error:
        raise NoLesson(str(error)) from error
