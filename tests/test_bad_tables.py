"""Tables at the edge: one row, one class, odd names, long cells, folders, files that grow."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from genus import GaussianNB, TableClassifier, TableError, cross_validate
from genus.arrays.memory import size_of
from genus.cli import cli
from genus.cli.errors import sentence
from genus.table import Frame, open_table
from genus.table.model import cost
from scope import EVERYTHING

ROWS = 60
LONG = "x" * 10_240
EVIL = "'; DROP TABLE t; --"


def run(*given):
    return CliRunner().invoke(cli, [str(one) for one in given])


def lines(head: str) -> str:
    """A table of numbers under a line of names, the last of them y."""
    width = head.count(",")
    body = "".join(
        ",".join(str((i * (j + 3)) % 7) for j in range(width)) + f",{'uv'[i % 2]}\n"
        for i in range(ROWS)
    )
    return f"{head}\n{body}"


def plain(**options) -> TableClassifier:
    return TableClassifier(calibrate=False, **options)


@pytest.mark.parametrize("content", ["a,b,y\n1,2,u\n", "a,b,y\n" + "1,2,u\n" * 50])
def test_one_row_or_one_class_is_nothing_to_learn_from(tmp_path, content):
    (tmp_path / "t.csv").write_text(content)
    told = run("fit", tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m.genus")
    assert told.exit_code == 1
    assert "always 'u'; there is only one class" in told.stderr
    assert not (tmp_path / "m.genus").exists()


def test_one_row_of_each_class_is_enough_to_count():
    model = plain().fit({"a": [1, 2], "y": ["u", "v"]}, target="y")
    assert model.predict({"a": [1]}).shape == (1,)


@pytest.mark.parametrize(
    "head",
    [
        "a,,y",  # a name that is empty
        f"a,{LONG},y",
        f'a,"{EVIL}",y',
        'a,"""quoted""",y',
        "a, b ,y",
        "a,B,b,y",
        "prediction2,p(u)2,y",
    ],
    ids=["empty", "10 kB", "SQL", "quotes", "spaces", "upper case", "near"],
)
def test_names_are_kept_as_they_are(tmp_path, head):
    path, model = tmp_path / "t.csv", tmp_path / "m.genus"
    path.write_text(lines(head))
    plain().fit(path, target="y").save(model)
    told = run("predict", model, path)
    assert told.exit_code == 0, told.output
    first, *rest = told.stdout.splitlines()
    assert first == f"{head},prediction,p(u),p(v)"
    assert len(rest) == ROWS


def test_a_frame_with_two_columns_of_one_name_is_refused():
    twice = pa.table([pa.array([1, 2]), pa.array([3, 4]), pa.array(["u", "v"])], ["a", "a", "y"])
    with pytest.raises(TableError, match=r"two columns .a.\. Rename one"):
        plain().fit(twice, target="y")


@pytest.mark.parametrize(
    ("head", "columns"),
    [
        ("a,y,y", ["a", "y"]),
        ("a,a,A,y", ["a", "A_2", "y"]),
        ("A,a,a,y", ["A", "a_1", "y"]),
        ("a,a,a,b,B,b,y", ["a", "b", "B_1", "y"]),
        (f"{LONG[:99]},{LONG[:99]},y", [LONG[:99], "y"]),
    ],
)
def test_the_query_that_an_error_about_two_columns_advises_works(tmp_path, head, columns):
    path = tmp_path / "t.csv"
    path.write_text(lines(head))
    with warnings.catch_warnings(action="ignore"):
        with pytest.raises(TableError, match="two columns") as refused:
            open_table(str(path))
        assert len(str(refused.value)) < 1000
        query = re.search(r"SELECT .*(?=\.$)", str(refused.value))[0]
        assert open_table(query).columns == columns


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("a,y,y", r"two columns 'y', the columns 2 and 3\. Rename one, or .* EXCLUDE \(.y_1.\)"),
        ("a,a,y", "two columns 'a', the columns 1 and 2"),
        ('"a", a ,y', "two columns 'a', the columns 1 and 2"),
        ("a,a_1,A,a,y", "two columns 'a', the columns 1 and 4"),
        (f"{LONG},{LONG},y", r"two columns 'x{59}…', the columns 1 and 2\. Rename one\.$"),
    ],
)
def test_a_file_with_two_columns_of_one_name_is_refused(tmp_path, head, told):
    path, other = tmp_path / "t.csv", tmp_path / "ok.csv"
    path.write_text(lines(head))
    other.write_text(lines("b,y"))
    query = f"SELECT * FROM '{path}'"
    for given in (str(path), [str(other), str(path)], query):
        with pytest.raises(TableError, match=told), warnings.catch_warnings(action="ignore"):
            open_table(given)
    path.write_bytes(path.read_bytes().replace(b"y", b"\xff"))
    with pytest.raises(TableError, match="two columns"), warnings.catch_warnings(action="ignore"):
        open_table(str(path), "latin-1")


def test_names_that_differ_only_in_case_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(lines("B,b_1,b,y"))
    with pytest.warns(UserWarning, match=r"'B' and 'b', .* The second is read as 'b_1_1'"):
        assert open_table(str(path)).columns == ["B", "b_1", "b_1_1", "y"]
    path.write_text(lines("b,b_1,b_2,y"))
    with warnings.catch_warnings(action="error"):
        assert open_table(str(path)).columns == ["b", "b_1", "b_2", "y"]


def test_a_first_line_with_empty_names_is_not_said_to_be_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",,y\n" + "".join(f"{i},{i % 7},{'uv'[i % 2]}\n" for i in range(ROWS)))
    with pytest.raises(TableError, match=r"contains 'y', but was read as a row, .* are empty"):
        plain().fit(path, target="y")
    with pytest.raises(TableError, match="seems to have no header line"):
        plain().fit(path, target="z")


def test_many_columns(tmp_path):
    width = 2000 if EVERYTHING else 200
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    table = pa.table(
        {f"c{j}": rng.integers(0, 9, 40) + (j == 7) * 9 * y for j in range(width)}
        | {"y": pa.array(np.where(y, "v", "u"))}
    )
    pa.parquet.write_table(table, tmp_path / "wide.parquet")
    model = plain(dependence=False).fit(tmp_path / "wide.parquet", target="y")
    assert len(model.plan_) == width
    assert model.summary().columns[0].name == "c7"


def test_a_table_whose_model_cannot_be_saved_is_refused_before_it_is_planned(monkeypatch):
    monkeypatch.setattr("genus.estimators.table.look", None)
    ones = pa.array([1, 2])
    wide = {f"c{j}": ones for j in range(70_000)} | {"y": pa.array(["u", "v"])}
    with pytest.raises(TableError, match=r"has 70,000 columns, .* room for about 65,000 such"):
        plain().fit(pa.table(wide), target="y")


@pytest.mark.parametrize("name", ["c{}", '{} "größer" \\ ' * 3])
def test_metadata_of_a_model_are_about_as_large_as_predicted(monkeypatch, name):
    """A table of the largest number of columns that is not refused can be saved."""
    count, room = 1500, 4_000_000
    rng = np.random.default_rng(0)
    kinds = [rng.integers(0, 99, 40), rng.normal(size=40), rng.choice(["r", "g", "b"], 40)]
    data = {name.format(*[j] * 3): kinds[j % 3] for j in range(count)}
    y = ["uv"[i % 2] for i in range(40)]
    monkeypatch.setattr("genus.estimators.columns.MOST_HEADER", room)
    model = TableClassifier(dependence=False).fit(data, y)
    header = int.from_bytes(model.to_bytes()[:8], "little")
    monkeypatch.setattr("genus.estimators.columns.MOST_HEADER", header)
    with pytest.raises(TableError, match="the model could not be saved"):
        TableClassifier().plan(data, y)
    monkeypatch.setattr("genus.estimators.columns.MOST_HEADER", 1.5 * header)
    TableClassifier().plan(data, y)


def test_a_long_cell_is_read_or_refused_by_its_line(tmp_path):
    size = 100_000_000 if EVERYTHING else 3_000_000
    cells = ["w" * size if i == 20 else f"w{i % 3}" for i in range(ROWS)]
    text = "b,y\n" + "".join(f"{cell},{'uv'[i % 2]}\n" for i, cell in enumerate(cells))
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError, match=r"longer than 2 MB.*Parquet files have no such limit"):
        open_table(str(tmp_path / "t.csv")).table()
    table = pa.table({"b": cells, "y": [("u", "v")[i % 2] for i in range(ROWS)]})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    model = plain().fit(tmp_path / "t.parquet", target="y")
    assert len(model.predict(tmp_path / "t.parquet")) == ROWS


def test_a_file_that_is_still_being_written_is_not_said_to_have_a_long_line(tmp_path):
    row = "39,State gov,77516,x y,13,N-m,<=,z,u\n"
    (tmp_path / "t.csv").write_text("a,b,c,d,e,f,g,h,y\n" + row * 3000 + "1,2")
    with pytest.raises(TableError, match="line 3002 has 2 fields where 9 are expected"):
        open_table(str(tmp_path / "t.csv"))
    (tmp_path / "t.csv").write_bytes(np.random.default_rng(0).bytes(1000))
    with pytest.raises(TableError) as told:
        open_table(str(tmp_path / "t.csv")).table()
    assert "2 MB" not in str(told.value)


def test_scoring_very_many_classes_is_refused_before_memory_is_used():
    codes = np.arange(2_000_000) % 1_000_000
    with pytest.raises(ValueError, match="1,000,000 classes in 2,000,000 rows take 48000"):
        cross_validate(GaussianNB(), np.ones((len(codes), 1)), codes)


@pytest.mark.parametrize("named", [True, False])
def test_a_target_of_too_many_classes_is_refused_before_rows_are_counted(monkeypatch, named):
    monkeypatch.setattr("genus.table.model.cost.available", lambda: 1 << 30)
    monkeypatch.setattr(TableClassifier, "_count", None)
    x = np.random.default_rng(0).normal(size=6000)
    y = [f"k{i % 2000}" for i in range(6000)]
    told = r"2,000 classes or more\. .* about [\d.]+ GB .* only 1\.1 GB are free\. Merge rare"
    given = ({"x": x, "y": y}, "y") if named else ({"x": x}, y)
    with pytest.raises(TableError, match=told):
        TableClassifier().fit(*given)


def test_the_memory_of_many_classes_is_predicted():
    """The counts that are predicted from the first rows are those that come, or fewer."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 120, 5000)
    table = {"a": rng.normal(size=5000) + y, "b": [f"v{i % 7}" for i in y], "y": y.astype(str)}
    model = plain().fit(table, target="y")
    rows = open_table({name: table[name][:3000] for name in ("a", "b")}).table()
    family = model.model_.family
    predicted = [
        cost.expected_bytes(family, Frame.of(part, model.plan_), 120) / cost.PLAIN
        for part in (rows, open_table({name: table[name] for name in ("a", "b")}).table())
    ]
    parts = model.model_.statistics.parts
    counted = size_of([parts["cells"], parts["pairs"]])
    assert predicted[0] < predicted[1]
    assert 0.8 * counted < predicted[1] < 1.5 * counted


def test_a_fit_that_takes_minutes_is_announced(monkeypatch):
    """The estimate grows with the classes, and with the rows that were not looked at."""
    y = [f"k{i % 200}" for i in range(3000)]
    table = {"x": np.random.default_rng(0).normal(size=3000).round(1), "y": y}
    family = (model := plain().fit(table, target="y")).model_.family
    X = Frame.of(open_table({"x": table["x"]}).table(), model.plan_)
    few, more = (cost.expected_seconds(family, X, 200, rows) for rows in (1000, 4000))
    assert more == 4 * few
    assert cost.expected_seconds(family, X, 400, 1000) == 2 * few
    monkeypatch.setattr(cost, "LONG", few)
    with pytest.warns(UserWarning, match=r"200 classes or more from 3,000 rows .* calibrate=False"):
        TableClassifier().fit(table, target="y")


def test_memory_that_runs_out_is_blamed_on_classes_only_if_they_are_many(monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(TableClassifier, "_solve", full)
    for K, told in ((150, "to learn 150 classes. Merge rare"), (2, "")):
        with pytest.raises(MemoryError) as error:
            TableClassifier().fit({"x": np.arange(600) % 7}, [f"k{i % K}" for i in range(600)])
        assert told in str(error.value)
        assert ("--ignore" in sentence(error.value)) == (K == 2)


def test_a_folder_is_all_its_tables_or_none(tmp_path):
    with pytest.raises(TableError, match=r"The folder .* holds no .*\.csv.*\.xlsx"):
        open_table(str(tmp_path))
    for name in ("a.csv", "b.csv", ".hidden.csv", "notes.md"):
        (tmp_path / name).write_text(lines("a,b,y"))
    assert open_table(str(tmp_path)).table().num_rows == 2 * ROWS


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_a_target_of_a_million_values_is_refused(kind):
    values = pa.array(np.arange(1_000_000) * 3)
    target = values.cast(pa.string()) if kind == "text" else values
    words = "identify rows" if kind == "text" else "whole numbers"
    table = pa.table({"a": np.arange(1_000_000) % 7, "y": target})
    with pytest.raises(TableError, match=words):
        plain().fit(table, target="y")


@pytest.mark.parametrize("small", [0, 1 << 22])
def test_a_file_that_grows_is_told_or_read_as_it_was(tmp_path, monkeypatch, small):
    """Rows are written behind those lines that they were read from, or not at all."""
    monkeypatch.setattr("genus.table.read.files.SMALL", small)
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_text(lines("a,b,y"))
    plain().fit(path, target="y").save(tmp_path / "m.genus")
    from genus.cli import predicting

    scored = predicting.scored

    def growing(rows, *more):
        if rows.num_rows:
            with path.open("a") as file:
                file.write("1,2,u\n" * 10)
        return scored(rows, *more)

    monkeypatch.setattr(predicting, "scored", growing)
    told = run("predict", tmp_path / "m.genus", path, "-o", out)
    assert told.exit_code == 1
    assert "it may have changed meanwhile" in told.stderr
    assert not out.exists()


def test_a_file_that_goes_away_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("genus.table.read.files.SMALL", 0)
    path = tmp_path / "t.csv"
    path.write_text(lines("a,b,y"))
    source = open_table(str(path))
    path.unlink()
    with pytest.raises(TableError, match=r"Cannot read .*t\.csv"):
        source.table()


def test_whole_numbers_of_any_length_are_numbers():
    X = pd.DataFrame({"x": [i * 10**25 for i in range(60)]}, dtype=object)
    model = TableClassifier().fit(X, np.arange(60) > 30)
    assert model.plan_.columns[0].kind == "number"
    assert model.predict(X).tolist() == (np.arange(60) > 30).tolist()


def test_a_frame_without_columns_is_named_as_such():
    with pytest.raises(TableError, match="The table of 5 rows has no columns"):
        TableClassifier().fit(pd.DataFrame(index=range(5)), [0, 1, 1, 0, 1])
