"""scikit-learn's own estimator checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GammaNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
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
    GDA(shrinkage="ledoit-wolf"),
    GaussianNB(),
    BernoulliNB(),
    BernoulliNB(alpha="auto"),
    CategoricalNB(),
    CategoricalNB(bins=Discretizer("quantile")),
    ComplementNB(),
    MultinomialNB(),
    PoissonNB(),
    ShiftedGammaNB(),
    Discretizer(),
    Discretizer("uniform"),
]


# A check whose data have a constant column, or fewer rows of a class than columns. A singular
# covariance is an error that names the remedy, not a pseudo-inverse.
SINGULAR = "the check's data have a singular covariance within classes, which is an error"


def expected_failures(estimator):
    if not isinstance(estimator, GDA) or isinstance(estimator.shrinkage, str):
        return {}
    checks = ["check_sample_weight_equivalence_on_dense_data"]
    if estimator.shrinkage is None:
        checks += ["check_sample_weights_shape", "check_sample_weights_not_overwritten"]
    return dict.fromkeys(checks, SINGULAR)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator(estimator, check):
    check(estimator)
