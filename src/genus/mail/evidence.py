"""Explain a verdict: a message's tokens, their contributions, and where they occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genus.display.text import count
from genus.mail.judgement import Judgement
from genus.mail.marking import shown
from genus.mail.message import read
from genus.mail.odds import log_odds
from genus.mail.store import UNIT, Store
from genus.mail.store.lessons import Tokens
from genus.mail.tokens import CUT_TOKENS, GROUPS, LETTER, clean, groups_of, pieces_of, tokens_of
from genus.mail.verdict import Verdict, printable
from genus.text.hashes import KINDS, ids_of

LONGEST = 40  # characters of a token that are shown


@dataclass(frozen=True)
class Clue:
    """A token, its group, its first position in the message, and its contribution to the score.

    `ham` and `spam` are the total weights of the learned messages that contain the token.
    """

    token: str
    group: str
    where: str
    weight: float
    ham: float
    spam: float

    @property
    def known(self) -> str:
        """How many learned messages contain the token, or that only example messages do.

        >>> Clue("prize", "words", "part 1:1", 0.2, 0.0, 0.0).known
        'only in the examples'
        """
        if not self.ham and not self.spam:
            return "only in the examples"
        return f"in {self.spam:g} spam, {self.ham:g} ham"


@dataclass(frozen=True)
class Why:
    """A verdict, the constant of the score, and the contributions of tokens, largest first."""

    verdict: Verdict
    evidence: list[Clue]
    constant: float
    unknown: int  # tokens that were never seen before, and contribute nothing

    def text(self, most: int = 20) -> str:
        """Return the explanation as lines of text, with up to `most` tokens for each class."""
        verdict = self.verdict
        lines = [
            f"{verdict.verdict}: probability {shown(verdict.probability)}, score "
            f"{verdict.score:+.3f}, of which {self.constant:+.3f} is the same for all messages"
        ]
        if verdict.reason:
            lines.append(verdict.reason)
        for title, sign in (("for spam", 1), ("against", -1)):
            side = [clue for clue in self.evidence if clue.weight * sign > 0]
            if not side:
                continue
            total = sum(clue.weight for clue in side)
            lines.append(f"{title}: {count(len(side), 'token')}, {total:+.3f}")
            for clue in side[:most]:
                lines.append(
                    f"  {clue.weight:+.3f}  {clue.group:9}  {clue.token:{LONGEST}}  "
                    f"{clue.where:12}  {clue.known}"
                )
        new = "is new and adds" if self.unknown == 1 else "are new and add"
        lines.append(f"{count(self.unknown, 'token')} {new} nothing.")
        return "\n".join(line.rstrip() for line in lines)


def evidence_in(raw: bytes, store: Store, judgement: Judgement, ham_loss: float) -> Why:
    """Explain the verdict on a message: the contributions and the constant add up to the score."""
    tokens, totals = tokens_of(raw), store.totals()
    counts = store.counts(tokens)
    odds = log_odds(tokens, counts, totals)
    per_token = judgement.shares(tokens, odds)
    verdict = judgement.verdict(tokens, counts, totals, ham_loss)
    spelt = spellings(raw, tokens)
    clues = [
        Clue(*spelt.get(int(token), ("?", GROUPS[group], "?")), float(weight), ham, spam)
        for token, group, weight, (ham, spam) in zip(
            tokens, groups_of(tokens), per_token, (counts / UNIT).tolist(), strict=True
        )
        if weight
    ]
    clues.sort(key=lambda clue: -abs(clue.weight))
    unknown = int(np.count_nonzero(odds == 0) - np.count_nonzero(counts[odds == 0].any(axis=1)))
    return Why(verdict, clues, judgement.constant, unknown)


def spellings(raw: bytes, tokens: Tokens) -> dict[int, tuple[str, str, str]]:
    """Map each token id of a message to the token, its group and its first position."""
    pieces = pieces_of(read(raw))
    found: dict[int, tuple[str, str, str]] = {}
    whole = [*pieces.tokens, CUT_TOKENS]
    for token, each in zip(whole, ids_of(whole).tolist(), strict=True):
        group = GROUPS[LETTER.index(token[0])]
        found.setdefault(each, (printable(token[1:][:LONGEST]), group, group))
    for stretch in pieces.texts:
        read_as, places = stretch.text, stretch.plan.places(stretch.text)
        ids, first = np.unique(places[:, 0], return_index=True)
        places = places[first[np.isin(ids, tokens)]]
        line_ends = np.flatnonzero(np.frombuffer(read_as, np.uint8) == ord("\n"))
        lines = np.searchsorted(line_ends, places[:, 1]) + 1
        for (each, start, end), line in zip(places.tolist(), lines.tolist(), strict=True):
            if each not in found:
                spelt = clean(read_as[start:end].decode("utf-8", "replace"))
                where = stretch.where if stretch.where == "subject" else f"{stretch.where}:{line}"
                spelt = spelt.replace("\1u", "(link)").replace("\1m", "(address)")
                found[each] = printable(spelt[:LONGEST]), GROUPS[each % KINDS], where
    return found
