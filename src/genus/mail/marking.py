"""Write the verdict into a header of a message, and remove forged ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from genus.mail.message import LF_ENVELOPE
from genus.mail.verdict import Verdict

HEADER = "X-Genus"
CR, LF = ord("\r"), ord("\n")
# Put before a message that begins with a folded line, so that the line does not continue X-Genus.
FIRST_LINE = b"X-Genus-First-Line:"
LINE_END = rb"(?:\r*\n|\r|\Z)"  # some programs end lines at a bare \r: it must not hide a header


def headers_named(start: bytes, but: bytes = b"") -> re.Pattern[bytes]:
    """Return a pattern for consecutive headers whose names begin with `start`, in lower case.

    It matches folded lines, too. `but` is an alternative for what follows `start`; it is tried
    first, and ends with a |. Group 1 is where the last header begins, if there are several. The
    pattern starts with a fixed text, which is found fast.
    """
    parts = (but, LINE_END, LINE_END)
    rest = rb"(?:%b[^:\r\n]*:[^\r\n]*%b(?:[ \t][^\r\n]*%b)*+)" % parts
    return re.compile(rb"%b(?<![^\r\n]%b)%b(?:(%b)%b)*+" % (start, start, rest, start, rest))


OURS = headers_named(b"x-genus", but=rb"-first-line:(?:\r*\n|\r)|")
# As in `read`, a bare \r ends a line only in a message without any \n.
ENVELOPE = re.compile(rb"\AFrom [^\r\n]*\r*\n")
EMPTY = re.compile(rb"^\r+\n", re.MULTILINE)
DOUBLED = re.compile(rb"\r+\n\Z")  # a program that ends lines at a bare \r sees an empty line
CR_ENVELOPE = re.compile(rb"\AFrom [^\r]*\r")


def mark(raw: bytes, verdict: Verdict) -> bytes:
    """Put the verdict on top of a message, and remove forged verdicts.

    >>> from genus.mail.verdict import Verdict
    >>> mark(b"X-Genus: ham\\nSubject: hi\\n\\nX-Genus: text", Verdict("spam", 0.998, 6.2))
    b'X-Genus: spam; probability=0.998; score=6.2\\nSubject: hi\\n\\nX-Genus: text'
    """
    envelope, rest = envelope_of(raw)
    top = on_top([header(verdict)], unmark(rest), line_end(envelope, rest))
    return DOUBLED.sub(b"\r\n", unmark(envelope)) + top


def line_end(envelope: bytes, rest: bytes) -> bytes:
    """Return the line ending of a message; a bare \\r is one only if there is no \\n."""
    is_apart = LF_ENVELOPE.fullmatch(envelope) and (b"\n" in rest or b"\r" in rest)
    raw = rest if is_apart else envelope + rest
    if b"\n" not in raw and b"\r" in raw:
        return b"\r"
    return b"\r\n" if b"\r\n" in raw[:2000] else b"\n"


def on_top(headers: Sequence[str], raw: bytes, end: bytes) -> bytes:
    """Put headers, each ended by `end`, on top of a message, so that its first line stays apart."""
    top = b"".join(each.encode("ascii") + end for each in headers)
    if raw.startswith((b" ", b"\t")):
        top += FIRST_LINE + end
    return top + raw


def header(verdict: Verdict) -> str:
    """Return `X-Genus: spam; probability=0.998; score=6.2`; it contains no text of the message."""
    return f"{HEADER}: {told_in_header(verdict)}"


def told_in_header(verdict: Verdict) -> str:
    """Return the value of the header that states a verdict."""
    probability = shown(verdict.probability)
    told = f"{verdict.verdict}; probability={probability}; score={verdict.score:.4g}"
    return told + f"; reason={verdict.code}" * bool(verdict.code)


def shown(probability: float) -> str:
    """Format a probability with enough digits that it is never shown as 0 or 1."""
    text = f"{probability:.6f}".rstrip("0")
    if text in ("0.", "1."):
        return f"{probability:.1e}" if probability < 0.5 else "0.999999"
    return text


def unmark(raw: bytes) -> bytes:
    """Remove X-Genus headers from a message, and leave its body unchanged."""
    return without(OURS, raw)


def without(forged: re.Pattern[bytes], raw: bytes) -> bytes:
    """Remove headers that match a pattern, which is in lower case.

    Some programs end a line at a bare \\r, and others do not. So a match next to a bare \\r may be
    a header or a part of one, and removing it could change where the headers end. Such a match is
    renamed to Forged-… instead. If there are several in a row, only the last one is kept.
    """
    kept, start, has_lf = [], 0, b"\n" in raw
    for found in forged.finditer(raw[: end_of_head(raw)].lower()):
        begin, end = found.span()
        kept.append(raw[start:begin])
        is_bare = has_lf and end < len(raw) and raw[end - 1] == CR and raw[end] != LF
        if is_bare or (begin and raw[begin - 1] == CR):
            kept.append(b"Forged-" + raw[max(found.start(1), begin) : end])
        start = end
    kept.append(raw[start:])
    return b"".join(kept)


def end_of_head(raw: bytes) -> int:
    """Return where the empty line after the headers begins."""
    if b"\n" not in raw:
        end = raw.find(b"\r\r")
        return 0 if raw.startswith(b"\r") else end + 1 if end >= 0 else len(raw)
    if raw.startswith((b"\n", b"\r\n")):
        return 0
    ends = [raw.find(empty) for empty in (b"\n\n", b"\n\r\n")]
    if max(ends) < 0 and (found := EMPTY.search(raw)):  # each \n may have become \r\n twice
        return found.start()
    return min((end + 1 for end in ends if end >= 0), default=len(raw))


def envelope_of(raw: bytes) -> tuple[bytes, bytes]:
    """Return the "From " line of an mbox, and the rest of the message."""
    found = (ENVELOPE if b"\n" in raw else CR_ENVELOPE).match(raw)
    return (b"", raw) if found is None else (found.group(), raw[found.end() :])
