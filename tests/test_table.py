"""A classifier of tables: what it reads, what it learns, and what it says."""

from __future__ import annotations

import datetime
import decimal
import pickle
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import log_softmax, logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder

import genus
from genus import GDA, TableClassifier, TableError, TextClassifier, cross_validate, load
from genus.estimators.table_rows import labelled, labels_of
from genus.persistence import files
from genus.persistence.predictor import load_predictor
from genus.registry import FAMILIES, is_for
from genus.report.densities import density
from genus.report.judging import judged
from genus.table import Frame, look, open_table
from genus.table.model.weighing import out_of_fold
from genus.table.read.files import from_blocks
from genus.text import Texts, Tokenizer
from scope import at_night, nightly


def people(m: int = 400, seed: int = 0) -> pd.DataFrame:
    """People of two kinds: numbers, counts, categories, truths, dates, holes and a few words."""
    rng = np.random.default_rng(seed)
    y = rng.random(m) < 0.4
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(40 + 12 * y, 9), 1),
            "visits": rng.poisson(2 + 3 * y),
            "city": np.where(rng.random(m) < 0.3 + 0.3 * y, "Trier", "Metz"),
            "member": rng.random(m) < 0.2 + 0.5 * y,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, m), "D"),
            "income": np.where(rng.random(m) < 0.15 + 0.3 * y, np.nan, rng.lognormal(3, 1, m)),
            "number": np.arange(1000, 1000 + m),
            "code": [f"K{i:05d}" for i in range(m)],
            "always": "x",
            "bought": np.where(y, "yes", "no"),
        }
    )
    return frame


FRAME = people()
X, Y = FRAME.drop(columns="bought"), FRAME["bought"]


# What columns hold


def test_columns_are_read_for_what_they_hold() -> None:
    model = TableClassifier(calibrate=False).fit(FRAME, target="bought")
    kinds = {column.name: column.kind for column in model.plan_.columns}
    assert kinds == {
        "age": "number",
        "visits": "number",
        "city": "category",
        "member": "category",
        "since": "number",
        "income": "number",
        "number": "",
        "code": "",
        "always": "category",  # other rows may hold another value
    }
    notes = {column.name: column.note for column in model.plan_.left_out}
    assert "numbers the rows" in notes["number"]
    assert "every value differs" in notes["code"]
    (always,) = (column for column in model.plan_.used if column.name == "always")
    assert "one value only" in always.note
    assert not always.paired
    families = {column.name: column.family for column in model.summary().columns}
    assert families["city"] == families["member"] == "bernoulli"
    assert families["visits"] in ("poisson", "categorical", "discretised")
    assert families["since"] == "no family"  # says nothing of who buys


@pytest.mark.parametrize(
    ("values", "kind", "note"),
    [
        ([1.5, None, 2.0], "number", ""),
        ([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")], "number", ""),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), None], "number", "days"),
        ([datetime.timedelta(1), datetime.timedelta(2), None], "number", "seconds"),
        ([datetime.time(1), datetime.time(2), None], "number", "seconds"),
        (["1", "2.5", "?"], "number", "'?' read as missing"),
        (["1", "2", "three"], "category", ""),
        ([True, None, False], "category", ""),
        (pd.Categorical(["a", "b", "a"]), "category", ""),
        (["a text of words"] * 4 + ["another one of them"], "category", ""),
        ([None, None, None], "", "nothing"),
        ([[1], [2], [3]], "", "list"),
        ([b"a", b"b", b"c"], "", "binary"),
        ([{"a": 1}, {"a": 2}, {"a": 3}], "", "struct"),
    ],
)
def test_kinds_of_values(values: Any, kind: str, note: str) -> None:
    table = pa.table({"x": pa.array(values)})
    (column,) = look(table).columns
    assert column.kind == kind
    assert note in column.note


def test_long_strings_that_differ_are_texts() -> None:
    texts = [f"please call me about order number {i} tomorrow" for i in range(30)]
    (column,) = look(pa.table({"x": texts})).columns
    assert column.kind == "text"


def test_numbers_are_read_alike_from_any_type() -> None:
    plan = look(pa.table({"x": [1.0, 2.0, 3.0]}))
    for values in (
        pa.array([1, 2, None], pa.int8()),
        pa.array([1, 2, None], pa.uint64()),
        pa.array(["1", " 2 ", "NA"]),
        pa.array([decimal.Decimal(1), decimal.Decimal(2), None]),
        pa.array([1.0, 2.0, np.inf]),
        pa.array([1.0, 2.0, np.nan]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([1.0, 2.0])),
    ):
        assert_array_equal(Frame.of(pa.table({"x": values}), plan).columns[0], [1, 2, np.nan])
    nothing = pa.table({"x": pa.nulls(2)})
    assert np.isnan(Frame.of(nothing, plan).columns[0]).all()


def test_what_says_nothing_as_a_number_may_be_a_category() -> None:
    plan = look(pa.table({"x": ["1", "2", "none", "-", "?"], "c": ["a", "none", "-", " ?", "NA"]}))
    assert [column.kind for column in plan.used] == ["number", "category"]
    table = pa.table({"x": ["1", "2", "none", "-", "?"], "c": ["a", "none", "-", " ?", "NA"]})
    x, c = Frame.of(table, plan).columns
    assert_array_equal(x, [1, 2, np.nan, np.nan, np.nan])
    assert c.names.tolist() == ["-", "a", "none"]
    assert c.codes.tolist() == [1, 2, 0, -1, -1]


# Where tables come from


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tables")
    FRAME.to_csv(root / "people.csv", index=False)
    FRAME.to_csv(root / "people.tsv.gz", index=False, sep="\t")
    lines = {"orient": "records", "lines": True, "date_format": "iso", "double_precision": 15}
    FRAME.to_json(root / "people.jsonl", **lines)
    pq.write_table(pa.Table.from_pandas(FRAME), root / "people.parquet")
    (root / "parts").mkdir()
    FRAME[:150].to_parquet(root / "parts" / "a.parquet")
    FRAME[150:].to_parquet(root / "parts" / "b.parquet")
    return root


def test_all_sources_give_the_same_model(folder: Path) -> None:
    expected = TableClassifier().fit(FRAME, target="bought").predict_proba(X)
    sources: list[Any] = [
        folder / "people.csv",
        str(folder / "people.tsv.gz"),
        folder / "people.jsonl",
        folder / "people.parquet",
        folder / "parts",
        str(folder / "parts" / "*.parquet"),
        [folder / "parts" / "a.parquet", folder / "parts" / "b.parquet"],
        f"SELECT * FROM '{folder / 'people.parquet'}'",
        f"from '{folder / 'people.csv'}' select *",
        pl.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME).to_reader(),
        duckdb.sql(f"SELECT * FROM '{folder / 'people.parquet'}'"),
        FRAME.to_dict("list"),
    ]
    for source in sources:
        model = TableClassifier().fit(source, target="bought")
        assert_allclose(model.predict_proba(X), expected, atol=1e-6, err_msg=str(source)[:80])
    assert_allclose(TableClassifier().fit(X, Y).predict_proba(folder / "people.csv"), expected)


def test_a_query_reads_files_as_they_are_read_by_themselves(tmp_path: Path) -> None:
    """DuckDB would make truths of yes and no."""
    rows = "".join(f"{i},{'yes' if i % 3 else 'no'}\n" for i in range(30))
    (tmp_path / "tä.csv").write_text(f"a,y\n{rows}", encoding="utf-8")
    (tmp_path / "u.tsv").write_text(f"a,y\n{rows}".replace(",", "\t"), encoding="utf-8")
    path, other = tmp_path / "tä.csv", tmp_path / "u.tsv"
    want = open_table(path).table().to_pydict()
    for query in (
        f"SELECT * FROM '{path}'",
        f"FROM '{path}'",
        f'SELECT "tä".a, y FROM "{path}"',
        f"SELECT 'ß' AS s, t.* FROM '{path}' AS t",
        f"SELECT * FROM '{other}';",
        f"SELECT o.* FROM '{path}' p JOIN '{other}' o USING (a) ORDER BY a",
        f"WITH w AS (SELECT * FROM '{path}') SELECT * FROM w",
        f"SELECT * FROM (SELECT * FROM '{path}' LIMIT 9) UNION ALL FROM '{path}' OFFSET 9",
    ):
        found = open_table(query).table()
        assert found.select(["a", "y"]).to_pydict() == want, query
    truths = f"SELECT a * a AS a, y = 'yes' AS y FROM '{path}'"
    assert TableClassifier(calibrate=False).fit(truths, "y").classes_.dtype == bool


@pytest.fixture
def few_rows_say_what_a_file_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they do of a large one."""
    monkeypatch.setattr("genus.table.read.files.SNIFFED", 0)
    monkeypatch.setattr("genus.table.read.files.SMALL", 0)
    monkeypatch.setattr("genus.table.read.files.SAMPLED", 2048)


@nightly
@pytest.mark.usefixtures("few_rows_say_what_a_file_holds")
def test_a_column_may_be_something_else_later_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 100, 60_000), rng.integers(0, 2, 60_000)
    lines = [f"{a + 9 * k},2024-01-{a % 28 + 1:02d},{'uv'[k]}" for a, k in zip(x, y, strict=True)]
    lines[50_000] = "NA,never,u"
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["x,d,y", *lines]), encoding="utf-8")
    given = TableClassifier({"d": "categorical"}, calibrate=False)
    model = given.fit(path, target="y")
    kinds = {column.name: column.kind for column in model.plan_.used}
    assert kinds == {"x": "number", "d": "category"}
    assert model.class_count_.sum() == 60_000
    assert len(model.predict([path, path])) == 120_000
    assert model.score(path, "y") > 0.5
    monkeypatch.setattr("genus.estimators.counting.LOOK", 10_000)
    monkeypatch.setattr("genus.table.read.files.BATCH", 10_000)
    told = r"'d' held dates when .* now holds text \('never'\).*--family d=categorical"
    with pytest.raises(TableError, match=told):
        TableClassifier(calibrate=False).fit(path, target="y")
    told = r"Column 'x' of .*late.csv begins with numbers, but holds 'NA' in line 50,002\..*VARCHAR"
    with pytest.raises(TableError, match=told):
        list(open_table(path).batches())
    query = f"SELECT * FROM read_csv('{path}', types = {{'x': 'VARCHAR', 'd': 'VARCHAR'}})"
    assert open_table(query).table().num_rows == 60_000


def test_labelled_rows_are_read_one_way() -> None:
    frame = pa.table({"x": [1, 2, 3, 4], "y": ["b", None, "a", "b"]})
    found = labelled(open_table(frame), "y")
    assert found.rows.to_pydict() == {"x": [1, 3, 4]}
    assert found.y.tolist() == ["b", "a", "b"]
    assert found.there.tolist() == [True, False, True, True]
    assert found.unlabelled == 1
    with pytest.raises(TableError, match="'y' is empty in every row of the table"):
        labelled(open_table(frame[1:2]), "y")
    with pytest.raises(TableError, match="but no rows"):
        labelled(open_table(frame[:0]), "y")
    with pytest.raises(TableError, match="no column 'z'"):
        labelled(open_table(frame), "z")


def test_rows_without_a_label_are_left_out() -> None:
    holes = FRAME.assign(bought=FRAME["bought"].where(np.arange(len(FRAME)) % 7 > 0))
    model = TableClassifier(calibrate=False).fit(holes, target="bought")
    assert model.class_count_.sum() == holes["bought"].notna().sum()
    assert model.unlabelled_ == holes["bought"].isna().sum()


@pytest.mark.parametrize(
    ("labels", "dtype"), [([1, 2], "int64"), ([1.0, 2.0], "int64"), ([True, False], "bool")]
)
def test_labels_of_any_kind(labels: list[Any], dtype: str) -> None:
    frame = X.assign(y=np.where(Y == "yes", labels[0], labels[1]))
    model = TableClassifier(calibrate=False).fit(frame, target="y")
    assert model.classes_.dtype == dtype
    assert set(model.predict(X).tolist()) == set(labels)


def test_labels_are_the_same_however_they_are_read(tmp_path: Path) -> None:
    truths = X.assign(y=Y == "yes")
    truths.to_csv(tmp_path / "t.csv", index=False)
    truths.to_parquet(tmp_path / "t.parquet")
    numbers = X.assign(y=(Y == "yes").astype(int))
    numbers.to_csv(tmp_path / "n.csv", index=False)
    numbers.assign(y=numbers["y"].astype(str)).to_parquet(tmp_path / "n.parquet")
    for name in ("t", "n"):
        one, other = tmp_path / f"{name}.csv", tmp_path / f"{name}.parquet"
        for first, second in ((one, other), (other, one)):
            model = TableClassifier(calibrate=False).fit(first, target="y")
            before = model.predict_proba(X)
            assert model.score(second, "y") == model.score(first, "y") > 0.7
            model.partial_fit(second, target="y")
            assert len(model.classes_) == 2
            assert_array_equal(model.forget(second, target="y").predict_proba(X), before)
            assert judged(model, second, "y").outcome is not None
    whole = TableClassifier(calibrate=False).fit(tmp_path / "n.csv", target="y")
    with pytest.raises(ValueError, match="Convert"):
        whole.partial_fit(X.assign(y="maybe"), target="y")


# What it learns: with families given and no calibration it is the textbook's naive Bayes


def test_gaussian_and_categorical_columns_are_those_of_scikit_learn() -> None:
    frame = X[["age", "city"]]
    families = {"age": "gaussian", "city": "categorical"}
    model = TableClassifier(families, calibrate=False).fit(frame, Y)
    numbers = GaussianNB(var_smoothing=0).fit(frame[["age"]], Y)
    encoder = OrdinalEncoder().fit(frame[["city"]])
    city = encoder.transform(frame[["city"]])
    categories = CategoricalNB().fit(city, Y)
    log_p = numbers.predict_joint_log_proba(frame[["age"]]) + categories.predict_joint_log_proba(
        city
    )
    log_p -= np.log(numbers.class_prior_)
    expected = np.exp(log_p - np.logaddexp(*log_p.T)[:, None])
    assert_allclose(model.predict_proba(frame), expected, atol=1e-9)


def numbers_of(family: str, rows: int, y: Any) -> pd.DataFrame:
    """Three columns that a family is for, the last of them without evidence."""
    rng = np.random.default_rng(rows)
    level = 1.0 + y[:, None] * [1, 1, 0]
    drawn = {
        "gaussian": lambda: rng.normal(
            level * [1, 100, 1e-3] + [0, 5e3, 0], [1, 50, 1e-3], (rows, 3)
        ),
        "poisson": lambda: rng.poisson(2 * level, (rows, 3)),
        "gamma": lambda: rng.gamma(4, level * [1, 100, 1e-3], (rows, 3)),
        "categorical": lambda: rng.poisson(2 * level, (rows, 3)).astype(str).astype(object),
    }
    return pd.DataFrame(drawn[family](), columns=list("abc"))


@pytest.mark.parametrize("rows", [12, 400])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize(
    ("family", "single", "atol"),
    [
        ("gaussian", genus.GaussianNB(), 1e-12),
        ("poisson", genus.PoissonNB(alpha=1), 1e-12),
        ("categorical", genus.CategoricalNB(alpha=1), 1e-12),
        ("gamma", genus.GammaNB(), 1e-3),  # Σ log x is taken from cells
    ],
)
def test_columns_of_one_family_are_its_naive_bayes(
    family: str, single: Any, atol: float, holes: bool, rows: int
) -> None:
    y = np.arange(rows) % 3
    frame = numbers_of(family, rows, y)
    if holes:  # of all classes alike, so that being missing says nothing
        frame[np.isin(np.arange(rows) % 12, [0, 1, 2])] = None
    text = [f"v{x}" if isinstance(x, str) else None for x in frame.to_numpy().ravel()]
    if family == "categorical":
        frame = pd.DataFrame(
            np.reshape(np.array(text, dtype=object), frame.shape), columns=[*frame]
        )
    model = TableClassifier(dict.fromkeys("abc", family), calibrate=False).fit(frame, y)
    assert not any(own.absent.any() for own in model.model_.parameters.marginals)
    values = frame.to_numpy(dtype=object if family == "categorical" else float)
    assert_allclose(
        model.predict_proba(frame), clone(single).fit(values, y).predict_proba(values), atol=atol
    )


def with_families(families: dict[str, str], rows: int = 200) -> tuple[TableClassifier, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 2
    frame = pd.DataFrame({name: 1.0 + rng.poisson(2 + 3 * y) for name in families})
    return TableClassifier(families, calibrate=False).fit(frame, y), frame


# Shares and what repeats itself are no counts; test_column_families has numbers for them.
OTHERS = {"beta", "seconds", "hours", "degrees", "radians"}


@pytest.mark.parametrize(
    "family", [name for name in FAMILIES if is_for(name, "number") and name not in OTHERS]
)
def test_every_family_of_numbers_scores_samples_and_is_drawn(family: str) -> None:
    model, frame = with_families({"a": family})
    (column,) = model.summary().columns
    assert (column.family, column.others) == (family, {})
    assert column.gain > 0.2
    strange = frame[:4].assign(a=[1e150, -1e150, -3.0, 0.0])
    assert np.isfinite(model.predict_proba(strange)).all()
    assert (model.log_density(strange)[:2] <= model.log_density(frame).min()).all()
    drawn, y = model.sample(2000, random_state=0)
    means = [drawn.column("a").to_numpy()[y == k].mean() for k in (0, 1)]
    assert_allclose(means, [3, 6], atol=0.8)
    for rows in (
        None,
        Frame.of(pa.table({"a": [None, None]}).cast(pa.schema([("a", pa.float64())])), model.plan_),
    ):
        curves = density(model, "a", rows)
        steps = 1.0 if curves.is_shares else np.diff(curves.x).mean()
        assert np.isfinite(curves.p).all()
        if rows is None and family != "discretised":
            assert_allclose(curves.p.sum(axis=1) * steps, 1, atol=0.1)


def test_the_next_family_is_an_entry_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(FAMILIES["gamma"], options={"alpha": 5.0}, suits=lambda x: x.least > 0)
    monkeypatch.setitem(FAMILIES, "smooth gamma", entry)
    model, frame = with_families({"a": "smooth gamma"})
    values = frame.to_numpy(float)
    expected = genus.GammaNB(alpha=5).fit(values, np.arange(200) % 2).predict_proba(values)
    assert_allclose(model.predict_proba(frame), expected, atol=1e-3)
    chosen = TableClassifier(calibrate=False).fit(frame, np.arange(200) % 2).summary().columns[0]
    assert "smooth gamma" in {chosen.family, *chosen.others}


def test_gamma_is_for_positive_numbers_and_asked_for_by_name() -> None:
    y = np.arange(60) % 2
    x = np.random.default_rng(0).gamma(2, 1 + 3 * y)
    (chosen,) = TableClassifier(calibrate=False).fit({"x": x}, y).summary().columns
    assert "gamma" not in {chosen.family, *chosen.others}
    x[0] = -1
    with pytest.raises(ValueError, match=r"'x' holds -1.*gamma is for numbers of 0 or more"):
        TableClassifier({"x": "gamma"}).fit({"x": x}, y)


def test_classes_of_few_rows_have_no_spikes_unless_asked_for() -> None:
    x = np.append(np.random.default_rng(0).normal(size=60), [0.5, 0.9])
    y = np.repeat([0, 1, 2], [30, 30, 2])
    shifted = {"x": x + 2 * (y == 1)}
    (chosen,) = TableClassifier(calibrate=False).fit(shifted, y).summary().columns
    asked = TableClassifier({"x": "gaussian"}, calibrate=False).fit(shifted, y)
    assert {chosen.family: chosen.gain, **chosen.others}["gaussian"] > 0.3
    assert asked.summary().columns[0].gain < -1
    for weight in (None, np.linspace(0.1, 2.3, 62)):
        for few in (np.zeros(62), x, np.round(x), np.arange(62.0)):
            for family in ("gaussian", "gamma", "poisson", "discretised", "categorical"):
                table = {"x": np.abs(few), "z": x}
                one = TableClassifier({"x": family}, calibrate=False)
                assert np.isfinite(
                    one.fit(table, y, sample_weight=weight).predict_proba(table)
                ).all()


def test_missing_values_speak_only_if_being_missing_does() -> None:
    model = TableClassifier(calibrate=False).fit(FRAME, target="bought")
    parameters = model.model_.parameters
    by_name = dict(zip(model.feature_names_in_, parameters.marginals, strict=True))
    assert by_name["income"].missing_gain > 0
    assert by_name["income"].absent.any()
    assert not by_name["age"].absent.any()
    nobody = {name: [None] for name in X}
    silent = TableClassifier(calibrate=False, ignore=["income"]).fit(FRAME, target="bought")
    assert_allclose(silent.predict_proba(nobody)[0], silent.model_.prior)


def test_gains_are_what_leaving_rows_out_one_by_one_gives() -> None:
    frame = FRAME[:60][["age", "visits", "city", "bought"]]
    y = (frame["bought"] == "yes").to_numpy().astype(int)
    for name, family in [("age", "gaussian"), ("visits", "poisson"), ("city", "bernoulli")]:
        model = TableClassifier({name: family}, calibrate=False)
        told = 0.0
        for i in range(len(frame)):
            rest = np.arange(len(frame)) != i
            one = clone(model).fit(frame.loc[rest, [name]], y[rest])
            p = one.predict_proba(frame.iloc[[i]][[name]])[0, y[i]]
            told += np.log(p) - np.log((y[rest] == y[i]).mean())
        (marginal,) = model.fit(frame[[name]], y).model_.parameters.marginals
        assert_allclose(marginal.gains[family], told / len(frame), atol=2e-3)


def test_families_may_be_given_and_columns_left_out() -> None:
    model = TableClassifier({"age": "discretised"}, ignore=["city", "member"]).fit(X, Y)
    families = {column.name: column.family for column in model.summary().columns}
    assert families["age"] == "discretised"
    assert "city" not in families
    assert "left out on request" in dict(model.summary().left_out)["city"]
    codes = TableClassifier({"visits": "categorical"}, calibrate=False).fit(X, Y)
    parameters = codes.model_.parameters
    at = codes.feature_names_in_.tolist().index("visits")
    assert parameters.marginals[at].family == "categorical"


def test_texts_in_a_table_are_read_as_texts_are() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.5
    words = np.where(y[:, None], ["cheap", "pills", "now"], ["lunch", "friday", "team"])
    texts = [" ".join(rng.choice(row, 5)) + f" regarding item {i}" for i, row in enumerate(words)]
    frame = pd.DataFrame({"text": texts, "size": rng.normal(size=300)})
    model = TableClassifier().fit(frame, np.where(y, "spam", "ham"))
    assert model.summary().columns[0].family == "text"
    assert (model.predict(frame) == np.where(y, "spam", "ham")).mean() > 0.99
    alone = TextClassifier("auto").fit(texts, y)
    assert (alone.predict(texts) == y).mean() > 0.99
    for one in (model, TableClassifier(calibrate=False).fit(frame, np.where(y, "spam", "ham"))):
        told = one.explain(frame[:20])
        j = told.features.index("text")
        for row, own in enumerate(told.words["text"]):
            assert set(own) >= set(texts[row].split()) & {"cheap", "lunch", "team"}
            lines = told.strongest_words("text", row, "spam", "ham")
            assert len(lines) <= 7
            total = told.log_odds("spam", "ham")[row, j]
            assert_allclose(sum(odds for _, odds in lines), total, atol=1e-3)
            if one is not model:  # of a product of words nothing is left
                assert_allclose(sum(own.values()), told.contributions[row, j])
        best, odds = told.word_log_odds("text", 0, "spam", "ham")[0]
        assert (odds > 0) == bool(y[0])
        assert best in texts[0]
        assert "text = " in str(told)
        assert f"\n      {best} " in told.describe()
    spread = one.explain(frame).word_log_odds("text", 0, "spam", "ham")
    assert [abs(odds) for _, odds in spread] == sorted((abs(o) for _, o in spread), reverse=True)


@pytest.mark.parametrize(
    ("data", "accuracy", "loss"),
    [(load_wine, 0.97, 0.08), pytest.param(load_breast_cancer, 0.96, 0.11, marks=nightly)],
)
def test_without_any_setting_it_is_good(data: Any, accuracy: float, loss: float) -> None:
    frame, y = data(return_X_y=True, as_frame=True)
    result = cross_validate(TableClassifier(), frame, y, folds=5)
    assert result.accuracy > accuracy
    assert result.log_loss < loss


def test_leaving_one_row_out_is_refitting_without_it() -> None:
    """Weights and trees, too, are learned without the row."""
    X, y = FRAME.drop(columns="bought")[:30], FRAME["bought"].to_numpy()[:30]
    plan = TableClassifier().plan(X, y)
    left = cross_validate(TableClassifier(), X, y, folds="loo")
    for i in (0, 7, 29):
        rest = np.arange(30) != i
        fitted = TableClassifier().fit(X[rest], y[rest], like=plan)
        assert_allclose(left.probabilities[i], fitted.predict_proba(X[~rest])[0], rtol=1e-9)


def test_what_is_said_out_of_fold_is_what_new_rows_show() -> None:
    model = TableClassifier().fit(people(2000), target="bought")
    new = people(4000, seed=1)
    p = model.predict_proba(new)
    own = p[np.arange(len(new)), (new["bought"] == "yes").to_numpy().astype(int)]
    worth = model.summary().worth
    assert abs(-np.log(own).mean() - worth["log loss"]) < 0.04
    assert abs((p.argmax(axis=1) == (new["bought"] == "yes")).mean() - worth["accuracy"]) < 0.02
    assert worth["calibration error"] < 0.04


def test_columns_that_depend_on_each_other_are_seen_through() -> None:
    """Exclusive or: no column says anything by itself."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 600))
    frame = pd.DataFrame({"a": np.where(a, "x", "y"), "b": np.where(b, "x", "y")})
    y = a ^ b
    seen = cross_validate(TableClassifier(), frame, y, folds=5)
    blind = cross_validate(TableClassifier(dependence=False), frame, y, folds=5)
    assert seen.accuracy > 0.99
    assert blind.accuracy < 0.65


def test_the_same_column_twice_is_not_counted_twice() -> None:
    once = X[["age"]]
    twice = pd.concat([once, *(once.rename(columns={"age": f"age{i}"}) for i in range(5))], axis=1)
    p, q = (cross_validate(TableClassifier(), frame, Y, folds=5) for frame in (once, twice))
    assert abs(p.log_loss - q.log_loss) < 0.03


# The group


def test_models_fitted_apart_merge() -> None:
    whole = TableClassifier().fit(X, Y)
    a, b = (TableClassifier().fit(X[i::2], Y[i::2]) for i in (0, 1))
    merged = a + b
    assert_array_equal(merged.class_count_, whole.class_count_)
    assert (merged.predict(X) == whole.predict(X)).mean() > 0.9
    like = TableClassifier().fit(X[1::2], Y[1::2], like=a)
    assert like.plan_ == a.plan_
    again = (a + like) - like
    assert_allclose(again.predict_proba(X), a.predict_proba(X))


def test_rows_are_forgotten_exactly() -> None:
    model = TableClassifier().fit(X, Y)
    before = model.predict_proba(X)
    more = people(50, seed=9)
    model.partial_fit(more.drop(columns="bought"), more["bought"])
    assert not np.array_equal(model.predict_proba(X), before)
    model.forget(more, target="bought")
    assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(ValueError, match="than was learned"):
        model.forget(pd.concat([X] * 2), pd.concat([Y] * 2))


@pytest.mark.parametrize("calibrate", [True, False])
def test_nothing_is_left_of_rows_that_are_all_forgotten(calibrate: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.where(FRAME["bought"] == "yes", "quokka", "zebrafish")
    notes = {"quokka": ["marzipan", "nougat", "pralines"], "zebrafish": ["gherkin", "mustard"]}
    texts = [f"{' '.join(rng.choice(notes[k], 4))} ticket{i}" for i, k in enumerate(y)]
    places = np.where(rng.random(len(y)) < 0.5, "Timbuktu", "Ouagadougou")
    many = [f"district{i}" for i in rng.integers(0, 150, len(y))]
    frame = X[["age", "income"]].assign(place=places, many=many, note=texts, age=X["age"] + 0.123)
    model = TableClassifier(calibrate=calibrate).fit(frame, y)
    kinds = [column.kind for column in model.plan_.used]
    assert kinds == ["number", "number", "category", "category", "text"]
    model.predict(frame)
    model.save(tmp_path / "full.genus")
    loaded = load(tmp_path / "full.genus")
    words = ["quokka", "zebrafish", "timbuktu", "ouagadougou", "district", "ticket"]
    words += [word for some in notes.values() for word in some]
    numbers = {v for name in ("age", "income") for v in frame[name].dropna().tolist()}

    def found(path: Path) -> set[Any]:
        whole = pickle.dumps(files.read(path))  # unpacked
        content = whole.lower()
        held = {w for w in words for code in ("utf-8", "utf-32-le") if w.encode(code) in content}
        held |= {v for v in numbers if struct.pack("<d", v) in whole or repr(v).encode() in whole}
        return held

    assert found(tmp_path / "full.genus") == set(words)  # numbers are sums already
    for one in (model, loaded):
        some, rest = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
        one.forget(frame[some], y[some]).forget(frame[rest], y[rest])
        one.save(tmp_path / "empty.genus")
        assert found(tmp_path / "empty.genus") == set()
        empty = load(tmp_path / "empty.genus")
        assert len(empty.classes_) == 0


def test_a_class_that_is_gone_leaves_no_trace(tmp_path: Path) -> None:
    y = np.where(np.arange(len(FRAME)) % 9 == 0, "zebrafish", Y)
    notes = [f"some words of ticket number {i}" for i in range(len(y))]
    model = TableClassifier().fit(X.assign(note=notes), y)
    model.forget(X.assign(note=notes)[y == "zebrafish"], y[y == "zebrafish"])
    assert model.classes_.tolist() == ["no", "yes"]
    model.save(tmp_path / "m.genus")
    assert b"zebrafish" not in (tmp_path / "m.genus").read_bytes()


def test_models_that_were_saved_merge_and_forget_as_they_would_have(tmp_path: Path) -> None:
    a = TableClassifier().fit(X[:200], Y[:200])
    b = TableClassifier().fit(X[200:], Y[200:], like=a)
    for name, one in (("a", a), ("b", b)):
        one.save(tmp_path / name)
    c, d = load(tmp_path / "a"), load(tmp_path / "b")
    for left, right in ((a + b, c + d), (a + b - b, c + d - d), (a + a, c + a)):
        assert left.model_ == right.model_
        assert_array_equal(left.predict_proba(X), right.predict_proba(X))
    assert_allclose((a + b - d).predict_proba(X), a.predict_proba(X), atol=1e-9)
    one, other = ((m + n).model_.statistics for m, n in ((a, b), (d, c)))
    for part in ("rows", "cells", "pairs"):
        assert one[part] == other[part]


def test_a_stream_is_the_table() -> None:
    table = pa.Table.from_pandas(FRAME)
    expected = TableClassifier(calibrate=False).fit(table, target="bought")
    batches = table.to_batches(max_chunksize=37)
    streamed = TableClassifier(calibrate=False).fit(
        pa.RecordBatchReader.from_batches(table.schema, batches), target="bought"
    )
    assert_allclose(streamed.predict_proba(X), expected.predict_proba(X))
    passed: list[int] = []
    sampled = TableClassifier(sample_size=100).fit(table, target="bought", progress=passed.append)
    assert sum(passed) == len(FRAME)
    assert sampled.summary().worth["rows"] == 100
    assert_array_equal(sampled.class_count_, expected.class_count_)


# What it says


def test_evidence_adds_up() -> None:
    for model in (TableClassifier(), TableClassifier(calibrate=False)):
        model.fit(X, Y)
        explained = model.explain(X[:20])
        assert_allclose(explained.joint, model.predict_log_proba(X[:20]), atol=1e-8)
        assert_array_equal(explained.classes, model.classes_)
    one = model.explain(X.iloc[0].to_dict())
    assert "age = " in str(one)


def test_rows_unlike_any_other_are_unlikely() -> None:
    model = TableClassifier().fit(X, Y)
    strange = X[:1].assign(age=400.0, visits=90)
    assert model.log_density(strange)[0] < model.log_density(X).min()


def test_samples_have_the_types_of_the_table() -> None:
    table = pa.Table.from_pandas(FRAME)
    model = TableClassifier().fit(table, target="bought")
    drawn, labels = model.sample(500, random_state=0)
    for name in model.feature_names_in_:
        assert drawn.schema.field(name).type == table.schema.field(name).type, name
    again = TableClassifier(calibrate=False).fit(drawn, labels)
    assert (again.predict(X) == TableClassifier(calibrate=False).fit(X, Y).predict(X)).mean() > 0.85
    assert set(model.sample(5, y="yes")[1].tolist()) == {"yes"}
    holes = drawn.column("income").null_count / 500
    assert abs(holes - FRAME["income"].isna().mean()) < 0.1


def test_priors_adapt_to_where_the_rows_come_from() -> None:
    model = TableClassifier().fit(people(3000), target="bought")
    there = people(4000, seed=5)
    kept = there[(there["bought"] == "no") | (np.arange(4000) % 4 == 0)]
    share = (kept["bought"] == "yes").mean()
    adapted = model.adapt(kept)
    assert abs(adapted.model_.prior[1] - share) < 0.03
    told = [
        -np.log(m.predict_proba(kept)[np.arange(len(kept)), (kept["bought"] == "yes").astype(int)])
        for m in (model, adapted)
    ]
    assert told[1].mean() < told[0].mean()
    given = model.resolve(priors={"no": 0.9, "yes": 0.1})
    assert_allclose(given.model_.prior, [0.9, 0.1])


@pytest.mark.parametrize("options", [{}, {"calibrate": False}, {"dependence": False}])
def test_what_is_saved_is_what_is_loaded(options: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = np.where(FRAME["bought"] == "yes", "wants it soon", "only looks around")
    notes = [
        f"{w} says number {i}" for w, i in zip(words, rng.permutation(len(words)), strict=True)
    ]
    frame = FRAME.assign(note=notes)
    model = TableClassifier(**options).fit(frame, target="bought")
    assert "text" in {column.kind for column in model.plan_.used}
    X = frame.drop(columns="bought")
    model.save(tmp_path / "model.genus")
    loaded = load(tmp_path / "model.genus")
    assert loaded.get_params() == model.get_params()
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    predictor = load_predictor(tmp_path / "model.genus")
    table = pa.Table.from_pandas(X)
    assert_allclose(predictor.predict_proba(table), model.predict_proba(table), atol=1e-12)
    assert loaded.model_ == model.model_
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.plan_ == model.plan_
    assert_array_equal(
        loaded.partial_fit(X[:9], Y[:9]).predict_proba(X),
        model.partial_fit(X[:9], Y[:9]).predict_proba(X),
    )


def test_it_is_an_estimator_of_scikit_learn() -> None:
    assert cross_val_score(TableClassifier(), X, Y, cv=3).mean() > 0.7
    model = TableClassifier().fit(X, Y)
    assert model.score(X, Y) > 0.75
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert clone(model).get_params() == model.get_params()
    array = TableClassifier().fit(np.random.default_rng(0).normal(size=(60, 3)), [0, 1] * 30)
    assert array.feature_names_in_.tolist() == ["x0", "x1", "x2"]


# Bad input: a sentence that says what, where, got and what to do


def test_what_cannot_be_read_is_told_in_a_sentence(tmp_path: Path) -> None:
    def told(content: bytes, name: str = "x.csv", target: str = "y") -> str:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(TableError) as caught:
            TableClassifier().fit(path, target=target)
        return str(caught.value)

    with pytest.raises(TableError, match="There is no file"):
        open_table("nowhere.csv")
    assert "is empty" in told(b"")
    assert "no rows" in told(b"a,y\n")
    assert "no column 'z'" in told(b"a,y\n1,2\n2,3\n", target="z")
    assert "Did you mean 'target'" in told(b"a,target\n1,2\n2,3\n", target="taget")
    assert "is always" in told(b"a,y\n1,b\n2,b\n")
    assert "empty in every row" in told(b"a,y\n1,\n2,\n")
    assert "UTF-8" in told("a,y\nü,b\nä,c\n".encode("latin-1") * 40)
    assert "Cannot read" in told(b"PAR1 broken", "x.parquet")
    assert "numbers such as 0.5" in told(b"a,y\n1,0.5\n2,0.25\n")
    assert "no header line" in told(b"1,2\n3,4\n", target="label")
    with pytest.raises(TableError, match="is a remote address"):
        open_table("https://example.org/x.csv")
    with pytest.raises(TableError, match="not a single SELECT"):
        open_table("SELECT 1; DROP TABLE x ")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="holds no"):
        open_table(tmp_path / "empty")


def test_ragged_rows_are_named_by_line(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 2}\n" for i in range(100))
    (tmp_path / "x.csv").write_text(f"a,y\n{rows}1,2,3,4\n{rows}")
    with pytest.raises(TableError, match=r"line 102 has 4 fields where 2 are expected"):
        TableClassifier().fit(tmp_path / "x.csv", target="y")


def test_columns_that_changed_are_named() -> None:
    model = TableClassifier(calibrate=False).fit(FRAME, target="bought")
    with pytest.raises(TableError, match=r"'age' held numbers .* holds text \('old'\)"):
        model.predict(X.assign(age="old"))
    with pytest.raises(TableError, match="The column 'city' is missing; the model was"):
        model.predict(X.drop(columns="city"))
    assert_array_equal(model.predict(X.assign(more=1)), model.predict(X))
    assert_array_equal(model.predict(X[X.columns[::-1]]), model.predict(X))
    unseen = model.predict_proba(X.assign(city="Nancy"))
    assert np.isfinite(unseen).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TableClassifier({"age": "normal"}).fit(X, Y), "one of 'gaussian'"),
        (lambda: TableClassifier({"agee": "gaussian"}).fit(X, Y), "no column 'agee'"),
        (lambda: TableClassifier("gaussian").fit(X, Y), "dictionary by column"),
        (lambda: TableClassifier(ignore="age").fit(X, Y), "list of column names"),
        (lambda: TableClassifier(ignore=list(X)).fit(X, Y), "No column is left"),
        (lambda: TableClassifier().fit(X), "requires y"),
        (lambda: TableClassifier().fit(X, Y[:9]), "give a label for each"),
        (lambda: TableClassifier().fit([1, 2], [0, 1]), "Expected 2D array"),
        (lambda: TableClassifier().fit(3, [0, 1]), "Expected a table"),
        (lambda: TableClassifier().fit(X.assign(y="a"), "y"), "only one class"),
        (lambda: TableClassifier().fit({"a": [1, 2], "b": [1]}, [0, 1]), "different lengths"),
        (lambda: TableClassifier().fit(X, Y).resolve(calibrate=3), "calibrate"),
        (lambda: TableClassifier().fit(X, Y).adapt(X[:0]), "no rows"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_two_rows_are_enough() -> None:
    tiny = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", None]})
    for rows in (2, 3, 4):
        model = TableClassifier().fit(tiny[:rows], [0, 1, 0, 1][:rows])
        assert np.isfinite(model.predict_proba(tiny)).all()
        assert_allclose(model.predict_proba(tiny).sum(axis=1), 1)


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    model = TableClassifier(calibrate=False).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="give a label"):
        model.fit(X[:5], Y[:4])
    assert_array_equal(model.predict_proba(X), before)


# What others found


def test_numbers_far_from_all_that_was_seen_have_probabilities() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    model = TableClassifier().fit({"a": rng.normal(y * 0.3, 1 + 3 * y)}, y)
    p = model.predict_proba({"a": [1.5, 1e160, -1e300, None]})
    assert_allclose(p.sum(axis=1), 1)


def test_decimals_may_be_categories() -> None:
    x = np.array([0.1, 0.2, 0.3])[np.random.default_rng(0).integers(0, 3, 300)]
    model = TableClassifier({"x": "categorical"}, calibrate=False).fit({"x": x}, (x > 0.2) * 1)
    assert model.predict({"x": [0.1, 0.3]}).tolist() == [0, 1]


def test_a_name_with_brackets_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "data[1].csv").write_text("right,y\n1,a\n2,b\n")
    (tmp_path / "data1.csv").write_text("wrong,y\n1,a\n2,b\n")
    assert open_table(tmp_path / "data[1].csv").columns == ["right", "y"]


def test_a_file_whose_name_begins_like_a_query_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table 1.csv").write_text("a,y\n1,a\n2,b\n")
    assert open_table("table 1.csv").columns == ["a", "y"]


@pytest.mark.parametrize("values", [[np.inf, 1.0] * 10, [1e300, 1.0] * 10, [0.5, 1.0] * 10])
def test_targets_that_are_no_classes_are_refused(values: list[float]) -> None:
    with pytest.raises(TableError, match="holds numbers such as"):
        TableClassifier().fit({"a": range(20), "y": values}, target="y")


def test_row_numbers_are_found_in_many_rows() -> None:
    frame = pd.DataFrame({"id": np.arange(70_000), "x": np.arange(70_000) % 7})
    model = TableClassifier(calibrate=False).fit(frame, np.arange(70_000) % 2)
    assert model.feature_names_in_.tolist() == ["x"]
    shuffled = frame.sample(frac=1, random_state=0)[:500]
    assert look(pa.table({"id": shuffled["id"].to_numpy() % 500})).used != ()


def test_samples_stay_within_their_type() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"a": pa.array(rng.integers(0, 20, 200), pa.uint8())})
    model = TableClassifier({"a": "gaussian"}).fit(table, [0, 1] * 100)
    drawn = model.sample(2000, random_state=0)[0].column("a").to_numpy()
    assert drawn.max() < 60


def test_categories_that_come_later_share_a_cell() -> None:
    first = {"a": ["u", "v", "w"] * 100, "b": list(range(300))}
    model = TableClassifier().fit(first, [0, 1, 1] * 100)
    size = model.model_.statistics["pairs"].counts.shape
    more = {"a": [f"new {i}" for i in range(5000)], "b": [1] * 5000}
    model.partial_fit(more, [0, 1] * 2500)
    grown = model.model_.statistics["pairs"].counts.shape
    assert grown[1] <= size[1] + 2


def test_many_columns_of_few_categories_are_not_too_many() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({f"x{j}": rng.integers(0, 2, 50) > 0 for j in range(1500)})
    plan = look(table)
    assert sum(2 + len(column.known) for column in plan.used if column.paired) <= 1000


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (["2020-01-01T10:00:00Z", "2020-01-02T00:00:00Z"], 18262 + 10 / 24),
        (["1.1.2020", "31.12.2021"], 18262.0),
    ],
)
def test_dates_as_they_are_written(values: list[str], days: float) -> None:
    table = pa.table({"d": values * 5})
    plan = look(table)
    assert plan.used[0].is_date
    assert_allclose(Frame.of(table, plan).columns[0][0], days)
    assert look(pa.table({"d": ["2020-02-30", "2020-01-01"] * 5})).used[0].kind == "category"


def test_decimal_commas_are_read() -> None:
    table = pa.table({"d": ["1.234,50", "7,25", None, "-3,0"]})
    assert_array_equal(Frame.of(table, look(table)).columns[0], [1234.5, 7.25, np.nan, -3])


def test_dates_are_shown_as_dates() -> None:
    model = TableClassifier().fit(X, Y)
    assert "since = 202" in str(model.explain(X[:1]))
    text = X.assign(since=X["since"].dt.strftime("%Y-%m-%d"))
    drawn, _ = TableClassifier().fit(text, Y).sample(3, random_state=0)
    assert drawn.column("since")[0].as_py().startswith("202")


def test_scores_go_with_the_rows_that_they_are_of() -> None:
    model = TableClassifier().fit(X, Y)
    assert model.summary().worth
    worth = model.summary().worth
    model.partial_fit(X[:5], Y[:5])
    assert model.summary().worth != worth
    model.forget(X[:5], Y[:5])
    assert model.summary().worth == worth
    with pytest.raises(ValueError, match="has no rows"):
        _ = model.forget(X, Y).weighing_


def test_noise_is_not_taken_for_anything() -> None:
    rng = np.random.default_rng(0)
    right = [
        TableClassifier()
        .fit(rng.normal(size=(60, 5)), rng.permutation([0, 1] * 30))
        .summary()
        .worth["accuracy"]
        for _ in range(8)
    ]
    assert np.mean(right) < 0.6


def test_weights_of_rows_count_in_the_scores() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    y = (a > 0).astype(int)
    y[200:] = rng.integers(0, 2, 200)
    weight = np.repeat([1.0, 0.0], 200)
    model = TableClassifier().fit({"a": a}, y, sample_weight=weight)
    assert model.summary().worth["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.resolve(families={"city": "gaussian"}), "'city' has the kind 'category'"),
        (lambda m: m.resolve(families={"nope": "gaussian"}), "no column 'nope'"),
        (lambda m: m.resolve(families={"age": "text"}), "'age' has the kind 'number'"),
        (lambda m: TableClassifier({"d": "poisson"}).fit({"d": [-1, 2] * 9}, [0, 1] * 9), "'d'"),
        (
            lambda m: TableClassifier({"d": "gaussian"}).fit({"d": ["a", "b"]}, [0, 1]),
            "not a number",
        ),
        (lambda m: m.fit({"a": [1, 2], "b": [1e200, 2]}, [0, 1]), "'b'"),
        (lambda m: open_table(pa.table([[1], [2]], ["a", "a"])), "two columns 'a'"),
        (lambda m: open_table({1: [1], "1": [2]}), "equal as text"),
        (lambda m: m + TableClassifier().fit(X.add_prefix("other "), Y), "no column in common"),
        (lambda m: m.predict("SELECT * FROM 'https://example.org/x.parquet'"), "address"),
    ],
)
def test_more_that_makes_no_sense(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(TableClassifier().fit(X, Y))


def test_experts_are_weighed_again_when_options_change() -> None:
    model = TableClassifier(dependence=False).fit(X, Y)
    more = model.resolve(dependence=True)
    assert_allclose(more.predict_proba(X), TableClassifier().fit(X, Y).predict_proba(X))


def related(rows: int = 600) -> tuple[pd.DataFrame, Any]:
    """Columns that depend on each other within a class, one of them with holes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    x = rng.normal(y, 1.0)
    kind = np.where(rng.random(rows) < 0.85, np.where(x > 0.5, "large", "small"), "small")
    frame = pd.DataFrame({"x": x, "twice": 2 * x + rng.normal(0, 0.5, rows), "kind": kind})
    frame.loc[rng.random(rows) < 0.2, "twice"] = np.nan
    return frame, y


def test_samples_know_how_columns_depend_on_each_other() -> None:
    frame, y = related()
    drawn, label = TableClassifier().fit(frame, y).sample(4000, random_state=0)
    sample = drawn.to_pandas()
    for k in (0, 1):
        mine, theirs = frame[y == k], sample[label == k]
        one, other = (f[["x", "twice"]].corr().iloc[0, 1] for f in (mine, theirs))
        assert other == pytest.approx(one, abs=0.2)  # bins keep most of it
        holes = [f["twice"].isna().mean() for f in (mine, theirs)]
        assert holes[0] == pytest.approx(holes[1], abs=0.04)
        shares = [(f["kind"] == "large").groupby(f["x"] > 0.5).mean() for f in (mine, theirs)]
        assert_allclose(shares[0], shares[1], atol=0.2)


def test_the_density_is_one_model() -> None:
    frame, y = related()
    model = TableClassifier().fit(frame, y)
    density = model.generative()
    assert density.get_params()["dependence"] == "tree"
    joint = density.predict_joint_log_proba(frame)
    assert_allclose(density.predict_log_proba(frame), log_softmax(joint, axis=1))
    assert_allclose(model.log_density(frame), logsumexp(joint, axis=1))
    own = model.predict_joint_log_proba(frame)
    assert_allclose(logsumexp(own, axis=1), model.log_density(frame))
    assert_allclose(log_softmax(own, axis=1), model.predict_log_proba(frame))
    one, other = model.sample(5, random_state=1)[0], density.sample(5, random_state=1)[0]
    assert one.equals(other)


def test_the_density_of_categories_adds_up_to_one_and_fits_its_samples() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 500), "b": rng.choice(list("pq"), 500)})
    frame["c"] = np.where(rng.random(500) < 0.8, frame["b"], "p")
    y = (frame["a"] == "x") ^ (rng.random(500) < 0.2)
    model = TableClassifier(calibrate=False, dependence="tree").fit(frame, y)
    cells = pd.DataFrame(list(product("xyz", "pq", "pq")), columns=list("abc"))
    p = np.exp(model.log_density(cells))
    assert p.sum() == pytest.approx(1, abs=1e-3)
    drawn = model.sample(20_000, random_state=0)[0].to_pandas().dropna()
    observed = drawn.groupby(list("abc")).size().reindex(pd.MultiIndex.from_frame(cells)).fillna(0)
    assert stats.chisquare(observed, p / p.sum() * observed.sum()).pvalue > 1e-3


@pytest.mark.parametrize("alike", [0.9, 1.0])
def test_the_tree_joins_columns_that_tell_most_of_each_other(alike: float) -> None:
    rng = np.random.default_rng(0)
    a, y = rng.choice(list("xyz"), 400), rng.integers(0, 2, 400)
    b = np.where(rng.random(400) < alike, a, rng.choice(list("xyz"), 400))
    c = np.where(rng.random(400) < 0.7, b, rng.choice(list("xyz"), 400))
    frame = pd.DataFrame({"a": a, "b": b, "c": c})
    model = TableClassifier(calibrate=False, dependence="tree").fit(frame, y)
    parent = model.model_.parameters.tree.parent
    assert parent[1] == 0
    assert parent[2] == 1 or alike == 1
    assert parent[2] >= 0


def test_a_density_is_not_calibrated() -> None:
    with pytest.raises(ValueError, match="with calibrate=False"):
        TableClassifier(dependence="tree").fit(X, Y)
    with pytest.raises(ValueError, match='True, False or "tree"'):
        TableClassifier(dependence="bush").fit(X, Y)


def test_fitting_again_knows_nothing_of_what_was_fitted_before() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0] * 5, "y": ["1", "2"] * 10})
    again = TableClassifier().fit(frame, target="y").fit(frame.assign(y=[1, 2] * 10), target="y")
    assert again.classes_.tolist() == [1, 2]
    with pytest.raises(TableError, match="always"):
        again.fit(frame.assign(y=1), target="y")
    same = TableClassifier().fit(frame, target="y", like=again)  # labels are read as there
    assert (same + again).classes_.tolist() == [1, 2]


def test_columns_in_another_order_make_no_difference() -> None:
    one, other = TableClassifier().fit(X, Y), TableClassifier().fit(X[X.columns[::-1]], Y)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert_allclose((one + other).predict_proba(X), (other + one).predict_proba(X), atol=1e-6)


def test_a_path_and_the_name_of_its_target_will_do(folder: Path) -> None:
    result = cross_validate(TableClassifier(calibrate=False), folder / "people.csv", "bought")
    apart = cross_validate(TableClassifier(calibrate=False), X, Y)
    assert_allclose(
        result.probabilities, apart.probabilities, atol=1e-6
    )  # the target tells nothing
    model = TableClassifier().fit(folder / "people.csv", "bought")
    assert model.score(folder / "people.csv", "bought") > 0.7
    frame = pl.DataFrame({"x": [1, 2, 3, 4, 5], "y": ["a", "b", None, "a", "b"]})
    assert TableClassifier(calibrate=False).fit(frame, target="y").unlabelled_ == 1


def test_numbers_may_be_modelled_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    height = rng.normal(170, 9, 500)
    frame = pd.DataFrame({"height": height, "weight": height - 100 + rng.normal(6 * y, 2, 500)})
    frame["city"] = np.where(rng.random(500) < 0.5, "Trier", "Metz")
    together = TableClassifier({("height", "weight"): "gaussian"}, calibrate=False).fit(frame, y)
    expected = GDA(shrinkage="oas").fit(frame[["height", "weight"]], y)
    alone = TableClassifier(
        {("height", "weight"): "gaussian"}, calibrate=False, ignore=["city"]
    ).fit(frame, y)
    numbers = frame[["height", "weight"]]
    assert_allclose(alone.predict_proba(frame), expected.predict_proba(numbers), atol=1e-9)
    assert_allclose(alone.log_density(frame), expected.log_density(numbers), atol=1e-8)
    apart = TableClassifier({"height": "gaussian", "weight": "gaussian"}, calibrate=False)
    assert together.score(frame, y) > apart.fit(frame, y).score(frame, y) + 0.1
    assert "together with weight" in str(together.summary())
    holes = frame.assign(weight=frame["weight"].where(np.arange(500) % 9 > 0))
    assert np.isfinite(together.predict_proba(holes)).all()
    for model in (together, TableClassifier({("height", "weight"): "gaussian"}).fit(frame, y)):
        model.save(tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
        assert loaded.get_params() == model.get_params()
        table = pa.Table.from_pandas(frame)
        predictor = load_predictor(tmp_path / "m")
        assert_allclose(predictor.predict_proba(table), model.predict_proba(table), atol=1e-12)
        assert_allclose(model.explain(frame).joint, model.predict_log_proba(frame), atol=1e-7)
    drawn = together.sample(400, random_state=0)[0].to_pandas()
    assert np.corrcoef(drawn["height"], drawn["weight"])[0, 1] > 0.8
    with pytest.raises(ValueError, match="two or more columns and must be gaussian"):
        TableClassifier({("height",): "gaussian"}).fit(frame, y)
    with pytest.raises(ValueError, match="'weight' has two families"):
        TableClassifier({("height", "weight"): "gaussian", "weight": "poisson"}).fit(frame, y)


def test_a_row_teaches_as_one_whatever_all_rows_weigh() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    frame = pd.DataFrame({"a": rng.normal(y), "b": rng.normal(y)})
    for weight in (0.01, 700.0):
        model = TableClassifier().partial_fit(frame, y, sample_weight=np.full(60, weight)).model_
        rows = out_of_fold(model.family, model.statistics, model.classes)
        assert rows is not None
        assert_allclose(rows.weight, 1.0)


@pytest.mark.parametrize("period", [2, 4, 8])
def test_labels_that_come_in_turns_are_all_weighed(period: int) -> None:
    """Rows that weights are learned from are scattered: every other one may be of one class."""
    rng = np.random.default_rng(0)
    y = (np.arange(4000) % period == 0).astype(int)
    X = rng.normal(size=(4000, 2)) + 1.5 * y[:, None]
    for fitted in (TableClassifier(sample_size=200).fit(X, y), streamed(X, y)):
        outcome = fitted.weighing_.outcome
        assert len(outcome.y) == 200
        assert np.mean(outcome.y) == pytest.approx(1 / period, abs=0.08)
        assert 0.6 < outcome.accuracy < 0.97


def streamed(X: Any, y: Any) -> TableClassifier:
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    return TableClassifier(sample_size=200).fit(table, target="y")


def test_a_row_of_which_nothing_is_known_is_judged_by_the_shares_of_the_classes() -> None:
    """What is missing by chance, here and there, says nothing: not that a row is in the middle."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [150, 70, 120])
    X = np.array([0.0, 3.0, 6.0])[y][:, None] + rng.normal(size=(340, 4))
    X[[3, 200, 300]] = np.nan
    model = TableClassifier().fit(X, y)
    nothing = model.predict_proba(np.full((1, 4), np.nan))[0]
    assert_allclose(nothing, np.bincount(y) / 340, atol=0.12)
    one = np.full((1, 4), np.nan)
    one[0, 0] = 6.0
    assert model.predict(one)[0] == 2


def test_a_stream_is_explained() -> None:
    rows = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", "y"]})
    model = TableClassifier(calibrate=False).fit(rows, ["p", "q", "p", "q"])
    stream = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
    assert_allclose(model.explain(stream).joint, model.explain(rows).joint)


def test_decimal_commas_and_dates_may_stand_among_spaces() -> None:
    table = pa.table(
        {"a": [" 1,5", "2,5 ", "3,5"], "b": [" 2024-01-31", "2024-02-01 ", "2024-02-02"]}
    )
    assert [column.kind for column in look(table).columns] == ["number", "number"]


@pytest.mark.parametrize("options", [{"families": {"a": ["gaussian"]}}, {"ignore": None}])
def test_options_of_other_kinds_are_refused(options: dict[str, Any]) -> None:
    rows = pa.table({"a": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ValueError, match="got"):
        TableClassifier(**options).fit(rows, ["p", "q", "p", "q"])


@pytest.mark.parametrize("suffix", at_night(["csv", "csv.gz", "parquet"], "csv.gz", "parquet"))
def test_columns_that_begin_late_are_counted(tmp_path: Path, suffix: str) -> None:
    """A table that is ordered by time: columns that are constant or empty at first."""
    rng = np.random.default_rng(0)
    rows, y = 180_000, rng.integers(0, 2, 180_000)
    late = np.arange(rows) >= 150_000
    frame = pd.DataFrame(
        {
            "always": rng.normal(y, 3).round(2),
            "constant": np.where(late, rng.normal(2 * y, 1), 0.0).round(2),
            "empty": np.where(late, rng.normal(2 * y, 1), np.nan).round(2),
            "y": y,
        }
    )
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path, row_group_size=50_000)
    else:
        frame.to_csv(path, index=False)
    options = {"calibrate": False}
    model = TableClassifier(**options).fit(path, target="y")
    assert [column.paired for column in model.plan_.used] == [True, True, True]
    whole = TableClassifier(**options).fit(frame, target="y")
    assert_allclose(model.predict_proba(frame[-50:]), whole.predict_proba(frame[-50:]), atol=1e-9)


def test_some_rows_of_a_long_file_are_whole_lines_from_all_over_it(tmp_path: Path) -> None:
    lines = [f"{i},{i * i}" for i in range(40_000)]
    (tmp_path / "long.csv").write_text("\n".join(["a,b", *lines, ""]))
    copies = []

    def opened(copy: str) -> Iterator[Any]:
        copies.append(Path(copy).read_text().splitlines())
        yield from ()

    list(from_blocks(str(tmp_path / "long.csv"), 500, opened))
    ((head, *some),) = copies
    assert head == "a,b"
    assert set(some) <= set(lines)
    at = [int(line.partition(",")[0]) for line in some]
    assert at == sorted(set(at))
    assert np.bincount(np.array(at) // 10_000, minlength=4).min() > 100
    assert len(some) < len(lines) / 2


@pytest.mark.parametrize("order", ["abc", "cab", "bca", "dbac"])
def test_labels_in_any_order_are_those_of_their_rows(order: str) -> None:
    given = [*order, *order[::-1], None, order[0]]
    classes, codes, there = labels_of(pa.array(given), "y")
    assert classes.tolist() == sorted(order)
    assert classes[codes].tolist() == [label for label in given if label]
    assert there.tolist() == [label is not None for label in given]


def test_parts_of_one_class_are_counted_by_their_target() -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0], "y": ["p"] * 3 + ["q"] * 3})
    with pytest.raises(TableError, match="The target 'y' is always 'p'"):
        TableClassifier().fit(rows[:3], target="y")
    model = TableClassifier().partial_fit(rows[:3], target="y").partial_fit(rows[3:])
    whole = TableClassifier().partial_fit(rows, target="y", like=model)
    assert_array_equal(model.predict_proba(rows), whole.predict_proba(rows))


# Texts that hold too many words


def many_words(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    texts = [" ".join(f"w{i}" for i in rng.zipf(1.3, 12) % 5000) for _ in range(rows)]
    return {"text": texts, "x": rng.normal(size=rows), "y": rng.integers(0, 2, rows).astype(str)}


def test_pairs_of_words_that_are_too_many_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = many_words(600)
    whole = TableClassifier().fit(table, target="y")
    (text,) = (column for column in whole.plan_.used if column.kind == "text")
    assert text.runs
    assert text.bits == 0
    monkeypatch.setattr("genus.table.plan.MOST_WORDS", 4000)
    fewer = TableClassifier().fit(table, target="y")
    (text,) = (column for column in fewer.plan_.used if column.kind == "text")
    assert not text.runs
    assert "pairs of words, too many" in text.note
    (words,) = fewer.model_.statistics["text/text"].keys
    assert not words.runs.any()
    (column,) = (c for c in fewer.summary().columns if c.name == "text")
    assert "too many" in column.note
    with pytest.raises(ValueError, match="count the texts of column"):
        whole + fewer


def test_words_that_are_too_many_share_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    table = many_words(600)
    monkeypatch.setattr("genus.table.plan.MOST_WORDS", 500)
    monkeypatch.setattr("genus.table.plan.BITS", 8)
    whole = TableClassifier().fit(table, target="y")
    (text,) = (column for column in whole.plan_.used if column.kind == "text")
    assert text.bits == 8
    assert whole.model_.statistics["text/text"].width <= 1 + 2**8
    parts = [
        TableClassifier().fit({k: v[i::3] for k, v in table.items()}, target="y", like=whole)
        for i in range(3)
    ]
    np.testing.assert_allclose(
        sum(parts).predict_proba(table), whole.predict_proba(table), rtol=1e-9
    )
    loaded = genus.from_bytes(whole.to_bytes())
    np.testing.assert_array_equal(loaded.predict_proba(table), whole.predict_proba(table))


def test_the_number_of_words_is_told_by_some_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(many_words(2000)).drop_columns(["y"])
    found = Tokenizer(ngrams=(1, 2)).encode(Texts.of(table["text"])).words.runs
    monkeypatch.setattr("genus.table.plan.MOST_WORDS", 1)
    note = look(table.slice(0, 1000), total=2000).columns[0].note
    told = [int(n.replace(",", "")) for n in re.findall(r"about ([\d,]+)", note)]
    assert told == pytest.approx([found.sum(), (~found).sum()], rel=0.1)


@pytest.mark.parametrize(("rows", "most"), [(100, 0.05), (1000, 0.02)])
def test_two_rows_of_rare_classes_do_not_touch_the_rest(rows: int, most: float) -> None:
    rng = np.random.default_rng(0)
    common = rng.integers(0, 2, rows + 1000)
    frame = pd.DataFrame({f"n{j}": rng.normal(0.5 * common * (j < 3), 1) for j in range(6)})
    frame["kind"] = np.where(rng.random(len(common)) < 0.3 + 0.3 * common, "a", "b")
    labels = np.array(["no", "yes"], dtype=object)[common]
    with_rare = labels.copy()
    with_rare[:2] = ["rare", "rarer"]
    known = labels[rows:]

    def losses(given: Any) -> Any:
        model = TableClassifier().fit(frame[:rows], given[:rows])
        p = model.predict_proba(frame[rows:])
        return -np.log(p[np.arange(len(known)), np.searchsorted(model.classes_, known)])

    change = losses(with_rare) - losses(labels)
    assert change.mean() < most
    assert np.quantile(change, 0.99) < 20 * most


def with_one_row_more(rows: int, kind: str) -> Any:
    """Return the change of other rows' log loss, (2000,), if one row is added to a table."""
    rng = np.random.default_rng(0)
    common = rng.integers(0, 2, rows + 2000)
    frame = pd.DataFrame({f"n{j}": rng.normal(0.7 * common * (j < 3), 1) for j in range(5)})
    frame["kind"] = np.where(rng.random(len(common)) < 0.3 + 0.3 * common, "a", "b")
    labels = np.array(["no", "yes"], dtype=object)[common]
    more, label = frame[:1].copy(), "no"
    if kind == "outlier":
        more = more.assign(n0=1e6, n1=-1e6, kind="c")
    elif kind == "new class":
        label = "rare"
    elif kind == "other label":
        label = "no" if labels[0] == "yes" else "yes"
    known = labels[rows:]

    def losses(X: Any, y: Any) -> Any:
        model = TableClassifier().fit(X, y)
        p = model.predict_proba(frame[rows:])
        return -np.log(p[np.arange(len(known)), np.searchsorted(model.classes_, known)])

    before = losses(frame[:rows], labels[:rows])
    both = pd.concat([frame[:rows], more], ignore_index=True)
    return losses(both, np.append(labels[:rows], label)) - before


@pytest.mark.parametrize("kind", at_night(["outlier", "new class", "other label"], "outlier"))
@pytest.mark.parametrize(
    ("rows", "most", "mean"),
    [
        (100, 2.0, 0.06),
        (1000, 1.2, 0.012),
        pytest.param(10_000, 0.6, 0.004, marks=nightly),
        pytest.param(100_000, 0.6, 0.002, marks=nightly),
    ],
)
def test_one_row_changes_the_log_loss_of_others_little(
    rows: int, most: float, mean: float, kind: str
) -> None:
    change = with_one_row_more(rows, kind)
    assert np.abs(change).max() < most
    assert np.abs(change.mean()) < mean


def test_a_column_that_is_known_in_one_row_only_says_nothing() -> None:
    frame = pd.DataFrame({"a": [None, None, None, 2.0], "y": list("pqpq")})
    model = TableClassifier().fit(frame, target="y")
    assert_allclose(model.predict_proba(frame), 0.5)


def test_rows_of_weight_0_do_not_influence_the_plan() -> None:
    frame, y = pd.DataFrame(load_iris().data), load_iris().target
    weight = np.where(np.arange(150) % 5 == 0, 0.0, 1.0)
    left = weight > 0
    one = TableClassifier().fit(frame, y, sample_weight=weight)
    other = TableClassifier().fit(frame[left], y[left])
    assert one.plan_ == other.plan_
    assert_array_equal(one.predict_proba(frame), other.predict_proba(frame))


@pytest.mark.parametrize("width", [1, 3, 5])
def test_arrays_need_the_columns_of_the_array_before(width: int) -> None:
    X, y = load_iris(return_X_y=True)
    model = TableClassifier(calibrate=False).fit(X, y)
    other = np.zeros((7, width))
    for use in (model.predict, model.explain, lambda X: model.partial_fit(X, y[:7])):
        with pytest.raises(ValueError, match=f"X has {width} features, but TableClassifier is exp"):
            use(other)
    named = pd.DataFrame(other, columns=[f"x{j}" for j in range(width)])
    if width > 4:  # by name, columns may be more
        assert len(model.predict(named)) == 7


@pytest.mark.parametrize("seed", range(3))
def test_texts_that_tell_nothing_do_not_repeat_the_labels_of_rows_seen(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=1200)
    y = np.where(rng.random(1200) < 1 / (1 + np.exp(-2 * x)), "yes", "no")
    ref = [f"Order number {i}, ok" for i in rng.permutation(1200) + 1000]
    rows = pd.DataFrame({"x": x, "ref": ref})
    model = TableClassifier().fit(rows[:600], y[:600])
    assert model.plan_.used[1].kind == "text"
    assert model.weighing_.weights.by_name["text/ref"] == 0
    assert model.feature_importances_[1] < 1e-9
    other = rows[:600].assign(ref=ref[600:])
    assert_allclose(model.predict_proba(rows[:600]), model.predict_proba(other))


@pytest.mark.parametrize("seed", range(3))
def test_numbers_beyond_those_seen_count_like_the_nearest(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    rows = pd.DataFrame({"x": rng.normal(y, 1 + y).round(2), "z": rng.normal(size=300).round(2)})
    low, high = rows.x.min(), rows.x.max()
    far = pd.DataFrame({"x": [low, low - 9, -1e9, high, high + 9, 1e9], "z": 0.1})
    for options in ({}, {"dependence": False}):
        model = TableClassifier(**options).fit(rows, y)
        p = model.predict_proba(far)
        assert_allclose(p[1], p[0], atol=0.05)  # the nearest cell may hold several numbers
        assert_allclose(p[4], p[3], atol=0.05)
        assert_allclose(p[[2, 5]], p[[1, 4]])
    named = TableClassifier(families={"x": "gaussian"}, dependence=False).fit(rows, y)
    assert named.predict_proba(far)[1, 1] > named.predict_proba(far)[0, 1] + 1e-6


def test_columns_named_by_numbers_are_refused_with_their_names():
    model = TableClassifier().fit(np.arange(80.0).reshape(40, 2) % 7, np.arange(40) % 2)
    with pytest.raises(ValueError, match="x0"):
        model.dependence_on(0)


@pytest.mark.parametrize("weight", [None, []])
def test_no_rows_are_refused_with_and_without_weights(weight):
    with pytest.raises(ValueError, match="There are no rows to learn from"):
        TableClassifier().fit({"a": np.zeros(0)}, np.zeros(0), sample_weight=weight)


def test_a_few_whole_numbers_are_shown_and_drawn_exactly():
    rng = np.random.default_rng(0)
    codes = np.array(["01067", "04109", "10115", "50667", "80331"])
    code, label = rng.choice(codes, 400), rng.random(400) < 0.5
    for values in (code, code.astype(int)):
        model = TableClassifier().fit(pd.DataFrame({"code": values}), label)
        drawn = model.sample(500, random_state=0)[0].to_pandas()["code"]
        assert set(drawn.astype(int)) <= set(codes.astype(int))
        shown = {name.strip() for name in model.dependence_on("code").values}
        assert shown == set(codes.astype(int).astype(str))


def test_samples_of_positive_numbers_are_positive():
    rng = np.random.default_rng(0)
    size = np.exp(2 * rng.normal(size=3000))
    label = rng.random(3000) < size / (1 + size)
    drawn = TableClassifier().fit(pd.DataFrame({"size": size}), label).sample(5000, random_state=0)
    assert drawn[0]["size"].to_numpy().min() > 0
    none = np.where(rng.random(3000) < 0.3, 0, size)
    drawn = TableClassifier().fit(pd.DataFrame({"size": none}), label).sample(5000, random_state=0)
    assert (drawn[0]["size"].to_numpy() == 0).mean() == pytest.approx(0.3, abs=0.03)
