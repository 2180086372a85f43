"""Compute 64-bit hashes that identify rows and are the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from genus._kernel import hash_vocabulary
from genus.arrays.vocabulary import encode

Hashes = NDArray[np.uint64]
SHIFT = 12  # of the 52 bits of the mantissa 40 are kept, one more than any grid distinguishes


def mix(z: Hashes) -> Hashes:
    """Apply the finaliser of splitmix64 (Steele, Lea and Flood 2014), which mixes all bits."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def of_names(names: Iterable[str]) -> Hashes:
    """Return the hash of each name, (V,).

    >>> a, b = of_names(["okapi", "zebra"])
    >>> bool(a == of_names(["okapi"])[0]), bool(a == b)
    (True, False)
    """
    encoded = [encode(name) for name in names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
    return hash_vocabulary(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)


def of_numbers(x: NDArray[np.float64]) -> Hashes:
    """Return the hash of each number, (m,); 0 if it is missing.

    Numbers with the same hash are in the same cell of every grid. Cells include their lower end, so
    a negative number is first moved to the next float towards zero, as in `Grid.keys`.

    >>> of_numbers(np.array([0.0, 0.1, 3.0])) == of_numbers(np.array([-0.0, 0.1 + 1e-15, np.nan]))
    array([ True,  True, False])
    """
    x = np.ascontiguousarray(x) + 0.0  # -0.0 becomes 0.0
    negative = x < 0
    bits = np.where(negative, np.nextafter(-x, 0.0), x).view(np.uint64) >> np.uint64(SHIFT)
    bits |= negative.astype(np.uint64) << np.uint64(63 - SHIFT)
    return np.where(np.isnan(x), np.uint64(0), mix(bits + np.uint64(0x9E3779B97F4A7C15)))
