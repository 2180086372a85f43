"""Encode and decode packets of the milter protocol, versions 2 to 6.

A packet is its length in four bytes, a letter, and data; texts in it end with NUL. The sources are
the include files of Sendmail (mfdef.h) and what Postfix sends.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

LENGTH = struct.Struct(">I")
OPTIONS = struct.Struct(">III")  # version, actions, steps
VERSION = 6
LONGEST = 1 << 20  # bytes of a packet; bodies come in pieces of 65,535

# What the server sends.
NEGOTIATE, MACROS, CONNECT, HELO, MAIL, RECIPIENT, DATA = b"O", b"D", b"C", b"H", b"M", b"R", b"T"
HEADER, END_OF_HEADERS, BODY, END_OF_MESSAGE = b"L", b"N", b"B", b"E"
ABORT, QUIT, NEXT_CLIENT, UNKNOWN = b"A", b"Q", b"K", b"U"

# What a milter answers.
CONTINUE, SKIP, INSERT_HEADER, CHANGE_HEADER = b"c", b"s", b"i", b"m"

# Actions that the milter may take, and steps that it does not need (NO_) or answer (SILENT).
ADDS_HEADERS, CHANGES_HEADERS = 0x01, 0x10
NO_UNKNOWN, NO_DATA, MAY_SKIP, LEADING_SPACE = 0x100, 0x200, 0x400, 0x100000
SILENT = {
    HEADER: 0x80,
    CONNECT: 0x1000,
    HELO: 0x2000,
    MAIL: 0x4000,
    RECIPIENT: 0x8000,
    END_OF_HEADERS: 0x40000,
}
WANTED_ACTIONS = ADDS_HEADERS | CHANGES_HEADERS
WANTED_STEPS = NO_UNKNOWN | NO_DATA | MAY_SKIP | LEADING_SPACE | sum(SILENT.values())


class NoMilterProtocol(ValueError):
    """The received data does not follow the milter protocol."""


def packet(kind: bytes, data: bytes = b"") -> bytes:
    """Return the bytes of a packet."""
    return LENGTH.pack(1 + len(data)) + kind + data


def texts(data: bytes) -> list[bytes]:
    """Return the texts in the data of a packet, each of which ends with NUL.

    >>> texts(b"Subject\\0 hello\\0")
    [b'Subject', b' hello']
    """
    return data.removesuffix(b"\0").split(b"\0")


def insert_header(name: bytes, value: bytes, at: int = 0) -> bytes:
    """Return a packet that inserts a header, by default before all others."""
    return packet(INSERT_HEADER, LENGTH.pack(at) + name + b"\0" + value + b"\0")


def remove_header(name: bytes, number: int) -> bytes:
    """Return a packet that removes one of the headers with a name; the first has number 1."""
    return packet(CHANGE_HEADER, LENGTH.pack(number) + name + b"\0\0")


def negotiated(data: bytes) -> tuple[bytes, int]:
    """Return the answer to a server's offer, and the steps that both agree on."""
    if len(data) < OPTIONS.size:
        raise NoMilterProtocol(
            f"the mail server offers its options in {len(data)} bytes; {OPTIONS.size} are needed"
        )
    version, actions, steps = OPTIONS.unpack_from(data)
    if version < 2:
        raise NoMilterProtocol(f"the mail server speaks version {version}; 2 or later is needed")
    if actions & WANTED_ACTIONS != WANTED_ACTIONS:
        raise NoMilterProtocol("the mail server does not let milters change headers")
    agreed = steps & WANTED_STEPS
    offer = OPTIONS.pack(min(version, VERSION), WANTED_ACTIONS, agreed)
    return packet(NEGOTIATE, offer), agreed


class Packets:
    """Splits a stream of bytes into packets.

    >>> packets = Packets()
    >>> list(packets.feed(b"\\0\\0\\0\\2H")), list(packets.feed(b"x\\0\\0"))
    ([], [(b'H', b'x')])
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the letter and the data of each complete packet."""
        self._held += data
        while len(self._held) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._held)
            if not 1 <= length <= LONGEST:
                raise NoMilterProtocol(f"a packet of {length} bytes; it must be 1 to {LONGEST}")
            end = LENGTH.size + length
            if len(self._held) < end:
                return
            whole = bytes(self._held[LENGTH.size : end])
            del self._held[:end]
            yield whole[:1], whole[1:]


def macros_of(data: bytes) -> dict[bytes, bytes]:
    """Return the macros in a packet by name, without the braces of {name}."""
    pairs: Sequence[bytes] = texts(data[1:])
    names = (name.removeprefix(b"{").removesuffix(b"}") for name in pairs[::2])
    return dict(zip(names, pairs[1::2], strict=False))
