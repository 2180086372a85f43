"""The Compare screen: logistic regression on the same rows and folds, and learning curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from genus import compare as compared_by_rows
from genus.report.comparison import compared
from genus.report.judging import Judged, Rows
from genus.studio.session import Session
from genus.studio.work import Job

MOST_CURVES = 2_000  # rows of learning curves
REPEATS, PATIENCE = 10, 10.0
FEWEST = 50


def comparison(session: Session) -> dict[str, Any]:
    """Return the comparisons made so far."""
    version = session.now
    found, curves = version.comparison, version.curves
    return {
        "possible": session.data is not None and version.scores is not None,
        "told": None if found is None else found.told,
        "lines": []
        if found is None
        else [
            {"name": line.name, "accuracy": line.accuracy, "loss": line.log_loss,
             "seconds": line.seconds}
            for line in found.lines
        ],
        "curves": None if curves is None else drawn(curves),
    }  # fmt: skip


def judged_rows(session: Session) -> Rows:
    """Return the rows that score the model, with their labels."""
    version, data = session.now, session.data
    if data is None or version.scores is None or version.scores.rows is None:
        raise ValueError("There are no rows on which to compare with logistic regression.")
    at = version.scores.rows
    table = data.table.take(at).drop_columns([data.target])
    y = session.classes[version.codes[at]]
    return Rows(table, y, data.numbers[at], int(version.active.sum()), data.unlabelled)


def start(session: Session) -> None:
    """Compare with logistic regression on the same rows and folds."""
    rows, version = judged_rows(session), session.now
    scores, is_own = version.scores, session.is_own
    assert scores is not None

    def work(job: Job) -> None:
        job.start(0, "Fitting logistic regressions")
        judged = Judged(version.model, rows, scores.outcome, scores.how, is_own, np.nan)
        found = compared(judged, job.step)
        with job.keeping():
            version.comparison = found

    session.aside.run("Comparing", work)


def start_curves(session: Session) -> None:
    """Compute learning curves of a plain generative model and of logistic regression."""
    rows, version = judged_rows(session), session.now
    if len(rows.y) < FEWEST:
        raise ValueError(f"Learning curves need {FEWEST} rows or more.")

    def work(job: Job) -> None:
        job.start(0, "Drawing learning curves")
        some = rows if len(rows.y) <= MOST_CURVES else rows.some(MOST_CURVES)
        ignored = [column.name for column in version.model.plan_.left_out]
        found = compared_by_rows(
            some.table, some.y, ignore=ignored, repeats=REPEATS, patience=PATIENCE,
            progress=job.step,
        )  # fmt: skip
        with job.keeping():
            version.curves = found

    session.aside.run("Comparing", work)


def drawn(found: Any) -> dict[str, Any]:
    """Return the means of the curves by number of rows."""
    lines = []
    for line in found.curves.lines:
        means = {}
        for measure in ("error", "log_loss"):
            values = np.asarray(getattr(line, measure), dtype=np.float64)
            there = ~np.isnan(values)
            total = np.where(there, values, 0.0).sum(axis=1)
            means[measure] = np.divide(
                total,
                there.sum(axis=1),
                out=np.full(len(values), np.nan),
                where=there.any(axis=1),
            )
        lines.append({"name": line.name, "error": means["error"], "loss": means["log_loss"]})
    return {
        "sizes": np.asarray(found.curves.sizes),
        "lines": lines,
        "told": f"{found.advice.sentence} {found.crossings}",
        "why": list(found.why),
        "rows": found.rows,
    }
