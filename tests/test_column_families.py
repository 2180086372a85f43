"""Families that a column of a table can have: against SciPy, by refitting, and in a table."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp
from sklearn.datasets import load_iris

import genus
from cases import refused
from genus import GammaNB, TableClassifier
from genus.families import curves
from genus.families.kernel import BINS, FACTORS, KernelDensity, normal_kernel, silverman
from genus.report.densities import density
from genus.solve.grid import Grid

rng = np.random.default_rng(5)
HALF = 400
Y = np.repeat([0, 1], HALF)
CLASSES = np.array([0, 1])


def both(one, two):
    return np.concatenate([one, two]).astype(float)


def zeros_of(x, share):
    return np.where(rng.random(len(x)) < share, 0, x)


# A family, numbers of two classes, and SciPy's density with the parameters of class 0
FAMILIES = {
    "lognormal": (
        curves.lognormal,
        both(rng.lognormal(0, 1, HALF), rng.lognormal(1, 0.3, HALF)),
        lambda m, v: stats.lognorm(np.sqrt(v), scale=np.exp(m)),
    ),
    "beta": (
        curves.beta,
        both(rng.beta(2, 5, HALF), rng.beta(0.5, 0.7, HALF)),
        stats.beta,
    ),
    "negative-binomial": (
        curves.negative_binomial,
        both(rng.negative_binomial(2, 0.3, HALF), rng.poisson(3, HALF)),
        lambda m, r: stats.nbinom(r, r / (r + m)),
    ),
    "radians": (
        curves.radians,
        both(rng.vonmises(1, 3, HALF), rng.vonmises(-2, 0.5, HALF)),
        lambda c, s, k: stats.vonmises(k, np.arctan2(s, c)),
    ),
    "zero-inflated": (
        curves.zero_inflated,
        both(zeros_of(1 + rng.poisson(3, HALF), 0.4), zeros_of(1 + rng.poisson(1, HALF), 0.1)),
        None,
    ),
}
each = pytest.mark.parametrize("name", FAMILIES)


def solved(family, x, y=Y, weight=None, classes=CLASSES):
    statistics = family.count(x[:, None], y, classes, weight)
    return statistics, family.solve(statistics, classes, 1)


@each
def test_the_density_is_scipys(name):
    make, x, density = FAMILIES[name]
    family = make()
    _, parameters = solved(family, x)
    found = family.log_likelihood(parameters, x[:, None])[:, 0]
    values = [float(value[0, 0]) for value in parameters.values]
    if density is None:
        above, mean, size = values
        rest = stats.nbinom(size, size / (size + mean)).logpmf(np.maximum(x - 1, 0))
        expected = np.where(x > 0, np.log(above) + rest, np.log1p(-above))
    else:
        made = density(*values)
        expected = made.logpdf(x) if hasattr(made.dist, "pdf") else made.logpmf(x)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_estimates_are_those_of_maximum_likelihood():
    for name, scipy_fit in {
        "beta": lambda x: stats.beta.fit(x, floc=0, fscale=1)[:2],
        "radians": lambda x: stats.vonmises.fit(x, fscale=1)[:1],
        "lognormal": lambda x: (stats.lognorm.fit(x, floc=0)[0] ** 2,),
    }.items():
        make, x, _ = FAMILIES[name]
        _, parameters = solved(make(alpha=1e-12), x)
        for k in (0, 1):
            expected = scipy_fit(x[k == Y])
            found = [float(value[k, 0]) for value in parameters.values][-len(expected) :]
            assert_allclose(found, expected, rtol=2e-4)


# MASS 7.3-58.2 and circular 0.4-95 on petal lengths, printed by
#     library(MASS); library(circular); options(digits = 10)
#     each <- function(f) print(t(sapply(split(iris$Petal.Length, iris$Species), f)))
#     each(function(v) {s <- 1 / gamma.dispersion(glm(v ~ 1, family = Gamma)); c(s, s / mean(v))})
#     each(function(v) fitdistr(v, "lognormal")$estimate)
#     each(function(v) fitdistr(v / 10, "beta", list(shape1 = 9, shape2 = 9), lower = 1,
#                               control = list(factr = 1))$estimate)
#     each(function(v) c(mean(circular(v)), uniroot(function(k) A1(k) - rho.circular(circular(v)),
#                                                   c(1, 99), tol = 1e-12)$root))
OF_R = {
    "gamma": [
        [71.12182325, 48.64693793],
        [79.04198952, 18.55445763],
        [105.82543042, 19.06077637],
    ],
    "lognormal": [
        [0.3727586961, 0.11962465705],
        [1.4429300704, 0.1144859719],
        [1.7094260199, 0.09680044818],
    ],
    "beta": [[60.90056509, 355.66216288], [47.10307661, 63.49122969], [44.99339215, 36.0273147]],
    "radians": [
        [1.4619121883, 34.40805225],
        [-2.0129949388, 5.178744947],
        [-0.7464947144, 3.926636188],
    ],
}


@pytest.mark.parametrize("name", OF_R)
def test_estimates_are_those_of_r(name):
    X, y = load_iris(return_X_y=True)
    x = X[:, 2:3] / 10 if name == "beta" else X[:, 2:3]
    if name == "gamma":
        model = GammaNB(alpha=1e-12).fit(x, y)
        found = [model.shape_, model.rate_]
    else:
        _, parameters = solved(getattr(curves, name)(alpha=1e-12), x[:, 0], y, classes=np.arange(3))
        found = list(parameters.values)
    if name == "lognormal":
        found[1] = np.sqrt(found[1])
    if name == "radians":
        found = [np.arctan2(found[1], found[0]), found[2]]
    # R searches for the shapes of beta, to six digits.
    assert_allclose(np.hstack(found), OF_R[name], rtol=3e-6 if name == "beta" else 1e-9)


@each
def test_leaving_one_out_is_fitting_without_it(name):
    make, x, _ = FAMILIES[name]
    chosen = np.r_[:9, HALF : HALF + 3]
    x, y, w = x[chosen], Y[chosen], np.resize([1.0, 0.5, 2.0], 12)
    family = make()
    statistics, parameters = solved(family, x, y, w)
    left = family.leave_one_out(statistics, parameters, x[:, None], y, w)
    for i in range(12):
        rest = np.arange(12) != i
        _, without = solved(family, x[rest], y[rest], w[rest])
        assert_allclose(left[i], family.log_likelihood(without, x[[i], None])[0], atol=1e-8)


@each
def test_counts_add_up_and_missing_numbers_add_nothing(name):
    make, x, _ = FAMILIES[name]
    family = make()
    holes = np.where(np.arange(len(x)) % 5 == 0, np.nan, x)
    there = ~np.isnan(holes)
    _, parameters = solved(family, holes)
    _, expected = solved(family, x[there], Y[there])
    assert_allclose(parameters.values, expected.values, rtol=1e-9)
    parts = [solved(family, holes[i::3], Y[i::3])[0] for i in range(3)]
    again = family.solve(parts[0] + parts[1] + parts[2], CLASSES, 1)
    assert_allclose(again.values, parameters.values, rtol=1e-9)
    scores = family.log_likelihood(parameters, holes[:, None])
    assert (scores[~there] == 0).all()
    terms, constant = family.contributions(parameters, holes[:, None])
    assert_allclose(terms.sum(axis=1) + constant, scores)


@each
def test_samples_fit_the_density(name):
    make, x, _ = FAMILIES[name]
    family = make()
    _, parameters = solved(family, x)
    for k in (0, 1):
        drawn = family.sample(parameters, k, 20_000, np.random.default_rng(1))
        assert drawn.shape == (20_000, 1)
        own = x[k == Y]
        for mine, theirs in zip(
            family.curve.functions(drawn[:, 0]), family.curve.functions(own), strict=True
        ):
            assert abs(mine.mean() - theirs.mean()) < 0.1 * theirs.std() + 0.02


def test_zeros_stay_zeros_whatever_the_sums_round_to():
    for seed in range(12):
        x = np.random.default_rng(seed).poisson(1.5, 200).astype(float)
        model = TableClassifier({"x": "zero-inflated"}, dependence=False, calibrate=False)
        marginal = model.fit({"x": x}, Y[300:500]).model_.parameters.marginals[0]
        above = [(x[k == Y[300:500]] > 0).mean() for k in (0, 1)]
        assert_allclose(marginal.distribution.parameters.values[0][:, 0], above, atol=0.02)


def test_angles_wrap():
    family = curves.hours()
    x = both(rng.normal(23.5, 1, HALF) % 24, rng.normal(6, 2, HALF) % 24)
    _, parameters = solved(family, x)
    times = np.array([23.0, 1.0, 12.0])[:, None]
    assert_allclose(
        family.log_likelihood(parameters, times), family.log_likelihood(parameters, times - 48)
    )
    whole = np.linspace(0, 24, 2000, endpoint=False)[:, None]
    area = np.exp(family.log_likelihood(parameters, whole)).mean(axis=0) * 24
    assert_allclose(area, 1, rtol=1e-6)


def test_a_column_of_one_value_has_a_density():
    for make, value in (
        (curves.lognormal, 2.0),
        (curves.beta, 0.25),
        (curves.negative_binomial, 0.0),
        (curves.negative_binomial, 7.0),
        (curves.zero_inflated, 0.0),
        (curves.degrees, 90.0),
    ):
        family = make()
        _, parameters = solved(family, np.full(2 * HALF, value))
        scores = family.log_likelihood(parameters, np.array([[value]]))
        assert np.isfinite(scores).all()
        assert_allclose(scores[0, 0], scores[0, 1])


# The kernel density


def test_the_kernel_density_is_near_scipys():
    x = both(rng.normal(-2, 0.5, 300), rng.normal(2, 0.7, 300))
    grid = Grid(2.0**-10)
    keys, counts = np.unique(grid.keys(x), return_counts=True)
    family = KernelDensity()
    values = grid.values(keys)
    edges = family.edges(values, grid)
    assert grid.holds(edges).all()
    binned = np.bincount(np.searchsorted(edges, values, side="right"), counts, len(edges) + 1)[None]
    p = np.exp(family.smooth(binned, np.ones(1)).log_p())[:, 0]
    assert p.sum() == pytest.approx(1, abs=1e-3)
    width = np.diff(edges).mean()
    middle = np.concatenate([[edges[0] - width / 2], edges + width / 2])
    truth = 0.5 * stats.norm(-2, 0.5).pdf(middle) + 0.5 * stats.norm(2, 0.7).pdf(middle)
    plain = stats.gaussian_kde(x).pdf(middle)
    assert np.abs(p / width - truth).mean() < 0.7 * np.abs(plain - truth).mean()
    assert len(p) <= BINS


def test_leaving_one_out_of_a_kernel_density_is_exact():
    binned = rng.poisson(1.5, (3, 20)).astype(float)
    family = KernelDensity()
    smoothed = family.smooth(binned, np.ones(3))
    k, g = np.nonzero(binned)
    left = smoothed.leave_one_out(None, None, g[:, None], k, np.ones(len(k)))
    for i in (0, 7, len(k) - 1):
        fewer = binned.copy()
        fewer[k[i], g[i]] -= 1
        sums = smoothed.sums.copy()
        # The kernel of class k, which does not change when a row goes
        one = np.zeros(20)
        one[g[i]] = 1
        shapes = [single(binned[k[i]], one, factor) for factor in FACTORS]
        kernel = min(shapes, key=lambda shape: abs(shape[g[i]] - smoothed.centre[k[i]]))
        sums[k[i]] -= kernel
        rows = fewer.sum(axis=1)
        common = sums.sum(axis=0) / rows.sum()
        expected = (sums + common) / (rows + 1)[:, None]
        assert_allclose(left[i], np.log(expected[:, g[i]]), atol=1e-9)


def single(counts, one, factor):
    place = np.arange(len(counts), dtype=float)
    kernel = normal_kernel(factor * silverman(counts, place, counts.sum()), len(place))
    reach = len(kernel) // 2
    return np.convolve(one, kernel)[reach:][: len(place)]


def bimodal(rows, seed):
    """Rows of two classes whose columns have two modes each, and log p(x|y) of the truth."""
    own = np.random.default_rng(seed)
    mean, deviation = 2 * own.normal(size=(2, 2, 4)), own.uniform(0.3, 0.8, size=(2, 2, 4))
    y, mode = own.integers(2, size=rows), own.integers(2, size=(rows, 4))
    X = mean[y[:, None], mode, np.arange(4)]
    X = X + deviation[y[:, None], mode, np.arange(4)] * own.normal(size=(rows, 4))
    terms = stats.norm.logpdf(X[:, None, None], mean, deviation)
    return {f"x{j}": X[:, j] for j in range(4)}, y, logsumexp(terms, axis=2).sum(axis=2)


def test_a_kernel_density_pays_where_columns_are_bimodal():
    lost = {"auto": [], "discretised": []}
    for seed in range(3):
        X, y, truth = bimodal(2400, seed)
        truth = truth - logsumexp(truth, axis=1, keepdims=True)
        test = np.arange(2400) >= 400
        few = {name: x[:400] for name, x in X.items()}
        rest = {name: x[400:] for name, x in X.items()}
        for name, found in lost.items():
            families = name if name == "auto" else dict.fromkeys(X, name)
            model = TableClassifier(families=families, dependence=False, calibrate=False)
            p = model.fit(few, y[:400]).predict_log_proba(rest)
            own = np.arange(2000), y[test]
            found.append((truth[test][own] - p[own]).mean())
            if name == "auto":
                assert "kernel" in {m.family for m in model.model_.parameters.marginals}
    assert np.mean(lost["auto"]) < 0.8 * np.mean(lost["discretised"])


# In a table


NAMES = ["lognormal", "beta", "negative-binomial", "zero-inflated", "hours", "degrees", "kernel"]
TABLE = {
    "size": FAMILIES["lognormal"][1],
    "share": FAMILIES["beta"][1],
    "visits": FAMILIES["negative-binomial"][1],
    "calls": FAMILIES["zero-inflated"][1],
    "hour": both(rng.normal(23, 2, HALF) % 24, rng.normal(9, 3, HALF) % 24),
    "wind": both(rng.normal(350, 20, HALF), rng.normal(180, 60, HALF)) % 360,
    "height": both(rng.normal(0, 1, HALF), rng.normal(1, 2, HALF)),
}


def test_a_table_of_all_families_predicts_explains_samples_and_is_saved(tmp_path):
    chosen = dict(zip(TABLE, NAMES, strict=True))
    model = TableClassifier(families=chosen, calibrate=False).fit(TABLE, Y)
    assert [m.family for m in model.model_.parameters.marginals] == NAMES
    p = model.predict_proba(TABLE)
    assert (p.argmax(axis=1) == Y).mean() > 0.97
    assert np.isfinite(model.log_density(TABLE)).all()
    drawn, _ = model.sample(50, random_state=0)
    assert np.isfinite(drawn.to_pandas().to_numpy(float)).all()
    for column in TABLE:
        assert np.isfinite(density(model, column, None).p).all()
    model.save(tmp_path / "model")
    assert_allclose(genus.load(tmp_path / "model").predict_proba(TABLE), p)
    parts = [
        TableClassifier(families=chosen, calibrate=False).fit(
            {name: x[i::2] for name, x in TABLE.items()}, Y[i::2], like=model
        )
        for i in range(2)
    ]
    assert_allclose((parts[0] + parts[1]).predict_proba(TABLE), p, atol=1e-9)
    with refused("SQL", "lognormal", "discretised"):
        model.to_sql("duckdb", "t")
    kernel = TableClassifier(families={"height": "kernel"}, calibrate=False, dependence=False)
    assert "CASE" in kernel.fit({"height": TABLE["height"]}, Y).to_sql("duckdb", "t")


@pytest.mark.parametrize(
    ("family", "value", "words"),
    [
        ("beta", 1.5, ["1.5", "beta", "1 or less"]),
        ("beta", -0.5, ["-0.5", "beta", "0 or more"]),
        ("lognormal", -1.0, ["-1", "lognormal"]),
        ("negative-binomial", -3.0, ["-3", "negative-binomial"]),
    ],
)
def test_numbers_that_a_family_cannot_model(family, value, words):
    x = np.append(TABLE["share"], value)
    with refused("column 'x'", *words):
        TableClassifier(families={"x": family}).fit({"x": x}, np.append(Y, 1))
    if family == "beta":
        model = TableClassifier(families={"x": family}, calibrate=False, dependence=False)
        model.fit({"x": TABLE["share"]}, Y)
        assert_allclose(model.predict_proba({"x": [value]})[0], [0.5, 0.5])
