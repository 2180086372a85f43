"""Evidence beside words: results of SPF, DKIM and DMARC, rules for senders, files that run."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from genus.cli import cli
from genus.mail.authentication import VARIABLE, Results, results_of
from genus.mail.boxes import messages_at
from genus.mail.marking import mark
from genus.mail.message import read
from genus.mail.rules import put_rules, rule_for, rules_in, sender_named
from genus.mail.spamfilter import SpamFilter
from genus.mail.tokens import pieces_of

EXAMPLES = Path(__file__).parents[1] / "examples" / "mail"
RESULTS = b"Authentication-Results: mx.example.org 1; spf=pass smtp.mailfrom=a@b.example;\n\t"
RESULTS += b"dkim=pass (2048-bit key) header.d=shop.example header.s=x; dmarc=none; what=ever\n"
RECEIVED = b"Received: from x.example by mx.example.org\n"


@pytest.fixture(autouse=True)
def unnamed(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def tokens(raw):
    return pieces_of(read(raw)).tokens


# Results of the own server


def test_results_of_the_own_server_are_evidence():
    for raw in (RESULTS + RECEIVED + RECEIVED, RECEIVED + RESULTS + RECEIVED, RESULTS):
        found = tokens(raw + b"Subject: hi\n\nhello\n")
        assert {"Cspf=pass", "Cdkim=pass", "Cdmarc=none"} <= set(found)
        assert {"Bsigned:@shop.example", "Bsigned:@example"} <= set(found)
        assert not any("what" in each for each in found)


def test_results_of_strangers_are_none(monkeypatch):
    below = RECEIVED + RECEIVED + RESULTS + b"\n\nhello\n"
    assert not any("spf" in each for each in tokens(below))
    monkeypatch.setenv(VARIABLE, "mx.example.org")
    assert "Cspf=pass" in tokens(below)  # however many hops are our own
    monkeypatch.setenv(VARIABLE, "mx.example.com")
    assert not any("spf" in each for each in tokens(RESULTS + b"\n\nhello\n"))


@given(st.text(max_size=300))
def test_any_header_is_read(text):
    found = results_of(
        [("authentication-results", text), ("authentication-results", "x; spf=fail")]
    )
    assert isinstance(found, Results)
    assert len(found.found) <= 20


def test_only_the_first_header_counts():
    headers = [("authentication-results", "a; none"), ("authentication-results", "b; spf=pass")]
    assert results_of(headers) == Results()


def test_programs_of_one_server_write_a_header_each(monkeypatch):
    dmarc = ("authentication-results", "mx.example.org; dmarc=fail (p=none)")
    dkim = ("authentication-results", "mx.example.org 1; dkim=pass header.d=shop.example")
    late = ("authentication-results", "mx.example.org; dmarc=pass; spf=pass; dkim=pass header.d=x")
    other = ("authentication-results", "mx.example.com; spf=pass")
    hop = ("received", "from x")
    expected = Results((("dmarc", "fail"), ("dkim", "pass")), ("shop.example",))
    for name in ("", "mx.example.org"):
        monkeypatch.setenv(VARIABLE, name)
        assert results_of([dmarc, ("subject", "hi"), dkim, hop, late]) == expected
        assert results_of([hop, dmarc, dkim, other, hop, late]) == expected
        both = results_of([dkim, dmarc, late])  # the last may be forged
        assert dict(both.found) == {"dkim": "pass", "dmarc": "fail", "spf": "pass"}
        assert both.signers == ("shop.example",)
        assert both.is_forged


# Files


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("invoice.pdf.exe", {"Fcan be run", "Fsuffix:exe", "Fsuffixes:pdf.exe"}),
        ("setup.EXE", {"Fcan be run", "Fsuffix:exe"}),
        ("report.pdf", {"Fsuffix:pdf"}),
        ("archive.tar.gz", {"Fsuffix:gz"}),
    ],
)
def test_files_that_run_are_evidence(name, expected):
    head = f'Content-Type: application/octet-stream; name="{name}"\n\nx'
    found = {each for each in tokens(head.encode()) if each.startswith(("Fcan", "Fsuffix"))}
    assert found == expected


# Rules


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    path = tmp_path_factory.mktemp("learned") / "mail.sqlite"
    with closing(SpamFilter.open(path)) as opened:
        for name in ("spam", "ham"):
            found = messages_at(str(EXAMPLES / f"{name}.mbox"))
            opened.learn((raw for _, raw in found), name == "spam")
    return path


@pytest.fixture
def spam_filter(learned, tmp_path):
    with closing(SpamFilter.open(shutil.copy(learned, tmp_path))) as opened:
        yield opened


def of(sender, raw=b"Subject: hi\n\nhello\n"):
    return b"From: " + sender + b"\n" + raw


@pytest.fixture(scope="module")
def offer():
    raw = [raw for _, raw in messages_at(str(EXAMPLES / "new.mbox"))][1]
    return re.sub(rb"(?m)^From:.*\n", b"", raw)


def test_rules_decide_before_the_evidence(spam_filter, offer):
    before = spam_filter.check(of(b"ann@example.org", offer))
    assert (before.verdict, before.rule) == ("spam", "")
    put_rules(spam_filter.store, "allow", ["Ann@example.org"])
    put_rules(spam_filter.store, "block", ["example.net", "@bad.example"])
    allowed = spam_filter.check(of(b"ANN@example.org", offer))
    assert (allowed.verdict, allowed.rule, allowed.score) == ("ham", "allow", before.score)
    assert spam_filter.check(of(b"bob@example.org", offer)).rule == ""
    blocked = spam_filter.check(of(b"x@mail.example.net"))
    assert (blocked.verdict, blocked.rule) == ("spam", "block")
    assert spam_filter.check(of(b"x@notexample.net")).rule == ""
    assert b"; reason=block-rule\n" in mark(of(b"x@bad.example"), blocked)
    why = spam_filter.why(of(b"x@bad.example"))
    assert why.verdict.verdict == "spam"
    assert "A rule blocks bad.example, whatever the evidence is." in why.text()
    put_rules(spam_filter.store, None, ["ann@example.org"])
    assert spam_filter.check(of(b"ann@example.org", offer)) == before


def test_the_most_special_rule_holds(spam_filter):
    put_rules(spam_filter.store, "block", ["example.org", "bob@lists.example.org"])
    put_rules(spam_filter.store, "allow", ["lists.example.org"])
    rules = rules_in(spam_filter.store)
    for sender, kind in (
        (b"ann@example.org", "block"),
        (b"ann@lists.example.org", "allow"),
        (b"ann@a.lists.example.org.", "allow"),
        (b"bob@lists.example.org", "block"),
    ):
        assert rule_for(of(sender), rules).kind == kind


@pytest.mark.parametrize(
    "sender",
    [
        b'"ann@example.org" <evil@shop.example>',
        b'"<ann@example.org>" <evil@shop.example>',
        b"=?utf-8?q?ann=40example=2Eorg?= <evil@shop.example>",
        b"ann@example.org, evil@shop.example",
        b"evil@shop.example\nFrom: ann@example.org",
        b"ann@example.org.shop.example",
        b"ann@example.org@shop.example",
        b"<>",
        b"",
    ],
)
def test_nobody_is_allowed_by_a_name(spam_filter, sender):
    put_rules(spam_filter.store, "allow", ["ann@example.org", "example.org"])
    rules = rules_in(spam_filter.store)
    assert rule_for(of(b"Ann <ann@example.org>"), rules) is not None
    assert rule_for(of(sender), rules) is None


def test_a_sender_that_is_disowned_is_not_allowed(spam_filter):
    put_rules(spam_filter.store, "allow", ["example.org"])
    rules = rules_in(spam_filter.store)
    own = b"Authentication-Results: mx; dmarc=fail\n"
    assert rule_for(own + of(b"ann@example.org"), rules) is None
    assert rule_for(own.replace(b"fail", b"pass") + of(b"ann@example.org"), rules) is not None
    forged = RECEIVED + RECEIVED + own + of(b"ann@example.org")
    assert rule_for(forged, rules) is not None


def test_a_site_has_rules_and_users_have_the_last_word(tmp_path):
    site, own = tmp_path / "site.sqlite", tmp_path / "own.sqlite"
    for place, kind in ((site, "block"), (own, "allow")):
        with closing(SpamFilter.open(place)) as opened:
            put_rules(
                opened.store, kind, ["example.org"] if kind == "allow" else ["example.org", "x.y"]
            )
    with closing(SpamFilter.open(own, site)) as both:
        assert both.check(of(b"a@example.org")).rule == "allow"
        assert both.check(of(b"a@x.y")).rule == "block"  # also while little is learned


@pytest.mark.parametrize("sender", ["bücher.example", "ann@Bücher.Example", "bu\u0308cher.example"])
@pytest.mark.parametrize("domain", ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example"])
def test_rules_know_international_domains_in_both_forms(sender, domain, tmp_path):
    with closing(SpamFilter.open(tmp_path / "mail.sqlite")) as spam_filter:
        put_rules(spam_filter.store, "block", [sender])
        rules = rules_in(spam_filter.store)
    assert [each.rpartition("@")[2] for each in rules] == ["xn--bcher-kva.example"]
    for local, other in (("ann", ""), ("ann", "shop.")):
        raw = f"From: Ann <{local}@{other}{domain}>\nSubject: a\n\nb\n".encode()
        found = rule_for(raw, rules)
        assert (found is not None) == (not other or "@" not in sender)
    for similar in ("bucher.example", "bücher.example.org", "büche.example"):
        assert rule_for(f"From: ann@{similar}\n\nb\n".encode(), rules) is None
    assert sender_named("straße.example") != sender_named("strasse.example")


@pytest.mark.parametrize(
    "sender",
    [
        "",
        "@",
        "ann@",
        "a b",
        "x@y z",
        "<ann@example.org>",
        "x" * 300,
        "a@b@c",
        "-.org",
        "é!.org",
        "é b.org",
        "é" * 70,
    ],
)
def test_what_is_no_sender_is_refused(sender, tmp_path):
    with pytest.raises(ValueError, match="not an address or a domain"):
        sender_named(sender)


def test_commands(tmp_path):
    store = ["--store", str(tmp_path / "mail.sqlite")]

    def run(*given, code=0):
        result = CliRunner().invoke(cli, ["mail", *given, *store])
        assert result.exit_code == code, result.output
        return result.output

    assert run("allow", "Ann@example.org", "example.com") == "2 rules were added.\n"
    assert run("block", "shop.example") == "1 rule was added.\n"
    assert run("block", "shop.example") == "0 rules were added.\n"
    assert run("rules") == "allow  ann@example.org\nallow  example.com\nblock  shop.example\n"
    assert run("allow", "--remove", "example.com") == "1 rule was removed.\n"
    assert "is not an address" in run("allow", "'; DROP TABLE notes", code=1)
    assert run("rules") == "allow  ann@example.org\nblock  shop.example\n"
