"""Pseudo-counts: Laplace's rule, Lidstone's λ and the m-estimate are special cases.

A Dirichlet prior with parameters a_v turns counts n_v into shares (n_v + a_v) / (n + Σa). With a_v
= 1 that is Laplace's rule, with a_v = λ Lidstone's, with a_v = m·p_v the m-estimate. Counts are
never smoothed; smoothing acts when a family is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The pseudo-counts: `alpha` for each value, or m·p if `m` is given.

    `alpha` is a number, one number per column, "auto" or, for categories, one array per column. `p`
    is the prior probability (for Poisson: the prior rate).
    """

    alpha: Any = 1.0
    m: float | None = None
    p: Any = None

    @property
    def is_automatic(self) -> bool:
        return self.m is None and isinstance(self.alpha, str)

    def pseudo_counts(self, size: int, column: int | None = None) -> Array:
        """Return the pseudo-counts of a distribution over `size` values, (size,).

        >>> Smoothing(alpha=1).pseudo_counts(3)
        array([1., 1., 1.])
        >>> Smoothing(m=3, p=0.5).pseudo_counts(2)
        array([1.5, 1.5])
        """
        if self.m is None:
            alpha = of_column(self.alpha, column)
            if np.ndim(alpha) and np.shape(alpha) != (size,):
                raise ValueError(
                    f"alpha has shape {np.shape(alpha)}{where(column)}, where there are {size} "
                    "values. When alpha is an array, it should contains `n_features` numbers, one "
                    "per column; for categories a list of arrays, one number per category."
                )
            return np.broadcast_to(np.asarray(alpha, float), (size,))
        p = of_column(self.p, column)
        if np.shape(p) not in ((), (size,)):
            raise ValueError(
                f"p must be one number, or one for each of the {size} values{where(column)}; got "
                f"shape {np.shape(p)}."
            )
        guess = np.broadcast_to(1 / max(size, 1) if p is None else np.asarray(p, float), (size,))
        if size and not np.isclose(guess.sum(), 1.0):
            raise ValueError(
                f"p adds up to {guess.sum():g} over the {size} values{where(column)}; prior "
                f"probabilities must add up to 1. Without p, every value has the probability "
                f"1 / {size}."
            )
        return self.m * guess


def per_column(name: str, value: Any, width: int) -> Array:
    """Return a number for each column, from one number for all or one for each."""
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.shape not in ((), (width,)):
        raise ValueError(
            f"{name} must be one number, or one for each of the {width} columns; got shape "
            f"{numbers.shape}."
        )
    return np.broadcast_to(numbers, (width,))


def of_column(option: Any, column: int | None) -> Any:
    """Return one column's part of an option, if the option is given by column."""
    return option if column is None or not hasattr(option, "__len__") else option[column]


def where(column: int | None) -> str:
    return "" if column is None else f" in column {column}"


def leave_one_out_alpha(tables: Iterable[Array]) -> float:
    """Return the λ that maximises the leave-one-out likelihood.

    Its logarithm is the sum of n_v log((n_v - 1 + λ) / (n - 1 + λk)) over all values v and all rows
    of `tables`. These are counts, (K, k) each; each row has the counts n_v of k values, n in total.

    >>> round(leave_one_out_alpha([np.array([[60.0, 40.0], [35.0, 65.0]])]), 2)
    9.42
    """
    cells: list[Array] = []
    rows: list[Array] = []
    for table in tables:
        cells.append(table[table > 0])
        totals = table.sum(axis=1)
        sizes = np.full(len(totals), float(table.shape[1]))
        rows.append(np.stack([totals, sizes], axis=1)[totals > 0])
    n, times = np.unique(np.concatenate([np.empty(0), *cells]), return_counts=True)
    groups, repeats = np.unique(
        np.concatenate([np.empty((0, 2)), *rows]), axis=0, return_counts=True
    )
    total, k = groups.T
    if n.size == 0:
        return 1.0

    def score(log_λ: float) -> float:
        λ = np.exp(log_λ)
        # Leaving one out of a cell that weighs less than 1 leaves 0.
        gain = times @ (n * np.log(n - np.minimum(n, 1.0) + λ))
        return float(gain - repeats @ (total * np.log(total - np.minimum(total, 1.0) + λ * k)))

    return maximise(score)


def maximise(score: Callable[[float], float]) -> float:
    """Return exp(t) for the t with the best score, from log 1e-10 to log 1e4."""
    from scipy.optimize import minimize_scalar  # importing it takes a quarter of a second

    grid = np.linspace(np.log(1e-10), np.log(1e4), 57)
    values = [score(x) for x in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(lambda x: -score(x), bounds=(low, high), method="bounded")
    return float(np.exp(found.x if -found.fun >= values[best] else grid[best]))


def log_ratio(counts: Array, totals: Array) -> Array:
    """Return log(counts / totals); log 0 and log 0/0 are -inf, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(counts)
        ratio -= np.log(totals)
    positive = counts > 0
    if not positive.all():
        ratio[~positive] = -np.inf
    return ratio


def finite_part(log_probability: Array) -> tuple[Array, Array | None]:
    """Return a table (V, K) with 0 for -inf, and a mask of -inf, 1 or 0 (None if there are none).

    A value that no class can explain is left out of the product: its rows in both tables are 0.
    """
    impossible = np.isneginf(log_probability)
    if not impossible.any():
        return log_probability, None
    everywhere = impossible.all(axis=1, keepdims=True)
    return np.where(impossible, 0.0, log_probability), (impossible & ~everywhere).astype(float)
