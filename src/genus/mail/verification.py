"""Verify and repair stores.

Counts are sums of lessons. So damaged counts are found by adding up the lessons again, and repaired
exactly by the same sums.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from genus.mail.spamfilter import EVER, NOTE, SpamFilter, batches, shift
from genus.mail.store import Lesson, Store, StoreError, Totals
from genus.mail.store.lessons import Counts, NoLesson, Tokens, sums
from genus.mail.store.packing import TOGETHER
from genus.mail.store.postgres import PostgresStore
from genus.mail.store.sqlite import SQLiteStore
from genus.mail.store.sqlite_files import beside
from genus.mail.store.sqlite_rows import ROW, noted, read_lessons, totals_of

SHOWN = 5  # faults of the database that are reported


@dataclass(frozen=True)
class Repaired:
    """The numbers of lessons kept and lost, and the path of the damaged file, if there is one."""

    saved: int
    lost: int
    old: Path | None = None


def faults_in(store: Store) -> list[str]:
    """Return a sentence for each fault of a store; an empty list if there is none."""
    try:
        found = store.faults()[:SHOWN]
        totals, (tokens, counts) = recounted(store.oldest(EVER))
        if totals != store.totals():
            found.append(
                f"The store's totals are {store.totals()}, but its lessons add up to {totals}."
            )
        held = [(ids, numbers) for ids, numbers in store.every()]
        ids = np.concatenate([np.zeros(0, np.uint32), *(each for each, _ in held)])
        numbers = np.concatenate([np.zeros((0, 2), np.int64), *(each for _, each in held)])
        if not (np.array_equal(ids, tokens) and np.array_equal(numbers, counts)):
            wrong = len(np.setxor1d(ids, tokens))
            _, at, where = np.intersect1d(ids, tokens, return_indices=True)
            wrong += int(np.count_nonzero((numbers[at] != counts[where]).any(axis=1)))
            found.append(f"The counts of {wrong:,} tokens differ from the sums of the lessons.")
        store.notes("")
    except StoreError as error:
        return [str(error)]
    return found


def recounted(lessons: Iterator[Lesson]) -> tuple[Totals, tuple[Tokens, Counts]]:
    """Add up all lessons: return their totals, tokens and counts."""
    totals = Totals()
    tokens, counts = np.zeros(0, np.uint32), np.zeros((0, 2), np.int64)
    for batch in batches(lessons):
        for spam in (False, True):
            some = [each for each in batch if each.spam == spam]
            weight = sum(each.counts_for for each in some)
            more = Totals(0, len(some), 0, weight) if spam else Totals(len(some), 0, weight, 0)
            totals = totals + more
        more_tokens, more_counts = sums(batch)
        ids, at = np.unique(np.concatenate([tokens, more_tokens]), return_inverse=True)
        added = np.zeros((len(ids), 2), np.int64)
        added[at[: len(tokens)]] = counts
        added[at[len(tokens) :]] += more_counts
        tokens, counts = ids, added
    held = counts.any(axis=1)
    return totals, (tokens[held], counts[held])


def repair(store: Store) -> Repaired:
    """Rebuild a store from the lessons that can be read."""
    if isinstance(store, SQLiteStore):
        return rewritten(store)
    if not isinstance(store, PostgresStore):
        raise ValueError(f"{store.name} consists of several stores. Repair them one by one.")
    saved, lost = store.recount()
    SpamFilter(store).rejudge(anew=True)
    return Repaired(saved, lost)


def rewritten(store: SQLiteStore) -> Repaired:
    """Write the store's file anew; keep the old one as NAME.damaged, NAME.damaged-2 and so on."""
    path = store.path
    fresh = beside(path, ".repaired")
    damaged_names = (beside(path, f".damaged-{n}" if n > 1 else ".damaged") for n in count(1))
    old = next(name for name in damaged_names if not name.exists())
    for each in (fresh, *(beside(fresh, end) for end in ("-wal", "-shm"))):
        each.unlink(missing_ok=True)
    with closing(SpamFilter(SQLiteStore(fresh))) as spam_filter:
        with closing(sqlite3.connect(path, isolation_level=None)) as damaged:
            with suppress(sqlite3.Error):
                damaged.execute("BEGIN IMMEDIATE")  # nobody learns meanwhile
            numbers, missing = numbers_in(damaged)
            lost = len(numbers) + missing
            packs = batches(numbers, TOGETHER)
            for lessons in batches(each for pack in packs for each in readable(damaged, pack)):
                with spam_filter.store.change() as change:
                    change.write(lessons)
                    shift(change, lessons, [])
                lost -= len(lessons)
                lessons.clear()  # the next ones need the memory
            with spam_filter.store.change() as change:
                for name, value in readable_notes(damaged):
                    change.put(name, value)
        spam_filter.rejudge(anew=True)
        totals = spam_filter.store.totals()
    store.close()
    os.replace(path, old)
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.replace(beside(path, end), beside(old, end))
    os.replace(fresh, path)
    return Repaired(totals.ham + totals.spam, lost, old)


def numbers_in(connection: sqlite3.Connection) -> tuple[list[int], int]:
    """Return the numbers of all readable lessons, and how many more there should be."""
    found: dict[int, None] = {}
    for order in ("ASC", "DESC"):  # rows behind a bad page may be reached from the other end
        try:
            for (number,) in connection.execute(
                f"SELECT number FROM lessons ORDER BY number {order}"
            ):
                found[number] = None
            break
        except sqlite3.Error:
            continue
    totals = Totals()
    with suppress(sqlite3.Error, NoLesson, TypeError, ValueError):
        totals = totals_of(connection)
    return sorted(found), max(totals.ham + totals.spam - len(found), 0)


def readable(connection: sqlite3.Connection, numbers: Sequence[int]) -> Sequence[Lesson]:
    """Return the lessons with these numbers, except those that cannot be read.

    If one of them cannot be read, each half is read by itself. Lessons share packs, so reading
    every lesson by itself would unpack each pack hundreds of times.
    """
    marks = ",".join("?" * len(numbers))
    query = f"SELECT {ROW} FROM lessons WHERE number IN ({marks}) ORDER BY number"
    with suppress(sqlite3.Error, NoLesson, TypeError, ValueError):
        return read_lessons(connection, connection.execute(query, numbers).fetchall())
    half = len(numbers) // 2
    if not half:
        return []
    return [*readable(connection, numbers[:half]), *readable(connection, numbers[half:])]


def readable_notes(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield the undamaged notes without the judgement, which is fitted again."""
    with suppress(sqlite3.Error):
        for name, value, told in connection.execute("SELECT name, value, checksum FROM notes"):
            with suppress(NoLesson):
                if name != NOTE:
                    yield name, noted(name, value, told)
