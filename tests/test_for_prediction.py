"""Files without the sample of rows: they predict the same, and their models do not change."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from genus import GaussianNB, TableClassifier, TextClassifier, from_bytes


def for_prediction(model: Any) -> Any:
    """Return a model after it was saved without its sample."""
    file = io.BytesIO()
    model.save(file, for_prediction=True)
    assert len(file.getvalue()) < len(model.to_bytes())
    return from_bytes(file.getvalue())


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    y = rng.random(200) < 0.4
    texts = np.where(y, "cheap pills are on offer", "see you at lunch then")
    noise = rng.permutation(texts)
    return pd.DataFrame(
        {
            "age": np.round(rng.normal(40 + 8 * y, 10)),
            "kind": np.where(rng.random(200) < 0.3 + 0.4 * y, "a", "b"),
            "note": [
                f"{own} {other} {i}"
                for i, (own, other) in enumerate(zip(texts, noise, strict=True))
            ],
            "y": np.where(y, "yes", "no"),
        }
    )


@pytest.mark.parametrize("merged", [False, True])
def test_a_table_saved_for_prediction_predicts_the_same(visits: pd.DataFrame, merged: bool) -> None:
    parts = [visits[:120], visits[120:]] if merged else [visits]
    model = sum(TableClassifier().fit(part, target="y") for part in parts)
    small = for_prediction(model)
    np.testing.assert_array_equal(small.predict_proba(visits), model.predict_proba(visits))
    assert len(small.model_.statistics["sample"]) == 0
    assert_allclose(small.explain(visits[:3]).joint, model.explain(visits[:3]).joint)
    assert len(small.sample(3, random_state=0)[1]) == 3
    again = from_bytes(small.to_bytes())
    np.testing.assert_array_equal(again.predict_proba(visits), model.predict_proba(visits))


@pytest.mark.parametrize("kind", ["table", "text"])
def test_a_model_saved_for_prediction_does_not_change(visits: pd.DataFrame, kind: str) -> None:
    if kind == "table":
        X, y = visits.drop(columns="y"), visits["y"]
        model: Any = TableClassifier().fit(X, y)
    else:
        X, y = visits["note"], visits["y"]
        model = TextClassifier("auto").fit(X, y)
    small = for_prediction(model)
    for change in (
        lambda: small.partial_fit(X, y),
        lambda: small.forget(X[:1], y[:1]),
        lambda: small + model,
        lambda: model + small,
        lambda: (2 * small).predict(X),
    ):
        with pytest.raises(ValueError, match="saved for prediction only"):
            change()
        np.testing.assert_array_equal(small.predict_proba(X), model.predict_proba(X))


def test_what_keeps_no_rows_is_saved_for_prediction_as_it_is() -> None:
    model = GaussianNB().fit([[1.0], [2.0], [4.0]], [0, 0, 1])
    file = io.BytesIO()
    model.save(file, for_prediction=True)
    assert file.getvalue() == model.to_bytes()


def test_texts_are_explained_without_a_sample(visits: pd.DataFrame) -> None:
    model = TableClassifier(sample_size=0).fit(visits, target="y")
    told = model.explain(visits[:4])
    assert_allclose(told.joint, model.predict_log_proba(visits[:4]), atol=1e-9)
    assert np.isfinite(model.feature_importances_).all()
