"""Names that are shortened for a page stay different wherever they are shown together."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from genus import TableClassifier, cross_validate
from genus.arrays.names import cut, distinct
from genus.cli import cli
from genus.display.text import names

CLASSES = ["customer churned early", "customer churned late", "customer stayed"]
LONG = "On a scale from one to five, how satisfied are you with "
COLUMNS = [f"{LONG}{what}" for what in ("the price", "the speed", "our support of the product")]
REGIONS = [f"region to the north of the river, on its {side} bank" for side in ("left", "right")]
alike = st.lists(st.text("ab ", max_size=30).map(str.strip), max_size=8)


@given(alike, st.integers(1, 20))
def test_names_that_differ_stay_different(texts, most):
    shown = distinct(texts, most)
    assert len(set(shown)) == len(set(texts))
    for text, short in zip(texts, shown, strict=True):
        assert len(cut(text, most)) <= max(most, 1)
        assert short == text if len(text) <= most else len(short) <= max(len(text), most)


def test_labels_that_are_written_alike_stay_different():
    assert len(set(names(["a\nb", "a b", "a  b"]))) == 3
    assert len(set(names([0.12341, 0.12342, 3.0]))) == 3
    assert names(np.array(["x", "y"])) == ["x", "y"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("names")
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 600)
    columns = {name: rng.normal(k * (j + 1)) for j, name in enumerate(COLUMNS)}
    data = pd.DataFrame({**columns, "region": np.array(REGIONS)[(rng.random(600) < 0.3 * k) * 1]})
    data = data.assign(y=np.array(CLASSES)[k])
    data.to_csv(at / "t.csv", index=False)
    TableClassifier().fit(data, target="y").save(at / "m.genus")
    return at


def run(*given):
    result = CliRunner().invoke(cli, [str(one) for one in given])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_evaluate_explain_show_and_check(folder):
    model, data = folder / "m.genus", folder / "t.csv"
    told = run("evaluate", model, data)
    heads = [line for line in told.splitlines() if line.startswith("true class")]
    assert len(set(re.split(" {2,}", heads[0]))) == 4
    by_class = told.partition("class  ")[2].partition("\n\n")[0].splitlines()[1:]
    assert len({line.split("  ")[0] for line in by_class}) == 3
    told = run("explain", model, data)
    assert all(f"{label} " in told.splitlines()[0] for label in CLASSES)
    cells = [line for line in told.splitlines() if line.startswith("  On a scale")]
    assert len({line.partition(" = ")[0] for line in cells}) == 3
    head = run("show", model, "--column", "region").splitlines()
    assert len(set(re.split(" {2,}", head[1].strip()))) == 4
    assert len({line.split("  ")[0] for line in head[2:]}) == 2
    head = run("show", model, "--column", COLUMNS[0], "--column", "region").splitlines()[1]
    assert len(set(re.split(" {2,}", head.strip()))) == 2
    for command in ("show", model), ("check", model, data):
        lines = [line for line in run(*command).splitlines() if line.startswith("On a scale")]
        assert len({line.split("  ")[0] for line in lines}) == 3


def test_many_classes(folder, tmp_path):
    labels = [f"the customer of kind number {i} in the list of all kinds" for i in range(12)]
    rng = np.random.default_rng(0)
    y = np.arange(480) % 12
    data = pd.DataFrame({"x": rng.normal(y), "y": np.array(labels)[y]})
    TableClassifier().fit(data, target="y").save(tmp_path / "m.genus")
    data.to_csv(tmp_path / "t.csv", index=False)
    told = run("evaluate", tmp_path / "m.genus", tmp_path / "t.csv").partition("mistakes:")[2]
    assert not any(
        re.search(r"^ +\d+  (.+?) {2,}\1$", line) for line in told.splitlines()
    )  # a class that is mistaken for itself


def test_the_report(folder):
    run("report", folder / "m.genus", folder / "t.csv", "-o", folder / "r.html")
    text = re.sub("<wbr>", "", (folder / "r.html").read_text())
    heads = re.findall(r'<th scope="col">(custo[^<]*)</th>', text)
    assert len(heads) == len(set(heads)) == 3
    drawn = re.findall(r">(On a scale[^<]*)  \d", text)  # columns by their mean contribution
    assert len(drawn) == len(set(drawn)) == 3


def test_notebooks_and_frames_keep_whole_names(folder):
    data = pd.read_csv(folder / "t.csv")
    html = cross_validate(TableClassifier(calibrate=False), data, target="y")._repr_html_()
    assert all(label in html for label in CLASSES)
