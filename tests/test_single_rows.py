"""One row at a time, as a dictionary: equal to batches, for every kind of classifier."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import genus
from cases import CASES, each, refused

X, Y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
ROWS = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
LABELS = np.array(["x", "y", "z"])[Y]
KINDS = [
    genus.GaussianNB,
    genus.GDA,
    genus.GammaNB,
    genus.PoissonNB,
    genus.MultinomialNB,
    genus.BernoulliNB,
]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_learned_as_a_batch_is(kind):
    model = kind()
    for x, y in zip(ROWS, LABELS.tolist(), strict=True):
        assert model.learn_one(x, y) is model
    whole = kind().fit(X, LABELS)
    assert list(model.feature_names_in_) == NAMES
    for i in (0, 70, 140):
        turned = dict(reversed(ROWS[i].items()))
        assert model.predict_one(turned) == whole.predict(X[[i]])[0]
        found = model.predict_proba_one(turned)
        assert list(found) == ["x", "y", "z"]
        assert_allclose([*found.values()], whole.predict_proba(X[[i]])[0], rtol=1e-9, atol=1e-12)
    kept = genus.from_bytes(model.to_bytes())
    assert kept.predict_one(ROWS[70]) == model.predict_one(ROWS[70])


def test_nothing_learned_is_no_class():
    assert genus.GaussianNB().predict_one({"a": 1.0}) is None
    assert genus.GaussianNB().predict_proba_one({"a": 1.0}) == {}


def test_a_column_that_a_row_lacks():
    few = ROWS[:60]
    model = genus.GaussianNB()
    for x, y in zip(few, LABELS, strict=False):
        model.learn_one(x, y)
    row = np.array([[5.0, np.nan, 2.0, 1.0]])
    with_holes = model.predict_proba_one({"c": 2.0, "a": 5.0, "d": 1.0})
    by_array = genus.GaussianNB().fit(X[:60], LABELS[:60]).predict_proba(row)[0]
    assert_allclose([*with_holes.values()], by_array, rtol=1e-9)
    words = genus.BernoulliNB().learn_one({"ham": 1, "spam": 0}, 0).learn_one({"spam": 1}, 1)
    batch = genus.BernoulliNB().fit([[1, 0], [0, 1]], [0, 1])
    assert_allclose(
        [*words.predict_proba_one({"ham": 2}).values()], batch.predict_proba([[1, 0]])[0]
    )


def test_weights_categories_texts_and_tables():
    twice = genus.GaussianNB().learn_one(ROWS[0], "x", w=2.0).learn_one(ROWS[99], "y")
    assert_allclose(twice.class_count_, [2, 1])
    colours = genus.CategoricalNB()
    for colour, y in [("red", 0), ("blue", 1), ("red", 0)]:
        colours.learn_one({"colour": colour, "size": None}, y)
    assert colours.predict_one({"colour": "blue"}) == 1
    texts = genus.TextClassifier().learn_one("cheap pills", "spam").learn_one("see you", "ham")
    assert texts.predict_one("pills") == "spam"
    table = genus.TableClassifier(calibrate=False).fit({"n": X[:, 2], "w": LABELS}, Y)
    table.learn_one({"n": 1.4, "w": "x", "other": 3}, 0)
    assert table.class_count_.sum() == 151
    assert table.predict_one({"w": "z"}) == 2


def test_rows_that_make_no_sense():
    model = genus.GaussianNB().learn_one(ROWS[0], 0)
    with refused("column 'e'", "not fitted with"):
        model.learn_one({"e": 1.0}, 0)
    with refused("row 0, column 0 ('a')", "text"):
        model.learn_one({"a": "big"}, 0)
    with refused("column 0 ('a')", "too large"):
        model.learn_one({"a": 10**400}, 0)
    assert model.class_count_.sum() == 1
    for x in ([1.0], "text", None):
        with refused("dictionary", type(x).__name__, by=TypeError):
            model.predict_one(x)
    with refused("a text", "dict", by=TypeError):
        genus.TextClassifier().learn_one({"a": 1}, 0)
    for x in ({}, {1: 2.0}):
        with refused("first row must be a dictionary by column name"):
            genus.GDA().learn_one(x, 0)
    with refused("no names"):
        genus.GaussianNB().fit(X, Y).predict_one(ROWS[0])
    with refused("not enough to plan the columns", "plan"):
        genus.TableClassifier().learn_one(ROWS[0], 0)


@each(CASES)
def test_a_model_is_freed_when_the_next_replaces_it(case):
    """A stream of models must not fill the memory until the garbage collector runs."""
    model = case.fit()
    model.predict(case.X)
    before = weakref.ref(model.model_.parameters)
    gc.disable()
    try:
        model.partial_fit(case.X, case.y)
        model.predict(case.X)
        assert before() is None
    finally:
        gc.enable()
