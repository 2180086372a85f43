"""Real servers on loopback: Dovecot, Postfix and PostgreSQL, each in a folder of its own.

A test module has the fixtures with `pytest_plugins = ("servers",)`. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import grp
import imaplib
import os
import pwd
import random
import shutil
import signal
import smtplib
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import quote

import pytest

T = TypeVar("T")

HOST = "127.0.0.1"
ROOT = os.geteuid() == 0
PLACES = [*os.get_exec_path(), "/usr/local/sbin", "/usr/sbin", "/sbin"]
PLACES += ["/usr/libexec/dovecot", "/usr/lib/dovecot", "/usr/lib/postfix/sbin"]
PLACES += map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))

# Dovecot and Postfix refuse to keep the mail of root.
MAIL_USER = pwd.getpwnam("nobody") if ROOT else pwd.getpwuid(os.geteuid())
MAIL_GROUP = grp.getgrgid(MAIL_USER.pw_gid)

WITH_GENUS = f"import site\nsite.addsitedir({sysconfig.get_path('purelib')!a})"


# Programs


def program(name: str) -> str:
    """Return the path of a program, or skip the test."""
    if os.environ.get("GENUS_SANITIZED") == "1":
        pytest.skip("servers run without the sanitizer, which looks at the kernel")
    path = shutil.which(name, path=os.pathsep.join(PLACES))
    if path is None:
        pytest.skip(f"{name} is not installed: run scripts/install-mail")
    return path


def environment(home: Path) -> dict[str, str]:
    """Return what a child may know: no LD_PRELOAD, nothing of the one who runs the tests."""
    paths = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    return {"PATH": paths, "HOME": str(home), "LANG": "C.UTF-8"}


def as_user(name: str | None) -> dict[str, Any]:
    """Return the arguments of Popen with which root becomes a user."""
    if name is None or not ROOT:
        return {}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def run(
    *command: str | Path,
    stdin: bytes = b"",
    home: Path = Path("/tmp"),
    user: str | None = None,
    seconds: float = 60,
) -> bytes:
    """Return what a command prints; a failure says what it printed."""
    try:
        return subprocess.run(
            [str(part) for part in command],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=home,
            env=environment(home),
            timeout=seconds,
            check=True,
            **as_user(user),
        ).stdout
    except subprocess.CalledProcessError as error:
        error.add_note(error.stdout.decode(errors="replace"))
        raise


@cache
def mail_python() -> str | None:
    """Return a Python that the mail user can start and that has genus, the same for all servers."""
    for path in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with suppress(OSError, subprocess.SubprocessError):
            run(path, "-c", f"{WITH_GENUS}\nimport genus", user=MAIL_USER.pw_name)
            return path
    return None


def until(found: Callable[[], T], what: str, seconds: float = 20) -> T:
    """Return what is found as soon as it is true."""
    end = time.monotonic() + seconds
    while not (result := found()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} seconds")
        time.sleep(0.02)
    return result


# Processes and ports


def free_port() -> int:
    """Return a port below those that the system gives to clients."""
    for port in random.SystemRandom().sample(range(10240, 32768), 100):
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((HOST, port))
            except OSError:
                continue
            return port
    raise OSError("none of 100 ports is free")


def processes() -> dict[int, tuple[int, int, str]]:
    """Return parent, group and time of start of each process that runs."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if fields[0] not in "ZX":
            found[int(path.parent.name)] = (int(fields[1]), int(fields[2]), fields[19])
    return found


def family(pid: int) -> set[tuple[int, str]]:
    """Return the processes of a group and all below them, each with its time of start."""
    known = processes()
    members = [member for member, (_, group, _) in known.items() if group == pid]
    for member in members:
        below = [child for child, (parent, _, _) in known.items() if parent == member]
        members += [child for child in below if child not in members]
    return {(member, known[member][2]) for member in members}


def alive(members: set[tuple[int, str]]) -> set[int]:
    known = processes()
    return {pid for pid, born in members if pid in known and known[pid][2] == born}


class Server:
    """A process in a folder of its own, ended together with all that it started."""

    host = HOST
    account: str | None = None  # of the system, if root is not to run it
    end: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self) -> None:
        # Not pytest's: other users have to get in, and names of sockets have to be short.
        self.folder = Path(tempfile.mkdtemp(prefix="genus-server-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.log = self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self.guard: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def ready(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        assert self.process is None, "it runs already"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment(self.folder),
                start_new_session=True,
                **as_user(self.account),
            )
        # It ends the server if the tests are killed: then there is nothing more to read.
        self.guard = subprocess.Popen(
            ["/bin/sh", "-c", f"read nothing; kill -s {self.end.value} -- -{self.process.pid}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(self.folder),
            start_new_session=True,
        )
        until(lambda: self.ended() or self.ready(), f"{type(self).__name__} is ready")
        if self.ended():
            self.stop()
            raise OSError(f"{type(self).__name__} did not start: {self.said()}")

    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def stop(self, how: signal.Signals | None = None) -> None:
        """End it; `how` may be a ruder signal than usual."""
        if self.process is None:
            return
        process, self.process = self.process, None
        if self.guard is not None:
            self.guard.kill()
            self.guard.communicate()
        members = family(process.pid)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, self.end if how is None else how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        members |= family(process.pid)
        for last in (signal.SIGTERM, signal.SIGKILL):
            for pid in alive(members):
                with suppress(ProcessLookupError):
                    os.kill(pid, last)
            with suppress(TimeoutError):
                until(lambda: not alive(members), "all have ended", 2)

    def restart(self) -> None:
        self.stop()
        self.start()

    def said(self) -> str:
        """Return the end of the log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-100:])

    def script(self, name: str, text: str) -> Path:
        """Write a program that the server may start."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        fresh = path.with_suffix(".fresh")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.rename(path)  # never half of it, nor busy
        return path

    def genus(self) -> Path:
        """Write a command `genus` that the mail user can start, or skip the test."""
        python = mail_python()
        if python is None:
            pytest.skip(f"{MAIL_USER.pw_name}, who runs the filters here, cannot start genus")
        text = f"#!{python}\nimport sys\n{WITH_GENUS}\n"
        return self.script("genus", text + "from genus.cli import main\n\nsys.exit(main())\n")

    def space(self, name: str) -> Path:
        """Make a folder that the mail user may write into."""
        path = self.folder / name
        path.mkdir()
        os.chown(path, MAIL_USER.pw_uid, MAIL_USER.pw_gid)
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.stop()
        finally:
            print(self.said())  # which pytest shows with a failure
            shutil.rmtree(self.folder, ignore_errors=True)


def in_maildir(path: Path) -> list[bytes]:
    """Return the messages in a Maildir, in the order of their names."""
    return [message.read_bytes() for message in files_in_maildir(path)]


def files_in_maildir(path: Path) -> list[Path]:
    found = [*path.glob("new/*"), *path.glob("cur/*")]
    return sorted(found, key=lambda one: one.name)


# Filters that need no server


def procmail(folder: Path, recipe: str, raw: bytes) -> None:
    """Deliver a message by a recipe for procmail, at home in a folder."""
    settings = folder / ".procmailrc"
    settings.write_text(recipe)
    settings.chmod(0o600)
    run(program("procmail"), "-f", "sender@example.org", settings, stdin=raw, home=folder)


def maildrop(folder: Path, recipe: str, raw: bytes) -> None:
    """Deliver a message by a recipe for maildrop, at home in a folder."""
    settings = folder / ".mailfilter"
    settings.write_text(recipe)
    settings.chmod(0o600)
    run(program("maildrop"), "-f", "sender@example.org", settings, stdin=raw, home=folder)


# Dovecot


class Dovecot(Server):
    """IMAP for one user, with INBOX, Junk and Trash, and scripts in Sieve."""

    user, password = "user", "secret"
    sender = "sender@example.org"

    def __init__(self) -> None:
        self.version = run(program("dovecot"), "--version").decode()[:3]
        if self.version not in ("2.3", "2.4"):
            pytest.skip(f"there are settings here for Dovecot 2.3 and 2.4, not {self.version}")
        program("imap"), program("dovecot-lda"), program("sievec")
        self.has_lmtp = Path(program("imap")).with_name("lmtp").exists()
        super().__init__()
        self.port = free_port()
        self.home = self.space("home")
        self.maildir = self.home / "Maildir"
        self.scripts = self.space("sieve")
        self.settings = self.folder / "dovecot.conf"
        self.rules: list[tuple[Path, str, str, str]] = []
        (self.folder / "bin").mkdir()
        self.configure()

    def configure(self) -> None:
        me = MAIL_USER.pw_name
        inner, outer = ("dovecot", "dovenull") if ROOT else (me, me)
        shut = "" if ROOT else "chroot ="
        first, last = self.of_2_3() if self.version == "2.3" else self.of_2_4()
        self.settings.write_text(rf"""{first}
base_dir = {self.folder}/run
state_dir = {self.folder}/state
log_path = {self.log}
protocols = imap{" lmtp" if self.has_lmtp else ""}
listen = {HOST}
ssl = no
auth_failure_delay = 0
default_internal_user = {inner}
default_internal_group = {inner if ROOT else MAIL_GROUP.gr_name}
default_login_user = {outer}
first_valid_uid = 1
first_valid_gid = 1
mailbox_idle_check_interval = 1s
postmaster_address = postmaster@example.com
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Junk {{
    auto = subscribe
    special_use = \Junk
  }}
  mailbox Trash {{
    auto = subscribe
    special_use = \Trash
  }}
}}
service imap-login {{
  {shut}
  inet_listener imap {{
    port = {self.port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  {shut}
}}
service lmtp {{
  unix_listener lmtp {{
    mode = 0666
  }}
}}
service auth {{
  unix_listener auth-userdb {{
    mode = 0666
  }}
}}
service stats {{
  {shut}
  unix_listener stats-writer {{
    mode = 0666
  }}
}}
{last}
""")

    def of_2_3(self) -> tuple[str, str]:
        rules = [
            f"  imapsieve_mailbox{i}_name = {to}\n"
            f"  imapsieve_mailbox{i}_from = {origin}\n"
            f"  imapsieve_mailbox{i}_causes = {causes.upper()}\n"
            f"  imapsieve_mailbox{i}_before = file:{path}\n"
            for i, (path, to, origin, causes) in enumerate(self.rules, 1)
        ]
        first = f"""
disable_plaintext_auth = no
mail_location = maildir:~/Maildir
passdb {{
  driver = static
  args = user={self.user} password={self.password}
}}
userdb {{
  driver = static
  args = uid={MAIL_USER.pw_uid} gid={MAIL_USER.pw_gid} home={self.home} allow_all_users=yes
}}
"""
        last = f"""
protocol imap {{
  mail_plugins = imap_sieve
}}
protocol lda {{
  mail_plugins = sieve
}}
plugin {{
  sieve = file:~/sieve;active=~/.dovecot.sieve
  sieve_plugins = sieve_imapsieve sieve_extprograms
  sieve_global_extensions = +vnd.dovecot.pipe +vnd.dovecot.execute +vnd.dovecot.filter
  sieve_pipe_bin_dir = {self.folder}/bin
  sieve_execute_bin_dir = {self.folder}/bin
  sieve_filter_bin_dir = {self.folder}/bin
  sieve_before = {self.scripts}/delivery.d
{"".join(rules)}}}
"""
        return first, last

    def of_2_4(self) -> tuple[str, str]:
        rules = []
        for i, (path, to, origin, causes) in enumerate(self.rules, 1):
            rule = f"sieve_script rule{i} {{\n type = before\n path = {path}\n cause = {causes}\n}}"
            rule = rule if origin == "*" else f"imapsieve_from {origin} {{\n{rule}\n}}"
            rules.append(rule if to == "*" else f"mailbox {to} {{\n{rule}\n}}")
        first = f"""
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
auth_allow_cleartext = yes
mail_driver = maildir
mail_path = ~/Maildir
passdb static {{
  password = {self.password}
}}
userdb static {{
  fields {{
    uid = {MAIL_USER.pw_uid}
    gid = {MAIL_USER.pw_gid}
    home = {self.home}
  }}
}}
"""
        last = f"""
protocol imap {{
  mail_plugins {{
    imap_sieve = yes
  }}
}}
protocol lda {{
  mail_plugins {{
    sieve = yes
  }}
}}
sieve_plugins {{
  sieve_imapsieve = yes
  sieve_extprograms = yes
}}
sieve_global_extensions {{
  vnd.dovecot.pipe = yes
  vnd.dovecot.execute = yes
  vnd.dovecot.filter = yes
}}
sieve_pipe_bin_dir = {self.folder}/bin
sieve_execute_bin_dir = {self.folder}/bin
sieve_filter_bin_dir = {self.folder}/bin
sieve_script delivery {{
  type = before
  cause = delivery
  path = {self.scripts}/delivery.d
}}
{chr(10).join(rules)}
"""
        return first, last

    def command(self) -> list[str]:
        return [program("dovecot"), "-F", "-c", str(self.settings)]

    def ready(self) -> bool:
        try:
            self.login(5).logout()
        except (OSError, imaplib.IMAP4.error):
            return False
        return True

    def login(self, seconds: float = 20) -> imaplib.IMAP4:
        connection = imaplib.IMAP4(HOST, self.port, timeout=seconds)
        connection.login(self.user, self.password)
        return connection

    def deliver(self, raw: bytes) -> None:
        """Bring a message into INBOX, or where a script on delivery wants it."""
        lda = [program("dovecot-lda"), "-c", self.settings, "-d", self.user, "-f", self.sender]
        run(*lda, stdin=raw, home=self.home)

    def deliver_by_lmtp(self, raw: bytes) -> None:
        if not self.has_lmtp:
            pytest.skip("needs Dovecot's lmtp: scripts/install-mail")
        with smtplib.LMTP(str(self.folder / "run" / "lmtp"), timeout=60) as connection:
            assert connection.sendmail(self.sender, [self.user], raw) == {}

    def folder_of(self, mailbox: str = "INBOX") -> Path:
        return self.maildir if mailbox == "INBOX" else self.maildir / f".{mailbox}"

    def messages(self, mailbox: str = "INBOX") -> list[bytes]:
        return in_maildir(self.folder_of(mailbox))

    def compiled(self, path: Path, text: str) -> Path:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        run(program("sievec"), "-c", self.settings, path)
        return path

    def on_delivery(self, text: str) -> None:
        """Run a script in Sieve for each message that is delivered."""
        self.compiled(self.scripts / "delivery.d" / "script.sieve", text)

    def on_change(
        self, text: str, to: str = "*", origin: str = "*", causes: str = "copy append"
    ) -> None:
        """Run a script in Sieve for each message that IMAP brings from a mailbox to another."""
        path = self.compiled(self.scripts / f"rule{len(self.rules) + 1}.sieve", text)
        self.rules.append((path, to, origin, causes))
        self.configure()
        if self.process is not None:
            self.restart()


@pytest.fixture
def dovecot() -> Iterator[Dovecot]:
    """Start Dovecot for one test."""
    with Dovecot() as server:
        server.start()
        yield server


# Postfix


class Postfix(Server):
    """SMTP for user@example.com, through a filter, into a Maildir; nothing leaves the machine."""

    recipient = "user@example.com"
    sender = "sender@example.org"
    unchanged = '#!/bin/sh\nexec /usr/sbin/sendmail -G -i "$@"\n'

    def __init__(self) -> None:
        self.master = program("master")
        postdrop = program("postdrop")
        if not ROOT:
            pytest.skip("only root can start Postfix")
        super().__init__()
        self.port, self.unfiltered_port = free_port(), free_port()
        self.maildir = self.space("mail") / "user"
        self.taken: set[str] = set()
        self.queue = self.folder / "queue"
        self.settings = self.folder / "etc"
        self.settings.mkdir()
        self.lay_out()
        # As it is installed, postdrop changes its group and then refuses settings of a user.
        shutil.copyfile(postdrop, self.folder / "sbin" / "postdrop")
        (self.folder / "sbin" / "postdrop").chmod(0o755)
        self.filter_with(self.unchanged)
        for name, text in (("main.cf", self.main()), ("master.cf", self.services())):
            (self.settings / name).write_text(text)
            os.utime(self.settings / name, (0, 0))  # or Postfix waits until it is two seconds old

    def lay_out(self) -> None:
        modes = dict.fromkeys(["data", "queue/active", "queue/bounce", "queue/corrupt"], 0o700)
        modes |= dict.fromkeys(["queue/defer", "queue/deferred", "queue/flush"], 0o700)
        modes |= dict.fromkeys(["queue/hold", "queue/incoming", "queue/private"], 0o700)
        modes |= dict.fromkeys(["queue/saved", "queue/trace"], 0o700)
        modes |= {"queue/maildrop": 0o1733, "queue/public": 0o711}
        owner = pwd.getpwnam("postfix")
        for name, mode in {"queue": 0o755, "queue/pid": 0o755, "sbin": 0o755, **modes}.items():
            path = self.folder / name
            path.mkdir()
            path.chmod(mode)
            if name in modes:
                os.chown(path, owner.pw_uid, 0)

    def main(self) -> str:
        return f"""
compatibility_level = 3.6
queue_directory = {self.queue}
data_directory = {self.folder}/data
command_directory = {self.folder}/sbin
daemon_directory = {Path(self.master).parent}
maillog_file = {self.log}
maillog_file_prefixes = {self.folder}
inet_interfaces = {HOST}
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
myhostname = mail.example.com
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
virtual_mailbox_domains = example.com
virtual_mailbox_base = {self.maildir.parent}
virtual_mailbox_maps = inline:{{ {{ {self.recipient} = user/ }} }}
virtual_minimum_uid = 1
virtual_uid_maps = static:{MAIL_USER.pw_uid}
virtual_gid_maps = static:{MAIL_USER.pw_gid}
default_transport = discard:
relay_transport = discard:
smtpd_peername_lookup = no
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_tls_security_level = none
smtp_dns_support_level = disabled
queue_run_delay = 1s
minimal_backoff_time = 1s
maximal_backoff_time = 2s
in_flow_delay = 0
"""

    def services(self) -> str:
        script = f"{self.folder}/bin/filter -f ${{sender}} -- ${{recipient}}"
        return f"""
{HOST}:{self.port} inet n - n - - smtpd
  -o content_filter=filter:dummy
{HOST}:{self.unfiltered_port} inet n - n - - smtpd
filter unix - n n - 10 pipe
  flags=Rq user={MAIL_USER.pw_name}:{MAIL_GROUP.gr_name} null_sender= argv={script}
pickup   unix n - n 60   1 pickup
cleanup  unix n - n -    0 cleanup
qmgr     unix n - n 300  1 qmgr
rewrite  unix - - n -    - trivial-rewrite
bounce   unix - - n -    0 bounce
defer    unix - - n -    0 bounce
trace    unix - - n -    0 bounce
flush    unix n - n 1000 0 flush
proxymap unix - - n -    - proxymap
error    unix - - n -    - error
retry    unix - - n -    - error
discard  unix - - n -    - discard
virtual  unix - n n -    - virtual
anvil    unix - - n -    1 anvil
postlog  unix-dgram n - n - 1 postlogd
"""

    def filter_with(self, text: str) -> None:
        """Send messages through this script from now on: `-f sender -- recipients` are added."""
        self.script("filter", text)

    def command(self) -> list[str]:
        return [self.master, "-c", str(self.settings), "-d"]

    def ready(self) -> bool:
        try:
            for port in (self.port, self.unfiltered_port):
                smtplib.SMTP(HOST, port, timeout=5).quit()
        except (OSError, smtplib.SMTPException):
            return False
        return True

    def deliver(self, raw: bytes, *, filtered: bool = True) -> None:
        """Hand a message over by SMTP; it arrives a little later."""
        with smtplib.SMTP(HOST, self.port if filtered else self.unfiltered_port, timeout=20) as to:
            to.sendmail(self.sender, [self.recipient], raw)

    def messages(self, least: int = 0, seconds: float = 20) -> list[bytes]:
        """Return what has arrived, once there are so many."""
        enough = f"{least} messages in {self.maildir}"
        until(lambda: len(in_maildir(self.maildir)) >= least, enough, seconds)
        return in_maildir(self.maildir)

    def arrival(self, seconds: float = 60) -> bytes:
        """Return the one message that came since the last call; names are no order of arrival."""

        def new() -> list[Path]:
            return [one for one in files_in_maildir(self.maildir) if one.name not in self.taken]

        until(lambda: bool(new()), f"a new message in {self.maildir}", seconds)
        (path,) = new()
        self.taken.add(path.name)
        return path.read_bytes()


@pytest.fixture
def postfix() -> Iterator[Postfix]:
    """Start Postfix for one test."""
    with Postfix() as server:
        server.start()
        yield server


# PostgreSQL


class Postgres(Server):
    """A cluster of PostgreSQL for its superuser postgres, by TCP and by a socket in the folder."""

    end = signal.SIGINT  # SIGTERM would wait for the clients

    def __init__(self, *, durable: bool = False) -> None:
        self.initdb, self.psql = program("initdb"), program("psql")
        self.server = str(Path(self.initdb).with_name("postgres"))
        super().__init__()
        self.account = "postgres" if ROOT else None
        self.port = free_port()
        self.durable = durable
        self.numbers = count(1)

    def start(self) -> None:
        if not (self.folder / "data").exists():
            if self.account is not None:
                owner = pwd.getpwnam(self.account)
                os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            how = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]
            how += ["--no-sync", f"--pgdata={self.folder}/data"]
            run(self.initdb, *how, home=self.folder, user=self.account)
        super().start()

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    @property
    def socket_url(self) -> str:
        return self.url_of("postgres", by_socket=True)

    def url_of(self, database: str, *, by_socket: bool = False) -> str:
        if by_socket:
            where = f"host={quote(str(self.folder), safe='')}&port={self.port}"
            return f"postgresql://postgres@/{database}?{where}"
        return f"postgresql://postgres@{HOST}:{self.port}/{database}"

    def command(self) -> list[str]:
        settings = {"listen_addresses": HOST, "port": self.port, "max_connections": 50}
        settings |= {"unix_socket_directories": self.folder, "shared_buffers": "16MB"}
        if not self.durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self.server, "-D", f"{self.folder}/data", *options]

    def ready(self) -> bool:
        try:
            return self.execute("select 1") == "1"
        except subprocess.CalledProcessError:
            return False

    def execute(self, sql: str, url: str | None = None) -> str:
        """Return what psql prints: rows in lines, columns with | between them."""
        quiet = ["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"]
        stop = ["--set", "ON_ERROR_STOP=1"]
        printed = run(self.psql, url or self.url, *quiet, *stop, stdin=sql.encode())
        return printed.decode().strip()

    def create(self) -> str:
        """Make an empty database and return its URL."""
        name = f"test{next(self.numbers)}"
        self.execute(f"create database {name} template template0")
        return self.url_of(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start PostgreSQL once for each process that runs tests."""
    with Postgres() as server:
        server.start()
        yield server


@pytest.fixture
def database(postgres: Postgres) -> str:
    """Return the URL of an empty database."""
    return postgres.create()
