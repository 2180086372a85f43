"""Why one is ahead: does what the generative model assumes hold for these rows?

Tests reject anything once there are rows enough, so that each comes with the size of what it finds.

    normality     Mardia's (1970) kurtosis of each class, b = mean of d⁴, d² = (x - μ)ᵀ Σ⁻¹ (x - μ),
                  which is n(n + 2) if x is normal; D'Agostino & Pearson's test of each column
    covariances   Box's (1949) M, and how far each class is spread compared with all, in the
                  direction in which that differs most
    independence  the mutual information of two columns given the class, by their bins, and a χ²
    logistic      logistic regression with squares and products of columns, out of fold, beside one
                  without; and with a square of the log-odds beside these (Pregibon 1980), whose
                  slope tells whether a model is too sure of itself

Symbols: m rows, n columns, K classes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr
from scipy.stats import kurtosis, normaltest, skew
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from genus import labels
from genus.comparing.material import Material
from genus.matrix import ONE_BLAS_THREAD
from genus.statistics import Array
from genus.table import Frame
from genus.table.frame import Values

MOST_ROWS = 20_000  # that are looked at
MOST_COLUMNS = 40  # of which pairs are
MOST_BENT = 3_000  # rows that a curved regression is fitted to
BINS = 4
FEWEST = 20  # rows of a class for a test of normality
LEVEL = 0.01
SKEW, TAILS, SPREAD, BITS = 0.5, 1.0, 1.25, 0.02  # from which on a finding is more than slight
SHOWN = 3


@dataclass(frozen=True)
class Normality:
    """How normal a class is: `kurtosis` is b / n(n + 2), and the column that is so least."""

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
    """Whether classes have one Σ: Box's M, and where they differ most.

    `label` is the class that is spread `times` as far in some direction as all of them, or as far
    short of it if that is below 1.
    """

    p_value: float
    label: Any
    times: float

    @property
    def is_near(self) -> bool:
        return self.p_value > LEVEL or 1 / SPREAD < self.times < SPREAD


@dataclass(frozen=True)
class Pair:
    """Two columns, and what each tells of the other where the class is known, in bits."""

    first: str
    second: str
    bits: float
    p_value: float


@dataclass(frozen=True)
class Bend:
    """What squares and products of columns would gain logistic regression, in nats a row."""

    gain: float
    error: float

    @property
    def is_clear(self) -> bool:
        return self.gain > 2.6 * self.error and self.gain > 0.005


@dataclass(frozen=True)
class Posterior:
    """Whether log-odds are a straight line: `gain` is what a square would gain, in nats a row.

    `slope` is what the model's log-odds are to be multiplied by: below 1 it is too sure, unless
    chance explains that, as `p_slope` has it.
    """

    name: str
    gain: float
    p_value: float
    slope: float
    p_slope: float

    @property
    def is_straight(self) -> bool:
        return self.p_value > LEVEL or self.gain < 0.002


@dataclass(frozen=True, eq=False)
class Reasons:
    """All findings, those that could be made."""

    normality: tuple[Normality, ...]
    covariances: Covariances | None
    pairs: tuple[Pair, ...]
    compared: int  # pairs
    bend: Bend | None
    posteriors: tuple[Posterior, ...]
    distances: dict[Any, Array]  # d² of each class by the Σ of all, ascending, for a plot
    columns: int

    def sentences(self, generative: str) -> list[str]:
        """What was found, each in a sentence or two."""
        told = []
        if self.normality:
            told.append(of_normality(self.normality))
        if self.covariances is not None:
            told.append(of_covariances(self.covariances))
        if self.compared:
            told.append(of_pairs(self.pairs, self.compared, generative))
        if self.bend is not None:
            told.append(of_bend(self.bend))
        return told + [sentence for each in self.posteriors if (sentence := of_posterior(each))]


def reasons(given: Material, rows: NDArray[np.intp], probabilities: dict[str, Array]) -> Reasons:
    """All that can be found: `probabilities` of `rows`, out of fold, by the name of the model."""
    rng = np.random.default_rng(0)
    some = np.arange(len(given.y))
    if len(some) > MOST_ROWS:  # at random: rows may have an order
        some = np.sort(rng.choice(some, MOST_ROWS, replace=False))
    _, raw = given.take(some)
    y = given.y[some]
    normality: tuple[Normality, ...] = ()
    covariances, distances, columns = None, {}, 0
    if given.kind == "numbers" and isinstance(raw, np.ndarray):
        X, own, names = complete(raw, y, given.names)
        columns = X.shape[1]
        if columns and len(X):
            normality = tuple(normalities(X, own, given.classes, names))
            covariances = equal_covariances(X, own, given.classes)
            distances = spreads(X, own, given.classes)
    found, compared = pairs(raw, y, given)
    straight = tuple(
        one
        for name, p in probabilities.items()
        if len(p) and (one := straightness(name, p, given.y[rows])) is not None
    )
    bend = bent(X, own) if columns else None
    return Reasons(normality, covariances, found, compared, bend, straight, distances, columns)


# Normal, with one Σ?


def complete(X: Array, y: NDArray[Any], names: tuple[str, ...]) -> tuple[Array, Any, list[str]]:
    """Rows without holes, and the columns that vary, scaled."""
    whole = ~np.isnan(X).any(axis=1)
    X, y = X[whole], y[whole]
    varies = X.std(axis=0) > 0 if len(X) else np.zeros(X.shape[1], bool)
    X = X[:, varies]
    kept = [name for name, there in zip(names, varies, strict=True) if there]
    return ((X - X.mean(axis=0)) / X.std(axis=0) if len(X) else X), y, kept


def normalities(
    X: Array, y: NDArray[Any], classes: NDArray[Any], names: list[str]
) -> list[Normality]:
    """Of each class that has rows enough."""
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
            p = 2 * min(p, float(2 * ndtr(-z)))  # the less of two
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
    """d² of each row from the mean of all, (m,); directions without variance say nothing."""
    values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
    there = values > values.max() * 1e-10
    z = (X - X.mean(axis=0)) @ vectors[:, there] / np.sqrt(values[there])
    return np.einsum("ij,ij->i", z, z)


def pooled(X: Array, y: NDArray[Any], K: int) -> tuple[Array, list[Array], NDArray[np.int64]]:
    """Σ of all classes, that of each, and how many rows each has; unbiased."""
    n = X.shape[1]
    number = np.bincount(y, minlength=K)
    each = [
        np.cov(X[y == k].T).reshape(n, n) if number[k] > 1 else np.zeros((n, n)) for k in range(K)
    ]
    scatter = sum((number[k] - 1) * each[k] for k in range(K) if number[k] > 1)
    return np.asarray(scatter) / max(number.sum() - K, 1), each, number


def equal_covariances(X: Array, y: NDArray[Any], classes: NDArray[Any]) -> Covariances | None:
    """Box's M of the classes that have rows enough; None with fewer than two of them."""
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
    # Spread along directions in which that of all is 1; by chance alone it is 1 ± √(n/m).
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
    """d² of the rows of each class from its mean, by the Σ of all, ascending."""
    Σ, _, number = pooled(X, y, len(classes))
    return {
        label: np.sort(mahalanobis(X[y == k], Σ))
        for k, label in enumerate(classes)
        if number[k] > 2
    }


# Independent given the class?


def pairs(raw: Any, y: NDArray[Any], given: Material) -> tuple[tuple[Pair, ...], int]:
    """The pairs of columns that depend on each other most, and how many were compared."""
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
    """Bins of a column, so that there are ten rows for each freedom of a test; 0 if none is."""
    return next((b for b in (BINS, 3, 2) if rows >= 10 * classes * (b - 1) ** 2), 0)


def columns_in_bins(raw: Any, names: tuple[str, ...], bins: int) -> dict[str, NDArray[np.int64]]:
    """Codes from 0 on of each column of numbers and categories; none of texts."""
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
    """Numbers by their quantiles, the commonest categories by themselves, others together."""
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
    return labels_in_order(codes)


def labels_in_order(codes: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def information(codes: NDArray[np.int64], y: NDArray[Any]) -> float:
    """Mutual information of a column and the class, in bits."""
    return conditional_information(codes, y, np.zeros_like(codes), 1)[0]


def conditional_information(
    a: NDArray[np.int64], b: NDArray[np.int64], y: NDArray[Any], K: int
) -> tuple[float, float]:
    """I(a; b | y) in bits without what chance brings, and the p-value of a χ² test.

    Of few rows in a class, χ² is Pearson's times (N - 1)/N, whose mean is right.
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


# Logistic?


def bent(X: Array, y: NDArray[Any]) -> Bend | None:
    """Logistic regression of columns, and with their squares and products, or squares alone."""
    if len(y) > MOST_BENT:
        some = np.sort(np.random.default_rng(0).choice(len(y), MOST_BENT, replace=False))
        X, y = X[some], y[some]
    if np.bincount(y)[np.unique(y)].min() < 6 or X.shape[1] > MOST_COLUMNS:
        return None
    few = X.shape[1] <= 10
    curved = PolynomialFeatures(2, include_bias=False) if few else FunctionTransformer(squares)
    losses = []
    for steps in ((), (curved, StandardScaler())):
        model = make_pipeline(StandardScaler(), *steps, LogisticRegression(max_iter=300))
        with warnings.catch_warnings(), ONE_BLAS_THREAD:
            warnings.simplefilter("ignore")
            p = cross_val_predict(model, X, y, cv=3, method="predict_proba")
        own = p[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
        losses.append(-np.log(np.maximum(own, 1e-9)))
    gain = losses[0] - losses[1]
    return Bend(float(gain.mean()), float(gain.std() / np.sqrt(len(gain))))


def squares(X: Array) -> Array:
    """Columns, and their squares."""
    return np.hstack([X, X**2])


def straightness(name: str, p: Array, y: NDArray[Any]) -> Posterior | None:
    """Of the log-odds of the second of two classes, or the one that is told from others worst.

    None if its log-odds part it from the others without a mistake: any slope would do.
    """
    own = np.clip(p, 1e-12, 1 - 1e-12)
    is_own = y[:, None] == np.arange(p.shape[1])
    k = 1 if p.shape[1] == 2 else int(np.log(np.where(is_own, own, 1 - own)).sum(axis=0).argmin())
    s = np.clip(np.log(own[:, k] / (1 - own[:, k])), -30, 30)
    truth = is_own[:, k]
    if truth.all() or not truth.any() or s[truth].min() > s[~truth].max() or s.std() == 0:
        return None
    scale = s.std()
    one, slope = likelihood(s[:, None] / scale, truth)
    two, _ = likelihood(np.column_stack([s, s**2 / scale]) / scale, truth)
    as_it_is = float(np.sum(truth * s - np.logaddexp(0, s)))
    gain = max(two - one, 0.0)
    p_slope = float(chdtrc(2, 2 * max(one - as_it_is, 0.0)))  # of a slope and a constant
    return Posterior(name, gain / len(y), float(chdtrc(1, 2 * gain)), slope / scale, p_slope)


def likelihood(X: Array, y: NDArray[np.bool_]) -> tuple[float, float]:
    """The log-likelihood of a logistic regression, next to unpenalised, and its first slope."""
    model = LogisticRegression(C=1e6, max_iter=1000).fit(X, y)
    score = model.decision_function(X)
    return float(np.sum(y * score - np.logaddexp(0, score))), float(model.coef_[0, 0])


# In words


def of_normality(found: tuple[Normality, ...]) -> str:
    far = [each for each in found if not each.is_near]
    if not far:
        rejected = sum(each.p_value < LEVEL for each in found)
        tail = f", though a test can tell {rejected} of {len(found)} from it" if rejected else ""
        return f"Each class is near to a normal distribution{tail}."
    worst = max(far, key=lambda each: max(abs(each.skewness) / SKEW, abs(each.excess) / TAILS))
    return (
        f"{len(far)} of {len(found)} classes are far from normal: {worst.column!r} of class "
        f"{labels.show(worst.label)} has skewness {worst.skewness:.1f} and excess kurtosis "
        f"{worst.excess:.1f} where a normal distribution has 0 and 0 ({p_told(worst.p_value)})."
    )


def of_covariances(found: Covariances) -> str:
    if found.is_near:
        but = f", if not quite ({p_told(found.p_value)})" if found.p_value < LEVEL else ""
        return f"The classes are spread alike, as one Σ has it{but}."
    return (
        f"The classes do not share one Σ: class {labels.show(found.label)} is spread "
        f"{found.times:.2g} times as far in some direction as all are ({p_told(found.p_value)}); "
        "GDA(shared=False) has a Σ for each."
    )


def of_pairs(found: tuple[Pair, ...], compared: int, generative: str) -> str:
    if not found:
        return (
            f"No pair of columns, of {compared:,}, depends on each other given the class by more "
            f"than {BITS} bits."
        )
    listed = ", ".join(
        f"{pair.first!r} and {pair.second!r} ({pair.bits:.2f} bits)" for pair in found[:SHOWN]
    )
    naive = generative != "GDA"
    so = "naive Bayes counts what they share twice" if naive else "Σ takes care of what is linear"
    return (
        f"{len(found):,} of {compared:,} pairs of columns depend on each other given the class: "
        f"{listed}; {so}."
    )


def of_bend(found: Bend) -> str:
    if not found.is_clear:
        return "A logistic posterior fits: squares and products of columns gain it nothing clear."
    return (
        "The posterior is not logistic in these columns: their squares and products would gain "
        f"logistic regression {found.gain:.2f} nats a row; it, too, is a straight line."
    )


def of_posterior(found: Posterior) -> str:
    """Whether a model is too sure, or not sure enough; nothing if it is as it should be."""
    if found.p_slope <= LEVEL and found.slope <= 0.05:
        return f"What {found.name} says of rows that it has not seen is in no right order."
    told = []
    if found.p_slope <= LEVEL and not 0.8 <= found.slope <= 1.25:
        times = max(found.slope, 1 / found.slope)
        how = "too large: it is too sure" if found.slope < 1 else "too small: it could be surer"
        told.append(f"{times:.1f} times {how}")
    if not found.is_straight:
        told.append(f"bent: a square would gain {found.gain:.3f} nats a row")
    return f"The log-odds of {found.name} are {', and '.join(told)}." if told else ""


def p_told(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
