"""The state of a watched account: the plan, the connection, folders and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from imaplib import IMAP4

from genus.mail.imap import Connection, Ending, ImapError, Letter, printable
from genus.mail.store import Store
from genus.mail.watch.notes import Watched


@dataclass(frozen=True)
class Plan:
    """The options of a watcher."""

    inbox: str = "INBOX"
    junk: str | None = None  # None: that of the server
    trash: str | None = None  # in addition to those of the server, and those named so
    every: float = 120.0  # seconds between looks at all folders
    all: bool = False
    once: bool = False
    dry: bool = False
    learn: bool = True
    stay: float | None = 3.0  # days after which read mail in the inbox is learned as ham


class Session:
    """The state that all classes for folders share: connection, plan and notes."""

    connection: Connection
    junk: str

    def __init__(
        self,
        store: Store,
        account: str,
        plan: Plan,
        say: Callable[[str], None],
        ending: Ending,
    ) -> None:
        self.plan, self.say, self.ending = plan, say, ending
        self.notes = Watched(store, account, plan.dry)
        self.has_junk = True

    def start(self, connection: Connection) -> None:
        """Find the folders of a new connection."""
        self.connection = connection
        if not self.plan.dry:
            self.notes.load()
        folders = connection.folders()
        names = {each.name for each in folders}
        if self.plan.inbox.upper() != "INBOX" and self.plan.inbox not in names:
            raise ImapError(
                f"There is no folder {self.plan.inbox!r}. Name one of {listed(names)} with --inbox."
            )
        self.junk = self.plan.junk or connection.junk(folders) or connection.personal("Junk")
        if same(self.junk, self.plan.inbox):
            raise ImapError(f"{self.junk!r} is the inbox. Name another folder with --junk.")
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
                f"Cannot create the folder {self.junk!r}: {printable(str(error))}. Name an "
                "existing one with --junk."
            ) from error
        self.has_junk = True
        self.say(f"Created the folder {self.junk}.")

    def read(self, uids: Sequence[int]) -> Iterator[Letter]:
        for batch in self.connection.letters(uids):
            yield from batch

    def tell(self, folder: str, uid: int, what: str) -> None:
        self.say(f"{printable(folder)} {uid}: {what}")


def same(one: str, other: str) -> bool:
    """Return whether two names mean the same folder; case is ignored for INBOX (RFC 3501, 5.1)."""
    return one == other or one.upper() == other.upper() == "INBOX"


def listed(names: set[str]) -> str:
    shown = sorted(printable(each) for each in names)
    return ", ".join(shown[:10]) + (", …" if len(shown) > 10 else "")
