"""The same rows give the same model wherever they are counted: here, by Spark, Dask or Ray."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import genus
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    TableClassifier,
    TableError,
    TextClassifier,
)
from genus.engines import Rows
from genus.engines.spark import SparkFrame, explained, first_rows
from genus.estimators.counting import Reading, plan_rows
from scope import at_night, nightly

pytest_plugins = ("clusters",)
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

ROWS = 900
RNG = np.random.default_rng(11)
LABELS = np.array(["no", "yes", "maybe"])[RNG.integers(0, 3, ROWS)]
SHIFT = np.select([LABELS == "no", LABELS == "yes"], [0.0, 2.0], 1.0)
WORDS = np.array(["sun", "rain", "wind", "snow", "fog", "ice"])
FRAME = pd.DataFrame(
    {
        "a": RNG.poisson(2 + SHIFT) + 1.0,
        "b": RNG.poisson(4 - SHIFT) + 1.0,
        "c": RNG.normal(SHIFT),
        "kind": np.where(RNG.random(ROWS) < 0.2 + SHIFT / 4, "wild", "tame"),
        "text": [" ".join([*RNG.permutation(WORDS)[:2], f"day{i % 400}"]) for i in range(ROWS)],
        "label": LABELS,
    }
)
FRAME.loc[::7, "c"] = np.nan
FRAME.loc[::11, "kind"] = None

# Columns that each classifier reads; None is for all.
CLASSIFIERS: dict[str, tuple[Any, list[str] | None]] = {
    "TableClassifier": (TableClassifier(), None),
    "TextClassifier auto": (TextClassifier("auto"), ["text"]),
    "TextClassifier common": (
        TextClassifier("auto", min_documents=3, keep_unused=False),
        ["text"],
    ),
    "GDA": (GDA(shared=False), ["a", "b"]),
    "GaussianNB": (GaussianNB(), ["a", "b", "c"]),
    "BernoulliNB": (BernoulliNB(binarize=2), ["a", "b"]),
    "MultinomialNB": (MultinomialNB(), ["a", "b"]),
    "PoissonNB": (PoissonNB(), ["a", "b"]),
    "CategoricalNB": (CategoricalNB(), ["kind", "a"]),
}
ALWAYS = ("TableClassifier", "TextClassifier common", "GDA")
every = pytest.mark.parametrize("name", at_night(CLASSIFIERS, *ALWAYS))


def fresh(name: str) -> Any:
    classifier, _ = CLASSIFIERS[name]
    return type(classifier)(**classifier.get_params(deep=False))


def parts() -> list[pd.DataFrame]:
    """Rows in uneven parts: one of a class alone, one of none, one of a single row."""
    only = FRAME[FRAME.label == "yes"][:60]
    rest = FRAME.drop(only.index)
    cuts = np.sort(RNG.integers(1, len(rest) - 1, 2))
    return [only, FRAME[:0], rest[:1], rest[1 : cuts[0]], rest[cuts[0] : cuts[1]], rest[cuts[1] :]]


def check_same(there: Any, name: str) -> None:
    """Compare with the model that this process counts by the same plan."""
    _, columns = CLASSIFIERS[name]
    here = fresh(name).fit(FRAME, target="label", columns=columns, like=there)
    assert there.classes_.tolist() == here.classes_.tolist()
    np.testing.assert_array_equal(there.class_count_, here.class_count_)
    data = pa.Table.from_pandas(FRAME, preserve_index=False)
    np.testing.assert_allclose(
        there.predict_proba(data), here.predict_proba(data), rtol=1e-9, atol=1e-12
    )
    counted, expected = there.model_.statistics, here.model_.statistics
    for part in ("cells", "pairs", "words", "sample"):
        if part in getattr(counted, "parts", ()):
            assert counted[part] == expected[part]  # bit for bit
    if name == "TextClassifier common":  # words are dropped by what all partitions have of them
        alone = fresh(name).fit(FRAME, target="label", columns=columns)
        assert there.vocabulary_ == alone.vocabulary_
        assert {"day0", "day99"} <= set(there.vocabulary_)
        assert "day100" not in there.vocabulary_


class Here:
    """An engine in this process, with a partition for each Arrow table."""

    name = "the frame"

    def __init__(self, *tables: pa.Table) -> None:
        self.tables = tables
        self.schema, self.partitions = tables[0].schema, len(tables)

    def beginnings(self, rows: int) -> Here:
        return Here(*(table[:rows] for table in self.tables))

    def run(self, work: Any) -> Any:
        for table in self.tables:
            yield from work(Rows("a partition", table.to_batches()))


@pytest.mark.parametrize("weights", ["w", None])
def test_rows_of_which_none_counts_are_refused(weights: str | None) -> None:
    columns = {
        "a": [1.0, 2.0],
        "w": [0.0, 0.0],
        "y": pa.array(["u", "v"] if weights else [None, None], pa.string()),
    }
    reading = Reading("y", weights=weights)
    expected = "a weight above zero in 'w'" if weights else "'y' is empty in every row"
    with pytest.raises(TableError, match=expected):
        plan_rows(TableClassifier(), Here(*[pa.table(columns)] * 2), reading)
    with pytest.raises(TableError, match="no rows"):
        plan_rows(TableClassifier(), Here(pa.table(columns)[:0]), reading)


def check_scores(scored: pd.DataFrame, model: Any) -> None:
    """Compare the columns that were added with what the model says here."""
    data = pa.Table.from_pandas(FRAME, preserve_index=False)
    expected = FRAME.assign(prediction=model.predict(data))
    keys = ["a", "b", "text", "label"]
    np.testing.assert_array_equal(
        scored.sort_values(keys).prediction.to_numpy(str),
        expected.sort_values(keys).prediction.to_numpy(str),
    )
    assert list(scored.columns) == list(expected.columns)


# Spark


def spark_frame(session: Any) -> Any:
    frames = [session.createDataFrame(part, SCHEMA).coalesce(1) for part in parts() if len(part)]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    return whole.union(session.createDataFrame([], SCHEMA).coalesce(1))


SCHEMA = "a double, b double, c double, kind string, text string, label string"


@every
def test_spark(name: str, spark: Any) -> None:
    frame = spark_frame(spark)
    model = fresh(name).fit(frame, target="label", columns=CLASSIFIERS[name][1])
    check_same(model, name)


def test_spark_scores_in_place_and_adds_many_parts_in_a_tree(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genus.engines.spark.FAN_IN", 2)
    frame = spark.createDataFrame(FRAME, SCHEMA).repartition(5)
    model = GDA().fit(frame, target="label", columns=["a", "b"])
    here = GDA().fit(FRAME[["a", "b"]], LABELS)
    np.testing.assert_allclose(model.covariance_, here.covariance_)
    check_scores(model.predict(frame).toPandas(), model)
    scored = model.predict_proba(frame)
    assert scored.columns[-3:] == ["p(maybe)", "p(no)", "p(yes)"]
    rows = np.array(scored.select("`p(maybe)`", "`p(no)`", "`p(yes)`").collect())
    np.testing.assert_allclose(rows.sum(axis=1), 1)


@nightly
def test_a_stage_of_a_pipeline_of_spark(spark: Any, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    frame = spark.createDataFrame(FRAME[["a", "b", "label"]])
    stages = [
        VectorAssembler(inputCols=["a", "b"], outputCol="features"),
        StringIndexer(inputCol="label", outputCol="y"),
        genus.spark.Classifier(GDA(), labelCol="y", featuresCol="features"),
    ]
    Pipeline(stages=stages).save(str(tmp_path / "stages"))
    model = Pipeline.load(str(tmp_path / "stages")).fit(frame)
    scored = model.transform(frame)
    here = GDA().fit(FRAME[["a", "b"]].to_numpy(), LABELS)
    expected = np.sort(here.predict_proba(FRAME[["a", "b"]].to_numpy()), axis=1)
    found = np.sort([row.probability.toArray() for row in scored.collect()], axis=1)
    np.testing.assert_allclose(found, expected)
    accuracy = MulticlassClassificationEvaluator(labelCol="y", metricName="accuracy")
    assert accuracy.evaluate(scored) == pytest.approx(
        here.score(FRAME[["a", "b"]].to_numpy(), LABELS)
    )
    model.save(str(tmp_path / "fitted"))
    again = PipelineModel.load(str(tmp_path / "fitted"))
    assert again.transform(frame).collect() == scored.collect()
    (file,) = (tmp_path / "fitted").glob("stages/*Classifier*/model.genus")
    assert genus.load(file).class_count_.sum() == ROWS


@nightly
def test_a_saved_stage_has_the_same_options(spark: Any, tmp_path: Path) -> None:
    for i, classifier in enumerate((TextClassifier(ngrams=(1, 2)), TableClassifier(ignore=("a",)))):
        path = str(tmp_path / str(i))
        genus.spark.Classifier(classifier).save(path)
        loaded = genus.spark.Classifier.load(path).classifier
        assert loaded.get_params() == classifier.get_params()


def test_a_stage_without_a_classifier_is_not_saved() -> None:
    pytest.importorskip("pyspark")
    with pytest.raises(ValueError, match=r"The stage has no classifier\. Give one"):
        genus.spark.Classifier().write()


@pytest.mark.parametrize("late", at_night([False, True], False))
def test_tasks_that_are_repeated_count_once(late: bool, spark: Any, tmp_path: Path) -> None:
    """A worker dies at its first rows, or its task fails when its rows are counted."""
    failed = tmp_path / "failed"

    def fails_once(batches: Any) -> Any:
        for batch in batches:
            if not late and not failed.exists():
                failed.touch()
                os._exit(1)
            yield batch
        if late and not failed.exists():
            failed.touch()
            raise RuntimeError("the first attempt")

    plan = BernoulliNB(binarize=2).fit(FRAME[["a", "b"]], LABELS)
    frame = spark.createDataFrame(FRAME, SCHEMA).repartition(4).mapInArrow(fails_once, SCHEMA)
    model = BernoulliNB(binarize=2).fit(frame, target="label", columns=["a", "b"], like=plan)
    assert failed.exists()
    np.testing.assert_array_equal(model.feature_count_, plan.feature_count_)
    np.testing.assert_array_equal(model.class_count_, plan.class_count_)


# Spark's workers read Parquet files by themselves


def written(folder: Path) -> list[str]:
    """Write the rows as files, the last of which has three groups of rows."""
    paths = [str(folder / f"{name}.parquet") for name in "abc"]
    bounds = (0, 1, 400, ROWS)
    for i, path in enumerate(paths):
        part = FRAME[bounds[i] : bounds[i + 1]]
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), path, row_group_size=200)
    return paths


def test_spark_does_not_read_the_files_that_its_workers_read(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = written(tmp_path)
    monkeypatch.setattr("genus.engines.spark.PIECE", os.path.getsize(paths[2]) // 3 + 1)
    frame = spark.read.parquet(*paths)
    pieces = SparkFrame(frame).files
    assert sorted((uri[-9:], *piece) for uri, *piece in pieces if uri.endswith("c.parquet")) == [
        ("c.parquet", i, 3) for i in range(3)
    ]

    def plan_of(frame: Any) -> str:
        return str(SparkFrame(frame)._parts(lambda rows: [])._jdf.queryExecution().executedPlan())

    assert "FileScan" not in plan_of(frame)
    assert "FileScan" not in plan_of(frame.select("b", "label"))
    for handed_over in (frame.where("a > 0"), frame.selectExpr("a + 0 as a", "b", "label")):
        assert "FileScan parquet" in plan_of(handed_over)
    model = CategoricalNB().fit(frame, target="label", columns=["kind", "a"])
    assert model.model_ == CategoricalNB().fit(FRAME[["kind", "a"]], LABELS).model_

    FRAME[400:].assign(b=np.where(np.arange(400, ROWS) == 850, np.inf, FRAME.b[400:])).to_parquet(
        paths[2], index=False, row_group_size=200
    )
    with pytest.raises(TableError, match=r"In file://.*c\.parquet: .* row 450, column 1 \('b'\)"):
        GDA().fit(spark.read.parquet(*paths), target="label", columns=["a", "b"])
    handed_over = spark.read.parquet(*paths).where("a > 0")
    with pytest.raises(TableError, match=r"In partition \d of the Spark frame: .* row \d+, column"):
        GDA().fit(handed_over, target="label", columns=["a", "b"])


def test_a_damaged_file_of_a_spark_frame_is_named_and_skipped_on_request(
    spark: Any, tmp_path: Path
) -> None:
    paths = written(tmp_path)
    frame = spark.read.parquet(*paths).select("a", "b", "label")
    plan = GDA().fit(FRAME[["a", "b"]], LABELS)
    content = bytearray(Path(paths[1]).read_bytes())
    content[4:200] = b"\xff" * 196
    Path(paths[1]).write_bytes(bytes(content))
    for like in (None, plan):  # while the plan is made, and while rows are counted
        with pytest.raises(TableError, match=r"^Cannot read file://.*b\.parquet: "):
            GDA().fit(frame, target="label", columns=["a", "b"], like=like)
    with pytest.warns(UserWarning, match=r"b\.parquet is left out"):
        sound = spark.read.parquet(*genus.readable_files(paths))
    rest = FRAME.drop(FRAME.index[1:400])
    expected = GDA().fit(rest[["a", "b"]], rest.label).class_count_
    model = GDA().fit(sound, target="label", columns=["a", "b"])
    np.testing.assert_array_equal(model.class_count_, expected)
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        model = GDA().fit(frame, target="label", columns=["a", "b"], like=plan)
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    np.testing.assert_array_equal(model.class_count_, expected)


def test_what_spark_refuses(spark: Any) -> None:
    frame = spark.createDataFrame(FRAME, SCHEMA)
    for call, words in (
        (lambda: GDA().fit(frame, target="z"), "the Spark frame has no column 'z'"),
        (lambda: GDA().fit(frame, target="label"), "Column 'kind' holds .*string"),
        (lambda: GDA().fit(frame.limit(0), target="label", columns=["a"]), "no rows"),
        (
            lambda: GDA().fit(frame, target="label", columns=["a"], checkpoint="parts"),
            "checkpoint= works only for files",
        ),
        (
            lambda: GDA().fit(frame.selectExpr("double('infinity') as a", "label"), target="label"),
            "contains infinity",
        ),
        (lambda: GDA().fit(frame.rdd, target="label"), "Expected a Spark DataFrame"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    model = GDA().fit(FRAME[["a", "b"]], LABELS)
    with pytest.raises(TableError, match='has the columns "prediction" already'):
        model.predict(frame.withColumnRenamed("text", "prediction"))


@pytest.mark.parametrize("is_connect", [False, True], ids=["", "without plans"])
def test_a_plan_needs_the_first_rows_of_every_partition_of_spark(
    is_connect: bool, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark_frame(spark)
    if is_connect:  # there frames have no _jdf
        monkeypatch.setattr(type(frame), "limit", lambda frame, rows: object())
    sizes = frame.selectExpr("spark_partition_id() as p").groupBy("p").count().collect()
    found = first_rows(frame, 4)
    rows = found.selectExpr("spark_partition_id() as p").groupBy("p").count().collect()
    assert {row.p: row["count"] for row in rows} == {r.p: min(r["count"], 4) for r in sizes}
    reads_all = "LocalLimit" not in found._jdf.queryExecution().toString()
    assert reads_all == is_connect


def test_workers_without_genus_are_named() -> None:
    with pytest.raises(TableError, match="genus is not installed for Spark's workers"), explained():
        raise RuntimeError("ModuleNotFoundError: No module named 'genus'")


# Dask


@pytest.mark.parametrize("name", at_night(CLASSIFIERS, *(set(ALWAYS) - {"TableClassifier"})))
def test_dask(name: str, dask_cluster: Any) -> None:
    import dask.dataframe as dd

    frame = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts()])
    model = fresh(name).fit(frame, target="label", columns=CLASSIFIERS[name][1])
    check_same(model, name)
    if name == "GDA":
        check_scores(model.predict(frame).compute(), model)


def test_arrays_and_bags_of_dask(dask_cluster: Any) -> None:
    import dask.array as da
    import dask.bag as db

    X = FRAME[["a", "b"]].to_numpy()
    here = GDA().fit(X, LABELS)
    model = GDA().fit(da.from_array(X, chunks=(200, 1)), da.from_array(LABELS, chunks=300))
    np.testing.assert_allclose(model.covariance_, here.covariance_)
    predicted = model.predict(da.from_array(X, chunks=(250, 2)))
    np.testing.assert_array_equal(predicted.compute(), here.predict(X))
    proba = model.predict_proba(da.from_array(X, chunks=(250, 2)))
    np.testing.assert_allclose(proba.compute(), here.predict_proba(X))
    by_label = np.argsort([len(label) for label in LABELS], kind="stable")  # the shortest first
    sure = GaussianNB().fit(np.c_[SHIFT[by_label]], LABELS[by_label])
    names = sure.predict(da.from_array(np.c_[SHIFT[by_label]], chunks=(50, 1)))
    assert names.dtype == LABELS.dtype
    np.testing.assert_array_equal(names.compute(), LABELS[by_label])
    records = FRAME[["text", "label"]].to_dict("records")
    bag = db.from_sequence(records, npartitions=5)
    check_same(TextClassifier("auto").fit(bag, target="label"), "TextClassifier auto")
    lacking = [*({"label": row["label"]} for row in records[:200]), *records[200:]]
    some = TextClassifier().fit(db.from_sequence(lacking, npartitions=9), target="label")
    known = TextClassifier().fit(FRAME.text[200:], LABELS[200:])
    assert sorted(some.vocabulary_) == sorted(known.vocabulary_)
    scored = some.predict(db.from_sequence(lacking, npartitions=9)).compute()
    assert len(scored) == len(lacking)
    assert list(scored["prediction"][200:]) == list(some.predict(FRAME.text[200:]))
    with pytest.raises(TableError, match="as one of its columns, by name: target="):
        GDA().fit(bag, bag)
    with pytest.raises(TableError, match="X has 900 rows but y has 899"):
        GDA().fit(da.from_array(X, chunks=200), da.from_array(LABELS[1:], chunks=200))


def test_errors_of_dask_name_the_partition_or_the_remedy(dask_cluster: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    paths = written(tmp_path)
    odd = FRAME[1:400].assign(b=np.where(np.arange(1, 400) == 21, np.inf, FRAME.b[1:400]))
    odd.to_parquet(paths[1], index=False)
    with pytest.raises(TableError, match=r"In partition 1 of the Dask collection: .* row 20, col"):
        GDA().fit(dd.read_parquet(paths), target="label", columns=["a", "b"])
    frame = dd.read_parquet(paths)
    content = bytearray(Path(paths[1]).read_bytes())
    content[4:200] = b"\xff" * 196
    Path(paths[1]).write_bytes(bytes(content))
    with pytest.raises(
        TableError, match=r"Cannot read the Dask collection: .*readable_files finds"
    ):
        GDA().fit(frame, target="label", columns=["a", "b"])


def test_a_worker_of_dask_that_dies_counts_nothing_twice(dask_cluster: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    def dies_once(part: Any, at: Path) -> Any:
        if len(part) > 1 and not at.exists():
            at.touch()
            os._exit(1)
        return part

    frame = dd.from_pandas(FRAME, npartitions=4)
    frame = frame.map_partitions(dies_once, tmp_path / "died", meta=FRAME[:0])
    model = PoissonNB().fit(frame, target="label", columns=["a", "b"])
    assert (tmp_path / "died").exists()
    here = PoissonNB().fit(FRAME[["a", "b"]], LABELS)
    np.testing.assert_array_equal(model.class_count_, here.class_count_)
    np.testing.assert_allclose(
        model.predict_proba(FRAME[["a", "b"]]), here.predict_proba(FRAME[["a", "b"]])
    )


# Ray


@nightly
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_ray(name: str, ray_cluster: Any) -> None:
    own = [pa.Table.from_pandas(part, preserve_index=False) for part in parts()]
    dataset = ray_cluster.data.from_arrow([table for table in own if table.num_rows])
    model = fresh(name).fit(dataset, target="label", columns=CLASSIFIERS[name][1])
    check_same(model, name)
    if name == "GDA":
        check_scores(model.predict(dataset).to_pandas(), model)


# A look that has seen too little


LATE = pd.DataFrame({"late": np.repeat([0.0, 1.0], [600, 300]), "label": LABELS})
LATE.loc[600:, "late"] = SHIFT[600:]


def test_a_column_that_begins_late_in_every_partition(dask_cluster: Any) -> None:
    import dask.dataframe as dd

    import genus.estimators.counting as counting

    few = pytest.MonkeyPatch()
    few.setattr(counting, "LOOK", 8)
    few.setattr(counting, "LEAST_LOOKED", 4)
    try:
        frame = dd.from_pandas(LATE, npartitions=1)
        model = TableClassifier(calibrate=False).fit(frame, target="label")
    finally:
        few.undo()
    (column,) = model.plan_.used
    assert column.note == ""
    whole = TableClassifier(calibrate=False).fit(LATE, target="label", like=model)
    np.testing.assert_allclose(model.predict_proba(LATE), whole.predict_proba(LATE))


def test_a_damaged_partition_is_refused_and_not_tried_again() -> None:
    from genus.estimators.counting import REFUSED, Reading, part_of

    def damaged() -> Any:
        raise TableError("x.parquet cannot be read")
        yield

    template = GaussianNB().plan(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), target="y")
    for name, told in (("x.parquet", ""), ("partition 3", "In partition 3: ")):
        (part,) = part_of(template.to_bytes(), Reading("y"), False, 1, Rows(name, damaged()))
        assert part == REFUSED + f"{told}x.parquet cannot be read".encode()
