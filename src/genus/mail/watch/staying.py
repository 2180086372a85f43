"""Learn as ham the mail that the user has read and left in the inbox for some days.

Otherwise the filter would learn only from its mistakes. It rarely takes ham for spam, so it would
learn hardly any ham, and could not estimate the highest scores of ham. The amount of such ham is
limited in proportion to spam, so that it does not outweigh the mail that the user moves. The limit
does not apply to ham about which the filter was unsure: it is rare, and has the highest scores.
"""

from __future__ import annotations

from dataclasses import replace

from genus.mail.imap import DELETED
from genus.mail.spamfilter import SpamFilter
from genus.mail.store import Totals
from genus.mail.watch.lessons import Lessons, is_read
from genus.mail.watch.notes import now
from genus.mail.watch.session import Session

HAM_A_SPAM, MORE = 2, 100  # messages of ham: 2 for each message of spam, and 100 more
OTHERS_SAY = frozenset({"$junk", "junk"})  # flags with which mail programs mark spam
SECONDS_A_DAY = 86_400


class Staying:
    """The messages that were judged and have stayed in the inbox."""

    def __init__(self, session: Session, spam_filter: SpamFilter, lessons: Lessons) -> None:
        self.session, self.notes = session, session.notes
        self.filter, self.lessons = spam_filter, lessons

    def look(self) -> None:
        """Note a lesson for each message that was read and has stayed long enough."""
        days = self.session.plan.stay
        if days is None or not self.session.plan.learn:
            return
        before = now() - days * SECONDS_A_DAY
        shelf = self.notes.inbox
        due = [uid for uid, met in shelf.items() if met.since and met.since <= before]
        room = room_for_ham(self.filter.store.totals()) if due else 0
        if not room:
            due = [uid for uid in due if shelf[uid].unsure]
        if not due:
            return
        inbox = self.session.plan.inbox
        validity = self.session.connection.examine(inbox)
        if validity != self.notes.places["inbox"].validity:  # it was renumbered just now
            return
        there = {each.uid: each for each in self.session.connection.heads(sorted(due))}
        for uid in sorted(due):
            letter = there.get(uid)
            if letter is not None and is_read(letter) and not letter.flags & OTHERS_SAY:
                if not room and not shelf[uid].unsure:
                    continue
                room = max(room - 1, 0)
                self.lessons.owe(shelf[uid].digest, inbox, validity, letter, spam=False)
            elif letter is not None and DELETED not in letter.flags:
                continue  # unread, or marked as spam by a program: the user may still decide
            shelf[uid] = replace(shelf[uid], since=0)
        self.notes.keep()


def room_for_ham(totals: Totals) -> int:
    """Return how many messages may be learned as ham although the user did not move them.

    >>> room_for_ham(Totals(ham=100, spam=50)), room_for_ham(Totals(ham=5000, spam=50))
    (100, 0)
    """
    return max(HAM_A_SPAM * totals.spam + MORE - totals.ham, 0)
