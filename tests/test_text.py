"""TextClassifier: scikit-learn's numbers from raw texts, whatever they come in."""

from __future__ import annotations

import copy
import gzip
import pickle
import re
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import chi2
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import genus
from cases import refused
from genus import TextClassifier, from_bytes, load
from scope import nightly_if_sanitized

EVENT_MODELS = ["multinomial", "boolean", "bernoulli", "complement"]
event_models = pytest.mark.parametrize("event_model", EVENT_MODELS)

SMALL = [
    "Win cash now!",
    "cash, cash, prize",
    "Lunch at noon?",
    "See you at lunch",
    "",
    "A Grüße 你好",
]
SMALL_LABELS = ["spam", "spam", "ham", "ham", "ham", "spam"]


def generated(m: int, seed: int) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Return texts of words that depend on their class, none in some, and the classes."""
    rng = np.random.default_rng(seed)
    words = np.array(
        [f"{w}{i}" for i in range(12) for w in ("okapi", "Zebra's-", "ÄΣ_", "x", "the")]
    )
    y = rng.integers(0, 3, m)
    p = rng.dirichlet(np.full(len(words), 0.3), 3)
    texts = [" ".join(rng.choice(words, rng.poisson(8), p=p[k])) for k in y]
    return texts, np.array(["ham", "news", "spam"])[y]


TEXTS, LABELS = generated(300, 0)
NEW = [*generated(50, 1)[0], "", "nothing of this is known"]


def counts(texts: Any, **options: Any) -> tuple[Any, Any, Any]:
    """Return counts of texts, of new ones, and the words, by scikit-learn."""
    vectorizer = CountVectorizer(**options)
    X = vectorizer.fit_transform(texts)
    return X, vectorizer.transform(NEW), vectorizer.get_feature_names_out().tolist()


def plain(event_model: str, alpha: float = 1.0) -> Any:
    return {"bernoulli": BernoulliNB, "complement": ComplementNB}.get(event_model, MultinomialNB)(
        alpha=alpha
    )


def words_of(model: Any) -> list[str]:
    return model.get_feature_names_out().tolist()


def assert_same(one: Any, other: Any) -> None:
    """Check that two models are one: what they have counted, and what they make of it."""
    assert one.model_ == other.model_
    assert words_of(one) == words_of(other)
    assert_array_equal(one.predict_joint_log_proba(NEW), other.predict_joint_log_proba(NEW))


# The numbers of scikit-learn


def assert_agrees(event_model: str, alpha: float, train: Any, y: Any, test: Any) -> None:
    vectorizer = CountVectorizer()
    X, Z = vectorizer.fit_transform(train), vectorizer.transform(test)
    priors = None
    if event_model == "complement":  # scikit-learn's has none, or all the same
        priors = np.full(len(np.unique(y)), 1 / len(np.unique(y)))
    model = TextClassifier(event_model, alpha, priors=priors).fit(train, y)
    assert words_of(model) == vectorizer.get_feature_names_out().tolist()
    for k, label in enumerate(model.classes_):
        own = X[np.asarray(y) == label]
        assert_array_equal(model.word_count_[k], own.sum(axis=0).A1)
        assert_array_equal(model.document_count_[k], (own > 0).sum(axis=0).A1)
    if event_model == "boolean":
        X, Z = (X > 0).astype(int), (Z > 0).astype(int)
    other = plain(event_model, alpha).fit(X, y)
    assert_allclose(model.predict_log_proba(test), other.predict_log_proba(Z), rtol=1e-7, atol=1e-7)
    assert_array_equal(model.predict(test), other.predict(Z))


@event_models
@pytest.mark.parametrize("alpha", [1.0, 0.3, 1e-6])
def test_generated_texts(event_model: str, alpha: float) -> None:
    assert_agrees(event_model, alpha, TEXTS, LABELS, NEW)


@event_models
def test_text_messages(event_model: str, data_folder: Path) -> None:
    path = data_folder / "sms_spam.tsv"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    rows = [line.split("\t", 1) for line in path.read_text("utf-8").splitlines()]
    labels, texts = zip(*rows, strict=True)
    assert_agrees(event_model, 1.0, texts[:4000], labels[:4000], texts[4000:])


@nightly_if_sanitized
@event_models
def test_reuters(event_model: str, data_folder: Path) -> None:
    folder = data_folder / "reuters_r8"
    if not folder.exists():
        pytest.skip(f"there is no {folder}")
    (y, train), (_, test) = (
        zip(*(line.split("\t", 1) for line in text.splitlines()), strict=True)
        for text in (
            gzip.decompress((folder / f"{part}.txt.gz").read_bytes()).decode()
            for part in ("train", "test")
        )
    )
    assert_agrees(event_model, 0.5, train, y, test)


@event_models
def test_weights_count_as_scikit_learn_counts_them(event_model: str) -> None:
    weight = np.random.default_rng(0).integers(0, 4, len(TEXTS)) / 2
    priors = [1 / 3] * 3 if event_model == "complement" else None
    model = TextClassifier(event_model, priors=priors).fit(TEXTS, LABELS, sample_weight=weight)
    vectorizer = CountVectorizer().fit([t for t, w in zip(TEXTS, weight, strict=True) if w])
    X, Z = vectorizer.transform(TEXTS), vectorizer.transform(NEW)
    if event_model == "boolean":
        X, Z = (X > 0).astype(int), (Z > 0).astype(int)
    other = plain(event_model).fit(X, LABELS, sample_weight=weight)
    assert words_of(model) == vectorizer.get_feature_names_out().tolist()
    assert_allclose(model.predict_proba(NEW), other.predict_proba(Z), atol=1e-12)


@event_models
def test_the_logistic_form_of_vectors_has_the_same_probabilities(event_model: str) -> None:
    model = TextClassifier(event_model).fit(TEXTS, LABELS)
    X = model.vectorize(NEW)
    X = (X > 0).astype(float) if event_model in ("boolean", "bernoulli") else X.astype(float)
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(softmax(scores, axis=1), model.predict_proba(NEW), atol=1e-12)
    assert_allclose(model.to_logistic().predict_proba(X), model.predict_proba(NEW), atol=1e-12)
    two = model.resolve(priors=None).fit(SMALL, SMALL_LABELS)
    X = two.vectorize(SMALL)
    X = X > 0 if event_model in ("boolean", "bernoulli") else X
    assert two.coef_.shape == (1, len(words_of(two)))
    assert_allclose(
        two.to_logistic().predict_proba(X.astype(float)), two.predict_proba(SMALL), atol=1e-12
    )


# What a text without a known word says

SILENT = ["", " \n", "?!", "a", "unknown words alone", "\0"]


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
@pytest.mark.parametrize("event_model", ["multinomial", "boolean", "complement"])
def test_a_text_without_a_known_word_gets_the_priors(event_model: str, priors: Any) -> None:
    model = TextClassifier(event_model, priors=priors).fit(TEXTS, LABELS)
    shares = np.unique(LABELS, return_counts=True)[1] / len(LABELS) if priors is None else priors
    joint = model.predict_joint_log_proba(SILENT)
    assert_array_equal(joint, np.tile(np.log(shares), (len(SILENT), 1)))
    assert_allclose(model.predict_proba(SILENT), np.tile(shares, (len(SILENT), 1)), rtol=1e-15)


def test_to_bernoulli_a_text_without_a_known_word_lacks_them_all() -> None:
    model = TextClassifier("bernoulli", alpha=0.7).fit(TEXTS, LABELS)
    n = model.class_count_[:, None]
    absent = np.log((n - model.document_count_ + 0.7) / (n + 1.4)).sum(axis=1)
    joint = np.log(n[:, 0] / n.sum()) + absent
    assert_allclose(model.predict_joint_log_proba(SILENT), np.tile(joint, (len(SILENT), 1)))


# Whatever texts come in

ARROW = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "binary_view": pa.binary_view(),
}
COLUMNS = {
    "tuple": tuple,
    "deque": deque,
    "generator": lambda texts: (text for text in texts),
    "dict values": lambda texts: dict(enumerate(texts)).values(),
    "bytes": lambda texts: [text.encode() for text in texts],
    "some bytes": lambda texts: [t.encode() if i % 2 else t for i, t in enumerate(texts)],
    "np.str_": lambda texts: [np.str_(text) for text in texts],
    "NumPy U": np.array,
    "NumPy S": lambda texts: np.array([text.encode() for text in texts]),
    "NumPy O": lambda texts: np.array(texts, dtype=object),
    "NumPy StringDType": lambda texts: np.array(texts, dtype=np.dtypes.StringDType()),
    "NumPy column": lambda texts: np.array(texts)[:, None],
    "NumPy column of objects": lambda texts: np.array(texts, dtype=object)[:, None],
    "NumPy with steps": lambda texts: np.repeat(np.array(texts, dtype=object), 2)[::2],
    "pandas": pd.Series,
    "pandas object": lambda texts: pd.Series(texts, dtype=object),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "pandas python": lambda texts: pd.Series(texts, dtype=pd.StringDtype("python")),
    "pandas Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas Arrow dictionary": lambda texts: pd.Series(
        texts, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    ),
    "pandas with an index": lambda texts: pd.Series(texts, index=range(99, 99 - len(texts), -1)),
    "pandas part": lambda texts: pd.Series(["not this", *texts, "nor this"])[1:-1],
    "pandas Index": pd.Index,
    "pandas table": lambda texts: pd.DataFrame({"text": texts}),
    "pandas table of categories": lambda texts: pd.DataFrame({"text": texts}, dtype="category"),
    "Polars": pl.Series,
    "Polars categories": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "Polars enum": lambda texts: pl.Series(texts, dtype=pl.Enum(texts)),
    "Polars binary": lambda texts: pl.Series([text.encode() for text in texts]),
    "Polars table": lambda texts: pl.DataFrame({"text": texts}),
    "Polars chunks": lambda texts: pl.concat(
        [pl.Series(texts[:2]), pl.Series(texts[2:])], rechunk=False
    ),
    **{
        f"Arrow {name}": lambda texts, kind=kind: pa.array(texts, kind)
        for name, kind in ARROW.items()
    },
    "Arrow chunks": lambda texts: pa.chunked_array([texts[:1], [], texts[1:]]),
    "Arrow part": lambda texts: pa.array([None, *texts, None]).slice(1, len(texts)),
    "Arrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "Arrow chunks of dictionaries": lambda texts: pa.chunked_array([texts]).dictionary_encode(),
    "Arrow table": lambda texts: pa.table({"text": texts}),
    "Arrow batch": lambda texts: pa.record_batch({"text": texts}),
}


def marked(rows: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(row[0], marks=row[1], id=name)
        if isinstance(row, tuple)
        else pytest.param(row, id=name)
        for name, row in rows.items()
    ]


@pytest.mark.parametrize("column", marked(COLUMNS))
def test_a_column_of_any_kind(column: Any) -> None:
    model = TextClassifier().fit(SMALL, SMALL_LABELS)
    assert_same(TextClassifier().fit(column(SMALL), SMALL_LABELS), model)
    assert_same(TextClassifier().partial_fit(column(SMALL), SMALL_LABELS), model)
    assert_array_equal(model.predict(column(SMALL)), model.predict(SMALL))
    assert_array_equal(model.predict_proba(column(SMALL)), model.predict_proba(SMALL))
    assert_array_equal(model.vectorize(column(SMALL)).toarray(), model.vectorize(SMALL).toarray())
    assert_array_equal(model.explain(column(SMALL)).joint, model.explain(SMALL).joint)
    assert_same(
        TextClassifier(token_pattern=r"\w+").fit(column(SMALL), SMALL_LABELS),
        TextClassifier(token_pattern=r"\w+").fit(SMALL, SMALL_LABELS),
    )


@pytest.mark.parametrize("dtype", [object, pd.StringDtype("python")])
def test_half_a_surrogate_pair_in_pandas(dtype: Any) -> None:
    texts = [*SMALL[:-1], "half \ud800\ud800"]
    model = TextClassifier().fit(texts, SMALL_LABELS)
    assert_same(TextClassifier().fit(pd.Series(texts, dtype=dtype), SMALL_LABELS), model)


def test_batches_from_an_iterator() -> None:
    whole = TextClassifier().fit(TEXTS, LABELS)
    parts = [(TEXTS[i : i + 70], LABELS[i : i + 70]) for i in range(0, len(TEXTS), 70)]
    assert_same(TextClassifier().fit(iter(parts)), whole)
    assert_same(TextClassifier().fit((pl.Series(texts), y) for texts, y in parts), whole)
    assert_same(TextClassifier().fit(list(part) for part in parts), whole)
    weighted = TextClassifier().fit(TEXTS, LABELS, sample_weight=np.full(len(TEXTS), 2.0))
    assert_same(
        TextClassifier().fit((*part, np.full(len(part[0]), 2.0)) for part in parts), weighted
    )


def test_no_texts_have_no_predictions() -> None:
    model = TextClassifier().fit(SMALL, SMALL_LABELS)
    assert model.predict([]).shape == (0,)
    assert model.predict_proba(pl.Series([], dtype=pl.String)).shape == (0, 2)
    assert model.vectorize(np.array([], dtype=str)).shape == (0, len(words_of(model)))


# Which words are used


@pytest.mark.parametrize("least", [1, 2, 5, 40, 0.0, 0.05, 0.1, 0.25])
def test_min_documents_is_min_df(least: float) -> None:
    X, Z, words = counts(TEXTS, min_df=least)
    model = TextClassifier(min_documents=least).fit(TEXTS, LABELS)
    assert words_of(model) == words
    assert_array_equal(model.vectorize(NEW).toarray(), Z.toarray())
    other = MultinomialNB().fit(X, LABELS)
    assert_allclose(model.predict_proba(NEW), other.predict_proba(Z), atol=1e-12)


def assert_best(model: Any, n: int, telling: Any, words: list[str]) -> None:
    """Check that the model uses n words, none less telling than one that is left out."""
    used = np.isin(words, words_of(model))
    assert used.sum() == n == len(words_of(model))
    assert telling[used].min() >= telling[~used].max() - 1e-9


@pytest.mark.parametrize("n", [1, 5, 20])
def test_max_features_are_the_most_frequent(n: int) -> None:
    X, _, words = counts(TEXTS)
    assert_best(TextClassifier(max_features=n).fit(TEXTS, LABELS), n, X.sum(axis=0).A1, words)


def test_of_words_as_frequent_the_first_are_used() -> None:
    model = TextClassifier(max_features=2).fit(["dd bb aa cc aa", "cc bb dd"], [0, 1])
    assert words_of(model) == ["aa", "bb"]


@event_models
@pytest.mark.parametrize("n", [1, 5, 20])
def test_chi2_is_that_of_scikit_learn(event_model: str, n: int) -> None:
    X, _, words = counts(TEXTS)
    X = X > 0 if event_model in ("boolean", "bernoulli") else X
    model = TextClassifier(event_model, max_features=n, select="chi2").fit(TEXTS, LABELS)
    assert_best(model, n, chi2(X, LABELS)[0], words)


@event_models
@pytest.mark.parametrize("n", [1, 5, 20])
def test_mutual_information_is_that_of_presence_and_class(event_model: str, n: int) -> None:
    X, _, words = counts(TEXTS)
    there = (X > 0).toarray()
    telling = np.array([mutual_info_score(LABELS, column) for column in there.T])
    model = TextClassifier(event_model, max_features=n, select="mutual-information")
    assert_best(model.fit(TEXTS, LABELS), n, telling, words)


ENGLISH = ["the cat sat on the mat", "The dog and the Cat", "mat of dog", "whereupon nothing"]


@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent")
@pytest.mark.filterwarnings("ignore:The stop word 'Cat' has no effect")
@pytest.mark.parametrize("stop_words", ["english", ["cat", "the"], {"dog"}, ("mat",), ["Cat"], []])
def test_stop_words_are_those_of_scikit_learn(stop_words: Any) -> None:
    given = stop_words if isinstance(stop_words, str) else list(stop_words)
    words = CountVectorizer(stop_words=given).fit(ENGLISH).get_feature_names_out().tolist()
    model = TextClassifier(stop_words=stop_words).fit(ENGLISH, [0, 1, 0, 1])
    assert words_of(model) == words


def test_an_ngram_that_holds_a_stop_word_is_left_out() -> None:
    model = TextClassifier(stop_words="english", ngrams=(1, 3)).fit(ENGLISH, [0, 1, 0, 1])
    assert words_of(model) == ["cat", "cat sat", "dog", "mat", "sat"]
    model = TextClassifier(stop_words=["the"], ngrams=(2, 2)).fit(ENGLISH, [0, 1, 0, 1])
    assert "cat sat" in words_of(model)
    assert not any("the" in word.split() for word in words_of(model))
    assert "dog cat" not in words_of(model)  # as scikit-learn would have it


def test_a_stop_word_may_hold_a_space() -> None:
    options = {"token_pattern": "[^,]+", "stop_words": ["new york"]}
    texts = ["new york,paris", "rome,new york"]
    words = CountVectorizer(**options).fit(texts).get_feature_names_out().tolist()
    assert words_of(TextClassifier(**options).fit(texts, [0, 1])) == words == ["paris", "rome"]


def test_characters_have_no_stop_words() -> None:
    options = {"analyzer": "char_wb", "ngrams": (2, 3)}
    model = TextClassifier(**options).fit(ENGLISH, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="stop_words needs words, but analyzer='char_wb'"):
        model.resolve(stop_words=["cat", "a", "at"])


ONCE = {
    "an iterator": iter,
    "a generator": lambda words: (word for word in words),
    "keys": lambda words: dict.fromkeys(words).keys(),
}


@pytest.mark.parametrize("kind", ONCE.values(), ids=ONCE)
def test_stop_words_are_a_list(kind: Any) -> None:
    with pytest.raises(ValueError, match='stop_words must be "english", a list of words'):
        TextClassifier(stop_words=kind(["cat", "the"])).fit(ENGLISH, [0, 1, 0, 1])


@pytest.mark.parametrize("kind", [list, set, frozenset, tuple, np.array, pd.Series])
def test_stop_words_are_saved(kind: Any, tmp_path: Path) -> None:
    model = TextClassifier(stop_words=kind(["cat", "the"])).fit(ENGLISH, [0, 1, 0, 1])
    model.save(tmp_path / "model")
    assert_same(load(tmp_path / "model"), model)


# Other parameters, without the texts

SOLVING = {
    "event_model": EVENT_MODELS,
    "alpha": [0, 0.1, "auto"],
    "stop_words": ["english", ["the0", "okapi3"]],
    "min_documents": [2, 0.1],
    "max_features": [7],
    "priors": [[0.2, 0.3, 0.5], {"ham": 0.5, "news": 0.25, "spam": 0.25}],
    "threads": [1],
}
CHANGES = [
    *({name: value} for name, values in SOLVING.items() for value in values),
    {"select": "chi2", "max_features": 5},
    {"select": "mutual-information", "max_features": 5, "event_model": "boolean"},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.filterwarnings("ignore:.*explain.*:UserWarning")
def test_resolving_is_fitting_anew(change: dict[str, Any]) -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    before = copy.deepcopy(model)
    assert_same(model.resolve(**change), TextClassifier(**change).fit(TEXTS, LABELS))
    assert_same(model, before)
    assert model.get_params() == before.get_params()


@pytest.mark.parametrize(
    "change",
    [
        {"ngrams": (1, 2)},
        {"analyzer": "char_wb"},
        {"lowercase": False},
        {"token_pattern": r"\w+"},
        {"tokenizer": str.split},
    ],
    ids=str,
)
def test_what_decides_what_is_counted_cannot_be_resolved(change: dict[str, Any]) -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    with refused(*change, "what is counted", "fit again"):
        model.resolve(**change)
    other = TextClassifier(**change).fit(TEXTS, LABELS)
    with refused(*change):
        _ = model + other


@pytest.mark.parametrize("change", [{"min_documents": 1000}, {"stop_words": ["aa", "bb"]}], ids=str)
def test_resolving_leaves_some_words(change: dict[str, Any]) -> None:
    texts, y = ["aa", "bb aa"], [0, 1]
    with refused("empty vocabulary"):
        TextClassifier(**change).fit(texts, y)
    with refused("empty vocabulary"):
        TextClassifier().fit(texts, y).resolve(**change)


# Other tokens


def letters(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text)


TOKENS = {
    "pattern": {"token_pattern": r"\w+"},
    "group": {"token_pattern": r"(\w)\w*"},
    "spaces": {"token_pattern": r"[^ ]+"},
    "pairs": {"token_pattern": r"\b\w+\b", "ngrams": (1, 2)},
    "as it is": {"token_pattern": r"[A-Z]\w+", "lowercase": False},
    "the default": {"token_pattern": r"(?u)\b\w\w+\b"},
    "function": {"tokenizer": str.split},
    "own function": {"tokenizer": letters, "ngrams": (2, 3)},
    "characters": {"tokenizer": list, "lowercase": False},
    "ngrams": {"ngrams": (1, 2)},
    "more": {"ngrams": (2, 4), "lowercase": False},
    "char_wb": {"analyzer": "char_wb", "ngrams": (2, 3)},
}


@pytest.mark.parametrize("options", TOKENS.values(), ids=TOKENS)
@event_models
def test_other_tokens(options: dict[str, Any], event_model: str) -> None:
    theirs = {**options, "ngram_range": options.get("ngrams", (1, 1))}
    theirs.pop("ngrams", None)
    if "tokenizer" in theirs:
        theirs["token_pattern"] = None
    X, Z, words = counts(TEXTS, **theirs)
    if event_model == "boolean":
        X, Z = (X > 0).astype(int), (Z > 0).astype(int)
    priors = [1 / 3] * 3 if event_model == "complement" else None
    model = TextClassifier(event_model, priors=priors, **options).fit(TEXTS, LABELS)
    assert words_of(model) == words
    other = plain(event_model).fit(X, LABELS)
    assert_allclose(model.predict_proba(NEW), other.predict_proba(Z), atol=1e-10)


@pytest.mark.parametrize(
    "options", [{"token_pattern": "[a-z]*"}, {"tokenizer": lambda t: t.split(" ")}]
)
def test_the_empty_token_is_left_out(options: dict[str, Any]) -> None:
    texts = ["one  two", "two, one"]
    theirs = CountVectorizer(**{"token_pattern": None, **options}).fit(texts)
    model = TextClassifier(**options).fit(texts, [0, 1])
    assert words_of(model) == theirs.get_feature_names_out().tolist()[1:]


def test_the_pattern_of_scikit_learn_is_the_default() -> None:
    plain, pattern = (TextClassifier(token_pattern=p) for p in (None, r"(?u)\b\w\w+\b"))
    assert_same(plain.fit(TEXTS, LABELS), pattern.fit(TEXTS, LABELS))
    assert_same(plain + pattern, plain + plain)


def test_a_pattern_is_saved(tmp_path: Path) -> None:
    model = TextClassifier(token_pattern=r"(\w)\w*", ngrams=(1, 2)).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    assert_same(load(tmp_path / "model"), model)


# Looking inside


@pytest.mark.parametrize("options", [{}, {"ngrams": (1, 2)}, {"max_features": 9}, {"alpha": 0}])
@event_models
def test_explanations_add_up(event_model: str, options: dict[str, Any]) -> None:
    model = TextClassifier(event_model, **options).fit(TEXTS, LABELS)
    explanation = model.explain(TEXTS[:20])
    assert_allclose(explanation.joint, model.predict_joint_log_proba(TEXTS[:20]), atol=1e-9)
    assert set(explanation.features) <= set(words_of(model))
    assert explanation.contributions.shape == (20, len(explanation.features), 3)
    used = np.isin(words_of(model), explanation.features)
    assert_array_equal(explanation.values, model.vectorize(TEXTS[:20]).toarray()[:, used])


def test_an_explanation_names_the_words() -> None:
    model = TextClassifier().fit(SMALL, SMALL_LABELS)
    text = "CASH and cash, unheard-of lunch"
    explanation = model.explain(text)
    assert explanation.features == ["cash", "lunch"]
    assert explanation.unknown == [["and", "of", "unheard"]]
    assert "cash ×2" in str(explanation)
    assert "not known: and, of, unheard" in str(explanation)
    assert str(model.explain([text])) == str(explanation)
    assert repr(explanation) == "TextExplanation(texts=1, words=2, classes=2)"
    assert model.explain("").contributions.shape == (1, 0, 2)
    assert model.explain(["", "zz"]).unknown == [[], ["zz"]]
    with refused("eggs"):
        explanation.describe(label="eggs")


def test_a_word_that_was_counted_is_known_though_it_is_not_used() -> None:
    model = TextClassifier(stop_words=["cash"], ngrams=(1, 2)).fit(SMALL, SMALL_LABELS)
    explanation = model.explain("cash prize okapi")
    assert explanation.features == ["prize"]
    assert explanation.unknown == [["okapi"]]  # and not that it stood behind the prize


@event_models
def test_top_words_are_those_of_the_class(event_model: str) -> None:
    texts = ["cash prize", "cash win", "lunch noon", "lunch win", "goal"]
    model = TextClassifier(event_model).fit(texts, ["spam", "spam", "ham", "ham", "sport"])
    for label, word in ("spam", "cash"), ("ham", "lunch"), ("sport", "goal"):
        (first, odds), *_ = model.top_words(label)
        assert first == word
        assert odds > 0
    assert len(model.top_words("spam", 2)) == 2
    assert model.top_words("spam", 0) == []
    assert sorted(w for w, _ in model.top_words("spam", 99)) == words_of(model)
    with refused("eggs", "not one of the classes"):
        model.top_words("eggs")


def test_the_log_odds_of_top_words_are_those_of_the_logistic_form() -> None:
    model = TextClassifier().fit(SMALL, SMALL_LABELS)
    (theta,) = model.coef_
    for word, odds in model.top_words("spam", 99):
        assert_allclose(odds, theta[model.vocabulary_[word]], atol=1e-12)


def test_what_a_word_tells_is_against_the_other_classes_by_their_shares() -> None:
    texts = ["cash prize now", "cash cash", "lunch now", "noon lunch", "at noon", "cash lunch goal"]
    model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham", "ham", "news"])
    counts = model.word_count_ + 1.0
    ham, news, spam = np.log(counts / counts.sum(axis=1, keepdims=True))
    expected = dict(zip(model.vocabulary_, spam - (0.75 * ham + 0.25 * news), strict=True))
    told = dict(model.top_words("spam", n=99))
    assert told.keys() == expected.keys()
    assert_allclose([told[word] for word in expected], list(expected.values()))
    assert next(iter(told)) == "cash"


@pytest.mark.parametrize("options", [{}, {"ngrams": (1, 2)}, {"analyzer": "char_wb"}], ids=str)
def test_vectors_are_those_of_scikit_learn(options: dict[str, Any]) -> None:
    model = TextClassifier(**options).fit(TEXTS, LABELS)
    options = {**options, "ngram_range": options.get("ngrams", (1, 1))}
    options.pop("ngrams", None)
    _, Z, words = counts(TEXTS, **options)
    V = model.vectorize(NEW)
    assert sp.issparse(V)
    assert V.format == "csr"
    assert V.dtype == np.int64
    assert V.has_sorted_indices
    assert_array_equal(V.toarray(), Z.toarray())
    assert model.vocabulary_ == {word: i for i, word in enumerate(words)}
    other = MultinomialNB().fit(model.vectorize(TEXTS), LABELS)
    assert_allclose(other.predict_proba(V), model.predict_proba(NEW), atol=1e-12)


def test_the_density_of_a_text() -> None:
    for event_model in EVENT_MODELS:
        model = TextClassifier(event_model).fit(TEXTS, LABELS)
        dense = model.resolve(event_model="multinomial") if event_model == "complement" else model
        expected = logsumexp(dense.predict_joint_log_proba(NEW), axis=1)
        assert_allclose(model.log_density(NEW), expected, atol=1e-9)


@event_models
def test_samples_are_texts(event_model: str) -> None:
    model = TextClassifier(event_model).fit(TEXTS, LABELS)
    texts, y = model.sample(30, random_state=0)
    assert texts.shape == y.shape == (30,)
    assert all(isinstance(text, str) for text in texts)
    assert set(" ".join(texts).split()) <= set(words_of(model))
    assert set(y) <= set(LABELS)
    again, labels = model.sample(30, random_state=0)
    assert_array_equal(texts, again)
    assert_array_equal(y, labels)
    assert set(model.sample(5, y="spam", random_state=0)[1]) == {"spam"}
    assert model.sample(0)[0].shape == (0,)
    assert (model.predict(texts) == y).mean() > 0.5


# Learning and forgetting


def test_with_its_last_document_a_word_goes() -> None:
    model = TextClassifier().fit([*SMALL, "okapi at noon", "okapi"], [*SMALL_LABELS, "ham", "ham"])
    model.forget(["okapi at noon"], ["ham"])
    assert "okapi" in model.vocabulary_
    model.forget(["okapi"], ["ham"])
    assert "okapi" not in model.vocabulary_
    assert_same(model, TextClassifier().fit(SMALL, SMALL_LABELS))
    assert model.explain("okapi").unknown == [["okapi"]]


def test_merging_does_not_bring_a_word_back() -> None:
    small = TextClassifier().fit(SMALL, SMALL_LABELS)
    more = TextClassifier().fit(["okapi at noon", "zebra"], ["ham", "spam"])
    both = small + more
    assert {"okapi", "zebra"} <= both.vocabulary_.keys()
    assert_same(both - more, small)
    both.forget(["okapi at noon", "zebra"], ["ham", "spam"])
    assert_same(both, small)
    assert "okapi" not in (both + small).vocabulary_


def test_what_is_left_out_is_still_counted() -> None:
    one = TextClassifier(min_documents=2).fit(["aa bb", "bb cc"], [0, 1])
    two = TextClassifier(min_documents=2).partial_fit(["aa bb", "dd"], [0, 1])
    assert words_of(two) == []
    assert words_of(one) == ["bb"]
    assert words_of(one + two) == ["aa", "bb"]
    assert words_of(one.partial_fit(["cc"], [1])) == ["bb", "cc"]


@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
def test_threads_make_no_difference(weights: str | None) -> None:
    texts, y = generated(2000, 3)
    rng = np.random.default_rng(0)
    weight = {"whole": rng.integers(0, 3, 2000), "fractions": rng.random(2000)}.get(weights or "")
    one, two = (TextClassifier(threads=n).fit(texts, y, sample_weight=weight) for n in (1, 2))
    assert_same(one, two)
    assert_array_equal(one.predict_joint_log_proba(texts), two.predict_joint_log_proba(texts))
    assert (one.vectorize(texts) != two.vectorize(texts)).nnz == 0


# The surface of scikit-learn


def test_copies_are_equal_and_apart() -> None:
    model = TextClassifier("bernoulli", ngrams=(1, 2), tokenizer=str.split).fit(TEXTS, LABELS)
    for other in copy.deepcopy(model), pickle.loads(pickle.dumps(model)):
        assert_same(other, model)
        other.partial_fit(["okapi of its own"], ["ham"])
        assert "own" not in model.vocabulary_
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "classes_")
    assert not hasattr(fresh, "vocabulary_")


def test_parameters_that_are_set_act_when_it_is_fitted() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    before = model.predict_proba(NEW)
    model.set_params(event_model="boolean", max_features=3)
    assert_array_equal(model.predict_proba(NEW), before)
    model.fit(TEXTS, LABELS)
    assert len(words_of(model)) == 3


def test_a_parameter_of_tokens_that_is_set_acts_when_it_is_fitted() -> None:
    model = TextClassifier().fit(TEXTS, LABELS)
    before = model.predict_proba(NEW), model.vectorize(NEW).toarray(), model.explain(NEW).joint
    model.set_params(lowercase=False, ngrams=(2, 2))
    for now, then in zip(
        (model.predict_proba(NEW), model.vectorize(NEW).toarray(), model.explain(NEW).joint),
        before,
        strict=True,
    ):
        assert_array_equal(now, then)


def test_a_grid_search() -> None:
    grid = {"event_model": EVENT_MODELS, "alpha": [0.1, 1.0], "ngrams": [(1, 1), (1, 2)]}
    search = GridSearchCV(TextClassifier(), grid, cv=3).fit(TEXTS, LABELS)
    assert search.best_score_ > 0.5
    assert len(search.predict(NEW)) == len(NEW)
    for texts in np.array(TEXTS), pd.Series(TEXTS), pl.Series(TEXTS):
        scores = cross_val_score(TextClassifier(), texts, LABELS, cv=3)
        assert_array_equal(scores, cross_val_score(TextClassifier(), TEXTS, LABELS, cv=3))


def test_a_pipeline() -> None:
    upper = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = make_pipeline(upper, TextClassifier()).fit(TEXTS, LABELS)
    model = TextClassifier().fit([text.upper() for text in TEXTS], LABELS)
    assert_array_equal(pipeline.predict(TEXTS), model.predict([t.upper() for t in TEXTS]))
    named = Pipeline([("text", TextClassifier())]).set_params(text__alpha=0.1).fit(TEXTS, LABELS)
    assert named.score(TEXTS, LABELS) > 0.5


COMMAS = r"[^,]+"
PLACES = [
    "new york,big apple",
    "big apple,statue",
    "los angeles,hollywood",
    "hollywood,sunset strip",
]


@pytest.mark.parametrize("event_model", ["multinomial", "auto"])
def test_a_token_of_ones_own_may_hold_spaces(event_model: str) -> None:
    model = TextClassifier(event_model, token_pattern=COMMAS).fit(PLACES, ["e", "e", "w", "w"])
    words = ["big apple", "hollywood", "los angeles", "new york", "statue", "sunset strip"]
    assert list(model.resolve(event_model="multinomial").vocabulary_) == words
    assert list(model.explain("new york,san jose,rome").unknown[0]) == ["rome", "san jose"]
    stopped = TextClassifier(token_pattern=COMMAS, stop_words=["new"]).fit(PLACES, [0, 0, 1, 1])
    assert list(stopped.vocabulary_) == words


def test_stop_words_that_no_text_can_hold_are_named() -> None:
    texts, y = ["The cash", "the lunch"], [0, 1]
    with pytest.warns(UserWarning, match="'The' has no effect"):
        TextClassifier(stop_words=["The"]).fit(texts, y)
    kept = TextClassifier(stop_words=["The"], lowercase=False).fit(texts, y).vocabulary_
    assert list(kept) == ["cash", "lunch", "the"]


def test_lambdas_that_do_different_things_do_not_merge() -> None:
    texts, y = ["aa bb", "cc"], [0, 1]
    words = TextClassifier(tokenizer=lambda text: text.split()).fit(texts, y)
    letters = TextClassifier(tokenizer=lambda text: list(text)).fit(texts, y)
    again = TextClassifier(tokenizer=lambda text: text.split()).fit(texts, y)
    assert (words + again).word_count_.sum() == 6
    with pytest.raises(ValueError, match="tokenizer"):
        words + letters


def test_words_that_no_class_has_tell_nothing() -> None:
    model = TextClassifier(alpha=0).fit(["aa bb", "bb cc", "cc dd"], [0, 1, 2])
    assert ("dd", 0.0) in model.top_words(0)


def test_rounds_are_saved(tmp_path: Path) -> None:
    texts, y = ["aa bb", "cc dd", "aa cc", "dd"], [0, 1, None, None]
    model = TextClassifier(unlabeled=0.5).fit(texts, y)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").n_iter_ == model.n_iter_


# Buckets


def test_words_in_buckets_are_bounded_and_known_again() -> None:
    rng = np.random.default_rng(5)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 50_000, 20)) for _ in range(500)]
    y = rng.integers(0, 2, 500)
    model = TextClassifier(buckets=1 << 10).fit(texts, y)
    words = model.get_feature_names_out()
    assert len(words) <= 1 << 10
    assert all(re.fullmatch("#[0-9a-f]{3}", word) for word in words)
    assert model.word_count_.sum() == 500 * 20
    loaded = genus.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    with pytest.raises(ValueError, match="count differently"):
        model + TextClassifier().fit(texts, y)
    for buckets, words_of_error in ((1000, "1024"), (3000, "power of two"), (0, "1024")):
        with pytest.raises(ValueError, match=words_of_error):
            TextClassifier(buckets=buckets).fit(texts, y)
    with pytest.raises(ValueError, match="stop_words"):
        TextClassifier(buckets=1 << 10, stop_words=["w1"]).fit(texts, y)


# A closed vocabulary


DAYS = [f"{'rain' if i % 3 else 'sun'} wind day{i % 30}" for i in range(70)]
WEATHER = ["dry" if i % 3 == 0 else "wet" for i in range(70)]


@pytest.mark.parametrize("event_model", ["multinomial", "bernoulli", "auto"])
@pytest.mark.parametrize("options", [{"min_documents": 3}, {"max_features": 8}])
def test_words_that_are_not_used_need_not_be_kept(event_model: str, options: Any) -> None:
    whole = TextClassifier(event_model, **options).fit(DAYS, WEATHER)
    model = TextClassifier(event_model, **options, keep_unused=False).fit(DAYS, WEATHER)
    assert model._tally.width < whole._tally.width
    if event_model != "auto" or "min_documents" in options:  # else folds have other words to use
        assert_allclose(model.predict_proba(DAYS), whole.predict_proba(DAYS))
    assert whole.drop_unused().vocabulary_ == model.vocabulary_
    again = from_bytes(model.to_bytes()).partial_fit(["unheard of rain"], ["wet"])
    assert again.vocabulary_ == model.vocabulary_
    again.forget(["unheard of rain"], ["wet"])
    assert_allclose(again.predict_proba(DAYS), model.predict_proba(DAYS))
    again.forget(DAYS, WEATHER)  # nothing is left, and the vocabulary is open again
    assert again.partial_fit(["snow"] * 3, ["dry"] * 3).vocabulary_ == {"snow": 0}


def test_parts_of_a_closed_vocabulary_add_up() -> None:
    plan = TextClassifier(min_documents=3, keep_unused=False).fit(DAYS, WEATHER)
    texts = TextClassifier(min_documents=3)
    parts = [clone(texts).fit(DAYS[i::4], WEATHER[i::4], like=plan) for i in range(4)]
    for order in ((0, 1, 2, 3), (2, 0, 3, 1)):
        total = sum(parts[i] for i in order)
        assert_allclose(total.predict_proba(DAYS), plan.predict_proba(DAYS))
    other = TextClassifier(max_features=5, keep_unused=False).fit(DAYS, WEATHER)
    with pytest.warns(UserWarning, match="words that only one of them has"):
        both, again = other + plan, plan + other
    assert set(both.vocabulary_) <= set(plan.vocabulary_) & set(other.vocabulary_)
    np.testing.assert_array_equal(both._tally["documents"], again._tally["documents"])
    for same in (plan + 0 * other, 0 * other + plan):
        assert list(same._tally.keys[0]) == list(plan._tally.keys[0])
    strange = TextClassifier(min_documents=2, keep_unused=False)
    strange.fit(["ice fog", "ice fog", "ice", "ice"], ["wet", "dry", "wet", "dry"])
    with pytest.raises(ValueError, match="no word in common"):
        _ = plan + strange
    opened = plan + TextClassifier().fit(["rain unheard of", "sun"], ["wet", "dry"])
    assert opened.class_count_.sum() == 72
    assert "unheard" not in opened.vocabulary_


def test_words_of_either_closed_vocabulary_are_left_out() -> None:
    texts = TextClassifier(min_documents=2, keep_unused=False)
    y = ["wet", "dry", "wet", "dry"]
    one = clone(texts).fit(["rain wind", "rain wind", "sun fog", "sun fog"], y)  # 4 words
    two = clone(texts).fit(["rain ice", "rain ice", "snow", "snow"], y)  # 3 words, 1 in common
    with pytest.warns(UserWarning, match=r"only one of them has \(5 in all\)"):
        assert (one + two).vocabulary_ == {"rain": 0}


def test_nothing_to_drop_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"none of these options is set\. Set one of them"):
        TextClassifier(keep_unused=False).fit(DAYS, WEATHER)
    some = TextClassifier(min_documents=2, keep_unused=False)
    with pytest.raises(ValueError, match=r"call drop_unused\(\) on the model of all texts"):
        some.partial_fit(DAYS, WEATHER)
    with pytest.raises(ValueError, match="with like= more texts may follow"):
        some.fit(DAYS, WEATHER, like=TextClassifier().fit(DAYS, WEATHER))
    with pytest.raises(ValueError, match="keep_unused"):
        TextClassifier(keep_unused="no", min_documents=2).fit(DAYS, WEATHER)
