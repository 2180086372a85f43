"""Read and write the rows of a SQLite store: lessons, packs, buckets (`packing`), totals, notes.

Each row has a checksum, so that flipped bits in it cause an error and not a wrong verdict. A bit
that flips in SQLite's own part of a page may hide a row; `genus mail verify` finds that.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from genus.mail.store.lessons import Counts, Lesson, NoLesson, Tokens, whole
from genus.mail.store.packing import (
    TOGETHER,
    Bucket,
    buckets_of,
    emptied,
    packed,
    shifted,
    unpacked,
)
from genus.mail.store.protocol import Totals

SCHEMA = """
CREATE TABLE buckets (number INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE packs (number INTEGER PRIMARY KEY, lessons INTEGER NOT NULL, content BLOB NOT NULL);
CREATE INDEX small_packs ON packs (number) WHERE lessons < 32;
CREATE TABLE lessons (
    number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, spam INTEGER NOT NULL,
    day INTEGER NOT NULL, weight INTEGER NOT NULL, halvings INTEGER NOT NULL,
    pack INTEGER NOT NULL, place INTEGER NOT NULL, checksum INTEGER NOT NULL
);
CREATE INDEX lessons_by_class ON lessons (spam, number);
CREATE TABLE totals (
    spam INTEGER PRIMARY KEY, messages INTEGER NOT NULL, weight INTEGER NOT NULL,
    checksum INTEGER NOT NULL
);
CREATE TABLE notes (
    name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID;
"""
ROW = "digest, spam, day, weight, halvings, pack, place, checksum"
LOOK_UP = "SELECT number, content FROM json_each(?) CROSS JOIN buckets ON number = value"
LOOKED_UP = 10_000  # buckets in one query, because rows take much memory
WRITTEN = 250  # buckets in one statement
HELD = 4  # packs that are kept while lessons are read
MANY = 50_000  # tokens whose counts are in memory at once
SMALL_PACKS = 128  # packs of fewer than 32 lessons; so many are joined into large ones


class SQLiteChange:
    """A transaction of a store in SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        return find(self._connection, digests)

    def write(self, lessons: Sequence[Lesson]) -> None:
        for start in range(0, len(lessons), TOGETHER):
            some = lessons[start : start + TOGETHER]
            pack = self._add_pack([each.tokens for each in some])
            self._connection.executemany(
                f"INSERT INTO lessons ({ROW}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (*row_of(each), pack, place, sum_of(*row_of(each), pack, place))
                    for place, each in enumerate(some)
                ],
            )
        self._count(lessons, 1)
        self._join_packs()

    def drop(self, lessons: Sequence[Lesson]) -> None:
        left: dict[int, set[int]] = {}
        for each in lessons:
            query = "SELECT pack, place FROM lessons WHERE digest = ?"
            pack, place = self._connection.execute(query, (each.digest,)).fetchone()
            left.setdefault(pack, set()).add(place)
        self._connection.executemany(
            "DELETE FROM lessons WHERE digest = ?", [(each.digest,) for each in lessons]
        )
        for pack, places in left.items():
            self._empty(pack, places)
        self._count(lessons, -1)

    def fade(self, lessons: Sequence[Lesson], halvings: int) -> None:
        for each in lessons:
            query = "SELECT pack, place FROM lessons WHERE digest = ?"
            at = self._connection.execute(query, (each.digest,)).fetchone()
            row = row_of(replace(each, halvings=halvings))
            self._connection.execute(
                "UPDATE lessons SET halvings = ?, checksum = ? WHERE digest = ?",
                (halvings, sum_of(*row, *at), each.digest),
            )
        self._count(lessons, -1)
        self._count([replace(each, halvings=halvings) for each in lessons], 1)

    def shift(self, tokens: Tokens, by: Counts) -> None:
        for start in range(0, len(tokens), MANY):
            some, more = tokens[start : start + MANY], by[start : start + MANY]
            held = look_up(self._connection, buckets_of(some).tolist())
            new = shifted(held, some, more)
            self._put_buckets([each for each in new if each[1]])
            self._connection.executemany(
                "DELETE FROM buckets WHERE number = ?",
                [(number,) for number, content in new if not content],
            )

    def _put_buckets(self, buckets: Sequence[Bucket]) -> None:
        for start in range(0, len(buckets), WRITTEN):  # one by one would take twice as long
            some = buckets[start : start + WRITTEN]
            marks = ",".join(["(?, ?)"] * len(some))
            query = f"INSERT OR REPLACE INTO buckets VALUES {marks}"
            self._connection.execute(query, list(chain.from_iterable(some)))

    def put(self, key: str, value: str | None) -> None:
        if value is None:
            self._connection.execute("DELETE FROM notes WHERE name = ?", (key,))
        else:
            row = key, value, sum_of(key, value)
            self._connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", row)

    def get(self, key: str) -> str | None:
        query = "SELECT value, checksum FROM notes WHERE name = ?"
        row = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else noted(key, *row)

    def _count(self, lessons: Sequence[Lesson], sign: int) -> None:
        totals = totals_of(self._connection)
        of_class = [[each for each in lessons if each.spam == spam] for spam in (False, True)]
        weights = [sum(each.counts_for for each in some) for some in of_class]
        numbers = (totals.ham, totals.spam), (totals.ham_weight, totals.spam_weight)
        for spam in (0, 1):
            row = (
                numbers[0][spam] + sign * len(of_class[spam]),
                numbers[1][spam] + sign * weights[spam],
            )
            self._connection.execute(
                "UPDATE totals SET messages = ?, weight = ?, checksum = ? WHERE spam = ?",
                (*row, sum_of(spam, *row), spam),
            )

    def _add_pack(self, tokens: Sequence[Tokens]) -> int:
        row = len(tokens), packed(tokens)
        added = self._connection.execute("INSERT INTO packs VALUES (NULL, ?, ?)", row)
        assert added.lastrowid is not None
        return added.lastrowid

    def _empty(self, pack: int, places: set[int]) -> None:
        """Remove lessons from a pack; the others keep their places."""
        query = "SELECT lessons, content FROM packs WHERE number = ?"
        row = self._connection.execute(query, (pack,)).fetchone()
        if row is None:
            raise NoLesson("the tokens of a lesson are missing")
        number, content = whole(row[0]), row[1]
        if number == len(places):
            self._connection.execute("DELETE FROM packs WHERE number = ?", (pack,))
            return
        nothing = np.zeros(0, np.uint32)
        kept = [nothing if at in places else each for at, each in enumerate(unpacked(content))]
        self._connection.execute(
            "UPDATE packs SET lessons = ?, content = ? WHERE number = ?",
            (number - len(places), packed(kept), pack),
        )

    def _join_packs(self) -> None:
        """Join many small packs into a few large ones, which take less space."""
        query = "SELECT number FROM packs WHERE lessons < 32 ORDER BY number"
        small = [number for (number,) in self._connection.execute(query)]
        if len(small) < SMALL_PACKS:
            return
        marks = ",".join("?" * len(small))
        rows = self._connection.execute(
            f"SELECT {ROW} FROM lessons WHERE pack IN ({marks}) ORDER BY number", small
        ).fetchall()
        lessons = read_lessons(self._connection, rows)
        for start in range(0, len(lessons), TOGETHER):
            some = lessons[start : start + TOGETHER]
            pack = self._add_pack([each.tokens for each in some])
            self._connection.executemany(
                "UPDATE lessons SET pack = ?, place = ?, checksum = ? WHERE digest = ?",
                [
                    (pack, place, sum_of(*row_of(each), pack, place), each.digest)
                    for place, each in enumerate(some)
                ],
            )
        self._connection.execute(f"DELETE FROM packs WHERE number IN ({marks})", small)


def look_up(connection: sqlite3.Connection, numbers: list[int]) -> list[tuple[int, bytes]]:
    """Return the existing buckets with these numbers, ascending."""
    found: list[tuple[int, bytes]] = []
    for start in range(0, len(numbers), LOOKED_UP):
        some = str(numbers[start : start + LOOKED_UP])
        found += connection.execute(LOOK_UP, (some,)).fetchall()
    return found


def counts_of(connection: sqlite3.Connection, tokens: Tokens) -> Counts:
    """Return the counts of ham and spam of each token, (n, 2)."""
    found = np.zeros((len(tokens), 2), np.int64)
    for start in range(0, len(tokens), MANY):
        some = tokens[start : start + MANY]
        held, counts = emptied(look_up(connection, buckets_of(some).tolist()))
        at = np.minimum(held.searchsorted(some), max(len(held) - 1, 0))
        if len(held):
            found[start : start + MANY] = np.where((held[at] == some)[:, None], counts[at], 0)
    return found


def totals_of(connection: sqlite3.Connection) -> Totals:
    query = "SELECT spam, messages, weight, checksum FROM totals ORDER BY spam"
    rows = connection.execute(query).fetchall()
    for *row, told in rows:
        require_sum(told, *row)
    (_, ham, ham_weight, _), (_, spam, spam_weight, _) = rows
    return Totals(*map(whole, (ham, spam, ham_weight, spam_weight)))


def sum_of(*values: object) -> int:
    """Return a checksum of the values of a row."""
    return zlib.crc32(repr(values).encode())


def require_sum(told: object, *values: object) -> None:
    if told != sum_of(*values):
        raise NoLesson("the checksum of a row is wrong")


def noted(name: str, value: object, told: object) -> str:
    require_sum(told, name, value)
    return text(value)


def row_of(lesson: Lesson) -> tuple[bytes, int, int, int, int]:
    """Return the values of a lesson except its tokens."""
    return lesson.digest, int(lesson.spam), lesson.day, lesson.weight, lesson.halvings


def read_lessons(connection: sqlite3.Connection, rows: Sequence[Any]) -> list[Lesson]:
    """Return the lessons in rows with the columns ROW.

    Each pack is read only once if the rows are sorted by pack.
    """
    held: dict[int, list[Tokens]] = {}
    found = []
    for digest, spam, day, weight, halvings, pack, place, told in rows:
        require_sum(told, digest, spam, day, weight, halvings, pack, place)
        if pack not in held:
            if len(held) >= HELD:
                held.pop(next(iter(held)))
            row = connection.execute(
                "SELECT content FROM packs WHERE number = ?", (pack,)
            ).fetchone()
            if row is None:
                raise NoLesson("the tokens of a lesson are missing")
            held[pack] = unpacked(row[0])
        if not 0 <= place < len(held[pack]):
            raise NoLesson("the tokens of a lesson are missing")
        found.append(Lesson(digest, bool(spam), day, held[pack][place], weight, halvings))
    return found


def text(value: object) -> str:
    if not isinstance(value, str):
        raise NoLesson("a note is not a text")
    return value


def find(connection: sqlite3.Connection, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
    found: dict[bytes, Lesson] = {}
    for start in range(0, len(digests), 500):
        some = digests[start : start + 500]
        marks = ",".join("?" * len(some))
        query = f"SELECT {ROW} FROM lessons WHERE digest IN ({marks}) ORDER BY pack"
        rows = connection.execute(query, some).fetchall()
        found.update((each.digest, each) for each in read_lessons(connection, rows))
    return found
