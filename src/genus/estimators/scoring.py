"""Score the rows of an engine's frame in the engine's own processes."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from genus.arrays import matrix
from genus.engines import Engine
from genus.persistence.loading import from_bytes
from genus.table.predictions import with_predictions


def score_elsewhere(estimator: Any, engine: Engine, *, label: bool, probabilities: bool) -> Any:
    """Return the engine's frame with the most probable class, or probabilities, added."""
    _ = estimator.model_.choice  # made once here, not by every process
    score = partial(scored, estimator.to_bytes(), label, probabilities)
    frame = engine.map(score, score(engine.schema.empty_table()).schema)
    if label and not probabilities and hasattr(frame, "chunks"):  # an array has one dtype
        return frame.astype(estimator.classes_.dtype)
    return frame


def scored(model: bytes, label: bool, probabilities: bool, rows: Any) -> Any:
    """Return the rows of an Arrow table or batch with the predictions of a model."""
    estimator = loaded(model)
    with matrix.alone():
        p = np.zeros((0, len(estimator.classes_)))
        if rows.num_rows:
            p = estimator.model_.posterior(estimator._matrix(rows))
        elif hasattr(estimator, "feature_names_in_"):
            estimator._matrix(rows)  # raises if a column is missing, even without rows
    best = p.argmax(axis=1) if label else None
    return with_predictions(rows, estimator.classes_, best, p if probabilities else None)


@lru_cache(maxsize=2)
def loaded(model: bytes) -> Any:
    """Return the classifier in some bytes; keep it, because a process scores many batches."""
    return from_bytes(model)
