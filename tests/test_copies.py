"""Rows that count several times, by weights or as copies, do not seem to predict themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import log_loss

from genus import TableClassifier, TextClassifier, cross_validate
from genus.stacking.copies import multiplicity
from genus.stacking.dealing import deal
from genus.statistics.group import common_unit
from genus.statistics.sample import EVERY, Bags, Sample

rng = np.random.default_rng(7)


def rows(n):
    """Numbers with a few that matter together, and one label in seven at random."""
    X = rng.normal(size=(n, 6))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, "up", "down")
    odd = rng.random(n) < 1 / 7
    y[odd] = rng.choice(["up", "down"], odd.sum())
    return pd.DataFrame(X.round(3), columns=list("abcdef")), y


X, y = rows(800)
NEW, TRUTH = rows(1500)
RARE = np.flatnonzero(y == "up")[:12]
COMMON = np.flatnonzero(y == "down")


def loss(model):
    return log_loss(TRUTH, model.predict_proba(NEW))


@pytest.fixture(scope="module")
def plain():
    return TableClassifier().fit(X, y)


def fitted(weight):
    return TableClassifier().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    "repeat",
    [
        lambda model: fitted(np.full(len(y), 2.0)),
        lambda model: fitted(np.full(len(y), 7.5)),
        lambda model: fitted(np.full(len(y), 1 / len(y))),
        lambda model: fitted(np.full(len(y), 1.1 / len(y))),
        lambda model: model + model,
        lambda model: TableClassifier().fit(pd.concat([X] * 3), np.tile(y, 3)),
        lambda model: fitted(np.random.default_rng(0).uniform(0.5, 5, len(y))),
        lambda model: TableClassifier().fit(*drawn_again()),
    ],
    ids=[
        "weight 2",
        "weight 7.5",
        "a sum of 1",
        "a sum of 1.1",
        "sum",
        "copies",
        "survey weights",
        "drawn with replacement",
    ],
)
def test_copies_of_rows_do_not_seem_to_predict_each_other(plain, repeat):
    model = repeat(plain)
    assert loss(model) < 1.1 * loss(plain)
    assert model.weighing_.worth["log loss"] > 0.85 * plain.weighing_.worth["log loss"]


def drawn_again():
    at = np.random.default_rng(1).integers(0, len(y), 2 * len(y))
    return X.iloc[at], y[at]


def answers(n, rng):
    """Six answers from 1 to 5, which are never equal by chance, and a label that follows them."""
    A = rng.integers(1, 6, size=(n, 6))
    odds = (A - 3) @ [0.9, -0.7, 0.5, 0.3, 0.6, -0.4]
    return pd.DataFrame(A, columns=list("abcdef")), rng.random(n) < 1 / (1 + np.exp(-odds))


@pytest.mark.parametrize(
    "weigh",
    [
        lambda rng: rng.integers(1, 3, 300).astype(float),
        lambda rng: 100.0 * rng.integers(1, 3, 300),
        lambda rng: 200 * rng.uniform(0.5, 1.5, 300),
        lambda rng: rng.multinomial(600, np.full(300, 1 / 300)).astype(float),
    ],
    ids=["1 or 2", "100 or 200", "survey weights", "drawn with replacement"],
)
@pytest.mark.parametrize("kind", [int, str])
def test_weights_of_rows_without_continuous_columns(weigh, kind):
    """Only a comparison with chance shows that such rows are copies."""
    rng = np.random.default_rng(0)
    A, label = answers(300, rng)
    new, truth = answers(3000, rng)
    weight = weigh(rng)
    plain = TableClassifier().fit(A.astype(kind), label)
    weighted = TableClassifier().fit(A.astype(kind), label, sample_weight=weight)
    found = [log_loss(truth, one.predict_proba(new.astype(kind))) for one in (plain, weighted)]
    assert found[1] < 1.12 * found[0]
    assert weighted.weighing_.worth["log loss"] > 0.85 * found[1]


@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("weigh", [np.ones, np.random.default_rng(1).uniform(0.5, 1.5, 2000).take])
def test_rows_that_are_equal_by_chance_teach_each_other(times, weigh):
    """Few rows are possible, and a column may repeat another: still, each has thousands of rows."""
    rng = np.random.default_rng(0)
    town, effect = rng.integers(0, 40, 4000), rng.random(40)
    label = rng.random(4000) < effect[town]
    A = pd.DataFrame({f"town {i}": (town * 7**i % 41).astype(str) for i in range(times)})
    weight = weigh(2000) if weigh is np.ones else weigh(np.arange(2000))
    model = TableClassifier().fit(A[:2000], label[:2000], sample_weight=weight)
    best = log_loss(label[2000:], effect[town[2000:]])
    assert log_loss(label[2000:], model.predict_proba(A[2000:])) < best + 0.06


def test_a_rare_class_may_be_repeated():
    few = np.append(COMMON, RARE)
    often = np.append(COMMON, np.repeat(RARE, 30))
    once, again = (TableClassifier().fit(X.iloc[at], y[at]) for at in (few, often))
    here = TRUTH == "down"
    share = 30 * len(RARE) / len(often)
    assert loss(again) < max(loss(once), -np.log([1 - share, share]).mean())
    assert -np.log(again.predict_proba(NEW[here])[:, 0]).mean() < 1


def test_cross_validation_of_weighted_rows(plain):
    once, twice = (
        cross_validate(TableClassifier(), X, y, folds=4, sample_weight=np.full(len(y), w)).log_loss
        for w in (1.0, 2.0)
    )
    assert twice == pytest.approx(once, rel=0.1)


def test_texts_of_weight_two():
    words = np.array([f"w{i}" for i in range(60)])
    share = {"a": 1 / np.arange(1, 61), "b": 1 / np.arange(1, 61)[::-1]}
    label = rng.choice(["a", "b"], 300)
    texts = [
        " ".join(rng.choice(words, 8, p=0.6 / 60 + 0.4 * share[k] / share[k].sum())) for k in label
    ]
    once, twice = (
        TextClassifier("auto").fit(texts[:200], label[:200], sample_weight=np.full(200, w))
        for w in (1.0, 2.0)
    )
    found = [log_loss(label[200:], one.predict_proba(texts[200:])) for one in (once, twice)]
    assert found[1] < 1.1 * found[0]
    seeming = [np.nanmin(one.choice_.scores[:, 1]) for one in (once, twice)]
    assert seeming[1] > 0.9 * seeming[0]


def sample(cells, weights, codes=None, bags=()):
    cells = np.asarray(cells, dtype=np.int64).reshape(len(weights), -1)
    codes = np.zeros(len(weights), dtype=np.int64) if codes is None else np.asarray(codes)
    hashes = np.arange(len(weights), dtype=np.uint64)
    axis = np.array(["a", "b"])[: codes.max() + 1]
    return Sample(100, axis, hashes, codes, np.asarray(weights, float), cells, bags, EVERY)


def number(*given):
    return multiplicity(sample(*given[:2], **(given[2] if len(given) > 2 else {})), *given[3:])[0]


def test_how_many_rows_a_row_stands_for():
    n = np.arange(30)
    odd, none = 1.0 + n % 3, {}
    assert_array_equal(number(n, odd, none, [0]), np.ones(30))  # every number once
    assert_array_equal(number(n % 10, odd), odd)  # one column of categories: all by chance
    assert_array_equal(number(n % 10, odd, none, [0]), odd)  # few numbers
    assert_array_equal(number(n % 10, 2.0 * odd), odd)  # a unit of 2
    assert_array_equal(number(n[:10], 2.0 * odd[:10]), 2.0 * odd[:10])  # few rows
    assert_array_equal(number(n % 10, np.full(30, 3.7)), np.ones(30))  # a common weight
    codes = (n >= 25).astype(int)
    of_one = np.where(codes == 0, 3.0, odd)
    assert_array_equal(number(n % 10, of_one, {"codes": codes})[codes == 0], np.ones(25))
    sizes = np.where(n < 15, 2, 9)
    bag = Bags(np.cumsum(sizes), np.arange(sizes.sum(), dtype=np.uint32), np.ones(sizes.sum(), int))
    with_texts = number(n % 10, odd, {"bags": (bag,)})
    assert_array_equal(with_texts[15:], 1)  # long texts
    assert ((with_texts[:15] >= 1) & (with_texts[:15] < 1.5)).all()  # short ones, which differ


def test_rows_that_differ_only_in_class_are_one_unit_unless_chance_explains_them():
    n = np.arange(60)
    cells = np.column_stack([n // 2, n // 2 % 7])
    pairs = sample(cells, np.ones(60), n % 2)
    pairs = replace(pairs, hashes=np.repeat(np.arange(30, dtype=np.uint64), 2))
    found, unit = multiplicity(pairs)
    assert_array_equal(unit, n - n % 2)
    row, fold, weight = deal(pairs.codes, found, unit, pairs.weights, 5, 99)
    assert_array_equal(row, n)
    assert_array_equal(fold[::2], fold[1::2])
    assert_array_equal(weight, 1)
    often = replace(pairs, weights=np.full(60, 40.0) + n % 3)
    assert_array_equal(multiplicity(often)[1], n)


@pytest.mark.parametrize("column", ["id", "none"])
def test_people_who_come_several_times(column):
    rng = np.random.default_rng(0)

    def visits(people, times):
        a, b = rng.normal(size=(2, people))
        who = np.repeat(np.arange(people), times)
        odds = (a + 0.5 * b)[who]
        frame = pd.DataFrame({"id": who.astype(str), "a": a[who], "b": b[who]})
        label = rng.random(len(who)) < 1 / (1 + np.exp(-odds))
        return (frame if column == "id" else frame[["a", "b"]]), label, odds

    A, label, _ = visits(600, 3)
    new, truth, odds = visits(5000, 1)
    model = TableClassifier().fit(A, label)
    best = log_loss(truth, 1 / (1 + np.exp(-odds)))
    assert log_loss(truth, model.predict_proba(new)) < best + 0.02
    assert model.weighing_.worth["log loss"] > best - 0.03


def test_texts_that_are_labelled_several_times():
    words, rng = np.array([f"w{i}" for i in range(60)]), np.random.default_rng(0)
    effect = rng.normal(size=60)

    def texts(n):
        drawn = rng.integers(0, 60, size=(n, 12))
        odds = 0.8 * effect[drawn].sum(axis=1)
        return [" ".join(words[one]) for one in drawn], 1 / (1 + np.exp(-odds))

    T, p = texts(400)
    new, q = texts(3000)
    truth = rng.random(3000) < q
    losses = []
    for times in (1, 4):
        label = rng.random(400 * times) < np.tile(p, times)
        losses.append(
            log_loss(truth, TextClassifier("auto").fit(T * times, label).predict_proba(new))
        )
    assert losses[1] < losses[0]


def test_a_common_unit_despite_rounding():
    assert common_unit(np.r_[np.full(20, 4.0), 3 * 1.9 + 0.3]) == 2  # 5.999999999999999
    assert common_unit(np.r_[1e-10, rng.uniform(0.5, 2, 100)]) == 1
    assert common_unit(np.full(50, 2.5)) == 2.5
    assert common_unit(np.zeros(50)) == 1


def test_weighted_rows_that_the_model_has_seen_are_noticed(plain):
    for weight in (2.0, 3.7):
        model = fitted(np.full(len(y), weight))
        assert model.seen(X) == 1
        assert model.seen(NEW) == 0
    assert not any("copies" in told for told in fitted(rng.uniform(500, 2000, len(y))).cautions())
    assert any("copies" in told for told in (plain + plain).cautions())


def test_weights_of_a_class_that_add_up_to_one():
    own = np.append(y, ["new", "new"])
    rows = pd.concat([X, X[:2] + 0.5])
    told = TableClassifier().fit(rows, own, sample_weight=np.append(np.ones(len(y)), [0.5, 0.5]))
    assert not any("only one row" in one for one in told.cautions())


def test_weights_of_rows_that_are_one_row_stay_whole():
    row, fold, weight = deal(
        np.zeros(4, int), np.ones(4), np.arange(4), np.array([1.0, 9, 2, 3]), 2, 99
    )
    assert_array_equal(row, np.arange(4))
    assert_array_equal(fold, [0, 1, 0, 1])
    assert_array_equal(weight, [1, 9, 2, 3])


@pytest.mark.parametrize("how", ["frame", "file", "stream"])
def test_rows_of_weight_zero_do_not_decide_how_columns_are_read(how, tmp_path):
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=400), rng.integers(0, 2, 400)
    frame = pd.DataFrame({"x": np.where(weight == 0, 1e6 * x, x), "w": weight, "y": x > 0})
    frame["note"] = np.where(weight == 0, "seen only here", None)

    def fitted(rows):
        source = rows
        if how == "file":
            source = tmp_path / "rows.parquet"
            rows.to_parquet(source)
        elif how == "stream":
            source = pa.Table.from_pandas(rows).to_reader()
        return TableClassifier().fit(source, target="y", sample_weight="w")

    every, some = fitted(frame), fitted(frame[frame["w"] > 0].reset_index(drop=True))
    assert every.plan_.used == some.plan_.used
    new = pd.DataFrame({"x": rng.normal(size=50), "note": None})
    assert_array_equal(every.predict_proba(new), some.predict_proba(new))
    with pytest.raises(ValueError, match="weight above zero in 'w'"):
        fitted(frame.assign(w=0))


def test_equal_rows_of_many_classes():
    """One content, or a few, in thirty classes."""
    for values in (1, 2):
        A = pd.DataFrame({"a": np.resize(["x", "y"][:values], 300), "b": "z"})
        model = TableClassifier().fit(A, np.arange(300) % 30)
        assert np.isfinite(model.predict_proba(A)).all()
