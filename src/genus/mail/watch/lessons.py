"""Learn the messages that the user has moved, once they are marked as read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from imaplib import IMAP4

from genus.mail.imap import DELETED, SEEN, Head, Letter
from genus.mail.spamfilter import KNOWN, SpamFilter
from genus.mail.verdict import label
from genus.mail.watch.notes import Due, now
from genus.mail.watch.session import Session


class Lessons:
    """The lessons of an account."""

    def __init__(self, session: Session, spam_filter: SpamFilter) -> None:
        self.session, self.notes, self.filter = session, session.notes, spam_filter

    def owe(self, name: str, folder: str, validity: int, letter: Head, spam: bool) -> None:
        """Note a lesson, to be learned once the message is marked as read."""
        if not self.session.plan.learn:
            return
        self.notes.due[name] = Due(folder, validity, letter.uid, spam, now())
        if SEEN not in letter.flags:
            waiting = f"unread, will be learned as {label(spam)} when it is read"
            self.session.tell(folder, letter.uid, waiting)

    def follow(self, name: str, folder: str, validity: int, letter: Head) -> None:
        """Note the new number of a message whose lesson is due."""
        due = self.notes.due.get(name)
        if due is not None and due.folder == folder and due.validity != validity:
            self.notes.due[name] = replace(due, validity=validity, uid=letter.uid)

    def learn(self) -> None:
        by_folder: dict[tuple[str, int], dict[int, str]] = defaultdict(dict)
        for name, due in self.notes.due.items():
            by_folder[due.folder, due.validity][due.uid] = name
        for (folder, validity), names in by_folder.items():
            self.learn_from(folder, validity, names)

    def learn_from(self, folder: str, validity: int, names: dict[int, str]) -> None:
        try:
            there = self.session.connection.examine(folder) == validity
        except IMAP4.abort:
            raise
        except IMAP4.error:
            there = False  # the folder is gone
        heads = (
            {each.uid: each for each in self.session.connection.heads(sorted(names))}
            if there
            else {}
        )
        for uid, name in names.items():
            if uid not in heads or DELETED in heads[uid].flags:
                del self.notes.due[name]
        for letter in self.session.read([uid for uid, each in heads.items() if is_read(each)]):
            spam = self.notes.due[names[letter.uid]].spam
            self.teach(folder, letter, spam)
            del self.notes.due[names[letter.uid]]
            self.notes.keep()
        self.notes.keep()

    def teach(self, folder: str, letter: Letter, spam: bool) -> None:
        kind = label(spam)
        if self.session.plan.dry:
            self.session.tell(folder, letter.uid, f"would be learned as {kind}")
            return
        (outcome,) = self.filter.learn([letter.raw], spam=spam)
        what = "already known" if outcome == KNOWN else outcome
        self.session.tell(folder, letter.uid, f"{what} as {kind}")


def is_read(letter: Head) -> bool:
    return SEEN in letter.flags and DELETED not in letter.flags
