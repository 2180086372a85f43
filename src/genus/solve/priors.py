"""Solve the priors p(y): the probability of each class before a row is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genus.arrays.labels import Axis
from genus.statistics import Array, divide


@dataclass(frozen=True, eq=False)
class Priors:
    """p(y): `given` by class or in the order of the classes, or else the shares of the rows.

    If `fit` is False, all classes are equally probable. `alpha` smooths the shares. `class_weight`
    is the weight of each row by class, or "balanced": as if all classes had equally many rows.
    """

    given: Any = None
    fit: bool = True
    alpha: float = 0.0
    class_weight: Any = None

    def solve(self, weights: Array, classes: Axis) -> Array:
        """Return p(y) of each class, (…, K), from the weights of the classes (…, K)."""
        if self.class_weight is not None:
            plain = replace(self, class_weight=None)
            balanced = isinstance(self.class_weight, str)
            times = (
                np.where(weights > 0, 1 / np.maximum(weights, 1e-300), 0.0)
                if balanced
                else np.array([self.class_weight.get(label, 1.0) for label in classes.tolist()])
            )
            raised = plain.solve(weights, classes) * times
            total = raised.sum(axis=-1, keepdims=True)
            return np.divide(raised, total, out=np.zeros_like(raised), where=total > 0)
        if self.given is not None:
            return np.broadcast_to(self._in_order(classes), weights.shape)
        if not self.fit:
            return np.full(weights.shape, 1 / max(len(classes), 1))
        smoothed = weights + self.alpha
        total = smoothed.sum(axis=-1, keepdims=True)
        equal = np.full(weights.shape, 1 / max(len(classes), 1))
        return np.divide(smoothed, total, out=equal, where=total > 0)

    def _in_order(self, classes: Axis) -> Array:
        if isinstance(self.given, Mapping):
            unknown = [label for label in classes.tolist() if label not in self.given]
            if unknown:
                raise ValueError(
                    f"Number of priors must match number of classes: no prior is given for class "
                    f"{unknown[0]!r}. Give one for each class."
                )
            known = np.array([self.given[label] for label in classes.tolist()], dtype=np.float64)
            return divide(known, known.sum())  # over the classes seen so far
        given = np.asarray(self.given, dtype=np.float64)
        if given.shape != classes.shape:
            raise ValueError(
                f"Number of priors must match number of classes: got {given.size} priors for the "
                f"{len(classes)} classes {classes.tolist()[:10]}. Give one for each, or a "
                "dictionary by class."
            )
        return given
