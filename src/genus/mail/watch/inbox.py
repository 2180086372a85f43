"""Judge each message that arrives in the inbox once, and move it if it is spam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from imaplib import IMAP4

from genus.mail.imap import SEEN, Letter, Status, printable
from genus.mail.spamfilter import SpamFilter
from genus.mail.verdict import HAM, NEW, SPAM, UNSURE, Verdict
from genus.mail.watch.junk import MOVED, Junk, hashed
from genus.mail.watch.lessons import Lessons
from genus.mail.watch.notes import MOST, Gone, Met, Place, now
from genus.mail.watch.renumbering import next_of, renumber
from genus.mail.watch.session import Session

GRACE = 2.0  # seconds within which a client that moves by copying deletes the original


class Inbox:
    """The folder that is sorted."""

    def __init__(
        self, session: Session, spam_filter: SpamFilter, junk: Junk, lessons: Lessons
    ) -> None:
        self.session, self.notes, self.filter = session, session.notes, spam_filter
        self.junk, self.lessons = junk, lessons
        self.folder, self.all = session.plan.inbox, session.plan.all
        self.seen: Status | None = None  # the status at the last look

    def look(self) -> bool:
        """Judge new messages, and return whether any was moved."""
        validity = self.session.connection.examine(self.folder)
        self.seen = self.session.connection.status(self.folder)
        place = self.notes.places.get("inbox")
        if place is None or place.folder != self.folder:
            place = self.meet(validity)
        elif place.validity != validity:
            place = self.renumber(place, validity)
        self.settle_moves()
        since = 1 if self.all else place.next
        known = {uid for uid, met in self.notes.inbox.items() if met.digest or not self.all}
        fresh = [uid for uid in self.session.connection.uids(since) if uid not in known]
        moved = False
        for batch in self.session.connection.letters(fresh):
            moved = self.handle(batch, validity) or moved
            if self.session.ending.came:
                return moved
        self.all = False
        return moved

    def settle_moves(self) -> None:
        """Note messages that left the inbox during a move that a crash interrupted."""
        present = set(self.session.connection.uids()) if self.notes.moving else set()
        for name, moving in list(self.notes.moving.items()):
            for uid in set(moving.uids) - present:
                self.notes.dismiss(name, uid)
                for stamp in moving.stamps:
                    self.notes.gone[f"{MOVED}-{uid}"] = Gone(stamp, name, now())

    def meet(self, validity: int) -> Place:
        """Note the messages of an inbox seen for the first time, so that they are left alone."""
        for key in list(self.notes.inbox):
            del self.notes.inbox[key]
        present = self.session.connection.uids()
        newest = 0
        for each in self.session.connection.heads(present[-MOST:]):
            self.notes.inbox[each.uid] = Met(each.stamp)
            newest = max(newest, each.date)
        place = Place(self.folder, validity, next_of(present), newest=newest)
        self.notes.places["inbox"] = place
        self.notes.keep()
        self.junk.date()
        if present and not self.all:
            self.session.say(left_alone(len(present), self.folder))
        return place

    def renumber(self, place: Place, validity: int) -> Place:
        """Recognise messages that the server has renumbered; unknown later ones count as new."""
        present = self.session.connection.uids()
        before = Counter(met.stamp for met in self.notes.inbox.values())
        here = Counter(each.stamp for each in self.session.connection.heads(present[-MOST:]))
        new, unknown = renumber(
            self.session, self.notes.inbox, self.folder, validity, present[-MOST:]
        )
        since = next_of(present)
        for each in self.session.connection.heads(unknown):
            # If no more messages have this stamp than before, they are the same ones.
            if each.date >= place.newest and here[each.stamp] > before[each.stamp]:
                del new[each.uid]
                since = min(since, each.uid)
        for uid, met in new.items():
            self.notes.inbox[uid] = met
        for name, moving in list(self.notes.moving.items()):
            self.notes.moving[name] = replace(moving, uids=[-1 for _ in moving.uids])
        place = replace(place, validity=validity, next=since)
        self.notes.places["inbox"] = place
        self.notes.keep()
        self.session.say(f"The server has renumbered the messages of {self.folder}.")
        return place

    def handle(self, batch: Sequence[Letter], validity: int) -> bool:
        """Judge messages unless they come from Junk, and return whether any was moved."""
        names = {each.uid: hashed(each) for each in batch}
        self.await_departures(batch, names)
        judged = {met.digest for met in self.notes.inbox.values()} - {""}
        stamps = self.junk.stamps()
        pending, halves = [], []
        for letter in batch:
            name = names[letter.uid]
            gone = self.junk.left(letter, name) if letter.stamp in stamps else []
            twin = self.junk.twin(letter, name) if letter.stamp in stamps else None
            if gone:
                self.junk.take_out(gone[0], name, self.folder, validity, letter)
                self.met(letter, name)
            elif twin is not None and twin.own == letter.uid:
                halves.append(letter.uid)
            elif twin is not None and SEEN in letter.flags:
                self.session.tell(
                    self.folder,
                    letter.uid,
                    f"a copy from {self.junk.folder}, left alone",
                )
                self.met(letter, name)
            elif name in judged:
                self.met(letter, name)
                self.lessons.follow(name, self.folder, validity, letter)
            else:
                pending.append(letter)
        if halves and not self.session.plan.dry:
            self.session.connection.delete(halves, self.folder)
        moved = self.judge(pending, names)
        place = self.notes.places["inbox"]
        self.notes.places["inbox"] = replace(
            place,
            next=max(place.next, batch[-1].uid + 1),
            newest=max(place.newest, *(each.date for each in batch)),
        )
        self.notes.keep()
        return moved or bool(halves)

    def await_departures(self, batch: Sequence[Letter], names: dict[int, str]) -> None:
        """Give a client that moves by copying GRACE seconds to delete the originals."""
        stamps = self.junk.stamps()
        suspects = [each for each in batch if each.stamp in stamps]
        self.junk.read_stamped({each.stamp for each in suspects})
        for seconds in (0.0, GRACE):
            twins = ((self.junk.twin(each, names[each.uid]), each) for each in suspects)
            if all(twin is None or twin.own == each.uid for twin, each in twins):
                return
            self.session.ending.wait(seconds)
            self.junk.look(anyway=True)
            self.session.connection.examine(self.folder)

    def judge(self, letters: Sequence[Letter], names: dict[int, str]) -> bool:
        verdicts = list(self.filter.check_many([each.raw for each in letters]))
        spam, outcomes = [], []
        for letter, verdict in zip(letters, verdicts, strict=True):
            name = names[letter.uid]
            label = self.filter.label(letter.raw) if verdict.verdict == SPAM else None
            if verdict.verdict == SPAM and label != HAM:
                self.notes.intend(name, letter)
                spam.append(letter.uid)
            else:
                self.notes.dismiss(name, letter.uid)
                self.met(letter, name, now(), is_doubtful(verdict))
            outcomes.append((letter.uid, self.outcome(verdict, label)))
        self.notes.keep()
        if spam and not self.session.plan.dry:
            self.move(spam)
        for uid, outcome in outcomes:
            self.session.tell(self.folder, uid, outcome)
        return bool(spam)

    def move(self, uids: Sequence[int]) -> None:
        try:
            self.session.connection.move(uids, self.folder, self.junk.folder)
        except IMAP4.error as error:
            if "TRYCREATE" not in str(error):
                raise
            self.session.make_junk()
            self.session.connection.move(uids, self.folder, self.junk.folder)

    def outcome(self, verdict: Verdict, label: str | None) -> str:
        told = f"{verdict.verdict} {verdict.probability:.4f}"
        if verdict.verdict == SPAM and label == HAM:
            return f"{told}, but learned as ham: left alone"
        if verdict.verdict == SPAM:
            moved = "would be moved" if self.session.plan.dry else "moved"
            return f"{told}, {moved} to {self.junk.folder}"
        return f"{told} ({verdict.reason})" if verdict.reason else told

    def met(self, letter: Letter, name: str, since: int = 0, unsure: bool = False) -> None:
        self.notes.inbox[letter.uid] = Met(letter.stamp, name, since=since, unsure=unsure)


def is_doubtful(verdict: Verdict) -> bool:
    """Return whether a verdict is unsure because of the score or of new tokens."""
    return verdict.verdict == UNSURE and verdict.reason in ("", NEW)


def left_alone(number: int, folder: str) -> str:
    """Say what happens to the mail that was in the inbox before the first start.

    >>> left_alone(1, "INBOX")
    'INBOX: 1 message from before the first start is left alone; --all sorts it, too'
    """
    several = number != 1
    return (
        f"{printable(folder)}: {number:,} message{'s' * several} from before the first start "
        f"{'are' if several else 'is'} left alone; --all sorts {'them' if several else 'it'}, too"
    )
