"""Every law of `laws`, for every variant in `examples`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import genus
from examples import COUNTED, NAN, VARIANTS, Rows, Variant, halves
from genus.families.gaussian.scores import Form
from genus.families.tan import Tree
from genus.persistence.trees import to_tree
from laws import (
    alike,
    arrays,
    attempt,
    bayes,
    check,
    close_numbers,
    close_sums,
    close_tallies,
    counting,
    failed,
    forgetting,
    group,
    loading,
    same_sums,
    scaling,
    vanishing,
    weighing,
)
from scope import SANITIZED, at_night, nightly_if_sanitized

pytestmark = pytest.mark.filterwarnings("ignore:No class can explain")


@pytest.fixture(autouse=True, scope="module")
def one_thread_for_each_worker() -> Iterator[None]:
    """Small matrices gain nothing from BLAS threads, which wait for each other's processors."""
    with threadpool_limits(1):
        yield


least = 2 if SANITIZED else 5
many = settings(max_examples=max(settings().max_examples // 2, 2 * least))
few = settings(max_examples=max(settings().max_examples // 10, least))


def each(variants: list[Variant], without: Collection[str] = ()) -> Any:
    """Cases of a test, of which those `without` are tried at night only, and other slow ones."""
    always = COUNTED if SANITIZED else VARIANTS  # what reaches the kernel is the way to count
    kept = [
        variant
        for variant in variants
        if variant in always and not variant.is_nightly and variant.name not in without
    ]
    cases = at_night(variants, *kept)
    return pytest.mark.parametrize("variant", cases, ids=attrgetter("name"))


# Their options act where those of other variants do, and solving them takes long.
SLOW = (
    "GDA wide auto",
    "GDA wide ledoit-wolf",
    "GDA wide separate",
    "TableClassifier curves",
    "TableClassifier product",
    "TextClassifier calibrated",
    "TextClassifier function",
    "TextClassifier pattern",
)

every = each(VARIANTS)
most = each(VARIANTS, without=SLOW)
saved = each([variant for variant in VARIANTS if variant.is_saved])
counted = each(COUNTED)
real = each([variant for variant in COUNTED if variant.is_real])
sparse = each([variant for variant in VARIANTS if "CSR" in variant.name])

# Other tests reach the same of the kernel in less time.

weights = st.one_of(st.just(0.0), halves)


def three(variant: Variant) -> st.SearchStrategy[tuple[Rows, Rows, Rows]]:
    """Rows A, B, C: any; B the same as A; or B of A's labels with other values."""
    any_three = st.tuples(*(variant.rows(weight=weights) for _ in range(3)))
    relabelled = any_three.map(
        lambda t: (
            (t[0], Rows(t[1].X, t[0].y[: len(t[1])], t[1].weight), t[2])
            if len(t[1]) <= len(t[0])
            else (t[0], t[0], t[2])
        )
    )
    return any_three | relabelled


# Statistics


@counted
@given(data=st.data())
@many
def test_statistics_are_a_group(variant: Variant, data: st.DataObject) -> None:
    a, b, c = map(variant.count, data.draw(three(variant)))
    zero = variant.family.zero()
    check(group(zero, a, b, c), same_sums)
    check(scaling(a, b), same_sums)
    check(vanishing(zero, a, b))


@counted
@given(data=st.data())
@many
def test_counting_is_a_sum_over_rows(variant: Variant, data: st.DataObject) -> None:
    A, B, _ = data.draw(three(variant))
    zero = variant.family.zero()
    check(counting(variant.count, zero, A, B), same_sums)
    check(weighing(variant.count, zero, A.weighing(None), B), same_sums)


@real
@given(data=st.data())
def test_moments_are_a_group_at_any_offset_and_scale(variant: Variant, data: st.DataObject) -> None:
    n = len(variant.columns)
    scale = np.array(data.draw(st.tuples(*[st.sampled_from([1e-8, 1e-3, 1.0, 1e8])] * n)))
    offset = np.array(data.draw(st.tuples(*[st.sampled_from([0.0, 1e8, -1e8, 1e3])] * n)))
    A, B, C = (rows.map(lambda X: X * (scale / 7) + offset) for rows in data.draw(three(variant)))
    a, b, c = map(variant.count, (A, B, C))
    zero, same = variant.family.zero(), close_sums(A + B + C)
    check(group(zero, a, b, c), same)
    check(scaling(a, b), same)
    check(counting(variant.count, zero, A, B), same)
    check(weighing(variant.count, zero, A.weighing(None), B), same)
    check(vanishing(zero, a, b))


@real
def test_rows_that_do_not_count_change_nothing(variant: Variant) -> None:
    A = variant.solid
    far = (A + A).map(lambda X: X + 1e10)
    weightless = A.weighing(1.0) + far.weighing(0.0)
    check(
        [("count(A ++ rows of weight 0) == count(A)", *map(variant.count, (weightless, A)))],
        close_sums(A),
    )
    if not variant.estimator.diagonal:
        holes = A + far.map(lambda X: np.where(np.arange(X.shape[1]) == 0, NAN, X))
        check(
            [("count(A ++ rows with holes) == count(A)", *map(variant.count, (holes, A)))],
            close_sums(A),
        )


@nightly_if_sanitized
@counted
def test_whole_numbers_are_counted_bit_for_bit_on_any_threads(
    variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    rows = variant.solid[rng.integers(len(variant.solid), size=100_003)]
    counts = []
    for threads in "1", "2", "3":
        monkeypatch.setenv("GENUS_THREADS", threads)
        counts.append(variant.count(rows))
        parts = (rows[i : i + 30_011] for i in range(0, len(rows), 30_011))
        counts.append(sum(map(variant.count, parts), variant.family.zero()))
        counts.append(counts[-1] + counts[0] - counts[0])
    check((f"count {i} == count 0", one, counts[0]) for i, one in enumerate(counts))


@pytest.mark.parametrize("exponent", [10, 40, 50, 52])
def test_large_counts_are_exact(exponent: int) -> None:
    variant = next(v for v in VARIANTS if v.name == "MultinomialNB")
    row = variant.solid[:1]
    a, b = variant.count(row), variant.count(row.weighing(2.0**exponent))
    check(group(variant.family.zero(), a, b, a))


@each([variant for variant in COUNTED if not variant.is_real])
@given(data=st.data())
@few
def test_tallies_of_any_weights_are_a_group(variant: Variant, data: st.DataObject) -> None:
    sevenths = st.integers(1, 100).map(lambda k: k / 7)
    A, B, C = (data.draw(variant.rows(weight=sevenths)) for _ in range(3))
    a, b, c = map(variant.count, (A, B, C))
    zero = variant.family.zero()
    check(group(zero, a, b, c), close_tallies)
    check(counting(variant.count, zero, A, B), close_tallies)
    check(weighing(variant.count, zero, A.weighing(None), B), close_tallies)
    check(vanishing(zero, a, b))


# Classifiers


def learn(variant: Variant, rows: Rows, **options: Any) -> Any:
    """A classifier of rows, of one class if need be."""
    return more(variant, clone(variant.estimator).set_params(**options), rows)


def more(variant: Variant, classifier: Any, rows: Rows) -> Any:
    return classifier.partial_fit(variant.layout(rows.X), rows.y, sample_weight=rows.weight)


def fit(variant: Variant, rows: Rows, **options: Any) -> Any:
    classifier = clone(variant.estimator).set_params(**options)
    return classifier.fit(variant.layout(rows.X), rows.y, sample_weight=rows.weight)


def forget(variant: Variant, classifier: Any, rows: Rows) -> Any:
    return classifier.forget(variant.layout(rows.X), rows.y, sample_weight=rows.weight)


@most
@given(data=st.data())
@few
def test_classifiers_learn_merge_and_forget(variant: Variant, data: st.DataObject) -> None:
    A, B = data.draw(variant.training()), data.draw(variant.rows(least=1))
    a, b, both = learn(variant, A), learn(variant, B), learn(variant, A + B)
    same = alike(variant.layout((A + B).X))
    fitted = attempt(fit, variant, A + B)
    if not failed(fitted):
        check([("fit(A ++ B) == partial_fit(A ++ B)", fitted, both)], same)
    row_by_row = clone(variant.estimator)
    for row in A + B:
        more(variant, row_by_row, row)
    check(
        [
            ("a.partial_fit(B) == learn(A ++ B)", more(variant, learn(variant, A), B), both),
            ("partial_fit row by row == learn(A ++ B)", row_by_row, both),
            ("a + b == learn(A ++ B)", a + b, both),
            ("sum([a, b]) == learn(A ++ B)", sum([a, b]), both),
            ("learn(A ++ B) - b == a", both - b, a),
            ("learn(A ++ B).forget(B) == a", forget(variant, learn(variant, A + B), B), a),
            ("learn(B ++ A).forget(B) == a", forget(variant, learn(variant, B + A), B), a),
            ("2 * a == a + a", 2 * a, a + a),
            ("learn(A in another order) == a", learn(variant, A[::-1]), a),
        ],
        same,
    )


@each([variant for variant in VARIANTS if variant.is_real])
@given(data=st.data(), offset=st.sampled_from([0, 1e8]), scale=st.sampled_from([1e-3, 1, 1e8]))
@few
def test_real_numbers_are_forgotten_to_rounding(
    variant: Variant, data: st.DataObject, offset: float, scale: float
) -> None:
    A, B = (
        rows.map(lambda X: X * (np.sqrt(2) * scale) + offset)
        for rows in (variant.solid, data.draw(variant.rows(least=1)))
    )
    a, b, both = (learn(variant, rows) for rows in (A, B, A + B))
    check(
        [
            ("learn(A ++ B) - b == a", both - b, a),
            ("learn(B ++ A).forget(B) == a", forget(variant, learn(variant, B + A), B), a),
        ],
        alike(A.X, close_sums(A + B)),
    )


@saved
@given(data=st.data())
@few
def test_nothing_is_left_of_what_was_forgotten(variant: Variant, data: st.DataObject) -> None:
    A, B = (data.draw(variant.rows(least=1)) for _ in range(2))
    far = data.draw(st.sampled_from([1.0, 1e3, 1e8]))
    if variant.is_real:  # numbers that no coarse grid has; those to be forgotten may be far off
        A = A.map(lambda X: X * np.sqrt(2) + np.sqrt(3))
        B = B.map(lambda X: X * far * np.sqrt(2) + np.sqrt(5))
    if variant.is_positive:
        A = A.map(lambda X: X * np.sqrt(2))
        B = B.map(lambda X: X * far * np.sqrt(3))
    model = learn(variant, A + B, priors=None)
    attempt(model.predict, variant.layout(A.X))  # what is solved may be kept, but not for ever
    forget(variant, model, B)
    check(forgetting(model, B, A))
    forget(variant, model, A)
    check(forgetting(model, A + B, A[:0]))
    tree = to_tree(model)
    held = [array for name, part in tree.items() if name != "parameters" for array in arrays(part)]
    check([("sizes of arrays after forgetting all == 0", sum(a.size for a in held), 0)])
    assert model.classes_.size == 0, "classes after forgetting all != []"


@each([v for v in VARIANTS if v.name in ("GaussianNB", "MultinomialNB", "CategoricalNB words")])
def test_a_class_that_weighed_nothing_is_forgotten_too(variant: Variant) -> None:
    light = Rows(variant.solid.X[:1], np.array(["eggs"]), np.zeros(1))
    rows = variant.solid + light
    model = forget(variant, fit(variant, rows, priors=None), rows)
    check(forgetting(model, rows, rows[:0]))


@nightly_if_sanitized
@each([v for v in COUNTED if v.layout is np.asarray])
def test_rows_with_any_weights_are_forgotten_one_by_one(variant: Variant) -> None:
    rng = np.random.default_rng(0)
    rows = variant.solid[rng.integers(len(variant.solid), size=100)]
    rows = Rows(rows.X, rows.y, rng.random(100))
    model = learn(variant, rows, priors=None)
    for i in rng.permutation(100):
        forget(variant, model, rows[i : i + 1])
    check(forgetting(model, rows, rows[:0]))


@each([v for v in COUNTED if v.layout is np.asarray])
@pytest.mark.parametrize("light", [1e-8, 1e-10, 1e-15])
def test_a_row_that_weighs_next_to_nothing_beside_others_leaves_a_whole_model(
    variant: Variant, light: float
) -> None:
    own = np.flatnonzero(variant.solid.y == variant.solid.y[0])
    rows = Rows(variant.solid.X, variant.solid.y, np.ones(len(variant.solid)))
    rows.weight[own[0]] = light
    model = learn(variant, rows, priors=None)
    forget(variant, model, rows[own[1:]])
    p = attempt(model.predict_proba, variant.layout(rows.X))
    assert failed(p) or p.shape == (len(rows), len(model.classes_))
    left = set(model.model_.statistics.classes.tolist())
    assert left <= set(model.classes_.tolist()), "counts are left of a class that is gone"


@nightly_if_sanitized
@most
@given(data=st.data())
@few
def test_solving_again_is_fitting_again(variant: Variant, data: st.DataObject) -> None:
    A = data.draw(variant.training())
    if variant.is_real:  # a full covariance is counted from whole rows, a variance from any value
        A = A[~np.isnan(A.X).any(axis=1)]
    options = data.draw(st.sampled_from(variant.options))
    options = {"priors": None} | options if "class_prior" in options else options
    model, again = attempt(fit, variant, A), attempt(fit, variant, A, **options)
    assume(not failed(model))
    solved = attempt(model.resolve, **options)
    if failed(solved) or failed(again):
        check([(f"a.resolve({options}) == fit with them", solved, again)])
        return
    X = variant.layout(A.X)
    joints = (one.predict_joint_log_proba(X) for one in (solved, again))
    check([(f"a.resolve({options}) == fit with them", *joints)], close_numbers)
    twice = (model + model).resolve(**options)
    check([("a.resolve(…) + a.resolve(…) == (a + a).resolve(…)", solved + solved, twice)], alike(X))
    assert model.model_ == learn(variant, A).model_, "a.resolve(…) changes a"


# Bayes' rule


@most
@given(data=st.data())
@few
def test_bayes_rule(variant: Variant, data: st.DataObject) -> None:
    A = data.draw(variant.training() | variant.rows(least=1, most=2))
    model = learn(variant, A)
    X = variant.layout((A + data.draw(variant.rows(least=1))).X)
    assume(not failed(attempt(model.predict, X)))
    check(bayes(model, X), close_numbers)


@sparse
@given(data=st.data())
@few
def test_sparse_is_dense(variant: Variant, data: st.DataObject) -> None:
    A = data.draw(variant.training())
    dense, csr = (
        clone(variant.estimator).fit(X, A.y, sample_weight=A.weight)
        for X in (A.X, variant.layout(A.X))
    )
    check([("fit(CSR) == fit(dense)", csr, dense)], alike(A.X))
    check([("fit(CSR) == fit(dense)", csr, dense)], alike(variant.layout(A.X)))
    joints = (csr.predict_joint_log_proba(X) for X in (variant.layout(A.X), A.X))
    check([("score(CSR) == score(dense)", *joints)], close_numbers)


# Cross-validation


def refitted(
    variant: Variant, rows: Rows, tests: list[Any], chosen: Any = None, **options: Any
) -> np.ndarray:
    """p(y|x) of each row from a classifier that was fitted without the row's fold.

    `chosen` takes the place of what the classifier would choose itself.
    """
    classes = np.unique(rows.y)
    posterior = np.zeros((len(rows), len(classes)))
    for test in tests:
        rest = rows[np.setdiff1d(np.arange(len(rows)), test)]
        model = learn(variant, rest, **options)
        if chosen is not None:
            model.model_ = replace(model.model_, chosen=chosen)
        columns = np.searchsorted(classes, model.classes_)
        posterior[np.ix_(test, columns)] = model.predict_proba(variant.layout(rows.X[test]))
    return posterior


def validated(variant: Variant, rows: Rows, folds: Any) -> np.ndarray:
    X = variant.layout(rows.X)
    result = genus.cross_validate(
        variant.estimator, X, rows.y, folds=folds, sample_weight=rows.weight
    )
    return result.probabilities


def kept(model: Any) -> dict[str, Any]:
    """What leaving one out keeps: pseudo-counts, forms of Σ and trees chosen from all rows."""
    if isinstance(model.model_.choice, Form | Tree):
        return {"chosen": model.model_.choice}
    return {"alpha": model.alpha_} if getattr(model, "alpha", None) == "auto" else {}


@nightly_if_sanitized
@each(VARIANTS, without=[*SLOW, "TableClassifier tree"])
@given(data=st.data())
@few
def test_leaving_one_out_is_fitting_without_it(variant: Variant, data: st.DataObject) -> None:
    rows = data.draw(variant.training())
    small = rows[-data.draw(st.integers(3, len(rows))) :]
    if len(np.unique(small.y)) > 1 and not failed(attempt(fit, variant, small)):
        rows = small
    model = attempt(fit, variant, rows)
    assume(not failed(model))
    options = kept(model)
    alone = [np.array([i]) for i in range(len(rows))]
    left = attempt(validated, variant, rows, "loo")
    right = attempt(lambda: refitted(variant, rows, alone, **options))
    check([("leaving one out == fitting without it", left, right)], close_numbers)


@every
def test_leaving_a_row_of_any_weight_out_is_fitting_without_it(variant: Variant) -> None:
    weight = np.resize([0.5, 1.0, 3.0, 0.25, 2.0], len(variant.solid))
    rows = Rows(variant.solid.X, variant.solid.y, weight)
    options = kept(fit(variant, rows))
    alone = [np.array([i]) for i in range(len(rows))]
    left = attempt(validated, variant, rows, "loo")
    right = attempt(lambda: refitted(variant, rows, alone, **options))
    check([("leaving one out == fitting without it", left, right)], close_numbers)


@each([variant for variant in VARIANTS if "1e-10" in variant.name])
def test_leaving_one_out_keeps_a_small_pseudo_count(variant: Variant) -> None:
    X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]])
    rows = Rows(X, np.array(["ham", "ham", "spam"]), np.array([1000.0, 1, 1]))
    left = validated(variant, rows, "loo")
    right = refitted(variant, rows, [np.array([i]) for i in range(3)])
    check([("leaving one out == fitting without it", left, right)], close_numbers)


@nightly_if_sanitized
@most
@given(data=st.data())
@few
def test_leaving_a_fold_out_is_fitting_without_it(variant: Variant, data: st.DataObject) -> None:
    rows = data.draw(variant.training())
    assume(len(np.unique(rows.y)) > 1)
    fold = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))))
    tests = [np.flatnonzero(fold == i) for i in np.unique(fold)]
    assume(len(tests) > 1)
    splits = [(np.setdiff1d(np.arange(len(rows)), test), test) for test in tests]
    left = attempt(validated, variant, rows, splits)
    right = attempt(lambda: refitted(variant, rows, tests))
    check([("leaving a fold out == fitting without it", left, right)], close_numbers)


# Samples

# Rows of other options are drawn by the same code, and take a while to be counted again.
SAME_SAMPLES = (
    *(f"TextClassifier {name}" for name in ("boolean", "alpha=0", "pattern", "telling")),
    *(f"GDA wide {name}" for name in ("auto", "ledoit-wolf", "separate")),
)


@nightly_if_sanitized
@each([variant for variant in VARIANTS if variant.fit], without=SAME_SAMPLES)
def test_samples_fit_the_density(variant: Variant) -> None:
    rows = variant.solid[np.repeat(np.arange(len(variant.solid)), 10)]
    model = fit(variant, rows, priors=None)
    samples = {label: model.sample(20_000, label, 0)[0] for label in ("ham", "spam")}
    for label, X in samples.items():
        assert variant.fit(model, label, X) > 1e-3, f"sample(y={label}) does not fit p(x|y)"
    assert variant.fit(model, "ham", samples["spam"]) < 1e-6, "this test sees no difference"
    y = model.sample(20_000, random_state=1)[1]
    observed = [(y == label).sum() for label in model.classes_]
    assert stats.chisquare(observed, 20_000 * model.model_.prior).pvalue > 1e-3


# Files

LABELLINGS = {
    "text": np.array(["ham", "spam"]),
    "text objects": np.array(["ham", "spam"], dtype=object),
    "whole numbers": np.array([3, 7], dtype=np.int8),
    "truths": np.array([False, True]),
}


@nightly_if_sanitized
@saved
@pytest.mark.parametrize("labelling", LABELLINGS)
def test_loading_gives_what_was_saved(variant: Variant, labelling: str, tmp_path: Path) -> None:
    ham, spam = LABELLINGS[labelling].tolist()
    y = np.where(variant.solid.y == "ham", *LABELLINGS[labelling])
    X = variant.layout(variant.solid.X)
    if labelling == "text" and isinstance(X, np.ndarray):
        X = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    options = {"priors": {ham: 0.6, spam: 0.4}} if variant.estimator.priors else {}
    model = clone(variant.estimator).set_params(**options).fit(X, y)
    model.save(tmp_path / "model")
    loaded = genus.load(tmp_path / "model")
    check(loading(model, loaded, X))
    check([("load(save(a)) + a == a + a", loaded + model, model + model)], alike(X))
    model.forget(X, y).save(tmp_path / "empty")
    empty = genus.load(tmp_path / "empty")
    check([("load(save(zero)) + a == a", empty.partial_fit(X, y), loaded)], alike(X))


text = st.text(st.characters(exclude_categories=()))  # half a surrogate pair is a character, too


@given(
    categories=st.lists(st.tuples(text, text), min_size=2, max_size=5),
    spam=text.filter(lambda text: text.rstrip("\0") == text != ""),
)
@few
def test_any_text_is_saved(
    categories: list[tuple[str, str]], spam: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    X = np.array(categories, dtype=object)
    y = np.array(["", *[spam] * (len(X) - 1)])
    path = tmp_path_factory.mktemp("text") / "model"
    model = genus.CategoricalNB().fit(X, y)
    model.save(path)
    check(loading(model, genus.load(path), X))
