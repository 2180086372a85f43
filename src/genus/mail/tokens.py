"""What a message is made of: tokens in groups by where they stood, as hashes.

Words, pairs of words, and the words with which the text opens; the subject's; the people it is from
and to; the route it took; the form of what programs wrote; the structure of its parts and pages;
links; and words that cannot be seen. Each group is evidence that can be weighed on its own, because
each can be forged, and changes, in its own way. Headers beyond these are not read: most say who the
reader is and which lists he is on, which is true of all his mail until it changes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from genus.mail.authentication import results_of
from genus.mail.identity import is_added
from genus.mail.message import LIMITS, ZERO_WIDTH, Message, Part, read
from genus.mail.store.lessons import Tokens
from genus.text.hashes import KINDS, WordPlan, ids_of

VERSION = 2  # of the tokens; lessons of another version are learned anew
GROUPS = (
    "subject",
    "people",
    "route",
    "form",
    "words",
    "structure",
    "links",
    "pairs",
    "opening",
    "hidden",
)
SUBJECT, PEOPLE, ROUTE, FORM, WORDS, STRUCTURE, LINKS, PAIRS, OPENING, HIDDEN = range(10)
LETTER = [chr(ord("A") + kind) for kind in range(len(GROUPS))]
IN_SUBJECT = WordPlan(SUBJECT, SUBJECT, SUBJECT, SUBJECT, mixed=STRUCTURE)
IN_TEXT = WordPlan(WORDS, WORDS, WORDS, PAIRS, OPENING, 60, mixed=STRUCTURE)
IN_LATER_TEXT = WordPlan(WORDS, WORDS, WORDS, PAIRS, mixed=STRUCTURE)
UNSEEN = WordPlan(HIDDEN, -1, HIDDEN, -1, mixed=STRUCTURE)
MOST_TOKENS = 4000  # different ones of a message; if there are more, so many of a group:
MOST_WORDS, MOST_OTHERS = 1200, 200
CUT_TOKENS, MOSTLY_UNREAD = LETTER[STRUCTURE] + "cut:tokens", LETTER[STRUCTURE] + "mostly unread"
MOSTLY_UNREAD_ID = ids_of([MOSTLY_UNREAD])[0]
MOST_LINKS = 1000  # different ones of a text; of a page also tags and attributes

EXPECTED = [
    "from",
    "to",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "reply-to",
    "cc",
    "x-mailer",
]
ONCE = ("subject", "from", "reply-to", "date", "message-id")  # what readers show is the first
PROGRAMS = ("x-mailer", "user-agent", "x-mimeole", "x-newsreader")

# Suffixes of files that run when they are opened, or hold such.
RUN = (
    *("bat", "chm", "cmd", "com", "cpl", "dll", "docm", "exe", "hta", "img", "iso", "jar", "js"),
    *("jse", "lnk", "msi", "pif", "ps1", "reg", "scr", "vbe", "vbs", "vhd", "wsf", "xlsm"),
)

# These begin with letters that are rare in texts, so that most of a text is passed at once.
LINK = re.compile(r"""://([^\s"'<>()]+)""")
BARE_LINK = re.compile(r"""[Ww]{3}(\.[^\s"'<>()]+)""")
ADDRESS = re.compile(r"@([A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++)")
PERSON = re.compile(r"""([^\s<>,;:"()@]{1,64})@([A-Za-z0-9.-]{1,255})""")
NAME = re.compile(r"[^\W_][\w']+")
HOST = re.compile(r"[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++")
NUMERIC = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}")
FROM_HOST = re.compile(r"from (\S+)")
PROTOCOL = re.compile(r"\bwith (\w+)", re.ASCII)
URL = re.compile(r"(?:([^/@?#]*)@)?([^/:?#]*)(?::([0-9]+))?(.*)", re.DOTALL)
PATH_WORD = re.compile(r"[A-Za-z]{3,20}")
PROGRAM = re.compile(r"[A-Za-z]{2,}|[0-9]+\.[0-9]+")
ZONE = re.compile(r"[+-][0-9]{4}")
RATED = re.compile(r"[\[*{(]{0,9}\s{0,9}spam\s{0,9}[\])}*]++", re.IGNORECASE)  # by another filter
NO_WIDTH = re.compile(f"[{ZERO_WIDTH}]")
STRETCH = re.compile(r"[\x00-\x7f]*[^\x00-\x7f]{1,200}|[\x00-\x7f]+")
DIGIT, DIGITS = re.compile("[0-9]"), re.compile("[0-9]+")
CAPITALS, SMALL, MIXED = re.compile("[A-Z]+"), re.compile("[a-z]+"), re.compile("[Aa0]{2,}")
MONTH_OR_DAY = re.compile("[A-Z][a-z]{2}")


@dataclass
class Stretch:
    """A text whose words are tokens: how they count, and where it stood."""

    text: str
    plan: WordPlan
    where: str


@dataclass
class Pieces:
    """Whole tokens, each after the letter of its group, and texts that hold more."""

    tokens: list[str] = field(default_factory=list)
    texts: list[Stretch] = field(default_factory=list)

    def add(self, group: int, token: str) -> None:
        self.tokens.append(LETTER[group] + token)


def tokens_of(raw: bytes) -> Tokens:
    """The ids of a message's tokens, each once, ascending.

    >>> one = tokens_of(b"Subject: Cheap watches\\n\\nBuy now")
    >>> two = tokens_of(b"Subject: Cheap watches\\n\\nBuy later")
    >>> 0 < len(np.intersect1d(one, two)) < len(one)
    True
    """
    pieces = pieces_of(read(raw))
    found = [ids_of(pieces.tokens), *(each.plan.ids(each.text) for each in pieces.texts)]
    ids = np.sort(np.concatenate(found))
    ids = ids[np.append(True, ids[1:] != ids[:-1])]  # np.unique takes five times as long
    return ids if len(ids) <= MOST_TOKENS else fewer(found)


def groups_of(ids: Tokens) -> NDArray[np.intp]:
    """The group of each token; one that a store has of another version counts as the last."""
    return np.minimum(ids & (KINDS - 1), len(GROUPS) - 1).astype(np.intp)


def is_mostly_unread(ids: Tokens) -> bool:
    """Whether more of a message's text was left out than was read."""
    at = ids.searchsorted(MOSTLY_UNREAD_ID)
    return bool(at < len(ids) and ids[at] == MOSTLY_UNREAD_ID)


def fewer(found: list[Tokens]) -> Tokens:
    """The first different ids of each group, ascending: no group may crowd out the others.

    First is what is near to the beginning of its text, so that no text crowds out the next.
    """
    every = np.concatenate(found)
    every = every[np.argsort(np.concatenate([np.arange(len(each)) for each in found]), stable=True)]
    ids, first = np.unique(every, return_index=True)
    ids = ids[np.argsort(first)]
    groups = groups_of(ids)
    kept = [
        ids[groups == group][: MOST_WORDS if group in (WORDS, PAIRS) else MOST_OTHERS]
        for group in range(len(GROUPS))
    ]
    cut = np.append(ids_of([CUT_TOKENS]), ids[ids == MOSTLY_UNREAD_ID])
    return np.unique(np.concatenate([cut, *kept])[:MOST_TOKENS])


def pieces_of(message: Message) -> Pieces:
    """What a message is made of."""
    pieces = Pieces()
    of_headers(message, pieces)
    opened: set[bool] = set()  # a reader sees the plain text or the page, and not both
    for number, part in enumerate(message.parts, 1):
        of_part(part, pieces)
        if part.text:
            is_page = part.page is not None
            plan = IN_LATER_TEXT if is_page in opened else IN_TEXT
            pieces.texts += of_text(part, pieces, f"part {number}", plan)
            opened.add(is_page)
    for limit in message.cut:
        pieces.add(STRUCTURE, f"cut:{limit}")
    if message.mostly_unread:
        pieces.tokens.append(MOSTLY_UNREAD)
    size = sum(len(each.text) for each in pieces.texts)
    pieces.add(STRUCTURE, f"size:{size.bit_length()}")
    return pieces


# Headers


def of_headers(message: Message, pieces: Pieces) -> None:
    add, names, hops = pieces.add, set(), 0
    for name, value in message.headers:
        if is_added(name) or (name in ONCE and name in names):
            continue
        if name not in names:
            names.add(name)
            add(FORM, f"has:{name[:30]}")
        if name == "subject":
            of_subject(value, pieces)
        elif name in ("from", "to", "cc", "reply-to"):
            count = of_people(name, value, pieces)
            if name in ("to", "cc"):
                add(PEOPLE, f"{name}:n{min(count.bit_length(), 6)}")
        elif name == "received":
            hops += 1
            of_hop(value, pieces)
        elif name == "message-id":
            of_message_id(value, pieces)
        elif name in PROGRAMS:
            add(FORM, f"{name}:{clean(value[:30]).lower()}")
            for word in PROGRAM.findall(value[:300])[:10]:
                add(FORM, f"{name}:{word.lower()[:24]}")
        elif name == "date":
            shape = DIGIT.sub("0", MONTH_OR_DAY.sub("Aaa", clean(value)))
            add(FORM, f"date:{shape[:40]}")
            zone = ZONE.search(value)
            add(FORM, f"zone:{zone.group() if zone else 'none'}")
    results = results_of(message.headers)
    for method, result in results.found:
        add(ROUTE, f"{method}={result}")
    for signer in results.signers:
        for domain in hosts(signer):
            add(PEOPLE, f"signed:@{domain}")
    add(FORM, f"hops:{min(hops, 8)}")
    for name in EXPECTED:
        if name not in names:
            add(FORM, f"no:{name}")


def of_subject(value: str, pieces: Pieces) -> None:
    text = RATED.sub("", value)
    if "    " in text.strip():
        pieces.add(SUBJECT, "~gap")
    if not text.strip():
        pieces.add(SUBJECT, "~empty")
    pieces.texts.append(Stretch(normal(text, pieces, SUBJECT), IN_SUBJECT, "subject"))


def of_people(header: str, value: str, pieces: Pieces) -> int:
    """Addresses, their hosts, and names; how many addresses there are."""
    found = PERSON.findall(value)
    for who, host in found[:40]:
        pieces.add(PEOPLE, f"{header}:{who.lower()[:24]}@{host.lower()[:40]}")
        for each in hosts(host):
            pieces.add(PEOPLE, f"{header}:@{each}")
        if DIGITS.search(who) and sum(map(len, DIGITS.findall(who))) > 2:
            pieces.add(PEOPLE, f"{header}:digits")
    for word in NAME.findall(PERSON.sub(" ", value))[:40]:
        pieces.add(PEOPLE, f"{header}:{word.lower()[:24]}")
    return len(found)


def of_hop(value: str, pieces: Pieces) -> None:
    """A host that passed the message on, as it tells."""
    for found in dict.fromkeys(HOST.findall(value)):
        for each in hosts(found):
            pieces.add(ROUTE, each)
    sender = FROM_HOST.match(value)
    if sender:
        name = sender.group(1)
        last = name.rpartition(".")[2].lower()[:6]
        pieces.add(ROUTE, f"helo:.{last}" if "." in name else f"helo:{shape(name)}")
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


# Parts


def of_part(part: Part, pieces: Pieces) -> None:
    """What a part says of itself."""
    for name, value in (
        ("type", part.type),
        ("charset", part.charset),
        ("encoding", part.encoding),
        ("shown", part.disposition),
    ):
        if value:
            pieces.add(STRUCTURE, f"{name}:{clean(value)[:40]}")
    if part.name:
        suffixes = [each.lower()[:6] for each in clean(part.name).split(".")[1:]]
        pieces.add(STRUCTURE, f"suffix:{clean(part.name).rpartition('.')[2].lower()[:6]}")
        if suffixes and suffixes[-1] in RUN:
            pieces.add(STRUCTURE, "can be run")
            if len(suffixes) > 1:
                pieces.add(STRUCTURE, f"suffixes:{'.'.join(suffixes[-2:])}")
        for word in PATH_WORD.findall(part.name)[:6]:
            pieces.add(STRUCTURE, f"file:{word.lower()[:16]}")


def of_text(part: Part, pieces: Pieces, where: str, plan: WordPlan) -> Iterator[Stretch]:
    """The text of a part, and what cannot be seen of it."""
    text, page = part.text or "", part.page
    if page is not None:
        if page.comments:
            pieces.add(STRUCTURE, "<!--")
        of_marks(page.marks, pieces)
        if page.hidden.strip():
            pieces.add(STRUCTURE, "hidden text")
            hidden = normal(page.hidden, pieces, STRUCTURE)
            yield Stretch(hidden, UNSEEN, f"hidden in {where}")
    yield Stretch(without_links(normal(text, pieces, STRUCTURE), pieces), plan, where)


def of_marks(marks: tuple[str, ...], pieces: Pieces) -> None:
    """Tags, attributes and addresses of a page."""
    for mark in different(marks):
        if not mark.startswith("="):
            pieces.add(STRUCTURE, mark)
            continue
        url = mark[1:]
        scheme, _, rest = url.partition(":")
        scheme = scheme.lower()
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


def without_links(text: str, pieces: Pieces) -> str:
    """A text with addresses taken out, which are tokens of their own; \\1 stands for each."""
    text = text.replace("\1", " ")
    if "://" in text:
        for rest in different(LINK.findall(text)):
            of_link(rest, pieces)
        text = LINK.sub(" \1u ", text)
    if "ww." in text or "WW." in text:
        for rest in different(BARE_LINK.findall(text)):
            of_link(f"www{rest}", pieces)
        text = BARE_LINK.sub(" \1u ", text)
    if "@" in text:
        for host in different(ADDRESS.findall(text)):
            of_host(host, "@", pieces)
        text = ADDRESS.sub(" \1m ", text)
    return text


def different(found: Iterable[str]) -> Iterator[str]:
    """The first MOST_LINKS different ones."""
    return islice(dict.fromkeys(found), MOST_LINKS)


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


# Letters


@lru_cache(maxsize=10_000)
def hosts(name: str) -> tuple[str, ...]:
    """A host and the domains that it is in; an address and the nets that it is in.

    >>> hosts("mail.example.org"), hosts("192.0.2.7")[-1]
    (('mail.example.org', 'example.org', 'org'), '192.0.2')
    """
    name = clean(name.lower().strip(".[]"))[:100]
    if NUMERIC.fullmatch(name):
        parts = name.split(".")
        return "ip", name, parts[0], ".".join(parts[:2]), ".".join(parts[:3])
    if name.replace(".", "").isdigit() or not name:
        return ()
    parts = name.split(".")[-5:]
    return tuple(".".join(parts[i:]) for i in range(len(parts)))


def normal(text: str, pieces: Pieces, group: int) -> str:
    """One form of what looks the same (NFKC), less what has no width; that there was is noted."""
    if text.isascii():
        return text
    if NO_WIDTH.search(text):
        text = NO_WIDTH.sub("", text)
        pieces.add(group, "zero width")
    # In stretches, as time is quadratic in marks upon marks, and in letters that become many.
    stretches = (unicodedata.normalize("NFKC", each) for each in STRETCH.findall(text))
    return "".join(stretches)[: LIMITS.text]


def shape(text: str) -> str:
    """Runs of capitals, small letters and digits as A, a and 0; mixed ones as x."""
    text = SMALL.sub("a", CAPITALS.sub("A", DIGITS.sub("0", text[:80])))
    return MIXED.sub("x", text)[:24]


def clean(text: str) -> str:
    """On one line: lines end tokens."""
    return " ".join(text.split())
