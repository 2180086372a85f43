"""What TextClassifier chooses, calibrates and learns without labels, and tune: by hand, and odd.

The formulas are written out again in NumPy, on counts of scikit-learn's.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GroupKFold, KFold
from threadpoolctl import threadpool_limits

import genus
from cases import CASES, DISCRETE, NUMBERS, POSITIVE, Case, each, refused, table, unchanged
from cases import LABELS as CODES
from genus import GDA, TextClassifier, cross_validate, tune
from genus.estimators import text as text_module
from genus.stacking.dealing import Dealt
from genus.text import Documents, Texts
from genus.text.model import corpus
from genus.text.model.choosing import Choice, choose
from genus.text.model.combination import Combination, Evidence, mixture, plain
from genus.text.model.selection import Selection
from laws import check, loading
from scope import EVERYTHING, at_night
from test_files import STRANGE, changed, loads_or_refuses, places, read_parts, write_parts
from test_text import (
    COLUMNS,
    LABELS,
    NEW,
    SILENT,
    SMALL,
    SMALL_LABELS,
    TEXTS,
    generated,
)

Array = np.ndarray[Any, Any]

CHOOSING: dict[str, dict[str, Any]] = {
    "auto": {"event_model": "auto"},
    "calibrated": {"calibrate": True},
    "calibrated bernoulli": {"event_model": "bernoulli", "calibrate": True},
    "calibrated complement": {"event_model": "complement", "calibrate": True, "alpha": "auto"},
    "calibrated chi2": {"calibrate": True, "max_features": 20, "select": "chi2"},
}
choosing = pytest.mark.parametrize("options", CHOOSING.values(), ids=CHOOSING)
either = pytest.mark.parametrize("options", [{"event_model": "auto"}, {"calibrate": True}], ids=str)

SPAM = ["win cash prize now", "lunch at noon today"]


@pytest.fixture(autouse=True, scope="module")
def one_thread_for_each_worker() -> Iterator[None]:
    """Small matrices gain nothing from BLAS threads, which wait for each other's processors."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def fitted() -> Callable[[dict[str, Any]], Any]:
    """Return models of TEXTS, each a copy of one that is fitted once."""
    known: dict[str, Any] = {}

    def of(options: dict[str, Any]) -> Any:
        key = str(options)
        if key not in known:
            known[key] = TextClassifier(**options).fit(TEXTS, LABELS)
        return copy.deepcopy(known[key])

    return of


@pytest.mark.parametrize("options", [{"event_model": "auto"}, {"calibrate": True}], ids=str)
def test_texts_that_tell_nothing_are_learned_from(options: dict[str, Any]) -> None:
    for seed in range(6):
        y = np.random.default_rng(seed).permutation(LABELS[:90])
        p = TextClassifier(**options).fit(TEXTS[:90], y).predict_proba(NEW)
        assert np.isfinite(p).all()


# A combination is what its formula says

EVIDENCE = (
    Evidence("multinomial", "occurrences", 0.1, "words"),
    Evidence("complement", "documents", 1.0, "words", tilted=True),
    Evidence("multinomial", "documents", 0.3, "runs", tilted=True),
    Evidence("complement", "occurrences", 0.7, "runs"),
    Evidence("bernoulli", "documents", 0.5, "all"),
    Evidence("multinomial", "occurrences", 2.0, "all", tilted=True),
)
CLASSES = np.unique(LABELS)


def combination(evidence: tuple[Evidence, ...], weighting: str, power: float) -> Combination:
    weights = np.linspace(-0.4, 1.3, len(evidence))
    constant = np.array([0.3, -0.2, 0.1])
    return Combination("mine", evidence, weighting, power, weights, CLASSES, constant)


def with_choice(model: Any, best: Combination) -> Any:
    """Return the model as if this had been chosen."""
    model.model_ = replace(model.model_, chosen=replace(model.choice_, best=best))
    return model


def table_by_hand(
    e: Evidence, occurrences: Array, documents: Array, rows: Array, runs: Array
) -> tuple[Array, Array]:
    used = {"all": runs | True, "runs": runs, "words": ~runs}[e.tokens]
    N = (documents if e.counted == "documents" else occurrences)[:, used]
    constant = np.zeros(len(rows))
    if e.family == "bernoulli":
        φ = (N + e.alpha) / (rows[:, None] + 2 * e.alpha)
        slope, constant = np.log(φ / (1 - φ)), np.log(1 - φ).sum(axis=1)
    elif e.family == "complement":
        others = N.sum(axis=0) - N + e.alpha
        slope = -np.log(others / others.sum(axis=1, keepdims=True))
    else:
        slope = np.log((N + e.alpha) / (N + e.alpha).sum(axis=1, keepdims=True))
    slope = slope - slope.mean(axis=0)
    if e.tilted:
        slope = slope * (np.log2(documents.sum(axis=0)[used]) / 4 - 1)
    table = np.zeros((len(rows), len(runs)))
    table[:, used] = slope
    return table, constant - constant.mean()


@pytest.mark.parametrize("power", [0.0, 0.5])
@pytest.mark.parametrize("weighting", ["occurrences", "once", "logarithm"])
def test_a_combination_is_its_formula(weighting: str, power: float, fitted: Any) -> None:
    best = combination(EVIDENCE, weighting, power)
    model = with_choice(fitted({"event_model": "auto"}), best)
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    X, Z = (vectorizer.fit_transform(TEXTS).toarray(), vectorizer.transform(NEW).toarray())
    words = vectorizer.get_feature_names_out()
    assert model.get_feature_names_out().tolist() == words.tolist()
    own = (CLASSES[:, None] == LABELS).astype(float)
    counts = own @ X, own @ (X > 0), own.sum(axis=1), np.char.find(words.astype(str), " ") >= 0
    tables, constants = zip(*(table_by_hand(e, *counts) for e in EVIDENCE), strict=True)
    x = {"occurrences": Z, "once": Z > 0, "logarithm": np.log2(1 + Z)}[weighting].astype(float)
    length = np.maximum(x.sum(axis=1, keepdims=True), 1)
    T = sum(w * t for w, t in zip(best.weights, tables, strict=True))
    c = best.constant + sum(w * t for w, t in zip(best.weights, constants, strict=True))
    scores = x @ T.T / length**power + np.where(x.any(axis=1, keepdims=True), c, 0.0)
    joint = scores + np.log(counts[2] / counts[2].sum())
    assert_allclose(model.predict_joint_log_proba(NEW), joint, atol=1e-9)
    assert_allclose(model.predict_log_proba(NEW), log_softmax(joint, axis=1), atol=1e-9)


def test_a_choice_is_read_and_not_set(fitted: Any) -> None:
    model = fitted({"event_model": "auto"})
    with pytest.raises(AttributeError):
        model.choice_ = model.choice_
    for unchosen in TextClassifier("auto"), TextClassifier().fit(TEXTS, LABELS):
        assert not hasattr(unchosen, "choice_")


def test_all_evidence_collapses_into_one_table(fitted: Any) -> None:
    model = fitted({"event_model": "auto"})
    counts = model.resolve(event_model="multinomial", ngrams=(1, 2)).model_.parameters.counts
    parts = [combination((e,), "once", 0.0) for e in EVIDENCE]
    whole = combination(EVIDENCE, "once", 0.0)
    tables, constants = zip(*(e.solve(counts) for e in EVIDENCE), strict=True)
    table, constant = whole.solve(counts)
    assert_allclose(table, np.tensordot(whole.weights, tables, 1), atol=1e-12)
    assert_allclose(constant, whole.constant + whole.weights @ np.array(constants), atol=1e-12)
    assert_allclose(parts[0].solve(counts)[0], -0.4 * tables[0], atol=1e-12)


@choosing
def test_texts_are_scored_as_their_counts_are(options: dict[str, Any], fitted: Any) -> None:
    model = fitted(options)
    documents = model._counted_by.encode(Texts.of(NEW))
    assert isinstance(documents, Documents)
    assert_allclose(
        model.model_.log_joint(documents), model.predict_joint_log_proba(NEW), atol=1e-12
    )


# What texts say


@choosing
@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
def test_a_text_without_a_known_word_gets_the_priors(
    options: dict[str, Any], priors: Any, fitted: Any
) -> None:
    model = fitted(options).resolve(priors=priors)
    shares = np.unique(LABELS, return_counts=True)[1] / len(LABELS) if priors is None else priors
    joint = np.tile(np.log(shares), (len(SILENT), 1))
    assert_array_equal(model.predict_joint_log_proba(SILENT), joint)
    assert_array_equal(model.explain(SILENT).joint, joint)


@choosing
def test_an_explanation_adds_up(options: dict[str, Any], fitted: Any) -> None:
    model = fitted(options)
    assert_allclose(model.explain(NEW).joint, model.predict_joint_log_proba(NEW), atol=1e-12)


def test_evidence_that_cancels_is_evidence() -> None:
    texts = ["foo foo bar", "foo foo bar", "bar bar foo", "bar", "bar", "foo"]
    model = TextClassifier(calibrate=True).fit(texts, [0, 0, 1, 1, 1, 1])
    new = ["foo bar", "foo foo bar bar"]
    assert_allclose(model.predict_joint_log_proba(new), model.explain(new).joint, atol=1e-12)


def test_what_is_absent_speaks_though_what_is_there_does_not() -> None:
    texts, y = ["foo bar", "bar"] * 20, [0, 1] * 20
    assert TextClassifier("bernoulli").fit(texts, y).score(texts, y) == 1
    assert TextClassifier("bernoulli", calibrate=True).fit(texts, y).score(texts, y) == 1


def test_a_choice_is_worth_what_cross_validation_says() -> None:
    texts, y = ["foo", ""] * 20, [0, 1] * 20
    choice = TextClassifier("auto").fit(texts, y).choice_
    result = cross_validate(TextClassifier("auto"), texts, y, folds=10)
    assert choice.scores[:, 1].min() == pytest.approx(result.log_loss, abs=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"event_model": "auto"},
        {"calibrate": True},
        {"event_model": "bernoulli", "calibrate": True},
    ],
)
def test_the_logistic_form_has_the_same_probabilities_or_there_is_none(
    options: dict[str, Any], fitted: Any
) -> None:
    model = fitted(options)
    if hasattr(model, "to_logistic"):
        X = model.vectorize(NEW)
        X = (X > 0 if options["event_model"] == "bernoulli" else X).astype(float)
        assert_allclose(model.to_logistic().predict_proba(X), model.predict_proba(NEW), atol=1e-9)
    else:
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize("event_model", ["multinomial", "bernoulli"])
def test_samples_are_drawn_from_the_density(event_model: str, fitted: Any) -> None:
    model = fitted({"event_model": event_model, "calibrate": True})
    texts, _ = model.sample(300, y="spam", random_state=0)
    plain = model.resolve(calibrate=False)
    assert_allclose(model.log_density(NEW), plain.log_density(NEW))
    repeats = model.vectorize(texts).max()
    assert (repeats > 1) == (event_model == "multinomial")


# Honest: what is chosen, and what it is worth


@either
def test_labels_of_no_meaning_are_not_learned(options: dict[str, Any]) -> None:
    model, right = TextClassifier(**options), []
    for seed in range(3, 7 if EVERYTHING else 5):
        texts, _ = generated(500, seed)
        y = np.random.default_rng(30 + seed).integers(0, 3, len(texts))
        judged = cross_validate(model, texts, y, folds=5)
        assert judged.log_loss == pytest.approx(np.log(3), abs=0.04)
        right.append(judged.accuracy)
        scores = model.fit(texts, y).choice_.scores
        assert scores[:, 1].min() == pytest.approx(np.log(3), abs=0.04)
    assert np.mean(right) == pytest.approx(1 / 3, abs=0.06)


@either
def test_nothing_of_a_fold_leaks_into_its_predictions(options: dict[str, Any]) -> None:
    texts, y, folds = TEXTS[:160], LABELS[:160], list(KFold(4).split(TEXTS[:160]))
    before = cross_validate(TextClassifier(**options), texts, y, folds=folds)
    for _, test in folds[:2]:
        other = y.copy()
        other[test] = np.roll(y[test], 7)
        after = cross_validate(TextClassifier(**options), texts, other, folds=folds)
        assert_array_equal(after.probabilities[test], before.probabilities[test])
        elsewhere = np.delete(np.arange(160), test)
        assert not np.array_equal(after.probabilities[elsewhere], before.probabilities[elsewhere])
        strange = list(texts)
        strange[test[0]] = "okapi0 okapi0 of no class"
        after = cross_validate(TextClassifier(**options), strange, y, folds=folds)
        assert_allclose(
            after.probabilities[test[1:]], before.probabilities[test[1:]], rtol=0, atol=1e-12
        )


@either
def test_leave_one_out_is_out_of_fold(options: dict[str, Any]) -> None:
    result = cross_validate(TextClassifier(**options), TEXTS[:60], LABELS[:60], folds="loo")
    assert np.isfinite(result.probabilities).all()
    assert result.accuracy < TextClassifier(**options).fit(TEXTS[:60], LABELS[:60]).score(
        TEXTS[:60], LABELS[:60]
    )


def test_two_folds_suffice() -> None:
    found = cross_validate(TextClassifier(calibrate=True), TEXTS, LABELS, folds=2)
    assert_allclose(found.probabilities.sum(axis=1), 1)
    commonest = np.unique(LABELS, return_counts=True)[1].max() / len(LABELS)
    assert found.accuracy > commonest + 0.1


def repeated(m: int, seed: int) -> tuple[list[str], Array]:
    """Return texts whose words all stand there four times, so that evidence counts four times."""
    rng = np.random.default_rng(seed)
    words, y = np.array([f"word{i}" for i in range(30)]), rng.integers(0, 3, m)
    p = rng.dirichlet(np.full(30, 3.0), 3)
    return [" ".join(np.repeat(rng.choice(words, 5, p=p[k]), 4)) for k in y], y


def test_calibration_mends_evidence_that_is_counted_twice() -> None:
    texts, y = repeated(600, 0)
    before, after, auto = (
        cross_validate(TextClassifier(**options), texts, y, folds=5)
        for options in ({}, {"calibrate": True}, {"event_model": "auto"})
    )
    assert before.calibration_error > 0.15
    assert max(after.calibration_error, auto.calibration_error) < 0.08
    assert max(after.log_loss, auto.log_loss) < 0.6 * before.log_loss


@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_error_is_a_mean_over_steps(weighted: bool) -> None:
    weight = np.random.default_rng(0).integers(0, 4, len(TEXTS)) / 2 if weighted else None
    result = cross_validate(TextClassifier(), TEXTS, LABELS, folds=4, sample_weight=weight)
    w = np.ones(len(TEXTS)) if weight is None else weight
    sure, right = result.probabilities.max(axis=1), result.predictions == LABELS
    error = 0.0
    for step in range(15):
        here = (sure >= step / 15) & ((sure < (step + 1) / 15) | (step == 14))
        if w[here].sum():
            gap = np.average(sure[here], weights=w[here]) - np.average(right[here], weights=w[here])
            error += w[here].sum() / w.sum() * abs(gap)
    assert result.calibration_error == pytest.approx(error, rel=1e-9)


def test_a_choice_is_the_candidate_of_the_least_loss(fitted: Any) -> None:
    choice = fitted({"event_model": "auto"}).choice_
    assert choice.best.name == choice.names[int(choice.scores[:, 1].argmin())]
    assert choice.texts == len(TEXTS)
    assert str(choice).splitlines()[1].startswith(choice.best.name)
    assert len(str(choice).splitlines()) == len(choice.names) + 1


def test_more_than_enough_texts_are_chosen_from_some() -> None:
    model = TextClassifier("auto", sample_size=100).fit(TEXTS, LABELS)
    assert model.choice_.texts == 100
    plain = TextClassifier(ngrams=(1, 2)).fit(TEXTS, LABELS)
    assert model.model_.statistics["words"] == plain.model_.statistics["words"]
    assert model.score(TEXTS, LABELS) > 0.8
    again = TextClassifier("auto", sample_size=100).fit(TEXTS, LABELS)
    assert_array_equal(model.predict_proba(NEW), again.predict_proba(NEW))


def test_pairs_are_left_out_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(text_module, "MOST_RUNS", 100)
    model = TextClassifier("auto").fit(TEXTS[:200], LABELS[:200])
    plain = TextClassifier().fit(TEXTS[:200], LABELS[:200])
    assert model.model_.statistics["words"] == plain.model_.statistics["words"]
    model.save(tmp_path / "model.genus")
    check(loading(model, genus.load(tmp_path / "model.genus"), NEW))
    model.partial_fit(TEXTS[200:], LABELS[200:])
    plain = TextClassifier().fit(TEXTS, LABELS)
    assert model.model_.statistics["words"] == plain.model_.statistics["words"]
    assert_same_predictions(model.resolve(event_model="multinomial"), plain)


def test_what_is_cross_validated_leaves_the_same_pairs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "MOST_RUNS", 100)
    tuned = tune(TextClassifier("auto"), TEXTS[:90], LABELS[:90], [{}], folds=3)
    model = TextClassifier("auto").fit(TEXTS[:90], LABELS[:90])
    assert tuned.model.model_ == model.model_


# Few texts, many classes, odd ones

ODD: dict[str, Any] = {
    "two texts": (SPAM, ["spam", "ham"]),
    "two that are the same": (["foo", "foo"], [0, 1]),
    "one that is empty": (["foo", ""], [0, 1]),
    "one of each of 30": ([f"foo{i} bar" for i in range(30)], list(range(30))),
    "a class of one": (["foo baz"] * 200 + ["bar baz"], [0] * 200 + [1]),
    "all the same": (["foo bar"] * 20, [0, 1] * 10),
    "all empty but one": ([""] * 19 + ["foo bar"], [0, 1] * 10),
    "texts of one word": (["foo", "bar"] * 10, [0, 1] * 10),
    "long and short": (["foo " * 10_000, "bar", "foo", "bar " * 10_000] * 3, [0, 1, 0, 1] * 3),
    "30 classes": (
        [f"word{i % 30} word{i % 7} all" for i in range(300)],
        [f"class {i % 30}" for i in range(300)],
    ),
}


@either
@pytest.mark.parametrize(("texts", "y"), ODD.values(), ids=ODD)
def test_few_and_odd_texts_have_probabilities(texts: Any, y: Any, options: Any) -> None:
    model = TextClassifier(**options).fit(texts, y)
    new = [*texts[:5], "foo bar", "", "unknown"]
    assert_allclose(model.predict_proba(new).sum(axis=1), 1)
    assert np.isfinite(model.predict_joint_log_proba(new)).all()
    assert_allclose(model.explain(new).joint, model.predict_joint_log_proba(new), atol=1e-7)
    alone = len(set(y)) == len(y)  # with no other text of its class none can be judged
    assert (np.isnan(model.choice_.scores) == alone).all()
    assert len(model.sample(2, random_state=0)[0]) == 2


@either
def test_of_one_text_for_each_class_nobody_can_be_sure(options: dict[str, Any]) -> None:
    model = TextClassifier(**options).fit(SPAM, ["spam", "ham"])
    assert model.choice_.best.weights.max() < 10
    assert model.predict_proba(["win a lunch"]).max() < 0.999
    assert model.predict_proba(["cash lunch lunch"]).max() < 0.999


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 2), (2, 3), (1, 3)])
def test_auto_with_ngrams(ngrams: tuple[int, int]) -> None:
    model = TextClassifier("auto", ngrams=ngrams).fit(TEXTS, LABELS)
    counted = ngrams[0], max(ngrams[1], 2)
    words = CountVectorizer(ngram_range=counted).fit(TEXTS).get_feature_names_out()
    assert model.model_.statistics["words"].width == 1 + len(words)
    assert model.score(TEXTS, LABELS) > 0.8
    again = model.resolve(event_model="multinomial")
    assert_same_predictions(again, TextClassifier(ngrams=ngrams).fit(TEXTS, LABELS))


@pytest.mark.parametrize(
    "tokens",
    [
        {"analyzer": "char_wb", "ngrams": (2, 4)},
        {"tokenizer": str.split},
        {"token_pattern": r"\w+"},
        {"lowercase": False},
        {"stop_words": ["okapi0", "the1"]},
        pytest.param({"stop_words": np.array(["okapi0", "the1"])}, id="array"),
        pytest.param({"stop_words": pd.Series(["okapi0", "the1"])}, id="Series"),
    ],
    ids=str,
)
@either
def test_tokens_of_all_kinds(tokens: dict[str, Any], options: dict[str, Any]) -> None:
    model = TextClassifier(**options, **tokens).fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) > 0.8
    assert_allclose(model.explain(NEW).joint, model.predict_joint_log_proba(NEW), atol=1e-12)
    by_name = model.resolve(event_model="boolean", calibrate=False)
    assert_same_predictions(by_name, TextClassifier("boolean", **tokens).fit(TEXTS, LABELS))


@pytest.mark.parametrize("event_model", ["multinomial", "boolean", "bernoulli", "complement"])
def test_calibration_without_smoothing_works_or_is_refused(event_model: str) -> None:
    model = TextClassifier(event_model, alpha=0, calibrate=True)
    try:
        model.fit(TEXTS, LABELS)
    except ValueError as error:
        assert "alpha" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(model.predict_proba(NEW)).all()


def test_auto_chooses_alpha() -> None:
    for alpha in 0.5, [1.0, 2.0], np.array([1.0, 2.0]):
        with refused("alpha", "auto"):
            TextClassifier("auto", alpha=alpha).fit(TEXTS, LABELS)


def test_the_pseudo_count_that_is_chosen_is_told(fitted: Any) -> None:
    options = {"alpha": "auto", "calibrate": True}
    assert isinstance(fitted(options).alpha_, float)


# Weights


@either
@pytest.mark.parametrize(
    "weight", at_night([1e-100, 1e-12, 0.5, 1e6, 1e12, 1e15, 1e100], 1e-100, 0.5, 1e15)
)
@pytest.mark.parametrize("some", [1, 2], ids=["all", "every other"])
def test_weights_of_any_size(weight: float, some: int, options: dict[str, Any]) -> None:
    weights = np.where(np.arange(150) % some, 1.0, weight)
    model = TextClassifier(**options).fit(TEXTS[:150], LABELS[:150], sample_weight=weights)
    assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)


CANDIDATES = [plain("multinomial", 1.0, 0.5, Selection()), mixture(["words"], Selection())]


def chosen_from(texts: Any, y: Any, fold: Any, weight: Array | None = None) -> Choice:
    """Return what is chosen of CANDIDATES when texts are in these folds."""
    words = TextClassifier()._family().words
    X = words.tokenizer.encode(Texts.of(texts))
    weight = np.ones(len(texts)) if weight is None else weight
    fold = np.asarray(fold)
    classes, codes = np.unique(y, return_inverse=True)
    everything, *parts = (
        words.count(X[rows], codes[rows], classes, weight[rows])
        for rows in [np.arange(len(X)), *(np.flatnonzero(fold == f) for f in range(fold.max() + 1))]
    )
    return choose(Dealt(X, codes, classes, weight, fold, everything, parts), words, CANDIDATES)


def test_a_weight_of_two_is_a_text_given_twice() -> None:
    fold = np.arange(len(TEXTS)) % 5
    once = chosen_from(TEXTS, LABELS, fold, np.full(len(TEXTS), 2.0))
    twice = chosen_from(TEXTS * 2, np.tile(LABELS, 2), np.tile(fold, 2))
    assert_allclose(once.scores, twice.scores, rtol=0.02)
    assert_allclose(once.best.weights, twice.best.weights, rtol=0.1, atol=0.02)


@choosing
def test_the_model_of_texts_that_weigh_two_is_that_of_texts_given_twice(
    options: dict[str, Any], fitted: Any
) -> None:
    once = TextClassifier(**options).fit(TEXTS, LABELS, sample_weight=np.full(len(TEXTS), 2.0))
    twice = TextClassifier(**options).fit(TEXTS * 2, np.tile(LABELS, 2))
    assert_one_model(once, twice)
    assert_one_model(once, 2 * fitted(options))


def test_texts_that_weigh_nothing_choose_nothing() -> None:
    fold = np.arange(len(TEXTS)) % 5
    more, y = generated(100, 9)
    weight = np.repeat([1.0, 0.0], [len(TEXTS), len(more)])
    without = chosen_from(TEXTS, LABELS, fold, np.ones(len(TEXTS)))
    texts, folds = [*TEXTS, *(t * 50 for t in more)], [*fold, *fold[: len(more)]]
    assert_allclose(
        chosen_from(texts, [*LABELS, *y], folds, weight).scores, without.scores, rtol=1e-9
    )


@choosing
def test_a_model_has_nothing_of_texts_that_weigh_nothing(
    options: dict[str, Any], fitted: Any
) -> None:
    more, y = generated(100, 9)
    weight = np.repeat([1.0, 0.0], [len(TEXTS), len(more)])
    model = TextClassifier(**options).fit([*TEXTS, *more], [*LABELS, *y], sample_weight=weight)
    assert_one_model(model, fitted(options))


@either
def test_a_class_that_weighs_nothing_is_a_class(options: dict[str, Any]) -> None:
    weight = np.where(LABELS == "news", 0.0, 1.0)
    model = TextClassifier(**options).fit(TEXTS, LABELS, sample_weight=weight)
    assert model.classes_.tolist() == ["ham", "news", "spam"]
    assert (model.predict_proba(NEW)[:, 1] == 0).all()


# The group: what is chosen is that of the texts that are counted, however they came there


def assert_same_predictions(one: Any, other: Any) -> None:
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    assert_array_equal(one.predict_joint_log_proba(NEW), other.predict_joint_log_proba(NEW))


def assert_same_choice(one: Any, other: Any) -> None:
    """Check that two models have chosen the same, and say the same."""
    mine, theirs = one.choice_, other.choice_
    assert mine.best.name == theirs.best.name
    assert (mine.names, mine.texts) == (theirs.names, theirs.texts)
    assert_allclose(mine.scores, theirs.scores, rtol=1e-9)
    assert_allclose(mine.best.weights, theirs.best.weights, rtol=1e-9)
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    joint = other.predict_joint_log_proba(NEW)
    assert_allclose(one.predict_joint_log_proba(NEW), joint, rtol=1e-9, atol=1e-12)


def assert_one_model(one: Any, other: Any) -> None:
    """Check that two models are one: what they have counted, and what they choose from it."""
    assert one.model_ == other.model_
    assert_same_choice(one, other)


def halves(options: dict[str, Any]) -> list[Any]:
    rows = slice(150), slice(150, None)
    return [TextClassifier(**options).fit(TEXTS[part], LABELS[part]) for part in rows]


@choosing
def test_merging_chooses_as_a_fit_on_all(options: dict[str, Any], fitted: Any) -> None:
    one, two = halves(options)
    whole = fitted(options)
    both = one + two
    for merged in both, two + one, sum([one, two]):
        assert_one_model(merged, whole)
    ngrams = (1, 2) if options.get("event_model") == "auto" else (1, 1)
    plain = TextClassifier(ngrams=ngrams).fit(TEXTS, LABELS).model_
    assert both.model_.statistics["words"] == plain.statistics["words"]
    streamed = copy.deepcopy(one).partial_fit(TEXTS[150:], LABELS[150:])
    assert_one_model(streamed, whole)
    assert_one_model(streamed.forget(TEXTS[150:], LABELS[150:]), one)
    assert_one_model(both - two, one)
    assert_one_model(2 * one, one + one)
    assert_one_model(0.5 * (2 * one), one)


@choosing
def test_samples_that_are_full_merge_as_well(options: dict[str, Any]) -> None:
    one, two = halves(options | {"sample_size": 40})
    whole = TextClassifier(sample_size=40, **options).fit(TEXTS, LABELS)
    assert 40 < len(whole.model_.statistics["sample"]) <= 80
    assert whole.choice_.texts == 40
    assert_one_model(one + two, whole)
    assert_one_model(two + one, whole)
    assert_one_model(one.partial_fit(TEXTS[150:], LABELS[150:]), whole)


@choosing
def test_forgetting_is_exact_while_enough_of_a_full_sample_is_left(options: dict[str, Any]) -> None:
    model = TextClassifier(sample_size=100, **options).fit(TEXTS, LABELS)
    model.forget(TEXTS[:50], LABELS[:50])
    assert 100 <= len(model.model_.statistics["sample"]) < 200
    other = TextClassifier(sample_size=100, **options).fit(TEXTS[50:], LABELS[50:])
    assert_same_choice(model, other)
    model.forget(TEXTS[50:280], LABELS[50:280])
    assert np.isfinite(model.predict_joint_log_proba(NEW)).all()


@either
def test_samples_of_other_sizes_do_not_merge(options: dict[str, Any], fitted: Any) -> None:
    model = TextClassifier(sample_size=100, **options).fit(TEXTS, LABELS)
    with unchanged(model, NEW), refused("count differently", "sample=100", "sample=10000"):
        _ = model + fitted(options)


@choosing
def test_the_order_of_texts_chooses_nothing(options: dict[str, Any], fitted: Any) -> None:
    order = np.random.default_rng(0).permutation(len(TEXTS))
    model = TextClassifier(**options).fit([TEXTS[i] for i in order], LABELS[order])
    assert_one_model(model, fitted(options))


@pytest.mark.parametrize(
    "tokens",
    [{}, {"ngrams": (2, 3)}, {"analyzer": "char_wb", "ngrams": (2, 4)}, {"tokenizer": str.split}],
    ids=str,
)
@either
def test_texts_are_in_the_sample_alike_however_many_are_read(
    tokens: dict[str, Any], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = TextClassifier(**options, **tokens).fit(TEXTS, LABELS)
    monkeypatch.setattr(text_module, "READ_AHEAD", 10)
    assert_one_model(TextClassifier(**options, **tokens).fit(TEXTS, LABELS), few)


def with_and_without_pairs(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    one = TextClassifier("auto").fit(TEXTS[:150], LABELS[:150])
    monkeypatch.setattr(text_module, "MOST_RUNS", 100)
    return one, TextClassifier("auto").fit(TEXTS[150:], LABELS[150:])


def test_models_with_and_without_pairs_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = with_and_without_pairs(monkeypatch)
    plain = TextClassifier().fit(TEXTS, LABELS)
    for both in one + two, two + one:
        assert both.model_.statistics["words"] == plain.model_.statistics["words"]
        assert both.choice_.texts == len(TEXTS)
        assert both.score(TEXTS, LABELS) > 0.9


def test_texts_are_forgotten_whether_or_not_their_pairs_were_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = with_and_without_pairs(monkeypatch)
    left = TextClassifier().fit(TEXTS[150:], LABELS[150:])
    for both in one + two, two + one:
        both.forget(TEXTS[:150], LABELS[:150])
        assert both.model_.statistics["words"] == left.model_.statistics["words"]
        assert_same_choice(both, two)


@choosing
def test_a_class_may_come_later_and_go(options: dict[str, Any], fitted: Any) -> None:
    model = fitted(options)
    zoo, labels = ["gnu gnu okapi0", "gnu"], ["zoo", "zoo"]
    model.partial_fit(zoo, labels)
    assert model.classes_.tolist() == ["ham", "news", "spam", "zoo"]
    assert np.isfinite(model.predict_joint_log_proba([*NEW, "gnu gnu"])).all()
    assert_one_model(model, TextClassifier(**options).fit([*TEXTS, *zoo], [*LABELS, *labels]))
    model.forget(zoo, labels)
    assert_one_model(model, fitted(options))
    texts, ham = np.array(TEXTS), LABELS == "ham"
    model.forget(texts[ham], LABELS[ham])
    assert model.classes_.tolist() == ["news", "spam"]
    assert_one_model(model, TextClassifier(**options).fit(texts[~ham], LABELS[~ham]))


@choosing
@pytest.mark.parametrize("sorted_by", ["nothing", "class"])
def test_batches_choose_as_a_fit_on_all(
    sorted_by: str, options: dict[str, Any], fitted: Any
) -> None:
    order = np.argsort(LABELS, kind="stable") if sorted_by == "class" else np.arange(len(TEXTS))
    texts, y = np.array(TEXTS)[order], LABELS[order]
    parts = [(texts[i : i + 60], y[i : i + 60]) for i in range(0, 300, 60)]
    assert_one_model(TextClassifier(**options).fit(iter(parts)), fitted(options))
    model = TextClassifier(**options)
    for part in parts:
        model.partial_fit(*part)
        assert np.isfinite(model.predict_joint_log_proba(NEW)).all()
    assert_one_model(model, fitted(options))


@either
def test_of_one_class_nothing_can_be_chosen_yet(options: dict[str, Any]) -> None:
    model = TextClassifier(**options).partial_fit(["foo"], ["spam"], classes=["ham", "spam"])
    assert model.choice_.texts == 0
    assert np.isnan(model.choice_.scores).all()
    assert_allclose(model.predict_proba(["foo", ""]), [[0, 1], [0, 1]])
    texts, y = SPAM * 3, ["spam", "ham"] * 3
    model.partial_fit(texts, y)
    assert_one_model(model, TextClassifier(**options).fit(["foo", *texts], ["spam", *y]))


def test_another_fit_chooses_again_or_not_at_all(fitted: Any) -> None:
    model = fitted({"event_model": "auto"}).set_params(event_model="multinomial")
    model.fit(TEXTS, LABELS)
    assert not hasattr(model, "choice_")
    assert_same_predictions(model, TextClassifier().fit(TEXTS, LABELS))


# Options after fitting


@choosing
def test_resolving_with_priors_adds_their_logarithm(options: dict[str, Any], fitted: Any) -> None:
    model, priors = fitted(options), np.array([0.2, 0.5, 0.3])
    change = np.log(priors) - model.model_.log_prior
    resolved = model.resolve(priors=priors).predict_joint_log_proba(NEW)
    assert_allclose(resolved, model.predict_joint_log_proba(NEW) + change, atol=1e-12)


@choosing
@pytest.mark.parametrize("event_model", ["multinomial", "bernoulli"])
def test_resolving_by_name_is_a_plain_fit(
    options: dict[str, Any], event_model: str, fitted: Any
) -> None:
    by_name = {"event_model": event_model, "calibrate": False, "alpha": 0.5, "max_features": 30}
    resolved = fitted(options).resolve(**by_name, select="chi2")
    assert_same_predictions(resolved, TextClassifier(**by_name, select="chi2").fit(TEXTS, LABELS))


@table(
    "options change",
    {
        "auto stop words": ({"event_model": "auto"}, {"stop_words": ["okapi0"]}),
        "auto min_documents": ({"event_model": "auto"}, {"min_documents": 2}),
        "auto max_features": ({"event_model": "auto"}, {"max_features": 9}),
        "auto select": ({"event_model": "auto"}, {"max_features": 20, "select": "chi2"}),
        "auto priors": ({"event_model": "auto"}, {"priors": [0.2, 0.5, 0.3]}),
        "alpha": ({"calibrate": True}, {"alpha": 0.5}),
        "alpha auto": ({"calibrate": True}, {"alpha": "auto"}),
        "event model": ({"calibrate": True}, {"event_model": "boolean"}),
        "min_documents": ({"calibrate": True}, {"min_documents": 2}),
        "stop words": ({"calibrate": True}, {"stop_words": "english"}),
    },
)
def test_resolving_chooses_again(options: Any, change: Any, fitted: Any) -> None:
    model, both = fitted(options), options | change
    with unchanged(model, NEW):
        resolved = model.resolve(**change)
    assert_one_model(resolved, TextClassifier(**both).fit(TEXTS, LABELS))
    model.set_params(**change)
    assert_array_equal(model.predict_proba(NEW), fitted(options).predict_proba(NEW))
    model.partial_fit(TEXTS[:30], LABELS[:30])
    more, y = [*TEXTS, *TEXTS[:30]], [*LABELS, *LABELS[:30]]
    assert_one_model(model, TextClassifier(**both).fit(more, y))
    model = fitted(options).set_params(**change).forget(TEXTS[:30], LABELS[:30])
    assert_one_model(model, TextClassifier(**both).fit(TEXTS[30:], LABELS[30:]))


def test_auto_resolves_to_an_event_model_that_is_calibrated(fitted: Any) -> None:
    model = fitted({"event_model": "auto", "calibrate": True})
    resolved, by_name = model.resolve(event_model="boolean"), TextClassifier("boolean")
    by_name.set_params(calibrate=True).fit(TEXTS, LABELS, like=model)
    assert_one_model(resolved, by_name)
    alone = TextClassifier("boolean", calibrate=True).fit(TEXTS, LABELS)  # in other folds
    assert resolved.get_feature_names_out().tolist() == alone.get_feature_names_out().tolist()
    assert resolved.choice_.names == alone.choice_.names
    assert_allclose(resolved.choice_.scores, alone.choice_.scores, atol=0.02)
    assert_allclose(resolved.predict_proba(NEW), alone.predict_proba(NEW), atol=0.1)


@choosing
def test_the_sample_stays_while_nothing_is_chosen(options: dict[str, Any], fitted: Any) -> None:
    plain = {"event_model": "multinomial", "calibrate": False, "alpha": 0.5}
    model = fitted(options).resolve(**plain)
    assert not hasattr(model, "choice_")
    model.partial_fit(TEXTS[:30], LABELS[:30])
    again = model.resolve(**TextClassifier(**options).get_params())
    more, y = [*TEXTS, *TEXTS[:30]], [*LABELS, *LABELS[:30]]
    assert_one_model(again, TextClassifier(**options).fit(more, y))


@table(
    "options change",
    {
        "calibrate": ({}, {"calibrate": True}),
        "auto": ({"ngrams": (1, 2)}, {"event_model": "auto"}),
        "no sample": ({"calibrate": True, "sample_size": 0}, {"sample_size": 100}),
        "auto of no sample": ({"event_model": "auto", "sample_size": 0}, {"sample_size": 100}),
    },
)
def test_nothing_is_chosen_without_a_sample(options: Any, change: Any, fitted: Any) -> None:
    model = fitted(options)
    with unchanged(model, NEW), refused("from a sample of the texts", "fit again", by=ValueError):
        model.resolve(**change)
    model.set_params(**change)
    for learn in model.partial_fit, model.forget:
        with refused("from a sample of the texts", "fit again", by=ValueError):
            learn(TEXTS[:3], LABELS[:3])
    assert_array_equal(model.predict_proba(NEW), fitted(options).predict_proba(NEW))


@either
def test_a_sample_of_none_leaves_all_undecided(options: dict[str, Any]) -> None:
    model = TextClassifier(sample_size=0, **options).fit(TEXTS, LABELS)
    assert len(model.model_.statistics["sample"]) == 0
    assert model.choice_.texts == 0
    assert np.isnan(model.choice_.scores).all()
    assert model.choice_.best.name == model.choice_.names[0]
    assert model.score(TEXTS, LABELS) > 0.8


@either
@pytest.mark.parametrize("size", [-1, 1.5, None, "many", np.nan])
def test_sizes_of_samples_that_make_no_sense(size: Any, options: dict[str, Any]) -> None:
    with refused("sample_size"):
        TextClassifier(sample_size=size, **options).fit(TEXTS, LABELS)


@pytest.mark.parametrize("ngrams", [(2, 2), (1, 3), (3, 3)])
@pytest.mark.parametrize("event_model", ["auto", "multinomial"])
def test_ngrams_that_were_not_counted_are_refused(
    event_model: str, ngrams: tuple[int, int], fitted: Any
) -> None:
    with refused("ngrams"):
        fitted({"event_model": "auto"}).resolve(event_model=event_model, ngrams=ngrams)


def test_ngrams_of_a_loaded_model_are_those_that_were_counted(fitted: Any, tmp_path: Path) -> None:
    model = fitted({"calibrate": True})
    model.save(tmp_path / "model.genus")
    for one in model, genus.load(tmp_path / "model.genus"):
        with refused("ngrams"):
            one.resolve(ngrams=(1, 2))


@either
@pytest.mark.parametrize("where", ["choose", "deal"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_choice_leaves_the_model_as_it_was(
    where: str, error: type[BaseException], options: Any, fitted: Any, monkeypatch: Any
) -> None:
    def fail(*_: Any) -> None:
        raise error

    model = fitted(options)
    monkeypatch.setattr(corpus, where, fail)
    with unchanged(model, NEW), pytest.raises(error):
        model.fit(TEXTS[:50], LABELS[:50])
    with unchanged(model, NEW), refused("inconsistent"):
        model.fit(TEXTS, LABELS[:-1])


# Files and pickles


@choosing
def test_what_was_chosen_is_saved(options: dict[str, Any], fitted: Any, tmp_path: Path) -> None:
    model = fitted(options)
    model.save(tmp_path / "model.genus")
    loaded = genus.load(tmp_path / "model.genus")
    check(loading(model, loaded, NEW))
    assert str(loaded.choice_) == str(model.choice_)
    resolved = model.resolve(min_documents=3)
    for other in loaded, pickle.loads(pickle.dumps(model)):
        check(loading(model, other, NEW))
        assert_same_predictions(other + other, model + model)
        assert_same_predictions(other.resolve(priors=None), model)
        by_name = {"event_model": "boolean", "calibrate": False}
        assert_same_predictions(other.resolve(**by_name), model.resolve(**by_name))
        assert_one_model(other.resolve(min_documents=3), resolved)


@either
def test_what_is_loaded_is_not_chosen_again(
    options: dict[str, Any], fitted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("this was chosen before")

    model = fitted(options)
    model.save(tmp_path / "model.genus")
    monkeypatch.setattr(corpus, "choose", fail)
    check(loading(model, genus.load(tmp_path / "model.genus"), NEW))
    check(loading(model, pickle.loads(pickle.dumps(model)), NEW))
    with pytest.raises(AssertionError, match="chosen before"):
        genus.load(tmp_path / "model.genus").partial_fit(TEXTS[:9], LABELS[:9]).predict(NEW)


def test_a_file_without_a_choice_chooses_when_it_is_needed(fitted: Any, tmp_path: Path) -> None:
    path, model = tmp_path / "model.genus", fitted({"calibrate": True})
    model.save(path)
    header, tree, body = read_parts(path)
    write_parts(path, header, changed(tree, ("map", "choice"), ...), body)
    assert_one_model(genus.load(path), model)


OLD = Path(__file__).parent / "version2" / "calibrated-text.genus"  # it holds no sample


def test_what_an_old_file_has_chosen_stays_as_it_is() -> None:
    old = genus.load(OLD)
    texts, y = ["late late late", "paid"], old.classes_.tolist()
    for model in (
        old + old,
        2 * old,
        old.resolve(priors=[0.3, 0.7]),
        genus.load(OLD).partial_fit(texts, y),
        genus.load(OLD).partial_fit(texts, y).forget(texts, y),
    ):
        assert str(model.choice_) == str(old.choice_)
        assert_array_equal(model.choice_.best.weights, old.choice_.best.weights)
        assert_array_equal(model.choice_.best.constant, old.choice_.best.constant)


@pytest.mark.parametrize("of_selection", [False, True])
def test_a_choice_with_another_value_anywhere_is_refused_or_works(
    of_selection: bool, tmp_path: Path
) -> None:
    path = tmp_path / "changed.genus"
    TextClassifier(calibrate=True).fit(TEXTS[:60], LABELS[:60]).save(path)
    header, tree, body = read_parts(path)
    refusals = 0
    for at in places(tree["map"]["choice"], ("map", "choice")):
        if ("selection" in at) == of_selection:
            for value in [*STRANGE, {"value": 0.5}, {"value": "foo"}, {"list": []}]:
                write_parts(path, header, changed(tree, at, value), body)
                refusals += not loads_or_refuses(path, TEXTS[:90])
    assert refusals > 30


CHOICE = ("map", "choice", "map")
BEST = (*CHOICE, "best", "map")


@table(
    "at value",
    {
        "no weights": ((*BEST, "weights"), {"tensor": "/choice/scores"}),
        "no evidence": ((*BEST, "evidence"), {"list": []}),
        "unknown weighting": ((*BEST, "weighting"), {"value": "twice"}),
        "infinite power": ((*BEST, "power"), {"value": float("inf")}),
        "unknown option": ((*BEST, "colour"), {"value": 1}),
        "no scores": ((*CHOICE, "scores"), ...),
        "no best": ((*CHOICE, "best"), ...),
        "fewer names": ((*CHOICE, "names"), {"list": []}),
        "no number of texts": ((*CHOICE, "texts"), {"value": "many"}),
    },
)
def test_a_broken_choice_is_refused(at: Any, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "broken.genus"
    TextClassifier(calibrate=True).fit(TEXTS[:60], LABELS[:60]).save(path)
    header, tree, body = read_parts(path)
    write_parts(path, header, changed(tree, at, value), body)
    with refused(path.name, "damaged", "copy", by=ValueError):
        genus.load(path)


# Texts without a label

SOME = [y if i % 4 == 0 else None for i, y in enumerate(LABELS)]
KNOWN = [i for i, y in enumerate(SOME) if y is not None]
OTHERS = [i for i, y in enumerate(SOME) if y is None]


def labelled(**options: Any) -> Any:
    return TextClassifier(**options).fit([TEXTS[i] for i in KNOWN], LABELS[KNOWN])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"event_model": "bernoulli"},
        {"event_model": "complement", "alpha": 0.1},
        {"priors": [0.2, 0.5, 0.3]},
        {"calibrate": True},
        {"event_model": "auto"},
    ],
    ids=str,
)
def test_expected_counts_are_those_of_their_own_probabilities(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(genus.text.model.unlabeled, "STILL", 1e-13)
    monkeypatch.setattr(genus.text.model.unlabeled, "MOST_ROUNDS", 2000)
    model = TextClassifier(unlabeled=0.3, **options).fit(TEXTS, SOME)
    # What was chosen from the labelled texts holds while the others are counted.
    model.model_ = replace(model.model_, chosen=labelled(**options).model_.choice)
    shares = np.zeros((len(TEXTS), 3))
    shares[KNOWN, np.searchsorted(CLASSES, LABELS[KNOWN])] = 1
    shares[OTHERS] = 0.3 * model.predict_proba([TEXTS[i] for i in OTHERS])
    X = CountVectorizer(vocabulary=model.vocabulary_, ngram_range=(1, 2)).transform(TEXTS)
    assert_allclose(model.word_count_, shares.T @ X.toarray(), atol=1e-7)
    assert_allclose(model.document_count_, shares.T @ (X.toarray() > 0), atol=1e-7)
    assert_allclose(model.class_count_, shares.sum(axis=0), atol=1e-7)
    assert 1 < model.n_iter_ < 2000


@choosing
def test_what_is_chosen_in_the_end_is_chosen_from_labelled_texts(options: dict[str, Any]) -> None:
    alone, model = labelled(**options), TextClassifier(unlabeled=0.5, **options).fit(TEXTS, SOME)
    assert model.model_.statistics["sample"] == alone.model_.statistics["sample"]
    assert model.choice_.texts == len(KNOWN)
    assert not np.isclose(model.choice_.scores[:, 1], alone.choice_.scores[:, 1]).any()
    assert_one_model(model.resolve(), model)


@pytest.mark.parametrize("options", [{}, {"event_model": "bernoulli"}, {"calibrate": True}])
def test_texts_of_hardly_any_weight_change_hardly_anything(options: dict[str, Any]) -> None:
    # A fold is at most 10 texts, so that without it no word is lost to those that are chosen from.
    least = 11 if "calibrate" in options else 1
    known = CountVectorizer(min_df=least).fit([TEXTS[i] for i in KNOWN]).vocabulary_
    tokens = CountVectorizer().build_analyzer()
    texts = [" ".join(w for w in tokens(t) if w in known) for t in TEXTS]
    alone = TextClassifier(**options).fit([texts[i] for i in KNOWN], LABELS[KNOWN])
    assert alone.score([texts[i] for i in OTHERS], LABELS[OTHERS]) > 0.8
    model = TextClassifier(unlabeled=1e-12, **options).fit(texts, SOME)
    assert_allclose(model.predict_proba(NEW), alone.predict_proba(NEW), atol=1e-7)


@choosing
def test_with_all_labels_it_is_a_plain_fit(options: dict[str, Any], fitted: Any) -> None:
    model = TextClassifier(unlabeled=0.5, **options).fit(TEXTS, list(LABELS))
    assert model.model_ == fitted(options).model_
    assert_same_predictions(model, fitted(options))


def test_texts_without_a_label_help() -> None:
    texts, y = generated(600, 5)
    new, truth = generated(300, 5)
    some = [label if i < 9 else None for i, label in enumerate(y)]
    alone = TextClassifier(alpha=0.1).fit(texts[:9], y[:9])
    helped = TextClassifier(alpha=0.1, unlabeled=0.5).fit(texts, some)
    assert helped.score(new, truth) > alone.score(new, truth)


MISSING: dict[str, Any] = {
    "tuple": tuple,
    "NumPy": lambda y: np.array(y, dtype=object),
    "NaN": lambda y: [np.nan if label is None else label for label in y],
    "pandas NA": lambda y: [pd.NA if label is None else label for label in y],
    "pandas": pd.Series,
    "pandas with an index": lambda y: pd.Series(y, index=range(900, 900 + len(y))),
    "pandas string": lambda y: pd.Series(y, dtype="string"),
    "pandas category": lambda y: pd.Series(y, dtype="category"),
    "Polars": pl.Series,
    "Polars categories": lambda y: pl.Series(y, dtype=pl.Categorical),
    "Arrow": pa.array,
    "NumPy column": lambda y: np.array(y, dtype=object)[:, None],
    "pandas table": lambda y: pd.DataFrame({"y": y}),
    "masked": lambda y: np.ma.array([label or "" for label in y], mask=[v is None for v in y]),
}


@pytest.mark.parametrize(
    "column",
    MISSING.values(),
    ids=MISSING,
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_labels_that_are_missing_in_a_column_of_any_kind(column: Any) -> None:
    model = TextClassifier(unlabeled=0.5).fit(TEXTS, SOME)
    other = TextClassifier(unlabeled=0.5).fit(TEXTS, column(SOME))
    assert other.classes_.tolist() == ["ham", "news", "spam"]
    assert_same_predictions(other, model)
    assert_allclose(other.class_count_.sum(), len(KNOWN) + len(OTHERS) / 2)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_some_texts_of_a_column_of_any_kind(column: Any) -> None:
    y = [*SMALL_LABELS[:4], None, None]
    model, other = (TextClassifier(unlabeled=0.5).fit(X, y) for X in (SMALL, column(SMALL)))
    assert_same_predictions(other, model)
    few = TextClassifier("auto", sample_size=4)
    model, other = (clone(few).fit(X, SMALL_LABELS) for X in (SMALL, column(SMALL)))
    assert_same_predictions(other, model)


def test_numbers_for_labels() -> None:
    codes = np.searchsorted(CLASSES, LABELS).astype(float)
    codes[OTHERS] = np.nan
    texts = TextClassifier(unlabeled=0.5).fit(TEXTS, SOME)
    for y in codes, pd.Series(codes), pd.Series(codes).astype("Int64"):
        model = TextClassifier(unlabeled=0.5).fit(TEXTS, y)
        assert model.classes_.tolist() == [0, 1, 2]
        assert_array_equal(model.predict_proba(NEW), texts.predict_proba(NEW))


NO_LABELS = [None] * len(TEXTS)


@pytest.mark.parametrize(
    ("options", "y", "words"),
    [
        pytest.param({"unlabeled": 1}, NO_LABELS, ["no text has a label"], id="none"),
        pytest.param({"unlabeled": -1}, SOME, ["unlabeled", "from 0", "-1"], id="negative"),
        pytest.param({"unlabeled": np.nan}, SOME, ["unlabeled", "nan"], id="NaN"),
        pytest.param({"unlabeled": "1"}, SOME, ["unlabeled", "'1'"], id="text"),
        pytest.param({"unlabeled": 1}, SOME[:-1], ["300 texts", "299 labels"], id="too few"),
        pytest.param({"unlabeled": 1}, ["ham", *NO_LABELS[1:]], ["greater than one"], id="one"),
        pytest.param({}, SOME, ["row 1", "unlabeled="], id="unlabeled=0"),
        pytest.param({"unlabeled": 1}, [7, *SOME[1:]], ["different types"], id="kinds"),
        pytest.param({"unlabeled": 1}, 5, ["y"], id="a number"),
        pytest.param({"unlabeled": 1}, np.zeros((300, 2)), ["1d"], id="a table"),
    ],
)
def test_labels_that_make_no_sense(options: Any, y: Any, words: list[str]) -> None:
    model = labelled().set_params(**options)
    with unchanged(model, NEW), refused(*words, by=ValueError):
        model.fit(TEXTS, y)


@pytest.mark.parametrize("y", [SOME, list(LABELS)], ids=["some", "all"])
@pytest.mark.parametrize(
    "weight", [np.ones(5), np.ones(999), np.full(300, np.nan), -np.ones(300)], ids=len
)
def test_weights_that_make_no_sense(y: Any, weight: Any) -> None:
    with refused("weight", by=ValueError):
        TextClassifier(unlabeled=1).fit(TEXTS, y, sample_weight=weight)


def test_a_text_without_a_label_weighs_its_weight() -> None:
    weight = np.ones(300)
    weight[OTHERS] = 0.0
    model = TextClassifier(unlabeled=1).fit(TEXTS, SOME, sample_weight=weight)
    assert_allclose(model.class_count_, labelled().class_count_)


def test_one_weight_for_all_texts() -> None:
    model = TextClassifier(unlabeled=1).fit(TEXTS, SOME, sample_weight=1.0)
    assert_same_predictions(model, TextClassifier(unlabeled=1).fit(TEXTS, SOME))


def test_too_large_a_weight_of_texts_without_a_label_is_refused() -> None:
    with refused("from 0 to 1e+06"):
        TextClassifier(unlabeled=1e308).fit(TEXTS, SOME)


def test_the_number_of_rounds_is_that_of_this_fit() -> None:
    model = TextClassifier(unlabeled=1).fit(TEXTS, SOME)
    assert not hasattr(model.fit(TEXTS, LABELS), "n_iter_")


@either
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_learning_that_is_interrupted_leaves_the_model_as_it_was(
    error: type[BaseException], options: Any, fitted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    model, fresh = fitted(options).set_params(unlabeled=0.5), TextClassifier(unlabeled=0.5)
    monkeypatch.setattr(genus.text.model.unlabeled, "expected_counts", fail)
    with unchanged(model, NEW), pytest.raises(error):
        model.fit(TEXTS[:90], SOME[:90])
    with pytest.raises(error):
        fresh.fit(TEXTS, SOME)
    assert not hasattr(fresh, "classes_")
    assert vars(fresh) == vars(TextClassifier(unlabeled=0.5))


@pytest.mark.parametrize("options", [{}, *CHOOSING.values()], ids=["plain", *CHOOSING])
def test_labelled_texts_are_forgotten_of_those_without(options: dict[str, Any]) -> None:
    model = TextClassifier(unlabeled=0.5, **options).fit(TEXTS, SOME)
    rest = model - labelled(**options)
    assert_allclose(rest.class_count_.sum(), len(OTHERS) / 2)
    model.forget([TEXTS[i] for i in KNOWN], LABELS[KNOWN])
    assert_allclose(model.word_count_.sum(), rest.word_count_.sum())
    assert np.isfinite(model.predict_joint_log_proba(NEW)).all()
    assert len(model.model_.statistics["sample"]) == 0


# Tuning

SETTINGS: dict[str, Any] = {"priors": [None, [0.2, 0.5, 0.3]]}
BY_CLASS = [[t for t, y in zip(TEXTS, LABELS, strict=True) if y == k] for k in CLASSES]
IN_TURN = np.array([text for texts in zip(*BY_CLASS, strict=False) for text in texts][:90])
TEXT_CASES = [
    Case("TextClassifier", TextClassifier(), IN_TURN),
    Case("TextClassifier calibrated", TextClassifier(calibrate=True), IN_TURN),
]


def scores_of(result: Any) -> list[float]:
    return [result.accuracy, result.log_loss, result.brier]


@each(CASES + TEXT_CASES)
def test_tuning_is_cross_validation_of_every_setting(case: Case) -> None:
    smoothed = case in DISCRETE + POSITIVE + TEXT_CASES
    settings = SETTINGS | ({"alpha": [0.1, 3]} if smoothed else {})
    tuned = tune(case.new(), case.X, case.y, settings)
    assert len(tuned.settings) == np.prod([len(values) for values in settings.values()])
    for setting, scores in zip(tuned.settings, tuned.scores, strict=True):
        result = cross_validate(case.new(**setting), case.X, case.y)
        assert_allclose(scores, scores_of(result), rtol=1e-9)
    assert len(str(tuned).splitlines()) == 1 + len(tuned.settings)
    model = case.fit(**tuned.best)
    assert_allclose(tuned.model.predict_proba(case.X), model.predict_proba(case.X), rtol=1e-7)
    assert tuned.model.get_params()["priors"] == model.get_params()["priors"]
    assert_array_equal(tuned.model.class_count_, model.class_count_)


@pytest.mark.parametrize("by", ["accuracy", "log_loss", "brier"])
def test_the_best_setting_is_best_by_what_is_asked(by: str) -> None:
    tuned = tune(TextClassifier(), TEXTS, LABELS, {"alpha": [1e-4, 0.1, 1, 9]}, folds=4, by=by)
    column = tuned.scores[:, ["accuracy", "log_loss", "brier"].index(by)]
    best = column.argmax() if by == "accuracy" else column.argmin()
    assert tuned.best == tuned.settings[best]
    assert_same_predictions(tuned.model, TextClassifier(**tuned.best).fit(TEXTS, LABELS))


def test_tuning_whether_to_calibrate() -> None:
    texts, y = repeated(150, 1)
    tuned = tune(TextClassifier(), texts, y, {"calibrate": [False, True]})
    assert tuned.best == {"calibrate": True}
    for setting, scores in zip(tuned.settings, tuned.scores, strict=True):
        assert_allclose(scores, scores_of(cross_validate(TextClassifier(**setting), texts, y)))
    same = TextClassifier(calibrate=True).fit(texts, y)  # fewer than 200 are in the same ten folds
    assert_allclose(tuned.model.predict_proba(texts), same.predict_proba(texts), atol=1e-9)
    assert tuned.model.partial_fit(texts, y).choice_.best.name == same.choice_.best.name


def test_tuning_weighs_rows_and_takes_any_folds() -> None:
    weight = np.random.default_rng(0).integers(1, 4, 90) / 2
    groups = np.arange(90) // 3
    for folds in 4, KFold(3), list(GroupKFold(5).split(NUMBERS, CODES, groups)):
        tuned = tune(GDA(), NUMBERS, CODES, {"shrinkage": [None, 0.3]}, folds, sample_weight=weight)
        for setting, scores in zip(tuned.settings, tuned.scores, strict=True):
            result = cross_validate(
                GDA(**setting), NUMBERS, CODES, folds=folds, sample_weight=weight
            )
            assert_allclose(scores, scores_of(result))
        model = GDA(**tuned.best).fit(NUMBERS, CODES, sample_weight=weight)
        assert_allclose(tuned.model.predict_proba(NUMBERS), model.predict_proba(NUMBERS))


def test_settings_may_be_listed_and_many(monkeypatch: pytest.MonkeyPatch) -> None:
    alphas = [0.1, 0.5, 1, 2, 5]
    one = tune(TextClassifier(), TEXTS, LABELS, ({"alpha": a} for a in alphas), folds=3)
    monkeypatch.setattr(genus.evaluate.cross_validation, "TUNING_BYTES", 8 * 3 * len(TEXTS) * 2)
    two = tune(clone(TextClassifier()), TEXTS, LABELS, {"alpha": np.array(alphas)}, folds=3)
    assert_array_equal(one.scores, two.scores)
    nothing = tune(TextClassifier(), TEXTS, LABELS, [{}], folds=3)
    assert_array_equal(nothing.scores[0], one.scores[2])
    assert nothing.best == {}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param([], ["settings", "at least one"], id="none"),
        pytest.param(["alpha"], ["settings", "dictionaries"], id="names"),
        pytest.param({"alpha": []}, ["alpha", "non-empty"], id="empty list"),
        pytest.param({"alpha": 1.0}, ["alpha", "list"], id="no list"),
        pytest.param({"alhpa": [1]}, ["alhpa"], id="unknown"),
        pytest.param({"alpha": [1, -1]}, ["alpha", "-1"], id="negative"),
        pytest.param({"ngrams": [(1, 2)]}, ["ngrams", "counted"], id="ngrams"),
        pytest.param({"lowercase": [False]}, ["lowercase", "counted"], id="lowercase"),
        pytest.param({"analyzer": ["char_wb"]}, ["analyzer", "counted"], id="analyzer"),
        pytest.param(None, ["settings"], id="None"),
        pytest.param(5, ["settings"], id="number"),
    ],
)
def test_settings_that_make_no_sense(settings: Any, words: list[str]) -> None:
    with refused(*words):
        tune(TextClassifier(), TEXTS, LABELS, settings, folds=3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"by": "f1"}, ["by", "log_loss", "f1"], id="by"),
        pytest.param({"folds": 1}, ["folds", "from 2"], id="one fold"),
        pytest.param({"folds": 2.5}, ["folds", "2.5"], id="a part of a fold"),
        pytest.param({"sample_weight": [1]}, ["sample_weight"], id="weights"),
        pytest.param({"folds": "loo"}, ["folds", "loo"], id="loo"),
        pytest.param({"folds": "ten"}, ["folds", "ten"], id="text"),
        pytest.param({"by": ["brier"]}, ["by", "brier"], id="by a list"),
    ],
)
def test_options_of_tuning_that_make_no_sense(options: Any, words: list[str]) -> None:
    with refused(*words):
        tune(TextClassifier(), TEXTS, LABELS, {"alpha": [1]}, **options)


def test_others_are_not_tuned() -> None:
    with refused("genus classifier", by=TypeError):
        tune(CountVectorizer(), TEXTS, LABELS, {"min_df": [1]})  # type: ignore[arg-type]


def test_a_tuned_model_has_all_classes() -> None:
    weight = np.where(LABELS == "news", 0.0, 1.0)
    tuned = tune(TextClassifier(), TEXTS, LABELS, {"alpha": [1]}, 3, sample_weight=weight)
    model = TextClassifier(alpha=1).fit(TEXTS, LABELS, sample_weight=weight)
    assert tuned.model.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("base", [{"event_model": "auto"}, {"ngrams": (1, 2)}], ids=str)
def test_tuning_auto_and_an_event_model_by_name(base: dict[str, Any]) -> None:
    texts, y = TEXTS[:90], LABELS[:90]
    tuned = tune(TextClassifier(**base), texts, y, {"event_model": ["auto", "multinomial"]}, 3)
    for setting, scores in zip(tuned.settings, tuned.scores, strict=True):
        result = cross_validate(TextClassifier(**base | setting), texts, y, 3)
        assert_allclose(scores, scores_of(result))
    for setting in tuned.settings:
        one = tune(TextClassifier(**base), texts, y, [setting], 3).model
        same = TextClassifier(**base | setting).fit(texts, y)
        assert_allclose(one.predict_proba(NEW), same.predict_proba(NEW), atol=1e-9)


def test_pairs_that_were_not_counted_are_not_tuned() -> None:
    settings = {"event_model": ["auto", "multinomial"]}
    with refused("event_model", "counted"):
        tune(TextClassifier(), TEXTS[:90], LABELS[:90], settings, 3)


def test_batches_leave_nothing_of_an_earlier_choice() -> None:
    model = TextClassifier("auto").fit(TEXTS, LABELS)
    model.set_params(event_model="multinomial", alpha=0.5).fit(iter([(TEXTS, LABELS)]))
    assert not hasattr(model, "choice_")
    assert model.alpha_ == 0.5


def test_what_could_not_be_judged_has_no_score() -> None:
    choice = TextClassifier("auto").fit(["aa bb", "cc dd"], [0, 1]).choice_
    assert np.isnan(choice.scores).all()
    assert choice.texts == 0
    assert "0.0000" not in str(choice)
    one_alone = TextClassifier("auto").fit(["aa", "bb cc", "bb", "cc bb"], [0, 1, 1, 1]).choice_
    assert one_alone.texts == 3


def test_calibrating_never_silences_the_only_evidence() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(200) * 0.05, 20)
    y = np.repeat(np.arange(20), 2)
    texts = [" ".join(f"w{i}" for i in rng.choice(200, 12, p=shares[k])) for k in y]
    for calibrate in (False, True):
        model = TextClassifier("bernoulli", calibrate=calibrate).fit(texts, y)
        assert model.score(texts, y) == 1.0


def test_a_choice_goes_with_the_options_that_it_was_for() -> None:
    texts, y = ["win cash", "cash prize", "lunch noon", "see lunch"], [1, 1, 0, 0]
    model = TextClassifier("auto").fit(texts, y).set_params(event_model="boolean", alpha=0.3)
    model.partial_fit(texts, y)
    assert not hasattr(model, "choice_")
    assert model.alpha_ == 0.3
