"""Do texts without a label help? Reuters R8 with a few labels for each class, and with the rest.

    python examples/unlabeled.py FOLDER

reads FOLDER/reuters_r8/train.txt.gz and test.txt.gz, label and text with a tab between. FOLDER is
GENUS_DATA, or ../shared/data, if it is not given. Prints the table of docs/text.md.
"""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from genus import TextClassifier

DRAWS = 4
WEIGHTS = (0.1, 0.3, 1.0)


def read(path: Path) -> tuple[list[str], np.ndarray[Any, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in file]
    return [text for _, text in rows], np.array([label for label, _ in rows])


def main(arguments: list[str]) -> int:
    default = os.environ.get("GENUS_DATA", Path(__file__).parents[2] / "shared" / "data")
    folder = Path(arguments[0] if arguments else default) / "reuters_r8"
    try:
        texts, y = read(folder / "train.txt.gz")
        test, truth = read(folder / "test.txt.gz")
    except OSError as error:
        print(f"unlabeled.py: {error}. Name the folder that reuters_r8 is in.", file=sys.stderr)
        return 1
    heads = ["labels of each class", "alone", *(f"`unlabeled={w:g}`" for w in WEIGHTS)]
    print(f"| {' | '.join(heads)} |\n|{'---:|' * len(heads)}")
    for few in (2, 5, 10, 20, 40, 100):
        scores = [accuracies(texts, y, test, truth, few, seed) for seed in range(DRAWS)]
        cells = " | ".join(f"{mean:.3f}" for mean in np.mean(scores, axis=0))
        print(f"| {few} | {cells} |", flush=True)
    return 0


def accuracies(
    texts: list[str], y: Any, test: list[str], truth: Any, few: int, seed: int
) -> list[float]:
    """Right on the test texts: with the labelled alone, and with the others by weight."""
    rng = np.random.default_rng(seed)
    chosen = [rng.permutation(np.flatnonzero(y == label))[:few] for label in np.unique(y)]
    kept = np.concatenate(chosen)
    labels: list[Any] = [None] * len(y)
    for i in kept.tolist():
        labels[i] = y[i]
    models = [TextClassifier(alpha=0.1).fit([texts[i] for i in kept], y[kept])]
    models += [TextClassifier(alpha=0.1, unlabeled=w).fit(texts, labels) for w in WEIGHTS]
    return [float(np.mean(model.predict(test) == truth)) for model in models]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
