"""Check the options of text classifiers: n-grams, patterns, stop words, missing labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels
from genus.arrays.options import warn, whole
from genus.text import DEFAULT_PATTERN
from genus.text.sources import listed, single_column

LONGEST_NGRAM = 32


def listed_labels(y: Any) -> list[Any]:
    """Return labels as a list, from any kind of column; masked labels become None."""
    if hasattr(y, "num_columns") or hasattr(y, "dtypes"):
        y = single_column(y)
    if hasattr(y, "ndim") and hasattr(y, "reshape") and y.ndim == 2 and y.shape[1] == 1:
        y = y.reshape(-1)
    if not isinstance(y, Iterable) or getattr(y, "ndim", 1) != 1:
        raise ValueError(f"y must be a 1d list of labels, one for each text; got {str(y)[:60]}.")
    return list(listed(y))


def missing_labels(y: Any) -> NDArray[np.bool_]:
    """Return which labels are None or NaN, (m,)."""
    return np.array([labels.is_missing(label) for label in listed_labels(y)], dtype=bool)


def check_ngrams(ngrams: Any) -> tuple[int, int]:
    """Return the smallest and the largest n, both at least 1; raise an error if invalid."""
    try:
        least, largest = ngrams
    except (TypeError, ValueError):
        raise ValueError(f"ngrams must be a pair such as (1, 2); got {ngrams!r}.") from None
    least = whole("the first of ngrams", least, least=1, most=LONGEST_NGRAM)
    largest = whole("the second of ngrams", largest, least=1, most=LONGEST_NGRAM)
    if least > largest:
        raise ValueError(f"The first of ngrams must not be above the second; got {ngrams!r}.")
    return least, largest


def check_buckets(buckets: Any) -> int:
    """Return the base-2 logarithm of the number of buckets; 0 if words are not hashed."""
    if buckets is None:
        return 0
    size = whole("buckets", buckets, least=1 << 10, most=1 << 30)
    if size & (size - 1):
        raise ValueError(
            f"buckets must be a power of two, such as 2**20, or None; got {buckets!r}."
        )
    return size.bit_length() - 1


def check_pattern(pattern: Any) -> str | None:
    """Return the pattern of tokens, or None for the default; raise if it is not valid."""
    if pattern is None or pattern == DEFAULT_PATTERN:
        return None
    try:
        groups = re.compile(pattern).groups
    except (re.error, TypeError) as error:
        raise ValueError(
            f"token_pattern must be a regular expression; got {pattern!r}: {error}."
        ) from None
    if not isinstance(pattern, str):
        raise ValueError(f"token_pattern must be a regular expression, as text; got {pattern!r}.")
    if groups > 1:
        raise ValueError(
            f"More than 1 capturing group in token pattern {pattern!r}. Only a single group should "
            "be captured; write (?:...) for the others."
        )
    return pattern


def check_stop_words(stop_words: Any, lowercase: bool = False) -> frozenset[str]:
    """Return the words to leave out; warn about words that lower-cased texts cannot contain."""
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(
                f'stop_words must be "english", a list of words, or None; got {stop_words!r}.'
            )
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return ENGLISH_STOP_WORDS
    listed = isinstance(stop_words, list | tuple | set | frozenset) or hasattr(stop_words, "tolist")
    if not listed or not all(isinstance(word, str) for word in stop_words):
        raise ValueError(
            f'stop_words must be "english", a list of words, or None; got {stop_words!r}.'
        )
    never = [word for word in stop_words if lowercase and word != word.lower()]
    if never:
        warn(
            f"The stop word {never[0]!r} has no effect, because texts are lower-cased. Give it in "
            "lower case, or use lowercase=False."
        )
    return frozenset(stop_words)
