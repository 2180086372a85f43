"""Open a store by its name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from genus.mail.store.layers import Layers
from genus.mail.store.protocol import NoStore, Store, StoreError
from genus.mail.store.sqlite import SQLiteStore

FILE = "mail.sqlite"


def default_place() -> Path:
    """Return the path of mail.sqlite in $GENUS_HOME, or in the user's data folder."""
    home = os.environ.get("GENUS_HOME")
    return (expanded(home) if home else data_folder()) / FILE


def data_folder() -> Path:
    """Return the folder for a user's data: by XDG, or as usual on macOS and Windows."""
    if sys.platform == "darwin":
        return expanded("~/Library/Application Support/genus")
    if sys.platform == "win32":
        return expanded(os.environ.get("LOCALAPPDATA") or "~/AppData/Local") / "genus"
    named = os.environ.get("XDG_DATA_HOME", "")
    # By the specification, a relative path is to be ignored.
    return expanded(named if os.path.isabs(named) else "~/.local/share") / "genus"


def expanded(path: str | Path) -> Path:
    """Expand ~ in a path; raise an error if there is no home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise StoreError(
            f"Cannot expand {str(path)!r}: this user has no home folder, and HOME is not set. "
            "Name the store with --store FILE, or set GENUS_HOME to a folder."
        ) from None


def open_store(
    name: str | Path | None = None, site: str | Path | None = None, create: bool = True
) -> Store:
    """Open a store (an SQLite file or postgresql://…), on top of a site's store if one is named.

    If the store does not exist and `create` is false, only the site's store is opened. The
    parameter owner=NAME in a PostgreSQL address gives each user a separate store.
    """
    name = default_place() if name is None else name
    if site is not None and is_same(name, site):
        raise StoreError(
            f"{site} is both the store and the site's store, so its counts would be added twice. "
            "Leave out --site, or name another store with --store."
        )
    try:
        own = open_one(name, create)
    except NoStore:
        if site is None:
            raise
        return open_one(site, create=False)  # the site's store is enough to check mail
    if site is None:
        return own
    try:
        return Layers(own, [open_one(site, create=False)])
    except BaseException:
        own.close()
        raise


def is_same(one: str | Path, other: str | Path) -> bool:
    """Return whether two names mean the same store."""
    if is_postgres(one) or is_postgres(other):
        return str(one) == str(other)
    files = expanded(one), expanded(other)
    try:
        return files[0].samefile(files[1])
    except OSError:  # one of them does not exist, or cannot be seen
        return os.path.realpath(files[0]) == os.path.realpath(files[1])


def is_postgres(name: str | Path) -> bool:
    return str(name).startswith(("postgresql://", "postgres://"))


def open_one(name: str | Path, create: bool) -> Store:
    if is_postgres(name):
        from genus.mail.store.postgres import PostgresStore

        return PostgresStore(str(name), create)
    return SQLiteStore(expanded(name), create)
