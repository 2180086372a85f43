"""Compute the points at which a plot evaluates a classifier, in the same form as its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genus.arrays.labels import show
from genus.plots.style import plain

Array = NDArray[np.float64]


def numbers(X: Any, columns: int) -> tuple[Array, list[str]]:
    """Return rows of numbers (m, columns) and column names; raise an error for other rows."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "X holds values that are not numbers. Only numbers can be drawn."
        ) from None
    if rows.ndim != 2 or rows.shape[1] != columns:
        many = "1 column" if columns == 1 else f"{columns} columns"
        raise ValueError(
            f"X must have {many} to be drawn, got shape {rows.shape}. Choose {many}, fit a model "
            "on them, and draw that model."
        )
    if not np.isfinite(rows).all():
        raise ValueError("X holds NaN or infinity. Leave those rows out.")
    if len(rows) == 0:
        raise ValueError("X has no rows, so there is nothing to draw.")
    if hasattr(X, "columns"):
        return rows, [plain(column) for column in X.columns]
    return rows, ["$x$"] if columns == 1 else [f"$x_{j + 1}$" for j in range(columns)]


def like(X: Any, points: Array) -> Any:
    """Return points (m, columns) in the form of X: a frame with its columns, or an array."""
    if not hasattr(X, "columns"):
        return points
    return type(X)({column: points[:, j] for j, column in enumerate(X.columns)})


def reach(values: Array, more: float, points: int) -> Array:
    """Return points over the range of values, extended by a share `more` on both sides."""
    low, high = float(values.min()), float(values.max())
    beyond = more * (high - low) or 1.0
    return np.linspace(low - beyond, high + beyond, points)


def labels_of(y: ArrayLike, rows: int, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of the rows, (rows,); raise an error unless each is a class."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(
            f"y has shape {labels.shape}, but X has {rows} rows. Give one label for each row."
        )
    strange = labels[~np.isin(labels, classes)]
    if len(strange):
        known = ", ".join(show(c) for c in classes[:5]) + (", …" if len(classes) > 5 else "")
        raise ValueError(
            f"y has {show(strange[0])}, which is not a class of the model. The classes are {known}."
        )
    return labels


def is_generative(estimator: Any) -> bool:
    """Return whether a classifier, of genus or scikit-learn, models p(x, y)."""
    return hasattr(estimator, "predict_joint_log_proba")


def log_joint(estimator: Any, rows: Any) -> Array:
    """Return log p(x, y), (m, K)."""
    if not is_generative(estimator):
        raise ValueError(
            f"{type(estimator).__name__} models p(y|x) but not p(x|y), which is to be drawn. "
            "Use a generative classifier, such as GDA."
        )
    return finite(estimator.predict_joint_log_proba(rows))


def log_posterior(estimator: Any, rows: Any) -> Array:
    """Return log p(y|x), (m, K), up to a term that all classes share."""
    if is_generative(estimator) or not hasattr(estimator, "decision_function"):
        return finite(estimator.predict_log_proba(rows))
    scores = np.asarray(estimator.decision_function(rows), dtype=np.float64)
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


def finite(logarithms: Any) -> Array:
    """Replace the logarithm of 0 by a large negative number, so that contours avoid it."""
    return np.nan_to_num(logarithms, neginf=-1e6)
