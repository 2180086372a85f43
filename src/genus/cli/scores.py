"""What probabilities are worth, in lines that fit a terminal."""

from __future__ import annotations

from typing import Any

import click

MOST_CLASSES = 10  # that a confusion matrix has room for
WIDEST = 14  # characters of a label


def told(outcome: Any) -> str:
    """Scores and mistakes of a CrossValidation."""
    return f"{scores(outcome)}\n\n{confusion(outcome)}"


def scores(outcome: Any) -> str:
    """The scores, one a line."""
    from genus.report.scores import mean_area, rocs

    area = mean_area(rocs(outcome))
    shown = {
        "rows": f"{len(outcome.y):,}",
        "accuracy": f"{outcome.accuracy:.4f}",
        "log loss": f"{outcome.log_loss:.4f}",
        "Brier score": f"{outcome.brier:.4f}",
        "calibration error": f"{outcome.calibration_error:.4f}",
        "ROC AUC": "none: only one class is there" if area is None else f"{area:.4f}",
    }
    return "\n".join(f"{name:17}  {value:>8}" for name, value in shown.items())


def confusion(outcome: Any) -> str:
    """How often each class was taken for each; of many classes the most frequent mistakes."""
    from genus.report.scores import confusion

    cells = confusion(outcome)
    names = [short(label) for label in outcome.classes.tolist()]
    if len(names) > MOST_CLASSES:
        return mistakes(cells, names)
    width = max([5, *map(len, names), *(len(f"{n:,}") for n in cells.ravel().tolist())])
    first = max(len("true class"), *map(len, names))
    head = f"{'true class':{first}}  " + "  ".join(f"{name:>{width}}" for name in names)
    lines = [bold("Taken for:"), head]
    for name, row in zip(names, cells.tolist(), strict=True):
        lines.append(f"{name:{first}}  " + "  ".join(f"{n:{width},}" for n in row))
    return "\n".join(lines)


def mistakes(cells: Any, names: list[str]) -> str:
    """The most frequent mistakes."""
    from genus.report.scores import confused

    found = confused(cells, MOST_CLASSES)
    if not found:
        return "No row was taken for another class."
    lines = [bold("Most frequent mistakes:"), f"{'rows':>8}  {'true class':{WIDEST}}  taken for"]
    lines += [f"{n:8,}  {names[i]:{WIDEST}}  {names[j]}" for i, j, n in found]
    return "\n".join(lines)


def short(label: Any) -> str:
    """A label in few characters, none of which a terminal would obey."""
    from genus.display.text import name

    return name(label, WIDEST)


def bold(text: str) -> str:
    """A heading; click takes the style away where no terminal shows it."""
    return click.style(text, bold=True)
