"""Names and where they are: classifiers, and the families that columns of a table can have.

It imports nothing heavy, so that the command line can list them before anything is loaded.
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
    """A family that a column of a table can have.

    `kind` is what the column holds, `path` where the family is, and `options` what it is made with.
    It is a candidate where `suits` is true of a column: of its `kind`, the number of `distinct`
    values, and if they are numbers the `least`, the `largest` and whether they are `whole`. It can
    model numbers from `least` on, or if `is_open` above it, up to `most`. `whole`: it is of whole
    numbers only. A family that was chosen, and not asked for by its name, also has the options
    `chosen`.
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
    """Return a family of numbers that is used only if it is asked for."""
    path = f"genus.families.curves.{made}"
    return ColumnFamily("number", path, suits=lambda x: False, **options)


NAIVE = {"shared": False, "diagonal": True, "floor": 1e-9}
EXACT = 2048  # whole numbers below have cells of their own
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
        suits=lambda x: False,  # by name only: it gains nothing beside bins, and takes time
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
    """Whether a column of numbers holds few and small whole ones, which may be codes."""
    return bool(x.whole and x.distinct <= FEW and x.least > -EXACT and x.largest < EXACT)


def is_for(family: str, kind: str) -> bool:
    """Whether a family can model what a column holds; numbers may be categories, too.

    >>> is_for("categorical", "number"), is_for("gaussian", "category")
    (True, False)
    """
    own = FAMILIES[family].kind
    return kind == own or (own, kind) == ("category", "number")
