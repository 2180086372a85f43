"""Collect the reasons for the advice: which assumptions hold for these rows.

With enough rows a test rejects every assumption, so each result comes with an effect size.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.estimators import GDA
from genus.evaluate import cross_validate
from genus.evaluate.comparing.data import Material
from genus.evaluate.comparing.dependence import Pair, of_pairs, pairs
from genus.evaluate.comparing.normality import (
    Covariances,
    Normality,
    complete,
    equal_covariances,
    normalities,
    of_covariances,
    of_normality,
    spreads,
)
from genus.evaluate.comparing.posterior import (
    Bend,
    Posterior,
    bent,
    of_bend,
    of_posterior,
    straightness,
)
from genus.statistics import Array

FOLDS = 5
MOST_ROWS = 20_000  # rows that are tested


@dataclass(frozen=True, eq=False)
class Reasons:
    """The results of all tests that could be made."""

    normality: tuple[Normality, ...]
    covariances: Covariances | None
    pairs: tuple[Pair, ...]
    compared: int  # number of pairs that were tested
    bend: Bend | None
    posteriors: tuple[Posterior, ...]
    distances: dict[Any, Array]  # d² of each class by the pooled Σ, ascending, for a plot
    columns: int

    def sentences(self, generative: str) -> list[str]:
        """Return one or two sentences for each result."""
        told = []
        if self.normality:
            told.append(of_normality(self.normality))
        if self.covariances is not None:
            told.append(of_covariances(self.covariances))
        if self.compared:
            told.append(of_pairs(self.pairs, self.compared, generative))
        if self.bend is not None:
            told.append(of_bend(self.bend))
        return told + [sentence for each in self.posteriors if (sentence := of_posterior(each))]


def separate_losses(X: Array, y: NDArray[np.int64]) -> tuple[float, float] | None:
    """Return the log losses of one Σ for all classes and of one for each, on the same folds.

    Return None if a class has too few rows for its own Σ.
    """
    folds = min(FOLDS, len(y))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shared, separate = (
                cross_validate(GDA(shared=one), X, y, folds).log_loss for one in (True, False)
            )
    except ValueError:
        return None
    return (shared, separate) if np.isfinite([shared, separate]).all() else None


def reasons(given: Material, rows: NDArray[np.intp], probabilities: dict[str, Array]) -> Reasons:
    """Test the assumptions behind the advice, and return the results.

    `probabilities` are out-of-fold predictions of `rows`, by model.
    """
    rng = np.random.default_rng(0)
    some = np.arange(len(given.y))
    if len(some) > MOST_ROWS:  # at random, because rows may be ordered
        some = np.sort(rng.choice(some, MOST_ROWS, replace=False))
    _, raw = given.take(some)
    y = given.y[some]
    normality: tuple[Normality, ...] = ()
    covariances, distances, columns = None, {}, 0
    if given.kind == "numbers" and isinstance(raw, np.ndarray):
        X, own, names = complete(raw, y, given.names)
        columns = X.shape[1]
        if columns and len(X):
            normality = tuple(normalities(X, own, given.classes, names))
            covariances = equal_covariances(X, own, given.classes)
            if covariances is not None and not covariances.is_near:
                covariances = replace(covariances, separate=separate_losses(X, own))
            distances = spreads(X, own, given.classes)
    found, compared = pairs(raw, y, given)
    straight = tuple(
        one
        for name, p in probabilities.items()
        if len(p) and (one := straightness(name, p, given.y[rows])) is not None
    )
    bend = bent(X, own) if columns else None
    return Reasons(normality, covariances, found, compared, bend, straight, distances, columns)
