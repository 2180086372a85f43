"""Linear and quadratic discriminant analysis: scikit-learn's numbers, and more."""

import re
import warnings

import numpy as np
import pytest
import sklearn.discriminant_analysis
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import OAS, LedoitWolf, ShrunkCovariance
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification

import genus
from genus import (
    GDA,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    SingularCovarianceWarning,
)
from scope import at_night

DATA = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "cancer": load_breast_cancer(return_X_y=True),
}
LINEAR = [
    {},
    {"priors": "given"},
    {"n_components": 1, "store_covariance": True},
    *(
        {"solver": solver} | options
        for solver in ("lsqr", "eigen")
        for options in (
            {},
            {"shrinkage": 0.3},
            {"shrinkage": "auto"},
            {"priors": "given"},
            {"priors": "given", "shrinkage": 0.1},
            {"priors": "given", "shrinkage": "auto"},
            {"covariance_estimator": OAS()},
        )
    ),
]
QUADRATIC = [
    {},
    {"reg_param": 0.3},
    {"priors": "given", "store_covariance": True},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": 0.2},
    {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
    {"solver": "eigen", "covariance_estimator": LedoitWolf(), "priors": "given"},
]


def both(name, data, options):
    pytest.importorskip("sklearn", minversion="1.9")  # divisors and solvers were others before
    X, y = DATA[data]
    K = len(np.unique(y))
    if "priors" in options:
        options = options | {"priors": np.arange(1, K + 1) / (K * (K + 1) / 2)}
    ours = getattr(genus, name)(**options).fit(X, y)
    theirs = getattr(sklearn.discriminant_analysis, name)(**options).fit(X, y)
    return ours, theirs, X


def close(a, b, rtol=1e-6, atol=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert_allclose(a, b, rtol=rtol, atol=atol * max(1.0, np.abs(b).max(initial=0)))


def named(options):
    return re.sub(r"[{}' ]", "", str(options))


@pytest.mark.parametrize("data", at_night(DATA, "wine", "cancer"))
@pytest.mark.parametrize("options", LINEAR, ids=named)
def test_linear_analysis_is_scikit_learns(data, options):
    ours, theirs, X = both("LinearDiscriminantAnalysis", data, options)
    for name in "means_", "priors_", "classes_", "xbar_", "explained_variance_ratio_":
        assert hasattr(ours, name) == hasattr(theirs, name)
        if hasattr(theirs, name):
            close(getattr(ours, name), getattr(theirs, name))
    assert hasattr(ours, "covariance_") == hasattr(theirs, "covariance_")
    if hasattr(theirs, "covariance_"):
        close(ours.covariance_, theirs.covariance_)
    for name in "coef_", "intercept_":
        close(getattr(ours, name), getattr(theirs, name), rtol=1e-5)
    # Least squares lose digits in proportion to the condition of Σ: 1e11 in one of the tables.
    atol = 1e-7 if options.get("solver") == "lsqr" else 1e-9
    for method in "decision_function", "predict_proba":
        close(getattr(ours, method)(X), getattr(theirs, method)(X), atol=atol)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    if options.get("solver") == "lsqr":
        with pytest.raises(NotImplementedError):
            ours.transform(X)
        return
    close(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-4)
    names = theirs.get_feature_names_out()
    assert_array_equal(ours.get_feature_names_out(), [n.lower() for n in names])


@pytest.mark.parametrize("data", at_night(["iris", "wine"], "wine"))
@pytest.mark.parametrize("options", QUADRATIC, ids=named)
def test_quadratic_analysis_is_scikit_learns(data, options):
    ours, theirs, X = both("QuadraticDiscriminantAnalysis", data, options)
    for name in "means_", "priors_", "scalings_":
        close(getattr(ours, name), getattr(theirs, name))
    for one, two in zip(ours.rotations_, theirs.rotations_, strict=True):
        close(np.abs(one), np.abs(two), rtol=1e-3)
    assert hasattr(ours, "covariance_") == hasattr(theirs, "covariance_")
    if hasattr(theirs, "covariance_"):
        close(ours.covariance_, theirs.covariance_)
    close(ours.decision_function(X), theirs.decision_function(X))
    close(ours.predict_proba(X), theirs.predict_proba(X))


def test_solvers_differ_where_priors_are_given():
    X, y = DATA["wine"]
    priors = [0.1, 0.2, 0.7]
    svd, lsqr = (LinearDiscriminantAnalysis(s, priors=priors).fit(X, y) for s in ("svd", "lsqr"))
    assert np.abs(svd.predict_proba(X) - lsqr.predict_proba(X)).max() > 0.1
    assert_allclose(svd.predict_proba(X), GDA(priors=priors).fit(X, y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis("eigen", "auto"),
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=ShrunkCovariance()),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
    ],
    ids=str,
)
def test_they_add_and_forget(model):
    X, y = DATA["wine"]
    whole = clone(model).fit(X, y)
    one, two = clone(model).fit(X[::2], y[::2]), clone(model).fit(X[1::2], y[1::2])
    for same in one + two, clone(model).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2]):
        assert_allclose(same.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert_allclose((whole - two).predict_proba(X), one.predict_proba(X), atol=1e-9)


def test_files(tmp_path):
    X, y = DATA["wine"]
    for model in LinearDiscriminantAnalysis("eigen", 0.1), QuadraticDiscriminantAnalysis():
        model.fit(X, y).save(tmp_path / "model.genus")
        loaded = genus.load(tmp_path / "model.genus")
        assert repr(loaded) == repr(model)
        assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    kept = LinearDiscriminantAnalysis("lsqr", covariance_estimator=OAS()).fit(X, y)
    with pytest.raises(TypeError, match="covariance_estimator is a OAS, which a model file cannot"):
        kept.save(tmp_path / "model.genus")


def test_singular_data_run_with_a_warning():
    """Linear analysis of ordinary pipelines: redundant columns, one-hot columns, more than rows."""
    X, y = make_classification(random_state=0)
    one_hot = np.hstack([np.eye(3)[np.arange(100) % 3], X[:, :3]])
    for singular in X, one_hot, X[:15], np.hstack([X, X**2, X]):
        labels = y[: len(singular)]
        with pytest.warns(SingularCovarianceWarning, match="The matrix was shrunk by") as told:
            model = LinearDiscriminantAnalysis().fit(singular, labels)
        assert len(told) == 1
        assert told[0].message.shrinkage == model.shrinkage_ > 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(singular)
        assert_allclose(
            model.predict_proba(singular),
            GDA(shrinkage="oas").fit(singular, labels).predict_proba(singular),
            rtol=1e-9,
        )


def test_the_warning_comes_when_a_stream_is_first_solved():
    X, y = make_classification(random_state=0)
    model = GDA().partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    with pytest.warns(SingularCovarianceWarning):
        model.predict(X)


def test_the_best_direction_is_kept():
    """A column of almost no variance within classes, which tells them apart, is not dropped."""
    X, y = DATA["iris"]
    rng = np.random.default_rng(0)
    stacked = np.hstack([X, np.eye(3)[y] + 1e-6 * rng.normal(size=(150, 3))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularCovarianceWarning)
        assert LinearDiscriminantAnalysis().fit(stacked, y).score(stacked, y) == 1.0


class Nonsense:
    """A covariance estimator that gives what it is told to."""

    def __init__(self, result):
        self.result = result

    def fit(self, X):
        if self.result is not None:
            self.covariance_ = self.result


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "Nonsense does not have a covariance_ attribute"),
        (np.eye(3), "of shape (3, 3); expected (4, 4)"),
        (np.full((4, 4), np.nan), "with NaN or infinity"),
        (np.triu(np.ones((4, 4))), "that is not symmetric"),
        (-np.eye(4), "with a negative variance"),
        (np.ones((4, 4)), "linear combination"),
        (np.ones((4, 4)), "Use another `covariance_estimator`"),
        ("nonsense", "of type <U8, not of numbers"),
        (1j * np.eye(4), "of type complex128, not of numbers"),
    ],
)
def test_an_estimator_that_gives_nonsense_is_refused(result, words):
    X, y = DATA["iris"]
    model = QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=Nonsense(result))
    with pytest.raises(ValueError, match=re.escape(words)):
        model.fit(X, y)


LDA, QDA = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (LDA("qr"), ValueError, ["solver", "'svd', 'lsqr', 'eigen'", "'qr'"]),
        (QDA(solver="lsqr"), ValueError, ["solver", "'svd', 'eigen'", "'lsqr'"]),
        (LDA(shrinkage="auto"), NotImplementedError, ["shrinkage not supported", "svd"]),
        (LDA("lsqr", shrinkage=1.5), ValueError, ["shrinkage", "0 to 1", "1.5"]),
        (LDA("lsqr", shrinkage="oas"), ValueError, ["shrinkage", "auto", "'oas'"]),
        (LDA("lsqr", shrinkage=True), ValueError, ["shrinkage", "True"]),
        (LDA(covariance_estimator=OAS()), ValueError, ["covariance_estimator", "svd"]),
        (LDA("lsqr", 0.1, covariance_estimator=OAS()), ValueError, ["Only one of the two"]),
        (LDA("lsqr", covariance_estimator=3), ValueError, ["covariance_estimator", "fit", "3"]),
        (LDA(tol=-1), ValueError, ["tol", "0 or more", "-1"]),
        (LDA(store_covariance="yes"), ValueError, ["store_covariance", "yes"]),
        (LDA(n_components=3), ValueError, ["n_components", "which is 2"]),
        (LDA(priors=[0.5, 0.5]), ValueError, ["got 2 priors for the 3 classes"]),
        (LDA(priors=[-1, 1, 1]), ValueError, ["priors must be non-negative", "-1"]),
        (QDA(reg_param=2), ValueError, ["reg_param", "0 to 1", "2"]),
        (QDA(reg_param=None), ValueError, ["reg_param", "None"]),
        (QDA(priors="abc"), ValueError, ["priors", "abc"]),
    ],
    ids=str,
)
def test_bad_options_are_refused(model, error, words):
    with pytest.raises(error) as told:
        model.fit(*DATA["iris"])
    assert all(word in str(told.value) for word in words)


def test_what_was_not_counted_cannot_be_solved():
    X, y = DATA["iris"]
    model = LDA().fit(X, y)
    assert_allclose(
        model.resolve(solver="lsqr").predict_proba(X), LDA("lsqr").fit(X, y).predict_proba(X)
    )
    with pytest.raises(ValueError, match="needs rows"):
        model.resolve(solver="lsqr", covariance_estimator=OAS())
    with pytest.raises(ValueError, match="too little for these options"):
        model.resolve(solver="lsqr", priors=[0.2, 0.3, 0.5])


def test_an_estimator_sees_rows_as_often_as_they_weigh():
    X, y = DATA["iris"]
    model = LDA("lsqr", covariance_estimator=OAS())
    times = np.arange(150) % 3 + 1
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighed = clone(model).fit(X, y, times / 2)
    assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="weights of class 0 are not multiples"):
        model.fit(X, y, np.sqrt(np.arange(1.0, 151)))
    many = np.where(np.arange(150) % 50 == 0, 1, 1_000_000)
    with pytest.raises(ValueError, match=r"class 0 this would make 49,000,001 rows, more than"):
        model.fit(X, y, many)
