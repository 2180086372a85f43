"""The Export screen: the model, the report, the corrected table, and the script."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow.csv

from genus import TableClassifier
from genus.report.page import page
from genus.studio.script import script, stem
from genus.studio.session import Session
from genus.studio.work import Job


def offered(session: Session) -> dict[str, Any]:
    """Return what can be exported, and the script."""
    is_table = session.version is not None
    return {
        "name": stem(session.name),
        "script": script(session) if is_table else "",
        "table": session.is_own,
        "report": is_table,
        "reportReady": is_table and "report" in session.now.kept,
    }


def model(session: Session) -> bytes:
    """Return the model as a file that `genus.load` reads."""
    found = session.text if session.version is None else session.now.model
    buffer = io.BytesIO()
    found.save(buffer)
    return buffer.getvalue()


def rows(session: Session) -> bytes:
    """Return the remaining rows as CSV, with their current labels."""
    if not session.is_own:
        raise ValueError("The studio did not fit this model, so it has no rows to export.")
    data, version = session.data, session.now
    assert data is not None
    at = np.flatnonzero(version.active)
    buffer = io.BytesIO()
    labels = data.label_values(session.classes)
    pyarrow.csv.write_csv(data.rows(at, version.codes, labels), buffer)
    return buffer.getvalue()


def report(session: Session) -> bytes:
    """Return the last report."""
    found = session.now.kept.get("report")
    if not isinstance(found, bytes):
        raise ValueError("The report is not written yet. Press the button to write it.")
    return found


def start_report(session: Session) -> None:
    """Write a report on the current model."""
    version, data, is_own = session.now, session.data, session.is_own
    labels = data.label_values(session.classes) if data is not None and is_own else None

    def work(job: Job) -> None:
        job.start(0, "Writing the report")
        if data is None:
            text = page(version.model, None, None)
        elif is_own:
            rows = data.rows(np.flatnonzero(version.active), version.codes, labels)
            options = version.model.get_params(deep=False)
            text = page(TableClassifier(**options), rows, data.target)
        else:
            text = page(version.model, data.table, data.target)
        with job.keeping():
            version.kept["report"] = text.encode()

    session.aside.run("Writing the report", work)
