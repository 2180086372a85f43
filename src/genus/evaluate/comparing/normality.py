"""Test whether the classes are normal, and whether they share one Σ.

Normality is tested by D'Agostino & Pearson's test of each column, and by Mardia's (1970) kurtosis
of each class: the mean b of d⁴, where d² = (x - μ)ᵀ Σ⁻¹ (x - μ). If x is normal, b is about n(n +
2). Equality of Σ is tested by Box's (1949) M. Its effect size is the ratio of the standard
deviations of a class and of all classes, in the direction where it differs most from 1.

Symbols: m rows, n columns, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr
from scipy.stats import kurtosis, normaltest, skew

from genus.arrays import labels
from genus.evaluate.comparing.findings import LEVEL, p_told
from genus.statistics import Array

FEWEST = 20  # rows of a class for a test
SKEW, TAILS, SPREAD = 0.5, 1.0, 1.25  # larger values are more than slight


@dataclass(frozen=True)
class Normality:
    """How normal a class is.

    `kurtosis` is b divided by its expected value for normal rows. `column` is the least normal
    column, with its `skewness` and its `excess` kurtosis.
    """

    label: Any
    rows: int
    kurtosis: float
    p_value: float
    column: str
    skewness: float
    excess: float

    @property
    def is_near(self) -> bool:
        slight = abs(self.skewness) < SKEW and abs(self.excess) < TAILS
        return slight or self.p_value > LEVEL


@dataclass(frozen=True)
class Covariances:
    """Whether classes share one Σ: Box's M, and the class that differs most.

    In some direction, the standard deviation of class `label` is `times` the pooled one.
    """

    p_value: float
    label: Any
    times: float
    separate: tuple[float, float] | None = None

    @property
    def is_near(self) -> bool:
        return self.p_value > LEVEL or 1 / SPREAD < self.times < SPREAD


def complete(X: Array, y: NDArray[Any], names: tuple[str, ...]) -> tuple[Array, Any, list[str]]:
    """Return the complete rows, scaled, in the columns that vary; their classes; and the names."""
    whole = ~np.isnan(X).any(axis=1)
    X, y = X[whole], y[whole]
    varies = X.std(axis=0) > 0 if len(X) else np.zeros(X.shape[1], bool)
    X = X[:, varies]
    kept = [name for name, there in zip(names, varies, strict=True) if there]
    return ((X - X.mean(axis=0)) / X.std(axis=0) if len(X) else X), y, kept


def normalities(
    X: Array, y: NDArray[Any], classes: NDArray[Any], names: list[str]
) -> list[Normality]:
    """Return the normality of each class that has enough rows."""
    found = []
    n = X.shape[1]
    for k, label in enumerate(classes):
        own = X[y == k]
        varies = own.std(axis=0) > 1e-9 if len(own) else np.zeros(n, bool)
        if len(own) < FEWEST or not varies.any():
            continue
        own = own[:, varies]
        kept = [name for name, there in zip(names, varies, strict=True) if there]
        lean, tails = skew(own, axis=0), kurtosis(own, axis=0)
        p = float(normaltest(own, axis=0).pvalue.min() * own.shape[1])
        ratio = np.nan
        if len(own) > 3 * own.shape[1]:
            width = own.shape[1]
            d = mahalanobis(own, np.cov(own.T, bias=True).reshape(width, width))
            expected = width * (width + 2) * (len(own) - 1) / (len(own) + 1)
            ratio = float(np.mean(d**2) / expected)
            deviation = np.sqrt(8 * width * (width + 2) / len(own))
            z = abs(np.mean(d**2) - expected) / deviation
            p = 2 * min(p, float(2 * ndtr(-z)))  # twice the smaller of two p-values
        worst = int(np.argmax(np.maximum(np.abs(lean) / SKEW, np.abs(tails) / TAILS)))
        found.append(
            Normality(
                label,
                len(own),
                ratio,
                min(p, 1.0),
                kept[worst],
                float(lean[worst]),
                float(tails[worst]),
            )
        )
    return found


def mahalanobis(X: Array, covariance: Array) -> Array:
    """Return each row's d² from the mean, (m,); directions without variance are ignored."""
    values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
    there = values > values.max() * 1e-10
    z = (X - X.mean(axis=0)) @ vectors[:, there] / np.sqrt(values[there])
    return np.einsum("ij,ij->i", z, z)


def pooled(X: Array, y: NDArray[Any], K: int) -> tuple[Array, list[Array], NDArray[np.int64]]:
    """Return the unbiased pooled Σ, the Σ of each class, and the number of rows of each class."""
    n = X.shape[1]
    number = np.bincount(y, minlength=K)
    each = [
        np.cov(X[y == k].T).reshape(n, n) if number[k] > 1 else np.zeros((n, n)) for k in range(K)
    ]
    scatter = sum((number[k] - 1) * each[k] for k in range(K) if number[k] > 1)
    return np.asarray(scatter) / max(number.sum() - K, 1), each, number


def equal_covariances(X: Array, y: NDArray[Any], classes: NDArray[Any]) -> Covariances | None:
    """Test with Box's M whether the classes with enough rows share one Σ.

    Return None if there are fewer than two such classes, or if a Σ is singular.
    """
    n = X.shape[1]
    counts = np.bincount(y, minlength=len(classes))
    used = np.flatnonzero(counts > max(3 * n, FEWEST))
    if len(used) < 2:
        return None
    rows = np.isin(y, used)
    own = np.searchsorted(used, y[rows])
    Σ, each, number = pooled(X[rows], own, len(used))
    signs, logs = np.linalg.slogdet(np.array([Σ, *each]))
    if (signs <= 0).any() or logs.min() < -30 * n:
        return None
    v = number - 1
    M = v.sum() * logs[0] - v @ logs[1:]
    c = (np.sum(1 / v) - 1 / v.sum()) * (2 * n * n + 3 * n - 1) / (6 * (n + 1) * (len(used) - 1))
    freedom = n * (n + 1) * (len(used) - 1) / 2
    p = float(chdtrc(freedom, max(M * (1 - c), 0.0)))
    # Ratios in directions in which the pooled variance is 1; by chance alone they are 1 ± √(n/m).
    whitening = np.linalg.inv(np.linalg.cholesky(Σ))
    far = []
    for k, own_Σ, m in zip(used, each, number, strict=True):
        values = np.sqrt(np.linalg.eigvalsh(whitening @ own_Σ @ whitening.T))
        chance = np.sqrt(n / m)
        wide, tight = values[-1] / (1 + chance), values[0] / max(1 - chance, 0.1)
        times = wide if wide >= 1 / max(tight, 1e-9) else tight
        far.append((abs(float(np.log(max(times, 1e-9)))), classes[k], float(times)))
    _, label, times = max(far, key=lambda one: one[0])
    return Covariances(p, label, times)


def spreads(X: Array, y: NDArray[Any], classes: NDArray[Any]) -> dict[Any, Array]:
    """Return, by class, the d² of its rows from its mean under the pooled Σ, ascending.

    Classes with fewer than three rows are left out.
    """
    Σ, _, number = pooled(X, y, len(classes))
    return {
        label: np.sort(mahalanobis(X[y == k], Σ))
        for k, label in enumerate(classes)
        if number[k] > 2
    }


def of_normality(found: tuple[Normality, ...]) -> str:
    far = [each for each in found if not each.is_near]
    if not far:
        rejected = sum(each.p_value < LEVEL for each in found)
        tail = f", though a test rejects normality for {rejected} of {len(found)}"
        return f"Each class is close to a normal distribution{tail if rejected else ''}."
    worst = max(far, key=lambda each: max(abs(each.skewness) / SKEW, abs(each.excess) / TAILS))
    are = "is" if len(far) == 1 else "are"
    return (
        f"{len(far)} of {len(found)} classes {are} far from normal: in class "
        f"{labels.show(worst.label)}, column {worst.column!r} has skewness {worst.skewness:.1f} "
        f"and excess kurtosis {worst.excess:.1f}, where a normal distribution has 0 and 0 "
        f"({p_told(worst.p_value)})."
    )


def of_covariances(found: Covariances) -> str:
    if found.is_near:
        but = f", though not exactly ({p_told(found.p_value)})" if found.p_value < LEVEL else ""
        return f"The classes have about the same Σ{but}."
    return (
        f"The classes do not share one Σ: in some direction the standard deviation of class "
        f"{labels.show(found.label)} is {found.times:.2g} times the pooled one "
        f"({p_told(found.p_value)}).{of_separate(found.separate)}"
    )


def of_separate(losses: tuple[float, float] | None) -> str:
    """Say how the log loss of a separate Σ for each class compares with that of one Σ."""
    if losses is None:
        return " There are too few rows for a Σ of each class."
    shared, separate = losses
    than = (
        f"its out-of-fold log loss is {separate:.3f}, against {shared:.3f} with one Σ for all "
        "classes"
    )
    if separate < shared:
        return f" A Σ for each class, GDA(shared=False), is better: {than}."
    return f" Yet a Σ for each class, GDA(shared=False), is no better: {than}."
