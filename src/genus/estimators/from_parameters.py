"""Make fitted classifiers from given parameters: means, variances, probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from genus.arrays.options import number, numbers
from genus.estimators.bernoulli import BernoulliNB
from genus.estimators.categorical import CategoricalNB
from genus.estimators.from_counts import Classifier, from_counts
from genus.estimators.gaussian import GDA, GaussianNB
from genus.estimators.multinomial import MultinomialNB
from genus.estimators.poisson import PoissonNB
from genus.statistics import Array

# With these options, solving returns the given parameters.
PLAIN: dict[str, Any] = {
    "alpha": 0.0,
    "class_prior": None,
    "covariance_estimator": None,
    "fit_prior": True,
    "m": None,
    "p": None,
    "prior_alpha": 0.0,
    "priors": None,
    "reg_param": 0.0,
    "shrinkage": None,
    "unbiased": False,
    "var_smoothing": 0.0,
}
NEEDED = {
    GaussianNB: ("means", "variances"),
    GDA: ("means", "covariance"),
    BernoulliNB: ("probabilities",),
    MultinomialNB: ("probabilities",),
    CategoricalNB: ("probabilities",),
    PoissonNB: ("rates",),
}


def from_parameters(
    classifier: Classifier,
    *,
    priors: Any,
    means: Any = None,
    variances: Any = None,
    covariance: Any = None,
    probabilities: Any = None,
    rates: Any = None,
    columns: Sequence[str] | None = None,
    rows: float = 1.0,
) -> Classifier:
    """Return a fitted classifier with the given parameters.

    Parameters
    ----------
    classifier : what to make: GaussianNB(), GDA(), BernoulliNB(), MultinomialNB(), CategoricalNB()
        or PoissonNB(). It is not changed. The result has no smoothing, shrinkage or floor.
    priors : p(y) by class, a dictionary or a pandas Series. All arrays below have the classes in
        this order.
    means : for GaussianNB and GDA, (K, n).
    variances : for GaussianNB and GDA(diagonal=True), (K, n), or (n,) if all classes share them.
    covariance : for GDA, Σ (n, n), or with shared=False one for each class, (K, n, n).
    probabilities : for BernoulliNB p(x_j = 1|y), (K, n); for MultinomialNB p(feature|y), (K, n),
        which add up to 1 in each class; for CategoricalNB {column: {value: {class: p(value|y)}}}.
    rates : for PoissonNB, (K, n).
    columns : names of the columns; CategoricalNB takes them from `probabilities`.
    rows : how many rows the parameters count as when more rows are learned later.

    >>> from genus import GaussianNB
    >>> heights = from_parameters(
    ...     GaussianNB(), priors={"f": 0.5, "m": 0.5}, means=[[165], [178]], variances=[[49], [64]]
    ... )
    >>> heights.predict([[160], [185]])
    array(['f', 'm'], dtype='<U1')
    """
    options = classifier.get_params(deep=False)
    plain = {name: value for name, value in PLAIN.items() if name in options}
    plain = clone(classifier).set_params(**plain)
    given = {
        "means": means,
        "variances": variances,
        "covariance": covariance,
        "probabilities": probabilities,
        "rates": rates,
    }
    refuse_others(classifier, given)
    shares = shares_of(priors)
    total = number("rows", rows, least=np.finfo(float).tiny)
    weights = {label: share * total for label, share in shares.items()}
    if isinstance(classifier, CategoricalNB):
        counts = weighed(probabilities, weights)
        return from_counts(plain, counts, rows=weights)
    K, w = len(weights), np.array(list(weights.values()))[:, None]
    if isinstance(classifier, GaussianNB | GDA):
        centres = table("means", means, K)
        squares = (
            squares_of_variances(variances, centres, w)
            if isinstance(classifier, GaussianNB) or classifier.diagonal
            else squares_of_covariance(covariance, centres, w, classifier.shared == 1)
        )
        return from_counts(
            plain,
            rows=weights,
            sums=np.zeros_like(centres),
            squares=squares,
            origin=centres,
            columns=columns,
        )
    name = "rates" if isinstance(classifier, PoissonNB) else "probabilities"
    values = table(name, given[name], K)
    if (values < 0).any() or (name == "probabilities" and (values > 1).any()):
        limits = "0 or more" if name == "rates" else "from 0 to 1"
        raise ValueError(f"{name} must be {limits}; got {values.min():g} to {values.max():g}.")
    if isinstance(classifier, MultinomialNB) and not np.allclose(values.sum(axis=1), 1.0):
        off = int(np.argmax(np.abs(values.sum(axis=1) - 1)))
        raise ValueError(
            f"The probabilities of class {list(weights)[off]!r} add up to "
            f"{values[off].sum():g}; they must add up to 1."
        )
    return from_counts(plain, rows=weights, sums=w * values, columns=columns)


def refuse_others(classifier: Any, given: Mapping[str, Any]) -> None:
    """Raise an error unless the given parameters are those that the classifier needs."""
    name = type(classifier).__name__
    kinds = [kind for kind in NEEDED if isinstance(classifier, kind)]
    if not kinds:
        known = ", ".join(kind.__name__ for kind in NEEDED)
        raise TypeError(f"{name} cannot be made from parameters. These can: {known}.")
    needed = NEEDED[kinds[0]]
    if isinstance(classifier, GDA) and classifier.diagonal:
        needed = NEEDED[GaussianNB]
    for other, value in given.items():
        if (value is not None) != (other in needed):
            what = " and ".join(f"{one}=" for one in needed)
            problem = f"{other}= is missing" if value is None else f"{other}= is not used"
            raise ValueError(f"{name} needs priors= and {what}; {problem}.")


def shares_of(priors: Any) -> dict[Any, float]:
    """Return p(y) by class."""
    if not hasattr(priors, "items") or not len(priors):
        raise ValueError(
            "priors must be p(y) by class, such as {'no': 0.6, 'yes': 0.4}; got "
            f"{str(priors)[:60]!r}."
        )
    labels, values = zip(*priors.items(), strict=True)
    shares = numbers("priors", values)
    if not (shares > 0).all() or not np.isclose(shares.sum(), 1.0):
        raise ValueError(f"priors must be above 0 and add up to 1; got {dict(priors.items())}.")
    return dict(zip(labels, (shares / shares.sum()).tolist(), strict=True))


def table(name: str, given: Any, K: int) -> Array:
    """Return numbers by class and column, (K, n)."""
    values = numbers(name, given)
    if values.ndim != 2 or len(values) != K or values.shape[1] == 0:
        raise ValueError(f"{name} needs a row for each of {K} classes; got shape {values.shape}.")
    return values


def squares_of_variances(given: Any, centres: Array, w: Array) -> Array:
    """Return Σ (x - μ)² of w rows with these variances, (K, n)."""
    variances = numbers("variances", given)
    if variances.shape not in (centres.shape, centres.shape[1:]):
        raise ValueError(
            f"variances needs the shape of means, {centres.shape}, or one number for each column; "
            f"got shape {variances.shape}."
        )
    if not (variances > 0).all():
        raise ValueError(f"variances must be above 0; got {variances.min():g}.")
    return w * np.broadcast_to(variances, centres.shape)


def squares_of_covariance(given: Any, centres: Array, w: Array, shared: bool) -> Array:
    """Return Σ (x - μ)(x - μ)ᵀ of w rows with this covariance, (n, n), or by class (K, n, n)."""
    Σ = numbers("covariance", given)
    K, n = centres.shape
    if Σ.shape != ((n, n) if shared else (K, n, n)):
        form = f"({n}, {n}) with shared=True" if shared else f"({K}, {n}, {n}) with shared=False"
        raise ValueError(f"covariance needs the shape {form}; got {Σ.shape}.")
    if not np.allclose(Σ, np.swapaxes(Σ, -1, -2), rtol=1e-8, atol=1e-12 * np.abs(Σ).max()):
        raise ValueError(
            "A covariance matrix must be symmetric; this one is not. Check that its entries (i, j) "
            "and (j, i) are equal."
        )
    Σ = (Σ + np.swapaxes(Σ, -1, -2)) / 2
    return Σ * w.sum() if shared else Σ * w[:, :, None]


def weighed(probabilities: Any, weights: Mapping[Any, float]) -> dict[Any, dict[Any, Any]]:
    """Return counts of values by column and class, given their probabilities."""
    try:
        counts = {
            column: {
                value: {label: float(p) * weights[label] for label, p in classes.items()}
                for value, classes in values.items()
            }
            for column, values in probabilities.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(
            "probabilities must be {column: {value: {class: p(value|y)}}}, with the classes of "
            f"priors; got {str(probabilities)[:60]!r}."
        ) from None
    for column, values in probabilities.items():
        for label in weights:
            total = sum(float(classes.get(label, 0.0)) for classes in values.values())
            if not np.isclose(total, 1.0):
                raise ValueError(
                    f"The probabilities of column {column!r} in class {label!r} add up to "
                    f"{total:g}; they must add up to 1."
                )
    return counts
