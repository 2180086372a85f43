"""The Scores screen: how good the predictions are, and what decisions cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve

from genus.display.palette import COLOURS
from genus.report import scores as figures
from genus.studio.session import Session

STEPS = 101  # thresholds on the curve of costs
MOST_POINTS = 200
MOST_CLASSES = 12  # classes in a confusion matrix
MOST_COST = 1e6
SURE = 1.96


def scores(session: Session) -> dict[str, Any] | None:
    """Return all scores with their intervals and curves; None if they are not computed yet."""
    version = session.now
    found = version.scores
    if found is None:
        return None
    key = "scores", session.decision.get("positive")
    if key not in version.kept:
        version.kept[key] = made(session, found)
    return {**version.kept[key], "decided": decided(session)}


def outcome_of(session: Session) -> Any:
    """Return the predictions; if there are two classes, the class of interest comes second."""
    found = session.now.scores
    assert found is not None
    outcome = found.outcome
    if len(outcome.classes) != 2 or session.decision.get("positive") != 0:
        return outcome
    return replace(
        outcome,
        probabilities=outcome.probabilities[:, ::-1].copy(),
        classes=outcome.classes[::-1],
        y=1 - outcome.y,
    )


def made(session: Session, found: Any) -> dict[str, Any]:
    outcome, metrics = outcome_of(session), found.metrics
    places = [session.place(label) for label in outcome.classes.tolist()]
    is_binary = len(places) == 2
    colours = session.colours()
    rocs = [c for c in figures.rocs(outcome) if is_binary or colours[places[c.k]] < COLOURS]
    return {
        "rows": metrics.rows,
        "how": found.how,
        "classes": places,
        "scores": [
            {"name": name, "value": score.value, "low": score.low, "high": score.high,
             "baseline": metrics.baseline[name],
             "of": session.place(metrics.rarer) if name == "PR AUC" and is_binary else None}
            for name, score in metrics.scores.items()
        ],
        "commonest": session.place(metrics.commonest),
        "calibrationError": outcome.calibration_error,
        "reliability": [
            {"p": s.probability, "share": s.share, "rows": s.rows, "low": s.low, "high": s.high}
            for s in figures.reliability(outcome)
        ],
        "of": places[1] if is_binary else None,
        "rocs": [
            {"class": places[c.k], "x": c.false, "y": c.true, "area": c.area} for c in rocs
        ],
        "prs": [precision_recall(outcome, c.k, places) for c in rocs],
    }  # fmt: skip


def precision_recall(outcome: Any, k: int, places: list[int]) -> dict[str, Any]:
    """Return the precision-recall curve of one class against all others."""
    precision, recall, _ = precision_recall_curve(outcome.y == k, outcome.probabilities[:, k])
    some = np.unique(np.linspace(0, len(recall) - 1, MOST_POINTS).astype(int))
    share = float((outcome.y == k).mean())
    return {"class": places[k], "x": recall[some], "y": precision[some], "share": share}


def rule(session: Session) -> dict[str, Any]:
    """Return the decision rule: the costs by true and chosen class, (K, K), and any threshold.

    Classes are in the order of `outcome_of`.
    """
    K = len(outcome_of(session).classes)
    given = session.decision
    costs = np.asarray(given.get("costs", []), dtype=np.float64)
    if costs.shape != (K, K):
        costs = 1.0 - np.eye(K)
    threshold = given.get("threshold") if K == 2 else None
    return {"costs": costs, "threshold": threshold}


def decide(session: Session, threshold: Any, costs: Any, positive: Any = None) -> dict[str, Any]:
    """Set the decision rule, and return its effects.

    `positive` is the number of the class of interest, if there are two.
    """
    found = session.now.scores
    if found is None:
        raise ValueError("The scores are not computed yet. Wait for them.")
    K = len(found.outcome.classes)
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (K, K) or not ((matrix >= 0) & (matrix <= MOST_COST)).all():
        raise ValueError(
            f"Costs must be numbers from 0 to {MOST_COST:,.0f}, one for each pair of classes."
        )
    is_number = isinstance(threshold, int | float) and 0 <= threshold <= 1
    if threshold is not None and not is_number:
        raise ValueError("A threshold must be a number from 0 to 1.")
    if positive is not None and (positive not in (0, 1) or K != 2):
        raise ValueError("The class of interest must be one of the two classes.")
    session.decide({"threshold": threshold, "costs": matrix.tolist(), "positive": positive})
    return decided(session)


def decided(session: Session) -> dict[str, Any]:
    """Return the effects of the decision rule: confusion matrix, scores by class, expected cost."""
    judged, now = outcome_of(session), rule(session)
    costs, threshold = now["costs"], now["threshold"]
    labels = judged.classes.tolist()
    outcome = judged.deciding(costs_of(labels, costs) if threshold is None else threshold)
    cells = figures.confusion(outcome)
    true, taken, right = cells.sum(axis=1), cells.sum(axis=0), np.diag(cells)
    each = costs[outcome.y, outcome.decided]
    cost, error = float(each.mean()), SURE * float(each.std() / np.sqrt(max(len(each), 1)))
    if error == 0:  # all rows cost the same: Wilson's bound of the share of unseen mistakes
        error = float(costs.max()) * SURE**2 / (len(each) + SURE**2)
    result: dict[str, Any] = {
        "threshold": threshold,
        "positive": session.decision.get("positive"),
        "costs": costs,
        "accuracy": float(right.sum() / max(cells.sum(), 1)),
        "cost": {"value": cost, "low": max(cost - error, 0.0), "high": cost + error,
                 "baseline": float((true / true.sum() @ costs).min())},
        "cells": cells if len(labels) <= MOST_CLASSES else None,
        "confused": [list(one) for one in figures.confused(cells, 12)],
        "recall": np.divide(right, true, out=np.full(len(true), np.nan), where=true > 0),
        "precision": np.divide(right, taken, out=np.full(len(true), np.nan), where=taken > 0),
        "true": true,
    }  # fmt: skip
    if len(labels) == 2:
        result |= by_threshold(judged, costs)
        wrong = cells[0, 1] / max(true[0], 1)
        result["point"] = [float(wrong), float(result["recall"][1])]
        result["precisionPoint"] = [float(result["recall"][1]), float(result["precision"][1])]
    return result


def costs_of(labels: list[Any], costs: NDArray[np.float64]) -> dict[tuple[Any, Any], float]:
    """Return costs in the form that `predict(decision=…)` accepts."""
    return {
        (true, decided): float(costs[i, j])
        for i, true in enumerate(labels)
        for j, decided in enumerate(labels)
    }


def by_threshold(outcome: Any, costs: NDArray[np.float64]) -> dict[str, Any]:
    """Return the expected cost of each threshold of the second class, and Bayes' threshold."""
    thresholds = np.linspace(0, 1, STEPS)
    shares = []
    for t in thresholds:
        cells = figures.confusion(outcome.deciding(float(t)))
        shares.append(float((cells * costs).sum() / max(cells.sum(), 1)))
    # The best threshold is where the odds equal the ratio of the costs of both errors.
    gain, loss = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
    cheapest = gain / (gain + loss) if gain > 0 and loss > 0 else None
    return {"thresholds": thresholds, "costOf": shares, "cheapest": cheapest}
