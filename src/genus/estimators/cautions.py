"""Find likely problems of a table in the statistics of its model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

import numpy as np

from genus.arrays import arrow, labels
from genus.statistics.group import is_whole
from genus.table.numerals import are_readable, reading_of
from genus.table.plan import NOTHING
from genus.table.predictions import LABEL, probability_names

ENOUGH = 50  # rows below which such findings may be chance
LEAKED = 0.95  # share of the target's entropy that one column explains
ONCE = 0.5  # share of values that occur once in a column that may identify rows
NEARLY_ALL = 0.95  # share of rows whose whole number is unique
REPEATED = 0.01  # share of rows that are copies of others
USUAL = 4  # times as many pairs of equal rows as columns without dependence would have
ALIKE = 0.9999  # rank correlation of columns that differ only in their unit
FEW_VALUES = 64  # distinct numbers of a column that may be categories
MOST_COLUMNS = 500  # columns that are compared with each other
LISTED = 5


def cautions(model: Any, weighted: bool = False) -> list[str]:
    """Return warnings about the classes, leaks, identifiers, and repeated columns or rows.

    Counts cannot tell weights from copies, so nothing is said of copies if rows are `weighted`.
    """
    rows = float(model.class_count_.sum())
    told = [*doubtful_classes(model), *predictions(model)]
    if rows < ENOUGH or len(model.classes_) < 2:
        return told
    told += [*leaks(model, rows), *identifiers(model)]
    told += copied_columns(model)
    return told if weighted else [*told, *copied_rows(model)]


def doubtful_classes(model: Any) -> Iterator[str]:
    """Yield a warning if a class has one row, means a missing value, or seems to be misspelt."""
    sample, alone = model.model_.statistics["sample"], model.class_count_ == 1
    if sample.is_complete:  # two rows may have weights that add up to 1
        alone &= np.isin(model.classes_, sample.classes[np.bincount(sample.codes) == 1])
    alone = model.classes_[alone]
    if len(alone):
        yield (
            f"{'One class has' if len(alone) == 1 else f'{len(alone):,} classes have'} only one "
            f"row, such as {labels.show(alone[0])}. Cross-validation cannot predict such a row: "
            "without it, its class is unknown. Add rows, or leave it out."
        )
    names = [label for label in model.classes_.tolist() if isinstance(label, str)]
    for name in names:
        if name.strip() in NOTHING:
            yield (
                f"The class {name!r} often means a missing value. If it does, leave its rows out, "
                "or leave the target empty in them."
            )
    alike = defaultdict(list)
    for name in names:
        alike[" ".join(name.lower().split())].append(name)
    for same in alike.values():
        if len(same) > 1:
            yield (
                f"The classes {', '.join(map(repr, same[:LISTED]))} differ only in spaces or "
                "capital letters. If they mean the same, write them in the same way."
            )


def predictions(model: Any) -> Iterator[str]:
    """Yield a warning if columns seem to hold the predictions of another model."""
    names = {LABEL, *probability_names(model.classes_)}
    found = [column.name for column in model.plan_.used if column.name in names]
    if found:
        yield (
            f"Some columns seem to be predictions of this target: {', '.join(map(repr, found))}. "
            f"If they are, leave them out: --ignore {quote(found[0])} (ignore=)."
        )


def leaks(model: Any, rows: float) -> Iterator[str]:
    """Yield a warning for each column that nearly determines the class by itself."""
    share = model.class_count_ / rows
    share = share[share > 0]
    entropy = float(-(share * np.log(share)).sum())
    for column, marginal in zip(model.plan_.used, model.model_.parameters.marginals, strict=True):
        if marginal is None:
            continue
        gain = marginal.gains.get(marginal.family, 0.0) + max(marginal.missing_gain, 0.0)
        if entropy > 0 and gain >= LEAKED * entropy:
            yield (
                f"Column {column.name!r} may leak the target: by itself it explains "
                f"{100 * min(gain / entropy, 1):.0f} % of the target's entropy. If it becomes "
                "known only after the target, leave it out: "
                f"--ignore {quote(column.name)} (ignore=)."
            )


def identifiers(model: Any) -> Iterator[str]:
    """Yield a warning for each column in which many rows have a unique value."""
    cells = model.model_.statistics["cells"]
    counts = cells["rows"].sum(axis=0)
    start = 0
    plain = (column for column in model.plan_.used if column.kind != "text")
    for column, axis in zip(plain, cells.keys or (), strict=False):
        own = counts[start : start + len(axis)]
        start += len(axis)
        there = own.sum()
        if there < ENOUGH:
            continue
        once = float(own[own <= 1].sum() / there)
        whole = column.type.startswith(("int", "uint")) and len(axis) >= NEARLY_ALL * there
        if column.kind == "category" and once >= ONCE and (both := two_notations(axis.tolist())):
            yield (
                f"Column {column.name!r} holds numbers with decimal points and with decimal "
                f"commas, such as {both[0]} and {both[1]}, so each of its values is a category. "
                "Write all of them in one way, and fit again."
            )
        elif (column.kind == "category" and once >= ONCE) or whole:
            yield (
                f"Column {column.name!r} may identify rows: it has about {len(axis):,} different "
                f"values in {there:,.0f} rows. If it does, leave it out: "
                f"--ignore {quote(column.name)} (ignore=)."
            )


def two_notations(names: Sequence[Any]) -> tuple[str, str] | None:
    """Return a number with a decimal point and one with a decimal comma, if names mix the two.

    >>> two_notations(["4.81", "7", "4,81"]), two_notations(["4.81", "red", "4,81"])
    (('4.81', '4,81'), None)
    """
    texts = [name for name in names if isinstance(name, str)]
    point = next(filter(re.compile(r"-?\d+\.\d+").fullmatch, texts), None)
    comma = next(filter(re.compile(r"-?\d+,\d+").fullmatch, texts), None)
    if point is None or comma is None or not all(are_readable(texts)):
        return None
    return (point, comma) if reading_of(arrow.strings(texts)) is None else None


def copied_columns(model: Any) -> Iterator[str]:
    """Yield a warning for columns that differ only in the names of values or in units."""
    sample = model.model_.statistics["sample"]
    if len(sample) < ENOUGH:
        return
    plain = [column for column in model.plan_.used if column.kind != "text"][:MOST_COLUMNS]
    alike: dict[Any, list[str]] = defaultdict(list)
    ranks: list[Any] = []
    for column, cells in zip(plain, sample.cells.T, strict=False):
        _, first, code = np.unique(cells, return_index=True, return_inverse=True)
        if len(first) < 2:
            continue
        if column.kind == "category" or len(first) <= FEW_VALUES:
            rank = np.argsort(np.argsort(first))  # in the order of first occurrence
            alike[rank[code].tobytes()].append(column.name)
        if column.kind == "number":
            ranks.append((column.name, standardized(code)))
    for i, (name, own) in enumerate(ranks):
        same = [other for other, theirs in ranks[i + 1 :] if abs(own @ theirs) > ALIKE]
        if same:
            alike[name] = [name, *same]
    told: set[str] = set()
    for names in alike.values():
        if len(names) > 1 and not told.intersection(names):
            told.update(names)
            listed = " and ".join(map(repr, names[:LISTED]))
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            yield f"The columns {listed}{more} hold the same information. Keep one of them."


def standardized(cells: Any) -> Any:
    """Return the centred ranks of the cells of a column, scaled to length 1.

    The dot product of two such vectors is Spearman's correlation.
    """
    counts = np.bincount(cells)
    rank = (np.cumsum(counts) - counts / 2)[cells]
    rank = rank - rank.mean()
    return rank / np.linalg.norm(rank)


def copied_rows(model: Any) -> Iterator[str]:
    """Yield a warning if rows are repeated more often than chance explains."""
    sample = model.model_.statistics["sample"]
    total = float(sample.weights.sum())
    if len(sample) < ENOUGH or not is_whole(sample.weights):
        return
    share = 1 - len(sample) / total if total > 0 else 0.0
    if share >= REPEATED and pairs(sample.weights) > USUAL * pairs_by_chance(sample):
        yield (
            f"About {100 * share:.3g} % of rows are copies of others (a row of weight 2 is a row "
            "and a copy). Cross-validation may put copies into different folds, and its scores are "
            "then optimistic: keep each row once, or keep copies in one fold (evaluate --group, "
            "groups=)."
        )


def pairs(weights: Any) -> float:
    """Return the number of pairs of equal rows, given the numbers of equal rows."""
    return float((weights * np.maximum(weights - 1, 0)).sum() / 2)


def pairs_by_chance(sample: Any) -> float:
    """Return the number of pairs of equal rows to expect if columns did not depend on each other.

    How often two rows have the same value is estimated from different rows. All texts are assumed
    to differ.
    """
    found = pairs(sample.weights.sum())
    for cells in sample.cells.T:
        found *= pairs(np.unique(cells, return_counts=True)[1]) / pairs(np.array(len(cells)))
    return 0.0 if sample.bags else found
