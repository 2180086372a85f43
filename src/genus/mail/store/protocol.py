"""What a store must do; everything else is derived from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from genus.mail.store.lessons import UNIT, Counts, Lesson, Tokens


class StoreError(ValueError):
    """Something is wrong with a store; says what, where, and what to do."""


class NoStore(StoreError):
    """There is none where one was looked for."""


@dataclass(frozen=True)
class Totals:
    """How many messages of either class were learned, and what they weigh, of UNIT."""

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
        """What ham and spam weigh, in messages."""
        return self.ham_weight / UNIT, self.spam_weight / UNIT


class Change(Protocol):
    """A transaction: all of it happens, or nothing. No other one runs at the same time."""

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        """The lessons that are known among some digests."""
        ...

    def write(self, lessons: Sequence[Lesson]) -> None:
        """Keep lessons that are not known."""
        ...

    def drop(self, lessons: Sequence[Lesson]) -> None:
        """Drop lessons that are known."""
        ...

    def fade(self, lessons: Sequence[Lesson], halvings: int) -> None:
        """Note how often what known lessons count for is halved; counts are shifted apart."""
        ...

    def shift(self, tokens: Tokens, by: Counts) -> None:
        """Add to the counts of tokens, (n, 2); those that come to nothing go."""
        ...

    def put(self, key: str, value: str | None) -> None:
        """Keep a note under a name; None removes it."""
        ...

    def get(self, key: str) -> str | None:
        """The note under a name."""
        ...


class Store(Protocol):
    """Counts of tokens by class, the lessons that they are sums of, and a few notes."""

    @property
    def name(self) -> str:
        """Where it is, for people."""
        ...

    @property
    def layers(self) -> Sequence[Store]:
        """The stores that it is the sum of; the first is the one that is written to."""
        ...

    def counts(self, tokens: Tokens) -> Counts:
        """How much ham and spam holds each token, in UNITs of a message, (n, 2)."""
        ...

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        """The lessons that are known among some digests, as of now."""
        ...

    def totals(self) -> Totals:
        """How much was learned."""
        ...

    def distinct(self) -> int:
        """How many tokens are known."""
        ...

    def every(self) -> Iterator[tuple[Tokens, Counts]]:
        """All tokens with their counts, ascending, some at a time."""
        ...

    def faults(self) -> list[str]:
        """What the database itself finds wrong with the store."""
        ...

    def newest(self, most: int, spam: bool) -> list[Lesson]:
        """The lessons of a class that were learned last, the last first."""
        ...

    def oldest(self, before: int) -> Iterator[Lesson]:
        """Lessons learned before a day, the first first."""
        ...

    def notes(self, prefix: str) -> dict[str, str]:
        """The notes whose names begin so."""
        ...

    def change(self) -> AbstractContextManager[Change]:
        """A transaction; an exception within undoes it."""
        ...

    def size(self) -> int:
        """How many bytes it takes."""
        ...

    def tidy(self) -> None:
        """Give back room, and leave no trace of what was dropped."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
