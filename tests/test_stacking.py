"""Weights of evidence are those of the least loss, as SciPy finds it, under every kind of prior."""

from __future__ import annotations

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
from genus.stacking import layer
from genus.stacking.prior import Prior, around_multiple
from genus.text.model.choosing import prior_of
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
    w, b = layer.fit(F, y, weight, prior)
    assert_allclose(np.concatenate([w, b]), least(F, y, weight, prior), atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_weights_that_must_not_be_negative_have_the_least_loss_of_those(seed: int, G: int) -> None:
    F, y, weight, prior = problem(seed, G)
    prior = replace(prior, nonnegative=np.random.default_rng(seed).random(G) < 0.8)
    w, b = layer.fit(F, y, weight, prior)
    assert (w[prior.nonnegative] >= 0).all()
    assert_allclose(np.concatenate([w, b]), least(F, y, weight, prior), atol=1e-4)


def test_evidence_left_out_returns_if_that_was_for_other_evidence() -> None:
    """All three are negative together; without the others, the first is -3 + (9 + 9) / 4."""
    precision = np.array([[4.0, -3.0, -3.0], [-3.0, 4.0, 1.0], [-3.0, 1.0, 4.0]])
    prior = Prior.of(np.full(3, -3.0), precision, np.zeros(2), nonnegative=True)
    w, _ = layer.fit(np.zeros((1, 2, 3)), np.zeros(1, dtype=int), np.zeros(1), prior)
    assert_allclose(w, [1.5, 0.0, 0.0], atol=1e-12)
    refined = replace(prior, refines=np.array([-1, 0, -1]))
    w, _ = layer.fit(np.zeros((1, 2, 3)), np.zeros(1, dtype=int), np.zeros(1), refined)
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
    _, _, curvature = layer_sums(F, y, weight, θ, True, 1)
    assert_allclose(curvature, numerical, rtol=1e-6, atol=1e-6)


def test_no_evidence_leaves_constants() -> None:
    F, y, weight, prior = problem(0)
    none = prior.given_zero(np.ones(3, dtype=bool))
    w, b = layer.fit(F[:, :, :0], y, weight, none)
    alone, same = layer.fit(np.zeros_like(F), y, weight, prior)
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
    mine, b = layer.fit(F, y, weight, prior)
    assert_allclose(np.concatenate([mine, b]), [*w, *found[used.sum() :]], atol=1e-5)


@pytest.mark.parametrize("event_model", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("seed", range(5))
def test_the_only_evidence_of_texts_has_no_negative_weight(seed: int, event_model: str) -> None:
    F, y, weight, centre = texts_problem(seed, 1)
    F[np.arange(60), y] -= 3.0
    prior = prior_of(plain(event_model, 1.0, 0.5, Selection()), 60.0, centre)
    w, b = layer.fit(F, y, weight, prior)
    assert_array_equal(w, [0.0])
    assert_allclose(b, layer.fit(F[:, :, :0], y, weight, prior.given_zero(w == 0))[1])
