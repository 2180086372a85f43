"""Classifiers that are made of sums equal those that are fitted to the rows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import genus
from genus import (
    AODE,
    GDA,
    TAN,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    Discretizer,
    GammaNB,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
    TableClassifier,
    TextClassifier,
    from_counts,
)

ROWS = 300
RNG = np.random.default_rng(8)
Y = np.array(["no", "yes", "maybe"])[RNG.integers(0, 3, ROWS)]
SHIFT = np.select([Y == "no", Y == "yes"], [0.0, 2.0], 1.0)
X = pd.DataFrame({"a": RNG.poisson(2 + SHIFT), "b": RNG.poisson(5 - SHIFT)}).astype(float)
SIZES = X.groupby(Y).size()
SUMS = X.groupby(Y).sum()
SQUARES = (X**2).groupby(Y).sum()
PRODUCTS = np.stack([X[k == Y].T @ X[k == Y] for k in SIZES.index])
SUMMED: dict[str, tuple[Any, dict[str, Any]]] = {
    "GaussianNB": (GaussianNB(), {"squares": SQUARES}),
    "GDA diagonal": (GDA(diagonal=True), {"squares": SQUARES}),
    "GDA separate": (GDA(shared=False), {"squares": PRODUCTS}),
    "GDA": (GDA(), {"squares": PRODUCTS.sum(axis=0)}),
    "GDA by class": (GDA(shrinkage="oas"), {"squares": PRODUCTS}),
    "MultinomialNB": (MultinomialNB(), {}),
    "ComplementNB": (ComplementNB(), {}),
    "PoissonNB": (PoissonNB(), {}),
    "BernoulliNB": (BernoulliNB(binarize=1), {"sums": (X > 1).groupby(Y).sum()}),
}


def fresh(classifier: Any) -> Any:
    return type(classifier)(**classifier.get_params(deep=False))


def check_laws(model: Any, fitted: Any, data: Any, tmp_path: Path) -> None:
    """The model is that of the rows, in all that it is used for."""
    assert model.model_ == fitted.model_  # bit for bit
    assert model.classes_.dtype == fitted.classes_.dtype
    np.testing.assert_array_equal(model.predict_proba(data), fitted.predict_proba(data))
    model.save(tmp_path / "model")
    assert genus.load(tmp_path / "model").model_ == fitted.model_
    assert (model + fitted - fitted).model_ == fitted.model_
    assert (model + model).model_ == (2 * fitted).model_
    half = np.arange(ROWS) % 2 == 0
    model.forget(data[half], Y[half])
    rest = fresh(fitted).fit(data[~half], Y[~half], like=fitted)
    np.testing.assert_allclose(model.predict_proba(data), rest.predict_proba(data), rtol=1e-9)
    model.partial_fit(data[half], Y[half])
    np.testing.assert_allclose(model.predict_proba(data), fitted.predict_proba(data), rtol=1e-9)


@pytest.mark.parametrize("name", SUMMED)
def test_sums_equal_the_fit(name: str, tmp_path: Path) -> None:
    classifier, given = SUMMED[name]
    model = from_counts(classifier, rows=SIZES, **{"sums": SUMS, **given})
    assert "model_" not in vars(classifier)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(pa.table(X)), model.predict(X))
    check_laws(model, fresh(classifier).fit(X, Y), X, tmp_path)


@pytest.mark.parametrize("name", SUMMED)
def test_arrays_have_the_order_of_rows_and_no_names(name: str) -> None:
    classifier, given = SUMMED[name]
    arrays = {part: np.asarray(value) for part, value in {"sums": SUMS, **given}.items()}
    arrays = {part: v if v.shape == (2, 2) else v[::-1] for part, v in arrays.items()}
    backwards = {label: int(SIZES[label]) for label in reversed(SIZES.index)}
    model = from_counts(classifier, rows=backwards, **arrays)
    assert model.model_ == fresh(classifier).fit(X, Y).model_
    assert not hasattr(model, "feature_names_in_")
    named = from_counts(classifier, rows=backwards, **arrays, columns=["a", "b"])
    assert named.feature_names_in_.tolist() == ["a", "b"]


def test_frames_are_aligned_by_their_classes() -> None:
    backwards = dict(reversed(list(SIZES.items())))
    model = from_counts(GaussianNB(), rows=backwards, sums=SUMS, squares=SQUARES[::-1])
    assert model.model_ == GaussianNB().fit(X, Y).model_
    in_order = from_counts(PoissonNB(), rows=SIZES, sums=pl.from_pandas(SUMS))
    assert in_order.model_ == PoissonNB().fit(X, Y).model_
    assert in_order.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("labels", [[3, 1, 2], [True, False, True], [2**60, 2**60 + 1, 5]])
def test_classes_of_any_kind(labels: list[Any]) -> None:
    y = np.array(labels)[np.arange(ROWS) % 3]
    grouped = X.groupby(y)
    for rows in (grouped.size(), grouped.size().to_dict()):
        model = from_counts(PoissonNB(), rows=rows, sums=grouped.sum())
        assert model.model_ == PoissonNB().fit(X, y).model_
        assert model.classes_.dtype == y.dtype


@pytest.mark.parametrize("origin", ["column", "class", "number"])
def test_squares_about_an_origin_keep_their_digits(origin: str) -> None:
    far = X + 1e8
    means = far.groupby(Y).mean()
    about = {"column": [1e8, 1e8 + 3], "class": means, "number": 1e8}[origin]
    z = far - (means.loc[Y].to_numpy() if origin == "class" else about)
    fitted = {k: fresh(SUMMED[k][0]).fit(far, Y) for k in ("GaussianNB", "GDA", "GDA separate")}
    naive = from_counts(
        GaussianNB(),
        rows=SIZES,
        sums=z.groupby(Y).sum(),
        squares=(z**2).groupby(Y).sum(),
        origin=about,
    )
    np.testing.assert_allclose(naive.var_, fitted["GaussianNB"].var_, rtol=1e-7)
    products = np.stack([z[k == Y].T @ z[k == Y] for k in SIZES.index])
    options = {"rows": SIZES, "sums": z.groupby(Y).sum(), "origin": about}
    full = from_counts(GDA(shared=False), **options, squares=products)
    np.testing.assert_allclose(full.covariance_, fitted["GDA separate"].covariance_, rtol=1e-7)
    shared = from_counts(GDA(), **options, squares=products.sum(axis=0))
    np.testing.assert_allclose(shared.covariance_, fitted["GDA"].covariance_, rtol=1e-7)


def test_squares_that_have_lost_their_digits_are_a_warning() -> None:
    far = X + 1e8
    options = {"rows": SIZES, "sums": far.groupby(Y).sum(), "squares": (far**2).groupby(Y).sum()}
    with pytest.warns(
        UserWarning, match=r"column 0 \('a'\) in class 'maybe' is so small .*origin="
    ):
        from_counts(GaussianNB(), **options)


@pytest.mark.filterwarnings("error")
def test_a_constant_column_is_no_warning() -> None:
    fixed = X.assign(b=5.0)
    squares = (fixed**2).groupby(Y).sum()
    options = {"rows": SIZES, "sums": fixed.groupby(Y).sum(), "squares": squares}
    assert from_counts(GaussianNB(), **options).model_ == GaussianNB().fit(fixed, Y).model_


def test_missing_values() -> None:
    holes = X.copy()
    holes.iloc[::3, 0] = np.nan
    holes.iloc[::5, 1] = np.nan
    missing = holes.isna().groupby(Y).sum()
    sums = holes.groupby(Y).sum()
    for classifier in (PoissonNB(), MultinomialNB()):
        model = from_counts(classifier, rows=SIZES, sums=sums, missing=missing)
        assert model.model_ == fresh(classifier).fit(holes, Y).model_
    squares = (holes**2).groupby(Y).sum()
    naive = from_counts(GaussianNB(), rows=SIZES, sums=sums, squares=squares, missing=missing)
    assert naive.model_ == GaussianNB().fit(holes, Y).model_
    there = holes.dropna()
    y = Y[there.index]
    full = from_counts(
        GDA(),
        rows=SIZES,
        sums=there.groupby(y).sum(),
        squares=there.T @ there,
        missing=(SIZES - there.groupby(y).size()).to_numpy(),
    )
    assert full.model_ == GDA().fit(holes, Y).model_


def test_one_class_is_a_part_to_be_added() -> None:
    parts = [
        from_counts(
            GDA(), rows=SIZES[[k]], sums=SUMS.loc[[k]], squares=PRODUCTS[at], columns=["a", "b"]
        )
        for at, k in enumerate(SIZES.index)
    ]
    assert sum(parts).model_ == GDA().fit(X, Y).model_


# Categories and words

KINDS = X.assign(kind=np.where(RNG.random(ROWS) < 0.2 + SHIFT / 4, "wild", "tame"))
KINDS.loc[::9, "kind"] = None


def counts_of(frame: pd.DataFrame) -> dict[str, Any]:
    """{column: {value: {class: count}}}"""
    found: dict[str, Any] = {}
    for name in frame:
        sizes = frame.groupby([name, Y]).size()
        found[name] = {value: {} for value in sizes.index.levels[0]}
        for (value, label), count in sizes.items():
            found[name][value][label] = count
    return found


def test_categories_equal_the_fit(tmp_path: Path) -> None:
    model = from_counts(CategoricalNB(), counts_of(KINDS), rows=SIZES)
    assert model.feature_names_in_.tolist() == ["a", "b", "kind"]
    check_laws(model, CategoricalNB().fit(KINDS, Y), KINDS, tmp_path)
    numbers = from_counts(CategoricalNB(alpha="auto"), counts_of(X), rows=SIZES)
    assert numbers.model_ == CategoricalNB(alpha="auto").fit(X, Y).model_


@pytest.mark.parametrize("values", [{}, {None: {"yes": 1}}, {"red": {"yes": 0}}])
def test_a_column_without_any_value_stays_a_column(values: dict[Any, Any]) -> None:
    counts = {"colour": values, "b": {"x": {"yes": 2}, "y": {"no": 1}}}
    model = from_counts(CategoricalNB(), counts, rows={"no": 3, "yes": 3})
    known = from_counts(CategoricalNB(), {"b": counts["b"]}, rows={"no": 3, "yes": 3})
    rows = pd.DataFrame({"colour": ["red", None], "b": ["x", "y"]}, dtype=object)
    np.testing.assert_array_equal(model.predict_proba(rows), known.predict_proba(rows[["b"]]))


def test_memory_grows_with_the_lines_and_not_with_the_columns() -> None:
    columns, values = 200, 20
    counts = {
        f"c{j}": {f"v{i}": {"no": 1, "yes": 2} for i in range(values)} for j in range(columns)
    }
    tracemalloc.start()
    try:
        model = from_counts(CategoricalNB(), counts, rows={"no": 100, "yes": 100})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert model.n_features_in_ == columns
    lines = 2 * columns * values
    assert peak < 8 * lines * columns / 2  # bytes of half a pointer for each line and column


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars", "records"])
def test_a_table_of_categories(kind: str) -> None:
    texts = KINDS.assign(a=KINDS.a.astype(str), b=KINDS.b.astype(str))
    lines = [
        {"column": name, "value": value, "class": label, "count": count}
        for name, values in counts_of(texts).items()
        for value, by_class in values.items()
        for label, count in by_class.items()
    ]
    # A group-by has a line for what is missing, too; and repeated lines are added.
    lines += [{"column": "kind", "value": None, "class": "no", "count": 3}]
    lines += [{"column": "kind", "value": "wild", "class": "no", "count": 0}]
    frame = pd.DataFrame(lines)
    table = {
        "pandas": frame,
        "arrow": pa.Table.from_pandas(frame),
        "polars": pl.from_pandas(frame),
        "records": lines,
    }[kind]
    model = from_counts(CategoricalNB(), table, rows=SIZES)
    assert model.model_ == CategoricalNB().fit(texts, Y).model_


TEXTS = np.array(["sun rain wind", "snow fog", "sun sun ice rain", "", "wet snow"])[
    RNG.poisson(SHIFT) % 5
]
TOKENS = pd.DataFrame({"text": range(ROWS), "class": Y, "word": [t.split() for t in TEXTS]})
WORDS = (
    TOKENS.explode("word")
    .dropna()
    .groupby(["word", "class"])
    .agg(occurrences=("text", "size"), documents=("text", "nunique"))
    .reset_index()
)


@pytest.mark.parametrize("event_model", ["multinomial", "boolean", "bernoulli", "complement"])
def test_words_equal_the_fit(event_model: str, tmp_path: Path) -> None:
    model = from_counts(TextClassifier(event_model), WORDS, rows=SIZES)
    check_laws(model, TextClassifier(event_model).fit(TEXTS, Y), TEXTS, tmp_path)
    twice = pa.concat_tables([pa.Table.from_pandas(WORDS)] * 2)
    doubled = from_counts(TextClassifier(event_model), twice, rows=2 * SIZES)
    assert doubled.model_ == (2 * TextClassifier(event_model).fit(TEXTS, Y)).model_


def test_words_that_are_never_found_are_a_warning() -> None:
    strange = pd.concat([WORDS, WORDS[:1].assign(word="Sun")])
    with pytest.warns(UserWarning, match="never find 1 of 8 words, such as 'Sun'"):
        from_counts(TextClassifier(), strange, rows=SIZES)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [{"ngrams": (1, 2)}, {"analyzer": "char_wb", "ngrams": (2, 3)}])
def test_runs_and_characters_are_no_strange_words(options: dict[str, Any]) -> None:
    fitted = TextClassifier(**options).fit(TEXTS, Y)
    lines = [
        {"word": word, "class": label, "occurrences": often, "documents": texts}
        for label, *counts in zip(
            fitted.classes_, fitted.word_count_, fitted.document_count_, strict=True
        )
        for word, often, texts in zip(fitted.vocabulary_, *counts, strict=True)
    ]
    assert from_counts(TextClassifier(**options), lines, rows=SIZES).model_ == fitted.model_


# What is refused

TWO = {"no": 3, "yes": 2}
FLAT = {"rows": TWO, "sums": [[1.0], [2.0]]}
SQUARED = {**FLAT, "squares": [[1.0], [2.0]]}
PAIRS = {"rows": TWO, "sums": [[0.0, 0.0], [0.0, 0.0]]}
VALUES = {"k": {"x": {"no": 2, "yes": 1}}}
WORD = {"word": "sun", "class": "no", "occurrences": 2, "documents": 1}
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a class": (GaussianNB, FLAT, r"such as GaussianNB\(\); got <class"),
    "another": ("nb", FLAT, "classifier must be from genus"),
    "a sample": (TableClassifier(), FLAT, "TableClassifier cannot be made from sums.* Use fit"),
    "auto": (TextClassifier("auto"), FLAT, "learns weights from a sample of rows"),
    "calibrate": (TextClassifier(calibrate=True), FLAT, "learns weights from a sample of rows"),
    "bins": (CategoricalNB(bins=Discretizer()), FLAT, "cells of a grid"),
    "pairs": (TAN(), {"rows": TWO}, "TAN cannot be made from sums: it counts pairs of columns"),
    "pairs of all": (AODE(), {"rows": TWO}, "AODE cannot be made from sums"),
    "logarithms": (GammaNB(), FLAT, "GammaNB with these options needs more"),
    "fourth moments": (GDA(shrinkage="ledoit-wolf"), SQUARED, "fourth moments"),
    "no rows": (PoissonNB(), {**FLAT, "rows": {}}, "rows is empty"),
    "rows in a list": (PoissonNB(), {**FLAT, "rows": [3, 2]}, "by class, such as"),
    "rows of zero": (PoissonNB(), {**FLAT, "rows": {"a": 0, "b": 0}}, "0 for every class"),
    "negative rows": (PoissonNB(), {**FLAT, "rows": {"a": -1, "b": 0}}, "has -1 for class 'a'"),
    "rows NaN": (PoissonNB(), {**FLAT, "rows": {"a": np.nan, "b": 0}}, "has nan for class 'a'"),
    "rows of text": (PoissonNB(), {**FLAT, "rows": {"a": "x", "b": 0}}, "numbers by class"),
    "mixed classes": (
        PoissonNB(),
        {**FLAT, "rows": {"a": 1, 2: 3}},
        "different types, int and str",
    ),
    "a missing class": (PoissonNB(), {**FLAT, "rows": {"a": 1, None: 3}}, "no label"),
    "a class twice": (
        PoissonNB(),
        {**FLAT, "rows": pd.Series([1, 2], index=["a", "a"])},
        "class 'a' twice",
    ),
    "no sums": (PoissonNB(), {"rows": TWO}, r"needs sums= and rows=. Give sums, too"),
    "counts for sums": (PoissonNB(), {**FLAT, "counts": VALUES}, "not counts="),
    "sums for counts": (CategoricalNB(), FLAT, "needs counts= and rows=, not sums="),
    "no counts": (CategoricalNB(), {"rows": TWO}, "Give counts, too"),
    "one dimension": (PoissonNB(), {**FLAT, "sums": [1, 2]}, r"\(K, n\); got shape \(2,\)"),
    "too many classes": (
        PoissonNB(),
        {**FLAT, "sums": [[1], [2], [3]]},
        r"\(3, 1\), but there are 2 classes",
    ),
    "no columns": (PoissonNB(), {**FLAT, "sums": [[], []]}, r"got shape \(2, 0\)"),
    "text": (PoissonNB(), {**FLAT, "sums": [["a"], ["b"]]}, "sums must hold numbers; got"),
    "ragged": (PoissonNB(), {**FLAT, "sums": [[1], [2, 3]]}, "sums must hold numbers; got"),
    "NaN": (PoissonNB(), {**FLAT, "sums": [[1], [np.nan]]}, r"sums holds nan at \[1, 0\]"),
    "infinite": (GaussianNB(), {**SQUARED, "squares": [[np.inf], [1]]}, "squares holds inf"),
    "negative sums": (
        MultinomialNB(),
        {**FLAT, "sums": [[1], [-2]]},
        r"sums has -2 for class 'yes', column 0 \('x0'\). A sum of counts is 0 or more",
    ),
    "more than rows": (
        BernoulliNB(),
        {**FLAT, "sums": [[4], [1]]},
        "has 4 for class 'no'.*exceeds",
    ),
    "sums of no rows": (PoissonNB(), {**FLAT, "rows": {"a": 1, "b": 0}}, "No value is present"),
    "squares of counts": (PoissonNB(), SQUARED, "does not use squares or origin"),
    "an origin of counts": (PoissonNB(), {**FLAT, "origin": 2.0}, "does not use squares or origin"),
    "no squares": (GaussianNB(), FLAT, "sums and squares. Give squares"),
    "squares of another shape": (
        GDA(),
        SQUARED,
        r"squares has shape \(2, 1\); expected \(2, 1, 1\) or \(1, 1\)",
    ),
    "shared squares": (
        GDA(shared=False),
        {**PAIRS, "squares": np.eye(2)},
        r"shape \(2, 2\); expected \(2, 2, 2\)\.",
    ),
    "negative variance": (
        GaussianNB(),
        {**SQUARED, "sums": [[3.0], [2.0]], "squares": [[2.9], [5.0]]},
        r"too small for sums: the variance of column 0 \('x0'\) in class 'no' would be negative",
    ),
    "negative squares": (
        GDA(),
        {**PAIRS, "squares": [[1.0, 0.0], [0.0, -1.0]]},
        r"the variance of column 1 \('x1'\) would be negative",
    ),
    "a negative direction": (
        GDA(),
        {**PAIRS, "squares": [[1.0, 2.0], [2.0, 1.0]]},
        "would have a negative variance",
    ),
    "asymmetric": (GDA(), {**PAIRS, "squares": [[1.0, 0.5], [0.0, 1.0]]}, "must be symmetric"),
    "too large": (GaussianNB(), {**SQUARED, "origin": 1e200}, "too large for floats"),
    "origin": (GaussianNB(), {**SQUARED, "origin": [1.0, 2.0]}, r"origin has shape \(2,\)"),
    "missing": (PoissonNB(), {**FLAT, "missing": [1, 1]}, r"shape \(2,\); expected \(2, 1\)"),
    "missing more": (PoissonNB(), {**FLAT, "missing": [[4], [0]]}, "missing has 4 for class 'no'"),
    "missing less": (PoissonNB(), {**FLAT, "missing": [[-1], [0]]}, "missing has -1"),
    "names": (PoissonNB(), {**FLAT, "columns": ["a", "b"]}, "names .text. of 1 columns"),
    "names of numbers": (PoissonNB(), {**FLAT, "columns": [1]}, ".text. of 1 columns; got"),
    "names twice": (PoissonNB(), {**PAIRS, "columns": ["a", "a"]}, "same name"),
    "other names": (
        PoissonNB(),
        {"rows": SIZES, "sums": SUMS, "columns": ["b", "a"]},
        "Leave columns out",
    ),
    "columns of squares": (
        GaussianNB(),
        {"rows": SIZES, "sums": SUMS, "squares": SQUARES[["b", "a"]]},
        "squares must have the columns",
    ),
    "a class unknown": (
        PoissonNB(),
        {"rows": {"no": 3, "yes": 1, "why": 2}, "sums": SUMS},
        "sums has the class 'maybe', which is not in rows",
    ),
    "priors": (PoissonNB(priors=[0.1, 0.2, 0.7]), FLAT, "[Pp]riors"),
    "more values than rows": (
        CategoricalNB(),
        {"rows": TWO, "counts": {"k": {"x": {"no": 2}, "y": {"no": 2}}}},
        "has 4 for column 'k' in class 'no', which has 3 rows",
    ),
    "a negative count": (
        CategoricalNB(),
        {"rows": TWO, "counts": {"k": {"x": {"no": -1}}}},
        "has -1 for 'x' in column 'k'",
    ),
    "no count": (
        CategoricalNB(),
        {"rows": TWO, "counts": {"k": {"x": {"no": None}}}},
        "has None for 'x' in column 'k'",
    ),
    "a number, not classes": (
        CategoricalNB(),
        {"rows": TWO, "counts": {"k": {"x": 3}}},
        "must have {class: count} for",
    ),
    "a class that rows has not": (
        CategoricalNB(),
        {"rows": TWO, "counts": {"k": {"x": {"maybe": 1}}}},
        "the class 'maybe', which is not in rows",
    ),
    "negative codes": (
        CategoricalNB(),
        {"rows": TWO, "counts": {"k": {-1: {"no": 1}}}},
        r"Column 0 \('k'\) holds -1. Give categories as numbers",
    ),
    "values of two kinds": (
        CategoricalNB(),
        {"rows": TWO, "counts": {"k": {"x": {"no": 1}, 1: {"no": 1}}}},
        "holds text and int",
    ),
    "a column by number": (
        CategoricalNB(),
        {"rows": TWO, "counts": {0: {"x": {"no": 1}}}},
        "A column name must be text",
    ),
    "no column": (CategoricalNB(), {"rows": TWO, "counts": {}}, "has no columns"),
    "another table": (
        CategoricalNB(),
        {"rows": TWO, "counts": pd.DataFrame({"column": ["k"]})},
        "'value' is missing. It has 'column'",
    ),
    "no table": (TextClassifier(), {"rows": TWO, "counts": 5}, "Expected a table"),
    "more documents than texts": (
        TextClassifier(),
        {"rows": TWO, "counts": [{**WORD, "occurrences": 9, "documents": 4}]},
        "has 4 for the word 'sun' in class 'no', which has 3 rows",
    ),
    "more documents than occurrences": (
        TextClassifier(),
        {"rows": TWO, "counts": [{**WORD, "documents": 3}]},
        "'sun' in 3 documents of class 'no', but only 2 occurrences",
    ),
    "an empty word": (
        TextClassifier(),
        {"rows": TWO, "counts": [{**WORD, "word": ""}]},
        "not empty",
    ),
    "no class": (
        TextClassifier(),
        {"rows": TWO, "counts": [WORD, {**WORD, "class": None}]},
        "row 1",
    ),
    "NaN documents": (
        TextClassifier(),
        {"rows": TWO, "counts": [{**WORD, "documents": None, "occurrences": 1.0}]},
        "Column 'documents' of counts has nan in row 0",
    ),
    "documents as text": (
        TextClassifier(),
        {"rows": TWO, "counts": [{**WORD, "documents": "many"}]},
        "Column 'documents' of counts must hold numbers",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_rows_can_have_given_is_refused(case: str) -> None:
    classifier, given, message = REFUSED[case]
    before = dict(vars(classifier)) if isinstance(getattr(classifier, "__dict__", 0), dict) else {}
    with pytest.raises((ValueError, TypeError), match=message):
        from_counts(classifier, **given)
    assert isinstance(before, Mapping)
    assert before == (dict(vars(classifier)) if before else {})


def test_series_are_lined_up_by_their_labels() -> None:
    """Whatever their order: a class is known by its name."""
    rows = pd.Series({"b": 10, "a": 4})
    sums = pd.DataFrame({"x": [1.0, 9.0], "z": [2.0, 3.0]}, index=["a", "b"])
    squares = np.array([np.eye(2) * 90, np.eye(2) * 9])  # in the order of rows
    missing = pd.Series({"a": 0, "b": 3})
    model = from_counts(GDA(shared=False), rows=rows, sums=sums, squares=squares, missing=missing)
    np.testing.assert_array_equal(model.model_.statistics.weights.ravel(), [4.0, 7.0])
