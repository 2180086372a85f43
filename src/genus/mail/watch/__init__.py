r"""Watch a mail account: put spam into Junk, and learn from what the user moves.

Each message that arrives in the inbox after the very first start is judged once, whether it is
read or not. Earlier mail is left alone unless `all` is given. Unsure messages stay in the inbox,
and so do messages that were learned as ham.

What is learned, and when:

- A message that somebody other than the watcher moves into Junk, from any folder, is spam. One
  that leaves Junk for any folder but Trash is ham. Messages that go from Junk into Trash, or are
  deleted, are not learned: a user who empties a folder has not judged each message. (Subfolders of
  Junk count as Junk, and those of Trash as Trash.)
- Unread mail is not learned *yet*: a lesson waits until the message has \Seen, as long as the
  message stays where it was put. So a message that was moved out of Junk because of its subject is
  learned when it is read. But if a message is unread when it arrives in Junk, and probably was in
  no other folder before, then another filter put it there: it is not learned, even if the whole
  folder is marked as read later. `Junk.was_elsewhere` tells these two cases apart.
- The watcher's own moves are not learned. If the user takes such a message out again, it is ham.
- A message that was judged, is read, and has stayed in the inbox for some days is learned as ham,
  unless this is switched off (`stay` is None). The number of such lessons is limited by that of
  spam. See `staying.py`.

The watcher, the connection or the server can end at any moment without harm. The server does each
move, atomically if it knows MOVE. A move is noted before it is requested, so that it is never taken
for the user's. A lesson is noted before it is learned, together with the part of the folder that
was processed; learning it twice has no further effect. Messages are recognised by number (UID), by
stamp (arrival time and size, which moves keep) and by the digest of their content, so nothing is
repeated when UIDVALIDITY changes.
"""

from __future__ import annotations

from genus.mail.watch.loop import watch
from genus.mail.watch.session import Plan

__all__ = ["Plan", "watch"]
