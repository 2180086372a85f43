"""Points to ask a classifier about, in the form of the rows that it knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.plots.style import plain

Array = NDArray[np.float64]


def numbers(X: Any, columns: int) -> tuple[Array, list[str]]:
    """Rows of as many numbers as can be drawn (m, columns), and the names of the columns."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("X holds what is no number; only numbers can be drawn.") from None
    if rows.ndim != 2 or rows.shape[1] != columns:
        many = "1 column" if columns == 1 else f"{columns} columns"
        raise ValueError(
            f"X must have {many} to be drawn, got shape {rows.shape}. Fit on those alone."
        )
    if not np.isfinite(rows).all():
        raise ValueError("X holds NaN or infinity; leave those rows out to draw the others.")
    if len(rows) == 0:
        raise ValueError("X has no rows; there is nothing to draw.")
    if hasattr(X, "columns"):
        return rows, [plain(column) for column in X.columns]
    return rows, ["$x$"] if columns == 1 else [f"$x_{j + 1}$" for j in range(columns)]


def like(X: Any, points: Array) -> Any:
    """Points (m, columns) as rows of the kind of X: a frame with its columns, or an array."""
    if not hasattr(X, "columns"):
        return points
    return type(X)({column: points[:, j] for j, column in enumerate(X.columns)})


def reach(values: Array, more: float, points: int) -> Array:
    """Points from the least value to the largest and a share `more` of their distance beyond."""
    low, high = float(values.min()), float(values.max())
    beyond = more * (high - low) or 1.0
    return np.linspace(low - beyond, high + beyond, points)


def log_scores(estimator: Any, rows: Any) -> tuple[Array, bool]:
    """log p(x, y) if the classifier is generative, else log p(y|x), (m, K); and which it is."""
    joint = getattr(estimator, "predict_joint_log_proba", None)
    found = joint(rows) if joint is not None else estimator.predict_log_proba(rows)
    return np.maximum(found, np.log(np.finfo(float).tiny)), joint is not None


def log_odds(estimator: Any, rows: Any) -> Array:
    """log p(y=1|x) / p(y=0|x) of a classifier of two classes, (m,)."""
    if len(estimator.classes_) != 2:
        raise ValueError(
            f"A sigmoid is of two classes; {estimator!r} has {len(estimator.classes_)}."
        )
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(rows), dtype=np.float64)
    scores, _ = log_scores(estimator, rows)
    return scores[:, 1] - scores[:, 0]
