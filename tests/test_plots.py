"""Plots: displays hold what the model says, and draw it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.stats import chi2, norm, poisson
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GaussianNB,
    MultinomialNB,
    MultivariateNormal,
    PoissonNB,
    TableClassifier,
    TextClassifier,
)
from genus.display.palette import COLOURS, DARK, LIGHT
from genus.plots import (
    BinsDisplay,
    BoundaryDisplay,
    ColumnDensityDisplay,
    DependenceDisplay,
    EvidenceDisplay,
    ImageDisplay,
    NormalDisplay,
    PosteriorDisplay,
    SigmoidDisplay,
    SmoothingDisplay,
    style,
)
from genus.plots.style import colour, hatch, look, marker
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


@pytest.mark.parametrize(
    "columns", [("height",), ("visits",), ("city",), ("since",), ("height", "city")], ids=" ".join
)
def test_dependence_is_drawn(model: TableClassifier, pyplot: Any, columns: tuple[str, ...]) -> None:
    display = DependenceDisplay.from_estimator(model, *columns)
    drawn = display.drawn
    if len(columns) == 2:
        (image,) = display.ax_.images
        shown, expected = np.ma.filled(image.get_array(), np.nan).T, drawn.log_odds("yes")
    else:
        axis = display.ax_.lines[0]
        there = slice(None) if columns == ("city",) else ~np.isnan(drawn.steps.x)
        shown = axis.get_xdata() if columns == ("city",) else axis.get_ydata()
        expected = drawn.log_odds("yes").mean[there]
    np.testing.assert_allclose(shown, expected)
    display.figure_.canvas.draw()
    _, ax = pyplot.subplots()
    again = DependenceDisplay.from_estimator(model, *columns, label="no", against="yes", ax=ax)
    assert again.ax_ is ax
    assert again._odds() == "log-odds of no against yes"


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
    with pytest.raises(ImportError, match=r"pip install .genus\[plots\]"):
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


def rgba(colour: str) -> Any:
    """Return a colour as matplotlib has it."""
    from matplotlib.colors import to_rgba

    return to_rgba(colour)


# Normal distributions


def lines_of(contours: Any) -> list[Any]:
    """Return the points of a contour set's lines, by level."""
    return [
        np.vstack([part.vertices for part in path._iter_connected_components()])
        if len(path.vertices)
        else np.empty((0, 2))
        for path in contours.get_paths()
    ]


def test_contours_of_a_normal_enclose_shares_of_it(pyplot: Any) -> None:
    normal = MultivariateNormal([1, -2], [[3, 0.8], [0.8, 1]])
    _, ax = pyplot.subplots()
    display = NormalDisplay.from_distribution(normal, ax=ax, shares=(0.5, 0.9))
    assert display.axes_.shape == (1, 1)
    (contours,) = ax.collections
    draws = normal.sample(20_000, random_state=0)
    for share, level, line in zip((0.9, 0.5), contours.levels, lines_of(contours), strict=True):
        distance = np.einsum(
            "ij,jk,ik->i", line - normal.mean, np.linalg.inv(normal.covariance), line - normal.mean
        )
        assert distance == pytest.approx(chi2(2).ppf(share), rel=0.02)
        assert (normal.density(draws) > level).mean() == pytest.approx(share, abs=0.01)


def test_normals_side_by_side_have_the_same_axes(pyplot: Any) -> None:
    several = [MultivariateNormal(mean, np.eye(2)) for mean in ([1, 0], [-1, -1.5])]
    display = NormalDisplay.from_distribution(several, names=["left", "right"])
    assert display.axes_.shape == (2, 2)
    assert [ax.name for ax in display.axes_[:, 0]] == ["3d", "rectilinear"]
    assert [ax.get_title() for ax in display.axes_.flat] == ["left", "right", "", ""]
    assert len({ax.get_xlim() for ax in display.axes_[1]}) == 1
    assert len({ax.get_zlim() for ax in display.axes_[0]}) == 1
    step = display.x[0, 1] - display.x[0, 0]
    assert display.density.sum(axis=(1, 2)) * step**2 == pytest.approx(1, abs=0.01)
    top = np.unravel_index(display.density[1].argmax(), display.density[1].shape)
    assert display.x[1][list(top)] == pytest.approx([-1.5, -1], abs=step)  # the second is upwards
    for ax in display.axes_[0]:
        surface, _ = ax.collections  # and contours on the floor
        assert not surface.get_rasterized()  # sharp at every resolution


def test_normals_of_several_figures_have_one_scale(pyplot: Any) -> None:
    several = [MultivariateNormal([0, 0], c * np.eye(2)) for c in (1, 4)]
    display = NormalDisplay.from_distribution(several, reach=[3, 5], top=0.25)
    assert [ax.get_xlim() for ax in display.axes_[1]] == [(-3, 3), (-5, 5)]
    assert {ax.get_zlim()[1] for ax in display.axes_[0]} == {0.25}
    assert all(0 <= z <= 0.25 for z in display.axes_[0, 0].get_zticks())


def test_normals_say_what_they_are(pyplot: Any) -> None:
    display = NormalDisplay.from_distribution(MultivariateNormal([0, 0], [[1, -0.5], [-0.5, 1]]))
    assert display.names == ["μ = (0, 0)\nΣ = ⎡   1 −0.5⎤\n    ⎣−0.5    1⎦"]


def test_normals_that_cannot_be_drawn(pyplot: Any) -> None:
    with pytest.raises(ValueError, match=r"got 3\. .*marginal\(\[0, 1\]\)"):
        NormalDisplay([MultivariateNormal(np.zeros(3), np.eye(3))])
    two = [MultivariateNormal(np.zeros(2), np.eye(2))] * 2
    with pytest.raises(ValueError, match="as many names"):
        NormalDisplay(two, ["one"])
    with pytest.raises(ValueError, match="needs 2 axes, got 1"):
        NormalDisplay.from_distribution(two, ax=pyplot.figure().subplots())


# Boundaries


@pytest.fixture(scope="module")
def plane() -> tuple[Any, Any]:
    """Return two groups in the plane that overlap."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(2, 0.5, (40, 2))])
    return X, np.repeat(["a", "b"], [60, 40])


def test_the_boundary_is_a_straight_line(plane: Any, pyplot: Any) -> None:
    X, y = plane
    model = GDA().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    (boundary,) = display.boundaries_
    (line,) = lines_of(boundary)
    assert len(line) > 20
    θ = np.append(model.intercept_, model.coef_[0])
    assert θ @ np.column_stack([np.ones(len(line)), line]).T == pytest.approx(0, abs=1e-9)
    assert model.predict_proba(line)[:, 1] == pytest.approx(0.5, abs=1e-9)


def test_the_boundary_of_separate_covariances_is_a_curve(plane: Any, pyplot: Any) -> None:
    X, y = plane
    model = GDA(shared=False).fit(X, y)
    (line,) = lines_of(BoundaryDisplay.from_estimator(model, X, y).boundaries_[0])
    assert model.predict_proba(line)[:, 1] == pytest.approx(0.5, abs=0.005)
    straight = np.linalg.svd(line - line.mean(axis=0), compute_uv=False)
    assert straight[1] > 0.05 * straight[0]


def test_contours_of_classes_are_those_of_their_normals(plane: Any, pyplot: Any) -> None:
    X, y = plane
    model = GDA(shared=False).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, shares=(0.3, 0.6))
    for k, contours in enumerate(display.contours_):
        normal = MultivariateNormal(model.means_[k], model.covariance_[k])
        peak = normal.density(normal.mean)
        for share, line in zip((0.6, 0.3), lines_of(contours), strict=True):
            assert normal.density(line) == pytest.approx((1 - share) * peak, rel=0.01)


@pytest.mark.parametrize("model", [GDA(), GDA(shared=False), GaussianNB(), LogisticRegression()])
def test_boundaries_between_three_classes(model: Any, pyplot: Any) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X[["petal length (cm)", "petal width (cm)"]]
    display = BoundaryDisplay.from_estimator(model.fit(X, y), X, y)
    assert len(display.boundaries_) == 2
    likeliest = model.predict(X.iloc[::10])
    nearest = [
        display.scores[
            np.abs(display.y - row[1]).argmin(), np.abs(display.x - row[0]).argmin()
        ].argmax()
        for row in X.iloc[::10].to_numpy()
    ]
    assert nearest == likeliest.tolist()
    for boundary in display.boundaries_:
        line = pd.DataFrame(lines_of(boundary)[0], columns=X.columns)
        two = np.sort(model.predict_proba(line), axis=1)[:, -2:]
        assert np.median(two[:, 1] - two[:, 0]) < 0.01
    assert len(display.contours_) == (0 if isinstance(model, LogisticRegression) else 3)
    assert display.ax_.get_xlabel() == "petal length (cm)"
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2"]


def test_rows_are_drawn_where_they_are(plane: Any, pyplot: Any) -> None:
    X, y = plane
    model = GDA().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, regions=False)
    own = {
        drawn.get_label(): drawn.get_offsets()
        for drawn in display.ax_.collections
        if drawn.get_label() in ("a", "b")
    }
    for label, offsets in own.items():
        assert np.array_equal(offsets, X[y == label])
    assert set(own) == {"a", "b"}
    unlabelled = BoundaryDisplay.from_estimator(model, X)
    assert unlabelled.ax_.get_legend() is None


def test_boundaries_that_cannot_be_drawn(plane: Any) -> None:
    X, y = plane
    model = GDA().fit(X, y)
    for given, words in (
        ((X[:, :1], y), r"2 columns to be drawn, got shape \(100, 1\)"),
        ((X, y[:9]), r"y has shape \(9,\), but X has 100 rows"),
        ((X, np.where(y == "a", "c", y)), "y has 'c', which is not a class"),
        ((np.full((3, 2), np.nan), None), "NaN or infinity"),
        ((X[:0], None), "no rows"),
        (([["x", "y"]], None), "not numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            BoundaryDisplay.from_estimator(model, *given)
    with pytest.raises(NotFittedError):
        BoundaryDisplay.from_estimator(GDA(), X, y)


# One feature


@pytest.mark.parametrize("classes", [2, 3])
def test_the_area_of_a_bell_is_the_share_of_its_class(pyplot: Any, classes: int) -> None:
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(classes), [90, 40, 20][:classes])
    X = pd.DataFrame({"size": rng.normal(3 * y, 1)})
    model = GDA(shared=False).fit(X, y)
    display = PosteriorDisplay.from_estimator(model, X)
    above, below = display.axes_
    for k, line in enumerate(above.lines):
        x, bell = line.get_data()
        assert trapezoid(bell, x) == pytest.approx(model.priors_[k], abs=1e-3)
        normal = norm(model.means_[k, 0], np.sqrt(model.covariance_[k, 0, 0]))
        assert bell == pytest.approx(model.priors_[k] * normal.pdf(x))
    drawn = below.lines[:-1]  # the last is one half
    assert len(drawn) == (1 if classes == 2 else 3)
    for k, line in enumerate(drawn, start=classes == 2):
        expected = display.joint[:, k] / display.joint.sum(axis=1)
        assert line.get_ydata() == pytest.approx(expected)
    assert below.get_xlabel() == "size"
    assert below.get_ylabel() == ("p(y=1|x)" if classes == 2 else "p(y|x)")


def test_bells_need_a_generative_classifier(plane: Any) -> None:
    X, y = plane
    with pytest.raises(ValueError, match=r"LogisticRegression models p\(y\|x\) but not"):
        PosteriorDisplay.from_estimator(LogisticRegression().fit(X[:, :1], y), X[:, :1])


def test_sigmoids_tell_their_position_and_steepness(plane: Any, pyplot: Any) -> None:
    X, y = plane
    X = X[:, :1]
    models = {"GDA": GDA().fit(X, y), "logistic": LogisticRegression(C=np.inf).fit(X, y)}
    display = SigmoidDisplay.from_estimators(models, X, y)
    for ax, (name, model) in zip(display.axes_, models.items(), strict=True):
        slope, intercept = model.coef_[0, 0], model.intercept_[0]
        assert display.slopes[name] == pytest.approx(slope)
        assert display.halves[name] == pytest.approx(-intercept / slope)
        assert ax.get_title() == (
            f"{name}\nhalf at {-intercept / slope:#.3g}, steepness {slope:#.3g}"
        )
        own = next(line for line in ax.lines if line.get_color() == LIGHT["text"])
        expected = model.predict_proba(display.x[:, None])[:, 1]
        assert own.get_ydata() == pytest.approx(expected, abs=1e-12)
    wide = np.concatenate([X[:60] * 5, X[:40]])  # is likelier on both sides
    curved = SigmoidDisplay.from_estimators({"c": GDA(shared=False).fit(wide, y)}, wide, y)
    assert np.isnan(curved.halves["c"])
    assert curved.axes_[0].get_title() == "c"


def test_sigmoids_that_cannot_be_drawn(plane: Any) -> None:
    X, y = plane
    X = X[:, :1]
    three = GDA().fit(np.arange(9.0)[:, None], np.repeat([0, 1, 2], 3))
    for models, words in (
        ({}, "No classifier"),
        ({"three": three}, "2 classes, but three has 3"),
        ({"a": GDA().fit(X, y), "b": GDA().fit(X, y == "a")}, "b has other classes"),
    ):
        with pytest.raises(ValueError, match=words):
            SigmoidDisplay.from_estimators(models, X, y)


# Images, bins, smoothing


def test_images_are_what_the_classes_have(pyplot: Any) -> None:
    X, y = load_digits(return_X_y=True)
    ink = X > 7
    shares = [ink[y == k].mean(axis=0) for k in range(10)]
    means = [X[y == k].mean(axis=0) for k in range(10)]
    of_ink = [mean / mean.sum() for mean in means]
    for model, expected in (
        (BernoulliNB(binarize=7, alpha=0), shares),
        (GaussianNB(), means),
        (GDA(shrinkage="oas"), means),
        (PoissonNB(alpha=0), means),
        (MultinomialNB(alpha=0), of_ink),
    ):
        display = ImageDisplay.from_estimator(model.fit(X, y))
        assert len(display.axes_) == 10
        for k, ax in enumerate(display.axes_):
            (image,) = ax.images
            assert np.asarray(image.get_array()).ravel() == pytest.approx(expected[k])
            assert ax.get_title() == str(k)
        assert len({image.get_clim() for ax in display.axes_ for image in ax.images}) == 1
        pyplot.close("all")


def test_images_that_cannot_be_drawn() -> None:
    X, y = load_digits(return_X_y=True)
    model = GaussianNB().fit(X[:, :60], y)
    with pytest.raises(ValueError, match="60 columns are not an image of 7 by 7 pixels"):
        ImageDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="no number for each pixel"):
        ImageDisplay.from_estimator(CategoricalNB().fit(X.astype(int), y))
    with pytest.raises(ValueError, match="no number for each pixel"):
        ImageDisplay.from_estimator(ComplementNB().fit(X, y))


def test_an_image_need_not_be_square(pyplot: Any) -> None:
    X, y = load_digits(return_X_y=True)
    display = ImageDisplay.from_estimator(GaussianNB().fit(X[:, :60], y), (6, 10))
    assert display.axes_[0].images[0].get_array().shape == (6, 10)


def test_bins_are_shares_of_each_class(pyplot: Any) -> None:
    areas = [[350], [420], [700], [890], [1100], [1250], [1700], [2100]]
    built = ["flat"] * 4 + ["house"] * 4
    cut = Discretizer(edges=[400, 800, 1200, 1600])
    display = BinsDisplay.from_estimator(CategoricalNB(bins=cut, alpha=0).fit(areas, built))
    assert display.values == ["< 400", "400–800", "800–1,200", "1,200–1,600", "≥ 1,600"]
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert heights == pytest.approx([0.25, 0.5, 0.25, 0, 0, 0, 0, 0.25, 0.25, 0.5])
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["400", "800", "1,200", "1,600"]
    middle = {bar.get_x() + bar.get_width() for bar in display.ax_.patches[:5]}
    assert sorted(middle) == pytest.approx([0, 1, 2, 3, 4])  # where two classes meet
    assert display.ax_.get_xticks() == pytest.approx([0.5, 1.5, 2.5, 3.5])


def test_categories_are_bins_as_well(pyplot: Any) -> None:
    frame = pd.DataFrame({"city": ["$Bonn$", "Trier", "Trier"], "size": ["s", "l", "s"]})
    model = CategoricalNB(alpha=0).fit(frame, [0, 0, 1])
    display = BinsDisplay.from_estimator(model, 0)
    assert display.shares.tolist() == [[0.5, 0.5], [0, 1]]
    assert display.ax_.get_xlabel() == "city"
    assert display.ax_.get_xticklabels()[0].get_text() == r"\$Bonn\$"
    with pytest.raises(ValueError, match="no column 2: the model has 2"):
        BinsDisplay.from_estimator(model, 2)


def test_smoothing_is_that_of_the_classifier(pyplot: Any) -> None:
    display = SmoothingDisplay.from_counts(5, [0, 2, 5], most=2)
    assert display.pseudo_counts[[0, 100, 200]] == pytest.approx([0, 1, 2])
    for heads, line in zip(display.heads, display.ax_.lines, strict=False):
        λ, φ = line.get_data()
        assert φ[[0, 100]] == pytest.approx([heads / 5, (heads + 1) / 7])
        X = [[1]] * heads + [[0]] * (5 - heads) + [[0]]
        model = BernoulliNB(alpha=λ[37]).fit(X, [0] * 5 + [1])
        assert φ[37] == pytest.approx(np.exp(model.feature_log_prob_[0, 0]))
    with pytest.raises(ValueError, match="got \\[6\\] of 5"):
        SmoothingDisplay.from_counts(5, [6])


# Evidence of texts


def test_evidence_of_a_text(pyplot: Any) -> None:
    texts = ["Win cash now", "Claim your prize now", "Lunch at noon?", "See you at the meeting"]
    model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    display = EvidenceDisplay.from_estimator(model, "Claim a free lunch now")
    assert display.names == ["now", "claim", "lunch"]
    assert display.terms == pytest.approx([1.147, 0.742, -0.644], abs=1e-3)
    bars = [bar.get_facecolor() for bar in display.ax_.patches]
    ham, spam = (rgba(LIGHT[f"class-{k}"]) for k in (0, 1))
    assert bars == [spam, spam, ham]
    other = EvidenceDisplay.from_estimator(model, "Claim a free lunch now", label="ham")
    assert [bar.get_facecolor() for bar in other.ax_.patches] == bars, "a class keeps its colour"
    assert other.terms == pytest.approx(-display.terms)


def test_evidence_that_rules_a_class_out(pyplot: Any) -> None:
    model = CategoricalNB(alpha=0).fit([["a", "x"], ["b", "x"], ["b", "y"]], [0, 1, 1])
    display = EvidenceDisplay.from_estimator(model, [["b", "x"]], label=1)
    assert np.isinf(display.terms).sum() == 1
    assert "log-odds +∞" in display.ax_.get_title()
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert np.isfinite(widths).all()
    assert widths[0] == max(np.abs(widths))
    display.figure_.canvas.draw()


# Style


def test_style_leaves_the_settings_as_they_were(pyplot: Any, plane: Any) -> None:
    import matplotlib

    X, y = plane
    model = GDA().fit(X, y)
    with matplotlib.rc_context({"font.size": 31, "axes.facecolor": "#123456"}):
        before = dict(matplotlib.rcParams)
        for dark, page in ((False, LIGHT), (True, DARK)):
            with style(dark=dark):
                display = BoundaryDisplay.from_estimator(model, X, y)
                assert matplotlib.rcParams["font.size"] == 8
            assert dict(matplotlib.rcParams) == before
            assert display.figure_.get_facecolor() == rgba(page["page"])
            assert display.ax_.get_facecolor() == rgba(page["page"])
            assert display.ax_.xaxis.label.get_color() == page["text"]
            (boundary,) = display.boundaries_
            assert boundary.get_edgecolor()[0] == pytest.approx(rgba(page["text"]))
        with pytest.raises(ZeroDivisionError), style(dark=True):
            1 / 0  # noqa: B018
        assert dict(matplotlib.rcParams) == before
        assert colour(0) == LIGHT["class-0"]


def test_classes_are_told_apart_without_colours(pyplot: Any) -> None:
    for of_class in (marker, hatch, lambda k: str(look(k)["linestyle"])):
        assert len({of_class(k) for k in range(COLOURS)}) == COLOURS
    with style(dark=True):
        assert [colour(k) for k in (0, 6, 7, 99)] == [
            DARK["class-0"],
            DARK["class-6"],
            DARK["others"],
            DARK["others"],
        ]
