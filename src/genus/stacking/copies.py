"""Tell copies of a row from rows that are equal by chance.

Statistics know only the total weight of rows that are equal in all columns and of one class. Two
rows of a table of categories may be equal by chance; then they belong in different folds, so that
what they have in common can be learned. Or a row was weighted, copied, drawn again or labelled
several times; then all of it belongs in one fold, which would otherwise be predicted from copies of
its own rows.

Among N rows, chance makes about

    λ(x) = N Π_j p(x_j) r_j(x),   r_j(x) = p(x_j|x_parent(j)) / p(x_j),

equal a row x, where the columns form a tree of the strongest dependence (Chow and Liu 1968), and
r = 1 at its root. For r, equal rows do not count, because they may be copies.

Symbols: s rows of a sample, each with its class; G groups of rows that are equal but for the class.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import hashes
from genus.statistics import Array
from genus.statistics.group import MANY, common_unit, is_whole
from genus.statistics.sample import EVERY, MISSING, Bags, Sample

LONG = 5  # distinct tokens of a text that is hardly equal to another by chance
COMPARED = 20_000  # pairs of rows, approximately
MOST_COLUMNS = 64  # those that distinguish rows best
PRIOR = 5.0  # rows, or pairs of rows, without dependence
FREQUENT = 10  # rows of several classes that are equal by chance if one column identifies groups
USUAL = 1.5  # times λ that is ascribed to chance


def multiplicity(sample: Sample, numbers: Collection[int] = ()) -> tuple[Array, NDArray[np.intp]]:
    """Return how many rows each row of a sample stands for, and its unit, both (s,).

    If chance does not explain a group of equal rows, it is one unit: the position of its first row
    is the unit of all its rows. Every other row is a unit of its own, and stands for as many rows
    as its weight says, as far as chance explains them.

    A group of one class is one unit if no other has its number in a column of `numbers` with many
    different values. A group with a text of many tokens is one unit, too.
    """
    own = np.arange(len(sample))
    if len(sample) < MANY:
        return sample.weights.copy(), own
    n = sample.weights.copy()
    whole = common_unit(n)
    for k in range(len(sample.classes)):
        rows = sample.codes == k
        unit = common_unit(n[rows])
        n[rows] /= unit if unit != 1 else whole
    _, first, group = np.unique(sample.hashes, return_index=True, return_inverse=True)
    total = np.bincount(group, n).astype(np.float64)
    pure = np.bincount(group) == 1
    single = np.zeros(len(first), dtype=bool)
    for j in numbers:
        cells = sample.cells[first, j]
        values, at, count = np.unique(cells, return_inverse=True, return_counts=True)
        if len(values) >= MANY:
            single |= pure & (count[at] == 1) & (cells != MISSING)
    for bag in sample.bags:
        single |= bag.sizes[first] >= LONG
    by_chance = np.ones(len(first))
    if not single.all() and (len(first) < len(n) or (n > 1).any()):
        codes = distinguishing(sample, first, total)
        by_chance = explained(total, equal_by_chance(codes, total) * EVERY / sample.limit)
        if 2 * max(map(count_distinct, codes)) >= len(first):
            single_row = 1.0 if is_whole(n) else np.quantile(n, 0.05)
            often = ~pure & (total > FREQUENT * single_row)
            by_chance[often] = total[often] / single_row
        by_chance[single] = 1.0
    alone = by_chance[group] < 2
    number = by_chance[group]
    return np.minimum(n, number) if is_whole(n) else number, np.where(alone, first[group], own)


def explained(n: Array, λ: Array) -> Array:
    """Return how many rows each group stands for, (G,), given its weight n and λ.

    Single rows of weight u have Σn²/Σn ≈ u + Σnλ/Σn. If weights are not whole, they do not tell the
    number of rows, and λ is that for the smallest plausible number: (Σn)²/Σn², or one per group.
    """
    total, squares = n.sum(), (n**2).sum()
    if not is_whole(n):
        return np.asarray(1 + λ * max(total / squares, len(n) / total))
    unit = max((squares - (n * λ).sum()) / total, 1.0)
    return 1 + np.minimum(USUAL * λ / unit, np.maximum(n / unit - 1, 0))


def distinguishing(sample: Sample, rows: NDArray[np.intp], n: Array) -> NDArray[np.intp]:
    """Return the columns that distinguish groups best, as positions of first equal values, (J, G).

    Each of the `rows` is the first of a group, which counts n times. Of equal columns one is kept.
    """
    columns = [*sample.cells.T, *map(contents, sample.bags)]
    equal = [float((np.bincount(first_equal(one[rows]), n) ** 2).sum()) for one in columns]
    best = np.argsort(equal, kind="stable")[:MOST_COLUMNS]
    return np.unique([first_equal(columns[j][rows]) for j in best], axis=0)


def equal_by_chance(codes: NDArray[np.intp], n: Array) -> Array:
    """Return how many other rows chance makes equal to each group, (G,).

    A group counts n times. `codes` (J, G) are its values in each column.
    """
    p = np.array([np.bincount(one, n)[one] for one in codes]) / n.sum()  # (J, G)
    λ = n.sum() * np.prod(p, axis=0)
    for j, (parent, often) in enumerate(strongest_tree(codes, n, p @ n / n.sum())):
        if parent >= 0:
            both = codes[j] * (codes[parent].max() + 1) + codes[parent]
            both = np.unique(both, return_inverse=True)[1]
            among = np.bincount(codes[parent], n)[codes[parent]] - n
            r = (np.bincount(both, n)[both] - n + PRIOR * often) / (among + PRIOR) / p[j]
            λ *= np.maximum(r, 1.0)
    return np.minimum(λ, n.sum())


def strongest_tree(codes: NDArray[np.intp], n: Array, q: Array) -> list[tuple[int, float]]:
    """Return the parent of each column in the tree of the strongest dependence, -1 at the root.

    Beside it is the probability that two rows that are equal in the parent are equal in the column.
    All pairs are equal in column j with probability q_j.
    """
    J, s = codes.shape
    if J == 1:
        return [(-1, 1.0)]
    steps = np.arange(1, min(s // 2, -(-COMPARED // s)) + 1)
    equal = np.concatenate([codes == np.roll(codes, i, axis=1) for i in steps], axis=1)
    weight = np.concatenate([n * np.roll(n, i) for i in steps])
    both = (equal * (weight / weight.mean())) @ equal.T
    given = (both + PRIOR * q[:, None]) / (both.diagonal() + PRIOR)
    gain = given / q[:, None]
    parent, reach = np.full(J, -1), np.full(J, -np.inf)
    at, left = 0, np.ones(J, dtype=bool)
    for _ in range(J - 1):
        left[at] = False
        nearer = left & (gain[:, at] > reach)
        parent[nearer], reach[nearer] = at, gain[nearer, at]
        at = int(np.argmax(np.where(left, reach, -np.inf)))
    return [(p, float(given[j, p])) for j, p in enumerate(parent.tolist())]


def count_distinct(values: NDArray[np.intp]) -> int:
    """Return the number of different values, given as positions of the first equal one."""
    return int((values == np.arange(len(values))).sum())


def first_equal(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return for each value the position of the first that is equal to it."""
    _, first, at = np.unique(values, return_index=True, return_inverse=True)
    return np.asarray(first[at])


def contents(bag: Bags) -> NDArray[np.uint64]:
    """Return a hash of each row's tokens."""
    own = hashes.mix(bag.tokens.astype(np.uint64)) * bag.times.astype(np.uint64)
    return np.diff(np.append(np.uint64(0), np.cumsum(own, dtype=np.uint64))[np.append(0, bag.ends)])
