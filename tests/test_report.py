"""The report: its figures are right, its page is sound, and a real browser shows it."""

from __future__ import annotations

import base64
import datetime
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import confusion_matrix, roc_auc_score

import chromium
from genus import TableClassifier, compare, load
from genus.display import palette
from genus.display import text as shown
from genus.evaluate.comparing.verdict import mean
from genus.report import comparison, densities, judging, learning, page, scores, svg, write
from genus.stacking.outcome import CrossValidation
from genus.table import TableError
from scope import EVERYTHING, at_night, nightly

pytest.importorskip("jinja2")

HOSTILE = '<script>alert("x")</script>\'&amp;'
VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
SECTIONS = ["families", "columns", "confusion", "reliability", "roc", "evidence"]
SECTIONS += ["dependence", "mistakes", "comparison"]


def mixed(n: int = 160, seed: int = 0) -> pd.DataFrame:
    """A table of all kinds of columns, with holes and hostile names."""
    rng = np.random.default_rng(seed)
    k = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    age = rng.normal(np.array([52, 38, 45])[k], 10).round()
    age[rng.random(n) < 0.1] = np.nan
    cities = np.array(["Trier", "Köln", "</td><td>", HOSTILE])
    city = cities[(k + rng.integers(0, 2, n)) % 4].astype(object)
    city[rng.random(n) < 0.1] = None
    words = np.array(["kind calm thanks", "slow late refund", "back again hello"])
    said = np.where(rng.random(n) < 0.3, rng.integers(0, 3, n), k)
    note = [f"the service was {words[i]} {j}" for j, i in enumerate(said)]
    since = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n) + 60 * k, "D")
    return pd.DataFrame(
        {
            "age": age,
            "visits": rng.poisson(np.array([2, 6, 11])[k]),
            HOSTILE: city,
            "member": rng.random(n) < np.array([0.8, 0.4, 0.6])[k],
            "note": note,
            "since": since,
            "😀" * 200: rng.normal(size=n),
            "a\x00b\u202eevil": rng.lognormal(k, 1),
            "id": np.arange(n),
            "outcome": np.array(["stays", HOSTILE, "returns 😀"])[k],
        }
    )


class Page(HTMLParser):
    """The elements of a page, each checked to be closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def written(folder: Path, model: Any, data: Any, target: str | None) -> str:
    path = folder / "report.html"
    write(model, data, target, path)
    return path.read_text(encoding="utf-8")


def drawings(text: str) -> list[ElementTree.Element]:
    """The figures, read as XML."""
    found = re.findall(r"<svg\b.*?</svg>", text, re.S)
    return [ElementTree.fromstring(one) for one in found]


@pytest.fixture(autouse=True, scope="module")
def short_learning_curves() -> Iterator[None]:
    """Draw learning curves from few rows: they take longest, and one test looks at them."""
    with pytest.MonkeyPatch.context() as patch:
        if not EVERYTHING:
            patch.setattr("genus.report.learning.MOST", 60)
        yield


@pytest.fixture(scope="module")
def mixed_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page on the mixed table."""
    return written(tmp_path_factory.mktemp("mixed"), None, mixed(), "outcome")


@pytest.fixture(scope="module")
def outcome() -> CrossValidation:
    """Return probabilities of three classes, some of them wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    p = rng.dirichlet(np.ones(3), 400) + 0.7 * np.eye(3)[y]
    p /= p.sum(axis=1, keepdims=True)
    return CrossValidation(p, np.array(["a", "b", "c"]), y, np.ones(400), np.zeros(400, int))


@pytest.fixture(scope="module")
def binary(outcome: CrossValidation) -> CrossValidation:
    """Return probabilities of two classes."""
    p = np.column_stack([1 - outcome.probabilities[:, 2], outcome.probabilities[:, 2]])
    y = (outcome.y == 2).astype(np.int64)
    return CrossValidation(p, np.array([0, 1]), y, outcome.weight, outcome.fold)


# The page


def test_page_is_sound(mixed_text: str) -> None:
    page = Page(mixed_text)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == len(page.all("title")) - len(drawings_with_title(mixed_text)) == 1
    assert [s["id"] for s in page.all("section")] == SECTIONS
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["href"] for a in page.all("a")} <= {f"#{name}" for name in ids}
    assert {f"#{name}" for name in SECTIONS} <= {a["href"] for a in page.all("a")}
    named = {meta.get("name") for meta in page.all("meta")}
    assert "viewport" in named


def drawings_with_title(text: str) -> list[ElementTree.Element]:
    return [one for one in drawings(text) if one.find("title") is not None]


def test_nothing_is_loaded_and_nothing_runs(mixed_text: str) -> None:
    page = Page(mixed_text)
    for tag in ("script", "img", "iframe", "object", "embed", "video", "audio", "base", "form"):
        assert page.all(tag) == [], tag
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "action", "xlink:href"):
                assert re.match(r"#|data:,$", str(value)), (tag, value)
    assert not re.search(r"https?:|//[a-z]|url\(|@import", mixed_text)
    (policy,) = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_what_others_wrote_is_escaped(mixed_text: str) -> None:
    assert "<script" not in mixed_text
    page = Page(mixed_text)
    assert HOSTILE in page.text
    assert "</td><td>" in page.text
    assert "\x00" not in mixed_text
    assert "\u202e" not in mixed_text
    assert "😀" * 100 not in mixed_text  # it is cut


def test_figures_are_described(mixed_text: str) -> None:
    found = drawings(mixed_text)
    told = [one for one in found if one.get("role") == "img"]
    # columns but texts, and what they add; reliability, ROC, evidence; two curves
    assert len(told) == 2 * 7 + 3 + 2
    for one in told:
        title, description = one.findtext("title"), one.findtext("desc")
        assert title
        assert description
        assert len(description) > 10
        assert one.get("aria-label", "").startswith(title)
    for one in found:
        assert one.get("role") == "img" or one.get("aria-hidden") == "true"


def test_figures_stay_within_themselves(mixed_text: str) -> None:
    for one in drawings_with_title(mixed_text):
        width, height = map(float, one.get("viewBox", "").split()[2:])
        for element in one.iter():
            pairs = [p.split(",") for p in element.get("points", "").split()]
            pairs += [[element.get("x", "0"), element.get("y", "0")]]
            pairs += [[element.get("cx", "0"), element.get("cy", "0")]]
            for x, y in pairs:
                assert -0.01 <= float(x) <= width + 0.01
                assert -0.01 <= float(y) <= height + 0.01


def test_tables_are_labelled(mixed_text: str) -> None:
    page = Page(mixed_text)
    assert len(page.all("caption")) == len(page.all("table")) > 4
    assert all(th.get("scope") in ("row", "col") for th in page.all("th"))


def test_dates_are_dates(mixed_text: str) -> None:
    assert re.search(r">2024-\d\d-\d\d<", mixed_text)


# Colours


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_contrast(colours: dict[str, str]) -> None:
    grounds = {name: colours[name] for name in ("page", "panel")}
    for ground in grounds.values():
        for text in ("text", "muted", "link"):
            assert palette.contrast(colours[text], ground) >= 4.5, text
        marks = [name for name in colours if name.startswith("class-")]
        for mark in [*marks, "others", "axis", "bar-edge"]:
            assert palette.contrast(colours[mark], ground) >= 3, mark
    for mark in (name for name in colours if name.startswith("class-")):
        assert palette.contrast(colours[mark], colours["bar"]) >= 3, mark
    for cell in (name for name in colours if name.startswith(("right-", "wrong-"))):
        assert palette.contrast(colours["text"], colours[cell]) >= 4.5, cell
    assert palette.LIGHT.keys() == palette.DARK.keys()


def test_contrast_of_black_and_white() -> None:
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21)


# Figures


def test_confusion_is_that_of_scikit_learn(outcome: CrossValidation) -> None:
    truth = outcome.classes[outcome.y]
    expected = confusion_matrix(truth, outcome.predictions)
    assert np.array_equal(scores.confusion(outcome), expected)


def test_areas_are_those_of_scikit_learn(outcome: CrossValidation, binary: CrossValidation) -> None:
    for curve in scores.rocs(outcome):
        expected = roc_auc_score(outcome.y == curve.k, outcome.probabilities[:, curve.k])
        assert curve.area == pytest.approx(expected)
    (curve,) = scores.rocs(binary)
    assert curve.area == pytest.approx(roc_auc_score(binary.y, binary.probabilities[:, 1]))
    assert {c.area for c in scores.by_class(binary, [curve], binary.metrics())} == {curve.area}


def test_reliability_is_that_of_scikit_learn(
    outcome: CrossValidation, binary: CrossValidation
) -> None:
    steps = scores.reliability(binary)
    share, said = calibration_curve(binary.y, binary.probabilities[:, 1], n_bins=10)
    assert [s.share for s in steps] == pytest.approx(share)
    assert [s.probability for s in steps] == pytest.approx(said)
    steps = scores.reliability(outcome)
    right = outcome.predictions == outcome.classes[outcome.y]
    share, said = calibration_curve(right, outcome.probabilities.max(axis=1), n_bins=10)
    assert [s.share for s in steps] == pytest.approx(share)
    assert sum(s.rows for s in steps) == 400
    assert all(s.low <= s.share <= s.high for s in steps)


@nightly
def test_the_page_prints_what_was_found(tmp_path: Path) -> None:
    data = load_breast_cancer(as_frame=True)
    frame = data.frame.iloc[:, [0, 1, 7, 20, -1]]
    train, test = frame.iloc[::2], frame.iloc[1::2]
    model = TableClassifier().fit(train, target="target")
    page = Page(written(tmp_path, model, test, "target"))
    X, y = test.drop(columns="target"), test["target"]
    cells = confusion_matrix(y, model.predict(X))
    assert f"0 {cells[0, 0]} {cells[0, 1]} {cells[0].sum()}" in page.text
    assert f"1 {cells[1, 0]} {cells[1, 1]} {cells[1].sum()}" in page.text
    area = roc_auc_score(y, model.predict_proba(X)[:, 1])
    assert f"area under ROC {area:.4f}" in page.text
    assert shown.percent(float((model.predict(X) == y).mean())) in page.text
    assert "presumably to other rows" in page.text


def test_rows_are_counted_as_they_are_given() -> None:
    frame = mixed(60)
    frame.loc[[0, 5, 6], "outcome"] = None
    rows = judging.read(judging.open_table(frame), "outcome")
    assert rows.numbers.tolist() == [i + 1 for i in range(60) if i not in (0, 5, 6)]
    assert (rows.total, rows.unlabelled) == (57, 3)
    assert rows.y.tolist() == frame["outcome"].dropna().tolist()
    assert "outcome" not in rows.table.column_names


def test_many_rows_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MOST_ROWS", 50)
    frame = pd.DataFrame({"a": np.arange(1234), "y": np.arange(1234) % 2})
    rows = judging.read(judging.open_table(frame), "y")
    assert len(rows.y) == 50
    assert rows.total == 1234
    assert (rows.table.column("a").to_numpy() + 1).tolist() == rows.numbers.tolist()


def test_probabilities_belong_to_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "FEW_ROWS", 10)
    frame = mixed(120)
    frame.loc[[3, 50], "outcome"] = None
    found = judging.judged(None, frame, "outcome")
    assert found.rows is not None
    assert found.outcome is not None
    assert found.outcome.classes[found.outcome.y].tolist() == found.rows.y.tolist()


def test_the_surest_mistakes_come_first(mixed_text: str) -> None:
    page = Page(mixed_text)
    sure = re.findall(r"predicted as .{1,60}? with (?:more than )?([\d.]+) %\.", page.text)
    assert sure
    assert [float(p) for p in sure] == sorted(map(float, sure), reverse=True)


# The comparison


def test_comparison_is_of_the_same_rows() -> None:
    data = load_iris(as_frame=True).frame
    found = judging.judged(None, data, "target")
    compared = comparison.compared(found)
    ours, theirs = compared.lines
    assert found.outcome is not None
    assert ours.accuracy == found.outcome.accuracy
    assert 0.9 < theirs.accuracy < 1
    assert 0 < theirs.log_loss < 0.3
    assert "has a lower log loss than" in compared.told
    assert f"{theirs.log_loss:.4f}" in compared.told


def test_comparison_says_when_it_did_not_converge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_STEPS", 1)
    found = judging.judged(None, load_iris(as_frame=True).frame, "target")
    assert "did not converge within 1 steps in 5 of 5 folds" in comparison.compared(found).told


def test_comparison_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "PATIENCE", 0.0)
    found = judging.judged(None, load_iris(as_frame=True).frame, "target")
    compared = comparison.compared(found)
    assert "only 1 of 5 folds" in compared.told
    assert len(compared.lines) == 2


@nightly
def test_comparison_says_when_it_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(X: Any, y: Any) -> Any:
        raise ValueError("no words\nin <texts>")

    monkeypatch.setattr(comparison, "fitted", fail)
    page = Page(written(tmp_path, None, load_iris(as_frame=True).frame, "target"))
    assert "could not be fitted: no words in <texts>" in page.text


# Odd data, and other ways to ask

rng = np.random.default_rng(0)
twelve = rng.integers(0, 12, 300)
ODD: dict[str, Any] = {
    "two rows a class": {"a": [1, 2, 5, 6], "b": ["x", "y", "x", "z"], "y": [0, 0, 1, 1]},
    "one column": {"a": rng.normal(size=40), "y": [0, 1] * 20},
    "texts only": {
        "t": [f"{'good nice' if i % 2 else 'bad awful'} day {i}" for i in range(40)],
        "y": [str(i % 2) for i in range(40)],
    },
    "twelve classes": {"a": twelve + rng.normal(size=300), "y": [f"class {i}" for i in twelve]},
    "twenty-four classes": {"a": np.arange(240) / 10, "y": [f"c{i // 10}" for i in range(240)]},
    "missing in one class": {
        "a": [None if i % 2 else float(i) for i in range(40)],
        "b": rng.normal(size=40),
        "y": [i % 2 for i in range(40)],
    },
    "truths": {"a": rng.normal(size=30), "y": rng.random(30) < 0.5},
    "far outliers": {"a": [*rng.normal(size=29), 1e12], "y": [0, 1] * 15},
}


@pytest.mark.parametrize("name", at_night(ODD, *(n for n in ODD if n != "twelve classes")))
def test_odd_data(name: str, tmp_path: Path) -> None:
    data = ODD[name]
    text = written(tmp_path, None, data, "y")
    page = Page(text)
    assert [s["id"] for s in page.all("section")] == SECTIONS
    assert len(drawings(text)) > 2
    assert "nan" not in re.sub(r"[^a-z]", " ", text.lower()).split()
    assert len(text) < 400_000


@nightly
def test_only_some_columns_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genus.report.page.DETAILED", 2)
    text = written(tmp_path, None, load_iris(as_frame=True).frame, "target")
    assert "2 less informative columns are only in the table above." in Page(text).text
    assert len(drawings_with_title(text)) == 2 + 4 + 3 + 2


def test_many_columns_are_judged_as_they_were_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MANY_COLUMNS", 3)
    found = judging.judged(None, load_iris(as_frame=True).frame, "target")
    assert found.outcome is not None
    assert len(found.outcome.y) == 150
    assert "may be optimistic" in found.how
    monkeypatch.setattr(judging, "MANY_COLUMNS", 4)
    anew = judging.judged(None, load_iris(as_frame=True).frame, "target")
    assert anew.outcome.log_loss != found.outcome.log_loss
    assert "Neither its counts nor its weights include the row" in anew.how


def test_a_model_that_is_not_fitted_says_how_to_fit() -> None:
    fresh = TableClassifier({"petal width (cm)": "gaussian"}, ignore=["sepal width (cm)"])
    found = judging.judged(fresh, load_iris(as_frame=True).frame, "target")
    assert found.is_fresh
    assert found.model.get_params() == fresh.get_params()
    assert "sepal width (cm)" not in found.model.feature_names_in_
    with pytest.raises(ValueError, match="a fitted model"):
        judging.judged(fresh, None, None)


def test_one_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="always 1"):
        written(tmp_path, None, {"a": [1, 2, 3], "y": [1, 1, 1]}, "y")
    assert list(tmp_path.iterdir()) == []


def test_a_model_by_itself(tmp_path: Path) -> None:
    model = TableClassifier().fit(mixed(), target="outcome")
    page = Page(written(tmp_path, model, None, None))
    assert "its out-of-fold scores on the sample" in page.text
    assert "drawn from the model" in page.text
    assert [s["id"] for s in page.all("section")] == [s for s in SECTIONS if s != "mistakes"]
    model.save(tmp_path / "model")
    page = Page(written(tmp_path, load(tmp_path / "model"), None, None))
    assert "When it was fitted, the model predicted the 3 classes" in page.text
    assert "confusion" not in [s["id"] for s in page.all("section")]


@nightly
def test_a_model_without_weights(tmp_path: Path) -> None:
    model = TableClassifier(calibrate=False).fit(mixed(), target="outcome")
    assert "Its accuracy is not known" in Page(written(tmp_path, model, None, None)).text
    assert (
        "Both models were fitted again" in Page(written(tmp_path, model, mixed(90, 1), None)).text
    )


@nightly
def test_classes_that_are_new(tmp_path: Path) -> None:
    model = TableClassifier().fit(mixed(), target="outcome")
    frame = mixed(60, 1)
    frame.loc[:4, "outcome"] = "strange"
    page = Page(written(tmp_path, model, frame, "outcome"))
    assert "1 of their classes was not in its training rows (strange)." in page.text


@nightly
def test_a_stream_is_read_once(tmp_path: Path) -> None:
    import pyarrow as pa

    table = pa.Table.from_pandas(load_iris(as_frame=True).frame)
    page = Page(written(tmp_path, None, table.to_reader(), "target"))
    assert "On 150 rows out of fold" in page.text


def test_files_are_read(tmp_path: Path) -> None:
    load_iris(as_frame=True).frame.to_csv(tmp_path / "iris.csv", index=False)
    assert "150 rows" in Page(written(tmp_path, None, tmp_path / "iris.csv", "target")).text


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs a fitted model, data, or both"):
        write(None, None, "y", tmp_path / "a.html")
    with pytest.raises(ValueError, match="needs the name of the target column"):
        write(None, {"a": [1, 2], "y": [0, 1]}, None, tmp_path / "a.html")
    with pytest.raises(TableError, match="no column 'z'"):
        write(None, {"a": [1, 2], "y": [0, 1]}, "z", tmp_path / "a.html")
    with pytest.raises(TypeError, match="TableClassifier"):
        write("model", None, None, tmp_path / "a.html")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        write(None, ODD["one column"], "y", tmp_path / "none" / "a.html")


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3, 47), (1e-12, 3e-12), (1e9, 1e9 + 7), (5, 5), (-1e300, 1e300)]
)
def test_ticks(low: float, high: float) -> None:
    found = svg.ticks(low, high)
    assert 1 <= len(found) <= 8
    slack = 1e-6 * max(high - low, 1e-300)
    assert low - slack <= found[0] <= found[-1] <= high + slack


# In a browser


@pytest.fixture(scope="module", params=at_night(["mixed", "twelve classes"], "mixed"))
def page_path(
    request: pytest.FixtureRequest, mixed_text: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a page as a file."""
    path = tmp_path_factory.mktemp("browser") / "report.html"
    if request.param == "mixed":
        path.write_text(mixed_text, encoding="utf-8")
    else:
        write(None, ODD[request.param], "y", path)
    return path


def shows(browser: Any, path: Path, width: int, scheme: str = "light", media: str = "") -> None:
    chromium.emulate(browser, width, scheme, media=media)
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(path.as_uri())


@pytest.mark.parametrize("width", at_night([320, 360, 1200], 320, 1200))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_browser_shows_it(browser: Any, page_path: Path, width: int, scheme: str) -> None:
    shows(browser, page_path, width, scheme)
    assert browser.get_log("browser") == []
    sizes = "return [document.documentElement.scrollWidth, document.body.scrollWidth]"
    assert max(browser.execute_script(sizes)) <= width
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    page = (palette.LIGHT if scheme == "light" else palette.DARK)["page"]
    assert colour == f"rgb({int(page[1:3], 16)}, {int(page[3:5], 16)}, {int(page[5:7], 16)})"
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('svg[role=img]')].map(s => {"
        "const b = s.getBoundingClientRect(); return [b.width, b.height, s.querySelectorAll"
        "('polyline, rect, circle').length]})"
    )
    assert len(drawn) >= 4
    assert all(w > 200 and h > 50 and marks > 0 for w, h, marks in drawn)
    smallest = browser.execute_script(
        "return Math.min(...[...document.querySelectorAll('svg[role=img]')].map(s =>"
        "parseFloat(getComputedStyle(s).fontSize) * s.getBoundingClientRect().width / 360))"
    )
    assert smallest >= 9  # letters in figures, in pixels
    assert browser.find_element("tag name", "h1").is_displayed()


def test_browser_loads_nothing_else(browser: Any, page_path: Path) -> None:
    shows(browser, page_path, 1200)
    asked = chromium.requested(browser)
    assert {url for url in asked if not url.startswith("data:")} == {page_path.as_uri()}
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_long_names_break_between_their_words():
    assert page.breakable("net_salesTotal <b>") == "net_<wbr>sales<wbr>Total &lt;b&gt;"


def test_browser_names_figures_and_headings(browser: Any, page_path: Path) -> None:
    shows(browser, page_path, 1200)
    drawn = len(browser.find_elements("css selector", "svg[role=img]"))
    for _ in range(50):  # the tree is made beside the page, and may not be there yet
        tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree]
        images = [name for role, name in roles if role in ("image", "img")]
        if len(images) == drawn:
            break
        time.sleep(0.1)
    assert len(images) == drawn
    assert all(images)
    headings = [name for role, name in roles if role == "heading"]
    assert len(headings) > len(SECTIONS)
    assert all(headings)


def test_browser_prints_it(browser: Any, page_path: Path) -> None:
    shows(browser, page_path, 800, "dark", "print")
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(255, 255, 255)"  # whatever the screen is like
    assert not browser.find_element("tag name", "nav").is_displayed()
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    assert browser.get_log("browser") == []


def test_learning_curves_say_which_to_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genus.report.learning.MOST", 2000)
    text = Page(written(tmp_path, None, load_iris(as_frame=True).frame, "target")).text
    assert "With your 150 rows, use GDA" in text
    assert "rows learned from" in text
    assert "Which assumptions hold for these rows:" in text


def test_few_rows_have_no_learning_curves(tmp_path: Path) -> None:
    few = load_iris(as_frame=True).frame.iloc[::4]
    assert (
        "Learning curves need 50 rows or more; got 38."
        in Page(written(tmp_path, None, few, "target")).text
    )


def test_zeros_and_ones_are_bars() -> None:
    y = np.arange(200) % 2
    frame = {"is_new": (np.arange(200) % 4 == 1).astype(int), "x": np.arange(200.0) % 17, "y": y}
    model = TableClassifier().fit(frame, target="y")
    drawn = densities.density(model, "is_new")
    assert isinstance(drawn, densities.Shares)
    assert list(drawn.values) == ["0", "1"]
    assert np.asarray(drawn.p) == pytest.approx(np.array([[1.0, 0.5], [0.0, 0.5]]))
    assert drawn.bars == pytest.approx([0.75, 0.25])


def test_the_page_says_of_what_and_when_it_is(tmp_path: Path) -> None:
    frame = mixed(40, 1)
    frame.to_csv(tmp_path / "customers.csv", index=False)
    write(None, tmp_path / "customers.csv", "outcome", tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert f"customers.csv, {datetime.date.today().isoformat()}, genus" in text
    assert "balanced accuracy" in text
    assert "area under PR" in text


def test_a_learning_curve_that_is_cut_off_says_so() -> None:
    compared = compare(*load_wine(return_X_y=True), repeats=10)
    drawing = learning.drawn(compared, "log_loss")
    highest = max(float(mean(each).max()) for each in compared.curves.compared("log_loss")[:2])
    assert highest > 2.1
    assert f"cut off above 2.1; highest {highest:.1f}</text>" in drawing
    lines = re.findall(r'<polyline points="([^"]*)"', drawing)
    heights = [[float(point.split(",")[1]) for point in line.split()] for line in lines]
    top = min(min(line) for line in heights)
    assert all(line.count(top) <= 1 for line in heights)  # it leaves the drawing, without a plateau
    assert "cut off" not in learning.drawn(compared, "error")


def test_the_table_of_families_fits_a_phone(browser: Any, page_path: Path) -> None:
    region = ".wide[aria-label='Table of columns']"
    ends = (
        f"const region = document.querySelector({region!r}); return [region.clientWidth, "
        "region.scrollWidth, region.querySelector('.below').offsetHeight, "
        "region.querySelector('td.notes').offsetHeight]"
    )
    shows(browser, page_path, 390)
    width, needed, below, beside = browser.execute_script(ends)
    assert needed <= width
    assert below > 0 == beside
    shows(browser, page_path, 1200)
    _, _, below, beside = browser.execute_script(ends)
    assert beside > 0 == below
