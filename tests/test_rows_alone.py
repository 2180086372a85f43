"""A row of a file is read alone as it is read among others: the model decides how, not the file."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from genus import TableClassifier, TableError, load
from genus.cli import cli
from genus.table import open_table

ROWS = 120
RNG = np.random.default_rng(0)
LARGE = RNG.random(ROWS) < 0.5


def commas(number: float, digits: int = 2) -> str:
    """A number as it is written in Germany, such as 4.374,48."""
    text = f"{number:,.{digits}f}"
    return text.translate(str.maketrans(",.", ".,"))


def either(some: list[str], others: list[str]) -> list[str]:
    """A text for each row: most large rows have one of `some`, most small ones one of `others`."""
    texts = np.where(
        LARGE ^ (RNG.random(ROWS) < 0.2), RNG.choice(some, ROWS), RNG.choice(others, ROWS)
    )
    return [str(text) for text in texts]


PRICE = np.exp(RNG.normal(4 + 3 * LARGE, 1))
EUROPEAN = {
    "preis": [commas(p) if i % 4 else commas(p, 0) for i, p in enumerate(PRICE)],
    "rabatt": [commas(x) for x in RNG.normal(LARGE, 1)],
    "menge": [str(n) for n in RNG.poisson(2 + 3 * LARGE)],
    "am": [f"{d:02d}.{m:02d}.2024" for d, m in zip(*RNG.integers(1, 13, (2, ROWS)), strict=True)],
}
CODES = {
    "ver": either(["3.9", "3.10", "01"], ["3.10", "beta", "3.1"]),
    "code": either(["1E5", "12:30", "inf", "+5"], ["2E5", "X7", "2024-01-02", "true"]),
    "slot": either(["3:05", "22:15"], ["7:30", "12:00"]),
    "note": [f"{word} order number {i}" for i, word in enumerate(either(["late"], ["fine"]))],
}
DAYS, MONTHS = RNG.integers(1, 29, ROWS), RNG.integers(1, 13, ROWS)
MIXED = {
    "x": [f"{x:.3f}" if i % 9 != 5 else "inf" for i, x in enumerate(RNG.normal(LARGE, 1))],
    "n": [str(n) if i % 7 else "" for i, n in enumerate(RNG.poisson(2 + 3 * LARGE))],
    "day": [f"2024-{m:02d}-{d:02d}" for d, m in zip(DAYS, MONTHS, strict=True)],
    "at": [f"{m:02d}/{d:02d}/2024 10:00:00" for d, m in zip(DAYS, MONTHS, strict=True)],
    "seen": [f"2024-{m:02d}-01 {d % 24:02d}:00" for d, m in zip(DAYS, MONTHS, strict=True)],
    "month": [f"2024-{m:02d}" for m in MONTHS],
    "ok": either(["true", "True"], ["FALSE", "NA"]),
}
TABLES = {"european": (EUROPEAN, ";"), "codes": (CODES, ","), "mixed": (MIXED, ",")}


def lines_of(columns: dict[str, list[str]], delimiter: str) -> list[str]:
    rows = zip(*columns.values(), strict=True)
    return [delimiter.join(row) for row in [columns, *rows]]


@pytest.fixture(scope="module", params=list(TABLES))
def table(request, tmp_path_factory):
    """A model, the folder of its file rows.csv, and the lines of that file."""
    columns, delimiter = TABLES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    classes = {"y": ["large" if large else "small" for large in LARGE]}
    (folder / "train.csv").write_text("\n".join(lines_of(columns | classes, delimiter)))
    lines = lines_of(columns, delimiter)
    (folder / "rows.csv").write_text("\n".join(lines))
    model = TableClassifier(calibrate=False).fit(folder / "train.csv", target="y")
    return model, folder, lines


def test_a_row_alone_has_the_probabilities_that_it_has_among_others(table) -> None:
    model, folder, (head, *rows) = table
    together = model.predict_proba(folder / "rows.csv")
    for row, p in zip(rows, together, strict=True):
        (folder / "one.csv").write_text(f"{head}\n{row}\n")
        assert_array_equal(model.predict_proba(folder / "one.csv")[0], p, err_msg=row)
    few = [i for i in range(ROWS) if i % 7 == 3]
    (folder / "few.csv").write_text("\n".join([head, *(rows[i] for i in few)]))
    assert_array_equal(model.predict_proba(folder / "few.csv"), together[few])


def test_packed_files_are_read_in_the_same_way(table) -> None:
    model, folder, (head, *rows) = table
    content = f"{head}\n{rows[0]}\n"
    (folder / "one.csv").write_text(content)
    (folder / "one.csv.gz").write_bytes(gzip.compress(content.encode()))
    with zipfile.ZipFile(folder / "one.zip", "w") as packed:
        packed.writestr("one.csv", content)
    (folder / "utf16.csv").write_bytes(content.encode("utf-16"))
    p = model.predict_proba(folder / "rows.csv")[:1]
    for name in ("one.csv.gz", "one.zip"):
        assert_array_equal(model.predict_proba(folder / name), p)
    utf16 = open_table(folder / "utf16.csv", encoding="utf-16")
    assert_array_equal(model.predict_proba(utf16), p)
    several = [folder / "one.csv", folder / "rows.csv"]
    assert_array_equal(model.predict_proba(several)[:1], p)


def test_a_model_takes_back_the_rows_of_a_file_of_codes(tmp_path: Path) -> None:
    """A file with only some of the codes seems to hold numbers."""
    rows = [f"{v},{'ab'[i % 3 == 0]}" for i, v in enumerate(["3.9", "3.10", "beta"] * 20)]
    codes = [row for row in rows if "beta" not in row]
    (tmp_path / "all.csv").write_text("\n".join(["ver,y", *rows]))
    (tmp_path / "codes.csv").write_text("\n".join(["ver,y", *codes]))
    (tmp_path / "rest.csv").write_text("\n".join(["ver,y", *(set(rows) - set(codes))]))
    model = TableClassifier(calibrate=False).fit(tmp_path / "all.csv", target="y")
    before = model.predict_proba(tmp_path / "all.csv")
    assert model.score(tmp_path / "codes.csv", "y") == model.score(
        pd.read_csv(tmp_path / "codes.csv", dtype=str), "y"
    )
    more = model.resolve().partial_fit(tmp_path / "codes.csv", target="y")
    back = more.forget(tmp_path / "codes.csv", target="y")
    assert_array_equal(back.predict_proba(tmp_path / "all.csv"), before)
    part = TableClassifier(calibrate=False).fit(tmp_path / "codes.csv", target="y", like=model)
    assert set(part.model_.statistics["cells"].keys[0]) == {"3.9", "3.10"}
    assert not any(one.is_new for one in model.drift(tmp_path / "codes.csv").columns)
    explained = [str(one) for one in model.explain(tmp_path / "codes.csv").values[:2, 0]]
    assert explained == ["3.9", "3.10"]


def test_commands_read_a_row_as_the_model_does(table, tmp_path: Path) -> None:
    model, folder, (head, row, *_) = table
    mark = ";" if ";" in head else ","
    label = "large" if LARGE[0] else "small"
    one, saved = tmp_path / "one.csv", tmp_path / "m.genus"
    one.write_text(f"{head}{mark}y\n{row}{mark}{label}\n")
    model.save(saved)

    def done(*given: object) -> str:
        result = CliRunner().invoke(cli, list(map(str, given)))
        assert result.exit_code == 0, result.output
        return result.stdout

    p = model.predict_proba(folder / "rows.csv")[0]
    done("predict", saved, one, "-o", tmp_path / "p.parquet")
    (scored,) = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert [scored["p(large)"], scored["p(small)"]] == p.tolist()
    cells = dict(zip(head.split(mark), row.split(mark), strict=True))
    assert [scored[name] for name in model.plan_.texts] == [cells[n] for n in model.plan_.texts]
    found = json.loads(done("evaluate", saved, one, "--json"))
    right = p[model.classes_.tolist().index(label)]
    assert found["scores"]["log loss"]["value"] == pytest.approx(-np.log(right))
    done("check", saved, one)
    done("explain", saved, one)
    done("forget", saved, one, "-o", tmp_path / "less.genus")
    assert load(tmp_path / "less.genus").class_count_.sum() == ROWS - 1


def test_files_of_several_formats_are_read_as_the_model_does(tmp_path: Path) -> None:
    rows = {"ver": ["3.9", "3.10", "beta"] * 20, "y": ["a", "b", "b"] * 20}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("ver\n3.10\n3.9\n")
    model = TableClassifier(calibrate=False).fit(tmp_path / "a.parquet", target="y")
    p = model.predict_proba([tmp_path / "b.csv", tmp_path / "a.parquet"])
    assert_array_equal(p[[0, 1]], p[[3, 2]])


def test_classes_may_look_like_numbers(tmp_path: Path) -> None:
    rows = [f"{i % 3},{v}" for i, v in enumerate(["3.9", "3.10", "beta"] * 20)]
    (tmp_path / "all.csv").write_text("\n".join(["x,ver", *rows]))
    (tmp_path / "few.csv").write_text("\n".join(["x,ver", *rows[:2]]))
    model = TableClassifier(calibrate=False).fit(tmp_path / "all.csv", target="ver")
    assert model.score(tmp_path / "few.csv", "ver") == 1
    model.forget(tmp_path / "few.csv", target="ver")
    assert model.class_count_.tolist() == [19, 19, 20]
    (tmp_path / "t.csv").write_text("\n".join(["x,at", *["1,7:05", "2,12:30"] * 9]))
    times = TableClassifier(calibrate=False).fit(tmp_path / "t.csv", target="at")
    assert times.classes_.tolist() == ["12:30", "7:05"]


NUMBERS = pd.Categorical([1, 2, 10, 1, 2] * 12)


@pytest.mark.parametrize(
    ("held", "files"),
    [
        (NUMBERS, ["1\n2\n10", "1.0\n2.0\n10.0", "01\n2\n10", "1\n2.0\n10\nx", "1.0\n2\n10\n?"]),
        (
            [i % 2 == 0 for i in range(60)],
            ["true\nFalse\n", "1\n0", "1.0\n0.0", "1\n0\n2", "1\nfalse\nx", "TRUE\n0.0"],
        ),
        (
            pd.to_datetime(["2024-01-02 00:00", "2024-01-03 10:30"] * 30),
            ["2024-01-02\n2024-01-03 10:30:00", "2024-01-02\n2024-01-03T10:30\nx"],
        ),
        (
            pd.to_datetime(["2024-01-02", "2024-01-03"] * 30).date,
            ["2024-01-02\n2024-01-03", "2024-01-02 00:00\n2024-01-03", "2024-01-02\n2024-01-03\nx"],
        ),
        (
            [pd.Timestamp(f"2024-01-01 {t}").time() for t in ("07:05", "12:30:15")] * 30,
            ["7:05\n12:30:15", "07:05:00\n12:30:15\nx"],
        ),
    ],
)  # fmt: skip
def test_categories_match_however_a_file_writes_them(tmp_path: Path, held, files) -> None:
    """The column held numbers, truth values, moments, days or times when the model was fitted."""
    rows = pd.DataFrame({"c": held, "x": np.arange(60) % 7})
    y = ["uvw"[i] for i in pd.factorize(rows["c"])[0]]
    plain = {"c": "categorical"}
    model = TableClassifier(families=plain, calibrate=False).fit(rows, y)
    assert model.plan_.used[0].kind == "category"
    first = rows.drop_duplicates("c")
    p = model.predict_proba(first.assign(x=1))
    for text in files:
        lines = text.split("\n")
        (tmp_path / "f.csv").write_text("\n".join(["c,x", *(f"{line},1" for line in lines)]))
        assert_array_equal(model.predict_proba(tmp_path / "f.csv")[: len(p)], p, err_msg=text)


def test_a_number_among_others_keeps_its_points() -> None:
    """0.5 has a decimal point, but 2.500 beside it is still as the model reads it."""
    rows = {"x": ["4.374,48", "3,5", "1.250,00", "2,25"] * 5}
    model = TableClassifier(calibrate=False).fit(rows, ["a", "b"] * 10)
    alone = model.predict_proba({"x": ["2.500"]})
    assert_array_equal(model.predict_proba({"x": ["2.500", "0.5"]})[:1], alone)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["05/12/2024 10:00:00", "06/11/2024 10:00:00"], [19855, 19885]),  # the month is first
        (["05-12-2024 10:00:00", "06-11-2024 10:00:00"], [20062, 20033]),
        (["05-30-2024", "05-12-2024"], [19873, 19855]),
        (["05-12-24", "06-11-24"], [20062, 20033]),
    ],
)
def test_all_dates_of_a_column_decide_the_order(tmp_path: Path, name, texts, days) -> None:
    rows = [{"t": text, "x": i} for i, text in enumerate(texts)]
    if name.endswith("csv"):
        (tmp_path / name).write_text("\n".join(["t,x", *(f"{r['t']},{r['x']}" for r in rows)]))
    else:
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    model = TableClassifier(calibrate=False, ignore=["x"]).fit(tmp_path / name, ["a", "b"])
    frame = model._matrix(model._opened(tmp_path / name).table())
    assert np.floor(frame.columns[0]).tolist() == days


@pytest.mark.parametrize("packed", [False, True])
def test_the_line_of_names_has_the_delimiter(tmp_path: Path, packed: bool) -> None:
    """Decimal commas in all fields are no delimiters."""
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    for delimiter in ";\t|":
        content = f"a{delimiter}b\n" + f"2,5{delimiter}3,5\n" * 3
        path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
        source = open_table(path)
        assert source.columns == ["a", "b"]
        assert source.table().column("b").to_pylist() == ["3,5"] * 3
        assert list(source.lines().rows()) == content.encode().splitlines(keepends=True)[1:]
    (tmp_path / "u.csv").write_text("a;b;c\nx;1;2\n")
    (tmp_path / "v.csv").write_text("a;b;c\n1,5;2,5;3,5\n")
    both = open_table([str(tmp_path / "u.csv"), str(tmp_path / "v.csv")]).table()
    assert both.to_pylist()[1] == {"a": "1,5", "b": "2,5", "c": "3,5"}
    (tmp_path / "w.csv").write_text("a;b;b\n1,5;2,5;3,5\n")
    with pytest.raises(TableError, match="two columns 'b'"):
        open_table(tmp_path / "w.csv")
