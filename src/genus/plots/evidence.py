"""Draw the contributions to the prediction for one row or one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from genus.display.text import name, names, signed
from genus.explanation import Explanation
from genus.plots.style import axes, colour, colours, plain


class EvidenceDisplay:
    """The contributions of columns in one row to the log-odds of two classes, as bars.

    Attributes
    ----------
    names : columns with their values, sorted by the size of their contributions.
    terms : their contributions, (n,).
    label, against, places : the two classes, and their positions among all, which decide colours.
    ax_, figure_ : the axes and the figure, once it is drawn.
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        names: Sequence[str],
        terms: Any,
        label: Any,
        against: Any,
        places: tuple[int, int] = (0, 1),
    ) -> None:
        self.names = list(names)
        self.terms = np.asarray(terms, dtype=np.float64)
        self.label = label
        self.against = against
        self.places = places

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, row: int = 0, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw a row of X, explained by a fitted classifier; see `from_explanation` for options."""
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
        """Draw a row of an explanation; by default, the most probable class against the second.

        There is a bar for each of the `most` largest contributions, and one for all others. The
        baseline, which belongs to no column, is one of the contributions.
        """
        order = explanation.classes[np.argsort(-explanation.joint[row], kind="stable")]
        if len(order) < 2:
            raise ValueError(
                f"There is only one class, {name(order[0])}, so there is no other to compare with."
            )
        label = order[order != against][0] if label is None else label
        against = order[order != label][0] if against is None else against
        if label == against:
            raise ValueError(f"{name(label)} is compared with itself. Name another class.")
        terms = explanation.log_odds(label, against)[row]
        strong = [j for j in np.argsort(-np.abs(terms), kind="stable") if terms[j] != 0]
        columns = names([explanation._name(int(j), row) for j in strong[:most]])
        shown = terms[strong[:most]]
        if strong[most:]:
            columns.append(f"({len(strong) - most} more)")
            shown = np.append(shown, terms[strong[most:]].sum())
        places = explanation._position(label), explanation._position(against)
        return cls(columns, shown, label, against, places).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the bars."""
        self.ax_, self.figure_ = axes(ax)
        at, (k, other) = np.arange(len(self.names)), self.places
        bars = {"color": [colour(k if term >= 0 else other) for term in self.terms], **options}
        self.ax_.barh(at, self._lengths(), **bars)
        self.ax_.set_yticks(at, [plain(text) for text in self.names])
        self.ax_.invert_yaxis()
        self.ax_.locator_params(axis="x", nbins=6)  # labels that do not touch
        self.ax_.axvline(0, color=colours()["axis"], linewidth=0.8)
        against, label = names([self.against, self.label])
        title = f"{label} rather than {against}: log-odds {self._total()}"
        against, label = names([self.against, self.label], 16)
        sides = f"log-odds (← {against}, {label} →)"
        self.ax_.set(xlabel=sides.replace("$", r"\$"), title=plain(title))
        return self

    def _lengths(self) -> NDArray[np.float64]:
        """Return the lengths of the bars; infinite terms have the longest bars."""
        finite = np.abs(self.terms[np.isfinite(self.terms)])
        most = 1.2 * float(finite.max(initial=1.0))
        return np.nan_to_num(self.terms, posinf=most, neginf=-most)

    def _total(self) -> str:
        endless = set(self.terms[np.isinf(self.terms)].tolist())
        if len(endless) > 1:
            return "undefined"
        return {np.inf: "+∞", -np.inf: "−∞"}[endless.pop()] if endless else signed(self.terms.sum())
