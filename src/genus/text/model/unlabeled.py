"""Learn from texts without labels, by expectation maximisation (Nigam et al. 2000).

A model of the labelled texts estimates p(y|x) for the unlabelled texts. Each unlabelled text is
then counted into every class, weighted by that probability and by λ, and the model is solved again:

    statistics = Σ_labelled + λ Σ_i Σ_k p(k|x_i) count(x_i, k)

The result is ordinary statistics; the labelled texts in it can be forgotten as usual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from genus.model import Model
from genus.statistics import Compound, Tally
from genus.text import Documents

Array = NDArray[np.float64]
MOST_ROUNDS = 50
STILL = 1e-3  # smaller mean changes of p(y|x) end the rounds


@dataclass(frozen=True, eq=False)
class Expected:
    """A model that includes expected counts, and the number of rounds."""

    model: Model
    rounds: int


def learn(labelled: Model, X: Documents, weight: Array) -> Expected:
    """Return the model of labelled texts and of unlabelled texts X with weights λ (m,)."""
    model, shares = labelled, labelled.posterior(X)
    rounds, change = 0, 1.0
    while change > STILL and rounds < MOST_ROUNDS:
        model = labelled + expected_counts(labelled, X, weight[:, None] * shares)
        # The choice from the labelled texts is kept until all texts are counted.
        before, shares = shares, replace(model, chosen=labelled.choice).posterior(X)
        rounds, change = rounds + 1, np.abs(shares - before).sum(axis=1).mean()
    return Expected(model, rounds)


def expected_counts(like: Model, X: Documents, shares: Array) -> Model:
    """Return a model that counts each text in every class, with the weights `shares` (m, K)."""
    counts = X.rows.to_scipy()
    within = counts.copy()
    within.data = np.ones_like(within.data)
    total = shares.sum(axis=0)
    tables = {
        "occurrences": np.hstack([np.zeros((len(total), 1)), (counts.T @ shares).T]),
        "documents": np.hstack([total[:, None], (within.T @ shares).T]),
    }
    tally = Tally.of(like.classes, (X.words.with_empty(),), tables)
    weights = Tally.of(like.classes, None, {"rows": total[:, None]})
    statistics = Compound({**like.family.zero().parts, "words": tally})
    return replace(like, statistics=statistics, weights=weights, chosen=None)
