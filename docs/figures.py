"""Draw the pictures of the guides: `python docs/figures.py` writes them to docs/images.

A picture of a page shows the models that the code of this page fits: `names_of` runs that code.
"peers" shows figures that are printed in benchmarks.md. Pictures of several panels also have a
narrow form, for phones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from doctest import SKIP, DocTestParser
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import pyplot
from pandas import DataFrame
from scipy import stats
from sklearn.datasets import load_digits, load_iris

from genus import GDA, BernoulliNB, MultivariateNormal, TextClassifier
from genus.mail.boxes import messages_in
from genus.mail.judgement import BLOCKS, blocks
from genus.mail.sample import Sample
from genus.mail.spamfilter import SpamFilter
from genus.persistence.atomic import write_whole
from genus.plots import (
    BoundaryDisplay,
    ColumnDensityDisplay,
    DependenceDisplay,
    EvidenceDisplay,
    LearningCurveDisplay,
    NormalityDisplay,
    TreeDisplay,
    style,
)
from genus.plots.notes import HAM, SPAM, images
from genus.plots.style import NARROW, WIDE, as_file, colour, colours, hatch, look, sheet

HERE = Path(__file__).parent
MESSAGE = "Claim your free lunch now"
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


@cache
def names_of(page: str, until: str) -> dict[str, Any]:
    """Run the code of a page up to the line that begins with `until`, and return its names."""
    names: dict[str, Any] = {}
    for example in DocTestParser().get_examples((HERE / f"{page}.md").read_text()):
        if example.source.startswith(until):
            pyplot.close("all")
            return names
        if example.options.get(SKIP) or example.exc_msg:  # not run, or an error to show
            continue
        with redirect_stdout(StringIO()):
            exec(example.source, names)  # our own page
    raise ValueError(f"{page}.md has no line that begins with {until!r}.")


def tables_columns(narrow: bool = False) -> Any:
    """Three columns of the table on the page about tables, in each class."""
    page = names_of("tables", "print(model.summary())")
    axes = sheet(NARROW, 5.4).subplots(3, 1) if narrow else sheet(WIDE, 2.3).subplots(1, 3)
    for ax, column in zip(axes, ("visits", "age", "plan"), strict=True):
        ColumnDensityDisplay.from_estimator(page["model"], column, page["customers"], ax=ax)
        if column != "visits":
            ax.get_legend().remove()  # the same in all
    return axes[0].figure


def explaining_row() -> Any:
    """The contributions of the columns of wine to a prediction."""
    explanation = names_of("explaining", "print(explanation.describe")["explanation"]
    ax = sheet(1.4 * NARROW, 2.2).subplots()
    return EvidenceDisplay.from_explanation(explanation, most=6, ax=ax).figure_


def explaining_table(narrow: bool = False) -> Any:
    """How the odds of a loan depend on debt, and on debt and income."""
    table = names_of("explaining", "why = table.explain")["table"]
    one, two = sheet(NARROW, 5.0).subplots(2, 1) if narrow else sheet(WIDE, 2.6).subplots(1, 2)
    DependenceDisplay.from_estimator(table, "debt", ax=one)
    DependenceDisplay.from_estimator(table, "debt", "income", ax=two)
    return one.figure


def plots_column() -> Any:
    """A column of iris, in each class."""
    model = names_of("plots", "display = ColumnDensityDisplay")["model"]
    ax = sheet(NARROW, 2.6).subplots()
    return ColumnDensityDisplay.from_estimator(model, "petal length (cm)", ax=ax).figure_


def plots_tree() -> Any:
    """The tree of the bins of iris."""
    model = names_of("plots", "display.parents")["model"]
    ax = sheet(4.2, 1.5).subplots()
    return TreeDisplay.from_estimator(model, ax=ax).figure_


def discretising_cuts(narrow: bool = False) -> Any:
    """Two columns in each class, and the edges between their bins."""
    page = names_of("discretising", "from sklearn.datasets import load_iris")
    axes = sheet(NARROW, 4.2).subplots(2, 1) if narrow else sheet(WIDE, 2.2).subplots(1, 2)
    for ax, name, edges in zip(
        axes, ("informative", "noise"), page["cuts"].bin_edges_, strict=True
    ):
        values, y = page[name], page["y"]
        for k in (0, 1):
            drawn = {"color": colour(k), "hatch": hatch(k), "edgecolor": colours()["page"]}
            bars = np.linspace(values.min(), values.max(), 25)
            ax.hist(values[y == k], bars, alpha=0.7, label=f"class {k}", linewidth=0, **drawn)
        for edge in edges:
            ax.axvline(edge, color=colours()["text"], linewidth=1)
        ax.set(
            title=f"{name}: {len(edges)} cuts".replace(" 0", " no"),
            ylabel="rows",
            yticks=[0, 5, 10, 15],
        )
    axes[1].legend(loc="upper left")
    return axes[0].figure


def gaussian_axes() -> Any:
    """Iris on its two discriminant axes."""
    page = names_of("gaussian", "GDA(rank=1).fit")
    model = page["model"]
    shares = model.explained_variance_ratio_
    names = [f"axis {j + 1} ({share:.1%})".replace("%", " %") for j, share in enumerate(shares)]
    rows = DataFrame(model.transform(page["X"]), columns=names)
    species = load_iris().target_names[page["y"]]
    ax = sheet(4.2, 1.9).subplots()
    ax.set_aspect("equal")
    return BoundaryDisplay.from_estimator(GDA().fit(rows, species), rows, species, ax=ax).figure_


def missing_value(narrow: bool = False) -> Any:
    """Two classes in both columns, and in one, for a row whose other value is missing."""
    page = names_of("missing", "holes =")
    X, y, gda = (page[name] for name in ("X", "y", "gda"))
    figure = sheet(NARROW, 5.0) if narrow else sheet(WIDE, 2.6)
    both, one = figure.subplots(*((2, 1) if narrow else (1, 2)), sharex=True)
    BoundaryDisplay.from_estimator(gda, X, y, ax=both)
    x = np.linspace(*both.get_xlim(), 201)[:, None]
    for k, (mean, label) in enumerate(zip(gda.means_, gda.classes_, strict=True)):
        density = MultivariateNormal(mean, gda.covariance_).marginal([0]).density(x)
        one.plot(x, 0.5 * density, label=label, **look(k))
    for ax in (both, one):
        ax.axvline(3, color=colours()["text"], linewidth=0.9, linestyle=":")
    one.set(title="the first column alone", xlabel="$x_1$", ylabel="$p(x_1, y)$", ylim=(0, None))
    return figure


def evaluating_costs() -> Any:
    """The cost of the decisions on tumours, by threshold."""
    page = names_of("evaluating", "found = careful.metrics()")
    benign, kind = page["plain"].probabilities[:, 1], page["kind"]
    thresholds = np.linspace(0, 1, 501)[1:-1]
    called = benign[:, None] >= thresholds
    wrong = np.where(kind[:, None] == 0, 5 * called, ~called)
    ax = sheet(NARROW, 2.4).subplots()
    ax.plot(thresholds, wrong.mean(axis=0), color=colour(0))
    for at, name in ((1 / 2, "plain"), (5 / 6, "careful")):
        cost = np.interp(at, thresholds, wrong.mean(axis=0))
        ax.plot(at, cost, "o", color=colours()["text"], markersize=4)
        ax.annotate(
            f"{name}: {cost:.3f}",
            (at, cost),
            (-4, -5),
            textcoords="offset points",
            ha="right",
            va="top",
        )
    ax.set(xlabel="threshold of p(benign)", ylabel="cost for each row", xlim=(0, 1), ylim=(0, None))
    return ax.figure


def text_evidence() -> Any:
    """What each word of the message on the page about texts adds."""
    model = names_of("text", "batches =")["model"]
    ax = sheet(NARROW, 2.2).subplots()
    message = "Call now, the frobnicated prize is yours: call today!"
    return EvidenceDisplay.from_estimator(model, message, ax=ax).figure_


def mail_scores() -> Any:
    """The scores of the example messages, and the bounds between the three verdicts."""
    examples = HERE.parent / "examples/mail"
    with TemporaryDirectory() as folder, closing(SpamFilter.open(f"{folder}/store")) as spam_filter:
        for name in ("spam", "ham"):
            box = messages_in([str(examples / f"{name}.mbox")])
            spam_filter.learn([raw for _, raw in box], spam=name == "spam")
        judgement, totals = spam_filter.judgement, spam_filter.store.totals()
        lessons = [each for s in (False, True) for each in spam_filter.store.newest(999, s)]
        sample = Sample.of(lessons, spam_filter.store, totals)
        new = spam_filter.check_many(raw for _, raw in messages_in([str(examples / "new.mbox")]))
        rows = {"new messages": np.array([each.score for each in new])}
    x, _ = sample.without(blocks(sample.spam, BLOCKS))
    scores = x @ judgement.vector + judgement.constant
    rows |= {"learned spam": scores[sample.spam], "learned ham": scores[~sample.spam]}
    ax = sheet(1.4 * NARROW, 2.0).subplots()
    low, high = judgement.ham_end, judgement.threshold()
    ax.axvspan(low, high, color=colours()["muted"], alpha=0.15, linewidth=0)
    for number, (name, values) in enumerate(rows.items()):
        k = {"learned ham": 0, "learned spam": 1}.get(name)
        drawn = colours()["text"] if k is None else colour(k)
        ax.plot(values, np.full(len(values), number), "o", color=drawn, alpha=0.6, markersize=5)
    ends = 1.08 * np.abs(scores).max() * np.array([-1, 1])
    middles = (ends[0] + low) / 2, (low + high) / 2, (high + ends[1]) / 2
    for verdict, middle in zip(("ham", "unsure", "spam"), middles, strict=True):
        ax.text(middle, len(rows) - 0.35, verdict, ha="center")
    ax.set(yticks=range(len(rows)), yticklabels=rows, ylim=(-0.5, len(rows)), xlim=ends)
    ticks = (-5, low, high, 5)
    ax.set_xticks(ticks, [f"{each:+.3g}".replace("-", "−") for each in ticks])
    ax.set_xlabel("score, the log-odds of spam")
    ax.tick_params(axis="y", length=0)
    return ax.figure


def families(narrow: bool = False) -> Any:
    """Draw p(x|y) of two classes in each of six families."""
    figure = sheet(NARROW, 5.0) if narrow else sheet(WIDE, 3.4)
    axes = figure.subplots(*((3, 2) if narrow else (2, 3))).ravel()
    line, few = np.linspace(0, 10, 201), np.arange(11)
    curves = {
        "GaussianNB, GDA": ("a measurement", stats.norm(3, 1), stats.norm(6, 1.4)),
        "GammaNB": ("a positive number", stats.gamma(2, scale=0.8), stats.gamma(5, scale=1)),
    }
    for ax, (title, (told, *classes)) in zip(axes, curves.items(), strict=False):
        for k, one in enumerate(classes):
            ax.plot(line, one.pdf(line), **look(k))
            ax.fill_between(line, one.pdf(line), color=colour(k), alpha=0.12, linewidth=0)
        ax.set(title=title, xlabel=told, xticks=[0, 5, 10])
    bars = {
        "PoissonNB": ("a number of events", few, *(stats.poisson(λ).pmf(few) for λ in (2, 6))),
        "BernoulliNB": ("yes or no", ("no", "yes"), (0.8, 0.2), (0.35, 0.65)),
        "CategoricalNB": ("a category", ("red", "blue", "green"), (0.6, 0.3, 0.1), (0.2, 0.3, 0.5)),
        "CategoricalNB with bins": (
            "a number, cut",
            ("< 2", "2–4", "4–6", "≥ 6"),
            (0.4, 0.1, 0.1, 0.4),
            (0.1, 0.4, 0.4, 0.1),
        ),
    }
    for ax, (title, (told, values, *classes)) in zip(axes[2:], bars.items(), strict=True):
        for k, shares in enumerate(classes):
            at = np.arange(len(values)) + 0.4 * (k - 0.5)
            drawn = {"color": colour(k), "hatch": hatch(k), "edgecolor": colours()["page"]}
            ax.bar(at, shares, 0.4, linewidth=0, **drawn)
        ticks = range(0, 11, 5) if len(values) > 5 else range(len(values))
        ax.set(title=title, xlabel=told, xticks=ticks, xticklabels=[values[i] for i in ticks])
    for ax in axes:
        ax.set(yticks=[], ylim=(0, None))
        ax.spines["left"].set_visible(False)
    return figure


def merging(narrow: bool = False) -> Any:
    """Draw how often each pixel is inked: in the digits of two parts, and in all of them."""
    X, y = load_digits(return_X_y=True)
    parts = [BernoulliNB(binarize=7.5).fit(X[s], y[s]) for s in (slice(1200), slice(1200, None))]
    rows = {"    1,200": parts[0], "+    597": parts[1], "= 1,797": parts[0] + parts[1]}
    counts = {label: model.feature_count_.reshape(-1, 8, 8) for label, model in rows.items()}
    figure = images(counts, narrow, top=counts["= 1,797"].max())
    for ax in figure.axes:
        ax.yaxis.label.set(rotation=0, ha="right", va="center")
    return figure


def compare_wine(narrow: bool = False) -> Any:
    """The learning curves of the page on comparing, and how normal the classes of wine are."""
    found = names_of("compare", "print(found.advice")["found"]
    axes = sheet(NARROW, 6.6).subplots(3, 1) if narrow else sheet(WIDE, 2.6).subplots(1, 3)
    LearningCurveDisplay.from_comparison(found, ax=axes[:2])
    NormalityDisplay.from_comparison(found, ax=axes[2])
    return axes[0].figure


def front(narrow: bool = False) -> Any:
    """Iris in two columns by GDA with one Σ for each class, beside the evidence of a message."""
    if narrow:
        left, right = sheet(NARROW, 4.8).subplots(2, 1, height_ratios=[1.3, 1])
    else:
        left, right = sheet(WIDE, 2.9).subplots(1, 2, width_ratios=[1.1, 1])
    iris = load_iris(as_frame=True)
    petals = iris.data[["petal length (cm)", "petal width (cm)"]]
    species = iris.target_names[iris.target]
    BoundaryDisplay.from_estimator(GDA(shared=False).fit(petals, species), petals, species, ax=left)
    texts, labels = [*SPAM, *HAM], ["spam"] * len(SPAM) + ["ham"] * len(HAM)
    EvidenceDisplay.from_estimator(TextClassifier().fit(texts, labels), [MESSAGE], ax=right)
    for side in ("left", "center", "right"):
        right.set_title("", loc=side)
    right.set_title(f"“{MESSAGE}”")
    return left.figure


def peers(narrow: bool = False) -> Any:
    """Bars of the mean log loss on the sets of UCI, and of speed-ups."""
    page = (HERE / "benchmarks.md").read_text()
    left, right = sheet(NARROW, 4.2).subplots(2, 1) if narrow else sheet(WIDE, 2.3).subplots(1, 2)
    bars(left, PEERS, log_losses(page), "{:.3f}")
    title = "Mean log loss, 20 data sets (less is better)"
    left.set_title(title.replace(" (", "\n(") if narrow else title)
    bars(right, [told for *_, told in JOBS], [speed_up(page, *job[:2]) for job in JOBS], "{:.0f} ×")
    right.set_title("Speed-up over scikit-learn")
    return left.figure


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


FIGURES: dict[str, Callable[..., Any]] = {
    "front": front,
    "peers": peers,
    "tables-columns": tables_columns,
    "explaining-row": explaining_row,
    "explaining-table": explaining_table,
    "plots-column": plots_column,
    "plots-tree": plots_tree,
    "discretising-cuts": discretising_cuts,
    "gaussian-axes": gaussian_axes,
    "missing-value": missing_value,
    "evaluating-costs": evaluating_costs,
    "text-evidence": text_evidence,
    "mail-scores": mail_scores,
    "families": families,
    "merging": merging,
    "compare/wine": compare_wine,
}
STACKED = ("front", "peers", "tables-columns", "explaining-table", "families", "merging")
STACKED += ("compare/wine", "discretising-cuts", "missing-value")


def drawn(name: str, dark: bool = False, narrow: bool = False) -> bytes:
    """Return a picture as SVG; each time the same."""
    with style(dark):
        return as_file(FIGURES[name](**({"narrow": True} if narrow else {})), "svg")


if __name__ == "__main__":
    for name in FIGURES:
        for narrow in (False, True) if name in STACKED else (False,):
            for dark in (False, True):
                form = f"{'-narrow' if narrow else ''}{'-dark' if dark else ''}"
                write_whole(HERE / "images" / f"{name}{form}.svg", drawn(name, dark, narrow))
