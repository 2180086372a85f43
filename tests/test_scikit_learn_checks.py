"""scikit-learn's own estimator checks, for every estimator."""

import sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

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
)


class ShiftedGammaNB(GammaNB):
    """GammaNB of X + 1: what the checks take for positive data holds zeros."""

    def _as_matrix(self, X, y=None, *, reset):
        X, y = super()._as_matrix(X, y, reset=reset)
        return X + 1.0, y


ESTIMATORS = [
    GDA(),
    GDA(shared=False, shrinkage=0.1),
    GDA(shared=False, diagonal=True),
    GDA(shrinkage="oas"),
    GDA("auto"),
    GDA(shrinkage="ledoit-wolf"),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis("eigen", "auto"),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    GaussianNB(),
    BernoulliNB(),
    BernoulliNB(alpha="auto"),
    CategoricalNB(),
    TAN(),
    AODE(),
    CategoricalNB(bins=Discretizer("quantile")),
    ComplementNB(),
    MultinomialNB(),
    PoissonNB(),
    NearestShrunkenCentroids(0.5),
    ShiftedGammaNB(),
    TableClassifier(),
    Discretizer(),
    Discretizer("uniform"),
]


# A check whose data have a constant column, or fewer rows of a class than columns. With a
# covariance for each class that is an error that names the remedy, as in scikit-learn.
SINGULAR = "the check's data have a singular covariance within a class, which is an error"


def expected_failures(estimator):
    if not isinstance(estimator, GDA) or estimator.shared or getattr(estimator, "reg_param", 0):
        return {}
    checks = ["check_sample_weight_equivalence_on_dense_data"]
    if estimator.shrinkage is None:
        checks += ["check_sample_weights_shape", "check_sample_weights_not_overwritten"]
        other_data = parse_version(sklearn.__version__) < parse_version("1.7")
        if other_data and not estimator.diagonal:
            checks += ["check_n_features_in_after_fitting", "check_dtype_object"]
    return dict.fromkeys(checks, SINGULAR)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    check(estimator)
