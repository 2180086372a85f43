"""Tabulate Python's properties of characters: lower case, and being part of a word.

The kernel reads texts by this table, so it finds the same tokens as Python's `re` and `str.lower`,
whatever version of Unicode this Python has.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

Entries = NDArray[np.uint32]
SIZE = 0x110000
WORD, SPACE, CASED, IGNORABLE = (np.uint32(1 << bit) for bit in (21, 22, 23, 24))
# Only these ranges of Unicode have letters with a case, and marks that casing ignores.
WITH_CASE = np.r_[0:0x20000, 0xE0000:0xE1000].astype(np.uint32)


@cache
def alphabet(lowercase: bool) -> Entries:
    """Return each code point, or its lower case if requested, with its flags in the upper bits."""
    code = np.arange(SIZE, dtype=np.uint32)
    if lowercase:
        # The lower case of two capitals is not a single fixed letter, so the kernel handles them:
        # Σ, which becomes ς at the end of a word, and İ, which becomes i and a dot above.
        code[ord("Σ")], code[ord("İ")] = ord("σ"), ord("i")
        code = codes_of(text_of(code).lower())
    text = text_of(code)
    entries = code | where(r"\w+", text) * WORD | where(r"\s+", text) * SPACE
    if lowercase:
        entries[WITH_CASE] |= casing(WITH_CASE)
    entries.flags.writeable = False
    return entries


def casing(code: Entries) -> Entries:
    """Return which code points have a case, and which are ignored at the end of a word."""
    before = lowered_sigma(code, "AΣ", "")  # σ if a cased letter follows
    through = lowered_sigma(code, "AΣ", "A")  # σ if one does, or if it is ignored before A
    return before * CASED | (through & ~before) * IGNORABLE


def lowered_sigma(code: Entries, left: str, right: str) -> NDArray[np.bool_]:
    """Return for each character whether the Σ in left + character + right becomes σ, and not ς."""
    width = len(left) + 1 + len(right) + 1
    # İ would become two characters; any other cased letter gives the same result.
    table = np.empty((len(code), width), dtype=np.uint32)
    table[:] = codes_of(f"{left}a{right} ")
    table[:, len(left)] = np.where(code == ord("İ"), ord("i"), code)
    lowered = codes_of(text_of(table.ravel()).lower()).reshape(-1, width)
    return lowered[:, len(left) - 1] == ord("σ")


def where(pattern: str, text: str) -> NDArray[np.bool_]:
    """Return which characters belong to a match."""
    found = np.zeros(len(text), dtype=bool)
    for match in re.finditer(pattern, text):
        found[match.start() : match.end()] = True
    return found


def text_of(code: Entries) -> str:
    return code.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def codes_of(text: str) -> Entries:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint32)
