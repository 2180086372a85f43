"""Find the name of a user's store from the name or the address that a request gives."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".sqlite"
MAIL_NAME = Path("/etc/mailname")  # Debian's programs read the name of the mail domain there


@dataclass(frozen=True)
class Names:
    """The domains whose users are those of this host, and the characters before an extension."""

    domains: frozenset[str] = frozenset()
    delimiter: str = "+"

    def of(self, given: str) -> list[str]:
        """Return the names under which a store is looked up, in this order.

        >>> names = Names(frozenset({"example.org"}))
        >>> names.of("ann+lists@example.org")
        ['ann+lists@example.org', 'ann@example.org', 'ann+lists', 'ann']
        >>> names.of("ann@example.com")
        ['ann@example.com']
        """
        local, at, domain = given.rpartition("@") if "@" in given else (given, "", "")
        parts = (local, self.without_extension(local))
        found = [part + at + domain for part in parts]
        if domain.lower() in self.domains:
            found += parts
        return list(dict.fromkeys(found))

    def without_extension(self, local: str) -> str:
        """Return the part before the first delimiter, as Postfix does; it is never empty."""
        ends = (at for at, each in enumerate(local) if at > 0 and each in self.delimiter)
        return local[: next(ends, len(local))]


def own_domains(hostname: str | None = None, mail_name: Path = MAIL_NAME) -> frozenset[str]:
    """Return localhost, the name of this host and its mail name, each also without its first label.

    The host mail.example.com often receives the mail of example.com, which Postfix calls mydomain.
    """
    found = {"localhost", (hostname or socket.gethostname()).lower()}
    with suppress(OSError, UnicodeDecodeError):
        found.add(mail_name.read_text(encoding="ascii").strip().lower())
    found |= {parent for name in found if "." in (parent := name.partition(".")[2])}
    return frozenset(found - {""})


class Folder:
    """The stores in a folder, by the names of their users; names are compared in lower case."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._capitals: dict[str, str] = {}
        self._listed: int | None = None  # when the folder had last changed as it was listed

    def found(self, name: str) -> str | None:
        """Return the name of the store of a user as it is written, or None.

        Servers write new names in lower case. If stores differ in capitals only, the one that is
        written like `name` is the user's, or else the one in lower case.
        """
        for each in (name, name.lower()):
            if self.file(each).exists():
                return each
        return self._with_capitals().get(name.lower())

    def file(self, name: str) -> Path:
        return self.path / f"{name}{SUFFIX}"

    def stores(self) -> Iterator[str]:
        """Yield the names of all stores."""
        if self.path.is_dir():
            names = os.listdir(self.path)
            yield from (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))

    def alike(self) -> list[list[str]]:
        """Return the groups of stores whose names differ in capitals only."""
        groups: dict[str, list[str]] = {}
        for name in sorted(self.stores()):
            groups.setdefault(name.lower(), []).append(name)
        return [group for group in groups.values() if len(group) > 1]

    def _with_capitals(self) -> dict[str, str]:
        """Return the names with capitals by their lower case; list the folder if it has changed."""
        try:
            changed = self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return {}
        if changed != self._listed:
            written = sorted(name for name in self.stores() if name != name.lower())
            self._capitals = {name.lower(): name for name in written}
            self._listed = changed
        return self._capitals
