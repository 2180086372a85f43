"""Store a covariance as a matrix, or as rows A with Σ = AᵀA + diag(t).

Symbols: n columns, r rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from genus.solve.normal import Array, Factor, SingularCovarianceError


@dataclass(frozen=True, eq=False)
class Table:
    """Σ as a matrix (n, n)."""

    matrix: Array

    @property
    def variance(self) -> Array:
        """The diagonal of Σ, (n,)."""
        return np.diagonal(self.matrix)

    def square(self, scale: Array) -> float:
        """Return the sum of squares of Σ_jl / (scale_j scale_l)."""
        return float(np.sum((self.matrix / scale[:, None] / scale) ** 2))

    def plus(self, share: float, diagonal: Array) -> Table:
        """Return `share` times Σ, with `diagonal` (n,) added to its diagonal."""
        return Table(share * self.matrix + np.diag(diagonal))

    def of_columns(self, columns: NDArray[np.bool_]) -> Table:
        """Return the covariance of some columns."""
        return Table(self.matrix[np.ix_(columns, columns)])

    def factor(self, whose: str = "") -> Factor:
        """Factorise Σ, or raise an error that names the columns responsible."""
        return Factor.of(self.matrix, "", whose)


@dataclass(frozen=True, eq=False)
class Rows:
    """Σ = AᵀA + diag(t), where A (r, n) has fewer rows than columns, and t is (n,)."""

    rows: Array
    diagonal: Array

    @property
    def matrix(self) -> Array:
        """Σ as a matrix (n, n)."""
        return self.rows.T @ self.rows + np.diag(self.diagonal)

    @property
    def variance(self) -> Array:
        """The diagonal of Σ, (n,)."""
        return np.einsum("ij,ij->j", self.rows, self.rows) + self.diagonal

    def square(self, scale: Array) -> float:
        """Return the sum of the squares of Σ_jl / (scale_j scale_l), without the diagonal t.

        It is computed as |AAᵀ|² = |AᵀA|².
        """
        scaled = self.rows / scale
        return float(np.sum((scaled @ scaled.T) ** 2))

    def plus(self, share: float, diagonal: Array) -> Rows:
        """Return `share` times Σ, with `diagonal` (n,) added to its diagonal."""
        rows = self.rows if share == 1 else np.sqrt(share) * self.rows
        return Rows(rows, share * self.diagonal + diagonal)

    def of_columns(self, columns: NDArray[np.bool_]) -> Rows:
        """Return the covariance of some columns."""
        return Rows(self.rows[:, columns], self.diagonal[columns])

    def factor(self, whose: str = "") -> RowFactor:
        """Factorise Σ, or raise an error that there are too few rows."""
        limit = 4 * np.finfo(float).eps * len(self.diagonal) * self.variance
        if not ((self.diagonal > limit) & (self.diagonal > 0)).all():
            raise SingularCovarianceError(
                f"The covariance matrix{whose} is not full rank: it has {len(self.diagonal)} "
                f"columns, estimated from {len(self.rows)} rows."
            )
        return RowFactor.of(self)


Covariance = Table | Rows


def average(parts: Sequence[Covariance], shares: Array) -> Covariance:
    """Return the mean of covariances, weighted by `shares`."""
    rows = [
        (np.sqrt(share) * part.rows, share * part.diagonal)
        for part, share in zip(parts, shares, strict=True)
        if isinstance(part, Rows)
    ]
    if len(rows) == len(parts):
        return Rows(np.vstack([one for one, _ in rows]), np.sum([t for _, t in rows], axis=0))
    weighed = [share * part.matrix for part, share in zip(parts, shares, strict=True)]
    return Table(np.sum(weighed, axis=0))


@dataclass(frozen=True, eq=False)
class RowFactor:
    """The covariance AᵀA + T of `Rows`, T = diag(t), as Σ = √T (I + V Λ Vᵀ) √T.

    With C = A/√T, CCᵀ = UΛUᵀ (r, r) with q nonzero eigenvalues, and V = CᵀU/√Λ (n, q). V is as
    large as C, so it is not stored: `rows` is C, and `turn` is U/√Λ (r, q). `root` is √t (n,),
    `values` are λ (q,), and `scale` holds the standard deviations (n,). The error of Σ⁻¹ is a
    float's rounding error times the largest λ, as for every inverse of Σ.
    """

    root: Array
    values: Array
    rows: Array
    turn: Array
    scale: Array

    @classmethod
    def of(cls, covariance: Rows) -> RowFactor:
        root = np.sqrt(covariance.diagonal)
        scaled = covariance.rows / root
        values, vectors = np.linalg.eigh(scaled @ scaled.T)
        least = len(values) * np.finfo(float).eps * values.max(initial=0.0)
        kept = values > least
        values = values[kept]
        turn = vectors[:, kept] / np.sqrt(values)
        return cls(root, values, scaled, turn, np.sqrt(covariance.variance))

    def whiten(self, z: Array) -> Array:
        """Return W zᵀ, where WᵀW = Σ⁻¹, for rows z (m, n), as (n, m)."""
        return self._scaled(z / self.root, 1 / np.sqrt(1 + self.values)).T

    def unwhiten(self, w: Array) -> Array:
        """Apply the transpose of `whiten` to columns w (n, m); return rows (m, n)."""
        return self._scaled(w.T, 1 / np.sqrt(1 + self.values)) / self.root

    def solve(self, z: Array) -> Array:
        """Return Σ⁻¹ z for rows z (m, n), as (m, n)."""
        return self._scaled(z / self.root, 1 / (1 + self.values)) / self.root

    def colour(self, noise: Array) -> Array:
        """Turn rows of standard normal numbers (m, n) into rows with covariance Σ."""
        return self._scaled(noise, np.sqrt(1 + self.values)) * self.root

    def _scaled(self, z: Array, by: Array) -> Array:
        """Return rows z with their components along V scaled."""
        along = z @ self.rows.T @ self.turn
        return z + (along * (by - 1)) @ self.turn.T @ self.rows

    @cached_property
    def inverse(self) -> Array:
        """Σ^(-½), transposed, (n, n)."""
        return self.whiten(np.eye(len(self.root))).T

    @property
    def log_determinant(self) -> float:
        return float(2 * np.log(self.root).sum() + np.log1p(self.values).sum())
