"""Define the verdict on a message."""

from __future__ import annotations

import json
from dataclasses import dataclass

HAM, UNSURE, SPAM = "ham", "unsure", "spam"
UNREAD = "Less than half of the text was read: the rest is beyond the limits."  # a reason
FEW = "too-little-learned"
NEW = "The score is that of spam, but too many tokens of the message are new to the filter."
CODES = {UNREAD: "mostly-unread", NEW: "mostly-new"}


@dataclass(frozen=True)
class Verdict:
    """ham, unsure or spam, with the probability and the log-odds of spam.

    `reason` explains a verdict that does not follow from the score alone. `rule` is "allow" or
    "block" if a rule decided.
    """

    verdict: str
    probability: float
    score: float
    reason: str = ""
    rule: str = ""

    @property
    def code(self) -> str:
        """The reason in one word, such as allow-rule; empty if the score alone decided."""
        if self.rule:
            return f"{self.rule}-rule"
        return CODES.get(self.reason, FEW) if self.reason else ""

    def line(self, path: str) -> str:
        """Return the verdict as a line of JSON."""
        told = {
            "path": path,
            "verdict": self.verdict,
            "probability": self.probability,
            "score": self.score,
        }
        why = {"code": self.code, "reason": self.reason}
        return json.dumps(told | (why if self.reason else {}))


def label(spam: bool) -> str:
    """Return the name of a class."""
    return SPAM if spam else HAM


def printable(text: str) -> str:
    """Replace characters that a terminal would interpret as control codes."""
    return "".join(c if c.isprintable() else "·" for c in text)
