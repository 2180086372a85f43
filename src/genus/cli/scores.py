"""Print scores in lines that fit a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

MOST_CLASSES = 10  # classes in a confusion matrix
WIDEST = 14  # characters of a label


def told(outcome: Any) -> str:
    """Return a CrossValidation's scores, its scores by class and its confusion matrix, as text."""
    return f"{scores(outcome)}\n\n{by_class(outcome)}\n\n{confusion(outcome)}"


def scores(outcome: Any) -> str:
    """Return one line per score, with its 95 % interval, and say what the baseline is."""
    from genus.display.text import name

    found = outcome.metrics()
    lines = [
        bold(f"{'':17}  {'':>8}  {'95 % interval':16}  baseline"),
        f"{'rows':17}  {found.rows:8,}",
    ]
    for what, score in found.scores.items():
        if score.value != score.value:  # not a number
            lines.append(f"{what:17}      none: there is only one class")
            continue
        lines.append(
            f"{what:17}  {score.value:8.4f}  {score.interval:16}  {found.baseline[what]:.4f}"
        )
        if what == "Brier score":
            lines.append(f"{'calibration error':17}  {outcome.calibration_error:8.4f}")
    return "\n".join([*lines, *found.baseline_notes(name(found.commonest))])


def by_class(outcome: Any) -> str:
    """Return recall, precision and more by class; only the most frequent of many classes."""
    found = sorted(outcome.metrics().by_class, key=lambda one: -one.rows)
    listed = found[:MOST_CLASSES]
    names = short(outcome.classes.tolist())
    width = max(len("class"), *(len(names[one.label]) for one in listed))
    head = f"{'class':{width}}      rows  recall  precision      F1  ROC AUC  PR AUC"
    lines = [bold(head)]
    for one in listed:
        values = zip((6, 9, 6, 7, 6), one[2:], strict=True)
        cells = "  ".join(f"{share(score.value):>{w}}" for w, score in values)
        lines.append(f"{names[one.label]:{width}}  {one.rows:8,}  {cells}")
    if len(found) > len(listed):
        lines.append(f"({len(found) - len(listed)} more classes)")
    return "\n".join(lines)


def share(value: float) -> str:
    """Format a score of a class; a dash if it is undefined."""
    return "-" if value != value else f"{value:.4f}"


def as_object(outcome: Any) -> dict[str, Any]:
    """Return all scores of a CrossValidation as an object for JSON."""
    from genus.report.scores import confusion
    from genus.stacking.metrics import Score

    found = outcome.metrics()
    return {
        "rows": found.rows,
        "scores": {n: s._asdict() for n, s in found.scores.items()},
        "calibration error": outcome.calibration_error,
        "baseline": {"class": found.commonest, **found.baseline},
        "classes": [
            {n: v._asdict() if isinstance(v, Score) else v for n, v in one._asdict().items()}
            for one in found.by_class
        ],
        "confusion": confusion(outcome),
    }


def confusion(outcome: Any) -> str:
    """Return the confusion matrix; if there are many classes, the most frequent mistakes."""
    from genus.report.scores import confusion

    cells = confusion(outcome)
    names = [*short(outcome.classes.tolist()).values()]
    if len(names) > MOST_CLASSES:
        return mistakes(cells, names)
    width = max([5, *map(len, names), *(len(f"{n:,}") for n in cells.ravel().tolist())])
    first = max(len("true class"), *map(len, names))
    head = f"{'true class':{first}}  " + "  ".join(f"{name:>{width}}" for name in names)
    lines = [bold("Predicted as:"), head]
    for name, row in zip(names, cells.tolist(), strict=True):
        lines.append(f"{name:{first}}  " + "  ".join(f"{n:{width},}" for n in row))
    return "\n".join(lines)


def mistakes(cells: Any, names: list[str]) -> str:
    """Return the most frequent mistakes."""
    from genus.report.scores import confused

    found = confused(cells, MOST_CLASSES)
    if not found:
        return "No row was misclassified."
    width = max(WIDEST, *(len(names[i]) for i, _, _ in found))
    lines = [bold("Most frequent mistakes:"), f"{'rows':>8}  {'true class':{width}}  predicted as"]
    lines += [f"{n:8,}  {names[i]:{width}}  {names[j]}" for i, j, n in found]
    return "\n".join(lines)


def short(labels: Sequence[Any], most: int = WIDEST) -> dict[Any, str]:
    """Return a short name for each label, without control characters; all are different."""
    from genus.display.text import names

    return dict(zip(labels, names(labels, most), strict=True))


def bold(text: str) -> str:
    """Return a heading; click removes the style where there is no terminal."""
    return click.style(text, bold=True)
