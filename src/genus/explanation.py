"""Why a row was classified as it was: the summands of log p(x, y)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each column adds to log p(x, y) of each class.

    `contributions` (m, n, K) and `baseline` (m, K: log p(y) and what belongs to no column) add up
    to `joint` (m, K), which is what `predict_joint_log_proba` says.
    """

    contributions: Array
    baseline: Array
    classes: NDArray[Any]
    features: Sequence[str]

    @property
    def joint(self) -> Array:
        """log p(x, y), (m, K)."""
        return self.contributions.sum(axis=1) + self.baseline

    def log_odds(self, label: Any, against: Any) -> Array:
        """What each column adds to log p(label|x) / p(against|x), (m, n + 1); the baseline last."""
        k, other = (self._position(one) for one in (label, against))
        ours, theirs = (
            np.column_stack([self.contributions[:, :, i], self.baseline[:, i]]) for i in (k, other)
        )
        # What neither class can explain speaks for neither.
        return np.subtract(ours, theirs, out=np.zeros_like(ours), where=ours != theirs)

    def describe(self, row: int = 0, most: int = 10) -> str:
        """The strongest evidence of one row, for its likeliest class against the next."""
        order = np.argsort(-self.joint[row], kind="stable")
        if len(order) < 2:
            return f"Only one class is known: {self.classes[order[0]]}."
        best, next_best = self.classes[order[0]], self.classes[order[1]]
        terms = self.log_odds(best, next_best)[row]
        names = [*self.features, "(prior and constants)"]
        strongest = [i for i in np.argsort(-np.abs(terms), kind="stable")[:most] if terms[i] != 0]
        width = max((len(names[i]) for i in strongest), default=0)
        if np.isneginf(self.joint[row]).all():
            return "No class can explain this row: each gives it probability zero."
        lines = [f"{best} rather than {next_best}: log-odds {terms.sum():+.3f}"]
        lines += [f"  {names[i]:<{width}}  {terms[i]:+8.3f}" for i in strongest]
        return "\n".join(lines)

    def __repr__(self) -> str:
        m, n, K = self.contributions.shape
        return f"Explanation(rows={m}, columns={n}, classes={K})"

    def __str__(self) -> str:
        return "\n\n".join(self.describe(row) for row in range(min(len(self.baseline), 5)))

    def _position(self, label: Any) -> int:
        found = np.flatnonzero(self.classes == label)
        if len(found) == 0:
            raise ValueError(f"{label!r} is not one of the classes {self.classes.tolist()[:10]}.")
        return int(found[0])
