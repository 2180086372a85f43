"""Gaussian: x|k ~ N(μ_k, Σ_k), with Σ shared or separate, full or diagonal.

Maximum likelihood: μ_k = class mean, Σ = 1/m Σ_i (x_i - μ_{y_i})(x_i - μ_{y_i})ᵀ, or with m_k
and the rows of class k alone. `unbiased` divides by m - K and m_k - 1.

Holes: the diagonal forms leave out the single value; a full Σ is counted from the rows of the
block that have no hole (a sum over pairs of columns would use more, but need not be positive
definite). A row to be scored is scored by the marginal of what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis, show
from genus.arrays.matrix import Codes, Matrix
from genus.families.gaussian.counts import count_moments
from genus.families.gaussian.leave_one_out import score_diagonal_without, score_full_without
from genus.families.gaussian.scores import (
    DiagonalParameters,
    FullParameters,
    Parameters,
    marginal,
    overall,
    patterns,
    score_diagonal,
    score_full,
)
from genus.families.sums import Needs, Sums
from genus.solve.normal import Factor, LOG_2π, SingularCovarianceError
from genus.solve.shrinkage import shrink
from genus.statistics import Array, Moments, divide


@dataclass(frozen=True, eq=False)
class Gaussian:
    """`shrinkage` is None, a number, "oas" or "ledoit-wolf".

    `floor` is the least variance, as a share of the column's. To separate variances of a diagonal Σ
    `prior_rows` rows are added that have the variance over all classes. `counted` see `counted_as`.
    """

    shared: bool = True
    diagonal: bool = False
    shrinkage: float | str | None = None
    unbiased: bool = False
    floor: float = 0.0
    prior_rows: float = 0.0
    counted: Mapping[str, Any] | None = None

    def counted_as(self, counting: Mapping[str, Any]) -> Gaussian:
        """These options on statistics that were, and go on being, counted another way.

        Which second moments are counted follows from shared, diagonal and shrinkage, because those
        of every class by themselves may be too many (K n²) to count always.
        """
        counted = replace(self, counted=counting)
        if self.shrinkage == "ledoit-wolf" and not counted.quartic:
            raise ValueError(
                'shrinkage="ledoit-wolf" needs fourth moments, which were not counted. Fit with it '
                'from the start, or use shrinkage="oas", which needs none.'
            )
        if (counted.structure == "diagonal" and not self.diagonal) or (
            counted.structure == "pooled" and not self.shared
        ):
            raise ValueError(
                f"Only {counted.zero().describe()} was counted; this needs more. Fit with "
                f"shared={self.shared}, diagonal={self.diagonal} from the start: what is counted "
                "for separate, full covariances serves every other form."
            )
        return counted

    @property
    def counting(self) -> Mapping[str, Any]:
        """In the words of the options; equal wherever the same is counted."""
        if self.counted is not None:
            return self.counted
        if self.diagonal:
            return {"family": "gaussian", "diagonal": True}
        if self.shrinkage == "ledoit-wolf":
            return {"family": "gaussian", "diagonal": False, "shrinkage": "ledoit-wolf"}
        return {"family": "gaussian", "diagonal": False, "shared": self.shared}

    @property
    def structure(self) -> str:
        """Which second moments are counted. What a separate covariance needs serves all forms."""
        if self.counting["diagonal"]:
            return "diagonal"
        return "pooled" if self.counting.get("shared") else "separate"

    @property
    def quartic(self) -> bool:
        """Ledoit and Wolf's rule needs fourth moments, by class because origins are."""
        return self.counting.get("shrinkage") == "ledoit-wolf"

    def zero(self) -> Moments:
        return Moments.zero(self.structure, self.quartic)

    def count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Moments:
        return count_moments(self.structure, self.quartic, X, y, classes, weight)

    @property
    def needs(self) -> Needs | None:
        """First and second moments; fourth moments are counted from rows only."""
        if self.quartic:
            return None
        return Needs(squares="columns" if self.structure == "diagonal" else "pairs")

    def of_sums(self, classes: Axis, given: Sums) -> Moments:
        assert given.squares is not None
        assert given.origin is not None
        squares = given.squares
        if self.structure == "pooled" and squares.ndim == 3:
            squares = squares.sum(axis=0)
        parts = classes, given.origin, given.seen, given.sums, squares
        return Moments.counted(self.structure, *parts).canonical()

    def solve(self, statistics: Moments, classes: Axis, width: int) -> Parameters:
        moments = statistics.align(classes, width)
        if self.diagonal:
            return self._solve_diagonal(moments, classes)
        return self._solve_full(moments, classes)

    def log_likelihood(self, parameters: Parameters, X: Matrix, relative: bool = False) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused below
            if isinstance(parameters, DiagonalParameters):
                scores = score_diagonal(parameters, X)
            else:
                scores = score_full(parameters, X, relative)
        if not np.isfinite(scores).all():
            matrix.refuse_infinite(X)
        return scores

    def contributions(self, parameters: Parameters, X: Matrix) -> tuple[Array, Array]:
        x = matrix.dense_rows(X)
        z = x[:, None, :] - parameters.mean
        if isinstance(parameters, DiagonalParameters):
            terms = -0.5 * z * z / parameters.variance + parameters.log_normaliser
            terms = np.where(np.isnan(terms), 0.0, terms)
            return terms.transpose(0, 2, 1), np.zeros(z.shape[:2])
        # (x - μ)ᵀ Σ⁻¹ (x - μ) = Σ_j (x - μ)_j (Σ⁻¹ (x - μ))_j
        terms = np.zeros_like(z)
        constant = np.empty(z.shape[:2])
        for rows, there in patterns(x):
            cells = np.ix_(rows, there)
            for k in range(len(parameters.mean)):
                factor = marginal(parameters, k, there)
                d = z[:, k][cells]
                terms[:, k][cells] = -0.5 * d * (d @ factor.precision())
                constant[rows, k] = -0.5 * (factor.log_determinant + there.sum() * LOG_2π)
        return terms.transpose(0, 2, 1), constant

    def leave_one_out(
        self,
        statistics: Moments,
        parameters: Parameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        w = np.ones(len(y)) if weight is None else weight
        if isinstance(parameters, DiagonalParameters):
            if statistics.structure != "diagonal":
                return None
            return score_diagonal_without(
                statistics,
                parameters,
                X,
                y,
                w,
                shared=self.shared,
                unbiased=self.unbiased,
                floor=self.floor,
                prior_rows=self.prior_rows,
            )
        if isinstance(self.shrinkage, str) or holes(X):
            return None
        γ = self.shrinkage or 0.0
        return score_full_without(
            statistics, parameters, X, y, w, shrinkage=γ, unbiased=self.unbiased
        )

    def sample(
        self, parameters: Parameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        noise = rng.standard_normal((n, parameters.mean.shape[1]))
        if isinstance(parameters, DiagonalParameters):
            return parameters.mean[k] + noise * np.sqrt(parameters.variance[k])
        factor = parameters.factor(k)
        return parameters.mean[k] + (noise @ factor.lower.T) * factor.scale

    def _divisors(self, weights: Array) -> Array:
        """What scatters are divided by: m or m_k, less K or 1 if unbiased; weights (K, ·)."""
        if self.shared:
            groups = np.count_nonzero(weights, axis=0)
            return weights.sum(axis=0) - self.unbiased * groups
        return weights - float(self.unbiased)

    def _solve_diagonal(self, moments: Moments, classes: Axis) -> DiagonalParameters:
        weights = np.broadcast_to(moments.weights, moments.sums.shape)
        scatter = moments.variance() * moments.weights
        if moments.structure == "pooled":
            scatter = moments.variance() * moments.weights.sum() * (weights / weights.sum(axis=0))
        mean, total_variance = overall(moments.mean(), weights, scatter)
        within = scatter.sum(axis=0) if self.shared else scatter + self.prior_rows * total_variance
        divisor = self._divisors(weights) + (0.0 if self.shared else self.prior_rows)
        variance = np.broadcast_to(divide(within, divisor), weights.shape).copy()
        # A class that never showed a value of a column knows only what all classes know.
        unknown = weights <= 0
        if not self.shared:
            variance[unknown] = np.broadcast_to(total_variance, weights.shape)[unknown]
        means = np.where(unknown, mean, moments.mean())
        # The floor is a share of the variance within classes; if there is none, of that between
        # them; if the column is constant, of its own size, which is the same for all classes.
        pooled = divide(scatter.sum(axis=0), weights.sum(axis=0))
        own_size = np.where(mean * mean > 0, mean * mean, 1.0)
        base = np.where(pooled > 0, pooled, np.where(total_variance > 0, total_variance, own_size))
        floor = self.floor * base
        raw = variance
        variance = np.maximum(variance, floor)
        if not (variance > 0).all():
            k, j = np.argwhere(~(variance > 0))[0]
            whose = "any class" if self.shared else f"class {show(classes[k])}"
            shared = "" if self.shared or pooled[j] == 0 else "shared=True, "
            raise SingularCovarianceError(
                f"Column {j} has no variance within {whose}, so the covariance matrix is not full "
                f"rank. Leave the column out, use {shared}GaussianNB() with a var_smoothing above "
                'zero, or GDA(shrinkage="oas").',
                [int(j)],
            )
        return DiagonalParameters(means, variance, raw, floor)

    def _solve_full(self, moments: Moments, classes: Axis) -> FullParameters:
        n = moments.width
        weights = moments.weights[:, 0]
        if not weights.any():
            raise ValueError(
                "Every row has a missing value, and a full covariance is counted from rows without "
                "one. Use diagonal=True, which leaves out single values, or fill them in."
            )
        empty = np.flatnonzero(weights <= 0)
        scatter = moments.scatter()
        mean = moments.mean()
        centre = weights @ mean / weights.sum()
        mean[empty] = centre
        if self.shared:
            scatter = scatter if scatter.ndim == 2 else scatter.sum(axis=0)
        divisor = self._divisors(moments.weights)[..., 0]
        pooled = np.diagonal(scatter if self.shared else scatter.sum(axis=0))
        if not pooled.any() or (self.shared and divisor <= 0):
            raise SingularCovarianceError(
                "The number of samples must be more than the number of classes: a weight of "
                f"{weights.sum():g} in {np.count_nonzero(weights)} classes leaves no scatter "
                "within them (all rows of a class are the same). Add rows, or use GaussianNB()."
            )
        if self.shared:
            covariance, used = shrink(scatter / divisor, moments, None, self.shrinkage)
            least = n + int(np.count_nonzero(weights))
            factor = self._factor(covariance, weights.sum(), least, pooled)
            return FullParameters(mean, covariance, (factor,), np.array(used), centre)
        covariances, factors, shrinkages = np.empty((len(classes), n, n)), [], []
        for k, label in enumerate(classes):
            if weights[k] <= 0:  # announced, not seen: any Σ will do, for its prior is zero
                covariances[k] = np.diag(np.where(pooled > 0, pooled, 1.0))
                factors.append(Factor.of(covariances[k], ""))
                shrinkages.append(0.0)
                continue
            variances = np.diagonal(scatter[k])
            if divisor[k] <= 0 or not (variances.any() or isinstance(self.shrinkage, str)):
                raise SingularCovarianceError(
                    f"y has only 1 sample in class {label}, or all its rows are the same: class "
                    f"{show(label)} has {weights[k]:g} row(s); a full covariance of {n} features "
                    f"needs {n + 1}. {self._remedy(pooled)}"
                )
            covariances[k], used = shrink(scatter[k] / divisor[k], moments, k, self.shrinkage)
            whose = f" of class {show(label)}"
            factors.append(self._factor(covariances[k], weights[k], n + 1, variances, whose))
            shrinkages.append(used)
        return FullParameters(mean, covariances, tuple(factors), np.array(shrinkages), centre)

    def _factor(
        self, covariance: Array, weight: float, least: int, variances: Array, whose: str = ""
    ) -> Factor:
        """Σ factorised, or an error that blames columns or, if there are too few, rows."""
        try:
            return Factor.of(covariance, self._remedy(variances), whose)
        except SingularCovarianceError as error:
            if weight >= least or not (variances > 0).all():
                raise
            raise SingularCovarianceError(
                f"{error} There may be too few rows: complete ones have a weight of {weight:g} in "
                f"all, and {len(covariance)} columns need {least} rows or more.",
                error.columns,
            ) from None

    def _remedy(self, variances: Array) -> str:
        """What to do about a singular covariance, given the variances within classes."""
        ways = [] if self.shrinkage == "oas" else ['use shrinkage="oas"']
        if self.unbiased and not self.shared:
            ways.append("use unbiased=False")
        if (variances > 0).all():
            ways += [] if self.shared else ["use shared=True"]
            ways.append("use diagonal=True")
        ways.append("leave out columns that repeat others or are constant within classes")
        remedy = ", ".join(ways[:-1]) + (" or " if len(ways) > 1 else "") + ways[-1]
        return f"{remedy[0].upper()}{remedy[1:]}."


def holes(X: Matrix) -> bool:
    """Whether a value of X is missing."""
    return X.dtype.kind == "f" and any(
        bool(np.isnan(X[part]).any()) for part in matrix.chunks(*X.shape)
    )
