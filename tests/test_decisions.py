"""Scores equal scikit-learn's, decisions are those of least cost, and folds are honest."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sklearn.metrics as sk
from click.testing import CliRunner

from genus import (
    GDA,
    CrossValidation,
    GaussianNB,
    TableClassifier,
    TableError,
    cross_validate,
    load,
)
from genus.cli import cli
from genus.stacking.decision import Decision
from scope import nightly

RNG = np.random.default_rng(7)


def outcome(m=400, K=3, weights=False):
    y = RNG.integers(0, K, m)
    p = RNG.dirichlet(np.ones(K), m) + 0.7 * np.eye(K)[y]
    p = np.round(p / p.sum(axis=1, keepdims=True), 2)  # with ties
    p /= p.sum(axis=1, keepdims=True)
    w = RNG.random(m) + 0.1 if weights else np.ones(m)
    return CrossValidation(p, np.array([f"c{k}" for k in range(K)]), y, w, np.zeros(m, int))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weights", [False, True])
def test_scores_are_those_of_scikit_learn(K, weights):
    found = outcome(K=K, weights=weights)
    y, p, w = found.y, found.probabilities, found.weight
    decided, metrics = p.argmax(axis=1), found.metrics()
    expected = {
        "accuracy": sk.accuracy_score(y, decided, sample_weight=w),
        "balanced accuracy": sk.balanced_accuracy_score(y, decided, sample_weight=w),
        "F1": sk.f1_score(y, decided, average="macro", sample_weight=w),
        "log loss": sk.log_loss(y, p, sample_weight=w),
    }
    for name, value in expected.items():
        assert metrics.scores[name].value == pytest.approx(value)
    brier = metrics.scores["Brier score"]
    assert brier.value == pytest.approx(found.brier)
    assert brier.low <= brier.value <= brier.high
    for k, one in enumerate(metrics.by_class):
        own = y == k
        assert one.recall.value == pytest.approx(
            sk.recall_score(own, decided == k, sample_weight=w)
        )
        assert one.precision.value == pytest.approx(
            sk.precision_score(own, decided == k, sample_weight=w)
        )
        assert one.roc_auc.value == pytest.approx(sk.roc_auc_score(own, p[:, k], sample_weight=w))
        assert one.pr_auc.value == pytest.approx(
            sk.average_precision_score(own, p[:, k], sample_weight=w)
        )


def test_the_precision_recall_area_is_that_of_the_rarer_of_two_classes():
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.01).astype(int)
    score = 1 / (1 + np.exp(-rng.normal(2.0 * y - 4)))
    p = np.stack([1 - score, score], axis=1)
    for rare, names in ("fraud", ["fair", "fraud"]), ("defect", ["defect", "fine"]):
        k = names.index(rare)
        codes, both = (y, p) if k else (1 - y, p[:, ::-1])
        found = CrossValidation(both, np.array(names), codes, np.ones(4000), codes * 0).metrics()
        area = sk.average_precision_score(y, score)
        assert found.scores["PR AUC"].value == pytest.approx(area)
        assert found.scores["PR AUC"] == found.by_class[k].pr_auc
        assert found.baseline["PR AUC"] == y.mean()
        assert (found.rarer, found.title("PR AUC")) == (rare, f"PR AUC of {rare}")
        assert found.notes()[0] == "F1 is a mean over the classes, each against all others."
    many = outcome(K=3)
    areas = [one.pr_auc.value for one in many.metrics().by_class]
    assert many.metrics().scores["PR AUC"].value == pytest.approx(np.mean(areas))
    assert (many.metrics().rarer, many.metrics().title("PR AUC")) == (None, "PR AUC")
    assert "F1 and both areas are means over the classes" in many._repr_html_()


def test_the_baseline_decides_for_the_commonest_class():
    found = outcome(K=3)
    share = np.bincount(found.y) / len(found.y)
    guess = np.tile(share, (len(found.y), 1))
    always = np.full(len(found.y), share.argmax())
    same = CrossValidation(guess, found.classes, found.y, found.weight, found.fold)
    base = found.metrics().baseline
    assert found.metrics().commonest == f"c{share.argmax()}"
    assert base["accuracy"] == pytest.approx(sk.accuracy_score(found.y, always))
    assert base["F1"] == pytest.approx(sk.f1_score(found.y, always, average="macro"))
    for name, score in same.metrics().scores.items():
        assert base[name] == pytest.approx(score.value)
    assert "baseline</th>" in found._repr_html_()
    assert f"Baseline: c{share.argmax()} for every row" in found._repr_html_()
    costly = found.deciding({("c0", "c1"): 2.0})
    assert "Baseline of the cost" not in found._repr_html_()
    words = "Baseline of the cost: always the same class, the one with the lowest total cost"
    assert words in costly._repr_html_()


@nightly
def test_intervals_hold_what_they_promise():
    """Of 200 data sets the interval of 95 % holds the truth in nearly as many."""
    rng = np.random.default_rng(1)
    truth, within = 0.7, 0
    for _ in range(200):
        right = rng.random(150) < truth
        y = rng.integers(0, 2, 150)
        p = np.where(right, 0.9, 0.1)
        both = np.stack([np.where(y == 0, p, 1 - p), np.where(y == 1, p, 1 - p)], axis=1)
        score = CrossValidation(both, np.arange(2), y, np.ones(150), y).metrics().scores["accuracy"]
        within += score.low <= truth <= score.high
    assert 0.89 < within / 200 <= 0.99


@pytest.mark.parametrize(("rows", "low"), [(20, 0.8389), (200, 0.9812)])
def test_perfect_scores_have_an_interval(rows, low):
    """The interval is Wilson's, whose lower end is n / (n + z²) if all of n rows are right."""
    y = np.arange(rows) % 2
    p = np.stack([0.9 - 0.8 * y, 0.1 + 0.8 * y], axis=1)
    found = CrossValidation(p, np.arange(2), y, np.ones(rows), y).metrics()
    accuracy = found.scores["accuracy"]
    assert (accuracy.value, accuracy.high) == (1, 1)
    assert accuracy.low == pytest.approx(low, abs=1e-4)
    for name in ("balanced accuracy", "F1", "ROC AUC", "PR AUC"):
        assert 0.5 < found.scores[name].low < found.scores[name].value == 1
    assert found.by_class[0].recall.low < accuracy.low  # of half as many rows
    wrong = CrossValidation(p[::-1], np.arange(2), y, np.ones(rows), y).metrics().scores["accuracy"]
    assert wrong == pytest.approx((0, 0, 1 - low), abs=1e-4)


def test_one_class_has_no_area():
    p = np.array([[0.7, 0.3], [0.2, 0.8]])
    found = CrossValidation(p, np.arange(2), np.zeros(2, int), np.ones(2), np.zeros(2, int))
    scores = found.metrics().scores
    assert np.isnan(scores["ROC AUC"].value)
    assert scores["accuracy"].value == 0.5


@pytest.mark.parametrize("K", [2, 4])
def test_costs_are_least_in_expectation(K):
    p = RNG.dirichlet(np.ones(K), 200)
    classes = np.array([f"c{k}" for k in range(K)])
    costs = {("c0", "c1"): 5, ("c1", "c0"): 0.5}
    C = 1 - np.eye(K)
    C[0, 1], C[1, 0] = 5, 0.5
    expected = [min(range(K), key=lambda j, own=own: own @ C[:, j]) for own in p]
    assert Decision.of(costs, classes).decide(p).tolist() == expected


def test_thresholds():
    p = np.array([[0.65, 0.35], [0.75, 0.25]])
    classes = np.array(["no", "yes"])
    assert Decision.of(0.3, classes).decide(p).tolist() == [1, 0]
    assert Decision.of({"no": 0.7}, classes).decide(p).tolist() == [1, 0]
    three = np.array([[0.5, 0.3, 0.2], [0.5, 0.1, 0.4]])
    assert Decision.of({2: 0.15}, np.arange(3)).decide(three).tolist() == [2, 2]
    assert Decision.of({0: 0.6}, np.arange(3)).decide(three).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"maybe": 0.5}, "no class 'maybe'. The classes are 'no', 'yes'"),
        ({("no", "maybe"): 1}, "no class 'maybe'"),
        ({("no", "yes"): -1}, "number, 0 or more"),
        (1.5, "from 0 to 1"),
        ({}, "no threshold and no cost"),
    ],
)
def test_decisions_that_make_no_sense(given, words):
    with pytest.raises(ValueError, match=words):
        Decision.of(given, np.array(["no", "yes"]))


def test_errors_name_a_class_as_it_is_written():
    with pytest.raises(ValueError, match=r"^The threshold of 'good' must be"):
        Decision.of({np.str_("good"): 1.5}, np.array(["bad", "good"]))


def test_a_threshold_alone_is_for_two_classes():
    with pytest.raises(ValueError, match=r"there are 3\. Name the class"):
        Decision.of(0.3, np.arange(3))


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    who = rng.integers(0, 30, n)
    return pd.DataFrame(
        {
            "x": rng.normal(y),
            "kind": np.where(rng.random(n) < 0.4 + 0.3 * y, "a", "b"),
            "who": [f"p{i}" for i in who],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) // 3, "D"),
            "y": np.where(y, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def model():
    return TableClassifier().fit(rows(), target="y")


def test_predict_decides_by_costs(model):
    p = model.predict_proba(rows())
    costly = model.predict(rows(), decision={("yes", "no"): 5})
    assert (costly == np.where(p[:, 1] * 5 > p[:, 0], "yes", "no")).all()
    assert (model.predict(rows(), decision=0.2) == np.where(p[:, 1] >= 0.2, "yes", "no")).all()


def test_class_weight_is_a_prior(model, tmp_path):
    weighed = TableClassifier(class_weight={"yes": 3.0}).fit(rows(), target="y")
    odds = model.predict_proba(rows())
    odds = odds * [1, 3]
    assert weighed.predict_proba(rows()) == pytest.approx(odds / odds.sum(axis=1, keepdims=True))
    equal = TableClassifier(class_weight="balanced").fit(rows(), target="y")
    assert equal.model_.prior == pytest.approx([0.5, 0.5])
    weighed.save(tmp_path / "w.genus")
    again = load(tmp_path / "w.genus")
    assert again.predict_proba(rows()) == pytest.approx(weighed.predict_proba(rows()))
    rows().to_csv(tmp_path / "t.csv", index=False)
    told = CliRunner().invoke(cli, ["predict", f"{tmp_path}/w.genus", f"{tmp_path}/t.csv"])
    last = told.stdout.splitlines()[1].split(",")[-1]
    assert float(last) == pytest.approx(weighed.predict_proba(rows())[0, 1])
    with pytest.raises(ValueError, match="class_weight must be a dictionary"):
        TableClassifier(class_weight="even").fit(rows(), target="y")
    with pytest.raises(ValueError, match="class_weight names 'yess', which is no class"):
        TableClassifier(class_weight={"yess": 3}).fit(rows(), target="y")


# Folds


def test_a_path_and_a_target(tmp_path):
    rows().to_csv(tmp_path / "t.csv", index=False)
    by_path = cross_validate(TableClassifier(), tmp_path / "t.csv", target="y", folds=4)
    frame = rows().assign(day=rows().day.dt.date)
    by_frame = cross_validate(TableClassifier(), frame, target="y", folds=4)
    assert by_path.probabilities == pytest.approx(by_frame.probabilities)
    assert cross_validate(GDA(), rows()[["x", "y"]], target="y").accuracy > 0.7
    with pytest.raises(ValueError, match="Give the classes"):
        cross_validate(TableClassifier(), rows())


def test_rows_of_a_group_are_in_one_fold():
    found = cross_validate(TableClassifier(), rows(), target="y", folds=5, groups="who")
    who = rows().who.to_numpy()
    assert all(len(set(found.fold[who == one])) == 1 for one in set(who))
    assert len(set(zip(found.group, who, strict=True))) == len(set(who))
    sizes = np.bincount(found.fold)
    assert len(sizes) == 5
    assert sizes.max() - sizes.min() < 20
    same = cross_validate(
        TableClassifier(), rows().drop(columns=["y", "who"]), rows().y, folds=5, groups=who
    )
    assert found.probabilities == pytest.approx(same.probabilities)


def test_a_group_that_gives_the_answer_away_is_seen_through():
    """Rows of one person are all alike: random folds are far too good."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(60), 8)
    town = {"town": [f"t{i}" for i in who]}
    y = rng.integers(0, 2, 60)[who]
    random = cross_validate(TableClassifier(), town, y, 5)
    honest = cross_validate(TableClassifier(), town, y, 5, groups=who)
    assert random.accuracy > 0.95
    assert honest.accuracy < 0.6


def test_in_time_only_earlier_rows_are_learned_from():
    frame = rows()
    found = cross_validate(TableClassifier(), frame, target="y", folds=4, time="day")
    assert len(found.y) == pytest.approx(240, abs=3)
    order = np.argsort(frame.day.to_numpy(), kind="stable")
    late = order[-np.bincount(found.fold)[-1] :]
    early = np.setdiff1d(order, late)
    past = frame.iloc[np.sort(early)]
    refitted = TableClassifier().fit(past, target="y")
    expected = refitted.predict_proba(frame.iloc[late])
    assert found.probabilities[found.fold == 3] == pytest.approx(expected, abs=1e-9)


def test_in_time_rows_may_be_a_stream():
    X, y = rows()[["x", "kind"]], rows().y
    table = pa.Table.from_pandas(X)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(50))
    day = np.arange(len(X))
    found = cross_validate(TableClassifier(), stream, y, 4, time=day)
    expected = cross_validate(TableClassifier(), X, y, 4, time=day)
    assert found.probabilities == pytest.approx(expected.probabilities)


def test_in_time_a_class_may_come_later():
    frame = rows()[["x", "day", "y"]].sort_values("day", kind="stable", ignore_index=True)
    frame.loc[:99, "y"] = "early"
    found = cross_validate(TableClassifier(), frame, target="y", folds=4, time="day")
    assert found.classes.tolist() == ["early", "no", "yes"]
    assert (found.probabilities[found.fold == 0, 0] == 1).all()
    assert (found.probabilities[found.fold == 3, 1:].sum(axis=1) > 0.5).all()


def test_in_time_new_categories_are_no_warning():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"day": np.arange(300), "person": [f"P{i // 3}" for i in range(300)]}
        | {"x": rng.normal(size=300), "y": np.where(np.arange(300) % 2, "u", "v")}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate(TableClassifier(), frame, target="y", folds=4, time="day")


def test_in_time_rows_keep_their_weights():
    day = np.arange(40)
    X, y, weight = day[:, None] % 7 / 7, day % 2, 1.0 + day
    found = cross_validate(GaussianNB(), X, y, 4, time=day, sample_weight=weight)
    assert found.weight == pytest.approx(weight[-len(found.y) :])


@pytest.mark.parametrize("given", ["0.3", True, [[0, 5], [1, 0]], np.eye(2)])
def test_decisions_of_other_types_are_refused(given):
    with pytest.raises(ValueError, match="decision must be a threshold, or a dictionary"):
        Decision.of(given, np.array(["a", "b"]))


def test_the_baseline_of_one_class_is_not_minus_zero():
    only = CrossValidation(np.full((9, 2), 0.5), np.arange(2), np.zeros(9, int), np.ones(9), None)
    assert str(only.metrics().baseline["log loss"]) == "0.0"


@pytest.mark.parametrize("model", [GDA(), GaussianNB()])
def test_dates_that_a_classifier_cannot_read_are_named(model):
    frame = rows()[["x", "day", "y", "who"]]
    with pytest.raises(ValueError, match=r"Column 1 \('day'\) of X holds dates or times"):
        cross_validate(model, frame, target="y", groups="who")


def test_intervals_allow_for_rows_of_a_group_that_depend_on_each_other():
    """Ten copies of each row say no more than one: the interval is as wide as without copies."""
    one = outcome(m=200, K=2)
    times = [np.repeat(own, 10, axis=0) for own in (one.probabilities, one.y, one.weight, one.fold)]
    p, y, weight, fold = times
    copies = CrossValidation(p, one.classes, y, weight, fold)
    grouped = CrossValidation(p, one.classes, y, weight, fold, group=np.repeat(np.arange(200), 10))
    width = {}
    for name, found in (("one", one), ("copies", copies), ("grouped", grouped)):
        _, low, high = found.metrics().scores["log loss"]
        width[name] = high - low
    assert width["grouped"] == pytest.approx(width["one"], rel=0.25)
    assert width["copies"] < 0.5 * width["one"]
    right = CrossValidation(np.eye(2)[y], one.classes, y, weight, fold, group=grouped.group)
    alone = CrossValidation(np.eye(2)[one.y], one.classes, one.y, one.weight, one.fold)
    ours, theirs = right.metrics(), alone.metrics()
    assert ours.scores["accuracy"] == pytest.approx(theirs.scores["accuracy"])
    assert ours.by_class[0].recall == pytest.approx(theirs.by_class[0].recall)


def test_a_column_of_groups_may_also_be_ignored():
    plain = cross_validate(TableClassifier(), rows(), target="y", folds=5, groups="who")
    model = TableClassifier(ignore=["who"])
    both = cross_validate(model, rows(), target="y", folds=5, groups="who")
    assert both.probabilities == pytest.approx(plain.probabilities)


def test_rows_without_a_group_form_one_group_of_their_own():
    who = rows().who.astype(str).where(np.arange(300) % 5 > 0)
    who[1] = ""  # a name like any other
    found = cross_validate(TableClassifier(), rows()[["x", "y"]], target="y", folds=3, groups=who)
    assert len(set(found.fold[who.isna()])) == 1
    assert np.bincount(found.fold).max() < 110


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--group", "who", "--time", "day"), "Give only one"),
        (("--group", "y"), "'y' is the target"),
        (("--group", "who", "--folds", "loo"), "--folds loo cannot be used with --group or --time"),
        (("--time", "Day"), "Did you mean 'day'"),
    ],
)
def test_options_of_folds_that_contradict_each_other(tmp_path, options, words):
    rows().to_csv(tmp_path / "t.csv", index=False)
    told = CliRunner().invoke(cli, ["evaluate", f"{tmp_path}/t.csv", "--target", "y", *options])
    assert told.exit_code != 0
    assert words in told.output
    assert "slow" not in told.output


def test_rows_that_time_leaves_unpredicted_are_named(tmp_path):
    rows().to_csv(tmp_path / "t.csv", index=False)
    run = ["evaluate", f"{tmp_path}/t.csv", "--target", "y", "--time", "day", "--folds", "4"]
    told = CliRunner().invoke(cli, run)
    left = 300 - int(next(n for n in told.stdout.splitlines() if n.startswith("rows")).split()[1])
    assert f"Not predicted, only learned from: the earliest {left} rows." in told.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": "nobody"}, "no column 'nobody'"),
        ({"groups": "who", "time": "day"}, "Give only one"),
        ({"groups": "kind", "folds": 3}, "There are 2 groups"),
        ({"groups": ["one"] * 300}, "All rows are in one group"),
        ({"groups": [[1]] * 300}, r"'groups' holds list<.*cannot name groups"),
        ({"groups": 3}, "groups must be a column's name or a value for each row; got 3"),
        ({"groups": "y"}, "'y' is the target"),
        ({"groups": "Who"}, "Did you mean 'who'"),
        ({"time": "kind"}, "'kind' holds values that are not times"),
        ({"time": [7] * 300}, "three or more different times"),
        ({"time": [None, *range(299)]}, "1 of 300 rows have no time in 'time', such as row 0"),
        ({"time": [1, 2]}, "time has 2 values, but there are 300 rows"),
        ({"groups": "who", "folds": "loo"}, "folds must be a whole number of 2 or more"),
    ],
)
def test_folds_that_cannot_be_made(options, words):
    with pytest.raises((ValueError, TableError), match=words):
        cross_validate(TableClassifier(), rows(), target="y", **options)


# What may be wrong with a table


def cautioned(**more):
    frame = rows(400).drop(columns=["who", "day"]).assign(**more)
    return " ".join(TableClassifier().fit(frame, target="y").cautions())


def test_advice_quotes_names_for_the_shell():
    said = cautioned(**{"paid in full": np.where(rows(400).y == rows(400).y[0], 1.5, -1.5)})
    assert "--ignore 'paid in full' (ignore=)" in said


def test_nothing_is_said_of_a_sound_table():
    assert cautioned() == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (lambda f: {"paid": np.where(f.y == "yes", 1.0, 0.0)}, "'paid' may leak the target"),
        (lambda f: {"mail": [f"m{i % 350}" for i in range(400)]}, "'mail' may identify rows"),
        (
            lambda f: {"code": RNG.permutation(10**6)[:400]},
            "'code' may identify rows",
        ),
        (
            lambda f: {"eur": [f"{i % 350 / 4:.2f}".replace(".", ".,"[i % 2]) for i in range(400)]},
            "'eur' holds numbers with decimal points and with decimal commas, such as ",
        ),
        (lambda f: {"cm": f.x * 100}, "'x' and 'cm' hold the same information"),
        (lambda f: {"sort": f.kind.str.upper()}, "'kind' and 'sort' hold the same information"),
    ],
)
def test_what_an_analyst_should_look_at(more, words):
    assert words in cautioned(**more(rows(400)))


def test_predictions_of_another_model_are_noticed():
    frame = rows(400).drop(columns=["who", "day"])
    scored = frame.assign(**{"p(no)": RNG.random(400), "prediction": RNG.permutation(frame.y)})
    told = " ".join(TableClassifier().fit(scored, target="y").cautions())
    assert "predictions of this target: 'p(no)', 'prediction'. If they are" in told


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("NA", "class 'NA' often means a missing value"),
        ("yes ", "classes 'yes', 'yes ' differ only in spaces"),
        ("No", "classes 'No', 'no' differ only in spaces or capital letters"),
    ],
)
def test_doubtful_classes_are_noticed(odd, words):
    assert words in cautioned(y=[odd, *rows(400).y[1:]])


def test_a_class_without_weight_is_no_reason_for_warnings():
    frame = rows(400)
    model = TableClassifier().fit(
        frame.drop(columns="y"), frame.y, sample_weight=(frame.y == frame.y[0]) * 1.0
    )
    assert not any("leak" in told for told in model.cautions())


def test_classes_of_one_row_are_noticed():
    assert "One class has only one row, such as 'odd'" in cautioned(y=["odd", *rows(400).y[1:]])
    assert "only one row" not in cautioned()


def test_rows_that_the_model_has_seen_are_noticed(model):
    own, new = rows(), rows(600).iloc[300:]
    assert model.seen(own) == model.seen(own[:7]) == 1
    assert model.seen(new) == 0
    assert 0.3 < model.seen(pd.concat([own, new, new[:100]])) < 0.5
    few = pd.DataFrame({"a": [i % 3 for i in range(200)], "y": [i % 2 for i in range(200)]})
    assert TableClassifier().fit(few, target="y").seen(few) == 0  # new rows equal old ones, too
    some = TableClassifier(sample_size=50).fit(own, target="y")
    assert some.seen(own) == 1
    assert TableClassifier(sample_size=0).fit(own, target="y").seen(own) == 0


def test_copies_of_rows_are_noticed():
    frame = rows(400).drop(columns=["who", "day"])
    twice = pd.concat([frame, frame[:40]])
    told = " ".join(TableClassifier().fit(twice, target="y").cautions())
    assert "About 9.09 % of rows are copies" in told
    few = {"a": [i % 3 for i in range(200)], "y": [i % 2 for i in range(200)]}
    assert "copies" not in " ".join(TableClassifier().fit(few, target="y").cautions())
    short = {"a": RNG.normal(size=200).round(2), "y": [i % 2 for i in range(200)]}
    assert "copies" not in " ".join(TableClassifier().fit(short, target="y").cautions())


# The command line


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    at = tmp_path_factory.mktemp("decisions")
    rows().to_csv(at / "t.csv", index=False)
    model.save(at / "m.genus")
    return at


def run(*given):
    return CliRunner().invoke(cli, [str(one) for one in given])


def test_evaluate_for_programs(folder):
    told = run("evaluate", folder / "m.genus", folder / "t.csv", "--json", "--costs", "yes:no=5")
    found = json.loads(told.stdout)
    assert found["rows"] == 300
    assert {"accuracy", "F1", "PR AUC", "cost"} <= set(found["scores"])
    assert found["baseline"]["class"] == "no"
    assert [one["label"] for one in found["classes"]] == ["no", "yes"]
    assert np.sum(found["confusion"]) == 300


def test_predict_with_costs(folder, model):
    decided = [
        line.split(",")[5]
        for line in run(
            "predict", folder / "m.genus", folder / "t.csv", "--costs", "yes:no=5"
        ).stdout.splitlines()[1:]
    ]
    frame = rows().assign(day=rows().day.dt.date)
    assert decided == model.predict(frame, decision={("yes", "no"): 5}).tolist()
    named = run("predict", folder / "m.genus", folder / "t.csv", "--threshold", "yes=0.9")
    assert named.exit_code == 0


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--costs", "yes-no"), 2, "is not TRUE:DECIDED=COST"),
        (("--costs", "yes:no=x"), 2, "is not TRUE:DECIDED=COST"),
        (("--costs", "yes:no=1,yes:no=2"), 2, "'yes:no' has two costs"),
        (("--costs", "yes:perhaps=1"), 1, "no class 'perhaps'"),
        (("--threshold", "high"), 2, "neither a number from 0 to 1"),
        (("--threshold", "1.5"), 1, "from 0 to 1"),
        (("--threshold", "0.5", "--costs", "yes:no=2"), 2, "Give only one"),
    ],
)
def test_options_that_make_no_sense(folder, options, code, words):
    told = run("predict", folder / "m.genus", folder / "t.csv", *options)
    assert (told.exit_code, words in told.stderr) == (code, True), told.stderr


def test_evaluate_by_groups_and_time(folder):
    for option in (("--group", "who"), ("--time", "day")):
        told = run("evaluate", folder / "t.csv", "--target", "y", "--folds", 3, *option)
        assert told.exit_code == 0, told.output
    assert run("evaluate", folder / "m.genus", folder / "t.csv", "--group", "who").exit_code == 2


def test_a_brier_score_of_three_classes_may_be_above_one():
    p = np.tile([0.98, 0.01, 0.01], (9, 1))
    found = CrossValidation(p, np.array([0, 1, 2]), np.resize([1, 2], 9), np.ones(9), np.arange(9))
    brier = found.metrics().scores["Brier score"]
    assert 1 < brier.low <= brier.value <= brier.high <= 2


def test_an_unknown_interval_is_a_dash():
    rows = np.array([0, 1])
    found = CrossValidation(np.array([[0.4, 0.6], [0.6, 0.4]]), rows, rows, np.ones(2), rows)
    assert found.metrics().scores["ROC AUC"].interval == "-"
    assert "nan" not in found._repr_html_()
