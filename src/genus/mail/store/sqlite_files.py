"""Open, create and convert SQLite files that hold stores, and explain their errors."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from genus.mail.store.lessons import COLUMNS, Lesson
from genus.mail.store.protocol import NoStore, StoreError
from genus.mail.store.sqlite_rows import MANY, SCHEMA, SQLiteChange, sum_of, text

VERSION = 2
APPLICATION = 0x67656E75  # "genu", in the header of the file
PATIENCE = 60.0  # seconds that a process waits for others


def beside(path: Path, end: str) -> Path:
    """Return the path of a file beside another, with `end` (such as -wal) added to the name."""
    return path.with_name(path.name + end)


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, or None if the file does not exist."""
    try:
        told = path.stat()
    except FileNotFoundError:
        return None
    return told.st_dev, told.st_ino


def remove_log(path: Path, log: tuple[int, int] | None) -> None:
    """Remove the log, identified by `log`, of a file that is no longer at the path.

    SQLite leaves the log behind when it closes such a file, and would then apply it to the file
    that is now at the path.
    """
    if log is not None and identity(beside(path, "-wal")) == log:
        for end in ("-wal", "-shm"):
            beside(path, end).unlink(missing_ok=True)


def frozen(path: Path) -> tuple[int, ...] | None:
    """Return a value that changes whenever the file of a read-only store does.

    Return None if the store is missing, writable or in use.
    A site's store may be in a folder that its users cannot write to, although SQLite needs files
    beside a store that is in use. If there are no such files, nobody is changing the store.
    """
    if not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return None
    if beside(path, "-wal").exists():
        return None
    told = path.stat()
    return told.st_ino, told.st_size, told.st_mtime_ns


def connect(path: Path, create: bool, is_frozen: bool) -> sqlite3.Connection:
    """Connect to a store; make a missing one if `create`, and convert one of version 1."""
    there = path.exists() and path.stat().st_size > 0
    if not there and not create:
        raise NoStore(
            f"There is no store at {path.absolute()}. Learn some mail first: "
            "genus mail learn --spam PATH --ham PATH."
        )
    if path.is_dir():
        raise StoreError(
            f"{path} is a folder. Name a file as the store, such as {path / 'mail.sqlite'}."
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
        raise StoreError(f"{path} is a database of another program. Name another file.")
    (version,) = run("PRAGMA user_version").fetchone()
    if version == 1:
        carry_over(connection, path)
    elif version != VERSION:
        raise StoreError(
            f"{path} is a store of version {version}, but this genus reads version {VERSION}. "
            "Use the genus that wrote it, or move it away and learn the mail again."
        )
    run("PRAGMA synchronous = FULL")
    run("PRAGMA cache_size = -8192")  # KiB


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO totals VALUES (?, 0, 0, ?)", [(spam, sum_of(spam, 0, 0)) for spam in (0, 1)]
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def carry_over(connection: sqlite3.Connection, path: Path) -> None:
    """Convert a store of version 1 to this version in one transaction."""
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
            f"{path} is a store of version 1, which this user cannot write. Let its owner convert "
            f"it: genus mail stats --store {path}."
        ) from error
    with suppress(sqlite3.Error):  # space is freed only if no other process has it open
        run("VACUUM")


def is_empty(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return application == 0 and tables == 0


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode; wait for other processes, because SQLite does not."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def sentence(path: Path, error: Exception, is_open: bool = True, writes: bool = True) -> StoreError:
    """Return an error of SQLite as an error that users understand.

    `writes` is whether the store was to be created or changed.
    """
    told = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if "full" in told or is_full(path, error):
        return StoreError(f"The disk of the store {path} is full. Free some space, and try again.")
    if "locked" in told or "busy" in told:
        return StoreError(
            f"The store {path} has been in use by another process for {PATIENCE:.0f} s. Try again."
        )
    is_of_value = isinstance(error, UnicodeDecodeError | OverflowError | TypeError)
    if is_of_value or "not a database" in told or "malformed" in told:
        return damaged(path, told, is_open)
    if "readonly" in told:
        return StoreError(
            f"The store {path} can be read but not changed by this user. Change its permissions, "
            "or name another store."
        )
    how = "written" if writes else "read by this user"
    return StoreError(f"Cannot use the store {path}: {told}. Check that it can be {how}.")


def damaged(path: Path, told: str, is_open: bool = True) -> StoreError:
    """Return the error of a damaged store; one that cannot be opened cannot be repaired either."""
    todo = "restore it from a copy, or move it away and learn the mail again."
    return StoreError(
        f"The store {path} is damaged: {told}. Repair it (genus mail repair), {todo}"
        if is_open
        else f"{path} is not a store, or it is damaged: {told}. If it is no store, name another "
        f"file. If it is one, {todo}"
    )


def is_full(path: Path, error: Exception) -> bool:
    """Return whether the disk is full; SQLite does not say so for its -wal and -shm files."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    if "disk I/O error" not in str(error):
        return False
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free < 1 << 16
    return False
