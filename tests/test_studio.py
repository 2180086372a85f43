"""The studio: who may talk to it, what it does to models, and how the page behaves in Chromium."""

from __future__ import annotations

import csv
import http.client
import io
import json
import re
import runpy
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import genus
from genus import TableClassifier, TextClassifier, cross_validate
from genus.cli import cli
from genus.cli.studio import free_journal
from genus.mail.spamfilter import SpamFilter
from genus.report.comparison import compared
from genus.report.judging import Judged
from genus.studio import journal as journals
from genus.studio import server, views
from genus.studio import session as sessions
from genus.studio.edits import Edit
from genus.studio.journal import Journal
from genus.studio.judging import same_splits
from genus.studio.script import script
from genus.studio.security import LARGER
from genus.studio.session import Session
from genus.studio.views import compare
from genus.studio.views.mail import MailStore
from genus.studio.views.rows import within
from genus.table import open_table
from scope import EVERYTHING, at_night, nightly
from studios import FOLDS, OWN, TOKEN, Client, hostile_table, opened, served, visitors

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "src" / "genus" / "studio" / "static"


@pytest.fixture(scope="module", autouse=True)
def few_folds() -> Iterator[None]:
    """Judge rows in two folds, which takes half the time; at night in five."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("genus.studio.judging.FOLDS", FOLDS)
        yield


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return visitors()


@pytest.fixture(scope="module")
def studio(table: pa.Table) -> Iterator[tuple[Session, Client]]:
    session = opened(table, "churned")
    with served(session) as client:
        client.settled()
        yield session, client


@pytest.fixture
def client(studio: tuple[Session, Client]) -> Iterator[Client]:
    """Return a client; whatever a test does is undone."""
    session, found = studio
    found.settled()
    yield found
    found.settled()
    while session.edits:
        found.post("/api/undo")
        found.settled()
    session.decision = {}


# Who may talk to it


def test_token_opens_the_page_and_sets_a_cookie(client: Client) -> None:
    stranger = Client(client.port, cookie=False)
    status, headers, body = stranger.ask("GET", f"/?token={TOKEN}")
    assert status == 200
    assert b"/static/main.js" in body
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Domain" not in cookie
    status, _, _ = stranger.ask("GET", "/api/state", cookie=cookie.partition(";")[0])
    assert status == 200


@pytest.mark.parametrize(
    "path",
    ["/", "/?token=", "/?token=wrong", "/api/state", f"/api/state?token={TOKEN}", "/export/model",
     "/palette.css", "/nowhere"],
)  # fmt: skip
def test_without_the_token_nothing_is_shown(client: Client, path: str) -> None:
    status, headers, body = Client(client.port, cookie=False).ask("GET", path)
    assert status == 403
    assert "set-cookie" not in headers
    assert b"visitors" not in body


def test_wrong_cookies_open_nothing(client: Client) -> None:
    for cookie in (f"genus-studio-{client.port}=x", "other=1", "=;;=", f"genus-studio-1={TOKEN}"):
        assert client.ask("GET", "/api/state", cookie=cookie)[0] == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1",
     "a@127.0.0.1:{port}", "127.0.0.1:{port}/x", "localhost.evil.example:{port}",
     "0x7f000001:{port}"],
)  # fmt: skip
def test_other_hosts_are_refused(client: Client, host: str) -> None:
    status, _, _ = client.ask("GET", "/api/state", host=host.format(port=client.port))
    assert status == 421


def test_own_hosts_are_answered(client: Client) -> None:
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert client.ask("GET", "/api/state", host=f"{name}:{client.port}")[0] == 200


def test_requests_of_other_pages_are_refused(client: Client) -> None:
    own = f"http://127.0.0.1:{client.port}"
    for origin in (
        "https://evil.example",
        "null",
        f"http://127.0.0.1:{client.port + 1}",
        own + "/",
    ):
        assert client.ask("GET", "/api/state", origin=origin)[0] == 403
        assert client.ask("POST", "/api/undo", b"{}", origin=origin, **OWN)[0] == 403
    assert client.ask("POST", "/api/undo", b"{}", sec_fetch_site="cross-site", **OWN)[0] == 403
    for site in ("cross-site", "same-site"):  # as of a server on another port
        for path in ("/api/state", "/export/model", "/static/main.js"):
            assert client.ask("GET", path, sec_fetch_site=site)[0] == 403
        assert client.ask("GET", "/", sec_fetch_site=site)[0] == 200
    assert client.ask("GET", "/export/script", sec_fetch_site="none")[0] == 200
    assert client.ask("POST", "/api/undo", b"{}")[0] == 403  # a form of another page has no header
    assert (
        client.ask("POST", "/api/stop", b"{}", origin=own, sec_fetch_site="same-origin", **OWN)[0]
        == 200
    )


def test_every_answer_has_a_strict_policy(client: Client) -> None:
    for path in ("/", "/static/main.js", "/api/state", "/api/nothing", "/palette.css"):
        _, headers, _ = client.ask("GET", path)
        policy = dict(one.split(" ", 1) for one in headers["content-security-policy"].split("; "))
        for what in ("default-src", "base-uri", "form-action", "frame-ancestors"):
            assert policy.pop(what) == "'none'"
        assert policy.pop("img-src") == "'self' data:"
        assert policy == dict.fromkeys(("script-src", "style-src", "connect-src"), "'self'")
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py",
     "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/../../../etc/passwd", "/static/"],
)  # fmt: skip
def test_only_static_files_are_files(client: Client, path: str) -> None:
    status, _, body = client.ask("GET", path)
    assert status in (404, 405)
    assert b"import" not in body
    assert b"root:" not in body


def test_large_bodies_are_refused(client: Client) -> None:
    size = (8 << 20) + 1
    assert client.ask("POST", "/api/act", b" " * size, **OWN)[0] == 413
    assert (
        client.ask("POST", "/api/upload?name=x.csv", b"", content_length=str(1 << 40), **OWN)[0]
        == 413
    )
    assert client.ask("POST", "/api/act", b"x", content_length="1e9", **OWN)[0] in (400, 413)


def test_page_names_no_other_server() -> None:
    for path in STATIC.iterdir():
        source = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
        for risky in ("http:", "https:", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval(",
                      "new Function", "document.write", "style=", "onclick="):  # fmt: skip
            assert risky not in source, f"{path.name}: {risky}"


def test_modules_import_what_there_is() -> None:
    for path in STATIC.glob("*.js"):
        for name in re.findall(r'from "\./([\w-]+\.js)"', path.read_text(encoding="utf-8")):
            assert (STATIC / name).exists(), f"{path.name} imports {name}"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("act", {}), ("act", {"kind": "forget"}), ("act", {"kind": "forget", "rows": [10**9]}),
        ("act", {"kind": "forget", "rows": [-1]}), ("act", {"kind": "forget", "rows": ["1"]}),
        ("act", {"kind": "forget", "rows": [True]}), ("act", {"kind": "forget", "rows": []}),
        ("act", {"kind": "relabel", "rows": [1], "label": 9}),
        ("act", {"kind": "family", "column": 99}),
        ("act", {"kind": "family", "column": 0, "family": "__class__"}), ("act", {"kind": "open"}),
        ("act", {"kind": "leave out", "column": "age"}), ("target", {"column": -1}),
        ("decide", {"threshold": 2, "costs": [[0, 1], [1, 0]]}),
        ("decide", {"costs": [[0, -1], [1, 0]]}),
        ("decide", {"costs": "x"}), ("decide", {"costs": {"0": None}}),
        ("decide", {"costs": [[0, 1], [1, 0]], "threshold": []}),
        ("what-if", {"row": 10**9, "given": {"0": "1"}}),
        ("what-if", {"row": 1, "given": {"0": "old"}}), ("undo", {}), ("curves", [1]),
    ],
)  # fmt: skip
def test_bad_requests_are_sentences(client: Client, path: str, body: Any) -> None:
    status, _, answer = client.ask("POST", f"/api/{path}", json.dumps(body).encode(), **OWN)
    assert status == 400, answer
    told = json.loads(answer)["error"]
    assert len(told) > 10
    assert "bug" not in told


def test_no_json_is_refused(client: Client) -> None:
    assert client.ask("POST", "/api/act", b"\xff\x00{", **OWN)[0] == 400
    assert client.ask("GET", "/api/row?row=x")[0] == 400
    assert client.ask("GET", "/api/column?column=99")[0] == 400


# What it does to models


def rows_of(table: pa.Table, left_out: list[int]) -> pa.Table:
    labelled = table.filter(table["churned"].is_valid())
    return labelled.take([i for i in range(labelled.num_rows) if i not in left_out])


def test_rows_keep_their_folds_when_others_are_forgotten() -> None:
    rows = np.arange(200)
    left = np.delete(rows, [3, 50, 51, 199])
    for (_, test), (_, fewer) in zip(same_splits(rows, 5), same_splits(left, 5), strict=True):
        assert set(left[fewer]) == set(rows[test]) & set(left)
        assert 20 < len(test) < 60


def test_scores_are_those_of_the_package(table: pa.Table, client: Client) -> None:
    found = client.get("/api/scores")
    labelled = rows_of(table, [])
    splits = same_splits(np.arange(labelled.num_rows), FOLDS)
    outcome = cross_validate(TableClassifier(), labelled, target="churned", folds=splits)
    named = {score["name"]: score["value"] for score in found["scores"]}
    assert named["accuracy"] == pytest.approx(outcome.accuracy, abs=1e-5)
    assert named["log loss"] == pytest.approx(outcome.log_loss, abs=1e-5)
    state = client.get("/api/state")
    assert (state["total"], state["unlabelled"], state["rows"]) == (158, 2, 158)


def test_forgetting_equals_never_having_seen(
    table: pa.Table, studio: tuple[Session, Client], client: Client
) -> None:
    before = client.get("/api/state")
    state = client.do("forget", rows=[3, 8, 20])
    session = studio[0]
    like = session.first.model
    again = TableClassifier().fit(rows_of(table, [3, 8, 20]), target="churned", like=like)
    shown = rows_of(table, [])
    assert np.allclose(session.now.model.predict_proba(shown), again.predict_proba(shown))
    assert state["rows"] == 155
    assert state["scores"] != before["scores"]
    assert state["before"] == before["scores"]
    assert state["edits"] == ["3 rows forgotten"]
    assert not client.get("/api/row?row=3")["active"]
    assert client.ask("POST", "/api/act", b'{"kind": "forget", "rows": [3]}', **OWN)[0] == 400
    client.post("/api/undo")
    assert {**client.settled(), "serial": 0} == {**before, "serial": 0}


def test_relabelling_equals_other_labels(
    table: pa.Table, studio: tuple[Session, Client], client: Client
) -> None:
    labelled = rows_of(table, [])
    labels = labelled["churned"].to_pylist()
    at = [i for i, label in enumerate(labels) if label == "yes"][:4]
    client.do("relabel", rows=at, label=0)
    for i in at:
        labels[i] = "no"
    other = labelled.set_column(3, "churned", pa.array(labels))
    session = studio[0]
    again = TableClassifier().fit(other, target="churned", like=session.first.model)
    assert np.allclose(session.now.model.predict_proba(labelled), again.predict_proba(labelled))
    assert client.get(f"/api/row?row={at[0]}")["truth"] == 0
    text = client.ask("GET", "/export/rows")[2].decode().splitlines()
    assert len(text) == 159
    assert sum(line.endswith('"no"') for line in text) == labels.count("no")


def test_a_family_is_solved_without_the_rows(
    studio: tuple[Session, Client], client: Client
) -> None:
    client.do("family", column=0, family="discretised")
    session = studio[0]
    assert session.solved == [True]
    assert session.now.model.summary().columns[0].name in ("age", "visits", "plan")
    found = {c["name"]: c for c in client.get("/api/table")["columns"]}
    assert (found["age"]["family"], found["age"]["asked"]) == ("discretised", "discretised")
    client.do("family", column=0, family="auto")
    assert session.now.model.families == "auto"


def test_a_column_of_categories_is_read_as_text(
    studio: tuple[Session, Client], client: Client
) -> None:
    state = client.do("family", column=2, family="text")  # which needs the rows
    assert studio[0].solved == [False]
    assert "text" in state["screens"]
    found = {c["name"]: c for c in client.get("/api/table")["columns"]}
    assert (found["plan"]["kind"], found["plan"]["families"]) == ("text", ["text", "categorical"])
    assert "families={'plan': 'text'}" in client.get("/api/export")["script"]


def test_a_column_is_left_out_and_used_again(client: Client) -> None:
    before = client.get("/api/state")["scores"]
    client.do("leave out", column=1)
    found = client.get("/api/table")
    assert "visits" not in [c["name"] for c in found["columns"]]
    assert [c["name"] for c in found["leftOut"] if c["chosen"]] == ["visits"]
    assert client.get("/api/state")["scores"] != before
    client.do("take in", column=1)
    assert client.get("/api/state")["scores"] == before


def test_rows_that_match_are_forgotten_together(client: Client) -> None:
    found = client.get("/api/rows?column=2&how=is&value=basic")
    assert 0 < found["matching"] < 158
    assert {row["cells"][found["columns"].index("plan")] for row in found["rows"]} == {"basic"}
    state = client.do("forget", filter={"column": "2", "how": "is", "value": "basic", "class": "1"})
    both = client.get("/api/rows?column=2&how=is&value=basic&class=1")
    assert both["matching"] == 0
    assert state["rows"] < 158
    missing = client.get("/api/rows?column=0&how=missing")
    assert {row["cells"][missing["columns"].index("age")] for row in missing["rows"]} == {None}


def test_two_classes_have_to_stay(client: Client) -> None:
    told = client.post("/api/act", {"kind": "forget", "filter": {"class": "1"}}, status=400)
    assert "two classes" in told["error"]


def test_rows_are_sorted(client: Client) -> None:
    for sort, key in (("error", "own"), ("unusual", "unusual"), ("number", "number")):
        values = [row[key] for row in client.get(f"/api/rows?sort={sort}")["rows"]]
        assert values == sorted(values), sort
    everything = [r["row"] for p in range(9) for r in client.get(f"/api/rows?page={p}")["rows"]]
    assert len(set(everything)) == 158
    wrong = client.get("/api/rows?only=wrong")
    assert all(row["truth"] != row["taken"] for row in wrong["rows"])


def test_evidence_adds_up_and_what_if_is_the_model(
    table: pa.Table, studio: tuple[Session, Client], client: Client
) -> None:
    row = client.get("/api/row?row=12")
    total = row["baseline"] + sum(e["term"] for e in row["evidence"])
    assert total == pytest.approx(row["logOdds"], abs=1e-4)
    changed = client.post("/api/what-if", {"row": 12, "given": {"1": "0", "2": ""}, "focus": 1})
    one = rows_of(table, []).slice(12, 1).to_pylist()[0] | {"visits": 0, "plan": None}
    one = {name: [value] for name, value in one.items()}
    expected = studio[0].now.model.predict_proba(
        pa.table({**one, "plan": pa.array([None], pa.string())})
    )
    assert changed["p"] == pytest.approx(expected[0].tolist(), abs=1e-5)
    x, p = changed["curve"]["x"], changed["curve"]["curves"][0]["p"]
    assert p[x.index(0.0)] == pytest.approx(changed["p"][1], abs=1e-5)


def test_rows_are_found_by_their_number(client: Client) -> None:
    assert client.get("/api/number?number=5") == {"row": 4}
    assert client.get("/api/number?number=160") == {"row": 157}  # two before it have no label
    for number in ("6", "0", "161", "x"):
        assert client.ask("GET", f"/api/number?number={number}")[0] == 400


def test_neighbours_are_of_another_class_and_near(client: Client) -> None:
    row = client.get("/api/row?row=12")
    assert len(row["neighbours"]) == 5
    assert all(near["truth"] != row["truth"] for near in row["neighbours"])
    assert all(len(near["differs"]) <= 3 for near in row["neighbours"])


def test_decisions_and_their_cost(studio: tuple[Session, Client], client: Client) -> None:
    outcome = studio[0].now.scores.outcome
    for threshold, costs in ((0.3, [[0, 1], [1, 0]]), (None, [[0, 1], [8, 0]])):
        found = client.post("/api/decide", {"threshold": threshold, "costs": costs})
        rule = threshold if threshold is not None else {("yes", "no"): 8}
        own = outcome.deciding(rule)
        assert found["accuracy"] == pytest.approx(own.accuracy, abs=1e-5)
        cost = np.array(costs)[own.y, own.decided].mean()
        assert found["cost"]["value"] == pytest.approx(cost, abs=1e-5)
        assert np.sum(found["cells"]) == 158
    assert found["cheapest"] == pytest.approx(1 / 9, abs=1e-5)
    assert client.get("/api/scores")["decided"]["costs"] == [[0, 1], [8, 0]]
    assert min(found["costOf"]) <= found["cost"]["value"] + 0.05


def test_either_class_can_be_the_one_of_interest(
    table: pa.Table, studio: tuple[Session, Client], client: Client
) -> None:
    session = studio[0]
    rule = {"threshold": 0.3, "costs": [[0, 2], [5, 0]]}
    second = client.post("/api/decide", {**rule, "positive": 1})
    assert client.get("/api/scores")["of"] == 1
    other = {"threshold": 0.7, "costs": [[0, 5], [2, 0]], "positive": 0}
    first = client.post("/api/decide", other)
    found = client.get("/api/scores")
    assert (found["of"], found["classes"], found["rocs"][0]["class"]) == (0, [1, 0], 0)
    assert first["cost"] == second["cost"]
    assert first["cells"] == [row[::-1] for row in second["cells"][::-1]]
    assert "decision = 0.3" in client.get("/api/export")["script"]
    client.post("/api/decide", {**other, "threshold": None})
    assert "decision = {('yes', 'no'): 5.0, ('no', 'yes'): 2.0}" in script(session)
    assert client.post("/api/decide", {**rule, "positive": 2}, status=400)


@pytest.mark.parametrize(
    ("cells", "low", "high", "there"),
    [
        (pa.array([1, 5, None, 9]), "2.5", "", [1, 3]),
        (pa.array([1.5, 5, None, 9]), "1.5", "5", [0, 1]),
        (pa.array(["1", "5 ", "x", "-9e0", None]), "", "4", [0, 3]),
        (pa.array(["2", "10", "x"]).dictionary_encode(), "3", "", [1]),
        (pa.array([date(2020, 1, 1), date(2021, 1, 1), None]), "2020-06-01", "", [1]),
        (pa.array([1, None]), "", " ", [0]),
        (pa.array([[1], [2]]), "1", "", []),
    ],
)
def test_rows_are_filtered_by_a_range(cells: Any, low: str, high: str, there: list[int]) -> None:
    column = pa.chunked_array([cells])
    assert np.flatnonzero(within(column, "x", low, high)).tolist() == there


def test_a_range_that_is_no_number_is_a_sentence(client: Client) -> None:
    status, _, body = client.ask("GET", "/api/rows?column=0&how=range&value=young")
    assert status == 400
    assert "'young' does not fit column 'age'" in json.loads(body)["error"]
    found = client.get("/api/rows?column=1&how=range&value=2&high=4&sort=number")
    assert found["total"] == found["matching"] > 0
    at = found["columns"].index("visits")
    assert all(2 <= int(row["cells"][at]) <= 4 for row in found["rows"])


def test_densities_and_dependence(client: Client) -> None:
    for i in range(3):
        found = client.get(f"/api/column?column={i}")
        assert found["density"]["kind"] == ("shares" if found["name"] == "plan" else "curves")
        assert len(found["dependence"]["curves"][0]["mean"]) == len(found["dependence"]["values"])
        assert len(found["gains"]) >= 1


def test_two_columns_together(studio: tuple[Session, Client], client: Client) -> None:
    found = client.get("/api/pair?column=1&other=2")
    own = studio[0].now.model.dependence_on("visits", "plan")
    assert np.allclose(np.array(found["odds"], float), own.log_odds("yes"), 1e-4, equal_nan=True)
    assert client.ask("GET", "/api/pair?column=1&other=1")[0] == 400


def test_two_clients_see_the_same(client: Client) -> None:
    other = Client(client.port)
    client.do("forget", rows=[1])
    assert other.get("/api/state") == client.get("/api/state")
    serial = other.get("/api/state")["serial"]
    other.post("/api/undo")
    other.settled()
    assert client.get("/api/state")["serial"] > serial
    assert client.get("/api/state")["edits"] == []


def test_comparison_with_logistic_regression(client: Client) -> None:
    client.post("/api/compare")
    client.settled()
    found = client.get("/api/compare")
    assert [line["name"] for line in found["lines"]] == ["genus", "logistic regression"]
    assert "log loss" in found["told"]
    client.do("forget", rows=[2])
    assert client.get("/api/compare")["told"] is None  # of another model


@nightly
def test_learning_curves(client: Client) -> None:
    client.post("/api/curves")
    client.settled()
    found = client.get("/api/compare")["curves"]
    assert len(found["lines"]) >= 2
    assert all(len(line["error"]) == len(found["sizes"]) for line in found["lines"])


# Work


def test_work_is_stopped_and_done_again(client: Client, studio: tuple[Session, Client]) -> None:
    session = studio[0]
    started, go = threading.Event(), threading.Event()

    def work(job: Any) -> None:
        job.start(10, "Counting to ten")
        started.set()
        go.wait(20)
        job.step(1)

    session.run("Counting", work)
    assert started.wait(20)
    assert client.get("/api/state")["job"] == {
        "title": "Counting to ten", "done": 0, "total": 10
    }  # fmt: skip
    told = client.post("/api/act", {"kind": "forget", "rows": [1]}, status=409)
    assert "Counting to ten" in told["error"]
    client.post("/api/stop")
    go.set()
    state = client.settled()
    assert state["error"] == "Stopped: Counting to ten."
    assert client.do("forget", rows=[1])["error"] == ""


def test_a_stopped_fit_ends_at_once_and_changes_nothing(
    client: Client, studio: tuple[Session, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = studio[0]
    before = client.settled()
    started, go = threading.Event(), threading.Event()
    fitted = sessions.fitted

    def slow(*given: Any) -> Any:
        found = fitted(*given)
        started.set()
        go.wait(20)
        return found

    monkeypatch.setattr("genus.studio.session.fitted", slow)
    client.post("/api/act", {"kind": "leave out", "column": 2})
    assert started.wait(20)
    job = session.worker.job
    client.post("/api/stop")
    state = client.get("/api/state")
    assert (state["job"], state["error"]) == (
        None,
        "Stopped: Learning weights from a sample of rows.",
    )
    go.set()
    assert job is not None
    assert job.finished.wait(20)
    after = client.settled()
    assert (after["edits"], after["scores"]) == ([], before["scores"])


def test_a_stopped_comparison_ends_at_once(
    client: Client, studio: tuple[Session, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = studio[0]
    client.do("forget", rows=[7])  # a model that was not compared yet
    started, go, ended = threading.Event(), threading.Event(), threading.Event()

    def slow(judged: Any, progress: Any) -> Any:
        started.set()
        go.wait(20)
        try:
            progress(1, FOLDS)
        finally:
            ended.set()

    monkeypatch.setattr("genus.studio.views.compare.compared", slow)
    client.post("/api/compare")
    assert started.wait(20)
    client.post("/api/stop", {"aside": True})
    state = client.get("/api/state")
    assert state["aside"] is None  # although a regression is still being fitted
    assert state["error"] == "Stopped: Fitting logistic regressions."
    monkeypatch.undo()
    client.post("/api/compare")  # and another one can be started
    client.settled()
    found = session.now.comparison
    assert found is not None
    go.set()
    assert ended.wait(20)
    assert session.now.comparison is found
    assert client.get("/api/state")["error"] == ""


def test_a_comparison_shows_its_progress(studio: tuple[Session, Client], client: Client) -> None:
    session = studio[0]
    scores = session.now.scores
    assert scores is not None
    rows = compare.judged_rows(session)
    told: list[tuple[int, int]] = []
    judged = Judged(session.now.model, rows, scores.outcome, scores.how, True, np.nan)
    compared(judged, lambda *given: told.append(given))
    assert told == [(1, FOLDS)] * FOLDS


@nightly
def test_scores_make_way_for_other_work(client: Client, studio: tuple[Session, Client]) -> None:
    for row in (1, 2, 3):  # none waits for the scores of the one before
        client.post("/api/act", {"kind": "forget", "rows": [row]})
        while len(studio[0].edits) < row:
            time.sleep(0.005)
    state = client.settled()
    assert len(state["edits"]) == 3
    assert state["scores"]["rows"] == 155


# Export


def edited(client: Client) -> None:
    """Do one of everything."""
    client.do("forget", rows=[3, 4, 5, 30])
    client.do("relabel", rows=[9, 11], label=1)
    client.do("family", column=0, family="discretised")
    client.do("leave out", column=2)
    client.do("forget", rows=[40])
    client.post("/api/decide", {"threshold": 0.4, "costs": [[0, 1], [1, 0]]})


def test_the_script_repeats_what_was_done(
    table: pa.Table, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    edited(client)
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(table, "visitors.csv")
    (tmp_path / "own.genus").write_bytes(client.ask("GET", "/export/model")[2])
    script = client.ask("GET", "/export/script")[2].decode()
    numbers = [client.get(f"/api/row?row={row}")["number"] for row in (3, 4, 5, 30)]
    assert numbers == [4, 5, 7, 32]  # row 6 has no label
    assert "numbers = [*range(4, 6), 7, 32]  # the first row is 1" in script
    (tmp_path / "again.py").write_text(script, encoding="utf-8")
    runpy.run_path("again.py")
    own, again = genus.load("own.genus"), genus.load("visitors.genus")
    assert own.class_count_.sum() == again.class_count_.sum() == 153
    assert np.allclose(own.predict_proba(table), again.predict_proba(table))
    assert "153 rows" in capsys.readouterr().out


@nightly
def test_the_report_is_of_the_changed_model(client: Client) -> None:
    assert client.ask("GET", "/export/report")[0] == 400
    client.do("forget", rows=[1, 2])
    client.post("/api/report")
    client.settled()
    status, headers, body = client.ask("GET", "/export/report")
    assert status == 200
    assert "attachment" in headers["content-disposition"]
    assert b"156" in body
    assert b"churned" in body


# Files that are dropped


def test_a_dropped_file_is_opened() -> None:
    text = b"size,kind,label\n" + b"".join(
        f"{i % 7},{'ab'[i % 2]},{'xy'[(i % 7) > 3]}\n".encode() for i in range(60)
    )
    session = Session()
    with served(session) as client:
        assert client.get("/api/state")["screens"] == ["open"]
        for name in ("x.sqlite", "x.duckdb", "x", "x.csv.exe", "../../etc/passwd"):
            status, _, _ = client.ask("POST", f"/api/upload?name={quote(name)}", text, **OWN)
            assert status == 400, name
        name = quote("../<b>my</b> table.csv")
        assert client.ask("POST", f"/api/upload?name={name}", text, **OWN)[0] == 200
        state = client.settled()
        assert [c["name"] for c in state["targets"]] == ["size", "kind", "label"]
        client.post("/api/target", {"column": 2})
        state = client.settled()
        assert state["error"] == ""
        assert state["rows"] == 60
        assert client.post("/api/target", {"column": 1}) is not None  # another target, at any time
        assert [c["name"] for c in client.settled()["classes"]] == ["a", "b"]
        assert "open_table('../<b>my</b> table.csv')" in client.get("/api/export")["script"]


def test_a_file_that_is_no_table_is_a_sentence() -> None:
    with served(Session()) as client:
        client.ask("POST", "/api/upload?name=x.parquet", b"no parquet at all", **OWN)
        state = client.settled()
        assert len(state["error"]) > 10
        assert state["screens"] == ["open"]


def csv_of(table: pa.Table) -> bytes:
    """Return a table as the content of a CSV file."""
    found = io.BytesIO()
    pyarrow.csv.write_csv(table, found)
    return found.getvalue()


def drop(client: Client, name: str, content: bytes, lost: int = 0, status: int = 200) -> Any:
    """Drop a file on the page, and wait until it is read."""
    path = f"/api/upload?name={quote(name)}&lost={lost}"
    found, _, body = client.ask("POST", path, content, **OWN)
    assert found == status, body
    return client.settled() if status == 200 else json.loads(body)


def test_another_file_is_dropped_and_the_first_one_comes_back(tmp_path: Path) -> None:
    first, other = csv_of(visitors(60)), csv_of(visitors(60, seed=1))
    journal = Journal(tmp_path / "session.json")
    session = opened(visitors(80), "churned", journal=journal)
    with served(session) as client:
        before = client.settled()
        assert (before["named"], before["opens"], before["unsaved"]) == (None, True, [])
        named = client.do("forget", rows=[3])
        told = drop(client, "first.csv", first, status=409)["error"]
        assert "closes visitors.csv, which has 1 change: 1 row forgotten." in told
        told = client.post("/api/reopen", {}, status=409)["error"]
        assert "Confirm it first." in told
        state = drop(client, "first.csv", first, lost=1)
        assert (state["name"], state["screens"]) == ("first.csv", ["open"])
        assert state["named"] == "visitors.csv"
        client.post("/api/target", {"column": 3})
        state = client.settled()
        assert (state["edits"], state["total"]) == ([], 58)
        assert state["shown"] not in ("", named["shown"])
        edited = client.do("forget", rows=[1, 2])
        assert "open_table('first.csv')" in client.get("/api/export")["script"]
        drop(client, "other.csv", other, lost=2, status=409)  # another page undid one meanwhile
        state = drop(client, "other.csv", other, lost=len(edited["unsaved"]))
        assert state["dropped"] == [["first.csv", 1]]
        client.post("/api/target", {"column": 3})
        state = client.settled()
        assert (state["edits"], state["total"]) == ([], 58)  # of as many rows, but not the same
        again = drop(client, "renamed.csv", first)
        assert (again["target"], again["edits"]) == ("churned", ["2 rows forgotten"])
        assert again["scores"] == edited["scores"]
        client.post("/api/reopen", {"lost": 1})
        state = client.settled()
        assert state["named"] is None
        assert (state["name"], state["edits"]) == ("visitors.csv", ["1 row forgotten"])
        assert (state["scores"], state["shown"]) == (named["scores"], named["shown"])
        assert "open_table('visitors.csv')" in client.get("/api/export")["script"]


def test_a_file_that_cannot_be_read_ends_nothing(client: Client) -> None:
    before = client.do("forget", rows=[3])
    state = drop(client, "x.parquet", b"no parquet at all", lost=1)
    assert "x.parquet" in state["error"]
    for what in ("name", "edits", "scores", "shown"):
        assert state[what] == before[what]


def test_options_of_the_command_are_for_columns_that_there_are() -> None:
    options = {"ignore": ["visits", "none"], "families": {"age": "gaussian", "no": "poisson"}}
    with served(Session(options=options)) as client:
        drop(client, "v.csv", csv_of(visitors(60)))
        client.post("/api/target", {"column": 3})
        assert client.settled()["error"] == ""
        names = {c["name"]: c["asked"] for c in client.get("/api/table")["columns"]}
        assert names == {"age": "gaussian", "plan": "auto"}


def test_other_new_rows_are_dropped_on_a_model() -> None:
    model = TableClassifier().fit(visitors(160), target="churned")
    session = Session("m.genus", model=model, path="m.genus")
    with served(session) as client:
        client.do("family", column=0, family="gaussian")
        first = drop(client, "one.csv", csv_of(visitors(60, seed=1)))
        assert (first["name"], first["total"]) == ("m.genus, one.csv", 58)
        assert first["edits"] == ["age is gaussian"]
        second = drop(client, "two.csv", csv_of(visitors(80, seed=2)))
        assert (second["name"], second["total"]) == ("m.genus, two.csv", 78)
        assert second["scores"] != first["scores"]
        assert "load('m.genus')" in client.get("/api/export")["script"]
        without = drop(client, "x.csv", b"a,b\n1,2\n")
        assert "churned" in without["error"]
        assert without["total"] == 78
        client.post("/api/undo")
        undone = client.settled()
        assert (undone["edits"], undone["scores"]["rows"]) == ([], 78)


def test_a_model_of_texts_takes_no_table() -> None:
    model = TextClassifier().fit(["good day", "bad night"] * 5, ["a", "b"] * 5)
    with served(Session("t.genus", model=model, path="t.genus")) as client:
        assert not client.get("/api/state")["opens"]
        assert "model of texts" in drop(client, "x.csv", b"a,b\n1,2\n", status=400)["error"]


def test_a_view_of_a_table_that_was_replaced_is_no_bug(
    client: Client, studio: tuple[Session, Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = studio[0]

    def broken(session: Session) -> Any:
        monkeypatch.setattr(session, "identifier", "of another table")
        raise IndexError

    monkeypatch.setitem(server.READS, "/api/words", lambda session, request: broken(session))
    with served(session) as other:
        status, _, body = other.ask("GET", "/api/words")
    assert status == 409
    assert b"Another table was opened meanwhile." in body


# Names and cells that nobody expects


def test_hostile_tables_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = hostile_table(10_000_000 if EVERYTHING else 100_000)
    session = opened(table, "class\u202e<b>", name="<i>\x00\u202e.csv")
    with served(session) as client:
        state = client.settled()
        assert state["error"] == ""
        filtered = "rows?column=0&how=contains&value=%00%3Cscript"
        for path in ("state", "table", "scores", "rows", "row?row=7", "words", "export",
                     "column?column=0", filtered):  # fmt: skip
            status, headers, body = client.ask("GET", f"/api/{path}")
            assert status == 200, path
            assert headers["content-type"] == "application/json"
            assert len(body) < 600_000, path
            if path != "export" and "row?" not in path:
                assert not re.search(rb"\\u202e|\xe2\x80\xae|\\u0000", body), path
        client.post("/api/what-if", {"row": 7, "given": {"0": "\x00\u202e\ud800", "6": "1"}})
        client.do("forget", rows=[7])
        client.do("leave out", column=0)
        _, headers, _ = client.ask("GET", "/export/model")
        assert re.fullmatch(r'attachment; filename="[\w .-]+"', headers["content-disposition"])
        script = client.ask("GET", "/export/script")[2].decode()
        compile(script, "script", "exec")
        monkeypatch.chdir(tmp_path)
        pa.parquet.write_table(table, "t.parquet")
        script = re.sub(r"open_table\(.*\)\.table", "open_table('t.parquet').table", script)
        (tmp_path / "again.py").write_text(script, encoding="utf-8", errors="surrogatepass")
        runpy.run_path("again.py")
        (saved,) = tmp_path.glob("*.genus")
        assert genus.load(saved).class_count_.sum() == 89


@pytest.mark.parametrize("kind", at_night(["bool", "int", "float", "categories"], "float"))
def test_labels_of_every_type(kind: str) -> None:
    rng = np.random.default_rng(2)
    yes = rng.random(80) < 0.5
    labels = {
        "bool": pa.array(yes),
        "int": pa.array(np.where(yes, 7, 3)),
        "float": pa.array([1.0 if one else np.nan if i == 4 else 0.0 for i, one in enumerate(yes)]),
        "categories": pa.array(np.where(yes, "b", "a")).dictionary_encode(),
    }[kind]
    session = opened(pa.table({"x": rng.normal(2.0 * yes, 1.0), "y": labels}), "y")
    with served(session) as client:
        assert client.settled()["error"] == ""
        counts = [c["rows"] for c in client.get("/api/state")["classes"]]
        one = client.get("/api/rows?sort=number")["rows"][0]
        state = client.do("relabel", rows=[one["row"]], label=1 - one["truth"])
        assert [c["rows"] for c in state["classes"]] != counts
        assert sum(c["rows"] for c in state["classes"]) == sum(counts)
        compile(client.get("/api/export")["script"], "script", "exec")


def test_many_classes_and_a_class_of_one_row() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 14, 300)
    labels = [*(f"class {k}" for k in y), "alone"]
    session = opened(pa.table({"x": [*(y + rng.normal(0, 0.3, 300)), 30.0], "y": labels}), "y")
    with served(session) as client:
        assert client.settled()["error"] == ""
        scores = client.get("/api/scores")
        assert scores["decided"]["cells"] is None
        assert len(scores["decided"]["confused"]) <= 12
        assert len(client.get("/api/state")["classes"]) == 15
        client.get("/api/table")
        client.get("/api/row?row=300")


# Models, texts, and mail


@pytest.mark.parametrize("loaded", [False, True])
def test_a_model_without_its_rows(tmp_path: Path, table: pa.Table, loaded: bool) -> None:
    model = TableClassifier().fit(table, target="churned")
    worth = model.summary().worth
    if loaded:  # a file keeps scores, but no predictions
        model.save(tmp_path / "m.genus")
        model = genus.load(tmp_path / "m.genus")
    with served(Session("m.genus", model=model, path="m.genus")) as client:
        state = client.settled()
        assert state["screens"] == ["table", "scores", "rows", "edit", "compare", "export"]
        assert state["scores"]["accuracy"][0] == pytest.approx(worth["accuracy"], abs=1e-5)
        assert (client.get("/api/scores") is None) == loaded
        assert client.get("/api/rows")["note"] == "no rows"
        row = client.get("/api/blank")
        changed = client.post("/api/what-if", {"row": -1, "given": {"1": "0"}})
        assert changed["p"] != row["p"]
        client.do("family", column=0, family="discretised")
        assert client.post("/api/act", {"kind": "forget", "rows": [1]}, status=400)
        assert "resolve(families={'age': 'discretised'})" in client.get("/api/export")["script"]
        compile(client.get("/api/export")["script"], "script", "exec")


def test_a_model_and_new_rows(table: pa.Table) -> None:
    model = TableClassifier().fit(table.slice(0, 100), target="churned")
    session = Session("m.genus", model=model, path="m.genus")
    session.open(open_table(table.slice(100)), "new.csv", None).finished.wait()
    with served(session) as client:
        state = client.settled()
        assert state["error"] == ""
        assert not state["own"]
        labelled = table.slice(100).filter(table.slice(100)["churned"].is_valid())
        found = {s["name"]: s["value"] for s in client.get("/api/scores")["scores"]}
        assert found["accuracy"] == pytest.approx(model.score(labelled, "churned"), abs=1e-5)
        assert client.get("/api/rows")["total"] == labelled.num_rows
        assert client.get("/api/row?row=3")["neighbours"]
        columns = client.get("/api/table")["columns"]
        assert all(column["missing"] == 0 for column in columns)  # not of the new rows
        assert any("missing" in column["note"] for column in columns)  # but of the model's


def test_new_rows_are_read_as_the_model_reads_them(tmp_path: Path) -> None:
    """3.10 is a category, also in a file where it may be a number, and so are the classes."""
    rows = pa.table({"ver": ["3.9", "3.10", "beta"] * 30, "y": ["1.0", "2.0", "x"] * 30})
    model = TableClassifier().fit(rows, target="y")
    (tmp_path / "new.csv").write_text("ver,y\n3.10,2.0\n3.9,1.0\n")
    session = Session("m.genus", model=model, path="m.genus")
    session.open(open_table(tmp_path / "new.csv"), "new.csv", None).finished.wait()
    assert session.data is not None
    assert session.data.table.to_pylist()[0] == {"ver": "3.10", "y": "2.0"}
    assert session.data.codes(model.classes_).tolist() == [1, 0]


def test_words_that_occur_once_rank_last() -> None:
    rng = np.random.default_rng(2)
    yes = rng.random(150) < 0.4
    words = [" ".join(rng.choice([f"w{i}" for i in range(9000)], 4)) for _ in range(150)]
    table = pa.table({"words": words, "age": rng.normal(45 - 8 * yes, 11), "y": yes})
    found = views.table.table(opened(table, "y"))["columns"]
    assert [column["name"] for column in found] == ["age", "words"]
    assert "hardly help" in found[1]["note"]
    assert found[1]["bits"] < 0.01 < found[0]["bits"]


def test_a_text_model() -> None:
    with (ROOT / "examples" / "messages.tsv").open(encoding="utf-8") as file:
        labels, texts = zip(*csv.reader(file, delimiter="\t"), strict=True)
    model = TextClassifier().fit(list(texts), list(labels))
    with served(Session("m.genus", model=model, path="m.genus")) as client:
        assert client.get("/api/state")["screens"] == ["text", "export"]
        (words,) = client.get("/api/words")["columns"]
        assert {len(c["words"]) for c in words["classes"]} == {12}
        message = "claim your free prize zyzzyva <b>"
        said = client.post("/api/message", {"text": message})
        assert said["p"] == pytest.approx(model.predict_proba([message])[0].tolist(), abs=1e-5)
        assert "zyzzyva" in said["unknown"]
        client.post("/api/message", {"text": "\x00\u202e\ud800" * 9})
        assert client.ask("GET", "/export/model")[0] == 200


def test_a_column_of_texts() -> None:
    notes = [f"{a} order {b}" for a in ("late", "broken", "lovely", "quick") for b in range(15)]
    labels = np.repeat(["bad", "good"], 30)
    session = opened(pa.table({"note": notes, "paid": [5.0, 7.5] * 30, "y": labels}), "y")
    with served(session) as client:
        assert "text" in client.settled()["screens"]
        said = client.post("/api/message", {"text": "late and broken", "column": 0})
        assert said["first"] == 0
        assert {"late", "broken"} <= {word for word, _ in said["terms"]}
        row = client.get("/api/row?row=0")
        (own,) = [e for e in row["evidence"] if e["name"] == "note"]
        assert sum(odds for _, odds in own["words"]) == pytest.approx(own["term"], abs=0.01)


@pytest.fixture(scope="module")
def mail_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that has learned the shipped examples."""
    path = tmp_path_factory.mktemp("mail") / "mail.sqlite"
    arguments = ["mail", "learn", "--store", str(path)]
    for kind in ("ham", "spam"):
        box = ROOT / "examples" / "mail" / f"{kind}.mbox"
        assert CliRunner().invoke(cli, [*arguments, f"--{kind}", str(box)]).exit_code == 0
    return path


@pytest.mark.parametrize("writes", [False, True])
def test_mail(mail_store: Path, writes: bool) -> None:
    raw = (ROOT / "examples" / "mail" / "new.mbox").read_bytes()
    session = Session(mail=MailStore(str(mail_store), writes))
    with served(session) as client:
        assert client.get("/api/state")["screens"] == ["mail"]
        stats = client.get("/api/stats")
        spam_filter = SpamFilter.open(str(mail_store), create=False)
        totals = spam_filter.store.totals()
        assert (stats["ham"], stats["spam"]) == (totals.ham, totals.spam)

        def mail(do: str, body: bytes = raw, number: int = 0) -> tuple[int, Any]:
            path = f"/api/mail?do={do}&number={number}"
            status, _, answer = client.ask("POST", path, body, **OWN)
            return status, json.loads(answer)

        listed = mail("list")[1]["messages"]
        assert len(listed) >= 2
        assert [m["verdict"] for m in listed[:2]] == ["ham", "spam"]
        why = mail("why", number=1)[1]
        assert why["verdict"] == "spam"
        assert why["clues"][0]["weight"] > 0
        before = (spam_filter.store.totals().ham, spam_filter.store.totals().spam)
        status, answer = mail("spam", number=0)
        after = (spam_filter.store.totals().ham, spam_filter.store.totals().spam)
        if writes:
            assert answer == {"done": "learned"}
            assert after == (before[0], before[1] + 1)
            assert mail("why", number=0)[1]["learned"] == "spam"
            assert mail("ham", number=0)[1] == {"done": "corrected"}
            assert mail("forget", number=0)[1] == {"done": "forgotten"}
        else:
            assert status == 403
            assert "--write" in answer["error"]
            assert after == before
        assert mail("list", b"")[0] == 400
        assert mail("why", b"Subject: <b>\x00\xff\xe2\x80\xae\n\n")[0] == 200
        assert mail("why", number=10**6)[0] == 400
        assert mail("nothing")[0] in (400, 403)
        spam_filter.close()


# Going on where it was


def test_a_session_goes_on(table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "session.json"
    session = opened(table, "churned", journal=Journal(path))
    with served(session) as client:
        client.settled()
        client.do("forget", rows=[3, 4, 5, 30])
        client.do("leave out", column=2)
        client.post("/api/decide", {"threshold": 0.4, "costs": [[0, 1], [1, 0]]})
        before = client.get("/api/state")
    assert path.stat().st_mode & 0o077 == 0
    assert "basic" not in path.read_text()
    again = opened(table, "churned", journal=Journal(path))
    assert Journal(path).token == Journal(path).token
    assert len(again.edits) == 2
    with served(again) as client:
        after = client.settled()
        decided = client.get("/api/scores")["decided"]
    assert after["edits"] == before["edits"]
    assert after["scores"] == before["scores"]
    assert after["before"] == before["before"]  # of the model before all changes
    assert decided["threshold"] == 0.4
    fresh = opened(table, "churned", journal=Journal(path, is_fresh=True))
    assert fresh.edits == []
    other = opened(table.slice(0, 120), "churned", journal=Journal(path))
    assert other.edits == []


def test_another_target_is_chosen_and_the_first_one_again(tmp_path: Path) -> None:
    table, path = visitors(80), tmp_path / "session.json"
    table = table.append_column("id", pa.array([f"n{i}" for i in range(80)]))
    session = opened(table, "churned", journal=Journal(path))
    with served(session) as client:
        client.settled()
        client.do("forget", rows=[3])
        client.post("/api/decide", {"threshold": 0.4, "costs": [[0, 1], [1, 0]]})
        offered = {one["name"]: one for one in client.get("/api/targets")}
        assert "identifier" in offered["id"]["warning"]
        assert not offered["id"]["suits"]
        assert offered["plan"]["warning"] == ""
        client.post("/api/target", {"column": offered["plan"]["column"]})
        state = client.settled()
        assert (state["target"], state["edits"]) == ("plan", [])
        assert client.get("/api/scores")["decided"]["threshold"] is None
        assert Journal(path).target(session.identifier) == "plan"
        client.post("/api/target", {"column": offered["churned"]["column"]})
        state = client.settled()
        assert (state["target"], state["edits"]) == ("churned", ["1 row forgotten"])
        assert client.get("/api/scores")["decided"]["threshold"] == 0.4


def test_a_target_of_single_values_is_a_caution() -> None:
    rng = np.random.default_rng(0)
    names = [f"n{i // 2 if i < 40 else i}" for i in range(60)]
    session = opened(pa.table({"x": rng.normal(size=60), "name": names}), "name")
    assert "Check the target name." in views.table.table(session)["cautions"][0]


def test_changes_of_a_model_alone_are_kept(table: pa.Table, tmp_path: Path) -> None:
    model = TableClassifier().fit(table, target="churned")
    for edits in (0, 1):
        journal = Journal(tmp_path / "session.json")
        session = Session("m.genus", model=model, path="m.genus", journal=journal)
        assert journal.changes(session.identifier) == edits
        session.resume().finished.wait()
        assert len(session.edits) == edits
        session.do(Edit("family", "age", "gaussian")).finished.wait()


def test_two_servers_have_a_journal_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENUS_HOME", str(tmp_path))
    with ExitStack() as first:
        one, number = free_journal(first, ["x.csv"], False)
        assert number == 1
        with ExitStack() as second:
            other, number = free_journal(second, ["x.csv"], False)
            assert number == 2
            assert other.path != one.path
            assert other.token != one.token
    with ExitStack() as third:
        assert free_journal(third, ["x.csv"], False)[0].path == one.path


@pytest.mark.parametrize("arguments", [[], ["--port", "0"]])
def test_a_restart_has_the_same_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("GENUS_HOME", str(tmp_path))
    monkeypatch.setattr(
        "genus.studio.server.serve", lambda session, token, bound, host: bound.close()
    )
    command = ["studio", "--no-browser", *arguments]
    said = [CliRunner().invoke(cli, command).output.splitlines()[0] for _ in range(2)]
    assert "http://127.0.0.1:" in said[0]
    assert said[0] == said[1]


def test_the_command_ends_although_a_fit_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENUS_HOME", str(tmp_path))
    monkeypatch.setattr("genus.cli.studio.PATIENCE", 0.1)
    ends: list[int] = []
    monkeypatch.setattr("os._exit", ends.append)
    go = threading.Event()

    def serve(session: Session, token: str, bound: Any, host: str) -> None:
        bound.close()
        session.worker.run("Solving", lambda job: go.wait(20) and None)

    monkeypatch.setattr("genus.studio.server.serve", serve)
    assert CliRunner().invoke(cli, ["studio", "--no-browser"]).exit_code == 0
    assert ends == [0]
    go.set()
    monkeypatch.setattr("genus.studio.server.serve", lambda *given: given[2].close())
    assert CliRunner().invoke(cli, ["studio", "--no-browser"]).exit_code == 0
    assert ends == [0]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"tables": 3}', '{"tables": [{"edits": [{}]}]}', '{"token": 5}', "\x00"],
)
def test_damaged_journals_are_no_obstacle(tmp_path: Path, table: pa.Table, text: str) -> None:
    path = tmp_path / "session.json"
    path.write_text(text)
    path.chmod(0o600)
    found = Journal(path)
    assert found.edits("", "churned", 158) == []
    assert found.token


def test_journals_that_others_can_write_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text('{"token": "known to others"}')
    path.chmod(0o644)
    assert Journal(path).token != "known to others"


def test_a_file_that_changed_has_another_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENUS_HOME", str(tmp_path))
    file = tmp_path / "x.csv"
    file.write_text("a\n")
    first = Journal.of([str(file), "a"]).path
    assert Journal.of([str(file), "a"]).path == first
    assert Journal.of([str(file), "b"]).path != first
    file.write_text("a\nb\n")
    assert Journal.of([str(file), "a"]).path != first
    assert journals.state_folder() == tmp_path / "studio"


@nightly
def test_undo_further_back_than_is_kept(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genus.studio.session.MOST_KEPT", 1)
    session = opened(table, "churned")
    with served(session) as client:
        start = client.settled()["scores"]
        for row in (1, 2):
            client.do("forget", rows=[row])
        for _ in range(2):
            client.post("/api/undo")
            state = client.settled()
        assert state["edits"] == []
        assert state["scores"]["log loss"][0] == pytest.approx(start["log loss"][0], abs=1e-4)


def test_edits_are_written_as_runs() -> None:
    edit = Edit("forget", rows=(1, 2, 3, 9))
    assert edit.as_json()["rows"] == [[1, 3], [9, 9]]
    assert Edit.of_json(json.loads(json.dumps(edit.as_json()))) == edit


@pytest.mark.parametrize("rows", at_night([600, 300_000], 600))
def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    most = min(rows // 5, 20_000)
    monkeypatch.setattr("genus.studio.data.MOST_JUDGED", most)
    rng = np.random.default_rng(4)
    yes = rng.random(rows) < 0.3
    table = pa.table({"x": rng.normal(1.0 * yes, 1.0), "y": np.where(yes, "yes", "no")})
    session = opened(table, "y")
    with served(session) as client:
        state = client.settled()
        assert state["scores"]["rows"] == most
        assert f"{most:,} of {rows:,} rows" in client.get("/api/scores")["how"]
        found = client.get("/api/rows?class=1")
        assert found["matching"] == int(yes.sum())
        assert len(client.ask("GET", "/api/rows")[2]) < 50_000
        below = {"class": "1", "column": "0", "how": "contains", "value": "-"}
        state = client.do("forget", filter=below)
        negative = [str(value).find("-") >= 0 for value in table["x"].cast("string").to_pylist()]
        assert state["rows"] == rows - int((yes & np.array(negative)).sum())


# The command


def test_the_command_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = CliRunner().invoke(cli, ["studio"])
    assert found.exit_code == 1
    assert "pip install 'genus[studio]'" in found.output


def test_bad_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENUS_HOME", str(tmp_path))
    genus.GaussianNB().fit([[1.0], [2.0]], [0, 1]).save(tmp_path / "g.genus")
    (tmp_path / "x.csv").write_text("a,b\n1,x\n2,y\n")
    for arguments, told in (
        (["nowhere.csv"], "nowhere.csv"),
        ([str(tmp_path / "g.genus")], "GaussianNB"),
        ([str(tmp_path / "g.genus"), "--ignore", "x"], "--ignore"),
        (["--write"], "--mail"),
        ([str(tmp_path / "x.csv"), "--target", "c"], "'c'"),
        (["--mail", str(tmp_path / "none.sqlite")], "none.sqlite"),
    ):
        found = CliRunner().invoke(cli, ["studio", *arguments, "--no-browser"])
        assert found.exit_code != 0, arguments
        assert told in found.output, (arguments, found.output)


def temporary_folders() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("genus-studio-*")}


def test_nothing_stays_of_dropped_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LARGER, "/api/upload", 100)
    before = temporary_folders()
    with served(Session()) as client:
        assert client.ask("POST", "/api/upload?name=x.csv", b"a,b\n" * 99, **OWN)[0] == 413
        chunks = iter([b"a,b\n" * 20, b"a,b\n" * 20])  # without a length
        connection = http.client.HTTPConnection("127.0.0.1", client.port)
        headers = {**OWN, "cookie": client.cookie}
        connection.request("POST", "/api/upload?name=x.csv", chunks, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()
        client.ask("POST", "/api/upload?name=x.parquet", b"no parquet", **OWN)
        assert "table.parquet" not in client.settled()["error"]
        assert client.ask("POST", "/api/upload?name=x.csv", b"a,b\n1,x\n", **OWN)[0] == 200
        client.settled()
    assert temporary_folders() <= before


def test_deep_json_is_refused(client: Client) -> None:
    status, _, body = client.ask("POST", "/api/act", b"[" * 100_000, **OWN)
    assert status == 400
    assert b"bug" not in body


def test_parts_of_dates_are_columns_of_the_model_and_not_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    days = np.sort(rng.integers(0, 500, 200))
    when = (np.datetime64("2023-01-02") + days).tolist()
    away = (days % 7 >= 5) ^ (rng.random(200) < 0.05)
    table = pa.table({"when": when, "x": rng.normal(size=200), "away": away.tolist()})
    with served(opened(table, "away")) as client:
        client.settled()
        found = {c["name"]: c for c in client.get("/api/table")["columns"]}
        weekday = found["when (weekday)"]["column"]
        assert client.get(f"/api/column?column={weekday}")["name"] == "when (weekday)"
        rows = client.get("/api/rows")
        assert sorted(rows["columns"]) == ["when", "x"]
        assert [name for _, name in rows["columnNames"]] == ["when", "x"]
        row = client.get("/api/row?row=3")
        assert sorted(own["name"] for own in row["inputs"]) == ["when", "x"]
        assert "when (weekday)" in [own["name"] for own in row["evidence"]]
        saturday = client.post("/api/what-if", {"row": 3, "given": {"0": "2023-01-07"}})
        assert saturday["p"][1] > 0.5
        client.do("leave out", column=weekday)
        left_out = client.get("/api/table")["leftOut"]
        assert [c["name"] for c in left_out if c["chosen"]] == ["when (weekday)"]
        client.do("take in", column=weekday)
        assert "when (weekday)" in [c["name"] for c in client.get("/api/table")["columns"]]
