"""What the filter says of a message."""

from __future__ import annotations

import json
from dataclasses import dataclass

HAM, UNSURE, SPAM = "ham", "unsure", "spam"
UNREAD = "More of the text is beyond the limits, and was not read, than was read."  # a reason
NEW = "It would be spam, but more of it is new to the filter than of most mail that was learned."


@dataclass(frozen=True)
class Verdict:
    """ham, unsure or spam; how probable spam is, and the log-odds, which never saturate.

    `reason` says why the answer is what it is when that is not for what the message says; `rule`
    is "allow" or "block" if a rule decided.
    """

    verdict: str
    probability: float
    score: float
    reason: str = ""
    rule: str = ""

    def line(self, path: str) -> str:
        """As a line of JSON."""
        told = {
            "path": path,
            "verdict": self.verdict,
            "probability": self.probability,
            "score": self.score,
        }
        return json.dumps(told | ({"reason": self.reason} if self.reason else {}))


def label(spam: bool) -> str:
    """The name of a class."""
    return SPAM if spam else HAM


def printable(text: str) -> str:
    """A text as it can be shown: a terminal would obey control characters."""
    return "".join(c if c.isprintable() else "·" for c in text)
