"""Score lessons by the counts of other lessons, to measure how reliable the evidence is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genus._kernel import evidence_without_block, rank_ids
from genus.mail.odds import PSEUDO, SHRINK, Array, bounded
from genus.mail.start import start
from genus.mail.store import UNIT, Lesson, Store, Totals
from genus.mail.store.lessons import Counts, Tokens, placed_sums
from genus.mail.tokens import GROUPS


@dataclass(frozen=True, eq=False)
class Sample:
    """Lessons to score: their tokens one after another, and the counts of all lessons.

    Tokens are stored as row numbers of `ids` and `counts`. This saves memory, which mail servers
    limit.
    """

    spam: NDArray[np.bool_]  # (m,)
    weight: Array  # (m,) of UNIT
    sizes: NDArray[np.int64]  # (m,)
    totals: Totals
    at: Tokens  # (n,) the row in ids and counts
    ids: Tokens
    counts: Counts

    @classmethod
    def of(cls, lessons: Iterable[Lesson], store: Store, totals: Totals) -> Sample:
        """Collect lessons, ordered newest first in each class; skip imported and empty ones."""
        kept = [each for each in lessons if not each.is_import and len(each.tokens)]
        spam = np.array([each.spam for each in kept], bool)
        sizes = np.array([len(each.tokens) for each in kept], np.int64)
        weight = np.array([each.counts_for for each in kept], float)
        if len(kept) == totals.ham + totals.spam:  # then their sums are the counts of the store
            ids, counts, at = placed_sums(kept)
        else:
            every = np.concatenate([np.zeros(0, np.uint32), *(each.tokens for each in kept)])
            del kept
            ids, at = rank_ids(every)
            del every
            counts = store.counts(ids)
        return cls(spam, weight, sizes, totals, at, ids, counts)

    def without(self, block: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the evidence (m, groups) of lessons, and their shares of new tokens, (m,).

        Both are computed from counts without the lesson's own block; a token is new if no lesson
        outside this block contains it. The rows of lessons in block -1 are zero.
        """
        ham, spam = self.totals.weights
        examples = start()
        odds, number, new = evidence_without_block(
            self.at,
            self.sizes,
            block,
            self.spam.astype(np.int64),
            self.weight,
            self.ids,
            self.counts,
            examples.tokens,
            examples.counts,
            len(GROUPS),
            (ham, spam, examples.ham, examples.spam, UNIT, PSEUDO),
        )
        x = bounded(odds / (number + SHRINK)).reshape(-1, len(GROUPS))
        return x, new / self.sizes
