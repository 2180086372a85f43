"""Python versions of what the kernel does with mail: headers, links, packs and buckets."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

# What parts words beyond ASCII: white space, punctuation and symbols where mail has them.
OTHER = "\x80-\xbf\xd7\xf7\u2000-\u2bff\u3000-\u3020\ue000-\uf8ff\ufe10-\ufe6f\ufff0-\uffff"
FIELD = re.compile(rb"([^\n]*(?:\n[ \t][^\n]*)*+)\n?")
FOLD = re.compile(rb"\n[ \t]+")
FIELD_NAME = re.compile(rb"[!-9;-~]{1,76}[ \t]*\Z")
LINK = re.compile(r"""://([^\s"'<>()]+)""")
BARE_LINK = re.compile(r"""[Ww]{3}(\.[^\s"'<>()]+)""")
ADDRESS = re.compile(r"@([A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++)")
PERSON = re.compile(r"""([^\s<>,;:"()@]{1,64})@([A-Za-z0-9.-]{1,255})""")
LETTER = rf"(?:[0-9A-Za-z]|[^\x00-\x7f{OTHER}])"
NAME = re.compile(rf"{LETTER}(?:{LETTER}|[_'])+")
HOST = re.compile(r"[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++")
NUMERIC = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}")
FROM_HOST = re.compile(r"from (\S+)")
PROTOCOL = re.compile(r"\bwith (\w+)", re.ASCII)
URL = re.compile(r"(?:([^/@?#]*)@)?([^/:?#]*)(?::([0-9]+))?(.*)", re.DOTALL)
PATH_WORD = re.compile(r"[A-Za-z]{3,20}")
PROGRAM = re.compile(r"[A-Za-z]{2,}|[0-9]+\.[0-9]+")
ZONE = re.compile(r"[+-][0-9]{4}")
DIGIT, DIGITS = re.compile("[0-9]"), re.compile("[0-9]+")
CAPITALS, SMALL, MIXED = re.compile("[A-Z]+"), re.compile("[a-z]+"), re.compile("[Aa0]{2,}")
MONTH_OR_DAY = re.compile("[A-Z][a-z]{2}")
EXPECTED = ("from", "to", "subject", "date", "message-id", "mime-version", "content-type")
EXPECTED += ("reply-to", "cc", "x-mailer")
ONCE = ("subject", "from", "reply-to", "date", "message-id")
PROGRAMS = ("x-mailer", "user-agent", "x-mimeole", "x-newsreader")
PEOPLE, ROUTE, FORM = "B", "C", "D"
LINKS, STRUCTURE = "G", "F"


class Pieces:
    """Tokens, each after the letter of its group."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def add(self, group: str, token: str) -> None:
        self.tokens.append(group + token)


def lower(text: str) -> str:
    """Small letters of ASCII; others are small before they come here."""
    return text.encode().lower().decode()


def read_fields(head, lines, most, longest, decode):
    found = []
    for line in islice(FIELD.finditer(head), lines):
        name, colon, value = line.group(1).partition(b":")
        if colon and FIELD_NAME.match(name):
            unfolded = FOLD.sub(b" ", value[:longest]).strip()
            is_plain = unfolded.isascii() and b"=?" not in unfolded
            shown = unfolded.decode() if is_plain else decode(unfolded)
            found.append((name.rstrip().lower().decode(), shown, len(value) > longest))
    are_cut = any(is_cut for _, _, is_cut in found[:most])
    return [each[:2] for each in found[:most]], are_cut, len(found) > most


def header_tokens(headers: Iterable[tuple[str, str]]) -> list[str]:
    pieces, names, hops = Pieces(), set(), 0
    add = pieces.add
    for name, value in headers:
        if name in ONCE and name in names:
            continue
        if name not in names:
            names.add(name)
            add(FORM, f"has:{name[:30]}")
        if name in ("from", "to", "cc", "reply-to"):
            count = of_people(name, value, pieces)
            if name in ("to", "cc"):
                add(PEOPLE, f"{name}:n{min(count.bit_length(), 6)}")
        elif name == "received":
            hops += 1
            of_hop(value, pieces)
        elif name == "message-id":
            of_message_id(value, pieces)
        elif name in PROGRAMS:
            add(FORM, f"{name}:{lower(clean(value[:30]))}")
            for word in PROGRAM.findall(value[:300])[:10]:
                add(FORM, f"{name}:{word.lower()[:24]}")
        elif name == "date":
            form = DIGIT.sub("0", MONTH_OR_DAY.sub("Aaa", clean(value)))
            add(FORM, f"date:{form[:40]}")
            zone = ZONE.search(value)
            add(FORM, f"zone:{zone.group() if zone else 'none'}")
    add(FORM, f"hops:{min(hops, 8)}")
    for name in EXPECTED:
        if name not in names:
            add(FORM, f"no:{name}")
    return pieces.tokens


def of_people(header: str, value: str, pieces: Pieces) -> int:
    """Addresses, their hosts, and names; how many addresses there are."""
    found = PERSON.findall(value)
    for who, host in found[:40]:
        pieces.add(PEOPLE, f"{header}:{lower(who)[:24]}@{host.lower()[:40]}")
        for each in hosts(host):
            pieces.add(PEOPLE, f"{header}:@{each}")
        if DIGITS.search(who) and sum(map(len, DIGITS.findall(who))) > 2:
            pieces.add(PEOPLE, f"{header}:digits")
    for word in NAME.findall(PERSON.sub(" ", value))[:40]:
        pieces.add(PEOPLE, f"{header}:{lower(word)[:24]}")
    return len(found)


def of_hop(value: str, pieces: Pieces) -> None:
    """A host that passed the message on, as it tells."""
    for found in dict.fromkeys(HOST.findall(value)):
        for each in hosts(found):
            pieces.add(ROUTE, each)
    sender = FROM_HOST.match(value)
    if sender:
        name = sender.group(1)
        last = name.rpartition(".")[2]
        pieces.add(ROUTE, f"helo:.{lower(last[:6])}" if "." in name else f"helo:{shape(name)}")
    protocol = PROTOCOL.search(value)
    if protocol:
        pieces.add(ROUTE, f"with:{protocol.group(1).lower()[:20]}")
    for word in ("may be forged", "unknown"):
        if word in value:
            pieces.add(ROUTE, word)


def of_message_id(value: str, pieces: Pieces) -> None:
    local, _, host = clean(value).strip("<>").partition("@")
    pieces.add(FORM, f"id:{shape(local)}")
    pieces.add(FORM, f"id#{min(len(local) // 6, 9)}")
    for each in hosts(host):
        pieces.add(FORM, f"id@{each}")


def mark_tokens(marks: Iterable[str], most: int) -> list[str]:
    pieces = Pieces()
    for mark in islice(dict.fromkeys(marks), most):
        of_mark(mark, pieces)
    return pieces.tokens


def of_mark(mark: str, pieces: Pieces) -> None:
    if not mark.startswith("="):
        pieces.add(STRUCTURE, mark)
        return
    url = mark[1:]
    scheme, _, rest = url.partition(":")
    scheme = lower(scheme)
    if scheme == "mailto":
        pieces.add(LINKS, "mailto")
        found = ADDRESS.search(rest)
        if found:
            of_host(found.group(1), "@", pieces)
    elif scheme == "cid":
        pieces.add(LINKS, "cid")
    elif rest.startswith("//") or url.startswith("//"):
        of_link(url.partition("//")[2], pieces)
    else:
        pieces.add(LINKS, "relative")


def link_tokens(text: str, most: int) -> tuple[str, list[str]]:
    pieces = Pieces()

    def different(found: Iterable[str]) -> Iterator[str]:
        return islice(dict.fromkeys(found), most)

    text = text.replace("\1", " ")
    for rest in different(LINK.findall(text)):
        of_link(rest, pieces)
    text = LINK.sub(" \1u ", text)
    if "ww." in text or "WW." in text:
        for rest in different(BARE_LINK.findall(text)):
            of_link(f"www{rest}", pieces)
        text = BARE_LINK.sub(" \1u ", text)
    for host in different(ADDRESS.findall(text)):
        of_host(host, "@", pieces)
    return ADDRESS.sub(" \1m ", text), pieces.tokens


def of_link(url: str, pieces: Pieces) -> None:
    parts = URL.match(url)
    assert parts is not None  # every part of the pattern may be empty
    user, host, port, path = parts.groups()
    if user is not None:
        pieces.add(LINKS, "user@")
    if port:
        pieces.add(LINKS, "port")
    if "%" in host:
        pieces.add(LINKS, "escaped host")
    of_host(host, "", pieces)
    for word in PATH_WORD.findall(path[:300])[:8]:
        pieces.add(LINKS, f"/{word.lower()}")
    if "?" in path:
        pieces.add(LINKS, "query")


def of_host(host: str, before: str, pieces: Pieces) -> None:
    for each in hosts(host):
        pieces.add(LINKS, before + each)


def hosts(name: str) -> tuple[str, ...]:
    name = clean(lower(name).strip(".[]"))[:100]
    if NUMERIC.fullmatch(name):
        parts = name.split(".")
        return "ip", name, parts[0], ".".join(parts[:2]), ".".join(parts[:3])
    if re.fullmatch("[0-9]+", name.replace(".", "")) or not name:
        return ()
    parts = name.split(".")[-5:]
    return tuple(".".join(parts[i:]) for i in range(len(parts)))


def shape(text: str) -> str:
    """Runs of capitals, small letters and digits as A, a and 0; mixed ones as x."""
    text = SMALL.sub("a", CAPITALS.sub("A", DIGITS.sub("0", text[:80])))
    return MIXED.sub("x", text)[:24]


def clean(text: str) -> str:
    return " ".join(text.split())


def pack_lessons(lessons):
    """A pack before it is compressed."""
    sizes = np.array([len(each) for each in lessons], "<u4")
    every = np.concatenate([np.zeros(0, np.uint32), *lessons])
    ids, at, times = np.unique(every, return_inverse=True, return_counts=True)
    order = np.argsort(-np.frexp(times)[1], kind="stable")
    rank = np.empty(len(ids), np.int64)
    rank[order] = np.arange(len(ids))
    of_lesson = np.repeat(np.arange(len(sizes)), sizes)
    places = np.sort(of_lesson << 32 | rank[at]) & 0xFFFFFFFF
    steps = np.diff(places, prepend=-1) - 1
    first = (np.cumsum(sizes) - sizes)[sizes > 0].astype(np.intp)
    steps[first] = places[first]
    far = steps >= 255
    near = np.where(far, 255, steps).astype(np.uint8)
    gaps = np.diff(ids[order], prepend=np.uint32(0)).astype("<u4")
    planes = np.ascontiguousarray(gaps.view(np.uint8).reshape(-1, 4).T)
    head = np.array([len(sizes), len(ids), np.count_nonzero(far)], "<u4")
    parts = (head, sizes, planes, near, steps[far].astype("<u4"))
    return b"".join(each.tobytes() for each in parts)


def write_buckets(counts):
    """Buckets of {token: (ham, spam)}, by number."""
    buckets = {}
    for token in sorted(token for token, held in counts.items() if any(held)):
        buckets.setdefault(token >> 16, []).append(token)
    return {number: write_bucket(number, held, counts) for number, held in buckets.items()}


def write_bucket(number, tokens, counts):
    codes, wide = bytearray(), b""
    for token in tokens:
        ham, spam = counts[token]
        if ham % 256 or spam % 256 or max(ham, spam) >= 15 * 256:
            codes.append(255)
            wide += ham.to_bytes(6, "little") + spam.to_bytes(6, "little")
        else:
            codes.append(ham // 256 << 4 | spam // 256)
    low = b"".join((token & 0xFFFF).to_bytes(2, "little") for token in tokens)
    content = len(tokens).to_bytes(3, "little") + low + codes + wide
    return (zlib.crc32(content, number) & 0xFFFF).to_bytes(2, "little") + content
