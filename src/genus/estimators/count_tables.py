"""Check counts of values or words that users give, and convert them for a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import arrow, labels
from genus.arrays.labels import Axis, is_missing
from genus.arrays.matrix import Codes, InvalidColumn, InvalidValue
from genus.arrays.options import warn
from genus.arrays.vocabulary import Vocabulary
from genus.estimators.columns import VALUES, Columns
from genus.estimators.grouped import invalid
from genus.estimators.table_rows import labels_of
from genus.statistics import Array, Compound, Sample, Tally
from genus.table import TableError, open_table
from genus.text import Texts

SLACK = 1 + 1e-9  # rounding may raise a sum of weights above its bound by this factor
SHOWN = 40  # characters of a value in a message


@dataclass(frozen=True, eq=False)
class Rows:
    """The classes, ascending, and their numbers of rows, the `weights` (K,).

    `order` (K,) is the position of each class in the order in which the user gave them.
    """

    classes: Axis
    weights: Array
    order: NDArray[np.intp]

    def codes(self, given: list[Any], where: str) -> Codes:
        """Return the codes of given labels, (m,); raise an error for a class that `rows` lacks."""
        named, codes = labels.factorize(np.asarray(given, dtype=object))
        at = labels.find(named, self.classes)
        if (at < 0).any():
            raise ValueError(
                f"{where} has the class {labels.show(named[at < 0][0])}, which is not in rows. Add "
                "it there with its number of rows."
            )
        return at[codes].astype(np.int64)


# Categories


def categories_of(estimator: Any, rows: Rows, counts: Any) -> Tally:
    """Return the tally of given counts; raise an error if a column's sum exceeds a class's rows."""
    names, lines = lines_of(counts)
    if not names:
        raise ValueError("counts has no columns, so there is nothing to learn from.")
    estimator._follow(Columns(tuple(names), VALUES))
    place = {name: j for j, name in enumerate(names)}
    column = np.array([place[name] for name, _, _, _ in lines], dtype=np.int64)
    y = rows.codes([label for _, _, label, _ in lines], "counts")
    weight = np.array([number_or_nan(count) for _, _, _, count in lines])
    X = np.empty((len(lines), 1), dtype=object)
    for i, (name, value, _, count) in enumerate(lines):
        X[i, 0] = value
        if not 0 <= weight[i] < np.inf:
            raise ValueError(
                f"counts has {count} for {str(value)[:SHOWN]!r} in column {name!r}. A count is a "
                "number of 0 or more."
            )
    there = np.array([not is_missing(value) for _, value, _, _ in lines], dtype=bool)
    size = len(rows.classes), len(names)
    total = table_by_class(y[there], column[there], weight[there], size)
    refuse_more_than_rows(total, rows, [f"column {name!r}" for name in names])
    ends = np.cumsum(np.bincount(column, minlength=len(names)))
    own = np.split(np.argsort(column, kind="stable"), ends[:-1])
    with estimator._named_errors():
        parts = [
            count_column(estimator, j, X[at], y[at], rows.classes, weight[at])
            for j, at in enumerate(own)
        ]
    # The tally of a column without a value has no keys at all.
    keys = tuple(axis for part in parts for axis in part.keys or (labels.empty_axis(),))
    counts = [part.align(rows.classes)["count"] for part in parts]
    return Tally.of(rows.classes, keys, {"count": np.hstack(counts)})


def count_column(
    estimator: Any, j: int, X: NDArray[Any], y: Codes, classes: Axis, weight: Array
) -> Tally:
    """Count the values of column j, (m, 1); an error names that column."""
    try:
        return estimator._family().count(X, y, classes, weight)
    except InvalidValue as error:
        raise invalid(estimator, j, error.value) from None
    except InvalidColumn as error:
        raise InvalidColumn(j, error.problem) from None


def number_or_nan(count: Any) -> float:
    """Return a number as a float; NaN for everything else."""
    return float(count) if isinstance(count, int | float | np.number) else np.nan


def lines_of(counts: Any) -> tuple[list[str], list[tuple[str, Any, Any, float]]]:
    """Return the columns, and lines with a column, a value, a class and a count."""
    if isinstance(counts, Mapping) and all(isinstance(c, Mapping) for c in counts.values()):
        listed = []
        for name, values in counts.items():
            for value, by_class in values.items():
                if not hasattr(by_class, "items"):
                    raise ValueError(
                        f"counts must have {{class: count}} for {value!r} in column {name!r}; "
                        f"got {str(by_class)[:SHOWN]!r}."
                    )
                listed += [(name, value, *one) for one in by_class.items()]
        names = list(counts)
    else:
        table = table_of(counts, ["column", "value", "class", "count"])
        parts = [table["column"].to_pylist(), table["value"].to_pylist(), classes_of(table)]
        listed = list(zip(*parts, measure(table, "count").tolist(), strict=True))
        names = list(dict.fromkeys(parts[0]))
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise ValueError(f"counts has the column {odd[0]!r}. A column name must be text.")
    return names, listed


# Words


def words_of(estimator: Any, rows: Rows, counts: Any) -> Compound:
    """Return the counts of words; the first is the empty word.

    It is in every document, but has no occurrences, so it counts the documents.
    """
    estimator.n_features_in_ = 1
    table = table_of(counts, ["word", "class", "occurrences", "documents"])
    listed = table["word"].to_pylist()
    odd = [word for word in listed if not isinstance(word, str) or not word]
    if odd:
        raise ValueError(f"counts has the word {odd[0]!r}. A word must be text and not empty.")
    y = rows.codes(classes_of(table), "counts")
    words = Vocabulary.of(listed)
    place = {word: j for j, word in enumerate(words)}
    at = np.array([place[word] for word in listed], dtype=np.int64)
    shape = len(rows.classes), len(words)
    occurrences, documents = (
        table_by_class(y, at, measure(table, name), shape) for name in ("occurrences", "documents")
    )
    if (documents > SLACK * occurrences).any():
        k, j = np.argwhere(documents > SLACK * occurrences)[0].tolist()
        raise ValueError(
            f"counts has the word {words.word(j)!r} in {documents[k, j]:g} documents of class "
            f"{labels.show(rows.classes[k])}, but only {occurrences[k, j]:g} occurrences. There "
            "must be at least one for each document."
        )
    named = [f"the word {word!r}" for word in words]
    refuse_more_than_rows(documents, rows, named)
    warn_of_strange_words(estimator, words)
    nothing = np.zeros((shape[0], 1))
    tables = {
        "occurrences": np.hstack([nothing, occurrences]),
        "documents": np.hstack([rows.weights[:, None], documents]),
    }
    tally = Tally.of(rows.classes, (words.with_empty(),), tables)
    return Compound({"words": tally, "sample": Sample(0)})


def warn_of_strange_words(estimator: Any, words: Vocabulary) -> None:
    """Warn about words that the classifier would never find in a text."""
    tokenizer = estimator._tokenizer()
    if tokenizer.is_own or not len(words):
        return
    found = tokenizer.encode(Texts.of(list(words)))
    entries = found.entries(words)
    known = np.zeros(len(words), dtype=bool)
    known[entries.row[entries.row == entries.word]] = True
    if not known.all():
        strange = words.word(int(np.argmin(known)))
        warn(
            f"This TextClassifier will never find {(~known).sum()} of {len(words)} words, such as "
            f"{strange!r}, in a text: by default words are in lower case and have two "
            "characters or more. Count words in the same way."
        )


# Both


def table_of(counts: Any, names: list[str]) -> Any:
    """Return a table with these columns, as Arrow."""
    source = open_table(counts)
    for name in names:
        if name not in source.columns:
            raise TableError(
                f"counts must be a table with the columns {', '.join(map(repr, names))}; {name!r} "
                f"is missing. It has {', '.join(map(repr, source.columns[:20]))}."
            )
    return source.table()


def classes_of(table: Any) -> list[Any]:
    """Return the class of each line."""
    axis, codes, there = labels_of(table["class"], "class")
    if not there.all():
        raise ValueError(
            f"counts has no class in row {int(np.argmin(there))}, counted from 0. Leave "
            "such rows out."
        )
    return axis[codes].tolist()


def measure(table: Any, name: str) -> Array:
    """Return a column of counts, each a number of 0 or more."""
    import pyarrow as pa

    try:
        found = arrow.plain(table[name].cast(pa.float64(), safe=False), np.nan)
    except pa.ArrowException:
        raise ValueError(
            f"Column {name!r} of counts must hold numbers, but holds {table[name].type}. Convert "
            "it."
        ) from None
    odd = np.flatnonzero(~((found >= 0) & (found < np.inf)))
    if len(odd):
        raise ValueError(
            f"Column {name!r} of counts has {found[odd[0]]:g} in row {odd[0]}, counted from 0. A "
            "count is a number of 0 or more."
        )
    return found


def table_by_class(y: Codes, column: Codes, weight: Array, shape: tuple[int, int]) -> Array:
    """Return sums of weights by class and column, (K, V)."""
    flat = np.bincount(y * shape[1] + column, weight, shape[0] * shape[1])
    return flat.reshape(shape).astype(np.float64)


def refuse_more_than_rows(counts: Array, rows: Rows, named: list[str]) -> None:
    """Raise an error if a count, (K, V), exceeds the number of rows of its class."""
    above = counts > SLACK * rows.weights[:, None]
    if above.any():
        k, j = np.argwhere(above)[0].tolist()
        raise ValueError(
            f"counts has {counts[k, j]:g} for {named[j]} in class {labels.show(rows.classes[k])}, "
            f"which has {rows.weights[k]:g} rows. Compute counts and rows from the same data."
        )
