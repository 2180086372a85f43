"""The discriminative form of generative models: θ of a logistic or softmax regression.

With one Σ for all classes, and for Bernoulli, multinomial and Poisson features, log p(x, y) is
linear in x up to a term that all classes share, so that p(y|x) = softmax(θ x + b):

    Gaussian     θ_k = Σ⁻¹ μ_k             b_k = log p(k) - ½ μ_kᵀ Σ⁻¹ μ_k   (about any centre)
    Bernoulli    θ_jk = logit φ_jk          b_k = log p(k) + Σ_j log(1 - φ_jk)
    multinomial  θ_vk = log φ_vk            b_k = log p(k)
    Poisson      θ_jk = log λ_jk            b_k = log p(k) - Σ_j λ_jk
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genus.families.gaussian.scores import DiagonalParameters, FullParameters
from genus.model import Model

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

Array = NDArray[np.float64]


def softmax_weights(model: Model) -> tuple[Array, Array]:
    """Return θ (K, n) and b (K,) of a linear model."""
    slope, constant = linear_form(model.parameters)
    if not np.isfinite(slope).all():
        raise ValueError(
            "Some probabilities are zero, so log p is not finite. Smooth with alpha > 0."
        )
    return slope, constant + model.log_prior


def linear_form(parameters: Any) -> tuple[Array, Array]:
    """Return slope (K, n) and constant (K,) of log p(x|y), up to a term that all classes share."""
    match parameters:
        case FullParameters(is_shared=True):
            offset = parameters.mean - parameters.centre
            return gaussian_form(offset, parameters.factors[0].solve(offset), parameters.centre)
        case DiagonalParameters() if (parameters.variance == parameters.variance[:1]).all():
            centre = parameters.mean.mean(axis=0)
            offset = parameters.mean - centre
            return gaussian_form(offset, offset / parameters.variance, centre)
    if hasattr(parameters, "linear"):
        return parameters.linear
    raise ValueError(
        "With a covariance for each class, log p(y|x) is quadratic in x, not linear. "
        "Use shared=True."
    )


def gaussian_form(offset: Array, slope: Array, centre: Array) -> tuple[Array, Array]:
    """Return slope and constant of log p(x|y), up to a term that all classes share.

    `offset` is μ - c and `slope` is Σ⁻¹ (μ - c), both (K, n). The result expands
    (x - c)ᵀ Σ⁻¹ (μ - c) - ½ (μ - c)ᵀ Σ⁻¹ (μ - c). The `centre` c cancels in p(y|x); it keeps
    numbers small if the data are far from zero.
    """
    return slope, -0.5 * np.einsum("kj,kj->k", slope, offset) - slope @ centre


def scikit_learn_form(slope: Array, constant: Array) -> tuple[Array, Array]:
    """Return θ and b in scikit-learn's form: for two classes the difference, (1, n) and (1,)."""
    if len(slope) < 2:
        raise ValueError(
            "The logistic form needs two classes, but there is one. Add rows of another class."
        )
    if len(slope) == 2:
        return slope[1:] - slope[:1], constant[1:] - constant[:1]
    return slope, constant


def to_logistic(model: Model, names: NDArray[Any] | None = None) -> LogisticRegression:
    """Return a scikit-learn LogisticRegression with the θ of a model and the column `names`."""
    from sklearn.linear_model import LogisticRegression

    slope, constant = scikit_learn_form(*softmax_weights(model))
    regression = LogisticRegression()
    regression.classes_ = model.classes
    regression.coef_, regression.intercept_ = slope, constant
    regression.n_features_in_ = slope.shape[1]
    if names is not None:
        regression.feature_names_in_ = names
    regression.n_iter_ = np.zeros(1, dtype=np.int32)
    return regression
