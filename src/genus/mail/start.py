"""Counts to start from: the project's example messages, which fade as lessons come.

The examples in `examples/mail` are made up, and general: what offers, prizes, threats, letters,
invoices and lists look like. With N_h and N_s messages of ham and spam learned, the E examples
count for a share

    f = E / (E + 2 min (N_h, N_s))

of a message each, so that a filter with few lessons of either class leans on them, and one with
many does not. `scripts/make-mail-start` counts them into `start.npy`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from genus.mail.store.lessons import UNIT, Counts, Tokens

FILE = Path(__file__).with_name("start.npy")
ROW = np.dtype([("token", "<u4"), ("ham", "u1"), ("spam", "u1")])


@dataclass(frozen=True, eq=False)
class Start:
    """Tokens, ascending, how many examples of ham and spam hold each, and how many there are."""

    tokens: Tokens
    counts: NDArray[np.float64]  # (n, 2)
    ham: int
    spam: int

    def share(self, ham: float, spam: float) -> float:
        """What an example counts for beside so many messages of ham and spam."""
        examples = self.ham + self.spam
        return examples / (examples + 2 * min(ham, spam))

    def added(
        self, tokens: Tokens, counts: Counts | NDArray[np.float64], ham: float, spam: float
    ) -> tuple[NDArray[np.float64], float, float]:
        """Counts of tokens (n, 2) and numbers of messages, with those of the examples added."""
        share = self.share(ham, spam)
        at = np.minimum(np.searchsorted(self.tokens, tokens), len(self.tokens) - 1)
        held = (self.tokens[at] == tokens)[:, None]
        more = np.where(held, self.counts[at], 0.0) * (share * UNIT)
        return counts + more, ham + share * self.ham, spam + share * self.spam


@cache
def start() -> Start:
    """Load the counts that come with the package; the first row holds the numbers of examples."""
    rows = np.load(FILE, allow_pickle=False)
    counts = np.column_stack([rows["ham"], rows["spam"]]).astype(float)
    ham, spam = counts[0].astype(int).tolist()
    return Start(rows["token"][1:].astype(np.uint32), counts[1:], ham, spam)
