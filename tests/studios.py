"""The studio in a thread, a client that asks it, and tables to show: for the tests of it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scope import EVERYTHING

pytest.importorskip("starlette", reason="the packages of the studio are not installed")

from genus.studio.server import listen, server
from genus.studio.session import Session
from genus.table import open_table

TOKEN = "a-token-for-the-tests"
FOLDS = 5 if EVERYTHING else 2
OWN = {"x-genus-studio": "1", "content-type": "application/json"}


class Client:
    """A client of the server, with or without the cookie."""

    def __init__(self, port: int, cookie: bool = True) -> None:
        self.port = port
        self.cookie = f"genus-studio-{port}={TOKEN}" if cookie else ""

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request, and return the status, the headers and the body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            given.setdefault("cookie", self.cookie)
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def get(self, path: str) -> Any:
        """Return what an address shows; fail unless it is answered."""
        status, _, body = self.ask("GET", path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        """Ask for a change."""
        found, _, answer = self.ask("POST", path, json.dumps(body or {}).encode(), **OWN)
        assert found == status, answer
        return json.loads(answer)

    def settled(self) -> dict[str, Any]:
        """Wait until nothing is under way, and return the state."""
        for _ in range(2400):
            state = self.get("/api/state")
            if state["job"] is None and state["aside"] is None:
                return state
            time.sleep(0.05)
        raise AssertionError(f"never done: {state['job']}, {state['aside']}")

    def do(self, kind: str, **given: Any) -> dict[str, Any]:
        """Make an edit, and wait for the scores."""
        self.post("/api/act", {"kind": kind, **given})
        state = self.settled()
        assert state["error"] == ""
        return state


@contextmanager
def served(session: Session, port: int = 0) -> Iterator[Client]:
    """Serve a session on loopback, in a thread."""
    bound = listen("127.0.0.1", port)
    port = bound.getsockname()[1]
    running = server(session, TOKEN, bound, "127.0.0.1")
    thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield Client(port)
    finally:
        session.close()
        running.should_exit = True
        thread.join(20)


def visitors(rows: int = 160, seed: int = 0) -> pa.Table:
    """Return a small table: numbers, categories, missing values, and rows without a label."""
    rng = np.random.default_rng(seed)
    churned = rng.random(rows) < 0.4
    plan = np.where(rng.random(rows) < 0.25 + 0.5 * churned, "basic", "premium")
    age = np.round(rng.normal(48 - 12 * churned, 9))
    label = np.where(churned, "yes", "no").astype(object)
    label[[5, rows // 2]] = None
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(rows) < 0.05),
            "visits": pa.array(rng.poisson(6 - 3 * churned)),
            "plan": pa.array(plan),
            "churned": pa.array(label.tolist()),
        }
    )


def opened(table: Any, target: str | None, name: str = "visitors.csv", **given: Any) -> Session:
    """Return a session with a table in it."""
    session = Session(name, path=name, **given)
    session.open(open_table(table), name, target).finished.wait()
    return session


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u202eabc\u202c",
    "a\x00b",
    "__proto__",
    "' OR 1=1 --",
    "{{7*7}}",
    "\ud7ff\U0001f600",
    "=cmd|' /C calc'!A0",
    "x" * 5000,
]


def hostile_table(size: int = 2_000_000) -> pa.Table:
    """Return a table with hostile names of columns, cells and classes, and one very large cell."""
    rng = np.random.default_rng(1)
    yes = rng.random(90) < 0.5
    columns: dict[str, Any] = {
        name: [None if rng.random() < 0.1 else str(rng.choice(HOSTILE[:9])) for _ in range(90)]
        for name in HOSTILE[:6]
    }
    columns["number"] = rng.normal(yes * 2.0, 1.0)
    columns["large"] = ["y" * size if i == 7 else f"some words {i} more {i % 5}" for i in range(90)]
    columns["class\u202e<b>"] = np.where(yes, "<script>alert(2)</script>", "\u202eno").tolist()
    return pa.table(columns)
