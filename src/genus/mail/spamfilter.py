"""The filter: learning adds counts, forgetting subtracts them, and checking reads them.

A `Lesson` is what the filter keeps of a learned message: the hashes of its tokens, in a store.
Counts are sums of lessons, so a message can be forgotten, corrected or given less weight exactly,
whatever was learned since. A `Judgement` holds the weights and thresholds. They are fitted to
lessons, each of which is scored by counts that do not include it.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from genus._kernel import rank_ids, release_memory
from genus.mail.evidence import Why, evidence_in
from genus.mail.identity import digest
from genus.mail.judgement import FEWEST, HAM_LOSS, Judgement, judge
from genus.mail.rules import rule_for, rules_in
from genus.mail.sample import Sample
from genus.mail.store import Change, Lesson, Store, StoreError, Totals, open_store
from genus.mail.store.lessons import sums_in_parts
from genus.mail.tokens import VERSION, tokens_of
from genus.mail.verdict import Verdict, label

BATCH_SIZE = 1 << 24  # bytes of lessons in one transaction
BATCH = 10_000  # lessons in one transaction
LOOKED_UP_TOGETHER = 1200  # messages
READ_TOGETHER, READ_SIZE = 200, 1 << 22  # messages that are in memory, and their bytes
LEARNED, KNOWN, CORRECTED, RENEWED = "learned", "known", "corrected", "renewed"
FORGOTTEN, UNKNOWN = "forgotten", "unknown"
NOTE, CHANGES, TOKENS, EXPIRED = "judgement", "changes", "tokens", "expired"
OF_LESSONS = (
    NOTE,
    CHANGES,
    TOKENS,
    EXPIRED,
    "bogofilter",
)  # notes that go when the last lesson does
GOING = 10  # changes that a removed lesson counts for: it may have been a wrong one
MOST_LESSONS = 50_000  # if there are more, the oldest are forgotten
JUDGED_TOGETHER = 100  # messages, which bounds the memory of what is computed
JUDGED = 2000  # lessons of either class that a judgement is fitted to
JUDGED_TOKENS = 1_200_000  # of either class: so many fit into the memory that mail servers allow
MOST_HALVINGS = 8  # UNIT >> 8 is 1
EVER = 1 << 40  # a day that does not come
SECONDS_A_DAY = 86_400
T = TypeVar("T")


class SpamFilter:
    """A spam filter that keeps what it learns in a store.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spam_filter = SpamFilter.open(f"{folder}/mail.sqlite")
    ...     spam_filter.learn([b"Subject: cheap watches", b"Subject: cheap watches"], spam=True)
    ...     spam_filter.check(b"Subject: cheap watches").verdict  # one class is not enough
    ...     spam_filter.close()
    ['learned', 'known']
    'unsure'
    """

    def __init__(self, store: Store, ham_loss: float = HAM_LOSS) -> None:
        self.store = store
        self.ham_loss = ham_loss
        self._judgement: tuple[str, Judgement] | None = None
        self._require_version(store.notes(TOKENS).get(TOKENS))

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        site: str | Path | None = None,
        create: bool = True,
        ham_loss: float | None = None,
    ) -> Self:
        """Open the filter of a store, on top of a site's store if there is one: see `open_store`.

        `ham_loss` is the share of ham that may be classified as spam: by default
        $GENUS_HAM_LOSS, or 0.001.
        """
        return cls(open_store(store, site, create), accepted_loss(ham_loss))

    def close(self) -> None:
        self.store.close()

    def _require_version(self, noted: str | None) -> None:
        """Raise an error if the lessons have tokens of another version."""
        if noted not in (None, str(VERSION)):
            raise StoreError(
                f"{self.store.name} has tokens of version {noted}, but this genus uses version "
                f"{VERSION}. Move the store away, and learn the mail again."
            )

    # Learning

    def learn(self, messages: Iterable[bytes], spam: bool) -> list[str]:
        """Learn messages as spam or as ham, and return what happened to each.

        The outcome is "learned", "known", "corrected" or "renewed". A known message is not counted
        twice; one that has faded counts in full again.
        """
        return self.learn_labelled((raw, spam) for raw in messages)

    def learn_labelled(self, messages: Iterable[tuple[bytes, bool]]) -> list[str]:
        """Learn pairs of a message and whether it is spam: see `learn`.

        Learning both classes at once is faster, because a transaction has a fixed cost.
        """
        outcomes: list[str] = []
        with saying_what_was_done(outcomes):
            for lessons in batches(self._lessons(messages)):
                outcomes += self._learn(lessons)
                lessons.clear()  # the next ones need the memory
            self._keep_bounds()
            self.rejudge()
        return outcomes

    def forget(self, messages: Iterable[bytes]) -> list[str]:
        """Forget messages, and return "forgotten" or "unknown" for each."""
        outcomes: list[str] = []
        with saying_what_was_done(outcomes):
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
        """Return the class that a message was learned as: "ham", "spam" or None."""
        known = self.store.find([digest(message)])
        return next((label(each.spam) for each in known.values()), None)

    def expire(
        self, half_life: float | None = None, keep: int | None = None, today: int | None = None
    ) -> tuple[int, int]:
        """Halve the weight of lessons after each half-life, in days, and forget very old ones.

        A lesson's weight is halved eight times, then the lesson is forgotten. Of the others, at
        most `keep` stay; the oldest of the larger class are forgotten first. Counts remain the
        exact sums of the lessons. Return how many lessons have lost weight, and how many were
        forgotten.

        A clock that is wrong for a day does little harm. Weights depend on the day alone, so the
        next run with a right clock restores them. A lesson is forgotten for its age only if a run
        on another day had already given it the least weight. Lessons of future days are dated as of
        today, unless most lessons have future days: then today's date is probably wrong.
        """
        today = this_day() if today is None else today
        faded = gone = 0
        changed = False
        if half_life is not None:
            before = self.own.notes(EXPIRED).get(EXPIRED)
            confirmed = before not in (None, str(today))
            early: list[bytes] = []
            for batch in batches(self.own.oldest(EVER)):
                with self.store.change() as change:
                    due: dict[int, list[Lesson]] = {}
                    old: list[Lesson] = []
                    for each in change.find([each.digest for each in batch]).values():
                        halvings = int(max(today - each.day, 0) / half_life)
                        if each.day > today:
                            early.append(each.digest)
                        if min(halvings, MOST_HALVINGS) != each.halvings:
                            due.setdefault(min(halvings, MOST_HALVINGS), []).append(each)
                        elif halvings > MOST_HALVINGS and confirmed:
                            old.append(each)
                    unlearn(change, old)
                    for halvings, lessons in due.items():
                        fade(change, lessons, halvings)
                        faded += sum(halvings > each.halvings for each in lessons)
                gone += len(old)
                changed = changed or bool(due)
            self._date(early, today)
            if self.own.totals() != Totals():
                with self.store.change() as change:
                    change.put(EXPIRED, str(today))
        gone += self._keep_bounds(keep)
        if changed or gone:
            self.rejudge(anew=True)
            self.store.tidy()
        return faded, gone

    def _date(self, digests: Sequence[bytes], today: int) -> None:
        """Change future dates of lessons to today, unless most lessons have such dates."""
        totals = self.own.totals()
        if 2 * len(digests) >= totals.ham + totals.spam:
            return
        for batch in batches(digests):
            with self.store.change() as change:
                lessons = list(change.find(batch).values())
                change.drop(lessons)
                change.write([replace(each, day=today) for each in lessons])

    def _lessons(self, messages: Iterable[tuple[bytes, bool]]) -> Iterator[Lesson]:
        """Yield the lessons of messages.

        A message already learned as the same class is not parsed again.
        """
        today = this_day()
        for batch in batches(messages, READ_TOGETHER, READ_SIZE):
            digests = [digest(raw) for raw, _ in batch]
            known = self.store.find(digests)
            for key, (raw, spam) in zip(digests, batch, strict=True):
                if key in known and known[key].spam == spam:
                    yield replace(known[key], day=today, halvings=0)
                else:
                    yield Lesson(key, spam, today, tokens_of(raw))

    def _learn(self, lessons: Sequence[Lesson]) -> list[str]:
        outcomes: list[str] = []
        new: dict[bytes, Lesson] = {}
        old: list[Lesson] = []
        with self.store.change() as change:
            self._require_version(change.get(TOKENS))  # the store may be another than before
            known = change.find([each.digest for each in lessons])
            for each in lessons:
                before = new.get(each.digest) or known.get(each.digest)
                is_same = before is not None and before.spam == each.spam
                if before is not None and is_same and not before.halvings:
                    outcomes.append(KNOWN)
                    continue
                if before is not None and each.digest not in new:
                    old.append(before)
                new[each.digest] = each
                outcomes.append(LEARNED if before is None else RENEWED if is_same else CORRECTED)
            if old:
                change.drop(old)
            if new:
                change.write(list(new.values()))
                shift(change, list(new.values()), old)
                note_changes(change, len(new) + GOING * outcomes.count(CORRECTED))
                change.put(TOKENS, str(VERSION))
        return outcomes

    @property
    def own(self) -> Store:
        """The store that is written to."""
        return self.store.layers[0]

    def _keep_bounds(self, keep: int | None = None) -> int:
        """Forget the oldest lessons beyond `keep`, and return how many were forgotten.

        The larger class loses lessons first, so that it does not displace the other.
        """
        keep = MOST_LESSONS if keep is None else keep
        gone = 0
        if not any(surplus(self.own.totals(), keep).values()):
            return gone  # as nearly always: lessons need not be read
        for batch in batches(self.own.oldest(EVER)):
            with self.store.change() as change:
                beyond = surplus(self.own.totals(), keep)
                if not any(beyond.values()):
                    break
                known = change.find([each.digest for each in batch])
                old = []
                for each in batch:
                    if each.digest in known and beyond[each.spam] > 0:
                        beyond[each.spam] -= 1
                        old.append(known[each.digest])
                unlearn(change, old)
                gone += len(old)
        return gone

    # Judging

    def rejudge(self, anew: bool = False) -> None:
        """Fit weights and thresholds again if `anew`, or if enough lessons have changed."""
        totals, changes = self.store.totals(), self.changes
        if not anew and not self.judgement.is_stale(totals, changes):
            return
        if min(totals.ham, totals.spam) < FEWEST:  # lessons need not be read
            judgement = Judgement(ham=totals.ham, spam=totals.spam, changes=changes)
        else:
            judgement = judge(self._sample(totals), changes)
        with self.store.change() as change:
            if self.own.totals() == Totals():  # an empty store keeps no trace of lessons
                for note in self.own.notes(""):
                    if note in OF_LESSONS:
                        change.put(note, None)
            else:
                change.put(NOTE, judgement.to_json())

    def _sample(self, totals: Totals) -> Sample:
        release_memory()  # reading the lessons takes as much memory as learning took
        lessons = (
            each
            for spam in (False, True)
            for each in no_more_than(JUDGED_TOKENS, self.store.newest(JUDGED, spam))
        )
        sample = Sample.of(lessons, self.store, totals)
        release_memory()
        return sample

    @property
    def changes(self) -> int:
        """The number of changes: 1 for each new lesson, 10 for each forgotten or corrected one."""
        return number_of(self.store.notes(CHANGES).get(CHANGES))

    @property
    def judgement(self) -> Judgement:
        """The weights and thresholds of the last fit.

        If there is a site's store, too, each store has a judgement. The one is used whose numbers
        of lessons at the time of fitting are nearest to the present ones of both stores together.
        """
        noted, *below = [each.notes(NOTE).get(NOTE, "") for each in self.store.layers]
        if below:
            totals = self.store.totals()
            noted = min(
                [noted, *below], key=lambda text: Judgement.from_json(text).distance(totals)
            )
        if self._judgement is None or self._judgement[0] != noted:
            self._require_version(self.store.notes(TOKENS).get(TOKENS))
            self._judgement = noted, Judgement.from_json(noted)
        return self._judgement[1]

    # Checking

    def check(self, message: bytes) -> Verdict:
        """Return the verdict on a message: ham, unsure or spam, and the probability of spam."""
        return next(self.check_many([message]))

    def check_many(self, messages: Iterable[bytes]) -> Iterator[Verdict]:
        """Yield the verdict on each message; tokens of many messages are looked up at once."""
        return (verdict for _, verdict in self.check_named((None, raw) for raw in messages))

    def check_named(self, messages: Iterable[tuple[T, bytes]]) -> Iterator[tuple[T, Verdict]]:
        """Yield the name and the verdict of each named message."""
        rules = rules_in(self.store)
        read = ((name, tokens_of(raw), rule_for(raw, rules)) for name, raw in messages)
        for batch in batches(read, LOOKED_UP_TOGETHER):
            judgement, totals = self.judgement, self.store.totals()
            ids, at = rank_ids(np.concatenate([tokens for _, tokens, _ in batch]))
            counts, end = self.store.counts(ids), 0
            for first in range(0, len(batch), JUDGED_TOGETHER):
                some = batch[first : first + JUDGED_TOGETHER]
                tokens = [each for _, each, _ in some]
                begin, end = end, end + sum(map(len, tokens))
                held = counts[at[begin:end]]
                verdicts = judgement.verdicts(tokens, held, totals, self.ham_loss)
                for (name, _, rule), verdict in zip(some, verdicts, strict=True):
                    yield name, verdict if rule is None else rule.decide(verdict)

    def why(self, message: bytes) -> Why:
        """Return the contribution of each token to the score, and its place in the message."""
        why = evidence_in(message, self.store, self.judgement, self.ham_loss)
        rule = rule_for(message, rules_in(self.store))
        return why if rule is None else replace(why, verdict=rule.decide(why.verdict))


@contextmanager
def saying_what_was_done(outcomes: list[str]) -> Iterator[None]:
    """If the store fails, report what was already committed: a batch is one transaction."""
    try:
        yield
    except StoreError as error:
        number = Counter(outcomes)
        done = [f"{number[each]:,} {each}" for each in (LEARNED, CORRECTED, RENEWED, FORGOTTEN)]
        told = ", ".join(each for each in done if not each.startswith("0 "))
        if not told:
            raise
        raise type(error)(f"{error} Messages done before the error: {told}.") from error


def unlearn(change: Change, lessons: Sequence[Lesson]) -> None:
    """Forget known lessons: undo exactly what learning them did."""
    if lessons:
        change.drop(lessons)
        shift(change, [], lessons)
        note_changes(change, GOING * len(lessons))


def note_changes(change: Change, number: int) -> None:
    change.put(CHANGES, str(number_of(change.get(CHANGES)) + number))


def number_of(note: str | None) -> int:
    """Return the number in a note, or 0 if the note holds something else."""
    return int(note) if note and note.isdecimal() and len(note) < 19 else 0


def surplus(totals: Totals, keep: int) -> dict[bool, int]:
    """Return how many lessons of each class to forget so that `keep` stay.

    Lessons are taken from the larger class until both have the same size.
    """
    beyond = max(totals.ham + totals.spam - keep, 0)
    ham = min(max(totals.ham - totals.spam, 0), beyond)
    spam = min(max(totals.spam - totals.ham, 0), beyond)
    rest = beyond - ham - spam
    return {False: ham + rest // 2, True: spam + rest - rest // 2}


def fade(change: Change, lessons: Sequence[Lesson], halvings: int) -> None:
    """Set how often the weights of known lessons are halved, and change counts accordingly."""
    change.fade(lessons, halvings)
    shift(change, [replace(each, halvings=halvings) for each in lessons], lessons)


def shift(change: Change, more: Sequence[Lesson], less: Sequence[Lesson]) -> None:
    """Add the counts of some lessons, and subtract those of others."""
    for lessons, sign in ((more, 1), (less, -1)):
        for tokens, by in sums_in_parts(lessons, sign):
            change.shift(tokens, by)


def no_more_than(tokens: int, lessons: Sequence[Lesson]) -> Sequence[Lesson]:
    """Return the first lessons, as many as possible with at most `tokens` tokens in total."""
    sizes = np.cumsum([len(each.tokens) for each in lessons])
    return lessons[: int(np.searchsorted(sizes, tokens, side="right"))]


def batches(
    items: Iterable[T], most: int | None = None, most_bytes: int | None = None
) -> Iterator[list[T]]:
    """Yield items in batches of at most `most` (BATCH) items and about `most_bytes` bytes."""
    most, most_bytes = most or BATCH, most_bytes or BATCH_SIZE
    batch: list[T] = []
    size = 0
    for each in items:
        batch.append(each)
        size += size_of(each)
        if len(batch) == most or size > most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def size_of(item: object) -> int:
    """Return the bytes of a message, or of the tokens of a lesson."""
    if isinstance(item, tuple):  # a message with its class or its name
        return size_of(item[0])
    if isinstance(item, Lesson):
        return item.tokens.nbytes
    return len(item) if isinstance(item, bytes) else 0


def accepted_loss(given: float | None) -> float:
    """Return the share of ham that may be lost: the argument, $GENUS_HAM_LOSS or the default."""
    text = os.environ.get("GENUS_HAM_LOSS") if given is None else str(given)
    if not text:
        return HAM_LOSS
    try:
        loss = float(text)
    except ValueError:
        loss = 0.0
    if not 1e-6 <= loss <= 0.5:
        where = " in $GENUS_HAM_LOSS" if given is None else ""
        raise ValueError(
            f"The accepted loss of ham{where} is {text!r}; it must be between 1e-6 and 0.5, such "
            "as 0.001 for one message in a thousand."
        )
    return loss


def this_day() -> int:
    """Return the number of days since 1970, in UTC."""
    return int(time.time()) // SECONDS_A_DAY
