"""Count pairs of values, for families in which each column has one parent.

    p(v|k) = (n_vk + α) / (n_k + α V)        p(v|u, k) = (n_uvk + α) / (n_uk + α V)

n_vk counts rows of class k with value v, n_uvk those that also have value u in another column; n_k
and n_uk count rows in which the column of v is not missing, and V is the number of its values.

Symbols: m rows, n columns, K classes, B values of all columns together, u and v values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus._kernel import tally_pairs
from genus.arrays import labels
from genus.arrays.labels import Axis
from genus.arrays.matrix import Codes, InvalidColumn, Matrix, threads
from genus.families.categorical import factorize, refuse_other_kind, whole_range
from genus.statistics import Array, Pairs

MOST_PAIRS = 1 << 28  # of values, by class
Cells = NDArray[np.uint16]  # (n, m): the value of each column; B if it is unknown


@dataclass(frozen=True, eq=False)
class PairTables:
    """Counts and probabilities of the values `keys` of each column, by class.

    The values of column j are numbered from starts[j] on. `counts` (K, B, B) is the number of rows
    with each pair of values, and `pseudo_count` is α.
    """

    keys: tuple[Axis, ...]
    starts: NDArray[np.int64]
    counts: Array
    pseudo_count: float

    @classmethod
    def of(cls, pairs: Pairs, classes: Axis, width: int, pseudo_count: float) -> PairTables:
        """Return the tables of counts, without missing values."""
        keys = pairs.keys or (labels.empty_axis(),) * width
        sizes = [len(axis) for axis in keys]
        starts = np.cumsum([0, *sizes], dtype=np.int64)
        if not pairs.keys:
            return cls(keys, starts, np.zeros((len(classes), 0, 0)), pseudo_count)
        kept = np.ones(int(pairs.starts[-1]), dtype=bool)
        kept[pairs.starts[:-1]] = False
        counts = pairs.align(classes)[:, kept][:, :, kept]
        return cls(keys, starts, np.ascontiguousarray(counts), pseudo_count)

    @property
    def width(self) -> int:
        """n, the number of columns."""
        return len(self.keys)

    @cached_property
    def column(self) -> NDArray[np.intp]:
        """The column of each value, (B,)."""
        return np.repeat(np.arange(self.width), np.diff(self.starts))

    @cached_property
    def known(self) -> Array:
        """n_uk, (K, B, n): the number of rows with the value u in which the column is known."""
        own = (self.column[:, None] == np.arange(self.width)).astype(np.float64)
        return self.counts @ own

    @cached_property
    def single(self) -> Array:
        """n_vk, (K, B)."""
        return np.einsum("kvv->kv", self.counts)

    @cached_property
    def alone(self) -> Array:
        """log p(v|k), (B + 1, K); zero for an unknown value."""
        sizes = np.diff(self.starts)[self.column]
        total = np.zeros((len(self.counts), self.width))
        np.add.at(total.T, self.column, self.single.T)
        α = self.pseudo_count
        p = (self.single + α) / (total[:, self.column] + α * sizes)
        table = np.zeros((len(self.column) + 1, len(self.counts)))
        table[:-1] = np.log(p).T
        return table

    @cached_property
    def table(self) -> Array:
        """log p(v|u, k) by u and v, (B + 1, B + 1, K), with log p(v|k) on the diagonal."""
        B, sizes = len(self.column), np.diff(self.starts)[self.column]
        α = self.pseudo_count
        p = (self.counts + α) / (self.known[:, :, self.column] + α * sizes)
        table = np.zeros((B + 1, B + 1, len(self.counts)))
        table[:B, :B] = np.log(p).transpose(1, 2, 0)
        table[np.arange(B + 1), np.arange(B + 1)] = self.alone
        return table

    def cells(self, X: Matrix) -> Cells:
        """Return the position of each value among all B, (n, m); B if it is missing or unseen."""
        unknown = len(self.column)
        found = np.empty((self.width, len(X)), dtype=np.uint16)
        refuse_no_values(X)
        for j, known in enumerate(self.keys):
            axis, codes = factorize(X[:, j], j)
            refuse_other_kind(axis, known, j)
            at = labels.find(axis, known)
            at = np.append(np.where(at < 0, unknown, at + self.starts[j]), unknown)
            found[j] = at[codes]
        return found

    def values(self, cells: Cells) -> NDArray[Any]:
        """Return rows (m, n) that have these values."""
        columns: list[NDArray[Any]] = [
            axis[own.astype(np.int64) - start] if len(axis) else np.full(len(own), np.nan)
            for axis, own, start in zip(self.keys, cells, self.starts, strict=False)
        ]
        if all(values.dtype.kind in "biuf" for values in columns):
            return np.stack(columns, axis=1)
        table = np.empty((cells.shape[1], self.width), dtype=object)
        for j, values in enumerate(columns):
            table[:, j] = values
        return table

    def without(self, cells: Cells, y: Codes, w: Array, parents: NDArray[np.intp]) -> Array:
        """Return log p(v_j|u, k) of each row for its own class k, (m, n), without counting the row.

        u is the row's value of column parents[j]; if that is j itself, the result is log p(v_j|k).
        A row with a value that is not known, or that no other row has, gets NaN.
        """
        unknown, sizes = len(self.column), np.diff(self.starts)
        total = np.append(self.single.sum(axis=0), 0.0)
        known = (cells < unknown).all(axis=0) & (total[cells] > w * (1 + 1e-9)).all(axis=0)
        out = np.full((len(y), self.width), np.nan)
        rows = np.flatnonzero(known)
        k, own, wi = y[rows], cells[:, rows].astype(np.intp), w[rows]
        whole = np.zeros((len(self.counts), self.width))
        np.add.at(whole.T, self.column, self.single.T)
        for j, i in enumerate(parents):
            n_uv = self.counts[k, own[i], own[j]]
            n_u = whole[k, j] if i == j else self.known[k, own[i], j]
            left = np.maximum(n_uv - wi, 0) + self.pseudo_count
            out[rows, j] = np.log(left / (np.maximum(n_u - wi, 0) + self.pseudo_count * sizes[j]))
        return out


def count_values(X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Pairs:
    """Count rows by class and by the values of each pair of columns."""
    if X.shape[1] == 0:
        return Pairs()
    refuse_no_values(X)
    columns = [factorize(X[:, j], j) for j in range(X.shape[1])]
    sizes = [1 + len(axis) for axis, _ in columns]
    if len(classes) * sum(sizes) ** 2 > MOST_PAIRS or max(sizes) > np.iinfo(np.uint16).max:
        j = int(np.argmax(sizes))
        raise InvalidColumn(
            j,
            f"holds {sizes[j] - 1} different values, and all columns together "
            f"{sum(sizes) - len(sizes)}, which have too many pairs to count. Leave it out, or "
            "cut it into bins with Discretizer.",
        )
    codes = np.empty((len(columns), len(y)), dtype=np.uint16)
    for j, (_, own) in enumerate(columns):
        codes[j] = own + 1  # 0 is for missing values
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    counts = tally_pairs(codes, y, weight, offsets, len(classes), threads())
    return Pairs.of(classes, tuple(axis for axis, _ in columns), counts)


def refuse_no_values(X: Matrix) -> None:
    """Raise an error if numbers are negative or infinite, because they cannot be categories."""
    if X.dtype.kind in "biuf":
        whole_range(X)


def draw(p: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a value for each row of probabilities (m, V)."""
    below = np.cumsum(p, axis=1)
    return np.asarray((rng.random((len(p), 1)) * below[:, -1:] > below).sum(axis=1))
