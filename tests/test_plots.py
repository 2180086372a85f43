"""Plots: displays hold what the model says, and draw it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, poisson

from genus import TableClassifier
from genus.plots import ColumnDensityDisplay, EvidenceDisplay
from genus.report import scores
from genus.report.densities import Curves, Shares, density
from genus.report.judging import judged


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return a table of all kinds of columns."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 300)
    return pd.DataFrame(
        {
            "height": rng.normal(170 + 10 * k, 6),
            "visits": rng.poisson(2 + 4 * k),
            "city": np.array(["Trier", "$Köln$", "Bonn"])[(k + rng.integers(0, 2, 300)) % 3],
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 300), "D"),
            "note": [f"word{i} and more words {j}" for j, i in enumerate(k)],
            "class": np.array(["no", "yes"])[k],
        }
    )


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> TableClassifier:
    """Return a model of it, whose families are known."""
    families = {"height": "gaussian", "visits": "poisson", "since": "discretised"}
    return TableClassifier(families=families, calibrate=False).fit(frame, target="class")


@pytest.fixture
def pyplot() -> Iterator[Any]:
    """Return matplotlib, drawing to no screen."""
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_curves_are_densities(model: TableClassifier, frame: pd.DataFrame) -> None:
    drawn = density(model, "height")
    assert isinstance(drawn, Curves)
    for k, label in enumerate(["no", "yes"]):
        own = frame.loc[frame["class"] == label, "height"]
        expected = norm(own.mean(), own.std(ddof=0)).pdf(drawn.x)
        assert np.abs(drawn.p[k] - expected).max() < 0.02 * expected.max()
    assert (drawn.bars * np.diff(drawn.edges)).sum() == pytest.approx(1)


def test_whole_numbers_have_shares(model: TableClassifier, frame: pd.DataFrame) -> None:
    drawn = density(model, "visits")
    assert isinstance(drawn, Curves)
    assert drawn.is_shares
    assert drawn.x.tolist() == list(range(int(frame["visits"].min()), frame["visits"].max() + 1))
    rate = frame.loc[frame["class"] == "no", "visits"].mean()
    assert drawn.p[0] == pytest.approx(poisson(rate).pmf(drawn.x), abs=0.01)
    assert drawn.bars == pytest.approx(np.bincount(frame["visits"])[drawn.x.astype(int)] / 300)


def test_steps_are_densities(model: TableClassifier) -> None:
    drawn = density(model, "since")
    assert isinstance(drawn, Curves)
    assert drawn.is_date
    area = (drawn.p[:, ::2] * (drawn.x[1::2] - drawn.x[::2])).sum(axis=1)
    assert area == pytest.approx([1, 1])
    assert drawn.told(19723.5) == "2024-01-01"


def test_categories_have_shares(model: TableClassifier, frame: pd.DataFrame) -> None:
    drawn = density(model, "city")
    assert isinstance(drawn, Shares)
    assert drawn.values == frame["city"].value_counts().index.tolist()
    assert drawn.bars == pytest.approx(frame["city"].value_counts(normalize=True).to_numpy())
    assert drawn.p.sum(axis=0) == pytest.approx([1, 1])


@pytest.mark.parametrize("column", ["height", "visits", "city", "since"])
def test_columns_are_drawn(
    model: TableClassifier, frame: pd.DataFrame, pyplot: Any, column: str
) -> None:
    display = ColumnDensityDisplay.from_estimator(model, column)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()].count("yes") == 1
    assert len(display.ax_.lines) == 2
    display.figure_.canvas.draw()
    _, ax = pyplot.subplots()
    again = ColumnDensityDisplay.from_estimator(model, column, frame.head(50), ax=ax, alpha=0.5)
    assert again.ax_ is ax
    assert again.ax_.lines[0].get_alpha() == 0.5
    assert again.plot() is again
    assert again.ax_ is not ax


def test_columns_that_cannot_be_drawn(model: TableClassifier) -> None:
    with pytest.raises(ValueError, match=r"no column 'weight'\. It uses 'height'"):
        ColumnDensityDisplay.from_estimator(model, "weight")
    with pytest.raises(ValueError, match="holds texts"):
        ColumnDensityDisplay.from_estimator(model, "note")


def test_evidence_is_that_of_the_explanation(
    model: TableClassifier, frame: pd.DataFrame, pyplot: Any
) -> None:
    explanation = model.explain(frame.head(3))
    display = EvidenceDisplay.from_explanation(explanation, 1, label="yes", against="no")
    expected = explanation.log_odds("yes", "no")[1]
    assert display.terms.sum() == pytest.approx(expected.sum())
    assert len(display.ax_.patches) == np.count_nonzero(expected)
    assert (np.diff(np.abs(display.terms)) <= 0).all()
    display.figure_.canvas.draw()
    few = EvidenceDisplay.from_estimator(model, frame.head(3), 1, most=2)
    assert few.names[-1].endswith("more)")
    assert {few.label, few.against} == {"yes", "no"}
    assert abs(few.terms.sum()) == pytest.approx(abs(expected.sum()))
    with pytest.raises(ValueError, match="compared with itself"):
        EvidenceDisplay.from_explanation(explanation, label="yes", against="yes")


def test_without_matplotlib(model: TableClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install genus\[plots\]"):
        ColumnDensityDisplay.from_estimator(model, "height")


def test_displays_of_scikit_learn_show_what_a_report_does(
    model: TableClassifier, frame: pd.DataFrame, pyplot: Any
) -> None:
    from sklearn.calibration import CalibrationDisplay
    from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay

    outcome = judged(model, frame, "class").outcome
    assert outcome is not None
    X, y = frame.drop(columns="class"), frame["class"]
    matrix = ConfusionMatrixDisplay.from_estimator(model, X, y)
    assert matrix.confusion_matrix.tolist() == scores.confusion(outcome).tolist()
    assert matrix.display_labels.tolist() == ["no", "yes"]
    curve = RocCurveDisplay.from_estimator(model, X, y)
    assert curve.roc_auc == pytest.approx(scores.mean_area(scores.rocs(outcome)))
    assert curve.pos_label == "yes"
    steps = CalibrationDisplay.from_estimator(model, X, y, n_bins=scores.STEPS)
    assert steps.prob_true == pytest.approx([s.share for s in scores.reliability(outcome)])
    assert steps.prob_pred == pytest.approx([s.probability for s in scores.reliability(outcome)])
