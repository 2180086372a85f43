"""A lesson: what is kept of a message that was learned. None of its text, only hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNIT = 256  # the weight of a message; halves of it, down to 1, are whole numbers

IMPORTED = b"imported"  # how digests begin that are none of a message

COLUMNS = "digest, spam, day, tokens, weight, halvings"  # in which databases keep one

Tokens = NDArray[np.uint32]
Counts = NDArray[np.int64]
Row = tuple[bytes, bool, int, bytes, int, int]


class NoLesson(ValueError):
    """What is no lesson, where one should be."""


def whole(value: object) -> int:
    """A number of a lesson; what a damaged file has in its place is refused."""
    if not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise NoLesson(f"{value!r} is no number of messages, or of days")
    return value


@dataclass(frozen=True, eq=False)
class Lesson:
    """A message by the hash of its content, its class, and the hashes of its tokens, ascending.

    `day` is when it was learned, in days since 1970; `weight` is what it counted for then, of
    UNIT, and `halvings` how often that was halved since.
    """

    digest: bytes
    spam: bool
    day: int
    tokens: Tokens
    weight: int = UNIT
    halvings: int = 0

    @property
    def is_import(self) -> bool:
        """Whether it stands for counts that came from elsewhere, and not for a message."""
        return self.digest.startswith(IMPORTED)

    @property
    def counts_for(self) -> int:
        """What it counts for now, of UNIT."""
        return self.weight >> self.halvings

    @property
    def row(self) -> Row:
        """As COLUMNS; tokens in little-endian order, whatever the machine."""
        tokens = self.tokens.astype("<u4").tobytes()
        return self.digest, self.spam, self.day, tokens, self.weight, self.halvings

    @classmethod
    def of_row(cls, row: Row) -> Lesson:
        digest, spam, day, tokens, weight, halvings = row
        if not isinstance(tokens, bytes | bytearray | memoryview) or len(tokens) % 4:
            raise NoLesson("a lesson is not of whole tokens")
        if not isinstance(digest, bytes | bytearray | memoryview):
            raise NoLesson("a lesson is of no message")
        held = np.frombuffer(bytes(tokens), "<u4").astype(np.uint32)
        return cls(bytes(digest), bool(spam), whole(day), held, whole(weight), whole(halvings))


def sums(lessons: Sequence[Lesson], sign: int = 1) -> tuple[Tokens, Counts]:
    """The tokens of some lessons, ascending, and by how much they change ham and spam, (n, 2).

    >>> tokens = np.array([3, 5], dtype=np.uint32)
    >>> sums([Lesson(b"a", True, 0, tokens), Lesson(b"b", False, 0, tokens[:1])])[1].tolist()
    [[256, 256], [0, 256]]
    """
    if not lessons:
        return np.zeros(0, np.uint32), np.zeros((0, 2), np.int64)
    ids, at = np.unique(np.concatenate([each.tokens for each in lessons]), return_inverse=True)
    sizes = [len(each.tokens) for each in lessons]
    weight = np.repeat([sign * each.counts_for for each in lessons], sizes)
    spam = np.repeat([each.spam for each in lessons], sizes)
    changes = np.zeros((len(ids), 2), np.int64)
    for column in (0, 1):
        of_class = spam == column
        # Sums of whole numbers far below 2⁵³ are exact.
        changes[:, column] = np.bincount(at[of_class], weight[of_class], len(ids)).astype(np.int64)
    return ids, changes
