"""genus mail watch, against Dovecot: what is moved and learned, and what survives what."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from genus.cli import cli
from genus.mail.imap import PLAIN, Account, Ending, Folder, Head, is_loopback, printable
from genus.mail.spamfilter import SpamFilter
from genus.mail.watch.loop import LONGEST, Watcher, backoff, watch
from genus.mail.watch.notes import MOST, Met, Watched
from genus.mail.watch.session import Plan
from scope import EVERYTHING, at_night, nightly
from servers import program, run, until

imapclient = pytest.importorskip("imapclient", reason="pip install 'genus[imap]'")
pytest_plugins = ("servers",)

TRAINED = 1000  # of either class: so many that what a test teaches does not turn verdicts
COMMAND = [sys.executable, "-m", "genus.cli", "mail", "watch"]
SPAM_WORDS = [
    "pills",
    "cheap",
    "casino",
    "winner",
    "lottery",
    "viagra",
    "rolex",
    "replica",
    "bonus",
    "jackpot",
    "miracle",
]
HAM_WORDS = [
    "meeting",
    "report",
    "minutes",
    "garden",
    "dinner",
    "train",
    "invoice",
    "draft",
    "review",
    "holiday",
    "music",
]


# Messages and stores


def message(kind, number, words):
    rng = random.Random(f"{kind} {number}")
    body = " ".join(rng.choices(words, k=30))
    host = "example.net" if kind == "spam" else "example.org"
    return (
        f"From: {rng.choice(words)}@{host}\nTo: user@example.com\n"
        f"Subject: {' '.join(rng.choices(words, k=4))}\n"
        f"Message-ID: <{kind}-{number}@{host}>\nDate: Mon, 16 Nov 2026 10:00:00 +0000\n\n{body}\n"
    ).encode()


def spam(number):
    return message("spam", number, SPAM_WORDS)


def ham(number):
    return message("ham", number, HAM_WORDS)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "mail.sqlite"
    spam_filter = SpamFilter.open(path)
    spam_filter.learn([spam(-number) for number in range(1, TRAINED + 1)], spam=True)
    spam_filter.learn([ham(-number) for number in range(1, TRAINED + 1)], spam=False)
    assert spam_filter.check(spam(1)).verdict == "spam"
    assert spam_filter.check(ham(1)).verdict == "ham"
    spam_filter.close()
    return path


@pytest.fixture
def store(trained, tmp_path):
    return Path(shutil.copy(trained, tmp_path / "mail.sqlite"))


@contextmanager
def opened(store):
    spam_filter = SpamFilter.open(store, create=False)
    try:
        yield spam_filter
    finally:
        spam_filter.close()


def label(store, raw):
    with opened(store) as spam_filter:
        return spam_filter.label(raw)


def lessons(store):
    """How many messages were learned beside those of the training."""
    with opened(store) as spam_filter:
        totals = spam_filter.store.totals()
        return totals.ham - TRAINED, totals.spam - TRAINED


# The watcher


def arguments(dovecot, store, *options):
    given = ["--imap", f"{dovecot.host}:{dovecot.port}", "--user", dovecot.user, "--store", store]
    return [*map(str, given), *map(str, options)]


def environment(dovecot, **more):
    return os.environ | {"GENUS_IMAP_PASSWORD": dovecot.password} | more


def once(dovecot, store, *options, code=0, **more):
    """A look, in this process; what it says."""
    given = ["mail", "watch", *arguments(dovecot, store, "--once", *options)]
    done = CliRunner().invoke(cli, given, env={"GENUS_IMAP_PASSWORD": dovecot.password} | more)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert "bug" not in done.stderr
    return done.stderr


class Watching:
    """A watcher in a process of its own."""

    def __init__(self, dovecot, store, *options):
        self.log = store.with_name(f"log-{time.monotonic_ns()}")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments(dovecot, store, *options)],
                stderr=log,
                env=environment(dovecot),
            )

    def said(self):
        return self.log.read_text()

    def hears(self, what, times=1, seconds=60):
        def found():
            assert self.process.poll() is None, self.said()
            return self.said().count(what) >= times

        until(found, f"{what!r} in {self.said()!r}", seconds)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
        print(self.said())


@pytest.fixture(autouse=True)
def claims(tmp_path, monkeypatch):
    """Keep claims of accounts out of the system's folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def user(dovecot):
    """A mail reader."""
    with User(dovecot) as reader:
        yield reader


class User:
    """What a user does with a mail reader, each in a session of its own."""

    def __init__(self, dovecot):
        self.client = imapclient.IMAPClient(dovecot.host, dovecot.port, ssl=False, timeout=30)
        self.client.login(dovecot.user, dovecot.password)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with suppress(Exception):
            self.client.logout()

    def find(self, raw, folder):
        name = raw.split(b"Message-ID: ")[1].split(b"\n")[0].decode()
        self.client.select_folder(folder)
        return self.client.search(["UNDELETED", "HEADER", "Message-ID", name])

    def mark(self, raw, folder, *flags):
        self.client.add_flags(self.find(raw, folder), flags or ["\\Seen"])

    def move(self, raw, source, target, *flags):
        found = self.find(raw, source)
        assert found, f"not in {source}"
        if flags:
            self.client.add_flags(found, flags)
        self.client.copy(found, target)
        self.client.delete_messages(found)
        self.client.uid_expunge(found)

    def flags(self, raw, folder):
        (flags,) = self.client.get_flags(self.find(raw, folder)).values()
        return set(flags) - {rb"\Recent"}

    def count(self, folder):
        return self.client.folder_status(folder, ["MESSAGES"])[b"MESSAGES"]


SEEN = "\\Seen"
FOLDERS = ("INBOX", "Junk", "Keep")


# Sorting


def test_spam_is_moved_with_its_flags_and_ham_stays(dovecot, store, user):
    once(dovecot, store)
    user.client.append("INBOX", spam(1), [SEEN, "\\Flagged", "$Work"])
    dovecot.deliver(spam(2))
    dovecot.deliver(ham(1))
    told = once(dovecot, store)
    assert user.flags(spam(1), "Junk") == {rb"\Seen", rb"\Flagged", b"$Work"}
    assert user.flags(spam(2), "Junk") == set()
    assert user.flags(ham(1), "INBOX") == set()
    assert told.count("moved to Junk") == 2
    assert told.count("INBOX") == 3
    assert not any(word in told for word in (*SPAM_WORDS, *HAM_WORDS))
    assert once(dovecot, store) == ""
    assert lessons(store) == (0, 0)


def test_mail_from_before_the_first_start_is_left_alone_unless_asked_for(dovecot, store, user):
    dovecot.deliver(spam(1))
    told = "INBOX: 1 message from before the first start is left alone; --all sorts it, too\n"
    assert once(dovecot, store, "--dry-run") == told
    assert once(dovecot, store) == told
    dovecot.deliver(spam(2))
    assert once(dovecot, store).count("moved") == 1
    assert user.find(spam(1), "INBOX")
    assert once(dovecot, store, "--all").count("moved") == 1
    assert not user.find(spam(1), "INBOX")
    assert once(dovecot, store, "--all") == ""


def test_a_dry_run_changes_nothing(dovecot, store, user):
    once(dovecot, store)
    dovecot.deliver(spam(1))
    user.client.append("Junk", ham(1), [SEEN])
    before = store.read_bytes()
    for _ in range(2):
        told = once(dovecot, store, "--dry-run")
        assert "would be moved to Junk" in told
        assert "would be learned as spam" in told
    assert user.flags(spam(1), "INBOX") == set()
    assert store.read_bytes() == before
    assert label(store, ham(1)) is None


def test_what_is_not_sure_and_what_is_learned_as_ham_stays(dovecot, store, tmp_path, user):
    empty = tmp_path / "empty.sqlite"
    once(dovecot, empty)
    once(dovecot, store)
    with opened(store) as spam_filter:
        spam_filter.learn([spam(1)], spam=False)
    dovecot.deliver(spam(1))
    assert "unsure" in once(dovecot, empty)
    once(dovecot, store)
    assert user.find(spam(1), "INBOX")


def test_folders_with_spaces_and_umlauts_are_made_and_used(dovecot, store, user):
    user.client.create_folder("Mein Eingang")
    folders = ["--inbox", "Mein Eingang", "--junk", 'Müll & "Spam" größer']
    assert "Created the folder" in once(dovecot, store, *folders)
    user.client.append("Mein Eingang", spam(1))
    once(dovecot, store, *folders)
    assert user.find(spam(1), folders[3])
    user.move(spam(1), folders[3], "Mein Eingang", SEEN)
    assert "learned as ham" in once(dovecot, store, *folders)


def test_200_messages_at_once(dovecot, store, user):
    once(dovecot, store)
    for number in range(100):
        user.client.append("INBOX", spam(number))
        user.client.append("INBOX", ham(number))
    once(dovecot, store)
    assert (user.count("INBOX"), user.count("Junk")) == (100, 100)
    assert not any(user.find(ham(number), "Junk") for number in range(0, 100, 9))


def test_hostile_messages_are_survived(dovecot, store, user):
    once(dovecot, store)
    hostile = [
        b"",
        b"\n",
        b"\n\n\n",
        b"no header at all",
        b"\x00\x00\x00\n\n\x00",
        bytes(range(256)) * 50,
        b"Subject: \xff\xfe\x80\n\n\xff\xfe\x80" * 20,
        b"Subject: " + b"a" * 100_000 + b"\n\nx",
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\n" * 5000,
        b"Subject: x\r\n\r\n* 1 EXPUNGE\r\n)\r\nA1 OK done\r\n{100000}\r\n",
        b"Subject: =?utf-8?b?/////w==?=\n\n\x1b[2J\x07",
    ]
    for raw in hostile:
        if raw:
            user.client.append("INBOX", raw.replace(b"\x00", b""))  # IMAP has no NUL
        dovecot.deliver(raw)
    dovecot.deliver(spam(1))
    told = once(dovecot, store)
    assert user.find(spam(1), "Junk")
    assert all(line.isprintable() for line in told.splitlines())
    user.client.append("INBOX", ham(1), [SEEN])
    once(dovecot, store)
    for source, target in (("INBOX", "Junk"), ("Junk", "INBOX")):
        user.client.select_folder(source)
        everything = user.client.search()
        user.client.add_flags(everything, [SEEN])
        user.client.move(everything, target)
        assert "learned" in once(dovecot, store)
    assert lessons(store)[1] == 0  # all are ham again
    assert lessons(store)[0] > len(hostile) / 2


# Learning


def test_what_the_user_moves_is_learned(dovecot, store, user):
    once(dovecot, store)
    user.client.create_folder("Archive")
    for raw in (ham(1), ham(2), spam(1), spam(2)):
        dovecot.deliver(raw)
    once(dovecot, store)
    user.move(ham(1), "INBOX", "Junk", SEEN)
    user.move(ham(2), "INBOX", "Archive", SEEN)
    user.move(ham(2), "Archive", "Junk")
    user.move(spam(1), "Junk", "INBOX", SEEN)
    user.move(spam(2), "Junk", "Archive", SEEN)
    told = once(dovecot, store)
    assert told.count("learned as spam") == told.count("learned as ham") == 2
    assert [label(store, raw) for raw in (ham(1), ham(2))] == ["spam", "spam"]
    assert [label(store, raw) for raw in (spam(1), spam(2))] == ["ham", "ham"]
    assert user.find(spam(1), "INBOX")
    assert once(dovecot, store) == ""
    user.move(ham(1), "Junk", "INBOX")
    user.move(spam(1), "INBOX", "Junk")
    told = once(dovecot, store)
    assert "corrected as ham" in told
    assert "corrected as spam" in told
    assert (label(store, ham(1)), label(store, spam(1))) == ("ham", "spam")
    user.move(ham(1), "INBOX", "Junk")
    user.move(spam(1), "Junk", "INBOX")
    once(dovecot, store)
    assert (label(store, ham(1)), label(store, spam(1))) == ("spam", "ham")


def test_what_is_read_and_stays_is_learned_as_ham(dovecot, store, user, monkeypatch):
    once(dovecot, store)
    for raw in (ham(1), ham(2), ham(3), ham(4), spam(1)):
        dovecot.deliver(raw)
    once(dovecot, store)
    user.mark(ham(1), "INBOX")
    user.mark(ham(3), "INBOX", SEEN, "$Junk")
    user.mark(ham(4), "INBOX", SEEN, "\\Deleted")
    assert once(dovecot, store) == ""  # it has not stayed for three days
    once(dovecot, store, "--inbox-days", 0, "--no-learn-inbox")
    once(dovecot, store, "--inbox-days", 0, "--no-learn")
    assert lessons(store) == (0, 0)
    told = once(dovecot, store, "--inbox-days", 0, "--dry-run")
    assert told.count("would be learned as ham") == 1
    assert once(dovecot, store, "--inbox-days", 0).count("learned as ham") == 1
    assert (label(store, ham(1)), lessons(store)) == ("ham", (1, 0))
    assert once(dovecot, store, "--inbox-days", 0) == ""
    user.mark(ham(2), "INBOX")
    monkeypatch.setattr("genus.mail.watch.staying.HAM_A_SPAM", 0)  # there is enough ham
    assert once(dovecot, store, "--inbox-days", 0) == ""
    monkeypatch.undo()
    assert once(dovecot, store, "--inbox-days", 0).count("learned as ham") == 1
    user.move(ham(2), "INBOX", "Junk", SEEN)
    assert "corrected as spam" in once(dovecot, store)


def test_unsure_mail_that_stays_is_learned_though_there_is_enough_ham(
    dovecot, store, user, monkeypatch
):
    once(dovecot, store)
    mixed = (message("either", number, HAM_WORDS + SPAM_WORDS) for number in range(100))
    with opened(store) as spam_filter:
        unsure = next(raw for raw in mixed if spam_filter.check(raw).verdict == "unsure")
    for raw in (ham(1), unsure):
        dovecot.deliver(raw)
    once(dovecot, store)
    for raw in (ham(1), unsure):
        user.mark(raw, "INBOX")
    monkeypatch.setattr("genus.mail.watch.staying.MORE", -TRAINED)  # there is enough ham
    assert once(dovecot, store, "--inbox-days", 0).count("learned as ham") == 1
    assert (label(store, ham(1)), label(store, unsure)) == (None, "ham")
    monkeypatch.undo()
    assert once(dovecot, store, "--inbox-days", 0).count("learned as ham") == 1


def test_mail_of_one_second_and_size_is_told_apart(dovecot, store, user):
    other = ham(1).replace(b"ham-1@", b"ham-2@")
    when = datetime(2026, 11, 16, 10, tzinfo=UTC)
    user.client.append("Junk", ham(1), [SEEN], when)
    once(dovecot, store)
    user.client.append("INBOX", other, [SEEN], when)
    assert ": ham" in once(dovecot, store)
    user.move(ham(1), "Junk", "INBOX")
    once(dovecot, store)
    assert (label(store, ham(1)), label(store, other)) == ("ham", None)


def test_what_was_in_junk_before_the_first_start_is_learned_when_it_leaves(dovecot, store, user):
    user.client.append("Junk", ham(1), [SEEN])
    user.client.append("Junk", ham(2), [SEEN])
    once(dovecot, store)
    assert lessons(store) == (0, 0)
    user.move(ham(1), "Junk", "INBOX")
    once(dovecot, store)
    assert (label(store, ham(1)), label(store, ham(2))) == ("ham", None)


def test_own_moves_and_trash_teach_nothing(dovecot, store, user):
    once(dovecot, store)
    for number in range(4):
        dovecot.deliver(spam(number))
    dovecot.deliver(ham(1))
    once(dovecot, store)
    for number in range(4):
        user.mark(spam(number), "Junk")
    once(dovecot, store)
    user.move(spam(0), "Junk", "Trash")
    user.client.delete_messages(user.find(spam(1), "Junk"))
    user.client.delete_messages(user.find(spam(2), "Junk"))
    user.client.expunge()
    user.move(ham(1), "INBOX", "Trash", SEEN)
    once(dovecot, store)
    assert lessons(store) == (0, 0)
    user.move(spam(0), "Trash", "INBOX")  # not learned from Trash, nor taken away again
    assert "left alone" in once(dovecot, store)
    assert user.find(spam(0), "INBOX")
    assert lessons(store) == (0, 0)


@pytest.mark.parametrize("name", ["Bin", "Deleted Items", "Papierkorb", "Trash/2025", "Rubbish"])
def test_trash_is_known_by_its_name_or_is_named(dovecot, store, user, name):
    user.client.create_folder(name)
    options = ["--trash", name] if name == "Rubbish" else []
    once(dovecot, store, *options)
    user.client.append("INBOX", spam(1), [SEEN])
    once(dovecot, store, *options)
    user.move(spam(1), "Junk", name)
    once(dovecot, store, *options)
    assert lessons(store) == (0, 0)


def test_unread_mail_is_learned_when_it_is_read(dovecot, store, user):
    once(dovecot, store)
    dovecot.deliver(ham(1))
    dovecot.deliver(spam(1))
    once(dovecot, store)
    user.client.append("Junk", ham(2))  # by another filter
    user.move(ham(1), "INBOX", "Junk")
    user.move(spam(1), "Junk", "INBOX")
    told = once(dovecot, store)
    assert told.count("when it is read") == 2
    assert told.count("not learned") == 1
    assert once(dovecot, store) == ""
    assert lessons(store) == (0, 0)
    for raw, folder in ((ham(1), "Junk"), (ham(2), "Junk"), (spam(1), "INBOX")):
        user.mark(raw, folder)
    once(dovecot, store)
    assert [label(store, raw) for raw in (ham(1), ham(2), spam(1))] == ["spam", None, "ham"]


def test_unread_mail_from_before_the_first_start_is_learned_when_it_is_read(dovecot, store, user):
    user.client.create_folder("Archive")
    user.client.append("INBOX", ham(1))
    user.client.append("Archive", ham(2), msg_time=datetime(2024, 1, 1))
    once(dovecot, store)
    user.move(ham(1), "INBOX", "Junk")
    user.move(ham(2), "Archive", "Junk")
    user.client.append("Junk", ham(3))  # by another filter
    told = once(dovecot, store)
    assert told.count("unread, will be learned as spam when it is read") == 2
    assert told.count("probably from another filter: not learned") == 1
    for raw in (ham(1), ham(2), ham(3)):
        user.mark(raw, "Junk")
    assert once(dovecot, store).count("learned as spam") == 2
    assert [label(store, raw) for raw in (ham(1), ham(2), ham(3))] == ["spam", "spam", None]


def test_a_lesson_that_waits_goes_with_its_message(dovecot, store, user):
    once(dovecot, store)
    dovecot.deliver(ham(1))
    dovecot.deliver(ham(2))
    once(dovecot, store)
    user.move(ham(1), "INBOX", "Junk")
    user.move(ham(2), "INBOX", "Junk")
    once(dovecot, store)
    user.move(ham(1), "Junk", "INBOX")
    user.move(ham(2), "Junk", "Trash")
    once(dovecot, store)
    user.mark(ham(1), "INBOX")
    user.mark(ham(2), "Trash")
    once(dovecot, store)
    assert (label(store, ham(1)), label(store, ham(2))) == ("ham", None)


def test_moves_by_copying_and_deleting_are_learned(dovecot, store, user):
    """As clients do that know no MOVE, and that may leave what is deleted where it is."""
    once(dovecot, store)
    user.client.append("INBOX", spam(1), [SEEN])
    user.client.append("INBOX", ham(1), [SEEN])
    once(dovecot, store)
    for raw, source, target in ((spam(1), "Junk", "INBOX"), (ham(1), "INBOX", "Junk")):
        found = user.find(raw, source)
        user.client.copy(found, target)
        user.client.delete_messages(found)
    once(dovecot, store)
    assert (label(store, spam(1)), label(store, ham(1))) == ("ham", "spam")
    assert user.find(spam(1), "INBOX")


@nightly
def test_a_copy_from_junk_is_left_alone_and_teaches_nothing(dovecot, store, user):
    once(dovecot, store)
    user.client.append("INBOX", spam(1), [SEEN])
    once(dovecot, store)
    user.client.copy(user.find(spam(1), "Junk"), "INBOX")
    assert "left alone" in once(dovecot, store)
    assert user.find(spam(1), "INBOX")
    assert lessons(store) == (0, 0)


def test_a_second_delivery_is_not_the_user_taking_it_out(dovecot, store, user):
    once(dovecot, store)
    user.client.append("INBOX", spam(1))
    once(dovecot, store)
    user.client.delete_messages(user.find(spam(1), "Junk"))
    user.client.expunge()
    arrived = time.time()
    until(lambda: int(time.time()) > int(arrived) + 1, "another second")
    dovecot.deliver(spam(1))
    once(dovecot, store)
    user.mark(spam(1), "Junk")
    once(dovecot, store)
    assert user.find(spam(1), "Junk")
    assert lessons(store) == (0, 0)


def test_nothing_is_learned_if_it_is_not_to_be(dovecot, store, user):
    once(dovecot, store)
    user.client.append("Junk", ham(1), [SEEN])
    user.client.append("INBOX", spam(1), [SEEN])
    once(dovecot, store, "--no-learn")
    user.move(spam(1), "Junk", "INBOX")
    once(dovecot, store, "--no-learn")
    once(dovecot, store)
    assert lessons(store) == (0, 0)
    assert user.find(spam(1), "INBOX")


# Staying


@nightly
def test_it_waits_for_mail_and_moves_and_ends_on_a_signal(dovecot, store, user):
    with Watching(dovecot, store, "--every", 20) as watching:
        watching.hears("Watching INBOX")
        until(lambda: user.client.folder_status("Junk") and noted(store), "the first look")
        dovecot.deliver(spam(1))
        watching.hears("moved to Junk")
        dovecot.deliver(ham(1))
        watching.hears(": ham")
        user.move(ham(1), "INBOX", "Junk", SEEN)
        watching.hears("learned as spam")
        user.move(spam(1), "Junk", "INBOX")
        watching.hears("will be learned as ham")
        user.mark(spam(1), "INBOX")
        watching.hears(": learned as ham")
        assert watching.end(signal.SIGTERM) == 0
        assert "Ended." in watching.said()
    assert (label(store, ham(1)), label(store, spam(1))) == ("spam", "ham")
    with Watching(dovecot, store) as watching:
        watching.hears("Watching INBOX")
        assert watching.end(signal.SIGINT) == 0


@pytest.mark.parametrize("what", ["mail", "flags", "moves"])
def test_what_happens_during_other_work_is_noticed(dovecot, store, user, monkeypatch, what):
    """The server does not tell a client of changes in a folder that it has not opened."""
    once(dovecot, store)
    user.client.append("INBOX", ham(1))
    if what == "flags":
        dovecot.deliver(spam(1))
        once(dovecot, store)
        user.move(spam(1), "Junk", "INBOX")
    happening = {
        "mail": lambda: dovecot.deliver(spam(1)),
        "flags": lambda: user.mark(spam(1), "INBOX"),
        "moves": lambda: user.move(ham(1), "INBOX", "Junk", SEEN),
    }
    awaited = {"mail": "moved to Junk", "flags": ": learned as ham", "moves": "learned as spam"}
    ending, said, look = Ending(), [], Watcher.look

    def busy(watcher, everywhere):
        look(watcher, everywhere)
        happening.pop(what, lambda: None)()

    def say(text):
        said.append(text)
        if awaited[what] in text:
            ending.ask()

    monkeypatch.setattr(Watcher, "look", busy)
    account = Account(dovecot.host, dovecot.port, dovecot.user, lambda: dovecot.password, PLAIN)
    late = threading.Timer(30, ending.ask)
    late.start()
    with opened(store) as spam_filter:
        watch(account, spam_filter, Plan(every=600), say, ending)
    late.cancel()
    assert awaited[what] in said[-1], said


def noted(store):
    with opened(store) as spam_filter:
        return any("/place/at/" in name for name in spam_filter.store.notes("watch/"))


def test_folders_beside_the_inbox_are_looked_at_now_and_then(dovecot, store, user):
    user.client.append("Junk", ham(1), [SEEN])
    with Watching(dovecot, store, "--every", 1) as watching:
        until(lambda: noted(store), "the first look")
        user.client.create_folder("Later")
        user.move(ham(1), "Junk", "Later")
        watching.hears("Later 1: learned as ham")
        assert watching.end() == 0


@nightly
def test_without_idle_it_asks(dovecot, store, user):
    forbid(dovecot, "IDLE")
    with Watching(dovecot, store, "--every", 1) as watching:
        until(lambda: noted(store), "the first look")
        dovecot.deliver(spam(1))
        watching.hears("moved to Junk")
        assert watching.end() == 0


@nightly
def test_it_survives_restarts_of_the_server(dovecot, store):
    with Watching(dovecot, store) as watching:
        until(lambda: noted(store), "the first look")
        for number in range(3):
            dovecot.stop(signal.SIGKILL if number == 1 else None)
            watching.hears("Next attempt", number + 1)
            dovecot.start()
            dovecot.deliver(spam(number))
            watching.hears("moved to Junk", number + 1)
        assert watching.end() == 0
    assert len(dovecot.messages("Junk")) == 3


@nightly
def test_it_waits_for_a_server_that_is_not_there_yet(dovecot, store):
    dovecot.stop()
    with Watching(dovecot, store) as watching:
        watching.hears("Cannot reach")
        dovecot.start()
        watching.hears("Watching INBOX")
        assert watching.end() == 0


def test_an_account_has_one_watcher(dovecot, store):
    with Watching(dovecot, store) as watching:
        watching.hears("Watching INBOX")
        assert "Another process" in once(dovecot, store, code=1)
        assert watching.end() == 0


# Crashes

DYING = """
import os, signal, sys
from genus.cli.commands import cli
from genus.mail import spamfilter
from genus.mail.watch import notes
steps = int(sys.argv.pop(1))
def step():
    global steps
    steps -= 1
    if steps < 0:
        os.kill(os.getpid(), signal.SIGKILL)
def dying(owner, name, matters=lambda *given: True):
    function = getattr(owner, name)
    def call(*given, **named):
        if not matters(*given):
            return function(*given, **named)
        step()
        result = function(*given, **named)
        step()
        return result
    setattr(owner, name, call)
dying(notes.Watched, "keep", lambda kept: any(shelf.changed for shelf in kept.shelves))
dying(spamfilter.SpamFilter, "learn")
for name in ("move", "copy", "add_flags", "uid_expunge"):
    from imapclient import IMAPClient
    dying(IMAPClient, name)
cli(["mail", "watch", *sys.argv[1:]])
"""


def forbid(dovecot, *capabilities):
    """Let the server not offer something."""
    if dovecot.version != "2.3":
        pytest.skip("capabilities are set as in Dovecot 2.3")
    with User(dovecot) as user:
        offered = [each.decode() for each in user.client.capabilities()]
    left = " ".join(each for each in offered if each not in capabilities)
    with dovecot.settings.open("a") as settings:
        settings.write(f"\nprotocol imap {{\n  imap_capability = {left}\n}}\n")
    dovecot.restart()


@pytest.mark.parametrize("move", at_night([True, False], True))
def test_killed_at_any_step_nothing_is_lost_repeated_or_learned_wrongly(dovecot, store, move):
    if not move:
        forbid(dovecot, "MOVE")
    once(dovecot, store)
    as_spam, as_ham = [], []
    with User(dovecot) as user:
        user.client.create_folder("Keep")
        for steps in range(100):
            # One of each: spam to move, ham to leave, and what the user has moved.
            dovecot.deliver(spam(2 * steps))
            dovecot.deliver(ham(2 * steps))
            taken = spam(2 * steps + 1)
            user.client.append("INBOX", taken, [SEEN])
            as_spam.append(ham(2 * steps + 1))
            user.client.append("Junk", as_spam[-1], [SEEN])
            if steps and user.find(spam(2 * steps - 1), "Junk"):
                as_ham.append(spam(2 * steps - 1))
                user.move(as_ham[-1], "Junk", "Keep")
            done = subprocess.run(
                [sys.executable, "-c", DYING, str(steps), *arguments(dovecot, store, "--once")],
                capture_output=True,
                env=environment(dovecot),
                timeout=120,
            )
            if done.returncode == 0:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr
            if steps % 2 and user.find(taken, "Junk") and not user.find(taken, "INBOX"):
                as_ham.append(taken)
                user.move(taken, "Junk", "Keep" if steps % 4 == 1 else "INBOX")
            once(dovecot, store)
        assert steps > 8
        assert once(dovecot, store) == ""
        for number in range(2 * steps + 2):
            wanted = ["Keep", "INBOX"] if spam(number) in as_ham else ["Junk"]
            found = [(name, uid) for name in FOLDERS for uid in user.find(spam(number), name)]
            assert len(found) == 1
            assert found[0][0] in wanted
        for number in range(0, 2 * steps + 2, 2):
            assert len(user.find(ham(number), "INBOX")) == 1
    assert {label(store, raw) for raw in as_spam} == {"spam"}
    assert {label(store, raw) for raw in as_ham} == {"ham"}
    assert lessons(store) == (len(as_ham), len(as_spam))


@nightly
def test_killed_at_random_moments_nothing_is_lost_or_repeated(dovecot, store, user):
    once(dovecot, store)
    rng = random.Random(5)
    kills = 10 if EVERYTHING else 4
    for number in range(kills):
        dovecot.deliver(spam(number))
        dovecot.deliver(ham(number))
        with Watching(dovecot, store, "--every", 1) as watching, suppress(TimeoutError):
            until(lambda: False, "a moment", rng.uniform(0.2, 2.5))
        assert watching.process.returncode == -signal.SIGKILL
    once(dovecot, store)
    assert (user.count("INBOX"), user.count("Junk")) == (kills, kills)
    assert all(user.find(spam(number), "Junk") for number in range(kills))
    assert lessons(store) == (0, 0)


# Numbers that change


def number_anew(dovecot, *folders):
    """Let Dovecot forget its numbers; UIDVALIDITY is a time, which has to pass."""
    before = validities(dovecot, *folders)
    dovecot.stop()
    for folder in folders:
        for path in dovecot.folder_of(folder).glob("dovecot*"):
            if path.is_file():
                path.unlink()
    for path in dovecot.maildir.glob("dovecot-uidvalidity*"):
        path.unlink()
    started = int(time.time())
    until(lambda: int(time.time()) > started + 1, "another second")
    dovecot.start()
    after = validities(dovecot, *folders)
    assert all(one != other for one, other in zip(before, after, strict=True))


def validities(dovecot, *folders):
    with User(dovecot) as user:
        return [user.client.folder_status(each)[b"UIDVALIDITY"] for each in folders]


def test_new_numbers_repeat_nothing_and_miss_nothing(dovecot, store):
    with User(dovecot) as user:
        for number in range(3):  # from before the first start
            dovecot.deliver(spam(100 + number))
            user.client.append("Junk", ham(100 + number), [SEEN])
        once(dovecot, store)
        for number in range(4):
            user.client.append("INBOX", spam(number), [SEEN])
            user.client.append("INBOX", ham(number), [SEEN])
        once(dovecot, store)
        user.move(ham(0), "INBOX", "Junk")
        once(dovecot, store)
        user.client.delete_messages(user.find(ham(1), "INBOX"))
        user.client.expunge()
        assert [len(user.find(spam(number), "Junk")) for number in range(4)] == [1] * 4
    assert lessons(store) == (0, 1)
    number_anew(dovecot, "INBOX", "Junk")
    dovecot.deliver(spam(10))
    told = once(dovecot, store)
    assert told.count("renumbered") == 2
    assert told.count("moved") == 1
    assert "learned" not in told
    with User(dovecot) as user:
        assert user.find(spam(10), "Junk")
        assert all(user.find(spam(100 + number), "INBOX") for number in range(3))
        assert lessons(store) == (0, 1)
        user.move(spam(1), "Junk", "INBOX")
        user.move(ham(2), "INBOX", "Junk")
        user.move(ham(101), "Junk", "INBOX")
        once(dovecot, store)
        told = [label(store, raw) for raw in (spam(1), ham(2), ham(101))]
        assert told == ["ham", "spam", "ham"]
        assert once(dovecot, store) == ""


# Connecting


def listens(dovecot):
    try:
        socket.create_connection((dovecot.host, dovecot.port), timeout=1).close()
    except OSError:
        return False
    return True


def test_a_wrong_password_is_a_sentence(dovecot, store):
    told = once(dovecot, store, code=1, GENUS_IMAP_PASSWORD="wrong")
    assert "refused the login of user" in told
    done = subprocess.run(
        [*COMMAND, *arguments(dovecot, store)],
        capture_output=True,
        env=environment(dovecot, GENUS_IMAP_PASSWORD="wrong"),
        timeout=120,
    )
    assert done.returncode == 1  # it does not try again and again
    assert b"wrong" not in done.stderr


def test_a_server_that_is_not_there_is_a_sentence(dovecot, store):
    dovecot.stop()
    assert "Cannot reach" in once(dovecot, store, code=1)
    assert "TLS with " not in once(dovecot, store, "--tls", code=1)


def test_the_wrong_kind_of_connection_is_a_sentence(dovecot, store):
    assert "TLS with " in once(dovecot, store, "--tls", code=1)
    assert "STARTTLS" in once(dovecot, store, "--starttls", code=1)
    assert "no folder 'Nowhere'" in once(dovecot, store, "--inbox", "Nowhere", code=1)
    assert "is the inbox" in once(dovecot, store, "--junk", "inbox", code=1)


def test_a_missing_library_is_a_sentence(dovecot, store, monkeypatch):
    monkeypatch.setitem(sys.modules, "imapclient", None)
    assert "genus[imap]" in once(dovecot, store, code=1)


def test_passwords_come_from_files_and_commands(dovecot, store, tmp_path):
    file = tmp_path / "password"
    file.write_text(f"{dovecot.password}\nand more\n")
    file.chmod(0o644)
    without = {"GENUS_IMAP_PASSWORD": ""}
    told = once(dovecot, store, "--password-file", file, code=1, **without)
    assert "Other users can access" in told
    file.chmod(0o600)
    once(dovecot, store, "--password-file", file, **without)
    once(dovecot, store, "--password-command", f"echo {dovecot.password}", **without)
    assert "no password" in once(dovecot, store, code=2, **without)
    for option in ("--password-command", "--oauth-token-command"):
        told = once(dovecot, store, option, "exit 3", code=1)
        assert f"The command of {option} ended with exit code 3." in told
    assert "nothing" in once(dovecot, store, "--password-command", "true", code=1)
    assert "No such file" in once(dovecot, store, "--password-file", tmp_path / "no", code=1)
    file.write_text("\n")
    assert "empty" in once(dovecot, store, "--password-file", file, code=1)
    both = ["--password-file", file, "--password-command", "true"]
    assert "Give only one" in once(dovecot, store, *both, code=2)


@pytest.mark.parametrize("password", ['pass word\\"%', "größ e"])
def test_odd_passwords_arrive(dovecot, store, password):
    if dovecot.version != "2.3":
        pytest.skip("passwords are set as in Dovecot 2.3")
    text = dovecot.settings.read_text()
    anyone = "passdb {\n  driver = passwd-file\n  args = scheme=plain username_format=%u "
    passwords = dovecot.folder / "passwords"
    passwords.write_text(f"{dovecot.user}:{{plain}}{password}\n", encoding="utf-8")
    passwords.chmod(0o644)
    old = f"passdb {{\n  driver = static\n  args = user={dovecot.user} password={dovecot.password}"
    assert old in text
    dovecot.settings.write_text(text.replace(old, f"{anyone}{passwords}"))
    dovecot.password = password
    dovecot.stop()
    dovecot.ready = lambda: True
    dovecot.start()

    until(lambda: listens(dovecot), "Dovecot is ready")
    once(dovecot, store)


@pytest.mark.parametrize("kind", ["--tls", "--starttls"])
def test_connections_are_encrypted_and_certificates_looked_at(dovecot, store, tmp_path, kind):
    if dovecot.version != "2.3":
        pytest.skip("certificates are set as in Dovecot 2.3")
    key, certificate = dovecot.folder / "key.pem", dovecot.folder / "certificate.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    run(program("openssl"), *made, "-keyout", key, "-out", certificate)
    text = dovecot.settings.read_text()
    text = text.replace("ssl = no", f"ssl = yes\nssl_cert = <{certificate}\nssl_key = <{key}")
    if kind == "--tls":
        text = text.replace(
            f"port = {dovecot.port}\n", f"port = {dovecot.port}\n    ssl = yes\n", 1
        )
        dovecot.ready = lambda: True
    dovecot.settings.write_text(text)
    dovecot.restart()
    until(lambda: listens(dovecot), "Dovecot is ready")
    once(dovecot, store, kind, SSL_CERT_FILE=str(certificate))
    assert "is not trusted" in once(dovecot, store, kind, code=1)


def test_what_cannot_be_meant_is_refused():
    def refused(*given):
        result = CliRunner().invoke(cli, ["mail", "watch", *given])
        assert result.exit_code == 2
        return result.stderr

    assert "HOST[:PORT]" in refused("--imap", "host:port", "--user", "ann")
    assert "HOST[:PORT]" in refused("--imap", "ann@host", "--user", "ann")
    assert "--user" in refused("--imap", "host")


# Small parts


def test_waiting_ends_when_it_is_asked_for():
    ending = Ending()
    ending.ask()
    ending.wait(600)
    assert ending.came
    ending.close()


def test_attempts_become_rarer():
    assert all(backoff(failures) <= LONGEST for failures in (1, 10, 100, 10_000))
    assert backoff(20) >= LONGEST / 2
    assert backoff(1) <= 1


def test_what_is_remembered_is_bounded(store):
    with opened(store) as spam_filter:
        notes = Watched(spam_filter.store, "ann@host")
        for uid in range(MOST + 100):
            notes.inbox[uid] = Met("1/2", "ab")
        notes.keep()
        again = Watched(spam_filter.store, "ann@host")
        assert sorted(again.inbox) == list(range(100, MOST + 100))
        assert not Watched(spam_filter.store, "eve@host").inbox


def test_moves_of_one_digest_are_told_apart(store):
    with opened(store) as spam_filter:
        notes = Watched(spam_filter.store, "ann@host")
        for uid in (1, 2, 1):
            notes.intend("ab", Head(uid, frozenset(), 0, 0))
        assert {notes.dismiss("ab"), notes.dismiss("ab")} == {1, 2}
        assert notes.dismiss("ab") == 0


def test_names_of_folders():
    assert Folder("[Gmail]/Bin", frozenset(), "/").is_trash
    assert Folder("INBOX.Trash.old", frozenset(), ".").is_trash
    assert Folder("x", frozenset({"\\trash"}), "/").is_trash
    assert not Folder("Trashy", frozenset(), "/").is_trash
    assert is_loopback("localhost")
    assert printable("b'a\\x1b'") == "a\\x1b"
    assert printable("a\x1b") == "a?"
