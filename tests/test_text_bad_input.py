"""Bad texts are refused in words that help, huge ones are read, and Ctrl-C stops it all.

An error says what is wrong, in which row, what was got and what to do; the model is unchanged.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cases import refused, table, unchanged
from genus import TextClassifier, _kernel
from genus.text import Tokenizer
from scope import nightly

TEXTS = ["win cash now", "cash prize", "lunch at noon", "see you at lunch", "", "prize of the day"]
LABELS = ["spam", "spam", "ham", "ham", "ham", "spam"]
LEARN = ["fit", "partial_fit", "forget"]
SCORE = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "log_density"]
SCORE += ["explain", "vectorize"]


def refuses(X: Any, *words: str, y: Any = LABELS, by: Any = (ValueError, TypeError)) -> None:
    """All that takes texts refuses these, and stays as it was."""
    for options in {}, {"token_pattern": r"\w+"}:
        model = TextClassifier(**options).fit(TEXTS, LABELS)
        for method in LEARN:
            with unchanged(model, TEXTS), refused(*words, by=by):
                getattr(model, method)(X, y)
        for method in SCORE:
            if method == "explain" and isinstance(X, str | bytes):
                continue  # it takes one text, too
            with unchanged(model, TEXTS), refused(*words, by=by):
                getattr(model, method)(X)
        new = TextClassifier(**options)
        for method in LEARN[:2]:
            with refused(*words, by=by):
                getattr(new, method)(X, y)
            assert vars(new) == vars(TextClassifier(**options))


# What is no text

BAD = {
    "number": (3, ["holds 3 (int)", "make it text"]),
    "float": (1.5, ["holds 1.5 (float)", "make it text"]),
    "bool": (True, ["holds True (bool)"]),
    "None": (None, ["holds nothing", 'use ""']),
    "NaN": (np.nan, ["holds nothing", 'use ""']),
    "NaT": (pd.NaT, ["holds nothing"]),
    "NA": (pd.NA, ["holds nothing", 'use ""']),
    "dict": ({"a": 1}, ["{'a': 1} (dict)"]),
    "list": (["a", "b"], ["['a', 'b'] (list)"]),
    "tokens": ([["a"]], ["(list)"]),
    "bytearray": (bytearray(b"ab"), ["(bytearray)"]),
    "type": (str, ["(type)"]),
}


def among(value: Any) -> list[Any]:
    return [*TEXTS[:2], value, *TEXTS[3:]]


@table("value words", BAD)
def test_what_is_no_text_is_named_with_its_row(value: Any, words: list[str]) -> None:
    refuses(among(value), "row 2", *words)


OBJECTS = {
    "NumPy": lambda texts: objects(texts),
    "column": lambda texts: objects(texts)[:, None],
    "pandas": lambda texts: pd.Series(texts, dtype=object),
    "pandas table": lambda texts: pd.DataFrame({"a": pd.Series(texts, dtype=object)}),
}


def objects(texts: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


@pytest.mark.parametrize("kind", OBJECTS)
@table("value words", BAD)
def test_what_is_no_text_is_named_in_columns_of_objects(
    value: Any, words: list[str], kind: str
) -> None:
    refuses(OBJECTS[kind](among(value)), "row 2", *words)


MISSING = {
    "pandas": lambda texts: pd.Series(texts),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "pandas Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "Polars": pl.Series,
    "Polars categories": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "Arrow": pa.array,
    "Arrow views": lambda texts: pa.array(texts, pa.string_view()),
    "Arrow part": lambda texts: pa.array([None, "x", *texts]).slice(2),
    "Arrow chunks": lambda texts: pa.chunked_array([texts[:1], [], texts[1:]]),
    "NumPy": lambda texts: np.array(texts, dtype=np.dtypes.StringDType(na_object=None)),
    "NumPy masked": lambda texts: np.ma.array(
        [t or "" for t in texts], mask=[t is None for t in texts]
    ),
}


@pytest.mark.parametrize("kind", MISSING.values(), ids=MISSING)
def test_a_missing_text_is_named_with_its_row(kind: Any) -> None:
    refuses(kind(among(None)), "row 2 holds nothing", 'use ""')


BROKEN = {
    "bytes": list,
    "Arrow binary": pa.array,
    "Arrow large binary": lambda texts: pa.array(texts, pa.large_binary()),
    "Arrow binary view": lambda texts: pa.array(texts, pa.binary_view()),
    "Arrow chunks": lambda texts: pa.chunked_array([texts[:1], [], texts[1:]]),
    "Arrow part": lambda texts: pa.array([b"\xff", *texts, b"\xff"]).slice(1, len(texts)),
    "NumPy": np.array,
    "pandas": lambda texts: pd.Series(texts, dtype=object),
    "Polars": pl.Series,
}
NO_UTF8 = {
    "Latin-1": ("Grüße".encode("latin-1"), 2, "0xfc"),
    "cut off": ("ab ü".encode()[:-1], 3, "0xc3"),
    "far in a long one": (b"word " * 2000 + b"\xff", 10_000, "0xff"),
    "half a surrogate pair": (b"a\xed\xa0\x80", 1, "0xed"),
    "UTF-16": ("text".encode("utf-16"), 0, "0xff"),
    "overlong": (b"\xc0\x80", 0, "0xc0"),
}


@pytest.mark.parametrize("kind", BROKEN.values(), ids=BROKEN)
@table("text byte value", NO_UTF8)
def test_bytes_that_are_no_utf8(kind: Any, text: bytes, byte: int, value: str) -> None:
    encoded = [t.encode() if isinstance(t, str) else t for t in among(text)]
    refuses(kind(encoded), "row 2 is not UTF-8", f"byte {byte} is {value}", "decode")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_first_bad_row_is_named_by_any_thread(threads: int) -> None:
    texts = [b"fine text"] * 5000
    for row in 4999, 3333, 1234, 1200:
        texts[row] = b"ab\xff"
        with refused(f"row {row}", "byte 2"):
            TextClassifier(threads=threads).fit(texts, np.arange(5000) % 2)


# What is no column of texts

NO_COLUMN = {
    "a text": ("win cash", ["list of texts", "got one", "[text]"]),
    "bytes": (b"win cash", ["list of texts", "got one"]),
    "a NumPy text": (np.str_("win cash"), ["list of texts", "got one"]),
    "a number": (3, ["list of texts", "int"]),
    "None": (None, ["list of texts", "NoneType"]),
    "a dict": ({"a": 1}, ["list of texts", "dict"]),
    "a set": (set(TEXTS), ["list of texts", "set"]),
    "an object": (object(), ["list of texts", "object"]),
    "numbers": (np.arange(6), ["array of int64", "strings"]),
    "floats": (np.ones(6), ["array of float64", "strings"]),
    "dates": (np.array(["2020-01-01"] * 6, dtype="M8[D]"), ["datetime64", "strings"]),
    "a table": (np.array([TEXTS, TEXTS]).T, ["one column", "(6, 2)"]),
    "a row": (np.array([TEXTS]), ["one column", "(1, 6)"]),
    "three dimensions": (np.array(TEXTS)[:, None, None], ["one column", "(6, 1, 1)"]),
    "a pandas table": (pd.DataFrame({"a": TEXTS, "b": TEXTS}), ["one column", "table of 2"]),
    "a Polars table": (pl.DataFrame({"a": TEXTS, "b": TEXTS}), ["one column", "table of 2"]),
    "no columns": (pd.DataFrame(index=range(6)), ["one column", "table of 0"]),
    "pandas numbers": (pd.Series(range(6)), ["column of int64", "strings"]),
    "pandas dates": (pd.Series(pd.to_datetime(["2020-01-01"] * 6)), ["column of datetime64"]),
    "pandas categories of numbers": (
        pd.Series(range(6), dtype="category"),
        ["row 0 holds 0 (int)"],
    ),
    "Polars numbers": (pl.Series(range(6)), ["column of Int64", "strings"]),
    "Polars lists": (pl.Series([["a"]] * 6), ["column of List(String)"]),
    "Arrow numbers": (pa.array(range(6)), ["column of int64", "strings"]),
    "Arrow structures": (pa.array([{"a": "b", "c": "d"}] * 6), ["column of struct"]),
    "a list of lists": ([[text] for text in TEXTS], ["row 0", "(list)"]),
    "a list of tuples": ([(text, "b") for text in TEXTS], ["row 0", "(tuple)"]),
    "an array of no dimensions": (np.array("win cash"), ["list of texts", "got one"]),
    "a frozenset": (frozenset(TEXTS), ["frozenset"]),
    "an Arrow table": (pa.table({"a": TEXTS, "b": TEXTS}), ["one column", "table of 2"]),
    "an Arrow column of nothing": (pa.array([None] * 6), ["row 0 holds nothing"]),
}


@table("X words", NO_COLUMN)
def test_what_is_no_column_of_texts(X: Any, words: list[str]) -> None:
    refuses(X, *words)


# Labels and weights

BAD_LABELS = {
    "None": (None, ["requires y"]),
    "a missing one": ([*LABELS[:2], None, *LABELS[3:]], ["row 2 has no label"]),
    "NaN": ([0, 1, np.nan, 0, 1, 0], ["row 2 has no label"]),
    "too few": (LABELS[:-1], ["inconsistent", "6 texts and 5 labels"]),
    "too many": ([*LABELS, "ham"], ["inconsistent", "6 texts and 7 labels"]),
    "numbers between": (np.arange(6) / 7, ["continuous"]),
    "a table": (np.array([LABELS, LABELS]).T, ["1d array", "(6, 2)"]),
}


@table("y words", BAD_LABELS)
def test_bad_labels(y: Any, words: list[str]) -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    for method in LEARN:
        with unchanged(model, TEXTS), refused(*words):
            getattr(model, method)(TEXTS, y)


BAD_WEIGHTS = {
    "too few": (np.ones(5), ["sample_weight", "5", "6"]),
    "negative": (-np.ones(6), ["sample_weight", "negative"]),
    "NaN": (np.full(6, np.nan), ["sample_weight", "nan"]),
}


@table("weight words", BAD_WEIGHTS)
def test_bad_weights(weight: Any, words: list[str]) -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    for method in LEARN:
        with unchanged(model, TEXTS), refused(*words):
            getattr(model, method)(TEXTS, LABELS, sample_weight=weight)


# Nothing to learn from

NOTHING = {
    "no texts": ({}, [], [], ["no texts to learn from", "got 0"]),
    "no texts of Arrow": ({}, pa.array([], pa.string()), [], ["no texts to learn from"]),
    "no words": (
        {},
        ["", "a ?", "\0"],
        [0, 1, 0],
        ["empty vocabulary", "no word was found in any text"],
    ),
    "only stop words": ({"stop_words": "english"}, ["the", "of"], [0, 1], ["empty", "all 2 words"]),
    "only rare words": ({"min_documents": 2}, ["aa", "bb"], [0, 1], ["empty", "min_documents"]),
    "tokens of nothing": ({"token_pattern": "z*?"}, ["aa", "bb"], [0, 1], ["empty vocabulary"]),
    "no tokens": ({"tokenizer": lambda text: []}, ["aa", "bb"], [0, 1], ["empty vocabulary"]),
}


@table("options X y words", NOTHING)
def test_nothing_to_learn_from(options: Any, X: Any, y: Any, words: list[str]) -> None:
    model = TextClassifier(**options)
    with refused(*words):
        model.fit(X, y)
    assert not hasattr(model, "classes_")
    fitted = TextClassifier(**{**options, "tokenizer": None, "token_pattern": None})
    fitted.fit([*TEXTS, *TEXTS], [*LABELS, *LABELS])
    if fitted.get_params() == model.get_params():
        with unchanged(fitted, TEXTS), refused(*words):
            fitted.fit(X, y)


def batches(*given: Any) -> Any:
    yield from given


BATCHES = {
    "no batches": (batches(), ["no batches", "empty"]),
    "texts alone": (batches(TEXTS, TEXTS), ["batch 0", "(X, y)"]),
    "a text": (batches("ab"), ["batch 0", "str"]),
    "a table": (batches((TEXTS, LABELS), {"a": 1}), ["batch 1", "dict"]),
    "a bad second one": (batches((TEXTS, LABELS), ([3], ["ham"])), ["row 0 holds 3"]),
    "lengths that differ": (batches((TEXTS, LABELS), (TEXTS, ["ham"])), ["6 texts and 1 labels"]),
    "no words": (batches((["a"], ["x"]), (["?"], ["y"])), ["empty vocabulary"]),
}


@table("given words", BATCHES)
def test_bad_batches(given: Any, words: list[str]) -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    with unchanged(model, TEXTS), refused(*words):
        model.fit(given)


def test_batches_that_fail_leave_the_model_as_it_was() -> None:
    def failing() -> Any:
        yield TEXTS, LABELS
        raise OSError("the disk is gone")

    model = TextClassifier().fit(TEXTS, LABELS)
    with unchanged(model, TEXTS), pytest.raises(OSError, match="disk"):
        model.fit(failing())


def test_what_was_not_learned_cannot_be_forgotten() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    for text, label in ("okapi", "ham"), ("win cash now", "ham"), ("cash cash cash cash", "spam"):
        with unchanged(model, TEXTS), refused("learned"):
            model.forget([text], [label])
    with unchanged(model, TEXTS), refused("learned"):
        model.forget(TEXTS * 2, LABELS * 2)


@pytest.mark.parametrize(
    "call",
    [
        *(lambda model, method=method: getattr(model, method)(TEXTS) for method in SCORE),
        lambda model: model.forget(TEXTS, LABELS),
        lambda model: model.top_words("spam"),
        lambda model: model.sample(),
        lambda model: model.resolve(alpha=2),
        lambda model: model.to_logistic(),
        lambda model: model.save("nowhere"),
    ],
)
def test_what_is_not_fitted_says_so(call: Any) -> None:
    with pytest.raises(NotFittedError):
        call(TextClassifier())


@pytest.mark.parametrize(
    "name", ["classes_", "vocabulary_", "word_count_", "document_count_", "coef_", "alpha_"]
)
def test_what_is_not_fitted_has_no_attributes(name: str) -> None:
    assert not hasattr(TextClassifier(), name)


# Parameters

PARAMETERS = {
    "event_model": ["bayes", "Multinomial", "", None, 1, ["multinomial"]],
    "alpha": [-1, np.nan, np.inf, "none", "1", None, [1, 2], {}],
    "stop_words": ["german", "the", "", 3, True, [1], [None], [["a"]], b"english", [b"the"]],
    "ngrams": [
        *(1, None, "12", (1,), (1, 2, 3), (1.0, 2), ("1", "2"), (True, 2), (1, None), (1, np.nan)),
        *((0, 1), (-1, 1), (2, 1), (1, 33)),
    ],
    "analyzer": ["char", "words", None, 1, str.split],
    "lowercase": [None, 1, 0, "yes"],
    "min_documents": [-1, -0.1, np.nan, np.inf, None, "2", [1]],
    "max_features": [0, -1, 1.5, "10", np.inf, True, [3]],
    "select": ["f", True, 1, "mutual_information"],
    "token_pattern": ["(", "[a", 3, rb"\w+", ["a"], re.compile(r"\w+")],
    "tokenizer": ["split", 3, [str.split], TEXTS],
    "priors": [
        [0.5],
        [0.5, 0.6],
        [-1, 2],
        "equal",
        {"ham": 1.0},
        [np.nan, 1],
        {"ham": 1, "eggs": 0},
    ],
    "threads": [0, -1, 1.5, "all", True, 2000, np.nan],
}
TOGETHER = [
    {"select": "chi2"},
    {"tokenizer": str.split, "token_pattern": r"\w+"},
    {"analyzer": "char_wb", "tokenizer": str.split},
    {"analyzer": "char_wb", "token_pattern": r"\w+"},
]
UNREASONABLE = [
    *({name: value} for name, values in PARAMETERS.items() for value in values),
    *TOGETHER,
]


@pytest.mark.parametrize("options", UNREASONABLE, ids=str)
def test_parameters_that_make_no_sense(options: dict[str, Any]) -> None:
    new = TextClassifier(**options)
    for method in LEARN[:2]:
        with refused(*options):
            getattr(new, method)(TEXTS, LABELS)
        assert "model_" not in vars(new)
    model = TextClassifier().fit(TEXTS, LABELS)
    with unchanged(model, TEXTS), refused(*options):
        model.resolve(**options)
    model.set_params(**options)
    for method in LEARN[:2]:
        with unchanged(model, TEXTS), refused(*options):
            getattr(model, method)(TEXTS, LABELS)


@pytest.mark.parametrize("pattern", [r"(a)(b)", "(?P<first>a)(b)", "((a))"])
def test_a_pattern_of_two_groups(pattern: str) -> None:
    with refused("more than 1", "group", pattern, "(?:...)"):
        TextClassifier(token_pattern=pattern).fit(TEXTS, LABELS)


def test_parameters_that_do_not_exist() -> None:
    with pytest.raises(TypeError, match="ngram_range"):
        TextClassifier(ngram_range=(1, 2))
    with refused("ngram_range"):
        TextClassifier().set_params(ngram_range=(1, 2))


def failing(text: str) -> Any:
    if "lunch" in text:
        raise ZeroDivisionError("of my own")
    return text.split()


TOKENIZERS = {
    "a text": (lambda text: text, ["one text", "row 0", "win cash now", "must return a list"]),
    "None": (lambda text: None, ["NoneType", "row 0", "must return a list"]),
    "None, later": (lambda text: text.split() if "lunch" not in text else None, ["row 2"]),
    "a number": (lambda text: 3, ["int", "row 0"]),
    "numbers": (lambda text: [3], ["found 3 in row 0", "strings"]),
    "bytes": (lambda text: [b"ab"], ["found b'ab' in row 0", "strings"]),
    "bytes alone": (lambda text: text.encode(), ["row 0", "tokenizer"]),
    "pairs": (lambda text: enumerate(text.split()), ["(0, 'win') in row 0"]),
    "two arguments": (lambda text, more: [], ["missing 1 required positional argument"]),
}


@table("tokenizer words", TOKENIZERS)
def test_a_tokenizer_that_returns_no_tokens(tokenizer: Any, words: list[str]) -> None:
    new = TextClassifier(tokenizer=tokenizer)
    for method in LEARN[:2]:
        with refused(*words):
            getattr(new, method)(TEXTS, LABELS)
    assert "model_" not in vars(new)


def test_a_tokenizer_that_fails() -> None:
    model = TextClassifier(tokenizer=failing).fit(TEXTS[:2], [0, 1])
    for method in LEARN:
        with unchanged(model, TEXTS[:2]), pytest.raises(ZeroDivisionError, match="of my own"):
            getattr(model, method)(TEXTS, LABELS)
    for method in SCORE:
        with pytest.raises(ZeroDivisionError, match="of my own"):
            getattr(model, method)(TEXTS)


def test_a_tokenizer_that_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    model = TextClassifier().fit(TEXTS, LABELS)
    for method in LEARN:
        with unchanged(model, TEXTS), monkeypatch.context() as patched:
            patched.setattr(Tokenizer, "count", interrupt)
            with pytest.raises(KeyboardInterrupt):
                getattr(model, method)(TEXTS, LABELS)


def test_a_model_with_a_tokenizer_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "model"
    TextClassifier().fit(TEXTS, LABELS).save(path)
    before = path.read_bytes()
    model = TextClassifier(tokenizer=str.split).fit(TEXTS, LABELS)
    with refused("tokenizer", "token_pattern", "pickle", by=TypeError):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert pickle.loads(pickle.dumps(model)).model_ == model.model_


def test_models_of_different_tokens_are_not_merged() -> None:
    one = TextClassifier().fit(TEXTS, LABELS)
    for options in {"ngrams": (1, 2)}, {"lowercase": False}, {"tokenizer": str.split}:
        other = clone(one).set_params(**options).fit(TEXTS, LABELS)
        with unchanged(one, TEXTS), refused(*options):
            _ = one + other
        with unchanged(one, TEXTS), refused(*options):
            _ = one - other


# Hugeness and impatience, in processes of their own

sanitized = pytest.mark.skipif(
    os.environ.get("GENUS_SANITIZED") == "1", reason="the sanitizer takes memory and time itself"
)


def in_a_process(code: str) -> Any:
    """Return what a script prints last, as JSON."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


HUGE = """
    import json, os, resource
    import numpy as np
    from genus import TextClassifier

    MB = 2**20
    y = ["big", "small"]

    def text_of_64_mb():
        text = "".join(f"word{i} " for i in range(1000))
        text *= 64 * MB // len(text)
        yield
        model = TextClassifier().fit([text, "word1 small"], y)
        small, *counts = model.word_count_[0].tolist()
        yield small == 0 and counts == [text.count("word0 ")] * 1000 and len(
            model.predict([text, ""])
        ) == 2

    def other_letters_of_64_mb():
        text = "wörter ΑΣ 文字 " * (64 * MB // 22)
        yield
        model = TextClassifier("bernoulli").fit([text, "small"], y)
        yield list(model.vocabulary_) == ["small", "wörter", "ας", "文字"]

    def token_of_10_mb():
        token = "x" * (10 * MB)
        yield
        model = TextClassifier().fit([token + " " + token + "y", token], y)
        known = model.explain(token).unknown == [[]]
        yield known and list(model.vocabulary_) == [token, token + "y"]

    def zeros_of_64_mb():
        text = "\\0" * (64 * MB)
        yield
        model = TextClassifier().fit([text, "small"], y)
        yield list(model.vocabulary_) == ["small"] and model.predict([text])[0] == "big"

    def million_tokens():
        texts = [" ".join(f"w{i}x{j}" for j in range(1000)) for i in range(1000)]
        yield
        model = TextClassifier().fit(texts, np.arange(1000) % 2)
        yield len(model.vocabulary_) == 10**6 == int(model.word_count_.sum())

    def million_tokens_at_once():
        text = " ".join(f"w{i}" for i in range(10, 10**6 + 10))
        yield
        model = TextClassifier("boolean").fit([text, "w10"], y)
        yield len(model.vocabulary_) == 10**6 and model.predict([text])[0] == "big"

    def characters_of_16_mb():
        text = "okapi quagga " * (16 * MB // 13)
        yield
        model = TextClassifier(analyzer="char_wb", ngrams=(1, 3)).fit([text, "small"], y)
        yield model.predict([text])[0] == "big"

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    found = {}
    for work in list(globals().values()):
        if not hasattr(work, "__code__") or work is peak:
            continue
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            steps = work()
            next(steps)
            before = peak()
            sound = next(steps)
            os.write(write, json.dumps([bool(sound), peak() - before]).encode())
            os._exit(0)
        os.close(write)
        found[work.__name__] = json.loads(os.read(read, 1000) or "null")
        os.waitpid(child, 0)
    print(json.dumps(found))
"""
COPIES = "abi3" in str(_kernel.__file__)  # the stable ABI shows the characters of ASCII only
MEGABYTES = {
    "text_of_64_mb": 64,
    "other_letters_of_64_mb": 128 if COPIES else 64,
    "token_of_10_mb": 200,
    "zeros_of_64_mb": 64,
    "million_tokens": 800,
    "million_tokens_at_once": 800,
    "characters_of_16_mb": 64,
}


@nightly
@sanitized
def test_huge_texts_take_little_memory() -> None:
    found = in_a_process(HUGE)
    assert found.keys() == MEGABYTES.keys()
    for name, most in MEGABYTES.items():
        sound, megabytes = found[name]
        assert sound, name
        assert megabytes < most, (name, megabytes)


INTERRUPTED = """
    import copy, json, os, signal, threading, time
    import numpy as np
    from genus import TextClassifier

    def interrupted(call):
        "Seconds until Ctrl-C arrives; None if it does not."
        start = time.perf_counter()
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            call()
            timer.join()
            time.sleep(0.1)
        except KeyboardInterrupt:
            seconds = time.perf_counter() - start
            return seconds if seconds > 0.15 else None
        return "it was done before"

    signal.signal(signal.SIGINT, signal.default_int_handler)
    small = ["win cash", "lunch at noon", "cash", "lunch"]
    many = [" ".join(f"word{i}" for i in range(j, j + 3000)) for j in range(4)] * 250_000
    y = np.arange(len(many)) % 2
    long = "wörter und noch mehr ".encode() * (200 * 2**20 // 22)
    found = {}
    for threads in 1, 2:
        model = TextClassifier(threads=threads).fit(small, [0, 1, 0, 1])
        before = copy.deepcopy(model)
        new = TextClassifier(threads=threads)
        calls = {
            "fit": lambda: new.fit(many, y),
            "fit again": lambda: model.fit(many, y),
            "partial_fit": lambda: model.partial_fit(many, y),
            "forget": lambda: model.forget(many, y),
            "predict_proba": lambda: model.predict_proba(many),
            "vectorize": lambda: model.vectorize(many),
            "batches": lambda: model.fit((many[:1000], y[:1000]) for _ in range(1000)),
        }
        for name, call in calls.items():
            found[f"{name} by {threads}"] = interrupted(call)
        characters = TextClassifier(analyzer="char_wb", ngrams=(1, 12), threads=threads)
        characters.fit(small, [0, 1, 0, 1])
        copied = copy.deepcopy(characters)
        for block in 0, 1:
            texts = [b"short"] * 192
            texts[64 * block] = long
            labels = np.arange(192) % 2
            for name in "partial_fit", "forget":
                call = getattr(characters, name)
                found[f"a long text, {name}, block {block} by {threads}"] = interrupted(
                    lambda: call(texts, labels)
                )
            found[f"a long text, predict, block {block} by {threads}"] = interrupted(
                lambda: characters.predict(texts)
            )
        found[f"as it was by {threads}"] = bool(
            model.model_ == before.model_
            and characters.model_ == copied.model_
            and vars(new) == vars(TextClassifier(threads=threads))
            and np.array_equal(model.predict_proba(small), before.predict_proba(small))
        )
    print(json.dumps(found))
"""


@nightly
@sanitized
def test_ctrl_c_stops_reading_and_leaves_the_model_as_it_was() -> None:
    found = in_a_process(INTERRUPTED)
    for threads in 1, 2:
        assert found.pop(f"as it was by {threads}") is True
    late = {name: t for name, t in found.items() if not isinstance(t, float) or t > 10}
    assert late == {}


@pytest.mark.parametrize(
    ("texts", "row"),
    [
        ((t for t in ["aa", None, "bb", "cc"]), 1),
        ((t for t in ["aa", "bb", 5, "cc"]), 2),
        (iter([["aa", "bb"], ["cc", None]]), 3),
    ],
)
def test_rows_of_iterators_are_numbered_through(texts: Any, row: int) -> None:
    with pytest.raises(ValueError, match=f"Row {row} holds"):
        TextClassifier().fit(texts, [0, 0, 1, 1])


def test_a_bad_batch_is_named_and_an_empty_one_skipped() -> None:
    good = ["aa bb", "cc dd"], [0, 1]
    with pytest.raises(ValueError, match=r"In batch 1: Row 1 holds nothing"):
        TextClassifier().fit(iter([good, (["aa", None], [0, 1])]))
    with pytest.raises(ValueError, match=r"Put the weights into the batches"):
        TextClassifier().fit(iter([good]), sample_weight=[1, 2])
    model = TextClassifier().fit(iter([good, ([], []), good]))
    assert model.class_count_.tolist() == [2.0, 2.0]


def test_masked_labels_are_missing() -> None:
    y = np.ma.array([1, 1, 0, 0], mask=[0, 1, 0, 0])
    with pytest.raises(ValueError, match="row 1 has no label"):
        TextClassifier().fit(["aa", "bb", "cc", "dd"], y)


def test_labels_may_be_strings_of_numpy() -> None:
    y = np.array(["a", "a", "b", "b"], dtype=np.dtypes.StringDType())
    assert TextClassifier().fit(["aa", "bb", "cc", "dd"], y).classes_.tolist() == ["a", "b"]


def test_a_row_that_is_null_in_a_table_is_missing() -> None:
    texts = pa.array(["aa", "bb", "cc", "dd"])
    table = pa.StructArray.from_arrays(
        [texts], ["text"], mask=pa.array([False, True, False, False])
    )
    with pytest.raises(ValueError, match="Row 1 holds nothing"):
        TextClassifier().fit(table, [0, 0, 1, 1])
