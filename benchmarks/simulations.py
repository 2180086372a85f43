"""Rows made by a model that is known, and how far from its optimum what is learned from them is.

Symbols: η = p(y=1|x) of the true model, p the one that was learned; m rows; Δ the distance of two
means, Δ² = (μ₁ - μ₀)ᵀ Σ⁻¹ (μ₁ - μ₀). Both classes are equally common. Beyond the optimum, which is
the best that any model can do, are

    wrong:     E |2η - 1| [p and η are on different sides of ½]
    log loss:  E η log(η / p) + (1 - η) log((1 - η) / (1 - p))
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, xlogy
from scipy.stats import poisson
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from genus import GDA, GaussianNB, PoissonNB

LOGISTIC = "logistic regression"
LEAST_P = 1e-15
TESTED = 4000  # rows of a repeat

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Draw = tuple[Array, Codes]


class World(Protocol):
    """A true model of two classes."""

    @property
    def bayes_error(self) -> float: ...

    def draw(self, rng: np.random.Generator, m: int) -> Draw:
        """Rows and their classes."""
        ...

    def weighed(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Rows to judge by, their η, and their weights, which sum to one."""
        ...


def tossed(rng: np.random.Generator, m: int, least: int) -> Codes:
    """A class for each row, tossed anew until both have so many, which GDA(shared=False) needs."""
    while True:
        y = rng.integers(0, 2, m)
        if least <= y.sum() <= m - least:
            return y


@dataclass(frozen=True, eq=False)
class Normals:
    """Classes with means ±½ δ and one Σ."""

    delta: Array
    covariance: Array

    @classmethod
    def at(cls, distance: float, columns: int = 5, correlation: float = 0.6) -> Normals:
        """Columns that are all correlated alike; the first alone differs between the classes."""
        covariance = np.full((columns, columns), correlation)
        np.fill_diagonal(covariance, 1.0)
        delta = np.eye(columns)[0]
        length = np.sqrt(delta @ np.linalg.solve(covariance, delta))
        return cls(delta * distance / length, covariance)

    @property
    def weights(self) -> Array:
        """Those of the true p(y|x), whose intercept is zero: Σ⁻¹ δ."""
        return np.asarray(np.linalg.solve(self.covariance, self.delta), np.float64)

    @property
    def distance(self) -> float:
        return float(np.sqrt(self.delta @ self.weights))

    @property
    def bayes_error(self) -> float:
        """Φ(-Δ/2)."""
        return float(ndtr(-self.distance / 2))

    def draw(self, rng: np.random.Generator, m: int) -> Draw:
        y = tossed(rng, m, least=len(self.delta) + 2)
        noise = rng.normal(size=(m, len(self.delta))) @ np.linalg.cholesky(self.covariance).T
        return noise + (y[:, None] - 0.5) * self.delta, y

    def weighed(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        X, _ = self.draw(rng, TESTED)
        return X, expit(X @ self.weights), np.full(TESTED, 1 / TESTED)

    def excess_of_line(self, coefficients: Array, intercept: float) -> float:
        """Wrong beyond the optimum of a rule that is a line, without any rows."""
        spread = np.sqrt(coefficients @ self.covariance @ coefficients)
        half = coefficients @ self.delta / 2
        wrong = ndtr((intercept - half) / spread) + ndtr((-intercept - half) / spread)
        return float(wrong) / 2 - self.bayes_error


@dataclass(frozen=True, eq=False)
class Counts:
    """Classes of independent Poisson columns, and all cells that matter: rows, η and weights."""

    rates: Array  # (2, columns)
    cells: tuple[Array, Array, Array]
    bayes_error: float

    @classmethod
    def of(cls, first: Sequence[float], second: Sequence[float]) -> Counts:
        """Of the rates of both classes."""
        rates = np.array([first, second], float)
        ranges = [np.arange(poisson.isf(1e-9, rate) + 1) for rate in rates.max(axis=0)]
        X = np.stack(np.meshgrid(*ranges), axis=-1).reshape(-1, rates.shape[1])
        zero, one = poisson.pmf(X[None], rates[:, None]).prod(axis=2) / 2
        return cls(rates, (X, one / (zero + one), zero + one), float(np.minimum(zero, one).sum()))

    def draw(self, rng: np.random.Generator, m: int) -> Draw:
        y = tossed(rng, m, least=2)
        return rng.poisson(self.rates[y]).astype(float), y

    def weighed(self, _: np.random.Generator) -> tuple[Array, Array, Array]:
        return self.cells


def excess(p: Array, truth: Array, weights: Array) -> tuple[float, float]:
    """Wrong, and log loss, beyond the optimum."""
    p = np.clip(p, LEAST_P, 1 - LEAST_P)
    wrong = weights @ (np.abs(2 * truth - 1) * ((p > 0.5) != (truth > 0.5)))
    other = 1 - truth
    loss = xlogy(truth, truth / p) + xlogy(other, other / (1 - p))
    return float(wrong), float(weights @ loss)


def logistic() -> LogisticRegression:
    """By maximum likelihood; separable rows have none, and stop it after a hundred steps."""
    return LogisticRegression(C=np.inf, solver="newton-cholesky")


def fitted(make: Callable[[], Any], X: Array, y: Codes) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=Warning, module=r"sklearn|scipy")
        return make().fit(X, y)


MODELS: Mapping[str, Callable[[], Any]] = {
    "GDA": GDA,
    "GDA(shared=False)": lambda: GDA(shared=False),
    "GaussianNB": GaussianNB,
    "PoissonNB": PoissonNB,
    LOGISTIC: logistic,
}


def learned(
    world: World, names: Sequence[str], sizes: Sequence[int], repeats: int, seed: int = 0
) -> dict[str, Array]:
    """Wrong and log loss beyond the optimum by model: (2, sizes, repeats); all see the same."""
    found = {name: np.empty((2, len(sizes), repeats)) for name in names}
    for s, m in enumerate(sizes):
        for r in range(repeats):
            rng = np.random.default_rng([seed, m, r])
            X, y = world.draw(rng, m)
            test, truth, weights = world.weighed(rng)
            for name in names:
                p = fitted(MODELS[name], X, y).predict_proba(test)[:, 1]
                found[name][:, s, r] = excess(p, truth, weights)
    return found


def efron(distance: float) -> float:
    """The rows that GDA needs for one of logistic regression, in the limit (Efron 1975).

    (4 + Δ²) E η (1 - η): what both err by is a variance, (4 + Δ²) / m of GDA's intercept and of its
    weights across δ, and 1 / (m E η (1 - η)) of logistic regression's.

    >>> [round(efron(distance), 2) for distance in (1, 2, 3, 4)]
    [0.99, 0.9, 0.64, 0.34]
    """
    # η (1 - η) of a log-odds Δ² / 2 + Δ z, z standard normal; by symmetry one class is enough.
    z = np.linspace(-12, 12, 20_001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    chance = expit(distance**2 / 2 + distance * z)
    within = float((density * chance * (1 - chance)).sum() * (z[1] - z[0]))
    return (4 + distance**2) * within


@dataclass(frozen=True, eq=False)
class Efficiency:
    """At a distance: sizes, and what GDA and logistic regression are wrong beyond the optimum."""

    distance: float
    sizes: Array
    gda: Array  # (sizes, repeats)
    logistic: Array

    def ratio(self, m: int) -> float:
        """The rows that GDA needs for each of m that logistic regression has learned from."""
        return rows_needed(self.sizes, self.gda.mean(axis=1), self.logistic.mean(axis=1), m)

    def spread(self, m: int, draws: int = 200) -> float:
        """The standard error of `ratio`, by the bootstrap."""
        rng = np.random.default_rng(0)
        repeats = self.gda.shape[1]
        drawn = []
        for _ in range(draws):
            a, b = rng.integers(0, repeats, (2, repeats))
            means = self.gda[:, a].mean(axis=1), self.logistic[:, b].mean(axis=1)
            drawn.append(rows_needed(self.sizes, *means, m))
        return float(np.std(drawn))


def rows_needed(sizes: Array, gda: Array, logistic: Array, m: int) -> float:
    """By straight lines through the logarithms of sizes and of what is wrong.

    Beyond the last size what is wrong halves with twice the rows.
    """
    wanted = np.log(logistic[list(sizes).index(m)])
    falling = np.log(np.append(gda, gda[-1] / 2))[::-1]
    at = np.log(np.append(sizes, 2 * sizes[-1]))[::-1]
    return float(np.exp(np.interp(wanted, falling, at)) / m)


def efficiency(
    distance: float, sizes: Sequence[int], repeats: int, columns: int = 5, seed: int = 0
) -> Efficiency:
    """GDA and logistic regression on the same rows; what is wrong is known, not counted."""
    world = Normals.at(distance, columns)
    found = np.empty((2, len(sizes), repeats))
    for s, m in enumerate(sizes):
        for r in range(repeats):
            X, y = world.draw(np.random.default_rng([seed, m, r]), m)
            for k, name in enumerate(("GDA", LOGISTIC)):
                model = fitted(MODELS[name], X, y)
                found[k, s, r] = world.excess_of_line(model.coef_[0], model.intercept_[0])
    return Efficiency(distance, np.array(sizes, float), *found)
