"""Identify messages by a hash of what the sender wrote, without headers added on the way."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from genus._kernel import sent_head
from genus.mail.message import MOST_LINES, divide, lines_of

MOST, LONGEST = 1000, 1 << 16  # headers that are hashed, and bytes of one

# Verdicts of filters: never evidence, and never part of the identity of a message.
VERDICTS = re.compile(
    r"forged-x-genus.*|x-(genus|crm114|sa-|ham|filter|ms-exchange-organization-scl|virus|amavis"
    r"|mozilla-(status|keys)).*|x-.*(spam|bogosity|bayes|junk).*|spam-.*"
    r"|authentication-results-original"
)
# Headers that mailboxes and programs add to a message that they keep.
ADDED = re.compile(
    r"status|x-status|x-keywords|x-uid|x-uidl|x-imap(base)?|x-evolution.*|x-gmail-labels|x-folder"
    r"|content-length|lines|delivery-date|xref|x-mozilla-.*|x-original-to|delivered-to|x-getmail.*"
    r"|x-sieve.*|x-envelope-(from|to)|return-path"
)


@lru_cache(maxsize=4096)
def is_verdict(name: str) -> bool:
    """Return whether a header, in lower case, holds the verdict of a filter."""
    return VERDICTS.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def is_added(name: str) -> bool:
    """Return whether a header, in lower case, was added by a filter, mailbox or mail program."""
    return is_verdict(name) or ADDED.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def is_unsent(name: str) -> bool:
    """Return whether a header, in lower case, was added after sending: on the way or later."""
    return name == "received" or is_added(name)


def digest(raw: bytes) -> bytes:
    """Return 16 bytes that identify a message, wherever it is stored and whoever judged it.

    >>> sent = digest(b"Subject: hello\\r\\n\\r\\nworld\\r\\n")
    >>> sent == digest(b"From me Nov 16\\nX-Genus: spam\\nSubject: hello\\nStatus: RO\\n\\nworld")
    True
    """
    head, body = divide(lines_of(raw))
    hashed = hashlib.blake2b(digest_size=16)
    hashed.update(sent_head(head, MOST_LINES, MOST, LONGEST, is_unsent))
    hashed.update(b"\n")
    hashed.update(body.rstrip())
    return hashed.digest()
