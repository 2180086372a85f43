"""Draw the tree of a TAN, with the parent of each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from genus.plots.points import Array
from genus.plots.style import axes, colours, plain

THINNEST, THICKEST = 0.5, 3.0  # points, for no information and for the most


class TreeDisplay:
    """The columns of a `TAN`, and lines from parents to children, wider for more information.

    Attributes
    ----------
    names : the columns.
    parents : the index of each column's parent; -1 for a root.
    information : mutual information with the parent given the class, in nats; 0 for a root.
    positions : where the columns are drawn, (n, 2).
    ax_, figure_ : the axes and the figure, once it is drawn.

    >>> from genus import TAN
    >>> rows = [["a", "a", "b"], ["b", "b", "b"], ["a", "b", "a"], ["b", "a", "a"]] * 5
    >>> model = TAN().fit(rows, ["same", "same", "other", "other"] * 5)
    >>> TreeDisplay.from_estimator(model)  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any

    def __init__(self, names: Sequence[str], parents: ArrayLike, information: Array) -> None:
        self.names = list(names)
        self.parents: NDArray[np.intp] = np.asarray(parents, dtype=np.intp)
        self.information = information
        self.positions = layout(self.parents)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the tree of a fitted TAN."""
        check_is_fitted(estimator)
        parents = estimator.parents_
        named = getattr(estimator, "feature_names_in_", None)
        names = [f"$x_{{{j + 1}}}$" for j in range(len(parents))]
        names = names if named is None else list(map(plain, named))
        own = estimator.information_[np.maximum(parents, 0), np.arange(len(parents))]
        return cls(names, parents, np.where(parents < 0, 0.0, own)).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the names of the columns."""
        self.ax_, self.figure_ = axes(ax)
        most = float(self.information.max(initial=0.0)) or 1.0
        for j, i in enumerate(self.parents):
            if i >= 0:
                share = self.information[j] / most
                self.ax_.annotate(
                    "",
                    self.positions[j],
                    self.positions[i],
                    arrowprops={
                        "arrowstyle": "-|>",
                        "color": colours()["class-0"],
                        "linewidth": THINNEST + share * (THICKEST - THINNEST),
                        "shrinkA": 6,
                        "shrinkB": 8,
                    },
                )
        box = {"boxstyle": "round", "facecolor": colours()["page"], "edgecolor": colours()["text"]}
        given = {"ha": "center", "va": "center", "bbox": box, **options}
        for name, (x, y) in zip(self.names, self.positions, strict=True):
            self.ax_.text(x, y, name, **given)
        self.ax_.set_axis_off()
        if len(self.positions):
            (left, low), (right, high) = self.positions.min(axis=0), self.positions.max(axis=0)
            self.ax_.set(xlim=(left - 0.6, right + 0.6), ylim=(low - 0.4, high + 0.4))
        return self


def layout(parents: NDArray[np.intp]) -> Array:
    """Return positions for a forest, (n, 2): leaves side by side, parents centred above them.

    >>> layout(np.array([-1, 0, 0])).tolist()
    [[0.5, 0.0], [0.0, -1.0], [1.0, -1.0]]
    """
    children: dict[int, list[int]] = {}
    for j, i in enumerate(parents.tolist()):
        children.setdefault(i, []).append(j)
    places = np.zeros((len(parents), 2))
    leaves = 0
    ahead = [(root, 0, False) for root in reversed(children.get(-1, []))]
    while ahead:
        j, depth, seen = ahead.pop()
        below = children.get(j, [])
        if below and not seen:
            ahead.append((j, depth, True))
            ahead += [(child, depth + 1, False) for child in reversed(below)]
            continue
        places[j] = (places[below, 0].mean() if below else leaves), -depth
        leaves += not below
    return places
