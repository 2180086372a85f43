"""Tables of databases give the models of their rows, and where sums suffice no row is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from ibis.expr.types import Table
from sklearn.covariance import LedoitWolf

import genus
from genus import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GammaNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    PoissonNB,
    TableClassifier,
    TableError,
    TextClassifier,
)
from genus.engines.database import MOST_SUMS
from scope import EVERYTHING, at_night

pytest_plugins = ("servers",)

ROWS = 700
RNG = np.random.default_rng(5)
LABELS = np.array(["no", "yes", "it's"])[RNG.integers(0, 3, ROWS)]
SHIFT = np.select([LABELS == "no", LABELS == "yes"], [0.0, 2.0], 1.0)
EVIL = 'a"; DROP TABLE t; --'
FRAME = pd.DataFrame(
    {
        EVIL: RNG.poisson(2 + SHIFT).astype(float),
        "b": RNG.poisson(5 - SHIFT),
        "Ünïted % {x} 'q'": RNG.normal(SHIFT),
        "far": RNG.normal(SHIFT) + 1e8,
        "single": RNG.normal(0, 1, ROWS).astype(np.float32),
        "is_new": RNG.random(ROWS) < 0.2 + SHIFT / 4,
        "kind": np.where(RNG.random(ROWS) < 0.2 + SHIFT / 4, "wild", 'it\'s; "tame"'),
        "text": np.array(["sun rain", "snow fog ice", "wind"])[RNG.poisson(SHIFT) % 3],
        "whole": RNG.integers(0, 4, ROWS),
        "part": RNG.random(ROWS),
        "number": RNG.integers(0, 2, ROWS).astype(float),
        "y": LABELS,
    }
)
FRAME.loc[::7, EVIL] = np.nan
FRAME.loc[::11, "kind"] = None
FRAME.loc[::13, "y"] = None
FRAME.loc[::17, "far"] = np.nan
FRAME.loc[::5, "number"] = np.nan
COUNTS = [EVIL, "b", "is_new"]
NUMBERS = [*COUNTS, "Ünïted % {x} 'q'", "far", "single"]

# Classifiers whose rows stay in the database, and the columns that they read.
GROUPED: dict[str, tuple[Any, list[str]]] = {
    "GaussianNB": (GaussianNB(), NUMBERS),
    "GDA": (GDA(), NUMBERS),
    "GDA separate": (GDA(shared=False), NUMBERS),
    "GDA diagonal": (GDA(diagonal=True), NUMBERS),
    "GDA oas": (GDA(shrinkage="oas"), NUMBERS),
    "BernoulliNB": (BernoulliNB(binarize=2), COUNTS),
    "MultinomialNB": (MultinomialNB(), COUNTS),
    "ComplementNB": (ComplementNB(), COUNTS),
    "PoissonNB": (PoissonNB(), COUNTS),
    "CategoricalNB": (CategoricalNB(), ["kind", "b", "is_new", EVIL]),
    "CategoricalNB of numbers": (CategoricalNB(), COUNTS),
}
# Others, whose rows are read.
READ: dict[str, tuple[Any, list[str] | None]] = {
    "GammaNB": (GammaNB(), ["part"]),
    "GDA ledoit-wolf": (GDA(shrinkage="ledoit-wolf"), ["b", "part"]),
    "GDA auto": (GDA("auto"), ["b", "part"]),
    "covariance estimator": (
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=LedoitWolf()),
        ["b", "part"],
    ),
    "CategoricalNB in bins": (CategoricalNB(bins=Discretizer(n_bins=4)), COUNTS),
    "TextClassifier": (TextClassifier(), ["text"]),
    "TableClassifier": (TableClassifier(), None),
}
whole_sums = ("BernoulliNB", "MultinomialNB", "ComplementNB", "PoissonNB", "CategoricalNB")


def fresh(classifier: Any) -> Any:
    return type(classifier)(**classifier.get_params(deep=False))


@pytest.fixture(scope="module")
def duck() -> Iterator[Any]:
    """A connection to DuckDB with the table t."""
    connection = ibis.duckdb.connect()
    fill(connection, "t", FRAME)
    yield connection
    connection.disconnect()


@pytest.fixture(scope="module")
def postgresql(postgres: Any) -> Iterator[Any]:
    """A connection to PostgreSQL with the table t."""
    connection = ibis.connect(postgres.create())
    fill(connection, "t", FRAME)
    yield connection
    connection.disconnect()


@pytest.fixture(params=["duck", "postgresql"])
def connection(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def fill(connection: Any, name: str, frame: pd.DataFrame) -> Any:
    """Make a table of a frame, with NaN where it has NaN and NULL where it has None."""
    if connection.name == "duckdb":
        connection.con.register("given", frame)
        connection.con.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM given')
        return connection.table(name)
    kinds = {"f": "float8", "i": "bigint", "b": "boolean", "M": "timestamp"}
    columns = [
        f"{quoted(column)} {kinds.get(kind.kind, 'text') if kind != np.float32 else 'real'}"
        for column, kind in frame.dtypes.items()
    ]
    with connection.con.cursor() as cursor, connection.con.transaction():
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in frame.astype(object).itertuples(index=False):
                known = zip(row, frame.dtypes, strict=True)
                copy.write_row([None if pd.isna(x) and k.kind != "f" else x for x, k in known])
    return connection.table(name)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every way to read the rows of a table fail."""
    from genus.table.read import objects

    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("rows were fetched")

    monkeypatch.setattr(Table, "to_pyarrow_batches", refuse)
    monkeypatch.setattr(objects, "fitted", refuse)


# Equal to counting the rows here


@pytest.mark.usefixtures("no_rows")
@pytest.mark.parametrize("weights", at_night([None, "whole", "part"], None, "part"))
@pytest.mark.parametrize("name", GROUPED)
def test_no_row_leaves_the_database(connection: Any, name: str, weights: str | None) -> None:
    classifier, columns = GROUPED[name]
    options = {"target": "y", "columns": columns, "sample_weight": weights}
    rows: list[int] = []
    there = fresh(classifier).fit(connection.table("t"), **options, progress=rows.append)
    here = fresh(classifier).fit(FRAME, **options)
    assert rows == [ROWS]
    assert there.classes_.tolist() == here.classes_.tolist()
    assert there.unlabelled_ == here.unlabelled_
    assert there.feature_names_in_.tolist() == columns
    if weights == "part":
        np.testing.assert_allclose(there.class_count_, here.class_count_, rtol=1e-13)
    else:
        np.testing.assert_array_equal(there.class_count_, here.class_count_)
    if name.startswith(whole_sums) and weights != "part":
        assert there.model_ == here.model_  # bit for bit
    np.testing.assert_allclose(
        there.predict_proba(FRAME[columns]), here.predict_proba(FRAME[columns]), atol=1e-13
    )
    loaded = genus.from_bytes(there.to_bytes())
    assert loaded.model_ == there.model_


@pytest.mark.parametrize("name", READ)
def test_other_classifiers_read_the_rows(connection: Any, name: str) -> None:
    classifier, columns = READ[name]
    table = (
        connection.table("t").drop("far", "number") if columns is None else connection.table("t")
    )
    there = fresh(classifier).fit(table, target="y", columns=columns)
    frame = FRAME.drop(columns=["far", "number"]) if columns is None else FRAME
    here = fresh(classifier).fit(frame, target="y", columns=columns, like=there)
    assert there.classes_.tolist() == here.classes_.tolist()
    np.testing.assert_array_equal(there.class_count_, here.class_count_)
    np.testing.assert_allclose(
        there.predict_proba(table), here.predict_proba(table), rtol=1e-9, atol=1e-12
    )
    assert there.predict(table).tolist() == here.predict(table).tolist()


@pytest.mark.usefixtures("no_rows")
@pytest.mark.parametrize("name", ["GaussianNB", "GDA", "MultinomialNB", "CategoricalNB"])
def test_learning_more_and_forgetting(connection: Any, name: str) -> None:
    classifier, columns = GROUPED[name]
    t = connection.table("t")
    even, odd = t.filter(t.whole % 2 == 0), t.filter(t.whole % 2 == 1)
    all_of_it = fresh(classifier).fit(t, target="y", columns=columns)
    model = fresh(classifier).partial_fit(even, target="y", columns=columns)
    model.partial_fit(odd, columns=columns)
    X = FRAME[columns]
    np.testing.assert_allclose(model.predict_proba(X), all_of_it.predict_proba(X), atol=1e-12)
    model.forget(odd, columns=columns)
    alone = fresh(classifier).fit(even, target="y", columns=columns, like=all_of_it)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-9)
    merged = alone + fresh(classifier).fit(odd, target="y", columns=columns)
    np.testing.assert_array_equal(merged.class_count_, all_of_it.class_count_)


@pytest.mark.usefixtures("no_rows")
def test_sums_of_whole_numbers_are_exact(connection: Any) -> None:
    for classifier in (GaussianNB(), GDA(), GDA(shared=False)):
        columns = ["b", "whole", "is_new"]
        there = fresh(classifier).fit(connection.table("t"), target="y", columns=columns)
        assert there.model_ == fresh(classifier).fit(FRAME, target="y", columns=columns).model_


@pytest.mark.usefixtures("no_rows")
@pytest.mark.parametrize("apart", [0.0, 1e6, 1e12])
def test_digits_survive_wherever_the_numbers_are(connection: Any, apart: float) -> None:
    code = np.arange(400) % 3
    x = RNG.normal(size=400) + 1e8 + apart * code
    frame = pd.DataFrame({"x": x, "c": np.full(400, 0.1), "z": x - x.mean(), "y": code})
    t = fill(connection, "digits", frame)
    there = GaussianNB(var_smoothing=0.0).fit(t, target="y", columns=["x", "z"])
    exact = np.array([np.var(np.longdouble(x[code == k])) for k in range(3)], dtype=float)
    np.testing.assert_allclose(there.var_[:, 0], exact, rtol=1e-12 if apart < 1e12 else 1e-10)
    full = GDA(shared=False, shrinkage=0.1).fit(t, target="y", columns=["x", "z"])
    here = GDA(shared=False, shrinkage=0.1).fit(frame, target="y", columns=["x", "z"])
    np.testing.assert_allclose(full.covariance_, here.covariance_, rtol=1e-10)
    constant = GaussianNB().fit(t, target="y", columns=["c"])
    assert (constant.var_ == GaussianNB().fit(frame, target="y", columns=["c"]).var_).all()


def random_table(rng: np.random.Generator) -> pd.DataFrame:
    """Few rows, many of them incomplete; columns of any scale, constant ones among them."""
    rows, classes = int(rng.integers(6, 200)), int(rng.integers(2, 6))
    y = rng.integers(0, classes, rows).astype(float)
    scale, offset = 10.0 ** rng.integers(-6, 9, 2)
    columns = [
        rng.poisson(3, rows).astype(float),
        rng.normal(size=rows) * scale + offset,
        np.full(rows, 0.1),
        (rng.random(rows) < 0.3).astype(float),
        np.where(rng.random(rows) < 0.9, 0.0, rng.exponential(size=rows) * 1e6),
        y * scale + rng.normal(size=rows),
        (y == 1) * 0.7,
    ]
    found = pd.DataFrame({f"x{j}": columns[k] for j, k in enumerate(rng.integers(0, 7, 3))})
    found = found.mask(rng.random(found.shape) < rng.choice([0.0, 0.1, 0.9], found.shape[1]))
    return found.assign(w=rng.random(rows), y=np.where(rng.random(rows) < 0.05, np.nan, y))


@pytest.mark.usefixtures("no_rows")
@pytest.mark.parametrize("seed", range(30 if EVERYTHING else 4))
@pytest.mark.filterwarnings("ignore:The target:UserWarning", "ignore:.*category:UserWarning")
def test_random_tables(connection: Any, seed: int) -> None:
    frame = random_table(np.random.default_rng(seed))
    t = fill(connection, "random", frame)
    X = frame[["x0", "x1", "x2"]]
    tried = [GaussianNB(), GDA(diagonal=True), GDA(shrinkage=0.1), BernoulliNB(binarize=0.5)]
    tried += [GDA(shared=False, shrinkage=0.1)]
    for classifier in [*tried, CategoricalNB()] if X.min().min() >= 0 else tried:
        options = {"target": "y", "columns": list(X), "sample_weight": [None, "w"][seed % 2]}
        try:
            here = fresh(classifier).fit(frame, **options)
        except ValueError as error:  # too few rows: no covariance
            with pytest.raises(ValueError, match=re.escape(str(error)[:30])):
                fresh(classifier).fit(t, **options)
            continue
        there = fresh(classifier).fit(t, **options)
        np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("weights", [None, "part"])
def test_what_is_constant_within_classes_has_no_variance(
    connection: Any, weights: str | None
) -> None:
    code = np.arange(300) % 3
    x = np.array([0.1, 0.7, 12345.6])[code]
    frame = pd.DataFrame({"x": x, "part": RNG.random(300), "y": code})
    there = GaussianNB().fit(fill(connection, "fixed", frame), target="y", sample_weight=weights)
    assert not there.model_.statistics.variance()[:, 0].any()
    # Of the rows without a missing value only one is of each class.
    frame = pd.DataFrame({"x": RNG.normal(size=300), "z": np.nan, "y": code})
    frame.loc[[0, 100, 200], "z"] = 0.3
    t = fill(connection, "holes", frame)
    assert not GDA().partial_fit(t, target="y").model_.statistics.variance().any()


TARGETS: dict[str, Callable[[Any], Any]] = {
    "whole numbers": lambda k: k,
    "numbers with NaN": lambda k: np.where(k == 2, np.nan, k),
    "truths": lambda k: k > 0,
    "texts": lambda k: np.array(["b", "", "a 'quoted'"])[k],
    "dates": lambda k: pd.to_datetime(np.array(["2024-01-02", "2024-03-01", "2023-05-05"])[k]),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_labels_of_any_kind(connection: Any, kind: str) -> None:
    code = RNG.integers(0, 3, 90)
    # The classes are so far apart that each has an origin of its own, by its label.
    frame = pd.DataFrame({"x": 1e6 * code + RNG.normal(size=90), "y": TARGETS[kind](code)})
    t = fill(connection, "labels", frame)
    there = GaussianNB().fit(t, target="y")
    read = GaussianNB().fit(t.to_pyarrow(), target="y")
    assert there.classes_.tolist() == read.classes_.tolist()
    assert there.classes_.dtype == read.classes_.dtype
    assert there.unlabelled_ == read.unlabelled_
    np.testing.assert_allclose(there.theta_, read.theta_)
    np.testing.assert_allclose(there.var_, read.var_, rtol=1e-9)
    there.partial_fit(t)
    assert there.class_count_.sum() == 2 * read.class_count_.sum()


def test_classes_that_weigh_nothing_and_columns_without_values(connection: Any) -> None:
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.0, 4.0, np.nan, np.nan, 3.0],
            "w": [1.0, 2.0, 1.0, 1.0, 1.0, 0.0],
            "y": ["a", "a", "b", "b", "c", "d"],
        }
    )
    t = fill(connection, "light", frame)
    for classifier in (PoissonNB(), BernoulliNB(), CategoricalNB()):
        there = classifier.fit(t, target="y", sample_weight="w")
        here = fresh(classifier).fit(frame, target="y", sample_weight="w")
        assert there.classes_.tolist() == here.classes_.tolist() == ["a", "b", "c"]
        assert there.model_ == here.model_


def test_integers_that_no_float_holds_and_decimals(connection: Any) -> None:
    frame = pd.DataFrame({"x": [2**60, 2**60 + 1, 7] * 9, "y": ["a", "b", "a"] * 9})
    t = fill(connection, "large", frame)
    t = t.mutate(d=(t.x % 100).cast("decimal(10, 2)"))
    for columns in (["x"], ["d"], ["x", "d"]):
        there = CategoricalNB().fit(t, target="y", columns=columns)
        here = CategoricalNB().fit(t.to_pyarrow(), target="y", columns=columns)
        assert there.model_ == here.model_
    there = GaussianNB().fit(t, target="y", columns=["d"])
    np.testing.assert_allclose(
        there.theta_, GaussianNB().fit(t.to_pyarrow(), target="y", columns=["d"]).theta_
    )


def test_more_columns_than_a_query_returns(connection: Any) -> None:
    size = MOST_SUMS // 4 + 1 if connection.name == "duckdb" else 56
    X = RNG.poisson(3, (60, size)).astype(float)
    names = [f"c{j}" for j in range(size)]
    frame = pd.DataFrame(X, columns=names).assign(y=np.arange(60) % 2)
    t = fill(connection, "wide", frame)
    assert PoissonNB().fit(t, target="y").model_ == PoissonNB().fit(frame, target="y").model_
    few = names[:56]
    there = GDA(shrinkage="oas").fit(t, target="y", columns=few)
    here = GDA(shrinkage="oas").fit(frame, target="y", columns=few)
    np.testing.assert_allclose(there.predict_proba(frame[few]), here.predict_proba(frame[few]))


def test_expressions_and_tables_in_memory() -> None:
    t = ibis.memtable(FRAME[["b", "part", "y"]])
    chosen = t.filter(t.part > 0.5).mutate(c=t.b * 2)
    frame = FRAME[FRAME.part > 0.5].assign(c=lambda f: f.b * 2)
    here = PoissonNB().fit(frame, target="y", columns=["b", "c"])
    assert PoissonNB().fit(chosen, target="y", columns=["b", "c"]).model_ == here.model_
    read = GammaNB().fit(chosen, target="y", columns=["part"])
    assert read.class_count_.tolist() == here.class_count_.tolist()


def test_predicting_inside_the_database(connection: Any) -> None:
    model = GaussianNB().fit(connection.table("t"), target="y", columns=["b", "part"])
    sql = model.to_sql("postgres" if connection.name == "postgres" else "duckdb", "t")
    with connection.con.cursor() as cursor:
        cursor.execute(f"CREATE OR REPLACE VIEW scored AS {sql}")
    scored = connection.table("scored").select("b", "part", "prediction", "p(yes)").to_pyarrow()
    expected = model.predict_proba(scored.select(["b", "part"]))
    np.testing.assert_allclose(scored["p(yes)"].to_numpy(), expected[:, 2], atol=1e-12)
    assert scored["prediction"].to_pylist() == model.predict(scored).tolist()


# What cannot be counted


def test_names_of_columns_are_no_sql(connection: Any) -> None:
    for weights in (None, "whole"):
        PoissonNB().fit(connection.table("t"), target="y", columns=[EVIL], sample_weight=weights)
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], EVIL: ["'; DROP TABLE t; --", '"', "\\'"]})
    odd = fill(connection, "odd", pd.concat([frame] * 3))
    model = GaussianNB().fit(odd.filter(odd.x < 3), target=EVIL)
    assert model.classes_.tolist() == ['"', "'; DROP TABLE t; --"]
    assert CategoricalNB().fit(odd, target="x", columns=[EVIL]).class_count_.tolist() == [3, 3, 3]
    assert connection.table("t").count().execute() == ROWS


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no target": (GaussianNB(), {"target": "Y"}, r"no column 'Y'. Did you mean 'y'"),
    "no column": (GaussianNB(), {"target": "y", "columns": ["bb"]}, "no column 'bb'"),
    "no weights": (GaussianNB(), {"target": "y", "sample_weight": "v"}, "no column 'v'"),
    "texts": (GaussianNB(), {"target": "y", "columns": ["kind"]}, "'kind' holds string, but this"),
    "a number as target": (
        PoissonNB(),
        {"target": "part", "columns": ["b"]},
        "'part' holds numbers such as 0",
    ),
    "negative counts": (
        MultinomialNB(),
        {"target": "y", "columns": ["b", "Ünïted % {x} 'q'"]},
        r"Column 1 \(\"Ünïted % {x} 'q'\"\) holds -\d.* Counts are 0 or more",
    ),
    "negative categories": (
        CategoricalNB(),
        {"target": "y", "columns": ["b", "single"]},
        r"Column 1 \('single'\) holds -\d.* Give categories as numbers",
    ),
    "weights that are texts": (
        GaussianNB(),
        {"target": "y", "columns": ["b"], "sample_weight": "kind"},
        "weights 'kind' hold string, not numbers",
    ),
    "negative weights": (
        PoissonNB(),
        {"target": "y", "columns": ["b"], "sample_weight": "single"},
        "weights 'single' hold -",
    ),
    "missing weights": (
        GDA(),
        {"target": "y", "columns": ["b"], "sample_weight": "number"},
        "weights 'number' hold nan",
    ),
    "missing weights of values": (
        CategoricalNB(),
        {"target": "y", "columns": ["b"], "sample_weight": "number"},
        "weights 'number' hold nan",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_and_changes_nothing(connection: Any, case: str) -> None:
    classifier, options, message = REFUSED[case]
    model = fresh(classifier).fit(FRAME[["b"]], LABELS)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(connection.table("t"), **options)
    assert vars(model) == before


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("classifier", [GaussianNB(), GDA(), BernoulliNB(), PoissonNB()])
def test_infinity(connection: Any, classifier: Any, value: float) -> None:
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 3.0, 4.0], "z": [1.0, value, 3.0, 2.0], "y": [0, 0, 1, 1]}
    )
    t = fill(connection, "infinite", frame)
    with pytest.raises(ValueError, match=r"Column 1 \('z'\) holds -?inf|a number infinite"):
        fresh(classifier).fit(t, target="y")


def test_numbers_whose_squares_are_no_floats(connection: Any) -> None:
    frame = pd.DataFrame({"x": [1e200, -3e200, 2e200, 4e200], "y": [0, 0, 1, 1]})
    t = fill(connection, "large_squares", frame)
    with pytest.raises(
        ValueError, match=r"not fit into a float|too large or too small to be squared"
    ):
        GaussianNB().fit(t, target="y")


def test_no_rows_no_labels_one_class(connection: Any) -> None:
    t = connection.table("t").select("b", "kind", "y")
    for classifier in (GaussianNB(), PoissonNB(), CategoricalNB(), GDA()):
        columns = ["b"]
        with pytest.raises(TableError, match="no rows"):
            fresh(classifier).fit(t.filter(t.b < 0), target="y", columns=columns)
        with pytest.raises(TableError, match="'y' is empty in every row"):
            fresh(classifier).fit(t.filter(t.y.isnull()), target="y", columns=columns)
        with pytest.raises(TableError, match="always 'no'"):
            fresh(classifier).fit(t.filter(t.y == "no"), target="y", columns=columns)
    with pytest.raises(TableError, match="no column except the target"):
        GaussianNB().fit(t.select("y"), target="y")


def test_types_that_no_classifier_knows(duck: Any, postgresql: Any) -> None:
    duck.con.execute("CREATE OR REPLACE TABLE nested AS SELECT {'a': 1} s, [1, 2] v, 1 x, 'a' y")
    t = duck.table("nested")
    with pytest.raises(TableError, match="'s' holds struct"):
        GaussianNB().fit(t, target="y", columns=["s", "x"])
    with pytest.raises(TableError, match="target 's' holds struct"):
        GaussianNB().fit(t, target="s", columns=["x"])
    with pytest.raises(TableError, match="'v' holds vectors, and there"):
        GaussianNB().fit(t, target="y", columns=["v", "x"])
    postgresql.raw_sql("CREATE TABLE shapes (p point, x float8, y text)")
    with pytest.raises(TableError, match=r"'p' of the table holds .*geometry.* table.drop\('p'\)"):
        GaussianNB().fit(postgresql.table("shapes"), target="y")
    with pytest.raises(TableError, match="no rows"):
        GaussianNB().fit(postgresql.table("shapes").drop("p"), target="y")
    with pytest.raises(TableError, match="The database cannot sum"):
        GaussianNB().fit(ibis.table({"x": "float64", "y": "string"}, name="nowhere"), target="y")


def test_vectors_are_read(duck: Any) -> None:
    duck.con.execute(
        "CREATE OR REPLACE TABLE vectors AS SELECT [i, i % 3] v, i % 2 y FROM range(50) r(i)"
    )
    model = GDA().fit(duck.table("vectors"), target="y")
    assert model.n_features_in_ == 2


def test_a_database_that_goes_away(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends the connection before the first query, between two, and between batches."""
    from genus.engines import database

    url = postgres.create()
    models = [GaussianNB(), GDA(), PoissonNB(), CategoricalNB(), GammaNB()]
    run, calls = database.run, [0]

    def run_and_end(query: Any) -> Any:
        calls[0] += 1
        found = run(query)
        end_connections(postgres, url)
        return found

    for between in (False, True):
        for model in models:
            connection = ibis.connect(url)
            t = fill(connection, "t", FRAME).select("b", "part", "y")
            columns = ["part"] if isinstance(model, GammaNB) else ["b"]
            model.fit(FRAME[columns], LABELS)
            before = dict(vars(model))
            if between and not isinstance(model, GaussianNB | GDA):
                continue
            if between:
                monkeypatch.setattr(database, "run", run_and_end)
            else:
                end_connections(postgres, url)
            with pytest.raises(TableError, match=r"database cannot sum|Cannot read the table"):
                model.fit(t, target="y", columns=columns)
            monkeypatch.setattr(database, "run", run)
            assert vars(model) == before
    assert calls[0] == 4


def end_connections(postgres: Any, url: str) -> None:
    name = url.rpartition("/")[2]
    postgres.execute(
        f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
    )


def test_a_closed_connection() -> None:
    connection = ibis.duckdb.connect()
    t = fill(connection, "t", FRAME[["b", "y"]])
    connection.disconnect()
    model = PoissonNB()
    with pytest.raises(TableError, match="The database cannot sum the rows"):
        model.fit(t, target="y")
    assert "model_" not in vars(model)
    with pytest.raises(TableError, match="Cannot read the table"):
        TableClassifier().fit(t, target="y")
