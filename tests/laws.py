"""The laws: functions that yield (law, left, right). `check` asserts them; a failure is the law.

a, b, c are statistics, or whole classifiers: anything that adds, subtracts and scales. A and B are
rows, A ++ B the rows of both, and zero is what no rows give.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add, eq
from typing import Any

import numpy as np

from examples import Rows
from genus import TableClassifier
from genus.arrays import labels
from genus.statistics import Compound, Moments, Pairs, Sample, Statistics

Laws = Iterator[tuple[str, Any, Any]]
Same = Callable[[Any, Any], bool]
Count = Callable[[Rows], Any]


def check(laws: Iterable[tuple[str, Any, Any]], same: Same = eq) -> None:
    """Assert that both sides of every law are the same."""
    for law, left, right in laws:
        assert same(left, right), f"{law.replace('==', '!=')}\n{left}\n{right}"


# The algebra of statistics


def monoid(zero: Any, a: Any, b: Any, c: Any) -> Laws:
    yield "zero + zero == zero", zero + zero, zero
    yield "zero + a == a", zero + a, a
    yield "a + zero == a", a + zero, a
    yield "a + b == b + a", a + b, b + a
    yield "(a + b) + c == a + (b + c)", (a + b) + c, a + (b + c)


def inverse(zero: Any, a: Any, b: Any) -> Laws:
    yield "zero - zero == zero", zero - zero, zero
    yield "a - zero == a", a - zero, a
    yield "(a + b) - b == a", (a + b) - b, a
    yield "(a + a) - a == a", (a + a) - a, a
    yield "(a - b) + b == a", (a - b) + b, a
    yield "(zero - a) + a == zero", (zero - a) + a, zero
    yield "(a - b) + (b - a) == zero", (a - b) + (b - a), zero
    yield "(a + b) - a - b == zero", (a + b) - a - b, zero


def group(zero: Any, a: Any, b: Any, c: Any) -> Laws:
    yield from monoid(zero, a, b, c)
    yield from inverse(zero, a, b)
    yield "a - (b + c) == (a - b) - c", a - (b + c), (a - b) - c
    yield "a - (b - c) == (a - b) + c", a - (b - c), (a - b) + c


def scaling(a: Any, b: Any) -> Laws:
    yield "1 * a == a", 1 * a, a
    yield "2 * a == a + a", 2 * a, a + a
    yield "3 * (a + b) == 3 * a + 3 * b", 3 * (a + b), 3 * a + 3 * b
    yield "0.5 * (2 * a) == a", 0.5 * (2 * a), a


def vanishing(zero: Any, a: Any, b: Any) -> Laws:
    """To be checked with ==: however numbers round, nothing stays behind."""
    yield "a - a == zero", a - a, zero
    yield "(a + b) - (b + a) == zero", (a + b) - (b + a), zero
    yield "0 * a == zero", 0 * a, zero


# Counting


def counting(count: Count, zero: Any, A: Rows, B: Rows) -> Laws:
    yield "count(no rows) == zero", count(A[:0]), zero
    yield "count(A ++ B) == count(A) + count(B)", count(A + B), count(A) + count(B)
    yield "count(A in another order) == count(A)", count(A[::-1]), count(A)
    yield "Σ count(row) == count(A)", reduce(add, map(count, A), zero), count(A)


def weighing(count: Count, zero: Any, A: Rows, B: Rows) -> Laws:
    """For rows A without weights; the weights of B are the weights in question."""
    twice, start = A.weighing(2.0), count(B)
    yield "count(A, weight=2) == 2 * count(A)", count(twice), 2 * count(A)
    yield (
        "start + count(A, weight=2) == start + 2 * count(A)",
        start + count(twice),
        start + 2 * count(A),
    )
    yield "count(A, weight=2) == count(A ++ A)", count(twice), count(A + A)
    one_by_one = (w * count(row.weighing(1.0)) for w, row in zip(B.weights, B, strict=True))
    yield "count(B, weight=w) == Σ w * count(row)", count(B), reduce(add, one_by_one, zero)


# Forgetting


def forgetting(statistics: Any, forgotten: Rows, kept: Rows) -> Laws:
    """Nothing that only the forgotten rows held is in the pickled statistics."""
    state = pickle.dumps(statistics)
    left = sorted(str(item) for item in forgotten.traces - kept.traces if holds(state, item))
    yield "what is left of forgotten rows == []", left, []


def holds(state: bytes, item: str | float) -> bool:
    """Whether pickled bytes hold a text, as NumPy or Python store it, or a float64."""
    if isinstance(item, float):
        return struct.pack("<d", item) in state
    return any(item.encode(code) in state for code in ("utf-8", "utf-32-le"))


def arrays(tree: Any) -> Iterator[np.ndarray]:
    """Every array in a tree of dictionaries and lists."""
    if isinstance(tree, np.ndarray):
        yield tree
    elif isinstance(tree, dict | list | tuple):
        for branch in tree.values() if isinstance(tree, dict) else tree:
            yield from arrays(branch)


# Bayes' rule and files


def bayes(model: Any, X: Any) -> Laws:
    """How p(x, y), p(y|x), the decision and the explanation of rows X hang together."""
    posterior, joint = model.predict_proba(X), model.predict_joint_log_proba(X)
    rows = np.arange(X.shape[0])
    chosen = np.searchsorted(model.classes_, model.predict(X))
    one_by_one = np.vstack([model.predict_proba(X[i : i + 1]) for i in rows])
    possible = np.isfinite(joint).any(axis=1)
    share = np.exp(joint[possible] - joint[possible].max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    yield "Σ p(y|x) == 1", posterior.sum(axis=1), np.ones(len(rows))
    yield "p(y|x) == p(x, y) / Σ p(x, y)", posterior[possible], share
    yield "p(predict(x)|x) == max p(y|x)", posterior[rows, chosen], posterior.max(axis=1)
    yield "exp predict_log_proba == p(y|x)", np.exp(model.predict_log_proba(X)), posterior
    yield "p(y|x) of rows backwards == p(y|x)", model.predict_proba(X[::-1])[::-1], posterior
    yield "p(y|x) row by row == p(y|x)", one_by_one, posterior
    if isinstance(model, TableClassifier):
        logs = model.predict_log_proba(X)
        yield "explain(X).joint == log p(y|x)", model.explain(X).joint, logs
    else:
        yield "explain(X).joint == log p(x, y)", model.explain(X).joint, joint


def loading(model: Any, loaded: Any, X: Any) -> Laws:
    """load(save(a)) is a: what was counted, the options, and all that is said, bit for bit."""
    yield "load(save(a)).model_ == a.model_", loaded.model_, model.model_
    for attribute in "classes_", "feature_names_in_":
        one, two = (getattr(m, attribute, np.zeros(0)) for m in (loaded, model))
        yield f"load(save(a)).{attribute} == a.{attribute}", one.tolist(), two.tolist()
        yield f"dtype of load(save(a)).{attribute} == of a.{attribute}", one.dtype, two.dtype
    yield "load(save(a)) == a, as printed", repr(loaded), repr(model)
    for method in "predict", "predict_proba", "predict_joint_log_proba", "log_density":
        one, two = (getattr(m, method)(X).tolist() for m in (loaded, model))
        yield f"load(save(a)).{method}(X) == a.{method}(X)", one, two
    one, two = (m.sample(5, random_state=0)[0].tolist() for m in (loaded, model))
    yield "load(save(a)).sample() == a.sample()", one, two


# When two things are the same


def same_sums(a: Statistics, b: Statistics) -> bool:
    """Bit for bit; of moments, their sums about one origin (whose place is a matter of taste)."""
    if isinstance(a, Compound):
        return all(same_sums(part, b[name]) for name, part in a.parts.items())
    if not hasattr(a, "moments"):
        return a == b
    a, b = a.moments, b.moments
    return labels.is_same(a.classes, b.classes) and a == b.about(a.origin)


def close_sums(rows: Rows) -> Same:
    """To rounding: what two sums over these rows, or over some of them, differ by is noise.

    r is how far the rows are from their common mean, or the grid of the origins if that is more
    (2⁻²⁰ of the numbers, so that no origin gives a row away); a sum of n p-th powers is then right
    to about n rᵖ times the precision of a float.
    """
    there = ~np.isnan(rows.X)
    mean = np.nansum(rows.X, axis=0) / np.maximum(there.sum(axis=0), 1)
    r = np.where(there, np.abs(rows.X - mean), 0).max(axis=0, initial=0) + 2.0**-20 * np.abs(mean)
    n = 1 + rows.weights.sum()
    outer = r[:, None] * r

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, Compound):
            return same(a["sums"], b["sums"]) and close_tallies(a["sample"], b["sample"])
        classes = np.union1d(a.classes.astype(str), b.classes.astype(str))
        a, b = (
            s.moments.align(classes, len(mean)).about(
                np.broadcast_to(mean, (len(classes), len(mean)))
            )
            for s in (a, b)
        )
        powers = {
            "weights": 1.0,
            "sums": r,
            "squares": r * r if a.structure == "diagonal" else outer,
            "third": outer * r[:, None],
            "fourth": outer * outer,
        }
        return all(
            getattr(a, name) is None
            or bool((np.abs(getattr(a, name) - getattr(b, name)) <= 1e-13 * n * power).all())
            for name, power in powers.items()
        )

    return same


def close_tallies(a: Any, b: Any) -> bool:
    """To rounding: what two tallies of a few hundred things differ by is noise."""
    if isinstance(a, Compound):
        counted = ((a[name], b[name]) for name in a.parts if not isinstance(a[name], Moments))
        return all(close_tallies(one, two) for one, two in counted)
    if isinstance(a, Sample):
        return bool((np.abs((a - b).weights) < 1e-9).all())
    if isinstance(a, Pairs):
        return bool((np.abs((a - b).counts) < 1e-9).all())
    return all(bool((np.abs(table) < 1e-9).all()) for table in (a - b).counts.values())


def close_numbers(a: Any, b: Any) -> bool:
    """Two arrays, to rounding and with the same infinities; or the same error."""
    if failed(a) or failed(b):
        return a is b
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-7, atol=1e-7, equal_nan=False)


def attempt(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a function returns, or the type of its error."""
    try:
        return function(*arguments, **options)
    except ValueError as error:
        return type(error)


def failed(outcome: Any) -> bool:
    """Whether an attempt ended in an error."""
    return isinstance(outcome, type)


def alike(X: Any, sums: Same = same_sums) -> Same:
    """Two classifiers have counted the same and say the same about X."""

    def same(a: Any, b: Any) -> bool:
        return (
            a.model_.weights == b.model_.weights
            and sums(a.model_.statistics, b.model_.statistics)
            and labels.is_same(a.classes_, b.classes_)
            and close_numbers(*(attempt(one.predict_joint_log_proba, X) for one in (a, b)))
        )

    return same
