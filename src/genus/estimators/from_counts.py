"""Make fitted classifiers from sums that another program has computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from genus.arrays import labels
from genus.estimators.base import GenerativeClassifier
from genus.estimators.columns import MIXED, NUMBERS, TEXT
from genus.estimators.count_tables import Rows, categories_of, words_of
from genus.estimators.grouped import of_rows
from genus.estimators.inputs import refuse_missing_labels
from genus.estimators.number_sums import statistics_of
from genus.estimators.one_dependence import PairClassifier

Classifier = TypeVar("Classifier", bound=GenerativeClassifier)


def from_counts(
    classifier: Classifier,
    counts: Any = None,
    *,
    rows: Any,
    sums: Any = None,
    squares: Any = None,
    origin: Any = None,
    missing: Any = None,
    columns: Sequence[str] | None = None,
) -> Classifier:
    """Return a classifier fitted to sums; it equals the one that `fit` would make from the rows.

    Parameters
    ----------
    classifier : a classifier with the options to use; it is not changed.
    counts : for CategoricalNB, how often each value occurs: {column: {value: {class: count}}}, or
        a table with the columns "column", "value", "class" and "count". For TextClassifier, a table
        with the columns "word", "class", "occurrences" and "documents". Repeated lines are added.
    rows : the number of rows, or texts, by class: a dictionary or a pandas Series. All arrays
        below have the classes in this order. For weighted rows it is the sum of the weights.
    sums : Σz by class and column, (K, n), an array or a data frame, where z = x - origin. For
        BernoulliNB, the number of rows in which a column is above `binarize`.
    squares : for GaussianNB and GDA(diagonal=True), Σz² by class and column, (K, n). For GDA, Σzzᵀ
        by class, (K, n, n); for one covariance of all classes, their sum, (n, n), is enough.
    origin : what was subtracted from x: a number, one for each column (n,), or one for each class
        and column (K, n); 0 by default. Squares about a point near the means are more accurate.
    missing : the number of missing values by class and column, (K, n). For a full covariance, the
        number of incomplete rows of each class, (K,): include these in `rows` but in no other sum.
    columns : names of the columns, if `sums` is an array.

    Models that keep a sample of rows cannot be made from sums: TableClassifier, GDA("auto"), and
    TextClassifier with event_model="auto" or calibrate=True. Nor can GammaNB, TAN, AODE,
    CategoricalNB(bins=…), or discriminant analysis with a `covariance_estimator` or the shrinkage
    of Ledoit and Wolf.

    >>> from genus import PoissonNB
    >>> calls = from_counts(PoissonNB(), rows={"night": 2, "day": 2}, sums=[[1], [16]])
    >>> calls.predict([[2], [6]])
    array(['night', 'day'], dtype='<U5')
    """
    refuse_others(classifier)
    own = rows_by_class(rows)
    fitted = clone(classifier)
    numbers = {
        "sums": sums,
        "squares": squares,
        "origin": origin,
        "missing": missing,
        "columns": columns,
    }
    if classifier._reads == NUMBERS:
        refuse_given(classifier, "sums", sums, {"counts": counts})
        statistics = statistics_of(fitted, own, **numbers)
    else:
        refuse_given(classifier, "counts", counts, numbers)
        read = words_of if classifier._reads == TEXT else categories_of
        statistics = read(fitted, own, counts)
    model = of_rows(fitted, own.classes, own.weights, statistics)
    _ = model.prior  # raises an error if priors do not match the classes
    fitted._keep(model)
    return fitted


def refuse_others(classifier: Any) -> None:
    """Raise an error unless the classifier can be made from sums."""
    if not isinstance(classifier, GenerativeClassifier):
        raise TypeError(f"classifier must be from genus, such as GaussianNB(); got {classifier!r}.")
    name = type(classifier).__name__
    if classifier._reads == MIXED or getattr(classifier, "_chooses", False):
        options = "" if classifier._reads == MIXED else ' with event_model="auto" or calibrate=True'
        raise ValueError(
            f"{name}{options} cannot be made from sums: it learns weights from a sample of rows. "
            "Use fit; for texts, name an event model and use calibrate=False."
        )
    if isinstance(classifier, PairClassifier):
        raise ValueError(f"{name} cannot be made from sums: it counts pairs of columns. Use fit.")
    if getattr(classifier, "bins", None) is not None:
        raise ValueError(
            f"{name} with bins cannot be made from sums: it counts numbers in the cells of a grid. "
            "Use fit, or cut the numbers into bins yourself and count the bins as categories."
        )


def refuse_given(classifier: Any, needed: str, given: Any, others: dict[str, Any]) -> None:
    """Raise an error if the `needed` sums are not given, or if one of the `others` is given."""
    name = type(classifier).__name__
    odd = [other for other, value in others.items() if value is not None]
    if odd:
        raise ValueError(f"{name} needs {needed}= and rows=, not {odd[0]}=. Leave it out.")
    if given is None:
        raise ValueError(f"{name} needs {needed}= and rows=. Give {needed}, too.")


def rows_by_class(rows: Any) -> Rows:
    """Return the number of rows of each class; raise an error if they are invalid."""
    if not hasattr(rows, "items"):
        raise ValueError(
            "rows must give the number of rows by class, such as {'no': 120, 'yes': 80}; "
            f"got {str(rows)[:60]!r}."
        )
    pairs = list(rows.items())
    if not pairs:
        raise ValueError("rows is empty. Give the number of rows of each class.")
    named = np.asarray(refuse_missing_labels([label for label, _ in pairs]))
    classes, codes = labels.factorize(named)
    if len(classes) < len(codes):
        twice = named[np.flatnonzero(np.bincount(codes)[codes] > 1)[0]]
        raise ValueError(f"rows= has class {labels.show(twice)} twice. Add the two up.")
    try:
        weights = np.array([float(count) for _, count in pairs])
    except (TypeError, ValueError):
        raise ValueError(f"rows must hold numbers by class; got {str(rows)[:60]!r}.") from None
    for label, weight in zip(named, weights, strict=True):
        if not 0 <= weight < np.inf:
            raise ValueError(
                f"rows has {weight:g} for class {labels.show(label)}. A class has 0 rows or more."
            )
    if not weights.any():
        raise ValueError("rows is 0 for every class. There is nothing to learn from.")
    order = np.argsort(codes)
    return Rows(classes, weights[order], order)
