"""Keep many words as one axis: distinct texts, ascending, in one array of UTF-8.

Python needs 50 bytes more for each string, and an array of NumPy needs the size of the longest
string for each. Here a word needs its own bytes and a number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from genus._kernel import hash_vocabulary, index_words, merge_words, take_runs

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words one after the other; word i ends at ends[i]. UTF-8 sorts like Python strings.

    >>> list(Vocabulary.of(["zebra", "okapi", "zebra"]))
    ['okapi', 'zebra']
    """

    text: Bytes = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    ends: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @classmethod
    def of(cls, words: Iterable[str]) -> Vocabulary:
        """Return the vocabulary of some words."""
        encoded = [encode(word) for word in sorted(set(words))]
        ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        content, ends = self.text.tobytes(), self.ends.tolist()
        return (decode(content[start:end]) for start, end in zip([0, *ends], ends, strict=False))

    def __getitem__(self, chosen: Any) -> Vocabulary:
        """Return the words selected by a mask, a slice or ascending positions."""
        starts, ends = self.starts[chosen], self.ends[chosen]
        places = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int64)
        text = np.empty(places[-1], dtype=np.uint8)
        take_runs(self.text, starts, places, text, 1)
        return Vocabulary(text, places[1:])

    @property
    def starts(self) -> Integers:
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)[: len(self)]

    def with_empty(self) -> Vocabulary:
        """Return the vocabulary with the empty word added as the first."""
        return Vocabulary(self.text, np.concatenate([[0], self.ends]))

    @cached_property
    def rest(self) -> Vocabulary:
        """All words except the first; cached, so that `find` recognises the object."""
        return self[1:]

    def word(self, i: int) -> str:
        """Return one word, by its position."""
        start = self.ends[i - 1] if i else 0
        return decode(self.text[start : self.ends[i]].tobytes())

    @cached_property
    def runs(self) -> NDArray[np.bool_]:
        """Whether each entry is a run of several words with spaces between, (V,)."""
        at = np.flatnonzero(self.text == ord(" "))
        found = np.zeros(len(self), dtype=bool)
        found[np.searchsorted(self.ends, at, side="right")] = True
        return found

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each word, (V,), the same on every machine."""
        return hash_vocabulary(self.text, self.ends)

    @cached_property
    def tokens(self) -> NDArray[np.uint32]:
        """32 bits of each hash, (V,); the lowest bit marks runs of words."""
        high = (self.hashes >> np.uint64(32)).astype(np.uint32)
        return (high & ~np.uint32(1)) | self.runs.astype(np.uint32)

    @cached_property
    def digest(self) -> str:
        """A short text that identifies these words."""
        content = hashlib.blake2b(self.text.tobytes(), digest_size=16)
        content.update(self.ends.tobytes())
        return content.hexdigest()

    def is_same(self, other: Vocabulary) -> bool:
        """Return whether both have the same words."""
        return np.array_equal(self.ends, other.ends) and np.array_equal(self.text, other.text)

    def pieces(self, longest: int) -> tuple[NDArray[np.bytes_], Integers]:
        """Split runs into words; return the first bytes of each word, and the run it is in.

        Words are cut after `longest` + 1 bytes, so that words of more than `longest` bytes still
        differ from all shorter words.
        """
        spaces = np.flatnonzero(self.text == ord(" "))
        ends = np.sort(np.concatenate([spaces, self.ends]))
        starts = np.concatenate([[0], ends[:-1] + np.isin(ends[:-1], spaces)])
        run = np.searchsorted(self.ends, ends, side="left")
        at = starts[:, None] + np.arange(longest + 1)
        letters = np.append(self.text, 0)[np.minimum(at, len(self.text))]
        letters = np.where(at < ends[:, None], letters, 0).astype(np.uint8)
        return np.ascontiguousarray(letters).view(f"S{longest + 1}")[:, 0], run

    def merge(self, other: Vocabulary) -> tuple[Vocabulary, Integers, Integers]:
        """Return all words of both, and the positions of each vocabulary's words among them."""
        words, left, right = merge_words(self.text, self.ends, other.text, other.ends)
        return Vocabulary(*words), left, right

    def find(self, other: Vocabulary) -> Integers:
        """Return the positions of these words in another vocabulary; -1 for those not in it."""
        known, places = FOUND.get(self, (None, NOWHERE))
        if known is None or known() is not other:
            both, mine, theirs = self.merge(other)
            place = np.full(len(both), -1)
            place[theirs] = np.arange(len(other))
            places = place[mine]
            FOUND[self] = ref(other), places
        return places

    @cached_property
    def index(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Bytes]:
        """The kernel's index for looking up words: slots by hash, keys, and the text."""
        return *index_words(self.text, self.ends), self.text

    @property
    def is_sound(self) -> bool:
        """Whether the vocabulary is valid: ascending words in UTF-8."""
        last = self.ends[-1] if len(self.ends) else 0
        if last != len(self.text) or (np.diff(self.ends, prepend=0) < 0).any():
            return False
        try:
            words = list(self)
        except UnicodeDecodeError:
            return False
        return all(a < b for a, b in pairwise(words))

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "ends": self.ends}  # the index is computed again


# The last result of `find` for each vocabulary, while both exist: folds and settings repeat calls.
FOUND: WeakKeyDictionary[Vocabulary, tuple[ref[Vocabulary], Integers]] = WeakKeyDictionary()
NOWHERE = np.zeros(0, dtype=np.int64)


def encode(word: str) -> bytes:
    """Encode as UTF-8; unpaired surrogates, which Python strings may contain, are kept."""
    return word.encode("utf-8", "surrogatepass")


def decode(word: bytes) -> str:
    return word.decode("utf-8", "surrogatepass")
