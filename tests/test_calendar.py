"""Weekday, month and hour of dates: what they are, when they are used, and what can be done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from genus import TableClassifier, TableError, load
from genus.table.calendar import PARTS, codes_of, telling
from genus.table.plan import zone_of

RNG = np.random.default_rng(7)
DAY = np.timedelta64(1, "D")


def table(n: int = 400, days: float = 800, seed: int = 0) -> pd.DataFrame:
    """Rows whose class depends on the weekday alone."""
    rng = np.random.default_rng(seed)
    minutes = np.sort(rng.integers(0, int(days * 1440), n))
    when = np.datetime64("2023-01-01T00:00:00") + minutes.astype("timedelta64[m]")
    weekend = pd.Series(when).dt.day_of_week >= 5
    away = rng.random(n) < np.where(weekend, 0.95, 0.1)
    frame = pd.DataFrame({"when": when, "x": rng.normal(size=n)})
    return frame.assign(place=np.where(away, "away", "at home"))


def test_parts_are_those_of_pandas() -> None:
    moments = pd.Series(pd.to_datetime(RNG.integers(-3_000_000_000, 6_000_000_000, 5000), unit="s"))
    days = moments.to_numpy().astype("datetime64[us]").astype(np.int64) / 86_400e6
    for part, want in [
        ("weekday", moments.dt.day_name()),
        ("month", moments.dt.month_name()),
        ("hour", moments.dt.strftime("%H")),
    ]:
        names = np.array(PARTS[part].names)
        assert (names[codes_of(days, part)] == want.to_numpy()).all(), part


def test_every_full_hour_is_its_own() -> None:
    hours = np.arange(24 * 3000)
    assert (codes_of(20_000 + hours / 24, "hour") == hours % 24).all()


def test_missing_dates_have_no_parts() -> None:
    for part in PARTS:
        assert codes_of(np.array([np.nan, 3.5]), part)[0] == -1


@pytest.mark.parametrize(
    ("days", "parts"),
    [
        (0.9, set()),
        (6, {"hour"}),
        (300, {"weekday", "hour"}),
        (900, {"weekday", "month", "hour"}),
    ],
)
def test_parts_are_used_where_they_come_round_again(days: float, parts: set[str]) -> None:
    when = RNG.uniform(0, days, 20_000)
    told = [codes_of(when, "weekday") > 4, codes_of(when, "month") > 7, codes_of(when, "hour") > 19]
    y = (np.sum(told, axis=0) > RNG.uniform(0, 3, len(when))).astype(np.int64)
    assert set(telling(when, y)) == parts
    when[::3] = np.nan
    assert set(telling(when, y)) == parts


def test_parts_that_tell_nothing_are_not_used() -> None:
    used = 0
    for n in (30, 300, 3000):
        for _ in range(100):
            when = RNG.uniform(0, 900, n)
            used += len(list(telling(when, RNG.integers(0, 3, n))))
    assert used < 20  # of 900
    assert list(telling(np.full(5, np.nan), np.zeros(5, np.int64))) == []
    assert list(telling(np.arange(400.0), np.zeros(400, np.int64))) == []  # one class


@pytest.mark.parametrize("written", ["timestamps", "dates", "%m/%d/%Y", "%b %d, %Y"])
def test_a_weekday_that_matters_is_found(written: str) -> None:
    data = table()
    if written == "dates":
        data["when"] = data["when"].dt.date
    elif written != "timestamps":
        data["when"] = data["when"].dt.strftime(written)
    model = TableClassifier().fit(data[:300], target="place")
    assert model.score(data[300:], "place") > 0.85
    assert max(model.summary().columns, key=lambda c: c.importance).name == "when (weekday)"
    without = TableClassifier(ignore=["when (weekday)"]).fit(data[:300], target="place")
    assert without.score(data[300:], "place") < 0.8
    assert without.summary().left_out == {"when (weekday)": "left out on request"}


def test_parts_merge_are_forgotten_and_are_saved(tmp_path: Any) -> None:
    data = table()
    A, B = data[:250], data[250:]
    both = TableClassifier().fit(data, target="place")
    a, b = (TableClassifier().fit(part, target="place", like=both) for part in (A, B))
    want = both.predict_proba(data)
    np.testing.assert_allclose((a + b).predict_proba(data), want, rtol=1e-9)
    np.testing.assert_allclose((a + b).forget(B).predict_proba(data), a.predict_proba(data), 1e-9)
    both.save(tmp_path / "model.genus")
    assert (load(tmp_path / "model.genus").predict_proba(data) == want).all()


def test_samples_and_explanations_have_the_columns_of_the_table() -> None:
    data = table()
    model = TableClassifier().fit(data, target="place")
    rows, _ = model.sample(5, random_state=0)
    assert rows.column_names == ["when", "x"]
    assert rows.schema.field("when").type == pa.timestamp("s")
    told = model.explain(data[:3])
    names = list(told.features)
    assert names.count("when (weekday)") == 1
    shown = told.values[:, names.index("when (weekday)")].tolist()
    assert shown == data["when"][:3].dt.day_name().tolist()


def test_a_missing_date_is_a_missing_weekday() -> None:
    data = table()
    data.loc[::7, "when"] = pd.NaT
    model = TableClassifier().fit(data, target="place")
    told = model.explain(data[:1])
    assert told.values[0, list(told.features).index("when (weekday)")] is None


def test_a_table_without_the_dates_is_refused_by_their_name() -> None:
    model = TableClassifier().fit(table(), target="place")
    with pytest.raises(ValueError, match=r"^The column 'when' is missing"):
        model.predict(table()[["x"]])


def test_a_column_of_the_same_name_is_the_tables_own() -> None:
    data = table()
    data["when (weekday)"] = RNG.normal(size=len(data))
    model = TableClassifier().fit(data, target="place")
    assert [c.name for c in model.plan_.used].count("when (weekday)") == 1
    assert model.score(data, "place") < 0.8
    other = TableClassifier().fit(table(), target="place")
    with pytest.raises(ValueError, match=r"'when \(weekday\)' is a"):
        model + other


@pytest.mark.parametrize(
    "type",
    [
        "date32[day]",
        "timestamp[us]",
        *(f"timestamp[us, tz={zone}]" for zone in ("UTC", "Europe/Berlin", "+05:30", "-03:00")),
    ],
)
def test_sql_computes_the_same_parts(type: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    data = table()
    data["place"] = np.where(data["when"].dt.month % 4 == 0, "away", data["place"])
    data["place"] = np.where(data["when"].dt.hour == 5, "asleep", data["place"])
    data.loc[::50, "when"] = pd.NaT
    moments = pa.array(data["when"], pa.timestamp("us"))
    kind = pa.date32() if "date" in type else pa.timestamp("us", zone_of(type) or None)
    trips = pa.table({"when": moments.cast(kind, safe=False), "x": data["x"]})
    model = TableClassifier(calibrate=False).fit(trips, data["place"])
    found = {c.name: c.family for c in model.summary().columns}
    assert "categorical" in found.values()
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'America/New_York'")
        database.register("trips", trips)
        got = database.sql(model.to_sql("duckdb", "trips")).to_arrow_table()
    p = np.column_stack([got.column(-3 + k).to_numpy() for k in range(3)])
    np.testing.assert_allclose(p, model.predict_proba(trips), rtol=1e-9)


def moments(zone: str | None) -> pd.DataFrame:
    """Every three hours of 2024, and whether clocks show a Saturday or Sunday."""
    at = pd.date_range("2024-01-01", "2024-12-31", freq="3h", tz=zone)
    return pd.DataFrame({"at": at, "free": np.where(at.dayofweek >= 5, "yes", "no")})


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "+09:00"])
def test_times_are_those_that_clocks_show(zone: str) -> None:
    there = moments(zone)
    model = TableClassifier().fit(there, target="free")
    assert "at (weekday)" in {column.name for column in model.plan_.used}
    assert model.score(there.drop(columns="free"), there["free"]) == 1
    local = there.assign(at=there["at"].dt.tz_localize(None))
    elsewhere = there.assign(at=there["at"].dt.tz_convert("UTC"))
    p = model.predict_proba(there)
    for same in (local, elsewhere):
        np.testing.assert_array_equal(model.predict_proba(same), p)
    saturday = pd.DataFrame({"at": [pd.Timestamp("2024-06-08 00:00", tz=zone)]})
    assert "Saturday" in str(model.explain(saturday))
    drawn, _ = model.sample(50, random_state=0)
    assert drawn.schema.field("at").type.tz == zone_of(model.plan_.used[0].type)
    hours = drawn["at"].to_pandas().dt.tz_convert(zone).dt.hour
    assert set(hours) <= {0, 3, 6, 9, 12, 15, 18, 21}


def test_a_zone_that_is_not_known_is_told() -> None:
    there = pa.table({"at": pa.array([0, 1], pa.timestamp("s", "Mars/Olympus"))})
    with pytest.raises(TableError, match="time zone 'Mars/Olympus' of column 'at' is not known"):
        TableClassifier().fit(there, ["a", "b"])


def test_offsets_in_text_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("at,y\n2024-06-08T00:00:00+02:00,a\n2024-06-09T12:30:00+02:00,b\n")
    read = f"from genus.table import open_table; print(open_table({str(path)!r}).schema)"
    run = [sys.executable, "-c", read]
    told = {
        subprocess.run(run, env=os.environ | {"TZ": zone}, capture_output=True, check=True).stdout
        for zone in ("UTC", "America/New_York")
    }
    assert len(told) == 1
