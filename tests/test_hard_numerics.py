"""Data that lose digits: far from zero, of every scale at once, nearly or truly singular.

The reference is exact (fractions), or exact but for a last rounding. Where no answer is right, an
error names the remedy.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import multivariate_normal, poisson
from sklearn.base import clone

from exact import ExactGDA, floats, fractions
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MultinomialNB,
    MultivariateNormal,
    PoissonNB,
    SingularCovarianceError,
    SingularCovarianceWarning,
)
from scope import nightly_if_sanitized

GAUSSIANS = {
    "shared": (GDA(), {}),
    "separate": (GDA(shared=False), {"shared": False}),
    "shared, diagonal": (GDA(diagonal=True), {"diagonal": True}),
    "separate, diagonal": (GDA(False, True), {"shared": False, "diagonal": True}),
    "naive": (GaussianNB(var_smoothing=0), {"shared": False, "diagonal": True}),
    "unbiased": (GDA(unbiased=True), {"unbiased": True}),
}
every_gaussian = pytest.mark.parametrize(
    ("model", "options"), GAUSSIANS.values(), ids=GAUSSIANS.keys()
)
RULES = [GDA(shrinkage="oas"), GDA(shrinkage="ledoit-wolf"), GDA(False, shrinkage="ledoit-wolf")]


def table(rows=45, n=3, K=3, seed=0):
    """Correlated numbers of 10 binary digits (m, n), so that sums with large numbers are exact."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % K
    X = rng.normal(size=(rows, n)) @ rng.normal(size=(n, n)) + rng.normal(size=(K, n))[y]
    return np.round(X * 2**10) / 2**10, y


def variances(model):
    """Variances of each class, (K, n)."""
    if isinstance(model, GaussianNB):
        return model.var_
    covariance = model.covariance_
    diagonal = np.diagonal(covariance, axis1=-2, axis2=-1)
    return np.broadcast_to(diagonal, model.means_.shape)


def exact_variances(exact):
    return floats([[Σ[j][j] for j in range(exact.n)] for Σ in exact.covariances])


def means(model):
    return model.theta_ if isinstance(model, GaussianNB) else model.means_


# Far from zero


@every_gaussian
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, -1e8, 1e12])
def test_offset(model, options, offset):
    X, y = table()
    far = X + offset
    assert (far - offset == X).all()
    exact = ExactGDA(far, y, **options)
    model = clone(model).fit(far, y)
    np.testing.assert_allclose(means(model), floats(exact.means), rtol=1e-15)
    np.testing.assert_allclose(variances(model), exact_variances(exact), rtol=1e-12)
    # A mean is a float and off by up to half a unit in its last place; the rest is exact.
    exact.means = [fractions(mean) for mean in means(model)]
    np.testing.assert_allclose(model.predict_joint_log_proba(far), exact.log_joint(far), rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_log_proba(far), exact.log_posterior(far), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("offset", [1e4, 1e8])
@pytest.mark.parametrize("model", RULES, ids=str)
def test_offset_does_not_change_what_is_chosen(model, offset):
    X, y = table()
    near = clone(model).fit(X, y)
    far = clone(model).fit(X + offset, y)
    np.testing.assert_allclose(far.shrinkage_, near.shrinkage_, rtol=1e-8)
    np.testing.assert_allclose(far.covariance_, near.covariance_, rtol=1e-8)


UNIT = 2.0**-26  # the last place of 1e8


def whole_table(rows, seed=0):
    """Whole numbers k (m, 2) and labels; 1e8 + k UNIT are floats with noise in every place."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    x = rng.normal(size=(rows, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + y[:, None]
    return np.round(x / UNIT).astype(np.int64), y


def exact_covariances(k, y, shared):
    """Covariances of k UNIT in whole numbers of any size: (mΣkkᵀ - ΣkΣkᵀ) / m²."""
    scatters, sizes = [], []
    for label in np.unique(y):
        own = k[y == label].astype(object)
        m, sums = len(own), own.sum(axis=0)
        scatters.append((m * (own.T @ own) - np.outer(sums, sums)) * Fraction(1, m))
        sizes.append(m)
    if shared:
        scatters, sizes = [sum(scatters)] * len(sizes), [len(y)] * len(sizes)
    unit = Fraction(UNIT) ** 2
    return floats([S * unit / m for S, m in zip(scatters, sizes, strict=True)])


def covariances(model):
    if isinstance(model, GaussianNB):
        return np.array([np.diag(variance) for variance in model.var_])
    return np.broadcast_to(model.covariance_, (len(model.classes_), 2, 2))


@pytest.mark.parametrize("model", [GDA(), GDA(False), GaussianNB()], ids=str)
def test_one_row_at_a_time_far_from_zero(model):
    k, y = whole_table(800)
    X = 1e8 + k * UNIT
    model = clone(model)
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None], [label])
    expected = exact_covariances(k, y, shared=model.get_params().get("shared", False))
    if isinstance(model, GaussianNB):
        expected = expected * np.eye(2)
    np.testing.assert_allclose(covariances(model), expected, rtol=1e-12)


@pytest.mark.parametrize("model", [GDA(), GDA(False), GaussianNB()], ids=str)
def test_forgetting_one_row_at_a_time_far_from_zero(model):
    k, y = whole_table(600)
    X = 1e8 + k * UNIT
    model = clone(model).fit(X, y)
    for x, label in zip(X[100:], y[100:], strict=True):
        model.forget(x[None], [label])
    expected = exact_covariances(k[:100], y[:100], model.get_params().get("shared", False))
    if isinstance(model, GaussianNB):
        expected = expected * np.eye(2)
    np.testing.assert_allclose(covariances(model), expected, rtol=1e-10)


@nightly_if_sanitized
@pytest.mark.parametrize("model", [GDA(False), GaussianNB()], ids=str)
def test_ten_million_rows_in_a_stream(model):
    """x = 1e8 + k/8 with whole k: sums of k and k² are exact in 64 bits."""
    rng = np.random.default_rng(0)
    chunk, chunks = 250_000, 40
    y = np.arange(chunk) % 2
    sums, products = np.zeros((2, 2), dtype=np.int64), np.zeros((2, 2, 2), dtype=np.int64)
    model = clone(model)
    for _ in range(chunks):
        k = rng.integers(-1000, 1000, (chunk, 2)) + 500 * y[:, None]
        k[:, 1] += k[:, 0]
        model.partial_fit(1e8 + k / 8, y)
        for label in range(2):
            own = k[y == label]
            sums[label] += own.sum(axis=0)
            products[label] += own.T @ own
    m = chunk * chunks // 2
    assert model.class_count_.tolist() == [m, m]
    for label in range(2):
        mean = [Fraction(int(s), 8 * m) for s in sums[label]]
        np.testing.assert_allclose(
            means(model)[label], [float(10**8 + μ) for μ in mean], rtol=1e-15
        )
        covariance = [
            [Fraction(int(products[label, i, j]), 64 * m) - mean[i] * mean[j] for j in range(2)]
            for i in range(2)
        ]
        if isinstance(model, GDA):
            np.testing.assert_allclose(model.covariance_[label], floats(covariance), rtol=1e-12)
        else:
            np.testing.assert_allclose(
                model.var_[label], np.diagonal(floats(covariance)), rtol=1e-12
            )


# Every scale at once


@every_gaussian
def test_scales_from_1e_minus_8_to_1e8(model, options):
    X, y = table(n=4)
    D = 2.0 ** np.array([-27, -9, 9, 27])  # powers of two: exact
    exact = ExactGDA(X * D, y, **options)
    model = clone(model).fit(X * D, y)
    np.testing.assert_allclose(means(model), floats(exact.means), rtol=1e-12)
    np.testing.assert_allclose(variances(model), exact_variances(exact), rtol=1e-12)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(X * D), exact.log_joint(X * D), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(
        model.predict_log_proba(X * D), exact.log_posterior(X * D), atol=1e-10
    )


@pytest.mark.parametrize("model", RULES, ids=str)
def test_scales_do_not_change_what_is_chosen(model):
    X, y = table(n=4)
    D = 2.0 ** np.array([-27, -9, 9, 27])
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X * D, y)
    np.testing.assert_allclose(scaled.shrinkage_, plain.shrinkage_, rtol=1e-12)
    np.testing.assert_allclose(scaled.predict_proba(X * D), plain.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("model", [GDA(), GaussianNB(), GDA(shrinkage="ledoit-wolf")], ids=str)
@pytest.mark.parametrize("scale", [2.0**-530, 2.0**-300, 2.0**300, 2.0**530])
def test_numbers_whose_squares_are_no_floats(model, scale):
    """1e-160 squared is 0 and 1e160 squared infinite: right, or an error that says so."""
    X, y = table()
    expected = clone(model).fit(X, y).predict_proba(X)
    refused = ""
    try:
        posterior = clone(model).fit(X * scale, y).predict_proba(X * scale)
    except ValueError as error:
        refused = str(error)
    if refused:
        assert re.search(r"too (large|small)|[Ss]cale|[Uu]nit", refused)
    else:
        np.testing.assert_allclose(posterior, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-100, 1 / 45, 2.0**100])
@pytest.mark.parametrize(
    "model",
    [GDA(), GDA(False), GDA(diagonal=True), GDA(False, True), GaussianNB()],
    ids=str,
)
def test_weights_of_any_size(model, scale):
    """Maximum likelihood knows shares only: weights that add up to 1 are as good as ones."""
    X, y = table()
    expected = clone(model).fit(X, y)
    weighted = clone(model).fit(X, y, sample_weight=np.full(len(y), scale))
    log_proba = expected.predict_log_proba(X)
    np.testing.assert_allclose(weighted.predict_log_proba(X), log_proba, rtol=1e-10, atol=1e-10)
    scaled = expected * scale
    np.testing.assert_allclose(scaled.predict_log_proba(X), log_proba, rtol=1e-10, atol=1e-10)


# Far apart


@every_gaussian
@pytest.mark.parametrize("distance", [1e3, 1e5, 1e8])
def test_class_means_far_apart(model, options, distance):
    """Each row explained by its own class to all digits, by others to 1 in 1e12."""
    X, y = table(K=2)
    X = X + np.float64(distance) * y[:, None]
    exact = ExactGDA(X, y, **options)
    model = clone(model).fit(X, y)
    own, other = (np.arange(len(y)), y), (np.arange(len(y)), 1 - y)
    joint, expected = model.predict_joint_log_proba(X), exact.log_joint(X)
    np.testing.assert_allclose(joint[own], expected[own], atol=1e-13 * distance + 1e-9)
    np.testing.assert_allclose(joint[other], expected[other], rtol=1e-11)
    np.testing.assert_array_equal(model.predict(X), y)
    posterior = model.predict_log_proba(X)
    assert (posterior[own] == 0).all()
    np.testing.assert_allclose(posterior[other], exact.log_posterior(X)[other], rtol=1e-11)


@every_gaussian
def test_two_classes_close_together_and_one_far_away(model, options):
    X, y = table(K=3)
    X = X + 1e8 * (y == 2)[:, None]
    near = y < 2
    model = clone(model).fit(X, y)
    exact = ExactGDA(X, y, **options).log_posterior(X[near])
    ours = model.predict_log_proba(X[near])
    np.testing.assert_allclose(ours[:, :2], exact[:, :2], atol=1e-6)
    np.testing.assert_allclose(ours[:, 2], exact[:, 2], rtol=1e-9)


def test_class_far_away_does_not_blur_two_others():
    """The least variance of a column should not grow with the distance between classes."""
    X, y = table(K=3)
    near = y < 2
    alone = GaussianNB().fit(X[near], y[near]).predict_proba(X[near])
    X[~near] += 1e8
    ours = GaussianNB().fit(X, y).predict_proba(X[near])
    np.testing.assert_allclose(ours[:, :2], alone, rtol=1e-5)


@every_gaussian
def test_rows_far_from_all_classes(model, options):
    X, y = table()
    model = clone(model).fit(X, y)
    far = np.array([[1e6, -1e6, 1e6], [1e9, 0, 0], [-1e12, 1e12, 3]])
    exact = ExactGDA(X, y, **options)
    np.testing.assert_allclose(model.predict_joint_log_proba(far), exact.log_joint(far), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(far), exact.log_posterior(far).argmax(axis=1))


# Singular


STRICT = GDA(singular="error")


def names_a_remedy(error):
    return re.search(
        r"shrinkage=|shared=True|diagonal=True|var_smoothing|[Ll]eave (it |them )?out|Add rows",
        str(error.value),
    )


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -3e-9, 1e8 + 0.1])
class TestConstantColumn:
    def with_constant(self, value):
        X, y = table()
        return X, np.column_stack([X, np.full(len(y), value)]), y

    @pytest.mark.parametrize("model", [STRICT, GDA(False), GDA(diagonal=True), GDA(False, True)])
    def test_is_an_error(self, model, value):
        _, X, y = self.with_constant(value)
        with pytest.raises(SingularCovarianceError, match=r"olumn 3 has no variance") as error:
            clone(model).fit(X, y)
        assert names_a_remedy(error)

    @pytest.mark.parametrize(
        "model", [GDA(), GaussianNB(), *RULES, GDA(False, shrinkage="oas")], ids=str
    )
    def test_says_nothing(self, model, value):
        """In a model that takes it, it tells no class from another."""
        without, X, y = self.with_constant(value)
        np.testing.assert_allclose(
            clone(model).fit(X, y).predict_proba(X),
            clone(model).fit(without, y).predict_proba(without),
            rtol=1e-9,
        )

    def test_says_nothing_of_how_common_a_class_is(self, value):
        without, X, y = self.with_constant(value)
        rows = np.flatnonzero((y > 0) | (np.arange(len(y)) < 20))
        model = GDA(False, shrinkage="oas")
        np.testing.assert_allclose(
            clone(model).fit(X[rows], y[rows]).predict_proba(X),
            clone(model).fit(without[rows], y[rows]).predict_proba(without),
            rtol=1e-9,
        )

    def test_streamed(self, value):
        without, X, y = self.with_constant(value)
        model, strict = GDA(), clone(STRICT)
        for rows in np.array_split(np.arange(len(y)), 9):
            model.partial_fit(X[rows], y[rows])
            strict.partial_fit(X[rows], y[rows])
        with pytest.raises(SingularCovarianceError, match="column 3 has no variance"):
            strict.predict(X)
        assert model.shrinkage_ == 0
        assert (model.coef_[:, 3] == 0).all()
        np.testing.assert_allclose(
            model.predict_proba(X), GDA().fit(without, y).predict_proba(without), rtol=1e-9
        )


@pytest.mark.parametrize("model", [GaussianNB(), GDA(shrinkage="oas")], ids=str)
def test_constant_column_whose_square_is_no_float(model):
    X, y = table()
    tiny = np.column_stack([X, np.full(len(y), 1e-200)])
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(clone(model).fit(tiny, y).predict_proba(tiny), expected, rtol=1e-9)


def test_remedy_is_not_what_is_done_already():
    X, y = table()
    X = np.column_stack([X, np.ones(len(y))])
    with pytest.raises(SingularCovarianceError, match="within any class") as error:
        GDA(diagonal=True).fit(X, y)
    assert "shared=True" not in str(error.value)


def test_column_constant_within_classes_tells_them_apart():
    X, y = table()
    X = np.column_stack([X, np.array([0.1, 0.2, 0.3])[y]])
    assert GaussianNB().fit(X, y).score(X, y) == 1.0
    with pytest.raises(SingularCovarianceError, match="column 3 has no variance") as error:
        clone(STRICT).fit(X, y)
    assert names_a_remedy(error)
    with pytest.warns(SingularCovarianceWarning, match="column 3 has no variance") as told:
        shrunk = GDA().fit(X, y)
    assert told[0].message.shrinkage == shrunk.shrinkage_ > 0
    assert shrunk.score(X, y) == 1.0


@pytest.mark.parametrize(
    "model",
    [GDA(), GDA(False), GDA(diagonal=True), GDA(False, True), *RULES, GDA(shrinkage=0.5)],
    ids=str,
)
def test_one_row_for_each_class(model):
    X, y = table(rows=3)
    with pytest.raises(SingularCovarianceError) as error:
        clone(model).fit(X, y)
    assert names_a_remedy(error)


def test_one_row_for_each_class_is_enough_for_counts_and_floors():
    X, y = table(rows=3)
    np.testing.assert_array_equal(GaussianNB().fit(X, y).predict(X), y)
    counts = np.eye(3, dtype=int)
    for model in (BernoulliNB(), CategoricalNB(), MultinomialNB(), PoissonNB()):
        np.testing.assert_array_equal(model.fit(counts, y).predict(counts), y)


def test_one_class_of_one_row():
    X, y = table(rows=9, K=2)
    X, y = np.vstack([X, X[:1] + 7]), np.append(y, 2)
    exact = ExactGDA(X, y)
    np.testing.assert_allclose(
        GDA().fit(X, y).predict_joint_log_proba(X), exact.log_joint(X), rtol=1e-9
    )
    with pytest.raises(SingularCovarianceError, match=r"class 2 has 1 row.*needs 4") as error:
        GDA(False).fit(X, y)
    assert names_a_remedy(error)


@pytest.mark.parametrize("model", [STRICT, GDA(False)], ids=str)
def test_fewer_rows_than_columns(model):
    X, y = table(rows=20, n=50, K=2)
    too_few = r"^(There|In class 0 there) may be too few rows: .* 50 columns need 5[12] rows"
    with pytest.raises(SingularCovarianceError, match=too_few) as error:
        clone(model).fit(X, y)
    assert names_a_remedy(error)


@pytest.mark.parametrize("model", RULES, ids=str)
def test_shrinkage_makes_do_with_fewer_rows_than_columns(model):
    X, y = table(rows=20, n=50, K=2)
    fitted = clone(model).fit(X, y)
    assert (np.asarray(fitted.shrinkage_) > 0).all()
    covariance = np.broadcast_to(fitted.covariance_, (2, 50, 50))
    z = X[:, None] - fitted.means_
    expected = [
        [multivariate_normal(cov=Σ).logpdf(d) for d, Σ in zip(row, covariance, strict=True)]
        for row in z
    ]
    np.testing.assert_allclose(
        fitted.predict_joint_log_proba(X), np.array(expected) + np.log(0.5), rtol=1e-9
    )


@pytest.mark.parametrize("model", [STRICT, GDA(False)], ids=str)
@pytest.mark.parametrize(
    ("of", "factor", "shift"),
    [([0], 1, 0), ([0], 3e8, 0), ([0, 1], 1, 0), ([0], 1, 5)],
    ids=["same", "other unit", "sum", "shifted"],
)
def test_duplicated_column(model, of, factor, shift):
    X, y = table()
    X = np.column_stack([X, factor * X[:, of].sum(axis=1) + shift])
    with pytest.raises(SingularCovarianceError, match="is a linear combination") as error:
        clone(model).fit(X, y)
    assert names_a_remedy(error)
    blamed = re.search(r"column (\d) is a linear combination of columns? (.*?)\.", str(error.value))
    assert {"0", "3"} <= set(re.findall(r"\d", blamed.group(0)))
    if not model.shared:
        assert 'Use shrinkage="oas", use shared=True' in str(error.value)
        return
    with pytest.warns(SingularCovarianceWarning, match=re.escape(blamed.group(0))):
        shrunk = GDA().fit(X, y)
    np.testing.assert_allclose(
        shrunk.predict_proba(X), GDA(shrinkage="oas").fit(X, y).predict_proba(X), rtol=1e-9
    )


@pytest.mark.parametrize("noise", [2.0**-10, 2.0**-16, 2.0**-20])
def test_almost_duplicated_column(noise):
    """Digits are lost in proportion to the condition of Σ, and no more."""
    X, y = table()
    rng = np.random.default_rng(3)
    copy = X[:, 0] + np.round(rng.normal(size=len(y)) * 2**10) / 2**10 * noise
    X = np.column_stack([X, copy])
    exact = ExactGDA(X, y)
    ours = GDA().fit(X, y)
    np.testing.assert_allclose(ours.covariance_, floats(exact.covariances[0]), rtol=1e-12)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), exact.log_joint(X), atol=1e-13 / noise**2
    )


def test_singular_normal_names_the_column():
    with pytest.raises(SingularCovarianceError, match=r"column 1 has no variance.*diagonal"):
        MultivariateNormal([0, 0], [[1, 0], [0, 0]])
    with pytest.raises(SingularCovarianceError, match=r"linear combination.*diagonal"):
        MultivariateNormal([0, 0], [[1, 2], [2, 4]])


# Counts


def test_counts_up_to_the_last_whole_float():
    X = np.array([[2**52, 1, 0], [2**52 - 1, 0, 1], [1, 2**40, 3]])
    model = MultinomialNB().fit(X, [0, 0, 1])
    assert model.feature_count_.tolist() == [[2**53 - 1, 1, 1], [1, 2**40, 3]]


def test_long_documents():
    """A million words: p(x|y) is 1e-600000, and the odds are right all the same."""
    rng = np.random.default_rng(0)
    X, y = rng.poisson(5, (40, 20)), np.arange(40) % 2
    long = rng.multinomial(1_000_000, np.full(20, 0.05), size=3)
    model = MultinomialNB().fit(X, y)
    counts = [[int(c) + 1 for c in X[y == k].sum(axis=0)] for k in (0, 1)]
    log_odds = [
        sum(
            int(x) * math.log(Fraction(a, sum(counts[1])) / Fraction(b, sum(counts[0])))
            for x, a, b in zip(row, counts[1], counts[0], strict=True)
        )
        for row in long
    ]
    joint = model.predict_joint_log_proba(long)
    np.testing.assert_allclose(joint[:, 1] - joint[:, 0], log_odds, rtol=1e-8)
    assert np.isfinite(model.predict_log_proba(long)).all()


def test_very_many_columns():
    """10,000 bits: every p(x|y) is 0 as a float; p(y|x) is not."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = (rng.random((200, 10_000)) < 0.5).astype(np.uint8)
    model = BernoulliNB().fit(X, y)
    φ = np.longdouble([X[y == k].sum(axis=0) + 1 for k in (0, 1)]) / 102
    joint = np.array([[np.where(x, np.log(p), np.log1p(-p)).sum() for p in φ] for x in X[:20]])
    expected = (joint[:, 1] - joint[:, 0]).astype(float)
    log_posterior = model.predict_log_proba(X[:20])
    np.testing.assert_allclose(log_posterior[:, 1] - log_posterior[:, 0], expected, rtol=1e-10)


def test_events_at_very_different_rates():
    """Rates from 1e-9 to 1e9: λ and log λ are both in the sum."""
    rates = np.array([[1e-9, 1.0, 1e9], [2e-9, 1.5, 1.0001e9]])
    X = np.round(rates)
    model = PoissonNB(alpha=0).fit(np.vstack([rates, rates]), [0, 1, 0, 1])
    np.testing.assert_allclose(model.rate_, rates, rtol=1e-15)
    expected = poisson.logpmf(X[:, None], rates).sum(axis=2) + np.log(0.5)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-6)
