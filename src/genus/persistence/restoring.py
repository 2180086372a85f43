"""Restore statistics, plans and models from the trees in files, and check them.

This works without the estimators, so that commands that only predict need not import scikit-learn.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from genus.arrays import labels
from genus.arrays.matrix import class_weights
from genus.arrays.vocabulary import Vocabulary
from genus.families import Family
from genus.families.gaussian.scores import Form
from genus.model import Model, counting_as
from genus.registry import KINDS
from genus.solve.grid import Grid
from genus.solve.priors import Priors
from genus.statistics import Bags, Belief, Compound, Moments, Pairs, Points, Sample, Tally
from genus.statistics.group import GATHERED
from genus.statistics.sample import EVERY, MISSING
from genus.table import Column, Plan
from genus.table.model.boosting import NAME as BOOSTED
from genus.table.model.boosting import BoostedTrees
from genus.table.model.counts import TEXT, name_keys
from genus.table.model.experts import NAMES
from genus.table.model.weighing import Weighing, Weights
from genus.table.model.wide import NAME as ALL_COLUMNS
from genus.table.model.wide import Features, WideLinear
from genus.text.model.choosing import Choice
from genus.text.model.combination import FAMILIES, TOKENS, WEIGHTINGS, Combination, Evidence
from genus.text.model.selection import Selection

MOST_WEIGHT = 1e9


def model_from_tree(
    tree: dict[str, Any], family: Family, priors: Priors, unexplained: str
) -> Model:
    """Restore the model of a family from a tree."""
    width = int(tree["columns"])
    statistics = statistics_from_tree(tree["statistics"])
    family = counting_as(family, restored(tree["counting"]))
    check_statistics(statistics, family.zero(), width)
    weights = tree["classes"]
    rows = Tally(weights["classes"], None, {"rows": weights["rows"]})
    check_statistics(rows, Tally(counts={"rows": np.zeros((0, 0))}), 1)
    check_axis(tree["declared"])
    if isinstance(statistics, Compound) and "sample" in statistics.parts:
        check_sample(statistics, rows)
    chosen: Any = None
    if "weighing" in tree:
        chosen = weighing_from_tree(tree["weighing"])
    elif "choice" in tree:
        chosen = choice_from_tree(tree["choice"])
    elif "form" in tree:
        chosen = form_from_tree(tree["form"], width)
    return Model(family, statistics, width, rows, priors, tree["declared"], unexplained, chosen)


def form_from_tree(tree: dict[str, Any], width: int) -> Form:
    """Restore the form of a covariance."""
    form = Form(**tree)
    arrays = form.scale, form.least
    fits = all(a.shape == (width,) and np.isfinite(a).all() and (a >= 0).all() for a in arrays)
    fits = fits and bool((form.scale > 0).all()) and is_finite(form.shared)
    known = form.shrinkage in (None, "oas") or is_finite(form.shrinkage)
    if not (fits and known and 0 <= form.shared <= 1 and isinstance(form.diagonal, bool)):
        raise ValueError("its choice of a covariance form is invalid")
    return form


def choice_from_tree(tree: dict[str, Any]) -> Choice:
    """Restore the chosen text model and the scores of the candidates."""
    scores, names = tree["scores"], tuple(tree["names"])
    if scores.shape != (len(names), 2) or np.isinf(scores).any():
        raise ValueError("its table of text models is invalid")
    return Choice(combination_from_tree(tree["best"]), names, scores, int(tree["texts"]))


def is_finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and bool(np.isfinite(value))


def combination_from_tree(tree: dict[str, Any]) -> Combination:
    """Restore a text model: its kinds of evidence, and their weights."""
    texts = tree["selection"]
    selection = Selection(**texts | {"stop_words": frozenset(texts["stop_words"])})
    selection.check()
    evidence = tuple(Evidence(**one) for one in tree["evidence"])
    combination = Combination(**tree | {"evidence": evidence, "selection": selection})
    check_axis(combination.classes)
    known = all(e.family in FAMILIES and e.tokens in TOKENS for e in evidence)
    known &= combination.weighting in WEIGHTINGS and is_finite(combination.power)
    known &= all(e.counted in ("occurrences", "documents") and e.alpha > 0 for e in evidence)
    fits = combination.weights.shape == (len(evidence),)
    fits &= combination.constant.shape == combination.classes.shape
    numbers = (combination.weights, combination.constant)
    if not (known and fits and all(np.isfinite(array).all() for array in numbers)):
        raise ValueError("its text model is invalid")
    return combination


def plan_from_tree(tree: dict[str, Any]) -> Plan:
    """Restore a plan."""
    columns = []
    for one in tree["columns"]:
        lists = {"edges": tuple(one["edges"].tolist()), "known": tuple(one["known"])}
        column = Column(**one | lists | {"grid": Grid(*one["grid"])})
        sound = bool((np.diff(column.edges) > 0).all() and np.isfinite(column.edges).all())
        if column.kind not in ("", *KINDS) or not sound or not column.grid.is_sound:
            raise ValueError("the plan of its columns is invalid")
        columns.append(column)
    return Plan(tuple(columns), tree["target"], bool(tree["joined"]))


def weighing_from_tree(tree: dict[str, Any]) -> Weighing:
    """Restore the weights of experts."""
    weights = Weights(**tree["weights"] | {"names": tuple(tree["weights"]["names"])})
    shrinkage = np.asarray(weights.shrinkage, dtype=np.float64)
    check_axis(weights.classes)
    fits = weights.experts.shape == tree["losses"].shape == (len(weights.names),)
    fits &= weights.constant.shape == weights.classes.shape
    fits &= 0 <= weights.doubt < 1 and shrinkage.shape == (3,) and bool((shrinkage >= 0).all())
    known = ("families", *NAMES, BOOSTED, ALL_COLUMNS)
    fits &= all(n in known or n.startswith(TEXT) for n in weights.names)
    fits &= bool((np.abs(weights.experts) < MOST_WEIGHT).all())
    numbers = (weights.experts, weights.constant, shrinkage)
    if not (fits and all(np.isfinite(array).all() for array in numbers)):
        raise ValueError("the weights of its experts are invalid")
    combinations = {n: combination_from_tree(c) for n, c in tree["combinations"].items()}
    trees = boosted_from_tree(tree.get("trees"), len(weights.classes))
    linear = linear_from_tree(tree.get("linear"), len(weights.classes))
    worth = tree["worth"]
    return Weighing(weights, combinations, tree["losses"], worth, trees=trees, linear=linear)


def linear_from_tree(tree: dict[str, Any] | None, classes: int) -> WideLinear | None:
    """Restore the linear expert of a wide table; files of earlier versions have none."""
    if tree is None:
        return None
    linear = WideLinear(**tree | {"features": Features(**tree["features"])})
    arrays = [*vars(linear.features).values(), linear.slope, linear.share]
    starts, centre, scale, keys = arrays[:4]
    fits = [a.dtype.name for a in arrays] == ["int64", *["float64"] * 2, "int64", *["float64"] * 2]
    fits = fits and starts.ndim == centre.ndim == 1 and centre.shape == scale.shape == keys.shape
    fits = fits and linear.slope.shape == (len(centre), classes)
    fits = fits and linear.share.shape == (classes,) and isinstance(linear.origin, str)
    fits = fits and bool((np.diff(starts) >= 0).all()) and starts[0] == 0
    fits = fits and starts[-1] == len(centre) and bool((scale > 0).all())
    if not (fits and all(bool(np.isfinite(a).all()) for a in arrays)):
        raise ValueError("its linear expert is invalid")
    return linear


def boosted_from_tree(tree: dict[str, Any] | None, classes: int) -> BoostedTrees | None:
    """Restore the boosted trees; files of earlier versions have none."""
    if tree is None:
        return None
    short = {n: a.astype(np.float64) for n, a in tree.items() if getattr(a, "dtype", 0) == "f4"}
    trees = BoostedTrees(**tree | short)
    arrays = [getattr(trees, f.name) for f in fields(trees)[:-1]]
    kinds = ["uint16", "uint16", "float64", "float64", "int64", "bool", "int64"]
    fits = [a.dtype.name for a in arrays] == kinds and isinstance(trees.origin, str)
    fits = fits and trees.values.ndim == 3 and trees.values.shape[2] == classes
    fits = fits and trees.seen.ndim == trees.starts.ndim == trees.same.ndim == 1 and trees.folds > 0
    fits = fits and bool(((trees.same >= 0) & (trees.same < len(trees.same))).all())
    fits = fits and bool((np.diff(trees.starts, prepend=0) >= 0).all())
    fits = fits and trees.starts[-1] == len(trees.columns) and bool((trees.weights >= 0).all())
    fits = fits and all(bool(np.isfinite(a).all()) for a in (trees.values, trees.weights))
    if not fits:
        raise ValueError("its trees are invalid")
    try:
        trees.score(np.zeros((len(trees.same), 1), dtype=np.uint16))
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError("its trees are invalid") from error
    return trees


def restored(value: Any) -> Any:
    """Invert `plain`, except that tuples and sets stay lists."""
    if isinstance(value, dict):
        if list(value) == ["pairs of"]:
            pairs = ((restored(k), restored(v)) for k, v in value["pairs of"])
            return {tuple(k) if isinstance(k, list) else k: v for k, v in pairs}
        return {key: restored(item) for key, item in value.items()}
    return [restored(item) for item in value] if isinstance(value, list) else value


def statistics_from_tree(tree: dict[str, Any]) -> Any:
    kind = tree.pop("kind")
    if kind == "tally":
        keys = None if tree["keys"] is None else tuple(map(axis_from_tree, tree["keys"]))
        return Tally(tree["classes"], keys, tree["counts"])
    if kind == "pairs":
        return Pairs(tree["classes"], tuple(tree["keys"]), tree["counts"])
    if kind == "compound":
        return Compound({n: statistics_from_tree(part) for n, part in tree["parts"].items()})
    if kind == "sample":
        return sample_from_tree(tree)
    if kind == "belief":
        return Belief(tuple(tree["names"]), tree["precision"], tree["shift"])
    if kind == "moments":
        return Moments(**tree)
    if kind == "points":
        return Points(**tree)
    raise KeyError(f"statistics of the unknown kind {kind!r}")


def sample_from_tree(tree: dict[str, Any]) -> Sample:
    """Restore encoded rows; raise an error if they are inconsistent."""
    rows = len(tree["hashes"])
    columns = []
    arrays = [tree["hashes"], tree["codes"], *(one["cells"] for one in tree["cells"])]
    arrays += [array for one in tree["bags"] for array in one.values()]
    if not all(array.dtype.kind in "iu" and array.ndim == 1 for array in arrays):
        raise ValueError("its sample of rows is invalid")
    for one in tree["cells"]:
        cells = one["cells"].astype(np.int64)
        columns.append(np.where(cells > 0, cells + int(one["base"]), MISSING))
    bags = tuple(
        Bags(
            np.cumsum(one["sizes"], dtype=np.int64),
            one["tokens"].astype(np.uint32),
            one["times"].astype(np.int32),
        )
        for one in tree["bags"]
    )
    sample = Sample(
        int(tree["size"]),
        tree["classes"],
        tree["hashes"].astype(np.uint64),
        tree["codes"].astype(np.int64),
        tree["weights"].astype(np.float64),
        np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int64),
        bags,
        int(tree["limit"]),
    )
    if not sample.is_sound:
        raise ValueError("its sample of rows is invalid")
    return sample


def check_statistics(statistics: Any, zero: Any, columns: int) -> None:
    """Raise an error unless a file's arrays are consistent and could come from rows."""
    if isinstance(statistics, Points) and isinstance(zero, Moments):
        check_points(statistics, zero, columns)
        return
    if type(statistics) is not type(zero):
        raise ValueError("its statistics are of the wrong kind")
    if isinstance(statistics, Compound):
        if statistics.parts.keys() != zero.parts.keys():
            raise ValueError("its statistics are of the wrong kind")
        for name, part in statistics.parts.items():
            check_statistics(part, zero[name], width_of(part))
        return
    if isinstance(statistics, Pairs):
        check_pairs(statistics)
        return
    if isinstance(statistics, Sample):
        check_axis(statistics.classes)
        if statistics.size != zero.size:
            raise ValueError("its sample of rows has the wrong size")
        return
    if isinstance(statistics, Belief):
        check_belief(statistics)
        return
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
        raise ValueError("no rows can produce its numbers")


def check_points(points: Points, zero: Moments, columns: int) -> None:
    """Raise an error unless rows, their classes and weights are consistent."""
    check_axis(points.classes)
    r, K = len(points.weight), len(points.classes)
    fits = (points.structure, points.quartic) == (zero.structure, zero.third is not None)
    fits &= points.x.shape == (r, columns) and points.codes.shape == points.weight.shape == (r,)
    fits &= points.codes.dtype == np.int64 and points.x.dtype == points.weight.dtype == np.float64
    if not fits or not np.array_equal(np.unique(points.codes), np.arange(K)):
        raise ValueError("its tables have the wrong shape")
    finite = np.isfinite(points.x).all() and np.isfinite(points.weight).all()
    if not (finite and points.is_finite and (points.weight > 0).all()):
        raise ValueError("no rows can produce its numbers")


def check_belief(belief: Belief) -> None:
    """Raise an error unless the information about weights is consistent."""
    P = len(belief.names)
    arrays = (belief.precision, belief.shift)
    fits = (belief.precision.shape, belief.shift.shape) == ((P, P), (P,))
    fits = fits and all(a.dtype == np.float64 and np.isfinite(a).all() for a in arrays)
    if not (fits and list(belief.names) == sorted(set(belief.names)) and belief.is_possible):
        raise ValueError("the weights of its experts are invalid")


def check_sample(statistics: Compound, rows: Tally) -> None:
    """Raise an error unless the rows of a sample can be among those that were counted."""
    sample = statistics["sample"]
    total = float(rows["rows"].sum())
    whole = "cells" in statistics.parts and sample.size and sample.limit == EVERY
    if whole and not np.isclose(sample.total, total, GATHERED):
        raise ValueError("its sample of rows is incomplete")
    if len(sample) == 0:
        return
    cells = statistics.parts.get("cells")
    texts = sum(name == "words" or name.startswith(TEXT) for name in statistics.parts)
    axes = () if cells is None else cells.keys or ()
    words = 2 * statistics["sums"].width if "sums" in statistics.parts else len(axes)
    if sample.cells.shape[1] != words or len(sample.bags) != texts:
        raise ValueError("its sample of rows has the wrong columns")
    k = labels.find(sample.classes, rows.classes)
    most, K = rows["rows"] * (1 + GATHERED), len(rows.classes)
    if (k < 0).any() or (class_weights(k[sample.codes], sample.weights, K) > most).any():
        raise ValueError("its sample of rows does not match its counts")
    if cells is None:
        return
    counts = cells.align(rows.classes, 0)["rows"] * (1 + GATHERED)
    ends = np.cumsum([0, *map(len, axes)])
    for own, axis, start in zip(sample.cells.T, axes, ends, strict=False):
        keys = axis if axis.dtype.kind == "i" else np.unique(name_keys(axis))
        there = own != MISSING
        at = labels.find(own[there], keys)
        if (at < 0).any():
            raise ValueError("its sample of rows does not match its counts")
        if len(keys) < len(axis):  # names that share a hash
            continue
        order = np.arange(len(axis)) if axis.dtype.kind == "i" else np.argsort(name_keys(axis))
        place = k[sample.codes][there] * len(axis) + order[at]
        found = np.bincount(place, sample.weights[there], len(counts) * len(axis))
        all_there = counts[:, start : start + len(axis)]
        absent = class_weights(k[sample.codes], sample.weights * ~there, K)[:, 0]
        few = absent <= most[:, 0] * (1 + GATHERED) - all_there.sum(axis=1) / (1 + GATHERED)
        if (found.reshape(len(counts), -1) > all_there).any() or not few.all():
            raise ValueError("its sample of rows does not match its counts")


def width_of(part: Any) -> int:
    """Return the number of columns in a part of a table's statistics."""
    if isinstance(part, Tally) and part.keys is not None:
        return len(part.keys)
    return 0 if isinstance(part, Pairs | Sample | Belief) else int(part.width)


def check_pairs(pairs: Pairs) -> None:
    """Raise an error unless the counts by two keys are consistent."""
    for axis in (pairs.classes, *pairs.keys):
        check_axis(axis)
    V = int(pairs.starts[-1])
    counts = pairs.counts
    shape = (len(pairs.classes), V, V) if len(pairs.classes) else (0, 0, 0)
    if counts.shape != shape or counts.dtype != np.float64:
        raise ValueError("its tables have the wrong shape")
    symmetric = np.array_equal(counts, counts.transpose(0, 2, 1))
    if not (np.isfinite(counts).all() and pairs.is_possible and symmetric):
        raise ValueError("no rows can produce its numbers")


def axis_from_tree(axis: Any) -> Any:
    return Vocabulary(**axis["words"]) if isinstance(axis, dict) else axis


def check_axis(axis: Any) -> None:
    """Raise an error unless the labels are distinct and in ascending order."""
    if isinstance(axis, Vocabulary):
        if not axis.is_sound:
            raise ValueError("its words are not in order")
        return
    if not isinstance(axis, np.ndarray) or axis.ndim != 1 or not (axis[:-1] < axis[1:]).all():
        raise ValueError("its classes or categories are not in order")
