"""The filter: learn, forget, check. Learning adds counts, and forgetting subtracts them.

What is learned of a message is a `Lesson`: hashes of its tokens, in a store. Counts are sums of
lessons, so that a message is forgotten, corrected or made to count for less exactly, whatever was
learned since. How far evidence is to be trusted is a `Judgement`, made of lessons that are judged
by all others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from genus.mail.evidence import Why, evidence_in
from genus.mail.identity import digest
from genus.mail.judgement import Judgement, judge
from genus.mail.store import Change, Lesson, Store, open_store
from genus.mail.store.lessons import sums
from genus.mail.tokens import tokens_of
from genus.mail.verdict import Verdict

BATCH = 500  # messages in one transaction, and looked up together
LEARNED, KNOWN, CORRECTED = "learned", "known", "corrected"
FORGOTTEN, UNKNOWN = "forgotten", "unknown"
NOTE = "judgement"
MOST_LESSONS = 50_000  # beyond which the oldest are forgotten
JUDGED = 2000  # lessons of either class that a judgement is made of
MOST_HALVINGS = 8  # UNIT >> 8 is 1
GROWTH = 0.1  # in lessons of either class since a judgement, after which another is made
SECONDS_A_DAY = 86_400
T = TypeVar("T")


class SpamFilter:
    """A filter over a store.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spam_filter = SpamFilter.open(f"{folder}/mail.sqlite")
    ...     spam_filter.learn([b"Subject: cheap watches", b"Subject: cheap watches"], spam=True)
    ...     spam_filter.check(b"Subject: cheap watches").verdict  # one class is not enough
    ...     spam_filter.close()
    ['learned', 'known']
    'unsure'
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._judgement: tuple[str, Judgement] | None = None

    @classmethod
    def open(
        cls, store: str | Path | None = None, site: str | Path | None = None, create: bool = True
    ) -> Self:
        """A filter over the store of that name, with a site's below it: see `open_store`."""
        return cls(open_store(store, site, create))

    def close(self) -> None:
        self.store.close()

    # Learning

    def learn(self, messages: Iterable[bytes], spam: bool) -> list[str]:
        """Learn messages as spam or as ham: "learned", "known" or "corrected" of each."""
        outcomes: list[str] = []
        for batch in batches(messages):
            outcomes += self._learn([self._lesson(raw, spam) for raw in batch])
        self._keep_bounds()
        self.rejudge()
        return outcomes

    def forget(self, messages: Iterable[bytes]) -> list[str]:
        """Undo what was learned of messages: "forgotten" or "unknown" of each."""
        outcomes = []
        for batch in batches(messages):
            digests = [digest(raw) for raw in batch]
            with self.store.change() as change:
                known = change.find(digests)
                unlearn(change, list(known.values()))
            for each in digests:
                outcomes.append(UNKNOWN if known.pop(each, None) is None else FORGOTTEN)
        self.rejudge()
        return outcomes

    def label(self, message: bytes) -> str | None:
        """As what a message is learned now: "ham", "spam" or None."""
        with self.store.change() as change:
            known = change.find([digest(message)])
        return next(("spam" if each.spam else "ham" for each in known.values()), None)

    def expire(
        self, half_life: float | None = None, keep: int | None = None, today: int | None = None
    ) -> tuple[int, int]:
        """Let lessons count for half after each half-life, in days; how many fade and go.

        A lesson's weight is halved eight times, then it is forgotten. Of the rest, the newest
        `keep` stay. Counts are again exactly the sums of what is left.
        """
        today = this_day() if today is None else today
        faded = gone = 0
        if half_life is not None:
            for batch in batches(self.store.oldest(today - int(half_life) + 1)):
                with self.store.change() as change:
                    known = change.find([each.digest for each in batch]).values()
                    for each in known:
                        halvings = int((today - each.day) / half_life)
                        if halvings > MOST_HALVINGS:
                            unlearn(change, [each])
                            gone += 1
                        elif halvings > each.halvings:
                            fade(change, each, halvings)
                            faded += 1
        gone += self._keep_bounds(keep)
        if faded or gone:
            self.rejudge(anew=True)
        return faded, gone

    def _lesson(self, raw: bytes, spam: bool) -> Lesson:
        return Lesson(digest(raw), spam, this_day(), tokens_of(raw))

    def _learn(self, lessons: Sequence[Lesson]) -> list[str]:
        outcomes, new, wrong = [], {}, []
        with self.store.change() as change:
            known = change.find([each.digest for each in lessons])
            for each in lessons:
                before = known.get(each.digest)
                if each.digest in new or (before is not None and before.spam == each.spam):
                    outcomes.append(KNOWN)
                    continue
                if before is not None:
                    wrong.append(before)
                new[each.digest] = each
                outcomes.append(LEARNED if before is None else CORRECTED)
            if wrong:
                change.drop(wrong)
            if new:
                change.write(list(new.values()))
                shift(change, list(new.values()), wrong)
        return outcomes

    def _keep_bounds(self, keep: int | None = None) -> int:
        """Forget the oldest lessons beyond so many; how many those were."""
        keep = MOST_LESSONS if keep is None else keep
        own = getattr(self.store, "own", self.store)
        totals = own.totals()
        beyond = totals.ham + totals.spam - keep
        gone = 0
        for batch in batches(islice(self.store.oldest(1 << 40), max(beyond, 0))):
            with self.store.change() as change:
                known = list(change.find([each.digest for each in batch]).values())
                unlearn(change, known)
                gone += len(known)
        return gone

    # Judging

    def rejudge(self, anew: bool = False) -> None:
        """Judge again how far evidence is to be trusted, if enough was learned since."""
        totals = self.store.totals()
        if not anew and not self.judgement.is_stale(totals, GROWTH):
            return
        lessons = [each for spam in (False, True) for each in self.store.newest(JUDGED, spam)]
        judgement = judge(lessons, self.store, totals)
        with self.store.change() as change:
            change.put(NOTE, judgement.to_json())

    @property
    def judgement(self) -> Judgement:
        """How far evidence is to be trusted, as it was judged last."""
        noted = self.store.notes(NOTE).get(NOTE, "")
        if self._judgement is None or self._judgement[0] != noted:
            self._judgement = noted, Judgement.from_json(noted)
        return self._judgement[1]

    # Checking

    def check(self, message: bytes) -> Verdict:
        """ham, unsure or spam, and how probable that is."""
        return next(self.check_many([message]))

    def check_many(self, messages: Iterable[bytes]) -> Iterator[Verdict]:
        """What `check` says of each; tokens are looked up for many at once."""
        return (verdict for _, verdict in self.check_named((None, raw) for raw in messages))

    def check_named(self, messages: Iterable[tuple[T, bytes]]) -> Iterator[tuple[T, Verdict]]:
        """The same for messages with names."""
        for batch in batches(messages):
            tokens = [tokens_of(raw) for _, raw in batch]
            judgement, totals = self.judgement, self.store.totals()
            if len(tokens) == 1:
                counts = [self.store.counts(tokens[0])]
            else:
                ids, at = np.unique(np.concatenate(tokens), return_inverse=True)
                ends = np.cumsum([len(each) for each in tokens])[:-1]
                counts = np.split(self.store.counts(ids)[at], ends)
            for (name, _), each, found in zip(batch, tokens, counts, strict=True):
                yield name, judgement.verdict(each, found, totals)

    def why(self, message: bytes) -> Why:
        """The evidence in a message, token by token, and where it stood."""
        return evidence_in(message, self.store, self.judgement)


def unlearn(change: Change, lessons: Sequence[Lesson]) -> None:
    """Forget lessons that are known: exactly undoes learning them."""
    if lessons:
        change.drop(lessons)
        shift(change, [], lessons)


def fade(change: Change, lesson: Lesson, halvings: int) -> None:
    """Let a lesson that is known count for less."""
    change.fade([lesson], halvings)
    shift(change, [replace(lesson, halvings=halvings)], [lesson])


def shift(change: Change, more: Sequence[Lesson], less: Sequence[Lesson]) -> None:
    """Add the counts of some lessons, and subtract those of others."""
    for lessons, sign in ((less, -1), (more, 1)):
        if lessons:
            change.shift(*sums(lessons, sign))


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def this_day() -> int:
    """Days since 1970."""
    return int(time.time()) // SECONDS_A_DAY
