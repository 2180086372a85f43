"""One account as it is connected now: what is to be done, its folders, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from imaplib import IMAP4

from genus.mail.imap import Connection, Ending, ImapError, Letter, printable
from genus.mail.store import Store
from genus.mail.watch.notes import Watched


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
    stay: float | None = 3.0  # days after which read mail in the inbox is learned as ham


class Session:
    """What all that looks into folders shares."""

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

    def read(self, uids: Sequence[int]) -> Iterator[Letter]:
        for batch in self.connection.letters(uids):
            yield from batch

    def tell(self, folder: str, uid: int, what: str) -> None:
        self.say(f"{printable(folder)} {uid}: {what}")


def same(one: str, other: str) -> bool:
    """Whether two names mean one folder: INBOX is written in any case, RFC 3501 section 5.1."""
    return one == other or one.upper() == other.upper() == "INBOX"


def listed(names: set[str]) -> str:
    shown = sorted(printable(each) for each in names)
    return ", ".join(shown[:10]) + (", …" if len(shown) > 10 else "")
