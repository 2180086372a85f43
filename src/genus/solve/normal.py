"""The multivariate normal distribution.

    p(x; μ, Σ) = (2π)^(-n/2) |Σ|^(-1/2) exp(-½ (x - μ)ᵀ Σ⁻¹ (x - μ))

Σ is factorised once, as D R D with D the standard deviations and R = LLᵀ the correlations, so that
columns of very different scale do not reduce accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from genus.arrays.options import is_whole, numbers, whole
from genus.solve.errors import NoSolutionError

Array = NDArray[np.float64]
MOST_NAMED = 5  # columns in a message
LOG_2π = float(np.log(2 * np.pi))
EPSILON = float(np.finfo(float).eps)


class SingularCovarianceError(NoSolutionError, np.linalg.LinAlgError):
    """A covariance matrix has no inverse; this is a ValueError, as NumPy's LinAlgError is.

    `columns` are the numbers of the columns that the message names.
    """


class SingularCovarianceWarning(UserWarning):
    """A covariance matrix had no inverse, so it was shrunk by the amount `shrinkage`."""

    def __init__(self, message: str, shrinkage: float) -> None:
        super().__init__(message)
        self.shrinkage = shrinkage


@dataclass(frozen=True, eq=False)
class Factor:
    """Σ = D L Lᵀ D: the standard deviations `scale` (n,) and the lower triangle `lower` (n, n)."""

    scale: Array
    lower: Array

    @classmethod
    def of(cls, covariance: Array, hint: str, whose: str = "") -> Factor:
        """Factorise Σ; if it is singular, raise an error with the columns at fault and `hint`."""
        variance = np.diagonal(covariance)
        if not (variance > 0).all():
            constant = np.flatnonzero(~(variance > 0)).tolist()
            has = "has" if len(constant) == 1 else "have"
            raise SingularCovarianceError(
                f"The covariance matrix{whose} is not full rank: {columns(constant)} {has} no "
                f"variance. {hint}".rstrip(),
                constant[:MOST_NAMED],
            )
        scale = np.sqrt(variance)
        correlation = covariance / scale[:, None] / scale
        upper, failed = dpotrf(correlation.T)  # has less overhead than np.linalg.cholesky
        # A squared pivot is the share of a column's variance that earlier columns do not explain.
        if failed or (upper.diagonal() ** 2 <= 4 * EPSILON * len(scale)).any():
            problem, blamed = blame(correlation)
            raise SingularCovarianceError(
                f"The covariance matrix{whose} {problem}. {hint}".rstrip(), blamed
            )
        return cls(scale, upper.T)

    def whiten(self, z: Array) -> Array:
        """Return L⁻¹ D⁻¹ zᵀ for rows z (m, n), as (n, m)."""
        return solve_lower(self.lower, (z / self.scale).T)

    def solve(self, z: Array) -> Array:
        """Return Σ⁻¹ z for rows z (m, n), as (m, n)."""
        return self.unwhiten(self.whiten(z))

    def unwhiten(self, w: Array) -> Array:
        """Return D⁻¹ L⁻ᵀ w for columns w (n, m), as rows (m, n)."""
        return solve_lower(self.lower, w, transposed=True).T / self.scale

    def colour(self, noise: Array) -> Array:
        """Turn rows of standard normal numbers (m, n) into rows with covariance Σ."""
        return (noise @ self.lower.T) * self.scale

    @cached_property
    def inverse(self) -> Array:
        """D⁻¹ L⁻ᵀ (n, n); `z @ inverse` is `whiten(z).T`, and faster for many rows."""
        return np.ascontiguousarray(self.whiten(np.eye(len(self.scale))).T)

    @property
    def log_determinant(self) -> float:
        return float(2 * (np.log(self.scale).sum() + np.log(np.diagonal(self.lower)).sum()))


def solve_lower(lower: Array, b: Array, transposed: bool = False) -> Array:
    """Return L⁻¹ b, or L⁻ᵀ b if `transposed`, for a lower triangle L (n, n) and b (n, m).

    SciPy's `solve_triangular` also estimates the condition of L, in threads that wait for each
    other. If other programs run, that takes milliseconds even for four columns.
    """
    solved: Array = dtrsm(1.0, lower.T, b, trans_a=not transposed)
    return solved


def blame(correlation: Array) -> tuple[str, list[int]]:
    """Return why a matrix has no Cholesky factor, and the columns responsible."""
    values, vectors = np.linalg.eigh(correlation)
    least = f"the smallest eigenvalue of its correlations is {values[0]:.2g}"
    if values[0] < -1e-8 * len(values):
        return f"is invalid, because it is not positive definite: {least}", []
    column = int(np.argmax(np.abs(vectors[:, 0])))
    others = [j for j in np.flatnonzero(np.abs(vectors[:, 0]) > 1e-3).tolist() if j != column]
    if not others:
        return f"is not full rank: {least}", []
    problem = f"is not full rank: column {column} is a linear combination of {columns(others)}"
    return problem, [column, *others[:MOST_NAMED]]


def columns(numbers: Sequence[int]) -> str:
    """Name some columns for a message."""
    return f"{'column' if len(numbers) == 1 else 'columns'} {some(numbers)}"


def some(items: Sequence[object], most: int = MOST_NAMED) -> str:
    """List the first few items for a message."""
    return ", ".join(map(str, items[:most])) + (", …" if len(items) > most else "")


class MultivariateNormal:
    """N(μ, Σ) in n dimensions; plain numbers for `mean` and `covariance` give the univariate one.

    >>> standard = MultivariateNormal([0, 0], [[1, 0], [0, 1]])
    >>> print(round(standard.density([0, 0]), 6))
    0.159155
    >>> MultivariateNormal([0, 0], [[1, 0.8], [0.8, 1]]).conditional({0: 1.0})
    MultivariateNormal(mean=[0.8], covariance=[[0.36]])
    """

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        self.mean: Array = np.atleast_1d(np.array(mean, dtype=np.float64))
        self.covariance: Array = np.atleast_2d(np.array(covariance, dtype=np.float64))
        n = len(self.mean)
        if self.mean.ndim != 1 or self.covariance.shape != (n, n):
            raise ValueError(
                f"A mean of shape {self.mean.shape} needs a covariance of shape ({n}, {n}), got "
                f"{self.covariance.shape}."
            )
        if not (np.isfinite(self.mean).all() and np.isfinite(self.covariance).all()):
            raise ValueError("mean and covariance must be finite; got NaN or infinity.")
        variance = np.diagonal(self.covariance)
        if (variance < 0).any():
            j = int(variance.argmin())
            raise ValueError(f"A variance cannot be negative; column {j} has {variance[j]:g}.")
        scale = np.sqrt(np.outer(variance, variance))
        if (np.abs(self.covariance - self.covariance.T) > 1e-8 * scale).any():
            raise ValueError(
                "A covariance matrix must be symmetric; this one is not. Check that its entries "
                "(i, j) and (j, i) are equal."
            )
        self._factor = Factor.of(
            self.covariance,
            "Leave out columns that repeat others, or add a little to the diagonal: "
            "covariance + 1e-6 * np.diag(np.diag(covariance)).",
        )

    @property
    def dimension(self) -> int:
        return len(self.mean)

    def log_density(self, x: ArrayLike) -> Any:
        """Return log p(x) of one point (n,) or of each row (…, n)."""
        points = self._points(x)
        if np.isnan(points).any():
            raise ValueError("A point holds NaN; leave its column out with marginal().")
        far = np.asarray(np.isinf(points).any(axis=-1))
        points = np.where(far[..., None], self.mean, points)
        white = self._factor.whiten((points - self.mean).reshape(-1, self.dimension))
        squared = np.einsum("nm,nm->m", white, white)
        result = -0.5 * (squared + self._factor.log_determinant + self.dimension * LOG_2π)
        return np.where(far, -np.inf, result.reshape(far.shape))[()]

    def density(self, x: ArrayLike) -> Any:
        """Return p(x) of one point (n,) or of each row (…, n)."""
        return np.exp(self.log_density(x))

    def sample(self, n: int, random_state: Any = None) -> Array:
        """Draw n points, (n, dimension). `random_state` is a seed or a NumPy generator."""
        rng = np.random.default_rng(random_state)
        noise = rng.standard_normal((whole("n", n, least=0), self.dimension))
        return self.mean + self._factor.colour(noise)

    def marginal(self, columns: Sequence[int]) -> MultivariateNormal:
        """Return the distribution of some of the columns."""
        keep = self._columns(columns)
        return MultivariateNormal(self.mean[keep], self.covariance[np.ix_(keep, keep)])

    def conditional(self, given: Mapping[int, float]) -> MultivariateNormal:
        """Return the distribution of the other columns, given the values in `given`.

        Its mean is μ_a + Σ_ab Σ_bb⁻¹ (x_b - μ_b), and its covariance Σ_aa - Σ_ab Σ_bb⁻¹ Σ_ba.
        """
        if not isinstance(given, Mapping):
            raise ValueError(
                "given must be a dictionary of values by column, such as {0: 1.5}; got "
                f"{given!r}."
            )
        b = self._columns(list(given))
        a = [j for j in range(self.dimension) if j not in b]
        if not a:
            raise ValueError(
                f"`given` has a value for all {self.dimension} columns, so no column is left to "
                "describe. Remove at least one from `given`."
            )
        known = numbers("given", list(given.values()))
        if known.ndim != 1:
            raise ValueError(f"Each value of given must be one number; got {given!r}.")
        if not b:
            return self
        Σ_ba = self.covariance[np.ix_(b, a)]
        factor = Factor.of(self.covariance[np.ix_(b, b)], "Give fewer columns.")
        white = factor.whiten(Σ_ba.T)  # L⁻¹ D⁻¹ Σ_ba
        shift = white.T @ factor.whiten((known - self.mean[b])[None])[:, 0]
        return MultivariateNormal(
            self.mean[a] + shift, self.covariance[np.ix_(a, a)] - white.T @ white
        )

    def _columns(self, columns: Sequence[int]) -> list[int]:
        named = [j for j in columns if not is_whole(j)]
        if named:
            raise ValueError(
                f"Columns must be given as numbers, 0 to {self.dimension - 1}; got {named[0]!r}."
            )
        wrong = [j for j in columns if not -self.dimension <= j < self.dimension]
        if wrong:
            raise ValueError(
                f"Column {some(wrong)} does not exist: there are {self.dimension}, counted from 0."
            )
        chosen = [int(j) % self.dimension for j in columns]
        if len(set(chosen)) < len(chosen):
            repeated = next(j for j in chosen if chosen.count(j) > 1)
            raise ValueError(f"Column {repeated} is named twice in {list(columns)}.")
        return chosen

    def _points(self, x: ArrayLike) -> Array:
        points = np.asarray(x, dtype=np.float64)
        if self.dimension == 1 and (points.ndim == 0 or points.shape[-1] != 1):
            points = points[..., None]
        if points.ndim == 0 or points.shape[-1] != self.dimension:
            raise ValueError(
                f"Points need {self.dimension} numbers each, got an array of shape {points.shape}."
            )
        return points

    def __repr__(self) -> str:
        mean = np.array2string(self.mean, precision=6, separator=", ")
        covariance = np.array2string(self.covariance, precision=6, separator=", ")
        return f"MultivariateNormal(mean={mean}, covariance={covariance})"
