"""How spam filters fare while mail comes in: streams in order, learned as users do it.

`python -m benchmarks.mail` runs these after its splits, and `python -m benchmarks.mail --streams`
runs only these. Four streams are made of one corpus, so that nothing is tuned to one order:

    dated    from July 2002 on, by the time at which the last server received a message
    mixed    by the collections' own numbers, both classes evenly spread
    turned   the other way round, with every fourth message of ham only, so that most is spam
    shuffled at random, so that what comes is like what was learned

Each message is checked, and then learned or not:

    everything   all messages are learned, from nothing
    errors       those that are unsure or wrong, from nothing
    watch        as by `genus mail watch`: spam left in the inbox and ham found in Junk, from 50 or
                 300 of each; ham that stays in the inbox is learned after 100 messages, all that
                 was unsure, and of the rest in proportion to spam
    first N      the first N are learned, and all others are checked

A result is ham lost / spam left in the inbox, in per cent of it; then what would be left if the
threshold were the one score, found afterwards, that loses no more than 0.1 % of ham; and how many
messages were learned. The second number is the bound that the ranking sets: a filter whose
threshold follows its lessons may be below it where its scores grow with the lessons.
"""

from __future__ import annotations

import email.utils
import random
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from genus.mail.identity import digest
from genus.mail.spamfilter import SpamFilter
from genus.mail.store import Totals
from genus.mail.watch.staying import room_for_ham

PERL = Path(__file__).with_name("spamassassin.pl")
SINCE = 1_025_481_600  # July 2002
PLAUSIBLE = range(940_000_000, 1_100_000_000)  # times of the corpus; others are forged
LOSS = 0.001  # of ham, for the bound
STAY = 100  # messages that come until one has stayed
FIRST = (20, 100, 500, 2000, 10_000)
RECEIVED = re.compile(rb"^Received:.*(?:\n[ \t].*)*;\s*(.+)", re.IGNORECASE | re.MULTILINE)
DATE = re.compile(rb"^Date:\s*(.+)", re.IGNORECASE | re.MULTILINE)
HAM, UNSURE, SPAM = "ham", "unsure", "spam"


@dataclass(frozen=True)
class Mail:
    """A message of a stream: where it is, what it is, and what tells it from others."""

    path: Path
    raw: bytes
    spam: bool
    digest: bytes
    time: float


class Filter(Protocol):
    """A filter that learns one message at a time."""

    def learn(self, mails: Sequence[Mail], spam: bool) -> None: ...
    def check(self, mail: Mail) -> tuple[str, float]: ...
    def close(self) -> None: ...


class Genus:
    """genus mail, in this process, with a store in a file."""

    def __init__(self, home: Path) -> None:
        self.filter = SpamFilter.open(home / "mail.sqlite")

    def learn(self, mails: Sequence[Mail], spam: bool) -> None:
        self.filter.learn([each.raw for each in mails], spam)

    def check(self, mail: Mail) -> tuple[str, float]:
        found = self.filter.check(mail.raw)
        return found.verdict, found.score

    def close(self) -> None:
        self.filter.close()


class Bogofilter:
    """As it comes: spam from 0.99 on, ham up to 0.45."""

    def __init__(self, home: Path) -> None:
        self.command = ["bogofilter", "-C", "-d", str(home)]
        self.is_empty = True

    def learn(self, mails: Sequence[Mail], spam: bool) -> None:
        self.is_empty = False
        paths = "".join(f"{each.path}\n" for each in mails).encode()
        subprocess.run([*self.command, "-s" if spam else "-n", "-b"], input=paths, check=True)

    def check(self, mail: Mail) -> tuple[str, float]:
        if self.is_empty:
            return UNSURE, 0.5
        found = subprocess.run([*self.command, "-TT"], input=mail.raw, capture_output=True)
        verdict = {0: SPAM, 1: HAM, 2: UNSURE}[found.returncode]
        return verdict, float(found.stdout)

    def close(self) -> None:
        pass


class SpamAssassin:
    """Its Bayes rules alone: spam from p = 0.95 on, ham up to 0.05."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            ["perl", PERL, "stream", home, "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, what: str, mail: Mail) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(what, mail.path, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def learn(self, mails: Sequence[Mail], spam: bool) -> None:
        for each in mails:
            self.ask(SPAM if spam else HAM, each)

    def check(self, mail: Mail) -> tuple[str, float]:
        p = self.ask("check", mail)
        return SPAM if p >= 0.95 else HAM if p <= 0.05 else UNSURE, p

    def close(self) -> None:
        self.process.communicate()


FILTERS: dict[str, tuple[str | None, type[Filter]]] = {
    "genus mail": (None, Genus),
    "bogofilter": ("bogofilter", Bogofilter),
    "SpamAssassin, Bayes only": ("sa-learn", SpamAssassin),
}


# Streams


def streams(corpus: Path) -> dict[str, list[Mail]]:
    """The messages of a corpus with folders of ham and spam, in four orders."""
    mails = []
    for path in sorted(corpus.glob("*/*")):
        raw = path.read_bytes()
        spam = path.parent.name.startswith("spam")
        mails.append(Mail(path, raw, spam, digest(raw), received(raw)))
    ham, spam = ([each for each in mails if each.spam == kind] for kind in (False, True))
    dated = sorted(mails, key=lambda each: each.time)
    return {
        "dated": [each for each in dated if each.time >= SINCE],
        "mixed": spread(ham, spam),
        "turned": spread(ham[::-4], spam[::-1]),
        "shuffled": random.Random(1).sample(mails, len(mails)),
    }


def spread(ham: Sequence[Mail], spam: Sequence[Mail]) -> list[Mail]:
    """Both in their own order, each evenly over the whole."""
    places = [((i + 0.5) / len(of), each) for of in (ham, spam) for i, each in enumerate(of)]
    return [each for _, each in sorted(places, key=lambda place: place[0])]


def received(raw: bytes) -> float:
    """When the last server received a message, in seconds since 1970."""
    head = re.split(rb"\r?\n\r?\n", raw, maxsplit=1)[0]
    for found in (*RECEIVED.findall(head), *DATE.findall(head)):
        told = email.utils.parsedate_tz(found.decode("latin-1"))
        seconds = email.utils.mktime_tz(told) if told else 0
        if int(seconds) in PLAUSIBLE:
            return seconds
    return 0.0


# Protocols


@dataclass
class Life:
    """A filter in use: what it has learned, what it got wrong, and its scores of ham and spam."""

    filter: Filter
    ham: int = 0
    spam: int = 0
    lost: int = 0
    left: int = 0
    scores: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def teach(self, mails: Sequence[Mail], spam: bool) -> None:
        if mails:
            self.filter.learn(mails, spam)
            self.spam += len(mails) * spam
            self.ham += len(mails) * (not spam)

    def judge(self, mail: Mail) -> str:
        verdict, score = self.filter.check(mail)
        self.scores[mail.spam].append(score)
        self.lost += not mail.spam and verdict == SPAM
        self.left += mail.spam and verdict != SPAM
        return verdict

    def told(self) -> str:
        ham, spam = (np.sort(each)[::-1] for each in self.scores)
        share = 100 * self.left / max(len(spam), 1)
        bound = 100 * np.mean(spam <= ham[int(LOSS * len(ham))])
        return f"{self.lost} / {share:.1f}, {bound:.1f} % ({self.ham}+{self.spam})"


def everything(life: Life, stream: Sequence[Mail]) -> None:
    for each in stream:
        life.judge(each)
        life.teach([each], each.spam)


def errors(life: Life, stream: Sequence[Mail]) -> None:
    for each in stream:
        if life.judge(each) != (SPAM if each.spam else HAM):
            life.teach([each], each.spam)


def watch(life: Life, stream: Sequence[Mail], begin: int) -> None:
    known: set[bytes] = set()
    for kind in (False, True):
        first = [each for each in stream if each.spam == kind][:begin]
        life.teach(first, kind)
        known |= {each.digest for each in first}
    waiting: deque[tuple[int, Mail, bool]] = deque()
    for i, each in enumerate(stream):
        if each.digest in known:
            continue
        verdict = life.judge(each)
        if (verdict == SPAM) != each.spam:
            life.teach([each], each.spam)
        elif not each.spam:
            waiting.append((i, each, verdict == UNSURE))
        while waiting and waiting[0][0] + STAY < i:
            _, stayed, unsure = waiting.popleft()
            if unsure or room_for_ham(Totals(life.ham, life.spam)):
                life.teach([stayed], False)


def first(life: Life, stream: Sequence[Mail], number: int) -> None:
    for kind in (False, True):
        life.teach([each for each in stream[:number] if each.spam == kind], kind)
    for each in stream[number:]:
        life.judge(each)


def table(name: str, stream: Sequence[Mail], only: str) -> Iterator[str]:
    """The lines of a table, as they are measured."""
    number = sum(each.spam for each in stream)
    chosen = {each: found for each, found in FILTERS.items() if only in each}
    sizes = f"{len(stream) - number:,} ham, {number:,} spam"
    yield f"Stream {name}: {sizes}. Ham lost / spam left, at best (lessons)."
    yield ""
    yield f"| {'learned':16} | " + " | ".join(f"{each:30}" for each in chosen) + " |"
    yield f"| {'-' * 16} |" + " ---: |" * len(chosen)
    protocols = {
        "everything": everything,
        "errors, unsure": errors,
        "watch, 50 + 50": lambda life, mails: watch(life, mails, 50),
        "watch, 300 + 300": lambda life, mails: watch(life, mails, 300),
    }
    for n in FIRST:
        if n < 0.9 * len(stream):
            protocols[f"first {n:,}"] = lambda life, mails, n=n: first(life, mails, n)
    for what, protocol in protocols.items():
        cells = []
        for program, make in chosen.values():
            if program and not shutil.which(program):
                cells.append(f"{program} is not installed")
                continue
            with tempfile.TemporaryDirectory() as home:
                life = Life(make(Path(home)))
                try:
                    protocol(life, stream)
                finally:
                    life.filter.close()
            cells.append(life.told())
        yield f"| {what:16} | " + " | ".join(f"{each:>30}" for each in cells) + " |"
