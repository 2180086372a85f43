"""A linear expert over all columns of a wide table, solved from the sample of rows.

Pairs of cells are counted for 111 columns of numbers at most, and for fewer if there are many
classes. If a table has more, none of them is counted in pairs. The product of families sees them
all, but if several columns hold the same information, it counts this several times. This expert
sees all columns, and how they depend on each other. It is linear discriminant analysis of the rows
in the sample, with a shrunk covariance:

    x|k ~ N(μ_k, Σ),   Σ = S + λI,   S = AᵀA / (N - K)

where the rows of A are the rows of the sample minus the mean of their class, multiplied by the root
of their weight. Features are the numbers, standardised and cut off at ±4, and an indicator of each
category.

Such scores are far too confident if there are many features, so they are multiplied by the
temperature τ that has the lowest log loss out of fold.

The score is a sum over columns: each gets an equal share of the constant of a class. The part of a
missing value is left out. So the parts are exact Shapley values.

Like the boosted trees, the expert depends only on the sample. If rows are left out of the
statistics, the expert is solved again, without these rows.

Symbols: m rows, n columns, K classes, d features, N weight of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import softmax

from genus.arrays.matrix import Codes, blas_threads_for, class_weights
from genus.stacking.dealing import thinned
from genus.stacking.stack import shares
from genus.statistics import Array, divide
from genus.statistics.sample import Sample
from genus.table import Frame, Plan
from genus.table.model.counts import name_keys
from genus.table.plan import CONSTANT, MOST_PAIRED

NAME = "linear, all columns"
RIDGE = 1.0  # λ, as large as the variance of a number
FARTHEST = 4.0  # standard deviations at which numbers are cut off
DRAWN = 1.0  # rows by which a class mean is shrunk towards the mean of all rows
MOST_NUMBERS = 1 << 24  # features times rows; with more features, fewer rows are used
COLDEST, HOTTEST = -12.0, 3.0  # logarithms of the temperatures to choose from
STEPS = 24  # of the bisection that finds the temperature
TOGETHER = 256  # columns of numbers that are scored at a time


def is_wide(plan: Plan) -> bool:
    """Return whether some columns are not counted in pairs, for lack of room for their counts."""
    return any(
        not column.paired
        and column.kind in ("number", "category")
        and (CONSTANT not in column.note if column.kind == "number" else column.is_ordinary)
        for column in plan.used
    )


@dataclass(frozen=True, eq=False)
class Features:
    """The features of n columns; column j has those from starts[j] to starts[j + 1].

    A number minus its `centre` is divided by its `scale`. A category has an indicator for each of
    its `keys`, minus the `centre`. All are (d,); the keys of numbers are 0.
    """

    starts: NDArray[np.int64]
    centre: Array
    scale: Array
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, X: Frame, weight: Array) -> Features:
        """Choose the features of a table; texts and columns of many categories have none."""
        parts = [(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))]
        for column, values in zip(X.plan.used, X.columns, strict=True):
            if column.kind == "number":
                parts.append((*standard(values, weight), np.zeros(1, dtype=np.int64)))
            elif column.kind == "category" and len(values.names) <= MOST_PAIRED:
                own = name_keys(values.names)
                keys, there = np.unique(own), values.codes >= 0
                at = np.searchsorted(keys, own)[values.codes[there]]
                share = np.bincount(at, weight[there], len(keys))
                parts.append((share / max(share.sum(), 1e-300), np.ones(len(keys)), keys))
            else:
                parts.append(parts[0])
        centre, scale, keys = (np.concatenate(part) for part in zip(*parts, strict=True))
        starts = np.cumsum([len(keys) for *_, keys in parts], dtype=np.int64)
        return cls(starts, centre, scale, keys)

    @property
    def columns(self) -> int:
        """The number of columns that have features."""
        return int(np.count_nonzero(np.diff(self.starts)))

    def of_numbers(self, x: Array, at: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the features `at` of numbers, and which of them are known, (m, some) each."""
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.clip((x - self.centre[at]) / self.scale[at], -FARTHEST, FARTHEST)
        there = ~np.isnan(z)
        return np.where(there, z, 0.0), there

    def of_names(self, values: Any, own: slice) -> tuple[Array, NDArray[np.bool_]]:
        """Return the features `own` of categories, (m, some), and which are known, (m, 1)."""
        same = np.append(name_keys(values.names), -1)[values.codes, None] == self.keys[own]
        there = same.any(axis=1, keepdims=True)
        return np.where(there, same - self.centre[own], 0.0), there

    def of_rows(self, X: Frame) -> Array:
        """Return the features of rows, (m, d)."""
        out = np.empty((len(X), len(self.centre)))
        for own, φ, _ in self.blocks(X):
            out[:, own] = φ
        return out

    def blocks(self, X: Frame) -> Iterator[tuple[Any, Array, NDArray[np.bool_]]]:
        """Yield the positions and values of features, and which are known, some columns at a time.

        Columns of categories that a scorer has encoded are passed over.
        """
        used = X.plan.used
        numbers = [j for j, column in enumerate(used) if column.kind == "number"]
        for first in range(0, len(numbers), TOGETHER):
            some = numbers[first : first + TOGETHER]
            at = self.starts[some]
            yield at, *self.of_numbers(np.stack([X.columns[j] for j in some], axis=1), at)
        for j, column in enumerate(used):
            own = slice(*self.starts[j : j + 2].tolist())
            is_encoded = isinstance(X.columns[j], np.ndarray)
            if column.kind == "category" and own.start < own.stop and not is_encoded:
                yield own, *self.of_names(X.columns[j], own)


def standard(values: Array, weight: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of the known numbers, (1,) each."""
    there = ~np.isnan(values)
    x, w = values[there], weight[there]
    if not w.any():
        return np.zeros(1), np.ones(1)
    unit = float(np.abs(x).max()) or 1.0  # so that no square overflows
    x, w = x / unit, w / w.sum()
    mean = float(w @ x)
    spread = float(np.sqrt(w @ (x - mean) ** 2)) * unit
    return np.array([mean * unit]), np.array([spread if spread > 0 else 1.0])


@dataclass(frozen=True, eq=False)
class WideLinear:
    """The scores of a row: its features times `slope` (d, K), plus `share` (K,) per known column.

    `origin` identifies the rows and the grids from which both were solved.
    """

    features: Features
    slope: Array
    share: Array
    origin: str = ""

    @classmethod
    def solved(cls, features: Features, φ: Array, y: Codes, w: Array, K: int) -> WideLinear:
        """Solve the expert from the features (m, d) of rows with classes y and weights w."""
        m, d = φ.shape
        weights = class_weights(y, w, K)[:, 0]
        sums = csr_array((w, (y, np.arange(m))), (K, m)) @ φ
        A = φ - divide(sums, weights[:, None])[y]
        A *= np.sqrt(w / max(weights.sum() - np.count_nonzero(weights), 1.0))[:, None]
        μ = sums / (weights + DRAWN)[:, None]
        if m < d:  # (AᵀA + λI)⁻¹ = (I - Aᵀ (AAᵀ + λI)⁻¹ A) / λ
            slope = (μ.T - A.T @ np.linalg.solve(A @ A.T + RIDGE * np.eye(m), A @ μ.T)) / RIDGE
        else:
            slope = np.linalg.solve(A.T @ A + RIDGE * np.eye(d), μ.T)
        constant = -0.5 * np.einsum("kd,dk->k", μ, slope)
        return cls(features, slope, constant / max(features.columns, 1))

    def check(self, plan: Plan) -> None:
        """Raise an error unless the numbers of features fit the kinds of columns in a plan."""
        sizes = np.diff(self.features.starts).tolist()
        kinds = [column.kind for column in plan.used]
        expected = {"number": (1, 1), "category": (0, MOST_PAIRED), "text": (0, 0)}
        if len(sizes) != len(kinds) or not all(
            expected[kind][0] <= size <= expected[kind][1]
            for kind, size in zip(kinds, sizes, strict=True)
        ):
            raise ValueError(
                f"The linear expert of this model does not match its {len(kinds)} columns: its "
                "file is damaged. Restore it from a copy, or fit again."
            )

    def times(self, temperature: float, origin: str) -> WideLinear:
        """Return the expert with its scores multiplied by a temperature."""
        slope, share = self.slope * temperature, self.share * temperature
        return replace(self, slope=slope, share=share, origin=origin)

    def score(self, X: Frame) -> Array:
        """Return the scores of rows, (m, K)."""
        total = np.zeros((len(X), len(self.share)))
        for own, φ, there in self.features.blocks(X):
            total += φ @ self.slope[own] + np.outer(there.sum(axis=1), self.share)
        return total

    def column(self, j: int, values: Any) -> Array:
        """Return the part of the scores that is due to column j, (m, K)."""
        own = slice(*self.features.starts[j : j + 2].tolist())
        if own.start == own.stop:
            return np.zeros((len(values), len(self.share)))
        if isinstance(values, np.ndarray):
            at = np.array([own.start])
            φ, there = self.features.of_numbers(values[:, None], at)
        else:
            φ, there = self.features.of_names(values, own)
        return np.asarray(φ @ self.slope[own] + there * self.share)


def origin(sample: Sample, plan: Plan) -> str:
    """Return a digest of a sample's rows and of the grids of a plan's columns."""
    grids = np.array([(column.grid.step, column.grid.bits) for column in plan.used])
    arrays = sample.hashes, sample.codes, sample.weights, grids
    return blake2b(b"".join(a.tobytes() for a in arrays), digest_size=16).hexdigest()


def solve(
    X: Frame, y: Codes, weight: Array, fold: Codes, K: int, folds: int, origin: str
) -> tuple[WideLinear, Array]:
    """Solve the expert from the rows of a sample; return it and its out-of-fold scores, (m, K)."""
    features = Features.of(X, weight)
    taught = thinned(len(y), MOST_NUMBERS // max(len(features.centre), 1), folds)
    φ, own, w = features.of_rows(X[np.flatnonzero(taught)]), y[taught], weight[taught]
    scores, known = np.zeros((len(y), K)), np.zeros(len(y), dtype=bool)
    with blas_threads_for(φ.shape):
        for f in range(folds):
            test, rest = fold == f, fold[taught] != f
            left = WideLinear.solved(features, φ[rest], own[rest], w[rest], K)
            scores[test] = left.score(X[np.flatnonzero(test)])
            known[test] = np.isin(y[test], own[rest])
        share = np.log(shares(y, weight, K))
        τ = temperature(scores[known], y[known], weight[known], share)
        return WideLinear.solved(features, φ, own, w, K).times(τ, origin), scores * τ


def temperature(F: Array, y: Codes, weight: Array, log_share: Array) -> float:
    """Return the τ with the lowest log loss of softmax(τF + log share), by bisection.

    The loss is convex; its derivative is Σ w (E_p[F] - F_y).

    >>> F = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> round(temperature(F, np.array([0, 0, 1, 1]), np.ones(4), np.zeros(2)), 3)  # log(3) / 4
    0.275
    """
    low, high = COLDEST, HOTTEST
    own = F[np.arange(len(y)), y]
    for _ in range(STEPS):
        middle = (low + high) / 2
        mean = (softmax(np.exp(middle) * F + log_share, axis=1) * F).sum(axis=1)
        low, high = (low, middle) if weight @ (mean - own) > 0 else (middle, high)
    return float(np.exp(low))
