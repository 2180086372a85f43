"""Draw the figures of Stanford's CS229 notes on generative learning.

The data are generated from fixed seeds, or shipped with scikit-learn. Figures of several panels
also have a narrow form, for phones, in which the panels are stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression

from genus.estimators import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    Discretizer,
    GaussianNB,
    MultinomialNB,
    TextClassifier,
)
from genus.plots.bins import BinsDisplay
from genus.plots.boundary import BoundaryDisplay
from genus.plots.evidence import EvidenceDisplay
from genus.plots.image import ImageDisplay, of_classes
from genus.plots.normal import NormalDisplay, as_matrix, both
from genus.plots.posterior import PosteriorDisplay
from genus.plots.sigmoid import SigmoidDisplay
from genus.plots.smoothing import SmoothingDisplay
from genus.plots.style import (
    NARROW,
    WIDE,
    as_file,
    colour,
    colours,
    legend,
    library,
    look,
    sheet,
    style,
)
from genus.solve.normal import MultivariateNormal

SPAM = ("Win cash now", "Claim your free prize now")
HAM = ("Lunch at noon?", "See you at the meeting")
FONTS = ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral", "cmr10", "cmss10")


def drawn(name: str, format: str = "svg", dark: bool = False) -> bytes:
    """Draw a figure in a file format; the same figure always gives the same bytes."""
    with style(dark):
        return as_file(FIGURES[name](), format)


def normals(names: Sequence[str], pairs: Sequence[tuple[Any, Any]], narrow: bool) -> Any:
    """Draw normal distributions side by side, on the same scale in all figures.

    The axes extend to 3, or to 5 for a distribution that would be cut off.
    """
    figure = sheet(NARROW, 5.6) if narrow else sheet(WIDE, 4.6)
    several = [MultivariateNormal(mean, covariance) for mean, covariance in pairs]
    reach = [5.0 if np.diagonal(one.covariance).max() > 2 else 3.0 for one in several]
    ax = both(figure, len(several), stacked=narrow)
    return NormalDisplay.from_distribution(
        several, names=names, reach=reach, top=0.27, ax=ax
    ).figure_


def normal_bell() -> Any:
    """Draw univariate normal densities: standard, shifted, narrower and wider."""
    ax = sheet(NARROW, 2.4).subplots()
    x = np.linspace(-5, 5, 201)
    for k, (mean, variance) in enumerate([(0, 1), (2, 1), (0, 0.25), (0, 4)]):
        density = MultivariateNormal(mean, variance).density(x[:, None])
        ax.plot(x, density, label=f"μ = {mean:g}, σ² = {variance:g}", **look(k))
    ax.set(xlabel="$x$", ylabel="p(x)", xlim=(-5, 5), ylim=(0, None))
    legend(ax, loc="upper left", fontsize=8)
    return ax.figure


def normal_variance(narrow: bool = False) -> Any:
    names = ("Σ = I", "Σ = 0.6 I", "Σ = 2 I")
    return normals(names, [((0, 0), scale * np.eye(2)) for scale in (1, 0.6, 2)], narrow)


def covariances(several: Sequence[Any], narrow: bool) -> Any:
    matrices = [np.array([[a, b], [b, c]]) for a, b, c in several]
    names = [as_matrix("Σ", one) for one in matrices]
    return normals(names, [((0, 0), one) for one in matrices], narrow)


def normal_covariance(narrow: bool = False) -> Any:
    return covariances([(1, 0, 1), (1, 0.5, 1), (1, 0.8, 1)], narrow)


def normal_negative(narrow: bool = False) -> Any:
    return covariances([(1, -0.5, 1), (1, -0.8, 1), (3, 0.8, 1)], narrow)


def normal_mean(narrow: bool = False) -> Any:
    means = ((1, 0), (-0.5, 0), (-1, -1.5))
    names = [f"μ = ({a:g}, {b:g})".replace("-", "−") for a, b in means]
    return normals(names, [(mean, np.eye(2)) for mean in means], narrow)


def two_species() -> tuple[Any, Any]:
    """Return the petals of two species of iris, and the species of each row."""
    flowers = load_iris(as_frame=True)
    X = flowers.data[["petal length (cm)", "petal width (cm)"]][50:]
    return X, flowers.target_names[flowers.target][50:]


def boundary(model: GDA, narrow: bool) -> Any:
    """Draw the petals of two species of iris, with a model of them."""
    X, y = two_species()
    ax = (sheet(NARROW, 2.1) if narrow else sheet(WIDE, 3.4)).subplots()
    figure = BoundaryDisplay.from_estimator(model.fit(X, y), X, y, ax=ax).figure_
    ax.set_aspect("equal")
    return figure


def gda_shared(narrow: bool = False) -> Any:
    return boundary(GDA(), narrow)


def gda_separate(narrow: bool = False) -> Any:
    return boundary(GDA(shared=False), narrow)


def lines(narrow: bool = False) -> Any:
    """Draw the petals of two species with the lines of GDA and of logistic regression."""
    X, y = two_species()
    figure = boundary(GDA(), narrow)
    ax = figure.axes[0]
    rival = LogisticRegression(C=1e4).fit(X.to_numpy(), y)
    (a, b), c = rival.coef_[0], rival.intercept_[0]
    length = np.array(ax.get_xlim())
    dashed = {"color": colours()["text"], "linestyle": (0, (5, 3)), "linewidth": 1.6}
    ax.plot(length, -(a * length + c) / b, **dashed)
    ax.annotate("GDA", (7.2, 1.1), ha="right", va="bottom")
    ax.annotate("logistic\nregression", (3.75, 2.58), va="top")
    return figure


def bells() -> Any:
    """Draw the heights of dogs and elephants, as on the page about Bayes' rule."""
    heights = np.array([[0.25], [0.4], [0.5], [0.6], [0.75], [1.1], [2.4], [2.8], [3.2]])
    model = GDA(shared=False).fit(heights, ["dog"] * 5 + ["elephant"] * 4)
    axes = sheet(NARROW, 3.4).subplots(2, 1, sharex=True)
    display = PosteriorDisplay.from_estimator(model, heights, ax=axes)
    axes[1].set(xlabel="height, metres", xlim=(0, 4))
    for k, own in enumerate((heights[:5], heights[5:])):
        axes[0].plot(own[:, 0], np.zeros(len(own)), "|", color=colour(k), markersize=9)
    return display.figure_


def sigmoids(narrow: bool = False) -> Any:
    """Draw the sigmoids of GDA and logistic regression if one class is far from normal."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(2, 0.7, 50), 2.6 + rng.exponential(2.5, 50)])[:, None]
    y = np.repeat([0, 1], 50)
    models = {
        "GDA": GDA().fit(X, y),
        "logistic regression": LogisticRegression(C=np.inf).fit(X, y),
    }
    if narrow:
        axes = sheet(NARROW, 3.8).subplots(2, 1, sharex=True)
    else:
        axes = sheet(WIDE, 2.4).subplots(1, 2, sharey=True)
    return SigmoidDisplay.from_estimators(models, X, y, ax=axes).figure_


def evidence() -> Any:
    labels = ["spam"] * len(SPAM) + ["ham"] * len(HAM)
    model = TextClassifier().fit([*SPAM, *HAM], labels)
    ax = sheet(NARROW, 2.2).subplots()
    return EvidenceDisplay.from_estimator(model, "Claim your free lunch now", ax=ax).figure_


def digits(narrow: bool = False) -> Any:
    X, y = load_digits(return_X_y=True)
    models = {
        "inked": BernoulliNB(binarize=7),
        "mean": GaussianNB(),
        "share": MultinomialNB(),
    }
    rows = {name: of_classes(model.fit(X, y)).reshape(-1, 8, 8) for name, model in models.items()}
    return images(rows, narrow)


def images(rows: dict[str, Any], narrow: bool, top: float | None = None) -> Any:
    """Draw rows of ten images (10, height, width); in a narrow form, five and then five.

    `top` is the pixel value that is drawn black, by default the largest in its row.
    """
    figure = sheet(NARROW, 4.4) if narrow else sheet(WIDE, 2.3)
    halves = [range(5), range(5, 10)] if narrow else [range(10)]
    axes = figure.subplots(len(rows) * len(halves), len(halves[0]))
    for half, places in zip(halves, np.split(axes, len(halves)), strict=True):
        for row, (label, drawn) in zip(places, rows.items(), strict=True):
            scale = {"vmin": min(float(drawn.min()), 0.0), "vmax": top or float(drawn.max())}
            ImageDisplay(drawn[half], half).plot(ax=row, **scale)
            row[0].set_ylabel(label)
        for place in places[1:].flat:
            place.set_title("")
    return figure


def printed_digits(each: int = 60, seed: int = 0) -> tuple[Any, Any]:
    """Return images of printed digits, (10 × each, 784) bits, and their digits.

    The fonts come with matplotlib. Each digit is turned, slanted, resized and moved at random.
    """
    rng = np.random.default_rng(seed)
    fonts = [library("matplotlib.font_manager").FontProperties(family=name) for name in FONTS]
    path, text = library("matplotlib.path").Path, library("matplotlib.textpath").TextPath
    bend = library("matplotlib.transforms").Affine2D
    pixels = np.stack(np.meshgrid(np.arange(28) - 13.5, 13.5 - np.arange(28)), -1).reshape(-1, 2)
    X, y = [], np.repeat(np.arange(10), each)
    for digit in y:
        glyph = text((0, 0), str(digit), size=1, prop=fonts[rng.integers(len(fonts))])
        box = glyph.get_extents()
        turn, slant = rng.normal(0, (0.08, 0.12))
        high, wide = 20 * rng.normal(1, 0.06, 2)
        moved = (
            bend()
            .translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2)
            .scale(wide / box.height, high / box.height)
            .skew(slant, 0)
            .rotate(turn)
            .translate(*rng.normal(0, 0.7, 2))
        )
        outlines = glyph.transformed(moved).to_polygons()
        X.append(np.logical_xor.reduce([path(one).contains_points(pixels) for one in outlines]))
    return np.array(X, dtype=np.uint8), y


def digits_28(narrow: bool = False) -> Any:
    """Draw digits of 28 × 28 pixels: from the data, the shares of ink, and from the model."""
    X, y = printed_digits()
    model = BernoulliNB().fit(X, y)
    made = [model.sample(1, y=digit, random_state=0)[0][0] for digit in range(10)]
    rows = {"given": X[::60], "shares": np.exp(model.feature_log_prob_), "drawn": np.array(made)}
    return images({name: pixels.reshape(-1, 28, 28) for name, pixels in rows.items()}, narrow)


def discretised() -> Any:
    rng = np.random.default_rng(4)
    areas = np.concatenate([rng.gamma(9, 85, 100), rng.gamma(12, 115, 100)])[:, None]
    cut = Discretizer(edges=[400, 800, 1200, 1600])
    model = CategoricalNB(bins=cut).fit(areas, np.repeat(["flat", "house"], 100))
    ax = sheet(NARROW, 2.4).subplots()
    return BinsDisplay.from_estimator(model, name="living area, square feet", ax=ax).figure_


def smoothing() -> Any:
    ax = sheet(NARROW, 3.2).subplots()  # so high that the labels of 0 and 1 heads do not touch
    return SmoothingDisplay.from_counts(5, [0, 1, 3, 5], ax=ax).figure_


STACKED: dict[str, Callable[..., Any]] = {  # figures that also have a narrow form
    "normal-variance": normal_variance,
    "normal-covariance": normal_covariance,
    "normal-negative": normal_negative,
    "normal-mean": normal_mean,
    "gda-shared": gda_shared,
    "gda-separate": gda_separate,
    "lines": lines,
    "sigmoids": sigmoids,
    "digits": digits,
    "digits-28": digits_28,
}
FIGURES: dict[str, Callable[[], Any]] = {
    "normal-bell": normal_bell,
    **STACKED,
    "bells": bells,
    "evidence": evidence,
    "discretised": discretised,
    "smoothing": smoothing,
    **{f"{name}-narrow": partial(figure, narrow=True) for name, figure in STACKED.items()},
}
