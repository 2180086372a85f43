"""Draw normal distributions in two dimensions, as surfaces and contours.

In two dimensions, the points with density p_max (1 - s) or more contain a share s of a normal
distribution: the squared distance (x - μ)ᵀ Σ⁻¹ (x - μ) exceeds r with probability exp(-r/2), and
the density falls by the same factor. So contours are drawn at shares instead of heights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from genus.display.text import number
from genus.plots.style import colours, library, panels, ramp
from genus.solve.normal import MultivariateNormal

POINTS = 61  # along each side
SHARES = (0.9, 0.7, 0.5, 0.3, 0.1)  # that contours enclose
REACH = 3.0  # standard deviations that are drawn
STEP = 3  # points from one line of a surface's mesh to the next
SKIRT = 0.015  # share of the top below which nothing is drawn, to show the floor
FLOOR = 0.5  # depth of the floor for contours, as a share of the top


class NormalDisplay:
    """Densities in two dimensions side by side: surfaces above, contours below.

    Each contour encloses a share of the distribution: 10, 30, 50, 70 and 90 %, or `shares`.

    Attributes
    ----------
    normals, names : the distributions, and their titles.
    x : points along both axes, (distributions, m).
    top : the height of the surfaces' box.
    density : p at the points of the plane, (distributions, m, m); the second axis is vertical.
    axes_, figure_ : the axes (rows, distributions) and the figure, once it is drawn.

    >>> from genus import MultivariateNormal
    >>> round_one = MultivariateNormal([0, 0], [[1, 0], [0, 1]])
    >>> NormalDisplay.from_distribution(round_one)  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Any

    def __init__(
        self,
        normals: Sequence[MultivariateNormal],
        names: Sequence[str] | None = None,
        *,
        reach: float | Sequence[float] | None = None,
        top: float | None = None,
    ) -> None:
        for normal in normals:
            if normal.dimension != 2:
                raise ValueError(
                    "Only normal distributions in 2 dimensions can be drawn, got "
                    f"{normal.dimension}. Choose two columns, for example with marginal([0, 1])."
                )
        self.normals = list(normals)
        self.names = [told(normal) for normal in normals] if names is None else list(names)
        if len(self.names) != len(self.normals):
            raise ValueError(
                f"{len(self.normals)} distributions need as many names; got {self.names}."
            )
        if reach is None:
            away = np.array([REACH * np.sqrt(np.diagonal(one.covariance)) for one in self.normals])
            mean = np.array([one.mean for one in self.normals])
            ends = np.broadcast_to([(mean - away).min(), (mean + away).max()], (len(normals), 2))
        else:
            far = np.broadcast_to(np.asarray(reach, dtype=float), len(self.normals))
            ends = np.stack([-far, far], axis=1)
        self.x = np.linspace(ends[:, 0], ends[:, 1], POINTS, axis=1)
        planes = [np.stack(np.meshgrid(x, x), axis=-1) for x in self.x]
        self.density = np.array([n.density(p) for n, p in zip(self.normals, planes, strict=True)])
        self.top = float(self.density.max()) if top is None else top

    @classmethod
    def from_distribution(
        cls,
        normals: MultivariateNormal | Sequence[MultivariateNormal],
        *,
        names: Sequence[str] | None = None,
        reach: float | Sequence[float] | None = None,
        top: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw one or several normal distributions on equal axes; options are as in `plot`.

        `reach` is how far the axes extend from zero, for all distributions or for each, and `top`
        is the height of the surfaces' box. With both given, several figures have the same scale.
        """
        several = [normals] if isinstance(normals, MultivariateNormal) else normals
        return cls(several, names, reach=reach, top=top).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, shares: Sequence[float] = SHARES, **options: Any) -> Self:
        """Draw on the given axes, or on new ones; options go to the contours.

        Give one axes for each distribution, or two rows of them. 3-D axes show a surface, others
        contours.
        """
        if ax is None:
            figure = library("matplotlib.pyplot").figure(layout="constrained")
            ax = both(figure, len(self.normals))
        rows = max(np.size(np.asarray(ax, dtype=object)) // len(self.normals), 1)
        self.axes_, self.figure_ = panels(ax, rows, len(self.normals))
        for row in self.axes_:
            for j, place in enumerate(row):
                if place.name == "3d":
                    self._surface(place, j)
                else:
                    self._contours(place, j, shares, options)
        for place, text in zip(self.axes_[0], self.names, strict=True):
            # A browser would drop the spaces before the second line of a matrix.
            shown = text.replace(" ", "\N{NO-BREAK SPACE}")
            place.set_title(shown, **({"family": "monospace"} if "⎡" in text else {}))
        return self

    def _surface(self, ax: Any, j: int) -> None:
        x, y = np.meshgrid(self.x[j], self.x[j])
        coarse = np.s_[::STEP, ::STEP]  # as vectors, a finer surface would be a large file
        scale = library("matplotlib.colors").PowerNorm(0.5, 0, self.top)
        floor = -FLOOR * self.top
        ax.plot_surface(
            x[coarse],
            y[coarse],
            np.where(self.density[j] > SKIRT * self.top, self.density[j], np.nan)[coarse],
            rcount=POINTS,
            ccount=POINTS,
            cmap=ramp(),
            norm=scale,
            linewidth=0.25,
            edgecolor=colours()["page"],
        )
        levels = self._levels(j, SHARES)
        lines = {"colors": colours()["class-0"], "linewidths": 0.8}
        ax.contour(x, y, self.density[j], levels, offset=floor, **lines)
        ax.set(zlim=(floor, self.top))
        ax.set_xlabel("$x_1$", labelpad=-7)
        ax.set_ylabel("$x_2$", labelpad=-7)
        ax.tick_params(pad=-3)
        ax.tick_params(axis="z", pad=-1)
        ax.view_init(elev=28, azim=-60)
        ax.set_box_aspect((4, 4, 3), zoom=1.12)
        for axis, ticks in ((ax.xaxis, (4, 4)), (ax.yaxis, (4, 4)), (ax.zaxis, (3, 5))):
            axis.set_pane_color(colours()["panel"])
            axis.set_major_locator(locator(*ticks))
        ax.set_zticks([z for z in ax.get_zticks() if 0 <= z <= self.top])

    def _contours(self, ax: Any, j: int, shares: Sequence[float], options: dict[str, Any]) -> None:
        normal = self.normals[j]
        levels = self._levels(j, shares)
        given = {} if "cmap" in options else {"colors": colours()["class-0"]}
        lines = {**given, "linewidths": 1, **options}
        ax.contour(self.x[j], self.x[j], self.density[j], levels, **lines)
        ax.plot(*normal.mean, marker="+", color=colours()["text"])
        ax.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(locator(6, 5))
        ax.grid(visible=True, linewidth=0.5)
        ax.set_axisbelow(True)

    def _levels(self, j: int, shares: Sequence[float]) -> NDArray[np.float64]:
        """Return the densities of contours that enclose certain shares of a distribution."""
        normal = self.normals[j]
        return np.asarray(normal.density(normal.mean) * (1 - np.sort(shares)[::-1]))


def locator(most: int, multiple: int) -> Any:
    """Return a tick locator: at most `most` steps of 1, 2 or `multiple` times a power of ten."""
    return library("matplotlib.ticker").MaxNLocator(most, steps=[1, 2, multiple, 10])


def both(figure: Any, columns: int, stacked: bool = False) -> NDArray[Any]:
    """Make axes for surfaces and for contours, (2, columns).

    Surfaces are above the contours; if `stacked`, each surface is to the left of its contours.
    """
    engine = figure.get_layout_engine()
    if isinstance(engine, library("matplotlib.layout_engine").ConstrainedLayoutEngine):
        # Older versions of matplotlib do not reserve room for the numbers of a third axis.
        engine.set(rect=(0, 0, 0.97, 1))
    if stacked:
        places = figure.add_gridspec(columns, 2)
        cells = [[places[j, i] for j in range(columns)] for i in range(2)]
    else:
        places = figure.add_gridspec(2, columns, height_ratios=(1.15, 1))
        cells = [[places[i, j] for j in range(columns)] for i in range(2)]
    surfaces = [figure.add_subplot(cell, projection="3d") for cell in cells[0]]
    contours = [figure.add_subplot(cell) for cell in cells[1]]
    return np.array([surfaces, contours], dtype=object)


def told(normal: MultivariateNormal) -> str:
    """Format a distribution by its mean and covariance."""
    mean = ", ".join(map(number, normal.mean))
    return f"μ = ({mean})\n{as_matrix('Σ', normal.covariance)}"


def as_matrix(symbol: str, Σ: NDArray[np.float64]) -> str:
    """Format a 2 by 2 matrix, in two lines.

    >>> print(as_matrix("Σ", np.array([[3, 0.8], [0.8, 1]])))
    Σ = ⎡  3 0.8⎤
        ⎣0.8   1⎦
    """
    cells = [[number(value) for value in row] for row in np.asarray(Σ)]
    wide = max(len(cell) for row in cells for cell in row)
    first, second = (" ".join(cell.rjust(wide) for cell in row) for row in cells)
    return f"{symbol} = ⎡{first}⎤\n{' ' * (len(symbol) + 3)}⎣{second}⎦"
