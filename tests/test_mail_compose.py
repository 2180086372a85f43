"""The containers of deploy/compose, walked without a container engine.

In a copy of this machine, the test runs the instructions of the Dockerfile, except those that
install packages, and then the commands of compose.yaml. So the settings, ports, users and paths are
those of the containers; only the packages are this machine's.
"""

from __future__ import annotations

import imaplib
import json
import os
import re
import shlex
import smtplib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from namespaces import SOURCE, enter, run, run_inside
from servers import program, until

COMPOSE = SOURCE / "deploy" / "compose"
MAIL = SOURCE / "examples" / "mail"
HOSTS = "127.0.0.1 localhost milter serve postfix dovecot\n"
CONFINED = "setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs --bounding-set=-all"
OF_PACKAGES = ("apt-get", "DEBIAN_FRONTEND", "rm -rf /var/lib/apt")


def test_mail_passes_through_the_containers_and_is_learned() -> None:
    for name in ("setpriv", "postfix", "dovecot", "sievec"):
        program(name)
    done = run_inside(__file__)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["first"].startswith("unsure;")
    assert told["learned"] == {"spam": 31, "ham": 32}
    assert told["spam"].startswith("spam;")
    assert told["ham"].startswith("ham;")


# In the namespaces


def instructions() -> Iterator[tuple[str, str]]:
    """Yield the instructions of the Dockerfile after the stage that builds the package."""
    text = re.sub(r"\\\n\s*", " ", (COMPOSE / "Dockerfile").read_text())
    for line in text.partition(" AS filter\n")[2].splitlines():
        if line and not line.startswith("#"):
            what, _, rest = line.partition(" ")
            yield what, rest


def build() -> None:
    """Run the instructions, except those that install packages."""
    Path("/etc/hosts").write_text(HOSTS)
    for place in Path(sys.base_prefix).parents:  # the user of the containers starts this Python
        if not place.stat().st_mode & 1:
            place.chmod(0o755)
    for user in ("genus", "vmail"):
        subprocess.run(["userdel", user], capture_output=True)
    run("cp /usr/share/postfix/master.cf.dist /etc/postfix/master.cf")
    for what, rest in instructions():
        if what == "RUN":
            steps = [each for each in rest.split(" && ") if not each.startswith(OF_PACKAGES)]
            run(" && ".join(steps).replace("useradd", "useradd --non-unique") or "true")
        elif what == "COPY" and "--from=build" in rest:
            _, source, target = rest.split()
            run(f"ln -s {shlex.quote(source.replace('/opt/genus', sys.prefix))} {target}")
        elif what == "COPY":
            source, target = rest.split()
            run(f"cp -r {source}{'/.' if Path(SOURCE, source).is_dir() else ''} {target}")
    run("mount -t tmpfs none /data && chown genus /data")  # a volume has the owner of its folder


def start(name: str, command: str) -> Path:
    """Start a service, and return its log."""
    log = Path("/tmp", name)
    with log.open("wb") as output:
        subprocess.Popen(["sh", "-c", command], stdout=output, stderr=output, cwd="/data")
    return log


def commands() -> dict[str, str]:
    """Return the command of each service: those of the filter in compose.yaml, and each CMD."""
    found = {}
    for name, words in re.findall(
        r"^  (\w+):\n    build:.*\n(?:      .*\n)*    command: \[(.*)\]$",
        (COMPOSE / "compose.yaml").read_text(),
        re.MULTILINE,
    ):
        # restart: unless-stopped
        command = "sh -c " + shlex.quote(f"until genus {words.replace(',', '')}; do sleep 1; done")
        inner = f"mount -o remount,bind,ro / && exec {CONFINED} {command}"
        found[name] = f"PATH=/opt/genus/bin:$PATH exec unshare --mount sh -c {shlex.quote(inner)}"
    for what, rest in instructions():
        if what == "CMD":
            words = json.loads(rest)
            found[words[0]] = shlex.join(["exec", *words])
    return found


def accepts(port: int) -> Callable[[], bool]:
    def tried() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True

    return tried


def messages(name: str) -> list[bytes]:
    found = re.split(rb"^From .*\n", (MAIL / name).read_bytes(), flags=re.MULTILINE)[1:]
    return [each.removesuffix(b"\n") for each in found]


def send(raw: bytes) -> None:
    with smtplib.SMTP("127.0.0.1", 25, timeout=30) as client:
        client.sendmail("stranger@example.net", ["ann@example.com"], raw)


def newest(client: imaplib.IMAP4, folder: str, number: int) -> str:
    """Wait for a number of messages in a folder, and return the newest one's X-Genus header."""

    def arrived() -> bool:
        client.select(folder)
        return len(client.search(None, "ALL")[1][0].split()) == number

    until(arrived, f"{number} messages in {folder}", 30)
    found = client.fetch(str(number), "(BODY.PEEK[HEADER.FIELDS (X-Genus)])")[1][0]
    assert isinstance(found, tuple)
    return found[1].decode().partition(":")[2].strip()


def walk() -> dict[str, object]:
    logs = {name: start(name, command) for name, command in commands().items()}
    assert set(logs) == {"milter", "serve", "postfix", "dovecot"}
    try:
        for port in (8895, 143, 24, 25):
            until(accepts(port), f"port {port}", 30)
        client = imaplib.IMAP4("127.0.0.1", 143)
        client.login("ann", (COMPOSE / "dovecot" / "users").read_text().split("}")[1].strip())
        spam, ham, new = map(messages, ("spam.mbox", "ham.mbox", "new.mbox"))
        send(b"Subject: hello\n\nfirst\n")
        told: dict[str, object] = {"first": newest(client, "INBOX", 1)}
        for raw in (*ham, *spam):
            client.append("Junk", "", imaplib.Time2Internaldate(time.time()), raw)
        client.select("Junk")
        client.copy(f"1:{len(ham)}", "INBOX")
        shown = subprocess.run(
            ["/opt/genus/bin/genus", "mail", "stats", "--json", "--store", "/data/mail.sqlite"],
            capture_output=True,
            check=True,
        )
        stats = json.loads(shown.stdout)
        told["learned"] = {label: stats[label] for label in ("spam", "ham")}
        send(new[1])
        told["spam"] = newest(client, "Junk", len(ham) + len(spam) + 1)
        send(new[0])
        told["ham"] = newest(client, "INBOX", len(ham) + 2)
    finally:
        for name, log in logs.items():
            print(f"{name}:", log.read_text(errors="replace")[-2000:], file=sys.stderr)
    return told


if __name__ == "__main__":
    enter(sys.argv[1])
    build()
    print(json.dumps(walk()))
    sys.stdout.flush()
    os._exit(0)  # the namespace ends, and with it all that was started
