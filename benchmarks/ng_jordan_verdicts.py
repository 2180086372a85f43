"""Who is ahead with few rows and with many, and whether that is what Ng & Jordan (2001) found.

They found naive Bayes ahead first and overtaken by logistic regression in most of their sets, and
not yet overtaken, for want of rows, in some.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from genus.comparing.curves import Curves
from genus.comparing.points import Line
from genus.comparing.verdict import SURE, crossing, lead, mean, zero

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
    by_compare: bool  # whether genus.compare would name a crossing, too


def signs(curves: Curves, a: Line, b: Line, sure: float = SURE) -> list[int]:
    """At each size 1 if the first leads in error, -1 if the second, 0 if that is not clear.

    The verdict of genus.compare, but for two things. It takes repeats for the less independent the
    fewer rows are learned from, by the ratio of rows tested to rows learned from. That is meant for
    splits that leave no row out. Few rows out of many overlap less, not more, so here the ratio is
    that of the largest size throughout. In return a lead must be 90 % sure, not 80: of curves that
    are the same but for chance, one in ten has a lead somewhere then, and two in three with 80.
    """
    found = []
    for s, size in enumerate(curves.sizes):
        like_all = replace(curves, tested=curves.tested * size / curves.sizes[-1])
        one = lead(like_all, "error", a, b, s)
        clear = one is not None and one.sure >= sure
        found.append(int(np.sign(one.gap)) if one is not None and clear else 0)
    return found


def verdict(curves: Curves, other: int = 1, sure: float = SURE) -> Verdict:
    """On naive Bayes, the first line, and another, logistic regression."""
    bayes, logistic = curves.lines[0], curves.lines[other]
    ahead = signs(curves, bayes, logistic, sure)
    clear = np.flatnonzero(ahead)
    compared = crossing(curves, "error", bayes, logistic) is not None
    if len(clear) == 0:
        return Verdict(UNCLEAR, None, compared)
    turns = [(i, j) for i, j in pairwise(clear) if ahead[i] != ahead[j]]
    if not turns:
        return Verdict(NOT_YET if ahead[clear[0]] > 0 else BEHIND, None, compared)
    before, after = turns[-1]
    gaps = mean((logistic.error - bayes.error)[before : after + 1])
    rows = float(np.exp(zero(np.log(curves.sizes[before : after + 1]), gaps)))
    return Verdict(OVERTAKEN if ahead[after] < 0 else REVERSED, rows, compared)
