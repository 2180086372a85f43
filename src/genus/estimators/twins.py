"""Make the scikit-learn estimator that gives the same predictions as a fitted classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import BaseEstimator

from genus.estimators.bernoulli import BernoulliNB
from genus.estimators.categorical import CategoricalNB
from genus.estimators.centroids import NearestShrunkenCentroids
from genus.estimators.complement import ComplementNB
from genus.estimators.discrete import DiscreteClassifier
from genus.estimators.gaussian import GDA, GaussianNB
from genus.estimators.multinomial import MultinomialNB

MOST_COMPONENTS = "_max_components"  # scikit-learn's name for the number of axes of transform


def twin(model: Any) -> BaseEstimator:
    """Return a fitted scikit-learn estimator with the parameters of a fitted classifier."""
    match model:
        case GDA():
            made = linear_twin(model) if model.shared_ == 1 else quadratic_twin(model)
        case NearestShrunkenCentroids():
            made = discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr")
            made.coef_, made.intercept_ = model.coef_, model.intercept_
            made.means_, made.priors_ = model.centroids_, model.class_prior_.copy()
        case GaussianNB():
            made = naive_bayes.GaussianNB(priors=listed(model, "priors"))
            made.theta_, made.var_ = model.theta_.copy(), model.var_.copy()
            made.epsilon_ = 0.0  # the variances already include it
            made.class_prior_ = model.class_prior_.copy()
        case BernoulliNB() | MultinomialNB() | ComplementNB() | CategoricalNB():
            made = discrete_twin(model)
        case _:
            ways = " `to_logistic` gives a LogisticRegression." if hasattr(model, "coef_") else ""
            raise TypeError(
                f"scikit-learn has no counterpart of {type(model).__name__}.{ways} Use `save`, "
                "which writes any model to a file, or `to_sql`, which writes most models as a SQL "
                "statement."
            )
    made.classes_ = model.classes_
    made.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        made.feature_names_in_ = model.feature_names_in_
    if isinstance(model, GaussianNB | DiscreteClassifier):
        made.class_count_ = model.class_count_
    return made


def listed(model: Any, name: str) -> Any:
    """Return the model's given priors in the order of the classes, or None."""
    given = model._option(name)
    return None if given is None else model.model_.prior.tolist()


def discrete_twin(model: DiscreteClassifier) -> Any:
    """Return the scikit-learn counterpart of naive Bayes over counts or categories."""
    maker = getattr(naive_bayes, type_name(model))
    alpha = model.alpha_
    options = {
        "alpha": alpha if isinstance(alpha, int | float) else 1.0,
        "fit_prior": model._option("fit_prior"),
        "class_prior": listed(model, "class_prior"),
    }
    tables: Any = model.feature_log_prob_
    match model:
        case BernoulliNB():
            made = maker(binarize=model._option("binarize") or 0.0, **options)
            off = np.log1p(-np.exp(np.minimum(tables, 0)))
            made.feature_count_, tables = model.feature_count_, [tables, off]
        case CategoricalNB():
            made = maker(**options)
            refuse_names(model)
            made.category_count_ = [count.copy() for count in model.category_count_]
            made.n_categories_ = model.n_categories_
        case ComplementNB():
            if np.ptp(model.model_.log_prior) > 0:
                raise ValueError(
                    "ComplementNB in scikit-learn has no priors, but this model was given some. "
                    "Use resolve(priors=None, class_prior=None) first."
                )
            made = maker(norm=model._option("norm"), **options)
            made.feature_count_, made.feature_all_ = model.feature_count_, model.feature_all_
        case _:
            made = maker(**options)
            made.feature_count_ = model.feature_count_
    if not all(np.isfinite(one).all() for one in tables):
        raise ValueError(
            "Some probabilities are zero, from which scikit-learn computes NaN. Smooth with "
            "alpha > 0: resolve(alpha=1)."
        )
    if isinstance(model, CategoricalNB):
        made.feature_log_prob_ = [np.ascontiguousarray(one) for one in tables]
    else:
        made.feature_log_prob_ = np.ascontiguousarray(model.feature_log_prob_)
    made.class_log_prior_ = np.array(model.class_log_prior_)
    return made


def type_name(model: Any) -> str:
    """Return the name of the classifier; for a subclass, that of its base."""
    kinds = (BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB)
    return next(kind.__name__ for kind in kinds if isinstance(model, kind))


def refuse_names(model: CategoricalNB) -> None:
    """Raise an error unless the values of each column are 0, 1, 2, …, as in scikit-learn."""
    for j, values in enumerate(model.categories_):
        codes = np.arange(len(values))
        binned = model.bin_edges_[j] is not None
        if binned or values.dtype.kind not in "iuf" or not np.array_equal(values, codes):
            raise ValueError(
                f"Column {j} holds other values than the codes 0 to {len(values) - 1}, but "
                "scikit-learn's CategoricalNB accepts codes only. Encode the columns with its "
                "OrdinalEncoder, then fit again."
            )


def linear_twin(model: GDA) -> Any:
    """Return the scikit-learn counterpart of a discriminant analysis with one covariance."""
    options = {name: model._option(name) for name in ("n_components",)}
    solver = getattr(model, "solver", "svd")
    made = discriminant_analysis.LinearDiscriminantAnalysis(solver=solver, **options)
    made.coef_, made.intercept_ = model.coef_, model.intercept_
    made.means_, made.priors_ = model.means_.copy(), model.priors_.copy()
    for name in ("covariance_", "scalings_", "xbar_", "explained_variance_ratio_"):
        if hasattr(model, name):
            setattr(made, name, getattr(model, name))
    setattr(made, MOST_COMPONENTS, model._components)
    made._n_features_out = model._components
    return made


def quadratic_twin(model: GDA) -> Any:
    """Return the scikit-learn counterpart of a discriminant analysis with separate covariances."""
    covariances = [np.array(one) for one in GDA.covariance_.fget(model)]  # type: ignore[attr-defined]
    made = discriminant_analysis.QuadraticDiscriminantAnalysis(store_covariance=True)
    parts = [np.linalg.eigh(one) for one in covariances]
    made.scalings_ = [values[::-1] for values, _ in parts]
    made.rotations_ = [vectors[:, ::-1] for _, vectors in parts]
    made.covariance_ = covariances
    made.means_, made.priors_ = model.means_.copy(), model.priors_.copy()
    return made
