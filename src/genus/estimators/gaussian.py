"""Gaussian discriminant analysis, and Gaussian naive Bayes as its separate diagonal case."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from genus.arrays.matrix import dense_rows, refuse_infinite
from genus.arrays.options import flag, number, warn, whole
from genus.estimators.base import GenerativeClassifier
from genus.estimators.inputs import check_priors
from genus.estimators.logistic import LogisticForm
from genus.families import Gaussian
from genus.families.gaussian.choosing import sample_size
from genus.families.gaussian.scores import DiagonalParameters
from genus.model import Model
from genus.solve.covariance import Rows, average
from genus.solve.discriminant_axes import white_axes
from genus.solve.normal import SingularCovarianceWarning
from genus.solve.priors import Priors
from genus.solve.structures import CODES
from genus.statistics import Array


class GDA(
    LogisticForm,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    GenerativeClassifier,
):
    """Gaussian discriminant analysis: x|y ~ N(μ_y, Σ), with Σ shared or separate, full or diagonal.

    Parameters
    ----------
    shared : True for one Σ of all classes (linear boundary), False for one of each (quadratic). A
        number between 0 and 1 mixes both: each class has its own Σ, with this share of the pooled Σ
        (regularised discriminant analysis; Friedman 1989). "auto" chooses the share, whether Σ is
        diagonal, and the shrinkage, by leave-one-out scores; `diagonal=True` and a number as
        `shrinkage` stay as they are. The choice is in `shared_`, `diagonal_` and `shrinkage_`.
        For this the model keeps up to 4,096 rows. A code of three letters says whether volume,
        shape and orientation of the classes' Σ are equal (E), vary (V) or are those of the identity
        (I), as in R's mclust: "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE",
        "EEV", "VEV", "EVV" or "VVV" (Celeux and Govaert 1995).
    diagonal : whether Σ has only variances and no covariances.
    shrinkage : None, a number from 0 to 1, "oas" or "ledoit-wolf".
    unbiased : divide by m - K (shared) or m_k - 1 (separate), as R's MASS does, instead of m, m_k.
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.
    n_components : the number of discriminant axes of `transform`.
    rank : None, or the number of discriminant axes along which the class means differ, with one Σ
        for all classes. Predictions then use these axes only, as predict(…, dimen=) of R's MASS
        does (reduced-rank discriminant analysis; Hastie and Tibshirani 1996).
    singular : what to do if a shared, full Σ has no inverse. "shrink" ignores columns that are the
        same in all rows, and otherwise shrinks like shrinkage="oas", with a
        `SingularCovarianceWarning`; `shrinkage_` is the amount. "error" raises an error.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GDA().fit(X, y).score(X, y), 3)
    0.98
    """

    def __init__(
        self,
        shared: bool | float | str = True,
        diagonal: bool = False,
        shrinkage: float | str | None = None,
        unbiased: bool = False,
        priors: Any = None,
        *,
        n_components: int | None = None,
        singular: str = "shrink",
        rank: int | None = None,
    ) -> None:
        self.shared = shared
        self.diagonal = diagonal
        self.shrinkage = shrinkage
        self.unbiased = unbiased
        self.priors = priors
        self.n_components = n_components
        self.singular = singular
        self.rank = rank

    def _family(self) -> Gaussian:
        shrinkage = self.shrinkage
        if isinstance(shrinkage, str):
            if shrinkage not in ("oas", "ledoit-wolf"):
                hint = (
                    ' (scikit-learn\'s "auto" is "ledoit-wolf" here)' if shrinkage == "auto" else ""
                )
                raise ValueError(
                    'shrinkage must be None, a number from 0 to 1, "oas" or "ledoit-wolf"; got '
                    f"{shrinkage!r}{hint}."
                )
        elif isinstance(shrinkage, bool | np.bool_):
            raise ValueError(
                f"shrinkage must be a number from 0 to 1 or the name of a rule; got {shrinkage!r}."
            )
        elif shrinkage is not None:
            shrinkage = number("shrinkage", shrinkage, least=0, most=1)
        share: Any = self.shared
        automatic = isinstance(share, str) and share == "auto"
        if automatic and isinstance(shrinkage, str):
            raise ValueError(
                'shared="auto" chooses the shrinkage itself, or takes a number from 0 to 1; got '
                f"shrinkage={shrinkage!r}."
            )
        if isinstance(share, str) and not automatic:
            return self._structured(share)
        if not isinstance(share, bool | np.bool_ | str):
            share = number("shared", share, least=0, most=1)
        for name in ("diagonal", "unbiased"):
            flag(name, getattr(self, name))
        for name in ("n_components", "rank"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least=1)
        if self.rank is not None and (automatic or share != 1):
            raise ValueError(
                f"rank={self.rank} needs one covariance for all classes, shared=True; got "
                f"shared={self.shared!r}."
            )
        if shrinkage is not None and self.diagonal:
            raise ValueError("diagonal=True leaves no covariances to shrink; use shrinkage=None.")
        if self.singular not in ("shrink", "error"):
            raise ValueError(f'singular must be "shrink" or "error"; got {self.singular!r}.')
        if automatic:
            return Gaussian(
                False,
                bool(self.diagonal),
                shrinkage,
                bool(self.unbiased),
                automatic=True,
                kept_rows=sample_size(self.n_features_in_),
            )
        return Gaussian(
            share == 1,
            bool(self.diagonal),
            shrinkage or None,
            bool(self.unbiased),
            singular=str(self.singular),
            pooled=float(share) if 0 < share < 1 else 0.0,
            rank=self.rank,
            between=self._priors() if self.rank is not None else Priors(),
        )

    def _structured(self, code: str) -> Gaussian:
        if code not in CODES:
            known = ", ".join(CODES)
            raise ValueError(
                f'shared must be True, False, a number, "auto" or one of the codes {known}; got '
                f"{code!r}."
            )
        for name in ("diagonal", "unbiased", "shrinkage", "rank"):
            if getattr(self, name):
                raise ValueError(
                    f"shared={code!r} already defines the covariances, so {name} cannot be used; "
                    f"got {name}={getattr(self, name)!r}."
                )
        remedy = (
            "Use a code that shares more between classes, leave out columns that repeat others, or "
        )
        remedy += "use shared=0.5."
        return Gaussian(False, code=code, remedy=remedy)

    def _priors(self) -> Priors:
        return Priors(check_priors(self.priors, normalise=True))

    def _refuse_unsolved(self, model: Model) -> None:
        if len(model.classes) == 1:  # no axes, and nothing to tell apart
            return
        most = min(self.n_features_in_, len(model.classes) - 1)
        for name in ("n_components", "rank"):
            given = getattr(self, name)
            if given is not None and given > most:
                raise ValueError(
                    f"{name} cannot be larger than min(n_features, n_classes - 1), which is "
                    f"{most}; got {given}."
                )

    def _solve(self, model: Model) -> None:
        super()._solve(model)
        avoided = getattr(model.parameters, "singular", None)
        if avoided is not None:
            told, γ = self._with_names(avoided), float(model.parameters.shrinkage)
            told += f' The matrix was shrunk by {γ:.2g}, as GDA(shrinkage="oas") does'
            way = '; singular="error" makes this an error.'
            is_option = "singular" in self._get_param_names()
            warn(SingularCovarianceWarning(told + (way if is_option else "."), γ))

    def _score(self, X: Any, score: Any) -> Any:
        # After partial_fit nothing is solved yet, so no warning was given.
        if self.__sklearn_is_fitted__() and "parameters" not in vars(self.model_):
            self._solve(self.model_)
        return super()._score(X, score)

    # Densities

    @property
    def means_(self) -> Array:
        """Class means, (K, n)."""
        return self._parameters.mean

    @property
    def covariance_(self) -> Array:
        """Σ (n, n) if shared, else one for each class (K, n, n)."""
        parameters = self._parameters
        if isinstance(parameters, DiagonalParameters):
            full = np.einsum("kj,jl->kjl", parameters.variance, np.eye(self.n_features_in_))
            return full[0] if self.shared_ == 1 else full
        return parameters.covariance

    @property
    def priors_(self) -> Array:
        """p(y), (K,)."""
        return self._fitted().prior

    @property
    def shared_(self) -> Any:
        """The share of the pooled scatter in each class's Σ, as given or chosen."""
        form, given = self._form, self._option("shared")
        if form is not None:
            return form.shared
        return self._parameters.is_shared if isinstance(given, str) else given

    @property
    def diagonal_(self) -> bool:
        """Whether Σ is diagonal, as given or chosen."""
        form, given = self._form, self._option("shared")
        if form is not None:
            return bool(form.diagonal)
        return bool(self._option("diagonal")) or (str(given) in CODES and str(given)[2] == "I")

    @property
    def _form(self) -> Any:
        """The chosen form of Σ, or None."""
        self._fitted()
        return self._parameters.form if str(self._option("shared")) == "auto" else None

    @property
    def shrinkage_(self) -> Any:
        """The shrinkage that was used: one number, or one for each class."""
        return getattr(self._parameters, "shrinkage", np.zeros(()))[()]

    # The logistic form

    def _is_linear(self) -> bool:
        if self.shared_ != 1:
            raise AttributeError(
                f"With shared={self.shared_}, log p(y|x) is quadratic in x; this attribute needs "
                "shared=True."
            )
        return True

    def decision_function(self, X: Any) -> Array:
        """Return log p(x, y), (m, K), up to a term that is the same for all classes.

        For two classes, return the log-odds of the second class, (m,).
        """
        joint = self._score(X, lambda model, X: model.log_joint(X, relative=True))
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    # Discriminant axes

    def transform(self, X: Any) -> Array:
        """Project X onto the axes that separate the classes most, (m, components)."""
        check_is_fitted(self)
        return self._project(X, self.xbar_, self._axes()[1])

    def _project(self, X: Any, origin: Any, axes: Array) -> Array:
        check_is_fitted(self)
        with self._named_errors():
            X, _ = self._as_matrix(X, reset=False)
            refuse_infinite(X)
        return (dense_rows(X) - origin) @ axes[:, : self._components]

    @property
    def xbar_(self) -> Array:
        """The average of the class means, weighted by `priors_`, (n,)."""
        return self.priors_ @ self.means_

    @property
    def scalings_(self) -> Array:
        """The discriminant axes, (n, axes); the within-class covariance along them is I."""
        return self._axes()[1]

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of the variance between classes that each axis explains, (components,)."""
        values = self._axes()[0]
        return (values / values.sum())[: self._components]

    def _axes(self) -> tuple[Array, Array]:
        """Solve Σ_between a = λ Σ a; return the largest λ, descending, and the axes a, (n, axes).

        The axes, at most min(K - 1, n), are the left singular vectors of the whitened class means,
        transformed back. Separate covariances are averaged, weighted by the priors of the classes.
        """
        parameters = self._parameters
        if isinstance(parameters, DiagonalParameters):
            within = Rows(np.zeros((0, self.n_features_in_)), self.priors_ @ parameters.variance)
            factor: Any = within.factor()
        elif parameters.is_shared:
            factor = parameters.factors[0]
        else:
            factor = average(parameters.covariances, self.priors_).factor()
        vectors, roots = white_axes(self.means_, self.priors_, factor)
        most = self._most_components
        kept = roots[:most] > self._least_root * roots.max(initial=0.0)
        axes = factor.unwhiten(vectors[:, :most][:, kept]).T
        return roots[:most][kept] ** 2, axes

    _least_root = 1e-4  # smallest singular value of an axis, as a share of the largest

    @property
    def _most_components(self) -> int:
        return min(len(self.classes_) - 1, self.n_features_in_)

    @property
    def _components(self) -> int:
        chosen = self._option("n_components")
        return self._most_components if chosen is None else int(chosen)

    @property
    def _n_features_out(self) -> int:
        return int(self._axes()[1][:, : self._components].shape[1])


class GaussianNB(GenerativeClassifier):
    """Gaussian naive Bayes: a mean and a variance for each class and column.

    Parameters
    ----------
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.
    var_smoothing : each variance is at least this share of its column's variance within classes.
        Each column has its own floor, so columns of large scale do not affect others. The floor
        is not part of the statistics, so `partial_fit` in pieces equals `fit`. Variances above
        the floor are those of maximum likelihood.
    unbiased : divide by m_k - 1 instead of m_k.
    smoothing : "floor", as above, or "add": every variance is increased by `var_smoothing` times
        the largest variance of any column over all rows. GaussianNB(smoothing="add",
        var_smoothing=1e-9) gives the numbers of scikit-learn's GaussianNB().

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(GaussianNB().fit(X, y).score(X, y), 3)
    0.96
    """

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-3,
        unbiased: bool = False,
        smoothing: str = "floor",
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.unbiased = unbiased
        self.smoothing = smoothing

    def _family(self) -> Gaussian:
        flag("unbiased", self.unbiased)
        if self.smoothing not in ("floor", "add"):
            raise ValueError(f'smoothing must be "floor" or "add"; got {self.smoothing!r}.')
        return Gaussian(
            shared=False,
            diagonal=True,
            unbiased=bool(self.unbiased),
            floor=number("var_smoothing", self.var_smoothing, least=0),
            added=self.smoothing == "add",
        )

    @property
    def theta_(self) -> Array:
        """Class means, (K, n)."""
        return self._parameters.mean

    @property
    def var_(self) -> Array:
        """Class variances, (K, n), at least the floor."""
        return self._parameters.variance

    @property
    def epsilon_(self) -> Any:
        """The floor of each column's variances, (n,), or the number added to every variance."""
        floor = self._parameters.floor
        return float(floor[0]) if self._option("smoothing") == "add" else floor

    @property
    def class_prior_(self) -> Array:
        """p(y), (K,)."""
        return self._fitted().prior
