"""What is measured of tables: from a file to a model, and from a shell to one answer.

X is a `Table`, a path; the clock runs while the file is read. Files are made once and kept in
`build/benchmarks`. Adult is read from GENUS_DATA, else ../shared/data; where that is missing, a
table like it is drawn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import FOLDER
from benchmarks.data import Data
from benchmarks.jobs import Call, Job, Side

DATA = Path(os.environ.get("GENUS_DATA", Path(__file__).parents[2] / "shared" / "data"))
ADULT = DATA / "adult-train.csv.gz"
MOST_MEMORY = 999_000_000  # less than a gigabyte
PART = 500_000  # rows that pandas and scikit-learn are timed on


# The tables


@dataclass(frozen=True)
class Table:
    """A file with a column to be predicted; a slice of it is a file of its own."""

    path: Path
    target: str
    rows: int

    def __fspath__(self) -> str:
        return str(self.path)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, rows: slice) -> Table:
        """The first rows."""
        _, stop, _ = rows.indices(len(self))
        if stop == len(self):
            return self
        head = f"{self.path.parent.name}-head-{stop}"
        return kept(head, self.path.suffix, self.target, f"{reading(self.path)} limit {stop}")[0]


def reading(path: Path) -> str:
    """A query for a file; a CSV is read as it is written."""
    return (
        f"from read_csv('{path}', all_varchar = true)" if ".csv" in path.name else f"from '{path}'"
    )


def kept(name: str, suffix: str, target: str, query: str) -> tuple[Table, NDArray[Any]]:
    """What a query finds as a file, and the labels in it."""
    folder = FOLDER / name
    if not folder.exists():
        import duckdb

        FOLDER.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=FOLDER) as beside, duckdb.connect() as connection:
            connection.execute("set threads = 1")  # else the seed does not tell who draws what
            connection.execute("select setseed(0.5)")
            made = Path(beside, f"table{suffix}")
            connection.execute(f"copy ({query}) to '{made}'")
            found = connection.sql(f"select {target} {reading(made)}").fetchnumpy()[target]
            np.save(Path(beside, "y.npy"), np.asarray(found).astype(str))
            os.rename(beside, folder)
            os.makedirs(beside)  # what is to be removed
    y = np.load(folder / "y.npy", mmap_mode="r")
    return Table(folder / f"table{suffix}", target, len(y)), y


def adult(rows: int) -> tuple[Table, NDArray[Any]]:
    """The first rows of Adult."""
    return kept(f"adult-{rows}", ".csv", "income", f"{reading(ADULT)} limit {rows}")


def like_adult(rows: int) -> tuple[Table, NDArray[Any]]:
    """Six numbers and eight categories, some of them missing, as in Adult."""
    numbers = {
        "age": "17 + floor(40 * random() + 12 * y)",
        "fnlwgt": "floor(12285 * exp(3.2 * random()))",
        "education_num": "1 + floor(12 * random() + 4 * y * random())",
        "capital_gain": "if(random() < 0.05 + 0.15 * y, floor(exp(6 + 4 * random())), 0)",
        "capital_loss": "if(random() < 0.03 + 0.06 * y, floor(1000 + 1500 * random()), 0)",
        "hours_per_week": "if(random() < 0.5, 40, floor(20 + 40 * random() + 8 * y))",
    }
    categories = {
        "workclass": 8,
        "education": 16,
        "marital_status": 7,
        "occupation": 14,
        "relationship": 6,
        "race": 5,
        "sex": 2,
        "native_country": 41,
    }
    columns = [f"cast({drawn} as integer) as {name}" for name, drawn in numbers.items()]
    for name, values in categories.items():
        holes = 0.05 if name in ("workclass", "occupation", "native_country") else 0
        columns.append(f"if(random() < {holes}, null, {category(name, values)}) as {name}")
    query = f"""
        select {", ".join(columns)}, if(y = 1, '>50K', '<=50K') as income
        from (select cast(random() < 0.24 as integer) as y from range({rows}))
    """
    return kept(f"like-adult-{rows}", ".csv", "income", query)


def mixed(rows: int) -> tuple[Table, NDArray[Any]]:
    """Twenty columns, all of which shift with the target but the one with holes."""
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    columns = [
        *(f"{normal} * {j + 1} + {j / 10} * y as x{j}" for j in range(8)),
        *(f"cast(floor(-ln(1 - random()) * ({2 + j} + y)) as integer) as n{j}" for j in range(4)),
        *(f"{category('v', 4 + 3 * j)} as c{j}" for j in range(6)),
        "random() < 0.3 + 0.2 * y as b0",
        "if(random() < 0.1, null, 10 * random()) as h0",
    ]
    query = f"""
        select if(y = 1, 'yes', 'no') as target, {", ".join(columns)}
        from (select cast(random() < 0.3 as integer) as y from range({rows}))
    """
    return kept(f"mixed-{rows}", ".parquet", "target", query)


def category(name: str, values: int) -> str:
    """One of so many values, in SQL; a higher one is likelier if y is 1."""
    return (
        f"'{name}' || cast(least(floor({values} * random() + y * random()), {values - 1}) as int)"
    )


# What is timed


def genus_fit(X: Table, y: Any) -> Call:
    from genus import TableClassifier

    return lambda: TableClassifier().fit(X, target=X.target)


def genus_scores(X: Table, y: Any) -> Call:
    """The share of rows that are right out of fold, which a fit finds with all else."""
    from genus import TableClassifier

    return lambda: TableClassifier().fit(X, target=X.target).weighing_.worth["accuracy"]


@dataclass(frozen=True, eq=False)
class FromFile:
    """A classifier of pandas frames that reads them first."""

    model: Any

    def predict(self, table: Table) -> NDArray[Any]:
        return self.model.predict(frame(table)[0])


def frame(table: Table) -> tuple[Any, Any]:
    """A pandas frame and its labels."""
    import pandas

    read = pandas.read_csv if table.path.suffix == ".csv" else pandas.read_parquet
    whole = read(table.path)
    return whole.drop(columns=table.target), whole[table.target].to_numpy(object)


def pandas_fit(X: Table, y: Any) -> Call:
    from benchmarks.table_accuracy import ColumnBayes  # a ColumnTransformer and both classifiers

    return lambda: FromFile(ColumnBayes().fit(*frame(X)))


def pandas_scores(X: Table, y: Any) -> Call:
    from sklearn.model_selection import cross_val_predict

    from benchmarks.table_accuracy import ColumnBayes

    def call() -> Any:
        table, labels = frame(X)
        model = ColumnBayes().fit(table, labels)
        found = cross_val_predict(ColumnBayes(), table, labels, cv=10, method="predict_proba")
        return float(np.mean(model.classes_[found.argmax(axis=1)] == labels))

    return call


def duckdb_sums(X: Table, y: Any) -> Call:
    """What naive Bayes has to know of a table, and nothing more."""
    import duckdb

    connection = duckdb.connect()
    columns = connection.sql(f"describe {reading(X.path)}").fetchall()
    kinds = {name: kind for name, kind, *_ in columns if name != X.target}
    sums = [
        f"count({name}), sum({name}), sum({name}::double * {name})"
        for name, kind in kinds.items()
        if kind in ("DOUBLE", "INTEGER")
    ]
    others = [name for name, kind in kinds.items() if kind in ("VARCHAR", "BOOLEAN")]
    queries = [f"select {X.target}, count(*), {', '.join(sums)} {reading(X.path)} group by all"]
    queries += [
        f"select {X.target}, {name}, count(*) {reading(X.path)} group by all" for name in others
    ]

    def call() -> None:
        for query in queries:
            connection.sql(query).fetchall()

    return call


def shell(*arguments: str) -> Call:
    """genus in a process of its own."""
    command = [sys.executable, "-m", "genus.cli", *arguments]

    def call() -> None:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command[1:])}: {done.stderr.strip()}")

    return call


def help_of_genus(X: Table, y: Any) -> Call:
    return shell("--help")


def predict_a_row(X: Table, y: Any) -> Call:
    from genus import TableClassifier

    path = X.path.with_name("model.genus")
    TableClassifier().fit(X, target=X.target).save(path)
    return shell("predict", str(path), os.fspath(X[:1]))


def pause(seconds: float, X: Table, y: Any) -> Call:
    return lambda: time.sleep(seconds)


# The jobs


def limit(seconds: float) -> Side:
    """A target in seconds, as a side that takes them."""
    label = f"a pause of {seconds:g} s, the time limit"
    return Side(label, "genus", partial(pause, seconds), 1)


def job(name: str, title: str, data: Data, sides: Sequence[Side], most: int | None = None) -> Job:
    return Job(f"table-{name}", "table", title, data, tuple(sides), most=most)


def tables() -> list[Job]:
    peer = "GaussianNB + CategoricalNB"
    draw: Callable[[int], Any] = adult if ADULT.exists() else like_adult
    people = Data(draw.__name__.replace("_", " "), 32_561, 14, 2, draw)
    large = Data("mixed", 10_000_000, 20, 2, mixed)
    scored = (
        Side("TableClassifier(), with families and scores", "genus", genus_scores),
        Side(f"{peer}, fit and 10 folds", "scikit-learn", pandas_scores, 10),
    )
    fitted = (
        Side("TableClassifier(), with families and scores", "genus", genus_fit),
        Side(f"{peer}, fit", "scikit-learn", pandas_fit, 10, PART),
        Side("sums and counts by class, group by", "duckdb", duckdb_sums, 1 / 3),
    )
    helped = (Side("--help", "genus", help_of_genus), limit(0.3))
    predicted = (Side("predict, one row", "genus", predict_a_row), limit(1))
    return [
        job("adult", "10 folds, from CSV", people, scored),
        job("parquet", "fit, from Parquet", large, fitted, MOST_MEMORY),
        job("help", "a new process", people, helped),
        job("predict", "a new process and a model", people, predicted),
    ]
