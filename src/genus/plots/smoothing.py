"""Draw the effect of pseudo-counts on a share: (heads + λ) / (tosses + 2λ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from genus.display.text import count
from genus.plots.points import Array
from genus.plots.style import axes, colours, look
from genus.solve.smoothing import Smoothing

MOST = 5.0
POINTS = 201


class SmoothingDisplay:
    """The estimated share φ of heads, by the pseudo-count λ, for some numbers of heads.

    At λ = 0 it is the maximum-likelihood estimate, which may be 0 or 1; at λ = 1, Laplace's rule.

    Attributes
    ----------
    tosses, heads : the number of tosses, and some numbers of heads.
    pseudo_counts : λ, (m,).
    estimates : φ, (heads, m).
    ax_, figure_ : the axes and the figure, once it is drawn.

    >>> SmoothingDisplay.from_counts(5, [0, 1, 2]).estimates[:, 0]
    array([0. , 0.2, 0.4])
    """

    ax_: Any
    figure_: Any

    def __init__(
        self, tosses: int, heads: Sequence[int], pseudo_counts: Array, estimates: Array
    ) -> None:
        self.tosses, self.heads = tosses, list(heads)
        self.pseudo_counts, self.estimates = pseudo_counts, estimates

    @classmethod
    def from_counts(
        cls,
        tosses: int,
        heads: Sequence[int] | None = None,
        *,
        most: float = MOST,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the estimates for some numbers of heads, by default all, for λ up to `most`."""
        heads = range(tosses + 1) if heads is None else heads
        if tosses < 1 or not all(0 <= one <= tosses for one in heads):
            raise ValueError(
                "The numbers of heads must be from 0 to the number of tosses, which is at least "
                f"1; got {list(heads)} of {tosses}."
            )
        λ = np.linspace(0, most, POINTS)
        added = np.array([Smoothing(alpha=one).pseudo_counts(2) for one in λ])
        φ = np.array([(one + added[:, 0]) / (tosses + added.sum(axis=1)) for one in heads])
        return cls(tosses, heads, λ, φ).plot(ax=ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the lines."""
        self.ax_, self.figure_ = axes(ax)
        beside = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
        for k, (heads, φ) in enumerate(zip(self.heads, self.estimates, strict=True)):
            drawn = {**look(k), **options}
            self.ax_.plot(self.pseudo_counts, φ, label=count(heads, "head"), **drawn)
            end = (self.pseudo_counts[-1], φ[-1])
            self.ax_.annotate(count(heads, "head"), end, color=drawn["color"], **beside)
        rule = {"color": colours()["axis"], "linewidth": 0.6, "linestyle": ":"}
        self.ax_.axhline(0.5, **rule)
        self.ax_.axvline(1, **rule)
        self.ax_.annotate("λ = 1: Laplace's rule", (1, 1), color=colours()["muted"], **beside)
        self.ax_.set(
            xlabel="pseudo-count λ",
            ylabel=f"estimated φ after {count(self.tosses, 'toss', 'tosses')}",
            xlim=(0, self.pseudo_counts[-1]),
            ylim=(-0.02, 1.02),
        )
        return self
