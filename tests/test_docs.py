"""The documentation holds together: links lead somewhere, pages are on the map, the demo runs.

Its code is run by pytest itself (`--doctest-glob`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        other = page.parent / path if path else page
        assert other.exists(), f"{page.name} links to {path}, which does not exist"
        assert not anchor or anchor in anchors(other), f"{page.name}: no heading #{anchor}"


@each_page
def test_code_blocks_end_with_an_empty_line(page):
    """Or doctest takes the fence for output."""
    for block in re.findall(
        r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S
    ):
        assert block.endswith("\n\n"), f"{page.name}: {block[-60:]!r}"


def test_every_page_is_on_the_map():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [p.name for p in ROOT.glob("docs/*.md") if f"({p.name})" not in index]
    assert missing in ([], ["index.md"])


def test_the_gallery_draws_every_display():
    plots = pytest.importorskip("genus.plots")
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert [
        name for name in plots.__all__ if name.endswith("Display") and name not in gallery
    ] == []


def test_demo():
    run = [sys.executable, str(ROOT / "examples" / "demo.py")]
    told = subprocess.run(run, capture_output=True, text=True, encoding="utf-8", check=True)
    assert told.stderr == ""
    assert max(map(len, told.stdout.splitlines())) <= 80
    assert told.stdout.count("bit for bit") == 2
    assert "DIFFERENT" not in told.stdout


def test_half_of_the_messages_are_spam():
    lines = (ROOT / "examples" / "messages.tsv").read_text(encoding="utf-8").splitlines()
    labels = [line.split("\t")[0] for line in lines]
    assert labels.count("spam") == labels.count("ham") == len(lines) / 2
