"""A store in one file of SQLite: embedded, transactional, for many processes of one machine.

What is deleted is overwritten (`secure_delete`), so that what was forgotten is gone from the file.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from genus.mail.store.lessons import Counts, Lesson, Tokens
from genus.mail.store.protocol import Change, StoreError, Totals

VERSION = 1
APPLICATION = 0x67656E75  # "genu", in the header of the file
PATIENCE = 60.0  # seconds that a process waits for others
SCHEMA = """
CREATE TABLE tokens (id INTEGER PRIMARY KEY, ham INTEGER NOT NULL, spam INTEGER NOT NULL);
CREATE TABLE lessons (
    number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, spam INTEGER NOT NULL,
    day INTEGER NOT NULL, weight INTEGER NOT NULL,
    halvings INTEGER NOT NULL, tokens BLOB NOT NULL
);
CREATE INDEX lessons_by_class ON lessons (spam, number);
CREATE TABLE totals (
    spam INTEGER PRIMARY KEY, messages INTEGER NOT NULL, weight INTEGER NOT NULL
);
INSERT INTO totals VALUES (0, 0, 0), (1, 0, 0);
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
LESSON = "digest, spam, day, tokens, weight, halvings"


class SQLiteStore:
    """A store in a file, which is made if there is none and `create` is true."""

    def __init__(self, path: str | Path, create: bool = True) -> None:
        self.path = Path(path)
        self._connection = connect(self.path, create)

    @property
    def name(self) -> str:
        return str(self.path)

    def counts(self, tokens: Tokens) -> Counts:
        found = np.zeros((len(tokens), 2), np.int64)
        if len(tokens) == 0:
            return found
        with self._sentences():
            # Literals beat bound parameters, of which there may be but 32,766; ids are numbers.
            rows = []
            for start in range(0, len(tokens), 10_000):
                listed = ",".join(map(str, tokens[start : start + 10_000].tolist()))
                rows += self._connection.execute(
                    f"SELECT id, ham, spam FROM tokens WHERE id IN ({listed})"
                ).fetchall()
        if rows:
            known = np.array(rows, np.int64)
            order = np.argsort(tokens, kind="stable")
            at = np.searchsorted(tokens[order], known[:, 0].astype(np.uint32))
            found[order[at]] = known[:, 1:]
        return found

    def totals(self) -> Totals:
        with self._sentences():
            rows = self._connection.execute(
                "SELECT messages, weight FROM totals ORDER BY spam"
            ).fetchall()
        (ham, ham_weight), (spam, spam_weight) = rows
        return Totals(ham, spam, ham_weight, spam_weight)

    def distinct(self) -> int:
        with self._sentences():
            (number,) = self._connection.execute("SELECT count(*) FROM tokens").fetchone()
        return int(number)

    def newest(self, most: int, spam: bool) -> list[Lesson]:
        with self._sentences():
            rows = self._connection.execute(
                f"SELECT {LESSON} FROM lessons WHERE spam = ? ORDER BY number DESC LIMIT ?",
                (int(spam), most),
            ).fetchall()
        return [lesson_of(row) for row in rows]

    def oldest(self, before: int) -> Iterator[Lesson]:
        last = -1
        while True:
            with self._sentences():
                rows = self._connection.execute(
                    f"SELECT {LESSON}, number FROM lessons WHERE day < ? AND number > ? "
                    "ORDER BY number LIMIT 1000",
                    (before, last),
                ).fetchall()
            if not rows:
                return
            last = rows[-1][-1]
            yield from (lesson_of(row[:-1]) for row in rows)

    def notes(self, prefix: str) -> dict[str, str]:
        with self._sentences():
            return dict(
                self._connection.execute(
                    "SELECT name, value FROM notes WHERE substr(name, 1, ?) = ?",
                    (len(prefix), prefix),
                ).fetchall()
            )

    @contextmanager
    def change(self) -> Iterator[Change]:
        with self._sentences():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            with self._sentences():
                yield SQLiteChange(self._connection)
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def size(self) -> int:
        beside = (self.path.with_name(self.path.name + end) for end in ("", "-wal"))
        return sum(each.stat().st_size for each in beside if each.exists())

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise sentence(self.path, error) from error


class SQLiteChange:
    """A transaction of a store in SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        found: dict[bytes, Lesson] = {}
        for start in range(0, len(digests), 1000):
            some = digests[start : start + 1000]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(
                f"SELECT {LESSON} FROM lessons WHERE digest IN ({marks})", some
            )
            found.update((row[0], lesson_of(row)) for row in rows)
        return found

    def write(self, lessons: Sequence[Lesson]) -> None:
        self._connection.executemany(
            f"INSERT INTO lessons ({LESSON}) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    each.digest,
                    int(each.spam),
                    each.day,
                    stored(each.tokens),
                    each.weight,
                    each.halvings,
                )
                for each in lessons
            ],
        )
        self._count(lessons, 1)

    def drop(self, lessons: Sequence[Lesson]) -> None:
        self._connection.executemany(
            "DELETE FROM lessons WHERE digest = ?", [(each.digest,) for each in lessons]
        )
        self._count(lessons, -1)

    def fade(self, lessons: Sequence[Lesson], halvings: int) -> None:
        self._connection.executemany(
            "UPDATE lessons SET halvings = ? WHERE digest = ?",
            [(halvings, each.digest) for each in lessons],
        )
        self._count(lessons, -1)
        self._count([replace(each, halvings=halvings) for each in lessons], 1)

    def shift(self, tokens: Tokens, by: Counts) -> None:
        rows = np.column_stack([tokens.astype(np.int64), by]).tolist()
        self._connection.executemany(
            "INSERT INTO tokens VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "
            "SET ham = ham + excluded.ham, spam = spam + excluded.spam",
            rows,
        )
        less = tokens[(by < 0).any(axis=1)].tolist()
        self._connection.executemany(
            "DELETE FROM tokens WHERE id = ? AND ham = 0 AND spam = 0", [(i,) for i in less]
        )

    def put(self, key: str, value: str | None) -> None:
        if value is None:
            self._connection.execute("DELETE FROM notes WHERE name = ?", (key,))
        else:
            self._connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, value))

    def get(self, key: str) -> str | None:
        row = self._connection.execute("SELECT value FROM notes WHERE name = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def _count(self, lessons: Sequence[Lesson], sign: int) -> None:
        for spam in (False, True):
            of_class = [each for each in lessons if each.spam == spam]
            self._connection.execute(
                "UPDATE totals SET messages = messages + ?, weight = weight + ? WHERE spam = ?",
                (sign * len(of_class), sign * sum(each.counts_for for each in of_class), int(spam)),
            )


def connect(path: Path, create: bool) -> sqlite3.Connection:
    """A connection to a store of this version, made if need be."""
    there = path.exists() and path.stat().st_size > 0
    if not there and not create:
        raise StoreError(
            f"There is no store at {path}. Learn some mail first: "
            "genus mail learn --spam PATH --ham PATH."
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # mail is nobody else's affair
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise sentence(path, error) from error
    try:
        prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise sentence(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA secure_delete = ON")
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == 0:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")  # another process may be making it, too
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if application == 0 and tables == 0:
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            application = APPLICATION
        connection.execute("COMMIT")
    if application != APPLICATION:
        raise StoreError(f"{path} is a database of something else. Name another file as store.")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise StoreError(
            f"{path} is a store of version {version}, and this genus knows {VERSION}. "
            "Use the genus that wrote it, or learn anew."
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -65536")  # KiB


def sentence(path: Path, error: Exception) -> StoreError:
    """An error of SQLite as what it means for the user."""
    told = str(error)
    if isinstance(error, OSError):
        told = error.strerror or told
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            told = "full"
    if "full" in told:
        return StoreError(
            f"The disk of the store {path} is full; nothing was changed. Make room, and try again."
        )
    if "locked" in told or "busy" in told:
        return StoreError(
            f"The store {path} has been in use by another process for {PATIENCE:.0f} s. Try again."
        )
    if "not a database" in told or "malformed" in told:
        return StoreError(
            f"{path} is no store, or it is damaged: {told}. Restore it from a copy, or move it "
            "away and learn anew."
        )
    return StoreError(f"Cannot use the store {path}: {told}. Check that it can be written.")


def stored(tokens: Tokens) -> bytes:
    return tokens.astype("<u4").tobytes()


def lesson_of(row: tuple[bytes, int, int, bytes, int, int]) -> Lesson:
    digest, spam, day, tokens, weight, halvings = row
    held = np.frombuffer(tokens, "<u4").astype(np.uint32)
    return Lesson(digest, bool(spam), day, held, weight, halvings)
