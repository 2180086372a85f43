"""Draw classes in two dimensions: rows, densities p(x|y), and decision boundaries.

scikit-learn's DecisionBoundaryDisplay colours the plane by p(y|x). It has no class-conditional
densities, and interpolates probabilities to find the boundary. Here log-odds are interpolated. For
a linear classifier these are linear, so its boundary is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from genus.plots.points import (
    Array,
    is_generative,
    labels_of,
    like,
    log_joint,
    log_posterior,
    numbers,
    reach,
)
from genus.plots.style import axes, colour, colours, legend, look, marker, plain

POINTS = 120  # along each side
SHARES = (0.9, 0.6, 0.3)  # shares of a normal class that its contours enclose


class BoundaryDisplay:
    """The rows of each class, contours of p(x|y), and boundaries between equally likely classes.

    Attributes
    ----------
    x, y : points along the axes, (m,).
    scores : log p(y|x) at the points of the plane, up to a term that all classes share, (m, m, K).
    joint, peaks : log p(x, y), (m, m, K), and its maximum for each class, (K,); both are None, and
        there are no contours, if the classifier is not generative.
    classes, rows, labels, names : the classes, the rows (n, 2), their labels, the columns' names.
    means : the class means, (K, 2), which are marked; None if the classifier has none.
    ax_, figure_ : the axes and the figure, once it is drawn.
    contours_, boundaries_ : matplotlib's contours of each class, and those between classes.

    >>> from sklearn.datasets import load_iris
    >>> from genus import GDA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GDA().fit(X[:, :2], y)
    >>> BoundaryDisplay.from_estimator(model, X[:, :2], y)  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any
    contours_: list[Any]
    boundaries_: list[Any]

    def __init__(
        self,
        x: Array,
        y: Array,
        scores: Array,
        classes: ArrayLike,
        *,
        joint: Array | None = None,
        peaks: Array | None = None,
        rows: Array | None = None,
        labels: ArrayLike | None = None,
        names: Sequence[str] = ("$x_1$", "$x_2$"),
        means: Array | None = None,
    ) -> None:
        self.x, self.y, self.scores, self.joint = x, y, scores, joint
        self.peaks = joint.max(axis=(0, 1)) if peaks is None and joint is not None else peaks
        self.classes: NDArray[Any] = np.asarray(classes)
        self.rows = np.empty((0, 2)) if rows is None else rows
        self.labels = None if labels is None else np.asarray(labels)
        self.names = list(names)
        self.means = means

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw a fitted classifier over the two columns of X; options are those of `plot`."""
        check_is_fitted(estimator)
        rows, names = numbers(X, 2)
        labels = None if y is None else labels_of(y, len(rows), estimator.classes_)
        across, upwards = (reach(column, 0.1, POINTS) for column in rows.T)
        plane = np.stack(np.meshgrid(across, upwards), axis=-1).reshape(-1, 2)
        shape = (POINTS, POINTS, len(estimator.classes_))
        scores = log_posterior(estimator, like(X, plane)).reshape(shape)
        joint = peaks = means = None
        if is_generative(estimator):
            joint = log_joint(estimator, like(X, plane)).reshape(shape)
            # A class may be densest between the points; a normal density is so at the mean.
            means = getattr(estimator, "means_", getattr(estimator, "theta_", None))
            places = rows if means is None else means
            peaks = np.maximum(
                joint.max(axis=(0, 1)), log_joint(estimator, like(X, places)).max(axis=0)
            )
        made = cls(
            across,
            upwards,
            scores,
            estimator.classes_,
            joint=joint,
            peaks=peaks,
            rows=rows,
            labels=labels,
            names=names,
            means=means,
        )
        return made.plot(ax=ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        shares: Sequence[float] = SHARES,
        regions: bool = True,
        **options: Any,
    ) -> Self:
        """Draw on the given axes, or on new ones.

        If a class is normally distributed, its contours enclose these `shares` of it. With
        `regions`, the plane is tinted by the most probable class. Options go to the boundaries.
        """
        self.ax_, self.figure_ = axes(ax)
        if regions:
            for k in range(len(self.classes)):
                tint = {"colors": [colour(k)], "alpha": 0.08}
                self.ax_.contourf(self.x, self.y, self.margin(k), [0, np.inf], **tint)
        self._points()
        # Contours of the logarithm, which is a parabola for a normal density.
        levels = np.log1p(-np.sort(shares)[::-1])
        self.contours_ = []
        if self.joint is not None and self.peaks is not None:
            for k, below_peak in enumerate(np.moveaxis(self.joint - self.peaks, 2, 0)):
                dashes = {"linestyles": [look(k).get("linestyle", "-")], "linewidths": 0.9}
                drawn = self.ax_.contour(
                    self.x, self.y, below_peak, levels, colors=[colour(k)], **dashes
                )
                self.contours_.append(drawn)
        edge = {"colors": [colours()["text"]], "linewidths": 1.6, **options}
        self.boundaries_ = [  # without the last class, whose boundaries are those of the others
            self.ax_.contour(self.x, self.y, self.margin(k), [0], **edge)
            for k in range(len(self.classes) - 1)
        ]
        if self.means is not None:
            cross = {"marker": "P", "s": 42, "linewidths": 0.8, "zorder": 3}
            for k, mean in enumerate(self.means):
                self.ax_.scatter(*mean, color=colour(k), edgecolors=colours()["text"], **cross)
        if self.labels is not None and len(self.classes) == 2:
            line = {"color": colours()["text"], "linewidth": 1.6}
            self.ax_.plot([], [], label="$p(y|x) = ½$", **line)
        self.ax_.set(
            xlabel=self.names[0],
            ylabel=self.names[1],
            xlim=self.x[[0, -1]],
            ylim=self.y[[0, -1]],
        )
        if self.labels is not None:
            above = {
                "loc": "lower left",
                "bbox_to_anchor": (0, 1),
                "ncols": 4,
            }  # off the points
            legend(self.ax_, handletextpad=0.5, **above)
        return self

    def margin(self, k: int) -> Array:
        """Return log p of class k minus that of the most probable other class, (m, m)."""
        others = np.delete(self.scores, k, axis=2)
        return self.scores[:, :, k] - others.max(axis=2)

    def _points(self) -> None:
        dot = {"s": 14, "linewidths": 0.4, "edgecolors": colours()["page"]}
        if self.labels is None:
            self.ax_.scatter(*self.rows.T, color=colours()["others"], **dot)
            return
        for k, label in enumerate(self.classes):
            own = self.rows[self.labels == label]
            look_of = {"color": colour(k), "marker": marker(k), "label": plain(label)}
            self.ax_.scatter(*own.T, **look_of, **dot)
