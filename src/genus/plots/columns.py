"""Draw the distribution of a table's column in each class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from genus.plots.style import axes, colour, colours, legend, look, marker, plain
from genus.report.densities import Curves, Shares, density
from genus.table import Frame


class ColumnDensityDisplay:
    """p(x|k) of one column in each class, over a histogram of the data.

    Attributes
    ----------
    drawn : the distribution: `Curves` of numbers, or `Shares` of categories.
    ax_, figure_ : the axes and the figure, once it is drawn.

    >>> from genus import TableClassifier
    >>> rows = {"age": [22, 25, 47, 52, 46, 56], "pays": ["no", "no", "no", "yes", "yes", "yes"]}
    >>> model = TableClassifier(calibrate=False).fit(rows, target="pays")
    >>> ColumnDensityDisplay.from_estimator(model, "age")  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any

    def __init__(self, drawn: Curves | Shares) -> None:
        self.drawn = drawn

    @classmethod
    def from_estimator(
        cls, estimator: Any, column: str, X: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw p(x|k) of a column of a fitted TableClassifier, over a histogram of rows.

        The rows are those of X; without X, all rows that the model has counted.
        """
        check_is_fitted(estimator)
        rows = None if X is None else Frame.of(estimator._opened(X).table(), estimator.plan_)
        return cls(density(estimator, column, rows)).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the lines or dots."""
        self.ax_, self.figure_ = axes(ax)
        if isinstance(self.drawn, Curves):
            self._curves(self.drawn, options)
        else:
            self._shares(self.drawn, options)
        legend(self.ax_)
        return self

    def _curves(self, drawn: Curves, options: dict[str, Any]) -> None:
        ax = self.ax_
        x = days(drawn.x) if drawn.is_date else drawn.x
        edges = days(drawn.edges) if drawn.is_date else drawn.edges
        bars = {"facecolor": colours()["bar"], "edgecolor": colours()["bar-edge"], "linewidth": 0.5}
        ax.bar(
            edges[:-1], drawn.bars, edges[1:] - edges[:-1], align="edge", label="all rows", **bars
        )
        for k, label in enumerate(drawn.classes):
            shape = marker(k) if drawn.is_shares else None
            style = {"marker": shape, "markersize": 3, **look(k), **options}
            ax.plot(x, drawn.p[k], label=plain(label), **style)
        ax.set(xlabel=plain(drawn.name), ylabel="share" if drawn.is_shares else "density")
        ax.set_ylim(bottom=0)
        if drawn.is_date:
            ax.tick_params(axis="x", rotation=30)

    def _shares(self, drawn: Shares, options: dict[str, Any]) -> None:
        ax, at = self.ax_, np.arange(len(drawn.values))
        ax.barh(at, drawn.bars, color=colours()["bar"], ec=colours()["bar-edge"], label="all rows")
        for k, label in enumerate(drawn.classes):
            style = {"linestyle": "", "marker": marker(k), "color": colour(k), **options}
            ax.plot(drawn.p[:, k], at, label=plain(label), **style)
        ax.set_yticks(at, [plain(value) for value in drawn.values])
        ax.invert_yaxis()
        ax.set(xlabel="share of the class", ylabel=plain(drawn.name))


def days(x: Any) -> Any:
    """Convert days since 1970 to dates, for the axis of a plot."""
    return (np.asarray(x) * 86_400e3).astype("datetime64[ms]")
