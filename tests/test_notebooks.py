"""What notebooks show: HTML that escapes, public names, reports; and what samples hold."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import genus
from genus import TableClassifier, TableError, compare, cross_validate

EVIL = "<script>alert('x')</script>"


def rows(n=120):
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.5
    return pd.DataFrame(
        {
            EVIL: rng.normal(y),
            "kind": np.where(rng.random(n) < 0.3 + 0.4 * y, EVIL, "b"),
            "y": np.where(y, EVIL, "no"),
        }
    )


@pytest.fixture(scope="module")
def model():
    return TableClassifier().fit(rows(), target="y")


class Tags(HTMLParser):
    """The names of all tags, which are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_whole_and_runs_nothing(model):
    outcome = cross_validate(TableClassifier(), rows(), target="y", folds=3)
    shown = [
        model.summary()._repr_html_(),
        outcome._repr_html_(),
        model.drift(rows())._repr_html_(),
        model.explain(rows()[:8])._repr_html_(),
        model._repr_mimebundle_()["text/html"],
    ]
    for text in shown:
        tags = Tags(text)
        assert "script" not in tags.seen
        assert {"table", "td"} <= tags.seen
        assert "&lt;script&gt;" in text


def test_notebooks_show_the_figures_that_print_shows(model):
    """The columns and experts of the summary, and the words below their text."""
    summary = model.summary()._repr_html_()
    for head in ("moves", "bits", "expert", "weight", "log loss by itself"):
        assert f">{head}</th>" in summary
    assert ">missing before</th>" in model.drift(rows())._repr_html_()
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    words = np.array([["dull", "grey", "slow"], ["fine", "warm", "quick"]])[y]
    note = [f"{' '.join(rng.permutation(own))} day no {i}" for i, own in enumerate(words)]
    told = TableClassifier().fit({"note": note}, y).explain({"note": note[:1]})._repr_html_()
    assert f">\u2003\u2003{words[0, 0]}</td>" in told


def test_a_comparison_is_shown_as_a_table():
    found = compare(rows().rename(columns={EVIL: "x"}), target="y", repeats=10)
    shown = found._repr_html_()
    assert "script" not in Tags(f"<div>{shown}</div>").seen
    assert f"<p>{escape(found.sentence)}</p>" in shown
    assert ">logistic regression</th>" in shown
    assert len(repr(found)) < 200


def test_a_model_without_rows_is_shown_as_scikit_learn_does():
    assert "TableClassifier" in TableClassifier()._repr_mimebundle_()["text/html"]


def test_only_public_names_are_listed():
    assert set(dir(genus)) == {*genus.__all__, "__version__"}
    assert all(getattr(genus, name) is not None for name in dir(genus))


def test_a_report_of_a_model(model, tmp_path):
    model.report(tmp_path / "r.html")
    model.report(tmp_path / "new.html", rows())
    assert all("<html" in (tmp_path / name).read_text() for name in ("r.html", "new.html"))


def test_a_report_is_not_named_pdf(model, tmp_path):
    with pytest.raises(ValueError, match=r"page of HTML.*Name it \.html"):
        model.report(tmp_path / "r.PDF")
    assert not list(tmp_path.iterdir())


def test_samples_hold_no_text_of_a_row():
    """Texts that repeat are categories, and would be drawn whole."""
    texts = [f"the quick brown fox {i} jumps over my dog" for i in range(6)]
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    table = {"note": [texts[i] for i in rng.integers(0, 3, 200) + 3 * y], "x": rng.normal(y)}
    model = TableClassifier().fit(table, y)
    assert {c.name: c.kind for c in model.plan_.used}["note"] == "category"
    drawn = model.sample(300, random_state=0)[0]["note"].to_pylist()
    assert not set(drawn) & set(texts)
    assert {word for text in drawn for word in text.split()} <= {
        w for t in texts for w in t.split()
    }


def test_whole_numbers_of_many_values_are_no_classes(tmp_path):
    rng = np.random.default_rng(0)
    price = rng.integers(0, 10_000, 2000)
    table = {"x": rng.normal(size=2000), "price": price}
    for given in (table, {**table, "price": price.astype(float)}):
        with pytest.raises(TableError, match=r"holds 1,\d\d\d whole numbers.*regressor.*VARCHAR"):
            TableClassifier().fit(given, target="price")
    few = {**table, "price": price % 150}
    assert len(TableClassifier(calibrate=False).fit(few, target="price").classes_) == 150


@pytest.mark.parametrize(
    "written",
    [
        lambda v: f"€{v:.2f}",
        lambda v: f"{v} %",
        lambda v: f"{v % 12 + 1:02}/01/{1990 + v // 12}",
        lambda v: f"{1990 + v // 12}-{v % 12 + 1:02}-01",
    ],
)
def test_numbers_and_dates_as_text_are_no_classes(written):
    x = np.arange(600)
    values = [written(v % 300) for v in x]
    with pytest.raises(TableError, match="holds 300 numbers or dates, such as"):
        TableClassifier().fit({"x": x % 7, "y": values}, target="y")
    codes = [str(v % 300) for v in x]  # as the error for numbers advises
    assert (
        len(TableClassifier(calibrate=False).fit({"x": x % 7, "y": codes}, target="y").classes_)
        == 300
    )


def test_a_target_that_identifies_rows_is_refused():
    table = {"x": np.arange(3000) % 7, "who": [f"p{i}" for i in range(3000)]}
    with pytest.raises(TableError, match="3,000 values in 3,000 rows, fewer than two rows"):
        TableClassifier().fit(table, target="who")
