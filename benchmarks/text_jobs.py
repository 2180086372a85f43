"""What is measured of texts: from strings to a model, and back to probabilities.

X is a `Corpus`; every side brings it into the form that it is made for before the clock starts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.bare import count_words
from benchmarks.corpus import FOLDER, Corpus
from benchmarks.data import Data
from benchmarks.jobs import Call, Estimator, Job, Side

CORPUS = Data("texts", 300_000, 200_000, 2)
PART = Data("texts", 50_000, 200_000, 2)
MOST_MEMORY = 100_000_000
MESSAGE = "Free entry in 2 a wkly comp to win FA Cup final tkts, text FA to 87121 to receive entry"
CALLS = 1000


def list_of(corpus: Corpus) -> list[str]:
    return corpus.strings()


def arrow_of(corpus: Corpus) -> Any:
    return corpus.arrow()


# What is timed


def fit(make: Callable[[], Any], column: Callable[[Corpus], Any], X: Corpus, y: Any) -> Call:
    texts = column(X)
    return lambda: make().fit(texts, y)


def predict_proba(
    make: Callable[[], Any], column: Callable[[Corpus], Any], X: Corpus, y: Any
) -> Call:
    texts = column(X)
    fitted = make().fit(texts, y)
    fitted.predict_proba(texts[:1])
    return lambda: fitted.predict_proba(texts)


def one_by_one(make: Callable[[], Any], text: str, X: Corpus, y: Any) -> Call:
    """A short message, CALLS times."""
    fitted = make().fit(X.strings(), y)
    message = [text]
    fitted.predict_proba(message)

    def call() -> None:
        for _ in range(CALLS):
            fitted.predict_proba(message)

    return call


def vectorizer_and_bayes(vectorizer: str) -> Any:
    from sklearn import feature_extraction, naive_bayes, pipeline

    make = getattr(feature_extraction.text, vectorizer)
    options = {"alternate_sign": False} if vectorizer == "HashingVectorizer" else {}
    return pipeline.make_pipeline(make(**options), naive_bayes.MultinomialNB())


def river_fit(X: Corpus, y: Any) -> Call:
    from river import compose, feature_extraction, naive_bayes

    texts, labels = X.strings(), y.tolist()

    def call() -> None:
        model = compose.Pipeline(feature_extraction.BagOfWords(), naive_bayes.MultinomialNB())
        for text, label in zip(texts, labels, strict=True):
            model.learn_one(text, label)

    return call


def polars_count(X: Corpus, y: Any) -> Call:
    import polars

    frame = polars.DataFrame({"text": polars.Series(X.arrow()), "y": y})
    tokens = polars.col("text").str.to_lowercase().str.extract_all(r"\b\w\w+\b")

    def call() -> Any:
        words = frame.lazy().select("y", tokens.alias("word")).explode("word")
        return words.group_by("y", "word").len().collect()

    return call


def duckdb_count(tokens: str, X: Corpus, y: Any) -> Call:
    import duckdb
    import pyarrow

    texts = pyarrow.table({"text": X.arrow(), "y": y})
    connection = duckdb.connect()
    connection.register("arrow", texts)
    connection.sql("create table texts as select * from arrow")
    query = f"""
        select y, word, count(*) as occurrences
        from (select y, unnest({tokens}) as word from texts)
        where length(word) > 1 group by y, word
    """
    return lambda: connection.sql(query).arrow()


def fasttext_fit(X: Corpus, y: Any) -> Call:
    import fasttext

    path = FOLDER / f"fasttext-{len(X)}.txt"
    if not path.exists():
        lines = (f"__label__{k} {text}\n" for k, text in zip(y, X.strings(), strict=True))
        path.write_text("".join(lines), encoding="utf-8")

    def call() -> None:
        fasttext.train_supervised(input=str(path), verbose=0)

    return call


def bare(X: Corpus, y: Any) -> Call:
    return count_words(X)


def many_settings(X: Corpus, y: Any) -> Call:
    from genus import TextClassifier, tune

    texts = X.arrow()
    settings = {
        "event_model": ["multinomial", "boolean", "bernoulli", "complement"],
        "alpha": [3, 1, 0.3, 0.1, 0.03, 0.01],
        "min_documents": [1, 2],
    }
    return lambda: tune(TextClassifier(), texts, y, settings)


# The jobs

TextClassifier = Estimator("genus.TextClassifier")


def genus(
    label: str, action: Callable[..., Call], column: Callable[[Corpus], Any], **options: Any
) -> Side:
    return Side(label, "genus", partial(action, TextClassifier, column), **options)


def sklearn(vectorizer: str, action: Callable[..., Call], at_least: float | None = None) -> Side:
    make = partial(vectorizer_and_bayes, vectorizer)
    label = f"{vectorizer} + MultinomialNB"
    return Side(label, "scikit-learn", partial(action, make, list_of), at_least)


def texts() -> list[Job]:
    split = "string_split(translate(lower(text), '.,', '  '), ' ')"
    regex = r"regexp_extract_all(lower(text), '\w\w+')"
    from_arrow = (
        genus("TextClassifier(), Arrow", fit, arrow_of),
        sklearn("CountVectorizer", fit, 40),
        sklearn("HashingVectorizer", fit),
        Side("lower, extract_all, group_by", "polars", polars_count, 3),
        Side("lower, regexp_extract_all, group by", "duckdb", partial(duckdb_count, regex), 3),
        Side("lower, string_split, group by", "duckdb", partial(duckdb_count, split), 3),
        Side("BagOfWords | MultinomialNB", "river", river_fit, rows=5000),
        Side("train_supervised, from a file", "fasttext-wheel", fasttext_fit),
        Side("the loop of bare.cpp, ASCII only", "g++", bare, 1 / 1.5),
    )
    from_list = (
        genus("TextClassifier(), list of str", fit, list_of),
        sklearn("CountVectorizer", fit, 20),
    )
    predicted = (
        genus("TextClassifier(), list of str", predict_proba, list_of),
        sklearn("CountVectorizer", predict_proba, 20),
    )
    make_sklearn = partial(vectorizer_and_bayes, "CountVectorizer")
    message = (
        Side("a short message", "genus", partial(one_by_one, TextClassifier, MESSAGE)),
        Side("an empty text", "genus", partial(one_by_one, TextClassifier, "")),
        Side("a short message", "scikit-learn", partial(one_by_one, make_sklearn, MESSAGE)),
    )
    tuned = (
        Side("tune(), 48 settings in 10 folds", "genus", many_settings),
        genus("one fit", fit, arrow_of),
    )
    small = Data("texts", 5000, 20_000, 2)
    return [
        Job("text-fit-arrow", "text", "fit", CORPUS, from_arrow, most=MOST_MEMORY),
        Job("text-fit-list", "text", "fit", CORPUS, from_list, most=MOST_MEMORY),
        Job("text-predict-proba", "text", "predict_proba", PART, predicted),
        Job("text-message", "text", f"{CALLS:,} times predict_proba of one text", small, message),
        Job("text-tune", "text", "tune", PART, tuned),
    ]
