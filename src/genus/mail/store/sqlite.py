"""Keep a store in one SQLite file, for many processes of one machine.

Deleted rows are overwritten (`secure_delete`), but a page may keep hashes in the space of rows
that were moved to another page. `tidy` rewrites the file, which removes all that was forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from genus.mail.store.lessons import Counts, Lesson, NoLesson, Tokens
from genus.mail.store.packing import emptied
from genus.mail.store.protocol import Change, Store, StoreError, Totals
from genus.mail.store.sqlite_files import (
    beside,
    connect,
    damaged,
    frozen,
    identity,
    remove_log,
    sentence,
)
from genus.mail.store.sqlite_rows import (
    LOOKED_UP,
    ROW,
    SQLiteChange,
    counts_of,
    find,
    noted,
    read_lessons,
    text,
    totals_of,
)

LAST = "\U0010ffff"  # after every character of a name


class SQLiteStore:
    """A store in a file, which is created if it does not exist and `create` is true.

    If the file is replaced by another, the store opens the other at its next use.
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
            raise sentence(self.path, error, is_open=False, writes=self._create) from error
        except NoLesson as error:
            raise damaged(self.path, str(error), is_open=False) from error

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
        """Return whether the file at the path was replaced, or was read-only and has changed."""
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
        """Yield all tokens with their counts, ascending, in parts."""
        last = -1
        while True:
            with self._reading():
                rows = self._connection.execute(
                    "SELECT number, content FROM buckets WHERE number > ? ORDER BY number LIMIT ?",
                    (last, LOOKED_UP),
                ).fetchall()
                last = ascending(last, [number for number, _ in rows])
                found = emptied(rows)
            if not rows:
                return
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
                last = ascending(last, [row[-1] for row in rows])
                lessons = read_lessons(self._connection, [row[:-1] for row in rows])
            if not rows:
                return
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
        """Turn SQLite's errors into clear errors; a value of a wrong type is reported as damage."""
        with self._sentences():
            try:
                yield
            except (TypeError, ValueError) as error:
                if isinstance(error, StoreError | NoLesson | UnicodeDecodeError):
                    raise
                raise NoLesson(f"a value has the wrong type: {error}") from error


def ascending(last: int, numbers: Sequence[int]) -> int:
    """Return the last of some numbers; report damage if they do not increase, beginning at `last`.

    If a page of the file was written over another, SQLite returns rows out of order, for ever.
    """
    if not all(one < other for one, other in pairwise([last, *numbers])):
        raise NoLesson("its rows are out of order")
    return numbers[-1] if numbers else last
