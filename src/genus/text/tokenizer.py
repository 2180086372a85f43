"""Find and count the tokens of texts, in the kernel.

By default tokens are exactly those of scikit-learn's CountVectorizer: runs of two or more word
characters of the text in lower case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import count_texts, encode_known, encode_texts, hash_texts, score_texts
from genus.arrays import matrix
from genus.arrays.matrix import Codes
from genus.arrays.vocabulary import Hashes, Vocabulary, encode
from genus.text.alphabet import alphabet
from genus.text.documents import Documents
from genus.text.sources import SHOWN, Chunk, NoText, Texts

Array = NDArray[np.float64]
DEFAULT_PATTERN = r"(?u)\b\w\w+\b"  # the tokens that the kernel finds itself
NO_TEXT = -2
How = tuple[NDArray[np.uint32], bool, bool, int, int, int]
TEXTS_AT_A_TIME = 1024  # for a tokenizer in Python


@dataclass(frozen=True)
class Tokenizer:
    """How texts are split into tokens.

    `analyzer` is "word", or "char_wb" for n-grams of the characters of words. `ngrams` are the
    smallest and the largest n. A `token_pattern`, or a function `split` that returns the tokens of
    a text, replaces the kernel's own tokens. With `bits`, tokens are hashed into 2^bits buckets:
    this bounds memory, but the words can no longer be shown.
    """

    analyzer: str = "word"
    ngrams: tuple[int, int] = (1, 1)
    lowercase: bool = True
    token_pattern: str | None = None
    split: Callable[[str], Any] | None = None
    threads: int | None = None
    bits: int = 0

    @property
    def counting(self) -> dict[str, Any]:
        """The options that decide which tokens are counted."""
        name = None if self.split is None else function_name(self.split)
        options = {
            "analyzer": self.analyzer,
            "ngrams": list(self.ngrams),
            "lowercase": self.lowercase,
            "token_pattern": self.token_pattern,
            "tokenizer": name,
        }
        return options | ({"bits": self.bits} if self.bits else {})

    @property
    def is_own(self) -> bool:
        """Whether a pattern or a function finds the tokens, instead of the kernel."""
        return self.split is not None or self.token_pattern not in (None, DEFAULT_PATTERN)

    @property
    def joins(self) -> bool:
        """Whether tokens with a space are runs of several words."""
        return self.analyzer == "word" and self.ngrams[1] > 1

    def count(
        self, texts: Texts, y: Codes, weight: Array | None, n_classes: int
    ) -> tuple[Vocabulary, Array, Array]:
        """Return the words, and by class their occurrences and the documents with them, (K, V).

        The first word is the empty word. It is in every document but has no occurrences, so it
        counts all documents.
        """
        # Sums of whole numbers do not depend on the order; other sums need a single thread.
        whole = weight is None or bool((weight == np.floor(weight)).all())
        words, occurrences, documents, problem = count_texts(
            *self._input(texts), y, weight, n_classes, self._threads if whole else 1
        )
        refuse(problem, texts)
        return Vocabulary(*words), occurrences, documents

    def encode(self, texts: Texts) -> Documents:
        """Return each text as counts of its words, with the vocabulary of all texts."""
        words, starts, indices, counts, problem = encode_texts(*self._input(texts), self._threads)
        refuse(problem, texts)
        return Documents.of(Vocabulary(*words), starts, indices, counts)

    def hashes(self, texts: Texts | Documents) -> Hashes:
        """Return a hash of each text, (m,): the sum of the hashes of its tokens."""
        if isinstance(texts, Documents):
            return texts.hashes
        found, problem = hash_texts(*self._input(texts), self._threads)
        refuse(problem, texts)
        return found

    def encode_known(self, texts: Texts, words: Vocabulary) -> Documents:
        """Return each text as counts of its known words."""
        _, starts, indices, counts, problem = encode_known(
            *self._input(texts), words.index, self._threads
        )
        refuse(problem, texts)
        return Documents.of(words, starts, indices, counts)

    def score(
        self, texts: Texts, words: Vocabulary, table: Array, weighting: str, power: float
    ) -> Array:
        """Return Σ x_v table_v / (Σ x_v)^power, (m, K), over the known words v of each text."""
        scores, problem = score_texts(
            *self._input(texts), words.index, table, weighting, power, self._threads
        )
        refuse(problem, texts)
        return scores

    @property
    def _threads(self) -> int:
        return matrix.threads() if self.threads is None else self.threads

    def _input(self, texts: Texts) -> tuple[list[Chunk], How]:
        chunks = list(self._tokens(texts)) if self.is_own else list(texts.chunks)
        characters = self.analyzer == "char_wb"
        how = alphabet(self.lowercase), self.lowercase, characters, *self.ngrams, self.bits
        return chunks, how

    def _tokens(self, texts: Texts) -> Iterator[Chunk]:
        """Yield the tokens that a pattern or a function finds, some texts at a time."""
        split = self.split or pattern_tokens(self.token_pattern or DEFAULT_PATTERN)
        strings = decoded(texts)
        row = 0
        while some := list(islice(strings, TEXTS_AT_A_TIME)):
            content, rows = bytearray(), [0]
            ends: list[int] = []
            for text in some:
                tokens = split(text.lower() if self.lowercase else text)
                for token in checked(tokens, row):
                    content += token
                    ends.append(len(content))
                rows.append(len(ends))
                row += 1
            yield (
                "tokens",
                np.frombuffer(bytes(content), dtype=np.uint8),
                np.array(ends, dtype=np.int64),
                np.array(rows, dtype=np.int64),
            )


def decoded(texts: Texts) -> Iterator[str]:
    """Yield the texts as strings; raise an error for an invalid text."""
    strings, row = texts.strings(), 0
    while True:
        try:
            yield next(strings)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            refuse((row, error.start), texts)
        row += 1


def checked(tokens: Any, row: int) -> Iterator[bytes]:
    """Yield tokens as UTF-8; raise an error unless they are a list of strings."""
    if isinstance(tokens, str):
        raise ValueError(
            f"The tokenizer returned one text for row {row}, {tokens[:SHOWN]!r}. It must return a "
            "list of tokens."
        )
    try:
        found = iter(tokens)
    except TypeError:
        raise ValueError(
            f"The tokenizer returned {type(tokens).__name__} for row {row}. It must return a list "
            "of tokens."
        ) from None
    for token in found:
        if not isinstance(token, str):
            raise ValueError(
                f"The tokenizer found {token!r} in row {row}, which is not text. Tokens must be "
                "strings."
            )
        if token:  # every document holds the empty word
            yield encode(token)


def pattern_tokens(pattern: str) -> Callable[[str], list[str]]:
    """Return a function that finds all matches of a pattern, or of the one group in it."""
    return re.compile(pattern).findall


def function_name(function: Callable[..., Any]) -> str:
    """Return a function's module and name, and for a lambda also a digest of its code."""
    named = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    if code is not None and "<" in named:  # a lambda is identified by its code
        content = repr((code.co_code, code.co_names, code.co_varnames)) + constants(code)
        named += f" {hashlib.blake2b(content.encode(), digest_size=6).hexdigest()}"
    return f"{getattr(function, '__module__', '')}.{named}"


def constants(code: Any) -> str:
    """Return the constants of a function's code, without their addresses in memory."""
    inner = (constants(c) if hasattr(c, "co_consts") else repr(c) for c in code.co_consts)
    return f"({', '.join(inner)})"


def refuse(problem: tuple[int, int], texts: Texts) -> None:
    """Raise an error if the kernel found a `problem`: a row, and a place in its text."""
    row, place = problem
    if row < 0:
        return
    if place == NO_TEXT:
        raise NoText(row, None)
    chunk = texts[row : row + 1].chunks[0]
    try:
        next(iter(texts[row : row + 1].strings()))
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        raise ValueError(
            f"Row {row} is not UTF-8: byte {error.start} is {bad:#04x}. Decode the texts with "
            "the encoding that they are in, for instance text.decode('latin-1')."
        ) from None
    raise AssertionError(f"text {row} of {chunk[0]} has a problem at {place}")
