"""Give up the rights of root before files of another user are touched.

A user may put links into a Maildir that lead anywhere. With the rights of its owner, a program can
do no more through such a link than the owner can.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

SHARED = stat.S_IWGRP | stat.S_IWOTH


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def act_as_owner(folder: str | Path) -> None:
    """If this process runs as root, switch to the owner of a folder, permanently."""
    if not is_root():
        return
    try:
        owner = os.stat(folder).st_uid
    except OSError:  # whatever reads the folder reports the error
        return
    if not owner:  # then `require_root_only` checks whatever is written to
        return
    import pwd

    from genus.mail.spamd.access import become

    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        raise ValueError(
            f"{folder} belongs to the user ID {owner}, which has no name on this machine. Run this "
            "command as that user, or create the user."
        ) from None
    become(name)
    os.environ.pop("XDG_DATA_HOME", None)  # root's


def require_root_only(paths: Iterable[Path]) -> None:
    """If this process runs as root, raise an error if another user can replace one of the paths."""
    if not is_root():
        return
    for path in paths:
        whole = Path(os.path.abspath(path))
        is_sticky = False  # of the folder above: in it, others can create what is missing
        for part in (*reversed(whole.parents), whole):
            try:
                told = part.lstat()
            except (FileNotFoundError, NotADirectoryError):
                if not is_sticky:
                    break
                problem = "is missing, and other users could create it"
            else:
                is_sticky = bool(told.st_mode & SHARED and told.st_mode & stat.S_ISVTX)
                problem = danger_of(told)
            if problem:
                raise ValueError(
                    "As root, this command follows no links, and writes to no folder of another "
                    f"user: {part} {problem}. Run it as the user whose mail this is."
                )


def danger_of(told: os.stat_result) -> str:
    """Return why a user other than root could replace a file, or an empty string."""
    if stat.S_ISLNK(told.st_mode):
        return "is a symbolic link"
    if told.st_uid:
        return f"belongs to the user ID {told.st_uid}"
    if told.st_mode & SHARED and not told.st_mode & stat.S_ISVTX:
        return "can be changed by other users"
    return ""
