"""Provide the counts that a filter starts with, from the project's example messages.

The examples in `examples/mail` are made up and general: offers, prizes, threats, letters, invoices
and lists. After N_h and N_s messages of ham and spam, each of the E examples has the weight

    f = E / (E + 2 min (N_h, N_s)),

so they matter while there are few lessons of either class, and fade as lessons are added.
`scripts/make-mail-start` counts them into `start.npy`.
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
    """The tokens of the examples, ascending, their counts, and the numbers of examples."""

    tokens: Tokens
    counts: NDArray[np.float64]  # (n, 2), examples of ham and of spam that contain each token
    ham: int
    spam: int

    def share(self, ham: float, spam: float) -> float:
        """Return the weight f of an example, given the numbers of learned ham and spam."""
        examples = self.ham + self.spam
        return examples / (examples + 2 * min(ham, spam))

    def added(
        self, tokens: Tokens, counts: Counts | NDArray[np.float64], ham: float, spam: float
    ) -> tuple[NDArray[np.float64], float, float]:
        """Return counts of tokens (n, 2) and numbers of messages, including the examples."""
        share = self.share(ham, spam)
        at = np.minimum(np.searchsorted(self.tokens, tokens), len(self.tokens) - 1)
        held = (self.tokens[at] == tokens)[:, None]
        more = np.where(held, self.counts[at], 0.0) * (share * UNIT)
        return counts + more, ham + share * self.ham, spam + share * self.spam


@cache
def start() -> Start:
    """Load the counts of the examples; the first row of the file holds their numbers."""
    rows = np.load(FILE, allow_pickle=False)
    counts = np.column_stack([rows["ham"], rows["spam"]]).astype(float)
    ham, spam = counts[0].astype(int).tolist()
    return Start(rows["token"][1:].astype(np.uint32), counts[1:], ham, spam)
