"""Connect, look at the folders and wait for changes; after a failure, wait and reconnect."""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable
from imaplib import IMAP4

from genus.mail.imap import FAILURES, Account, Connection, Ending, ImapError, printable
from genus.mail.spamfilter import SpamFilter
from genus.mail.store import StoreError
from genus.mail.watch.inbox import Inbox
from genus.mail.watch.junk import Junk
from genus.mail.watch.lessons import Lessons
from genus.mail.watch.lock import alone
from genus.mail.watch.other_folders import Elsewhere
from genus.mail.watch.session import Plan, Session
from genus.mail.watch.staying import Staying

SETTLING = 1.0  # seconds to wait for further changes after the first
SHORTEST, LONGEST = 1.0, 300.0  # seconds between attempts to connect


def watch(
    account: Account,
    spam_filter: SpamFilter,
    plan: Plan,
    say: Callable[[str], None],
    ending: Ending,
) -> None:
    """Watch an account once, or until `ending.ask` is called; report each action with `say`."""
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
    """Looks at the folders of one account."""

    def __init__(
        self,
        spam_filter: SpamFilter,
        account: str,
        plan: Plan,
        say: Callable[[str], None],
        ending: Ending,
    ) -> None:
        self.session = Session(spam_filter.store, account, plan, say, ending)
        self.lessons = Lessons(self.session, spam_filter)
        self.junk = Junk(self.session, self.lessons)
        self.inbox = Inbox(self.session, spam_filter, self.junk, self.lessons)
        self.elsewhere = Elsewhere(self.session, self.junk)
        self.staying = Staying(self.session, spam_filter, self.lessons)

    def start(self, connection: Connection) -> None:
        """Find the folders of a new connection."""
        self.session.start(connection)
        self.junk.seen = None

    def rest(self) -> bool:
        """Wait until the folders are due, and return whether the watcher was asked to end.

        If the inbox changes meanwhile, look at it at once. The server does not notify a client of
        changes that came before it opened the inbox; the status shows those.
        """
        connection, inbox = self.session.connection, self.session.plan.inbox
        deadline = time.monotonic() + self.session.plan.every
        while not self.session.ending.came and (left := deadline - time.monotonic()) > 0:
            connection.examine(inbox)
            has_changed = connection.status(inbox) != self.inbox.seen
            if has_changed or connection.wait(left, self.session.ending):
                self.session.ending.wait(SETTLING)
                self.look(everywhere=False)
        return self.session.ending.came

    def look(self, everywhere: bool) -> None:
        """Look at Junk and the inbox, or at all folders, and learn the lessons that are due."""
        self.junk.look(anyway=everywhere)
        if self.inbox.look():
            self.junk.look()
        if everywhere or self.elsewhere.is_awaited:
            self.elsewhere.look()
        if everywhere:
            self.staying.look()
        if self.session.plan.learn:
            self.lessons.learn()


def backoff(failures: int) -> float:
    """Return the seconds until the next attempt: doubled each time, with a random factor."""
    return min(SHORTEST * 2.0 ** min(failures - 1, 30), LONGEST) * random.uniform(0.5, 1.0)


def sentence(account: Account, error: Exception) -> ImapError | StoreError:
    """Return an error of the connection or the store as one that users understand."""
    if isinstance(error, ImapError | StoreError):
        return error
    where = f"{account.host}:{account.port}"
    told = getattr(error, "strerror", None) or str(error) or type(error).__name__
    told = printable(str(told))
    if isinstance(error, IMAP4.abort):
        return ImapError(f"{where} closed the connection: {told}.")
    if isinstance(error, IMAP4.error):
        return ImapError(f"{where} refused the request: {told}.")
    if isinstance(error, ssl.SSLError):
        return ImapError(
            f"TLS with {where} failed: {told}. Try another port, --starttls or --plain."
        )
    return ImapError(f"Cannot reach {where}: {told}. Check host, port and network.")
