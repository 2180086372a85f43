"""Load a table model for prediction only, without the estimators and scikit-learn."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from genus.arrays.labels import Axis
from genus.model import Model
from genus.persistence import files
from genus.persistence.restoring import model_from_tree, plan_from_tree, restored
from genus.persistence.upgrading import current
from genus.solve.priors import Priors
from genus.statistics import Array
from genus.table import Frame, Plan
from genus.table.model.builder import build


@dataclass(frozen=True, eq=False)
class Predictor:
    """The parts of a table model that prediction needs; `estimator` is the name of its class."""

    estimator: str
    plan_: Plan
    model_: Model

    @property
    def classes_(self) -> Axis:
        """The classes, ascending."""
        return self.model_.classes

    def predict_proba(self, table: Any) -> Array:
        """Return p(y|x), (m, K), for the rows of an Arrow table."""
        return self.model_.posterior(Frame.of(table, self.plan_))


def load_predictor(path: str | os.PathLike[str]) -> Predictor | str:
    """Load a TableClassifier for prediction; for another class, return its name."""
    tree = files.read(path)
    try:
        tree = current(tree)
        if tree["estimator"] != "TableClassifier":
            return str(tree["estimator"])
        plan, options = plan_from_tree(tree["plan"]), tree["parameters"]
        families = restored(options["families"])
        names = ("dependence", "calibrate", "sample_size")
        family = build(plan, families, *(options[name] for name in names))
        weight = restored(options.get("class_weight"))
        priors = Priors(restored(options["priors"]), class_weight=weight)
        model = model_from_tree(tree, family, priors, "prior")
        return Predictor("TableClassifier", plan, model)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise files.damaged(path, error) from None
