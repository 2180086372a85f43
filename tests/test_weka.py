"""What the page for those who come from Weka shows of Weka is what Weka prints."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

WEKA = Path("/usr/share/java/weka.jar")
PAGE = Path(__file__).parents[1] / "docs/coming-from.md"


@pytest.mark.skipif(
    not (WEKA.exists() and shutil.which("java")),
    reason="Weka is not installed (scripts/install-java installs it)",
)
def test_the_page_shows_what_weka_prints(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Weka")[1].split("\n## ")[0]
    sessions = "".join(re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S))
    commands = re.sub(r"^\$ ", "", re.sub(r"^ +\d.*\n", "", sessions, flags=re.M), flags=re.M)
    commands = commands.replace("/tmp/", f"{tmp_path}/")
    printed = re.findall(r"^ +\d.*$", sessions, re.M)
    run = subprocess.run(["bash", "-e"], input=commands, capture_output=True, text=True, check=True)
    assert [line.rstrip() for line in run.stdout.splitlines()] == printed
