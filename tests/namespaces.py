"""A copy of this machine in namespaces of Linux, for tests that change all of its files.

A test starts its own file by `run_inside`; there, `enter` makes an overlay of all files the root.
Nothing that is written or started there remains, and the network is a loopback of its own.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from servers import ROOT, program

SOURCE = Path(__file__).parents[1]
SPACES = ("--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child")


def run_inside(script: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a script with the name of a folder, as the first process of new namespaces."""
    for name in ("unshare", "pivot_root", "ip"):
        program(name)
    if not ROOT:
        pytest.skip("only root can make namespaces")
    with tempfile.TemporaryDirectory(prefix="genus-machine-") as folder:
        options = f"lowerdir=/,upperdir={folder}/upper,workdir={folder}/work"
        trial = f"""mount -t tmpfs none {folder} && cd {folder} && mkdir upper work root &&
            mount -t overlay overlay -o {options} root"""
        tried = subprocess.run(["unshare", *SPACES, "sh", "-c", trial], capture_output=True)
        if tried.returncode != 0:
            pytest.skip("this machine cannot make namespaces with an overlay of its files")
        return subprocess.run(
            ["unshare", *SPACES, sys.executable, script, folder, *arguments],
            capture_output=True,
            text=True,
            timeout=240,
        )


def run(command: str) -> None:
    subprocess.run(command, shell=True, check=True, cwd=SOURCE, stdout=sys.stderr)


def enter(folder: str, *shared: str) -> None:
    """Make an overlay of all files the root; what is written to shared ones remains."""
    root = f"{folder}/root"
    run("ip link set lo up && mount --make-rprivate /")
    run(f"mount -t tmpfs none {folder} && mkdir {folder}/upper {folder}/work {root}")
    options = f"lowerdir=/,upperdir={folder}/upper,workdir={folder}/work"
    run(f"mount -t overlay overlay -o {options} {root}")
    run(f"mount -t proc proc {root}/proc && mount -t sysfs sysfs {root}/sys")
    for place in map(shlex.quote, ("/dev", str(SOURCE), *shared)):
        run(f"mount --rbind {place} {root}{place}")
    os.chdir(root)
    Path("before").mkdir()
    run(f"cd {root} && pivot_root . before")
    os.chdir("/")
    run("umount -l /before && mount -t tmpfs none /run")
    Path("/run/lock").mkdir()
