"""Hash words and pairs of words to 32 bits, 4 of which hold the kind of token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from genus._kernel import hash_lines, hash_words

Ids = NDArray[np.uint32]
Kinds = tuple[int, int, int, int, int, int]
KINDS = 16
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


@dataclass(frozen=True)
class WordPlan:
    """The kinds (0 to 15) of words, capitals, marks, pairs and opening words; -1 leaves them out.

    Pairs are pairs of neighbouring words, and the opening is the first `opening_size` words.
    `mixed` is the kind of a token that stands for all words that mix Latin letters with letters of
    other alphabets that look like them.
    """

    word: int
    capitals: int
    mark: int
    pair: int
    opening: int = -1
    opening_size: int = 0
    mixed: int = -1

    def ids(self, text: str) -> Ids:
        """Return the ids of a text's tokens, in order.

        >>> plan = WordPlan(0, 0, 0, 1)
        >>> plan.ids("Free money").tolist() == plan.ids("free MONEY").tolist()[:3]
        False
        """
        return hash_words(in_small_letters(text).encode("utf-8", "replace"), *self.key, False)

    def places(self, text: bytes) -> Ids:
        """Return the id, start and end of each token of a text in UTF-8, (n, 3)."""
        return hash_words(text, *self.key, True)

    @cached_property
    def key(self) -> tuple[Kinds, int]:
        """The plan in the form that the kernel expects."""
        kinds = self.word, self.capitals, self.mark, self.pair, self.opening, self.mixed
        return kinds, self.opening_size


def in_small_letters(text: str) -> str:
    """Return text with letters beyond ASCII in lower case; the kernel handles the case of ASCII.

    >>> in_small_letters("Grüße aus KÖLN")
    'Grüße aus KöLN'
    """
    if text.isascii():
        return text
    return BEYOND_ASCII.sub(lambda found: found.group().lower(), text)


def ids_of(tokens: Sequence[str]) -> Ids:
    """Return the ids of tokens that begin with a letter for their kind: A for 0, B for 1 …

    >>> [id % KINDS for id in ids_of(["Ahello", "Bhello"]).tolist()]
    [0, 1]
    """
    return hash_lines("\n".join(tokens).encode("utf-8", "replace"))
