"""Convert estimators to trees of dictionaries, lists, numbers, text and arrays, for files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from genus.arrays.options import by_class
from genus.arrays.vocabulary import Vocabulary
from genus.families.gaussian.scores import Form
from genus.statistics import Belief, Compound, Pairs, Points, Sample, Tally
from genus.statistics.sample import MISSING
from genus.table import Plan
from genus.table.model.mixed import Mixed
from genus.table.model.weighing import Weighing
from genus.text.model import Combination
from genus.text.model.choosing import Choice


def to_tree(estimator: Any, for_prediction: bool = False) -> dict[str, Any]:
    """Convert a fitted estimator to dictionaries, lists, numbers, text and arrays.

    If it is `for_prediction`, the sample of rows is left out.
    """
    model = estimator.model_
    family, statistics = model.family, model.statistics
    if for_prediction and isinstance(statistics, Compound) and "sample" in statistics.parts:
        if isinstance(family, Mixed):  # new cells are chosen now, because that needs the rows
            family, statistics = family.recut(statistics, model.classes)
        statistics = Compound({**statistics.parts, "sample": statistics["sample"].dropped()})
    if not type(estimator).__module__.startswith("genus."):
        raise TypeError(
            f"{type(estimator).__name__} is a class of your own, which load() does not know. "
            "Save a model of its base class, or use pickle."
        )
    tree = {
        "estimator": type(estimator).__name__,
        "parameters": parameters_to_tree(estimator._solved_with),
        "columns": estimator.n_features_in_,
        "names": getattr(estimator, "feature_names_in_", None),
        "classes": {"classes": model.weights.classes, "rows": model.weights["rows"]},
        "declared": model.declared,
        "counting": plain(dict(family.counting)),
        "statistics": statistics_to_tree(statistics),
    }
    match model.known_choice:
        case Choice(texts=texts) as choice if texts:  # otherwise it follows from the counts
            tree["choice"] = choice_to_tree(choice)
        case Weighing() as weighing:
            tree["weighing"] = weighing_to_tree(weighing)
        case Form() as form:
            tree["form"] = {f.name: getattr(form, f.name) for f in fields(form)}
    if hasattr(estimator, "_counted_ngrams"):
        tree["ngrams"] = [list(ngrams) for ngrams in estimator._counted_ngrams]
    if hasattr(estimator, "_counted_words"):
        known, counted = estimator._counted_words, model.statistics["words"].keys
        same = bool(counted) and known.is_same(counted[0])
        tree["known"] = None if same else axis_to_tree(known)  # None: the counted words
    if hasattr(estimator, "plan_"):
        tree["plan"] = plan_to_tree(family.how.plan)
    if hasattr(estimator, "columns_"):
        tree["reads"] = plain(vars(estimator.columns_))
    if hasattr(estimator, "n_iter_"):
        tree["rounds"] = int(estimator.n_iter_)
    return tree


def parameters_to_tree(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the parameters of an estimator to a tree."""
    parameters = dict(given)
    if parameters.get("tokenizer") is not None:
        raise TypeError(
            "A model with a tokenizer of your own cannot be saved, because a file cannot "
            "store a function. Use token_pattern, or pickle."
        )
    for name in ("priors", "class_prior"):
        if name in parameters:
            parameters[name] = by_class(parameters[name])
    if hasattr(parameters.get("bins"), "get_params"):
        parameters["bins"] = parameters["bins"].get_params(deep=False)
    return {name: plain(value) for name, value in parameters.items()}


def plan_to_tree(plan: Plan) -> dict[str, Any]:
    """Convert a plan to a tree."""
    columns = [
        vars(column)
        | {
            "grid": [column.grid.step, column.grid.bits],
            "edges": np.array(column.edges),
            "known": list(column.known),
        }
        for column in plan.columns
    ]
    return {"columns": columns, "target": plan.target, "joined": plan.joined}


def weighing_to_tree(weighing: Weighing) -> dict[str, Any]:
    """Convert the weights of experts and their scores, without the rows they come from."""
    weights = weighing.weights
    trees, linear = weighing.trees, weighing.linear
    return {
        "trees": None
        if trees is None
        else {f.name: half_as_long(getattr(trees, f.name)) for f in fields(trees)},
        "linear": None if linear is None else vars(linear) | {"features": vars(linear.features)},
        "weights": {f.name: getattr(weights, f.name) for f in fields(weights)},
        "combinations": {n: combination_to_tree(c) for n, c in weighing.combinations.items()},
        "losses": weighing.losses,
        "worth": dict(weighing.worth),
    }


def half_as_long(value: Any) -> Any:
    """Return float64 numbers as float32, if no digit is lost."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        short = value.astype(np.float32)
        return short if (short == value).all() else value
    return value


def combination_to_tree(combination: Combination) -> dict[str, Any]:
    """Convert a text model: its kinds of evidence, and their weights."""
    selection = vars(combination.selection)
    return {f.name: getattr(combination, f.name) for f in fields(combination)} | {
        "evidence": [dict(vars(evidence)) for evidence in combination.evidence],
        "selection": selection | {"stop_words": sorted(selection["stop_words"])},
    }


def choice_to_tree(choice: Choice) -> dict[str, Any]:
    """Convert the chosen text model and the scores of the candidates."""
    return {
        "best": combination_to_tree(choice.best),
        "names": list(choice.names),
        "scores": choice.scores,
        "texts": choice.texts,
    }


def plain(value: Any) -> Any:
    """Convert tuples and sets to lists, and dictionaries with keys other than text to pairs."""
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: plain(item) for key, item in value.items()}
        return {"pairs of": [[plain(k), plain(v)] for k, v in value.items()]}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    return value.item() if isinstance(value, np.generic) else value


def axis_to_tree(axis: Any) -> Any:
    """Convert an axis of labels; a vocabulary becomes two arrays."""
    return (
        {"words": {"text": axis.text, "ends": axis.ends}} if isinstance(axis, Vocabulary) else axis
    )


def statistics_to_tree(statistics: Any) -> dict[str, Any]:
    if isinstance(statistics, Tally):
        return {
            "kind": "tally",
            "classes": statistics.classes,
            "keys": None if statistics.keys is None else list(map(axis_to_tree, statistics.keys)),
            "counts": dict(statistics.counts),
        }
    if isinstance(statistics, Pairs):
        return {
            "kind": "pairs",
            "classes": statistics.classes,
            "keys": list(statistics.keys),
            "counts": statistics.counts,
        }
    if isinstance(statistics, Compound):
        parts = {name: statistics_to_tree(part) for name, part in statistics.parts.items()}
        return {"kind": "compound", "parts": parts}
    if isinstance(statistics, Sample):
        return sample_to_tree(statistics)
    if isinstance(statistics, Belief):
        sums = {"precision": statistics.precision, "shift": statistics.shift}
        return {"kind": "belief", "names": list(statistics.names), **sums}
    kind = "points" if isinstance(statistics, Points) else "moments"
    return {"kind": kind, **{f.name: getattr(statistics, f.name) for f in fields(statistics)}}


def sample_to_tree(sample: Sample) -> dict[str, Any]:
    """Convert encoded rows; each column takes as few bytes as possible."""
    return {
        "kind": "sample",
        "size": sample.size,
        "limit": sample.limit,
        "classes": sample.classes,
        "hashes": sample.hashes,
        "codes": narrow(sample.codes),
        "weights": sample.weights,
        "cells": [cells_to_tree(column) for column in sample.cells.T],
        "bags": [
            {"sizes": narrow(bag.sizes), "tokens": bag.tokens, "times": narrow(bag.times)}
            for bag in sample.bags
        ],
    }


def cells_to_tree(cells: Any) -> dict[str, Any]:
    """Convert the cells of a column to numbers from 1; 0 means missing."""
    there = cells != MISSING
    base = int(cells[there].min()) - 1 if there.any() else 0
    return {"base": base, "cells": narrow(np.where(there, cells - base, 0))}


def narrow(numbers: Any) -> Any:
    """Return non-negative integers in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
