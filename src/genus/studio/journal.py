"""Keep the changes of a session in a file, so that the same command resumes them.

The file is in the user's state folder and readable only by that user. It holds the address of the
server, and edits: row numbers and column names, but no cells.
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


class Journal:
    """The journal of one command."""

    def __init__(self, path: Path, is_fresh: bool = False) -> None:
        self.path = path
        self._found = {} if is_fresh else read(path)
        self.token = str(self._found.get("token") or secrets.token_urlsafe(24))
        self.port = self._found.get("port") if isinstance(self._found.get("port"), int) else None
        self._written = self._found.get("session", {})
        others = self._found.get("others")
        self._others: dict[str, Any] = others if isinstance(others, dict) else {}

    @classmethod
    def of(cls, what: Sequence[str], is_fresh: bool = False, number: int = 1) -> Journal:
        """Return the journal of a command; it is a new one if its files have changed.

        Servers that run the same command at the same time have journals with different numbers.
        """
        known = [os.getcwd(), *what]
        for one in what:
            with suppress(OSError, ValueError):
                status = os.stat(one)
                known.append(f"{status.st_size} {status.st_mtime_ns}")
        name = hashlib.sha256("\0".join(known).encode("utf-8", "surrogateescape")).hexdigest()
        ending = "" if number == 1 else f"-{number}"
        return cls(state_folder() / f"{name[:24]}{ending}.json", is_fresh)

    @property
    def lock(self) -> Path:
        """The file that a server locks while it uses this journal."""
        return self.path.with_suffix(".lock")

    def edits(self, target: str, rows: int) -> list[Edit]:
        """Return the edits of the model for this target and these rows; none for another model."""
        found = self._of_target(target)
        if found.get("rows") != rows:
            return []
        try:
            return [Edit.of_json(one) for one in found["edits"]]
        except (KeyError, TypeError, ValueError):
            return []

    @property
    def changes(self) -> int:
        """The number of recorded changes."""
        found = self._written.get("edits") if isinstance(self._written, dict) else None
        return len(found) if isinstance(found, list) else 0

    @property
    def target(self) -> str | None:
        """The chosen target."""
        found = self._written.get("target") if isinstance(self._written, dict) else None
        return found if isinstance(found, str) else None

    def decision(self, target: str) -> dict[str, Any]:
        """Return the decision rule that was set for this target."""
        found = self._of_target(target).get("decision")
        return found if isinstance(found, dict) else {}

    def _of_target(self, target: str) -> dict[str, Any]:
        """Return what was written for a target: the present one, or an earlier one."""
        present = self._written if isinstance(self._written, dict) else {}
        if present.get("target") == target:
            return present
        found = self._others.get(target)
        return found if isinstance(found, dict) else {}

    def write(
        self, target: str, rows: int, edits: Sequence[Edit], decision: Mapping[str, Any]
    ) -> None:
        """Write the changes so far."""
        listed = [edit.as_json() for edit in edits]
        found = {"target": target, "rows": rows, "edits": listed, "decision": dict(decision)}
        before = self.target
        if before is not None and before != target:
            self._others[before] = self._written
        self._written = found
        self.save()

    def listen(self, port: int) -> None:
        """Record the port, so that an open page finds the server again."""
        self.port = port
        self.save()

    def save(self) -> None:
        """Write the file; if the folder cannot be written to, continue without."""
        found = {
            "token": self.token,
            "port": self.port,
            "session": self._written,
            "others": self._others,
        }
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = self.path.with_suffix(f".{secrets.token_hex(4)}")
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(found, file)
            os.replace(beside, self.path)


def read(path: Path) -> dict[str, Any]:
    """Return the content of a journal; nothing if it is damaged or others could have written it."""
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
    """Return the folder for journals: $GENUS_HOME, or the XDG state folder."""
    home = os.environ.get("GENUS_HOME")
    if home:
        return Path(home) / "studio"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "genus" / "studio"
