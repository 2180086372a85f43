"""Cut numbers into bins, for categorical naive Bayes or other uses."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from genus.arrays import labels
from genus.arrays.options import number, whole
from genus.estimators.inputs import refuse_missing_labels, table_of_numbers, validated
from genus.families import Categorical
from genus.solve.grid import Bins, check_edges
from genus.statistics import Array

MOST_BINS = 1 << 16
STRATEGIES = ("mdlp", "quantile", "uniform")


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that replaces each number by the number of its bin: 1, 2, …

    Parameters
    ----------
    strategy : "mdlp" cuts where the classes change, by Fayyad and Irani's minimum description
        length (needs y); "quantile" makes equally full bins; "uniform" makes equally wide bins.
        Cuts are found on a fine grid, to 0.05 % of a number.
    n_bins : the number of bins of "quantile" and "uniform".
    edges : the inner edges themselves, ascending: one list for all columns, or one for each.
        A number equal to an edge belongs to the bin above.
    origin : numbers are distinguished to 0.05 % of their distance from here. If all numbers are
        far from 0, give one near them, such as 1.7e9 for recent times in seconds.

    In `CategoricalNB(bins=Discretizer(…))` the bins are part of the model: they are chosen again
    when rows are added or forgotten, and within each fold of a cross-validation.

    >>> living_area = Discretizer(edges=[400, 800, 1200, 1600])
    >>> living_area.fit_transform([[890], [350], [1600]]).ravel()
    array([3, 1, 5])
    """

    def __init__(
        self,
        strategy: str = "mdlp",
        *,
        n_bins: int = 10,
        edges: Any = None,
        origin: float = 0.0,
    ) -> None:
        self.strategy = strategy
        self.n_bins = n_bins
        self.edges = edges
        self.origin = origin

    def _bins(self) -> Bins:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {STRATEGIES}; got {self.strategy!r}.")
        n_bins = whole("n_bins", self.n_bins, least=2, most=MOST_BINS)
        origin = number("origin", self.origin)
        edges = None if self.edges is None else check_edges(self.edges)
        return Bins(self.strategy, n_bins, edges, origin)

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Find the edges of bins for X (m, n); "mdlp" needs the labels y (m,)."""
        bins = self._bins()
        if bins.edges is None and bins.strategy == "mdlp" and y is None:
            raise ValueError(
                'Discretizer with strategy="mdlp" requires y to be passed, but the target y is '
                'None: it cuts where the classes change. Give y, or use "quantile" or "uniform".'
            )
        X = table_of_numbers(X)
        if y is None:
            X = validated(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
            codes, classes = np.zeros(len(X), dtype=np.int64), np.zeros(1)
        else:
            y = refuse_missing_labels(y)
            X, y = validated(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
            check_classification_targets(y)
            classes, codes = labels.factorize(np.asarray(y))
        bins.check_columns(X.shape[1])
        family = Categorical(bins=bins)
        tally = family.count(X, codes, classes, None)
        parameters = family.solve(tally, classes, X.shape[1])
        self._fitted_bins = bins
        self._edges = [np.asarray(column.edges) for column in parameters.columns]
        self.bin_edges_: list[Array] = [edges + bins.shift for edges in self._edges]
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the number of each value's bin, from 1; NaN where X is NaN."""
        check_is_fitted(self)
        X = table_of_numbers(X)
        X = validated(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        bins = self._fitted_bins
        out = np.empty(X.shape)
        for j, edges in enumerate(self._edges):
            out[:, j] = np.where(np.isnan(X[:, j]), np.nan, bins.assign(X[:, j], edges) + 1)
        return out if np.isnan(out).any() else out.astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        tags.target_tags.required = self.edges is None and self.strategy == "mdlp"
        return tags
