"""Few rows and many: what is known of simulated rows, and what is found on sets."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.ng_jordan_sets import SOURCES, OneVariance, Regression, Rows, line, ones, pair
from benchmarks.ng_jordan_verdicts import BEHIND, NOT_YET, OVERTAKEN, REVERSED, UNCLEAR, verdict
from benchmarks.simulations import (
    LOGISTIC,
    Counts,
    Normals,
    efficiency,
    efron,
    excess,
    learned,
)

from genus import GDA
from genus.evaluate.comparing.curves import Curves
from genus.evaluate.comparing.points import Line, deals, sizes_for
from scope import nightly

COUNTS = Counts.of((1, 1, 1), (4, 4, 1))


@pytest.mark.parametrize("world", [Normals.at(1.5), Normals.at(3.0), COUNTS])
def test_the_least_possible_error_is_that_of_rows_drawn(world):
    rng = np.random.default_rng(0)
    X, y = world.draw(rng, 200_000)
    if isinstance(world, Normals):
        guess = X @ world.weights > 0
    else:
        means, bases = np.log(world.rates[1] / world.rates[0]), world.rates.sum(axis=1)
        guess = X @ means > bases[1] - bases[0]
    wrong = np.mean(guess != y)
    assert abs(wrong - world.bayes_error) < 4 * np.sqrt(world.bayes_error / 200_000)


def test_cells_of_counts_are_all_there_is():
    assert COUNTS.cells[2].sum() == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize("world", [Normals.at(2.0), COUNTS])
def test_the_true_model_is_the_optimum(world):
    X, truth, weights = world.weighed(np.random.default_rng(0))
    assert excess(truth, truth, weights) == pytest.approx((0, 0), abs=1e-12)
    # What is wrong beyond the optimum is what is wrong less the optimum.
    p = np.full(len(X), 0.4)
    wrong, loss = excess(p, truth, weights)
    chance = weights @ truth
    least = weights @ np.minimum(truth, 1 - truth)
    assert wrong == pytest.approx(chance - least)
    assert loss > 0


def test_the_excess_of_a_line_is_that_of_rows():
    world = Normals.at(2.0)
    X, y = world.draw(np.random.default_rng(1), 60)
    model = GDA().fit(X, y)
    expected = world.excess_of_line(model.coef_[0], model.intercept_[0])
    drawn, _ = world.draw(np.random.default_rng(2), 200_000)
    truth = 1 / (1 + np.exp(-drawn @ world.weights))
    found, _ = excess(model.predict_proba(drawn)[:, 1], truth, np.full(200_000, 1 / 200_000))
    assert found == pytest.approx(expected, rel=0.05)
    assert world.excess_of_line(world.weights, 0.0) == pytest.approx(0, abs=1e-12)


def test_efron():
    """The table of Efron (1975) for classes that are equally common."""
    found = [efron(distance) for distance in (1, 2, 3, 4)]
    assert found == pytest.approx([0.995, 0.899, 0.641, 0.343], abs=5e-4)


@nightly
def test_gda_needs_fewer_rows_as_efron_says():
    found = efficiency(3.0, (50, 100, 200, 400, 800), 150)
    assert found.ratio(800) == pytest.approx(efron(3.0), abs=4 * found.spread(800))
    assert found.ratio(800) + 4 * found.spread(800) < 1


def test_normal_classes():
    """The model that is right gets to the optimum first; naive Bayes, which is wrong, never."""
    names = ["GDA", LOGISTIC, "GaussianNB", "GDA(shared=False)"]
    found = learned(Normals.at(3.0), names, (60, 2000), 30)
    for other in names[1:]:
        for s in (0, 1):
            gaps = found[other][1, s] - found["GDA"][1, s]
            assert gaps.mean() > 2 * gaps.std() / np.sqrt(len(gaps)), (other, s)
    assert found["GaussianNB"][0, 1].mean() > 20 * found["GDA"][0, 1].mean()


def test_poisson_classes():
    """GDA is wrong in the limit, logistic regression is not, and PoissonNB beats both."""
    found = {
        name: values[1].mean(axis=1)
        for name, values in learned(COUNTS, ["GDA", LOGISTIC, "PoissonNB"], (500, 5000), 20).items()
    }
    assert (found["PoissonNB"] < found[LOGISTIC]).all()
    assert (found[LOGISTIC] < found["GDA"]).all()
    assert found[LOGISTIC][1] < found[LOGISTIC][0] / 5
    assert found["GDA"][1] > 0.8 * found["GDA"][0]


def curves(gaps: list[float], repeats: int = 30, seed: int = 0) -> Curves:
    """Naive Bayes at 0.3, and logistic regression as far above it as is said."""
    rng = np.random.default_rng(seed)
    shape = len(gaps), repeats
    bayes = 0.3 + rng.normal(0, 0.01, shape)
    logistic = bayes + np.array(gaps)[:, None] + rng.normal(0, 0.01, shape)
    sizes = 10 * 2 ** np.arange(len(gaps))
    lines = tuple(
        Line(name, error, error, np.full(len(gaps), np.nan))
        for name, error in (("naive Bayes", bayes), ("logistic regression", logistic))
    )
    return Curves(sizes, lines, int(sizes[-1]) // 9, np.nan, np.nan, np.empty(0, np.intp))


@pytest.mark.parametrize(
    ("gaps", "agrees", "rows"),
    [
        ([0.1, 0.05, -0.05, -0.1], OVERTAKEN, 20 * np.sqrt(2)),
        ([-0.1, -0.05, 0.05, 0.1], REVERSED, 20 * np.sqrt(2)),
        ([0.1, 0.1, 0.05, 0.0], NOT_YET, None),
        ([0.0, -0.1, -0.1, -0.1], BEHIND, None),
        ([0.0, 0.0, 0.0, 0.0], UNCLEAR, None),
    ],
)
def test_verdicts(gaps, agrees, rows):
    found = verdict(curves(gaps))
    assert found.agrees == agrees
    assert found.rows == (None if rows is None else pytest.approx(rows, rel=0.1))


def test_chance_seldom_leads_and_never_crosses():
    found = [verdict(curves([0.0] * 10, seed=seed)).agrees for seed in range(100)]
    assert found.count(UNCLEAR) > 80
    assert OVERTAKEN not in found
    assert REVERSED not in found


def test_naive_bayes_leaves_out_columns_that_do_not_vary():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + y[:, None]
    padded = np.column_stack([X, np.full(40, 7.0), y])
    assert np.array_equal(
        OneVariance().fit(padded, y).predict_proba(padded),
        GDA(diagonal=True).fit(X, y).predict_proba(X),
    )


def test_a_point_that_cannot_be_fitted_is_left_out():
    y = np.arange(80) % 2
    X = np.random.default_rng(0).normal(size=(80, 2))
    X[:, 1] = 1.0
    at, dealt = sizes_for(80, 2, 10), list(deals(y, 10, 1, 0))
    found = line("naive Bayes", X, y, OneVariance, at, dealt)
    assert not np.isnan(found.error).any()
    found = line("naive Bayes", np.ones((80, 2)), y, OneVariance, at, dealt)
    assert np.isnan(found.error).all()


def test_values_become_columns():
    rows = Rows(np.array([[0, 2], [1, 0]]), np.array([0, 1]), (2, 3))
    assert ones(rows).tolist() == [[1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
    p = Regression(1.0, scaled=False).fit(ones(rows), rows.y).predict_proba(ones(rows))
    assert (p.argmax(axis=1) == rows.y).all()


@nightly
def test_sets(data_folder):
    """On two sets of the paper: overtaken with many rows, and not yet with few."""
    sources = {source.name: source for source in SOURCES}
    wanted = {"pima, numbers": OVERTAKEN, "breast cancer, categories": NOT_YET}
    for name in wanted:
        stem = {"pima, numbers": "diabetes"}.get(name, "breast.cancer")
        if not (data_folder / "uci" / f"{stem}.csv.gz").exists():
            pytest.skip(f"no uci/{stem}.csv.gz in {data_folder}")
    found = {name: verdict(pair(sources[name], data_folder).curves).agrees for name in wanted}
    assert found == wanted


def test_figures():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from benchmarks import ng_jordan_figures
    from benchmarks.ng_jordan_sets import Pair

    from genus.plots.style import as_file, style

    made = curves([0.1, -0.1])
    made = Curves(made.sizes, (*made.lines, made.lines[1]), 4, np.nan, np.nan, made.judged)
    with style():
        drawn = [as_file(ng_jordan_figures.panels([Pair("a", 50, True, made)] * 5), "svg")
                 for _ in range(2)]  # fmt: skip
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) < 150_000
