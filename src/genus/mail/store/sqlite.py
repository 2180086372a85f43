"""A store in one file of SQLite: embedded, transactional, for many processes of one machine.

What is deleted is overwritten (`secure_delete`), but a page whose rows moved to another may still
have hashes in its gap: to `tidy` writes the file anew, and then what was forgotten is gone from it.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from genus.mail.store.lessons import COLUMNS, Counts, Lesson, NoLesson, Tokens, whole
from genus.mail.store.protocol import Change, NoStore, Store, StoreError, Totals

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
LAST = "\U0010ffff"  # after every character of a name
LOOK_UP = "SELECT key, ham, spam FROM json_each(?) CROSS JOIN tokens AS t ON t.id = value"
LOOKED_UP = 10_000  # tokens in one query, for rows take much room
TOGETHER = 100  # rows that a statement adds: it takes half as long as one for each
ADD_ONE, ADD_MANY = (
    f"INSERT INTO tokens VALUES {', '.join(['(?, ?, ?)'] * rows)} ON CONFLICT (id) DO UPDATE "
    "SET ham = ham + excluded.ham, spam = spam + excluded.spam"
    for rows in (1, TOGETHER)
)


class SQLiteStore:
    """A store in a file, which is made if there is none and `create` is true.

    If another file is put in its place, that one is opened at the next use.
    """

    def __init__(self, path: str | Path, create: bool = True) -> None:
        self.path, self._create = Path(path), create
        self._open()

    def _open(self) -> None:
        self._opened: sqlite3.Connection | None = None
        try:
            self._frozen = frozen(self.path)
            there = identity(self.path)  # before it is opened: another may come at any time
            self._opened = connect(self.path, self._create, self._frozen is not None)
            self._file = there or identity(self.path)
            self._log = identity(beside(self.path, "-wal"))
        except (OSError, sqlite3.Error, UnicodeDecodeError, TypeError) as error:
            raise sentence(self.path, error) from error

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._opened is not None and self._opened.in_transaction:
            return self._opened
        if self._opened is None or self._is_another():
            self.close()
            self._open()
        assert self._opened is not None
        return self._opened

    def _is_another(self) -> bool:
        """Whether what is at the path now is not what was opened, or was frozen and is not."""
        if self._frozen is not None and self._frozen != frozen(self.path):
            return True
        return identity(self.path) != self._file

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def layers(self) -> tuple[Store]:
        return (self,)

    def counts(self, tokens: Tokens) -> Counts:
        found = np.zeros((len(tokens), 2), np.int64)
        for start in range(0, len(tokens), LOOKED_UP):
            with self._reading():
                rows = self._connection.execute(
                    LOOK_UP,
                    (str(tokens[start : start + LOOKED_UP].tolist()),),
                ).fetchall()
                known = np.array(rows, np.int64).reshape(-1, 3)
            if known.size and known.min() < 0:
                raise damaged(self.path, "counts are negative")
            found[start + known[:, 0]] = known[:, 1:]
        return found

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        with self._reading():
            return find(self._connection, digests)

    def totals(self) -> Totals:
        with self._reading():
            rows = self._connection.execute(
                "SELECT messages, weight FROM totals ORDER BY spam"
            ).fetchall()
            (ham, ham_weight), (spam, spam_weight) = rows
            return Totals(*map(whole, (ham, spam, ham_weight, spam_weight)))

    def distinct(self) -> int:
        with self._reading():
            (number,) = self._connection.execute("SELECT count(*) FROM tokens").fetchone()
        return int(number)

    def newest(self, most: int, spam: bool) -> list[Lesson]:
        with self._reading():
            rows = self._connection.execute(
                f"SELECT {COLUMNS} FROM lessons WHERE spam = ? ORDER BY number DESC LIMIT ?",
                (int(spam), most),
            )
            return [Lesson.of_row(row) for row in rows]

    def oldest(self, before: int) -> Iterator[Lesson]:
        last = -1
        while True:
            with self._reading():
                rows = self._connection.execute(
                    f"SELECT {COLUMNS}, number FROM lessons WHERE day < ? AND number > ? "
                    "ORDER BY number LIMIT 1000",
                    (before, last),
                ).fetchall()
                lessons = [Lesson.of_row(row[:-1]) for row in rows]
            if not rows:
                return
            last = rows[-1][-1]
            yield from lessons

    def notes(self, prefix: str) -> dict[str, str]:
        with self._reading():
            rows = self._connection.execute(
                "SELECT name, value FROM notes WHERE name >= ? AND name < ?",
                (prefix, prefix + LAST),
            ).fetchall()
            return {text(name): text(value) for name, value in rows}

    @contextmanager
    def change(self) -> Iterator[Change]:
        with self._sentences():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SQLiteChange(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have ended it
                    connection.execute("ROLLBACK")
                raise

    def size(self) -> int:
        found = 0
        for end in ("", "-wal"):
            with suppress(FileNotFoundError):
                found += beside(self.path, end).stat().st_size
        return found

    def tidy(self) -> None:
        with self._sentences():
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        if self._opened is None:
            return
        replaced = identity(self.path) != self._file
        if replaced:
            with suppress(sqlite3.Error):  # wherever the file is now, what was learned goes there
                self._opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._opened.close()
        if replaced:
            remove_log(self.path, self._log)

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise sentence(self.path, error) from error
        except NoLesson as error:
            raise damaged(self.path, str(error)) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """The same, and what is read is of the kind that is written."""
        with self._sentences():
            try:
                yield
            except (TypeError, ValueError) as error:
                if isinstance(error, StoreError | NoLesson | UnicodeDecodeError):
                    raise
                raise NoLesson(f"a value of another kind than is written there: {error}") from error


class SQLiteChange:
    """A transaction of a store in SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        return find(self._connection, digests)

    def write(self, lessons: Sequence[Lesson]) -> None:
        self._connection.executemany(
            f"INSERT INTO lessons ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
            [each.row for each in lessons],
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
        rows = np.column_stack([tokens.astype(np.int64), by])
        together = len(rows) // TOGETHER * TOGETHER
        self._connection.executemany(ADD_MANY, rows[:together].reshape(-1, 3 * TOGETHER).tolist())
        self._connection.executemany(ADD_ONE, rows[together:].tolist())
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


def text(value: object) -> str:
    if not isinstance(value, str):
        raise NoLesson("a note is no text")
    return value


def find(connection: sqlite3.Connection, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
    found: dict[bytes, Lesson] = {}
    for start in range(0, len(digests), 500):
        some = digests[start : start + 500]
        marks = ",".join("?" * len(some))
        rows = connection.execute(f"SELECT {COLUMNS} FROM lessons WHERE digest IN ({marks})", some)
        found.update((row[0], Lesson.of_row(row)) for row in rows)
    return found


def beside(path: Path, end: str) -> Path:
    """A file that SQLite has beside another."""
    return path.with_name(path.name + end)


def identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another that has its name; None if there is none."""
    try:
        told = path.stat()
    except FileNotFoundError:
        return None
    return told.st_dev, told.st_ino


def remove_log(path: Path, log: tuple[int, int] | None) -> None:
    """Remove a log, by its identity, of a file that is no longer at the path.

    SQLite leaves it there when it closes such a file, and would write what is in it into the file
    that has come.
    """
    if log is not None and identity(beside(path, "-wal")) == log:
        for end in ("-wal", "-shm"):
            beside(path, end).unlink(missing_ok=True)


def frozen(path: Path) -> tuple[int, ...] | None:
    """What tells whether a file has changed that is not to be written; None of any other.

    A site's store may be in a folder where its users must not write, and SQLite would need to, for
    the files that it has beside one while somebody uses it. If they are not there, nobody does.
    """
    if not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return None
    if beside(path, "-wal").exists():
        return None
    told = path.stat()
    return told.st_ino, told.st_size, told.st_mtime_ns


def connect(path: Path, create: bool, is_frozen: bool) -> sqlite3.Connection:
    """A connection to a store of this version, made if need be."""
    there = path.exists() and path.stat().st_size > 0
    if not there and not create:
        raise NoStore(
            f"There is no store at {path.absolute()}. Learn some mail first: "
            "genus mail learn --spam PATH --ham PATH."
        )
    if path.is_dir():
        raise StoreError(
            f"{path} is a folder. Name a file as store, such as {path / 'mail.sqlite'}."
        )
    if not there:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # mail is nobody else's affair
        with suppress(OSError):  # an empty file that was there, perhaps another user's
            path.chmod(0o600)
    how = "?immutable=1" if is_frozen else ""
    connection = sqlite3.connect(
        path.absolute().as_uri() + how, timeout=PATIENCE, isolation_level=None, uri=True
    )
    try:
        prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    run = connection.execute
    run("PRAGMA secure_delete = ON")
    if is_empty(connection):
        switch_to_wal(connection)
        run("BEGIN IMMEDIATE")  # another process may be making it, too
        if is_empty(connection):
            for statement in SCHEMA.split(";"):
                run(statement)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {VERSION}")
        run("COMMIT")
    (application,) = run("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise StoreError(f"{path} is a database of something else. Name another file as store.")
    (version,) = run("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise StoreError(
            f"{path} is a store of version {version}, and this genus knows {VERSION}. "
            "Use the genus that wrote it, or learn anew."
        )
    run("PRAGMA synchronous = FULL")
    run("PRAGMA cache_size = -16384")  # KiB


def is_empty(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return application == 0 and tables == 0


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """SQLite does not wait for others here, whatever its timeout."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def sentence(path: Path, error: Exception) -> StoreError:
    """An error of SQLite as what it means for the user."""
    told = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if "full" in told or is_full(path, error):
        return StoreError(f"The disk of the store {path} is full. Make room, and try again.")
    if "locked" in told or "busy" in told:
        return StoreError(
            f"The store {path} has been in use by another process for {PATIENCE:.0f} s. Try again."
        )
    is_of_value = isinstance(error, UnicodeDecodeError | OverflowError | TypeError)
    if is_of_value or "not a database" in told or "malformed" in told:
        return damaged(path, told)
    if "readonly" in told:
        return StoreError(f"The store {path} can be read, but not written, by this user.")
    return StoreError(f"Cannot use the store {path}: {told}. Check that it can be written.")


def damaged(path: Path, told: str) -> StoreError:
    return StoreError(
        f"{path} is no store, or it is damaged: {told}. Restore it from a copy, or move it away "
        "and learn anew."
    )


def is_full(path: Path, error: Exception) -> bool:
    """Whether there is no room, which SQLite does not tell if it is for a file beside."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    if "disk I/O error" not in str(error):
        return False
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free < 1 << 16
    return False
