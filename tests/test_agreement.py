"""Naive Bayes: the same numbers as scikit-learn and scipy.stats, to rounding.

m rows, n columns, K classes. scikit-learn is always given float64; genus whatever layout it is
asked to read.
"""

from __future__ import annotations

import resource
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
import sklearn.naive_bayes as peer
from scipy import stats
from scipy.special import gammaln, logsumexp
from sklearn.base import clone

import genus
from scope import at_night

RTOL = 1e-9

DENSE = {
    "float64": lambda X: X.astype(np.float64),
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: X.astype(np.int64),
    "int16": lambda X: X.astype(np.int16),
    "uint8": lambda X: X.astype(np.uint8),
    "Fortran order": lambda X: np.asfortranarray(X.astype(np.float64)),
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "lists": lambda X: X.tolist(),
}
SPARSE = {
    "csr matrix": scipy.sparse.csr_matrix,
    "csr array": scipy.sparse.csr_array,
    "csr float32": lambda X: scipy.sparse.csr_array(X.astype(np.float32)),
    "csr uint8": lambda X: scipy.sparse.csr_array(X.astype(np.uint8)),
    "csc array": scipy.sparse.csc_array,
    "csr with zeros kept": lambda X: with_explicit_zeros(X),
}

# Estimators of both sides, and the fitted attributes that have to be equal.
COUNTED = ["classes_", "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"]
CATEGORIES = [
    "classes_",
    "class_count_",
    "class_log_prior_",
    "category_count_",
    "feature_log_prob_",
    "n_categories_",
]
NORMAL = ["classes_", "class_count_", "class_prior_", "theta_", "var_"]
PAIRS = {
    "Bernoulli": (genus.BernoulliNB(), peer.BernoulliNB(), COUNTED),
    "Bernoulli above 2": (genus.BernoulliNB(binarize=2), peer.BernoulliNB(binarize=2), COUNTED),
    "multinomial": (genus.MultinomialNB(), peer.MultinomialNB(), COUNTED),
    "multinomial, alpha by column": (
        genus.MultinomialNB(alpha=[0.1, 1, 2, 3, 4]),
        peer.MultinomialNB(alpha=[0.1, 1, 2, 3, 4]),
        COUNTED,
    ),
    "multinomial, alpha 0.01": (
        genus.MultinomialNB(alpha=0.01),
        peer.MultinomialNB(alpha=0.01),
        COUNTED,
    ),
    "multinomial, equal priors": (
        genus.MultinomialNB(fit_prior=False),
        peer.MultinomialNB(fit_prior=False),
        COUNTED,
    ),
    "complement": (
        genus.ComplementNB(),
        peer.ComplementNB(),
        [*COUNTED, "feature_all_"],
    ),
    "complement, normed": (
        genus.ComplementNB(norm=True),
        peer.ComplementNB(norm=True),
        [*COUNTED, "feature_all_"],
    ),
    "categorical": (genus.CategoricalNB(), peer.CategoricalNB(), CATEGORIES),
    "categorical, at least 30": (
        genus.CategoricalNB(min_categories=30, alpha=0.5),
        peer.CategoricalNB(min_categories=30, alpha=0.5),
        CATEGORIES,
    ),
    "Gaussian": (
        genus.GaussianNB(var_smoothing=0),
        peer.GaussianNB(var_smoothing=0),
        NORMAL,
    ),
}
READ_SPARSE = [name for name in PAIRS if not name.startswith(("categorical", "Gaussian"))]


def with_explicit_zeros(X):
    full = scipy.sparse.csr_array(np.ones_like(X))
    full.data = X.astype(np.float64).ravel()
    return full


def count_data(K, n=5, seed=0):
    """Counts (m, n) of K classes of unequal size, labels as text, and weights (m,)."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.repeat(np.arange(K), 12), rng.integers(0, max(K // 2, 1), 6 * K)])
    X = rng.poisson(rng.uniform(0.5, 6, (K, n))[codes])
    return X, np.array([f"class {k:02}" for k in codes]), rng.uniform(0.1, 3, len(codes))


def by_class(priors):
    return dict(zip("abc", priors, strict=True))


def equal(ours, theirs, atol=0.0):
    np.testing.assert_allclose(ours, theirs, rtol=RTOL, atol=atol, strict=True)


def assert_same_model(ours, theirs, attributes, X, X_peer):
    """Fitted attributes, shapes included, and all predictions are equal."""
    assert ours.n_features_in_ == theirs.n_features_in_
    for name in attributes:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(other, list):
            assert len(mine) == len(other)
            for one, two in zip(mine, other, strict=True):
                equal(one, two)
        elif other.dtype.kind == "U":
            np.testing.assert_array_equal(mine, other, strict=True)
        else:
            equal(mine, other)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X_peer))
    equal(ours.predict_proba(X), theirs.predict_proba(X_peer), atol=1e-300)
    equal(ours.predict_log_proba(X), theirs.predict_log_proba(X_peer), atol=1e-10)
    joint = theirs.predict_joint_log_proba(X_peer)
    if isinstance(theirs, peer.ComplementNB):
        joint = joint - np.log(len(theirs.classes_))  # there the priors are never added
    equal(ours.predict_joint_log_proba(X), joint)


@pytest.mark.parametrize("K", at_night([2, 3, 50], 3, 50))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("pair", "layout"),
    [(pair, layout) for pair in PAIRS for layout in DENSE]
    + [(pair, layout) for pair in READ_SPARSE for layout in SPARSE],
)
def test_equals_scikit_learn(pair, layout, weighted, K):
    *both, attributes = PAIRS[pair]
    ours, theirs = map(clone, both)
    X, y, weight = count_data(K)
    weight = weight if weighted else None
    laid_out = {**DENSE, **SPARSE}[layout](X)
    ours.fit(laid_out, y, sample_weight=weight)
    theirs.fit(X.astype(np.float64), y, sample_weight=weight)
    assert_same_model(ours, theirs, attributes, laid_out, X.astype(np.float64))


@pytest.mark.parametrize("K", [2, 3, 50])
@pytest.mark.parametrize("layout", [np.asarray, scipy.sparse.csr_array])
def test_booleans_equal_scikit_learn(layout, K):
    X, y, _ = count_data(K)
    X = X > 2
    for ours, theirs in [
        (genus.BernoulliNB(), peer.BernoulliNB()),
        (genus.BernoulliNB(binarize=None), peer.BernoulliNB(binarize=None)),
        (genus.MultinomialNB(), peer.MultinomialNB()),
    ]:
        ours.fit(layout(X), y)
        assert_same_model(ours, theirs.fit(X * 1.0, y), COUNTED, layout(X), X * 1.0)


@pytest.mark.parametrize("given", [list, tuple, np.array, by_class])
@pytest.mark.parametrize(
    ("ours", "theirs", "option"),
    [
        (genus.BernoulliNB(), peer.BernoulliNB(), "class_prior"),
        (genus.MultinomialNB(), peer.MultinomialNB(), "class_prior"),
        (genus.CategoricalNB(), peer.CategoricalNB(), "class_prior"),
        (genus.GaussianNB(var_smoothing=0), peer.GaussianNB(var_smoothing=0), "priors"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_given_priors_equal_scikit_learn(ours, theirs, option, given):
    X, y, _ = count_data(3)
    y = np.array(list("abc"))[np.unique(y, return_inverse=True)[1]]
    priors = [0.2, 0.5, 0.3]
    expected = clone(theirs).set_params(**{option: priors}).fit(X, y)
    for name in {"priors", option}:
        fitted = clone(ours).set_params(**{name: given(priors)}).fit(X, y)
        equal(fitted.predict_proba(X), expected.predict_proba(X), atol=1e-300)
        equal(fitted.predict_joint_log_proba(X), expected.predict_joint_log_proba(X))


def test_complement_respects_priors_when_asked():
    X, y, _ = count_data(3)
    plain = genus.ComplementNB().fit(X, y).predict_joint_log_proba(X)
    asked = genus.ComplementNB(class_prior=[0.2, 0.5, 0.3]).fit(X, y)
    equal(asked.predict_joint_log_proba(X), plain + np.log(3) + np.log([0.2, 0.5, 0.3]))
    shares = genus.ComplementNB(fit_prior=True).fit(X, y)
    equal(shares.class_log_prior_, np.log(shares.class_count_ / len(y)))
    equal(shares.predict_joint_log_proba(X), plain)


# scipy.stats


@pytest.mark.parametrize("K", [2, 4])
def test_bernoulli_is_that_of_scipy(K):
    X, y, _ = count_data(K)
    X = (X > 2).astype(np.uint8)
    model = genus.BernoulliNB().fit(X, y)
    φ = np.exp(model.feature_log_prob_)
    terms = stats.bernoulli.logpmf(X[:, None], φ).sum(axis=2)
    equal(model.predict_joint_log_proba(X), terms + model.class_log_prior_)


@pytest.mark.parametrize("layout", [*DENSE, *SPARSE])
def test_poisson_is_that_of_scipy(layout):
    X, y, weight = count_data(4)
    laid_out = {**DENSE, **SPARSE}[layout](X)
    model = genus.PoissonNB(alpha=0).fit(laid_out, y, sample_weight=weight)
    rate = np.array([np.average(X[y == k], axis=0, weights=weight[y == k]) for k in np.unique(y)])
    equal(model.rate_, rate)
    terms = stats.poisson.logpmf(X[:, None], rate).sum(axis=2)
    prior = np.array([weight[y == k].sum() for k in np.unique(y)]) / weight.sum()
    equal(model.predict_joint_log_proba(laid_out), terms + np.log(prior))
    equal(model.log_density(laid_out), logsumexp(terms + np.log(prior), axis=1))


def test_poisson_prior_is_gamma():
    """Rates with m rows' worth of the guess p: the mean of Gamma(S + mp, N + m)."""
    X, y, _ = count_data(3)
    for m, p in [(2.0, 1.5), (0.5, [0.1, 0.2, 1, 5, 10])]:
        model = genus.PoissonNB(m=m, p=p).fit(X, y)
        for k, label in enumerate(model.classes_):
            S, N = X[y == label].sum(axis=0), (y == label).sum()
            posterior = stats.gamma(S + m * np.asarray(p), scale=1 / (N + m))
            equal(model.rate_[k], posterior.mean())


@pytest.mark.parametrize("layout", [*DENSE, *SPARSE])
def test_multinomial_is_that_of_scipy_but_for_the_coefficient(layout):
    X, y, _ = count_data(4)
    laid_out = {**DENSE, **SPARSE}[layout](X)
    model = genus.MultinomialNB().fit(laid_out, y)
    φ = np.exp(model.feature_log_prob_)
    φ /= φ.sum(axis=1, keepdims=True)
    length = X.sum(axis=1)
    coefficient = gammaln(length + 1) - gammaln(X + 1).sum(axis=1)
    with np.errstate(invalid="ignore"):
        terms = np.stack([stats.multinomial.logpmf(X, length, p) for p in φ], axis=1)
    expected = terms - coefficient[:, None] + model.class_log_prior_
    equal(model.predict_joint_log_proba(laid_out), expected, atol=1e-10)


def test_gaussian_naive_bayes_is_that_of_scipy():
    X, y, weight = count_data(3)
    model = genus.GaussianNB().fit(X, y, sample_weight=weight)
    terms = stats.norm.logpdf(X[:, None], model.theta_, np.sqrt(model.var_)).sum(axis=2)
    equal(model.predict_joint_log_proba(X), terms + np.log(model.class_prior_))


def test_log_likelihood_by_hand():
    X, y, _ = count_data(3)
    codes = np.unique(y, return_inverse=True)[1]
    own = np.arange(len(y)), codes
    share = np.log(np.bincount(codes) / len(y))[codes].sum()

    rates = np.array([X[codes == k].mean(axis=0) for k in range(3)])
    by_hand = stats.poisson.logpmf(X, rates[codes]).sum() + share
    assert genus.PoissonNB(alpha=0).fit(X, y).log_likelihood(X, y) == pytest.approx(
        by_hand, rel=1e-12
    )

    φ = np.array([X[codes == k].sum(axis=0) / X[codes == k].sum() for k in range(3)])
    by_hand = (X * np.log(φ[codes])).sum() + share
    assert genus.MultinomialNB(alpha=0).fit(X, y).log_likelihood(X, y) == pytest.approx(
        by_hand, rel=1e-12
    )

    for model in (genus.BernoulliNB(), genus.GaussianNB(), genus.CategoricalNB()):
        joint = model.fit(X, y).predict_joint_log_proba(X)
        assert model.log_likelihood(X, y) == pytest.approx(joint[own].sum(), rel=1e-12)


def test_complement_likelihood_is_that_of_the_multinomial():
    X, y, _ = count_data(3)
    ours = genus.ComplementNB(fit_prior=True).fit(X, y)
    multinomial = genus.MultinomialNB().fit(X, y)
    assert ours.log_likelihood(X, y) == pytest.approx(multinomial.log_likelihood(X, y), rel=1e-12)
    equal(ours.log_density(X), multinomial.log_density(X))


# The logistic form


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize(
    "model",
    [
        genus.BernoulliNB(),
        genus.MultinomialNB(),
        genus.PoissonNB(),
        genus.ComplementNB(),
        genus.ComplementNB(norm=True, fit_prior=True),
    ],
    ids=str,
)
def test_softmax_of_the_weights_is_the_posterior(model, K):
    X, y, _ = count_data(K)
    if isinstance(model, genus.BernoulliNB):
        X = (X > 2).astype(int)
    model = clone(model).fit(X, y)
    θ, b = model.coef_, model.intercept_
    assert (θ.shape, b.shape) == (((1, 5), (1,)) if K == 2 else ((K, 5), (K,)))
    scores = X @ θ.T + b
    scores = np.hstack([np.zeros_like(scores), scores]) if K == 2 else scores
    posterior = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    equal(posterior, model.predict_proba(X), atol=1e-14)
    regression = model.to_logistic()
    equal(regression.predict_proba(X.astype(float)), model.predict_proba(X), atol=1e-14)
    np.testing.assert_array_equal(regression.predict(X.astype(float)), model.predict(X))


# Very many classes


@pytest.fixture(scope="module")
def many_classes():
    """20,000 rows of 10,000 classes."""
    rng = np.random.default_rng(0)
    K, n = 10_000, 6
    y = rng.permutation(np.arange(2 * K) % K)
    return rng.poisson(rng.uniform(0.5, 9, (K, n))[y]), y


def sums_by_class(X, y):
    sums = np.zeros((y.max() + 1, X.shape[1]))
    np.add.at(sums, y, X)
    return sums


def test_ten_thousand_classes(many_classes):
    X, y = many_classes
    test = X[:50]
    counts, ones = sums_by_class(X, y), sums_by_class(X > 0, y)
    log_prior = np.log(np.bincount(y) / len(y))

    model = genus.MultinomialNB().fit(X, y)
    φ = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)
    equal(model.predict_joint_log_proba(test), test @ np.log(φ).T + log_prior)

    model = genus.BernoulliNB().fit(X, y)
    φ = (ones + 1) / (np.bincount(y) + 2)[:, None]
    terms = stats.bernoulli.logpmf((test > 0)[:, None], φ).sum(axis=2)
    equal(model.predict_joint_log_proba(test), terms + log_prior)

    model = genus.PoissonNB(m=1, p=2.0).fit(X, y)
    rates = (counts + 2) / (np.bincount(y) + 1)[:, None]
    terms = stats.poisson.logpmf(test[:, None], rates).sum(axis=2)
    equal(model.predict_joint_log_proba(test), terms + log_prior)

    model = genus.CategoricalNB().fit(X, y)
    assert [table.shape for table in model.category_count_] == [
        (10_000, size) for size in X.max(axis=0) + 1
    ]
    value = X[0, 3]
    with_value = sums_by_class((X[:, [3]] == value), y)[:, 0]
    φ = (with_value + 1) / (np.bincount(y) + X[:, 3].max() + 1)
    equal(model.feature_log_prob_[3][:, value], np.log(φ))

    model = genus.GaussianNB(var_smoothing=0.1).fit(X, y)
    mean = counts / 2
    variance = sums_by_class((X - mean[y]) ** 2, y) / 2
    variance = np.maximum(variance, 0.1 * variance.mean(axis=0))
    terms = stats.norm.logpdf(test[:, None], mean, np.sqrt(variance)).sum(axis=2)
    equal(model.predict_joint_log_proba(test), terms + log_prior)


@pytest.mark.parametrize(
    "model",
    [
        genus.MultinomialNB(),
        genus.ComplementNB(),
        genus.BernoulliNB(),
        genus.PoissonNB(),
        genus.CategoricalNB(),
        genus.GaussianNB(),
        genus.GDA(),
        genus.GDA(diagonal=True),
    ],
    ids=str,
)
def test_ten_thousand_classes_fit_in_memory(model, many_classes):
    """A table of rows by classes would take 1.6 GB; one of classes by values takes a few MB."""
    X, y = many_classes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        clone(model).fit(X, y).predict_proba(X[:100])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert peak < 200e6
    assert grown < 400e3  # in kilobytes: what the kernel takes is not traced
