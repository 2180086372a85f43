"""Define lessons: the hashes that are kept of learned messages, without their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genus._kernel import sum_lessons

SUMMED = 500_000  # tokens that are summed up at once, about
UNIT = 256  # the weight of a message, which can be halved eight times to whole numbers

IMPORTED = b"imported"  # the digests of imported counts begin with this

COLUMNS = "digest, spam, day, tokens, weight, halvings"  # of a lesson in a database

Tokens = NDArray[np.uint32]
Counts = NDArray[np.int64]
Row = tuple[bytes, bool, int, bytes, int, int]


class NoLesson(ValueError):
    """A part of a store, such as a lesson, is damaged."""


def whole(value: object) -> int:
    """Return `value` if it is a valid whole number; raise NoLesson if it is not."""
    if not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise NoLesson(f"{value!r} is not a number of messages or days")
    return value


@dataclass(frozen=True, eq=False)
class Lesson:
    """The hash of a message's content, its class, and the hashes of its tokens, ascending.

    `day` is when it was learned, in days since 1970, `weight` is its weight then (UNIT, unless it
    was imported), and `halvings` is how often the weight was halved since.
    """

    digest: bytes
    spam: bool
    day: int
    tokens: Tokens
    weight: int = UNIT
    halvings: int = 0

    @property
    def is_import(self) -> bool:
        """Whether this lesson stands for imported counts, not for a message."""
        return self.digest.startswith(IMPORTED)

    @property
    def counts_for(self) -> int:
        """The lesson's present weight; that of a message that counts in full is UNIT."""
        return self.weight >> self.halvings

    @property
    def row(self) -> Row:
        """The values of COLUMNS, with tokens in little-endian order."""
        tokens = self.tokens.astype("<u4").tobytes()
        return self.digest, self.spam, self.day, tokens, self.weight, self.halvings

    @classmethod
    def of_row(cls, row: Row) -> Lesson:
        digest, spam, day, tokens, weight, halvings = row
        if not isinstance(tokens, bytes | bytearray | memoryview) or len(tokens) % 4:
            raise NoLesson("the tokens of a lesson are incomplete")
        if not isinstance(digest, bytes | bytearray | memoryview):
            raise NoLesson("a lesson has no digest")
        held = np.frombuffer(bytes(tokens), "<u4").astype(np.uint32)
        if (held[1:] <= held[:-1]).any():
            raise NoLesson("the tokens of a lesson are not in order")
        return cls(bytes(digest), bool(spam), whole(day), held, whole(weight), whole(halvings))


def sums(lessons: Sequence[Lesson], sign: int = 1) -> tuple[Tokens, Counts]:
    """Return the lessons' distinct tokens, ascending, and their counts of ham and spam, (n, 2).

    The counts are multiplied by `sign`.

    >>> tokens = np.array([3, 5], dtype=np.uint32)
    >>> sums([Lesson(b"a", True, 0, tokens), Lesson(b"b", False, 0, tokens[:1])])[1].tolist()
    [[256, 256], [0, 256]]
    """
    return placed_sums(lessons, sign)[:2]


def sums_in_parts(lessons: Sequence[Lesson], sign: int = 1) -> Iterator[tuple[Tokens, Counts]]:
    """Yield `sums` for one range of tokens after another, which takes less memory."""
    tokens, by = [each.tokens for each in lessons], changes_of(lessons, sign)
    parts = 1 + sum(map(len, tokens)) // SUMMED
    bounds = (np.arange(1, parts) * (1 << 32) // parts).astype(np.uint32)
    cuts = [[0, *each.searchsorted(bounds).tolist(), len(each)] for each in tokens]
    for part in range(parts):
        some = [each[at[part] : at[part + 1]] for each, at in zip(tokens, cuts, strict=True)]
        yield sum_lessons(some, by)[:2]


def placed_sums(lessons: Sequence[Lesson], sign: int = 1) -> tuple[Tokens, Counts, Tokens]:
    """Return `sums`, and the indices of all tokens, lesson by lesson, among the distinct ones."""
    return sum_lessons([each.tokens for each in lessons], changes_of(lessons, sign))


def changes_of(lessons: Sequence[Lesson], sign: int) -> Counts:
    """Return by how much each lesson changes the counts of ham and spam of its tokens, (m, 2)."""
    by = np.zeros((len(lessons), 2), np.int64)
    spam = np.array([each.spam for each in lessons], np.intp)
    by[np.arange(len(lessons)), spam] = [sign * each.counts_for for each in lessons]
    return by
