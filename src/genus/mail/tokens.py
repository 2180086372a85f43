"""Split a message into hashed tokens, grouped by where they occur in it.

The groups are: words, pairs of words, and the words at the beginning of the text; the words of the
subject; the senders and recipients; the servers on the message's route; the form of headers that
programs write, such as dates; the structure of parts and pages; links; and hidden words. Each group
has its own weight, because some are easier to forge or change more often. Other headers are not
read: most identify the recipient or a mailing list, so they are the same in ham and spam until the
subscriptions change.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from genus._kernel import domains, hash_lines, hash_message, header_tokens, link_tokens, mark_tokens
from genus.mail.authentication import results_of
from genus.mail.charsets import ZERO_WIDTH
from genus.mail.identity import is_added
from genus.mail.message import LIMITS, Message, Part, read
from genus.mail.store.lessons import Tokens
from genus.text.hashes import KINDS, WordPlan, ids_of, in_small_letters

VERSION = 2  # of the tokens; lessons of another version have to be learned again
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
OF_HEADERS = LETTER[PEOPLE], LETTER[ROUTE], LETTER[FORM]
OF_LINKS = LETTER[LINKS], LETTER[STRUCTURE]
IN_SUBJECT = WordPlan(SUBJECT, SUBJECT, SUBJECT, SUBJECT, mixed=STRUCTURE)
IN_TEXT = WordPlan(WORDS, WORDS, WORDS, PAIRS, OPENING, 60, mixed=STRUCTURE)
IN_LATER_TEXT = WordPlan(WORDS, WORDS, WORDS, PAIRS, mixed=STRUCTURE)
UNSEEN = WordPlan(HIDDEN, -1, HIDDEN, -1, mixed=STRUCTURE)
MOST_TOKENS = 4000  # distinct ones of a message; if there are more, at most so many of a group:
MOST_WORDS, MOST_OTHERS = 1200, 200
CUT_TOKENS, MOSTLY_UNREAD = LETTER[STRUCTURE] + "cut:tokens", LETTER[STRUCTURE] + "mostly unread"
MOST_LINKS = 1000  # distinct ones of a text; of a page also tags and attributes
MOSTLY_UNREAD_ID = ids_of([MOSTLY_UNREAD])[0]

# Suffixes of files that run when they are opened, or that contain such files.
RUN = (
    *("bat", "chm", "cmd", "com", "cpl", "dll", "docm", "exe", "hta", "img", "iso", "jar", "js"),
    *("jse", "lnk", "msi", "pif", "ps1", "reg", "scr", "vbe", "vbs", "vhd", "wsf", "xlsm"),
)

PATH_WORD = re.compile(r"[A-Za-z]{3,20}")
RATED = re.compile(r"[\[*{(]{0,9}\s{0,9}spam\s{0,9}[\])}*]++", re.IGNORECASE)  # by another filter
NO_WIDTH = re.compile(f"[{ZERO_WIDTH}]")
ASCII = re.compile(r"([\x00-\x7f]+)")
STRETCH = 200  # characters: NFKC takes quadratic time for stacked marks and for expanding letters
MARKED = re.compile(r"[\x00-\x7f][\u0300-\u036f]{1,200}")  # may compose to one character


@dataclass
class Stretch:
    """A text in UTF-8 whose words are tokens, the plan to split it by, and its place."""

    text: bytes
    plan: WordPlan
    where: str


@dataclass
class Pieces:
    """Lines of tokens, each with its group's letter, and texts to split into further tokens."""

    lines: list[bytes] = field(default_factory=list)
    texts: list[Stretch] = field(default_factory=list)

    def add(self, group: int, token: str) -> None:
        self.lines.append(f"{LETTER[group]}{token}\n".encode("utf-8", "replace"))

    @property
    def tokens(self) -> list[str]:
        return b"".join(self.lines).decode().split("\n")[:-1]


def tokens_of(raw: bytes) -> Tokens:
    """Return the distinct ids of a message's tokens, ascending.

    >>> one = tokens_of(b"Subject: Cheap watches\\n\\nBuy now")
    >>> two = tokens_of(b"Subject: Cheap watches\\n\\nBuy later")
    >>> 0 < len(np.intersect1d(one, two)) < len(one)
    True
    """
    pieces = pieces_of(read(raw))
    lines = b"".join(pieces.lines)
    ids = hash_message(lines, [(each.text, *each.plan.key) for each in pieces.texts])
    if len(ids) <= MOST_TOKENS:
        return ids
    return fewer([hash_lines(lines), *(each.plan.places(each.text)[:, 0] for each in pieces.texts)])


def groups_of(ids: Tokens) -> NDArray[np.intp]:
    """Return the group of each token; a group unknown to this version counts as the last one."""
    return np.minimum(ids & (KINDS - 1), len(GROUPS) - 1).astype(np.intp)


def is_mostly_unread(ids: Tokens) -> bool:
    """Return whether more of a message's text was left out than was read."""
    at = ids.searchsorted(MOSTLY_UNREAD_ID)
    return bool(at < len(ids) and ids[at] == MOSTLY_UNREAD_ID)


def fewer(found: list[Tokens]) -> Tokens:
    """Limit the number of distinct ids of each group, so that no group displaces the others.

    The ids are taken from the beginning of all texts in turn, so that no text displaces another.
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
    """Return the tokens and texts of a message."""
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
        pieces.add(STRUCTURE, MOSTLY_UNREAD[1:])
    size = sum(length(each.text) for each in pieces.texts)
    pieces.add(STRUCTURE, f"size:{size.bit_length()}")
    return pieces


# Headers


def of_headers(message: Message, pieces: Pieces) -> None:
    names = dict(reversed(message.headers))
    if "subject" in names:  # readers show the first
        of_subject(names["subject"], pieces)
    plain = [
        each if each[1].isascii() else (each[0], readable(each[1]))
        for each in message.headers
        if not is_added(each[0])
    ]
    pieces.lines.append(header_tokens(plain, OF_HEADERS))
    if "authentication-results" in names:
        results = results_of(message.headers)
        for method, result in results.found:
            pieces.add(ROUTE, f"{method}={result}")
        for signer in results.signers:
            for domain in domains(signer):
                pieces.add(PEOPLE, f"signed:@{domain}")


def of_subject(value: str, pieces: Pieces) -> None:
    text = RATED.sub("", value) if "spam" in value.lower() else value
    if "    " in text.strip():
        pieces.add(SUBJECT, "~gap")
    if not text.strip():
        pieces.add(SUBJECT, "~empty")
    pieces.texts.append(Stretch(normal(text, pieces, SUBJECT), IN_SUBJECT, "subject"))


# Parts


def of_part(part: Part, pieces: Pieces) -> None:
    """Add tokens for the properties that a part declares."""
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
    """Yield the text of a part, and its hidden text; add tokens for its links and markup."""
    text, page = part.text or "", part.page
    if page is not None:
        if page.comments:
            pieces.add(STRUCTURE, "<!--")
        pieces.lines.append(mark_tokens(readable_links(page.marks), OF_LINKS, MOST_LINKS))
        if page.hidden.strip():
            pieces.add(STRUCTURE, "hidden text")
            hidden = normal(page.hidden, pieces, STRUCTURE)
            yield Stretch(hidden, UNSEEN, f"hidden in {where}")
    rest, lines = link_tokens(normal(text, pieces, STRUCTURE), OF_LINKS, MOST_LINKS)
    pieces.lines.append(lines)
    yield Stretch(rest, plan, where)


# Letters


def normal(text: str, pieces: Pieces, group: int) -> bytes:
    """Return the normal form of a text in UTF-8; add a token if it has zero-width characters."""
    if text.isascii():
        return text.encode()
    hidden = marked = False

    def form(stretch: str) -> str:
        nonlocal hidden, marked
        if len(stretch) > STRETCH:
            return "".join(
                form(stretch[at : at + STRETCH]) for at in range(0, len(stretch), STRETCH)
            )
        same, has_hidden = form_of(stretch)
        hidden |= has_hidden
        marked |= "\u0300" <= same[:1] <= "\u036f"
        return same

    runs = ASCII.split(text)
    runs[::2] = map(form, runs[::2])  # what is between ASCII
    text = "".join(runs)
    if marked:
        text = MARKED.sub(lambda found: form_of(found.group())[0], text)
    text = text[: LIMITS.text]
    if hidden:
        pieces.add(group, "zero width")
    return text.encode("utf-8", "replace")


@lru_cache(maxsize=4096)
def form_of(stretch: str) -> tuple[str, bool]:
    """Return NFKC in lower case without zero-width characters, and whether there were any."""
    seen = NO_WIDTH.sub("", stretch)
    return in_small_letters(unicodedata.normalize("NFKC", seen)), seen != stretch


def readable_links(marks: str) -> bytes:
    """Return the markup features of a page, one on each line, with links made `readable`."""
    if not marks.isascii():
        lines = marks.split("\n")
        marks = "\n".join(readable(each) if each.startswith("=") else each for each in lines)
    return marks.encode("utf-8", "replace")


def readable(text: str) -> str:
    """Return text for the kernel: letters beyond ASCII in lower case, and no lone surrogates."""
    if text.isascii():
        return text
    return in_small_letters(text).encode("utf-8", "replace").decode()


def length(text: bytes) -> int:
    return len(text) if text.isascii() else len(text.decode())


def clean(text: str) -> str:
    """Put text on one line, because a line break ends a token."""
    return " ".join(text.split())
