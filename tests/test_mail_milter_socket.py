"""genus mail milter on a Unix socket, as its help says, with Debian's Postfix in its chroot.

The test runs what `genus mail milter --help` prints in a copy of this machine.
"""

from __future__ import annotations

import os
import re
import smtplib
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from genus.cli import cli
from namespaces import SOURCE, enter, run, run_inside
from servers import program, until

PAGE = SOURCE / "docs" / "mail-server.md"
MASTER = Path("/usr/share/postfix/master.cf.dist")
LOG, MAILBOX = Path("/var/log/postfix.log"), Path("/var/mail/ann")
SETTINGS = f"""
compatibility_level = 3.6
maillog_file = {LOG}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mydestination = example.com
alias_maps =
alias_database =
smtpd_peername_lookup = no
smtp_dns_support_level = disabled
"""


def steps() -> tuple[list[str], str, str]:
    """Return what the help says: the commands before the start, the start, lines for main.cf."""
    text = CliRunner().invoke(cli, ["mail", "milter", "--help"]).stdout.replace("\\\n", " ")
    commands = re.findall(r"^ +((?:install|usermod) .*)$", text, re.M)
    (start,) = re.findall(r"^ +(genus mail milter --socket .*)$", text, re.M)
    lines = re.findall(r"^ +(\w+ = .*)$", text, re.M)
    return commands, " ".join(start.split()), "\n".join(lines) + "\n"


def test_the_page_says_what_the_help_says() -> None:
    commands, start, lines = steps()
    page = PAGE.read_text(encoding="utf-8")
    assert "```sh\n" + "\n".join([*commands, start]) + "\n```" in page
    assert f"```postfix\n{lines}```" in page


def test_postfix_in_its_chroot_reaches_the_socket() -> None:
    for name in ("postfix", "useradd", "runuser"):
        program(name)
    done = run_inside(__file__)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "X-Genus: spam; probability=0.9" in done.stdout


# In the namespaces


def has(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text(errors="replace")


def walk() -> str:
    for place in Path(sys.base_prefix).parents:  # the user genus starts this Python
        if not place.stat().st_mode & 1:
            place.chmod(0o755)
    genus = Path("/usr/local/bin/genus")
    genus.write_text(f"#!{sys.executable}\nfrom genus.cli import main\nmain()\n")
    genus.chmod(0o755)
    run("userdel genus; userdel ann; rm -rf /var/lib/genus /var/mail/ann; useradd ann; true")
    run("cp -r examples/mail /examples && mkdir -p /srv/spam /srv/ham")
    run("cp /examples/spam.mbox /srv/spam && cp /examples/ham.mbox /srv/ham")
    setting_up = PAGE.read_text(encoding="utf-8").partition("## Setting up a server\n")[2]
    run(setting_up.partition("```sh\n")[2].partition("```")[0])
    commands, start, lines = steps()
    Path("/etc/postfix/master.cf").write_bytes(MASTER.read_bytes())
    Path("/etc/postfix/main.cf").write_text(SETTINGS + lines)
    for command in commands:
        run(command)
    said = Path("/tmp/milter.log")
    with said.open("wb") as output:
        subprocess.Popen(start.split(), stdout=output, stderr=output, cwd="/")
    try:
        until(lambda: has(said, "Listening on"), "the milter listens", 60)
        run("postfix start")
        until(lambda: has(LOG, "starting the Postfix mail system"), "Postfix has started", 60)
        raw = re.split(rb"^From .*\n", Path("/examples/new.mbox").read_bytes(), flags=re.M)[2]
        with smtplib.SMTP("127.0.0.1", 25, timeout=30) as client:
            client.sendmail("stranger@example.net", ["ann@example.com"], raw)
        until(lambda: has(MAILBOX, "\n\n"), "the message arrives", 60)
    finally:
        for path in (said, LOG):
            print(path.read_text(errors="replace") if path.exists() else path, file=sys.stderr)
    return MAILBOX.read_text(errors="replace")


if __name__ == "__main__":
    enter(sys.argv[1])
    print(walk())
    sys.stdout.flush()
    os._exit(0)  # the namespace ends, and with it all that was started
