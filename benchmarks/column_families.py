"""Whether letting a column choose one more family pays, in log loss and CPU seconds.

`python -m benchmarks.column_families` draws tables whose columns have that family, and prints how
much log loss `TableClassifier` has beyond the truth that rows were drawn from, in thousandths of a
nat, without and with the family among the candidates of a column. Each figure is a mean over 8
tables of four columns and two classes, and 4,000 new rows. With `GENUS_DATA`, a folder that has the
data sets in `uci`, it also prints the log loss of data sets with numbers, in five of ten folds.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.table_accuracy import read
from genus import TableClassifier
from genus.registry import EXACT, FAMILIES, FEW

SIZES, TABLES, NEW, COLUMNS = (100, 400), 8, 4_000, 4
SETS = ("cmc", "credit.g", "diabetes", "glass", "hypothyroid", "ionosphere", "vehicle", "spambase")
MODELS: dict[str, dict[str, Any]] = {
    "default": {},
    "product": {"calibrate": False, "dependence": False},
}

Array = NDArray[np.float64]


def is_positive(x: Any) -> bool:
    return bool(x.distinct > FEW and x.least > 0)


def is_share(x: Any) -> bool:
    return bool(x.distinct > FEW and x.least >= 0 and x.largest <= 1)


def is_count(x: Any) -> bool:
    return bool(x.whole and x.least >= 0 and x.largest < EXACT)


def inflated(share: Array, mean: Array) -> Any:
    """Return counts that are zero with probability `share`, and else Poisson."""

    class Inflated:
        def rvs(self, size: Any, random_state: Any) -> Array:
            zero = random_state.random(size) < share
            return np.where(zero, 0, random_state.poisson(mean, size))

        def logpdf(self, x: Array) -> Array:
            poisson = np.log1p(-share) + stats.poisson(mean).logpmf(x)
            return np.where(x == 0, np.logaddexp(np.log(share), poisson), poisson)

    return Inflated()


def counts(size: Array, mean: Array) -> Any:
    """Return a negative binomial distribution whose `logpdf` is that of its counts."""
    made: Any = stats.nbinom(size, size / (size + mean))
    made.logpdf = made.logpmf
    return made


# A family, the columns that it may suit, and a distribution from four numbers from 0 to 1.
NEW_FAMILIES: dict[str, tuple[Callable[[Any], bool], Callable[[Array], Any]]] = {
    "gamma": (is_positive, lambda u: stats.gamma(0.5 + 3 * u[0], scale=0.5 + u[1])),
    "lognormal": (is_positive, lambda u: stats.lognorm(0.4 + 0.6 * u[0], scale=0.5 + u[1])),
    "beta": (is_share, lambda u: stats.beta(0.5 + 3 * u[0], 0.5 + 3 * u[1])),
    "negative-binomial": (is_count, lambda u: counts(0.5 + 3 * u[0], 2 + 6 * u[1])),
    "zero-inflated": (is_count, lambda u: inflated(0.1 + 0.6 * u[0], 2 + 4 * u[1])),
}


@contextmanager
def candidate(name: str, suits: Callable[[Any], bool] | None) -> Iterator[None]:
    """Let columns choose a family, or none but those that they can choose anyway."""
    before = FAMILIES[name]
    FAMILIES[name] = before if suits is None else replace(before, suits=suits)
    try:
        yield
    finally:
        FAMILIES[name] = before


def losses(X: Any, y: Any, new: Any, truth: Any, options: dict[str, Any]) -> tuple[float, float]:
    """Return the log loss of new rows, and the CPU seconds of the fit."""
    start = time.process_time()
    model = TableClassifier(**options).fit(X, y)
    seconds = time.process_time() - start
    log_p = model.predict_log_proba(new)
    at = np.searchsorted(model.classes_, truth)
    return float(-np.maximum(log_p[np.arange(len(at)), at], -30).mean()), seconds


def drawn_table(make: Callable[[Array], Any], rows: int, seed: int) -> tuple[Any, Any, float]:
    """Return columns, classes, and the log loss of the truth on the new rows, which come last."""
    rng = np.random.default_rng(seed)
    both = [make(rng.random((4, COLUMNS))) for _ in range(2)]
    y = rng.integers(2, size=rows + NEW)
    drawn = np.stack([one.rvs((len(y), COLUMNS), random_state=rng) for one in both])
    X = drawn[y, np.arange(len(y))]
    joint = np.stack([one.logpdf(X).sum(axis=1) for one in both], axis=1)
    log_p = joint - np.logaddexp(joint[:, :1], joint[:, 1:])
    truth = -log_p[np.arange(len(y)), y][rows:].mean()
    return {f"x{j}": x for j, x in enumerate(X.T)}, y, float(truth)


def generated() -> None:
    heads = [f"{told}, {rows} rows" for rows in SIZES for told in ("without", "with")]
    print("| family | model | " + " | ".join(heads) + " | seconds a fit |")
    print("|---|---|" + "---:|" * len(heads) + "---:|")
    for name, (suits, make) in NEW_FAMILIES.items():
        for model, options in MODELS.items():
            cells, seconds = [], {"without": 0.0, "with": 0.0}
            for rows in SIZES:
                for told, chosen in (("without", None), ("with", suits)):
                    found = []
                    for seed in range(TABLES):
                        table, y, truth = drawn_table(make, rows, seed)
                        old = {column: x[:rows] for column, x in table.items()}
                        new = {column: x[rows:] for column, x in table.items()}
                        with candidate(name, chosen):
                            loss, spent = losses(old, y[:rows], new, y[rows:], options)
                        found.append(1000 * (loss - truth))
                        seconds[told] += spent / (TABLES * len(SIZES))
                    cells.append(f"{np.mean(found):.1f}")
            spent_on = f"{seconds['without']:.2f} → {seconds['with']:.2f}"
            print(f"| {name} | {model} | {' | '.join(cells)} | {spent_on} |", flush=True)


def data_sets(folder: Path) -> None:
    print("\n| data set | without | " + " | ".join(NEW_FAMILIES) + " |")
    print("|---|" + "---:|" * (1 + len(NEW_FAMILIES)))
    for name in SETS:
        table, cells = read(folder, name), []
        for family, suits in [("gamma", None), *((f, s) for f, (s, _) in NEW_FAMILIES.items())]:
            found, seconds = [], 0.0
            for train, test in table.splits[::2]:
                X, y = table.X, table.y
                with candidate(family, suits):
                    loss, spent = losses(X.iloc[train], y[train], X.iloc[test], y[test], {})
                found.append(loss)
                seconds += spent / 5
            cells.append(f"{np.mean(found):.4f} ({seconds:.1f} s)")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    generated()
    if "GENUS_DATA" in os.environ:
        data_sets(Path(os.environ["GENUS_DATA"]))


if __name__ == "__main__":
    main()
