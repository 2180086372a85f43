"""The page of the studio in Chromium: journeys on the shipped examples, with mouse and keyboard."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import CliRunner

import chromium
from genus.cli import cli
from genus.cli.demo import write as write_customers
from genus.studio.journal import Journal
from genus.studio.session import Session
from genus.studio.views.mail import MailStore
from scope import EVERYTHING, at_night, nightly
from studios import FOLDS, OWN, TOKEN, Client, hostile_table, opened, served, visitors

ROOT = Path(__file__).parents[1]
SCREENS = ["table", "scores", "rows", "rows/3", "edit", "compare", "text", "mail", "export"]
SCREENS += ["open", "open/file"]
PATIENCE = 60


class Page:
    """The page in the browser, and how to use it."""

    def __init__(self, browser: Any, client: Client) -> None:
        self.browser, self.client = browser, client

    def open(self, place: str = "") -> None:
        """Load the page as the command does."""
        self.browser.get("about:blank")
        self.browser.get(f"http://127.0.0.1:{self.client.port}/?token={TOKEN}#{place}")
        self.settle()

    def run(self, script: str, *given: Any) -> Any:
        return self.browser.execute_script(script, *given)

    def go(self, place: str) -> None:
        """Go to a screen, and wait until it is drawn."""
        self.run("location.hash = arguments[0]", place)
        key = place if "/" in place else f"{place}/"
        self.until(lambda: self.run("return genusStudio.shown?.key") == key, f"at {place}")
        self.settle()

    def until(self, is_so: Callable[[], Any], what: str = "") -> Any:
        """Wait until something is so."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := is_so():
                return found
            time.sleep(0.03)
        raise AssertionError(f"never so: {what or is_so}; {self.text()[:500]}")

    def settle(self) -> None:
        """Wait until nothing is under way, and the page shows the newest state."""

        def is_settled() -> bool:
            state = self.client.get("/api/state")
            shown = self.run("return globalThis.genusStudio?.state?.serial")
            title = self.run("return document.querySelector('h1') !== null")
            is_idle = state["job"] is None and state["aside"] is None
            return is_idle and shown == state["serial"] and bool(title)

        self.until(is_settled, "settled")
        self.browser.execute_async_script("setTimeout(arguments[0], 60)")

    def text(self, selector: str = "body") -> str:
        """Return what an element shows."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def do(self, script: str, selector: str, *given: Any) -> Any:
        """Scroll to an element `e` and run a script on it, in one step: it may be drawn again."""
        whole = f"""const e = document.querySelector(arguments[0]);
            if (!e) return [];
            e.scrollIntoView({{block: 'center'}});
            return [(() => {{ {script} }})()]"""
        whole = whole.replace("arguments[1]", json.dumps(given[0]) if given else "null")
        return self.until(lambda: self.run(whole, selector), selector)[0]

    def key(self, key: str) -> str:
        """Return the selector of an element that has a key."""
        return f'[data-key="{key}"]'

    def press(self, selector: str) -> None:
        """Click an element."""
        self.do("e.click()", selector)

    def choose(self, selector: str, value: str) -> None:
        """Choose from a list."""
        script = "e.value = arguments[1]; e.dispatchEvent(new Event('change', {bubbles: true}))"
        self.do(script, selector, value)

    def put(self, selector: str, value: str) -> None:
        """Type or drag a value."""
        script = "e.value = arguments[1]; e.dispatchEvent(new Event('input', {bubbles: true}))"
        self.do(f"e.focus(); {script}", selector, value)

    def drag(self, selector: str, to: float) -> None:
        """Drag a slider with the mouse to a share of its width, in steps as a hand does."""
        box = self.do(
            """const b = e.getBoundingClientRect();
            const at = (e.value - e.min) / (e.max - e.min);
            return [b.left + 8 + at * (b.width - 16), b.top + b.height / 2, b.left, b.right]""",
            selector,
        )
        x, y, left, right = box
        end = left + 8 + to * (right - left - 16)
        path = [(x + (end - x) * s, y) for s in (0, 0.2, 0.4, 0.6, 0.8, 1)]
        chromium.drag(self.browser, path, pause=120)

    def scheme(self, scheme: str, width: int) -> None:
        """Show the page in light or dark, as wide as this."""
        chromium.emulate(self.browser, width, scheme)


@pytest.fixture(scope="module", autouse=True)
def few_folds() -> Iterator[None]:
    """Judge rows in two folds, which takes half the time; at night in five."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("genus.studio.judging.FOLDS", FOLDS)
        yield


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the table that `genus demo -o` writes; in the short suite some of its rows."""
    path = tmp_path_factory.mktemp("studio") / "customers.csv"
    write_customers(path, random.Random(1), 600 if EVERYTHING else 240)
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that has learned the shipped messages."""
    path = tmp_path_factory.mktemp("mail") / "mail.sqlite"
    for kind in ("ham", "spam"):
        box = ROOT / "examples" / "mail" / f"{kind}.mbox"
        learned = ["mail", "learn", "--store", str(path), f"--{kind}", str(box)]
        assert CliRunner().invoke(cli, learned).exit_code == 0
    return path


@pytest.fixture(scope="module")
def studio(customers: Path, store: Path) -> Iterator[tuple[Session, Client]]:
    session = opened(str(customers), "status", "customers.csv", mail=MailStore(str(store), True))
    with served(session) as client:
        client.settled()
        yield session, client


@pytest.fixture(scope="module")
def watched(browser: Any) -> Iterator[Any]:
    """Return the browser; nothing may be said on its console, nor asked of others."""
    browser.get_log("browser")
    browser.get_log("performance")
    yield browser
    said = [entry["message"] for entry in browser.get_log("browser")]
    # Chromium notes what the tests ask for: requests that are refused, and a server that is gone.
    meant = (
        "ERR_CONNECTION_REFUSED",
        "ERR_CONNECTION_RESET",
        "ERR_EMPTY_RESPONSE",
        "status of 400",
        "status of 409",
    )
    assert [one for one in said if not any(why in one for why in meant)] == []
    own = ("http://127.0.0.1:", "data:,", "about:blank")
    assert [url for url in chromium.requested(browser) if not url.startswith(own)] == []


@pytest.fixture
def page(watched: Any, studio: tuple[Session, Client]) -> Iterator[Page]:
    """Return the page; whatever a test does is undone."""
    session, client = studio
    found = Page(watched, client)
    found.scheme("light", 1280)
    if f":{client.port}/" in watched.current_url:
        found.go("table")
    else:
        found.open("table")
    yield found
    client.settled()
    while session.edits:
        client.post("/api/undo")
        client.settled()
    session.decision = {}
    found.run("sessionStorage.clear()")


@nightly
def test_the_token_leaves_the_address(page: Page) -> None:
    assert "token" not in page.browser.current_url
    page.browser.refresh()
    page.settle()
    assert "Table" in page.text("h1")


def test_screens_are_links_and_the_content_is_skipped_to(page: Page) -> None:
    page.press(page.key("nav-rows"))
    page.until(lambda: page.text("h1") == "Rows")
    page.press(".skip")
    assert page.run("return document.activeElement.id") == "main"
    assert page.text("h1") == "Rows"
    page.browser.back()
    page.until(lambda: page.text("h1") == "Table")


def test_a_family_is_changed_and_undone(page: Page) -> None:
    text = page.text("main")
    for name in ("note", "calls", "age", "spent", "plan", "city", "customer"):
        assert name in text
    before = page.text(".headline")
    column = page.run(
        "return [...document.querySelectorAll('.family select')]"
        ".find((s) => s.getAttribute('aria-label') === 'Family of age').dataset.key"
    )
    page.choose(page.key(column), "discretised")
    page.until(lambda: "1 change" in page.text(".headline"))
    page.settle()
    assert (
        page.run("return document.querySelector(arguments[0]).value", page.key(column))
        == "discretised"
    )
    page.press(page.key("undo"))
    page.until(lambda: page.text(".headline") == before, "the scores as before")


def test_a_column_unfolds(page: Page) -> None:
    page.press(page.key("column-1"))
    page.until(lambda: "to the log-odds" in page.text(".details"))
    assert page.run("return document.querySelectorAll('.details svg').length") == 2
    page.choose(page.key("pair-1"), "4")
    page.until(lambda: page.run("return document.querySelectorAll('.together td.cell').length") > 8)
    assert page.run("return document.activeElement.dataset.key") in (None, "column-1")


def test_threshold_and_costs_follow_the_sliders(page: Page) -> None:
    page.go("scores")
    assert "accuracy" in page.text(".tiles")
    before = page.text(".outcome")
    page.drag(page.key("threshold"), 0.8)
    page.until(lambda: page.text(".outcome") != before)
    page.settle()
    state = page.client.get("/api/scores")["decided"]
    assert state["threshold"] == pytest.approx(0.8, abs=0.02)
    assert f"{state['cost']['value']:.3f}" in page.text(".outcome")
    page.put(page.key("cost01"), "12")
    page.until(lambda: page.client.get("/api/scores")["decided"]["costs"][0][1] == 12)
    page.press(page.key("cheapest"))
    page.until(lambda: page.client.get("/api/scores")["decided"]["threshold"] is None)
    page.until(lambda: "92\u00a0%" in page.text(".dial output"), "12 / 13 as the threshold")
    page.browser.refresh()
    page.settle()
    page.until(lambda: "92\u00a0%" in page.text(".dial output"), "the same after a reload")


def test_arrow_keys_move_sliders(page: Page) -> None:
    page.go("scores")
    page.do("e.focus()", page.key("threshold"))
    for _ in range(3):
        chromium.press(page.browser, "ArrowRight")
        page.browser.execute_async_script("setTimeout(arguments[0], 250)")
    page.until(lambda: page.client.get("/api/scores")["decided"]["threshold"] == 0.53)
    assert page.run("return document.activeElement.dataset.key") == "threshold"


def test_the_class_of_interest_is_chosen(page: Page) -> None:
    page.go("scores")
    page.put(page.key("threshold"), "0.3")
    page.until(lambda: page.client.get("/api/scores")["decided"]["threshold"] == 0.3)
    page.settle()
    before = page.text(".outcome")
    assert "stayed" in page.text(".dial")
    page.choose(page.key("interest"), "0")
    page.until(lambda: "left" in page.text(".dial"))
    page.until(lambda: "70\u00a0%" in page.text(".dial output"))
    assert page.text(".outcome") == before  # the same decisions, told of the other class
    page.browser.refresh()
    page.settle()
    page.until(lambda: "left" in page.text(".dial"), "the same after a reload")


@nightly
def test_rows_are_filtered_by_range(page: Page) -> None:
    page.go("rows")
    page.choose(page.key("column"), "1")
    page.choose(page.key("how"), "range")
    page.put(page.key("value"), "30")
    page.until(lambda: "rows match" in page.text(".picks"))
    page.put(page.key("high"), "40")
    query = "/api/rows?column=1&how=range&value=30&high=40"
    told = f"{page.client.get(query)['matching']} rows match"
    page.until(lambda: told in page.text(".picks"), told)
    page.put(page.key("value"), "thirty")
    page.until(lambda: "does not fit" in page.text(".banner"))
    page.put(page.key("value"), "")
    page.until(lambda: page.text(".banner") == "")


def test_what_if(page: Page) -> None:
    page.go("rows")
    page.press(page.key("sort-doubt"))
    page.until(lambda: "sort=doubt" in page.browser.current_url)
    page.settle()
    page.run("document.querySelector('table.rows tbody td:last-child').click()")
    page.until(lambda: page.text("h1").startswith("Row "))
    page.settle()
    before = page.text(".bars")
    calls = page.run(
        "return [...document.querySelectorAll('.field')]"
        ".find((f) => f.innerText.startsWith('calls')).dataset.input"
    )
    most = page.do("return e.max", page.key(f"slide-{calls}"))
    page.drag(page.key(f"slide-{calls}"), 1.0)
    page.until(lambda: page.text(".bars") != before)
    page.until(lambda: "If only calls changes" in page.text(".what-if-curve"))
    assert page.run("return document.querySelector(arguments[0]).value", f"#input-{calls}") == most
    changed = page.text(".bars")
    page.browser.refresh()
    page.settle()
    page.until(lambda: page.text(".bars") == changed, "the same after a reload")
    page.put(f"#input-{calls}", "many")
    page.until(lambda: "does not fit" in page.text(".wrong"))
    page.press(page.key("reset"))
    page.until(lambda: page.text(".bars") == before)
    assert "nearest rows" in page.text("main")


def test_rows_are_forgotten_and_come_back(page: Page) -> None:
    page.go("rows")
    total = page.client.get("/api/state")["rows"]
    boxes = page.run(
        "return [...document.querySelectorAll('tbody input')].map((b) => b.dataset.key)"
    )
    for key in boxes[:3]:
        page.press(page.key(key))
    assert "3 selected" in page.text(".picks")
    page.browser.refresh()
    page.settle()
    page.until(lambda: "3 selected" in page.text(".picks"), "the selection outlives a reload")
    page.press(page.key("forget"))
    page.until(lambda: f"{total - 3:.0f} rows" in page.text(".headline"))
    page.settle()
    page.go("edit")
    assert "3 rows forgotten" in page.text(".edits")
    assert page.text("main").count("Relabel") >= 5
    page.press(page.key("undo-last"))
    page.until(lambda: f"{total:.0f} rows" in page.text(".headline"))


@nightly
def test_rows_that_match_are_relabelled(page: Page) -> None:
    page.go("rows")
    page.choose(page.key("column"), "3")
    page.put(page.key("value"), "basic")
    page.until(lambda: "rows match" in page.text(".picks"))
    page.choose(page.key("class"), "0")
    page.settle()
    found = page.client.get("/api/rows?column=3&how=is&value=basic&class=0")["matching"]
    page.until(lambda: f"{found} rows match" in page.text(".picks"))
    page.choose(page.key("relabel"), "1")
    page.until(lambda: page.client.settled()["edits"] == [f"{found} rows relabelled stayed"])


@nightly
def test_two_tabs_show_the_same(page: Page) -> None:
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.open("edit")
    second = page.browser.current_window_handle
    page.browser.switch_to.window(first)
    page.go("edit")
    page.press(".suspect .button")
    page.settle()
    page.browser.switch_to.window(second)
    page.until(lambda: "1 row relabelled" in page.text(".edits"), "the other tab follows")
    page.press(page.key("undo-last"))
    page.settle()
    page.browser.close()
    page.browser.switch_to.window(first)
    page.until(lambda: "Nothing yet" in page.text("main"))


@nightly
def test_comparison_is_live(page: Page) -> None:
    page.go("compare")
    page.until(lambda: "logistic regression" in page.text("table"))
    before = page.text("main .lead")
    page.client.do("leave out", column=4)
    page.until(lambda: page.text("main .lead") not in (before, ""), "another comparison")
    page.until(lambda: "log loss than" in page.text("main .lead"))


@nightly
def test_type_a_message(page: Page) -> None:
    page.go("text")
    page.put("#message", "wrong bill, slow line <b>&amp;")
    page.until(lambda: "left" in page.text(".verdict dt"))
    assert "bill" in page.text(".verdict .evidence")
    page.put("#message", "fair price and friendly staff")
    page.until(lambda: "stayed" in page.text(".verdict dt"))


def test_mail(page: Page) -> None:
    page.go("mail")
    assert "spam known" in page.text(".facts")
    box = str(ROOT / "examples" / "mail" / "new.mbox")
    page.run("return document.querySelector('#mail-file')").send_keys(box)
    page.until(lambda: page.run("return document.querySelectorAll('.message').length") > 2)
    page.press(page.key("mail-1"))
    page.until(lambda: "spam" in page.text(".outcome strong"))
    known = page.client.get("/api/stats")["spam"]
    page.press(page.key("is-spam"))
    page.until(lambda: "The filter has learned it as spam" in page.text("main"))
    assert page.client.get("/api/stats")["spam"] == known + 1
    page.press(page.key("forget-mail"))
    page.until(lambda: "has learned it" not in page.text("main"))
    assert page.client.get("/api/stats")["spam"] == known
    subject = page.text(".card:last-child h2")
    page.browser.refresh()
    page.settle()
    page.until(lambda: page.text(".card:last-child h2") == subject, "the same after a reload")
    assert page.run("return document.querySelectorAll('.message').length") > 2
    page.run(DROP, "one.eml", "From: a@b.example\nSubject: One <b>message</b>\n\nHello\n")
    page.until(lambda: page.text(".card:last-child h2") == "One <b>message</b>")


def test_clues_of_a_message_add_up(page: Page) -> None:
    raw = (ROOT / "examples" / "mail" / "new.mbox").read_bytes()
    path = "/api/mail?do=why&number=1"
    status, _, body = page.client.ask("POST", path, raw, **OWN)
    assert status == 200
    found = json.loads(body)
    shown = sum(clue["weight"] for clue in found["clues"]) + found["others"][1]
    assert found["others"][0] > 0
    assert found["constant"] + shown == pytest.approx(found["score"], abs=1e-3)


def test_export_shows_the_script(page: Page) -> None:
    page.client.do("forget", rows=[4])
    page.go("export")
    assert "model.forget(rows.take(picked)" in page.text("pre")
    links = page.run("return [...document.querySelectorAll('a[download]')].map((a) => a.pathname)")
    assert links == ["/export/model", "/export/rows", "/export/script"]


def test_errors_are_shown(page: Page) -> None:
    page.go("rows")
    page.choose(page.key("class"), "0")
    page.until(lambda: "rows match" in page.text(".picks"))
    page.press(page.key("forget"))
    page.until(lambda: "two classes" in page.text(".banner"))


@pytest.mark.parametrize(("width", "scheme"), chromium.LOOKS)
def test_axe_finds_nothing(page: Page, width: int, scheme: str) -> None:
    page.scheme(scheme, width)
    page.open("table")
    found: dict[str, Any] = {}
    for place in SCREENS if EVERYTHING else ["table", "scores", "rows", "rows/3", "text"]:
        page.go(place)
        if place == "table":
            page.press(page.key("column-1"))
            page.until(lambda: page.text(".details h3"))
        if place == "text":
            page.put("#message", "wrong bill")
            page.until(lambda: page.text(".verdict"))
        if violations := chromium.violations(page.browser):
            found[place] = violations
    assert found == {}


@pytest.mark.parametrize("width", at_night([390, 768, 1280], 390))
def test_nothing_is_wider_than_the_page(page: Page, width: int) -> None:
    page.scheme("light", width)
    for place in SCREENS:
        page.go(place)
        but = ".offscreen, pre, .scroll, nav, svg"
        assert chromium.wider_than_the_page(page.browser, "body", but) == [], place
        assert page.run("return document.documentElement.scrollWidth <= innerWidth"), place


# A table that nobody expects


def test_a_hostile_table_is_text(watched: Any) -> None:
    session = opened(hostile_table(200_000), "class\u202e<b>", name="<i>hostile</i>\u202e.csv")
    with served(session) as client:
        client.settled()
        page = Page(watched, client)
        page.scheme("light", 390)
        page.open("table")
        for place in ("table", "scores", "rows", "rows/7", "edit", "text", "export"):
            page.go(place)
            strange = page.run(
                "return document.querySelectorAll('main img, main script, i, b').length"
            )
            assert strange == 0, place
            assert "<script>alert(" in page.text("main") or place in ("export", "text"), place
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), place
            assert "\u202e" not in page.text("h1")
        assert "<i>hostile</i>" in page.text(".file")


@nightly
def test_drop_a_table(watched: Any, tmp_path: Path) -> None:
    path = tmp_path / "sizes.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["size", "label"])
        writer.writerows([i % 7, "xy"[i % 7 > 3]] for i in range(50))
    with served(Session()) as client:
        page = Page(watched, client)
        page.scheme("light", 1280)
        page.open()
        assert "Drop a table here" in page.text("main")
        page.run("return document.querySelector('#file')").send_keys(str(path))
        page.until(lambda: "What do you want to predict?" in page.text("h1"))
        page.press(page.key("target-1"))
        page.until(lambda: page.text("h1") == "Table")
        assert "50 rows" in page.text("main")


@nightly
def test_screens_say_that_they_show_a_sample(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genus.studio.data.MOST_JUDGED", 60)
    with served(opened(visitors(160), "churned")) as client:
        page = Page(watched, client)
        page.scheme("light", 1280)
        page.open("table")
        for place in ("scores", "rows", "rows/3", "edit", "compare"):
            page.go(place)
            page.until(lambda: "60 of 158 rows, drawn at random." in page.text("main"), place)


DROP = """const given = new DataTransfer();
given.items.add(new File([arguments[1]], arguments[0]));
const event = {dataTransfer: given, bubbles: true, cancelable: true};
return !document.querySelector('main').dispatchEvent(new DragEvent('drop', event));"""


@pytest.mark.parametrize("width", at_night([390, 1280], 1280))
def test_another_table_is_dropped(watched: Any, tmp_path: Path, width: int) -> None:
    sizes = "size,label\n" + "".join(f"{i % 7},{'xy'[i % 7 > 3]}\n" for i in range(50))
    session = opened(visitors(60), "churned", journal=Journal(tmp_path / "session.json"))
    with served(session) as client:
        page = Page(watched, client)
        page.scheme("light", width)
        client.do("forget", rows=[5])
        page.open("rows")
        page.do("e.click()", "tbody input")
        assert "1 selected" in page.text(".picks")
        page.go("rows/3")
        assert page.run(DROP, "sizes.csv", sizes)  # else the browser would leave the page
        page.until(lambda: "This closes visitors.csv, with your changes:" in page.text("main"))
        assert "1 row forgotten" in page.text("main .edits")
        assert page.run("return document.activeElement.dataset.key") == "confirm"
        page.press(page.key("cancel"))
        page.until(lambda: "Drop a table here" in page.text("main"))
        assert session.name == "visitors.csv"
        page.run(DROP, "sizes.csv", sizes)
        page.press(page.key("confirm"))
        page.until(lambda: page.text("h1") == "What do you want to predict?")
        page.press(page.key("open-file"))  # it was the wrong one
        page.until(lambda: page.text("h1") == "Open another table")
        page.browser.back()
        page.until(lambda: page.text("h1") == "What do you want to predict?")
        page.press(page.key("target-1"))
        page.until(lambda: "50 rows; 1 columns predict label." in page.text("main .lead"))
        page.go("rows")
        assert "selected" not in page.text(".picks")  # these are other rows
        page.press(page.key("open-file"))
        page.press(page.key("reopen"))
        page.until(lambda: "columns predict churned." in page.text("main .lead"), "the first one")
        page.until(lambda: "1 change" in page.text(".headline"), "with its changes")
        page.settle()


def test_a_change_in_another_tab_is_not_lost_by_a_drop(watched: Any) -> None:
    with served(opened(visitors(60), "churned")) as client:
        page = Page(watched, client)
        page.scheme("light", 1280)
        page.open("open/file")
        client.do("forget", rows=[5])
        page.run("genusStudio.state.unsaved = []")  # as if this page had not heard of it yet
        page.run(DROP, "sizes.csv", "size,label\n1,a\n2,b\n")
        page.until(lambda: "closes visitors.csv, which has 1 change" in page.text(".banner"))
        page.until(lambda: "They cannot be restored." in page.text("main"))
        assert client.settled()["edits"] == ["1 row forgotten"]


def test_the_target_is_changed(watched: Any) -> None:
    with served(opened(visitors(60), "churned")) as client:
        page = Page(watched, client)
        page.scheme("light", 390)
        page.open("table")
        page.press(page.key("target"))
        page.until(lambda: "The present target is churned." in page.text("main .lead"))
        page.press(page.key("target-2"))
        page.until(lambda: "columns predict plan." in page.text("main .lead"), "another target")
        page.settle()
        assert page.text("h1") == "Table"


# A server that dies


def started(arguments: list[str], home: Path, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """Start the command, and return it and the address that it prints."""
    command = [sys.executable, "-m", "genus.cli", "studio", *arguments, "--no-browser"]
    command += ["--port", str(port)] if port else []
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "GENUS_HOME": str(home)}
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    assert found, line
    return process, found[0]


@nightly
def test_a_server_goes_and_comes_back(watched: Any, tmp_path: Path) -> None:
    table, path = visitors(60), tmp_path / "session.json"
    with served(opened(table, "churned", journal=Journal(path))) as client:
        page = Page(watched, client)
        page.scheme("light", 1280)
        page.open("edit")
        page.press(".suspect .button:last-child")
        page.until(lambda: "1 row forgotten" in page.text(".edits"))
        page.settle()
    page.until(lambda: "does not respond" in page.text(".banner"))
    with served(opened(table, "churned", journal=Journal(path)), client.port):
        page.until(lambda: "does not respond" not in page.text(".banner"), "reconnected")
        page.until(lambda: "1 row forgotten" in page.text(".edits"), "restored")


@nightly
def test_a_server_dies_and_comes_back(watched: Any, tmp_path: Path) -> None:
    path = tmp_path / "visitors.parquet"
    pyarrow.parquet.write_table(visitors(60), path)
    arguments = [str(path), "--target", "churned"]
    process, address = started(arguments, tmp_path)
    try:
        port = int(re.search(r":(\d+)/", address)[1])  # type: ignore[index]
        client = Client(port)
        client.cookie = f"genus-studio-{port}={address.partition('token=')[2]}"
        page = Page(watched, client)
        page.scheme("light", 1280)
        watched.get(address + "#edit")
        page.settle()
        page.press(".suspect .button:last-child")
        page.until(lambda: "1 row forgotten" in page.text(".edits"))
        page.settle()
        process.kill()
        process.wait()
        page.until(lambda: "does not respond" in page.text(".banner"))
        process, again = started(arguments, tmp_path)
        assert again == address
        page.until(lambda: "does not respond" not in page.text(".banner"), "reconnected")
        page.until(lambda: "1 row forgotten" in page.text(".edits"), "restored")
        page.settle()
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (0, 130)
    finally:
        process.kill()
        process.wait()


@nightly
def test_stopped_work_can_be_started_again(page: Page, studio: tuple[Session, Client]) -> None:
    session, client = studio
    client.do("leave out", column=5)  # another model, which was not compared yet
    page.settle()
    started = threading.Event()

    def work(job: Any) -> None:
        job.start(100, "Counting slowly")
        started.set()
        while True:
            job.step(0)
            time.sleep(0.01)

    session.aside.run("Counting", work)
    assert started.wait(20)
    page.until(lambda: "Counting slowly" in page.text(".banner"))
    page.press(page.key("stop-aside"))
    page.until(lambda: "Stopped: Counting slowly." in page.text(".banner"))
    page.go("compare")
    page.press(page.key("compare"))
    page.until(lambda: "log loss than" in page.text("main .lead"))
    assert page.text(".banner") == ""
