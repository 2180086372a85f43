"""Rows that differ from those of a model are noticed: other kinds, new values, other shares."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from genus import TableClassifier, TableError
from genus.cli import cli

ROWS = 600


def rows(seed: int, n: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.5
    return pd.DataFrame(
        {
            "sex": np.where(rng.random(n) < 0.3 + 0.4 * y, "female", "male"),
            "x": rng.normal(y),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "who": [f"w{i}" for i in rng.integers(0, 100_000, n)],
            "y": np.where(y, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def model():
    chosen = {"who": "categorical"}
    return TableClassifier(chosen).fit(rows(0), target="y")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    at = tmp_path_factory.mktemp("drift")
    model.save(at / "m.genus")
    rows(1).to_csv(at / "same.csv", index=False)
    rows(1).assign(sex=lambda f: f.sex.str.upper()).to_csv(at / "upper.csv", index=False)
    rows(1).assign(x=lambda f: f.x + 100).to_csv(at / "far.csv", index=False)
    return at


def run(*given):
    return CliRunner().invoke(cli, [str(one) for one in given])


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("day", 20201205, r"'day' held dates .* holds numbers \(20201205\)"),
        ("day", 2020.5, "'day' held dates .* holds numbers"),
        ("day", "20201205", r"'day' held dates .* holds numbers \('20201205'\)"),
        ("x", pd.Timestamp("2020-12-05"), "'x' held numbers .* holds dates"),
        ("x", "2020-12-05", "'x' held numbers .* holds dates"),
        ("x", "12/05/2020", "'x' held numbers .* holds dates"),
        ("day", pd.Timedelta(3, "s"), "'day' held dates .* holds times"),
    ],
)
def test_another_kind_is_refused(model, column, value, words):
    with pytest.raises(TableError, match=words):
        model.predict(rows(1).assign(**{column: value}))


def test_what_is_missing_is_of_every_kind(model):
    given = rows(1, 30).assign(x=None, day=None)
    with pytest.warns(UserWarning, match="is empty"):
        assert len(model.predict(given)) == 30


def test_python_warns_of_a_column_that_is_new(model):
    given = rows(1).assign(sex="FEMALE")
    with pytest.warns(
        UserWarning,
        match=r"100 % of the values of column 'sex' are categories that .* never seen.*'female'",
    ):
        model.predict(given)


@pytest.mark.parametrize(
    "given",
    [
        rows(1),  # all of 'who' is new, as it was to be expected
        rows(1, 5).assign(sex="other"),  # too few to tell
        rows(1).assign(sex=lambda f: np.where(np.arange(ROWS) % 3 == 0, "other", f.sex)),
    ],
)
def test_nothing_is_said_of_what_was_to_be_expected(model, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(given)


def test_the_command_refuses_unless_forced(folder):
    refused = run("predict", folder / "m.genus", folder / "upper.csv", "-o", folder / "o.csv")
    assert refused.exit_code == 1
    assert "'sex' are categories that the model has never seen" in refused.stderr
    assert "--force" in refused.stderr
    assert not (folder / "o.csv").exists()
    forced = run("predict", folder / "m.genus", folder / "upper.csv", "--force")
    assert forced.exit_code == 0
    assert "'sex' are categories that the model has never seen" in forced.stderr
    assert len(forced.stdout.splitlines()) == ROWS + 1


def test_numbers_beyond_are_told_and_predicted(folder):
    told = run("predict", folder / "m.genus", folder / "far.csv")
    assert told.exit_code == 0
    assert "100 % of the values of column 'x' are outside the range" in told.stderr
    assert "beyond" not in run("predict", folder / "m.genus", folder / "same.csv").stderr


def test_columns_that_moved_are_found_and_others_are_not(model):
    assert model.drift(rows(1)).moved == ()
    found = model.drift(rows(1).assign(x=lambda f: f.x + 0.5))
    moved = {one.name: one for one in found.moved}
    assert "x" in moved
    assert {"sex", "day", "who"}.isdisjoint(moved)
    assert 0.1 < moved["x"].moved < 0.4
    assert 0 <= found.unlike < 0.1


def test_the_distance_is_the_total_variation(model):
    n = {"female": 450, "male": 150}
    given = rows(1).assign(sex=np.repeat(list(n), list(n.values())))
    (sex,) = [one for one in model.drift(given).columns if one.name == "sex"]
    before = rows(0).sex.value_counts(normalize=True)
    assert sex.moved == pytest.approx(abs(before["female"] - 450 / 600))


def test_few_columns_are_said_to_move_by_chance(model):
    """Of 20 draws of the same distribution, by a probability of 0.001 each."""
    found = [one.name for seed in range(2, 22) for one in model.drift(rows(seed, 200)).moved]
    assert found == []


def test_missing_values_and_strange_rows_are_counted(model):
    holes = model.drift(rows(1).assign(x=lambda f: f.x.where(np.arange(ROWS) % 2 == 0)))
    assert {one.name: one.missing for one in holes.moved}["x"] == 0.5
    assert model.drift(rows(1).assign(x=1e6)).unlike == 1.0


@pytest.mark.parametrize("n", [5, 20, 500])
@pytest.mark.parametrize("column", ["x", "sex", "day"])
def test_a_column_that_became_empty_has_moved(model, column, n):
    for kept in 0, n // 100:
        given = rows(1, n)
        found = model.drift(given.assign(**{column: given[column][:kept]}))
        own = {one.name: one for one in found.columns}[column]
        assert own in found.moved
        assert own.missing == 1 - kept / n
        assert np.isnan(own.moved)
        assert re.search(rf"^{column} +- +(-|\d+ %) +\d+ % +0 % +\*$", str(found), re.M)
    assert "share of missing values" in str(found)


def test_texts_that_became_empty_have_moved():
    words = [f"{a}{b}" for a in "bdfglmnr" for b in "aeiou"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 6)) for _ in range(ROWS)]
    given = rows(0).assign(note=texts)
    given.loc[::3, "note"] = None
    model = TableClassifier({"who": "categorical"}).fit(given, target="y")
    (same,) = (one for one in model.drift(given[:200]).columns if one.kind == "text")
    assert (same.missing, same.missing_before) == (pytest.approx(67 / 200), pytest.approx(1 / 3))
    assert "note" not in {one.name for one in model.drift(given[:200]).moved}
    empty = given[:200].assign(note=None)
    assert "note" in {one.name for one in model.drift(empty).moved}
    with pytest.warns(
        UserWarning, match="Column 'note' is empty in all 200 rows .* checked. Check"
    ):
        model.predict(empty)


def test_missing_values_of_few_rows_are_judged_by_their_probability():
    """Fisher's test of SciPy agrees, and the bound of the tail is close."""
    from scipy.stats import fisher_exact

    from genus.table.drift import CERTAIN, is_sure

    for gone, n, before, N in [(1, 1, 0, 10**5), (3, 3, 9, 200), (5, 5, 100, 200), (9, 20, 40, 600),
                               (18, 20, 60, 600), (0, 60, 70, 600), (0, 200, 70, 600)]:  # fmt: skip
        more = "greater" if gone / n > before / N else "less"
        table = [[gone, n - gone], [before, N - before]]
        twice = 2 * fisher_exact(table, alternative=more).pvalue
        assert is_sure(gone, n, before, N, 1) == (twice < CERTAIN), (gone, n, before, N)


def test_missing_values_that_are_usual_are_not_told(model):
    holes = rows(0).assign(x=lambda f: f.x.where(np.arange(ROWS) % 2 == 0))
    often = TableClassifier({"who": "categorical"}).fit(holes, target="y")
    assert often.drift(rows(1, 5).assign(x=None)).moved == ()


def test_too_few_values_are_said_to_be_too_few(model):
    far = rows(1, 20).assign(x=lambda f: (f.x + 100).where(np.arange(20) > 0))
    found = model.drift(far)
    (x,) = [one for one in found.columns if one.name == "x"]
    assert (x.unseen, x.is_compared) == (1.0, False)
    assert "fewer than 20 values are compared only by the share of missing values: 'x'." in str(
        found
    )
    assert "Too few values to compare." in str(model.drift(far[:15]))
    assert "fewer than 20 values" in found._repr_html_()


def test_an_empty_column_is_told(model, folder, tmp_path):
    gone, dates = rows(1).assign(x=None), rows(1).assign(day=None)
    with pytest.warns(UserWarning, match="Column 'x' is empty in all 600 rows that were checked"):
        model.predict(gone)
    with pytest.warns(UserWarning, match="Column 'day' is empty .* 0 % of its values were missing"):
        model.predict(dates)
    gone.to_csv(tmp_path / "gone.csv", index=False)
    told = run("predict", folder / "m.genus", tmp_path / "gone.csv", "-o", tmp_path / "o.csv")
    assert told.exit_code == 0
    assert "Column 'x' is empty in all 600 rows that were checked. When the model" in told.stderr
    same = run("predict", folder / "m.genus", folder / "same.csv", "-o", tmp_path / "o.csv")
    assert "is empty" not in same.stderr


def test_check_prints_and_counts(folder):
    told = run("check", folder / "m.genus", folder / "upper.csv")
    assert told.exit_code == 0
    assert re.search(r"^sex +1.000 +100 % +0 % +0 % +\*$", told.stdout, re.M)
    found = json.loads(run("check", folder / "m.genus", folder / "same.csv", "--json").stdout)
    assert found["rows"] == ROWS
    assert {one["name"] for one in found["columns"]} == {"sex", "x", "day", "who"}


def test_no_rows_cannot_be_compared(model):
    with pytest.raises(ValueError, match="no rows to compare"):
        model.drift(rows(1)[:0])


@pytest.mark.parametrize("form", ["csv", "csv.gz", "query", "jsonl", "stream"])
def test_rows_from_everywhere_are_compared(form, tmp_path, monkeypatch):
    monkeypatch.setattr("genus.estimators.table.LOOK", 500)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=4000).round(3)})
    model = TableClassifier().fit(frame, frame["x"] > 0)
    later = frame.assign(x=np.where(np.arange(4000) < 2000, frame["x"], frame["x"] + 9))
    path = tmp_path / f"rows.{form if '.' in form or form == 'jsonl' else 'csv'}"
    if form == "jsonl":
        later.to_json(path, orient="records", lines=True)
    else:
        later.to_csv(path, index=False)
    data = f"SELECT * FROM '{path}'" if form == "query" else path
    if form == "stream":
        data = pa.Table.from_pandas(later).to_reader()
    found = model.drift(data)
    assert 250 <= found.rows <= 1000
    assert found.of == 4000
    assert str(found).startswith(f"{found.rows:,} rows of 4,000. 1 of 1 columns moved.")
    assert found.columns[0].moved == pytest.approx(0.5, abs=0.1)
    assert model.drift(later[:100]).of == 100


def test_all_rows_of_uneven_files_are_told(tmp_path, monkeypatch):
    """A small file does not use its share of the rows that are compared."""
    monkeypatch.setattr("genus.estimators.table.LOOK", 500)
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=4000)})
    model = TableClassifier().fit(frame, frame["x"] > 0)
    frame.to_parquet(tmp_path / "a.parquet")
    frame[:10].to_parquet(tmp_path / "b.parquet")
    found = model.drift(tmp_path / "*.parquet")
    assert found.rows < 500
    assert found.of == 4010
