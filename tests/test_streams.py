"""Every classifier reads tables as streams, wherever they come from, and counts them alike."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from click.testing import CliRunner

import genus
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GammaNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    TableClassifier,
    TableError,
    TextClassifier,
)
from genus.cli import cli
from genus.estimators.columns import Columns, matrix_of
from genus.table import open_table
from genus.table.read.sources import gathered

ROWS = 600
RNG = np.random.default_rng(3)
LABELS = np.array(["no", "yes", "maybe"])[RNG.integers(0, 3, ROWS)]
SHIFT = np.select([LABELS == "no", LABELS == "yes"], [0.0, 2.0], 1.0)
NUMBERS = pd.DataFrame(
    {
        "a": RNG.poisson(2 + SHIFT) + 1.0,
        "b": RNG.poisson(4 - SHIFT) + 1.0,
        "c": RNG.poisson(3, ROWS) + 1.0,
    }
)
WORDS = np.array(["sun", "rain", "wind", "snow", "fog", "ice"])
TEXTS = pd.DataFrame({"text": [" ".join(WORDS[RNG.poisson(1 + s, 5) % len(WORDS)]) for s in SHIFT]})
MIXED = NUMBERS.assign(kind=np.where(RNG.random(ROWS) < 0.2 + SHIFT / 4, "wild", "tame"))

CLASSIFIERS: dict[str, tuple[Any, pd.DataFrame]] = {
    "GDA": (GDA(), NUMBERS),
    "GDA separate": (GDA(shared=False), NUMBERS),
    "GaussianNB": (GaussianNB(), NUMBERS),
    "BernoulliNB": (BernoulliNB(binarize=2), NUMBERS),
    "MultinomialNB": (MultinomialNB(), NUMBERS),
    "ComplementNB": (ComplementNB(), NUMBERS),
    "PoissonNB": (PoissonNB(), NUMBERS),
    "GammaNB": (GammaNB(), NUMBERS),
    "CategoricalNB": (CategoricalNB(), NUMBERS),
    "CategoricalNB of texts": (CategoricalNB(), MIXED[["kind", "a"]]),
    "CategoricalNB in bins": (CategoricalNB(bins=Discretizer("quantile", n_bins=4)), NUMBERS),
    "TextClassifier": (TextClassifier(), TEXTS),
    "TextClassifier auto": (TextClassifier("auto"), TEXTS),
    "TableClassifier": (TableClassifier(), MIXED),
    "TableClassifier product": (TableClassifier(calibrate=False), MIXED),
}
every = pytest.mark.parametrize("name", CLASSIFIERS)
one_of_each = pytest.mark.parametrize("name", ["GDA", "TextClassifier auto", "TableClassifier"])


def table_of(name: str) -> pd.DataFrame:
    return CLASSIFIERS[name][1].assign(label=LABELS)


def in_memory(name: str, like: Any = None) -> Any:
    """A model fitted to the rows and their labels, as arrays."""
    classifier, X = CLASSIFIERS[name]
    return genus_clone(classifier).fit(given(name, X), LABELS, like=like)


def given(name: str, X: Any) -> Any:
    return X["text"] if name.startswith("Text") else X


def genus_clone(classifier: Any) -> Any:
    return type(classifier)(**classifier.get_params(deep=False))


def assert_same(a: Any, b: Any, name: str) -> None:
    X = given(name, CLASSIFIERS[name][1])
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(a.class_count_, b.class_count_)
    assert a.classes_.tolist() == b.classes_.tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each table: five Parquet files of several row groups, one of a class alone."""
    top = tmp_path_factory.mktemp("tables")
    for key, table in {"numbers": NUMBERS, "texts": TEXTS, "mixed": MIXED}.items():
        own = top / key
        own.mkdir()
        whole = table.assign(label=LABELS)
        only = whole[whole.label == "yes"][:50]
        rest = whole.drop(only.index)
        parts = [only, *(rest[i::4] for i in range(4)), whole[:0]]
        for i, part in enumerate(parts):
            arrow = pa.Table.from_pandas(part, preserve_index=False)
            pq.write_table(arrow, own / f"{i}.parquet", row_group_size=40)
    return top


def path_of(folder: Path, name: str) -> str:
    X = CLASSIFIERS[name][1]
    which = "texts" if X is TEXTS else "numbers" if X is NUMBERS else "mixed"
    return str(folder / which / "*.parquet")


def columns_for(name: str) -> Any:
    return ["kind", "a"] if name == "CategoricalNB of texts" else None


SOURCES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda t: t,
    "Polars": pl.from_pandas,
    "lazy Polars": lambda t: pl.from_pandas(t).lazy(),
    "Arrow table": lambda t: pa.Table.from_pandas(t, preserve_index=False),
    "Arrow reader": lambda t: pa.Table.from_pandas(t, preserve_index=False).to_reader(50),
    "DuckDB": lambda t: duckdb.from_arrow(pa.Table.from_pandas(t, preserve_index=False)),
    "capsule": lambda t: Capsule(pa.Table.from_pandas(t, preserve_index=False).to_reader(70)),
    "iterator of frames": lambda t: (t[i : i + 90] for i in range(0, len(t), 90)),
}


def test_a_column_of_an_iterator_may_have_other_types_in_other_tables() -> None:
    label = ["p", "q"] * 20
    tables = [
        pd.DataFrame({"c": [None] * 40, "n": [1, 2] * 20, "y": label}),
        pd.DataFrame({"c": ["u", "v"] * 20, "n": [1.5, 2.0] * 20, "y": label}),
    ]
    model = TableClassifier().fit(iter(tables), target="y")
    whole = TableClassifier().fit(pd.concat(tables, ignore_index=True), target="y", like=model)
    assert model.class_count_.tolist() == [40, 40]
    given = pd.DataFrame({"c": ["u", "v", None], "n": [1.5, 2, None]})
    np.testing.assert_array_equal(model.predict_proba(given), whole.predict_proba(given))
    assert model.predict(given)[:2].tolist() == ["p", "q"]


class Capsule:
    """A stream that is known by its protocol only."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        return self.reader.__arrow_c_stream__(schema)


@pytest.mark.parametrize("source", SOURCES)
@one_of_each
def test_sources_of_a_table_with_its_labels(name: str, source: str) -> None:
    classifier, _ = CLASSIFIERS[name]
    data = SOURCES[source](table_of(name))
    plan = in_memory(name)
    model = genus_clone(classifier).fit(data, target="label", like=plan)
    assert_same(model, in_memory(name, like=plan), name)


@pytest.mark.parametrize("source", SOURCES)
@one_of_each
def test_sources_are_predicted_by_the_names_of_columns(name: str, source: str) -> None:
    model = genus_clone(CLASSIFIERS[name][0]).fit(table_of(name), target="label")
    expected = model.predict_proba(given(name, CLASSIFIERS[name][1]))
    turned = table_of(name)[table_of(name).columns[::-1]]
    np.testing.assert_array_equal(model.predict_proba(SOURCES[source](turned)), expected)


@every
def test_files_are_fitted_learned_and_forgotten(name: str, folder: Path) -> None:
    classifier, _ = CLASSIFIERS[name]
    path, columns = path_of(folder, name), columns_for(name)
    model = genus_clone(classifier).fit(path, target="label", columns=columns)
    assert_same(model, in_memory(name, like=model), name)
    first = path.replace("*", "[0-2]")
    rest = path.replace("*", "[3-5]")
    grown = genus_clone(classifier).partial_fit(first, target="label", columns=columns, like=model)
    grown.partial_fit(rest, columns=columns)
    assert_same(grown, model, name)
    grown.forget(rest, columns=columns)
    alone = genus_clone(classifier).fit(first, target="label", columns=columns, like=model)
    assert_same(grown, alone, name)


@every
def test_files_are_predicted_by_the_names_of_columns(
    name: str, folder: Path, tmp_path: Path
) -> None:
    path, columns = path_of(folder, name), columns_for(name)
    model = genus_clone(CLASSIFIERS[name][0]).fit(path, target="label", columns=columns)
    table = CLASSIFIERS[name][1]
    table[table.columns[::-1]].to_parquet(tmp_path / "new.parquet", index=False)
    expected = model.predict_proba(given(name, table))
    for data in (tmp_path / "new.parquet", str(tmp_path / "*.parquet")):
        np.testing.assert_array_equal(model.predict_proba(data), expected)
    loaded = genus.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(loaded.predict_proba(tmp_path / "new.parquet"), expected)


@every
def test_parts_of_one_class_and_of_no_rows_are_neutral_or_add(name: str) -> None:
    classifier, X = CLASSIFIERS[name]
    whole = in_memory(name)
    nothing = genus_clone(classifier).fit(given(name, X), LABELS, like=whole)
    nothing.forget(given(name, X), LABELS)
    yes = np.flatnonzero(LABELS == "yes")
    others = np.flatnonzero(LABELS != "yes")
    parts = [
        genus_clone(classifier).partial_fit(given(name, X.iloc[rows]), LABELS[rows], like=whole)
        for rows in (yes, others)
    ]
    empty = 0 * whole
    sent = [genus.from_bytes(part.to_bytes()) for part in (empty, nothing, *parts, empty)]
    assert_same(sum(sent), in_memory(name, like=whole), name)


@pytest.mark.parametrize("name", ["GDA", "MultinomialNB", "TextClassifier auto"])
def test_batches_of_arrays(name: str) -> None:
    classifier, X = CLASSIFIERS[name]

    def batches() -> Iterator[Any]:
        for i in range(0, ROWS, 100):
            yield given(name, X[i : i + 100]), LABELS[i : i + 100]

    assert_same(genus_clone(classifier).fit(batches()), in_memory(name), name)


def test_weights_from_a_column() -> None:
    weights = RNG.integers(0, 4, ROWS).astype(float)
    table = MIXED.assign(label=LABELS, w=weights)
    for classifier, X in ((GDA(), NUMBERS), (TableClassifier(calibrate=False), MIXED)):
        whole = type(classifier)(**classifier.get_params()).fit(X, LABELS, sample_weight=weights)
        columns = list(X.columns)
        classifier.fit(table, target="label", columns=columns, sample_weight="w", like=whole)
        np.testing.assert_allclose(classifier.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    with pytest.raises(TableError, match=r"weights 'w' hold -1"):
        GDA().fit(table.assign(w=-1.0), target="label", columns=["a"], sample_weight="w")
    with pytest.raises(TableError, match=r"weights 'w' hold .*string.*not numbers"):
        GDA().fit(table.assign(w="x"), target="label", columns=["a"], sample_weight="w")


# Vectors


def test_vectors_of_one_length() -> None:
    X = NUMBERS.to_numpy()
    lists = pa.array(X.tolist())
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
    for column in (lists, fixed, fixed.cast(pa.list_(pa.float32(), 3))):
        table = pa.table({"v": column, "label": LABELS})
        model = GaussianNB().fit(table, target="label")
        np.testing.assert_allclose(model.theta_, GaussianNB().fit(X, LABELS).theta_, rtol=1e-6)
        assert model.predict(table).tolist() == model.predict(X).tolist()
    ragged = pa.table({"v": pa.array([[1.0], [1.0, 2.0], [3.0]]), "label": ["a", "b", "a"]})
    with pytest.raises(TableError, match="differ in length"):
        GaussianNB().fit(ragged, target="label")
    holes = pa.table({"v": pa.array([[1.0], None]), "label": ["a", "b"]})
    with pytest.raises(TableError, match="no vector in row 1"):
        GaussianNB().fit(holes, target="label")


def test_vectors_of_spark_may_be_sparse() -> None:
    kind = pa.struct(
        [
            ("type", pa.int8()),
            ("size", pa.int32()),
            ("indices", pa.list_(pa.int32())),
            ("values", pa.list_(pa.float64())),
        ]
    )
    rows = [
        {"type": 1, "size": None, "indices": None, "values": [1.0, 0.0, 2.0]},
        {"type": 0, "size": 3, "indices": [1], "values": [5.0]},
        {"type": 0, "size": 3, "indices": [], "values": []},
    ]
    table = pa.table({"v": pa.array(rows, kind)})
    columns = Columns(("v",), "vector")
    expected = np.array([[1, 0, 2], [0, 5, 0], [0, 0, 0]], dtype=float)
    found = matrix_of(table, columns)
    assert scipy.sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), expected)
    np.testing.assert_array_equal(matrix_of(table[1:], columns).toarray(), expected[1:])
    np.testing.assert_array_equal(matrix_of(table[:1], columns), expected[:1])
    labelled = table.append_column("label", pa.array(["a", "b", "a"]))
    for classifier in (GaussianNB(), MultinomialNB()):
        model = classifier.fit(labelled, target="label")
        assert_same(model, genus_clone(classifier).fit(expected, ["a", "b", "a"]), "GaussianNB")


# Checkpoints


@one_of_each
def test_a_checkpoint_gives_the_same_model_and_counts_nothing_again(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier, _ = CLASSIFIERS[name]
    path, parts = path_of(folder, name), tmp_path / "parts"
    model = genus_clone(classifier).fit(path, target="label", checkpoint=parts)
    assert_same(model, in_memory(name, like=model), name)
    monkeypatch.setattr(type(classifier), "_count", None)  # not called any more
    again = genus_clone(classifier).fit(path, target="label", checkpoint=parts)
    assert_same(again, model, name)
    monkeypatch.undo()
    kept = sorted(parts.glob("*.genus"))
    assert_same(sum(genus.load(one) for one in kept), model, name)  # parts are models
    damaged = next(one for one in kept if one.name != "plan.genus")
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert_same(genus_clone(classifier).fit(path, target="label", checkpoint=parts), model, name)


def test_a_checkpoint_of_something_else_is_refused(folder: Path, tmp_path: Path) -> None:
    path, parts = str(folder / "numbers" / "*.parquet"), tmp_path / "parts"
    one_file = folder / "numbers" / "0.parquet"
    GDA().fit(path, target="label", checkpoint=parts)
    before = {p.name: p.read_bytes() for p in parts.iterdir()}
    for refused, words in (
        (lambda: GDA(shared=False).fit(path, target="label", checkpoint=parts), "another plan"),
        (lambda: GaussianNB().fit(path, target="label", checkpoint=parts), "made with a GDA"),
        (
            lambda: GDA().fit(path, target="label", columns=["a", "b"], checkpoint=parts),
            r"made with columns=None, but now columns is \['a', 'b'\]",
        ),
        (
            lambda: GDA().fit(path, target="label", sample_weight="a", checkpoint=parts),
            "made with sample_weight=None, but now sample_weight is 'a'",
        ),
        (
            lambda: GDA().fit(path.replace("*", "[0-2]"), target="label", checkpoint=parts),
            r"does not belong to this data: .*\d\.parquet",
        ),
        (lambda: GDA().fit(path, target="a", columns=["b"], checkpoint=parts), "target='label'"),
        (lambda: GDA().fit(NUMBERS, LABELS, checkpoint=parts), "target="),
        (
            lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="y", checkpoint=parts),
            "A checkpoint needs files",
        ),
        (
            lambda: GDA().fit(path, target="label", checkpoint=one_file),
            "is a file",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            refused()
    assert {p.name: p.read_bytes() for p in parts.iterdir()} == before


@pytest.mark.parametrize(
    ("options", "other"),
    [
        ({"ignore": ["c"]}, {"ignore": ["b"]}),
        ({"families": {"a": "gaussian"}}, {"families": {"a": "categorical"}}),
        ({"priors": np.array([0.2, 0.3, 0.5])}, None),
        ({"calibrate": False, "priors": (0.2, 0.3, 0.5)}, None),
    ],
    ids=str,
)
def test_a_checkpoint_goes_on_with_the_same_options(
    options: Any, other: Any, folder: Path, tmp_path: Path
) -> None:
    path, parts = str(folder / "numbers" / "*.parquet"), tmp_path / "parts"
    (tmp_path / "parts").mkdir()
    mine = tmp_path / "parts" / "mine.txt"
    mine.write_text("not of the checkpoint")
    models = [
        TableClassifier(**options).fit(path, target="label", checkpoint=parts) for _ in range(2)
    ]
    assert_same(models[0], models[1], "TableClassifier")
    if other is not None:
        with pytest.raises(ValueError, match=f"made with {next(iter(other))}="):
            TableClassifier(**other).fit(path, target="label", checkpoint=parts)
    assert mine.exists()


def test_a_checkpoint_knows_how_files_were_read(tmp_path: Path) -> None:
    table, parts = tmp_path / "t.csv", tmp_path / "parts"
    table.write_bytes(b"kind,y\n" + "é,a\nü,b\n".encode() * 20)
    latin = open_table(table, "latin-1")
    TableClassifier().fit(latin, target="y", checkpoint=parts)
    with pytest.raises(ValueError, match="does not belong to this data"):
        TableClassifier().fit(table, target="y", checkpoint=parts)


def test_columns_of_files_may_differ_in_case(tmp_path: Path) -> None:
    """As DuckDB has it, with and without a checkpoint."""
    tall = pd.DataFrame({"Age": np.arange(60.0), "y": ["a", "b"] * 30})
    tall.to_csv(tmp_path / "1.csv", index=False)
    (tall + {"Age": 100.0, "y": ""}).rename(columns={"Age": "age"}).to_csv(
        tmp_path / "2.csv", index=False
    )
    monkey = pytest.MonkeyPatch()
    monkey.setattr("genus.table.read.files.SMALL", 0)  # a partition for each file
    plain = GaussianNB().fit(tmp_path, target="y")
    kept = GaussianNB().fit(tmp_path, target="y", checkpoint=tmp_path / "parts")
    monkey.undo()
    np.testing.assert_allclose(kept.theta_, plain.theta_)
    np.testing.assert_allclose(kept.theta_.ravel(), [79.0, 80.0])


SHIFTED = pd.DataFrame(
    {
        "x": np.concatenate([RNG.normal(size=700), 1000 + RNG.normal(size=1300) * 50]),
        "y": RNG.integers(0, 2, 2000),
    }
)
SHIFTED.loc[700:, "x"] += 60.0 * SHIFTED.y


@pytest.mark.parametrize("kind", ["arrays", "table", "parquet", "csv", "query", "pairs", "stream"])
def test_a_plan_does_not_depend_on_the_order_of_rows(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column whose numbers move on after the first rows is cut into cells all over."""
    monkeypatch.setattr("genus.estimators.counting.LOOK", 300)
    monkeypatch.setattr("genus.estimators.table.LOOK", 2000 if kind == "pairs" else 300)
    table = pa.Table.from_pandas(SHIFTED, preserve_index=False)
    pq.write_table(table, tmp_path / "t.parquet")
    SHIFTED.to_csv(tmp_path / "t.csv", index=False)
    pieces = range(0, 2000, 100)
    data = {
        "arrays": lambda: (SHIFTED[["x"]], SHIFTED.y),
        "table": lambda: (table, "y"),
        "parquet": lambda: (tmp_path / "t.parquet", "y"),
        "csv": lambda: (tmp_path / "t.csv", "y"),
        "query": lambda: (f"SELECT * FROM '{tmp_path / 't.parquet'}' ORDER BY ALL", "y"),
        "pairs": lambda: (
            ((SHIFTED[["x"]][i : i + 100], SHIFTED.y[i : i + 100]) for i in pieces),
            None,
        ),
        "stream": lambda: (pa.RecordBatchReader.from_stream(table.slice(600)), "y"),
    }[kind]()
    model = TableClassifier().fit(*data)
    (column,) = model.plan_.used
    assert sum(edge > 500 for edge in column.edges) > 10
    assert "_looked" not in vars(model)


def test_a_part_may_be_of_one_class_or_of_no_row(folder: Path) -> None:
    whole = MIXED.assign(label=LABELS)
    plan = TableClassifier().plan(whole, target="label")
    parts = [whole[whole.label == "no"], whole[:0], whole[whole.label != "no"]]
    models = [TableClassifier().fit(part, target="label", like=plan) for part in parts]
    assert_same(sum(models), in_memory("TableClassifier", like=plan), "TableClassifier")
    gda = GDA().fit(NUMBERS, LABELS)
    one = GDA().fit(NUMBERS[LABELS == "no"], LABELS[LABELS == "no"], like=gda)
    other = GDA().fit(NUMBERS[LABELS != "no"], LABELS[LABELS != "no"], like=gda)
    np.testing.assert_allclose((one + other).covariance_, gda.covariance_)


def test_rows_without_a_label_are_counted_whatever_they_weigh() -> None:
    table = NUMBERS.assign(w=0.5, label=np.where(np.arange(ROWS) < 7, None, LABELS))
    for classifier in (GaussianNB(), TableClassifier()):
        fitted = classifier.fit(table, target="label", sample_weight="w")
        assert fitted.unlabelled_ == 7


@pytest.mark.parametrize("name", ["TableClassifier", "CategoricalNB"])
@pytest.mark.parametrize("holds", ["frame", "stream"])
def test_rows_of_weight_zero_change_nothing(name: str, holds: str) -> None:
    """Neither their values nor their labels are in the model."""
    without = pd.DataFrame({"c": [str(i % 7) for i in range(210)], "w": 2.0})
    without["label"] = np.where(np.arange(210) % 3 == 0, "yes", "no")
    secret = pd.DataFrame({"c": ["secret"], "w": [0.0], "label": ["hidden"]})
    whole = pd.concat([without[:100], secret, without[100:]], ignore_index=True)

    def fitted(table: pd.DataFrame) -> Any:
        data: Any = table
        if holds == "stream":
            data = pa.Table.from_pandas(table).to_reader(max_chunksize=50)
        return genus_clone(CLASSIFIERS[name][0]).fit(data, target="label", sample_weight="w")

    with_secret, plain = fitted(whole), fitted(without)
    assert list(with_secret.classes_) == ["no", "yes"]
    p = [model.predict_proba(without[["c"]]) for model in (with_secret, plain)]
    np.testing.assert_allclose(*p, rtol=1e-12)
    assert b"secret" not in with_secret.to_bytes()
    assert b"hidden" not in with_secret.to_bytes()
    nothing = without.assign(w=0.0)
    with pytest.raises(TableError, match="weight above zero in 'w'"):
        plain.partial_fit(nothing, target="label", sample_weight="w")


def test_pairs_are_learned_and_forgotten_like_a_table() -> None:
    rest = NUMBERS.assign(label=LABELS)
    for name in ("GDA", "TableClassifier"):
        model = genus_clone(CLASSIFIERS[name][0]).fit(rest[:300], target="label")
        before = model.predict_proba(NUMBERS)
        pairs = [(NUMBERS[i : i + 50], LABELS[i : i + 50]) for i in range(300, 600, 50)]
        model.partial_fit(iter(pairs))
        assert model.class_count_.sum() == ROWS
        model.forget(iter(pairs))
        np.testing.assert_allclose(model.predict_proba(NUMBERS), before, atol=1e-9)
        assert model.fit(iter(pairs)).class_count_.sum() == 300  # the target was of another fit


def test_texts_are_bounded_by_how_many_rows_there_are(tmp_path: Path) -> None:
    table = pa.table(
        {
            "note": [" ".join(RNG.permutation(WORDS)[:4]) + f" day {i}" for i in range(400)],
            "y": ["a", "b"] * 200,
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    sources = [
        table,
        tmp_path / "t.parquet",
        f"SELECT * FROM '{tmp_path / 't.parquet'}'",
        pa.RecordBatchReader.from_stream(table),
        iter([table]),
    ]
    runs = [TableClassifier().fit(s, target="y").plan_.used[0].runs for s in sources]
    assert runs == [True] * len(sources)


def test_folders_above_are_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "run=7"
    for year in ("2023", "2024"):
        (folder / f"year={year}").mkdir(parents=True)
        part = pa.Table.from_pandas(NUMBERS.assign(label=LABELS), preserve_index=False)
        pq.write_table(part, folder / f"year={year}" / "x.parquet")
    assert open_table(folder).columns == ["a", "b", "c", "label", "year"]
    assert open_table(folder / "year=*" / "*.parquet").columns[-1] == "year"
    assert open_table(folder / "year=2023" / "x.parquet").columns == ["a", "b", "c", "label"]


def test_long_texts_are_not_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genus.table.read.sources.MOST_GATHERED", 1000)
    batches = [pa.record_batch({"t": ["x" * 600]}) for _ in range(5)]
    assert [len(batch) for batch in gathered(iter(batches))] == [1] * 5
    assert [len(batch) for batch in gathered(b.slice(0, 1) for b in batches)] == [1] * 5


KILLED = """
import sys, time
import genus.estimators.checkpoint as checkpoint
from genus import TableClassifier
keep = checkpoint.Checkpoint.keep
def slowly(self, *part):
    keep(self, *part)
    print("kept", flush=True)
    time.sleep(0.2)
checkpoint.Checkpoint.keep = slowly
TableClassifier().fit(sys.argv[1], target="label", checkpoint=sys.argv[2])
"""


def test_killed_it_goes_on_where_it_was(folder: Path, tmp_path: Path) -> None:
    path, parts = str(folder / "mixed" / "*.parquet"), tmp_path / "parts"
    command = [sys.executable, "-c", KILLED, path, str(parts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == b"kept\n"
        with pytest.raises(ValueError, match="Another process"):
            TableClassifier().fit(path, target="label", checkpoint=parts)
        process.send_signal(signal.SIGKILL)
    done = {p.name: p.stat().st_mtime_ns for p in parts.glob("*.rows")}
    assert 2 <= len(done) < 6
    model = TableClassifier().fit(path, target="label", checkpoint=parts)
    after = {p.name: p.stat().st_mtime_ns for p in parts.glob("*.rows")}
    assert len(after) == 6
    assert after.items() >= done.items()  # none of these was counted again
    assert_same(model, in_memory("TableClassifier", like=model), "TableClassifier")


def test_a_checkpoint_of_a_column_that_begins_late(tmp_path: Path) -> None:
    late = pd.DataFrame({"x": RNG.normal(size=ROWS), "late": 1.0, "label": LABELS})
    late.loc[ROWS - 50 :, "late"] = SHIFT[ROWS - 50 :]
    for i in range(3):
        part = pa.Table.from_pandas(late[200 * i : 200 * (i + 1)], preserve_index=False)
        pq.write_table(part, tmp_path / f"{i}.parquet")
    few = pytest.MonkeyPatch()
    few.setattr("genus.estimators.counting.LOOK", 30)
    few.setattr("genus.table.read.sources.LEAST_LOOKED", 10)
    data, parts = str(tmp_path / "*.parquet"), tmp_path / "parts"
    model = TableClassifier(calibrate=False).fit(data, target="label", checkpoint=parts)
    few.undo()
    assert [column.note for column in model.plan_.used] == ["", ""]
    again = TableClassifier(calibrate=False).fit(data, target="label", checkpoint=parts)
    whole = TableClassifier(calibrate=False).fit(late, target="label", like=model)
    for other in (again, whole):
        np.testing.assert_allclose(other.predict_proba(late), model.predict_proba(late), rtol=1e-9)


# Bad input


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no target": (lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="z"), "no column 'z'"),
    "columns is a name": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="y", columns="a"),
        "columns must be a list of column names",
    ),
    "a number for a column": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="y", columns=[0]),
        "columns must be a list of column names",
    ),
    "a column twice": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="y", columns=["a", "a"]),
        "columns= has 'a' twice",
    ),
    "weights among the columns": (
        lambda: GDA().fit(
            NUMBERS.assign(y=LABELS), target="y", columns=["a", "b"], sample_weight="b"
        ),
        "'b' holds the weights",
    ),
    "pairs without labels": (lambda: GDA().fit(iter([(NUMBERS, None)])), "Batch 0 has no labels"),
    "no such column": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="y", columns=["q"]),
        "no column 'q'",
    ),
    "text for numbers": (
        lambda: GDA().fit(MIXED.assign(y=LABELS), target="y"),
        r"Column 'kind' holds .*string.*TableClassifier",
    ),
    "dates for numbers": (
        lambda: GaussianNB().fit(
            NUMBERS.assign(d=pd.Timestamp("2024-01-01"), y=LABELS), target="y"
        ),
        "Column 'd' holds timestamp",
    ),
    "nested": (
        lambda: CategoricalNB().fit(pa.table({"x": [{"a": 1}], "y": ["u"]}), target="y"),
        "Column 'x' holds struct",
    ),
    "two texts": (
        lambda: TextClassifier().fit(pa.table({"a": ["x"], "b": ["y"], "y": ["u"]}), target="y"),
        r"Several columns hold texts, 'a', 'b'. Choose one: columns=\['a'\]",
    ),
    "no text": (
        lambda: TextClassifier().fit(pa.table({"a": [1], "y": ["u"]}), target="y"),
        "No column holds texts",
    ),
    "no rows": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS)[:0], target="y"),
        "column names, but no rows",
    ),
    "no labels": (
        lambda: GDA().fit(NUMBERS.assign(y=None), target="y"),
        "'y' is empty in every row",
    ),
    "one class": (
        lambda: GDA().fit(NUMBERS.assign(y="u"), target="y"),
        "'y' is always 'u'",
    ),
    "target alone": (
        lambda: GDA().fit(pa.table({"y": ["u", "v"]}), target="y"),
        "no column except",
    ),
    "labels twice": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS), LABELS, target="y"),
        "as y or as the column",
    ),
    "target among columns": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="y", columns=["a", "y"]),
        "'y' is the target",
    ),
    "weights as an array": (
        lambda: GDA().fit(NUMBERS.assign(y=LABELS), target="y", sample_weight=np.ones(ROWS)),
        "name of the column of weights",
    ),
    "columns of an array": (lambda: GDA().fit(NUMBERS, LABELS, columns=["a"]), "target="),
    "empty iterator": (lambda: GDA().fit(iter([]), target="y"), "the iterator was empty"),
    "uneven iterator": (
        lambda: GDA().fit(iter([NUMBERS.assign(y=LABELS), MIXED.assign(y=LABELS)]), target="y"),
        "Table 2 of the iterator",
    ),
    "infinite": (
        lambda: GDA().fit(NUMBERS.assign(a=np.inf, y=LABELS), target="y"),
        r"infinity.*row 0, column 0 \('a'\)",
    ),
    "predict without a column": (
        lambda: (
            GDA()
            .fit(NUMBERS.assign(y=LABELS), target="y")
            .predict(pa.table({"a": [1.0], "b": [2.0]}))
        ),
        "'c' are missing",
    ),
    "a table for a model of an array": (
        lambda: GDA().fit(NUMBERS.to_numpy(), LABELS).predict("new.csv"),
        "no file 'new.csv'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: str) -> None:
    call, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        call()


def test_the_row_of_a_bad_value_is_numbered_through_all_batches(tmp_path: Path) -> None:
    numbers = np.ones(300_000)
    numbers[250_000] = np.inf
    table = pa.table({"x": numbers, "y": np.arange(300_000) % 2})
    with pytest.raises(ValueError, match="row 250000"):
        GaussianNB().fit(table, target="y")


def test_progress_counts_all_rows(folder: Path) -> None:
    for name in ("GDA", "TextClassifier", "TableClassifier"):
        seen: list[int] = []
        genus_clone(CLASSIFIERS[name][0]).fit(
            path_of(folder, name), target="label", progress=seen.append
        )
        assert sum(seen) == ROWS


def test_a_progress_bar_shows_rows_bytes_and_the_time_left(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tqdm

    from genus.cli import progress
    from genus.table.read import files

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    class Eager(tqdm.tqdm):  # draws the bar after every batch, however fast they are
        monitor_interval = 0

        def __init__(self, **options: Any) -> None:
            super().__init__(**options, mininterval=0)

    monkeypatch.setattr(tqdm, "tqdm", Eager)

    def shown(source: Any) -> str:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress.rows_passing("fit", source) as passed:
            for batch in source.batches():
                passed(batch.num_rows)
            passed(0)
        return terminal.getvalue()

    parquet = open_table(folder / "numbers")
    whole = sum(path.stat().st_size for path in (folder / "numbers").iterdir())
    assert parquet.size == whole
    told = f"{whole / 1000:.1f}"
    assert re.search(rf"fit: +\d+%.*{told}kB of {told}kB", shown(parquet)), shown(parquet)
    monkeypatch.setattr(files, "SMALL", 0)
    table_of("GDA").to_csv(tmp_path / "x.csv", index=False)
    csv = open_table(tmp_path / "x.csv")
    assert csv.rows is None
    assert csv.expected_rows() == pytest.approx(ROWS, rel=0.1)
    assert "<" in shown(csv)  # time left
    pd.DataFrame({"x": [1.0]}).to_csv(tmp_path / "y.csv.gz")
    assert open_table(tmp_path / "y.csv.gz").expected_rows() is None
    assert "of" not in shown(open_table(pa.table({"x": [1.0, 2.0]})))


def test_interrupted_nothing_is_changed(folder: Path) -> None:
    model = GDA().fit(NUMBERS, LABELS)
    before = model.to_bytes()

    def stop(rows: int) -> None:
        raise KeyboardInterrupt

    for learn in (model.fit, model.partial_fit, model.forget):
        with pytest.raises(KeyboardInterrupt):
            learn(str(folder / "numbers" / "*.parquet"), target="label", progress=stop)
        assert model.to_bytes() == before


def test_a_damaged_file_in_the_middle_is_named(tmp_path: Path) -> None:
    for i in range(3):
        table = pa.Table.from_pandas(table_of("GDA")[i::3], preserve_index=False)
        pq.write_table(table, tmp_path / f"{i}.parquet", compression=None)
    damaged = tmp_path / "1.parquet"
    content = bytearray(damaged.read_bytes())
    content[4:200] = b"\xff" * 196
    damaged.write_bytes(bytes(content))
    with pytest.raises(TableError, match=r"Cannot read .*1\.parquet"):
        GDA().fit(str(tmp_path / "*.parquet"), target="label")
    with pytest.warns(UserWarning, match=r"1\.parquet is left out\. Cannot read"):
        files = genus.readable_files(str(tmp_path / "*.parquet"))
    assert [Path(file).name for file in files] == ["0.parquet", "2.parquet"]
    assert GDA().fit(files, target="label").class_count_.sum() == len(NUMBERS) * 2 // 3
    command = ["fit", str(tmp_path / "*.parquet"), "--target=label", f"-o{tmp_path / 'm.genus'}"]
    refused = CliRunner().invoke(cli, command)
    assert refused.exit_code == 1
    assert re.search(r"Cannot read .*1\.parquet", refused.stderr)
    assert not (tmp_path / "m.genus").exists()
    skipped = CliRunner().invoke(cli, [*command, "--skip-unreadable"])
    assert skipped.exit_code == 0
    assert re.search(r"1\.parquet is left out\. Cannot read", skipped.stderr)
    assert genus.load(tmp_path / "m.genus").class_count_.sum() == len(NUMBERS) * 2 // 3
    with (
        pytest.warns(UserWarning, match="is left out"),
        pytest.raises(TableError, match="None of the given files"),
    ):
        genus.readable_files(damaged)
    with pytest.raises(TableError, match="Unreadable files cannot be skipped in a query"):
        genus.readable_files("SELECT 1")


def test_a_csv_whose_lines_hide_its_columns_is_named_among_others(tmp_path: Path) -> None:
    for i in range(3):
        table_of("GDA")[i::3].to_csv(tmp_path / f"{i}.csv", index=False)
    lines = (tmp_path / "1.csv").read_text().splitlines()
    (tmp_path / "1.csv").write_text("\n".join([*lines[:50], "1,2", *lines[50:]]))
    for learn in (GDA(), TableClassifier()):
        with pytest.raises(TableError, match=r"Cannot read .*1\.csv: line 51 has 2 fields"):
            learn.fit(tmp_path, target="label")
    (tmp_path / "1.csv").write_text("1\n2\n3\n")
    with pytest.raises(TableError, match=r"1\.csv has other columns than the other files"):
        GDA().fit(tmp_path, target="label")


def test_it_stops_before_memory_is_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genus.estimators.counting.LITTLE_MEMORY", 100)
    monkeypatch.setattr("genus.estimators.counting.available", lambda: 100)
    model = GDA().fit(NUMBERS, LABELS)
    before = model.to_bytes()
    with pytest.raises(TableError, match="GB of free memory are too little"):
        model.fit(str(folder / "numbers" / "*.parquet"), target="label")
    assert model.to_bytes() == before


def test_memory_that_is_left_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from genus.arrays import memory

    assert (memory.available() or 0) > 1 << 20
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert (memory.available() or 0) > 1 << 20
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    assert memory.available() is None
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33)); "
        "from genus.arrays.memory import available; print(available())"
    )
    told = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True)
    assert 0 < int(told.stdout) < 1 << 33


def test_a_checkpoint_may_lie_in_the_folder_of_the_data(tmp_path: Path) -> None:
    for i in range(2):
        rows = {"x": np.arange(20.0) + i, "y": ["a", "b"] * 10}
        pq.write_table(pa.table(rows), tmp_path / f"{i}.parquet")
    parts = tmp_path / "parts"
    once = GaussianNB().fit(tmp_path, target="y", checkpoint=parts)
    again = GaussianNB().fit(tmp_path, target="y", checkpoint=parts)
    plain = GaussianNB().fit(tmp_path, target="y")
    assert again.to_bytes() == once.to_bytes()
    np.testing.assert_allclose(again.theta_, plain.theta_)


def test_a_checkpoint_without_its_job_says_so(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]}), tmp_path / "0.parquet")
    parts = tmp_path / "parts"
    GaussianNB().fit(tmp_path, target="y", checkpoint=parts)
    (parts / "job").write_text("{")
    with pytest.raises(ValueError, match="is damaged: job"):
        GaussianNB().fit(tmp_path, target="y", checkpoint=parts)
    with pytest.raises(ValueError, match="is not a folder"):
        GaussianNB().fit(tmp_path, target="y", checkpoint="")


def test_a_checkpoint_that_was_being_cleared_begins_again(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "b"]}), tmp_path / "0.parquet")
    parts = tmp_path / "parts"
    once = GaussianNB().fit(tmp_path, target="y", checkpoint=parts)
    for path in parts.iterdir():
        if path.name not in ("job", "lock"):  # the plan goes before its job
            path.unlink()
    again = GaussianNB().fit(tmp_path, target="y", checkpoint=parts)
    assert again.to_bytes() == once.to_bytes()


@pytest.mark.parametrize("classifier", [GDA(), TableClassifier()])
def test_very_many_columns_are_refused_at_once(classifier: Any) -> None:
    schema = pa.schema([*((f"c{i}", pa.float64()) for i in range(100_001)), ("y", pa.int64())])
    columns = [pa.array([1.0, 2.0])] * 100_001
    table = pa.Table.from_arrays([*columns, pa.array([0, 1])], schema=schema)
    with pytest.raises(TableError, match=r"has 100,001 columns, and at most 100,000 are read"):
        classifier.fit(table, target="y")
