"""What a message is made of: what a reader sees, where it stood, and nothing that filters said.

And the kernel's functions of pages and texts equal their twins in plain Python.
"""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
import sys
import zipfile
from binascii import b2a_base64
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genus import _kernel
from genus.mail.evidence import spellings
from genus.mail.identity import digest
from genus.mail.marking import unmark
from genus.mail.message import LIMITS, read
from genus.mail.tokens import (
    GROUPS,
    MOST_LINKS,
    MOST_TOKENS,
    MOST_WORDS,
    pieces_of,
    tokens_of,
)
from genus.text.hashes import KINDS, WordPlan, ids_of
from genus.text.html import Page
from scope import at_night

MASK = (1 << 64) - 1
BASIS, PRIME = 14695981039346656037, 1099511628211
OTHER, LETTER, IDEOGRAPH = "o", "a", "i"

# Twins


def fnv(text: bytes, before: int = BASIS) -> int:
    for byte in text:
        before = ((before ^ byte) * PRIME) & MASK
    return before


def mixed(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def id_of(hashed: int, kind: int) -> int:
    return (mixed(hashed) >> 36 << 4) | kind


def kind_of(code: int) -> str:
    """What a character beyond ASCII is."""
    others = [(0x80, 0xBF), (0xD7, 0xD7), (0xF7, 0xF7), (0x2000, 0x2BFF), (0x3000, 0x3020)]
    others += [(0xFE10, 0xFE6F), (0xFFF0, 0xFFFF), (0xE000, 0xF8FF)]
    ideographs = [(0x0E00, 0x0EFF), (0x2E80, 0xA4CF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)]
    for kind, ranges in ((OTHER, others), (IDEOGRAPH, ideographs)):
        if any(first <= code <= last for first, last in ranges):
            return kind
    return LETTER


def characters(text: bytes) -> tuple[str, list[int]]:
    """A letter for each character, which says what it is, and where each starts; broken ones too.

    A for capitals, a for other letters, 0 for digits, i for ideographs; of \\1 and what follows
    it, \\1 and p.
    """
    classes, starts, at = "", [], 0
    while at < len(text):
        starts.append(at)
        c = text[at]
        size = 1
        if classes.endswith("\1"):
            classes += "p"
        elif c < 0x80:
            known = (
                "A" if 65 <= c <= 90 else "a" if 97 <= c <= 122 else "0" if 48 <= c <= 57 else ""
            )
            classes += known or chr(c)
        else:
            size = min(
                4 if c >= 0xF0 else 3 if c >= 0xE0 else 2 if c >= 0xC0 else 1, len(text) - at
            )
            code = c & (0xFF >> (size + 1))
            for byte in text[at + 1 : at + size]:
                code = code << 6 | (byte & 0x3F)
            classes += OTHER if size == 1 else kind_of(code)
        at += size
    return classes, [*starts, len(text)]


LOOK_ALIKE = "[αβεζηικνορτυχϲϳ\u0400-\u052f]"
MIXED = re.compile(f"[A-Za-z]{LOOK_ALIKE}|{LOOK_ALIKE}[A-Za-z]")
TOKEN = re.compile(
    r"(?P<word>[Aa](?:[Aa0]|['\-_](?=[Aa0]))*)|(?P<ideographs>i+)"
    r"|(?P<number>(?:\$ ?)?0[0.,:/\-]*%?)|(?P<marks>[!?$*#=_.~\-]+)|(?P<place>\x01p?)"
)


def lenient(character: bytes) -> str:
    """A character of UTF-8 of one byte or two, also of bytes that are none; others as \\0."""
    if len(character) == 1:
        return chr(character[0])
    code = (character[0] & 0x1F) << 6 | (character[1] & 0x3F)
    return chr(code) if len(character) == 2 and code > 0x7F else "\0"


def hash_words(
    text: bytes, kinds: tuple[int, ...], opening_size: int
) -> list[tuple[int, int, int]]:
    word, capitals, mark, pair, opening, of_scripts = kinds
    classes, starts = characters(text)
    found: list[tuple[int, int, int]] = []
    before: list[tuple[int, int]] = []

    def emit(hashed: int, kind: int, start: int, end: int) -> None:
        if kind >= 0:
            found.append((id_of(hashed, kind), start, end))

    def follow(hashed: int, start: int, end: int) -> None:
        if len(before) < opening_size:
            emit(hashed, opening, start, end)
        if before:
            other, at = before[-1]
            emit((mixed(other) * 3 + hashed) & MASK, pair, at, end)
        before.append((hashed, start))

    for token in TOKEN.finditer(classes):
        start, end = starts[token.start()], starts[token.end()]
        spelt, of_kind = text[start:end], token.group()
        if token.lastgroup == "word" and len(of_kind) > 1:
            if len(of_kind) > 24:
                size = str(min(len(of_kind) // 8, 9)).encode()
                spelt = text[start : starts[token.start() + 8]] + b"~" + size
            hashed = fnv(spelt.lower())
            emit(hashed, word, start, end)
            places = starts[token.start() : token.end() + 1]
            if MIXED.search("".join(lenient(text[one:two]) for one, two in pairwise(places))):
                emit(fnv(b"mixed scripts"), of_scripts, start, end)
            if of_kind.count("A") > 2 and "a" not in of_kind:
                emit(fnv(b"^", hashed), capitals, start, end)
            follow(hashed, start, end)
        elif token.lastgroup == "ideographs":
            places = starts[token.start() : token.end() + 1]
            for i, (one, two) in enumerate(pairwise(places)):
                emit(fnv(text[one:two]), word, one, two)
                if i:
                    emit(fnv(text[places[i - 1] : two]), word, places[i - 1], two)
        elif token.lastgroup == "number":
            digits = of_kind.strip("$ %").rstrip(".,:/-")
            sign, percent = of_kind.startswith("$") * "$", of_kind.endswith("%") * "%"
            shape = (sign + re.sub(r"0{5,}", "0000", digits))[:12] + percent
            emit(fnv(shape.encode()), mark, start, end)
            follow(fnv(shape.encode()), start, end)
        elif token.lastgroup == "marks" and (len(spelt) > 1 or spelt == b"!"):
            hashed = fnv(spelt[:1] * min(len(spelt), 4))
            emit(hashed, mark, start, end)
            if spelt[:1] in (b"!", b"?", b"$"):
                follow(hashed, start, end)
        elif token.lastgroup == "place":
            follow(fnv(spelt), start, end)
    return found


SPACES = b" \t\n\v\f\r"
OF_LINES = set(
    b"""
    address article aside blockquote body br caption center col colgroup dd dir div dl dt
    fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header
    hr html iframe img input legend li main menu meta nav noframes noscript ol optgroup
    option p pre section select table tbody td textarea tfoot th thead title tr ul
    """.split()
)
WITHOUT_END = set(
    b"area base basefont br col embed hr img input link meta param source wbr".split()
)
NEVER_SEEN = set(b"script style template object applet noscript title".split())
COLOURS = {
    b"white": 0xFFFFFF,
    b"black": 0x000000,
    b"red": 0xFF0000,
    b"green": 0x008000,
    b"blue": 0x0000FF,
    b"yellow": 0xFFFF00,
    b"silver": 0xC0C0C0,
    b"gray": 0x808080,
    b"maroon": 0x800000,
    b"navy": 0x000080,
    b"purple": 0x800080,
    b"fuchsia": 0xFF00FF,
    b"lime": 0x00FF00,
    b"olive": 0x808000,
    b"teal": 0x008080,
    b"aqua": 0x00FFFF,
}
Look = tuple[int, int, bool]  # ink, paper, hidden


def colour_of(value: bytes, otherwise: int) -> int:
    value = value.strip(SPACES).lower()
    if value in COLOURS:
        return COLOURS[value]
    if value.startswith(b"rgb"):
        channels = [min(int(each), 255) for each in re.findall(b"[0-9]+(?=[^0-9])", value)][:3]
        return otherwise if len(channels) < 3 else int.from_bytes(channels, "big")
    digits = value.removeprefix(b"#")
    if not re.fullmatch(b"[0-9a-f]{3}|[0-9a-f]{6}", digits):
        return otherwise
    if len(digits) == 3:
        digits = b"".join(digits[i : i + 1] * 2 for i in range(3))
    return int(digits, 16)


def is_hidden(look: Look) -> bool:
    ink, paper, hidden = look
    apart = [abs((ink >> shift & 255) - (paper >> shift & 255)) for shift in (0, 8, 16)]
    return hidden or max(apart) <= 16


def styled(look: Look, key: bytes, value: bytes) -> Look:
    """The look inside an element with this attribute."""
    ink, paper, hidden = look
    if key in (b"color", b"text"):
        ink = colour_of(value, ink)
    if key == b"bgcolor":
        paper = colour_of(value, paper)
    if key == b"style":
        for rule in value.split(b";"):
            name, colon, wanted = (each.strip(SPACES) for each in rule.partition(b":"))
            name, wanted = name.lower() if colon else b"", wanted.lower()
            nothing = re.fullmatch(b"0[^1-9]*", wanted, re.DOTALL) is not None
            if name == b"color":
                ink = colour_of(wanted, ink)
            if name in (b"background-color", b"background"):
                if name == b"background" and not wanted.startswith(b"rgb"):
                    wanted = wanted.split(b" ")[0]
                paper = colour_of(wanted, paper)
            hidden |= name == b"display" and wanted.startswith(b"none")
            hidden |= name == b"visibility" and wanted.startswith(b"hidden")
            hidden |= name == b"mso-hide" and wanted.startswith(b"all")
            hidden |= name == b"color" and wanted.startswith(b"transparent")
            hidden |= name in (b"opacity", b"max-height", b"height", b"font-size") and nothing
            far = re.match(b"-[0-9a-f]{3}.", wanted, re.DOTALL) is not None
            hidden |= name in (b"left", b"top", b"text-indent") and far
            if name == b"font-size" and wanted.startswith((b"0.", b".")):
                unit = re.sub(rb".*[0-9.]", b"", wanted, flags=re.DOTALL)
                hidden |= unit.startswith((b"px", b"pt"))
            hidden |= name == b"font-size" and wanted in (b"1px", b"1pt", b"1")
    return ink, paper, hidden or key == b"hidden"


def short(text: bytes) -> bytes:
    return re.sub(rb"[\t-\r]", b" ", text[:20]).lower()


def read_html(text: bytes) -> tuple[bytes, bytes, bytes, int]:
    written = {False: b"", True: b""}
    marks, comments, at = b"", 0, 0
    look: Look = (0x000000, 0xFFFFFF, False)
    opened: list[tuple[bytes, Look]] = []

    def write(more: bytes) -> None:
        written[is_hidden(look)] += more

    while at < len(text):
        tag = text.find(b"<", at)
        write(text[at : tag if tag >= 0 else len(text)])
        if tag < 0 or tag + 1 == len(text):
            break
        at = tag + 1
        if text[at : at + 1] in (b"!", b"?"):
            comments += 1
            ends = [text.find(b"-->", at + 1)] if text.startswith(b"!--", at) else [-1]
            after = ends[0] + 3 if ends[0] >= 0 else text.find(b">", at) + 1
            at = after or len(text)
        elif text[at : at + 1] == b"/":
            name = re.compile(rb"[^\s>/]*").match(text, at + 1)
            assert name
            end = text.find(b">", name.end())
            at = end + 1 or len(text)
            if name.group().lower() in OF_LINES:
                write(b"\n")
            for i in reversed(range(len(opened))):
                if opened[i][0] == name.group().lower():
                    look = opened[i][1]
                    del opened[i:]
                    break
        elif text[at : at + 1].isalpha():
            found = re.compile(rb"[^\s>/]*").match(text, at)
            assert found
            name, at, inside = found.group(), found.end(), look
            marks += b"<" + short(name) + b"\n"
            while at < len(text) and text[at : at + 1] != b">":
                found = re.compile(rb"[\s/]*([^\s>=]*)\s*(=?)\s*").match(text, at)
                assert found
                key, value = found.group(1), b""
                if not found.group(2):
                    at = found.end()
                    if not key:
                        continue
                else:
                    at = found.end()
                    quoted = re.compile(rb"\"([^\"]*)\"|'([^']*)'").match(text, at)
                    bare = re.compile(rb"[\"']?([^\s>]*)").match(text, at)
                    assert bare
                    chosen = quoted or bare
                    value = chosen.group(chosen.lastindex or 0)
                    at = chosen.end()
                inside = styled(inside, key.lower(), value)
                if key.lower() in (b"alt", b"title"):
                    write(b" " + value + b" ")
                    continue
                marks += short(name) + b"." + short(key) + b"\n"
                if key.lower() in (b"href", b"src", b"action", b"background", b"formaction"):
                    marks += b"=" + re.sub(rb"[\t-\r]", b" ", value[:300].strip(SPACES)) + b"\n"
                else:
                    marks += short(key) + b"=" + short(value.strip(SPACES)) + b"\n"
            at += 1
            if name.lower() in OF_LINES:
                write(b"\n")
            if name.lower() in NEVER_SEEN:
                end = re.compile(rb"</" + name.lower() + rb"[^>]*(>|\Z)", re.I).search(text, at)
                at = end.end() if end else at
            elif name.lower() not in WITHOUT_END and len(opened) < 200:
                opened.append((name.lower(), look))
                look = inside
        else:
            write(b"<")
    return written[False], written[True], marks, comments


# The kernel

plans = st.tuples(*[st.integers(-1, 15)] * 6)
words = (
    "Free MONEY free-money don't a _x_ $ 12,345.67 50% !!! ? ----- é É Straße 价格 ไทย 한국어 ٣ "
    "𠀀 v\u0456agra p\u03bfker \u0410-b \u03bcm \u2014 \ufffd 00000000 1. 1- a--b"
)
scraps = st.sampled_from(
    [*words.split(), " ", "\n", "\1", "\1u", "$ 5", "x" * 23, "y" * 24, "Z" * 25, "word" * 30]
)
texts = st.lists(scraps | st.text(max_size=8), max_size=30).map("".join)
broken = st.lists(texts.map(str.encode) | st.binary(max_size=6), max_size=8).map(b"".join)


@given(broken, plans, st.integers(0, 5))
@example(b"\xf0", (0, 1, 2, 3, 4, 5), 1)
@example(b"ab\xe4\xbb", (0, 1, 2, 3, 4, 5), 1)
@example("abcdefgé".encode() * 4, (0, 1, 2, 3, 4, 5), 1)
@example(b"\1", (0, 1, 2, 3, 4, 5), 1)
@example(b"$ 123456789012345.-%", (0, 1, 2, 3, 4, 5), 1)
def test_words_are_hashed_as_by_the_twin(text: bytes, kinds: tuple[int, ...], opening: int) -> None:
    found = _kernel.hash_words(text, kinds, opening, True)
    assert found.tolist() == [list(each) for each in hash_words(text, kinds, opening)]
    ids = _kernel.hash_words(text, kinds, opening, False)
    assert ids.tolist() == found[:, 0].tolist()


@given(st.lists(st.binary(max_size=12), max_size=10))
def test_lines_are_hashed_as_by_the_twin(lines: list[bytes]) -> None:
    whole = b"\n".join(lines)
    expected = [id_of(fnv(line[1:]), (line[0] - 65) % 16) for line in whole.split(b"\n") if line]
    assert _kernel.hash_lines(whole).tolist() == expected


parts = (
    "< > </ /> <!-- --> <! <? <p> </p> <b> </b> <br> </font> </div> <script> <object </script> "
    "<style> </style> href= style= ' \" = ; : color:#fefefe font-size:0px opacity:0.0 title= "
    "hidden x word &lt; é SCRIPT <TITLE> visibility:hidden BGCOLOR=WHITE mso-hide:all"
)
wholes = (
    "<font color=white>|<div style='display:none'>|<body bgcolor=#000 text=fff>|max-height : 0"
    "|<img alt='x y' src=//a>|background:red url(x)|<a |\0| |\t|\n"
)
tags = st.sampled_from([*parts.split(), *wholes.split("|")])
pages = st.lists(tags | st.text(max_size=4), max_size=40).map("".join)


@given(st.lists(pages.map(str.encode) | st.binary(max_size=6), max_size=4).map(b"".join))
@example(b"<")
@example(b"<!-->x")
@example(b"<a b='c")
@example(b"<a b=\"c' d>e")
@example(b"<script>a</scripty b>c</script>d")
@example(b"<x>" * 300 + b"</x>" * 300 + b"y")
def test_pages_are_read_as_by_the_twin(text: bytes) -> None:
    assert _kernel.read_html(text, 1 << 30, 1 << 30) == (*read_html(text), 0)


blanks = "&nbsp;|&NBSP|&#160;|&#xA0;|&#8203;|&zwnj;| |\n|\xa0|\u200b|\u3000|&shy;|&zwj;|&#65279"


@given(st.lists(st.sampled_from(blanks.split("|")), min_size=9, max_size=30).map("".join))
def test_of_too_long_a_page_blanks_become_one(blank: str) -> None:
    text = f"noon{blank}now"
    assert Page.read(text, len(text.encode())).seen == Page.read(text).seen
    assert Page.read(text, 10).seen == "noon now"
    assert Page.read(text, 10).lost == 0


@given(st.text(max_size=60), st.integers(0, 60))
def test_a_page_is_cut_between_characters(text: str, most: int) -> None:
    text = text.replace("<", "").replace("&", "")
    found = Page.read(text, most)
    if found.lost:
        assert text.encode("utf-8", "replace").startswith(found.seen.encode())
        assert most - 4 < len(found.seen.encode()) <= most


@given(texts)
def test_ids_of_a_text_say_their_kind(text: str) -> None:
    plan = WordPlan(1, 2, 3, 4, 5, opening_size=4)
    assert set((plan.ids(text) % KINDS).tolist()) <= {1, 2, 3, 4, 5}


def test_more_kinds_than_there_are_are_refused() -> None:
    with pytest.raises(ValueError, match="16 kinds"):
        _kernel.hash_words(b"a b", (16, 0, 0, 0, 0, 0), 0, False)


# What a reader sees


def spelt(raw: bytes, group: str) -> set[str]:
    """The tokens of a group, as they were spelt."""
    return {token for token, of, _ in spellings(raw, tokens_of(raw)).values() if of == group}


def page(html: str) -> bytes:
    return b"Content-Type: text/html; charset=utf-8\n\n<html>" + html.encode()


@pytest.mark.parametrize(
    "html",
    [
        "<font color=white>noon</font>",
        "<font color='#FFFFFF'>noon</font>",
        "<font color='#fefdfe'>noon</font>",
        "<span style='color:white'>noon</span>",
        "<span style='COLOR : #fff ; x'>noon</span>",
        "<body bgcolor=black><font color=#000>noon</font>",
        "<td style='background-color:#123456'><i style='color:#123456'>noon</i></td>",
        "<div style='display:none'>noon</div>",
        "<div style='display: NONE !important'><p><b>noon</b></p></div>",
        "<div style='visibility:hidden'>noon</div>",
        "<div style='font-size:0'>noon</div>",
        "<div style='font-size: 0.0em'>noon</div>",
        "<div style='font-size:1px'>noon</div>",
        "<div style='opacity:0'>noon</div>",
        "<div style='position:absolute;left:-9999px'>noon</div>",
        "<div style='height:0;overflow:hidden'>noon</div>",
        "<div style='font-size:0.1px'>noon</div>",
        "<div style='font-size:.5pt'>noon</div>",
        "<div style='color:rgb(255, 255,255)'>noon</div>",
        "<div style='color:transparent'>noon</div>",
        "<td style='background:rgb(1,2,3)'><i style='color:rgba(1,2,3,1)'>noon</i></td>",
        "<div style='max-height:0px;overflow:hidden'>noon</div>",
        "<div hidden>noon</div>",
        "<div style='display:none'>noon",
    ],
)
def test_what_cannot_be_seen_is_apart(html: str) -> None:
    raw = page(f"<p>morning</p>{html}")
    assert "noon" in spelt(raw, "hidden")
    assert "noon" not in spelt(raw, "words")
    assert "morning" in spelt(raw, "words")
    assert "hidden text" in spelt(raw, "structure")


@pytest.mark.parametrize(
    "html",
    [
        "<font color=black>noon</font>",
        "<font color=white></font>noon",
        "<body bgcolor=black><font color=white>noon</font>",
        "<div style='font-size:10px'>noon</div>",
        "<div style='font-size:0.9em'>noon</div>",
        "<div style='color:rgb(255,0,0)'>noon</div>",
        "<div style='opacity:0.5'>noon</div>",
        "<div style='display:none'></div>noon",
        "<font color=nonsense>noon</font>",
        "no<!-- x -->on",
        "no<b></b>on",
        "n<font size=1>oo</font>n",
        "&#110;o&#x6F;n",
        "no&shy;on",
        "no&zwnj;on",
        "<img src=x alt='noon'>",
        "<a title=noon>x</a>",
        "<!-- never ends noon> noon",
        "<script> never ends; noon",
        "<a href='never ends>noon",
        "noon<a",
        "ｎｏｏｎ",
    ],
)
def test_what_can_be_seen_is_read(html: str) -> None:
    raw = page(f"<p>morning {html}")
    assert "noon" in spelt(raw, "words")
    assert "noon" not in spelt(raw, "hidden")


@pytest.mark.parametrize(
    "html",
    [
        "<script>noon</script>",
        "<title>noon</title>",
        "<noscript>noon</noscript>",
        "<input type=hidden value=noon>",
        "<SCRIPT type=x>if (1 < 2) noon()</SCRIPT >",
        "<style>noon {color: red}</style>",
        "<!-- noon -->",
        "<!noon>",
        "<p class=noon>",
    ],
)
def test_what_is_no_text_is_no_word(html: str) -> None:
    raw = page(f"<p>morning</p>{html} evening")
    for group in ("words", "hidden"):
        assert "noon" not in spelt(raw, group)
    assert {"morning", "evening"} <= spelt(raw, "words")


def test_a_word_in_pieces_is_the_word() -> None:
    whole = tokens_of(page("<p>viagra here"))
    pieces = tokens_of(page("<p>v<b></b>i<!-- -->a&#103;r<wbr><ksjdf>a</ksjdf> here"))
    words = [each[each % KINDS == GROUPS.index("words")] for each in (whole, pieces)]
    np.testing.assert_array_equal(*words)


def test_hosts_of_links_are_tokens() -> None:
    raw = page(
        "<a href='http://user@Sub.Shop.example:8080/buy/now?x=1'>x</a>"
        "<img src=//pics.example/a.gif>"
        "<a href=mailto:me@post.example>y</a><a href='http://%77ww.example'>z</a>"
        "<a href=http://192.0.2.7/>w</a>"
    )
    assert {"sub.shop.example", "shop.example", "pics.example", "@post.example"} <= spelt(
        raw, "links"
    )
    assert {"user@", "port", "query", "/buy", "mailto", "escaped host"} <= spelt(raw, "links")
    assert {"ip", "192.0.2.7", "192.0.2"} <= spelt(raw, "links")


def test_links_in_plain_text_are_tokens() -> None:
    raw = b"\n\nSee http://shop.example/buy and WWW.other.example or me@post.example."
    assert {"shop.example", "www.other.example", "@post.example", "/buy"} <= spelt(raw, "links")
    assert not {"shop", "other", "post"} & spelt(raw, "words")


def test_broken_entities_are_text() -> None:
    for entity in (
        "&#99999999999;",
        "&#" + "9" * 5000,
        "&#xD800;",
        "&#0;",
        "&nonsense;",
        "&",
        "&#",
    ):
        seen = Page.read(f"noon {entity}").seen
        assert seen.startswith("noon ")
        seen.encode()


# Letters


def test_what_looks_the_same_is_the_same() -> None:
    plain = spelt(b"Subject: free money\n\nfree money", "words")
    for form in (
        "ｆｒｅｅ ｍｏｎｅｙ",
        "𝐟𝐫𝐞𝐞 𝐦𝐨𝐧𝐞𝐲",
        "ⓕⓡⓔⓔ ⓜⓞⓝⓔⓨ",
        "fr\u200bee mo\u00adney",
        "free\u00a0money",
    ):
        raw = f"Subject: free money\n\n{form}".encode()
        assert {"free", "money"} <= spelt(raw, "words"), form
    assert {"free", "money"} <= plain


def test_zero_width_is_noted() -> None:
    assert "zero width" in spelt("\n\nfr\u200bee".encode(), "structure")
    assert "zero width" in spelt("Subject: fr\u200bee\n\n".encode(), "subject")
    assert "zero width" not in spelt("\n\nfrée".encode(), "structure")


def test_composed_and_decomposed_are_the_same() -> None:
    one, other = (f"\n\n{text} hallo".encode() for text in ("Grüße", "Gru\u0308ße"))
    np.testing.assert_array_equal(tokens_of(one), tokens_of(other))


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-7", "koi8-r", "cp1251", "iso8859-5"])
def test_a_character_set_is_no_disguise(codec: str) -> None:
    text = "Здравствуй мир"
    head = f"Content-Type: text/plain; charset={codec}\nContent-Transfer-Encoding: base64\n\n"
    raw = head.encode() + base64.b64encode(text.encode(codec))
    assert {"здравствуй", "мир"} <= spelt(raw, "words")


# Other filters


VERDICTS = [
    b"X-Spam-Status: Yes, score=12.3 required=5.0 tests=BAYES_99",
    b"X-Spam-Flag: YES",
    b"X-Spam-Level: ********",
    b"X-Spam: yes",
    b"X-Bogosity: Spam, tests=bogofilter, spamicity=1.000000",
    b"X-Genus: ham; probability=0.001; score=-7",
    b"X-Genus-Reason: none",
    b"X-DSPAM-Result: Spam",
    b"X-CRM114-Status: SPAM",
    b"X-Spambayes-Classification: spam; 1.00",
    b"X-SpamProbe: SPAM 0.9999999 27c9",
    b"X-Rspamd-Score: 15.2",
    b"X-MailScanner-SpamCheck: spam",
    b"X-Barracuda-Spam-Score: 9.9",
    b"X-Microsoft-Antispam: BCL:9",
    b"X-Forefront-Antispam-Report: SCL:9",
    b"X-IronPort-Anti-Spam-Result: Aw==",
    b"X-GMX-Antispam: 5",
    b"X-Yandex-Spam: 4",
    b"X-Virus-Scanned: amavisd",
    b"X-Mozilla-Status: 0001",
    b"Spam-Score: 9",
    b"X-Bogosity: Spam,\n tests=bogofilter,\n spamicity=1.0",
]
MAIL = (
    b"From: a@b.example\nSubject: noon\nDate: Mon, 1 Jan 2024 12:00:00 +0000\n\nSee you at noon\n"
)
KEPT = [
    b"Status: RO",
    b"X-Status: A",
    b"X-Keywords: $Junk",
    b"X-UID: 17",
    b"Content-Length: 99",
    b"Lines: 3",
]


@pytest.mark.parametrize(
    "header", VERDICTS + KEPT, ids=lambda header: header.split(b":")[0].decode()
)
@pytest.mark.parametrize("name", [bytes.lower, bytes.upper, bytes], ids=["lower", "upper", "as is"])
def test_what_others_say_of_mail_is_no_evidence(header: bytes, name: type) -> None:
    before, colon, after = header.partition(b":")
    header = name(before) + colon + after
    for raw in (header + b"\n" + MAIL, MAIL.replace(b"\nSubject", b"\n" + header + b"\nSubject")):
        np.testing.assert_array_equal(tokens_of(raw), tokens_of(MAIL))
        assert digest(raw) == digest(MAIL)


def test_a_rating_in_the_subject_is_no_evidence() -> None:
    for rating in ("[SPAM]", "*****SPAM*****", "{Spam}", "(spam)"):
        raw = MAIL.replace(b"Subject: ", f"Subject: {rating} ".encode())
        np.testing.assert_array_equal(tokens_of(raw), tokens_of(MAIL))


# Identity


@pytest.mark.parametrize(
    "other",
    [
        b"From a@b.example Mon Jan  1 12:00:00 2024\n" + MAIL,
        b"From x\n>From y\n" + MAIL,
        MAIL.replace(b"\n", b"\r\n"),
        MAIL.replace(b"\n", b"\r"),
        MAIL + b"\n\n",
        MAIL.rstrip(),
        b"Received: from a by b; Mon, 1 Jan 2024\n" + MAIL,
        b"Return-Path: <a@b.example>\nDelivered-To: me\n" + MAIL,
        MAIL.replace(b"Subject: noon", b"Subject:\n noon"),
        MAIL.replace(b"Subject: noon", b"SUBJECT:noon "),
    ],
    ids=["mbox", "boxes", "CRLF", "CR", "longer", "shorter", "route", "delivery", "folded", "name"],
)
def test_a_message_is_itself_wherever_it_is_kept(other: bytes) -> None:
    assert digest(other) == digest(MAIL)


@pytest.mark.parametrize(
    "other",
    [
        MAIL.replace(b"at noon", b"at one"),
        MAIL.replace(b"Subject: noon", b"Subject: one"),
        MAIL.replace(b"a@b", b"c@b"),
        MAIL.replace(b"\n\n", b"\n", 1),
        b"X-Mailer: other\n" + MAIL,
    ],
    ids=["text", "subject", "sender", "no body", "header"],
)
def test_messages_that_differ_are_told_apart(other: bytes) -> None:
    assert digest(other) != digest(MAIL)


# Parts


def with_attachment(data: bytes, kind: str, name: str) -> bytes:
    return (
        b"Subject: see\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=sep\n\n"
        b"--sep\nContent-Type: text/plain\n\nnoon\n--sep\n"
        + f"Content-Type: {kind}; name={name}\nContent-Transfer-Encoding: base64\n".encode()
        + f"Content-Disposition: attachment; filename={name}\n\n".encode()
        + base64.encodebytes(data)
        + b"--sep--\n"
    )


def test_archives_are_never_unpacked() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.txt", "explosion " * 1_000_000)
    raw = with_attachment(packed.getvalue(), "application/zip", "Invoice-2024.zip")
    everything = {token for token, _, _ in spellings(raw, tokens_of(raw)).values()}
    assert not {"explosion", "bomb"} & everything
    assert read(raw).parts[1].text is None
    assert {"type:application/zip", "suffix:zip", "file:invoice", "shown:attachment"} <= everything


@pytest.mark.parametrize(
    "name",
    ["report.exe", '"report.exe"', "=?utf-8?q?report=2Eexe?=", '"=?utf-8?b?cmVwb3J0LmV4ZQ==?="'],
)
def test_names_of_attachments_are_tokens(name: str) -> None:
    raw = with_attachment(b"x", "application/octet-stream", name)
    assert {"suffix:exe", "file:report"} <= spelt(raw, "structure")


def test_names_in_pieces_are_put_together() -> None:
    raw = with_attachment(b"x", "application/x", "a").replace(
        b"filename=a", b"filename*0*=utf-8''rep%6Fr; filename*1=t.exe"
    )
    assert {"suffix:exe", "file:report"} <= spelt(raw, "structure")


def test_text_that_is_attached_as_a_file_is_read() -> None:
    raw = with_attachment(b"explosion", "text/plain", "a.txt")
    assert "explosion" in spelt(raw, "words")


def test_a_forwarded_message_is_read() -> None:
    raw = b"Content-Type: message/rfc822\n\nSubject: inner\n\nexplosion"
    assert "explosion" in spelt(raw, "words")


def test_html_that_calls_itself_plain_is_html() -> None:
    raw = b"Content-Type: text/plain\n\n<html><body><font color=white>noon</font> evening"
    assert "noon" in spelt(raw, "hidden")


def test_every_group_has_tokens() -> None:
    raw = (
        b"Received: from mail.example (mail.example [192.0.2.1]) by me with ESMTP\n"
        b"From: Ann <ann@example.org>\nTo: me@example.net\nSubject: cheap watches\n"
        b"Message-ID: <1@example.org>\nDate: Mon, 1 Jan 2024 12:00:00 +0000\n"
        b"Content-Type: text/html\n\n<html>buy now <a href=http://shop.example>x</a>"
        b"<font color=white>poem of noon</font>"
    )
    kinds = set((tokens_of(raw) % KINDS).tolist())
    assert kinds == set(range(len(GROUPS)))
    for group in GROUPS:
        assert spelt(raw, group), group


def test_each_token_is_on_one_line() -> None:
    raw = (
        b"Content-Type: =?utf-8?q?text/pl=0Aain?=; charset==?utf-8?q?a=0Ab?=; "
        b"name==?utf-8?q?a=0A.b?=\nX-Mailer: =?utf-8?q?a=0Ab?=\nDate: =?utf-8?q?a=0Ab?=\n"
        b"Message-ID: =?utf-8?q?a=0Ab@c=0Ad?=\n"
        b"Content-Disposition: =?utf-8?q?a=0Ab?=\nReceived: from =?utf-8?q?a=0Ab.c=0Ad?= with x\n"
        b"From: =?utf-8?q?a=0Ab@c=0Ad?=\nSubject: =?utf-8?q?a=0Ab?=\n\nhello"
    )
    tokens = pieces_of(read(raw)).tokens
    assert not any("\n" in token for token in tokens)
    assert len(ids_of(tokens)) == len(tokens)


def test_hosts_and_what_they_are_in() -> None:
    domains = _kernel.domains
    assert domains("A.b.c.d.e.f.G.") == ["c.d.e.f.g", "d.e.f.g", "e.f.g", "f.g", "g"]
    assert domains("") == domains("...") == domains("1.2") == []
    assert domains("192.0.2.7") == ["ip", "192.0.2.7", "192", "192.0", "192.0.2"]


# Limits


def test_a_message_of_many_words_has_the_first_of_them() -> None:
    raw = b"Subject: first\n\n" + b" ".join(b"w%dx" % i for i in range(20_000))
    tokens = tokens_of(raw)
    assert 2 * MOST_WORDS < len(tokens) < MOST_TOKENS
    assert np.isin(tokens_of(b"Subject: first\n\n"), tokens).sum() > 5
    assert "w0x" in spelt(raw, "words")
    assert "w19999x" not in spelt(raw, "words")


def test_no_group_crowds_out_the_others() -> None:
    people = b"".join(b"To: a%d@example.org, b%d@example.net\n" % (i, i) for i in range(900))
    raw = people + b"Subject: viagra\n\ncheap viagra here"
    assert len(tokens_of(raw)) <= MOST_TOKENS
    assert {"cheap", "viagra"} <= spelt(raw, "words")
    many = b" ".join(b"w%dx" % i for i in range(9000))
    cut = ids_of([chr(ord("A") + GROUPS.index("structure")) + "cut:tokens"])
    assert np.isin(cut, tokens_of(b"Subject: x\n\n" + many)).all()


def test_only_the_first_sender_counts() -> None:
    raw = b"From: ann@example.org\nFrom: bob@example.net\nSubject: one\nSubject: two\n\n"
    assert "from:bob@example.net" not in spelt(raw, "people")
    assert spelt(raw, "subject") >= {"one"}
    assert "two" not in spelt(raw, "subject")


def test_both_alternatives_open() -> None:
    raw = (
        b"Content-Type: multipart/alternative; boundary=x\n\n--x\n\nlunch\n"
        b"--x\nContent-Type: text/html\n\n<p>viagra\n--x--\n"
    )
    assert {"lunch", "viagra"} <= spelt(raw, "opening")


def test_links_are_bounded() -> None:
    raw = b"\n\n" + b" ".join(b"http://h%d.example" % i for i in range(3 * MOST_LINKS))
    assert len(spelt(raw, "links")) <= 3 * MOST_LINKS
    assert "h0.example" in spelt(raw, "links")
    assert f"h{2 * MOST_LINKS}.example" not in spelt(raw, "links")


MIXED_SCRIPTS = ids_of([chr(ord("A") + GROUPS.index("structure")) + "mixed scripts"])


@pytest.mark.parametrize(
    "word", ["v\u0456agra", "\u0420ayPal", "Am\u0430zon", "p\u03bfker", "\u0391pple"]
)
def test_words_of_two_scripts_are_noted(word: str) -> None:
    for raw in (f"Subject: {word} here\n\nhello", f"\n\nhello {word} here", f"\n\n<html>{word}"):
        assert np.isin(MIXED_SCRIPTS, tokens_of(raw.encode())).all()
        assert word.lower() in {each.lower() for each in spelt(raw.encode(), "structure")}
    assert word.lower() in {each.lower() for each in spelt(f"\n\nsome {word}".encode(), "words")}


@pytest.mark.parametrize(
    "text",
    [
        "\u0412 Word \u0438 Excel",
        "VIP-\u043a\u043b\u0438\u0435\u043d\u0442",
        "5 \u03bcm, 3 k\u03a9, \u0394t",
        "na\u00efve caf\u00e9",
        "10\u043a\u0433",
    ],
)
def test_texts_of_two_scripts_are_not_words_of_two(text: str) -> None:
    assert not np.isin(MIXED_SCRIPTS, tokens_of(f"\n\n{text}".encode())).any()


BULKY = (
    b"--x\nContent-Type: application/zip\nContent-Transfer-Encoding: base64\n\n"
    + b"QUJD\n" * 400_000
)
LONG_FILE = (
    b"--x\nContent-Type: text/csv\nContent-Disposition: Attachment; filename=a.csv\n\n"
    + b"1;2;3\n" * 100_000
)


@pytest.mark.parametrize("first", [BULKY, LONG_FILE], ids=["zip", "csv"])
def test_an_attachment_hides_no_text_behind_it(first: bytes) -> None:
    raw = b"Content-Type: multipart/mixed; boundary=x\n\n%b\n--x\n\ncheap viagra\n--x--\n" % first
    assert {"cheap", "viagra"} <= spelt(raw, "words")
    assert [part.type for part in read(raw).parts][1] == "text/plain"


UNSEEN = {
    "comment": "<!--" + "lunch " * 60_000 + "-->",
    "comments": "<!-- lunch -->" * 30_000,
    "style": "<style>" + "p { color: red }" * 20_000 + "</style>",
    "script": "<script>" + "lunch();" * 50_000 + "</script>",
    "not displayed": "<div style='display:none'>" + "lunch " * 60_000 + "</div>",
    "references": "&nbsp;" * 60_000,
    "mixed blanks": "&#160; &zwnj;\n" * 40_000,
    "image": "<img src='data:image/png;base64," + "QUJD" * 100_000 + "'>",
    "empty elements": "<div></div>" * 40_000,
    "megabytes": "<!-- lunch -->" * 400_000,
}


@pytest.mark.parametrize("name", UNSEEN)
@pytest.mark.parametrize(
    "charset", at_night(["utf-8", "windows-1251", "none"], "utf-8", "windows-1251")
)
def test_what_a_page_does_not_show_hides_no_text_behind_it(name: str, charset: str) -> None:
    head = f"Content-Type: text/html; charset={charset}\n\n<html>".encode()
    raw = head + UNSEEN[name].encode() + b"<p>cheap viagra"
    assert {"cheap", "viagra"} <= spelt(raw, "words")
    assert not read(raw).mostly_unread


@pytest.mark.parametrize("kind", ["plain", "html"])
@pytest.mark.parametrize("before", [1, 3])
def test_a_long_text_hides_no_text_behind_it(kind: str, before: int) -> None:
    long = " ".join(f"w{i}" for i in range(150_000)).encode()
    part = b"--x\nContent-Type: text/%b\nContent-Disposition: inline\n\n%b\n" % (
        kind.encode(),
        long,
    )
    raw = b"Content-Type: multipart/mixed; boundary=x\n\n" + part * before
    raw += b"--x\n\ncheap viagra\n--x--\n"
    assert {"cheap", "viagra"} <= spelt(raw, "words")
    assert read(raw).mostly_unread
    assert "mostly unread" in spelt(raw, "structure")


def test_a_long_attachment_leaves_nothing_unread() -> None:
    raw = (
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nsee you at noon\n--x\n"
        b"Content-Disposition: attachment\n\n" + b"lunch " * 500_000 + b"\n--x--\n"
    )
    assert read(raw).cut == ("text",)
    assert not read(raw).mostly_unread


# Line ends


HIDING = [b"X-A: b\r\rc\n", b"X-A: b\r\r\n", b"X-A: b\r\r\r\n", b"\r\rX-A: b\n", b"X-A:\rb\r\n"]


@pytest.mark.parametrize("first", HIDING)
def test_a_bare_cr_ends_no_headers(first: bytes) -> None:
    rest = b"Subject: noon\nContent-Transfer-Encoding: base64\n\n" + b2a_base64(b"cheap viagra")
    for end in (b"\n", b"\r\n"):
        raw = first + rest.replace(b"\n", end)
        assert read(raw).parts[0].text == "cheap viagra"
        assert ("subject", "noon") in read(raw).headers
        inner = b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" + raw + b"\n--x--\n"
        assert read(inner).parts[0].text == "cheap viagra"
        ours = b"X-Genus: ham\n"
        assert unmark(first + ours + rest).replace(b"Forged-", b"") != first + ours + rest
        assert not re.search(rb"(?m)^X-Genus", unmark(first + ours + rest))


def test_lines_may_end_in_any_way() -> None:
    raw = b"Subject: noon\nContent-Transfer-Encoding: base64\n\n" + b2a_base64(b"cheap viagra")
    for end in (b"\n", b"\r\n", b"\r", b"\r\r\n"):
        for start in (b"", b"From ann Mon Jan  1 12:00:00 2024\n", b"From ann\r\n"):
            assert read(start + raw.replace(b"\n", end)) == read(raw)
            assert digest(start + raw.replace(b"\n", end)) == digest(raw)


@pytest.mark.parametrize("blank", [" ", "\n", "\t\n", "\xa0", "\u3000", "\u200b", " \u2060"])
@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "utf-7"])
@pytest.mark.parametrize("size", [LIMITS.text, 3_000_000])
def test_what_shows_nothing_hides_no_text_behind_it(blank: str, charset: str, size: int) -> None:
    text = f"hello {blank * (size // len(blank))} cheap viagra".encode(charset)[: LIMITS.size - 99]
    raw = f"Content-Type: text/plain; charset={charset}\n\n".encode() + text
    if len(text) < LIMITS.size - 99:
        assert {"hello", "cheap", "viagra"} <= spelt(raw, "words")
    assert read(b"\n" + b"a     b\n" * 9).parts[0].text == "a     b\n" * 9


def test_text_is_the_same_in_one_piece_and_in_several() -> None:
    """Characters of several bytes lie across the ends of pieces."""
    text = "".join(f"w{i}é\u20ac\U0001f600" + " " * 40 for i in range(25_000))
    for charset in ("utf-8", "utf-16", "gb18030", "utf-7"):
        raw = f"Content-Type: text/plain; charset={charset}\n\n".encode() + text.encode(charset)
        assert (read(raw).parts[0].text or "").split() == text.split()


@pytest.mark.parametrize(
    ("limit", "raw"),
    [
        ("size", b"Subject: a\n\n" + b"noon " * (1 << 21)),
        ("head", b"".join(b"X-%d: abcdefgh\n" % i for i in range(8000)) + b"\nnoon"),
        ("headers", b"A: b\n" * (LIMITS.headers + 1) + b"\nnoon"),
        ("header", b"Subject: " + b"noon " * 1000 + b"\n\nnoon"),
        ("parts", b"Content-Type: multipart/x; boundary=b\n\n" + b"--b\n\nnoon\n" * 300),
        (
            "depth",
            b"".join(
                b"Content-Type: multipart/x; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(99)
            )
            + b"\nnoon",
        ),
        ("text", b"Subject: a\n\n" + b"noon " * (1 << 16)),
    ],
)
def test_what_is_cut_is_noted_and_the_rest_is_read(limit: str, raw: bytes) -> None:
    assert limit in read(raw).cut
    assert f"cut:{limit}" in spelt(raw, "structure")
    assert "noon" in spelt(raw, "words")


def test_tokens_are_the_same_in_every_process() -> None:
    """Python's sets have another order in each."""
    raw = page("".join(f"<t{i} a{i}=b{i} href=//h{i}.example>w{i}x " for i in range(3000)))
    code = (
        "import sys, zlib; from genus.mail.tokens import tokens_of;"
        "print(zlib.crc32(tokens_of(sys.stdin.buffer.read()).tobytes()))"
    )
    if os.environ.get("GENUS_SANITIZED"):
        pytest.skip("another process would load the kernel that is not sanitized")
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=raw,
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(told) == 1
