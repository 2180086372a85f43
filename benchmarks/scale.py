"""What counting costs where data is large: beside Spark ML, and as rows grow.

`python -m benchmarks.scale spark` counts the same rows by genus and by Spark ML's pipelines on one
cluster of two executors, as Parquet files and as a frame that Spark has computed.
`python -m benchmarks.scale words` counts very many words by Spark's workers, which drop rare ones.
`python -m benchmarks.scale dask` fits Gaussian naive Bayes beside dask-ml on one cluster.
`python -m benchmarks.scale growth` fits files of 10⁴ to 10⁸ rows, and writes a picture.
`python -m benchmarks.scale cost` works out what 10¹⁰ rows and 1 TB of text take, from the rates
that it measures first.

CPU seconds are those of the whole machine, so that executors and workers are counted, also those
that end. Let nothing else run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.corpus import FOLDER
from genus import TableClassifier, TextClassifier

TICKS = os.sysconf("SC_CLK_TCK")
HELD_OUT = 20_000  # rows that models are judged by
PARTS = 4  # files of a table
TARGET = "y"


# What all processes take


def machine_seconds() -> float:
    """CPU seconds of the whole machine: workers that end are counted, and so is all else."""
    busy = Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    user, nice, system, _, _, irq, softirq, _ = map(int, busy)
    return (user + nice + system + irq + softirq) / TICKS


@dataclass(frozen=True)
class Taken:
    """CPU and wall seconds of a call, and what it returned."""

    cpu: float
    wall: float
    result: Any


def measured(call: Callable[[], Any]) -> Taken:
    """Run a call once."""
    cpu, wall = machine_seconds(), time.perf_counter()
    result = call()
    return Taken(machine_seconds() - cpu, time.perf_counter() - wall, result)


# Data


def table_files(rows: int) -> Path:
    """A folder of Parquet files of 10 numbers and 10 categories; made once, and kept."""
    import pyarrow.parquet as pq

    folder = FOLDER / f"scale-table-{rows}"
    if folder.exists():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FOLDER) as beside:
        for part in range(PARTS):
            with pq.ParquetWriter(f"{beside}/{part}.parquet", table_schema()) as writer:
                for seed, size in chunks_of(rows // PARTS):
                    writer.write_table(table_rows(part, seed, size), row_group_size=1 << 18)
        os.rename(beside, folder)
        os.mkdir(beside)  # for the context to remove
    return folder


def table_rows(part: int, seed: int, size: int) -> Any:
    """Rows of 10 numbers and 10 categories, some of which decide the class in pairs."""
    import pyarrow as pa

    letters = np.array([f"category {c}" for c in "abcdefgh"])
    rng = np.random.default_rng([part, seed])
    x, c = rng.normal(size=(size, 10)), rng.integers(0, 8, (size, 10))
    score = x[:, 0] + x[:, 1] * x[:, 2] + (c[:, 0] - 3.5) / 3 + (c[:, 1] == c[:, 2])
    y = np.where(score + rng.normal(size=size) > 0.5, "left", "stayed")
    columns = {f"n{j}": x[:, j] for j in range(10)}
    columns |= {f"c{j}": letters[c[:, j]] for j in range(10)}
    return pa.table(columns | {TARGET: y})


def table_schema() -> Any:
    import pyarrow as pa

    numbers = [(f"n{j}", pa.float64()) for j in range(10)]
    texts = [(name, pa.string()) for name in (*(f"c{j}" for j in range(10)), TARGET)]
    return pa.schema([*numbers, *texts])


def text_files(texts: int) -> Path:
    """A folder of Parquet files of texts of 80 words each, by Zipf's law."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = FOLDER / f"scale-text-{texts}"
    if folder.exists():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=FOLDER) as beside:
        for part in range(PARTS):
            chunks = [text_rows(part, *one) for one in chunks_of(texts // PARTS, 1 << 14)]
            path = f"{beside}/{part}.parquet"
            pq.write_table(pa.concat_tables(chunks), path, row_group_size=1 << 14)
        os.rename(beside, folder)
        os.mkdir(beside)
    return folder


def text_rows(part: int, seed: int, size: int) -> Any:
    """Texts of 80 words by Zipf's law, of which one in 50 depends on the class."""
    import pyarrow as pa

    words = np.array([f"word{i:x}" for i in range(200_000)])
    chance = np.cumsum(1 / np.arange(1, len(words) + 1))
    rng = np.random.default_rng([part, seed])
    y = rng.integers(0, 4, size)
    at = np.searchsorted(chance, rng.random((size, 80)) * chance[-1])
    own = rng.random((size, 80)) < 0.02
    at = np.where(own, (at + 1000 * (1 + y[:, None])) % len(words), at)
    return pa.table(
        {"text": [" ".join(row) for row in words[at]], TARGET: [f"class {k}" for k in y]}
    )


def chunks_of(rows: int, most: int = 1 << 18) -> Iterator[tuple[int, int]]:
    """Numbers of chunks and how many rows each has."""
    for seed, start in enumerate(range(0, rows, most)):
        yield seed, min(most, rows - start)


# Spark


@contextmanager
def spark_session() -> Iterator[Any]:
    """A session on two executors of one core, on loopback."""
    from pyspark.sql import SparkSession

    os.environ |= {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
        "PYSPARK_PYTHON": sys.executable,
    }
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.sql.shuffle.partitions": "4",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,3072]").appName("genus")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def spark_lines(rows: int, texts: int) -> Iterator[str]:
    """Rows of a table: genus and Spark ML on the same cluster and data."""
    yield f"| {'counted':62} | {'CPU s':>7} | {'wall s':>7} | {'right':>6} |"
    yield f"| {'-' * 62} | {'-' * 6}: | {'-' * 6}: | {'-' * 5}: |"
    with spark_session() as session:
        folder = table_files(rows)
        held = table_rows(PARTS, 0, HELD_OUT)
        files = session.read.parquet(str(folder))
        frame = files.withColumn("n0", files.n0 + 0.0)  # no longer only files
        warm = session.read.parquet(str(table_files(10_000)))
        TableClassifier().fit(warm, target=TARGET)  # both executors have a worker from now on
        spark_table(warm).fit(warm)
        for name, data in (("files", files), ("frame", frame)):
            for told, model in (
                ("all pairs of columns", TableClassifier(calibrate=False)),
                ("TableClassifier()", TableClassifier()),
            ):
                took = measured(partial(model.fit, data, target=TARGET))
                right = float((model.predict(held) == held[TARGET].to_numpy()).mean())
                yield line(f"{rows:,} × 20, {name}: genus, {told}", took, right)
        took = measured(frame.mapInArrow(without_rows, "id int").count)
        yield line(f"{rows:,} × 20, frame: rows handed to Python, not counted", took, float("nan"))
        for name, data in (("files", files), ("frame", frame)):
            took = measured(lambda data=data: spark_table(data).fit(data))
            right = spark_right(took, session, held)
            yield line(f"{rows:,} × 20, {name}: Spark ML, gaussian", took, right)
        folder = text_files(texts)
        held = text_rows(PARTS, 0, HELD_OUT)
        files = session.read.parquet(str(folder))
        frame = files.withColumn("text", files.text.substr(1, 1 << 20))
        for name, data in (("files", files), ("frame", frame)):
            model = TextClassifier()
            took = measured(partial(model.fit, data, target=TARGET, columns=["text"]))
            right = float((model.predict(held["text"]) == held[TARGET].to_numpy()).mean())
            yield line(f"{texts:,} texts, {name}: genus TextClassifier()", took, right)
        for told, stage in (("CountVectorizer", count_words), ("HashingTF", hash_words)):
            took = measured(lambda stage=stage: spark_texts(stage()).fit(files))
            right = spark_right(took, session, held)
            yield line(f"{texts:,} texts: Spark ML, {told}", took, right)


def line(name: str, took: Taken, right: float) -> str:
    told = "" if isnan(right) else f"{right:6.4f}"
    return f"| {name:62} | {took.cpu:7.1f} | {took.wall:7.1f} | {told:6} |"


def without_rows(batches: Iterator[Any]) -> Iterator[Any]:
    """Read all batches, and return none."""
    for _ in batches:
        yield from ()


def spark_table(frame: Any) -> Any:
    """Spark ML's way to a naive Bayes model of a table."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    texts = [name for name, kind in frame.dtypes if kind == "string" and name != TARGET]
    numbers = [name for name, kind in frame.dtypes if kind == "double"]
    indexed = [f"{name} index" for name in texts]
    return Pipeline(
        stages=[
            StringIndexer(inputCols=[*texts, TARGET], outputCols=[*indexed, "label"]),
            VectorAssembler(inputCols=[*numbers, *indexed], outputCol="features"),
            NaiveBayes(modelType="gaussian"),
        ]
    )


def count_words() -> Any:
    from pyspark.ml.feature import CountVectorizer

    return CountVectorizer(inputCol="words", outputCol="features", vocabSize=1 << 18)


def hash_words() -> Any:
    from pyspark.ml.feature import HashingTF

    return HashingTF(inputCol="words", outputCol="features")


def spark_texts(counting: Any) -> Any:
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import StringIndexer, Tokenizer

    return Pipeline(
        stages=[
            StringIndexer(inputCol=TARGET, outputCol="label"),
            Tokenizer(inputCol="text", outputCol="words"),
            counting,
            NaiveBayes(),
        ]
    )


def spark_right(took: Taken, session: Any, held: Any) -> float:
    """The share of some rows whose class a pipeline of Spark predicts."""
    frame = session.createDataFrame(held.to_pandas())
    scored = took.result.transform(frame)
    return scored.filter("prediction = label").count() / held.num_rows


def word_lines(texts: int) -> Iterator[str]:
    """Rows of a table: texts with a word of their own each, with and without rare words."""
    folder = rare_word_files(texts)
    held = with_rare_words(text_rows(PARTS, 0, HELD_OUT), texts, PARTS)
    yield f"| {'words kept':44} | {'words':>9} | {'MB':>6} | {'CPU s':>7} | {'right':>6} |"
    yield f"| {'-' * 44} | {'-' * 8}: | {'-' * 5}: | {'-' * 6}: | {'-' * 5}: |"
    with spark_session() as session:
        frame = session.read.parquet(str(folder))
        TextClassifier().fit(frame.limit(1000), target=TARGET, columns=["text"])  # warm
        for told, model in (
            ("all", TextClassifier()),
            ("in two texts or more", TextClassifier(min_documents=2)),
            (
                "in two texts or more, others dropped",
                TextClassifier(min_documents=2, keep_unused=False),
            ),
            (
                "the 65,536 most frequent, others dropped",
                TextClassifier(max_features=65_536, keep_unused=False),
            ),
            ("hashed to 2^20", TextClassifier(buckets=1 << 20)),
        ):
            took = measured(partial(model.fit, frame, target=TARGET, columns=["text"]))
            right = float((model.predict(held["text"]) == held[TARGET].to_numpy()).mean())
            words, size = model._tally.width - 1, len(model.to_bytes()) / 1e6
            yield f"| {told:44} | {words:9,} | {size:6.1f} | {took.cpu:7.1f} | {right:6.4f} |"


def rare_word_files(texts: int) -> Path:
    """A folder of Parquet files of texts, each of which has ten words that few others have."""
    import pyarrow.parquet as pq

    folder = FOLDER / f"scale-rare-{texts}"
    if folder.exists():
        return folder
    plain = text_files(texts)
    with TemporaryDirectory(dir=FOLDER) as beside:
        for part, path in enumerate(sorted(plain.glob("*.parquet"))):
            table = with_rare_words(pq.read_table(path), texts, part)
            pq.write_table(table, f"{beside}/{part}.parquet", row_group_size=1 << 14)
        os.rename(beside, folder)
        os.mkdir(beside)
    return folder


def with_rare_words(table: Any, texts: int, seed: int) -> Any:
    """The same texts with ten words each that one in two texts has, of so many."""
    import pyarrow as pa

    rare = np.random.default_rng(seed).integers(0, 20 * texts, (table.num_rows, 10))
    found = [
        " ".join([text, *(f"rare{number:x}" for number in own)])
        for text, own in zip(table["text"].to_pylist(), rare.tolist(), strict=True)
    ]
    return pa.table({"text": found, TARGET: table[TARGET]})


# Dask


def dask_lines(rows: int) -> Iterator[str]:
    """Rows of a table: Gaussian naive Bayes by genus and dask-ml on the same cluster and array."""
    import dask
    import dask.array as da
    import distributed
    from dask_ml.naive_bayes import GaussianNB as Peer

    from genus import GaussianNB

    yield f"| {'counted':44} | {'CPU s':>7} | {'wall s':>7} | {'right':>6} |"
    yield f"| {'-' * 44} | {'-' * 6}: | {'-' * 6}: | {'-' * 5}: |"
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        y = da.random.default_rng(0).integers(0, 5, rows, chunks=rows // 16)
        noise = da.random.default_rng(1).normal(size=(rows, 20), chunks=(rows // 16, 20))
        X, y = client.persist([noise + y[:, None] * 0.3, y])
        distributed.wait([X, y])
        GaussianNB().fit(X[: rows // 16], y[: rows // 16])  # warm
        for told, model in (("genus", GaussianNB()), ("dask-ml", Peer())):
            # dask-ml leaves what it fits to be computed when it is asked for.
            took = measured(
                lambda model=model: dask.compute(model.fit(X, y).theta_, vars(model).get("sigma_"))
            )
            right = float((model.predict(X) == y).mean().compute())
            name = f"{rows:,} × 20: {told}"
            yield f"| {name:44} | {took.cpu:7.1f} | {took.wall:7.1f} | {right:6.4f} |"


# Growth


GROWTH = """
import resource, sys, time
from genus import TableClassifier
start, cpu = time.perf_counter(), time.process_time()
model = TableClassifier().fit(sys.argv[1], target="y")
rows = model.class_count_.sum()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(rows, time.perf_counter() - start, time.process_time() - cpu, peak)
"""


def growth_lines(most: int) -> Iterator[str]:
    """Rows of a table: seconds and memory of a fit from files, in a process of its own."""
    yield f"| {'rows':>11} | {'MB of files':>11} | {'wall s':>7} | {'CPU s':>7} | {'peak MB':>8} |"
    yield f"| {'-' * 10}: | {'-' * 10}: | {'-' * 6}: | {'-' * 6}: | {'-' * 7}: |"
    found = []
    rows = 10_000
    while rows <= most:
        folder = table_files(rows)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        done = subprocess.run(
            [sys.executable, "-c", GROWTH, str(folder)], check=True, capture_output=True, text=True
        )
        counted, wall, cpu, peak = map(float, done.stdout.split())
        assert counted == rows // PARTS * PARTS
        found.append((rows, wall, peak))
        yield f"| {rows:11,} | {size:11,.1f} | {wall:7.1f} | {cpu:7.1f} | {peak:8,.0f} |"
        rows *= 10
    picture(found)


def picture(found: list[tuple[int, float, float]], folder: Path = Path("docs/images")) -> None:
    """Draw seconds and memory over rows, in all forms of the picture."""
    from benchmarks.pictures import written
    from genus.plots.style import NARROW, WIDE, sheet

    def draw(narrow: bool) -> Any:
        figure = sheet(NARROW, 4.4) if narrow else sheet(WIDE, 2.5)
        axes = figure.subplots(*((2, 1) if narrow else (1, 2)))
        rows, wall, peak = zip(*found, strict=True)
        for ax, values, told in zip(axes, (wall, peak), ("seconds", "peak MB"), strict=True):
            ax.loglog(rows, values, marker="o", markersize=4)
            ax.set(xlabel="rows of 20 columns", ylabel=told, xticks=rows)
            ax.xaxis.minorticks_off()
            ax.yaxis.set_major_formatter("{x:,g}")
            ax.grid(linewidth=0.6)
        axes[1].set_ylim(100, 10_000)
        return figure

    written(folder, "scale", draw)


# What more would take


def cost_lines(rows: int, texts: int) -> Iterator[str]:
    """Rows of a table: core-seconds, wall time and bytes for 10¹⁰ rows and 1 TB of text."""
    folder = table_files(rows)
    table = TableClassifier()
    took = measured(lambda: table.partial_fit(str(folder), target=TARGET))
    wire = len(table.to_bytes())
    words = TextClassifier()
    folder = text_files(texts)
    size = sum(len(text) for text in read_texts(folder))
    took_texts = measured(lambda: words.partial_fit(str(folder), target=TARGET, columns=["text"]))
    wire_texts = len(words.to_bytes())
    yield f"rows of 20 columns a core-second: {rows / took.cpu:,.0f}; a part is {wire / 1e6:.2f} MB"
    speed = size / took_texts.cpu / 1e6
    yield f"MB of text a core-second: {speed:,.0f}; a part is {wire_texts / 1e6:.2f} MB"
    yield "| | core-hours | 10 cores | 100 cores | 1,000 cores | parts to the driver, GB |"
    yield "|---|---:|---:|---:|---:|---:|"
    for told, seconds, part in (
        ("10¹⁰ rows of 20 columns", 1e10 / rows * took.cpu, wire),
        ("1 TB of text", 1e12 / size * took_texts.cpu, wire_texts),
    ):
        walls = " | ".join(f"{seconds / cores / 60:,.1f} min" for cores in (10, 100, 1000))
        yield f"| {told} | {seconds / 3600:,.1f} | {walls} | {16 * part / 1e9:.2f} |"


def read_texts(folder: Path) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_table(folder)["text"].to_pylist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("spark", "words", "dask", "growth", "cost"))
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--texts", type=int, default=200_000)
    options = parser.parse_args()
    found = {
        "spark": lambda: spark_lines(options.rows, options.texts),
        "words": lambda: word_lines(options.texts),
        "dask": lambda: dask_lines(options.rows),
        "growth": lambda: growth_lines(options.rows),
        "cost": lambda: cost_lines(options.rows, options.texts),
    }[options.what]()
    for told in found:
        print(told, flush=True)


if __name__ == "__main__":
    main()
