"""docs/mail.md and docs/mail-server.md are true: sessions print what is shown, recipes deliver.

`python tests/test_mail_recipes.py` runs the sessions anew and writes what they print to the pages.
"""

from __future__ import annotations

import os
import pty
import pwd
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import servers
from genus.mail import charsets, identity, message
from genus.mail.boxes import messages_at
from genus.mail.judgement import FEWEST, GROWTH, HAM_LOSS
from genus.mail.marking import mark
from genus.mail.message import LIMITS
from genus.mail.privacy import open_to_others
from genus.mail.spamd.filters import MOST_USERS
from genus.mail.spamd.worker import Limits
from genus.mail.spamfilter import BATCH, MOST_HALVINGS, MOST_LESSONS, SpamFilter
from genus.mail.tokens import GROUPS, IN_TEXT, MOST_LINKS, MOST_OTHERS, MOST_TOKENS, MOST_WORDS
from scope import nightly
from servers import HOST, MAIL_GROUP, MAIL_USER, Dovecot, Postfix, Server, in_maildir, program
from servers import run as run_program

pytest_plugins = ("servers",)

ROOT = Path(__file__).parents[1]
PAGE, SERVER_PAGE = ROOT / "docs" / "mail.md", ROOT / "docs" / "mail-server.md"
DEPLOY = ROOT / "deploy"
EXAMPLES = ROOT / "examples" / "mail"
COMMAND, STORE = "/usr/local/bin/genus", "/var/lib/genus/mail.sqlite"
OWN_STORE = ".local/share/genus/mail.sqlite"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
FAILING = "#!/bin/sh\nhead -c 9\necho broken >&2\nexit 1\n"
FRACTION = re.compile(r"[+-]?\d+\.\d+(?:e-\d+)?")
MARKED = re.compile(rb"^X-Genus: (\w+); probability=", re.M)


# The page


def section(title: str) -> str:
    """What stands under a heading."""
    text = PAGE.read_text(encoding="utf-8") + SERVER_PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", text, re.M | re.S)
    assert found is not None, f"the page has no heading {title}"
    return found[1]


def recipe(title: str, number: int = 0, **changes: object) -> str:
    """A block of code under a heading; changes are said as names of constants below."""
    text = BLOCK.findall(section(title))[number][1]
    for name, value in changes.items():
        old = PATHS[name]
        assert old in text, f"{title}: no {old} in\n{text}"
        text = text.replace(old, str(value))
    return text


PATHS = {
    "command": COMMAND,
    "client": "/usr/local/bin/genus-client",
    "port": "127.0.0.1:8895",
    "genus": "genus mail",
    "user": "--user genus ",
    "trust": "--trust vmail",
    "users": "/var/lib/genus/users",
    "home": "$HOME",
    "store": STORE,
    "socket": "/run/genus/socket",
    "sieve": "/etc/dovecot/sieve",
    "postfix_filter": "/usr/local/lib/genus/postfix-filter",
    "postfix_user": "user=genus ",
    "postfix_smtp": "smtp      inet  n       -       y ",
    "spamc": "spamc ",
    "milter": "spamass-milter ",
    "milter_socket": "/var/spool/postfix/spamass/spamass.sock",
    "milter_inside": "unix:/spamass/spamass.sock",
    "imap": "poll imap.example.org protocol imap",
    "imap_user": '"ann"',
    "tls": " ssl\n",
    "procmail": "/usr/bin/procmail",
    "maildir": "~/Maildir",
    "kill": "/bin/kill",
}


def genus_in(folder: Path) -> Path:
    """A command `genus` that is this one, for who is at home in that folder."""
    path = folder / "genus"
    # Some programs put the home of the account in place of HOME.
    path.write_text(f'#!/bin/sh\nHOME="{folder}" exec "{sys.executable}" -m genus.cli "$@"\n')
    path.chmod(0o755)
    return path


def test_figures_of_the_page() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for what, number in (
        ("bytes of a message", LIMITS.size),
        ("bytes of the headers of a message", LIMITS.head),
        ("bytes of the headers of all parts together", LIMITS.head),
        ("lines of headers, folded ones as one", message.MOST_LINES),
        ("headers", LIMITS.headers),
        ("encoded words of a header", charsets.MOST_WORDS),
        ("headers in the digest of a message", identity.MOST),
        ("bytes of a header in the digest", identity.LONGEST),
        ("words that are an opening", IN_TEXT.opening_size),
        ("different links of a text, tags and attributes of a page", MOST_LINKS),
        ("different tokens of a message", MOST_TOKENS),
        ("characters of one header", LIMITS.header),
        ("parts", LIMITS.parts),
        ("levels of parts in parts", LIMITS.depth),
        ("characters of all texts together; of HTML, the visible ones", LIMITS.text),
        ("characters that HTML hides, of all texts together", LIMITS.text),
        ("bytes of HTML in UTF-7, UTF-16, UTF-32, HZ, ISO-2022 or Johab", charsets.PIECE),
    ):
        assert f"| {what} | {number:,} |" in text
    words = f"{MOST_WORDS:,} words, {MOST_WORDS:,} pairs and {MOST_OTHERS} of every other group"
    assert f"| {words} are kept, taken in turn from the beginning of each text; noted |" in text
    assert f"fewer than {FEWEST} messages of either class" in text
    assert f"ham loss of {HAM_LOSS * 100:g} %" in text
    assert f"at most {MOST_LESSONS:,} messages" in text
    assert f"batch of up to {BATCH:,} messages is one transaction" in text
    assert MOST_HALVINGS == 8
    assert "after nine half-lives it is forgotten" in text
    assert GROWTH == 0.1
    assert "a tenth of the store has changed" in text


def test_groups_of_the_page() -> None:
    rows = re.findall(r"^\| ([a-z, ]+) \|", section("How it decides"), re.M)
    named = {name for row in rows for name in row.split(", ")}
    assert set(GROUPS) <= named


# The session


def session(page: str) -> list[tuple[str, str]]:
    """The commands of all its console blocks, and what is shown of each."""
    blocks = [text for language, text in BLOCK.findall(page) if language == "console"]
    pieces = re.split(r"^\$ (.*)\n", "".join(blocks), flags=re.M)[1:]
    return list(zip(pieces[::2], pieces[1::2], strict=True))


def printed(commands: list[str], folder: Path) -> list[str]:
    """What each prints, one after the other in one shell."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    genus_in(bin_folder)
    shutil.copytree(EXAMPLES, folder / "examples" / "mail")
    script = "\n".join(f"{command}\nprintf '\\036'" for command in commands)
    told = subprocess.run(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8"},
        timeout=300,
    ).stdout.decode()
    assert told.count("\x1e") == len(commands), told
    return told.split("\x1e")[:-1]


def alike(shown: str, told: str) -> bool:
    """The same words and whole numbers, and other numbers nearly."""
    words = [FRACTION.sub("#", " ".join(each.split())) for each in (shown, told)]
    numbers = [[float(number) for number in FRACTION.findall(each)] for each in (shown, told)]
    return words[0] == words[1] and all(map(nearly, *numbers))


def nearly(one: float, two: float) -> bool:
    return abs(one - two) <= 0.02 + 0.05 * max(abs(one), abs(two))


@pytest.mark.parametrize("page", [PAGE, SERVER_PAGE], ids=lambda page: page.stem)
def test_session(tmp_path: Path, page: Path) -> None:
    shown = session(page.read_text(encoding="utf-8"))
    told = printed([command for command, _ in shown], tmp_path)
    for (command, expected), found in zip(shown, told, strict=True):
        hint = "python tests/test_mail_recipes.py writes the page anew"
        assert alike(expected, found), f"$ {command}\n{found}\nis not\n{expected}\n{hint}"


def refreshed(page: str, folder: Path) -> str:
    """The page with what its session prints now."""
    told = iter(printed([command for command, _ in session(page)], folder))

    def block(found: re.Match[str]) -> str:
        if found[1] != "console":
            return found[0]
        commands = re.findall(r"^\$ .*\n", found[2], re.M)
        return "```console\n" + "".join(each + next(told) for each in commands) + "```"

    return BLOCK.sub(block, page)


def test_what_can_be_told_apart() -> None:
    assert alike("ham  0.001  -7.25 x", "ham 0.0011 -7.2 x")
    assert not alike("32 ham", "31 ham")
    assert not alike("+0.5 words", "-0.5 words")
    assert alike(
        "X-Genus: spam; probability=0.99; score=9.1", "X-Genus: spam; probability=0.98; score=9.2"
    )


# Mail for the recipes


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that has learned the examples; to be copied."""
    path = tmp_path_factory.mktemp("learned") / "mail.sqlite"
    spam_filter = SpamFilter.open(path)
    for name in ("spam", "ham"):
        found = messages_at(str(EXAMPLES / f"{name}.mbox"))
        spam_filter.learn((raw for _, raw in found), name == "spam")
    spam_filter.close()
    return path


@pytest.fixture(scope="module")
def ham() -> bytes:
    return next(messages_at(str(EXAMPLES / "new.mbox")))[1]


@pytest.fixture(scope="module")
def spam() -> bytes:
    return [raw for _, raw in messages_at(str(EXAMPLES / "new.mbox"))][1]


def put(store: Path, place: Path) -> Path:
    """Copy a store; the mail user owns it, and the folders that are made for it."""
    for folder in reversed([place.parent, *place.parent.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700)
            os.chown(folder, MAIL_USER.pw_uid, MAIL_USER.pw_gid)
    shutil.copyfile(store, place)
    place.chmod(0o600)
    os.chown(place, MAIL_USER.pw_uid, MAIL_USER.pw_gid)
    return place


def label(store: Path, raw: bytes) -> str | None:
    spam_filter = SpamFilter.open(store, create=False)
    try:
        return spam_filter.label(raw)
    finally:
        spam_filter.close()


def verdict_on(raw: bytes) -> str | None:
    """What the one header of ours says."""
    found = MARKED.findall(raw)
    assert len(found) < 2
    return found[0].decode() if found else None


def lines(raw: bytes) -> list[bytes]:
    return raw.replace(b"\r\n", b"\n").splitlines()


def holds(delivered: bytes, sent: bytes) -> bool:
    """Whether all of a message is in another one, in its order: servers only add."""
    rest = iter(lines(delivered))
    wanted = [line for line in lines(sent) if not line.lower().startswith((b"return-path:",))]
    return all(any(line == each for each in rest) for line in wanted)


# procmail and maildrop


def maildirs(folder: Path) -> Path:
    for part in ("Maildir", "Maildir/.Junk"):
        for name in ("tmp", "new", "cur"):
            (folder / part / name).mkdir(parents=True)
    return folder / "Maildir"


FILTERS = pytest.mark.parametrize("name", ["procmail", "maildrop"])


@FILTERS
def test_procmail_and_maildrop(
    tmp_path: Path, name: str, learned: Path, ham: bytes, spam: bytes
) -> None:
    deliver: Callable[..., None] = getattr(servers, name)
    maildir = maildirs(tmp_path)
    shutil.copytree(learned.parent, (tmp_path / OWN_STORE).parent)
    text = recipe(name, command=genus_in(tmp_path), home=tmp_path)
    forged = b"X-Genus: ham; probability=0.1; score=-9\n" + spam
    for raw in (ham, forged):
        deliver(tmp_path, text, raw)
    (kept,), (caught,) = in_maildir(maildir), in_maildir(maildir / ".Junk")
    assert verdict_on(kept) == "ham"
    assert holds(kept, ham)
    assert verdict_on(caught) == "spam"
    assert holds(caught, spam)


def test_procmail_in_an_empty_home(tmp_path: Path, learned: Path, ham: bytes, spam: bytes) -> None:
    (home := tmp_path / "home").mkdir()
    store = shutil.copyfile(learned, tmp_path / "mail.sqlite")
    text = recipe("procmail", command=genus_in(tmp_path), home=home)
    text = text.replace("mail filter", f"mail filter --store {store}")
    for raw in (spam, ham):
        servers.procmail(home, text, raw)
    assert {path.name for path in home.iterdir()} == {".procmailrc", "Maildir"}
    assert [verdict_on(raw) for raw in in_maildir(home / "Maildir" / ".Junk")] == ["spam"]
    assert [verdict_on(raw) for raw in in_maildir(home / "Maildir")] == ["ham"]


def test_procmail_with_the_server_in_an_empty_home(
    tmp_path: Path, serving: Serve, spam: bytes
) -> None:
    client = client_in(serving.folder)
    text = recipe("procmail with the server", client=client, socket=serving.socket, home=tmp_path)
    servers.procmail(tmp_path, text, spam)
    assert {path.name for path in tmp_path.iterdir()} == {".procmailrc", "Maildir"}
    assert [verdict_on(raw) for raw in in_maildir(tmp_path / "Maildir" / ".Junk")] == ["spam"]


@FILTERS
@pytest.mark.parametrize("trouble", ["fails", "missing", "no store"])
def test_procmail_and_maildrop_lose_nothing(
    tmp_path: Path, name: str, trouble: str, spam: bytes
) -> None:
    deliver: Callable[..., None] = getattr(servers, name)
    maildir = maildirs(tmp_path)
    genus = genus_in(tmp_path)
    if trouble == "fails":
        genus.write_text(FAILING)
    elif trouble == "missing":
        genus.unlink()
    deliver(tmp_path, recipe(name, command=genus, home=tmp_path), spam)
    (kept,) = in_maildir(maildir)
    assert verdict_on(kept) is None
    assert holds(kept, spam)


# Dovecot


def test_sieve_files_what_is_marked(
    dovecot: Dovecot, learned: Path, ham: bytes, spam: bytes
) -> None:
    dovecot.on_delivery(recipe("Sieve"))
    spam_filter = SpamFilter.open(learned, create=False)
    for raw in (ham, spam):
        dovecot.deliver(mark(raw, spam_filter.check(raw)))
    spam_filter.close()
    dovecot.deliver(spam)
    # Names of files are no order of arrival.
    assert Counter(map(verdict_on, dovecot.messages())) == {"ham": 1, None: 1}
    assert [verdict_on(raw) for raw in dovecot.messages("Junk")] == ["spam"]


ON_DELIVERY = "Dovecot: mark and file on delivery"
ON_MOVE = "Dovecot: learn from what is moved into Junk and out of it"


class DovecotOfThePage(Dovecot):
    """Dovecot with the page's settings and scripts, in a folder of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.command_of_genus = self.genus()
        self.script("genus-filter", recipe(ON_DELIVERY, 1, command=self.command_of_genus))
        self.script("genus-learn", recipe(ON_MOVE, 2, command=self.command_of_genus))
        (self.scripts / "bin").symlink_to(self.folder / "bin")
        for path, text in (
            ("delivery.d/genus.sieve", recipe(ON_DELIVERY)),
            ("learn-spam.sieve", recipe(ON_MOVE)),
            ("learn-ham.sieve", recipe(ON_MOVE, 1)),
        ):
            self.compiled(self.scripts / path, text)

    def of_2_3(self) -> tuple[str, str]:
        return super().of_2_3()[0], recipe(ON_MOVE, 3, sieve=self.scripts)

    def of_2_4(self) -> tuple[str, str]:
        return super().of_2_4()[0], recipe(ON_MOVE, 4, sieve=self.scripts)


@pytest.fixture
def taught(learned: Path) -> Iterator[DovecotOfThePage]:
    with DovecotOfThePage() as server:
        put(learned, server.home / OWN_STORE)
        server.start()
        yield server


def test_dovecot_marks_and_files(taught: DovecotOfThePage, ham: bytes, spam: bytes) -> None:
    for raw in (ham, b"X-Genus: ham; probability=0.1; score=-9\n" + spam):
        taught.deliver(raw)
    (kept,), (caught,) = taught.messages(), taught.messages("Junk")
    assert (verdict_on(kept), verdict_on(caught)) == ("ham", "spam")
    assert holds(kept, ham)
    assert holds(caught, spam)


def test_dovecot_marks_and_files_what_comes_by_lmtp(
    taught: DovecotOfThePage, ham: bytes, spam: bytes
) -> None:
    for raw in (ham, spam):
        taught.deliver_by_lmtp(raw)
    (kept,), (caught,) = taught.messages(), taught.messages("Junk")
    assert (verdict_on(kept), verdict_on(caught)) == ("ham", "spam")


def test_the_page_compiles_each_script_after_the_settings() -> None:
    named = re.findall(r"^sievec /etc/dovecot/sieve/(.*)$", recipe(ON_MOVE, 5), re.M)
    assert named == ["delivery.d/genus.sieve", "learn-spam.sieve", "learn-ham.sieve"]


@pytest.mark.parametrize("trouble", ["fails", "missing", "no store"])
def test_dovecot_loses_nothing(taught: DovecotOfThePage, trouble: str, spam: bytes) -> None:
    if trouble == "no store":
        (taught.home / OWN_STORE).unlink()
    elif trouble == "fails":
        taught.script("genus", FAILING)
    else:
        taught.command_of_genus.unlink()
    taught.deliver(spam)
    (kept,) = taught.messages()
    assert verdict_on(kept) is None
    assert holds(kept, spam)


def test_dovecot_learns_from_moves(taught: DovecotOfThePage, ham: bytes, spam: bytes) -> None:
    store = taught.home / OWN_STORE
    taught.deliver(ham)
    taught.deliver(spam)
    with taught.login() as connection:
        connection.select("INBOX")
        assert connection.uid("MOVE", "1", "Junk")[0] == "OK"
        assert label(store, ham) == "spam"
        connection.select("Junk")
        _, (numbers,) = connection.uid("SEARCH", "HEADER", "Subject", "Agenda")
        assert connection.uid("COPY", numbers, "Trash")[0] == "OK"
        assert label(store, ham) == "spam"
        assert connection.uid("MOVE", numbers, "INBOX")[0] == "OK"
        assert label(store, ham) == "ham"
    assert label(store, spam) is None  # filed on delivery, which teaches nothing


def test_dovecot_moves_whatever_learning_does(taught: DovecotOfThePage, ham: bytes) -> None:
    taught.deliver(ham)
    taught.script("genus", FAILING)
    with taught.login() as connection:
        connection.select("INBOX")
        assert connection.uid("MOVE", "1", "Junk")[0] == "OK"
    assert taught.messages() == []
    assert len(taught.messages("Junk")) == 1
    assert label(taught.home / OWN_STORE, ham) is None


# Postfix


class PostfixOfThePage(Postfix):
    """Postfix with the services of the page."""

    def services(self) -> str:
        mine = recipe(
            "Postfix: a filter for all mail that comes in",
            postfix_smtp=f"{HOST}:{self.port} inet n - n ",
            postfix_user=f"user={MAIL_USER.pw_name}:{MAIL_GROUP.gr_name} ",
            postfix_filter=self.folder / "bin" / "filter",
        )
        others = re.sub(r"(?m)^filter .*\n( .*\n)*", "", super().services())
        return mine + others.replace(f"{HOST}:{self.port} inet n - n - - smtpd\n", "").replace(
            "  -o content_filter=filter:dummy\n", "", 1
        )


@pytest.fixture
def filtering() -> Iterator[PostfixOfThePage]:
    with PostfixOfThePage() as server:
        server.start()
        yield server


def script_of(server: Postfix, store: Path) -> str:
    return recipe(
        "Postfix: a filter for all mail that comes in", 1, command=server.genus(), store=store
    )


def test_postfix(filtering: PostfixOfThePage, learned: Path, ham: bytes, spam: bytes) -> None:
    store = put(learned, filtering.space("store") / "mail.sqlite")
    filtering.filter_with(script_of(filtering, store))
    for raw, verdict in ((ham, "ham"), (spam, "spam")):
        filtering.deliver(raw)
        delivered = filtering.arrival()
        assert verdict_on(delivered) == verdict
        assert holds(delivered, raw)
    assert "relay=genus" in filtering.said()


@pytest.mark.parametrize("trouble", ["fails", "missing", "no store"])
def test_postfix_loses_nothing(filtering: PostfixOfThePage, trouble: str, spam: bytes) -> None:
    filtering.filter_with(script_of(filtering, filtering.space("store") / "mail.sqlite"))
    if trouble == "fails":
        filtering.script("genus", FAILING)
    elif trouble == "missing":
        (filtering.folder / "bin" / "genus").unlink()
    filtering.deliver(spam)
    (delivered,) = filtering.messages(1)
    assert verdict_on(delivered) is None
    assert holds(delivered, spam)


WITH_SERVER = "Postfix with a server"


def started_by(unit: str, *changes: tuple[str, object]) -> list[str]:
    """The command that a unit starts, with this genus."""
    text = (DEPLOY / "systemd" / unit).read_text(encoding="utf-8")
    line = re.findall(r"^ExecStart=(.*)$", text, re.M)[0]
    for old, new in changes:
        assert old in line
        line = line.replace(old, str(new))
    return [sys.executable, "-m", "genus.cli", *shlex.split(line.removeprefix(COMMAND))]


def as_root(command: list[str]) -> list[str]:
    return [*command, "--user", "root"] if servers.ROOT else command


def client_in(folder: Path) -> Path:
    """A copy of genus-client where all users can start it."""
    found = shutil.which("genus-client", path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip("genus-client is not installed beside this Python")
    return Path(shutil.copy(found, folder / "genus-client"))


class Serve(Server):
    """genus mail serve, as the unit starts it."""

    def __init__(self, learned: Path) -> None:
        program("spamc")
        super().__init__()
        self.socket = self.folder / "socket"
        self.store = self.folder / "mail.sqlite"
        shutil.copyfile(learned, self.store)

    def command(self) -> list[str]:
        changes = (("/run/genus/socket", self.socket), (STORE, self.store))
        command = started_by("genus.service", *changes)
        command[command.index("660")] = "666"  # Postfix's filter is nobody's here
        return as_root(command)

    def ready(self) -> bool:
        return "Listening on" in self.said()


@pytest.fixture
def serving(learned: Path) -> Iterator[Serve]:
    with Serve(learned) as server:
        server.start()
        yield server


def test_postfix_with_the_client(
    filtering: PostfixOfThePage, serving: Serve, ham: bytes, spam: bytes
) -> None:
    client = client_in(serving.folder)
    filtering.filter_with(recipe(WITH_SERVER, socket=serving.socket, client=client))
    for raw, verdict in ((ham, "ham"), (spam, "spam")):
        filtering.deliver(raw)
        delivered = filtering.arrival()
        assert verdict_on(delivered) == verdict
        assert holds(delivered, raw)
    serving.stop()
    filtering.deliver(spam)
    delivered = filtering.arrival()
    assert verdict_on(delivered) is None
    assert holds(delivered, spam)


def test_spamc_teaches(serving: Serve, tmp_path: Path, ham: bytes) -> None:
    (tmp_path / "message.eml").write_bytes(ham)
    commands = recipe("spamc", socket=serving.socket, spamc=f"{program('spamc')} ")
    for command, expected in zip(commands.splitlines(), ("spam", "ham", None), strict=True):
        # spamc -L ends with 5 or 6 when it has learned, or known.
        subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, timeout=60, capture_output=True)
        assert label(serving.store, ham) == expected


class Milter(Server):
    """spamass-milter, as the page starts it."""

    account = "postfix"

    def __init__(self, serving: Serve) -> None:
        self.program = program("spamass-milter")
        super().__init__()
        os.chown(self.folder, pwd.getpwnam(self.account).pw_uid, -1)
        self.serving = serving
        self.socket = self.folder / "spamass.sock"

    def command(self) -> list[str]:
        text = recipe(
            "Postfix with spamass-milter",
            milter=f"{self.program} ",
            milter_socket=self.socket,
            socket=self.serving.socket,
        )
        return shlex.split(text)

    def ready(self) -> bool:
        return self.socket.exists()


class PostfixWithMilter(Postfix):
    """Postfix with the page's settings for a milter, and no other filter."""

    def __init__(self, milter: Milter) -> None:
        self.milter = milter
        super().__init__()

    def main(self) -> str:
        settings = recipe(
            "Postfix with spamass-milter", 1, milter_inside=f"unix:{self.milter.socket}"
        )
        return super().main() + settings


@nightly  # test_mail_milter tests the milter of genus itself
def test_postfix_with_spamass_milter(serving: Serve, ham: bytes, spam: bytes) -> None:
    with Milter(serving) as milter, PostfixWithMilter(milter) as postfix:
        milter.start()
        postfix.start()
        for raw, is_spam in ((ham, False), (spam, True)):
            postfix.deliver(raw)
            delivered = postfix.arrival()
            assert (b"\nX-Spam-Flag: YES\n" in delivered) == is_spam, delivered
            assert holds(delivered, raw)
        serving.stop()
        postfix.deliver(spam)
        assert b"X-Spam-Flag" not in postfix.arrival()
        milter.stop()
        postfix.deliver(spam)
        assert holds(postfix.arrival(), spam)


class GenusMilter(Server):
    """genus mail milter, as the page starts it."""

    def __init__(self, learned: Path) -> None:
        super().__init__()
        self.address = f"{HOST}:{servers.free_port()}"
        self.store = self.folder / "mail.sqlite"
        shutil.copyfile(learned, self.store)

    def command(self) -> list[str]:
        unit = started_by(
            "genus-milter.service", ("127.0.0.1:8895", self.address), (STORE, self.store)
        )
        by_hand = recipe(
            "Postfix or Sendmail with the milter",
            port=self.address,
            store=self.store,
            genus=f"{sys.executable} -m genus.cli mail",
            user="",
        )
        assert sorted(shlex.split(by_hand)) == sorted(unit)
        return as_root(unit)

    def ready(self) -> bool:
        return "Listening on" in self.said()


class PostfixWithGenusMilter(Postfix):
    """Postfix with the page's settings for this milter, and no other filter."""

    def __init__(self, milter: GenusMilter) -> None:
        self.milter = milter
        super().__init__()

    def main(self) -> str:
        title = "Postfix or Sendmail with the milter"
        return super().main() + recipe(title, 1, port=self.milter.address)

    def services(self) -> str:
        return super().services().replace("  -o content_filter=filter:dummy\n", "", 1)


def test_postfix_with_the_milter(learned: Path, ham: bytes, spam: bytes) -> None:
    with GenusMilter(learned) as milter, PostfixWithGenusMilter(milter) as postfix:
        milter.start()
        postfix.start()
        for raw, verdict in ((ham, "ham"), (spam, "spam")):
            postfix.deliver(raw)
            delivered = postfix.arrival()
            assert verdict_on(delivered) == verdict
            assert holds(delivered, raw)
        milter.stop()
        postfix.deliver(spam)
        assert holds(postfix.arrival(), spam)


@FILTERS
def test_procmail_and_maildrop_with_the_server(
    tmp_path: Path, name: str, serving: Serve, ham: bytes, spam: bytes
) -> None:
    deliver: Callable[..., None] = getattr(servers, name)
    maildir = maildirs(tmp_path)
    client = client_in(serving.folder)
    text = recipe(f"{name} with the server", client=client, socket=serving.socket, home=tmp_path)
    for raw in (ham, b"X-Genus: ham; probability=0.1; score=-9\n" + spam):
        deliver(tmp_path, text, raw)
    (kept,), (caught,) = in_maildir(maildir), in_maildir(maildir / ".Junk")
    assert (verdict_on(kept), verdict_on(caught)) == ("ham", "spam")
    assert holds(kept, ham)
    assert holds(caught, spam)
    serving.stop()
    deliver(tmp_path, text, spam)
    assert sorted(map(str, map(verdict_on, in_maildir(maildir)))) == ["None", "ham"]


class ServeUsers(Serve):
    """genus mail serve for many users, as the page starts it."""

    def command(self) -> list[str]:
        text = recipe(
            "Many users",
            genus=f"{sys.executable} -m genus.cli mail",
            socket=self.socket,
            users=self.folder / "users",
            store=self.store,
            trust=f"--trust {MAIL_USER.pw_name}",
        )
        return as_root(shlex.split(text))


def test_dovecot_with_the_server(
    taught: DovecotOfThePage, learned: Path, ham: bytes, spam: bytes
) -> None:
    with ServeUsers(learned) as serving:
        serving.start()
        client = client_in(serving.folder)
        for number, name in enumerate(("genus-filter", "genus-learn")):
            changes = {"client": client, "socket": serving.socket}
            taught.script(name, recipe("Dovecot with the server", number, **changes))
        taught.deliver(ham)
        taught.deliver_by_lmtp(spam)
        (kept,), (caught,) = taught.messages(), taught.messages("Junk")
        assert (verdict_on(kept), verdict_on(caught)) == ("ham", "spam")
        with taught.login() as connection:
            connection.select("INBOX")
            assert connection.uid("MOVE", "1", "Junk")[0] == "OK"
        assert label(serving.folder / "users" / f"{taught.user}.sqlite", ham) == "spam"
        assert label(serving.store, ham) is None


# Other programs


def test_fetchmail(
    dovecot: Dovecot, tmp_path: Path, learned: Path, ham: bytes, spam: bytes
) -> None:
    fetchmail, procmail = program("fetchmail"), program("procmail")
    maildir = maildirs(tmp_path)
    shutil.copytree(learned.parent, (tmp_path / OWN_STORE).parent)
    rules = tmp_path / ".procmailrc"
    rules.write_text(recipe("procmail", command=genus_in(tmp_path), home=tmp_path))
    deliver = tmp_path / "procmail"  # it looks for them at the home of the account
    deliver.write_text(f'#!/bin/sh\nexec {procmail} "$@" {rules}\n')
    deliver.chmod(0o755)
    settings = tmp_path / ".fetchmailrc"
    settings.write_text(
        recipe(
            "fetchmail",
            imap=f"poll {HOST} protocol imap service {dovecot.port}",
            imap_user=f'"{dovecot.user}"',
            tls=" sslproto ''\n",
            procmail=deliver,
        )
    )
    settings.chmod(0o600)
    for raw in (ham, spam):
        dovecot.deliver(raw)
    run_program(fetchmail, "-f", settings, "--pidfile", tmp_path / "pid", home=tmp_path)
    assert dovecot.messages() == []
    (kept,), (caught,) = in_maildir(maildir), in_maildir(maildir / ".Junk")
    assert (verdict_on(kept), verdict_on(caught)) == ("ham", "spam")
    assert holds(kept, ham)
    assert holds(caught, spam)


def in_terminal(command: list[str], home: Path, seconds: float = 60) -> None:
    """Run a program that wants a terminal, until it ends."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.chdir(home)
            os.execve(command[0], command, servers.environment(home) | {"TERM": "vt100"})
        finally:
            os._exit(127)
    told = b""
    try:
        while select.select([terminal], [], [], seconds)[0]:
            try:
                told += os.read(terminal, 65_536)
            except OSError:  # it has ended
                return
        raise TimeoutError(f"{command[0]} waits for {told[-500:]!r}")
    finally:
        os.close(terminal)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_mutt(tmp_path: Path, ham: bytes, spam: bytes) -> None:
    mutt = program("mutt")
    maildir = maildirs(tmp_path)
    store = tmp_path / OWN_STORE
    (maildir / "cur" / "1.x:2,S").write_bytes(spam)
    settings = tmp_path / ".muttrc"
    settings.write_text(
        recipe("mutt", command=genus_in(tmp_path), maildir=maildir)
        + "set mbox_type=Maildir confirmappend=no delete=yes quit=yes move=no\n"
    )
    common = [mutt, "-n", "-F", str(settings)]
    in_terminal([*common, "-f", str(maildir), "-e", r"push \eS<quit>"], tmp_path)
    assert label(store, spam) == "spam"
    assert in_maildir(maildir) == []
    assert len(in_maildir(maildir / ".Junk")) == 1
    in_terminal([*common, "-f", str(maildir / ".Junk"), "-e", r"push \eH<quit>"], tmp_path)
    assert label(store, spam) == "ham"
    assert len(in_maildir(maildir)) == 1


def test_bogofilter(tmp_path: Path) -> None:
    bogofilter = program("bogofilter")
    folder = tmp_path / ".bogofilter"
    folder.mkdir()
    for name, option in (("spam", "-s"), ("ham", "-n")):
        run_program(bogofilter, "-d", folder, "-M", option, "-I", EXAMPLES / f"{name}.mbox")
    command = recipe("Importing from bogofilter")
    genus_in(tmp_path)
    paths = f"{tmp_path}:{Path(program('bogoutil')).parent}:{os.environ['PATH']}"
    told = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": paths, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert re.fullmatch(r"Imported [\d,]+ words of 31 spam and 32 ham\.\n", told)
    spam_filter = SpamFilter.open(tmp_path / OWN_STORE, create=False)
    new = (raw for _, raw in messages_at(str(EXAMPLES / "new.mbox")))
    verdicts = [each.verdict for each in spam_filter.check_many(new)]
    spam_filter.close()
    assert "spam" not in verdicts[::2]
    assert "ham" not in verdicts[1::2]


def shell(command: str, home: Path) -> str:
    """What a command prints for a user of that home, who has genus."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=home,
        env={"PATH": f"{home}:{os.environ['PATH']}", "HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def test_upkeep(tmp_path: Path, learned: Path) -> None:
    (tmp_path / OWN_STORE).parent.mkdir(parents=True)
    shutil.copyfile(learned, tmp_path / OWN_STORE)
    genus = genus_in(tmp_path)
    nothing = "0 messages count for less, 0 were forgotten; the store holds 32 ham and 31 spam.\n"
    at, _, command = recipe("Running it for years", 0, command=genus).partition("  ")
    assert re.fullmatch(r"\d+ \d+ \* \* \*", at)
    assert shell(command, tmp_path) == nothing
    unit = recipe("Running it for years", 1, command=genus)
    (started,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    assert shell(started, tmp_path) == nothing


def test_upkeep_of_many_users(tmp_path: Path, learned: Path) -> None:
    genus_in(tmp_path)
    site = shutil.copyfile(learned, tmp_path / "site.sqlite")
    users = tmp_path / "users"
    users.mkdir()
    for name in ("ann", "bob@example.com"):
        shutil.copyfile(learned, users / f"{name}.sqlite")
    before = site.read_bytes()
    printed = shell(recipe("Letting the users' mail fade", users=users, store=site), tmp_path)
    assert printed.count("the store holds 32 ham and 31 spam.\n") == 2
    assert site.read_bytes() == before


def test_backup(tmp_path: Path, learned: Path, ham: bytes) -> None:
    program("sqlite3")
    store = tmp_path / OWN_STORE
    store.parent.mkdir(parents=True)
    shutil.copyfile(learned, store)
    spam_filter = SpamFilter.open(store)  # its log is not yet in the file
    spam_filter.learn([ham], spam=False)
    shell(recipe("Running it for years", 3), tmp_path)
    spam_filter.close()
    assert label(tmp_path / "mail-backup.sqlite", ham) == "ham"
    assert open_to_others(tmp_path / "mail-backup.sqlite") == []


def test_stores_of_a_site(tmp_path: Path, database: str, spam: bytes) -> None:
    text = recipe("One store or many")
    postgres = "postgresql://genus@db.example.com/mail?owner=ann"
    assert postgres in text
    text = text.replace(postgres, f"{database}?owner=ann").replace("/var/lib/genus", str(tmp_path))
    text = text.replace("/srv/spam", shlex.quote(str(EXAMPLES / "spam.mbox")))
    text = text.replace("/srv/ham", shlex.quote(str(EXAMPLES / "ham.mbox")))
    (tmp_path / "message.eml").write_bytes(spam)
    genus_in(tmp_path)
    learn, check, learn_too = text.strip().splitlines()
    shell(learn, tmp_path)
    assert shell(check, tmp_path).startswith("spam")
    assert shell(learn_too, tmp_path).endswith("The store holds 0 ham and 1 spam.\n")


UNITS = [
    ("Running it for years", 1, "genus-expire.service"),
    ("Running it for years", 2, "genus-expire.timer"),
    ("IMAP, wherever the server is", 1, "genus-watch.service"),
]
SHIPPED = sorted(path.name for path in (DEPLOY / "systemd").iterdir())


@pytest.mark.parametrize(("title", "number", "name"), UNITS, ids=[name for *_, name in UNITS])
def test_units_are_in_order(tmp_path: Path, title: str, number: int, name: str) -> None:
    analyze = program("systemd-analyze")
    genus = genus_in(tmp_path)
    for of, at, path in UNITS:
        text = recipe(of, at).replace(COMMAND, str(genus))
        (tmp_path / path).write_text(text)
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / name)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = [line for line in (done.stdout + done.stderr).splitlines() if "genus" in line]
    assert (done.returncode, told) == (0, [])


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_units_are_in_order_and_hardened(tmp_path: Path, name: str) -> None:
    analyze = program("systemd-analyze")
    genus = genus_in(tmp_path)
    for path in (DEPLOY / "systemd").iterdir():
        (tmp_path / path.name).write_text(path.read_text().replace(COMMAND, str(genus)))
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / name)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = [line for line in (done.stdout + done.stderr).splitlines() if "genus" in line]
    assert (done.returncode, told) == (0, [])
    assert f"`{name}`" in section("Setting up a server") or name == "genus-expire.service"
    if name.endswith(".service"):
        command = [analyze, "security", "--offline=true", "--no-pager", str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if "Unknown" in done.stderr or "unrecognized" in done.stderr:
            pytest.skip("this systemd-analyze does not rate files")
        found = re.search(rf"exposure level for {re.escape(name)}: (\d+\.\d)", done.stdout)
        assert found is not None, done.stderr
        assert float(found[1]) < 2
        rated = re.search(
            r"rates them ([\d.]+), ([\d.]+) and ([\d.]+)", section("Setting up a server")
        )
        assert rated is not None
        order = ["genus.service", "genus-milter.service", "genus-expire.service"]
        assert abs(float(rated[1 + order.index(name)]) - float(found[1])) < 0.5


def test_nightly_commands_of_the_unit(tmp_path: Path, learned: Path) -> None:
    store = Path(shutil.copyfile(learned, tmp_path / "mail.sqlite"))
    genus = genus_in(tmp_path)
    text = (DEPLOY / "systemd" / "genus-expire.service").read_text()
    for command in re.findall(r"^ExecStart=(.*)$", text, re.M):
        shell(command.replace(COMMAND, str(genus)).replace(STORE, str(store)), tmp_path)


def test_settings_of_the_containers() -> None:
    doveconf, postconf = program("doveconf"), program("postconf")
    folder = DEPLOY / "compose"
    if run_program(program("dovecot"), "--version").startswith(b"2.3"):
        run_program(doveconf, "-n", "-c", folder / "dovecot" / "dovecot.conf")
    told = run_program(postconf, "-c", folder / "postfix", "-n").decode()
    assert "smtpd_milters = inet:milter:8895" in told
    assert "unused parameter" not in told
    for name in ("learn-spam.sieve", "learn-ham.sieve"):
        number = ("learn-spam.sieve", "learn-ham.sieve").index(name)
        assert (folder / "dovecot" / "sieve" / name).read_text() == recipe(ON_MOVE, number)


def test_limits_of_the_server_page() -> None:
    limits = Limits()
    rows = section("Limits of the server")
    assert f"{limits.size:,} (`--max-size`)" in rows
    assert f"{limits.clients} (`--clients`)" in rows
    assert f"{limits.seconds:g} (`--timeout`)" in rows
    assert f"{MOST_USERS:,} (`--most-users`)" in rows


def test_what_is_not_run_says_so() -> None:
    for title in ("Exim", "Thunderbird"):
        assert section(title).lstrip().startswith("Not run.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for each in (PAGE, SERVER_PAGE):
            (folder := Path(place, each.stem)).mkdir()
            each.write_text(refreshed(each.read_text(encoding="utf-8"), folder), encoding="utf-8")
