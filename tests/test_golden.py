"""Numbers that the lecture notes give, and what follows from them by hand."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from sklearn.datasets import load_iris, load_wine

from exact import ExactGDA
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
)

# Stolen cars: the m-estimate

CARS = np.array(
    [
        ["Red", "Sports", "Domestic", "Yes"],
        ["Red", "Sports", "Domestic", "No"],
        ["Red", "Sports", "Domestic", "Yes"],
        ["Yellow", "Sports", "Domestic", "No"],
        ["Yellow", "Sports", "Imported", "Yes"],
        ["Yellow", "SUV", "Imported", "No"],
        ["Yellow", "SUV", "Imported", "Yes"],
        ["Yellow", "SUV", "Domestic", "No"],
        ["Red", "SUV", "Imported", "No"],
        ["Red", "Sports", "Imported", "Yes"],
    ]
)
RED_DOMESTIC_SUV = np.array([["Red", "SUV", "Domestic"]])


def stolen_cars(**options):
    return CategoricalNB(**options).fit(CARS[:, :3], CARS[:, 3])


def probability(model, value, label):
    """p(value|label) of a value that only one column has."""
    k = model.classes_.tolist().index(label)
    for values, table in zip(model.categories_, model.feature_log_prob_, strict=True):
        if value in values.tolist():
            return np.exp(table[k, values.tolist().index(value)])
    raise AssertionError(f"{value} is in no column")


@pytest.mark.parametrize(
    ("value", "yes", "no"),
    [("Red", 0.5625, 0.4375), ("SUV", 0.3125, 0.5625), ("Domestic", 0.4375, 0.5625)],
)
@pytest.mark.parametrize("p", [0.5, None])
def test_stolen_cars_m_estimate(value, yes, no, p):
    model = stolen_cars(m=3, p=p)
    assert probability(model, value, "Yes") == pytest.approx(yes, rel=1e-14)
    assert probability(model, value, "No") == pytest.approx(no, rel=1e-14)


def test_red_domestic_suv_is_not_stolen():
    model = stolen_cars(m=3, p=0.5)
    no, yes = np.exp(model.predict_joint_log_proba(RED_DOMESTIC_SUV)[0])
    assert yes == pytest.approx(0.5 * 0.5625 * 0.3125 * 0.4375, rel=1e-14)
    assert no == pytest.approx(0.5 * 0.4375 * 0.5625 * 0.5625, rel=1e-14)
    assert (round(yes, 5), round(no, 5)) == (0.03845, 0.06921)
    assert model.predict(RED_DOMESTIC_SUV).tolist() == ["No"]
    np.testing.assert_allclose(model.predict_proba(RED_DOMESTIC_SUV), [[9 / 14, 5 / 14]])


def test_m_estimate_of_zero_rows_is_maximum_likelihood():
    assert probability(stolen_cars(m=0), "Red", "Yes") == pytest.approx(3 / 5)
    assert probability(stolen_cars(alpha=0), "SUV", "Yes") == pytest.approx(1 / 5)


def test_m_estimate_with_two_values_is_laplace():
    """m·p = 1 for each of two values is one pseudo-count for each."""
    np.testing.assert_allclose(
        stolen_cars(m=2).predict_proba(RED_DOMESTIC_SUV),
        stolen_cars(alpha=1).predict_proba(RED_DOMESTIC_SUV),
    )


# Seven rows of two bits

SEVEN = np.array([[1, 0, 1], [2, 1, 0], [3, 1, 0], [2, 0, 0], [2, 0, 0], [1, 0, 1], [1, 1, 0]])


@pytest.mark.parametrize(
    ("alpha", "first", "second"), [(0, 1 / 3, 2 / 3), (1, 2 / 5, 3 / 5), (0.5, 1.5 / 4, 2.5 / 4)]
)
def test_seven_rows(alpha, first, second):
    model = BernoulliNB(alpha=alpha).fit(SEVEN[:, 1:], SEVEN[:, 0])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), [first, second], rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [3 / 7, 3 / 7, 1 / 7], rtol=1e-14)
    categories = CategoricalNB(alpha=alpha).fit(SEVEN[:, 1:], SEVEN[:, 0])
    ones = [np.exp(table[0, 1]) for table in categories.feature_log_prob_]
    np.testing.assert_allclose(ones, [first, second], rtol=1e-14)


def test_class_priors_are_not_smoothed_unless_asked():
    X, y = SEVEN[:, 1:], SEVEN[:, 0]
    asked = BernoulliNB(prior_alpha=1).fit(X, y)
    np.testing.assert_allclose(np.exp(asked.class_log_prior_), [4 / 10, 4 / 10, 2 / 10])


def test_seven_rows_by_bayes_rule():
    """p(y|x = (0, 1)) by hand, from the maximum-likelihood estimates as fractions."""
    X, y = SEVEN[:, 1:], SEVEN[:, 0]
    joint = []
    for k in (1, 2, 3):
        rows = X[y == k]
        p = Fraction(len(rows), 7)
        for j, x in enumerate((0, 1)):
            p *= Fraction(int((rows[:, j] == x).sum()), len(rows))
        joint.append(p)
    expected = [float(p / sum(joint)) for p in joint]
    model = BernoulliNB(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0, 1]]), [expected], rtol=1e-14)


# Dependent, yet independent given the class


def bits(*shares, rows=1000):
    """Rows of bits, each column with the given share of ones, all combinations as independent."""
    grid = np.stack(np.meshgrid([1, 0], [1, 0], indexing="ij"), axis=-1).reshape(-1, 2)
    p = np.where(grid == 1, shares, 1 - np.array(shares)).prod(axis=1)
    return np.repeat(grid, np.round(rows * p).astype(int), axis=0)


def test_dependent_yet_conditionally_independent():
    zero, one = bits(0.9, 0.8), bits(0.2, 0.05)
    X = np.vstack([zero, one])
    model = BernoulliNB(alpha=0).fit(X, np.repeat([0, 1], [len(zero), len(one)]))
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[0.9, 0.8], [0.2, 0.05]])

    unknown = np.nan
    posterior = model.predict_proba([[1, unknown]])[0]
    assert posterior[0] == pytest.approx(0.9 / 1.1, rel=1e-12)
    assert round(posterior[0], 5) == 0.81818

    def p(x1, x2):
        return np.exp(model.log_density([[x1, x2]]))[0]

    assert p(unknown, 1) == pytest.approx(0.425, rel=1e-12)
    assert p(1, 1) / p(1, unknown) == pytest.approx(0.66364, abs=5e-6)
    assert p(1, 1) / p(1, unknown) == pytest.approx(posterior @ [0.8, 0.05], rel=1e-12)
    assert p(1, 1) != pytest.approx(p(1, unknown) * p(unknown, 1), rel=0.1)
    # Given the class they are independent: p(x1, x2|y) = p(x1|y) p(x2|y).
    joint = np.exp(model.predict_joint_log_proba([[1, 1], [1, unknown], [unknown, 1]])) / 0.5
    np.testing.assert_allclose(joint[0], joint[1] * joint[2], rtol=1e-12)


# Discretised living area

AREA_EDGES = [400, 800, 1200, 1600]


@pytest.mark.parametrize(
    ("area", "bin_number"),
    [
        (890, 3),
        (399.99, 1),
        (400, 2),
        (799, 2),
        (800, 3),
        (1200, 4),
        (1599, 4),
        (1600, 5),
        (9e9, 5),
    ],
)
def test_living_area(area, bin_number):
    assert Discretizer(edges=AREA_EDGES).fit_transform([[area]]).tolist() == [[bin_number]]


def test_living_area_in_a_classifier():
    areas = np.array([[300], [500], [700], [890], [1000], [1300], [1700], [2000]])
    sold = np.array([0, 0, 1, 0, 1, 1, 1, 1])
    binned = CategoricalNB(bins=Discretizer(edges=AREA_EDGES)).fit(areas, sold)
    assert binned.n_categories_.tolist() == [5]
    assert binned.categories_[0].tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(binned.category_count_[0], [[1, 1, 1, 0, 0], [0, 1, 1, 1, 2]])
    # p(bin 3|0) = (1 + 1) / (3 + 5), p(bin 3|1) = (1 + 1) / (5 + 5)
    joint = np.exp(binned.predict_joint_log_proba([[890]])[0])
    np.testing.assert_allclose(joint, [3 / 8 * 2 / 8, 5 / 8 * 2 / 10], rtol=1e-14)


# "nips": a word that no class has seen

#            buy  now  nips
MESSAGES = [[1, 0, 0], [2, 1, 0], [0, 1, 0], [1, 1, 0]]
SPAM = [1, 1, 0, 0]
NIPS = np.array([[1, 1, 1]])
WITHOUT = np.array([[1, 1, 0]])

LAYOUTS = [
    (CategoricalNB, np.asarray),
    *((family, np.asarray) for family in (BernoulliNB, MultinomialNB, PoissonNB)),
    *((family, scipy.sparse.csr_array) for family in (BernoulliNB, MultinomialNB, PoissonNB)),
]
COMPLEMENT = [(ComplementNB, np.asarray), (ComplementNB, scipy.sparse.csr_array)]


@pytest.mark.parametrize(("family", "layout"), LAYOUTS + COMPLEMENT)
@pytest.mark.parametrize("unexplained", ["prior", "error"])
def test_unseen_word_leaves_the_odds_unchanged(family, unexplained, layout):
    model = family(alpha=0, unexplained=unexplained).fit(layout(MESSAGES), SPAM)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said, unsaid = (model.predict_log_proba(layout(x)) for x in (NIPS, WITHOUT))
    assert not np.isnan(said).any()
    np.testing.assert_allclose(said, unsaid, rtol=1e-14)
    for predicted in (
        model.predict_proba(layout(NIPS)),
        model.predict_joint_log_proba(layout(NIPS)),
        model.log_density(layout(NIPS)),
    ):
        assert not np.isnan(predicted).any()


#  each of the words is seen in one class only, so that no class explains a row with both
APART = [[2, 0], [1, 0], [0, 3], [0, 1]]
BOTH = np.array([[1, 1]])


@pytest.mark.parametrize(("family", "layout"), LAYOUTS)
class TestRowThatNoClassExplains:
    def fitted(self, family, layout, **options):
        weight = [1, 1, 1, 5]  # priors that are not equal
        X = layout(np.minimum(APART, 1) if family is CategoricalNB else np.array(APART))
        return family(alpha=0, **options).fit(X, [0, 0, 1, 1], sample_weight=weight)

    def test_gets_the_priors_and_a_warning(self, family, layout):
        model = self.fitted(family, layout)
        with pytest.warns(UserWarning, match=r"No class can explain row 0.*alpha > 0"):
            np.testing.assert_allclose(model.predict_proba(layout(BOTH)), [[0.25, 0.75]])
        with pytest.warns(UserWarning, match="No class can explain"):
            assert model.predict(layout(BOTH)).tolist() == [1]
        assert np.isneginf(model.predict_joint_log_proba(layout(BOTH))).all()
        assert np.isneginf(model.log_density(layout(BOTH))).all()

    def test_is_an_error_if_asked(self, family, layout):
        model = self.fitted(family, layout, unexplained="error")
        for method in (model.predict_proba, model.predict_log_proba, model.predict):
            with pytest.raises(ValueError, match=r"No class can explain row 0.*alpha > 0"):
                method(layout(BOTH))

    def test_is_explained_when_smoothed(self, family, layout):
        model = self.fitted(family, layout).resolve(alpha=1)
        posterior = model.predict_proba(layout(BOTH))
        assert np.isfinite(np.log(posterior)).all()


@pytest.mark.parametrize("layout", [np.asarray, scipy.sparse.csr_array])
def test_complement_without_smoothing_never_answers_with_nan(layout):
    """A word of one class only speaks for it beyond doubt; where two do, the priors are left."""
    model = ComplementNB(alpha=0).fit(layout(np.array(APART)), [0, 0, 1, 1])
    rows = layout(np.array([[1, 1], [0, 0], [1, 0], [0, 1], [7, 1]]))
    posterior = model.predict_proba(rows)
    np.testing.assert_allclose(posterior, [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1], [0.5, 0.5]])


def test_normed_complement_without_smoothing_is_the_limit():
    """As λ falls a word of one class only comes to have all the weight of its class."""
    X, y = [[2, 1, 0], [1, 2, 0], [1, 1, 3]], [0, 1, 2]
    none, little = (
        ComplementNB(alpha=alpha, norm=True).fit(X, y).feature_log_prob_ for alpha in (0, 1e-300)
    )
    np.testing.assert_allclose(none, little, atol=0.01)
    np.testing.assert_allclose(none[2], [0, 0, 1], atol=0.01)


def test_unseen_category_can_be_smoothed():
    """Left out of the product unless asked for: then (0 + λ) / (n + kλ), as for a count of 0."""
    nips = [["nips"]]
    X, y = [["buy"], ["buy"], ["now"], ["now"], ["now"]], [0, 0, 0, 1, 1]
    ignored = CategoricalNB().fit(X, y)
    np.testing.assert_allclose(ignored.predict_proba(nips), [[3 / 5, 2 / 5]])
    smoothed = CategoricalNB(unseen="smooth").fit(X, y)
    np.testing.assert_allclose(
        np.exp(smoothed.predict_joint_log_proba(nips)), [[3 / 5 * 1 / 5, 2 / 5 * 1 / 4]]
    )


# Smoothing


@pytest.mark.parametrize("options", [{"alpha": 1}, {"alpha": 0.01}, {"m": 3}, {"m": 2, "p": 0.5}])
def test_no_data_at_all_is_one_half(options):
    """A class that was announced but has no rows: the Bernoulli estimate is ½."""
    model = BernoulliNB(**options).partial_fit([[1, 0], [0, 1]], [0, 1], classes=[0, 1, 2])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[2]), [0.5, 0.5], rtol=1e-14)


def test_no_value_of_a_column_is_one_half():
    model = BernoulliNB().fit([[1, np.nan], [0, np.nan], [0, 1]], [0, 0, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), [0.5, 0.5], rtol=1e-14)


@pytest.mark.parametrize(
    "options", [{"alpha": 1}, {"alpha": 0}, {"alpha": 1e-10}, {"alpha": 7.5}, {"m": 3}, {"m": 0.1}]
)
def test_smoothed_values_add_up_to_one(options):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (40, 5)), rng.integers(0, 3, 40)
    words = np.exp(MultinomialNB(**options).fit(X, y).feature_log_prob_)
    np.testing.assert_allclose(words.sum(axis=1), 1, rtol=1e-14)
    for table in CategoricalNB(**options).fit(X, y).feature_log_prob_:
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1, rtol=1e-14)
    bernoulli = BernoulliNB(binarize=2, **options).fit(X, y)
    flipped = BernoulliNB(binarize=2, **options).fit(5 - X, y)  # x > 2 is 5 - x ≤ 2
    on, off = np.exp(bernoulli.feature_log_prob_), np.exp(flipped.feature_log_prob_)
    np.testing.assert_allclose(on + off, 1, rtol=1e-14)


def test_laplace_for_words():
    """(count + λ) / (words of the class + |V| λ): ten words, counted in two documents."""
    X = np.zeros((2, 10), dtype=int)
    X[0, :3] = [2, 1, 1]
    X[1, 3] = 4
    for λ in (1.0, 0.1):
        φ = np.exp(MultinomialNB(alpha=λ).fit(X, ["ham", "spam"]).feature_log_prob_)
        expected = (X + λ) / (4 + 10 * λ)
        np.testing.assert_allclose(φ, expected, rtol=1e-14)


def test_m_estimate_with_a_guess_for_each_word():
    X, p = np.array([[3, 1, 0], [0, 1, 1]]), [0.5, 0.3, 0.2]
    φ = np.exp(MultinomialNB(m=4, p=p).fit(X, [0, 1]).feature_log_prob_)
    expected = (X + 4 * np.array(p)) / (X.sum(axis=1, keepdims=True) + 4)
    np.testing.assert_allclose(φ, expected, rtol=1e-14)


# Iris under R's MASS


@pytest.mark.parametrize("unbiased", [True, False])
def test_iris_posteriors(unbiased):
    """MASS divides by m - K. Rows 71, 78, 84, 120 and 134, counted from 1, lie between classes."""
    X, y = load_iris(return_X_y=True)
    rows = X[[70, 77, 83, 119, 133, 0]]
    expected = np.exp(ExactGDA(X, y, unbiased=unbiased).log_posterior(rows))
    ours = GDA(unbiased=unbiased).fit(X, y).predict_proba(rows)
    np.testing.assert_allclose(ours, expected, rtol=1e-10)


def test_the_divisor_shows_in_the_posterior():
    """Row 84 of iris is versicolor with 0.1434 by MASS's formula; the divisor m makes it less."""
    X, y = load_iris(return_X_y=True)
    mass, likelihood = (
        GDA(unbiased=unbiased).fit(X, y).predict_proba(X[[83]])[0, 1] for unbiased in (True, False)
    )
    assert round(mass, 4) == 0.1434
    assert likelihood < mass


@pytest.mark.parametrize(
    ("priors", "sums", "row"),
    [
        (None, [60.47133165, 69.05925527], [1.116547273e-05, 9.401098867e-01, 5.987894782e-02]),
        (
            [0.2, 0.3, 0.5],
            [58.97132446, 69.56776759],
            [0.001987133902, 0.99096672321, 7.046142883e-03],
        ),
    ],
)
def test_reduced_rank(priors, sums, row):
    """Wine by MASS 7.3-58.2: q <- predict(lda(x, y, prior = p), x, dimen = 1)$posterior;
    print(colSums(q), digits = 10); print(q[60, ], digits = 10)."""
    X, y = load_wine(return_X_y=True)
    model = GDA(unbiased=True, rank=1, priors=priors).fit(X, y)
    q = model.predict_proba(X)
    np.testing.assert_allclose(q.sum(axis=0)[:2], sums, rtol=1e-8)
    np.testing.assert_allclose(q[59], row, rtol=1e-8)
    assert model.scalings_.shape == (13, 1)


def test_gaussian_naive_bayes_never_answers_with_nan():
    model = GaussianNB().fit([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0]], [0, 0, 1, 1])
    far = model.predict_proba([[1e12, -1e12], [np.nan, np.nan]])
    assert not np.isnan(far).any()
    np.testing.assert_allclose(far[1], [0.5, 0.5])


def test_the_best_pseudo_count_maximises_the_leave_one_out_likelihood() -> None:
    counts = np.array([[30.0, 12, 1, 7], [2, 25, 9, 4]])

    def loss(log_alpha: float) -> float:
        n, alpha = counts.sum(axis=1, keepdims=True), np.exp(log_alpha)
        left = (counts - 1 + alpha) / (n - 1 + alpha * counts.shape[1])
        return -float((counts * np.log(left)).sum())

    best = np.exp(scipy.optimize.minimize_scalar(loss, bounds=(-5, 5), method="bounded").x)
    model = MultinomialNB(alpha="auto").fit(counts, [0, 1])
    assert model.alpha_ == pytest.approx(best, rel=1e-3)
