"""Sufficient statistics: sums over rows, as values that add, subtract and scale.

`Tally` counts by class and key, `Pairs` by class and two keys, `Moments` sums powers of numbers by
class, `Points` keeps rows that are fewer than their columns, `Sample` some encoded rows, and
`Compound` holds several of these. All are immutable and form a group: the empty value is neutral,
``(a + b) - b == a``, classes and keys that one side does not know are no obstacle, and what cancels
is gone (no class, key or origin of it stays behind).

Symbols: K classes, n columns, V keys, w weights.

>>> import numpy as np
>>> a = Tally(np.array(["ham", "spam"]), None, {"count": np.array([[1.0, 0.0], [2.0, 5.0]])})
>>> b = Tally(np.array(["spam"]), None, {"count": np.array([[2.0, 5.0]])})
>>> (a - b).classes
array(['ham'], dtype='<U4')
>>> (a - b) + b == a
True
"""

from genus.statistics.belief import Belief
from genus.statistics.compound import Compound
from genus.statistics.group import (
    Array,
    ImpossibleError,
    Statistics,
    divide,
    freeze,
    settle,
)
from genus.statistics.moments import Moments, grid_point
from genus.statistics.pairs import Pairs
from genus.statistics.points import Points
from genus.statistics.sample import Bags, Sample
from genus.statistics.tally import Tally

__all__ = [
    "Array",
    "Bags",
    "Belief",
    "Compound",
    "ImpossibleError",
    "Moments",
    "Pairs",
    "Points",
    "Sample",
    "Statistics",
    "Tally",
    "divide",
    "freeze",
    "grid_point",
    "settle",
]
