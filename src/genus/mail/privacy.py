"""Files that are nobody else's affair: passwords, secrets and stores."""

from __future__ import annotations

import os
from pathlib import Path


def loose_mode(path: Path) -> str:
    """The mode of a file that other users can read or write, in octal digits; else nothing."""
    if os.name != "posix" or not path.is_file():
        return ""
    mode = path.stat().st_mode & 0o777
    return f"{mode:o}" if mode & 0o077 else ""


def require_private(path: Path) -> None:
    """Refuse a file with a secret that other users can read or write."""
    if mode := loose_mode(path):
        raise ValueError(f"{path} has mode {mode}: others can read it. Do: chmod 600 {path}.")


def open_to_others(store: str | Path) -> list[str]:
    """Say of a store, and of copies of it in the same folder, that others can read them."""
    path = Path(store)
    beside = sorted(path.parent.glob("*.sqlite*")) if path.is_file() else []
    return [
        f"{each} has mode {mode}: others can read what was learned. Do: chmod 600 {each}."
        for each in dict.fromkeys([path, *beside])
        if (mode := loose_mode(each))
    ]
