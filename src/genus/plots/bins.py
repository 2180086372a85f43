"""Draw the shares of bins or categories in each class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from genus.display.text import number
from genus.plots.points import Array
from genus.plots.style import axes, colour, colours, hatch, legend, plain


class BinsDisplay:
    """p(value|y) of one column of a CategoricalNB, as bars side by side.

    Attributes
    ----------
    values : the names of the bins or categories.
    shares : p(value|y), (K, values).
    classes, name : the classes, and the name of the column.
    edges : the edges of the bins; None for categories.
    ax_, figure_ : the axes and the figure, once it is drawn.

    >>> from genus import CategoricalNB, Discretizer
    >>> cut = Discretizer(edges=[400, 800, 1200, 1600])
    >>> model = CategoricalNB(bins=cut).fit([[350], [700], [1250], [2100]], list("ffhh"))
    >>> BinsDisplay.from_estimator(model, name="living area")  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        values: Sequence[str],
        shares: Array,
        classes: ArrayLike,
        name: str,
        edges: Array | None = None,
    ) -> None:
        self.values, self.shares, self.name, self.edges = list(values), shares, name, edges
        self.classes: NDArray[Any] = np.asarray(classes)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        column: int = 0,
        *,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw one column of a fitted CategoricalNB, by its number."""
        check_is_fitted(estimator)
        width = len(estimator.feature_log_prob_)
        if not -width <= column < width:
            raise ValueError(
                f"There is no column {column}: the model has {width}, numbered from 0."
            )
        edges = None if estimator.bins is None else estimator.bin_edges_[column]
        known = estimator.categories_[column]
        values = [plain(value) for value in known] if edges is None else between(edges)
        names = getattr(estimator, "feature_names_in_", None)
        own = f"$x_{{{column % width + 1}}}$" if names is None else plain(names[column])
        shares = np.exp(estimator.feature_log_prob_[column])
        given = own if name is None else plain(name)
        made = cls(values, shares, estimator.classes_, given, edges)
        return made.plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the bars."""
        self.ax_, self.figure_ = axes(ax)
        at, width = np.arange(len(self.values)), 0.8 / len(self.classes)
        for k, label in enumerate(self.classes):
            left = at - 0.4 + k * width
            bars = {"color": colour(k), "hatch": hatch(k), "edgecolor": colours()["page"]}
            given = {**bars, "align": "edge", "linewidth": 0.5, **options}
            self.ax_.bar(left, self.shares[k], width, label=plain(label), **given)
        if self.edges is None:
            self.ax_.set_xticks(at, self.values)
        else:  # between two bins
            self.ax_.set_xticks(at[1:] - 0.5, [number(float(edge)) for edge in self.edges])
        self.ax_.set(xlabel=self.name, ylabel="share of the class")
        legend(self.ax_)
        return self


def between(edges: Array) -> list[str]:
    """Return the names of the bins between edges.

    >>> between([400, 800])
    ['< 400', '400–800', '≥ 800']
    """
    if len(edges) == 0:
        return ["all"]
    told = [number(float(edge)) for edge in edges]
    inner = [f"{a}–{b}" for a, b in pairwise(told)]
    return [f"< {told[0]}", *inner, f"≥ {told[-1]}"]
