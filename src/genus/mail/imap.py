"""Access a mail account over IMAP: list, fetch and move messages, and wait for notifications.

Folders are opened read-only (EXAMINE) and messages are fetched with PEEK, so that reading changes
nothing, not even which messages are recent. Only moves and deletions open a folder for writing.
"""

from __future__ import annotations

import imaplib
import ipaddress
import re
import selectors
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

TLS, STARTTLS, PLAIN = "tls", "starttls", "plain"
PORTS = {TLS: 993, STARTTLS: 143, PLAIN: 143}
SEEN, DELETED = "\\seen", "\\deleted"
CONNECTING, ANSWERING = 30.0, 120.0  # seconds
LISTED = 1000  # messages in one request, without their text
FETCHED, BYTES = 100, 16 << 20  # with it
SEARCHED = 100_000  # numbers in one answer: imaplib takes lines of a million bytes
NEWS = re.compile(rb"EXISTS|EXPUNGE|FETCH|VANISHED")
SIMPLE = re.compile(r"[A-Za-z0-9!@#$&'+,./:;<=>?^_`|~-]+")  # what imaplib need not quote
JUNK_NAMES = (
    "junk|spam|junk e-?mail|junk mail|bulk|bulk mail|spamverdacht|unerwünscht|indésirables"
    "|courrier indésirable|correo no deseado|posta indesiderata|lixo eletrônico|ongewenste e-?mail"
    "|skräppost|søppelpost|uønsket e-?mail|roskaposti|wiadomości-śmieci|спам|нежелательная почта"
)
TRASH_NAMES = (
    "trash|bin|deleted|deleted (items|messages)|papierkorb|gelöscht|gelöschte (elemente|objekte)"
    "|corbeille|éléments supprimés|papelera|elementos eliminados|cestino|posta eliminata|lixeira"
    "|itens excluídos|prullenbak|verwijderde items|papperskorgen|papirkurv|roskakori|kosz"
    "|elementy usunięte|корзина|удаленные"
)


class ImapError(ValueError):
    """An error of a mail account; its message says what, where, and what to do."""


class LoginRefused(ImapError):
    """The server does not accept the user or the password."""


FAILURES = (OSError, imaplib.IMAP4.error)  # what a broken connection looks like


@dataclass(frozen=True)
class Account:
    """The server, user and security of an account; `secret` returns its password or token."""

    host: str
    port: int
    user: str
    secret: Callable[[], str]
    security: str = TLS
    is_token: bool = False  # the secret is a token of OAuth 2, not a password

    @property
    def name(self) -> str:
        """The account's name for messages and notes; it omits a standard port."""
        where = self.host if self.port in PORTS.values() else f"{self.host}:{self.port}"
        return f"{self.user}@{where}"


@dataclass(frozen=True)
class Folder:
    """A folder that can be opened."""

    name: str
    flags: frozenset[str]  # in lower case
    delimiter: str

    def is_called(self, names: str) -> bool:
        """Return whether the first or last part of the folder's name matches `names`."""
        parts = self.name.split(self.delimiter) if self.delimiter else [self.name]
        if parts[0].upper() == "INBOX":
            parts = parts[1:]
        ends = parts[:1] + parts[-1:]
        return any(re.fullmatch(names, part, re.IGNORECASE) for part in ends)

    @property
    def is_trash(self) -> bool:
        return "\\trash" in self.flags or self.is_called(TRASH_NAMES)


@dataclass(frozen=True)
class Status:
    """The status of a folder, which changes when messages arrive, leave or are read."""

    validity: int
    next: int
    messages: int
    unseen: int


@dataclass(frozen=True)
class Head:
    """A message without its text.

    `stamp` is its arrival time and size, which do not change when the message is moved (RFC 3501,
    section 6.4.7).
    """

    uid: int
    flags: frozenset[str]
    date: int
    size: int

    @property
    def stamp(self) -> str:
        return f"{self.date}/{self.size}"


@dataclass(frozen=True)
class Letter(Head):
    """A message with its text."""

    raw: bytes


class Ending:
    """A request to end, which interrupts waiting; signal handlers may call `ask`."""

    def __init__(self) -> None:
        self.came = False
        self._read, self._write = socket.socketpair()
        self._write.setblocking(False)

    def ask(self) -> None:
        self.came = True
        with suppress(OSError):
            self._write.send(b"!")

    def wait(self, seconds: float, other: Any = None) -> None:
        """Wait for `seconds`, or until `other` can be read or `ask` is called."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._read, selectors.EVENT_READ)
            if other is not None:
                selector.register(other, selectors.EVENT_READ)
            selector.select(max(seconds, 0))

    def close(self) -> None:
        self._read.close()
        self._write.close()


class Connection:
    """A connection to an account, logged in."""

    def __init__(self, account: Account) -> None:
        try:
            from imapclient import (  # type: ignore[import-untyped, unused-ignore]
                IMAPClient,
                SocketTimeout,
            )
        except ImportError as error:
            raise ImapError(
                "Watching a mailbox needs IMAPClient: pip install 'genus[imap]'."
            ) from error
        where = f"{account.host}:{account.port}"
        with trusting(where):
            self.client: Any = IMAPClient(
                account.host,
                port=account.port,
                ssl=account.security == TLS,
                timeout=SocketTimeout(connect=CONNECTING, read=ANSWERING),
            )
        self.client.normalise_times = False
        try:
            self._secure(account, where)
            self._login(account, where)
        except BaseException:
            self.close()
            raise

    def _secure(self, account: Account, where: str) -> None:
        if account.security != STARTTLS:
            return
        if not self.client.has_capability("STARTTLS"):
            raise ImapError(f"{where} does not offer STARTTLS. Use --tls, with port 993.")
        with trusting(where):
            self.client.starttls()

    def _login(self, account: Account, where: str) -> None:
        secret = account.secret()
        if re.search(r"[\r\n\0]", account.user + secret):
            raise ImapError("The user, password or token contains a line break or NUL. Remove it.")
        try:
            if account.is_token:
                self.client.oauth2_login(account.user, secret)
            elif SIMPLE.fullmatch(account.user) and secret.isascii():
                self.client.login(account.user, secret)
            else:
                self.client.plain_login(account.user, secret)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            told = printable(str(error))
            if re.search(r"UNAVAILABLE|INUSE|LIMIT|temporar", told, re.IGNORECASE):
                raise  # temporary: RFC 5530
            raise LoginRefused(
                f"{where} refused the login of {account.user}: {told}. Check --user and the "
                f"{'token' if account.is_token else 'password'}."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close(polite=error[0] is None)

    def close(self, polite: bool = False) -> None:
        if polite:
            with suppress(*FAILURES):
                self.client.logout()
                return
        with suppress(*FAILURES):
            self.client.shutdown()

    # Folders

    def folders(self) -> list[Folder]:
        """Return all folders that can be opened."""
        found = []
        for flags, delimiter, name in self.client.list_folders():
            lower = frozenset(text(flag).lower() for flag in flags)
            if not lower & {"\\noselect", "\\nonexistent"}:
                found.append(Folder(text(name), lower, text(delimiter or b"")))
        return found

    def junk(self, folders: Sequence[Folder]) -> str | None:
        """Return the folder for spam, by its special use (RFC 6154) or by its name, or None."""
        for each in folders:
            if "\\junk" in each.flags:
                return each.name
        named = [each.name for each in folders if each.is_called(JUNK_NAMES)]
        return min(named, key=len, default=None)

    def create(self, name: str) -> None:
        self.client.create_folder(name)
        with suppress(imaplib.IMAP4.error):
            self.client.subscribe_folder(name)

    def personal(self, name: str) -> str:
        """Return the full name of a folder of the user; some servers put folders below INBOX."""
        with suppress(imaplib.IMAP4.error):
            if self.client.has_capability("NAMESPACE"):
                personal = self.client.namespace().personal
                return f"{personal[0][0] if personal else ''}{name}"
        return name

    def status(self, folder: str) -> Status:
        found = self.client.folder_status(folder, ["UIDVALIDITY", "UIDNEXT", "MESSAGES", "UNSEEN"])
        wanted = (b"UIDVALIDITY", b"UIDNEXT", b"MESSAGES", b"UNSEEN")
        return Status(*(int(found.get(each, 0)) for each in wanted))

    def examine(self, folder: str) -> int:
        """Open a folder read-only, and return its UIDVALIDITY."""
        return int(self.client.select_folder(folder, readonly=True).get(b"UIDVALIDITY", 0))

    # Messages of the folder that is open

    def uids(self, since: int = 1) -> list[int]:
        """Return the UIDs from `since` on, ascending, without messages marked as deleted."""
        found: set[int] = set()
        last = self._last_uid()
        while since <= last:
            end = "*" if last - since < SEARCHED else str(since + SEARCHED - 1)
            answer = self._search(["UID", f"{since}:{end}", "UNDELETED"])
            found.update(uid for uid in answer if uid >= since)  # * matches the last one at least
            if end == "*":
                break
            since += SEARCHED
        return sorted(found)

    def _last_uid(self) -> int:
        return max(self._search(["UID", "*"]), default=0)

    def _search(self, criteria: list[str]) -> list[int]:
        try:
            return list(self.client.search(criteria))
        except ValueError as error:  # IMAPClient cannot parse the answer
            raise imaplib.IMAP4.abort(str(error)) from error

    def heads(self, uids: Sequence[int]) -> Iterator[Head]:
        """Yield messages without their text; skip those that no longer exist."""
        for start in range(0, len(uids), LISTED):
            some = uids[start : start + LISTED]
            answer = self.client.fetch(some, ["FLAGS", "INTERNALDATE", "RFC822.SIZE"])
            for uid in some:
                if b"RFC822.SIZE" in answer.get(uid, {}):
                    yield head(uid, answer[uid])

    def letters(self, uids: Sequence[int]) -> Iterator[list[Letter]]:
        """Yield messages in batches that fit into memory; skip those that no longer exist."""
        batch: list[Head] = []
        size = 0
        for each in list(self.heads(uids)):
            if batch and (len(batch) == FETCHED or size + each.size > BYTES):
                yield self._fetch(batch)
                batch, size = [], 0
            batch.append(each)
            size += each.size
        if batch:
            yield self._fetch(batch)

    def _fetch(self, heads: Sequence[Head]) -> list[Letter]:
        answer = self.client.fetch([each.uid for each in heads], ["BODY.PEEK[]"])
        return [
            Letter(each.uid, each.flags, each.date, each.size, answer[each.uid][b"BODY[]"] or b"")
            for each in heads
            if b"BODY[]" in answer.get(each.uid, {})
        ]

    # Moving

    def move(self, uids: Sequence[int], source: str, target: str) -> None:
        """Move messages by MOVE, or by copying them and then deleting only the originals."""
        self.client.select_folder(source)
        if self.client.has_capability("MOVE"):
            self.client.move(uids, target)
        else:
            self.client.copy(uids, target)
            self._delete(uids)
        self.examine(source)

    def delete(self, uids: Sequence[int], source: str) -> None:
        """Delete messages that have copies in another folder."""
        self.client.select_folder(source)
        self._delete(uids)
        self.examine(source)

    def _delete(self, uids: Sequence[int]) -> None:
        self.client.add_flags(uids, ["\\Deleted"], silent=True)
        if self.client.has_capability("UIDPLUS"):  # plain EXPUNGE would delete other messages, too
            self.client.uid_expunge(uids)

    # Waiting

    def wait(self, seconds: float, ending: Ending) -> bool:
        """Wait up to `seconds`; return whether the server reported changes of the open folder."""
        # NOOP collects pending notifications, which would be lost at the start of IDLE.
        if told(self.client.noop()[1]):
            return True
        if not self.client.has_capability("IDLE"):
            ending.wait(seconds)
            return False
        self.client.idle()
        ending.wait(seconds, self.client.socket())
        return told(self.client.idle_done()[1])


@contextmanager
def trusting(where: str) -> Iterator[None]:
    """Turn an error about a certificate into one that says what to do."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise ImapError(
            f"The certificate of {where} is not trusted: {error.verify_message}. Use the host name "
            "in the certificate, or add its issuer to those that the system trusts."
        ) from error


def head(uid: int, answer: dict[bytes, Any]) -> Head:
    flags = frozenset(text(flag).lower() for flag in answer.get(b"FLAGS", ()))
    date = answer.get(b"INTERNALDATE")
    return Head(uid, flags, int(date.timestamp()) if date else 0, int(answer[b"RFC822.SIZE"]))


def told(responses: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether one of the server's responses is about messages."""
    return any(
        isinstance(part, bytes) and NEWS.fullmatch(part) for each in responses for part in each
    )


def text(value: bytes | str | int) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def printable(told: str) -> str:
    """Return text from a server on one line, without control characters."""
    if told.startswith("b'") and told.endswith("'"):
        told = told[2:-1]  # imaplib passes bytes to its exceptions
    return "".join(each if each.isprintable() else "?" for each in told)[:300].rstrip(".")


def is_loopback(host: str) -> bool:
    """Return whether a host name means this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("mail.example.com")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
