"""Numbers and dates as people write them are read as such, and the same way ever after."""

from __future__ import annotations

import datetime
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from genus import TableClassifier, TableError, cross_validate, load
from genus.arrays import arrow
from genus.cli.predicting import has_commas
from genus.table import Frame, look, open_table
from genus.table.numerals import read, reading_of
from genus.table.plan import as_numbers


def numbers(texts, how=None):
    strings = arrow.strings(texts)
    how = reading_of(strings) if how is None else how
    assert how is not None
    return arrow.plain(read(strings, how), np.nan).tolist()


def days(*date):
    return (datetime.datetime(*date) - datetime.datetime(1970, 1, 1)) / datetime.timedelta(1)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["$1,357.72", "$2.50"], [1357.72, 2.5]),
        (["1,358", "12", "1,234,567"], [1358, 12, 1234567]),
        (["47.6%", "3 %", "-0.5%"], [0.476, 0.03, -0.005]),
        (["1.4k", "2M", "0.5B", "7"], [1400, 2e6, 5e8, 7]),
        (["(12)", "(1,000.5)", "3"], [-12, -1000.5, 3]),
        (["-$5", "$-6", "+7"], [-5, -6, 7]),
        (["12.50 €", "£3"], [12.5, 3]),
        (["1.357,72", "3,5"], [1357.72, 3.5]),
        (["0,125", "1,358"], [0.125, 1.358]),  # a group of thousands does not begin with 0
        (["1.357,72 €", "(2,5)"], [1357.72, -2.5]),
        (["1e3", "-.5"], [1000, -0.5]),
        (["EUR 12.50", "7 EUR", "DKK 3"], [12.5, 7, 3]),
        (["CHF 1'234.50", "2\u2019000"], [1234.5, 2000]),
        (["1 234,50", "12\u00a0345\u202f678", "7"], [1234.5, 12345678, 7]),
        (["1 234.5", "12 345k"], [1234.5, 12345000]),
        (["1\u00a0234,50\u00a0€", "7,5\u202f€"], [1234.5, 7.5]),
        (["\u22123.5", "4", "$\u22122"], [-3.5, 4, -2]),
        (["1.234,50-", "7,00", "€ 3,25-"], [-1234.5, 7, -3.25]),
        (["1,234.50-", "7.00"], [-1234.5, 7]),
        (["145.0 kg", "98kg", "-1,234 kg"], [145, 98, -1234]),
        (["145,5 km/h", "1.098 km/h"], [145.5, 1098]),
        (["20°", "-3.5°"], [20, -3.5]),
        (["20 °C", "-3\u00a0°C"], [20, -3]),
        (["2.954 kg", "768 kg", "12.340 kg"], [2954, 768, 12340]),
    ],
)
def test_numbers(texts, values):
    assert numbers(texts) == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["Dec 05, 2020", "January 1, 2021"], [(2020, 12, 5), (2021, 1, 1)]),
        (["5 Dec 2020", "31-Jan-1999"], [(2020, 12, 5), (1999, 1, 31)]),
        (["9/30/1990 0:00:00", "1/2/1991 13:30:00"], [(1990, 9, 30), (1991, 1, 2, 13, 30)]),
        (["12/05/2020", "1/2/2021"], [(2020, 12, 5), (2021, 1, 2)]),
        (["12/05/2020", "13/2/2021"], [(2020, 5, 12), (2021, 2, 13)]),
        (["12.05.2020", "1.2.2021"], [(2020, 5, 12), (2021, 2, 1)]),
        (["12/05/20", "1/2/99"], [(2020, 12, 5), (1999, 1, 2)]),
        (["1/2/2020 24:00", "1/2/2020 23:59:60"], [(2020, 1, 3), (2020, 1, 3)]),
        (["1/2/2020 12:05 AM", "1/2/2020 1:05 PM"], [(2020, 1, 2, 0, 5), (2020, 1, 2, 13, 5)]),
        (
            ["2021/12/05", "2021-12-06", "2021/12/07 06:00"],
            [(2021, 12, 5), (2021, 12, 6), (2021, 12, 7, 6)],
        ),
        (["05-Dec-21", "1 Jan 99"], [(2021, 12, 5), (1999, 1, 1)]),
        (["2020-12-05", "2020-12-05T06:00:00Z"], [(2020, 12, 5), (2020, 12, 5, 6)]),
        (["2024-03", "2023-12"], [(2024, 3, 1), (2023, 12, 1)]),
        (["2024/03", "1999-12"], [(2024, 3, 1), (1999, 12, 1)]),
        (["03/2023", "12/1999", "7/2024"], [(2023, 3, 1), (1999, 12, 1), (2024, 7, 1)]),
        (["2024-05-07T03:26:00+02:00", "2024-05-07"], [(2024, 5, 7, 1, 26), (2024, 5, 7)]),
        (["2024-05-07 03:26:00.250+0200"], [(2024, 5, 7, 1, 26, 0, 250_000)]),
        (
            ["2024-05-07T03:26-00:30", "2024-05-07 23:26 -02"],
            [(2024, 5, 7, 3, 56), (2024, 5, 8, 1, 26)],
        ),
        (
            ["2024-01-15 10:00:00,123", "2024-01-15 10:00 UTC"],
            [(2024, 1, 15, 10, 0, 0, 123_000), (2024, 1, 15, 10)],
        ),
        (
            ["15/Jan/2024:10:00:00 +0000", "16/Feb/2024:10:00:00 +0130"],
            [(2024, 1, 15, 10), (2024, 2, 16, 8, 30)],
        ),
        (["Sunday, 05 March 2023", "Mon, 6 Mar 2023"], [(2023, 3, 5), (2023, 3, 6)]),
        (["Sunday, March 5, 2023", "Mon, Mar 6, 2023"], [(2023, 3, 5), (2023, 3, 6)]),
        (
            ["Sun, 05 Mar 2023 10:00:00 +0100", "Mon, 06 Mar 2023 10:00:00 GMT"],
            [(2023, 3, 5, 9), (2023, 3, 6, 10)],
        ),
        (
            ["5 mars 2023", "1er août 2023", "dim. 3 févr. 2023"],
            [(2023, 3, 5), (2023, 8, 1), (2023, 2, 3)],
        ),
        (
            ["05. Mär 2023", "5. März 2023", "So., 3. Dez. 2023"],
            [(2023, 3, 5), (2023, 3, 5), (2023, 12, 3)],
        ),
        (["3/5/2023, 7:05:00 PM", "3/25/2023, 12:00 a.m."], [(2023, 3, 5, 19, 5), (2023, 3, 25)]),
    ],
)
def test_dates(texts, dates):
    assert numbers(texts) == pytest.approx([days(*date) for date in dates])


@pytest.mark.parametrize(
    "texts",
    [
        ["red", "green"],
        ["k", "m"],
        ["$", "%"],
        ["30.02.2020"],
        ["13/13/2020"],
        ["1,23,456"],
        ["1 23", "12 3456"],
        ["EURO 5"],
        ["12 kg", "12 g"],
        ["12 kg", "many kg"],
        ["5-", "3.5--"],
        ["-5.5-"],
        ["13/2023", "03/2023"],
        ["12-05-20-05"],
        ["1/2/2020 10:00-12:00"],
        ["\u0663 kg"],
        ["5\u2009kg"],
        ["7:05 XM"],
        ["5 Foo 2023"],
        ["2024-05-07T25:00:00+02:00"],
        ["2024-05-07+02:00"],
        ["0x146d", "0x22ad"],
        ["2021/1/5 x", "21/12/2021"],
        ["Foo 12, 2020"],
        ["12:30", "1/2/2020 25:00"],
        ["12:30", "24:01"],
        ["12:30", "12:60"],
        ["7:5"],
        ["2024-13", "2024-12"],
        ["2024-00"],
        ["2024-3"],
        ["2024-03", "2024-03-01"],
        ["4711-08"],
        ["1/2/2020 24:59"],
        ["1/2/2020 24:00:01"],
        ["1-2", "3-4"],
        [],
    ],
)
def test_others_are_no_numbers(texts):
    assert reading_of(arrow.strings(texts)) is None


def test_times_of_day_in_two_halves():
    assert numbers(["7:05 PM", "12:30 am", "12:00:01.5 p.m."]) == [68_700, 1800, 43_201.5]


def test_a_column_is_read_as_it_was_at_first():
    """12/05/2020 by itself would be in December."""
    column = arrow.strings(["25/12/2020", "12/05/2020"])
    plan = look(pa.table({"day": column}))
    (day,) = plan.used
    assert (day.written, day.unit, day.note) == (
        "day first",
        "days",
        "dates, day first, counted as days",
    )
    alone = as_numbers(arrow.strings(["12/05/2020"]), "day", day.type, day.written)
    assert alone.tolist() == [days(2020, 5, 12)]
    assert as_numbers(arrow.strings(["12/05/2020"]), "day", day.type).tolist() == [
        days(2020, 12, 5)
    ]


@pytest.mark.parametrize(
    ("known", "texts", "wrong"),
    [
        ("day first", ["09/01/2024", "12/31/2024"], "12/31/2024"),
        ("month first", ["09/01/2024", "31/12/2024"], "31/12/2024"),
        ("decimal points", ["1,358", "1,5"], "1,5"),
        ("decimal commas", ["1.358", "1,358.5"], "1,358.5"),
    ],
)
def test_other_rows_do_not_change_how_a_value_is_read(known, texts, wrong):
    """A row cannot exchange day and month, or point and comma, for the rows that come with it."""
    first = as_numbers(arrow.strings(texts[:1]), "x", "string", known)
    assert as_numbers(arrow.strings([*texts[:1] * 3]), "x", "string", known)[0] == first[0]
    with pytest.raises(TableError, match=f"holds text \\('{wrong}'\\)"):
        as_numbers(arrow.strings(texts), "x", "string", known)


def test_dates_that_leave_no_doubt_are_read_beside_others():
    texts = ["03/02/2025", "2025-02-04", "Feb 05, 2025", "6 Feb 2025", ""]
    found = as_numbers(arrow.strings(texts), "day", "string", "day first")
    assert found[:4].tolist() == [days(2025, 2, d) for d in (3, 4, 5, 6)]
    assert np.isnan(found[4])
    iso = ["2025-02-04", "03.02.2025"]  # a column of type date
    assert as_numbers(arrow.strings(iso), "day", "date32", "", "days").tolist() == [
        days(2025, 2, 4),
        days(2025, 2, 3),
    ]
    with pytest.raises(TableError, match=r"holds text \('03/02/2025'\)"):  # February or March
        as_numbers(arrow.strings([iso[0], "03/02/2025"]), "day", "date32", "", "days")
    assert as_numbers(arrow.strings(["1.5e3", "$2"]), "x", "string", "decimal points").tolist() == [
        1500.0,
        2.0,
    ]


def table(rows):
    rng = np.random.default_rng(1)
    late = rng.random(rows) < 0.5
    day = [
        (datetime.date(2020, 1, 1) + datetime.timedelta(int(d))).strftime("%d/%m/%Y")
        for d in rng.integers(0, 200, rows) + 160 * late
    ]
    price = [f"${p:,.2f}" for p in rng.lognormal(6.5 + late, 0.7, rows)]
    return {"day": day, "price": price, "late": np.where(late, "yes", "no").tolist()}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numerals")
    rows = table(300)
    lines = ["day;price;late", *(";".join(row) for row in zip(*rows.values(), strict=True))]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    model = TableClassifier().fit(folder / "t.csv", target="late")
    return folder, rows, model


def test_a_file_of_them_is_learned_from(fitted):
    _, rows, model = fitted
    kinds = {column.name: (column.kind, column.unit) for column in model.plan_.used}
    assert kinds == {"day": ("number", "days"), "price": ("number", "")}
    plain = {
        "day": [datetime.datetime.strptime(d, "%d/%m/%Y").date() for d in rows["day"]],
        "price": [float(p.replace("$", "").replace(",", "")) for p in rows["price"]],
    }
    same = TableClassifier().fit(plain, rows["late"])
    found = model.predict_proba({"day": rows["day"], "price": rows["price"]})
    assert found == pytest.approx(same.predict_proba(plain), abs=1e-12)


def test_one_row_is_read_as_all_rows_are(fitted, tmp_path):
    _, rows, model = fitted
    model.save(tmp_path / "m.genus")
    again = load(tmp_path / "m.genus")
    together = model.predict_proba({"day": rows["day"], "price": rows["price"]})
    for i in range(0, 300, 60):
        alone = {"day": [rows["day"][i]], "price": [rows["price"][i]]}
        assert again.predict_proba(alone)[0] == pytest.approx(together[i], abs=1e-12)


def test_samples_are_read_again(fitted):
    _, _, model = fitted
    drawn, _ = model.sample(50, random_state=0)
    assert np.isfinite(model.predict_proba(drawn)).all()


def test_what_is_no_date_is_refused_by_its_text(fitted):
    _, _, model = fitted
    with pytest.raises(TableError, match=r"'day' held dates.*now holds text \('soon'\)"):
        model.predict({"day": ["01/02/2020", "soon"], "price": ["$1", "$2"]})


@pytest.mark.parametrize("day", ["12/05/20", "05.12.2020", "12-05-2020", "Dec 05, 2020"])
def test_csv_files_leave_dates_as_they_are_written(tmp_path, day):
    (tmp_path / "t.csv").write_text(f"day;x\n{day};1\n{day};2\n")
    assert open_table(str(tmp_path / "t.csv")).table()["day"].to_pylist() == [day, day]


def test_times_of_day_as_text_are_read_as_in_csv_files(tmp_path):
    times = [f"{i % 24}:{i * 7 % 60:02d}" for i in range(200)] + ["23:59:58.25", "0:58", ""]
    path = tmp_path / "t.csv"
    path.write_text("at,y\n" + "".join(f"{at},{'uv'[i % 2]}\n" for i, at in enumerate(times)))
    model = TableClassifier(calibrate=False).fit(path, target="y")
    (column,) = model.plan_.used
    assert (column.unit, column.type) == ("seconds", "time64[us]")
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        database.execute("CREATE TABLE t (at TEXT)")
        database.executemany("INSERT INTO t VALUES (?)", [(at,) for at in times])
    same = open_table(str(tmp_path / "t.sqlite")).table()
    read = [
        as_numbers(rows.column("at"), "at", column.type, "", column.unit)
        for rows in (open_table(str(path)).table(), same)
    ]
    assert np.array_equal(*read, equal_nan=True)
    for text in ("25:00", "7:5", "7", "soon", "7:05 PM and more"):
        with pytest.raises(TableError, match=r"Column 'at' held .*now holds"):
            model.predict({"at": [text, "0:58"]})


def test_times_of_day_are_the_same_in_every_format(tmp_path):
    rng = np.random.default_rng(0)
    early = rng.random(200) < 0.5
    minutes = rng.integers(0, 700, 200) + 700 * ~early
    at = [f"{m // 60}:{m % 60:02d}" if i % 50 else "" for i, m in enumerate(minutes)]
    rows = {"at": at, "y": np.where(early, "early", "late").tolist()}
    lines = zip(*rows.values(), strict=True)
    (tmp_path / "t.csv").write_text("\n".join(["at,y", *map(",".join, lines)]))
    pd.DataFrame(rows).to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        pd.DataFrame(rows).to_sql("t", database, index=False)
    names = ["t.csv", "t.jsonl", "t.parquet", "t.sqlite"]
    tables = [*(tmp_path / name for name in names), pd.DataFrame(rows), pl.DataFrame(rows), rows]
    models = [TableClassifier(calibrate=False).fit(one, target="y") for one in tables]
    p = models[0].predict_proba(tmp_path / "t.csv")
    for model in models:
        (column,) = model.plan_.used
        assert (column.kind, column.unit) == ("number", "seconds")
        assert not model.cautions() or "leak" in model.cautions()[0]
        for one in tables:
            assert np.array_equal(model.predict_proba(one), p)
    drawn, _ = models[2].sample(20, random_state=0)
    assert all(len(text) == 8 for text in drawn["at"].to_pylist() if text)
    assert np.isfinite(models[0].predict_proba(drawn)).all()
    both = models[0] + models[2]
    assert both.plan_.used[0].unit == "seconds"
    with pytest.raises(TableError, match=r"'at' held times.*but now holds dates \('2024-05-01'\)"):
        models[2].predict({"at": ["2024-05-01"]})


def test_years_and_months_are_dates(tmp_path):
    months = [f"{2015 + i // 12}-{i % 12 + 1:02d}" for i in range(96)]
    rows = {"since": months * 2, "y": ["new" if m > "2019" else "old" for m in months] * 2}
    model = TableClassifier(calibrate=False).fit(rows, target="y")
    (column,) = model.plan_.used
    assert (column.is_date, column.note) == (True, "years and months, counted as days")
    p = model.predict_proba({"since": ["2016-05", "2022/11"]})
    days = [datetime.date(2016, 5, 1), datetime.date(2022, 11, 1)]
    for same in (["2016-05-01", "2022-11-01"], ["1 May 2016", "Nov 1, 2022"], days):
        assert np.array_equal(model.predict_proba({"since": same}), p)
    found = cross_validate(
        TableClassifier(calibrate=False), rows, target="y", folds=4, time="since"
    )
    assert len(found.y) < 192
    with pytest.warns(UserWarning, match="not dates, such as '2015-13'"):
        look(pa.table({"part": [*months, "2015-13"]}))


def test_marks_that_are_missing_categories_are_told():
    """NA may also be Namibia."""
    land = ["NA", "DE", "FR", "?", "-"] * 20
    rows = {"land": land, "x": list(range(50)) * 2, "y": ["a", "b"] * 50}
    model = TableClassifier(calibrate=False).fit(rows, target="y")
    column = next(column for column in model.plan_.used if column.name == "land")
    assert column.note == "'?', 'NA' read as missing"
    assert "'?', 'NA' read as missing; 40 % missing" in str(model.summary())
    axis = model.model_.statistics["cells"].keys[model.plan_.used.index(column)]
    assert set(axis) == {"-", "DE", "FR"}
    many = [f"c{i % 90}" if i % 9 else "null" for i in range(900)]
    (column,) = look(pa.table({"c": many})).columns
    assert column.note == "81 categories; 'null' read as missing"


def test_mixed_currencies_are_told():
    table = {"paid": [f"{'$€'[i % 2]}{i}" for i in range(40)], "y": [i % 3 == 0 for i in range(40)]}
    (column,) = TableClassifier().fit(table, target="y").plan_.used
    assert "$ and € mixed, without conversion" in column.note


# A few texts among numbers or dates


FORMS = {
    "plain": ([f"{i / 7:.2f}" for i in range(400)], "12O.5"),
    "money": ([f"${i},{i:03}" for i in range(1, 401)], "see note"),
    "commas": ([f"{i},{i % 10}" for i in range(400)], '"3'),
    "dates": ([f"{1 + i % 28:02}/{1 + i % 12:02}/20{i % 24:02}" for i in range(400)], "30/02/2020"),
    "times": ([f"{i % 24}:{i % 60:02}" for i in range(400)], "noon"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_few_texts_among_numbers_are_missing(form, tmp_path):
    """They are as missing as empty cells: in all formats, in any company, and in saved models."""
    texts, odd = FORMS[form]
    y = np.array(["no", "yes"])[(np.arange(400) // 7) % 2]
    with_odd = [odd if i % 50 == 3 else text for i, text in enumerate(texts)]
    empty = [None if i % 50 == 3 else text for i, text in enumerate(texts)]
    with pytest.warns(
        UserWarning, match=r"8 of 400 values are not \w.*, such as '.*read as missing"
    ):
        model = TableClassifier().fit(pd.DataFrame({"x": with_odd}), y)
    plain = TableClassifier().fit(pd.DataFrame({"x": empty}), y)
    (column,) = model.plan_.columns
    assert column.kind == "number"
    assert odd not in column.note
    assert column.note.endswith("8 of 400 values read as missing")
    expected = plain.predict_proba(pd.DataFrame({"x": empty}))
    np.testing.assert_array_equal(model.predict_proba(pd.DataFrame({"x": with_odd})), expected)

    rows = pd.DataFrame({"x": [odd, "another", texts[5], None]})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    model.save(tmp_path / "model")
    known = load(tmp_path / "model")
    alone = np.vstack([known.predict_proba(rows.iloc[[i]]) for i in range(4)])
    for name in ("rows.csv", "rows.parquet"):
        np.testing.assert_array_equal(known.predict_proba(tmp_path / name), alone)
    np.testing.assert_array_equal(alone[[0, 1]], alone[[3, 3]])
    with pytest.raises(TableError, match="now holds text"):
        plain.predict_proba(rows)


def test_texts_that_are_not_few_among_numbers_are_categories():
    numbers, odd = FORMS["plain"]
    y = np.arange(400) % 2
    often = pd.DataFrame({"x": [odd if i % 8 == 0 else n for i, n in enumerate(numbers)]})
    codes = pd.DataFrame({"x": [odd, *(str(i % 9) for i in range(399))]})
    for frame in (often, codes):
        (column,) = TableClassifier().fit(frame, y).plan_.columns
        assert column.kind == "category"
    asked = TableClassifier(families={"x": "gaussian"})
    with pytest.warns(UserWarning, match="50 of 400 values are not numbers"):
        model = asked.fit(often, y)
    texts = pd.DataFrame({"x": ["what", None]})
    np.testing.assert_array_equal(*model.predict_proba(texts))
    mostly = pd.DataFrame({"x": [odd if i % 5 else n for i, n in enumerate(numbers)]})
    with pytest.raises(TableError, match="which is not a number"):
        asked.fit(mostly, y)


def test_dates_among_numbers_are_missing():
    numbers, _ = FORMS["plain"]
    y = np.arange(400) % 2
    with pytest.warns(UserWarning, match="1 of 400 values are not numbers, such as '2020-05-06'"):
        model = TableClassifier().fit(pd.DataFrame({"x": ["2020-05-06", *numbers[1:]]}), y)
    some = pd.DataFrame({"x": ["2020-05-06", "1.5", None]})
    found = model.predict_proba(some)
    np.testing.assert_array_equal(found[0], found[2])
    alone = model.predict_proba(pd.DataFrame({"x": ["2020-05-06"]}))
    np.testing.assert_array_equal(alone[0], found[2])


@pytest.mark.parametrize("written", ["", "decimal points", "decimal commas", "day first", "dates"])
def test_a_value_among_texts_is_read_alike_in_any_company(written):
    """A text among them, or a number with a comma, does not change how the others are read."""
    texts = ["12,5", "1,200", "1.5", "abc", "2020-05-06", "2020-02-30", "7", "--5", "12b"]
    texts += ["30.02.2023", "1.5.2023", "5/6/2020", "6 Foo 2023", "", "7 May 2023 25:00"]
    together = as_numbers(arrow.strings(texts), "x", "string", written, lenient=True)
    for i, text in enumerate(texts):
        alone = as_numbers(arrow.strings([text]), "x", "string", written, lenient=True)
        np.testing.assert_array_equal(alone, together[[i]])
    expected = {"": 1200, "decimal points": 1200, "decimal commas": 1.2}.get(written, np.nan)
    np.testing.assert_array_equal(together[1], expected)
    assert np.isnan(together[[3, 5, 7, 8, 9, 12, 13, 14]]).all()


def test_days_that_do_not_exist_are_found_without_reading_each_by_itself(monkeypatch):
    dates = [f"{1 + i % 28:02}.{1 + i % 12:02}.{1900 + i % 120}" for i in range(4000)]
    dates[7] = "30.02.2023"
    calls = []

    def counted(strings, how):
        calls.append(how)
        return read(strings, how)

    monkeypatch.setattr("genus.table.numerals.read", counted)
    with pytest.warns(UserWarning, match="1 of 4,000 values are not dates, such as '30.02.2023'"):
        (column,) = look(pa.table({"day": dates})).columns
    assert (column.written, len(calls) < 40) == ("day first", True)


@pytest.mark.parametrize("last", [True, False])
def test_the_order_of_rows_does_not_decide_what_a_column_holds(last):
    numbers, texts = [f"{i / 7:.2f}" for i in range(3700)], ["about 40"] * 300
    rows = numbers + texts if last else texts + numbers
    with pytest.warns(UserWarning, match="300 of 4,000 values are not numbers"):
        (column,) = look(pa.table({"x": rows})).columns
    assert (column.kind, column.written) == ("number", "")


@pytest.mark.parametrize("at", [5, 2500])
def test_a_text_in_a_column_with_commas_does_not_change_what_dots_mean(at):
    prices = [f"{i},{i % 10}" for i in range(3000)]
    prices[at] = "about 40"
    rows = pa.table({"x": ["2.954", "12.340", "768"] * 1000, "z": prices})
    with pytest.warns(UserWarning, match="'z'"):
        assert look(rows).columns[0].written == "decimal commas, dots for thousands"


def test_ignored_columns_and_the_target_do_not_decide_what_dots_mean():
    rows = pa.table({"x": ["2.954", "12.340", "1.068"] * 9, "z": ["1,5", "2,5", "3"] * 9})
    assert look(rows, ignored=["z"]).columns[0].written == ""
    assert look(rows, target="z").columns[0].written == ""


# Letters after numbers


@pytest.mark.parametrize(
    "texts",
    [["12", "12b", "7"], ["12K", "7B", "30M"], ["5.5m", "7"], ["3k", "40"], ["--5", "3,000.5"]],
)
def test_numbers_with_letters_in_doubt_are_no_numbers(texts):
    assert reading_of(arrow.strings(texts)) is None


@pytest.mark.parametrize(
    ("texts", "how", "values"),
    [
        (["5m", "12m", "1.5m"], "decimal points in m", [5, 12, 1.5]),
        (["50k", "60k"], "decimal points in k", [50, 60]),
        (["$5m", "7"], "decimal points, scaled by k, M and B", [5e6, 7]),
        (["1.5k", "2.5k"], "decimal points, scaled by k, M and B", [1500, 2500]),
        (["1,5k", "2M"], "decimal commas, scaled by k, M and B", [1500, 2e6]),
    ],
)
def test_letters_scale_numbers_only_if_it_is_clear(texts, how, values):
    assert reading_of(arrow.strings(texts)) == how
    assert numbers(texts) == pytest.approx(values)


def test_letters_of_house_numbers_are_all_missing():
    houses = [str(i) for i in range(3, 300, 3)] + ["12a", "12b", "12c"]
    with pytest.warns(UserWarning, match="3 of 102 values are not numbers, such as '12a'"):
        (column,) = look(pa.table({"house": houses})).columns
    how = column.written, column.unit, column.lenient
    assert np.isnan(as_numbers(arrow.strings(["12b"]), "house", column.type, *how)).all()
    scaled = [f"1.{i}k" for i in range(100)]
    assert look(pa.table({"x": [*scaled, "5a"]})).columns[0].kind != "number"
    for text in ("12b", "12B"):
        with pytest.raises(TableError, match=f"holds text \\('{text}'\\)"):
            as_numbers(arrow.strings([text]), "house", "string")


def test_parts_with_and_without_scaled_numbers_are_merged():
    with_k = look(pa.table({"x": ["$1.4k", "$2M", "$7"] * 9}))
    without = look(pa.table({"x": ["$1,400", "$2.50", "$7"] * 9}))
    for plan in (with_k.common(without), without.common(with_k)):
        assert plan.columns[0].written == "decimal points, scaled by k, M and B"


def test_no_word_of_the_data_is_kept_as_a_unit():
    rows = pa.table({"x": [f"{i / 7:.1f} Meier" for i in range(60)]})
    assert "Meier" not in str(look(rows))


# Dots that separate thousands


def thousands(numbers):
    return [f"{n:,}".replace(",", ".") for n in numbers]


SALES = np.random.default_rng(3).lognormal(7, 1.5, 300).round().astype(int).clip(1, 999_999)
LARGE = np.where(SALES > 1200, "large", "small")


def written_as(rows, tmp_path, name):
    """Write rows to a file, or return them as a frame if `name` is empty."""
    path = tmp_path / name
    if name.endswith("csv"):
        pd.DataFrame(rows).to_csv(path, sep="," if name == "quoted.csv" else ";", index=False)
    elif name.endswith("parquet"):
        pd.DataFrame(rows).to_parquet(path)
    elif name.endswith("jsonl"):
        pd.DataFrame(rows).to_json(path, orient="records", lines=True)
    elif name.endswith("sqlite"):
        with sqlite3.connect(path) as database:
            pd.DataFrame(rows).to_sql("t", database, index=False, if_exists="replace")
    return path if name else pd.DataFrame(rows)


ALL_FORMATS = ["t.csv", "quoted.csv", "t.parquet", "t.jsonl", "t.sqlite", ""]


@pytest.mark.parametrize("name", ALL_FORMATS)
@pytest.mark.parametrize("commas", [True, False])
def test_whole_numbers_with_dots_for_thousands(tmp_path, name, commas):
    rows = {"sales": thousands(SALES), "price": [f"{n % 90},{n % 100:02}" for n in SALES]}
    if not commas:
        del rows["price"]
    if not commas and name == "quoted.csv":
        name = "t.csv"
    model = TableClassifier(calibrate=False).fit(
        written_as(rows | {"y": LARGE}, tmp_path, name), target="y"
    )
    column = next(c for c in model.plan_.columns if c.name == "sales")
    assert (column.kind, column.written) == ("number", "decimal commas, dots for thousands")
    plain = TableClassifier(calibrate=False).fit(pd.DataFrame(rows | {"sales": SALES}), LARGE)
    p = model.predict_proba(written_as(rows, tmp_path, name))
    np.testing.assert_array_equal(
        p, plain.predict_proba(written_as(rows | {"sales": SALES}, tmp_path, ""))
    )
    for i in (0, 7, int(SALES.argmin()), int(SALES.argmax())):
        alone = {key: values[i : i + 1] for key, values in rows.items()}
        np.testing.assert_array_equal(
            model.predict_proba(written_as(alone, tmp_path, name))[0], p[i]
        )


def test_dots_for_thousands_everywhere_beside_decimal_commas():
    rows = pa.table({"sales": ["2.954", "12.340", "1.000"] * 9, "price": ["1,5", "2,25", "3"] * 9})
    with pytest.warns(UserWarning, match="dots in values such as 2.954 are read as separators of"):
        plan = look(rows)
    sales, price = plan.columns
    assert (sales.written, price.written) == (
        "decimal commas, dots for thousands",
        "decimal commas",
    )
    assert sales.common(replace(price, name="sales")).written == "decimal commas"
    for wrong in ("52.6", "0.5", "52.60"):
        with pytest.raises(TableError, match=f"holds text \\('{wrong}'\\)"):
            as_numbers(arrow.strings([wrong, "52.600"]), "sales", sales.type, sales.written)
    drawn = Frame.to_arrow(np.array([[52.6, 1.5], [None, 1e-6]], dtype=object), plan)
    assert drawn.to_pydict() == {"sales": ["52,6", None], "price": ["1,5", "0,000001"]}
    (alone,) = look(rows.select(["sales"])).columns
    assert alone.written == ""


@pytest.mark.parametrize(
    "texts",
    [
        ["2.954", "768", "12.34"],
        ["0.954", "768", "12.340"],
        ["2.954", "1768", "12.340"],
        ["2.954", "12.340"],
        ["768", "12"],
        ["1.5e3", "2.954", "768"],
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_other_dots_are_decimal_points(tmp_path, texts, name, recwarn):
    rows = {"x": texts * 9, "note": ["one", "two", "three"][: len(texts)] * 9}
    column = look(open_table(written_as(rows, tmp_path, name)).table()).columns[0]
    assert (column.written, column.note, len(recwarn)) == ("", "", 0)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_dots_that_leave_doubt_are_told(tmp_path, name):
    rows = {"weight": ["2", "1.250", "3", "4.500"] * 9, "y": ["a", "b"] * 18}
    table = written_as(rows, tmp_path, name)
    with pytest.warns(UserWarning, match=r"'weight', values such as 1.250 are read as decimals"):
        model = TableClassifier(calibrate=False).fit(table, target="y")
    (column,) = model.plan_.columns
    assert column.note == "dots read as decimal points"
    numbers = TableClassifier(calibrate=False).fit(
        pd.DataFrame(rows | {"weight": [float(x) for x in rows["weight"]]}), target="y"
    )
    p = numbers.predict_proba({"weight": [1.25, 3]})
    for texts in (["1.250", "3"], ["1.250", "3", "768", "900"]):
        found = model.predict_proba(written_as({"weight": texts}, tmp_path, name))
        np.testing.assert_array_equal(found[:2], p)


def test_a_model_of_plain_numbers_reads_plain_numbers(tmp_path):
    """The other rows of a file do not turn 2.954 into a number of thousands."""
    rows = {"x": np.round(np.random.default_rng(0).normal(5, 2, 100), 3), "y": ["a", "b"] * 50}
    model = TableClassifier(calibrate=False).fit(pd.DataFrame(rows), target="y")
    texts = {"x": ["2.954", "768", "12.340"]}
    p = model.predict_proba({"x": [2.954, 768, 12.34]})
    for name in ALL_FORMATS:
        np.testing.assert_array_equal(model.predict_proba(written_as(texts, tmp_path, name)), p)


def test_long_files_are_looked_at_for_dots(tmp_path):
    lines = [f"{text};{i}" for i, text in enumerate(thousands(SALES) * 2500)]
    (tmp_path / "t.csv").write_text("\n".join(["sales;n", *lines]))
    assert (tmp_path / "t.csv").stat().st_size > 4 << 20
    source = open_table(tmp_path / "t.csv")
    assert [str(kind) for kind in source.schema.types] == ["string", "int64"]


# Forms that are the same in every format

START, STEP = datetime.datetime(2023, 1, 1, 3, 26), datetime.timedelta(hours=55)
MOMENTS = [START + i * STEP for i in range(120)]
ZONE = datetime.timezone(datetime.timedelta(hours=2))
GERMAN = ["Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]
OTHERS = {
    "offsets": [m.replace(tzinfo=ZONE).isoformat() for m in MOMENTS],
    "short offsets": [f"{m:%Y-%m-%dT%H:%M:%S}+0200" for m in MOMENTS],
    "parts of seconds": [f"{m:%Y-%m-%dT%H:%M:%S}.250+02:00" for m in MOMENTS],
    "logging": [f"{m:%Y-%m-%d %H:%M:%S},123" for m in MOMENTS],
    "Apache": [f"{m:%d/%b/%Y:%H:%M:%S} +0000" for m in MOMENTS],
    "halves": [f"{m:%I:%M %p}".lstrip("0") for m in MOMENTS],
    "weekdays": [f"{m:%A, %d %B %Y}" for m in MOMENTS],
    "mail": [f"{m:%a, %d %b %Y %H:%M:%S} +0100" for m in MOMENTS],
    "German": [f"{m.day:02}. {GERMAN[m.month - 1]} {m.year}" for m in MOMENTS],
    "months": [f"{m:%m/%Y}" for m in MOMENTS],
    "minus": [f"{i - 60}".replace("-", "\u2212") for i in range(120)],
    "SAP": [f"{i},50{'-' if i % 3 else ''}" for i in range(120)],
    "kg": [f"{i / 7:.1f} kg" for i in range(120)],
    "k.A.": [f"{i / 7:.2f}" if i % 3 else "k. A." if i % 2 else "k.A." for i in range(120)],
}


@pytest.mark.parametrize("form", OTHERS)
def test_other_forms_are_the_same_in_every_format(form, tmp_path):
    rows = {"x": OTHERS[form], "n": list(range(120))}
    names = [name for name in ALL_FORMATS if name != "quoted.csv"]
    tables = [written_as(rows, tmp_path, name) for name in names]
    models = [TableClassifier(calibrate=False).fit(table, ["a", "b"] * 60) for table in tables]

    def values(model, table):
        return model._matrix(model._opened(table).table()).columns[0]

    expected = values(models[0], tables[0])
    assert len(np.unique(expected)) > 8
    for model in models:
        assert model.plan_.used[0].kind == "number"
        for table in tables:
            np.testing.assert_array_equal(values(model, table), expected)
        for i in (3, 90):
            alone = {key: column[i : i + 1] for key, column in rows.items()}
            for name in names:
                found = values(model, written_as(alone, tmp_path, f"one-{name}" if name else ""))
                np.testing.assert_array_equal(found, expected[[i]])


def test_offsets_are_shown_on_the_clocks_of_the_model():
    moments = pd.Series(pd.date_range("2024-03-30", periods=100, freq="h", tz="Europe/Berlin"))
    model = TableClassifier(calibrate=False).fit(pd.DataFrame({"x": moments}), ["a", "b"] * 50)
    column = model.plan_.used[0]
    texts = ["2024-03-31T00:30:00+00:00", "2024-03-31T02:30:00-04:00", "2024-03-31 08:30", ""]
    found = as_numbers(arrow.strings(texts), "x", column.type, column.written, column.unit)
    assert found[:3] == pytest.approx([days(2024, 3, 31, 1, 30), *[days(2024, 3, 31, 8, 30)] * 2])
    assert np.isnan(found[3])


def test_numbers_of_another_unit_are_refused():
    rows = {"x": [f"{i} g" for i in range(100)]}
    model = TableClassifier(calibrate=False).fit(rows, ["a", "b"] * 50)
    (column,) = model.plan_.columns
    assert column.note == "numbers in g"
    expected = model.predict_proba({"x": ["5 g", "7 g"]})
    np.testing.assert_array_equal(model.predict_proba({"x": ["5", "7g"]}), expected)
    for other in ("5 kg", "5 mg", "5 lb"):
        with pytest.raises(TableError, match=f"holds text \\('{other}'\\)"):
            model.predict_proba({"x": [other, "7 g"]})


@pytest.mark.parametrize("name", [name for name in ALL_FORMATS if name != "quoted.csv"])
def test_codes_with_a_base_are_categories_in_every_format(tmp_path, name):
    rows = {"code": ["0x146d", "0x22", "0b11", "7"] * 30, "n": list(range(120))}
    table = written_as(rows, tmp_path, name)
    model = TableClassifier(calibrate=False).fit(table, ["a", "b", "b", "a"] * 30)
    assert {c.name: c.kind for c in model.plan_.columns}["code"] == "category"
    p = model.predict_proba(table)
    alone = {"code": ["7"], "n": [3]}
    np.testing.assert_array_equal(model.predict_proba(written_as(alone, tmp_path, name))[0], p[3])
    numbers = TableClassifier(calibrate=False).fit(
        {"code": [i * i for i in range(40)]}, ["a", "b"] * 20
    )
    with pytest.raises(TableError, match="'0x22'"):
        numbers.predict(written_as({"code": ["0x22", "0x7"]}, tmp_path, name))


def test_a_family_for_numbers_does_not_turn_numbers_into_text():
    model = TableClassifier(families={"x": "gaussian"}, calibrate=False).fit(
        {"x": [i / 7 for i in range(100)]}, ["a", "b"] * 50
    )
    assert model.plan_.texts == ()
    np.testing.assert_array_equal(*model.predict_proba({"x": ["what", None]}))


def test_predictions_beside_decimal_commas_with_a_unit_have_commas():
    rows = {"x": [f"{i},5 kg" for i in range(100)]}
    model = TableClassifier(calibrate=False).fit(rows, ["a", "b"] * 50)
    assert has_commas(pa.table({"x": ["3,5 kg"]}), model.plan_)
    assert not has_commas(pa.table({"x": ["3 kg"]}), model.plan_)


# Several files


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("size", [30, 30_000])
def test_types_do_not_depend_on_the_order_of_files(tmp_path, turned, size):
    """Codes, dots for thousands and dates are looked for in the first rows of each file."""
    plain = {"c": "7", "price": "2.954", "amount": "5", "day": "2020-12-05"}
    odd = {"c": "0x146d", "price": "3.125", "amount": '"4,5"', "day": "05-12-2020"}
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, values in zip(paths, (plain, odd), strict=True):
        path.write_text("\n".join([",".join(values), *[",".join(values.values())] * size]))
    schema = open_table(paths[::-1] if turned else paths).schema
    assert set(map(str, schema.types)) == {"string"}
