"""Who is ahead with few rows and with many, and whether that is what Ng & Jordan (2001) found.

They found naive Bayes ahead first and overtaken by logistic regression in most of their sets, and
not yet overtaken, for want of rows, in some.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from genus.evaluate.comparing.curves import Curves
from genus.evaluate.comparing.verdict import AHEAD, mean, signs, zero

OVERTAKEN = "yes, overtaken"
NOT_YET = "yes, not overtaken yet"
BEHIND = "no, only logistic regression leads"
REVERSED = "no, the other way round"
UNCLEAR = "neither leads"
ANSWERS = (OVERTAKEN, NOT_YET, UNCLEAR, BEHIND, REVERSED)


@dataclass(frozen=True)
class Verdict:
    """Whether a pair agrees with the paper, and the rows at which its curves cross."""

    agrees: str
    rows: float | None


def verdict(curves: Curves, other: int = 1, sure: float = AHEAD) -> Verdict:
    """On naive Bayes, the first line, and another, logistic regression."""
    bayes, logistic = curves.lines[0], curves.lines[other]
    ahead = signs(curves, "error", bayes, logistic, sure)
    clear = np.flatnonzero(ahead)
    if len(clear) == 0:
        return Verdict(UNCLEAR, None)
    turns = [(i, j) for i, j in pairwise(clear) if ahead[i] != ahead[j]]
    if not turns:
        return Verdict(NOT_YET if ahead[clear[0]] > 0 else BEHIND, None)
    before, after = turns[-1]
    gaps = mean((logistic.error - bayes.error)[before : after + 1])
    rows = float(np.exp(zero(np.log(curves.sizes[before : after + 1]), gaps)))
    return Verdict(OVERTAKEN if ahead[after] < 0 else REVERSED, rows)
