"""Search other folders for messages that have left Junk."""

from __future__ import annotations

from dataclasses import replace
from imaplib import IMAP4

from genus.mail.imap import JUNK_NAMES, Folder, Letter
from genus.mail.watch.junk import Junk, hashed
from genus.mail.watch.notes import Gone, Place
from genus.mail.watch.session import Session, same

LOOKS = 3  # searches for a message that has left Junk


class Elsewhere:
    """All folders except the inbox and Junk."""

    def __init__(self, session: Session, junk: Junk) -> None:
        self.session, self.notes, self.junk = session, session.notes, junk

    @property
    def is_awaited(self) -> bool:
        """Whether a message that left Junk is still searched for."""
        return any(is_open(each) for each in self.notes.gone.values())

    def look(self) -> None:
        """Find messages that have left Junk, and note how far each folder was searched."""
        folders = [each for each in self.session.connection.folders() if self.is_watched(each)]
        known = {key for key in self.notes.places if key.startswith("at/")}
        for key in known - {f"at/{each.name}" for each in folders}:
            del self.notes.places[key]
        for folder in folders:
            self.look_into(folder, first=not known)
            if self.session.ending.came:
                return
        for key, gone in list(self.notes.gone.items()):
            if is_open(gone):
                self.notes.gone[key] = replace(gone, looks=gone.looks + 1)
        self.notes.keep()

    def is_watched(self, folder: Folder) -> bool:
        """Return whether a folder is searched; Gmail's All Mail, for example, is not."""
        inner = bool(folder.delimiter) and folder.name.startswith(
            self.junk.folder + folder.delimiter
        )
        return not (
            same(folder.name, self.session.plan.inbox)
            or folder.name == self.junk.folder
            or inner
            or folder.flags & {"\\all", "\\drafts", "\\junk"}
            or folder.is_called(JUNK_NAMES)
        )

    def look_into(self, folder: Folder, first: bool) -> None:
        try:
            status = self.session.connection.status(folder.name)
        except IMAP4.abort:
            raise
        except IMAP4.error:
            return  # this user may not read it
        key = f"at/{folder.name}"
        place = self.notes.places.get(key)
        if place is None and not first:  # created since
            place = Place(folder.name, status.validity, 1, 1)
        if place is None or place.validity != status.validity:
            self.notes.places[key] = Place(folder.name, status.validity, status.next, status.next)
            return
        stamps = {gone.stamp for gone in self.notes.gone.values() if is_open(gone)}
        # Include arrivals between the last two looks: a copy may arrive before the original leaves.
        if stamps and status.next > place.before:
            validity = self.session.connection.examine(folder.name)
            heads = self.session.connection.heads(self.session.connection.uids(place.before))
            found = [each.uid for each in heads if each.stamp in stamps]
            for letter in self.session.read(found):
                self.find(letter, folder, validity)
        if (place.before, place.next) != (place.next, status.next) or key not in self.notes.places:
            self.notes.places[key] = replace(place, before=place.next, next=status.next)

    def find(self, letter: Letter, folder: Folder, validity: int) -> None:
        name = hashed(letter)
        key = next(iter(self.junk.left(letter, name)), None)
        if key is None or self.notes.gone[key].done:
            return
        if folder.is_trash or folder.name == self.session.plan.trash:
            self.notes.gone[key] = replace(self.notes.gone[key], digest=name, done=True)
        else:
            self.junk.take_out(key, name, folder.name, validity, letter)


def is_open(gone: Gone) -> bool:
    return not gone.done and gone.looks < LOOKS
