"""The Mail screen: what the spam filter has learned, and why a message is spam or not."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email import policy
from email.parser import BytesHeaderParser
from itertools import islice
from typing import Any

from genus.display import text as shown
from genus.mail.boxes import divided
from genus.mail.spamfilter import SpamFilter
from genus.mail.stats import numbers_of

MOST_MESSAGES = 200  # of an mbox
MOST_CLUES = 20  # on each side
LEAST_WEIGHT = 0.005  # of a token that is listed
HEADERS = ("From", "Subject", "Date")


@dataclass(frozen=True)
class MailStore:
    """The store of a spam filter, and whether it may be changed."""

    store: str | None
    writes: bool

    @contextmanager
    def open(self) -> Iterator[SpamFilter]:
        """Open the filter for one request: connections belong to one thread."""
        found = SpamFilter.open(self.store, None, create=False)
        try:
            yield found
        finally:
            found.close()


def stats(mail: MailStore) -> dict[str, Any]:
    """Return what the filter has learned, and how much spam it catches."""
    with mail.open() as spam_filter:
        found = numbers_of(spam_filter)
    return {**found, "store": shown.name(found["store"], 120), "writes": mail.writes}


def messages(mail: MailStore, raw: bytes) -> dict[str, Any]:
    """Return the verdict on each of the first messages of a file, and whether it has more."""
    divisions = divided("message", io.BytesIO(raw))
    named = list(islice(divisions, MOST_MESSAGES))
    if not named:
        raise ValueError("There is no message in this file.")
    found = []
    with mail.open() as spam_filter:
        verdicts = spam_filter.check_named(named)
        for (_, message), (_, verdict) in zip(named, verdicts, strict=True):
            found.append(
                {
                    **headers(message),
                    "verdict": verdict.verdict,
                    "p": verdict.probability,
                    "score": verdict.score,
                    "learned": spam_filter.label(message),
                }
            )
    return {"messages": found, "more": next(divisions, None) is not None}


def message_of(raw: bytes, number: int) -> bytes:
    """Return one message of a file."""
    for _, message in islice(divided("message", io.BytesIO(raw)), number, number + 1):
        return message
    raise ValueError("This file has no such message. Open the file again.")


def why(mail: MailStore, raw: bytes, number: int) -> dict[str, Any]:
    """Return the verdict on a message, and its evidence."""
    message = message_of(raw, number)
    with mail.open() as spam_filter:
        found = spam_filter.why(message)
        learned = spam_filter.label(message)
    clues = [
        clue
        for sign in (1, -1)
        for clue in [c for c in found.evidence if c.weight * sign >= LEAST_WEIGHT][:MOST_CLUES]
    ]
    others = found.verdict.score - found.constant - sum(clue.weight for clue in clues)
    return {
        **headers(message),
        "verdict": found.verdict.verdict,
        "p": found.verdict.probability,
        "score": found.verdict.score,
        "reason": found.verdict.reason,
        "constant": found.constant,
        "unknown": found.unknown,
        "others": [len(found.evidence) - len(clues), others],
        "learned": learned,
        "clues": [
            {
                "token": shown.name(clue.token, 48),
                "group": clue.group,
                "where": shown.name(clue.where, 24),
                "weight": clue.weight,
                "known": clue.known,
            }
            for clue in clues
        ],
    }


def correct(mail: MailStore, raw: bytes, number: int, label: str) -> dict[str, Any]:
    """Learn a message as spam or ham, or forget it; return the result."""
    if not mail.writes:
        raise PermissionError("The store is read only. Start the studio with --write to change it.")
    message = message_of(raw, number)
    with mail.open() as spam_filter:
        if label == "forget":
            (done,) = spam_filter.forget([message])
        elif label in ("ham", "spam"):
            (done,) = spam_filter.learn([message], spam=label == "spam")
        else:
            raise ValueError(
                f"A message can be learned as ham or spam, or forgotten; got {label[:40]!r}."
            )
    return {"done": done}


def headers(message: bytes) -> dict[str, Any]:
    """Return the sender, the subject and the date of a message."""
    try:
        parsed = BytesHeaderParser(policy=policy.compat32).parsebytes(message[:65_536])
        return {name.lower(): header(parsed.get(name)) for name in HEADERS}
    except (ValueError, LookupError):
        return dict.fromkeys((name.lower() for name in HEADERS), "")


def header(value: Any) -> str:
    """Return a header as text, with encoded words decoded where possible."""
    from email.errors import MessageError
    from email.header import decode_header, make_header

    if value is None:
        return ""
    try:
        text = str(make_header(decode_header(str(value))))
    except (ValueError, LookupError, MessageError):
        text = str(value)
    return shown.name(text, 120)
