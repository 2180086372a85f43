"""Draw how the odds depend on one or two columns of a table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from genus import Dependence, PairDependence
from genus.display.text import names
from genus.plots.columns import days
from genus.plots.style import axes, colour, colours, plain

FADED = 0.25  # opacity of a range


class DependenceDisplay:
    """The contribution of a column to the log-odds of a class, by value; a map for two columns.

    Attributes
    ----------
    drawn : a `Dependence` or a `PairDependence`.
    label, against : the two classes; None for the last class, and for the mean of all others.
    ax_, figure_ : the axes and the figure, once it is drawn.

    >>> from genus import TableClassifier
    >>> rows = {"age": [22, 25, 47, 52, 46, 56], "pays": ["no", "no", "no", "yes", "yes", "yes"]}
    >>> model = TableClassifier(calibrate=False).fit(rows, target="pays")
    >>> DependenceDisplay.from_estimator(model, "age")  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any

    def __init__(
        self, drawn: Dependence | PairDependence, label: Any = None, against: Any = None
    ) -> None:
        self.drawn = drawn
        self.label = label
        self.against = against

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *columns: str,
        label: Any = None,
        against: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw one or two columns of a fitted TableClassifier.

        The log-odds are those of the last class against the mean of the others, unless classes are
        given.
        """
        check_is_fitted(estimator)
        drawn = estimator.dependence_on(*columns)
        return cls(drawn, label, against).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the curve, the dots or the map."""
        self.ax_, self.figure_ = axes(ax)
        if isinstance(self.drawn, PairDependence):
            self._map(self.drawn, options)
        elif np.isnan(self.drawn.steps.x).all():
            self._dots(self.drawn, options)
        else:
            self._curve(self.drawn, options)
        return self

    def _curve(self, drawn: Dependence, options: dict[str, Any]) -> None:
        ax, curve = self.ax_, drawn.log_odds(self.label, self.against)
        known = ~np.isnan(drawn.steps.x)
        x = days(drawn.steps.x[known]) if drawn.steps.is_date else drawn.steps.x[known]
        style = {"color": colour(0), "marker": "o", "markersize": 3, **options}
        ax.fill_between(
            x, curve.low[known], curve.high[known], color=style["color"], alpha=FADED, lw=0
        )
        ax.plot(x, curve.mean[known], **style)
        for i in np.flatnonzero(~known):
            ax.axhline(curve.mean[i], color=colours()["muted"], linestyle=":", linewidth=1)
            where = (1, curve.mean[i])
            told = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
            ax.annotate(drawn.values[i], where, fontsize=7, **told)
        self._zero(ax.axhline)
        ax.set(xlabel=plain(drawn.column), ylabel=self._odds())
        if drawn.steps.is_date:
            ax.tick_params(axis="x", rotation=30)

    def _dots(self, drawn: Dependence, options: dict[str, Any]) -> None:
        ax, curve = self.ax_, drawn.log_odds(self.label, self.against)
        at = np.arange(len(drawn.values))
        style = {"color": colour(0), "marker": "o", "linestyle": "", **options}
        ax.hlines(at, curve.low, curve.high, color=style["color"], alpha=FADED, linewidth=6)
        ax.plot(curve.mean, at, **style)
        self._zero(ax.axvline)
        ax.set_yticks(at, [plain(value) for value in drawn.values])
        ax.invert_yaxis()
        ax.set(xlabel=self._odds(), ylabel=plain(drawn.column))

    def _map(self, drawn: PairDependence, options: dict[str, Any]) -> None:
        ax, odds = self.ax_, drawn.log_odds(self.label, self.against)
        most = float(np.nanmax(np.abs(odds), initial=1e-9))
        style = {"cmap": "RdBu", "vmin": -most, "vmax": most, "aspect": "auto"}
        style = {**style, "interpolation": "none", **options}
        image = ax.imshow(odds.T, origin="lower", **style)
        one, two = drawn.first, drawn.second
        ax.set_xticks(
            range(len(one.values)), [plain(v) for v in one.values], rotation=40, ha="right"
        )
        ax.set_yticks(range(len(two.values)), [plain(v) for v in two.values])
        ax.set(xlabel=plain(one.column), ylabel=plain(two.column))
        self.figure_.colorbar(image, ax=ax, label=self._odds())

    def _zero(self, line: Any) -> None:
        line(0, color=colours()["axis"], linewidth=0.8, zorder=0)

    def _odds(self) -> str:
        classes = (
            self.drawn.first if isinstance(self.drawn, PairDependence) else self.drawn
        ).classes
        label = classes[-1] if self.label is None else self.label
        both = names([label] if self.against is None else [label, self.against], 16)
        return plain(f"log-odds of {' against '.join(both)}")
