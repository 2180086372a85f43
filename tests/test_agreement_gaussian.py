"""Gaussian models: the same numbers as scipy.stats, scikit-learn and the formulas, to rounding.

m rows, n columns, K classes.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.linalg import inv
from scipy import stats
from scipy.special import expit, logsumexp
from sklearn.covariance import ledoit_wolf, oas
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB as PeerGaussianNB

from genus import GDA, GaussianNB, MultivariateNormal, cross_validate
from genus.families import Gaussian

pytest.importorskip("sklearn", minversion="1.9")  # divisors and solvers were others before

RTOL = 1e-9

DENSE = {
    "float64": lambda X: X.astype(np.float64),
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: X.astype(np.int64),
    "uint8": lambda X: X.astype(np.uint8),
    "Fortran order": lambda X: np.asfortranarray(X.astype(np.float64)),
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "lists": lambda X: X.tolist(),
}


def equal(ours, theirs, atol=0.0, rtol=RTOL):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, strict=True)


def random_covariance(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n + 3))
    return A @ A.T / n


def whole_numbers(K, n=5, seed=0):
    """Correlated whole numbers from 0 to 255 (m, n), of K classes of unequal size."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(K), 4 * n), rng.integers(0, max(K // 2, 1), 8 * K)])
    means = rng.uniform(110, 120, (K, n))
    X = means[y] + rng.normal(size=(len(y), n)) @ (4 * random_covariance(n))
    return np.clip(np.round(X), 0, 255).astype(np.int64), y


def residuals(X, y):
    return X - np.array([X[y == k].mean(axis=0) for k in np.unique(y)])[y]


REAL = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
}


# The multivariate normal distribution


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_normal_density_is_that_of_scipy(n):
    rng = np.random.default_rng(n)
    mean, covariance = rng.normal(size=n), random_covariance(n)
    x = rng.normal(size=(40, n)) * 3
    ours, theirs = MultivariateNormal(mean, covariance), stats.multivariate_normal(mean, covariance)
    equal(ours.log_density(x), theirs.logpdf(x))
    equal(ours.density(x), theirs.pdf(x))
    assert ours.log_density(x[0]) == pytest.approx(theirs.logpdf(x[0]), rel=RTOL)
    assert ours.log_density(x.reshape(4, 10, n)).shape == (4, 10)


def test_normal_of_one_dimension_takes_numbers():
    x = np.linspace(-5, 5, 11)
    ours, theirs = MultivariateNormal(1.5, 4.0), stats.norm(1.5, 2.0)
    equal(ours.log_density(x), theirs.logpdf(x))
    assert ours.density(0.3) == pytest.approx(theirs.pdf(0.3), rel=1e-14)
    assert ours.log_density([0.3]) == pytest.approx(theirs.logpdf(0.3), rel=1e-14)
    equal(ours.log_density(x[:, None]), theirs.logpdf(x))


@pytest.mark.parametrize("ρ", [0.0, 0.5, -0.8, 1 - 2.0**-20])
def test_bivariate_normal_is_the_closed_form(ρ):
    σ = np.array([3.0, 0.5])
    x = np.random.default_rng(0).normal(size=(20, 2)) * σ
    u, v = (x / σ).T
    # u² - 2ρuv + v² = (u - v)² + 2(1 - ρ)uv loses no digits when ρ is almost 1
    squared = ((u - v) ** 2 + 2 * (1 - ρ) * u * v) / ((1 - ρ) * (1 + ρ))
    by_hand = -0.5 * squared - np.log(2 * np.pi * σ.prod()) - 0.5 * np.log((1 - ρ) * (1 + ρ))
    covariance = [[σ[0] ** 2, ρ * σ.prod()], [ρ * σ.prod(), σ[1] ** 2]]
    ours = MultivariateNormal([0, 0], covariance).log_density(x)
    condition = 2 / (1 - abs(ρ))
    equal(ours, by_hand, rtol=max(1e-12, 1e-15 * condition))


def test_normal_density_does_not_depend_on_units():
    """p(x; μ, DΣD) = p(D⁻¹x; D⁻¹μ, Σ) / |D|; scipy calls this covariance singular."""
    n = 5
    D = np.logspace(-8, 8, n)
    correlation = random_covariance(n)
    x = np.random.default_rng(1).normal(size=(20, n))
    expected = stats.multivariate_normal(np.zeros(n), correlation).logpdf(x) - np.log(D).sum()
    ours = MultivariateNormal(np.zeros(n), correlation * D * D[:, None]).log_density(x * D)
    equal(ours, expected, rtol=1e-12)


@pytest.mark.parametrize("known", [[0], [3, 1], [4, 0, 2], []])
def test_marginal_and_conditional_are_the_formulas(known):
    n = 5
    rng = np.random.default_rng(2)
    μ, Σ = rng.normal(size=n), random_covariance(n)
    joint = MultivariateNormal(μ, Σ)
    x = rng.normal(size=n)
    rest = [j for j in range(n) if j not in known]

    given = joint.conditional({j: x[j] for j in known})
    gain = Σ[np.ix_(rest, known)] @ inv(Σ[np.ix_(known, known)])
    equal(given.mean, μ[rest] + gain @ (x[known] - μ[known]))
    equal(given.covariance, Σ[np.ix_(rest, rest)] - gain @ Σ[np.ix_(known, rest)], atol=1e-12)

    marginal = joint.marginal(rest)
    equal(marginal.mean, μ[rest])
    equal(marginal.covariance, Σ[np.ix_(rest, rest)])

    # p(a, b) = p(a|b) p(b)
    p_known = joint.marginal(known).log_density(x[known]) if known else 0.0
    chained = given.log_density(x[rest]) + p_known
    assert chained == pytest.approx(joint.log_density(x), rel=1e-12)


def test_covariance_is_the_second_moment_less_the_mean():
    """Cov(Z) = E[ZZᵀ] - E[Z]E[Z]ᵀ, of what is drawn."""
    μ, Σ = np.array([1.0, -2.0, 0.5]), random_covariance(3)
    z = MultivariateNormal(μ, Σ).sample(400_000, random_state=0)
    second = z.T @ z / len(z) - np.outer(z.mean(axis=0), z.mean(axis=0))
    np.testing.assert_allclose(second, Σ, atol=6 * Σ.max() / np.sqrt(len(z)))
    np.testing.assert_allclose(z.mean(axis=0), μ, atol=6 * np.sqrt(Σ.max() / len(z)))


# Discriminant analysis


@pytest.mark.parametrize(
    ("layout", "K"), [*((layout, 3) for layout in DENSE), ("float64", 2), ("float64", 50)]
)
def test_shared_covariance_is_linear_discriminant_analysis(layout, K):
    X, y = whole_numbers(K)
    laid_out = DENSE[layout](X)
    ours = GDA().fit(laid_out, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X.astype(float), y)
    assert ours.n_features_in_ == theirs.n_features_in_
    for name in ("classes_", "priors_", "means_", "covariance_"):
        equal(getattr(ours, name), getattr(theirs, name))
    by_default = LinearDiscriminantAnalysis().fit(X.astype(float), y)
    equal(ours.coef_, by_default.coef_, atol=1e-9)
    equal(ours.intercept_, by_default.intercept_, atol=1e-7)
    equal(ours.decision_function(laid_out), by_default.decision_function(X), atol=1e-9)
    linear = (X @ ours.coef_.T + ours.intercept_).reshape(len(X), -1)
    equal(ours.decision_function(laid_out).reshape(len(X), -1), linear, atol=1e-9)
    equal(ours.predict_proba(laid_out), theirs.predict_proba(X), rtol=1e-8, atol=1e-14)
    np.testing.assert_array_equal(ours.predict(laid_out), theirs.predict(X))
    joint = densities(X, ours.means_, [ours.covariance_] * K) + np.log(ours.priors_)
    equal(ours.predict_joint_log_proba(laid_out), joint)
    equal(
        ours.predict_proba(laid_out),
        np.exp(joint - logsumexp(joint, axis=1, keepdims=True)),
        atol=1e-300,
    )


@pytest.mark.parametrize(
    ("layout", "K"), [*((layout, 3) for layout in DENSE), ("float64", 2), ("float64", 50)]
)
def test_separate_covariances_are_quadratic_discriminant_analysis(layout, K):
    X, y = whole_numbers(K)
    laid_out = DENSE[layout](X)
    ours = GDA(shared=False).fit(laid_out, y)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X.astype(float), y)
    assert ours.n_features_in_ == theirs.n_features_in_
    for name in ("classes_", "priors_", "means_"):
        equal(getattr(ours, name), getattr(theirs, name))
    equal(ours.covariance_, np.array(theirs.covariance_), atol=1e-11)
    equal(ours.predict_proba(laid_out), theirs.predict_proba(X), rtol=1e-8, atol=1e-300)
    np.testing.assert_array_equal(ours.predict(laid_out), theirs.predict(X))
    joint = densities(X, ours.means_, ours.covariance_) + np.log(ours.priors_)
    equal(ours.predict_joint_log_proba(laid_out), joint)


def densities(X, means, covariances):
    """log N(x; μ_k, Σ_k) by scipy, (m, K)."""
    both = zip(means, covariances, strict=True)
    return np.stack([stats.multivariate_normal(μ, Σ).logpdf(X) for μ, Σ in both], axis=1)


@pytest.mark.parametrize("data", REAL)
def test_real_data_equal_scikit_learn(data):
    X, y = REAL[data]
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    quadratic = QuadraticDiscriminantAnalysis(tol=1e-12).fit(X, y)
    for ours, theirs in [(GDA(), linear), (GDA(shared=False), quadratic)]:
        ours.fit(X, y)
        equal(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("data", REAL)
def test_decision_function_is_that_of_scikit_learn_up_to_a_number_for_each_row(data):
    X, y = REAL[data]
    ours = GDA().fit(X, y).decision_function(X)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).decision_function(X)
    if ours.ndim == 2:
        ours, theirs = (scores - scores[:, :1] for scores in (ours, theirs))
    equal(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_whole_weights_are_repeated_rows(shared):
    X, y = whole_numbers(3)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    ours = GDA(shared).fit(X, y, sample_weight=weight)
    theirs = (
        LinearDiscriminantAnalysis(solver="lsqr")
        if shared
        else QuadraticDiscriminantAnalysis(store_covariance=True)
    ).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    equal(ours.priors_, theirs.priors_)
    equal(ours.means_, theirs.means_)
    equal(ours.covariance_, np.array(theirs.covariance_), atol=1e-11)
    equal(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-8, atol=1e-14)


def test_weights_by_formula():
    X, y = whole_numbers(3)
    w = np.random.default_rng(0).uniform(0.1, 3, len(y))
    ours = GDA().fit(X, y, sample_weight=w)
    means = np.array([np.average(X[y == k], axis=0, weights=w[y == k]) for k in range(3)])
    z = X - means[y]
    equal(ours.means_, means)
    equal(ours.covariance_, (z.T * w) @ z / w.sum(), atol=1e-11)
    equal(ours.priors_, np.bincount(y, w) / w.sum())


@pytest.mark.parametrize("given", [list, np.array, lambda p: dict(enumerate(p))])
def test_given_priors_do_not_change_the_covariance(given):
    """scikit-learn weighs each class's covariance by its prior; here Σ is counted from rows."""
    X, y = whole_numbers(3)
    priors = [0.2, 0.7, 0.1]
    ours = GDA(priors=given(priors)).fit(X, y)
    plain = GDA().fit(X, y)
    equal(ours.covariance_, plain.covariance_)
    expected = plain.predict_joint_log_proba(X) - np.log(plain.priors_) + np.log(priors)
    equal(ours.predict_joint_log_proba(X), expected)
    quadratic = QuadraticDiscriminantAnalysis(priors=priors).fit(X, y)
    separate = GDA(shared=False, priors=given(priors)).fit(X, y)
    equal(separate.predict_proba(X), quadratic.predict_proba(X), rtol=1e-8, atol=1e-300)


def test_priors_that_do_not_add_up_are_scaled_with_a_warning():
    X, y = whole_numbers(2)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        ours = GDA(priors=[0.5, 0.6]).fit(X, y)
    equal(ours.priors_, np.array([0.5, 0.6]) / 1.1)


def test_diagonal_forms():
    X, y = whole_numbers(3)
    separate = GDA(shared=False, diagonal=True).fit(X, y)
    theirs = PeerGaussianNB(var_smoothing=0).fit(X, y)
    equal(separate.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X))
    equal(np.diagonal(separate.covariance_, axis1=1, axis2=2), theirs.var_)
    shared = GDA(diagonal=True).fit(X, y)
    variance = (residuals(X, y) ** 2).mean(axis=0)
    equal(shared.covariance_, np.diag(variance))
    terms = stats.norm.logpdf(X[:, None], shared.means_, np.sqrt(variance)).sum(axis=2)
    equal(shared.predict_joint_log_proba(X), terms + np.log(shared.priors_))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("unbiased", [True, False])
def test_log_likelihood_by_hand(shared, diagonal, unbiased):
    X, y = REAL["iris"]
    ours = GDA(shared, diagonal, unbiased=unbiased).fit(X, y)
    covariance = np.broadcast_to(ours.covariance_, (3, 4, 4))
    by_hand = sum(
        stats.multivariate_normal(ours.means_[k], covariance[k]).logpdf(x) + np.log(ours.priors_[k])
        for x, k in zip(X, y, strict=True)
    )
    assert ours.log_likelihood(X, y) == pytest.approx(by_hand, rel=1e-12)
    joint = densities(X, ours.means_, covariance) + np.log(ours.priors_)
    equal(ours.log_density(X), logsumexp(joint, axis=1))


def test_maximum_likelihood_is_the_largest():
    """No other φ, μ or Σ nearby makes the training rows likelier."""
    X, y = REAL["iris"]
    ours = GDA().fit(X, y)
    best = ours.log_likelihood(X, y)
    rng = np.random.default_rng(0)
    for _ in range(20):
        means = ours.means_ + 1e-3 * rng.normal(size=(3, 4))
        A = np.eye(4) + 1e-3 * rng.normal(size=(4, 4))
        joint = densities(X, means, [A @ ours.covariance_ @ A.T] * 3) + np.log(ours.priors_)
        assert joint[np.arange(len(y)), y].sum() < best


# The divisor of R's MASS


def mass_posterior(X, y, shared):
    """MASS::lda and ::qda by formula: sums of squares divided by m - K, or by m_k - 1."""
    labels, m_k = np.unique(y, return_counts=True)
    z = residuals(X, y)
    if shared:
        covariances = [z.T @ z / (len(y) - len(labels))] * len(labels)
    else:
        covariances = [np.cov(X[y == k].T) for k in labels]
    means = np.array([X[y == k].mean(axis=0) for k in labels])
    squared = np.stack(
        [
            np.einsum("ij,jl,il->i", X - μ, inv(Σ), X - μ)
            for μ, Σ in zip(means, covariances, strict=True)
        ],
        axis=1,
    )
    determinants = np.array([np.linalg.slogdet(Σ)[1] for Σ in covariances])
    joint = -0.5 * (squared + determinants) + np.log(m_k / len(y))
    return covariances, np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


@pytest.mark.parametrize("data", REAL)
@pytest.mark.parametrize("shared", [True, False])
def test_unbiased_is_the_divisor_of_mass(data, shared):
    X, y = REAL[data]
    ours = GDA(shared, unbiased=True).fit(X, y)
    covariances, posterior = mass_posterior(X, y, shared)
    expected = covariances[0] if shared else np.array(covariances)
    equal(ours.covariance_, expected, atol=1e-14 * np.abs(expected).max())
    equal(ours.predict_proba(X), posterior, rtol=1e-6, atol=1e-9)


def test_unbiased_variances():
    X, y = REAL["iris"]
    variances = np.array([X[y == k].var(axis=0, ddof=1) for k in range(3)])
    equal(GaussianNB(unbiased=True, var_smoothing=0).fit(X, y).var_, variances)
    equal(
        GDA(shared=False, diagonal=True, unbiased=True).fit(X, y).covariance_,
        np.array([np.diag(v) for v in variances]),
    )
    pooled = (residuals(X, y) ** 2).sum(axis=0) / (150 - 3)
    equal(GDA(diagonal=True, unbiased=True).fit(X, y).covariance_, np.diag(pooled))


# Shrinkage


@pytest.mark.parametrize("γ", [0.0, 0.1, 0.43, 1.0])
@pytest.mark.parametrize("data", REAL)
def test_number_is_the_shrinkage_of_scikit_learn(data, γ):
    """The trace is linear: shrinking the average is averaging the shrunk."""
    X, y = REAL[data]
    ours = GDA(shrinkage=γ).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=γ).fit(X, y)
    scale = np.abs(theirs.covariance_).max()
    equal(ours.covariance_, theirs.covariance_, atol=1e-14 * scale)
    equal(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)
    assert ours.shrinkage_ == γ


@pytest.mark.parametrize("γ", [0.1, 0.43])
def test_number_is_the_shrinkage_of_each_covariance(γ):
    X, y = REAL["iris"]
    ours = GDA(shared=False, shrinkage=γ).fit(X, y)
    for k in range(3):
        S = np.cov(X[y == k].T, bias=True)
        equal(ours.covariance_[k], (1 - γ) * S + γ * np.trace(S) / 4 * np.eye(4))
    np.testing.assert_array_equal(ours.shrinkage_, [γ] * 3)


RULES = {"oas": oas, "ledoit-wolf": ledoit_wolf}


def shrunk(rule, z):
    """A rule of scikit-learn on standardised columns, and its γ."""
    scale = np.sqrt((z**2).mean(axis=0))
    covariance, γ = RULES[rule](z / scale, assume_centered=True)
    return covariance * scale * scale[:, None], γ


@pytest.mark.parametrize("data", REAL)
@pytest.mark.parametrize("rule", RULES)
def test_rule_is_that_of_scikit_learn_on_standardised_residuals(data, rule):
    X, y = REAL[data]
    ours = GDA(shrinkage=rule).fit(X, y)
    covariance, γ = shrunk(rule, residuals(X, y))
    assert ours.shrinkage_ == pytest.approx(γ, rel=1e-8)
    equal(ours.covariance_, covariance, rtol=1e-8, atol=1e-13 * np.abs(covariance).max())


@pytest.mark.parametrize("data", REAL)
@pytest.mark.parametrize("rule", RULES)
def test_rule_is_that_of_scikit_learn_class_by_class(data, rule):
    X, y = REAL[data]
    ours = GDA(shared=False, shrinkage=rule).fit(X, y)
    for k in range(len(ours.classes_)):
        covariance, γ = shrunk(rule, residuals(X, y)[y == k])
        assert ours.shrinkage_[k] == pytest.approx(γ, rel=1e-8)
        equal(ours.covariance_[k], covariance, rtol=1e-8, atol=1e-13 * np.abs(covariance).max())


def test_ledoit_wolf_class_by_class_is_scikit_learns_auto():
    X, y = REAL["wine"]
    ours = GDA(shared=False, shrinkage="ledoit-wolf").fit(X, y)
    theirs = QuadraticDiscriminantAnalysis(
        solver="eigen", shrinkage="auto", store_covariance=True
    ).fit(X, y)
    equal(ours.covariance_, np.array(theirs.covariance_), atol=1e-9)
    equal(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_rule_does_not_depend_on_units_or_offset(rule):
    X, y = REAL["wine"]
    D = np.logspace(-3, 3, 13)
    plain = GDA(shrinkage=rule).fit(X, y)
    other = GDA(shrinkage=rule).fit((X + 5) * D, y)
    assert other.shrinkage_ == pytest.approx(plain.shrinkage_, rel=1e-6)
    equal(other.predict_proba((X + 5) * D), plain.predict_proba(X), rtol=1e-5, atol=1e-9)


# Discriminant axes


@pytest.mark.parametrize("data", REAL)
def test_axes_are_those_of_scikit_learn_but_for_the_sign(data):
    X, y = REAL[data]
    ours = GDA().fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert_same_axes(ours.transform(X), theirs.transform(X))
    equal(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-6)
    assert ours.transform(X).shape == (len(y), len(ours.classes_) - 1)
    # Within classes the projection has covariance I.
    z = residuals(ours.transform(X), y)
    np.testing.assert_allclose(z.T @ z / len(y), np.eye(z.shape[1]), atol=1e-9)


def test_axes_of_many_classes():
    X, y = whole_numbers(50)
    for components in (1, 3, 5, None):
        ours = GDA(n_components=components).fit(X, y)
        theirs = LinearDiscriminantAnalysis(solver="eigen", n_components=components).fit(X, y)
        assert_same_axes(ours.transform(X), theirs.transform(X))
        equal(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-8)


def assert_same_axes(ours, theirs):
    ours, theirs = (projected - projected.mean(axis=0) for projected in (ours, theirs))
    sign = np.sign(np.einsum("ij,ij->j", ours, theirs))
    equal(ours * sign, theirs, rtol=1e-6, atol=1e-7)


# The logistic form


@pytest.mark.parametrize("options", [{}, {"diagonal": True}, {"shrinkage": 0.3}], ids=str)
def test_sigmoid_is_the_posterior(options):
    """sigmoid(θᵀx) with x₀ = 1, and θ from φ, μ and Σ, is p(y=1|x)."""
    X, y = REAL["breast cancer"]
    X = X[:, :10]
    ours = GDA(**options).fit(X, y)
    φ, (μ0, μ1), Σ = ours.priors_[1], ours.means_, ours.covariance_
    Σμ0, Σμ1 = np.linalg.solve(Σ, μ0), np.linalg.solve(Σ, μ1)
    θ = np.concatenate([[np.log(φ / (1 - φ)) - (μ1 @ Σμ1 - μ0 @ Σμ0) / 2], Σμ1 - Σμ0])
    x = np.column_stack([np.ones(len(X)), X])
    equal(np.append(ours.intercept_, ours.coef_[0]), θ, rtol=1e-7)
    by_fit = x @ np.append(ours.intercept_, ours.coef_[0])
    equal(expit(by_fit), ours.predict_proba(X)[:, 1], atol=1e-12)
    equal(expit(ours.decision_function(X)), ours.predict_proba(X)[:, 1], atol=1e-14)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("options", [{}, {"diagonal": True}, {"shrinkage": 0.2}], ids=str)
def test_softmax_of_the_weights_is_the_posterior(options, K):
    X, y = whole_numbers(K)
    X = (X - 110) / 10
    ours = GDA(**options).fit(X, y)
    θ, b = ours.coef_, ours.intercept_
    assert (θ.shape, b.shape) == (((1, 5), (1,)) if K == 2 else ((K, 5), (K,)))
    scores = X @ θ.T + b
    scores = np.hstack([np.zeros_like(scores), scores]) if K == 2 else scores
    posterior = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    equal(posterior, ours.predict_proba(X), atol=1e-14)
    regression = ours.to_logistic()
    equal(regression.predict_proba(X), ours.predict_proba(X), atol=1e-14)
    np.testing.assert_array_equal(regression.predict(X), ours.predict(X))


def test_separate_covariances_have_no_logistic_form():
    ours = GDA(shared=False).fit(*REAL["iris"])
    for name in ("coef_", "intercept_", "to_logistic"):
        assert not hasattr(ours, name)
    with pytest.raises(AttributeError) as error:
        _ = ours.to_logistic
    assert "quadratic" in str(error.value.__cause__)


def test_ten_thousand_classes_share_one_covariance():
    K, n = 10_000, 6
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(3 * K) % K)
    X = rng.normal(size=(K, n))[y] * 5 + rng.normal(size=(3 * K, n)) @ random_covariance(n)
    ours = GDA().fit(X, y)
    means = np.zeros((K, n))
    np.add.at(means, y, X / 3)
    z = X - means[y]
    equal(ours.means_, means, atol=1e-12)
    equal(ours.covariance_, z.T @ z / len(y), atol=1e-12)
    joint = densities(X[:50], means[:100], [ours.covariance_] * 100) - np.log(K)
    equal(ours.predict_joint_log_proba(X[:50])[:, :100], joint)


@pytest.mark.parametrize("prior_rows", [0.0, 1.0, 2.5])
def test_leaving_one_out_subtracts_the_row_from_the_prior_too(prior_rows: float) -> None:
    rng = np.random.default_rng(0)
    X, y, classes = rng.normal(size=(30, 2)), rng.integers(0, 3, 30), np.arange(4)
    X[rng.random(X.shape) < 0.2] = np.nan
    family = Gaussian(shared=False, diagonal=True, floor=1e-9, prior_rows=prior_rows)
    counted = family.count(X, y, classes, None).align(classes, 2)
    found = family.leave_one_out(counted, family.solve(counted, classes, 2), X, y, None)
    for i in range(30):
        row = slice(i, i + 1)
        rest = family.solve(counted - family.count(X[row], y[row], classes, None), classes, 2)
        np.testing.assert_allclose(found[i], family.log_likelihood(rest, X[row])[0], rtol=1e-9)
    pooled = family.solve(counted, classes, 2).variance[3]
    with_prior = family.solve(counted, classes, 2).variance[0]
    n, plain = counted.weights[0], counted.variance()[0]
    np.testing.assert_allclose(with_prior, (n * plain + prior_rows * pooled) / (n + prior_rows))


def test_leaving_out_the_only_row_of_a_class_leaves_one_class_less_to_divide_by():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(13, 2)), np.append(np.arange(12) % 2, 2)
    result = cross_validate(GDA(unbiased=True), X, y, folds="loo")
    rest = GDA(unbiased=True).fit(X[:12], y[:12]).predict_proba(X[12:])
    equal(result.probabilities[12], np.append(rest, 0.0))


def test_a_share_of_one_covariance_is_friedmans() -> None:
    """Σ_k = ((1 - s) S_k + s S) / ((1 - s) m_k + s m), Friedman (1989), equation 16."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:120], y[:120]  # classes of 50, 50 and 20 rows
    centred = [X[y == k] - X[y == k].mean(axis=0) for k in range(3)]
    S = [d.T @ d for d in centred]
    m = np.array([len(d) for d in centred])
    for s in (0.0, 0.3, 1.0):
        model = GDA(shared=s).fit(X, y)
        own = [((1 - s) * S[k] + s * sum(S)) / ((1 - s) * m[k] + s * m.sum()) for k in range(3)]
        found = np.broadcast_to(model.covariance_, (3, 4, 4))
        np.testing.assert_allclose(found, own, rtol=1e-12)
    few = np.r_[:101, 119]  # two rows of the third class: too few for a Σ of its own
    assert GDA(shared=0.5).fit(X[few], y[few]).score(X, y) > 0.9
    unbiased = GDA(shared=0.3, unbiased=True).fit(X, y).covariance_[2]
    expected = (0.7 * S[2] + 0.3 * sum(S)) / (0.7 * (m[2] - 1) + 0.3 * (m.sum() - 3))
    np.testing.assert_allclose(unbiased, expected, rtol=1e-12)
    for share in (-0.1, 1.5, np.nan, "both"):
        with pytest.raises(ValueError, match="shared"):
            GDA(shared=share).fit(X, y)
    with pytest.raises(AttributeError, match=r"With shared=0\.3"):
        _ = GDA(shared=0.3).fit(X, y).coef_
