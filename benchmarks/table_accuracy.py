"""How often classifiers of tables are wrong, how sure they are of it, and how long they take.

`python -m benchmarks.table_accuracy [--data FOLDER] [--sets NAME ...] [--write docs/benchmarks.md]`
reads `uci/*.csv.gz`, `penguins.csv` and `adult-*.csv.gz` from FOLDER, else GENUS_DATA, else
../shared/data. Every side is fitted on nine tenths of the rows and judged on the tenth, ten times
(stratified, shuffled by seed 0); of Adult, rows without a hole are split as they come. A cell is
the share of wrong rows and the mean of -log p(y|x), where p is at least 1e-15. Seconds are of all
cores together, for fit and predict_proba, from a pandas frame.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from benchmarks import report
from genus import TableClassifier

DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"
FOLDS = 10
LEAST = 1e-15  # a probability, in the log loss
TREES = 200
BINS = 10
IDENTIFIERS = {"splice": ["Instance_name"]}  # columns that name the row
UCI = (
    "balance.scale",
    "breast.cancer",
    "car",
    "cmc",
    "credit.g",
    "diabetes",
    "glass",
    "hypothyroid",
    "ionosphere",
    "kr.vs.kp",
    "letter",
    "mushroom",
    "nursery",
    "soybean",
    "spambase",
    "splice",
    "tic-tac-toe",
    "vehicle",
    "vote",
    "zoo",
)
SETS = (*UCI, "penguins", "adult")

Labels = NDArray[Any]
Rows = NDArray[np.intp]
Probabilities = NDArray[np.float64]


# The sets


@dataclass(frozen=True, eq=False)
class Table:
    """A table, its labels, and the rows to learn from and to test on, split by split."""

    X: pd.DataFrame
    y: Labels
    splits: list[tuple[Rows, Rows]]


def read(folder: Path, name: str) -> Table:
    """A set by its name."""
    if name == "adult":
        train, test = (
            frame_of(folder / f"adult-{part}.csv.gz").dropna() for part in ("train", "test")
        )
        rows = np.arange(len(train) + len(test))
        frame = pd.concat([train, test], ignore_index=True)
        return Table(*apart(frame, "income"), [(rows[: len(train)], rows[len(train) :])])
    if name == "penguins":
        X, y = apart(frame_of(folder / "penguins.csv"), "species")
    else:
        frame = frame_of(folder / "uci" / f"{name}.csv.gz").drop(columns=IDENTIFIERS.get(name, []))
        X, y = apart(frame, frame.columns[-1])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return Table(X, y, list(folds.split(X, y)))


def frame_of(path: Path) -> pd.DataFrame:
    """The rows of a file, where an empty field is missing, and NA (of the penguins)."""
    return pd.read_csv(path, keep_default_na=False, na_values=["", "NA"])


def apart(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, Labels]:
    return frame.drop(columns=target), frame[target].to_numpy().astype(str)


# The peers


def one_more(X: Probabilities) -> Probabilities:
    return X + 1


def codes() -> Any:
    """Categories as 1, 2, … in the order of their names; 0 where missing or not seen in fit."""
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1
    )
    return make_pipeline(encoder, FunctionTransformer(one_more))


class Bins(TransformerMixin, BaseEstimator):
    """Numbers as the quantiles 1, 2, … that they are in, and 0 where they are missing."""

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        self.bins_ = []
        for column in X.to_numpy(float).T:
            there = column[~np.isnan(column)]
            bins = KBinsDiscretizer(
                BINS,
                encode="ordinal",
                strategy="quantile",
                quantile_method="averaged_inverted_cdf",
                subsample=None,
            )
            self.bins_.append(bins.fit(there[:, None]) if len(there) else None)
        return self

    def transform(self, X: pd.DataFrame) -> Probabilities:
        out = np.zeros(X.shape)
        for j, (column, bins) in enumerate(zip(X.to_numpy(float).T, self.bins_, strict=True)):
            there = ~np.isnan(column)
            if bins is not None and there.any():
                out[there, j] = 1 + bins.transform(column[there, None])[:, 0]
        return out


def by_kind(X: pd.DataFrame, numbers: Any, categories: Any) -> ColumnTransformer:
    """One matrix: what is made of the numbers, then what is made of all else."""
    numeric = list(X.select_dtypes("number").columns)
    others = [name for name in X.columns if name not in numeric]
    return ColumnTransformer(
        [("numbers", numbers, numeric), ("categories", categories, others)], sparse_threshold=0
    )


class ColumnBayes(ClassifierMixin, BaseEstimator):
    """scikit-learn's naive Bayes for each kind of column, their log-likelihoods added.

    Numbers are normal, or categories by ten quantiles if `binned`.
    """

    def __init__(self, binned: bool = False) -> None:
        self.binned = binned

    def fit(self, X: pd.DataFrame, y: Labels) -> Self:
        scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        self.columns_ = by_kind(X, Bins() if self.binned else scaled, codes())
        Z = self.columns_.fit_transform(X)
        normal = 0 if self.binned else self.columns_.output_indices_["numbers"].stop
        both = ((slice(0, normal), GaussianNB()), (slice(normal, None), CategoricalNB()))
        self.parts_ = [(s, model.fit(Z[:, s], y)) for s, model in both if Z[:, s].shape[1]]
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_prior_ = np.log(counts / len(y))
        return self

    def predict_proba(self, X: pd.DataFrame) -> Probabilities:
        Z = self.columns_.transform(X)
        joint = [model.predict_joint_log_proba(Z[:, s]) for s, model in self.parts_]
        return softmax(np.sum(joint, axis=0) - (len(joint) - 1) * self.log_prior_, axis=1)

    def predict(self, X: pd.DataFrame) -> Labels:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class OneHot(ClassifierMixin, BaseEstimator):
    """A classifier of matrices, for tables: holes filled and marked, numbers scaled."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: pd.DataFrame, y: Labels) -> Self:
        numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
        )
        columns = by_kind(X, numbers, OneHotEncoder(handle_unknown="ignore"))
        self.model_ = make_pipeline(columns, self.classifier).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> Probabilities:
        return self.model_.predict_proba(X)


@dataclass(frozen=True, eq=False)
class Side:
    """A classifier, and the least probability that it is allowed."""

    make: Callable[[], Any]
    least: float = 0.0


SIDES = {
    "genus TableClassifier()": Side(TableClassifier),
    "Gaussian + categorical naive Bayes": Side(ColumnBayes),
    "naive Bayes, 10 quantile bins": Side(lambda: ColumnBayes(binned=True)),
    "logistic regression": Side(lambda: OneHot(LogisticRegression(max_iter=10_000))),
    f"forest of {TREES} trees, p ≥ 1/{2 * TREES}": Side(
        lambda: OneHot(RandomForestClassifier(TREES, n_jobs=-1, random_state=0)), 1 / (2 * TREES)
    ),
}


# What is measured


def measure(side: Side, table: Table) -> tuple[float, float, float]:
    """The error and log loss over all rows that were tested, and CPU seconds."""
    classes = np.unique(table.y)
    wrong, loss, tested, seconds = 0, 0.0, 0, 0.0
    for train, test in table.splits:
        start = process_time()
        model = side.make().fit(table.X.iloc[train], table.y[train])
        found = model.predict_proba(table.X.iloc[test])
        seconds += process_time() - start
        p = np.zeros((len(test), len(classes)))
        p[:, np.searchsorted(classes, model.classes_)] = found
        p = np.maximum(p, side.least)
        p /= p.sum(axis=1, keepdims=True)
        truth = np.searchsorted(classes, table.y[test])
        wrong += int(np.count_nonzero(p.argmax(axis=1) != truth))
        loss -= float(np.log(np.maximum(p[np.arange(len(test)), truth], LEAST)).sum())
        tested += len(test)
    return wrong / tested, loss / tested, seconds


def measured(side: Side, table: Table) -> tuple[float, float, float]:
    """The same; NaN if a peer refuses the table, such as for a class of one row."""
    try:
        return measure(side, table)
    except ValueError:
        if side.make is TableClassifier:
            raise
        return np.nan, np.nan, np.nan


def cells(scores: NDArray[np.float64]) -> list[str]:
    """Error and log loss of each side, (sides, 2), the best of either in bold."""
    shown = [[f"{error:.3f}", f"{loss:.3f}"] for error, loss in scores]
    best = [min(column) for column in zip(*shown, strict=True)]  # "nan" comes after digits
    return [
        " / ".join(f"**{n}**" if n == least else n for n, least in zip(pair, best, strict=True))
        for pair in shown
    ]


def lines(folder: Path, names: Sequence[str]) -> Iterator[str]:
    """The rows of the table, as they are measured."""
    return lines_of(lambda name: read(folder, name), names, SIDES)


def lines_of(
    read: Callable[[str], Table], names: Sequence[str], sides: Mapping[str, Side]
) -> Iterator[str]:
    """The rows of a table of some sides, as they are measured."""
    widths = (28, *(max(len(name), 21) for name in sides))

    def line(name: str, values: Sequence[str]) -> str:
        padded = (f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True))
        return f"| {name:{widths[0]}} | {' | '.join(padded)} |"

    yield line("error / log loss", list(sides))
    yield line("-" * widths[0], ["-" * (width - 1) + ":" for width in widths[1:]])
    scores: dict[str, NDArray[np.float64]] = {}
    for name in names:
        table = read(name)
        scores[name] = np.array([measured(side, table) for side in sides.values()])
        yield line(f"{name}, {len(table.y):,}", cells(scores[name][:, :2]))
    uci = [scores[name][:, :2] for name in names if name in UCI]
    uci = [found for found in uci if not np.isnan(found).any()]
    if len(uci) > 1:
        whole = "the 20" if len(uci) == len(UCI) else f"{len(uci)} of the 20"
        yield line(f"mean of {whole} of UCI", cells(np.mean(uci, axis=0)))
    total = np.nansum([found[:, 2] for found in scores.values()], axis=0)
    yield line("CPU seconds in all", [f"{seconds:.1f}" for seconds in total])


def main(arguments: Sequence[str]) -> int:
    return command("table_accuracy", __doc__ or "", lines, SETS, arguments)


def command(
    module: str,
    description: str,
    lines: Callable[[Path, Sequence[str]], Iterator[str]],
    sets: Sequence[str],
    arguments: Sequence[str],
) -> int:
    """Print the lines of a table of some sets and, if asked to, write them to a document."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where the tables are")
    parser.add_argument("--sets", metavar="NAME", nargs="+", help=f"some of {', '.join(sets)}")
    parser.add_argument("--write", metavar="FILE", type=Path, help="update this document")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.sets or () if name not in sets]
    if unknown:
        parser.error(f"there is no set {unknown[0]!r}; there are {', '.join(sets)}.")
    if options.write and options.sets:
        parser.error("--write shows all sets; leave --sets out.")
    section = module.replace("_", "-")
    if options.write:
        try:
            report.around(options.write, section)
        except (OSError, ValueError) as error:
            parser.error(str(error))
    folder = options.data or Path(os.environ.get("GENUS_DATA", DEFAULT_DATA))
    if not folder.is_dir():
        print(f"There is no folder {folder}; --data names another.", file=sys.stderr)
        return 1
    warnings.simplefilter("ignore")  # of classes with few rows and columns of one value
    shown = []
    for row in lines(folder, options.sets or sets):
        print(row, flush=True)
        shown.append(row)
    if options.write:
        made = shlex.join(["python", "-m", f"benchmarks.{module}", *arguments])
        text = "\n\n".join([report.made_with(made), "\n".join(shown)])
        report.replace_section(options.write, section, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
