"""Check that other users cannot read passwords, secrets and stores."""

from __future__ import annotations

import os
from pathlib import Path


def loose_mode(path: Path) -> str:
    """Return the octal mode of a file that other users can read or write, or an empty string."""
    if os.name != "posix" or not path.is_file():
        return ""
    mode = path.stat().st_mode & 0o777
    return f"{mode:o}" if mode & 0o077 else ""


def require_private(path: Path) -> None:
    """Raise an error if other users can read or write a file with a secret."""
    if mode := loose_mode(path):
        raise ValueError(f"Other users can access {path} (mode {mode}). Run: chmod 600 {path}.")


def open_to_others(store: str | Path) -> list[str]:
    """Return a warning for each file that others can access: the store and copies beside it."""
    path = Path(store)
    beside = sorted(path.parent.glob("*.sqlite*")) if path.is_file() else []
    return [
        f"Other users can access {each} (mode {mode}). Run: chmod 600 {each}."
        for each in dict.fromkeys([path, *beside])
        if (mode := loose_mode(each))
    ]
