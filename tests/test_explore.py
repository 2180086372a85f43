"""The explorables of the notes: their numbers are the package's, and they can be dragged.

All nine stand on one page here, which Chromium opens from a file. Their closed forms are compared
with the package on random input; the Python line that a panel shows is run and compared with the
numbers beside it.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression, Perceptron

import chromium
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    Discretizer,
    GaussianNB,
    MultivariateNormal,
    PoissonNB,
    TextClassifier,
    cross_validate,
)
from genus.display.palette import DARK, LIGHT
from scope import at_night, nightly

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "explore"
NAMES = [
    "normal",
    "bayes",
    "gda",
    "sigmoid",
    "which-one",
    "naive-bayes",
    "smoothing",
    "discretising",
    "digits",
]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
SEEDS = at_night(range(20), 0)


@pytest.fixture(scope="module")
def bundler() -> Any:
    """Return docs/explore/bundle.py as a module."""
    sys.path.insert(0, str(FOLDER))
    try:
        import bundle
    finally:
        sys.path.remove(str(FOLDER))
    return bundle


@pytest.fixture(scope="module")
def address(bundler: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page with all explorables, and nothing else."""
    folder = tmp_path_factory.mktemp("explore")
    (folder / "explore.js").write_text(bundler.bundle(), encoding="utf-8")
    (folder / "explore.css").write_text((FOLDER / "explore.css").read_text("utf-8"), "utf-8")
    roles = {
        "color-background-primary": "page",
        "color-background-secondary": "panel",
        "color-background-border": "rule",
        "color-foreground-primary": "text",
        "color-foreground-secondary": "muted",
    }
    themes = []
    for colours in (LIGHT, DARK):
        named = {**colours, **{name: colours[of] for name, of in roles.items()}}
        themes.append(" ".join(f"--{name}: {colour};" for name, colour in named.items()))
    figures = "\n".join(
        f'<div class="explorable" id="explore-{name}" data-explorable="{name}"></div>'
        for name in NAMES
    )
    page = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>All</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src file:;
 style-src file:; img-src data:">
<link rel="icon" href="data:,"><link rel="stylesheet" href="theme.css">
<link rel="stylesheet" href="explore.css"></head>
<body><main><h1>All</h1>{figures}</main><script src="explore.js"></script></body></html>"""
    style = f"""body {{ {themes[0]} background: var(--page); color: var(--text);
 max-width: 46rem; margin: 0 auto; font-family: sans-serif; }}
@media (prefers-color-scheme: dark) {{ body {{ {themes[1]} }} }}
code, pre {{ font-family: monospace; }}"""
    (folder / "theme.css").write_text(style, "utf-8")
    path = folder / "all.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


class Page:
    """The page in the browser, and how to ask it."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, query: str = "") -> None:
        """Load the page, at the state that the query says."""
        self.browser.get(f"{self.address}{query}")

    def run(self, script: str, *given: Any) -> Any:
        """Run a script in the page."""
        return self.browser.execute_script(script, *given)

    def math(self, call: str, **given: Any) -> Any:
        """Return the value of an expression of the functions of math.js and some input."""
        names = ", ".join(given)
        script = f"""const m = genusExplore.math; const {{ {names} }} = arguments[0];
            return JSON.stringify({call}, (key, v) =>
                typeof v === 'number' && !Number.isFinite(v) ? String(v) : v);"""
        return json.loads(self.run(script, json.loads(json.dumps(given, default=plain))))

    def panel(self, name: str) -> dict[str, Any]:
        """Return the state of a panel, and what it shows."""
        return self.run(
            """const p = genusExplore.panels.get(arguments[0]);
            return {state: p.state, answer: p.answer, python: p.code.textContent,
                    words: p.described.textContent, shown: p.formula.textContent}""",
            name,
        )

    def set(self, name: str, **state: Any) -> dict[str, Any]:
        """Change the state of a panel, as a control would."""
        self.run("genusExplore.panels.get(arguments[0]).set(arguments[1])", name, state)
        return self.panel(name)

    def start(self, *names: str) -> None:
        """Return panels to the state that they start with, without loading the page again."""
        script = (
            "for (const p of arguments[0].map((n) => genusExplore.panels.get(n))) p.set(p.start)"
        )
        self.run(script, names)

    def find(self, name: str, selector: str) -> Any:
        """Return an element of a panel, scrolled into view."""
        found = self.run(
            "return document.querySelector(`#explore-${arguments[0]} ${arguments[1]}`)",
            name,
            selector,
        )
        assert found is not None, f"{name} has no {selector}"
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        return found

    def middle(self, element: Any) -> tuple[float, float]:
        """Return where an element is in the window."""
        x, y = self.run(
            """const b = (arguments[0].querySelector('.ex-dot, .ex-cross') ?? arguments[0])
                .getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]""",
            element,
        )
        return x, y

    def drag(
        self, name: str, selector: str, right: float, down: float, touch: bool = False
    ) -> None:
        """Drag an element by some pixels, with the mouse or a finger."""
        x, y = self.middle(self.find(name, selector))
        path = [(x + right * s, y + down * s) for s in (0, 0.3, 0.7, 1)]
        chromium.drag(self.browser, path, touch)

    def press(self, name: str, selector: str, *keys: str) -> None:
        """Focus an element and press keys."""
        element = self.find(name, selector)
        self.run("arguments[0].focus()", element)
        chromium.press(self.browser, *keys)


def plain(value: Any) -> Any:
    """Return an array as lists, a NumPy number as a number."""
    return value.tolist()


@pytest.fixture(scope="module")
def page(browser: Any, address: str) -> Iterator[Page]:
    """Return the page, loaded; nothing may have been said on the console in the end."""
    chromium.emulate(browser)
    browser.set_window_size(1280, 900)
    browser.get_log("browser")
    made = Page(browser, address)
    made.open()
    yield made
    assert browser.get_log("browser") == []
    own = address.rpartition("/")[0]
    asked = chromium.requested(browser)
    assert [url for url in asked if not url.startswith((own, "data:,"))] == []


# The closed forms, against the package


def covariance(rng: np.random.Generator) -> np.ndarray:
    """Return a random covariance of two columns."""
    root = rng.normal(size=(2, 2))
    return root @ root.T + 0.05 * np.eye(2)


def three(sigma: np.ndarray) -> list[float]:
    """Return the numbers of a symmetric matrix that math.js takes."""
    return [sigma[0, 0], sigma[0, 1], sigma[1, 1]]


def normal(page: Page, rng: np.random.Generator) -> None:
    mean, sigma, points = rng.normal(size=2), covariance(rng), rng.normal(size=(20, 2))
    found = page.math(
        "points.map((p) => m.logNormal2(p, mean, s))", points=points, mean=mean, s=three(sigma)
    )
    assert np.allclose(found, MultivariateNormal(mean, sigma).log_density(points), **CLOSE)
    axes = page.math("m.eigen(s)", s=three(sigma))
    assert np.allclose(axes["values"][::-1], np.linalg.eigvalsh(sigma), **CLOSE)
    again = page.math("m.fromAxes(values, angle)", **axes)
    assert np.allclose(again, three(sigma), **CLOSE)


def bells(page: Page, rng: np.random.Generator) -> None:
    mean, variance, x = rng.normal(), rng.gamma(2), rng.normal(size=9)
    found = page.math(
        "x.map((v) => m.logNormal(v, mean, variance))", x=x, mean=mean, variance=variance
    )
    expected = MultivariateNormal(mean, variance).log_density(x[:, None])
    assert np.allclose(found, expected, **CLOSE)
    z = np.concatenate([rng.normal(size=50) * 4, [-37.0, -8, -4, -3.9999, 0, 4, 8, 30]])
    assert np.allclose(page.math("z.map(m.normalCdf)", z=z), stats.norm.cdf(z), rtol=1e-9, atol=0)


def gda(page: Page, rng: np.random.Generator) -> None:
    for classes in 2, 3:
        y = np.arange(30) % classes
        X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 2)) + y[:, None]
        at = rng.normal(size=(5, 2))
        points = np.column_stack([X, y])
        for shared in True, False:
            model = GDA(shared=shared).fit(X, y)
            found = page.math(
                "at.map(m.gdaScorer(m.fitGda(points, classes, shared)))",
                at=at,
                points=points,
                classes=classes,
                shared=shared,
            )
            assert np.allclose(found, model.predict_joint_log_proba(at), **CLOSE)
    X, y = X[y < 2], y[y < 2]
    line = page.math("m.gdaTheta(m.fitGda(points, 2, true))", points=np.column_stack([X, y]))
    model = GDA().fit(X, y)
    assert np.allclose(
        [*line["theta"], line["constant"]], [*model.coef_[0], *model.intercept_], **CLOSE
    )


def logistic(page: Page, rng: np.random.Generator) -> None:
    for classes in 2, 3:
        y = np.arange(40) % classes
        X = rng.normal(size=(40, 2)) + 0.9 * np.column_stack([y == 1, y == 2])
        rival = LogisticRegression(C=1e4, solver="newton-cholesky", tol=1e-12, max_iter=1000)
        found = page.math(
            "(({scores}) => X.map((row) => m.softmax(scores(row))))(m.fitLogistic(X, y, classes))",
            X=X,
            y=y,
            classes=classes,
        )
        assert np.allclose(found, rival.fit(X, y).predict_proba(X), **CLOSE)


def perceptron(page: Page, rng: np.random.Generator) -> None:
    for classes in 2, 3:
        y = np.arange(30) % classes
        X = rng.normal(size=(30, 2)) + 2 * np.column_stack([y == 1, y == 2])
        peer = Perceptron(shuffle=False, tol=None, max_iter=100).fit(X, y)
        found = page.math("m.fitPerceptron(X, y, classes).weights", X=X, y=y, classes=classes)
        assert np.allclose(found, np.column_stack([peer.coef_, peer.intercept_]), **CLOSE)


def sigmoids(page: Page, rng: np.random.Generator) -> None:
    y = (np.arange(20) > 8).astype(int)
    lengths, calls = rng.normal(size=20) + y, rng.poisson(2 + 3 * y) + 1
    for x, model, fit in (
        (lengths, GDA(), "fitBells"),
        (calls, PoissonNB(alpha=0), "fitPoisson"),
    ):
        model.fit(x[:, None], y)
        found = page.math(f"m.{fit}(x, y)", x=x, y=y)
        expected = [model.coef_.item(), model.intercept_.item()]
        assert np.allclose([found["theta"], found["constant"]], expected, **CLOSE)
        p = page.math("x.map((v) => m.sigmoid(t * v + c))", x=x, t=expected[0], c=expected[1])
        assert np.allclose(p, model.predict_proba(x[:, None])[:, 1], **CLOSE)


def line_error(page: Page, rng: np.random.Generator) -> None:
    """The error of a line is that of the distribution of θ·x + θ0, which is a mixture of bells."""
    theta, constant = rng.normal(size=2), rng.normal()
    truth, expected = [], 0.0
    for k in 0, 1:
        parts = []
        for weight in 0.3, 0.7:
            mean, sigma = rng.normal(size=2), covariance(rng)
            parts.append({"weight": weight, "mean": mean.tolist(), "sigma": three(sigma)})
            t = stats.norm(theta @ mean + constant, np.sqrt(theta @ sigma @ theta))
            expected += 0.5 * weight * (t.cdf(0) if k else t.sf(0))
        truth.append(parts)
    found = page.math(
        "m.lineError({theta, constant}, truth)", theta=theta, constant=constant, truth=truth
    )
    assert np.isclose(found, expected, **CLOSE)


WORDS = [
    "buy",
    "cheap",
    "Price",
    "lunch",
    "cs229",
    "a",
    "größer",
    "naïve",
    "don't",
    "x_1",
    "42",
    "и",
]


def words(page: Page, rng: np.random.Generator) -> None:
    labels = [0, 1, 0, 1, 1, 0]
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in labels]
    query = " ".join(rng.choice([*WORDS, "never"], 6))
    messages = [{"text": t, "label": k} for t, k in zip(texts, labels, strict=True)]
    for model, event in ("coin", "bernoulli"), ("die", "multinomial"):
        fitted = TextClassifier(event).fit(texts, labels)
        counted = page.math("m.countWords(messages).vocabulary", messages=messages)
        assert sorted(counted) == sorted(fitted.vocabulary_)
        found = page.math(
            "m.wordEvidence(m.countWords(messages), model, query)",
            messages=messages,
            model=model,
            query=query,
        )
        odds = np.subtract(*fitted.predict_joint_log_proba([query])[0, ::-1])
        assert np.isclose(found["logOdds"], odds, **CLOSE)
    # Word by word, as BernoulliNB.explain says.
    bits = np.array(fitted.vectorize(texts).toarray()) > 0
    coins = BernoulliNB().fit(bits, labels)
    asked = np.array(fitted.vectorize([query]).toarray()) > 0
    terms = coins.explain(asked).log_odds(label=1, against=0)[0, :-1]
    found = page.math(
        "m.wordEvidence(m.countWords(messages), 'coin', query)", messages=messages, query=query
    )
    order = [counted.index(word) for word in fitted.vocabulary_]
    assert np.allclose(np.array(found["terms"])[order], terms, **CLOSE)


def smoothing(page: Page, rng: np.random.Generator) -> None:
    for alpha in 0, 0.5, 1, 7.25:
        y = np.array([0, 0, 1, 1, 1, 0, 2])
        X = rng.integers(0, 2, (7, 3))
        rows = [["".join(map(str, row)), int(k)] for row, k in zip(X, y, strict=True)]
        scene = {"features": ["a", "b", "c"], "classes": ["0", "1", "2"], "rows": rows}
        model = BernoulliNB(alpha=alpha).fit(X, y)
        for number in range(8):
            bits = f"{number:03b}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = model.predict_proba([[int(bit) for bit in bits]])[0]
            found = page.run(
                "return genusExplore.scenes.posterior(...arguments).posterior", scene, bits, alpha
            )
            assert np.allclose(found, expected, **CLOSE), (rows, bits, alpha)
    values = rng.choice(["a", "b", "c"], (12, 1))
    y, m, p = np.arange(12) % 2, rng.gamma(2), 1 / len(np.unique(values))
    guessed = CategoricalNB(m=m).fit(values, y)
    count, n = np.sum(values[y == 0] == guessed.categories_[0][0]), np.sum(y == 0)
    found = page.math("m.mEstimate(count, n, size, p)", count=count, n=n, size=m, p=p)
    assert np.isclose(found, np.exp(guessed.feature_log_prob_[0][0, 0]), **CLOSE)


def bins(page: Page, rng: np.random.Generator) -> None:
    y = np.arange(80) % 3
    x = (rng.normal(size=80) * 2 + 2 * y - 2).round(2)
    given = {"x": x, "y": y}
    for strategy, count in ("mdlp", 0), ("quantile", 5), ("uniform", 7):
        option = {"n_bins": count} if count else {}
        edges = Discretizer(strategy, **option).fit(x[:, None], y).bin_edges_[0]
        assert np.allclose(
            page.math(f"m.{strategy}Edges(x, y, 3, n)", **given, n=count), edges, **CLOSE
        )
    edges = np.unique((rng.normal(size=4) * 2).round(2))
    model = CategoricalNB(bins=Discretizer(edges=edges))
    loss = page.math("m.leaveOneOutLoss(m.binCounts(x, y, edges, 3))", **given, edges=edges)
    scores = cross_validate(model, x[:, None], y, folds="loo")
    assert np.isclose(loss, scores.log_loss, **CLOSE)
    shares = page.math("m.binShares(m.binCounts(x, y, edges, 3))", **given, edges=edges)
    assert np.allclose(shares, np.exp(model.fit(x[:, None], y).feature_log_prob_[0]), **CLOSE)
    loss = page.math("m.leaveOneOutBells(x, y, 3)", **given)
    scores = cross_validate(GaussianNB(var_smoothing=0), x[:, None], y, folds="loo")
    assert np.isclose(loss, scores.log_loss, **CLOSE)


def digits(page: Page, rng: np.random.Generator) -> None:
    X, y = rng.integers(0, 17, (60, 64)), np.arange(60) % 10
    model = BernoulliNB(binarize=7).fit(X, y)
    counts = {"rows": model.class_count_, "ink": model.feature_count_}
    x = rng.choice([0.0, 16.0, np.nan], 64)
    pixels = [None if np.isnan(v) else int(v > 7) for v in x]
    scores = page.math("m.digitScores(model, pixels)", model=counts, pixels=pixels)
    assert np.allclose(scores, model.predict_joint_log_proba([x])[0], **CLOSE)
    a, b = rng.permutation(10)[:2]
    terms = page.math("m.pixelEvidence(model, pixels, a, b)", model=counts, pixels=pixels, a=a, b=b)
    expected = model.explain([x]).log_odds(label=a, against=b)[0, :-1]
    assert np.allclose(terms, expected, **CLOSE)
    # Reduced to 8 × 8, a drawing keeps its ink: the greys are areas.
    drawing = np.zeros((28, 28), int)
    drawing[2:26, 4:24] = rng.random((24, 20)) < 0.4
    drawing[2, 10] = drawing[25, 10] = 1
    grey = page.math("m.reduceDrawing(d).grey", d=drawing.ravel())
    assert np.isclose(np.sum(grey) * 9 / 16, drawing.sum(), **CLOSE)


CLOSED_FORMS: list[Callable[[Page, np.random.Generator], None]] = [
    normal,
    bells,
    gda,
    logistic,
    perceptron,
    sigmoids,
    line_error,
    words,
    smoothing,
    bins,
    digits,
]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("compare", CLOSED_FORMS, ids=lambda f: f.__name__)
def test_closed_forms_are_those_of_the_package(page: Page, compare: Any, seed: int) -> None:
    compare(page, np.random.default_rng(seed))


def test_every_closed_form_is_compared(page: Page) -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    names = set(page.run("return Object.keys(genusExplore.math)"))
    used = {name for name in names if f"m.{name}" in text or f"m.{{{name}" in text}
    inner = {"sum", "clamp", "solve", "random", "tokens", "cells", "binOf", "determinant"}
    inner |= {
        "squaredDistance",
        "logSumExp",
        "smoothed",
        "jointFromShares",
        "wordShares",
        "inkShares",
    }
    inner |= {
        "uniformEdges",
        "quantileEdges",
        "mdlpEdges",
        "fitBells",
        "fitPoisson",
    }  # by their name
    assert names - used - inner == set()


# The panels


def result(code: str) -> Any:
    """Run the lines of a panel, and return the value of the last."""
    *lines, last = code.split("\n")
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(lines), scope)
        return np.ravel(eval(last, scope))


STATES: dict[str, list[dict[str, Any]]] = {
    "normal": [
        {},
        {"mx": -0.55, "my": 1.3, "s11": 3, "s12": 0.8, "s22": 1, "px": -1.15, "py": 2},
        {"s11": 0.2, "s22": 0.3, "s12": 4},
    ],
    "bayes": [{}, {"x": 5.5}, {"prior": 0.01, "m0": 1.5, "s0": 1.5, "x": 0}],
    "gda": [
        {},
        {"shared": False, "logistic": True, "perceptron": True},
        {"points": [[0, 0, 0], [1, 0.5, 0], [0.3, 1, 0], [2, 2, 2], [3, 2.5, 2], [2.5, 3.5, 2]]},
    ],
    "sigmoid": [{}, {"far": 14}, {"data": "poisson", "far": 11.4}],
    "naive-bayes": [
        {},
        {"model": "die", "query": "buy buy cheap lunch"},
        {
            "messages": [
                {"text": '"quoted" \\ été', "label": 1},
                {"text": "plain words", "label": 0},
            ]
        },
        {"query": ""},
    ],
    "smoothing": [
        {"scene": scene, "lambda": amount, "x": x}
        for scene, x in (("nips", "011"), ("giraffe", "110"), ("cars", "111"), ("seven", "10"))
        for amount in (0, 1, 1.5)
    ],
    "discretising": [
        {},
        {"data": "petals", "edges": [[0.5], [1.75]]},
        {"data": "wine", "edges": [[3.5]], "x": 4},
    ],
    "digits": [{}, {"half": "bottom"}, {"half": "left", "blank": True}, {"drawing": [0] * 784}],
}


@pytest.mark.parametrize(
    ("name", "state"),
    [(name, state) for name, states in STATES.items() for state in states],
)
def test_python_line_gives_what_is_shown(page: Page, name: str, state: dict[str, Any]) -> None:
    page.start(name)
    panel = page.set(name, **state)
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)
    assert panel["words"]


def test_numbers_of_the_notes_are_shown(page: Page) -> None:
    page.start("smoothing", "naive-bayes", "normal")
    shown = page.set("smoothing", scene="cars", **{"lambda": 1.5}, x="111")["shown"]
    assert "No:0.06921Yes:0.03845" in shown
    assert "+1.099" in page.panel("naive-bayes")["shown"]
    shown = page.set("normal", s11=0.6, s12=0, s22=0.6)["shown"]
    assert "0.2653" in shown
    assert "=0/0=" in page.set("smoothing", scene="seven", **{"lambda": 0}, pick=3)["shown"]
    assert "0.5000" in page.set("smoothing", **{"lambda": 3})["shown"]


@nightly
@pytest.mark.parametrize("truth", ["bells", "widths", "far"])
def test_simulation_agrees_with_its_python(page: Page, truth: str) -> None:
    page.start("which-one")
    panel = page.set("which-one", truth=truth, n=20, drawn=100)
    tolerance = page.run(
        "return genusExplore.panels.get('which-one').update"
        "(genusExplore.panels.get('which-one').state).tolerance"
    )
    assert np.allclose(result(panel["python"]), panel["answer"], atol=2 * tolerance)


def test_simulated_lines_are_those_of_the_package(page: Page) -> None:
    page.start("which-one")
    for truth in "bells", "widths", "far":
        rows, lines = page.run(
            """const {rows, lines} = genusExplore.simulation.outcome(arguments[0], 40, 3, 5);
            return [rows, lines]""",
            truth,
        )
        X, y = np.array(rows)[:, :2], np.array(rows)[:, 2].astype(int)
        model = GDA().fit(X, y)
        assert np.allclose(lines["gda"]["theta"], model.coef_[0], **CLOSE)
        rival = LogisticRegression(C=1e4, solver="newton-cholesky", tol=1e-12, max_iter=1000)
        assert np.allclose(lines["logistic"]["theta"], rival.fit(X, y).coef_[0], rtol=1e-7)


def test_learning_curves_cross(page: Page) -> None:
    """What the question says: bells favour GDA with few rows, far rows favour its rival."""
    page.start("which-one")
    few, many = page.run(
        """const {summary} = genusExplore.simulation;
        return [summary('bells', 20, 6, 100), summary('far', 160, 6, 100)]"""
    )
    assert few[2]["mean"] + 3 * few[2]["error"] < 0 < many[2]["mean"] - 3 * many[2]["error"]


# Dragging. What changes, and by how much: of a plot 420 units wide, a pixel is 420 / width.


def unit(page: Page, name: str) -> float:
    """Return the pixels of a unit of the drawing."""
    return page.run(
        "return document.querySelector(`#explore-${arguments[0]} .ex-plot`)"
        ".getBoundingClientRect().width / 420",
        name,
    )


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_drag_normal(page: Page, touch: bool) -> None:
    page.start("normal")
    step = unit(page, "normal") * 374 / 8  # pixels for 1 on either axis
    page.drag("normal", ".ex-handle.ex-c0", step, -2 * step, touch)
    state = page.panel("normal")["state"]
    assert (state["mx"], state["my"]) == pytest.approx((1, 2), abs=0.051)
    page.drag("normal", ".ex-handle.ex-open", step, 0, touch)  # the long axis: from 1 to 2
    panel = page.panel("normal")
    assert panel["state"]["s11"] == pytest.approx(4, abs=0.2)
    assert panel["state"]["s22"] == pytest.approx(1, abs=0.1)
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)


def test_drag_bayes(page: Page) -> None:
    page.start("bayes")
    before = page.panel("bayes")["answer"][1]
    step = unit(page, "bayes") * 374 / 6
    page.drag("bayes", ".ex-handle.ex-probe", 4.6 * step, 0)
    panel = page.panel("bayes")
    assert panel["state"]["x"] == pytest.approx(5.5, abs=0.05)
    assert before < 0.5 < 0.999 < panel["answer"][1]
    assert "unlike both" in panel["shown"]
    page.drag("bayes", ".ex-handle.ex-c0:not(.ex-open)", step, 0)
    assert page.panel("bayes")["state"]["m0"] == pytest.approx(1.5, abs=0.05)


@pytest.mark.parametrize(
    "touch", [False, pytest.param(True, marks=nightly)], ids=["mouse", "touch"]
)
def test_drag_add_and_delete_points(page: Page, touch: bool) -> None:
    page.start("gda")
    points = page.panel("gda")["state"]["points"]
    step = unit(page, "gda") * 374 / 8
    page.drag("gda", ".ex-point", step, step, touch)
    moved = page.panel("gda")["state"]["points"]
    assert moved[0][:2] == pytest.approx([points[0][0] + 1, points[0][1] - 1], abs=0.11)
    assert moved[1:] == points[1:]
    plot = page.find("gda", ".ex-plot .ex-axis line")
    x, y = page.middle(plot)  # the left edge of the plot
    chromium.drag(page.browser, [(x + 2 * step, y - 3 * step)])  # a click
    added = page.panel("gda")["state"]["points"]
    assert len(added) == len(points) + 1
    assert added[-1] == pytest.approx([-2, 3, 0], abs=0.11)
    panel = page.panel("gda")
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)
    page.press("gda", ".ex-point", "Delete")
    assert len(page.panel("gda")["state"]["points"]) == len(points)


def test_points_that_nothing_fits(page: Page) -> None:
    page.start("gda")
    panel = page.set(
        "gda", shared=False, points=[[0, 0, 0], [1, 1, 0], [2, 0, 1], [3, 1, 1], [2, 2, 1]]
    )
    assert panel["answer"] is None
    assert "no inverse" in panel["shown"]
    with pytest.raises(ValueError, match="covariance"):
        result(panel["python"])
    assert "One class only" in page.set("gda", points=[[0, 0, 0], [1, 1, 0]])["shown"]


def test_drag_sigmoid(page: Page) -> None:
    page.start("sigmoid")
    theta = """const {answer, rival} = genusExplore.panels.get('sigmoid').update(arguments[0]);
        return {answer, rival}"""
    before = page.run(theta, page.panel("sigmoid")["state"])
    step = unit(page, "sigmoid") * (420 - 62) / 16
    page.drag("sigmoid", ".ex-ringed", 9 * step, 0)
    state = page.panel("sigmoid")["state"]
    assert state["far"] == pytest.approx(14, abs=0.15)
    after = page.run(theta, state)
    assert after["answer"][0] < before["answer"][0] / 3  # GDA tilts
    assert after["rival"][0] == pytest.approx(before["rival"][0], rel=0.01)  # the other stays


def test_drag_edges(page: Page) -> None:
    page.start("discretising")
    step = unit(page, "discretising") * 374 / 13
    page.drag("discretising", ".ex-edge", step, 0)
    state = page.panel("discretising")["state"]
    assert state["edges"][0][0] == pytest.approx(-1, abs=0.06)
    page.drag("discretising", ".ex-edge", 5 * step, 0)  # an edge does not pass its neighbour
    assert page.panel("discretising")["state"]["edges"][:2] == [[-0.005], [0]]
    page.run("arguments[0].click()", page.find("discretising", "[data-act=mdlp]"))
    panel = page.panel("discretising")
    assert len(panel["state"]["edges"]) == 4
    assert panel["answer"][0] < 0.2
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)
    page.press("discretising", ".ex-edge", "Delete")
    assert len(page.panel("discretising")["state"]["edges"]) == 3


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
def test_draw_a_digit(page: Page, touch: bool) -> None:
    page.start("digits")
    page.run("arguments[0].click()", page.find("digits", "[data-act=clear]"))
    assert sum(page.panel("digits")["state"]["drawing"]) == 0
    width = page.run(
        "return arguments[0].getBoundingClientRect().width", page.find("digits", "canvas")
    )
    page.drag("digits", "canvas", 0, 0.4 * width, touch)  # half a 1, from the middle
    panel = page.panel("digits")
    assert sum(panel["state"]["drawing"]) > 20
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)
    assert int(np.argmax(panel["answer"])) == 1
    page.press("digits", "canvas", *["ArrowLeft"] * 6, " ")
    assert sum(page.panel("digits")["state"]["drawing"]) > sum(panel["state"]["drawing"])


def test_digits_learn_and_forget(page: Page) -> None:
    page.start("digits")
    before = page.panel("digits")["answer"]
    page.run("arguments[0].value = 9", page.find("digits", "select"))
    page.run("arguments[0].click()", page.find("digits", "[data-act=learn]"))
    panel = page.panel("digits")
    assert panel["answer"][9] > before[9]
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)
    page.run("arguments[0].click()", page.find("digits", "[data-act=forget]"))
    assert page.panel("digits")["answer"] == before


def test_digits_are_drawn_on_demand(page: Page) -> None:
    page.start("digits")
    ink = """return [...document.querySelectorAll('#explore-digits .ex-map:last-child rect')]
        .filter((r) => r.getAttribute('fill-opacity') === '1').length"""
    assert page.run(ink) == 0
    page.run("arguments[0].click()", page.find("digits", "[data-act=sample]"))
    assert page.run(ink) > 8


def test_presets_of_digits_are_recognised(page: Page) -> None:
    page.start("digits")
    for digit in 3, 4, 7:
        script = """[...document.querySelectorAll('#explore-digits .ex-presets button')]
            .find((b) => b.textContent === `A ${arguments[0]}`).click()"""
        page.run(script, digit)
        assert int(np.argmax(page.panel("digits")["answer"])) == digit


def test_type_a_message(page: Page) -> None:
    page.start("naive-bayes")
    box = page.find("naive-bayes", ".ex-judge input")
    box.clear()
    box.send_keys("lunch <b>lunch")
    panel = page.panel("naive-bayes")
    assert panel["answer"][0] > 0.5
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)
    page.run("arguments[0].click()", page.find("naive-bayes", ".ex-flag"))  # relabel the first
    panel = page.panel("naive-bayes")
    assert panel["state"]["messages"][0]["label"] == 0
    assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)


def test_words_that_nobody_expects(page: Page) -> None:
    page.start("naive-bayes")
    strange = [
        "<img src=x onerror=alert(1)>",
        "\u202eabc def\u202c",
        "x" * 120,
        "constructor __proto__",
    ]
    for text in strange:
        messages = [{"text": text, "label": 1}, {"text": "plain words", "label": 0}]
        panel = page.set("naive-bayes", messages=messages, query=f"{text} plain")
        assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE), text
        assert page.run("return document.querySelectorAll('.explorable img').length") == 0
        wide = "return document.documentElement.scrollWidth <= innerWidth"
        assert page.run(wide), text
    page.start("naive-bayes")


def test_sliders_move(page: Page) -> None:
    page.start("smoothing", "bayes")
    for name, field, value in ("smoothing", "lambda", 2.5), ("bayes", "prior", 0.9):
        script = """arguments[0].value = arguments[1];
            arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"""
        page.run(script, page.find(name, f"[data-field={field}]"), value)
        panel = page.panel(name)
        assert panel["state"][field] == value
        assert np.allclose(result(panel["python"]), panel["answer"], **CLOSE)
    page.run(script, page.find("smoothing", "[data-field=m]"), 3)
    assert page.panel("smoothing")["state"]["lambda"] == 1.5


@pytest.mark.parametrize(
    ("name", "selector", "field", "by"),
    [
        ("normal", ".ex-handle.ex-c0", "mx", 0.05),
        ("bayes", ".ex-handle.ex-probe", "x", 0.01),
        ("sigmoid", ".ex-ringed", "far", 0.1),
        ("gda", ".ex-probe", "qx", 0.1),
        ("discretising", ".ex-probe", "x", 0.1),
    ],
)
def test_arrow_keys_move(page: Page, name: str, selector: str, field: str, by: float) -> None:
    page.start(name)
    before = page.panel(name)["state"][field]
    page.press(name, selector, "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight")
    assert page.panel(name)["state"][field] == pytest.approx(before + 2 * by)


@pytest.mark.parametrize("name", at_night(NAMES, "gda", "digits"))
def test_question_is_answered(page: Page, name: str) -> None:
    page.start(name)
    before = page.panel(name)
    buttons = page.run(
        "return [...document.querySelectorAll(`#explore-${arguments[0]} .ex-answers button`)]", name
    )
    assert len(buttons) >= 2
    reply = "return document.querySelector(`#explore-${arguments[0]} .ex-reply`).textContent"
    assert page.run(reply, name) == ""
    page.run("arguments[0].click()", buttons[0])
    assert len(page.run(reply, name)) > 60
    page.run("arguments[0].click()", page.find(name, ".ex-reply button"))
    assert page.panel(name)["state"] != before["state"]


@pytest.mark.parametrize("name", at_night(NAMES, "gda"))
def test_copy_buttons(page: Page, name: str) -> None:
    page.start(name)
    script = """const [name, label, done] = arguments;
        const panel = genusExplore.panels.get(name);
        [...panel.root.querySelectorAll('button')].find((b) => b.textContent === label).click();
        setTimeout(() => done(panel.copied), 60);"""
    copied = page.browser.execute_async_script(script, name, "Copy Python")
    assert copied == page.panel(name)["python"]
    link = page.browser.execute_async_script(script, name, "Copy link")
    assert link == f"{page.address}#explore-{name}"


# The address


CHANGED: dict[str, dict[str, Any]] = {
    "normal": {"mx": 1.25, "s12": -0.5},
    "bayes": {"x": 3.21, "prior": 0.07},
    "gda": {"points": [[0, 0, 0], [1, 2, 0], [-1, 1.5, 0], [3, 3, 1], [2, 3, 1], [2.5, 1, 1]]},
    "sigmoid": {"data": "poisson", "far": 12},
    "which-one": {"truth": "far", "n": 40, "drawn": 12, "seed": 7},
    "naive-bayes": {
        "messages": [{"text": "a&b=c #d % + é", "label": 1}, {"text": "two words", "label": 0}],
        "query": "?=& é",
    },
    "smoothing": {"scene": "giraffe", "lambda": 0.35, "x": "101"},
    "discretising": {"data": "wine", "edges": [[2.345], [7]], "x": 6.5},
    "digits": {"half": "top", "drawing": [int(i % 5 == 0) for i in range(784)]},
}


def test_state_is_in_the_address(page: Page) -> None:
    page.open()
    for name, state in CHANGED.items():
        page.set(name, **state)
    shown = {name: page.panel(name) for name in NAMES}
    search = page.browser.execute_async_script(
        "const done = arguments[0]; setTimeout(() => done(location.search), 400)"
    )
    page.open(search)
    again = {name: page.panel(name) for name in NAMES}
    assert again == shown
    for name, state in CHANGED.items():
        assert again[name]["state"].items() >= state.items()


NO_STATES = ["", "NaN", "1e999", "-", "<script>alert(1)</script>", "\0", "9" * 400, "_*_*_"]


@pytest.mark.parametrize("text", at_night(NO_STATES, "<script>alert(1)</script>", "_*_*_"))
def test_states_that_are_no_states(page: Page, text: str) -> None:
    page.open()
    fields = {name: list(page.panel(name)["state"]) for name in NAMES}
    given = "&".join(f"{n}.{f}={quote(text)}" for n, names in fields.items() for f in names)
    page.open(f"?{given}")
    for name in NAMES:
        assert page.panel(name)["words"], name
    page.open("?normal.mx=99&normal.unknown=1&other.x=2")
    assert page.panel("normal")["state"]["mx"] == 3


def test_two_panels_keep_the_state_of_each_other(page: Page) -> None:
    page.open("?bayes.x=2")
    page.set("normal", mx=1)
    search = page.browser.execute_async_script(
        "const done = arguments[0]; setTimeout(() => done(location.search), 400)"
    )
    assert search == "?bayes.x=2&normal.mx=1"


# Everybody


@pytest.mark.parametrize(("width", "scheme"), chromium.LOOKS)
def test_axe_finds_nothing(page: Page, width: int, scheme: str) -> None:
    chromium.emulate(page.browser, width, scheme)
    page.open()
    page.run("document.querySelector('#explore-gda .ex-answers button').click()")
    time.sleep(0.5)  # after which panels have settled
    try:
        assert chromium.violations(page.browser, "main") == []
        but = ".ex-offscreen, pre, .ex-scroll, .ex-formula, svg"
        assert chromium.wider_than_the_page(page.browser, ".explorable", but) == []
    finally:
        chromium.emulate(page.browser)


def test_motion_only_for_those_who_want_it(page: Page) -> None:
    page.open()
    glide = "const p = genusExplore.panels.get('normal'); p.glide({mx: 2}); return p.state.mx"
    assert page.run(glide) == 2
    chromium.emulate(page.browser, motion="no-preference")
    page.open()
    assert page.run(glide) == 0
    moved = page.browser.execute_async_script(
        "setTimeout(() => arguments[0](genusExplore.panels.get('normal').state.mx), 900)"
    )
    chromium.emulate(page.browser)
    assert moved == 2


def test_print_leaves_out_what_cannot_be_pressed(page: Page) -> None:
    page.open()
    chromium.emulate(page.browser, media="print")
    seen = page.run(
        """const shown = (s) => [...document.querySelectorAll(`.explorable ${s}`)]
            .filter((e) => e.checkVisibility()).length;
        return [shown('.ex-controls'), shown('.ex-presets'), shown('.ex-plot'), shown('pre')]"""
    )
    chromium.emulate(page.browser)
    assert seen[:2] == [0, 0]
    assert seen[2] > 6
    assert seen[3] == len(NAMES)


# The files


def test_all_of_it_is_small(bundler: Any) -> None:
    size = len(bundler.bundle().encode()) + (FOLDER / "explore.css").stat().st_size
    assert size < 200_000


def test_every_text_is_set_as_text() -> None:
    for path in FOLDER.glob("*.js"):
        source = path.read_text(encoding="utf-8")
        for risky in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
            "new Function",
            "http",
        ):
            rest = source.replace("http://www.w3.org/", "")  # names of namespaces
            assert risky not in rest, f"{path.name}: {risky}"


def test_data_is_what_the_script_makes() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make-explore-data"))["text"]()
    assert (FOLDER / "data.js").read_text(encoding="utf-8") == made


def test_bundle_refuses_what_it_cannot_read(bundler: Any, tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nexport const a = b;\n')
    (tmp_path / "b.js").write_text("export const b = 1;\nexport function c() {}\n")
    made = bundler.bundle("a", tmp_path)
    assert made.index('modules["b"]') < made.index('modules["a"]')
    assert "return { b, c };" in made
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\n')
    with pytest.raises(ValueError, match="in a circle: a → b → a"):
        bundler.bundle("a", tmp_path)
    (tmp_path / "b.js").write_text("export default 1;\n")
    with pytest.raises(ValueError, match=r"b\.js: cannot read 'export default 1;'"):
        bundler.bundle("a", tmp_path)
