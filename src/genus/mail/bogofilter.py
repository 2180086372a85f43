"""Import the word list of bogofilter, as lessons.

The dump of a word list says how many of the N messages of a class contain a word, but not which.
N is divided into the weights 1, 2, 4 … and a remainder, so that any count up to N is a sum of some
of them. There is one lesson for each weight; it contains the words whose count has this weight in
its sum. So imported counts are lessons like others: they add up, fade, and can be forgotten.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator

import numpy as np

from genus.mail.spamfilter import SpamFilter, shift, this_day, unlearn
from genus.mail.store import UNIT, Lesson
from genus.mail.store.lessons import IMPORTED
from genus.mail.tokens import LETTER, LINKS, OPENING, PEOPLE, ROUTE, SUBJECT, WORDS
from genus.text.hashes import WordPlan, ids_of

MESSAGES = ".MSG_COUNT"
PREFIXES = {"subj": SUBJECT, "from": PEOPLE, "to": PEOPLE, "url": LINKS, "rcvd": ROUTE}
NOTE = "bogofilter"
MOST_MESSAGES = 10**9
# Only spaces of ASCII divide an entry: a word may hold others.
ENTRY = re.compile(rb"\s*(\S+)\s+([0-9]{1,18})\s+([0-9]{1,18})(?:\s.*)?", re.DOTALL)


def import_dump(spam_filter: SpamFilter, path: str) -> str:
    """Import a dump in place of an earlier import, and return a sentence on the result."""
    if path == "-":
        counts = read_dump(sys.stdin.buffer)
    else:
        with open(path, "rb") as file:
            counts = read_dump(file)
    spam_total, ham_total = counts.get(MESSAGES, (0, 0))
    counts = {word: each for word, each in counts.items() if not word.startswith(".")}
    if not (0 < spam_total < MOST_MESSAGES and 0 < ham_total < MOST_MESSAGES):
        raise ValueError(
            f"{path} has no line {MESSAGES} with a plausible number of messages of both classes. "
            "Pass the output of `bogoutil -d wordlist.db`."
        )
    lessons = [
        *lessons_of({w: n for w, (n, _) in counts.items() if n}, spam_total, True),
        *lessons_of({w: n for w, (_, n) in counts.items() if n}, ham_total, False),
    ]
    with spam_filter.store.change() as change:
        before = change.get(NOTE)
        if before:
            digests = [bytes.fromhex(each) for each in before.split()]
            unlearn(change, list(change.find(digests).values()))
        change.write(lessons)
        shift(change, lessons, [])
        change.put(NOTE, " ".join(each.digest.hex() for each in lessons))
    spam_filter.rejudge(anew=True)
    return f"Imported {len(counts):,} words of {spam_total:,} spam and {ham_total:,} ham" + (
        ", in place of the earlier import." if before else "."
    )


def read_dump(lines: Iterable[bytes]) -> dict[str, tuple[int, int]]:
    """Return the spam and ham counts of each word, from lines `word spam ham [date]`."""
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        parts = ENTRY.fullmatch(line)
        if parts is None:
            raise ValueError(
                f"Line {number} of the dump is not a word with two counts: {line[:60]!r}. Pass the "
                "output of `bogoutil -d wordlist.db`."
            )
        word, spam, ham = parts.groups()
        found[word.decode("utf-8", "replace")] = int(spam), int(ham)
    return found


def lessons_of(counts: dict[str, int], total: int, spam: bool) -> Iterator[Lesson]:
    """Yield lessons whose weights add up to `total`.

    The weights of the lessons that contain a word add up to its count.
    """
    words = [(np.array(ids_of_word(word)), min(n, total)) for word, n in counts.items()]
    words = [(ids, n) for ids, n in words if len(ids)]
    every = np.concatenate([np.zeros(0), *(each for each, _ in words)]).astype(np.uint32)
    ids, at = np.unique(every, return_inverse=True)
    left = np.zeros(len(ids), np.int64)
    # Words such as Free and free are one token here: the largest count is a lower bound.
    np.maximum.at(left, at, np.repeat([n for _, n in words], [len(each) for each, _ in words]))
    for number, weight in enumerate(weights_of(total)):
        held = left >= weight
        left = left - weight * held
        key = f"bogofilter {spam} {number} {weight} {total}".encode() + ids[held].tobytes()
        digest = IMPORTED + hashlib.blake2b(key, digest_size=8).digest()
        yield Lesson(digest, spam, this_day(), ids[held], weight * UNIT)


def weights_of(total: int) -> list[int]:
    """Return weights that add up to `total`; any smaller number is the sum of some of them.

    >>> weights_of(10)
    [4, 3, 2, 1]
    """
    found, power = [], 1
    while power <= total:
        found.append(power)
        total -= power
        power *= 2
    return sorted([*found, total] if total else found, reverse=True)


def ids_of_word(word: str) -> list[int]:
    """Return the token ids of a bogofilter word, or an empty list if genus has no such token."""
    prefix, colon, rest = word.partition(":")
    if colon and prefix in PREFIXES:
        group = PREFIXES[prefix]
        if group == SUBJECT:
            return WordPlan(SUBJECT, -1, SUBJECT, -1).ids(rest).tolist()[:1]
        token = rest.lower() if group in (LINKS, ROUTE) else f"{prefix}:{rest.lower()}"
        return ids_of([LETTER[group] + token]).tolist()
    if colon:
        return []
    in_text = WordPlan(WORDS, -1, WORDS, -1).ids(word).tolist()[:1]
    return in_text + WordPlan(OPENING, -1, -1, -1).ids(word).tolist()[:1] if in_text else []
