"""List the names of classifiers and column families, and the modules that define them.

This module imports nothing large, so that the command line can list the names quickly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ESTIMATORS = {
    "GDA": "genus.estimators.gaussian",
    "GaussianNB": "genus.estimators.gaussian",
    "LinearDiscriminantAnalysis": "genus.estimators.discriminant_analysis",
    "QuadraticDiscriminantAnalysis": "genus.estimators.discriminant_analysis",
    "BernoulliNB": "genus.estimators.bernoulli",
    "CategoricalNB": "genus.estimators.categorical",
    "NearestShrunkenCentroids": "genus.estimators.centroids",
    "TAN": "genus.estimators.one_dependence",
    "AODE": "genus.estimators.one_dependence",
    "MultinomialNB": "genus.estimators.multinomial",
    "ComplementNB": "genus.estimators.complement",
    "PoissonNB": "genus.estimators.poisson",
    "GammaNB": "genus.estimators.gamma",
    "TextClassifier": "genus.estimators.text",
    "TableClassifier": "genus.estimators.table",
}


@dataclass(frozen=True)
class ColumnFamily:
    """A family that can model a column of a table.

    `kind` is the kind of column, `path` the import path of the family, and `options` its arguments.
    The family is a candidate for columns for which `suits` returns True. `suits` is called with an
    object that has the column's `kind`, its number of `distinct` values and, for numbers, the
    `least`, the `largest` and whether all are `whole`. The family models numbers from `least` (not
    included if `is_open`) to `most`, and only whole numbers if `whole`. If it is chosen
    automatically, and not requested by name, it also gets the options `chosen`.
    """

    kind: str
    path: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    suits: Callable[[Any], bool] = lambda column: True
    chosen: Mapping[str, Any] = field(default_factory=dict)
    least: float = -math.inf
    most: float = math.inf
    is_open: bool = False
    whole: bool = False


def by_name(made: str, **options: Any) -> ColumnFamily:
    """Return a family for numbers that is used only when it is requested by name."""
    path = f"genus.families.curves.{made}"
    return ColumnFamily("number", path, suits=lambda x: False, **options)


NAIVE = {"shared": False, "diagonal": True, "floor": 1e-9}
EXACT = 2048  # each whole number below this has its own cell
FEW = 64  # distinct whole numbers that may be categories

FAMILIES = {
    "gaussian": ColumnFamily(
        "number", "genus.families.gaussian.Gaussian", NAIVE, chosen={"prior_rows": 1.0}
    ),
    "discretised": ColumnFamily("number", "genus.families.categorical.in_bins"),
    "kernel": ColumnFamily(
        "number",
        "genus.families.kernel.KernelDensity",
        suits=lambda x: x.distinct > FEW,
    ),
    "poisson": ColumnFamily(
        "number",
        "genus.families.poisson.Poisson",
        suits=lambda x: x.whole and x.least >= 0 and x.largest < EXACT,
        least=0,
        whole=True,
    ),
    "gamma": ColumnFamily(
        "number",
        "genus.families.gamma.Gamma",
        suits=lambda x: False,  # by name only: slow, and no better than bins
        least=0,
        is_open=True,
    ),
    "lognormal": by_name("lognormal", least=0, is_open=True),
    "beta": by_name("beta", least=0, most=1),
    "negative-binomial": by_name("negative_binomial", least=0, whole=True),
    "zero-inflated": by_name("zero_inflated", least=0, whole=True),
    "seconds": by_name("seconds"),
    "hours": by_name("hours"),
    "degrees": by_name("degrees"),
    "radians": by_name("radians"),
    "categorical": ColumnFamily(
        "category",
        "genus.families.categorical.Categorical",
        {"are_names": True},
        lambda x: is_few_numbers(x) if x.kind == "number" else x.distinct > 2,
    ),
    "bernoulli": ColumnFamily(
        "category",
        "genus.families.categorical.Categorical",
        {"are_names": True},
        lambda x: x.kind == "category" and x.distinct <= 2,
    ),
    "text": ColumnFamily("text"),
}
KINDS = tuple(dict.fromkeys(family.kind for family in FAMILIES.values()))


def is_few_numbers(x: Any) -> bool:
    """Return whether a column holds a few small whole numbers, which may be codes."""
    return bool(x.whole and x.distinct <= FEW and x.least > -EXACT and x.largest < EXACT)


def is_for(family: str, kind: str) -> bool:
    """Return whether a family can model a kind of column; numbers may also be categories.

    >>> is_for("categorical", "number"), is_for("gaussian", "category")
    (True, False)
    """
    own = FAMILIES[family].kind
    return kind == own or (own, kind) == ("category", "number")
