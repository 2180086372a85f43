"""How well spam filters tell spam from ham, and what that takes.

`python -m benchmarks.mail [--data FOLDER] [--only NAME] [--bulk] [--streams [NAME]] [--write FILE]`
reads `spamassassin.tar.gz` from FOLDER, else GENUS_DATA, else ../shared/data, and measures splits,
then bulk work, then streams (`mail_streams.py`). On splits and in bulk every filter learns and
checks as its own command does it, in processes of their own; CPU seconds and the peak of memory are
theirs. "Unsure" counts as delivered.

    acc     messages put where they belong        hm   ham lost        sm   spam missed
    sm@0.1  spam missed at the score that loses no more than 0.1 % of ham; 100 if scores tie there
    1-AUC   how often a spam scores below a ham
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import mail_streams, report

ROOT = Path(__file__).parents[1]
DEFAULT_DATA = ROOT.parent / "shared" / "data"
PERL = ROOT / "benchmarks" / "spamassassin.pl"
CLASSES = ("ham", "spam")
LOSS = 0.001
# A process begins with the peak of the one that starts it, which is why a small one does.
LAUNCHER = """
import os, resource, sys
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(int(sys.argv[1]), f"{used.ru_utime + used.ru_stime} {used.ru_maxrss}".encode())
sys.exit(code)
"""


@dataclass(frozen=True)
class Split:
    """Folders of messages: train/ham, train/spam, test/ham and test/spam."""

    name: str
    folder: Path

    def files(self, part: str, label: str) -> list[Path]:
        return sorted((self.folder / part / label).iterdir())


@dataclass
class Cost:
    """What processes needed: CPU seconds, and the peak of memory of the largest, in MB."""

    seconds: float = 0.0
    memory: float = 0.0

    def run(
        self, *command: str | Path, stdin: bytes | None = None, ok: Sequence[int] = (0,)
    ) -> str:
        """Run a command, add what it needed, and give what it printed."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as given:
            given.write(stdin or b"")
            given.seek(0)
            reading, writing = os.pipe()
            done = subprocess.run(
                [sys.executable, "-IS", "-c", LAUNCHER, str(writing), *map(str, command)],
                stdin=given,
                stdout=out,
                pass_fds=(writing,),
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            )
            os.close(writing)
            with open(reading) as told:
                seconds, kilobytes = map(float, told.read().split())
            if done.returncode not in ok:
                raise RuntimeError(
                    f"{shlex.join(map(str, command))[:200]} ended with {done.returncode}."
                )
            self.seconds += seconds
            self.memory = max(self.memory, kilobytes / 1024)
            out.seek(0)
            return out.read().decode("utf-8", "replace")


@dataclass(frozen=True)
class Outcome:
    """Scores and verdicts of the test messages, and what it took."""

    scores: dict[str, float]
    spam: set[str]
    learning: Cost
    checking: Cost
    store: int  # bytes


Filter = Callable[[Split, Path], Outcome]


GENUS = [sys.executable, "-m", "genus.cli", "mail"]


def genus(split: Split, home: Path) -> Outcome:
    train, learning = split.folder / "train", Cost()
    store = ["--store", str(home / "mail.sqlite")]
    learning.run(*GENUS, "learn", "--spam", train / "spam", "--ham", train / "ham", *store)
    return checked(split, home, learning)


def imported(split: Split, home: Path) -> Outcome:
    """What bogofilter has learned, imported by genus; no message is learned by genus itself."""
    learning = Cost()
    with tempfile.TemporaryDirectory() as other:
        bogofilter(split, Path(other))
        dump = learning.run("bogoutil", "-d", Path(other) / "wordlist.db").encode()
    command = [*GENUS, "import-bogofilter", "--store", str(home / "mail.sqlite")]
    learning.run(*command, stdin=dump)
    return checked(split, home, learning)


def checked(split: Split, home: Path, learning: Cost) -> Outcome:
    """Let genus check the messages to test, with the store in a folder."""
    checking, store = Cost(), ["--store", str(home / "mail.sqlite")]
    told = checking.run(*GENUS, "check", "--json", split.folder / "test", *store, ok=(0, 1, 2))
    lines = [json.loads(line) for line in told.splitlines()]
    return Outcome(
        {Path(each["path"]).name: each["score"] for each in lines},
        {Path(each["path"]).name for each in lines if each["verdict"] == "spam"},
        learning,
        checking,
        folder_size(home),
    )


def bogofilter(split: Split, home: Path) -> Outcome:
    """As it comes: spam from 0.99 on."""
    learning, checking = Cost(), Cost()
    command = ["bogofilter", "-C", "-d", str(home)]

    def listed(part: str, label: str) -> bytes:
        return "".join(f"{each}\n" for each in split.files(part, label)).encode()

    for label, option in (("spam", "-s"), ("ham", "-n")):
        learning.run(*command, option, "-b", stdin=listed("train", label))
    told = "".join(
        checking.run(*command, "-v", "-TT", "-b", stdin=listed("test", label), ok=(0, 1, 2))
        for label in CLASSES
    )
    found = dict(line.rsplit(" ", 1) for line in told.splitlines())
    scores = {Path(path).name: float(score) for path, score in found.items()}
    spam = {name for name, score in scores.items() if score >= 0.99}
    return Outcome(scores, spam, learning, checking, folder_size(home))


def spamassassin(split: Split, home: Path) -> Outcome:
    """Its Bayes rules alone: spam from p = 0.95 on, for which it gives three points or more."""
    learning, checking = Cost(), Cost()
    learning.run("perl", PERL, "learn", home, split.folder / "train")
    told = checking.run("perl", PERL, "check", home, split.folder / "test")
    scores = {name: float(score) for name, score in (line.split() for line in told.splitlines())}
    spam = {name for name, score in scores.items() if score >= 0.95}
    return Outcome(scores, spam, learning, checking, folder_size(home))


def scikit_learn(bayes: str) -> Filter:
    def run(split: Split, home: Path) -> Outcome:
        learning, checking = Cost(), Cost()
        module = [sys.executable, "-m", "benchmarks.mail_sklearn", bayes, home / "model.pickle"]
        learning.run(*module, "learn", split.folder / "train")
        told = checking.run(*module, "check", split.folder / "test")
        scores = {n: float(score) for n, score in (line.split() for line in told.splitlines())}
        spam = {name for name, score in scores.items() if score > 0}
        return Outcome(scores, spam, learning, checking, folder_size(home))

    return run


FILTERS: dict[str, tuple[str | None, Filter]] = {
    "genus mail": (None, genus),
    "bogofilter": ("bogofilter", bogofilter),
    "imported from bogofilter": ("bogoutil", imported),
    "SpamAssassin, Bayes only": ("sa-learn", spamassassin),
    "scikit-learn MultinomialNB": (None, scikit_learn("MultinomialNB")),
    "scikit-learn BernoulliNB": (None, scikit_learn("BernoulliNB")),
}


def folder_size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def unpacked(archive: Path, folder: Path) -> Path:
    """The folder of the corpus, with a folder for each collection."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "corpus", filter="data")
    (root,) = (each for each in (folder / "corpus").iterdir() if each.is_dir())
    return root


def splits(root: Path, folder: Path) -> Iterator[Split]:
    """Split A of the corpus, the harder one, and the harder one turned round."""
    files = sorted(
        (each for each in root.glob("*/*")), key=lambda each: each.relative_to(root).as_posix()
    )

    def label(path: Path) -> str:
        return "spam" if path.parent.name.startswith("spam") else "ham"

    alternate = {
        each: "train" if i % 2 == 0 else "test"
        for of_class in CLASSES
        for i, each in enumerate(path for path in files if label(path) == of_class)
    }
    first, second = ("easy_ham", "spam"), ("easy_ham_2", "spam_2")
    parts = {
        "A": alternate,
        "harder": {each: "train" if each.parent.name in first else "test" for each in files},
        "turned": {each: "train" if each.parent.name in second else "test" for each in files},
    }
    for name, part in parts.items():
        for path, which in part.items():
            place = folder / name / which / label(path)
            place.mkdir(parents=True, exist_ok=True)
            os.link(path, place / f"{path.parent.name}_{path.name}")
        yield Split(name, folder / name)


def measures(outcome: Outcome, split: Split) -> tuple[float, ...]:
    """acc, hm, sm, sm@0.1 and 1-AUC, in per cent."""
    names = [
        (each.name, label == "spam") for label in CLASSES for each in split.files("test", label)
    ]
    truth = np.array([spam for _, spam in names])
    scores = np.array([outcome.scores[name] for name, _ in names])
    verdict = np.array([name in outcome.spam for name, _ in names])
    return (
        100 * float(np.mean(verdict == truth)),
        100 * float(np.mean(verdict[~truth])),
        100 * float(np.mean(~verdict[truth])),
        missed_at(scores, truth),
        100 * (1 - area(scores, truth)),
    )


def missed_at(scores: NDArray[np.float64], spam: NDArray[np.bool_], loss: float = LOSS) -> float:
    """Spam missed, in per cent, at the score that loses no more than a share of ham."""
    ham = np.sort(scores[~spam])[::-1]
    limit = ham[int(loss * len(ham))]
    return 100 * float(np.mean(scores[spam] <= limit))


def area(scores: NDArray[np.float64], spam: NDArray[np.bool_]) -> float:
    """How often a spam scores above a ham; ties count half."""
    from scipy.stats import rankdata

    n = np.count_nonzero(spam)
    ranks = rankdata(scores)[spam].sum()
    return float((ranks - n * (n + 1) / 2) / (n * (len(spam) - n)))


def table(split: Split, only: str) -> Iterator[str]:
    """The lines of a table, as they are measured."""
    sizes = ", ".join(
        f"{part} {len(split.files(part, 'ham')):,} ham {len(split.files(part, 'spam')):,} spam"
        for part in ("train", "test")
    )
    yield f"Split {split.name}: {sizes}."
    yield ""
    yield (
        f"| {'filter':26} |  acc% |   hm% |   sm% | sm@0.1 | (1-AUC)% | learn, CPU s | "
        "check, CPU s | memory MB | store MB |"
    )
    yield f"| {'-' * 26} |" + " ----: |" * 9
    for name, (program, run) in FILTERS.items():
        if only not in name:
            continue
        if program and not shutil.which(program):
            yield f"| {name:26} | {program} is not installed |"
            continue
        with tempfile.TemporaryDirectory() as home:
            outcome = run(split, Path(home))
        acc, hm, sm, at, auc = measures(outcome, split)
        memory = max(outcome.learning.memory, outcome.checking.memory)
        yield (
            f"| {name:26} | {acc:5.2f} | {hm:5.2f} | {sm:5.2f} | {at:6.1f} | {auc:8.4f} | "
            f"{outcome.learning.seconds:12.1f} | {outcome.checking.seconds:12.1f} | "
            f"{memory:9.0f} | {outcome.store / 1e6:8.1f} |"
        )


def bulk(root: Path, folder: Path, only: str) -> Iterator[str]:
    """What it takes to learn the whole corpus, and then to check it."""
    for path in sorted(root.glob("*/*")):
        label = "spam" if path.parent.name.startswith("spam") else "ham"
        for part in ("train", "test"):
            place = folder / "bulk" / part / label
            place.mkdir(parents=True, exist_ok=True)
            os.link(path, place / f"{path.parent.name}_{path.name}")
    split = Split("bulk", folder / "bulk")
    number = sum(len(split.files("train", label)) for label in CLASSES)
    yield f"Bulk: {number:,} messages are learned, and checked."
    yield ""
    yield (
        f"| {'filter':26} | learned a CPU second | checked a CPU second | learning MB | "
        "checking MB | store MB |"
    )
    yield f"| {'-' * 26} |" + " ----: |" * 5
    for name, (program, run) in FILTERS.items():
        if only not in name or run is imported or (program and not shutil.which(program)):
            continue
        with tempfile.TemporaryDirectory() as home:
            outcome = run(split, Path(home))
        costs = outcome.learning, outcome.checking
        rates = " | ".join(f"{number / each.seconds:20,.0f}" for each in costs)
        memory = " | ".join(f"{each.memory:11.0f}" for each in costs)
        yield f"| {name:26} | {rates} | {memory} | {outcome.store / 1e6:8.1f} |"


def attacks(split: Split) -> Iterator[str]:
    """What is left of the filter when spam is padded with ham's words, or lessons are poisoned."""
    from genus.mail.spamfilter import SpamFilter

    raw = {
        (part, label): [each.read_bytes() for each in split.files(part, label)]
        for part in ("train", "test")
        for label in CLASSES
    }
    common = common_words(raw["train", "ham"])
    chance = random.Random(0)

    def padded(message: bytes, words: int) -> bytes:
        chosen = " ".join(chance.choices(common, k=words)).encode()
        return message.rstrip() + b"\n\n" + chosen + b"\n"

    def caught(spam_filter: SpamFilter, messages: Sequence[bytes]) -> tuple[float, float]:
        verdicts = [each.verdict for each in spam_filter.check_many(messages)]
        share = verdicts.count("spam") / len(verdicts)
        return 100 * share, 100 * (1 - verdicts.count("ham") / len(verdicts))

    yield "| split A, genus mail                      | spam caught % | not ham % | ham lost % |"
    yield "| ---------------------------------------- | ------------: | --------: | ---------: |"

    def row(what: str, spam_filter: SpamFilter, spam: Sequence[bytes]) -> str:
        lost = caught(spam_filter, raw["test", "ham"])[0]
        hit, doubted = caught(spam_filter, spam)
        return f"| {what:40} | {hit:13.1f} | {doubted:9.1f} | {lost:10.2f} |"

    with tempfile.TemporaryDirectory() as home:
        spam_filter = SpamFilter.open(f"{home}/mail.sqlite")
        for label in CLASSES:
            spam_filter.learn(raw["train", label], label == "spam")
        yield row("as it comes", spam_filter, raw["test", "spam"])
        for words in (50, 100, 300):
            spam = [padded(each, words) for each in raw["test", "spam"]]
            yield row(f"{words} common words of ham appended", spam_filter, spam)
        for share in (0.01, 0.05):
            number = int(share * sum(len(raw["train", label]) for label in CLASSES))
            chosen = chance.sample(raw["test", "spam"], number)
            rest = [each for each in raw["test", "spam"] if each not in chosen]
            poison = [padded(each, 300) for each in chosen]
            spam_filter.learn(poison, spam=False)
            yield row(f"{share:.0%} more lessons: padded spam as ham", spam_filter, rest)
            spam_filter.forget(poison)
            yield row("… and forgotten again", spam_filter, rest)
        spam_filter.close()


def common_words(messages: Sequence[bytes]) -> list[str]:
    """The words that most ham holds."""
    from collections import Counter

    from genus.mail.message import read

    number: Counter[str] = Counter()
    for raw in messages:
        texts = " ".join(part.text or "" for part in read(raw).parts)
        number.update(set(re.findall(r"[a-z]{3,12}", texts.lower())))
    return [word for word, _ in number.most_common(2000)]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mail",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where the corpus is")
    parser.add_argument(
        "--only", metavar="NAME", default="", help="filters with NAME in their names"
    )
    parser.add_argument("--bulk", action="store_true", help="only what bulk work takes")
    parser.add_argument(
        "--streams",
        metavar="NAME",
        nargs="?",
        const="",
        help="only the streams, no splits; or only those with NAME in their names",
    )
    parser.add_argument("--write", metavar="FILE", type=Path, help="update this document")
    options = parser.parse_args(arguments)
    archive = (options.data or Path(os.environ.get("GENUS_DATA", DEFAULT_DATA))) / (
        "spamassassin.tar.gz"
    )
    if not archive.is_file():
        print(f"There is no {archive}; --data names another folder.", file=sys.stderr)
        return 1
    lines: list[str] = []

    def tell(told: Iterator[str]) -> None:
        for line in told:
            print(line, flush=True)
            lines.append(line)
        print()
        lines.append("")

    with tempfile.TemporaryDirectory(prefix="genus-mail-") as folder:
        corpus = unpacked(archive, Path(folder))
        for split in (
            () if options.streams is not None or options.bulk else splits(corpus, Path(folder))
        ):
            tell(table(split, options.only))
            if split.name == "A" and options.only in "genus mail":
                tell(attacks(split))
        if options.streams is None:
            tell(bulk(corpus, Path(folder), options.only))
        if options.bulk:
            return 0
        for name, stream in mail_streams.streams(corpus).items():
            if (options.streams or "") in name:
                tell(mail_streams.table(name, stream, options.only))
    if options.write:
        command = shlex.join(["python", "-m", "benchmarks.mail", *arguments])
        text = "\n\n".join([report.made_with(command), "\n".join(lines).strip()])
        report.replace_section(options.write, "mail", text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
