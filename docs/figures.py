"""Draw the pictures of the front page: `python docs/figures.py` writes them to docs/images.

The first shows three classes with the boundaries between them, and a message explained. The second
shows figures that are printed in benchmarks.md: log loss beside other classifiers, and the speed-up
over scikit-learn.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sklearn.datasets import load_iris

from genus import GDA, TextClassifier
from genus.persistence.atomic import write_whole
from genus.plots import BoundaryDisplay, EvidenceDisplay, style
from genus.plots.notes import HAM, SPAM
from genus.plots.style import WIDE, as_file, colours, sheet

HERE = Path(__file__).parent
MESSAGE = "Claim your free lunch at noon now"
# The line of a job in benchmarks.md, the peer's line below it, and what the chart calls it.
JOBS = (
    ("GDA fit, 500k×100", "scikit-learn LDA(solver='svd')", "discriminant analysis"),
    ("Gaussian NB fit, 500k×100", "scikit-learn GaussianNB()", "Gaussian naive Bayes"),
    ("Categorical NB fit, 500k×20", "scikit-learn CategoricalNB()", "categorical naive Bayes"),
    ("Bernoulli NB predict, 60k×784", "scikit-learn BernoulliNB", "Bernoulli, predict"),
)
PEERS = (
    "genus",
    "Gaussian + categorical\nnaive Bayes",
    "naive Bayes\nof 10 bins",
    "logistic regression",
    "forest of 200 trees",
)


def front() -> Any:
    """Iris in two columns by GDA with one Σ for each class, beside the evidence of a message."""
    figure = sheet(WIDE, 2.9)
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    iris = load_iris(as_frame=True)
    petals = iris.data[["petal length (cm)", "petal width (cm)"]]
    species = iris.target_names[iris.target]
    BoundaryDisplay.from_estimator(GDA(shared=False).fit(petals, species), petals, species, ax=left)
    texts, labels = [*SPAM, *HAM], ["spam"] * len(SPAM) + ["ham"] * len(HAM)
    EvidenceDisplay.from_estimator(TextClassifier().fit(texts, labels), [MESSAGE], ax=right)
    for side in ("left", "center", "right"):
        right.set_title("", loc=side)
    right.set_title(f"“{MESSAGE}”")
    return figure


def peers() -> Any:
    """Bars of the mean log loss on the sets of UCI, and of speed-ups."""
    page = (HERE / "benchmarks.md").read_text()
    figure = sheet(WIDE, 2.3)
    left, right = figure.subplots(1, 2)
    bars(left, PEERS, log_losses(page), "{:.3f}")
    left.set_title("Mean log loss, 20 data sets (less is better)")
    bars(right, [told for *_, told in JOBS], [speed_up(page, *job[:2]) for job in JOBS], "{:.0f} ×")
    right.set_title("Speed-up over scikit-learn")
    return figure


def bars(ax: Any, names: Any, values: Any, told: str) -> None:
    """Draw one bar for each name, the first on top, with its value."""
    chosen = [
        colours()["class-0" if "genus" in n or told == "{:.0f} ×" else "muted"] for n in names
    ]
    drawn = ax.barh(range(len(names)), values, color=chosen, height=0.62)
    ax.bar_label(drawn, [told.format(value) for value in values], padding=3)
    ax.set(yticks=range(len(names)), yticklabels=names, xticks=[], xlim=(0, 1.18 * max(values)))
    ax.invert_yaxis()
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(length=0)


def log_losses(page: str) -> list[float]:
    """Return the mean log losses that the page on benchmarks prints, one for each classifier."""
    (line,) = re.findall(r"\| mean of the 20 of UCI +\|(.*)\|", page)
    return [float(cell.split("/")[1].strip(" *")) for cell in line.split("|")]


def speed_up(page: str, job: str, peer: str) -> float:
    """Return how many times as long as genus a peer takes for a job."""
    below = page[page.index(f"**{job}") :]
    line = below[below.index(f"| {peer}") :].splitlines()[0]
    return float(line.split("|")[3])


FIGURES = {"front": front, "peers": peers}


def drawn(name: str, dark: bool = False) -> bytes:
    """Return a picture as SVG; each time the same."""
    with style(dark):
        return as_file(FIGURES[name](), "svg")


if __name__ == "__main__":
    for name in FIGURES:
        for dark in (False, True):
            path = HERE / "images" / f"{name}{'-dark' if dark else ''}.svg"
            write_whole(path, drawn(name, dark))
