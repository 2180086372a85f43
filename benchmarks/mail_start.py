"""Measure what a new spam filter loses and catches: `python -m benchmarks.mail_start [FOLDER]`.

The corpus is that of `benchmarks/mail.py`. The filter learns n messages of each class, chosen at
random, and checks all others. With "other senders", it learns mail from one half of the senders and
checks mail from the other half. The figures are means over `SHUFFLES` choices, in per cent.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path

import numpy as np

from benchmarks.mail import DEFAULT_DATA, unpacked
from genus.mail.spamfilter import SpamFilter

SHUFFLES = 8
NUMBERS = (10, 20, 50, 100)
FROM = re.compile(rb"^From:\s*(.+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Mail:
    """A message, its collection and its sender."""

    raw: bytes
    collection: str
    sender: str

    @property
    def spam(self) -> bool:
        return self.collection.startswith("spam")


def mails(corpus: Path) -> list[Mail]:
    found = []
    for path in sorted(corpus.glob("*/*")):
        raw = path.read_bytes()
        said = FROM.search(raw)
        sender = parseaddr(said[1].decode("latin-1"))[1].lower() if said else ""
        found.append(Mail(raw, path.parent.name, sender))
    return found


def shares(every: Sequence[Mail], number: int, others: bool, seed: int) -> list[float]:
    """Return the lost shares of ham, of easy ham and of hard ham, and the share of spam left."""
    chance = random.Random(seed)
    mixed = chance.sample(list(every), len(every))
    senders = sorted({each.sender for each in every})
    known = set(chance.sample(senders, len(senders) // 2)) if others else set(senders)
    source = [each for each in mixed if each.sender in known]
    chosen = [
        each
        for spam in (False, True)
        for each in [each for each in source if each.spam == spam][:number]
    ]
    learned = {id(each) for each in chosen}
    rest = [each for each in mixed if id(each) not in learned]
    tested = [each for each in rest if each.sender not in known] if others else rest
    with tempfile.TemporaryDirectory() as folder:
        spam_filter = SpamFilter.open(f"{folder}/mail.sqlite")
        spam_filter.learn_labelled([(each.raw, each.spam) for each in chosen])
        told = spam_filter.check_many(each.raw for each in tested)
        called = np.array([each.verdict == "spam" for each in told])
        spam_filter.close()
    spam = np.array([each.spam for each in tested])
    hard = np.array([each.collection == "hard_ham" for each in tested])
    ham = [called[which].mean() for which in (~spam, ~spam & ~hard, hard)]
    return [100 * float(each) for each in (*ham, 1 - called[spam].mean())]


def table(every: Sequence[Mail]) -> Iterator[str]:
    yield "| learned   | checked       | ham lost | of easy ham | of hard ham | spam left |"
    yield "| --------- | ------------- | -------: | ----------: | ----------: | --------: |"
    for others in (False, True):
        what = "other senders" if others else "all others"
        for number in NUMBERS:
            runs = [shares(every, number, others, seed) for seed in range(SHUFFLES)]
            lost, easy, hard, left = np.mean(runs, axis=0)
            learned = f"{number} + {number}"
            yield (
                f"| {learned:9} | {what:13} | {lost:8.2f} | {easy:11.2f} | {hard:11.1f} | "
                f"{left:9.1f} |"
            )


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="genus-mail-") as unpacking:
        for line in table(mails(unpacked(folder / "spamassassin.tar.gz", Path(unpacking)))):
            print(line, flush=True)


if __name__ == "__main__":
    told = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("GENUS_DATA")
    main(Path(told or DEFAULT_DATA))
