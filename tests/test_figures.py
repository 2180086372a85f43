"""The figures of the notes: all of them, small, always the same, and written whole or not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from genus.cli import cli
from genus.display.palette import DARK, LIGHT
from scope import EVERYTHING, at_night, nightly

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from genus.plots import notes

ROOT = Path(__file__).parents[1]
STACKED = [
    "normal-variance",
    "normal-covariance",
    "normal-negative",
    "normal-mean",
    "gda-shared",
    "gda-separate",
    "lines",
    "sigmoids",
    "digits",
    "digits-28",
]
NAMES = [
    "normal-bell",
    *STACKED,
    "bells",
    "evidence",
    "discretised",
    "smoothing",
    *(f"{name}-narrow" for name in STACKED),
]
LARGEST = 400_000  # bytes: three surfaces as vectors
WIDE = [name for name in NAMES if not name.endswith("-narrow")]
each_figure = pytest.mark.parametrize("name", at_night(NAMES, *WIDE[::3]))


@cache
def once(name: str, dark: bool = False) -> bytes:
    """Draw a figure, or return what was drawn before."""
    return notes.drawn(name, dark=dark)


def figures(*given: Any) -> Any:
    """Run the command in this process."""
    return CliRunner().invoke(cli, ["figures", *map(str, given)])


def refused(*given: Any, code: int = 1) -> str:
    """Return the sentence of a command that does not work."""
    result = figures(*given)
    assert result.exit_code == code, result.output
    assert "bug" not in result.stderr
    assert "Traceback" not in result.stderr
    return " ".join(result.stderr.split())


@pytest.fixture
def two_figures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let there be two figures only, which are drawn fast."""
    few = {name: notes.FIGURES[name] for name in ("evidence", "smoothing")}
    monkeypatch.setattr(notes, "FIGURES", few)
    return list(few)


def test_pages_can_rely_on_the_names() -> None:
    assert list(notes.FIGURES) == NAMES
    found = {path.name for path in (ROOT / "docs/images/notes").iterdir()}
    assert {f"{name}{dark}.svg" for name in NAMES for dark in ("", "-dark")} <= found


@pytest.mark.parametrize("name", at_night(NAMES, *(n for n in WIDE[::4] if n != "digits-28")))
def test_a_figure_is_small_and_always_the_same(name: str) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    light, dark = once(name), once(name, dark=True)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "lines.linewidth": 9}):
        assert notes.drawn(name) == light, "the user's settings show"
    assert dict(matplotlib.rcParams) == before
    for content, page, other in ((light, LIGHT, DARK), (dark, DARK, LIGHT)):
        assert len(content) <= LARGEST
        text = content.decode()
        assert f"fill: {page['page']}" in text
        assert other["page"] not in text
        assert other["text"] not in text
        assert "<dc:date>" not in text


@pytest.mark.parametrize("format", ["png", "pdf"])
@pytest.mark.parametrize("name", at_night(["normal-covariance", "gda-separate"], "gda-separate"))
def test_other_formats_are_small_and_always_the_same(name: str, format: str) -> None:
    content = notes.drawn(name, format)
    assert content.startswith({"png": b"\x89PNG", "pdf": b"%PDF"}[format])
    assert len(content) <= LARGEST
    assert notes.drawn(name, format) == content


@nightly
def test_another_process_draws_the_same() -> None:
    """Whatever the seed of Python's hashes."""
    code = (
        "import sys; from genus.plots.notes import drawn; sys.stdout.buffer.write(drawn('bells'))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    run = [sys.executable, "-c", code]
    told = subprocess.run(run, capture_output=True, check=True, env=environment)
    assert told.stdout == once("bells")


@each_figure
def test_the_figures_of_the_pages_are_not_stale(name: str) -> None:
    """Texts and numbers; other versions of matplotlib may place them otherwise."""
    for dark in (False, True) if EVERYTHING else (False,):
        path = ROOT / "docs/images/notes" / f"{name}{'-dark' if dark else ''}.svg"
        assert texts(path.read_bytes()) == texts(once(name, dark)), "genus figures"


def texts(content: bytes) -> list[str]:
    return sorted(re.findall(r">([^<>\n]+)</t", content.decode()))


@pytest.mark.parametrize(
    "name", at_night([name for name in WIDE if "digits" not in name], "gda-shared", "evidence")
)
def test_type_is_legible_at_the_width_of_a_column(name: str) -> None:
    """Of 8 points at least, but for what is below a letter."""
    content = once(name).decode()
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", content)]
    width = float(re.findall(r'width="([\d.]+)pt"', content)[0]) / 72
    assert width in (pytest.approx(3.4), pytest.approx(6.8))
    assert sizes
    assert min(sizes) >= 0.7 * 8 - 1e-9  # a subscript
    assert np.median(sizes) >= 8


# The command


@pytest.mark.parametrize("format", ["svg", "png", "pdf"])
def test_the_command_writes_them(tmp_path: Path, two_figures: list[str], format: str) -> None:
    result = figures("-o", tmp_path / "new" / "folder", "--format", format)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"Wrote 2 figures to {tmp_path}/new/folder, evidence.{format}")
    for name in two_figures:
        written = (tmp_path / "new" / "folder" / f"{name}.{format}").read_bytes()
        assert written == notes.drawn(name, format)


def test_dark_ones_stand_beside_light_ones(tmp_path: Path, two_figures: list[str]) -> None:
    for given in ((), ("--dark",)):
        assert figures("-o", tmp_path, *given).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "evidence-dark.svg",
        "evidence.svg",
        "smoothing-dark.svg",
        "smoothing.svg",
    ]
    assert (tmp_path / "evidence-dark.svg").read_bytes() == notes.drawn("evidence", dark=True)


def test_places_that_cannot_be_written_to(tmp_path: Path, two_figures: list[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert "it is not a folder" in refused("-o", tmp_path / "file")
    assert "Not a directory" in refused("-o", tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "smoothing.svg").mkdir()
    assert "not a regular file" in refused("-o", tmp_path)
    assert not list(tmp_path.glob(".genus-*"))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any) -> bytes:
        raise AssertionError("drawn for nothing")

    monkeypatch.setattr(notes, "drawn", never)
    pytest.importorskip("matplotlib.pyplot")  # imported before: another user may not be allowed to
    before = os.geteuid()
    with tempfile.TemporaryDirectory() as other:
        os.chmod(other, 0o555)
        try:
            if before == 0:
                os.seteuid(65534)
            told = [refused("-o", other), refused("-o", f"{other}/new")]
        finally:
            os.seteuid(before)
        os.chmod(other, 0o755)
        assert all("Permission denied" in one for one in told), told
        assert all(other in one and ".genus-" not in one for one in told), told


def test_a_disk_that_fills_up(
    tmp_path: Path, two_figures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise OSError(28, os.strerror(28))

    (tmp_path / "evidence.svg").write_text("older")
    monkeypatch.setattr(os, "fsync", fail)
    told = refused("-o", tmp_path)
    assert f"{tmp_path}/evidence.svg: No space left on device. Free some space" in told
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["evidence.svg"]
    assert (tmp_path / "evidence.svg").read_text() == "older"


def test_a_drawing_that_fails_leaves_nothing(
    tmp_path: Path, two_figures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ValueError("The pen is dry.")

    monkeypatch.setitem(notes.FIGURES, "smoothing", fail)
    assert "The pen is dry." in refused("-o", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_formats_that_are_not_known(tmp_path: Path) -> None:
    assert "'bmp' is not one of 'svg', 'png', 'pdf'" in refused("--format", "bmp", code=2)


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'genus[plots]'" in refused("-o", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "genus.cli", "figures", "-o", str(tmp_path / "new")]
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as one:
        for _ in range(600):  # drawing begins when there is a folder
            if (tmp_path / "new").exists():
                break
            time.sleep(0.05)
        one.send_signal(signal.SIGINT)
        try:
            _, told = one.communicate(timeout=5)
        except subprocess.TimeoutExpired:  # Python drops a signal that meets a destructor
            one.send_signal(signal.SIGINT)
            _, told = one.communicate(timeout=60)
    assert one.returncode == 130
    assert "Interrupted" in told
    assert "Traceback" not in told
    assert list((tmp_path / "new").iterdir()) == []


def test_bars_are_for_terminals(tmp_path: Path, two_figures: list[str], monkeypatch: Any) -> None:
    """Counted by the number of items that pass."""
    pytest.importorskip("tqdm")
    import tqdm

    seen = []

    def bar(items: Any, **options: Any) -> Any:
        seen.append((list(items), options["desc"]))
        return items

    monkeypatch.setattr(tqdm, "tqdm", bar)
    assert figures("-o", tmp_path).exit_code == 0
    assert seen == []
    from genus.cli import progress

    class Terminal:
        def isatty(self) -> bool:
            return True

    class System:
        stderr = Terminal()

    monkeypatch.setattr(progress, "sys", System)
    assert figures("-o", tmp_path).exit_code == 0
    assert seen == [(two_figures, "Drawing")]


# The pictures of the guides


@nightly
def test_the_pictures_of_the_guides_are_not_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """They show what the code of the pages fits."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import figures as guides

    for name in guides.FIGURES:
        path = ROOT / "docs/images" / f"{name}.svg"
        assert texts(path.read_bytes()) == texts(guides.drawn(name)), "python docs/figures.py"
