"""Upgrade the trees of files that earlier versions wrote.

Up to version 5 not only the experts of a table had weights, but also its columns, and up to version
4 there was a forest where this version has boosted trees. So the weights of experts are learned
again from the sample. Version 2 kept no sample of rows: the experts of such a model keep their
weights, and its columns have none any more. Version 2 counted numbers in cells about an origin; the
count of each cell moves to the cell of today's grid that contains its number nearest to the origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from genus.persistence.restoring import plan_from_tree, restored
from genus.persistence.trees import plain, statistics_to_tree
from genus.solve.grid import BITS, MOST_BITS, Grid, representatives
from genus.statistics import Belief, Sample, Tally
from genus.table.model.builder import build
from genus.table.model.mixed import Mixed
from genus.table.model.weighing import weight_names


def current(tree: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a tree of any version to this version."""
    version = tree.pop("version")
    if version > 2:
        if version < 4 and tree["estimator"] == "TableClassifier":
            tree["counting"]["belief"] = "belief" in tree["statistics"]["parts"]
        if version < 6:
            tree.pop("weighing", None)
        return tree
    if tree["estimator"] == "TextClassifier":
        parts = {"words": tree["statistics"], "sample": statistics_to_tree(Sample(0))}
        tree["parameters"]["sample_size"] = tree["counting"]["sample"] = 0
        tree["statistics"] = {"kind": "compound", "parts": parts}
    if tree["estimator"] == "TableClassifier":
        upgrade_table(tree)
    return tree


def upgrade_table(tree: dict[str, Any]) -> None:
    """Give a table the current grids and an empty sample, in place."""
    parts = tree["statistics"]["parts"]
    parts["sample"] = statistics_to_tree(Sample(0))
    if "weighing" in tree:
        tree["weighing"]["weights"].pop("columns")
    grids = []
    for column in tree["plan"]["columns"]:
        origin, scale = column.pop("origin"), column.pop("scale")
        grid = grid_about(origin, scale)
        days = column["kind"] == "number" and "days" in column["note"]
        column["unit"] = "days" if days else "seconds" if "seconds" in column["note"] else ""
        column["unseen"] = column["note"] == "holds nothing"
        column["grid"] = [grid.step, grid.bits]
        if column["kind"] not in ("", "text"):
            grids.append((column["kind"] == "number", origin, scale, grid))
    tree["plan"]["joined"] = False
    parts["cells"] = regridded(parts["cells"], grids)
    options = tree["parameters"]
    options["sample_size"] = 0
    names = ("dependence", "calibrate", "sample_size")
    families = restored(options["families"])
    family = build(plan_from_tree(tree["plan"]), families, *(options[name] for name in names))
    tree["counting"] = plain(dict(family.counting))
    if family.how.belief:
        parts["belief"] = statistics_to_tree(belief_of(tree, family))


def belief_of(tree: dict[str, Any], family: Mixed) -> Belief:
    """Return the weights in a file as a belief, with a precision of 1/4 per row."""
    weights = tree["weighing"]["weights"]
    by_name = dict(zip(weights["names"], weights["experts"].tolist(), strict=True))
    names = weight_names(family, weights["classes"])
    experts = [by_name.get(name, 0.0) for name in family.names]
    θ = np.concatenate([experts, weights["constant"]])
    rows = float(tree["classes"]["rows"].sum())
    return Belief.of(names, θ, rows / 4 * np.eye(len(θ)))


def grid_about(origin: float, scale: float) -> Grid:
    """Return a grid with cells about as wide as 1/2048 of `scale` near `origin`."""
    if scale == 0:
        return Grid()
    step = float(np.exp2(np.clip(np.floor(np.log2(scale)) - BITS, -400, 400)))
    far = int(np.ceil(np.log2(abs(origin) / step))) if origin else BITS
    return Grid(step, min(max(far, BITS), MOST_BITS))


def regridded(cells: dict[str, Any], grids: list[Any]) -> dict[str, Any]:
    """Convert counts by cells around origins to counts by cells of grids."""
    if cells["keys"] is None:
        return cells
    keys, place, start = [], [], 0
    for axis, (is_number, origin, scale, grid) in zip(cells["keys"], grids, strict=True):
        at = np.arange(len(axis))
        if is_number:
            z = representatives(axis)
            x = origin + np.where(np.abs(z) < scale, 0.0, z - np.copysign(scale, z))
            axis, at = np.unique(grid.keys(x), return_inverse=True)
        keys.append(axis)
        place.append(start + at)
        start += len(axis)
    counts = np.zeros((len(cells["classes"]), start))
    np.add.at(counts.T, np.concatenate(place), cells["counts"]["rows"].T)
    return statistics_to_tree(Tally.of(cells["classes"], tuple(keys), {"rows": counts}))
