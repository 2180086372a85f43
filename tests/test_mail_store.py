"""Stores in a rough world: killed, crowded, full, damaged, forbidden, gone."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import numpy as np
import pytest
from click.testing import CliRunner

import servers
from genus.cli import cli
from genus.mail import spamfilter
from genus.mail.identity import digest
from genus.mail.spamfilter import SpamFilter
from genus.mail.store import Lesson, StoreError, default_place, open_store
from genus.mail.verification import faults_in
from scope import EVERYTHING, at_night, nightly
from test_mail_laws import known

pytest_plugins = ("servers",)
pytestmark = pytest.mark.skipif(
    os.environ.get("GENUS_SANITIZED") == "1", reason="stores do not exercise the kernel"
)

Place = Callable[[], str]
REPOSITORY = Path(__file__).parents[1]
ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Postgres]:
    """Start a server that keeps what it has committed, for one module to kill."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with servers.Postgres(durable=True) as found:
        found.start()
        yield found


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return names of stores that are not there yet."""
    numbers = count()
    if request.param == "SQLite":
        return lambda: str(tmp_path / f"{next(numbers)}.sqlite")
    url = request.getfixturevalue("server").create()
    return lambda: f"{url}?owner=user{next(numbers)}"


def message(number: int) -> bytes:
    some = np.random.default_rng(number).integers(0, 3000, 60)
    return f"Subject: number {number}\n\n{' '.join(f'word{i}' for i in some)}\n".encode()


def is_spam(number: int) -> bool:
    return number % 2 == 1


def opened(name: str | Path, **options: Any) -> Any:
    return closing(SpamFilter.open(name, **options))


def learned(name: str) -> set[bytes]:
    """What a store holds, which must be consistent."""
    with opened(name, create=False) as spam_filter:
        return {lesson[0] for lesson in known(spam_filter.store)["lessons"]}


# Processes that are forked from one which has everything imported and no threads

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["scipy.special", "test_mail_store"])


class Child:
    """A process that runs a function of a pipe, and may be killed."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self.pipe, other = CONTEXT.Pipe()
        self.process: ForkServerProcess = CONTEXT.Process(target=target, args=(other, *arguments))
        with pytest.MonkeyPatch.context() as patch:  # for the first one, which the others fork from
            patch.setenv("PYTHONPATH", str(Path(__file__).parent))
            self.process.start()
        other.close()

    def told(self) -> Any:
        """Return the next thing that it says, or None if it has ended."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            return None

    def kill(self) -> list[Any]:
        """End it by force, and return what else it said before."""
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.kill(self.process.pid or 0, signal.SIGKILL)
        return self.rest()

    def rest(self) -> list[Any]:
        said = []
        while (each := self.told()) is not None:
            said.append(each)
        self.process.join()
        self.process.close()
        self.pipe.close()
        return said


def learn_all(pipe: Connection, name: str, numbers: list[int], together: int) -> None:
    """Learn messages some at a time, and tell of each time that it is done."""
    with opened(name) as spam_filter:
        for start in range(0, len(numbers), together):
            some = numbers[start : start + together]
            try:
                for spam in (False, True):
                    spam_filter.learn([message(i) for i in some if is_spam(i) == spam], spam)
            except StoreError as error:
                pipe.send(str(error))
                return
            pipe.send(some)


def kills(name: str, rounds: int, together: int, per_round: int) -> None:
    """Kill learners at any moment: what they said is kept, and nothing is there by halves."""
    chance = random.Random(together)
    said: set[int] = set()
    for number in range(rounds):
        child = Child(learn_all, name, list(range(number * 5, number * 5 + 400)), together)
        for _ in range(chance.randrange(per_round)):
            said.update(child.told())
        time.sleep(chance.random() * 0.02)  # any moment
        for some in child.kill():
            said.update(some)
        if not said:
            continue
        found = learned(name)
        assert {digest(message(i)) for i in said} <= found
        assert found <= {digest(message(i)) for i in range(number * 5 + 400)}
        assert len(found) - len(said) <= (number + 1) * together
    assert said  # otherwise nothing would have been tested


@pytest.mark.parametrize("together", at_night([1, 6], 6))
def test_killed_while_learning(place: Place, together: int) -> None:
    name = place()
    times = 12 if name.endswith("sqlite") else 4
    kills(name, times if EVERYTHING else times // 2, together, 12)
    with opened(name) as spam_filter:
        before = known(spam_filter.store)["totals"]
        numbers = list(range(450))
        for spam in (False, True):
            spam_filter.learn((message(i) for i in numbers if is_spam(i) == spam), spam)
        totals = known(spam_filter.store)["totals"]
        assert (totals.ham, totals.spam) == (225, 225)
        assert before.ham + before.spam < 450
        spam_filter.forget(map(message, numbers))
        assert known(spam_filter.store)["lessons"] == []


def test_killed_while_making_the_store(tmp_path: Path) -> None:
    for number in range(10):
        name = str(tmp_path / f"{number}.sqlite")
        child = Child(learn_all, name, [1], 1)
        servers.until(lambda path=name: Path(path).exists(), "the file is there")  # type: ignore[misc]
        child.kill()
        with opened(name) as spam_filter:
            assert spam_filter.learn([message(1)], True)[0] in ("learned", "known")
        assert learned(name) == {digest(message(1))}


@nightly
def test_the_server_is_killed_while_learning(server: servers.Postgres) -> None:
    name = f"{server.create()}?owner=anna"
    chance, said = random.Random(0), set()
    for number in range(3):
        child = Child(learn_all, name, list(range(number * 20, 400)), 1)
        for _ in range(chance.randrange(3, 12)):
            said.update(child.told())
        time.sleep(chance.random() * 0.02)  # any moment
        server.stop(signal.SIGKILL)
        *more, last = child.rest()
        said.update(each for some in more for each in some)
        assert "Cannot use the store" in last
        server.start()
        found = learned(name)
        assert {digest(message(i)) for i in said} <= found
        assert found <= {digest(message(i)) for i in range(400)}


# A crowd


def jostle(pipe: Connection, name: str, own: list[int], shared: list[int]) -> None:
    """Learn messages of one's own and those that all learn; check, correct and forget."""
    with opened(name) as spam_filter:
        pipe.recv()
        outcomes = []
        for i, j in zip(own, shared * len(own), strict=False):
            outcomes += spam_filter.learn([message(i)], is_spam(i))
            if j in shared[: len(own)]:
                outcomes += [(j, spam_filter.learn([message(j)], is_spam(j))[0])]
            spam_filter.check(message(i))
        list(spam_filter.check_many(map(message, own)))
        outcomes += spam_filter.learn([message(own[0])], not is_spam(own[0]))
        outcomes += spam_filter.forget([message(own[1])])
        with spam_filter.store.change() as change:
            change.put("sum", str(int(change.get("sum") or 0) + 1))
        pipe.send(outcomes)


@nightly
def test_eight_processes_lose_nothing(place: Place) -> None:
    name, own, shared = place(), 20, list(range(5))
    children = [
        Child(jostle, name, list(range(100 * n, 100 * n + own)), shared) for n in range(1, 9)
    ]
    for child in children:
        child.pipe.send("go")
    all_of = [outcome for child in children for outcome in child.rest()[0]]
    assert all_of.count("learned") == 8 * own
    assert all_of.count("corrected") == 8
    assert all_of.count("forgotten") == 8
    for number in shared:  # one of them learns it, once
        assert all_of.count((number, "learned")) == 1
        assert all_of.count((number, "known")) == 8 * own // len(shared) - 1
    with opened(name) as spam_filter:
        totals = known(spam_filter.store)["totals"]
        assert totals.ham + totals.spam == 8 * (own - 1) + len(shared)
        assert spam_filter.store.notes("sum") == {"sum": "8"}
        labels = [spam_filter.label(message(100 * n)) for n in range(1, 9)]
        assert labels == ["spam"] * 8


def make(pipe: Connection, name: str) -> None:
    pipe.recv()
    with opened(name) as spam_filter:
        pipe.send(spam_filter.store.totals())


def test_processes_make_one_store_at_once(place: Place) -> None:
    for _ in range(5 if EVERYTHING else 2):
        name = place()
        children = [Child(make, name) for _ in range(8)]
        for child in children:
            child.pipe.send("go")
        assert len({totals for child in children for totals in child.rest()}) == 1
        assert learned(name) == set()


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 2 MiB, which needs root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "genus", str(folder)]
    if not ROOT or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(file: Path) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as filled:
        while filled.write(b"x" * 512):
            pass


def test_a_full_disk_is_an_error(small_disk: Path) -> None:
    name, said = str(small_disk / "mail.sqlite"), list[int]()

    def learn_on() -> None:
        with opened(name) as spam_filter:
            for number in range(10_000):
                spam_filter.learn([message(number)], is_spam(number))
                said.append(number)

    with pytest.raises(StoreError, match=r"is full\. Free some space, and try again\."):
        learn_on()
    assert said
    fill(small_disk / "filler")
    for number in (0, 9999):
        with suppress(StoreError), opened(name) as spam_filter:
            spam_filter.check(message(number))
        with pytest.raises(StoreError, match="full"), opened(name) as spam_filter:
            spam_filter.learn([message(10_000)], True)
    with pytest.raises(StoreError, match="full"):
        SpamFilter.open(small_disk / "another.sqlite").learn([message(1)], True)
    (small_disk / "filler").unlink()
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    found = learned(name)
    assert {digest(message(i)) for i in said} <= found
    assert len(found) <= len(said) + 1  # it was learned, but no judgement made
    with opened(name) as spam_filter:
        assert set(spam_filter.forget(map(message, said))) == {"forgotten"}
        assert spam_filter.learn(map(message, said[:5]), True) == ["learned"] * 5
        known(spam_filter.store)


def test_a_connection_survives_a_full_disk(small_disk: Path) -> None:
    with opened(small_disk / "mail.sqlite") as spam_filter:
        spam_filter.learn(map(message, range(10)), False)
        fill(small_disk / "filler")
        for _ in range(3):
            with pytest.raises(StoreError, match="full"):
                spam_filter.learn(map(message, range(10, 400)), True)
            assert spam_filter.check(message(1)).verdict == "unsure"
        (small_disk / "filler").unlink()
        assert spam_filter.learn(map(message, range(10, 20)), True) == ["learned"] * 10
        totals = known(spam_filter.store)["totals"]
        assert (totals.ham, totals.spam) == (10, 10)


def learn_within(pipe: Connection, name: str, size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    learn_all(pipe, name, list(range(5000)), 1)


def test_a_file_that_must_not_grow_is_an_error(tmp_path: Path) -> None:
    name = str(tmp_path / "mail.sqlite")
    *said, last = Child(learn_within, name, 1 << 20).rest()
    assert "mail.sqlite" in last
    assert {digest(message(i)) for some in said for i in some} <= learned(name)


# Files that are something else, or broken


def test_folders_and_files_are_the_users_own(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(tmp_path / "a" / "b" / "mail.sqlite") as spam_filter:
            spam_filter.learn([message(1)], True)
            modes = {stat.S_IMODE(e.stat().st_mode) for e in (tmp_path / "a" / "b").iterdir()}
            assert modes == {0o600}
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name", ["with space", "Zürich 見積", "a?b#c%20d&e=f", "'\";--", "-x", "~"]
)
def test_names_of_files_may_be_anything(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / f"{name}.sqlite"
    with opened(path) as spam_filter:
        spam_filter.learn([message(1)], True)
        assert spam_filter.store.name == str(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert learned(str(path)) == {digest(message(1))}


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"other\.sqlite is a database of another program"):
        SpamFilter.open(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["other.sqlite"]


def test_a_store_of_another_version_is_refused(tmp_path: Path, place: Place) -> None:
    name = place()
    with opened(name) as spam_filter:
        spam_filter.learn([message(1)], True)
    if name.endswith("sqlite"):
        with closing(sqlite3.connect(name)) as direct:
            direct.execute("PRAGMA user_version = 99")
    else:
        with open_store(name).change() as change:
            change._connection.execute("UPDATE genus_mail.versions SET version = 99")
    with pytest.raises(StoreError, match=r"version 99, but .* reads version \d\. Use the genus"):
        SpamFilter.open(name)


def test_files_that_are_no_store(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("Dear reader,\n" * 100)
    with pytest.raises(
        StoreError, match=r"is not a store, or it is damaged: .*\. If .* restore it"
    ):
        SpamFilter.open(tmp_path / "text")
    assert (tmp_path / "text").read_text() == "Dear reader,\n" * 100
    with pytest.raises(StoreError, match="is a folder"):
        SpamFilter.open(tmp_path)
    with pytest.raises(StoreError, match=r"no store at .*missing\. Learn some mail first"):
        SpamFilter.open(tmp_path / "missing", create=False)
    assert not (tmp_path / "missing").exists()
    with pytest.raises(StoreError, match=r"Not a directory|File exists"):
        SpamFilter.open(tmp_path / "text" / "mail.sqlite")
    with pytest.raises(StoreError, match="name too long"):
        SpamFilter.open(tmp_path / ("x" * 300))
    (tmp_path / "empty").touch()
    with opened(tmp_path / "empty") as spam_filter:
        spam_filter.learn([message(1)], True)
    with pytest.raises(StoreError, match="no store at"):
        SpamFilter.open(tmp_path / "mine", tmp_path / "no site")


@pytest.mark.parametrize("content", [b"abc", "text", 7, zlib.compress(bytes(40))])
def test_a_damaged_lesson_is_said_to_be_one(tmp_path: Path, content: object) -> None:
    name = tmp_path / "mail.sqlite"
    with opened(name) as spam_filter:
        spam_filter.learn(map(message, range(10)), False)
        spam_filter.learn(map(message, range(10, 20)), True)
    with closing(sqlite3.connect(name)) as connection, connection:
        connection.execute("UPDATE packs SET content = ?", (content,))
    with opened(name) as spam_filter:
        for use in (
            lambda: spam_filter.learn([message(0)], True),
            lambda: spam_filter.forget([message(0)]),
            lambda: spam_filter.rejudge(anew=True),
            lambda: spam_filter.expire(keep=5),
        ):
            with pytest.raises(
                StoreError, match=r"The store .* is damaged: .*\. Repair it \(genus mail"
            ):
                use()


@pytest.mark.parametrize("number", ["text", b"bytes", -3, 2.5])
def test_a_damaged_number_of_lessons_is_said_to_be_one(tmp_path: Path, number: object) -> None:
    name = tmp_path / "mail.sqlite"
    with opened(name) as spam_filter:
        spam_filter.learn(map(message, range(10)), False)
    with closing(sqlite3.connect(name)) as connection, connection:
        connection.execute("UPDATE packs SET lessons = ?", (number,))
    with opened(name) as spam_filter:
        for use in (
            lambda: spam_filter.learn([message(0)], True),
            lambda: spam_filter.forget([message(0)]),
        ):
            with pytest.raises(StoreError, match=r"The store .* is damaged"):
                use()


def test_a_damaged_lesson_in_postgresql_is_said_to_be_one(server: servers.Postgres) -> None:
    with opened(f"{server.create()}?owner=ann") as spam_filter:
        spam_filter.learn(map(message, range(10)), False)
        spam_filter.learn(map(message, range(10, 20)), True)
        spam_filter.store._connection.execute("UPDATE genus_mail.lessons SET tokens = 'abc'")
        for use in (
            lambda: spam_filter.forget([message(0)]),
            lambda: spam_filter.learn([message(0)], True),
            lambda: spam_filter.rejudge(anew=True),
        ):
            with pytest.raises(StoreError, match="is damaged"):
                use()


def test_repair_counts_lessons_in_postgresql_again(server: servers.Postgres) -> None:
    url = server.create()
    for owner in ("ann", "bob"):
        with opened(f"{url}?owner={owner}") as spam_filter:
            spam_filter.learn(map(message, range(10)), False)
            spam_filter.learn(map(message, range(10, 20)), True)
    with opened(f"{url}?owner=ann") as spam_filter:
        run = spam_filter.store._connection.execute
        of_ann = "WHERE owner = (SELECT owner FROM genus_mail.owners WHERE name = 'ann')"
        run(f"UPDATE genus_mail.tokens SET ham = ham + 7 {of_ann}")
        run("UPDATE genus_mail.owners SET spam = 99 WHERE name = 'ann'")
        for number, tokens in ((0, b"abc"), (1, bytes([2, 0, 0, 0, 1, 0, 0, 0]))):
            run(
                f"UPDATE genus_mail.lessons SET tokens = %s {of_ann} AND digest = %s",
                (tokens, digest(message(number))),
            )
        assert "is damaged" in faults_in(spam_filter.store)[0]
        told = CliRunner().invoke(cli, ["mail", "repair", "--store", f"{url}?owner=ann"])
        assert told.output == "18 lessons were saved, 2 were lost.\n"
        assert faults_in(spam_filter.store) == []
        with opened(f"{url}?owner=again") as other:
            other.learn(map(message, range(2, 10)), False)
            other.learn(map(message, range(10, 20)), True)
            assert known(spam_filter.store) == known(other.store)
    with opened(f"{url}?owner=bob") as spam_filter:
        assert faults_in(spam_filter.store) == []


def test_an_empty_file_that_becomes_a_store_is_private(tmp_path: Path) -> None:
    name = tmp_path / "mail.sqlite"
    name.touch()
    name.chmod(0o644)
    with opened(name) as spam_filter:
        spam_filter.learn([message(0)], False)
    assert stat.S_IMODE(name.stat().st_mode) == 0o600


def test_an_error_says_what_was_learned_before(tmp_path: Path) -> None:
    with opened(tmp_path / "mail.sqlite") as spam_filter:
        spam_filter.learn(map(message, range(5)), False)
        whole, times = spam_filter._learn, iter(range(9))

        def failing(lessons: Sequence[Lesson]) -> list[str]:
            if next(times) == 2:
                raise StoreError("The disk is full.")
            return whole(lessons)

        said = r"full\. Messages done before the error: 17 learned, 3 corrected\.$"
        with (
            mock.patch.object(spam_filter, "_learn", failing),
            mock.patch.object(spamfilter, "BATCH", 10),
            pytest.raises(StoreError, match=said),
        ):
            spam_filter.learn(map(message, range(2, 40)), True)
        with mock.patch.object(spam_filter, "_learn", failing):
            spam_filter.learn(map(message, range(40, 50)), True)


def test_a_damaged_store_is_an_error_at_worst(tmp_path: Path) -> None:
    path, chance = tmp_path / "mail.sqlite", random.Random(0)
    with opened(path) as spam_filter:
        spam_filter.learn(map(message, range(0, 60, 2)), False)
        spam_filter.learn(map(message, range(1, 61, 2)), True)
    whole = path.read_bytes()
    errors = 0
    for number in range(120):
        damaged = bytearray(whole)
        start = chance.randrange(100 if number % 4 == 0 else len(whole))
        if number % 3 == 0:
            del damaged[max(start, 1) :]
        elif number % 3 == 1:
            for _ in range(200):
                damaged[chance.randrange(100, len(damaged))] = chance.randrange(256)
        else:
            size = chance.choice([1, 8, 300, 5000])
            damaged[start : start + size] = chance.randbytes(len(damaged[start : start + size]))
        path.write_bytes(damaged)
        try:
            with opened(path) as spam_filter:
                list(spam_filter.check_many(map(message, range(40, 80))))
                spam_filter.learn([message(100), message(101)], True)
                spam_filter.forget([message(1), message(101)])
                spam_filter.expire(half_life=1, keep=20)
        except StoreError:
            errors += 1
        for each in tmp_path.iterdir():
            each.unlink()
    assert 20 < errors < 120


# Another file in its place


def test_a_file_that_is_replaced_is_opened_anew(tmp_path: Path) -> None:
    here, there = tmp_path / "mail.sqlite", tmp_path / "other.sqlite"
    with opened(there) as other:
        other.learn([message(0)], False)
    with opened(here) as one, opened(here) as two:
        one.learn([message(1), message(3)], True)
        assert one.store.totals().spam == two.store.totals().spam == 2
        here.rename(tmp_path / "old.sqlite")
        there.rename(here)  # beside it is the log of what was there before
        one.learn([message(5)], True)
        two.learn([message(7)], True)
        assert one.store.totals() == two.store.totals()
    assert learned(str(here)) == {digest(message(number)) for number in (0, 5, 7)}
    assert learned(str(tmp_path / "old.sqlite")) == {digest(message(1)), digest(message(3))}


def test_a_file_that_is_removed_is_made_anew_or_missed(tmp_path: Path) -> None:
    here, away = tmp_path / "mail.sqlite", tmp_path / "away.sqlite"
    with opened(here) as one:
        one.learn([message(1)], True)
        here.unlink()
        assert one.store.totals().spam == 0
        one.learn([message(3)], True)
    assert learned(str(here)) == {digest(message(3))}
    with opened(here, create=False) as one:
        one.learn([message(5)], True)
        here.rename(away)
        for _ in range(2):
            with pytest.raises(StoreError, match="There is no store"):
                one.check(message(3))
        away.rename(here)
        assert one.store.totals().spam == 2


def test_a_change_that_has_begun_ends_in_the_file_it_began_in(tmp_path: Path) -> None:
    here, there = tmp_path / "mail.sqlite", tmp_path / "other.sqlite"
    with opened(there) as other:
        other.learn([message(0)], False)
    with opened(here) as one:
        one.learn([message(1)], True)
        with one.store.change() as change:
            here.rename(tmp_path / "old.sqlite")
            there.rename(here)
            change.put("note", "of the old")
            assert one.store.totals().spam == 1
        assert one.store.notes("note") == {}
    with opened(tmp_path / "old.sqlite") as old:
        assert old.store.notes("note") == {"note": "of the old"}


def test_a_file_of_other_tokens_is_refused_in_its_place(tmp_path: Path) -> None:
    here, there = tmp_path / "mail.sqlite", tmp_path / "other.sqlite"
    with opened(there) as other:
        other.learn([message(number) for number in range(0, 12, 2)], False)
        other.learn([message(number) for number in range(1, 12, 2)], True)
        with other.store.change() as change:
            change.put("tokens", "0")
    with opened(here) as one:
        one.learn([message(1)], True)
        there.rename(here)
        with pytest.raises(StoreError, match="version 0"):
            one.check(message(1))
        with pytest.raises(StoreError, match="version 0"):
            one.learn([message(1)], True)


def test_a_judgement_of_another_version_is_made_anew(tmp_path: Path) -> None:
    with opened(tmp_path / "mail.sqlite") as spam_filter:
        for spam in (False, True):
            spam_filter.learn((message(i) for i in range(40) if is_spam(i) == spam), spam)
        before = spam_filter.store.notes("judgement")
        for text in ('{"colour": 1}', "{", "[]", "null"):
            with spam_filter.store.change() as change:
                change.put("judgement", text)
            assert spam_filter.check(message(1)).score
            spam_filter.rejudge()
            assert spam_filter.store.notes("judgement") == before


# Whoever may not write


def as_somebody(code: str, *arguments: str, user: int | str, **environment: str) -> str:
    """Return what a program of another user prints, who has no home."""
    python = servers.mail_python()
    if not ROOT or python is None:
        pytest.skip("only root can become somebody else, who must be able to start genus")
    done = subprocess.run(
        [python, "-c", f"import sys\n{servers.WITH_GENUS}\n{code}", *arguments],
        env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"} | environment,
        cwd="/",
        user=user,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


OF_A_SITE = """
from genus.mail.spamfilter import SpamFilter
f = SpamFilter.open(sys.argv[1], create=False)
print(f.store.totals().spam, f.check(b"Subject: x").verdict, flush=True)
try:
    f.learn([b"Subject: y"], True)
except ValueError as error:
    print(error)
"""


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """Return a folder that everybody can reach."""
    for each in (tmp_path, *tmp_path.parents):
        if each.owner() == Path.home().owner() and each.is_relative_to("/tmp"):
            with suppress(PermissionError):
                each.chmod(each.stat().st_mode | 0o055)
    return tmp_path


def test_a_sites_store_is_read_by_those_who_may_not_write(open_folder: Path) -> None:
    path = open_folder / "site.sqlite"
    expected = (
        f"unsure\nThe store {path} can be read but not changed by this user. "
        "Change its permissions, or name another store."
    )
    with opened(path) as site:
        site.learn([message(1)], True)
        path.chmod(0o644)
    assert as_somebody(OF_A_SITE, str(path), user="nobody") == f"1 {expected}"
    with opened(path) as site:  # somebody else writes meanwhile
        site.learn([message(3)], True)
        assert as_somebody(OF_A_SITE, str(path), user="nobody") == f"2 {expected}"
    assert as_somebody(OF_A_SITE, str(path), user="nobody") == f"2 {expected}"
    assert [each.name for each in open_folder.iterdir()] == ["site.sqlite"]


WHO_WAITS = """
from genus.mail.spamfilter import SpamFilter
f = SpamFilter.open(sys.argv[1], create=False)
for line in sys.stdin:
    print(f.store.totals().spam, flush=True)
"""


def test_a_reader_sees_what_a_site_learns(open_folder: Path) -> None:
    path = open_folder / "site.sqlite"
    with opened(path) as site:
        site.learn([message(1)], True)
        path.chmod(0o644)
    python = servers.mail_python()
    if not ROOT or python is None:
        pytest.skip("only root can become somebody else, who must be able to start genus")
    with subprocess.Popen(
        [python, "-c", f"import sys\n{servers.WITH_GENUS}\n{WHO_WAITS}", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd="/",
        **servers.as_user("nobody"),
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None

        def seen() -> int:
            print(file=reader.stdin)
            return int(reader.stdout.readline())

        assert seen() == 1
        with opened(path) as site:
            site.learn([message(3)], True)
            assert seen() == 2
            site.learn([message(5)], True)
            assert seen() == 3
        with opened(path) as site:
            site.learn(map(message, range(7, 107, 2)), True)
        assert seen() == 53
        reader.stdin.close()


def test_forbidden_places_are_said(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(mode=0o700)
    told = as_somebody(
        "from genus.mail.spamfilter import SpamFilter\n"
        "for path in sys.argv[1:]:\n"
        "    try: SpamFilter.open(path)\n"
        "    except ValueError as error: print(error)",
        str(open_folder / "closed" / "mail.sqlite"),
        str(open_folder / "mail.sqlite"),
        user="nobody",
    ).splitlines()
    assert len(told) == 2
    assert all("Cannot use the store" in each and "Permission denied" in each for each in told)


# Where a store is when nobody says


def test_the_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GENUS_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_place() == tmp_path / ".local/share/genus/mail.sqlite"
        monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
        assert default_place() == tmp_path / ".local/share/genus/mail.sqlite"
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        assert default_place() == tmp_path / "data/genus/mail.sqlite"
    monkeypatch.setenv("GENUS_HOME", "~/of mine")
    assert default_place() == tmp_path / "of mine/mail.sqlite"
    with opened(None) as spam_filter:
        spam_filter.learn([message(1)], True)
    assert learned(str(tmp_path / "of mine/mail.sqlite")) == {digest(message(1))}
    monkeypatch.setenv("GENUS_HOME", "~nobody-of-this-name/x")
    with pytest.raises(StoreError, match=r"no home folder.*set GENUS_HOME"):
        default_place()


DEFAULT = """
from genus.mail.spamfilter import SpamFilter
try:
    f = SpamFilter.open()
    print(f.learn([b"Subject: x"], True), f.store.name)
except ValueError as error:
    print(error)
"""


def test_programs_that_deliver_mail_have_no_home(open_folder: Path) -> None:
    assert "this user has no home folder" in as_somebody(DEFAULT, user=54321)
    assert "Name the store with --store FILE" in as_somebody(DEFAULT, user=54321)
    home = open_folder / "Zürich"
    home.mkdir()
    home.chmod(0o777)
    plain = {"LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "GENUS_HOME": str(home)}
    assert "['learned']" in as_somebody(DEFAULT, user=54321, **plain, PYTHONIOENCODING="utf-8")
    assert learned(str(home / "mail.sqlite")) == {digest(b"Subject: x")}


# PostgreSQL


def test_without_a_client_an_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'genus\[postgres\]'"):
        SpamFilter.open("postgresql://mail.example/mail")


def refused(url: str) -> str:
    with pytest.raises(StoreError) as caught:
        SpamFilter.open(url)
    return str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://anna:SeCrEt@127.0.0.1:1/mail",
        "postgresql://anna:SeCrEt@127.0.0.1:1/mail?owner=anna%20b",
        "postgresql://anna@127.0.0.1:1/mail?password=SeCrEt",
        "postgresql://anna:SeCrEt%zz@127.0.0.1:1/mail",
        "postgresql://anna:SeCrEt#1@127.0.0.1:1/mail",
        "postgresql://anna:SeCrEt/1@127.0.0.1:1/mail",
        "postgresql://anna:SeCrEt?1@127.0.0.1:1/mail",
        "postgresql://anna:SeCrEt@1@127.0.0.1:1/mail",
        "postgresql://anna:SeCrEt@[::1/mail",
        "postgresql://anna:SeCrEt@127.0.0.1:port/mail",
        "postgresql://SeCrEt@/mail?host=/nowhere&colour=SeCrEt",
    ],
)
def test_passwords_are_never_told(url: str) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    told = refused(url)
    assert "SeCrEt" not in told
    assert "store" in told


def test_addresses(server: servers.Postgres) -> None:
    plain = server.create()
    name = plain.rpartition("/")[2]
    for owner in ("anna", "anna+lists@example.org", "Zürich 見積", "a&b=c?d#e"):
        with opened(f"{plain}?owner={quote(owner)}") as spam_filter:
            spam_filter.learn([message(1)], True)
            assert spam_filter.store.name.endswith(f"/{name} ({owner})")
    by_socket = server.url_of(name, by_socket=True)
    with opened(f"{by_socket}&owner=anna", create=False) as spam_filter:
        assert spam_filter.store.totals().spam == 1
    place = f"host={quote(str(server.folder), safe='')}&port={server.port}&user=postgres"
    settings = f"options={quote('-c statement_timeout=5000')}"
    with opened(f"postgresql:///{name}?owner=anna&{place}&{settings}", create=False) as spam_filter:
        assert spam_filter.store.totals().spam == 1
    assert "There is no store of 'berta'" in refused_without_making(f"{plain}?owner=berta")
    assert "There is no store of 'site'" in refused_without_making(plain)
    assert "does not exist" in refused(server.url_of("no_such_database"))


def refused_without_making(url: str) -> str:
    with pytest.raises(StoreError) as caught:
        SpamFilter.open(url, create=False)
    return str(caught.value)


def test_a_wrong_password(server: servers.Postgres) -> None:
    server.execute("create role locked login password 'right'")
    access = server.folder / "data" / "pg_hba.conf"
    access.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{access.read_text()}")
    server.execute("select pg_reload_conf()")
    url = server.create().replace("postgres@", "locked:{}@")
    told = servers.until(
        lambda: "password" in (told := refused(url.format("SeCrEt"))) and told, "it is reloaded"
    )
    assert "SeCrEt" not in told
    assert "permission denied" in refused(url.format("right"))  # to make tables


def test_a_server_that_is_gone_for_a_while(server: servers.Postgres) -> None:
    with opened(f"{server.create()}?owner=anna") as spam_filter:
        spam_filter.learn([message(1)], True)
        server.restart()
        assert spam_filter.label(message(1)) == "spam"
        server.restart()
        assert spam_filter.learn([message(3)], True) == ["learned"]
        server.stop()
        for _ in range(2):
            with pytest.raises(StoreError, match="Cannot use the store"):
                spam_filter.check(message(1))
            with pytest.raises(StoreError, match="Cannot use the store"):
                spam_filter.learn([message(5)], True)
        server.start()
        assert spam_filter.learn([message(5)], True) == ["learned"]
        assert known(spam_filter.store)["totals"].spam == 3
        server.restart()
        with spam_filter.store.change() as change:
            change.put("note", "kept")
        assert spam_filter.store.notes("note") == {"note": "kept"}
