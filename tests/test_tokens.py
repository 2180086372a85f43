"""Tokens are exactly those of scikit-learn's CountVectorizer, for any text from any source.

And the kernel's functions of texts and words equal their twins in plain Python.
"""

from __future__ import annotations

import itertools
import os
import pickle
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

import twins
from cases import refused
from genus import _kernel
from genus.arrays.vocabulary import Vocabulary
from genus.text import Texts, Tokenizer
from genus.text.alphabet import CASED, IGNORABLE, SIZE, SPACE, WORD, alphabet
from scope import at_night, nightly, nightly_if_sanitized
from test_kernel import assert_same, labels, quarters

Array = np.ndarray[Any, Any]

WAYS = {
    "words": {},
    "pairs": {"ngrams": (1, 2)},
    "runs": {"ngrams": (2, 3)},
    "up to five": {"ngrams": (1, 5)},
    "characters": {"analyzer": "char_wb"},
    "some characters": {"analyzer": "char_wb", "ngrams": (2, 4)},
    "five characters": {"analyzer": "char_wb", "ngrams": (5, 5)},
}

# Where texts come from


def arrow(kind: Any) -> Callable[[list[str]], Any]:
    return lambda texts: pa.array(texts, kind)


def sliced(kind: Any) -> Callable[[list[str]], Any]:
    """Return the middle of a longer array, whose ends are null."""
    around = [None, "not this one", "nor this: it is long"]
    return lambda texts: pa.array([*around, *texts, *around], kind).slice(3, len(texts))


def chunked(texts: list[str]) -> Any:
    """Return texts in chunks of 0, 1, 2, 3, … of them."""
    chunks, start = [], 0
    for size in range(len(texts) + 1):
        chunks += [texts[start : start + size], []]
        start += size
    return pa.chunked_array(chunks, pa.string())


UTF8: dict[str, Callable[[list[str]], Any]] = {
    "bytes": lambda texts: [text.encode() for text in texts],
    "utf8": arrow(pa.string()),
    "large": arrow(pa.large_string()),
    "views": arrow(pa.string_view()),
    "binary": arrow(pa.binary()),
    "slice": sliced(pa.string()),
    "large slice": sliced(pa.large_string()),
    "slice of views": sliced(pa.string_view()),
    "chunks": chunked,
}
SOURCES: dict[str, Callable[[list[str]], Any]] = {"strings": list, **UTF8}


def counts(texts: Any, *, threads: int = 1, **way: Any) -> list[Counter[str]]:
    """Return how often each token occurs in each text, by the kernel."""
    documents = Tokenizer(threads=threads, **way).encode(Texts.of(texts))
    words, rows = list(documents.words), documents.rows
    return [
        Counter({words[j]: int(n) for j, n in zip(rows.indices[a:b], rows.data[a:b], strict=True)})
        for a, b in zip(rows.starts, rows.ends, strict=True)
    ]


def expected(texts: list[str], *, ngrams: tuple[int, int] = (1, 1), **way: Any) -> Any:
    """Return the same by scikit-learn."""
    analyze = CountVectorizer(ngram_range=ngrams, **way).build_analyzer()
    return [Counter(analyze(text)) for text in texts]


# Any text

everything = st.characters(exclude_categories=())  # halves of surrogate pairs, too
encodable = st.characters(exclude_categories=("Cs",))
latin1 = st.characters(max_codepoint=0xFF)
two_bytes = st.characters(max_codepoint=0xFFFF, exclude_categories=())
ALPHABETS = {
    "sigma": "ΣΣσςΑaA1_ '’.:·\u0301\u00ad\u0345ʰªⓐ",
    "capitals": "İıIiIßẞﬁǅǆΣK\u0307\u212a\u1e9eƵa ",
    "marks": "e\u0301\u0300\u20dd\ufe0fà́ñ\u0308 _-",
    "emoji": "👩🏽\u200d🔬🚀❤\ufe0f🇩🇪1\ufe0f\u20e3 ab",
    "scripts": "文字ไทยكتابשלוםहिन्दी한국어ქართული ΑΒΓ",
    "digits": "0٣५๓９²½Ⅷ𝟘①_a ",
    "spaces": "ab\0\t\n\x0b\x1c\x85\xa0\u2003\u200b\u2028\u3000\ufeff_",
    "ascii": "aB1_ .'-\0\x7f",
}
by_alphabet = st.sampled_from(list(ALPHABETS.values())).flatmap(st.text)
any_way = st.sampled_from(list(WAYS.values()))


@given(
    st.lists(st.text(everything) | st.text(latin1) | st.text(two_bytes) | by_alphabet, max_size=8),
    any_way,
    st.booleans(),
)
@example(["ΑΣ ΑΣΑ Σ", "aİb", "\ud800\udc00 \udc00a"], {}, True)
def test_strings_have_the_tokens_of_scikit_learn(
    texts: list[str], way: dict[str, Any], lowercase: bool
) -> None:
    assert counts(texts, lowercase=lowercase, **way) == expected(texts, lowercase=lowercase, **way)


@given(
    st.lists(st.text(encodable) | by_alphabet, max_size=8),
    any_way,
    st.booleans(),
    st.sampled_from(list(UTF8.values())),
)
def test_utf8_has_the_tokens_of_scikit_learn(
    texts: list[str], way: dict[str, Any], lowercase: bool, source: Callable[[list[str]], Any]
) -> None:
    got = counts(source(texts), lowercase=lowercase, **way)
    assert got == expected(texts, lowercase=lowercase, **way)


@pytest.mark.parametrize("source", SOURCES)
def test_some_texts_of_any_source(source: str) -> None:
    texts = ["okapi", "", "a quagga and many more", "zebra", "文字", "the last one, which is long"]
    given = Texts.of(SOURCES[source](texts))
    for chosen in [], [0], [5], [1, 3, 4], [0, 2, 5], list(range(6)):
        some = given.take(np.array(chosen, dtype=np.intp))
        assert list(some.strings()) == [texts[i] for i in chosen]
        assert len(some) == len(chosen)
    for begin, end in itertools.combinations_with_replacement(range(7), 2):
        assert list(given[begin:end].strings()) == texts[begin:end]


@pytest.mark.parametrize("source", ["strings", "bytes"])
def test_a_capital_sigma_is_lowered_by_what_is_around_it(source: str) -> None:
    around = ["", "Α", "'", "1", ".", "\u0301", "Σ", "ʰ", "İ", " "]  # cased, overlooked and not
    texts = [
        "".join(parts) + "Σ" + "".join(more)
        for parts, more in itertools.product(itertools.product(around, repeat=2), repeat=2)
    ]
    texts = [f"xx{text}xx" for text in texts] + texts
    for way in WAYS["words"], {"analyzer": "char_wb", "ngrams": (1, 2)}:
        assert counts(SOURCES[source](texts), **way) == expected(texts, **way)


@pytest.mark.parametrize(
    ("way", "context", "lowercase"),
    [
        (WAYS["words"], "a{0}b {0}{0}", True),
        pytest.param(WAYS["words"], "a{0}b {0}{0}", False, marks=nightly),
        pytest.param(WAYS["characters"], "{0}{0}", True, marks=nightly),
    ],
    ids=["lower case", "as it is", "characters"],
)
@pytest.mark.parametrize("source", at_night(["strings", "utf8"], "strings"))
def test_every_code_point(source: str, way: Any, context: str, lowercase: bool) -> None:
    code = [chr(i) for i in range(SIZE) if source == "strings" or not 0xD800 <= i < 0xE000]
    texts = [" ".join(map(context.format, code[i : i + 256])) for i in range(0, len(code), 256)]
    got = counts(SOURCES[source](texts), lowercase=lowercase, **way)
    for one, other in zip(got, expected(texts, lowercase=lowercase, **way), strict=True):
        assert one == other


@nightly_if_sanitized
@pytest.mark.parametrize("lowercase", [True, False])
def test_the_alphabet_is_what_python_says_of_every_character(lowercase: bool) -> None:
    in_word = re.compile(r"\w").match

    def entry(i: int) -> int:
        lower = chr(i).lower()[0] if lowercase else chr(i)
        flags = WORD * bool(in_word(lower)) | SPACE * lower.isspace()
        if lowercase:
            followed = f"AΣ{chr(i)}".lower()[1] == "σ"
            flags |= CASED * followed
            flags |= IGNORABLE * (not followed and f"AΣ{chr(i)}A".lower()[1] == "σ")
        return ord(lower) | int(flags)

    wrong = [hex(i) for i, found in enumerate(alphabet(lowercase).tolist()) if found != entry(i)]
    assert wrong == []
    assert [c for c in map(chr, range(SIZE)) if len(c.lower()) > 1] == ["İ"]


# Long texts, long tokens, many tokens

FILLERS = {
    "spaces": " ",
    "points": ".",
    "words": "ab ",
    "one word": "a",
    "two bytes": "é",
    "marks": "—",
    "four bytes": "𝔞 ",
}
TOKENS = ["x", "xy", "é", "xé", "éx", "𝔞𝔟", "ΑΣ", "İx", "x—y", "word" * 4]


@pytest.mark.parametrize("source", ["strings", "bytes"])
@pytest.mark.parametrize("filler", FILLERS.values(), ids=FILLERS)
def test_tokens_cross_the_borders_of_blocks(filler: str, source: str) -> None:
    width = len(filler.encode()) if source == "bytes" else len(filler)
    texts = [
        filler * ((border + shift) // width) + between + token + after
        for border in (64, 128, 8192)
        for shift in range(-6, 3)
        for token in TOKENS
        for between in ("", " ")
        for after in ("", " xy")
        if border < 8192 or (shift in (-4, -1, 0) and not after)
    ]
    for way in WAYS["words"], WAYS["pairs"]:
        assert counts(SOURCES[source](texts), **way) == expected(texts, **way)
    some = texts[::7]
    way = WAYS["some characters"]
    assert counts(SOURCES[source](some), **way) == expected(some, **way)


@pytest.mark.parametrize("way", [{}, {"ngrams": (1, 2)}, {"analyzer": "char_wb", "ngrams": (3, 3)}])
@pytest.mark.parametrize("source", at_night(["strings", "bytes"], "strings"))
def test_tokens_cross_the_pauses_of_the_kernel(source: str, way: dict[str, Any]) -> None:
    texts = [
        (filler * (2**20 // len(filler.encode())))[:-shift] + " Σxy" + "zé" * 40
        for filler, shift in (("ab cd ", 1), ("wörter ", 3), ("a", 2), ("aé ", 4))
    ]
    if way.get("analyzer"):
        texts = texts[1:3]
    assert counts(SOURCES[source](texts), **way) == expected(texts, **way)


@pytest.mark.parametrize("letters", ["abc", "éöü", "a文b", "𝔞𝔟𝔠"])
@pytest.mark.parametrize("source", ["strings", "views"])
def test_tokens_of_any_length_that_differ_in_a_character(source: str, letters: str) -> None:
    one, two, three = letters
    sizes = [2, 3, 4, 5, 7, 8, 9, 10, 11, 15, 16, 17, 31, 32, 33, 47, 48, 49, 100_000]
    words = [
        word
        for n in sizes
        for word in (one * n, one * (n - 1) + two, two + one * (n - 1), three * n)
    ]
    texts = [" ".join(words), *words, *(f"{a} {b}" for a, b in itertools.pairwise(words))]
    assert counts(SOURCES[source](texts)) == expected(texts)
    vocabulary = Vocabulary.of(words[::3])
    known = Tokenizer().encode_known(Texts.of(SOURCES[source](texts)), vocabulary).rows
    position = {word: i for i, word in enumerate(vocabulary)}
    for text, a, b in zip(texts, known.starts, known.ends, strict=True):
        found = {position[w]: n for w, n in Counter(text.split()).items() if w in position}
        assert dict(zip(known.indices[a:b], known.data[a:b], strict=True)) == found


def test_a_text_of_zeros_and_zeros_in_tokens() -> None:
    texts = ["\0" * 100, "ab\0cd", "\0ab\0\0"]
    for source in SOURCES.values():
        assert counts(source(texts)) == expected(texts)


@pytest.fixture(scope="module")
def library() -> tuple[list[str], Array]:
    """Return texts of 150,000 different words, short and long, and classes of them."""
    rng = np.random.default_rng(3)
    number = np.concatenate([np.arange(150_000), rng.integers(0, 1000, 100_000)])
    words = [f"w{n:x}" if n % 3 else f"a-word-of-many-letters{n}".replace("-", "") for n in number]
    rng.shuffle(words)
    texts = [" ".join(words[i : i + 50]) for i in range(0, len(words), 50)]
    return texts, rng.integers(0, 3, len(texts))


@pytest.mark.parametrize("source", at_night(["strings", "utf8"], "utf8"))
def test_many_words_on_many_threads(library: tuple[list[str], Array], source: str) -> None:
    texts, y = library
    given = Texts.of(SOURCES[source](texts))
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(texts)
    by_class = [X[y == k].sum(axis=0).A1 for k in range(3)]
    documents_by_class = [(X[y == k] > 0).sum(axis=0).A1 for k in range(3)]
    for threads in 1, 2, 3:
        tokenizer = Tokenizer(threads=threads)
        documents = tokenizer.encode(given)
        assert list(documents.words) == vectorizer.get_feature_names_out().tolist()
        assert_same_rows(documents.rows, X)
        assert_same_rows(tokenizer.encode_known(given, documents.words[::2]).rows, X[:, ::2])
        words, occurrences, present = tokenizer.count(given, y, None, 3)
        assert words[1:].is_same(documents.words)
        np.testing.assert_array_equal(occurrences[:, 1:], by_class)
        np.testing.assert_array_equal(present[:, 1:], documents_by_class)
        np.testing.assert_array_equal(present[:, 0], np.bincount(y))


def assert_same_rows(rows: Any, X: Any) -> None:
    X.sort_indices()
    assert rows.shape == X.shape
    np.testing.assert_array_equal(rows.indices, X.indices)
    np.testing.assert_array_equal(rows.data, X.data)
    np.testing.assert_array_equal(rows.starts, X.indptr[:-1])
    np.testing.assert_array_equal(rows.ends, X.indptr[1:])


def test_scores_are_the_same_bits_on_any_number_of_threads(
    library: tuple[list[str], Array],
) -> None:
    texts = Texts.of(library[0])
    words = Tokenizer().encode(texts).words[::3]
    scores = np.random.default_rng(0).normal(size=(len(words), 3))
    for weighting, power in ("occurrences", 0), ("once", 0), ("logarithm", 0.5):
        one, *others = (
            Tokenizer(threads=n).score(texts, words, scores, weighting, power) for n in (1, 2, 3)
        )
        for other in others:
            np.testing.assert_array_equal(one, other)


# The kernel's functions equal their twins

words = st.text(st.sampled_from("abΣéİ \0"), max_size=3) | st.sampled_from(
    ["okapi", "quagga's", "z" * 16, "z" * 17, "ÄÖ" * 9, "x" * 40]
)
texts = st.lists(words, max_size=5).map(" ".join)
utf8_texts = texts.map(str.encode)
broken = st.sampled_from(
    [b"ab\xff", b"\xc0\x80", b"a\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
)


def utf8_chunk(given: list[bytes], wide: bool, skip: int) -> tuple[Any, ...]:
    given = [b"!" * skip, *given]
    ends = np.cumsum([len(text) for text in given], dtype=np.int64 if wide else np.int32)
    return "utf8", ends, np.frombuffer(b"".join(given), np.uint8)


def views_chunk(given: list[bytes]) -> tuple[Any, ...]:
    """Return short texts in their views, and each long one in a buffer of its own."""
    views, buffers = np.zeros((len(given), 4), np.int32), []
    for view, text in zip(views, given, strict=True):
        if len(text) <= 12:
            view[:] = np.frombuffer(text.ljust(16, b"\0")[-4:] + text.ljust(12, b"\0"), np.int32)
        else:
            buffers.append(np.frombuffer(b"??" + text, np.uint8))
            view[1:] = np.frombuffer(text[:4], np.int32)[0], len(buffers) - 1, 2
        view[0] = len(text)
    return "views", views.view(np.uint8).ravel(), buffers


def tokens_chunk(given: list[list[str]]) -> tuple[Any, ...]:
    content, ends = twins.arrays_of([word for text in given for word in text])
    return "tokens", content, ends, np.cumsum([0, *map(len, given)], dtype=np.int64)


chunk = st.one_of(
    st.lists(texts | utf8_texts, max_size=4).map(lambda given: ("strings", tuple(given))),
    st.builds(utf8_chunk, st.lists(utf8_texts, max_size=4), st.booleans(), st.integers(0, 3)),
    st.lists(utf8_texts, max_size=4).map(views_chunk),
    st.lists(st.lists(words.filter(len), max_size=4), max_size=4).map(tokens_chunk),
)
bad_chunk = st.one_of(
    st.tuples(texts | st.sampled_from([None, 3, b"\xff"]), texts).map(lambda t: ("strings", t)),
    st.builds(utf8_chunk, st.lists(utf8_texts | broken, max_size=3), st.booleans(), st.just(0)),
    st.lists(utf8_texts | broken, max_size=3).map(views_chunk),
    st.sampled_from([(-1, 0, 0, 0), (20, 0, 0, 0), (13, 0, 3, 0), (13, 0, -1, 0), (13, 0, 0, -5)])
    .map(lambda view: np.array(view, np.int32).view(np.uint8))
    .map(lambda views: ("views", views, [np.zeros(15, np.uint8)])),
)
chunks = st.lists(chunk, max_size=4) | st.lists(chunk | bad_chunk, min_size=1, max_size=4)
ngrams = st.sampled_from([(1, 1), (1, 2), (2, 3), (1, 5), (3, 3)])
bits = st.sampled_from([0, 0, 1, 3, 20, 32])
hows = st.tuples(st.booleans(), st.booleans(), ngrams, bits).map(
    lambda t: (alphabet(t[0]), t[0], t[1], *t[2], t[3])
)
threads = st.integers(1, 3)
vocabularies = st.lists(words.filter(len) | st.sampled_from([" a", "a ", "ab", "é"])).map(
    Vocabulary.of
)


def flat(result: Any) -> tuple[Any, ...]:
    if not isinstance(result, tuple):
        return (result,)
    return tuple(part for one in result for part in flat(one))


def size(given: list[tuple[Any, ...]]) -> int:
    return len(twins.texts_of(given))


@given(st.data(), chunks, hows, threads)
def test_count_texts(data: st.DataObject, given: Any, how: Any, threads: int) -> None:
    y, weight, K = data.draw(labels(size(given)))
    got = _kernel.count_texts(given, how, y, weight, K, threads)
    assert_same(flat(got), flat(twins.count_texts(given, how, y, weight, K)))


@given(chunks, hows, threads)
def test_hash_texts(given: Any, how: Any, threads: int) -> None:
    hashes, problem = _kernel.hash_texts(given, how, threads)
    wanted, first = twins.hash_texts(given, how)
    assert problem == first
    if first[0] < 0:
        assert_same(hashes, wanted)


@given(chunks, hows, threads)
def test_encode_texts(given: Any, how: Any, threads: int) -> None:
    got = _kernel.encode_texts(given, how, threads)
    assert_same(flat(got), flat(twins.encode_texts(given, how)))


@given(chunks, hows, vocabularies, threads)
def test_encode_known(given: Any, how: Any, known: Vocabulary, threads: int) -> None:
    got = _kernel.encode_known(given, how, known.index, threads)
    assert_same(flat(got), flat(twins.encode_known(given, how, known.index)))


weightings = st.sampled_from(["occurrences", "once", "logarithm"])
powers = st.sampled_from([0.0, 0.5, 1.0])


@given(st.data(), chunks, hows, vocabularies, weightings, powers, threads)
def test_score_texts(
    data: st.DataObject,
    given: Any,
    how: Any,
    known: Vocabulary,
    weighting: str,
    power: float,
    threads: int,
) -> None:
    table = data.draw(quarters((len(known), data.draw(st.integers(1, 3)))))
    arguments = given, how, known.index, table, weighting, power
    scores, *problem = flat(_kernel.score_texts(*arguments, threads))
    wanted, *first = flat(twins.score_texts(*arguments))
    assert problem == first
    if first[0] < 0 and power == 0 and weighting != "logarithm":
        assert_same(scores, wanted)
    elif first[0] < 0:
        np.testing.assert_allclose(scores, wanted, rtol=1e-12, atol=1e-12)


@given(vocabularies | st.lists(st.text(everything)).map(Vocabulary.of))
def test_index_words(known: Vocabulary) -> None:
    slots, keys = _kernel.index_words(known.text, known.ends)
    assert_same((slots, keys), twins.index_words(known.text, known.ends, int(slots[0])))
    assert twins.indexed_words(slots, keys, known.text) == list(known)


@given(vocabularies | st.lists(st.text(everything)).map(Vocabulary.of))
def test_hash_vocabulary(known: Vocabulary) -> None:
    wanted = twins.hash_vocabulary(known.text, known.ends)
    assert_same(_kernel.hash_vocabulary(known.text, known.ends), wanted)


HASHES = ["0xb2f317c84dbe4d1f", "0x56e914669fa2ca6c", "0x25e898240b9a31cd"]


def test_hashes_are_the_same_on_every_machine() -> None:
    """A model that was saved elsewhere knows its rows again."""
    known = Vocabulary.of(["", "okapi", "a word of more than sixteen bytes"])
    assert [hex(h) for h in known.hashes.tolist()] == HASHES


@given(vocabularies, vocabularies)
def test_merge_words(one: Vocabulary, other: Vocabulary) -> None:
    given = one.text, one.ends, other.text, other.ends
    assert_same(flat(_kernel.merge_words(*given)), flat(twins.merge_words(*given)))


@given(st.binary(max_size=8) | broken, st.integers(0, 70), st.booleans())
@example(b"\xe0\x9f\xbf", 0, False)  # characters in more bytes than they need
@example(b"\xf0\x8f\xbf\xbf", 3, False)
@example(b"\xf4\x90\x80\x80", 1, False)  # beyond the last code point
@example(b"\xed\xa0\x80", 1, False)  # half a surrogate pair
def test_what_is_no_utf8_is_found_where_python_finds_it(
    content: bytes, before: int, characters: bool
) -> None:
    given = [("strings", (b"fine", b"-" * before + content))]
    *_, problem = _kernel.encode_texts(given, (alphabet(True), True, characters, 1, 1, 0), 1)
    assert problem == twins.first_problem(twins.texts_of(given))


# Arguments that make no sense

LETTERS = alphabet(True)
HOW = (LETTERS, True, False, 1, 1, 0)
HELLO = np.frombuffer(b"hello world, and good bye", np.uint8)
WORDS = Vocabulary.of(["hello", "world", "a-very-long-word-it-is"])
ONE = [("strings", ("hello",))]
ZERO = np.zeros(1, np.int64)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def encode(*chunks: Any) -> Any:
    return lambda: _kernel.encode_texts(list(chunks), HOW, 1)


def tokenize(*how: Any) -> Any:
    return lambda: _kernel.encode_texts(ONE, how, 1)


def count(y: Any, weight: Any = None, K: Any = 1, threads: Any = 1) -> Any:
    return lambda: _kernel.count_texts(ONE, HOW, y, weight, K, threads)


def look_up(*index: Any) -> Any:
    return lambda: _kernel.encode_known(ONE, HOW, index, 1)


def score(table: Any, weighting: Any = "once") -> Any:
    return lambda: _kernel.score_texts(ONE, HOW, WORDS.index, table, weighting, 0.0, 1)


SENSELESS = {
    "no such kind": encode(("nope", ("a",))),
    "a kind alone": encode(("strings",)),
    "too many parts": encode(("strings", ("a",), ("b",))),
    "a list of strings": encode(("strings", ["a"])),
    "a number for a kind": encode((1, ("a",))),
    "a text for a chunk": encode("ab"),
    "None for a chunk": encode(None),
    "offsets outside": encode(("utf8", ints(0, 99), HELLO)),
    "offsets that descend": encode(("utf8", ints(5, 2), HELLO)),
    "offsets that descend and return": encode(("utf8", ints(0, 5, 2, 7), HELLO)),
    "offsets below zero": encode(("utf8", ints(-1, 2), HELLO)),
    "narrow offsets outside": encode(("utf8", ints(0, 99).astype(np.int32), HELLO)),
    "no offsets": encode(("utf8", ints(), HELLO)),
    "offsets of 16 bits": encode(("utf8", ints(0, 2).astype(np.int16), HELLO)),
    "offsets of floats": encode(("utf8", ints(0, 2).astype(float), HELLO)),
    "offsets with gaps": encode(("utf8", ints(0, 1, 2, 3)[::2], HELLO)),
    "offsets of two dimensions": encode(("utf8", ints(0, 1)[:, None], HELLO)),
    "signed bytes": encode(("utf8", ints(0, 2), HELLO.astype(np.int8))),
    "bytes with gaps": encode(("utf8", ints(0, 2), HELLO[::2])),
    "views of 15 bytes": encode(("views", np.zeros(15, np.uint8), [])),
    "views at odd places": encode(("views", np.zeros(17, np.uint8)[1:], [])),
    "a tuple of buffers": encode(("views", np.zeros(16, np.uint8), (HELLO,))),
    "None for a buffer": encode(("views", np.zeros(16, np.uint8), [None])),
    "ends outside": encode(("tokens", HELLO, ints(3, 99), ints(0, 2))),
    "ends that descend": encode(("tokens", HELLO, ints(3, 1), ints(0, 2))),
    "ends below zero": encode(("tokens", HELLO, ints(-3, 1), ints(0, 2))),
    "rows outside": encode(("tokens", HELLO, ints(3, 5), ints(0, 3))),
    "rows that descend": encode(("tokens", HELLO, ints(3, 5), ints(2, 0))),
    "no rows": encode(("tokens", HELLO, ints(3, 5), ints())),
    "narrow ends": encode(("tokens", HELLO, ints(3).astype(np.int32), ints(0, 1))),
    "a short alphabet": tokenize(LETTERS[:-1], True, False, 1, 1, 0),
    "a long alphabet": tokenize(np.append(LETTERS, LETTERS[:1]), True, False, 1, 1),
    "a wide alphabet": tokenize(LETTERS.astype(np.int64), True, False, 1, 1),
    "no alphabet": tokenize(None, True, False, 1, 1),
    "n-grams of nothing": tokenize(LETTERS, True, False, 0, 1, 0),
    "n-grams that descend": tokenize(LETTERS, True, False, 2, 1, 0),
    "n-grams below zero": tokenize(LETTERS, True, False, -1, 1, 0),
    "bits below zero": tokenize(LETTERS, True, False, 1, 1, -1),
    "bits beyond 32": tokenize(LETTERS, True, False, 1, 1, 33),
    "2 for False": tokenize(LETTERS, True, 2, 1, 1),
    "a label too large": count(ints(1)),
    "a label below zero": count(ints(-1)),
    "too many labels": count(ints(0, 0)),
    "no labels": count(ints()),
    "labels of two dimensions": count(ints(0)[:, None]),
    "labels of text": count(np.array(["a"])),
    "too many weights": count(ZERO, np.ones(2)),
    "no classes": count(ZERO, None, 0),
    "classes below zero": count(ZERO, None, -1),
    "threads below zero": count(ZERO, None, 1, -1),
    "too few slots": look_up(WORDS.index[0][:-1], *WORDS.index[1:]),
    "too few keys": look_up(WORDS.index[0], WORDS.index[1][:1], WORDS.index[2]),
    "narrow keys": look_up(WORDS.index[0], WORDS.index[1][:, :2], WORDS.index[2]),
    "keys of other words": look_up(WORDS.index[0], WORDS.index[1][::-1], WORDS.index[2]),
    "an index without words": look_up(WORDS.index[0], WORDS.index[1], None),
    "a table too long": score(np.zeros((4, 2))),
    "a table too short": score(np.zeros((2, 2))),
    "a table of one dimension": score(np.zeros(3)),
    "a table of text": score(np.array([["a"]] * 3)),
    "no such weighting": score(np.zeros((3, 2)), "twice"),
    "a number for a weighting": score(np.zeros((3, 2)), 1),
    "words outside": lambda: _kernel.index_words(HELLO, ints(3, 99)),
    "words that descend": lambda: _kernel.index_words(HELLO, ints(3, 1)),
    "words below zero": lambda: _kernel.index_words(HELLO, ints(-3, 1)),
    "hashed words outside": lambda: _kernel.hash_vocabulary(HELLO, ints(3, 99)),
    "hashed words that descend": lambda: _kernel.hash_vocabulary(HELLO, ints(3, 1)),
    "texts to hash that are none": lambda: _kernel.hash_texts([("words", HELLO)], HOW, 1),
    "merged words outside": lambda: _kernel.merge_words(HELLO, ints(3), HELLO, ints(3, 99)),
    "merged words that descend": lambda: _kernel.merge_words(HELLO, ints(3, 1), HELLO, ints(3)),
    "None for a stream": lambda: _kernel.strings_of_stream(None),
    "numbers for capsules": lambda: _kernel.strings_of_array(1, 2),
}


@pytest.mark.parametrize(
    "call",
    [pytest.param(call, id=name) for name, call in SENSELESS.items()],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        call()


def test_arrow_data_is_read_once() -> None:
    array, stream = pa.array(["a"]).__arrow_c_array__(), pa.chunked_array([["a"]])
    _kernel.strings_of_array(*array)
    with refused("has already been read"):
        _kernel.strings_of_array(*array)
    capsule = stream.__arrow_c_stream__()
    _kernel.strings_of_stream(capsule)
    with refused("has already been read"):
        _kernel.strings_of_stream(capsule)


def test_capsules_of_something_else_are_refused() -> None:
    schema, array = pa.array(["a"]).__arrow_c_array__()
    with refused("not a capsule"):
        _kernel.strings_of_array(array, schema)
    with refused("not a capsule"):
        _kernel.strings_of_stream(array)


def test_arrow_texts_outlive_what_they_came_from() -> None:
    texts = Texts.of(pa.chunked_array([["okapi and quagga"] * 1000, ["zebra"] * 1000]))
    assert sum(map(Counter.total, counts(list(texts.strings())))) == 4000
    assert Tokenizer().encode(texts).rows.data.sum() == 4000


LONG = [("strings", ("ab " * 600 + "x" * 6000,))]
CRASHES = {
    "an empty chunk": "_kernel.encode_texts([()], HOW, 1)",
    "an empty tokenizer": "_kernel.encode_texts(ONE, (), 1)",
    "half a tokenizer": "_kernel.encode_texts(ONE, HOW[:2], 1)",
    "an empty index": "_kernel.encode_known(ONE, HOW, (), 1)",
    "endless n-grams": "_kernel.encode_texts(LONG, (LETTERS, True, False, 1, 2**64 - 1, 0), 1)",
    "endless characters": "_kernel.encode_texts(LONG, (LETTERS, True, True, 1, 2**64 - 1, 0), 1)",
}


@pytest.fixture(scope="module")
def ends() -> dict[str, str]:
    """Return how a process ends that makes each of the calls."""
    code = """
        import os
        import test_tokens
        for name, call in test_tokens.CRASHES.items():
            if (child := os.fork()) == 0:
                try:
                    eval(call, vars(test_tokens))
                except (ValueError, TypeError):
                    os._exit(7)
                except BaseException as error:
                    os.write(2, repr(error).encode())
                os._exit(8)
            _, status = os.waitpid(child, 0)
            print(name, os.waitstatus_to_exitcode(status), sep=": ")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return dict(line.split(": ") for line in run.stdout.splitlines())


@pytest.mark.skipif(
    os.environ.get("GENUS_SANITIZED") == "1", reason="the sanitizer would report what is known"
)
@pytest.mark.parametrize("name", CRASHES)
def test_what_makes_no_sense_does_not_crash(name: str, ends: dict[str, str]) -> None:
    assert ends[name] == "7"


# Vocabularies

SOME = ["", "\0", " ", "a", "a b", "ab", "b", "é", "\ud800", "\udfff", "\uffff", "𝔞", "z" * 40]
any_words = st.lists(st.text(everything) | st.sampled_from(SOME))


@given(any_words)
def test_a_vocabulary_holds_words_once_and_ascending(given: list[str]) -> None:
    vocabulary = Vocabulary.of(given)
    assert list(vocabulary) == sorted(set(given))
    assert [vocabulary.word(i) for i in range(len(vocabulary))] == sorted(set(given))
    assert len(vocabulary) == len(set(given))
    assert vocabulary.is_sound
    assert vocabulary.runs.tolist() == [" " in word for word in vocabulary]
    assert Vocabulary.of(vocabulary).is_same(vocabulary)
    assert Vocabulary.of(reversed(given)).is_same(vocabulary)


@given(any_words, st.data())
def test_some_words_of_a_vocabulary(given: list[str], data: st.DataObject) -> None:
    vocabulary = Vocabulary.of(given)
    all_words = np.array([*vocabulary, None], dtype=object)[:-1]
    n = len(vocabulary)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    cut = slice(*sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))))
    for chosen in mask, np.flatnonzero(mask), cut, slice(None, None, 2), slice(0, 0):
        some = vocabulary[chosen]
        assert list(some) == all_words[chosen].tolist()
        assert some.is_sound


@given(any_words, any_words)
def test_vocabularies_are_merged_and_found(one: list[str], other: list[str]) -> None:
    a, b = Vocabulary.of(one), Vocabulary.of(other)
    both, left, right = a.merge(b)
    assert list(both) == sorted({*one, *other})
    assert both.is_same(Vocabulary.of([*one, *other]))
    assert list(both[left]) == list(a)
    assert list(both[right]) == list(b)
    place = {word: i for i, word in enumerate(b)}
    assert a.find(b).tolist() == [place.get(word, -1) for word in a]
    assert a.is_same(b) == (set(one) == set(other))


@given(any_words)
def test_a_vocabulary_is_pickled_without_its_index(given: list[str]) -> None:
    vocabulary = Vocabulary.of(given)
    before = len(pickle.dumps(vocabulary))
    _ = vocabulary.index
    again = pickle.loads(pickle.dumps(vocabulary))
    assert len(pickle.dumps(vocabulary)) == before
    assert "index" not in vars(again)
    assert again.is_same(vocabulary)
    assert list(again) == list(vocabulary)


UNSOUND = {
    "ends below zero": (b"ab", [-1, 2]),
    "ends that descend": (b"ab", [2, 1, 2]),
    "too few bytes": (b"ab", [1, 3]),
    "too many bytes": (b"ab", [1]),
    "no UTF-8": (b"a\xff", [1, 2]),
    "half a character": ("aé".encode(), [2, 3]),
    "descending": (b"ba", [1, 2]),
    "twice the same": (b"aa", [1, 2]),
    "the empty word second": (b"a", [1, 1]),
    "bytes and no words": (b"ab", []),
}


@pytest.mark.parametrize(("content", "places"), UNSOUND.values(), ids=UNSOUND)
def test_what_is_no_vocabulary_is_not_sound(content: bytes, places: list[int]) -> None:
    given = Vocabulary(np.frombuffer(content, np.uint8), np.array(places, np.int64))
    assert not given.is_sound
