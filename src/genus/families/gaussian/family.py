"""Gaussian: x|k ~ N(μ_k, Σ_k), with Σ shared or separate, full or diagonal.

Maximum likelihood: μ_k = class mean, Σ = 1/m Σ_i (x_i - μ_{y_i})(x_i - μ_{y_i})ᵀ, or with m_k and
the rows of class k alone. `unbiased` divides by m - K and m_k - 1.

Missing values: the diagonal forms leave out only the missing value. A full Σ is counted from the
complete rows (a sum over pairs of columns would use more rows, but need not be positive definite).
A row with missing values is scored by the marginal of its known columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import matrix
from genus.arrays.labels import Axis, show
from genus.arrays.matrix import Codes, Matrix
from genus.families.gaussian.choosing import choose, sampled
from genus.families.gaussian.counts import count_moments, list_points
from genus.families.gaussian.leave_one_out import (
    score_diagonal_without,
    score_full_without,
    score_variances_without,
)
from genus.families.gaussian.scores import (
    DiagonalParameters,
    Form,
    FullParameters,
    Parameters,
    marginal,
    overall,
    patterns,
    score_diagonal,
    score_full,
)
from genus.families.sums import Needs, Sums
from genus.solve.centroids import shrunken
from genus.solve.covariance import Covariance, RowFactor, Rows, Table, average
from genus.solve.discriminant_axes import of_rank
from genus.solve.normal import Factor, LOG_2π, SingularCovarianceError
from genus.solve.priors import Priors
from genus.solve.shrinkage import least_variance, shrink
from genus.solve.structures import structured
from genus.statistics import Array, Compound, Moments, Points, Sample, divide

MOST_REPEATED = 10_000_000  # rows, repeated by weight for an estimator without weights
WIDE = 64  # columns; with more, keeping a few rows takes less room than sums of products


@dataclass(frozen=True, eq=False)
class Gaussian:
    """The Gaussian family: the options that decide how Σ and the means are estimated.

    - `shared`, `diagonal`: the form of Σ. `code`, such as "VEV", names instead what the covariances
      of the classes share (see `genus.solve.structures`).
    - `shrinkage`: None, a number, "oas" or "ledoit-wolf". A number shrinks towards the mean
      variance or, with `identity`, towards the identity.
    - `pooled`: the share s of the scatter S within all classes in a separate covariance (Friedman
      1989): Σ_k = ((1 - s) S_k + s S) / ((1 - s) m_k + s m).
    - `automatic`: choose `shared` or `pooled`, `diagonal` and the shrinkage by leaving out single
      rows, for which about `kept_rows` rows are kept. `diagonal=True` and a given shrinkage are not
      changed. `form` is the choice; with it, Σ is shrunk after columns are divided by `form.scale`.
    - `averaged`: a shared Σ is the mean of the classes' covariances, weighted by these priors, and
      each is shrunk separately.
    - `estimator`: what estimates the covariance of each class from its rows, such as those of
      sklearn.covariance.
    - `unbiased`: divide the scatter by m - K if Σ is shared, and by m_k - 1 if it is separate.
    - `floor`: the smallest variance in a diagonal Σ, as a share of the column's variance within
      classes. With `added`, it is a share of the largest variance of any column over all rows, and
      is added to every variance.
    - `prior_rows`: separate variances of a diagonal Σ are estimated as if each class had this many
      more rows, with the variance of all rows.
    - `threshold`: shrink the means of a shared, diagonal Σ (see `genus.solve.centroids`).
    - `rank`: the number of axes along which the class means differ, with a shared Σ; the priors
      `between` weight the classes in choosing these axes (see `genus.solve.discriminant_axes`).
    - `singular`: what to do if a shared Σ has no inverse: raise an "error", or "shrink" it by
      "oas". `remedy` replaces the advice in errors about a singular Σ.
    - `wide`: with this many columns or more, rows are kept while there are fewer rows than columns.
    - `counted`: see `counted_as`.
    """

    shared: bool = True
    diagonal: bool = False
    shrinkage: float | str | None = None
    unbiased: bool = False
    floor: float = 0.0
    prior_rows: float = 0.0
    added: bool = False
    counted: Mapping[str, Any] | None = None
    identity: bool = False
    singular: str = "error"
    averaged: Priors | None = None
    estimator: Any = None
    remedy: str = ""
    wide: int = WIDE
    pooled: float = 0.0
    automatic: bool = False
    kept_rows: int = 0
    form: Form | None = None
    code: str = ""
    threshold: float | None = None
    rank: int | None = None
    between: Priors = field(default_factory=Priors)

    def counted_as(self, counting: Mapping[str, Any]) -> Gaussian:
        """Return the same options for statistics that were counted with the options `counting`.

        Raise an error if too little was counted. shared, diagonal and shrinkage decide which second
        moments are counted, because those of every class, K n² numbers, may be too many.
        """
        counted = replace(self, counted=counting)
        if self.shrinkage == "ledoit-wolf" and not counted.quartic:
            raise ValueError(
                'shrinkage="ledoit-wolf" needs fourth moments, which were not counted. Fit with it '
                'from the start, or use shrinkage="oas", which needs none.'
            )
        if self.estimator is not None and "rows" not in counting:
            raise ValueError(
                "A covariance_estimator needs rows, but only sums over them were kept. Fit with it "
                "from the start."
            )
        if self.automatic and "sample" not in counting:
            raise ValueError(
                'shared="auto" uses a sample of rows, which this model did not keep. Fit with it '
                "from the start."
            )
        own = not self.shared or self.averaged is not None
        if (counted.structure == "diagonal" and not self.diagonal) or (
            counted.structure == "pooled" and own
        ):
            raise ValueError(
                f"The model has counted only {sums_of(counted.zero()).moments.describe()}, which "
                "is too little for these options. Fit with these options from the start. "
                "GDA(shared=False) counts enough for all values of shared and diagonal except "
                'shared="auto".'
            )
        return counted

    @property
    def counting(self) -> Mapping[str, Any]:
        """The options that decide what is counted; only statistics with equal options can merge."""
        if self.counted is not None:
            return self.counted
        if self.automatic:
            kept = {"shared": False, "sample": self.kept_rows}
            return {"family": "gaussian", "diagonal": False, **kept}
        if self.diagonal:
            return {"family": "gaussian", "diagonal": True}
        if self.estimator is not None:
            return {"family": "gaussian", "diagonal": False, "rows": True}
        if self.shrinkage == "ledoit-wolf":
            return {"family": "gaussian", "diagonal": False, "shrinkage": "ledoit-wolf"}
        shared = self.shared and self.averaged is None
        return {"family": "gaussian", "diagonal": False, "shared": shared}

    @property
    def structure(self) -> str:
        """The second moments that are counted; every form can be solved from "separate" moments."""
        if self.counting["diagonal"]:
            return "diagonal"
        return "pooled" if self.counting.get("shared") else "separate"

    @property
    def quartic(self) -> bool:
        """Whether fourth moments are counted, by class; Ledoit and Wolf's rule needs them."""
        return self.counting.get("shrinkage") == "ledoit-wolf"

    def zero(self) -> Moments | Compound:
        sums = Moments.zero(self.structure, self.quartic)
        if "sample" not in self.counting:
            return sums
        return Compound({"sums": sums, "sample": Sample(self.counting["sample"])})

    def count(
        self, X: Matrix, y: Codes, classes: Axis, weight: Array | None
    ) -> Moments | Points | Compound:
        sums = self._count(X, y, classes, weight)
        if "sample" not in self.counting:
            return sums
        sample = sampled(self.counting["sample"], X, y, classes, weight)
        return Compound({"sums": sums, "sample": sample})

    def _count(self, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Moments | Points:
        limit = self._limit(X.shape[1])
        if len(y) < limit:
            return list_points(self.structure, self.quartic, limit, X, y, classes, weight)
        return count_moments(self.structure, self.quartic, X, y, classes, weight)

    def _limit(self, width: int) -> int:
        """Return the number of rows below which the rows are kept instead of their sums."""
        if "rows" in self.counting:
            return int(np.iinfo(np.int64).max)
        return width if self.structure != "diagonal" and width >= self.wide else 0

    @property
    def needs(self) -> Needs | None:
        """The sums to request from a database, up to second moments; None if more are needed."""
        if self.quartic or not self.counting.keys().isdisjoint(("sample", "rows")):
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

    def choose(
        self, statistics: Moments | Points | Compound, classes: Axis, width: int
    ) -> Form | None:
        """Return the form of Σ with the smallest leave-one-out log loss.

        Return None if the form is not to be chosen (see `automatic`), or no rows were counted.
        """
        if not self.automatic:
            return None
        assert isinstance(statistics, Compound)
        sums = sums_of(statistics).align(classes, width)
        if not sums.weights.any():
            return None
        return choose(
            sums,
            statistics["sample"],
            diagonal=self.diagonal,
            shrinkage=self.shrinkage,
            unbiased=self.unbiased,
        )

    def formed(self, form: Form) -> Gaussian:
        """Return the same options with the chosen form of Σ."""
        return replace(
            self,
            automatic=False,
            shared=form.shared == 1,
            pooled=form.shared if form.shared < 1 else 0.0,
            diagonal=form.diagonal,
            shrinkage=form.shrinkage,
            form=form,
        )

    def solve(
        self,
        statistics: Moments | Points | Compound,
        classes: Axis,
        width: int,
        form: Form | None = None,
    ) -> Parameters:
        if form is not None:
            solved = self.formed(form).solve(statistics, classes, width)
            return replace(solved, form=form)
        statistics = sums_of(statistics)
        if self.diagonal:
            return self._solve_diagonal(statistics.moments.align(classes, width), classes)
        if isinstance(statistics, Points) and not statistics.is_possible:
            statistics = statistics.moments
        return self._solve_full(statistics.align(classes, width), classes)

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
                terms[:, k][cells] = -0.5 * d * factor.solve(d)
                constant[rows, k] = -0.5 * (factor.log_determinant + there.sum() * LOG_2π)
        return terms.transpose(0, 2, 1), constant

    @property
    def has_own_rule(self) -> bool:
        """Whether Σ or the means have a special rule, such as "oas", an `estimator` or a `rank`.

        Leave-one-out then has no closed form.
        """
        rule = isinstance(self.shrinkage, str) or self.identity
        rule = rule or self.averaged is not None or self.estimator is not None
        return rule or bool(self.code) or self.rank is not None

    def leave_one_out(
        self,
        statistics: Moments | Points | Compound,
        parameters: Parameters,
        X: Matrix,
        y: Codes,
        weight: Array | None,
    ) -> Array | None:
        if self.automatic:
            assert parameters.form is not None
            own = self.formed(parameters.form)
            return own.leave_one_out(statistics, parameters, X, y, weight)
        statistics = sums_of(statistics)
        w = np.ones(len(y)) if weight is None else weight
        if self.form is not None and (self.form.least.any() or holes(X)):
            return None
        if self.form is not None and self.form.diagonal:
            x = matrix.dense_rows(X)
            share, unbiased = self.form.shared, self.unbiased
            return score_variances_without(statistics, x, y, w, share, unbiased=unbiased)
        if isinstance(parameters, DiagonalParameters):
            if statistics.structure != "diagonal" or self.added or self.pooled:
                return None
            if self.threshold is not None or self.rank is not None:
                return None
            return score_diagonal_without(
                statistics.moments,
                parameters,
                X,
                y,
                w,
                shared=self.shared,
                unbiased=self.unbiased,
                floor=self.floor,
                prior_rows=self.prior_rows,
            )
        if self.has_own_rule or parameters.singular is not None or holes(X):
            return None
        γ, scale = float(self.shrinkage or 0.0), None if self.form is None else self.form.scale
        options: dict[str, Any] = {"unbiased": self.unbiased, "scale": scale}
        return score_full_without(statistics, parameters, X, y, w, γ, self.pooled, **options)

    def sample(
        self, parameters: Parameters, k: int, n: int, rng: np.random.Generator
    ) -> NDArray[Any]:
        noise = rng.standard_normal((n, parameters.mean.shape[1]))
        if isinstance(parameters, DiagonalParameters):
            return parameters.mean[k] + noise * np.sqrt(parameters.variance[k])
        factor = parameters.factor(k)
        return parameters.mean[k] + factor.colour(noise)

    def _divisors(self, weights: Array) -> Array:
        """Return the divisors of the scatters: m or m_k, minus K or 1 if unbiased."""
        if not (self.shared or self.pooled):
            return weights - float(self.unbiased)
        together = weights.sum(axis=0) - self.unbiased * np.count_nonzero(weights, axis=0)
        if self.shared:
            return together
        return (1 - self.pooled) * (weights - float(self.unbiased)) + self.pooled * together

    def _solve_diagonal(self, moments: Moments, classes: Axis) -> DiagonalParameters:
        weights, means = moments.weights, moments.mean()
        if weights.shape != means.shape:
            weights = np.broadcast_to(weights, means.shape)
        scatter = moments.variance() * moments.weights
        if moments.structure == "pooled":
            scatter = moments.variance() * moments.weights.sum() * (weights / weights.sum(axis=0))
        mean, total_variance = overall(means, weights, scatter)
        all_within = within = scatter.sum(axis=0)
        if self.threshold is not None:
            known = np.where(weights > 0, means, mean)
            means, scale = shrunken(known, mean, weights, within, self.threshold)
            variance = np.tile(scale**2, (len(means), 1))
            return DiagonalParameters(means, variance, variance, np.zeros_like(scale))
        divisor = self._divisors(weights)
        if not self.shared:
            within = scatter
            if self.pooled:
                within = (1 - self.pooled) * scatter + self.pooled * all_within
            if self.prior_rows:
                within = within + self.prior_rows * total_variance
                divisor = divisor + self.prior_rows
        variance = divide(within, divisor)
        if self.shared:
            variance = np.tile(variance, (len(weights), 1))
        # A class without a value in a column gets the mean and variance of all classes.
        unknown = weights <= 0
        if unknown.any():
            means = np.where(unknown, mean, means)
            variance = variance if self.shared else np.where(unknown, total_variance, variance)
        # The floor is a share of the variance within classes; if that is zero, of the variance
        # between them; for a constant column, of its square, which all classes share.
        base = pooled = divide(all_within, weights.sum(axis=0))
        if not (pooled > 0).all():
            own_size = np.where(mean * mean > 0, mean * mean, 1.0)
            between = np.where(total_variance > 0, total_variance, own_size)
            base = np.where(pooled > 0, pooled, between)
        floor = self.floor * base
        raw = variance
        if self.added:
            floor = np.full_like(floor, self.floor * total_variance.max(initial=0.0))
        variance = variance + floor if self.added else np.maximum(variance, floor)
        if self.form is not None:
            variance = variance + self.form.least
        if not (variance > 0).all():
            k, j = np.argwhere(~(variance > 0))[0]
            whose = "any class" if self.shared else f"class {show(classes[k])}"
            if not self.shared and weights[k, j] == 1:
                whose += ", which has 1 sample"
            shared = "" if self.shared or pooled[j] == 0 else "shared=True, "
            raise SingularCovarianceError(
                f"Column {j} has no variance within {whose}, so the covariance matrix is not full "
                f"rank. Leave the column out, use {shared}GaussianNB() with a var_smoothing above "
                'zero, or GDA(shrinkage="oas").',
                [int(j)],
            )
        if self.rank is not None:
            factor = Rows(np.zeros((0, moments.width)), variance[0]).factor()
            means = self._of_rank(means, weights.max(axis=1), classes, factor)
        return DiagonalParameters(means, variance, raw, floor)

    def _solve_full(self, moments: Moments | Points, classes: Axis) -> FullParameters:
        weights = moments.weights[:, 0]
        if not weights.any():
            raise ValueError(
                "Every row has a missing value, but a full covariance is counted from rows "
                "without one. Use diagonal=True, which skips only the missing values, or impute "
                "them."
            )
        mean = moments.mean()
        centre = weights @ mean / weights.sum()
        mean[weights <= 0] = centre
        divisor = self._divisors(moments.weights)[..., 0]
        pooled = pooled_variance(moments)
        if not pooled.any() or (self.shared and divisor <= 0):
            raise SingularCovarianceError(
                "The number of samples must be more than the number of classes: a weight of "
                f"{weights.sum():g} in {np.count_nonzero(weights)} classes leaves no scatter "
                "within them (all rows of a class are the same). Add rows, or use GaussianNB()."
            )
        if self.code:
            return self._solve_structured(moments.moments, mean, centre, pooled)
        if not self.shared:
            return self._solve_separate(moments, classes, mean, centre, divisor, pooled)
        if self.averaged is None:
            own = within(moments, scatter_of(moments), None, float(divisor))
            covariance, γ = self._shrink(own, moments, None)
        else:
            own, covariance, γ = self._average(moments, classes)
        constant = (pooled <= 0) & is_same(mean, centre)
        if self.singular == "shrink" and γ == 0 and constant.any():
            mean = np.where(constant, centre, mean)
            least = least_variance(moments, weights.sum())
            covariance = covariance.plus(1.0, np.where(constant, least, 0.0))
        singular = None
        try:
            factor = self._factor(covariance, moments, None)
        except SingularCovarianceError as error:
            if self.singular == "error" or isinstance(self.shrinkage, str):
                raise
            singular = error
            covariance, γ = shrink(own, moments, None, "oas")
            factor = covariance.factor()
        used, mean = np.array(γ), self._of_rank(mean, weights, classes, factor)
        return FullParameters(mean, True, (covariance,), (factor,), used, centre, singular)

    def _of_rank(
        self, means: Array, weights: Array, classes: Axis, factor: Factor | RowFactor
    ) -> Array:
        """Return means that differ along `rank` axes only."""
        if self.rank is None:
            return means
        return of_rank(means, self.between.solve(weights, classes), factor, self.rank)

    def _shrink(
        self, covariance: Covariance, moments: Moments | Points, k: int | None
    ) -> tuple[Covariance, float]:
        """Return the shrunk Σ of class k, or of all classes, and the γ that was used."""
        form = self.form
        unit = None if form is None else np.where(form.least > 0, 0.0, form.scale)
        shrunk, γ = shrink(covariance, moments, k, self.shrinkage, self.identity, unit)
        if form is not None and form.least.any() and not isinstance(self.shrinkage, str):
            shrunk = shrunk.plus(1.0, form.least)
        return shrunk, γ

    def _average(
        self, moments: Moments | Points, classes: Axis
    ) -> tuple[Covariance, Covariance, float]:
        """Return the mean covariance of the classes, weighted by priors, and the mean γ.

        The covariance is returned twice: without and with shrinkage.
        """
        weights = moments.weights[:, 0]
        assert self.averaged is not None
        shares = self.averaged.solve(weights, classes)
        seen = np.flatnonzero(weights > 0).tolist()
        if self.estimator is not None:
            assert isinstance(moments, Points)
            found: list[Covariance] = [
                estimated(self.estimator, moments, k, show(classes[k])) for k in seen
            ]
            mean = average(found, shares[seen])
            return mean, mean, 0.0
        scatter = scatter_of(moments)
        plain = [within(moments, scatter, k, weights[k]) for k in seen]
        shrunk = [
            shrink(one, moments, k, self.shrinkage) for k, one in zip(seen, plain, strict=True)
        ]
        γ = float(shares[seen] @ np.array([used for _, used in shrunk]))
        return average(plain, shares[seen]), average([one for one, _ in shrunk], shares[seen]), γ

    def _solve_structured(
        self, moments: Moments, mean: Array, centre: Array, pooled: Array
    ) -> FullParameters:
        weights = moments.weights[:, 0]
        seen = np.flatnonzero(weights > 0)
        # A declared class without rows may have any Σ, because its prior is zero.
        found = np.tile(np.diag(np.where(pooled > 0, pooled, 1.0)), (len(weights), 1, 1))
        found[seen] = structured(self.code, moments.scatter()[seen], weights[seen])
        is_shared = self.code in ("EII", "EEI", "EEE")
        tables = [Table(found[k]) for k in (seen[:1] if is_shared else range(len(weights)))]
        factors = tuple(self._factor(table, moments, None) for table in tables)
        none = np.zeros(() if is_shared else len(weights))
        return FullParameters(mean, is_shared, tuple(tables), factors, none, centre)

    def _solve_separate(
        self,
        moments: Moments | Points,
        classes: Axis,
        mean: Array,
        centre: Array,
        divisor: Array,
        pooled: Array,
    ) -> FullParameters:
        n, weights = moments.width, moments.weights[:, 0]
        variances = np.broadcast_to(moments.variance(), mean.shape)
        scatter = scatter_of(moments)
        covariances: list[Covariance] = []
        factors: list[Factor | RowFactor] = []
        shrinkages: list[float] = []
        for k, label in enumerate(classes):
            if weights[k] <= 0:  # declared, without rows: its prior is zero, so any Σ will do
                some = np.where(pooled > 0, pooled, 1.0)
                rows = isinstance(moments, Points)
                covariances.append(Rows(np.zeros((0, n)), some) if rows else Table(np.diag(some)))
                factors.append(covariances[-1].factor())
                shrinkages.append(0.0)
                continue
            given = isinstance(self.shrinkage, str) or self.identity or self.estimator is not None
            given = given or self.pooled > 0 or self.form is not None
            if divisor[k] <= 0 or not (variances[k].any() or given):
                raise SingularCovarianceError(
                    f"y has only 1 sample in class {label}, or all its rows are the same: class "
                    f"{show(label)} has {weights[k]:g} {'row' if weights[k] == 1 else 'rows'}, "
                    f"and a full covariance of {n} features needs {n + 1} that differ. "
                    f"{self._remedy(pooled)}"
                )
            covariance: Covariance
            if self.estimator is not None:
                assert isinstance(moments, Points)
                covariance, γ = estimated(self.estimator, moments, k, show(label)), 0.0
            else:
                own = within(moments, scatter, k, float(divisor[k]), self.pooled)
                covariance, γ = self._shrink(own, moments, k)
            covariances.append(covariance)
            factors.append(self._factor(covariance, moments, k, show(label)))
            shrinkages.append(γ)
        used = np.array(shrinkages)
        return FullParameters(mean, False, tuple(covariances), tuple(factors), used, centre)

    def _factor(
        self, covariance: Covariance, moments: Moments | Points, k: int | None, label: str = ""
    ) -> Factor | RowFactor:
        """Factorise Σ, or raise an error that names the lack of rows or the columns responsible."""
        try:
            return covariance.factor("" if k is None else f" of class {label}")
        except SingularCovarianceError as error:
            weights = moments.weights[:, 0]
            n, groups = moments.width, np.count_nonzero(weights) if k is None else 1
            weight = float(weights.sum() if k is None else weights[k])
            variances = pooled_variance(moments) if k is None else moments.variance()[k]
            remedy = self._remedy(variances)
            told = f"{error} {remedy}"
            if weight < n + groups and (variances > 0).all():
                whose = "There" if k is None else f"In class {label} there"
                few = (
                    f"{whose} may be too few rows: complete rows have a total weight of {weight:g},"
                    f" and {n} columns need {n + groups} rows or more."
                )
                told = f"{few} {error} {remedy}"
            raise SingularCovarianceError(told, error.columns) from None

    def _remedy(self, variances: Array) -> str:
        """Return the advice for a singular covariance, given the variances within classes."""
        if self.remedy:
            return self.remedy
        ways = [] if self.shrinkage == "oas" else ['use shrinkage="oas"']
        if self.unbiased and not self.shared:
            ways.append("use unbiased=False")
        if (variances > 0).all():
            ways += [] if self.shared else ["use shared=True (or a share, such as shared=0.5)"]
            ways.append("use diagonal=True")
        ways.append("leave out columns that repeat others or are constant within classes")
        remedy = ", ".join(ways[:-1]) + (" or " if len(ways) > 1 else "") + ways[-1]
        return f"{remedy[0].upper()}{remedy[1:]}."


def sums_of(statistics: Moments | Points | Compound) -> Moments | Points:
    """Return the sums without the sample of rows that may be kept beside them."""
    if not isinstance(statistics, Compound):
        return statistics
    sums: Moments | Points = statistics["sums"]
    return sums


def scatter_of(statistics: Moments | Points) -> Array | None:
    """Return the scatter within classes, pooled or by class (K, n, n); None if rows are kept."""
    return None if isinstance(statistics, Points) else statistics.scatter()


def within(
    statistics: Moments | Points,
    scatter: Array | None,
    k: int | None,
    divisor: float,
    pooled: float = 0.0,
) -> Covariance:
    """Return the covariance within class k, or within all classes if k is None.

    It is computed from the kept rows, or from the scatter. The covariance of a class includes a
    share `pooled` of the scatter within all classes.
    """
    if isinstance(statistics, Points):
        spread = statistics.spread(k)
        if pooled:
            both = np.sqrt(1 - pooled) * spread, np.sqrt(pooled) * statistics.spread(None)
            spread = np.concatenate(both)
        spread = spread / np.sqrt(divisor)
        if k is None or len(spread) < statistics.width:
            return Rows(spread, np.zeros(statistics.width))
        return Table(spread.T @ spread)
    assert scatter is not None
    if k is None:
        return Table((scatter if scatter.ndim == 2 else scatter.sum(axis=0)) / divisor)
    own = (1 - pooled) * scatter[k] + pooled * scatter.sum(axis=0) if pooled else scatter[k]
    return Table(own / divisor)


def pooled_variance(statistics: Moments | Points) -> Array:
    """Return the variances within all classes, (n,)."""
    variance, weights = statistics.variance(), statistics.weights
    return variance if variance.ndim == 1 else (weights * variance).sum(axis=0) / weights.sum()


def is_same(mean: Array, centre: Array) -> NDArray[np.bool_]:
    """Return which columns have the same mean in all classes, (n,), up to rounding."""
    return np.asarray((np.abs(mean - centre) <= 1e-14 * np.abs(centre)).all(axis=0))


def estimated(estimator: Any, points: Points, k: int, label: str) -> Table:
    """Estimate a covariance from the rows of class k; raise an error if the result is invalid."""
    own = deepcopy(estimator)
    name, n = type(estimator).__name__, points.width
    rows = points.codes == k
    times = points.weight[rows] / points.weight[rows].min()
    if (times != np.round(times)).any():
        raise ValueError(
            f"{name} takes no weights, so each row is repeated in proportion to its weight, but "
            f"the weights of class {label} are not multiples of the smallest. Leave sample_weight "
            "out, or use shrinkage."
        )
    if times.sum() > MOST_REPEATED:
        raise ValueError(
            f"{name} takes no weights, so each row is repeated in proportion to its weight. For "
            f"class {label} this would make {times.sum():,.10g} rows, more than {MOST_REPEATED:,}. "
            "Leave sample_weight out, or use shrinkage."
        )
    own.fit(np.repeat(points.x[rows], times.astype(int), axis=0))
    if not hasattr(own, "covariance_"):
        raise ValueError(
            f"{name} does not have a covariance_ attribute after fit, which a "
            "covariance_estimator must have."
        )
    found, problem = np.asarray(own.covariance_), None
    if found.dtype.kind not in "biuf":
        problem = f"of type {found.dtype}, not of numbers"
    elif found.shape != (n, n):
        problem = f"of shape {found.shape}; expected ({n}, {n})"
    elif not np.isfinite(found).all():
        problem = "with NaN or infinity"
    elif not np.allclose(found, found.T, rtol=1e-6, atol=1e-8 * np.abs(found).max(initial=0)):
        problem = "that is not symmetric"
    elif (np.diagonal(found) < 0).any():
        problem = "with a negative variance"
    if problem is not None:
        raise ValueError(
            f"{name} gave class {label} a covariance_ {problem}. Use another covariance_estimator, "
            "such as those of sklearn.covariance."
        )
    return Table((found + found.T) / 2.0)


def holes(X: Matrix) -> bool:
    """Return whether X has any missing value."""
    return X.dtype.kind == "f" and any(
        bool(np.isnan(X[part]).any()) for part in matrix.chunks(*X.shape)
    )
