"""Plots in scikit-learn's manner: displays that are made from a model, and drawn on axes.

What needs only labels and probabilities scikit-learn has already: ConfusionMatrixDisplay,
RocCurveDisplay and CalibrationDisplay take genus' classifiers as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from genus.explanation import Explanation
from genus.report.densities import Curves, Shares, density
from genus.report.palette import COLOURS, DASHES, LIGHT
from genus.report.shown import name
from genus.table import Frame, open_table

__all__ = ["ColumnDensityDisplay", "EvidenceDisplay"]


class ColumnDensityDisplay:
    """p(x|k) of one column in each class, over a histogram of the data.

    Attributes
    ----------
    drawn : what is drawn: `Curves` of numbers, or `Shares` of categories.
    ax_, figure_ : where, once it is drawn.

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
        """A column of a fitted TableClassifier, over the rows of X or all that it has counted."""
        check_is_fitted(estimator)
        rows = None if X is None else Frame.of(open_table(X).table(), estimator.plan_)
        return cls(density(estimator, column, rows)).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on axes, or on new ones; options go to the lines, or to the dots of categories."""
        self.ax_, self.figure_ = axes(ax)
        if isinstance(self.drawn, Curves):
            self._curves(self.drawn, options)
        else:
            self._shares(self.drawn, options)
        self.ax_.legend()
        return self

    def _curves(self, drawn: Curves, options: dict[str, Any]) -> None:
        ax = self.ax_
        x = days(drawn.x) if drawn.is_date else drawn.x
        edges = days(drawn.edges) if drawn.is_date else drawn.edges
        bars = {"facecolor": LIGHT["bar"], "edgecolor": LIGHT["bar-edge"], "linewidth": 0.5}
        ax.bar(
            edges[:-1], drawn.bars, edges[1:] - edges[:-1], align="edge", label="all rows", **bars
        )
        for k, label in enumerate(drawn.classes):
            marker = "o" if drawn.is_shares else None
            style = {"marker": marker, "markersize": 3, **look(k), **options}
            ax.plot(x, drawn.p[k], label=name(label), **style)
        ax.set(xlabel=name(drawn.name), ylabel="share" if drawn.is_shares else "density")
        ax.set_ylim(bottom=0)
        if drawn.is_date:
            ax.tick_params(axis="x", rotation=30)

    def _shares(self, drawn: Shares, options: dict[str, Any]) -> None:
        ax, at = self.ax_, np.arange(len(drawn.values))
        ax.barh(at, drawn.bars, color=LIGHT["bar"], ec=LIGHT["bar-edge"], label="all rows")
        for k, label in enumerate(drawn.classes):
            style = {"linestyle": "", "marker": "o", "color": look(k)["color"], **options}
            ax.plot(drawn.p[:, k], at, label=name(label), **style)
        ax.set_yticks(at, [plain(value) for value in drawn.values])
        ax.invert_yaxis()
        ax.set(xlabel="share of the class", ylabel=name(drawn.name))


class EvidenceDisplay:
    """What the columns of one row add to the log-odds of a class against another, as bars.

    Attributes
    ----------
    names : columns and their values, the strongest first.
    terms : what each adds, (n,).
    label, against : the two classes.
    ax_, figure_ : where, once it is drawn.
    """

    ax_: Any
    figure_: Any

    def __init__(self, names: Sequence[str], terms: Any, label: Any, against: Any) -> None:
        self.names = list(names)
        self.terms = np.asarray(terms, dtype=np.float64)
        self.label = label
        self.against = against

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, row: int = 0, *, ax: Any = None, **options: Any
    ) -> Self:
        """One row of X, as a fitted classifier explains it; options as `from_explanation` has."""
        return cls.from_explanation(estimator.explain(X), row, ax=ax, **options)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        row: int = 0,
        *,
        label: Any = None,
        against: Any = None,
        most: int = 10,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """One row of an explanation: the likeliest class against the next, unless others are given.

        Bars are `most` of the columns, what the others add together, and what belongs to none.
        """
        order = explanation.classes[np.argsort(-explanation.joint[row], kind="stable")]
        if len(order) < 2:
            raise ValueError(f"Only one class is known, {name(order[0])}; there is no other.")
        label = order[order != against][0] if label is None else label
        against = order[order != label][0] if against is None else against
        if label == against:
            raise ValueError(f"{name(label)} is compared with itself; name another class.")
        terms = explanation.log_odds(label, against)[row]
        strong = [j for j in np.argsort(-np.abs(terms), kind="stable") if terms[j] != 0]
        names = [name(explanation._name(int(j), row)) for j in strong[:most]]
        shown = terms[strong[:most]]
        if strong[most:]:
            names.append(f"({len(strong) - most} more)")
            shown = np.append(shown, terms[strong[most:]].sum())
        return cls(names, shown, label, against).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on axes, or on new ones; options go to the bars."""
        self.ax_, self.figure_ = axes(ax)
        at = np.arange(len(self.names))
        colours = [LIGHT["class-0"] if term >= 0 else LIGHT["class-1"] for term in self.terms]
        self.ax_.barh(at, self.terms, **{"color": colours, **options})
        self.ax_.set_yticks(at, [plain(text) for text in self.names])
        self.ax_.invert_yaxis()
        self.ax_.axvline(0, color=LIGHT["axis"], linewidth=0.8)
        total = f"{self.terms.sum():+.2f}"
        title = f"{name(self.label)} rather than {name(self.against)}: log-odds {total}"
        self.ax_.set(xlabel="log-odds", title=plain(title))
        return self


def axes(ax: Any) -> tuple[Any, Any]:
    """Axes and their figure, new ones unless given."""
    if ax is None:
        try:
            pyplot = import_module("matplotlib.pyplot")
        except ImportError:
            raise ImportError(
                "Plots need matplotlib, which is not installed: pip install genus[plots]"
            ) from None
        _, ax = pyplot.subplots()
    return ax, ax.figure


def look(k: int) -> dict[str, Any]:
    """The colour and the dashes of a class."""
    if k >= COLOURS:
        return {"color": LIGHT["others"], "linewidth": 0.8}
    dashes = tuple(float(part) / 2 for part in DASHES[k].split())
    return {"color": LIGHT[f"class-{k}"], "linestyle": (0, dashes) if dashes else "-"}


def days(x: Any) -> Any:
    """Days since 1970 as moments, for the axis of a plot."""
    return (np.asarray(x) * 86_400e3).astype("datetime64[ms]")


def plain(text: str) -> str:
    """Text in which matplotlib sees no formula."""
    return name(text).replace("$", r"\$")
