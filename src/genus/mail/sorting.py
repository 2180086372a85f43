"""Move spam, and optionally unsure messages, out of a Maildir into folders of their own."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from genus.mail.boxes import MOST, Missed, files_in, is_maildir, passing_over
from genus.mail.ownership import require_root_only
from genus.mail.spamfilter import SpamFilter
from genus.mail.verdict import SPAM, UNSURE, Verdict

PARTS = ("tmp", "new", "cur")  # of a Maildir
SUBFOLDER = "maildirfolder"  # a file that marks a subfolder in Maildir++, the layout with dots


@dataclass(frozen=True)
class Sorted:
    """A message, its verdict, and its new place if it was moved."""

    path: Path
    verdict: Verdict
    target: Path | None


def sort_maildir(
    spam_filter: SpamFilter,
    maildir: str,
    junk: str,
    unsure: str | None = None,
    dry_run: bool = False,
    missed: Missed | None = None,
) -> Iterator[Sorted]:
    """Move spam to `junk` and unsure messages to `unsure`; yield each message with its verdict.

    `junk` and `unsure` are folders of the Maildir (.Junk), or paths. A rename within a file system
    is atomic, and the name holds the flags (":2,S"). If a message cannot be read, or a file of that
    name already exists, the message stays and is not yielded. Then `missed` is called, or, if it is
    None, an error is raised. Root sorts only what no other user can replace by links.
    """
    folder = Path(maildir)
    if not is_maildir(folder):
        raise ValueError(
            f"{maildir} is not a Maildir: it has no folders cur and new. Name a Maildir."
        )
    targets = {SPAM: folder_of(folder, junk)}
    if unsure is not None:
        targets[UNSURE] = folder_of(folder, unsure)
    places = (folder, *targets.values())
    require_root_only(each / part for each in places for part in (*PARTS, SUBFOLDER))
    files = [Path(each) for each in files_in(folder, missed)]
    there = ((path, raw) for path in files if (raw := content(path, missed)) is not None)
    for path, verdict in spam_filter.check_named(there):
        target = targets.get(verdict.verdict)
        if target is None:
            yield Sorted(path, verdict, None)
            continue
        place = target / path.parent.name / path.name
        moved = False
        with passing_over(path, missed):
            if is_free(path, place):
                if not dry_run:
                    make_maildir(target)
                moved = dry_run or move(path, place)
        if not moved:
            continue
        yield Sorted(path, verdict, place)


def folder_of(maildir: Path, name: str) -> Path:
    """Return a folder of the Maildir by its name, or any folder by its path.

    In Maildir++, all folders are in the top-level Maildir, and their names begin with a dot.
    """
    bare = name.rstrip(os.sep)
    if bare in ("cur", "new", "tmp", ".", "..", ""):
        raise ValueError(f"{name!r} is a part of the Maildir. Name a folder such as .Junk.")
    top = maildir.absolute().parent if is_subfolder(maildir) else maildir
    found = Path(name).expanduser() if os.sep in bare else top / bare
    if os.sep not in bare and not bare.startswith(".") and has_dots(top) and not is_maildir(found):
        raise ValueError(
            f"The folders of {top} begin with a dot (Maildir++), so mail programs would not see a "
            f"folder {bare}. Name .{bare} instead."
        )
    if is_subfolder(found.parent):
        raise ValueError(
            f"{found.parent} is a folder of a Maildir++, which can have no folders inside. Name "
            f"{found.parent.parent / (found.parent.name + found.name)}, for example."
        )
    if found.exists() and found.resolve() == maildir.resolve():
        raise ValueError(f"The folder {name!r} is the Maildir itself. Name another folder.")
    return found


def is_subfolder(folder: Path) -> bool:
    """Return whether a folder is a subfolder of a Maildir++."""
    folder = folder.absolute()
    if not is_maildir(folder) or not is_maildir(folder.parent):
        return False
    return folder.name.startswith(".") or (folder / SUBFOLDER).exists()


def has_dots(maildir: Path) -> bool:
    """Return whether a Maildir has subfolders in the layout of Maildir++."""
    return any(each.name.startswith(".") and is_maildir(each) for each in maildir.iterdir())


def content(path: Path, missed: Missed | None) -> bytes | None:
    """Return the bytes of a message, or None if it no longer exists or cannot be read."""
    with passing_over(path, missed), suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(MOST)
    return None


def make_maildir(folder: Path) -> None:
    for part in PARTS:
        (folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.name.startswith("."):
        (folder / SUBFOLDER).touch(mode=0o600)  # tells deliverers that it is a subfolder


def is_free(path: Path, place: Path) -> bool:
    """Return whether a file still exists; raise an error if it cannot be moved to `place`."""
    if not os.path.lexists(path):  # another run has moved it
        return False
    if os.path.lexists(place):
        raise FileExistsError(f"{path} stays where it is: {place} already exists.")
    parts = (place.parent.parent / part for part in PARTS)
    there = (next(x for x in (part, *part.parents) if os.path.lexists(x)) for part in parts)
    for folder in dict.fromkeys((path.parent, *there)):
        if not folder.is_dir():
            raise NotADirectoryError(f"{path} stays where it is: {folder} is not a folder.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{path} stays where it is: {folder} cannot be written to.")
    return True


def move(path: Path, place: Path) -> bool:
    """Move a file to a free place; return whether the file still existed."""
    try:
        os.rename(path, place)
    except FileNotFoundError:
        if path.exists():
            raise
        return False
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return carry(path, place)
    return True


def carry(path: Path, place: Path) -> bool:
    """Move a file to another file system: write it to tmp there, then rename it."""
    apart = place.parent.parent / "tmp" / f"{secrets.token_hex(8)}.{place.name}"[:200]
    try:
        with path.open("rb") as source, apart.open("xb") as file:
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
        shutil.copystat(path, apart)  # the time of a file is when the message arrived
        os.rename(apart, place)
    except FileNotFoundError:
        apart.unlink(missing_ok=True)
        if path.exists():
            raise
        return False
    except BaseException:
        apart.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
    return True
