"""The servers that mail is tested with do what they should, each without genus."""

from __future__ import annotations

import imaplib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import servers
from genus import __version__
from servers import Dovecot, Postfix, Postgres, program, run, until

pytest_plugins = ("servers",)

RAW = b"From: a@example.org\nTo: user@example.com\nSubject: offer\n\nCheap pills\n"
CRLF = RAW.replace(b"\n", b"\r\n")

# What a filter does: the message with one more line in front.
MARK = "#!/bin/sh\necho 'X-Mark: yes' && exec cat\n"


# Dovecot


def test_dovecot_delivers_and_reads(dovecot: Dovecot) -> None:
    dovecot.deliver(RAW)
    assert dovecot.messages() == [RAW]
    with dovecot.login() as connection:
        capabilities = {"IDLE", "MOVE", "UIDPLUS", "SPECIAL-USE"}
        assert capabilities <= set(connection.capability()[1][0].decode().split())
        mailboxes = b"\n".join(connection.list()[1])
        assert re.search(rb'\\Junk\) "/" Junk', mailboxes)
        assert re.search(rb'\\Trash\) "/" Trash', mailboxes)
        assert connection.select("INBOX") == ("OK", [b"1"])
        assert connection.fetch("1", "(BODY.PEEK[])")[1][0][1] == CRLF
    stranger = imaplib.IMAP4(dovecot.host, dovecot.port, timeout=20)
    with stranger, pytest.raises(imaplib.IMAP4.error):
        stranger.login(dovecot.user, "wrong")


def test_dovecot_tells_those_who_wait(dovecot: Dovecot) -> None:
    with dovecot.login() as connection:
        connection.select("INBOX")
        connection.send(b"wait IDLE\r\n")
        assert connection.readline().startswith(b"+")
        dovecot.deliver(RAW)
        assert connection.readline() == b"* 1 EXISTS\r\n"
        connection.send(b"DONE\r\n")
        while not connection.readline().startswith(b"wait OK"):
            pass


def test_dovecot_moves(dovecot: Dovecot) -> None:
    dovecot.deliver(RAW)
    with dovecot.login() as connection:
        connection.select("INBOX")
        assert connection.uid("MOVE", "1", "Junk")[0] == "OK"
    assert dovecot.messages() == []
    assert dovecot.messages("Junk") == [RAW]


def test_dovecot_comes_back(dovecot: Dovecot) -> None:
    dovecot.deliver(RAW)
    connection = dovecot.login()
    dovecot.stop()
    with pytest.raises((OSError, imaplib.IMAP4.abort)):
        connection.noop()
    with pytest.raises(ConnectionRefusedError):
        dovecot.login()
    dovecot.start()
    with dovecot.login() as again:
        assert again.select("INBOX") == ("OK", [b"1"])


def test_dovecot_pipes_what_is_moved(dovecot: Dovecot) -> None:
    learned = dovecot.space("learned")
    dovecot.script(
        "learn", f'#!/bin/sh\ncat >"{learned}/$1.part"\nmv "{learned}/$1.part" "{learned}/$1"\n'
    )
    dovecot.on_change(
        'require ["vnd.dovecot.pipe", "copy"];\npipe :copy "learn" ["spam"];\n', to="Junk"
    )
    dovecot.on_change(
        """require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment"];
if environment :is "imap.mailbox" "Trash" { stop; }
pipe :copy "learn" ["ham"];
""",
        origin="Junk",
    )
    dovecot.deliver(RAW)
    with dovecot.login() as connection:
        connection.select("INBOX")
        connection.uid("MOVE", "1", "Junk")
        until((learned / "spam").exists, "the message in Junk is learned")
        assert (learned / "spam").read_bytes() == CRLF
        connection.select("Junk")
        connection.uid("COPY", "1", "Trash")
        assert not (learned / "ham").exists()
        connection.uid("MOVE", "1", "INBOX")
        until((learned / "ham").exists, "the message back in INBOX is learned")
    assert dovecot.messages() == [RAW]


def test_dovecot_filters_on_delivery(dovecot: Dovecot) -> None:
    dovecot.script("mark", MARK)
    dovecot.on_delivery(
        """require ["vnd.dovecot.filter", "fileinto"];
filter "mark";
if header :is "X-Mark" "yes" { fileinto "Junk"; stop; }
"""
    )
    dovecot.deliver(RAW)
    assert dovecot.messages() == []
    (message,) = dovecot.messages("Junk")
    assert message.replace(b"\r\n", b"\n") == b"X-Mark: yes\n" + RAW


def test_dovecot_asks_on_delivery(dovecot: Dovecot) -> None:
    dovecot.script("good", "#!/bin/sh\n! grep -q pills\n")
    dovecot.on_delivery(
        """require ["vnd.dovecot.execute", "fileinto"];
if not execute :pipe "good" { fileinto "Junk"; stop; }
"""
    )
    dovecot.deliver(RAW)
    dovecot.deliver(RAW.replace(b"pills", b"books"))
    assert dovecot.messages("Junk") == [RAW]
    assert len(dovecot.messages()) == 1


def test_dovecot_can_start_genus(dovecot: Dovecot) -> None:
    text = f"#!/bin/sh\necho X-Mark: $({dovecot.genus()} --version) && exec cat\n"
    dovecot.script("mark", text)
    dovecot.on_delivery('require "vnd.dovecot.filter";\nfilter "mark";\n')
    dovecot.deliver(RAW)
    assert dovecot.messages()[0].startswith(f"X-Mark: genus, version {__version__}".encode())


# Postfix


def test_postfix_delivers_through_a_filter(postfix: Postfix) -> None:
    postfix.deliver(RAW)
    postfix.messages(1)
    postfix.filter_with(
        """#!/bin/sh
(echo 'X-Mark: yes' && cat) | /usr/sbin/sendmail -G -i "$@"
"""
    )
    postfix.deliver(RAW)
    postfix.messages(2)
    postfix.deliver(RAW, filtered=False)
    marks = sorted(message.count(b"X-Mark: yes") for message in postfix.messages(3))
    assert marks == [0, 0, 1]
    assert all(b"Cheap pills" in message for message in postfix.messages())
    assert "relay=filter" in postfix.said()


def test_postfix_tries_again(postfix: Postfix) -> None:
    tried = postfix.space("tried")
    text = f"#!/bin/sh\n[ -e {tried}/once ] || {{ touch {tried}/once; exit 75; }}\n"
    postfix.filter_with(text + 'exec /usr/sbin/sendmail -G -i "$@"\n')
    postfix.deliver(RAW)
    assert len(postfix.messages(1, seconds=60)) == 1
    assert "status=deferred" in postfix.said()


# PostgreSQL


def test_postgres(postgres: Postgres, database: str) -> None:
    postgres.execute("create table word (name text, n bigint)", database)
    postgres.execute("insert into word values ('kölsch', 3), ('x', 1)", database)
    assert postgres.execute("select name, n from word order by n", database) == "x|1\nkölsch|3"
    assert postgres.execute("select 1", postgres.socket_url) == "1"
    assert postgres.execute("show fsync") == "off"
    with pytest.raises(subprocess.CalledProcessError):
        postgres.execute("select name from word")


def test_postgres_survives_a_crash() -> None:
    with Postgres(durable=True) as server:
        server.start()
        assert server.execute("show fsync") == "on"
        server.execute("create table word as select 1 as n")
        server.stop(signal.SIGKILL)
        server.start()
        assert server.execute("select n from word") == "1"


# Programs


PROCMAIL = """SHELL=/bin/sh
MAILDIR={folder}
DEFAULT={folder}/inbox/

:0 fw
| {folder}/mark

:0
* ^X-Mark: yes
junk/
"""

MAILDROP = """SHELL="/bin/sh"
DEFAULT="{folder}/inbox"
xfilter "{folder}/mark"
if (/^X-Mark: yes/)
{{
    to "{folder}/junk"
}}
"""

RECIPES = [(servers.procmail, PROCMAIL), (servers.maildrop, MAILDROP)]


@pytest.mark.parametrize(("deliver", "recipe"), RECIPES, ids=["procmail", "maildrop"])
def test_recipes(tmp_path: Path, deliver: Callable[..., None], recipe: str) -> None:
    mark = tmp_path / "mark"
    mark.write_text(MARK)
    mark.chmod(0o755)
    for part in ("inbox/tmp", "inbox/new", "inbox/cur", "junk/tmp", "junk/new", "junk/cur"):
        (tmp_path / part).mkdir(parents=True)
    deliver(tmp_path, recipe.format(folder=tmp_path), RAW)
    assert servers.in_maildir(tmp_path / "inbox") == []
    (message,) = servers.in_maildir(tmp_path / "junk")
    assert b"X-Mark: yes\n" in message
    assert b"Cheap pills\n" in message


def test_recipe_for_a_filter_that_fails(tmp_path: Path) -> None:
    """Procmail keeps the message as it was."""
    mark = tmp_path / "mark"
    mark.write_text("#!/bin/sh\nhead -c 9\nexit 1\n")
    mark.chmod(0o755)
    servers.procmail(tmp_path, PROCMAIL.format(folder=tmp_path), RAW)
    (message,) = servers.in_maildir(tmp_path / "inbox")
    assert message.endswith(RAW)


def test_program_that_is_missing() -> None:
    program("sh")
    with pytest.raises(pytest.skip.Exception, match="run scripts/install-mail"):
        program("no-such-program")


def test_spamc_says_how() -> None:
    assert b"-d, --dest" in run(program("spamc"), "-h")


def test_bogofilter_learns(tmp_path: Path) -> None:
    bogofilter = program("bogofilter")
    run(bogofilter, "-d", tmp_path, "-s", stdin=RAW)
    run(bogofilter, "-d", tmp_path, "-n", stdin=RAW.replace(b"Cheap pills", b"Good books"))
    dump = run(program("bogoutil"), "-d", tmp_path / "wordlist.db").decode()
    assert re.search(r"^pills 1 0 \d{8}$", dump, re.M)
    assert re.search(r"^\.MSG_COUNT 1 1 \d{8}$", dump, re.M)


# Nothing remains


@pytest.mark.parametrize("kind", [Dovecot, Postfix, Postgres])
def test_nothing_remains(kind: type[servers.Server]) -> None:
    with kind() as server:
        server.start()
        assert server.process is not None
        members = servers.family(server.process.pid)
        assert len(members) > 1
    assert servers.alive(members) == set()
    assert not server.folder.exists()


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import servers
server = servers.{kind}()
server.start()
print(server.folder, *[pid for pid, _ in servers.family(server.process.pid)], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", [Dovecot, Postfix, Postgres])
def test_nothing_remains_when_killed(kind: type[servers.Server]) -> None:
    with kind():
        pass  # it is there, or the test is skipped
    code = KILLED.format(tests=str(Path(__file__).parent), kind=kind.__name__)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    folder, *pids = done.stdout.decode().split()
    until(lambda: not set(map(int, pids)) & set(servers.processes()), "all have ended")
    shutil.rmtree(folder)


def test_children_are_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    names = {line.partition("=")[0] for line in run(program("env")).decode().splitlines()}
    assert names == {"PATH", "HOME", "LANG"}
