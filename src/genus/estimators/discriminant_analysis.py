"""Discriminant analysis with scikit-learn's parameters and attributes, based on `GDA`.

Symbols: K classes, n columns, r a point that is subtracted from x and the means.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from genus.arrays.matrix import dense_rows
from genus.arrays.options import by_class, flag, number, numbers, whole
from genus.estimators.core import attributes
from genus.estimators.discriminative import scikit_learn_form
from genus.estimators.gaussian import GDA
from genus.families import Gaussian
from genus.families.gaussian.family import scatter_of, within
from genus.solve.normal import LOG_2π
from genus.solve.priors import Priors
from genus.solve.shrinkage import shrink
from genus.statistics import Array, Moments, Points


class DiscriminantAnalysis(GDA):
    """The base of both classifiers: it checks the options that they share."""

    diagonal, unbiased, rank = False, False, None

    solver: str
    covariance_estimator: Any
    store_covariance: bool
    tol: float

    _solvers: tuple[str, ...] = ()

    def _checked_shrinkage(self) -> Any:
        """Return the rule or number of `shrinkage`; raise an error where scikit-learn does."""
        if self.solver not in self._solvers:
            known = ", ".join(map(repr, self._solvers))
            raise ValueError(f"solver must be one of {known}; got {self.solver!r}.")
        flag("store_covariance", self.store_covariance)
        number("tol", self.tol, least=0)
        shrinkage, estimator = self.shrinkage, self.covariance_estimator
        is_number = shrinkage is not None and not isinstance(shrinkage, str | bool | np.bool_)
        if is_number:
            shrinkage = number("shrinkage", shrinkage, least=0, most=1)
        elif shrinkage not in (None, "auto"):
            raise ValueError(
                'shrinkage must be None, a number from 0 to 1 or "auto" (the rule of Ledoit and '
                f"Wolf); got {shrinkage!r}."
            )
        if self.solver == "svd" and shrinkage is not None:
            raise NotImplementedError(
                "shrinkage not supported with 'svd' solver. Use another, such as solver='eigen'."
            )
        if estimator is None:
            return "ledoit-wolf" if shrinkage == "auto" else shrinkage or None
        if self.solver == "svd":
            raise ValueError(
                "covariance estimator is not supported with svd solver: covariance_estimator is "
                "not supported with solver='svd'. Try another solver, such as solver='eigen'."
            )
        if not hasattr(estimator, "fit"):
            raise ValueError(
                f"covariance_estimator needs a method fit, as in sklearn.covariance; got "
                f"{estimator!r}."
            )
        if shrinkage is not None and shrinkage != 0:
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two "
                "can be set."
            )
        return None

    def _priors(self) -> Priors:
        given = by_class(self.priors)
        if given is not None:
            values = numbers("priors", list(given.values()) if isinstance(given, dict) else given)
            if (values < 0).any():
                raise ValueError(f"priors must be non-negative; got {values.min():g}.")
        return super()._priors()


class LinearDiscriminantAnalysis(DiscriminantAnalysis):
    """Linear discriminant analysis with scikit-learn's parameters: `GDA(shared=True)`.

    Parameters
    ----------
    solver : the scikit-learn solver to reproduce. "lsqr" and "eigen" weight the covariances of the
        classes by `priors`, "svd" weights them by the rows. "lsqr" has no `transform`; the
        `transform` of "eigen" does not subtract the mean.
    shrinkage : None, a number from 0 to 1, or "auto" (Ledoit and Wolf's); with "svd" only None.
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.
    n_components : the number of discriminant axes of `transform`.
    store_covariance : whether "svd" has a `covariance_`, too.
    tol : with "svd", drop axes along which the means differ by at most this share of the largest
        difference; not used by the other solvers.
    covariance_estimator : estimates the covariance of each class from its rows, instead of
        `shrinkage`. With it the model keeps its rows.

    If the covariance has no inverse, the results are those of `GDA` and not scikit-learn's.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LinearDiscriminantAnalysis().fit(X, y).score(X, y), 3)
    0.98
    """

    shared, singular = True, "shrink"
    _solvers = ("svd", "lsqr", "eigen")

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: float | str | None = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _family(self) -> Gaussian:
        shrinkage = self._checked_shrinkage()
        if self.n_components is not None:
            whole("n_components", self.n_components, least=1)
        estimates = self.covariance_estimator is not None
        by_prior = self.priors is not None or isinstance(shrinkage, str) or estimates
        way = "another `covariance_estimator`" if estimates else "`solver='lsqr'` with `shrinkage`"
        return Gaussian(
            shrinkage=shrinkage,
            singular=self.singular,
            averaged=self._priors() if by_prior and self.solver != "svd" else None,
            estimator=self.covariance_estimator,
            remedy=f"Leave out columns that repeat others, or use {way}.",
        )

    @property
    def _least_root(self) -> float:  # type: ignore[override]
        return float(self._option("tol"))

    @property
    def covariance_(self) -> Array:
        """Σ (n, n); with solver="svd", only if `store_covariance` is True."""
        if self._option("solver") == "svd" and not self._option("store_covariance"):
            raise AttributeError("With solver='svd', covariance_ needs store_covariance=True.")
        return super().covariance_

    @property
    def xbar_(self) -> Array:
        """The average of the class means, weighted by `priors_`, (n,); only with solver="svd"."""
        self._has_axes("svd")
        return super().xbar_

    @property
    def scalings_(self) -> Array:
        """The discriminant axes, (n, axes); with solver="eigen" all of them, (n, n)."""
        self._has_axes("svd", "eigen")
        return self._eigen()[1] if self._option("solver") == "eigen" else super().scalings_

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of the variance between classes that each axis explains, (components,)."""
        self._has_axes("svd", "eigen")
        if self._option("solver") == "eigen":
            values = self._eigen()[0]
            return np.sort(values / values.sum())[::-1][: self._components]
        return super().explained_variance_ratio_

    def transform(self, X: Any) -> Array:
        """Project X onto the axes that separate the classes most, (m, components)."""
        if self._option("solver") == "lsqr":
            raise NotImplementedError(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )
        if self._option("solver") == "svd":
            return super().transform(X)
        return self._project(X, 0.0, self.scalings_)

    def decision_function(self, X: Any) -> Array:
        """Return θ x + b, (m, K); for two classes the log-odds, (m,)."""
        decided = super().decision_function(X)
        if decided.ndim == 1:
            return decided
        # Taken about r instead of c, all scores increase by -(x - (r + c)/2)ᵀ Σ⁻¹ (r - c).
        parameters, reference = self._parameters, self._reference()
        slope = parameters.factors[0].solve((reference - parameters.centre)[None])[0]
        middle = (reference + parameters.centre) / 2
        shift = self._score(X, lambda _, X: (dense_rows(X) - middle) @ slope)
        return decided - np.where(np.isnan(shift), 0.0, shift)[:, None]

    def _reference(self) -> Array:
        """Return the point r: with solver="svd" the mean of the classes, otherwise zero."""
        if self._option("solver") == "svd":
            return self.xbar_
        return np.zeros(self.n_features_in_)

    def _linear(self) -> tuple[Array, Array]:
        with attributes():
            parameters, reference = self._parameters, self._reference()
            offset = parameters.mean - reference
            slope = parameters.factors[0].solve(offset)
            constant = -0.5 * np.einsum("kj,kj->k", slope, offset) - slope @ reference
            return scikit_learn_form(slope, constant + self.model_.log_prior)

    def _eigen(self) -> tuple[Array, Array]:
        """Solve Σ_between a = λ Σ a; return λ (n,), descending, and the axes a, columns of (n, n).

        Σ_between is the covariance of all rows minus Σ.
        """
        model = self._fitted()
        family: Any = model.family
        everything = as_one_class(model.statistics)
        total = within(everything, scatter_of(everything), 0, float(everything.weights.sum()))
        if self._option("covariance_estimator") is not None:
            alone = replace(family, shared=False, averaged=None)
            total = alone.solve(everything, everything.classes, model.width).covariances[0]
        total, _ = shrink(total, everything, 0, family.shrinkage)
        inner = self._parameters.covariances[0].matrix
        values, vectors = eigh(total.matrix - inner, inner)
        return values[::-1], vectors[:, ::-1]

    def _has_axes(self, *solvers: str) -> None:
        if self._option("solver") not in solvers:
            raise AttributeError(
                f"This attribute exists only with solver={' or '.join(map(repr, solvers))}."
            )

    @property
    def _n_features_out(self) -> int:
        return self._components


class QuadraticDiscriminantAnalysis(DiscriminantAnalysis):
    """Quadratic discriminant analysis with scikit-learn's parameters: `GDA(shared=False)`.

    Parameters
    ----------
    solver : the scikit-learn solver to reproduce: "svd" takes `reg_param`, "eigen" takes
        `shrinkage` and `covariance_estimator`.
    shrinkage : None, a number from 0 to 1, or "auto" (Ledoit and Wolf's); with "svd" only None.
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.
    reg_param : shrinks each covariance towards the identity, from 0 to 1.
    store_covariance : whether there is a `covariance_`.
    tol : accepted for compatibility and not used: singularity does not depend on units here.
    covariance_estimator : estimates the covariance of each class from its rows, in place of
        `shrinkage`. With it the model keeps its rows.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(QuadraticDiscriminantAnalysis().fit(X, y).score(X, y), 3)
    0.98
    """

    shared, singular, n_components = False, "error", None
    _solvers = ("svd", "eigen")

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: float | str | None = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _family(self) -> Gaussian:
        shrinkage = self._checked_shrinkage()
        share = number("reg_param", self.reg_param, least=0, most=1)
        ways = "increase the value of `reg_param`, or try using `solver='eigen'` and setting the "
        ways += "parameter `shrinkage` for regularization"
        if self.solver == "eigen":
            ways = "increase the value of `shrinkage`"
        if self.covariance_estimator is not None:
            ways = "use another `covariance_estimator`"
        elif self.solver == "svd" and share:
            shrinkage = share
        return Gaussian(
            shared=False,
            shrinkage=shrinkage,
            identity=self.solver == "svd" and share > 0,
            estimator=self.covariance_estimator,
            remedy=f"{ways[0].upper()}{ways[1:]}.",
        )

    @property
    def covariance_(self) -> list[Array]:  # type: ignore[override]
        """Σ of each class, a list of K arrays (n, n); only if `store_covariance` is True."""
        if not self._option("store_covariance"):
            raise AttributeError("covariance_ needs store_covariance=True.")
        return list(super().covariance_)

    @property
    def rotations_(self) -> list[Array]:
        """The principal axes of each class, the columns of K arrays (n, n)."""
        return [vectors for _, vectors in self._principal()]

    @property
    def scalings_(self) -> list[Array]:  # type: ignore[override]
        """The variances along the principal axes of each class, K arrays (n,)."""
        return [values for values, _ in self._principal()]

    def _principal(self) -> list[tuple[Array, Array]]:
        found = []
        for covariance in self._parameters.covariances:
            values, vectors = np.linalg.eigh(covariance.matrix)
            found.append((values[::-1], vectors[:, ::-1]))
        return found

    def decision_function(self, X: Any) -> Array:
        """Return log p(x, y) + n/2 log 2π, (m, K); for two classes the log-odds, (m,)."""
        decided = super().decision_function(X)
        return decided if decided.ndim == 1 else decided + self.n_features_in_ / 2 * LOG_2π


def as_one_class(statistics: Moments | Points) -> Any:
    """Return the statistics of all rows as if all of them were of one class."""
    axis: NDArray[Any] = np.zeros(1, dtype=np.int64)
    if isinstance(statistics, Points):
        return replace(statistics, classes=axis, codes=np.zeros_like(statistics.codes))
    weights = statistics.weights
    centre = (weights * statistics.mean()).sum(axis=0) / weights.sum()
    about = statistics.about(np.broadcast_to(centre, statistics.origin.shape).copy())

    def summed(values: Array | None) -> Array | None:
        return None if values is None else values.sum(axis=0, keepdims=True)

    pooled = statistics.structure == "pooled"
    squares = about.squares[None] if pooled else about.squares.sum(axis=0, keepdims=True)
    sums = about.weights.sum(axis=0, keepdims=True), about.sums.sum(axis=0, keepdims=True), squares
    return Moments.counted(
        "separate", axis, centre[None], *sums, summed(about.third), summed(about.fourth)
    )
