"""Read several stores as one, such as a user's own and a site's: their counts are added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from genus.mail.store.lessons import Counts, Lesson, Tokens
from genus.mail.store.protocol import Change, Store, Totals


class Layers:
    """Several stores that are read as one; only the first is written to.

    Counts, totals and newest lessons come from all stores, all other data from the first.
    """

    def __init__(self, own: Store, others: Sequence[Store]) -> None:
        self.own, self.layers = own, (own, *others)

    @property
    def name(self) -> str:
        return " + ".join(each.name for each in self.layers)

    def counts(self, tokens: Tokens) -> Counts:
        found = self.own.counts(tokens)
        for each in self.layers[1:]:
            found = found + each.counts(tokens)
        return found

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        return self.own.find(digests)

    def totals(self) -> Totals:
        return sum((each.totals() for each in self.layers), Totals())

    def distinct(self) -> int:
        """Return a lower bound of the number of known tokens."""
        return max(each.distinct() for each in self.layers)

    def every(self) -> Iterator[tuple[Tokens, Counts]]:
        return self.own.every()

    def faults(self) -> list[str]:
        return self.own.faults()

    def newest(self, most: int, spam: bool) -> list[Lesson]:
        """Return up to `most` of the newest lessons, those of the own store first."""
        found = self.own.newest(most, spam)
        for each in self.layers[1:]:
            found += each.newest(max(most - len(found), 0), spam)
        return found

    def oldest(self, before: int) -> Iterator[Lesson]:
        return self.own.oldest(before)

    def notes(self, prefix: str) -> dict[str, str]:
        return self.own.notes(prefix)

    def change(self) -> AbstractContextManager[Change]:
        return self.own.change()

    def size(self) -> int:
        return self.own.size()

    def tidy(self) -> None:
        self.own.tidy()

    def close(self) -> None:
        for each in self.layers:
            each.close()
