"""Compute the learning curve of a generative model from blocks that are counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genus.arrays import labels, matrix
from genus.evaluate.comparing.cost import measured
from genus.evaluate.comparing.data import Material
from genus.evaluate.comparing.points import (
    FEWEST_TIMES,
    Deal,
    Line,
    Sizes,
    judged,
    notes_of,
    stacked,
)
from genus.model import Model
from genus.statistics import Array


def generative(
    given: Material,
    at: Sizes,
    dealt: Sequence[Deal],
    patience: float,
    told: Callable[[int], None],
) -> tuple[Line, float, float]:
    """Return the generative model's curve, its time, and the time if each point were refitted."""
    error, loss = np.full((2, len(at), len(dealt)), np.nan)
    problems: list[str] = []
    notes: list[str] = []
    started = perf_counter()
    out: list[Array] = []
    counted: dict[int, list[Model]] = {}
    spent = 0.0
    for r, deal in enumerate(dealt):
        if r >= FEWEST_TIMES and perf_counter() - started > patience:
            notes.append(
                f"{given.name} was fitted {r} times at each size, to stay within "
                f"patience={patience:g}."
            )
            told((len(dealt) - r) * len(at))
            break
        start = perf_counter()
        if deal.number not in counted:
            counted = {deal.number: blocks_of(given, deal)}
        models = nested(given, at, deal, counted[deal.number])
        test, _ = given.take(deal.test)
        spent += perf_counter() - start
        for s in range(len(at)):
            start = perf_counter()
            model = next(models)
            try:
                solved = solve(given, model)
                spent += perf_counter() - start
                p = posterior(given, solved, test)
            except ValueError as problem:
                problems.append(str(problem))
                continue
            finally:
                told(1)
            error[s, r], loss[s, r] = judged(p, given.y[deal.test])
            if s == len(at) - 1 and deal.number == 0:
                out.append(p)
    seconds, memory = np.full(len(at), np.nan), None
    for s, (size, blocks) in enumerate(at):
        with_rows = partial(fit_alone, given, dealt[0].rows(size, blocks))
        try:
            _, seconds[s], memory = measured(with_rows)
        except ValueError:
            continue  # reported above
    line = Line(
        given.name,
        error,
        loss,
        seconds,
        memory,
        stacked(out, len(given.classes)),
        notes_of(given.name, problems, notes),
    )
    return line, spent, float(np.nansum(seconds)) * len(dealt)


def blocks_of(given: Material, deal: Deal) -> list[Model]:
    """Count every row once and return the model of each block."""
    empty = given.estimator._empty()
    with given.estimator._named_errors():
        return empty.count_groups(
            given.X, given.y, given.classes, None, deal.fold, int(deal.fold.max()) + 1
        )


def nested(given: Material, at: Sizes, deal: Deal, blocks: Sequence[Model]) -> Iterator[Model]:
    """Yield the model of each size, in ascending order.

    Within the first block, new rows are counted and added. After that, whole blocks are added.
    """
    empty = given.estimator._empty()
    model, seen = empty, 0
    for size, number in at:
        if number == 0:
            rows = np.sort(deal.first[seen:size])
            model = model + count(given, empty, rows)
            seen = size
        else:
            # The first sum of whole blocks starts from zero, for `model` holds part of a block.
            start = 0 if seen >= 0 else -seen
            model = empty if seen >= 0 else model
            for block in deal.order[start:number]:
                model = model + blocks[block]
            seen = -number
        yield model


def count(given: Material, empty: Model, rows: NDArray[np.intp]) -> Model:
    """Count some rows and return their model."""
    return given.estimator._count(
        empty, matrix.take(given.X, rows), given.y[rows], given.classes, None
    )


def solve(given: Material, model: Model) -> Model:
    """Return the model with its parameters computed."""
    solved = given.estimator._with_current_options(model)
    given.estimator._solve(solved)
    return solved


def fit_alone(given: Material, rows: NDArray[np.intp]) -> Model:
    """Fit a model from scratch, without the counted blocks."""
    return solve(given, count(given, given.estimator._empty(), rows))


def posterior(given: Material, model: Model, X: Any) -> Array:
    """Return p(y|x) for all classes; zero for classes that the model has not seen."""
    columns = labels.positions(model.classes, given.classes)
    with given.estimator._named_errors():
        return labels.spread(model.posterior(X), columns, len(given.classes), axis=1)
