"""Tell copies of a row from rows that are equal by chance.

Statistics know only the total weight of equal rows. Two rows of a table of categories may be equal
by chance; then they belong in different folds, so that what they have in common can be learned. Or
a row was weighted, copied or drawn again; then all of it belongs in one fold, which would otherwise
be predicted from copies of its own rows.

Among N rows of class k, chance makes about

    λ(x) = N Π_j p(x_j|k) r_j(x),   r_j(x) = p(x_j|x_parent(j)) / p(x_j),

equal a row x, where the columns form a tree of the strongest dependence (Chow and Liu 1968), and
r = 1 at its root. For r, equal rows do not count, because they may be copies.
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
USUAL = 1.5  # times λ that is ascribed to chance
SAFE = 4.0  # times λ that is ascribed to chance where the weight of a single row is estimated


def multiplicity(sample: Sample, numbers: Collection[int] = ()) -> Array:
    """Return how many rows each row of a sample stands for, (s,).

    A row is one row if no other has its number in a column of `numbers` with many different values,
    or if it has a text of many tokens. A row with a category that no other row has keeps its
    weight, because only its copies show what the category means. All others are as many rows as
    their weight says in units of a single row, as far as chance explains it.
    """
    found = sample.weights.copy()
    if len(sample) < MANY:
        return found
    single, unique = np.zeros((2, len(sample)), dtype=bool)
    for j, cells in enumerate(sample.cells.T):
        values, at, rows = np.unique(cells, return_inverse=True, return_counts=True)
        alone = (rows[at] == 1) & (cells != MISSING)
        if j not in numbers:
            unique |= alone
        elif len(values) >= MANY:
            single |= alone
    for bag in sample.bags:
        single |= bag.sizes >= LONG
    n = found.copy()
    classes = [np.flatnonzero(sample.codes == k) for k in range(len(sample.classes))]
    for own in classes:
        n[own] /= unit_of(n[own])
    if (n > 1).any() and not single.all():
        λ = equal_by_chance(sample, n)
        for own in classes:
            if len(own) >= MANY:
                n[own] = explained(n[own], λ[own])
    found[~unique] = n[~unique]
    found[single] = 1.0
    return found


def unit_of(weights: Array) -> float:
    """Return the weight of a single row, if the weights tell it, else one of the smaller ones."""
    unit = common_unit(weights)
    if len(weights) < MANY or is_whole(weights / unit):
        return unit
    return float(np.quantile(weights, 0.25))


def explained(n: Array, λ: Array) -> Array:
    """Return how many rows of one class each row stands for, given n and λ for its own units.

    Single rows of weight u have Σn²/Σn ≈ u + Σnλ/Σn.
    """
    total = n.sum()
    unit = max((n**2).sum() / total - SAFE * (n * λ).sum() / total, 1.0)
    others = USUAL * λ / unit
    return 1 + (np.minimum(others, np.maximum(n / unit - 1, 0)) if is_whole(n) else others)


def equal_by_chance(sample: Sample, n: Array) -> Array:
    """Return how many other rows chance makes equal to each row of a sample, (s,).

    Row i counts n_i times. Of a large table the sample has only the rows with some contents.
    """
    columns = [*sample.cells.T, *map(contents, sample.bags)]
    codes = np.unique([first_equal(one) for one in columns], axis=0)  # without equal columns
    p = np.array([np.bincount(one, n)[one] for one in codes]) / n.sum()  # (J, s)
    best = np.argsort(p @ n, kind="stable")[:MOST_COLUMNS]
    codes, p = codes[best], p[best]
    λ = np.full(len(n), EVERY / sample.limit)
    for k in range(len(sample.classes)):
        own = np.flatnonzero(sample.codes == k)
        if len(own):
            total = n[own].sum()
            shares = [np.bincount(one, n[own])[one] / total for one in codes[:, own]]
            λ[own] *= total * np.prod(shares, axis=0)
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


def first_equal(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return for each value the position of the first that is equal to it."""
    _, first, at = np.unique(values, return_index=True, return_inverse=True)
    return np.asarray(first[at])


def contents(bag: Bags) -> NDArray[np.uint64]:
    """Return a hash of each row's tokens."""
    own = hashes.mix(bag.tokens.astype(np.uint64)) * bag.times.astype(np.uint64)
    return np.diff(np.append(np.uint64(0), np.cumsum(own, dtype=np.uint64))[np.append(0, bag.ends)])
