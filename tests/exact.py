"""Gaussian discriminant analysis in fractions: slow, and without rounding.

Floats are fractions, and so are means, covariances and (x - μ)ᵀ Σ⁻¹ (x - μ) of floats. Only the
logarithms at the end are rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

Vector = list[Fraction]
Square = list[Vector]


def fractions(x: Any) -> Vector:
    return [Fraction(float(value)) for value in x]


def floats(values: Any) -> np.ndarray:
    """Nested lists of fractions as an array, each rounded once."""
    return np.array(np.vectorize(float)(np.array(values, dtype=object)), dtype=np.float64)


def log(value: Fraction) -> float:
    """The logarithm of a fraction of any size."""
    return math.log(value.numerator) - math.log(value.denominator)


def diagonal_of(matrix: Square) -> Square:
    """The matrix with zeros off its diagonal."""
    return [[v if i == j else Fraction(0) for j, v in enumerate(r)] for i, r in enumerate(matrix)]


def eliminate(matrix: Square, vector: Vector) -> tuple[Vector, Fraction]:
    """matrix⁻¹ vector and the determinant of a positive definite matrix."""
    rows = [[*row, value] for row, value in zip(matrix, vector, strict=True)]
    determinant = Fraction(1)
    for i, row in enumerate(rows):
        pivot = row[i]
        determinant *= pivot
        rows[i] = [value / pivot for value in row]
        for k, other in enumerate(rows):
            if k != i:
                factor = other[i]
                rows[k] = [a - factor * b for a, b in zip(other, rows[i], strict=True)]
    return [row[-1] for row in rows], determinant


class ExactGDA:
    """Maximum likelihood, or with the divisor m - K (m_k - 1) if `unbiased`; classes 0 … K - 1."""

    def __init__(
        self,
        X: Any,
        y: Any,
        shared: bool = True,
        diagonal: bool = False,
        unbiased: bool = False,
    ) -> None:
        X, y = [fractions(x) for x in X], [int(label) for label in y]
        self.n, K, m = len(X[0]), max(y) + 1, len(y)
        of_class = [[x for x, label in zip(X, y, strict=True) if label == k] for k in range(K)]
        self.priors = [Fraction(len(rows), m) for rows in of_class]
        self.means = [
            [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
            for rows in of_class
        ]
        scatters = [self._scatter(rows, μ) for rows, μ in zip(of_class, self.means, strict=True)]
        if diagonal:
            scatters = [diagonal_of(S) for S in scatters]
        if shared:
            total = [
                [sum(cells, Fraction(0)) for cells in zip(*rows, strict=True)]
                for rows in zip(*scatters, strict=True)
            ]
            divisor = m - K * unbiased
            self.covariances = [[[s / divisor for s in row] for row in total]] * K
        else:
            self.covariances = [
                [[s / (len(rows) - unbiased) for s in row] for row in S]
                for S, rows in zip(scatters, of_class, strict=True)
            ]

    def _scatter(self, rows: list[Vector], mean: Vector) -> Square:
        z = [[a - b for a, b in zip(x, mean, strict=True)] for x in rows]
        return [
            [sum((d[i] * d[j] for d in z), Fraction(0)) for j in range(self.n)]
            for i in range(self.n)
        ]

    def squared(self, x: Any, k: int) -> tuple[Fraction, Fraction]:
        """(x - μ_k)ᵀ Σ_k⁻¹ (x - μ_k) and |Σ_k|."""
        d = [a - b for a, b in zip(fractions(x), self.means[k], strict=True)]
        solved, determinant = eliminate(self.covariances[k], d)
        return sum((a * b for a, b in zip(d, solved, strict=True)), Fraction(0)), determinant

    def log_joint(self, X: Any) -> np.ndarray:
        """log p(x, y), (m, K)."""
        constant = self.n * math.log(2 * math.pi)
        return np.array(
            [
                [
                    -0.5 * (float(squared) + log(determinant) + constant) + log(prior)
                    for (squared, determinant), prior in zip(
                        (self.squared(x, k) for k in range(len(self.means))),
                        self.priors,
                        strict=True,
                    )
                ]
                for x in X
            ]
        )

    def log_posterior(self, X: Any) -> np.ndarray:
        """log p(y|x), (m, K): what is large is subtracted before it is rounded."""
        out = []
        for x in X:
            terms = [self.squared(x, k) for k in range(len(self.means))]
            least = min(squared for squared, _ in terms)
            joint = np.array(
                [
                    -0.5 * (float(squared - least) + log(determinant)) + log(prior)
                    for (squared, determinant), prior in zip(terms, self.priors, strict=True)
                ]
            )
            joint -= joint.max()
            out.append(joint - np.log(np.exp(joint).sum()))
        return np.array(out)
