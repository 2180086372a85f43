"""Estimators from the trees that a file holds, checked on the way."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from genus import files
from genus.choosing import Choice
from genus.estimators.base import GenerativeClassifier
from genus.estimators.bernoulli import BernoulliNB
from genus.estimators.categorical import CategoricalNB
from genus.estimators.complement import ComplementNB
from genus.estimators.discretizer import Discretizer
from genus.estimators.gaussian import GDA, GaussianNB
from genus.estimators.multinomial import MultinomialNB
from genus.estimators.poisson import PoissonNB
from genus.estimators.table import TableClassifier
from genus.estimators.text import TextClassifier
from genus.restoring import (
    combination_from_tree,
    model_from_tree,
    plan_from_tree,
    restored,
    weighing_from_tree,
)

ESTIMATORS: dict[str, type[GenerativeClassifier]] = {
    cls.__name__: cls
    for cls in (
        GDA,
        GaussianNB,
        BernoulliNB,
        CategoricalNB,
        MultinomialNB,
        ComplementNB,
        PoissonNB,
        TextClassifier,
        TableClassifier,
    )
}


def load(path: str | os.PathLike[str]) -> Any:
    """The classifier that `save` wrote to a file."""
    tree = files.read(path)
    try:
        return from_tree(tree)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise files.damaged(path, error) from None


def from_tree(tree: dict[str, Any]) -> GenerativeClassifier:
    """The estimator that `to_tree` took apart."""
    parameters = {name: restored(value) for name, value in tree["parameters"].items()}
    if isinstance(parameters.get("bins"), dict):
        parameters["bins"] = Discretizer(**parameters["bins"])
    if "ignore" in parameters:
        parameters["ignore"] = tuple(parameters["ignore"])
    if "ngrams" in parameters:
        parameters["ngrams"] = tuple(parameters["ngrams"])
    estimator = ESTIMATORS[tree["estimator"]](**parameters)
    if "choice" in tree:
        restore_choice(estimator, tree["choice"])
    if "ngrams" in tree:
        estimator._counted_ngrams = tuple(tuple(ngrams) for ngrams in tree["ngrams"])
    if "plan" in tree:
        estimator.plan_ = plan_from_tree(tree["plan"])
    if "weighing" in tree:
        estimator.weighing_ = weighing_from_tree(tree["weighing"])
    if "rounds" in tree:
        estimator.n_iter_ = int(tree["rounds"])
    estimator.n_features_in_ = int(tree["columns"])
    if tree["names"] is not None:
        estimator.feature_names_in_ = np.asarray(tree["names"], dtype=object)
    estimator._keep(
        model_from_tree(tree, estimator._family(), estimator._priors(), estimator._unexplained())
    )
    return estimator


def restore_choice(estimator: Any, tree: dict[str, Any]) -> None:
    """What was chosen from texts, and the options that it holds for."""
    combination = combination_from_tree(tree["best"])
    scores, names = tree["scores"], tuple(tree["names"])
    if scores.shape != (len(names), 2) or np.isinf(scores).any():
        raise ValueError("what was chosen makes no sense")
    estimator.choice_ = Choice(combination, names, scores, int(tree["texts"]))
    estimator._chosen_for = {name: restored(value) for name, value in tree["options"].items()}
