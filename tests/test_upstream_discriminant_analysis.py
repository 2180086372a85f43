"""scikit-learn's tests of discriminant analysis, passed by the classes of the same names."""

import sklearn.discriminant_analysis

from genus import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from upstream import NotApplicable, global_random_seed, upstream_tests

__all__ = ["global_random_seed"]

NOT_APPLICABLE = {
    "test_qda_regularization[svd]": NotApplicable(
        "match=msg2", "the message says first that there are too few rows, and then what of it"
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
