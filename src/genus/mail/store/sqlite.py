"""A store in one file of SQLite: embedded, transactional, for many processes of one machine.

Tokens of lessons are in packs, and counts in buckets (see `packing`). Each row has a checksum, so
that bits that flip on a disk are an error and not another verdict.

What is deleted is overwritten (`secure_delete`), but a page whose rows moved to another may still
have hashes in its gap: to `tidy` writes the file anew, and then what was forgotten is gone from it.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from genus.mail.store.lessons import COLUMNS, Counts, Lesson, NoLesson, Tokens, whole
from genus.mail.store.packing import (
    TOGETHER,
    buckets_of,
    different,
    emptied,
    filled,
    packed,
    unpacked,
)
from genus.mail.store.protocol import Change, NoStore, Store, StoreError, Totals

VERSION = 2
APPLICATION = 0x67656E75  # "genu", in the header of the file
PATIENCE = 60.0  # seconds that a process waits for others
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
LAST = "\U0010ffff"  # after every character of a name
LOOK_UP = "SELECT number, content FROM json_each(?) CROSS JOIN buckets ON number = value"
LOOKED_UP = 10_000  # buckets in one query, for rows take much room
HELD = 4  # packs that are kept while lessons are read
MANY = 200_000  # tokens whose counts are in memory at once
SMALL_PACKS = 128  # of fewer than 32 lessons, which are joined when there are so many


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
        except NoLesson as error:
            raise damaged(self.path, str(error)) from error

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
        with self._reading():
            return counts_of(self._connection, tokens)

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        with self._reading():
            return find(self._connection, digests)

    def totals(self) -> Totals:
        with self._reading():
            return totals_of(self._connection)

    def distinct(self) -> int:
        return sum(len(tokens) for tokens, _ in self.every())

    def every(self) -> Iterator[tuple[Tokens, Counts]]:
        """All tokens with their counts, ascending, some at a time."""
        last = -1
        while True:
            with self._reading():
                rows = self._connection.execute(
                    "SELECT number, content FROM buckets WHERE number > ? ORDER BY number LIMIT ?",
                    (last, LOOKED_UP),
                ).fetchall()
                found = emptied(rows)
            if not rows:
                return
            last = rows[-1][0]
            yield found

    def faults(self) -> list[str]:
        with self._reading():
            rows = self._connection.execute("PRAGMA integrity_check").fetchall()
        return [f"SQLite says: {told}." for (told,) in rows if told != "ok"]

    def newest(self, most: int, spam: bool) -> list[Lesson]:
        with self._reading():
            rows = self._connection.execute(
                f"SELECT {ROW} FROM lessons WHERE spam = ? ORDER BY number DESC LIMIT ?",
                (int(spam), most),
            ).fetchall()
            return read_lessons(self._connection, rows)

    def oldest(self, before: int) -> Iterator[Lesson]:
        last = -1
        while True:
            with self._reading():
                rows = self._connection.execute(
                    f"SELECT {ROW}, number FROM lessons WHERE day < ? AND number > ? "
                    "ORDER BY number LIMIT 1000",
                    (before, last),
                ).fetchall()
                lessons = read_lessons(self._connection, [row[:-1] for row in rows])
            if not rows:
                return
            last = rows[-1][-1]
            yield from lessons

    def notes(self, prefix: str) -> dict[str, str]:
        with self._reading():
            rows = self._connection.execute(
                "SELECT name, value, checksum FROM notes WHERE name >= ? AND name < ?",
                (prefix, prefix + LAST),
            ).fetchall()
            return {text(name): noted(name, value, told) for name, value, told in rows}

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
            numbers = different(buckets_of(some)).tolist()
            held, counts = emptied(look_up(self._connection, numbers))
            # Both are in order, which a stable sort makes use of.
            ids = different(np.sort(np.concatenate([held, some]), kind="stable"))
            sums = np.zeros((len(ids), 2), np.int64)
            sums[ids.searchsorted(held)] = counts
            sums[ids.searchsorted(some)] += more
            if sums.size and sums.min() < 0:
                raise NoLesson("counts would be negative")
            stay = sums.any(axis=1)
            full = filled(ids[stay], sums[stay])
            self._connection.executemany("INSERT OR REPLACE INTO buckets VALUES (?, ?)", full)
            gone = set(numbers) - {number for number, _ in full}
            self._connection.executemany(
                "DELETE FROM buckets WHERE number = ?", [(number,) for number in gone]
            )

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
        """Take lessons out of a pack; the places of others stay."""
        query = "SELECT lessons, content FROM packs WHERE number = ?"
        number, content = self._connection.execute(query, (pack,)).fetchone()
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
        """Make few large packs of many small ones, which take more room."""
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
    """Buckets by their numbers, ascending."""
    found: list[tuple[int, bytes]] = []
    for start in range(0, len(numbers), LOOKED_UP):
        some = str(numbers[start : start + LOOKED_UP])
        found += connection.execute(LOOK_UP, (some,)).fetchall()
    return found


def counts_of(connection: sqlite3.Connection, tokens: Tokens) -> Counts:
    """How much ham and spam holds each token, (n, 2)."""
    found = np.zeros((len(tokens), 2), np.int64)
    for start in range(0, len(tokens), MANY):
        some = tokens[start : start + MANY]
        held, counts = emptied(look_up(connection, np.unique(buckets_of(some)).tolist()))
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
    """A checksum of the values of a row."""
    return zlib.crc32(repr(values).encode())


def require_sum(told: object, *values: object) -> None:
    if told != sum_of(*values):
        raise NoLesson("a row has another checksum than was written")


def noted(name: str, value: object, told: object) -> str:
    require_sum(told, name, value)
    return text(value)


def row_of(lesson: Lesson) -> tuple[bytes, int, int, int, int]:
    """What is kept of a lesson beside its tokens."""
    return lesson.digest, int(lesson.spam), lesson.day, lesson.weight, lesson.halvings


def read_lessons(connection: sqlite3.Connection, rows: Sequence[Any]) -> list[Lesson]:
    """Lessons of rows as ROW; their packs are read once each, if they are in order."""
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
        raise NoLesson("a note is no text")
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
            create_tables(connection)
        run("COMMIT")
    (application,) = run("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise StoreError(f"{path} is a database of something else. Name another file as store.")
    (version,) = run("PRAGMA user_version").fetchone()
    if version == 1:
        carry_over(connection, path)
    elif version != VERSION:
        raise StoreError(
            f"{path} is a store of version {version}, and this genus knows {VERSION}. "
            "Use the genus that wrote it, or learn anew."
        )
    run("PRAGMA synchronous = FULL")
    run("PRAGMA cache_size = -16384")  # KiB


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO totals VALUES (?, 0, 0, ?)", [(spam, sum_of(spam, 0, 0)) for spam in (0, 1)]
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def carry_over(connection: sqlite3.Connection, path: Path) -> None:
    """Make a store of version 1 one of this version; all of it happens, or nothing."""
    run = connection.execute
    try:
        run("BEGIN IMMEDIATE")
        if run("PRAGMA user_version").fetchone() == (1,):  # else another process has done it
            for table in ("tokens", "lessons", "totals", "notes"):
                run(f"ALTER TABLE {table} RENAME TO old_{table}")
            run("DROP INDEX lessons_by_class")
            create_tables(connection)
            change, last = SQLiteChange(connection), -1
            while rows := run(
                f"SELECT {COLUMNS}, number FROM old_lessons WHERE number > ? ORDER BY number "
                "LIMIT 1000",
                (last,),
            ).fetchall():
                last = rows[-1][-1]
                change.write([Lesson.of_row(row[:-1]) for row in rows])
            last = -1
            while rows := run(
                "SELECT id, ham, spam FROM old_tokens WHERE id > ? ORDER BY id LIMIT ?",
                (last, MANY),
            ).fetchall():
                last = rows[-1][0]
                counts = np.array(rows, np.int64)
                change.shift(counts[:, 0].astype(np.uint32), counts[:, 1:])
            for name, value in run("SELECT name, value FROM old_notes").fetchall():
                change.put(text(name), text(value))
            for table in ("tokens", "lessons", "totals", "notes"):
                run(f"DROP TABLE old_{table}")
        run("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            run("ROLLBACK")
        if "readonly" not in str(error):
            raise
        raise StoreError(
            f"{path} is a store of version 1, which this user cannot write. Let its owner carry "
            f"it over: genus mail stats --store {path}."
        ) from error
    with suppress(sqlite3.Error):  # room is given back when nobody else has it open
        run("VACUUM")


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
        f"{path} is no store, or it is damaged: {told}. Mend it (genus mail repair), restore it "
        "from a copy, or move it away and learn anew."
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
