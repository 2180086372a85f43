"""scikit-learn's tests of naive Bayes, passed by the classes of genus."""

import sklearn.naive_bayes

import genus
from upstream import NotApplicable, global_dtype, global_random_seed, upstream_tests

__all__ = ["global_dtype", "global_random_seed"]

NAMES = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

NOT_APPLICABLE = {
    "test_NB_partial_fit_no_first_classes": NotApplicable(
        "with pytest.raises(",
        "partial_fit needs no `classes` at first, and new ones may be announced at any time",
    ),
    "test_discretenb_provide_prior": NotApplicable(
        "with pytest.raises(ValueError, match=msg)",
        "a failed fit leaves the estimator as it was, so its classes are still 0 and 1",
    ),
    "test_gnb_check_update_with_no_data": NotApplicable(
        "GaussianNB._update_mean_variance",
        "a private function of scikit-learn",
    ),
    "test_gnb_partial_fit[float32]": NotApplicable(
        "assert clf_attr.dtype == clf_pf_attr.dtype == X_.dtype",
        "statistics and what is solved from them are float64, whatever the data",
    ),
    "test_check_accuracy_on_digits": NotApplicable(
        "assert scores.mean() > 0.89",
        "var_smoothing is a share of each column's own variance, and not of the largest (0.87 at "
        "0.1 in place of 0.89; the default is better, 0.85 in place of 0.81)",
    ),
}

LEFT_OUT = {
    "test_gnb_array_api_compliance": "arrays other than NumPy's are not dispatched on",
}

globals().update(
    upstream_tests(
        "sklearn.tests.test_naive_bayes",
        sklearn.naive_bayes,
        {name: getattr(genus, name) for name in NAMES},
        NOT_APPLICABLE,
        LEFT_OUT,
    )
)
