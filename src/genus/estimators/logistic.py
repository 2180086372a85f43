"""The logistic or softmax form of classifiers whose log-odds are linear in x."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from genus.estimators.core import attributes
from genus.estimators.discriminative import scikit_learn_form, softmax_weights, to_logistic
from genus.statistics import Array

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression


def is_linear(estimator: Any) -> bool:
    """Return True if log-odds are linear in x; if not, raise an AttributeError with the reason."""
    return bool(estimator._is_linear())


class LogisticForm:
    """θ and b of softmax(θ x + b), with scikit-learn's names."""

    def _is_linear(self) -> bool:
        return True

    @available_if(is_linear)  # type: ignore[untyped-decorator]
    def to_logistic(self) -> LogisticRegression:
        """Return a fitted scikit-learn LogisticRegression with the same p(y|x).

        For BernoulliNB, and for the event models "boolean" and "bernoulli" of texts, the regression
        expects columns of 0 and 1. `vectorize` returns counts, so convert these first.
        """
        check_is_fitted(self)
        return to_logistic(self.model_, getattr(self, "feature_names_in_", None))  # type: ignore[attr-defined]

    @property
    def coef_(self) -> Array:
        """θ of the logistic form: (1, n) for two classes, else (K, n)."""
        return self._linear()[0]

    @property
    def intercept_(self) -> Array:
        """The constant of the logistic form: (1,) for two classes, else (K,)."""
        return self._linear()[1]

    def _linear(self) -> tuple[Array, Array]:
        self._is_linear()
        with attributes():
            return scikit_learn_form(*softmax_weights(self._fitted()))  # type: ignore[attr-defined]
