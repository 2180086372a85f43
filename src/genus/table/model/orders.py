"""Choose the orders of columns over which explanations are averaged.

An order together with its reverse gives the exact average for terms of one or two columns: in an
order, the term of a pair counts for the later of its two columns, and in the reverse for the other.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.intp]
FEW = 4  # columns of which all orders are taken
SEED = 0


def orders(n: int, quartets: int) -> list[list[Order]]:
    """Return groups of orders of n columns: quartets, or all orders in one group if n is small.

    A quartet is a random order, the same order begun at its middle, and the reverse of both.
    """
    if n <= FEW:
        return [[np.array(order, dtype=np.intp) for order in permutations(range(n))]]
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(quartets):
        first = rng.permutation(n)
        second = np.roll(first, n // 2)
        found.append([first, first[::-1], second, second[::-1]])
    return found
