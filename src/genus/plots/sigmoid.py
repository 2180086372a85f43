"""Draw p(y=1|x) of several classifiers for one feature, to compare their sigmoids.

A sigmoid is 1 / (1 + exp(-θ (x - h))): at h it is one half, and θ is its steepness there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from genus.plots.points import Array, labels_of, like, log_posterior, numbers, reach
from genus.plots.style import colour, colours, marker, panels, plain

POINTS = 400


class SigmoidDisplay:
    """p(y=1|x) of several binary classifiers, side by side; each panel shows the others in grey.

    Attributes
    ----------
    x : points of the feature, (m,).
    log_odds : log-odds of the second class against the first, (m,), by the name of the classifier.
    halves, slopes : where p is one half, and the slope of the log-odds there, by name; NaN if there
        is no such point, or more than one.
    classes, rows, labels, name : the two classes, the rows (n,), their labels, the feature's name.
    axes_, figure_ : the axes, one for each classifier, and the figure, once it is drawn.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from genus import GDA
    >>> X, y = np.array([[1.0], [2.0], [2.5], [2.2], [5.0], [9.0]]), [0, 0, 0, 1, 1, 1]
    >>> both = {"GDA": GDA().fit(X, y), "logistic": LogisticRegression().fit(X, y)}
    >>> SigmoidDisplay.from_estimators(both, X, y)  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Any

    def __init__(
        self,
        x: Array,
        log_odds: Mapping[str, Array],
        classes: ArrayLike,
        rows: Array,
        labels: ArrayLike,
        name: str = "$x$",
    ) -> None:
        self.x, self.log_odds, self.rows, self.name = x, dict(log_odds), rows, name
        self.classes: NDArray[Any] = np.asarray(classes)
        self.labels: NDArray[Any] = np.asarray(labels)
        found = {one: crossing(x, odds) for one, odds in self.log_odds.items()}
        self.halves = {one: half for one, (half, _) in found.items()}
        self.slopes = {one: slope for one, (_, slope) in found.items()}

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Any], X: Any, y: ArrayLike, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw fitted classifiers, by name, over the single column of X."""
        rows, (name,) = numbers(X, 1)
        if not estimators:
            raise ValueError("No classifier is given. Give some by name, such as {'GDA': model}.")
        first = next(iter(estimators.values()))
        x = reach(rows, 0.05, POINTS)
        odds = {}
        for one, estimator in estimators.items():
            check_is_fitted(estimator)
            if len(estimator.classes_) != 2:
                raise ValueError(
                    f"A sigmoid needs 2 classes, but {one} has {len(estimator.classes_)}."
                )
            if not np.array_equal(estimator.classes_, first.classes_):
                raise ValueError(
                    f"{one} has other classes than the first classifier: {estimator.classes_}."
                )
            scores = log_posterior(estimator, like(X, x[:, None]))
            odds[one] = scores[:, 1] - scores[:, 0]
        labels = labels_of(y, len(rows), first.classes_)
        return cls(x, odds, first.classes_, rows[:, 0], labels, name).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on given axes, one for each classifier, or on new ones; options go to the lines."""
        both, self.figure_ = panels(ax, 1, len(self.log_odds), sharey=True)
        self.axes_ = both[0]
        for place, one in zip(self.axes_, self.log_odds, strict=True):
            for other in self.log_odds:
                if other != one:
                    grey = {"color": colours()["others"], "linewidth": 0.8, "linestyle": ":"}
                    place.plot(self.x, sigmoid(self.log_odds[other]), **grey)
            for k, label in enumerate(self.classes):
                own = self.rows[self.labels == label]
                dots = {"marker": marker(k), "color": colour(k), "s": 12, "alpha": 0.6, "lw": 0}
                place.scatter(own, np.full(len(own), float(k)), label=plain(label), **dots)
            line = {"color": colours()["text"], **options}
            place.plot(self.x, sigmoid(self.log_odds[one]), **line)
            if np.isfinite(self.halves[one]):
                rule = {"color": colours()["axis"], "linewidth": 0.6, "linestyle": "--"}
                place.axvline(self.halves[one], **rule)
            place.set(xlabel=self.name, title=self.title(one))
        self.axes_[0].set(ylabel=f"p(y={plain(self.classes[1])}|x)")
        return self

    def title(self, one: str) -> str:
        """Return a classifier's name, with the position and steepness of its sigmoid."""
        if not np.isfinite(self.halves[one]):
            return plain(one)
        numbers = f"half at {self.halves[one]:#.3g}, steepness {self.slopes[one]:#.3g}"
        return f"{plain(one)}\n{numbers.replace('-', '−')}"


def sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z))."""
    return 0.5 * (1 + np.tanh(0.5 * z))


def crossing(x: Array, odds: Array) -> tuple[float, float]:
    """Return where the log-odds are 0, and their slope there; exact if they are linear."""
    at = np.flatnonzero(np.diff(np.sign(odds)) != 0)
    if len(at) != 1:
        return np.nan, np.nan
    (i,) = at
    slope = (odds[i + 1] - odds[i]) / (x[i + 1] - x[i])
    return float(x[i] - odds[i] / slope), float(slope)
