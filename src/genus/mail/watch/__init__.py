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
- A message that was judged, is read, and has stayed in the inbox for some days is ham, unless the
  plan says otherwise: no more of them than fit to the spam that is known. See `staying.py`.

What stays right when the watcher, the connection or the server ends at any moment: the server does
each move, atomically where it knows MOVE. A move is noted before it is asked for, so that its
result is never taken for the user's. A lesson is noted before it is learned, together with how far
the folder was looked through; learning it twice is learning it once. A message is known again by
number (UID), by stamp (arrival and size, which moves keep) and by the digest of its content, so
that a change of UIDVALIDITY repeats nothing.
"""

from __future__ import annotations

from genus.mail.watch.loop import watch
from genus.mail.watch.session import Plan

__all__ = ["Plan", "watch"]
