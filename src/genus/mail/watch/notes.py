"""Keep a watcher's state as notes in a store: numbers, dates and hashes of messages.

Each shelf holds notes of one kind. Those about messages are bounded: the oldest notes are dropped.
All changes between two calls of `keep` are written together or not at all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

from genus.mail.imap import Head
from genus.mail.store import Store

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MOST = 5000  # messages on a shelf
PATIENCE = 3600  # seconds after which a message is no longer expected where it was moved to


@dataclass(frozen=True)
class Place:
    """How far a folder was processed."""

    folder: str
    validity: int
    next: int  # the first number that was not processed
    before: int = 0  # the value of `next` at the look before
    newest: int = 0  # the date of the newest message


@dataclass(frozen=True)
class Met:
    """A message that was seen in a folder; its digest is empty if its text was not read."""

    stamp: str
    digest: str = ""
    own: int = 0  # its number in the inbox, if the watcher moved it
    since: int = 0  # when it was judged and left in the inbox; 0 if no lesson can follow from that
    unsure: bool = False  # the filter was unsure about it


@dataclass(frozen=True)
class Gone:
    """A message that has left Junk."""

    stamp: str
    digest: str
    time: int
    looks: int = 0  # how often other folders were searched for it
    done: bool = False  # where it went is known, and there is nothing more to learn


@dataclass(frozen=True)
class Moving:
    """Messages of one digest that the watcher is moving or has moved."""

    uids: list[int]
    stamps: list[str]
    time: int


@dataclass(frozen=True)
class Due:
    """A lesson to be learned once the message is marked as read."""

    folder: str
    validity: int
    uid: int
    spam: bool
    time: int


class Shelf(dict[K, V], Generic[K, V]):
    """Notes of one kind; `changed` holds the keys that were changed since the last write."""

    def __init__(self, name: str, key: Callable[[str], K], value: Callable[..., V]) -> None:
        self.name, self.key, self.value = name, key, value
        self.changed: set[K] = set()

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.changed.add(key)

    def __delitem__(self, key: K) -> None:
        super().__delitem__(key)
        self.changed.add(key)

    def read(self, notes: dict[str, str]) -> None:
        super().clear()
        for name, noted in notes.items():
            super().__setitem__(self.key(name), self.value(**json.loads(noted)))
        self.changed.clear()

    def written(self) -> Iterator[tuple[str, str | None]]:
        for key in self.changed:
            value: Any = self.get(key)
            yield str(key), None if value is None else json.dumps(asdict(value))

    def bound(self, age: Callable[[K, V], int]) -> None:
        """Drop the oldest notes if there are more than MOST."""
        for key in sorted(self, key=lambda each: age(each, self[each]))[: max(len(self) - MOST, 0)]:
            del self[key]


class Watched:
    """The notes about one account."""

    def __init__(self, store: Store, account: str, dry: bool = False) -> None:
        self.store, self.prefix, self.dry = store, f"watch/{account}/", dry
        self.places = Shelf("place", str, Place)
        self.inbox = Shelf("inbox", int, Met)
        self.junk = Shelf("junk", int, Met)
        self.gone = Shelf("gone", str, Gone)  # by UIDVALIDITY and number in Junk
        self.moving = Shelf("moving", str, Moving)  # by digest
        self.due = Shelf("due", str, Due)  # by digest
        self.load()

    @property
    def shelves(self) -> tuple[Shelf[Any, Any], ...]:
        return self.places, self.inbox, self.junk, self.gone, self.moving, self.due

    def load(self) -> None:
        """Read all notes; drop changes that were not written."""
        notes = self.store.notes(self.prefix)
        for shelf in self.shelves:
            start = f"{self.prefix}{shelf.name}/"
            found = {k.removeprefix(start): v for k, v in notes.items() if k.startswith(start)}
            shelf.read(found)

    def keep(self) -> None:
        """Write the changes since the last call."""
        self.inbox.bound(lambda uid, _: uid)
        self.junk.bound(lambda uid, _: uid)
        self.gone.bound(lambda _, each: each.time)
        self.due.bound(lambda _, each: each.time)
        late = now() - PATIENCE
        for key in [key for key, each in self.moving.items() if each.time < late]:
            del self.moving[key]
        if any(shelf.changed for shelf in self.shelves) and not self.dry:
            with self.store.change() as change:
                for shelf in self.shelves:
                    for key, value in shelf.written():
                        change.put(f"{self.prefix}{shelf.name}/{key}", value)
        for shelf in self.shelves:
            shelf.changed.clear()

    def intend(self, digest: str, letter: Head) -> None:
        """Note that a message is about to be moved."""
        before = self.moving.get(digest, Moving([], [], 0))
        uids = dict.fromkeys([*before.uids, letter.uid])
        stamps = dict.fromkeys([*before.stamps, letter.stamp])
        self.moving[digest] = Moving(list(uids), list(stamps), now())

    def dismiss(self, digest: str, uid: int | None = None) -> int:
        """Note that a message was moved or will not be moved; return its UID, or 0 if unknown."""
        if digest not in self.moving:
            return 0
        moving = self.moving[digest]
        uid = moving.uids[0] if uid is None else uid
        left = list(moving.uids)
        if uid in left:
            left.remove(uid)
        if left:
            self.moving[digest] = replace(moving, uids=left)
        else:
            del self.moving[digest]
        return uid


def now() -> int:
    return int(time.time())
