"""Keep the changes of a session in a file, so that the same command can resume them.

The file is in the user's state folder and readable only by that user. It holds the address of the
server, the names of dropped files, and edits: row numbers and column names, but no cells.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from genus.studio.edits import Edit

MOST = 64 << 20  # bytes of a journal
MOST_TABLES = 40  # tables and targets whose changes are kept


class Journal:
    """The journal of one command.

    A table is known by an identifier (see `identifier` and `Session`), so that the changes of one
    table are never repeated with another one.
    """

    def __init__(self, path: Path, is_fresh: bool = False) -> None:
        self.path = path
        found = {} if is_fresh else read(path)
        self.token = str(found.get("token") or secrets.token_urlsafe(24))
        self.port = found.get("port") if isinstance(found.get("port"), int) else None
        written = found.get("tables")
        # What was done with each table and target, the last one at the end.
        self._written: list[dict[str, Any]] = (
            [one for one in written if is_entry(one)] if isinstance(written, list) else []
        )

    @classmethod
    def of(cls, what: Sequence[str], is_fresh: bool = False, number: int = 1) -> Journal:
        """Return the journal of a command; a new one if its files have changed.

        Servers that run the same command at the same time have journals with different numbers.
        """
        name = identifier([os.getcwd(), *what])
        ending = "" if number == 1 else f"-{number}"
        return cls(state_folder() / f"{name[:24]}{ending}.json", is_fresh)

    @property
    def lock(self) -> Path:
        """The file that a server locks while it uses this journal."""
        return self.path.with_suffix(".lock")

    def edits(self, table: str, target: str, rows: int) -> list[Edit]:
        """Return the edits for a table and target; none if made for another number of `rows`."""
        found = self._entry(table, target)
        if found.get("rows") != rows:
            return []
        try:
            return [Edit.of_json(one) for one in found["edits"]]
        except (KeyError, TypeError, ValueError):
            return []

    def changes(self, table: str) -> int:
        """Return the number of recorded changes for the last target of a table."""
        return len(self._entry(table).get("edits", []))

    def target(self, table: str) -> str | None:
        """Return the target that was chosen last for a table."""
        return self._entry(table).get("target")

    def decision(self, table: str, target: str) -> dict[str, Any]:
        """Return the decision rule that was set for this table and target."""
        found = self._entry(table, target).get("decision")
        return found if isinstance(found, dict) else {}

    def dropped(self, table: str) -> dict[str, int]:
        """Return the number of changes of each other dropped file that has any, by file name."""
        found = {}
        for one in self._written:
            if one["table"] != table and one["name"] and one["edits"]:
                found[one["name"]] = len(one["edits"])
        return found

    def _entry(self, table: str, target: str | None = None) -> dict[str, Any]:
        """Return the last entry of a table; {} if there is none."""
        for one in reversed(self._written):
            if one["table"] == table and target in (None, one["target"]):
                return one
        return {}

    def write(
        self,
        table: str,
        name: str,
        target: str,
        rows: int,
        edits: Sequence[Edit],
        decision: Mapping[str, Any],
    ) -> None:
        """Write the changes so far; `name` is that of a file dropped on the page, or empty."""
        rest = [one for one in self._written if (one["table"], one["target"]) != (table, target)]
        entry = {
            "table": table,
            "name": name,
            "target": target,
            "rows": rows,
            "edits": [edit.as_json() for edit in edits],
            "decision": dict(decision),
        }
        self._written = [*rest, entry][-MOST_TABLES:]
        self.save()

    def listen(self, port: int) -> None:
        """Record the port, so that an open page can reconnect."""
        self.port = port
        self.save()

    def save(self) -> None:
        """Write the file; go on without it if the folder cannot be written to."""
        found = {"token": self.token, "port": self.port, "tables": self._written}
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = self.path.with_suffix(f".{secrets.token_hex(4)}")
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(found, file)
            os.replace(beside, self.path)


def identifier(what: Sequence[str]) -> str:
    """Return a hash of names and, for names of files, of their sizes and times."""
    known = list(what)
    for one in what:
        with suppress(OSError, ValueError):
            status = os.stat(one)
            known.append(f"{status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\0".join(known).encode("utf-8", "surrogateescape")).hexdigest()


def is_entry(found: Any) -> bool:
    """Return whether a value in a journal has the form that `write` writes."""
    kinds = {"table": str, "name": str, "target": str, "rows": int, "edits": list}
    return isinstance(found, dict) and all(isinstance(found.get(k), t) for k, t in kinds.items())


def read(path: Path) -> dict[str, Any]:
    """Return a journal; {} if it is missing, damaged, too large or open to other users."""
    try:
        status = path.stat()
        if status.st_size > MOST or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
            return {}
        if os.name == "posix" and status.st_mode & 0o077:
            return {}
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def state_folder() -> Path:
    """Return the folder for journals, in $GENUS_HOME or in the XDG state folder."""
    home = os.environ.get("GENUS_HOME")
    if home:
        return Path(home) / "studio"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "genus" / "studio"
