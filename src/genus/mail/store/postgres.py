"""Keep stores in PostgreSQL, for a site with many machines; each owner has counts of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np

from genus.mail.store.lessons import COLUMNS, Counts, Lesson, NoLesson, Tokens, sums_in_parts
from genus.mail.store.protocol import Change, NoStore, Store, StoreError, Totals

VERSION = 1
LOCK = 0x67656E75  # of advisory locks, "genu"; the other half is the owner
SCHEMA = """
CREATE SCHEMA IF NOT EXISTS genus_mail;
CREATE TABLE IF NOT EXISTS genus_mail.versions (version INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS genus_mail.owners (
    owner SERIAL PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    ham BIGINT NOT NULL DEFAULT 0, spam BIGINT NOT NULL DEFAULT 0,
    ham_weight BIGINT NOT NULL DEFAULT 0, spam_weight BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS genus_mail.tokens (
    owner INTEGER NOT NULL, id BIGINT NOT NULL, ham BIGINT NOT NULL, spam BIGINT NOT NULL,
    PRIMARY KEY (owner, id)
);
CREATE TABLE IF NOT EXISTS genus_mail.lessons (
    number BIGSERIAL PRIMARY KEY, owner INTEGER NOT NULL, digest BYTEA NOT NULL,
    spam BOOLEAN NOT NULL, day INTEGER NOT NULL, weight BIGINT NOT NULL,
    halvings INTEGER NOT NULL, tokens BYTEA NOT NULL,
    UNIQUE (owner, digest)
);
CREATE INDEX IF NOT EXISTS lessons_by_class ON genus_mail.lessons (owner, spam, number);
CREATE TABLE IF NOT EXISTS genus_mail.notes (
    owner INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (owner, name)
);
"""
FIND = f"SELECT {COLUMNS} FROM genus_mail.lessons WHERE owner = %s AND digest = ANY(%s)"


def client() -> Any:
    """Import psycopg, or raise an error that says how to install it."""
    try:
        import psycopg
    except ImportError:
        raise StoreError(
            "A store in PostgreSQL needs psycopg. Install it: pip install 'genus[postgres]'."
        ) from None
    return psycopg


class PostgresStore:
    """A store in the database at a URL, whose parameter owner=NAME names the store's owner."""

    def __init__(self, url: str, create: bool = True) -> None:
        self._psycopg = client()
        self._url, self.owner = owner_of(url)
        self.name = f"{place_of(self._url)} ({self.owner})"
        with self._sentences():
            self._connect()
        try:
            self._prepare(create)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, create: bool) -> None:
        with self._sentences(), self._connection.transaction():
            run = self._connection.execute
            run("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK,))
            (there,) = run("SELECT to_regclass('genus_mail.versions') IS NOT NULL").fetchone()
            if not there and create:
                run(SCHEMA)
                run("INSERT INTO genus_mail.versions VALUES (%s)", (VERSION,))
                there = True
            found = None
            if there:
                (version,) = run("SELECT max(version) FROM genus_mail.versions").fetchone()
                if version != VERSION:
                    raise StoreError(
                        f"{self.name} has stores of version {version}, but this genus reads "
                        f"version {VERSION}. Use the genus that wrote them."
                    )
                query = "SELECT owner FROM genus_mail.owners WHERE name = %s"
                found = run(query, (self.owner,)).fetchone()
                if found is None and create:
                    run("INSERT INTO genus_mail.owners (name) VALUES (%s)", (self.owner,))
                    found = run(query, (self.owner,)).fetchone()
            if found is None:
                raise NoStore(
                    f"There is no store of {self.owner!r} at {self.name}. Learn some mail first: "
                    "genus mail learn --spam PATH --ham PATH."
                )
            (self._number,) = found

    def _connect(self) -> None:
        self._connection = self._psycopg.connect(self._url, autocommit=True)

    @property
    def layers(self) -> tuple[Store]:
        return (self,)

    def counts(self, tokens: Tokens) -> Counts:
        found = np.zeros((len(tokens), 2), np.int64)
        rows = self._rows(
            "SELECT key - 1, ham, spam FROM unnest(%s::bigint[]) WITH ORDINALITY AS j (value, key) "
            "JOIN genus_mail.tokens ON owner = %s AND id = value",
            (tokens.tolist(), self._number),
        )
        if rows:
            known = np.array(rows, np.int64)
            found[known[:, 0]] = known[:, 1:]
        return found

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        rows = self._rows(FIND, (self._number, list(digests)))
        return {each.digest: each for each in self._lessons(rows)}

    def totals(self) -> Totals:
        query = "SELECT ham, spam, ham_weight, spam_weight FROM genus_mail.owners WHERE owner = %s"
        return Totals(*self._rows(query, (self._number,))[0])

    def distinct(self) -> int:
        query = "SELECT count(*) FROM genus_mail.tokens WHERE owner = %s"
        return int(self._rows(query, (self._number,))[0][0])

    def every(self) -> Iterator[tuple[Tokens, Counts]]:
        last = -1
        while rows := self._rows(
            "SELECT id, ham, spam FROM genus_mail.tokens WHERE owner = %s AND id > %s "
            "ORDER BY id LIMIT 100000",
            (self._number, last),
        ):
            last = rows[-1][0]
            counts = np.array(rows, np.int64)
            yield counts[:, 0].astype(np.uint32), counts[:, 1:]

    def faults(self) -> list[str]:
        return []  # whether pages are whole, PostgreSQL itself looks after

    def newest(self, most: int, spam: bool) -> list[Lesson]:
        rows = self._rows(
            f"SELECT {COLUMNS} FROM genus_mail.lessons WHERE owner = %s AND spam = %s "
            "ORDER BY number DESC LIMIT %s",
            (self._number, spam, most),
        )
        return self._lessons(rows)

    def oldest(self, before: int) -> Iterator[Lesson]:
        last = -1
        while rows := self._rows(
            f"SELECT {COLUMNS}, number FROM genus_mail.lessons "
            "WHERE owner = %s AND day < %s AND number > %s ORDER BY number LIMIT 1000",
            (self._number, before, last),
        ):
            last = rows[-1][-1]
            yield from self._lessons([row[:-1] for row in rows])

    def notes(self, prefix: str) -> dict[str, str]:
        query = (
            "SELECT name, value FROM genus_mail.notes WHERE owner = %s AND starts_with(name, %s)"
        )
        return dict(self._rows(query, (self._number, prefix)))

    @contextmanager
    def change(self) -> Iterator[Change]:
        with self._sentences():
            self._rows("SELECT 1", ())  # connects again after a restart, when that is still safe
            with self._connection.transaction():
                # Writers of one owner take turns: lessons are read before counts are changed.
                self._connection.execute(
                    "SELECT pg_advisory_xact_lock(%s, %s)", (LOCK, self._number)
                )
                yield PostgresChange(self._connection, self._number)

    def recount(self) -> tuple[int, int]:
        """Recompute counts and totals from the lessons; return how many lessons were kept and lost.

        Lessons that cannot be read are removed. This is one transaction.
        """
        saved = lost = 0
        with self.change() as change:
            run, owner, last = self._connection.execute, self._number, -1
            assert isinstance(change, PostgresChange)
            run("DELETE FROM genus_mail.tokens WHERE owner = %s", (owner,))
            run(
                "UPDATE genus_mail.owners SET ham = 0, spam = 0, ham_weight = 0, spam_weight = 0 "
                "WHERE owner = %s",
                (owner,),
            )
            while rows := run(
                f"SELECT {COLUMNS}, number FROM genus_mail.lessons "
                "WHERE owner = %s AND number > %s ORDER BY number LIMIT 1000",
                (owner, last),
            ).fetchall():
                last = rows[-1][-1]
                lessons = []
                for row in rows:
                    try:
                        lessons.append(Lesson.of_row(row[:-1]))
                    except NoLesson:
                        run("DELETE FROM genus_mail.lessons WHERE number = %s", (row[-1],))
                saved, lost = saved + len(lessons), lost + len(rows) - len(lessons)
                change.count(lessons, 1)
                for tokens, by in sums_in_parts(lessons):
                    change.shift(tokens, by)
        return saved, lost

    def size(self) -> int:
        query = (
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'genus_mail' AND c.relkind = 'r'"
        )
        return int(self._rows(query, ())[0][0])

    def tidy(self) -> None:
        with self._sentences():
            self._connection.execute(
                "VACUUM (ANALYZE) genus_mail.tokens, genus_mail.lessons, genus_mail.notes"
            )

    def close(self) -> None:
        self._connection.close()

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        with self._sentences():
            try:
                return self._connection.execute(query, values).fetchall()
            except self._psycopg.OperationalError:
                if not self._connection.closed:
                    raise
                # The server was restarted; what is read can be read again.
                self._connection.close()
                self._connect()
                return self._connection.execute(query, values).fetchall()

    def _lessons(self, rows: Sequence[Any]) -> list[Lesson]:
        with self._sentences():
            return [Lesson.of_row(row) for row in rows]

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except NoLesson as error:
            raise StoreError(
                f"The store {self.name} is damaged: {error}. Repair it (genus mail repair), "
                "restore it from a copy, or learn the mail again as another owner."
            ) from error
        except self._psycopg.Error as error:
            told = " ".join(str(error).split())
            raise StoreError(f"Cannot use the store {self.name}: {told}") from error


class PostgresChange:
    """A transaction of a store in PostgreSQL."""

    def __init__(self, connection: Any, owner: int) -> None:
        self._connection, self._owner = connection, owner

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Lesson]:
        rows = self._connection.execute(FIND, (self._owner, list(digests))).fetchall()
        return {bytes(row[0]): Lesson.of_row(row) for row in rows}

    def write(self, lessons: Sequence[Lesson]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO genus_mail.lessons (owner, {COLUMNS}) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                [(self._owner, *each.row) for each in lessons],
            )
        self.count(lessons, 1)

    def drop(self, lessons: Sequence[Lesson]) -> None:
        self._connection.execute(
            "DELETE FROM genus_mail.lessons WHERE owner = %s AND digest = ANY(%s)",
            (self._owner, [each.digest for each in lessons]),
        )
        self.count(lessons, -1)

    def fade(self, lessons: Sequence[Lesson], halvings: int) -> None:
        self._connection.execute(
            "UPDATE genus_mail.lessons SET halvings = %s WHERE owner = %s AND digest = ANY(%s)",
            (halvings, self._owner, [each.digest for each in lessons]),
        )
        self.count(lessons, -1)
        self.count([replace(each, halvings=halvings) for each in lessons], 1)

    def shift(self, tokens: Tokens, by: Counts) -> None:
        ids = tokens.tolist()
        self._connection.execute(
            "INSERT INTO genus_mail.tokens AS t (owner, id, ham, spam) "
            "SELECT %s, * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) "
            "ON CONFLICT (owner, id) DO UPDATE "
            "SET ham = t.ham + excluded.ham, spam = t.spam + excluded.spam",
            (self._owner, ids, by[:, 0].tolist(), by[:, 1].tolist()),
        )
        less = tokens[(by < 0).any(axis=1)].tolist()
        if less:
            self._connection.execute(
                "DELETE FROM genus_mail.tokens "
                "WHERE owner = %s AND id = ANY(%s) AND ham = 0 AND spam = 0",
                (self._owner, less),
            )

    def put(self, key: str, value: str | None) -> None:
        self._connection.execute(
            "DELETE FROM genus_mail.notes WHERE owner = %s AND name = %s", (self._owner, key)
        )
        if value is not None:
            self._connection.execute(
                "INSERT INTO genus_mail.notes VALUES (%s, %s, %s)", (self._owner, key, value)
            )

    def get(self, key: str) -> str | None:
        row = self._connection.execute(
            "SELECT value FROM genus_mail.notes WHERE owner = %s AND name = %s",
            (self._owner, key),
        ).fetchone()
        return None if row is None else row[0]

    def count(self, lessons: Sequence[Lesson], sign: int) -> None:
        """Add lessons to the totals, or subtract them."""
        ham = [each.counts_for for each in lessons if not each.spam]
        spam = [each.counts_for for each in lessons if each.spam]
        changes = [sign * n for n in (len(ham), len(spam), sum(ham), sum(spam))]
        self._connection.execute(
            "UPDATE genus_mail.owners SET ham = ham + %s, spam = spam + %s, "
            "ham_weight = ham_weight + %s, spam_weight = spam_weight + %s WHERE owner = %s",
            (*changes, self._owner),
        )


def owner_of(url: str) -> tuple[str, str]:
    """Return a URL without its parameter `owner`, and the owner, by default "site".

    >>> owner_of("postgresql://mail.example/mail?owner=anna%20b&sslmode=require")
    ('postgresql://mail.example/mail?sslmode=require', 'anna b')
    """
    place, _, parameters = url.partition("?")
    named = [each.partition("=") for each in parameters.split("&") if each]
    owner = next((unquote(value) for name, _, value in named if name == "owner"), "") or "site"
    rest = "&".join("".join(each) for each in named if each[0] != "owner")
    return (f"{place}?{rest}" if rest else place), owner


def place_of(url: str) -> str:
    """Return the database that a URL names, without the password, for messages."""
    psycopg = client()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        parts = {"port": "?"}  # its message may quote the password
    host, port, database = (str(parts.get(part, "")) for part in ("host", "port", "dbname"))
    if "@" in host + database or not all(each.isdecimal() for each in port.split(",") if each):
        raise StoreError(
            "Cannot parse the address of the store. Write it as "
            "postgresql://USER@HOST:PORT/DATABASE?owner=NAME, with special characters as %-codes, "
            "or keep the password in ~/.pgpass."
        )
    return f"postgresql://{host}{':' if port else ''}{port}/{database}"
