"""The benchmarks run end to end and print what they promise; nothing here looks at a clock."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from scope import SANITIZED, nightly

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    SANITIZED,
    reason="benchmarks measure in processes of their own, on the plain kernel",
)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def table(text: str) -> list[list[str]]:
    """The cells of the lines of a table in Markdown."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize(
    ("job", "labels"),
    [
        pytest.param(
            "bernoulli-fit",
            ["genus BernoulliNB(binarize=127)", "scikit-learn BernoulliNB"],
            marks=nightly,
        ),
        pytest.param(
            "folds-GaussianNB", ["genus GaussianNB()", "scikit-learn GaussianNB()"], marks=nightly
        ),
        pytest.param(
            "loo-GDA", ["genus GDA()", "genus one fit and one predict_proba"], marks=nightly
        ),
        pytest.param(
            "text-predict",
            ["genus TextClassifier()", "scikit-learn CountVectorizer + Multinomial"],
            marks=nightly,
        ),
    ],
)
def test_a_job_prints_its_table(job: str, labels: list[str]) -> None:
    done = run("--quick", "--only", job)
    assert (done.returncode, done.stderr) == (0, "")
    head, rule, title, *sides = table(done.stdout)
    assert head[1:] == ["seconds", "× genus", "at least", "right", "peak MB", "at most"]
    assert set(rule[1]) == {"-", ":"}
    assert title[0].startswith("**")
    assert all(side[0].startswith(label) for side, label in zip(sides, labels, strict=True))
    assert all(float(side[1]) > 0 for side in sides)
    assert not sides[0][2]
    assert float(sides[1][2]) > 0
    mine, theirs = (float(side[4]) for side in sides)
    assert mine == pytest.approx(theirs, abs=0.02)  # both do the same work


@pytest.mark.parametrize(
    ("job", "labels"),
    [
        pytest.param(
            "table-adult",
            ["genus TableClassifier()", "scikit-learn GaussianNB + CategoricalNB"],
            marks=nightly,
        ),
        pytest.param("table-help", ["genus --help", "genus a pause of 0.3 s"], marks=nightly),
    ],
)
def test_a_job_of_tables_prints_its_table(job: str, labels: list[str]) -> None:
    done = run("--quick", "--only", job)
    assert (done.returncode, done.stderr) == (0, "")
    _, _, _, *sides = table(done.stdout)
    assert all(side[0].startswith(label) for side, label in zip(sides, labels, strict=True))
    assert all(float(side[1]) > 0 for side in sides)
    assert all(float(side[4]) > 0.75 for side in sides if side[4])


@nightly
def test_the_sides_of_a_large_table_do_the_same_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import table_jobs
    from benchmarks.measure import here
    from benchmarks.suites import JOBS

    monkeypatch.setattr(table_jobs, "FOLDER", tmp_path)
    mine, theirs, bare = (here(JOBS["table-parquet"], side, 5000) for side in range(3))
    assert mine.accuracy == pytest.approx(theirs.accuracy, abs=0.05)
    assert bare.accuracy is None


def test_a_slice_of_a_table_is_a_file_of_its_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import table_jobs

    monkeypatch.setattr(table_jobs, "FOLDER", tmp_path)
    for draw in (table_jobs.like_adult, table_jobs.mixed):
        whole, y = draw(3000)
        head = whole[:20]
        assert (len(whole), len(head), len(y)) == (3000, 20, 3000)
        X, labels = table_jobs.frame(whole)
        first, own = table_jobs.frame(head)
        assert labels.tolist() == y.tolist()
        assert own.tolist() == y[:20].tolist()
        assert first.astype(str).equals(X[:20].astype(str))
        assert X.isna().any().any()
        assert whole[:3000] is whole


@nightly
def test_accuracy_of_tables_is_told_set_by_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import numpy as np
    import pandas as pd
    from benchmarks import table_accuracy

    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    frame = pd.DataFrame({"number": rng.normal(size=120) + 3 * (y == "b"), "letter": y, "class": y})
    frame.loc[rng.random(120) < 0.2, "number"] = None
    frame.loc[rng.random(120) < 0.2, "letter"] = None
    (tmp_path / "uci").mkdir()
    for name in ("zoo", "vote"):
        frame.to_csv(tmp_path / "uci" / f"{name}.csv.gz", index=False)
    monkeypatch.setattr(table_accuracy, "TREES", 5)
    with warnings.catch_warnings():
        assert table_accuracy.main(["--data", str(tmp_path), "--sets", "zoo", "vote"]) == 0
    head, _, zoo, vote, mean, seconds = table(capsys.readouterr().out)
    assert head[1] == "genus TableClassifier()"
    assert zoo[0] == "zoo, 120"
    assert zoo[1:] == vote[1:] == mean[1:]
    assert sum(cell.count("**") for cell in zoo) >= 4
    errors, losses = zip(*(cell.replace("*", "").split(" / ") for cell in zoo[1:]), strict=True)
    assert all(float(error) < 0.2 for error in errors)
    assert all(0 < float(loss) < 0.5 for loss in losses)
    assert all(float(second) > 0 for second in seconds[1:])
    with pytest.raises(SystemExit, match="2"):
        table_accuracy.main(["--sets", "zoos"])
    assert "'zoos'; there are balance.scale" in capsys.readouterr().err


def test_results_go_between_the_markers(tmp_path: Path) -> None:
    from benchmarks.report import replace_section

    document = tmp_path / "benchmarks.md"
    before, after = (
        "# Title\n\n<!-- benchmarks core -->\n",
        "<!-- end of benchmarks core -->\nEnd\n",
    )
    document.write_text(before + "old\n" + after)
    for _ in range(2):
        replace_section(document, "core", "new")
        assert document.read_text() == f"{before}\nnew\n\n{after}"
    with pytest.raises(ValueError, match="<!-- benchmarks folds -->"):
        replace_section(document, "folds", "new")


def test_the_document_has_a_place_for_every_suite() -> None:
    from benchmarks.suites import SUITES

    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for suite in SUITES:
        assert f"<!-- benchmarks {suite} -->\n" in text
        assert f"<!-- end of benchmarks {suite} -->" in text


@nightly
def test_a_missing_peer_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import __main__, report

    installed = report.installed
    monkeypatch.setattr(report, "installed", lambda name: name != "river" and installed(name))
    assert __main__.main(["--quick", "--only", "peers-BernoulliNB-fit"]) == 0
    out, err = capsys.readouterr()
    assert table(out)[-1][1] == "missing"
    assert "river is not installed" in err
    assert ".[bench]" in err


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["cores"], "core, small, folds"),
        (["--only", "nothing"], "gda-fit-20"),
        (["--only", "gda", "--write", "x.md"], "leave --only out"),
        (["core", "--write", "pyproject.toml"], "<!-- benchmarks core -->"),
        (["--repeats", "-1"], "1 or more"),
    ],
)
def test_a_wrong_option_names_the_right_ones(
    arguments: list[str],
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from benchmarks import __main__

    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit, match="2"):
        __main__.main(arguments)
    assert remedy in capsys.readouterr().err
