"""What a kernel density gains where the columns of a table have two modes.

`python -m benchmarks.bimodal` prints how much log loss `TableClassifier` has beyond the truth that
rows were drawn from, in thousandths of a nat: with all families and without kernel densities, for
tables of four columns and two classes. Each figure is a mean over 12 tables and 5,000 new rows.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from genus import TableClassifier
from genus.registry import FAMILIES

SIZES, TABLES, NEW, COLUMNS = (200, 400, 800), 12, 5_000, 4
MODELS: dict[str, dict[str, Any]] = {
    "default": {},
    "product of families": {"calibrate": False, "dependence": False},
}

Array = NDArray[np.float64]


def drawn(rows: int, seed: int) -> tuple[Array, NDArray[np.int64], Array]:
    """Return rows, their classes, and the true log p(y|x)."""
    rng, n = np.random.default_rng(seed), COLUMNS
    mean, deviation = 2 * rng.normal(size=(2, 2, n)), rng.uniform(0.3, 0.8, size=(2, 2, n))
    y, mode = rng.integers(2, size=rows), rng.integers(2, size=(rows, n))
    at = y[:, None], mode, np.arange(n)
    X = mean[at] + deviation[at] * rng.normal(size=(rows, n))
    joint = logsumexp(norm.logpdf(X[:, None, None], mean, deviation), axis=2).sum(axis=2)
    return X, y, joint - logsumexp(joint, axis=1, keepdims=True)


def lost(rows: int, seed: int, options: dict[str, Any]) -> tuple[float, float]:
    """Return the log loss beyond the truth of one table, and the seconds to fit it."""
    X, y, truth = drawn(rows + NEW, seed)
    table = {f"x{j}": x for j, x in enumerate(X.T)}
    start = time.process_time()
    model = TableClassifier(**options).fit({n: x[:rows] for n, x in table.items()}, y[:rows])
    seconds = time.process_time() - start
    found = model.predict_log_proba({n: x[rows:] for n, x in table.items()})
    own = np.arange(NEW), y[rows:]
    return float((truth[rows:][own] - np.maximum(found[own], -30)).mean()), seconds


def main() -> None:
    warnings.simplefilter("ignore")
    print("| | " + " | ".join(f"{rows} rows" for rows in SIZES) + " | seconds a fit |")
    print("|---|" + "---:|" * (len(SIZES) + 1))
    kernel = FAMILIES["kernel"]
    for name, options in MODELS.items():
        for told, families in (("without", {}), ("with", {"kernel": kernel})):
            FAMILIES.pop("kernel", None)
            FAMILIES.update(families)
            found = [[lost(rows, seed, options) for seed in range(TABLES)] for rows in SIZES]
            means = np.mean(found, axis=1)
            cells = " | ".join(f"{1000 * mean:.1f}" for mean in means[:, 0])
            print(f"| {name}, {told} kernel | {cells} | {means[:, 1].mean():.3f} |")


if __name__ == "__main__":
    main()
