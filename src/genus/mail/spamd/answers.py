"""Answer requests in the protocol of spamd: scores, symbols, reports, marked messages, lessons."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from genus.mail.evidence import Why
from genus.mail.marking import (
    envelope_of,
    header,
    headers_named,
    line_end,
    mark,
    on_top,
    told_in_header,
    unmark,
    without,
)
from genus.mail.spamd.filters import Filters
from genus.mail.spamd.protocol import PONG, Code, Refusal, Request, answer, with_headers
from genus.mail.spamfilter import FORGOTTEN, KNOWN
from genus.mail.verdict import SPAM, Verdict

THRESHOLD = 5.0
PLACES = 6  # spamc reads no more than eight
WITNESSES = 10  # tokens that become symbols
LINES = 20  # tokens of each side in a report; Exim reads 32 kB of it
STARS = 50  # the most that SpamAssassin writes
FORGED = headers_named(b"x-spam-")  # the headers of SpamAssassin
END = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True)
class Answer:
    """The bytes for the client, and for the log the outcome, the score and any refusal's reason."""

    text: bytes
    outcome: str = ""
    score: float | None = None
    reason: str = ""


def answered(request: Request, filters: Filters) -> Answer:
    """Return the answer to a request; raise a Refusal if it cannot be answered."""
    if request.command == "PING":
        return Answer(PONG)
    if request.command == "SKIP":
        return Answer(b"")
    if request.command == "TELL":
        return told(request, filters)
    spam_filter = filters.to_check(request.user)
    if request.command in ("SYMBOLS", "REPORT", "REPORT_IFSPAM"):
        why = spam_filter.why(request.message)
        verdict = why.verdict
        if request.command == "SYMBOLS":
            body = ",".join(symbols(why)) + ("\r\n" if request.version < (1, 3) else "")
        elif request.command == "REPORT" or verdict.verdict == SPAM:
            body = report(why)
        else:
            body = ""
        return judged(request, verdict, body.encode("utf-8", "replace"))
    verdict = spam_filter.check(request.message)
    message = b""
    if request.command in ("PROCESS", "HEADERS"):
        message = (mark if request.is_of_genus else marked)(request.message, verdict)
    if request.command == "HEADERS" and (found := END.search(message)) is not None:
        message = message[: found.end()]
    return judged(request, verdict, message)


def judged(request: Request, verdict: Verdict, body: bytes) -> Answer:
    """Return an answer with a verdict."""
    text = answer(request, spam_header(verdict), body, told_in_header(verdict))
    return Answer(text, verdict.verdict, verdict.score)


def told(request: Request, filters: Filters) -> Answer:
    """Learn or forget a message, and answer with DidSet or DidRemove if that changed anything."""
    setting = places(request, "set")
    removing = places(request, "remove")
    label = request.headers.get("message-class", "").lower()
    if setting == removing:
        raise Refusal(Code.EX_USAGE, "TELL needs either Set: local or Remove: local")
    spam_filter = filters.to_learn(request.user)
    if removing:
        (outcome,) = spam_filter.forget([request.message])
        return Answer(with_headers(["DidRemove: local"] * (outcome == FORGOTTEN)), outcome)
    if label not in ("spam", "ham"):
        raise Refusal(Code.EX_USAGE, "Set needs Message-class: spam or Message-class: ham")
    (outcome,) = spam_filter.learn([request.message], spam=label == "spam")
    return Answer(with_headers(["DidSet: local"] * (outcome != KNOWN)), outcome)


def places(request: Request, name: str) -> bool:
    """Return whether the header `name`, Set or Remove, lists `local`, which means this filter."""
    named = request.headers.get(name, "").lower().replace(",", " ").split()
    return "local" in named


def points(verdict: Verdict) -> float:
    """Convert the score to SpamAssassin's points, of which 5 or more are spam.

    With x the log-odds, the points y are on a branch of the hyperbola (y − 5)(y − 5 − x) = 25: the
    branch above 5 for spam, and the one below 5 for all other mail. So y increases strictly with x
    on each branch, and approaches x + 5 for very high scores of spam and very low ones of other
    mail. A message that is not spam has 0 points at even odds.

    >>> [points(Verdict(v, p, x)) for v, p, x in [("spam", 1, 24), ("unsure", 0.5, 0)]]
    [30.0, 0.0]
    """
    x, y = verdict.score, 0.0
    root = math.hypot(x, 2 * THRESHOLD)
    if verdict.verdict == SPAM:
        y = (root + x) / 2 if x > 0 else 2 * THRESHOLD**2 / (root - x)
        return max(round(THRESHOLD + y, PLACES), THRESHOLD)
    y = (root - x) / 2 if x < 0 else 2 * THRESHOLD**2 / (root + x)
    return min(round(THRESHOLD - y, PLACES), THRESHOLD - 10**-PLACES)


def shown(verdict: Verdict) -> str:
    """Format the points without an exponent, because spamc cannot read one."""
    text = f"{points(verdict):.{PLACES}f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def spam_header(verdict: Verdict) -> str:
    """Return the header of a verdict, such as `Spam: True ; 15.0 / 5.0`."""
    return f"Spam: {verdict.verdict == SPAM} ; {shown(verdict)} / {THRESHOLD}"


def symbols(why: Why) -> list[str]:
    """Return the verdict, such as GENUS_SPAM, and the strongest tokens as letters, digits and _."""
    strongest = sorted(why.evidence, key=lambda each: -abs(each.weight))[: 3 * WITNESSES]
    names = (re.sub(r"[^A-Z0-9]+", "_", each.token.upper()).strip("_") for each in strongest)
    found = dict.fromkeys(name[:40] for name in names if name)
    return [f"GENUS_{why.verdict.verdict.upper()}", *list(found)[:WITNESSES]]


def report(why: Why) -> str:
    """Return the verdict and the evidence as lines of text."""
    verdict = why.verdict
    first = f"genus: {verdict.verdict}, {shown(verdict)} points, {THRESHOLD} required"
    lines = [first, *why.text(LINES).splitlines()]
    # A report may become a header, and ends for some clients at a NUL.
    clean = ("".join(c if c.isprintable() else " " for c in line) for line in lines)
    return "\n".join(clean) + "\n"


def marked(raw: bytes, verdict: Verdict) -> bytes:
    """Return the message with the verdict in X-Genus and X-Spam- headers; old ones are replaced."""
    envelope, rest = envelope_of(raw)
    envelope, own = (without(FORGED, unmark(each)) for each in (envelope, rest))
    spam = verdict.verdict == SPAM
    headers = [
        header(verdict),
        f"X-Spam-Flag: {'YES' if spam else 'NO'}",
        f"X-Spam-Level: {'*' * min(max(int(points(verdict)), 0), STARS)}",
        f"X-Spam-Status: {'Yes' if spam else 'No'}, score={shown(verdict)} "
        f"required={THRESHOLD} tests=GENUS_{verdict.verdict.upper()}",
    ]
    return envelope + on_top([each.rstrip() for each in headers], own, line_end(envelope, rest))
