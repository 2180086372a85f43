"""Draw the figures of Stanford's CS229 notes on generative learning.

The data are generated from fixed seeds; the digits are scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from genus.plots.image import ImageDisplay
from genus.plots.normal import NormalDisplay, as_matrix, both
from genus.plots.posterior import PosteriorDisplay
from genus.plots.sigmoid import SigmoidDisplay
from genus.plots.smoothing import SmoothingDisplay
from genus.plots.style import NARROW, WIDE, as_file, colour, colours, legend, look, sheet, style
from genus.solve.normal import MultivariateNormal

SPAM = (
    "Win cash now",
    "Claim your free prize now",
    "Free cash prize, claim now",
    "Urgent: your free prize waits",
)
HAM = (
    "Lunch at noon?",
    "See you at the meeting",
    "The meeting is at noon now",
    "Thanks for lunch, your turn next",
)


def drawn(name: str, format: str = "svg", dark: bool = False) -> bytes:
    """Draw a figure as a file of a format, always the same."""
    with style(dark):
        return as_file(FIGURES[name](), format)


def normals(names: Sequence[str], pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Draw normal distributions side by side, on one scale in all figures.

    The axes extend to 3, or to 5 for a distribution that would be cut off.
    """
    figure = sheet(WIDE, 4.6)
    several = [MultivariateNormal(mean, covariance) for mean, covariance in pairs]
    reach = [5.0 if np.diagonal(one.covariance).max() > 2 else 3.0 for one in several]
    ax = both(figure, len(several))
    return NormalDisplay.from_distribution(
        several, names=names, reach=reach, top=0.27, ax=ax
    ).figure_


def normal_bell() -> Any:
    """Draw univariate normal densities: the standard one, a shifted, a narrower and a wider one."""
    ax = sheet(NARROW, 2.4).subplots()
    x = np.linspace(-5, 5, 201)
    for k, (mean, variance) in enumerate([(0, 1), (2, 1), (0, 0.25), (0, 4)]):
        density = MultivariateNormal(mean, variance).density(x[:, None])
        ax.plot(x, density, label=f"μ = {mean:g}, σ² = {variance:g}", **look(k))
    ax.set(xlabel="$x$", ylabel="p(x)", xlim=(-5, 5), ylim=(0, None))
    legend(ax, loc="upper left", fontsize=8)
    return ax.figure


def normal_variance() -> Any:
    names = ("Σ = I", "Σ = 0.6 I", "Σ = 2 I")
    return normals(names, [((0, 0), scale * np.eye(2)) for scale in (1, 0.6, 2)])


def covariances(several: Sequence[Any]) -> Any:
    matrices = [np.array([[a, b], [b, c]]) for a, b, c in several]
    names = [as_matrix("Σ", one) for one in matrices]
    return normals(names, [((0, 0), one) for one in matrices])


def normal_covariance() -> Any:
    return covariances([(1, 0, 1), (1, 0.5, 1), (1, 0.8, 1)])


def normal_negative() -> Any:
    return covariances([(1, -0.5, 1), (1, -0.8, 1), (3, 0.8, 1)])


def normal_mean() -> Any:
    means = ((1, 0), (-0.5, 0), (-1, -1.5))
    names = [f"μ = ({a:g}, {b:g})".replace("-", "−") for a, b in means]
    return normals(names, [(mean, np.eye(2)) for mean in means])


def two_species() -> tuple[Any, Any]:
    """Return the petals of two species of iris, and the species of each."""
    flowers = load_iris(as_frame=True)
    X = flowers.data[["petal length (cm)", "petal width (cm)"]][50:]
    return X, flowers.target_names[flowers.target][50:]


def boundary(model: GDA) -> Any:
    """Draw the petals of two species of iris with a model of them."""
    X, y = two_species()
    ax = sheet(WIDE, 3.4).subplots()
    figure = BoundaryDisplay.from_estimator(model.fit(X, y), X, y, ax=ax).figure_
    ax.set_aspect("equal")
    return figure


def gda_shared() -> Any:
    return boundary(GDA())


def gda_separate() -> Any:
    return boundary(GDA(shared=False))


def lines() -> Any:
    """Draw the petals of two species with the lines of GDA and of logistic regression."""
    X, y = two_species()
    figure = boundary(GDA())
    ax = figure.axes[0]
    rival = LogisticRegression(C=1e4).fit(X.to_numpy(), y)
    (a, b), c = rival.coef_[0], rival.intercept_[0]
    length = np.array(ax.get_xlim())
    dashed = {"color": colours()["text"], "linestyle": (0, (5, 3)), "linewidth": 1.6}
    ax.plot(length, -(a * length + c) / b, **dashed)
    ax.annotate("GDA", (7.2, 1.1), ha="right", va="bottom")
    ax.annotate("logistic regression", (5.95, 0.9), ha="right")
    return figure


def bells() -> Any:
    """Draw dogs and elephants by their height, as on the page about Bayes' rule."""
    heights = np.array([[0.25], [0.4], [0.5], [0.6], [0.75], [1.1], [2.4], [2.8], [3.2]])
    model = GDA(shared=False).fit(heights, ["dog"] * 5 + ["elephant"] * 4)
    axes = sheet(NARROW, 3.4).subplots(2, 1, sharex=True)
    display = PosteriorDisplay.from_estimator(model, heights, ax=axes)
    axes[1].set(xlabel="height, metres", xlim=(0, 4))
    for k, own in enumerate((heights[:5], heights[5:])):
        axes[0].plot(own[:, 0], np.zeros(len(own)), "|", color=colour(k), markersize=9)
    return display.figure_


def sigmoids() -> Any:
    """Draw both sigmoids if a class is not normal: distant rows flatten only that of GDA."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(2, 0.7, 50), 2.6 + rng.exponential(2.5, 50)])[:, None]
    y = np.repeat([0, 1], 50)
    models = {
        "GDA": GDA().fit(X, y),
        "logistic regression": LogisticRegression(C=np.inf).fit(X, y),
    }
    axes = sheet(WIDE, 2.4).subplots(1, 2, sharey=True)
    return SigmoidDisplay.from_estimators(models, X, y, ax=axes).figure_


def evidence() -> Any:
    labels = ["spam"] * len(SPAM) + ["ham"] * len(HAM)
    model = TextClassifier().fit([*SPAM, *HAM], labels)
    ax = sheet(NARROW, 2.4).subplots()
    text = "Claim your free lunch at noon: prize meeting now"
    return EvidenceDisplay.from_estimator(model, text, label="spam", ax=ax).figure_


def digits() -> Any:
    X, y = load_digits(return_X_y=True)
    models = {
        "inked": BernoulliNB(binarize=7),
        "mean": GaussianNB(),
        "share": MultinomialNB(),
    }
    figure = sheet(WIDE, 2.3)
    axes = figure.subplots(len(models), 10)
    for row, (label, model) in zip(axes, models.items(), strict=True):
        ImageDisplay.from_estimator(model.fit(X, y), ax=row)
        row[0].set_ylabel(label)
    for place in axes[1:].flat:
        place.set_title("")
    return figure


def discretised() -> Any:
    rng = np.random.default_rng(4)
    areas = np.concatenate([rng.gamma(9, 85, 100), rng.gamma(12, 115, 100)])[:, None]
    cut = Discretizer(edges=[400, 800, 1200, 1600])
    model = CategoricalNB(bins=cut).fit(areas, np.repeat(["flat", "house"], 100))
    ax = sheet(NARROW, 2.4).subplots()
    return BinsDisplay.from_estimator(model, name="living area, square feet", ax=ax).figure_


def smoothing() -> Any:
    ax = sheet(NARROW, 2.4).subplots()
    return SmoothingDisplay.from_counts(5, [0, 1, 3, 5], ax=ax).figure_


FIGURES: dict[str, Callable[[], Any]] = {
    "normal-bell": normal_bell,
    "normal-variance": normal_variance,
    "normal-covariance": normal_covariance,
    "normal-negative": normal_negative,
    "normal-mean": normal_mean,
    "gda-shared": gda_shared,
    "gda-separate": gda_separate,
    "lines": lines,
    "bells": bells,
    "sigmoids": sigmoids,
    "evidence": evidence,
    "digits": digits,
    "discretised": discretised,
    "smoothing": smoothing,
}
