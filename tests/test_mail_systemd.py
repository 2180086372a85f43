"""The shipped units, as docs/mail-server.md starts them, in a copy of this machine with systemd."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from namespaces import SOURCE, enter, run, run_inside
from servers import WITH_GENUS, program

PAGE = SOURCE / "docs" / "mail-server.md"
SYSTEMD = "/lib/systemd/systemd"
PYTHON = f"/usr/bin/python3.{sys.version_info.minor}"  # the units may not look into home folders
UNITS = "genus.service genus-milter.service genus-expire.timer"
BOOT = """
[Service]
Type=oneshot
StandardOutput=append:{shown}
StandardError=append:{shown}
ExecStart=/bin/sh -ex /steps
ExecStopPost=/bin/sh -c 'echo "ended with $EXIT_STATUS"'
ExecStopPost=/bin/systemctl exit --force
"""
STEPS = f"""
until test -S /run/genus/socket; do sleep 0.2; done
until systemctl --quiet is-active genus-milter.service; do sleep 0.2; done
systemctl is-active {UNITS}
systemctl start genus-expire.service
awk '/^From /{{n++}} n==2' /examples/new.mbox > /tmp/offer.eml
genus-client --check < /tmp/offer.eml
echo learn | genus-client --learn spam
systemctl reload {UNITS.partition(" genus-expire")[0]}
genus-client --check < /tmp/offer.eml
systemctl is-active {UNITS}
journalctl --no-pager -u genus.service -u genus-expire.service -o cat
"""


def recipe() -> str:
    """Return what the page says to run as root, in its order."""
    section = PAGE.read_text(encoding="utf-8").partition("## Setting up a server\n")[2]
    return "".join(re.findall(r"```sh\n(.*?)```", section.partition("\n## ")[0], re.DOTALL))


def test_units_run_as_the_page_says(tmp_path: Path) -> None:
    if not Path(SYSTEMD).exists() or not Path(PYTHON).exists():
        pytest.skip("systemd and Debian's Python are not installed")
    if SOURCE.is_relative_to("/home") or SOURCE.is_relative_to("/root"):
        pytest.skip("units do not look into home folders, where genus is")
    program("runuser")
    (tmp_path / "shown").touch()
    done = run_inside(__file__, tmp_path / "shown")
    shown = (tmp_path / "shown").read_text()
    assert "ended with 0" in shown, done.stderr + shown
    assert shown.count("\nactive\nactive\nactive\n") == 2
    assert shown.count("\nspam; probability=0.99") == 2
    assert "command=TELL verdict=learned" in shown
    assert "The store is undamaged: its 32 ham and 31 spam" in shown


if __name__ == "__main__":
    enter(*sys.argv[1:])
    program_text = f"#!{PYTHON}\n{WITH_GENUS}\nfrom genus.cli import main\nmain()\n"
    Path("/usr/local/bin/genus").write_text(program_text)
    Path("/usr/local/bin/genus").chmod(0o755)
    client = shutil.which("genus-client", path=str(Path(sys.executable).parent))
    shutil.copy(str(client), "/usr/local/bin/genus-client")
    run("mkdir -p /usr/local/share/genus && cp -r deploy/systemd /usr/local/share/genus/systemd")
    run("cp -r examples/mail /examples && mkdir /srv/spam /srv/ham")
    run("cp /examples/spam.mbox /srv/spam && cp /examples/ham.mbox /srv/ham")
    run("mount -t cgroup2 none /sys/fs/cgroup; : > /etc/machine-id; userdel genus || true")
    Path("/steps").write_text(recipe() + STEPS)
    Path("/etc/systemd/system/walk.service").write_text(BOOT.format(shown=sys.argv[2]))
    Path("/etc/systemd/system/walk.target").write_text("[Unit]\nWants=walk.service\n")
    environment = {"container": "genus", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    os.execve(SYSTEMD, [SYSTEMD, "--system", "--unit=walk.target"], environment)
