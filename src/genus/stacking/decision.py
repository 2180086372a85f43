"""Bayes' decision rule: choose the class with the smallest expected cost.

With costs C[i, j] of choosing class j if class i is true, the expected cost of class j is
Σ_i p(i|x) C[i, j]. The probabilities are calibrated, so costs are not needed for learning.

Symbols: m rows, K classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from genus.arrays.labels import Axis, show
from genus.arrays.matrix import Codes
from genus.arrays.options import number
from genus.statistics import Array


@dataclass(frozen=True, eq=False)
class Decision:
    """A decision rule: either `costs` (K, K) or `thresholds` (K,) is given.

    costs[i, j] is the cost of choosing class j if class i is true. A class without a threshold has
    NaN.

    >>> rule = Decision.of({("bad", "good"): 5}, np.array(["bad", "good"]))
    >>> rule.decide(np.array([[0.1, 0.9], [0.2, 0.8]]))
    array([1, 0])
    """

    costs: Array | None = None
    thresholds: Array | None = None

    @classmethod
    def of(cls, given: Any, classes: Axis) -> Decision | None:
        """Return the rule that a user asks for, or None for the most probable class.

        `given` is a threshold for the second of two classes, a dictionary of thresholds by class,
        or a dictionary of costs by (true class, chosen class). Costs that are not given are 1, and
        0 for a correct decision.
        """
        if given is None or isinstance(given, Decision):
            return given
        if not isinstance(given, Mapping):
            if not isinstance(given, Real) or isinstance(given, bool):
                raise ValueError(
                    "decision must be a threshold, or a dictionary of thresholds by class or of "
                    f"costs by (true class, decided class); got {str(given)[:60]!r}."
                )
            if len(classes) != 2:
                raise ValueError(
                    f"A single threshold needs two classes, but there are {len(classes)}. "
                    "Name the class: decision={class: threshold}, or --threshold CLASS=P."
                )
            given = {classes[1]: given}
        if not given:
            raise ValueError("decision holds no threshold and no cost. Give at least one.")
        if all(isinstance(key, tuple) and len(key) == 2 for key in given):
            return cls(costs=cost_matrix(given, classes))
        thresholds = np.full(len(classes), np.nan)
        for label, share in given.items():
            named = f"The threshold of {show(label)}"
            thresholds[place(label, classes)] = number(named, share, 0, 1)
        return cls(thresholds=thresholds)

    def decide(self, p: Array) -> Codes:
        """Choose a class for each row, (m,), given p(y|x), (m, K).

        With costs, it is the class with the smallest expected cost. With thresholds, it is the
        most probable class among those that reach their threshold. If no class does, it is the most
        probable one among the classes without a threshold or, if all classes have one, among all.
        """
        if self.costs is not None:
            return (p @ self.costs).argmin(axis=1)
        assert self.thresholds is not None
        reached = p >= np.where(np.isnan(self.thresholds), np.inf, self.thresholds)
        others = np.where(np.isnan(self.thresholds), p, -1.0)
        if not np.isnan(self.thresholds).any():  # one class must be chosen
            others = p
        among = np.where(reached.any(axis=1, keepdims=True), np.where(reached, p, -1.0), others)
        return among.argmax(axis=1)


def cost_matrix(given: Mapping[Any, Any], classes: Axis) -> Array:
    """Return the costs (K, K) of choosing class j if class i is true."""
    costs = 1.0 - np.eye(len(classes))
    for (true, decided), cost in given.items():
        at = place(true, classes), place(decided, classes)
        costs[at] = number(f"The cost of {show(decided)} for {show(true)}", cost, 0)
    return costs


def place(label: Any, classes: Axis) -> int:
    """Return the position of a class; a label that is text matches in upper or lower case."""
    for k, known in enumerate(classes.tolist()):
        if label == known or (isinstance(label, str) and label.lower() == str(known).lower()):
            return k
    listed = ", ".join(map(repr, classes[:10].tolist()))
    raise ValueError(f"There is no class {label!r}. The classes are {listed}.")
