"""What users of scikit-learn expect beside fit and predict: twins, given parameters, one class."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.naive_bayes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.preprocessing import KBinsDiscretizer

import genus
from genus import (
    AODE,
    GDA,
    TAN,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GammaNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NearestShrunkenCentroids,
    PoissonNB,
    QuadraticDiscriminantAnalysis,
    TableClassifier,
    TextClassifier,
    from_parameters,
)

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["one", "two", "three"])[Y]
COUNTS = np.round(X).astype(float)
CODES = KBinsDiscretizer(4, encode="ordinal", strategy="uniform").fit_transform(X)

# Twins

TWINS = [
    (GDA(), X),
    (GDA(shrinkage="oas", n_components=1), X),
    (GDA(diagonal=True), X),
    (GDA(shared=False, shrinkage=0.1, unbiased=True), X),
    (GDA(shared=False, diagonal=True), X),
    (LinearDiscriminantAnalysis(), X),
    (LinearDiscriminantAnalysis("lsqr", "auto"), X),
    (LinearDiscriminantAnalysis("eigen", 0.2, n_components=1), X),
    (QuadraticDiscriminantAnalysis(reg_param=0.1), X),
    (NearestShrunkenCentroids(threshold=2), X),
    (GaussianNB(), X),
    (GaussianNB(priors=[0.2, 0.3, 0.5]), X),
    (BernoulliNB(binarize=2.5), X),
    (BernoulliNB(binarize=None), CODES),
    (MultinomialNB(alpha="auto", class_prior=[1, 1, 2]), COUNTS),
    (ComplementNB(), COUNTS),
    (ComplementNB(norm=True), COUNTS),
    (CategoricalNB(alpha=0.5), CODES),
]


@pytest.mark.parametrize(
    ("model", "data"), TWINS, ids=lambda x: "" if isinstance(x, np.ndarray) else str(x)
)
def test_the_twin_says_the_same(model, data):
    ours = clone(model).fit(data, NAMES)
    theirs = ours.to_sklearn()
    assert type(theirs).__module__.startswith("sklearn.")
    assert_array_equal(theirs.predict(data), ours.predict(data))
    assert_allclose(theirs.predict_proba(data), ours.predict_proba(data), rtol=1e-6, atol=1e-9)
    assert clone(theirs).fit(data, NAMES).predict(data).shape == NAMES.shape
    if hasattr(theirs, "transform") and getattr(theirs, "solver", "") != "lsqr":
        assert_allclose(theirs.transform(data), ours.transform(data), rtol=1e-6, atol=1e-9)


def test_a_twin_knows_the_names_of_columns():
    frame = load_iris(as_frame=True).data
    model = GaussianNB().fit(frame, load_iris().target)
    assert_array_equal(model.to_sklearn().feature_names_in_, frame.columns)
    assert_array_equal(model.to_sklearn().predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    ("model", "data"), TWINS, ids=lambda x: "" if isinstance(x, np.ndarray) else str(x)
)
def test_the_twin_goes_through_onnx(model, data):
    onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    if isinstance(model, GDA) and model.shared and model.diagonal:
        model = GDA()
    ours = clone(model).fit(data, Y)
    kind = np.int64 if isinstance(model, CategoricalNB) else np.float32
    given = data.astype(kind)
    written = onnx.to_onnx(ours.to_sklearn(), given[:1], options={"zipmap": False})
    session = runtime.InferenceSession(
        written.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, probabilities = session.run(None, {session.get_inputs()[0].name: given})
    assert np.mean(label == ours.predict(data)) > 0.99  # in single precision
    assert_allclose(probabilities, ours.predict_proba(data), atol=0.02)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (PoissonNB().fit(COUNTS, Y), TypeError, "PoissonNB. `to_logistic`"),
        (GammaNB().fit(X, Y), TypeError, "no counterpart of GammaNB"),
        (TextClassifier().fit(["aa bb", "cc dd"], [0, 1]), TypeError, "TextClassifier"),
        (MultinomialNB(alpha=0).fit([[1, 0], [0, 1]], [0, 1]), ValueError, "Smooth with alpha > 0"),
        (ComplementNB(class_prior=[0.1, 0.9]).fit([[1, 0], [0, 1]], [0, 1]), ValueError, "priors"),
        (CategoricalNB().fit([["a"], ["b"]], [0, 1]), ValueError, "OrdinalEncoder"),
        (CategoricalNB(bins=Discretizer()).fit(X, Y), ValueError, "OrdinalEncoder"),
    ],
    ids=lambda x: getattr(x, "__name__", None) or str(x)[:30],
)
def test_models_without_a_twin_say_so(model, error, words):
    with pytest.raises(error, match=words):
        model.to_sklearn()


# Given parameters


def test_gaussian_models_of_given_parameters():
    fitted = GaussianNB(var_smoothing=0).fit(X, NAMES)
    priors = dict(zip(fitted.classes_, fitted.class_prior_, strict=True))
    made = from_parameters(
        GaussianNB(), priors=priors, means=fitted.theta_, variances=fitted.var_, rows=178
    )
    assert_allclose(made.theta_, fitted.theta_, rtol=1e-12)
    assert_allclose(made.var_, fitted.var_, rtol=1e-12)
    assert_allclose(made.predict_proba(X), fitted.predict_proba(X), rtol=1e-9)
    more = [clone_of(model).partial_fit(X[:40], NAMES[:40]) for model in (made, fitted)]
    assert_allclose(more[0].predict_proba(X), more[1].predict_proba(X), rtol=1e-8)
    for shared in True, False:
        full = GDA(shared).fit(X, NAMES)
        other = from_parameters(
            GDA(shared), priors=priors, means=full.means_, covariance=full.covariance_
        )
        assert_allclose(other.predict_proba(X), full.predict_proba(X), rtol=1e-6, atol=1e-12)


def clone_of(model):
    return genus.from_bytes(model.to_bytes())


def test_priors_may_name_classes_in_any_order():
    means, variances = [[5.0, 1], [0, 2]], [[1.0, 2], [3, 4]]
    one = from_parameters(
        GaussianNB(), priors={"z": 0.3, "a": 0.7}, means=means, variances=variances
    )
    assert_allclose(one.theta_, means[::-1])
    assert_allclose(one.class_prior_, [0.7, 0.3])


def test_discrete_models_of_given_parameters():
    for model, data, name in [
        (MultinomialNB(), COUNTS, "probabilities"),
        (BernoulliNB(binarize=2.5), X, "probabilities"),
        (PoissonNB(), COUNTS, "rates"),
    ]:
        fitted = model.fit(data, NAMES)
        priors = dict(zip(fitted.classes_, np.exp(fitted.class_log_prior_), strict=True))
        table = fitted.rate_ if name == "rates" else np.exp(fitted.feature_log_prob_)
        made = from_parameters(
            clone(model), priors=priors, columns=list("abcdefghijklm"), **{name: table}
        )
        assert_allclose(
            made.predict_proba(pd.DataFrame(data, columns=list("abcdefghijklm"))),
            fitted.predict_proba(data),
            rtol=1e-7,
            atol=1e-12,
        )
    weather = {"sky": {"sun": {"stay": 0.2, "go": 0.9}, "rain": {"stay": 0.8, "go": 0.1}}}
    made = from_parameters(CategoricalNB(), priors={"stay": 0.5, "go": 0.5}, probabilities=weather)
    assert_allclose(made.predict_proba([["sun"]]), [[0.9 / 1.1, 0.2 / 1.1]])


PRIORS = {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize(
    ("model", "given", "error", "words"),
    [
        (GammaNB(), {"priors": PRIORS}, TypeError, "GammaNB cannot be made"),
        (TableClassifier(), {"priors": PRIORS}, TypeError, "TableClassifier cannot be made"),
        (
            GaussianNB(),
            {"priors": PRIORS, "means": [[1], [2]]},
            ValueError,
            "variances= is miss",
        ),
        (
            MultinomialNB(),
            {"priors": PRIORS, "rates": [[1]]},
            ValueError,
            "probabilities= is miss",
        ),
        (PoissonNB(), {"priors": [0.5, 0.5], "rates": [[1], [2]]}, ValueError, "priors must be p"),
        (PoissonNB(), {"priors": {"a": 0.5}, "rates": [[1]]}, ValueError, "add up to 1"),
        (PoissonNB(), {"priors": {"a": 1, "b": 0}, "rates": [[1], [1]]}, ValueError, "above 0"),
        (PoissonNB(), {"priors": PRIORS, "rates": [[-1], [1]]}, ValueError, "0 or more"),
        (PoissonNB(), {"priors": PRIORS, "rates": [[1]]}, ValueError, "each of 2 classes"),
        (PoissonNB(), {"priors": PRIORS, "rates": [[np.nan], [1]]}, ValueError, "finite"),
        (PoissonNB(), {"priors": PRIORS, "rates": [[1], [1]], "rows": 0}, ValueError, "rows"),
        (BernoulliNB(), {"priors": PRIORS, "probabilities": [[2], [0]]}, ValueError, "from 0 to 1"),
        (
            MultinomialNB(),
            {"priors": PRIORS, "probabilities": [[0.5, 0.4], [0.5, 0.5]]},
            ValueError,
            "class 'a' add up to 0.9",
        ),
        (
            GaussianNB(),
            {"priors": PRIORS, "means": [[1], [2]], "variances": [[1], [0]]},
            ValueError,
            "variances must be above 0",
        ),
        (
            GDA(),
            {"priors": PRIORS, "means": [[1, 1], [2, 2]], "covariance": [[1, 2], [3, 4]]},
            ValueError,
            "symmetric",
        ),
        (
            GDA(),
            {"priors": PRIORS, "means": [[1, 1], [2, 2]], "covariance": [1, 2]},
            ValueError,
            r"shape \(2, 2\) with shared=True",
        ),
        (
            CategoricalNB(),
            {"priors": PRIORS, "probabilities": {"x": {"u": {"a": 0.5, "b": 1}}}},
            ValueError,
            "column 'x' in class 'a' add up to 0.5",
        ),
        (CategoricalNB(), {"priors": PRIORS, "probabilities": 3}, ValueError, "column: {value"),
    ],
    ids=lambda x: str(x)[:40] if isinstance(x, dict) else None,
)
def test_bad_parameters_are_refused(model, given, error, words):
    with pytest.raises(error, match=words):
        from_parameters(model, **given)


def test_fitted_attributes_cannot_be_set():
    model = GaussianNB().fit(X, Y)
    for name in "theta_", "var_", "classes_":
        with pytest.raises(AttributeError, match=f"{name} is computed .* genus.from_parameters"):
            setattr(model, name, 1)
    assert model.theta_.shape == (3, 13)


# One class

EVERY = [
    AODE(),
    BernoulliNB(binarize=2),
    CategoricalNB(),
    ComplementNB(),
    GDA(),
    GDA(False, shrinkage=0.1),
    GDA("auto"),
    GDA(rank=1),
    GammaNB(),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    MultinomialNB(),
    NearestShrunkenCentroids(),
    PoissonNB(),
    QuadraticDiscriminantAnalysis(),
    TAN(),
    TableClassifier(),
    TextClassifier(),
    TextClassifier("auto"),
]
TEXTS = [f"{'win cash now' if y else 'lunch at noon'} {'abc'[y] * 3} {i}" for i, y in enumerate(Y)]
# A chain appends labels to X: zeros, which a Gamma density refuses, or a constant column, which has
# no variance. Texts have no columns.
IN_NO_CHAIN = (GammaNB, QuadraticDiscriminantAnalysis, TextClassifier)


@pytest.mark.parametrize("model", EVERY, ids=str)
@pytest.mark.filterwarnings("ignore::genus.SingularCovarianceWarning")
def test_one_class_is_warned_of(model):
    data = TEXTS if isinstance(model, TextClassifier) else CODES + 1
    with pytest.warns(UserWarning, match="All rows are of one class, 1"):
        model.fit(data, np.ones(len(data), int))
    assert_array_equal(model.predict_proba(data[:3]), np.ones((3, 1)))
    model.partial_fit(data, Y)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert np.isfinite(model.predict_proba(data)).all()


@pytest.mark.parametrize("model", EVERY, ids=str)
@pytest.mark.filterwarnings("ignore:All rows are of one class")
@pytest.mark.filterwarnings("ignore::genus.SingularCovarianceWarning")
def test_labels_of_no_row_do_not_stop_multi_label_learning(model):
    labels = np.column_stack([Y == 0, np.zeros(len(Y)), Y == 2]).astype(int)
    data = TEXTS if isinstance(model, TextClassifier) else CODES + 1
    predicted = [MultiOutputClassifier(clone(model)).fit(data, labels).predict(data)]
    if not isinstance(model, IN_NO_CHAIN) and model.get_params().get("shared") is not False:
        predicted.append(ClassifierChain(clone(model)).fit(data, labels).predict(data))
    for found in predicted:
        assert_array_equal(found[:, 1], 0)
        assert np.mean(found == labels) > 0.7


# Priors, labels and variances as scikit-learn has them


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"])
@pytest.mark.parametrize("fit_prior", [True, False])
@pytest.mark.parametrize("class_prior", [None, [1, 1, 1], [0.2, 0.2, 0.6], [3, 2, 1]])
def test_class_priors_are_scikit_learns(name, fit_prior, class_prior):
    ours, theirs = (
        getattr(module, name)(fit_prior=fit_prior, class_prior=class_prior).fit(CODES, Y)
        for module in (genus, sklearn.naive_bayes)
    )
    assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    if name != "ComplementNB" or class_prior in (None, [1, 1, 1]):
        assert_allclose(ours.predict_proba(CODES), theirs.predict_proba(CODES), rtol=1e-9)
    assert_allclose(ours.model_.prior.sum(), 1.0)


@pytest.mark.parametrize("dtype", ["str", object, "string", "category"])
def test_classes_of_pandas_strings(dtype):
    labels = pd.Series(NAMES).astype(dtype)
    ours, theirs = (m.GaussianNB().fit(X, labels).classes_ for m in (genus, sklearn.naive_bayes))
    assert_array_equal(ours, theirs)
    assert ours.dtype.kind == "U"
    assert GaussianNB().fit(X, np.array(["a\0", "b", "c"], object)[Y]).classes_[0] == "a\0"


def test_variances_can_be_scikit_learns():
    wide = X * np.logspace(-3, 3, 13)
    w = np.linspace(0.5, 2, len(Y))
    for smoothing in 1e-9, 0.01:
        ours = GaussianNB(smoothing="add", var_smoothing=smoothing)
        theirs = sklearn.naive_bayes.GaussianNB(var_smoothing=smoothing)
        for weight in None, w:
            one, two = ours.fit(wide, Y, weight), theirs.fit(wide, Y, weight)
            if weight is None:
                assert_allclose(one.epsilon_, two.epsilon_, rtol=1e-12)
                assert_allclose(one.var_, two.var_, rtol=1e-9)
                assert_allclose(one.predict_proba(wide), two.predict_proba(wide), rtol=1e-6)
    pieces = GaussianNB(smoothing="add").partial_fit(wide[::2], Y[::2])
    pieces.partial_fit(wide[1::2], Y[1::2])
    assert_allclose(pieces.var_, GaussianNB(smoothing="add").fit(wide, Y).var_, rtol=1e-9)
    with pytest.raises(ValueError, match='smoothing must be "floor" or "add"'):
        GaussianNB(smoothing="max").fit(X, Y)


def test_one_row_is_scored_as_many_are():
    """Sparse rows that hold few columns take another way through the tables."""
    rng = np.random.default_rng(0)
    n = 3000
    many = scipy.sparse.random(60, n, 0.01, "csr", random_state=rng)
    many.data = np.ceil(many.data * 4)
    labels = np.arange(60) % 4
    for model in (
        MultinomialNB(),
        MultinomialNB(alpha=0),
        ComplementNB(),
        ComplementNB(alpha=0),
        ComplementNB(norm=True),
        BernoulliNB(),
        BernoulliNB(alpha=0, binarize=2),
        PoissonNB(),
    ):
        model.fit(many, labels)
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(UserWarning, "No class can explain")
            single = np.vstack([model.predict_joint_log_proba(many[i]) for i in range(60)])
            assert_allclose(single, model.predict_joint_log_proba(many.toarray()), rtol=1e-9)
            hole = many[:1].copy()
            hole.data[0] = np.nan
            assert_allclose(
                model.predict_joint_log_proba(hole),
                model.predict_joint_log_proba(hole.toarray()),
                rtol=1e-9,
            )
        hole.data[0] = -1 if not isinstance(model, BernoulliNB) else np.inf
        with pytest.raises(ValueError, match=f"row 0, column {hole.indices[0]}"):
            model.predict(hole)
