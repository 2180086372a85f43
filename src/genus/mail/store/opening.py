"""The store that a name means."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from genus.mail.store.layers import Layers
from genus.mail.store.protocol import Store
from genus.mail.store.sqlite import SQLiteStore

FILE = "mail.sqlite"


def default_place() -> Path:
    """$GENUS_HOME/mail.sqlite, or the same in the user's data folder."""
    home = os.environ.get("GENUS_HOME")
    return (Path(home).expanduser() if home else data_folder()) / FILE


def data_folder() -> Path:
    """Where programs keep a user's data: by XDG, or by what macOS and Windows do."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "genus"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "genus"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "genus"


def open_store(
    name: str | Path | None = None, site: str | Path | None = None, create: bool = True
) -> Store:
    """A file of SQLite, or postgresql://…; with a site's store below it if one is named.

    Add owner=NAME to the parameters of a PostgreSQL address to tell users apart.
    """
    own = open_one(default_place() if name is None else name, create)
    if site is None:
        return own
    try:
        return Layers(own, [open_one(site, create=False)])
    except BaseException:
        own.close()
        raise


def open_one(name: str | Path, create: bool) -> Store:
    if str(name).startswith(("postgresql://", "postgres://")):
        from genus.mail.store.postgres import PostgresStore

        return PostgresStore(str(name), create)
    return SQLiteStore(Path(name).expanduser(), create)
