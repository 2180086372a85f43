"""The laws and their generators are strong enough: every classic mistake breaks a law.

A small false statistic stands for each mistake and runs against the same laws, with the same rows,
as the true ones do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings

from examples import NUMBERS, VARIANTS, Rows, normal_fit
from genus import GDA
from genus.statistics import Moments
from laws import Laws, Same, check, close_sums, counting, forgetting, group, inverse, weighing

VARIANT = next(variant for variant in VARIANTS if variant.name == "GaussianNB")
some = VARIANT.rows(most=4).map(lambda rows: rows[~np.isnan(rows.X).any(axis=1)])


def hold(
    laws: Callable[[Rows, Rows, Rows], Laws],
    same: Callable[[Rows], Same],
    change: Callable[[Any], Any] = lambda X: X,
) -> None:
    """Check laws on rows A, B and C, the same ones every time."""

    @settings(
        max_examples=300,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    @given(*[some.map(lambda rows: rows.map(change))] * 3)
    def run(A: Rows, B: Rows, C: Rows) -> None:
        check(laws(A, B, C), same(A + B + C))

    run()


def refute(law: str, laws: Callable[[Rows, Rows, Rows], Laws], *arguments: Any) -> None:
    """Find rows that break one of the laws."""

    def one(A: Rows, B: Rows, C: Rows) -> Laws:
        return (each for each in laws(A, B, C) if each[0] == law)

    with pytest.raises(AssertionError, match=re.escape(law.replace("==", "!="))):
        hold(one, *arguments)


def exactly(_: Rows) -> Same:
    return lambda a, b: bool(a == b)


@dataclass(frozen=True)
class Spread:
    """(n, mean, M2) of the first column, merged and unmerged by the textbook's formulas."""

    n: float = 0.0
    mean: float = 0.0
    M2: float = 0.0

    @classmethod
    def count(cls, rows: Rows) -> Spread:
        rows_alone = (cls(w, x) for w, x in zip(rows.weights, rows.X[:, 0], strict=True))
        return sum(rows_alone, cls())

    def __add__(self, other: Spread) -> Spread:
        n, δ = self.n + other.n, other.mean - self.mean
        if n == 0:
            return Spread()
        M2 = self.M2 + other.M2 + δ * δ * self.n * other.n / n
        return Spread(n, self.mean + δ * other.n / n, M2)

    def __sub__(self, other: Spread) -> Spread:
        return self + Spread(-other.n, other.mean, -other.M2)

    def is_close(self, other: Spread) -> bool:
        mine, theirs = ((s.n, s.n * s.mean, s.M2) for s in (self, other))
        return np.allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def roughly(_: Rows) -> Same:
    return lambda a, b: bool(a.is_close(b))


def test_mean_and_scatter_are_no_group() -> None:
    def laws(A: Rows, B: Rows, _: Rows) -> Laws:
        return inverse(Spread(), Spread.count(A), Spread.count(B))

    refute("(a - b) + b == a", laws, roughly)


def test_mean_and_scatter_pass_if_sides_never_weigh_the_same() -> None:
    def laws(A: Rows, B: Rows, _: Rows) -> Laws:
        a, b = Spread.count(A), Spread.count(B)
        assume(a.n != b.n)
        return inverse(Spread(), a, b)

    hold(laws, roughly)


def floored(rows: Rows) -> Spread:
    """With a floor on the variance that depends on how far the rows of this batch spread."""
    true = Spread.count(rows)
    floor = 1e-3 * np.ptp(rows.X[:, 0]) ** 2 if len(rows) else 0.0
    return Spread(true.n, true.mean, true.M2 + true.n * floor)


def test_a_floor_is_no_part_of_what_is_added_up() -> None:
    def laws(A: Rows, B: Rows, _: Rows) -> Laws:
        return counting(floored, Spread(), A, B)

    refute("count(A ++ B) == count(A) + count(B)", laws, roughly)
    refute("Σ count(row) == count(A)", laws, roughly)


class Tallies(dict[str, float]):
    """How often the first column is positive, by class."""

    @classmethod
    def count(cls, rows: Rows) -> Tallies:
        positive = rows.weights * (rows.X[:, 0] > 0)
        return cls({k: positive[rows.y == k].sum() for k in set(rows.y.tolist())})

    def __add__(self, other: Tallies) -> Tallies:
        return Tallies({k: self.get(k, 0) + other.get(k, 0) for k in {*self, *other}})

    def __sub__(self, other: Tallies) -> Tallies:
        return Tallies({k: self.get(k, 0) - other.get(k, 0) for k in {*self, *other}})

    def __rmul__(self, factor: float) -> Tallies:
        return Tallies({k: factor * n for k, n in self.items()})


def smoothed(rows: Rows) -> Tallies:
    """With a pseudo-count of one."""
    return Tallies({k: n + 1 for k, n in Tallies.count(rows).items()})


def test_a_pseudo_count_is_no_part_of_what_is_added_up() -> None:
    def laws(A: Rows, B: Rows, _: Rows) -> Laws:
        return weighing(smoothed, Tallies(), A.weighing(None), B)

    refute("count(A, weight=2) == 2 * count(A)", laws, exactly)


class LeftTallies(Tallies):
    """What is new on the right-hand side is dropped, unless there was nothing before."""

    def __add__(self, other: Tallies) -> LeftTallies:
        return LeftTallies({k: self.get(k, 0) + other.get(k, 0) for k in self or other})


def test_classes_of_one_side_are_kept() -> None:
    def laws(A: Rows, B: Rows, C: Rows) -> Laws:
        return group(LeftTallies(), *(LeftTallies(Tallies.count(rows)) for rows in (A, B, C)))

    refute("a + b == b + a", laws, exactly)


@dataclass(frozen=True)
class Raw:
    """True moments, but about the origin 0."""

    moments: Moments

    @classmethod
    def count(cls, rows: Rows) -> Raw:
        return cls(VARIANT.count(rows)).at_zero()

    def at_zero(self) -> Raw:
        return Raw(self.moments.about(np.zeros_like(self.moments.origin)))

    def __add__(self, other: Raw) -> Raw:
        return Raw(self.moments + other.moments).at_zero()


def test_raw_sums_lose_their_digits_far_from_zero() -> None:
    zero = VARIANT.family.zero()

    def laws(A: Rows, B: Rows, _: Rows) -> Laws:
        return counting(Raw.count, Raw(zero), A, B)

    def close(rows: Rows) -> Same:
        return lambda a, b: close_sums(rows)(a.moments, b.moments)

    def far(X: Any) -> Any:
        return X / 7 + 1e8

    hold(lambda A, B, _: counting(VARIANT.count, zero, A, B), close_sums, far)
    refute("count(A ++ B) == count(A) + count(B)", laws, close, far)
    refute("Σ count(row) == count(A)", laws, close, far)


@dataclass(frozen=True)
class FirstRow:
    """Sums of x - origin and of its square, where the origin is the first number that came."""

    origin: float | None = None
    n: float = 0.0
    first: float = 0.0
    second: float = 0.0

    @classmethod
    def count(cls, rows: Rows) -> FirstRow:
        rows_alone = (cls(x, w) for w, x in zip(rows.weights, rows.X[:, 0], strict=True))
        return sum(rows_alone, cls())

    def __add__(self, other: FirstRow, sign: float = 1.0) -> FirstRow:
        if self.origin is None or other.origin is None:
            return self if other.origin is None else other
        δ = other.origin - self.origin
        first = other.first + other.n * δ
        second = other.second + 2 * δ * other.first + other.n * δ * δ
        return FirstRow(
            self.origin,
            self.n + sign * other.n,
            self.first + sign * first,
            self.second + sign * second,
        )

    def __sub__(self, other: FirstRow) -> FirstRow:
        return self.__add__(other, -1.0)


def test_an_origin_gives_no_forgotten_row_away() -> None:
    def laws(A: Rows, B: Rows, _: Rows) -> Laws:
        b = FirstRow.count(B)
        return forgetting((b + FirstRow.count(A)) - b, forgotten=B, kept=A)

    law = "what is left of forgotten rows == []"
    refute(law, laws, exactly, lambda X: X * np.sqrt(2) + np.sqrt(3))


@pytest.mark.parametrize("mistake", ["Σ for its root", "Lᵀ for L", "mean"])
def test_samples_of_another_density_are_told_apart(mistake: str) -> None:
    model = GDA().fit(NUMBERS.X, NUMBERS.y)
    mean, lower = model.means_[0], np.linalg.cholesky(model.covariance_)
    noise = np.random.default_rng(0).standard_normal((20_000, 2))
    assert normal_fit(model, "ham", mean + noise @ lower.T) > 1e-3
    wrong = {
        "Σ for its root": mean + noise @ model.covariance_,
        "Lᵀ for L": mean + noise @ lower,
        "mean": mean + 0.1 + noise @ lower.T,
    }
    assert normal_fit(model, "ham", wrong[mistake]) < 1e-6
