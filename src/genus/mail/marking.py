"""The header that says what the filter thinks; forged ones are removed."""

from __future__ import annotations

import re

from genus.mail.verdict import Verdict

HEADER = "X-Genus"
# A header whose name begins so, and the lines that it is folded over. A bare \r ends a line for
# some programs, so that it must not hide a forged one.
OURS = re.compile(
    rb"(?i)(?:(?<=[\r\n])|\A)x-genus[^:\r\n]*:[^\r\n]*(?:\r?\n|\r|\Z)"
    rb"(?:[ \t][^\r\n]*(?:\r?\n|\r|\Z))*"
)
END_OF_HEAD = re.compile(rb"\n\r?\n")


def mark(raw: bytes, verdict: Verdict) -> bytes:
    """The message with the verdict on top, and none that somebody else has put there.

    >>> from genus.mail.verdict import Verdict
    >>> mark(b"X-Genus: ham\\nSubject: hi\\n\\nX-Genus: text", Verdict("spam", 0.998, 6.2))
    b'X-Genus: spam; probability=0.998; score=6.2\\nSubject: hi\\n\\nX-Genus: text'
    """
    envelope, rest = envelope_of(raw)
    end = b"\r\n" if b"\r\n" in raw[:2000] else b"\n"
    return envelope + header(verdict).encode("ascii") + end + unmark(rest)


def header(verdict: Verdict) -> str:
    """`X-Genus: spam; probability=0.998; score=6.2`; nothing of the message is in it."""
    probability = shown(verdict.probability)
    return f"{HEADER}: {verdict.verdict}; probability={probability}; score={verdict.score:.4g}"


def shown(probability: float) -> str:
    """Never 0 or 1: as many digits as it takes to tell it from them."""
    text = f"{probability:.6f}".rstrip("0")
    if text in ("0.", "1."):
        return f"{probability:.1e}" if probability < 0.5 else "0.999999"
    return text


def unmark(raw: bytes) -> bytes:
    """The message without headers of ours; its text is left alone."""
    found = END_OF_HEAD.search(raw)
    at = len(raw) if found is None else found.start() + 1
    if raw[:1] in (b"\n", b"\r"):
        at = 0
    return OURS.sub(b"", raw[:at]) + raw[at:]


def envelope_of(raw: bytes) -> tuple[bytes, bytes]:
    """The "From " line that an mbox begins a message with, and the rest."""
    if not raw.startswith(b"From "):
        return b"", raw
    line, end, rest = raw.partition(b"\n")
    return line + end, rest
