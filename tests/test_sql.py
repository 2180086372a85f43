"""Models as SQL: what DuckDB and PostgreSQL answer is what predict_proba does."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    TextClassifier,
    load,
)
from genus.sql.dialect import DUCKDB, number
from genus.sql.expressions import total
from scope import EVERYTHING

pytest_plugins = ("servers",)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

NAMES = ['"; DROP TABLE customers; --', "select", "größe 100% {x}"]
LABELS = ["it's", 'a "b"', "back\\slash' OR 1=1 --"]


# Databases


class DuckDB:
    """DuckDB in memory."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect()

    def create(self, table: pa.Table, name: str = "customers") -> None:
        self.connection.register("given", table)
        self.connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM given')
        self.connection.unregister("given")

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        found = self.connection.execute(sql)
        return [column[0] for column in found.description], found.fetchall()


class PostgreSQL:
    """An empty database of a server that the tests have started."""

    dialect = "postgres"
    types: ClassVar = {
        "double": "float8",
        "float": "real",
        "int64": "bigint",
        "string": "text",
        "bool": "boolean",
        "date32[day]": "date",
        "timestamp[us]": "timestamp",
        "time64[us]": "time",
    }

    def __init__(self, url: str) -> None:
        import psycopg

        self.connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)

    def create(self, table: pa.Table, name: str = "customers") -> None:
        from psycopg.sql import SQL, Identifier, Placeholder

        at = Identifier(name)
        columns = [
            SQL("{} {}").format(Identifier(field.name), SQL(self.types[str(field.type)]))
            for field in table.schema
        ]
        self.connection.execute(SQL("DROP TABLE IF EXISTS {}").format(at))
        self.connection.execute(SQL("CREATE TABLE {} ({})").format(at, SQL(", ").join(columns)))
        values = SQL(", ").join([Placeholder()] * len(columns))
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        with self.connection.cursor() as cursor:
            cursor.executemany(SQL("INSERT INTO {} VALUES ({})").format(at, values), rows)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        found = self.connection.execute(sql)
        return [column.name for column in found.description], found.fetchall()


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckDB]:
    database = DuckDB()
    yield database
    database.connection.close()


@pytest.fixture(scope="module")
def postgresql(postgres: Any) -> Iterator[PostgreSQL]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    database = PostgreSQL(postgres.create())
    yield database
    database.connection.close()


@pytest.fixture(scope="module", params=["duck", "postgresql"])
def database(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def answer(database: Any, model: Any, table: pa.Table, **options: Any) -> tuple[Any, list[Any]]:
    """Return the probabilities (m, K) and predictions that a database gives for a table."""
    database.create(table)
    names, rows = database.query(model.to_sql(database.dialect, "customers", **options))
    width = table.num_columns
    assert names[:width] == table.column_names
    assert names[width:] == ["prediction", *(f"p({label})" for label in model.classes_.tolist())]
    probabilities = np.array([row[width + 1 :] for row in rows], dtype=float)
    return probabilities, [row[width] for row in rows]


def agree(
    database: Any, model: Any, table: pa.Table, X: Any = None, tolerance: float = 1e-12
) -> None:
    """Check that a database answers as predict_proba and predict do."""
    X = table if X is None else X
    found, predicted = answer(database, model, table)
    expected = model.predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    best = np.sort(expected, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-9 if best.shape[1] > 1 else np.full(len(best), True)
    truth = model.predict(X).tolist()
    assert [p for p, ok in zip(predicted, clear, strict=True) if ok] == [
        p for p, ok in zip(truth, clear, strict=True) if ok
    ]
    assert all(type(p) is type(t) for p, t in zip(predicted, truth, strict=True))


def named(X: Any, nulls: bool = True) -> pa.Table:
    """Return an array as a table with odd names; NaN is NULL in every other row."""
    columns = {}
    for j, name in enumerate(NAMES[: X.shape[1]]):
        values = X[:, j].tolist()
        columns[name] = [None if nulls and x != x and i % 2 else x for i, x in enumerate(values)]
    kind = pa.string() if X.dtype == object else pa.float64()
    return pa.table(
        {name: pa.array(values, kind, from_pandas=False) for name, values in columns.items()}
    )


def fitted(model: Any, X: Any, y: Any) -> Any:
    """Fit a model on an array, and give its columns names."""
    model.fit(X, y)
    model.feature_names_in_ = np.array(NAMES[: X.shape[1]], dtype=object)
    return model


# Data


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def measured(m: int = 90) -> tuple[Any, Any]:
    """Return correlated numbers of several scales, far from zero, and labels that need quotes."""
    y = np.array(LABELS)[np.arange(m) % 3]
    X = (
        rng().normal(size=(m, 3)) @ rng(1).normal(size=(3, 3))
        + rng(2).normal(size=(3, 3))[np.arange(m) % 3]
    )
    return X * [1.0, 1e3, 1e-4] + [0.0, 1e7, 0.0], y


def counted(m: int = 90) -> tuple[Any, Any]:
    """Return counts with many zeros, and some columns that a class never has."""
    y = np.arange(m) % 3
    X = rng().poisson(np.array([[4.0, 0.0, 1.0], [1.0, 2.0, 0.3], [0.5, 0.2, 0.0]])[y])
    return X.astype(float), y


def with_holes(X: Any, *more: list[float]) -> Any:
    """Return X with some values missing, a row of nothing, and more rows."""
    X = X.copy()
    X[::5, 0] = X[::7, 1] = np.nan
    return np.vstack([X, np.full((2, X.shape[1]), np.nan), *[np.array([row]) for row in more]])


GAUSSIANS: dict[str, Callable[[], Any]] = {
    "GaussianNB": GaussianNB,
    "GDA": GDA,
    "GDA separate": lambda: GDA(shared=False),
    "GDA diagonal": lambda: GDA(diagonal=True),
    "GDA separate diagonal": lambda: GDA(shared=False, diagonal=True),
    "GDA oas": lambda: GDA(shared=False, shrinkage="oas", priors=[0.5, 0.5, 0.0]),
}
COUNTS: dict[str, Callable[[], Any]] = {
    "MultinomialNB": MultinomialNB,
    "MultinomialNB alpha=0": lambda: MultinomialNB(alpha=0),
    "ComplementNB": ComplementNB,
    "ComplementNB alpha=0": lambda: ComplementNB(alpha=0),
    "ComplementNB norm": lambda: ComplementNB(norm=True, fit_prior=True),
    "PoissonNB": PoissonNB,
    "PoissonNB alpha=0": lambda: PoissonNB(alpha=0),
    "BernoulliNB": BernoulliNB,
    "BernoulliNB alpha=0": lambda: BernoulliNB(alpha=0, binarize=1.5),
    "CategoricalNB": lambda: CategoricalNB(min_categories=12),
    "CategoricalNB alpha=0": lambda: CategoricalNB(alpha=0),
    "CategoricalNB smooth": lambda: CategoricalNB(unseen="smooth"),
}


# Every classifier


@pytest.mark.parametrize("name", GAUSSIANS)
def test_normal_distributions(database: Any, name: str) -> None:
    X, y = measured()
    model = fitted(GAUSSIANS[name](), X, y)
    far = [[1e200, 1e7, 0.0], [-1e250, 1e7, 0.0], [5e-324, 1e7, -1e-200], [0.0, 1e8, 1e30]]
    is_full = name in ("GDA", "GDA separate", "GDA oas")
    rows = np.vstack([X, far]) if is_full else with_holes(X, *far)
    agree(database, model, named(rows), rows)


def test_a_full_covariance_needs_whole_rows(database: Any) -> None:
    X, y = measured()
    for shared in (True, False):
        model = fitted(GDA(shared=shared), X, y)
        rows = with_holes(X)
        found, predicted = answer(database, model, named(rows))
        whole = ~np.isnan(rows).any(axis=1)
        assert np.isnan(found[~whole]).all()
        assert {predicted[i] for i in np.flatnonzero(~whole)} == {None}
        np.testing.assert_allclose(found[whole], model.predict_proba(rows[whole]), atol=1e-12)


def test_means_that_are_millions_of_deviations_apart(database: Any) -> None:
    X, y = measured()
    X[:, 0] += 1e7 * (np.arange(len(X)) % 3)
    for make in GAUSSIANS.values():
        agree(database, fitted(make(), X, y), named(X), X, tolerance=1e-9)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(database: Any, name: str) -> None:
    X, y = counted()
    model = fitted(COUNTS[name](), X, y)
    rows = with_holes(X, [40.0, 3.0, 2.0], [0.0, 7.5, 0.0], [1e12, 0.0, 3.0], [0.0, 0.0, 1e-320])
    if name.startswith("CategoricalNB"):
        rows = rows[:-1]
    agree(database, model, named(rows), rows, tolerance=1e-11)


def test_gamma_distributions(database: Any) -> None:
    X, y = counted()
    model = fitted(GammaNB(), X + 0.25, y)
    rows = with_holes(X + 0.25, [1e-320, 1.0, 1.0], [1e12, 1e6, 0.1], [2.0, 1e300, 1e-300])
    agree(database, model, named(rows), rows)


def test_texts_as_categories(database: Any) -> None:
    values = [
        "it's",
        "",
        " ",
        'a "b"',
        "Ärger\\",
        "NULL",
        "nan",
        "'; DROP TABLE customers; --",
        "{x}",
    ]
    X = np.array(values, dtype=object)[rng().integers(0, 9, (80, 3))]
    X[::6, 1] = None
    y = np.arange(80) % 2 == 0
    rows = np.vstack([X, [["never seen", None, "ÄRGER\\"], ["IT'S", "null", "a"]]])
    for options in ({}, {"alpha": 0}, {"unseen": "smooth"}):
        model = fitted(CategoricalNB(**options), X, y)
        agree(database, model, named(rows), rows)


def test_numbers_as_categories(database: Any) -> None:
    X = np.array([0.5, 1.0, 2.25, 1e-5, 3e15])[rng().integers(0, 5, (60, 2))]
    y = rng(1).choice([-1.0, 0.0, 2.0], 60)
    rows = with_holes(X, [0.50001, 1.0], [1e300, 0.5])
    agree(database, fitted(CategoricalNB(), X, y), named(rows), rows)


@pytest.mark.parametrize("how", ["mdlp", "quantile", "uniform", "edges", "origin"])
def test_bins(database: Any, how: str) -> None:
    X, y = measured()
    options: dict[str, Any] = {
        "edges": {"edges": [[-1.0, 0.0, 1.0], [1e7], []]},
        "origin": {"strategy": "quantile", "n_bins": 4, "origin": 3.25},
    }.get(how, {"strategy": how, "n_bins": 5})
    model = fitted(CategoricalNB(bins=Discretizer(**options)), X, y)
    edges = [e + d for part in model.bin_edges_ for e in part for d in (0.0, 1e-9, -1e-9)]
    rows = with_holes(X, *[[e, e, e] for e in edges], [1e300, -1e300, 1e-300])
    agree(database, model, named(rows), rows)


# Tables


def customers(m: int = 120) -> tuple[pa.Table, Any]:
    """Return a table of all kinds of columns but texts, with holes that tell of the class."""
    r = rng(3)
    y = r.choice(["stays", "goes"], m)
    goes = y == "goes"

    def shares(share: Any) -> Any:
        return np.broadcast_to(share, m)

    def holes(values: list[Any], share: Any) -> list[Any]:
        return [None if r.random() < s else v for v, s in zip(values, shares(share), strict=True)]

    cities = np.array(["Köln", "O'Fallon", "NA", " ? ", "true", "TRUE", "x" * 30])
    age = r.normal(40, 9, m) + 9 * goes
    columns: dict[str, Any] = {
        NAMES[0]: holes(age.tolist(), 0.1),
        "visits": holes(r.poisson(2 + 3 * goes).tolist(), 0.05),
        "price": holes((r.gamma(2, 10, m) * (1 + goes)).tolist(), np.where(goes, 0.4, 0.1)),
        "rooms": holes(r.integers(0, 4, m).tolist(), 0.1),
        "city": holes(cities[(r.integers(0, 4, m) + 3 * goes) % 7].tolist(), 0.1),
        "member": holes((r.random(m) < 0.3 + 0.4 * goes).tolist(), 0.1),
        "joined": holes(
            [datetime.date(2020, 1, 1) + datetime.timedelta(int(d)) for d in r.integers(0, 900, m)],
            0.1,
        ),
        "seen": [
            datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=float(s))
            for s in r.normal(0, 1e6, m) + 1e6 * goes
        ],
        "at": [(datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=int(s))).time()
               for s in r.integers(0, 86400, m)],
    }  # fmt: skip
    return pa.table(columns), y


FAMILIES = {
    "gaussian": {NAMES[0]: "gaussian", "price": "gaussian", "rooms": "gaussian"},
    "poisson": {"visits": "poisson", "rooms": "poisson"},
    "gamma": {"price": "gamma", "visits": "gamma"},
    "categorical": {"rooms": "categorical", "visits": "categorical", "city": "categorical"},
    "discretised": {NAMES[0]: "discretised", "price": "discretised", "seen": "discretised"},
    "bernoulli": {"member": "bernoulli"},
    "together": {("rooms", "seen"): "gaussian"},
    "auto": "auto",
}


@pytest.mark.parametrize("name", FAMILIES)
def test_tables(database: Any, name: str) -> None:
    table, y = customers()
    model = TableClassifier(FAMILIES[name], calibrate=False, dependence=False).fit(table, y)
    odd = {field.name: [None] * 4 for field in table.schema}
    odd |= {
        NAMES[0]: [np.inf, np.nan, -1e-300, 1e5],
        "visits": [-3, 10**6, 0, 4],
        "price": [-1.0, 0.0, 1e-300, 1e5],
        "rooms": [99, -1, 0, 1],
        "city": ["\u3000NA\t", "True", "", "köln"],
        "seen": [datetime.datetime(1969, 1, 1, 1, 2, 3, 456789)] * 4,
    }
    whole = pa.concat_tables([table, pa.table(odd, schema=table.schema)])
    if name == "together":  # a full covariance needs whole rows
        whole = whole.filter(pa.compute.is_valid(whole["rooms"]))
    agree(database, model, whole, tolerance=1e-10)


def test_numbers_that_no_class_of_a_table_explains(database: Any) -> None:
    """Scores are cut at -1e12, so that a sum of them keeps four digits after the point."""
    table, y = customers()
    model = TableClassifier(FAMILIES["gaussian"], calibrate=False, dependence=False).fit(table, y)
    far = table.slice(0, 1).to_pydict() | {NAMES[0]: [1e300], "price": [-1e300]}
    agree(database, model, pa.table(far, schema=table.schema), tolerance=1e-3)


def test_a_calibrated_table_model_is_solved_again_without(duck: DuckDB) -> None:
    table, y = customers()
    model = TableClassifier().fit(table, y).resolve(calibrate=False)
    agree(duck, model, table, tolerance=1e-11)


# Names, labels and other databases' ways


@pytest.mark.parametrize(
    "classes", [[0, 1, 2], [True, False], [0.0, -7.0], [2**63, 5], ["a", "b"]], ids=str
)
def test_predictions_have_the_type_of_the_classes(database: Any, classes: list[Any]) -> None:
    X = rng().normal(size=(30, 2))
    dtype = np.uint64 if 2**63 in classes else None
    model = fitted(GaussianNB(), X, np.array((classes * 30)[:30], dtype=dtype))
    _, predicted = answer(database, model, named(X))
    assert [int(p) for p in predicted] == model.predict(X).tolist() if dtype else True
    if not dtype:
        agree(database, model, named(X), X)


def test_no_class_explains_a_row(database: Any) -> None:
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), ["a", "b", "b"]
    model = fitted(MultinomialNB(alpha=0), X, y)
    rows = np.array([[1.0, 1.0], [np.nan, 1.0], [0.0, 0.0]])
    agree(database, model, named(rows), rows)
    assert answer(database, model, named(rows))[1] == ["b", "b", "b"]


def test_things_that_one_class_alone_has(database: Any) -> None:
    X = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 4.0], [0.0, 0.0, 1.0]])
    rows = np.array([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0], [np.nan, 1.0, 1.0]])
    for model in (ComplementNB(alpha=0), ComplementNB(alpha=0, norm=True), MultinomialNB(alpha=0)):
        agree(database, fitted(model, X, ["a", "b", "c", "c"]), named(rows), rows)


def test_of_equal_classes_the_first_is_predicted(database: Any) -> None:
    X = np.array([[1.0], [2.0], [1.0], [2.0]])
    model = fitted(GaussianNB(), X, ["b", "b", "a", "a"])
    assert answer(database, model, named(X))[1] == ["a"] * 4


def test_a_class_that_was_announced_and_not_seen(database: Any) -> None:
    X, y = counted()
    for make in (GaussianNB, PoissonNB, CategoricalNB, BernoulliNB):
        model = make().partial_fit(X, y, classes=[0, 1, 2, 3])
        model.feature_names_in_ = np.array(NAMES, dtype=object)
        agree(database, model, named(X), X)


def test_values_that_predict_refuses_have_no_probabilities(database: Any) -> None:
    X, y = counted()
    for model, bad in (
        (GaussianNB(), np.inf),
        (GDA(), -np.inf),
        (BernoulliNB(), np.inf),
        (PoissonNB(), -1.0),
        (MultinomialNB(), np.inf),
        (CategoricalNB(), -1.0),
        (CategoricalNB(bins=Discretizer()), np.inf),
        (GammaNB(), 0.0),
    ):
        X_there = X + 1.0
        rows = np.vstack([X_there[:2], X_there[:1]])
        rows[2, 1] = bad
        model = fitted(model, X_there, y)
        with pytest.raises(ValueError, match=r"infinity|Negative|Zeros"):
            model.predict_proba(rows)
        found, predicted = answer(database, model, named(rows))
        assert np.isfinite(found[:2]).all()
        assert np.isnan(found[2]).all()
        assert predicted[2] is None


def test_sums_are_not_nested_too_deep(database: Any) -> None:
    many = total([number(1.0)] * 5_000)
    assert database.query(f"SELECT {many}")[1] == [(5_000.0,)]


def test_a_schema_and_other_types_of_numbers(database: Any) -> None:
    X, y = counted()
    model = PoissonNB().fit(X, y)
    run = database.connection.execute
    run('CREATE SCHEMA "odd ""schema"')
    run('CREATE TABLE "odd ""schema"."t" ("A" smallint, b numeric(9, 2), c real)')
    run('INSERT INTO "odd ""schema"."t" VALUES (1, 2.50, 0.5), (NULL, 0, 3)')
    _, rows = database.query(
        model.to_sql(database.dialect, ('odd "schema', "t"), columns=["A", "b", "c"])
    )
    expected = model.predict_proba([[1, 2.5, 0.5], [np.nan, 0, 3]])
    np.testing.assert_allclose([row[4:] for row in rows], expected, atol=1e-12)


def test_texts_are_compared_byte_by_byte(duck: DuckDB) -> None:
    model = fitted(CategoricalNB(), np.array([["a"], ["b"], ["a"]], dtype=object), [0, 1, 0])
    name = NAMES[0].replace('"', '""')
    duck.connection.execute(f'CREATE OR REPLACE TABLE customers ("{name}" text COLLATE NOCASE)')
    duck.connection.execute("INSERT INTO customers VALUES ('A'), ('a')")
    _, rows = duck.query(model.to_sql("duckdb", "customers"))
    expected = model.predict_proba(np.array([["A"], ["a"]], dtype=object))
    np.testing.assert_allclose([row[2:] for row in rows], expected, atol=1e-12)


def test_backslashes_whatever_the_server_says_of_them(postgresql: PostgreSQL) -> None:
    X = np.array([["a\\"], ["\\'"], ["a\\"]], dtype=object)
    model = fitted(CategoricalNB(), X, LABELS)
    run = postgresql.connection.execute
    run("SET standard_conforming_strings = off")
    run("SET escape_string_warning = off")
    try:
        agree(postgresql, model, named(X), X)
    finally:
        run("SET standard_conforming_strings = on")


def test_a_loaded_model_writes_the_same(tmp_path: Any) -> None:
    table, y = customers()
    model = TableClassifier(calibrate=False).fit(table, y)
    model.save(tmp_path / "model.genus")
    loaded = load(tmp_path / "model.genus")
    assert loaded.to_sql("duckdb", "t") == model.to_sql("duckdb", "t")
    assert model.to_sql("postgres", "t") == model.to_sql("postgresql", "t")


# Anything


def sane(name: str) -> bool:
    return 0 < len(name.encode()) <= 59


letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(letters, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    column=texts.filter(sane),
    table=texts.filter(sane),
    labels=st.lists(texts.filter(sane), min_size=2, max_size=3, unique=True),
    values=st.lists(texts, min_size=3, max_size=6),
)
def test_any_text(
    database: Any, column: str, table: str, labels: list[str], values: list[str]
) -> None:
    if column.lower() in {"prediction", *(f"p({label})".lower() for label in labels)}:
        return
    X = np.array([[value] for value in values], dtype=object)
    model = CategoricalNB().fit(
        X, (labels * len(values))[: max(len(values), len(labels))][: len(X)]
    )
    rows = np.vstack([X, [["never"], [None]]])
    given = pa.table({column: pa.array(rows[:, 0].tolist(), pa.string())})
    found, _ = answer(database, model, given, columns=[column])
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-12)
    sql = model.to_sql(database.dialect, table, [column])
    assert sql.count(f'FROM "{table.replace(chr(34), chr(34) * 2)}" AS "row of the table"') == 1


# Near the means, where scores keep their digits; next to zero; and where densities are zero.
floats = st.one_of(
    st.floats(-1e3, 1e3), st.floats(-1e-290, 1e-290), st.floats(1e160, 1e280), st.just(np.nan)
)


@cache
def models() -> dict[str, list[Any]]:
    """Return fitted models, by the numbers that they take."""
    measurements, counts = measured(), counted()
    normal = [fitted(make(), *measurements) for make in GAUSSIANS.values()]
    discrete = [PoissonNB(), BernoulliNB(), CategoricalNB(unseen="smooth"), MultinomialNB(alpha=0)]
    return {
        "any": [model for model in normal if getattr(model, "diagonal", True)],
        "whole": [model for model in normal if not getattr(model, "diagonal", True)],
        "counts": [fitted(model, *counts) for model in discrete],
        "positive": [fitted(GammaNB(), counts[0] + 1, counts[1])],
    }


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=100 if EVERYTHING else 8,
)
@given(st.lists(st.tuples(floats, floats, floats), min_size=20, max_size=20))
def test_any_number(database: Any, drawn: list[tuple[float, float, float]]) -> None:
    X, _ = measured()
    rows = np.array(drawn)
    rows = np.where(np.abs(rows) <= 1e3, X.mean(axis=0) + X.std(axis=0) * rows, rows)
    rows = np.vstack([rows, drawn])
    there = np.nan_to_num(rows)
    taken = {
        "any": rows,
        "whole": there,
        "counts": np.abs(rows),
        "positive": np.maximum(np.abs(there), 5e-324),
    }
    for kind, X in taken.items():
        for model in models()[kind]:
            agree(database, model, named(X), X, tolerance=1e-9)


# What is refused


def refused(model: Any, message: str, *how: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=message):
        model.to_sql(*(how or ("duckdb", "customers")), **options)


def test_an_unknown_dialect_lists_the_known_ones() -> None:
    model = fitted(GaussianNB(), *measured())
    refused(model, "'postgres', 'postgresql', 'duckdb'; got 'oracle'", "oracle", "customers")


def test_columns_have_to_be_named() -> None:
    model = GaussianNB().fit(*measured())
    refused(model, r"columns=\[…\] with 3")
    refused(model, "columns has 2 names, but the model has 3", columns=["a", "b"])
    refused(model, "as text; got", columns=["a", "b", 3])
    refused(model, "'a' and 'A' are the same column in DuckDB", columns=["a", "A", "b"])
    refused(model, "'a' and 'a' are the same", "postgres", "t", columns=["a", "a", "b"])
    assert model.to_sql("postgres", "t", columns=["a", "A", "b"])
    refused(model, "table have a column 'Prediction'", columns=["a", "Prediction", "b"])
    refused(model, "the table have a column", "postgres", "t", columns=["a", "prediction", "b"])
    refused(model, "the table have a column", columns=["a", "row of the table", "b"])
    X, y = measured()
    cased = GaussianNB().fit(X, np.where(np.asarray(y) == y[0], "Yes", "yes"))
    refused(cased, "have the same name in this database", columns=["a", "b", "c"])
    assert cased.to_sql("postgres", "t", columns=["a", "b", "c"])
    refused(model, r"truncates names after 63 bytes", "postgres", "t", columns=["a", "ä" * 32, "b"])


@pytest.mark.parametrize("name", ["a\0b", "\ud800", ""])
def test_names_that_no_database_can_hold(name: str) -> None:
    model = GaussianNB().fit(*measured())
    message = "empty name" if not name else "cannot store"
    refused(model, message, columns=["a", name, "b"])
    refused(model, message, "postgres", name, columns=["a", "b", "c"])
    refused(model, message, "postgres", ("schema", name), columns=["a", "b", "c"])
    if name:
        X = np.array([[name], ["b"]], dtype=object)
        refused(CategoricalNB().fit(X, [0, 1]), "cannot store", columns=["a"])
        refused(CategoricalNB().fit(X, X[:, 0]), "cannot store", columns=["a"])


@pytest.mark.parametrize("table", [(), ("a", "b", "c", "d"), ("a", 3), [None]])
def test_tables_that_have_no_such_name(table: Any) -> None:
    model = GaussianNB().fit(*measured())
    refused(model, "table must be the name of a table", "duckdb", table, columns=["a", "b", "c"])


def test_models_that_no_statement_equals() -> None:
    table, y = customers()
    refused(TableClassifier().fit(table, y), r"resolve\(calibrate=False\)")
    tree = TableClassifier(calibrate=False, dependence="tree").fit(table, y)
    refused(tree, r"resolve\(dependence=False\)")
    assert tree.resolve(dependence=False).to_sql("duckdb", "customers")
    notes = pa.table({"note": [f"call {i} was about {i * 7} things" for i in range(40)]})
    is_odd = np.arange(40) % 2
    refused(TableClassifier(calibrate=False).fit(notes, is_odd), r"ignore=\['note'\]")
    refused(
        TextClassifier("multinomial").fit(["one two", "three four"], [0, 1]),
        "count words into columns",
    )
    X, y = counted()
    model = fitted(MultinomialNB(unexplained="error"), X, y)
    refused(model, r"resolve\(unexplained='prior'\)")
    assert model.resolve(unexplained="prior").to_sql("duckdb", "customers")


def test_columns_that_databases_read_otherwise() -> None:
    y = np.arange(40) % 2
    for values in (["1.5", "NA"] * 20, ["2024-01-31", "2023-12-01"] * 20):
        model = TableClassifier(calibrate=False, families={"x": "gaussian"}).fit({"x": values}, y)
        refused(model, "'x' held numbers or dates written as text")
    dates = pa.array([datetime.date(2024, 1, 1 + i % 9) for i in range(40)])
    families = {"x": "categorical"}
    model = TableClassifier(families, calibrate=False).fit(pa.table({"x": dates}), y)
    refused(model, "convert to text differently")
    X = np.array([[2**60 + 1], [2**60 + 2]])
    refused(CategoricalNB().fit(X, [0, 1]), "beyond 2", columns=["a"])


def test_classes_that_have_no_literal() -> None:
    with pytest.raises(ValueError, match="not text, a number or a Boolean"):
        DUCKDB.label(datetime.date(2024, 1, 1))


def test_an_unfitted_model() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        GaussianNB().to_sql("duckdb", "customers")
