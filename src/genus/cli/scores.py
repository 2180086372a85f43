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
    area = ranking(outcome)
    shown = {
        "rows": f"{len(outcome.y):,}",
        "accuracy": f"{outcome.accuracy:.4f}",
        "log loss": f"{outcome.log_loss:.4f}",
        "Brier score": f"{outcome.brier:.4f}",
        "calibration error": f"{outcome.calibration_error:.4f}",
        "ROC AUC": "none: only one class is there" if area is None else f"{area:.4f}",
    }
    return "\n".join(f"{name:17}  {value:>8}" for name, value in shown.items())


def ranking(outcome: Any) -> float | None:
    """The area under the ROC curve; of more than two classes the mean, each against the rest."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    there = np.unique(outcome.y)
    if len(there) < 2:
        return None
    p = outcome.probabilities
    if len(outcome.classes) == 2:
        return float(roc_auc_score(outcome.y == 1, p[:, 1]))
    return float(np.mean([roc_auc_score(outcome.y == k, p[:, k]) for k in there]))


def confusion(outcome: Any) -> str:
    """How often each class was taken for each; of many classes the most frequent mistakes."""
    import numpy as np

    K = len(outcome.classes)
    pairs = outcome.y * K + outcome.probabilities.argmax(axis=1)
    counts = np.bincount(pairs, minlength=K * K).reshape(K, K)
    names = [short(label) for label in outcome.classes.tolist()]
    if K > MOST_CLASSES:
        return mistakes(counts, names)
    width = max([5, *map(len, names), *(len(f"{n:,}") for n in counts.ravel().tolist())])
    first = max(len("true class"), *map(len, names))
    head = f"{'true class':{first}}  " + "  ".join(f"{name:>{width}}" for name in names)
    lines = [bold("Taken for:"), head]
    for name, row in zip(names, counts.tolist(), strict=True):
        lines.append(f"{name:{first}}  " + "  ".join(f"{n:{width},}" for n in row))
    return "\n".join(lines)


def mistakes(counts: Any, names: list[str]) -> str:
    """The most frequent mistakes."""
    import numpy as np

    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CLASSES].tolist()
    found = [(wrong.flat[i], *divmod(i, len(names))) for i in order if wrong.flat[i]]
    if not found:
        return "No row was taken for another class."
    lines = [bold("Most frequent mistakes:"), f"{'rows':>8}  {'true class':{WIDEST}}  taken for"]
    lines += [f"{n:8,}  {names[k]:{WIDEST}}  {names[other]}" for n, k, other in found]
    return "\n".join(lines)


def short(label: Any) -> str:
    """A label in few characters."""
    text = " ".join(str(label).split())
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def bold(text: str) -> str:
    """A heading; click takes the style away where no terminal shows it."""
    return click.style(text, bold=True)
