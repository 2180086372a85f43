"""TableClassifier beside gradient boosting and an explainable boosting machine, with defaults.

`python -m benchmarks.boosting [--data FOLDER] [--sets NAME ...] [--without PROGRAM]` has the sets
of `benchmarks.table_accuracy`, three of their ten splits, and `three-way`: 100,000 rows of ten
columns, generated, whose class hangs on three columns together and on three others each by itself.
Each side gets categories in the way that it asks for. Seconds are of all cores together.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.table_accuracy import (
    SETS,
    Labels,
    Probabilities,
    Side,
    Table,
    command,
    lines_of,
    read,
)
from genus import TableClassifier

SPLITS = 3
GENERATED = "three-way"
MISSING = "missing"


class Boosted(ClassifierMixin, BaseEstimator):
    """A classifier whose columns of strings are categories, or strings if it wants these.

    Columns of no value are left out: HistGradientBoosting cannot bin them.
    """

    def __init__(self, make: Callable[[list[int]], Any], strings: bool = False) -> None:
        self.make = make
        self.strings = strings

    def fit(self, X: pd.DataFrame, y: Labels) -> Self:
        self.columns_ = [j for j in range(X.shape[1]) if X.iloc[:, j].notna().any()]
        self.categories_ = {
            j: X.iloc[:, j].dropna().unique()
            for j in self.columns_
            if not pd.api.types.is_numeric_dtype(X.dtypes.iloc[j])
        }
        self.model_ = self.make([self.columns_.index(j) for j in self.categories_])
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.model_.fit(self._columns(X), codes)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Probabilities:
        found = np.zeros((len(X), len(self.classes_)))
        found[:, np.asarray(self.model_.classes_, dtype=int)] = self.model_.predict_proba(
            self._columns(X)
        )
        return found

    def _columns(self, X: pd.DataFrame) -> pd.DataFrame:
        columns = {}
        for j in self.columns_:
            own = X.iloc[:, j]
            if j in self.categories_:
                known = pd.Categorical(own, categories=self.categories_[j])
                own = known if not self.strings else own.astype(object).fillna(MISSING).astype(str)
            columns[f"c{j}"] = own
        return pd.DataFrame(columns, index=X.index)


def hist(categories: list[int]) -> Any:
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)


def lightgbm(categories: list[int]) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, random_state=0)


def catboost(categories: list[int]) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        verbose=0, random_seed=0, cat_features=categories, allow_writing_files=False
    )


def explainable(categories: list[int]) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=0)


SIDES = {
    "genus TableClassifier()": Side(TableClassifier),
    "HistGradientBoosting": Side(lambda: Boosted(hist)),
    "LightGBM": Side(lambda: Boosted(lightgbm)),
    "CatBoost": Side(lambda: Boosted(catboost, strings=True)),
    "explainable boosting": Side(lambda: Boosted(explainable, strings=True)),
}


def generated() -> Table:
    """100,000 rows whose class hangs on three columns together, and on three others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10))
    odds = 2 * np.sign(X[:, 0] * X[:, 1] * X[:, 2]) + X[:, 3] + X[:, 4] ** 2 - 1 - X[:, 5]
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-odds))).astype(str)
    frame = pd.DataFrame(np.round(X, 3), columns=[f"x{j}" for j in range(X.shape[1])])
    rows = np.arange(len(X))
    return Table(frame, y, [(rows[20_000:], rows[:20_000])])


def lines(folder: Path, names: Sequence[str], sides: Mapping[str, Side]) -> Iterator[str]:
    """The rows of the table, as they are measured."""

    def some(name: str) -> Table:
        table = generated() if name == GENERATED else read(folder, name)
        return replace(table, splits=table.splits[:SPLITS])

    return lines_of(some, names, sides)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--without", choices=[*SIDES], action="append", default=[])
    own, rest = parser.parse_known_args(arguments)
    sides = {name: side for name, side in SIDES.items() if name not in own.without}
    some = partial(lines, sides=sides)
    return command("boosting", __doc__ or "", some, (*SETS, GENERATED), rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
