"""Track the messages that arrive in Junk, stay there, and leave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genus.mail.identity import digest
from genus.mail.imap import SEEN, Head, Letter, Status
from genus.mail.watch.lessons import Lessons
from genus.mail.watch.notes import MOST, Gone, Met, Place, now
from genus.mail.watch.renumbering import next_of, renumber
from genus.mail.watch.session import Session

MOVED = 0  # stands for the UIDVALIDITY of Junk if a message was never seen there


class Junk:
    """The folder of spam."""

    def __init__(self, session: Session, lessons: Lessons) -> None:
        self.session, self.notes, self.lessons = session, session.notes, lessons
        self.seen: Status | None = None  # the status at the last look

    @property
    def folder(self) -> str:
        return self.session.junk

    def look(self, anyway: bool = False) -> None:
        """Note arrivals and departures; if `anyway`, look even if the status has not changed.

        Marking a message as deleted does not change the status.
        """
        if not self.session.has_junk:
            return
        status = self.session.connection.status(self.folder)
        if status == self.seen and not anyway:
            return
        validity = self.session.connection.examine(self.folder)
        present = self.session.connection.uids()
        place = self.notes.places.get("junk")
        if place is None or place.folder != self.folder:
            self.meet(validity, present)
        elif place.validity != validity:
            self.renumber(place, validity, present)
        else:
            self.depart(validity, set(present))
            fresh = [uid for uid in present if uid >= place.next]
            for batch in self.session.connection.letters(fresh):
                self.arrive(batch, validity)
                if self.session.ending.came:
                    return
        self.date()
        self.seen = status

    def meet(self, validity: int, present: Sequence[int]) -> None:
        """Note the messages of a Junk folder seen for the first time, and learn none of them."""
        for key in list(self.notes.junk):
            del self.notes.junk[key]
        for each in self.session.connection.heads(present[-MOST:]):
            self.notes.junk[each.uid] = Met(each.stamp)
        self.notes.places["junk"] = Place(self.folder, validity, next_of(present))
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
        """Note new messages, and a lesson for each one that the watcher did not move."""
        place = self.notes.places["junk"]
        for letter in batch:
            name = hashed(letter)
            own = self.notes.dismiss(name)
            for key in self.left(letter, name):
                own = own or -key.startswith(f"{MOVED}-")  # a move of the watcher that came late
                del self.notes.gone[key]
            self.notes.junk[letter.uid] = Met(letter.stamp, name, own)
            if own:
                continue
            if SEEN in letter.flags or self.was_elsewhere(letter, name, place):
                self.lessons.owe(name, self.folder, validity, letter, spam=True)
            elif self.session.plan.learn:
                told = (
                    "arrived unread, probably from another filter: not learned, even if it is read"
                )
                self.session.tell(self.folder, letter.uid, told)
        self.notes.places["junk"] = replace(place, next=batch[-1].uid + 1)
        self.notes.keep()

    def was_elsewhere(self, letter: Letter, name: str, place: Place) -> bool:
        """Return whether a message was in another folder before it arrived in Junk.

        It was if it was seen in the inbox. It also was if it is older than a message that was seen
        before the last look at Junk: a filter would have put it into Junk before that look.
        """
        here = self.notes.inbox.values()
        return letter.date < place.newest or any(
            name == met.digest or is_same(met, letter, name) for met in here
        )

    def date(self) -> None:
        """Note the date of the newest message that was seen up to this look."""
        place = self.notes.places.get("junk")
        if place is None:
            return
        inbox = self.notes.places.get("inbox")
        dates = [int(met.stamp.partition("/")[0]) for met in self.notes.junk.values()]
        newest = max(place.newest, inbox.newest if inbox else 0, *dates, 0)
        if newest != place.newest:
            self.notes.places["junk"] = replace(place, newest=newest)
            self.notes.keep()

    def renumber(self, place: Place, validity: int, present: Sequence[int]) -> None:
        """Recognise messages that the server has renumbered, and learn none of them."""
        new, unknown = renumber(
            self.session, self.notes.junk, self.folder, validity, present[-MOST:]
        )
        left = {met.digest for uid, met in self.notes.junk.items() if uid < 0} - {""}
        for letter in self.session.read(unknown if left or self.notes.moving else []):
            name = hashed(letter)
            own = self.notes.dismiss(name)
            for uid, met in list(self.notes.junk.items()):
                if uid < 0 and met.digest == name:
                    del self.notes.junk[uid]
                    own = own or met.own
            new[letter.uid] = Met(letter.stamp, name, own)
            self.lessons.follow(name, self.folder, validity, letter)
        for uid in [uid for uid in self.notes.junk if uid < 0]:
            met = self.notes.junk[uid]
            self.notes.gone[f"{place.validity}-{-uid}"] = Gone(met.stamp, met.digest, now())
            del self.notes.junk[uid]
        for uid, met in new.items():
            self.notes.junk[uid] = met
        new_place = Place(self.folder, validity, next_of(present), newest=place.newest)
        self.notes.places["junk"] = new_place
        self.notes.keep()
        self.session.say(f"The server has renumbered the messages of {self.folder}.")

    # One message

    def stamps(self) -> set[str]:
        """Return the stamps (`Head.stamp`) of all messages that are or were in Junk."""
        here = {each.stamp for each in self.notes.junk.values()}
        return here | {each.stamp for each in self.notes.gone.values()}

    def read_stamped(self, stamps: set[str]) -> None:
        """Read the messages in Junk with these stamps whose digests are still unknown."""
        shelf = self.notes.junk
        uids = [uid for uid, met in shelf.items() if not met.digest and met.stamp in stamps]
        if uids:
            self.session.connection.examine(self.folder)
            for letter in self.session.read(uids):
                shelf[letter.uid] = replace(shelf[letter.uid], digest=hashed(letter))
            self.session.connection.examine(self.session.plan.inbox)

    def twin(self, letter: Head, name: str) -> Met | None:
        """Return the note of the same message if it is still in Junk, or None."""
        found = [met for met in self.notes.junk.values() if is_same(met, letter, name)]
        return next((met for met in found if met.own == letter.uid), found[0] if found else None)

    def left(self, letter: Head, name: str) -> list[str]:
        """Return the keys of the notes in `gone` on this message; those that are not done first."""
        found = [key for key, gone in self.notes.gone.items() if is_same(gone, letter, name)]
        return sorted(found, key=lambda key: self.notes.gone[key].done)

    def take_out(self, key: str, name: str, folder: str, validity: int, letter: Letter) -> None:
        """Note a lesson for a message that was taken out of Junk, unless one is already noted."""
        gone = self.notes.gone[key]
        if not gone.done:
            self.lessons.owe(name, folder, validity, letter, spam=False)
        else:
            self.session.tell(folder, letter.uid, f"was in {self.folder} before, left alone")
        self.notes.gone[key] = replace(gone, digest=name, done=True)


def hashed(letter: Letter) -> str:
    return digest(letter.raw).hex()


def is_same(known: Met | Gone, letter: Head, name: str) -> bool:
    return known.stamp == letter.stamp and known.digest in ("", name)
