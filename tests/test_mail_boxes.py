"""Messages wherever people keep them: each is found once, whole, and has a name."""

from __future__ import annotations

import io
import mailbox
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genus.mail import boxes
from genus.mail.boxes import divided, messages_at, messages_in, unquoted
from genus.mail.identity import digest

ONE = b"From: ann@example.org\nSubject: one\n\nHello,\nsee you at noon.\n"
TWO = (
    b"From: bob@example.org\nSubject: two\n\nDear Ann,\n\n"
    b"From here on it is cold.\n>From there, too.\n\nBob\n"
)
BOTH = [ONE, TWO]
FROM = re.compile(rb">*From ")
ENVELOPE = b"From ann@example.org Mon Jan  1 12:00:00 2024\n"


def quoted(raw: bytes) -> bytes:
    """A message as mboxrd keeps it."""
    lines = raw.split(b"\n")
    return b"\n".join(
        b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines
    )


def mbox_of(messages: list[bytes]) -> bytes:
    return b"".join(ENVELOPE + quoted(each) + b"\n" for each in messages)


def found(path: Path | str) -> list[bytes]:
    return [raw for _, raw in messages_at(str(path))]


def names(path: Path | str) -> list[str]:
    return [name for name, _ in messages_at(str(path))]


def digests(messages: list[bytes]) -> list[bytes]:
    return [digest(each) for each in messages]


# Kinds of boxes


def as_mbox(folder: Path) -> Path:
    path = folder / "box"
    path.write_bytes(mbox_of(BOTH))
    return path


def as_mbox_of_windows(folder: Path) -> Path:
    path = folder / "box"
    path.write_bytes(mbox_of(BOTH).replace(b"\n", b"\r\n"))
    return path


def as_maildir(folder: Path) -> Path:
    box = mailbox.Maildir(folder / "box")
    for each in BOTH:
        message = mailbox.MaildirMessage(each)
        message.set_subdir("cur")
        message.set_flags("RS")
        box.add(message)
    return folder / "box"


def as_new_mail(folder: Path) -> Path:
    box = mailbox.Maildir(folder / "box")
    for each in BOTH:
        box.add(each)
    return folder / "box"


def as_mh(folder: Path) -> Path:
    box = mailbox.MH(folder / "box")
    for each in BOTH:
        box.add(each)
    return folder / "box"


def as_files(folder: Path) -> Path:
    path = folder / "box"
    (path / "deeper").mkdir(parents=True)
    (path / "a.eml").write_bytes(ONE)
    (path / "deeper" / "b.eml").write_bytes(TWO.replace(b"\n", b"\r\n"))
    return path


def as_folder_of_mboxes(folder: Path) -> Path:
    path = folder / "box"
    path.mkdir()
    (path / "a").write_bytes(mbox_of([ONE]))
    (path / "b").write_bytes(mbox_of([TWO]))
    return path


KINDS = [
    as_mbox,
    as_mbox_of_windows,
    as_maildir,
    as_new_mail,
    as_mh,
    as_files,
    as_folder_of_mboxes,
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_is_the_same_in_every_box(kind, tmp_path: Path) -> None:
    box = kind(tmp_path)
    assert sorted(digests(found(box))) == sorted(digests(BOTH))
    assert len(set(names(box))) == 2


def test_several_places_are_read_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "1.eml").write_bytes(ONE)
    box = as_mbox(tmp_path)
    read = list(messages_in([str(tmp_path / "1.eml"), str(box)]))
    assert [name for name, _ in read] == [str(tmp_path / "1.eml"), f"{box}#1", f"{box}#2"]
    assert digests([raw for _, raw in read]) == digests([ONE, ONE, TWO])


# mbox


def divided_of(data: bytes) -> list[bytes]:
    return [raw for _, raw in divided("box", io.BytesIO(data))]


def test_an_mbox_gives_back_what_was_put_in() -> None:
    assert divided_of(mbox_of(BOTH)) == BOTH


def test_names_in_an_mbox_count_from_one() -> None:
    assert [name for name, _ in divided("box", io.BytesIO(mbox_of(BOTH)))] == ["box#1", "box#2"]
    assert [name for name, _ in divided("box", io.BytesIO(mbox_of([ONE])))] == ["box"]


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"], ids=["none", "one", "two"])
def test_the_end_of_an_mbox_may_lack(end: bytes) -> None:
    data = mbox_of(BOTH).rstrip(b"\n") + end
    assert digests(divided_of(data)) == digests(BOTH)


def test_from_in_a_text_without_an_empty_line_before_is_text() -> None:
    raw = b"Subject: a\n\nHello\nFrom here on it is cold.\n"
    assert divided_of(ENVELOPE + raw + b"\n") == [raw]


@pytest.mark.parametrize(
    "line",
    [
        "From now on we meet at 9.",
        "From ann",
        "From ",
        "From ann to bob Mon Jan  1 12:00:00 2024",
        "From ann@example.org Mon Jan  1 12:00:00 2024 we meet at 9.",
        "From ann@example.org Monday at 12:00:00 2024",
        "From ann@example.org Mon Jan  1 12:00:00",
        ">From ann@example.org Mon Jan  1 12:00:00 2024",
        " From ann@example.org Mon Jan  1 12:00:00 2024",
    ],
)
def test_from_without_a_date_is_text(line: str) -> None:
    """Dovecot quotes only lines that look like a separator."""
    raw = b"Subject: a\n\nHello\n\n" + line.encode() + b"\nAnn\n\n"
    found = divided_of(ENVELOPE + raw + ENVELOPE + ONE + b"\n")
    assert [each.replace(b">From", b"From") for each in found] == [
        raw[:-1].replace(b">From", b"From"),
        ONE,
    ]


@pytest.mark.parametrize(
    "line",
    [
        "From ann@example.org Mon Jan  1 12:00:00 2024",
        "From ann@example.org  Mon Jan  1 12:00:00 2024",
        "From  Mon Jan  1 12:00:00 2024",
        "From Mon Jan  1 12:00:00 2024",
        "From - Mon Jan 01 12:00:00 2024",
        "From <> Mon Jan  1 12:00:00 2024",
        'From "Ann Lee"@example.org Mon Jan  1 12:00:00 2024',
        "From ann at example.org  Mon Jan  1 12:00:00 2024",
        "From 1781@xxx Mon Jan 01 12:00:00 +0000 2024",
        "From ann@example.org Mon Jan  1 12:00:00 2024 +0100",
        "From ann@example.org Mon Jan  1 12:00:00 CEST 2024",
        "From ann@example.org Mon Jan  1 12:00:00 MET DST 2024",
        "From ann Mon Jan  1 12:00 1990 remote from host",
        "From ann Mon Jan  1 12:00 EST 1990 remote from host ",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_from_with_a_date_separates_messages(line: str, end: str) -> None:
    one = ONE.replace(b"\n", end.encode())
    both = 2 * ((line + end).encode() + one + end.encode())
    assert divided_of(both) == [one, one]


def with_length(raw: bytes, length: int | None = None) -> bytes:
    length = len(raw.partition(b"\n\n")[2]) if length is None else length
    return b"Content-Length: %d\n%b" % (length, raw)


INNER = b"Subject: a\n\nForwarded:\n\n" + ENVELOPE + ONE + b"\nAnn\n"


@pytest.mark.parametrize("block", [7, 1 << 16])
def test_content_length_counts_if_it_leads_to_a_separator_or_the_end(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boxes, "BLOCK", block)
    raw = with_length(INNER)
    for empty in (b"", b"\n"):
        assert divided_of(2 * (ENVELOPE + raw + empty) + ENVELOPE + ONE) == [
            raw if empty else raw[:-1],
            raw if empty else raw[:-1],
            ONE[:-1],
        ]
        assert divided_of(ENVELOPE + raw + empty) == [raw if empty else raw[:-1]]


@pytest.mark.parametrize("wrong", [0, 1, 150, 10_000, 1 << 25, 10**11])
def test_a_wrong_content_length_does_not_count(wrong: int) -> None:
    raw = with_length(INNER, wrong)
    start, end = raw.split(b"\n" + ENVELOPE)
    assert divided_of(2 * (ENVELOPE + raw + b"\n")) == 2 * [start, end]
    both = b"Content-Length: %d\n" % (len(INNER) - 12) + raw
    assert len(divided_of(2 * (ENVELOPE + both + b"\n"))) == 4


def test_from_in_a_file_that_is_no_mbox_is_text() -> None:
    raw = b"Subject: a\n\nHello\n\nFrom here on it is cold.\n\n>From there, too.\n"
    assert divided_of(raw) == [raw]


def test_quoting_is_undone_once() -> None:
    raw = b"Subject: a\n\nFrom a\n>From b\n>>From c\n> From d\n>from e\n"
    assert divided_of(mbox_of([raw])) == [raw]


def test_lines_of_windows_are_kept() -> None:
    data = mbox_of(BOTH).replace(b"\n", b"\r\n")
    assert divided_of(data) == [each.replace(b"\n", b"\r\n") for each in BOTH]


def test_an_empty_message_in_an_mbox_is_one() -> None:
    assert divided_of(ENVELOPE + b"\n" + ENVELOPE + ONE + b"\n") == [b"", ONE]
    assert divided_of(ENVELOPE) == [b""]
    assert divided_of(b"From ") == [b""]


@given(
    st.lists(st.lists(st.sampled_from([b"From ", b">From x", b"a: b", b"x", b"\r", b"\0"]))),
    st.integers(5, 80),
)
def test_whatever_is_put_in_an_mbox_comes_out(texts: list[list[bytes]], block: int) -> None:
    messages = [b"Subject: x\n\n" + b"".join(line + b"\n" for line in text) for text in texts]
    with mock.patch.object(boxes, "BLOCK", block):
        assert divided_of(mbox_of(messages)) == messages


def test_a_huge_mbox_is_read_as_it_comes() -> None:
    class Endless(io.RawIOBase):
        """An mbox of which no more is read than is asked for."""

        taken = 0
        one = mbox_of([ONE]) * 100

        def readable(self) -> bool:
            return True

        def readinto(self, into: memoryview) -> int:
            more = self.one[: len(into)]
            into[: len(more)] = more
            self.taken += len(more)
            return len(more)

    endless = Endless()
    stream = divided("box", io.BufferedReader(endless, len(endless.one)))
    for number in range(10_000):
        _, raw = next(stream)
        assert len(raw) < 2 * len(ONE)
        assert endless.taken < (number + 1) * len(mbox_of([ONE])) + 2 * boxes.BLOCK


@pytest.mark.parametrize(
    "line", [b"a\n", b"\n", b"x" * 999 + b"\n", b"x"], ids=["ab", "", "x", "1"]
)
@pytest.mark.parametrize("start", [ENVELOPE + b"Subject: a\n\n", b"Subject: a\n\n"])
def test_a_huge_message_is_cut(start: bytes, line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "MOST", 10_000)
    after = b"\n\n" + ENVELOPE + ONE if start.startswith(b"From ") else b""
    first, *more = divided_of(start + line * (100_000 // len(line)) + after)
    assert len(first) <= 20_000
    assert first.startswith(b"Subject: a\n\n")
    if after and line != b"x":
        assert more == [ONE.removesuffix(b"\n")]


def test_memory_for_a_huge_message_is_bounded() -> None:
    """Of short lines, each of which would be an object."""
    pytest.importorskip("resource")
    code = (
        "import io, resource, sys\n"
        "from genus.mail import boxes\n"
        "boxes.MOST = 1 << 24\n"
        "class Lines(io.RawIOBase):\n"
        "    left = 1 << 25\n"
        "    def readable(self): return True\n"
        "    def readinto(self, into):\n"
        "        n = min(len(into), self.left) // 2 * 2\n"
        "        into[:n] = b'a\\n' * (n // 2)\n"
        "        self.left -= n\n"
        "        return n\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "file = io.BufferedReader(Lines(), 1 << 20)\n"
        "class Mbox:\n"
        "    read = file.read\n"
        "    def readline(self, most): return b'From x\\n'\n"
        "[(_, raw)] = boxes.divided('box', Mbox())\n"
        "print(len(raw), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    if os.environ.get("GENUS_SANITIZED"):
        pytest.skip("the sanitizer keeps memory that was given back")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    size, kilobytes = map(int, told.split())
    assert 0 <= (1 << 24) - size < 16
    assert kilobytes < 6 * size / 1024


# Files and folders


def test_an_empty_file_holds_no_message(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert found(tmp_path / "empty") == []


def test_an_empty_folder_holds_no_message(tmp_path: Path) -> None:
    assert found(tmp_path) == []
    mailbox.Maildir(tmp_path / "box")
    assert found(tmp_path / "box") == []


@pytest.mark.parametrize("raw", [b"\n", b"\0", b"x", b"\xff\xfe", b"From", b"Subject: a"])
def test_a_file_of_anything_is_a_message(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(raw)
    assert found(tmp_path / "x") == [raw]


def test_what_is_not_there_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no .*nothing\. Name a message"):
        found(tmp_path / "nothing")


def test_a_message_that_vanishes_is_passed_over(tmp_path: Path) -> None:
    """Mail programs rename files when flags change."""
    box = as_maildir(tmp_path)
    files = sorted((box / "cur").iterdir())
    read = messages_at(str(box))
    assert next(read)[0] == str(files[0])
    files[1].unlink()
    assert list(read) == []


def test_a_folder_that_vanishes_is_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1").write_bytes(ONE)
    read = messages_at(str(tmp_path))
    next(read)
    (tmp_path / "b" / "1").unlink()
    (tmp_path / "b").rmdir()
    assert list(read) == []


@pytest.fixture
def nobody() -> Iterator[None]:
    """Be somebody whom files can be kept from."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)


@pytest.mark.usefixtures("nobody")
def test_a_file_that_cannot_be_read_is_an_error() -> None:
    with tempfile.TemporaryDirectory() as folder:
        box = as_files(Path(folder))
        (box / "a.eml").chmod(0)
        with pytest.raises(PermissionError, match=r"a\.eml"):
            found(box)
        with pytest.raises(PermissionError, match=r"a\.eml"):
            found(box / "a.eml")
        (box / "a.eml").unlink()
        (box / "deeper").chmod(0)
        with pytest.raises(PermissionError, match="deeper"):
            found(box)
        with pytest.raises(PermissionError, match="deeper"):
            found(box / "deeper" / "none")
        missed: list[str] = []
        rest = list(messages_in([str(box)], lambda path, error: missed.append(path)))
        assert len(rest) == len(list(box.glob("*.eml")))
        assert missed == [str(box / "deeper")]
        (box / "deeper").chmod(0o700)


def test_a_file_that_breaks_while_it_is_read_is_an_error() -> None:
    if not os.path.exists("/proc/self/mem"):
        pytest.skip("no file that opens and cannot be read")
    with pytest.raises(OSError, match="error"):
        found("/proc/self/mem")


def test_links_that_lead_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    box = as_files(tmp_path)
    (box / "deeper" / "up").symlink_to(box)
    (box / "self").symlink_to(box / "self")
    (box / "gone").symlink_to(box / "nothing")
    (box / "link.eml").symlink_to(box / "a.eml")
    assert sorted(digests(found(box))) == sorted(digests([ONE, ONE, TWO]))
    with pytest.raises(OSError, match="symbolic links"):
        found(box / "self")


def test_a_box_may_itself_be_a_link(tmp_path: Path) -> None:
    box = as_maildir(tmp_path)
    (tmp_path / "link").symlink_to(box)
    assert len(found(tmp_path / "link")) == 2


def test_hidden_and_removed_files_are_left_out(tmp_path: Path) -> None:
    box = as_mh(tmp_path)
    (box / ",3").write_bytes(ONE)
    (box / ".hidden").write_bytes(ONE)
    (box / ".folder").mkdir()
    (box / ".folder" / "1").write_bytes(ONE)
    assert len(found(box)) == 2
    (tmp_path / "other").mkdir()
    maildir = as_maildir(tmp_path / "other")
    (maildir / "tmp" / "half").write_bytes(b"Subject: hal")
    (maildir / "cur" / ".nfs0001").write_bytes(ONE)
    (maildir / "dovecot-uidlist").write_bytes(b"3 V1 N1")
    assert len(found(maildir)) == 2


def test_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    box = as_files(tmp_path)
    os.mkfifo(box / "pipe")  # which would be waited for
    assert len(found(box)) == 2


def test_folders_may_be_deep(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    depth = 1200  # a path that is longer than calls take, and more folders than Python's stack
    try:
        for _ in range(depth):
            os.mkdir("a", dir_fd=here)
            below = os.open("a", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        file = os.open("1", os.O_WRONLY | os.O_CREAT, dir_fd=here)
        os.write(file, ONE)
        os.close(file)
        assert found(tmp_path) == [ONE]
    finally:
        os.close(here)
        subprocess.run(["rm", "-rf", tmp_path / "a"])  # too deep for pytest to remove


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("c", "a", "b/2", "b/1", "d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(ONE)
    expected = [str(tmp_path / name) for name in ("a", "b/1", "b/2", "c", "d")]
    assert names(tmp_path) == expected


def test_names_need_not_be_text(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xfe.eml"
    with open(name, "wb") as file:
        file.write(ONE)
    assert names(tmp_path) == [os.fsdecode(name)]


# stdin


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
    return buffer


@pytest.mark.filterwarnings("ignore:stdin holds an mbox")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ONE, [("stdin", ONE)]),
        (mbox_of(BOTH), [("stdin", unquoted(bytearray(mbox_of(BOTH))))]),
    ],
    ids=["message", "what might be an mbox"],
)
def test_stdin_is_one_message_whatever_it_holds(
    data: bytes, expected: list[tuple[str, bytes]], stdin: io.BytesIO
) -> None:
    stdin.write(data)
    stdin.seek(0)
    assert list(messages_at("-")) == expected


def test_an_mbox_on_stdin_is_one_message_with_a_warning(
    stdin: io.BytesIO, recwarn: pytest.WarningsRecorder
) -> None:
    stdin.write(mbox_of(BOTH))
    stdin.seek(0)
    assert len(list(messages_at("-"))) == 1
    assert "an mbox of 2 messages" in str(recwarn.pop(UserWarning).message)
    stdin.seek(0)
    stdin.truncate()
    stdin.write(mbox_of([TWO]))
    stdin.seek(0)
    assert len(list(messages_at("-"))) == 1
    assert not recwarn.list


def test_an_empty_stdin_holds_no_message(stdin: io.BytesIO) -> None:
    missed: list[str] = []
    assert list(messages_in(["-"], lambda path, error: missed.append(str(error)))) == []
    assert missed == ["There is no message on stdin."]
    with pytest.raises(FileNotFoundError, match="no message on stdin"):
        list(messages_in(["-"]))
