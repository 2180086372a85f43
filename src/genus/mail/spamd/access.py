"""Decide which users a peer may act for.

A Unix socket identifies the user of the process at its other end (SO_PEERCRED). Root, the server's
own user, users that the administrator trusts, such as that of a mail server, and peers that send
the secret may act for every user. All other peers act for themselves or, over TCP, for the site.
"""

from __future__ import annotations

import hmac
import os
import pwd
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from genus.mail.charsets import load_all
from genus.mail.privacy import require_private
from genus.mail.spamd.protocol import Code, Refusal, Request

CREDENTIALS = struct.Struct("3i")  # process, user, group
FEWEST_CHARACTERS = 16  # of a secret


@dataclass(frozen=True)
class Peer:
    """The other end of a connection: a user on a Unix socket, or else an address."""

    uid: int | None = None
    address: str = ""

    @property
    def name(self) -> str:
        """The user's name, the ID of a user without a name, or the peer's address."""
        if self.uid is None:
            return self.address
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    @property
    def key(self) -> str:
        """A key that identifies the peer."""
        return f"uid {self.uid}" if self.uid is not None else self.address


def peer_of(client: socket.socket) -> Peer:
    """Return the peer at the other end of a connection."""
    if client.family != socket.AF_UNIX:
        return Peer(address=str(client.getpeername()[0]))
    if not hasattr(socket, "SO_PEERCRED"):  # macOS and BSD: nobody is known
        return Peer(address="a Unix socket")
    told = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return Peer(CREDENTIALS.unpack(told)[1])


@dataclass(frozen=True)
class Access:
    """Whom the server trusts: users by ID, and peers that send the secret, if there is one.

    `apart` is whether users have stores of their own.
    """

    apart: bool = False
    trusted: frozenset[int] = frozenset()
    secret: str | None = None

    def trusts(self, peer: Peer, request: Request) -> bool:
        """Return whether a peer may act for all users."""
        if peer.uid is not None and peer.uid in {0, os.getuid(), *self.trusted}:
            return True
        return self.knows_secret(request)

    def knows_secret(self, request: Request) -> bool:
        """Return whether a request has the server's secret."""
        sent = request.headers.get("secret", "").encode()
        return self.secret is not None and hmac.compare_digest(self.secret.encode(), sent)

    def user(self, peer: Peer, request: Request) -> str | None:
        """Return the user whose store a request is about; None means the site's or the only store.

        A peer that is not trusted acts for the user whose name is exactly its own: other names of
        a store, such as one with an extension, are those of mail, not of users of this machine.
        Some clients always name their user. So if a peer without a known identity names a user, it
        is not refused, but gets the site's answer. A wrong secret is a mistake, or a guess: it is
        refused, also if the peer is trusted without it.
        """
        if (self.apart or self.secret is not None) and "secret" in request.headers:
            if self.secret is None:
                raise Refusal(Code.EX_NOPERM, "wrong secret: the server has none")
            if not self.knows_secret(request):
                raise Refusal(Code.EX_NOPERM, "wrong secret: it is not the one of the server")
        if self.trusts(peer, request):
            return request.user
        is_unknown = peer.uid is None and (self.apart or self.secret is not None)
        if is_unknown and request.command == "TELL":
            raise Refusal(
                Code.EX_NOPERM,
                "TCP does not identify the user: send the secret, or learn over the Unix socket",
            )
        if is_unknown or not self.apart:
            return None
        if (request.user or peer.name).lower() != peer.name.lower():
            raise Refusal(Code.EX_NOPERM, f"{peer.name} may not act for another user")
        return peer.name


def numbers_of(names: tuple[str, ...]) -> frozenset[int]:
    """Return the user IDs of the users with these names."""
    return frozenset(user_named(name).pw_uid for name in names)


def user_named(name: str) -> pwd.struct_passwd:
    """Return a user's entry in the password database of this machine."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise ValueError(
            f"There is no user {name!r} on this machine. Name a user that exists."
        ) from None


def secret_in(path: Path) -> str:
    """Return the secret in a file's first line; refuse a file that others can access."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ValueError(f"Cannot read the secret from {path}: {told}.") from error
    require_private(path)
    if not lines or len(lines[0]) < FEWEST_CHARACTERS or not lines[0].isprintable():
        raise ValueError(
            f"The first line of {path} must be a secret of at least {FEWEST_CHARACTERS} "
            f"characters. Make one: head -c 24 /dev/urandom | base64 > {path}."
        )
    return lines[0].strip()


def become(name: str) -> None:
    """Switch from root to a user, permanently."""
    entry = user_named(name)
    if entry.pw_uid == os.geteuid():
        return
    if os.geteuid() != 0:
        raise ValueError(
            f"Only root can switch to the user {name}. Start the server as {name}, without --user."
        )
    load_all()  # Python may be installed in a folder of root's, such as /root/.pyenv
    os.initgroups(name, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    os.environ.update(HOME=entry.pw_dir, USER=name, LOGNAME=name)
