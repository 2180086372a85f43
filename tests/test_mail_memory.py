"""genus mail within the address space that Dovecot allows: 256 MB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

resource = pytest.importorskip("resource", reason="no limits on this system")

LIMIT = 256 << 20
SANITIZED = "GENUS_SANITIZED" in os.environ
pytestmark = [
    pytest.mark.skipif(SANITIZED, reason="the sanitizer reserves terabytes"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space"),
]
EXAMPLES = Path(__file__).parents[1] / "examples" / "mail"


def genus(
    *arguments: object, stdin: bytes = b"", limit: int = LIMIT
) -> subprocess.CompletedProcess[bytes]:
    """Run a command as Dovecot does, without a variable that says how many threads there may be."""
    wanted = ("OPENBLAS_NUM_THREADS", "GENUS_THREADS", "OMP_NUM_THREADS")
    return subprocess.run(
        [sys.executable, "-m", "genus.cli", "mail", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        timeout=120,
        env={name: value for name, value in os.environ.items() if name not in wanted},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


def test_learn_check_and_filter_within_256_mb(tmp_path: Path) -> None:
    store = ["--store", tmp_path / "mail.sqlite"]
    done = genus("learn", "--spam", EXAMPLES / "spam.mbox", "--ham", EXAMPLES / "ham.mbox", *store)
    assert (done.returncode, done.stderr) == (0, b"")
    checked = genus("check", EXAMPLES / "new.mbox", *store)
    assert (checked.returncode, checked.stdout.count(b"spam  ")) == (0, 4), checked.stderr
    message = b"Subject: you have won\n\nclaim your prize\n"
    marked = genus("filter", *store, stdin=message)
    assert (marked.returncode, marked.stderr) == (0, b"")
    assert marked.stdout.startswith(b"X-Genus: ")


@pytest.mark.parametrize(("megabytes", "limit"), [(150, LIMIT), (60, LIMIT // 3)])
def test_filter_passes_messages_that_are_too_large(
    tmp_path: Path, megabytes: int, limit: int
) -> None:
    store = ["--store", tmp_path / "mail.sqlite"]
    assert genus("learn", "--spam", EXAMPLES / "spam.mbox", *store).returncode == 0
    message = b"Subject: a\n\n" + b"0123456789abcde\n" * (megabytes << 16)
    done = genus("filter", *store, stdin=message, limit=limit)
    assert (done.returncode, done.stdout == message) == (0, True)
    assert done.stderr.endswith(b" passes unchanged.\n")
    assert b"class" not in done.stderr


@pytest.mark.parametrize("megabytes", [80, 96, 110])
def test_filter_passes_messages_if_nothing_can_be_loaded(tmp_path: Path, megabytes: int) -> None:
    """OpenBLAS ends the process if it cannot allocate memory."""
    store = ["--store", tmp_path / "mail.sqlite"]
    assert genus("learn", "--spam", EXAMPLES / "spam.mbox", *store).returncode == 0
    message = b"Subject: a\n\nb\n"
    done = genus("filter", *store, stdin=message, limit=megabytes << 20)
    assert (done.returncode, done.stdout) == (0, message), done.stderr
    assert b"There is not enough memory. Allow genus more of it (ulimit -v" in done.stderr


def test_a_store_with_a_full_sample_needs_no_more_than_256_mb(tmp_path: Path) -> None:
    """The store has as many lessons and tokens as weights are ever fitted to."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
from genus.mail.spamfilter import JUDGED, JUDGED_TOKENS, SpamFilter, shift
from genus.mail.store import Lesson
spam_filter = SpamFilter.open({str(tmp_path / "mail.sqlite")!r})
rng, size = np.random.default_rng(0), JUDGED_TOKENS // JUDGED
common = rng.integers(0, 1 << 32, 20_000, np.uint32) & ~np.uint32(15)
for number in range(0, 2 * JUDGED, 100):
    lessons = []
    for each in range(number, number + 100):
        spam = each % 2 == 1
        known = rng.choice(common[spam * 5000 : spam * 5000 + 15_000], size * 4 // 5)
        new = rng.integers(0, 1 << 32, size // 5, np.uint32) & ~np.uint32(15)
        tokens = np.unique(np.concatenate([known, new])) | np.uint32(4)
        lessons.append(Lesson(each.to_bytes(16), spam, 20_000, np.unique(tokens)))
    with spam_filter.store.change() as change:
        change.write(lessons)
        shift(change, lessons, [])
spam_filter.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    message = b"Subject: the first of its kind\n\nthat makes weights again\n"
    store = ["--store", tmp_path / "mail.sqlite"]
    done = genus("learn", "--spam", "-", *store, stdin=message)
    assert done.returncode == 0, done.stderr
    told = genus("stats", *store)
    assert b"of the newest spam" in told.stdout, told.stdout + told.stderr
    for command in ("verify", "repair"):
        done = genus(command, *store)
        assert done.returncode == 0, done.stderr
