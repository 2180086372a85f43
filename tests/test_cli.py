"""The command line: every command, every kind of bad input, and that its page is not stale."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from genus import GDA, TableClassifier, TextClassifier, load
from genus.cli import cli
from genus.cli.demo import write
from genus.cli.page import commands, help_of, page
from genus.evaluate import cross_validate
from genus.registry import FAMILIES
from scope import EVERYTHING, nightly

ROOT = Path(__file__).parents[1]
each_command = pytest.mark.parametrize("path", list(commands())[1:])


def genus(*given, stdin=None):
    """A command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in given], input=stdin)


def done(*given, stdin=None):
    """A command that works."""
    result = genus(*given, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result


def refused(*given, stdin=None, code=1):
    """The sentence of a command that does not."""
    result = genus(*given, stdin=stdin)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert "bug" not in result.stderr
    assert "Traceback" not in result.stderr
    return " ".join(result.stderr.split())


def process(*given, **options):
    """A command in a process of its own."""
    run = [sys.executable, "-m", "genus.cli", *map(str, given)]
    return subprocess.run(run, capture_output=True, timeout=120, **options)


def records(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with a table, rows to predict, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    write(folder / "customers.csv", random.Random(1), 150)
    write(folder / "new.csv", random.Random(2), 7)
    done("fit", folder / "customers.csv", "--target", "status", "-o", folder / "customers.genus")
    return folder


@pytest.fixture
def folder(shared, tmp_path, monkeypatch):
    """A folder of one's own, with the same in it."""
    for name in ("customers.csv", "new.csv", "customers.genus"):
        (tmp_path / name).write_bytes((shared / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The manual


@each_command
def test_each_command_has_an_example(path):
    text = help_of(path)
    assert re.search(rf"^  Examples?:\n(.*\n)*?    .*{path}\b", text, re.M)
    assert max(map(len, text.splitlines())) <= 100


def test_help_documents_exit_codes():
    text = done("--help").stdout
    for code in ("0 ", "1 ", "2 ", "130 "):
        assert f"\n    {code}" in text
    assert all(f"\n  {name} " in text for name in cli.commands)
    assert "..." not in text.partition("Commands:")[2]  # a sentence that is cut off


def test_the_page_is_not_stale():
    """Written by python -m genus.cli.page > docs/cli.md; numbers are compared to three places."""

    def rounded(text):
        return re.sub(r"\d+\.\d{4,}", lambda m: f"{float(m[0]):.3f}", text)

    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert rounded(written) == rounded(page()), "python -m genus.cli.page > docs/cli.md"


def test_all_families_can_be_asked_for():
    told = "".join(help_of("genus fit").split())  # a name with a hyphen may be broken
    for family in FAMILIES:
        assert family in told


def test_help_loads_nothing_heavy():
    """Beside what `import genus` loads."""
    code = (
        "import sys, genus; before = set(sys.modules); import genus.cli; "
        "print(*(m for m in ('numpy', 'sklearn', 'scipy', 'duckdb', 'pyarrow', 'tqdm') "
        "if m in sys.modules and m not in before))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    assert "_GENUS_COMPLETE" in done("completion", shell).stdout


def test_shells_are_told_what_there_is():
    env = {
        **os.environ,
        "_GENUS_COMPLETE": "zsh_complete",
        "COMP_WORDS": "genus ",
        "COMP_CWORD": "1",
    }
    assert b"evaluate" in process(env=env).stdout
    env |= {"COMP_WORDS": "genus show ", "COMP_CWORD": "2"}
    assert process(env=env).stdout.startswith(b"file")


def test_version():
    assert re.search(r"\d+\.\d+", done("--version").stdout)


# Commands


def test_fit_tells_what_it_learned_and_writes_the_model(folder):
    (folder / "customers.genus").unlink()
    told = done("fit", "customers.csv", "--target", "status")
    assert "150 rows of 2 classes" in told.stdout
    assert "accuracy" in told.stdout
    assert told.stderr == "Wrote customers.genus.\n"
    assert isinstance(load("customers.genus"), TableClassifier)


def test_fit_with_families_and_without_columns(folder):
    done("fit", "customers.csv", "--target", "status", "-o", "m.genus",
         "--family", "calls=poisson", "--ignore", "city", "--ignore", "plan")  # fmt: skip
    model = load("m.genus")
    assert {c.name for c in model.plan_.used} == {"age", "calls", "spent", "note"}
    told = done("show", "m.genus").stdout
    assert re.search(r"^calls +poisson", told, re.M)
    assert re.search(r"^city +- +left out on request", told, re.M)


def test_fit_leaves_out_rows_without_a_label(folder):
    with (folder / "customers.csv").open("a", encoding="utf-8") as file:
        file.write("c1,30,Trier,basic,1,10.00,new phone,\n")
    assert (
        "Left out 1 row without a value in 'status'."
        in done("fit", "customers.csv", "--target", "status").stderr
    )


def test_fit_reads_a_query_a_glob_and_compressed_files(folder):
    done("fit", "SELECT * FROM 'customers.csv' WHERE age > 30", "--target", "status")
    assert load("model.genus").class_count_.sum() < 150
    done("fit", "cust*.csv", "--target", "status", "-o", "glob.genus")
    assert load("glob.genus").class_count_.sum() == 150
    (folder / "c.csv.gz").write_bytes(gzip.compress((folder / "customers.csv").read_bytes()))
    done("fit", "c.csv.gz", "--target", "status")
    assert load("c.genus").class_count_.sum() == 150


@nightly
def test_several_tables_are_read_one_after_the_other(folder):
    """Files of one kind, of different kinds, and queries."""
    first, rest = (
        "SELECT * FROM 'customers.csv' LIMIT 80",
        "SELECT * FROM 'customers.csv' OFFSET 80",
    )
    done("predict", "customers.genus", first, "-o", "a.parquet")
    pq.write_table(pq.read_table("a.parquet").select(range(8)), "a.parquet")
    lines = (folder / "customers.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "a.csv").write_text("".join(lines[:81]), encoding="utf-8")
    (folder / "b.csv").write_text("".join([lines[0], *lines[81:]]), encoding="utf-8")
    want = load("customers.genus").predict_proba("new.csv")
    cases = [("a.parquet", "b.csv"), ("a.csv", rest), ("a.csv", "b.csv"), (first, rest)]
    for data in cases if EVERYTHING else cases[:1]:
        told = done("fit", *data, "--target", "status")
        assert told.stderr.splitlines()[-1].endswith("model.genus.")
        np.testing.assert_allclose(load("model.genus").predict_proba("new.csv"), want, atol=1e-9)
        made = records(done("predict", "customers.genus", *data).stdout)
        alone = records(done("predict", "customers.genus", "customers.csv").stdout)
        assert [row["p(left)"] for row in made] == [row["p(left)"] for row in alone]
        assert [list(row) for row in made] == [list(row) for row in alone]
        told = done("evaluate", "customers.genus", *data).stdout
        assert told == done("evaluate", "customers.genus", "customers.csv").stdout
        assert "150 are forgotten" in done("forget", "model.genus", *data, "-o", "x.genus").stderr
    told = done("evaluate", "a.csv", "b.csv", "--target", "status", "--folds", 3).stdout
    assert scores_in(told)["rows"] == "150"
    last = done("explain", "customers.genus", "a.csv", "b.csv", "--row", 81).stdout
    assert last == done("explain", "customers.genus", "b.csv").stdout.replace("Row 1:", "Row 81:")
    done("fit", "a.csv", "a.csv", "--target", "status")
    assert load("model.genus").class_count_.sum() == 160
    content = (folder / "b.csv").read_bytes()
    done("fit", "a.csv", "-", "--target", "status", stdin=content)
    assert load("model.genus").class_count_.sum() == 150


def test_columns_that_not_all_tables_have_are_told(folder):
    query = "SELECT * EXCLUDE (age, city), 1 AS extra FROM 'new.csv'"
    told = done("predict", "customers.genus", "new.csv", query).stderr
    assert (
        "Some tables lack these columns, so their rows have no value there: 'age', 'city', 'extra'."
        in told
    )
    assert "Empty" not in done("predict", "customers.genus", "new.csv", "customers.csv").stderr


def test_tables_that_do_not_go_together(folder):
    assert "stdin" in refused("fit", "-", "-", "--target", "y", stdin=b"a,y\n1,2\n")
    text = "SELECT * REPLACE ('many' AS calls) FROM 'new.csv'"
    told = refused("fit", "customers.csv", text, "--target", "status")
    assert "Column 'calls' is int64 in customers.csv but string in the query" in told
    assert "b.csv" in refused("fit", "customers.csv", "b.csv", "--target", "status")
    assert "overwrite new.csv" in refused(
        "fit", "customers.csv", "new.csv", "--target", "status", "-o", "new.csv"
    )
    assert "customers.genus is a model" in refused(
        "evaluate", "new.csv", "customers.genus", "--target", "status"
    )


@nightly
def test_columns_are_completed(folder):
    def told(*words):
        typed = " ".join(["genus", *words])
        env = {**os.environ, "_GENUS_COMPLETE": "bash_complete", "COMP_WORDS": typed}
        answer = process(env=env | {"COMP_CWORD": str(len(words))}, cwd=folder).stdout
        return [line.partition(",")[2] for line in answer.decode().split()]

    assert told("fit", "customers.csv", "--target", "st") == ["status"]
    assert told("fit", "customers.csv", "--ignore", "c") == ["customer", "city", "calls"]
    assert told("evaluate", "customers.genus", "new.csv", "--target", "a") == ["age"]
    assert told("fit", "no.csv", "--target", "a") == []


@nightly
def test_bars_are_for_terminals(folder):
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    run = [sys.executable, "-m", "genus.cli", "evaluate", "customers.csv", "--target", "status"]
    run += ["--folds", "3"]
    assert subprocess.run(run, capture_output=True, timeout=120).stderr == b""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    env = {name: value for name, value in os.environ.items() if not name.startswith("TQDM_")}
    with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=theirs, env=env) as one:
        os.close(theirs)
        seen = b""
        while b"evaluate" not in seen or b"150" not in seen:
            try:
                seen += os.read(ours, 1 << 16)
            except OSError:  # all is said
                break
        os.close(ours)
        assert one.wait(120) == 0
    assert re.search(rb"evaluate: +\d+%.*150", seen), seen


def test_predict_keeps_all_columns(folder):
    told = done("predict", "customers.genus", "new.csv")
    given = records((folder / "new.csv").read_text(encoding="utf-8"))
    made = records(told.stdout)
    assert told.stderr == ""
    p = load("customers.genus").predict_proba("new.csv")
    for old, new, (left, stayed) in zip(given, made, p, strict=True):
        assert {name: new[name] for name in old} == old
        assert [float(new["p(left)"]), float(new["p(stayed)"])] == [left, stayed]
        assert new["prediction"] == ("left" if left > stayed else "stayed")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl"])
def test_formats_in_and_out(folder, name):
    """Every format holds the same, and predictions from it are the same."""
    done("predict", "customers.genus", "new.csv", "-o", name)
    from genus.table import open_table

    found = open_table(name).table()
    want = load("customers.genus").predict_proba("new.csv")
    np.testing.assert_array_equal(found.column("p(left)").to_numpy(), want[:, 0])
    query = f'SELECT * EXCLUDE (prediction, "p(left)", "p(stayed)") FROM \'{name}\''
    again = done("predict", "customers.genus", query).stdout
    assert again == done("predict", "customers.genus", "new.csv").stdout
    assert not list(folder.glob(".genus-*"))


def test_cells_that_need_quotes(folder):
    rows = pa.table(
        {
            "t": ['a "b"', "c,d", "e\nf", "", None, "g"],
            "l": [[1], None, [], [2, 3], [4], [5]],
            "x": [0.5, None, 1.0, 2.0, float("nan"), 3.0],
        }
    )
    from genus.display.output import rows_to

    for name in ("x.csv", "x.jsonl"):
        with rows_to(name, rows.schema) as put:
            for batch in rows.to_batches():
                put(batch)
    made = records(Path("x.csv").read_text())
    assert [r["t"] for r in made] == ['a "b"', "c,d", "e\nf", "", "", "g"]
    assert [r["l"] for r in made] == ["[1]", "", "[]", "[2, 3]", "[4]", "[5]"]
    lines = [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]
    assert [r["t"] for r in lines] == rows.column("t").to_pylist()
    assert lines[4]["x"] is None


ODD_LINES = (
    b"id;when;day;note;status\r\n"
    b'12345678901234567890;7:05;12/05/2020;"a;""b\r\nc";left\r\n'
    b"00022;8:05;01/06/2020;'x';stayed\r\n"
    b"\r\n"
    b'3.50;9:05;30/06/2020;"";left\r\n'
    b"4e3;10:05;02/07/2020;\xc3\xbcber ;stayed"
)


@pytest.mark.parametrize("packed", [False, True])
def test_lines_of_a_csv_stay_as_they_are(folder, packed):
    """What comes in goes out, byte for byte; only columns are added."""
    table = folder / ("odd.csv.gz" if packed else "odd.csv")
    table.write_bytes(gzip.compress(ODD_LINES) if packed else ODD_LINES)
    rows = ODD_LINES.replace(b"stayed", b"stayed\r\n").split(b"\r\n", 1)
    (folder / "many.csv").write_bytes(rows[0] + b"\r\n" + 10 * rows[1])
    done("fit", "many.csv", "--target", "status", "-o", "odd.genus")
    done("predict", "odd.genus", table, "-o", "out.csv")
    out = (folder / "out.csv").read_bytes()
    added = re.sub(rb";(prediction|left|stayed);[p0][^;]*;[p0][^;]*?\r\n", b"\r\n", out)
    assert added == ODD_LINES.replace(b"\r\n\r\n", b"\r\n") + b"\r\n"
    done("predict", "odd.genus", table, "-o", "out.parquet")  # another format has types
    assert pq.read_table(folder / "out.parquet").num_rows == 4


def test_cells_that_are_added_to_lines_that_end_with_a_delimiter_are_aligned(folder):
    """Banks export lines with a delimiter more than the line of names."""
    rows = [f'{i},"a,{i % 3}","{"uv"[i % 2]}"' for i in range(40)]
    Path("plain.csv").write_text("\n".join(["n,text,y", *rows, ""]))
    Path("more.csv").write_text(",\n".join(["n,text,y", *rows, ""]).replace("y,", "y", 1))
    Path("empty.csv").write_text('n,text,y\n1,"a,1",\n')  # an empty cell, not one more
    done("fit", "plain.csv", "--target", "y")
    told = done("predict", "plain.genus", "plain.csv").stdout
    more = done("predict", "plain.genus", "more.csv").stdout
    assert more == told
    both = done("predict", "plain.genus", "plain.csv", "more.csv").stdout
    assert both == told + told.partition("\n")[2]
    (empty,) = csv.DictReader(done("predict", "plain.genus", "empty.csv").stdout.splitlines())
    assert empty["y"] == ""
    assert empty["prediction"] in ("u", "v")


@pytest.mark.parametrize("first", [0, 9000])
def test_lines_of_a_long_file_may_end_with_a_delimiter(folder, first):
    """DuckDB refuses them in files of thousands of rows."""
    rows = [f'{i % 7},"a,{i % 3}","{"uv"[i % 2]}"' for i in range(10_000)]
    Path("plain.csv").write_text("\n".join(["n,text,y", *rows, ""]))
    more = [row + ("," if i >= first else "") for i, row in enumerate(rows)]
    Path("more.csv").write_text("\r\n".join(["n,text,y", *more, "3,,\n"]), newline="")
    done("fit", "plain.csv", "--target", "y")
    done("predict", "plain.genus", "plain.csv", "-o", "told.csv")
    done("predict", "plain.genus", "more.csv", "-o", "more-told.csv")
    told = Path("told.csv").read_bytes().replace(b"\n", b"\r\n")
    *same, last = Path("more-told.csv").read_bytes().splitlines(keepends=True)
    assert b"".join(same) == told
    assert re.fullmatch(rb"3,,,[uv],[^,]*,[^,]*\n", last)


def test_numbers_are_added_with_the_commas_of_the_file(folder):
    lines = [f"{i};{i / 4:.2f};{'uv'[i % 3 == 0]}".replace(".", ",") for i in range(40)]
    Path("eu.csv").write_text("\n".join(["a;b;y", *lines, ""]))
    done("fit", "eu.csv", "--target", "y")
    done("predict", "eu.genus", "eu.csv", "-o", "scored.csv")
    p = load("eu.genus").predict_proba("eu.csv")
    head, *rows = Path("scored.csv").read_text().splitlines()
    assert head == "a;b;y;prediction;p(u);p(v)"
    assert [row.rsplit(";", 3)[0] for row in rows] == lines
    added = [[float(cell.replace(",", ".")) for cell in row.split(";")[4:]] for row in rows]
    assert (np.array(added) == p).all()
    assert "." not in "".join(rows)
    told = done("predict", "eu.genus", "eu.csv", "-o", "scored.csv").stderr
    assert told == "Replaced scored.csv, with 40 rows.\n"


@pytest.mark.parametrize(
    ("line", "comma"),
    [
        ("0,5;x;1", True),
        ("0.5;x;1", False),
        ("1.250;x;1", True),
        ("5;x;1", False),
        ("5;2,5;1", True),
    ],
)
def test_the_numbers_of_this_file_decide_whether_commas_are_added(folder, line, comma):
    """The model was fitted to a file with decimal commas; the second column is not in it."""
    lines = [f"{i / 4:.2f};{'uv'[i % 3 == 0]}".replace(".", ",") for i in range(40)]
    Path("eu.csv").write_text("\n".join(["a;y", *lines, ""]))
    done("fit", "eu.csv", "--target", "y", "-o", "eu.genus")
    Path("one.csv").write_text(f"a;other;n\n{line}\n")
    told = done("predict", "eu.genus", "one.csv").stdout.splitlines()[1]
    assert told.startswith(line)
    assert ("." in told.removeprefix(line)) != comma
    assert ("," in told.removeprefix(line)) == comma


def test_predict_says_what_it_ignores(folder):
    query = "SELECT *, 1 AS extra FROM 'new.csv'"
    assert "'extra'" in done("predict", "customers.genus", query).stderr


def test_predict_takes_rows_without_the_target(folder):
    query = "SELECT * EXCLUDE (status) FROM 'new.csv'"
    assert len(records(done("predict", "customers.genus", query).stdout)) == 7


def test_predict_of_no_rows_writes_the_names(folder):
    names = (folder / "new.csv").read_text().splitlines()[0]
    (folder / "none.csv").write_text(names + "\n")
    told = done("predict", "customers.genus", "none.csv")
    assert told.stdout == names + ",prediction,p(left),p(stayed)\n"
    assert "no rows" in told.stderr


def scores_in(text):
    return dict(re.findall(r"^(\w[\w ]*?)  +([\d.,]+)(?:$|  [\d.]+ to )", text, re.M))


def test_evaluate_a_model(folder):
    told = done("evaluate", "customers.genus", "new.csv").stdout
    assert scores_in(told)["rows"] == "7"
    assert {"accuracy", "log loss", "Brier score", "calibration error", "ROC AUC"} <= set(
        scores_in(told)
    )
    assert re.search(r"^ +95 % interval +baseline$", told, re.M)
    assert "\nBaseline: stayed for every row, with the class shares as probabilities.\n" in told
    assert re.search(r"^true class +left +stayed$", told, re.M)
    model, truth = load("customers.genus"), records((folder / "new.csv").read_text())
    right = np.mean(model.predict("new.csv") == [row["status"] for row in truth])
    assert float(scores_in(told)["accuracy"]) == pytest.approx(right, abs=1e-4)


def test_evaluate_says_what_the_model_has_never_seen(folder):
    status = "CASE WHEN age > 50 THEN 'new' ELSE status END AS status"
    query = f"SELECT * REPLACE ({status}) FROM 'customers.csv'"
    told = done("evaluate", "customers.genus", query)
    assert "never seen: 'new'" in told.stderr
    assert re.search(r"^new +\d", told.stdout, re.M)


def test_evaluate_says_that_the_model_has_seen_the_rows(folder):
    assert "fitted to about" not in done("evaluate", "customers.genus", "new.csv").stderr
    told = done("evaluate", "customers.genus", "customers.csv").stderr
    assert "Note: The model was fitted to about 100 % of these rows" in told


def test_evaluate_says_what_fit_would_say_of_the_table(folder):
    query = "SELECT *, age * 2 AS twice FROM 'customers.csv'"
    told = done("evaluate", query, "--target", "status", "--folds", 2).stderr
    assert "The columns 'age' and 'twice' hold the same information" in told
    by = "SELECT *, customer AS who FROM 'customers.csv'"
    told = done("evaluate", by, "--target", "status", "--folds", 2, "--group", "who").stderr
    assert "'who'" not in told


def test_a_row_of_weight_two_counts_twice(tmp_path):
    """Whole weights fit the model of copies, and scores are those of weighted rows."""
    rng = np.random.default_rng(0)
    x, times = rng.normal(size=300).round(3), rng.integers(0, 3, 300)
    y = np.where(x + rng.normal(size=300) > 0, "yes", "no")
    rows = [f"{a},{n},{b}" for a, n, b in zip(x, times, y, strict=True)]
    copies = [row for row, n in zip(rows, times, strict=True) for _ in range(n)]
    weighted, copied = tmp_path / "weighted.csv", tmp_path / "copied.csv"
    weighted.write_text("\n".join(["x,times,y", *rows]) + "\n")
    copied.write_text("\n".join(["x,times,y", *copies]) + "\n")
    how = "--target", "y", "--weight", "times"
    fitted = done("fit", weighted, *how, "-o", tmp_path / "weighted.genus")
    assert "copies" not in fitted.stderr
    plan = "--plan", tmp_path / "weighted.genus"
    done("fit", copied, "--target", "y", *plan, "-o", tmp_path / "copied.genus")
    one, two = load(tmp_path / "weighted.genus"), load(tmp_path / "copied.genus")
    assert [column.name for column in one.plan_.used] == ["x"]
    assert one.class_count_.tolist() == two.class_count_.tolist() != [300]
    assert_allclose(one.predict_proba({"x": x}), two.predict_proba({"x": x}), atol=1e-9)

    found = json.loads(
        done("evaluate", tmp_path / "weighted.genus", weighted, *how, "--json").stdout
    )
    p = one.predict_proba({"x": x})[np.arange(300), np.searchsorted(one.classes_, y)]
    loss = -np.average(np.log(p), weights=times)
    assert found["scores"]["log loss"]["value"] == pytest.approx(loss)
    folds = json.loads(done("evaluate", weighted, *how, "--json").stdout)["scores"]["log loss"]
    by_hand = cross_validate(TableClassifier(), weighted, target="y", sample_weight="times")
    assert folds["value"] == pytest.approx(by_hand.log_loss)

    empty = tmp_path / "empty.genus"
    done("forget", tmp_path / "weighted.genus", weighted, "--weight", "times", "-o", empty)
    assert load(empty).class_count_.sum() == 0


def test_what_cannot_be_a_weight(tmp_path):
    table, plan = tmp_path / "table.csv", tmp_path / "table.genus"
    rows = "\n".join(f"{i % 7},{'ab'[i % 2]},{-i},{'yn'[i % 3 == 0]}" for i in range(40))
    table.write_text(f"n,name,below,y\n{rows}\n")
    done("plan", table, "--target", "y", "-o", plan)
    done("fit", table, "--target", "y", "-o", plan.with_name("fitted.genus"))
    for command in ("fit", "evaluate"):
        assert "not numbers" in refused(command, table, "--target", "y", "--weight", "name")
        assert "-1" in refused(command, table, "--target", "y", "--weight", "below")
        assert "no column 'w'" in refused(command, table, "--target", "y", "--weight", "w")
    assert "target" in refused("fit", table, "--target", "y", "--weight", "y")
    assert "target" in refused("evaluate", table, "--target", "y", "--weight", "y", code=2)
    nothing = f"SELECT *, 0 AS zero FROM '{table}'"
    told = refused("evaluate", plan.with_name("fitted.genus"), nothing, "--weight", "zero")
    assert "weight above zero in 'zero'" in told
    how = "--target", "y", "--weight", "n", "--plan", plan
    assert "--ignore n" in refused("fit", table, *how, "-o", tmp_path / "other.genus")


def test_evaluate_by_folds(folder):
    told = done("evaluate", "customers.csv", "--target", "status", "--folds", 4, "--ignore", "note")
    assert scores_in(told.stdout)["rows"] == "150"
    assert float(scores_in(told.stdout)["ROC AUC"]) > 0.6


def test_very_wide_tables_are_not_fitted_again_for_each_fold(folder, monkeypatch):
    monkeypatch.setattr("genus.cli.fitting.MOST_JUDGED", 1)
    told = CliRunner().invoke(cli, ["fit", "customers.csv", "--target", "status", "-o", "w.genus"])
    assert "out of fold (optimistic; `genus evaluate` fits again for each fold):" in told.stdout
    assert "cross-validation" not in told.stdout


def test_few_rows_have_few_folds(folder):
    query = "SELECT age, calls, status FROM 'customers.csv' LIMIT 6"
    assert scores_in(done("evaluate", query, "--target", "status").stdout)["rows"] == "6"
    one = "SELECT age, status FROM 'customers.csv' WHERE status = 'left' LIMIT 3"
    assert "only one class" in refused("evaluate", one, "--target", "status")


def test_evaluate_by_leaving_one_out(folder):
    query = "SELECT age, calls, status FROM 'customers.csv' LIMIT 25"
    told = done("evaluate", query, "--target", "status", "--folds", "loo").stdout
    assert scores_in(told)["rows"] == "25"


def test_many_classes_are_told_by_mistakes(folder):
    query = "SELECT age, calls, (row_number() OVER ()) % 12 AS k FROM 'customers.csv'"
    told = done("evaluate", query, "--target", "k", "--folds", 3).stdout
    assert "Most frequent mistakes" in told
    assert max(map(len, told.splitlines())) <= 100


def test_explain(folder):
    told = done("explain", "customers.genus", "new.csv", "--row", 2).stdout
    p = load("customers.genus").predict_proba("new.csv")[1]
    assert f"{100 * p.max():.1f} %" in told.splitlines()[0]
    assert "For " in told
    odds = np.log(p.max() / p.min())
    assert float(re.search(r"sum +([+-][\d.]+)$", told, re.M)[1]) == pytest.approx(odds, abs=2e-3)
    assert "log-odds" in told
    note = re.search(r"^  note = .*\n((?:      .*\n)+)", told, re.M)
    assert note, told
    words = records((folder / "new.csv").read_text(encoding="utf-8"))[1]["note"]
    first = note[1].split()[0]
    assert first in words
    assert max(map(len, told.splitlines())) <= 100


def test_explain_says_what_it_explains_if_no_column_is_for_it(folder):
    Path("k.csv").write_text("k,y\n" + "a,u\nb,v\n" * 20)
    done("fit", "k.csv", "--target", "y")
    told = done("explain", "k.genus", "k.csv", "--row", 2, "--class", "u").stdout
    assert "\nFor u rather than v, in log-odds\n  (no column)\n\nAgainst\n  k = b " in told


def test_explain_shows_numbers_as_they_are_written(folder):
    written = ("1612616.37", "12345.67", "0.1", "1e+20", "0.3", "12345678", "0.30000000000000004")
    single = ("1612616.4", "12345.67", "0.1", "1e+20", "0.3", "12345678", "0.3")
    half = ("12344", "12344", "0.1", "12344", "0.3", "12344", "0.3")
    amounts = [*map(float, written)] * 8
    columns = {"wide": pa.array(amounts), "narrow": pa.array(amounts, pa.float32())}
    columns["half"] = pa.array([np.float16(min(a, 12345.67)) for a in amounts], pa.float16())
    labels = ["u", "v", "v", "u", "v", "u", "v"] * 8
    pq.write_table(pa.table(columns | {"y": labels}), "a.parquet")
    done("fit", "a.parquet", "--target", "y")
    for i, text in enumerate(written):
        told = done("explain", "a.genus", "a.parquet", "--row", i + 1).stdout
        assert f"  wide = {text} " in told
        assert f"  narrow = {single[i]} " in told
        assert f"  half = {half[i]} " in told


def test_explain_as_json(folder):
    told = json.loads(done("explain", "customers.genus", "new.csv", "--row", 2, "--json").stdout)
    model = load("customers.genus")
    p = dict(zip(model.classes_.tolist(), model.predict_proba("new.csv")[1].tolist(), strict=True))
    assert told["probabilities"] == pytest.approx(p)
    assert told["prediction"] == max(p, key=p.get)
    assert told["log_odds"] == pytest.approx(np.log(p[told["class"]] / p[told["against"]]))
    terms = [own["contribution"] for own in told["contributions"]]
    assert told["baseline"] + sum(terms) == pytest.approx(told["log_odds"])
    assert [abs(term) for term in terms] == sorted(map(abs, terms), reverse=True)
    row = records((folder / "new.csv").read_text(encoding="utf-8"))[1]
    note = next(own for own in told["contributions"] if own["column"] == "note")
    assert note["value"] == row["note"]
    assert set(note["words"])
    assert all(word in row["note"].lower() for word in note["words"])
    assert "FILE.jsonl" in refused(
        "explain", "customers.genus", "new.csv", "--all", "--json", code=2
    )


def test_a_file_for_prediction(folder):
    done("fit", "customers.csv", "--target", "status", "-o", "small.genus", "--for-prediction")
    want = done("predict", "customers.genus", "new.csv").stdout
    assert done("predict", "small.genus", "new.csv").stdout == want
    assert "saved for prediction only" in refused(
        "forget", "small.genus", "customers.csv", "-o", "less.genus"
    )
    assert not Path("less.genus").exists()


def test_explain_all_rows(folder):
    told = records(done("explain", "customers.genus", "new.csv", "--all").stdout)
    model, rows = (
        load("customers.genus"),
        records(done("predict", "customers.genus", "new.csv").stdout),
    )
    first, second = model.classes_.tolist()
    assert [row["row"] for row in told] == [str(i + 1) for i in range(len(rows))]
    assert [row["prediction"] for row in told] == [row["prediction"] for row in rows]
    assert {(row["class"], row["against"]) for row in told} == {(second, first)}
    assert len({row["baseline"] for row in told}) == 1
    for own, row in zip(told, rows, strict=True):
        terms = [float(value) for name, value in own.items() if name.startswith("contribution(")]
        assert len(terms) == model.n_features_in_
        odds = np.log(float(row[f"p({second})"]) / float(row[f"p({first})"]))
        assert float(own["log_odds"]) == pytest.approx(odds, abs=1e-6)
        assert float(own["baseline"]) + sum(terms) == pytest.approx(odds, abs=1e-6)
    done("explain", "customers.genus", "new.csv", "--all", "-o", "why.parquet")
    written = pq.read_table("why.parquet")
    assert written.num_rows == len(rows)
    assert_allclose(
        written.column("contribution(age)").to_numpy(),
        [float(row["contribution(age)"]) for row in told],
    )


def test_explain_all_rows_in_parts_and_by_any_two_classes(folder, monkeypatch):
    every = ("explain", "customers.genus", "new.csv", "--all")
    whole = done(*every).stdout
    monkeypatch.setattr("genus.cli.explaining.MOST_ROWS", 2)
    parts = done(*every).stdout
    for a, b in zip(records(whole), records(parts), strict=True):
        assert a["row"] == b["row"]
        assert float(a["contribution(age)"]) == pytest.approx(float(b["contribution(age)"]))
    turned = records(done(*every, "--class", "left", "--against", "stayed").stdout)
    for a, b in zip(records(whole), turned, strict=True):
        assert float(a["log_odds"]) == pytest.approx(-float(b["log_odds"]))
    one = done("explain", "customers.genus", "new.csv", "--class", "left").stdout
    assert "For left rather than stayed" in one
    assert "no class 'gone'" in refused(*every, "--class", "gone", code=2)
    assert "the same" in refused(*every, "--class", "left", "--against", "left", code=2)


def test_explain_says_that_a_column_is_new(folder):
    changed = "SELECT * REPLACE (upper(plan) AS plan) FROM 'customers.csv'"
    for more in (("--row", 1), ("--all", "-o", "why.csv")):
        told = done("explain", "customers.genus", changed, *more).stderr
        assert "100 % of the values of column 'plan' are categories" in told


def test_explain_all_rows_of_a_table_without_any(folder):
    (folder / "none.csv").write_text((folder / "new.csv").read_text("utf-8").splitlines()[0] + "\n")
    result = done("explain", "customers.genus", "none.csv", "--all")
    assert result.stdout.startswith("row,prediction,class,against,log_odds,baseline,contribution(")
    assert "no rows" in result.stderr


def test_show(folder):
    told = done("show", "customers.genus").stdout
    assert told.startswith("TableClassifier, ")
    assert "predicts 'status'" in told
    assert "options" not in told


def test_show_how_the_odds_depend_on_columns(folder):
    told = done("show", "customers.genus", "--column", "age").stdout
    assert told.startswith("age: log-odds of stayed against left")
    both = done("show", "customers.genus", "--column", "age", "--column", "plan").stdout
    assert both.startswith("age by plan: ")
    assert "no column 'aeg'" in refused("show", "customers.genus", "--column", "aeg")
    assert "texts" in refused("show", "customers.genus", "--column", "note")
    one = json.loads(done("show", "customers.genus", "--column", "age", "--json").stdout)
    assert [own["name"] for own in one["columns"]] == ["age"]
    assert [own["label"] for own in one["classes"]] == ["left", "stayed"]
    steps = len(one["columns"][0]["values"])
    assert all(
        len(own[name]) == steps for own in one["classes"] for name in ("mean", "low", "high")
    )
    assert sum(one["share"]) == pytest.approx(1)
    two = ("--column", "age", "--column", "plan", "--json")
    pair = json.loads(done("show", "customers.genus", *two).stdout)
    assert np.shape(pair["classes"][0]["mean"]) == np.shape(pair["share"])
    three = [word for name in ("age", "plan", "city") for word in ("--column", name)]
    refused("show", "customers.genus", *three, code=2)


def test_show_other_classifiers(folder):
    X = np.random.default_rng(0).normal(size=(20, 3))
    GDA(shrinkage=0.1).fit(X, ["a", "b"] * 10).save("gda.genus")
    TextClassifier().fit(["one two", "three"], [0, 1]).save("text.genus")
    told = done("show", "gda.genus").stdout
    assert "GDA" in told
    assert "20 rows of 2 classes" in told
    assert "3 columns" in told
    assert "shrinkage=0.1" in told
    assert "2 texts of 2 classes" in done("show", "text.genus").stdout


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_written_as_they_are_read(tmp_path, unit):
    rng, at = np.random.default_rng(0), {name: tmp_path / name for name in ("m.genus", "o.parquet")}
    y = np.arange(300) % 2
    seconds = np.round(rng.gamma(2, 4e4, 300) * (1 + y), 0 if unit == "s" else 3)
    seconds[:3] = [-90, 3 * 86_400 + 5, 0]
    micro = pa.array(np.round(seconds * 1e6).astype(np.int64), mask=np.arange(300) == 7)
    waits = micro.cast(pa.duration("us")).cast(pa.duration(unit))
    pq.write_table(pa.table({"wait": waits, "y": np.where(y, "late", "soon")}), at["o.parquet"])
    done("fit", at["o.parquet"], "--target", "y", "-o", at["m.genus"])
    scores = done("evaluate", at["m.genus"], at["o.parquet"]).stdout
    for name in "o.csv", "o.tsv", "o.jsonl":
        done("predict", at["m.genus"], at["o.parquet"], "-o", tmp_path / name)
        assert done("evaluate", at["m.genus"], tmp_path / name).stdout == scores
        assert "No column moved" in done("check", at["m.genus"], tmp_path / name).stdout
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:4]] == ["-0:01:30", "72:00:05", "0:00:00"]
    assert lines[8].startswith(",")
    done("sample", at["m.genus"], "-n", 300, "-o", tmp_path / "s.csv")
    assert "No column moved" in done("check", at["m.genus"], tmp_path / "s.csv").stdout


def test_sample(folder):
    told = done("sample", "customers.genus", "-n", 5, "--seed", 3).stdout
    assert told == done("sample", "customers.genus", "-n", 5, "--seed", 3).stdout
    rows = records(told)
    assert len(rows) == 5
    assert set(rows[0]) == {"age", "city", "plan", "calls", "spent", "note", "status"}
    done("sample", "customers.genus", "-n", 4, "--class", "left", "-o", "drawn.parquet")
    assert pq.read_table("drawn.parquet").column("status").to_pylist() == ["left"] * 4


def test_add_and_forget(folder):
    halves = ("SELECT * FROM 'customers.csv' LIMIT 80", "SELECT * FROM 'customers.csv' OFFSET 80")
    done("fit", halves[0], "--target", "status", "-o", "a.genus")
    done("fit", halves[1], "--target", "status", "-o", "b.genus", "--plan", "a.genus")
    told = done("add", "a.genus", "b.genus", "-o", "c.genus").stderr
    assert told == "Wrote c.genus, with 150 rows.\n"
    shutil.copy("a.genus", "copy.genus")
    for twice in ("a.genus", "copy.genus"):
        told = done("add", "a.genus", "b.genus", twice, "-o", "more.genus").stderr
        assert told.startswith(f"Note: a.genus and {twice} hold the same rows, which")
    stdin = Path("a.genus").read_bytes()
    told = done("add", "-", "b.genus", "-o", "c.genus", stdin=stdin).stderr
    assert told == "Wrote c.genus, with 150 rows.\n"
    assert (
        "80 rows; 70 were forgotten" in done("forget", "c.genus", halves[1], "-o", "d.genus").stderr
    )
    again, first = load("d.genus"), load("a.genus")
    done("forget", "a.genus", halves[0], "-o", "none.genus")
    assert "0 rows" in done("show", "none.genus").stdout
    assert "has no rows" in refused("predict", "none.genus", "new.csv")
    np.testing.assert_allclose(again.predict_proba("new.csv"), first.predict_proba("new.csv"))


def test_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = done("demo").stdout
    for name in ("fit", "evaluate", "explain", "predict"):
        assert f"$ genus {name} " in told
    assert list(tmp_path.iterdir()) == []
    done("demo", "-o", "here")
    assert sorted(path.name for path in Path("here").iterdir()) == ["customers.csv", "new.csv"]
    assert "already exists. Give another folder." in refused("demo", "-o", "here")


def test_report(folder):
    pytest.importorskip("genus.report")
    some = "SELECT * FROM 'customers.csv' LIMIT 60"
    done("report", some, "--target", "status", "-o", "b.html",
         "--family", "calls=gaussian", "--ignore", "city")  # fmt: skip
    told = Path("b.html").read_text(encoding="utf-8")
    assert "left out on request" in told.lower()
    assert "Gaussian gains " in told
    done("report", "customers.genus", "customers.csv", "new.csv", "-o", "c.html")
    assert "157" in Path("c.html").read_text(encoding="utf-8")


# stdin and stdout


def test_data_from_stdin(folder):
    content = (folder / "new.csv").read_bytes()
    want = done("predict", "customers.genus", "new.csv").stdout
    assert done("predict", "customers.genus", "-", stdin=content).stdout == want
    done("predict", "customers.genus", "new.csv", "-o", "x.parquet")
    table = pq.read_table("x.parquet").select(range(8))
    pq.write_table(table, "y.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    for stdin in (Path("y.parquet").read_bytes(), lines):
        assert done("predict", "customers.genus", "-", stdin=stdin).stdout == want


@nightly
def test_models_through_pipes(folder):
    told = process("fit", "-", "--target", "status", "-o", "-", stdin=open("customers.csv"))  # noqa: SIM115
    assert told.returncode == 0
    Path("piped.genus").write_bytes(told.stdout)
    piped, filed = load("piped.genus"), load("customers.genus")
    np.testing.assert_allclose(piped.predict_proba("new.csv"), filed.predict_proba("new.csv"))
    assert b"150 rows" in told.stderr
    assert b"150 rows" in process("show", "-", input=told.stdout).stdout


def test_nothing_but_data_on_stdout(folder):
    told = process("predict", "customers.genus", "new.csv")
    assert len(records(told.stdout.decode())) == 7
    assert told.stderr == b""
    assert told.returncode == 0
    assert b"\x1b" not in process("evaluate", "customers.genus", "new.csv").stdout


def test_on_a_terminal_there_are_bars_and_colours(folder):
    pytest.importorskip("tqdm")
    told = on_a_terminal("predict", "customers.genus", "new.csv", "-o", "out.csv")
    assert "rows/s" in told
    assert "\x1b[1m" in on_a_terminal("evaluate", "customers.genus", "new.csv")


def on_a_terminal(*given):
    """What a terminal of 24 lines and 80 columns is sent."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    run = [sys.executable, "-m", "genus.cli", *given]
    with subprocess.Popen(run, stdin=there, stdout=there, stderr=there) as one:
        os.close(there)
        told = b""
        while True:
            try:
                part = os.read(here, 4096)
            except OSError:  # on Linux, the end
                break
            if not part:
                break
            told += part
        assert one.wait(120) == 0, told
    os.close(here)
    return told.decode()


# Bad input: a sentence each


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b,y\n", "no rows"),
        (b"a,b,y\n" + b"1,2,u\n" * 30 + b"1,2,3,v\n" + b"2,3,v\n" * 30, "line 32 has 4 fields"),
        (b"a,b,y\n" + b"1,2,u\n" * 30 + b"1,v\n" + b"2,3,v\n" * 30, "line 32 has 2 fields"),
        ("a,b,y\n1,Köln,u\n2,Trier,v\n".encode("latin-1") * 9, "--encoding latin-1"),
        (b"a,b,z\n1,2,u\n2,3,v\n", "no column 'y'"),
        (b"a,b,y\n1,2,u\n2,3,u\n", "always 'u'"),
        (b"a,b,y\n1,2,\n2,3,\n", "is empty in every row"),
        (b"y\nu\nv\n", "No column is left"),
        (b"a,y\n1,0.5\n2,0.7\n3,0.1\n", "predicts classes"),
        (bytes(range(256)) * 4, "Cannot read"),
    ],
    ids=[
        "empty", "header only", "long line", "short line", "latin-1", "no target", "one class",
        "no label", "only the target", "a number", "binary",
    ],
)  # fmt: skip
def test_bad_tables(folder, content, words):
    Path("bad.csv").write_bytes(content)
    assert words in refused("fit", "bad.csv", "--target", "y")
    assert words in refused("fit", "-", "--target", "y", stdin=content).replace("stdin", "bad.csv")
    assert not Path("bad.genus").exists()
    refused("evaluate", "bad.csv", "--target", "y", "--folds", 2)


def test_encodings(folder):
    text = "".join(f"{i % 5},{('Köln', 'Łódź')[i % 2]},{'uv'[i % 2]}\n" for i in range(40))
    for encoding in ("utf-16", "cp1250"):
        Path("x.csv").write_bytes(f"a,b,y\n{text}".encode(encoding))
        Path("x2.csv").write_bytes(f"a,b,y\n{text}".encode(encoding))
        done("fit", "x.csv", "--target", "y", "--encoding", encoding)
        assert "u 50 %" in done("show", "x.genus").stdout
        told = done("predict", "x.genus", "x.csv", "--encoding", encoding).stdout
        assert "Łódź" in told
        both = done("predict", "x.genus", "x*.csv", "--encoding", encoding).stdout
        assert both == told + told.partition("\n")[2]
    Path("x.csv").write_bytes(b"a,b,y\n1,\x81,u\n")
    assert "--encoding" in refused("fit", "x.csv", "--target", "y", "--encoding", "cp1250")
    query = "SELECT * FROM 'x.csv'"
    assert "A query" in refused("fit", query, "--target", "y", "--encoding", "cp1250")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("custmers.csv", "Did you mean 'customers.csv'?"),
        ("nothing-*.csv", "No file matches"),
        ("https://example.org/x.csv", "Download it first"),
        ("SELECT * FROM 'gone.csv'", "gone.csv"),
        ("SELECT nothing FROM 'customers.csv'", "nothing"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("customers.genus", "is a model"),
        ("new.parquet", "Cannot read"),
        ("new.jsonl", "Cannot read"),
        ("empty-folder", "holds no"),
    ],
)
def test_data_that_is_not_there_or_is_no_data(folder, data, words):
    Path("new.parquet").write_bytes(b"PAR1 and no more")
    Path("new.jsonl").write_text('{"a": 1}\n{"a":')
    Path("empty-folder").mkdir()
    assert words in refused("fit", data, "--target", "status", "-o", "m.genus")


def test_columns_that_are_not_as_they_were(folder):
    changed = "SELECT * REPLACE ('many' AS calls) FROM 'new.csv'"
    assert "'calls' held numbers" in refused("predict", "customers.genus", changed)
    missing = "SELECT * EXCLUDE (age, city) FROM 'new.csv'"
    for command in ("predict", "evaluate", "explain"):
        assert "'age', 'city'" in refused(command, "customers.genus", missing)
    taken = "SELECT *, 1 AS prediction FROM 'new.csv'"
    assert "EXCLUDE" in refused("predict", "customers.genus", taken)
    unlabelled = "SELECT * EXCLUDE (status) FROM 'new.csv'"
    assert "no column 'status'" in refused("evaluate", "customers.genus", unlabelled)
    numbers = "SELECT * REPLACE (1 AS status) FROM 'new.csv'"
    assert "Convert" in refused("evaluate", "customers.genus", numbers)
    assert "7 rows, so there is no row 8" in refused(
        "explain", "customers.genus", "new.csv", "--row", 8
    )


@pytest.mark.parametrize("command", [["show"], ["sample", "-n", "1"], ["predict", "new.csv"]])
def test_models_that_are_none(folder, command):
    whole = Path("customers.genus").read_bytes()
    Path("short.genus").write_bytes(whole[: len(whole) // 2])
    Path("empty.genus").write_bytes(b"")
    Path("changed.genus").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    for name, words in (
        ("gone.genus", "no model file"),
        ("short.genus", "cut short"),
        ("empty.genus", "cut short"),
        ("changed.genus", "damaged"),
        ("customers.csv", "not a genus model"),
    ):
        assert words in refused(command[0], name, *command[1:])


def test_models_that_do_not_go_together(folder):
    GDA(shrinkage=0.1).fit(np.eye(4).repeat(3, 0), [0, 1] * 6).save("gda.genus")
    assert "the same type" in refused("add", "customers.genus", "gda.genus", "-o", "x.genus")
    assert "model of a table" in refused("predict", "gda.genus", "new.csv")
    done("fit", "customers.csv", "--target", "plan", "-o", "plan.genus")
    assert "different columns" in refused("add", "customers.genus", "plan.genus", "-o", "x.genus")
    told = refused("fit", "customers.csv", "--target", "plan", "--plan", "customers.genus")
    assert "could not be merged" in told
    assert "Forget only rows" in refused(
        "forget", "customers.genus", "SELECT * FROM 'customers.csv', range(3)", "-o", "x.genus"
    )
    assert not Path("x.genus").exists()


@pytest.mark.parametrize(
    "given",
    [
        ["fit", "customers.csv"],
        ["fit", "customers.csv", "--target", "status", "--family", "age"],
        ["fit", "customers.csv", "--target", "status", "--family", "age=normal"],
        ["fit", "customers.csv", "--target", "status", "--encoding", "klingon"],
        ["fit", "customers.csv", "--target", "status", "--plan", "m", "--ignore", "age"],
        ["evaluate", "customers.csv"],
        ["evaluate", "customers.genus"],
        ["evaluate", "customers.csv", "--target", "status", "--folds", "1"],
        ["evaluate", "customers.genus", "new.csv", "--folds", "3"],
        ["explain", "customers.genus", "new.csv", "--row", "0"],
        ["explain", "customers.genus", "new.csv", "--row", "2", "--all"],
        ["explain", "customers.genus", "new.csv", "-o", "why.csv"],
        ["report", "customers.genus", "--family", "age=gaussian"],
        ["report", "customers.csv", "new.csv"],
        ["fit", "customers.csv", "--target", "status", "--ignore", "status"],
        ["evaluate", "customers.csv", "--target", "status", "--family", "status=bernoulli"],
        ["add", "customers.genus", "-o", "x.genus"],
        ["sample", "customers.genus"],
        ["completion", "tcsh"],
        ["learn", "customers.csv"],
    ],
    ids=" ".join,
)
def test_wrong_usage(folder, given):
    assert "Error" in refused(*given, code=2)


def test_columns_and_classes_that_are_not_there(folder):
    fit = ("fit", "customers.csv", "--target", "status", "-o", "m.genus")
    assert "'aeg'. Did you mean 'age'?" in refused(*fit, "--ignore", "aeg")
    assert "'aeg'" in (told := refused(*fit, "--family", "aeg=gaussian"))
    assert "Did you mean 'age'?" in told
    told = refused("show", "customers.genus", "--column", "Age")
    assert "no column 'Age'. Did you mean 'age'?" in told
    assert "It has left, stayed" in refused("sample", "customers.genus", "-n", 1, "--class", "gone")


# Files that cannot be written


def test_the_data_is_not_replaced_by_the_model(folder):
    assert "overwrite customers.csv" in refused(
        "fit", "customers.csv", "--target", "status", "-o", "customers.csv"
    )


def test_a_model_does_not_get_the_name_of_a_table(folder):
    fit = ("fit", "new.csv", "--target", "status")
    for given in (fit, ("plan", *fit[1:]), ("add", "customers.genus", "customers.genus")):
        assert "name that ends in .genus" in refused(*given, "-o", "out.csv.gz")
    assert not Path("out.csv.gz").exists()


def test_contributions_do_not_replace_the_data(folder):
    given = Path("new.csv").read_bytes()
    explain = ("explain", "customers.genus", "new.csv", "--all", "-o", "new.csv")
    assert "overwrite new.csv" in refused(*explain)
    assert Path("new.csv").read_bytes() == given


def test_what_is_wrong_with_the_arguments_of_evaluate(folder):
    assert "MODEL comes before DATA" in refused("evaluate", "new.csv", "customers.genus", code=2)
    told = refused("evaluate", "customers.genus", "customers.csv", "--target", "calls")
    assert "learns from 'calls', so it cannot predict 'calls'" in told


def test_predictions_may_replace_the_data(folder):
    want = done("predict", "customers.genus", "new.csv").stdout
    done("predict", "customers.genus", "new.csv", "-o", "new.csv")
    assert Path("new.csv").read_text(encoding="utf-8") == want


def test_places_that_cannot_be_written_to(folder):
    fit = ("fit", "customers.csv", "--target", "status", "-o")
    predict = ("predict", "customers.genus", "new.csv", "-o")
    for command, name in ((fit, "no/where.genus"), (predict, "no/where.csv")):
        assert "does not exist" in refused(*command, name)
    for command, name in ((fit, "."), (predict, ".")):
        refused(*command, name)
    assert ".parquet" in refused(*predict, "out.xlsx")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(folder, monkeypatch):
    full = "No space left on device. Free some space"
    assert full in refused("predict", "customers.genus", "new.csv", "-o", "/dev/full")
    with open("/dev/full", "wb") as stdout:
        run = [sys.executable, "-m", "genus.cli", "predict", "customers.genus", "new.csv"]
        told = subprocess.run(run, stdout=stdout, stderr=subprocess.PIPE, timeout=120)
    assert told.returncode == 1
    assert told.stderr.decode().startswith("Error: Cannot read or write stdout: No space left")
    assert told.stderr.count(b"\n") == 1

    def fail(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = Path("customers.genus").read_bytes()
    monkeypatch.setattr(os, "fsync", fail)
    told = refused("fit", "customers.csv", "--target", "status")
    assert "customers.genus: No space left" in told
    told = refused("report", "customers.genus", "-o", "page.html")
    assert "page.html: No space left" in told
    assert Path("customers.genus").read_bytes() == before
    monkeypatch.undo()
    assert not list(folder.glob(".genus-*"))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_no_permission(shared):
    with tempfile.TemporaryDirectory() as other:
        for name in ("customers.csv", "new.csv", "customers.genus"):
            content = (shared / name).read_bytes()
            for prefix, mode in (("open-", 0o444), ("closed-", 0)):
                copy = Path(other, prefix + name)
                copy.write_bytes(content)
                copy.chmod(mode)
        os.chmod(other, 0o555)
        model, data = f"{other}/open-customers.genus", f"{other}/open-new.csv"
        with powerless():
            found = [
                refused("predict", model, f"{other}/closed-new.csv"),
                refused("show", f"{other}/closed-customers.genus"),
                refused("predict", model, data, "-o", f"{other}/out.csv"),
                refused("fit", data, "--target", "status", "-o", f"{other}/out.genus"),
            ]
        os.chmod(other, 0o755)
    assert all("ermission denied" in told or "no permission to write" in told for told in found), (
        found
    )


class powerless:
    """For a while, not root."""

    def __enter__(self):
        self.before = os.geteuid()
        if self.before == 0:
            os.seteuid(65534)

    def __exit__(self, *error):
        os.seteuid(self.before)


@nightly
def test_two_processes_write_one_model(folder):
    run = [sys.executable, "-m", "genus.cli", "add", "customers.genus", "customers.genus"]
    both = [subprocess.Popen([*run, "-o", "two.genus"], stderr=subprocess.PIPE) for _ in range(2)]
    assert [one.wait(120) for one in both] == [0, 0]
    for one in both:
        one.stderr.close()
    assert load("two.genus").class_count_.sum() == 300


# Processes that end early


@nightly
def test_a_reader_who_has_enough(folder):
    run = [sys.executable, "-m", "genus.cli", "sample", "customers.genus", "-n", "200000"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        assert one.stdout.readline().startswith(b"age,")
        one.stdout.close()
        assert one.stderr.read() == b""
        assert one.wait(120) == 0


def test_ctrl_c(folder):
    run = [sys.executable, "-m", "genus.cli", "fit", "-", "--target", "y", "-o", "x.genus"]
    env = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(
        run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as one:
        deadline = time.monotonic() + 100
        while not list(folder.glob("genus-*/stdin")) and time.monotonic() < deadline:
            time.sleep(0.05)
        one.send_signal(signal.SIGINT)
        assert one.wait(60) == 130
        assert one.stderr.read() == (
            b"Interrupted. No file was left incomplete, but output to stdout may be.\n"
        )
        assert one.stdout.read() == b""
    assert not list(folder.glob("genus-*"))
    assert not Path("x.genus").exists()


def test_no_traceback_in_a_process(folder):
    told = process("fit", "missing-table", "--target", "y", text=True)
    assert told.returncode == 1
    assert told.stdout == ""
    assert told.stderr == "Error: There is no file 'missing-table'.\n"
    assert process("fit").returncode == 2


def test_bugs_say_that_they_are(folder, monkeypatch):
    def fail(*given, **options):
        raise KeyError("x")

    monkeypatch.setattr(TableClassifier, "fit", fail)
    told = genus("fit", "customers.csv", "--target", "status")
    assert told.exit_code == 1
    assert "This is a bug in genus: KeyError" in told.stderr
    monkeypatch.setenv("GENUS_TRACEBACK", "1")
    assert isinstance(genus("fit", "customers.csv", "--target", "status").exception, KeyError)


# Plans and checkpoints


def in_parts(count):
    """Write the customers to files of some rows each."""
    lines = Path("customers.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for i in range(count):
        part = "".join([lines[0], *lines[1 + i :: count]])
        Path(f"part{i}.csv").write_text(part, encoding="utf-8")


def test_models_that_are_fitted_by_one_plan_add_up_to_one_fit(folder):
    in_parts(2)
    told = done("plan", "part0.csv", "part1.csv", "--target", "status", "-o", "plan.genus")
    assert "Wrote plan.genus" in told.stderr
    assert "number" in told.stdout
    for name in ("part0", "part1", "customers"):
        done("fit", f"{name}.csv", "--target", "status", "--plan", "plan.genus", "-o", f"{name}.g")
    told = done("add", "part0.g", "part1.g", "-o", "all.genus")
    assert "Note" not in told.stderr
    whole, merged = load("customers.g"), load("all.genus")
    expected = whole.predict_proba("customers.csv")
    np.testing.assert_allclose(merged.predict_proba("customers.csv"), expected, rtol=1e-9)
    given = ("fit", "part0.csv", "--target", "status", "--plan", "plan.genus")
    assert "Leave --family and --ignore out" in refused(*given, "--ignore", "age", code=2)


def test_add_says_what_is_lost_without_a_plan(folder):
    in_parts(2)
    rows = csv.DictReader(Path("part1.csv").read_text(encoding="utf-8").splitlines())
    TableClassifier(ignore=["age"], sample_size=50).fit(list(rows), target="status").save("b.genus")
    done("fit", "part0.csv", "--target", "status", "-o", "a.genus")
    told = done("add", "a.genus", "b.genus", "-o", "all.genus").stderr
    assert "column 'age': one of the models leaves it out" in told
    assert "loses some precision" in told
    assert "genus plan" in told


def test_a_checkpoint_on_the_command_line(folder):
    in_parts(3)
    call = ("fit", "part*.csv", "--target", "status", "-o", "m.genus", "--checkpoint", "kept")
    done(*call)
    first = load("m.genus").class_count_.tolist()
    done(*call)
    assert load("m.genus").class_count_.tolist() == first
    done("fit", "part0.csv", "--target", "status", "-o", "one.genus", "--checkpoint", "alone")
    lines = Path("part1.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("part1.csv").write_text("".join(lines[:40]), encoding="utf-8")
    assert "does not belong to this data" in refused(*call)


def test_a_warning_is_told_once(tmp_path):
    table = tmp_path / "table.csv"
    rows = "".join(f"{i / 7:.2f},{'ab'[i % 2]}\n" for i in range(99))
    table.write_text(f"x,y\nsee note,a\n{rows}")
    told = done("evaluate", table, "--target", "y").stderr
    assert told.count("1 of 100 values are not numbers, such as 'see note'") == 1
