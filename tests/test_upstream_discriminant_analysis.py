"""scikit-learn's tests of discriminant analysis, passed by GDA under scikit-learn's names."""

from typing import Any

import sklearn.discriminant_analysis

from genus import GDA
from upstream import NotApplicable, global_random_seed, upstream_tests

__all__ = ["global_random_seed"]


class LinearDiscriminantAnalysis(GDA):
    """One covariance for all classes; there is one way to solve it, so `solver` says nothing."""

    shared, diagonal, unbiased = True, False, False

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _family(self):
        return GDA(self.shared, shrinkage=meaning(self.shrinkage))._family()


class QuadraticDiscriminantAnalysis(GDA):
    """One covariance for each class; `reg_param`, too, shrinks it."""

    shared, diagonal, unbiased, n_components = False, False, False, None

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _family(self):
        return GDA(self.shared, shrinkage=meaning(self.shrinkage) or self.reg_param)._family()


def meaning(shrinkage: Any) -> Any:
    """scikit-learn's "auto" is Ledoit and Wolf's rule on standardised columns."""
    return "ledoit-wolf" if shrinkage == "auto" else shrinkage


SOLVERS = "there is one way to solve, and no option is refused because of `solver`"
KEPT = "the covariance is part of the statistics and always there, `store_covariance` or not"
OTHER_ESTIMATORS = (
    "there is no `covariance_estimator`; test_agreement compares the same rules with "
    "sklearn.covariance"
)

NOT_APPLICABLE = {
    "test_lda_predict": NotApplicable("with pytest.raises(NotImplementedError)", SOLVERS),
    "test_lda_transform": NotApplicable("with pytest.raises(NotImplementedError", SOLVERS),
    "test_qda_covariance_estimator": NotApplicable(
        "with pytest.raises(NotImplementedError)", SOLVERS
    ),
    "test_qda_regularization[svd]": NotApplicable("match=msg2", SOLVERS),
    "test_qda_coefs": NotApplicable(
        "rotations_", "each covariance is factorised by Cholesky; there are no rotations"
    ),
    "test_lda_store_covariance": NotApplicable('assert not hasattr(clf, "covariance_")', KEPT),
    "test_qda_store_covariance": NotApplicable('assert not hasattr(clf, "covariance_")', KEPT),
    "test_lda_shrinkage": NotApplicable("assert_allclose(c1.covariance_", OTHER_ESTIMATORS),
    "test_lda_ledoitwolf": NotApplicable("assert_allclose(c1.covariance_", OTHER_ESTIMATORS),
    "test_qda_ledoitwolf": NotApplicable("assert_allclose(c1.covariance_", OTHER_ESTIMATORS),
    "test_lda_priors": NotApplicable(
        "with pytest.raises(ValueError, match=msg)",
        "the message is that of scikit-learn's GaussianNB: Priors with a capital letter",
    ),
    "test_lda_dtype_match[float32-float32]": NotApplicable(
        "assert clf.coef_.dtype == expected_type",
        "statistics and what is solved from them are float64, whatever the data",
    ),
}

LEFT_OUT = {"test_covariance": "tests a private function of scikit-learn and no class"}

globals().update(
    upstream_tests(
        "sklearn.tests.test_discriminant_analysis",
        sklearn.discriminant_analysis,
        {cls.__name__: cls for cls in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)},
        NOT_APPLICABLE,
        LEFT_OUT,
    )
)
