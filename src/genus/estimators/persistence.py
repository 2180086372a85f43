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
from genus.estimators.text import TextClassifier
from genus.families.combination import FAMILIES, TOKENS, WEIGHTINGS, Combination, Evidence
from genus.families.selection import Selection
from genus.model import Block, Model, counting_as
from genus.statistics import Moments, Tally
from genus.vocabulary import Vocabulary

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
    if "ngrams" in parameters:
        parameters["ngrams"] = tuple(parameters["ngrams"])
    estimator = ESTIMATORS[tree["estimator"]](**parameters)
    if "choice" in tree:
        restore_choice(estimator, tree["choice"])
    if "ngrams" in tree:
        estimator._counted_ngrams = tuple(tuple(ngrams) for ngrams in tree["ngrams"])
    if "rounds" in tree:
        estimator.n_iter_ = int(tree["rounds"])
    estimator.n_features_in_ = int(tree["columns"])
    if tree["names"] is not None:
        estimator.feature_names_in_ = np.asarray(tree["names"], dtype=object)
    statistics = statistics_from_tree(tree["statistics"])
    family = counting_as(estimator._family(), restored(tree["counting"]))
    check_statistics(statistics, family.zero(), estimator.n_features_in_)
    weights = tree["classes"]
    rows = Tally(weights["classes"], None, {"rows": weights["rows"]})
    check_statistics(rows, Tally(counts={"rows": np.zeros((0, 0))}), 1)
    check_axis(tree["declared"])
    estimator._keep(
        Model(
            blocks=(Block(family, statistics, width=estimator.n_features_in_),),
            weights=rows,
            priors=estimator._priors(),
            declared=tree["declared"],
            unexplained=estimator._unexplained(),
        )
    )
    return estimator


def restore_choice(estimator: Any, tree: dict[str, Any]) -> None:
    """What was chosen from texts, and the options that it holds for."""
    best, texts = tree["best"], tree["best"]["selection"]
    selection = Selection(**texts | {"stop_words": frozenset(texts["stop_words"])})
    selection.check()
    evidence = tuple(Evidence(**one) for one in best["evidence"])
    combination = Combination(**best | {"evidence": evidence, "selection": selection})
    scores, names = tree["scores"], tuple(tree["names"])
    check_axis(combination.classes)
    known = all(e.family in FAMILIES and e.tokens in TOKENS for e in evidence)
    known &= combination.weighting in WEIGHTINGS and np.isfinite(combination.power)
    known &= all(e.counted in ("occurrences", "documents") and e.alpha > 0 for e in evidence)
    fits = combination.weights.shape == (len(evidence),) and scores.shape == (len(names), 2)
    fits &= not np.isinf(scores).any()
    fits &= combination.constant.shape == combination.classes.shape
    numbers = (combination.weights, combination.constant)
    if not (known and fits and all(np.isfinite(array).all() for array in numbers)):
        raise ValueError("what was chosen makes no sense")
    estimator.choice_ = Choice(combination, names, scores, int(tree["texts"]))
    estimator._chosen_for = {name: restored(value) for name, value in tree["options"].items()}


def restored(value: Any) -> Any:
    """The inverse of `plain`, but for tuples."""
    if isinstance(value, dict):
        if list(value) == ["pairs of"]:
            return {restored(k): restored(v) for k, v in value["pairs of"]}
        return {key: restored(item) for key, item in value.items()}
    return [restored(item) for item in value] if isinstance(value, list) else value


def statistics_from_tree(tree: dict[str, Any]) -> Any:
    kind = tree.pop("kind")
    if kind == "tally":
        keys = None if tree["keys"] is None else tuple(map(axis_from_tree, tree["keys"]))
        return Tally(tree["classes"], keys, tree["counts"])
    if kind == "moments":
        return Moments(**tree)
    raise KeyError(f"statistics of the unknown kind {kind!r}")


def check_statistics(statistics: Any, zero: Any, columns: int) -> None:
    """Raise unless the arrays of a file fit together and rows can have given them."""
    if type(statistics) is not type(zero):
        raise ValueError("its statistics are of another kind")
    check_axis(statistics.classes)
    K, n = len(statistics.classes), columns
    if isinstance(statistics, Tally):
        keys = statistics.keys
        for axis in keys or ():
            check_axis(axis)
        width = n if keys is None else sum(map(len, keys))
        expected: dict[str, tuple[int, ...]] = dict.fromkeys(zero.counts, (K, width))
        arrays = dict(statistics.counts)
        fits = keys is None or len(keys) == n or K == 0
    else:
        squares = {"diagonal": (K, n), "pooled": (n, n), "separate": (K, n, n)}
        expected = {
            "origin": (K, n),
            "weights": (K, n) if zero.structure == "diagonal" else (K, 1),
            "sums": (K, n),
            "squares": squares[zero.structure],
            "noise": (n,) if zero.structure == "pooled" else (K, n),
        }
        if zero.third is not None:
            expected |= {"third": (K, n, n), "fourth": (K, n, n)}
        found = {name: getattr(statistics, name) for name in (*expected, "third", "fourth")}
        arrays = {name: array for name, array in found.items() if array is not None}
        fits = statistics.structure == zero.structure
    fits &= arrays.keys() == expected.keys()
    fits &= all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in arrays.values())
    if not fits or (K and any(arrays[name].shape != shape for name, shape in expected.items())):
        raise ValueError("its tables have the wrong shape")
    if not (all(np.isfinite(a).all() for a in arrays.values()) and statistics.is_possible):
        raise ValueError("no rows can have given its numbers")


def axis_from_tree(axis: Any) -> Any:
    return Vocabulary(**axis["words"]) if isinstance(axis, dict) else axis


def check_axis(axis: Any) -> None:
    """Raise unless these are distinct labels in ascending order."""
    if isinstance(axis, Vocabulary):
        if not axis.is_sound:
            raise ValueError("its words are not in order")
        return
    if not isinstance(axis, np.ndarray) or axis.ndim != 1 or not (axis[:-1] < axis[1:]).all():
        raise ValueError("its classes or categories are not in order")
