"""Points to ask a classifier about, in the form of the rows that it knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genus.arrays.labels import show
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


def labels_of(y: ArrayLike, rows: int, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of the rows, (rows,), each a class."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"y has shape {labels.shape} where X has {rows} rows; it needs as many.")
    strange = labels[~np.isin(labels, classes)]
    if len(strange):
        raise ValueError(f"y has {show(strange[0])}, which is no class of the model.")
    return labels


def is_generative(estimator: Any) -> bool:
    """Return whether a classifier, of genus or of scikit-learn, knows p(x, y)."""
    return hasattr(estimator, "predict_joint_log_proba")


def log_joint(estimator: Any, rows: Any) -> Array:
    """Return log p(x, y), (m, K)."""
    if not is_generative(estimator):
        raise ValueError(
            f"{type(estimator).__name__} knows p(y|x) but not p(x|y), which is to be drawn. Use a "
            "generative classifier, such as GDA."
        )
    return finite(estimator.predict_joint_log_proba(rows))


def log_posterior(estimator: Any, rows: Any) -> Array:
    """Return log p(y|x) up to what all classes share, (m, K)."""
    if is_generative(estimator) or not hasattr(estimator, "decision_function"):
        return finite(estimator.predict_log_proba(rows))
    scores = np.asarray(estimator.decision_function(rows), dtype=np.float64)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


def finite(logarithms: Any) -> Array:
    """Logarithms in which that of 0 is only very small, so that contours can pass beside it."""
    return np.nan_to_num(logarithms, neginf=-1e6)
