"""Weights of evidence are those of the least loss, as SciPy finds it, under every kind of prior."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from genus._kernel import layer_sums
from genus.mail import judgement
from genus.mail.tokens import GROUPS
from genus.stacking import layer
from genus.stacking.dealing import Dealt, floored
from genus.stacking.layer import Rows
from genus.stacking.prior import Prior, around_multiple
from genus.stacking.stack import doubted, stack
from genus.statistics import Compound, Tally
from genus.text.model.choosing import judged, prior_of
from genus.text.model.combination import mixture, plain
from genus.text.model.selection import Selection

Array = np.ndarray[Any, Any]
TIGHT = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000}


def problem(seed: int, G: int = 3) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    m, K = 80, 4
    F, y = rng.normal(size=(m, K, G)), rng.integers(0, K, m)
    F[np.arange(m), y, 0] += 1.0
    weight = rng.uniform(0, 3, m) * (rng.random(m) > 0.1)
    root = rng.normal(size=(G, G))
    prior = Prior.of(
        rng.normal(size=G), root @ root.T + np.eye(G), np.log(rng.dirichlet(np.ones(K)))
    )
    return F, y, weight, prior


def loss(F: Array, y: Array, weight: Array, prior: Prior, θ: Array) -> tuple[float, Array]:
    """Return what weights cost and the gradient, written out."""
    m, K, G = F.shape
    features = np.concatenate([F, np.broadcast_to(np.eye(K), (m, K, K))], axis=2)
    log_p = log_softmax(features @ θ, axis=1)
    w, b = θ[:G] - prior.start, θ[G:] - prior.centre
    value = -weight @ log_p[np.arange(m), y]
    value += (w @ prior.precision @ w + prior.constant_ridge * b @ b) / 2
    slope = np.einsum("i,ik,ikj->j", weight, np.exp(log_p) - np.eye(K)[y], features)
    return value, slope + np.concatenate([prior.precision @ w, prior.constant_ridge * b])


def least(F: Array, y: Array, weight: Array, prior: Prior) -> Array:
    bounds = [(0 if n else None, None) for n in prior.nonnegative] + [(None, None)] * F.shape[1]
    start = np.concatenate([np.maximum(prior.start, 0), prior.centre])
    found = minimize(
        lambda θ: loss(F, y, weight, prior, θ),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options=TIGHT,
    )
    return np.asarray(found.x)


@pytest.mark.parametrize("seed", range(5))
def test_weights_have_the_least_loss(seed: int) -> None:
    F, y, weight, prior = problem(seed)
    w, b = layer.fit(Rows(F, y, weight), prior)
    assert_allclose(np.concatenate([w, b]), least(F, y, weight, prior), atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_weights_that_must_not_be_negative_have_the_least_loss_of_those(seed: int, G: int) -> None:
    F, y, weight, prior = problem(seed, G)
    prior = replace(prior, nonnegative=np.random.default_rng(seed).random(G) < 0.8)
    w, b = layer.fit(Rows(F, y, weight), prior)
    assert (w[prior.nonnegative] >= 0).all()
    assert_allclose(np.concatenate([w, b]), least(F, y, weight, prior), atol=1e-4)


def test_evidence_left_out_returns_if_that_was_for_other_evidence() -> None:
    """All three are negative together; without the others, the first is -3 + (9 + 9) / 4."""
    precision = np.array([[4.0, -3.0, -3.0], [-3.0, 4.0, 1.0], [-3.0, 1.0, 4.0]])
    prior = Prior.of(np.full(3, -3.0), precision, np.zeros(2), nonnegative=True)
    w, _ = layer.fit(Rows(np.zeros((1, 2, 3)), np.zeros(1, dtype=int), np.zeros(1)), prior)
    assert_allclose(w, [1.5, 0.0, 0.0], atol=1e-12)
    refined = replace(prior, refines=np.array([-1, 0, -1]))
    w, _ = layer.fit(Rows(np.zeros((1, 2, 3)), np.zeros(1, dtype=int), np.zeros(1)), refined)
    assert_array_equal(w, np.zeros(3))


def test_the_curvature_is_the_derivative_of_the_gradient() -> None:
    F, y, weight, prior = problem(7)
    m, K, G = F.shape
    features = np.concatenate([F, np.broadcast_to(np.eye(K), (m, K, K))], axis=2)
    θ = np.concatenate([prior.start, prior.centre])

    def gradient(θ: Array) -> Array:
        error = softmax(features @ θ, axis=1) - np.eye(K)[y]
        return np.einsum("i,ik,ikj->j", weight, error, features)

    steps = 1e-5 * np.eye(G + K)
    numerical = [(gradient(θ + step) - gradient(θ - step)) / 2e-5 for step in steps]
    _, _, curvature = layer_sums(F, y, weight, θ, 2, 1)
    assert_allclose(curvature, numerical, rtol=1e-6, atol=1e-6)


def test_no_evidence_leaves_constants() -> None:
    F, y, weight, prior = problem(0)
    none = prior.given_zero(np.ones(3, dtype=bool))
    w, b = layer.fit(Rows(F[:, :, :0], y, weight), none)
    alone, same = layer.fit(Rows(np.zeros_like(F), y, weight), prior)
    assert w.shape == (0,)
    assert_allclose(b, same, atol=1e-6)
    assert_allclose(alone, prior.start)


# Priors


@given(st.integers(0, 2**32 - 1))
def test_given_zero_is_the_prior_with_some_weights_at_zero(seed: int) -> None:
    *_, prior = problem(seed, 6)
    rng = np.random.default_rng(seed)
    out = rng.random(6) < 0.5
    given = prior.given_zero(out)

    def cost(prior: Prior, w: Array) -> float:
        return float((w - prior.start) @ prior.precision @ (w - prior.start) / 2)

    some = np.where(out, 0.0, rng.normal(size=(9, 6)))
    differences = [cost(prior, w) - cost(given, w[~out]) for w in some]
    assert_allclose(differences, differences[0], rtol=1e-6, atol=1e-6)


def test_around_a_multiple_is_two_steps_at_once() -> None:
    direction = np.array([1.0, 0.5, 0.0, 1e-9])
    start, precision = around_multiple(direction, 2.0, 30.0, 10.0)
    rng = np.random.default_rng(0)
    for w in rng.normal(size=(5, 4)):

        def cost(t: Array, w: Array = w) -> float:
            away = w - t[0] * direction
            return float(30 * away @ away + 10 * (t[0] - 2) ** 2) / 2

        expected = minimize(cost, [2.0], tol=1e-12).fun
        assert_allclose((w - start) @ precision @ (w - start) / 2, expected, rtol=1e-6)


def texts_problem(seed: int, G: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    F, y = rng.normal(size=(60, 3, G)), rng.integers(0, 3, 60)
    F[np.arange(60), y] += rng.normal(scale=0.7, size=G)
    return F, y, np.ones(60), np.log(np.full(3, 1 / 3))


@pytest.mark.parametrize("seed", range(20))
def test_texts_leave_out_evidence_with_what_refines_it(seed: int) -> None:
    """Until none is negative, all of it at once, and for good."""
    candidate = mixture(["words", "runs"], Selection())
    F, y, weight, centre = texts_problem(seed, 8)
    prior = prior_of(candidate, 60.0, centre)
    pair = np.arange(8) // 2
    assert_array_equal(prior.refines, np.where(np.arange(8) % 2, pair * 2, -1))
    used = np.ones(8, dtype=bool)
    while True:
        w = np.zeros(8)
        own = Prior.of(prior.start[used], np.diag(prior.precision)[used], centre)
        found = least(F[:, :, used], y, weight, own)
        w[used] = found[: used.sum()]
        if (w[::2] >= 0).all():
            break
        used &= ~np.repeat(w[::2] < 0, 2)
    mine, b = layer.fit(Rows(F, y, weight), prior)
    assert_allclose(np.concatenate([mine, b]), [*w, *found[used.sum() :]], atol=1e-5)


@pytest.mark.parametrize("event_model", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("seed", range(5))
def test_the_only_evidence_of_texts_has_no_negative_weight(seed: int, event_model: str) -> None:
    F, y, weight, centre = texts_problem(seed, 1)
    F[np.arange(60), y] -= 3.0
    prior = prior_of(plain(event_model, 1.0, 0.5, Selection()), 60.0, centre)
    w, b = layer.fit(Rows(F, y, weight), prior)
    assert_array_equal(w, [0.0])
    assert_allclose(b, layer.fit(Rows(F[:, :, :0], y, weight), prior.given_zero(w == 0))[1])


def test_candidates_are_judged_by_texts_that_had_no_part_in_their_weights() -> None:
    rng = np.random.default_rng(0)
    candidate = mixture(["words", "runs"], Selection())
    m, K, G = 60, 3, len(candidate.evidence)
    y, fold = np.arange(m) % K, np.arange(m) // K % 5
    F = rng.normal(size=(m, K, G))
    F[np.arange(m), y] += 1.0
    F /= np.sqrt((F**2).mean(axis=(0, 1)))
    one, spoken = np.ones(m), np.ones(m, bool)
    dealt = Dealt(None, y, np.arange(K), one, fold, None, [None] * 5)
    _, (_, loss) = judged(candidate, F, spoken, dealt, one)
    cost = 0.0
    for test in (fold == f for f in range(5)):
        prior = prior_of(candidate, float(np.count_nonzero(~test)), np.full(K, -np.log(K)))
        w, b = layer.fit(Rows(F[~test], y[~test], one[~test]), prior)
        cost -= log_softmax(F[test] @ w + b, axis=1)[np.arange(test.sum()), y[test]].sum()
    assert_allclose(loss, cost / m, rtol=1e-9)


def test_of_a_difference_no_rounding_is_left() -> None:
    """A value or a class that only the rows of a fold have is not known without them."""
    names, classes = (np.array(["x", "y"]),), np.array(["a", "b"])
    counts = {"rows": np.array([[3.0, 1e-12], [-1e-12, 1e-12]])}
    expected = Tally(classes[:1], (names[0][:1],), {"rows": np.array([[3.0]])})
    assert floored(Tally(classes, names, counts)) == expected
    assert floored(Compound({"cells": Tally(classes, names, counts)}))["cells"] == expected


# Mail


def messages(seed: int, ham: int, spam: int, apart: float) -> tuple[Array, Array]:
    """Return evidence like that of mail: bounded, correlated, some of it against itself or none."""
    rng = np.random.default_rng(seed)
    is_spam = np.arange(ham + spam) >= ham
    G = len(GROUPS)
    strength = apart * rng.normal(0.5, 1.0, G)
    mixed = np.eye(G) + 0.4 * rng.normal(size=(G, G))
    x = rng.normal(size=(len(is_spam), G)) @ mixed + np.where(is_spam, 1, -1)[:, None] * strength
    x[:, rng.random(G) < 0.15] = 0.0
    return judgement.bounded(x), is_spam


def weighed_by_scipy(x: Array, spam: Array) -> tuple[Array, float]:
    """Weights β near t · PRIOR, with t near SCALE, by L-BFGS-B with bounds."""
    J, G = judgement, len(GROUPS)
    deviation = x.std(axis=0) + 1e-9
    z, direction = (x - x.mean(axis=0)) / deviation, np.array(list(J.PRIOR.values())) * deviation
    n_spam, n_ham = np.count_nonzero(spam), np.count_nonzero(~spam)
    target = np.where(spam, (n_spam + 1) / (n_spam + 2), 1 / (n_ham + 2))
    weight = np.where(spam, 0.5 / n_spam, 0.5 / n_ham) * len(spam)

    def loss(θ: Array) -> tuple[float, Array]:
        β, β0, t = θ[:G], θ[G], θ[G + 1]
        s = z @ β + β0
        residual = weight * (1 / (1 + np.exp(-np.clip(s, -500, 500))) - target)
        away = β - t * direction
        value = weight @ (np.logaddexp(0, s) - target * s)
        value += J.RIDGE * away @ away / 2 + J.SCALE_RIDGE * (t - J.SCALE) ** 2 / 2
        by_t = J.SCALE_RIDGE * (t - J.SCALE) - J.RIDGE * away @ direction
        return value, np.concatenate([z.T @ residual + J.RIDGE * away, [residual.sum(), by_t]])

    start = np.concatenate([J.SCALE * direction, [0.0, J.SCALE]])
    bounds = [(0, None)] * G + [(None, None), (0, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=TIGHT).x
    # The evidence of a group that no message has cannot move its weight from the multiple.
    silent = deviation < 1e-6
    weights = np.where(silent, found[G + 1] * direction, found[:G]) / deviation
    return weights, float(found[G] - weights @ x.mean(axis=0))


@pytest.mark.parametrize("apart", [0.0, 0.1, 0.5, 2.0, 20.0])
def test_mail_is_weighed_as_scipy_would(apart: float) -> None:
    for seed in range(40):
        ham, spam = np.random.default_rng(seed).integers(5, 300 if seed % 2 else 12, 2)
        x, is_spam = messages(seed, ham, spam, apart)
        weights, constant = judgement.weigh(x, is_spam)
        expected, expected_constant = weighed_by_scipy(x, is_spam)
        assert_allclose(weights, expected, atol=1e-5)
        assert_allclose(constant, expected_constant, atol=1e-5)


def test_the_random_mail_has_groups_of_no_weight_and_of_no_evidence() -> None:
    found = [messages(seed, 40, 60, 0.5) for seed in range(20)]
    weights = np.array([judgement.weigh(*each)[0] for each in found])
    silent = np.array([x.std(axis=0) == 0 for x, _ in found])
    assert (weights >= 0).all()
    assert np.count_nonzero(weights[~silent] == 0) > 10
    assert np.count_nonzero(silent) > 10
    assert (weights[silent] > 0).all()


def test_mail_told_apart_without_fail_has_finite_weights() -> None:
    is_spam = np.arange(12) >= 5
    x = np.repeat(np.where(is_spam, 2.0, -2.0)[:, None], len(GROUPS), axis=1)
    weights, constant = judgement.weigh(x, is_spam)
    expected, expected_constant = weighed_by_scipy(x, is_spam)
    assert_allclose([*weights, constant], [*expected, expected_constant], atol=1e-5)


def test_evidence_that_is_the_same_in_all_mail_is_part_of_the_constant() -> None:
    x, is_spam = messages(3, 30, 20, 1.0)
    x[:, :2] = [0.0, 0.7]
    weights, constant = judgement.weigh(x, is_spam)
    expected, expected_constant = weighed_by_scipy(x, is_spam)
    assert_allclose([*weights, constant], [*expected, expected_constant], atol=1e-5)


def test_mail_needs_no_large_library() -> None:
    code = (
        "import sys, numpy as np; from genus.mail import judgement as j, spamfilter; "
        "j.weigh(np.eye(10, len(j.GROUPS)), np.arange(10) > 4); "
        "print([m for m in ('scipy.optimize', 'scipy.special', 'sklearn', 'pandas', 'pyarrow') "
        "if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_rows_that_say_nothing_leave_the_shares() -> None:
    """Without evidence the constants are those of the classes' shares, by their prior."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [160, 40])
    F = rng.normal(size=(200, 2, 3))
    prior = Prior.of(np.ones(3) / 3, np.ones(3), np.zeros(2))
    found = stack(F, y, np.ones(200), np.arange(200) % 5, prior, np.ones(200, dtype=bool))
    assert_array_equal(found.weights, 0)
    p = np.exp(found.constant - np.logaddexp(*found.constant))
    assert p[1] == pytest.approx(0.2, abs=0.02)


def test_the_doubt_has_half_a_mislabelled_row_and_half_a_correct_one_more() -> None:
    """The fixed point of expectation maximisation with Jeffreys' prior, up to its tolerance."""
    rng = np.random.default_rng(4)
    own, weight = rng.uniform(0.001, 1, 30), rng.uniform(0.5, 2, 30)
    share = np.full(30, 0.5)
    ε = doubted(own, share, weight)
    odd = ε * share / ((1 - ε) * own + ε * share)
    assert_allclose(ε, (weight @ odd + 0.5) / (weight.sum() + 1), rtol=2e-3)
