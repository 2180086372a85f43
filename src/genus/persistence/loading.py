"""Restore estimators from model files, and check what the files hold."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from genus.persistence import files
from genus.persistence.restoring import (
    axis_from_tree,
    check_axis,
    model_from_tree,
    plan_from_tree,
    restored,
)
from genus.persistence.upgrading import current
from genus.registry import ESTIMATORS


def load(file: str | os.PathLike[str] | BinaryIO) -> Any:
    """Load the classifier that `save` wrote to a path or to an open binary file."""
    if hasattr(file, "read"):
        return from_bytes(file.read())
    return restored_from(files.read(file), file)


def from_bytes(content: bytes) -> Any:
    """Load a classifier from the bytes that `to_bytes` returned.

    >>> from genus import GaussianNB, from_bytes
    >>> model = GaussianNB().fit([[1.0], [2.0], [5.0], [7.0]], ["a", "a", "b", "b"])
    >>> from_bytes(model.to_bytes()).predict([[4.0]])
    array(['b'], dtype='<U1')
    """
    if not isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(
            f"Expected a model as bytes; got {type(content).__name__}. For a file, use load()."
        )
    return restored_from(files.from_bytes(bytes(content)), None)


def restored_from(tree: dict[str, Any], path: str | os.PathLike[str] | None) -> Any:
    """Restore the estimator from a tree; messages name the file `path`, if there is one."""
    try:
        return from_tree(current(tree))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise files.damaged(path, error) from None


def unfitted_from_tree(tree: dict[str, Any]) -> Any:
    """Return an estimator that has only the parameters in a tree."""
    parameters = {name: restored(value) for name, value in tree["parameters"].items()}
    if isinstance(parameters.get("bins"), dict):
        discretizer = import_module("genus.estimators.discretizer").Discretizer
        parameters["bins"] = discretizer(**parameters["bins"])
    if "ignore" in parameters:
        parameters["ignore"] = tuple(parameters["ignore"])
    if "ngrams" in parameters:
        parameters["ngrams"] = tuple(parameters["ngrams"])
    name = tree["estimator"]
    return getattr(import_module(ESTIMATORS[name]), name)(**parameters)


def from_tree(tree: dict[str, Any]) -> Any:
    """Return the estimator that `to_tree` converted."""
    estimator = unfitted_from_tree(tree)
    if "ngrams" in tree:
        estimator._counted_ngrams = tuple(tuple(ngrams) for ngrams in tree["ngrams"])
    if "known" in tree:
        counted = tree["statistics"]["parts"]["words"]["keys"]
        known = axis_from_tree(counted[0] if tree["known"] is None else tree["known"])
        check_axis(known)
        estimator._counted_words = known
    if "plan" in tree:
        estimator.plan_ = plan_from_tree(tree["plan"])
    if "reads" in tree:
        columns = import_module("genus.estimators.columns").Columns
        estimator.columns_ = columns.checked(tree["reads"])
    if "rounds" in tree:
        estimator.n_iter_ = int(tree["rounds"])
    estimator.n_features_in_ = int(tree["columns"])
    if tree["names"] is not None:
        estimator.feature_names_in_ = np.asarray(tree["names"], dtype=object)
    estimator._keep(
        model_from_tree(tree, estimator._family(), estimator._priors(), estimator._unexplained())
    )
    return estimator
