"""What genus does, on examples that need no download: wine, digits and sixty short messages."""

from __future__ import annotations

import warnings
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from genus import GDA, BernoulliNB, GaussianNB, TextClassifier, cross_validate

MESSAGES = Path(__file__).with_name("messages.tsv")
VARIETIES = np.array(["Barolo", "Grignolino", "Barbera"])  # classes 0, 1, 2 of the wine data
SHADES = " .:-=+*#%@"

Array = np.ndarray[Any, Any]


def main() -> None:
    warnings.simplefilter("ignore")
    tell_wines_apart()
    draw_digits()
    filter_messages()
    merge_and_forget()


# 1. Wine


def tell_wines_apart() -> None:
    title("1. Wine: three varieties, told apart by 13 measurements")
    wine = load_wine()
    X, y = wine.data, VARIETIES[wine.target]
    compare_with_logistic_regression(X, y)
    left_out = cross_validate(GDA(), X, y, folds="loo")
    show_confusion(y, left_out)
    doubtful = np.argsort(left_out.probabilities.max(axis=1))[:3]
    show_probabilities(y, left_out, doubtful)
    explain_one(X, y, doubtful[0], wine.feature_names)


def compare_with_logistic_regression(X: Array, y: Array) -> None:
    say("Share of wines named correctly, each by a model that has not seen it:\n")
    say(f"{'':30}{'10 folds':>10}{'leave one out':>16}")
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for model in GDA(), GDA(shared=False), GaussianNB():
        ten, one = (cross_validate(model, X, y, f).accuracy for f in (folds, "loo"))
        say(f"{model!s:30}{ten:10.3f}{one:16.3f}")
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    with threadpool_limits(1):  # on matrices this small, threads only wait for each other
        ten, one = (
            accuracy_score(y, cross_val_predict(logistic, X, y, cv=splits))
            for splits in (folds, LeaveOneOut())
        )
    say(f"{'logistic regression':30}{ten:10.3f}{one:16.3f}\n")


def show_confusion(y: Array, result: Any) -> None:
    say("Where GDA() goes wrong, leaving one out (rows: truth, columns: verdict):\n")
    say(" " * 12 + "".join(f"{label:>12}" for label in result.classes))
    for label, row in zip(result.classes, confusion_matrix(y, result.predictions), strict=True):
        say(f"{label:12}" + "".join(f"{count:12}" for count in row))
    say()


def show_probabilities(y: Array, result: Any, rows: Array) -> None:
    say("The three wines that it was least sure of, and how sure:\n")
    say(f"{'':10}{'truth':12}" + "".join(f"{label:>12}" for label in result.classes))
    for i in rows:
        shares = "".join(f"{p:12.3f}" for p in result.probabilities[i])
        say(f"wine {i:<4} {y[i]:12}{shares}")
    say()


def explain_one(X: Array, y: Array, row: int, names: list[str]) -> None:
    say(f"Why? The six measurements of wine {row} that say most, and what each adds to the")
    say("log-odds, in a model that learned all wines and then forgot this one:\n")
    model = GDA().fit(X, y).forget(X[[row]], y[[row]])
    explanation = model.explain(X[[row]], features=names)
    say(explanation.describe(most=6))
    say()


# 2. Digits


def draw_digits() -> None:
    title("2. Digits: black-and-white images, one bit a pixel")
    X, y = load_digits(return_X_y=True)
    model = BernoulliNB(binarize=7.5)
    result = cross_validate(model, X, y)
    say(f"{len(X)} images of 8 × 8 pixels; {result.accuracy:.1%} are read correctly in 10 folds.\n")
    model.fit(X, y)
    for digit in 3, 6:
        real = X[y == digit][0] > model.binarize
        believed = np.exp(model.feature_log_prob_[digit])
        drawn, _ = model.sample(1, y=digit, random_state=digit)
        beside = [picture(real), picture(believed), picture(drawn[0] > model.binarize)]
        say(f"{f'a {digit} from the data':22}{f'p(ink | {digit})':22}a new {digit}, drawn from it")
        for lines in zip(*beside, strict=True):
            say("".join(f"{line:22}" for line in lines).rstrip())
        say()
    say("The middle picture is all that the model knows of a digit. It draws each pixel")
    say("by itself, hence the specks. That is the naive part of naive Bayes.\n")


def picture(pixels: Array) -> list[str]:
    """An 8 × 8 image of numbers from 0 to 1, two characters to the pixel."""
    shade = np.clip(np.round(pixels * (len(SHADES) - 1)), 0, len(SHADES) - 1).astype(int)
    return ["".join(2 * SHADES[i] for i in row) for row in shade.reshape(8, 8)]


# 3. Messages


def filter_messages() -> None:
    title("3. Messages: sixty to learn from, half of them spam")
    y, texts = read_messages()
    new = [
        "Claim your free holiday now",
        "Are you free for dinner on Friday",
        "Your paper is accepted at nips",
    ]
    model = TextClassifier().fit(texts, y)
    result = cross_validate(model, texts, y, folds="loo")
    say(f"Leaving one out, {result.accuracy:.1%} are filed correctly. New ones, and why:\n")
    for text in new:
        show_verdict(model, text)
    show_unseen_word(model)


def read_messages() -> tuple[Array, list[str]]:
    pairs = [line.split("\t") for line in MESSAGES.read_text(encoding="utf-8").splitlines()]
    return np.array([label for label, _ in pairs]), [text for _, text in pairs]


def show_verdict(model: TextClassifier, text: str) -> None:
    probability = model.predict_proba([text]).max()
    say(f'"{text}": {model.predict([text])[0]}, {probability:.1%}')
    say(model.explain(text).describe(most=4))
    say()


def show_unseen_word(model: TextClassifier) -> None:
    say('No message of the sixty had the word "nips". Maximum likelihood (alpha=0)')
    say("gives it probability 0 in both classes, and Bayes' rule says 0/0. A word never")
    say("seen is left out instead, smoothing (alpha=1) or not: the odds stay.\n")
    say(f"{'':14}{'alpha=0':>16}{'alpha=1':>24}")
    for text in "free", "free nips":
        answers = [m.predict_proba([text])[0] for m in (model.resolve(alpha=0), model)]
        verdicts = "".join(f"   ham {ham:.3f}  spam {spam:.3f}" for ham, spam in answers)
        say(f"{text:12}{verdicts}")
    say()


# 4. Counts add and subtract


def merge_and_forget() -> None:
    title("4. A model is its counts: they add and subtract")
    X, y = load_digits(return_X_y=True)
    first, second = slice(None, 1000), slice(1000, None)
    here = BernoulliNB(binarize=7.5).fit(X[first], y[first])
    there = BernoulliNB(binarize=7.5).fit(X[second], y[second])
    everything = BernoulliNB(binarize=7.5).fit(X, y)
    merged = here + there
    say(f"{len(X)} digits, 1000 of them here and the rest there.\n")
    compare("here + there, and all of them learned at once", merged, everything, X)
    merged.forget(X[second], y[second])
    compare("forgetting those there, and never having seen them", merged, here, X)
    say("\nAnother alpha needs the counts only. How well do the digits here foretell")
    say("those there? The mean log p(x, y), higher is better:\n")
    for alpha in 100, 10, 1, 0.1, 0.01, 0.001, "auto":
        again = here.resolve(alpha=alpha)
        fit = again.log_likelihood(X[second], y[second]) / len(y[second])
        chosen = f"   {again.alpha_:.3f}, chosen without those there" if alpha == "auto" else ""
        say(f"alpha = {alpha:<7} {fit:8.2f}{chosen}")


def compare(what: str, a: BernoulliNB, b: BernoulliNB, X: Array) -> None:
    same = a.model_ == b.model_ and np.array_equal(a.predict_proba(X), b.predict_proba(X))
    say(f"{what + ':':52}{'the same, bit for bit' if same else 'DIFFERENT'}")


# Telling


def title(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}\n")


def say(text: str = "") -> None:
    print(indent(text, "  "))


if __name__ == "__main__":
    main()
