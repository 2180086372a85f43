"""Test whether columns are independent given the class.

The tests use the mutual information of two binned columns given the class, and a χ² test of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from genus.arrays import labels
from genus.evaluate.comparing.data import Material
from genus.evaluate.comparing.findings import LEVEL
from genus.table import Frame
from genus.table.frame import Values

MOST_COLUMNS = 40  # columns whose pairs are compared
BINS = 4
BITS = 0.02  # smallest information for which a pair is named
SHOWN = 3


@dataclass(frozen=True)
class Pair:
    """Two columns, and their mutual information given the class, in bits."""

    first: str
    second: str
    bits: float
    p_value: float


def pairs(raw: Any, y: NDArray[Any], given: Material) -> tuple[tuple[Pair, ...], int]:
    """Return the dependent pairs of columns, most dependent first, and how many were compared."""
    bins = bins_for(len(y), len(given.classes))
    if bins < 2:
        return (), 0
    binned = columns_in_bins(raw, given.names, bins)
    ranked = sorted(binned, key=lambda name: -information(binned[name], y))[:MOST_COLUMNS]
    compared = list(combinations(ranked, 2))
    found = []
    for a, b in compared:
        bits, p = conditional_information(binned[a], binned[b], y, len(given.classes))
        if p * len(compared) < LEVEL and bits > BITS:
            found.append(Pair(a, b, bits, p))
    return tuple(sorted(found, key=lambda pair: -pair.bits)), len(compared)


def bins_for(rows: int, classes: int) -> int:
    """Return how many bins leave ten rows per degree of freedom; 0 if there are too few rows."""
    return next((b for b in (BINS, 3, 2) if rows >= 10 * classes * (b - 1) ** 2), 0)


def columns_in_bins(raw: Any, names: tuple[str, ...], bins: int) -> dict[str, NDArray[np.int64]]:
    """Return the bins of each column as codes from 0; leave out texts and constant columns."""
    if isinstance(raw, Frame):
        kinds = zip(raw.columns, (column.name for column in raw.plan.used), strict=True)
        columns = {
            name: values for values, name in kinds if isinstance(values, np.ndarray | Values)
        }
    elif isinstance(raw, np.ndarray) and raw.ndim == 2:
        columns = {name: raw[:, j] for j, name in enumerate(names)}
    else:
        return {}
    made = {name: in_bins(values, bins) for name, values in columns.items()}
    return {name: codes for name, codes in made.items() if codes.max(initial=0) > 0}


def in_bins(values: Any, bins: int) -> NDArray[np.int64]:
    """Cut numbers at quantiles; keep the most frequent categories and pool the others."""
    if isinstance(values, Values) or values.dtype.kind == "O":
        codes = values.codes + 1 if isinstance(values, Values) else labels.factorize(values)[1]
        common = np.argsort(-np.bincount(codes), kind="stable")[: bins - 1]
        place = np.full(codes.max() + 1, len(common))
        place[common] = np.arange(len(common))
        return place[codes]
    missing = np.isnan(values)
    if missing.all():
        return np.zeros(len(values), np.int64)
    edges = np.unique(np.nanquantile(values, np.arange(1, bins) / bins))
    codes = np.searchsorted(edges, values, side="right")
    codes[missing] = len(edges) + 1
    return labels.factorize(codes)[1]


def information(codes: NDArray[np.int64], y: NDArray[Any]) -> float:
    """Return the mutual information of a column and the class in bits, corrected for chance."""
    return conditional_information(codes, y, np.zeros_like(codes), 1)[0]


def conditional_information(
    a: NDArray[np.int64], b: NDArray[np.int64], y: NDArray[Any], K: int
) -> tuple[float, float]:
    """Return I(a; b | y) in bits, corrected for chance, and the p-value of a χ² test.

    χ² is the sum over classes of Pearson's statistic times (N - 1)/N, where N is the number of rows
    of the class. With this factor its mean is right even if a class has few rows.
    """
    rows, wide, high = len(y), int(a.max()) + 1, int(b.max()) + 1
    table = np.bincount((y * wide + a) * high + b, minlength=K * wide * high)
    n = table.reshape(K, wide, high).astype(float)
    by_a, by_b, of_class = n.sum(axis=2), n.sum(axis=1), n.sum(axis=(1, 2))
    freedom = float(
        (((by_a > 0).sum(axis=1) - 1).clip(0) * ((by_b > 0).sum(axis=1) - 1).clip(0)).sum()
    )
    if freedom == 0:
        return 0.0, 1.0
    expected = by_a[:, :, None] * by_b[:, None, :] / np.maximum(of_class, 1)[:, None, None]
    seen = n > 0
    G = 2 * float((n[seen] * np.log(n[seen] / expected[seen])).sum())
    bits = max(G - freedom, 0.0) / (2 * rows * np.log(2))
    there = expected > 0
    cells = np.divide((n - expected) ** 2, expected, out=np.zeros_like(n), where=there)
    scale = (of_class - 1) / np.maximum(of_class, 1)
    return bits, float(chdtrc(freedom, float(cells.sum(axis=(1, 2)) @ scale)))


def of_pairs(found: tuple[Pair, ...], compared: int, generative: str) -> str:
    if not found:
        return (
            f"None of the {compared:,} pairs of columns clearly shares more than {BITS} bits of "
            "information given the class."
        )
    listed = ", ".join(
        f"{pair.first!r} and {pair.second!r} ({pair.bits:.2f} bits)" for pair in found[:SHOWN]
    )
    naive = generative != "GDA"
    so = "naive Bayes counts shared information twice" if naive else "Σ models linear dependence"
    return (
        f"{len(found):,} of {compared:,} pairs of columns depend on each other given the class: "
        f"{listed}; {so}."
    )
