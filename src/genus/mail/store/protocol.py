"""Define what every store must provide; everything else is derived from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from genus.mail.store.lessons import UNIT, Counts, Lesson, Tokens


class StoreError(ValueError):
    """An error of a store; its message says what failed, where, and what to do."""


class NoStore(StoreError):
    """There is no store at the given place."""


@dataclass(frozen=True)
class Totals:
    """The number of learned messages of each class, and their total weight.

    A message that counts in full has the weight UNIT.
    """

    ham: int = 0
    spam: int = 0
    ham_weight: int = 0
    spam_weight: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.ham + other.ham,
            self.spam + other.spam,
            self.ham_weight + other.ham_weight,
            self.spam_weight + other.spam_weight,
        )

    @property
    def weights(self) -> tuple[float, float]:
        """The total weights of ham and spam, in messages."""
        return self.ham_weight / UNIT, self.spam_weight / UNIT


class Change(Protocol):
    """A transaction: it happens completely or not at all, and only one runs at a time."""

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        """Return the known lessons with these digests, by digest."""
        ...

    def write(self, lessons: Sequence[Lesson]) -> None:
        """Add lessons that are not known yet."""
        ...

    def drop(self, lessons: Sequence[Lesson]) -> None:
        """Remove known lessons."""
        ...

    def fade(self, lessons: Sequence[Lesson], halvings: int) -> None:
        """Set how often known lessons were halved; update the totals, but not the counts."""
        ...

    def shift(self, tokens: Tokens, by: Counts) -> None:
        """Add `by` (n, 2) to the counts of tokens; remove tokens whose counts become 0."""
        ...

    def put(self, key: str, value: str | None) -> None:
        """Write a note under the name `key`; None removes the note."""
        ...

    def get(self, key: str) -> str | None:
        """Return the note under a name, or None."""
        ...


class Store(Protocol):
    """Counts of tokens by class, the lessons whose sums these counts are, and some notes."""

    @property
    def name(self) -> str:
        """Where the store is, to name it in errors and reports."""
        ...

    @property
    def layers(self) -> Sequence[Store]:
        """The stores that add up to this one; the first is the one that is written to."""
        ...

    def counts(self, tokens: Tokens) -> Counts:
        """Return the total weights of the ham and the spam that contain each token, (n, 2).

        A message that counts in full has the weight UNIT.
        """
        ...

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        """Return the known lessons with these digests, by digest."""
        ...

    def totals(self) -> Totals:
        """Return the numbers and weights of learned messages."""
        ...

    def distinct(self) -> int:
        """Return the number of known tokens."""
        ...

    def every(self) -> Iterator[tuple[Tokens, Counts]]:
        """Yield all tokens with their counts, ascending, in parts."""
        ...

    def faults(self) -> list[str]:
        """Return the faults that the database itself finds."""
        ...

    def newest(self, most: int, spam: bool) -> list[Lesson]:
        """Return up to `most` of the newest lessons of a class, the newest first."""
        ...

    def oldest(self, before: int) -> Iterator[Lesson]:
        """Yield the lessons learned before a day, the oldest first."""
        ...

    def notes(self, prefix: str) -> dict[str, str]:
        """Return the notes whose names begin with a prefix."""
        ...

    def change(self) -> AbstractContextManager[Change]:
        """Return a transaction; an exception inside it undoes it."""
        ...

    def size(self) -> int:
        """Return the size in bytes; in PostgreSQL, that of the stores of all owners."""
        ...

    def tidy(self) -> None:
        """Free unused space, and leave no trace of removed lessons."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...
