"""Test whether p(y|x) is logistic, and whether a model is overconfident.

The first test compares logistic regression with and without squares and products of columns, out
of fold. The second is Pregibon's (1980) link test: a regression on the log-odds of a model and on
their square. Without the square, the slope shows whether the model is overconfident.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from genus.arrays.matrix import ONE_BLAS_THREAD
from genus.evaluate.comparing.findings import LEVEL
from genus.statistics import Array

MOST_ROWS = 3_000  # rows to which regressions with squares and products are fitted
MOST_COLUMNS = 40


@dataclass(frozen=True)
class Bend:
    """How much squares and products lower the log loss of logistic regression, in nats per row.

    `error` is the standard error of `gain`.
    """

    gain: float
    error: float

    @property
    def is_clear(self) -> bool:
        return self.gain > 2.6 * self.error and self.gain > 0.005


@dataclass(frozen=True)
class Posterior:
    """Whether a model's log-odds are linear: `gain` is the log loss saved by a squared term.

    `p_value` is the p-value of the squared term. `slope` is the factor that would correct the
    log-odds. If it is below 1, the model is overconfident, unless `p_slope` shows that this may be
    chance.
    """

    name: str
    gain: float
    p_value: float
    slope: float
    p_slope: float

    @property
    def is_straight(self) -> bool:
        return self.p_value > LEVEL or self.gain < 0.002


def bent(X: Array, y: NDArray[Any]) -> Bend | None:
    """Return how much squares and products of columns improve logistic regression, out of fold.

    With more than ten columns, only squares are added. Return None if a class has fewer than six
    rows, or if there are more than MOST_COLUMNS columns.
    """
    if len(y) > MOST_ROWS:
        some = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
        X, y = X[some], y[some]
    if np.bincount(y)[np.unique(y)].min() < 6 or X.shape[1] > MOST_COLUMNS:
        return None
    few = X.shape[1] <= 10
    curved = PolynomialFeatures(2, include_bias=False) if few else FunctionTransformer(squares)
    losses = []
    for steps in ((), (curved, StandardScaler())):
        model = make_pipeline(StandardScaler(), *steps, LogisticRegression(max_iter=300))
        with warnings.catch_warnings(), ONE_BLAS_THREAD:
            warnings.simplefilter("ignore")
            p = cross_val_predict(model, X, y, cv=3, method="predict_proba")
        own = p[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
        losses.append(-np.log(np.maximum(own, 1e-9)))
    gain = losses[0] - losses[1]
    return Bend(float(gain.mean()), float(gain.std() / np.sqrt(len(gain))))


def squares(X: Array) -> Array:
    """Return the columns and their squares."""
    return np.hstack([X, X**2])


def straightness(name: str, p: Array, y: NDArray[Any]) -> Posterior | None:
    """Test whether the log-odds of a class are linear.

    The class is the second of two, or otherwise the one that is predicted worst. Return None if the
    log-odds separate the class without an error: the slope then has no finite estimate.
    """
    own = np.clip(p, 1e-12, 1 - 1e-12)
    is_own = y[:, None] == np.arange(p.shape[1])
    k = 1 if p.shape[1] == 2 else int(np.log(np.where(is_own, own, 1 - own)).sum(axis=0).argmin())
    s = np.clip(np.log(own[:, k] / (1 - own[:, k])), -30, 30)
    truth = is_own[:, k]
    if truth.all() or not truth.any() or s[truth].min() > s[~truth].max() or s.std() == 0:
        return None
    scale = s.std()
    one, slope = likelihood(s[:, None] / scale, truth)
    two, _ = likelihood(np.column_stack([s, s**2 / scale]) / scale, truth)
    as_it_is = float(np.sum(truth * s - np.logaddexp(0, s)))
    gain = max(two - one, 0.0)
    p_slope = float(chdtrc(2, 2 * max(one - as_it_is, 0.0)))  # for a slope and a constant
    return Posterior(name, gain / len(y), float(chdtrc(1, 2 * gain)), slope / scale, p_slope)


def likelihood(X: Array, y: NDArray[np.bool_]) -> tuple[float, float]:
    """Fit a logistic regression; return its log-likelihood and the first column's coefficient.

    The regression is nearly unpenalised.
    """
    model = LogisticRegression(C=1e6, max_iter=1000).fit(X, y)
    score = model.decision_function(X)
    return float(np.sum(y * score - np.logaddexp(0, score))), float(model.coef_[0, 0])


def of_bend(found: Bend) -> str:
    if not found.is_clear:
        return "A logistic posterior fits: squares and products of columns do not clearly help."
    return (
        "The posterior is not logistic in these columns: adding their squares and products would "
        f"lower the log loss of logistic regression by {found.gain:.2f}."
    )


def of_posterior(found: Posterior) -> str:
    """Say what is wrong with a model's log-odds, such as overconfidence; "" if nothing is."""
    if found.p_slope <= LEVEL and found.slope <= 0.05:
        return f"The log-odds of {found.name} do not rank unseen rows better than chance."
    told = []
    if found.p_slope <= LEVEL and not 0.8 <= found.slope <= 1.25:
        times = max(found.slope, 1 / found.slope)
        how = "too large (overconfident)" if found.slope < 1 else "too small (underconfident)"
        told.append(f"{times:.1f} times {how}")
    if not found.is_straight:
        told.append(f"not linear: a squared term would lower the log loss by {found.gain:.3f}")
    return f"The log-odds of {found.name} are {', and '.join(told)}." if told else ""
