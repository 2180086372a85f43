"""How often classifiers of texts are right, how sure they are of it, and how long they take.

`python -m benchmarks.accuracy [--data FOLDER] [--write docs/benchmarks.md]` reads the SMS Spam
Collection (`sms_spam.tsv`) and Reuters R8 (`reuters_r8/`), label and text with a tab between, from
FOLDER, else GENUS_DATA, else ../shared/data. Seconds are for fit and predict_proba, from strings.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from benchmarks import report
from genus import CrossValidation, TextClassifier

DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"
SPLITS = 5  # of the messages, of which four fifths train

Labels = NDArray[Any]


@dataclass(frozen=True)
class Split:
    """Texts to learn from and texts to test on, with their labels."""

    train: list[str]
    y: Labels
    test: list[str]
    truth: Labels


def read(path: Path) -> tuple[list[str], Labels]:
    """The texts and labels of a file."""
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as file
    ):
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    return [text for _, text in rows], np.array([label for label, _ in rows])


def messages(folder: Path) -> Iterator[Split]:
    texts, labels = read(folder / "sms_spam.tsv")
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(texts))
        train, test = np.split(order, [len(order) * 4 // 5])
        yield Split(
            [texts[i] for i in train], labels[train], [texts[i] for i in test], labels[test]
        )


def reuters(folder: Path) -> Iterator[Split]:
    yield Split(*read(folder / "reuters_r8/train.txt.gz"), *read(folder / "reuters_r8/test.txt.gz"))


class FastText:
    """fastText as a classifier of lists; 25 rounds, as its tutorial advises for few texts."""

    def fit(self, texts: Sequence[str], y: Labels) -> FastText:
        import fasttext

        self.classes_ = np.unique(y)
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.writelines(f"__label__{k} {t}\n" for k, t in zip(y, texts, strict=True))
            file.flush()
            self.model = fasttext.train_supervised(file.name, epoch=25, verbose=0)
        return self

    def predict_proba(self, texts: Sequence[str]) -> NDArray[np.float64]:
        place = {f"__label__{k}": i for i, k in enumerate(self.classes_)}
        out = np.zeros((len(texts), len(place)))
        for row, text in enumerate(texts):
            for score, name in self.model.f.predict(text + "\n", -1, 0.0, "strict"):
                out[row, place[name]] = min(score, 1.0)
        return out


def classifiers() -> dict[str, Callable[[], Any]]:
    """What is compared, by name."""
    ours: dict[str, Callable[[], Any]] = {
        f"genus TextClassifier({event_model!r})": lambda e=event_model: TextClassifier(e)
        for event_model in ("multinomial", "boolean", "bernoulli", "complement")
    }
    ours["genus TextClassifier(calibrate=True)"] = lambda: TextClassifier(calibrate=True)
    ours["genus TextClassifier('auto')"] = lambda: TextClassifier("auto")
    theirs = {
        f"scikit-learn {vectorizer.__name__} + {bayes.__name__}": (
            lambda v=vectorizer, b=bayes: make_pipeline(v(), b())
        )
        for vectorizer in (CountVectorizer, TfidfVectorizer)
        for bayes in (MultinomialNB, BernoulliNB, ComplementNB)
    }
    theirs["scikit-learn TfidfVectorizer + LogisticRegression"] = lambda: make_pipeline(
        TfidfVectorizer(), LogisticRegression(max_iter=1000)
    )
    theirs["scikit-learn the same, sublinear_tf=True, C=100"] = lambda: make_pipeline(
        TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=100, max_iter=1000)
    )
    if report.installed("fasttext-wheel"):
        theirs["fastText train_supervised(epoch=25)"] = FastText
    return ours | theirs


def measure(make: Callable[[], Any], splits: Sequence[Split]) -> tuple[float, ...]:
    """Accuracy, log loss, expected calibration error and seconds, the mean over the splits."""
    found = []
    for split in splits:
        start = perf_counter()
        model = make().fit(split.train, split.y)
        probabilities = model.predict_proba(split.test)
        seconds = perf_counter() - start
        codes = np.searchsorted(model.classes_, split.truth)
        judged = CrossValidation(
            probabilities, model.classes_, codes, np.ones(len(codes)), np.zeros(len(codes), int)
        )
        found.append((judged.accuracy, judged.log_loss, judged.calibration_error, seconds))
    return tuple(np.mean(found, axis=0).tolist())


def table(name: str, splits: Sequence[Split]) -> Iterator[str]:
    """The lines of a table, as they are measured."""
    yield f"| {name:51} | accuracy | log loss | calibration error | seconds |"
    yield f"| {'-' * 51} | -------: | -------: | ----------------: | ------: |"
    for label, make in classifiers().items():
        accuracy, loss, error, seconds = measure(make, splits)
        yield f"| {label:51} | {accuracy:8.4f} | {loss:8.4f} | {error:17.4f} | {seconds:7.2f} |"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where the texts are")
    parser.add_argument("--write", metavar="FILE", type=Path, help="update this document")
    options = parser.parse_args(arguments)
    folder = options.data or Path(os.environ.get("GENUS_DATA", DEFAULT_DATA))
    if not folder.is_dir():
        print(f"There is no folder {folder}; --data names another.", file=sys.stderr)
        return 1
    TextClassifier().fit(["warm up", "a table of characters"], [0, 1]).predict(["ä"])
    lines: list[str] = []
    for name, splits in {
        f"SMS spam, {SPLITS} random splits, 4,459 and 1,115 texts": list(messages(folder)),
        "Reuters R8, 5,485 and 2,189 texts, 8 classes": list(reuters(folder)),
    }.items():
        for line in table(name, splits):
            print(line, flush=True)
            lines.append(line)
        print()
        lines.append("")
    if options.write:
        command = shlex.join(["python", "-m", "benchmarks.accuracy", *arguments])
        text = "\n\n".join([report.made_with(command), "\n".join(lines).strip()])
        report.replace_section(options.write, "accuracy", text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
