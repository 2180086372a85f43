"""Sufficient statistics: sums over rows that can be added, subtracted and scaled.

`Tally` counts by class and key, `Pairs` by class and two keys, `Moments` sums powers of numbers by
class, `Points` keeps rows while there are fewer rows than columns, `Sample` keeps some encoded
rows, `Belief` keeps what rows imply about weights, and `Compound` holds several of these. All are
immutable and form a group: adding the empty value changes nothing, ``(a + b) - b == a`` (for
`Sample`, within its limits), one operand may have classes and keys that the other lacks, and
nothing remains of what cancels (no class, key or origin).

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
