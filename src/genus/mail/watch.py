r"""Watch a mail account: put spam into Junk, and learn from what the user moves.

What is judged: mail that comes into the inbox after the very first start, read or not, once. What
was there before is left alone unless `all` is asked for. "unsure" stays in the inbox, and so does
what is learned as ham.

What is learned, and when:

- A message that comes into Junk by another hand than the watcher's, from wherever, is spam. One
  that leaves Junk for any folder but Trash is ham. What goes from Junk into Trash, or is deleted,
  teaches nothing: whoever empties a folder has not judged each message. (Subfolders of Junk are
  Junk, and those of Trash are Trash.)
- Unread mail teaches nothing *yet*: a lesson waits until the message has \Seen, as long as it
  stays where it was put. So a message that was dragged out of Junk by its subject alone is learned
  when it is read. But one that is unread when it comes into Junk, and that was never seen in the
  inbox, was put there by another filter and not by the user: it is not learned, also not when
  somebody marks the whole folder as read.
- The watcher's own moves teach nothing until the user takes the message out.

What stays right when the watcher, the connection or the server ends at any moment: the server does
each move, atomically where it knows MOVE. A move is noted before it is asked for, so that its
result is never taken for the user's. A lesson is noted before it is learned, together with how far
the folder was looked through; learning it twice is learning it once. A message is known again by
number (UID), by stamp (arrival and size, which moves keep) and by the digest of its content, so
that a change of UIDVALIDITY repeats nothing.
"""

from __future__ import annotations

import hashlib
import os
import random
import ssl
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from imaplib import IMAP4
from pathlib import Path

from genus.mail.identity import digest
from genus.mail.imap import (
    DELETED,
    FAILURES,
    JUNK_NAMES,
    SEEN,
    Account,
    Connection,
    Ending,
    Folder,
    Head,
    ImapError,
    Letter,
    Status,
    printable,
)
from genus.mail.spamfilter import KNOWN, SpamFilter
from genus.mail.store import StoreError
from genus.mail.verdict import HAM, SPAM, Verdict
from genus.mail.watched import MOST, Due, Gone, Met, Place, Watched, now

SETTLING = 1.0  # seconds that more news may follow the first in
GRACE = 2.0  # seconds in which a client that copies and then deletes has deleted
LOOKS = 3  # searches for a message that has left Junk
MOVED = 0  # stands for the UIDVALIDITY of Junk if a message was not met there
SHORTEST, LONGEST = 1.0, 300.0  # seconds between attempts to connect


@dataclass(frozen=True)
class Plan:
    """What a watcher is to do."""

    inbox: str = "INBOX"
    junk: str | None = None  # None: the one that the server has
    trash: str | None = None  # beside those that are known as such
    every: float = 120.0  # seconds after which all folders are looked at
    all: bool = False
    once: bool = False
    dry: bool = False
    learn: bool = True


def watch(
    account: Account,
    spam_filter: SpamFilter,
    plan: Plan,
    say: Callable[[str], None],
    ending: Ending,
) -> None:
    """Watch until `ending` is asked for, or once; each thing that was done is said."""
    watcher = Watcher(spam_filter, account.name, plan, say, ending)
    failures = 0
    welcome = False
    with alone(account.name):
        while not ending.came:
            try:
                with Connection(account) as connection:
                    watcher.start(connection)
                    if not plan.once:
                        say(f"Watching {plan.inbox} of {account.name}. Ctrl-C ends it.")
                    welcome = True
                    while not ending.came:
                        watcher.look(everywhere=True)
                        failures = 0
                        if plan.once or watcher.rest():
                            return
            except (ImapError, StoreError, *FAILURES) as error:
                # A password that was right may be refused while the server starts.
                if plan.once or (isinstance(error, ImapError) and not welcome):
                    raise sentence(account, error) from error
                failures += 1
                delay = backoff(failures)
                say(f"{sentence(account, error)} Next attempt in {delay:.0f} s.")
                ending.wait(delay)


class Watcher:
    """One account, its folders, and what is remembered of them."""

    connection: Connection
    junk: str

    def __init__(
        self,
        spam_filter: SpamFilter,
        account: str,
        plan: Plan,
        say: Callable[[str], None],
        ending: Ending,
    ) -> None:
        self.filter, self.plan, self.say, self.ending = spam_filter, plan, say, ending
        self.notes = Watched(spam_filter.store, account, plan.dry)
        self.all = plan.all
        self.seen: Status | None = None  # of Junk, as it was looked through
        self.has_junk = True

    def start(self, connection: Connection) -> None:
        """Find the folders of a new connection."""
        self.connection = connection
        self.seen = None
        if not self.plan.dry:
            self.notes.load()
        folders = connection.folders()
        names = {each.name for each in folders}
        if self.plan.inbox.upper() != "INBOX" and self.plan.inbox not in names:
            raise ImapError(
                f"There is no folder {self.plan.inbox!r}; there are {listed(names)}. Name one of "
                "them with --inbox."
            )
        self.junk = self.plan.junk or connection.junk(folders) or connection.personal("Junk")
        if same(self.junk, self.plan.inbox):
            raise ImapError(f"{self.junk!r} is the inbox; name another folder with --junk.")
        self.has_junk = self.junk in names
        if not self.has_junk and not self.plan.dry:
            self.make_junk()

    def make_junk(self) -> None:
        try:
            self.connection.create(self.junk)
        except IMAP4.abort:
            raise
        except IMAP4.error as error:
            raise ImapError(
                f"Cannot make the folder {self.junk!r}: {printable(str(error))}. Name one that is "
                "there with --junk."
            ) from error
        self.has_junk = True
        self.say(f"Made the folder {self.junk}.")

    def rest(self) -> bool:
        """Wait until it is time to look everywhere; look where there is news. Whether to end."""
        deadline = time.monotonic() + self.plan.every
        while not self.ending.came and (left := deadline - time.monotonic()) > 0:
            self.connection.examine(self.plan.inbox)
            if self.connection.wait(left, self.ending):
                self.ending.wait(SETTLING)
                self.look(everywhere=False)
        return self.ending.came

    def look(self, everywhere: bool) -> None:
        """Do what there is to do."""
        self.look_into_junk(anyway=everywhere)
        if self.look_into_inbox():
            self.look_into_junk()
        if everywhere or any(is_open(each) for each in self.notes.gone.values()):
            self.look_elsewhere()
        if self.plan.learn:
            self.learn_what_is_due()

    # Junk

    def look_into_junk(self, anyway: bool = False) -> None:
        """Meet what has come, and note what has gone; a mark as deleted changes no status."""
        if not self.has_junk:
            return
        status = self.connection.status(self.junk)
        if status == self.seen and not anyway:
            return
        validity = self.connection.examine(self.junk)
        present = self.connection.uids()
        place = self.notes.places.get("junk")
        if place is None or place.folder != self.junk:
            self.meet_junk(validity, present)
        elif place.validity != validity:
            self.renumber_junk(place, validity, present)
        else:
            self.depart(validity, set(present))
            for batch in self.connection.letters([uid for uid in present if uid >= place.next]):
                self.arrive(batch, validity)
                if self.ending.came:
                    return
        self.seen = status

    def meet_junk(self, validity: int, present: Sequence[int]) -> None:
        """Junk for the first time: what is there teaches nothing until it leaves."""
        for key in list(self.notes.junk):
            del self.notes.junk[key]
        for each in self.connection.heads(present[-MOST:]):
            self.notes.junk[each.uid] = Met(each.stamp)
        self.notes.places["junk"] = Place(self.junk, validity, next_of(present))
        self.notes.keep()

    def depart(self, validity: int, present: set[int]) -> None:
        for uid in [uid for uid in self.notes.junk if uid not in present]:
            met = self.notes.junk[uid]
            self.notes.gone[f"{validity}-{uid}"] = Gone(met.stamp, met.digest, now())
            del self.notes.junk[uid]
        for key, gone in list(self.notes.gone.items()):
            number, _, uid_text = key.partition("-")
            if int(number) == validity and int(uid_text) in present:  # it was only marked
                self.notes.junk[int(uid_text)] = Met(gone.stamp, gone.digest)
                del self.notes.gone[key]
        self.notes.keep()

    def arrive(self, batch: Sequence[Letter], validity: int) -> None:
        """Tell the watcher's own moves from the user's."""
        judged = {each.digest for each in self.notes.inbox.values()}
        for letter in batch:
            name = hashed(letter)
            own = self.notes.dismiss(name)
            for key in self.left_junk(letter, name):
                own = own or -key.startswith(f"{MOVED}-")  # it came late
                del self.notes.gone[key]
            self.notes.junk[letter.uid] = Met(letter.stamp, name, own)
            if own:
                continue
            if SEEN in letter.flags or name in judged:
                self.owe(name, self.junk, validity, letter, spam=True)
            elif self.plan.learn:
                self.tell(self.junk, letter.uid, "came unread by another hand, not learned")
        place = self.notes.places["junk"]
        self.notes.places["junk"] = replace(place, next=batch[-1].uid + 1)
        self.notes.keep()

    def renumber_junk(self, place: Place, validity: int, present: Sequence[int]) -> None:
        """Know messages again after the server has numbered them anew; nothing is learned."""
        new, unknown = self.renumber(self.notes.junk, self.junk, validity, present[-MOST:])
        left = {met.digest for uid, met in self.notes.junk.items() if uid < 0} - {""}
        for letter in self.read(unknown if left or self.notes.moving else []):
            name = hashed(letter)
            own = self.notes.dismiss(name)
            for uid, met in list(self.notes.junk.items()):
                if uid < 0 and met.digest == name:
                    del self.notes.junk[uid]
                    own = own or met.own
            new[letter.uid] = Met(letter.stamp, name, own)
            self.follow(name, self.junk, validity, letter)
        for uid in [uid for uid in self.notes.junk if uid < 0]:
            met = self.notes.junk[uid]
            self.notes.gone[f"{place.validity}-{-uid}"] = Gone(met.stamp, met.digest, now())
            del self.notes.junk[uid]
        for uid, met in new.items():
            self.notes.junk[uid] = met
        self.notes.places["junk"] = Place(self.junk, validity, next_of(present))
        self.notes.keep()
        self.say(f"The server has numbered {self.junk} anew.")

    def renumber(
        self, shelf: dict[int, Met], folder: str, validity: int, present: Sequence[int]
    ) -> tuple[dict[int, Met], list[int]]:
        """Messages by their new numbers, and new numbers of those that their stamp does not tell.

        What is not found again stays on the shelf under its number with a minus.
        """
        by_stamp: dict[str, list[int]] = defaultdict(list)
        for uid in sorted(shelf, reverse=True):
            by_stamp[shelf[uid].stamp].append(uid)
        new: dict[int, Met] = {}
        unknown, became = [], {}
        for each in self.connection.heads(present):
            same = by_stamp[each.stamp]
            if same and len({shelf[uid].digest for uid in same}) == 1:
                became[same.pop()] = each.uid
            else:
                new[each.uid] = Met(each.stamp)
                unknown.append(each.uid)
        left: dict[int, Met] = {}
        for uid in list(shelf):
            met = replace(shelf[uid], own=-1 if shelf[uid].own else 0)  # the inbox may be new, too
            (new if uid in became else left)[became.get(uid, -abs(uid))] = met
            del shelf[uid]
        for uid, met in left.items():
            shelf[uid] = met
        for name, due in list(self.notes.due.items()):
            if due.folder == folder and due.uid in became:
                self.notes.due[name] = replace(due, validity=validity, uid=became[due.uid])
        return new, unknown

    # The inbox

    def look_into_inbox(self) -> bool:
        """Judge what has come; whether something was moved."""
        inbox = self.plan.inbox
        validity = self.connection.examine(inbox)
        place = self.notes.places.get("inbox")
        if place is None or place.folder != inbox:
            place = self.meet_inbox(validity)
        elif place.validity != validity:
            place = self.renumber_inbox(place, validity)
        self.settle_moves()
        since = 1 if self.all else place.next
        known = {uid for uid, met in self.notes.inbox.items() if met.digest or not self.all}
        fresh = [uid for uid in self.connection.uids(since) if uid not in known]
        moved = False
        for batch in self.connection.letters(fresh):
            moved = self.handle(batch, validity) or moved
            if self.ending.came:
                return moved
        self.all = False
        return moved

    def settle_moves(self) -> None:
        """Moves of which neither end is met, after a crash: the user was there before."""
        present = set(self.connection.uids()) if self.notes.moving else set()
        for name, moving in list(self.notes.moving.items()):
            for uid in set(moving.uids) - present:
                self.notes.dismiss(name, uid)
                for stamp in moving.stamps:
                    self.notes.gone[f"{MOVED}-{uid}"] = Gone(stamp, name, now())

    def meet_inbox(self, validity: int) -> Place:
        """The inbox for the first time: what is there is left alone."""
        for key in list(self.notes.inbox):
            del self.notes.inbox[key]
        present = self.connection.uids()
        newest = 0
        for each in self.connection.heads(present[-MOST:]):
            self.notes.inbox[each.uid] = Met(each.stamp)
            newest = max(newest, each.date)
        place = Place(self.plan.inbox, validity, next_of(present), newest=newest)
        self.notes.places["inbox"] = place
        self.notes.keep()
        return place

    def renumber_inbox(self, place: Place, validity: int) -> Place:
        """Know messages again after the server has numbered them anew; newer ones are new."""
        present = self.connection.uids()
        before = Counter(met.stamp for met in self.notes.inbox.values())
        here = Counter(each.stamp for each in self.connection.heads(present[-MOST:]))
        new, unknown = self.renumber(self.notes.inbox, self.plan.inbox, validity, present[-MOST:])
        since = next_of(present)
        for each in self.connection.heads(unknown):
            # No more of a stamp than there were are the same ones, whichever is which.
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
        self.say(f"The server has numbered {self.plan.inbox} anew.")
        return place

    def handle(self, batch: Sequence[Letter], validity: int) -> bool:
        """Judge messages of the inbox, unless they come from Junk; whether something was moved."""
        names = {each.uid: hashed(each) for each in batch}
        self.await_departures(batch, names)
        judged = {met.digest for met in self.notes.inbox.values()} - {""}
        stamps = self.stamps()
        pending, halves = [], []
        for letter in batch:
            name = names[letter.uid]
            gone = self.left_junk(letter, name) if letter.stamp in stamps else []
            twin = self.twin_in_junk(letter, name) if letter.stamp in stamps else None
            if gone:
                self.take_out(gone[0], name, self.plan.inbox, validity, letter)
                self.met_in_inbox(letter, name)
            elif twin is not None and twin.own == letter.uid:
                halves.append(letter.uid)
            elif twin is not None and SEEN in letter.flags:
                self.tell(self.plan.inbox, letter.uid, f"a copy from {self.junk}, left alone")
                self.met_in_inbox(letter, name)
            elif name in judged:
                self.met_in_inbox(letter, name)
                self.follow(name, self.plan.inbox, validity, letter)
            else:
                pending.append(letter)
        if halves and not self.plan.dry:
            self.connection.delete(halves, self.plan.inbox)
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
        """Let a client that moves by copying and deleting do the latter."""
        stamps = self.stamps()
        suspects = [each for each in batch if each.stamp in stamps]
        self.read_in_junk({each.stamp for each in suspects})
        for seconds in (0.0, GRACE):
            twins = ((self.twin_in_junk(each, names[each.uid]), each) for each in suspects)
            if all(twin is None or twin.own == each.uid for twin, each in twins):
                return
            self.ending.wait(seconds)
            self.look_into_junk(anyway=True)
            self.connection.examine(self.plan.inbox)

    def read_in_junk(self, stamps: set[str]) -> None:
        """Read what is in Junk since before the first start, if its stamp is not enough."""
        shelf = self.notes.junk
        uids = [uid for uid, met in shelf.items() if not met.digest and met.stamp in stamps]
        if uids:
            self.connection.examine(self.junk)
            for letter in self.read(uids):
                shelf[letter.uid] = replace(shelf[letter.uid], digest=hashed(letter))
            self.connection.examine(self.plan.inbox)

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
                self.met_in_inbox(letter, name)
            outcomes.append((letter.uid, self.outcome(verdict, label)))
        self.notes.keep()
        if spam and not self.plan.dry:
            self.move(spam)
        for uid, outcome in outcomes:
            self.tell(self.plan.inbox, uid, outcome)
        return bool(spam)

    def move(self, uids: Sequence[int]) -> None:
        try:
            self.connection.move(uids, self.plan.inbox, self.junk)
        except IMAP4.error as error:
            if "TRYCREATE" not in str(error):
                raise
            self.make_junk()
            self.connection.move(uids, self.plan.inbox, self.junk)

    def outcome(self, verdict: Verdict, label: str | None) -> str:
        told = f"{verdict.verdict} {verdict.probability:.4f}"
        if verdict.verdict == SPAM and label == HAM:
            return f"{told}, but learned as ham: left alone"
        if verdict.verdict == SPAM:
            return f"{told}, {'would be moved' if self.plan.dry else 'moved'} to {self.junk}"
        return f"{told} ({verdict.reason})" if verdict.reason else told

    def met_in_inbox(self, letter: Letter, name: str) -> None:
        self.notes.inbox[letter.uid] = Met(letter.stamp, name)

    def stamps(self) -> set[str]:
        """Of what is or was in Junk."""
        here = {each.stamp for each in self.notes.junk.values()}
        return here | {each.stamp for each in self.notes.gone.values()}

    def twin_in_junk(self, letter: Head, name: str) -> Met | None:
        """The same message, still in Junk."""
        found = [met for met in self.notes.junk.values() if is_same(met, letter, name)]
        return next((met for met in found if met.own == letter.uid), found[0] if found else None)

    def left_junk(self, letter: Head, name: str) -> list[str]:
        """The keys of the same message among those that have left Junk, open ones first."""
        found = [key for key, gone in self.notes.gone.items() if is_same(gone, letter, name)]
        return sorted(found, key=lambda key: self.notes.gone[key].done)

    def take_out(self, key: str, name: str, folder: str, validity: int, letter: Letter) -> None:
        """Owe the lesson that a message was taken out of Junk."""
        gone = self.notes.gone[key]
        if not gone.done:
            self.owe(name, folder, validity, letter, spam=False)
        else:
            self.tell(folder, letter.uid, f"was in {self.junk} before, left alone")
        self.notes.gone[key] = replace(gone, digest=name, done=True)

    # Other folders

    def look_elsewhere(self) -> None:
        """Find what has left Junk, and note how far each folder goes."""
        folders = [each for each in self.connection.folders() if self.is_watched(each)]
        known = {key for key in self.notes.places if key.startswith("at/")}
        for key in known - {f"at/{each.name}" for each in folders}:
            del self.notes.places[key]
        for folder in folders:
            self.look_into(folder, first=not known)
            if self.ending.came:
                return
        for key, gone in list(self.notes.gone.items()):
            if is_open(gone):
                self.notes.gone[key] = replace(gone, looks=gone.looks + 1)
        self.notes.keep()

    def is_watched(self, folder: Folder) -> bool:
        """Whether a message that is found there says where it went: not in Gmail's All Mail."""
        inner = bool(folder.delimiter) and folder.name.startswith(self.junk + folder.delimiter)
        return not (
            same(folder.name, self.plan.inbox)
            or folder.name == self.junk
            or inner
            or folder.flags & {"\\all", "\\drafts", "\\junk"}
            or folder.is_called(JUNK_NAMES)
        )

    def look_into(self, folder: Folder, first: bool) -> None:
        try:
            status = self.connection.status(folder.name)
        except IMAP4.abort:
            raise
        except IMAP4.error:
            return  # not for this user to read
        key = f"at/{folder.name}"
        place = self.notes.places.get(key)
        if place is None and not first:  # made since
            place = Place(folder.name, status.validity, 1, 1)
        if place is None or place.validity != status.validity:
            self.notes.places[key] = Place(folder.name, status.validity, status.next, status.next)
            return
        stamps = {gone.stamp for gone in self.notes.gone.values() if is_open(gone)}
        # From a look before the last one: a copy may come before the original goes.
        if stamps and status.next > place.before:
            validity = self.connection.examine(folder.name)
            heads = self.connection.heads(self.connection.uids(place.before))
            found = [each.uid for each in heads if each.stamp in stamps]
            for letter in self.read(found):
                self.find(letter, folder, validity)
        if (place.before, place.next) != (place.next, status.next) or key not in self.notes.places:
            self.notes.places[key] = replace(place, before=place.next, next=status.next)

    def find(self, letter: Letter, folder: Folder, validity: int) -> None:
        name = hashed(letter)
        key = next(iter(self.left_junk(letter, name)), None)
        if key is None or self.notes.gone[key].done:
            return
        if folder.is_trash or folder.name == self.plan.trash:
            self.notes.gone[key] = replace(self.notes.gone[key], digest=name, done=True)
        else:
            self.take_out(key, name, folder.name, validity, letter)

    # Lessons

    def owe(self, name: str, folder: str, validity: int, letter: Head, spam: bool) -> None:
        """Note a lesson, to be learned when the message has been read."""
        if not self.plan.learn:
            return
        self.notes.due[name] = Due(folder, validity, letter.uid, spam, now())
        if SEEN not in letter.flags:
            kind = "spam" if spam else "ham"
            self.tell(folder, letter.uid, f"unread, to be learned as {kind} when it is read")

    def follow(self, name: str, folder: str, validity: int, letter: Head) -> None:
        """Let a lesson wait for a message under its new number."""
        due = self.notes.due.get(name)
        if due is not None and due.folder == folder and due.validity != validity:
            self.notes.due[name] = replace(due, validity=validity, uid=letter.uid)

    def learn_what_is_due(self) -> None:
        by_folder: dict[tuple[str, int], dict[int, str]] = defaultdict(dict)
        for name, due in self.notes.due.items():
            by_folder[due.folder, due.validity][due.uid] = name
        for (folder, validity), names in by_folder.items():
            self.learn_from(folder, validity, names)

    def learn_from(self, folder: str, validity: int, names: dict[int, str]) -> None:
        try:
            there = self.connection.examine(folder) == validity
        except IMAP4.abort:
            raise
        except IMAP4.error:
            there = False  # the folder is gone
        heads = {each.uid: each for each in self.connection.heads(sorted(names))} if there else {}
        for uid, name in names.items():
            if uid not in heads or DELETED in heads[uid].flags:
                del self.notes.due[name]
        for letter in self.read([uid for uid, each in heads.items() if is_read(each)]):
            spam = self.notes.due[names[letter.uid]].spam
            self.teach(folder, letter, spam)
            del self.notes.due[names[letter.uid]]
            self.notes.keep()
        self.notes.keep()

    def teach(self, folder: str, letter: Letter, spam: bool) -> None:
        kind = "spam" if spam else "ham"
        if self.plan.dry:
            self.tell(folder, letter.uid, f"would be learned as {kind}")
            return
        (outcome,) = self.filter.learn([letter.raw], spam=spam)
        what = "known already" if outcome == KNOWN else outcome
        self.tell(folder, letter.uid, f"{what} as {kind}")

    def read(self, uids: Sequence[int]) -> Iterator[Letter]:
        for batch in self.connection.letters(uids):
            yield from batch

    def tell(self, folder: str, uid: int, what: str) -> None:
        self.say(f"{printable(folder)} {uid}: {what}")


def hashed(letter: Letter) -> str:
    return digest(letter.raw).hex()


def is_same(known: Met | Gone, letter: Head, name: str) -> bool:
    return known.stamp == letter.stamp and known.digest in ("", name)


def is_open(gone: Gone) -> bool:
    return not gone.done and gone.looks < LOOKS


def is_read(letter: Head) -> bool:
    return SEEN in letter.flags and DELETED not in letter.flags


def next_of(uids: Sequence[int]) -> int:
    return max(uids, default=0) + 1


def same(one: str, other: str) -> bool:
    """Whether two names mean one folder: INBOX is written in any case, RFC 3501 section 5.1."""
    return one == other or one.upper() == other.upper() == "INBOX"


def listed(names: set[str]) -> str:
    shown = sorted(printable(each) for each in names)
    return ", ".join(shown[:10]) + (", …" if len(shown) > 10 else "")


def backoff(failures: int) -> float:
    """Seconds until the next attempt: doubled each time, and not the same for all clients."""
    return min(SHORTEST * 2.0 ** min(failures - 1, 30), LONGEST) * random.uniform(0.5, 1.0)


def sentence(account: Account, error: Exception) -> ImapError | StoreError:
    """What went wrong with a connection, or with the store."""
    if isinstance(error, ImapError | StoreError):
        return error
    where = f"{account.host}:{account.port}"
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    told = printable(str(told))
    if isinstance(error, IMAP4.abort):
        return ImapError(f"{where} broke off: {told}.")
    if isinstance(error, IMAP4.error):
        return ImapError(f"{where} refused: {told}.")
    if isinstance(error, ssl.SSLError):
        return ImapError(f"No TLS with {where}: {told}. Try another port, --starttls or --plain.")
    return ImapError(f"Cannot reach {where}: {told}. Check host, port and network.")


@contextmanager
def alone(account: str) -> Iterator[None]:
    """One watcher of an account at a time, of a user on a machine; the system ends the claim."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    name = hashlib.blake2b(account.encode(), digest_size=8).hexdigest()
    path = Path(tempfile.gettempdir()) / f"genus-watch-{os.getuid()}-{name}.lock"
    claim = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ImapError(
                f"{account} is being watched by another process. End that one first."
            ) from None
        yield
    finally:
        os.close(claim)
