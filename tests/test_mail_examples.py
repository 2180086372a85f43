"""The example messages: varied, made up, learned and told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from genus.cli import cli
from genus.mail.boxes import messages_at
from genus.mail.message import read
from genus.mail.spamfilter import SpamFilter
from genus.mail.tokens import LETTER, LINKS, STRUCTURE, pieces_of

FOLDER = Path(__file__).parents[1] / "examples" / "mail"
NEW = ["ham", "spam"] * 4
DOMAIN = re.compile(rb"[\w.-]*\.(?:com|net|org|info|biz|de|fr|es|ru|cn|jp|io)\b", re.ASCII)
NUMBERS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
RFC_5737 = ("192.0.2.", "198.51.100.", "203.0.113.")


def messages(name: str) -> list[bytes]:
    return [raw for _, raw in messages_at(str(FOLDER / f"{name}.mbox"))]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples are learned."""
    path = tmp_path_factory.mktemp("examples") / "mail.sqlite"
    spam_filter = SpamFilter.open(path)
    spam_filter.learn(messages("spam"), spam=True)
    spam_filter.learn(messages("ham"), spam=False)
    spam_filter.close()
    return path


@pytest.fixture
def spam_filter(store: Path) -> Iterator[SpamFilter]:
    found = SpamFilter.open(store, create=False)
    yield found
    found.close()


def test_new_messages_are_told_apart(spam_filter: SpamFilter) -> None:
    verdicts = [each.verdict for each in spam_filter.check_many(messages("new"))]
    wrong = [(v, t) for v, t in zip(verdicts, NEW, strict=True) if v not in (t, "unsure")]
    assert wrong == []
    assert verdicts.count("unsure") <= 2


def test_no_ham_is_lost_among_what_was_learned(spam_filter: SpamFilter) -> None:
    verdicts = [each.verdict for each in spam_filter.check_many(messages("ham"))]
    assert "spam" not in verdicts


def test_the_order_of_learning_matters_little(tmp_path: Path) -> None:
    spam_filter = SpamFilter.open(tmp_path / "mail.sqlite")
    try:
        spam_filter.learn(reversed(messages("ham")), spam=False)
        spam_filter.learn(reversed(messages("spam")), spam=True)
        for verdict, true in zip(spam_filter.check_many(messages("new")), NEW, strict=True):
            assert verdict.verdict in (true, "unsure")
    finally:
        spam_filter.close()


@pytest.mark.parametrize(
    ("number", "clues"),
    [
        (0, {"from:jonas", "from:feld", "from:jonas@example.org"}),
        (1, {"pills", "prescription", "packaging", "discreet", "order", "click"}),
        (3, {"claim", "prize", "winner", "email", "won"}),
        (5, {"verify", "account", "unusual", "customer"}),
    ],
)
def test_why_names_what_a_reader_would(
    store: Path, tmp_path: Path, number: int, clues: set[str]
) -> None:
    message = tmp_path / "message.eml"
    message.write_bytes(messages("new")[number])
    told = CliRunner().invoke(cli, ["mail", "why", str(message), "--store", str(store)])
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith(NEW[number])
    side = told.stdout.partition("against:")[0 if NEW[number] == "spam" else 2]
    assert set(side.lower().split()) & clues, told.stdout


def test_they_are_full_of_tricks() -> None:
    """Hidden words, characters of no width, and links that are not what they seem."""
    found = {token for raw in messages("spam") for token in pieces_of(read(raw)).tokens}
    tricks = [(STRUCTURE, "hidden text"), (STRUCTURE, "zero width"), (LINKS, "user@")]
    for group, token in [*tricks, (LINKS, "port"), (LINKS, "ip")]:
        assert LETTER[group] + token in found


def test_they_are_many_and_varied() -> None:
    for name, least in (("ham", 30), ("spam", 30), ("new", 8)):
        found = messages(name)
        assert len(found) >= least
        assert len(set(found)) == len(found)
        for raw in found:
            names = {header for header, _ in read(raw).headers}
            assert {"received", "date", "from", "subject", "message-id", "return-path"} <= names
    for name in ("ham", "spam"):
        parts = [part for raw in messages(name) for part in read(raw).parts]
        assert {"text/plain", "text/html"} <= {part.type for part in parts}
        assert {"base64", "quoted-printable", "8bit"} <= {part.encoding for part in parts}
        assert {"utf-8", "iso-8859-1"} <= {part.charset for part in parts}
        assert any(part.disposition == "attachment" for part in parts)
        assert any(b"Subject: =?" in raw for raw in messages(name))


def test_they_name_nobody() -> None:
    for name in ("ham", "spam", "new"):
        for raw in messages(name):
            texts = [value for _, value in read(raw).headers]
            texts += [part.text or "" for part in read(raw).parts]
            text = "\n".join(texts)
            for found in DOMAIN.findall(text.encode()):
                assert re.search(rb"(^|[.-])example\.(org|com|net)$", found), found
            for number in NUMBERS.findall(text):
                assert number.startswith((*RFC_5737, "192.168.")), number
