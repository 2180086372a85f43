"""Compute the log-odds of tokens, and the evidence of their groups.

A token is in n_s of N_s messages of spam and in n_h of N_h messages of ham, including the examples
that a filter starts with (`start.py`). Its log-odds are those of naive Bayes with equal priors,

    w = log (n_s/N_s + ε) − log (n_h/N_h + ε),        ε = 2λ / (N_s + N_h),

with the pseudo-count λ, and 0 if it was never seen. The evidence of a group g is a shrunken mean of
the log-odds of its n_g tokens in the message,

    x_g = b tanh (m_g / b),        m_g = Σ w / (n_g + 5),

because words depend on each other: a long message is no more certain than a short one. The bound b
keeps one group from outvoting all others, whatever a sender puts into it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from genus.mail.start import start
from genus.mail.store import UNIT, Totals
from genus.mail.store.lessons import Counts, Tokens
from genus.mail.tokens import GROUPS, groups_of

Array = NDArray[np.float64]
PSEUDO = 0.01  # λ
SHRINK = 5.0  # tokens of log-odds 0 that are added to every group
BOUND = 2.0  # b


def log_odds(tokens: Tokens, counts: Counts | Array, totals: Totals | tuple[float, float]) -> Array:
    """Return each token's log-odds of spam, (n,), from its counts in ham and spam, (n, 2).

    A message that counts in full adds UNIT to the counts of its tokens.
    """
    ham, spam = totals.weights if isinstance(totals, Totals) else totals
    counts, ham, spam = start().added(tokens, counts, ham, spam)
    ε = 2 * PSEUDO / max(ham + spam, 1.0)
    of_ham = counts[:, 0] / (UNIT * max(ham, 1.0)) + ε
    of_spam = counts[:, 1] / (UNIT * max(spam, 1.0)) + ε
    return np.where(counts.any(axis=1), np.log(of_spam / of_ham), 0.0)


def features(tokens: Tokens, odds: Array, message: NDArray[np.intp], messages: int) -> Array:
    """Return the evidence (messages, groups); `message` is the index of each token's message."""
    cell = message * len(GROUPS) + groups_of(tokens)
    size = messages * len(GROUPS)
    summed = np.bincount(cell, odds, size)
    number = np.bincount(cell, minlength=size)
    return bounded(summed / (number + SHRINK)).reshape(messages, len(GROUPS))


def bounded(mean: Array) -> Array:
    return BOUND * np.tanh(mean / BOUND)
