"""Stores in few bytes: what is packed comes back, old stores are carried over, damage is found."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
from collections import Counter
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import servers
from genus.cli import cli
from genus.mail import spamfilter
from genus.mail.boxes import messages_at
from genus.mail.spamfilter import SpamFilter
from genus.mail.store import StoreError, open_store
from genus.mail.store.lessons import COLUMNS, NoLesson
from genus.mail.store.packing import emptied, packed, shifted, unpacked
from genus.mail.store.sqlite import SQLiteStore
from genus.mail.verification import faults_in
from scope import EVERYTHING
from servers import ROOT

pytest_plugins = ("servers",)

EXAMPLES = Path(__file__).parents[1] / "examples" / "mail"
MAIL = {
    name: [raw for _, raw in messages_at(str(EXAMPLES / f"{name}.mbox"))]
    for name in ("ham", "spam", "new")
}
OLD_SCHEMA = """
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
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
PRAGMA application_id = 0x67656E75;
PRAGMA user_version = 1;
"""

tokens = st.builds(
    lambda some, bound: np.unique(np.array(some, np.uint64) % bound).astype(np.uint32),
    st.lists(st.integers(0, 2**32 - 1), max_size=60),
    st.sampled_from([7, 3000, 2**32]),
)


@given(st.lists(tokens, max_size=12))
def test_lessons_come_back_from_a_pack(lessons):
    assert [each.tolist() for each in unpacked(packed(lessons))] == [x.tolist() for x in lessons]


@given(tokens, st.data())
def test_counts_come_back_from_buckets(ids, data):
    some = st.sampled_from([0, 1, 255, 256, 14 * 256, 15 * 256, 10**6, 10**12])
    counts = data.draw(arrays(np.int64, (len(ids), 2), elements=some))
    ids, counts = ids[counts.any(axis=1)], counts[counts.any(axis=1)]
    found, numbers = emptied(shifted([], ids, counts))
    assert np.array_equal(found, ids)
    assert np.array_equal(numbers, counts)


@given(st.lists(tokens, min_size=1, max_size=5), st.data())
def test_a_flipped_bit_in_a_pack_or_a_bucket_is_found(lessons, data):
    for whole in (
        packed(lessons),
        *(content for _, content in shifted([], lessons[0], ones(lessons[0]))),
    ):
        at = data.draw(st.integers(0, 8 * len(whole) - 1))
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        if whole == packed(lessons):
            with suppress(NoLesson):  # bits that fill the last byte of the stream mean nothing
                assert list(map(list, unpacked(bytes(flipped)))) == list(map(list, lessons))
        else:
            number = next(
                n for n, content in shifted([], lessons[0], ones(lessons[0])) if content == whole
            )
            with pytest.raises(NoLesson):
                emptied([(number, bytes(flipped))])


def ones(ids):
    return np.full((len(ids), 2), 256, np.int64)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "mail.sqlite"
    with closing(SpamFilter.open(path)) as spam_filter:
        for name in ("ham", "spam"):
            spam_filter.learn(MAIL[name], name == "spam")
        with spam_filter.store.change() as change:
            change.put("watch example", "a note")
    return path


@pytest.fixture
def store(learned, tmp_path):
    return Path(shutil.copy(learned, tmp_path / "mail.sqlite"))


def state(path):
    """All that a store holds."""
    with closing(open_store(path, create=False)) as opened:
        lessons = [(*each.row,) for each in opened.oldest(1 << 40)]
        counts = [(ids.tolist(), numbers.tolist()) for ids, numbers in opened.every()]
        return opened.totals(), lessons, counts, opened.notes("")


def as_version_1(path):
    """Write a store as the version before this one did."""
    with closing(open_store(path, create=False)) as opened:
        lessons, notes, totals = list(opened.oldest(1 << 40)), opened.notes(""), opened.totals()
        counts = [row for each in opened.every() for row in zip(*each, strict=True)]
    path.unlink()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(OLD_SCHEMA)
        connection.executemany(
            f"INSERT INTO lessons ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", [x.row for x in lessons]
        )
        rows = [(int(token), *numbers.tolist()) for token, numbers in counts]
        connection.executemany("INSERT INTO tokens VALUES (?, ?, ?)", rows)
        connection.executemany("INSERT INTO notes VALUES (?, ?)", notes.items())
        connection.executemany(
            "INSERT INTO totals VALUES (?, ?, ?)",
            [(0, totals.ham, totals.ham_weight), (1, totals.spam, totals.spam_weight)],
        )


def test_a_store_of_version_1_is_carried_over(store):
    with closing(SpamFilter.open(store)) as spam_filter:
        spam_filter.expire(half_life=1, today=20_000_000)  # so that lessons have faded
        before = [each.score for each in spam_filter.check_many(MAIL["new"])]
    known = state(store)
    as_version_1(store)
    assert state(store) == known
    assert state(store) == known  # it is of this version now
    with closing(SpamFilter.open(store)) as spam_filter:
        assert [each.score for each in spam_filter.check_many(MAIL["new"])] == before
        assert faults_in(spam_filter.store) == []
        assert spam_filter.forget(MAIL["ham"]) == ["forgotten"] * len(MAIL["ham"])


def test_carrying_over_happens_or_does_not(store):
    known = state(store)
    as_version_1(store)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE lessons SET tokens = 'x' WHERE number = 40")
    with pytest.raises(StoreError, match="damaged"):
        open_store(store)
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM tokens").fetchone()[0] > 1000
        good = known[1][39][3]
        connection.execute("UPDATE lessons SET tokens = ? WHERE number = 40", (good,))
    assert state(store) == known


def test_a_store_of_version_1_that_cannot_be_written_says_who_must(store):
    python = servers.mail_python()
    if not ROOT or python is None:
        pytest.skip("only root can become somebody else, who must be able to start genus")
    as_version_1(store)
    code = "from genus.mail.store import open_store; import sys; open_store(sys.argv[1])"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # others cannot get into pytest's
        os.chmod(folder, 0o555)
        there = Path(shutil.copy(store, folder))
        there.chmod(0o444)
        command = [python, "-c", f"{servers.WITH_GENUS}\n{code}", str(there)]
        done = subprocess.run(command, capture_output=True, text=True, **servers.as_user("nobody"))
        assert there.read_bytes() == store.read_bytes()
    assert "is a store of version 1, which this user cannot write. Let its owner" in done.stderr


def test_carrying_over_on_a_full_disk_leaves_the_store_as_it_was(store, tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    as_version_1(store)
    size = store.stat().st_size // 1024 + 60
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "genus", str(folder)]
    if not ROOT or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        there = Path(shutil.copy(store, folder / "mail.sqlite"))
        with pytest.raises(StoreError, match=r"is full\. Free some space"):
            open_store(there)
        subprocess.run(["mount", "-o", "remount,size=8m", str(folder)], check=True)
        assert state(there) == state(store)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("year", [1970, 1999, 2200])
def test_a_clock_that_is_years_off_loses_nothing(store, year, monkeypatch):
    now = (year - 1970) * 365 * 86_400 + 5.0
    monkeypatch.setattr(spamfilter.time, "time", lambda: now)
    new = b"Subject: another\n\nmessage of another year\n"
    with closing(SpamFilter.open(store)) as spam_filter:
        assert spam_filter.learn([new], spam=False) == ["learned"]
        assert spam_filter.check(MAIL["new"][1]).verdict == "spam"
        assert spam_filter.expire(half_life=180, keep=20_000)[1] == 0
        assert faults_in(spam_filter.store) == []
        monkeypatch.undo()
        spam_filter.expire(half_life=180, keep=20_000)
        assert spam_filter.store.totals().ham == 33
        assert spam_filter.check(MAIL["new"][1]).verdict == "spam"


def test_lessons_learned_one_by_one_are_joined_and_stay_the_same(tmp_path):
    one, many = tmp_path / "one.sqlite", tmp_path / "many.sqlite"
    messages = [b"Subject: number %d\n\nword%d word%d\n" % (n, n % 7, n % 11) for n in range(150)]
    with closing(SpamFilter.open(one)) as spam_filter:
        for raw in messages:
            spam_filter.learn([raw], spam=False)
    with closing(SpamFilter.open(many)) as spam_filter:
        spam_filter.learn(messages, spam=False)
    assert state(one)[:3] == state(many)[:3]
    with closing(sqlite3.connect(one)) as connection:
        assert connection.execute("SELECT count(*) FROM packs").fetchone()[0] < 128
    with closing(SpamFilter.open(one)) as spam_filter:
        assert set(spam_filter.forget(messages[::2])) == {"forgotten"}
        assert faults_in(spam_filter.store) == []
        assert set(spam_filter.forget(messages[1::2])) == {"forgotten"}
    with closing(sqlite3.connect(one)) as connection:
        for table in ("packs", "buckets", "lessons"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


# Damage

HARM = {
    "a count": "UPDATE buckets SET content = zeroblob(length(content)) WHERE number = "
    "(SELECT min(number) FROM buckets)",
    "a bucket that is gone": "DELETE FROM buckets WHERE number = (SELECT max(number) FROM buckets)",
    "a class": "UPDATE lessons SET spam = 1 - spam WHERE number = 3",
    "a weight": "UPDATE lessons SET weight = weight + 1 WHERE number = 3",
    "a total": "UPDATE totals SET messages = messages + 1 WHERE spam = 0",
    "a note": "UPDATE notes SET value = value || ' ' WHERE name = 'judgement'",
    "a pack that is gone": "DELETE FROM packs WHERE number = 2",
    "a lesson that is gone": "DELETE FROM lessons WHERE number = 5",
}


@pytest.mark.parametrize("name", HARM)
def test_verify_finds_damage_and_repair_mends_it(store, name):
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(HARM[name]).rowcount == 1
    run = CliRunner().invoke
    told = run(cli, ["mail", "verify", "--store", str(store)])
    assert told.exit_code == 1
    assert "bug" not in told.stderr
    assert "genus mail repair" in " ".join(told.stderr.split())
    told = run(cli, ["mail", "repair", "--store", str(store)])
    assert told.exit_code == 0, told.output
    saved = {"a class": 62, "a weight": 62, "a pack that is gone": 32, "a lesson that is gone": 62}
    number = saved.get(name, 63)
    lost = "1 was lost" if number == 62 else f"{63 - number} were lost"
    assert told.stdout.startswith(f"{number} lessons were saved, {lost}")
    assert store.with_name("mail.sqlite.damaged").exists()
    told = run(cli, ["mail", "verify", "--store", str(store)])
    assert (told.exit_code, told.stderr) == (0, "")
    assert "add up to the counts" in told.stdout
    assert state(store)[3]["watch example"] == "a note"


def test_a_page_that_was_written_over_another_is_found(store):
    """SQLite then returns rows out of order, so reading on after the last one might not end."""
    raw = store.read_bytes()
    size = int.from_bytes(raw[16:18])
    leaves = [at for at in range(size, len(raw), size) if raw[at] == 13]  # of tables
    rng, told = random.Random(0), Counter()
    for _ in range(60):
        one, other = rng.sample(leaves, 2)
        page = raw[one : one + size]
        store.write_bytes(raw[:other] + page + raw[other + size :])
        with closing(SQLiteStore(store)) as opened:
            for read in (opened.every(), opened.oldest(100_000)):
                try:
                    assert len(list(islice(read, 1000))) < 1000
                except StoreError as error:
                    told["out of order" in str(error)] += 1
            assert faults_in(opened)
    assert told[True] > 10


def test_a_sound_store_is_the_same_after_repair(store):
    before, files = state(store), []
    for old in ("mail.sqlite.damaged", "mail.sqlite.damaged-2"):
        told = CliRunner().invoke(cli, ["mail", "repair", "--store", str(store)])
        assert told.stdout.rstrip().endswith(f"{old}.")
        files.append(store.with_name(old))
    assert all(state(each)[:3] == before[:3] for each in (*files, store))


def test_verify_finds_flipped_bits_that_change_scores(store):
    """Whatever bit flips: a check is refused, or says what it said before, or verify tells."""
    with closing(open_store(store)) as opened:
        opened.tidy()
    with closing(SpamFilter.open(store)) as spam_filter:
        before = [(each.verdict, each.score) for each in spam_filter.check_many(MAIL["new"])]
    whole, chance = store.read_bytes(), random.Random(0)
    for _ in range(400 if EVERYTHING else 30):
        flipped, at = bytearray(whole), chance.randrange(8 * len(whole))
        flipped[at // 8] ^= 1 << at % 8
        for end in ("-wal", "-shm"):
            store.with_name(store.name + end).unlink(missing_ok=True)
        store.write_bytes(flipped)
        try:
            with closing(SpamFilter.open(store)) as spam_filter:
                after = [(each.verdict, each.score) for each in spam_filter.check_many(MAIL["new"])]
                sound = not faults_in(spam_filter.store)
        except StoreError:
            continue
        assert after == before or not sound, f"bit {at}"


def test_a_store_in_postgresql_is_verified(database):
    with closing(SpamFilter.open(f"{database}?owner=ann")) as spam_filter:
        spam_filter.learn(MAIL["spam"][:8], spam=True)
        assert faults_in(spam_filter.store) == []
        spam_filter.store._connection.execute("UPDATE genus_mail.tokens SET ham = 3 WHERE ham = 0")
        (told,) = faults_in(spam_filter.store)
        assert "differ from the sums of the lessons" in told


def test_stats_as_json(store):
    told = CliRunner().invoke(cli, ["mail", "stats", "--json", "--store", str(store)])
    numbers = json.loads(told.stdout)
    assert (numbers["ham"], numbers["spam"]) == (32, 31)
    assert 0 < numbers["caught"] <= 1
    assert numbers["spam_above"] > 0
    assert numbers["tokens"] > 5000
    assert numbers["advice"] == []


def test_stores_that_others_can_read_are_told(store):
    if os.name != "posix":
        pytest.skip("modes are those of POSIX")
    store.chmod(0o644)
    copy = shutil.copy(store, store.with_name("mail.sqlite.backup"))
    os.chmod(copy, 0o640)
    told = " ".join(
        CliRunner().invoke(cli, ["mail", "stats", "--store", str(store)]).stderr.split()
    )
    assert "mail.sqlite (mode 644)" in told
    assert "mail.sqlite.backup (mode 640)" in told


def test_a_lesson_is_a_value(store):
    with closing(open_store(store)) as opened:
        (lesson,) = opened.newest(1, spam=True)
        assert replace(lesson, halvings=1).counts_for == lesson.counts_for // 2
