"""Recognise messages after the server has given the messages of a folder new numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from genus.mail.watch.notes import Met
from genus.mail.watch.session import Session


def renumber(
    session: Session, shelf: dict[int, Met], folder: str, validity: int, present: Sequence[int]
) -> tuple[dict[int, Met], list[int]]:
    """Return the messages by new UID, and the UIDs that date and size do not identify.

    A message that is not found stays in `shelf`, under its old UID with a minus sign.
    """
    by_stamp: dict[str, list[int]] = defaultdict(list)
    for uid in sorted(shelf, reverse=True):
        by_stamp[shelf[uid].stamp].append(uid)
    new: dict[int, Met] = {}
    unknown, became = [], {}
    for each in session.connection.heads(present):
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
    for name, due in list(session.notes.due.items()):
        if due.folder == folder and due.uid in became:
            session.notes.due[name] = replace(due, validity=validity, uid=became[due.uid])
    return new, unknown


def next_of(uids: Sequence[int]) -> int:
    return max(uids, default=0) + 1
