"""Choose the form of Σ by leave-one-out.

    loss = -Σ_i w_i log p(y_i | x_i, all rows but i) / Σ_i w_i

The candidates for Σ are shared by the classes, separate or in between, diagonal or full, and shrunk
by several amounts; LDA, QDA and Gaussian naive Bayes are among them. The sums Σ_i are over a sample
of the rows, but each term is exact: its model is solved from sums over all rows. Samples can be
added and forgotten like the sums. Equal rows are left out together.

Symbols: m rows, n columns, K classes, w weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import hashes, labels, matrix
from genus.arrays.labels import Axis
from genus.arrays.logs import logsumexp
from genus.arrays.matrix import Codes, Matrix
from genus.families.gaussian.leave_one_out import score_shares_without, score_variances_without
from genus.families.gaussian.scores import Form
from genus.solve.shrinkage import least_variance
from genus.statistics import Array, Bags, Moments, Points, Sample

SHARES = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.03, 0.0)
SHRINKAGES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7)
MANY_COLUMNS = 512  # with this many or more, a full Σ is tried only if all classes share it
MOST_TERMS = 2_000_000  # rows times columns times classes that are scored for a candidate
FEWEST_ROWS = 256
TIE = 1e-7  # nats: if losses differ by less, the form that was tried first is chosen
WORD = np.uint64(0xFFFFFFFF)


def sample_size(width: int) -> int:
    """Return how many rows to sample for the choice, given the number of columns."""
    return int(np.clip((1 << 20) // max(width, 1), FEWEST_ROWS, 2048))


# The sample


def sampled(size: int, X: Matrix, y: Codes, classes: Axis, weight: Array | None) -> Sample:
    """Return a sample of the complete rows; each number is stored as two 32-bit words."""
    w = np.ones(len(y)) if weight is None else weight.copy()
    found = np.empty(len(y), dtype=np.uint64)
    keys = hashes.mix(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    for part in matrix.chunks(*X.shape):
        x = matrix.dense_rows(X, part) + 0.0  # -0.0 becomes 0.0
        w[part][np.isnan(x).any(axis=1)] = 0.0
        bits = np.ascontiguousarray(x).view(np.uint64)
        found[part] = hashes.mix(((bits ^ (bits >> np.uint64(32))) * keys).sum(axis=1))
    return Sample.of(size, classes, y, w, found, partial(encoded, X))


def encoded(X: Matrix, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], tuple[Bags, ...]]:
    """Return the values in `rows` as 32-bit words, the high words first, (m, 2n), and no bags."""
    bits = np.ascontiguousarray(matrix.dense_rows(X, rows) + 0.0).view(np.uint64)
    words = np.concatenate([bits >> np.uint64(32), bits & WORD], axis=1)
    return words.astype(np.int64), ()


def decoded(cells: NDArray[np.int64]) -> Array:
    """Return the numbers, (m, n), that these words encode."""
    high, low = np.split(cells.astype(np.uint64), 2, axis=1)
    return np.ascontiguousarray((high << np.uint64(32)) | low).view(np.float64)


# The choice


def choose(
    sums: Moments | Points,
    sample: Sample,
    *,
    diagonal: bool,
    shrinkage: float | str | None,
    unbiased: bool,
) -> Form:
    """Return the form with the least loss.

    If no row can be left out, or no column varies within classes, the form is a shared Σ, shrunk by
    "oas" unless it is diagonal.
    """
    weights, n = sums.weights[:, 0], sums.width
    variance = sums.variance()
    pooled = variance if variance.ndim == 1 else weights @ variance / max(weights.sum(), 1e-300)
    varies = pooled > 0
    scale = np.where(varies, np.sqrt(np.where(varies, pooled, 1.0)), 1.0)
    least = np.where(varies, 0.0, least_variance(sums, weights.sum()))
    default = Form(1.0, diagonal, None if diagonal else "oas", scale, least, np.nan, 0)
    rows = max(FEWEST_ROWS, MOST_TERMS // max(n * len(weights), 1))
    kept = sample.smallest(rows)
    if len(kept) == 0 or not varies.any():
        return default
    x = decoded(kept.cells)
    y = labels.positions(kept.classes, sums.classes)[kept.codes].astype(np.int64)
    w = kept.weights
    left = np.tile(weights, (len(y), 1))
    left[np.arange(len(y)), y] -= w
    # A row that is alone in its class has the same loss under all candidates.
    known = left[np.arange(len(y)), y] > 1e-9 * weights[y]
    if not known.any():
        return default
    x, y, w, left = x[known], y[known], w[known], left[known]
    with np.errstate(divide="ignore"):
        base = np.log(np.maximum(left, 0.0) / left.sum(axis=1, keepdims=True))
    if not varies.all():
        off = x[:, None, ~varies] - sums.mean()[:, ~varies]
        base = base - 0.5 * (off * off / least[~varies]).sum(axis=2)
        sums, x = columns_of(sums, varies), x[:, varies]
    best, found = default, np.inf
    for form, scores in candidates(sums, x, y, w, default, varies, shrinkage, unbiased):
        joint = scores + base
        joint[np.isneginf(base)] = -np.inf
        with np.errstate(invalid="ignore"):  # NaN, so never chosen, if no class explains a row
            truth = joint[np.arange(len(y)), y] - logsumexp(joint, axis=1)
        loss = float(-(w @ truth) / w.sum())
        if loss < found - TIE:
            best, found = replace(form, loss=loss, rows=len(y)), loss
    return best


def candidates(
    sums: Moments | Points,
    x: Array,
    y: Codes,
    w: Array,
    default: Form,
    varies: NDArray[np.bool_],
    shrinkage: float | str | None,
    unbiased: bool,
) -> Iterator[tuple[Form, Array]]:
    """Yield forms, and log p(x|y) of each row by all other rows, (m, K).

    Full forms come before diagonal ones. Of each kind, those with one Σ for all classes come first.
    """
    options: dict[str, Any] = {"unbiased": unbiased}
    amounts = SHRINKAGES if shrinkage is None else (float(shrinkage),)
    shares = SHARES if x.shape[1] < MANY_COLUMNS else (1.0,)
    # The target of shrinkage: variances in proportion to those within classes, or all equal.
    scales = (default.scale, np.ones_like(default.scale))
    for share, scale in product(shares, scales) if not default.diagonal else ():
        scores = score_shares_without(sums, x, y, w, share, amounts, scale[varies], **options)
        for γ, own in zip(amounts, scores, strict=True):
            yield replace(default, shared=share, shrinkage=γ or None, scale=scale), own
    if default.diagonal or shrinkage is None:
        for share in SHARES:
            own = score_variances_without(sums, x, y, w, share, **options)
            yield replace(default, shared=share, diagonal=True, shrinkage=None), own


def columns_of(sums: Moments | Points, columns: NDArray[np.bool_]) -> Moments | Points:
    """Restrict the statistics to some of the columns, given as a mask (n,)."""
    if isinstance(sums, Points):
        return replace(sums, x=sums.x[:, columns])
    both = np.ix_(columns, columns)
    return replace(
        sums,
        origin=sums.origin[:, columns],
        sums=sums.sums[:, columns],
        squares=np.stack([own[both] for own in sums.squares]),
        noise=sums.noise[:, columns],
    )
