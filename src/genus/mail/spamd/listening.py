"""Open the sockets of a server: a Unix socket, TCP, or those that systemd passes on."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import pwd
import shutil
import socket
import stat
from contextlib import suppress
from pathlib import Path

BACKLOG = 512


def on_unix(path: Path, mode: int = 0o600, owner: str | None = None) -> socket.socket:
    """Return a listening Unix socket; replace its file if no process listens there.

    The folder is locked meanwhile, so that if two servers start at once, one of them is refused.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise ValueError(
            f"Cannot listen on {path}: {error.strerror}. Name a path in a folder that exists."
        ) from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        return bound(path, mode, owner)
    finally:
        os.close(folder)


def bound(path: Path, mode: int, owner: str | None) -> socket.socket:
    if path.is_symlink() or path.exists():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ValueError(f"{path} exists and is not a socket. Remove it, or name another path.")
        if answers(path):
            raise ValueError(f"Another server listens on {path}. End it, or name another path.")
        path.unlink()
    listening = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)  # nobody can connect before the mode is set
    try:
        listening.bind(str(path))
        path.chmod(mode)
        if owner is not None:
            shutil.chown(path, owner, pwd.getpwnam(owner).pw_gid)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ValueError(
            f"Cannot listen on {path}: {error.strerror or error}. Check the permissions of the "
            "folder, or name another path."
        ) from error
    finally:
        os.umask(before)
    return listening


def answers(path: Path) -> bool:
    """Return whether a process listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as trial:
        trial.settimeout(5)
        try:
            trial.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # too busy, or not allowed: a server is there
            return True
    return True


def on_tcp(host: str, port: int, remote: bool = False) -> socket.socket:
    """Return a TCP socket that listens on loopback, or on any address if `remote` is true."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ValueError(f"There is no address {host!r}: {error.strerror}.") from error
    if not remote and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise ValueError(
            f"{host} can be reached from other machines, and the protocol has neither passwords "
            "nor encryption. Listen on 127.0.0.1, or add --allow-remote behind a firewall."
        )
    listening = socket.socket(family, kind, number)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ValueError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Stop any other server "
            "there, or name another address; a port below 1024 may need root."
        ) from error
    return listening


def handed_over() -> list[socket.socket]:
    """Return the sockets that systemd has opened for this process: sd_listen_fds(3)."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    number = int(os.environ.get("LISTEN_FDS", "0"))
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    return [socket.socket(fileno=3 + each) for each in range(number)]


def name_of(listening: socket.socket) -> str:
    """Return the path, or HOST:PORT, on which a socket listens."""
    address = listening.getsockname()
    if listening.family == socket.AF_UNIX:
        return str(address)
    host = f"[{address[0]}]" if listening.family == socket.AF_INET6 else address[0]
    return f"{host}:{address[1]}"


class Claim:
    """The file of a Unix socket; `release` removes it unless it was replaced."""

    def __init__(self, path: Path) -> None:
        self.path, self.made = path, path.stat()

    def release(self) -> None:
        with suppress(FileNotFoundError, PermissionError):  # a folder of root's stays as it is
            if os.path.samestat(self.path.stat(), self.made):
                self.path.unlink()
