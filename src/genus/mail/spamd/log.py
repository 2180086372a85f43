"""Log one line on stderr for each message and each event, as text or as JSON."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

LONGEST = 200  # characters of a name that came with a message
MESSAGE_ID = re.compile(rb"^message-id:[ \t]*(?:\r?\n[ \t]+)?([^\r\n]*)", re.I | re.M)
HEAD = 65_536  # bytes in which a Message-ID is looked for
BARE = re.compile(r"[!#-<>-~]+")  # what needs no quotes: neither blanks nor = nor "


class Form:
    """Whether every line is a JSON object; the processes of a server inherit it."""

    is_json = False


@dataclass(frozen=True)
class Entry:
    """An entry of the log: a message's user, its verdict or what was learned, and the time taken.

    `reason` says why a request was refused.
    """

    command: str
    identity: str
    user: str
    outcome: str
    score: float | None
    seconds: float
    reason: str = ""

    def line(self, as_json: bool) -> str:
        """Return the entry as a line; values from a message cannot end it or forge a field."""
        told: dict[str, object] = {
            "time": stamp(),
            "id": self.identity,
            "user": self.user,
            "command": self.command,
            "verdict": self.outcome,
            "score": None if self.score is None else round(self.score, 3),
            "ms": round(1000 * self.seconds, 1),
        }
        told |= {"reason": self.reason} if self.reason else {}
        if as_json:
            return json.dumps(told)
        return f"{told.pop('time')} " + " ".join(
            f"{name}={shown(value)}" for name, value in told.items()
        )


def shown(value: object) -> str:
    """Format a value; put it in quotes if it contains blanks, quotes or =.

    >>> shown("<1@example.org>"), shown("two words"), shown(None)
    ('<1@example.org>', '"two words"', '-')
    """
    if value is None or value == "":
        return "-"
    text = str(value)
    return text if BARE.fullmatch(text) else json.dumps(text)


def identity_of(message: bytes) -> str:
    """Return the Message-ID of a message, shortened, or an empty string."""
    head = message[:HEAD]
    end = min((at for at in (head.find(b"\n\n"), head.find(b"\n\r\n")) if at >= 0), default=HEAD)
    found = MESSAGE_ID.search(head[:end])
    return "" if found is None else found[1].strip()[:LONGEST].decode("ascii", "replace")


def stamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def tell(text: str) -> None:
    """Write an error as a line, with the number of the process."""
    announce(text, "error", f"genus mail[{os.getpid()}]: ")


def announce(text: str, level: str = "info", before: str = "") -> None:
    """Write a whole line at once, so that it does not mix with other processes' lines.

    In JSON the level is a field, and `before`, which shows it in text, is left out.
    """
    told = {"time": stamp(), "level": level, "process": os.getpid(), "message": text}
    write(json.dumps(told) if Form.is_json else before + text)


def write(line: str) -> None:
    """Write a line of the log; ignore errors, such as a closed pipe or a full disk."""
    with suppress(OSError):
        os.write(sys.stderr.fileno(), line.encode("utf-8", "replace") + b"\n")
