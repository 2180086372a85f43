"""Classifiers of columns of categories that depend on each other: `TAN` and `AODE`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from genus.arrays.options import is_whole, number
from genus.estimators.categories import CategoryClassifier
from genus.estimators.discrete import MOST_PSEUDO_COUNT
from genus.families.aode import OneDependence
from genus.families.pair_tables import PairTables
from genus.families.tan import TreeAugmented
from genus.statistics import Array


class PairClassifier(CategoryClassifier):
    """A classifier that counts the values of each pair of columns by class."""

    alpha: float
    priors: Any
    _cut_into_bins = "a Discretizer before this classifier"

    def _pseudo_count(self) -> float:
        alpha = number("alpha", self.alpha, least=0, most=MOST_PSEUDO_COUNT)
        if alpha == 0:
            raise ValueError(
                "alpha must be above 0: many pairs of values do not occur, and without it "
                "their probability would be zero. Use a small number, such as alpha=0.01."
            )
        return alpha

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on Gaussian data, which these do not model
        return tags

    @property
    def _tables(self) -> PairTables:
        tables: PairTables = self._parameters
        return tables

    @property
    def categories_(self) -> list[NDArray[Any]]:
        """The values of each column."""
        return [np.array(values) for values in self._tables.keys]

    def pair_counts(self, one: Any, other: Any) -> Array:
        """Return the number of rows by class and values of two columns, (K, values, values).

        Columns are given by name or number; their values are in `categories_`.
        """
        check_is_fitted(self)
        tables = self._tables
        first, second = (
            slice(*tables.starts[j : j + 2]) for j in map(self._position, (one, other))
        )
        return np.array(tables.counts[:, first, second])

    def _position(self, column: Any) -> int:
        names = self._feature_names()
        if is_whole(column) and 0 <= column < len(names):
            return int(column)
        if column in names:
            return names.index(column)
        raise ValueError(
            f"There is no column {column!r}. Name one of {', '.join(map(repr, names[:10]))}, or "
            f"give its number, 0 to {len(names) - 1}."
        )


class AODE(PairClassifier):
    """Averaged one-dependence estimators: naive Bayes with a weaker assumption of independence.

    It averages one model of p(x|y) for each column. In the model for a column, all other columns
    depend on that column.

    Parameters
    ----------
    alpha : pseudo-count of each value, above 0.
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.

    Values are text or numbers. None, NaN and values that were never seen are missing: they are left
    out. To learn from measurements, cut them into bins with a `Discretizer` first.

    >>> X = [["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"]] * 5
    >>> y = ["same", "same", "other", "other"] * 5
    >>> AODE().fit(X, y).predict([["a", "a"], ["b", "a"]])
    array(['same', 'other'], dtype='<U5')
    """

    def __init__(self, *, alpha: float = 1.0, priors: Any = None) -> None:
        self.alpha = alpha
        self.priors = priors

    def _family(self) -> OneDependence:
        return OneDependence(self._pseudo_count())


class TAN(PairClassifier):
    """Tree-augmented naive Bayes: each column depends on the class and at most one other column.

    Of all trees of columns, it uses the one whose edges have the largest sum of mutual information
    given the class.

    Parameters
    ----------
    alpha : pseudo-count of each value, above 0.
    priors : p(y) in the order of the classes, or by class in a dictionary; None: shares of rows.
    penalty : None, "aic" or "bic". With a criterion, a column depends on another one only if the
        gain in log-likelihood exceeds the criterion's penalty for the additional parameters.

    Values are text or numbers. None, NaN and values that were never seen are missing: they are
    summed out. To learn from measurements, cut them into bins with a `Discretizer` first.

    >>> X = [["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"]] * 5
    >>> y = ["same", "same", "other", "other"] * 5
    >>> model = TAN().fit(X, y)
    >>> model.predict([["a", "a"], ["b", "a"]])
    array(['same', 'other'], dtype='<U5')
    >>> model.parents_
    array([-1,  0])
    """

    def __init__(
        self, *, alpha: float = 1.0, priors: Any = None, penalty: str | None = None
    ) -> None:
        self.alpha = alpha
        self.priors = priors
        self.penalty = penalty

    def _family(self) -> TreeAugmented:
        if self.penalty not in (None, "aic", "bic"):
            raise ValueError(f'penalty must be None, "aic" or "bic"; got {self.penalty!r}.')
        return TreeAugmented(self._pseudo_count(), self.penalty)

    @property
    def _tables(self) -> PairTables:
        tables: PairTables = self._parameters.tables
        return tables

    @property
    def parents_(self) -> NDArray[np.intp]:
        """The position of the column that each column depends on, (n,); -1 for a root."""
        return np.array(self._parameters.tree.parent)

    @property
    def information_(self) -> Array:
        """The mutual information of each pair of columns given the class, (n, n), in nats."""
        return np.array(self._parameters.tree.information)

    def edges(self) -> Sequence[tuple[str, str, float]]:
        """Return the tree's edges, from the root: parent, column and their mutual information."""
        check_is_fitted(self)
        names, tree = self._feature_names(), self._parameters.tree
        return [
            (str(names[tree.parent[j]]), str(names[j]), float(tree.information[tree.parent[j], j]))
            for j in tree.order
            if tree.parent[j] >= 0
        ]

    def to_networkx(self) -> Any:
        """Return the tree as a networkx.DiGraph, from parents to columns.

        Each edge has its `information`, in nats.
        """
        check_is_fitted(self)
        try:
            networkx = import_module("networkx")
        except ImportError:
            raise ImportError(
                "to_networkx() needs networkx: pip install networkx. edges() lists the same tree."
            ) from None
        graph = networkx.DiGraph()
        graph.add_nodes_from(map(str, self._feature_names()))
        graph.add_edges_from((a, b, {"information": nats}) for a, b, nats in self.edges())
        return graph
